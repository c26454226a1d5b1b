# SPDX-License-Identifier: GPL-2.0
"""Makes initial RAM file systems: one base per set of programs, and a small job per boot.

The kernel accepts several cpio archives one after the other, so the base (busybox, /init, /lab/runner, the programs under
/tests) is made once per content and a boot's own files are appended to it. Nothing depends on times or on users: the same
content gives the same bytes.
"""

import hashlib
import os
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path

import busybox as foreign
import paths
import ui

BUSYBOX = {"x86": Path("/bin/busybox"), "arm64": paths.LABROOT / "usr/bin/busybox", "s390": foreign.place("s390"),
           "riscv": foreign.place("riscv")}


@dataclass
class Job:
    """What one boot does: script is run as /job by busybox sh; files are put beside it, path -> str or bytes."""
    script: str
    files: dict = field(default_factory=dict)


class Cpio:
    """Writes the "newc" format."""

    def __init__(self):
        self.data, self.number, self.folders = bytearray(), 0, set()

    def _entry(self, name, mode, content=b"", device=(0, 0)):
        self.number += 1
        encoded = name.encode() + b"\0"
        fields = (self.number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(encoded), 0)
        self.data += b"070701" + b"".join(b"%08x" % value for value in fields) + encoded
        self.data += b"\0" * (-len(self.data) % 4) + content
        self.data += b"\0" * (-len(self.data) % 4)

    def folder(self, name):
        parts = name.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            if path and path not in self.folders:
                self.folders.add(path)
                self._entry(path, stat.S_IFDIR | 0o755)

    def file(self, name, content, executable=True):
        name = name.strip("/")
        if "/" in name:
            self.folder(name.rpartition("/")[0])
        self._entry(name, stat.S_IFREG | (0o755 if executable else 0o644), content)

    def link(self, name, target):
        self._entry(name.strip("/"), stat.S_IFLNK | 0o777, target.encode())

    def device(self, name, major, minor):
        self.folder(name.strip("/").rpartition("/")[0])
        self._entry(name.strip("/"), stat.S_IFCHR | 0o600, device=(major, minor))

    def finish(self):
        self._entry("TRAILER!!!", 0)
        return bytes(self.data) + b"\0" * (-len(self.data) % 512)


def base(arch, programs, extra=None):
    """Return the path of the base for arch. programs: name below /tests -> host path; extra: guest path -> host path."""
    busybox = BUSYBOX.get(arch)
    if not busybox or not busybox.exists():
        raise ui.LabError(f"no static busybox for {arch} ({busybox})", todo=f"run `make setup ARCH={arch}`")
    files = {"/bin/busybox": busybox, "/init": paths.INIT / "init", "/lab/runner": paths.INIT / "runner",
             "/lab/welcome": paths.INIT / "welcome", "/lab/numbered": paths.INIT / "numbered"}
    files.update({f"/tests/{name}": Path(path) for name, path in programs.items()})
    files.update({name: Path(path) for name, path in (extra or {}).items()})
    archive = Cpio()
    for name in ("dev", "proc", "sys", "tmp", "bin", "tests"):
        archive.folder(name)
    archive.device("/dev/console", 5, 1)
    archive.device("/dev/null", 1, 3)
    for name in sorted(files):
        archive.file(name, files[name].read_bytes(), os.access(files[name], os.X_OK))
    archive.link("/bin/sh", "busybox")
    data = archive.finish()
    folder = paths.BUILD / "initramfs"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"base-{arch}-{hashlib.sha256(data).hexdigest()[:16]}.cpio"
    if not path.exists():
        for old in folder.glob(f"base-{arch}-*.cpio"):
            if old.stat().st_mtime < time.time() - 86400:
                old.unlink(missing_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(data)
        temporary.replace(path)
    return path


def with_job(base_path, job, name):
    """Append job to the base; return the path of the whole, build/run/NAME/initrd. job None: an interactive shell."""
    folder = paths.RUN / name
    folder.mkdir(parents=True, exist_ok=True)
    data = Path(base_path).read_bytes()
    if job:
        archive = Cpio()
        archive.file("/job", job.script.encode())
        for path, content in sorted(job.files.items()):
            archive.file(path, content.encode() if isinstance(content, str) else content)
        data += archive.finish()
    path = folder / "initrd"
    path.write_bytes(data)
    return path
