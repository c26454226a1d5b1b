// SPDX-License-Identifier: GPL-2.0-only
/*
 * PV lock: the interface to user space and guests, and the flag itself.
 *
 * All threads share one CPU, so that whoever looks at another vCPU's flag knows
 * that this vCPU does not run.
 *
 * With the argument "hidden" the host was booted with kvm-arm.pvlock=0, and
 * there must be no trace of any of it.  With "hammer" the threads use all CPUs,
 * and are moved and interrupted as fast as possible.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <linux/arm-smccc.h>
#include <asm/kvm.h>

#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"
#include "ucall_common.h"

#define PV_LOCK			0xc6000042
#define PV_LOCK_32		0x86000042
#define PV_TIME_ST		0xc5000021
#define KVM_FEATURES		0x86000000
#define FEATURE			BIT(2)
#define NOT_SUPPORTED		(-1UL)

#define NR_VCPUS		4
#define STATE_GPA		BIT(30)
#define STATE_SLOT		1
#define STATE_PAGES		1
#define READONLY_GPA		(STATE_GPA + BIT(24))
#define READONLY_SLOT		2
#define STRIDE			64
#define DIRTY_RING_SIZE		BIT(16)
/* Where the state is in a PV time slot. */
#define IN_SLOT			16
#define UNSET			(~0ull)

struct state {
	u32 revision;
	u32 preempted;
	u8 reserved[8];
};

static struct kvm_vcpu *vcpus[NR_VCPUS];

/* ---- helpers ---- */

static struct kvm_vm *add_memory(struct kvm_vm *vm)
{
	vm_userspace_mem_region_add(vm, VM_MEM_SRC_ANONYMOUS, STATE_GPA,
				    STATE_SLOT, STATE_PAGES, 0);
	virt_map(vm, STATE_GPA, STATE_GPA, STATE_PAGES);
	vm_userspace_mem_region_add(vm, VM_MEM_SRC_ANONYMOUS, READONLY_GPA,
				    READONLY_SLOT, 1, KVM_MEM_READONLY);
	return vm;
}

static struct kvm_vm *create(void *guest_code)
{
	return add_memory(vm_create_with_vcpus(NR_VCPUS, guest_code, vcpus));
}

static struct kvm_vm *create_with_dirty_ring(void *guest_code)
{
	struct kvm_vm *vm = vm_create(NR_VCPUS);
	int i;

	vm_enable_dirty_ring(vm, DIRTY_RING_SIZE);
	for (i = 0; i < NR_VCPUS; i++)
		vcpus[i] = vm_vcpu_add(vm, i, guest_code);
	return add_memory(vm);
}

static int attr(struct kvm_vcpu *vcpu, int op, u64 group, u64 nr, void *addr)
{
	struct kvm_device_attr dev = {
		.group = group,
		.attr = nr,
		.addr = (u64)addr,
	};

	return ioctl(vcpu->fd, op, &dev) ? errno : 0;
}

static int set_ipa(struct kvm_vcpu *vcpu, u64 ipa)
{
	return attr(vcpu, KVM_SET_DEVICE_ATTR, KVM_ARM_VCPU_PVLOCK_CTRL,
		    KVM_ARM_VCPU_PVLOCK_IPA, &ipa);
}

static int get_ipa(struct kvm_vcpu *vcpu, u64 *ipa)
{
	return attr(vcpu, KVM_GET_DEVICE_ATTR, KVM_ARM_VCPU_PVLOCK_CTRL,
		    KVM_ARM_VCPU_PVLOCK_IPA, ipa);
}

static u64 slot_gpa(int i)
{
	return STATE_GPA + i * STRIDE;
}

static void set_pvtime(int i)
{
	u64 ipa = slot_gpa(i);
	int err = attr(vcpus[i], KVM_SET_DEVICE_ATTR, KVM_ARM_VCPU_PVTIME_CTRL,
		       KVM_ARM_VCPU_PVTIME_IPA, &ipa);

	TEST_ASSERT(!err, "PV time slot of vCPU %d: error %d", i, err);
}

static struct state *host_state(struct kvm_vm *vm, int i)
{
	return addr_gpa2hva(vm, slot_gpa(i) + IN_SLOT);
}

static int set_bmap(struct kvm_vcpu *vcpu, u64 val)
{
	return __vcpu_set_reg(vcpu, KVM_REG_ARM_VENDOR_HYP_BMAP_2, val) ? errno : 0;
}

#define expect_err(is, want)						\
do {									\
	int __is = (is), __want = (want);				\
									\
	TEST_ASSERT(__is == __want, "%s: error %d, expected %d",	\
		    #is, __is, __want);					\
} while (0)

/* Run @vcpu up to its next GUEST_SYNC() or GUEST_DONE(); return its value. */
static u64 run(struct kvm_vcpu *vcpu)
{
	struct ucall uc;

	vcpu_run(vcpu);
	switch (get_ucall(vcpu, &uc)) {
	case UCALL_SYNC:
		return uc.args[1];
	case UCALL_DONE:
		return UNSET;
	case UCALL_ABORT:
		REPORT_GUEST_ASSERT(uc);
	default:
		TEST_FAIL("Unexpected exit: %s",
			  exit_reason_str(vcpu->run->exit_reason));
	}
	return 0;
}

/* ---- attributes ---- */

static void guest_nothing(void)
{
	GUEST_DONE();
}

static void test_attributes(void)
{
	struct kvm_vm *vm = create(guest_nothing);
	u64 ipa = 0;

	expect_err(attr(vcpus[0], KVM_HAS_DEVICE_ATTR, KVM_ARM_VCPU_PVLOCK_CTRL,
			KVM_ARM_VCPU_PVLOCK_IPA, NULL), 0);
	expect_err(attr(vcpus[0], KVM_HAS_DEVICE_ATTR, KVM_ARM_VCPU_PVLOCK_CTRL,
			KVM_ARM_VCPU_PVLOCK_IPA + 1, NULL), ENXIO);
	ipa = STATE_GPA;
	expect_err(attr(vcpus[0], KVM_SET_DEVICE_ATTR, KVM_ARM_VCPU_PVLOCK_CTRL,
			KVM_ARM_VCPU_PVLOCK_IPA + 1, &ipa), ENXIO);
	expect_err(attr(vcpus[0], KVM_GET_DEVICE_ATTR, KVM_ARM_VCPU_PVLOCK_CTRL,
			KVM_ARM_VCPU_PVLOCK_IPA + 1, &ipa), ENXIO);

	expect_err(get_ipa(vcpus[0], &ipa), 0);
	TEST_ASSERT(ipa == UNSET, "Not set, but %#lx", ipa);

	expect_err(attr(vcpus[0], KVM_SET_DEVICE_ATTR, KVM_ARM_VCPU_PVLOCK_CTRL,
			KVM_ARM_VCPU_PVLOCK_IPA, (void *)8), EFAULT);
	expect_err(set_ipa(vcpus[0], STATE_GPA + 1), EINVAL);
	expect_err(set_ipa(vcpus[0], STATE_GPA + 4), EINVAL);
	expect_err(set_ipa(vcpus[0], STATE_GPA + 8), EINVAL);
	expect_err(set_ipa(vcpus[0], STATE_GPA + STATE_PAGES * vm->page_size), EINVAL);
	expect_err(set_ipa(vcpus[0], READONLY_GPA), EINVAL);
	expect_err(set_ipa(vcpus[0], ~0ull << 4), EINVAL);
	expect_err(set_ipa(vcpus[0], UNSET), EINVAL);

	/* None of these may have left something behind. */
	expect_err(get_ipa(vcpus[0], &ipa), 0);
	TEST_ASSERT(ipa == UNSET, "A failed attempt set %#lx", ipa);

	/* The last possible address. */
	expect_err(set_ipa(vcpus[0], STATE_GPA + STATE_PAGES * vm->page_size - 16), 0);
	expect_err(get_ipa(vcpus[0], &ipa), 0);
	TEST_ASSERT(ipa == STATE_GPA + STATE_PAGES * vm->page_size - 16,
		    "Set, but %#lx", ipa);
	expect_err(set_ipa(vcpus[0], STATE_GPA), EEXIST);
	expect_err(attr(vcpus[0], KVM_GET_DEVICE_ATTR, KVM_ARM_VCPU_PVLOCK_CTRL,
			KVM_ARM_VCPU_PVLOCK_IPA, (void *)8), EFAULT);

	run(vcpus[1]);
	expect_err(set_ipa(vcpus[1], STATE_GPA), EBUSY);
	expect_err(get_ipa(vcpus[1], &ipa), 0);
	TEST_ASSERT(ipa == UNSET, "Set after the vCPU ran: %#lx", ipa);

	kvm_vm_free(vm);
}

/* ---- firmware register ---- */

static int times_listed(struct kvm_vcpu *vcpu)
{
	struct kvm_reg_list *list = vcpu_get_reg_list(vcpu);
	int i, n = 0;

	for (i = 0; i < list->n; i++)
		n += list->reg[i] == KVM_REG_ARM_VENDOR_HYP_BMAP_2;
	free(list);
	return n;
}

static void test_register(void)
{
	struct kvm_vm *vm = create(guest_nothing);
	u64 val;
	int bit;

	TEST_ASSERT(times_listed(vcpus[0]) == 1, "Listed %d times",
		    times_listed(vcpus[0]));
	vcpu_get_reg(vcpus[0], KVM_REG_ARM_VENDOR_HYP_BMAP_2, &val);
	TEST_ASSERT(val == FEATURE, "At first %#lx", val);

	for (bit = 0; bit < 64; bit++) {
		if (BIT(bit) == FEATURE)
			continue;
		expect_err(set_bmap(vcpus[0], BIT(bit)), EINVAL);
		expect_err(set_bmap(vcpus[0], BIT(bit) | FEATURE), EINVAL);
	}
	vcpu_get_reg(vcpus[0], KVM_REG_ARM_VENDOR_HYP_BMAP_2, &val);
	TEST_ASSERT(val == FEATURE, "A failed attempt set %#lx", val);

	/* It is the VM's, not the vCPU's. */
	expect_err(set_bmap(vcpus[0], 0), 0);
	vcpu_get_reg(vcpus[1], KVM_REG_ARM_VENDOR_HYP_BMAP_2, &val);
	TEST_ASSERT(val == 0, "Cleared, but %#lx", val);
	expect_err(set_bmap(vcpus[1], FEATURE), 0);

	run(vcpus[0]);
	expect_err(set_bmap(vcpus[0], 0), EBUSY);
	expect_err(set_bmap(vcpus[1], 0), EBUSY);
	/* A VMM that restores what it has saved. */
	expect_err(set_bmap(vcpus[0], FEATURE), 0);

	kvm_vm_free(vm);
}

/* ---- hypercalls ---- */

static u64 hvc(u32 function)
{
	struct arm_smccc_res res;

	/* Arguments that the call does not have are ignored. */
	smccc_hvc(function, ~0ul, 1, 2, 3, 4, 5, ~0ul, &res);
	return res.a0;
}

static void guest_calls(void)
{
	struct arm_smccc_res res;

	for (;;) {
		smccc_hvc(KVM_FEATURES, 0, 0, 0, 0, 0, 0, 0, &res);
		GUEST_ASSERT_EQ(res.a1, 0);
		GUEST_ASSERT_EQ(res.a3, 0);
		GUEST_ASSERT_EQ(res.a2 & ~(u64)FEATURE, 0);
		GUEST_SYNC(res.a2);
		GUEST_SYNC(hvc(PV_LOCK));
		/* Only the 64-bit call exists, and nothing next to it. */
		GUEST_ASSERT_EQ(hvc(PV_LOCK_32), NOT_SUPPORTED);
		GUEST_ASSERT_EQ(hvc(PV_LOCK - 1), NOT_SUPPORTED);
		GUEST_ASSERT_EQ(hvc(PV_LOCK + 1), NOT_SUPPORTED);
	}
}

static void expect_calls(struct kvm_vcpu *vcpu, u64 features, u64 ipa)
{
	u64 got = run(vcpu);

	TEST_ASSERT(got == features, "vCPU %u: FEATURES %#lx, expected %#lx",
		    vcpu->id, got, features);
	got = run(vcpu);
	TEST_ASSERT(got == ipa, "vCPU %u: PV_LOCK %#lx, expected %#lx",
		    vcpu->id, got, ipa);
}

static void test_calls(void)
{
	struct kvm_vm *vm = create(guest_calls);
	struct state *state = host_state(vm, 0);
	u64 elsewhere = STATE_GPA + vm->page_size - STRIDE;
	u8 *slot = addr_gpa2hva(vm, slot_gpa(0));
	int i;

	/* vCPU 0 has a PV time slot full of garbage, 1 an address of its own. */
	memset(slot, 0xa5, STRIDE);
	set_pvtime(0);
	expect_err(set_ipa(vcpus[1], elsewhere), 0);

	expect_calls(vcpus[0], FEATURE, slot_gpa(0) + IN_SLOT);
	expect_calls(vcpus[1], FEATURE, elsewhere);
	expect_calls(vcpus[2], 0, NOT_SUPPORTED);

	TEST_ASSERT(READ_ONCE(state->revision) == 1, "Revision %u", READ_ONCE(state->revision));
	TEST_ASSERT(READ_ONCE(state->preempted) == 0, "Flag %u", READ_ONCE(state->preempted));
	for (i = 0; i < 8; i++)
		TEST_ASSERT(!state->reserved[i], "Reserved byte %d", i);
	for (i = 0; i < STRIDE; i++)
		/* Bytes 8 to 15 are the stolen time, which passes. */
		TEST_ASSERT((i >= 8 && i < IN_SLOT + 16) || slot[i] == 0xa5,
			    "PV_LOCK wrote to byte %d of the slot", i);

	/* A slot that is given after boot is found at the next call. */
	set_pvtime(2);
	expect_calls(vcpus[2], FEATURE, slot_gpa(2) + IN_SLOT);

	/* The address of its own wins. */
	set_pvtime(1);
	expect_calls(vcpus[1], FEATURE, elsewhere);
	kvm_vm_free(vm);

	/* User space hides it. */
	vm = create(guest_calls);
	set_pvtime(0);
	expect_err(set_ipa(vcpus[1], elsewhere), 0);
	expect_err(set_bmap(vcpus[0], 0), 0);
	expect_calls(vcpus[0], 0, NOT_SUPPORTED);
	expect_calls(vcpus[1], 0, NOT_SUPPORTED);
	state = host_state(vm, 0);
	TEST_ASSERT(READ_ONCE(state->revision) == 0, "Hidden, but written");
	kvm_vm_free(vm);
}

/* ---- stolen time of another kernel in the same VM ---- */

static void guest_kexec(void)
{
	struct state *state = (void *)hvc(PV_LOCK);

	GUEST_ASSERT_EQ(READ_ONCE(state->revision), 1);
	GUEST_ASSERT_EQ(hvc(PV_TIME_ST), (u64)state - IN_SLOT);
	GUEST_ASSERT_EQ(READ_ONCE(state->revision), 1);
	GUEST_DONE();
}

static void test_stolen_time(void)
{
	struct kvm_vm *vm = create(guest_kexec);
	u8 *slot = addr_gpa2hva(vm, slot_gpa(0));
	int i;

	memset(slot, 0xa5, STRIDE);
	set_pvtime(0);
	run(vcpus[0]);
	for (i = 0; i < STRIDE; i++)
		TEST_ASSERT(i == IN_SLOT || (i >= 8 && i < 16) || !slot[i],
			    "Byte %d is %#x", i, slot[i]);
	kvm_vm_free(vm);
}

/* ---- the flag ---- */

/* Shared by the guests; each VM has a copy. */
static u64 beat[NR_VCPUS];
static u64 seen_set, seen_clear;
static u64 stop;

/* Runs, and must never see its own flag set. */
static void guest_spin(u64 gpa, u64 me)
{
	struct state *own = (void *)gpa;

	while (!READ_ONCE(stop)) {
		GUEST_ASSERT_EQ(READ_ONCE(own->preempted), 0);
		WRITE_ONCE(beat[me], beat[me] + 1);
	}
	GUEST_DONE();
}

/* Looks at a sibling, which cannot run meanwhile. */
static void guest_watch(u64 gpa)
{
	struct state *other = (void *)gpa;
	int i;

	for (i = 0; i < 20000000 && !READ_ONCE(stop); i++) {
		if (READ_ONCE(other->preempted))
			WRITE_ONCE(seen_set, seen_set + 1);
		else
			WRITE_ONCE(seen_clear, seen_clear + 1);
	}
	GUEST_DONE();
}

static void guest_idle(void)
{
	for (;;) {
		WRITE_ONCE(beat[0], beat[0] + 1);
		asm volatile("wfi" ::: "memory");
	}
}

struct runner {
	struct kvm_vcpu *vcpu;
	pthread_t thread;
	int returned;	/* how often KVM_RUN has returned */
	int done;
	int quit;
	struct state *state;
};

static void *runner(void *arg)
{
	struct runner *r = arg;
	struct ucall uc;

	while (!READ_ONCE(r->quit)) {
		int ret = __vcpu_run(r->vcpu);

		TEST_ASSERT(!r->state || !READ_ONCE(r->state->preempted),
			    "The flag is set when KVM_RUN has returned");
		TEST_ASSERT(!ret || errno == EINTR, "KVM_RUN: errno %d", errno);
		WRITE_ONCE(r->returned, r->returned + 1);
		if (ret)
			continue;
		switch (get_ucall(r->vcpu, &uc)) {
		case UCALL_DONE:
			WRITE_ONCE(r->done, 1);
			return NULL;
		case UCALL_ABORT:
			REPORT_GUEST_ASSERT(uc);
		default:
			TEST_FAIL("Unexpected exit");
		}
	}
	return NULL;
}

static void start(struct runner *r, struct kvm_vcpu *vcpu, struct state *state)
{
	*r = (struct runner) { .vcpu = vcpu, .state = state };
	pthread_create(&r->thread, NULL, runner, r);
}

static void nothing(int sig)
{
}

/* Give the CPU away until @cond; the test's time is the machine's. */
#define wait_until(cond, what)						\
do {									\
	u64 __i;							\
									\
	for (__i = 0; !(cond); __i++) {					\
		TEST_ASSERT(__i < 20000, "Waited in vain: %s", what);	\
		usleep(1000);						\
	}								\
} while (0)

static u64 *guest_var(struct kvm_vm *vm, u64 *var)
{
	return addr_gva2hva(vm, (vm_vaddr_t)var);
}

/* For so many nanoseconds this thread is the hog. */
static void hog_ns(u64 ns)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (timespec_to_ns(timespec_sub(now, begin)) < ns);
}

static void start_spinner(struct kvm_vm *vm, struct runner *r)
{
	/* As from a host on which it was left set: cleared by the first load. */
	WRITE_ONCE(host_state(vm, 0)->preempted, 1);
	vcpu_args_set(vcpus[0], 2, slot_gpa(0) + IN_SLOT, 0ul);
	start(r, vcpus[0], host_state(vm, 0));
	wait_until(READ_ONCE(*guest_var(vm, &beat[0])), "the guest to run");
}

static struct kvm_vm *create_spinner(struct runner *r)
{
	struct kvm_vm *vm = create(guest_spin);

	set_pvtime(0);
	start_spinner(vm, r);
	return vm;
}

static void end_spinner(struct kvm_vm *vm, struct runner *r)
{
	WRITE_ONCE(*guest_var(vm, &stop), 1);
	pthread_join(r->thread, NULL);
	TEST_ASSERT(r->done, "The guest did not end");
	TEST_ASSERT(!READ_ONCE(host_state(vm, 0)->preempted), "The flag is set at the end");
	kvm_vm_free(vm);
}

/* While this thread runs the vCPU does not: it must look preempted, always. */
static void test_preempted(void)
{
	struct runner r;
	struct kvm_vm *vm = create_spinner(&r);
	struct state *state = host_state(vm, 0);
	int i, j;

	for (i = 0; i < 100; i++) {
		usleep(1000);
		for (j = 0; j < 100; j++)
			TEST_ASSERT(READ_ONCE(state->preempted),
				    "Preempted, but the flag is 0 (%d)", i);
	}
	end_spinner(vm, &r);
}

static void test_sibling(void)
{
	struct runner spin, watch;
	struct kvm_vm *vm = create_spinner(&spin);
	u64 set, clear;

	vcpu_arch_set_entry_point(vcpus[1], guest_watch);
	vcpu_args_set(vcpus[1], 1, slot_gpa(0) + IN_SLOT);
	start(&watch, vcpus[1], NULL);
	wait_until(READ_ONCE(*guest_var(vm, &seen_set)) > 1000, "the sibling to see the flag");
	hog_ns(50 * 1000 * 1000);
	WRITE_ONCE(*guest_var(vm, &stop), 1);
	pthread_join(watch.thread, NULL);
	set = *guest_var(vm, &seen_set);
	clear = *guest_var(vm, &seen_clear);
	/* The spinner may see `stop` first and end, with its flag at 0. */
	TEST_ASSERT(set > 1000 && clear <= 1, "Seen set %lu times, clear %lu times", set, clear);
	end_spinner(vm, &spin);
}

/* Signals make KVM_RUN return at any point; runner() looks at the flag. */
static void test_run_returns(void)
{
	struct runner r;
	struct kvm_vm *vm = create_spinner(&r);
	int i;

	for (i = 0; i < 200; i++) {
		int before = READ_ONCE(r.returned);

		hog_ns(100000 + i * 20011);
		pthread_kill(r.thread, SIGUSR1);
		wait_until(READ_ONCE(r.returned) > before, "KVM_RUN to return");
	}
	end_spinner(vm, &r);
}

/*
 * A page that is shared copy-on-write cannot be written without a fault: to
 * clear the flag has to wait for a place that may sleep.
 */
static void test_page_not_there(void)
{
	struct runner r;
	struct kvm_vm *vm = create_spinner(&r);
	struct state *state = host_state(vm, 0);
	int i;

	for (i = 0; i < 20; i++) {
		u64 was;
		pid_t child;

		wait_until(READ_ONCE(state->preempted), "the flag");
		child = fork();
		TEST_ASSERT(child >= 0, "fork: errno %d", errno);
		if (!child) {
			pause();
			_exit(0);
		}
		was = READ_ONCE(*guest_var(vm, &beat[0]));
		if (i & 1)
			pthread_kill(r.thread, SIGUSR1);
		/* guest_spin() and runner() assert that it is cleared. */
		wait_until(READ_ONCE(*guest_var(vm, &beat[0])) > was + 100, "the guest to run on");
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	end_spinner(vm, &r);
}

static void test_idle(void)
{
	struct kvm_mp_state stopped = { .mp_state = KVM_MP_STATE_STOPPED };
	struct kvm_vm *vm = create(guest_idle);
	struct state *state = host_state(vm, 0);
	struct runner r;
	int i;

	set_pvtime(0);
	start(&r, vcpus[0], state);
	wait_until(READ_ONCE(*guest_var(vm, &beat[0])), "the guest to idle");
	usleep(20000);
	for (i = 0; i < 50; i++) {
		TEST_ASSERT(!READ_ONCE(state->preempted), "It idles, but the flag is set");
		hog_ns(1000000);
		if (i % 10 == 5)
			pthread_kill(r.thread, SIGUSR1);
		usleep(2000);
	}
	WRITE_ONCE(r.quit, 1);
	pthread_kill(r.thread, SIGUSR1);
	pthread_join(r.thread, NULL);

	vcpu_mp_state_set(vcpus[0], &stopped);
	start(&r, vcpus[0], state);
	for (i = 0; i < 20; i++) {
		usleep(2000);
		TEST_ASSERT(!READ_ONCE(state->preempted), "It is stopped, but the flag is set");
		hog_ns(1000000);
	}
	WRITE_ONCE(r.quit, 1);
	pthread_kill(r.thread, SIGUSR1);
	pthread_join(r.thread, NULL);
	kvm_vm_free(vm);
}

static bool page_dirty(struct kvm_vm *vm)
{
	unsigned long log = 0;

	kvm_vm_get_dirty_log(vm, STATE_SLOT, &log);
	return log & 1;
}

static void test_dirty_log(void)
{
	struct kvm_vm *vm = create(guest_spin);
	struct runner r;
	int i;

	/* Nothing but the flag is written to the page: no stolen time. */
	expect_err(set_ipa(vcpus[0], slot_gpa(0) + IN_SLOT), 0);
	start_spinner(vm, &r);
	vm_mem_region_set_flags(vm, STATE_SLOT, KVM_MEM_LOG_DIRTY_PAGES);
	page_dirty(vm);
	for (i = 0; i < 20; i++) {
		/* The guest only reads; it gets the CPU and loses it. */
		u64 was = READ_ONCE(*guest_var(vm, &beat[0]));

		wait_until(READ_ONCE(*guest_var(vm, &beat[0])) > was, "the guest to run on");
		TEST_ASSERT(page_dirty(vm), "The flag was written, but the page is clean");
	}
	vm_mem_region_set_flags(vm, STATE_SLOT, 0);
	wait_until(READ_ONCE(host_state(vm, 0)->preempted), "the flag");
	end_spinner(vm, &r);
}

/*
 * A vCPU cannot be sure that it may push to its dirty ring when it is preempted:
 * while the page is logged there, its flag stays 0.
 */
static void test_dirty_ring(void)
{
	struct kvm_vm *vm = create_with_dirty_ring(guest_spin);
	struct state *state = host_state(vm, 0);
	struct runner r;
	int i;

	expect_err(set_ipa(vcpus[0], slot_gpa(0) + IN_SLOT), 0);
	start_spinner(vm, &r);
	wait_until(READ_ONCE(state->preempted), "the flag");

	/* It is set now, and must be cleared although it is not set again. */
	vm_mem_region_set_flags(vm, STATE_SLOT, KVM_MEM_LOG_DIRTY_PAGES);
	for (i = 0; i < 20; i++) {
		u64 was = READ_ONCE(*guest_var(vm, &beat[0]));

		wait_until(READ_ONCE(*guest_var(vm, &beat[0])) > was, "the guest to run on");
		TEST_ASSERT(!READ_ONCE(state->preempted),
			    "The flag is set, but the page is logged");
	}

	vm_mem_region_set_flags(vm, STATE_SLOT, 0);
	wait_until(READ_ONCE(state->preempted), "the flag");
	end_spinner(vm, &r);
}

/* ---- a lost update ---- */

static u64 hammer_seen[NR_VCPUS];

/* Sees its own flag clear at all times, and its siblings' set now and then. */
static void guest_hammer(u64 me)
{
	struct state *own = (void *)(STATE_GPA + me * STRIDE + IN_SLOT);
	int i;

	while (!READ_ONCE(stop)) {
		GUEST_ASSERT_EQ(READ_ONCE(own->preempted), 0);
		WRITE_ONCE(beat[me], beat[me] + 1);
		for (i = 0; i < NR_VCPUS; i++) {
			struct state *other = (void *)(STATE_GPA + i * STRIDE + IN_SLOT);

			if (READ_ONCE(other->preempted))
				WRITE_ONCE(hammer_seen[me], hammer_seen[me] + 1);
		}
	}
	GUEST_DONE();
}

static void test_hammer(void)
{
	struct kvm_vm *vm = create(guest_hammer);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct runner r[NR_VCPUS];
	u32 random = 1;
	int i;

	for (i = 0; i < NR_VCPUS; i++) {
		set_pvtime(i);
		vcpu_args_set(vcpus[i], 1, (u64)i);
		start(&r[i], vcpus[i], host_state(vm, i));
	}
	for (i = 0; i < 3000; i++) {
		struct runner *victim;
		cpu_set_t set;

		random = random * 1664525 + 1013904223;
		victim = &r[(random >> 8) % NR_VCPUS];
		CPU_ZERO(&set);
		CPU_SET((random >> 16) % cpus, &set);
		pthread_setaffinity_np(victim->thread, sizeof(set), &set);
		if (random & BIT(31))
			pthread_kill(victim->thread, SIGUSR1);
		if (i % 8 == 0)
			usleep(random >> 22);
	}
	WRITE_ONCE(*guest_var(vm, &stop), 1);
	for (i = 0; i < NR_VCPUS; i++) {
		pthread_join(r[i].thread, NULL);
		TEST_ASSERT(r[i].done, "vCPU %d did not end", i);
		TEST_ASSERT(guest_var(vm, beat)[i], "vCPU %d did not run", i);
		TEST_ASSERT(guest_var(vm, hammer_seen)[i], "vCPU %d never saw a flag", i);
		TEST_ASSERT(!READ_ONCE(host_state(vm, i)->preempted),
			    "vCPU %d's flag is set at the end", i);
	}
	kvm_vm_free(vm);
}

/* ---- hidden by the boot parameter ---- */

static void test_hidden(void)
{
	struct kvm_vm *vm = create(guest_calls);
	u64 val;

	expect_err(attr(vcpus[0], KVM_HAS_DEVICE_ATTR, KVM_ARM_VCPU_PVLOCK_CTRL,
			KVM_ARM_VCPU_PVLOCK_IPA, NULL), ENXIO);
	expect_err(set_ipa(vcpus[0], STATE_GPA), ENXIO);
	expect_err(get_ipa(vcpus[0], &val), ENXIO);
	TEST_ASSERT(!times_listed(vcpus[0]), "The register is listed");
	expect_err(__vcpu_get_reg(vcpus[0], KVM_REG_ARM_VENDOR_HYP_BMAP_2, &val) ? errno : 0,
		   ENOENT);
	expect_err(set_bmap(vcpus[0], 0), ENOENT);
	expect_err(set_bmap(vcpus[0], FEATURE), ENOENT);

	set_pvtime(0);
	expect_calls(vcpus[0], 0, NOT_SUPPORTED);
	TEST_ASSERT(!READ_ONCE(host_state(vm, 0)->revision), "Hidden, but written");
	kvm_vm_free(vm);
}

static const struct {
	const char *name;
	void (*run)(void);
	const char *mode;
} tests[] = {
	{ "attributes and their errors", test_attributes },
	{ "the firmware register", test_register },
	{ "hypercalls", test_calls },
	{ "stolen time leaves the state alone", test_stolen_time },
	{ "set whenever the vCPU is preempted", test_preempted },
	{ "a sibling sees it", test_sibling },
	{ "0 when KVM_RUN has returned", test_run_returns },
	{ "cleared when the page is not there at first", test_page_not_there },
	{ "0 for a vCPU that idles or is stopped", test_idle },
	{ "the page is marked dirty", test_dirty_log },
	{ "0 while a dirty ring logs the page", test_dirty_ring },
	{ "kvm-arm.pvlock=0 hides all", test_hidden, "hidden" },
	{ "no update is lost", test_hammer, "hammer" },
};

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = nothing };
	const char *mode = argc > 1 ? argv[1] : "";
	int i, n = 0;

	sigaction(SIGUSR1, &action, NULL);
	if (strcmp(mode, "hammer"))
		kvm_pin_this_task_to_pcpu(0);

	ksft_print_header();
	for (i = 0; i < ARRAY_SIZE(tests); i++)
		n += !strcmp(tests[i].mode ?: "", mode);
	ksft_set_plan(n);
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (strcmp(tests[i].mode ?: "", mode))
			continue;
		tests[i].run();
		ksft_test_result_pass("%s\n", tests[i].name);
	}
	ksft_finished();
}
