// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Prints schemas in PyTorch's format. */
#include "schema.h"

static void put_alias(struct dkc_text *out, const struct dk_type *t)
{
	if (!t->before)
		return;
	dkc_put(out, "(");
	dkc_put(out, t->before);
	if (t->write)
		dkc_put(out, "!");
	if (t->after) {
		dkc_put(out, " -> ");
		dkc_put(out, t->after);
	}
	dkc_put(out, ")");
}

/* Puts the part of a type before the types within it. */
static void put_head(struct dkc_text *out, const struct dk_type *t)
{
	if (t->name)
		dkc_put(out, t->name);
	if (t->kind == DK_TYPE_TUPLE || t->kind == DK_TYPE_GENERIC)
		dkc_put(out, "(");
}

static void put_tail(struct dkc_text *out, const struct dk_type *t)
{
	char number[DKC_NUMBER_MAX];

	if (t->kind == DK_TYPE_TUPLE || t->kind == DK_TYPE_GENERIC)
		dkc_put(out, ")");
	if (t->kind == DK_TYPE_OPTIONAL)
		dkc_put(out, "?");
	if (t->kind == DK_TYPE_LIST) {
		dkc_put(out, "[");
		if (t->size)
			dkc_put(out, dkc_number(number, t->size));
		dkc_put(out, "]");
	}
	put_alias(out, t);
}

static void put_type(struct dkc_text *out, const struct dk_type *t)
{
	const struct dk_type *open[DK_SCHEMA_DEPTH];
	unsigned int depth = 0;

	for (;;) {
		put_head(out, t);
		if (t->first && depth < DK_SCHEMA_DEPTH) {
			open[depth++] = t;
			t = t->first;
			continue;
		}
		put_tail(out, t);
		while (depth && !t->next) {
			t = open[--depth];
			put_tail(out, t);
		}
		if (!depth)
			return;
		t = t->next;
		dkc_put(out, ", ");
	}
}

static void put_arg(struct dkc_text *out, const struct dk_schema_arg *arg)
{
	put_type(out, arg->type);
	if (*arg->name) {
		dkc_put(out, " ");
		dkc_put(out, arg->name);
	}
	if (arg->value) {
		dkc_put(out, "=");
		dkc_put(out, arg->value);
	}
}

static void put_args(struct dkc_text *out, const struct dk_schema *s)
{
	bool keyword_only = false;
	unsigned int i;

	dkc_put(out, "(");
	for (i = 0; i < s->num_args; i++) {
		if (i)
			dkc_put(out, ", ");
		if (s->args[i].keyword_only && !keyword_only)
			dkc_put(out, "*, ");
		keyword_only = s->args[i].keyword_only;
		put_arg(out, &s->args[i]);
	}
	if (s->flags & DK_SCHEMA_VARARG)
		dkc_put(out, i ? ", ..." : "...");
	dkc_put(out, ")");
}

/* Puts the returns. A single return has parentheses only if its type begins with a tuple. */
static void put_returns(struct dkc_text *out, const struct dk_schema *s)
{
	bool open = s->flags & DK_SCHEMA_VARRET;
	const struct dk_schema_arg *ret = s->args + s->num_args;
	const struct dk_type *t;
	bool parens = s->num_returns + open != 1;
	unsigned int i;

	if (s->num_returns == 1) {
		for (t = ret->type; t->kind != DK_TYPE_TUPLE && t->kind != DK_TYPE_NAME &&
		     t->kind != DK_TYPE_GENERIC; t = t->first)
			;
		parens |= t->kind == DK_TYPE_TUPLE;
	}
	dkc_put(out, parens ? "(" : "");
	for (i = 0; i < s->num_returns; i++) {
		dkc_put(out, i ? ", " : "");
		put_arg(out, &ret[i]);
	}
	if (open)
		dkc_put(out, i ? ", ..." : "...");
	dkc_put(out, parens ? ")" : "");
}

size_t dk_schema_print(const struct dk_schema *s, char *buf, size_t size)
{
	struct dkc_text out = { buf, size, 0 };

	dkc_put(&out, s->name);
	if (*s->overload) {
		dkc_put(&out, ".");
		dkc_put(&out, s->overload);
	}
	put_args(&out, s);
	dkc_put(&out, " -> ");
	put_returns(&out, s);
	return dkc_put_end(&out);
}

size_t dk_type_print(const struct dk_type *t, char *buf, size_t size)
{
	struct dkc_text out = { buf, size, 0 };

	put_type(&out, t);
	return dkc_put_end(&out);
}
