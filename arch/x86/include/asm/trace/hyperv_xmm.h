/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hyperv

#if !defined(_ASM_X86_TRACE_HYPERV_XMM_H) || defined(TRACE_HEADER_MULTI_READ)
#define _ASM_X86_TRACE_HYPERV_XMM_H

#include <linux/tracepoint.h>

/* A hypercall with its input in registers is about to be issued. */
TRACE_EVENT(hyperv_xmm_hypercall,
	TP_PROTO(u64 control, unsigned int words),
	TP_ARGS(control, words),
	TP_STRUCT__entry(
		__field(u64, control)
		__field(unsigned int, words)
	),
	TP_fast_assign(
		__entry->control = control;
		__entry->words = words;
	),
	TP_printk("code 0x%04x varhead %u reps %u input %u bytes",
		  (unsigned int)(__entry->control & 0xffff),
		  (unsigned int)((__entry->control & HV_HYPERCALL_VARHEAD_MASK) >>
				 HV_HYPERCALL_VARHEAD_OFFSET),
		  (unsigned int)((__entry->control & HV_HYPERCALL_REP_COMP_MASK) >>
				 HV_HYPERCALL_REP_COMP_OFFSET),
		  __entry->words * 8)
);

#endif /* _ASM_X86_TRACE_HYPERV_XMM_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH asm/trace/
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE hyperv_xmm

/* This part must be outside protection */
#include <trace/define_trace.h>
