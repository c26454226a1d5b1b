# SPDX-License-Identifier: GPL-2.0
"""QEMU arm64 from the lab root: EL2, VHE, GICv3 and WFE traps, which need QEMU 11.1.

The program runs through the lab root's own loader and libraries, so the host's libc does not matter and no chroot is needed.
"""

import labroot
import paths
from emulators import qemu

CONSOLE = "console=ttyAMA0"


def command(boot, console):
    semihosting = ["-semihosting-config", "enable=on,userspace=on,target=native"] if boot.semihosting else []
    return [*labroot.program(paths.LABROOT, "qemu-system-aarch64"), "-L", str(paths.LABROOT / "usr/share/qemu"),
            "-machine", "virt,virtualization=on,gic-version=3", "-cpu", boot.cpu or "cortex-a76", *semihosting,
            *qemu.common(boot, console, CONSOLE)]
