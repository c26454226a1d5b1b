// SPDX-License-Identifier: GPL-2.0
/* The rules of the choice: directed_yield.c */
#include "yield_script.h"

static int takes_no_effect(struct kvm_vcpu *target)
{
	return 0;
}

static int not_contended(struct kvm_vcpu *target)
{
	return -3;
}

static struct kvm_vcpu *vcpu(struct kvm *kvm, int i)
{
	return kvm->vcpu_array[i];
}

TEST(choice_nobody_ready_nobody_tried)
{
	struct kvm *kvm = vm_create(8);

	EXPECT(!spin(vcpu(kvm, 0), false));
	EXPECT(!spin(vcpu(kvm, 0), true));
}

TEST(choice_preempted_in_kernel_is_yielded_to)
{
	struct kvm *kvm = vm_create(8);

	vcpu_preempt(vcpu(kvm, 5), true);
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 5));
	EXPECT(spin(vcpu(kvm, 0), false) == vcpu(kvm, 5));
}

TEST(choice_never_oneself)
{
	struct kvm *kvm = vm_create(4);

	/* Marked, as one that gave way in its last exit may still be. */
	vcpu_preempt(vcpu(kvm, 2), true);
	EXPECT(!spin(vcpu(kvm, 2), true));
	EXPECT_EQ(vcpu(kvm, 2)->stat.generic.dy.no_candidate, 1);
}

TEST(choice_kernel_spinner_skips_user_mode)
{
	struct kvm *kvm = vm_create(4);

	vcpu_preempt(vcpu(kvm, 1), false);
	EXPECT(!spin(vcpu(kvm, 0), true));
	vcpu_preempt(vcpu(kvm, 3), true);
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 3));
	EXPECT_EQ(nr_yields, 1);
}

TEST(choice_user_spinner_takes_any_mode)
{
	struct kvm *kvm = vm_create(4);

	vcpu_preempt(vcpu(kvm, 1), false);
	EXPECT(spin(vcpu(kvm, 0), false) == vcpu(kvm, 1));
}

TEST(choice_pending_interrupt_beats_user_mode)
{
	struct kvm *kvm = vm_create(4);

	vcpu_preempt(vcpu(kvm, 1), false);
	vcpu(kvm, 1)->arch.pending_interrupt = true;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
}

TEST(choice_woken_goes_on_in_kernel)
{
	struct kvm *kvm = vm_create(4);

	/* Its last mode was user mode; it is not preempted, so none counts. */
	vcpu_make_woken(vcpu(kvm, 1));
	vcpu(kvm, 1)->arch.in_kernel = false;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
}

TEST(choice_round_robin_from_the_last_boosted)
{
	struct kvm *kvm = vm_create(6);
	int i;

	for (i = 1; i < 6; i++)
		vcpu_preempt(vcpu(kvm, i), true);
	/* Whatever way: they are all reached in turn, behind the last one. */
	for (i = 0; i < 20; i++)
		EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1 + i % 5));
}

TEST(choice_begins_behind_the_last_boosted_and_wraps)
{
	struct kvm *kvm = vm_create(6);

	vcpu_preempt(vcpu(kvm, 1), true);
	vcpu_preempt(vcpu(kvm, 4), true);
	kvm->dy.last_boosted[0] = 3;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 4));
	EXPECT_EQ(kvm->dy.last_boosted[0], 4);
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
	EXPECT_EQ(kvm->dy.last_boosted[0], 1);
}

TEST(choice_last_boosted_may_be_any_number)
{
	struct kvm *kvm = vm_create(3);

	vcpu_preempt(vcpu(kvm, 1), true);
	kvm->dy.last_boosted[0] = 2;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
	kvm->dy.last_boosted[0] = KVM_MAX_VCPUS - 1;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
}

TEST(choice_each_rank_goes_its_own_round)
{
	struct kvm *kvm = vm_create(6);
	int i, got[6] = {};

	/* The one that works gets every other yield; the rest is spread evenly. */
	for (i = 1; i < 6; i++) {
		vcpu_preempt(vcpu(kvm, i), true);
		vcpu(kvm, i)->dy.spinning = i != 3;
	}
	for (i = 0; i < 40; i++)
		got[spin(vcpu(kvm, 0), true)->vcpu_idx]++;
	EXPECT_EQ(got[3], 20);
	for (i = 1; i < 6; i++)
		EXPECT_EQ(got[i], i == 3 ? 20 : 5);
}

/* Spinners are looked for among a few only, from where the last search ended. */
TEST(choice_search_for_spinners_is_bounded_and_goes_on)
{
	struct kvm *kvm = vm_create(102);
	unsigned int i, exits = 0;

	for (i = 1; i < 102; i++)
		vcpu_preempt(vcpu(kvm, i), true);
	vcpu(kvm, 100)->dy.spinning = true;
	vcpu(kvm, 0)->dy.spinners_first = true;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
	/* 8 of them each time. */
	while (spin(vcpu(kvm, 0), true) != vcpu(kvm, 100))
		EXPECT(++exits < 20);
	EXPECT_EQ(exits, 11);
	EXPECT_EQ(kvm->dy.last_boosted[1], 100);
}

/* A lock holder is found behind any number of those who wait for it. */
TEST(choice_search_for_others_is_not_bounded)
{
	struct kvm *kvm = vm_create(102);
	unsigned int i;

	for (i = 1; i < 102; i++) {
		vcpu_preempt(vcpu(kvm, i), true);
		vcpu(kvm, i)->dy.spinning = i != 101;
	}
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 101));
}

/* Nor is it when it is the last thing to try. */
TEST(choice_last_search_is_not_bounded)
{
	struct kvm *kvm = vm_create(102);
	unsigned int i;

	for (i = 1; i < 102; i++)
		vcpu_preempt(vcpu(kvm, i), true);
	vcpu(kvm, 101)->dy.spinning = true;
	yield_answer = takes_no_effect;
	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(nr_yields, 101);
}

/* Who gives up for the others' sake must find one there. */
TEST(choice_passes_over_only_who_would_do)
{
	struct kvm *kvm = vm_create(102);
	unsigned int i;

	for (i = 1; i < 102; i++)
		vcpu_preempt(vcpu(kvm, i), i == 101);
	vcpu(kvm, 101)->dy.spinning = true;
	vcpu(kvm, 0)->dy.spinners_first = true;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 101));
}

TEST(choice_only_a_yield_that_took_effect_moves_the_turn)
{
	struct kvm *kvm = vm_create(4);

	vcpu_preempt(vcpu(kvm, 2), true);
	yield_answer = takes_no_effect;
	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(kvm->dy.last_boosted[0], 0);
}

TEST(choice_no_effect_tries_the_next_one)
{
	struct kvm *kvm = vm_create(9);
	unsigned int seen = 0;
	int i;

	for (i = 1; i < 9; i++)
		vcpu_preempt(vcpu(kvm, i), true);
	yield_answer = takes_no_effect;
	spin(vcpu(kvm, 0), true);
	/* Each once, and none twice. */
	EXPECT_EQ(nr_yields, 8);
	for (i = 0; i < 8; i++)
		seen |= 1 << yielded[i]->vcpu_idx;
	EXPECT_EQ(seen, 0x1fe);
}

TEST(choice_ends_with_the_first_that_takes_effect)
{
	struct kvm *kvm = vm_create(9);
	int i;

	for (i = 1; i < 9; i++)
		vcpu_preempt(vcpu(kvm, i), true);
	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(nr_yields, 1);
}

TEST(choice_stops_where_cpus_are_not_contended)
{
	struct kvm *kvm = vm_create(64);
	int i;

	for (i = 1; i < 64; i++)
		vcpu_preempt(vcpu(kvm, i), true);
	kvm->dy.last_boosted[0] = 62;
	yield_answer = not_contended;
	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(nr_yields, 3);
}

static struct kvm_vcpu *must_spin;

static int spinner_gives_way(struct kvm_vcpu *target)
{
	EXPECT(must_spin->dy.spinning);
	return 1;
}

TEST(choice_spins_only_inside_the_exit)
{
	struct kvm *kvm = vm_create(4);

	must_spin = vcpu(kvm, 0);
	vcpu_preempt(vcpu(kvm, 1), true);
	yield_answer = spinner_gives_way;
	spin(must_spin, true);
	EXPECT_EQ(nr_yields, 1);
	EXPECT(!must_spin->dy.spinning);
}

TEST(choice_thread_that_exited_is_passed_over)
{
	struct kvm *kvm = vm_create(4);

	vcpu_preempt(vcpu(kvm, 1), true);
	vcpu_preempt(vcpu(kvm, 2), true);
	vcpu_thread_exit(vcpu(kvm, 1));
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 2));
	EXPECT_EQ(nr_yields, 1);
	vcpu_thread_start(vcpu(kvm, 1));
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
}

TEST(choice_vcpu_that_never_ran_is_passed_over)
{
	struct kvm *kvm = vm_create(2);
	struct kvm_vcpu *new = vcpu_alloc(kvm, 2);
	struct pid *pid = new->pid;

	vcpu_store(new);
	vcpu_online(new);
	vcpu_preempt(new, true);
	new->pid = NULL;
	EXPECT(!spin(vcpu(kvm, 0), true));
	EXPECT_EQ(kvm_vcpu_yield_to(new), 0);
	new->pid = pid;
}

TEST(choice_named_target_is_asked_for_in_any_state)
{
	struct kvm *kvm = vm_create(2);

	yield_answer = not_contended;
	EXPECT_EQ(kvm_vcpu_yield_to(vcpu(kvm, 1)), -3);
	*stub_param_directed_yield = false;
	kvm->dy.enabled = false;
	EXPECT_EQ(kvm_vcpu_yield_to(vcpu(kvm, 1)), -3);
	EXPECT_EQ(nr_yields, 2);
}

TEST(switch_of_the_host)
{
	struct kvm *kvm = vm_create(4);

	EXPECT(*stub_param_directed_yield);
	vcpu_preempt(vcpu(kvm, 1), true);
	*stub_param_directed_yield = false;
	EXPECT(!spin(vcpu(kvm, 0), true));
	*stub_param_directed_yield = true;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
}

TEST(switch_of_one_vm)
{
	struct kvm *kvm = vm_create(4), *other = vm_create(4);

	EXPECT(stub_debugfs_value == &other->dy.enabled);
	EXPECT(other->dy.enabled);
	vcpu_preempt(vcpu(kvm, 1), true);
	vcpu_preempt(vcpu(other, 1), true);
	*stub_debugfs_value = false;
	EXPECT(!spin(vcpu(other, 0), true));
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
}

TEST(choice_never_another_vm)
{
	struct kvm *kvm = vm_create(4), *other = vm_create(4);

	vcpu_preempt(vcpu(other, 1), true);
	EXPECT(!spin(vcpu(kvm, 0), false));
}

TEST(statistics_count_each_exit)
{
	struct kvm *kvm = vm_create(4);
	struct kvm_dy_vcpu_stat *stat = &vcpu(kvm, 0)->stat.generic.dy;

	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(stat->exits, 1);
	EXPECT_EQ(stat->no_candidate, 1);

	vcpu_preempt(vcpu(kvm, 1), true);
	vcpu_preempt(vcpu(kvm, 2), true);
	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(stat->exits, 2);
	EXPECT_EQ(stat->tried, 1);
	EXPECT_EQ(stat->took_effect, 1);

	yield_answer = takes_no_effect;
	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(stat->exits, 3);
	EXPECT_EQ(stat->tried, 3);
	EXPECT_EQ(stat->took_effect, 1);
	EXPECT_EQ(stat->no_candidate, 1);

	kvm->dy.enabled = false;
	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(stat->exits, 4);
	EXPECT_EQ(stat->no_candidate, 1);
	/* They are those of the spinner alone. */
	EXPECT_EQ(vcpu(kvm, 1)->stat.generic.dy.exits, 0);
}

TEST(trace_tells_each_exit)
{
	struct trace_kvm_directed_yield *event = &stub_trace_kvm_directed_yield;
	struct kvm *kvm = vm_create(4);

	vcpu(kvm, 0)->vcpu_id = 70;
	vcpu(kvm, 1)->vcpu_id = 71;
	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(event->count, 1);
	EXPECT_EQ(event->vcpu_id, 70);
	EXPECT_EQ(event->in_kernel, true);
	EXPECT_EQ(event->tried, 0);
	EXPECT_EQ(event->boosted, -1);

	vcpu_preempt(vcpu(kvm, 1), true);
	spin(vcpu(kvm, 0), false);
	EXPECT_EQ(event->count, 2);
	EXPECT_EQ(event->in_kernel, false);
	EXPECT_EQ(event->ready, 1);
	EXPECT_EQ(event->tried, 1);
	EXPECT_EQ(event->boosted, 71);

	kvm->dy.enabled = false;
	spin(vcpu(kvm, 0), false);
	EXPECT_EQ(event->count, 2);
}
