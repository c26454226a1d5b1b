/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tries all interleavings of a few short threads of kernel code.
 *
 * The accesses of memory_model.h are the steps.  A plain store, or a change of a
 * bit (which orders nothing either), waits in a buffer of its thread until a
 * barrier, or until the explorer lets it out; those to different addresses leave
 * in any order unless a release keeps them.  A load sees its thread's own buffer
 * first.  Loads happen in program order: this is more than x86 may do, but not
 * all that arm64 may.
 *
 * A schedule that differs from running each thread to its end costs one for
 * each switch away from a thread that could go on; all schedules up to a cost
 * are tried.  Letting a store out late is free.
 */
#ifndef _EXPLORE_H
#define _EXPLORE_H

#include <stdbool.h>

#define EXPLORE_MAX_THREADS	4

struct explore {
	void (*setup)(void);
	void (*threads[EXPLORE_MAX_THREADS])(void);
	/* When all have ended and all stores are out; uses EXPECT(). */
	void (*check)(void);
	unsigned int max_switches;
};

/* Return how many schedules there were. */
unsigned long explore(const struct explore *explore);

#endif
