# SPDX-License-Identifier: GPL-2.0
"""Checks of the series and of the lab that need no machine."""

import io
import unittest

import ktap
import mail
import paths
import series
import tree
import ui


def run():
    """Return the results, as a list of ktap.Test."""
    return [_series(), _tree(), _mails(), *_unit_tests()]


def _series():
    name = "series: every file in exactly one patch"
    try:
        complaints = series.ownership(series.read())
    except ui.LabError as error:
        complaints = str(error).splitlines()
    return ktap.Test(name, ktap.FAIL if complaints else ktap.PASS, complaints[0] if complaints else "", output=complaints)


def _tree():
    name = "series: applies to the source"
    try:
        tree.make()
    except ui.LabError as error:
        return ktap.Test(name, ktap.FAIL, error.what.splitlines()[0], output=str(error).splitlines())
    return ktap.Test(name, ktap.PASS)


def _mails():
    name = "series: its mails apply with git am and give the same tree"
    try:
        mail.check()
    except ui.LabError as error:
        return ktap.Test(name, ktap.FAIL, error.what.splitlines()[0], output=str(error).splitlines())
    return ktap.Test(name, ktap.PASS)


def _unit_tests():
    """The lab's own unit tests, lab/tests/test_*.py, one result each."""
    found = unittest.defaultTestLoader.discover(str(paths.LAB / "tests")) \
        if (paths.LAB / "tests").is_dir() else unittest.TestSuite()
    tests = []

    class Collect(unittest.TestResult):
        def addSuccess(self, test):
            tests.append(ktap.Test(f"lab: {test.id()}", ktap.PASS))

        def addFailure(self, test, err):
            text = self._exc_info_to_string(err, test).splitlines()
            tests.append(ktap.Test(f"lab: {test.id()}", ktap.FAIL, text[-1], output=text))

        addError = addFailure

        def addSkip(self, test, reason):
            tests.append(ktap.Test(f"lab: {test.id()}", ktap.SKIP, reason))

    found.run(Collect(io.StringIO()))
    return tests
