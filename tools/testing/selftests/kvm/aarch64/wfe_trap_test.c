// SPDX-License-Identifier: GPL-2.0-only
/*
 * WFE: when it traps, and whom a trapped one yields to.
 *
 * All threads share one CPU.  The guests are a few instructions that run with
 * the MMU off, so that they need no page tables and run at EL0 as well as EL1.
 *
 * With the argument "wfet" it tests WFET instead, which not every CPU has.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include "directed_yield_stats.h"
#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"

#define CODE_GPA	BIT(30)
#define CODE_SLOT	1
#define EXIT_GPA	BIT(31)
#define NR_VCPUS	2
#define NR_WFE		400

#define PSTATE_EL0	0x3c0ul		/* EL0t, DAIF masked */
#define PSTATE_EL1	0x3c5ul		/* EL1h, DAIF masked */

/* x0: how often, 0 for ever; x1: a deadline; x2: where a store exits. */
extern const u8 code_begin[], code_end[], code_wfe[], code_busy[], code_wfet[], code_wfet_xzr[];

asm(".pushsection .rodata\n"
	"	.balign	4\n"
	"code_begin:\n"
	"code_wfe:\n"
	"	wfe\n"
	/* An emulator takes long for a WFE that does not trap. */
	"	mov	x4, #4000\n"
	"1:	subs	x4, x4, #1\n"
	"	b.ne	1b\n"
	"	subs	x0, x0, #1\n"
	"	b.ne	code_wfe\n"
	"	b	code_exit\n"
	"code_wfet:\n"
	"	.inst	0xd5031001\n"	/* wfet x1 */
	"	subs	x0, x0, #1\n"
	"	b.ne	code_wfet\n"
	"	b	code_exit\n"
	"code_wfet_xzr:\n"
	"	.inst	0xd503101f\n"	/* wfet xzr */
	"	subs	x0, x0, #1\n"
	"	b.ne	code_wfet_xzr\n"
	"code_exit:\n"
	"	str	w0, [x2]\n"
	"	b	code_exit\n"
	"code_busy:\n"
	"	add	x3, x3, #1\n"
	"	b	code_busy\n"
	"code_end:\n"
	".popsection\n");

static struct kvm_vm *vm;
static struct kvm_vcpu *vcpus[NR_VCPUS];
/* Opened early: KVM_GET_STATS_FD waits for a vCPU that runs. */
static int stats_fds[NR_VCPUS];

static void guest_unused(void)
{
}

static void create(void)
{
	void *hva;
	int i;

	vm = vm_create_with_vcpus(NR_VCPUS, guest_unused, vcpus);
	vm_userspace_mem_region_add(vm, VM_MEM_SRC_ANONYMOUS, CODE_GPA, CODE_SLOT, 1, 0);
	hva = addr_gpa2hva(vm, CODE_GPA);
	memcpy(hva, code_begin, code_end - code_begin);
	__builtin___clear_cache(hva, hva + (code_end - code_begin));
	for (i = 0; i < NR_VCPUS; i++)
		stats_fds[i] = vcpu_get_stats_fd(vcpus[i]);
}

static void destroy(void)
{
	int i;

	for (i = 0; i < NR_VCPUS; i++)
		close(stats_fds[i]);
	kvm_vm_free(vm);
}

static void setup(struct kvm_vcpu *vcpu, const u8 *code, u64 pstate, u64 times, u64 deadline)
{
	u64 sctlr;

	vcpu_get_reg(vcpu, KVM_ARM64_SYS_REG(SYS_SCTLR_EL1), &sctlr);
	vcpu_set_reg(vcpu, KVM_ARM64_SYS_REG(SYS_SCTLR_EL1), sctlr & ~1ul);
	vcpu_set_reg(vcpu, ARM64_CORE_REG(regs.pstate), pstate);
	vcpu_set_reg(vcpu, ARM64_CORE_REG(regs.pc), CODE_GPA + (code - code_begin));
	vcpu_args_set(vcpu, 3, times, deadline, EXIT_GPA);
}

static u64 stat(struct kvm_vcpu *vcpu, const char *name)
{
	return dy_read_stat(stats_fds[vcpu->id], name);
}

/* ---- the parameter ---- */

#define PARAMETER "/sys/module/kvm/parameters/wfe_trap_policy"

static int write_policy(const char *policy)
{
	int fd = open(PARAMETER, O_WRONLY);
	int err;

	TEST_ASSERT(fd >= 0, "%s: errno %d", PARAMETER, errno);
	err = write(fd, policy, strlen(policy)) < 0 ? errno : 0;
	close(fd);
	return err;
}

static void read_policy(char *policy, size_t size)
{
	int fd = open(PARAMETER, O_RDONLY);
	ssize_t n = read(fd, policy, size - 1);

	TEST_ASSERT(n > 0, "%s: errno %d", PARAMETER, errno);
	policy[n] = 0;
	close(fd);
}

static void set_policy(const char *policy)
{
	char is[32];

	TEST_ASSERT(!write_policy(policy), "Policy %s refused", policy);
	read_policy(is, sizeof(is));
	TEST_ASSERT(!strncmp(is, policy, strlen(policy)) && is[strlen(policy)] == '\n',
		    "Policy %s set, reads %s", policy, is);
}

static void test_parameter(void)
{
	static const char * const bad[] = { "", "traps", "tra", "TRAP", "1", "trap notrap" };
	char is[32];
	int i;

	set_policy("default");
	set_policy("notrap");
	set_policy("trap");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		/* An empty write never reaches the parameter. */
		if (*bad[i])
			TEST_ASSERT(write_policy(bad[i]) == EINVAL, "'%s' not refused", bad[i]);
		read_policy(is, sizeof(is));
		TEST_ASSERT(!strcmp(is, "trap\n"), "'%s' changed the policy to %s", bad[i], is);
	}
}

/* ---- threads ---- */

struct thread {
	struct kvm_vcpu *vcpu;
	pthread_t thread;
	int quit;
};

static void *run_vcpu(void *arg)
{
	struct thread *t = arg;

	while (!READ_ONCE(t->quit)) {
		int ret = __vcpu_run(t->vcpu);

		TEST_ASSERT(!ret || errno == EINTR, "KVM_RUN: errno %d", errno);
		if (!ret) {
			TEST_ASSERT(t->vcpu->run->exit_reason == KVM_EXIT_MMIO &&
				    t->vcpu->run->mmio.phys_addr == EXIT_GPA,
				    "Unexpected exit: %s",
				    exit_reason_str(t->vcpu->run->exit_reason));
			return NULL;
		}
	}
	return NULL;
}

static void *run_hog(void *arg)
{
	struct thread *t = arg;

	while (!READ_ONCE(t->quit))
		barrier();
	return NULL;
}

static void start(struct thread *t, struct kvm_vcpu *vcpu)
{
	*t = (struct thread) { .vcpu = vcpu };
	pthread_create(&t->thread, NULL, vcpu ? run_vcpu : run_hog, t);
}

static void end(struct thread *t)
{
	WRITE_ONCE(t->quit, 1);
	/* Once more if the signal came before KVM_RUN. */
	do {
		pthread_kill(t->thread, SIGUSR1);
		usleep(1000);
	} while (pthread_tryjoin_np(t->thread, NULL));
}

static void nothing(int sig)
{
}

/* ---- exits per policy ---- */

/* How many of NR_WFE instructions exit? */
static u64 wfe_exits(const char *policy, u64 pstate, bool contended)
{
	struct thread spin, hog;
	u64 before;

	set_policy(policy);
	create();
	setup(vcpus[0], code_wfe, pstate, NR_WFE, 0);
	before = stat(vcpus[0], "wfe_exit_stat");
	if (contended) {
		start(&hog, NULL);
		start(&spin, vcpus[0]);
		pthread_join(spin.thread, NULL);
		end(&hog);
	} else {
		/* In this thread, so that it is not what is in the way. */
		spin = (struct thread) { .vcpu = vcpus[0] };
		run_vcpu(&spin);
	}
	before = stat(vcpus[0], "wfe_exit_stat") - before;
	destroy();
	return before;
}

/*
 * A WFE that finds the event register set clears it and does not trap.  The
 * return to the guest sets it, so that of two WFEs one traps at least.
 */
#define MOST	(NR_WFE / 3)

static void test_exits(void)
{
	static const u64 pstates[] = { PSTATE_EL1, PSTATE_EL0 };
	u64 n;
	int i;

	for (i = 0; i < ARRAY_SIZE(pstates); i++) {
		int el = pstates[i] == PSTATE_EL1;

		n = wfe_exits("trap", pstates[i], false);
		TEST_ASSERT(n >= MOST && n <= NR_WFE, "trap, EL%d, alone: %lu exits", el, n);
		n = wfe_exits("trap", pstates[i], true);
		TEST_ASSERT(n >= MOST && n <= NR_WFE, "trap, EL%d, contended: %lu exits", el, n);

		n = wfe_exits("notrap", pstates[i], false);
		TEST_ASSERT(!n, "notrap, EL%d, alone: %lu exits", el, n);
		n = wfe_exits("notrap", pstates[i], true);
		TEST_ASSERT(!n, "notrap, EL%d, contended: %lu exits", el, n);

		n = wfe_exits("default", pstates[i], true);
		TEST_ASSERT(n >= MOST && n <= NR_WFE, "default, EL%d, contended: %lu exits", el, n);
		/* Some kernel thread may have been runnable. */
		n = wfe_exits("default", pstates[i], false);
		TEST_ASSERT(n < MOST, "default, EL%d, alone: %lu exits", el, n);
	}
}

/* A vCPU that runs follows a change when it is scheduled in the next time. */
static void test_run_time_change(void)
{
	struct thread spin, hog;
	u64 before;
	int i;

	set_policy("notrap");
	create();
	setup(vcpus[0], code_wfe, PSTATE_EL1, 0, 0);
	start(&hog, NULL);
	start(&spin, vcpus[0]);
	usleep(50000);
	TEST_ASSERT(!stat(vcpus[0], "wfe_exit_stat"), "notrap, but it traps");

	set_policy("trap");
	for (i = 0; stat(vcpus[0], "wfe_exit_stat") < 10; i++) {
		TEST_ASSERT(i < 1000, "trap, but it does not");
		usleep(10000);
	}

	set_policy("notrap");
	/* Until it has been scheduled in once more. */
	usleep(200000);
	before = stat(vcpus[0], "wfe_exit_stat");
	usleep(200000);
	TEST_ASSERT(stat(vcpus[0], "wfe_exit_stat") == before, "notrap, but it goes on to trap");

	end(&spin);
	end(&hog);
	destroy();
}

/* ---- whom it yields to ---- */

/* A vCPU spins in WFE, another one computes, in the given modes. */
static void spin_next_to(u64 spinner, u64 other, u64 *tried, u64 *took_effect)
{
	struct thread spin, busy;
	int i;

	set_policy("trap");
	create();
	setup(vcpus[0], code_wfe, spinner, 0, 0);
	setup(vcpus[1], code_busy, other, 0, 0);
	start(&busy, vcpus[1]);
	usleep(20000);
	start(&spin, vcpus[0]);
	for (i = 0; stat(vcpus[0], "dy_exits") < 50; i++) {
		TEST_ASSERT(i < 2000, "Only %lu spin exits", stat(vcpus[0], "dy_exits"));
		usleep(10000);
	}
	*tried = stat(vcpus[0], "dy_tried");
	*took_effect = stat(vcpus[0], "dy_took_effect");
	end(&spin);
	end(&busy);
	destroy();
}

static void test_modes(void)
{
	u64 tried, took_effect;

	spin_next_to(PSTATE_EL1, PSTATE_EL1, &tried, &took_effect);
	TEST_ASSERT(took_effect, "Kernel to kernel: tried %lu, took effect %lu",
		    tried, took_effect);

	spin_next_to(PSTATE_EL1, PSTATE_EL0, &tried, &took_effect);
	TEST_ASSERT(!tried, "Kernel to user: tried %lu, took effect %lu", tried, took_effect);

	spin_next_to(PSTATE_EL0, PSTATE_EL0, &tried, &took_effect);
	TEST_ASSERT(took_effect, "User to user: tried %lu, took effect %lu", tried, took_effect);

	spin_next_to(PSTATE_EL0, PSTATE_EL1, &tried, &took_effect);
	TEST_ASSERT(took_effect, "User to kernel: tried %lu, took effect %lu", tried, took_effect);
}

/* ---- WFET ---- */

static void wfet(const u8 *code, u64 deadline, u64 *exits, u64 *spins)
{
	struct thread spin;

	set_policy("trap");
	create();
	setup(vcpus[0], code, PSTATE_EL1, NR_WFE, deadline);
	start(&spin, vcpus[0]);
	pthread_join(spin.thread, NULL);
	*exits = stat(vcpus[0], "wfe_exit_stat");
	*spins = stat(vcpus[0], "dy_exits");
	destroy();
}

static void test_wfet(void)
{
	u64 exits, spins;

	/* Past: whether it traps is the CPU's choice, but nobody is to yield. */
	wfet(code_wfet, 0, &exits, &spins);
	TEST_ASSERT(!spins, "Past deadline: %lu exits, %lu of them yield", exits, spins);
	wfet(code_wfet_xzr, ~0ul, &exits, &spins);
	TEST_ASSERT(!spins, "Deadline in xzr: %lu exits, %lu of them yield", exits, spins);

	wfet(code_wfet, ~0ul, &exits, &spins);
	TEST_ASSERT(exits >= MOST && spins == exits,
		    "Future deadline: %lu exits, %lu of them yield", exits, spins);
}

static bool has_wfxt(void)
{
	u64 isar2;

	create();
	vcpu_get_reg(vcpus[0], KVM_ARM64_SYS_REG(SYS_ID_AA64ISAR2_EL1), &isar2);
	destroy();
	return (isar2 & 0xf) >= 2;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = nothing };

	sigaction(SIGUSR1, &action, NULL);
	kvm_pin_this_task_to_pcpu(0);

	if (argc > 1 && !strcmp(argv[1], "wfet")) {
		__TEST_REQUIRE(has_wfxt(), "The CPU has no WFET (FEAT_WFxT)");
		ksft_print_header();
		ksft_set_plan(1);
		test_wfet();
		ksft_test_result_pass("WFET\n");
	} else {
		ksft_print_header();
		ksft_set_plan(4);
		test_parameter();
		ksft_test_result_pass("the parameter\n");
		test_exits();
		ksft_test_result_pass("exits by policy and exception level\n");
		test_run_time_change();
		ksft_test_result_pass("a change at run time\n");
		test_modes();
		ksft_test_result_pass("whom a trapped WFE yields to\n");
	}
	set_policy("default");
	ksft_finished();
}
