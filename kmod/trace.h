/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints. They record only names and numbers, so they expose no kernel address. Strings are
 * dynamic arrays, because the arguments of __assign_str() depend on the kernel version.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dispatchkey

#if !defined(_DK_KMOD_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DK_KMOD_TRACE_H

#include <linux/tracepoint.h>

#include "../lib/core/change/change.h"

#ifndef DKC_TEXT
/* Longer strings end in "...": an event that does not fit the buffer is lost, and perf warns. */
#define DKC_TEXT(field, text)	__dynamic_array(char, field, strnlen(text, DK_NAME_MAX - 1) + 1)
#define DKC_COPY(field, text)						\
	dkc_strcpy(__get_dynamic_array(field), text, __get_dynamic_array_len(field))

/* The names and numbers of a function or a call, looked up once. Strings are never NULL. */
struct dk_traced {
	const char *op;			/* empty for a backend fallback */
	const char *label;
	const char *provider;
	const char *device_name;
	u64 keyset;			/* of a call */
	u32 device;
	u16 key;			/* of a function */
	char key_name[DK_NAME_MAX];
};
#endif

int dkc_trace_calls_begin(void);
void dkc_trace_calls_end(void);

TRACE_DEFINE_ENUM(DKC_TABLE_FULL);
TRACE_DEFINE_ENUM(DKC_TABLE_UNDEFINED);
TRACE_DEFINE_ENUM(DKC_TABLE_SHUTDOWN);
TRACE_DEFINE_ENUM(DKC_TABLE_BYPASS);

/* A function at a key of an operator. */
DECLARE_EVENT_CLASS(dk_function,
		    TP_PROTO(const struct dk_traced *t),
	TP_ARGS(t),
	TP_STRUCT__entry(
		DKC_TEXT(op, t->op)
		DKC_TEXT(key_name, t->key_name)
		DKC_TEXT(label, t->label)
		DKC_TEXT(provider, t->provider)
		DKC_TEXT(device_name, t->device_name)
		__field(u16, key)
		__field(u32, device)
	),
	TP_fast_assign(
		DKC_COPY(op, t->op);
		DKC_COPY(key_name, t->key_name);
		DKC_COPY(label, t->label);
		DKC_COPY(provider, t->provider);
		DKC_COPY(device_name, t->device_name);
		__entry->key = t->key;
		__entry->device = t->device;
	),
	TP_printk("op=%s key=%s label=%s provider=%s device=%u device_name=%s",
		  __get_str(op), __get_str(key_name), __get_str(label),
		  __get_str(provider), __entry->device, __get_str(device_name))
);

DEFINE_EVENT(dk_function, dk_register,
	     TP_PROTO(const struct dk_traced *t),
	TP_ARGS(t)
);

DEFINE_EVENT(dk_function, dk_unregister,
	     TP_PROTO(const struct dk_traced *t),
	TP_ARGS(t)
);

TRACE_EVENT(dk_publish,
	    TP_PROTO(const struct dk_op *op, unsigned int kind, unsigned int functions),
	TP_ARGS(op, kind, functions),
	TP_STRUCT__entry(
		DKC_TEXT(op, op->name)
		__field(u32, kind)
		__field(u32, functions)
	),
	TP_fast_assign(
		DKC_COPY(op, op->name);
		__entry->kind = kind;
		__entry->functions = functions;
	),
	TP_printk("op=%s table=%s functions=%u", __get_str(op),
		  __print_symbolic(__entry->kind,
				   { DKC_TABLE_FULL, "full" },
				   { DKC_TABLE_UNDEFINED, "undefined" },
				   { DKC_TABLE_SHUTDOWN, "shutdown" },
				   { DKC_TABLE_BYPASS, "resolve" }),
		  __entry->functions)
);

/*
 * Calls. While one of these tracepoints is enabled, calls take the slow path: see
 * dkc_change_traced().
 */
TRACE_EVENT_FN(dk_call_enter,
	       TP_PROTO(const struct dk_traced *t, bool redispatch),
	TP_ARGS(t, redispatch),
	TP_STRUCT__entry(
		DKC_TEXT(op, t->op)
		DKC_TEXT(key_name, t->key_name)
		DKC_TEXT(label, t->label)
		__field(u64, keyset)
		__field(u32, device)
		__field(bool, redispatch)
	),
	TP_fast_assign(
		DKC_COPY(op, t->op);
		DKC_COPY(key_name, t->key_name);
		DKC_COPY(label, t->label);
		__entry->keyset = t->keyset;
		__entry->device = t->device;
		__entry->redispatch = redispatch;
	),
	TP_printk("op=%s key=%s label=%s device=%u keyset=%#llx%s", __get_str(op),
		  __get_str(key_name), __get_str(label), __entry->device,
		  __entry->keyset, __entry->redispatch ? " redispatch" : ""),
	dkc_trace_calls_begin, dkc_trace_calls_end
);

TRACE_EVENT_FN(dk_call_exit,
	       TP_PROTO(const struct dk_traced *t, int result),
	TP_ARGS(t, result),
	TP_STRUCT__entry(
		DKC_TEXT(op, t->op)
		DKC_TEXT(key_name, t->key_name)
		DKC_TEXT(label, t->label)
		__field(u64, keyset)
		__field(u32, device)
		__field(int, result)
	),
	TP_fast_assign(
		DKC_COPY(op, t->op);
		DKC_COPY(key_name, t->key_name);
		DKC_COPY(label, t->label);
		__entry->keyset = t->keyset;
		__entry->device = t->device;
		__entry->result = result;
	),
	TP_printk("op=%s key=%s label=%s device=%u result=%d", __get_str(op),
		  __get_str(key_name), __get_str(label), __entry->device,
		  __entry->result),
	dkc_trace_calls_begin, dkc_trace_calls_end
);

TRACE_EVENT_FN(dk_missing,
	       TP_PROTO(const struct dk_traced *t, int error),
	TP_ARGS(t, error),
	TP_STRUCT__entry(
		DKC_TEXT(op, t->op)
		DKC_TEXT(key_name, t->key_name)
		__field(u64, keyset)
		__field(int, error)
	),
	TP_fast_assign(
		DKC_COPY(op, t->op);
		DKC_COPY(key_name, t->key_name);
		__entry->keyset = t->keyset;
		__entry->error = error;
	),
	TP_printk("op=%s key=%s keyset=%#llx error=%d", __get_str(op),
		  __get_str(key_name), __entry->keyset, __entry->error),
	dkc_trace_calls_begin, dkc_trace_calls_end
);

/* A deferred call is completed. @ms is the time since the call was deferred. */
TRACE_EVENT(dk_complete,
	    TP_PROTO(const struct dk_traced *t, int result, u64 ms),
	TP_ARGS(t, result, ms),
	TP_STRUCT__entry(
		DKC_TEXT(op, t->op)
		DKC_TEXT(key_name, t->key_name)
		DKC_TEXT(label, t->label)
		DKC_TEXT(provider, t->provider)
		__field(u32, device)
		__field(int, result)
		__field(u64, ms)
	),
	TP_fast_assign(
		DKC_COPY(op, t->op);
		DKC_COPY(key_name, t->key_name);
		DKC_COPY(label, t->label);
		DKC_COPY(provider, t->provider);
		__entry->device = t->device;
		__entry->result = result;
		__entry->ms = ms;
	),
	TP_printk("op=%s key=%s label=%s provider=%s device=%u result=%d ms=%llu",
		  __get_str(op), __get_str(key_name), __get_str(label),
		  __get_str(provider), __entry->device, __entry->result, __entry->ms)
);

/*
 * A drain: waiting for the running calls of a provider. perf and trace-cmd need the parentheses:
 * without them they take the first condition to be a part of the second one.
 */
TRACE_EVENT(dk_drain,
	    TP_PROTO(const struct dkc_provider *prov, bool begin, bool unregisters, bool empty),
	TP_ARGS(prov, begin, unregisters, empty),
	TP_STRUCT__entry(
		DKC_TEXT(provider, prov->name)
		__field(bool, begin)
		__field(bool, unregisters)
		__field(bool, empty)
	),
	TP_fast_assign(
		DKC_COPY(provider, prov->name);
		__entry->begin = begin;
		__entry->unregisters = unregisters;
		__entry->empty = empty;
	),
	TP_printk("provider=%s %s%s%s", __get_str(provider),
		  __entry->begin ? "begin" : "end", __entry->unregisters ? " unregister" : "",
		  __entry->begin ? "" : (__entry->empty ? " empty" : " inside"))
);

#endif /* _DK_KMOD_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
