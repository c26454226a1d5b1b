#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A guest that uses the PV lock starts its own kernel again by kexec, with its locks contended; that one uses it, too. Both
# kernels run the same job.
cat > /tmp/job-kexec <<'END'
dmesg | grep -q 'using PV lock' || { echo "PV lock is off"; exit 1; }
mkdir /tmp/d
for i in 1 2 3 4; do
	(while [ ! -e /tmp/stop ]; do : > /tmp/d/$i; mv /tmp/d/$i /tmp/d/$i.moved; done) &
done
usleep 100000
if ! grep -q second /proc/cmdline; then
	(cd / && echo job | cpio -o -H newc) > /tmp/job.cpio
	cat /guest/initrd /tmp/job.cpio > /tmp/initrd
	kexec /guest/Image /tmp/initrd "$(cat /proc/cmdline) second"
	exit 1
fi
touch /tmp/stop
wait
if dmesg | grep -i 'bad page\|BUG:\|WARNING:\|PV lock: '; then exit 1; fi
echo "the second kernel uses PV lock"
exit 0
END
# A kernel that firmware does not tell which tables the ITS uses cannot take it over.
L2_QEMU="-machine its=off" l2 4 /tmp/job-kexec > /tmp/out
status=$?
grep 'PV lock' /tmp/out
[ $status = 0 ] && grep -q 'the second kernel uses PV lock' /tmp/out && exit 0
tail -n 40 /tmp/out
exit 1
