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
		return dkc_refuse_number(why, DK_WHY_BAD_KEY, key);
	dkc_remark(why, DK_WHY_NONE, NULL);
	dkc_mutex_lock(&reg->lock);
	has = !!dkc_top(op, NULL, key, NULL);
	dkc_mutex_unlock(&reg->lock);
	return has;
}

int dk_op_has_impl_in(struct dk_op *op, struct dk_keyset ks)
{
	int has;

	dkc_mutex_lock(&op->reg->lock);
	has = dkc_any_in(op, NULL, ks.bits, NULL);
	dkc_mutex_unlock(&op->reg->lock);
	return has;
}

int dk_op_is_served(struct dk_op *op, unsigned int key, struct dk_diag *why)
{
	const struct dk_layout *l = op->reg->layout;
	int has;

	if (dkc_no_key(l, key))
		return dkc_refuse_number(why, DK_WHY_BAD_KEY, key);
	if (dk_key_kind(l, key) == DK_KIND_ALIAS)
		return dkc_refuse_key(why, DK_WHY_ALIAS_KEY, l, key);
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
	int is;

	if (dkc_no_key(l, key))
		return dkc_refuse_number(why, DK_WHY_BAD_KEY, key);
	dkc_remark(why, DK_WHY_NONE, NULL);
	dkc_mutex_lock(&op->reg->lock);
	r = dkc_top(op, NULL, key, NULL);
	is = dkc_is_fallthrough(r);
	dkc_mutex_unlock(&op->reg->lock);
	if (!r)
		return dkc_refuse_key(why, DK_WHY_NO_IMPL, l, key);
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
	r = r && dkc_visible(r, NULL) ? r : reg->stock[slot];
	dkc_mutex_unlock(&reg->lock);
	return !!r;
}

/* ---- of all operators ----------------------------------------------------- */

/* The first by name behind @after, or of all; the lock is held. 0, -ENOENT or -ENOMEM. */
static int dkc_op_behind(struct dk_registry *reg, const char *after, struct dk_op **out)
{
	int err = dkc_order_some(reg, ~0U);
	u32 n = after ? dkc_op_place(reg, after) : 0;
	struct dk_op *op = dkc_op_at(reg, n);

	if (err)
		return err;
	if (op && after && dkc_streq(op->name, after))
		op = dkc_op_at(reg, ++n);
	while (op && !dkc_op_is_there(op))
		op = dkc_op_at(reg, ++n);
	*out = op;
	return op ? 0 : -ENOENT;
}

/*
 * Is this parenthesis of a dispatch list one after the name of a function or macro, which
 * may make a list? DK_GENERATOR() makes one object.
 */
static bool dkc_may_make_list(const char *text, const char *parenthesis)
{
	static const char one[] = "DK_GENERATOR";
	size_t len = 0;
	char c;

	while (parenthesis - text > (long)len) {
		c = parenthesis[-1 - (long)len];
		if (c != '_' && (c < '0' || c > '9') && ((c | 32) < 'a' || (c | 32) > 'z'))
			break;
		len++;
	}
	return len && (len != sizeof(one) - 1 || memcmp(parenthesis - len, one, len));
}

static u32 dkc_count_objs(const struct dk_op_decl *decl)
{
	const char *text = decl->dispatched, *p;
	u32 depth = 0, commas = 0, i;
	bool has_any = false;

	for (i = 0; decl->param && i < decl->num_params; i++)
		if (decl->param[i].kind == DK_ARG_LIST)
			return 0;
	for (p = text; p && *p; p++) {
		if (*p == '(' && depth++ && dkc_may_make_list(text, p))
			return 0;
		depth -= *p == ')';
		commas += *p == ',' && depth == 1;
		has_any |= *p != '(' && *p != ')' && *p != ' ';
	}
	return has_any && commas + 1 < DKC_NOT_COUNTED ? commas + 1 : 0;
}

u32 dkc_max_objs(struct dk_op *op)
{
	dkc_assert_held(&op->reg->lock);
	if (!op->definer)
		return 0;
	if (op->max_objs == DKC_NOT_COUNTED)
		op->max_objs = dkc_count_objs(op->decl);
	return op->max_objs;
}

int dk_registry_next_op(struct dk_registry *reg, const char *after,
			struct dk_op_info *info)
{
	struct dk_op *op;
	int err;

	if (info->size != sizeof(*info))
		return -EINVAL;
	reg = dkc_registry(reg);
	if (!reg)
		return -ENOMEM;
	dkc_mutex_lock(&reg->lock);
	err = dkc_op_behind(reg, after, &op);
	if (!err) {
		info->flags = op->definer ? op->flags : 0;
		info->num_impls = op->num_regs;
		info->max_objs = dkc_max_objs(op);
		info->is_defined = !!op->definer;
		info->is_dangling = dkc_op_dangles(op);
		info->reserved[0] = 0;
		info->reserved[1] = 0;
		dkc_strcpy(info->name, op->name, sizeof(info->name));
		dkc_strcpy(info->definer, op->definer ? op->definer->name : "",
			   sizeof(info->definer));
	}
	dkc_mutex_unlock(&reg->lock);
	return err;
}

/* Print all operators in the order of their names. */
static long dkc_list(struct dk_registry *reg, unsigned int key, char *buf, size_t size,
		     void (*put)(struct dkc_text *t, const struct dk_op *op, unsigned int key))
{
	struct dkc_text t = { buf, size, 0 };
	struct dk_op *op;
	int err = -ENOMEM;
	u32 n = 0;

	reg = dkc_registry(reg);
	if (reg) {
		dkc_mutex_lock(&reg->lock);
		err = dkc_order_some(reg, ~0U);
		while (!err && (op = dkc_op_at(reg, n++)))
			put(&t, op, key);
		dkc_mutex_unlock(&reg->lock);
	}
	n = dkc_put_end(&t);
	return err ? err : (long)n;
}

static void dkc_put_op_name(struct dkc_text *t, const struct dk_op *op, unsigned int key)
{
	if (!dkc_op_is_there(op) || (key && !dkc_top(op, NULL, key, NULL)))
		return;
	dkc_put(t, op->name);
	dkc_put(t, "\n");
}

long dk_registry_list_ops(struct dk_registry *reg, unsigned int key, char *buf, size_t size)
{
	return dkc_list(reg, key, buf, size, dkc_put_op_name);
}

static void dkc_put_dangling(struct dkc_text *t, const struct dk_op *op, unsigned int key)
{
	if (dkc_op_dangles(op))
		dkc_put_state(t, op);
}

long dk_registry_list_dangling(struct dk_registry *reg, char *buf, size_t size)
{
	return dkc_list(reg, DK_UNDEFINED, buf, size, dkc_put_dangling);
}
