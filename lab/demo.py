# SPDX-License-Identifier: GPL-2.0
"""`make demo`: the same overcommitted VM on the stock and on the patched kernel, in one table and one chart."""

import argparse
import fnmatch
import os
import textwrap
import time

import bench
import paths
import rows
import svg
import ui

INTRODUCTION = """\
When a host has more virtual CPUs (vCPUs) than CPUs, a vCPU that holds a lock is often not running, and the vCPUs that wait
for the lock burn CPU time that it needs. Directed yield notices the waiting and lets the holder run instead; this table
compares an unmodified ("stock") Linux with the patched one, and both with the ideal, in which nobody waits for a CPU."""

NOTES = """\
Times are in ms, the median and [smallest..largest] of {seeds} runs with different seeds; smaller is better. Ideal: the same
work with one vCPU per CPU, divided by the VM's fair share of the CPUs. PAUSE in guest: no exits from spinning, hence no
directed yield; such runs are stopped at {cap} times the ideal (shown as "> N"; {guest} seeds). Ratio: stock divided by
patched, the median of pairs with the same seed and its 95 % interval; above 1 the patched kernel is faster. Efficiency: ideal
divided by measured. Exits are PAUSE exits per run; yields those that took effect, which stock does not count.

"Stock" gets the software pause filter alone and nothing else, since on a CPU without a hardware filter, such as this
emulated one, KVM would not notice spinning at all. In "libvirt groups" each VM has a cgroup with one below it for each vCPU,
as libvirt makes them. All rows with 1 CPU are deterministic: they give the same numbers again on any machine. In those with
2 CPUs the CPUs really run at the same time (the kernels took turns, {repeats} boots each), and other load on this machine
disturbs them."""

HEAD = (("", 46, "<"), ("ideal", 6, ">"), ("PAUSE in", 9, ">"), ("stock", 18, ">"), ("patched", 18, ">"),
        ("stock / patched", 19, ">"), ("efficiency", 13, ">"), ("exits", 15, ">"), ("yields", 7, ">"))
HEAD2 = ("", "ms", "guest, ms", "ms", "ms", "[95 % interval]", "stk.  patched", "stock  patched", "patched")


def _cells(cells):
    return "  ".join(f"{cell:{align}{width}}" for cell, (_, width, align) in zip(cells, HEAD)).rstrip()


def table(lab, chosen):
    """The lines of the table."""
    lines = [_cells([title for title, _, _ in HEAD]), _cells(HEAD2)]
    width = max(map(len, lines))
    for index, row in enumerate(chosen):
        if index == 0 or chosen[index - 1].concurrent != row.concurrent:
            title = ("2 CPUs that run at the same time (MTTCG), noisy" if row.concurrent else "1 CPU, deterministic")
            lines.append(f"-- {title} ".ljust(width, "-"))
        stock, patched = bench.outcomes(lab, row, [bench.STOCK, bench.PATCHED])
        ratio = patched.ratio
        guest = f"{'> ' if patched.guest.capped else ''}{patched.guest.median:.0f}" if patched.guest else ""
        mark = "  << SLOWER" if ratio.worse else "  (no clear difference)" if not ratio.better else ""
        lines.append(_cells([
            row.text, f"{stock.ideal.median:.0f}", guest, bench.show(stock.time), bench.show(patched.time),
            f"{ratio.median:.2f} [{ratio.low:.2f}..{ratio.high:.2f}]",
            f"{stock.efficiency:.0%}  {patched.efficiency:6.0%}", f"{stock.exits:.0f}  {patched.exits:7.0f}",
            "" if patched.yields is None else f"{patched.yields:.0f}"]) + mark)
    return lines


def chart(lab, chosen, folder):
    """Draw build/demo/demo.svg; return its path."""
    bars = []
    for row in chosen:
        stock, patched = bench.outcomes(lab, row, [bench.STOCK, bench.PATCHED])
        ideal = stock.ideal.median
        parts = [out and (out.median / ideal, out.low / ideal, out.high / ideal)
                 for out in (patched.guest, stock.time, patched.time)]
        bars.append((row.text.replace("libvirt groups", "libvirt").replace(" + CPU-bound VM", " + hog")
                     + (", 2 CPUs" if row.cpus > 1 else ""), parts))
    return svg.chart(folder / "demo.svg", "VMs with more vCPUs than CPUs contend on a lock (median, min..max)", bars)


def main(args):
    """`make demo`; args: the words after it."""
    parser = argparse.ArgumentParser(prog="make demo", description="Stock next to patched, in one table.")
    parser.add_argument("--seeds", type=int, default=20, help="of each deterministic row (default 20)")
    parser.add_argument("--repeats", type=int, default=10, help="boots of each kernel for the concurrent rows (default 10)")
    parser.add_argument("--rows", action="append", metavar="PATTERN",
                        help="these rows, also such that only `make bench` has, for example 'flat-*-4'")
    parser.add_argument("--repeat", action="store_true", help="run the deterministic rows twice and compare the numbers")
    options = parser.parse_args(args)
    chosen = rows.demo()
    if options.rows:
        known = list(dict.fromkeys(rows.demo() + rows.matrix()))
        chosen = [row for row in known if any(fnmatch.fnmatch(row.key, pattern) for pattern in options.rows)]
        if not chosen:
            raise ui.LabError("no row matches", todo="the rows are: " + ", ".join(row.key for row in known))
    svg.require()
    start = time.monotonic()
    variants = [bench.STOCK, bench.PATCHED]
    tasks = bench.plan(chosen, variants, options.seeds, options.repeats)
    ui.note(textwrap.fill(INTRODUCTION.replace("\n", " "), 125))
    ui.note(f"\nTwo kernels are built (about 7 minutes each, or from the cache), then {len(tasks)} boots take about "
            f"{bench.budget(tasks) / 60:.0f} minutes.")
    lab = bench.Lab("demo", os.environ.get("KERNEL_SRC"))
    lab.prepare(variants)
    lab.measure(tasks)
    if options.repeat:
        bench.check_repeat(lab, tasks)
    folder = paths.BUILD / "demo"
    path = bench.store(lab, folder, chosen, variants, " ".join(["make demo", *args]))
    picture = chart(lab, chosen, folder)
    notes = NOTES.format(seeds=options.seeds, repeats=options.repeats, cap=bench.CAP[rows.GUEST], guest=bench.GUEST_SEEDS)
    if disturbed := bench.disturbance(lab):
        notes += "\n\n" + disturbed
    text = "\n".join([*(textwrap.fill(INTRODUCTION.replace("\n", " "), 125).splitlines()), "", *table(lab, chosen), "",
                      "\n\n".join(textwrap.fill(part.replace("\n", " "), 125) for part in notes.split("\n\n"))])
    (folder / "demo.txt").write_text(text + "\n")
    ui.note("\n" + text)
    ui.note(f"\nThis table: {folder / 'demo.txt'}; chart: {picture}; each run: {path}; "
            f"{(time.monotonic() - start) / 60:.1f} minutes.")
    return 0
