// SPDX-License-Identifier: GPL-2.0
/*
 * Properties of the choice and of the set, in random VMs with random steps.
 * The explorer (order_test.c) and real threads (threads.c) do the interleaving.
 */
#include "yield_script.h"

#define SEEDS	300
#define STEPS	400

/* What the vCPU really does, kept apart from what the core knows. */
enum truth { RUNS, PREEMPTED, SLEEPS, WOKEN };

struct world {
	struct kvm *kvm;
	unsigned long long seed;
	unsigned int n;
	enum truth truth[200];
};

static struct world *w;
static bool exit_in_kernel;
static struct kvm_vcpu *exit_spinner;

static bool may_be_chosen(struct kvm_vcpu *v)
{
	switch (w->truth[v->vcpu_idx]) {
	case PREEMPTED:
		return !exit_in_kernel || v->arch.in_kernel ||
		       v->arch.pending_interrupt;
	case WOKEN:
		return true;
	default:
		return false;
	}
}

static int answer(struct kvm_vcpu *target)
{
	EXPECT(target != exit_spinner);
	EXPECT(target->kvm == w->kvm);
	EXPECT(target->stub_task);
	EXPECT(may_be_chosen(target));
	if (!random_below(&w->seed, 4))
		return 0;
	return random_below(&w->seed, 8) ? 1 : -3;
}

static void step(void)
{
	unsigned int i = random_below(&w->seed, w->n);
	struct kvm_vcpu *v = w->kvm->vcpu_array[i];

	v->arch.pending_interrupt = !random_below(&w->seed, 4);
	switch (w->truth[i]) {
	case RUNS:
		switch (random_below(&w->seed, 4)) {
		case 0:
			vcpu_preempt(v, random_below(&w->seed, 2));
			w->truth[i] = PREEMPTED;
			break;
		case 1:
			EXPECT(vcpu_block(v));
			vcpu_sched_out(v, false);
			w->truth[i] = SLEEPS;
			break;
		case 2:
			v->dy.spinning = random_below(&w->seed, 2);
			break;
		case 3:
			/* A mark that a slow waker left. */
			set_bit(i, w->kvm->dy_ready.map);
			break;
		}
		break;
	case SLEEPS:
		vcpu_send_event(v);
		w->truth[i] = WOKEN;
		break;
	case PREEMPTED:
	case WOKEN:
		if (!random_below(&w->seed, 8)) {
			if (v->stub_task)
				vcpu_thread_exit(v);
			else
				vcpu_thread_start(v);
		} else if (v->stub_task) {
			vcpu_sched_in(v);
			vcpu_unblock(v);
			w->truth[i] = RUNS;
		}
		break;
	}
}

/* Lost not: at all times; stale allowed: until somebody looks. */
static void check_set(bool looked, unsigned int spinner)
{
	unsigned int i;

	for (i = 0; i < w->n; i++) {
		bool mark = test_bit(i, w->kvm->dy_ready.map);
		bool wants = w->truth[i] == PREEMPTED || w->truth[i] == WOKEN;

		EXPECT(mark || !wants);
		if (looked && i != spinner)
			EXPECT(wants || !mark);
	}
	for (; i < KVM_MAX_VCPUS; i++)
		EXPECT(!test_bit(i, w->kvm->dy_ready.map));
}

static void exit_of(unsigned int i)
{
	struct kvm_vcpu *v = w->kvm->vcpu_array[i];
	unsigned int negative = 0, j;
	bool candidates = false;

	exit_spinner = v;
	exit_in_kernel = random_below(&w->seed, 2);
	for (j = 0; j < w->n; j++)
		candidates |= j != i && w->kvm->vcpu_array[j]->stub_task &&
			      may_be_chosen(w->kvm->vcpu_array[j]);
	spin(v, exit_in_kernel);
	EXPECT(candidates == !!nr_yields);
	EXPECT_EQ(stub_foreign_reads, 0);
	for (j = 0; j + 1 < nr_yields; j++)
		for (negative = j + 1; negative < nr_yields; negative++)
			EXPECT(yielded[j] != yielded[negative]);
	if (!nr_yields)
		check_set(true, i);
}

static void in_random_worlds(void (*property)(void), unsigned int seeds)
{
	unsigned int seed;

	for (seed = 1; seed <= seeds; seed++) {
		struct world world = { .seed = seed };
		unsigned int i;

		w = &world;
		w->n = 2 + random_below(&w->seed, seed % 2 ? 10 : 190);
		w->kvm = vm_create(w->n);
		for (i = 0; i < STEPS; i++) {
			step();
			property();
		}
		vm_destroy(w->kvm);
	}
}

static void set_is_true(void)
{
	check_set(false, 0);
}

TEST(random_ready_vcpu_is_never_lost)
{
	in_random_worlds(set_is_true, SEEDS);
}

static void exit_is_right(void)
{
	unsigned int i = random_below(&w->seed, w->n);

	if (w->truth[i] == RUNS)
		exit_of(i);
	check_set(false, 0);
}

TEST(random_only_candidates_and_always_one_if_there_is)
{
	yield_answer = answer;
	in_random_worlds(exit_is_right, SEEDS);
}

static unsigned int boosted_count[200];

static int takes_effect(struct kvm_vcpu *target)
{
	boosted_count[target->vcpu_idx]++;
	return 1;
}

/* Whatever one spinner's state: all are boosted within 2 exits per candidate. */
static void all_are_reached(void)
{
	unsigned int i, candidates = 0;

	exit_in_kernel = random_below(&w->seed, 2);
	for (i = 1; i < w->n; i++) {
		boosted_count[i] = 0;
		candidates += w->kvm->vcpu_array[i]->stub_task &&
			      may_be_chosen(w->kvm->vcpu_array[i]);
	}
	if (random_below(&w->seed, 20))
		return;
	for (i = 0; i < 2 * candidates; i++)
		spin(w->kvm->vcpu_array[0], exit_in_kernel);
	for (i = 1; i < w->n; i++)
		EXPECT(boosted_count[i] ||
		       !(w->kvm->vcpu_array[i]->stub_task &&
			 may_be_chosen(w->kvm->vcpu_array[i])));
}

TEST(random_each_candidate_is_reached)
{
	yield_answer = takes_effect;
	in_random_worlds(all_are_reached, SEEDS);
}
