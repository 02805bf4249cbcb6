// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Prints "3 of 412 operators served by edu, 409 by CPU". Functions that redispatch, for example at
 * the keys Autogradedu or Tracer, are included only if no other function served the operator.
 */
#include "stats_summary.h"

#include <stdlib.h>
#include <string.h>

static struct stats_server *find_or_add_server(struct stats_summary *u, const char *name)
{
	struct stats_server *server;
	unsigned int i;

	for (i = 0; i < u->num; i++) {
		if (!strcmp(u->servers[i].name, name))
			return u->servers + i;
	}
	if (u->num == u->capacity) {
		u->capacity = u->capacity ? 2 * u->capacity : 32;
		server = realloc(u->servers, u->capacity * sizeof(*server));
		if (!server)
			return NULL;
		u->servers = server;
	}
	server = u->servers + u->num++;
	memset(server, 0, sizeof(*server));
	snprintf(server->name, sizeof(server->name), "%s", name);
	return server;
}

static bool is_composite(struct live *v, unsigned int key)
{
	char name[DK_NAME_MAX];

	return dk_key_kind(v->layout, key) == DK_KIND_ALIAS &&
	       !strncmp(dk_key_name(v->layout, key, name), "Composite", 9);
}

/* Returns the backend on which a function at @key computes, or 0 if there is none. */
static unsigned int computing_backend(struct live *v, unsigned int key)
{
	struct dk_keyset autograd;
	struct dk_keyset own = dk_key_set(v->layout, dk_key_functionality(v->layout, key));

	if (!dk_constant_set(v->layout, "autograd_dispatch_keyset", &autograd, NULL) &&
	    dk_keyset_has_any(autograd, own))
		return 0;
	return dk_key_backend(v->layout, key);
}

/* True if the function computes, false if it redispatches. */
static bool computes(struct live *v, const struct dk_nl_counter *c)
{
	return c->kind == DK_NL_STAT_MISSING || computing_backend(v, c->key) ||
	       is_composite(v, c->key);
}

/*
 * Formats the name under which calls to a composite function are counted. Such a function serves
 * all backends without a function of their own. The name is the provider or, without a provider,
 * the key. If a backend has the same name, the word "provider" is put before the name.
 */
static void name_composite(struct live *v, const struct dk_nl_counter *c, char *buf,
			   size_t size)
{
	const char *name = *c->provider ? c->provider : c->key_name;

	snprintf(buf, size, "%s%s", backend_named(v->backends, name) ? "provider " : "", name);
}

static void name_server(struct live *v, const struct dk_nl_counter *c, char *buf, size_t size)
{
	unsigned int b = computing_backend(v, c->key);
	char name[DK_NAME_MAX];

	if (c->kind == DK_NL_STAT_MISSING)
		buf[0] = '\0';
	else if (b)
		snprintf(buf, size, "%s%s", live_backend_name(v, b, name),
			 c->kind == DK_NL_STAT_FALLBACK ? "'s fallback" : "");
	else if (is_composite(v, c->key))
		name_composite(v, c, buf, size);
	else
		snprintf(buf, size, "%s%s%s", c->key_name, *c->provider ? " of " : "",
			 c->provider);
}

static bool count(struct live *v, struct stats_summary *u, const struct dk_nl_counter *c)
{
	char name[SERVER_NAME_MAX];
	struct stats_server *server;

	name_server(v, c, name, sizeof(name));
	server = find_or_add_server(u, name);
	if (!server)
		return false;
	server->calls += c->count;
	if (server->last_op != c->op)
		server->operators++;
	server->last_op = c->op;
	return true;
}

static int by_op(const void *a, const void *b)
{
	const struct dk_nl_counter *const *x = a, *const *y = b;

	return strcmp((*x)->op, (*y)->op);
}

/*
 * Counts one operator, which has the @n counters at @c. count() compares operators by the address
 * of their name, but each counter has its own copy of the name. So count() gets copies of the
 * counters that all point to one name.
 */
static bool count_op(struct live *v, struct stats_summary *u, const struct dk_nl_counter **c,
		     size_t n)
{
	struct dk_nl_counter one;
	bool any = false;
	size_t i;

	u->operators++;
	for (i = 0; i < n; i++)
		any = any || computes(v, c[i]);
	for (i = 0; i < n; i++) {
		one = *c[i];
		one.op = c[0]->op;
		if ((!any || computes(v, &one)) && !count(v, u, &one))
			return false;
	}
	return true;
}

/* Sorts private backends first, then by descending number of operators, "nothing" last. */
static int by_use(const void *a, const void *b)
{
	const struct stats_server *x = a, *y = b;

	if (!*x->name != !*y->name)
		return *x->name ? -1 : 1;
	if (x->is_private != y->is_private)
		return x->is_private ? -1 : 1;
	if (x->operators != y->operators)
		return x->operators > y->operators ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Marks the private backends, and adds the unused ones, which are listed with 0 operators. */
static bool add_private(struct live *v, struct stats_summary *u)
{
	const struct dk_nl_backend *b;
	struct stats_server *server;

	for (b = v->backends; b; b = b->next) {
		if (!b->is_bound)
			continue;
		server = find_or_add_server(u, b->name);
		if (!server)
			return false;
		server->is_private = true;
	}
	return true;
}

int stats_summary_begin(struct live *v, struct stats_summary *u, const struct dk_nl_counter *list)
{
	const struct dk_nl_counter *c, **sorted;
	size_t n = 0, i, first;
	bool done = true;

	for (c = list; c; c = c->next)
		n += c->has_count && c->count;
	sorted = calloc(n + 1, sizeof(*sorted));
	if (!sorted)
		return fail_memory(v->q);
	for (n = 0, c = list; c; c = c->next) {
		if (c->has_count && c->count)
			sorted[n++] = c;
	}
	qsort(sorted, n, sizeof(*sorted), by_op);
	for (first = 0, i = 1; done && first < n; i++) {
		if (i < n && !strcmp(sorted[first]->op, sorted[i]->op))
			continue;
		done = count_op(v, u, sorted + first, i - first);
		first = i;
	}
	free(sorted);
	if (!done || !add_private(v, u))
		return fail_memory(v->q);
	if (u->num)
		qsort(u->servers, u->num, sizeof(*u->servers), by_use);
	return STATUS_OK;
}

void stats_summary_end(struct stats_summary *u)
{
	free(u->servers);
	u->servers = NULL;
}

static bool put_server(const struct stats_server *server, char *buf, size_t size, bool with_calls)
{
	char *name = escape_text(*server->name ? server->name : "nothing");
	char words[64];

	if (!name)
		return false;
	if (with_calls)
		snprintf(buf, size, "%s (%s)", name,
			 plural(words, server->calls, "call", "calls"));
	else
		snprintf(buf, size, "%s", name);
	free(name);
	return true;
}

int stats_summary_print(struct request *q, const struct stats_summary *u, bool with_calls)
{
	char text[4 * SERVER_NAME_MAX + 32], part[4 * SERVER_NAME_MAX + 96];
	unsigned int i;
	struct wrap w;

	wrap_begin(&w, stdout, "", 0);
	for (i = 0; i < u->num; i++) {
		if (!put_server(u->servers + i, text, sizeof(text), with_calls))
			return fail_memory(q);
		if (i)
			snprintf(part, sizeof(part), "%llu by %s", u->servers[i].operators, text);
		else
			snprintf(part, sizeof(part), "%llu of %llu operators served by %s",
				 u->servers[i].operators, u->operators, text);
		wrap_word(&w, part, i + 1 < u->num ? "," : "");
	}
	wrap_end(&w);
	return STATUS_OK;
}
