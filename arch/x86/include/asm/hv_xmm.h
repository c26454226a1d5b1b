/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hyper-V hypercalls whose input travels in registers: XMM fast hypercalls.
 *
 * The register interface is described in the Hypervisor Top Level Functional
 * Specification (TLFS), "XMM Fast Hypercall Input".
 */
#ifndef _ASM_X86_HV_XMM_H
#define _ASM_X86_HV_XMM_H

#include <linux/types.h>
#include <asm/mshyperv.h>

struct hv_vpset;

#ifdef CONFIG_X86_64

/* The input that the registers hold: RDX and R8, then two words in each XMM. */
#define HV_XMM_GPR_WORDS	2
#define HV_XMM_INPUT_WORDS	(HV_XMM_GPR_WORDS + 2 * HV_HYPERCALL_MAX_XMM_REGISTERS)

/*
 * Find out whether hypercalls may take their input in XMM registers.  Called
 * once, when the hypercall page has been set up.
 */
void __init hv_xmm_init(void);

/*
 * Drop empty banks from @vpset, which has @nr_bank banks, so that more input
 * fits into the registers.  Does nothing where registers are not used.
 *
 * Returns the new number of banks, at least one.
 */
int hv_xmm_pack_vpset(struct hv_vpset *vpset, int nr_bank);

/*
 * Issue hypercall @code, which has no output, with its input in registers if it
 * fits and the hypervisor takes it there, else in memory.
 *
 * @input:	   the input as it is in memory, in one page: @header_size bytes,
 *		   then the variable header, then the list
 * @header_size:   bytes, a multiple of 8
 * @varhead_words: size of the variable header in words of 8 bytes
 * @rep_count:	   elements of 8 bytes in the list; 0 if the call has no list
 *
 * Interrupts must be off.  Any context will do in which hv_do_hypercall() may be
 * called with interrupts off, a kernel_fpu_begin() section included: the XMM
 * registers are as before on return.
 *
 * Returns the hypercall's status, or U64_MAX if there is no hypercall page.
 */
u64 hv_do_input_hypercall(u16 code, u16 rep_count, u16 varhead_words,
			  void *input, size_t header_size);

/*
 * The bare call: @words words of @input in registers to the code at
 * @hypercall_pg; at most HV_XMM_INPUT_WORDS, at least HV_XMM_GPR_WORDS.
 * Interrupts must be off.  For hv_do_input_hypercall() and its test only.
 */
u64 hv_xmm_call(void *hypercall_pg, u64 control, const u64 *input,
		unsigned int words);

/* hv_xmm_pack_vpset() without regard to the hypervisor, for its test. */
int __hv_xmm_pack_vpset(struct hv_vpset *vpset, int nr_bank);

#else

static inline void hv_xmm_init(void) {}

static inline int hv_xmm_pack_vpset(struct hv_vpset *vpset, int nr_bank)
{
	return nr_bank;
}

static inline u64 hv_do_input_hypercall(u16 code, u16 rep_count,
					u16 varhead_words, void *input,
					size_t header_size)
{
	return hv_do_rep_hypercall(code, rep_count, varhead_words, input, NULL);
}

#endif /* CONFIG_X86_64 */

#endif /* _ASM_X86_HV_XMM_H */
