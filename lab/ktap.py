# SPDX-License-Identifier: GPL-2.0
"""Results of tests: reads KTAP (and TAP 13) as the kernel and its selftests print it, nested, and writes it.

A test that announced itself and gave no result, or a plan with results missing, is a failure: silence is never a pass.
"""

import re
from dataclasses import dataclass, field

PASS, FAIL, SKIP = "pass", "fail", "skip"

RESULT = re.compile(r"^(\s*)(not ok|ok)\s+(\d+|-)(?:\s+|$)(?:- )?([^#]*?)\s*(?:#\s*(.*))?$")
PLAN = re.compile(r"^(\s*)1\.\.(\d+)\s*(?:#\s*(.*))?$")


@dataclass
class Test:
    """One result. reason: why it failed or was skipped; children: nested results; output: its diagnostics."""
    name: str
    state: str
    reason: str = ""
    children: list = field(default_factory=list)
    output: list = field(default_factory=list)
    seconds: float = 0.0

    def line(self, number):
        """This result as a KTAP line."""
        text = f"{'not ok' if self.state == FAIL else 'ok'} {number} {self.name}"
        if self.state == SKIP:
            return f"{text} # SKIP {self.reason}".rstrip()
        return f"{text} # {self.reason}" if self.reason else text


def state_of(word, comment):
    """The state and reason that a result line means."""
    comment = (comment or "").strip()
    directive = re.match(r"(?i)(skip|todo|xfail)\b[ :]*(.*)", comment)
    if directive and word == "ok":
        if directive[1].lower() == "skip":
            return SKIP, directive[2]
        return PASS, comment
    if directive and directive[1].lower() in ("todo", "xfail"):
        return SKIP, f"known failure: {directive[2]}"
    return (PASS if word == "ok" else FAIL), comment


class Level:
    """Results at one indentation that wait for their parent, and how many were promised."""

    def __init__(self):
        self.tests, self.plan = [], None

    def complaint(self):
        if self.plan is not None and len(self.tests) != self.plan:
            return f"{self.plan} results were promised, {len(self.tests)} came"
        return ""


class Reader:
    """Takes console lines one by one; gives the finished top-level results.

    feed(line) returns a Test when the line ends a top-level one, else None. finish() returns as failures what was announced
    ("# begin NAME") and did not end, and what a plan promised and did not come. The output of an announced test is prefixed
    with "# "; results in it are its children.
    """

    def __init__(self):
        self.open, self.output, self.levels = None, [], {}

    def feed(self, line):
        line = re.sub(r"^\[ *\d+\.\d+\] ", "", line.rstrip())
        if line.startswith("# begin "):
            self.open, self.output = line[8:].strip(), []
            self.levels = {depth: level for depth, level in self.levels.items() if depth == 0}
            return None
        extra = 0
        if self.open is not None and line.startswith("# "):
            line, extra = line[2:], 4
            self.output.append(line)
        if plan := PLAN.match(line):
            self._level(len(plan[1]) + extra).plan = int(plan[2])
        elif match := RESULT.match(line):
            return self._result(len(match[1]) + extra, match)
        return None

    def finish(self, reason):
        """What is missing at the end, as failures."""
        left = []
        if self.open is not None:
            left.append(Test(self.open, FAIL, reason, self._children(0)[0], self.output))
            self._level(0).tests += left
            self.open = None
        if complaint := self._level(0).complaint():
            left.append(Test("plan", FAIL, complaint))
        return left

    def _level(self, depth):
        return self.levels.setdefault(depth, Level())

    def _result(self, depth, match):
        state, reason = state_of(match[2], match[5])
        children, complaint = self._children(depth)
        test = Test(match[4] or f"test {match[3]}", state, reason, children)
        failed = [child.name for child in children if child.state == FAIL]
        if state == PASS and (failed or complaint):
            test.state = FAIL
            test.reason = f"failed within: {', '.join(failed[:5])}" if failed else complaint
        self._level(depth).tests.append(test)
        if depth:
            return None
        test.output, self.open, self.output = self.output, None, []
        return test

    def _children(self, depth):
        """Take the results nested below depth; also say what their plans miss."""
        children, complaint = [], ""
        for deeper in sorted(level for level in self.levels if level > depth):
            level = self.levels.pop(deeper)
            children += level.tests
            complaint = complaint or level.complaint()
        return children, complaint


def read(lines, reason="no result"):
    """All top-level results in lines."""
    reader = Reader()
    tests = [test for test in map(reader.feed, lines) if test]
    return tests + reader.finish(reason)
