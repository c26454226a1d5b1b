# SPDX-License-Identifier: GPL-2.0
"""Each patch of the series builds in turn, on top of those before it, and brings no warning of W=1 or of sparse.

Built are KVM, the scheduler, and the folders of what the series touches, not whole kernels; only what a patch changes is
compiled again. A warning is new when the untouched source, built the same way, does not have it.
"""

import os
import re
import subprocess

import builds
import kernel
import ktap
import paths
import series
import source
import tree
import ui

PACKAGES = ("sparse", "gcc-aarch64-linux-gnu", "gcc-s390x-linux-gnu")
TARGETS = ("x86_64", "arm64", "s390")
DIRECTORY = paths.BUILD / "linux-in-turn"
WARNING = re.compile(r"^(?:\.\./)*(?P<path>[\w./-]+\.[chS]):\d+:(?:\d+:)? (?P<text>(?:fatal )?(?:warning|error): .*)$")


def check(report):
    """Build all patches for all targets, or those that $TARGETS names; report(ktap.Test) for each patch that it concerns."""
    only = os.environ.get("TARGETS", "").split() or TARGETS
    patches, origin = series.read(), source.get()
    with tree.hold():
        tree.prepare(DIRECTORY, origin)
        tip = tree.commits(DIRECTORY, origin, patches)
    commits = tree.git.git(DIRECTORY, "rev-list", "--reverse", f"{origin.commit}..{tip}").split()
    for target in builds.TARGETS:
        if target.name in TARGETS and target.name in only:
            _target(target, patches, commits, origin, report)


def _target(target, patches, commits, origin, report):
    _go_to(origin.commit)
    known, text = _build(target, patches, True)
    if known is None:
        report(ktap.Test(f"{target.name}: untouched source", ktap.FAIL, "does not build", output=text))
        return
    for patch, commit in zip(patches, commits, strict=True):
        paths_of_patch = patch.adds + patch.touches()
        if not any(_concerns(target, path) for path in paths_of_patch):
            continue
        _go_to(commit)
        name = f"{target.name}: {patch.name}"
        ui.note(f"  {name}")
        found, text = _build(target, patches, any("Kconfig" in path for path in paths_of_patch))
        if found is None:
            report(ktap.Test(name, ktap.FAIL, "does not build", output=text))
            return
        new = sorted(found - known)
        known |= found
        report(ktap.Test(name, ktap.FAIL if new else ktap.PASS, new[0] if new else "", output=new))


def _go_to(commit):
    old = tree.git.git(DIRECTORY, "rev-parse", "-q", "--verify", tree.TIP, check=False)
    tree.move(DIRECTORY, old, commit)


def _concerns(target, path):
    """Whether a kernel of target depends on the file."""
    if path.startswith(("tools/", "Documentation/")) or path == "MAINTAINERS":
        return False
    return not path.startswith("arch/") or path.startswith(target.folder.removesuffix("kvm"))


def _folders(target, patches):
    """What is built: KVM, the scheduler and what the series touches, as make's targets; virt/kvm/ is part of KVM."""
    found = [target.folder, "kernel/sched"]
    for path in (path for patch in patches for path in patch.adds + patch.touches()):
        folder = os.path.dirname(path)
        if path.endswith(".c") and _concerns(target, path) and not folder.startswith(("virt/", *found)):
            found.append(folder)
    return [folder + "/" for folder in found]


def _build(target, patches, configure):
    """Build the tree as it stands; return the set of its warnings, or None if it fails, and the lines of output."""
    out = DIRECTORY / target.out
    out.mkdir(exist_ok=True)
    if configure:
        builds.configure(DIRECTORY, target, True, out)
    done = subprocess.run(builds.make(DIRECTORY, target, "W=1", "C=1", "CHECK=sparse", "prepare", *_folders(target, patches)),
                          env=kernel.environment(), text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = done.stdout.splitlines()
    paths.log(f"in-turn-{target.name}").write_text(done.stdout)
    if done.returncode:
        return None, [line for line in lines if "rror" in line] or lines[-10:]
    found = (WARNING.match(line) for line in lines)
    return {f"{os.path.normpath(match['path'])}: {match['text']}" for match in found if match}, lines
