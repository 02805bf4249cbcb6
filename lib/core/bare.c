// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The bare-metal world: one thread, memory from two functions of the user.
 */
#include "registry.h"

#define DKC_BARE_MAX_DEPTH	64	/* nested calls */

static void *(*dkc_bare_get)(size_t size);
static void (*dkc_bare_put)(void *p);
static struct dk_registry *dkc_bare_default;
unsigned int dk__bare_sections;
static unsigned int dkc_bare_depth;
static struct dkc_inside dkc_bare_inside[DKC_BARE_MAX_DEPTH];

void dk_bare_memory(void *(*alloc)(size_t size), void (*release)(void *p))
{
	dkc_bare_get = alloc;
	dkc_bare_put = release;
	dkc_layouts_init();
}

void *dkc_bare_alloc(size_t size)
{
	void *p = dkc_bare_get ? dkc_bare_get(size) : NULL;

	if (p)
		memset(p, 0, size);
	return p;
}

void dkc_bare_free(void *p)
{
	if (p)
		dkc_bare_put(p);
}

struct dk_registry *dk_registry_default(void)
{
	if (!dkc_bare_default)
		dkc_bare_default = dk_registry_alloc(NULL, DK_REGISTRY_STOCKED, NULL);
	if (dkc_bare_default)
		dkc_bare_default->is_default = true;
	return dkc_bare_default;
}

const char *dk_version(void)
{
	return DK_VERSION;
}

/* With one thread there is nobody to wait for. */
bool dkc_grace_begin(struct dkc_grace *g)
{
	(void)g;
	return true;
}

bool dkc_grace_wait(struct dkc_grace *g, u64 deadline)
{
	(void)g;
	(void)deadline;
	return true;
}

void dkc_grace_end(struct dkc_grace *g)
{
	(void)g;
}

int dkc_gate_enter(u64 *room, const struct dkc_reg *reg, const void *op)
{
	struct dkc_inside *in = &dkc_bare_inside[dkc_bare_depth];

	if (dkc_bare_depth == DKC_BARE_MAX_DEPTH)
		return -ENOMEM;
	*room = dkc_bare_depth++;
	in->prov = dkc_block_of(reg)->prov;
	in->reg = reg;
	in->op = op;
	return 0;
}

/* Calls may be left in another order than they were entered. */
void dkc_gate_leave(u64 *room)
{
	dkc_bare_inside[*room].prov = NULL;
	while (dkc_bare_depth && !dkc_bare_inside[dkc_bare_depth - 1].prov)
		dkc_bare_depth--;
}

int dk__to_gate(struct dk_call *c, struct dk__slot slot)
{
	int err = dkc_gate_enter(slot.at->gate, c->entry->reg, c->op);

	if (!err) {
		slot.at->entry = *c->entry;
		c->entry = &slot.at->entry;
		c->made &= ~DK__CALL_IN_RCU;
	}
	dkc_read_unlock();
	return !err;
}

void dk__leave_gate(struct dk__slot slot)
{
	dkc_gate_leave(slot.at->gate);
}

bool dkc_gate_any(bool mine, dkc_inside_fn is, void *data)
{
	unsigned int i;

	(void)mine;
	for (i = 0; i < dkc_bare_depth; i++)
		if (dkc_bare_inside[i].prov && is(&dkc_bare_inside[i], data))
			return true;
	return false;
}

/* Whoever is inside is below us on the stack, and that was looked at. */
bool dkc_gate_wait(const void *prov, const void *reg, dkc_inside_fn is, void *data,
		   u64 deadline)
{
	(void)prov;
	(void)reg;
	(void)is;
	(void)data;
	(void)deadline;
	return true;
}

void dkc_gate_wake(const void *reg)
{
	(void)reg;
}

u32 dkc_inside_who(const struct dkc_inside *in, char *name, size_t size)
{
	(void)in;
	dkc_strcpy(name, "", size);
	return 0;
}

bool dkc_counts_init(struct dkc_counts *c, bool may_sleep)
{
	(void)may_sleep;
	c->n = dkc_bare_alloc(DKC_COUNTS * sizeof(c->n[0]));
	return c->n;
}

void dkc_counts_destroy(struct dkc_counts *c)
{
	dkc_bare_free(c->n);
}

u64 dkc_counts_sum(const struct dkc_counts *c, unsigned int i)
{
	return c->n[i];
}
