# SPDX-License-Identifier: GPL-2.0
"""QEMU x86, the host's own: an AMD-like CPU with SVM, by translation (no KVM is needed)."""

import shutil

import ui
from emulators import qemu

# Messages about MSRs that KVM ignores would only interrupt the lines of results.
CONSOLE = "console=ttyS0 kvm.report_ignored_msrs=0"


def command(boot, console):
    program = shutil.which("qemu-system-x86_64")
    if not program:
        raise ui.LabError("qemu-system-x86_64 is missing", todo="run `make setup`")
    # With the hypervisor bit and several CPUs under icount, the host kernel's own unfair lock livelocks against the
    # emulator's round robin.
    cpu = "max" if boot.smp == 1 else "max,-hypervisor"
    return [program, "-machine", "pc", "-cpu", cpu, *qemu.common(boot, console, CONSOLE)]
