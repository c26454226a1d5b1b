// SPDX-License-Identifier: GPL-2.0
/* The simulator's machine, guests and events; see sim.h. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

#include "stock.h"
#include "test.h"

#define STACK		(32 * 1024)
#define NEVER		(~0ULL)
#define WINDOW_GROWS	2
#define WINDOW_MAX	64	/* times the window at the begin */
#define HOG		NR_WORKS

enum phase { OUTSIDE, SPINS, INSIDE, BLOCKED, DONE };

struct guest;

struct virtual_cpu {
	struct entity entity;
	struct kvm_vcpu *kvm;
	struct guest *vm;
	unsigned int index, cpu;
	enum phase phase;
	bool running, woken;
	u64 remaining;		/* of OUTSIDE or INSIDE */
	u64 overhead;		/* to pay before it goes on */
	u64 spun, window;
	struct lock *lock;
	unsigned int sections, answers;
	struct virtual_cpu **asks;	/* who interrupted it */
	unsigned int nr_asks, room_asks;
	struct coroutine exit;
	bool in_exit;
	u64 seed;
};

struct lock {
	struct virtual_cpu *holder;
	struct virtual_cpu **waiter;
	unsigned int nr, room;
};

struct guest {
	struct kvm *kvm;
	struct virtual_cpu *vcpu;
	unsigned int n, nr_locks;
	struct lock *lock;
	enum work work;
	bool hog;
	u64 used;
};

struct cpu {
	struct queue root, *group;	/* group: one per VM */
	struct entity *group_entity;
	struct virtual_cpu *curr;
	unsigned int nr;
	u64 accounted, due;
	bool resched;
	unsigned int heap_at;
	/* The others' load: until when it has the CPU, or has not. */
	bool taken;
	u64 background_at, ticks;
	u64 tick_at;
};

static struct {
	const struct config *config;
	struct sched sched;
	struct cpu *cpu;
	struct guest *vm;
	unsigned int nr_vms, left;
	u64 now, spun, used, switches;
	unsigned long long seed;
	unsigned int *heap;		/* CPUs by `due` */
	struct virtual_cpu *current;	/* in its spin exit */
	u64 exits, yields, took_effect;
	char *stacks;
} sim;

static struct virtual_cpu *of(struct kvm_vcpu *vcpu)
{
	struct guest *vm = sim.vm;

	while (vm->kvm != vcpu->kvm)
		vm++;
	return &vm->vcpu[vcpu->vcpu_idx];
}

/* Uniform from half to one and a half times @mean. */
static u64 around(u64 *seed, u64 mean)
{
	unsigned long long s = *seed;
	u64 value = mean / 2 + (u64)random_below(&s, 1 << 20) * mean / (1 << 20);

	*seed = s;
	return max(value, 1ULL);
}

/* The heap of CPUs */

static bool before(unsigned int a, unsigned int b)
{
	u64 x = sim.cpu[a].due, y = sim.cpu[b].due;

	return x < y || (x == y && a < b);
}

static void heap_put(unsigned int at, unsigned int cpu)
{
	sim.heap[at] = cpu;
	sim.cpu[cpu].heap_at = at;
}

static void due(unsigned int c, u64 time)
{
	unsigned int at = sim.cpu[c].heap_at, n = sim.config->cpus, child;

	sim.cpu[c].due = time;
	while (at && before(c, sim.heap[(at - 1) / 2])) {
		heap_put(at, sim.heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	for (;;) {
		child = 2 * at + 1;
		if (child >= n)
			break;
		if (child + 1 < n && before(sim.heap[child + 1], sim.heap[child]))
			child++;
		if (!before(sim.heap[child], c))
			break;
		heap_put(at, sim.heap[child]);
		at = child;
	}
	heap_put(at, c);
}

/* Time passes on a CPU */

static void account(unsigned int c)
{
	struct cpu *cpu = &sim.cpu[c];
	struct virtual_cpu *v = cpu->curr;
	u64 delta = sim.now - cpu->accounted, part;

	cpu->accounted = sim.now;
	if (!v || cpu->taken || !delta)
		return;
	v->vm->used += delta;
	sim.used += delta;
	cpu->resched |= sched_account(&sim.sched, &v->entity, delta);
	part = min(delta, v->overhead);
	v->overhead -= part;
	delta -= part;
	if (v->phase == SPINS) {
		v->spun += delta;
		sim.spun += delta;
	} else {
		v->remaining -= min(delta, v->remaining);
	}
	/* What an exit costs a spinner is spun as well. */
	if (v->phase == SPINS)
		sim.spun += part;
}

static bool exits(struct virtual_cpu *v)
{
	return sim.config->policy != GUEST && !v->vm->hog;
}

/* When something happens on a CPU next, if nobody interferes. */
static void plan(unsigned int c)
{
	struct cpu *cpu = &sim.cpu[c];
	struct virtual_cpu *v = cpu->curr;
	u64 time = min(cpu->tick_at, cpu->background_at);

	if (v && !cpu->taken) {
		u64 left = v->overhead;

		if (v->phase != SPINS)
			time = min(time, sim.now + left + v->remaining);
		else if (exits(v))
			time = min(time, sim.now + left +
				   v->window - min(v->spun, v->window));
	}
	due(c, time);
}

/* Locks */

static void enlist(struct virtual_cpu ***list, unsigned int *nr,
		   unsigned int *room, struct virtual_cpu *v)
{
	if (*nr == *room) {
		*room = *room ? 2 * *room : 8;
		*list = realloc(*list, *room * sizeof(**list));
	}
	(*list)[(*nr)++] = v;
}

static void enter(struct virtual_cpu *v, struct lock *lock)
{
	lock->holder = v;
	v->phase = INSIDE;
	v->spun = 0;
	v->remaining = around(&v->seed, sim.config->critical);
}

static void leave_queue(struct lock *lock, unsigned int i)
{
	memmove(&lock->waiter[i], &lock->waiter[i + 1],
		(--lock->nr - i) * sizeof(*lock->waiter));
}

static void wake(struct virtual_cpu *v);

static bool on_cpu(struct virtual_cpu *v)
{
	return v->running && !v->in_exit && !sim.cpu[v->cpu].taken;
}

static void release(struct lock *lock)
{
	struct virtual_cpu *v;
	unsigned int i, n = 0, chosen = 0;

	lock->holder = NULL;
	if (!lock->nr)
		return;
	if (sim.config->work == TAS) {
		for (i = 0; i < lock->nr; i++) {
			if (on_cpu(lock->waiter[i]) &&
			    !random_below(&sim.seed, ++n))
				chosen = i;
		}
		if (!n)
			return;
	}
	v = lock->waiter[chosen];
	leave_queue(lock, chosen);
	if (v->running)
		account(v->cpu);
	enter(v, lock);
	if (v->running)
		plan(v->cpu);
	else if (sim.config->work == MUTEX)
		wake(v);
}

static void try_again(struct virtual_cpu *v)
{
	struct lock *lock = v->lock;
	unsigned int i;

	if (v->phase != SPINS || sim.config->work != TAS || lock->holder)
		return;
	for (i = 0; lock->waiter[i] != v; i++)
		;
	leave_queue(lock, i);
	enter(v, lock);
}

/* Interrupts that are answered */

static void done(struct virtual_cpu *v);

static void answer(struct virtual_cpu *v)
{
	struct virtual_cpu *by;

	while (v->nr_asks) {
		by = v->asks[--v->nr_asks];
		v->overhead += sim.config->ipi_cost;
		if (--by->answers)
			continue;
		if (by->running && by != v)
			account(by->cpu);
		by->phase = OUTSIDE;
		by->spun = 0;
		done(by);
		if (by->running && by != v)
			plan(by->cpu);
	}
	WRITE_ONCE(v->kvm->arch.pending_interrupt, false);
}

static void ask_all(struct virtual_cpu *v)
{
	unsigned int i;

	v->phase = SPINS;
	v->spun = 0;
	v->answers = 0;
	for (i = 0; i < v->vm->n; i++) {
		struct virtual_cpu *to = &v->vm->vcpu[i];

		if (to == v || to->phase == DONE)
			continue;
		v->answers++;
		enlist(&to->asks, &to->nr_asks, &to->room_asks, v);
		WRITE_ONCE(to->kvm->arch.pending_interrupt,
			   sim.config->sees_interrupts);
	}
	if (!v->answers) {
		v->phase = OUTSIDE;
		done(v);
		return;
	}
	for (i = 0; i < v->vm->n; i++) {
		struct virtual_cpu *to = &v->vm->vcpu[i];

		if (to != v && on_cpu(to)) {
			account(to->cpu);
			answer(to);
			plan(to->cpu);
		}
	}
}

/* What a vCPU does next, when it has come to an end of something */

static void done(struct virtual_cpu *v)
{
	v->sections++;
	if (sim.config->iterations && v->sections == sim.config->iterations) {
		v->phase = DONE;
		sim.left--;
		return;
	}
	v->phase = OUTSIDE;
	v->remaining = around(&v->seed, sim.config->noncritical);
}

static void advance(struct virtual_cpu *v)
{
	unsigned long long seed = v->seed;
	struct lock *lock;

	if (v->vm->hog) {
		v->remaining = 1000000000;
		return;
	}
	if (v->phase == INSIDE) {
		lock = v->lock;
		done(v);
		release(lock);
		return;
	}
	if (v->vm->work == IPI) {
		ask_all(v);
		return;
	}
	lock = &v->vm->lock[random_below(&seed, v->vm->nr_locks)];
	v->seed = seed;
	v->lock = lock;
	if (!lock->holder && (!lock->nr || v->vm->work == TAS)) {
		enter(v, lock);
		return;
	}
	enlist(&lock->waiter, &lock->nr, &lock->room, v);
	v->spun = 0;
	v->phase = v->vm->work == MUTEX ? BLOCKED : SPINS;
}

/* Scheduling */

static struct queue *queue_of(struct virtual_cpu *v, unsigned int c)
{
	return sim.config->groups ? &sim.cpu[c].group[v->vm - sim.vm] :
				    &sim.cpu[c].root;
}

static void put_on(struct virtual_cpu *v, unsigned int c)
{
	v->cpu = c;
	v->entity.queue = queue_of(v, c);
	sched_enqueue(&sim.sched, &v->entity);
	sim.cpu[c].nr++;
}

static void take_off(struct virtual_cpu *v)
{
	sched_dequeue(&sim.sched, &v->entity);
	sim.cpu[v->cpu].nr--;
}

static struct virtual_cpu *vcpu_of(struct entity *entity)
{
	return container_of(entity, struct virtual_cpu, entity);
}

static void switch_out(struct cpu *cpu)
{
	struct virtual_cpu *v = cpu->curr;
	bool runnable = v->phase != BLOCKED && v->phase != DONE;

	WRITE_ONCE(v->kvm->arch.in_kernel, v->in_exit || v->phase == SPINS ||
		   v->phase == INSIDE);
	vcpu_sched_out(v->kvm, runnable);
	if (runnable)
		stock_sched_out(v->kvm);
	v->running = false;
	cpu->curr = NULL;
}

static void switch_in(struct cpu *cpu, struct virtual_cpu *v)
{
	cpu->curr = v;
	v->kvm->cpu = v->cpu;
	v->running = true;
	vcpu_sched_in(v->kvm);
	stock_sched_in(v->kvm);
	if (v->woken)
		vcpu_unblock(v->kvm);
	v->woken = false;
	v->overhead += sim.config->switch_cost;
	v->window = sim.config->window;
	sim.switches++;
}

static void run_exit(unsigned int c, struct virtual_cpu *v);

/* Take a vCPU that waits on the busiest CPU, if that has @more than this one. */
static void pull(unsigned int c, unsigned int more)
{
	unsigned int i, busiest = c;
	struct guest *vm;

	if (sim.config->pinned)
		return;
	for (i = 0; i < sim.config->cpus; i++) {
		if (sim.cpu[i].nr > sim.cpu[busiest].nr)
			busiest = i;
	}
	if (sim.cpu[busiest].nr < sim.cpu[c].nr + more)
		return;
	for (vm = sim.vm; vm < sim.vm + sim.nr_vms; vm++) {
		struct queue *queue = sim.config->groups ?
			&sim.cpu[busiest].group[vm - sim.vm] : &sim.cpu[busiest].root;

		for (i = 0; i < queue->nr; i++) {
			struct virtual_cpu *v;

			if (queue->member[i]->mine)
				continue;
			v = vcpu_of(queue->member[i]);
			if (v->running)
				continue;
			take_off(v);
			put_on(v, c);
			return;
		}
	}
}

/* Choose who runs on a CPU, and let a spin exit that waited go on. */
static void schedule(unsigned int c)
{
	struct cpu *cpu = &sim.cpu[c];
	struct virtual_cpu *prev, *next;

	for (;;) {
		account(c);
		cpu->resched = false;
		prev = cpu->curr;
		if (prev && (prev->phase == BLOCKED || prev->phase == DONE)) {
			if (prev->phase == BLOCKED && !prev->woken)
				vcpu_block(prev->kvm);
			sched_switch(&prev->entity, NULL);
			switch_out(cpu);
			take_off(prev);
			prev = NULL;
		}
		if (!cpu->nr)
			pull(c, 2);
		if (!cpu->nr) {
			plan(c);
			return;
		}
		next = vcpu_of(sched_pick(&cpu->root));
		if (next != prev) {
			sched_switch(prev ? &prev->entity : NULL, &next->entity);
			if (prev)
				switch_out(cpu);
			switch_in(cpu, next);
		}
		if (next->in_exit) {
			run_exit(c, next);
			if (next->in_exit)
				continue;
		}
		answer(next);
		try_again(next);
		if (!cpu->resched && next->phase != DONE) {
			plan(c);
			return;
		}
	}
}

static void reschedule_others(unsigned int c)
{
	account(c);
	sim.cpu[c].resched = true;
	/* An interprocessor interrupt; handled as the next event there. */
	due(c, sim.now);
}

static void wake(struct virtual_cpu *v)
{
	unsigned int i, c = v->cpu;
	struct cpu *cpu;

	for (i = 0; i < sim.config->cpus && sim.cpu[c].nr && !sim.config->pinned; i++) {
		if (!sim.cpu[(v->cpu + i) % sim.config->cpus].nr)
			c = (v->cpu + i) % sim.config->cpus;
	}
	vcpu_send_event(v->kvm);
	stock_woken(v->kvm);
	v->woken = true;
	v->overhead += sim.config->wake_cost;
	cpu = &sim.cpu[c];
	account(c);
	put_on(v, c);
	if (!cpu->curr || sched_preempts(&v->entity, &cpu->curr->entity))
		reschedule_others(c);
}

/* The scheduler's yield_to(), called by the core from within a spin exit */

int yield_to(struct task_struct *task, bool preempt)
{
	struct virtual_cpu *me = sim.current, *target = of(task->vcpu);
	struct cpu *cpu = &sim.cpu[me->cpu], *other = &sim.cpu[target->cpu];

	me->overhead += sim.config->yield_cost;
	sim.yields++;
	if (cpu->nr == 1 && other->nr == 1)
		return -3;
	if (target->running || target->phase == DONE || !target->entity.queued)
		return 0;
	sched_yield_to(&sim.sched, &me->entity, &target->entity,
		       cpu->nr == 1, sim.config->policy == ORACLE);
	if (cpu != other)
		reschedule_others(target->cpu);
	sim.took_effect++;
	coroutine_pause(&me->exit);
	return 1;
}

/* Whom a spinner waits for, and who has no CPU. */
static struct virtual_cpu *culprit(struct virtual_cpu *me)
{
	unsigned int i;

	if (me->vm->work != IPI)
		return me->lock->holder && !me->lock->holder->running ?
			me->lock->holder : NULL;
	for (i = 0; i < me->vm->n; i++) {
		struct virtual_cpu *v = &me->vm->vcpu[i];

		if (v->nr_asks && !v->running && v != me)
			return v;
	}
	return NULL;
}

static void spin_exit(void *data)
{
	struct virtual_cpu *me = data, *target;

	switch (sim.config->policy) {
	case STOCK:
		me->overhead += me->vm->n * 19;
		stock_on_spin(me->kvm, true);
		break;
	case CORE:
		me->overhead += 160;
		kvm_vcpu_on_spin(me->kvm, true);
		break;
	default:
		target = culprit(me);
		if (target)
			kvm_vcpu_yield_to(target->kvm);
	}
}

static void run_exit(unsigned int c, struct virtual_cpu *v)
{
	sim.current = v;
	stub_loaded = v->kvm;
	coroutine_run(&v->exit);
	v->in_exit = !v->exit.ended;
}

static void begin_exit(unsigned int c, struct virtual_cpu *v)
{
	sim.exits++;
	v->spun = 0;
	v->overhead += sim.config->exit_cost;
	v->in_exit = true;
	if (v->window < sim.config->window * WINDOW_MAX)
		v->window *= WINDOW_GROWS;
	coroutine_prepare(&v->exit, spin_exit, v, v->exit.stack, STACK);
	run_exit(c, v);
	if (v->in_exit)
		sim.cpu[c].resched = true;
}

/* Events */

static void background(unsigned int c)
{
	struct cpu *cpu = &sim.cpu[c];
	u64 period = 10000000, part = period * sim.config->background / 100;

	account(c);
	cpu->taken = !cpu->taken;
	cpu->background_at = sim.now +
		around((u64 *)&sim.seed, cpu->taken ? part : period - part);
	/* To its vCPU it is a preemption. */
	if (cpu->curr && cpu->taken) {
		WRITE_ONCE(cpu->curr->kvm->arch.in_kernel,
			   cpu->curr->phase != OUTSIDE);
		vcpu_sched_out(cpu->curr->kvm, true);
		stock_sched_out(cpu->curr->kvm);
	} else if (cpu->curr) {
		vcpu_sched_in(cpu->curr->kvm);
		stock_sched_in(cpu->curr->kvm);
		answer(cpu->curr);
		try_again(cpu->curr);
	}
}

static void event(unsigned int c)
{
	struct cpu *cpu = &sim.cpu[c];
	struct virtual_cpu *v;

	account(c);
	if (sim.now >= cpu->background_at)
		background(c);
	if (sim.now >= cpu->tick_at) {
		cpu->tick_at += sim.config->tick;
		if (++cpu->ticks % 4 == 0)
			pull(c, 2);
	}
	v = cpu->curr;
	if (v && !cpu->taken && !v->overhead) {
		if (v->phase == SPINS) {
			if (exits(v) && v->spun >= v->window)
				begin_exit(c, v);
		} else if (v->phase != BLOCKED && v->phase != DONE && !v->remaining) {
			advance(v);
		}
	}
	if (cpu->taken) {
		plan(c);
		return;
	}
	if (cpu->resched || !cpu->curr || cpu->curr->phase == BLOCKED ||
	    cpu->curr->phase == DONE)
		schedule(c);
	else
		plan(c);
}

/* Making and ending a world */

static void make_vm(struct guest *vm, unsigned int n, bool hog, unsigned int *spread)
{
	const struct config *config = sim.config;
	unsigned int i;

	vm->kvm = vm_create(n);
	vm->n = n;
	vm->hog = hog;
	vm->work = config->work;
	vm->nr_locks = config->locks ? : max(1U, n / 4);
	vm->lock = calloc(vm->nr_locks, sizeof(*vm->lock));
	vm->vcpu = calloc(n, sizeof(*vm->vcpu));
	for (i = 0; i < n; i++) {
		struct virtual_cpu *v = &vm->vcpu[i];

		v->kvm = vm->kvm->vcpu_array[i];
		v->vm = vm;
		v->index = i;
		v->seed = config->seed * 1000003 + (vm - sim.vm) * 4099 + i;
		around(&v->seed, 10);
		v->remaining = hog ? 1000000000 : around(&v->seed, config->noncritical);
		v->exit.stack = malloc(STACK);
		WRITE_ONCE(v->kvm->preempted, true);
		kvm_dy_ready_sched_out(v->kvm);
		stock_sched_out(v->kvm);
		put_on(v, config->pinned ? i % config->cpus : (*spread)++ % config->cpus);
		sim.left += !hog;
	}
}

static void make(const struct config *config)
{
	unsigned int i, j, spread = 0;

	memset(&sim, 0, sizeof(sim));
	sim.config = config;
	sim.seed = config->seed;
	sim.sched = (struct sched){
		.slice = config->slice,
		.groups = config->groups,
		.yield_level = config->yield_level,
		.yield_paid = config->yield_paid,
	};
	sim.nr_vms = config->vms + !!config->hogs;
	sim.cpu = calloc(config->cpus, sizeof(*sim.cpu));
	sim.heap = calloc(config->cpus, sizeof(*sim.heap));
	sim.vm = calloc(sim.nr_vms, sizeof(*sim.vm));
	for (i = 0; i < config->cpus; i++) {
		struct cpu *cpu = &sim.cpu[i];

		cpu->group = calloc(sim.nr_vms, sizeof(*cpu->group));
		cpu->group_entity = calloc(sim.nr_vms, sizeof(*cpu->group_entity));
		for (j = 0; j < sim.nr_vms; j++) {
			cpu->group[j].group = &cpu->group_entity[j];
			cpu->group_entity[j].mine = &cpu->group[j];
			cpu->group_entity[j].queue = &cpu->root;
		}
		cpu->tick_at = 1 + around((u64 *)&sim.seed, config->tick);
		cpu->background_at = config->background ?
			around((u64 *)&sim.seed, 5000000) : NEVER;
		heap_put(i, i);
	}
	for (i = 0; i < config->vms; i++)
		make_vm(&sim.vm[i], config->vcpus[i], false, &spread);
	if (config->hogs)
		make_vm(&sim.vm[i], config->hogs, true, &spread);
}

static void end(void)
{
	unsigned int i, j;

	for (i = 0; i < sim.nr_vms; i++) {
		struct guest *vm = &sim.vm[i];

		for (j = 0; j < vm->n; j++) {
			free(vm->vcpu[j].exit.stack);
			free(vm->vcpu[j].asks);
		}
		for (j = 0; j < vm->nr_locks; j++)
			free(vm->lock[j].waiter);
		free(vm->lock);
		free(vm->vcpu);
		vm_destroy(vm->kvm);
	}
	for (i = 0; i < sim.config->cpus; i++) {
		free(sim.cpu[i].root.member);
		for (j = 0; j < sim.nr_vms; j++)
			free(sim.cpu[i].group[j].member);
		free(sim.cpu[i].group);
		free(sim.cpu[i].group_entity);
	}
	free(sim.cpu);
	free(sim.heap);
	free(sim.vm);
	stub_task_refs = 0;
}

static struct result results(void)
{
	struct result result = {
		.time = sim.now,
		.wasted = (double)sim.spun / max(sim.used, 1ULL),
		.exits = sim.exits,
		.yields = sim.yields,
		.took_effect = sim.took_effect,
		.switches = sim.switches,
		.used = sim.used,
	};
	double worst = 0, best = 0, rate;
	unsigned int i, j;

	for (i = 0; i < sim.config->vms; i++) {
		u64 sections = 0;

		for (j = 0; j < sim.vm[i].n; j++)
			sections += sim.vm[i].vcpu[j].sections;
		result.sections += sections;
		rate = (double)sections / sim.vm[i].n;
		worst = !i || rate < worst ? rate : worst;
		best = rate > best ? rate : best;
	}
	result.fairness = best ? worst / best : 0;
	if (sim.config->hogs)
		result.hog_share = (double)sim.vm[i].used / max(sim.used, 1ULL);
	return result;
}

struct result simulate(const struct config *config)
{
	struct result result;

	make(config);
	while (sim.left) {
		unsigned int c = sim.heap[0];

		if (sim.cpu[c].due >= config->end)
			break;
		sim.now = sim.cpu[c].due;
		event(c);
	}
	if (sim.left)
		sim.now = config->end;
	result = results();
	end();
	return result;
}
