# SPDX-License-Identifier: GPL-2.0
"""The lab root: a Debian 13 file system in the cache with QEMU 11.1 from its backports, and busybox for arm64.

arm64 needs it (older QEMU never traps WFE). The archive's address comes from the host's own apt configuration, its
signatures are checked with Debian's keyring package. Programs in it run through its own loader; nothing is chrooted.
"""

import os
import re
import shutil
from pathlib import Path

import paths
import run
import ui

SUITE = "trixie"
INCLUDE = "qemu-system-arm,qemu-system-data,busybox-static:arm64"
STAMP = ".lab-root"
VERSION = "1 " + SUITE + " " + INCLUDE
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def ensure():
    """Make the lab root if it is missing or of another version; return its path."""
    stamp = paths.LABROOT / STAMP
    if stamp.exists() and stamp.read_text() == VERSION:
        return paths.LABROOT
    with run.lock(paths.CACHE / ".lab-root.lock"):
        if not (stamp.exists() and stamp.read_text() == VERSION):
            _make()
    return paths.LABROOT


def _make():
    if os.geteuid():
        raise ui.LabError("making the lab root (Debian 13 with QEMU for arm64) needs root", todo="run `make setup` as root")
    if not KEYRING.exists():
        raise ui.LabError(f"{KEYRING} is missing", todo="apt-get install debian-archive-keyring")
    mirror = archive()
    ui.note(f"  making the lab root: Debian 13 with QEMU 11.1, in {paths.LABROOT} (about 2 minutes)")
    temporary = paths.CACHE / f".lab-root.{os.getpid()}"
    lines = [f"deb [signed-by={KEYRING}] {mirror} {suite} main" for suite in (SUITE, SUITE + "-updates", SUITE + "-backports")]
    listing = paths.RUN / "lab-root.list"
    listing.parent.mkdir(parents=True, exist_ok=True)
    listing.write_text("\n".join(lines) + "\n")
    argv = ["mmdebstrap", "--variant=extract", "--mode=root", "--architectures=amd64,arm64", f"--keyring={KEYRING}", f"--include={INCLUDE}",
            '--aptopt=APT::Default-Release "trixie-backports"', "--aptopt=Apt::Install-Recommends false",
            "--aptopt=Acquire::Retries 3", *proxies(), SUITE, temporary, listing]
    try:
        run.logged(argv, paths.log("lab-root"), "lab root", env=run.environment(DEBIAN_FRONTEND="noninteractive"),
                   todo="is the network up, and does the archive in /etc/apt/sources.list* carry trixie and trixie-backports?")
        (temporary / STAMP).write_text(VERSION)
        shutil.rmtree(paths.LABROOT, ignore_errors=True)
        temporary.rename(paths.LABROOT)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        listing.unlink(missing_ok=True)


def archive():
    """The address of the Debian archive that this host's apt uses."""
    found = []
    folder = Path("/etc/apt")
    for file in [folder / "sources.list", *sorted(folder.glob("sources.list.d/*.list"))]:
        if file.exists():
            for line in file.read_text(errors="replace").splitlines():
                match = re.match(r"\s*deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)", line)
                if match:
                    found.append((match[1], match[2].split(), match[3].split()))
    for file in sorted(folder.glob("sources.list.d/*.sources")):
        for block in re.split(r"\n\s*\n", re.sub(r"^#.*\n", "", file.read_text(errors="replace"), flags=re.M)):
            field = {key.lower(): value.split() for key, value in re.findall(r"^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)", block, re.M)}
            if "deb" in field.get("types", []) and field.get("enabled", ["yes"]) != ["no"]:
                found += [(uri, field.get("suites", []), field.get("components", [])) for uri in field.get("uris", [])]
    for uri, names, components in found:
        plain = [name for name in names if re.fullmatch(r"(bookworm|trixie|forky|sid|stable|testing|unstable)(-updates)?", name)]
        if plain and "main" in components and uri.startswith(("http://", "https://", "file:")) and "security" not in uri:
            return uri
    raise ui.LabError("no entry for Debian's main archive in /etc/apt/sources.list or /etc/apt/sources.list.d",
                      todo="add one; the lab root is made from the same archive")


def proxies():
    """The host's apt settings for reaching the archive."""
    options = []
    for line in run.output(["apt-config", "dump"], check=False).splitlines():
        match = re.match(r'(Acquire::(?:https?|ftp)::[^ ]*(?:Proxy|Verify-Peer|CaInfo)[^ ]*) "(.+)";', line, re.I)
        if match:
            options.append(f'--aptopt={match[1]} "{match[2]}"')
    return options
