// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Registers libraries. A library has a namespace, a kind and a key, which apply to everything that
 * is registered in it. handle.c registers definitions and functions in a library.
 */
#include "library.h"

static const char *kind_name(u32 kind)
{
	switch (kind) {
	case DK_LIBRARY_DEF:
		return "DEF";
	case DK_LIBRARY_FRAGMENT:
		return "FRAGMENT";
	case DK_LIBRARY_IMPL:
		return "IMPL";
	default:
		return "no kind";
	}
}

int dkc_lib_refuse(struct dk_diag *why, enum dk_reason reason,
		   const char *name, const struct dk_library *lib)
{
	const char *const part[] = {
		name, " (", kind_name(lib->kind), " library ",
		lib->ns ? lib->ns : "_", ", ", lib->debug ? lib->debug : "?", ")",
	};

	return dkc_refuse_joined(why, reason, part, ARRAY_SIZE(part));
}

static int lib_refuse_key(struct dk_diag *why, const struct dk_library *lib)
{
	char buf[DKC_NUMBER_MAX];

	return dkc_lib_refuse(why, DK_WHY_BAD_KEY, dkc_number(buf, lib->key), lib);
}

/* ---- the library ------------------------------------------------------------ */

static bool lib_has_ns(const struct dk_library *lib)
{
	return lib->ns && !dkc_streq(lib->ns, "_");
}

/* In names and schemas of operators, the namespace ends at the first "::". */
static bool ns_ok(const char *ns)
{
	for (; *ns; ns++)
		if (*ns == ':' || *ns == '(' || *ns == ')')
			return false;
	return true;
}

static int check_library(const struct dk_library *lib, struct dk_diag *why)
{
	bool has_ns = lib_has_ns(lib);

	if (lib->kind < DK_LIBRARY_DEF || lib->kind > DK_LIBRARY_IMPL)
		return dkc_lib_refuse(why, DK_WHY_LIBRARY_KIND, "library", lib);
	if (has_ns && !dkc_name_ok(lib->ns))
		return dkc_refuse(why, DK_WHY_BAD_NAME, lib->ns);
	if (has_ns && !ns_ok(lib->ns))
		return dkc_lib_refuse(why, DK_WHY_BAD_NAMESPACE, lib->ns, lib);
	if (lib->kind == DK_LIBRARY_IMPL)
		return 0;
	if (!has_ns)
		return dkc_lib_refuse(why, DK_WHY_LIBRARY_NAMESPACE, "_", lib);
	if (lib->key)
		return dkc_lib_refuse(why, DK_WHY_LIBRARY_KEY, lib->ns, lib);
	return 0;
}

/* Returns the DEF library of a namespace, or NULL. There may be at most one. */
static struct dkc_library *def_library(struct dk_registry *reg, const char *ns)
{
	struct dkc_provider *p;
	struct dkc_library *l;

	for (p = reg->providers; p; p = p->next)
		for (l = p->libraries; l; l = l->next)
			if (l->kind == DK_LIBRARY_DEF && dkc_streq(l->ns, ns))
				return l;
	return NULL;
}

static void library_withdraw(struct dkc_library *l, struct dkc_change *ch)
{
	struct dkc_library **p = &l->prov->libraries;

	while (l->first)
		dkc_entry_withdraw(l->first, ch);
	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
	if (!l->prov->pub_lost)
		l->pub->core = NULL;
	kvfree(l);
}

/* Called when the provider is unregistered. */
static void libraries_withdraw(struct dkc_provider *prov, struct dkc_change *ch)
{
	dkc_assert_writer(prov->reg);
	while (prov->libraries)
		library_withdraw(prov->libraries, ch);
}

static int library_add(struct dkc_provider *core, struct dk_library *lib,
		       struct dkc_library *l, struct dk_diag *why)
{
	struct dkc_library *owner = NULL;

	if (lib->core)
		return dkc_lib_refuse(why, DK_WHY_LIBRARY_REGISTERED, lib->ns ? lib->ns : "_",
				      lib);
	if (lib->kind == DK_LIBRARY_DEF)
		owner = def_library(core->reg, lib->ns);
	if (owner) {
		const char *const part[] = {
			lib->ns, ": ", owner->debug, " -> ", l->debug,
		};

		return dkc_refuse_joined(why, DK_WHY_LIBRARY_EXISTS, part, ARRAY_SIZE(part));
	}
	l->prov = core;
	l->next = core->libraries;
	core->libraries = l;
	core->withdraw_libraries = libraries_withdraw;
	lib->core = l;
	return 0;
}

int dk_library_register(struct dk_library *lib, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dkc_library *l;
	int err;

	if (!lib)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "lib");
	if (lib->size != sizeof(*lib))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_library");
	err = check_library(lib, why);
	if (err)
		return err;
	l = kvzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, lib->ns);
	l->pub = lib;
	l->last = &l->first;
	l->kind = lib->kind;
	l->key = lib->key;
	l->debug = lib->debug ? lib->debug : "?";
	dkc_strcpy(l->ns, lib_has_ns(lib) ? lib->ns : "", sizeof(l->ns));
	err = dkc_provider_lock(lib->prov, &core, why);
	if (!err) {
		if (!dkc_is_key(dk_key_kind(core->reg->layout, l->key)))
			err = lib_refuse_key(why, lib);
		else
			err = library_add(core, lib, l, why);
		mutex_unlock(&core->reg->lock);
	}
	if (err)
		kvfree(l);
	return err;
}

int dk_library_unregister(struct dk_library *lib)
{
	struct dkc_change ch = { .ops = NULL };
	struct dkc_provider *core;
	struct dk_registry *reg;
	int err = dkc_provider_lock_unregistering(lib ? lib->prov : NULL, &core, NULL);

	if (!core)
		return err;
	reg = core->reg;
	/* drain even if another thread has unregistered the library: calls may still be inside */
	if (lib->core)
		library_withdraw(lib->core, &ch);
	dkc_change_force(&ch);
	dkc_drain(core, NULL);
	dkc_registry_unlock(reg);
	return 0;
}
