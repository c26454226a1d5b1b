# SPDX-License-Identifier: GPL-2.0
"""The usual image of an architecture: kernel and initial RAM file system with all test programs."""

from dataclasses import dataclass
from pathlib import Path

import initramfs
import kernel
import programs
import suites


@dataclass(frozen=True)
class Image:
    """What machine.Boot needs. programs: the names that are under /tests; paths: where the host has them, by name."""
    kernel: Path
    base: Path
    programs: frozenset
    paths: dict = None


def build(arch="x86", stock=False, extra=None, flavour=""):
    """Build everything and return the Image; extra: guest path -> host path of further files; flavour: of the kernel.

    The kernel's modules are /modules/1.ko and so on, in the order to load them.
    """
    built = kernel.build(arch, stock=stock, flavour=flavour)
    found = programs.build(arch, suites.programs(arch))
    modules = {f"/modules/{number}.ko": module for number, module in enumerate(built.modules, 1)}
    return Image(built.image, initramfs.base(arch, found, {**modules, **(extra or {})}), frozenset(found), found)
