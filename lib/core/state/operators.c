// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Allocates and frees operators, and binds declarations to them. An operator exists while it is
 * defined, or has functions or references. An operator to which a struct dk_op_decl was bound is
 * never freed.
 */
#include "state.h"

static struct dk_op *op_new(struct dk_registry *reg, const char *name)
{
	u64 hashlen = hashlen_string(NULL, name);
	u32 len = hashlen_len(hashlen);
	struct dk_op *op;

	op = kvzalloc(offsetof(struct dk_op, name) + len + 1, GFP_KERNEL);
	if (!op)
		return NULL;
	memcpy(op->name, name, len + 1);
	op->name_len = len;
	op->hash = hashlen_hash(hashlen) | 1;
	op->reg = reg;
	rcu_assign_pointer(op->table, reg->shutdown ? &dkc_table_shutdown : &dkc_table_undefined);
	return op;
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
	dkc_optab_remove(op);
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
	*p = old->next;
	old->next = NULL;
	WRITE_ONCE(old->stale, false);
	return old;
}

struct dk_op *dkc_op_obtain(struct dk_registry *reg, const struct dk_op_decl *decl,
			    struct dk_op *found, unsigned int flags)
{
	struct dk_op *op = NULL;

	dkc_assert_writer(reg);
	if (found && (!op_replaceable(found) || op_reusable(found, decl, flags)))
		return found;
	if (!dkc_optab_reserve(reg))
		op = op_reuse_or_new(reg, decl, flags);
	if (!op)
		return NULL;
	if (found) {
		dkc_optab_remove(found);
		found->next = reg->stale;
		reg->stale = found;
		WRITE_ONCE(found->stale, true);
	}
	dkc_optab_add(op);
	return op;
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
