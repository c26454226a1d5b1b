# SPDX-License-Identifier: GPL-2.0
"""ktap: silence and missing results are never a pass."""

import unittest

import ktap


def states(text):
    return [(test.name, test.state) for test in ktap.read(text.splitlines())]


class Ktap(unittest.TestCase):
    def test_states(self):
        self.assertEqual(states("# begin a\nok - a\n# begin b\nnot ok - b # exit status 1\n# begin c\nok - c # SKIP no SVM"),
                         [("a", "pass"), ("b", "fail"), ("c", "skip")])

    def test_reason(self):
        self.assertEqual(ktap.read(["# begin c", "ok - c # SKIP no SVM"])[0].reason, "no SVM")

    def test_announced_without_result(self):
        self.assertEqual(states("# begin a\n# some output"), [("a", "fail")])

    def test_plan_inside(self):
        self.assertEqual(states("# begin a\n# 1..2\n# ok 1 x\nok - a"), [("a", "fail")])
        self.assertEqual(states("# begin a\n# 1..2\n# ok 1 x\n# ok 2 # SKIP y\nok - a"), [("a", "pass")])

    def test_failure_inside(self):
        self.assertEqual(states("# begin a\n# 1..1\n# not ok 1 x\nok - a"), [("a", "fail")])

    def test_plan_at_top(self):
        self.assertEqual(states("1..2\nok 1 a"), [("a", "pass"), ("plan", "fail")])

    def test_kunit(self):
        text = "KTAP version 1\n1..1\n    KTAP version 1\n    # Subtest: s\n    1..2\n    ok 1 x\n    %sok 2 y\nok 1 s"
        self.assertEqual(states(text % ""), [("s", "pass")])
        self.assertEqual(states(text % "not "), [("s", "fail")])

    def test_kernel_time_stamps(self):
        self.assertEqual(states("[    1.234567] ok 1 a"), [("a", "pass")])

    def test_output_is_no_result(self):
        self.assertEqual(states("ok, going on\nokay 1 b"), [])
