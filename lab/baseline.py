# SPDX-License-Identifier: GPL-2.0
"""What the stock kernel does in upstream's selftests: lab/baseline/ARCH-VERSION.txt, one `name: pass|fail|skip` per line."""

import ktap
import paths
import ui

RANK = {ktap.FAIL: 0, ktap.SKIP: 1, ktap.PASS: 2}


def path(arch, version):
    return paths.BASELINE / f"{arch}-{version}.txt"


def load(arch, version):
    """Return name -> state; a LabError if there is no file for this version."""
    file = path(arch, version)
    if not file.exists():
        known = ", ".join(sorted(p.stem for p in paths.BASELINE.glob(f"{arch}-*.txt"))) or "none"
        raise ui.LabError(f"what stock Linux {version} does on {arch} is not recorded (recorded: {known})",
                          todo=f"run `make baseline` with the same KERNEL_SRC=, which boots the stock kernel and writes {file}")
    states = {}
    for line in file.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, state = line.partition(":")
            states[name.strip()] = state.split("#")[0].strip()
    return states


def save(arch, version, tests):
    """Write the file; return its path."""
    file = path(arch, version)
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = ["# SPDX-License-Identifier: GPL-2.0", f"# What stock Linux {version} does on {arch} in the lab; written by `make baseline`."]
    lines += [f"{test.name}: {test.state}" + (f"    # {test.reason}" if test.reason else "") for test in tests]
    file.write_text("\n".join(lines) + "\n")
    return file


def judge(test, states):
    """Change test to the comparison with stock: worse is a failure, the same failure is none."""
    stock = states.get(test.name)
    if stock is None:
        test.state, test.reason = ktap.FAIL, f"{test.state}, and what stock does is not recorded: run `make baseline`"
    elif RANK[test.state] < RANK[stock]:
        test.reason = f"stock: {stock}; here: {test.state}" + (f" ({test.reason})" if test.reason else "")
        test.state = ktap.FAIL
    elif test.state == ktap.FAIL:
        test.state, test.reason = ktap.PASS, f"as stock: fail ({test.reason})"
    elif stock != test.state:
        test.reason = f"stock: {stock}"
    return test
