// SPDX-License-Identifier: GPL-2.0
/*
 * The pause filter in software, for CPUs that lack one.
 *
 * A CPU with PAUSEFILTER and PFTHRESHOLD (APM volume 2, section 15.14.4) exits
 * on a PAUSE only if it is one of many in quick succession, which is the mark
 * of a spin loop.  A CPU without them can only exit on every PAUSE or on none;
 * KVM chooses none, and a vCPU that waits for a preempted one then burns its
 * time slice.  That is what a nested hypervisor usually gets, and an emulator.
 * With pause_filter_software=1, KVM takes every PAUSE exit and applies the
 * hardware's rule itself.  An exit per PAUSE is not cheap, hence off by
 * default: a gain only where vCPUs outnumber the CPUs.
 *
 * It differs from the hardware in two ways.  The hardware reloads the count at
 * each VMRUN, which would never let it reach zero here.  And the distance of
 * two PAUSEs includes the exit that the first one caused.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpufeature.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>

#include <asm/msr.h>

#include "x86.h"
#include "pause_filter.h"

/* About the time that the hardware's default lets pass: tens of microseconds */
#define SOFTWARE_COUNT		16
/* A round trip through KVM, nested or emulated, takes thousands of cycles */
#define SOFTWARE_THRESH		20000

bool pause_filter_software;
module_param(pause_filter_software, bool, 0444);
MODULE_PARM_DESC(pause_filter_software,
		 "Filter PAUSE exits in software where the CPU has no pause filter (default: N)");

/**
 * svm_pause_filter_setup - decide whether PAUSE exits are filtered in software
 * @count:	the module's pause_filter_count
 * @thresh:	the module's pause_filter_thresh, cycles
 *
 * For module initialisation, before the first VM exists.  The parameters keep
 * what the user has set; where that is the hardware's default, which counts
 * PAUSEs that cost tens of cycles, it is replaced by one that suits PAUSEs
 * which cost an exit each.  A count of 0 asks for no PAUSE exits, as ever.
 *
 * Return: true if the software filter is in use.  pause_filter_software then
 * stays set, and is cleared otherwise.
 */
bool __init svm_pause_filter_setup(unsigned short *count, unsigned short *thresh)
{
	if (!pause_filter_software)
		return false;

	if (!*count) {
		pause_filter_software = false;
		return false;
	}

	if (boot_cpu_has(X86_FEATURE_PAUSEFILTER) &&
	    boot_cpu_has(X86_FEATURE_PFTHRESHOLD)) {
		pr_info("the CPU has a pause filter, pause_filter_software is ignored\n");
		pause_filter_software = false;
		return false;
	}

	if (*count == KVM_SVM_DEFAULT_PLE_WINDOW)
		*count = SOFTWARE_COUNT;
	if (*thresh == KVM_DEFAULT_PLE_GAP)
		*thresh = SOFTWARE_THRESH;

	pr_info("pause filter in software, count %u, threshold %u cycles\n",
		*count, *thresh);
	return true;
}

/**
 * svm_pause_filter_absorbs - apply the filter to a PAUSE exit
 * @pf:		the filter of the vCPU that exited
 * @thresh:	distance in cycles beyond which a PAUSE begins a new loop;
 *		0 counts PAUSEs at any distance
 *
 * For the vCPU's own thread, with the vCPU loaded.
 *
 * Return: true if the PAUSE needs nothing but to be skipped, false if it is the
 * one beyond @pf's window; the count is then reloaded.
 */
bool svm_pause_filter_absorbs(struct svm_pause_filter *pf, unsigned short thresh)
{
	u64 now, distance;

	if (!pause_filter_software)
		return false;

	now = rdtsc();
	distance = now - pf->last;
	pf->last = now;

	if (thresh && distance > thresh)
		pf->absorbed = 0;

	if (pf->absorbed < pf->window) {
		pf->absorbed++;
		return true;
	}

	pf->absorbed = 0;
	return false;
}
