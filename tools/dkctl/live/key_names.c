// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Parses and prints keys and sets by the names that they have in the running kernel. Uses a local
 * registry, in which the private backends are bound to the same names as in the kernel.
 */
#include "live.h"
#include "replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the text of a layout file for a layout that is not built into this dkctl. */
static char *describe(const struct dk_nl_layout *l)
{
	const struct dk_nl_layout_key *k;
	struct text_stream t;
	FILE *f = text_begin(&t);

	if (!f)
		return NULL;
	fprintf(f, "layout %s\n", l->name);
	for (k = l->backends; k; k = k->next)
		fprintf(f, "backends %s\n", k->name);
	for (k = l->functionalities; k; k = k->next)
		fprintf(f, "functionalities %s%s\n", k->name, k->is_per_backend ? "*" : "");
	for (k = l->aliases; k; k = k->next)
		fprintf(f, "aliases %s\n", k->name);
	return text_end(&t, f) ? t.text : NULL;
}

static int find_layout(struct live *v)
{
	struct dk_diag why = { .size = sizeof(why) };
	const struct dk_nl_layout *l;
	int err = dk_nl_layout_get(client(v), &l);
	bool no_memory = false;
	char *text;

	if (err)
		return fail_kernel(v, err);
	v->layout = dk_layout_find(l->name, NULL);
	if (!v->layout) {
		text = describe(l);
		v->parsed = text ? dk_layout_parse(text, &why) : NULL;
		v->layout = v->parsed;
		no_memory = !text || (!v->parsed && why.reason == DK_WHY_NO_MEMORY);
		free(text);
	}
	err = v->layout ? STATUS_OK : no_memory ? fail_memory(v->q) :
	      fail(v->q, STATUS_KERNEL, l->name, NULL,
		   "this dkctl does not support the module's layout \"%.127s\": use a dkctl of the module's version",
		   l->name);
	dk_nl_free(l);
	return err;
}

/*
 * Binds the private backends to their names in a local registry. If the kernel's layout describes
 * no tables, there is no local registry, and keys have the names of the layout.
 */
static int bind_names(struct live *v)
{
	struct dk_diag why = { .size = sizeof(why) };
	const struct dk_nl_backend *b;
	unsigned int number;
	int err;

	v->names = dk_registry_alloc(v->layout, 0, &why);
	if (!v->names)
		return why.reason == DK_WHY_NO_MEMORY ? fail_memory(v->q) : STATUS_OK;
	v->prov = (struct dk_provider)DK_PROVIDER("dkctl");
	v->prov.layout = dk_layout_name(v->layout);
	v->prov.registry = v->names;
	err = dk_provider_register(&v->prov, NULL);
	if (err) {
		dk_registry_free(v->names, NULL);
		v->names = NULL;
	}
	for (b = err ? NULL : v->backends; b && err != -ENOMEM; b = b->next)
		if (b->is_bound)
			err = dk_backend_join(&v->prov, b->name, b->number, 0, &number, NULL);
	return err == -ENOMEM ? fail_memory(v->q) : STATUS_OK;
}

int names_begin(struct live *v)
{
	int status = v->layout ? STATUS_OK : find_layout(v);

	if (!status)
		status = need_backends(v);
	if (!status && !v->names)
		status = bind_names(v);
	return status;
}

void names_end(struct live *v)
{
	if (v->names) {
		dk_provider_unregister(&v->prov);
		dk_registry_free(v->names, NULL);
	}
	dk_layout_free(v->parsed);
}

const char *live_key_name(struct live *v, unsigned int key, char buf[DK_NAME_MAX])
{
	if (v->names)
		return dk_registry_key_name(v->names, key, buf);
	return dk_key_name(v->layout, key, buf);
}

const char *live_backend_name(struct live *v, unsigned int number, char buf[DK_NAME_MAX])
{
	const struct dk_nl_backend *b = v->backends;

	while (b && b->number != number)
		b = b->next;
	snprintf(buf, DK_NAME_MAX, "%s", b ? b->name : dk_backend_bit_name(v->layout, number));
	return buf;
}

static void suggest_private(struct live *v, struct suggestion *s)
{
	unsigned int key, n = dk_layout_keys(v->layout);
	const struct dk_nl_backend *b;
	char name[DK_NAME_MAX];

	for (b = v->backends; b; b = b->next) {
		for (key = 0; b->is_bound && key < n; key++) {
			if (dk_key_backend(v->layout, key) == b->number)
				suggest_try(s, live_key_name(v, key, name));
		}
	}
}

void suggest_live_set(struct live *v, struct suggestion *s)
{
	suggest_set(s, v->layout);
	suggest_private(v, s);
}

int parse_key(struct live *v, const char *word, unsigned int *key)
{
	struct suggestion s;

	if (!dk_key_parse(v->layout, word, 0, key, NULL) ||
	    (v->names && !dk_registry_key_parse(v->names, word, key, NULL)))
		return STATUS_OK;
	suggest_begin(&s, word);
	suggest_keys(&s, v->layout, true);
	suggest_private(v, &s);
	return fail(v->q, STATUS_BAD_INPUT, word, suggest_end(&s),
		    "the kernel has no dispatch key \"%.127s\"", word);
}

int parse_set(struct live *v, const char *word, struct dk_keyset *ks)
{
	struct dk_diag why = { .size = sizeof(why) };
	struct suggestion s;
	unsigned int key;

	if (!dk_replay_parse_set(v->layout, v->names, word, ks, &why))
		return STATUS_OK;
	if (!dk_key_parse(v->layout, why.name, 0, &key, NULL) &&
	    dk_key_kind(v->layout, key) == DK_KIND_ALIAS)
		return fail(v->q, STATUS_BAD_INPUT, why.name, NULL,
			    "\"%.127s\" is an alias key, which has no bits: \"dkctl alias %.127s\" lists its runtime keys",
			    why.name, why.name);
	suggest_begin(&s, why.name);
	suggest_live_set(v, &s);
	return fail(v->q, STATUS_BAD_INPUT, why.name, suggest_end(&s),
		    "the kernel has no dispatch key, backend or keyset \"%.127s\"", why.name);
}
