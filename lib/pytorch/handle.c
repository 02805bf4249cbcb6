// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Registers the functions and definitions of a library. Each registration is a struct dkc_entry,
 * and may have a handle by which the caller unregisters it. An entry with a function is freed
 * together with the function's block, after the last call inside has returned.
 */
#include "library.h"

/* Returns the end of the namespace of a name or schema; NULL if it has none. */
static const char *ns_end(const char *text)
{
	for (; *text && *text != '('; text++)
		if (text[0] == ':' && text[1] == ':')
			return text;
	return NULL;
}

/* An empty namespace, as in "::add", fits no library, not even one without a namespace. */
static bool ns_fits(const struct dkc_library *l, const char *text)
{
	const char *end = ns_end(text);
	size_t n;

	if (!end)
		return true;
	n = end - text;
	return n && strlen(l->ns) == n && !memcmp(l->ns, text, n);
}

/*
 * Copies @len characters of @text to @to, after the library's namespace if @text has no namespace.
 * Returns the end of the copy, after its NUL.
 */
static char *put_full(char *to, const struct dkc_library *l, const char *text,
		      size_t len)
{
	size_t ns = ns_end(text) ? 0 : strlen(l->ns);

	if (ns) {
		memcpy(to, l->ns, ns);
		memcpy(to + ns, "::", 2);
		to += ns + 2;
	}
	memcpy(to, text, len);
	to[len] = 0;
	return to + len + 1;
}

/* Returns the schema of a declaration without the white space before it, or NULL. */
static const char *schema_of(const struct dk_op_decl *decl)
{
	return decl && decl->schema ? dkc_skip_space(decl->schema) : NULL;
}

/* Returns the length of the name in a schema. */
static size_t name_len(const char *text)
{
	size_t n = 0;

	while (text[n] && text[n] != '(')
		n++;
	while (n && text[n - 1] == ' ')
		n--;
	return n;
}

/* Checks the members that entry_new() reads. dkc_register() checks the others later. */
static int entry_check(const struct dkc_library *l, const struct dk_op_decl *decl,
		       const struct dk_impl *impl, const char *given, struct dk_diag *why)
{
	const char *end = ns_end(given), *schema = schema_of(decl);
	const char *name = end ? end + 2 : given;

	if (impl && impl->size != sizeof(*impl))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_impl");
	if (!decl)
		return 0;
	if (impl && impl->op && !dkc_decl_fits(impl->op))
		return dkc_refuse(why, DK_WHY_ABI, "struct dk_op_decl");
	if (!ns_fits(l, given))
		return dkc_lib_refuse(why, DK_WHY_NAMESPACE, given, l->pub);
	if (schema && !ns_fits(l, schema))
		return dkc_lib_refuse(why, DK_WHY_NAMESPACE, schema, l->pub);
	/* the name consists only of a namespace */
	if (!*name || *name == ' ' || *name == '(')
		return dkc_lib_refuse(why, DK_WHY_BAD_NAME, given, l->pub);
	return decl->name ? dkc_op_name_check(given, name, why) :
	       dkc_schema_check(decl->schema, why);
}

/* Copies a declaration without @op and @sig_mark, to which calls on other threads may write. */
static void decl_copy(struct dk_op_decl *to, const struct dk_op_decl *from)
{
	*to = (struct dk_op_decl){
		.size = from->size, .call_abi = from->call_abi, .name = from->name,
		.sig = from->sig, .unbox = from->unbox, .schema = from->schema,
		.debug = from->debug, .alias_analysis = from->alias_analysis,
		.num_params = from->num_params, .param = from->param,
		.dispatched = from->dispatched, .args_size = from->args_size,
		.extract = from->extract, .unbox_plain = from->unbox_plain, .pack = from->pack,
	};
}

/*
 * Sets e->impl.op to a declaration with the full name of the operator. This is e->decl, unless the
 * function has a declaration of its own. Then it is e->fn_decl: a copy of the function's
 * declaration, with its signature and unbox functions, but with the full name.
 */
static void entry_set_op(struct dkc_entry *e, const struct dk_op_decl *decl)
{
	if (e->impl.op && e->impl.op != decl) {
		decl_copy(&e->fn_decl, e->impl.op);
		e->fn_decl.name = e->text;
		e->impl.op = &e->fn_decl;
	} else {
		e->impl.op = &e->decl;
	}
}

/* Returns the part of a function's schema after its name, which need not be the operator's. */
static const char *args_of(const char *schema)
{
	while (schema && *schema && *schema != '(')
		schema++;
	return schema;
}

static struct dkc_entry *entry_new(struct dkc_library *l,
				   const struct dk_op_decl *decl,
				   const struct dk_impl *impl, bool infer,
				   struct dk_diag *why, int *err)
{
	const char *inferred = infer && impl && decl && !decl->schema ?
			       args_of(impl->schema) : NULL;
	const char *name = decl ? decl->name : NULL, *schema = schema_of(decl);
	size_t len, schema_len;
	struct dkc_entry *e;

	if (!name)
		name = schema ? schema : "";
	*err = entry_check(l, decl, impl, name, why);
	if (*err)
		return NULL;
	len = decl && decl->name ? strlen(name) : name_len(name);
	schema_len = schema ? strlen(schema) : 0;
	if (inferred)
		schema_len = len + strlen(inferred);
	e = kvzalloc(sizeof(*e) + 2 * sizeof(l->ns) + len + schema_len + 6, GFP_KERNEL);
	if (!e) {
		*err = dkc_refuse(why, DK_WHY_NO_MEMORY, l->ns);
		return NULL;
	}
	e->lib = l;
	if (impl)
		e->impl = *impl;
	if (decl) {
		char *text = put_full(e->text, l, name, len);

		decl_copy(&e->decl, decl);
		e->decl.name = e->text;
		if (!decl->debug)
			e->decl.debug = l->debug;
		if (schema) {
			e->decl.schema = text;
			put_full(text, l, schema, schema_len);
		} else if (inferred) {
			e->decl.schema = text;
			text = put_full(text, l, name, len) - 1;
			memcpy(text, inferred, schema_len - len);
		}
		entry_set_op(e, decl);
	}
	return e;
}

static int entry_key(struct dkc_entry *e, struct dk_diag *why)
{
	struct dkc_library *l = e->lib;
	const struct dk_layout *layout = l->prov->reg->layout;
	char own[DK_NAME_MAX];

	if (e->impl.key && l->key && e->impl.key != l->key)
		return dkc_lib_refuse(why, DK_WHY_LIBRARY_FN_KEY,
				      dk_key_name(layout, e->impl.key, own), l->pub);
	if (!e->impl.key)
		e->impl.key = l->key;
	return 0;
}

/* Links the entry, so that it can be unregistered together with its library, or by @h. */
static void entry_link(struct dkc_entry *e, struct dk_handle *h)
{
	struct dkc_library *l = e->lib;

	e->link = l->last;
	*l->last = e;
	l->last = &e->next;
	e->handle = h;
	if (h)
		h->core = e;
	if (e->block)
		e->block->owned = e;
}

void dkc_entry_withdraw(struct dkc_entry *e, struct dkc_change *ch)
{
	struct dkc_library *l = e->lib;
	struct dk_op *op;

	dkc_assert_writer(l->prov->reg);
	*e->link = e->next;
	if (e->next)
		e->next->link = e->link;
	else
		l->last = e->link;
	if (e->handle && !l->prov->pub_lost)
		e->handle->core = NULL;
	if (e->defines) {
		op = dkc_op_find(l->prov->reg, e->decl.name);
		/* dk_op_undefine() may have removed the definition already */
		if (op && op->decl == &e->decl)
			dkc_op_undefine(op, ch);
	}
	if (e->block)
		dkc_block_withdraw(e->block, ch);
	else
		kvfree_rcu(e, rcu);
}

/* Takes the registry's lock. Fails if the library is not registered, or @h is in use. */
static int library_lock(struct dk_library *lib, struct dkc_provider **core,
			struct dk_handle *h, struct dk_diag *why)
{
	int err;

	if (!lib)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "lib");
	err = dkc_provider_lock(lib->prov, core, why);
	if (err)
		return err;
	if (!lib->core)
		err = dkc_lib_refuse(why, DK_WHY_LIBRARY_UNREGISTERED, "library", lib);
	else if (h && h->core)
		err = dkc_lib_refuse(why, DK_WHY_HANDLE, "handle", lib);
	if (err)
		mutex_unlock(&(*core)->reg->lock);
	return err;
}

/*
 * Defines an operator. Its function, if any, is published in the same change. @given is the
 * caller's declaration: e->decl is a copy.
 */
static int entry_def(struct dkc_entry *e, const struct dk_op_decl *given, unsigned int flags,
		     bool has_impl, struct dk_diag *why)
{
	const char *schema = given->schema ? given->schema : e->impl.schema;
	struct dkc_registration r = {
		.prov = e->lib->prov, .decl = &e->decl, .flags = flags,
		.impls = has_impl ? &e->impl : NULL, .n = has_impl, .why = why,
	};
	int err;

	/*
	 * The library's namespace precedes the text in e->decl, and need not fit the grammar.
	 * entry_check() has parsed the schema of a definition without a name.
	 */
	if (schema && given->name) {
		err = dkc_schema_check(schema, why);
		if (err)
			return err;
	}
	/* without a schema, there must at least be a C signature that describes the arguments */
	if (has_impl && !e->decl.schema && !e->decl.sig)
		return dkc_refuse(why, DK_WHY_SCHEMA_INFER, e->decl.name);
	if (!given->schema && !e->decl.alias_analysis)
		e->decl.alias_analysis = DK_ALIAS_CONSERVATIVE;
	err = dkc_register(&r);
	e->block = r.block;
	return err;
}

/* Registers the function of an entry, or the fallback. */
static int entry_impl(struct dkc_entry *e, bool fallback, struct dk_diag *why)
{
	struct dkc_registration r = {
		.prov = e->lib->prov, .impls = &e->impl, .n = !fallback,
		.fallback = fallback, .why = why,
	};
	int err = dkc_register(&r);

	e->block = r.block;
	return err;
}

/* Links the entry, or frees it on failure. Releases the lock. */
static void entry_end(struct dk_registry *reg, struct dkc_entry *e,
		      struct dk_handle *h, int err)
{
	if (!err)
		entry_link(e, h);
	else if (e)
		kvfree_rcu(e, rcu);
	dkc_registry_unlock_flush(reg);
}

static int library_def(struct dk_library *lib, const struct dk_op_decl *decl,
		       unsigned int flags, const struct dk_impl *impl,
		       struct dk_handle *h, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dkc_entry *e = NULL;
	int err;

	if (!decl)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "decl");
	if (!dkc_decl_fits(decl))
		return dkc_refuse(why, DK_WHY_ABI, "struct dk_op_decl");
	err = library_lock(lib, &core, h, why);
	if (err)
		return err;
	if (lib->core->kind == DK_LIBRARY_IMPL)
		err = dkc_lib_refuse(why, DK_WHY_LIBRARY_IMPL,
				     decl->name ? decl->name : "def", lib);
	else
		e = entry_new(lib->core, decl, impl, true, why, &err);
	if (e && impl)
		err = entry_key(e, why);
	if (!err)
		err = entry_def(e, decl, flags, impl, why);
	if (!err)
		e->defines = true;
	entry_end(core->reg, e, h, err);
	return err;
}

int dk_library_def(struct dk_library *lib, const struct dk_op_decl *decl,
		   unsigned int flags, struct dk_handle *h, struct dk_diag *why)
{
	return library_def(lib, decl, flags, NULL, h, why);
}

int dk_library_def_impl(struct dk_library *lib, const struct dk_op_decl *decl,
			unsigned int flags, const struct dk_impl *impl,
			struct dk_handle *h, struct dk_diag *why)
{
	if (!impl)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "impl");
	return library_def(lib, decl, flags, impl, h, why);
}

int dk_library_impl(struct dk_library *lib, const struct dk_impl *impl,
		    struct dk_handle *h, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dkc_entry *e;
	int err;

	if (!impl)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "impl");
	err = dkc_check_impl_op(impl, why);
	if (!err)
		err = library_lock(lib, &core, h, why);
	if (err)
		return err;
	e = entry_new(lib->core, impl->op, impl, false, why, &err);
	if (e)
		err = entry_key(e, why);
	if (!err)
		err = entry_impl(e, false, why);
	entry_end(core->reg, e, h, err);
	return err;
}

int dk_library_fallback(struct dk_library *lib, const struct dk_impl *impl,
			struct dk_handle *h, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dkc_entry *e = NULL;
	int err;

	if (!impl)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "impl");
	err = library_lock(lib, &core, h, why);
	if (err)
		return err;
	if (lib->core->kind != DK_LIBRARY_IMPL)
		err = dkc_lib_refuse(why, DK_WHY_LIBRARY_FALLBACK, "fallback", lib);
	else if (*lib->core->ns)
		err = dkc_lib_refuse(why, DK_WHY_FALLBACK_NAMESPACE, lib->core->ns, lib);
	else
		e = entry_new(lib->core, NULL, impl, false, why, &err);
	/* as in PyTorch, the function's own key takes precedence */
	if (e && !e->impl.key)
		e->impl.key = lib->core->key;
	if (!err)
		err = entry_impl(e, true, why);
	entry_end(core->reg, e, h, err);
	return err;
}

int dk_handle_release(struct dk_library *lib, struct dk_handle *h)
{
	struct dkc_change ch = { .ops = NULL };
	const struct dkc_block *b;
	struct dkc_provider *core;
	struct dk_registry *reg;
	int err = dkc_provider_lock_unregistering(lib && h ? lib->prov : NULL, &core, NULL);

	if (!core)
		return err;
	reg = core->reg;
	if (!h->core) {
		dkc_drain(core, NULL);
	} else if (h->core->lib != lib->core) {
		/* do not touch the entry: the other library may have another provider */
		err = -ENOENT;
	} else {
		b = h->core->block;
		dkc_entry_withdraw(h->core, &ch);
		dkc_change_force(&ch);
		if (b)
			dkc_drain(core, b);
	}
	dkc_registry_unlock(reg);
	return err;
}
