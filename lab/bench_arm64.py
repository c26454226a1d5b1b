# SPDX-License-Identifier: GPL-2.0
"""`make bench ARCH=arm64`: Linux guests whose tasks contend on sleeping locks, on a host with fewer CPUs than vCPUs.

A deterministic machine with one CPU boots one guest at a time under a stock QEMU. The guest runs lab/guest/load.c: each
workload with each seed, the workloads in turn, so that a seed's runs are close to each other. Times are the guest's, of its
architected counter, which is the machine's.

The variants are the stock kernel in host and guest; the patched one in both, with the guest's `nopvlock`; and without it. The
ideal is the patched kernel with one vCPU: the same work, nobody waits for a CPU.

A machine that complains, a guest that fails, or a line that is missing is an error, never a number.
"""

import argparse
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import guest
import initramfs
import kernel
import machine
import paths
import stats
import ui

# Operations of a task, of which there are TASKS: some 60 ms for all of them where nobody waits, many ticks.
WORKLOADS = {"creat": 600, "rename": 800, "append": 3000, "mmap": 500, "pipe": 3000, "sem": 1500, "fork": 12}
TASKS = 8
LINE = re.compile(r"^load (\w+) (\d+) (\d+) (\d+)$")
FOLDER = paths.BUILD / "bench"


@dataclass(frozen=True)
class Variant:
    """A kernel for host and guest, and the guest's parameters."""
    name: str
    stock: bool = False
    parameters: str = ""


STOCK, OFF, ON = Variant("stock", stock=True), Variant("off", parameters="nopvlock"), Variant("on")
VARIANTS = {variant.name: variant for variant in (STOCK, OFF, ON)}


@dataclass(frozen=True)
class Task:
    """What one boot does. policy: the host's for WFE traps; hog: a CPU-bound process of the host runs beside the guest."""
    variant: Variant
    vcpus: int
    policy: str
    hog: bool = False

    @property
    def name(self):
        return f"{self.variant.name}-{self.vcpus}-{self.policy}{'-hog' if self.hog else ''}"

    def job(self, workloads, seeds):
        lines = "\n".join(f"load {name} {TASKS} {WORKLOADS[name]} {seed} || exit 1"
                          for seed in range(1, seeds + 1) for name in workloads)
        begin, end = ("while :; do :; done & hog=$!\n", "kill $hog\n") if self.hog else ("", "")
        return (f"cat > /tmp/bench <<'END'\n{lines}\nexit 0\nEND\n{begin}l2 {self.vcpus} /tmp/bench {self.variant.parameters}\n"
                f"status=$?\n{end}exit $status\n")


class Lab:
    """The kernels and what machines boot."""

    def __init__(self, variants):
        self.images, self.bases = {}, {}
        for stock in sorted({variant.stock for variant in variants}):
            self.images[stock] = kernel.build("arm64", stock=stock).image
            self.bases[stock] = initramfs.base("arm64", {}, guest.paths_of(self.images[stock], {"/bin/load": guest.compiled("load")}))

    def measure(self, task, workloads, seeds, timeout):
        """Boot; return workload -> its times in ms, in the order of the seeds."""
        stock = task.variant.stock
        result = machine.run(machine.Boot(
            name=f"bench-arm64-{task.name}", image=self.images[stock], base=self.bases[stock], arch="arm64", timeout=timeout,
            cmdline=[] if task.policy == "default" else [f"kvm-arm.wfe_trap_policy={task.policy}"],
            job=initramfs.Job(task.job(workloads, seeds))), quiet=True).check()
        says = sum("arm-pv: using PV lock" in line for line in result.lines)
        if says != (task.variant == ON):
            raise ui.LabError(f"{task.name}: {says} guests say that they use PV lock", log=result.log)
        found = {name: {} for name in workloads}
        for line in result.lines:
            if match := LINE.match(line.strip()):
                found[match[1]][int(match[3])] = int(match[4]) / 1e6
        for name, times in found.items():
            if sorted(times) != list(range(1, seeds + 1)):
                raise ui.LabError(f"{task.name}: {name} has {len(times)} of {seeds} results", log=result.log)
        return {name: [times[seed] for seed in sorted(times)] for name, times in found.items()}, result.seconds


def _show(values):
    spread = stats.spread(values)
    return f"{spread.median:.1f} [{spread.low:.1f}..{spread.high:.1f}]"


def _ratio(first, second):
    ratio = stats.paired_ratio(first, second)
    return f"{ratio.median:.2f} [{ratio.low:.2f}..{ratio.high:.2f}]" + (" slower" if ratio.worse else "")


def table(results, workloads):
    """The lines of the table: a row per workload and configuration."""
    lines = ["| host | WFE | vCPUs | workload | ideal | stock | flag off | flag on | stock / on | off / on | stock / off | "
             "ideal / on |", "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    configurations = dict.fromkeys((task.hog, task.policy, task.vcpus) for task in results if task.vcpus > 1)
    for hog, policy, vcpus in configurations:
        for name in workloads:
            have = {variant: results.get(Task(variant, vcpus, policy, hog), {}).get(name) for variant in VARIANTS.values()}
            stock, off, on = (have[variant] for variant in (STOCK, OFF, ON))
            ideal = results[Task(ON, 1, policy)][name]
            cells = [_show(ideal), *(_show(times) if times else "" for times in (stock, off, on))]
            cells += [_ratio(*pair) if all(pair) else "" for pair in ((stock, on), (off, on), (stock, off))]
            cells.append(f"{stats.median([a / b for a, b in zip(ideal, on)]):.2f}" if on and not hog else "")
            lines.append(f"| {'hog' if hog else 'alone'} | {policy} | {vcpus} | {name} | {' | '.join(cells)} |")
    return lines


def main(arguments):
    """`make bench ARCH=arm64`; arguments: the words after it."""
    parser = argparse.ArgumentParser(prog="make bench ARCH=arm64", description="Measure Linux guests on arm64.")
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--vcpus", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--policies", nargs="+", default=["default"], help="of WFE traps: default, trap, notrap")
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--hog", action="store_true", help="next to a CPU-bound process on the host, too")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count()), help="boots at a time")
    parser.add_argument("--timeout", type=int, default=7200, help="seconds for a boot")
    parser.add_argument("--name", default="arm64", help="of the file of results")
    options = parser.parse_args(arguments)
    variants = [VARIANTS[name] for name in options.variants]
    tasks = [Task(ON, 1, policy) for policy in options.policies]
    tasks += [Task(variant, vcpus, policy, hog) for hog in ([False, True] if options.hog else [False])
              for policy in options.policies for vcpus in options.vcpus if vcpus > 1 for variant in variants]
    lab, results = Lab([*variants, ON]), {}
    with ThreadPoolExecutor(options.jobs) as pool:
        futures = {pool.submit(lab.measure, task, options.workloads, options.seeds, options.timeout): task for task in tasks}
        try:
            for future in as_completed(futures):
                task = futures[future]
                results[task], seconds = future.result()
                ui.note(f"  [{len(results)}/{len(tasks)}] {task.name}, {seconds:.0f} s: "
                        + ", ".join(f"{name} {stats.median(times):.1f}" for name, times in results[task].items()) + " ms")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{options.name}.json"
    path.write_text(json.dumps({"command": " ".join(["make bench ARCH=arm64", *arguments]), "unit": "ms",
                                "results": {task.name: results[task] for task in tasks}}, indent=1) + "\n")
    ui.note("\n".join(["", f"1 CPU, {TASKS} tasks, {options.seeds} seeds; ms, median [smallest..largest]; ratios: the median of "
                       "pairs with the same seed, its 95 % interval", "",
                       *table({task: results[task] for task in tasks}, options.workloads), "", f"Each run: {path}"]))
    return 0
