# SPDX-License-Identifier: GPL-2.0
"""A static busybox of another architecture, from Debian's own package, in the cache.

The package is fetched and its signature checked by apt, through mmdebstrap, from the archive that the host's own apt uses;
nothing of it is run on the host.
"""

import os
import shutil

import labroot
import paths
import run
import ui

# The suite and the architecture, as Debian names them, and where the package has the program.
DEBIAN = {"s390": ("bookworm", "s390x", "bin"), "riscv": ("trixie", "riscv64", "usr/bin")}


def place(arch):
    """Where the program is, or would be."""
    return paths.CACHE / f"busybox-{arch}" / DEBIAN[arch][2] / "busybox"


def ensure(arch):
    """Fetch it if it is missing; return its path."""
    program = place(arch)
    if program.exists():
        return program
    with run.lock(paths.CACHE / f".busybox-{arch}.lock"):
        if not program.exists():
            _make(arch, paths.CACHE / f"busybox-{arch}")
    return program


def _make(arch, root):
    if os.geteuid():
        raise ui.LabError(f"fetching busybox for {arch} (mmdebstrap) needs root", todo="run `make setup` as root")
    suite, architecture, _ = DEBIAN[arch]
    temporary = root.with_name(f".{root.name}.{os.getpid()}")
    listing = paths.RUN / f"busybox-{arch}.list"
    listing.parent.mkdir(parents=True, exist_ok=True)
    listing.write_text(f"deb [signed-by={labroot.KEYRING}] {labroot.archive()} {suite} main\n")
    argv = ["mmdebstrap", "--variant=extract", "--mode=root", f"--architectures={architecture}", f"--keyring={labroot.KEYRING}",
            "--include=busybox-static", "--aptopt=Acquire::Retries 3", *labroot.proxies(), suite, temporary, listing]
    try:
        run.logged(argv, paths.log(f"busybox-{arch}"), f"busybox for {arch}",
                   env=run.environment(DEBIAN_FRONTEND="noninteractive"),
                   todo=f"is the network up, and does the archive in /etc/apt/sources.list* carry {suite} for {architecture}?")
        shutil.rmtree(root, ignore_errors=True)
        temporary.rename(root)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        listing.unlink(missing_ok=True)
