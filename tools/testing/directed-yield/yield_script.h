/* SPDX-License-Identifier: GPL-2.0 */
/* A yield_to() for tests: notes whom it is asked for, and answers as told. */
#ifndef _YIELD_SCRIPT_H
#define _YIELD_SCRIPT_H

#include "kvm_stub.h"
#include "test.h"

#define MAX_YIELDS	8192

extern struct kvm_vcpu *yielded[MAX_YIELDS];
extern unsigned int nr_yields;

/*
 * The answer for a target; NULL: as a scheduler, which follows if the target
 * wants a CPU.  It may change the VM as whatever runs meanwhile would.
 */
extern int (*yield_answer)(struct kvm_vcpu *target);

int yield_as_scheduler(struct kvm_vcpu *target);

/* One spin exit of @me from a clean record; return whom the last try went to. */
struct kvm_vcpu *spin(struct kvm_vcpu *me, bool in_kernel);

#endif
