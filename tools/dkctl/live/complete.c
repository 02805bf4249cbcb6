// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Completes names in the kernel. Prints nothing, and no message, without the module. */
#include "live.h"
#include "../complete.h"

#include <string.h>

static void put_backends_if(struct completion *c, struct dk_nl *nl,
			    bool (*is_candidate)(const struct dk_nl_backend *b))
{
	const struct dk_nl_backend *list = NULL, *b;
	char devices[64], functions[64];

	if (dk_nl_backends(nl, &list))
		return;
	for (b = list; b; b = b->next) {
		if (is_candidate(b))
			candidate_format(c, b->name, "%s, %s, %s", state_word(b->state),
					 plural(devices, b->devices, "device", "devices"),
					 plural(functions, b->impls, "function", "functions"));
	}
	dk_nl_free(list);
}

static void put_backends(struct completion *c, struct dk_nl *nl)
{
	put_backends_if(c, nl, backend_in_use);
}

static bool has_private_name(const struct dk_nl_backend *b)
{
	return b->is_bound;
}

static void put_private_names(struct completion *c, struct dk_nl *nl)
{
	put_backends_if(c, nl, has_private_name);
}

static void put_devices(struct completion *c, struct dk_nl *nl)
{
	const struct dk_nl_device *list = NULL, *d;

	if (dk_nl_devices(nl, 0, &list))
		return;
	for (d = list; d; d = d->next)
		candidate_format(c, d->name, "%s, a device of %s", state_word(d->state),
				 d->backend_name);
	dk_nl_free(list);
}

static void put_providers(struct completion *c, struct dk_nl *nl)
{
	const struct dk_nl_provider *list = NULL, *p;
	char operators[64], functions[64];

	if (dk_nl_providers(nl, &list))
		return;
	for (p = list; p; p = p->next)
		candidate_format(c, p->name, "%s, %s",
				 plural(operators, p->operators, "operator", "operators"),
				 plural(functions, p->impls, "function", "functions"));
	dk_nl_free(list);
}

static void put_ops(struct completion *c, struct dk_nl *nl)
{
	struct dk_nl_op_filter filter = { .size = sizeof(filter), .prefix = typed(c) };
	const struct dk_nl_op *list = NULL, *op;
	char functions[64];

	if (dk_nl_ops(nl, *typed(c) ? &filter : NULL, &list))
		return;
	for (op = list; op; op = op->next) {
		if (op->schema && *op->schema)
			candidate(c, op->name, op->schema);
		else
			candidate(c, op->name, plural(functions, op->num_impls, "function",
						      "functions"));
	}
	dk_nl_free(list);
}

static void put_limits(struct completion *c, struct dk_nl *nl)
{
	const struct dk_nl_limit *list = NULL, *m;

	if (dk_nl_limits(nl, &list))
		return;
	for (m = list; m; m = m->next) {
		if (m->has_used)
			candidate_format(c, m->name, "%llu of %llu used",
					 (unsigned long long)m->used, (unsigned long long)m->most);
		else
			candidate_format(c, m->name, "%llu", (unsigned long long)m->most);
	}
	dk_nl_free(list);
}

static const struct {
	const char *name;
	void (*put)(struct completion *c, struct dk_nl *nl);
} kinds[] = {
	{ "backend", put_backends },
	{ "device", put_devices },
	{ "op", put_ops },
	{ "provider", put_providers },
	{ "limits", put_limits },
	{ "release", put_private_names },
};

void live_candidates(struct completion *c, const char *kind)
{
	struct dk_nl *nl;
	size_t i;

	if (dk_nl_open(NULL, &nl, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kinds[i].name, kind))
			kinds[i].put(c, nl);
	}
	dk_nl_close(nl);
}

static void put_private_keys(struct completion *c, struct live *v)
{
	unsigned int key, n = dk_layout_keys(v->layout);
	const struct dk_nl_backend *b;
	char name[DK_NAME_MAX], what[400];

	for (b = v->backends; b; b = b->next) {
		for (key = 0; b->is_bound && key < n; key++) {
			if (dk_key_backend(v->layout, key) != b->number)
				continue;
			key_class(v->layout, key, what, sizeof(what));
			candidate(c, live_key_name(v, key, name), what);
		}
	}
}

void live_key_candidates(struct completion *c)
{
	struct request q = { .options = 0 };
	struct live v = { .q = &q };

	if (dk_nl_open(NULL, &v.nl, NULL))
		return;
	if (!names_begin(&v))
		put_private_keys(c, &v);
	names_end(&v);
	dk_nl_free(v.backends);
	dk_nl_close(v.nl);
}
