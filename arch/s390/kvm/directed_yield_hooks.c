// SPDX-License-Identifier: GPL-2.0
/*
 * Directed yield: what s390 tells about a vCPU that is not the caller's.
 * The rules are those of virt/kvm/directed_yield_hooks.c.
 *
 * Whether interrupts are pending and deliverable is in memory for any vCPU: in
 * its SIE block, its local interrupts and the VM's floating interrupts.
 */
#include <linux/kvm_host.h>
#include "kvm-s390.h"

/**
 * kvm_arch_dy_runnable - has a blocking vCPU something to wake up for?
 * @vcpu:	the vCPU to ask about, not loaded by the caller
 *
 * As kvm_arch_vcpu_runnable(), which also notes that the vCPU has answered the
 * kick for a GISA interrupt.  Only the vCPU itself can say so: in the name of
 * another one, the next kick would go to a vCPU that still owes the answer.
 *
 * Context: the spinning vCPU's thread, preemptible; takes sca_lock for reading.
 * Return: true if @vcpu, blocking, has an event to handle.
 */
bool kvm_arch_dy_runnable(struct kvm_vcpu *vcpu)
{
	return kvm_s390_vcpu_has_irq(vcpu, 0);
}

/**
 * kvm_arch_dy_has_pending_interrupt - has a vCPU an undelivered interrupt?
 * @vcpu:	the vCPU to ask about, not loaded by the caller
 *
 * A request to stop is none.  A floating interrupt counts for every vCPU that
 * is enabled for it: it waits for any of them to run.
 *
 * Context: the spinning vCPU's thread, preemptible; takes sca_lock for reading.
 * Return: true if an interrupt waits for @vcpu to run.
 */
bool kvm_arch_dy_has_pending_interrupt(struct kvm_vcpu *vcpu)
{
	return kvm_s390_vcpu_has_irq(vcpu, 1);
}
