// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Implements the interpreter: its state, the table of commands, and errors. */
#include "internal.h"

static const struct dk_replay_verb verbs[] = {
	{ { "layout", "NAME", "start over with an empty registry of this layout" },
	  dk_replay_run_layout, NULL, 1, 1, false },
	{ { "stock", "", "start over with the fallthroughs of a default registry" },
	  dk_replay_run_stock, NULL, 0, 0, false },
	{ { "layout-info", "", "sizes, backends and functionalities" },
	  dk_replay_run_layout_info, NULL, 0, 0, false },
	{ { "key", "KEY", "value, set, index, functionality and backend" },
	  dk_replay_run_key, NULL, 1, 1, false },
	{ { "alias", "KEY", "the runtime keys of an alias key" },
	  dk_replay_run_alias, NULL, 1, 1, false },
	{ { "backends-of-autograd", "KEY", "the backends of an autograd key" },
	  dk_replay_run_backends_of_autograd, NULL, 1, 1, false },
	{ { "autograd-of-backend", "BIT", "the autograd keys of a backend" },
	  dk_replay_run_autograd_of_backend, NULL, 1, 1, false },
	{ { "autocast-of-backend", "BIT", "the autocast key of a backend" },
	  dk_replay_run_autocast_of_backend, NULL, 1, 1, false },
	{ { "full-after", "KEY", "the keys that remain when redispatching after a key" },
	  dk_replay_run_full_after, NULL, 1, 1, false },
	{ { "constant", "NAME", "one of PyTorch's named sets" },
	  dk_replay_run_constant, NULL, 1, 1, false },
	{ { "fresh", "[-i] KEY", "keyset of a fresh object (-i: inference mode)" },
	  dk_replay_run_fresh, "i", 1, 1, false },
	{ { "keyset", "SET", "properties of a set" },
	  dk_replay_run_keyset, NULL, 1, 1, false },
	{ { "or", "A B", "union of two sets" },
	  dk_replay_run_or, NULL, 2, 2, false },
	{ { "and", "A B", "intersection of two sets" },
	  dk_replay_run_and, NULL, 2, 2, false },
	{ { "sub", "A B", "A without the functionalities of B" },
	  dk_replay_run_sub, NULL, 2, 2, false },
	{ { "xor", "A B", "bits of exactly one of two sets" },
	  dk_replay_run_xor, NULL, 2, 2, false },
	{ { "remove", "A KEY", "A without the functionality of KEY" },
	  dk_replay_run_remove, NULL, 2, 2, false },
	{ { "remove-backend", "A BIT", "A without a backend" },
	  dk_replay_run_remove_backend, NULL, 2, 2, false },
	{ { "has", "A KEY", "does A have all bits of KEY?" },
	  dk_replay_run_has, NULL, 2, 2, false },
	{ { "has-any", "A B", "does A have a bit of B?" },
	  dk_replay_run_has_any, NULL, 2, 2, false },
	{ { "has-all", "A B", "does A have all bits of B?" },
	  dk_replay_run_has_all, NULL, 2, 2, false },
	{ { "is-backend-key", "KEY", "is the key a backend's key?" },
	  dk_replay_run_is_backend_key, NULL, 1, 1, false },
	{ { "parse", "[-s] NAME", "a key by name (-s: accept only PyTorch's names)" },
	  dk_replay_run_parse, "s", 1, 1, false },
	{ { "legacy-extract", "SET", "top key without autograd, autocast and modes" },
	  dk_replay_run_legacy_extract, NULL, 1, 1, false },
	{ { "backend-type", "SET", "top backend key" },
	  dk_replay_run_backend_type, NULL, 1, 1, false },
	{ { "compute-key", "DTYPE LAYOUT DEVICE",
	    "key of a tensor; - stands for a word that is not given" },
	  dk_replay_run_compute_key, NULL, 3, 3, false },
	{ { "key-for-device", "DEVICE", "key of a tensor on a device, such as cuda" },
	  dk_replay_run_key_for_device, NULL, 1, 1, false },
	{ { "translate", "FROM TO SET", "a set in another layout, and what is lost" },
	  dk_replay_run_translate, NULL, 3, 3, false },
	{ { "op", "[-s SCHEMA] [-g DEBUG] [-a KIND] NAME",
	    "define an operator (KIND: its alias analysis, such as FROM_SCHEMA)" },
	  dk_replay_run_op, "s:g:a:", 1, 1, false },
	{ { "undef", "NAME", "remove an operator and all its functions" },
	  dk_replay_run_undef, NULL, 1, 1, false },
	{ { "impl", "[-f] [-u] [-d DEVICE] [-s SCHEMA] OP KEY LABEL",
	    "register a function (-f: a fallthrough, -u: unboxed, - as KEY: the catch-all)" },
	  dk_replay_run_impl, "fud:s:", 3, 3, false },
	{ { "fallback", "[-f] KEY LABEL",
	    "register a backend fallback; with -f or the LABEL fallthrough, a fallthrough" },
	  dk_replay_run_fallback, "f", 2, 2, false },
	{ { "drop", "LABEL", "remove everything registered under a label" },
	  dk_replay_run_drop, NULL, 1, 1, false },
	{ { "table", "[-c] OP", "what serves each key (-c: ranges of entries in one line)" },
	  dk_replay_run_table, "c", 1, 1, false },
	{ { "dump", "OP", "all registrations, newest first at each key" },
	  dk_replay_run_dump, NULL, 1, 1, false },
	{ { "keys", "OP", "the keys that the table serves" },
	  dk_replay_run_keys, NULL, 1, 1, false },
	{ { "extractor", "OP", "arguments and keys that a boxed call dispatches on" },
	  dk_replay_run_extractor, NULL, 1, 1, false },
	{ { "ops", "[KEY]", "all operators; with KEY, those with a function at exactly this key" },
	  dk_replay_run_ops, NULL, 0, 1, false },
	{ { "dangling", "", "undefined operators that have functions" },
	  dk_replay_run_dangling, NULL, 0, 0, false },
	{ { "has-op", "OP", "is the operator defined, or does it have functions?" },
	  dk_replay_run_has_op, NULL, 1, 1, false },
	{ { "has-impl", "OP KEY", "is a function registered at exactly this key?" },
	  dk_replay_run_has_impl, NULL, 2, 2, false },
	{ { "has-impl-in", "OP SET", "is a function registered at a key of this set?" },
	  dk_replay_run_has_impl_in, NULL, 2, 2, false },
	{ { "is-served", "OP KEY", "does the table serve this key?" },
	  dk_replay_run_is_served, NULL, 2, 2, false },
	{ { "is-fallthrough", "OP KEY", "is a fallthrough registered at exactly this key?" },
	  dk_replay_run_is_fallthrough, NULL, 2, 2, false },
	{ { "has-fallback", "KEY", "does this key have a backend fallback?" },
	  dk_replay_run_has_fallback, NULL, 1, 1, false },
	{ { "check", "[OP]", "compare the published tables with the rules" },
	  dk_replay_run_check, NULL, 0, 1, false },
	{ { "missing", "OP SET", "a message like PyTorch's for a set that is not served" },
	  dk_replay_run_missing, NULL, 2, 2, false },
	{ { "ambiguous", "OP", "a message like PyTorch's for an ambiguous AutogradOther" },
	  dk_replay_run_ambiguous, NULL, 1, 1, false },
	{ { "backend", "NAME [KEY]", "join a private backend; with KEY, the one with this key" },
	  dk_replay_run_backend, NULL, 1, 2, false },
	{ { "device", "NAME BACKEND", "register a device of a backend" },
	  dk_replay_run_device, NULL, 2, 2, false },
	{ { "leave", "NAME", "unregister a device" },
	  dk_replay_run_leave, NULL, 1, 1, false },
	{ { "offline", "NAME", "take a device or a backend offline" },
	  dk_replay_run_offline, NULL, 1, 1, false },
	{ { "online", "NAME", "bring a device or a backend online again" },
	  dk_replay_run_online, NULL, 1, 1, false },
	{ { "local", "INC EXC", "replace the sets that calls include and exclude" },
	  dk_replay_run_local, NULL, 2, 2, false },
	{ { "include", "SET", "begin to include a set" },
	  dk_replay_run_include, NULL, 1, 1, false },
	{ { "exclude", "SET", "begin to exclude a set" },
	  dk_replay_run_exclude, NULL, 1, 1, false },
	{ { "end", "", "end the innermost include or exclude" },
	  dk_replay_run_end, NULL, 0, 0, false },
	{ { "tls", "", "print the sets that calls include and exclude" },
	  dk_replay_run_tls, NULL, 0, 0, false },
	{ { "route", "[-v] OP SET", "the route of a call with this set (-v: and why)" },
	  dk_replay_run_route, "v", 2, 2, false },
	{ { "call", "[-v] OP SET[@DEVICE]...", "the route of a call with these objects" },
	  dk_replay_run_call, "v", 1, 1, true },
};

#define NUM_VERBS ARRAY_SIZE(verbs)

const struct dk_replay_command *dk_replay_command(unsigned int i)
{
	return i < NUM_VERBS ? &verbs[i].help : NULL;
}

const struct dk_diag *dk_replay_why(const struct dk_replay *r)
{
	return &r->why;
}

const struct dk_layout *dk_replay_layout(const struct dk_replay *r)
{
	return r->layout;
}

struct dk_registry *dk_replay_registry(const struct dk_replay *r)
{
	return r->reg;
}

/* ---- errors --------------------------------------------------------------- */

static void set_name(struct dk_diag *why, const char *name, size_t len)
{
	if (len > sizeof(why->name))
		len = sizeof(why->name);
	memcpy(why->name, name, len);
	if (len == sizeof(why->name))
		/* do not cut in the middle of a character */
		while (--len && (why->name[len] & 0xc0) == 0x80)
			;
	why->name[len] = '\0';
}

int dk_replay_refuse(struct dk_replay *r, int err, const char *text,
		     const char *name, size_t name_len)
{
	set_name(&r->why, name, name_len);
	r->why.text = text;
	return err;
}

int dk_replay_reason(struct dk_replay *r, int err, enum dk_reason reason,
		     const char *name)
{
	r->why.reason = reason;
	return dk_replay_refuse(r, err, dk_reason_text(reason), name,
				dk_replay_len(name));
}

/* ---- parsing words -------------------------------------------------------- */

int dk_replay_key(struct dk_replay *r, const char *word, unsigned int *key)
{
	int err = dk_key_parse(r->layout, word, 0, key, &r->why);

	if (err && r->reg)
		err = dk_registry_key_parse(r->reg, word, key, &r->why);
	return err;
}

int dk_replay_bit(struct dk_replay *r, const char *word, unsigned int *backend)
{
	int err = dk_backend_bit_parse(r->layout, word, backend, &r->why);

	if (err && r->reg && !dk_backend_find(r->reg, word, backend, NULL))
		return 0;
	return err;
}

/* Parses the words of a set one by one, so that each may contain the private name of a backend. */
static int private_set(const struct dk_layout *l, struct dk_registry *reg,
		       const char *word, struct dk_keyset *ks, struct dk_diag *why)
{
	const char *whole = word;
	char name[DK_NAME_MAX];
	struct dk_keyset one;
	unsigned int key;
	size_t len;
	int err;

	ks->bits = 0;
	for (;; word += len + 1) {
		len = 0;
		while (word[len] && word[len] != '|' && word[len] != ',')
			len++;
		if (len >= sizeof(name))
			return -EINVAL;
		memcpy(name, word, len);
		name[len] = '\0';
		err = dk_keyset_parse(l, name, &one, why);
		if (err && !len && why)
			set_name(why, whole, dk_replay_len(whole));
		if (err && (dk_registry_key_parse(reg, name, &key, NULL) ||
			    dk_key_kind(l, key) == DK_KIND_ALIAS))
			return err;
		ks->bits |= err ? dk_key_set(l, key).bits : one.bits;
		if (!word[len])
			return 0;
	}
}

int dk_replay_parse_set(const struct dk_layout *l, struct dk_registry *reg,
			const char *word, struct dk_keyset *ks, struct dk_diag *why)
{
	int err = dk_keyset_parse(l, word, ks, why);

	return err && reg ? private_set(l, reg, word, ks, why) : err;
}

int dk_replay_set(struct dk_replay *r, const char *word, struct dk_keyset *ks)
{
	int err = dk_replay_parse_set(r->layout, r->reg, word, ks, &r->why);
	unsigned int key;

	if (!err || dk_key_parse(r->layout, r->why.name, 0, &key, NULL) ||
	    dk_key_kind(r->layout, key) != DK_KIND_ALIAS)
		return err;
	r->why.text = "an alias key has no bits; the command alias lists its runtime keys";
	return err;
}

/* ---- the registry --------------------------------------------------------- */

int dk_replay_need_registry(struct dk_replay *r)
{
	int err;

	if (r->reg)
		return 0;
	r->reg = dk_registry_alloc(r->layout, r->registry_flags |
				   (r->builtins ? DK_REGISTRY_BUILTINS : 0), &r->why);
	if (!r->reg)
		return r->why.reason == DK_WHY_NO_TABLE ? -EOPNOTSUPP : -ENOMEM;
	r->prov = (struct dk_provider)DK_PROVIDER("replay");
	r->prov.layout = dk_layout_name(r->layout);
	r->prov.registry = r->reg;
	err = dk_provider_register(&r->prov, &r->why);
	if (err) {
		dk_registry_free(r->reg, NULL);
		r->reg = NULL;
	}
	return err;
}

static void start_over(struct dk_replay *r, const struct dk_layout *l)
{
	if (r->reg) {
		dk_replay_devices_clear(r);
		dk_provider_unregister(&r->prov);
		dk_registry_free(r->reg, NULL);
		r->reg = NULL;
		dk_replay_ops_clear(r);
	}
	r->layout = l;
	r->builtins = false;
	dk_replay_local_reset(r);
}

const struct dk_layout *dk_replay_find_layout(struct dk_replay *r, const char *name)
{
	if (r->given && dk_replay_eq(name, dk_layout_name(r->given)))
		return r->given;
	return dk_layout_find(name, &r->why);
}

void dk_replay_use_layout(struct dk_replay *r, const struct dk_layout *l)
{
	r->given = l;
	start_over(r, l);
}

DK_REPLAY_RUN(layout)
{
	const struct dk_layout *l = dk_replay_find_layout(r, w->arg[0]);

	if (!l)
		return -ENOENT;
	start_over(r, l);
	return 0;
}

DK_REPLAY_RUN(stock)
{
	(void)w;
	start_over(r, r->layout);
	r->builtins = true;
	return dk_replay_need_registry(r);
}

struct dk_replay *dk_replay_alloc(unsigned int registry_flags,
				  dk_replay_emit_t emit, void *ctx)
{
	struct dk_replay *r = kvzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return NULL;
	r->emit = emit;
	r->ctx = ctx;
	r->registry_flags = registry_flags;
	start_over(r, dk_layout_find(DK_LAYOUT_NAME, NULL));
	return r;
}

void dk_replay_free(struct dk_replay *r)
{
	if (!r)
		return;
	start_over(r, r->layout);
	dk_replay_text_free(&r->line);
	dk_replay_text_free(&r->answer);
	kvfree(r);
}

/* ---- commands ------------------------------------------------------------- */

static int run(struct dk_replay *r, const char *line, size_t len)
{
	struct dk_replay_words w = { .n = 0 };
	char *rest, *name;
	unsigned int i;
	int err = dk_replay_check_line(r, line, len);

	if (err)
		return err;
	r->line.len = 0;
	r->line.failed = false;
	dk_replay_text_add(&r->line, line, len);
	if (r->line.failed)
		return dk_replay_reason(r, -ENOMEM, DK_WHY_NO_MEMORY, "");
	rest = r->line.buf;
	err = dk_replay_check_quotes(r, rest);
	if (err)
		return err;
	name = dk_replay_word(&rest);
	if (!name)
		return dk_replay_refuse(r, -EINVAL, "empty command", "", 0);
	for (i = 0; i < NUM_VERBS; i++) {
		if (!dk_replay_eq(name, verbs[i].help.name))
			continue;
		err = dk_replay_words(r, &verbs[i], rest, &w);
		return err ? err : verbs[i].run(r, &w);
	}
	return dk_replay_refuse(r, -EINVAL, "unknown command", name,
				dk_replay_len(name));
}

static void put_layouts(struct dk_replay *r)
{
	const char *before = "; the layouts are ", *name = NULL;

	while ((name = dk_layout_next(name))) {
		dk_replay_put(r, before);
		dk_replay_put(r, name);
		before = ", ";
	}
	dk_replay_put(r, "; \"dkctl replay -l FILE\" reads one from a file");
}

int dk_replay_line(struct dk_replay *r, const char *line, size_t len)
{
	static const char no_memory[] = "error: out of memory\n";
	struct dk_replay_text *t = &r->answer;
	int err;

	memset(&r->why, 0, sizeof(r->why));
	r->why.size = sizeof(r->why);
	t->len = 0;
	t->failed = false;
	err = run(r, line, len);
	if (err) {
		t->len = 0;
		dk_replay_put(r, "error: ");
		dk_replay_put(r, r->why.text ? r->why.text : "refused");
		if (r->why.name[0]) {
			dk_replay_put(r, ": ");
			dk_replay_put(r, r->why.name);
		}
		if (r->why.reason == DK_WHY_BAD_LAYOUT)
			put_layouts(r);
		dk_replay_put(r, "\n");
	}
	if (t->failed) {
		r->emit(r->ctx, no_memory, sizeof(no_memory) - 1);
		return -ENOMEM;
	}
	if (t->len)
		r->emit(r->ctx, t->buf, t->len);
	return err;
}
