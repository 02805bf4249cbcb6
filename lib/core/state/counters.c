// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Counts how often each function served each operator.
 *
 * Counters have numbers from 1. A struct dkc_block has the numbers of its functions' counters. An
 * operator has the number of a counter for calls that no function serves, and one for each slot at
 * which a backend fallback serves calls. Counters are assigned before a table is published, so that
 * calls never allocate memory. They are released when no call that uses them is running. If there
 * was no memory for a counter, its number is 0, and counter 0, which is shared, counts the calls.
 * While counting is disabled, there are no counters.
 *
 * Each CPU or thread increments its own copy of a counter, which no other CPU or thread writes. The
 * value of a counter is the sum of its copies minus its base. The base is the sum when the counter
 * was assigned or reset. A reset changes only bases, so it loses no call. When a function is
 * unregistered, the values of its counters are added to withdrawn_counts of the registry. A reset
 * adds the values that it clears to past_counts. So the number of calls since a reset is the sum of
 * all copies minus past_counts, even if functions were unregistered.
 */
#include "state.h"

#define FREE_COUNTER	(~0ULL)	/* the provider of a counter that is free */

void dkc_stats_count(const struct dk_op *op, const struct dkc_reg *r)
{
	const struct dkc_stats *s;
	struct dk__count at;
	u32 n;

	rcu_read_lock();
	s = dkc_deref(op->reg->stats, op->reg);
	/*
	 * Pairs with rcu_assign_pointer() in dk_stats_enable(): the number that is loaded below is
	 * not left over from counters that were disabled. Model: selftests/model/count.pml.
	 */
	smp_rmb();
	n = s ? dkc_reg_counter(op, r) : 0;
	/* the counter may be in a block that was added after @s was loaded */
	if (s && unlikely(n / DKC_COUNTS >= s->num))
		s = dkc_deref(op->reg->stats, op->reg);
	if (s && likely(n / DKC_COUNTS < s->num)) {
		at = dkc_count_at(&s->block[n / DKC_COUNTS]->counts, n % DKC_COUNTS);
		dkc_count_add(&at);
	}
	rcu_read_unlock();
}

/* ---- numbers ------------------------------------------------------------------ */

static struct dkc_counter *counter_at(const struct dk_registry *reg, u32 n)
{
	return &reg->counters->block[n / DKC_COUNTS]->counter[n % DKC_COUNTS];
}

/* Returns how often a counter was incremented, including for functions that had it earlier. */
static u64 counter_sum(const struct dk_registry *reg, u32 n)
{
	return dkc_counts_sum(&reg->counters->block[n / DKC_COUNTS]->counts, n % DKC_COUNTS);
}

static u64 counter_value(const struct dk_registry *reg, u32 n)
{
	return counter_sum(reg, n) - counter_at(reg, n)->base;
}

u64 dkc_counted(const struct dk_registry *reg, u32 n)
{
	dkc_assert_writer(reg);
	return n ? counter_value(reg, n) : 0;
}

/* Returns the number of calls without a counter, including those before the last reset. */
static u64 all_uncounted(const struct dk_registry *reg)
{
	return counter_sum(reg, 0) + dkc_counts_lost();
}

u64 dkc_stats_uncounted(const struct dk_registry *reg)
{
	dkc_assert_writer(reg);
	return all_uncounted(reg) - counter_at(reg, 0)->base - reg->lost_counts;
}

/* Sets a counter to zero. Returns its previous value. */
static u64 counter_restart(struct dk_registry *reg, u32 n)
{
	u64 counted = counter_value(reg, n);

	counter_at(reg, n)->base += counted;
	return counted;
}

/* Counts the calls of a counter as those of removed functions. */
static void counter_move(struct dk_registry *reg, u32 n)
{
	if (n)
		reg->withdrawn_counts += counter_restart(reg, n);
}

/* From now on, the counter counts for @prov or, if @prov is NULL, for no provider. */
static void counter_give(struct dk_registry *reg, u32 n, const struct dkc_provider *prov)
{
	if (!prov)
		counter_move(reg, n);
	if (n)
		counter_at(reg, n)->provider = prov ? prov->number : 0;
}

static void counter_free(struct dk_registry *reg, u32 n)
{
	*counter_at(reg, n) = (struct dkc_counter){ reg->free_counter, FREE_COUNTER };
	reg->free_counter = n;
}

static struct dkc_stat_block *stat_block_make(bool may_sleep)
{
	struct dkc_stat_block *b = dkc_alloc(sizeof(*b), may_sleep);

	if (b && !dkc_counts_init(&b->counts, may_sleep)) {
		kvfree(b);
		b = NULL;
	}
	return b;
}

/* Counter 0, in the first block, counts the calls that have no counter. */
bool dkc_stats_grow(struct dk_registry *reg, bool may_sleep)
{
	struct dkc_stats *old = reg->counters, *s;
	u32 num = old ? old->num : 0, n = (num + 1) * DKC_COUNTS;

	dkc_assert_writer(reg);
	s = dkc_alloc(offsetof(struct dkc_stats, block) + (num + 1) * sizeof(s->block[0]),
		      may_sleep);
	if (!s)
		return false;
	s->block[num] = stat_block_make(may_sleep);
	if (!s->block[num]) {
		kvfree(s);
		return false;
	}
	if (num)
		memcpy(s->block, old->block, num * sizeof(s->block[0]));
	s->num = num + 1;
	reg->counters = s;
	if (dkc_deref_locked(reg->stats, reg))
		rcu_assign_pointer(reg->stats, s);
	if (old)
		kvfree_rcu(old, rcu);
	while (n-- > num * DKC_COUNTS)
		if (n)
			counter_free(reg, n);
	return true;
}

/* Assigns a counter. @prov is NULL for a builtin fallback or for calls that are not served. */
static bool counter_assign(struct dk_registry *reg, u32 *counter, const struct dkc_provider *prov,
			   bool may_sleep)
{
	u32 n = *counter;

	if (!n) {
		if (!reg->free_counter && !dkc_stats_grow(reg, may_sleep))
			return false;
		n = reg->free_counter;
		reg->free_counter = counter_at(reg, n)->base;
		reg->used_counters++;
		counter_at(reg, n)->base = counter_sum(reg, n);
		/*
		 * Pairs with smp_load_acquire() in dkc_reg_counter(): a call that loads the number
		 * also finds its block. Model: selftests/model/count.pml.
		 */
		smp_store_release(counter, n);
	}
	counter_at(reg, n)->provider = prov ? prov->number : 0;
	return true;
}

static void counter_release(struct dk_registry *reg, u32 *counter)
{
	u32 n = *counter;

	if (!n)
		return;
	counter_give(reg, n, NULL);
	counter_free(reg, n);
	reg->used_counters--;
	WRITE_ONCE(*counter, 0);
}

/* ---- the counters of blocks and operators --------------------------------------- */

/* Assigns a counter to a function, or to the calls of @op that a fallback serves. */
static bool reg_assign(struct dk_op *op, const struct dkc_reg *r, bool may_sleep)
{
	struct dkc_block *b = dkc_block_of(r);
	struct dkc_numbers __rcu **at = b->fallback ? &op->numbers : &b->numbers;
	struct dkc_numbers *numbers = dkc_deref_locked(*at, op->reg);
	u32 n = b->fallback ? op->reg->layout->num_entries : b->n;

	if (!numbers) {
		numbers = dkc_alloc(offsetof(struct dkc_numbers, of) +
				    n * sizeof(numbers->of[0]), may_sleep);
		if (!numbers)
			return false;
		numbers->n = n;
		rcu_assign_pointer(*at, numbers);
	}
	return counter_assign(op->reg, &numbers->of[dkc_place_of(r)], b->prov, may_sleep);
}

static bool table_assign(struct dk_op *op, const struct dkc_table *table, bool may_sleep)
{
	struct dk_registry *reg = op->reg;
	u64 slots[DKC_SLOT_WORDS];
	bool all = true;
	u32 slot;

	dkc_fallback_slots(reg, table->index, slots);
	dkc_for_each_slot(slot, slots, reg->scratch->words)
		all &= reg_assign(op, dkc_deref_locked(reg->fallback[slot], reg), may_sleep);
	return all;
}

bool dkc_stats_cover(struct dk_op *op, const struct dkc_table *table, bool may_sleep)
{
	const struct dkc_device_tables *tab = table ? table->devices : NULL;
	const struct dkc_reg *r = NULL;
	bool all;
	u32 i;

	dkc_assert_writer(op->reg);
	if (!op->reg->counters)
		return true;
	all = counter_assign(op->reg, &op->missing, NULL, may_sleep);
	while ((r = dkc_reg_walk(op, r)))
		if (!dkc_is_fallthrough(r))
			all &= reg_assign(op, r, may_sleep);
	if (table && !tab)
		all &= table_assign(op, table, may_sleep);
	for (i = 0; tab && i <= tab->mask; i++)
		if (!i || tab->slot[i].number)
			all &= table_assign(op, tab->slot[i].table, may_sleep);
	return all;
}

bool dkc_stats_cover_all(struct dk_registry *reg)
{
	struct dk_op *op;
	bool all = true;
	u32 pos = 0;

	dkc_assert_writer(reg);
	while (all && (op = dkc_op_next(reg, &pos)))
		all = dkc_stats_cover(op, dkc_deref_locked(op->base, reg), true);
	return all;
}

const struct dkc_reg *dkc_next_fallback(const struct dk_op *op, const struct dkc_reg *r)
{
	const struct dkc_numbers *numbers = dkc_deref_locked(op->numbers, op->reg);
	u32 slot = r ? r->slot : 0;

	dkc_assert_writer(op->reg);
	while (numbers && ++slot < numbers->n) {
		r = dkc_deref_locked(op->reg->fallback[slot], op->reg);
		if (r && numbers->of[slot])
			return r;
	}
	return NULL;
}

/* Walks all operators, the replaced ones last. */
static struct dk_op *next_op(struct dk_registry *reg, struct dk_op *op, u32 *pos)
{
	if (op && op->stale)
		return op->next;
	op = dkc_op_next(reg, pos);
	return op ? op : reg->stale;
}

static void numbers_drop(struct dk_registry *reg, struct dkc_numbers __rcu **at)
{
	struct dkc_numbers *numbers = dkc_deref_locked(*at, reg);

	if (!numbers)
		return;
	rcu_assign_pointer(*at, NULL);
	kvfree_rcu(numbers, rcu);
}

static void numbers_release(struct dk_registry *reg, struct dkc_numbers __rcu **at)
{
	struct dkc_numbers *numbers = dkc_deref_locked(*at, reg);
	u32 i;

	for (i = 0; numbers && i < numbers->n; i++)
		counter_release(reg, &numbers->of[i]);
	numbers_drop(reg, at);
}

void dkc_stats_withdraw_op(const struct dk_op *op)
{
	const struct dkc_numbers *numbers = dkc_deref_locked(op->numbers, op->reg);
	u32 i;

	dkc_assert_writer(op->reg);
	counter_move(op->reg, op->missing);
	/* the fallbacks are still registered: the counters stay those of their providers */
	for (i = 0; numbers && i < numbers->n; i++)
		counter_move(op->reg, numbers->of[i]);
}

void dkc_stats_forget_op(struct dk_op *op)
{
	dkc_assert_writer(op->reg);
	counter_release(op->reg, &op->missing);
	numbers_release(op->reg, &op->numbers);
}

/* Includes operators whose table lacks the fallback: calls at a given key may reach it. */
void dkc_stats_give_block(const struct dkc_block *b, const struct dkc_provider *prov)
{
	struct dk_registry *reg = b->prov->reg;
	const struct dkc_numbers *numbers;
	struct dk_op *op = NULL;
	u32 i, pos = 0;

	dkc_assert_writer(reg);
	while (b->fallback && reg->counters && (op = next_op(reg, op, &pos))) {
		numbers = dkc_deref_locked(op->numbers, reg);
		for (i = 0; numbers && i < b->n; i++)
			counter_give(reg, numbers->of[b->regs[i].slot], prov);
	}
}

/* The counters stay assigned: calls that have already found a function may still use them. */
void dkc_stats_withdraw_block(const struct dkc_block *b)
{
	struct dk_registry *reg = b->prov->reg;
	const struct dkc_numbers *numbers = dkc_deref_locked(b->numbers, reg);
	u32 i;

	dkc_assert_writer(reg);
	for (i = 0; numbers && i < numbers->n; i++)
		counter_give(reg, numbers->of[i], NULL);
	dkc_stats_give_block(b, NULL);
}

/*
 * Releases the counters of the block. A fallback's counters belong to operators. They are released
 * only when no call of any removed fallback can be running: then all operators' counters at slots
 * without a fallback are released.
 */
void dkc_stats_forget_block(struct dkc_block *b)
{
	struct dk_registry *reg = b->prov->reg;
	struct dkc_numbers *numbers;
	struct dk_op *op = NULL;
	u32 slot, pos = 0;

	dkc_assert_writer(reg);
	numbers_release(reg, &b->numbers);
	if (!b->fallback || reg->fallbacks_removed || !reg->counters)
		return;
	while ((op = next_op(reg, op, &pos))) {
		numbers = dkc_deref_locked(op->numbers, reg);
		for (slot = 0; numbers && slot < numbers->n; slot++)
			if (!dkc_deref_locked(reg->fallback[slot], reg))
				counter_release(reg, &numbers->of[slot]);
	}
}

/* ---- all counters --------------------------------------------------------------- */

/* Also called for withdrawn blocks, which have counters while their calls may be running. */
static void blocks_drop(struct dk_registry *reg, struct dkc_block *b)
{
	for (; b; b = b->next)
		numbers_drop(reg, &b->numbers);
}

struct dkc_stats *dkc_stats_detach(struct dk_registry *reg)
{
	struct dkc_stats *s = reg->counters;
	struct dkc_provider *prov;
	struct dk_op *op = NULL;
	u32 pos = 0;

	dkc_assert_writer(reg);
	rcu_assign_pointer(reg->stats, NULL);
	reg->counters = NULL;
	while ((op = next_op(reg, op, &pos))) {
		WRITE_ONCE(op->missing, 0);
		numbers_drop(reg, &op->numbers);
	}
	for (prov = reg->providers; prov; prov = prov->next) {
		blocks_drop(reg, prov->blocks);
		blocks_drop(reg, prov->withdrawn);
	}
	reg->free_counter = 0;
	reg->used_counters = 0;
	reg->withdrawn_counts = 0;
	reg->past_counts = 0;
	return s;
}

void dkc_stats_free(struct dkc_stats *s)
{
	u32 i;

	for (i = 0; s && i < s->num; i++) {
		dkc_counts_destroy(&s->block[i]->counts);
		kvfree(s->block[i]);
	}
	kvfree(s);
}

void dkc_stats_zero(struct dk_registry *reg)
{
	u32 n;

	dkc_assert_writer(reg);
	for (n = 1; n < reg->counters->num * DKC_COUNTS; n++)
		if (counter_at(reg, n)->provider != FREE_COUNTER)
			reg->past_counts += counter_restart(reg, n);
	reg->past_counts += reg->withdrawn_counts;
	reg->withdrawn_counts = 0;
	counter_restart(reg, 0);
	reg->lost_counts = dkc_counts_lost();
}

bool dkc_calls_add(struct dk_registry *reg, struct dkc_calls *c, u32 work, u32 each)
{
	u32 end = reg->counters->num * DKC_COUNTS, cost;

	dkc_assert_writer(reg);
	/*
	 * read past_counts only at the start: a reset during the sum changes it, but not
	 * counter_sum()
	 */
	if (c->times_counted != reg->times_counted) {
		c->times_counted = reg->times_counted;
		c->starts++;
		c->counter = 1;
		c->count = c->provider ? 0 : -reg->past_counts;
		/* read this before the counters, so that each call in @gone is also in @count */
		c->gone = reg->withdrawn_counts;
		c->uncounted = -counter_at(reg, 0)->base - reg->lost_counts;
	}
	for (; c->counter < end && work; c->counter++) {
		cost = each;
		if (!c->provider)
			c->count += counter_sum(reg, c->counter);
		else if (counter_at(reg, c->counter)->provider == c->provider)
			c->count += counter_value(reg, c->counter);
		else
			cost = 1;
		work -= cost < work ? cost : work;
	}
	if (c->counter < end)
		return true;
	c->uncounted += all_uncounted(reg);
	return false;
}
