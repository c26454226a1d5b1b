// SPDX-License-Identifier: GPL-2.0
/*
 * Directed yield: what an architecture may tell about another vCPU.
 *
 * The hooks are asked about a vCPU that is not the caller's: it may be loaded
 * on another CPU, run, sleep, or be switched out at this moment.  They may read
 * only what is valid in all of these states, that is memory, never the state
 * that a CPU has loaded, and must not sleep, kick or change anything.  An
 * answer may be old when it is used; it must not be another vCPU's.
 *
 * Here are the defaults.
 */
#include <linux/kvm_host.h>

/**
 * kvm_arch_dy_runnable - has a blocking vCPU something to wake up for?
 * @vcpu:	the vCPU to ask about, not loaded by the caller
 *
 * The default suits architectures whose kvm_arch_vcpu_runnable() does not need
 * the vCPU loaded.
 *
 * Context: the spinning vCPU's thread, preemptible.
 * Return: true if @vcpu, blocking, has an event to handle.
 */
bool __weak kvm_arch_dy_runnable(struct kvm_vcpu *vcpu)
{
	return kvm_arch_vcpu_runnable(vcpu);
}

/**
 * kvm_arch_vcpu_preempted_in_kernel - was a vCPU preempted in kernel mode?
 * @vcpu:	the vCPU to ask about, preempted when the caller looked
 *
 * The default suits architectures that can tell the mode of a vCPU which is not
 * loaded; others cache it when they put the vCPU.
 *
 * Context: the spinning vCPU's thread, preemptible.
 * Return: true for kernel mode.
 */
bool __weak kvm_arch_vcpu_preempted_in_kernel(struct kvm_vcpu *vcpu)
{
	return kvm_arch_vcpu_in_kernel(vcpu);
}

/**
 * kvm_arch_dy_has_pending_interrupt - has a vCPU an undelivered interrupt?
 * @vcpu:	the vCPU to ask about, not loaded by the caller
 *
 * Context: the spinning vCPU's thread, preemptible.
 * Return: true if an interrupt waits for @vcpu to run.
 */
bool __weak kvm_arch_dy_has_pending_interrupt(struct kvm_vcpu *vcpu)
{
	return false;
}
