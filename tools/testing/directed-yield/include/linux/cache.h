/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _STUB_LINUX_CACHE_H
#define _STUB_LINUX_CACHE_H

/* The one size that the core knows is in its header's BITS_TO_LONGS(). */
#define KVM_MAX_VCPUS	4096

#define ____cacheline_aligned_in_smp	__attribute__((aligned(64)))

#endif
