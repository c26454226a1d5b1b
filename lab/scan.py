# SPDX-License-Identifier: GPL-2.0
"""`make bench-scan`: what a spin exit costs on the host, the core next to a model of the stock algorithm."""

import paths
import run
import svg
import ui
import unit

FOLDER = paths.BUILD / "bench-scan"
READY = {0: "nobody ready", 1: "1 % ready", 10: "10 % ready", 100: "all ready"}

PLOT = """\
set terminal svg size 900,560 font "sans,13" background "white"
set output {output}
set title "One spin exit, caches cold, its yield takes effect" noenhanced
set xlabel "vCPUs of the VM"
set ylabel "ns"
set logscale xy
set xtics (2, 8, 32, 128, 512, 2048)
set grid lc rgb "#dddddd"
set key top left
plot {curves}
"""


def main(args):
    """Measure, print the table, and write it and the plot to build/bench-scan."""
    if args:
        raise ui.LabError(f"unknown: {' '.join(args)}")
    svg.require()
    unit.build("bench_scan")
    ui.note("measuring, about 15 s on an idle machine ...")
    text = run.output([unit.OUTPUT / "plain" / "bench_scan"])
    rows = [line.split() for line in text.splitlines()]
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "bench-scan.txt").write_text("vcpus ready_percent caches takes_effect stock_ns core_ns\n" + text)
    for answer, title in (("yes", "the first yield takes effect"), ("no", "the scheduler refuses all of them")):
        ui.note(f"\nns for one spin exit in which {title}, caches warm and (cold); the scheduler's own time is not counted:")
        ui.note(f"{'':8}" + "".join(f"{name:^48}" for name in READY.values()))
        ui.note(f"{'':8}" + f"{'stock   core ratio ':>23}{'(cold)  core ratio ':>23}  " * len(READY))
        for vcpus in dict.fromkeys(row[0] for row in rows):
            cells = []
            for ready in READY:
                for caches in ("warm", "cold"):
                    stock, core = next((float(row[4]), float(row[5])) for row in rows
                                       if row[:4] == [vcpus, str(ready), caches, answer])
                    cells.append(f"{stock:9.0f}{core:7.0f}{stock / core:6.1f} ")
            ui.note(f"{vcpus:>6}  " + "".join(a + b + "  " for a, b in zip(cells[::2], cells[1::2])))
    ui.note(f"\nplot: {_plot(rows)}\nnumbers: {FOLDER / 'bench-scan.txt'}")
    return 0


def _plot(rows):
    curves = []
    for color, ready in zip(("#0072b2", "#009e73", "#d55e00", "#777777"), READY):
        for kind, column, dash in (("stock", 4, 2), ("core", 5, 1)):
            data = FOLDER / f"{kind}-{ready}.tsv"
            data.write_text("".join(f"{row[0]}\t{row[column]}\n" for row in rows if row[1:4] == [str(ready), "cold", "yes"]))
            curves.append(f"'{data}' with lines lw 2 dt {dash} lc rgb '{color}' title '{kind}, {READY[ready]}'")
    path = FOLDER / "bench-scan.svg"
    script = FOLDER / "bench-scan.gnuplot"
    script.write_text(PLOT.format(output=f"'{path}'", curves=", \\\n     ".join(curves)))
    run.output(["gnuplot", script])
    return path
