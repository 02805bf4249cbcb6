// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl provider: lists the providers. */
#include "live.h"

#include <string.h>

static const char *provider_state(__u32 state)
{
	return dk_nl_word(DK_NL_WORDS_PROVIDER_STATE, state);
}

static void json(struct request *q, const struct dk_nl_provider *p)
{
	struct json j;

	json_begin(&j, stdout, q);
	json_array(&j, "providers");
	for (; p; p = p->next) {
		json_object(&j, NULL);
		json_string(&j, "name", p->name);
		json_name(&j, "module", p->module);
		json_string(&j, "state", provider_state(p->state));
		json_uint(&j, "operators", p->operators);
		json_uint(&j, "functions", p->impls);
		json_uint(&j, "devices", p->devices);
		json_names(&j, "backends", p->backends, p->num_backends);
		if (p->has_calls)
			json_uint(&j, "calls", p->calls);
		else
			json_null(&j, "calls");
		json_names(&j, "inside", p->inside, p->num_inside);
		json_close(&j);
	}
	json_end(&j);
}

/* Prints the calls that unregistering a provider is waiting for. */
static void put_inside(const struct dk_nl_provider *p)
{
	__u32 i;

	for (; p; p = p->next)
		for (i = 0; i < p->num_inside; i++) {
			print_escaped(stdout, p->name, strlen(p->name));
			fputs(" is unregistering; waiting for a call to return: ", stdout);
			print_escaped(stdout, p->inside[i], strlen(p->inside[i]));
			putchar('\n');
		}
}

static int text(struct live *v, const struct dk_nl_provider *list)
{
	static const struct column columns[] = {
		{ "provider", false }, { "module", false }, { "state", false },
		{ "operators", true }, { "functions", true }, { "devices", true },
		{ "calls", true }, { "backends", false },
	};
	const struct dk_nl_provider *p;
	struct columns l;
	int status;

	if (!list)
		puts("no providers");
	columns_begin(&l, columns, ARRAY_SIZE(columns));
	for (p = list; p; p = p->next) {
		columns_put(&l, COLOR_NONE, "%s", p->name);
		columns_put(&l, COLOR_NONE, "%s", p->module);
		columns_put(&l, p->state == DK_NL_PROVIDER_REGISTERED ? COLOR_NONE : COLOR_BAD,
			    "%s", provider_state(p->state));
		columns_put(&l, COLOR_NONE, "%u", p->operators);
		columns_put(&l, COLOR_NONE, "%u", p->impls);
		columns_put(&l, COLOR_NONE, "%u", p->devices);
		if (p->has_calls)
			columns_put(&l, COLOR_NONE, "%llu", (unsigned long long)p->calls);
		else
			columns_put(&l, COLOR_NONE, "%s", "");
		put_names(&l, p->backends, p->num_backends, p->num_backends);
	}
	status = columns_end(v->q, &l);
	if (!status)
		put_inside(list);
	return status;
}

int live_provider(struct live *v)
{
	static const char *const words[] = { "show", NULL };
	const struct dk_nl_provider *list;
	const char *name;
	int status, err;

	name = take_name(v, take_show(v), words);
	status = expect_end(v, words);
	if (status)
		return status;
	err = name ? dk_nl_provider_get(client(v), name, &list) : dk_nl_providers(client(v), &list);
	if (err)
		return name ? fail_named(v, err, name, fail_provider) : fail_kernel(v, err);
	if (has_option(v, OPTION_JSON))
		json(v->q, list);
	else
		status = text(v, list);
	dk_nl_free(list);
	return status;
}
