// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * USDT probes. A tracer increments the semaphore of its probe while it is attached. The
 * calls of a registry take the slow path, which has the probes, from the next change of
 * the registry on: dkc_change_traced(). Where <sys/sdt.h> was missing when the library
 * was built, there are no probes.
 */
#include "world.h"
#include "core/registry.h"

#ifdef DKC_PROBES

#define _SDT_HAS_SEMAPHORES 1
#define SDT_USE_VARIADIC
#include <sys/sdt.h>

#define IN_PROBES	__attribute__((section(".probes")))
/* Tracers find a semaphore by what the note of the probe says, wherever it is. */
#define SEMAPHORE(point, counter)						\
	extern u32 dispatchkey_##point##_semaphore DKC_HIDDEN			\
		__attribute__((alias(#counter), used))
/* <sys/sdt.h> asks for the size of an operand: a name of no size is given by address. */
#define PROBE(...)	STAP_PROBEV(dispatchkey, __VA_ARGS__)

u32 dkc_call_probes IN_PROBES;
u32 dkc_change_probes IN_PROBES;

SEMAPHORE(call_enter, dkc_call_probes);
SEMAPHORE(call_exit, dkc_call_probes);
SEMAPHORE(missing, dkc_call_probes);
SEMAPHORE(register, dkc_change_probes);
SEMAPHORE(unregister, dkc_change_probes);
SEMAPHORE(publish, dkc_change_probes);
SEMAPHORE(drain, dkc_change_probes);

static const char *op_name(const struct dkc_reg *r)
{
	return dkc_reg_op(r) ? dkc_reg_op(r)->name : "";
}

static const char *device_name(const struct dkc_reg *r)
{
	return dkc_block_of(r)->dev ? dkc_block_of(r)->dev->name : "";
}

void dkc_trace_register(const struct dkc_reg *r)
{
	PROBE(register, op_name(r), (u32)r->key, dkc_label_of(r), dkc_block_of(r)->prov->name,
	      device_name(r));
}

void dkc_trace_unregister(const struct dkc_reg *r)
{
	PROBE(unregister, op_name(r), (u32)r->key, dkc_label_of(r), dkc_block_of(r)->prov->name,
	      device_name(r));
}

void dkc_trace_publish(const struct dk_op *op, const struct dkc_row *row)
{
	PROBE(publish, &op->name[0], row->kind, row->n);
}

void dkc_trace_drain(const struct dkc_provider *prov, bool begin, bool leaves, bool empty)
{
	PROBE(drain, prov->name, begin, leaves, empty);
}

void dkc_trace_call_enter(const struct dk_frame *f, const struct dkc_way *way)
{
	const struct dk_call *c = &f->call;
	const struct dkc_reg *r = way->reg;

	PROBE(call_enter, c, &c->op->name[0], dkc_label_of(r), c->ks.bits,
	      dkc_block_of(r)->device);
}

void dkc_trace_call_exit(const struct dk_frame *f)
{
	PROBE(call_exit, &f->call, f->result);
}

void dkc_trace_missing(const struct dk_op *op, u64 ks, int error)
{
	PROBE(missing, &op->name[0], ks, error);
}

#endif /* DKC_PROBES */
