// SPDX-License-Identifier: GPL-2.0
#include "stock.h"

void stock_sched_out(struct kvm_vcpu *vcpu)
{
	vcpu->stock.ready = true;
}

void stock_sched_in(struct kvm_vcpu *vcpu)
{
	vcpu->stock.ready = false;
}

void stock_woken(struct kvm_vcpu *vcpu)
{
	vcpu->stock.ready = true;
}

static bool has_event(struct kvm_vcpu *vcpu)
{
	return kvm_arch_dy_runnable(vcpu) ||
	       !list_empty_careful(&vcpu->async_pf.done);
}

static bool suits(struct kvm_vcpu *vcpu, bool in_kernel)
{
	if (kvm_vcpu_is_blocking(vcpu) && !has_event(vcpu))
		return false;
	if (in_kernel && READ_ONCE(vcpu->preempted) &&
	    !kvm_arch_dy_has_pending_interrupt(vcpu) &&
	    !kvm_arch_vcpu_preempted_in_kernel(vcpu))
		return false;
	if (!vcpu->stock.spinning)
		return true;
	vcpu->stock.eligible = !vcpu->stock.eligible;
	return !vcpu->stock.eligible;
}

/* Return true to look no further. */
static bool look(struct kvm_vcpu *me, unsigned int i, bool in_kernel,
		 unsigned int *tries)
{
	struct kvm_vcpu *vcpu = me->kvm->vcpu_array[i];
	int ret;

	if (!READ_ONCE(vcpu->stock.ready) || vcpu == me ||
	    !suits(vcpu, in_kernel))
		return false;

	ret = kvm_vcpu_yield_to(vcpu);
	if (ret > 0)
		me->kvm->stock_last_boosted = i;
	return ret > 0 || (ret < 0 && !--*tries);
}

void stock_on_spin(struct kvm_vcpu *me, bool in_kernel)
{
	unsigned int online = atomic_read(&me->kvm->online_vcpus);
	unsigned int begin = me->kvm->stock_last_boosted + 1;
	unsigned int tries = 3, i;

	me->stock.spinning = true;
	for (i = begin; i < online; i++) {
		if (look(me, i, in_kernel, &tries))
			goto out;
	}
	for (i = 0; i < min(begin, online); i++) {
		if (look(me, i, in_kernel, &tries))
			goto out;
	}
out:
	me->stock.spinning = false;
	me->stock.eligible = false;
}
