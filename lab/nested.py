# SPDX-License-Identifier: GPL-2.0
"""What a machine needs to boot a Linux guest of its own: QEMU with its libraries and firmware, a kernel, an initial RAM file
system. All of it goes into the machine's initial RAM file system, as files of its job."""

import re
from pathlib import Path

import initramfs
import labroot
import paths
import run
import ui

FIRMWARE = ("bios-256k.bin", "kvmvapic.bin", "linuxboot_dma.bin")
FOLDERS = tuple(paths.X86ROOT / "usr/share" / folder for folder in ("seabios", "qemu"))


def hyperv(image):
    """The files of a Linux guest that runs lab/init/hyperv-guest-job, and of the test that boots it: guest path -> bytes."""
    program = "x86_64/hyperv_guest_fpu_test"
    job = initramfs.Job((paths.INIT / "hyperv-guest-job").read_text())
    base = initramfs.base("x86", {program: image.paths[program]})
    initrd = initramfs.with_job(base, job, "hyperv-guest")
    return {**_qemu(), "/guest/kernel": image.kernel.read_bytes(), "/guest/initrd": initrd.read_bytes(),
            "/tests/hyperv-guest": (paths.INIT / "hyperv-guest").read_bytes()}


def _qemu():
    """The lab root's QEMU for x86."""
    command = labroot.program(paths.X86ROOT, "qemu-system-x86_64", "--list")
    files = {"/guest/qemu/qemu-system-x86_64": Path(command[-1]).read_bytes(), "/guest/qemu/ld.so": Path(command[0]).read_bytes()}
    for line in run.output(command).splitlines():
        if match := re.match(r"\s*([^/\s]+) => (/\S+) \(0x", line):
            files[f"/guest/qemu/lib/{match[1]}"] = Path(match[2]).read_bytes()
    for name in FIRMWARE:
        found = [folder / name for folder in FOLDERS if (folder / name).exists()]
        if not found:
            raise ui.LabError(f"QEMU's {name} is missing", todo="run `make setup`")
        files[f"/guest/qemu/firmware/{name}"] = found[0].read_bytes()
    return files
