# SPDX-License-Identifier: GPL-2.0
"""Boots a lab machine, follows its console, and says how it ended.

A run has a name; its console is build/log/NAME.log, and build/run/NAME/ holds its initial RAM file system and `reproduce.sh`,
which boots the same again. Every run has a timeout, after which its own emulator, and nothing else, is killed.
"""

import importlib
import re
import shlex
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import initramfs
import paths
import ui

EMULATOR = {"x86": "qemu_x86", "arm64": "qemu_arm64", "s390": "hercules", "riscv": "qemu_riscv"}
SHELL = {"s390": "qemu_s390"}       # where the usual one has no terminal

SPLAT = re.compile(r"(\bBUG: |\bWARNING: |\bOops\b|Call Trace|rcu: INFO: .*(stall|detected)|RCU stall|rcu_\w+ (self-)?detected stall|"
                   r"soft lockup|hung_task|blocked for more than|possible (circular|recursive) locking|suspicious RCU|lockdep|"
                   r"Kernel panic|unable to handle|general protection fault|UBSAN:|KASAN:|KCSAN:|refcount_t: )")
KERNEL_LINE = re.compile(r"^\[ *\d+\.\d+\] ?")
DONE = re.compile(r"^lab: done (\d+)\s*$")


@dataclass
class Boot:
    """What to boot. Everything that a log or a result depends on is in here.

    image, base: paths (kernel.build().image, initramfs.base()); job: initramfs.Job, or None for a shell on the terminal.
    mode: "icount" (deterministic) or "mttcg" (real concurrency). allow: regular expressions of kernel messages that would
    otherwise count as splats; cpu: the emulated CPU's model, where there is a choice; semihosting: programs in the machine may
    write files of the host.
    """
    name: str
    image: Path
    base: Path
    job: object = None
    arch: str = "x86"
    smp: int = 1
    mode: str = "icount"
    memory: str = "1024M"
    cmdline: list = field(default_factory=list)
    timeout: float = 300
    seed: int = 1
    shift: int = 0
    allow: tuple = ()
    emulator: str = None
    initrd: Path = None
    cpu: str = None
    semihosting: bool = False


@dataclass
class Result:
    """How a run ended. lines: the console; status: what the job exited with, None if it did not end; seconds: wall time.

    error: one sentence when the machine (not the job) failed - timeout, no end marker, a kernel splat - else None.
    """
    name: str
    lines: list
    status: int
    seconds: float
    splats: list
    error: str
    log: Path

    def check(self):
        """Return self, or raise a LabError if the machine or the job failed."""
        if self.error or self.status:
            raise ui.LabError(f"{self.name}: {self.error or f'the job exited with status {self.status}'}", log=self.log,
                              todo=f"to boot it again: sh {paths.RUN / self.name / 'reproduce.sh'}")
        return self


def run(boot, on_line=None, quiet=False):
    """Boot and wait for the end. on_line(line) is called for every console line as it appears. Returns a Result."""
    emulator = _emulator(boot)
    boot.initrd = initramfs.with_job(boot.base, boot.job, boot.name)
    log = paths.log(boot.name)
    log.write_text("")
    argv = emulator.command(boot, log)
    _reproduce(boot, emulator)
    ui.command([shlex.quote(word) for word in argv])
    if not quiet:
        ui.note(f"  boot {boot.name}: {boot.arch}, {boot.smp} CPU{'s' if boot.smp > 1 else ''}, {boot.mode}, "
                f"at most {boot.timeout:.0f} s, log {log.relative_to(paths.REPO)}")
    start = time.monotonic()
    errors = paths.RUN / boot.name / "emulator.txt"
    lines, splats, timed_out, status = [], [], False, None
    reader = emulator.Console() if hasattr(emulator, "Console") else None
    with open(errors, "w") as stderr:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)
        try:
            with open(log, "rb") as console:
                for line in _follow(console, child, start + boot.timeout):
                    line = reader.feed(line) if reader else line
                    if line is None:
                        continue
                    lines.append(line)
                    if _is_splat(line, boot.allow):
                        splats.append(line)
                    if match := DONE.match(line):
                        status = int(match[1])
                    if on_line:
                        on_line(line)
            timed_out = child.poll() is None and status is None
            if child.poll() is None and not timed_out:
                child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    seconds = time.monotonic() - start
    return Result(boot.name, lines, status, seconds, splats,
                  _error(boot, splats, timed_out, status, child, lines, errors) or (reader.error if reader else None), log)


def shell(boot):
    """Boot with the console on the terminal; returns when the machine is off."""
    boot.emulator = boot.emulator or SHELL.get(boot.arch)
    if boot.emulator == "qemu_s390":
        ui.note("  this machine has no KVM: only Hercules has, and no terminal; `make check-s390` uses it")
    emulator = _emulator(boot)
    boot.initrd = initramfs.with_job(boot.base, boot.job, boot.name)
    ui.note("  a shell in the machine; to leave: `poweroff -f`, `exit`, or Ctrl-a x")
    return subprocess.call(emulator.command(boot, None))


def _emulator(boot):
    name = boot.emulator or EMULATOR.get(boot.arch)
    if not name:
        raise ui.LabError(f"the lab has no emulator for {boot.arch} yet")
    return importlib.import_module(f"emulators.{name}")


def _reproduce(boot, emulator):
    argv = emulator.command(boot, "/dev/stdout")
    script = paths.RUN / boot.name / "reproduce.sh"
    script.write_text("#!/bin/sh\n# Boots the run `" + boot.name + "` again, with its console here.\nexec "
                      + " ".join(shlex.quote(word) for word in argv) + "\n")


def _follow(console, child, deadline):
    """Yield the console's lines until the emulator has ended or the deadline has passed."""
    rest = b""
    while True:
        ended = child.poll() is not None
        data = console.read()
        if data:
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                yield _text(line)
        elif ended:
            if rest:
                yield _text(rest)
            return
        elif time.monotonic() > deadline:
            return
        else:
            time.sleep(0.05)


def _text(line):
    return line.decode(errors="replace").rstrip("\r")


def _is_splat(line, allow):
    """Whether a console line is a kernel complaint; programs' own output (KTAP diagnostics) does not count."""
    return bool(KERNEL_LINE.match(line) and SPLAT.search(line) and not any(re.search(pattern, line) for pattern in allow))


def _error(boot, splats, timed_out, status, child, lines, errors):
    if splats:
        return f"the kernel complained: {KERNEL_LINE.sub('', splats[0])}"
    if timed_out:
        return f"no end within {boot.timeout:.0f} s" + (f"; last line: {lines[-1]}" if lines else "; no output at all")
    if status is None:
        text = errors.read_text().strip()
        return (f"the machine ended (emulator status {child.returncode}) before its job did"
                + (f": {text.splitlines()[-1]}" if text else "") + (f"; last line: {lines[-1]}" if lines else ""))
    return None
