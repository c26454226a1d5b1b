#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The lab's command line; `make` calls it. Each command does whatever set-up it needs and may be repeated at will."""

import argparse
import importlib
import os
import shutil
import sys

import arch as arches
import paths
import ui

if sys.version_info < (3, 11):
    sys.exit("the lab needs Python 3.11 or later (Debian 12 has it)")


def setup(options):
    """install packages and make the lab roots"""
    _ready(*([options.arch] if options.arch else paths.ARCHES))
    ui.note("  setup is complete")


def _ready(*names, also=()):
    import setup as module
    module.ensure(names, also)


def tree(options):
    """lay the kernel tree out"""
    import tree as module
    _ready(options.arch or "x86")
    module.make(options.stock)


def kernel(options):
    """build a kernel"""
    import kernel as module
    _ready(options.arch or "x86")
    ui.note(f"  {module.build(options.arch or 'x86', options.stock).image}")


def shell(options):
    """boot a machine with a shell on this terminal"""
    import image
    import machine
    arch = options.arch or "x86"
    _ready(arch)
    built = image.build(arch, stock=options.stock)
    smp = int(os.environ.get("SMP", "2"))
    return machine.shell(machine.Boot(name=f"shell-{arch}", image=built.kernel, base=built.base, arch=arch, smp=smp,
                                      mode="mttcg", cmdline=os.environ.get("CMDLINE", "").split()))


def check(options):
    """run the tests"""
    import check as module
    import suites
    groups = options.groups or suites.groups()
    for group in groups:
        if group not in (known := (*suites.groups(), *suites.BY_NAME, suites.BUILDS, suites.SERIES, suites.FAULTS)):
            raise ui.LabError(f"there are no suites for {group}", todo=f"there are: {', '.join(known)}")
    for arch in dict.fromkeys(suite.arch for suite in suites.of_groups(groups)):
        _ready(arch)
    if suites.UNIT in groups:
        _ready()
    if suites.BUILDS in groups:
        import builds
        _ready(also=builds.packages())
    if suites.SERIES in groups:
        import inturn
        import lint
        _ready(also=(*lint.PACKAGES, *inturn.PACKAGES))
    return 1 if module.run(groups) else 0


def baseline(options):
    """record what the stock kernel does in upstream's selftests"""
    import check as module
    _ready(options.arch or "x86")
    module.refresh(options.arch or "x86")


def series(options):
    """write the series as mails"""
    import mail
    _ready("x86")
    return mail.main(options.rest)


def deb(options):
    """build Debian packages of the patched kernel"""
    import deb as module
    _ready("x86", also=module.PACKAGES)
    return module.main(options.rest)


def other(options):
    """dispatch to a module of the same name"""
    name = MODULES.get(options.command, options.command)
    if name == "bench" and options.arch == "arm64":
        name = "bench_arm64"
    if not (paths.LAB / f"{name}.py").exists():
        raise ui.LabError(f"lab/{name}.py does not exist yet")
    _ready(options.arch or "x86")
    return importlib.import_module(name).main(options.rest)


def clean(options):
    """delete build/; the cache stays"""
    shutil.rmtree(paths.BUILD, ignore_errors=True)
    ui.note(f"  deleted {paths.BUILD}; the cache {paths.CACHE} is kept (delete it yourself if you want the space)")


COMMANDS = {"setup": setup, "tree": tree, "kernel": kernel, "shell": shell, "check": check, "baseline": baseline,
            "series": series, "deb": deb,
            "demo": other, "bench": other, "bench-scan": other, "bench-hyperv": other, "bench-host": other, "sim": other, "clean": clean}
MODULES = {"bench-scan": "scan", "bench-host": "bench_host", "bench-hyperv": "hyperv"}


def parse(argv):
    parser = argparse.ArgumentParser(prog="lab.py", description="the directed-yield lab; see also `make help`")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function in COMMANDS.items():
        sub = commands.add_parser(name, help=function.__doc__)
        sub.add_argument("--arch", default=os.environ.get("ARCH") or None, help="x86, arm64, s390 or riscv")
        sub.add_argument("--stock", action="store_true", default=os.environ.get("STOCK", "") not in ("", "0"),
                         help="the untouched source plus only the patches marked `Stock: yes`")
        if name == "check":
            sub.add_argument("groups", nargs="*")
    options, options.rest = parser.parse_known_args(argv)
    if options.rest and COMMANDS[options.command] is not other:
        parser.error(f"unknown: {' '.join(options.rest)}")
    return options


def main(argv):
    options = parse(argv)
    try:
        if options.arch:
            arches.get(options.arch)
        return COMMANDS[options.command](options) or 0
    except ui.LabError as error:
        print(f"\nerror: {error}", file=sys.stderr, flush=True)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; run the same command again to go on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
