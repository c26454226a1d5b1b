/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the core of directed yield knows of KVM, and no more.  The fields have
 * the kernel's names and meaning.
 */
#ifndef _STUB_LINUX_KVM_HOST_H
#define _STUB_LINUX_KVM_HOST_H

#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/module.h>
#include <linux/types.h>
#include <linux/kvm_directed_yield.h>
#include <linux/kvm_dy_ready.h>
#include <linux/kvm_dy_stat.h>

#define CONFIG_KVM_ASYNC_PF	1
#define KVM_REQ_UNBLOCK		2

struct dentry;
struct pid;
struct task_struct;

struct list_head {
	struct list_head *next;
};

#define list_empty_careful(head)	(READ_ONCE((head)->next) == (head))

/* What the stub architecture's hooks answer with. */
struct kvm_vcpu_arch {
	bool blocking;
	bool event;
	bool in_kernel;
	bool pending_interrupt;
};

struct kvm_vcpu_stat {
	struct {
		struct kvm_dy_vcpu_stat dy;
	} generic;
};

struct kvm_vcpu {
	struct kvm *kvm;
	int vcpu_id;
	int vcpu_idx;
	int cpu;
	struct pid __rcu *pid;
	unsigned long requests;
	struct {
		struct list_head done;
	} async_pf;
	struct kvm_vcpu_dy dy;
	bool wants_to_run;
	bool preempted;
	bool dy_tracked;
	struct kvm_vcpu_arch arch;
	struct kvm_vcpu_stat stat;
	struct task_struct *stub_task;
	/* For the model of the stock algorithm: stock.h */
	struct {
		bool ready;
		bool spinning;
		bool eligible;
	} stock;
};

struct kvm {
	atomic_t online_vcpus;
	struct kvm_dy dy;
	struct kvm_dy_ready dy_ready;
	int stock_last_boosted;
	struct dentry *debugfs_dentry;
	struct kvm_vcpu *vcpu_array[KVM_MAX_VCPUS];
};

static inline struct kvm_vcpu *kvm_get_vcpu(struct kvm *kvm, int i)
{
	/* The kernel's smp_rmb(), for its smp_wmb() in KVM_CREATE_VCPU. */
	if (i >= smp_load_acquire(&kvm->online_vcpus.counter))
		return NULL;

	return READ_ONCE(kvm->vcpu_array[i]);
}

static inline bool kvm_test_request(int req, struct kvm_vcpu *vcpu)
{
	return test_bit(req, &vcpu->requests);
}

static inline bool kvm_vcpu_is_blocking(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(vcpu->arch.blocking);
}

bool __kvm_vcpu_wake_up(struct kvm_vcpu *vcpu);

bool kvm_arch_vcpu_runnable(struct kvm_vcpu *vcpu);
bool kvm_arch_vcpu_in_kernel(struct kvm_vcpu *vcpu);
bool kvm_arch_dy_runnable(struct kvm_vcpu *vcpu);
bool kvm_arch_vcpu_preempted_in_kernel(struct kvm_vcpu *vcpu);
bool kvm_arch_dy_has_pending_interrupt(struct kvm_vcpu *vcpu);

#endif
