/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What was given up for the target of a directed yield, and how far ahead of its
 * share that lets it run.
 */
#ifndef _KERNEL_SCHED_YIELD_PAID_H
#define _KERNEL_SCHED_YIELD_PAID_H

#include <linux/math64.h>

#include "sched.h"

/**
 * yield_pay - let the target of a yield be ahead by what was given up for it
 * @y:		the entity that gave it up
 * @t:		the entity yielded to, ->next of its run queue; both as
 *		yield_level() found them
 * @forfeit:	what @y gave up, in its virtual time
 *
 * What counts is the service, weight times virtual time: @t may be the further
 * ahead in virtual time, the lighter it is.
 *
 * On one run queue those who wait for @t have got it, each time, so that it adds
 * up.  On two they have not, whatever the number of yields, hence it does not;
 * and where strangers compete, at the root, it is worth nothing.
 *
 * Context: the run queues of both entities locked.
 */
static inline void yield_pay(const struct sched_entity *y,
			     const struct sched_entity *t, u64 forfeit)
{
	struct cfs_rq *cfs_rq = cfs_rq_of(t);
	u64 paid = forfeit * scale_load_down(y->load.weight);

	paid = div64_ul(paid, scale_load_down(t->load.weight));
	if (cfs_rq_of(y) == cfs_rq)
		cfs_rq->next_paid += paid;
	else if (cfs_rq != &rq_of(cfs_rq)->cfs)
		cfs_rq->next_paid = max(cfs_rq->next_paid, paid);
}

#endif /* _KERNEL_SCHED_YIELD_PAID_H */
