// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Returns the parts of a schema, and compares a declared schema with a function's schema. */
#include "schema.h"

const char *dk_schema_name(const struct dk_schema *s)
{
	return s->name;
}

const char *dk_schema_overload(const struct dk_schema *s)
{
	return s->overload;
}

unsigned int dk_schema_flags(const struct dk_schema *s)
{
	return s->flags;
}

unsigned int dk_schema_args(const struct dk_schema *s)
{
	return s->num_args;
}

const struct dk_schema_arg *dk_schema_argument(const struct dk_schema *s, unsigned int i)
{
	return i < s->num_args ? &s->args[i] : NULL;
}

unsigned int dk_schema_returns(const struct dk_schema *s)
{
	return s->num_returns;
}

const struct dk_schema_arg *dk_schema_return(const struct dk_schema *s, unsigned int i)
{
	return i < s->num_returns ? &s->args[s->num_args + i] : NULL;
}

enum dk_alias_analysis dk_schema_alias_analysis(const struct dk_schema *s)
{
	return *s->name ? DK_ALIAS_FROM_SCHEMA : DK_ALIAS_CONSERVATIVE;
}

bool dkc_type_dispatched(const struct dk_type *t)
{
	if (t->kind == DK_TYPE_LIST)
		t = t->first;
	if (t->kind == DK_TYPE_OPTIONAL)
		t = t->first;
	return t->kind == DK_TYPE_NAME && dkc_streq(t->name, "Tensor");
}

int dk_schema_dispatch_mask(const struct dk_schema *s, __u64 *mask,
			    struct dk_diag *why)
{
	unsigned int i;
	u64 bits = 0;

	if (s->num_args > 64)
		return dkc_refuse(why, DK_WHY_SCHEMA_ARGS, s->name);
	for (i = 0; i < s->num_args; i++)
		bits = bits << 1 | dkc_type_dispatched(s->args[i].type);
	*mask = bits;
	return dkc_accept(why);
}

/* Returns the name by which PyTorch knows a type that has two. */
static const char *real_name(const char *name)
{
	if (dkc_is_any_of(name, "DeviceIndex ConstQuantizerPtr"))
		return "int";
	if (dkc_streq(name, "Dimname"))
		return "str";
	return dkc_streq(name, "None") ? "NoneType" : name;
}

static bool names_fit(const char *declared, const char *inferred)
{
	static const char * const concrete[][2] = {
		{ "SymInt", "int" }, { "SymFloat", "float" }, { "SymBool", "bool" },
	};
	unsigned int i;

	declared = real_name(declared);
	inferred = real_name(inferred);
	if (dkc_streq(declared, inferred))
		return true;
	for (i = 0; i < sizeof(concrete) / sizeof(concrete[0]); i++)
		if (dkc_streq(declared, concrete[i][0]) &&
		    dkc_streq(inferred, concrete[i][1]))
			return true;
	return false;
}

/* Compares two types, but not the types within them. */
static bool heads_fit(const struct dk_type *a, const struct dk_type *b)
{
	return a->kind == b->kind && !a->first == !b->first &&
	       (a->name ? names_fit(a->name, b->name) : true);
}

/* Compares two types and all types within them. Uses a stack of its own, not recursion. */
static bool types_fit(const struct dk_type *a, const struct dk_type *b)
{
	const struct dk_type *open[DK_SCHEMA_DEPTH][2];
	unsigned int depth = 0;

	for (;;) {
		if (!heads_fit(a, b))
			return false;
		if (a->first && depth < DK_SCHEMA_DEPTH) {
			open[depth][0] = a;
			open[depth++][1] = b;
			a = a->first;
			b = b->first;
			continue;
		}
		while (depth && !a->next && !b->next) {
			a = open[--depth][0];
			b = open[depth][1];
		}
		if (!depth)
			return true;
		if (!a->next || !b->next)
			return false;
		a = a->next;
		b = b->next;
	}
}

static int differ(struct dk_diag *why, enum dk_reason reason, const char *where,
		  const char *a, const char *b)
{
	const char *const part[] = { where, *where ? ": " : "", a, " vs ", b };

	return dkc_refuse_joined(why, reason, part, ARRAY_SIZE(part));
}

static int compare_numbers(unsigned int a, unsigned int b, struct dk_diag *why,
			   enum dk_reason reason)
{
	char left[DKC_NUMBER_MAX], right[DKC_NUMBER_MAX];

	if (a == b)
		return 0;
	return differ(why, reason, "", dkc_number(left, a), dkc_number(right, b));
}

static int compare_types(const struct dk_schema_arg *a, const struct dk_schema_arg *b,
			 unsigned int n, struct dk_diag *why, enum dk_reason reason)
{
	char left[48], right[48], which[DKC_NUMBER_MAX];
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (types_fit(a[i].type, b[i].type))
			continue;
		dk_type_print(a[i].type, left, sizeof(left));
		dk_type_print(b[i].type, right, sizeof(right));
		return differ(why, reason, dkc_number(which, i + 1), left, right);
	}
	return 0;
}

int dk_schema_compare(const struct dk_schema *declared,
		      const struct dk_schema *inferred, struct dk_diag *why)
{
	const struct dk_schema *a = declared, *b = inferred;
	int err;

	dkc_accept(why);
	err = compare_numbers(a->num_args, b->num_args, why, DK_WHY_SCHEMA_NUM_ARGS);
	if (!err)
		err = compare_numbers(a->num_returns, b->num_returns, why,
				      DK_WHY_SCHEMA_NUM_RETURNS);
	if (!err)
		err = compare_types(a->args, b->args, a->num_args, why,
				    DK_WHY_SCHEMA_ARG);
	if (!err)
		err = compare_types(a->args + a->num_args, b->args + b->num_args,
				    a->num_returns, why, DK_WHY_SCHEMA_RETURN);
	return err;
}
