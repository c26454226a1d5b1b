// SPDX-License-Identifier: GPL-2.0
/* The rules of the ready set: directed_yield_ready.c, and the hooks' defaults */
#include "yield_script.h"

static struct kvm_vcpu *vcpu(struct kvm *kvm, int i)
{
	return kvm->vcpu_array[i];
}

static bool marked(struct kvm_vcpu *vcpu)
{
	return test_bit(vcpu->vcpu_idx, vcpu->kvm->dy_ready.map);
}

TEST(ready_preempted_is_marked_until_it_runs)
{
	struct kvm *kvm = vm_create(3);

	vcpu_preempt(vcpu(kvm, 1), true);
	EXPECT(marked(vcpu(kvm, 1)));
	EXPECT(kvm_vcpu_is_ready(vcpu(kvm, 1)));
	vcpu_sched_in(vcpu(kvm, 1));
	EXPECT(!marked(vcpu(kvm, 1)));
}

TEST(ready_sleeper_is_not_marked)
{
	struct kvm *kvm = vm_create(3);

	vcpu_block(vcpu(kvm, 1));
	vcpu_sched_out(vcpu(kvm, 1), false);
	EXPECT(!marked(vcpu(kvm, 1)));
}

TEST(ready_on_the_way_to_user_space_is_not_marked)
{
	struct kvm *kvm = vm_create(3);

	vcpu(kvm, 1)->wants_to_run = false;
	vcpu_sched_out(vcpu(kvm, 1), true);
	EXPECT(!marked(vcpu(kvm, 1)));
}

TEST(ready_woken_is_marked_until_it_runs)
{
	struct kvm *kvm = vm_create(3);

	vcpu_make_woken(vcpu(kvm, 1));
	EXPECT(marked(vcpu(kvm, 1)));
	vcpu_sched_in(vcpu(kvm, 1));
	EXPECT(!marked(vcpu(kvm, 1)));
}

TEST(ready_wake_up_of_a_running_one_marks_nobody)
{
	struct kvm *kvm = vm_create(3);

	EXPECT(!vcpu_send_event(vcpu(kvm, 1)));
	EXPECT(!marked(vcpu(kvm, 1)));
}

TEST(ready_wake_up_says_whether_it_was_needed)
{
	struct kvm *kvm = vm_create(3);

	vcpu_block(vcpu(kvm, 1));
	EXPECT(vcpu_send_event(vcpu(kvm, 1)));
}

TEST(ready_stale_mark_is_dropped_when_looked_at)
{
	struct kvm *kvm = vm_create(70);

	/* The last word's, which is not whole, too. */
	set_bit(1, kvm->dy_ready.map);
	set_bit(69, kvm->dy_ready.map);
	EXPECT(!spin(vcpu(kvm, 0), false));
	EXPECT_EQ(kvm->dy_ready.map[0] | kvm->dy_ready.map[1], 0);
}

TEST(ready_true_mark_stays_when_looked_at)
{
	struct kvm *kvm = vm_create(3);

	vcpu_preempt(vcpu(kvm, 1), true);
	vcpu_make_woken(vcpu(kvm, 2));
	EXPECT(kvm_dy_ready_check(vcpu(kvm, 1)));
	EXPECT(kvm_dy_ready_check(vcpu(kvm, 2)));
	EXPECT(marked(vcpu(kvm, 1)));
	EXPECT(marked(vcpu(kvm, 2)));
}

TEST(ready_reasons_to_wake_up)
{
	struct kvm *kvm = vm_create(2);
	struct kvm_vcpu *sleeper = vcpu(kvm, 1);
	struct list_head work = {};

	vcpu_block(sleeper);
	EXPECT(!kvm_dy_ready_check(sleeper));

	sleeper->arch.event = true;
	EXPECT(kvm_dy_ready_check(sleeper));
	sleeper->arch.event = false;

	set_bit(KVM_REQ_UNBLOCK, &sleeper->requests);
	EXPECT(kvm_dy_ready_check(sleeper));
	clear_bit(KVM_REQ_UNBLOCK, &sleeper->requests);

	sleeper->async_pf.done.next = &work;
	EXPECT(kvm_dy_ready_check(sleeper));
	sleeper->async_pf.done.next = &sleeper->async_pf.done;

	EXPECT(!kvm_dy_ready_check(sleeper));
}

TEST(ready_event_of_a_running_one_is_no_reason)
{
	struct kvm *kvm = vm_create(2);

	set_bit(1, kvm->dy_ready.map);
	vcpu(kvm, 1)->arch.event = true;
	EXPECT(!kvm_dy_ready_check(vcpu(kvm, 1)));
	EXPECT(!marked(vcpu(kvm, 1)));
}

TEST(ready_untracked_vcpu_leaves_index_0_alone)
{
	struct kvm *kvm = vm_create(2);
	struct kvm_vcpu *new = vcpu_alloc(kvm, 2);

	/* While it is created it is loaded, with index 0 in it. */
	EXPECT_EQ(new->vcpu_idx, 0);
	vcpu_sched_out(new, true);
	EXPECT_EQ(kvm->dy_ready.map[0], 0);
	EXPECT(!kvm_vcpu_is_ready(new));

	vcpu_preempt(vcpu(kvm, 0), true);
	vcpu_sched_in(new);
	EXPECT(marked(vcpu(kvm, 0)));
	EXPECT(!kvm_vcpu_is_ready(new));
	vcpu_free(new);
}

TEST(ready_publish_marks_what_was_preempted_before)
{
	struct kvm *kvm = vm_create(2);
	struct kvm_vcpu *new = vcpu_alloc(kvm, 2);

	/* Its file descriptor exists: another thread has run it. */
	vcpu_store(new);
	vcpu_preempt(new, true);
	vcpu_online(new);
	EXPECT(marked(new));

	new = vcpu_alloc(kvm, 3);
	vcpu_store(new);
	vcpu_make_woken(new);
	vcpu_online(new);
	EXPECT(marked(new));
}

TEST(ready_publish_marks_nobody_who_runs)
{
	struct kvm *kvm = vm_create(130);

	EXPECT_EQ(kvm_dy_ready_next(kvm, 0, 130), 130);
}

TEST(ready_next_finds_each_mark_and_stops_at_the_end)
{
	static const unsigned int bits[] = { 0, 1, 62, 63, 64, 65, 127, 128 };
	struct kvm *kvm = vm_create(1);
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		set_bit(bits[i], kvm->dy_ready.map);
		for (j = 0; j < 200; j++) {
			EXPECT_EQ(kvm_dy_ready_next(kvm, j, 200),
				  j <= bits[i] ? bits[i] : 200);
			EXPECT_EQ(kvm_dy_ready_next(kvm, 0, j),
				  bits[i] < j ? bits[i] : j);
		}
		EXPECT_EQ(kvm_dy_ready_next(kvm, 7, 7), 7);
		clear_bit(bits[i], kvm->dy_ready.map);
	}
	set_bit(KVM_MAX_VCPUS - 1, kvm->dy_ready.map);
	EXPECT_EQ(kvm_dy_ready_next(kvm, 0, KVM_MAX_VCPUS), KVM_MAX_VCPUS - 1);
	EXPECT_EQ(kvm_dy_ready_next(kvm, KVM_MAX_VCPUS, KVM_MAX_VCPUS),
		  KVM_MAX_VCPUS);
}

TEST(hooks_defaults)
{
	struct kvm *kvm = vm_create(1);
	struct kvm_vcpu *v = vcpu(kvm, 0);

	EXPECT(!default_kvm_arch_dy_runnable(v));
	EXPECT(!default_kvm_arch_vcpu_preempted_in_kernel(v));
	v->arch.event = true;
	EXPECT(default_kvm_arch_dy_runnable(v));
	v->arch.in_kernel = true;
	EXPECT(default_kvm_arch_vcpu_preempted_in_kernel(v));
	v->arch.pending_interrupt = true;
	EXPECT(!default_kvm_arch_dy_has_pending_interrupt(v));
}
