# SPDX-License-Identifier: GPL-2.0
"""The core of directed yield in user space: builds tools/testing/directed-yield and runs its programs on the host."""

import subprocess

import ktap
import paths
import run
import ui

FOLDER = paths.OURS / "tools" / "testing" / "directed-yield"
OUTPUT = paths.BUILD / "unit"
LIMIT_SECONDS = 300


def build(target="all"):
    """Build a target of the folder's Makefile into build/unit."""
    run.logged(make("-j2", target), paths.log("unit-build"), "user-space core", env=run.environment(), unit="programs",
               todo="read the log; a compiler with its sanitizers is in the package gcc")


def make(*words, output=OUTPUT):
    """The command that makes words there, into output."""
    return ["make", "-C", FOLDER, f"OUTPUT={output}", *words]


def check(report):
    """Build and run everything; report is the check's Report. What a program did not say is a failure."""
    report.suite("builds", "unit build")
    try:
        build()
        programs = run.output(make("-s", "programs"), env=run.environment()).split()
        report.add(ktap.Test("unit programs build", ktap.PASS))
    except ui.LabError as error:
        programs = []
        report.add(ktap.Test("unit programs build", ktap.FAIL, error.what.splitlines()[0], output=str(error).splitlines()))
    report.end()
    for program in programs:
        report.suite("unit", f"unit {program}")
        _run(program, report.add)
        report.end()


def _run(program, report):
    reader, number = ktap.Reader(), 0
    output = []
    # ThreadSanitizer does not start where the kernel places programs at random in more than it expects.
    fixed = ["setarch", "-R"] if subprocess.run(["setarch", "-R", "true"], capture_output=True).returncode == 0 else []
    try:
        done = subprocess.run([*fixed, OUTPUT / program], capture_output=True, text=True, errors="replace",
                              timeout=LIMIT_SECONDS, stdin=subprocess.DEVNULL)
        text, error = done.stdout + done.stderr, f"ended with status {done.returncode}" if done.returncode else ""
    except subprocess.TimeoutExpired as expired:
        text, error = (expired.stdout or b"").decode(errors="replace"), f"did not end in {LIMIT_SECONDS} s"
    failed = False
    for line in text.splitlines():
        test = reader.feed(line)
        if test:
            number += 1
            test.name = f"{program}: {test.name}"
            test.output, output = output, []
            failed |= test.state == ktap.FAIL
            report(test)
        else:
            output.append(line)
    left = reader.finish(error or "the program ended without a result")
    for test in left:
        report(ktap.Test(f"{program}: {test.name}", ktap.FAIL, test.reason, output=output))
    if error and not failed and not left or not number:
        report(ktap.Test(f"{program}: program", ktap.FAIL, error or "gave no result", output=output))
