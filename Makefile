# SPDX-License-Identifier: GPL-2.0
# A thin front for lab/lab.py; `make help` says what there is.

LAB := /usr/bin/env python3 lab/lab.py
export TARGETS ARCH STOCK KERNEL_SRC FORCE V SMP CMDLINE HYPERCALLS MINUTES CONFIG
export PYTHONDONTWRITEBYTECODE := 1
ifeq ($(V),1)
Q :=
else
Q := @
endif
# The lab runs its own parallel makes; two of its commands at once would only wait for each other.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

help:
	@echo 'Directed yield for overcommitted KVM hosts: a patch series for Linux 6.12, and its lab.'
	@echo
	@echo 'Start here:'
	@echo '  make demo              stock next to patched: an overcommitted VM on both, one table'
	@echo '  make check             all tests; the last line counts them'
	@echo
	@echo 'Step by step (each target does the set-up it needs; all can be repeated):'
	@echo '  make setup             install packages (as root), make the lab roots; ARCH= for one only'
	@echo '  make tree              lay the patched kernel out in build/linux, one commit per patch'
	@echo '  make kernel            build it; ARCH=x86 (default), arm64, s390 or riscv'
	@echo '  make shell             boot it and give a shell, tests in /tests; ARCH=, SMP=2, CMDLINE="..."'
	@echo '  make check-x86         only the tests of one architecture'
	@echo '  make check-builds      KVM of all architectures builds; not part of check; TARGETS="riscv mips"'
	@echo '  make check-series      each patch: checkpatch, builds in turn, no new warning of W=1 and sparse; TARGETS="s390"'
	@echo '  make check-x86-torture a Linux guest whose user space loses no register in a million hypercalls; HYPERCALLS=N'
	@echo '  make check-s390-guests a Linux guest under KVM on s390; not part of check'
	@echo '  make check-riscv       the tests of RISC-V; not part of check'
	@echo '  make check-debug       the tests, and everything at once, on kernels with lockdep, KASAN and UBSAN, KCSAN'
	@echo '  make soak              everything at once for long, and then nothing may be left; MINUTES=10'
	@echo '  make check-unit        only the core in user space (no machine, under a minute)'
	@echo '  make check-faults      breaks each rule of the core in turn, and expects its test to fail; not part of check'
	@echo '  make baseline          record what the stock kernel does in upstream selftests (lab/baseline/)'
	@echo '  make bench             the whole matrix of measurements; ARCH=arm64: Linux guests that contend on sleeping locks'
	@echo '  make bench-scan        what one spin exit costs with up to 4096 vCPUs, on the host'
	@echo '  make bench-host        directed yield off and on, on this machine or any other with KVM and a kernel with the series'
	@echo '  make bench-hyperv      what Hyper-V hypercalls cost, input in memory and in XMM registers'
	@echo '  make sim               the core on simulated hosts of 8 to 512 CPUs; compared with the lab first'
	@echo '  make series            the series as mails with a cover letter, in build/series, signed off by you'
	@echo '  make deb               Debian packages of the kernel; CONFIG=file, default: the running one, loaded modules only'
	@echo '  make clean             delete build/ (the cache in ~/.cache/directed-yield stays)'
	@echo
	@echo 'Variables:'
	@echo '  STOCK=1                the stock kernel: the untouched source plus only the patches marked'
	@echo '                         "Stock: yes" (the software pause filter), for a fair comparison'
	@echo '  KERNEL_SRC=path        a vanilla or Debian 6.12.y tree or tarball instead of the package'
	@echo '  FORCE=1                make tree: drop local changes in build/linux (they are saved in a ref)'
	@echo '  V=1                    show the commands'

setup tree kernel shell check baseline series deb clean:
	$(Q)$(LAB) $@

demo bench bench-host bench-scan bench-hyperv sim:
	$(Q)$(LAB) $@ $(ARGS)

soak:
	$(Q)$(LAB) check soak

check-%:
	$(Q)$(LAB) check $*

.PHONY: help setup tree kernel shell check baseline series deb demo bench bench-host bench-scan bench-hyperv sim soak clean
.DEFAULT_GOAL := help
