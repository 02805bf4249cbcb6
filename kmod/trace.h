/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints. Names and numbers only: no address leaves the kernel. Strings are
 * dynamic arrays with a length of our own, since how a __string() is assigned
 * depends on the kernel.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dispatchkey

#if !defined(_DK_KMOD_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DK_KMOD_TRACE_H

#include <linux/tracepoint.h>

#include "../lib/core/registry.h"

#ifndef DKC_TEXT
#define DKC_TEXT(field, text)	__dynamic_array(char, field, strlen(text) + 1)
#define DKC_COPY(field, text)	strcpy(__get_dynamic_array(field), text)
#endif

int dkc_trace_calls_begin(void);
void dkc_trace_calls_end(void);

/* A function, at a key of an operator; a backend fallback has no operator. */
DECLARE_EVENT_CLASS(dk_function,
	TP_PROTO(const struct dkc_reg *r, const char *key_name),
	TP_ARGS(r, key_name),
	TP_STRUCT__entry(
		DKC_TEXT(op, dkc_trace_op_name(dkc_reg_op(r)))
		DKC_TEXT(key_name, key_name)
		DKC_TEXT(label, dkc_label_of(r))
		DKC_TEXT(provider, dkc_block_of(r)->prov->name)
		DKC_TEXT(device_name, dkc_trace_device(r))
		__field(u16, key)
		__field(u32, device)
	),
	TP_fast_assign(
		DKC_COPY(op, dkc_trace_op_name(dkc_reg_op(r)));
		DKC_COPY(key_name, key_name);
		DKC_COPY(label, dkc_label_of(r));
		DKC_COPY(provider, dkc_block_of(r)->prov->name);
		DKC_COPY(device_name, dkc_trace_device(r));
		__entry->key = r->key;
		__entry->device = dkc_block_of(r)->device;
	),
	TP_printk("op=%s key=%s label=%s provider=%s device=%s",
		  __get_str(op), __get_str(key_name), __get_str(label),
		  __get_str(provider), __get_str(device_name))
);

DEFINE_EVENT(dk_function, dk_register,
	TP_PROTO(const struct dkc_reg *r, const char *key_name),
	TP_ARGS(r, key_name)
);

DEFINE_EVENT(dk_function, dk_unregister,
	TP_PROTO(const struct dkc_reg *r, const char *key_name),
	TP_ARGS(r, key_name)
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
	TP_printk("op=%s row=%s functions=%u", __get_str(op),
		  __print_symbolic(__entry->kind, { 0, "table" }, { 1, "undefined" },
				   { 2, "resolve" }, { 3, "gone" },
				   { 4, "aside" }),
		  __entry->functions)
);

/* Calls: while one of these is traced, they take the slow path; see dkc_change_traced(). */
TRACE_EVENT_FN(dk_call_enter,
	TP_PROTO(const struct dk_call *c, const struct dkc_reg *r, const char *key_name,
		 bool redispatch),
	TP_ARGS(c, r, key_name, redispatch),
	TP_STRUCT__entry(
		DKC_TEXT(op, c->op->name)
		DKC_TEXT(key_name, key_name)
		DKC_TEXT(label, dkc_label_of(r))
		__field(u64, keyset)
		__field(u32, device)
		__field(bool, redispatch)
	),
	TP_fast_assign(
		DKC_COPY(op, c->op->name);
		DKC_COPY(key_name, key_name);
		DKC_COPY(label, dkc_label_of(r));
		__entry->keyset = c->ks.bits;
		__entry->device = dk_call_device(c);
		__entry->redispatch = redispatch;
	),
	TP_printk("op=%s key=%s label=%s device=%u keyset=%#llx%s", __get_str(op),
		  __get_str(key_name), __get_str(label), __entry->device,
		  __entry->keyset, __entry->redispatch ? " redispatch" : ""),
	dkc_trace_calls_begin, dkc_trace_calls_end
);

TRACE_EVENT_FN(dk_call_exit,
	TP_PROTO(const struct dk_frame *f, const char *key_name),
	TP_ARGS(f, key_name),
	TP_STRUCT__entry(
		DKC_TEXT(op, f->call.op->name)
		DKC_TEXT(key_name, key_name)
		DKC_TEXT(label, dkc_label_of(f->call.entry->reg))
		__field(u64, keyset)
		__field(u32, device)
		__field(int, result)
	),
	TP_fast_assign(
		DKC_COPY(op, f->call.op->name);
		DKC_COPY(key_name, key_name);
		DKC_COPY(label, dkc_label_of(f->call.entry->reg));
		__entry->keyset = f->call.ks.bits;
		__entry->device = dk_call_device(&f->call);
		__entry->result = f->result;
	),
	TP_printk("op=%s key=%s label=%s device=%u result=%d", __get_str(op),
		  __get_str(key_name), __get_str(label), __entry->device,
		  __entry->result),
	dkc_trace_calls_begin, dkc_trace_calls_end
);

TRACE_EVENT_FN(dk_missing,
	TP_PROTO(const struct dk_op *op, u64 keyset, const char *key_name, int error),
	TP_ARGS(op, keyset, key_name, error),
	TP_STRUCT__entry(
		DKC_TEXT(op, op->name)
		DKC_TEXT(key_name, key_name)
		__field(u64, keyset)
		__field(int, error)
	),
	TP_fast_assign(
		DKC_COPY(op, op->name);
		DKC_COPY(key_name, key_name);
		__entry->keyset = keyset;
		__entry->error = error;
	),
	TP_printk("op=%s key=%s keyset=%#llx error=%d", __get_str(op),
		  __get_str(key_name), __entry->keyset, __entry->error),
	dkc_trace_calls_begin, dkc_trace_calls_end
);

/* Waiting for the calls inside of a provider. */
TRACE_EVENT(dk_drain,
	TP_PROTO(const struct dkc_provider *prov, bool begin, bool leaves, bool empty),
	TP_ARGS(prov, begin, leaves, empty),
	TP_STRUCT__entry(
		DKC_TEXT(provider, prov->name)
		__field(bool, begin)
		__field(bool, leaves)
		__field(bool, empty)
	),
	TP_fast_assign(
		DKC_COPY(provider, prov->name);
		__entry->begin = begin;
		__entry->leaves = leaves;
		__entry->empty = empty;
	),
	TP_printk("provider=%s %s%s%s", __get_str(provider),
		  __entry->begin ? "begin" : "end", __entry->leaves ? " leaves" : "",
		  __entry->begin ? "" : __entry->empty ? " empty" : " inside")
);

#endif /* _DK_KMOD_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
