# SPDX-License-Identifier: GPL-2.0
"""Makes sure of what the lab needs on the host: packages, disk space, and the lab roots."""

import os
import re
import shutil
import subprocess

import busybox
import labroot
import paths
import run
import source
import ui

PACKAGES = {
    "common": ("flex bison bc libelf-dev libssl-dev cpio rsync ccache lz4 xz-utils gcc libc6-dev make git "
               + source.PACKAGE).split(),
    "x86": "busybox-static gnuplot-nox mmdebstrap debian-archive-keyring".split(),
    "arm64": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross mmdebstrap debian-archive-keyring".split(),
    "s390": "gcc-s390x-linux-gnu libc6-dev-s390x-cross hercules qemu-system-misc mmdebstrap debian-archive-keyring".split(),
    "riscv": "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross mmdebstrap debian-archive-keyring".split(),
}
DISK_GB = {"x86": 8, "arm64": 4, "s390": 3, "riscv": 3}


def ensure(arches, also=()):
    """Install what is missing for the given architectures, lab roots included; also: more packages.

    Safe to repeat; quick when nothing is missing.
    """
    wanted = [name for part in ("common", *arches) for name in PACKAGES[part]] + list(also)
    missing = [name for name in wanted if not _installed(name)]
    if missing:
        _install(missing)
    _disk(arches)
    labroot.ensure(arches)
    for arch in busybox.DEBIAN:
        if arch in arches:
            busybox.ensure(arch)


def _installed(name):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", name], capture_output=True, text=True) \
        if shutil.which("dpkg-query") else None
    if done is None:
        raise ui.LabError("this is not a Debian system (no dpkg-query)",
                          todo="the lab installs its packages from Debian 12 or 13; run it there or in a container of it")
    return done.returncode == 0 and done.stdout.endswith("ok installed")


def _install(missing):
    ui.note(f"  installing {len(missing)} packages: {' '.join(missing)}")
    if os.geteuid():
        raise ui.LabError(f"packages are missing and only root can install them: {' '.join(missing)}",
                          todo=f"sudo apt-get install --no-install-recommends {' '.join(missing)}, or run make as root")
    env = run.environment(DEBIAN_FRONTEND="noninteractive")
    log = paths.log("setup-packages")
    run.logged(["apt-get", "update"], log, "apt-get update", env=env,
               todo="is the network up, and are the entries in /etc/apt/sources.list* right?")
    policy = run.output(["apt-cache", "policy", *missing], env=env, check=False)
    none = re.findall(r"^(\S+):\n  Installed: .*\n  Candidate: \(none\)", policy, re.M)
    none += [name for name in missing if not re.search(rf"^{re.escape(name)}:", policy, re.M)]
    if none:
        raise ui.LabError(f"apt knows no package {', '.join(none)}",
                          todo="the lab needs Debian 12 (with its updates) or 13; add their main archive to /etc/apt/sources.list")
    run.logged(["apt-get", "install", "-y", "--no-install-recommends", *missing], log, "apt-get install", env=env,
               todo="read the log; a full disk, a missing network or another apt are the usual causes")


def _disk(arches):
    """Refuse to start a build that would fill the disk; what the lab already has counts."""
    need = sum(DISK_GB[arch] for arch in arches)
    for place in {paths.REPO, paths.CACHE.parent if paths.CACHE.parent.exists() else paths.REPO}:
        built = sum(1 for arch in arches if (paths.objects(arch) / ".config").exists())
        left = 1 if built else need
        free = shutil.disk_usage(place).free / 1e9
        if free < left:
            raise ui.LabError(f"{place} has {free:.1f} GB free; the lab needs {left} GB there for {', '.join(arches)}",
                              todo=f"free some space ({paths.CACHE} and {paths.BUILD} may be deleted at any time)")
