# SPDX-License-Identifier: GPL-2.0
"""`make bench-hyperv`: what Hyper-V hypercalls cost with their input in memory and in XMM registers, on the stock and on the
patched kernel as the hypervisor.

The machine is deterministic and an instruction takes 1 ns of its time, so that times are instructions: the guest's, and KVM's
for the exit. The same numbers come again on any host.
"""

import re

import image
import initramfs
import machine
import ui

PROGRAM = "x86_64/hyperv_xmm_cost"
ROW = re.compile(r"^cost: (\S+) banks (\d+) list (\d+) memory ([\d.]+) xmm ([\d.]+)")


def measure(stock):
    """Boot one kernel; return (call, banks, list) -> (memory, xmm)."""
    built = image.build("x86", stock=stock)
    tree = built if not stock else image.Image(built.kernel, image.build("x86").base, built.programs)
    name = "hyperv-cost" + ("-stock" if stock else "")
    result = machine.run(machine.Boot(name=name, image=tree.kernel, base=tree.base, timeout=300,
                                      job=initramfs.Job(f"exec /tests/{PROGRAM} 2000\n"))).check()
    found = {(m[1], int(m[2]), int(m[3])): (float(m[4]), float(m[5])) for m in map(ROW.match, result.lines) if m}
    if not found:
        raise ui.LabError(f"{name}: no measurements", log=result.log)
    return found


def main(_):
    stock, patched = measure(True), measure(False)
    print("\nInstructions per hypercall, guest and KVM; smaller is better. Last column: memory form on stock / XMM form on patched.\n")
    print(f"{'call':16} {'banks':>5} {'ranges':>6} | {'stock: memory':>13} {'XMM':>7} | {'patched: memory':>15} {'XMM':>7} | {'ratio':>6}")
    worse = []
    for key, (memory, xmm) in patched.items():
        old = stock[key]
        ratio = old[0] / xmm
        if xmm >= min(memory, old[0]):
            worse.append(key)
        print(f"{key[0]:16} {key[1]:5} {key[2]:6} | {old[0]:13.0f} {old[1]:7.0f} | {memory:15.0f} {xmm:7.0f} | {ratio:6.3f}"
              + ("  << DEARER" if key in worse else ""))
    print(f"\n{len(patched) - len(worse)} of {len(patched)} rows: the XMM form is cheaper than the memory form of both kernels")
    return 0
