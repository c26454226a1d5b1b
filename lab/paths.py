# SPDX-License-Identifier: GPL-2.0
"""Where things are.

Everything a checkout makes is under build/; everything that several checkouts share is under the cache root. Both may be
deleted at any time: they are made again.
"""

import os
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
LAB = REPO / "lab"
BUILD = REPO / "build"
LOG = BUILD / "log"
RUN = BUILD / "run"
CONFIGS = LAB / "configs"
INIT = LAB / "init"
BASELINE = LAB / "baseline"

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "directed-yield"
SOURCES = CACHE / "source"
STOCK = CACHE / "stock"
CCACHE = CACHE / "ccache"
LABROOT = CACHE / "lab-root"
X86ROOT = CACHE / "lab-root-x86"
GUESTROOT = CACHE / "lab-root-guest"
RISCVROOT = CACHE / "lab-root-riscv"

# A series other than the repository's, for the lab's own tests: LAB_PATCHES holds `series` and the patches, LAB_OURS the
# files that they add.
PATCHES = Path(os.environ.get("LAB_PATCHES") or REPO / "patches" / "v6.12").resolve()
OURS = Path(os.environ.get("LAB_OURS") or REPO).resolve()

# Those that `make check` runs and `make setup` prepares.
ARCHES = ("x86", "arm64", "s390")


def tree(stock=False):
    """The kernel tree: the series, or (stock) the untouched source with only the patches marked `Stock: yes`."""
    return BUILD / ("linux-stock" if stock else "linux")


def objects(label, stock=False):
    """The object directory; label: the architecture's name or, for a flavour of its kernel, Arch.label.

    A direct subdirectory of the tree: kbuild then calls the source "..", so command lines are the same in every tree and
    the compiler cache serves all of them.
    """
    return tree(stock) / f"out-{label}"


def log(name):
    """Path of the log of that name; its directory exists."""
    LOG.mkdir(parents=True, exist_ok=True)
    return LOG / f"{name}.log"
