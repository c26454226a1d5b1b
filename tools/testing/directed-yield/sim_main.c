// SPDX-License-Identifier: GPL-2.0
/*
 * Usage: sim NAME=VALUE...; prints NAME=VALUE for all results on one line.
 * `sim -` reads such lines from standard input, and prints one for each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

void test_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: expected %s\n", file, line, what);
	exit(1);
}

static const struct config defaults = {
	.policy = CORE,
	.cpus = 8,
	.critical = 2000,
	.noncritical = 18000,
	.end = 100000000,
	SERVER_TIMES,
	.yield_level = true,
	.yield_paid = true,
	.sees_interrupts = true,
	.seed = 1,
};

static unsigned int word(const char *value, const char *const *words, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (!strcmp(words[i], value))
			return i;
	}
	fprintf(stderr, "not known: %s\n", value);
	exit(2);
}

static void set(struct config *config, char *text)
{
	static const char *const policies[] = { "guest", "stock", "core", "oracle" };
	static const char *const works[] = { "tas", "ticket", "mutex", "ipi" };
	char *value = strchr(text, '=');

	if (!value) {
		fprintf(stderr, "not NAME=VALUE: %s\n", text);
		exit(2);
	}
	*value++ = 0;
#define NUMBER(name)						\
	if (!strcmp(text, #name)) {				\
		config->name = strtoull(value, NULL, 10);	\
		return;						\
	}
	NUMBER(cpus) NUMBER(hogs) NUMBER(locks) NUMBER(groups)
	NUMBER(yield_level) NUMBER(yield_paid) NUMBER(pinned) NUMBER(background)
	NUMBER(sees_interrupts) NUMBER(critical) NUMBER(noncritical)
	NUMBER(iterations) NUMBER(end) NUMBER(window) NUMBER(slice) NUMBER(tick)
	NUMBER(exit_cost) NUMBER(switch_cost) NUMBER(yield_cost) NUMBER(wake_cost)
	NUMBER(ipi_cost) NUMBER(seed)
#undef NUMBER
	if (!strcmp(text, "policy")) {
		config->policy = word(value, policies, ARRAY_SIZE(policies));
	} else if (!strcmp(text, "work")) {
		config->work = word(value, works, ARRAY_SIZE(works));
	} else if (!strcmp(text, "vm") && config->vms < ARRAY_SIZE(config->vcpus)) {
		config->vcpus[config->vms++] = strtoul(value, NULL, 10);
	} else {
		fprintf(stderr, "not known: %s\n", text);
		exit(2);
	}
}

static void run(struct config *config)
{
	struct result r;

	if (!config->vms)
		config->vcpus[config->vms++] = config->cpus;
	r = simulate(config);
	printf("time=%llu sections=%llu fairness=%.3f wasted=%.4f exits=%llu ",
	       (unsigned long long)r.time, (unsigned long long)r.sections,
	       r.fairness, r.wasted, (unsigned long long)r.exits);
	printf("yields=%llu took_effect=%llu switches=%llu hog_share=%.3f\n",
	       (unsigned long long)r.yields, (unsigned long long)r.took_effect,
	       (unsigned long long)r.switches, r.hog_share);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct config config = defaults;
	char line[1000], *next, *text;
	int i;

	if (argc == 2 && !strcmp(argv[1], "-")) {
		while (fgets(line, sizeof(line), stdin)) {
			config = defaults;
			for (text = strtok_r(line, "\n ", &next); text;
			     text = strtok_r(NULL, "\n ", &next))
				set(&config, text);
			run(&config);
		}
		return 0;
	}
	for (i = 1; i < argc; i++)
		set(&config, argv[i]);
	run(&config);
	return 0;
}
