// SPDX-License-Identifier: GPL-2.0
/*
 * What one spin exit costs from its begin to the end of the scheduler's call,
 * which itself takes no time here, for a VM's size and the part of its vCPUs
 * that are preempted.  Prints a line for each case:
 *
 *	VCPUS READY CACHES ANSWER STOCK CORE	(times in ns, medians)
 *
 * CACHES: `cold` evicts all vCPUs and the VM before each exit, as on a host
 * where other CPUs have run them since; `warm` does not.  ANSWER: whether the
 * yield takes effect (`yes`), or no target's does (`no`).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kvm_stub.h"
#include "stock.h"
#include "test.h"

#define WARM_CALLS	200
#define WARM_BATCHES	31
#define COLD_CALLS	101

static int answer;

int yield_to(struct task_struct *task, bool preempt)
{
	return answer;
}

void test_fail(const char *file, int line, const char *what)
{
	abort();
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

/* Larger than a cache; written, so that it replaces what is there. */
static void evict(struct kvm *kvm)
{
#if defined(__x86_64__)
	int i, line;

	for (i = 0; i < kvm->online_vcpus.counter; i++) {
		for (line = 0; line < sizeof(struct kvm_vcpu); line += 64)
			__builtin_ia32_clflush((char *)kvm->vcpu_array[i] + line);
	}
	for (line = 0; line < sizeof(*kvm); line += 64)
		__builtin_ia32_clflush((char *)kvm + line);
	__builtin_ia32_mfence();
#else
	static char big[64 << 20];
	static char value;

	memset(big, ++value, sizeof(big));
#endif
}

typedef void (*on_spin)(struct kvm_vcpu *me, bool in_kernel);

static double measure(struct kvm *kvm, on_spin exit, bool cold)
{
	double times[COLD_CALLS + WARM_BATCHES], start, clock;
	struct kvm_vcpu *me = kvm->vcpu_array[0];
	int i, j;

	start = now();
	for (i = 0; i < 1000; i++)
		now();
	clock = (now() - start) / 1000;

	exit(me, true);
	if (cold) {
		for (i = 0; i < COLD_CALLS; i++) {
			evict(kvm);
			/* The exit itself has brought the spinner's own lines. */
			*(volatile bool *)&me->dy.spinning;
			*(volatile u64 *)&me->stat.generic.dy.exits;
			start = now();
			exit(me, true);
			times[i] = now() - start - clock;
		}
		return median(times, COLD_CALLS);
	}
	for (i = 0; i < WARM_BATCHES; i++) {
		start = now();
		for (j = 0; j < WARM_CALLS; j++)
			exit(me, true);
		times[i] = (now() - start) / WARM_CALLS;
	}
	return median(times, WARM_BATCHES);
}

/* Exactly @ready per cent, at least one unless 0, at random but never number 0. */
static void preempt_some(struct kvm *kvm, unsigned int n, unsigned int ready)
{
	unsigned int wanted = ready ? max(1U, (n - 1) * ready / 100) : 0;
	unsigned long long seed = n;
	unsigned int i;

	while (wanted) {
		i = 1 + random_below(&seed, n - 1);
		if (kvm->vcpu_array[i]->preempted)
			continue;
		vcpu_preempt(kvm->vcpu_array[i], true);
		stock_sched_out(kvm->vcpu_array[i]);
		wanted--;
	}
}

int main(void)
{
	static const unsigned int part[] = { 0, 1, 10, 100 };
	unsigned int n, r, cold;

	for (n = 2; n <= KVM_MAX_VCPUS; n *= 2) {
		for (r = 0; r < ARRAY_SIZE(part); r++) {
			struct kvm *kvm = vm_create(n);

			preempt_some(kvm, n, part[r]);
			for (answer = 0; answer < 2; answer++) {
				for (cold = 0; cold < 2; cold++)
					printf("%u %u %s %s %.1f %.1f\n", n, part[r],
					       cold ? "cold" : "warm", answer ? "yes" : "no",
					       measure(kvm, stock_on_spin, cold),
					       measure(kvm, kvm_vcpu_on_spin, cold));
				fflush(stdout);
			}
			vm_destroy(kvm);
		}
	}
	return 0;
}
