/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Directed yield: a vCPU that spins gives its CPU to one of its VM's vCPUs that
 * waits for a CPU, and is likely to be what it spins for.
 *
 * What it is for and how to see it work:
 * Documentation/virt/kvm/directed-yield.rst
 */
#ifndef __LINUX_KVM_DIRECTED_YIELD_H
#define __LINUX_KVM_DIRECTED_YIELD_H

#include <linux/types.h>

struct kvm;
struct kvm_vcpu;

/**
 * struct kvm_dy - a VM's directed yield
 * @enabled:		the VM's own switch, in its debugfs directory
 * @last_boosted:	index of the vCPU that was yielded to last, or at which a
 *			search for spinners gave up; the next one begins behind
 *			it: [0] for those that do not spin, [1] for those that
 *			do.  With one for both, a vCPU to which every other
 *			yield goes would keep the search for spinners from going
 *			round.
 *
 * Both are read and written without a lock; an old value makes one search begin
 * elsewhere, or lets one more exit pass.
 */
struct kvm_dy {
	bool enabled;
	unsigned int last_boosted[2];
};

/**
 * struct kvm_vcpu_dy - a vCPU's directed yield
 * @spinning:		the vCPU is in kvm_vcpu_on_spin(), where it may have
 *			given way; written by its own thread
 * @spinners_first:	at its next spin exit, look for vCPUs that spin before
 *			the others; for its own thread only
 */
struct kvm_vcpu_dy {
	bool spinning;
	bool spinners_first;
};

/* Hooks of kvm_main.c */
void kvm_dy_init_vm(struct kvm *kvm);
void kvm_dy_create_vm_debugfs(struct kvm *kvm);

/* For architectures */
int kvm_vcpu_yield_to(struct kvm_vcpu *target);
void kvm_vcpu_on_spin(struct kvm_vcpu *me, bool yield_to_kernel_mode);

#endif /* __LINUX_KVM_DIRECTED_YIELD_H */
