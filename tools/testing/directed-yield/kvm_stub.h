/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A VM in user space for the core of directed yield: what kvm_main.c and an
 * architecture do around it, step by step.
 */
#ifndef _KVM_STUB_H
#define _KVM_STUB_H

#include <linux/kvm_host.h>
#include <linux/pid.h>
#include <linux/sched.h>

#include <linux/tracepoint.h>
#include <trace/events/kvm_directed_yield.h>

/* The vCPU that the thread has loaded: only its state may be read as loaded. */
extern __thread struct kvm_vcpu *stub_loaded;

/*
 * How often the core asked another vCPU for loaded state, and how deep it is
 * in RCU's read side.
 */
extern __thread unsigned int stub_foreign_reads;
extern __thread int stub_rcu_depth;

/* References to tasks that nobody has put yet, of all threads. */
extern int stub_task_refs;

/* The module parameter, and what debugfs_create_bool() was called with. */
extern bool *stub_param_directed_yield;
extern bool *stub_debugfs_value;
extern const char *stub_debugfs_name;

/* directed_yield_hooks.c again, with its functions' names changed. */
bool default_kvm_arch_dy_runnable(struct kvm_vcpu *vcpu);
bool default_kvm_arch_vcpu_preempted_in_kernel(struct kvm_vcpu *vcpu);
bool default_kvm_arch_dy_has_pending_interrupt(struct kvm_vcpu *vcpu);

/* A vCPU has a page of its own, for mprotect(). */
#define VCPU_PAGE	4096

void *vcpu_page(struct kvm_vcpu *vcpu);

/* KVM_CREATE_VM, and the end of a VM; of a VM with @n vCPUs that all run. */
struct kvm *vm_create(unsigned int n);
void vm_destroy(struct kvm *kvm);

/* The three steps of KVM_CREATE_VCPU. */
struct kvm_vcpu *vcpu_alloc(struct kvm *kvm, int id);
void vcpu_store(struct kvm_vcpu *vcpu);
void vcpu_online(struct kvm_vcpu *vcpu);
void vcpu_free(struct kvm_vcpu *vcpu);

/* Its thread exits, and another one takes the vCPU over. */
void vcpu_thread_exit(struct kvm_vcpu *vcpu);
void vcpu_thread_start(struct kvm_vcpu *vcpu);

/* The preempt notifiers. */
void vcpu_sched_out(struct kvm_vcpu *vcpu, bool runnable);
void vcpu_sched_in(struct kvm_vcpu *vcpu);

/* kvm_vcpu_block() in two halves: the first returns true if it sleeps. */
bool vcpu_block(struct kvm_vcpu *vcpu);
void vcpu_unblock(struct kvm_vcpu *vcpu);

/* An event for @vcpu, and the wake-up. */
bool vcpu_send_event(struct kvm_vcpu *vcpu);

/* For tests: @vcpu is preempted, in kernel or user mode; or woken, not run. */
void vcpu_preempt(struct kvm_vcpu *vcpu, bool in_kernel);
void vcpu_make_woken(struct kvm_vcpu *vcpu);

#endif
