// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Builds and frees tables. A table has functions, including backend fallbacks, and an index, which
 * other tables may share. The index has the masks and, for each entry, a byte that selects the
 * entry's function.
 */
#include "table.h"

static size_t table_size(const struct dkc_index *index, bool counted)
{
	return offsetof(struct dkc_table, entry) + index->n * sizeof(struct dk__entry) +
	       (counted ? (1 + index->n) * sizeof(struct dk__count) : 0);
}

static struct dk__entry *entry_fill(struct dk__entry *entry, const struct dkc_reg *r)
{
	entry->reg = r;
	entry->fn = dkc_impl_of(r)->fn;	/* NULL for a fallthrough */
	return entry + 1;
}

/* Fills in the functions, in the order in which build_index() numbers them. */
static void table_fill(const struct dk_op *op, struct dkc_table *table)
{
	const struct dkc_scratch *sc = op->reg->scratch;
	struct dk__entry *entry = table->entry;
	const u64 aliases = table->index->used;
	u64 fallbacks[DKC_SLOT_WORDS];
	unsigned int group, slot, i;

	dkc_fallback_slots(op->reg, table->index, fallbacks);
	dkc_for_each_slot(slot, fallbacks, sc->words)
		entry = entry_fill(entry, dkc_fallback_at(op, slot, NULL));
	for (group = 0; group < DKC_GROUPS; group++) {
		dkc_for_each_slot(i, &aliases, 1)
			if (sc->alias[i]->group == group)
				entry = entry_fill(entry, sc->alias[i]);
		dkc_for_each_slot(slot, sc->key->slots + group * sc->words, sc->words)
			entry = entry_fill(entry, sc->slot[slot]);
	}
}

/* Returns the lowest id that the fast path calls directly, or a constant like DK__NOT_DIRECT. */
static u32 first_direct(const struct dk_op *op, const struct dkc_index *index)
{
	u32 bits = dkc_slots_are_gate() || (op->flags & DK_OP_ATOMIC) ? 0 : DK__GATES;

	if (!op->reg->v1)
		return DK__NOT_DIRECT;
	if (op->flags & DK_OP_SAME_DEVICE)
		return DK__ONE_DEVICE | bits;
	return bits ? DK__SLEEPS : index->lowest;
}

static struct dk__count counter_at(const struct dk_registry *reg, u32 n)
{
	return dkc_count_at(&reg->counters->block[n / DKC_COUNTS]->counts, n % DKC_COUNTS);
}

static void add_counters(const struct dk_op *op, struct dkc_table *table)
{
	u32 i;

	table->direct = table->direct > DK__NOT_DIRECT ? table->direct | DK__COUNTS : DK__COUNTED;
	table->counters = (struct dk__count *)(table->entry + table->n);
	table->counters[0] = counter_at(op->reg, op->missing);
	for (i = 0; i < table->n; i++)
		table->counters[1 + i] = counter_at(op->reg,
						    dkc_reg_counter(op, table->entry[i].reg));
}

/*
 * Builds the table for objects on the device whose first registration is @first or, if @first is
 * NULL, for all objects that are not on a device with functions.
 */
static struct dkc_table *table_build_one(struct dk_op *op, const struct dkc_reg *first,
					 bool counted, bool may_sleep)
{
	struct dkc_index *index;
	struct dkc_table *table;

	cond_resched();
	dkc_work(DKC_WORK_STEPS, 1);
	index = dkc_index_get(op, first, may_sleep);
	table = index ? dkc_alloc(table_size(index, counted), may_sleep) : NULL;
	if (!table) {
		dkc_index_put(op->reg, index);
		return NULL;
	}
	table->index = index;
	table->kind = DKC_TABLE_FULL;
	table->op_flags = op->flags;
	table->sig = dkc_op_sig(op) ? : DKC_SIG_UNKNOWN;
	table->n = index->n;
	table->lowest = index->lowest;
	table->direct = first_direct(op, index);
	table_fill(op, table);
	if (counted)
		add_counters(op, table);
	return table;
}

/* Returns the first registration of the next device whose functions may serve, or NULL. */
static const struct dkc_reg *next_device(const struct dk_op *op, const struct dkc_reg *r)
{
	const struct dkc_block *b = r ? dkc_block_of(r) : NULL;

	do
		r = dkc_device_reg_walk(op, r);
	while (r && (dkc_block_of(r) == b || !dkc_may_serve(r)));
	return r;
}

/* The first slot is reserved for number 0. */
static void device_tables_insert(struct dkc_device_tables *tab, u32 number,
				 const struct dkc_table *table)
{
	u32 i = number & tab->mask;

	while (!i || tab->slot[i].number)
		i = (i + 1) & tab->mask;
	tab->slot[i].number = number;
	tab->slot[i].table = table;
}

static u32 num_devices_of(const struct dk_op *op)
{
	const struct dkc_reg *r = NULL;
	u32 n = 0;

	while ((r = next_device(op, r)))
		n++;
	return n;
}

static void table_drop(struct dk_registry *reg, const struct dkc_table *table, bool published)
{
	struct dkc_table *r = (struct dkc_table *)table;
	const struct dkc_index *index = r->index;

	/* Retire the table before its index is freed. */
	if (published)
		dkc_free_table_rcu(r);
	else
		kvfree(r);
	dkc_index_put(reg, index);
}

/*
 * Makes device tables of @size slots, and stores @none, the table for objects on no such device, in
 * all slots. If the allocation fails, frees @none and returns NULL.
 */
static struct dkc_device_tables *device_tables_make(struct dk_registry *reg, u32 size,
						    const struct dkc_table *none, bool may_sleep)
{
	struct dkc_device_tables *tab;
	u32 i;

	tab = dkc_alloc(offsetof(struct dkc_device_tables, slot) + size * sizeof(tab->slot[0]),
			may_sleep);
	if (!tab) {
		table_drop(reg, none, false);
		return NULL;
	}
	for (i = 0; i < size; i++)
		tab->slot[i].table = none;
	tab->mask = size - 1;
	return tab;
}

/* True if calls find each device without a search in a table of @size slots, at most 64. */
static bool all_in_place(const struct dk_op *op, u32 size)
{
	const struct dkc_reg *r = NULL;
	u64 used = 1, bit;

	while ((r = next_device(op, r))) {
		bit = 1ULL << (dkc_block_of(r)->device & (size - 1));
		if (used & bit)
			return false;
		used |= bit;
	}
	return true;
}

/*
 * Returns the size of a hash table of which @n devices use less than half. If a size up to four
 * times as large, but at most 64, avoids all collisions, returns that size, so that calls find each
 * device without a search.
 */
static u32 num_slots_for(const struct dk_op *op, u32 n)
{
	u32 size = 2, more;

	while (size < 2 * n + 2)
		size *= 2;
	for (more = size; more <= 4 * size && more <= 64; more *= 2)
		if (all_in_place(op, more))
			return more;
	return size;
}

static __cold void device_tables_drop(struct dk_registry *reg, struct dkc_device_tables *tab,
				      bool published)
{
	u32 i;

	for (i = 0; i <= tab->mask; i++)
		if (!i || tab->slot[i].number)
			table_drop(reg, tab->slot[i].table, published);
	if (published)
		kvfree_rcu(tab, rcu);
	else
		kvfree(tab);
}

static void tables_drop(struct dk_registry *reg, const struct dkc_table *table, bool published)
{
	struct dkc_device_tables *tab;

	if (!table)
		return;
	tab = (struct dkc_device_tables *)dkc_table_devices(table);
	/*
	 * Drop @table first: in userspace, a slot that points to @table also protects the device
	 * tables.
	 */
	table_drop(reg, table, published);
	if (tab)
		device_tables_drop(reg, tab, published);
}

/*
 * Returns a table without entries. It points to the device tables, and has the index of one of
 * them, @one. If the table of a call's device has this index, too, the call need not look up its
 * keyset again. If @one is NULL or the allocation fails, frees @tab and returns NULL.
 */
static struct dkc_table *table_of_devices(const struct dk_op *op, struct dkc_device_tables *tab,
					  const struct dkc_table *one, bool may_sleep)
{
	struct dkc_table *table = one ? dkc_alloc(sizeof(*table), may_sleep) : NULL;
	u32 i;

	if (!table) {
		device_tables_drop(op->reg, tab, false);
		return NULL;
	}
	*table = *one;
	((struct dkc_index *)table->index)->users++;
	table->n = 0;
	table->devices = tab;
	for (i = 0; i <= tab->mask; i++)
		tab->slot[i].same = tab->slot[i].table->index == one->index ?
				    tab->slot[i].number : ~i;
	if (op->reg->v1 && !(op->flags & DK_OP_SAME_DEVICE))
		table->direct = DK__BY_DEVICE;
	else if (dkc_is_counted(one))
		/* not DK__ONE_DEVICE alone: find_on_one_device() does not count */
		table->direct = DK__ONE_DEVICE | DK__GATES;
	return table;
}

void __cold dkc_table_discard(struct dk_registry *reg, const struct dkc_table *table)
{
	tables_drop(reg, table, false);
}

void dkc_table_retire(struct dk_registry *reg, const struct dkc_table *table)
{
	dkc_assert_writer(reg);
	tables_drop(reg, table, true);
}

struct dkc_table *dkc_table_build(struct dk_op *op, bool counted, bool may_sleep)
{
	struct dkc_table *table = table_build_one(op, NULL, counted, may_sleep);
	struct dkc_device_tables *tab;
	const struct dkc_reg *r = NULL;
	u32 n = num_devices_of(op);

	dkc_assert_writer(op->reg);
	if (!n || !table)
		return table;
	tab = device_tables_make(op->reg, num_slots_for(op, n), table, may_sleep);
	while (tab && table && (r = next_device(op, r))) {
		table = table_build_one(op, r, counted, may_sleep);
		if (table)
			device_tables_insert(tab, dkc_block_of(r)->device, table);
	}
	return tab ? table_of_devices(op, tab, table, may_sleep) : NULL;
}

const struct dkc_reg *dkc_table_reg(const struct dk_op *op, const struct dkc_table *table,
				    unsigned int slot)
{
	unsigned int id = table->index->index[slot];

	if (id == DKC_ID_FALLTHROUGH)
		return dkc_fallback_at(op, slot, NULL);
	return id < DKC_ID_FIRST ? NULL : dkc_table_entry(table, id)->reg;
}

const struct dkc_table *dkc_table_of_op(const struct dk_op *op)
{
	const struct dkc_table *table = dkc_deref(op->table, op->reg), *base;

	if (likely(table->kind != DKC_TABLE_BYPASS) ||
	    (op->reg->flags & DK_REGISTRY_FORCE_RESOLVE))
		return table;
	base = dkc_deref(op->base, op->reg);
	return base ? base : table;
}

const struct dkc_table *dkc_table_of_device(const struct dkc_table *table, u32 device)
{
	const struct dkc_device_tables *tab = dkc_table_devices(table);

	return tab ? dkc_device_tables_table(tab, device) : table;
}

u32 __cold dkc_reg_counter(const struct dk_op *op, const struct dkc_reg *r)
{
	const struct dkc_block *b = r ? dkc_block_of(r) : NULL;
	const struct dkc_numbers *numbers;

	if (!r)
		/* Pairs with smp_store_release() in counter_assign(). */
		return smp_load_acquire(&op->missing);
	numbers = b->fallback ? dkc_deref(op->numbers, op->reg) :
				dkc_deref(b->numbers, b->prov->reg);
	/* Pairs with smp_store_release() in counter_assign(). */
	return numbers ? smp_load_acquire(&numbers->of[dkc_place_of(r)]) : 0;
}
