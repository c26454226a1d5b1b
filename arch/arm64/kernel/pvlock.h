/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ARM64_KERNEL_PVLOCK_H
#define __ARM64_KERNEL_PVLOCK_H

#include <linux/kconfig.h>

struct pvlock_vcpu_state;

#if IS_ENABLED(CONFIG_KUNIT)
struct pvlock_vcpu_state *pv_lock_swap_state(int cpu, struct pvlock_vcpu_state *state);
#endif

#endif
