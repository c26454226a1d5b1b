// SPDX-License-Identifier: GPL-2.0
/*
 * Directed yield: the exit of a spinning vCPU, from the search to the yield.
 *
 * An architecture calls kvm_vcpu_on_spin() when a vCPU has spun for a while: a
 * PAUSE loop, a trapped WFE, a diagnose 0x44.  What it waits for is most likely
 * a vCPU of the same VM that has lost its CPU, and as long as that one does not
 * run the spinning is in vain.  So look for such a vCPU in the ready set
 * (directed_yield_ready.c) and ask the scheduler to run it instead.
 */
#include <linux/debugfs.h>
#include <linux/kvm_host.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched.h>

#define CREATE_TRACE_POINTS
#include <trace/events/kvm_directed_yield.h>

/* yield_to() said -ESRCH this often: the CPUs are not contended, stop. */
#define DY_MAX_UNCONTENDED	3

/*
 * When it is the spinners' turn, pass over this many others that would do.  If
 * there is a queue then most vCPUs without a CPU are in it; where it takes longer
 * to find one that spins, the exit costs more than it is worth.
 */
#define DY_MAX_PASSED_OVER	8

static bool directed_yield = true;
module_param(directed_yield, bool, 0644);
MODULE_PARM_DESC(directed_yield,
		 "Yield from a spinning vCPU to one that waits for a CPU (default: Y)");

/* What one spin exit has done so far. */
struct dy_exit {
	struct kvm_vcpu *me;
	bool in_kernel;
	bool spinners;		/* look at vCPUs that spin, or at the others */
	unsigned int ready;
	unsigned int tried;
	unsigned int uncontended;
	unsigned int passed_over;
	struct kvm_vcpu *boosted;
};

/**
 * kvm_vcpu_yield_to - give the caller's CPU to a vCPU
 * @target:	a vCPU of the caller's VM, in any state
 *
 * Whether @target wants a CPU is not asked; the scheduler refuses if it does
 * not.  Not subject to the switches: a guest that names its target knows.
 *
 * Context: a vCPU's thread, its vCPU loaded or not, preemptible; schedules.
 * Return: > 0 if it took effect, 0 if it did not, -ESRCH if the CPUs of the
 * caller and of @target run nothing else, so that there is nothing to gain.
 */
int kvm_vcpu_yield_to(struct kvm_vcpu *target)
{
	struct task_struct *task = NULL;
	struct pid *pid;
	int ret;

	rcu_read_lock();
	pid = rcu_dereference(target->pid);
	if (pid)
		task = get_pid_task(pid, PIDTYPE_PID);
	rcu_read_unlock();
	if (!task)
		return 0;

	ret = yield_to(task, true);
	put_task_struct(task);

	return ret;
}
EXPORT_SYMBOL_GPL(kvm_vcpu_yield_to);

static bool dy_is_candidate(struct dy_exit *exit, struct kvm_vcpu *vcpu)
{
	/*
	 * A kernel does not spin for user mode, so a vCPU that was preempted
	 * there is of no use to a spinner in kernel mode; except that it may
	 * owe the answer to an IPI, which it gives once it handles it.
	 *
	 * A vCPU that was woken up is not preempted: it goes on in the kernel.
	 */
	return !exit->in_kernel || !READ_ONCE(vcpu->preempted) ||
	       kvm_arch_dy_has_pending_interrupt(vcpu) ||
	       kvm_arch_vcpu_preempted_in_kernel(vcpu);
}

/* The next search of this rank begins behind @i. */
static void dy_turn(struct dy_exit *exit, unsigned int i)
{
	WRITE_ONCE(exit->me->kvm->dy.last_boosted[exit->spinners], i);
}

/* Is it enough to have looked for @exit's rank as far as @vcpu, of the other? */
static bool dy_passed_over_enough(struct dy_exit *exit, struct kvm_vcpu *vcpu)
{
	/* One that does not spin is found behind any number of those that do. */
	return exit->spinners && exit->me->dy.spinners_first &&
	       dy_is_candidate(exit, vcpu) &&
	       ++exit->passed_over == DY_MAX_PASSED_OVER;
}

/* Look at the marked vCPUs in [@from, @end).  Return true to end the round. */
static bool dy_search(struct dy_exit *exit, unsigned int from, unsigned int end)
{
	struct kvm *kvm = exit->me->kvm;
	struct kvm_vcpu *vcpu;
	unsigned int i;
	int ret;

	for (i = kvm_dy_ready_next(kvm, from, end); i < end;
	     i = kvm_dy_ready_next(kvm, i + 1, end)) {
		vcpu = kvm_get_vcpu(kvm, i);
		if (!vcpu || vcpu == exit->me || !kvm_dy_ready_check(vcpu))
			continue;

		/* Pairs with the WRITE_ONCE()s in kvm_vcpu_on_spin(). */
		if (READ_ONCE(vcpu->dy.spinning) != exit->spinners) {
			if (!dy_passed_over_enough(exit, vcpu))
				continue;
			dy_turn(exit, i);
			return true;
		}

		exit->ready++;
		if (!dy_is_candidate(exit, vcpu))
			continue;

		exit->tried++;
		ret = kvm_vcpu_yield_to(vcpu);
		if (ret > 0) {
			dy_turn(exit, i);
			exit->boosted = vcpu;
			return true;
		}
		if (ret < 0 && ++exit->uncontended == DY_MAX_UNCONTENDED)
			return true;
	}

	return false;
}

/* Look at all marked vCPUs of one rank, from behind the one boosted last. */
static void dy_round(struct dy_exit *exit, bool spinners)
{
	struct kvm *kvm = exit->me->kvm;
	unsigned int online = atomic_read(&kvm->online_vcpus);
	unsigned int begin = READ_ONCE(kvm->dy.last_boosted[spinners]) + 1;

	exit->spinners = spinners;
	if (!dy_search(exit, begin, online))
		dy_search(exit, 0, min(begin, online));
}

/**
 * kvm_vcpu_on_spin - a vCPU spins: yield to one that may end it
 * @me:				the vCPU that has exited because it spins
 * @yield_to_kernel_mode:	it spins in kernel mode, and so waits for a vCPU
 *				in kernel mode
 *
 * With nobody marked as wanting a CPU it reads the bitmap and returns, at most
 * KVM_MAX_VCPUS / BITS_PER_LONG words; otherwise it looks at the marked vCPUs
 * only, round robin, beginning behind the one of its rank yielded to last.
 *
 * A vCPU which gave way while it spun is likely to spin on, so the others come
 * first: one of them may be the preempted lock holder.  But for a FIFO lock the
 * next in the queue has to run, which spins as well; so when @me has yielded to
 * one that does not spin and is back here, it is the spinners' turn: the nearest
 * ones are looked at, and the next such turn goes on behind them.
 *
 * Context: the thread of @me, with @me loaded, preemptible; may schedule.
 */
void kvm_vcpu_on_spin(struct kvm_vcpu *me, bool yield_to_kernel_mode)
{
	struct kvm_dy_vcpu_stat *stat = &me->stat.generic.dy;
	struct dy_exit exit = {
		.me = me,
		.in_kernel = yield_to_kernel_mode,
	};
	bool spinners = me->dy.spinners_first;

	stat->exits++;
	if (!READ_ONCE(directed_yield) || !READ_ONCE(me->kvm->dy.enabled))
		return;

	WRITE_ONCE(me->dy.spinning, true);
	dy_round(&exit, spinners);
	if (!exit.boosted && exit.uncontended < DY_MAX_UNCONTENDED)
		dy_round(&exit, !spinners);
	WRITE_ONCE(me->dy.spinning, false);

	me->dy.spinners_first = exit.boosted && !exit.spinners;

	stat->no_candidate += !exit.tried;
	stat->tried += exit.tried;
	stat->took_effect += !!exit.boosted;
	trace_kvm_directed_yield(me->vcpu_id, exit.in_kernel, exit.ready,
				 exit.tried,
				 exit.boosted ? exit.boosted->vcpu_id : -1);
}
EXPORT_SYMBOL_GPL(kvm_vcpu_on_spin);

/**
 * kvm_dy_init_vm - set up a new VM's directed yield
 * @kvm:	the VM, zeroed and reachable by nobody else
 *
 * Context: KVM_CREATE_VM.
 */
void kvm_dy_init_vm(struct kvm *kvm)
{
	kvm->dy.enabled = true;
}

/**
 * kvm_dy_create_vm_debugfs - make the VM's switch
 * @kvm:	the VM, whose debugfs directory exists
 *
 * The file goes with the directory, before the VM does.
 *
 * Context: KVM_CREATE_VM.
 */
void kvm_dy_create_vm_debugfs(struct kvm *kvm)
{
	debugfs_create_bool("directed_yield", 0644, kvm->debugfs_dentry,
			    &kvm->dy.enabled);
}
