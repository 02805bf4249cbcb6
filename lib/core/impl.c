// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Registering tables of functions and backend fallbacks, and taking them out.
 * A table is a block; it is published as a whole or not at all.
 */
#include "registry.h"

void dkc_who(char text[DK_NAME_MAX], const struct dk_impl *impl,
	     const struct dkc_provider *prov)
{
	const char *const part[] = {
		impl->label ? impl->label : "?", " (", prov->name, ")",
	};

	dkc_join(text, DK_NAME_MAX, part, DKC_COUNT(part));
}

static int dkc_check_function(const struct dk_impl *impl, bool fallback,
			      struct dk_diag *why)
{
	bool none = impl->flags & DK_IMPL_F_FALLTHROUGH;

	if (impl->size != sizeof(*impl))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_impl");
	if (impl->flags & ~(DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC | DK_IMPL_F_BOXED |
			    DK_IMPL_F_PLAIN | DK_IMPL_F_BLOCK))
		return dkc_refuse(why, DK_WHY_BAD_FLAGS, impl->label);
	/* what serves every operator cannot have the type of one */
	if (none == !!impl->fn ||
	    (fallback && impl->fn && !(impl->flags & DK_IMPL_F_BOXED)))
		return dkc_refuse(why, DK_WHY_NO_FUNCTION, impl->label);
	/* one type at a time, and one that somebody knows how to call */
	if ((impl->flags & DK_IMPL_F_PLAIN) &&
	    (none || fallback || (impl->flags & DK_IMPL_F_BOXED) ||
	     !impl->op->unbox_plain))
		return dkc_refuse(why, DK_WHY_BAD_FLAGS, impl->label);
	return 0;
}

/* What is to be registered, and its operator, or NULL where that is new. */
static int dkc_check_impl(struct dk_registry *reg, const struct dk_impl *impl,
			  struct dk_op **op, struct dk_diag *why)
{
	int err;

	if (!impl->op || impl->op->size != sizeof(*impl->op))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_op_decl");
	/* the name of one that is there has been looked at */
	*op = impl->op->name ? dkc_op_find(reg, impl->op->name) : NULL;
	if (!*op && !dkc_name_ok(impl->op->name))
		return dkc_refuse(why, DK_WHY_BAD_NAME, impl->op->name);
	err = dkc_check_function(impl, false, why);
	if (!err && impl->schema)
		err = dkc_schema_check(impl->schema, why);
	return err;
}

/* The key that a table entry means, beside a backend or a device. */
static int dkc_resolve_key(const struct dk_layout *l, const struct dk_impl *impl,
			   unsigned int backend, bool device, unsigned int *key,
			   struct dk_diag *why)
{
	enum dk_key_kind kind = dk_key_kind(l, impl->key);

	*key = impl->key;
	if (kind == DK_KIND_NONE || kind == DK_KIND_SENTINEL)
		return dkc_refuse_number(why, DK_WHY_BAD_KEY, impl->key);
	if (kind == DK_KIND_UNDEFINED) {
		*key = l->alias_key[DKC_ALIAS_IMPLICIT];
		kind = DK_KIND_ALIAS;
	}
	if (backend && kind == DK_KIND_BUILDING_BLOCK) {
		*key = dk_runtime_key(l, impl->key, backend);
		kind = DK_KIND_PER_BACKEND;
	}
	if (kind == DK_KIND_BUILDING_BLOCK && !(impl->flags & DK_IMPL_F_BLOCK))
		return dkc_refuse_key(why, DK_WHY_BUILDING_BLOCK, l, *key);
	if (device && (kind != DK_KIND_PER_BACKEND ||
		       dkc_key_place(l, *key).b != backend))
		return dkc_refuse_key(why, DK_WHY_DEVICE_KEY, l, *key);
	return 0;
}

static enum dkc_group dkc_group_of(const struct dk_impl *impl)
{
	if (impl->flags & DK_IMPL_F_FALLTHROUGH)
		return DKC_FALLS_THROUGH;
	return impl->flags & (DK_IMPL_F_BOXED | DK_IMPL_F_PLAIN) ? DKC_PACKED : DKC_DIRECT;
}

static void dkc_reg_init(struct dkc_reg *r, struct dkc_block *b,
			 const struct dk_impl *impl, unsigned int key)
{
	const struct dk_layout *l = b->prov->reg->layout;
	struct dkc_place at = dkc_key_place(l, key);

	r->place = r - b->regs;
	r->key = key;
	r->group = dkc_group_of(impl);
	r->of_device = !!b->dev;
	/* neither has a building block one, nor an alias key */
	if (at.f && (at.b || !dkc_is_per_backend(l, at.f)))
		r->slot = dkc_slot(l, at.f, at.b);
}

/* Put it on top of its operator's functions, or of those of devices. */
static void dkc_reg_link(struct dkc_reg *r, struct dk_op *op)
{
	struct dkc_block *b = dkc_block_of(r);
	struct dkc_reg __rcu **at = &op->regs;

	while (r->of_device && dkc_without_device(dkc_deref_locked(*at)))
		at = &dkc_run_of(dkc_deref_locked(*at))->next;
	/* then the one before it is on top */
	r->follows = r->place && b->impls[r->place].op == b->impls[r->place - 1].op;
	if (r->place)
		r->run = r[-1].run + !r->follows;
	if (!r->follows) {
		dkc_run_of(r)->op = op;
		dkc_publish(dkc_run_of(r)->next, dkc_deref_locked(*at));
	}
	dkc_publish(*at, r);
}

static void dkc_reg_news(struct dkc_change *ch, const struct dk_op *op, unsigned int key)
{
	struct dkc_news *n = dkc_news_make(op->name, DK_EVENT_IMPL, key, true);

	if (!n) {
		ch->news_lost++;
		return;
	}
	n->next = ch->news;
	ch->news = n;
}

/* Make room for one function, and put it on top of its operator's. */
static int dkc_reg_add(struct dkc_block *b, const struct dk_impl *impl,
		       struct dk_op *op, unsigned int key, struct dkc_change *ch,
		       struct dk_diag *why)
{
	struct dkc_reg *r = &b->regs[b->n];
	int err;

	/* one that may sleep is of no atomic operator */
	op = dkc_op_obtain(b->prov->reg, impl->op, op,
			   impl->flags & DK_IMPL_F_ATOMIC ? DKC_ANY_CLASS : 0);
	if (!op)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, impl->op->name);
	err = dkc_op_check_sig(op, impl->op, impl, key, b->prov, why);
	if (!err && op->definer)
		err = dkc_check_suits(op->decl, op->flags, impl, why);
	/* a new operator takes any function: one that refuses has others, and stays */
	if (err)
		return err;
	if (op->reg->listeners)
		dkc_reg_news(ch, op, key);
	dkc_reg_init(r, b, impl, key);
	dkc_reg_link(r, op);
	op->reg->num_there += !dkc_op_is_there(op);
	op->num_regs++;
	b->n++;
	dkc_change_add(ch, op);
	return 0;
}

const struct dkc_reg *dkc_device_reg_walk(const struct dk_op *op, const struct dkc_reg *r)
{
	do
		r = dkc_reg_walk(op, r);
	while (r && !r->of_device);
	return r;
}

/* Those of a run are unlinked from its last one on. */
static void dkc_reg_unlink(struct dkc_reg *r)
{
	struct dk_op *op = dkc_reg_op(r);
	struct dkc_reg __rcu **at = &op->regs;

	while (dkc_deref_locked(*at) != r)
		at = &dkc_run_of(dkc_deref_locked(*at))->next;
	/* a reader that stands on it still gets on: what follows it stays */
	dkc_publish(*at, dkc_next_reg(r));
	op->num_regs--;
	dkc_op_left(op);
}

/* Up to one of another size, which is refused; a fallback has none. */
static unsigned int dkc_num_runs(const struct dk_impl *impls, unsigned int n)
{
	unsigned int i, runs = 0;

	for (i = 0; impls && i < n && impls[i].size == sizeof(impls[i]); i++)
		runs += !i || impls[i].op != impls[i - 1].op;
	return runs;
}

struct dkc_block *dkc_block_alloc(struct dkc_provider *prov, void *priv,
				  const struct dk_impl *impls, unsigned int n)
{
	struct dkc_block *b = dkc_alloc(offsetof(struct dkc_block, regs) +
					n * sizeof(b->regs[0]) +
					dkc_num_runs(impls, n) * sizeof(b->runs[0]));

	if (b) {
		b->prov = prov;
		b->priv = priv;
		b->impls = impls;
		b->runs = (struct dkc_run *)&b->regs[n];
	}
	return b;
}

/* Undo dkc_block_make() before anything of it was published. */
void dkc_block_undo(struct dkc_block *b)
{
	struct dk_registry *reg = b->prov->reg;
	u32 i;

	for (i = b->n; i; i--) {
		struct dkc_reg *r = &b->regs[i - 1];

		if (b->fallback) {
			dkc_publish(reg->fallback[r->slot], NULL);
		} else {
			dkc_reg_unlink(r);
			dkc_op_settle(dkc_reg_op(r));
		}
	}
	if (b->fallback)
		dkc_fallbacks_changed(reg);
	dkc_retire(b);
}

/* What had the key, for the same device, before this one took it over. */
static const struct dkc_reg *dkc_overridden(const struct dkc_reg *r)
{
	const struct dkc_reg *s = dkc_next_reg(r);

	while (s && (s->key != r->key || dkc_block_of(s)->device != dkc_block_of(r)->device))
		s = dkc_next_reg(s);
	return s;
}

/*
 * Who had a key, and who comes: "operator key: f1 (a) -> f2 (b)"; a fallback
 * has no operator.
 */
static dkc_noinline int dkc_tell_had(struct dk_diag *why, enum dk_reason reason,
				     const struct dkc_reg *old,
				     const struct dk_impl *impl,
				     const struct dkc_provider *prov)
{
	char text[DK_NAME_MAX];
	char key[DK_NAME_MAX], had[DK_NAME_MAX], comes[DK_NAME_MAX];
	const struct dk_op *op = dkc_reg_op(old);
	const char *const part[] = {
		op ? op->name : "", op ? " " : "",
		dk_key_name(prov->reg->layout, old->key, key), ": ", had, " -> ", comes,
	};

	dkc_who(had, dkc_impl_of(old), dkc_block_of(old)->prov);
	dkc_who(comes, impl, prov);
	dkc_join(text, sizeof(text), part, DKC_COUNT(part));
	return dkc_refuse(why, reason, text);
}

/* Say who had the key: "operator key: old -> new". */
void dkc_tell_override(const struct dkc_block *b, struct dk_diag *why)
{
	const struct dkc_reg *old;
	unsigned int i;

	for (i = 0; why && i < b->n; i++) {
		old = dkc_overridden(&b->regs[i]);
		if (old) {
			dkc_tell_had(why, DK_WHY_OVERRIDE, old, &b->impls[i], b->prov);
			return;
		}
	}
}

/* Say which function has a key of its own that a trimmed table has no entry for. */
static void dkc_tell_no_entry(const struct dkc_block *b, struct dk_diag *why)
{
	const struct dk_layout *l = b->prov->reg->layout;
	unsigned int i;

	for (i = 0; l->trimmed && i < b->n; i++) {
		const struct dkc_reg *r = &b->regs[i];

		if (r->slot && dk_table_index(l, DK_KEYSET(dkc_reg_bits(r, l))) < 0) {
			dkc_remark_key(why, DK_WHY_NO_ENTRY, l, r->key);
			return;
		}
	}
}

/* Check a table and put it, still pending, into its operators' lists. */
struct dkc_block *dkc_block_make(struct dkc_provider *prov,
				 const struct dk_impl *impls, unsigned int n,
				 unsigned int backend, struct dkc_device *dev,
				 void *priv, struct dkc_change *ch,
				 struct dk_diag *why, int *err)
{
	struct dkc_block *b;
	struct dk_op *op = NULL;
	unsigned int i, key;

	if (n > DKC_MAX_TABLE) {
		*err = dkc_refuse(why, DK_WHY_TABLE_SIZE, prov->name);
		return NULL;
	}
	b = dkc_block_alloc(prov, priv, impls, n);
	if (!b) {
		*err = dkc_refuse(why, DK_WHY_NO_MEMORY, prov->name);
		return NULL;
	}
	if (dev) {
		b->dev = dev;
		b->device = dev->number;
		dev->block = b;
	}
	for (i = 0; i < n; i++) {
		*err = dkc_check_impl(prov->reg, &impls[i], &op, why);
		if (!*err)
			*err = dkc_resolve_key(prov->reg->layout, &impls[i],
					       backend, dev, &key, why);
		if (!*err)
			*err = dkc_reg_add(b, &impls[i], op, key, ch, why);
		if (*err) {
			dkc_change_cancel(ch);
			dkc_block_undo(b);
			return NULL;
		}
	}
	return b;
}

static struct dkc_block **dkc_bucket(struct dk_registry *reg,
				     const struct dk_impl *impls)
{
	return &reg->blocks[((uintptr_t)impls >> 4) % DKC_BLOCK_BUCKETS];
}

static void dkc_block_link(struct dkc_block *b)
{
	struct dkc_block **bucket = dkc_bucket(b->prov->reg, b->impls);

	b->hash_next = *bucket;
	*bucket = b;
	b->next = b->prov->blocks;
	b->link = &b->prov->blocks;
	if (b->next)
		b->next->link = &b->next;
	b->prov->blocks = b;
}

static void dkc_block_unlink(struct dkc_block *b)
{
	struct dkc_block **p = dkc_bucket(b->prov->reg, b->impls);

	while (*p != b)
		p = &(*p)->hash_next;
	*p = b->hash_next;
	dkc_calls_leave_block(b);
	*b->link = b->next;
	if (b->next)
		b->next->link = b->link;
}

/* From here on nothing fails. */
void dkc_block_publish(struct dkc_block *b, struct dkc_change *ch)
{
	unsigned int i;

	dkc_block_turn(b, true);
	for (i = 0; i < b->n; i++)
		dkc_trace(register, &b->regs[i]);
	b->prov->reg->generation++;
	dkc_block_link(b);
	/* a device comes with its block, and is told of before its functions */
	if (b->dev)
		dkc_saw_device(b->dev, DKC_DEVICE_CAME);
	dkc_saw_block(b, true);
	dkc_change_commit(ch);
	dkc_news_put(b->prov->reg, ch->news);
	dkc_news_lose(b->prov->reg, ch->news_lost);
}

/* What a provider registered by the caller's table; no device's. */
static struct dkc_block *dkc_block_by_table(const struct dkc_provider *core,
					    const struct dk_impl *impls)
{
	struct dkc_block *b = *dkc_bucket(core->reg, impls);

	while (b && (b->impls != impls || b->prov != core || b->dev))
		b = b->hash_next;
	return b;
}

/* A table is unregistered by its address, so it is registered once. */
static dkc_noinline int dkc_check_table(const struct dkc_provider *core,
					const struct dk_impl *impls, unsigned int n,
					struct dk_diag *why)
{
	const struct dkc_block *b = dkc_block_by_table(core, impls);
	char text[DK_NAME_MAX];

	/* an empty one may have the address of the next */
	if (!b || !b->n || !n)
		return 0;
	dkc_who(text, impls, core);
	return dkc_refuse(why, DK_WHY_TABLE_REGISTERED, text);
}

/* Register a table; the lock is held. */
struct dkc_block *dkc_table_add(struct dkc_provider *core, unsigned int backend,
				const struct dk_impl *impls, unsigned int n,
				struct dk_diag *why, int *err)
{
	struct dkc_change ch = { .ops = NULL };
	struct dkc_block *b;

	*err = dkc_check_table(core, impls, n, why);
	if (*err)
		return NULL;
	b = dkc_block_make(core, impls, n, backend, NULL, core->priv, &ch, why, err);
	if (!b)
		return NULL;
	if (dkc_change_prepare(&ch)) {
		dkc_block_undo(b);
		*err = dkc_refuse(why, DK_WHY_NO_MEMORY, core->name);
		return NULL;
	}
	dkc_tell_no_entry(b, why);
	dkc_tell_override(b, why);
	dkc_block_publish(b, &ch);
	return b;
}

static int dkc_impls_register(struct dk_provider *prov, unsigned int backend,
			      const struct dk_impl *impls, unsigned int n,
			      struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dk_registry *reg;
	int err = dkc_provider_lock(prov, &core, why);

	if (err)
		return err;
	reg = core->reg;
	if (backend > reg->layout->nb)
		err = dkc_refuse_number(why, DK_WHY_BAD_BACKEND, backend);
	else
		dkc_table_add(core, backend, impls, n, why, &err);
	dkc_mutex_unlock(&reg->lock);
	dkc_flush_retired();
	dkc_news_tell(reg);
	return err;
}

int dk_impls_register(struct dk_provider *prov, const struct dk_impl *impls,
		      unsigned int n, struct dk_diag *why)
{
	return dkc_impls_register(prov, 0, impls, n, why);
}

int dk_backend_impls_register(struct dk_provider *prov, unsigned int backend,
			      const struct dk_impl *impls, unsigned int n,
			      struct dk_diag *why)
{
	if (!backend)
		return dkc_refuse_number(why, DK_WHY_BAD_BACKEND, backend);
	return dkc_impls_register(prov, backend, impls, n, why);
}

static int dkc_check_fallback_key(const struct dk_layout *l,
				  const struct dk_impl *impl, struct dk_diag *why)
{
	switch (dk_key_kind(l, impl->key)) {
	case DK_KIND_FUNCTIONALITY:
	case DK_KIND_PER_BACKEND:
	case DK_KIND_ALIAS:
		return dkc_check_function(impl, true, why);
	case DK_KIND_NONE:
	case DK_KIND_SENTINEL:
		return dkc_refuse_number(why, DK_WHY_BAD_KEY, impl->key);
	default:
		return dkc_refuse_key(why, DK_WHY_NOT_RUNTIME_KEY, l, impl->key);
	}
}

/* A trimmed table has no place for most fallbacks; the first such key is told. */
static bool dkc_skips_key(const struct dk_layout *l, unsigned int key,
			  struct dk_diag *why)
{
	if (dk_table_index(l, dk_key_set(l, key)) >= 0)
		return false;
	if (why && why->reason != DK_WHY_NO_ENTRY)
		dkc_remark_key(why, DK_WHY_NO_ENTRY, l, key);
	return true;
}

/* Put a pending fallback at every entry that its key stands for. */
static int dkc_fallback_place(struct dkc_block *b, const struct dk_impl *impl,
			      struct dk_diag *why)
{
	struct dk_registry *reg = b->prov->reg;
	struct dk_keyset set = dk_alias_set(reg->layout, impl->key);
	const struct dkc_reg *old;
	unsigned int slot = 0;

	while ((slot = dk_keyset_next(reg->layout, set, slot))) {
		unsigned int key = dk_slot_key(reg->layout, slot);

		if (dkc_skips_key(reg->layout, key, why))
			continue;
		old = dkc_deref_locked(reg->fallback[slot]);
		if (old)
			return dkc_tell_had(why, DK_WHY_FALLBACK_EXISTS, old, impl,
					    b->prov);
		dkc_reg_init(&b->regs[b->n], b, impl, key);
		dkc_publish(reg->fallback[slot], &b->regs[b->n++]);
	}
	return 0;
}

/* Register a fallback; the lock is held. */
struct dkc_block *dkc_fallback_add(struct dkc_provider *core,
				   const struct dk_impl *impl, struct dk_diag *why,
				   int *err)
{
	struct dkc_change ch = { .ops = NULL };
	struct dkc_block *b;

	*err = dkc_check_fallback_key(core->reg->layout, impl, why);
	if (*err)
		return NULL;
	b = dkc_block_alloc(core, core->priv, NULL, core->reg->layout->num_entries);
	if (!b) {
		*err = dkc_refuse(why, DK_WHY_NO_MEMORY, core->name);
		return NULL;
	}
	b->impls = impl;
	b->fallback = true;
	*err = dkc_fallback_place(b, impl, why);
	if (!*err) {
		dkc_change_add_fallbacks(&ch, core->reg);
		if (dkc_change_prepare(&ch))
			*err = dkc_refuse(why, DK_WHY_NO_MEMORY, core->name);
	}
	if (*err) {
		dkc_block_undo(b);
		return NULL;
	}
	dkc_block_publish(b, &ch);
	return b;
}

int dk_fallback_register(struct dk_provider *prov, const struct dk_impl *impl,
			 struct dk_diag *why)
{
	struct dkc_provider *core;
	int err = dkc_provider_lock(prov, &core, why);

	if (err)
		return err;
	dkc_fallback_add(core, impl, why, &err);
	dkc_mutex_unlock(&core->reg->lock);
	dkc_flush_retired();
	return err;
}

/* Take a block out of its operators and its provider; publish with @ch. */
void dkc_block_withdraw(struct dkc_block *b, struct dkc_change *ch)
{
	unsigned int i;

	dkc_block_unlink(b);
	b->prov->reg->generation++;
	dkc_saw_block(b, false);
	dkc_stats_withdraw_block(b);
	b->prov->reg->fallbacks_leaving += b->fallback;
	dkc_block_turn(b, false);
	for (i = b->n; i; i--) {
		struct dkc_reg *r = &b->regs[i - 1];

		dkc_trace(unregister, r);
		if (b->fallback) {
			dkc_publish(b->prov->reg->fallback[r->slot], NULL);
		} else {
			dkc_reg_unlink(r);
			dkc_change_add(ch, dkc_reg_op(r));
		}
	}
	if (b->fallback)
		dkc_change_add_fallbacks(ch, b->prov->reg);
	b->next = b->prov->withdrawn;
	b->prov->withdrawn = b;
}

/* Withdraw by the caller's table; the lock is held. */
static int dkc_withdraw(struct dkc_provider *core, const struct dk_impl *impls,
			struct dkc_block **out, struct dk_diag *why)
{
	struct dkc_change ch = { .ops = NULL };
	struct dkc_block *b = dkc_block_by_table(core, impls);

	if (!b)
		return dkc_refuse(why, DK_WHY_NOT_THERE, core->name);
	dkc_block_withdraw(b, &ch);
	dkc_change_force(&ch);
	*out = b;
	return 0;
}

int dk_impls_withdraw(struct dk_provider *prov, const struct dk_impl *impls,
		      struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dkc_block *b;
	int err = dkc_provider_lock(prov, &core, why);

	if (err)
		return err;
	err = dkc_withdraw(core, impls, &b, why);
	dkc_mutex_unlock(&core->reg->lock);
	return err;
}

int dk_impls_unregister(struct dk_provider *prov, const struct dk_impl *impls,
			struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dkc_block *b = NULL;
	int err = dkc_provider_lock_to_leave(prov, &core, why);

	if (err)
		return err;
	err = dkc_withdraw(core, impls, &b, why);
	if (err)
		dkc_mutex_unlock(&core->reg->lock);
	else
		dkc_provider_wait(core, (struct dkc_target){ .block = b });
	return err;
}
