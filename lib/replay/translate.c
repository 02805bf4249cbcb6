// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * translate: a set of one layout as a set of another, by name. Backends,
 * building blocks and runtime keys are looked up one by one; since the bits of
 * the result mean all their combinations, it can have keys that the set had not.
 */
#include "internal.h"

/* The same thing under two names. */
static const char *const renames[][2] = {
	{ "ORT", "MAIA" },
};

struct translation {
	struct dk_replay *r;
	const struct dk_layout *from;
	const struct dk_layout *to;
	struct dk_keyset set;
	struct dk_keyset result;
	bool tell;		/* the second time: losses and renames */
};

static void tell(struct translation *t, const char *what, const char *name,
		 const char *tail)
{
	if (!t->tell)
		return;
	dk_replay_put(t->r, what);
	dk_replay_put(t->r, name);
	dk_replay_put(t->r, tail);
	dk_replay_put(t->r, "\n");
}

static const char *other_name(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(renames); i++) {
		if (dk_replay_eq(name, renames[i][0]))
			return renames[i][1];
		if (dk_replay_eq(name, renames[i][1]))
			return renames[i][0];
	}
	return NULL;
}

/* A key of @l by either name; *@name becomes the one that it has there. */
static bool find(const struct dk_layout *l, const char **name, unsigned int *key)
{
	const char *other = other_name(*name);

	if (!dk_key_parse(l, *name, 0, key, NULL))
		return true;
	if (!other || dk_key_parse(l, other, 0, key, NULL))
		return false;
	*name = other;
	return true;
}

static bool translate_key(struct translation *t, unsigned int key, bool tell_loss)
{
	char name[DK_NAME_MAX];
	const char *there = name;
	unsigned int to;

	dk_key_name(t->from, key, name);
	if (!find(t->to, &there, &to)) {
		if (tell_loss)
			tell(t, "lost ", name, "");
		return false;
	}
	t->result.bits |= dk_key_set(t->to, to).bits;
	if (there != name && t->tell) {
		dk_replay_put(t->r, "renamed ");
		tell(t, name, " -> ", there);
	}
	return true;
}

/* Backend bits that the other layout has not; they are told here only. */
static u64 translate_backends(struct translation *t)
{
	unsigned int b, to, n = dk_layout_backends(t->from);
	const char *name;
	size_t len;
	u64 lost = 0;

	for (b = 1; b <= n; b++) {
		if (!(t->set.bits >> (b - 1) & 1))
			continue;
		name = dk_backend_bit_name(t->from, b);
		if (!dk_backend_bit_parse(t->to, name, &to, NULL)) {
			t->result.bits |= 1ULL << (to - 1);
			continue;
		}
		lost |= 1ULL << (b - 1);
		len = dk_replay_len(name);
		/* MTIA and MAIA print like the keys */
		tell(t, "lost ", name,
		     len > 3 && dk_replay_eq(name + len - 3, "Bit") ? "" : "Bit");
	}
	return lost;
}

static void translate_keys(struct translation *t, u64 lost)
{
	unsigned int f, slot = 0, key, b, n = dk_layout_functionalities(t->from);
	bool bare = !dk_keyset_backend(t->from, t->set);

	/* building blocks: their runtime keys tell the loss, where there are any */
	for (f = 1; f < n; f++) {
		if (dk_is_per_backend(t->from, f) &&
		    dk_keyset_has_all(t->set, dk_key_set(t->from, f)))
			translate_key(t, f, bare);
	}
	while ((slot = dk_keyset_next(t->from, t->set, slot))) {
		key = dk_slot_key(t->from, slot);
		b = dk_key_backend(t->from, key);
		translate_key(t, key, !b || !(lost >> (b - 1) & 1));
	}
}

/* Runtime keys of the result that no runtime key of the set became. */
static void tell_added(struct translation *t)
{
	unsigned int slot = 0, key;
	char name[DK_NAME_MAX];
	const char *there;

	while ((slot = dk_keyset_next(t->to, t->result, slot))) {
		dk_key_name(t->to, dk_slot_key(t->to, slot), name);
		there = name;
		if (!find(t->from, &there, &key) ||
		    !dk_keyset_has_all(t->set, dk_key_set(t->from, key)))
			tell(t, "added ", name, "");
	}
}

DK_REPLAY_RUN(translate)
{
	const struct dk_layout *here = r->layout;
	struct translation t = { .r = r };
	u64 beyond;
	int err;

	t.from = dk_layout_find(w->arg[0], &r->why);
	if (!t.from)
		return -ENOENT;
	t.to = dk_layout_find(w->arg[1], &r->why);
	if (!t.to)
		return -ENOENT;
	r->layout = t.from;
	err = dk_replay_set(r, w->arg[2], &t.set);
	r->layout = here;
	if (err)
		return err;
	beyond = t.set.bits & ~dk_layout_full(t.from).bits;
	t.set.bits &= ~beyond;

	translate_keys(&t, translate_backends(&t));
	dk_replay_put_hex(r, t.result.bits);
	dk_replay_put(r, "\n");
	if (beyond) {
		dk_replay_put(r, "lost ");
		dk_replay_put_hex(r, beyond);
		dk_replay_put(r, "\n");
	}
	t.tell = true;
	translate_keys(&t, translate_backends(&t));
	tell_added(&t);
	return 0;
}
