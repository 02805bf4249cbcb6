// SPDX-License-Identifier: GPL-2.0-only
/*
 * Defines the tracepoints. The names of keys and devices are looked up here, and only if a
 * tracepoint is enabled.
 */
#include "../lib/core/change/change.h"
#include "cleanup.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static void trace_function(struct dk_traced *t, const struct dkc_reg *r)
{
	const struct dkc_block *b = dkc_block_of(r);

	t->op = dkc_op_name_of(r);
	t->label = dkc_label_of(r);
	t->provider = b->prov->name;
	t->device_name = b->dev ? b->dev->name : "";
	t->device = b->device;
	t->key = r->key;
	dk_key_name(b->prov->reg->layout, r->key, t->key_name);
}

void dkc_trace_register(const struct dkc_reg *r)
{
	struct dk_traced t = { };

	trace_function(&t, r);
	trace_dk_register(&t);
}

void dkc_trace_unregister(const struct dkc_reg *r)
{
	struct dk_traced t = { };

	trace_function(&t, r);
	trace_dk_unregister(&t);
}

void dkc_trace_publish(const struct dk_op *op, const struct dkc_table *table)
{
	unsigned int i, functions = 0;

	for (i = 0; i < table->n; i++)
		functions += !!table->entry[i].fn;
	trace_dk_publish(op, table->kind, functions);
}

void dkc_trace_complete(const struct dk_deferred *d, int result)
{
	struct dk_traced t = { };

	trace_function(&t, d->reg);
	trace_dk_complete(&t, result, dkc_now() - d->since);
}

void dkc_trace_drain(const struct dkc_provider *prov, bool begin, bool unregisters, bool empty)
{
	trace_dk_drain(prov, begin, unregisters, empty);
}

/* ---- calls ------------------------------------------------------------------ */

/* The number of enabled call tracepoints. Written under the kernel's tracepoints_mutex. */
u32 dkc_call_tracers;

int dkc_trace_calls_begin(void)
{
	WRITE_ONCE(dkc_call_tracers, dkc_call_tracers + 1);
	dkc_each_registry(dkc_change_traced);
	return 0;
}

void dkc_trace_calls_end(void)
{
	WRITE_ONCE(dkc_call_tracers, dkc_call_tracers - 1);
	dkc_each_registry(dkc_change_traced);
}

/* @r is NULL if nothing serves the call. */
static void trace_call(struct dk_traced *t, const struct dk_op *op, u64 ks, const struct dkc_reg *r)
{
	const struct dk_layout *l = op->reg->layout;

	t->op = op->name;
	t->label = r ? dkc_label_of(r) : "";
	t->device = r ? dkc_block_of(r)->device : 0;
	t->keyset = ks;
	dk_key_name(l, dk_keyset_key(l, DK_KEYSET(ks)), t->key_name);
}

void dkc_trace_call_enter(const struct dk_frame *f, const struct dkc_request *req)
{
	struct dk_traced t = { };

	trace_call(&t, f->call.op, f->call.ks.bits, req->reg);
	trace_dk_call_enter(&t, !req->mask);
}

void dkc_trace_call_exit(const struct dk_frame *f)
{
	struct dk_traced t = { };

	trace_call(&t, f->call.op, f->call.ks.bits, f->call.entry->reg);
	trace_dk_call_exit(&t, f->result);
}

void dkc_trace_missing(const struct dk_op *op, u64 ks, int error)
{
	struct dk_traced t = { };

	trace_call(&t, op, ks, NULL);
	trace_dk_missing(&t, error);
}
