# SPDX-License-Identifier: GPL-2.0
"""The lab roots: Debian 13 file systems in the cache with QEMU 11.1 from its backports, for this machine and for arm64.

RISC-V needs one: older QEMU never traps WRS.NTO. x86 needs one: with more than one CPU, QEMU 7.2 changes a CPU's pending interrupts at VMRUN and #VMEXIT without a lock, so
that a guest sees interrupts that nobody sent, and the host loses some of its own. arm64 needs them: older QEMU never traps
WFE, and Linux guests of a lab machine run under the same QEMU, built for arm64, in its initial RAM file system. With one
QEMU on all hosts, deterministic machines count the same everywhere. The archive's address comes from the host's own apt
configuration, its signatures are checked with Debian's keyring package. Programs in the host's root run through its own
loader; nothing is chrooted.
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import paths
import run
import ui

SUITE = "trixie"
STAMP = ".lab-root"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True)
class Root:
    """One file system: the lab architecture that needs it, where it is, the architectures and packages in it, what it is called."""
    arch: str
    path: Path
    architectures: str
    include: str
    label: str

    @property
    def version(self):
        return f"1 {SUITE} {self.include}"

    def ready(self):
        stamp = self.path / STAMP
        return stamp.exists() and stamp.read_text() == self.version


ROOTS = (
    Root("x86", paths.X86ROOT, "amd64", "qemu-system-x86", "lab root for x86"),
    Root("arm64", paths.LABROOT, "amd64,arm64", "qemu-system-arm,qemu-system-data,busybox-static:arm64", "lab root"),
    Root("arm64", paths.GUESTROOT, "arm64", "qemu-system-arm,qemu-system-data", "lab root for guests of arm64"),
    Root("riscv", paths.RISCVROOT, "amd64", "qemu-system-riscv,qemu-system-data", "lab root for RISC-V"),
)


def ensure(arches):
    """Make the lab roots of these architectures that are missing or of another version."""
    for root in ROOTS:
        if root.arch in arches and not root.ready():
            with run.lock(paths.CACHE / ".lab-root.lock"):
                if not root.ready():
                    _make(root)


def _make(root):
    if os.geteuid():
        raise ui.LabError(f"making the {root.label} (Debian 13 with QEMU 11.1) needs root", todo="run `make setup` as root")
    if not KEYRING.exists():
        raise ui.LabError(f"{KEYRING} is missing", todo="apt-get install debian-archive-keyring")
    mirror = archive()
    ui.note(f"  making the {root.label}: Debian 13 with QEMU 11.1, in {root.path} (about 2 minutes)")
    temporary = paths.CACHE / f".{root.path.name}.{os.getpid()}"
    lines = [f"deb [signed-by={KEYRING}] {mirror} {suite} main" for suite in (SUITE, SUITE + "-updates", SUITE + "-backports")]
    listing = paths.RUN / "lab-root.list"
    listing.parent.mkdir(parents=True, exist_ok=True)
    listing.write_text("\n".join(lines) + "\n")
    argv = ["mmdebstrap", "--variant=extract", "--mode=root", f"--architectures={root.architectures}", f"--keyring={KEYRING}",
            f"--include={root.include}", '--aptopt=APT::Default-Release "trixie-backports"',
            "--aptopt=Apt::Install-Recommends false", "--aptopt=Acquire::Retries 3", *proxies(), SUITE, temporary, listing]
    try:
        run.logged(argv, paths.log(root.path.name), root.label, env=run.environment(DEBIAN_FRONTEND="noninteractive"),
                   todo="is the network up, and does the archive in /etc/apt/sources.list* carry trixie and trixie-backports?")
        (temporary / STAMP).write_text(root.version)
        shutil.rmtree(root.path, ignore_errors=True)
        temporary.rename(root.path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        listing.unlink(missing_ok=True)


def program(root, name, *arguments):
    """Return the command line of a program of a root of this machine's architecture, run by the root's own loader."""
    path = root / "usr/bin" / name
    if not path.exists():
        raise ui.LabError(f"{path} is missing", todo="run `make setup` as root")
    libraries = ":".join(str(root / part) for part in ("usr/lib/x86_64-linux-gnu", "usr/lib"))
    return [str(root / "usr/lib64/ld-linux-x86-64.so.2"), "--library-path", libraries, *arguments, str(path)]


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
