// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The operators by name, for whoever lists them: a treap, which is a search tree
 * by name and a heap by a hash of the name, and so is flat on average without
 * being balanced. Each knows how many there are below it, so that whoever
 * stopped at the n-th goes on there. Whoever comes waits in a list until somebody
 * asks: lists are rare, and a tree costs a cache miss a level. All of it is under
 * the lock.
 */
#include "registry.h"

static u32 dkc_tree_size(const struct dk_op *op)
{
	return op ? op->tree_size : 0;
}

/* Names that differ in the last letters have hashes that differ too regularly. */
static u32 dkc_tree_weight(const struct dk_op *op)
{
	u32 w = op->hash;

	w = (w ^ w >> 15) * 0x2c1b3c6d;
	w = (w ^ w >> 12) * 0x297a2d39;
	return w ^ w >> 15;
}

static bool dkc_name_before(const char *s, const char *t)
{
	while (*s && *s == *t) {
		s++;
		t++;
	}
	return (u8)*s < (u8)*t;
}

/* How many of a tree are before @name. */
static u32 dkc_tree_before(const struct dk_op *op, const char *name)
{
	u32 n = 0;

	while (op) {
		if (dkc_name_before(op->name, name)) {
			n += dkc_tree_size(op->before) + 1;
			op = op->behind;
		} else {
			op = op->before;
		}
	}
	return n;
}

/* Make two trees of one: what is before @name, and what is behind it. */
static void dkc_tree_split(struct dk_op *op, const char *name,
			   struct dk_op **before, struct dk_op **behind)
{
	u32 nbefore = dkc_tree_before(op, name);
	u32 nbehind = dkc_tree_size(op) - nbefore;

	/* all that is left to be split is below @op */
	while (op) {
		if (dkc_name_before(op->name, name)) {
			nbefore -= dkc_tree_size(op->before) + 1;
			op->tree_size -= nbehind;
			*before = op;
			before = &op->behind;
			op = op->behind;
		} else {
			nbehind -= dkc_tree_size(op->behind) + 1;
			op->tree_size -= nbefore;
			*behind = op;
			behind = &op->before;
			op = op->before;
		}
	}
	*before = NULL;
	*behind = NULL;
}

/* Make one tree of two, all of the first being before all of the second. */
static struct dk_op *dkc_tree_join(struct dk_op *a, struct dk_op *b)
{
	struct dk_op *root, **at = &root;

	while (a && b) {
		if (dkc_tree_weight(a) > dkc_tree_weight(b)) {
			a->tree_size += b->tree_size;
			*at = a;
			at = &a->behind;
			a = a->behind;
		} else {
			b->tree_size += a->tree_size;
			*at = b;
			at = &b->before;
			b = b->before;
		}
	}
	*at = a ? a : b;
	return root;
}

static void dkc_tree_add(struct dk_op *op)
{
	struct dk_op **at = &op->reg->ops_tree;
	u32 weight = dkc_tree_weight(op);

	dkc_work(DKC_WORK_ORDERED, 1);
	while (*at && dkc_tree_weight(*at) >= weight) {
		(*at)->tree_size++;
		at = dkc_name_before((*at)->name, op->name) ? &(*at)->behind :
							      &(*at)->before;
	}
	op->tree_size = dkc_tree_size(*at) + 1;
	dkc_tree_split(*at, op->name, &op->before, &op->behind);
	*at = op;
}

static void dkc_tree_remove(struct dk_op *op)
{
	struct dk_op **at = &op->reg->ops_tree;

	while (*at != op) {
		(*at)->tree_size--;
		at = dkc_name_before((*at)->name, op->name) ? &(*at)->behind :
							      &(*at)->before;
	}
	*at = dkc_tree_join(op->before, op->behind);
}

/* Outside of the tree @before and @behind are those in the list. */
void dkc_order_add(struct dk_op *op)
{
	struct dk_op **first = &op->reg->ops_unordered;

	op->reg->order++;
	op->tree_size = 0;
	op->before = NULL;
	op->behind = *first;
	if (*first)
		(*first)->before = op;
	*first = op;
}

void dkc_order_remove(struct dk_op *op)
{
	op->reg->order++;
	if (op->tree_size) {
		dkc_tree_remove(op);
		return;
	}
	if (op->before)
		op->before->behind = op->behind;
	else
		op->reg->ops_unordered = op->behind;
	if (op->behind)
		op->behind->before = op->before;
}

bool dkc_order_some(struct dk_registry *reg, u32 n)
{
	struct dk_op *op;

	while (n-- && (op = reg->ops_unordered)) {
		reg->ops_unordered = op->behind;
		if (op->behind)
			op->behind->before = NULL;
		dkc_tree_add(op);
	}
	return !reg->ops_unordered;
}

static struct dk_op *dkc_tree(struct dk_registry *reg)
{
	while (!dkc_order_some(reg, 1))
		;
	return reg->ops_tree;
}

struct dk_op *dkc_op_at(struct dk_registry *reg, u32 n)
{
	struct dk_op *op = dkc_tree(reg);

	while (op) {
		u32 before = dkc_tree_size(op->before);

		if (n == before)
			break;
		if (n < before) {
			op = op->before;
		} else {
			n -= before + 1;
			op = op->behind;
		}
	}
	return op;
}

u32 dkc_op_place(struct dk_registry *reg, const char *name)
{
	return dkc_tree_before(dkc_tree(reg), name);
}
