# SPDX-License-Identifier: GPL-2.0
"""QEMU arm64 from the lab root: EL2, VHE, GICv3 and WFE traps, which need QEMU 11.1.

The program runs through the lab root's own loader and libraries, so the host's libc does not matter and no chroot is needed.
"""

import paths
import ui
from emulators import qemu

CONSOLE = "console=ttyAMA0"


def command(boot, console):
    root = paths.LABROOT
    program = root / "usr/bin/qemu-system-aarch64"
    if not program.exists():
        raise ui.LabError(f"{program} is missing", todo="run `make setup` as root")
    loader = root / "usr/lib64/ld-linux-x86-64.so.2"
    libraries = ":".join(str(root / part) for part in ("usr/lib/x86_64-linux-gnu", "usr/lib"))
    semihosting = ["-semihosting-config", "enable=on,userspace=on,target=native"] if boot.semihosting else []
    return [str(loader), "--library-path", libraries, str(program), "-L", str(root / "usr/share/qemu"),
            "-machine", "virt,virtualization=on,gic-version=3", "-cpu", boot.cpu or "cortex-a76", *semihosting,
            *qemu.common(boot, console, CONSOLE)]
