// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Finds operators by name. An operator exists while it is defined, or has functions or references.
 * An operator to which a struct dk_op_decl was bound is never freed.
 */
#include "state.h"

static struct dk_op removed;	/* marks the slots of removed operators */

/* Compares names of the same length word by word. The last word may overlap the word before it. */
static inline bool same_name(const char *a, const char *b, size_t len)
{
	u64 x, y;
	size_t i = 0;

	if (len < sizeof(x)) {
		while (i < len && a[i] == b[i])
			i++;
		return i == len;
	}
	for (; i + sizeof(x) < len; i += sizeof(x)) {
		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		if (x != y)
			return false;
	}
	memcpy(&x, a + len - sizeof(x), sizeof(x));
	memcpy(&y, b + len - sizeof(y), sizeof(y));
	return x == y;
}

static u32 first_slot(const struct dkc_optab *tab, u32 hash)
{
	return (u64)hash * tab->size >> 32;
}

static u32 next_slot(const struct dkc_optab *tab, u32 slot)
{
	return slot + 1 < tab->size ? slot + 1 : 0;
}

/*
 * Returns the tags of the slots. A tag is the low byte of the hash of the slot's operator, or 0 if
 * the slot is free. All hashes are odd, so no operator has tag 0.
 */
static u8 *tags_of(const struct dkc_optab *tab)
{
	return (u8 *)&tab->slot[tab->size];
}

struct dk_op *dkc_op_find(struct dk_registry *reg, const char *name)
{
	const struct dkc_optab *tab = dkc_deref(reg->ops, reg);
	u64 hashlen = name ? hashlen_string(NULL, name) : 0;
	u32 hash = hashlen_hash(hashlen) | 1, len = hashlen_len(hashlen), i;
	struct dk_op *op;
	u8 tag;

	if (!tab || !len)
		return NULL;
	for (i = first_slot(tab, hash); (tag = READ_ONCE(tags_of(tab)[i])); i = next_slot(tab, i)) {
		if (tag != (u8)hash)
			continue;
		op = dkc_deref(tab->slot[i], reg);	/* NULL: another thread is inserting it */
		if (op && op->name_len == len && same_name(op->name, name, len))
			return op;
	}
	return NULL;
}

struct dk_op *dkc_op_next_of(struct dk_registry *reg, u32 *pos, u32 *budget)
{
	const struct dkc_optab *tab = dkc_deref_locked(reg->ops, reg);
	struct dk_op *op;

	dkc_assert_writer(reg);
	while (tab && *pos < tab->size && *budget) {
		op = dkc_deref_locked(tab->slot[*pos], reg);
		++*pos;
		--*budget;
		dkc_work(DKC_WORK_SLOTS, 1);
		if (op && op != &removed)
			return op;
	}
	return NULL;
}

struct dk_op *dkc_op_next(struct dk_registry *reg, u32 *pos)
{
	u32 budget = ~0U;

	cond_resched();
	return dkc_op_next_of(reg, pos, &budget);
}

static u32 optab_put(struct dkc_optab *tab, struct dk_op *op)
{
	u32 i = first_slot(tab, op->hash);

	while (dkc_deref_locked(tab->slot[i], op->reg))
		i = next_slot(tab, i);
	tab->used++;
	rcu_assign_pointer(tab->slot[i], op);
	WRITE_ONCE(tags_of(tab)[i], op->hash);
	return i;
}

/* Makes sure that there is a free slot. Replaces the table if it is three quarters full. */
static int optab_reserve(struct dk_registry *reg)
{
	struct dkc_optab *tab = dkc_deref_locked(reg->ops, reg), *bigger;
	u32 slots = 2 * (reg->num_ops + 1), pos = 0;
	struct dk_op *op;

	if (tab && (tab->used + 1) * 4 <= tab->size * 3)
		return 0;
	if (slots < DKC_FIRST_OPS)
		slots = DKC_FIRST_OPS;
	bigger = kvzalloc(offsetof(struct dkc_optab, slot) +
			  slots * (sizeof(bigger->slot[0]) + sizeof(u8)), GFP_KERNEL);
	if (!bigger)
		return -ENOMEM;
	bigger->size = slots;
	while ((op = dkc_op_next(reg, &pos)))
		optab_put(bigger, op);
	rcu_assign_pointer(reg->ops, bigger);
	/* the operators are in other slots now, so start again from the first slot */
	if (reg->unbuilt)
		reg->unbuilt = 1;
	reg->sorted_slots = 0;
	if (tab)
		kvfree_rcu(tab, rcu);
	return 0;
}

/* Allocates an operator and makes sure that there is a free slot for it. Does not insert it. */
static struct dk_op *op_new(struct dk_registry *reg, const char *name)
{
	u64 hashlen = hashlen_string(NULL, name);
	u32 len = hashlen_len(hashlen);
	struct dk_op *op;

	op = kvzalloc(offsetof(struct dk_op, name) + len + 1, GFP_KERNEL);
	if (!op)
		return NULL;
	if (optab_reserve(reg)) {
		kvfree(op);
		return NULL;
	}
	memcpy(op->name, name, len + 1);
	op->name_len = len;
	op->hash = hashlen_hash(hashlen) | 1;
	op->reg = reg;
	rcu_assign_pointer(op->table, reg->shutdown ? &dkc_table_shutdown : &dkc_table_undefined);
	return op;
}

static void op_insert(struct dk_op *op)
{
	op->reg->num_ops++;
	dkc_order_add(op, optab_put(dkc_deref_locked(op->reg->ops, op->reg), op));
}

static void optab_remove(struct dk_op *op)
{
	struct dkc_optab *tab = dkc_deref_locked(op->reg->ops, op->reg);
	u32 i = first_slot(tab, op->hash);

	while (dkc_deref_locked(tab->slot[i], op->reg) != op)
		i = next_slot(tab, i);
	rcu_assign_pointer(tab->slot[i], &removed);
	dkc_order_remove(op);
	op->reg->num_ops--;
}

/*
 * Frees an unused operator, unless a declaration is bound to it, perhaps at this moment. This
 * function stores @dead and then loads @pinned. op_keep() stores @pinned and then loads @dead. Both
 * execute smp_mb() between the store and the load. So at least one of them loads what the other
 * stored.
 */
void dkc_op_release(struct dk_op *op)
{
	const struct dkc_table *base;

	dkc_assert_writer(op->reg);
	if (dkc_op_alive(op))
		return;
	WRITE_ONCE(op->dead, true);
	/* Pairs with smp_mb() in op_keep(). Model: selftests/model/pin.pml. */
	smp_mb();
	base = dkc_deref_locked(op->base, op->reg);
	dkc_op_set_table(op, op->reg->shutdown ? &dkc_table_shutdown : &dkc_table_undefined);
	rcu_assign_pointer(op->base, NULL);
	dkc_table_retire(op->reg, base);
	if (READ_ONCE(op->pinned)) {
		WRITE_ONCE(op->dead, false);
		return;
	}
	dkc_stats_forget_op(op);
	dkc_args_free(op, true);
	optab_remove(op);
	kvfree_rcu(op, rcu);
}

/*
 * True if an operator exists only because declarations are bound to it. A new operator may take its
 * name. Calls through these declarations then find the old operator undefined and @stale, and look
 * up the name again: call_by_name().
 */
static bool op_replaceable(const struct dk_op *op)
{
	return READ_ONCE(op->pinned) && !dkc_op_alive(op) && !op->changing;
}

/*
 * True if the declarations that are bound to an operator fit a new definition. The operator was
 * defined when they were bound, so its class is known.
 */
static bool op_reusable(const struct dk_op *op, const struct dk_op_decl *decl, unsigned int flags)
{
	return op->sig == dkc_sig_hash(decl->sig) &&
	       (flags == DKC_ANY_CLASS || !((op->flags ^ flags) & DK_OP_ATOMIC));
}

/*
 * Returns an operator that is not in the table of names yet: a replaced operator of the same name
 * if one fits, otherwise a new operator. Replaced operators are freed only with the registry.
 * Because they are reused, a name has at most one operator for each signature and class.
 */
static struct dk_op *op_reuse_or_new(struct dk_registry *reg, const struct dk_op_decl *decl,
				     unsigned int flags)
{
	struct dk_op **p = &reg->stale, *old;

	for (; (old = *p); p = &old->next)
		if (dkc_streq(old->name, decl->name) && op_reusable(old, decl, flags))
			break;
	if (!old)
		return op_new(reg, decl->name);
	if (optab_reserve(reg))
		return NULL;
	*p = old->next;
	old->next = NULL;
	WRITE_ONCE(old->stale, false);
	return old;
}

static struct dk_op *op_replace(struct dk_op *op, const struct dk_op_decl *decl, unsigned int flags)
{
	struct dk_op *fresh = op_reuse_or_new(op->reg, decl, flags);

	if (!fresh)
		return NULL;
	optab_remove(op);
	op_insert(fresh);
	op->next = op->reg->stale;
	op->reg->stale = op;
	WRITE_ONCE(op->stale, true);
	return fresh;
}

struct dk_op *dkc_op_obtain(struct dk_registry *reg, const struct dk_op_decl *decl,
			    struct dk_op *op, unsigned int flags)
{
	dkc_assert_writer(reg);
	if (!op) {
		op = op_reuse_or_new(reg, decl, flags);
		if (op)
			op_insert(op);
		return op;
	}
	if (!op_replaceable(op) || op_reusable(op, decl, flags))
		return op;
	return op_replace(op, decl, flags);
}

void dkc_ops_free(struct dk_registry *reg)
{
	struct dk_op *op;
	u32 pos = 0;

	dkc_assert_writer(reg);
	while ((op = dkc_op_next(reg, &pos))) {
		dkc_table_discard(reg, dkc_deref_locked(op->base, op->reg));
		dkc_args_free(op, false);
		kvfree(op);
	}
	while ((op = reg->stale)) {
		reg->stale = op->next;
		dkc_args_free(op, false);
		kvfree(op);
	}
	kvfree(dkc_deref_locked(reg->ops, reg));
}

/* Binds a declaration to an operator that is defined and fits. Called in a read-side section. */
static int op_keep(struct dk_op_decl *decl, struct dk_op *op)
{
	u64 sig;

	/*
	 * Pairs with smp_store_release() in definition_publish(): if the operator has a signature,
	 * the load below returns it. Model: selftests/model/pin.pml.
	 */
	if (!smp_load_acquire(&op->definer))
		return -ENOENT;
	sig = READ_ONCE(op->sig);
	if (dkc_is_other_sig(decl, sig))
		return -EPROTOTYPE;
	WRITE_ONCE(op->pinned, true);
	/* Pairs with smp_mb() in dkc_op_release() and check_definition(). */
	smp_mb();
	/*
	 * the operator may have been undefined meanwhile, and its next definition may have another
	 * class
	 */
	if (READ_ONCE(op->dead) || !READ_ONCE(op->definer))
		return -ENOENT;
	/* the fast path of boxed calls needs a mark, even if there is no text to compare */
	if (!decl->sig)
		WRITE_ONCE(decl->sig_mark, sig);
	/*
	 * if the operator has no signature yet, do not bind: the slow path compares when it has one
	 */
	if (!decl->sig || sig)
		WRITE_ONCE(decl->op, op);
	return 0;
}

int dkc_op_pin(struct dk_op_decl *decl, struct dk_op **out)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_op *op;
	int err;

	if (!reg)
		return -ENOMEM;
	if (!dkc_decl_fits(decl))
		return -EPROTOTYPE;
	rcu_read_lock();
	op = dkc_op_find(reg, decl->name);
	err = op ? op_keep(decl, op) : -ENOENT;
	if (err == -ENOENT && READ_ONCE(reg->shutdown))
		err = -ESHUTDOWN;
	rcu_read_unlock();
	*out = op;
	return err;
}

/* The count saturates, so that leaked references never wrap it. */
void dkc_op_hold(struct dk_op *op)
{
	dkc_assert_writer(op->reg);
	op->holders += op->holders != ~0U;
}

void dkc_op_unhold(struct dk_op *op)
{
	dkc_assert_writer(op->reg);
	op->holders -= op->holders != ~0U;
}

static void op_get(struct dk_registry *reg, struct dk_op *op)
{
	dkc_op_hold(op);
	reg->num_held++;
}

struct dk_op *dk_op_get(struct dk_registry *reg, const char *name)
{
	struct dk_op *op;

	reg = dkc_registry_locked(reg);
	if (!reg)
		return NULL;
	op = dkc_op_find(reg, name);
	if (op && dkc_op_alive(op))
		op_get(reg, op);
	else
		op = NULL;
	mutex_unlock(&reg->lock);
	return op;
}

int dk_op_get_defined(struct dk_registry *reg, const char *name, struct dk_op **op,
		      struct dk_diag *why)
{
	struct dk_op *found;
	bool dangling;

	*op = NULL;
	reg = dkc_registry_locked(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, name);
	found = dkc_op_find(reg, name);
	dangling = found && dkc_op_dangles(found);
	if (found && found->definer) {
		op_get(reg, found);
		*op = found;
	}
	mutex_unlock(&reg->lock);
	if (!*op)
		return dkc_refuse(why, dangling ? DK_WHY_DANGLING : DK_WHY_NO_OPERATOR, name);
	return dkc_accept(why);
}

void dk_op_put(struct dk_op *op)
{
	struct dk_registry *reg;

	if (!op)
		return;
	reg = op->reg;
	mutex_lock(&reg->lock);
	if (op->holders) {
		dkc_op_unhold(op);
		reg->num_held--;
		dkc_op_release(op);
	} else {
		dkc_misuse(op->name, ": dk_op_put() was called too often");
	}
	dkc_registry_unlock_flush(reg);
}

const char *dk_op_name(const struct dk_op *op)
{
	return op ? op->name : NULL;
}
