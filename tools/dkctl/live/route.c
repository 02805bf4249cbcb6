// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl route: prints where a call is routed, and why. */
#include "live.h"
#include "../table_grid.h"
#include "replay.h"
#include "format.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OBJECTS	64
/* Indentation of continuation lines. */
#define INDENT		9

struct call {
	struct live *v;
	struct dk_nl_call nl;
	struct dk_nl_obj objs[MAX_OBJECTS];
	const char *words[MAX_OBJECTS];
	const struct dk_nl_device *devices;	/* all devices */
	const struct dk_nl_route *route;
	const struct dk_nl_step *steps;
	struct dk_explain explain;
	FILE *text;				/* of the steps */
};

/* ---- parsing the call ------------------------------------------------------------- */

static struct dk_keyset dense(struct live *v, unsigned int backend)
{
	unsigned int key;

	if (dk_key_parse(v->layout, "Dense", 0, &key, NULL))
		return (struct dk_keyset){ 0 };
	return dk_key_set(v->layout, dk_runtime_key(v->layout, key, backend));
}

static void set_device(struct call *c, struct dk_nl_obj *obj, const struct dk_nl_device *d)
{
	obj->device = d->number;
	if (!obj->ks.bits)
		obj->ks = dense(c->v, d->backend);
}

/* Parses SET@DEVICE. */
static int parse_on_device(struct call *c, const char *word, const char *at,
			   struct dk_nl_obj *obj)
{
	const struct dk_nl_device *d = device_named(c->devices, at + 1);
	char *set;
	int status;

	if (at == word || !at[1])
		return fail(c->v->q, STATUS_BAD_INPUT, word, NULL,
			    "\"%.127s\" has no %s: use SET@DEVICE", word,
			    at == word ? "keyset before the @" : "device after the @");
	if (!d)
		return fail_device(c->v, at + 1);
	set = strndup(word, (size_t)(at - word));
	if (!set)
		return fail_memory(c->v->q);
	status = parse_set(c->v, set, &obj->ks);
	free(set);
	if (!status)
		set_device(c, obj, d);
	return status;
}

static int fail_argument(struct call *c, const char *word)
{
	const struct dk_nl_backend *b;
	const struct dk_nl_device *d;
	struct suggestion s;

	suggest_begin(&s, word);
	for (d = c->devices; d; d = d->next)
		suggest_try(&s, d->name);
	for (b = c->v->backends; b; b = b->next)
		suggest_try(&s, b->name);
	suggest_live_set(c->v, &s);
	return fail(c->v->q, STATUS_BAD_INPUT, word, suggest_end(&s),
		    "the kernel has no device, backend or keyset \"%.127s\"", word);
}

/* True if the word is neither a key nor a set, but could be a mistyped key. */
static bool is_mistyped(struct call *c, const char *word)
{
	struct dk_keyset ks;
	unsigned int key;

	return !strpbrk(word, "|,( ") && dk_key_parse(c->v->layout, word, 0, &key, NULL) &&
	       dk_replay_parse_set(c->v->layout, c->v->names, word, &ks, NULL);
}

static int parse_object(struct call *c, const char *word, struct dk_nl_obj *obj)
{
	const struct dk_nl_device *d = device_named(c->devices, word);
	const struct dk_nl_backend *b;
	const char *at = strchr(word, '@');

	if (d) {
		set_device(c, obj, d);
		return STATUS_OK;
	}
	if (at)
		return parse_on_device(c, word, at, obj);
	b = backend_named(c->v->backends, word);
	if (b) {
		obj->ks = dense(c->v, b->number);
		return STATUS_OK;
	}
	return is_mistyped(c, word) ? fail_argument(c, word) : parse_set(c->v, word, &obj->ks);
}

/* Parses a set, and adds it to that of the default local state. */
static int parse_local(struct call *c, const char *word, const char *constant,
		       struct dk_keyset *ks, __u32 *has)
{
	struct dk_keyset given, usual;
	int status = STATUS_OK;
	const char *set = take_value(c->v, word, "a keyset", &status);

	if (!set)
		return status;
	status = parse_set(c->v, set, &given);
	if (status)
		return status;
	if (!*has && !dk_constant_set(c->v->layout, constant, &usual, NULL))
		*ks = usual;
	*ks = dk_keyset_or(*ks, given);
	*has = 1;
	return STATUS_OK;
}

static int parse_word(struct call *c)
{
	struct live *v = c->v;

	if (!strcmp(*v->next, "include") && v->next++)
		return parse_local(c, "include", "default_included_set", &c->nl.included,
				   &c->nl.has_included);
	if (!strcmp(*v->next, "exclude") && v->next++)
		return parse_local(c, "exclude", "default_excluded_set", &c->nl.excluded,
				   &c->nl.has_excluded);
	if (!strcmp(*v->next, "explain") && v->next++) {
		v->q->options |= OPTION_VERBOSE;
		return STATUS_OK;
	}
	if (c->nl.num_objs == MAX_OBJECTS)
		return fail(v->q, STATUS_BAD_INPUT, *v->next, NULL,
			    "\"%.127s\" is one argument too many: route accepts at most %u",
			    *v->next, MAX_OBJECTS);
	c->words[c->nl.num_objs] = *v->next;
	return parse_object(c, *v->next++, &c->objs[c->nl.num_objs++]);
}

static int parse_call(struct call *c)
{
	struct live *v = c->v;
	int status = STATUS_OK, err;

	if (!v->next[0] || !v->next[1])
		return fail(v->q, STATUS_BAD_INPUT, "ARG", NULL,
			    "route needs an operator and its arguments, as in \"dkctl route aten::add.Tensor CPU\"");
	c->nl.size = sizeof(c->nl);
	c->nl.objs = c->objs;
	c->nl.op = *v->next++;
	err = dk_nl_devices(client(v), 0, &c->devices);
	if (err)
		return fail_kernel(v, err);
	status = names_begin(v);
	while (!status && *v->next)
		status = parse_word(c);
	return status;
}

/* ---- the route as a sentence ------------------------------------------------------ */

/* Prints the call, such as "demo::add(edu0, CPU) excluding Tracer". */
static void put_call(FILE *f, const struct call *c)
{
	static const struct {
		const char *typed;
		const char *said;
	} sets[] = { { "include", "including" }, { "exclude", "excluding" } };
	const struct request *q = c->v->q;
	size_t w;
	__u32 i;
	int n;

	fputs(c->nl.op, f);
	fputc('(', f);
	for (i = 0; i < c->nl.num_objs; i++) {
		if (i)
			fputs(", ", f);
		fputs(c->words[i], f);
	}
	fputc(')', f);
	for (w = 0; w < ARRAY_SIZE(sets); w++) {
		for (n = 1; n + 1 < q->num_args; n++) {
			if (!strcmp(q->args[n], sets[w].typed))
				fprintf(f, " %s %s", sets[w].said, q->args[n + 1]);
		}
	}
}

static const struct {
	int error;
	const char *name;
	const char *why;
} refusals[] = {
	{ -ENOSYS, "ENOSYS", "nothing serves" },
	{ -ENOTUNIQ, "ENOTUNIQ", "it is ambiguous which function serves" },
	{ -ENODEV, "ENODEV", "the device is gone or offline, and nothing else serves" },
	{ -EXDEV, "EXDEV", "the arguments are on several devices in" },
	{ -ESHUTDOWN, "ESHUTDOWN", "the dispatcher is shut down and does not serve" },
};

/* Prints the route. If the call would fail, the sentence ends with the errno. */
static void put_sentence(FILE *f, const struct call *c)
{
	const struct dk_nl_route *r = c->route;
	size_t i;

	if (r->error == -ENOENT) {
		fprintf(f, "%s is not defined: a call returns -ENOENT", c->nl.op);
		return;
	}
	for (i = 0; r->error && i < ARRAY_SIZE(refusals); i++) {
		if (r->error != refusals[i].error)
			continue;
		fprintf(f, "%s ", refusals[i].why);
		put_call(f, c);
		fprintf(f, ": a call returns -%s", refusals[i].name);
		return;
	}
	put_call(f, c);
	if (r->error) {
		fprintf(f, " is refused: %s", strerror(-r->error));
		return;
	}
	fprintf(f, " goes to %s", r->label);
	if (*r->device_name)
		fprintf(f, "@%s", r->device_name);
	if (*r->provider)
		fprintf(f, " of %s", r->provider);
	fprintf(f, " [%s]", rule_word(r->provenance));
	if (r->flags & DK_NL_IMPL_FALLTHROUGH)
		fputs(", a fallthrough", f);
}

static int print_sentence(struct call *c)
{
	struct text_stream t;
	FILE *f = text_begin(&t);
	int status;

	if (f)
		put_sentence(f, c);
	if (!f || !text_end(&t, f))
		return fail_memory(c->v->q);
	status = wrap_text(c->v->q, "", t.text);
	free(t.text);
	return status;
}

/* ---- the steps, in the format of a transcript ------------------------------------- */

/* Collects the text. */
static void explain_put(struct dk_format *t, const char *s, size_t len)
{
	struct call *c = t->ctx;

	for (; len; s++, len--)
		fprintf(c->text, (*s >= 0x20 && *s < 0x7f) || *s == '\n' ? "%c" : "\\x%02x",
			(unsigned char)*s);
}

static const char *explain_key(struct dk_format *t, unsigned int key, char buf[DK_NAME_MAX])
{
	struct call *c = t->ctx;

	return live_key_name(c->v, key, buf);
}

static const char *explain_backend(struct dk_format *t, unsigned int backend,
				   char buf[DK_NAME_MAX])
{
	struct call *c = t->ctx;

	return live_backend_name(c->v, backend, buf);
}

static void explain_object(struct dk_format *t, unsigned int i, struct dk_format_object *obj)
{
	struct call *c = t->ctx;
	const struct dk_nl_device *d = c->devices;

	memset(obj, 0, sizeof(*obj));
	obj->ks = c->objs[i].ks;
	while (d && d->number != c->objs[i].device)
		d = d->next;
	if (!d)
		return;
	obj->device = d->number;
	obj->device_name = d->name;
	obj->is_offline = d->state != DK_NL_STATE_ONLINE ||
			  d->backend_state != DK_NL_STATE_ONLINE;
}

/* Returns the device of the call: the device of the first argument on the set's highest backend. */
static __u32 device_of(const struct call *c)
{
	unsigned int b = dk_keyset_backend(c->v->layout, c->route->effective);
	const struct dk_nl_device *d;
	__u32 i;

	for (i = 0; i < c->nl.num_objs; i++) {
		for (d = c->devices; d; d = d->next) {
			if (d->number == c->objs[i].device && d->backend == b)
				return d->number;
		}
	}
	return 0;
}

static void copy_route(struct call *c)
{
	const struct dk_nl_route *r = c->route;
	struct dk_explain *ex = &c->explain;

	ex->size = sizeof(*ex);
	ex->device = device_of(c);
	ex->included = r->included;
	ex->excluded = r->excluded;
	ex->merged = r->merged;
	ex->generation = r->generation;
	ex->error = r->error;
	ex->route.slot = r->slot;
	ex->route.raw = r->raw;
	ex->route.effective = r->effective;
	ex->route.entry.provenance = (__u16)r->provenance;
}

static void copy_step(struct dk_step *to, const struct dk_nl_step *s)
{
	const struct dk_nl_impl *i = s->impl;

	memset(to, 0, sizeof(*to));
	to->size = sizeof(*to);
	to->kind = (__u16)s->kind;
	to->rule = (__u16)s->rule;
	to->verdict = (__u16)s->verdict;
	to->bearing = (__u16)s->bearing;
	to->key = (__u16)s->key;
	to->is_fallback = (__u8)s->is_fallback;
	if (!i)
		return;
	to->has_impl = 1;
	to->impl_key = (__u16)i->key;
	to->is_fallthrough = !!(i->flags & DK_NL_IMPL_FALLTHROUGH);
	to->device = i->device;
	snprintf(to->label, sizeof(to->label), "%s", i->label);
	snprintf(to->provider, sizeof(to->provider), "%s", i->provider);
	snprintf(to->device_name, sizeof(to->device_name), "%s", i->device_name);
}

static void format_steps(struct call *c)
{
	static const struct dk_format_ops ops = {
		.put = explain_put,
		.key_name = explain_key,
		.bit_name = explain_backend,
		.backend_name = explain_backend,
		.object = explain_object,
	};
	struct dk_format t = {
		.ops = &ops,
		.ctx = c,
		.layout = c->v->layout,
		.explain = &c->explain,
		.num_objects = c->nl.num_objs,
		.columns = (unsigned int)line_width(stdout),
	};
	const struct dk_nl_step *s;
	struct dk_step step;

	copy_route(c);
	dk_format_begin(&t);
	for (s = c->steps; s; s = s->next) {
		if (s->kind > DK_NL_STEP_IMPL)
			continue;	/* a step of a newer module */
		copy_step(&step, s);
		dk_format_step(&t, &step);
	}
}

static int print_steps(struct call *c)
{
	struct text_stream t;
	const char *line, *end;

	c->text = text_begin(&t);
	if (c->text)
		format_steps(c);
	if (!c->text || !text_end(&t, c->text))
		return fail_memory(c->v->q);
	putchar('\n');
	for (line = t.text; (end = strchr(line, '\n')); line = end + 1) {
		put_broken(stdout, line, (size_t)(end - line), INDENT);
		putchar('\n');
	}
	free(t.text);
	return STATUS_OK;
}

/* ---- JSON ------------------------------------------------------------------------- */

static void json_step(struct json *j, const struct dk_nl_step *s)
{
	json_object(j, NULL);
	json_string(j, "kind", dk_nl_word(DK_NL_WORDS_STEP_KIND, s->kind));
	if (s->kind != DK_NL_STEP_IMPL)
		json_uint(j, "rule", s->rule);
	if (s->kind == DK_NL_STEP_RULE)
		json_string(j, "verdict", dk_nl_word(DK_NL_WORDS_VERDICT, s->verdict));
	if (s->kind == DK_NL_STEP_IMPL)
		json_string(j, "bearing", dk_nl_word(DK_NL_WORDS_BEARING, s->bearing));
	json_name(j, "key", s->key_name);
	if (s->impl) {
		json_object(j, "registration");
		json_string(j, "key", s->impl->key_name);
		json_string(j, "function", s->impl->label);
		json_name(j, "provider", s->impl->provider);
		json_name(j, "device", s->impl->device_name);
		json_bool(j, "fallback", s->is_fallback);
		json_bool(j, "fallthrough", s->impl->flags & DK_NL_IMPL_FALLTHROUGH);
		json_close(j);
	}
	json_close(j);
}

static void json(struct call *c)
{
	const struct dk_nl_route *r = c->route;
	const struct dk_nl_step *s;
	struct json j;

	json_begin(&j, stdout, c->v->q);
	json_object(&j, "route");
	json_string(&j, "operator", r->op);
	json_name(&j, "function", r->label);
	json_name(&j, "provider", r->provider);
	json_name(&j, "device", r->device_name);
	json_bool(&j, "fallthrough", r->flags & DK_NL_IMPL_FALLTHROUGH);
	json_string(&j, "provenance", dk_nl_word(DK_NL_WORDS_PROVENANCE, r->provenance));
	json_uint(&j, "errno", (unsigned int)-r->error);
	json_string(&j, "key", r->key_name);
	json_uint(&j, "entry", r->slot);
	json_hex(&j, "arguments", r->raw.bits);
	json_hex(&j, "included", r->included.bits);
	json_hex(&j, "excluded", r->excluded.bits);
	json_hex(&j, "merged", r->merged.bits);
	json_hex(&j, "effective", r->effective.bits);
	json_uint(&j, "generation", r->generation);
	if (has_option(c->v, OPTION_VERBOSE)) {
		json_array(&j, "steps");
		for (s = c->steps; s; s = s->next)
			json_step(&j, s);
	}
	json_end(&j);
}

/* ---- the subcommand --------------------------------------------------------------- */

/* Returns the number of objects that a type holds: 0, 1, or UINT_MAX for any number. */
static unsigned int type_objects(const struct dk_type *type)
{
	bool is_list = false;

	for (; type->kind == DK_TYPE_OPTIONAL || type->kind == DK_TYPE_LIST; type = type->first)
		is_list |= type->kind == DK_TYPE_LIST;
	if (type->kind != DK_TYPE_NAME ||
	    (strcmp(type->name, "Tensor") != 0 && strcmp(type->name, "Generator") != 0))
		return 0;
	return is_list ? UINT_MAX : 1;
}

/* Returns the maximum number of objects of a call, by its schema; UINT_MAX for any number. */
static unsigned int max_objects(const char *text)
{
	unsigned int i, one, n = 0;
	struct dk_schema *s;

	if (!*text || dk_schema_parse(text, &s, NULL))
		return UINT_MAX;
	if (dk_schema_flags(s) & DK_SCHEMA_VARARG)
		n = UINT_MAX;
	for (i = 0; n != UINT_MAX && i < dk_schema_args(s); i++) {
		one = type_objects(dk_schema_argument(s, i)->type);
		n = one == UINT_MAX ? UINT_MAX : n + one;
	}
	dk_schema_free(s);
	return n;
}

/* Fails if the call has more arguments than the operator takes. */
static int check_count(struct call *c)
{
	const struct dk_nl_op *op;
	unsigned int most;
	char words[64];
	int err;

	err = dk_nl_op_get(client(c->v), c->nl.op, &op);
	if (err)
		return fail_named(c->v, err, c->nl.op, fail_op);
	most = op->max_objs ? op->max_objs : max_objects(op->schema);
	dk_nl_free(op);
	if (c->nl.num_objs <= most)
		return STATUS_OK;
	return fail(c->v->q, STATUS_BAD_INPUT, c->words[most], NULL,
		    "%.127s dispatches on %s: \"%.127s\" is one too many", c->nl.op,
		    plural(words, most, "argument", "arguments"), c->words[most]);
}

static int query(struct call *c)
{
	struct live *v = c->v;
	int err, status = STATUS_OK;

	if (has_option(v, OPTION_VERBOSE))
		err = dk_nl_explain(client(v), &c->nl, &c->route, &c->steps);
	else
		err = dk_nl_route_get(client(v), &c->nl, &c->route);
	/* -ENODEV: a device was removed after its name was looked up */
	if (err)
		return err == -ENODEV ? fail_kernel(v, err) : fail_named(v, err, c->nl.op, fail_op);
	if (has_option(v, OPTION_JSON))
		json(c);
	else
		status = print_sentence(c);
	if (!status && has_option(v, OPTION_VERBOSE) && !has_option(v, OPTION_JSON))
		status = print_steps(c);
	return !status && c->route->error ? STATUS_DIFFERS : status;
}

int live_route(struct live *v)
{
	struct call c = { .v = v };
	int status = parse_call(&c);

	if (!status)
		status = check_count(&c);
	if (!status)
		status = query(&c);
	dk_nl_free(c.route);
	dk_nl_free(c.steps);
	dk_nl_free(c.devices);
	return status;
}
