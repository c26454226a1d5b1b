/* SPDX-License-Identifier: GPL-2.0 */
/* Threads of control that take turns at will, within one thread. */
#ifndef _COROUTINE_H
#define _COROUTINE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

struct coroutine {
	jmp_buf inside, outside;
	void (*function)(void *data);
	void *data;
	void *stack;
	size_t stack_size;
	bool begun, ended;
};

/* Prepare to run @function on @stack; may be called again once it has ended. */
void coroutine_prepare(struct coroutine *co, void (*function)(void *data),
		       void *data, void *stack, size_t stack_size);

/* Run it until it pauses or ends.  Not from within another one. */
void coroutine_run(struct coroutine *co);

/* The one that runs: back to who called coroutine_run(). */
void coroutine_pause(struct coroutine *co);

#endif
