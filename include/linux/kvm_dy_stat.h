/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Directed yield: what each vCPU's statistics count, on every architecture.
 */
#ifndef __LINUX_KVM_DY_STAT_H
#define __LINUX_KVM_DY_STAT_H

#include <linux/types.h>

/**
 * struct kvm_dy_vcpu_stat - counters of the vCPU that spins
 * @exits:		spin exits, whether or not directed yield is switched on
 * @no_candidate:	of these, exits that found no vCPU to try
 * @tried:		vCPUs that were tried
 * @took_effect:	of these, how often the scheduler followed
 *
 * Written by the vCPU's own thread only, read at any time.
 */
struct kvm_dy_vcpu_stat {
	u64 exits;
	u64 no_candidate;
	u64 tried;
	u64 took_effect;
};

#define KVM_DY_VCPU_STAT(stat)						\
{									\
	STATS_DESC_COMMON(KVM_STATS_TYPE_CUMULATIVE,			\
			  KVM_STATS_UNIT_NONE, KVM_STATS_BASE_POW10,	\
			  0, 1, 0),					\
	.offset = offsetof(struct kvm_vcpu_stat, generic.dy.stat),	\
	.name = "dy_" #stat,						\
}

/* The names are those of KVM_GET_STATS_FD and of debugfs. */
#define KVM_DY_VCPU_STATS()						\
	KVM_DY_VCPU_STAT(exits),					\
	KVM_DY_VCPU_STAT(no_candidate),					\
	KVM_DY_VCPU_STAT(tried),					\
	KVM_DY_VCPU_STAT(took_effect)

#endif /* __LINUX_KVM_DY_STAT_H */
