// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Registers a definition, an array of functions, the functions of a device, or a backend
 * fallback. dkc_register() publishes all that one API call registers, or nothing.
 */
#include "change.h"

/* ---- functions -------------------------------------------------------------- */

/* Sets *@key to the key at which @impl is registered. */
static int resolve_key(const struct dkc_registration *r, const struct dk_impl *impl,
		       unsigned int *key)
{
	const struct dk_layout *l = r->prov->reg->layout;
	enum dk_key_kind kind = dk_key_kind(l, impl->key);

	*key = impl->key;
	if (!dkc_is_key(kind))
		return dkc_refuse_number(r->why, DK_WHY_BAD_KEY, impl->key);
	if (kind == DK_KIND_UNDEFINED) {
		*key = l->alias_key[DKC_ALIAS_IMPLICIT];
		kind = DK_KIND_ALIAS;
	}
	if (r->backend && kind == DK_KIND_BUILDING_BLOCK) {
		*key = dk_runtime_key(l, impl->key, r->backend);
		kind = DK_KIND_PER_BACKEND;
	}
	if (kind == DK_KIND_BUILDING_BLOCK && !(impl->flags & DK_IMPL_F_BLOCK))
		return dkc_refuse_key(r->why, DK_WHY_BUILDING_BLOCK, l, *key);
	if (r->dev && (kind != DK_KIND_PER_BACKEND ||
		       dkc_key_place(l, *key).b != r->backend))
		return dkc_refuse_key(r->why, DK_WHY_DEVICE_KEY, l, *key);
	return 0;
}

/*
 * Links a registration into its operator's list. The list has two parts: first the registrations
 * without a device, then those of devices. The new registration becomes the first of its part.
 */
static void reg_link(struct dkc_reg *r, struct dk_op *op)
{
	struct dkc_block *b = dkc_block_of(r);
	struct dkc_reg __rcu **at = &op->regs;

	while (r->of_device && dkc_without_device(dkc_deref_locked(*at, op->reg)))
		at = &dkc_run_of(dkc_deref_locked(*at, op->reg))->next;
	/* if the block's previous registration has the same operator, *@at now points to it */
	r->follows = r->place && b->impls[r->place].op == b->impls[r->place - 1].op;
	if (r->place)
		r->run = r[-1].run + !r->follows;
	if (!r->follows) {
		dkc_run_of(r)->op = op;
		rcu_assign_pointer(dkc_run_of(r)->next, dkc_deref_locked(*at, op->reg));
	}
	rcu_assign_pointer(*at, r);
}

static int function_admit(struct dkc_registration *r, const struct dk_impl *impl)
{
	struct dkc_claim claim = {
		.decl = impl->op, .impl = impl, .prov = r->prov,
		/* a function that is not atomic may sleep, so it cannot serve an atomic operator */
		.flags = impl->flags & DK_IMPL_F_ATOMIC ? DKC_ANY_CLASS : 0,
	};
	struct dk_op *op;
	int err = dkc_check_impl(impl, r->why);

	dkc_work(DKC_WORK_STEPS, 1);
	if (!err)
		err = resolve_key(r, impl, &claim.key);
	if (!err)
		err = dkc_admit(&claim, &op, r->why);
	if (err)
		return err;
	reg_link(dkc_block_add(r->block, op->reg->layout, impl, claim.key), op);
	op->reg->num_listed += !dkc_op_is_listed(op);
	op->num_regs++;
	dkc_change_add(&r->ch, op);
	return 0;
}

/* An array is identified by its address, so a provider must not register it twice. */
static noinline int check_table(const struct dkc_registration *r)
{
	const struct dkc_block *b = dkc_block_find(r->prov, r->impls);
	char text[DK_NAME_MAX];

	if (r->dev || !b)
		return 0;
	dkc_impl_text(text, r->impls, r->prov);
	return dkc_refuse(r->why, DK_WHY_TABLE_REGISTERED, text);
}

static int table_admit(struct dkc_registration *r)
{
	unsigned int i;
	int err = check_table(r);

	for (i = 0; !err && i < r->n; i++) {
		cond_resched();
		err = function_admit(r, &r->impls[i]);
	}
	return err;
}

/* ---- backend fallbacks ------------------------------------------------------- */

static int check_fallback_key(const struct dkc_registration *r)
{
	const struct dk_layout *l = r->prov->reg->layout;
	const struct dk_impl *impl = r->impls;

	switch (dk_key_kind(l, impl->key)) {
	case DK_KIND_FUNCTIONALITY:
	case DK_KIND_PER_BACKEND:
	case DK_KIND_ALIAS:
		return dkc_check_function(impl, true, r->why);
	case DK_KIND_NONE:
	case DK_KIND_SENTINEL:
		return dkc_refuse_number(r->why, DK_WHY_BAD_KEY, impl->key);
	default:
		return dkc_refuse_key(r->why, DK_WHY_NOT_RUNTIME_KEY, l, impl->key);
	}
}

/*
 * Links a fallback at every entry that its key stands for. Skips keys for which a trimmed table has
 * no entry.
 */
static int fallback_admit(struct dkc_registration *r)
{
	struct dk_registry *reg = r->prov->reg;
	const struct dk_layout *l = reg->layout;
	const struct dkc_reg *old;
	unsigned int key, slot = 0;
	int err = check_fallback_key(r);

	if (err)
		return err;
	while ((slot = dk_keyset_next(l, dk_alias_set(l, r->impls->key), slot))) {
		key = dk_slot_key(l, slot);
		if (!dkc_has_entry(l, slot)) {
			if (r->why && r->why->reason != DK_WHY_NO_ENTRY)
				dkc_refuse_key(r->why, DK_WHY_NO_ENTRY, l, key);
			continue;
		}
		old = dkc_deref_locked(reg->fallback[slot], reg);
		if (old)
			return dkc_refuse_had(r->why, DK_WHY_FALLBACK_EXISTS, old, r->impls,
					      r->prov);
		rcu_assign_pointer(reg->fallback[slot], dkc_block_add(r->block, l, r->impls, key));
	}
	dkc_change_add_fallbacks(&r->ch, reg);
	/* the same fallback again: no key shows this if none has an entry */
	return check_table(r);
}

/* ---- blocks ------------------------------------------------------------------ */

static const char *registration_name(const struct dkc_registration *r)
{
	if (r->dev)
		return r->dev->name;
	return r->decl ? r->decl->name : r->prov->name;
}

static int block_admit(struct dkc_registration *r)
{
	const struct dk_layout *l = r->prov->reg->layout;
	struct dkc_block *b;

	if (r->backend > l->nb)
		return dkc_refuse_number(r->why, DK_WHY_BAD_BACKEND, r->backend);
	if (r->n > DKC_MAX_BLOCK)
		return dkc_refuse(r->why, DK_WHY_TABLE_SIZE, r->prov->name);
	/* do not register an empty array: it may share its address with another array */
	if (!r->n && !r->dev && !r->fallback)
		return 0;
	b = dkc_block_alloc(r->impls, r->fallback ? l->num_entries : r->n, r->fallback);
	if (!b)
		return dkc_refuse(r->why, DK_WHY_NO_MEMORY, registration_name(r));
	r->block = b;
	b->prov = r->prov;
	b->priv = r->prov->priv;
	if (r->dev) {
		b->priv = r->priv;
		b->dev = r->dev;
		b->device = r->dev->number;
		r->dev->block = b;
	}
	return r->fallback ? fallback_admit(r) : table_admit(r);
}

/* Returns the function that @r overrides: the next older one at the same key and device. */
static const struct dkc_reg *overridden(const struct dkc_reg *r)
{
	const struct dkc_reg *s = dkc_next_reg(r);

	while (s && (s->key != r->key || dkc_block_of(s)->device != dkc_block_of(r)->device))
		s = dkc_next_reg(s);
	return s;
}

/*
 * Reports the first function that overrides another one ("operator key: old -> new") or, if none
 * does, the first function at a key without an entry in a trimmed table.
 */
static void remark_functions(const struct dkc_registration *r)
{
	const struct dkc_block *b = r->block;
	const struct dk_layout *l = r->prov->reg->layout;
	const struct dkc_reg *old;
	unsigned int i;

	for (i = 0; l->trimmed && i < b->n; i++) {
		if (b->regs[i].slot && !dkc_has_entry(l, b->regs[i].slot)) {
			dkc_refuse_key(r->why, DK_WHY_NO_ENTRY, l, b->regs[i].key);
			break;
		}
	}
	for (i = 0; r->why && i < b->n; i++) {
		old = overridden(&b->regs[i]);
		if (old) {
			dkc_refuse_had(r->why, DK_WHY_OVERRIDE, old, &b->impls[i], b->prov);
			break;
		}
	}
}

static void block_publish(struct dkc_block *b)
{
	struct dkc_block **bucket = dkc_bucket(b->prov->reg, b->impls);
	unsigned int i;

	if (b->dev)
		dkc_device_publish(b->dev);
	dkc_block_set_live(b, true);
	dkc_stats_give_block(b, b->prov);
	for (i = 0; i < b->n; i++)
		dkc_trace(register, &b->regs[i]);
	b->prov->reg->generation++;
	b->hash_next = *bucket;
	*bucket = b;
	b->next = b->prov->blocks;
	b->link = &b->prov->blocks;
	if (b->next)
		b->next->link = &b->next;
	b->prov->blocks = b;
	/* the event about a device precedes the events about its functions */
	if (b->dev)
		dkc_notify_device(b->dev, DKC_DEVICE_ADDED);
	dkc_notify_block(b, true);
}

/* ---- definitions --------------------------------------------------------------- */

/* Takes a reference to the operator until the definition is published or cancelled. */
static int definition_admit(struct dkc_registration *r)
{
	const struct dkc_claim claim = { .decl = r->decl, .prov = r->prov, .flags = r->flags };
	struct dk_op *op;
	int err = dkc_check_decl(r->decl, r->flags, r->why);

	if (!err)
		err = dkc_admit(&claim, &op, r->why);
	if (err)
		return err;
	r->op = op;
	r->old_flags = op->flags;
	dkc_op_hold(op);
	op->decl = r->decl;
	WRITE_ONCE(op->flags, r->flags);
	dkc_change_add(&r->ch, op);
	if (dkc_args_make(op, r->decl, &r->args))
		return dkc_refuse(r->why, DK_WHY_NO_MEMORY, r->decl->name);
	return 0;
}

static void definition_cancel(struct dkc_registration *r)
{
	WRITE_ONCE(r->op->flags, r->old_flags);
	r->op->decl = NULL;
	dkc_op_unhold(r->op);
	dkc_args_cancel(r->op, r->args);
	dkc_change_add(&r->ch, r->op);
}

static void definition_publish(struct dkc_registration *r)
{
	struct dk_registry *reg = r->prov->reg;
	struct dk_op *op = r->op;

	dkc_args_give(op, r->args);
	op->classed = true;
	op->max_objs = dkc_count_objs(r->decl);
	reg->generation++;
	if (!op->sig)
		WRITE_ONCE(op->sig, dkc_op_sig(op));
	reg->num_listed += !dkc_op_is_listed(op);
	/* pairs with smp_load_acquire() in op_keep(): selftests/model/pin.pml */
	smp_store_release(&op->definer, r->prov);
	dkc_notify_op(op, r->prov, true);
	/*
	 * Ends all views, so that no lookup mixes two definitions. Comparing the table pointers
	 * would not be enough: the tables of both definitions may be the same constant table.
	 */
	dkc_changed(reg, DKC_WHOLE_CHANGE);
	dkc_op_unhold(op);
}

/* ---- the registration ------------------------------------------------------------ */

static void cancel(struct dkc_registration *r)
{
	if (r->block) {
		dkc_block_unlink(r->block, &r->ch);
		kvfree_rcu(r->block, rcu);
		r->block = NULL;
	}
	if (r->op)
		definition_cancel(r);
	/* releases the operators */
	dkc_change_cancel(&r->ch);
}

int dkc_register(struct dkc_registration *r)
{
	int err = 0;

	dkc_assert_writer(r->prov->reg);
	if (r->decl)
		err = definition_admit(r);
	if (!err && (r->impls || !r->decl))
		err = block_admit(r);
	if (!err && dkc_change_prepare(&r->ch))
		err = dkc_refuse(r->why, DK_WHY_NO_MEMORY, registration_name(r));
	if (err) {
		cancel(r);
		return err;
	}
	if (r->block && !r->dev && !r->fallback)
		remark_functions(r);
	if (r->op)
		definition_publish(r);
	if (r->block)
		block_publish(r->block);
	dkc_change_commit(&r->ch);
	return 0;
}

static int lock_and_register(struct dk_provider *prov, struct dkc_registration *r)
{
	int err;

	if (!r->impls && (r->n || r->fallback))
		return dkc_refuse(r->why, DK_WHY_NULL_ARGUMENT,
				  r->fallback ? "impl" : "impls");
	err = dkc_provider_lock(prov, &r->prov, r->why);
	if (err)
		return err;
	err = dkc_register(r);
	dkc_registry_unlock_flush(r->prov->reg);
	return err;
}

int dk_op_define(struct dk_provider *prov, const struct dk_op_decl *decl,
		 unsigned int flags, struct dk_diag *why)
{
	struct dkc_registration r = { .decl = decl, .flags = flags, .why = why };

	if (!decl)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "decl");
	return lock_and_register(prov, &r);
}

int dk_impls_register(struct dk_provider *prov, const struct dk_impl *impls,
		      unsigned int n, struct dk_diag *why)
{
	struct dkc_registration r = { .impls = impls, .n = n, .why = why };

	return lock_and_register(prov, &r);
}

int dk_backend_impls_register(struct dk_provider *prov, unsigned int backend,
			      const struct dk_impl *impls, unsigned int n,
			      struct dk_diag *why)
{
	struct dkc_registration r = {
		.impls = impls, .n = n, .backend = backend, .why = why,
	};

	if (!backend)
		return dkc_refuse_number(why, DK_WHY_BAD_BACKEND, backend);
	return lock_and_register(prov, &r);
}

int dk_fallback_register(struct dk_provider *prov, const struct dk_impl *impl, struct dk_diag *why)
{
	struct dkc_registration r = { .impls = impl, .fallback = true, .why = why };

	return lock_and_register(prov, &r);
}
