// SPDX-License-Identifier: GPL-2.0
/*
 * "Stale allowed, lost not", in all interleavings: whatever a vCPU, those who
 * wake it and those who look at it do together, at the end one that wants a CPU
 * and has none is marked.
 */
#include "explore.h"
#include "kvm_stub.h"
#include "test.h"

int yield_to(struct task_struct *task, bool preempt)
{
	return 1;
}

static struct kvm *kvm;
static struct kvm_vcpu *v;
static bool sleeps, woken;

/* The VM is made once, and set back: there are many schedules. */
static void new_vm(void)
{
	static struct kvm_vcpu *unpublished;
	int i;

	if (!kvm) {
		kvm = vm_create(2);
		unpublished = vcpu_alloc(kvm, 2);
	}
	kvm->online_vcpus.counter = 2;
	kvm->dy_ready.map[0] = 0;
	kvm->dy.last_boosted[0] = 0;
	kvm->dy.last_boosted[1] = 0;
	vcpu_store(unpublished);
	unpublished->dy_tracked = false;
	for (i = 0; i < 3; i++) {
		v = kvm->vcpu_array[i];
		v->preempted = false;
		v->arch = (struct kvm_vcpu_arch){};
		v->dy = (struct kvm_vcpu_dy){};
	}
	v = kvm->vcpu_array[1];
	sleeps = false;
	woken = false;
}

/* The vCPU runs, and a slow waker has left its mark. */
static void running_with_stale_mark(void)
{
	new_vm();
	set_bit(1, kvm->dy_ready.map);
}

static void asleep_with_stale_mark(void)
{
	new_vm();
	v->arch.blocking = true;
	sleeps = true;
	set_bit(1, kvm->dy_ready.map);
}

static void asleep(void)
{
	asleep_with_stale_mark();
	clear_bit(1, kvm->dy_ready.map);
}

static void preempted(void)
{
	new_vm();
	vcpu_preempt(v, true);
}

static void not_yet_published(void)
{
	new_vm();
	v = kvm->vcpu_array[2];
}

static void not_yet_stored(void)
{
	not_yet_published();
	v->vcpu_idx = 0;
}

static void asleep_not_yet_published(void)
{
	not_yet_published();
	v->arch.blocking = true;
	sleeps = true;
}

/* Threads */

static void looks(void)
{
	kvm_dy_ready_check(v);
}

static void spins(void)
{
	kvm_vcpu_on_spin(kvm->vcpu_array[0], false);
}

static void is_preempted(void)
{
	vcpu_sched_out(v, true);
}

static void runs_and_is_preempted(void)
{
	vcpu_sched_in(v);
	vcpu_sched_out(v, true);
}

static void goes_to_sleep(void)
{
	sleeps = vcpu_block(v);
	if (sleeps)
		vcpu_sched_out(v, false);
	else
		vcpu_unblock(v);
}

static void wakes(void)
{
	woken |= vcpu_send_event(v);
}

static void publishes(void)
{
	vcpu_online(v);
}

static void is_stored_and_publishes(void)
{
	vcpu_store(v);
	vcpu_online(v);
}

/* Ends */

static bool marked(void)
{
	return test_bit(v->vcpu_idx, kvm->dy_ready.map);
}

static void is_marked(void)
{
	EXPECT(marked());
}

static void sleeper_was_woken_and_is_marked(void)
{
	if (!sleeps || !v->arch.event)
		return;
	EXPECT(woken);
	EXPECT(marked());
}

static void only_its_own_bit(void)
{
	EXPECT_EQ(kvm->dy_ready.map[0] & ~BIT_MASK(v->vcpu_idx), 0);
}

#define ORDER(name, ...)						\
TEST(order_##name)							\
{									\
	struct explore e = { __VA_ARGS__ };				\
									\
	printf("# %lu schedules\n", explore(&e));			\
}

ORDER(look_and_preemption, running_with_stale_mark,
	{ looks, is_preempted }, is_marked, 4)
ORDER(two_looks_and_preemption, running_with_stale_mark,
	{ looks, looks, is_preempted }, is_marked, 2)
ORDER(look_and_wake_up, asleep_with_stale_mark,
	{ looks, wakes }, is_marked, 4)
ORDER(look_and_two_wake_ups, asleep_with_stale_mark,
	{ looks, wakes, wakes }, is_marked, 2)
ORDER(sleep_and_wake_up, new_vm,
	{ goes_to_sleep, wakes }, sleeper_was_woken_and_is_marked, 4)
ORDER(sleep_and_wake_up_and_look, running_with_stale_mark,
	{ goes_to_sleep, wakes, looks }, sleeper_was_woken_and_is_marked, 1)
ORDER(run_and_preemption_and_look, preempted,
	{ runs_and_is_preempted, looks }, is_marked, 3)
ORDER(spin_exit_and_preemption, running_with_stale_mark,
	{ spins, is_preempted }, is_marked, 1)
ORDER(spin_exit_and_wake_up, asleep_with_stale_mark,
	{ spins, wakes }, is_marked, 1)
ORDER(publication_and_preemption, not_yet_published,
	{ publishes, is_preempted }, is_marked, 4)
ORDER(publication_and_wake_up, asleep_not_yet_published,
	{ publishes, wakes }, sleeper_was_woken_and_is_marked, 4)
ORDER(publication_and_running, not_yet_published,
	{ publishes, runs_and_is_preempted }, is_marked, 3)
ORDER(publication_touches_one_bit, not_yet_published,
	{ publishes, runs_and_is_preempted, looks }, only_its_own_bit, 1)
ORDER(publication_of_the_index, not_yet_stored,
	{ is_stored_and_publishes, is_preempted }, only_its_own_bit, 2)
ORDER(wake_up_before_the_thread_runs, asleep,
	{ wakes, looks }, is_marked, 4)
