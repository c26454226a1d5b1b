/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small test runner: each TEST() is a function that runs in a process of its
 * own, so that one which crashes or hangs is one failure.  Results are TAP.
 */
#ifndef _TEST_H
#define _TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct test {
	const char *name;
	void (*function)(void);
	struct test *next;
};

void test_register(struct test *test);

#define TEST(test_name)							\
static void test_##test_name(void);					\
__attribute__((constructor)) static void test_register_##test_name(void) \
{									\
	static struct test test = {					\
		.name = #test_name,					\
		.function = test_##test_name,				\
	};								\
									\
	test_register(&test);						\
}									\
static void test_##test_name(void)

/* The test ends at the first condition that does not hold. */
#define EXPECT(condition)						\
do {									\
	if (!(condition))						\
		test_fail(__FILE__, __LINE__, #condition);		\
} while (0)

#define EXPECT_EQ(a, b)							\
do {									\
	long long __a = (a), __b = (b);					\
									\
	if (__a != __b) {						\
		printf("# %s is %lld, %s is %lld\n", #a, __a, #b, __b);	\
		test_fail(__FILE__, __LINE__, #a " == " #b);		\
	}								\
} while (0)

void test_fail(const char *file, int line, const char *what)
	__attribute__((noreturn));

/* Random numbers that a seed repeats. */
static inline unsigned int random_below(unsigned long long *seed,
					unsigned int end)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*seed >> 33) % end;
}

#endif
