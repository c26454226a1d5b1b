// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of hypercalls with input in XMM registers.  In place of the
 * hypercall page stands code that notes the registers and then spoils them.
 */

#include <kunit/test.h>
#include <linux/irqflags.h>
#include <linux/linkage.h>
#include <linux/vmalloc.h>

#include <asm/fpu/api.h>
#include <asm/frame.h>
#include <asm/hv_xmm.h>
#include <asm/ibt.h>

#define NR_XMM		16
#define STATUS		0x5a5a00020000ULL
#define CONTROL		(0x14ULL | HV_HYPERCALL_FAST_BIT | 3ULL << 32)

/* The address of a symbol in the asm below. */
#define PAGE(name)							\
	({								\
		void *__page;						\
		asm("lea " #name "(%%rip), %0" : "=r" (__page));	\
		__page;							\
	})

/* What the code at the hypercall page finds; asm below knows the layout. */
struct hv_xmm_seen {
	u64 rcx, rdx, r8;
	u64 word[2 * HV_HYPERCALL_MAX_XMM_REGISTERS];
};

static struct hv_xmm_seen hv_xmm_test_seen __used;
static u32 hv_xmm_test_used __used;	/* registers that hold input */
static u64 hv_xmm_test_nested_status;

/* A call that is issued while another one's input is in the registers. */
static void __used hv_xmm_test_nested(void)
{
	static const u64 input[HV_XMM_INPUT_WORDS] = { [0 ... HV_XMM_INPUT_WORDS - 1] = ~0x123ULL };

	hv_xmm_test_nested_status = hv_xmm_call(PAGE(hv_xmm_test_page), CONTROL, input,
						HV_XMM_INPUT_WORDS);
}

/*
 * hv_xmm_test_page: note the registers, spoil those that the hypervisor may
 * change; of the XMM registers these are those that hold input.
 * hv_xmm_test_nesting_page: as if an NMI's handler issued a call, then the same.
 * As a hypercall page they keep RSI, RDI and all that the C ABI keeps.
 */
asm(
"	.pushsection .text, \"ax\"\n"
"	.type hv_xmm_test_nesting_page, @function\n"
"hv_xmm_test_nesting_page:\n"
	ASM_ENDBR
	FRAME_BEGIN
"	push %rsi\n"
"	push %rdi\n"
"	push %rcx\n"
"	push %rdx\n"
"	push %r8\n"
"	call hv_xmm_test_nested\n"
"	pop %r8\n"
"	pop %rdx\n"
"	pop %rcx\n"
"	pop %rdi\n"
"	pop %rsi\n"
	FRAME_END
"	jmp hv_xmm_test_page\n"
"	.size hv_xmm_test_nesting_page, . - hv_xmm_test_nesting_page\n"
"	.type hv_xmm_test_page, @function\n"
"hv_xmm_test_page:\n"
	ASM_ENDBR
"	movq %rcx, hv_xmm_test_seen(%rip)\n"
"	movq %rdx, 8 + hv_xmm_test_seen(%rip)\n"
"	movq %r8, 16 + hv_xmm_test_seen(%rip)\n"
"	movups %xmm0, 24 + hv_xmm_test_seen(%rip)\n"
"	movups %xmm1, 40 + hv_xmm_test_seen(%rip)\n"
"	movups %xmm2, 56 + hv_xmm_test_seen(%rip)\n"
"	movups %xmm3, 72 + hv_xmm_test_seen(%rip)\n"
"	movups %xmm4, 88 + hv_xmm_test_seen(%rip)\n"
"	movups %xmm5, 104 + hv_xmm_test_seen(%rip)\n"
"	cmpl $0, hv_xmm_test_used(%rip)\n"
"	jbe 1f\n"
"	pcmpeqd %xmm0, %xmm0\n"
"	cmpl $1, hv_xmm_test_used(%rip)\n"
"	jbe 1f\n"
"	pcmpeqd %xmm1, %xmm1\n"
"	cmpl $2, hv_xmm_test_used(%rip)\n"
"	jbe 1f\n"
"	pcmpeqd %xmm2, %xmm2\n"
"	cmpl $3, hv_xmm_test_used(%rip)\n"
"	jbe 1f\n"
"	pcmpeqd %xmm3, %xmm3\n"
"	cmpl $4, hv_xmm_test_used(%rip)\n"
"	jbe 1f\n"
"	pcmpeqd %xmm4, %xmm4\n"
"	cmpl $5, hv_xmm_test_used(%rip)\n"
"	jbe 1f\n"
"	pcmpeqd %xmm5, %xmm5\n"
"1:\n"
"	movabs $0x5a5a00020000, %rax\n"
"	mov $-1, %rcx\n"
"	mov $-1, %rdx\n"
"	mov $-1, %r8\n"
"	mov $-1, %r9\n"
"	mov $-1, %r10\n"
"	mov $-1, %r11\n"
	ASM_RET
"	.size hv_xmm_test_page, . - hv_xmm_test_page\n"
"	.popsection\n");

/* A register with its upper half, where the CPU has that, else with nothing. */
struct xmm {
	u64 word[4];
};

#define STORE(n)	"movups %%xmm" #n ", 32 * " #n "(%0)\n"
#define FILL(n)		"movups 32 * " #n "(%0), %%xmm" #n "\n"
#define AVX_STORE(n)	"vmovups %%ymm" #n ", 32 * " #n "(%0)\n"
#define AVX_FILL(n)	"vmovups 32 * " #n "(%0), %%ymm" #n "\n"

static __always_inline void hv_xmm_test_store(struct xmm *to)
{
	if (boot_cpu_has(X86_FEATURE_AVX))
		asm volatile(AVX_STORE(0) AVX_STORE(1) AVX_STORE(2) AVX_STORE(3)
			     AVX_STORE(4) AVX_STORE(5) AVX_STORE(6) AVX_STORE(7)
			     AVX_STORE(8) AVX_STORE(9) AVX_STORE(10) AVX_STORE(11)
			     AVX_STORE(12) AVX_STORE(13) AVX_STORE(14) AVX_STORE(15)
			     : : "r" (to) : "memory");
	else
		asm volatile(STORE(0) STORE(1) STORE(2) STORE(3) STORE(4) STORE(5)
			     STORE(6) STORE(7) STORE(8) STORE(9) STORE(10) STORE(11)
			     STORE(12) STORE(13) STORE(14) STORE(15)
			     : : "r" (to) : "memory");
}

static __always_inline void hv_xmm_test_fill(const struct xmm *from)
{
	if (boot_cpu_has(X86_FEATURE_AVX))
		asm volatile(AVX_FILL(0) AVX_FILL(1) AVX_FILL(2) AVX_FILL(3)
			     AVX_FILL(4) AVX_FILL(5) AVX_FILL(6) AVX_FILL(7)
			     AVX_FILL(8) AVX_FILL(9) AVX_FILL(10) AVX_FILL(11)
			     AVX_FILL(12) AVX_FILL(13) AVX_FILL(14) AVX_FILL(15)
			     : : "r" (from) : "memory");
	else
		asm volatile(FILL(0) FILL(1) FILL(2) FILL(3) FILL(4) FILL(5)
			     FILL(6) FILL(7) FILL(8) FILL(9) FILL(10) FILL(11)
			     FILL(12) FILL(13) FILL(14) FILL(15)
			     : : "r" (from) : "memory");
}

struct hv_xmm_test_state {
	struct xmm before[NR_XMM], after[NR_XMM];
};

/* Issue a call as kernel code that has values of its own in the registers. */
static u64 hv_xmm_test_call(struct kunit *test, struct hv_xmm_test_state *state,
			    void *page, const u64 *input, unsigned int words)
{
	unsigned long flags;
	u64 status;
	int i;

	for (i = 0; i < NR_XMM; i++) {
		state->before[i].word[0] = 0x1111000000000001ULL * (i + 1);
		state->before[i].word[1] = ~0x2222000000000001ULL * (i + 1);
		if (boot_cpu_has(X86_FEATURE_AVX)) {
			state->before[i].word[2] = 0x3333000000000001ULL * (i + 1);
			state->before[i].word[3] = ~0x4444000000000001ULL * (i + 1);
		}
	}

	hv_xmm_test_used = DIV_ROUND_UP(words - HV_XMM_GPR_WORDS, 2);
	kernel_fpu_begin();
	local_irq_save(flags);
	hv_xmm_test_fill(state->before);
	status = hv_xmm_call(page, CONTROL, input, words);
	hv_xmm_test_store(state->after);
	local_irq_restore(flags);
	kernel_fpu_end();

	return status;
}

static void hv_xmm_test_marshalling(struct kunit *test)
{
	struct hv_xmm_test_state *state = kunit_kzalloc(test, sizeof(*state), GFP_KERNEL);
	const struct hv_xmm_seen *seen = &hv_xmm_test_seen;
	unsigned int words, i, xmm_words, used;
	void *page = vmalloc(PAGE_SIZE);
	u64 *input;

	KUNIT_ASSERT_NOT_NULL(test, state);
	KUNIT_ASSERT_NOT_NULL(test, page);

	for (words = HV_XMM_GPR_WORDS; words <= HV_XMM_INPUT_WORDS; words++) {
		/* Behind the page there is nothing: one word more would fault. */
		input = page + PAGE_SIZE - words * sizeof(u64);
		for (i = 0; i < words; i++)
			input[i] = 0xabcd000000000000ULL + words * 256 + i;

		memset(&hv_xmm_test_seen, 0xee, sizeof(hv_xmm_test_seen));
		KUNIT_EXPECT_EQ(test, STATUS, hv_xmm_test_call(test, state, PAGE(hv_xmm_test_page),
							       input, words));

		KUNIT_EXPECT_EQ(test, seen->rcx, CONTROL);
		KUNIT_EXPECT_EQ(test, seen->rdx, input[0]);
		KUNIT_EXPECT_EQ(test, seen->r8, input[1]);

		xmm_words = words - HV_XMM_GPR_WORDS;
		used = round_up(xmm_words, 2);
		for (i = 0; i < ARRAY_SIZE(seen->word); i++) {
			if (i < xmm_words)
				KUNIT_EXPECT_EQ_MSG(test, seen->word[i], input[2 + i],
						    "word %u of %u", i, xmm_words);
			else if (i < used)
				KUNIT_EXPECT_EQ_MSG(test, seen->word[i], 0,
						    "upper half of the last of %u", xmm_words);
			else
				KUNIT_EXPECT_EQ_MSG(test, seen->word[i],
						    state->before[i / 2].word[i % 2],
						    "unused word %u of %u", i, xmm_words);
		}
		KUNIT_EXPECT_MEMEQ(test, state->before, state->after, sizeof(state->before));
	}
	vfree(page);
}

/* An NMI's handler that sends an IPI must leave the interrupted call's input. */
static void hv_xmm_test_nesting(struct kunit *test)
{
	struct hv_xmm_test_state *state = kunit_kzalloc(test, sizeof(*state), GFP_KERNEL);
	u64 input[HV_XMM_INPUT_WORDS];
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, state);
	for (i = 0; i < HV_XMM_INPUT_WORDS; i++)
		input[i] = 0x7700000000000000ULL + i;

	hv_xmm_test_nested_status = 0;
	KUNIT_EXPECT_EQ(test, STATUS, hv_xmm_test_call(test, state, PAGE(hv_xmm_test_nesting_page),
						       input, HV_XMM_INPUT_WORDS));
	KUNIT_EXPECT_EQ(test, hv_xmm_test_nested_status, STATUS);
	KUNIT_EXPECT_MEMEQ(test, hv_xmm_test_seen.word, input + HV_XMM_GPR_WORDS,
			   sizeof(hv_xmm_test_seen.word));
	KUNIT_EXPECT_EQ(test, hv_xmm_test_seen.rdx, input[0]);
	KUNIT_EXPECT_EQ(test, hv_xmm_test_seen.r8, input[1]);
	KUNIT_EXPECT_MEMEQ(test, state->before, state->after, sizeof(state->before));
}

static void hv_xmm_test_pack(struct kunit *test)
{
	static const struct {
		int banks;
		u64 in[HV_MAX_SPARSE_VCPU_BANKS], out[HV_MAX_SPARSE_VCPU_BANKS];
		u64 valid;
		int packed;
	} cases[] = {
		{ 1, { 5 }, { 5 }, 0x1, 1 },
		{ 1, { 0 }, { 0 }, 0x1, 1 },
		{ 3, { 0, 0, 0 }, { 0 }, 0x1, 1 },
		{ 3, { 1, 2, 3 }, { 1, 2, 3 }, 0x7, 3 },
		{ 4, { 0, 7, 0, 9 }, { 7, 9 }, 0xa, 2 },
		{ 64, { [63] = 8 }, { 8 }, 1ULL << 63, 1 },
		{ 64, { [0] = 1, [40] = 2, [63] = 3 }, { 1, 2, 3 },
		  1 | 1ULL << 40 | 1ULL << 63, 3 },
		{ 64, { [0 ... 63] = ~0ULL }, { [0 ... 63] = ~0ULL }, ~0ULL, 64 },
	};
	struct hv_vpset *set;
	unsigned int i;

	set = kunit_kzalloc(test, struct_size(set, bank_contents, HV_MAX_SPARSE_VCPU_BANKS),
			    GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, set);

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memcpy(set->bank_contents, cases[i].in, sizeof(cases[i].in));
		KUNIT_EXPECT_EQ_MSG(test, __hv_xmm_pack_vpset(set, cases[i].banks),
				    cases[i].packed, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, set->valid_bank_mask, cases[i].valid, "case %u", i);
		KUNIT_EXPECT_MEMEQ_MSG(test, set->bank_contents, cases[i].out,
				       cases[i].packed * sizeof(u64), "case %u", i);
	}
}

static struct kunit_case hv_xmm_test_cases[] = {
	KUNIT_CASE(hv_xmm_test_marshalling),
	KUNIT_CASE(hv_xmm_test_nesting),
	KUNIT_CASE(hv_xmm_test_pack),
	{}
};

static struct kunit_suite hv_xmm_test_suite = {
	.name = "hyperv_xmm",
	.test_cases = hv_xmm_test_cases,
};

kunit_test_suite(hv_xmm_test_suite);
