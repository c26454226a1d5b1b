// SPDX-License-Identifier: GPL-2.0
/*
 * PV lock: tell a guest which of its vCPUs are preempted.
 *
 * Each vCPU has a state in guest memory that belongs to the hypervisor: by
 * default the spare bytes of the PV time slot, which user space gives vCPUs for
 * stolen time already, or where KVM_ARM_VCPU_PVLOCK_IPA says.  The ABI is in
 * Documentation/virt/kvm/arm/pvlock.rst.
 *
 * The flag is set when the vCPU's thread is switched out and the vCPU neither
 * idles nor is stopped: it was preempted, gave way in kvm_vcpu_on_spin(), or the
 * host fetches a page for it.  It is cleared when the thread is switched in.
 * Both happen where nothing may sleep, so the page may turn out not to be there.
 * A flag that is not set costs the guest some spinning and is let go.  One that
 * is not cleared would mislead it for as long as the vCPU runs; it is cleared
 * before the vCPU enters the guest (KVM_REQ_PVLOCK), and at the latest before
 * KVM_RUN returns.  So what user space saves and moves to another host is always
 * 0, whether that host knows of it or not, and there is no state to migrate.
 *
 * The flag and pvlock.maybe_set are written by the vCPU's own thread only, with
 * a preemption in between undoing itself (set, then cleared), so that there is
 * no update to lose.
 */
#include <linux/arm-smccc.h>
#include <linux/init.h>
#include <linux/kvm_host.h>
#include <linux/kstrtox.h>
#include <linux/uaccess.h>

#include <asm/kvm_emulate.h>
#include <asm/kvm_mmu.h>
#include <asm/pvclock-abi.h>
#include <asm/pvlock-abi.h>

static bool pvlock_enable __ro_after_init = true;

static int __init early_pvlock(char *arg)
{
	return kstrtobool(arg, &pvlock_enable);
}
early_param("kvm-arm.pvlock", early_pvlock);

/**
 * kvm_pvlock_supported - does this host know the PV lock?
 *
 * kvm-arm.pvlock=0 hides all of it, registers and attributes included, so that
 * a VM can go back to a host that has never heard of it.
 *
 * Context: any.
 * Return: false if it was switched off at boot.
 */
bool kvm_pvlock_supported(void)
{
	return pvlock_enable;
}

/**
 * kvm_pvlock_features - what a VM may have of KVM_REG_ARM_VENDOR_HYP_BMAP_2
 * @kvm:	the VM
 *
 * An explicit mask: bits 0 and 1 are another feature's.
 *
 * Context: any.
 * Return: the bits.
 */
unsigned long kvm_pvlock_features(struct kvm *kvm)
{
	/* The host must not write to a protected VM's memory. */
	if (!pvlock_enable || kvm_vm_is_protected(kvm))
		return 0;

	return BIT(KVM_REG_ARM_VENDOR_HYP_BIT_PV_LOCK);
}

/* Where the state of @vcpu is, INVALID_GPA if it has none. */
static gpa_t pvlock_ipa(struct kvm_vcpu *vcpu)
{
	unsigned long bmap = READ_ONCE(vcpu->kvm->arch.smccc_feat.vendor_hyp_bmap_2);

	if (!(bmap & kvm_pvlock_features(vcpu->kvm)))
		return INVALID_GPA;

	if (vcpu->arch.pvlock.ipa != INVALID_GPA)
		return vcpu->arch.pvlock.ipa;

	if (vcpu->arch.steal.base != INVALID_GPA)
		return vcpu->arch.steal.base +
		       offsetof(struct pvclock_vcpu_stolen_time, pvlock);

	return INVALID_GPA;
}

/**
 * kvm_pvlock_vcpu_features - what of the PV lock KVM's FEATURES call announces
 * @vcpu:	the calling vCPU
 *
 * Context: the vCPU's thread.
 * Return: bits of functions 64 to 95; none for a vCPU without a state.
 */
u32 kvm_pvlock_vcpu_features(struct kvm_vcpu *vcpu)
{
	return pvlock_ipa(vcpu) == INVALID_GPA ? 0 :
	       BIT(KVM_REG_ARM_VENDOR_HYP_BIT_PV_LOCK);
}

/**
 * kvm_pvlock_call - the hypercall PV_LOCK: the address of the caller's state
 * @vcpu:	the calling vCPU
 *
 * Sets the revision, which a guest's own boot may have left undefined.
 *
 * Context: the vCPU's thread, may fault pages in.
 * Return: the address, INVALID_GPA if there is no state.
 */
gpa_t kvm_pvlock_call(struct kvm_vcpu *vcpu)
{
	const struct pvlock_vcpu_state state = {
		.revision = cpu_to_le32(PVLOCK_REVISION),
	};
	gpa_t ipa = pvlock_ipa(vcpu);

	if (ipa == INVALID_GPA ||
	    kvm_write_guest_lock(vcpu->kvm, ipa, &state, sizeof(state)))
		return INVALID_GPA;

	return ipa;
}

/* Write the flag without sleeping.  Return true if it is written. */
static bool pvlock_write_nofault(struct kvm_vcpu *vcpu, gpa_t ipa, u32 val)
{
	gpa_t gpa = ipa + offsetof(struct pvlock_vcpu_state, preempted);
	struct kvm *kvm = vcpu->kvm;
	__le32 flag = cpu_to_le32(val);
	struct kvm_memory_slot *slot;
	bool written = false;
	unsigned long hva;
	int idx;

	/* The thread is about to die, and its memory is gone. */
	if (unlikely(current->mm != kvm->mm))
		return false;

	idx = srcu_read_lock(&kvm->srcu);
	slot = gfn_to_memslot(kvm, gpa_to_gfn(gpa));
	hva = gfn_to_hva_memslot(slot, gpa_to_gfn(gpa));
	/*
	 * A preemption may have hit the thread while it pushes to its dirty
	 * ring, which is not reentrant.
	 */
	if (!kvm_is_error_hva(hva) &&
	    !(kvm->dirty_ring_size && kvm_slot_dirty_track_enabled(slot)) &&
	    !copy_to_user_nofault((void __user *)(hva + offset_in_page(gpa)),
				  &flag, sizeof(flag))) {
		mark_page_dirty_in_slot(kvm, slot, gpa_to_gfn(gpa));
		written = true;
	}
	srcu_read_unlock(&kvm->srcu, idx);

	return written;
}

/* Is the guest kept from running?  Else it idles, is stopped, or is not run. */
static bool pvlock_preempted(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(vcpu->scheduled_out) && vcpu->wants_to_run &&
	       !vcpu_get_flag(vcpu, IN_WFI) && !kvm_arm_vcpu_stopped(vcpu);
}

/**
 * kvm_pvlock_vcpu_init - set up a new vCPU's PV lock
 * @vcpu:	the vCPU, reachable by nobody else
 *
 * Context: KVM_CREATE_VCPU.
 */
void kvm_pvlock_vcpu_init(struct kvm_vcpu *vcpu)
{
	vcpu->arch.pvlock.ipa = INVALID_GPA;
	vcpu->arch.pvlock.maybe_set = true;
}

/**
 * kvm_pvlock_load - a vCPU gets a CPU: clear its flag
 * @vcpu:	the vCPU being loaded
 *
 * Context: kvm_arch_vcpu_load(), preemption disabled, in the vCPU's thread.
 */
void kvm_pvlock_load(struct kvm_vcpu *vcpu)
{
	gpa_t ipa;

	if (likely(!vcpu->arch.pvlock.maybe_set))
		return;

	ipa = pvlock_ipa(vcpu);
	if (ipa == INVALID_GPA)
		return;

	if (pvlock_write_nofault(vcpu, ipa, 0))
		vcpu->arch.pvlock.maybe_set = false;
	else
		kvm_make_request(KVM_REQ_PVLOCK, vcpu);
}

/**
 * kvm_pvlock_put - a vCPU loses its CPU: set its flag if it was preempted
 * @vcpu:	the vCPU being put
 *
 * Context: kvm_arch_vcpu_put(), preemption disabled, in the vCPU's thread; from
 * the scheduler under the run queue's lock with interrupts disabled.
 */
void kvm_pvlock_put(struct kvm_vcpu *vcpu)
{
	gpa_t ipa;

	if (!pvlock_preempted(vcpu))
		return;

	ipa = pvlock_ipa(vcpu);
	if (ipa == INVALID_GPA)
		return;

	if (pvlock_write_nofault(vcpu, ipa, 1))
		vcpu->arch.pvlock.maybe_set = true;
}

/**
 * kvm_pvlock_clear - clear the flag that could not be cleared at load
 * @vcpu:	the loaded vCPU
 *
 * If user space has taken the memory away there is nobody to mislead.
 *
 * Context: the vCPU's thread, may fault pages in.
 */
void kvm_pvlock_clear(struct kvm_vcpu *vcpu)
{
	struct kvm *kvm = vcpu->kvm;
	gpa_t ipa;
	int idx;

	if (!vcpu->arch.pvlock.maybe_set)
		return;

	ipa = pvlock_ipa(vcpu);
	if (ipa == INVALID_GPA)
		return;

	idx = srcu_read_lock(&kvm->srcu);
	if (!kvm_put_guest(kvm, ipa + offsetof(struct pvlock_vcpu_state, preempted),
			   cpu_to_le32(0)))
		vcpu->arch.pvlock.maybe_set = false;
	srcu_read_unlock(&kvm->srcu, idx);
}

/**
 * kvm_pvlock_run_end - make sure that the flag is 0 when KVM_RUN returns
 * @vcpu:	the vCPU, still loaded
 *
 * Context: the end of KVM_RUN, may fault pages in.
 */
void kvm_pvlock_run_end(struct kvm_vcpu *vcpu)
{
	/* From here on a preemption is user space's business: none is marked. */
	vcpu->wants_to_run = false;
	/* The preempt notifier runs in this thread. */
	barrier();
	kvm_pvlock_clear(vcpu);
}

/**
 * kvm_pvlock_set_attr - KVM_ARM_VCPU_PVLOCK_IPA: place the state
 * @vcpu:	the vCPU
 * @attr:	group KVM_ARM_VCPU_PVLOCK_CTRL
 *
 * Context: KVM_SET_DEVICE_ATTR, under vcpu->mutex.
 * Return: 0, or what pvlock.rst lists.
 */
int kvm_pvlock_set_attr(struct kvm_vcpu *vcpu, struct kvm_device_attr *attr)
{
	u64 __user *user = (u64 __user *)attr->addr;
	struct kvm *kvm = vcpu->kvm;
	int ret, idx;
	u64 ipa;

	ret = kvm_pvlock_has_attr(vcpu, attr);
	if (ret)
		return ret;
	if (get_user(ipa, user))
		return -EFAULT;
	if (!IS_ALIGNED(ipa, PVLOCK_ALIGN))
		return -EINVAL;
	if (vcpu->arch.pvlock.ipa != INVALID_GPA)
		return -EEXIST;
	if (vcpu_has_run_once(vcpu))
		return -EBUSY;

	idx = srcu_read_lock(&kvm->srcu);
	if (kvm_is_error_hva(gfn_to_hva(kvm, gpa_to_gfn(ipa))))
		ret = -EINVAL;
	srcu_read_unlock(&kvm->srcu, idx);
	if (ret)
		return ret;

	vcpu->arch.pvlock.ipa = ipa;
	vcpu->arch.pvlock.maybe_set = true;
	return 0;
}

/**
 * kvm_pvlock_get_attr - KVM_ARM_VCPU_PVLOCK_IPA: where user space put the state
 * @vcpu:	the vCPU
 * @attr:	group KVM_ARM_VCPU_PVLOCK_CTRL
 *
 * Context: KVM_GET_DEVICE_ATTR, under vcpu->mutex.
 * Return: 0, or what pvlock.rst lists.
 */
int kvm_pvlock_get_attr(struct kvm_vcpu *vcpu, struct kvm_device_attr *attr)
{
	u64 __user *user = (u64 __user *)attr->addr;
	u64 ipa = vcpu->arch.pvlock.ipa;
	int ret;

	ret = kvm_pvlock_has_attr(vcpu, attr);
	if (ret)
		return ret;

	return put_user(ipa, user);
}

/**
 * kvm_pvlock_has_attr - is there such an attribute?
 * @vcpu:	the vCPU
 * @attr:	group KVM_ARM_VCPU_PVLOCK_CTRL
 *
 * Context: KVM_HAS_DEVICE_ATTR.
 * Return: 0, or -ENXIO.
 */
int kvm_pvlock_has_attr(struct kvm_vcpu *vcpu, struct kvm_device_attr *attr)
{
	if (attr->attr == KVM_ARM_VCPU_PVLOCK_IPA &&
	    kvm_pvlock_features(vcpu->kvm))
		return 0;

	return -ENXIO;
}
