// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of yield_level(): where do two tasks compete for a CPU?
 *
 * Each case makes every hierarchy of its kind: two tasks, up to MAX_DEPTH task
 * groups above each of them, the topmost of which, from none to all, they have in
 * common.  Each group has a run queue and an entity on each of two CPUs, as the
 * scheduler makes them.
 */
#include <kunit/test.h>
#include <linux/mmu_context.h>

#include "sched.h"
#include "yield_level.h"

#define MAX_DEPTH	4
#define CPUS		2

struct group {
	struct task_group tg;
	struct cfs_rq cfs_rq[CPUS];
	struct sched_entity se[CPUS];
};

/* Put @se on the run queue of @group, or make it one of a group's entities. */
static void attach(struct sched_entity *se, struct group *group, int cpu)
{
	se->cfs_rq = &group->cfs_rq[cpu];
	/* The root group has no entities. */
	if (group->tg.parent) {
		se->parent = &group->se[cpu];
		se->depth = se->parent->depth + 1;
	}
}

static struct group *new_group(struct kunit *test, struct group *parent)
{
	struct group *group = kunit_kzalloc(test, sizeof(*group), GFP_KERNEL);
	int cpu;

	KUNIT_ASSERT_NOT_NULL(test, group);
	for (cpu = 0; cpu < CPUS; cpu++) {
		group->cfs_rq[cpu].tg = &group->tg;
		if (!parent)
			continue;
		group->tg.parent = &parent->tg;
		group->se[cpu].my_q = &group->cfs_rq[cpu];
		attach(&group->se[cpu], parent, cpu);
	}
	return group;
}

/*
 * Make a task on @cpu below @groups groups, the first of them below @above; the
 * entity through which it competes there is returned in @top.
 */
static struct sched_entity *new_task(struct kunit *test, struct group *above,
				     int groups, int cpu,
				     struct sched_entity **top)
{
	struct sched_entity *se = kunit_kzalloc(test, sizeof(*se), GFP_KERNEL);
	struct group *group = above;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, se);
	*top = se;
	for (i = 0; i < groups; i++) {
		group = new_group(test, group);
		if (!i)
			*top = &group->se[cpu];
	}
	attach(se, group, cpu);
	return se;
}

/* @common groups that both are in, and @a and @b more of their own. */
static void check(struct kunit *test, int common, int a, int b, int cpu_b)
{
	struct sched_entity *yielder, *target, *expect_y, *expect_t;
	struct group *group = new_group(test, NULL);
	int i;

	for (i = 0; i < common; i++)
		group = new_group(test, group);
	yielder = new_task(test, group, a, 0, &expect_y);
	target = new_task(test, group, b, cpu_b, &expect_t);
	KUNIT_ASSERT_EQ(test, yielder->depth, common + a);
	KUNIT_ASSERT_EQ(test, target->depth, common + b);

	yield_level(&yielder, &target);

	KUNIT_EXPECT_PTR_EQ_MSG(test, yielder, expect_y,
				"yielder, %d + %d groups", common, a);
	KUNIT_EXPECT_PTR_EQ_MSG(test, target, expect_t,
				"target, %d + %d groups", common, b);
	KUNIT_EXPECT_PTR_EQ(test, yielder->cfs_rq, &group->cfs_rq[0]);
	KUNIT_EXPECT_PTR_EQ(test, target->cfs_rq, &group->cfs_rq[cpu_b]);
}

/* Without groups, and within one, it is the tasks that compete. */
static void yield_level_siblings(struct kunit *test)
{
	int common, cpu;

	for (cpu = 0; cpu < CPUS; cpu++) {
		for (common = 0; common <= MAX_DEPTH; common++)
			check(test, common, 0, 0, cpu);
	}
}

/* All hierarchies in which the yielder is @more levels deeper than the target. */
static void check_depths(struct kunit *test, int more, int cpu)
{
	int common, a, b;

	for (common = 0; common <= MAX_DEPTH; common++) {
		for (a = 0; common + a <= MAX_DEPTH; a++) {
			b = a - more;
			if (b >= 0 && common + b <= MAX_DEPTH)
				check(test, common, a, b, cpu);
		}
	}
}

static void yield_level_equal(struct kunit *test)
{
	check_depths(test, 0, 0);
}

static void yield_level_equal_two_rqs(struct kunit *test)
{
	check_depths(test, 0, 1);
}

static void yield_level_deeper_yielder(struct kunit *test)
{
	int more;

	for (more = 1; more <= MAX_DEPTH; more++)
		check_depths(test, more, 0);
}

static void yield_level_deeper_yielder_two_rqs(struct kunit *test)
{
	int more;

	for (more = 1; more <= MAX_DEPTH; more++)
		check_depths(test, more, 1);
}

static void yield_level_deeper_target(struct kunit *test)
{
	int more;

	for (more = 1; more <= MAX_DEPTH; more++)
		check_depths(test, -more, 0);
}

static void yield_level_deeper_target_two_rqs(struct kunit *test)
{
	int more;

	for (more = 1; more <= MAX_DEPTH; more++)
		check_depths(test, -more, 1);
}

static struct kunit_case yield_level_cases[] = {
	KUNIT_CASE(yield_level_siblings),
	KUNIT_CASE(yield_level_equal),
	KUNIT_CASE(yield_level_equal_two_rqs),
	KUNIT_CASE(yield_level_deeper_yielder),
	KUNIT_CASE(yield_level_deeper_yielder_two_rqs),
	KUNIT_CASE(yield_level_deeper_target),
	KUNIT_CASE(yield_level_deeper_target_two_rqs),
	{}
};

static struct kunit_suite yield_level_suite = {
	.name = "yield_level",
	.test_cases = yield_level_cases,
};

kunit_test_suite(yield_level_suite);

MODULE_DESCRIPTION("KUnit tests of where two tasks compete for a CPU");
MODULE_LICENSE("GPL");
