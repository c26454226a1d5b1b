# SPDX-License-Identifier: GPL-2.0
"""QEMU s390, the host's own: no SIE, hence no KVM; for KUnit, and for a shell, since Hercules has no terminal."""

import shutil

import ui
from emulators import qemu


def command(boot, console):
    program = shutil.which("qemu-system-s390x")
    if not program:
        raise ui.LabError("qemu-system-s390x is missing", todo="run `make setup ARCH=s390`")
    return [program, "-machine", "s390-ccw-virtio", "-cpu", "max", *qemu.common(boot, console, "conmode=sclp console=ttysclp0")]
