/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _STUB_LINUX_SCHED_H
#define _STUB_LINUX_SCHED_H

#include <linux/types.h>

struct kvm_vcpu;

/* A vCPU's thread. */
struct task_struct {
	int usage;
	struct kvm_vcpu *vcpu;
};

/* Each program has its own: a script, or the simulator's scheduler. */
int yield_to(struct task_struct *task, bool preempt);

void put_task_struct(struct task_struct *task);

#endif
