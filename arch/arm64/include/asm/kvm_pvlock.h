/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ARM64_KVM_PVLOCK_H__
#define __ARM64_KVM_PVLOCK_H__

#include <linux/types.h>

struct kvm;
struct kvm_device_attr;
struct kvm_vcpu;

/*
 * A vCPU's side of the PV lock.  Written by the vCPU's thread, or by another one
 * that holds vcpu->mutex.
 *
 * ipa: where user space wants the state, INVALID_GPA for the PV time slot.
 * maybe_set: the flag in the guest's memory may be other than 0.  True from the
 * start, since the memory may come from a migration.
 */
struct kvm_vcpu_pvlock {
	gpa_t ipa;
	bool maybe_set;
};

unsigned long kvm_pvlock_features(struct kvm *kvm);
bool kvm_pvlock_supported(void);
u32 kvm_pvlock_vcpu_features(struct kvm_vcpu *vcpu);
gpa_t kvm_pvlock_call(struct kvm_vcpu *vcpu);

void kvm_pvlock_vcpu_init(struct kvm_vcpu *vcpu);
void kvm_pvlock_load(struct kvm_vcpu *vcpu);
void kvm_pvlock_put(struct kvm_vcpu *vcpu);
void kvm_pvlock_clear(struct kvm_vcpu *vcpu);
void kvm_pvlock_run_end(struct kvm_vcpu *vcpu);

int kvm_pvlock_set_attr(struct kvm_vcpu *vcpu, struct kvm_device_attr *attr);
int kvm_pvlock_get_attr(struct kvm_vcpu *vcpu, struct kvm_device_attr *attr);
int kvm_pvlock_has_attr(struct kvm_vcpu *vcpu, struct kvm_device_attr *attr);

#endif
