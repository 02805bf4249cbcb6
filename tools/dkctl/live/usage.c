// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * "3 of 412 operators served by edu, 409 by CPU". Functions that hand calls on,
 * such as those at Autogradedu or Tracer, count only where nothing else has served.
 */
#include "usage.h"

#include <stdlib.h>
#include <string.h>

static struct usage_who *who_is(struct usage *u, const char *name)
{
	struct usage_who *who;
	unsigned int i;

	for (i = 0; i < u->num; i++) {
		if (!strcmp(u->who[i].name, name))
			return u->who + i;
	}
	if (u->num == u->room) {
		u->room = u->room ? 2 * u->room : 32;
		who = realloc(u->who, u->room * sizeof(*who));
		if (!who)
			return NULL;
		u->who = who;
	}
	who = u->who + u->num++;
	memset(who, 0, sizeof(*who));
	snprintf(who->name, sizeof(who->name), "%s", name);
	return who;
}

static bool is_composite(struct live *v, unsigned int key)
{
	char name[DK_NAME_MAX];

	return dk_key_kind(v->layout, key) == DK_KIND_ALIAS &&
	       !strncmp(dk_key_name(v->layout, key, name), "Composite", 9);
}

/* The backend that a function at a key computes on; 0 where it hands on. */
static unsigned int computing_backend(struct live *v, unsigned int key)
{
	struct dk_keyset autograd;
	struct dk_keyset own = dk_key_set(v->layout, dk_key_functionality(v->layout, key));

	if (!dk_constant_set(v->layout, "autograd_dispatch_keyset", &autograd, NULL) &&
	    dk_keyset_has_any(autograd, own))
		return 0;
	return dk_key_backend(v->layout, key);
}

/* Whether it computes, and does not hand on. */
static bool computes(struct live *v, const struct dk_nl_counter *c)
{
	return c->kind == DK_NL_STAT_MISSING || computing_backend(v, c->key) ||
	       is_composite(v, c->key);
}

/*
 * A composite function is not its backend's, also where its provider has one: it is
 * what serves when a card has no function. So it goes by its provider.
 */
static void name_composite(struct live *v, const struct dk_nl_counter *c, char *buf,
			   size_t size)
{
	const char *who = *c->provider ? c->provider : c->key_name;

	snprintf(buf, size, "%s%s", backend_named(v->backends, who) ? "provider " : "", who);
}

static void name_who(struct live *v, const struct dk_nl_counter *c, char *buf, size_t size)
{
	unsigned int b = computing_backend(v, c->key);
	char name[DK_NAME_MAX];

	if (c->kind == DK_NL_STAT_MISSING)
		buf[0] = '\0';
	else if (b)
		snprintf(buf, size, "%s%s", name_of_backend(v, b, name),
			 c->kind == DK_NL_STAT_FALLBACK ? "'s fallback" : "");
	else if (is_composite(v, c->key))
		name_composite(v, c, buf, size);
	else
		snprintf(buf, size, "%s%s%s", c->key_name, *c->provider ? " of " : "",
			 c->provider);
}

static bool count(struct live *v, struct usage *u, const struct dk_nl_counter *c)
{
	char name[USAGE_NAME_MAX];
	struct usage_who *who;

	name_who(v, c, name, sizeof(name));
	who = who_is(u, name);
	if (!who)
		return false;
	who->calls += c->count;
	if (who->last_op != c->op)
		who->operators++;
	who->last_op = c->op;
	return true;
}

static int by_op(const void *a, const void *b)
{
	const struct dk_nl_counter *const *x = a, *const *y = b;

	return strcmp((*x)->op, (*y)->op);
}

/* Counters of one operator; its name is that of the first, for all. */
static bool count_op(struct live *v, struct usage *u, const struct dk_nl_counter **c,
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

/* Private backends first, by falling number of operators, nothing last. */
static int by_use(const void *a, const void *b)
{
	const struct usage_who *x = a, *y = b;

	if (!*x->name != !*y->name)
		return *x->name ? -1 : 1;
	if (x->is_private != y->is_private)
		return x->is_private ? -1 : 1;
	if (x->operators != y->operators)
		return x->operators > y->operators ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* A card that nothing used is what somebody wants to know. */
static bool add_private(struct live *v, struct usage *u)
{
	const struct dk_nl_backend *b;
	struct usage_who *who;

	for (b = v->backends; b; b = b->next) {
		if (!b->is_bound)
			continue;
		who = who_is(u, b->name);
		if (!who)
			return false;
		who->is_private = true;
	}
	return true;
}

int usage_begin(struct live *v, struct usage *u, const struct dk_nl_counter *list)
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
		qsort(u->who, u->num, sizeof(*u->who), by_use);
	return STATUS_OK;
}

void usage_end(struct usage *u)
{
	free(u->who);
	u->who = NULL;
}

static void put_who(const struct usage_who *who, char *buf, size_t size, bool with_calls)
{
	char *name = plain_text(*who->name ? who->name : "nothing");
	char words[64];

	if (with_calls)
		snprintf(buf, size, "%s (%s)", name ? name : "",
			 plural(words, who->calls, "call", "calls"));
	else
		snprintf(buf, size, "%s", name ? name : "");
	free(name);
}

void usage_print(const struct usage *u, bool with_calls)
{
	char text[4 * USAGE_NAME_MAX + 32], part[4 * USAGE_NAME_MAX + 96];
	unsigned int i;
	struct wrap w;

	if (!u->num) {
		printf("no operator was called\n");
		return;
	}
	wrap_begin(&w, stdout, "", 0);
	for (i = 0; i < u->num; i++) {
		put_who(u->who + i, text, sizeof(text), with_calls);
		if (i)
			snprintf(part, sizeof(part), "%llu by %s", u->who[i].operators, text);
		else
			snprintf(part, sizeof(part), "%llu of %llu operators served by %s",
				 u->who[i].operators, u->operators, text);
		wrap_word(&w, part, i + 1 < u->num ? "," : "");
	}
	wrap_end(&w);
}
