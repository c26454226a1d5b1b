# SPDX-License-Identifier: GPL-2.0
"""Builds the test programs, statically, from the kernel tree that the series makes."""

import os
import re
import subprocess
from pathlib import Path

import arch as arches
import kernel
import paths
import run
import tree
import ui

SELFTESTS = "tools/testing/selftests/kvm"


def build(name, programs, kernel_src=None):
    """Build the named kselftests of KVM (as in the selftests' Makefile: "x86_64/sync_regs_test") for architecture `name`.

    Returns a dict name -> path of the stripped program. A program that the tree does not have is left out with a note.
    """
    arch = arches.get(name)
    with tree.hold():
        return _build(arch, tree.make(kernel_src=kernel_src), programs)


def _build(arch, directory, programs):
    name = arch.name
    there = [program for program in programs if _has(directory, arch, program)]
    for program in programs:
        if program not in there:
            ui.note(f"  note: {program} is not among the selftests of the tree (yet); left out")
    if not there:
        return {}
    out = paths.BUILD / "programs" / name
    out.mkdir(parents=True, exist_ok=True)
    headers = paths.objects(name)
    headers.mkdir(exist_ok=True)
    run.logged(kernel.make(arch, directory, "-s", "headers"), paths.log(f"headers-{name}"), f"{name} headers",
               env=kernel.environment())
    env = dict(kernel.environment(), CCACHE_BASEDIR=str(directory))
    run.logged(["make", "-C", directory / SELFTESTS, f"-j{os.cpu_count()}", f"ARCH={name}", f"OUTPUT={out}",
                f"CC=ccache {arch.compiler} {arch.machine}".rstrip(), f"CROSS_COMPILE={arch.cross}", f"LDFLAGS={arch.link}",
                f"INSTALL_HDR_PATH={headers / 'usr'}", *[out / program for program in there]],
               paths.log(f"programs-{name}"), f"{name} programs", env=env,
               todo="correct the program; the build goes on where it stopped")
    return {program: _strip(arch, out, program) for program in there}


def compiled(name, source):
    """Compile a C program of the lab's own for architecture `name`, with the headers of the kernel that was built; return its
    path."""
    arch = arches.get(name)
    target = paths.BUILD / "programs" / name / source.stem
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        target.parent.mkdir(parents=True, exist_ok=True)
        run.output([arch.compiler, *arch.machine.split(), "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", *arch.link.split(),
                    "-s", "-isystem", paths.objects(name) / "usr/include", "-o", target, source])
    return target


def _has(directory, arch, program):
    folder = directory / SELFTESTS
    if not any((folder / f"{program}{suffix}").exists() for suffix in (".c", ".S")):
        return False
    text = "\n".join(path.read_text() for path in (folder / "Makefile", *folder.glob("Makefile.*")))
    return re.search(rf"(?<![\w/-]){re.escape(program)}(?![\w/-])", text) is not None


def _strip(arch, out, program):
    """A copy without debugging information: a tenth of the size in the initial RAM file system."""
    source, target = out / program, out / "stripped" / program
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([arch.cross + "strip", "-g", "-o", target, source], check=True)
    return Path(target)
