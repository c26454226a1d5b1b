/* SPDX-License-Identifier: GPL-2.0 */
#if !defined(_TRACE_KVM_DIRECTED_YIELD_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_KVM_DIRECTED_YIELD_H

#include <linux/tracepoint.h>

#undef TRACE_SYSTEM
#define TRACE_SYSTEM kvm

/*
 * One event per spin exit, unless directed yield is switched off.  @ready counts
 * the vCPUs that were looked at because they were marked as wanting a CPU,
 * @tried those of them that the scheduler was asked for, and @boosted is the id
 * of the one that it followed with, or -1.
 */
TRACE_EVENT(kvm_directed_yield,
	TP_PROTO(unsigned int vcpu_id, bool in_kernel, unsigned int ready,
		 unsigned int tried, int boosted),
	TP_ARGS(vcpu_id, in_kernel, ready, tried, boosted),

	TP_STRUCT__entry(
		__field(unsigned int,	vcpu_id)
		__field(bool,		in_kernel)
		__field(unsigned int,	ready)
		__field(unsigned int,	tried)
		__field(int,		boosted)
	),

	TP_fast_assign(
		__entry->vcpu_id	= vcpu_id;
		__entry->in_kernel	= in_kernel;
		__entry->ready		= ready;
		__entry->tried		= tried;
		__entry->boosted	= boosted;
	),

	TP_printk("vcpu %u in_kernel %d ready %u tried %u boosted %d",
		  __entry->vcpu_id, __entry->in_kernel, __entry->ready,
		  __entry->tried, __entry->boosted)
);

#endif /* _TRACE_KVM_DIRECTED_YIELD_H */

#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE kvm_directed_yield

/* This part must be outside protection */
#include <trace/define_trace.h>
