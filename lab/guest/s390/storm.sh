#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A Linux guest with 4 vCPUs on one CPU, whose tasks storm sleeping locks, comes to its end.
# It gives way with diagnose 0x9c; most of these must reach their target.
vmm /guest/Image /guest/initrd 4 "conmode=sclp console=ttysclp0 loglevel=5 panic=-1 rdinit=/init lpj=1000000 kunit.enable=0" \
	> /tmp/out 2>&1
tr -d '\r' < /tmp/out | sed 's/^/# /'
if grep -q 'Call Trace\|WARNING:\|BUG:' /tmp/out; then exit 1; fi
tr -d '\r' < /tmp/out | grep -q '^lab: done 0' || { echo "the guest did not come to its end"; exit 1; }
tr -d '\r' < /tmp/out | grep -q '^4 CPUs' || { echo "CPUs are missing"; exit 1; }
sum() { awk -v name="$1" '$1 == "vcpu" && $3 == name { n += $4 } END { print n + 0 }' /tmp/out; }
asked=$(sum instruction_diagnose_9c)
ignored=$(sum diag_9c_ignored)
echo "diagnose 0x9c: $asked, $ignored of them ignored"
[ "$asked" -gt 0 ] && [ $((ignored * 2)) -lt "$asked" ]
