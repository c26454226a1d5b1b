#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# CPUs of a guest come and go while its processes contend on one directory's rwsem, whose spinners read the flags.
cat > /tmp/hotplug <<'END'
dmesg | grep -q 'using PV lock' || { echo "PV lock is off"; exit 1; }
mkdir /tmp/d
worker() {
	n=0
	while [ ! -e /tmp/stop ]; do
		: > /tmp/d/$1
		mv /tmp/d/$1 /tmp/d/$1.moved
		rm /tmp/d/$1.moved
		n=$((n + 1))
	done
	echo $n > /tmp/count.$1
}
for i in 1 2 3 4; do worker $i & done
for round in 1 2 3; do
	for cpu in 1 2 3; do
		echo 0 > /sys/devices/system/cpu/cpu$cpu/online || exit 1
	done
	for cpu in 3 1 2; do
		echo 1 > /sys/devices/system/cpu/cpu$cpu/online || exit 1
	done
done
touch /tmp/stop
wait
for i in 1 2 3 4; do
	[ "$(cat /tmp/count.$i)" -gt 0 ] || { echo "worker $i did nothing"; exit 1; }
done
[ "$(cat /sys/devices/system/cpu/online)" = 0-3 ] || { echo "CPUs are missing"; exit 1; }
if dmesg | grep -q 'WARNING:\|BUG:\|Oops\|PV lock: '; then dmesg | tail -n 40; exit 1; fi
cat /tmp/count.*
exit 0
END
l2 4 /tmp/hotplug > /tmp/out
status=$?
[ $status = 0 ] || tail -n 60 /tmp/out
grep -c 'psci: CPU. killed' /tmp/out
exit $status
