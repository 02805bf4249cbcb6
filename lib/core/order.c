// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The operators by name, for lists: an array that the first list makes, and that
 * follows what is registered and unregistered from then on. New operators are appended.
 * The next list puts them into a heap and merges that with those in order into another
 * array, some in each hold of the lock. The array is freed where there is no memory for a
 * longer one, or when many operators leave between two lists, and the next list makes it
 * again.
 */
#include "registry.h"

#define DKC_ORDER_SPARE	32	/* places for new operators, at least */
#define DKC_ORDER_LEAVING	16	/* taken out between two lists, each by a pass */
#define DKC_ORDER_FILLED	(~0U)

struct dkc_order {
	u32 slot;		/* operators before it in the table of names are here */
	u32 sorted;
	u32 heap;		/* after those in order: the first name is on top */
	u32 fresh;		/* from here on operators are in neither */
	u32 num;
	u32 room;
	u32 left;		/* taken out since the last list */
	u32 merged;		/* how many of @sorted are in @next, too */
	struct dkc_order *next;	/* that of all in order, in the making, or NULL */
	struct dk_op *op[];
};

/* What is left of the work of a hold of the lock, in pointers moved and slots passed. */
static void dkc_order_moved(u32 *left, u32 n)
{
	dkc_work(DKC_WORK_ORDERED, n);
	*left -= n < *left ? n : *left;
}

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

/* ---- a heap ------------------------------------------------------------------ */

/* @i operators are in it. */
static void dkc_heap_push(struct dk_op **heap, u32 i, struct dk_op *op, u32 *left)
{
	u32 parent, moves = 1;

	for (; i; i = parent, moves++) {
		parent = (i - 1) / 2;
		if (!dkc_name_before(op->name, heap[parent]->name))
			break;
		heap[i] = heap[parent];
	}
	heap[i] = op;
	dkc_order_moved(left, moves);
}

/* The first of @n by name; the last one of the array goes down from the top. */
static struct dk_op *dkc_heap_pop(struct dk_op **heap, u32 n, u32 *left)
{
	struct dk_op *top = heap[0], *op = heap[--n];
	u32 i = 0, child, moves = 1;

	for (; (child = 2 * i + 1) < n; i = child, moves++) {
		if (child + 1 < n && dkc_name_before(heap[child + 1]->name, heap[child]->name))
			child++;
		if (!dkc_name_before(heap[child]->name, op->name))
			break;
		heap[i] = heap[child];
	}
	heap[i] = op;
	dkc_order_moved(left, moves);
	return top;
}

/* ---- what comes and leaves ----------------------------------------------------- */

static struct dkc_order *dkc_order_make(u32 room)
{
	struct dkc_order *o = dkc_alloc(offsetof(struct dkc_order, op) +
					room * sizeof(o->op[0]));

	if (o)
		o->room = room;
	return o;
}

void dkc_order_free(struct dk_registry *reg)
{
	if (reg->order)
		dkc_free(reg->order->next);
	dkc_free(reg->order);
	reg->order = NULL;
}

/* False: there was no room, and there is no array any more. */
static bool dkc_order_append(struct dk_registry *reg, struct dk_op *op)
{
	struct dkc_order *o = reg->order;

	if (o->num == o->room) {
		dkc_order_free(reg);
		return false;
	}
	o->op[o->num++] = op;
	return true;
}

void dkc_order_add(struct dk_op *op, u32 slot)
{
	struct dk_registry *reg = op->reg;

	dkc_assert_held(&reg->lock);
	reg->moves++;
	if (reg->order && slot < reg->order->slot)
		dkc_order_append(reg, op);
}

void dkc_order_remove(const struct dk_op *op, u32 slot)
{
	struct dkc_order *o = op->reg->order;
	u32 i;

	dkc_assert_held(&op->reg->lock);
	op->reg->moves++;
	if (!o || slot >= o->slot)
		return;
	i = dkc_place_in(o->op, o->sorted, op->name);
	if (i == o->sorted || o->op[i] != op || o->next || o->left++ == DKC_ORDER_LEAVING) {
		dkc_order_free(op->reg);
		return;
	}
	o->sorted--;
	o->fresh--;
	memmove(&o->op[i], &o->op[i + 1], (--o->num - i) * sizeof(o->op[0]));
}

void dkc_order_new_slots(struct dk_registry *reg)
{
	if (reg->order && reg->order->slot != DKC_ORDER_FILLED)
		dkc_order_free(reg);
}

/* ---- into order ----------------------------------------------------------------- */

/* From the table of names; false where the array turned out too short. */
static bool dkc_order_fill(struct dk_registry *reg, u32 *left)
{
	struct dkc_order *o = reg->order;
	struct dk_op *op;

	while (*left && o->slot != DKC_ORDER_FILLED) {
		op = dkc_op_next_of(reg, &o->slot, left);
		if (op && !dkc_order_append(reg, op))
			return false;
		if (!op && *left)
			o->slot = DKC_ORDER_FILLED;
	}
	return true;
}

/* All that is new, for as long as nothing is merged. */
static void dkc_order_heap(struct dkc_order *o, u32 *left)
{
	while (*left && o->fresh < o->num)
		dkc_heap_push(&o->op[o->sorted], o->heap++, o->op[o->fresh++], left);
}

/* The next ones by name: those in order that are before the top of the heap, or that. */
static void dkc_order_merge(struct dkc_order *o, u32 *left)
{
	struct dk_op **heap = &o->op[o->sorted], **from;
	struct dkc_order *next = o->next;
	u32 n;

	while (*left && (o->heap || o->merged < o->sorted)) {
		from = &o->op[o->merged];
		n = o->sorted - o->merged;
		if (o->heap)
			n = dkc_place_in(from, n, heap[0]->name);
		if (n > *left)
			n = *left;
		if (n) {
			memcpy(&next->op[next->sorted], from, n * sizeof(*from));
			o->merged += n;
			dkc_order_moved(left, n);
		} else {
			next->op[next->sorted] = dkc_heap_pop(heap, o->heap--, left);
			n = 1;
		}
		next->sorted += n;
		next->fresh = next->sorted;
		next->num = next->sorted;
	}
}

/* After those in order what has come meanwhile; then it is the list's array. */
static void dkc_order_turn(struct dk_registry *reg, u32 *left)
{
	struct dkc_order *o = reg->order, *next = o->next;

	for (; *left && o->fresh < o->num; dkc_order_moved(left, 1))
		next->op[next->num++] = o->op[o->fresh++];
	if (!*left)
		return;
	o->next = NULL;
	dkc_order_free(reg);
	reg->order = next;
}

/* Places for all operators, and for some that come. */
static u32 dkc_order_room(const struct dk_registry *reg)
{
	return reg->num_ops + reg->num_ops / 2 + DKC_ORDER_SPARE;
}

/* One round, or a part of it: 0 if there is nothing new. */
static int dkc_order_round(struct dk_registry *reg, u32 *left)
{
	struct dkc_order *o = reg->order;
	u32 room;

	if (!o->next) {
		dkc_order_heap(o, left);
		if (!*left)
			return -EAGAIN;
		if (!o->heap)
			return 0;
		room = dkc_order_room(reg);
		o->next = dkc_order_make(room > o->room ? room : o->room);
		if (!o->next)
			return -ENOMEM;
		o->next->slot = DKC_ORDER_FILLED;
	}
	dkc_order_merge(o, left);
	dkc_order_turn(reg, left);
	return -EAGAIN;
}

int dkc_order_some(struct dk_registry *reg, u32 work)
{
	int err = -EAGAIN;

	dkc_assert_held(&reg->lock);
	do {
		if (!work)
			return -EAGAIN;
		if (!reg->order)
			reg->order = dkc_order_make(dkc_order_room(reg));
		if (!reg->order)
			return -ENOMEM;
		reg->order->left = 0;
	} while (!dkc_order_fill(reg, &work));
	while (work && err == -EAGAIN)
		err = dkc_order_round(reg, &work);
	return err;
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
