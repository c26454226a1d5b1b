# SPDX-License-Identifier: GPL-2.0
"""What the lab says to its user: notes, progress and errors.

Every module raises LabError for anything the user can do something about; lab.py prints it without a traceback. An error
says what failed, which log to read, and what to do.
"""

import os
import sys
import time

VERBOSE = os.environ.get("V", "") not in ("", "0")


class LabError(Exception):
    """Something failed in a way that the user can act on."""

    def __init__(self, what, log=None, todo=None):
        """what: one sentence; log: path of the file to read; todo: what the user can do."""
        self.what, self.log, self.todo = what, log, todo
        text = what
        if log:
            text += f"\n  log:   {log}"
        if todo:
            text += f"\n  to do: {todo}"
        super().__init__(text)


def note(text):
    """Print one line of progress at once."""
    print(text, flush=True)


def command(argv):
    """Show a command line when V=1."""
    if VERBOSE:
        note("  $ " + " ".join(str(word) for word in argv))


class Progress:
    """One line that is rewritten on a terminal; elsewhere a line every 30 s."""

    def __init__(self, label, stream=sys.stdout):
        self.label, self.stream = label, stream
        self.tty = stream.isatty()
        self.start = self.last = time.monotonic()
        self.shown = False

    def update(self, text):
        """Show text, at most every second (terminal) or every 30 s (else)."""
        now = time.monotonic()
        if now - self.last < (1 if self.tty else 30):
            return
        self.last, self.shown = now, True
        line = f"  {self.label}: {text}, {now - self.start:.0f} s"
        if self.tty:
            self.stream.write("\r\x1b[K" + line)
        else:
            self.stream.write(line + "\n")
        self.stream.flush()

    def done(self, text):
        """End the line with its final text."""
        if self.tty and self.shown:
            self.stream.write("\r\x1b[K")
        note(f"  {self.label}: {text}, {time.monotonic() - self.start:.0f} s")
