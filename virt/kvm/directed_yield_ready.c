// SPDX-License-Identifier: GPL-2.0
/*
 * Directed yield: the set of a VM's vCPUs that want a CPU and have none.
 *
 * A spinning vCPU looks for another one to give its CPU to.  Asking each vCPU
 * touches the cache lines of all of them at each exit, most often to learn that
 * nobody waits.  So the vCPUs say it themselves, in one bitmap per VM:
 *
 *	switched out while runnable	the bit is set
 *	woken up			the bit is set before the wake-up
 *	switched in			the bit is cleared, if it is set
 *
 * In a VM that has a CPU for each vCPU no bit is set when a vCPU goes to sleep,
 * and few when it wakes up; the lines stay shared and clean.
 *
 * The rule is: a bit may be stale, but never lost.  A stale bit (its vCPU runs
 * or sleeps) costs one look, and is dropped by whoever looks.  A lost bit would
 * hide a preempted lock holder until it is preempted again.  The two places
 * that clear a bit keep the rule as follows.
 *
 * 1. kvm_dy_ready_sched_in() runs in the vCPU's thread, which has its CPU.
 *
 * 2. kvm_dy_ready_check() drops the bit of another vCPU that wants no CPU, and
 *    then looks again.  With full barriers on both sides,
 *
 *	    dropper				the one who makes the vCPU want
 *	    clear the bit			write the reason
 *	    smp_mb				smp_mb
 *	    read the reason; set the bit	set the bit, if it is clear
 *
 *    either the dropper sees the reason and sets the bit again, or the other
 *    one sees the bit clear and sets it.  The reason is vcpu->preempted at
 *    sched-out; at a wake-up it is what the waker wants the vCPU to see, and
 *    that the vCPU blocks.
 *
 * A waker that finds nobody blocking marks nobody: the vCPU then enters
 * kvm_vcpu_block() later, and finds the reason itself.
 *
 * Only a vCPU that user space can reach through the VM's array is tracked.
 * Before, its index is not its own (architectures load a vCPU while they create
 * it, with index 0 still in it), and creation may still fail.
 */
#include <linux/kvm_host.h>

static bool dy_ready_tracked(struct kvm_vcpu *vcpu)
{
	/* Pairs with the smp_store_release() in kvm_dy_ready_publish(). */
	return smp_load_acquire(&vcpu->dy_tracked);
}

/* After the reason is written. */
static void dy_ready_mark(struct kvm_vcpu *vcpu)
{
	/* The right-hand barrier above; pairs with kvm_dy_ready_check()'s. */
	smp_mb();
	if (dy_ready_tracked(vcpu) &&
	    !test_bit(vcpu->vcpu_idx, vcpu->kvm->dy_ready.map))
		set_bit(vcpu->vcpu_idx, vcpu->kvm->dy_ready.map);
}

static bool dy_ready_has_event(struct kvm_vcpu *vcpu)
{
	if (kvm_arch_dy_runnable(vcpu))
		return true;

	if (kvm_test_request(KVM_REQ_UNBLOCK, vcpu))
		return true;

#ifdef CONFIG_KVM_ASYNC_PF
	if (!list_empty_careful(&vcpu->async_pf.done))
		return true;
#endif

	return false;
}

/* Does @vcpu look as if it wanted a CPU?  Pairs with the writers' smp_mb(). */
static bool dy_ready_wants_cpu(struct kvm_vcpu *vcpu)
{
	if (READ_ONCE(vcpu->preempted))
		return true;

	return kvm_vcpu_is_blocking(vcpu) && dy_ready_has_event(vcpu);
}

/**
 * kvm_dy_ready_publish - begin to track a vCPU
 * @vcpu:	a vCPU that has its index and is stored in the VM's array
 *
 * The vCPU's file descriptor exists by now, so that another thread may have run
 * the vCPU and been preempted in it; hence the look at the end.
 *
 * Context: KVM_CREATE_VCPU, under kvm->lock, before online_vcpus counts @vcpu.
 */
void kvm_dy_ready_publish(struct kvm_vcpu *vcpu)
{
	/* The index before the flag; pairs with dy_ready_tracked(). */
	smp_store_release(&vcpu->dy_tracked, true);

	/* The flag before the look; pairs with the smp_mb() in dy_ready_mark(). */
	smp_mb();
	if (READ_ONCE(vcpu->preempted) || kvm_vcpu_is_blocking(vcpu))
		dy_ready_mark(vcpu);
}

/**
 * kvm_dy_ready_sched_in - a vCPU has got a CPU
 * @vcpu:	the vCPU whose thread is being switched in
 *
 * Context: preempt notifier, in the vCPU's thread, preemption disabled, after
 * vcpu->preempted is cleared.
 */
void kvm_dy_ready_sched_in(struct kvm_vcpu *vcpu)
{
	if (kvm_vcpu_is_ready(vcpu))
		clear_bit(vcpu->vcpu_idx, vcpu->kvm->dy_ready.map);
}

/**
 * kvm_dy_ready_sched_out - a vCPU has lost its CPU while it could have run on
 * @vcpu:	the vCPU whose thread is being switched out
 *
 * Context: preempt notifier, in the vCPU's thread, under the run queue's lock,
 * interrupts disabled, after vcpu->preempted is set.
 */
void kvm_dy_ready_sched_out(struct kvm_vcpu *vcpu)
{
	dy_ready_mark(vcpu);
}

/**
 * kvm_dy_ready_wake_up - wake a vCPU up, and mark it until it has a CPU
 * @vcpu:	the vCPU to wake up, published or not
 *
 * As __kvm_vcpu_wake_up(): the reason to wake up has been written before.
 *
 * Context: any, interrupts may be disabled.
 * Return: true if @vcpu was blocking and was awakened.
 */
bool kvm_dy_ready_wake_up(struct kvm_vcpu *vcpu)
{
	/*
	 * The reason before the look.  Pairs with the barrier in
	 * set_current_state() in kvm_vcpu_block(): either the vCPU is seen
	 * blocking, or it sees the reason.
	 */
	smp_mb();
	if (kvm_vcpu_is_blocking(vcpu))
		dy_ready_mark(vcpu);

	/*
	 * If the vCPU turns out to be awake, the mark stays: to take it back
	 * needs the look of kvm_dy_ready_check(), and the hooks behind it take
	 * locks that the caller may hold (arm64's list of pending interrupts).
	 */
	return __kvm_vcpu_wake_up(vcpu);
}

/**
 * kvm_vcpu_is_ready - is a vCPU marked as one that wants a CPU?
 * @vcpu:	any vCPU of a VM that cannot go away
 *
 * For a caller with a named target in mind.  The mark may be stale.
 *
 * Context: any.
 * Return: true if @vcpu is marked.
 */
bool kvm_vcpu_is_ready(struct kvm_vcpu *vcpu)
{
	return dy_ready_tracked(vcpu) &&
	       test_bit(vcpu->vcpu_idx, vcpu->kvm->dy_ready.map);
}
EXPORT_SYMBOL_GPL(kvm_vcpu_is_ready);

/**
 * kvm_dy_ready_check - look whether a marked vCPU really wants a CPU
 * @vcpu:	a published vCPU
 *
 * Drops the mark if it is stale.  May be called for any vCPU, the caller's own
 * included.
 *
 * Context: preemptible, with no lock held that an architecture's hook takes.
 * Return: true if @vcpu looks as if it wanted a CPU.
 */
bool kvm_dy_ready_check(struct kvm_vcpu *vcpu)
{
	if (dy_ready_wants_cpu(vcpu))
		return true;

	if (!kvm_vcpu_is_ready(vcpu))
		return false;

	clear_bit(vcpu->vcpu_idx, vcpu->kvm->dy_ready.map);
	/* The left-hand barrier above; pairs with the one in dy_ready_mark(). */
	smp_mb__after_atomic();
	if (!dy_ready_wants_cpu(vcpu))
		return false;

	dy_ready_mark(vcpu);
	return true;
}

/**
 * kvm_dy_ready_next - find the next marked vCPU
 * @kvm:	the VM
 * @from:	the first index to look at
 * @end:	the index to stop before, at most the number of online vCPUs
 *
 * Touches the bitmap and no vCPU; others change it meanwhile.
 *
 * Context: any.
 * Return: the index, or @end if there is none.
 */
unsigned int kvm_dy_ready_next(struct kvm *kvm, unsigned int from,
			       unsigned int end)
{
	unsigned int word = from / BITS_PER_LONG;
	unsigned long mask = BITMAP_FIRST_WORD_MASK(from);

	for (; word * BITS_PER_LONG < end; word++, mask = ~0UL) {
		/* Pairs with nothing: a mark is a hint, the vCPU is asked. */
		unsigned long bits = READ_ONCE(kvm->dy_ready.map[word]) & mask;

		if (bits)
			return min_t(unsigned int, end,
				     word * BITS_PER_LONG + __ffs(bits));
	}

	return end;
}
