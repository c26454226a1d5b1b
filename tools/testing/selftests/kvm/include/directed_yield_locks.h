/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spinning locks for guest code that wants to provoke spin exits.
 *
 * Three kinds, because directed yield treats their waiters differently:
 *
 *  - ticket: served in order, so the lock stands still whenever the next
 *    waiter in line has no CPU, even if the lock is free;
 *  - TAS (test and test-and-set): whoever runs may take it, so only the
 *    preemption of the holder hurts;
 *  - queued (MCS): served in order as well, but each waiter spins on a line of
 *    its own.
 *
 * A waiter gives up when *@stop becomes non-zero, so that a run which makes no
 * progress can be ended from outside.  The lock is unusable afterwards.
 */
#ifndef SELFTEST_KVM_DIRECTED_YIELD_LOCKS_H
#define SELFTEST_KVM_DIRECTED_YIELD_LOCKS_H

#include <stdbool.h>

#include <linux/compiler.h>
#include <linux/types.h>

#include "processor.h"

#define DY_CACHE_LINE	64

enum dy_lock_kind {
	DY_LOCK_TICKET,
	DY_LOCK_TAS,
	DY_LOCK_QUEUED,
	NR_DY_LOCK_KINDS,
};

static const char * const dy_lock_names[NR_DY_LOCK_KINDS] = {
	[DY_LOCK_TICKET] = "ticket",
	[DY_LOCK_TAS]	 = "tas",
	[DY_LOCK_QUEUED] = "queued",
};

struct dy_waiter {
	/* Queued lock: who comes after us, and whether we still wait. */
	struct dy_waiter *next;
	u32 waiting;
	/* All locks: number of pauses issued while waiting. */
	u64 pauses;
} __aligned(DY_CACHE_LINE);

struct dy_lock {
	enum dy_lock_kind kind;
	const u32 *stop;
	/* Ticket: the next one to hand out.  TAS: whether the lock is taken. */
	u32 next __aligned(DY_CACHE_LINE);
	/* Ticket: the one being served. */
	u32 serving __aligned(DY_CACHE_LINE);
	/* Queued: the last in line. */
	struct dy_waiter *tail __aligned(DY_CACHE_LINE);
};

/*
 * Execute the instruction that the architecture's hypervisor can intercept to
 * learn that the guest spins.
 */
static inline void dy_arch_spin_hint(void)
{
	cpu_relax();
}

/* Burn @loops iterations of the shortest loop that there is. */
static inline void dy_arch_work(u64 loops)
{
	if (!loops)
		return;
#ifdef __x86_64__
	asm volatile("1: dec %0\n\t"
		     "jnz 1b"
		     : "+r" (loops) : : "cc");
#else
	while (loops--)
		barrier();
#endif
}

/* One turn of a spin loop.  False if the spinner was told to give up. */
static inline bool dy_spin(struct dy_lock *lock, struct dy_waiter *me)
{
	dy_arch_spin_hint();
	me->pauses++;
	return !READ_ONCE(*lock->stop);
}

static inline bool dy_ticket_lock(struct dy_lock *lock, struct dy_waiter *me)
{
	u32 ticket = __atomic_fetch_add(&lock->next, 1, __ATOMIC_RELAXED);

	while (__atomic_load_n(&lock->serving, __ATOMIC_ACQUIRE) != ticket) {
		if (!dy_spin(lock, me))
			return false;
	}
	return true;
}

static inline void dy_ticket_unlock(struct dy_lock *lock)
{
	/* Only the holder writes this, hence no atomic increment. */
	__atomic_store_n(&lock->serving, lock->serving + 1, __ATOMIC_RELEASE);
}

static inline bool dy_tas_lock(struct dy_lock *lock, struct dy_waiter *me)
{
	while (__atomic_exchange_n(&lock->next, 1, __ATOMIC_ACQUIRE)) {
		while (__atomic_load_n(&lock->next, __ATOMIC_RELAXED)) {
			if (!dy_spin(lock, me))
				return false;
		}
	}
	return true;
}

static inline void dy_tas_unlock(struct dy_lock *lock)
{
	__atomic_store_n(&lock->next, 0, __ATOMIC_RELEASE);
}

static inline bool dy_queued_lock(struct dy_lock *lock, struct dy_waiter *me)
{
	struct dy_waiter *prev;

	me->next = NULL;
	me->waiting = 1;

	prev = __atomic_exchange_n(&lock->tail, me, __ATOMIC_ACQ_REL);
	if (!prev)
		return true;

	__atomic_store_n(&prev->next, me, __ATOMIC_RELEASE);
	while (__atomic_load_n(&me->waiting, __ATOMIC_ACQUIRE)) {
		if (!dy_spin(lock, me))
			return false;
	}
	return true;
}

static inline void dy_queued_unlock(struct dy_lock *lock, struct dy_waiter *me)
{
	struct dy_waiter *last = me;
	struct dy_waiter *next;

	next = __atomic_load_n(&me->next, __ATOMIC_ACQUIRE);
	if (!next) {
		if (__atomic_compare_exchange_n(&lock->tail, &last, NULL, false,
						__ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;

		/* Somebody queued up, but has not linked itself to us yet. */
		while (!(next = __atomic_load_n(&me->next, __ATOMIC_ACQUIRE))) {
			if (!dy_spin(lock, me))
				return;
		}
	}
	__atomic_store_n(&next->waiting, 0, __ATOMIC_RELEASE);
}

/* True if the lock was taken, false if the caller was told to stop. */
static inline bool dy_lock(struct dy_lock *lock, struct dy_waiter *me)
{
	switch (lock->kind) {
	case DY_LOCK_TAS:
		return dy_tas_lock(lock, me);
	case DY_LOCK_QUEUED:
		return dy_queued_lock(lock, me);
	default:
		return dy_ticket_lock(lock, me);
	}
}

static inline void dy_unlock(struct dy_lock *lock, struct dy_waiter *me)
{
	switch (lock->kind) {
	case DY_LOCK_TAS:
		return dy_tas_unlock(lock);
	case DY_LOCK_QUEUED:
		return dy_queued_unlock(lock, me);
	default:
		return dy_ticket_unlock(lock);
	}
}

#endif /* SELFTEST_KVM_DIRECTED_YIELD_LOCKS_H */
