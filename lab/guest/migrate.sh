#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Migration of a running guest under a stock QEMU, on a host with the PV lock: the guest goes on where it was, and uses it.
fail() {
	echo "$*"
	tail -n 25 /tmp/log /tmp/monitor.log 2>/dev/null
	exit 1
}

cat > /tmp/job-migrate <<'END'
if dmesg | grep -q 'using PV lock'; then echo "guest: PV lock is on"; else echo "guest: PV lock is off"; fi
mkdir /tmp/d
for i in 1 2 3 4; do
	(while [ ! -e /tmp/stop ]; do : > /tmp/d/$i; mv /tmp/d/$i /tmp/d/$i.moved; done) &
done
n=0
while [ $n -lt 40 ]; do
	usleep 50000
	n=$((n + 1))
	echo "guest: tick $n"
done
touch /tmp/stop
wait
if dmesg | grep -q 'WARNING:\|BUG:\|Oops\|stall'; then dmesg | tail -n 30; exit 1; fi
exit 0
END

# begin [QEMU ARGUMENT...]: start a guest in the background, with a monitor.
begin() {
	rm -f /tmp/monitor.in /tmp/monitor.out
	mkfifo /tmp/monitor.in /tmp/monitor.out
	cat /tmp/monitor.out > /tmp/monitor.log &
	: > /tmp/log
	L2_QEMU="-monitor pipe:/tmp/monitor $*" l2 2 /tmp/job-migrate > /tmp/log &
	l2=$!
}

# wait_for COMMAND...: until it succeeds, at most a minute.
wait_for() {
	i=0
	until "$@"; do
		i=$((i + 1))
		[ $i -lt 600 ] || return 1
		usleep 100000
	done
}

save() {
	wait_for grep -q 'guest: tick 5' /tmp/log || fail "the guest does not run"
	echo "migrate file:$1" > /tmp/monitor.in
	completed() { echo "info migrate" > /tmp/monitor.in; usleep 50000; grep -q 'Status:.*completed' /tmp/monitor.log; }
	wait_for completed || fail "the migration does not complete"
	last=$(grep -c 'guest: tick' /tmp/log)
	grep 'guest: PV lock' /tmp/log
	echo quit > /tmp/monitor.in
	wait $l2
	echo "saved after $last ticks, $(stat -c %s "$1") bytes"
}

# resume FILE: the guest must go on where it was, and end well.
resume() {
	begin -incoming "file:$1"
	wait $l2 || fail "the guest did not come to its end"
	ticks=$(grep -c 'guest: tick' /tmp/log)
	grep -q 'guest: tick 40' /tmp/log && [ "$ticks" -lt 40 ] || fail "the guest did not go on but print $ticks ticks"
	echo "went on with $ticks ticks"
}

begin
save /tmp/state
grep -q 'PV lock is on' /tmp/log || fail "PV lock is off"
resume /tmp/state
exit 0
