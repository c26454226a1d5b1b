/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ASM_PVLOCK_ABI_H
#define __ASM_PVLOCK_ABI_H

#include <linux/types.h>

#define PVLOCK_REVISION		1
#define PVLOCK_ALIGN		16

/*
 * What a hypervisor tells a guest about one of its vCPUs, in memory that the
 * hypervisor owns; see Documentation/virt/kvm/arm/pvlock.rst.  PVLOCK_ALIGNed,
 * so that it lies within one naturally aligned 64-byte block.
 *
 * revision is valid once PV_LOCK has returned the address; preempted is not 0
 * while the vCPU was preempted, 0 while it runs or idles.
 */
struct pvlock_vcpu_state {
	__le32 revision;
	__le32 preempted;
	u8 reserved[8];
};

#endif
