# SPDX-License-Identifier: GPL-2.0
"""What differs between the architectures when building kernels and programs."""

from dataclasses import dataclass, replace

import paths
import ui


@dataclass(frozen=True)
class Arch:
    """One architecture of the lab."""
    name: str               # the lab's and the kernel's ARCH
    cross: str              # CROSS_COMPILE
    base: str               # the make target that the configuration fragment goes on top of
    image: str              # the bootable image, below the object directory
    selftests: str          # the selftests' folder for the architecture
    link: str               # how the selftests are linked
    must: tuple             # options without which the lab makes no sense
    machine: str = ""       # the compiler's option for what the emulator is, when programs are built
    modules: tuple = ()     # KVM where it is modules, below the object directory, in the order to load them
    flavour: str = ""       # of the kernel, see kernel.py

    @property
    def compiler(self):
        return self.cross + "gcc"

    @property
    def label(self):
        return "-".join(filter(None, (self.name, self.flavour)))

    @property
    def configs(self):
        """The fragments of configuration that go on top of the base, in this order."""
        return tuple(paths.CONFIGS / f"{part}.config" for part in (self.name, self.flavour) if part)

    @property
    def fragment(self):
        """The text of the fragments."""
        return "".join(path.read_text() for path in self.configs)


COMMON = ("SMP", "VIRTUALIZATION", "KVM", "DEBUG_FS", "CGROUP_SCHED", "FAIR_GROUP_SCHED", "KUNIT")
STATIC = "-static -pthread -no-pie"

ARCHES = {
    "x86": Arch("x86", "", "tinyconfig", "arch/x86/boot/bzImage", "x86_64", STATIC,
                COMMON + ("KVM_AMD", "KVM_INTEL", "SERIAL_8250_CONSOLE", "BLK_DEV_INITRD"),
                modules=("virt/lib/irqbypass.ko", "arch/x86/kvm/kvm.ko", "arch/x86/kvm/kvm-amd.ko")),
    "arm64": Arch("arm64", "aarch64-linux-gnu-", "allnoconfig", "arch/arm64/boot/Image", "aarch64", STATIC,
                  COMMON + ("PARAVIRT", "ARM_ARCH_TIMER_EVTSTREAM", "BLK_DEV_INITRD")),
    "s390": Arch("s390", "s390x-linux-gnu-", "tinyconfig", "arch/s390/boot/bzImage", "s390x",
                 STATIC + " -Wl,--s390-pgste", ("SMP", "KVM", "DEBUG_FS", "KUNIT", "BLK_DEV_INITRD"), "-march=z10"),
    "riscv": Arch("riscv", "riscv64-linux-gnu-", "allnoconfig", "arch/riscv/boot/Image", "riscv", STATIC,
                  ("SMP", "VIRTUALIZATION", "KVM", "DEBUG_FS", "CGROUP_SCHED", "FAIR_GROUP_SCHED", "BLK_DEV_INITRD")),
}


def get(name, flavour=""):
    """Return the Arch of that name, for a flavour of its kernel, or a LabError that lists them."""
    if name not in ARCHES:
        raise ui.LabError(f"ARCH={name} is not one of {', '.join(ARCHES)}", todo="for example ARCH=x86")
    return replace(ARCHES[name], flavour=flavour)
