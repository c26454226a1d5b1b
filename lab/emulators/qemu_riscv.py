# SPDX-License-Identifier: GPL-2.0
"""QEMU RISC-V from its lab root: the H extension, and Zawrs, whose WRS.NTO traps out of a guest from QEMU 9.1 on."""

import labroot
import paths
from emulators import qemu


def command(boot, console):
    return [*labroot.program(paths.RISCVROOT, "qemu-system-riscv64"), "-L", str(paths.RISCVROOT / "usr/share/qemu"),
            "-machine", "virt", "-cpu", boot.cpu or "max", *qemu.common(boot, console, "console=ttyS0")]
