# SPDX-License-Identifier: GPL-2.0
"""Configures and builds the lab's kernels, out of tree and through the compiler cache.

The patched kernel is built in build/linux/out-ARCH. The stock kernel (untouched source plus the patches marked `Stock: yes`)
is built in build/linux-stock/out-ARCH, and its image is kept in the cache under a key of source, configuration and
compiler; a kept image is used only while its checksum holds. A flavour is the patched kernel with a second fragment of
configuration, lab/configs/FLAVOUR.config, which is the same for all architectures: for debugging, mostly.
"""

import hashlib
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import arch as arches
import git
import paths
import run
import tree
import ui

RECIPE = "1"        # raise when a change here must rebuild what is cached


@dataclass(frozen=True)
class Kernel:
    """A built kernel: its bootable image, whether it is the stock one, and what it has as modules, in the order to load them."""
    arch: str
    image: Path
    stock: bool
    modules: tuple = ()


def build(name, stock=False, kernel_src=None, flavour=""):
    """Build the kernel for architecture `name` and return it as a Kernel; only what changed is compiled.

    The files are ones that later builds do not touch.
    """
    arch = arches.get(name, flavour)
    with tree.hold(stock):
        directory = tree.make(stock, kernel_src=kernel_src)
        if stock:
            return Kernel(name, _stock(arch, directory), stock)
        image = _build(arch, directory, stock)
        modules = [paths.objects(arch.label) / name for name in _modules(arch)]
        return Kernel(name, _keep(arch, image), stock, tuple(_keep(arch, module) for module in modules))


def _modules(arch):
    """What the flavour's configuration makes modules of, in the order to load them."""
    return arch.modules if re.search(r"^CONFIG_KVM=m$", arch.fragment, re.M) else ()


def _keep(arch, file):
    """Copy the file to build/images, named by its content; those of earlier days go."""
    folder = paths.BUILD / "images"
    folder.mkdir(exist_ok=True)
    kept = folder / f"{arch.label}-{file.stem}-{_sum(file)[:16]}"
    for old in folder.glob(f"{arch.label}-*"):
        if old != kept and old.stat().st_mtime < time.time() - 86400:
            old.unlink(missing_ok=True)
    if not kept.exists():
        temporary = folder / f".{kept.name}.{os.getpid()}"
        shutil.copyfile(file, temporary)
        temporary.replace(kept)
    return kept


def _stock(arch, directory):
    """The stock image, from the cache if it is there and whole."""
    place = paths.STOCK / _stock_key(arch, directory)
    with run.lock(paths.STOCK / f".{arch.name}.lock"):
        if _whole(place / "image"):
            ui.note(f"  stock {arch.name} kernel: from the cache ({place})")
            return place / "image"
        shutil.rmtree(place, ignore_errors=True)
        built = _build(arch, directory, True)
        temporary = place.with_name(f".{place.name}.{os.getpid()}")
        temporary.mkdir(parents=True)
        shutil.copyfile(built, temporary / "image")
        shutil.copyfile(paths.objects(arch.label, True) / ".config", temporary / "config")
        (temporary / "image.sha256").write_text(_sum(temporary / "image") + "\n")
        temporary.rename(place)
    return place / "image"


def environment():
    """The environment of every build: the compiler cache's settings and fixed build stamps."""
    return run.environment(
        CCACHE_DIR=str(paths.CCACHE), CCACHE_MAXSIZE="5G", CCACHE_NOHASHDIR="1", CCACHE_COMPILERCHECK="content",
        CCACHE_COMPRESSLEVEL="1", CCACHE_SLOPPINESS="time_macros,include_file_mtime,include_file_ctime",
        KBUILD_BUILD_TIMESTAMP="2026-01-01", KBUILD_BUILD_USER="lab", KBUILD_BUILD_HOST="directed-yield",
        KBUILD_BUILD_VERSION="1")


def make(arch, directory, *targets, stock=False):
    """The argument vector of a kernel make in the tree `directory`."""
    words = ["make", "-C", directory, f"O=out-{arch.label}", f"ARCH={arch.name}", f"-j{os.cpu_count()}",
             f"CC=ccache {arch.compiler}", "HOSTCC=ccache gcc", f"LOCALVERSION={'-stock' if stock else '-dy'}"]
    if arch.cross:
        words.append(f"CROSS_COMPILE={arch.cross}")
    return words + list(targets)


def _build(arch, directory, stock):
    """Configure if needed, build; return the image."""
    if not shutil.which(arch.compiler) or not shutil.which("ccache"):
        raise ui.LabError(f"{arch.compiler} or ccache is missing", todo="run `make setup`")
    label = f"{'stock ' if stock else ''}{arch.label} kernel"
    suffix = f"{arch.label}{'-stock' if stock else ''}"
    out = paths.objects(arch.label, stock)
    out.mkdir(exist_ok=True)
    _configure(arch, directory, stock, label)
    targets = [Path(arch.image).name] + ["modules"] * bool(_modules(arch))
    run.logged(make(arch, directory, *targets, stock=stock), paths.log(f"kernel-{suffix}"), label,
               env=environment(), unit="objects", todo="correct the error; the build goes on where it stopped")
    image = out / arch.image
    if not image.exists():
        raise ui.LabError(f"the build of the {label} left no {image}", log=paths.log(f"kernel-{suffix}"))
    return image


def _configure(arch, directory, stock, label):
    """Make .config from the base and the fragments, when any of them or any Kconfig file has changed since."""
    out = paths.objects(arch.label, stock)
    kconfig = [line for line in git.git(directory, "ls-tree", "-r", "HEAD").splitlines() if "Kconfig" in line.rpartition("/")[2]]
    stamp = hashlib.sha256("\n".join([RECIPE, arch.base, arch.fragment, *kconfig]).encode()).hexdigest()
    stamp_file = out / ".lab-config"
    if (out / ".config").exists() and stamp_file.exists() and stamp_file.read_text() == stamp:
        return
    log = paths.log(f"config-{arch.label}{'-stock' if stock else ''}")
    merge(arch, directory, arch.fragment, log, label, stock)
    _verify(arch, (out / ".config").read_text(), log)
    stamp_file.write_text(stamp)


def merge(arch, directory, fragment, log, label, stock=False):
    """Make .config from the architecture's base and the text of a fragment."""
    out = paths.objects(arch.label, stock)
    file = out / ".lab-fragment"
    file.write_text(fragment)
    if arch.base == "allnoconfig":
        run.logged(["env", f"KCONFIG_ALLCONFIG={file}", *make(arch, directory, "allnoconfig", stock=stock)], log,
                   f"{label}: configuration", env=environment())
    else:
        run.logged(make(arch, directory, arch.base, stock=stock), log, f"{label}: {arch.base}", env=environment())
        run.output(["sh", directory / "scripts/kconfig/merge_config.sh", "-m", "-O", out, out / ".config", file], cwd=directory,
                   env=environment())
        run.logged(make(arch, directory, "olddefconfig", stock=stock), log, f"{label}: configuration", env=environment())


def _verify(arch, config, log):
    """Every line of the fragments must have taken effect: warn; an error for what the lab cannot do without."""
    have = dict(re.findall(r"^CONFIG_(\w+)=(.*)$", config, re.M))
    wanted = {}
    for line in arch.fragment.splitlines():
        if match := re.match(r"# CONFIG_(\w+) is not set|CONFIG_(\w+)=(.*)", line):
            wanted[match[1] or match[2]] = match[3] or "n"
    lost = [f"{name}={value} (is {have.get(name, 'not set')})" for name, value in wanted.items()
            if have.get(name, "n" if value == "n" else None) != value]
    missing = [name for name in arch.must if have.get(name) not in ("y", "m")]
    if missing:
        raise ui.LabError(f"the {arch.name} configuration lacks {', '.join(missing)}", log=log,
                          todo=f"see {' '.join(map(str, arch.configs))}; options that did not take effect: {', '.join(lost)}")
    if lost:
        ui.note(f"  warning: options for {arch.label} without effect: {', '.join(lost)}")


def _stock_key(arch, directory):
    """What the stock image depends on."""
    parts = [RECIPE, arch.name, arch.base, git.git(directory, "rev-parse", "HEAD^{tree}"), arch.fragment,
             run.output([arch.compiler, "--version"]), run.output([arch.cross + "ld", "--version"])]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _sum(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _whole(image):
    """Whether a cached image is there and as it was stored."""
    stored = image.with_name("image.sha256")
    return image.exists() and stored.exists() and stored.read_text().strip() == _sum(image)
