// SPDX-License-Identifier: GPL-2.0
/*
 * Real threads: vCPUs that are preempted, sleep, spin and change their thread,
 * others that wake them up, and one that creates vCPUs, of which some fail.
 * They stop at times, and then no vCPU that wants a CPU may be unmarked.
 */
#include <pthread.h>
#include <sched.h>

#include "kvm_stub.h"
#include "test.h"

#define VMS		4
#define ROUNDS		25
#define ACTIONS		60
#define VCPUS		6
#define WAKERS		2

static struct kvm *kvm;
static pthread_barrier_t stop, go;
static bool parked_preempted[VCPUS], parked_asleep[VCPUS];
static unsigned long total_yields;
static unsigned int stopped;

int yield_to(struct task_struct *task, bool preempt)
{
	struct kvm_vcpu *target = task->vcpu, *me = stub_loaded;

	EXPECT(target != me);
	EXPECT(target->kvm == me->kvm);
	EXPECT_EQ(stub_rcu_depth, 0);
	__atomic_fetch_add(&total_yields, 1, __ATOMIC_RELAXED);
	if (!READ_ONCE(target->preempted))
		return 0;

	/* It gives its CPU away, and gets it back. */
	vcpu_sched_out(me, true);
	sched_yield();
	vcpu_sched_in(me);
	return 1;
}

static void sleep_until_woken(struct kvm_vcpu *me)
{
	if (vcpu_block(me)) {
		vcpu_sched_out(me, false);
		while (!READ_ONCE(me->arch.event))
			sched_yield();
		vcpu_sched_in(me);
	}
	vcpu_unblock(me);
}

static void act(struct kvm_vcpu *me, unsigned long long *seed)
{
	switch (random_below(seed, 16)) {
	case 0:
		sleep_until_woken(me);
		break;
	case 1:
		vcpu_thread_exit(me);
		vcpu_thread_start(me);
		break;
	case 2:
	case 3:
		WRITE_ONCE(me->arch.in_kernel, random_below(seed, 2));
		WRITE_ONCE(me->arch.pending_interrupt, random_below(seed, 2));
		vcpu_sched_out(me, true);
		sched_yield();
		vcpu_sched_in(me);
		break;
	default:
		kvm_vcpu_on_spin(me, random_below(seed, 2));
		EXPECT_EQ(stub_foreign_reads, 0);
	}
}

static void *vcpu_main(void *data)
{
	unsigned long index = (unsigned long)data;
	unsigned long long seed = index + 1;
	struct kvm_vcpu *me;
	int round, i;

	for (round = 0; round < VMS * ROUNDS; round++) {
		pthread_barrier_wait(&go);
		me = kvm->vcpu_array[index];
		stub_loaded = me;
		for (i = 0; i < ACTIONS; i++)
			act(me, &seed);

		/* Stop in a state that the others may find. */
		parked_preempted[index] = random_below(&seed, 2);
		parked_asleep[index] = !parked_preempted[index];
		if (parked_preempted[index])
			vcpu_sched_out(me, true);
		else if (vcpu_block(me))
			vcpu_sched_out(me, false);
		else
			parked_asleep[index] = false;
		__atomic_fetch_add(&stopped, 1, __ATOMIC_RELAXED);
		pthread_barrier_wait(&stop);

		/* The main thread looks. */
		pthread_barrier_wait(&stop);
		vcpu_sched_in(me);
		vcpu_unblock(me);
	}
	return NULL;
}

/* Wakes until all vCPUs have stopped, as some of them wait for it. */
static void *waker_main(void *data)
{
	unsigned long long seed = 1000 + (unsigned long)data;
	int round;

	for (round = 0; round < VMS * ROUNDS; round++) {
		pthread_barrier_wait(&go);
		while (READ_ONCE(stopped) != VCPUS) {
			vcpu_send_event(kvm->vcpu_array[random_below(&seed, VCPUS)]);
			/* Let them run who wait for it. */
			sched_yield();
		}
		pthread_barrier_wait(&stop);
		pthread_barrier_wait(&stop);
	}
	return NULL;
}

/* What has KVM_RUN on a vCPU that is still being created. */
static void *early_main(void *data)
{
	struct kvm_vcpu *vcpu = data;

	vcpu_sched_in(vcpu);
	vcpu_sched_out(vcpu, true);
	return NULL;
}

static void create(unsigned long long *seed)
{
	struct kvm_vcpu *new = vcpu_alloc(kvm, 1000);
	pthread_t early;

	vcpu_sched_out(new, true);
	vcpu_sched_in(new);
	if (random_below(seed, 2)) {
		vcpu_free(new);
		return;
	}
	vcpu_store(new);
	EXPECT(!pthread_create(&early, NULL, early_main, new));
	vcpu_online(new);
	pthread_join(early, NULL);
	EXPECT(test_bit(new->vcpu_idx, kvm->dy_ready.map));
}

static void look(void)
{
	int i;

	for (i = 0; i < VCPUS; i++) {
		struct kvm_vcpu *vcpu = kvm->vcpu_array[i];
		bool mark = test_bit(i, kvm->dy_ready.map);

		if (parked_preempted[i])
			EXPECT(mark);
		if (parked_asleep[i] && vcpu->arch.event)
			EXPECT(mark);
		EXPECT_EQ(kvm_dy_ready_check(vcpu), parked_preempted[i] ||
			  (vcpu->arch.blocking && vcpu->arch.event));
	}
	EXPECT_EQ(stub_task_refs, 0);
}

TEST(threads_no_mark_is_lost)
{
	pthread_t vcpus[VCPUS], wakers[WAKERS];
	unsigned long long seed = 7;
	unsigned long i;
	struct kvm *old = NULL;
	int vm, round;

	/* The main thread takes part in `go` and twice in `stop`. */
	pthread_barrier_init(&go, NULL, VCPUS + WAKERS + 1);
	pthread_barrier_init(&stop, NULL, VCPUS + WAKERS + 1);
	for (i = 0; i < VCPUS; i++)
		EXPECT(!pthread_create(&vcpus[i], NULL, vcpu_main, (void *)i));
	for (i = 0; i < WAKERS; i++)
		EXPECT(!pthread_create(&wakers[i], NULL, waker_main, (void *)i));

	for (vm = 0; vm < VMS; vm++) {
		kvm = vm_create(VCPUS);
		for (round = 0; round < ROUNDS; round++) {
			stopped = 0;
			pthread_barrier_wait(&go);
			create(&seed);
			pthread_barrier_wait(&stop);
			look();
			/* The vCPUs have left the last VM. */
			if (old)
				vm_destroy(old);
			old = NULL;
			pthread_barrier_wait(&stop);
		}
		old = kvm;
	}

	for (i = 0; i < VCPUS; i++)
		pthread_join(vcpus[i], NULL);
	for (i = 0; i < WAKERS; i++)
		pthread_join(wakers[i], NULL);
	vm_destroy(kvm);
	EXPECT(total_yields);
}
