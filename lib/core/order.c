// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The operators by name, for lists: an array that the first list makes, and that
 * follows what is registered and unregistered from then on. New operators are appended
 * and put in their places by the next list, some in each hold of the lock. The array is
 * freed where there is no memory for a longer one, or when many operators leave between two
 * lists, and the next list makes it again.
 */
#include "registry.h"

#define DKC_ORDER_BATCH	32	/* put in their places by one pass over the array */
#define DKC_ORDER_LEAVING	16	/* taken out between two lists, each by a pass */

struct dkc_order {
	u32 sorted;
	u32 num;		/* with those after @sorted, which are in no order */
	u32 room;
	u32 left;		/* taken out since the last list */
	struct dk_op *op[];
};

static bool dkc_name_before(const char *s, const char *t)
{
	while (*s && *s == *t) {
		s++;
		t++;
	}
	return (u8)*s < (u8)*t;
}

/* How many of the first @n, which are sorted, are before @name. */
static u32 dkc_place_in(struct dk_op *const *op, u32 n, const char *name)
{
	u32 first = 0, middle;

	while (first < n) {
		middle = first + (n - first) / 2;
		if (dkc_name_before(op[middle]->name, name))
			first = middle + 1;
		else
			n = middle;
	}
	return first;
}

static struct dkc_order *dkc_order_make(struct dk_registry *reg)
{
	u32 room = reg->num_ops + reg->num_ops / 2 + DKC_ORDER_BATCH, pos = 0;
	struct dkc_order *o = dkc_alloc(offsetof(struct dkc_order, op) +
					room * sizeof(o->op[0]));
	struct dk_op *op;

	if (!o)
		return NULL;
	o->room = room;
	while ((op = dkc_op_next(reg, &pos)))
		o->op[o->num++] = op;
	return o;
}

void dkc_order_add(struct dk_op *op)
{
	struct dk_registry *reg = op->reg;
	struct dkc_order *o = reg->order;

	reg->moves++;
	if (!o)
		return;
	if (o->num < o->room) {
		o->op[o->num++] = op;
		return;
	}
	dkc_free(o);
	reg->order = NULL;
}

void dkc_order_remove(const struct dk_op *op)
{
	struct dkc_order *o = op->reg->order;
	u32 i;

	op->reg->moves++;
	if (!o)
		return;
	i = dkc_place_in(o->op, o->sorted, op->name);
	if (i == o->sorted || o->op[i] != op || o->left++ == DKC_ORDER_LEAVING) {
		dkc_free(o);
		op->reg->order = NULL;
		return;
	}
	o->sorted--;
	memmove(&o->op[i], &o->op[i + 1], (--o->num - i) * sizeof(o->op[0]));
}

/* Put the next @n in their places, at most DKC_ORDER_BATCH: the last one first. */
static void dkc_order_merge(struct dkc_order *o, u32 n)
{
	struct dk_op *batch[DKC_ORDER_BATCH];
	u32 i, place, end = o->sorted;

	dkc_work(DKC_WORK_ORDERED, n);
	for (i = 0; i < n; i++) {
		place = dkc_place_in(batch, i, o->op[end + i]->name);
		memmove(&batch[place + 1], &batch[place], (i - place) * sizeof(batch[0]));
		batch[place] = o->op[end + i];
	}
	o->sorted += n;
	while (n--) {
		place = dkc_place_in(o->op, end, batch[n]->name);
		memmove(&o->op[place + n + 1], &o->op[place],
			(end - place) * sizeof(o->op[0]));
		o->op[place + n] = batch[n];
		end = place;
	}
}

int dkc_order_some(struct dk_registry *reg, u32 n)
{
	struct dkc_order *o = reg->order;
	u32 some;

	if (!o)
		o = dkc_order_make(reg);
	if (!o)
		return -ENOMEM;
	reg->order = o;
	o->left = 0;
	for (; n && o->sorted < o->num; n -= some) {
		some = o->num - o->sorted;
		if (some > DKC_ORDER_BATCH)
			some = DKC_ORDER_BATCH;
		if (some > n)
			some = n;
		dkc_order_merge(o, some);
	}
	return o->sorted < o->num ? -EAGAIN : 0;
}

struct dk_op *dkc_op_at(const struct dk_registry *reg, u32 n)
{
	const struct dkc_order *o = reg->order;

	return o && n < o->sorted ? o->op[n] : NULL;
}

u32 dkc_op_place(const struct dk_registry *reg, const char *name)
{
	const struct dkc_order *o = reg->order;

	return o ? dkc_place_in(o->op, o->sorted, name) : 0;
}
