// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Implements PyTorch's queries and lists: SEMANTICS 9.
 */
#include "pytorch.h"

/*
 * A view of what is registered, also at keys of offline backends. The lock excludes changes, so no
 * block is being added or removed.
 */
static const struct dkc_view registered;

int dk_op_impl(struct dk_op *op, unsigned int i, struct dk_impl_info *info)
{
	const struct dkc_reg *r;

	if (!op)
		return -ENOENT;
	if (info->size != sizeof(*info))
		return -EINVAL;
	mutex_lock(&op->reg->lock);
	r = dkc_reg_at(op, i);
	if (r) {
		const struct dkc_block *b = dkc_block_of(r);

		*info = (struct dk_impl_info){
			.size = sizeof(*info), .key = r->key, .device = b->device,
			.is_fallthrough = dkc_is_fallthrough(r),
			.is_boxed = !!(dkc_impl_of(r)->flags & DK_IMPL_F_BOXED),
			.is_active = dkc_top(op, b->dev, r->key, NULL) == r,
		};
		dkc_reg_names(r, info->label, info->provider, info->device_name);
	}
	mutex_unlock(&op->reg->lock);
	return r ? 0 : -ENOENT;
}

int dk_op_has_impl(struct dk_op *op, unsigned int key, struct dk_diag *why)
{
	int has;

	if (!op)
		return dkc_refuse(why, DK_WHY_NO_OPERATOR, NULL);
	if (!dkc_is_key(dk_key_kind(op->reg->layout, key)))
		return dkc_refuse_number(why, DK_WHY_BAD_KEY, key);
	dkc_accept(why);
	mutex_lock(&op->reg->lock);
	has = !!dkc_top(op, NULL, key, &registered);
	mutex_unlock(&op->reg->lock);
	return has;
}

int dk_op_has_impl_in(struct dk_op *op, struct dk_keyset ks)
{
	int has;

	if (!op)
		return 0;
	mutex_lock(&op->reg->lock);
	has = !!dkc_one_in(op, NULL, ks.bits, &registered);
	mutex_unlock(&op->reg->lock);
	return has;
}

/* Regards an ambiguous entry as served. If there is no table, applies the rules. */
bool dkc_is_served(const struct dk_op *op, unsigned int slot)
{
	const struct dkc_table *table = dkc_deref_locked(op->base, op->reg);
	const struct dk_layout *l = op->reg->layout;

	dkc_assert_writer(op->reg);
	if (!dkc_has_entry(l, slot))
		return false;
	if (table) {
		table = dkc_table_of_device(table, 0);
		return table->index->index[slot] == DKC_ID_AMBIGUOUS ||
		       dkc_table_reg(op, table, slot);
	}
	return dkc_evaluate(op, NULL, slot, NULL).prov != DK_PROV_MISSING;
}

int dk_op_is_served(struct dk_op *op, unsigned int key, struct dk_diag *why)
{
	const struct dk_layout *l;
	enum dk_key_kind kind;
	int has;

	if (!op)
		return dkc_refuse(why, DK_WHY_NO_OPERATOR, NULL);
	l = op->reg->layout;
	kind = dk_key_kind(l, key);
	if (!dkc_is_key(kind))
		return dkc_refuse_number(why, DK_WHY_BAD_KEY, key);
	if (kind == DK_KIND_ALIAS)
		return dkc_refuse_key(why, DK_WHY_ALIAS_KEY, l, key);
	dkc_accept(why);
	mutex_lock(&op->reg->lock);
	has = dkc_is_served(op, dk_keyset_slot(l, dk_key_set(l, key)));
	mutex_unlock(&op->reg->lock);
	return has;
}

int dk_op_is_fallthrough(struct dk_op *op, unsigned int key, struct dk_diag *why)
{
	const struct dk_layout *l;
	const struct dkc_reg *r;
	int is;

	if (!op)
		return dkc_refuse(why, DK_WHY_NO_OPERATOR, NULL);
	l = op->reg->layout;
	if (!dkc_is_key(dk_key_kind(l, key)))
		return dkc_refuse_number(why, DK_WHY_BAD_KEY, key);
	dkc_accept(why);
	mutex_lock(&op->reg->lock);
	r = dkc_top(op, NULL, key, &registered);
	is = dkc_is_fallthrough(r);
	mutex_unlock(&op->reg->lock);
	if (!r)
		return dkc_refuse_key(why, DK_WHY_NO_IMPL, l, key);
	return is;
}

int dk_registry_has_fallback(struct dk_registry *reg, unsigned int key)
{
	const struct dk_layout *l;
	unsigned int slot = 0;
	enum dk_key_kind kind;
	bool has;

	reg = dkc_registry(reg);
	if (!reg)
		return 0;
	l = reg->layout;
	kind = dk_key_kind(l, key);
	if (dkc_is_key(kind) && kind != DK_KIND_ALIAS)
		slot = dk_keyset_slot(l, dk_key_set(l, key));
	mutex_lock(&reg->lock);
	has = dkc_deref_locked(reg->fallback[slot], reg) || reg->builtin[slot];
	mutex_unlock(&reg->lock);
	return has;
}

/* ---- queries of all operators --------------------------------------------- */

static void sort_all(struct dk_registry *reg)
{
	while (dkc_order_some(reg, ~0U))
		;
}

/* Returns the operator that follows the name @after, or the first one; NULL at the end. */
static struct dk_op *op_after(struct dk_registry *reg, const char *after)
{
	struct dk_op *op;

	sort_all(reg);
	op = dkc_op_from(reg, after ? after : "", true);
	while (op && !dkc_op_is_listed(op))
		op = op->after;
	return op;
}

int dk_registry_next_op(struct dk_registry *reg, const char *after,
			struct dk_op_info *info)
{
	int err = dkc_registry_lock(&reg, info->size, sizeof(*info));
	struct dk_op *op;

	if (err)
		return err;
	op = op_after(reg, after);
	if (op) {
		*info = (struct dk_op_info){
			.size = sizeof(*info), .flags = op->definer ? op->flags : 0,
			.num_impls = op->num_regs, .max_objs = op->max_objs,
			.is_defined = !!op->definer, .is_dangling = dkc_op_dangles(op),
		};
		dkc_strcpy(info->name, op->name, sizeof(info->name));
		dkc_strcpy(info->definer, op->definer ? op->definer->name : "",
			   sizeof(info->definer));
	}
	mutex_unlock(&reg->lock);
	return op ? 0 : -ENOENT;
}

/* Calls @put for all operators in the order of their names. */
static long list(struct dk_registry *reg, unsigned int key, char *buf, size_t size,
		 void (*put)(struct dkc_text *t, const struct dk_op *op, unsigned int key))
{
	struct dkc_text t = { buf, size, 0 };
	struct dk_op *op;
	size_t len;

	reg = dkc_registry_locked(reg);
	if (reg) {
		sort_all(reg);
		for (op = reg->first; op; op = op->after)
			if (dkc_op_is_listed(op))
				put(&t, op, key);
		mutex_unlock(&reg->lock);
	}
	len = dkc_put_end(&t);
	return reg ? (long)len : -ENOMEM;
}

static void put_op_name(struct dkc_text *t, const struct dk_op *op, unsigned int key)
{
	if (key && !dkc_top(op, NULL, key, &registered))
		return;
	dkc_put(t, op->name);
	dkc_put(t, "\n");
}

long dk_registry_list_ops(struct dk_registry *reg, unsigned int key, char *buf, size_t size)
{
	return list(reg, key, buf, size, put_op_name);
}

static void put_dangling(struct dkc_text *t, const struct dk_op *op, unsigned int key)
{
	if (dkc_op_dangles(op))
		dkc_put_state(t, op);
}

long dk_registry_list_dangling(struct dk_registry *reg, char *buf, size_t size)
{
	return list(reg, DK_UNDEFINED, buf, size, put_dangling);
}
