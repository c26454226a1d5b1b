// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the diagnose handlers that give way to another vCPU.
 *
 * The vCPUs are memory only and never run, so that no SIE is needed.  One of
 * them may be "preempted": then its thread is one that is always runnable, on
 * the test's CPU, and a yield to it takes effect.  The tests look at what was
 * decided, not at what the scheduler runs next.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/kvm_host.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include "kvm-s390.h"

#define NR_VCPUS	3

#define ME		0
#define OTHER		1
#define THIRD		2
#define MISSING		100

/* Yields that may be forwarded in a tick, and those asked for. */
#define BUDGET		3
#define NR_FORWARD	50

struct diag_test {
	struct kvm *kvm;
	struct kvm_vcpu *vcpus[NR_VCPUS];
	struct task_struct *runnable;
	unsigned int forwarding_hz;
};

static int always_runnable(void *unused)
{
	while (!kthread_should_stop())
		cond_resched();

	return 0;
}

/* A diagnose with that code; the first operand is general register 1. */
static void set_diag(struct kvm_vcpu *vcpu, u16 code)
{
	vcpu->arch.sie_block->ipa = 0x8310;
	vcpu->arch.sie_block->ipb = (u32)code << 16;
}

static int diag44(struct kvm_vcpu *vcpu)
{
	set_diag(vcpu, 0x44);
	return kvm_s390_handle_diag(vcpu);
}

static int diag9c(struct kvm_vcpu *vcpu, u64 target)
{
	set_diag(vcpu, 0x9c);
	vcpu->run->s.regs.gprs[1] = target;
	return kvm_s390_handle_diag(vcpu);
}

/* @vcpu wants a CPU and has none. */
static void preempt(struct diag_test *t, struct kvm_vcpu *vcpu)
{
	rcu_assign_pointer(vcpu->pid, get_task_pid(t->runnable, PIDTYPE_PID));
	vcpu->cpu = -1;
	WRITE_ONCE(vcpu->preempted, true);
	kvm_dy_ready_sched_out(vcpu);
}

/* @vcpu sleeps, enabled for emergency signals. */
static void sleep(struct diag_test *t, struct kvm_vcpu *vcpu)
{
	rcu_assign_pointer(vcpu->pid, get_task_pid(t->runnable, PIDTYPE_PID));
	vcpu->cpu = -1;
	vcpu->arch.sie_block->gpsw.mask = PSW_MASK_EXT | PSW_MASK_WAIT;
	vcpu->arch.sie_block->gcr[0] = CR0_EMERGENCY_SIGNAL_SUBMASK;
	rcu_assign_pointer(vcpu->wait.task, t->runnable);
}

static int emergency_signal(struct kvm_vcpu *vcpu)
{
	struct kvm_s390_irq irq = {
		.type = KVM_S390_INT_EMERGENCY,
		.u.emerg.code = ME,
	};

	return kvm_s390_inject_vcpu(vcpu, &irq);
}

static void diag44_counts(struct kunit *test)
{
	struct diag_test *t = test->priv;
	struct kvm_vcpu *me = t->vcpus[ME];
	struct kvm_dy_vcpu_stat *dy = &me->stat.generic.dy;

	KUNIT_EXPECT_EQ(test, diag44(me), 0);
	KUNIT_EXPECT_EQ(test, diag44(me), 0);
	KUNIT_EXPECT_EQ(test, me->stat.instruction_diagnose_44, 2);
	KUNIT_EXPECT_EQ(test, dy->exits, 2);
	KUNIT_EXPECT_EQ(test, dy->no_candidate, 2);
	KUNIT_EXPECT_EQ(test, dy->tried, 0);
}

static void diag44_yields_to_preempted(struct kunit *test)
{
	struct diag_test *t = test->priv;
	struct kvm_vcpu *me = t->vcpus[ME];
	struct kvm_dy_vcpu_stat *dy = &me->stat.generic.dy;

	preempt(t, t->vcpus[THIRD]);
	KUNIT_EXPECT_EQ(test, diag44(me), 0);
	KUNIT_EXPECT_EQ(test, dy->tried, 1);
	KUNIT_EXPECT_EQ(test, dy->took_effect, 1);
	KUNIT_EXPECT_EQ(test, t->kvm->dy.last_boosted[0], THIRD);
}

/* A diagnose is privileged, so who spins there spins in kernel mode. */
static void diag44_passes_over_user_mode(struct kunit *test)
{
	struct diag_test *t = test->priv;
	struct kvm_vcpu *me = t->vcpus[ME], *other = t->vcpus[OTHER];
	struct kvm_dy_vcpu_stat *dy = &me->stat.generic.dy;

	preempt(t, other);
	other->arch.sie_block->gpsw.mask = PSW_MASK_PSTATE | PSW_MASK_EXT;
	other->arch.sie_block->gcr[0] = CR0_EMERGENCY_SIGNAL_SUBMASK;
	KUNIT_EXPECT_EQ(test, diag44(me), 0);
	KUNIT_EXPECT_EQ(test, dy->tried, 0);

	/* Unless it has an interrupt to handle. */
	KUNIT_EXPECT_EQ(test, emergency_signal(other), 0);
	KUNIT_EXPECT_EQ(test, diag44(me), 0);
	KUNIT_EXPECT_EQ(test, dy->tried, 1);

	/* And can. */
	other->arch.sie_block->gcr[0] = 0;
	KUNIT_EXPECT_EQ(test, diag44(me), 0);
	KUNIT_EXPECT_EQ(test, dy->tried, 1);
}

static void diag44_yields_to_woken(struct kunit *test)
{
	struct diag_test *t = test->priv;
	struct kvm_vcpu *me = t->vcpus[ME], *other = t->vcpus[OTHER];
	struct kvm_dy_vcpu_stat *dy = &me->stat.generic.dy;

	sleep(t, other);
	KUNIT_EXPECT_EQ(test, diag44(me), 0);
	KUNIT_EXPECT_EQ(test, dy->tried, 0);

	KUNIT_EXPECT_EQ(test, emergency_signal(other), 0);
	KUNIT_EXPECT_TRUE(test, kvm_vcpu_is_ready(other));
	KUNIT_EXPECT_EQ(test, diag44(me), 0);
	KUNIT_EXPECT_EQ(test, dy->tried, 1);
	KUNIT_EXPECT_EQ(test, dy->took_effect, 1);
	KUNIT_EXPECT_EQ(test, t->kvm->dy.last_boosted[0], OTHER);
}

/* The spinner must not answer another vCPU's kick for a GISA interrupt. */
static void diag44_leaves_kicks_alone(struct kunit *test)
{
	struct diag_test *t = test->priv;
	struct kvm_vcpu *me = t->vcpus[ME], *other = t->vcpus[OTHER];
	unsigned long *kicked = t->kvm->arch.gisa_int.kicked_mask;

	sleep(t, other);
	KUNIT_EXPECT_EQ(test, emergency_signal(other), 0);
	set_bit(other->vcpu_idx, kicked);
	KUNIT_EXPECT_EQ(test, diag44(me), 0);
	KUNIT_EXPECT_EQ(test, me->stat.generic.dy.tried, 1);
	KUNIT_EXPECT_TRUE(test, test_bit(other->vcpu_idx, kicked));
}

static void diag_in_problem_state(struct kunit *test)
{
	struct diag_test *t = test->priv;
	struct kvm_vcpu *me = t->vcpus[ME];
	struct kvm_s390_local_interrupt *li = &me->arch.local_int;

	preempt(t, t->vcpus[OTHER]);
	me->arch.sie_block->gpsw.mask |= PSW_MASK_PSTATE;

	KUNIT_EXPECT_EQ(test, diag44(me), 0);
	KUNIT_EXPECT_TRUE(test, test_bit(IRQ_PEND_PROG, &li->pending_irqs));
	KUNIT_EXPECT_EQ(test, li->irq.pgm.code, PGM_PRIVILEGED_OP);

	clear_bit(IRQ_PEND_PROG, &li->pending_irqs);
	KUNIT_EXPECT_EQ(test, diag9c(me, OTHER), 0);
	KUNIT_EXPECT_TRUE(test, test_bit(IRQ_PEND_PROG, &li->pending_irqs));

	KUNIT_EXPECT_EQ(test, me->stat.instruction_diagnose_44, 0);
	KUNIT_EXPECT_EQ(test, me->stat.instruction_diagnose_9c, 0);
	KUNIT_EXPECT_EQ(test, me->stat.generic.dy.exits, 0);
	KUNIT_EXPECT_EQ(test, me->stat.generic.dy.tried, 0);
}

static void diag9c_yields_to_its_target_only(struct kunit *test)
{
	struct diag_test *t = test->priv;
	struct kvm_vcpu *me = t->vcpus[ME];

	/* OTHER has no thread, so a yield to it cannot take effect. */
	t->vcpus[OTHER]->cpu = -1;
	preempt(t, t->vcpus[THIRD]);

	KUNIT_EXPECT_EQ(test, diag9c(me, OTHER), 0);
	KUNIT_EXPECT_EQ(test, me->stat.diag_9c_ignored, 1);
	KUNIT_EXPECT_EQ(test, diag9c(me, THIRD), 0);
	KUNIT_EXPECT_EQ(test, me->stat.diag_9c_ignored, 1);
	KUNIT_EXPECT_EQ(test, me->stat.instruction_diagnose_9c, 2);
}

/* It names its target, and so is no spin exit and not switched off with them. */
static void diag9c_is_no_spin_exit(struct kunit *test)
{
	struct diag_test *t = test->priv;
	struct kvm_vcpu *me = t->vcpus[ME];

	t->kvm->dy.enabled = false;
	preempt(t, t->vcpus[OTHER]);

	KUNIT_EXPECT_EQ(test, diag44(me), 0);
	KUNIT_EXPECT_EQ(test, me->stat.generic.dy.exits, 1);
	KUNIT_EXPECT_EQ(test, me->stat.generic.dy.tried, 0);

	KUNIT_EXPECT_EQ(test, diag9c(me, OTHER), 0);
	KUNIT_EXPECT_EQ(test, me->stat.diag_9c_ignored, 0);
	KUNIT_EXPECT_EQ(test, me->stat.generic.dy.exits, 1);
}

static void diag9c_to_nobody(struct kunit *test)
{
	struct diag_test *t = test->priv;
	struct kvm_vcpu *me = t->vcpus[ME];

	preempt(t, t->vcpus[OTHER]);

	KUNIT_EXPECT_EQ(test, diag9c(me, ME), 0);
	KUNIT_EXPECT_EQ(test, me->stat.diag_9c_ignored, 1);
	KUNIT_EXPECT_EQ(test, diag9c(me, MISSING), 0);
	KUNIT_EXPECT_EQ(test, me->stat.diag_9c_ignored, 2);
	KUNIT_EXPECT_EQ(test, diag9c(me, ~0UL), 0);
	KUNIT_EXPECT_EQ(test, me->stat.diag_9c_ignored, 3);
	KUNIT_EXPECT_EQ(test, diag9c(me, KVM_MAX_VCPUS), 0);
	KUNIT_EXPECT_EQ(test, me->stat.diag_9c_ignored, 4);
}

/* With no budget a yield is not forwarded to the CPU of a vCPU that runs. */
static void diag9c_to_running(struct kunit *test)
{
	struct diag_test *t = test->priv;
	struct kvm_vcpu *me = t->vcpus[ME];

	preempt(t, t->vcpus[OTHER]);
	t->vcpus[OTHER]->cpu = 0;
	diag9c_forwarding_hz = 0;

	KUNIT_EXPECT_EQ(test, diag9c(me, OTHER), 0);
	KUNIT_EXPECT_EQ(test, me->stat.diag_9c_ignored, 1);
	KUNIT_EXPECT_EQ(test, me->stat.diag_9c_forward, 0);
}

/* Neither is one within the budget when the host has that CPU running. */
static void diag9c_to_running_cpu(struct kunit *test)
{
	struct diag_test *t = test->priv;
	struct kvm_vcpu *me = t->vcpus[ME];

	preempt(t, t->vcpus[OTHER]);
	t->vcpus[OTHER]->cpu = raw_smp_processor_id();
	diag9c_forwarding_hz = 1000 * HZ;

	KUNIT_EXPECT_EQ(test, diag9c(me, OTHER), 0);
	KUNIT_EXPECT_EQ(test, me->stat.diag_9c_ignored, 1);
	KUNIT_EXPECT_EQ(test, me->stat.diag_9c_forward, 0);
}

/*
 * One to a CPU that the host does not have running is, within the budget of each
 * tick.  A CPU that is offline is stopped, which looks the same from here.
 */
static void diag9c_is_forwarded(struct kunit *test)
{
	struct diag_test *t = test->priv;
	struct kvm_vcpu *me = t->vcpus[ME];
	unsigned int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	unsigned long flags, ticks;
	int i;

	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs a second CPU");

	preempt(t, t->vcpus[OTHER]);
	t->vcpus[OTHER]->cpu = cpu;
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);

	/* Others' budget ends with their tick. */
	schedule_timeout_uninterruptible(2);
	diag9c_forwarding_hz = BUDGET * HZ;
	/* No tick comes, unless a third CPU has it. */
	local_irq_save(flags);
	ticks = jiffies;
	for (i = 0; i < NR_FORWARD; i++)
		diag9c(me, OTHER);
	ticks = jiffies - ticks + 1;
	local_irq_restore(flags);

	KUNIT_EXPECT_EQ(test, add_cpu(cpu), 0);
	KUNIT_EXPECT_GE(test, me->stat.diag_9c_forward, BUDGET);
	KUNIT_EXPECT_LE(test, me->stat.diag_9c_forward, BUDGET * ticks);
	KUNIT_EXPECT_EQ(test, me->stat.diag_9c_forward + me->stat.diag_9c_ignored,
			NR_FORWARD);
}

static struct kvm_vcpu *make_vcpu(struct kunit *test, struct kvm *kvm, int id)
{
	struct kvm_vcpu *vcpu = kunit_kzalloc(test, sizeof(*vcpu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, vcpu);
	vcpu->run = kunit_kzalloc(test, sizeof(*vcpu->run), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, vcpu->run);
	vcpu->arch.sie_block = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, vcpu->arch.sie_block);

	vcpu->kvm = kvm;
	vcpu->vcpu_id = id;
	vcpu->vcpu_idx = id;
	vcpu->cpu = -1;
	rcuwait_init(&vcpu->wait);
	INIT_LIST_HEAD(&vcpu->async_pf.done);
	spin_lock_init(&vcpu->arch.local_int.lock);
	seqcount_init(&vcpu->arch.cputm_seqcount);
	return vcpu;
}

static int diag_test_init(struct kunit *test)
{
	struct diag_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int cpu, err, i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	t->forwarding_hz = diag9c_forwarding_hz;

	t->kvm = kunit_kzalloc(test, sizeof(*t->kvm), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->kvm);
	xa_init(&t->kvm->vcpu_array);
	rwlock_init(&t->kvm->arch.sca_lock);
	kvm_dy_init_vm(t->kvm);

	for (i = 0; i < NR_VCPUS; i++) {
		t->vcpus[i] = make_vcpu(test, t->kvm, i);
		KUNIT_ASSERT_EQ(test, 0, xa_insert(&t->kvm->vcpu_array, i,
						   t->vcpus[i], GFP_KERNEL));
		kvm_dy_ready_publish(t->vcpus[i]);
		atomic_inc(&t->kvm->online_vcpus);
	}

	/*
	 * A yield takes effect where both are runnable: on one CPU.  This thread
	 * runs one test and ends, so that nothing needs to be undone.
	 */
	cpu = cpumask_first(cpu_online_mask);
	err = set_cpus_allowed_ptr(current, cpumask_of(cpu));
	if (err)
		return err;
	t->runnable = kthread_create(always_runnable, NULL, "diag_test");
	if (IS_ERR(t->runnable))
		return PTR_ERR(t->runnable);
	kthread_bind(t->runnable, cpu);
	wake_up_process(t->runnable);
	return 0;
}

static void diag_test_exit(struct kunit *test)
{
	struct diag_test *t = test->priv;
	int i;

	if (!t || IS_ERR_OR_NULL(t->runnable))
		return;

	diag9c_forwarding_hz = t->forwarding_hz;
	for (i = 0; i < NR_VCPUS; i++) {
		rcu_assign_pointer(t->vcpus[i]->wait.task, NULL);
		put_pid(rcu_access_pointer(t->vcpus[i]->pid));
	}
	xa_destroy(&t->kvm->vcpu_array);
	kthread_stop(t->runnable);
}

static struct kunit_case diag_test_cases[] = {
	KUNIT_CASE(diag44_counts),
	KUNIT_CASE(diag44_yields_to_preempted),
	KUNIT_CASE(diag44_passes_over_user_mode),
	KUNIT_CASE(diag44_yields_to_woken),
	KUNIT_CASE(diag44_leaves_kicks_alone),
	KUNIT_CASE(diag_in_problem_state),
	KUNIT_CASE(diag9c_yields_to_its_target_only),
	KUNIT_CASE(diag9c_is_no_spin_exit),
	KUNIT_CASE(diag9c_to_nobody),
	KUNIT_CASE(diag9c_to_running),
	KUNIT_CASE(diag9c_to_running_cpu),
	KUNIT_CASE(diag9c_is_forwarded),
	{}
};

static struct kunit_suite diag_test_suite = {
	.name = "kvm_s390_diag",
	.init = diag_test_init,
	.exit = diag_test_exit,
	.test_cases = diag_test_cases,
};

kunit_test_suite(diag_test_suite);
