#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A stock QEMU gives its Linux guest the PV lock; the guest uses it, and says so once, unless one of the switches says no.
# Argument: "on" or "off", whether the host has it; "stock", the guest's kernel does not know it.
echo 'exit 0' > /tmp/look

# expect CPUS on|off [PARAMETER...]
expect() {
	cpus=$1
	want=$2
	shift 2
	l2 "$cpus" /tmp/look "$@" > /tmp/out || { tail -n 30 /tmp/out; echo "the guest did not come up ($*)"; exit 1; }
	lines=$(grep -c 'arm-pv: using PV lock' /tmp/out)
	grep 'PV lock\|stolen time\|hypervisor services' /tmp/out
	if [ "$want" = on ] && [ "$lines" != 1 ] || [ "$want" = off ] && [ "$lines" != 0 ]; then
		echo "expected PV lock to be $want with $cpus CPUs and '$*', but $lines lines say that it is on"
		exit 1
	fi
	if grep -q 'Call trace\|WARNING:\|BUG:' /tmp/out; then
		grep -A 20 'Call trace\|WARNING:\|BUG:' /tmp/out
		exit 1
	fi
}

if [ "$1" = stock ]; then
	export L2_KERNEL=/guest/Image-stock
	expect 4 off
	grep -q 'using stolen time PV' /tmp/out || { echo "no stolen time"; exit 1; }
	exit 0
fi
expect 4 "$1"
[ "$1" = off ] && exit 0
expect 1 on
expect 2 off nopvlock
expect 2 off clocksource.arm_arch_timer.evtstrm=0
grep -q 'has no event stream' /tmp/out || { echo "nothing says why it is off"; exit 1; }
exit 0
