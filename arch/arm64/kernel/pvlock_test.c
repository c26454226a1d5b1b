// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of the PV lock's reader, on states of our own.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include <asm/pvlock.h>
#include <asm/pvlock-abi.h>

#include "pvlock.h"

struct pvlock_test {
	struct pvlock_vcpu_state state;
	struct pvlock_vcpu_state *saved;
	int cpu;
};

static int pvlock_test_init(struct kunit *test)
{
	struct pvlock_test *priv = kunit_kzalloc(test, sizeof(*priv), GFP_KERNEL);

	if (!priv)
		return -ENOMEM;

	test->priv = priv;
	/* Nothing brings CPUs up or down while the kernel boots. */
	priv->cpu = nr_cpu_ids - 1;
	priv->saved = pv_lock_swap_state(priv->cpu, &priv->state);
	return 0;
}

static void pvlock_test_exit(struct kunit *test)
{
	struct pvlock_test *priv = test->priv;

	if (!priv)
		return;

	pv_lock_swap_state(priv->cpu, priv->saved);
}

/* The document says: non-zero.  Not bit 0, not a byte. */
static void pvlock_flag(struct kunit *test)
{
	static const u32 values[] = { 1, 2, BIT(8), BIT(16), BIT(31), U32_MAX };
	struct pvlock_test *priv = test->priv;
	int i;

	KUNIT_EXPECT_FALSE(test, __pv_lock_vcpu_is_preempted(priv->cpu));

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		WRITE_ONCE(priv->state.preempted, cpu_to_le32(values[i]));
		KUNIT_EXPECT_TRUE_MSG(test, __pv_lock_vcpu_is_preempted(priv->cpu),
				      "value %#x", values[i]);
		WRITE_ONCE(priv->state.preempted, 0);
		KUNIT_EXPECT_FALSE(test, __pv_lock_vcpu_is_preempted(priv->cpu));
	}
}

static void pvlock_other_fields(struct kunit *test)
{
	struct pvlock_test *priv = test->priv;

	memset(&priv->state, 0xff, sizeof(priv->state));
	priv->state.preempted = 0;
	KUNIT_EXPECT_FALSE(test, __pv_lock_vcpu_is_preempted(priv->cpu));
}

static void pvlock_no_state(struct kunit *test)
{
	struct pvlock_test *priv = test->priv;

	priv->state.preempted = cpu_to_le32(1);
	KUNIT_EXPECT_TRUE(test, __pv_lock_vcpu_is_preempted(priv->cpu));
	KUNIT_EXPECT_PTR_EQ(test, pv_lock_swap_state(priv->cpu, NULL), &priv->state);
	KUNIT_EXPECT_FALSE(test, __pv_lock_vcpu_is_preempted(priv->cpu));
}

static void pvlock_layout(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, sizeof(struct pvlock_vcpu_state), 16);
	KUNIT_EXPECT_EQ(test, offsetof(struct pvlock_vcpu_state, revision), 0);
	KUNIT_EXPECT_EQ(test, offsetof(struct pvlock_vcpu_state, preempted), 4);
}

static struct kunit_case pvlock_cases[] = {
	KUNIT_CASE(pvlock_flag),
	KUNIT_CASE(pvlock_other_fields),
	KUNIT_CASE(pvlock_no_state),
	KUNIT_CASE(pvlock_layout),
	{}
};

static struct kunit_suite pvlock_suite = {
	.name = "arm64_pvlock",
	.init = pvlock_test_init,
	.exit = pvlock_test_exit,
	.test_cases = pvlock_cases,
};

kunit_test_suite(pvlock_suite);

MODULE_DESCRIPTION("KUnit test of the PV lock's guest side");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
