// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Checks the form of declarations and functions: sizes, flags, names and schemas. */
#include "change.h"

/* Checks @size of each struct before reading its other members: they may not exist. */
int dkc_check_impl_op(const struct dk_impl *impl, struct dk_diag *why)
{
	if (impl->size != sizeof(*impl))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_impl");
	if (!impl->op)
		return dkc_refuse(why, DK_WHY_NO_DECL, impl->label);
	if (!dkc_decl_fits(impl->op))
		return dkc_refuse(why, DK_WHY_ABI, "struct dk_op_decl");
	return 0;
}

int dkc_check_function(const struct dk_impl *impl, bool fallback, struct dk_diag *why)
{
	bool none = impl->flags & DK_IMPL_F_FALLTHROUGH;
	const char *name;

	if (impl->size != sizeof(*impl))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_impl");
	name = impl->label || fallback ? impl->label : impl->op->name;
	if (impl->flags & ~(DK_IMPL_F_FALLTHROUGH | DK_IMPL_F_ATOMIC | DK_IMPL_F_BOXED |
			    DK_IMPL_F_PLAIN | DK_IMPL_F_BLOCK))
		return dkc_refuse(why, DK_WHY_BAD_FLAGS, name);
	/* a fallback serves every operator, so it cannot be the function of one operator */
	if (fallback && (impl->op || (impl->fn && !(impl->flags & DK_IMPL_F_BOXED))))
		return dkc_refuse(why, DK_WHY_FALLBACK_FUNCTION, name);
	if (none == !!impl->fn)
		return dkc_refuse(why, DK_WHY_NO_FUNCTION, name);
	/*
	 * A function cannot be both plain and boxed. For a plain function, the declaration
	 * must have a function that unpacks the arguments of boxed calls.
	 */
	if ((impl->flags & DK_IMPL_F_PLAIN) &&
	    (none || fallback || (impl->flags & DK_IMPL_F_BOXED) ||
	     !impl->op->unbox_plain))
		return dkc_refuse(why, DK_WHY_BAD_FLAGS, name);
	return 0;
}

int dkc_check_impl(const struct dk_impl *impl, struct dk_diag *why)
{
	int err = dkc_check_impl_op(impl, why);

	if (!err)
		err = dkc_check_function(impl, false, why);
	if (!err && impl->schema)
		err = dkc_schema_check(impl->schema, why);
	return err;
}

/* The message contains the schema's name and the operator's: "foo::bar vs foo::baz". */
static noinline int check_schema_name(const struct dk_op_decl *decl, struct dk_diag *why)
{
	const char *schema = decl->schema;
	char named[DK_NAME_MAX];
	const char *const part[] = { named, " vs ", decl->name };
	size_t n = 0;

	while (*schema == ' ')
		schema++;
	while (decl->name[n] && schema[n] == decl->name[n])
		n++;
	if (!decl->name[n]) {
		while (schema[n] == ' ')
			n++;
		if (schema[n] == '(')
			return 0;
	}
	for (n = 0; schema[n] && schema[n] != '('; n++)
		;
	if (!schema[n])
		return dkc_refuse(why, DK_WHY_SCHEMA, schema);
	while (n && schema[n - 1] == ' ')
		n--;
	dkc_strncpy(named, n ? schema : "no name", n ? n : 7, sizeof(named));
	return dkc_refuse_joined(why, DK_WHY_SCHEMA_NAME, part, ARRAY_SIZE(part));
}

/*
 * True if the description of a parameter is valid. Lists and pointers must not be smaller than
 * their type, because dk_arg_get() reads them as a whole.
 */
static bool param_fits(const struct dk_param *p, u64 args_size)
{
	u32 least = p->kind == DK_ARG_LIST ? sizeof(struct dk_list) :
		    p->kind < DK_ARG_STRING || p->kind == DK_ARG_OTHER ? 1 : sizeof(void *);

	return p->kind - 1 < DK_ARG_OTHER && p->size >= least &&
	       (u64)p->offset + p->size <= args_size;
}

int dkc_check_decl(const struct dk_op_decl *decl, unsigned int flags, struct dk_diag *why)
{
	const struct dk_param *p;
	int err;

	if (!dkc_decl_fits(decl))
		return dkc_refuse(why, DK_WHY_ABI, "struct dk_op_decl");
	if (flags & ~(DK_OP_ATOMIC | DK_OP_SAME_DEVICE))
		return dkc_refuse(why, DK_WHY_BAD_FLAGS, decl->name);
	if (!dkc_name_ok(decl->name))
		return dkc_refuse(why, DK_WHY_BAD_NAME, decl->name);
	if (decl->param && decl->num_params > DKC_MAX_PARAMS)
		return dkc_refuse(why, DK_WHY_SCHEMA_ARGS, decl->name);
	for (p = decl->param; p && p < decl->param + decl->num_params; p++) {
		if (!p->name)
			return dkc_refuse(why, DK_WHY_BAD_NAME, NULL);
		if (!param_fits(p, decl->args_size))
			return dkc_refuse(why, DK_WHY_PARAM, p->name);
	}
	if (!decl->schema)
		return 0;
	err = check_schema_name(decl, why);
	return err ? err : dkc_schema_check_decl(decl, why);
}
