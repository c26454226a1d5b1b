/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ASM_PVLOCK_H
#define __ASM_PVLOCK_H

#include <linux/types.h>

#ifdef CONFIG_PARAVIRT
#include <linux/jump_label.h>

DECLARE_STATIC_KEY_FALSE(pv_lock_key);

bool __pv_lock_vcpu_is_preempted(int cpu);

/* A branch that is patched out unless the hypervisor has a PV lock. */
static __always_inline bool pv_lock_vcpu_is_preempted(int cpu)
{
	return static_branch_unlikely(&pv_lock_key) &&
	       __pv_lock_vcpu_is_preempted(cpu);
}

#else

static __always_inline bool pv_lock_vcpu_is_preempted(int cpu)
{
	return false;
}

#endif /* CONFIG_PARAVIRT */

#endif
