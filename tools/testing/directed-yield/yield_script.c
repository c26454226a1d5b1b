// SPDX-License-Identifier: GPL-2.0
#include "yield_script.h"

struct kvm_vcpu *yielded[MAX_YIELDS];
unsigned int nr_yields;
int (*yield_answer)(struct kvm_vcpu *target);

int yield_as_scheduler(struct kvm_vcpu *target)
{
	return target->preempted ||
	       (target->arch.blocking && target->arch.event);
}

int yield_to(struct task_struct *task, bool preempt)
{
	/* It schedules: never inside RCU's read side, never a dead task. */
	EXPECT_EQ(stub_rcu_depth, 0);
	EXPECT(stub_task_refs > 0);
	EXPECT(task->usage > 0);
	EXPECT(nr_yields < MAX_YIELDS);
	/* The target's CPU has to be taken from whoever runs on it. */
	EXPECT(preempt);
	yielded[nr_yields++] = task->vcpu;

	return (yield_answer ? : yield_as_scheduler)(task->vcpu);
}

struct kvm_vcpu *spin(struct kvm_vcpu *me, bool in_kernel)
{
	nr_yields = 0;
	stub_loaded = me;
	kvm_vcpu_on_spin(me, in_kernel);
	EXPECT_EQ(stub_rcu_depth, 0);
	EXPECT_EQ(stub_task_refs, 0);

	return nr_yields ? yielded[nr_yields - 1] : NULL;
}
