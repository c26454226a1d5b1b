# SPDX-License-Identifier: GPL-2.0
"""`make check-builds`: KVM of every architecture that Debian has a compiler for, with the series' options and without.

Only the objects of KVM and of the scheduler are built, with W=1; a warning that names a file of ours is a failure. Kernels
are not linked, nothing is run.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

import kernel
import ktap
import paths
import run
import series
import tree
import ui


@dataclass(frozen=True)
class Target:
    """One configuration. arch: the kernel's ARCH; package: Debian's compiler; options: on top of base; folder: KVM's."""
    name: str
    arch: str
    cross: str
    package: str
    base: str
    options: str
    folder: str

    @property
    def out(self):
        return f"out-builds-{self.name}"


COMMON = "SMP MULTIUSER PRINTK BUG FUTEX EPOLL EVENTFD CGROUPS CGROUP_SCHED FAIR_GROUP_SCHED DEBUG_FS VIRTUALIZATION KVM"
X86 = COMMON + " PCI ACPI HYPERVISOR_GUEST PARAVIRT KVM_INTEL KVM_AMD KVM_HYPERV"
TARGETS = (
    Target("x86_64", "x86_64", "", "gcc", "tinyconfig", X86 + " 64BIT HYPERV KVM_XEN", "arch/x86/kvm"),
    Target("i386", "i386", "", "gcc", "tinyconfig", X86, "arch/x86/kvm"),
    Target("arm64", "arm64", "aarch64-linux-gnu-", "gcc-aarch64-linux-gnu", "allnoconfig", COMMON, "arch/arm64/kvm"),
    Target("s390", "s390", "s390x-linux-gnu-", "gcc-s390x-linux-gnu", "tinyconfig", COMMON + " MARCH_Z10", "arch/s390/kvm"),
    Target("riscv", "riscv", "riscv64-linux-gnu-", "gcc-riscv64-linux-gnu", "allnoconfig", COMMON + " MMU ARCH_RV64I RISCV_SBI",
           "arch/riscv/kvm"),
    Target("powerpc", "powerpc", "powerpc64le-linux-gnu-", "gcc-powerpc64le-linux-gnu", "ppc64le_defconfig",
           COMMON + " KVM_BOOK3S_64 KVM_BOOK3S_64_HV KVM_BOOK3S_64_PR NO_HZ_IDLE VIRT_CPU_ACCOUNTING_NATIVE", "arch/powerpc/kvm"),
    Target("mips", "mips", "mips64el-linux-gnuabi64-", "gcc-mips64el-linux-gnuabi64", "loongson3_defconfig", COMMON, "arch/mips/kvm"),
)
# Debian 12 has no compiler for it.
NOT_BUILT = {"loongarch": "Debian has no package gcc-loongarch64-linux-gnu"}


def packages():
    """Compilers to install; those that this Debian does not have are left to be reported."""
    wanted = [target.package for target in TARGETS]
    policy = run.output(["apt-cache", "policy", *wanted], check=False)
    return [name for name in wanted if re.search(rf"^{re.escape(name)}:\n.*\n  Candidate: (?!\(none\))", policy, re.M)]


def options():
    """Kconfig options that the series adds: in diffs, and in Kconfig files of ours."""
    text = "\n".join(patch.diff for patch in series.read())
    found = re.findall(r"^\+(?:menu)?config (\w+)", text, re.M)
    for name in series.ours():
        if os.path.basename(name).startswith("Kconfig"):
            found += re.findall(r"^(?:menu)?config (\w+)", (paths.OURS / name).read_text(), re.M)
    return list(dict.fromkeys(found))


def check(report):
    """Build all targets, or those that $TARGETS names; report(ktap.Test) for each configuration."""
    only = os.environ.get("TARGETS", "")
    wanted = [target for target in TARGETS if not only or target.name in only.split()]
    with tree.hold():
        directory = tree.make()
        for target in wanted:
            for ours in (True, False):
                report(_one(directory, target, ours))
    for name, reason in NOT_BUILT.items():
        if not only:
            report(ktap.Test(f"{name} KVM", ktap.SKIP, reason))


def make(directory, target, *words):
    argv = ["make", "-C", str(directory), f"O={target.out}", f"ARCH={target.arch}", f"-j{os.cpu_count()}",
            f"CC=ccache {target.cross}gcc", "HOSTCC=ccache gcc"]
    return argv + ([f"CROSS_COMPILE={target.cross}"] if target.cross else []) + list(words)


def _one(directory, target, ours):
    name = f"{target.name} KVM {'with' if ours else 'without'} the series' options"
    if not shutil.which(target.cross + "gcc"):
        return ktap.Test(name, ktap.SKIP, f"{target.package} is not installed, and Debian has none to install")
    out = directory / target.out
    out.mkdir(exist_ok=True)
    ui.note(f"  {name}")
    log = paths.log(f"builds-{target.name}-{'with' if ours else 'without'}")
    lines = []
    try:
        configure(directory, target, ours, out)
        with open(log, "w") as file:
            folders = [f"{target.folder}/", "kernel/sched/"]
            done = subprocess.run(make(directory, target, "W=1", "prepare", *folders), env=kernel.environment(), text=True,
                                  stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        lines = log.read_text().splitlines()
        if done.returncode:
            bad = [line for line in lines if "rror" in line] or lines[-1:]
            return ktap.Test(name, ktap.FAIL, bad[0], output=lines)
        if not (out / "virt/kvm").exists() and not list(out.glob("**/directed_yield.o")):
            return ktap.Test(name, ktap.FAIL, "virt/kvm/directed_yield.o was not built")
    except ui.LabError as error:
        return ktap.Test(name, ktap.FAIL, error.what.splitlines()[0], output=str(error).splitlines())
    files = "|".join(re.escape(path) for path in series.ours() if path.endswith((".c", ".h")))
    warnings = [line for line in lines if re.search(rf"({files}):\d+.*warning", line)]
    return ktap.Test(name, ktap.FAIL if warnings else ktap.PASS, warnings[0] if warnings else "", output=warnings)


def configure(directory, target, ours, out):
    """Make .config, and make sure that KVM is in it and our options are as wanted, where they exist."""
    run.output(make(directory, target, target.base), env=kernel.environment())
    wanted = [(name, "y") for name in target.options.split()] + [("KUNIT", "y" if ours else "n"), ("WERROR", "n")]
    wanted += [(name, "y" if ours else "n") for name in options()]
    with open(out / ".config", "a") as file:
        file.writelines(f"CONFIG_{name}=y\n" if value == "y" else f"# CONFIG_{name} is not set\n" for name, value in wanted)
    run.output(make(directory, target, "olddefconfig"), env=kernel.environment())
    have = (out / ".config").read_text()
    must = ["KVM"] + [name for name in target.options.split() if name.startswith("KVM_")]
    missing = [name for name in must if not re.search(rf"^CONFIG_{name}=[ym]$", have, re.M)]
    if missing:
        raise ui.LabError(f"{target.name}: the configuration lacks {', '.join(missing)}")
    stray = [name for name in options() if not ours and re.search(rf"^CONFIG_{name}=[ym]$", have, re.M)]
    if stray:
        raise ui.LabError(f"{target.name}: the configuration has {', '.join(stray)}, which cannot be switched off")
