// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracepoints, as the core passes them: what a record needs is found here, so
 * that a point costs the core no more than its key.
 */
#include "../lib/core/registry.h"
#include "left.h"

static inline const char *dkc_trace_op_name(const struct dk_op *op)
{
	return op ? op->name : "";
}

static inline const char *dkc_trace_device(const struct dkc_reg *r)
{
	return dkc_block_of(r)->dev ? dkc_block_of(r)->dev->name : "";
}

#define CREATE_TRACE_POINTS
#include "trace.h"

void dkc_trace_register(const struct dkc_reg *r)
{
	char key[DK_NAME_MAX];

	trace_dk_register(r, dk_key_name(dkc_block_of(r)->prov->reg->layout, r->key, key));
}

void dkc_trace_unregister(const struct dkc_reg *r)
{
	char key[DK_NAME_MAX];

	trace_dk_unregister(r, dk_key_name(dkc_block_of(r)->prov->reg->layout, r->key, key));
}

void dkc_trace_publish(const struct dk_op *op, const struct dkc_row *row)
{
	unsigned int i, functions = 0;

	for (i = 0; i < row->n; i++)
		functions += !!row->ent[i].fn;
	trace_dk_publish(op, row->kind, functions);
}

void dkc_trace_drain(const struct dkc_provider *prov, bool begin, bool leaves, bool empty)
{
	trace_dk_drain(prov, begin, leaves, empty);
}

/* ---- calls ------------------------------------------------------------------ */

/* Of calls; they come and go under the kernel's lock for tracepoints. */
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

static const char *dkc_trace_key(const struct dk_op *op, u64 ks, char name[DK_NAME_MAX])
{
	const struct dk_layout *l = op->reg->layout;

	return dk_key_name(l, dk_keyset_key(l, DK_KEYSET(ks)), name);
}

void dkc_trace_call_enter(const struct dk_frame *f, const struct dkc_way *way)
{
	const struct dk_call *c = &f->call;
	char key[DK_NAME_MAX];

	trace_dk_call_enter(c, way->reg, dkc_trace_key(c->op, c->ks.bits, key),
			    !way->mask);
}

void dkc_trace_call_exit(const struct dk_frame *f)
{
	const struct dk_call *c = &f->call;
	char key[DK_NAME_MAX];

	trace_dk_call_exit(f, dkc_trace_key(c->op, c->ks.bits, key));
}

void dkc_trace_missing(const struct dk_op *op, u64 ks, int error)
{
	char key[DK_NAME_MAX];

	trace_dk_missing(op, ks, dkc_trace_key(op, ks, key), error);
}
