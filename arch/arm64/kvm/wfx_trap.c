// SPDX-License-Identifier: GPL-2.0
/*
 * Whether a guest's WFI and WFE trap.
 *
 * A trapped WFE is arm64's spin exit (kvm_vcpu_on_spin()): of use when another
 * task wants the CPU, a pure cost when none does.  So the default traps unless
 * the vCPU's thread is alone on its CPU when it is loaded; "trap" and "notrap"
 * decide for good.
 *
 * The policies can be changed at any time.  A vCPU follows at its next load,
 * that is when its thread is switched in or enters KVM_RUN the next time.
 */
#include <linux/kvm_host.h>
#include <linux/moduleparam.h>
#include <linux/sched/stat.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include <asm/kvm_arm.h>

#include "wfx_trap.h"

enum wfx_trap_policy {
	WFX_TRAP_CONTENDED,	/* the default: unless the CPU runs one task */
	WFX_TRAP_NEVER,
	WFX_TRAP_ALWAYS,
};

static const char * const wfx_trap_names[] = {
	[WFX_TRAP_CONTENDED]	= "default",
	[WFX_TRAP_NEVER]	= "notrap",
	[WFX_TRAP_ALWAYS]	= "trap",
};

/* Written by their parameters, read by vCPUs being loaded; no order matters. */
static int wfi_trap_policy = WFX_TRAP_CONTENDED;
static int wfe_trap_policy = WFX_TRAP_CONTENDED;

static int wfx_trap_policy_set(const char *val, const struct kernel_param *kp)
{
	int policy = val ? __sysfs_match_string(wfx_trap_names,
						ARRAY_SIZE(wfx_trap_names),
						val) : -EINVAL;

	if (policy < 0)
		return policy;

	WRITE_ONCE(*(int *)kp->arg, policy);
	return 0;
}

static int wfx_trap_policy_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n",
			  wfx_trap_names[READ_ONCE(*(int *)kp->arg)]);
}

static const struct kernel_param_ops wfx_trap_policy_ops = {
	.set = wfx_trap_policy_set,
	.get = wfx_trap_policy_get,
};

module_param_cb(wfi_trap_policy, &wfx_trap_policy_ops, &wfi_trap_policy, 0644);
MODULE_PARM_DESC(wfi_trap_policy, "When a guest's WFI traps: trap, notrap or default");
module_param_cb(wfe_trap_policy, &wfx_trap_policy_ops, &wfe_trap_policy, 0644);
MODULE_PARM_DESC(wfe_trap_policy, "When a guest's WFE traps: trap, notrap or default");

/* The boot parameters of old, with the old name. */
static int __init wfx_trap_early(char *arg, int *policy)
{
	const struct kernel_param kp = { .arg = policy };

	return wfx_trap_policy_set(arg, &kp);
}

static int __init early_kvm_wfi_trap_policy_cfg(char *arg)
{
	return wfx_trap_early(arg, &wfi_trap_policy);
}
early_param("kvm-arm.wfi_trap_policy", early_kvm_wfi_trap_policy_cfg);

static int __init early_kvm_wfe_trap_policy_cfg(char *arg)
{
	return wfx_trap_early(arg, &wfe_trap_policy);
}
early_param("kvm-arm.wfe_trap_policy", early_kvm_wfe_trap_policy_cfg);

static bool wfx_traps(int policy, bool uncontended)
{
	if (unlikely(policy != WFX_TRAP_CONTENDED))
		return policy == WFX_TRAP_ALWAYS;

	return !uncontended;
}

/* May a WFI be left to the CPU when nobody else wants it?  If GICv4 wakes it. */
static bool wfi_wakes_directly(struct kvm_vcpu *vcpu)
{
	return atomic_read(&vcpu->arch.vgic_cpu.vgic_v3.its_vpe.vlpi_count) ||
	       vcpu->kvm->arch.vgic.nassgireq;
}

/**
 * kvm_wfx_trap_load - set which of WFI and WFE trap while a vCPU is loaded
 * @vcpu:	the vCPU being loaded
 *
 * Context: kvm_arch_vcpu_load(), preemption disabled, in the vCPU's thread.
 */
void kvm_wfx_trap_load(struct kvm_vcpu *vcpu)
{
	bool single = single_task_running();

	if (wfx_traps(READ_ONCE(wfe_trap_policy), single))
		vcpu->arch.hcr_el2 |= HCR_TWE;
	else
		vcpu->arch.hcr_el2 &= ~HCR_TWE;

	if (wfx_traps(READ_ONCE(wfi_trap_policy),
		      single && wfi_wakes_directly(vcpu)))
		vcpu->arch.hcr_el2 |= HCR_TWI;
	else
		vcpu->arch.hcr_el2 &= ~HCR_TWI;
}
