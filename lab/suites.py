# SPDX-License-Identifier: GPL-2.0
"""The suites that `make check` runs. To add a test: add its program here, or a Suite if it needs a boot of its own."""

import os
from dataclasses import dataclass, replace

import bench_host
import guest
import guest_s390
import nested
import pausefilter
import storm
import ui


@dataclass(frozen=True)
class Program:
    """A program below /tests. limit: seconds of the machine's own time; result: its name in the results."""
    name: str
    arguments: str = ""
    limit: int = 60
    result: str = ""

    @property
    def title(self):
        return self.result or self.name


@dataclass(frozen=True)
class Suite:
    """One boot that runs programs in order.

    group: what `make check-GROUP` selects; timeout: wall seconds for the boot; baseline: results are compared with what the
    stock kernel does (lab/baseline/); prepare: shell commands before the first program; kunit: KUnit suites to report.
    emulator: one other than the architecture's usual; cpu: the emulated CPU's model, where there is a choice.
    files: called with the Image, returns more files for the machine, guest path -> content; programs may be among them.
    stock: the machine runs the stock kernel; flavour: of the kernel, see kernel.py; semihosting: see machine.Boot.
    """
    name: str
    group: str
    programs: tuple = ()
    arch: str = "x86"
    smp: int = 1
    mode: str = "icount"
    memory: str = "1024M"
    cmdline: tuple = ()
    timeout: int = 300
    baseline: bool = False
    prepare: str = ""
    kunit: tuple = ()
    allow: tuple = ()
    files: object = None
    emulator: str = None
    cpu: str = None
    stock: bool = False
    flavour: str = ""
    semihosting: bool = False


def _number(variable, default, least):
    """What a variable of `make` says."""
    text = os.environ.get(variable) or str(default)
    if not text.isdigit() or int(text) < least:
        raise ui.LabError(f"{variable}={text} is not a number of {least} or more", todo=f"for example {variable}={default}")
    return int(text)


# The group that runs on the host, without a machine: unit.py.
UNIT = "unit"
# The group that only builds, for all architectures, and is asked for by name only: builds.py.
BUILDS = "builds"
# The group that judges the series patch by patch, by name only: lint.py, inturn.py.
SERIES = "series"
# The group that breaks each rule of the core in user space, by name only: faults.py.
FAULTS = "faults"

# The group that takes $HYPERCALLS hypercalls of a Linux guest, by name only.
TORTURE = "x86-torture"
HYPERCALLS = _number("HYPERCALLS", 1000000, 1)
# Groups on kernels of the flavours for debugging.
DEBUG, SOAK = "debug", "soak"
SOAK_SECONDS = 60 * _number("MINUTES", 10, 2)
# Groups with suites that are asked for by name only.
BY_NAME = (TORTURE, "s390-guests", "riscv", DEBUG, SOAK)

# Minutes that each group may take, builds not counted.
BUDGET = {"unit": 1, "x86": 10, "x86-guests": 4, "arm64": 10, "arm64-guests": 10, "s390": 2, "s390-guests": 3, "riscv": 2}

SUITES = (
    Suite("x86 directed yield", "x86", cmdline=pausefilter.cmdline("icount"), timeout=300, programs=(
        Program("x86_64/directed_yield_test"),
        Program("x86_64/svm_pause_filter_test"),
    )),
    Suite("x86 directed yield in cgroups", "x86", timeout=600, kunit=("yield_level", "yield_paid"), programs=(
        Program("x86_64/directed_yield_sched_test", arguments="1", limit=240),
    )),
    Suite("x86 directed yield in cgroups, 2 CPUs", "x86", smp=2, timeout=300, programs=(
        Program("x86_64/directed_yield_sched_test", arguments="2", limit=120, result="x86_64/directed_yield_sched_test 2 CPUs"),
    )),
    Suite("x86 directed yield, 2 CPUs", "x86", smp=2, mode="mttcg", cmdline=pausefilter.cmdline("mttcg"), timeout=240, programs=(
        Program("x86_64/directed_yield_stress_test", limit=120),
    )),
    # It prints numbers, which nobody judges: that it runs to its end and puts the parameters back.
    Suite("x86 benchmark for hosts", "x86", cmdline=pausefilter.cmdline("icount"), timeout=300, files=bench_host.files,
          prepare="export SIZES='--iterations=100 --critical=10000 --noncritical=10000'", programs=(
        Program("host/bench-host", "1", limit=200),
    )),
    Suite("x86 Hyper-V hypercalls", "x86", timeout=600, kunit=("hyperv_xmm",), programs=(
        Program("x86_64/hyperv_xmm_input_test", limit=240),
    )),
    # Not under icount: QEMU 7.2 and 11.1 deliver an interrupt that VMRUN injected once more if the time slice of icount ends
    # before the guest's next exception or exit, about once in 3000 injections.
    Suite("x86 Hyper-V Linux guest", "x86-guests", mode="mttcg", timeout=900, cmdline=pausefilter.cmdline("mttcg"),
          files=nested.hyperv, programs=(
        Program("hyperv-guest", "avx calls=2000 hypercalls=20000", limit=400, result="Linux guest, input in XMM registers"),
        Program("hyperv-guest", "sse calls=1000", limit=400, result="Linux guest, input in XMM registers, no AVX"),
        Program("hyperv-guest", "memory calls=100", limit=400, result="Linux guest, hv_noxmm"),
    )),
    Suite("x86 Hyper-V Linux guest, torture", TORTURE, mode="mttcg", timeout=7000, cmdline=pausefilter.cmdline("mttcg"),
          files=nested.hyperv, programs=(
        Program("hyperv-guest", f"avx calls=5000 hypercalls={HYPERCALLS}", limit=6900,
                result=f"Linux guest, {HYPERCALLS} hypercalls with input in XMM registers"),
    )),
    Suite("x86 upstream KVM selftests", "x86", baseline=True, timeout=600, programs=(
        Program("steal_time"),
        Program("x86_64/kvm_pv_test"),
        Program("x86_64/hyperv_features"),
        Program("x86_64/hyperv_ipi"),
        Program("x86_64/xapic_ipi_test"),
        Program("x86_64/state_test"),
        Program("x86_64/smm_test"),
        Program("x86_64/sync_regs_test"),
        Program("x86_64/svm_int_ctl_test"),
        Program("kvm_binary_stats_test"),
        Program("x86_64/userspace_io_test"),
    )),
    Suite("s390 KUnit, QEMU", "s390", arch="s390", emulator="qemu_s390", smp=2, memory="512M", timeout=60,
          kunit=("kvm_s390_diag",)),
    Suite("s390 directed yield, Hercules", "s390", arch="s390", smp=2, mode="mttcg", memory="512M", timeout=180,
          kunit=("kvm_s390_diag",), programs=(
              Program("s390x/directed_yield_test", limit=100),
          )),
    Suite("s390 Linux guest, Hercules", "s390-guests", arch="s390", smp=2, mode="mttcg", memory="512M", timeout=400,
          files=guest_s390.files, programs=(
              Program("guest/storm", limit=300),
          )),
    Suite("riscv WRS.NTO", "riscv", arch="riscv", memory="512M", timeout=120, programs=(
        Program("riscv/directed_yield_test"),
        Program("kvm_binary_stats_test"),
    )),
    Suite("arm64 WFE traps and PV lock", "arm64", arch="arm64", timeout=240, cmdline=("kunit.enable=1",),
          kunit=("arm64_pvlock",), programs=(
        Program("aarch64/wfe_trap_test", limit=120),
        Program("aarch64/pvlock_test", limit=120),
        Program("get-reg-list"),
        Program("aarch64/hypercalls"),
        Program("aarch64/smccc_filter"),
        Program("aarch64/psci_test"),
        Program("steal_time"),
        Program("kvm_binary_stats_test"),
    )),
    Suite("arm64 PV lock, nVHE", "arm64", arch="arm64", timeout=240, cmdline=("kvm-arm.mode=nvhe",), programs=(
        Program("aarch64/wfe_trap_test", limit=120, result="aarch64/wfe_trap_test nVHE"),
        Program("aarch64/pvlock_test", limit=120, result="aarch64/pvlock_test nVHE"),
    )),
    Suite("arm64 PV lock hidden", "arm64", arch="arm64", timeout=120, cmdline=("kvm-arm.pvlock=0",), programs=(
        Program("aarch64/pvlock_test", arguments="hidden", result="aarch64/pvlock_test hidden"),
        Program("steal_time"),
    )),
    Suite("arm64 PV lock, 2 CPUs", "arm64", arch="arm64", smp=2, mode="mttcg", timeout=180, programs=(
        Program("aarch64/pvlock_test", arguments="hammer", limit=120, result="aarch64/pvlock_test hammer"),
    )),
    Suite("arm64 Linux guests", "arm64-guests", arch="arm64", timeout=900, files=guest.files, programs=(
        Program("guest/pvlock", arguments="on", limit=200),
        Program("guest/hotplug", limit=200),
    )),
    Suite("arm64 Linux guest, kexec", "arm64-guests", arch="arm64", timeout=300, files=guest.kexec, programs=(
        Program("guest/kexec", limit=200),
    )),
    Suite("arm64 Linux guests, PV lock hidden", "arm64-guests", arch="arm64", timeout=300, files=guest.files,
          cmdline=("kvm-arm.pvlock=0",), programs=(
        Program("guest/pvlock", arguments="off", limit=100, result="guest/pvlock hidden"),
    )),
    Suite("arm64 migration from a host with PV lock", "arm64-guests", arch="arm64", timeout=900, memory="1536M", semihosting=True,
          files=guest.first_migration, programs=(
        Program("guest/migrate", "save with on", limit=200, result="guest/migrate: saved"),
    )),
    Suite("arm64 migration from a host that hides it", "arm64-guests", arch="arm64", timeout=900, memory="1536M", semihosting=True,
          files=guest.migration, cmdline=("kvm-arm.pvlock=0",), programs=(
        Program("guest/migrate", "save hidden off", limit=200, result="guest/migrate: saved, PV lock hidden"),
        Program("guest/migrate", "refuse with", limit=200, result="guest/migrate: PV lock to a host that hides it"),
    )),
    Suite("arm64 migration to and from a stock host", "arm64-guests", arch="arm64", timeout=900, memory="1536M", semihosting=True,
          files=guest.migration, stock=True, programs=(
        Program("guest/migrate", "refuse with", limit=200, result="guest/migrate: PV lock to stock"),
        Program("guest/migrate", "resume hidden off", limit=200, result="guest/migrate: hidden to stock"),
        Program("guest/pvlock", "off", limit=100, result="guest/pvlock: patched guest, stock host"),
        Program("guest/migrate", "save stock off", limit=200, result="guest/migrate: saved, stock"),
    )),
    Suite("arm64 migration to a host with PV lock", "arm64-guests", arch="arm64", timeout=900, memory="1536M", files=guest.migration,
          programs=(
        Program("guest/pvlock", "stock", limit=100, result="guest/pvlock: stock guest"),
        Program("guest/migrate", "resume with on", limit=200, result="guest/migrate: PV lock to PV lock"),
        Program("guest/migrate", "resume stock off", limit=200, result="guest/migrate: stock to PV lock"),
        Program("guest/migrate", "resume hidden off", limit=200, result="guest/migrate: hidden to PV lock"),
    )),
    Suite("arm64 WFET", "arm64", arch="arm64", timeout=120, cpu="max", programs=(
        Program("aarch64/wfe_trap_test", arguments="wfet", result="aarch64/wfe_trap_test wfet"),
    )),
)


def _debug(flavour, groups, suites, **others):
    """These groups' suites on a kernel of a debugging flavour, on which everything takes longer."""
    for suite in suites:
        if suite.group in groups:
            yield replace(suite, name=f"{suite.name}, {flavour}", group=DEBUG, flavour=flavour, timeout=6 * suite.timeout, **others,
                          programs=tuple(replace(program, limit=6 * program.limit) for program in suite.programs))


def _storm(name, group, flavour, seconds, **others):
    """A boot for the storm of lab/storm/."""
    others = {"cmdline": pausefilter.cmdline("mttcg"), **others}
    return Suite(name, group, flavour=flavour, smp=2, mode="mttcg", memory="1536M", timeout=4 * seconds + 600, files=storm.files,
                 programs=(Program("storm", f"{seconds}{' leaks' if flavour == SOAK else ''}", limit=3 * seconds + 400),), **others)


SUITES += (
    *_debug("lockdep", ("x86", "arm64"), SUITES),
    *_debug("kasan", ("x86",), SUITES),
    *_debug("kcsan", ("x86",), [suite for suite in SUITES if suite.smp > 1], prepare=storm.OUR_RACES),
    *(_storm(f"x86 storm, {flavour}", DEBUG, flavour, 60) for flavour in ("lockdep", "kasan")),
    _storm("x86 storm, kcsan", DEBUG, "kcsan", 60, prepare=storm.OUR_RACES),
    # Where KVM is modules, these take the parameters from who loads them.
    _storm("x86 soak", SOAK, "soak", SOAK_SECONDS, cmdline=(), prepare="\n".join((
        "insmod /modules/1.ko", "insmod /modules/2.ko",
        "insmod /modules/3.ko " + " ".join(word.partition(".")[2] for word in pausefilter.cmdline("mttcg"))))),
)

# Programs that are in the images for shells, the demo and measurements, besides those of the suites.
TOOLS = {"x86": ("directed_yield_load", "memslot_modification_stress_test", "x86_64/hyperv_guest_fpu_test",
                 "x86_64/hyperv_xmm_cost")}


def programs(arch):
    """Names of all programs that the images of arch hold."""
    names = [program.name for suite in SUITES if suite.arch == arch and not suite.files for program in suite.programs]
    return tuple(dict.fromkeys(names + list(TOOLS.get(arch, ()))))


def of_groups(groups):
    """The suites of the given groups, in order."""
    return [suite for suite in SUITES if suite.group in groups]


def groups():
    """All groups that `make check` runs."""
    return (UNIT, *dict.fromkeys(suite.group for suite in SUITES if suite.group not in BY_NAME))
