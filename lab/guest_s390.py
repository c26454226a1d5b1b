# SPDX-License-Identifier: GPL-2.0
"""What an s390 machine needs to boot a Linux guest of its own: a small user space for KVM, a kernel, an initial RAM file system.

QEMU for s390 does not run there: the emulated machine is a z10.
"""

import guest
import initramfs
import programs

FOLDER = guest.SCRIPTS / "s390"
# What the guest does. The work is what a boot of some seconds allows.
STORM = """echo "$(nproc) CPUs"
for workload in append creat rename mmap; do load $workload 8 200 1 || exit 1; done
if dmesg | grep -q 'WARNING:\\|BUG:\\|Call Trace'; then dmesg | tail -n 40; exit 1; fi
exit 0
"""


def files(image):
    """Files for the machine, its path -> content; for Suite.files."""
    inner = initramfs.Job(STORM, {"/bin/load": programs.compiled("s390", guest.SCRIPTS / "load.c").read_bytes()})
    initrd = initramfs.with_job(initramfs.base("s390", {}), inner, "guest-s390")
    found = {"/bin/vmm": programs.compiled("s390", FOLDER / "vmm.c"), "/guest/Image": image.kernel, "/guest/initrd": initrd}
    found.update({f"/tests/guest/{path.stem}": path for path in FOLDER.glob("*.sh")})
    return {name: path.read_bytes() for name, path in found.items()}
