// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl backend: lists backends, switches them on and off, and releases their names. */
#include "live.h"

#include <string.h>

/* Returns the number of providers. An older module reports only those whose names it sends. */
static __u32 joined(const struct dk_nl_backend *b)
{
	return b->joined > b->num_providers ? b->joined : b->num_providers;
}

bool backend_in_use(const struct dk_nl_backend *b)
{
	return b->is_bound || b->devices || b->impls || joined(b) ||
	       b->state != DK_NL_STATE_ONLINE;
}

static void json(struct request *q, const struct dk_nl_backend *b)
{
	struct json j;

	json_begin(&j, stdout, q);
	json_array(&j, "backends");
	for (; b; b = b->next) {
		json_object(&j, NULL);
		json_string(&j, "name", b->name);
		json_uint(&j, "number", b->number);
		json_string(&j, "key", b->key_name);
		json_string(&j, "state", state_word(b->state));
		json_bool(&j, "bound", b->is_bound);
		json_bool(&j, "alone", b->is_alone);
		json_uint(&j, "devices", b->devices);
		json_uint(&j, "functions", b->impls);
		json_uint(&j, "joined", joined(b));
		json_names(&j, "providers", b->providers, b->num_providers);
		json_close(&j);
	}
	json_end(&j);
}

/* Lists the unused backends in one line. */
static void put_unused(const struct dk_nl_backend *list)
{
	const struct dk_nl_backend *b;
	unsigned int n = 0, i = 0;
	struct wrap w;

	for (b = list; b; b = b->next)
		n += !backend_in_use(b);
	if (!n)
		return;
	wrap_begin(&w, stdout, "unused:", 8);
	for (b = list; b; b = b->next) {
		if (!backend_in_use(b))
			wrap_word(&w, b->name, ++i < n ? "," : "");
	}
	wrap_end(&w);
}

static int text(struct live *v, const struct dk_nl_backend *list, bool all)
{
	static const struct column columns[] = {
		{ "backend", false }, { "key", false }, { "state", false },
		{ "devices", true }, { "functions", true }, { "providers", false },
		{ "", false },
	};
	const struct dk_nl_backend *b;
	struct columns l;
	int status;

	columns_begin(&l, columns, ARRAY_SIZE(columns));
	for (b = list; b; b = b->next) {
		if (!all && !backend_in_use(b))
			continue;
		columns_put(&l, COLOR_NONE, "%s", b->name);
		columns_put(&l, COLOR_NONE, "%s", b->key_name);
		columns_put(&l, state_color(b->state), "%s", state_word(b->state));
		columns_put(&l, COLOR_NONE, "%u", b->devices);
		columns_put(&l, COLOR_NONE, "%u", b->impls);
		put_names(&l, b->providers, b->num_providers, joined(b));
		columns_put(&l, COLOR_NONE, "%s", b->is_alone ? "alone" : "");
	}
	status = columns_end(v->q, &l);
	if (!status && !all)
		put_unused(list);
	return status;
}

static int show(struct live *v, const char *name)
{
	const struct dk_nl_backend *list;
	int err, status = STATUS_OK;

	err = name ? dk_nl_backend_get(client(v), 0, name, &list) :
		     dk_nl_backends(client(v), &list);
	if (err)
		return name ? fail_named(v, err, name, fail_backend) : fail_kernel(v, err);
	if (has_option(v, OPTION_JSON))
		json(v->q, list);
	else
		status = text(v, list, name || has_option(v, OPTION_STATISTICS));
	dk_nl_free(list);
	return status;
}

static int get_state(struct dk_nl *nl, __u32 number, __u32 *state)
{
	const struct dk_nl_backend *b;
	int err = dk_nl_backend_get(nl, number, NULL, &b);

	if (!err) {
		*state = b->state;
		dk_nl_free(b);
	}
	return err;
}

static const struct switchable backend = {
	"backend", false, "a backend name", dk_nl_backend_set_online, get_state, fail_backend,
};

/* ---- release -------------------------------------------------------------- */

static int released(struct live *v, const struct dk_nl_backend *b)
{
	struct json j;

	if (!has_option(v, OPTION_JSON)) {
		fputs("the name ", stdout);
		print_escaped(stdout, b->name, strlen(b->name));
		printf(" is released, %s is free\n", b->key_name);
		return STATUS_OK;
	}
	json_begin(&j, stdout, v->q);
	json_object(&j, "released");
	json_string(&j, "name", b->name);
	json_uint(&j, "number", b->number);
	json_string(&j, "key", b->key_name);
	json_end(&j);
	return STATUS_OK;
}

static int release(struct live *v)
{
	const struct dk_nl_backend *b;
	int err, status = STATUS_OK;
	const char *name = take_value(v, "release", "a backend name", &status);

	if (!status)
		status = expect_end(v, NULL);
	if (status)
		return status;
	err = dk_nl_backend_get(client(v), 0, name, &b);
	if (err)
		return fail_named(v, err, name, fail_backend);
	if (!b->is_bound)
		status = fail(v->q, STATUS_BAD_INPUT, name, NULL,
			      "backend \"%.127s\" has no private name to release",
			      b->name);
	else
		err = dk_nl_backend_release(client(v), b->name);
	if (!status)
		status = err ? fail_kernel(v, err) : released(v, b);
	dk_nl_free(b);
	return status;
}

int live_backend(struct live *v)
{
	static const char *const words[] = { "show", "set", "release", NULL };
	const char *name;
	int status;

	if (take(v, "set"))
		return run_set(v, &backend);
	if (take(v, "release"))
		return release(v);
	name = take_name(v, take_show(v), words);
	status = name ? expect_no_state(v) : STATUS_OK;
	if (!status)
		status = expect_end(v, words);
	return status ? status : show(v, name);
}
