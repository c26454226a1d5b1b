# SPDX-License-Identifier: GPL-2.0
"""Takes measurements in lab machines; and `make bench`, which takes all of them.

A task is one row with one variant (a kernel and its settings). A deterministic one has a boot of its own for all of its
seeds, so its numbers do not depend on which other rows were chosen; two boots run at a time, since what else the host does
cannot change the numbers. Concurrent tasks have the host for themselves: a boot runs all rows with one variant and one seed,
and the variants take turns.

A machine that complains, a program that fails, or a line that is missing is an error, never a number.
"""

import argparse
import fnmatch
import json
import os
import re
import resource
import shlex
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

import initramfs
import kernel
import machine
import paths
import pausefilter
import programs
import rows
import stats
import ui

# Runs are stopped after this many times the ideal: where the guest keeps its PAUSEs a ticket lock may never finish.
CAP = {rows.EXIT: 30, rows.GUEST: 4, rows.IDEAL: 30}
# A PAUSE that does not exit is what the emulator is slowest at, and what these runs say is the same for each seed.
GUEST_SEEDS = 2

# For time budgets, on two idle cores: seconds for a boot, and per second of the machine's time.
BOOT_SECONDS = 4
SLOWDOWN = {rows.IDEAL: 3, rows.EXIT: 4, rows.GUEST: 20}
# An instruction takes more than 1 ns where time is that of the host.
REAL_TIME = 3
# CPUs that other programs may keep busy while concurrent rows run.
DISTURBED = 0.1


@dataclass(frozen=True)
class Variant:
    """A kernel with settings. features: words for the scheduler's features file; writes: (path, text), made after boot;
    cmdline: kernel parameters."""
    name: str
    stock: bool
    features: tuple = ()
    writes: tuple = ()
    cmdline: tuple = ()

    def script(self):
        """Shell lines that make the settings."""
        writes = [("/sys/kernel/debug/sched/features", word) for word in self.features] + list(self.writes)
        return "".join(f"echo {shlex.quote(text)} > {shlex.quote(path)} || exit 1\n" for path, text in writes)


STOCK = Variant("stock", True)
PATCHED = Variant("patched", False)
# The scheduler's first step alone: the forfeit where vCPUs compete, without the hint honoured as far as it was paid.
FORFEIT = Variant("forfeit", False, features=("NO_YIELD_PAID",))


@dataclass(frozen=True)
class Task:
    """What one boot does; (first, last) are its seeds."""
    row: rows.Row
    variant: Variant
    mode: str
    seeds: tuple

    @property
    def name(self):
        parts = [self.row.key, self.variant.name] + ([self.mode] if self.mode != rows.EXIT else [])
        return "-".join(parts + ([str(self.seeds[0])] if self.row.concurrent else []))

    @property
    def cap_ms(self):
        return CAP[self.mode] * self.row.nominal_ms() * (REAL_TIME if self.row.concurrent else 1)

    def budget(self):
        """Seconds that it will about take."""
        times = {rows.IDEAL: 1, rows.EXIT: 2, rows.GUEST: CAP[rows.GUEST]}[self.mode]
        runs = self.seeds[1] - self.seeds[0] + 1
        # A run needs about as long again to make its VMs.
        return BOOT_SECONDS + runs * SLOWDOWN[self.mode] * (times * self.row.nominal_ms() + 30 * (self.row.vms + 1)) / 1000


class Lab:
    """The kernels, the programs and the results so far. disturbed: CPUs that other programs kept busy meanwhile, of each
    concurrent boot."""

    def __init__(self, label, kernel_src=None):
        self.label, self.kernel_src = label, kernel_src
        self.kernels, self.results, self.disturbed = {}, {}, []
        self.base = None

    def prepare(self, variants):
        """Build all that the variants need."""
        for stock in sorted({variant.stock for variant in variants}):
            self.kernels[stock] = kernel.build("x86", stock=stock, kernel_src=self.kernel_src)
        built = programs.build("x86", [rows.PROGRAM], kernel_src=self.kernel_src)
        if rows.PROGRAM not in built:
            raise ui.LabError(f"the tree has no {rows.PROGRAM}", todo="see the patch that adds the selftests")
        self.base = initramfs.base("x86", built)

    def measure(self, tasks, jobs=None):
        """Run the tasks and keep their results, printing a line for each."""
        start, count = time.monotonic(), 0
        together = sorted((t for t in tasks if not t.row.concurrent), key=Task.budget, reverse=True)
        alone = {}
        for task in tasks:
            if task.row.concurrent:
                alone.setdefault((task.seeds, task.variant), []).append(task)

        def finished(results):
            nonlocal count
            for task, runs in results.items():
                count += 1
                self.results[task] = runs
                ui.note(f"  [{count}/{len(tasks)}, {time.monotonic() - start:.0f} s] {task.name}: {show(_spread(runs))} ms")

        with ThreadPoolExecutor(max_workers=jobs or min(2, os.cpu_count())) as pool:
            futures = [pool.submit(self._boot, [task]) for task in together]
            try:
                for future in as_completed(futures):
                    finished(future.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        for _, group in sorted(alone.items(), key=lambda item: item[0][0]):
            before = _others()
            results = self._boot(group)
            after = _others()
            self.disturbed.append((after[0] - before[0]) / (after[1] - before[1]))
            finished(results)

    def _boot(self, tasks):
        """Run tasks of one variant in one boot; return task -> the values of its lines, in the order of the seeds."""
        first = tasks[0]
        # Printed only when done, so that no kernel message of a VM's start falls into a line.
        script = first.variant.script() + "".join(
            f"{{ {task.row.command(task.mode, task.seeds, task.cap_ms)}; }} > out 2>&1; status=$?\n"
            f"echo TASK {index}; cat out; [ $status = 0 ] || exit $status\n" for index, task in enumerate(tasks))
        name = first.name if len(tasks) == 1 else f"concurrent-{first.variant.name}-{first.seeds[0]}"
        boot = machine.Boot(
            f"{self.label}-{name}", self.kernels[first.variant.stock].image, self.base, initramfs.Job(script),
            smp=first.row.cpus, mode=first.row.machine,
            cmdline=[*pausefilter.cmdline(first.row.machine), *first.variant.cmdline],
            timeout=120 + 10 * sum(task.budget() for task in tasks))
        result = machine.run(boot, quiet=True)
        if result.error or result.status:
            said = [line for line in result.lines if line.strip() and not line.startswith(("lab:", "DYLOAD", "TASK"))]
            raise ui.LabError(f"{name}: {result.error or 'the program failed'}"
                              + "".join(f"\n    {line}" for line in said[-8:]), log=result.log,
                              todo=f"to boot it again: sh {paths.RUN / boot.name / 'reproduce.sh'}")
        results, runs = {task: [] for task in tasks}, None
        for line in result.lines:
            if match := re.fullmatch(r"TASK (\d+)", line):
                runs = results[tasks[int(match[1])]]
            elif run := rows.parse(line):
                runs.append(run)
        for task, runs in results.items():
            wanted = list(range(task.seeds[0], task.seeds[1] + 1))
            if [run["seed"] for run in runs] != wanted or not all(run["ok"] == 1 for run in runs):
                raise ui.LabError(f"{task.name}: {len(runs)} of {len(wanted)} results, or some that are not ok",
                                  log=result.log)
        return results

    def runs(self, row, variant, mode):
        """All results of a row, in the order of the seeds."""
        tasks = sorted((t for t in self.results if (t.row, t.variant, t.mode) == (row, variant, mode)),
                       key=lambda task: task.seeds)
        return [run for task in tasks for run in self.results[task]]


def _others():
    """(seconds of CPU time that programs other than our children have used, the time)."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal, *_ = map(int, file.readline().split()[1:])
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return busy - own.ru_utime - own.ru_stime, time.monotonic()


def disturbance(lab):
    """A sentence about other load on the host during the concurrent rows; empty if there was next to none."""
    if not lab.disturbed or stats.median(lab.disturbed) < DISTURBED:
        return ""
    return (f"Other programs kept {stats.median(lab.disturbed):.1f} CPUs of this machine busy while the concurrent rows ran "
            f"(up to {max(lab.disturbed):.1f}): do not trust those rows.")


def plan(chosen, variants, seeds, repeats, guest=True):
    """The tasks for the chosen rows: the ideal and PAUSE in the guest on the first variant, and each variant."""
    reference, tasks = variants[0], {}
    for row in chosen:
        total = repeats if row.concurrent else seeds
        ranges = [(n, n) for n in range(1, total + 1)] if row.concurrent else [(1, total)]
        for seed_range in ranges:
            tasks[Task(row.ideal(), reference, rows.IDEAL, seed_range)] = True
            for variant in variants:
                tasks[Task(row, variant, rows.EXIT, seed_range)] = True
        # What happens without exits does not depend on much: once for each row with the kernel's own slice.
        if guest and not row.slice_us:
            few = min(total, 2 if row.concurrent else GUEST_SEEDS)
            for seed_range in ([(n, n) for n in range(1, few + 1)] if row.concurrent else [(1, few)]):
                tasks[Task(row, reference, rows.GUEST, seed_range)] = True
    return list(tasks)


def budget(tasks):
    """Seconds that the tasks will about take, two at a time where they are deterministic."""
    return (sum(t.budget() for t in tasks if not t.row.concurrent) / min(2, os.cpu_count())
            + sum(t.budget() for t in tasks if t.row.concurrent))


@dataclass(frozen=True)
class Outcome:
    """A row of a table for one variant, compared with the first: Spreads in ms, a Ratio, counts and shares of the CPUs
    (medians)."""
    row: rows.Row
    variant: Variant
    ideal: stats.Spread
    guest: object
    time: stats.Spread
    ratio: stats.Ratio
    efficiency: float
    exits: float
    yields: object
    vm_shares: tuple
    hog_share: object


def outcomes(lab, row, variants):
    """The Outcomes of a row, one per variant."""
    reference = variants[0]
    ideals = [run["time_ns"] / row.share / 1e6 for run in lab.runs(row.ideal(), reference, rows.IDEAL)]
    guest = lab.runs(row, reference, rows.GUEST)
    guest = _spread(guest) if guest else None
    first = lab.runs(row, reference, rows.EXIT)
    result = []
    for variant in variants:
        runs = lab.runs(row, variant, rows.EXIT)
        times = [run["time_ns"] / 1e6 for run in runs]
        yields = None if runs[0]["dy_took_effect"] is None else stats.median([run["dy_took_effect"] for run in runs])
        shares = [run["hog_cpu_ns"] / run["time_ns"] / row.cpus for run in runs]
        vms = [[cpu / run["time_ns"] / row.cpus for cpu in run["vm_cpu_ns"]] for run in runs]
        result.append(Outcome(
            row, variant, stats.spread(ideals), guest, _spread(runs),
            stats.paired_ratio([run["time_ns"] for run in first], [run["time_ns"] for run in runs]),
            stats.median([a / b for a, b in zip(ideals, times)]), stats.median([rows.pause_exits(run) for run in runs]),
            yields, tuple(stats.median(share) for share in zip(*vms)), stats.median(shares) if row.hog else None))
    return result


def _spread(runs):
    return stats.spread([run["time_ns"] / 1e6 for run in runs], any(run["capped"] for run in runs))


def store(lab, folder, chosen, variants, command):
    """Write every single run as FOLDER/NAME.json, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    data = {"command": command, "variants": [vars(variant) for variant in variants],
            "busy_cpus_of_others": lab.disturbed, "rows": []}
    for row in chosen:
        entry = {"key": row.key, "text": row.text, "share": row.share, "cmdline": pausefilter.cmdline(row.machine),
                 "ideal": lab.runs(row.ideal(), variants[0], rows.IDEAL),
                 "pause_in_guest": lab.runs(row, variants[0], rows.GUEST)}
        for variant in variants:
            entry[variant.name] = lab.runs(row, variant, rows.EXIT)
        data["rows"].append(entry)
    path = folder / f"{folder.name}.json"
    path.write_text(json.dumps(data, indent=1) + "\n")
    return path


def check_repeat(lab, tasks):
    """Run the deterministic tasks once more; a difference is a LabError that names the tasks."""
    tasks = [task for task in tasks if not task.row.concurrent]
    before = {task: lab.results[task] for task in tasks}
    ui.note(f"Once more, to see whether the {len(tasks)} deterministic boots give the same numbers:")
    lab.measure(tasks)
    differ = [task.name for task in tasks if before[task] != lab.results[task]]
    if differ:
        raise ui.LabError(f"two runs differ: {', '.join(differ)}")
    ui.note(f"All {len(tasks)} deterministic boots gave the same numbers twice.")


def parse_variant(text):
    """A Variant from NAME=KERNEL[:SETTING,...]; see SETTINGS."""
    match = re.fullmatch(r"([\w.+-]+)(?:=(stock|patched))?(?::(.*))?", text)
    base = match and (match[2] or match[1])
    if base not in ("stock", "patched"):
        raise ui.LabError(f"not a variant: {text}", todo="NAME=stock or NAME=patched, then perhaps :SETTING,SETTING")
    variant = Variant(match[1], base == "stock")
    for setting in filter(None, (match[3] or "").split(",")):
        name, is_set, value = setting.partition("=")
        if not is_set and re.fullmatch(r"[A-Z][A-Z_0-9]*", name):
            variant = replace(variant, features=variant.features + (name,))
        elif is_set and name.startswith("/"):
            variant = replace(variant, writes=variant.writes + ((name, value),))
        elif is_set and name in ("base_slice_ns", "migration_cost_ns"):
            variant = replace(variant, writes=variant.writes + ((f"/sys/kernel/debug/sched/{name}", value),))
        else:
            variant = replace(variant, cmdline=variant.cmdline + (setting,))
    return variant


SETTINGS = """A variant is NAME, NAME=KERNEL or NAME=KERNEL:SETTING,SETTING where KERNEL is stock or patched, and a SETTING is
a scheduler feature (NO_NEXT_BUDDY), base_slice_ns=N, /path/of/a/file=TEXT, or else a kernel parameter (kvm.x=y).
Ratios are those of the first variant to each other one: above 1 the other one is faster."""


def table(lab, chosen, variants):
    """The lines of the whole matrix, a block per row."""
    lines = [f"{'':46} {'ideal':>7} {'in guest':>9} {'time, ms':>23} {'ratio':>20} {'eff.':>6} {'exits':>8} {'yields':>8} {'shares':>17}"]
    for row in chosen:
        lines.append(f"{row.key}: {row.text}")
        for index, out in enumerate(outcomes(lab, row, variants)):
            guest = ("> " if out.guest.capped else "") + f"{out.guest.median:.0f}" if out.guest and not index else ""
            ratio = f"{out.ratio.median:.2f} [{out.ratio.low:.2f}..{out.ratio.high:.2f}]" if index else ""
            lines.append(
                f"  {out.variant.name:44} {f'{out.ideal.median:.0f}' if not index else '':>7} {guest:>9} "
                f"{show(out.time):>23} {ratio:>20} {out.efficiency:6.0%} {out.exits:8.0f} "
                f"{'' if out.yields is None else f'{out.yields:.0f}':>8} "
                f"{show_shares(out):>17}" + ("  SLOWER" if out.ratio.worse else ""))
    return lines


def show_shares(out):
    """What part of the CPUs each lock VM had, and the CPU-bound one."""
    text = "+".join(f"{share:.2f}" for share in out.vm_shares)
    return text + (f" hog {out.hog_share:.2f}" if out.hog_share is not None else "")


def show(spread):
    """A Spread as text."""
    return f"{'> ' if spread.capped else ''}{spread.median:.0f} [{spread.low:.0f}..{spread.high:.0f}]"


def main(args):
    """`make bench`; args: the words after it."""
    parser = argparse.ArgumentParser(prog="make bench", description="Measure the whole matrix.", epilog=SETTINGS)
    parser.add_argument("--rows", action="append", metavar="PATTERN", help="only rows that match, for example 'libvirt-*-hog'")
    parser.add_argument("--variant", action="append", metavar="VARIANT", help="instead of stock, forfeit and patched; see below")
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=10, help="of concurrent rows")
    parser.add_argument("--no-guest", action="store_true", help="leave out the runs with PAUSE in the guest")
    parser.add_argument("--repeat", action="store_true", help="run all twice and compare the numbers")
    parser.add_argument("--list", action="store_true", help="only show the rows and the time they take")
    options = parser.parse_args(args)
    variants = [parse_variant(text) for text in options.variant] if options.variant else [STOCK, FORFEIT, PATCHED]
    chosen = [row for row in rows.matrix()
              if not options.rows or any(fnmatch.fnmatch(row.key, pattern) for pattern in options.rows)]
    if not chosen:
        raise ui.LabError("no row matches", todo="--list shows them all")
    tasks = plan(chosen, variants, options.seeds, options.repeats, guest=not options.no_guest)
    if options.list:
        for row in chosen:
            ui.note(f"  {row.key:28} {budget([t for t in tasks if t.row == row]) / 60:5.1f} min  {row.text}")
    ui.note(f"{len(chosen)} rows, {len(variants)} variants, {len(tasks)} boots: about {budget(tasks) / 60:.0f} minutes "
            "after the builds")
    if options.list:
        return 0
    lab = Lab("bench", os.environ.get("KERNEL_SRC"))
    lab.prepare(variants)
    lab.measure(tasks)
    path = store(lab, paths.BUILD / "bench", chosen, variants, " ".join(["make bench", *args]))
    if options.repeat:
        check_repeat(lab, tasks)
    ui.note("\n".join(["", *table(lab, chosen, variants), "", disturbance(lab), f"Each run: {path}"]))
    return 0
