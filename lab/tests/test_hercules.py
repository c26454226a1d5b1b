# SPDX-License-Identifier: GPL-2.0
"""hercules: a console line that got lost is an error, and what came arrives as it was printed."""

import shutil
import subprocess
import unittest

import paths
from emulators import hercules


SHELL = ["busybox", "sh"] if shutil.which("busybox") else ["bash"]


def read(*lines):
    console = hercules.Console()
    return [line for line in map(console.feed, lines) if line is not None], console.error


class Console(unittest.TestCase):
    def test_whole(self):
        self.assertEqual(read("HHCCP041I SYSCONS interface active", "lab=1=a", "lab=2=", "CPU0000: R6=00lab=3=  b=9=c"), (["a", "", "  b=9=c"], None))

    def test_lost(self):
        for lines in (["lab=2=b"], ["lab=1=a", "lab=3=c"], ["lab=1=a", "lab=2=b", "lab=2=b"]):
            self.assertIsNotNone(read(*lines)[1])

    def test_lost_part(self):
        self.assertEqual(read("lab=1+ab", "lab=2=c"), (["abc"], None))
        self.assertIsNotNone(read("lab=1+ab", "lab=3=d")[1])

    def test_quoted(self):
        self.assertEqual(read("lab=1=%5B1%5D%255B"), (["[1]%5B"], None))

    def test_what_the_machine_prints(self):
        """The guest's side, in the host's busybox, with what it would do to the console left out."""
        script = (paths.INIT / "numbered").read_text().replace("> /dev/console", "").replace("stty opost < /dev/console", "")
        wanted = ["a [1.5] | ^ ! % %5B", "", "x" * 250, "  end"]
        out = subprocess.run([*SHELL, "-c", script], input="\n".join(wanted), text=True, capture_output=True, check=True)
        self.assertEqual(read(*out.stdout.splitlines()), (wanted, None))
