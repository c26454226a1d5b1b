// SPDX-License-Identifier: GPL-2.0-only
/*
 * Diagnose 0x44 and 0x9c: what they count, whom they yield to, and that they
 * don't when they must not.
 *
 * All vCPUs but one of the last test share one CPU, so that of two that want to
 * run one is preempted.  What is asserted is what KVM says that it decided; the
 * clock decides nothing.  Where a tick of the scheduler may come between two
 * instructions of the guest, many rounds are made, and most must be as expected.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "directed_yield_stats.h"
#include "kselftest.h"
#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"

#define NR_VCPUS		2

#define ROUNDS			20
/* How many of them may be disturbed. */
#define DISTURBED		5

#define LC_EXT_NEW_PSW		0x1b0
#define LC_PGM_CODE		0x8e
#define LC_PGM_OLD_PSW		0x150
#define LC_PGM_NEW_PSW		0x1d0

#define PGM_PRIVILEGED_OP	0x02

#define PSW_MASK_EXT		0x0100000000000000UL
#define PSW_MASK_WAIT		0x0002000000000000UL
#define PSW_MASK_PSTATE		0x0001000000000000UL
#define PSW_MASK_64BIT		0x0000000180000000UL
#define PSW_KERNEL		PSW_MASK_64BIT

#define CR0_EMERGENCY_SIGNAL	0x4000UL

#define GUEST_MEMORY		0x2000000UL
#define GUEST_STACKS		0x200000UL
#define STACK_SIZE		0x10000UL
#define STACK_FRAME		160

/* The same as struct dy_wait, of guests that do other things. */
struct shared {
	u64 signal;
	u64 target;
	u64 survived;
};

static struct shared shared;
u32 ext_interrupts;

/* In the guest */

static inline void diag44(void)
{
	asm volatile("diag 0,0,0x44" ::: "memory");
}

static inline void diag9c(u64 cpu)
{
	asm volatile("diag %0,0,0x9c" :: "d" (cpu) : "memory");
}

/* KVM leaves this one to user space. */
static void exit_to_host(void)
{
	asm volatile("diag 0,0,0x501" ::: "memory");
}

static inline void emergency_signal(u64 cpu)
{
	asm volatile("sigp %%r1,%0,3" :: "d" (cpu) : "r1", "cc", "memory");
}

static void load_psw(u64 mask, void *addr)
{
	u64 psw[2] __aligned(8) = { mask, (u64)addr };

	asm volatile("lpswe %0" :: "Q" (psw) : "memory");
	__builtin_unreachable();
}

/* Count the interrupt, and go on with what it interrupted, be it a wait. */
extern void ext_handler(void);
asm(".pushsection .text\n"
	".balign 8\n"
	"ext_handler:\n"
	"	stg	%r1,0x500(%r0)\n"
	"	larl	%r1,ext_interrupts\n"
	"	asi	0(%r1),1\n"
	"	lg	%r1,0x500(%r0)\n"
	"	lpswe	0x130(%r0)\n"
	".popsection\n");

static inline void dy_guest_hint(void)
{
	diag44();
}

static inline void dy_guest_end(void)
{
	exit_to_host();
}

#include "directed_yield_wait.h"

static void guest_spin(void)
{
	for (;;)
		WRITE_ONCE(dy_wait.count, dy_wait.count + 1);
}

static void guest_spin_in_problem_state(void)
{
	load_psw(PSW_KERNEL | PSW_MASK_PSTATE | PSW_MASK_EXT, guest_spin);
}

static void guest_sleep(void)
{
	load_psw(PSW_KERNEL | PSW_MASK_WAIT | PSW_MASK_EXT, guest_sleep);
}

/* One diag 0x44 each time that it is run, behind a signal if it is asked to. */
static void guest_spinner(void)
{
	for (;;) {
		if (READ_ONCE(shared.signal))
			emergency_signal(1);
		diag44();
		exit_to_host();
	}
}

static void guest_9c(void)
{
	int i;

	for (;;) {
		for (i = 0; i < DY_NR_HINTS; i++)
			diag9c(READ_ONCE(shared.target));
		exit_to_host();
	}
}

static void problem_44(void)
{
	diag44();
	WRITE_ONCE(shared.survived, 1);
	for (;;)
		;
}

static void problem_9c(void)
{
	diag9c(1);
	WRITE_ONCE(shared.survived, 1);
	for (;;)
		;
}

static void pgm_handler(void)
{
	exit_to_host();
	load_psw(PSW_KERNEL | PSW_MASK_PSTATE, problem_9c);
}

static void guest_problem_state(void)
{
	load_psw(PSW_KERNEL | PSW_MASK_PSTATE, problem_44);
}

/* On the host */

static struct shared *host;
static struct dy_wait *host_wait;
static u32 *host_interrupts;

/* Opened before the vCPUs run, since the ioctl waits until they don't. */
static int stats_fds[NR_VCPUS];

static u64 vcpu_stat(struct kvm_vcpu *vcpu, const char *name)
{
	return dy_read_stat(stats_fds[vcpu->id], name);
}

static void free_vm(struct kvm_vm *vm, int n)
{
	while (n--)
		close(stats_fds[n]);
	kvm_vm_free(vm);
}

static void run_to_exit(struct kvm_vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;

	vcpu_run(vcpu);
	TEST_ASSERT(run->exit_reason == KVM_EXIT_S390_SIEIC &&
		    run->s390_sieic.ipb >> 16 == 0x501,
		    "exit reason %u, intercept %x, ipa %x, ipb %x, psw %llx %llx",
		    run->exit_reason, run->s390_sieic.icptcode,
		    run->s390_sieic.ipa, run->s390_sieic.ipb,
		    run->psw_mask, run->psw_addr);
}

/*
 * A VM that runs this program, without address translation: its image is copied
 * to where it is linked to.  Each page is written to before the guest needs it,
 * since an emulator may take a page that the host has not made writable yet for
 * one that is protected; and each vCPU is run once before it is used, since its
 * first instruction may be read as zeros there.
 */
static struct kvm_vm *make_vm(struct kvm_vcpu **vcpus, int n, void *code0,
			      void *code1)
{
	extern char __executable_start[], end[];
	void *code[NR_VCPUS] = { code0, code1 };
	struct kvm_vm *vm = vm_create_barebones();
	struct kvm_sregs sregs;
	struct kvm_regs regs;
	u64 *lowcore;
	int i;

	TEST_ASSERT((u64)end <= GUEST_MEMORY, "the program is too large");
	vm_userspace_mem_region_add(vm, VM_MEM_SRC_ANONYMOUS, 0, 0,
				    GUEST_MEMORY / PAGE_SIZE, 0);
	memset(addr_gpa2hva(vm, 0), 0, GUEST_MEMORY);
	memset(&shared, 0, sizeof(shared));
	memset(&dy_wait, 0, sizeof(dy_wait));
	memcpy(addr_gpa2hva(vm, (u64)__executable_start), __executable_start,
	       end - __executable_start);

	for (i = 0; i < n; i++) {
		vcpus[i] = __vm_vcpu_add(vm, i);
		vcpu_regs_get(vcpus[i], &regs);
		regs.gprs[15] = GUEST_STACKS + (i + 1) * STACK_SIZE - STACK_FRAME;
		vcpu_regs_set(vcpus[i], &regs);
		vcpu_sregs_get(vcpus[i], &sregs);
		sregs.crs[0] |= CR0_EMERGENCY_SIGNAL;
		vcpu_sregs_set(vcpus[i], &sregs);
	}

	lowcore = addr_gpa2hva(vm, 0);
	lowcore[LC_EXT_NEW_PSW / 8] = PSW_KERNEL;
	lowcore[LC_EXT_NEW_PSW / 8 + 1] = (u64)ext_handler;
	lowcore[LC_PGM_NEW_PSW / 8] = PSW_KERNEL;
	lowcore[LC_PGM_NEW_PSW / 8 + 1] = (u64)pgm_handler;

	for (i = 0; i < n; i++) {
		vcpus[i]->run->psw_mask = PSW_KERNEL;
		vcpus[i]->run->psw_addr = (u64)exit_to_host;
		run_to_exit(vcpus[i]);
		stats_fds[i] = vcpu_get_stats_fd(vcpus[i]);
		vcpus[i]->run->psw_mask = PSW_KERNEL;
		vcpus[i]->run->psw_addr = (u64)code[i];
	}

	host = addr_gpa2hva(vm, (u64)&shared);
	host_wait = addr_gpa2hva(vm, (u64)&dy_wait);
	host_interrupts = addr_gpa2hva(vm, (u64)&ext_interrupts);
	return vm;
}

struct runner {
	pthread_t thread;
	struct kvm_vcpu *vcpu;
	int cpu;
	int policy;
	bool done;
};

static void interrupt(int sig)
{
}

static void *run(void *arg)
{
	struct sched_param param = {};
	struct runner *r = arg;

	TEST_ASSERT(!sched_setscheduler(0, r->policy, &param), "sched_setscheduler");
	kvm_pin_this_task_to_pcpu(r->cpu);
	if (__vcpu_run(r->vcpu))
		TEST_ASSERT(errno == EINTR, "KVM_RUN: %s", strerror(errno));
	WRITE_ONCE(r->done, true);
	return NULL;
}

static void start(struct runner *r, struct kvm_vcpu *vcpu, int cpu, int policy)
{
	*r = (struct runner){ .vcpu = vcpu, .cpu = cpu, .policy = policy };
	TEST_ASSERT(!pthread_create(&r->thread, NULL, run, r), "pthread_create");
}

/* A signal may come before KVM_RUN and be lost: send another one. */
static void stop(struct runner *r)
{
	while (!READ_ONCE(r->done)) {
		pthread_kill(r->thread, SIGUSR1);
		usleep(1000);
	}
	pthread_join(r->thread, NULL);
}

static void wait_for_change(u64 *value)
{
	u64 old = READ_ONCE(*value);

	while (READ_ONCE(*value) == old)
		usleep(1000);
}

static void test_counted(void)
{
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm = make_vm(&vcpu, 1, dy_guest_counted, NULL);

	run_to_exit(vcpu);
	ksft_test_result(vcpu_stat(vcpu, "instruction_diagnose_44") == DY_NR_HINTS &&
			 vcpu_stat(vcpu, "dy_exits") == DY_NR_HINTS,
			 "each diag 0x44 is a spin exit: %lu of %d\n",
			 vcpu_stat(vcpu, "dy_exits"), DY_NR_HINTS);
	ksft_test_result(vcpu_stat(vcpu, "dy_no_candidate") == DY_NR_HINTS &&
			 !vcpu_stat(vcpu, "dy_tried"),
			 "alone, it finds nobody\n");
	free_vm(vm, 1);
}

static void test_spin(void)
{
	struct kvm_vcpu *vcpus[NR_VCPUS], *me;
	struct kvm_vm *vm = make_vm(vcpus, NR_VCPUS, dy_guest_wait_for_flag,
				    dy_guest_work_and_set_flag);
	struct runner worker;

	me = vcpus[0];
	start(&worker, vcpus[1], 0, SCHED_OTHER);
	wait_for_change(&host_wait->count);
	run_to_exit(me);
	pthread_join(worker.thread, NULL);

	ksft_print_msg("exits %lu tried %lu took effect %lu\n",
		       vcpu_stat(me, "dy_exits"), vcpu_stat(me, "dy_tried"),
		       vcpu_stat(me, "dy_took_effect"));
	ksft_test_result(host_wait->hints &&
			 vcpu_stat(me, "dy_exits") == host_wait->hints,
			 "a spinner's exits are counted, every one\n");
	ksft_test_result(vcpu_stat(me, "dy_tried") && vcpu_stat(me, "dy_took_effect"),
			 "it yields to the vCPU that it waits for\n");
	free_vm(vm, NR_VCPUS);
}

/* A yield would find a candidate there, and there must be none. */
static void test_problem_state(void)
{
	struct kvm_vcpu *vcpus[NR_VCPUS], *me;
	struct kvm_vm *vm = make_vm(vcpus, NR_VCPUS, guest_problem_state, guest_spin);
	u8 *lowcore = addr_gpa2hva(vm, 0);
	static const char * const names[] = { "diag 0x44", "diag 0x9c" };
	struct runner spinner;
	int i;

	me = vcpus[0];
	start(&spinner, vcpus[1], 0, SCHED_OTHER);
	wait_for_change(&host_wait->count);

	for (i = 0; i < 2; i++) {
		run_to_exit(me);
		ksft_test_result(*(u16 *)(lowcore + LC_PGM_CODE) == PGM_PRIVILEGED_OP &&
				 *(u64 *)(lowcore + LC_PGM_OLD_PSW) & PSW_MASK_PSTATE &&
				 !host->survived,
				 "%s in problem state is a privileged operation\n",
				 names[i]);
	}
	ksft_test_result(!vcpu_stat(me, "dy_exits") && !vcpu_stat(me, "dy_tried") &&
			 !vcpu_stat(me, "instruction_diagnose_44") &&
			 !vcpu_stat(me, "instruction_diagnose_9c"),
			 "and nothing is yielded\n");
	stop(&spinner);
	free_vm(vm, NR_VCPUS);
}

/* Sleeps on in the kernel, or spins in problem state: no candidate by itself. */
static void test_signal(const char *who, void *code, bool sleeps)
{
	struct kvm_vcpu *vcpus[NR_VCPUS], *me;
	struct kvm_vm *vm = make_vm(vcpus, NR_VCPUS, guest_spinner, code);
	int i, idle = 0, tried = 0, took = 0;
	struct runner other;
	u64 t, e;

	me = vcpus[0];
	/* A thread of SCHED_BATCH does not preempt the one that wakes it up. */
	start(&other, vcpus[1], 0, SCHED_BATCH);
	if (!sleeps)
		wait_for_change(&host_wait->count);

	for (i = 1; i <= ROUNDS; i++) {
		while (sleeps && !vcpu_stat(vcpus[1], "blocking"))
			usleep(1000);

		t = vcpu_stat(me, "dy_tried");
		WRITE_ONCE(host->signal, 0);
		run_to_exit(me);
		idle += vcpu_stat(me, "dy_tried") == t;

		t = vcpu_stat(me, "dy_tried");
		e = vcpu_stat(me, "dy_took_effect");
		WRITE_ONCE(host->signal, 1);
		run_to_exit(me);
		tried += vcpu_stat(me, "dy_tried") == t + 1;
		took += vcpu_stat(me, "dy_took_effect") == e + 1;

		while (READ_ONCE(*host_interrupts) != i)
			usleep(1000);
	}

	ksft_print_msg("of %d rounds: passed over %d, tried %d, took effect %d\n",
		       ROUNDS, idle, tried, took);
	ksft_test_result(idle >= ROUNDS - DISTURBED,
			 "a vCPU that %s is passed over\n", who);
	ksft_test_result(tried >= ROUNDS - DISTURBED && took >= ROUNDS - DISTURBED,
			 "until it has a signal to answer\n");
	stop(&other);
	free_vm(vm, NR_VCPUS);
}

/* The number of diag 0x9c to @target that were ignored. */
static u64 ignored(struct kvm_vcpu *me, u64 target)
{
	u64 n = vcpu_stat(me, "diag_9c_ignored");

	WRITE_ONCE(host->target, target);
	run_to_exit(me);
	return vcpu_stat(me, "diag_9c_ignored") - n;
}

static void test_9c(void)
{
	struct kvm_vcpu *vcpus[NR_VCPUS], *me;
	struct kvm_vm *vm = make_vm(vcpus, NR_VCPUS, guest_9c, guest_spin);
	struct runner other;
	u64 n;

	me = vcpus[0];
	start(&other, vcpus[1], 0, SCHED_OTHER);
	wait_for_change(&host_wait->count);

	ksft_test_result(ignored(me, 0) == DY_NR_HINTS, "diag 0x9c to self is ignored\n");
	ksft_test_result(ignored(me, 7) == DY_NR_HINTS &&
			 ignored(me, -1) == DY_NR_HINTS,
			 "diag 0x9c to a missing vCPU is ignored\n");
	n = ignored(me, 1);
	ksft_test_result(n <= DY_NR_HINTS / 2,
			 "diag 0x9c to a preempted vCPU yields to it: %lu of %d ignored\n",
			 n, DY_NR_HINTS);
	ksft_test_result(vcpu_stat(me, "instruction_diagnose_9c") == 4 * DY_NR_HINTS &&
			 !vcpu_stat(me, "dy_exits"),
			 "diag 0x9c is no spin exit\n");
	stop(&other);
	free_vm(vm, NR_VCPUS);
}

static void test_9c_running(void)
{
	struct kvm_vcpu *vcpus[NR_VCPUS], *me;
	struct kvm_vm *vm = make_vm(vcpus, NR_VCPUS, guest_9c, guest_spin);
	struct runner other;
	u64 n;

	me = vcpus[0];
	start(&other, vcpus[1], 1, SCHED_OTHER);
	wait_for_change(&host_wait->count);
	n = ignored(me, 1);
	ksft_test_result(n >= DY_NR_HINTS * 9 / 10 && !vcpu_stat(me, "diag_9c_forward"),
			 "diag 0x9c to a running vCPU is ignored: %lu of %d\n",
			 n, DY_NR_HINTS);
	stop(&other);
	free_vm(vm, NR_VCPUS);
}

static void test_switched_off(void)
{
	struct kvm_vcpu *vcpus[NR_VCPUS], *me;
	struct kvm_vm *vm = make_vm(vcpus, NR_VCPUS, guest_spinner, guest_spin);
	struct runner other;
	int i;

	me = vcpus[0];
	start(&other, vcpus[1], 0, SCHED_OTHER);
	wait_for_change(&host_wait->count);

	dy_set_switch("N");
	for (i = 0; i < ROUNDS; i++)
		run_to_exit(me);
	dy_set_switch("Y");
	ksft_test_result(vcpu_stat(me, "dy_exits") == ROUNDS && !vcpu_stat(me, "dy_tried"),
			 "switched off, exits are counted and nothing is tried\n");
	for (i = 0; i < ROUNDS; i++)
		run_to_exit(me);
	ksft_test_result(vcpu_stat(me, "dy_tried") >= ROUNDS - DISTURBED,
			 "switched on again, a preempted vCPU is tried: %lu of %d\n",
			 vcpu_stat(me, "dy_tried"), ROUNDS);
	stop(&other);
	free_vm(vm, NR_VCPUS);
}

int main(void)
{
	struct sigaction action = { .sa_handler = interrupt };

	TEST_REQUIRE(sysconf(_SC_NPROCESSORS_ONLN) >= 2);
	sigaction(SIGUSR1, &action, NULL);

	ksft_print_header();
	ksft_set_plan(18);
	kvm_pin_this_task_to_pcpu(0);

	test_counted();
	test_spin();
	test_problem_state();
	test_signal("sleeps", guest_sleep, true);
	test_signal("spins in problem state", guest_spin_in_problem_state, false);
	test_9c();
	test_9c_running();
	test_switched_off();

	ksft_finished();
}
