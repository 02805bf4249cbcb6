// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Allocates blocks, and walks the registrations of an operator. A block holds the registrations
 * of one API call in one allocation.
 */
#include "table.h"

struct dkc_run *dkc_run_of(const struct dkc_reg *r)
{
	return &dkc_block_of(r)->runs[r->run];
}

struct dk_op *dkc_reg_op(const struct dkc_reg *r)
{
	return dkc_block_of(r)->fallback ? NULL : dkc_run_of(r)->op;
}

struct dkc_reg *dkc_next_reg(const struct dkc_reg *r)
{
	return r->follows ? (struct dkc_reg *)r - 1 :
			    dkc_deref(dkc_run_of(r)->next, dkc_block_of(r)->prov->reg);
}

const struct dk_impl *dkc_impl_of(const struct dkc_reg *r)
{
	const struct dkc_block *b = dkc_block_of(r);

	return &b->impls[b->fallback ? 0 : r->place];
}

void dkc_reg_names(const struct dkc_reg *r, char label[DK_NAME_MAX],
		   char provider[DK_NAME_MAX], char device_name[DK_NAME_MAX])
{
	const struct dkc_block *b = dkc_block_of(r);

	dkc_strcpy(label, dkc_label_of(r), DK_NAME_MAX);
	dkc_strcpy(provider, b->prov ? b->prov->name : "", DK_NAME_MAX);
	dkc_strcpy(device_name, b->dev ? b->dev->name : "", DK_NAME_MAX);
}

const struct dkc_reg *dkc_device_reg_walk(const struct dk_op *op, const struct dkc_reg *r)
{
	do
		r = dkc_reg_walk(op, r);
	while (r && !r->of_device);
	return r;
}

/* Counts the runs. Stops at an element of unexpected size, which is refused later. */
static unsigned int num_runs(const struct dk_impl *impls, unsigned int n)
{
	unsigned int i, runs = 0;

	for (i = 0; i < n && impls[i].size == sizeof(impls[i]); i++)
		runs += !i || impls[i].op != impls[i - 1].op;
	return runs;
}

struct dkc_block *dkc_block_alloc(const struct dk_impl *impls, unsigned int n, bool fallback)
{
	unsigned int runs = fallback ? 0 : num_runs(impls, n);
	struct dkc_block *b = kvzalloc(offsetof(struct dkc_block, regs) +
				       n * sizeof(b->regs[0]) + runs * sizeof(b->runs[0]),
				       GFP_KERNEL);

	if (b) {
		b->impls = impls;
		b->fallback = fallback;
		b->runs = (struct dkc_run *)&b->regs[n];
	}
	return b;
}

u64 dkc_reg_bits(const struct dkc_reg *r, const struct dk_layout *l)
{
	return dk_key_set(l, r->key).bits;
}

static const struct dkc_reg *walk_next(const struct dk_op *op, const struct dkc_reg *r)
{
	dkc_work(DKC_WORK_FUNCTIONS, 1);
	return dkc_reg_walk(op, r);
}

const struct dkc_reg *dkc_reg_sorted(const struct dk_op *op, const struct dkc_reg *r)
{
	const struct dkc_reg *s = r, *next = NULL;

	while (r && (s = walk_next(op, s)))
		if (s->key == r->key)
			return s;
	s = NULL;
	while ((s = walk_next(op, s)))
		if ((!r || s->key > r->key) && (!next || s->key < next->key))
			next = s;
	return next;
}

const struct dkc_reg *dkc_reg_at(const struct dk_op *op, unsigned int i)
{
	const struct dkc_reg *r = dkc_reg_sorted(op, NULL);

	while (r && i--)
		r = dkc_reg_sorted(op, r);
	return r;
}

static enum dkc_group group_of(const struct dk_impl *impl)
{
	if (impl->flags & DK_IMPL_F_FALLTHROUGH)
		return DKC_FALLS_THROUGH;
	return impl->flags & (DK_IMPL_F_BOXED | DK_IMPL_F_PLAIN) ? DKC_PACKED : DKC_DIRECT;
}

struct dkc_reg *dkc_block_add(struct dkc_block *b, const struct dk_layout *l,
			      const struct dk_impl *impl, unsigned int key)
{
	struct dkc_place at = dkc_key_place(l, key);
	struct dkc_reg *r = &b->regs[b->n];

	r->place = b->n++;
	r->key = key;
	r->group = group_of(impl);
	r->of_device = !!b->dev;
	/* building blocks and alias keys have no slot */
	if (at.f && (at.b || !dkc_is_per_backend(l, at.f)))
		r->slot = dkc_slot(l, at.f, at.b);
	return r;
}
