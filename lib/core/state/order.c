// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Keeps the operators sorted by name, for listings, in a treap: a binary search tree by name that
 * is also a heap by the hashes of the names. The heap keeps the tree as balanced as if the names
 * had been inserted in random order. For walks, each operator also points to the next one. The
 * first listing inserts all operators. After that, an operator is inserted when it is added to the
 * table of names.
 */
#include "state.h"

static bool name_before(const char *s, const char *t)
{
	while (*s && *s == *t) {
		s++;
		t++;
	}
	return (u8)*s < (u8)*t;
}

/* Inserts an operator. Returns 1 plus the number of names that were compared with its name. */
static u32 order_insert(struct dk_op *op)
{
	struct dk_op **link = &op->reg->order, **end[2] = { &op->child[0], &op->child[1] }, *at;
	struct dk_op **after = &op->reg->first;
	u32 steps = 1;
	bool before;

	for (; (at = *link) && at->hash >= op->hash; steps++) {
		before = name_before(at->name, op->name);
		if (before)
			after = &at->after;
		link = &at->child[before];
	}
	*link = op;
	/* split the rest: operators before @op go into child[0] of @op, the others into child[1] */
	for (; at; steps++) {
		before = name_before(at->name, op->name);
		if (before)
			after = &at->after;
		*end[!before] = at;
		end[!before] = &at->child[before];
		at = at->child[before];
	}
	*end[0] = NULL;
	*end[1] = NULL;
	op->after = *after;
	*after = op;
	op->sorted = true;
	dkc_work(DKC_WORK_ORDERED, steps);
	return steps;
}

void dkc_order_add(struct dk_op *op, u32 slot)
{
	dkc_assert_writer(op->reg);
	if (slot < op->reg->sorted_slots)
		order_insert(op);
}

void dkc_order_remove(struct dk_op *op)
{
	struct dk_op **link = &op->reg->order, *first = op->child[0], *last = op->child[1];
	struct dk_op **after = &op->reg->first, *at;
	bool before;

	dkc_assert_writer(op->reg);
	if (!op->sorted)
		return;
	while ((at = *link) != op) {
		before = name_before(at->name, op->name);
		if (before)
			after = &at->after;
		link = &at->child[before];
	}
	for (at = first; at; at = at->child[1])
		after = &at->after;
	*after = op->after;
	/* join the children of @op: all names under @first precede all names under @last */
	while (first && last) {
		if (first->hash >= last->hash) {
			*link = first;
			link = &first->child[1];
			first = *link;
		} else {
			*link = last;
			link = &last->child[0];
			last = *link;
		}
	}
	*link = first ? first : last;
	op->sorted = false;
}

int dkc_order_some(struct dk_registry *reg, u32 work)
{
	struct dk_op *op;
	u32 steps;

	dkc_assert_writer(reg);
	while ((op = dkc_op_next_of(reg, &reg->sorted_slots, &work))) {
		/* an operator may be sorted already if the table of names was replaced */
		steps = op->sorted ? 0 : order_insert(op);
		work -= steps < work ? steps : work;
	}
	return work ? 0 : -EAGAIN;
}

struct dk_op *dkc_op_from(const struct dk_registry *reg, const char *name, bool after)
{
	struct dk_op *at = reg->order, *found = NULL;
	bool before;

	dkc_assert_writer(reg);
	while (at) {
		before = after ? !name_before(name, at->name) : name_before(at->name, name);
		if (!before)
			found = at;
		at = at->child[before];
	}
	return found;
}
