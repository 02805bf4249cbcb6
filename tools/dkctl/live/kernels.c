// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl kernels: lists registered functions and backend fallbacks. */
#include "live.h"

static void json(struct request *q, const struct dk_nl_impl *i)
{
	struct json j;

	json_begin(&j, stdout, q);
	json_array(&j, "functions");
	for (; i; i = i->next) {
		json_object(&j, NULL);
		json_name(&j, "operator", i->op);
		json_impl(&j, i);
		json_close(&j);
	}
	json_end(&j);
}

/* True for a builtin fallback of the registry, which has neither operator nor provider. */
static bool is_builtin(const struct dk_nl_impl *i)
{
	return !*i->op && !*i->provider;
}

static int text(struct live *v, const struct dk_nl_impl *list)
{
	static const struct column columns[] = {
		{ "operator", false }, { "key", false }, { "function", false },
		{ "provider", false }, { "device", false }, { "", false },
	};
	unsigned long long n = 0, hidden = 0;
	const struct dk_nl_impl *i;
	char words[64];
	struct columns l;
	int status;

	columns_begin(&l, columns, ARRAY_SIZE(columns));
	for (i = list; i; i = i->next) {
		if (is_builtin(i) && !has_option(v, OPTION_STATISTICS)) {
			hidden++;
			continue;
		}
		columns_put(&l, COLOR_NONE, "%s", *i->op ? i->op : "(fallback)");
		put_impl(&l, i);
		n++;
	}
	status = columns_end(v->q, &l);
	if (status)
		return status;
	printf("%s", plural(words, n, "function", "functions"));
	if (hidden)
		printf(", and %s (-s lists them)",
		       plural(words, hidden, "built-in backend fallback",
			      "built-in backend fallbacks"));
	putchar('\n');
	return STATUS_OK;
}

/* Reads a filter and its value. Returns -1 if the next word is not a filter. */
static int take_filter(struct live *v, struct dk_nl_impl_filter *filter)
{
	int status = STATUS_OK;

	if (take(v, "op")) {
		filter->op = take_value(v, "op", "an operator name", &status);
	} else if (take(v, "key")) {
		status = take_key(v, &filter->key);
		filter->has_key = !status;
	} else if (take(v, "provider")) {
		filter->provider = take_value(v, "provider", "a provider name", &status);
	} else if (take(v, "backend")) {
		status = take_backend(v, &filter->backend);
	} else if (take(v, "device")) {
		status = take_device(v, &filter->device);
	} else {
		return -1;
	}
	return status;
}

int live_kernels(struct live *v)
{
	static const char *const words[] = {
		"op", "key", "backend", "provider", "device", NULL
	};
	struct dk_nl_impl_filter filter = { .size = sizeof(filter) };
	const struct dk_nl_impl *list;
	int status = STATUS_OK, err;

	take_show(v);
	while (*v->next && !status)
		status = take_filter(v, &filter);
	if (status <= 0)
		status = expect_end(v, words);
	if (status)
		return status;
	err = dk_nl_impls(client(v), &filter, &list);
	if (err)
		return fail_filtered(v, err, filter.op, filter.provider);
	if (!list)
		status = check_names(v, filter.op, filter.provider);
	if (status)
		return status;
	if (has_option(v, OPTION_JSON))
		json(v->q, list);
	else
		status = text(v, list);
	dk_nl_free(list);
	return status;
}
