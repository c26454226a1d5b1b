// SPDX-License-Identifier: GPL-2.0
/* Usage: PROGRAM [-l] [NAME...]: run all tests or the named ones, or list. */
#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_SECONDS	250

static struct test *tests;

void test_register(struct test *test)
{
	struct test **end = &tests;

	while (*end)
		end = &(*end)->next;
	*end = test;
}

void test_fail(const char *file, int line, const char *what)
{
	printf("# %s:%d: expected %s\n", file, line, what);
	fflush(stdout);
	_exit(1);
}

static bool wanted(const char *name, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], name))
			return true;
	}
	return argc == 1;
}

static int run(struct test *test)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(LIMIT_SECONDS);
		test->function();
		fflush(stdout);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		printf("# %s\n", WTERMSIG(status) == SIGALRM ?
		       "did not end in time" : strsignal(WTERMSIG(status)));
	return status;
}

const char *__asan_default_options(void);

/* The core allocates nothing, and tests leave their VMs to the exit. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

int main(int argc, char **argv)
{
	unsigned int number = 0, failed = 0;
	struct test *test;

	if (argc == 2 && !strcmp(argv[1], "-l")) {
		for (test = tests; test; test = test->next)
			puts(test->name);
		return 0;
	}

	for (test = tests; test; test = test->next)
		number += wanted(test->name, argc, argv);
	printf("TAP version 13\n1..%u\n", number);
	number = 0;
	for (test = tests; test; test = test->next) {
		bool bad;

		if (!wanted(test->name, argc, argv))
			continue;
		bad = run(test);
		failed += bad;
		printf("%sok %u %s\n", bad ? "not " : "", ++number, test->name);
		fflush(stdout);
	}
	return failed || !number;
}
