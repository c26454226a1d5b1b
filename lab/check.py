# SPDX-License-Identifier: GPL-2.0
"""`make check`: runs the suites of the wanted groups and reports as KTAP while they run.

At the end: a table with the time of each suite and the budget of its group, the failures and skips with their reasons, and as
the very last line `N passed, N failed, N skipped`.
"""

import time

import baseline
import builds
import faults
import hostchecks
import image
import inturn
import ktap
import lint
import source
import suite as runner
import suites
import ui
import unit


class Report:
    """Prints results as KTAP and counts them by suite."""

    def __init__(self):
        self.rows, self.tests, self.number = [], [], 0
        print("KTAP version 1", flush=True)

    def suite(self, group, name):
        self.rows.append({"group": group, "name": name, ktap.PASS: 0, ktap.FAIL: 0, ktap.SKIP: 0, "start": time.monotonic(),
                          "seconds": 0.0})
        print(f"# suite {name}", flush=True)

    def end(self):
        self.rows[-1]["seconds"] = time.monotonic() - self.rows[-1]["start"]

    def add(self, test):
        """Print and count one result; a failure with the end of its output."""
        self.number += 1
        self.rows[-1][test.state] += 1
        self.tests.append((self.rows[-1]["name"], test))
        if test.state == ktap.FAIL:
            for line in test.output[-40:]:
                print(f"# {line}")
        print(test.line(self.number) + (f" # {test.seconds:.1f} s" if test.seconds and not test.reason else ""), flush=True)

    def summary(self):
        """Print the plan, the table and the last line; return the number of failures."""
        print(f"1..{self.number}\n")
        width = max([len(row["name"]) for row in self.rows] + [5])
        print(f"{'suite':{width}}  passed  failed  skipped  seconds")
        for row in self.rows:
            print(f"{row['name']:{width}}  {row[ktap.PASS]:6}  {row[ktap.FAIL]:6}  {row[ktap.SKIP]:7}  {row['seconds']:7.0f}")
        print()
        for group in dict.fromkeys(row["group"] for row in self.rows):
            used = sum(row["seconds"] for row in self.rows if row["group"] == group)
            if budget := suites.BUDGET.get(group):
                over = "" if used <= budget * 60 else "  OVER BUDGET"
                print(f"time for {group}: {used / 60:.1f} of {budget} minutes{over}")
        for state, title in ((ktap.FAIL, "Failed"), (ktap.SKIP, "Skipped")):
            chosen = [(name, test) for name, test in self.tests if test.state == state]
            if chosen:
                print(f"\n{title}:")
                for name, test in chosen:
                    print(f"  {name}: {test.name}" + (f": {test.reason}" if test.reason else ""))
        count = {state: sum(test.state == state for _, test in self.tests) for state in (ktap.PASS, ktap.FAIL, ktap.SKIP)}
        print(f"\n{count[ktap.PASS]} passed, {count[ktap.FAIL]} failed, {count[ktap.SKIP]} skipped", flush=True)
        return count[ktap.FAIL]


def run(groups=None):
    """Run the host's checks and the suites of groups (default: all that there are); return the number of failures."""
    wanted = [group for group in groups or suites.groups()]
    report = Report()
    report.suite("host", "series")
    for test in hostchecks.run():
        report.add(test)
    report.end()
    if suites.UNIT in wanted:
        unit.check(report)
    if suites.FAULTS in wanted:
        report.suite(suites.FAULTS, "each rule broken")
        faults.check(report.add)
        report.end()
    if suites.BUILDS in wanted:
        report.suite(suites.BUILDS, "builds of all architectures")
        builds.check(report.add)
        report.end()
    if suites.SERIES in wanted:
        for name, module in (("style of each patch", lint), ("each patch builds in turn", inturn)):
            report.suite(suites.SERIES, name)
            module.check(report.add)
            report.end()
    images = {}
    for suite in suites.of_groups(wanted):
        key = suite.arch, suite.stock, suite.flavour
        if key not in images:
            images[key] = _image(report, *key)
        report.suite(suite.group, suite.name)
        if images[key] is None:
            for name in runner.expected(suite):
                report.add(ktap.Test(name, ktap.FAIL, f"the {suite.arch} image could not be built"))
        else:
            _guarded(report, suite, images[key])
        report.end()
    return report.summary()


def _image(report, arch, stock, flavour):
    """Build an architecture's image as a suite of its own, outside the budgets; None if that failed."""
    title = " ".join(filter(None, ("stock" if stock else "", arch, flavour)))
    report.suite("builds", f"{title} build")
    try:
        built = image.build(arch, stock=stock, flavour=flavour)
        report.add(ktap.Test(f"{title} kernel and programs build", ktap.PASS))
    except ui.LabError as error:
        report.add(ktap.Test(f"{title} kernel and programs build", ktap.FAIL, error.what.splitlines()[0],
                             output=str(error).splitlines()))
        built = None
    report.end()
    return built


def _guarded(report, suite, built):
    """Run one suite; what the lab itself cannot do is a failure of the suite."""
    try:
        states = baseline.load(suite.arch, source.get().version) if suite.baseline else None
        runner.run(suite, built, report.add, states=states)
    except ui.LabError as error:
        report.add(ktap.Test(f"{suite.name}: lab", ktap.FAIL, error.what.splitlines()[0], output=str(error).splitlines()))


def refresh(arch="x86"):
    """`make baseline`: record what the stock kernel does in the suites that are compared with it."""
    stock = image.build(arch, stock=True)
    for suite in suites.SUITES:
        if suite.baseline and suite.arch == arch:
            runner.record(suite, stock, source.get().version)
