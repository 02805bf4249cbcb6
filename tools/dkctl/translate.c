// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl keyset --to: translates a set to another layout and lists the differences. */
#include "dkctl.h"

#include <stdlib.h>

static void put_note(const struct dk_note *n)
{
	if (n->kind & DK_NOTE_LOST)
		printf("  lost               %s\n", n->name);
	if (n->kind & DK_NOTE_RENAMED)
		printf("  renamed            %s is now %s\n", n->name, n->other);
	if (n->kind & DK_NOTE_CHANGED)
		printf("  changed            %s was %s, is now %s\n", n->other,
		       dk_kind_name(n->from_kind), dk_kind_name(n->to_kind));
	if (n->kind & DK_NOTE_ADDED)
		printf("  added              %s: a set has all combinations of its bits\n",
		       n->name);
	if (n->kind & DK_NOTE_ALONE)
		printf("  without a backend  %s: routed as if on %s\n", n->name,
		       "the first backend");
	if (n->kind & DK_NOTE_TOP)
		printf("  priority           %s is now above %s\n", n->other, n->name);
}

static char *printed(const struct dk_translation *t)
{
	size_t len = dk_keyset_print(t->to, t->result, NULL, 0);
	char *buf = malloc(len + 1);

	if (buf)
		dk_keyset_print(t->to, t->result, buf, len + 1);
	return buf;
}

static void text(struct dk_translation *t, const char *print)
{
	char name[DK_NAME_MAX];
	struct dk_note n = { .size = sizeof(n) };

	printf("0x%llx (layout %s)\n", (unsigned long long)t->set.bits,
	       dk_layout_name(t->from));
	printf("0x%llx (layout %s)\n", (unsigned long long)t->result.bits,
	       dk_layout_name(t->to));
	printf("  printed            %s\n", print);
	printf("  top key            %s\n",
	       dk_key_name(t->to, dk_keyset_key(t->to, t->result), name));
	while (dk_translation_next(t, &n) > 0)
		put_note(&n);
}

static void json_note(struct json *j, const struct dk_note *n)
{
	json_object(j, NULL);
	if (n->kind & DK_NOTE_LOST)
		json_string(j, "lost", n->name);
	if (n->kind & (DK_NOTE_RENAMED | DK_NOTE_CHANGED)) {
		json_string(j, "from", n->name);
		json_string(j, "to", n->other);
		json_bool(j, "renamed", n->kind & DK_NOTE_RENAMED);
		json_bool(j, "changed", n->kind & DK_NOTE_CHANGED);
		json_string(j, "from_kind", dk_kind_name(n->from_kind));
		json_string(j, "to_kind", dk_kind_name(n->to_kind));
	}
	if (n->kind & DK_NOTE_ADDED)
		json_string(j, "added", n->name);
	if (n->kind & DK_NOTE_ALONE)
		json_string(j, "without_backend", n->name);
	if (n->kind & DK_NOTE_TOP) {
		json_string(j, "top", n->other);
		json_string(j, "above", n->name);
	}
	json_close(j);
}

static void json(struct request *q, struct dk_translation *t, const char *print)
{
	char name[DK_NAME_MAX];
	struct dk_note n = { .size = sizeof(n) };
	struct json j;

	json_begin(&j, stdout, q);
	json_object(&j, "translation");
	json_string(&j, "from", dk_layout_name(t->from));
	json_hex(&j, "set", t->set.bits);
	json_string(&j, "to", dk_layout_name(t->to));
	json_hex(&j, "result", t->result.bits);
	json_string(&j, "printed", print);
	json_string(&j, "top_key", dk_key_name(t->to, dk_keyset_key(t->to, t->result), name));
	json_array(&j, "notes");
	while (dk_translation_next(t, &n) > 0)
		json_note(&j, &n);
	json_end(&j);
}

int run_translate(struct request *q, struct dk_keyset ks)
{
	const struct dk_layout *to;
	struct dk_translation t;
	int status = STATUS_OK;
	char *print;

	to = open_layout(q, q->to_name, &status);
	if (!to)
		return status;
	dk_translate(&t, q->layout, to, ks);
	print = printed(&t);
	if (!print)
		return fail_memory(q);
	if (q->options & OPTION_JSON)
		json(q, &t, print);
	else
		text(&t, print);
	free(print);
	return STATUS_OK;
}
