// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Libraries and their handles. An entry is one registration: its copies of the
 * declaration and of the function stand under the full name. What a function
 * needs goes with its block, when no call is inside any more.
 */
#include "registry.h"

struct dkc_entry {
	struct dkc_retired retired;
	struct dkc_entry *next;
	struct dkc_entry **link;
	struct dkc_library *lib;
	struct dk_handle *handle;	/* the caller's, or NULL */
	struct dkc_block *block;	/* of its function, or NULL */
	bool defines;
	struct dk_op_decl decl;
	struct dk_impl impl;
	char text[];
};

struct dkc_library {
	struct dkc_library *next;	/* of its provider */
	struct dkc_provider *prov;
	struct dk_library *pub;
	struct dkc_entry *first;
	struct dkc_entry **last;
	u32 kind;
	u32 key;
	const char *debug;
	char ns[DK_NAME_MAX];		/* empty: none */
};

static const char *dkc_kind_name(u32 kind)
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

/* Say what is wrong, and in which library. */
static int dkc_lib_refuse(struct dk_diag *why, enum dk_reason reason,
			  const char *name, const struct dk_library *lib)
{
	const char *const part[] = {
		name, " (", dkc_kind_name(lib->kind), " library ",
		lib->ns ? lib->ns : "_", ", ", lib->debug ? lib->debug : "?", ")",
	};
	char text[DK_NAME_MAX];

	dkc_join(text, sizeof(text), part, sizeof(part) / sizeof(part[0]));
	return dkc_refuse(why, reason, text);
}

static int dkc_lib_refuse_key(struct dk_diag *why, const struct dk_library *lib)
{
	char number[12];
	struct dkc_text t = { number, sizeof(number), 0 };

	dkc_put_dec(&t, lib->key);
	dkc_put_end(&t);
	return dkc_lib_refuse(why, DK_WHY_BAD_KEY, number, lib);
}

/* ---- the library ------------------------------------------------------------ */

static bool dkc_has_ns(const struct dk_library *lib)
{
	return lib->ns && !dkc_streq(lib->ns, "_");
}

static int dkc_check_library(const struct dk_library *lib, struct dk_diag *why)
{
	bool has_ns = dkc_has_ns(lib);

	if (lib->kind < DK_LIBRARY_DEF || lib->kind > DK_LIBRARY_IMPL)
		return dkc_lib_refuse(why, DK_WHY_LIBRARY_KIND, "library", lib);
	if (has_ns && !dkc_name_ok(lib->ns))
		return dkc_refuse(why, DK_WHY_BAD_NAME, lib->ns);
	if (lib->kind == DK_LIBRARY_IMPL)
		return 0;
	if (!has_ns)
		return dkc_lib_refuse(why, DK_WHY_LIBRARY_NAMESPACE, "_", lib);
	if (lib->key)
		return dkc_lib_refuse(why, DK_WHY_LIBRARY_KEY, lib->ns, lib);
	return 0;
}

/* The library that has a namespace for itself, or NULL. */
static struct dkc_library *dkc_namespace_owner(struct dk_registry *reg, const char *ns)
{
	struct dkc_provider *p;
	struct dkc_library *l;

	for (p = reg->providers; p; p = p->next)
		for (l = p->libraries; l; l = l->next)
			if (l->kind == DK_LIBRARY_DEF && dkc_streq(l->ns, ns))
				return l;
	return NULL;
}

static int dkc_library_add(struct dkc_provider *core, struct dk_library *lib,
			   struct dkc_library *l, struct dk_diag *why)
{
	struct dkc_library *owner = NULL;

	if (lib->core)
		return dkc_lib_refuse(why, DK_WHY_LIBRARY_REGISTERED, lib->ns, lib);
	if (lib->kind == DK_LIBRARY_DEF)
		owner = dkc_namespace_owner(core->reg, lib->ns);
	if (owner) {
		const char *const part[] = {
			lib->ns, ": ", owner->debug, " -> ", l->debug,
		};
		char text[DK_NAME_MAX];

		dkc_join(text, sizeof(text), part, sizeof(part) / sizeof(part[0]));
		return dkc_refuse(why, DK_WHY_LIBRARY_EXISTS, text);
	}
	l->prov = core;
	l->next = core->libraries;
	core->libraries = l;
	lib->core = l;
	return 0;
}

int dk_library_register(struct dk_library *lib, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dkc_library *l;
	int err;

	if (lib->size != sizeof(*lib))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_library");
	err = dkc_check_library(lib, why);
	if (err)
		return err;
	l = dkc_alloc(sizeof(*l));
	if (!l)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, lib->ns);
	l->pub = lib;
	l->last = &l->first;
	l->kind = lib->kind;
	l->key = lib->key;
	l->debug = lib->debug ? lib->debug : "?";
	dkc_strcpy(l->ns, dkc_has_ns(lib) ? lib->ns : "", sizeof(l->ns));
	err = dkc_provider_lock(lib->prov, &core, why);
	if (!err) {
		if (dk_key_kind(core->reg->layout, l->key) == DK_KIND_NONE)
			err = dkc_lib_refuse_key(why, lib);
		else
			err = dkc_library_add(core, lib, l, why);
		dkc_mutex_unlock(&core->reg->lock);
	}
	if (err)
		dkc_free(l);
	return err;
}

/* ---- one registration -------------------------------------------------------- */

/* How long a namespace a name, or a schema, begins with; 0 for none. */
static size_t dkc_ns_len(const char *text)
{
	size_t n;

	for (n = 0; text[n] && text[n] != '('; n++)
		if (text[n] == ':' && text[n + 1] == ':')
			return n;
	return 0;
}

static bool dkc_ns_fits(const struct dkc_library *l, const char *text)
{
	size_t n = dkc_ns_len(text);

	return !n || (dkc_strlen(l->ns) == n && !memcmp(l->ns, text, n));
}

/* Text of @len characters behind the library's namespace; where the next goes. */
static char *dkc_put_full(char *to, const struct dkc_library *l, const char *text,
			  size_t len)
{
	size_t ns = dkc_ns_len(text) ? 0 : dkc_strlen(l->ns);

	if (ns) {
		memcpy(to, l->ns, ns);
		memcpy(to + ns, "::", 2);
		to += ns + 2;
	}
	memcpy(to, text, len);
	to[len] = 0;
	return to + len + 1;
}

/* Of a name, or of what stands before the parenthesis. */
static size_t dkc_name_len(const char *text)
{
	size_t n = 0;

	while (text[n] && text[n] != '(')
		n++;
	while (n && text[n - 1] == ' ')
		n--;
	return n;
}

static struct dkc_entry *dkc_entry_new(struct dkc_library *l,
				       const struct dk_op_decl *decl,
				       const struct dk_impl *impl, bool infer,
				       struct dk_diag *why, int *err)
{
	const char *inferred = infer && impl && decl && !decl->schema ?
			       impl->schema : NULL;
	const char *schema = decl ? decl->schema : NULL;
	const char *name = decl ? decl->name : NULL;
	size_t len, schema_len;
	struct dkc_entry *e;

	if (impl && impl->size != sizeof(*impl)) {
		*err = dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_impl");
		return NULL;
	}
	if (!name)
		name = schema ? schema : "";
	if (!dkc_ns_fits(l, name) || (schema && !dkc_ns_fits(l, schema))) {
		*err = dkc_lib_refuse(why, DK_WHY_NAMESPACE,
				      dkc_ns_fits(l, name) ? schema : name, l->pub);
		return NULL;
	}
	len = dkc_name_len(name);
	schema_len = schema ? dkc_strlen(schema) : 0;
	if (inferred)
		schema_len = len + dkc_strlen(inferred);
	e = dkc_alloc(sizeof(*e) + 2 * sizeof(l->ns) + len + schema_len + 6);
	if (!e) {
		*err = dkc_refuse(why, DK_WHY_NO_MEMORY, l->ns);
		return NULL;
	}
	e->lib = l;
	if (impl)
		e->impl = *impl;
	if (decl) {
		char *text = dkc_put_full(e->text, l, name, len);

		e->decl = *decl;
		e->decl.op = NULL;
		e->decl.name = e->text;
		if (!decl->debug)
			e->decl.debug = l->debug;
		if (schema) {
			e->decl.schema = text;
			dkc_put_full(text, l, schema, schema_len);
		} else if (inferred) {
			e->decl.schema = text;
			text = dkc_put_full(text, l, name, len) - 1;
			memcpy(text, inferred, schema_len - len);
		}
		e->impl.op = &e->decl;
	}
	return e;
}

static int dkc_entry_key(struct dkc_entry *e, struct dk_diag *why)
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

/* From here on it can be released. */
static void dkc_entry_link(struct dkc_entry *e, struct dk_handle *h)
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

/* Undo one registration; the lock is held, and @ch is the caller's to force. */
static void dkc_entry_withdraw(struct dkc_entry *e, struct dkc_change *ch)
{
	struct dkc_library *l = e->lib;
	struct dk_op *op;

	*e->link = e->next;
	if (e->next)
		e->next->link = e->link;
	else
		l->last = e->link;
	if (e->handle && l->prov->pub)
		e->handle->core = NULL;
	if (e->defines) {
		op = dkc_op_find(l->prov->reg, e->decl.name);
		/* dk_op_undefine() may have been first */
		if (op && op->decl == &e->decl) {
			dkc_op_undefine(op);
			dkc_change_add(ch, op);
		}
	}
	if (e->block)
		dkc_block_withdraw(e->block, ch);
	else
		dkc_retire(e);
}

/* The lock, and the library if it is registered. */
static int dkc_library_lock(struct dk_library *lib, struct dkc_provider **core,
			    struct dk_handle *h, struct dk_diag *why)
{
	int err = dkc_provider_lock(lib->prov, core, why);

	if (err)
		return err;
	if (!lib->core)
		err = dkc_lib_refuse(why, DK_WHY_LIBRARY_UNREGISTERED, "library", lib);
	else if (h && h->core)
		err = dkc_lib_refuse(why, DK_WHY_HANDLE, "handle", lib);
	if (err)
		dkc_mutex_unlock(&(*core)->reg->lock);
	return err;
}

/* The function that comes with a definition, which is being made in @ch. */
static int dkc_entry_block(struct dkc_entry *e, unsigned int flags,
			   struct dkc_change *ch, struct dk_diag *why)
{
	struct dkc_provider *core = e->lib->prov;
	int err = 0;

	e->block = dkc_block_make(core, &e->impl, 1, 0, NULL, core->priv, ch, why, &err);
	return e->block ? dkc_check_suits(&e->decl, flags, &e->impl, why) : err;
}

/* Define, with a function or without one: all is published in one change. */
static int dkc_entry_def(struct dkc_entry *e, unsigned int flags, bool has_impl,
			 bool inferred, struct dk_diag *why)
{
	struct dkc_provider *core = e->lib->prov;
	struct dkc_change ch = { .ops = NULL };
	struct dkc_op_def def;
	int err;

	/* C knows an operator by its signature; one by name alone says nothing */
	if (has_impl && !e->decl.schema && !e->decl.sig)
		return dkc_refuse(why, DK_WHY_SCHEMA_INFER, e->decl.name);
	if (inferred && !e->decl.alias_analysis)
		e->decl.alias_analysis = DK_ALIAS_CONSERVATIVE;
	err = dkc_check_decl(&e->decl, flags, why);
	if (!err)
		err = dkc_op_define_begin(core, &e->decl, flags, &def, &ch, why);
	if (err)
		return err;
	if (has_impl)
		err = dkc_entry_block(e, flags, &ch, why);
	if (!err && dkc_change_prepare(&ch))
		err = dkc_refuse(why, DK_WHY_NO_MEMORY, e->decl.name);
	if (err) {
		dkc_change_cancel(&ch);
		if (e->block)
			dkc_block_undo(e->block);
		e->block = NULL;
		dkc_op_define_cancel(&def);
		return err;
	}
	dkc_op_define_end(core, &def);
	if (e->block) {
		dkc_tell_override(e->block, why);
		dkc_block_publish(e->block, &ch);
	} else {
		dkc_change_commit(&ch);
	}
	return 0;
}

/* Keep the entry, if there is one, or give it back; and the lock. */
static void dkc_entry_end(struct dk_registry *reg, struct dkc_entry *e,
			  struct dk_handle *h, int err)
{
	if (!err)
		dkc_entry_link(e, h);
	else if (e)
		dkc_retire(e);
	dkc_mutex_unlock(&reg->lock);
	dkc_flush_retired();
	dkc_news_tell(reg);
}

static int dkc_library_def(struct dk_library *lib, const struct dk_op_decl *decl,
			   unsigned int flags, const struct dk_impl *impl,
			   struct dk_handle *h, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dkc_entry *e = NULL;
	int err;

	if (decl->size != sizeof(*decl))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_op_decl");
	err = dkc_library_lock(lib, &core, h, why);
	if (err)
		return err;
	if (lib->core->kind == DK_LIBRARY_IMPL)
		err = dkc_lib_refuse(why, DK_WHY_LIBRARY_IMPL,
				     decl->name ? decl->name : "def", lib);
	else
		e = dkc_entry_new(lib->core, decl, impl, true, why, &err);
	if (e && impl)
		err = dkc_entry_key(e, why);
	if (!err)
		err = dkc_entry_def(e, flags, impl, !decl->schema, why);
	if (!err)
		e->defines = true;
	dkc_entry_end(core->reg, e, h, err);
	return err;
}

int dk_library_def(struct dk_library *lib, const struct dk_op_decl *decl,
		   unsigned int flags, struct dk_handle *h, struct dk_diag *why)
{
	return dkc_library_def(lib, decl, flags, NULL, h, why);
}

int dk_library_def_impl(struct dk_library *lib, const struct dk_op_decl *decl,
			unsigned int flags, const struct dk_impl *impl,
			struct dk_handle *h, struct dk_diag *why)
{
	return dkc_library_def(lib, decl, flags, impl, h, why);
}

int dk_library_impl(struct dk_library *lib, const struct dk_impl *impl,
		    struct dk_handle *h, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dkc_entry *e;
	int err;

	if (!impl->op || impl->op->size != sizeof(*impl->op))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_op_decl");
	err = dkc_library_lock(lib, &core, h, why);
	if (err)
		return err;
	e = dkc_entry_new(lib->core, impl->op, impl, false, why, &err);
	if (e)
		err = dkc_entry_key(e, why);
	if (!err)
		e->block = dkc_table_add(core, 0, &e->impl, 1, why, &err);
	dkc_entry_end(core->reg, e, h, err);
	return err;
}

int dk_library_fallback(struct dk_library *lib, const struct dk_impl *impl,
			struct dk_handle *h, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dkc_entry *e = NULL;
	int err = dkc_library_lock(lib, &core, h, why);

	if (err)
		return err;
	if (lib->core->kind != DK_LIBRARY_IMPL)
		err = dkc_lib_refuse(why, DK_WHY_LIBRARY_FALLBACK, "fallback", lib);
	else if (*lib->core->ns)
		err = dkc_lib_refuse(why, DK_WHY_FALLBACK_NAMESPACE, lib->core->ns, lib);
	else
		e = dkc_entry_new(lib->core, NULL, impl, false, why, &err);
	/* its own key counts, as in PyTorch */
	if (e && !e->impl.key)
		e->impl.key = lib->core->key;
	if (!err)
		e->block = dkc_fallback_add(core, &e->impl, why, &err);
	dkc_entry_end(core->reg, e, h, err);
	return err;
}

/* ---- leaving ------------------------------------------------------------------ */

static void dkc_library_withdraw(struct dkc_library *l, struct dkc_change *ch)
{
	struct dkc_library **p = &l->prov->libraries;

	while (l->first)
		dkc_entry_withdraw(l->first, ch);
	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
	if (l->prov->pub)
		l->pub->core = NULL;
	dkc_free(l);
}

/* All of a provider's, who leaves. */
void dkc_libraries_withdraw(struct dkc_provider *prov, struct dkc_change *ch)
{
	while (prov->libraries)
		dkc_library_withdraw(prov->libraries, ch);
}

int dk_library_unregister(struct dk_library *lib)
{
	struct dkc_change ch = { .ops = NULL };
	struct dkc_provider *core;
	struct dk_registry *reg;
	int err = dkc_provider_lock_leaving(lib->prov, &core, NULL);

	if (!core)
		return err;
	reg = core->reg;
	/* where it has been taken out already, calls may still be inside */
	if (lib->core)
		dkc_library_withdraw(lib->core, &ch);
	dkc_change_force(&ch);
	dkc_provider_wait(core, dkc_all);
	dkc_news_tell(reg);
	return 0;
}

int dk_handle_release(struct dk_library *lib, struct dk_handle *h)
{
	struct dkc_change ch = { .ops = NULL };
	struct dkc_provider *core;
	struct dk_registry *reg;
	struct dkc_block *b;
	int err = dkc_provider_lock_leaving(lib->prov, &core, NULL);

	if (!core)
		return err;
	reg = core->reg;
	/* we wait for the calls of this library's provider, and of no other */
	if (h->core && h->core->lib != lib->core) {
		dkc_mutex_unlock(&reg->lock);
		return -ENOENT;
	}
	if (!h->core) {
		dkc_provider_wait(core, dkc_all);
		return 0;
	}
	b = h->core->block;
	dkc_entry_withdraw(h->core, &ch);
	dkc_change_force(&ch);
	if (b) {
		dkc_provider_wait(core, (struct dkc_target){ .block = b });
	} else {
		dkc_mutex_unlock(&reg->lock);
		dkc_flush_retired();
	}
	dkc_news_tell(reg);
	return 0;
}
