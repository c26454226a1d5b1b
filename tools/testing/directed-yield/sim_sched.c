// SPDX-License-Identifier: GPL-2.0
/*
 * A model of Linux 6.12's fair class where all weights are equal: eligibility,
 * deadlines, protection of a slice, the buddy, and yield_to() with and without
 * the series' two steps.  Left out: delayed dequeue, weights, bandwidth.
 */
#include <stdlib.h>

#include "sim.h"

static s64 sum(struct queue *queue)
{
	s64 sum = 0;
	unsigned int i;

	for (i = 0; i < queue->nr; i++)
		sum += queue->member[i]->vruntime - queue->zero;
	return sum;
}

static s64 average(struct queue *queue)
{
	return queue->nr ? queue->zero + sum(queue) / (s64)queue->nr : queue->zero;
}

static bool eligible(struct queue *queue, struct entity *entity)
{
	return (entity->vruntime - queue->zero) * (s64)queue->nr <= sum(queue);
}

static void place(const struct sched *sched, struct entity *entity)
{
	struct queue *queue = entity->queue;
	s64 lag = entity->lag, n = queue->nr;

	/* What joins pulls the average, and is to end with the lag it had. */
	if (n)
		lag = lag * (n + 1) / n;
	entity->vruntime = average(queue) - lag;
	entity->deadline = entity->vruntime + sched->slice;
	if (!n)
		queue->zero = entity->vruntime;
}

void sched_enqueue(const struct sched *sched, struct entity *entity)
{
	struct queue *queue = entity->queue;

	place(sched, entity);
	if (queue->nr == queue->room) {
		queue->room = queue->room ? 2 * queue->room : 8;
		queue->member = realloc(queue->member,
					queue->room * sizeof(*queue->member));
	}
	queue->member[queue->nr++] = entity;
	entity->queued = true;
	if (queue->group && !queue->group->queued)
		sched_enqueue(sched, queue->group);
}

void sched_dequeue(const struct sched *sched, struct entity *entity)
{
	struct queue *queue = entity->queue;
	s64 lag = average(queue) - entity->vruntime;
	unsigned int i;

	entity->lag = max(-2 * sched->slice, min(lag, 2 * sched->slice));
	if (queue->next == entity)
		queue->next = NULL;
	if (queue->curr == entity)
		queue->curr = NULL;
	for (i = 0; queue->member[i] != entity; i++)
		;
	queue->zero = average(queue);
	queue->member[i] = queue->member[--queue->nr];
	entity->queued = false;
	if (!queue->nr && queue->group)
		sched_dequeue(sched, queue->group);
}

static bool update_deadline(const struct sched *sched, struct entity *entity)
{
	if (entity->vruntime < entity->deadline)
		return false;
	entity->deadline = entity->vruntime + sched->slice;
	entity->protected = false;
	return entity->queue->nr > 1;
}

bool sched_account(const struct sched *sched, struct entity *entity, s64 delta)
{
	bool resched = false;

	for (; entity; entity = entity->queue->group) {
		entity->vruntime += delta;
		resched |= update_deadline(sched, entity);
	}
	return resched;
}

static struct entity *pick_eevdf(struct queue *queue)
{
	struct entity *curr = queue->curr, *best = NULL;
	unsigned int i;

	if (queue->nr == 1)
		return queue->member[0];
	if (curr && !eligible(queue, curr))
		curr = NULL;
	if (curr && curr->protected)
		return curr;
	for (i = 0; i < queue->nr; i++) {
		struct entity *entity = queue->member[i];

		if (eligible(queue, entity) &&
		    (!best || entity->deadline < best->deadline))
			best = entity;
	}
	return best;
}

static bool next_is_paid(struct queue *queue)
{
	return queue->next_paid &&
	       queue->next->vruntime - average(queue) <= queue->next_paid;
}

struct entity *sched_pick(struct queue *root)
{
	struct queue *queue = root;
	struct entity *entity;

	for (;;) {
		entity = queue->next;
		if (!entity || (!eligible(queue, entity) && !next_is_paid(queue)))
			entity = pick_eevdf(queue);
		if (!entity->mine)
			return entity;
		queue = entity->mine;
	}
}

/* The hint to run @entity, and at the levels above what it runs in. */
static void clear_hint(struct entity *entity)
{
	for (; entity && entity->queue->next == entity; entity = entity->queue->group) {
		entity->queue->next = NULL;
		entity->queue->next_paid = 0;
	}
}

static bool is_in(struct entity *entity, struct entity *group)
{
	while (entity && entity != group)
		entity = entity->queue->group;
	return entity;
}

void sched_switch(struct entity *prev, struct entity *next)
{
	struct entity *entity;

	for (entity = prev; entity; entity = entity->queue->group)
		entity->queue->curr = NULL;
	for (entity = next; entity; entity = entity->queue->group) {
		entity->queue->curr = entity;
		/* The levels above are those that both have in common. */
		if (is_in(prev, entity))
			continue;
		clear_hint(entity);
		entity->protected = true;
	}
}

/* The ancestors of both, or they themselves, that compete. */
static void common_level(struct entity **a, struct entity **b)
{
	while ((*a)->queue != (*b)->queue && (*a)->queue->group &&
	       (*b)->queue->group) {
		*a = (*a)->queue->group;
		*b = (*b)->queue->group;
	}
}

bool sched_preempts(struct entity *woken, struct entity *curr)
{
	common_level(&woken, &curr);
	return woken != curr && pick_eevdf(woken->queue) == woken;
}

static s64 forfeit(const struct sched *sched, struct entity *entity)
{
	s64 paid = 0;

	if (eligible(entity->queue, entity)) {
		if (entity->queue->nr > 1)
			paid = max(entity->deadline - entity->vruntime, 0);
		entity->vruntime = entity->deadline;
		update_deadline(sched, entity);
	}
	return paid;
}

/*
 * @force: the target runs next, whatever its share; for the oracle.
 * @alone: nobody else runs on the CPU of @curr.  With groups a vCPU is alone in
 * one of its own, below the entity that stands for it here: what stock lets it
 * forfeit there is nothing.
 */
void sched_yield_to(const struct sched *sched, struct entity *curr,
		    struct entity *target, bool alone, bool force)
{
	struct entity *entity;
	s64 paid = 0;

	for (entity = target; entity; entity = entity->queue->group) {
		if (entity->queue->next != entity)
			entity->queue->next_paid = 0;
		entity->queue->next = entity;
		if (force)
			entity->queue->next_paid = INT64_MAX;
	}
	if (alone || force)
		return;
	clear_hint(curr);
	/* All are vCPUs of one VM: they compete within its group, if any. */
	if (!sched->groups || sched->yield_level)
		paid = forfeit(sched, curr);
	if (!sched->yield_paid)
		return;
	if (curr->queue == target->queue)
		target->queue->next_paid += paid;
	else if (sched->groups)		/* in two CPUs' queues of the VM */
		target->queue->next_paid = max(target->queue->next_paid, paid);
}
