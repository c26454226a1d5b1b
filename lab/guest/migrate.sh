#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Migration of a running guest under a stock QEMU, between machines with different kernels. One step per call:
#   save NAME on|off	start a guest, which must (not) use the PV lock, and save its state for other machines
#   resume NAME on|off	the guest goes on where it was, and comes to its end
#   refuse NAME		QEMU refuses it: this machine's kernel does not know a register
fail() {
	echo "$*"
	tail -n 25 /tmp/log /tmp/monitor.log 2>/dev/null
	exit 1
}

TICKS=40
cat > /tmp/job-migrate <<END
if dmesg | grep -q 'using PV lock'; then echo "guest: PV lock is on"; else echo "guest: PV lock is off"; fi
mkdir /tmp/d
for i in 1 2 3 4; do
	(while [ ! -e /tmp/stop ]; do : > /tmp/d/\$i; mv /tmp/d/\$i /tmp/d/\$i.moved; done) &
done
n=0
while [ \$n -lt $TICKS ]; do
	usleep 50000
	n=\$((n + 1))
	echo "guest: tick \$n"
done
touch /tmp/stop
wait
if dmesg | grep -q 'WARNING:\\|BUG:\\|Oops\\|stall'; then dmesg | tail -n 30; exit 1; fi
if dmesg | grep -q 'using PV lock'; then echo "guest: PV lock was on"; else echo "guest: PV lock was off"; fi
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

completed() {
	echo "info migrate" > /tmp/monitor.in
	usleep 50000
	grep -q 'Status:.*completed' /tmp/monitor.log
}

case $1 in
save)
	begin
	wait_for grep -q 'guest: tick 5' /tmp/log || fail "the guest does not run"
	grep -q "guest: PV lock is $3" /tmp/log || fail "PV lock is not $3"
	echo "migrate file:/tmp/state" > /tmp/monitor.in
	wait_for completed || fail "the migration does not complete"
	echo quit > /tmp/monitor.in
	wait $l2
	put /tmp/state "$(cat /lab/host-folder)/$2" || fail "the state cannot be kept"
	echo "saved after $(grep -c 'guest: tick' /tmp/log) ticks, $(stat -c %s /tmp/state) bytes"
	;;
resume)
	begin -incoming "file:/state/$2"
	wait $l2 || fail "the guest did not come to its end"
	ticks=$(grep -c 'guest: tick' /tmp/log)
	grep -q "guest: tick $TICKS" /tmp/log && [ "$ticks" -lt $TICKS ] || fail "the guest did not go on but print $ticks ticks"
	grep -q "guest: PV lock was $3" /tmp/log || fail "PV lock was not $3"
	echo "went on with $ticks ticks"
	;;
refuse)
	begin -incoming "file:/state/$2"
	wait $l2 && fail "QEMU took a register that this kernel does not have"
	grep 'qemu-system' /tmp/log
	grep -q 'guest: tick' /tmp/log && fail "the guest ran"
	grep -q 'fw feat reg 3 .*unknown' /tmp/log || fail "QEMU refuses it for another reason"
	;;
esac
exit 0
