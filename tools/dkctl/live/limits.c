// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl limits: lists the limits of the registry, and how much of each is used. */
#include "live.h"

#include <errno.h>

static void json(struct request *q, const struct dk_nl_limit *m)
{
	struct json j;

	json_begin(&j, stdout, q);
	json_array(&j, "limits");
	for (; m; m = m->next) {
		json_object(&j, NULL);
		json_string(&j, "name", m->name);
		json_uint(&j, "most", m->most);
		if (m->has_used)
			json_uint(&j, "used", m->used);
		else
			json_null(&j, "used");
		json_close(&j);
	}
	json_end(&j);
}

static int text(struct live *v, const struct dk_nl_limit *m)
{
	static const struct column columns[] = {
		{ "limit", false }, { "used", true }, { "most", true },
	};
	struct columns l;

	columns_begin(&l, columns, ARRAY_SIZE(columns));
	for (; m; m = m->next) {
		columns_put(&l, COLOR_NONE, "%s", m->name);
		if (m->has_used)
			columns_put(&l, m->used < m->most ? COLOR_NONE : COLOR_BAD, "%llu",
				    (unsigned long long)m->used);
		else
			columns_put(&l, COLOR_NONE, "-");
		columns_put(&l, COLOR_NONE, "%llu", (unsigned long long)m->most);
	}
	return columns_end(v->q, &l);
}

static int fail_limit(struct live *v, const char *name)
{
	const struct dk_nl_limit *list = NULL, *m;
	struct suggestion s;

	suggest_begin(&s, name);
	if (!dk_nl_limits(client(v), &list)) {
		for (m = list; m; m = m->next)
			suggest_try(&s, m->name);
		dk_nl_free(list);
	}
	return fail_name(v, "limit", "limits", name, &s);
}

int live_limits(struct live *v)
{
	static const char *const words[] = { "show", NULL };
	const struct dk_nl_limit *list;
	const char *name;
	int status, err;

	name = take_name(v, take_show(v), words);
	status = expect_end(v, words);
	if (status)
		return status;
	err = name ? dk_nl_limit_get(client(v), name, &list) : dk_nl_limits(client(v), &list);
	if (err)
		return name ? fail_named(v, err, name, fail_limit) : fail_kernel(v, err);
	if (has_option(v, OPTION_JSON))
		json(v->q, list);
	else
		status = text(v, list);
	dk_nl_free(list);
	return status;
}
