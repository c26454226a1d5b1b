// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hyper-V hypercalls with their input in XMM registers against the same calls
 * with their input in memory: status, effects and registers must be the same,
 * and what does not fit or makes no sense must be refused without any effect.
 *
 * One thread runs one vCPU at a time, so that effects are still pending when
 * they are looked at: an IPI is in the target's IRR, a flush is counted when the
 * target enters the guest the next time.  What a flush flushes is seen through
 * non-canonical addresses, which are skipped and not counted.
 */
#include <sched.h>

#include "directed_yield_stats.h"
#include "kvm_util.h"
#include "processor.h"
#include "apic.h"
#include "hyperv.h"
#include "test_util.h"

#define VECTOR			0xa5
#define CANONICAL		0x400000ull
#define NON_CANONICAL		0x4000000000000000ull
#define NR_XMM			16
#define XMM_HALVES		12
#define KVM_FLUSH_ENTRIES	15	/* ranges that KVM takes one by one */
#define MAX_VPS			144
#define MAX_BANKS		64
#define MAX_WORDS		512

#define SET_SPARSE		0
#define SET_ALL			1

#define VAR(n)			((u64)(n) << HV_HYPERCALL_VARHEAD_OFFSET)
#define REPS(n)			((u64)(n) << HV_HYPERCALL_REP_COMP_OFFSET)
#define START(n)		((u64)(n) << 48)

#define INVALID_CODE		HV_STATUS_INVALID_HYPERCALL_CODE
#define INVALID_INPUT		HV_STATUS_INVALID_HYPERCALL_INPUT

enum input_form { MEMORY, XMM, NR_FORMS };
static const char * const form_name[] = { "memory", "XMM" };

/* What the guest loads into its registers, and what it finds there afterwards. */
struct registers {
	u64 rcx, rdx, r8;
	u64 xmm[NR_XMM][2];
};

struct call {
	struct registers in, out;
	u64 rax;
	u8 vector;
};

/* A call's input is a header, banks and a list, in this order. */
struct input {
	u64 word[MAX_WORDS];
	int nr;
};

struct effects {
	bool ipi[MAX_VPS];
	u64 flush[MAX_VPS];
};

struct machine {
	struct kvm_vm *vm;
	struct kvm_vcpu *vcpu[MAX_VPS];
	u32 vp[MAX_VPS];
	int nr;
	int stats_fd[MAX_VPS];
	struct kvm_stats_header header[MAX_VPS];
	struct kvm_stats_desc *descs[MAX_VPS], *tlb_flush[MAX_VPS];
	struct call *call;
	u64 *memory;
	u64 memory_gpa;
};

#define LOAD(i)		"movdqu 16 * " #i "(%[in]), %%xmm" #i "\n\t"
#define STORE(i)	"movdqu %%xmm" #i ", 16 * " #i "(%[out])\n\t"

static void guest_sender(struct call *call)
{
	wrmsr(HV_X64_MSR_GUEST_OS_ID, HYPERV_LINUX_OS_ID);
	for (;;) {
		register u64 r8 asm("r8");
		void *in = call->in.xmm, *out = call->out.xmm;
		u64 rax = -1, rcx, rdx, error_code;
		u8 vector;

		GUEST_SYNC(0);
		rcx = call->in.rcx;
		rdx = call->in.rdx;
		r8 = call->in.r8;
		asm volatile(LOAD(0) LOAD(1) LOAD(2) LOAD(3)
			     LOAD(4) LOAD(5) LOAD(6) LOAD(7)
			     LOAD(8) LOAD(9) LOAD(10) LOAD(11)
			     LOAD(12) LOAD(13) LOAD(14) LOAD(15)
			     KVM_ASM_SAFE("vmcall")
			     STORE(0) STORE(1) STORE(2) STORE(3)
			     STORE(4) STORE(5) STORE(6) STORE(7)
			     STORE(8) STORE(9) STORE(10) STORE(11)
			     STORE(12) STORE(13) STORE(14) STORE(15)
			     : "+a" (rax), "+c" (rcx), "+d" (rdx), "+r" (r8),
			       [in] "+b" (in), [out] "+S" (out),
			       KVM_ASM_SAFE_OUTPUTS(vector, error_code)
			     : : "cc", "memory", KVM_ASM_SAFE_CLOBBERS);
		call->out.rcx = rcx;
		call->out.rdx = rdx;
		call->out.r8 = r8;
		call->rax = rax;
		call->vector = vector;
	}
}

/* Interrupts stay off, and so in the IRR. */
static void guest_receiver(void)
{
	for (;;)
		GUEST_SYNC(0);
}

static void run(struct kvm_vcpu *vcpu)
{
	struct ucall uc;

	vcpu_run(vcpu);
	TEST_ASSERT_KVM_EXIT_REASON(vcpu, KVM_EXIT_IO);
	if (get_ucall(vcpu, &uc) != UCALL_SYNC)
		REPORT_GUEST_ASSERT(uc);
}

static u64 flushes(struct machine *m, int i)
{
	u64 value;

	read_stat_data(m->stats_fd[i], &m->header[i], m->tlb_flush[i], &value, 1);
	return value;
}

/* @enforce: the guest may use only what CPUID offers; @hide: which is not XMM input. */
static void __machine_init(struct machine *m, int nr, const u32 *vps, bool enforce, bool hide)
{
	struct kvm_lapic_state lapic;
	u64 gva;
	int i;

	m->nr = nr;
	m->vm = vm_create_with_vcpus(nr, guest_receiver, m->vcpu);
	gva = vm_vaddr_alloc_pages(m->vm, 2);
	m->call = addr_gva2hva(m->vm, gva);
	m->memory = addr_gva2hva(m->vm, gva + getpagesize());
	m->memory_gpa = addr_gva2gpa(m->vm, gva + getpagesize());

	for (i = 0; i < nr; i++) {
		m->vp[i] = vps ? vps[i] : i;
		vcpu_set_hv_cpuid(m->vcpu[i]);
		vcpu_set_msr(m->vcpu[i], HV_X64_MSR_VP_INDEX, m->vp[i]);

		vcpu_ioctl(m->vcpu[i], KVM_GET_LAPIC, &lapic);
		*(u32 *)(lapic.regs + APIC_SPIV) = APIC_SPIV_APIC_ENABLED | 0xff;
		vcpu_ioctl(m->vcpu[i], KVM_SET_LAPIC, &lapic);

		m->stats_fd[i] = vcpu_get_stats_fd(m->vcpu[i]);
		read_stats_header(m->stats_fd[i], &m->header[i]);
		m->descs[i] = read_stats_descriptors(m->stats_fd[i], &m->header[i]);
		m->tlb_flush[i] = dy_find_stat(m->descs[i], &m->header[i], "tlb_flush");
		TEST_ASSERT(m->tlb_flush[i], "no statistic tlb_flush");
	}
	vcpu_arch_set_entry_point(m->vcpu[0], guest_sender);
	vcpu_args_set(m->vcpu[0], 1, gva);
	if (enforce)
		vcpu_enable_cap(m->vcpu[0], KVM_CAP_HYPERV_ENFORCE_CPUID, 1);
	if (hide)
		vcpu_clear_cpuid_feature(m->vcpu[0], HV_X64_HYPERCALL_XMM_INPUT_AVAILABLE);
	for (i = 0; i < nr; i++)
		run(m->vcpu[i]);
}

static void machine_init(struct machine *m, int nr, const u32 *vps)
{
	__machine_init(m, nr, vps, false, false);
}

static void machine_free(struct machine *m)
{
	int i;

	for (i = 0; i < m->nr; i++) {
		free(m->descs[i]);
		close(m->stats_fd[i]);
	}
	kvm_vm_free(m->vm);
}

static bool take_ipi(struct kvm_vcpu *vcpu)
{
	struct kvm_lapic_state lapic;
	bool pending;
	u32 *irr;

	vcpu_ioctl(vcpu, KVM_GET_LAPIC, &lapic);
	irr = (u32 *)(lapic.regs + APIC_IRR + VECTOR / 32 * 0x10);
	pending = *irr & BIT(VECTOR % 32);
	if (pending) {
		*irr &= ~BIT(VECTOR % 32);
		vcpu_ioctl(vcpu, KVM_SET_LAPIC, &lapic);
	}
	return pending;
}

/* Issue a call; return its status, what it did, and in call->vector a fault. */
static u64 issue(struct machine *m, enum input_form form, u64 control, const struct input *input,
		 struct effects *effects)
{
	struct call *call = m->call;
	u64 before[MAX_VPS];
	int i;

	for (i = 0; i < m->nr; i++)
		before[i] = flushes(m, i);

	for (i = 0; i < NR_XMM * 2; i++)
		call->in.xmm[i / 2][i % 2] = CANONICAL + 0x1111000ull * (i + 1);
	memset(m->memory, 0x5a, getpagesize());

	call->in.rcx = control;
	if (form == XMM) {
		call->in.rcx |= HV_HYPERCALL_FAST_BIT;
		call->in.rdx = input->word[0];
		call->in.r8 = input->word[1];
		for (i = 0; i < XMM_HALVES && i + 2 < input->nr; i++)
			call->in.xmm[i / 2][i % 2] = input->word[i + 2];
	} else {
		call->in.rdx = m->memory_gpa;
		call->in.r8 = 0x8888888888888888ull;
		memcpy(m->memory, input->word, input->nr * sizeof(u64));
	}
	run(m->vcpu[0]);

	/* The guest's own exception handler uses the registers. */
	for (i = 0; !call->vector && i < sizeof(call->in) / sizeof(u64); i++)
		TEST_ASSERT(((u64 *)&call->in)[i] == ((u64 *)&call->out)[i],
			    "%s form, control %lx: word %d of the registers was %lx and is %lx",
			    form_name[form], control, i, ((u64 *)&call->in)[i],
			    ((u64 *)&call->out)[i]);

	for (i = 0; i < m->nr; i++) {
		effects->ipi[i] = take_ipi(m->vcpu[i]);
		if (i)
			run(m->vcpu[i]);
		effects->flush[i] = flushes(m, i) - before[i];
	}
	return call->rax;
}

static void add(struct input *input, u64 word)
{
	TEST_ASSERT(input->nr < MAX_WORDS, "input too long");
	input->word[input->nr++] = word;
}

static void check(struct machine *m, enum input_form form, u64 control, const struct input *input,
		  u64 status, const struct effects *expected, const char *what)
{
	struct effects effects = {};
	u64 got = issue(m, form, control, input, &effects);
	int i;

	TEST_ASSERT(!m->call->vector, "%s, %s form, control %lx: vector %u", what, form_name[form],
		    control, m->call->vector);
	TEST_ASSERT(got == status, "%s, %s form, control %lx: status %lx, not %lx", what,
		    form_name[form], control, got, status);
	for (i = 0; i < m->nr; i++) {
		TEST_ASSERT(effects.ipi[i] == expected->ipi[i],
			    "%s, %s form, control %lx: VP %u got %s IPI", what, form_name[form],
			    control, m->vp[i], effects.ipi[i] ? "an" : "no");
		TEST_ASSERT(effects.flush[i] == expected->flush[i],
			    "%s, %s form, control %lx: VP %u flushed %lu times, not %lu", what,
			    form_name[form], control, m->vp[i], effects.flush[i],
			    expected->flush[i]);
	}
}

static const struct effects nothing;

/* Both forms are refused, with nothing done. */
static void refused(struct machine *m, u64 control, const struct input *input, const char *what)
{
	check(m, MEMORY, control, input, INVALID_INPUT, &nothing, what);
	check(m, XMM, control, input, INVALID_INPUT, &nothing, what);
}

/*
 * A set of the processors in every bank of @valid.  With a small @pick not all of
 * a bank's are taken.
 */
static bool in_set(u32 vp, u64 valid, u32 pick)
{
	return vp / 64 < 64 && (valid & BIT_ULL(vp / 64)) && (vp * 2654435761u >> 16) % 8 < pick;
}

static int add_banks(struct machine *m, struct input *input, u64 valid, u32 pick)
{
	int bank, i, nr = 0;
	u64 bits;

	for (bank = 0; bank < MAX_BANKS; bank++) {
		if (!(valid & BIT_ULL(bank)))
			continue;
		/* The 64th bit is nobody's: a bank that is not empty in any case. */
		bits = 0;
		for (i = 0; i < m->nr; i++) {
			if (m->vp[i] / 64 == bank && in_set(m->vp[i], valid, pick))
				bits |= BIT_ULL(m->vp[i] % 64);
		}
		add(input, bits);
		nr++;
	}
	return nr;
}

/* A list of @nr addresses, of which those in @mask can be flushed. */
static int add_list(struct input *input, int nr, u32 mask)
{
	int i, flushed = 0;

	for (i = 0; i < nr; i++) {
		bool canonical = mask & BIT(i % 32);

		add(input, (canonical ? CANONICAL : NON_CANONICAL) + 0x1000ull * i);
		flushed += canonical;
	}
	return nr > KVM_FLUSH_ENTRIES || !nr ? 1 : flushed;
}

/* Both forms do the same if the input fits, else the XMM form is refused. */
static void both(struct machine *m, u64 control, const struct input *input,
		 const struct effects *expected, const char *what)
{
	u64 status = control & REPS(0xfff);

	check(m, MEMORY, control, input, status, expected, what);
	if (input->nr - 2 <= XMM_HALVES)
		check(m, XMM, control, input, status, expected, what);
	else
		check(m, XMM, control, input, INVALID_INPUT, &nothing, what);
}

static void flush_ex(struct machine *m, u64 format, u64 valid, u32 pick, int gvas, u32 mask)
{
	u64 code = gvas ? HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST_EX
			: HVCALL_FLUSH_VIRTUAL_ADDRESS_SPACE_EX;
	struct effects expected = {};
	struct input input = {};
	int i, banks, flushed;

	add(&input, 0);
	add(&input, HV_FLUSH_ALL_VIRTUAL_ADDRESS_SPACES);
	add(&input, format);
	add(&input, valid);
	banks = add_banks(m, &input, valid, pick);
	flushed = add_list(&input, gvas, mask);
	for (i = 0; i < m->nr; i++) {
		if (format == SET_ALL || in_set(m->vp[i], valid, pick))
			expected.flush[i] = flushed;
	}
	both(m, code | VAR(banks) | REPS(gvas), &input, &expected, "flush ex");
}

static void flush(struct machine *m, u64 flags, u64 processors, int gvas, u32 mask)
{
	u64 code = gvas ? HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST : HVCALL_FLUSH_VIRTUAL_ADDRESS_SPACE;
	struct effects expected = {};
	struct input input = {};
	int i, flushed;

	add(&input, 0x1234000);
	add(&input, flags);
	add(&input, processors);
	flushed = add_list(&input, gvas, mask);
	for (i = 0; i < m->nr; i++) {
		if ((flags & HV_FLUSH_ALL_PROCESSORS) ||
		    (m->vp[i] < 64 && (processors & BIT_ULL(m->vp[i]))))
			expected.flush[i] = flushed;
	}
	both(m, code | REPS(gvas), &input, &expected, "flush");
}

static void ipi_ex(struct machine *m, u64 format, u64 valid, u32 pick)
{
	struct effects expected = {};
	struct input input = {};
	int i, banks;

	add(&input, VECTOR);
	add(&input, format);
	add(&input, valid);
	banks = add_banks(m, &input, valid, pick);
	for (i = 0; i < m->nr; i++)
		expected.ipi[i] = format == SET_ALL || in_set(m->vp[i], valid, pick);
	both(m, HVCALL_SEND_IPI_EX | VAR(banks), &input, &expected, "IPI ex");
}

/* @nr banks, the last of them @last, the others as high as possible or from 0. */
static u64 banks(int nr, int last, bool high)
{
	if (nr == 1)
		return BIT_ULL(last);

	return BIT_ULL(last) |
	       (high ? GENMASK_ULL(last - 1, last - nr + 1) : GENMASK_ULL(nr - 2, 0));
}

static void meanings(struct machine *m)
{
	int nr, gvas, i;

	/* Without a set: only the first 64 processors can be named. */
	for (gvas = 0; gvas <= 12; gvas++) {
		flush(m, 0, BIT_ULL(1) | BIT_ULL(63), gvas, 0x55555555);
		flush(m, HV_FLUSH_ALL_PROCESSORS, 0, gvas, 0xaaaaaaaa);
	}
	flush(m, HV_FLUSH_NON_GLOBAL_MAPPINGS_ONLY, BIT_ULL(0), 0, 0);
	flush(m, 0, BIT_ULL(62), 0, 0);
	for (i = 0; i < 11; i++)
		flush(m, 0, BIT_ULL(1), 11, BIT(i));
	/* Where KVM no longer takes them one by one. */
	for (gvas = 13; gvas <= 18; gvas++)
		flush(m, 0, BIT_ULL(1), gvas, ~0u);
	flush(m, 0, BIT_ULL(1), 400, ~0u);

	/* Sets, up to what fits and beyond. */
	for (nr = 1; nr <= 13; nr++) {
		ipi_ex(m, SET_SPARSE, banks(nr, 15, true), 8);
		ipi_ex(m, SET_SPARSE, banks(nr, 12, false), 5);
		flush_ex(m, SET_SPARSE, banks(nr, 15, true), 6, 0, 0);
		flush_ex(m, SET_SPARSE, banks(nr, 12, false), 8, 0, 0);
	}
	/* Banks that no processor is in, and all of them. */
	ipi_ex(m, SET_SPARSE, BIT_ULL(63) | BIT_ULL(40) | BIT_ULL(2) | BIT_ULL(1), 8);
	flush_ex(m, SET_SPARSE, BIT_ULL(63) | BIT_ULL(40) | BIT_ULL(2) | BIT_ULL(1), 8, 1, 1);
	ipi_ex(m, SET_SPARSE, ~0ull, 7);
	flush_ex(m, SET_SPARSE, ~0ull, 7, 0, 0);
	ipi_ex(m, SET_SPARSE, 0, 0);
	flush_ex(m, SET_SPARSE, 0, 0, 0, 0);

	/* All processors; banks may be there all the same, and a list after them. */
	for (nr = 0; nr <= 12; nr++) {
		ipi_ex(m, SET_ALL, nr ? GENMASK_ULL(nr - 1, 0) : 0, 3);
		flush_ex(m, SET_ALL, nr ? GENMASK_ULL(nr - 1, 0) : 0, 3, 0, 0);
		flush_ex(m, SET_ALL, nr ? GENMASK_ULL(nr - 1, 0) : 0, 3, 1, 1);
	}
	ipi_ex(m, SET_ALL, ~0ull, 8);
	flush_ex(m, SET_ALL, ~0ull, 8, 0, 0);
	flush_ex(m, SET_ALL, ~0ull, 8, 3, 5);

	/* Sets with lists: every split of the registers, full and one too many. */
	for (nr = 1; nr <= 9; nr++) {
		flush_ex(m, SET_SPARSE, banks(nr, 11, true), 8, 10 - nr, 1);
		flush_ex(m, SET_SPARSE, banks(nr, 11, true), 8, 10 - nr, BIT(9 - nr));
		flush_ex(m, SET_SPARSE, banks(nr, 11, true), 8, 11 - nr, ~0u);
	}
	flush_ex(m, SET_SPARSE, 2, 8, 16, ~0u);
	flush_ex(m, SET_SPARSE, 2, 8, 300, ~0u);
}

/* More than 64 processors, named by their index. */
static void test_dense(void)
{
	struct machine m;

	machine_init(&m, 140, NULL);
	meanings(&m);
	machine_free(&m);
}

/* Few processors with indices all over the range. */
static void test_sparse(void)
{
	static const u32 vps[] = {
		0, 1, 63, 64, 127, 130, 257, 320, 639, 640, 703, 704, 770, 1023
	};
	struct machine m;

	TEST_ASSERT(kvm_check_cap(KVM_CAP_MAX_VCPUS) > 1023, "fewer than 1024 vCPUs");
	machine_init(&m, ARRAY_SIZE(vps), vps);
	meanings(&m);
	machine_free(&m);
}

static void test_hostile(void)
{
	static const u32 vps[] = { 0, 1, 64, 700 };
	static const u16 codes[] = {
		HVCALL_FLUSH_VIRTUAL_ADDRESS_SPACE, HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST,
		HVCALL_FLUSH_VIRTUAL_ADDRESS_SPACE_EX, HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST_EX,
		HVCALL_SEND_IPI_EX,
	};
	struct input all = {}, one = {}, flush = {}, ipi = {};
	int i, bit;
	struct machine m;
	u64 list;

	machine_init(&m, ARRAY_SIZE(vps), vps);

	/* "ex" calls to everybody; one to a set of a bank. */
	add(&all, VECTOR);
	add(&all, SET_ALL);
	for (i = 0; i < 30; i++)
		add(&all, 0);
	add(&one, 0);
	add(&one, 0);
	add(&one, SET_SPARSE);
	add(&one, 1);
	add(&one, 2);
	for (i = 0; i < 30; i++)
		add(&one, CANONICAL);
	add(&flush, 0);
	add(&flush, HV_FLUSH_ALL_PROCESSORS);
	add(&flush, 1);
	for (i = 0; i < 30; i++)
		add(&flush, CANONICAL);
	add(&ipi, VECTOR);
	add(&ipi, SET_SPARSE);
	add(&ipi, 1);
	add(&ipi, 2);
	add(&ipi, 2);

	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		bool ex = codes[i] >= HVCALL_FLUSH_VIRTUAL_ADDRESS_SPACE_EX;
		bool is_list = codes[i] == HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST ||
			       codes[i] == HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST_EX;
		struct input *input = codes[i] == HVCALL_SEND_IPI_EX ? &ipi : ex ? &one : &flush;
		u64 good = codes[i] | (ex ? VAR(1) : 0) | (is_list ? REPS(1) : 0);

		for (bit = 0; bit < 64; bit++) {
			if ((bit >= 27 && bit <= 31) || (bit >= 44 && bit <= 47) || bit >= 60)
				refused(&m, good | BIT_ULL(bit), input, "reserved bit");
		}

		/* A list where none belongs, or none, or one that starts where it may not. */
		if (is_list) {
			refused(&m, good & ~REPS(0xfff), input, "no list");
			refused(&m, (good & ~REPS(0xfff)) | START(1), input, "start in none");
		} else {
			refused(&m, good | REPS(1), input, "list");
			refused(&m, good | REPS(0xfff), input, "long list");
		}
		refused(&m, good | START(1), input, "start at the end");
		refused(&m, good | REPS(3) | START(2), input, "start in the middle");
		refused(&m, good | REPS(3) | START(0xfff), input, "start behind the end");

		/* A variable header where none belongs, or of another size than the set says. */
		if (!ex) {
			refused(&m, good | VAR(1), input, "variable header");
			refused(&m, good | VAR(0x3ff), input, "long variable header");
		} else {
			refused(&m, good & ~VAR(1), input, "no variable header");
			refused(&m, good | VAR(2), input, "long variable header");
			refused(&m, good | VAR(0x3ff), input, "longest variable header");
		}
	}

	/* Everything counted that can be counted, to everybody. */
	list = REPS(0xfff) | VAR(0x3ff);
	refused(&m, HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST_EX | list, &all, "all counts");
	refused(&m, HVCALL_FLUSH_VIRTUAL_ADDRESS_SPACE_EX | list, &all, "all counts");
	refused(&m, HVCALL_SEND_IPI_EX | list, &all, "all counts");
	check(&m, XMM, HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST | REPS(0xfff), &flush, INVALID_INPUT,
	      &nothing, "longest list");

	/* Vectors that are none. */
	ipi.word[0] = 0xf;
	refused(&m, HVCALL_SEND_IPI_EX | VAR(1), &ipi, "vector");
	ipi.word[0] = 0x100;
	refused(&m, HVCALL_SEND_IPI_EX | VAR(1), &ipi, "vector");
	ipi.word[0] = 0xffffffff;
	refused(&m, HVCALL_SEND_IPI_EX | VAR(1), &ipi, "vector");

	/* A code that is none, and one whose XMM form is none: 16 bytes go in RDX and R8. */
	check(&m, MEMORY, 0x7fff, &ipi, INVALID_CODE, &nothing, "code");
	check(&m, XMM, 0x7fff, &ipi, INVALID_CODE, &nothing, "code");
	refused(&m, HVCALL_SEND_IPI | VAR(1), &ipi, "variable header");
	refused(&m, HVCALL_SEND_IPI | REPS(1), &ipi, "list");

	/* HvNotifyLongSpinWait takes one number, and nothing else. */
	check(&m, MEMORY, HVCALL_NOTIFY_LONG_SPIN_WAIT, &ipi, 0, &nothing, "long spin wait");
	check(&m, XMM, HVCALL_NOTIFY_LONG_SPIN_WAIT, &ipi, 0, &nothing, "long spin wait");
	for (bit = 0; bit < 64; bit++) {
		if (bit > 16)
			refused(&m, HVCALL_NOTIFY_LONG_SPIN_WAIT | BIT_ULL(bit), &ipi, "spin wait");
	}
	machine_free(&m);
}

/* A guest that is not told of XMM input gets #UD, but for what fits without. */
static void test_unadvertised(void)
{
	static const u64 controls[] = {
		HVCALL_FLUSH_VIRTUAL_ADDRESS_SPACE,
		HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST | REPS(1),
		HVCALL_FLUSH_VIRTUAL_ADDRESS_SPACE_EX | VAR(1),
		HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST_EX | VAR(1) | REPS(1),
		HVCALL_SEND_IPI_EX | VAR(1),
		/* #UD comes before what else may be wrong with the counts. */
		HVCALL_SEND_IPI_EX | VAR(60),
		HVCALL_FLUSH_VIRTUAL_ADDRESS_LIST | REPS(0xfff),
	};
	struct effects effects, expected = {};
	struct input input = {};
	struct machine m;
	int i, hidden;

	add(&input, VECTOR);
	for (i = 0; i < XMM_HALVES + 1; i++)
		add(&input, 1);

	for (hidden = 0; hidden < 2; hidden++) {
		__machine_init(&m, 2, NULL, true, hidden);
		for (i = 0; i < ARRAY_SIZE(controls); i++) {
			u64 rax = issue(&m, XMM, controls[i], &input, &effects);

			TEST_ASSERT(m.call->vector == (hidden ? UD_VECTOR : 0),
				    "control %lx, XMM input %sadvertised: vector %u", controls[i],
				    hidden ? "not " : "", m.call->vector);
			if (!hidden)
				continue;
			TEST_ASSERT(rax == -1ull, "#UD with a status: %lx", rax);
			TEST_ASSERT(!memcmp(&effects, &nothing, sizeof(effects.ipi)) &&
				    !effects.flush[0] && !effects.flush[1], "#UD with effects");
		}
		if (!hidden)
			machine_free(&m);
	}

	/* Two words need no XMM register. */
	input.word[1] = BIT_ULL(1);
	expected.ipi[1] = true;
	check(&m, XMM, HVCALL_SEND_IPI, &input, 0, &expected, "IPI");
	machine_free(&m);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*test)(void);
	} tests[] = {
		{ "more than 64 processors", test_dense },
		{ "processors in sparse banks", test_sparse },
		{ "hostile input", test_hostile },
		{ "XMM input not advertised", test_unadvertised },
	};
	cpu_set_t set;
	int i;

	TEST_REQUIRE(kvm_has_cap(KVM_CAP_HYPERV_SEND_IPI));
	TEST_REQUIRE(kvm_has_cap(KVM_CAP_HYPERV_TLBFLUSH));
	TEST_REQUIRE(kvm_has_cap(KVM_CAP_HYPERV_ENFORCE_CPUID));
	TEST_REQUIRE(kvm_hv_cpu_has(HV_X64_HYPERCALL_XMM_INPUT_AVAILABLE));
	/* Without two-dimensional paging there are no flushes of single ranges. */
	TEST_REQUIRE(kvm_is_tdp_enabled());

	/* A vCPU that changes its CPU flushes its TLB, too. */
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	TEST_ASSERT(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");

	ksft_print_header();
	ksft_set_plan(ARRAY_SIZE(tests));
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		tests[i].test();
		ksft_test_result_pass("%s\n", tests[i].name);
	}
	ksft_finished();
}
