// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Prints schemas in PyTorch's format. */
#include "schema.h"

char *dkc_number(char buf[DKC_NUMBER_MAX], u32 n)
{
	char digits[DKC_NUMBER_MAX], *d = digits + sizeof(digits) - 1;

	*d = 0;
	do {
		*--d = '0' + n % 10;
		n /= 10;
	} while (n);
	dkc_strcpy(buf, d, DKC_NUMBER_MAX);
	return buf;
}

struct printer {
	char *buf;
	size_t size;
	size_t len;			/* of the whole text, including what did not fit */
};

static void put(struct printer *p, const char *s)
{
	for (; *s; s++, p->len++)
		if (p->len + 1 < p->size)
			p->buf[p->len] = *s;
}

static size_t finish(struct printer *p)
{
	if (p->size)
		p->buf[p->len < p->size ? p->len : p->size - 1] = 0;
	return p->len;
}

static void put_alias(struct printer *p, const struct dk_type *t)
{
	if (!t->before)
		return;
	put(p, "(");
	put(p, t->before);
	if (t->write)
		put(p, "!");
	if (t->after) {
		put(p, " -> ");
		put(p, t->after);
	}
	put(p, ")");
}

/* Puts the part of a type before the types within it. */
static void put_head(struct printer *p, const struct dk_type *t)
{
	if (t->name)
		put(p, t->name);
	if (t->kind == DK_TYPE_TUPLE || t->kind == DK_TYPE_GENERIC)
		put(p, "(");
}

static void put_tail(struct printer *p, const struct dk_type *t)
{
	char number[DKC_NUMBER_MAX];

	if (t->kind == DK_TYPE_TUPLE || t->kind == DK_TYPE_GENERIC)
		put(p, ")");
	if (t->kind == DK_TYPE_OPTIONAL)
		put(p, "?");
	if (t->kind == DK_TYPE_LIST) {
		put(p, "[");
		if (t->size)
			put(p, dkc_number(number, t->size));
		put(p, "]");
	}
	put_alias(p, t);
}

static void put_type(struct printer *p, const struct dk_type *t)
{
	const struct dk_type *open[DK_SCHEMA_DEPTH];
	unsigned int depth = 0;

	for (;;) {
		put_head(p, t);
		if (t->first && depth < DK_SCHEMA_DEPTH) {
			open[depth++] = t;
			t = t->first;
			continue;
		}
		put_tail(p, t);
		while (depth && !t->next) {
			t = open[--depth];
			put_tail(p, t);
		}
		if (!depth)
			return;
		t = t->next;
		put(p, ", ");
	}
}

static void put_arg(struct printer *p, const struct dk_schema_arg *arg)
{
	put_type(p, arg->type);
	if (*arg->name) {
		put(p, " ");
		put(p, arg->name);
	}
	if (arg->value) {
		put(p, "=");
		put(p, arg->value);
	}
}

static void put_args(struct printer *p, const struct dk_schema *s)
{
	bool keyword_only = false;
	unsigned int i;

	put(p, "(");
	for (i = 0; i < s->num_args; i++) {
		if (i)
			put(p, ", ");
		if (s->args[i].keyword_only && !keyword_only)
			put(p, "*, ");
		keyword_only = s->args[i].keyword_only;
		put_arg(p, &s->args[i]);
	}
	if (s->flags & DK_SCHEMA_VARARG)
		put(p, i ? ", ..." : "...");
	put(p, ")");
}

/* Puts the returns. A single return has parentheses only if its type begins with a tuple. */
static void put_returns(struct printer *p, const struct dk_schema *s)
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
	put(p, parens ? "(" : "");
	for (i = 0; i < s->num_returns; i++) {
		put(p, i ? ", " : "");
		put_arg(p, &ret[i]);
	}
	if (open)
		put(p, i ? ", ..." : "...");
	put(p, parens ? ")" : "");
}

size_t dk_schema_print(const struct dk_schema *s, char *buf, size_t size)
{
	struct printer p = { buf, size, 0 };

	put(&p, s->name);
	if (*s->overload) {
		put(&p, ".");
		put(&p, s->overload);
	}
	put_args(&p, s);
	put(&p, " -> ");
	put_returns(&p, s);
	return finish(&p);
}

size_t dk_type_print(const struct dk_type *t, char *buf, size_t size)
{
	struct printer p = { buf, size, 0 };

	put_type(&p, t);
	return finish(&p);
}
