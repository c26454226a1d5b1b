# SPDX-License-Identifier: GPL-2.0
"""Runs host programs: with their output returned, or into a log with progress."""

import contextlib
import fcntl
import os
import subprocess
import threading

import ui


def output(argv, cwd=None, env=None, stdin=None, check=True, todo=None):
    """Run argv and return its standard output as text. check: a failure is a LabError that quotes its error output."""
    ui.command(argv)
    done = subprocess.run([str(word) for word in argv], cwd=cwd, env=env, capture_output=True, text=True,
                          input=stdin if stdin is not None else "")
    if check and done.returncode:
        raise ui.LabError(f"`{' '.join(str(w) for w in argv)}` failed ({done.returncode}): {done.stderr.strip()}",
                          todo=todo)
    return done.stdout


def merged(argv, cwd=None, env=None):
    """Run argv and return its output, errors included; its status is not looked at."""
    ui.command(argv)
    return subprocess.run([str(word) for word in argv], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace").stdout


def logged(argv, log, label, cwd=None, env=None, todo=None, unit="lines"):
    """Run argv with all of its output in the file log, showing how many lines there are. A failure is a LabError.

    Lines of error ("error:", "Error", "***") are repeated in the message, since that is what one looks for first.
    """
    ui.command(argv)
    progress = ui.Progress(label)
    count = 0
    with open(log, "w", buffering=1) as out:
        out.write("$ " + " ".join(str(word) for word in argv) + "\n")
        child = subprocess.Popen([str(word) for word in argv], cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        lock = threading.Lock()
        stop = threading.Event()

        def ticker():
            while not stop.wait(1):
                with lock:
                    progress.update(f"{count} {unit}")

        thread = threading.Thread(target=ticker, daemon=True)
        thread.start()
        bad = []
        try:
            for line in child.stdout:
                out.write(line)
                if unit != "objects" or line.lstrip().startswith(("CC ", "AS ", "HOSTCC ")):
                    count += 1
                if any(word in line for word in ("error:", "Error ", "*** ", "undefined reference", "E: ")):
                    bad.append(line.rstrip())
            status = child.wait()
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
            stop.set()
            thread.join()
    if status:
        tail = "\n    ".join(bad[:12])
        raise ui.LabError(f"{label} failed ({status})" + (f":\n    {tail}" if tail else ""), log=log, todo=todo)
    progress.done(f"done ({count} {unit})" if count else "done")


HELD = set()


@contextlib.contextmanager
def lock(path):
    """Hold an exclusive lock on path, so that two runs never make the same thing at once. May be nested."""
    if path in HELD:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            ui.note(f"  another run holds {path}; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        HELD.add(path)
        try:
            yield
        finally:
            HELD.discard(path)


def environment(**extra):
    """The environment for builds: the caller's, in the C locale, without what would leak in from an outer make."""
    env = dict(os.environ, LC_ALL="C", **extra)
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "ARCH", "CROSS_COMPILE", "V", "O", "CC",
                 "KERNEL_SRC", "STOCK", "FORCE", "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "LOCALVERSION"):
        env.pop(name, None)
    return env
