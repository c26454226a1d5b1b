// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of yield_pay(): how far ahead of its share may the target of a
 * directed yield run?
 *
 * Two CPUs, on each of them the root's run queue and that of one task group.
 */
#include <kunit/test.h>
#include <linux/mmu_context.h>

#include "sched.h"
#include "yield_paid.h"

#define CPUS	2
#define MS	((u64)NSEC_PER_MSEC)

struct host {
	struct cfs_rq *root[CPUS];
	struct cfs_rq *group[CPUS];
};

static struct sched_entity *new_entity(struct kunit *test, struct cfs_rq *cfs_rq,
				       unsigned long weight)
{
	struct sched_entity *se = kunit_kzalloc(test, sizeof(*se), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, se);
	se->load.weight = scale_load(weight);
	se->cfs_rq = cfs_rq;
	return se;
}

static int yield_paid_init(struct kunit *test)
{
	struct host *host = kunit_kzalloc(test, sizeof(*host), GFP_KERNEL);
	struct rq *rq;
	int cpu;

	KUNIT_ASSERT_NOT_NULL(test, host);
	for (cpu = 0; cpu < CPUS; cpu++) {
		rq = kunit_kzalloc(test, sizeof(*rq), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, rq);
		host->root[cpu] = &rq->cfs;
		host->root[cpu]->rq = rq;
		host->group[cpu] = kunit_kzalloc(test, sizeof(struct cfs_rq),
						 GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, host->group[cpu]);
		host->group[cpu]->rq = rq;
	}
	test->priv = host;
	return 0;
}

/* Those who wait have got each forfeit. */
static void yield_paid_adds_up(struct kunit *test)
{
	struct host *host = test->priv;
	struct cfs_rq *cfs_rqs[] = { host->root[0], host->group[0] };
	int i;

	for (i = 0; i < ARRAY_SIZE(cfs_rqs); i++) {
		struct cfs_rq *cfs_rq = cfs_rqs[i];
		struct sched_entity *y = new_entity(test, cfs_rq, 1024);
		struct sched_entity *z = new_entity(test, cfs_rq, 1024);
		struct sched_entity *t = new_entity(test, cfs_rq, 1024);

		yield_pay(y, t, 3 * MS);
		KUNIT_EXPECT_EQ(test, cfs_rq->next_paid, 3 * MS);
		yield_pay(z, t, MS);
		yield_pay(y, t, 0);
		KUNIT_EXPECT_EQ(test, cfs_rq->next_paid, 4 * MS);
	}
}

/* A heavy one's virtual time is worth more than a light one's. */
static void check_weights(struct kunit *test, struct cfs_rq *from,
			  struct cfs_rq *to)
{
	struct sched_entity *light = new_entity(test, from, 256);
	struct sched_entity *heavy = new_entity(test, from, 4096);
	struct sched_entity *t = new_entity(test, to, 1024);

	yield_pay(light, t, 4 * MS);
	KUNIT_EXPECT_EQ(test, to->next_paid, MS);
	to->next_paid = 0;
	yield_pay(heavy, t, MS);
	KUNIT_EXPECT_EQ(test, to->next_paid, 4 * MS);
	to->next_paid = 0;
}

static void yield_paid_weights(struct kunit *test)
{
	struct host *host = test->priv;

	check_weights(test, host->root[0], host->root[0]);
	check_weights(test, host->group[0], host->group[0]);
	check_weights(test, host->group[0], host->group[1]);
}

/* The longest slice, in the virtual time of the lightest, and the heaviest. */
static void yield_paid_extremes(struct kunit *test)
{
	struct host *host = test->priv;
	struct cfs_rq *cfs_rq = host->group[0];
	struct sched_entity *heavy = new_entity(test, cfs_rq, 100 * 1024);
	struct sched_entity *light = new_entity(test, cfs_rq, 2);
	u64 of_heavy = 100 * MS / 100, of_light = 100 * MS * 1024 / 2;

	yield_pay(light, heavy, of_light);
	KUNIT_EXPECT_EQ(test, cfs_rq->next_paid, of_heavy);
	cfs_rq->next_paid = 0;
	yield_pay(heavy, light, of_heavy);
	KUNIT_EXPECT_EQ(test, cfs_rq->next_paid, of_light);
}

/* On another run queue nobody has got anything: many forfeits are as one. */
static void yield_paid_two_rqs(struct kunit *test)
{
	struct host *host = test->priv;
	struct cfs_rq *cfs_rq = host->group[1];
	struct sched_entity *y = new_entity(test, host->group[0], 1024);
	struct sched_entity *z = new_entity(test, cfs_rq, 1024);
	struct sched_entity *t = new_entity(test, cfs_rq, 1024);
	int i;

	for (i = 0; i < 10; i++)
		yield_pay(y, t, 2 * MS);
	yield_pay(y, t, 3 * MS);
	yield_pay(y, t, MS);
	KUNIT_EXPECT_EQ(test, cfs_rq->next_paid, 3 * MS);
	KUNIT_EXPECT_EQ(test, host->group[0]->next_paid, 0);

	/* One on the target's own run queue adds to it all the same. */
	yield_pay(z, t, 2 * MS);
	yield_pay(y, t, 3 * MS);
	KUNIT_EXPECT_EQ(test, cfs_rq->next_paid, 5 * MS);
}

/* Strangers wait there. */
static void yield_paid_two_rqs_root(struct kunit *test)
{
	struct host *host = test->priv;
	struct sched_entity *y = new_entity(test, host->root[0], 1024);
	struct sched_entity *t = new_entity(test, host->root[1], 1024);

	yield_pay(y, t, 3 * MS);
	KUNIT_EXPECT_EQ(test, host->root[0]->next_paid, 0);
	KUNIT_EXPECT_EQ(test, host->root[1]->next_paid, 0);
}

static struct kunit_case yield_paid_cases[] = {
	KUNIT_CASE(yield_paid_adds_up),
	KUNIT_CASE(yield_paid_weights),
	KUNIT_CASE(yield_paid_extremes),
	KUNIT_CASE(yield_paid_two_rqs),
	KUNIT_CASE(yield_paid_two_rqs_root),
	{}
};

static struct kunit_suite yield_paid_suite = {
	.name = "yield_paid",
	.init = yield_paid_init,
	.test_cases = yield_paid_cases,
};

kunit_test_suite(yield_paid_suite);

MODULE_DESCRIPTION("KUnit tests of how far ahead the target of a yield may run");
MODULE_LICENSE("GPL");
