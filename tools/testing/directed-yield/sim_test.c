// SPDX-License-Identifier: GPL-2.0
/* Of the simulator itself, and of the core in the worlds that it makes. */
#include <math.h>
#include <string.h>

#include "sim.h"
#include "test.h"

#define SEEDS	10

static struct config world(enum policy policy, enum work work,
			   unsigned long long seed)
{
	unsigned long long shape = seed * 77 + work;
	struct config config = {
		.policy = policy,
		.work = work,
		.cpus = 1 + random_below(&shape, 6),
		.vms = 1 + random_below(&shape, 3),
		.hogs = random_below(&shape, 2),
		.groups = random_below(&shape, 2),
		.background = random_below(&shape, 3) * 20,
		.yield_level = true,
		.yield_paid = true,
		.sees_interrupts = random_below(&shape, 2),
		.critical = 1000 + random_below(&shape, 20000),
		.noncritical = 2000 + random_below(&shape, 60000),
		.iterations = 300,
		.end = 60000000000,
		SERVER_TIMES,
		.seed = seed,
	};
	unsigned int i;

	for (i = 0; i < config.vms; i++)
		config.vcpus[i] = 1 + random_below(&shape, 2 * config.cpus + 2);
	return config;
}

TEST(sim_same_seed_same_result)
{
	unsigned int policy, work, seed;

	for (policy = 0; policy < NR_POLICIES; policy++) {
		for (work = 0; work < NR_WORKS; work++) {
			for (seed = 1; seed <= 3; seed++) {
				struct config config = world(policy, work, seed);
				struct result a, b;

				memset(&a, 0, sizeof(a));
				memset(&b, 0, sizeof(b));
				a = simulate(&config);
				b = simulate(&config);
				EXPECT(a.time == b.time && a.used == b.used &&
				       a.exits == b.exits && a.yields == b.yields &&
				       a.switches == b.switches &&
				       a.sections == b.sections);
			}
		}
	}
}

TEST(sim_cpu_time_is_conserved)
{
	unsigned int work, seed;

	for (work = 0; work < NR_WORKS; work++) {
		for (seed = 1; seed <= SEEDS; seed++) {
			struct config config = world(CORE, work, seed);
			struct result r = simulate(&config);

			EXPECT(r.used <= config.cpus * r.time);
			EXPECT(r.wasted >= 0 && r.wasted <= 1);
		}
	}
}

static double time_of(enum policy policy, enum work work, unsigned int seed)
{
	struct config config = world(policy, work, seed);
	struct result r = simulate(&config);
	unsigned int i, all = 0;

	for (i = 0; i < config.vms; i++)
		all += config.vcpus[i];
	/* PAUSE in the guest may not end in its time; the core must. */
	EXPECT(policy == GUEST || r.sections == all * config.iterations);
	return r.time;
}

/*
 * Yields that help nobody must not be repeated without end.  A single world may
 * be lucky with PAUSE in the guest; `make sim` counts the worlds.
 */
static void never_much_slower(enum work work)
{
	double ratio, product = 1;
	unsigned int seed;

	for (seed = 1; seed <= SEEDS; seed++) {
		ratio = time_of(CORE, work, seed) / time_of(GUEST, work, seed);
		if (ratio > 3)
			printf("# seed %u: %.2f times PAUSE in the guest\n", seed, ratio);
		EXPECT(ratio <= 3);
		product *= ratio;
	}
	printf("# geometric mean %.3f\n", pow(product, 1.0 / SEEDS));
	/* Where nothing spins, and no more, it may be the same. */
	EXPECT(pow(product, 1.0 / SEEDS) <= 1.005);
}

TEST(sim_tas_never_much_slower_than_no_exits)
{
	never_much_slower(TAS);
}

TEST(sim_ticket_never_much_slower_than_no_exits)
{
	never_much_slower(TICKET);
}

TEST(sim_mutex_never_much_slower_than_no_exits)
{
	never_much_slower(MUTEX);
}

TEST(sim_ipi_never_much_slower_than_no_exits)
{
	never_much_slower(IPI);
}

/*
 * With twice as many vCPUs as CPUs the one to yield to is nearly always on another
 * CPU: were it not to run there before its turn, slices would be given up for
 * nothing.  Return the part of the CPU time that is spun.
 */
static double wasted_on_many_cpus(bool yield_paid)
{
	double wasted = 0;
	unsigned int seed;

	for (seed = 1; seed <= SEEDS; seed++) {
		struct config config = {
			.policy = CORE,
			.work = TICKET,
			.cpus = 8,
			.vms = 1,
			.vcpus = { 16 },
			.groups = true,
			.yield_level = true,
			.yield_paid = yield_paid,
			.sees_interrupts = true,
			.critical = 5000,
			.noncritical = 20000,
			.iterations = 1000,
			.end = 60000000000,
			SERVER_TIMES,
			.seed = seed,
		};

		wasted += simulate(&config).wasted / SEEDS;
	}
	return wasted;
}

TEST(sim_paid_yields_to_other_cpus)
{
	double paid = wasted_on_many_cpus(true);
	double unpaid = wasted_on_many_cpus(false);

	printf("# spun: %.3f, with nothing paid %.3f\n", paid, unpaid);
	EXPECT(paid < 0.75 * unpaid);
}
