#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench-host.sh [REPEATS [CPUS]]: overcommitted VMs on this machine's own KVM, with directed yield off, on, and on without the
# scheduler's part. Root, a kernel with the series, and the static program directed_yield_load beside this script are all that
# it needs, so that both can be copied to any host. REPEATS (default 10) runs of each, in turn, as other load comes and goes.
#
# It switches the host's parameters while it runs, which other VMs notice, and puts them back.
repeats=${1:-10}
cpus=${2:-$(nproc)}
load=$(dirname "$0")/directed_yield_load
switch=/sys/module/kvm/parameters/directed_yield
features=/sys/kernel/debug/sched/features
# As in the lab, see lab/rows.py; 40000 loops are about 20 us on a CPU of 2 to 4 GHz.
sizes=${SIZES:---iterations=2000 --critical=40000 --noncritical=40000}

stop() {
	echo "$*" >&2
	exit 4
}

[ "$(id -u)" = 0 ] || stop "the host's parameters can be changed by root only"
[ -r /dev/kvm ] && [ -w /dev/kvm ] || stop "this machine has no usable KVM: /dev/kvm cannot be opened"
[ -w $switch ] || stop "this kernel has no directed yield to switch: $switch is missing"
[ -x "$load" ] || stop "$load is missing"
[ -d /sys/kernel/debug/kvm ] || mount -t debugfs debugfs /sys/kernel/debug
variants="off on"
[ -w $features ] && variants="$variants without"

out=$(mktemp -d) || exit 1
was=$(cat $switch)
level=$(grep -ow '\(NO_\)*YIELD_LEVEL' $features 2>/dev/null)
paid=$(grep -ow '\(NO_\)*YIELD_PAID' $features 2>/dev/null)

scheduler() {
	for word in "$@"; do
		echo $word > $features
	done
}

restore() {
	echo $was > $switch
	scheduler $level $paid
	rm -r $out
}
trap restore EXIT
trap 'exit 130' INT TERM

set_variant() {
	case $1 in
	off)		echo N > $switch ;;
	*)		echo Y > $switch ;;
	esac
	[ -n "$level" ] || return 0
	case $1 in
	without)	scheduler NO_YIELD_LEVEL NO_YIELD_PAID ;;
	*)		scheduler YIELD_LEVEL YIELD_PAID ;;
	esac
}

# median FORMAT: the median, smallest and largest of numbers.
median() {
	sort -n | awk -v format="$1 [$1..$1]" '{ v[NR] = $1 } END {
		printf format, NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[1], v[NR] }'
}

ms() {
	awk '{ print $1 / 1e6 }' $out/ns.$1 | median %.1f
}

echo "Linux $(uname -r), $cpus CPUs, $repeats repeats; ms, median [smallest..largest]"
printf '%-44s %-28s %-28s %-28s %s\n' "" off on "on, without scheduler" "off / on"
row() {
	text=$1
	shift
	rm -f $out/ns.* $out/run.*
	n=0
	while [ $n -lt $repeats ]; do
		n=$((n + 1))
		for variant in $variants; do
			set_variant $variant
			"$load" --cpus=$cpus --seed=$n $sizes "$@" > $out/run.$variant 2>&1 ||
				grep -q "not reported: no spin exit" $out/run.$variant || { cat $out/run.$variant >&2; exit 1; }
		done
		# Where nobody spun with one variant there is nothing to compare.
		grep -q "not reported" $out/run.* && continue
		for variant in $variants; do
			sed -n 's/^DYLOAD .* time_ns=\([0-9]*\) .*/\1/p' $out/run.$variant >> $out/ns.$variant
		done
	done
	if [ ! -e $out/ns.on ]; then
		printf '%-44s %s\n' "$text" "nobody spun"
		return
	fi
	without=-
	[ ! -e $out/ns.without ] || without=$(ms without)
	printf '%-44s %-28s %-28s %-28s %s\n' "$text" "$(ms off)" "$(ms on)" "$without" \
		"$(paste $out/ns.off $out/ns.on | awk '{ print $1 / $2 }' | median %.2f)"
}

for layout in "" --cgroup; do
	for lock in tas ticket queued; do
		groups=${layout:+libvirt groups}
		row "${groups:-no groups}, $lock, $((2 * cpus)) vCPUs" $layout --lock=$lock --vcpus=$((2 * cpus))
	done
done
row "libvirt groups, ticket, $((2 * cpus)) vCPUs + CPU-bound VM" --cgroup --lock=ticket --vcpus=$((2 * cpus)) --hog-vm=$cpus
row "libvirt groups, ticket, $cpus vCPUs (1x)" --cgroup --lock=ticket --vcpus=$((cpus > 1 ? cpus : 2))
