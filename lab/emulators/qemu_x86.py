# SPDX-License-Identifier: GPL-2.0
"""QEMU x86 from the lab root: an AMD-like CPU with SVM, by translation (no KVM is needed)."""

import labroot
import paths
from emulators import qemu

# Messages about MSRs that KVM ignores would only interrupt the lines of results.
CONSOLE = "console=ttyS0 kvm.report_ignored_msrs=0"


def command(boot, console):
    # With the hypervisor bit and several CPUs under icount, the host kernel's own unfair lock livelocks against the
    # emulator's round robin.
    cpu = "max" if boot.smp == 1 else "max,-hypervisor"
    firmware = [word for folder in ("qemu", "seabios") for word in ("-L", str(paths.X86ROOT / "usr/share" / folder))]
    return [*labroot.program(paths.X86ROOT, "qemu-system-x86_64"), *firmware, "-machine", "pc", "-cpu", cpu, *qemu.common(boot, console, CONSOLE)]
