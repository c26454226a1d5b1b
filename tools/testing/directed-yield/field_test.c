// SPDX-License-Identifier: GPL-2.0
/* Faults that directed yield had in the field, by the commit that fixed them. */
#include <sys/mman.h>

#include "yield_script.h"

static struct kvm_vcpu *vcpu(struct kvm *kvm, int i)
{
	return kvm->vcpu_array[i];
}

/*
 * 17e433b54393: the check whether another vCPU is runnable read the VMCS that
 * the CPU had loaded, the spinner's, and took an interrupt away.
 */
TEST(field_loaded_state_of_others_is_never_read)
{
	struct kvm *kvm = vm_create(6);
	int i;

	for (i = 0; i < 8; i++) {
		vcpu_preempt(vcpu(kvm, 1), i & 1);
		vcpu_make_woken(vcpu(kvm, 2));
		vcpu_block(vcpu(kvm, 3));
		set_bit(3, kvm->dy_ready.map);
		set_bit(4, kvm->dy_ready.map);
		vcpu(kvm, 5)->dy.spinning = true;
		vcpu_preempt(vcpu(kvm, 5), i & 2);
		spin(vcpu(kvm, 0), i & 4);
		EXPECT_EQ(stub_foreign_reads, 0);
	}
}

/*
 * A posted interrupt for a preempted vCPU was missed where only one of the two
 * flags that announce it was read: it is chosen, whatever its mode.
 */
TEST(field_posted_work_makes_a_candidate)
{
	struct kvm *kvm = vm_create(4);

	vcpu_preempt(vcpu(kvm, 2), false);
	EXPECT(!spin(vcpu(kvm, 0), true));
	vcpu(kvm, 2)->arch.pending_interrupt = true;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 2));

	/* One that sleeps, and whose wake-up is still on its way. */
	vcpu_sched_in(vcpu(kvm, 2));
	vcpu_block(vcpu(kvm, 3));
	set_bit(3, kvm->dy_ready.map);
	vcpu(kvm, 3)->arch.event = true;
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 3));
}

/* 77bcd9e6231a, 9b8615c5d37f: the mode is the one at preemption. */
TEST(field_mode_is_the_preempted_ones_not_the_spinners)
{
	struct kvm *kvm = vm_create(4);

	vcpu(kvm, 0)->arch.in_kernel = true;
	vcpu_preempt(vcpu(kvm, 1), false);
	EXPECT(!spin(vcpu(kvm, 0), true));

	vcpu(kvm, 0)->arch.in_kernel = false;
	vcpu_preempt(vcpu(kvm, 2), true);
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 2));
	EXPECT_EQ(stub_foreign_reads, 0);
}

/* 32bd348be3fa: the turn was the loop's counter instead of the index. */
TEST(field_boosts_spread_evenly)
{
	unsigned int boosts[67] = {}, i;
	struct kvm *kvm = vm_create(67);

	for (i = 1; i < 67; i++)
		vcpu_preempt(vcpu(kvm, i), true);
	for (i = 0; i < 66 * 10; i++)
		boosts[spin(vcpu(kvm, 0), true)->vcpu_idx]++;
	for (i = 1; i < 67; i++)
		EXPECT_EQ(boosts[i], 10);

	/* And with gaps, from several spinners. */
	for (i = 1; i < 67; i++) {
		boosts[i] = 0;
		if (i % 3)
			vcpu_sched_in(vcpu(kvm, i));
	}
	for (i = 0; i < 22 * 10; i++)
		boosts[spin(vcpu(kvm, i % 2), true)->vcpu_idx]++;
	for (i = 1; i < 67; i++)
		EXPECT_EQ(boosts[i], i % 3 ? 0 : 10);
}

/*
 * A sleep in the exit made Windows guests with 64 vCPUs boot for ever: as long
 * as the holder runs, an exit neither yields nor waits, so it just returns.
 */
TEST(field_nothing_is_waited_for_while_the_holder_runs)
{
	struct kvm *kvm = vm_create(64);
	int i;

	for (i = 0; i < 1000; i++)
		EXPECT(!spin(vcpu(kvm, i % 64), true));
	EXPECT_EQ(vcpu(kvm, 0)->stat.generic.dy.tried, 0);
}

/* 9cac38dd5d, d73eb57b80b9: one that slept was no candidate before it ran. */
TEST(field_woken_sleeper_is_a_candidate_at_once)
{
	struct kvm *kvm = vm_create(4);

	vcpu_block(vcpu(kvm, 2));
	vcpu_sched_out(vcpu(kvm, 2), false);
	EXPECT(!spin(vcpu(kvm, 0), true));
	vcpu_send_event(vcpu(kvm, 2));
	EXPECT(spin(vcpu(kvm, 0), true) == vcpu(kvm, 2));
}

static struct kvm *crowd;
static unsigned int depth;

/* Whoever is yielded to spins as well, unless it is the holder, number 7. */
static int all_spin_but_one(struct kvm_vcpu *target)
{
	EXPECT(++depth <= 16);
	if (target->vcpu_idx == 7)
		return 1;
	vcpu_sched_in(target);
	kvm_vcpu_on_spin(target, true);
	vcpu_preempt(target, true);
	return 1;
}

/* Spinners yielded to each other again and again: the one must win. */
TEST(field_one_that_does_not_spin_wins)
{
	int i;

	crowd = vm_create(16);
	for (i = 0; i < 16; i++)
		vcpu_preempt(vcpu(crowd, i), true);
	for (i = 0; i < 16; i++)
		vcpu(crowd, i)->dy.spinning = i && i != 7;
	EXPECT(spin(vcpu(crowd, 0), true) == vcpu(crowd, 7));

	/* From scratch, with yields within yields: found within 16 exits. */
	vm_destroy(crowd);
	crowd = vm_create(16);
	for (i = 1; i < 16; i++)
		vcpu_preempt(vcpu(crowd, i), true);
	vcpu_sched_in(vcpu(crowd, 0));
	yield_answer = all_spin_but_one;
	nr_yields = 0;
	crowd->dy.last_boosted[0] = 7;
	stub_loaded = vcpu(crowd, 0);
	kvm_vcpu_on_spin(vcpu(crowd, 0), true);
	EXPECT(yielded[nr_yields - 1] == vcpu(crowd, 7));
}

/*
 * de73708915ad: exits where each vCPU has a CPU of its own are pure overhead.
 * None may cost a look at another vCPU, or a line that is written and shared.
 */
TEST(field_exit_at_1_to_1_touches_no_other_vcpu)
{
	struct kvm *kvm = vm_create(1024);
	unsigned int i;

	/* The set was used before. */
	vcpu_preempt(vcpu(kvm, 1023), true);
	spin(vcpu(kvm, 0), true);
	vcpu_sched_in(vcpu(kvm, 1023));

	for (i = 1; i < 1024; i++)
		EXPECT(!mprotect(vcpu_page(vcpu(kvm, i)), VCPU_PAGE, PROT_NONE));
	EXPECT(!mprotect(kvm, sizeof(*kvm), PROT_READ));
	for (i = 0; i < 100; i++)
		EXPECT(!spin(vcpu(kvm, 0), i & 1));
}

/* Nor may a sleep or a wake-up that finds the vCPU awake write the set. */
TEST(field_sleep_at_1_to_1_writes_no_shared_line)
{
	struct kvm *kvm = vm_create(8);

	EXPECT(!mprotect(kvm, sizeof(*kvm), PROT_READ));
	vcpu_block(vcpu(kvm, 1));
	vcpu_sched_out(vcpu(kvm, 1), false);
	vcpu_sched_in(vcpu(kvm, 1));
	vcpu_unblock(vcpu(kvm, 1));
	vcpu_send_event(vcpu(kvm, 1));
	kvm_dy_ready_check(vcpu(kvm, 1));
}

/* A mark that is set already is not set again: the line stays shared. */
TEST(field_second_mark_writes_no_shared_line)
{
	struct kvm *kvm = vm_create(8);

	vcpu_make_woken(vcpu(kvm, 1));
	EXPECT(!mprotect(kvm, sizeof(*kvm), PROT_READ));
	vcpu_send_event(vcpu(kvm, 1));
	vcpu_preempt(vcpu(kvm, 1), true);
}
