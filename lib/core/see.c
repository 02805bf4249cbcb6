// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Text about an operator, as PyTorch prints it (SEMANTICS 9): its
 * registrations, its table, its keys. Each text is made under the lock and
 * shows one state.
 */
#include "see.h"

const char *dkc_alias_analysis_name(unsigned int kind)
{
	switch (kind) {
	case DK_ALIAS_DEFAULT:
	case DK_ALIAS_FROM_SCHEMA:
		return "FROM_SCHEMA";
	case DK_ALIAS_PURE_FUNCTION:
		return "PURE_FUNCTION";
	case DK_ALIAS_INTERNAL_SPECIAL_CASE:
		return "INTERNAL_SPECIAL_CASE";
	default:
		return "CONSERVATIVE";
	}
}

void dkc_put_key(struct dkc_text *t, const struct dk_layout *l, unsigned int key)
{
	char name[DK_NAME_MAX];

	dkc_put(t, dk_key_name(l, key, name));
}

static void dkc_put_set(struct dkc_text *t, const struct dk_layout *l,
			struct dk_keyset ks)
{
	size_t room = t->len < t->size ? t->size - t->len : 0;

	t->len += dk_keyset_print(l, ks, room ? t->buf + t->len : NULL, room);
}

/* A function, with the device that it is of. */
static void dkc_put_label(struct dkc_text *t, const struct dkc_reg *r)
{
	dkc_put(t, dkc_label_of(r));
	if (dkc_block_of(r)->dev) {
		dkc_put(t, "@");
		dkc_put(t, dkc_block_of(r)->dev->name);
	}
}

static void dkc_put_reg(struct dkc_text *t, const struct dk_op *op,
			const struct dkc_reg *r)
{
	const struct dk_layout *l = op->reg->layout;
	const struct dk_impl *impl = dkc_impl_of(r);

	dkc_put_key(t, l, r->key);
	if (dk_key_kind(l, r->key) == DK_KIND_ALIAS)
		dkc_put(t, "[alias]");
	if (dkc_top(op, dkc_block_of(r)->dev, r->key, NULL) != r)
		dkc_put(t, " (inactive)");
	dkc_put(t, ": ");
	dkc_put_label(t, r);
	dkc_put(t, " :: ");
	dkc_put(t, impl->schema ? impl->schema : "(none)");
	if (dkc_is_fallthrough(r))
		dkc_put(t, " [ fallthrough boxed ]\n");
	else
		dkc_put(t, impl->flags & DK_IMPL_F_BOXED ? " [ boxed ]\n" :
							   " [ boxed unboxed ]\n");
}

/* dumpState; the lock is held. */
void dkc_put_state(struct dkc_text *t, const struct dk_op *op)
{
	const struct dk_op_decl *decl = op->decl;
	const struct dkc_reg *r = NULL;

	dkc_put(t, "name: ");
	dkc_put(t, op->name);
	dkc_put(t, "\nschema: ");
	if (decl && decl->schema) {
		dkc_put(t, decl->schema);
		dkc_put(t, "\ndebug: ");
		dkc_put(t, decl->debug ? decl->debug : "");
		dkc_put(t, "\nalias analysis kind: ");
		dkc_put(t, dkc_alias_analysis_name(decl->alias_analysis));
		dkc_put(t, "\n");
	} else {
		dkc_put(t, "(none)\n");
	}
	while ((r = dkc_reg_sorted(op, r)))
		dkc_put_reg(t, op, r);
}

size_t dk_op_dump(struct dk_op *op, char *buf, size_t size)
{
	struct dkc_text t = { buf, size, 0 };

	dkc_mutex_lock(&op->reg->lock);
	dkc_put_state(&t, op);
	dkc_mutex_unlock(&op->reg->lock);
	return dkc_put_end(&t);
}

/* dumpComputedTable: a trimmed table has fewer entries; the lock is held. */
void dkc_put_table(struct dkc_text *t, const struct dk_op *op)
{
	const struct dk_layout *l = op->reg->layout;
	unsigned int f, b;

	for (f = 0; f < l->nf; f++)
		for (b = 1; b <= dkc_width(l, f); b++) {
			struct dkc_pick pick = dkc_serves(op, NULL, f, b);

			if (!pick.reg && pick.prov != DK_PROV_AMBIGUOUS)
				continue;
			dkc_put_key(t, l, dk_slot_key(l, l->offset[f] + b - 1));
			dkc_put(t, dkc_is_fallthrough(pick.reg) ? ": fallthrough " : ": ");
			if (pick.reg)
				dkc_put_label(t, pick.reg);
			else
				dkc_put(t, "ambiguous_autogradother");
			dkc_put(t, " [");
			dkc_put(t, dk_provenance_name(pick.prov));
			dkc_put(t, "]\n");
		}
}

size_t dk_op_dump_table(struct dk_op *op, char *buf, size_t size)
{
	struct dkc_text t = { buf, size, 0 };

	dkc_mutex_lock(&op->reg->lock);
	dkc_put_table(&t, op);
	dkc_mutex_unlock(&op->reg->lock);
	return dkc_put_end(&t);
}

/*
 * Does the published row have something at an entry, the ambiguous one
 * included? Where there is no row, the rules tell; the lock is held.
 */
bool dkc_is_served(const struct dk_op *op, unsigned int slot)
{
	const struct dkc_row *row = dkc_deref_locked(op->base);
	const struct dk_layout *l = op->reg->layout;
	unsigned int f, b;

	dkc_slot_split(l, slot, &f, &b);
	if (!dkc_has_entry(l, f, b))
		return false;
	if (row)
		return dkc_row_id(l, row, f, b) == DKC_ID_AMBIGUOUS ||
		       dkc_row_reg(op, row, f, b);
	return dkc_evaluate(op, NULL, f, b, NULL).prov != DK_PROV_MISSING;
}

/* listAllDispatchKeys; the lock is held. */
void dkc_put_keys(struct dkc_text *t, const struct dk_op *op)
{
	const struct dk_layout *l = op->reg->layout;
	const char *separator = "";
	unsigned int slot;

	dkc_put(t, "[");
	for (slot = 1; slot < l->num_entries; slot++) {
		if (!dkc_is_served(op, slot))
			continue;
		dkc_put(t, separator);
		dkc_put_key(t, l, dk_slot_key(l, slot));
		separator = ", ";
	}
	dkc_put(t, "]");
}

size_t dk_op_list_keys(struct dk_op *op, char *buf, size_t size)
{
	struct dkc_text t = { buf, size, 0 };

	dkc_mutex_lock(&op->reg->lock);
	dkc_put_keys(&t, op);
	dkc_mutex_unlock(&op->reg->lock);
	return dkc_put_end(&t);
}

/* ---- the extractor -------------------------------------------------------- */

/* Behind the argument that begins at @s: its comma, the closing parenthesis or
 * the end.
 */
static const char *dkc_argument_end(const char *s)
{
	unsigned int depth = 0;
	char quote = 0;

	for (; *s; s++) {
		if (quote) {
			if (*s == '\\' && s[1])
				s++;
			else if (*s == quote)
				quote = 0;
		} else if (*s == '"' || *s == '\'') {
			quote = *s;
		} else if (*s == '(' || *s == '[') {
			depth++;
		} else if (depth && (*s == ')' || *s == ']')) {
			depth--;
		} else if (*s == ')' || (!depth && *s == ',')) {
			break;
		}
	}
	return s;
}

/* Behind what begins with @open, if it does. */
static const char *dkc_skip(const char *s, char open, char close)
{
	const char *end = s;

	if (*s != open)
		return s;
	while (*end && *end != close)
		end++;
	return *end ? end + 1 : s;
}

/*
 * Tensor, Tensor?, Tensor[] and Tensor?[], with or without (a!); and not
 * Tensor[][] or Tensor[]?
 */
static bool dkc_is_dispatched_on(const char *s)
{
	const char *word = "Tensor";

	while (*word && *s == *word) {
		s++;
		word++;
	}
	if (*word)
		return false;
	s = dkc_skip(s, '(', ')');
	if (*s == '?')
		s = dkc_skip(s + 1, '(', ')');
	s = dkc_skip(s, '[', ']');
	return *dkc_skip(s, '(', ')') == ' ';
}

/*
 * Bit i: the i-th argument from the last one is one that a boxed call
 * dispatches on (SEMANTICS 6.1). 0 without a schema.
 */
static u64 dkc_argument_mask(const char *schema)
{
	u64 mask = 0;

	if (!schema)
		return 0;
	while (*schema && *schema != '(')
		schema++;
	while (*schema && *schema != ')') {
		for (schema++; *schema == ' '; schema++)
			;
		if (*schema && *schema != ')' && *schema != '*')
			mask = mask << 1 | dkc_is_dispatched_on(schema);
		schema = dkc_argument_end(schema);
	}
	return mask;
}

/*
 * The functionalities that no fallthrough takes out. Where the backends differ,
 * a functionality is in it unless all of them lose it; the lock is held.
 */
static u64 dkc_non_fallthrough(const struct dk_op *op)
{
	const struct dk_layout *l = op->reg->layout;
	u64 mask = l->full;
	unsigned int f, b;

	for (f = 1; f < l->nf; f++) {
		for (b = 1; b <= dkc_width(l, f); b++)
			if (!dkc_falls_through(op, NULL, f, b, NULL))
				break;
		if (b > dkc_width(l, f))
			mask &= ~dkc_functionality_bit(l, f);
	}
	return mask;
}

size_t dk_op_dump_extractor(struct dk_op *op, char *buf, size_t size)
{
	struct dkc_text t = { buf, size, 0 };
	struct dk_keyset keys;
	unsigned int i;
	u64 mask;

	dkc_mutex_lock(&op->reg->lock);
	mask = dkc_argument_mask(op->decl ? op->decl->schema : NULL);
	keys.bits = dkc_non_fallthrough(op);
	dkc_mutex_unlock(&op->reg->lock);
	for (i = 0; i < 64; i++)
		dkc_put(&t, mask >> i & 1 ? "1" : "0");
	dkc_put(&t, " ");
	dkc_put_set(&t, op->reg->layout, keys);
	dkc_put(&t, "\n");
	return dkc_put_end(&t);
}

/* ---- when nothing serves -------------------------------------------------- */

/* A key as the message names it: a private backend by its name, in lower case. */
static void dkc_put_missing_key(struct dkc_text *t, const struct dk_registry *reg,
				unsigned int key)
{
	const struct dk_layout *l = reg->layout;
	unsigned int b = dk_key_backend(l, key), i;
	const char *private = b ? reg->private_backend[b].name : "";
	char name[DK_NAME_MAX], low[2] = "";
	size_t len, tail;

	dk_key_name(l, key, name);
	if (!private[0]) {
		dkc_put(t, name);
		return;
	}
	len = dkc_strlen(name);
	tail = dkc_strlen(l->backend_names[b]);
	if (len >= tail && dkc_streq(name + len - tail, l->backend_names[b]))
		name[len - tail] = 0;
	dkc_put(t, name);
	for (i = 0; private[i]; i++) {
		low[0] = dkc_lower(private[i]);
		dkc_put(t, low);
	}
}

static void dkc_put_both(struct dkc_text *t, const struct dk_op *op)
{
	dkc_put(t, "Canonical state\n~~~~~~~~~~~\n");
	dkc_put_state(t, op);
	dkc_put(t, "\n\nComputed table:\n~~~~~~~~~~~\n");
	dkc_put_table(t, op);
}

/* Nothing to dispatch on. */
static void dkc_put_no_objects(struct dkc_text *t, const struct dk_op *op)
{
	dkc_put(t, "There was nothing to dispatch on in the arguments of ");
	dkc_put(t, op->name);
	dkc_put(t, " (an empty list of Tensors, for example), and no fallback function ");
	dkc_put(t, "is registered for its schema. Either it wants a list with something ");
	dkc_put(t, "in it, or whoever wrote the operator left out a fallback function. ");
	dkc_put(t, "Available functions are ");
	dkc_put_keys(t, op);
	dkc_put(t, ".\n\n");
}

static void dkc_put_not_run(struct dkc_text *t, const struct dk_op *op, unsigned int key)
{
	dkc_put(t, "Could not run '");
	dkc_put(t, op->name);
	dkc_put(t, "' with arguments from the '");
	dkc_put_missing_key(t, op->reg, key);
	dkc_put(t, "' backend. The backend has no function for this operator, or the one ");
	dkc_put(t, "it has was left out of this build. '");
	dkc_put(t, op->name);
	dkc_put(t, "' is only available for these backends: ");
	dkc_put_keys(t, op);
	dkc_put(t, ".\n\n");
}

size_t dk_missing_text(struct dk_op *op, struct dk_keyset ks, char *buf, size_t size)
{
	struct dkc_text t = { buf, size, 0 };
	unsigned int key;

	dkc_mutex_lock(&op->reg->lock);
	key = dk_keyset_key(op->reg->layout, ks);
	if (!dkc_op_right(op)) {
		dkc_put_both(&t, op);
	} else {
		if (key)
			dkc_put_not_run(&t, op, key);
		else
			dkc_put_no_objects(&t, op);
		dkc_put_table(&t, op);
	}
	dkc_mutex_unlock(&op->reg->lock);
	return dkc_put_end(&t);
}

size_t dk_ambiguous_text(struct dk_op *op, char *buf, size_t size)
{
	struct dkc_text t = { buf, size, 0 };

	dkc_mutex_lock(&op->reg->lock);
	dkc_put(&t, op->name);
	dkc_put(&t, " has a function at CompositeImplicitAutograd and one at a backend that ");
	dkc_put(&t, "shares AutogradOther. With both, nobody can tell which of them a call ");
	dkc_put(&t, "through AutogradOther is meant for, so the backend's function is out ");
	dkc_put(&t, "of reach. Give the operator CompositeExplicitAutograd in place of ");
	dkc_put(&t, "CompositeImplicitAutograd, or give the backend an autograd key of its ");
	dkc_put(&t, "own.\nCanonical state\n~~~~~~~~~~~\n");
	dkc_put_state(&t, op);
	dkc_put(&t, "\n\n");
	dkc_mutex_unlock(&op->reg->lock);
	return dkc_put_end(&t);
}

/* ---- invariants ----------------------------------------------------------- */

int dk_op_check(struct dk_op *op, struct dk_diag *why)
{
	bool right;

	dkc_remark(why, DK_WHY_NONE, NULL);
	dkc_mutex_lock(&op->reg->lock);
	right = dkc_op_right(op);
	dkc_mutex_unlock(&op->reg->lock);
	return right ? 0 : dkc_refuse(why, DK_WHY_ROW, op->name);
}

size_t dk_invariants_text(struct dk_op *op, char *buf, size_t size)
{
	struct dkc_text t = { buf, size, 0 };

	dkc_mutex_lock(&op->reg->lock);
	dkc_put_both(&t, op);
	dkc_mutex_unlock(&op->reg->lock);
	return dkc_put_end(&t);
}
