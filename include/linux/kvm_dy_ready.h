/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Directed yield: the set of a VM's vCPUs that want a CPU and have none.
 * How it is kept: virt/kvm/directed_yield_ready.c
 */
#ifndef __LINUX_KVM_DY_READY_H
#define __LINUX_KVM_DY_READY_H

#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/types.h>

struct kvm;
struct kvm_vcpu;

/**
 * struct kvm_dy_ready - the ready set of a VM
 * @map:	bit N is set if the vCPU with index N may want a CPU
 *
 * Written by any thread that switches out or wakes a vCPU of the VM, hence in
 * cache lines of its own.
 */
struct kvm_dy_ready {
	unsigned long map[BITS_TO_LONGS(KVM_MAX_VCPUS)] ____cacheline_aligned_in_smp;
};

/* Hooks of kvm_main.c and async_pf.c */
void kvm_dy_ready_publish(struct kvm_vcpu *vcpu);
void kvm_dy_ready_sched_in(struct kvm_vcpu *vcpu);
void kvm_dy_ready_sched_out(struct kvm_vcpu *vcpu);
bool kvm_dy_ready_wake_up(struct kvm_vcpu *vcpu);

/* For those who look for a vCPU to yield to */
bool kvm_vcpu_is_ready(struct kvm_vcpu *vcpu);
bool kvm_dy_ready_check(struct kvm_vcpu *vcpu);
unsigned int kvm_dy_ready_next(struct kvm *kvm, unsigned int from,
			       unsigned int end);

#endif /* __LINUX_KVM_DY_READY_H */
