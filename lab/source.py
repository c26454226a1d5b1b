# SPDX-License-Identifier: GPL-2.0
"""The untouched kernel source, as a bare git repository with one commit.

It is taken from Debian's linux-source package or from what KERNEL_SRC= names: a directory (vanilla or Debian, a git checkout
or not) or a tarball. The repository is kept in the cache as source/<name>-<hash>, with the hash over the identity of what
it came from; it is made under a temporary name and renamed when whole, so an interrupted run never leaves half of one.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import git
import paths
import run
import ui

PACKAGE = "linux-source-6.12"
TARBALL = Path(f"/usr/src/{PACKAGE}.tar.xz")
SERIES = "6.12"
FORMAT = 1          # raise when the repository's layout changes
WRONG = f"this series is for Linux {SERIES}.y: give KERNEL_SRC= a {SERIES}.y tree or tarball, or leave it out"


@dataclass(frozen=True)
class Source:
    """The cached repository: where it is, the kernel's version, its commit and that commit's tree."""
    repository: Path
    version: str
    commit: str
    tree: str


def get(kernel_src=None):
    """Return the Source for kernel_src (default: $KERNEL_SRC, else the Debian package), making it if needed."""
    origin = Path(os.path.expanduser(kernel_src or os.environ.get("KERNEL_SRC") or TARBALL)).absolute()
    if not origin.exists():
        if origin == TARBALL:
            raise ui.LabError(f"{TARBALL} is missing", todo="run `make setup`, or give KERNEL_SRC=<tree or tarball>")
        raise ui.LabError(f"KERNEL_SRC={origin} does not exist", todo=WRONG)
    head = None
    if origin.is_dir():
        head = _git_head(origin)
        _check_directory(origin)
        identity = head or _hash_directory(origin)
    else:
        identity = _hash_file(origin)
    name = re.sub(r"\.tar(\.\w+)?$", "", origin.name)
    place = paths.SOURCES / f"{name}-{hashlib.sha256(f'{FORMAT} {identity}'.encode()).hexdigest()[:16]}"
    with run.lock(paths.SOURCES / ".lock"):
        if not (place / "lab.json").exists():
            _import(origin, head, place)
    meta = json.loads((place / "lab.json").read_text())
    return Source(place, meta["version"], meta["commit"], meta["tree"])


def _git_head(directory):
    """The tree of HEAD when directory is the top of a git checkout, else None."""
    if not (directory / ".git").exists():
        return None
    if run.output(git.command("status", "--porcelain", "--untracked-files=no"), cwd=directory, env=git.environment()):
        ui.note(f"  note: {directory} has changes that are not committed; its HEAD is used")
    return git.git(directory, "rev-parse", "HEAD^{tree}")


def _check_directory(directory):
    """Refuse a directory that is no kernel source, of another version, or that was built in."""
    makefile = directory / "Makefile"
    if not makefile.exists() or not (directory / "Kconfig").exists():
        raise ui.LabError(f"{directory} is not a kernel source tree (no Makefile or no Kconfig)", todo=WRONG)
    _version(makefile.read_text(errors="replace"), directory)
    if not (directory / ".git").exists() and (directory / "include" / "config").exists():
        raise ui.LabError(f"{directory} has been built in; the untouched source is needed",
                          todo=f"`make -C {directory} mrproper`, or give another tree")


def _version(makefile, origin):
    """The version that a kernel's top Makefile states; a LabError if it is not of this series."""
    part = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)", makefile, re.M))
    version = f"{part.get('VERSION')}.{part.get('PATCHLEVEL')}"
    if version != SERIES:
        raise ui.LabError(f"{origin} is Linux {version}", todo=WRONG)
    return f"{version}.{part.get('SUBLEVEL') or 0}{part.get('EXTRAVERSION') or ''}"


def _hash_file(path):
    """sha256 of a file, remembered by its size and time so that it is read once."""
    info = path.stat()
    memo = paths.SOURCES / ".sums.json"
    key = f"{path} {info.st_size} {info.st_mtime_ns}"
    try:
        known = json.loads(memo.read_text())
    except (OSError, ValueError):
        known = {}
    if key not in known:
        with open(path, "rb") as file:
            known[key] = hashlib.file_digest(file, "sha256").hexdigest()
        memo.parent.mkdir(parents=True, exist_ok=True)
        temporary = memo.with_name(f".sums.{os.getpid()}")
        temporary.write_text(json.dumps(known))
        temporary.replace(memo)
    return known[key]


def _hash_directory(directory):
    """A hash over names, sizes and times of all files of a plain directory."""
    digest = hashlib.sha256()
    for path in _walk(directory):
        info = path.lstat()
        digest.update(f"{path.relative_to(directory)}\0{info.st_size}\0{info.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def _walk(directory):
    """All files and links below directory, in a fixed order, without .git."""
    for root, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not Path(root, name).is_symlink() and name != ".git")
        for name in sorted(names + [n for n in os.listdir(root) if Path(root, n).is_symlink() and Path(root, n).is_dir()]):
            yield Path(root, name)


def _files(origin, head):
    """Yield (path, mode, bytes) for every file of the source."""
    if origin.is_dir() and not head:
        for path in _walk(origin):
            info = path.lstat()
            if stat.S_ISLNK(info.st_mode):
                yield str(path.relative_to(origin)), "120000", os.readlink(path).encode()
            elif stat.S_ISREG(info.st_mode):
                yield str(path.relative_to(origin)), _mode(info.st_mode), path.read_bytes()
        return
    if head:
        child = subprocess.Popen(git.command("archive", "--format=tar", "--prefix=linux/", "HEAD"), cwd=origin,
                                 env=git.environment(), stdout=subprocess.PIPE)
        archive = tarfile.open(fileobj=child.stdout, mode="r|")
    else:
        archive = tarfile.open(origin, mode="r|*")
    with archive:
        for member in archive:
            path = member.name.removeprefix("./").partition("/")[2]
            if member.isreg():
                yield path, _mode(member.mode), archive.extractfile(member).read()
            elif member.issym():
                yield path, "120000", member.linkname.encode()
            elif not member.isdir() and member.type not in (tarfile.XGLTYPE,):
                raise ui.LabError(f"{origin} holds {member.name}, which is neither a file nor a link")


def _mode(mode):
    return "100755" if mode & 0o100 else "100644"


def _import(origin, head, place):
    """Make the repository `place` from origin, through one stream into git fast-import."""
    ui.note(f"  importing {origin} into {place} (once per source, about a minute)")
    temporary = place.with_name(f".{place.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    progress = ui.Progress("import")
    log = paths.log("source-import")
    try:
        git.git(temporary, "init", "-q", "--bare", ".")
        with open(log, "w") as errors:
            child = subprocess.Popen(git.command("-c", "pack.compression=1", "fast-import", "--quiet", "--depth=0"),
                                     cwd=temporary, env=git.environment(), stdin=subprocess.PIPE, stderr=errors)
            version = _stream(origin, head, child.stdin, progress)
            child.stdin.close()
            if child.wait():
                raise ui.LabError(f"git could not import {origin}", log=log, todo="check the disk space and run again")
        commit = git.git(temporary, "rev-parse", "refs/heads/source")
        tree = git.git(temporary, "rev-parse", "refs/heads/source^{tree}")
        (temporary / "lab.json").write_text(json.dumps(
            {"version": version, "commit": commit, "tree": tree, "origin": str(origin)}, indent=1) + "\n")
        shutil.rmtree(place, ignore_errors=True)
        temporary.rename(place)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise ui.LabError(f"importing {origin} failed: {error}", log=log,
                          todo="check that the archive is whole and the disk is not full") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    progress.done(f"Linux {version}")


def _stream(origin, head, out, progress):
    """Write the source to git fast-import's input; return the kernel's version."""
    version, entries = None, []
    for path, mode, data in _files(origin, head):
        if path == "Makefile":
            version = _version(data.decode(errors="replace"), origin)
        entries.append((path, mode))
        out.write(b"blob\nmark :%d\ndata %d\n" % (len(entries), len(data)))
        out.write(data)
        out.write(b"\n")
        progress.update(f"{len(entries)} files")
    if not version:
        raise ui.LabError(f"{origin} is not a kernel source (no Makefile at its top)", todo=WRONG)
    message = f"Linux {version}, the untouched source\n".encode()
    who = b"directed-yield lab <lab@localhost> 1767225600 +0000"
    out.write(b"commit refs/heads/source\nauthor %s\ncommitter %s\ndata %d\n%s" % (who, who, len(message), message))
    for number, (path, mode) in enumerate(entries, 1):
        quoted = '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
        out.write(f"M {mode} :{number} {quoted}\n".encode())
    return version
