// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Changes. A change builds the tables of all operators that it affects, and then publishes each
 * table by storing one pointer. Before the first store the change can be cancelled. After that
 * store no step fails.
 */
#include "state.h"

/*
 * Changes @state of the block in two steps. After each step, counts half a change: dkc_changed(). A
 * view that began before the first count does not include the change; later views do. In the first
 * state (DKC_ADDING, DKC_REMOVING) a reader decides by the count in its view: is_in_view() in
 * table/rules.c. In the second state the reader need not: if its view began before the first count,
 * dkc_view_holds() returns false anyway. Model: selftests/model/view.pml.
 */
void dkc_block_set_live(struct dkc_block *b, bool live)
{
	struct dk_registry *reg = b->prov->reg;

	dkc_assert_writer(reg);
	/* Pairs with smp_rmb() in dkc_view_holds(). */
	smp_store_release(&b->state, live ? DKC_ADDING : DKC_REMOVING);
	dkc_changed(reg, DKC_HALF_CHANGE);
	/* Pairs with smp_rmb() in dkc_view_holds(). */
	smp_store_release(&b->state, live ? DKC_LIVE : DKC_REMOVED);
	dkc_changed(reg, DKC_HALF_CHANGE);
}

void dkc_change_add(struct dkc_change *ch, struct dk_op *op)
{
	dkc_assert_writer(op->reg);
	if (op->changing)
		return;
	op->changing = true;
	op->next = ch->ops;
	ch->ops = op;
}

/* Adds the operators whose table may change, and all operators without a table. */
void dkc_change_add_fallbacks(struct dkc_change *ch, struct dk_registry *reg)
{
	const struct dkc_table *table;
	struct dk_op *op;
	u32 pos = 0;

	dkc_assert_writer(reg);
	if (!dkc_fallbacks_changed(reg))
		return;
	while ((op = dkc_op_next(reg, &pos))) {
		table = dkc_deref_locked(op->base, op->reg);
		if (table ? dkc_table_shows_change(reg, table) : dkc_op_alive(op))
			dkc_change_add(ch, op);
	}
}

static struct dk_op *change_take(struct dkc_change *ch)
{
	struct dk_op *op = ch->ops;

	if (op) {
		ch->ops = op->next;
		op->next = NULL;
		op->changing = false;
	}
	return op;
}

static struct dkc_table *change_take_table(struct dkc_change *ch)
{
	struct dkc_table *table = ch->tables;

	if (table)
		ch->tables = table->next;
	return table;
}

/* On failure the change is cancelled. */
int dkc_change_prepare(struct dkc_change *ch)
{
	struct dkc_table **end = &ch->tables, *table;
	struct dk_op *op;

	for (op = ch->ops; op; op = op->next) {
		*end = dkc_table_build(op, false, true);
		if (!*end) {
			dkc_change_cancel(ch);
			return -ENOMEM;
		}
		end = &(*end)->next;
	}
	/* Ignore failures: counter 0 counts calls that have no counter. */
	for (op = ch->ops, table = ch->tables; op; op = op->next, table = table->next)
		dkc_stats_cover(op, table, true);
	return 0;
}

void dkc_change_cancel(struct dkc_change *ch)
{
	struct dk_op *op;

	while ((op = change_take(ch))) {
		dkc_table_discard(op->reg, change_take_table(ch));
		dkc_op_release(op);
	}
}

/*
 * Returns a copy of the full table with counters. If allocation fails, returns a table that sends
 * all calls to the slow path, which counts calls, too, until dkc_change_rebuild() builds the copy.
 */
static const struct dkc_table *table_counted(struct dk_op *op, const struct dkc_table *full,
					     bool may_sleep)
{
	const struct dkc_table *table;

	if (full->direct == DK__NOT_DIRECT)
		return full;
	table = dkc_table_build(op, true, may_sleep);
	if (!table)
		op->reg->unbuilt = 1;
	return table ? table : dkc_table_bypass(op->flags);
}

/* Returns the table that calls use: the full table, a table with counters, or a constant table. */
static const struct dkc_table *table_for_calls(struct dk_op *op, const struct dkc_table *full,
					       bool may_sleep)
{
	if (op->reg->shutdown)
		return &dkc_table_shutdown;
	if (!op->definer)
		return &dkc_table_undefined;
	if (!full || op->reg->tables == DKC_TABLES_BYPASSED)
		return dkc_table_bypass(op->flags);
	return op->reg->tables == DKC_TABLES_COUNTED ? table_counted(op, full, may_sleep) : full;
}

void dkc_op_set_table(struct dk_op *op, const struct dkc_table *table)
{
	const struct dkc_table *old = dkc_deref_locked(op->table, op->reg);

	dkc_assert_writer(op->reg);
	rcu_assign_pointer(op->table, table);
	/* a table of kind DKC_TABLE_FULL that is not @base has counters, and only calls use it */
	if (old->kind == DKC_TABLE_FULL && old != dkc_deref_locked(op->base, op->reg))
		dkc_table_retire(op->reg, old);
}

void dkc_change_tables(struct dk_registry *reg, bool may_sleep)
{
	struct dk_op *op;
	u32 pos = 0;

	dkc_assert_writer(reg);
	while ((op = dkc_op_next(reg, &pos)))
		dkc_op_set_table(op, table_for_calls(op, dkc_deref_locked(op->base, reg),
						     may_sleep));
}

void dkc_change_watched(struct dk_registry *reg, bool may_sleep)
{
	bool counted = dkc_deref_locked(reg->stats, reg);
	bool reported = dkc_deref_locked(reg->hooks, reg) || reg->traced;
	u8 tables = counted ? DKC_TABLES_COUNTED : DKC_TABLES_PLAIN;

	dkc_assert_writer(reg);
	WRITE_ONCE(reg->watched, counted || reported);
	/* only the slow path runs hooks and tracers; the fast path can count */
	if (reported || !dkc_has_fast_calls() || (reg->flags & DK_REGISTRY_FORCE_RESOLVE))
		tables = DKC_TABLES_BYPASSED;
	if (tables == reg->tables)
		return;
	reg->tables = tables;
	dkc_change_tables(reg, may_sleep);
}

/*
 * In userspace, attaching a tracer does not notify the registry. So calls are traced only after the
 * next change of the registry, which calls this function.
 */
void dkc_change_traced(struct dk_registry *reg)
{
	bool traced = dkc_calls_are_traced();

	if (traced != reg->traced) {
		reg->traced = traced;
		dkc_change_watched(reg, traced);
	}
}

static void op_publish(struct dk_op *op, const struct dkc_table *full, bool may_sleep)
{
	const struct dkc_table *old = dkc_deref_locked(op->base, op->reg);

	cond_resched();
	dkc_work(DKC_WORK_STEPS, 1);
	if (!op->sig)
		WRITE_ONCE(op->sig, dkc_op_sig(op));
	dkc_op_set_table(op, table_for_calls(op, full, may_sleep));
	rcu_assign_pointer(op->base, full);
	dkc_trace(publish, op, dkc_table_of_device(dkc_table_of_op(op), 0));
	dkc_table_retire(op->reg, old);
	dkc_op_release(op);
}

void dkc_change_commit(struct dkc_change *ch)
{
	struct dk_registry *reg = ch->ops ? ch->ops->reg : NULL;
	struct dk_op *op;

	while ((op = change_take(ch)))
		op_publish(op, change_take_table(ch), true);
	/* after the loop: this may build tables with counters for all operators */
	if (reg)
		dkc_change_traced(reg);
}

/*
 * Removal must not fail. If a table cannot be allocated, calls of its operator evaluate the rules
 * until dkc_change_rebuild() has built the table. dkc_change_rebuild() is called by
 * dk_op_undefine(), and by dkc_wait() after running calls have returned.
 */
void dkc_change_force(struct dkc_change *ch)
{
	struct dk_registry *reg = ch->ops ? ch->ops->reg : NULL;
	struct dkc_table *table;
	struct dk_op *op;

	while ((op = ch->ops)) {
		table = dkc_table_build(op, false, false);
		if (!table)
			reg->unbuilt = 1;
		dkc_stats_cover(op, table, false);
		op_publish(change_take(ch), table, false);
	}
	if (reg)
		dkc_change_traced(reg);
}

/*
 * dkc_change_rebuild() returns after visiting this number of slots of the table of names, so that
 * the lock can be released. Building a table counts as DKC_REBUILD_TABLE slots.
 */
#define DKC_REBUILD_MAX		1024
#define DKC_REBUILD_TABLE	16

/* True if there was no memory for the table of the operator, or for its copy with counters. */
static bool op_lacks_table(const struct dk_op *op)
{
	const struct dkc_table *bypass = dkc_table_bypass(op->flags);

	if (!dkc_deref_locked(op->base, op->reg))
		return dkc_op_alive(op);
	return op->reg->tables == DKC_TABLES_COUNTED &&
	       dkc_deref_locked(op->table, op->reg) == bypass;
}

static bool op_rebuild(struct dk_op *op, bool may_sleep)
{
	const struct dkc_table *base = dkc_deref_locked(op->base, op->reg);
	struct dkc_table *table;

	dkc_work(DKC_WORK_TABLES, 1);
	if (base) {
		dkc_op_set_table(op, table_for_calls(op, base, may_sleep));
		return !op_lacks_table(op);
	}
	table = dkc_table_build(op, false, may_sleep);
	if (!table)
		return false;
	dkc_stats_cover(op, table, may_sleep);
	op_publish(op, table, may_sleep);
	return !op_lacks_table(op);
}

bool dkc_change_rebuild(struct dk_registry *reg, bool may_sleep)
{
	u32 pos, budget = DKC_REBUILD_MAX;
	struct dk_op *op;

	if (!reg->unbuilt)
		return false;
	pos = reg->unbuilt - 1;
	while ((op = dkc_op_next_of(reg, &pos, &budget))) {
		if (!op_lacks_table(op))
			continue;
		if (!op_rebuild(op, may_sleep)) {
			reg->unbuilt = pos;
			return false;
		}
		budget -= budget < DKC_REBUILD_TABLE ? budget : DKC_REBUILD_TABLE;
	}
	reg->unbuilt = budget ? 0 : pos + 1;
	return !budget;
}
