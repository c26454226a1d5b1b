/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guest code: one vCPU waits with spin hints for what another does.  And the
 * switch of what comes of it.
 *
 * For architectures whose guests give the hint by an instruction.  Who includes
 * this has defined before:
 *
 *	static void dy_guest_hint(void);	the hint
 *	static void dy_guest_end(void);		the exit to the host that ends it
 */
#ifndef SELFTEST_KVM_DIRECTED_YIELD_WAIT_H
#define SELFTEST_KVM_DIRECTED_YIELD_WAIT_H

#include "directed_yield_stats.h"
#include "kvm_util.h"
#include "test_util.h"

#define DY_NR_HINTS	100
#define DY_WORK		2000000UL

/* What the guest and the host share, and change while the other looks. */
static struct dy_wait {
	u64 flag;
	u64 go;
	u64 count;
	u64 hints;
} dy_wait;

/* Give DY_NR_HINTS hints. */
static void dy_guest_counted(void)
{
	int i;

	for (i = 0; i < DY_NR_HINTS; i++)
		dy_guest_hint();
	dy_guest_end();
}

static void dy_guest_wait_for_flag(void)
{
	u64 n = 0;

	WRITE_ONCE(dy_wait.go, 1);
	while (!READ_ONCE(dy_wait.flag)) {
		dy_guest_hint();
		n++;
	}
	WRITE_ONCE(dy_wait.hints, n);
	dy_guest_end();
}

/* Count until somebody waits, then work for a while. */
static void dy_guest_work_and_set_flag(void)
{
	u64 i;

	while (!READ_ONCE(dy_wait.go))
		WRITE_ONCE(dy_wait.count, dy_wait.count + 1);
	for (i = 0; i < DY_WORK; i++)
		barrier();
	WRITE_ONCE(dy_wait.flag, 1);
	dy_guest_end();
}

static void dy_set_switch(const char *value)
{
	FILE *file = fopen(DY_SWITCH, "w");

	TEST_ASSERT(file && fputs(value, file) > 0 && !fclose(file),
		    "writing %s: %s", DY_SWITCH, strerror(errno));
}

#endif /* SELFTEST_KVM_DIRECTED_YIELD_WAIT_H */
