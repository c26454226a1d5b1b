// SPDX-License-Identifier: GPL-2.0
#include "coroutine.h"

#include <ucontext.h>

/* makecontext() gives the stack; jumps do the rest without system calls. */
static struct coroutine *beginning;

static void begin(void)
{
	struct coroutine *co = beginning;

	co->function(co->data);
	co->ended = true;
	_longjmp(co->outside, 1);
}

void coroutine_prepare(struct coroutine *co, void (*function)(void *data),
		       void *data, void *stack, size_t stack_size)
{
	co->function = function;
	co->data = data;
	co->stack = stack;
	co->stack_size = stack_size;
	co->begun = false;
	co->ended = false;
}

void coroutine_run(struct coroutine *co)
{
	ucontext_t context;

	if (_setjmp(co->outside))
		return;
	if (co->begun)
		_longjmp(co->inside, 1);

	co->begun = true;
	beginning = co;
	getcontext(&context);
	context.uc_stack.ss_sp = co->stack;
	context.uc_stack.ss_size = co->stack_size;
	context.uc_link = NULL;
	makecontext(&context, begin, 0);
	setcontext(&context);
}

void coroutine_pause(struct coroutine *co)
{
	if (!_setjmp(co->inside))
		_longjmp(co->outside, 1);
}
