// SPDX-License-Identifier: GPL-2.0
/*
 * Hyper-V hypercalls whose input travels in registers: XMM fast hypercalls.
 *
 * The hypervisor need not look into the guest's memory for such an input.  Up
 * to 112 bytes fit: 8 in RDX, 8 in R8, 16 in each of XMM0 to XMM5.  RCX, the
 * control word, counts the variable header and the list as it does for an input
 * in memory; only the fast bit is added.
 *
 * Whose values are in the XMM registers?
 *
 * In kernel mode they are not ours.  They may be the current task's user state
 * (which is in the registers only, not in memory, until the task is switched
 * out), a guest's that KVM has loaded, the intermediate values of a
 * kernel_fpu_begin() section that this code was called in or has interrupted, or
 * nobody's.  It makes no difference to this code: it puts back what it found,
 * with nothing in between that could look at the registers or save them on
 * somebody's behalf:
 *
 * - Interrupts are off.  An interrupt, or softirq work after it, may call
 *   kernel_fpu_begin(), which would save the hypercall's input as the task's
 *   state; turning off only preemption would not prevent that.
 *
 * - NMIs, machine checks, debug exceptions and breakpoints must not use the FPU
 *   (irq_fpu_usable() says so).  They may send an IPI and come here again, and
 *   then put back what they found: the interrupted call's input.  Each call
 *   saves to its own stack.
 *
 * - hv_xmm_call() calls nothing but the hypercall page and can be neither traced
 *   nor probed, so no handler runs between saving and restoring.  It touches
 *   only the stack and the input, neither of which faults.
 *
 * - The compiler does not use the registers: the kernel is built without SSE.
 *
 * - The hypervisor may do what it wants with the registers that hold input.  The
 *   others are part of the guest's state, and it keeps them.
 *
 * Only the registers used are saved, and by the legacy forms of MOVUPS and MOVQ,
 * which leave the upper halves of YMM and ZMM, and MXCSR, alone.  A register
 * that was in its initial state holds zeroes afterwards, as before, though the
 * CPU may no longer know that as XSAVE's init optimization does.
 *
 * CR0.TS is never set and CR4.OSFXSR always is on a CPU that is here: the page
 * for input exists only on CPUs that are online.
 */

#define pr_fmt(fmt)  "Hyper-V: " fmt

#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/nmi.h>

#include <asm/hv_xmm.h>
#include <asm/mshyperv.h>

#define CREATE_TRACE_POINTS
#include <asm/trace/hyperv_xmm.h>

struct hv_xmm_reg {
	u64 word[2];
};

static DEFINE_STATIC_KEY_FALSE(hv_xmm_input);

static bool hv_xmm __initdata = true;

/* XMM registers are named in the instruction, so @n must be a literal. */
#define HV_XMM_SAVE(n, reg)						\
	({ asm volatile("movups %%xmm" #n ", %0" : "=m" ((reg)[n])); })
#define HV_XMM_LOAD(n, reg)						\
	({ asm volatile("movups %0, %%xmm" #n : : "m" ((reg)[n])); })
#define HV_XMM_LOAD_LOW(n, reg)						\
	({ asm volatile("movq %0, %%xmm" #n : : "m" ((reg)[n].word[0])); })

/* Save the first @nr registers. */
static __always_inline void hv_xmm_save(struct hv_xmm_reg *reg, unsigned int nr)
{
	switch (nr) {
	case 6:
		HV_XMM_SAVE(5, reg);
		fallthrough;
	case 5:
		HV_XMM_SAVE(4, reg);
		fallthrough;
	case 4:
		HV_XMM_SAVE(3, reg);
		fallthrough;
	case 3:
		HV_XMM_SAVE(2, reg);
		fallthrough;
	case 2:
		HV_XMM_SAVE(1, reg);
		fallthrough;
	case 1:
		HV_XMM_SAVE(0, reg);
	}
}

/* Load the first @nr registers. */
static __always_inline void hv_xmm_load(const struct hv_xmm_reg *reg,
					unsigned int nr)
{
	switch (nr) {
	case 6:
		HV_XMM_LOAD(5, reg);
		fallthrough;
	case 5:
		HV_XMM_LOAD(4, reg);
		fallthrough;
	case 4:
		HV_XMM_LOAD(3, reg);
		fallthrough;
	case 3:
		HV_XMM_LOAD(2, reg);
		fallthrough;
	case 2:
		HV_XMM_LOAD(1, reg);
		fallthrough;
	case 1:
		HV_XMM_LOAD(0, reg);
	}
}

/* Load one word into register @n, the upper half becomes zero. */
static __always_inline void hv_xmm_load_low(const struct hv_xmm_reg *reg,
					    unsigned int n)
{
	switch (n) {
	case 5:
		HV_XMM_LOAD_LOW(5, reg);
		break;
	case 4:
		HV_XMM_LOAD_LOW(4, reg);
		break;
	case 3:
		HV_XMM_LOAD_LOW(3, reg);
		break;
	case 2:
		HV_XMM_LOAD_LOW(2, reg);
		break;
	case 1:
		HV_XMM_LOAD_LOW(1, reg);
		break;
	case 0:
		HV_XMM_LOAD_LOW(0, reg);
		break;
	}
}

noinline notrace u64 hv_xmm_call(void *hypercall_pg, u64 control,
				 const u64 *input, unsigned int words)
{
	const struct hv_xmm_reg *xmm = (const void *)(input + HV_XMM_GPR_WORDS);
	unsigned int xmm_words = words - HV_XMM_GPR_WORDS;
	/* Only what was saved is loaded; clearing the rest would show in the cost. */
	struct hv_xmm_reg saved[HV_HYPERCALL_MAX_XMM_REGISTERS] __uninitialized;
	u64 input1 = input[0], status;

	hv_xmm_save(saved, DIV_ROUND_UP(xmm_words, 2));
	hv_xmm_load(xmm, xmm_words / 2);
	/* Never read beyond the input: an odd word comes alone. */
	if (xmm_words % 2)
		hv_xmm_load_low(xmm, xmm_words / 2);

	asm volatile("mov %[input2], %%r8\n"
		     CALL_NOSPEC
		     : "=a" (status), ASM_CALL_CONSTRAINT,
		       "+c" (control), "+d" (input1)
		     : [input2] "r" (input[1]), THUNK_TARGET(hypercall_pg)
		     : "cc", "memory", "r8", "r9", "r10", "r11");

	hv_xmm_load(saved, DIV_ROUND_UP(xmm_words, 2));

	return status;
}
NOKPROBE_SYMBOL(hv_xmm_call);

u64 hv_do_input_hypercall(u16 code, u16 rep_count, u16 varhead_words,
			  void *input, size_t header_size)
{
	unsigned int words = header_size / sizeof(u64) + varhead_words + rep_count;
	void *hypercall_pg = hv_hypercall_pg;
	u64 control, status;
	u16 rep_comp;

	lockdep_assert_irqs_disabled();

	if (!static_branch_likely(&hv_xmm_input) || words > HV_XMM_INPUT_WORDS)
		return hv_do_rep_hypercall(code, rep_count, varhead_words,
					   input, NULL);

	/* The page goes at kexec, and over hibernation. */
	if (!hypercall_pg)
		return U64_MAX;

	control = code | HV_HYPERCALL_FAST_BIT;
	control |= (u64)varhead_words << HV_HYPERCALL_VARHEAD_OFFSET;
	control |= (u64)rep_count << HV_HYPERCALL_REP_COMP_OFFSET;

	/*
	 * A list that was done in part is continued where it stopped: the
	 * registers hold all of it again, the control word says where to start.
	 */
	for (;;) {
		trace_hyperv_xmm_hypercall(control, words);
		status = hv_xmm_call(hypercall_pg, control, input, words);
		if (!hv_result_success(status))
			return status;

		rep_comp = hv_repcomp(status);
		if (rep_comp >= rep_count)
			return status;

		control &= ~HV_HYPERCALL_REP_START_MASK;
		control |= (u64)rep_comp << HV_HYPERCALL_REP_START_OFFSET;
		touch_nmi_watchdog();
	}
}

int __hv_xmm_pack_vpset(struct hv_vpset *vpset, int nr_bank)
{
	int bank, packed = 0;
	u64 valid = 0;

	for (bank = 0; bank < nr_bank; bank++) {
		if (!vpset->bank_contents[bank])
			continue;
		valid |= BIT_ULL(bank);
		vpset->bank_contents[packed++] = vpset->bank_contents[bank];
	}

	/* Nobody at all: bank 0, which is empty, says so. */
	if (!packed) {
		valid = BIT_ULL(0);
		packed = 1;
	}

	vpset->valid_bank_mask = valid;
	return packed;
}

int hv_xmm_pack_vpset(struct hv_vpset *vpset, int nr_bank)
{
	if (!static_branch_likely(&hv_xmm_input) || nr_bank <= 1)
		return nr_bank;

	return __hv_xmm_pack_vpset(vpset, nr_bank);
}

void __init hv_xmm_init(void)
{
	if (!hv_xmm)
		return;

	if (!(ms_hyperv.misc_features & HV_X64_HYPERCALL_XMM_INPUT_AVAILABLE))
		return;

	/*
	 * An isolated VM's hypercalls may go to a paravisor, or by way of
	 * VMMCALL or TDCALL to a hypervisor that does not see its registers.
	 */
	if (!hv_hypercall_pg || hv_is_isolation_supported())
		return;

	static_branch_enable(&hv_xmm_input);
	pr_info("Using XMM registers for hypercall input\n");
}

static int __init hv_parse_noxmm(char *arg)
{
	hv_xmm = false;
	return 0;
}
early_param("hv_noxmm", hv_parse_noxmm);
