# SPDX-License-Identifier: GPL-2.0
"""`make bench-host`: the benchmark programs on this machine's own KVM: lab/host/bench-host.sh, which needs no lab."""

import argparse
import shutil
import subprocess

import paths
import programs
import rows
import ui

SCRIPT = paths.LAB / "host" / "bench-host.sh"


def files(image):
    """The script and what it needs, as programs of a lab machine, path -> content; for Suite.files."""
    return {"/tests/host/bench-host": SCRIPT.read_bytes(), f"/tests/host/{rows.PROGRAM}": image.paths[rows.PROGRAM].read_bytes()}


def main(args):
    """`make bench-host`; args: the words after it."""
    parser = argparse.ArgumentParser(prog="make bench-host", description="Directed yield off and on, on this machine.")
    parser.add_argument("--repeats", type=int, default=10, help="runs of each, in turn (default 10)")
    options = parser.parse_args(args)
    built = programs.build("x86", [rows.PROGRAM])
    folder = paths.BUILD / "bench-host"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(SCRIPT, folder)
    shutil.copy(built[rows.PROGRAM], folder / rows.PROGRAM)
    ui.note(f"  {folder.relative_to(paths.REPO)}: copy it to any host and run bench-host.sh there; here:")
    done = subprocess.run(["sh", folder / SCRIPT.name, str(options.repeats)])
    if done.returncode:
        raise ui.LabError("the benchmark did not run on this machine", todo="see what it said above; a host with the series "
                          "and with KVM is needed")
    return 0
