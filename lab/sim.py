# SPDX-License-Identifier: GPL-2.0
"""`make sim`: the real core on a simulated host, next to PAUSE in the guest, stock, and an oracle.

"one VM" has twice as many vCPUs as the host has CPUs; at 1.5x the second VM is half as large; else each VM has as many as the
host. The ideal is what one such VM does alone; sleeping mutexes leave it idle at times, so more VMs do more.

First the simulator is compared with what the lab's machines measured; then comes the matrix. Simulations are deterministic:
the same seeds give the same numbers on any machine.
"""

import argparse
import os
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor

import paths
import run
import stats
import svg
import ui
import unit

FOLDER = paths.BUILD / "sim"
STOCK_SCHED = "yield_level=0 yield_paid=0"
POLICIES = {"guest": f"policy=guest {STOCK_SCHED}", "stock": f"policy=stock {STOCK_SCHED}", "patched": "policy=core",
            "oracle": "policy=oracle"}

# The lab's deterministic machine: one CPU, PAUSEs counted in software. A spin exit is 16 PAUSE exits of 2.75 us.
LAB = ("cpus=1 locks=1 iterations=400 critical=20000 noncritical=20000 window=44000 exit_cost=0 yield_cost=2500 "
       "switch_cost=3000 slice=750000 tick=4000000 end=4000000000")
# Rows of the lab, and the medians that it measured, in ms: (stock, patched).
MEASURED = (
    ("libvirt-tas-4", "groups=1 work=tas vm=4", (123, 69)),
    ("libvirt-tas-8-hog", "groups=1 work=tas vm=8 hogs=1", (733, 297)),
    ("libvirt-ticket-4", "groups=1 work=ticket vm=4", (301, 254)),
    ("libvirt-ticket-4-hog", "groups=1 work=ticket vm=4 hogs=1", (585, 491)),
    ("flat-tas-8", "work=tas vm=8", (149, 146)),
    ("flat-tas-4-hog", "work=tas vm=4 hogs=1", (106, 105)),
    ("flat-ticket-4", "work=ticket vm=4", (294, 265)),
)
ALLOWED = 0.25
# Times what PAUSE in the guest takes.
BOUND = 1.5

WORKS = {"tas": "TAS locks", "ticket": "ticket locks", "mutex": "sleeping mutexes", "ipi": "interrupt all and wait"}
CPUS = (8, 32, 128, 512)
# vCPUs of each VM, as parts of the CPUs. The plot shows those with a number.
LOADS = {"1x": (1,), "1.5x": (1, 0.5), "2x": (1, 1), "one VM": (2,), "4x": (1, 1, 1, 1)}

PLOT = """\
set terminal svg size 1000,640 font "sans,13" background "white"
set output {output}
set multiplot layout 2,2 title {title} noenhanced
set yrange [0:1.1]
set xrange [0.9:4.1]
set xtics ("1x" 1, "1.5x" 1.5, "2x" 2, "4x" 4)
set ylabel "part of the ideal"
set grid lc rgb "#dddddd"
set key bottom left font ",10"
{plots}
unset multiplot
"""
COLORS = {"guest": "#999999", "stock": "#d55e00", "patched": "#0072b2", "oracle": "#009e73"}


def simulate(settings):
    """The results of the simulations with these settings (a list of strings), as dicts, in order."""
    jobs = max(1, min(2, os.cpu_count()))

    def some(part):
        done = subprocess.run([unit.OUTPUT / "plain" / "sim", "-"], input="".join(f"{line}\n" for line in part), text=True,
                              capture_output=True)
        if done.returncode:
            raise ui.LabError(f"the simulator failed: {done.stderr.strip()}")
        return [{name: float(value) for name, value in (word.split("=") for word in line.split())}
                for line in done.stdout.splitlines()]

    with ThreadPoolExecutor(jobs) as pool:
        parts = list(pool.map(some, [settings[i::jobs] for i in range(jobs)]))
    return [parts[i % jobs][i // jobs] for i in range(len(settings))]


def calibrate(seeds):
    """Print the comparison with the lab; return whether all errors are within what is allowed."""
    ui.note(f"Against the lab's measurements, medians of {seeds} seeds, ms:")
    ui.note(f"{'':24}{'stock: lab   sim  error':>28}{'patched: lab   sim  error':>30}")
    worst = 0
    for name, settings, measured in MEASURED:
        cells = []
        for policy, lab in zip(("stock", "patched"), measured):
            times = [result["time"] / 1e6
                     for result in simulate([f"{LAB} {settings} {POLICIES[policy]} seed={s}" for s in range(1, seeds + 1)])]
            error = stats.median(times) / lab - 1
            worst = max(worst, abs(error))
            cells.append(f"{lab:10.0f} {stats.median(times):5.0f} {error:+6.0%}")
        ui.note(f"  {name:22}" + "".join(f"{cell:>29}" for cell in cells))
    ui.note(f"largest error {worst:.0%}, allowed {ALLOWED:.0%}" + ("" if worst <= ALLOWED else "  EXCEEDED"))
    return worst <= ALLOWED


def case(cpus, load, work, layout):
    """The settings of a cell, without the policy and the seed."""
    pause = 20000 * cpus if work == "ipi" else 18000
    vms = " ".join(f"vm={int(cpus * part)}" for part in LOADS[load])
    # Ever fewer ms of ever more CPUs: about the same number of events.
    return (f"cpus={cpus} {vms} work={work} noncritical={pause} groups={int(layout == 'libvirt')} "
            f"end={max(40, 6400 // cpus if cpus > 16 else 400) * 1000000}")


def matrix(layout, cpus_list, seeds, extra):
    """Run and print it; return {(work, cpus, load, policy): efficiency}."""
    cells = [(work, cpus, load, policy) for work in WORKS for cpus in cpus_list for load in LOADS for policy in POLICIES]
    runs = [(cell, seed) for cell in cells for seed in range(1, seeds + 1)]
    ui.note(f"\n{layout} layout: {len(runs)} simulations ...")
    results = simulate([f"{case(cpus, load, work, layout)} {POLICIES[policy]} seed={seed} {extra}"
                        for (work, cpus, load, policy), seed in runs])
    found = {}
    for (cell, _), result in zip(runs, results):
        found.setdefault(cell, []).append(result)
    ideal = {(work, cpus): stats.median([r["sections"] for r in found[work, cpus, "1x", "guest"]])
             for work in WORKS for cpus in cpus_list}
    ui.note(f"{'':34}" + "".join(f"{title:^32}" for title in ("work done / ideal", "worst VM / best VM", "CPU time spun")))
    ui.note(f"{'':34}" + "".join(f"{policy:>8}" for _ in range(3) for policy in POLICIES) + f"{'patched / stock':>24}")
    efficiency = {}
    for work in WORKS:
        for cpus in cpus_list:
            for load in LOADS:
                rows = {policy: found[work, cpus, load, policy] for policy in POLICIES}
                middle = {policy: {name: stats.median([r[name] for r in part]) for name in part[0]}
                          for policy, part in rows.items()}
                for policy in POLICIES:
                    efficiency[work, cpus, load, policy] = middle[policy]["sections"] / ideal[work, cpus]
                ratio = stats.paired_ratio([r["sections"] for r in rows["patched"]], [r["sections"] for r in rows["stock"]])
                ui.note(f"{work:7} {cpus:4} CPUs  {load:<6}           "
                        + "".join(f"{efficiency[work, cpus, load, policy]:8.2f}" for policy in POLICIES)
                        + "".join(f"{middle[policy]['fairness']:8.2f}" for policy in POLICIES)
                        + "".join(f"{middle[policy]['wasted']:8.1%}" for policy in POLICIES)
                        + f"   {ratio.median:5.2f} [{ratio.low:.2f}..{ratio.high:.2f}]" + ("  WORSE" if ratio.worse else ""))
    return efficiency


def bound(worlds):
    """Random small worlds: print in how many of them a policy takes more than 1.5 times what PAUSE in the guest takes."""
    ui.note(f"\n{worlds} random worlds (1 to 6 CPUs, 1 to 3 VMs, other load), time / time with PAUSE in the guest:")
    ui.note(f"{'':10}" + "".join(f"{policy + ': median  worst (seed)  above ' + str(BOUND):>44}" for policy in ("stock", "patched")))
    for work in WORKS:
        cells = []
        settings = [_world(work, seed) for seed in range(1, worlds + 1)]
        guest = simulate([f"{line} {POLICIES['guest']}" for line in settings])
        for policy in ("stock", "patched"):
            ratios = [a["time"] / b["time"] for a, b in zip(simulate([f"{line} {POLICIES[policy]}" for line in settings]), guest)]
            worst = max(range(worlds), key=lambda i: ratios[i])
            cells.append(f"{stats.median(ratios):18.2f} {ratios[worst]:6.2f} {f'({worst + 1})':>7} {sum(r > BOUND for r in ratios):9}")
        ui.note(f"  {work:8}" + "".join(f"{cell:>44}" for cell in cells))


def _world(work, seed):
    draw = random.Random(f"{work} {seed}")
    cpus = draw.randint(1, 6)
    vms = " ".join(f"vm={draw.randint(1, 2 * cpus + 2)}" for _ in range(draw.randint(1, 3)))
    return (f"work={work} cpus={cpus} {vms} hogs={draw.randint(0, 1)} groups={draw.randint(0, 1)} seed={seed} "
            f"background={draw.choice((0, 20, 40))} critical={draw.randint(1000, 20000)} "
            f"noncritical={draw.randint(2000, 60000)} iterations=500 end=5000000000")


def plot(layout, efficiency, cpus):
    """Draw efficiency against overcommit for one size of host; return the path."""
    plots = []
    for work, title in WORKS.items():
        curves = []
        for policy in POLICIES:
            data = FOLDER / f"{layout}-{work}-{policy}.tsv"
            data.write_text("".join(f"{load[:-1]}\t{efficiency[work, cpus, load, policy]:.4f}\n"
                                    for load in LOADS if load.endswith("x")))
            curves.append(f"'{data}' with linespoints lw 2 pt 7 ps 0.5 lc rgb '{COLORS[policy]}' title '{policy}'")
        plots.append(f"set title '{title}'\nplot " + ", ".join(curves))
    path = FOLDER / f"{layout}.svg"
    script = FOLDER / f"{layout}.gnuplot"
    script.write_text(PLOT.format(output=f"'{path}'", title=f"'{cpus} CPUs, {layout} layout, simulated'",
                                  plots="\n".join(plots)))
    run.output(["gnuplot", script])
    return path


def main(args):
    """`make sim`; args: the words after it."""
    parser = argparse.ArgumentParser(prog="make sim", description="Simulate the core on hosts of 8 to 512 CPUs.")
    parser.add_argument("--seeds", type=int, default=3, help="of each cell of the matrix")
    parser.add_argument("--cpus", type=int, action="append", help="only hosts of this size")
    parser.add_argument("--layout", action="append", choices=("libvirt", "flat"))
    parser.add_argument("--set", default="", help="settings for all simulations of the matrix, see sim_main.c")
    parser.add_argument("--worlds", type=int, default=100, help="random worlds that are compared with PAUSE in the guest")
    parser.add_argument("--calibration", action="store_true", help="only the comparison with the lab")
    options = parser.parse_args(args)
    svg.require()
    unit.build("sim")
    FOLDER.mkdir(parents=True, exist_ok=True)
    good = calibrate(20)
    sizes = tuple(options.cpus or CPUS)
    for layout in () if options.calibration else options.layout or ("libvirt", "flat"):
        efficiency = matrix(layout, sizes, options.seeds, options.set)
        shown = 32 if 32 in sizes else sizes[0]
        ui.note(f"plot: {plot(layout, efficiency, shown)}")
    if options.worlds and not options.calibration:
        bound(options.worlds)
    return 0 if good else 1
