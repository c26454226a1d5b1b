# SPDX-License-Identifier: GPL-2.0
"""`make deb`: Debian packages of the patched kernel for real hosts, in build/deb/.

The configuration is the user's own, CONFIG=file; without, that of the running kernel with only the modules that are loaded
(the kernel's localmodconfig); CONFIG=lab is the lab's, with KVM as modules, small and for trying this target.
"""

import os
import re
import shutil
from pathlib import Path

import arch as arches
import kernel
import paths
import run
import tree
import ui

PACKAGES = ("dpkg-dev", "debhelper", "kmod")
FLAVOUR = "deb"
# Files of whoever made the running kernel, which nobody else has.
KEYS = ("SYSTEM_TRUSTED_KEYS", "SYSTEM_REVOCATION_KEYS")


def main(arguments):
    """Build the packages, tell where they are."""
    if arguments:
        raise ui.LabError(f"`make deb` takes no arguments ({' '.join(arguments)})", todo="CONFIG=file is a variable")
    arch = arches.get("x86", FLAVOUR)
    with tree.hold():
        directory = tree.make()
        _configure(arch, directory)
        for old in directory.glob("*.deb"):
            old.unlink()
        run.logged(kernel.make(arch, directory, "bindeb-pkg"), paths.log("deb"), "packages", unit="objects",
                   env=dict(kernel.environment(), DEB_BUILD_PROFILES="pkg.linux-upstream.nokernelheaders pkg.linux-upstream.nokerneldbg",
                            KDEB_CHANGELOG_DIST="unstable", DEBFULLNAME="directed yield", DEBEMAIL="lab@localhost"),
                   todo="correct the error; the build goes on where it stopped")
        folder = paths.BUILD / "deb"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        found = sorted(directory.glob("*.deb"))
        for package in found:
            package.rename(folder / package.name)
        for other in (*directory.glob("linux-upstream_*.changes"), *directory.glob("linux-upstream_*.buildinfo")):
            other.unlink()
    image = [package.name for package in found if package.name.startswith("linux-image-")]
    if not image:
        raise ui.LabError("the build left no linux-image package", log=paths.log("deb"))
    ui.note(f"  {folder.relative_to(paths.REPO)}: {', '.join(package.name for package in found)}\n"
            f"  to install it: apt-get install {folder / image[0]}; it becomes one more entry of the boot menu")


def _configure(arch, directory):
    """Make .config from the user's choice."""
    chosen = os.environ.get("CONFIG")
    log = paths.log("config-deb")
    out = paths.objects(arch.label)
    out.mkdir(exist_ok=True)
    if chosen == "lab":
        kernel.merge(arch, directory, arches.get(arch.name, "soak").fragment, log, "packages")
        return
    path = Path(chosen or f"/boot/config-{os.uname().release}")
    if not path.is_file():
        raise ui.LabError(f"there is no configuration {path}", todo="name one: make deb CONFIG=/path/to/config")
    text = path.read_text(errors="replace")
    if not re.search(r"^CONFIG_KVM=[ym]$", text, re.M):
        raise ui.LabError(f"{path} is no configuration of a KVM host: it lacks CONFIG_KVM")
    text = re.sub(rf"^(CONFIG_(?:{'|'.join(KEYS)}))=.*$", r'\1=""', text, flags=re.M)
    (out / ".config").write_text(text)
    if not chosen:
        # Questions about what this version has new get their defaults.
        run.logged(["sh", "-c", 'yes "" | "$@"', "sh", *kernel.make(arch, directory, "localmodconfig")], log,
                   "configuration: modules that are loaded", env=kernel.environment())
    run.logged(kernel.make(arch, directory, "olddefconfig"), log, "configuration", env=kernel.environment())
