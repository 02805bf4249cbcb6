// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Runs the command translate, which translates a set to another layout and lists differences. */
#include "internal.h"

static void put_words(struct dk_replay *r, const char *a, const char *b,
		      const char *c, const char *d)
{
	dk_replay_put(r, a);
	dk_replay_put(r, b);
	dk_replay_put(r, c);
	dk_replay_put(r, d);
	dk_replay_put(r, "\n");
}

static void put_note(struct dk_replay *r, const struct dk_note *n)
{
	if (n->kind & DK_NOTE_LOST)
		put_words(r, "lost ", n->name, "", "");
	if (n->kind & DK_NOTE_RENAMED)
		put_words(r, "renamed ", n->name, " -> ", n->other);
	if (n->kind & DK_NOTE_CHANGED) {
		dk_replay_put(r, "changed ");
		dk_replay_put(r, n->other);
		put_words(r, ": ", dk_kind_name(n->from_kind), " -> ",
			  dk_kind_name(n->to_kind));
	}
	if (n->kind & DK_NOTE_ADDED)
		put_words(r, "added ", n->name, "", "");
	if (n->kind & DK_NOTE_ALONE)
		put_words(r, "without-backend ", n->name, "", "");
	if (n->kind & DK_NOTE_TOP)
		put_words(r, "top ", n->name, " -> ", n->other);
}

DK_REPLAY_RUN(translate)
{
	const struct dk_layout *here = r->layout, *from, *to;
	struct dk_translation t;
	struct dk_keyset set;
	int err;

	from = dk_replay_find_layout(r, w->arg[0]);
	to = from ? dk_replay_find_layout(r, w->arg[1]) : NULL;
	if (!to)
		return -ENOENT;
	r->layout = from;
	err = dk_replay_set(r, w->arg[2], &set);
	r->layout = here;
	if (err)
		return err;
	dk_translate(&t, from, to, set);
	dk_replay_put_hex(r, t.result.bits);
	dk_replay_put(r, "\n");
	r->note.size = sizeof(r->note);
	while (dk_translation_next(&t, &r->note) > 0)
		put_note(r, &r->note);
	return 0;
}
