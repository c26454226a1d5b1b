// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs in a Linux guest, not on the host: do user space's vector registers
 * survive while the kernel borrows them for Hyper-V hypercalls?
 *
 * On each CPU a thread causes TLB flushes and IPIs by system calls and looks
 * whether its registers have changed over each of them.  Another thread holds
 * values without any system call, so that what changes them comes from interrupts.
 * Timers on its CPU wake threads on the next one: IPIs out of the timer's interrupt.
 * One process does this on all CPUs and one on all but the first, as there are
 * shorter calls for all.
 *
 * Usage: hyperv_guest_fpu_test [system calls per CPU]
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_REGS		16
#define MAX_CPUS	64
#define PAGES		40
#define TIMER_NS	5000000

/* The registers as whole: YMM if there are any, else XMM in the lower halves. */
struct registers {
	uint64_t word[NR_REGS][4];
};

struct worker {
	pthread_t thread;
	int cpu;
	uint64_t checks, changes;
};

static bool has_avx;
static int first_cpu, nr_cpus;
static long nr_calls = 20000;
static unsigned int stop;

#define LOAD(i)		"vmovups 32 * " #i "(%[in]), %%ymm" #i "\n\t"
#define STORE(i)	"vmovups %%ymm" #i ", 32 * " #i "(%[out])\n\t"
#define SSE_LOAD(i)	"movups 32 * " #i "(%[in]), %%xmm" #i "\n\t"
#define SSE_STORE(i)	"movups %%xmm" #i ", 32 * " #i "(%[out])\n\t"

/* Run @code between loading and storing all registers. */
#define WITH(load, store, code, ...)							\
	asm volatile(load(0) load(1) load(2) load(3) load(4) load(5) load(6) load(7)	\
		     load(8) load(9) load(10) load(11) load(12) load(13) load(14) load(15) \
		     code								\
		     store(0) store(1) store(2) store(3) store(4) store(5) store(6)	\
		     store(7) store(8) store(9) store(10) store(11) store(12) store(13)	\
		     store(14) store(15)						\
		     __VA_ARGS__)

static long checked_syscall(const struct registers *in, struct registers *out,
			    long nr, long a, long b, long c)
{
	register long rax asm("rax") = nr;

	if (has_avx)
		WITH(LOAD, STORE, "syscall\n\t",
		     : "+a" (rax) : [in] "r" (in), [out] "r" (out), "D" (a), "S" (b), "d" (c)
		     : "rcx", "r11", "memory");
	else
		WITH(SSE_LOAD, SSE_STORE, "syscall\n\t",
		     : "+a" (rax) : [in] "r" (in), [out] "r" (out), "D" (a), "S" (b), "d" (c)
		     : "rcx", "r11", "memory");
	return rax;
}

#define SPIN	"1: dec %[loops]\n\tjnz 1b\n\t"

static void checked_spin(const struct registers *in, struct registers *out, long loops)
{
	if (has_avx)
		WITH(LOAD, STORE, SPIN,
		     : [loops] "+r" (loops) : [in] "r" (in), [out] "r" (out) : "cc", "memory");
	else
		WITH(SSE_LOAD, SSE_STORE, SPIN,
		     : [loops] "+r" (loops) : [in] "r" (in), [out] "r" (out) : "cc", "memory");
}

/* Values that belong to this thread and this round, and to nobody else. */
static void fill(struct registers *regs, uint64_t who, uint64_t round)
{
	int i, j;

	for (i = 0; i < NR_REGS; i++) {
		for (j = 0; j < 4; j++)
			regs->word[i][j] = !has_avx && j >= 2 ? 0 :
					   who << 56 | round << 16 | i << 8 | j;
	}
}

static void compare(struct worker *w, const char *what, const struct registers *in,
		    const struct registers *out)
{
	int i;

	w->checks++;
	for (i = 0; i < NR_REGS; i++) {
		if (!memcmp(in->word[i], out->word[i], sizeof(in->word[i])))
			continue;
		if (!w->changes++)
			printf("CPU %d, %s: XMM%d was %lx %lx %lx %lx and is %lx %lx %lx %lx\n",
			       w->cpu, what, i, in->word[i][0], in->word[i][1], in->word[i][2],
			       in->word[i][3], out->word[i][0], out->word[i][1], out->word[i][2],
			       out->word[i][3]);
	}
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("sched_setaffinity");
		exit(1);
	}
}

static void *caller(void *arg)
{
	struct registers in = {}, out = {};
	struct worker *w = arg;
	char *area;
	long i, j;

	on_cpu(w->cpu);
	area = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	for (i = 0; i < nr_calls; i++) {
		fill(&in, w->cpu + 1, i);
		if (i % 64 == 63) {
			checked_syscall(&in, &out, SYS_membarrier,
					MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
			compare(w, "IPI", &in, &out);
			continue;
		}
		/* Few pages are flushed one by one, many by flushing everything. */
		for (j = 0; j < (i % 16 == 7 ? PAGES : 1 + i % 3); j++)
			area[j * 4096] = i;
		checked_syscall(&in, &out, SYS_madvise, (long)area, j * 4096, MADV_DONTNEED);
		compare(w, "TLB flush", &in, &out);
	}
	munmap(area, PAGES * 4096);
	return NULL;
}

static void *holder(void *arg)
{
	struct registers in = {}, out = {};
	struct worker *w = arg;
	long i;

	on_cpu(w->cpu);
	/* Next to a caller it takes little time: calls are what is to be many. */
	if (setpriority(PRIO_PROCESS, syscall(SYS_gettid), 19)) {
		perror("setpriority");
		exit(1);
	}
	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		fill(&in, w->cpu + 101, i);
		checked_spin(&in, &out, 20000);
		compare(w, "interrupt", &in, &out);
	}
	return NULL;
}

/* A timer stays where it was started; who waits for it is on the next CPU. */
static void *sleeper(void *arg)
{
	struct itimerspec period = { { 0, TIMER_NS }, { 0, TIMER_NS } };
	struct worker *w = arg;
	uint64_t ticks;
	int fd;

	on_cpu(w->cpu);
	fd = timerfd_create(CLOCK_MONOTONIC, 0);
	if (fd < 0 || timerfd_settime(fd, 0, &period, NULL)) {
		perror("timerfd");
		exit(1);
	}
	on_cpu(w->cpu + 1 < nr_cpus ? w->cpu + 1 : first_cpu);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (read(fd, &ticks, sizeof(ticks)) == sizeof(ticks))
			w->checks++;
	}
	close(fd);
	return NULL;
}

/* Run the workers on all CPUs from first_cpu on; return whether registers kept their values. */
static bool torture(void)
{
	static struct worker callers[MAX_CPUS], holders[MAX_CPUS], sleepers[MAX_CPUS];
	uint64_t calls = 0, holds = 0, wakes = 0, changes = 0;
	int i;

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0)) {
		perror("membarrier");
		return false;
	}
	for (i = first_cpu; i < nr_cpus; i++) {
		callers[i].cpu = i;
		holders[i].cpu = i;
		sleepers[i].cpu = i;
		if (pthread_create(&holders[i].thread, NULL, holder, &holders[i]) ||
		    pthread_create(&sleepers[i].thread, NULL, sleeper, &sleepers[i]) ||
		    pthread_create(&callers[i].thread, NULL, caller, &callers[i])) {
			printf("pthread_create failed\n");
			return false;
		}
	}
	for (i = first_cpu; i < nr_cpus; i++)
		pthread_join(callers[i].thread, NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = first_cpu; i < nr_cpus; i++) {
		pthread_join(holders[i].thread, NULL);
		pthread_join(sleepers[i].thread, NULL);
		calls += callers[i].checks;
		holds += holders[i].checks;
		wakes += sleepers[i].checks;
		changes += callers[i].changes + holders[i].changes;
	}
	printf("CPUs %d to %d, %s: %lu system calls, %lu holds, %lu wakes, %lu registers changed\n",
	       first_cpu, nr_cpus - 1, has_avx ? "YMM" : "XMM", calls, holds, wakes, changes);
	fflush(stdout);
	return !changes && calls && holds && wakes;
}

int main(int argc, char *argv[])
{
	int status;
	pid_t child;
	bool good;

	if (argc > 1)
		nr_calls = atol(argv[1]);
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (nr_cpus < 3 || nr_cpus > MAX_CPUS || nr_calls < 1) {
		printf("cannot run with %d CPUs and %ld calls\n", nr_cpus, nr_calls);
		return 1;
	}
	has_avx = __builtin_cpu_supports("avx");
	fflush(stdout);

	/* The child is never on the first CPU, not even at its start. */
	on_cpu(1);
	child = fork();
	if (child < 0) {
		perror("fork");
		return 1;
	}
	if (!child) {
		first_cpu = 1;
		return !torture();
	}
	good = torture();
	if (waitpid(child, &status, 0) != child || status)
		good = false;
	return !good;
}
