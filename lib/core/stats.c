// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Counters: how often each function served each operator.
 *
 * A counter is a number, 0 for none. Those of the functions of a table are with
 * its block. An operator has one for calls that nothing served, and one for each slot
 * at which a backend fallback serves it. They are given before the row is published,
 * so that no call allocates anything, and taken back when nobody is inside any more.
 * A call that finds none counts with number 0.
 *
 * The world counts for each CPU or thread, in blocks of DKC_COUNTS, and nobody
 * else ever writes there: a counter is what has been added since its beginning,
 * which is remembered as the sum that there was. So a reset loses no call. What a
 * counter has counted when its function leaves is added to the registry's gone_counts,
 * and what a reset takes away to its past_counts. So the calls since a reset are all that
 * was ever added but for past_counts, whichever functions came and left.
 */
#include "see.h"

struct dkc_stat_block {
	struct dkc_counts counts;
	u64 base[DKC_COUNTS];	/* the sum at the beginning; of a free one, the next */
};

/* ---- counting --------------------------------------------------------------- */

/* Its place among those of its block, or of a fallback among those of an operator. */
static u32 dkc_place_of(const struct dkc_reg *r)
{
	return dkc_block_of(r)->fallback ? r->slot : r->place;
}

/* The counter of what @r served of an operator, in a read section. */
static inline u32 dkc_counter_of(const struct dk_op *op, const struct dkc_reg *r)
{
	const struct dkc_block *b = dkc_block_of(r);
	const struct dkc_numbers *numbers;

	numbers = dkc_likely(!b->fallback) ? dkc_deref(b->numbers) : dkc_deref(op->numbers);
	return dkc_likely(numbers) ? dkc_load_acquire(numbers->of[dkc_place_of(r)]) : 0;
}

/* Of calls that are counted, in a read section; else NULL. */
static inline const struct dkc_stats *dkc_stats_of(const struct dk_op *op)
{
	const struct dkc_stats *s = dkc_deref(op->reg->stats);

	/*
	 * before the number: counters of an earlier time have other numbers. Pairs with
	 * dk_stats_enable(): selftests/model/count.pml
	 */
	dkc_read_barrier();
	return s;
}

static inline void dkc_stats_add(const struct dk_op *op, const struct dkc_stats *s, u32 n)
{
	struct dk__count at;

	/* a number may come with a block that is newer than what we have seen */
	if (dkc_unlikely(n / DKC_COUNTS >= s->num)) {
		s = dkc_deref(op->reg->stats);
		if (!s || n / DKC_COUNTS >= s->num)
			return;
	}
	at = dkc_count_at(&s->block[n / DKC_COUNTS]->counts, n % DKC_COUNTS);
	dkc_count_add(&at);
}

void dkc_stats_count(const struct dk_op *op, const struct dkc_reg *r)
{
	const struct dkc_stats *s;

	dkc_read_lock();
	s = dkc_stats_of(op);
	if (s)
		dkc_stats_add(op, s, r ? dkc_counter_of(op, r) : dkc_load_acquire(op->missing));
	dkc_read_unlock();
}

struct dk__count dkc_stats_at(const struct dk_registry *reg, u32 n)
{
	return dkc_count_at(&reg->counters->block[n / DKC_COUNTS]->counts, n % DKC_COUNTS);
}

/* ---- numbers; under the lock -------------------------------------------------- */

static u64 *dkc_base(const struct dk_registry *reg, u32 n)
{
	return &reg->counters->block[n / DKC_COUNTS]->base[n % DKC_COUNTS];
}

static u64 dkc_sum(const struct dk_registry *reg, u32 n)
{
	return dkc_counts_sum(&reg->counters->block[n / DKC_COUNTS]->counts,
			      n % DKC_COUNTS);
}

u64 dkc_counted(const struct dk_registry *reg, u32 n)
{
	return n ? dkc_sum(reg, n) - *dkc_base(reg, n) : 0;
}

/* Set a counter to zero; returns what it has counted. */
static u64 dkc_counter_restart(struct dk_registry *reg, u32 n)
{
	u64 sum, counted;

	if (!n)
		return 0;
	sum = dkc_sum(reg, n);
	counted = sum - *dkc_base(reg, n);
	*dkc_base(reg, n) = sum;
	return counted;
}

static void dkc_counter_zero(struct dk_registry *reg, u32 n)
{
	reg->past_counts += dkc_counter_restart(reg, n);
}

static void dkc_counter_gone(struct dk_registry *reg, u32 n)
{
	reg->gone_counts += dkc_counter_restart(reg, n);
}

static struct dkc_stat_block *dkc_stat_block_make(bool may_sleep)
{
	struct dkc_stat_block *b = dkc_get(sizeof(*b), may_sleep);

	if (b && !dkc_counts_init(&b->counts, may_sleep)) {
		dkc_free(b);
		b = NULL;
	}
	return b;
}

static void dkc_stat_block_free(struct dkc_stat_block *b)
{
	dkc_counts_destroy(&b->counts);
	dkc_free(b);
}

static void dkc_counter_free(struct dk_registry *reg, u32 n)
{
	*dkc_base(reg, n) = reg->free_counter;
	reg->free_counter = n;
}

/* One more block; of the first one, number 0 is for calls without a counter. */
static bool dkc_stats_grow(struct dk_registry *reg, bool may_sleep)
{
	struct dkc_stats *old = reg->counters, *s;
	u32 num = old ? old->num : 0, n = (num + 1) * DKC_COUNTS;

	s = dkc_get(offsetof(struct dkc_stats, block) + (num + 1) * sizeof(s->block[0]),
		    may_sleep);
	if (!s)
		return false;
	s->block[num] = dkc_stat_block_make(may_sleep);
	if (!s->block[num]) {
		dkc_free(s);
		return false;
	}
	if (num)
		memcpy(s->block, old->block, num * sizeof(s->block[0]));
	s->num = num + 1;
	reg->counters = s;
	if (dkc_deref_locked(reg->stats))
		dkc_publish(reg->stats, s);
	if (old)
		dkc_retire(old);
	while (n-- > num * DKC_COUNTS)
		if (n)
			dkc_counter_free(reg, n);
	return true;
}

static bool dkc_counter_give(struct dk_registry *reg, u32 *counter, bool may_sleep)
{
	u32 n;

	if (*counter)
		return true;
	if (!reg->free_counter && !dkc_stats_grow(reg, may_sleep))
		return false;
	n = reg->free_counter;
	reg->free_counter = *dkc_base(reg, n);
	reg->used_counters++;
	*dkc_base(reg, n) = dkc_sum(reg, n);
	/* whoever sees the number sees its block: selftests/model/count.pml */
	dkc_store_release(*counter, n);
	return true;
}

static void dkc_counter_take(struct dk_registry *reg, u32 *counter)
{
	if (!*counter)
		return;
	/* if all are taken back at once, what they have counted is lost */
	if (reg->counters) {
		reg->gone_counts += dkc_counted(reg, *counter);
		dkc_counter_free(reg, *counter);
		reg->used_counters--;
	}
	dkc_store(*counter, 0);
}

/* ---- who gets one; under the lock --------------------------------------------- */

/* To one of @n places of a block or an operator. */
static bool dkc_number_give(struct dk_registry *reg, struct dkc_numbers __rcu **at, u32 n,
			    u32 place, bool may_sleep)
{
	struct dkc_numbers *numbers = dkc_deref_locked(*at);

	if (!numbers) {
		numbers = dkc_get(offsetof(struct dkc_numbers, of) +
				  n * sizeof(numbers->of[0]), may_sleep);
		if (!numbers)
			return false;
		dkc_publish(*at, numbers);
	}
	return dkc_counter_give(reg, &numbers->of[place], may_sleep);
}

static bool dkc_reg_cover(struct dk_registry *reg, const struct dkc_reg *r,
			  bool may_sleep)
{
	struct dkc_block *b = dkc_block_of(r);

	return dkc_number_give(reg, &b->numbers, b->n, dkc_place_of(r), may_sleep);
}

u32 dkc_reg_counter(const struct dk_op *op, const struct dkc_reg *r)
{
	const struct dkc_block *b = dkc_block_of(r);
	const struct dkc_numbers *numbers;

	numbers = b->fallback ? dkc_deref_locked(op->numbers) : dkc_deref_locked(b->numbers);
	return numbers ? numbers->of[dkc_place_of(r)] : 0;
}

const struct dkc_reg *dkc_next_fallback(const struct dk_op *op, const struct dkc_reg *r)
{
	const struct dk_registry *reg = op->reg;
	u32 slot = r ? r->slot : 0;

	while (dkc_deref_locked(op->numbers) && ++slot < reg->layout->num_entries) {
		r = dkc_deref_locked(reg->fallback[slot]);
		if (r && dkc_reg_counter(op, r))
			return r;
	}
	return NULL;
}

static void dkc_numbers_drop(struct dkc_numbers __rcu **at)
{
	struct dkc_numbers *numbers = dkc_deref_locked(*at);

	if (!numbers)
		return;
	dkc_publish(*at, NULL);
	dkc_retire(numbers);
}

/* The backend fallbacks that serve an operator by a row. */
static bool dkc_cover_row(struct dk_op *op, const struct dkc_row *row, bool may_sleep)
{
	struct dk_registry *reg = op->reg;
	bool all = true;
	u64 left;
	u32 i;

	for (i = 0; i < reg->easel->words; i++)
		for (left = dkc_served(reg, row->shape, i); left; left &= left - 1)
			all &= dkc_number_give(reg, &op->numbers, reg->layout->num_entries,
					       64 * i + dkc_ffs64(left), may_sleep);
	return all;
}

bool dkc_stats_give(struct dk_op *op, const struct dkc_row *row, bool may_sleep)
{
	struct dk_registry *reg = op->reg;
	const struct dkc_devtab *tab = row ? row->devs : NULL;
	const struct dkc_reg *r = NULL;
	bool all;
	u32 i;

	all = dkc_counter_give(reg, &op->missing, may_sleep);
	while ((r = dkc_reg_walk(op, r)))
		if (!dkc_is_fallthrough(r))
			all &= dkc_reg_cover(reg, r, may_sleep);
	if (row)
		all &= dkc_cover_row(op, row, may_sleep);
	for (i = 0; tab && i <= tab->mask; i++)
		if (tab->slot[i].number)
			all &= dkc_cover_row(op, tab->slot[i].row, may_sleep);
	return all;
}

/* The next operator, those last that others have replaced. */
static struct dk_op *dkc_next_op(struct dk_registry *reg, struct dk_op *op, u32 *pos)
{
	if (op && op->stale)
		return op->next;
	op = dkc_op_next(reg, pos);
	return op ? op : reg->stale;
}

static void dkc_numbers_gone(struct dk_registry *reg, const struct dkc_numbers *numbers,
			     u32 n)
{
	u32 i;

	for (i = 0; numbers && i < n; i++)
		dkc_counter_gone(reg, numbers->of[i]);
}

static void dkc_numbers_forget(struct dk_registry *reg, struct dkc_numbers __rcu **at, u32 n)
{
	struct dkc_numbers *numbers = dkc_deref_locked(*at);
	u32 i;

	for (i = 0; numbers && i < n; i++)
		dkc_counter_take(reg, &numbers->of[i]);
	dkc_numbers_drop(at);
}

static void dkc_op_uncover(struct dk_op *op)
{
	dkc_counter_take(op->reg, &op->missing);
	dkc_numbers_forget(op->reg, &op->numbers, op->reg->layout->num_entries);
}

void dkc_stats_forget_op(struct dk_op *op)
{
	if (op->reg->counters)
		dkc_op_uncover(op);
}

void dkc_stats_withdraw_op(const struct dk_op *op)
{
	if (!op->reg->counters)
		return;
	dkc_counter_gone(op->reg, op->missing);
	dkc_numbers_gone(op->reg, dkc_deref_locked(op->numbers),
			 op->reg->layout->num_entries);
}

/* What the fallbacks of a block have counted, of all operators. */
static void dkc_fallbacks_gone(struct dk_registry *reg, const struct dkc_block *b)
{
	const struct dkc_numbers *numbers;
	struct dk_op *op = NULL;
	u32 i, pos = 0;

	while ((op = dkc_next_op(reg, op, &pos))) {
		numbers = dkc_deref_locked(op->numbers);
		for (i = 0; numbers && i < b->n; i++)
			dkc_counter_gone(reg, numbers->of[b->regs[i].slot]);
	}
}

/* The counters of slots that have no fallback, and had none that a call may be inside of. */
static void dkc_fallbacks_forget(struct dk_registry *reg)
{
	struct dkc_numbers *numbers;
	struct dk_op *op = NULL;
	u32 slot, pos = 0;

	while (!reg->fallbacks_leaving && (op = dkc_next_op(reg, op, &pos))) {
		numbers = dkc_deref_locked(op->numbers);
		for (slot = 0; numbers && slot < reg->layout->num_entries; slot++)
			if (!dkc_deref_locked(reg->fallback[slot]))
				dkc_counter_take(reg, &numbers->of[slot]);
	}
}

/* Calls that chose one before it was withdrawn may be counted yet. */
void dkc_stats_withdraw_block(const struct dkc_block *b)
{
	struct dk_registry *reg = b->prov->reg;

	if (!reg->counters)
		return;
	if (b->fallback)
		dkc_fallbacks_gone(reg, b);
	else
		dkc_numbers_gone(reg, dkc_deref_locked(b->numbers), b->n);
}

void dkc_stats_forget_block(struct dkc_block *b)
{
	struct dk_registry *reg = b->prov->reg;

	if (!reg->counters)
		return;
	if (b->fallback)
		dkc_fallbacks_forget(reg);
	else
		dkc_numbers_forget(reg, &b->numbers, b->n);
}

/* ---- on and off --------------------------------------------------------------- */

/* Also of what was withdrawn: there may be calls inside. */
static void dkc_uncover_blocks(struct dkc_block *b)
{
	for (; b; b = b->next)
		dkc_numbers_drop(&b->numbers);
}

/* Take all numbers back; the blocks are the caller's, once nobody counts there. */
static struct dkc_stats *dkc_stats_detach(struct dk_registry *reg)
{
	struct dkc_stats *s = reg->counters;
	struct dkc_provider *prov;
	struct dk_op *op = NULL;
	u32 pos = 0;

	dkc_publish(reg->stats, NULL);
	reg->counters = NULL;
	while ((op = dkc_next_op(reg, op, &pos)))
		dkc_op_uncover(op);
	for (prov = reg->providers; prov; prov = prov->next) {
		dkc_uncover_blocks(prov->blocks);
		dkc_uncover_blocks(prov->withdrawn);
	}
	reg->free_counter = 0;
	reg->used_counters = 0;
	reg->gone_counts = 0;
	reg->past_counts = 0;
	return s;
}

static void dkc_stats_free(struct dkc_stats *s)
{
	u32 i;

	for (i = 0; s && i < s->num; i++)
		dkc_stat_block_free(s->block[i]);
	dkc_free(s);
}

/* All counters that there are to give. */
static bool dkc_stats_cover_all(struct dk_registry *reg)
{
	struct dk_op *op;
	bool all = true;
	u32 pos = 0;

	while (all && (op = dkc_op_next(reg, &pos)))
		all = dkc_stats_cover(op, dkc_deref_locked(op->base), true);
	return all;
}

int dk_stats_enable(struct dk_registry *reg, struct dk_diag *why)
{
	struct dkc_stats *undone = NULL;
	enum dk_reason reason = DK_WHY_NONE;
	bool was_on;

	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	dkc_mutex_lock(&reg->lock);
	was_on = reg->counters;
	if (reg->shutdown) {
		reason = DK_WHY_SHUTDOWN;
	} else if (was_on) {
		/* functions that had no counter, up to the first that finds no memory */
		if (!dkc_stats_cover_all(reg))
			reason = DK_WHY_NO_MEMORY;
		dkc_change_tables(reg, true);
	} else if (!dkc_stats_grow(reg, true) || !dkc_stats_cover_all(reg)) {
		reason = DK_WHY_NO_MEMORY;
		undone = dkc_stats_detach(reg);
	} else {
		reg->lost_counts = dkc_counts_lost();
		reg->generation++;
		reg->times_counted++;
		dkc_publish(reg->stats, reg->counters);
		dkc_change_watched(reg, true);
	}
	dkc_mutex_unlock(&reg->lock);
	/* nobody has seen it */
	dkc_stats_free(undone);
	dkc_flush_retired();
	if (reason)
		return dkc_refuse(why, reason, NULL);
	dkc_remark(why, DK_WHY_NONE, NULL);
	return 0;
}

int dk_stats_disable(struct dk_registry *reg, struct dk_diag *why)
{
	struct dkc_stats *s;

	if (dkc_in_atomic())
		return dkc_refuse(why, DK_WHY_ATOMIC, NULL);
	dkc_remark(why, DK_WHY_NONE, NULL);
	reg = dkc_registry(reg);
	if (!reg)
		return 0;
	dkc_mutex_lock(&reg->lock);
	s = dkc_stats_detach(reg);
	reg->generation += !!s;
	if (s)
		dkc_change_watched(reg, false);
	dkc_mutex_unlock(&reg->lock);
	/* where another caller has taken them, this one waits, too */
	dkc_synchronize();
	dkc_stats_free(s);
	return 0;
}

void dkc_stats_end(struct dk_registry *reg)
{
	dkc_stats_free(dkc_stats_detach(reg));
}

/* ---- what was counted --------------------------------------------------------- */

static void dkc_numbers_zero(struct dk_registry *reg, const struct dkc_numbers *numbers,
			     u32 n)
{
	u32 i;

	for (i = 0; numbers && i < n; i++)
		dkc_counter_zero(reg, numbers->of[i]);
}

static void dkc_op_zero(struct dk_op *op)
{
	const struct dkc_reg *r = NULL;

	dkc_counter_zero(op->reg, op->missing);
	while ((r = dkc_reg_walk(op, r)))
		dkc_counter_zero(op->reg, dkc_reg_counter(op, r));
	dkc_numbers_zero(op->reg, dkc_deref_locked(op->numbers),
			 op->reg->layout->num_entries);
}

/* All that is counted, also in what is withdrawn. */
static void dkc_stats_zero(struct dk_registry *reg)
{
	const struct dkc_provider *prov;
	const struct dkc_block *b;
	struct dk_op *op = NULL;
	u32 pos = 0;

	while ((op = dkc_next_op(reg, op, &pos)))
		dkc_op_zero(op);
	for (prov = reg->providers; prov; prov = prov->next)
		for (b = prov->withdrawn; b; b = b->next)
			dkc_numbers_zero(reg, dkc_deref_locked(b->numbers), b->n);
	reg->past_counts += reg->gone_counts;
	reg->gone_counts = 0;
	*dkc_base(reg, 0) = dkc_sum(reg, 0);
	reg->lost_counts = dkc_counts_lost();
}

int dk_stats_reset(struct dk_registry *reg, struct dk_diag *why)
{
	bool on;

	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NOT_COUNTED, NULL);
	dkc_mutex_lock(&reg->lock);
	on = reg->counters;
	if (on) {
		dkc_stats_zero(reg);
		reg->generation++;
	}
	dkc_mutex_unlock(&reg->lock);
	if (!on)
		return dkc_refuse(why, DK_WHY_NOT_COUNTED, NULL);
	dkc_remark(why, DK_WHY_NONE, NULL);
	return 0;
}

int dk_stats_get(struct dk_registry *reg, struct dk_stats *s)
{
	u32 size = s->size;

	if (size != sizeof(*s))
		return -EINVAL;
	memset(s, 0, sizeof(*s));
	s->size = size;
	reg = dkc_registry(reg);
	if (!reg)
		return 0;
	dkc_mutex_lock(&reg->lock);
	if (reg->counters) {
		s->is_enabled = true;
		s->counters = reg->used_counters;
		s->uncounted = dkc_sum(reg, 0) - *dkc_base(reg, 0) +
			       dkc_counts_lost() - reg->lost_counts;
		s->gone = reg->gone_counts;
	}
	dkc_mutex_unlock(&reg->lock);
	return 0;
}

static void dkc_stat_clear(struct dk_stat *s, enum dk_stat_kind kind)
{
	u32 size = s->size;

	memset(s, 0, sizeof(*s));
	s->size = size;
	s->kind = kind;
}

/* A counter, and the function whose it is, or NULL; the lock is held. */
static void dkc_stat_fill(struct dk_stat *s, const struct dk_registry *reg,
			  enum dk_stat_kind kind, const struct dkc_reg *r, u32 n)
{
	const struct dkc_block *b;

	dkc_stat_clear(s, kind);
	s->count = dkc_counted(reg, n);
	s->is_counted = !!n;
	if (!r)
		return;
	b = dkc_block_of(r);
	s->key = r->key;
	s->device = b->device;
	dkc_strcpy(s->label, dkc_label_of(r), sizeof(s->label));
	dkc_strcpy(s->provider, b->prov->name, sizeof(s->provider));
	if (b->dev)
		dkc_strcpy(s->device_name, b->dev->name, sizeof(s->device_name));
}

/* After the functions: the fallbacks by slot, and what is missing. */
static int dkc_stat_after(const struct dk_op *op, unsigned int i, struct dk_stat *s)
{
	const struct dkc_reg *r = NULL;

	while ((r = dkc_next_fallback(op, r)) && i)
		i--;
	if (i)
		return -ENOENT;
	if (r)
		dkc_stat_fill(s, op->reg, DK_STAT_FALLBACK, r, dkc_reg_counter(op, r));
	else
		dkc_stat_fill(s, op->reg, DK_STAT_MISSING, NULL, op->missing);
	return 0;
}

int dk_op_stat(struct dk_op *op, unsigned int i, struct dk_stat *s)
{
	const struct dkc_reg *r;
	int err = 0;

	if (s->size != sizeof(*s))
		return -EINVAL;
	dkc_mutex_lock(&op->reg->lock);
	if (i < op->num_regs) {
		r = dkc_reg_at(op, i);
		dkc_stat_fill(s, op->reg, DK_STAT_IMPL, r, dkc_reg_counter(op, r));
	} else {
		err = dkc_stat_after(op, i - op->num_regs, s);
	}
	dkc_mutex_unlock(&op->reg->lock);
	return err;
}

bool dkc_total_add(struct dk_registry *reg, struct dkc_total *t, u32 n)
{
	u32 end = reg->counters->num * DKC_COUNTS;

	dkc_assert_held(&reg->lock);
	/* a reset leaves counters as they are, and adds to past_counts, which is read once */
	if (t->times_counted != reg->times_counted) {
		t->times_counted = reg->times_counted;
		t->starts++;
		t->counter = 1;
		t->count = -reg->past_counts;
		/* at the beginning: calls may be counted, and then be gone, meanwhile */
		t->gone = reg->gone_counts;
	}
	for (; t->counter < end && n; t->counter++, n--)
		t->count += dkc_sum(reg, t->counter);
	return t->counter < end;
}

static void dkc_calls_next_block(struct dkc_calls *c)
{
	c->block = c->block->next;
	c->place = 0;
}

void dkc_calls_begin(struct dk_registry *reg, struct dkc_calls *c, u64 number)
{
	const struct dkc_provider *prov = reg->providers;

	memset(c, 0, sizeof(*c));
	c->provider = number;
	while (prov && prov->number != number)
		prov = prov->next;
	c->block = prov ? prov->blocks : NULL;
	c->next = reg->sums;
	reg->sums = c;
}

void dkc_calls_end(struct dk_registry *reg, struct dkc_calls *c)
{
	struct dkc_calls **p = &reg->sums;

	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
}

void dkc_calls_leave_block(const struct dkc_block *b)
{
	struct dkc_calls *c;

	for (c = b->prov->reg->sums; c; c = c->next)
		if (c->block == b)
			dkc_calls_next_block(c);
}

/* Returns true when all of the block is summed up. */
static bool dkc_calls_block(struct dkc_calls *c, const struct dkc_block *b)
{
	c->has_fallbacks |= b->fallback;
	if (b->fallback)
		return true;
	for (; c->place < b->n && c->left; c->place++, c->left--)
		c->sum += dkc_counted(b->prov->reg,
				      dkc_reg_counter(NULL, &b->regs[c->place]));
	return c->place == b->n;
}

/* Blocks are charged, too: there may be many with few functions. */
static bool dkc_calls_functions(struct dkc_calls *c)
{
	while (c->block && c->left) {
		dkc_work(DKC_WORK_FUNCTIONS, 1);
		if (dkc_calls_block(c, c->block))
			dkc_calls_next_block(c);
		c->left -= !!c->left;
	}
	return !c->block;
}

/* What the provider's fallbacks served of an operator. */
static u64 dkc_calls_of(const struct dk_op *op, struct dkc_calls *c)
{
	const struct dkc_reg *r = NULL;
	u64 sum = 0;

	c->left -= !!c->left;
	while ((r = dkc_next_fallback(op, r))) {
		c->left -= !!c->left;
		if (dkc_block_of(r)->prov->number == c->provider)
			sum += dkc_counted(op->reg, dkc_reg_counter(op, r));
	}
	return sum;
}

static bool dkc_calls_operators(struct dk_registry *reg, struct dkc_calls *c)
{
	struct dk_op *op;

	/* a provider without fallbacks is not worth the walk */
	if (!c->has_fallbacks)
		return true;
	while ((op = dkc_op_next_of(reg, &c->op, &c->left)))
		c->of_ops += dkc_calls_of(op, c);
	return c->left;
}

void dkc_calls_restart_ops(struct dk_registry *reg)
{
	struct dkc_calls *c;

	for (c = reg->sums; c; c = c->next) {
		c->op = 0;
		c->of_ops = 0;
	}
}

bool dkc_calls_sum(struct dk_registry *reg, struct dkc_calls *c, u32 n)
{
	c->left = n;
	if (!dkc_calls_functions(c) || !dkc_calls_operators(reg, c))
		return true;
	c->sum += c->of_ops;
	return false;
}

static u64 dkc_provider_calls(const struct dkc_provider *prov)
{
	struct dkc_calls c;

	dkc_calls_begin(prov->reg, &c, prov->number);
	while (dkc_calls_sum(prov->reg, &c, ~0U))
		;
	dkc_calls_end(prov->reg, &c);
	return c.sum;
}

int dk_provider_stat(struct dk_registry *reg, const char *name, struct dk_stat *s)
{
	const struct dkc_provider *prov;
	bool found = false;

	if (s->size != sizeof(*s))
		return -EINVAL;
	reg = dkc_registry(reg);
	if (!reg)
		return -ENOENT;
	dkc_stat_clear(s, DK_STAT_PROVIDER);
	dkc_strcpy(s->provider, name, sizeof(s->provider));
	dkc_mutex_lock(&reg->lock);
	s->is_counted = !!reg->counters;
	for (prov = reg->providers; prov; prov = prov->next) {
		if (prov->left || !dkc_streq(prov->name, name))
			continue;
		found = true;
		s->count += dkc_provider_calls(prov);
	}
	dkc_mutex_unlock(&reg->lock);
	return found ? 0 : -ENOENT;
}
