// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Reads the words after a subcommand. Words may be abbreviated, as in ip(8). */
#include "live.h"

#include <string.h>

bool take(struct live *v, const char *word)
{
	const char *given = *v->next;

	if (!given || !*given || strncmp(word, given, strlen(given)) != 0)
		return false;
	v->next++;
	return true;
}

bool take_show(struct live *v)
{
	return take(v, "show") || take(v, "list") || take(v, "lst");
}

const char *take_value(struct live *v, const char *word, const char *what, int *status)
{
	if (*v->next)
		return *v->next++;
	*status = fail(v->q, STATUS_BAD_INPUT, word, NULL,
		       "\"%s\" needs %s: see \"dkctl help %s\"", word, what,
		       v->q->subcommand->name);
	return NULL;
}

bool take_state(struct live *v, int *online)
{
	if (!*v->next || !is_state(*v->next))
		return false;
	*online = take(v, "online");
	return *online || take(v, "offline");
}

int take_key(struct live *v, __u32 *key)
{
	int status = STATUS_OK;
	const char *name = take_value(v, "key", "the name of a key", &status);

	if (name)
		status = names_begin(v);
	return status ? status : parse_key(v, name, key);
}

int take_backend(struct live *v, __u32 *number)
{
	int status = STATUS_OK;
	const char *name = take_value(v, "backend", "a backend name", &status);

	return name ? find_backend(v, name, number) : status;
}

int take_device(struct live *v, __u32 *number)
{
	int status = STATUS_OK;
	const char *name = take_value(v, "device", "a device name", &status);

	return name ? find_device(v, name, number) : status;
}

/* Returns which of @words is most similar to the next word, or NULL. @s keeps the result. */
static const char *similar_word(struct live *v, const char *const *words, struct suggestion *s)
{
	suggest_begin(s, *v->next);
	while (words && *words)
		suggest_try(s, *words++);
	return suggest_end(s);
}

const char *take_name(struct live *v, bool shown, const char *const *words)
{
	struct suggestion s;

	if (!*v->next || (!shown && v->next[1] && similar_word(v, words, &s)))
		return NULL;
	return *v->next++;
}

int fail_unexpected(struct live *v, const char *suggestion)
{
	return fail(v->q, STATUS_BAD_INPUT, *v->next, suggestion, "unexpected word \"%.127s\"",
		    *v->next);
}

int expect_end(struct live *v, const char *const *words)
{
	const char *similar;
	struct suggestion s;

	if (!*v->next)
		return STATUS_OK;
	similar = similar_word(v, words, &s);
	if (similar)
		return fail_unexpected(v, similar);
	return fail(v->q, STATUS_BAD_INPUT, *v->next, NULL,
		    "unexpected word \"%.127s\": see \"dkctl help %s\"", *v->next,
		    v->q->subcommand->name);
}
