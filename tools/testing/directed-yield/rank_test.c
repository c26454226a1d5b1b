// SPDX-License-Identifier: GPL-2.0
/* The ranks of the choice: those that do not spin, and those that do. */
#include "yield_script.h"

static struct kvm_vcpu *vcpu(struct kvm *kvm, int i)
{
	return kvm->vcpu_array[i];
}

static int takes_no_effect(struct kvm_vcpu *target)
{
	return 0;
}

TEST(rank_others_come_before_spinners)
{
	struct kvm *kvm = vm_create(6);
	int i;

	for (i = 1; i < 6; i++)
		vcpu_preempt(vcpu(kvm, i), true);
	for (i = 1; i < 5; i++)
		vcpu(kvm, i)->dy.spinning = true;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 5));
	EXPECT_EQ(nr_yields, 1);
}

TEST(rank_spinners_when_there_is_nobody_else)
{
	struct kvm *kvm = vm_create(4);

	vcpu_preempt(vcpu(kvm, 2), true);
	vcpu(kvm, 2)->dy.spinning = true;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 2));
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 2));
}

TEST(rank_spinners_first_every_other_time)
{
	struct kvm *kvm = vm_create(4);

	vcpu_preempt(vcpu(kvm, 1), true);
	vcpu_preempt(vcpu(kvm, 2), true);
	vcpu(kvm, 2)->dy.spinning = true;
	/* The next one in a FIFO lock's queue spins, and has to run as well. */
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 2));
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 2));
}

TEST(rank_turn_changes_only_with_a_boost)
{
	struct kvm *kvm = vm_create(4);

	/* Nobody was boosted: it is still the others' turn. */
	EXPECT(!spin(vcpu(kvm, 0), true));
	vcpu_preempt(vcpu(kvm, 1), true);
	vcpu_preempt(vcpu(kvm, 2), true);
	vcpu(kvm, 2)->dy.spinning = true;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));

	/* It was the spinners' turn, and there was none: it still is. */
	vcpu_sched_in(vcpu(kvm, 2));
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
	vcpu_preempt(vcpu(kvm, 2), true);
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 2));
}

TEST(rank_each_spinner_has_its_own_turn)
{
	struct kvm *kvm = vm_create(5);

	vcpu_preempt(vcpu(kvm, 1), true);
	vcpu_preempt(vcpu(kvm, 2), true);
	vcpu(kvm, 2)->dy.spinning = true;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
	EXPECT(spin(vcpu(kvm, 3), true) == vcpu(kvm, 1));
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 2));
	EXPECT(spin(vcpu(kvm, 3), true) == vcpu(kvm, 2));
}

static int not_contended(struct kvm_vcpu *target)
{
	return -3;
}

TEST(rank_not_contended_counts_over_both)
{
	struct kvm *kvm = vm_create(8);
	int i;

	for (i = 1; i < 8; i++)
		vcpu_preempt(vcpu(kvm, i), true);
	for (i = 3; i < 8; i++)
		vcpu(kvm, i)->dy.spinning = true;
	yield_answer = not_contended;
	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(nr_yields, 3);
}

TEST(rank_not_contended_ends_the_exit)
{
	struct kvm *kvm = vm_create(8);
	int i;

	for (i = 1; i < 8; i++)
		vcpu_preempt(vcpu(kvm, i), true);
	for (i = 5; i < 8; i++)
		vcpu(kvm, i)->dy.spinning = true;
	yield_answer = not_contended;
	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(nr_yields, 3);
}

TEST(rank_turn_of_the_spinners_ends_without_a_boost)
{
	struct kvm *kvm = vm_create(4);

	vcpu(kvm, 0)->dy.spinners_first = true;
	EXPECT(!spin(vcpu(kvm, 0), true));
	vcpu_preempt(vcpu(kvm, 1), true);
	vcpu_preempt(vcpu(kvm, 2), true);
	vcpu(kvm, 2)->dy.spinning = true;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 1));
}

TEST(rank_kernel_rule_holds_for_spinners_too)
{
	struct kvm *kvm = vm_create(4);

	vcpu_preempt(vcpu(kvm, 1), false);
	vcpu(kvm, 1)->dy.spinning = true;
	EXPECT(!spin(vcpu(kvm, 0), true));
	EXPECT(spin(vcpu(kvm, 0), false) == vcpu(kvm, 1));
}

TEST(rank_both_are_tried_whichever_is_first)
{
	struct kvm *kvm = vm_create(4);

	vcpu_preempt(vcpu(kvm, 1), true);
	vcpu_preempt(vcpu(kvm, 2), true);
	vcpu(kvm, 2)->dy.spinning = true;
	yield_answer = takes_no_effect;
	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(nr_yields, 2);
	vcpu(kvm, 0)->dy.spinners_first = true;
	spin(vcpu(kvm, 0), true);
	EXPECT_EQ(nr_yields, 2);
	EXPECT(yielded[0] == vcpu(kvm, 2));
}
