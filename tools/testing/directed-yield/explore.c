// SPDX-License-Identifier: GPL-2.0
#include "explore.h"

#include <string.h>

#include <linux/memory_model.h>

#include "coroutine.h"
#include "test.h"

#define STACK		(64 * 1024)
#define MAX_STORES	16
#define MAX_CHOICES	400

/* A plain store, or a change of one bit: atomic, but as late as a store. */
struct store {
	volatile char *to;
	char bytes[8];
	size_t size;
	bool release;
	unsigned long bit;
	bool set;
};

struct thread {
	struct coroutine co;
	char stack[STACK] __attribute__((aligned(16)));
	struct store stores[MAX_STORES];
	unsigned int nr_stores;
};

/* A choice of the current schedule: which of how many. */
struct choice {
	unsigned int taken, of;
};

static struct thread threads[EXPLORE_MAX_THREADS];
static unsigned int nr_threads;
static struct thread *current;
static struct choice choices[MAX_CHOICES];
static unsigned int nr_choices, position;

/* Repeats the schedule as far as it is given, then takes the first of each. */
static unsigned int choose(unsigned int of)
{
	if (of == 1)
		return 0;
	EXPECT(position < MAX_CHOICES);
	if (position == nr_choices)
		choices[nr_choices++] = (struct choice){ .of = of };
	EXPECT(choices[position].of == of);
	return choices[position++].taken;
}

static bool next_schedule(void)
{
	while (nr_choices && choices[nr_choices - 1].taken + 1 ==
			     choices[nr_choices - 1].of)
		nr_choices--;
	if (!nr_choices)
		return false;
	choices[nr_choices - 1].taken++;
	return true;
}

static bool overlap(struct store *a, struct store *b)
{
	return a->to < b->to + b->size && b->to < a->to + a->size;
}

static bool may_leave(struct thread *thread, unsigned int i)
{
	unsigned int j;

	if (i && thread->stores[i].release)
		return false;
	for (j = 0; j < i; j++) {
		if (overlap(&thread->stores[j], &thread->stores[i]))
			return false;
	}
	return true;
}

static void apply(const struct store *store, void *to)
{
	unsigned long word;

	if (!store->bit) {
		memcpy(to, store->bytes, store->size);
		return;
	}
	memcpy(&word, to, sizeof(word));
	word = store->set ? word | store->bit : word & ~store->bit;
	memcpy(to, &word, sizeof(word));
}

static void let_out(struct thread *thread, unsigned int i)
{
	struct store *store = &thread->stores[i];

	apply(store, (void *)store->to);
	thread->nr_stores--;
	memmove(store, store + 1, (thread->nr_stores - i) * sizeof(*store));
}

/* A step of the current thread begins: others may come first. */
static void step(void)
{
	if (current)
		coroutine_pause(&current->co);
}

void model_load(const volatile void *from, void *to, size_t size)
{
	unsigned int i;

	step();
	memcpy(to, (const void *)from, size);
	for (i = 0; current && i < current->nr_stores; i++) {
		struct store *store = &current->stores[i];

		/* No word of the core is read in parts. */
		if (store->to == from) {
			EXPECT(store->size == size);
			apply(store, to);
		}
	}
}

static void buffer(const struct store *store)
{
	step();
	EXPECT(current->nr_stores < MAX_STORES);
	current->stores[current->nr_stores++] = *store;
}

void model_store(volatile void *to, const void *from, size_t size, bool release)
{
	struct store store = { .to = to, .size = size, .release = release };

	EXPECT(size <= sizeof(store.bytes));
	memcpy(store.bytes, from, size);
	if (current)
		buffer(&store);
	else
		apply(&store, (void *)to);
}

void model_change_bit(volatile unsigned long *word, unsigned long mask, bool set)
{
	struct store store = {
		.to = (volatile char *)word,
		.size = sizeof(*word),
		.bit = mask,
		.set = set,
	};

	if (current)
		buffer(&store);
	else
		apply(&store, (void *)word);
}

void model_barrier(void)
{
	step();
	while (current && current->nr_stores)
		let_out(current, 0);
}

static void thread_main(void *function)
{
	((void (*)(void))function)();
}

/* What may happen next: a thread's step, or a store that leaves its buffer. */
struct move {
	struct thread *thread;
	int store;
};

static void run_schedule(const struct explore *explore)
{
	struct thread *last = NULL;
	unsigned int i, j, switches = 0;

	for (i = 0; i < nr_threads; i++) {
		struct thread *thread = &threads[i];

		thread->nr_stores = 0;
		coroutine_prepare(&thread->co, thread_main, explore->threads[i],
				  thread->stack, STACK);
	}

	for (;;) {
		struct move moves[EXPLORE_MAX_THREADS * (MAX_STORES + 1)];
		bool goes_on = last && !last->co.ended;
		unsigned int n = 0;

		if (goes_on)
			moves[n++] = (struct move){ last, -1 };
		for (i = 0; i < nr_threads; i++) {
			struct thread *thread = &threads[i];

			if (thread != last && !thread->co.ended &&
			    (!goes_on || switches < explore->max_switches))
				moves[n++] = (struct move){ thread, -1 };
			for (j = 0; j < thread->nr_stores; j++) {
				if (may_leave(thread, j))
					moves[n++] = (struct move){ thread, j };
			}
		}
		if (!n)
			return;
		i = choose(n);
		if (moves[i].store >= 0) {
			let_out(moves[i].thread, moves[i].store);
			continue;
		}
		switches += goes_on && moves[i].thread != last;
		last = moves[i].thread;
		current = last;
		coroutine_run(&last->co);
		current = NULL;
	}
}

unsigned long explore(const struct explore *explore)
{
	unsigned long schedules = 0;

	for (nr_threads = 0; nr_threads < EXPLORE_MAX_THREADS &&
	     explore->threads[nr_threads]; nr_threads++)
		;
	nr_choices = 0;
	do {
		position = 0;
		explore->setup();
		run_schedule(explore);
		explore->check();
		schedules++;
	} while (next_schedule());

	return schedules;
}
