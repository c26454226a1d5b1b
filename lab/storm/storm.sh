#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# storm SECONDS [leaks]: what can happen to overcommitted VMs and to their host, all of it at once, on a machine with two CPUs.
#
# Two VMs contend on a lock, over and over, and each time the work has to be done. Next to them a hostile VM spins without end,
# VMs are killed and stopped, are saved and restored, and change their memory; a CPU comes and goes, and parameters change.
# It fails if one of the loops did nothing or said that something was wrong. The kernel's complaints are the caller's to see.
#
# leaks: then nothing may be left: no VM, no use of KVM's modules, nothing that kmemleak finds, and less than 1 % more slab
# memory than there was after the first quarter.
seconds=$1
leaks=$2
dir=/tmp/storm
load=/tests/directed_yield_load
lock="--critical=5000 --noncritical=5000"

# between LOW HIGH: a random number.
between() {
	echo $(($1 + (RANDOM * 32768 + RANDOM) % ($2 - $1 + 1)))
}

ms_sleep() {
	usleep $(($1 * 1000))
}

# try NAME COMMAND...: counts that it went well; what it printed is shown if it did not, and ends the storm.
try() {
	name=$1
	shift
	if "$@" > $dir/out.$name 2>&1 < /dev/null; then
		echo >> $dir/count.$name
	else
		{ echo "$name: exit status $?: $*"; tail -n 20 $dir/out.$name; } >> $dir/failed
		rm -f $dir/on
	fi
}

# The process of a VM that is not the one to be measured, and its groups, go.
remove() {
	kill -9 "$@" 2>/dev/null
	wait "$1" 2>/dev/null
	group=/sys/fs/cgroup/directed_yield_load.$1
	for n in 1 2 3 4 5 6 7 8 9 10; do
		[ -d $group ] || return 0
		find $group -depth -type d -exec rmdir {} \; 2>/dev/null
		ms_sleep 50
	done
	[ ! -d $group ]
}

# A run in which nobody spun, or with the switch off, says so, and is as good here.
lock_vms() {
	$load --vms=2 --vcpus=4 --cgroup --iterations=100 $lock "$@" || grep "not reported: no spin exit" $dir/out.vms
}

vms() {
	seed=0
	while [ -e $dir/on ]; do
		for kind in ticket tas queued; do
			[ -e $dir/on ] || break
			seed=$((seed + 1))
			try vms lock_vms --lock=$kind --seed=$seed
		done
	done
}

# Its vCPUs wait for one that holds the lock for minutes.
hostile() {
	while [ -e $dir/on ]; do
		$load --vcpus=4 --cgroup --lock=tas --iterations=1 --critical=2000000000 --noncritical=1 > $dir/out.hostile 2>&1 &
		parent=$!
		for n in 1 2 3 4 5; do
			ms_sleep $(between 200 2000)
			for pid in $(pidof directed_yield_load); do
				[ "$(awk '{ print $4 }' /proc/$pid/stat 2>/dev/null)" = $parent ] || continue
				kill -STOP $pid
				ms_sleep $(between 10 500)
				kill -CONT $pid
				echo >> $dir/count.stopped
			done
		done
		try hostile remove $parent
	done
}

killed() {
	while [ -e $dir/on ]; do
		$load --vcpus=$(between 2 8) --cgroup --lock=ticket --iterations=1000000 $lock > $dir/out.killed 2>&1 &
		parent=$!
		ms_sleep $(between 0 1500)
		try killed remove $parent
	done
}

hotplug() {
	while [ -e $dir/on ]; do
		try hotplug sh -c 'echo 0 > /sys/devices/system/cpu/cpu1/online'
		ms_sleep $(between 50 1000)
		try hotplug sh -c 'echo 1 > /sys/devices/system/cpu/cpu1/online'
		ms_sleep $(between 1000 4000)
	done
}

parameters() {
	while [ -e $dir/on ]; do
		for value in N Y; do
			try parameters sh -c "echo $value > /sys/module/kvm/parameters/directed_yield"
			# A VM may be gone before its switch is written.
			for file in /sys/kernel/debug/kvm/*/directed_yield; do
				echo $value 2>/dev/null > $file
			done
			ms_sleep $(between 1 100)
		done
		for word in NO_YIELD_LEVEL NO_YIELD_PAID YIELD_LEVEL YIELD_PAID; do
			try parameters sh -c "echo $word > /sys/kernel/debug/sched/features"
			ms_sleep $(between 1 100)
		done
		for value in 0 200000; do
			try parameters sh -c "echo $value > /sys/module/kvm/parameters/halt_poll_ns"
			ms_sleep $(between 1 100)
		done
	done 2>/dev/null
}

state() {
	while [ -e $dir/on ]; do
		try state /tests/x86_64/state_test
		ms_sleep $(between 100 1000)
	done
}

memory() {
	while [ -e $dir/on ]; do
		try memory /tests/memslot_modification_stress_test -v 2 -b 16M -i 50
		ms_sleep $(between 100 1000)
	done
}

loops="vms hostile killed hotplug parameters state memory"

# storm SECONDS
storm() {
	touch $dir/on
	pids=
	for loop in $loops; do
		$loop &
		pids="$pids $!"
	done
	start=$(date +%s)
	while [ -e $dir/on ] && [ $(($(date +%s) - start)) -lt $1 ]; do
		sleep 10
		said
	done
	rm -f $dir/on
	# Each loop ends what it is at.
	for pid in $pids; do
		while kill -0 $pid 2>/dev/null && [ $(($(date +%s) - start)) -lt $(($1 * 2 + 200)) ]; do
			sleep 1
		done
		kill -0 $pid 2>/dev/null || continue
		said
		ps -o pid,ppid,stat,args | grep -v '\['
		echo "a loop does not end" >> $dir/failed
		break
	done
	echo 1 > /sys/devices/system/cpu/cpu1/online 2>/dev/null
	echo Y > /sys/module/kvm/parameters/directed_yield
	[ -e $dir/failed ] || return 0
	cat $dir/failed
	return 1
}

count() {
	cat $dir/count.$1 2>/dev/null | wc -l
}

said() {
	text="$(($(date +%s) - start)) s:"
	for loop in $loops; do
		text="$text $loop $(count $loop)"
	done
	echo "$text"
}

# kB of slab memory, without what is merely kept for the next user, and in debugging's own books: areas of vmalloc() are
# given back when there are 32 MB of them, and kmemleak has an object for each.
slab() {
	sync
	echo 3 > /proc/sys/vm/drop_caches
	for file in /sys/kernel/slab/*/shrink; do
		echo 1 > $file
	done
	awk 'NR > 2 && $1 !~ /^(kmemleak_|vmap_area$)/ { print $1, $3 * $4 }' /proc/slabinfo > $dir/slabs.$1
	awk '{ sum += $2 } END { print int(sum / 1024) }' $dir/slabs.$1
}

# What is freed late must be free after a while.
settle() {
	for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		now=$(slab after)
		[ $((now * 100)) -ge $(($1 * 101)) ] || break
		sleep 2
	done
	echo $now
}

complain() {
	echo "$*"
	failed=1
}

failed=
mkdir $dir || exit 1
if [ -n "$leaks" ]; then
	storm $((seconds / 4)) || exit 1
	sleep 5
	before=$(slab before)
	seconds=$((seconds - seconds / 4))
fi
storm $seconds || failed=1
for loop in $loops stopped; do
	echo "$loop: $(count $loop) times"
	[ "$(count $loop)" -gt 0 ] || complain "$loop never went well"
done
for n in 1 2 3 4 5; do
	left=$(ls /sys/kernel/debug/kvm | grep -c -e -)
	[ "$left" = 0 ] && break
	sleep 1
done
[ "$left" = 0 ] || complain "$left VMs are left"
if [ -n "$leaks" ]; then
	after=$(settle $before)
	echo "slab memory: $before kB before, $after kB after"
	[ $((after * 100)) -lt $((before * 101)) ] || {
		awk 'NR == FNR { was[$1] = $2; next } $2 > was[$1] { print $1 ": " was[$1] " bytes before, " $2 " after" }' \
			$dir/slabs.before $dir/slabs.after
		complain "slab memory has grown by 1 % or more"
	}
	for module in kvm_amd kvm; do
		echo "$module: used by $(cat /sys/module/$module/refcnt)"
		rmmod $module || complain "$module cannot be unloaded"
	done
	# An object counts when it is found twice.
	for n in 1 2 3; do
		echo scan > /sys/kernel/debug/kmemleak
		sleep 3
	done
	found=$(grep -c '^unreferenced object' /sys/kernel/debug/kmemleak)
	echo "kmemleak: $found"
	[ "$found" = 0 ] || { head -n 60 /sys/kernel/debug/kmemleak; complain "memory has leaked"; }
fi
[ -z "$failed" ]
