/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pause filter in software, see pause_filter.c.
 */
#ifndef __KVM_X86_SVM_PAUSE_FILTER_H
#define __KVM_X86_SVM_PAUSE_FILTER_H

#include <linux/types.h>

/**
 * struct svm_pause_filter - one vCPU's filter; touched by its own thread only
 * @window:	PAUSEs to absorb before one is let through
 * @absorbed:	PAUSEs absorbed since the count was last reloaded
 * @last:	TSC value (host cycles) at the previous PAUSE exit
 */
struct svm_pause_filter {
	u16 window;
	u16 absorbed;
	u64 last;
};

extern bool pause_filter_software;

bool svm_pause_filter_setup(unsigned short *count, unsigned short *thresh);
bool svm_pause_filter_absorbs(struct svm_pause_filter *pf,
			      unsigned short thresh);

#endif /* __KVM_X86_SVM_PAUSE_FILTER_H */
