# SPDX-License-Identifier: GPL-2.0
"""Runs one suite: a boot, the runner in it, and the results read from its console."""

import re
import time

import baseline
import initramfs
import ktap
import machine
import ui


def boot_name(suite, stock=False):
    """The name of the suite's run, and so of its log."""
    return re.sub(r"\W+", "-", suite.name).strip("-") + ("-stock" if stock else "")


def script(suite, names):
    """The job that runs the suite's programs, those in names only, and reports its KUnit suites."""
    lines = [suite.prepare] if suite.prepare else []
    for program in suite.programs:
        if program.name in names:
            lines.append(f"RESULT_NAME='{program.title}' /lab/runner {program.limit} {program.name} {program.arguments}".rstrip())
    for name in suite.kunit:
        lines.append(f"cat /sys/kernel/debug/kunit/{name}/results || echo 'not ok - {name} # KUnit suite is not in the kernel'")
    return "\n".join(lines + ["exit 0"]) + "\n"


def expected(suite):
    """Names of the results that the suite must give."""
    return [program.title for program in suite.programs] + list(suite.kunit)


def run(suite, image, report, stock=False, states=None):
    """Boot image, run the suite, call report(Test) for each result as it comes; return the machine's Result, or None when
    no program of the suite exists.

    Programs that are not in the image are skipped; those that gave no result have failed. states: results are compared with
    these of the stock kernel.
    """
    files = suite.files(image) if suite.files else {}
    names = image.programs | {path.removeprefix("/tests/") for path in files}
    absent = [program for program in suite.programs if program.name not in names]
    for program in absent:
        report(ktap.Test(program.title, ktap.SKIP, "not in the kernel tree yet"))
    left = [name for name in expected(suite) if name not in [program.title for program in absent]]
    if not left:
        return None
    reader, last = ktap.Reader(), time.monotonic()

    def judged(test):
        return baseline.judge(test, states) if states is not None else test

    def line(text):
        nonlocal last
        test = reader.feed(text)
        if test and test.name in left:
            left.remove(test.name)
            test.seconds, last = time.monotonic() - last, time.monotonic()
            report(judged(test))

    result = machine.run(machine.Boot(
        name=boot_name(suite, stock), image=image.kernel, base=image.base, arch=suite.arch, smp=suite.smp, mode=suite.mode,
        memory=suite.memory, cmdline=list(suite.cmdline), timeout=suite.timeout, allow=suite.allow, emulator=suite.emulator,
        cpu=suite.cpu, semihosting=suite.semihosting, job=initramfs.Job(script(suite, names), files)), on_line=line)
    for test in reader.finish(result.error or "the program ended without a result"):
        if test.name in left:
            left.remove(test.name)
            report(judged(test))
    for name in left:
        report(judged(ktap.Test(name, ktap.FAIL, f"gave no result: {result.error or 'the job ended early'}")))
    if result.error or result.status:
        error = result.error or f"the job exited with status {result.status}"
        report(ktap.Test(f"{suite.name}: machine", ktap.FAIL, f"{error} (log: {result.log})", output=list(result.splats)))
    return result


def record(suite, image, version):
    """Run the suite on the stock kernel and record what it does; return the results."""
    tests = []

    def report(test):
        tests.append(test)
        ui.note(f"  {test.state}: {test.name}" + (f" ({test.reason})" if test.reason else ""))

    result = run(suite, image, report, stock=True)
    if result:
        result.check()
    ui.note(f"  written: {baseline.save(suite.arch, version, [t for t in tests if t.name in expected(suite)])}")
    return tests
