// SPDX-License-Identifier: GPL-2.0-only
/*
 * Not a test: what a Hyper-V hypercall costs with its input in memory and in XMM
 * registers, from the guest's instruction that issues it to the next one, in ns.
 *
 * In both forms the input is in the guest's page already.  The XMM form saves the
 * registers it needs, loads, calls and restores, as a guest's kernel must.  The
 * one processor that is meant is in the first bank and does not run.
 *
 * Usage: hyperv_xmm_cost [calls]
 */
#include <time.h>

#include "kvm_util.h"
#include "processor.h"
#include "apic.h"
#include "hyperv.h"
#include "test_util.h"

#define TARGET		1
#define IPI_VECTOR	0xa5
#define GPR_WORDS	2
#define NR_XMM		6

struct work {
	u64 calls, control, gpa;
	u64 *input;
	u32 xmm;		/* registers to use, 0: input in memory */
	u64 status;
};

struct xmm_reg {
	u64 word[2];
};

#define SAVE(n)		asm volatile("movups %%xmm" #n ", %0" : "=m" (saved[n]))
#define LOAD(n, reg)	asm volatile("movups %0, %%xmm" #n : : "m" ((reg)[n]))

static __always_inline void load(const struct xmm_reg *reg, u32 nr)
{
	switch (nr) {
	case 6:
		LOAD(5, reg);
	case 5:
		LOAD(4, reg);
	case 4:
		LOAD(3, reg);
	case 3:
		LOAD(2, reg);
	case 2:
		LOAD(1, reg);
	case 1:
		LOAD(0, reg);
	}
}

static __always_inline void save(struct xmm_reg *saved, u32 nr)
{
	switch (nr) {
	case 6:
		SAVE(5);
	case 5:
		SAVE(4);
	case 4:
		SAVE(3);
	case 3:
		SAVE(2);
	case 2:
		SAVE(1);
	case 1:
		SAVE(0);
	}
}

static __always_inline u64 hypercall(u64 control, u64 input1, u64 input2)
{
	register u64 r8 asm("r8") = input2;
	u64 status;

	asm volatile("vmcall"
		     : "=a" (status), "+c" (control), "+d" (input1), "+r" (r8)
		     : : "cc", "memory", "r9", "r10", "r11");
	return status;
}

static void guest_code(struct work *work)
{
	struct xmm_reg saved[NR_XMM];
	u64 i;

	wrmsr(HV_X64_MSR_GUEST_OS_ID, HYPERV_LINUX_OS_ID);
	for (;;) {
		GUEST_SYNC(0);
		for (i = 0; i < work->calls; i++) {
			if (!work->xmm) {
				work->status = hypercall(work->control, work->gpa, 0);
				continue;
			}
			save(saved, work->xmm);
			load((void *)(work->input + GPR_WORDS), work->xmm);
			work->status = hypercall(work->control | HV_HYPERCALL_FAST_BIT,
						 work->input[0], work->input[1]);
			load(saved, work->xmm);
		}
	}
}

static void run(struct kvm_vcpu *vcpu)
{
	struct ucall uc;

	vcpu_run(vcpu);
	TEST_ASSERT_KVM_EXIT_REASON(vcpu, KVM_EXIT_IO);
	if (get_ucall(vcpu, &uc) != UCALL_SYNC)
		REPORT_GUEST_ASSERT(uc);
}

static double cost(struct kvm_vcpu *vcpu, struct work *work, u64 calls, u32 xmm)
{
	struct timespec start, end;

	work->xmm = xmm;
	work->calls = 100;
	run(vcpu);
	work->calls = calls;
	clock_gettime(CLOCK_MONOTONIC, &start);
	run(vcpu);
	clock_gettime(CLOCK_MONOTONIC, &end);
	TEST_ASSERT(!(work->status & 0xffff), "control %lx: status %lx",
		    work->control, work->status);

	return ((end.tv_sec - start.tv_sec) * 1e9 + end.tv_nsec - start.tv_nsec) / calls;
}

static void row(struct kvm_vcpu *vcpu, struct work *work, u64 *input, u64 calls, const char *name,
		u64 code, int header, int banks, int list)
{
	int i, words = header + banks + list;
	double memory, xmm;

	/* header is 3 or 4 words; the set's mask is the last, the format before it. */
	memset(input, 0, getpagesize());
	if (code == HVCALL_SEND_IPI_EX)
		input[0] = IPI_VECTOR;
	else
		input[1] = HV_FLUSH_ALL_VIRTUAL_ADDRESS_SPACES;
	if (banks) {
		input[header - 1] = banks == 64 ? ~0ull : BIT_ULL(banks) - 1;
		input[header] = BIT_ULL(TARGET);
	} else {
		input[header - 1] = BIT_ULL(TARGET);
	}
	for (i = 0; i < list; i++)
		input[header + banks + i] = 0x400000 + 0x1000 * i;

	work->control = code | (u64)banks << HV_HYPERCALL_VARHEAD_OFFSET |
			(u64)list << HV_HYPERCALL_REP_COMP_OFFSET;
	memory = cost(vcpu, work, calls, 0);
	xmm = cost(vcpu, work, calls, DIV_ROUND_UP(words - GPR_WORDS, 2));
	printf("cost: %s banks %d list %d memory %.1f xmm %.1f\n", name, banks, list, memory, xmm);
}

int main(int argc, char *argv[])
{
	u64 calls = argc > 1 ? atoi_positive("calls", argv[1]) : 2000;
	struct kvm_lapic_state lapic;
	struct kvm_vcpu *vcpus[2];
	struct work *work;
	struct kvm_vm *vm;
	u64 gva, *input;
	int i;

	TEST_REQUIRE(kvm_hv_cpu_has(HV_X64_HYPERCALL_XMM_INPUT_AVAILABLE));

	vm = vm_create_with_vcpus(2, guest_code, vcpus);
	gva = vm_vaddr_alloc_pages(vm, 2);
	work = addr_gva2hva(vm, gva);
	input = addr_gva2hva(vm, gva + getpagesize());
	work->input = (u64 *)(gva + getpagesize());
	work->gpa = addr_gva2gpa(vm, gva + getpagesize());
	for (i = 0; i < 2; i++) {
		vcpu_set_hv_cpuid(vcpus[i]);
		vcpu_ioctl(vcpus[i], KVM_GET_LAPIC, &lapic);
		*(u32 *)(lapic.regs + APIC_SPIV) = APIC_SPIV_APIC_ENABLED | 0xff;
		vcpu_ioctl(vcpus[i], KVM_SET_LAPIC, &lapic);
		vcpu_args_set(vcpus[i], 1, gva);
		run(vcpus[i]);
	}

	row(vcpus[0], work, input, calls, "flush-space",
	    HVCALL_FLUSH_VIRTUAL_ADDRESS_SPACE, 3, 0, 0);
	for (i = 1; i <= 11; i += 2)
		row(vcpus[0], work, input, calls, "flush-list", HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST,
		    3, 0, i);
	for (i = 1; i <= 10; i++)
		row(vcpus[0], work, input, calls, "flush-space-ex",
		    HVCALL_FLUSH_VIRTUAL_ADDRESS_SPACE_EX, 4, i, 0);
	for (i = 1; i <= 9; i += 2)
		row(vcpus[0], work, input, calls, "flush-list-ex",
		    HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST_EX, 4, i, 10 - i);
	for (i = 1; i <= 11; i++)
		row(vcpus[0], work, input, calls, "ipi-ex", HVCALL_SEND_IPI_EX, 3, i, 0);

	kvm_vm_free(vm);
	return 0;
}
