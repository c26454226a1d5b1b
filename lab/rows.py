# SPDX-License-Identifier: GPL-2.0
"""The rows of the measurements: what runs in a lab machine, and how to read what it prints.

The amount of work per vCPU is the same in all rows:

- A critical section is 10000 turns of a loop of two instructions, 20 us where an instruction takes 1 ns (the deterministic
  machine). That is long for a lock, but an emulated exit, 3 to 6 us, is as many times longer than a hardware one.
- As long passes between two of them, so that a vCPU which is preempted holds the lock every other time, and a run without
  any contention, about which there is nothing to say, does not happen.
- Each length varies between half and one and a half times that, drawn per vCPU from the seed. Equal lengths would keep
  step with the timer tick, and no vCPU would ever be preempted inside a section.
- 400 sections per vCPU are 16 ms, four ticks of CPU time for each: preemption happens many times in each run. More would
  only cost time: what says how sure a median is, is the number of seeds.
"""

import re
from dataclasses import dataclass

PROGRAM = "directed_yield_load"

ITERATIONS = 400
CRITICAL = 10000
NONCRITICAL = CRITICAL
INSTRUCTIONS_PER_LOOP = 2

LOCKS = {"tas": "TAS lock", "ticket": "ticket lock", "queued": "queued lock"}
LAYOUTS = {"libvirt": "libvirt groups", "flat": "no groups"}

SLICE = "/sys/kernel/debug/sched/base_slice_ns"

# How a run treats PAUSE: exits (directed yield takes part), stays in the guest, or the ideal: one vCPU per CPU.
EXIT, GUEST, IDEAL = "exit", "guest", "ideal"


@dataclass(frozen=True)
class Row:
    """One case. hog: vCPUs of a CPU-bound second VM; vms: lock VMs of `vcpus` each; concurrent: CPUs that really run at
    the same time (MTTCG), which is noisy, instead of the deterministic machine; slice_us: the scheduler's base slice, 0 for
    the kernel's own: 750 us with one CPU, while hosts with 8 and more use 2.8 to 3 ms."""
    layout: str
    lock: str
    vcpus: int
    hog: int = 0
    vms: int = 1
    cpus: int = 1
    concurrent: bool = False
    slice_us: int = 0

    @property
    def key(self):
        return "-".join([self.layout, self.lock, str(self.vcpus)] + ["hog"] * bool(self.hog)
                        + [f"{self.vms}vms"] * (self.vms > 1) + [f"{self.cpus}cpus"] * (self.cpus > 1)
                        + [f"slice{self.slice_us}"] * bool(self.slice_us))

    @property
    def text(self):
        text = f"{LAYOUTS[self.layout]}, {LOCKS[self.lock]}, {self.vcpus} vCPUs"
        if self.hog:
            text += " + CPU-bound VM"
        if self.vms > 1:
            text += f" in each of {self.vms} VMs"
        if self.slice_us:
            text += f", slice {self.slice_us / 1000:.1f} ms"
        return text

    @property
    def machine(self):
        """The mode of the lab machine that the row needs."""
        return "mttcg" if self.concurrent else "icount"

    @property
    def share(self):
        """The part of the CPUs which a lock VM is entitled to, with all vCPUs runnable and all weights equal."""
        if self.layout == "libvirt":
            # Each VM is one entity, but a hog cannot use more CPUs than it has vCPUs.
            hogs = min(self.hog / self.cpus, 1 / (self.vms + 1)) if self.hog else 0
        else:
            hogs = self.hog / (self.hog + self.vms * self.vcpus)
        return (1 - hogs) / self.vms

    def nominal_ms(self):
        """About how long the ideal takes on the deterministic machine, in ms of its time."""
        work = self.vcpus * ITERATIONS * (CRITICAL + NONCRITICAL) * INSTRUCTIONS_PER_LOOP / 1e6
        return work / self.cpus / self.share

    def ideal(self):
        """The row whose ideal run this one is compared with: the same work, nothing else on the machine."""
        return Row("flat", self.lock, self.vcpus, cpus=self.cpus, concurrent=self.concurrent)

    def command(self, mode, seeds, cap_ms=0):
        """The command that runs this row once for each of the consecutive seeds (first, last)."""
        words = [PROGRAM, f"--seeds={seeds[0]}..{seeds[1]}", f"--vcpus={self.vcpus}", f"--lock={self.lock}",
                 f"--cpus={self.cpus}", f"--iterations={ITERATIONS}", f"--critical={CRITICAL}",
                 f"--noncritical={NONCRITICAL}"]
        words += [f"--hog-vm={self.hog}"] * bool(self.hog) + [f"--vms={self.vms}"] * (self.vms > 1)
        words += ["--cgroup"] * (self.layout == "libvirt") + [f"--cap-ms={cap_ms:.0f}"] * bool(cap_ms)
        words += ["--pause-in-guest"] * (mode == GUEST) + ["--ideal"] * (mode == IDEAL)
        # Its own file is the guest's program: it must be found by an absolute path.
        command = "/tests/" + " ".join(words)
        if self.slice_us:
            # Other rows may follow in the same boot.
            command = (f"slice=$(cat {SLICE}) && echo {self.slice_us * 1000} > {SLICE} && {command}; "
                       f"status=$?; echo $slice > {SLICE}; (exit $status)")
        return command


LINE = re.compile(r"^DYLOAD (.*)$")
LISTS = ("vm_time_ns", "vm_cpu_ns")


def parse(line):
    """The values of a line that the program prints, as a dict; None if it is another line. A missing counter is None."""
    match = LINE.match(line)
    if not match:
        return None
    values = {}
    for word in match[1].split():
        key, _, text = word.partition("=")
        if key in LISTS:
            values[key] = [int(part) for part in text.split(",")]
        elif text == "-":
            values[key] = None
        else:
            values[key] = int(text) if re.fullmatch(r"-?\d+", text) else text
    return values


def pause_exits(run):
    """PAUSE exits of a run: all exits without those for interrupts, I/O and page faults. Counted alike on every kernel."""
    return run["exits"] - sum(run[name] or 0 for name in ("irq_exits", "io_exits", "pf_taken"))


def demo():
    """The handful of rows that `make demo` shows: people run VMs in groups, so these come first.

    Locks that are served in order are shown with 4 vCPUs and in groups: they take longest, with 8 longer than all other rows.
    On CPUs that run at the same time they say more about the machine: it stops whenever an emulated CPU loses its own CPU.
    """
    return [
        Row("libvirt", "tas", 4),
        Row("libvirt", "tas", 8, hog=1),
        Row("libvirt", "ticket", 4),
        Row("libvirt", "ticket", 4, hog=1),
        Row("flat", "tas", 8),
        Row("flat", "tas", 4, hog=1),
        Row("libvirt", "tas", 8, cpus=2, concurrent=True),
        Row("libvirt", "tas", 8, hog=1, cpus=2, concurrent=True),
    ]


def matrix():
    """All rows of `make bench`."""
    rows = [Row(layout, lock, vcpus, slice_us=slice_us, **others)
            for slice_us in (0, 2800) for layout in LAYOUTS for others in ({}, {"hog": 1}, {"vms": 2}) for lock in LOCKS
            for vcpus in (4, 8)]
    return rows + [Row(layout, lock, 8, hog=hog, cpus=2, concurrent=True)
                   for layout in LAYOUTS for lock in LOCKS for hog in (0, 1)]
