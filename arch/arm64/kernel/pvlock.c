// SPDX-License-Identifier: GPL-2.0
/*
 * PV lock, the guest's side: which CPUs has the hypervisor preempted?
 *
 * A mutex, a rwsem and the queue in front of them spin for an owner that runs.
 * When the hypervisor has taken the owner's CPU, the spinning is in vain; with a
 * flag per vCPU, in memory that the hypervisor owns, vcpu_is_preempted() tells.
 * See Documentation/virt/kvm/arm/pvlock.rst for the ABI.
 *
 * osq_lock() waits for its predecessor in smp_cond_load_relaxed(), which on
 * arm64 is a WFE, and asks vcpu_is_preempted() each time it wakes up.  The
 * hypervisor's write of the flag raises no event.  Without one the waiter would
 * look when the next interrupt comes, or when its turn has come anyway; that is
 * correct (a waiter that does not look behaves as it does without PV lock), but
 * of no use, and how long it takes nobody could say.  The architected timer's
 * event stream wakes a WFE every 100 us and so bounds it: PV lock is used only
 * when the event stream runs on every online CPU.
 */
#define pr_fmt(fmt) "arm-pv: " fmt

#include <linux/arm-smccc.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/io.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>

#include <asm/hypervisor.h>
#include <asm/pvlock.h>
#include <asm/pvlock-abi.h>

#include <clocksource/arm_arch_timer.h>
#include <kunit/visibility.h>

#include "pvlock.h"

DEFINE_STATIC_KEY_FALSE(pv_lock_key);
/* As the lock functions are: their inlines in modules may ask. */
EXPORT_SYMBOL(pv_lock_key);

static DEFINE_PER_CPU(struct pvlock_vcpu_state __rcu *, pv_lock_state);

/* Under the CPU hot-plug lock: a CPU without the event stream was seen. */
static bool pv_lock_no_evtstrm;

static bool pv_lock_wanted __initdata = true;

static int __init parse_nopvlock(char *arg)
{
	pv_lock_wanted = false;
	return 0;
}
early_param("nopvlock", parse_nopvlock);

/**
 * __pv_lock_vcpu_is_preempted - was the vCPU behind a CPU preempted?
 * @cpu:	any possible CPU, which may come or go meanwhile
 *
 * Context: any in which RCU watches.
 * Return: true if so; false for a CPU without a state.
 */
bool __pv_lock_vcpu_is_preempted(int cpu)
{
	struct pvlock_vcpu_state *state;
	bool preempted = false;

	/* Pairs with the grace period before the state is unmapped. */
	rcu_read_lock();
	state = rcu_dereference(per_cpu(pv_lock_state, cpu));
	if (state)
		preempted = le32_to_cpu(READ_ONCE(state->preempted)) != 0;
	rcu_read_unlock();

	return preempted;
}
EXPORT_SYMBOL(__pv_lock_vcpu_is_preempted);

/**
 * pv_lock_swap_state - exchange a CPU's state
 * @cpu:	a CPU that neither comes nor goes meanwhile
 * @state:	the new state, or NULL
 *
 * Context: may sleep.
 * Return: the old state, which nobody reads any more, or NULL.
 */
VISIBLE_IF_KUNIT
struct pvlock_vcpu_state *pv_lock_swap_state(int cpu, struct pvlock_vcpu_state *state)
{
	struct pvlock_vcpu_state *old;

	old = rcu_replace_pointer(per_cpu(pv_lock_state, cpu), state, true);
	if (old)
		synchronize_rcu();

	return old;
}
EXPORT_SYMBOL_IF_KUNIT(pv_lock_swap_state);

static struct pvlock_vcpu_state *pv_lock_map(void)
{
	struct pvlock_vcpu_state *state;
	struct arm_smccc_res res;

	arm_smccc_1_1_invoke(ARM_SMCCC_VENDOR_HYP_KVM_PV_LOCK_FUNC_ID, &res);
	if ((long)res.a0 < 0 ||
	    !IS_ALIGNED(res.a0, PVLOCK_ALIGN)) {
		pr_warn_once("PV lock: no state for CPU%d (%ld)\n",
			     smp_processor_id(), (long)res.a0);
		return NULL;
	}

	state = memremap(res.a0, sizeof(*state), MEMREMAP_WB);
	if (!state) {
		pr_warn_once("PV lock: cannot map the state at %#lx\n", res.a0);
		return NULL;
	}

	if (le32_to_cpu(READ_ONCE(state->revision)) != PVLOCK_REVISION) {
		pr_warn_once("PV lock: unknown revision %u\n",
			     le32_to_cpu(state->revision));
		memunmap(state);
		return NULL;
	}

	return state;
}

/* A CPU whose state cannot be had just never looks preempted. */
static int pv_lock_cpu_online(unsigned int cpu)
{
	if (!arch_timer_evtstrm_available() && !pv_lock_no_evtstrm) {
		pr_warn_once("PV lock: CPU%u has no event stream, not used\n", cpu);
		pv_lock_no_evtstrm = true;
		static_branch_disable_cpuslocked(&pv_lock_key);
	}

	pv_lock_swap_state(cpu, pv_lock_map());
	return 0;
}

static int pv_lock_cpu_down(unsigned int cpu)
{
	struct pvlock_vcpu_state *state = pv_lock_swap_state(cpu, NULL);

	if (state)
		memunmap(state);

	return 0;
}

/*
 * After the event stream, which begins at core_initcall.
 *
 * There is nothing to undo for kexec, kdump or a reset: the state is in memory
 * of the hypervisor, and another kernel that maps it finds the same.
 */
static int __init pv_lock_init(void)
{
	int ret;

	if (!pv_lock_wanted ||
	    !kvm_arm_hyp_service_available(ARM_SMCCC_KVM_FUNC_PV_LOCK))
		return 0;

	cpus_read_lock();
	ret = cpuhp_setup_state_cpuslocked(CPUHP_AP_ONLINE_DYN,
					   "hypervisor/arm/pvlock:online",
					   pv_lock_cpu_online, pv_lock_cpu_down);
	if (ret > 0 && !pv_lock_no_evtstrm) {
		static_branch_enable_cpuslocked(&pv_lock_key);
		pr_info("using PV lock\n");
	}
	cpus_read_unlock();

	return ret < 0 ? ret : 0;
}
arch_initcall(pv_lock_init);
