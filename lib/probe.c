// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Defines the USDT probes. A tracer that attaches to a probe increments the probe's semaphore.
 * After the next change of a registry, calls in that registry take the slow path, which contains
 * the probes: see dkc_change_traced(). A library that was built without <sys/sdt.h> has no probes.
 */
#include "private.h"
#include "core/change/change.h"

#ifdef DKC_PROBES

#define _SDT_HAS_SEMAPHORES 1
#define SDT_USE_VARIADIC
#include <sys/sdt.h>

#define IN_PROBES	__attribute__((section(".probes")))
/* Several probes can share a semaphore: the ELF note of each probe has the semaphore's address. */
#define SEMAPHORE(point, counter)						\
	extern u32 dispatchkey_##point##_semaphore DKC_HIDDEN			\
		__attribute__((alias(#counter), used))
/* <sys/sdt.h> applies sizeof to each operand. For a flexible array, pass the address instead. */
#define PROBE(...)	STAP_PROBEV(dispatchkey, __VA_ARGS__)

u32 dkc_call_probes IN_PROBES;
u32 dkc_change_probes IN_PROBES;

SEMAPHORE(call_enter, dkc_call_probes);
SEMAPHORE(call_exit, dkc_call_probes);
SEMAPHORE(missing, dkc_call_probes);
SEMAPHORE(register, dkc_change_probes);
SEMAPHORE(unregister, dkc_change_probes);
SEMAPHORE(publish, dkc_change_probes);
SEMAPHORE(complete, dkc_change_probes);
SEMAPHORE(drain, dkc_change_probes);

static const char *device_name(const struct dkc_reg *r)
{
	return dkc_block_of(r)->dev ? dkc_block_of(r)->dev->name : "";
}

void dkc_trace_register(const struct dkc_reg *r)
{
	PROBE(register, dkc_op_name_of(r), (u32)r->key, dkc_label_of(r),
	      dkc_block_of(r)->prov->name, device_name(r));
}

void dkc_trace_unregister(const struct dkc_reg *r)
{
	PROBE(unregister, dkc_op_name_of(r), (u32)r->key, dkc_label_of(r),
	      dkc_block_of(r)->prov->name, device_name(r));
}

void dkc_trace_publish(const struct dk_op *op, const struct dkc_table *table)
{
	PROBE(publish, &op->name[0], table->kind, table->n);
}

void dkc_trace_complete(const struct dk_deferred *d, int result)
{
	PROBE(complete, dkc_op_name_of(d->reg), dkc_label_of(d->reg), result, dkc_now() - d->since);
}

void dkc_trace_drain(const struct dkc_provider *prov, bool begin, bool unregisters, bool empty)
{
	PROBE(drain, prov->name, begin, unregisters, empty);
}

void dkc_trace_call_enter(const struct dk_frame *f, const struct dkc_request *req)
{
	const struct dk_call *c = &f->call;
	const struct dkc_reg *r = req->reg;

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
