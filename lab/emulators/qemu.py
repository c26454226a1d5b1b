# SPDX-License-Identifier: GPL-2.0
"""The part of QEMU's command line that all architectures share."""


def common(boot, console, console_option):
    """icount: one host thread, virtual time counts instructions, two boots are identical. mttcg: one thread per CPU."""
    if boot.mode == "icount":
        time = ["-accel", "tcg,thread=single", "-icount", f"shift={boot.shift},sleep=off",
                "-rtc", "clock=vm,base=2026-01-01", "-seed", str(boot.seed)]
    else:
        time = ["-accel", "tcg,thread=multi"]
    if console:
        terminal = ["-display", "none", "-serial", f"file:{console}"]
    else:
        terminal = ["-nographic"]
    # Warnings (level 4) must be seen: a WARN_ON is one.
    cmdline = [console_option, "quiet", "loglevel=5", "panic=-1", "rdinit=/init", *boot.cmdline]
    return ["-smp", str(boot.smp), "-m", boot.memory, "-nodefaults", "-no-reboot", "-no-user-config", *time, *terminal,
            "-kernel", str(boot.image), "-initrd", str(boot.initrd), "-append", " ".join(cmdline)] \
        + ([] if console else ["-serial", "mon:stdio"])
