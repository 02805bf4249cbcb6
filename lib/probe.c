// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * USDT probes of what is no call; those of calls are on their way, in
 * lib/core/call.c. A probe is one nop, and where <sys/sdt.h> was missing when
 * the library was built, there is none.
 */
#include "world.h"
#include "core/registry.h"

static void function(const struct dkc_reg *r, bool comes)
{
	const char *op = r->op ? r->op->name : "";
	const char *device = r->block->dev ? r->block->dev->name : "";

	if (comes)
		dkc_probe(register, op, r->key, r->impl->label, r->block->prov->name, device);
	else
		dkc_probe(unregister, op, r->key, r->impl->label, r->block->prov->name,
			  device);
	(void)op;
	(void)device;
}

void dkc_trace_register(const struct dkc_reg *r)
{
	function(r, true);
}

void dkc_trace_unregister(const struct dkc_reg *r)
{
	function(r, false);
}

void dkc_trace_publish(const struct dk_op *op, const struct dkc_row *row)
{
	dkc_probe(publish, op->probed, row->kind, row->n);
}

void dkc_trace_drain(const struct dkc_provider *prov, bool begin, bool leaves, bool empty)
{
	const char *name = prov->name;

	dkc_probe(drain, name, begin, leaves, empty);
	(void)name;
}
