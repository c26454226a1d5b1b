// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directed yield: a vCPU that stalls with WRS.NTO gives way to the one that it
 * waits for.
 *
 * All vCPUs share one CPU, so that of two that want to run one is preempted.
 * What is asserted is what KVM says that it decided; the clock decides nothing.
 */
#include <pthread.h>
#include <unistd.h>

#include "directed_yield_stats.h"
#include "kselftest.h"
#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"
#include "ucall_common.h"

/* WRS.NTO by its encoding, since not every assembler knows Zawrs. */
static inline void dy_guest_hint(void)
{
	asm volatile(".4byte 0x00d00073" ::: "memory");
}

static inline void dy_guest_end(void)
{
	GUEST_DONE();
}

#include "directed_yield_wait.h"

static u64 vcpu_stat(struct kvm_vcpu *vcpu, const char *name)
{
	int fd = vcpu_get_stats_fd(vcpu);
	u64 value = dy_read_stat(fd, name);

	close(fd);
	return value;
}

static void run_to_done(struct kvm_vcpu *vcpu)
{
	struct ucall uc;

	vcpu_run(vcpu);
	TEST_ASSERT(get_ucall(vcpu, &uc) == UCALL_DONE, "exit reason %u",
		    vcpu->run->exit_reason);
}

static void *run_worker(void *vcpu)
{
	kvm_pin_this_task_to_pcpu(0);
	run_to_done(vcpu);
	return NULL;
}

static void test_counted(void)
{
	struct kvm_vcpu *me;
	struct kvm_vm *vm = vm_create_with_one_vcpu(&me, dy_guest_counted);

	run_to_done(me);
	ksft_test_result(vcpu_stat(me, "wrs_exit_stat") == DY_NR_HINTS &&
			 vcpu_stat(me, "dy_exits") == DY_NR_HINTS,
			 "each WRS.NTO is a spin exit: %lu of %d\n",
			 vcpu_stat(me, "dy_exits"), DY_NR_HINTS);
	ksft_test_result(vcpu_stat(me, "dy_no_candidate") == DY_NR_HINTS &&
			 !vcpu_stat(me, "dy_tried"),
			 "alone, it finds nobody\n");
	kvm_vm_free(vm);
}

static void test_spin(bool on)
{
	struct kvm_vcpu *me, *other;
	pthread_t worker;
	struct kvm_vm *vm;
	struct dy_wait *host;
	u64 exits, tried, took_effect;

	vm = vm_create(2);
	me = vm_vcpu_add(vm, 0, dy_guest_wait_for_flag);
	other = vm_vcpu_add(vm, 1, dy_guest_work_and_set_flag);
	host = addr_gva2hva(vm, (vm_vaddr_t)&dy_wait);

	dy_set_switch(on ? "Y" : "N");
	TEST_ASSERT(!pthread_create(&worker, NULL, run_worker, other), "pthread_create");
	while (!READ_ONCE(host->count))
		usleep(1000);
	run_to_done(me);
	pthread_join(worker, NULL);
	dy_set_switch("Y");

	exits = vcpu_stat(me, "dy_exits");
	tried = vcpu_stat(me, "dy_tried");
	took_effect = vcpu_stat(me, "dy_took_effect");
	ksft_print_msg("stalls %lu exits %lu tried %lu took effect %lu\n",
		       host->hints, exits, tried, took_effect);
	ksft_test_result(host->hints && exits == host->hints,
			 "switched %s, a spinner's exits are counted, every one\n",
			 on ? "on" : "off");
	if (on)
		ksft_test_result(tried && took_effect,
				 "it yields to the vCPU that it waits for\n");
	else
		ksft_test_result(!tried, "and nothing is tried\n");
	kvm_vm_free(vm);
}

int main(void)
{
	ksft_print_header();
	ksft_set_plan(6);
	kvm_pin_this_task_to_pcpu(0);

	test_counted();
	test_spin(true);
	test_spin(false);

	ksft_finished();
}
