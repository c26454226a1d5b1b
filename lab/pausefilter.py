# SPDX-License-Identifier: GPL-2.0
"""Kernel parameters that make PAUSE exits reach KVM on the emulated x86 CPUs, which have no pause filter."""

_FILTER = ("kvm_amd.pause_filter_software=1",)


def cmdline(mode):
    """The parameters for a machine of that mode. In real time an emulated exit takes longer than the largest threshold, so
    that PAUSEs are counted at any distance there."""
    return _FILTER + ("kvm_amd.pause_filter_thresh=0",) if mode == "mttcg" else _FILTER
