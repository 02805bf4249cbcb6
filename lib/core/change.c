// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A change: compute the rows of all operators that it touches, then publish
 * each with one pointer. Until the first pointer is set it can be cancelled;
 * from then on no step fails.
 */
#include "registry.h"

/*
 * Readers that see the registry as it was between two changes see the block as it was
 * then. Stores to it are released: a reader that sees one sees that the half change before
 * it is over: selftests/model/view.pml.
 */
void dkc_block_turn(struct dkc_block *b, bool live)
{
	struct dk_registry *reg = b->prov->reg;

	dkc_store_release(b->state, live ? DKC_COMING : DKC_LEAVING);
	dkc_changed(reg, DKC_HALF_CHANGE);
	dkc_store_release(b->state, live ? DKC_LIVE : DKC_GOING);
	dkc_changed(reg, DKC_HALF_CHANGE);
}

void dkc_change_add(struct dkc_change *ch, struct dk_op *op)
{
	if (op->changing)
		return;
	op->changing = true;
	op->next = ch->ops;
	ch->ops = op;
}

/* The operators whose rows show the change, or that lack one. */
void dkc_change_add_fallbacks(struct dkc_change *ch, struct dk_registry *reg)
{
	const struct dkc_row *row;
	struct dk_op *op;
	u32 pos = 0;

	if (!dkc_fallbacks_changed(reg))
		return;
	while ((op = dkc_op_next(reg, &pos))) {
		row = dkc_deref_locked(op->base);
		if (row ? dkc_row_shows_change(reg, row) : dkc_op_alive(op))
			dkc_change_add(ch, op);
	}
}

static struct dk_op *dkc_change_take(struct dkc_change *ch)
{
	struct dk_op *op = ch->ops;

	if (op) {
		ch->ops = op->next;
		op->next = NULL;
		op->changing = false;
	}
	return op;
}

static struct dkc_row *dkc_change_take_row(struct dkc_change *ch)
{
	struct dkc_row *row = ch->rows;

	if (row)
		ch->rows = row->next;
	return row;
}

/* Build all rows; on failure nothing has changed and the change is over. */
int dkc_change_prepare(struct dkc_change *ch)
{
	struct dkc_row **end = &ch->rows, *row;
	struct dk_op *op;

	if (ch->ops)
		dkc_change_traced(ch->ops->reg);
	for (op = ch->ops; op; op = op->next) {
		*end = dkc_row_build(op, true);
		if (!*end) {
			dkc_change_cancel(ch);
			return -ENOMEM;
		}
		end = &(*end)->next;
	}
	/* where there is no memory for counters, calls are not counted */
	for (op = ch->ops, row = ch->rows; op; op = op->next, row = row->next)
		dkc_stats_cover(op, row, true);
	return 0;
}

void dkc_change_cancel(struct dkc_change *ch)
{
	struct dk_op *op;

	while ((op = dkc_change_take(ch)))
		dkc_row_discard(op->reg, dkc_change_take_row(ch));
	dkc_news_free(ch->news);
	ch->news = NULL;
}

/* The full row as counters want it; where there is no memory, the slow path counts. */
static const struct dkc_row *dkc_row_counted(const struct dk_op *op, const struct dkc_row *full,
					     bool may_sleep)
{
	const struct dkc_row *row;

	if (full->direct == DK__NOT_DIRECT)
		return full;
	row = dkc_row_count(op, full, may_sleep);
	return row ? row : dkc_row_aside(op->flags);
}

/* What calls see: the full row, one that is counted, or a constant one that stands for it. */
static const struct dkc_row *dkc_row_for_calls(const struct dk_op *op, const struct dkc_row *full,
					       bool may_sleep)
{
	if (op->reg->shutdown)
		return &dkc_row_gone;
	if (!op->definer)
		return &dkc_row_undefined;
	if (op->reg->tables == DKC_TABLES_ASIDE)
		return dkc_row_aside(op->flags);
	if (!full || (op->reg->flags & DK_REGISTRY_FORCE_RESOLVE))
		return dkc_row_resolve(op->flags);
	return op->reg->tables == DKC_TABLES_COUNTED ? dkc_row_counted(op, full, may_sleep) : full;
}

void dkc_op_set_table(struct dk_op *op, const struct dkc_row *row)
{
	const struct dkc_row *old = dkc_deref_locked(op->row);

	dkc_publish(op->row, row);
	/* a copy by which calls were counted */
	if (old->kind == DKC_ROW_FULL && old != dkc_deref_locked(op->base))
		dkc_row_retire(op->reg, old);
}

void dkc_change_tables(struct dk_registry *reg, bool may_sleep)
{
	struct dk_op *op;
	u32 pos = 0;

	while ((op = dkc_op_next(reg, &pos)))
		dkc_op_set_table(op, dkc_row_for_calls(op, dkc_deref_locked(op->base), may_sleep));
}

/* The fast path runs no hooks and traces nothing, and counts by tables of its own. */
static u8 dkc_tables_of(const struct dk_registry *reg)
{
	bool counted = dkc_deref_locked(reg->stats);

	if (reg->watched > counted || !dkc_has_fast_calls())
		return DKC_TABLES_ASIDE;
	return counted ? DKC_TABLES_COUNTED : DKC_TABLES_PLAIN;
}

void dkc_change_watched(struct dk_registry *reg, bool more)
{
	u8 tables;

	dkc_store(reg->watched, more ? reg->watched + 1 : reg->watched - 1);
	tables = dkc_tables_of(reg);
	if (tables == reg->tables)
		return;
	reg->tables = tables;
	dkc_change_tables(reg, more);
}

/*
 * In userspace nothing reports that a tracer attaches, so that it gets the calls from the
 * next change of the registry on.
 */
void dkc_change_traced(struct dk_registry *reg)
{
	bool traced = dkc_calls_are_traced();

	if (traced != reg->traced) {
		reg->traced = traced;
		dkc_change_watched(reg, traced);
	}
}

static void dkc_op_publish(struct dk_op *op, const struct dkc_row *full, bool may_sleep)
{
	const struct dkc_row *old = dkc_deref_locked(op->base);

	if (!op->sig)
		dkc_store(op->sig, dkc_op_sig(op));
	dkc_op_set_table(op, dkc_row_for_calls(op, full, may_sleep));
	dkc_publish(op->base, full);
	dkc_trace(publish, op, dkc_row_of_op(op));
	dkc_row_retire(op->reg, old);
	dkc_op_settle(op);
}

void dkc_change_commit(struct dkc_change *ch)
{
	struct dk_op *op;

	while ((op = dkc_change_take(ch)))
		dkc_op_publish(op, dkc_change_take_row(ch), true);
}

/*
 * Removal must not fail. A row that finds no memory is left out, and the evaluator
 * serves the operator until dkc_change_rebuild(), after the drain at the latest.
 */
void dkc_change_force(struct dkc_change *ch)
{
	struct dkc_row *row;
	struct dk_op *op;

	if (ch->ops)
		dkc_change_traced(ch->ops->reg);
	while ((op = ch->ops)) {
		row = dkc_row_build(op, false);
		if (!row)
			op->reg->unbuilt = 1;
		dkc_stats_cover(op, row, false);
		dkc_op_publish(dkc_change_take(ch), row, false);
	}
}

/*
 * The work of one hold of the lock, in slots of the table of names looked at. To build a
 * table takes as long as to look at some.
 */
#define DKC_REBUILD_MAX		1024
#define DKC_REBUILD_TABLE	16

static bool dkc_op_rebuild(struct dk_op *op, bool may_sleep)
{
	struct dkc_row *row = dkc_row_build(op, may_sleep);

	if (!row)
		return false;
	dkc_work(DKC_WORK_TABLES, 1);
	dkc_stats_cover(op, row, may_sleep);
	dkc_op_publish(op, row, may_sleep);
	return true;
}

bool dkc_change_rebuild(struct dk_registry *reg, bool may_sleep)
{
	u32 pos, left = DKC_REBUILD_MAX;
	struct dk_op *op;

	if (!reg->unbuilt)
		return false;
	pos = reg->unbuilt - 1;
	while ((op = dkc_op_next_of(reg, &pos, &left))) {
		if (dkc_deref_locked(op->base) || !dkc_op_alive(op))
			continue;
		if (!dkc_op_rebuild(op, may_sleep)) {
			reg->unbuilt = pos;
			return false;
		}
		left -= left < DKC_REBUILD_TABLE ? left : DKC_REBUILD_TABLE;
	}
	reg->unbuilt = left ? 0 : pos + 1;
	return !left;
}
