/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of what Linux 6.12 does at a spin exit, to compare with: it asks each
 * online vCPU, beginning behind the one that was boosted last, and yields to the
 * first that says it is ready and suits; a vCPU that spins suits every other
 * time.  The model walks an array, where the kernel walks an xarray.
 */
#ifndef _STOCK_H
#define _STOCK_H

#include <linux/kvm_host.h>

/* The preempt notifiers and the wake-up, for the flag `ready`. */
void stock_sched_out(struct kvm_vcpu *vcpu);
void stock_sched_in(struct kvm_vcpu *vcpu);
void stock_woken(struct kvm_vcpu *vcpu);

void stock_on_spin(struct kvm_vcpu *me, bool in_kernel);

#endif
