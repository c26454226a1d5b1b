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


def build(arch="x86", stock=False, extra=None):
    """Build everything and return the Image; extra: guest path -> host path of further files."""
    built = kernel.build(arch, stock=stock)
    found = programs.build(arch, suites.programs(arch))
    return Image(built.image, initramfs.base(arch, found, extra), frozenset(found), found)
