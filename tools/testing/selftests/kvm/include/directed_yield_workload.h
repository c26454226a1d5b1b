/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the guests of directed_yield_load run: workers that take a lock, work,
 * release it and work, and a hog that never leaves the CPU.
 */
#ifndef SELFTEST_KVM_DIRECTED_YIELD_WORKLOAD_H
#define SELFTEST_KVM_DIRECTED_YIELD_WORKLOAD_H

#include "directed_yield_locks.h"
#include "kvm_util.h"
#include "ucall_common.h"

#define MAX_VCPUS	64
#define NO_OWNER	UINT32_MAX

struct guest_vcpu {
	struct dy_waiter waiter;
	u64 acquired;
	u64 heartbeat;
} __aligned(DY_CACHE_LINE);

/* Each VM has its own copy of this in its memory. */
static struct guest {
	u32 vcpus;
	u32 workers;
	u32 iterations;
	u32 critical;
	u32 noncritical;
	u32 seed;
	u32 stop;
	struct dy_lock lock;
	/* What the lock protects. */
	u32 owner __aligned(DY_CACHE_LINE);
	u64 counter;
	u64 violations;
	struct guest_vcpu vcpu[MAX_VCPUS];
} guest;

/* Uniform between half and one and a half times @n. */
static u32 random_around(u32 *state, u32 n)
{
	*state = *state * 1664525u + 1013904223u;
	return n / 2 + (((u64)n * (*state >> 8)) >> 24);
}

/* The counter is not atomic on purpose: only mutual exclusion keeps it right. */
static void critical_section(u32 id, u32 length)
{
	u64 counter = READ_ONCE(guest.counter);

	if (READ_ONCE(guest.owner) != NO_OWNER)
		guest.violations++;
	WRITE_ONCE(guest.owner, id);

	dy_arch_work(length);

	if (READ_ONCE(guest.owner) != id)
		guest.violations++;
	WRITE_ONCE(guest.owner, NO_OWNER);
	WRITE_ONCE(guest.counter, counter + 1);
}

/*
 * The work of one worker depends on the seed and the worker only, and not on
 * the vCPU which does it, so that fewer vCPUs can do the same work.
 */
static bool guest_worker(u32 id, u32 worker)
{
	struct guest_vcpu *me = &guest.vcpu[id];
	u32 state = guest.seed * 2654435761u ^ (worker + 1) * 2246822519u;
	u32 i;

	for (i = 0; i < guest.iterations; i++) {
		if (READ_ONCE(guest.stop) || !dy_lock(&guest.lock, &me->waiter))
			return false;
		critical_section(id, random_around(&state, guest.critical));
		me->acquired++;
		dy_unlock(&guest.lock, &me->waiter);
		dy_arch_work(random_around(&state, guest.noncritical));
	}
	return true;
}

static void guest_code(u32 id)
{
	u32 worker;

	/*
	 * Touch what will be used, to have the page faults behind us.  The vCPUs
	 * do this one after the other.
	 */
	WRITE_ONCE(guest.vcpu[id].heartbeat, 1);
	if (dy_lock(&guest.lock, &guest.vcpu[id].waiter)) {
		WRITE_ONCE(guest.owner, NO_OWNER);
		dy_unlock(&guest.lock, &guest.vcpu[id].waiter);
	}
	GUEST_SYNC(0);

	for (worker = id; worker < guest.workers; worker += guest.vcpus) {
		if (!guest_worker(id, worker))
			break;
	}
	GUEST_DONE();
}

static void guest_hog_code(u32 id)
{
	for (;;) {
		dy_arch_work(1000);
		WRITE_ONCE(guest.vcpu[id].heartbeat, guest.vcpu[id].heartbeat + 1);
	}
}

#endif /* SELFTEST_KVM_DIRECTED_YIELD_WORKLOAD_H */
