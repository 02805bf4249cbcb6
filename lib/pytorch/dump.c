// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Formats texts about an operator, as PyTorch prints them (SEMANTICS 9): its registrations, its
 * table, its keys, and error messages. The lock is held while a text is formatted, so that the text
 * is consistent.
 */
#include "pytorch.h"

static size_t print(struct dk_op *op, char *buf, size_t size,
		    void (*put)(struct dkc_text *t, const struct dk_op *op))
{
	struct dkc_text t = { buf, size, 0 };

	if (!op)
		return dkc_put_end(&t);
	mutex_lock(&op->reg->lock);
	put(&t, op);
	mutex_unlock(&op->reg->lock);
	return dkc_put_end(&t);
}

static const char *alias_analysis_name(unsigned int kind)
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

static void put_set(struct dkc_text *t, const struct dk_layout *l,
		    struct dk_keyset ks)
{
	size_t left = t->len < t->size ? t->size - t->len : 0;

	t->len += dk_keyset_print(l, ks, left ? t->buf + t->len : NULL, left);
}

/* Puts the label of a function, with its device. */
static void put_label(struct dkc_text *t, const struct dkc_reg *r)
{
	dkc_put(t, dkc_label_of(r));
	if (dkc_block_of(r)->dev) {
		dkc_put(t, "@");
		dkc_put(t, dkc_block_of(r)->dev->name);
	}
}

static void put_reg(struct dkc_text *t, const struct dk_op *op,
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
	put_label(t, r);
	dkc_put(t, " :: ");
	dkc_put(t, impl->schema ? impl->schema : "(none)");
	if (dkc_is_fallthrough(r))
		dkc_put(t, " [ fallthrough boxed ]\n");
	else
		dkc_put(t, impl->flags & DK_IMPL_F_BOXED ? " [ boxed ]\n" :
							   " [ boxed unboxed ]\n");
}

/* Like dumpState() of PyTorch. */
void dkc_put_state(struct dkc_text *t, const struct dk_op *op)
{
	const struct dk_op_decl *decl = op->decl;
	const struct dkc_reg *r = NULL;

	dkc_assert_writer(op->reg);
	dkc_put(t, "name: ");
	dkc_put(t, op->name);
	dkc_put(t, "\nschema: ");
	if (decl && decl->schema) {
		dkc_put(t, decl->schema);
		dkc_put(t, "\ndebug: ");
		dkc_put(t, decl->debug ? decl->debug : "");
		dkc_put(t, "\nalias analysis kind: ");
		dkc_put(t, alias_analysis_name(decl->alias_analysis));
		dkc_put(t, "\n");
	} else {
		dkc_put(t, "(none)\n");
	}
	while ((r = dkc_reg_sorted(op, r)))
		put_reg(t, op, r);
}

size_t dk_op_dump(struct dk_op *op, char *buf, size_t size)
{
	return print(op, buf, size, dkc_put_state);
}

/* Like dumpComputedTable() of PyTorch: omits the entries that nothing serves. */
void dkc_put_table(struct dkc_text *t, const struct dk_op *op)
{
	const struct dk_layout *l = op->reg->layout;
	unsigned int slot;

	for (slot = 0; slot < l->num_entries; slot++) {
		struct dkc_pick pick = dkc_serves(op, NULL, slot);

		if (!pick.reg && pick.prov != DK_PROV_AMBIGUOUS)
			continue;
		dkc_put_key(t, l, dk_slot_key(l, slot));
		dkc_put(t, dkc_is_fallthrough(pick.reg) ? ": fallthrough " : ": ");
		if (pick.reg)
			put_label(t, pick.reg);
		else
			dkc_put(t, "ambiguous_autogradother");
		dkc_put(t, " [");
		dkc_put(t, dk_provenance_name(pick.prov));
		dkc_put(t, "]\n");
	}
}

size_t dk_op_dump_table(struct dk_op *op, char *buf, size_t size)
{
	return print(op, buf, size, dkc_put_table);
}

/* Like listAllDispatchKeys() of PyTorch. */
static void put_keys(struct dkc_text *t, const struct dk_op *op)
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
	return print(op, buf, size, put_keys);
}

/* ---- the extractor -------------------------------------------------------- */

/*
 * Returns the end of the argument that begins at @s: the comma after it, the closing parenthesis of
 * the list, or the end of the text.
 */
static const char *argument_end(const char *s)
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

/* Skips white space and, if @open follows, the text up to @close and more white space. */
static const char *skip(const char *s, char open, char close)
{
	const char *begin = dkc_skip_space(s), *end = begin;

	if (*begin != open)
		return begin;
	while (*end && *end != close)
		end++;
	return *end ? dkc_skip_space(end + 1) : begin;
}

/*
 * True for Tensor, Tensor?, Tensor[] and Tensor?[], with or without (a!); false for
 * Tensor[][] and Tensor[]?
 */
static bool is_dispatched_on(const char *s)
{
	const char *word = "Tensor";

	while (*word && *s == *word) {
		s++;
		word++;
	}
	if (*word || !(dkc_is_space(*s) || *s == '(' || *s == '?' || *s == '['))
		return false;
	s = skip(s, '(', ')');
	if (*s == '?')
		s = skip(s + 1, '(', ')');
	s = skip(s, '[', ']');
	s = skip(s, '(', ')');
	return *s != '[' && *s != '?';
}

/*
 * Returns a mask: bit i is set if a boxed call dispatches on the i-th argument, counted from
 * the last one (SEMANTICS 6.1). Returns 0 without a schema.
 */
static u64 argument_mask(const char *schema)
{
	u64 mask = 0;

	if (!schema)
		return 0;
	while (*schema && *schema != '(')
		schema++;
	while (*schema && *schema != ')') {
		schema = dkc_skip_space(schema + 1);
		/* neither "*" nor "..." is an argument */
		if (*schema != '*' && *schema != '.')
			mask = mask << 1 | is_dispatched_on(schema);
		schema = argument_end(schema);
	}
	return mask;
}

/* Returns the functionalities that the mask of at least one backend keeps, and all backends. */
static u64 non_fallthrough(const struct dk_op *op)
{
	const struct dk_layout *l = op->reg->layout;
	u64 mask = l->full;
	unsigned int f, b;

	for (f = 1; f < l->nf; f++) {
		for (b = 1; b <= dkc_width(l, f); b++)
			if (!dkc_falls_through(op, NULL, dkc_slot(l, f, b), NULL))
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

	if (!op)
		return dkc_put_end(&t);
	mutex_lock(&op->reg->lock);
	mask = argument_mask(op->decl ? op->decl->schema : NULL);
	keys.bits = non_fallthrough(op);
	mutex_unlock(&op->reg->lock);
	for (i = 0; i < 64; i++)
		dkc_put(&t, mask >> i & 1 ? "1" : "0");
	dkc_put(&t, " ");
	put_set(&t, op->reg->layout, keys);
	dkc_put(&t, "\n");
	return dkc_put_end(&t);
}

/* ---- error messages ------------------------------------------------------- */

/*
 * Puts a key as in PyTorch's messages, which contain the private name of a backend in lower case.
 */
static void put_missing_key(struct dkc_text *t, const struct dk_registry *reg,
			    unsigned int key)
{
	char name[DK_NAME_MAX], low[2] = "";
	const char *private;
	size_t kept;

	dk_key_name(reg->layout, key, name);
	private = dkc_private_end(reg, name, &kept);
	if (private)
		name[kept] = 0;
	dkc_put(t, name);
	for (; private && *private; private++) {
		low[0] = dkc_lower(*private);
		dkc_put(t, low);
	}
}

/* Puts state and table, as in the messages of PyTorch's internal errors. */
static void put_invariants(struct dkc_text *t, const struct dk_op *op)
{
	dkc_put(t, "Canonical state\n~~~~~~~~~~~\n");
	dkc_put_state(t, op);
	dkc_put(t, "\n\nComputed table:\n~~~~~~~~~~~\n");
	dkc_put_table(t, op);
}

static void put_no_objects(struct dkc_text *t, const struct dk_op *op)
{
	dkc_put(t, "There was nothing to dispatch on in the arguments of ");
	dkc_put(t, op->name);
	dkc_put(t, " (an empty list of Tensors, for example), and no fallback function ");
	dkc_put(t, "is registered for its schema. Usual causes are an empty list, or a missing ");
	dkc_put(t, "fallback function. ");
	dkc_put(t, "Available functions are ");
	put_keys(t, op);
	dkc_put(t, ".\n\n");
}

static void put_not_run(struct dkc_text *t, const struct dk_op *op, unsigned int key)
{
	dkc_put(t, "Could not run '");
	dkc_put(t, op->name);
	dkc_put(t, "' with arguments from the '");
	put_missing_key(t, op->reg, key);
	dkc_put(t, "' backend. The backend has no function for this operator, or its ");
	dkc_put(t, "function was left out of this build. '");
	dkc_put(t, op->name);
	dkc_put(t, "' is only available for these backends: ");
	put_keys(t, op);
	dkc_put(t, ".\n\n");
}

size_t dk_missing_text(struct dk_op *op, struct dk_keyset ks, char *buf, size_t size)
{
	struct dkc_text t = { buf, size, 0 };
	unsigned int key;

	if (!op)
		return dkc_put_end(&t);
	mutex_lock(&op->reg->lock);
	key = dk_keyset_key(op->reg->layout, ks);
	if (!dkc_op_matches_rules(op)) {
		put_invariants(&t, op);
	} else {
		if (key)
			put_not_run(&t, op, key);
		else
			put_no_objects(&t, op);
		dkc_put_table(&t, op);
	}
	mutex_unlock(&op->reg->lock);
	return dkc_put_end(&t);
}

static void put_ambiguous(struct dkc_text *t, const struct dk_op *op)
{
	dkc_put(t, op->name);
	dkc_put(t, " has a function at CompositeImplicitAutograd and one at a backend that ");
	dkc_put(t, "shares AutogradOther. Calls through AutogradOther are ambiguous, because ");
	dkc_put(t, "they could use either function. They fail, so they never reach the ");
	dkc_put(t, "backend's function. Register the operator's function at ");
	dkc_put(t, "CompositeExplicitAutograd instead of CompositeImplicitAutograd, or give the ");
	dkc_put(t, "backend its own autograd key.\nCanonical state\n~~~~~~~~~~~\n");
	dkc_put_state(t, op);
	dkc_put(t, "\n\n");
}

size_t dk_ambiguous_text(struct dk_op *op, char *buf, size_t size)
{
	return print(op, buf, size, put_ambiguous);
}

size_t dk_invariants_text(struct dk_op *op, char *buf, size_t size)
{
	return print(op, buf, size, put_invariants);
}
