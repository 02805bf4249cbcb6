// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Makes a declaration from a schema, and compares the C parameters of a declaration with a schema.
 */
#include "schema.h"

struct dkc_decl {
	struct dk_op_decl pub;
	struct dk_param param[];	/* followed by the strings */
};

bool dkc_is_any_of(const char *name, const char *names)
{
	size_t n;

	for (; *names; names += *names == ' ') {
		for (n = 0; name[n] && *names == name[n]; n++)
			names++;
		if (!name[n] && (!*names || *names == ' '))
			return true;
		while (*names && *names != ' ')
			names++;
	}
	return false;
}

/*
 * Returns the kind of a type that is passed by pointer. A NULL pointer stands for None. The
 * type may be optional.
 */
static u32 pointer_kind(const struct dk_type *t)
{
	if (t->kind == DK_TYPE_OPTIONAL)
		t = t->first;
	if (t->kind != DK_TYPE_NAME)
		return DK_ARG_POINTER;
	if (dkc_streq(t->name, "Tensor"))
		return DK_ARG_OBJECT;
	if (dkc_streq(t->name, "Generator"))
		return DK_ARG_GENERATOR;
	return dkc_streq(t->name, "str") ? DK_ARG_STRING : DK_ARG_POINTER;
}

static u32 kind_of(const struct dk_type *t)
{
	if (t->kind == DK_TYPE_LIST && dkc_type_dispatched(t))
		return DK_ARG_LIST;
	if (t->kind != DK_TYPE_NAME)
		return pointer_kind(t);
	if (dkc_is_any_of(t->name, "int SymInt ScalarType Layout MemoryFormat QScheme "
			  "DeviceIndex"))
		return DK_ARG_INT;
	if (dkc_is_any_of(t->name, "bool SymBool"))
		return DK_ARG_BOOL;
	if (dkc_is_any_of(t->name, "float SymFloat"))
		return DK_ARG_DOUBLE;
	return pointer_kind(t);
}

static u32 size_of(u32 kind)
{
	switch (kind) {
	case DK_ARG_BOOL:
		return sizeof(bool);
	case DK_ARG_INT:
	case DK_ARG_DOUBLE:
		return sizeof(u64);
	case DK_ARG_LIST:
		return sizeof(struct dk_list);
	default:
		return sizeof(void *);
	}
}

/* Each argument begins at a multiple of 8, which suffices for the alignment of any kind. */
static void describe(struct dkc_decl *d, const struct dk_schema *s)
{
	struct dk_param *p = d->param;
	u32 at = 0, i;

	for (i = 0; i < s->num_args; i++, p++) {
		p->kind = kind_of(s->args[i].type);
		p->size = size_of(p->kind);
		p->offset = at;
		at += (p->size + 7) & ~7u;
	}
	d->pub.args_size = at;
	d->pub.num_params = s->num_args;
	d->pub.param = d->param;
}

static const char *put_text(char **at, const char *text)
{
	char *begin = *at;
	size_t n = strlen(text) + 1;

	memcpy(begin, text, n);
	*at += n;
	return begin;
}

static void put_texts(struct dkc_decl *d, const struct dk_schema *s, size_t schema_size)
{
	char *at = (char *)(d->param + s->num_args);
	u32 i;

	d->pub.name = put_text(&at, s->name);
	if (*s->overload) {
		at[-1] = '.';
		put_text(&at, s->overload);
	}
	for (i = 0; i < s->num_args; i++)
		d->param[i].name = put_text(&at, s->args[i].name);
	d->pub.schema = at;
	dk_schema_print(s, at, schema_size);
}

int dk_schema_decl(const struct dk_schema *s, struct dk_op_decl **decl,
		   struct dk_diag *why)
{
	size_t schema_size = dk_schema_print(s, NULL, 0) + 1, size;
	struct dkc_decl *d;
	u32 i;

	*decl = NULL;
	if (!*s->name)
		return dkc_refuse(why, DK_WHY_BAD_NAME, NULL);
	if (s->num_args > DKC_MAX_PARAMS)
		return dkc_refuse(why, DK_WHY_SCHEMA_ARGS, s->name);
	size = sizeof(*d) + s->num_args * sizeof(*d->param) + strlen(s->name) + 1 +
	       strlen(s->overload) + 1 + schema_size;
	for (i = 0; i < s->num_args; i++)
		size += strlen(s->args[i].name) + 1;
	d = kvzalloc(size, GFP_KERNEL);
	if (!d)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, s->name);
	d->pub.size = sizeof(d->pub);
	d->pub.call_abi = DK_ABI_VERSION;
	describe(d, s);
	put_texts(d, s, schema_size);
	dkc_accept(why);
	*decl = &d->pub;
	return 0;
}

void dk_schema_decl_free(struct dk_op_decl *decl)
{
	kvfree(decl);
}

/* ---- comparing ---------------------------------------------------------------- */

/*
 * Matches the parameters of a declaration, in order, with the objects and lists of objects in a
 * schema. A parameter of unknown kind may match the next object or list, or nothing. So there may
 * be several ways to match: @can[i] is true if, in one of these ways, the parameters so far match
 * exactly the first i objects and lists.
 */
struct match {
	u32 kind[DKC_MAX_PARAMS];
	const char *name[DKC_MAX_PARAMS];
	unsigned int n;
	bool can[DKC_MAX_PARAMS + 1];
};

static void match_begin(struct match *m, const struct dk_schema *s)
{
	u32 i;

	m->n = 0;
	for (i = 0; i < s->num_args; i++) {
		if (!dkc_type_dispatched(s->args[i].type))
			continue;
		m->kind[m->n] = kind_of(s->args[i].type);
		m->name[m->n++] = s->args[i].name;
	}
	memset(m->can, 0, sizeof(m->can));
	m->can[0] = true;
}

/* Matches one more parameter. Returns false if no match is possible. */
static bool match_param(struct match *m, u32 kind)
{
	bool unknown = kind == DK_ARG_POINTER || kind == DK_ARG_OTHER, any = false;
	unsigned int i;

	if (!unknown && kind != DK_ARG_OBJECT && kind != DK_ARG_LIST)
		return true;
	for (i = m->n + 1; i-- > 0;) {
		bool next = i && m->can[i - 1] && (unknown || m->kind[i - 1] == kind);

		m->can[i] = next || (unknown && m->can[i]);
		any |= m->can[i];
	}
	return any;
}

/* Returns the first object or list of the schema that no parameter matches, or NULL. */
static const char *match_rest(const struct match *m)
{
	unsigned int i = m->n;

	while (i && !m->can[i])
		i--;
	return i < m->n ? m->name[i] : NULL;
}

int dkc_schema_matches(const struct dk_schema *s, const struct dk_op_decl *decl,
		       struct dk_diag *why)
{
	const char *rest;
	struct match m;
	u32 i;

	if (!decl->param)
		return 0;
	if (s->num_args > DKC_MAX_PARAMS)
		return dkc_refuse(why, DK_WHY_SCHEMA_ARGS, decl->name);
	match_begin(&m, s);
	for (i = 0; i < decl->num_params; i++)
		if (!match_param(&m, decl->param[i].kind))
			return dkc_refuse(why, DK_WHY_SCHEMA_PARAMS,
					  decl->param[i].name);
	rest = match_rest(&m);
	return rest ? dkc_refuse(why, DK_WHY_SCHEMA_PARAMS, rest) : 0;
}
