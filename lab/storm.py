# SPDX-License-Identifier: GPL-2.0
"""What the machines of `make check-debug` and `make soak` need: lab/storm/."""

import paths

SCRIPTS = paths.LAB / "storm"

# Shell lines after which KCSAN reports races with functions of the directed yield only: the kernel has others, not ours to judge.
OUR_RACES = r"""
echo whitelist > /sys/kernel/debug/kcsan
for name in $(sed -n -E 's/^\w+ [tT] ((dy|kvm_dy)_\w+|kvm_vcpu_(on_spin|yield_to|is_ready))$/\1/p' /proc/kallsyms); do
	echo "!$name" > /sys/kernel/debug/kcsan
done
cat /sys/kernel/debug/kcsan"""


def files(_image):
    """The scripts as programs, the machine's path -> content; for Suite.files."""
    return {f"/tests/{path.stem}": path.read_bytes() for path in SCRIPTS.glob("*.sh")}
