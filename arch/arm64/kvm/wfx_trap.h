/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ARM64_KVM_WFX_TRAP_H__
#define __ARM64_KVM_WFX_TRAP_H__

struct kvm_vcpu;

void kvm_wfx_trap_load(struct kvm_vcpu *vcpu);

#endif
