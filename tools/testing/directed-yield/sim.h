/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The simulator: a host with CPUs that really run at the same time, its fair
 * scheduler, and VMs whose vCPUs spin for each other, on top of the real core.
 * Discrete events; the same settings and seed give the same result.
 *
 * All times are ns.
 */
#ifndef _SIM_H
#define _SIM_H

#include "coroutine.h"
#include "kvm_stub.h"

enum policy {
	GUEST,		/* PAUSE does not exit */
	STOCK,		/* the model of the stock choice (stock.h) */
	CORE,		/* virt/kvm/directed_yield.c */
	ORACLE,		/* knows whom a spinner waits for, and that one runs */
	NR_POLICIES
};

enum work {
	TAS,		/* whoever runs when it is released */
	TICKET,		/* first come, first served */
	MUTEX,		/* sleeps; handed over to the first */
	IPI,		/* interrupts all others and waits for their answers */
	NR_WORKS
};

struct config {
	enum policy policy;
	enum work work;
	unsigned int cpus, vms;
	unsigned int vcpus[8];		/* of each VM */
	unsigned int hogs;		/* vCPUs of one more VM, that only compute */
	unsigned int locks;		/* of each VM; 0: a lock for 4 vCPUs */
	bool groups;			/* a cgroup per VM and vCPU, as libvirt's */
	bool yield_level, yield_paid;	/* the scheduler's two steps */
	bool pinned;			/* vCPU n on CPU n only */
	unsigned int background;	/* per cent of each CPU that others take */
	bool sees_interrupts;		/* the hook for pending interrupts works */
	u64 critical, noncritical;	/* means, half to one and a half times */
	unsigned int iterations;	/* per vCPU, or 0: until the end */
	u64 end;
	u64 window, slice, tick;
	u64 exit_cost, switch_cost, yield_cost, wake_cost, ipi_cost;
	unsigned long long seed;
};

/* Times about those of a server of today, for initializers. */
#define SERVER_TIMES							\
	.window = 2000, .slice = 3000000, .tick = 4000000,		\
	.exit_cost = 1200, .switch_cost = 1500, .yield_cost = 400,	\
	.wake_cost = 2000, .ipi_cost = 600

struct result {
	u64 time;			/* until the last vCPU has finished */
	u64 sections;
	double fairness;		/* worst VM's sections per vCPU / best VM's */
	double wasted;			/* part of the used CPU time that was spun */
	u64 exits, yields, took_effect, switches, used;
	double hog_share;
};

struct result simulate(const struct config *config);

/* The scheduler: sim_sched.c */

struct queue;

/* A vCPU's thread, or a VM's group on one CPU. */
struct entity {
	struct queue *queue;		/* that it competes in */
	struct queue *mine;		/* of a group */
	s64 vruntime, deadline, lag;
	bool queued, protected;
};

struct queue {
	struct entity *group;		/* that it belongs to; NULL: the CPU's */
	struct entity **member;
	unsigned int nr, room;
	struct entity *curr, *next;
	s64 next_paid, zero;
};

struct sched {
	s64 slice;
	bool groups, yield_level, yield_paid;
};

void sched_enqueue(const struct sched *sched, struct entity *entity);
void sched_dequeue(const struct sched *sched, struct entity *entity);
/* @entity, which runs, has run for @delta; return true to reschedule. */
bool sched_account(const struct sched *sched, struct entity *entity, s64 delta);
/* Who runs next. */
struct entity *sched_pick(struct queue *root);
/* @next, or nobody if NULL, runs instead of @prev, or of nobody. */
void sched_switch(struct entity *prev, struct entity *next);
/* Does @woken, just enqueued, take the CPU from @curr? */
bool sched_preempts(struct entity *woken, struct entity *curr);
void sched_yield_to(const struct sched *sched, struct entity *curr,
		    struct entity *target, bool alone, bool force);

#endif
