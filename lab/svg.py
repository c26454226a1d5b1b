# SPDX-License-Identifier: GPL-2.0
"""Draws the demo's chart with gnuplot."""

import shutil

import run
import ui

SCRIPT = """\
set terminal svg size 1100,560 font "sans,13" background "white"
set output {output}
set datafile separator "\\t"
set title {title} noenhanced
set ylabel "time, as a multiple of the ideal"
set yrange [0:*]
set grid ytics lc rgb "#dddddd"
set key top right
set style data histogram
set style histogram errorbars gap 1 lw 1
set style fill solid 0.9 border lc rgb "#555555"
set xtics rotate by -20 scale 0 font ",11" noenhanced
set bmargin 8
set rmargin 12
set arrow from graph 0, first 1 to graph 1, first 1 nohead lc rgb "#009e73" lw 2 front
plot {data} using 2:3:4:xtic(1) title "PAUSE in guest, stopped early" lc rgb "#bbbbbb", \\
     '' using 5:6:7 title "stock" lc rgb "#d55e00", \\
     '' using 8:9:10 title "patched" lc rgb "#0072b2", \\
     NaN with lines lc rgb "#009e73" lw 2 title "ideal"
"""


def require():
    """A LabError if gnuplot is missing."""
    if not shutil.which("gnuplot"):
        raise ui.LabError("gnuplot is missing", todo="run `make setup`, or install the package gnuplot-nox")


def chart(path, title, bars):
    """Write the chart to path. bars: a list of (label, [(middle, low, high) or None for each of the three kinds])."""
    data = path.with_suffix(".tsv")
    lines = ["\t".join([label] + [f"{value:.4f}" for part in parts for value in (part or (0, 0, 0))])
             for label, parts in bars]
    data.write_text("\n".join(lines) + "\n")
    script = path.with_suffix(".gnuplot")
    script.write_text(SCRIPT.format(output=_quote(path), data=_quote(data), title=_quote(title)))
    run.output(["gnuplot", script])
    return path


def _quote(text):
    return "'" + str(text).replace("'", "''") + "'"
