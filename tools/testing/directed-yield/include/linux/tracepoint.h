/* SPDX-License-Identifier: GPL-2.0 */
/* A trace event of which the last one of each thread can be looked at. */
#ifndef _STUB_LINUX_TRACEPOINT_H
#define _STUB_LINUX_TRACEPOINT_H

#include <linux/types.h>

#define TP_PROTO(...)		__VA_ARGS__
#define TP_ARGS(...)		__VA_ARGS__
#define TP_STRUCT__entry(...)	__VA_ARGS__
#define TP_fast_assign(...)	__VA_ARGS__
#define __field(type, name)	type name;

#define TRACE_EVENT(event, proto, args, fields, assign, print)		\
struct trace_##event {							\
	unsigned int count;						\
	fields								\
};									\
extern __thread struct trace_##event stub_trace_##event;		\
static inline void trace_##event(proto)					\
{									\
	struct trace_##event *__entry = &stub_trace_##event;		\
									\
	__entry->count++;						\
	assign								\
}									\
_Static_assert(1, #event)

#endif
