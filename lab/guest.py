# SPDX-License-Identifier: GPL-2.0
"""What a lab machine needs to boot Linux guests of its own: a stock QEMU, a kernel, an initial RAM file system.

The scripts in lab/guest/ are programs of suites: they boot guests with /lab/l2 and judge what these print.
"""

import re
import shutil
from pathlib import Path

import initramfs
import kernel
import paths
import programs
import run
import ui

SCRIPTS = paths.LAB / "guest"
PROGRAM = "usr/bin/qemu-system-aarch64"
FOLDERS = ("usr/lib/aarch64-linux-gnu", "usr/lib", "usr/lib/aarch64-linux-gnu/pulseaudio")


def scripts():
    """The scripts, as program name -> path."""
    return {f"guest/{path.stem}": path for path in sorted(SCRIPTS.glob("*.sh"))}


def files(image):
    """Files for a machine that boots Linux guests, the machine's path -> content; for Suite.files."""
    return {name: path.read_bytes() for name, path in paths_of(image.kernel).items()}


def migration(image):
    """The same for a machine whose guests come from other machines or go there."""
    folder = paths.RUN / "migration"
    folder.mkdir(parents=True, exist_ok=True)
    found = files(image)
    # The guest is the same on all hosts.
    found["/guest/Image"] = kernel.build("arm64").image.read_bytes()
    found["/guest/Image-stock"] = kernel.build("arm64", stock=True).image.read_bytes()
    found["/bin/put"] = compiled("put").read_bytes()
    found["/lab/host-folder"] = f"{folder}\n"
    found.update({f"/state/{path.name}": path.read_bytes() for path in folder.iterdir()})
    return found


def kexec(image):
    """The same for a guest that starts its kernel again."""
    inside = {"/bin/kexec": compiled("kexec"), "/guest/Image": image.kernel, "/guest/initrd": initramfs.base("arm64", {})}
    return {name: path.read_bytes() for name, path in paths_of(image.kernel, inside).items()}


def first_migration(image):
    """The same for the first of these machines: nothing is left of earlier runs."""
    shutil.rmtree(paths.RUN / "migration", ignore_errors=True)
    return migration(image)


def compiled(name):
    """Compile a C program of lab/guest for arm64; return its path."""
    return programs.compiled("arm64", SCRIPTS / f"{name}.c")


def paths_of(kernel, extra=None):
    """The same, the machine's path -> the host's; kernel: the image that guests boot; extra: files for the guests."""
    found = {"/lab/l2": paths.INIT / "l2", "/guest/Image": Path(kernel), "/guest/initrd": initramfs.base("arm64", {}, extra)}
    program = paths.GUESTROOT / PROGRAM
    if not program.exists():
        raise ui.LabError(f"{program} is missing", todo="run `make setup ARCH=arm64` as root")
    found["/bin/qemu-system-aarch64"] = program
    for name, path in _libraries(program).items():
        found[f"/lib/{name}"] = path
    found.update({f"/tests/{name}": path for name, path in scripts().items()})
    return found


def _libraries(program):
    """The shared libraries that program needs, directly or not, and its loader: file name -> path."""
    found, todo = {}, [program]
    while todo:
        text = run.output(["readelf", "-d", "-l", todo.pop()])
        names = re.findall(r"\(NEEDED\).*\[(.+)\]", text) + [Path(p).name for p in re.findall(r"interpreter: (\S+)\]", text)]
        for name in names:
            if name not in found:
                found[name] = _find(name)
                todo.append(found[name])
    return found


def _find(name):
    for folder in FOLDERS:
        path = paths.GUESTROOT / folder / name
        if path.exists():
            return path
    raise ui.LabError(f"{paths.GUESTROOT} has no {name}", todo=f"rm -r {paths.GUESTROOT} and run `make setup ARCH=arm64`")
