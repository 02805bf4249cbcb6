// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Questions about what is registered, of one operator and of all (SEMANTICS 9).
 */
#include "see.h"

static bool dkc_no_key(const struct dk_layout *l, unsigned int key)
{
	enum dk_key_kind kind = dk_key_kind(l, key);

	return kind == DK_KIND_NONE || kind == DK_KIND_SENTINEL;
}

int dk_op_has_impl(struct dk_op *op, unsigned int key, struct dk_diag *why)
{
	struct dk_registry *reg = op->reg;
	int has;

	if (dkc_no_key(reg->layout, key))
		return dkc_refuse(why, DK_WHY_BAD_KEY, op->name);
	dkc_remark(why, DK_WHY_NONE, NULL);
	dkc_mutex_lock(&reg->lock);
	has = !!dkc_top(op, NULL, key, true);
	dkc_mutex_unlock(&reg->lock);
	return has;
}

int dk_op_has_impl_in(struct dk_op *op, struct dk_keyset ks)
{
	int has;

	dkc_mutex_lock(&op->reg->lock);
	has = dkc_any_in(op, NULL, ks.bits, true);
	dkc_mutex_unlock(&op->reg->lock);
	return has;
}

int dk_op_is_served(struct dk_op *op, unsigned int key, struct dk_diag *why)
{
	const struct dk_layout *l = op->reg->layout;
	int has;

	if (dkc_no_key(l, key))
		return dkc_refuse(why, DK_WHY_BAD_KEY, op->name);
	if (dk_key_kind(l, key) == DK_KIND_ALIAS)
		return dkc_refuse(why, DK_WHY_ALIAS_KEY, op->name);
	dkc_remark(why, DK_WHY_NONE, NULL);
	dkc_mutex_lock(&op->reg->lock);
	has = dkc_is_served(op, dk_keyset_slot(l, dk_key_set(l, key)));
	dkc_mutex_unlock(&op->reg->lock);
	return has;
}

int dk_op_is_fallthrough(struct dk_op *op, unsigned int key, struct dk_diag *why)
{
	const struct dk_layout *l = op->reg->layout;
	const struct dkc_reg *r;
	char name[DK_NAME_MAX];
	int is;

	if (dkc_no_key(l, key))
		return dkc_refuse(why, DK_WHY_BAD_KEY, op->name);
	dkc_remark(why, DK_WHY_NONE, NULL);
	dkc_mutex_lock(&op->reg->lock);
	r = dkc_top(op, NULL, key, true);
	is = dkc_is_fallthrough(r);
	dkc_mutex_unlock(&op->reg->lock);
	if (!r)
		return dkc_refuse(why, DK_WHY_NO_IMPL, dk_key_name(l, key, name));
	return is;
}

int dk_registry_has_fallback(struct dk_registry *reg, unsigned int key)
{
	const struct dk_layout *l;
	unsigned int slot = 0;
	const struct dkc_reg *r;

	reg = dkc_registry(reg);
	if (!reg)
		return 0;
	l = reg->layout;
	if (!dkc_no_key(l, key) && dk_key_kind(l, key) != DK_KIND_ALIAS)
		slot = dk_keyset_slot(l, dk_key_set(l, key));
	dkc_mutex_lock(&reg->lock);
	r = dkc_deref_locked(reg->fallback[slot]);
	r = r && dkc_visible(r, true) ? r : reg->stock[slot];
	dkc_mutex_unlock(&reg->lock);
	return !!r;
}

/* ---- of all operators ----------------------------------------------------- */

static bool dkc_before(const char *s, const char *t)
{
	while (*s && *s == *t) {
		s++;
		t++;
	}
	return (u8)*s < (u8)*t;
}

static struct dk_op *dkc_merge_lists(struct dk_op *a, struct dk_op *b)
{
	struct dk_op *head = NULL, **at = &head;

	while (a && b) {
		struct dk_op **less = dkc_before(b->name, a->name) ? &b : &a;

		*at = *less;
		at = &(*at)->change_next;
		*less = *at;
	}
	*at = a ? a : b;
	return head;
}

/*
 * The operators by name, linked where a change links them, which nobody makes
 * while we hold the lock. List i has 2^i operators or none.
 */
static struct dk_op *dkc_ops_sorted(struct dk_registry *reg)
{
	struct dk_op *list[32] = { NULL }, *op;
	unsigned int i;
	u32 pos = 0;

	while ((op = dkc_op_next(reg, &pos))) {
		op->change_next = NULL;
		for (i = 0; list[i]; i++) {
			op = dkc_merge_lists(list[i], op);
			list[i] = NULL;
		}
		list[i] = op;
	}
	for (op = NULL, i = 0; i < DKC_COUNT(list); i++)
		op = dkc_merge_lists(list[i], op);
	return op;
}

/* The first by name behind @after, or of all; the lock is held. */
static struct dk_op *dkc_op_behind(struct dk_registry *reg, const char *after)
{
	struct dk_op *op, *first = NULL;
	u32 pos = 0;

	while ((op = dkc_op_next(reg, &pos)))
		if (dkc_op_is_there(op) && (!after || dkc_before(after, op->name)) &&
		    (!first || dkc_before(op->name, first->name)))
			first = op;
	return first;
}

int dk_registry_next_op(struct dk_registry *reg, const char *after,
			struct dk_op_info *info)
{
	struct dk_op *op;

	if (info->size != sizeof(*info))
		return -EINVAL;
	reg = dkc_registry(reg);
	if (!reg)
		return -ENOMEM;
	dkc_mutex_lock(&reg->lock);
	op = dkc_op_behind(reg, after);
	if (op) {
		info->flags = op->definer ? op->flags : 0;
		info->num_impls = op->num_regs;
		info->is_defined = !!op->definer;
		info->is_dangling = dkc_op_dangles(op);
		info->reserved[0] = 0;
		info->reserved[1] = 0;
		dkc_strcpy(info->name, op->name, sizeof(info->name));
		dkc_strcpy(info->definer, op->definer ? op->definer->name : "",
			   sizeof(info->definer));
	}
	dkc_mutex_unlock(&reg->lock);
	return op ? 0 : -ENOENT;
}

size_t dk_registry_list_ops(struct dk_registry *reg, unsigned int key, char *buf,
			    size_t size)
{
	struct dkc_text t = { buf, size, 0 };
	struct dk_op *op;

	reg = dkc_registry(reg);
	if (!reg)
		return dkc_put_end(&t);
	dkc_mutex_lock(&reg->lock);
	for (op = dkc_ops_sorted(reg); op; op = op->change_next) {
		if (!dkc_op_is_there(op) || (key && !dkc_top(op, NULL, key, true)))
			continue;
		dkc_put(&t, op->name);
		dkc_put(&t, "\n");
	}
	dkc_mutex_unlock(&reg->lock);
	return dkc_put_end(&t);
}

size_t dk_registry_list_dangling(struct dk_registry *reg, char *buf, size_t size)
{
	struct dkc_text t = { buf, size, 0 };
	struct dk_op *op;

	reg = dkc_registry(reg);
	if (!reg)
		return dkc_put_end(&t);
	dkc_mutex_lock(&reg->lock);
	for (op = dkc_ops_sorted(reg); op; op = op->change_next)
		if (dkc_op_dangles(op))
			dkc_put_state(&t, op);
	dkc_mutex_unlock(&reg->lock);
	return dkc_put_end(&t);
}
