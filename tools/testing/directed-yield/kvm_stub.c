// SPDX-License-Identifier: GPL-2.0
#define CREATE_TRACE_POINTS
#include "kvm_stub.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

__thread struct kvm_vcpu *stub_loaded;
__thread unsigned int stub_foreign_reads;
__thread int stub_rcu_depth;
int stub_task_refs;
bool *stub_debugfs_value;
const char *stub_debugfs_name;
__thread struct trace_kvm_directed_yield stub_trace_kvm_directed_yield;

/* Threads and their ids */

static pthread_mutex_t pid_lock = PTHREAD_MUTEX_INITIALIZER;

void rcu_read_lock(void)
{
	stub_rcu_depth++;
}

void rcu_read_unlock(void)
{
	stub_rcu_depth--;
}

struct task_struct *get_pid_task(struct pid *pid, enum pid_type type)
{
	struct task_struct *task;

	pthread_mutex_lock(&pid_lock);
	task = pid->task;
	if (task) {
		task->usage++;
		stub_task_refs++;
	}
	pthread_mutex_unlock(&pid_lock);

	return task;
}

static void task_put(struct task_struct *task, bool from_core)
{
	bool last;

	pthread_mutex_lock(&pid_lock);
	stub_task_refs -= from_core;
	last = !--task->usage;
	pthread_mutex_unlock(&pid_lock);
	if (last)
		free(task);
}

void put_task_struct(struct task_struct *task)
{
	task_put(task, true);
}

void vcpu_thread_exit(struct kvm_vcpu *vcpu)
{
	struct task_struct *task = vcpu->stub_task;

	pthread_mutex_lock(&pid_lock);
	vcpu->pid->task = NULL;
	pthread_mutex_unlock(&pid_lock);
	vcpu->stub_task = NULL;
	task_put(task, false);
}

/* The struct pid lives as long as the vCPU, in place of an RCU grace period. */
void vcpu_thread_start(struct kvm_vcpu *vcpu)
{
	struct task_struct *task = calloc(1, sizeof(*task));
	struct pid *pid = vcpu->pid ? : calloc(1, sizeof(*pid));

	task->usage = 1;
	task->vcpu = vcpu;
	vcpu->stub_task = task;
	pthread_mutex_lock(&pid_lock);
	pid->task = task;
	pthread_mutex_unlock(&pid_lock);
	WRITE_ONCE(vcpu->pid, pid);
}

/* The architecture */

/* As on x86: these two read what the CPU has loaded. */
bool kvm_arch_vcpu_runnable(struct kvm_vcpu *vcpu)
{
	stub_foreign_reads += vcpu != stub_loaded;
	return READ_ONCE(vcpu->arch.event);
}

bool kvm_arch_vcpu_in_kernel(struct kvm_vcpu *vcpu)
{
	stub_foreign_reads += vcpu != stub_loaded;
	return READ_ONCE(vcpu->arch.in_kernel);
}

bool kvm_arch_dy_runnable(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(vcpu->arch.event);
}

bool kvm_arch_vcpu_preempted_in_kernel(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(vcpu->arch.in_kernel);
}

bool kvm_arch_dy_has_pending_interrupt(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(vcpu->arch.pending_interrupt);
}

/* KVM */

void debugfs_create_bool(const char *name, unsigned int mode,
			 struct dentry *parent, bool *value)
{
	stub_debugfs_name = name;
	stub_debugfs_value = value;
}

bool __kvm_vcpu_wake_up(struct kvm_vcpu *vcpu)
{
	/* As rcuwait_wake_up(): the reason, then whether one sleeps. */
	smp_mb();
	return kvm_vcpu_is_blocking(vcpu);
}

static void *pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void *vcpu_page(struct kvm_vcpu *vcpu)
{
	return (void *)((uintptr_t)vcpu & ~(uintptr_t)(VCPU_PAGE - 1));
}

/* At different places in their pages, or all would share a cache's few sets. */
struct kvm_vcpu *vcpu_alloc(struct kvm *kvm, int id)
{
	struct kvm_vcpu *vcpu;

	_Static_assert(sizeof(*vcpu) <= 512, "there is room to move it");
	vcpu = pages(VCPU_PAGE) + (id * 192 % (VCPU_PAGE - 512) & ~63);
	vcpu->kvm = kvm;
	vcpu->vcpu_id = id;
	vcpu->wants_to_run = true;
	vcpu->async_pf.done.next = &vcpu->async_pf.done;
	vcpu_thread_start(vcpu);

	return vcpu;
}

void vcpu_store(struct kvm_vcpu *vcpu)
{
	struct kvm *kvm = vcpu->kvm;
	int index = atomic_read(&kvm->online_vcpus);

	WRITE_ONCE(vcpu->vcpu_idx, index);
	WRITE_ONCE(kvm->vcpu_array[index], vcpu);
}

void vcpu_online(struct kvm_vcpu *vcpu)
{
	struct kvm *kvm = vcpu->kvm;

	kvm_dy_ready_publish(vcpu);
	/* As smp_wmb() and atomic_inc(); for kvm_get_vcpu(). */
	smp_store_release(&kvm->online_vcpus.counter, vcpu->vcpu_idx + 1);
}

void vcpu_free(struct kvm_vcpu *vcpu)
{
	if (vcpu->stub_task)
		vcpu_thread_exit(vcpu);
	free(vcpu->pid);
	munmap(vcpu_page(vcpu), VCPU_PAGE);
}

struct kvm *vm_create(unsigned int n)
{
	struct kvm *kvm = pages(sizeof(*kvm));
	struct kvm_vcpu *vcpu;
	unsigned int i;

	kvm_dy_init_vm(kvm);
	kvm_dy_create_vm_debugfs(kvm);
	for (i = 0; i < n; i++) {
		vcpu = vcpu_alloc(kvm, i);
		vcpu_store(vcpu);
		vcpu_online(vcpu);
	}

	return kvm;
}

void vm_destroy(struct kvm *kvm)
{
	int i;

	for (i = 0; i < atomic_read(&kvm->online_vcpus); i++)
		vcpu_free(kvm->vcpu_array[i]);
	munmap(kvm, sizeof(*kvm));
}

void vcpu_sched_out(struct kvm_vcpu *vcpu, bool runnable)
{
	if (runnable && READ_ONCE(vcpu->wants_to_run)) {
		WRITE_ONCE(vcpu->preempted, true);
		kvm_dy_ready_sched_out(vcpu);
	}
}

void vcpu_sched_in(struct kvm_vcpu *vcpu)
{
	WRITE_ONCE(vcpu->preempted, false);
	kvm_dy_ready_sched_in(vcpu);
}

bool vcpu_block(struct kvm_vcpu *vcpu)
{
	WRITE_ONCE(vcpu->arch.blocking, true);
	/* As set_current_state(): that one sleeps, then the reason. */
	smp_mb();
	return !READ_ONCE(vcpu->arch.event);
}

void vcpu_unblock(struct kvm_vcpu *vcpu)
{
	WRITE_ONCE(vcpu->arch.blocking, false);
	WRITE_ONCE(vcpu->arch.event, false);
}

bool vcpu_send_event(struct kvm_vcpu *vcpu)
{
	WRITE_ONCE(vcpu->arch.event, true);
	return kvm_dy_ready_wake_up(vcpu);
}

void vcpu_preempt(struct kvm_vcpu *vcpu, bool in_kernel)
{
	WRITE_ONCE(vcpu->arch.in_kernel, in_kernel);
	vcpu_sched_out(vcpu, true);
}

void vcpu_make_woken(struct kvm_vcpu *vcpu)
{
	vcpu_block(vcpu);
	vcpu_sched_out(vcpu, false);
	vcpu_send_event(vcpu);
}
