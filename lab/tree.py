# SPDX-License-Identifier: GPL-2.0
"""Lays the kernel tree out: the untouched source and one commit per patch of the series.

The commits are computed without touching the work tree; then the work tree moves to the new tip, and only the files that
differ are written, so that make rebuilds only what they affect. Hashes depend on the source and the series only.
"""

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path

import git
import paths
import run
import series
import source
import ui

TIP = "refs/lab/tip"
SAVED = "refs/lab/before-force"


def hold(stock=False):
    """A context in which nobody else changes the tree: held while something is built from it, or a file could change
    between being read and its object being dated."""
    return run.lock(paths.BUILD / f".{paths.tree(stock).name}.lock")


def make(stock=False, force=None, kernel_src=None):
    """Bring build/linux (stock: build/linux-stock) up to date and return its path.

    Local changes in it that the repository does not have are refused with a LabError; force (default: $FORCE) drops them
    after saving them under refs/lab/before-force.
    """
    force = os.environ.get("FORCE", "") not in ("", "0") if force is None else force
    patches = series.read(stock_only=stock)
    origin = source.get(kernel_src)
    directory = paths.tree(stock)
    label = ("stock tree, untouched source" + (f" plus {', '.join(p.name for p in patches)}" if patches else "")
             if stock else f"tree, {len(patches)} patches")
    with hold(stock):
        prepare(directory, origin)
        tip = commits(directory, origin, patches)
        old = git.git(directory, "rev-parse", "-q", "--verify", TIP, check=False)
        _protect(directory, old, tip, force)
        count = move(directory, old, tip)
    ui.note(f"  {directory.relative_to(paths.REPO)}: Linux {origin.version}, {label}: "
            + (f"{count} files changed" if old and count else "laid out" if count else "up to date"))
    return directory


def prepare(directory, origin):
    """Make the repository in directory, empty but for the cached source that it borrows objects from."""
    if not (directory / ".git").exists():
        directory.mkdir(parents=True, exist_ok=True)
        git.git(directory, "init", "-q", ".")
    info = directory / ".git" / "info"
    info.mkdir(exist_ok=True)
    (info / "exclude").write_text("/out-*/\n")
    alternates = directory / ".git" / "objects" / "info" / "alternates"
    wanted = f"{origin.repository / 'objects'}\n"
    if not alternates.exists() or alternates.read_text() != wanted:
        alternates.write_text(wanted)


def commits(directory, origin, patches):
    """Make the commits of patches on top of the source in directory's object store; return the tip's hash.

    What a patch gave before, on the same parent, is remembered.
    """
    memo_file = directory / ".git" / "lab-commits.json"
    try:
        memo = json.loads(memo_file.read_text())
    except (OSError, ValueError):
        memo = {}
    parent, fresh = origin.commit, {}
    with tempfile.TemporaryDirectory(prefix="lab-index.") as scratch:
        index, loaded = Path(scratch, "index"), None
        for patch in patches:
            key = hashlib.sha256(f"{parent} {patch.identity()}".encode()).hexdigest()
            commit = memo.get(key)
            if not commit or not _have(directory, commit):
                if loaded != parent:
                    git.git(directory, "read-tree", parent, index=index)
                commit = loaded = _commit(directory, index, parent, patch)
            fresh[key] = commit
            parent = commit
    memo_file.write_text(json.dumps(fresh))
    return parent


def _have(directory, commit):
    return git.git(directory, "cat-file", "-t", commit, check=False) == "commit"


def _commit(directory, index, parent, patch):
    """Apply patch to the index, which holds parent's tree; return the new commit."""
    if patch.diff:
        try:
            git.git(directory, "apply", "--cached", "--whitespace=nowarn", "-", index=index, stdin=patch.diff)
        except ui.LabError as error:
            places = re.findall(r"(?:patch failed: |error: )(\S+?:\d+)|error: (\S+): ", error.what)
            where = ", ".join(dict.fromkeys(first or second for first, second in places)) or "see below"
            raise ui.LabError(f"{patch.name} does not apply: {where}\n    {error.what.partition('): ')[2]}",
                              todo=f"correct {paths.PATCHES / patch.name}, or give another KERNEL_SRC=") from error
    if patch.adds:
        there = git.git(directory, "ls-files", "--", *patch.adds, index=index)
        if there:
            raise ui.LabError(f"{patch.name} adds {', '.join(there.split())}, which the tree already has at that point")
        hashes = git.git(directory, "hash-object", "-w", "--no-filters", "--stdin-paths",
                         stdin="".join(f"{paths.OURS / path}\n" for path in patch.adds)).split()
        lines = "".join(f"{series.mode(paths.OURS / path)} {value}\t{path}\n" for path, value in zip(patch.adds, hashes))
        git.git(directory, "update-index", "--add", "--index-info", index=index, stdin=lines)
    tree = git.git(directory, "write-tree", index=index)
    return git.git(directory, "commit-tree", tree, "-p", parent, stdin=patch.message)


def _protect(directory, old, tip, force):
    """Refuse to lose local commits or edits that the new tip does not have."""
    if not old:
        return
    head = git.git(directory, "rev-parse", "-q", "--verify", "HEAD", check=False)
    # Files whose content is what the new tip has are no edits: add them, so that they are not written again.
    edited = _edited(directory)
    if edited:
        same = [path for path in edited if _same(directory, tip, path)]
        if same:
            git.git(directory, "update-index", "-z", "--add", "--remove", "--stdin", stdin="\0".join(same) + "\0")
        edited = [path for path in edited if path not in same]
    new = git.git(directory, "diff", "--name-only", "--no-renames", "--diff-filter=A", "HEAD", tip).splitlines() if head != tip else []
    edited += [path for path in new if path not in edited and (directory / path).exists() and not _same(directory, tip, path)]
    local = head != old and head != tip
    if not edited and not local:
        return
    what = ([f"commits ({old[:12]}..{head[:12]})"] if local else []) + edited
    if not force:
        raise ui.LabError(
            f"{directory} has changes that are not in the repository:\n    " + "\n    ".join(what[:20])
            + (f"\n    and {len(what) - 20} more" if len(what) > 20 else ""),
            todo="carry them over to the repository's files and patches, or say FORCE=1 to drop them")
    kept = git.git(directory, "stash", "create", check=False) or head
    git.git(directory, "update-ref", SAVED, kept)
    ui.note(f"  FORCE=1: dropped local changes in {len(what)} files; `git -C {directory} show {SAVED}` has them")


def _edited(directory):
    """Tracked files whose content or mode differs from HEAD."""
    git.git(directory, "update-index", "-q", "--refresh", check=False)
    return [path for path in git.git(directory, "diff-index", "--name-only", "-z", "HEAD", check=False).split("\0") if path]


def _same(directory, tip, path):
    """Whether the work tree's file is what tip has at path (both missing counts)."""
    entry = git.git(directory, "ls-tree", tip, "--", path)
    file = directory / path
    if not entry or not os.path.lexists(file):
        return not entry and not os.path.lexists(file)
    if file.is_symlink() or not file.is_file():
        return False
    mode, _, value = entry.split("\t")[0].split()
    return mode == series.mode(file) and value == git.git(directory, "hash-object", "--no-filters", path)


def move(directory, old, tip):
    """Move branch and work tree to tip; return how many files that changed."""
    head = git.git(directory, "rev-parse", "-q", "--verify", "HEAD", check=False) if old else ""
    if old == tip == head and not _edited(directory):
        return 0
    if old:
        count = len(git.git(directory, "diff-index", "--name-only", tip).splitlines())
        git.git(directory, "reset", "-q", "--hard", tip)
    else:
        count = -1
        ui.note(f"  laying out {directory} (1.7 GB)")
        git.git(directory, "reset", "-q", "--hard", tip)
    git.git(directory, "update-ref", TIP, tip)
    return count
