/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where two tasks compete for a CPU: the walk from both to the lowest level of
 * the task group hierarchy at which their ancestors are siblings.
 */
#ifndef _KERNEL_SCHED_YIELD_LEVEL_H
#define _KERNEL_SCHED_YIELD_LEVEL_H

#include <linux/sched.h>

/**
 * yield_level - find the level at which two entities compete
 * @a:	an entity; replaced by the ancestor, or itself, that competes
 * @b:	another entity, not an ancestor or descendant of @a; likewise
 *
 * Afterwards both are on run queues of one task group: on the same one if the
 * entities are on the same CPU, else on those of their two CPUs.  That is why
 * task groups are compared, and not run queues as find_matching_se() does,
 * which would leave the hierarchy at the top.
 *
 * Context: the run queues of both entities locked.
 */
static inline void yield_level(struct sched_entity **a, struct sched_entity **b)
{
#ifdef CONFIG_FAIR_GROUP_SCHED
	while ((*a)->depth > (*b)->depth)
		*a = (*a)->parent;
	while ((*b)->depth > (*a)->depth)
		*b = (*b)->parent;
	while ((*a)->cfs_rq->tg != (*b)->cfs_rq->tg) {
		*a = (*a)->parent;
		*b = (*b)->parent;
	}
#endif
}

#endif /* _KERNEL_SCHED_YIELD_LEVEL_H */
