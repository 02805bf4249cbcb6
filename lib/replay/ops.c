// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Runs the commands for operators, functions and tables. */
#include "internal.h"

/* Withdrawn registrations are freed in batches of this size, after one drain for all of them. */
#define DRAIN_AT	1024

/* A placeholder: transcripts compute routes and never call functions. */
static int never_called(struct dk_call *c, void *args)
{
	(void)c;
	(void)args;
	return -ENOSYS;
}

struct dk_op *dk_replay_op_get(struct dk_replay *r, const char *name)
{
	struct dk_op *op = NULL;

	if (!dk_replay_need_registry(r)) {
		op = dk_op_get(r->reg, name);
		if (!op)
			dk_replay_reason(r, -ENOENT, DK_WHY_NO_OPERATOR, name);
	}
	return op;
}

/* Backend fallbacks have no operator and share a bucket. */
static unsigned int bucket(const char *op)
{
	u32 hash = 2166136261u;

	for (; op && *op; op++)
		hash = (hash ^ (unsigned char)*op) * 16777619u;
	return (hash ^ hash >> 16) % DK_REPLAY_BUCKETS;
}

/* ---- definitions ---------------------------------------------------------- */

/* Returns the size of a copy of @s with its NUL, or 0 if @s is NULL. */
static size_t copy_size(const char *s)
{
	return s ? dk_replay_len(s) + 1 : 0;
}

/* Copies @s to *@at, and advances *@at. */
static const char *copy(char **at, const char *s)
{
	char *to = *at;

	if (!s)
		return NULL;
	memcpy(to, s, copy_size(s));
	*at += copy_size(s);
	return to;
}

static int alias_analysis(struct dk_replay *r, const char *word, __u32 *kind)
{
	static const char *const names[] = {
		[DK_ALIAS_FROM_SCHEMA] = "FROM_SCHEMA",
		[DK_ALIAS_CONSERVATIVE] = "CONSERVATIVE",
		[DK_ALIAS_PURE_FUNCTION] = "PURE_FUNCTION",
		[DK_ALIAS_INTERNAL_SPECIAL_CASE] = "INTERNAL_SPECIAL_CASE",
	};

	*kind = DK_ALIAS_DEFAULT;
	if (!word)
		return 0;
	for (*kind = 1; *kind < ARRAY_SIZE(names); ++*kind) {
		if (dk_replay_eq(word, names[*kind]))
			return 0;
	}
	return dk_replay_refuse(r, -EINVAL,
				"the kinds are FROM_SCHEMA, CONSERVATIVE, PURE_FUNCTION and INTERNAL_SPECIAL_CASE",
				word, dk_replay_len(word));
}

DK_REPLAY_RUN(op)
{
	const char *schema = dk_replay_value(w, 's'), *debug = dk_replay_value(w, 'g');
	struct dk_replay_op *op, **at = &r->ops[bucket(w->arg[0])];
	int err = dk_replay_need_registry(r);
	char *text;
	__u32 kind;

	if (!err)
		err = alias_analysis(r, dk_replay_value(w, 'a'), &kind);
	if (err)
		return err;
	op = kvzalloc(sizeof(*op) + copy_size(w->arg[0]) + copy_size(schema) + copy_size(debug),
		      GFP_KERNEL);
	if (!op)
		return dk_replay_reason(r, -ENOMEM, DK_WHY_NO_MEMORY, "");
	text = (char *)(op + 1);
	op->decl.size = sizeof(op->decl);
	op->decl.call_abi = DK_ABI_VERSION;
	op->decl.name = copy(&text, w->arg[0]);
	op->decl.schema = copy(&text, schema);
	op->decl.debug = copy(&text, debug);
	op->decl.alias_analysis = kind;
	err = dk_op_define(&r->prov, &op->decl, 0, &r->why);
	if (err) {
		kvfree(op);
		return err;
	}
	op->next = *at;
	*at = op;
	return 0;
}

/* Removes the definition, if there is one, and frees its memory at once. */
static int undefine(struct dk_replay *r, const char *name, unsigned int *dropped)
{
	struct dk_replay_op **at = &r->ops[bucket(name)], *op;
	int err;

	while (*at && !dk_replay_eq((*at)->decl.name, name))
		at = &(*at)->next;
	op = *at;
	if (!op)
		return 0;
	err = dk_op_undefine(&r->prov, name, &r->why);
	if (err)
		return err;
	*at = op->next;
	kvfree(op);
	++*dropped;
	return 0;
}

/* ---- registrations -------------------------------------------------------- */

struct dk_replay_impl *dk_replay_impl_alloc(const char *op, unsigned int key,
					    const char *label, const char *schema,
					    unsigned int flags)
{
	struct dk_replay_impl *i = kvzalloc(sizeof(*i) + copy_size(op) + copy_size(label) +
					    copy_size(schema), GFP_KERNEL);
	char *text = (char *)(i + 1);

	if (!i)
		return NULL;
	if (op) {
		i->decl.size = sizeof(i->decl);
		i->decl.call_abi = DK_ABI_VERSION;
		i->decl.name = copy(&text, op);
		i->impl.op = &i->decl;
	}
	i->impl.label = copy(&text, label);
	i->impl.schema = copy(&text, schema);
	i->impl.key = key;
	i->impl.size = sizeof(i->impl);
	/* as in PyTorch, building blocks are allowed as keys */
	i->impl.flags = flags | (op ? DK_IMPL_F_BLOCK : 0);
	if (!(flags & DK_IMPL_F_FALLTHROUGH))
		i->impl.fn = (dk_fn_t)never_called;
	return i;
}

void dk_replay_impls_free(struct dk_replay_impl *list)
{
	struct dk_replay_impl *next;

	for (; list; list = next) {
		next = list->next;
		kvfree(list);
	}
}

static void drain(struct dk_replay *r)
{
	if (dk_provider_drain(&r->prov))
		return;		/* retried by the next drain */
	dk_replay_impls_free(r->withdrawn);
	r->withdrawn = NULL;
	r->num_withdrawn = 0;
}

static bool matches(const struct dk_replay_impl *i, const char *label,
		    const char *op)
{
	if (!op)
		return dk_replay_eq(i->impl.label, label);
	return i->impl.op && dk_replay_eq(i->impl.op->name, op);
}

static int withdraw_from(struct dk_replay *r, struct dk_replay_impl **at,
			 const char *label, const char *op, unsigned int *dropped)
{
	struct dk_replay_impl *i;
	int err;

	while ((i = *at)) {
		if (!matches(i, label, op)) {
			at = &i->next;
			continue;
		}
		err = dk_impls_withdraw(&r->prov, &i->impl, &r->why);
		if (err)
			return err;
		*at = i->next;
		i->next = r->withdrawn;
		r->withdrawn = i;
		r->num_withdrawn++;
		++*dropped;
	}
	return 0;
}

/* Withdraws all registrations with this label or operator. */
static int withdraw(struct dk_replay *r, const char *label, const char *op,
		    unsigned int *dropped)
{
	unsigned int b = op ? bucket(op) : 0, last = op ? b : DK_REPLAY_BUCKETS - 1;
	int err;

	for (; b <= last; b++) {
		err = withdraw_from(r, &r->impls[b], label, op, dropped);
		if (err)
			return err;
	}
	if (r->num_withdrawn >= DRAIN_AT)
		drain(r);
	return 0;
}

/* Called after the provider is unregistered. */
void dk_replay_ops_clear(struct dk_replay *r)
{
	struct dk_replay_op *op, *next;
	unsigned int b;

	for (b = 0; b < DK_REPLAY_BUCKETS; b++) {
		for (op = r->ops[b]; op; op = next) {
			next = op->next;
			kvfree(op);
		}
		r->ops[b] = NULL;
		dk_replay_impls_free(r->impls[b]);
		r->impls[b] = NULL;
	}
	dk_replay_impls_free(r->withdrawn);
	r->withdrawn = NULL;
	r->num_withdrawn = 0;
}

/* Registers @i, or frees it on failure. */
static int register_impl(struct dk_replay *r, struct dk_replay_impl *i)
{
	struct dk_replay_impl **at;
	int err;

	if (i->impl.op)
		err = dk_impls_register(&r->prov, &i->impl, 1, &r->why);
	else
		err = dk_fallback_register(&r->prov, &i->impl, &r->why);
	if (err) {
		kvfree(i);
		return err;
	}
	at = &r->impls[bucket(i->impl.op ? i->impl.op->name : NULL)];
	i->next = *at;
	*at = i;
	return 0;
}

/* Refuses labels that would look like other answers of the command route. */
static int check_label(struct dk_replay *r, const char *label, bool is_fallthrough)
{
	const char *why = NULL;

	if (dk_replay_eq(label, "missing") || dk_replay_eq(label, "ambiguous"))
		why = "route prints this word instead of a function: use another label";
	else if (!is_fallthrough && dk_replay_eq(label, "fallthrough"))
		why = "use option -f for a fallthrough, or another label";
	return why ? dk_replay_refuse(r, -EINVAL, why, label, dk_replay_len(label)) : 0;
}

DK_REPLAY_RUN(impl)
{
	const char *device = dk_replay_value(w, 'd');
	struct dk_replay_impl *i;
	unsigned int key = DK_UNDEFINED;
	int err = dk_replay_need_registry(r);

	if (!err && !dk_replay_eq(w->arg[1], "-"))
		err = dk_replay_key(r, w->arg[1], &key);
	if (!err)
		err = check_label(r, w->arg[2], dk_replay_option(w, 'f'));
	if (err)
		return err;
	i = dk_replay_impl_alloc(w->arg[0], key, w->arg[2], dk_replay_value(w, 's'),
				 dk_replay_option(w, 'f') ? DK_IMPL_F_FALLTHROUGH :
				 dk_replay_option(w, 'u') ? 0 : DK_IMPL_F_BOXED);
	if (!i)
		return dk_replay_reason(r, -ENOMEM, DK_WHY_NO_MEMORY, "");
	return device ? dk_replay_device_impl(r, device, i) : register_impl(r, i);
}

DK_REPLAY_RUN(fallback)
{
	struct dk_replay_impl *i;
	unsigned int key;
	bool is_fallthrough;
	int err = dk_replay_need_registry(r);

	if (!err)
		err = dk_replay_key(r, w->arg[0], &key);
	if (!err)
		err = check_label(r, w->arg[1], true);
	if (err)
		return err;
	is_fallthrough = dk_replay_option(w, 'f') || dk_replay_eq(w->arg[1], "fallthrough");
	i = dk_replay_impl_alloc(NULL, key, w->arg[1], NULL,
				 is_fallthrough ? DK_IMPL_F_FALLTHROUGH : DK_IMPL_F_BOXED);
	if (!i)
		return dk_replay_reason(r, -ENOMEM, DK_WHY_NO_MEMORY, "");
	return register_impl(r, i);
}

static int drop(struct dk_replay *r, const char *label, const char *op,
		unsigned int *dropped)
{
	int err = dk_replay_need_registry(r);

	if (!err)
		err = withdraw(r, label, op, dropped);
	return err ? err : dk_replay_device_drop(r, label, op, dropped);
}

DK_REPLAY_RUN(undef)
{
	unsigned int dropped = 0;
	int err = drop(r, NULL, w->arg[0], &dropped);

	if (!err)
		err = undefine(r, w->arg[0], &dropped);
	if (!err && !dropped)
		err = dk_replay_reason(r, -ENOENT, DK_WHY_NO_OPERATOR, w->arg[0]);
	return err;
}

DK_REPLAY_RUN(drop)
{
	unsigned int dropped = 0;
	int err = drop(r, w->arg[0], NULL, &dropped);

	if (!err && !dropped)
		err = dk_replay_refuse(r, -ENOENT,
				       "nothing is registered under this label",
				       w->arg[0], dk_replay_len(w->arg[0]));
	return err;
}

/* ---- tables --------------------------------------------------------------- */

/* Puts LABEL/provenance, as one word. */
static void put_served_by(struct dk_replay *r, const struct dk_entry *e)
{
	const char *s;

	if (e->provenance == DK_PROV_AMBIGUOUS) {
		dk_replay_put(r, "ambiguous");
	} else if (e->is_fallthrough && e->provenance == DK_PROV_FALLBACK) {
		dk_replay_put(r, "fallthrough");
	} else {
		dk_replay_put(r, e->label);
		if (e->is_fallthrough)
			dk_replay_put(r, "(fallthrough)");
	}
	dk_replay_put(r, "/");
	for (s = dk_provenance_name(e->provenance); *s; s++)
		dk_replay_text_add(&r->answer, *s == ' ' ? "-" : s, 1);
}

/* True if two entries are printed alike and belong to one run. */
static bool same_run(const struct dk_entry *a, const struct dk_entry *b)
{
	if (a->is_fallthrough && b->is_fallthrough && a->provenance == DK_PROV_FALLBACK &&
	    b->provenance == DK_PROV_FALLBACK)
		return true;
	if ((a->provenance == DK_PROV_MISSING || a->provenance == DK_PROV_NO_ENTRY) &&
	    (b->provenance == DK_PROV_MISSING || b->provenance == DK_PROV_NO_ENTRY))
		return true;
	return a->provenance == b->provenance && a->is_fallthrough == b->is_fallthrough &&
	       (a->provenance == DK_PROV_MISSING || a->provenance == DK_PROV_NO_ENTRY ||
		a->provenance == DK_PROV_AMBIGUOUS || dk_replay_eq(a->label, b->label));
}

/* Prints the entries @first to @last, which are all printed like r->run. */
static void put_run(struct dk_replay *r, unsigned int first, unsigned int last)
{
	if (r->run.provenance == DK_PROV_MISSING || r->run.provenance == DK_PROV_NO_ENTRY)
		return;
	if (r->answer.len)
		dk_replay_put(r, " ");
	dk_replay_put_dec(r, first);
	if (last > first) {
		dk_replay_put(r, "..");
		dk_replay_put_dec(r, last);
	}
	dk_replay_put(r, "=");
	put_served_by(r, &r->run);
}

static int read_entry(struct dk_replay *r, struct dk_op *op, unsigned int slot)
{
	int err;

	r->entry.size = sizeof(r->entry);
	err = dk_op_entry(op, 0, slot, &r->entry);
	return err ? dk_replay_refuse(r, err, "this table cannot be read", "", 0) : 0;
}

static int runs(struct dk_replay *r, struct dk_op *op)
{
	unsigned int slot, first = 0, n = dk_layout_entries(r->layout);
	int err;

	for (slot = 0; slot < n; slot++) {
		err = read_entry(r, op, slot);
		if (err)
			return err;
		if (slot && same_run(&r->run, &r->entry))
			continue;
		if (slot)
			put_run(r, first, slot - 1);
		r->run = r->entry;
		first = slot;
	}
	put_run(r, first, n - 1);
	dk_replay_put(r, r->answer.len ? "\n" : "-\n");
	return 0;
}

DK_REPLAY_RUN(table)
{
	struct dk_op *op = dk_replay_op_get(r, w->arg[0]);
	int err;

	if (!op)
		return -ENOENT;
	err = dk_replay_option(w, 'c') ? runs(r, op) :
					 dk_replay_put_text(r, op, dk_op_dump_table);
	dk_op_put(op);
	return err;
}
