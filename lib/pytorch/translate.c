// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Translates a set to another layout, by name. Each backend, building block and runtime key is
 * translated separately, and the results are joined. A set contains all combinations of its
 * functionalities and backends, so the result may have keys that correspond to no key of the set.
 */
#include "pytorch.h"

/* Earlier names of keys, with the next name of each. */
static const char *const renames[][2] = {
	{ "Variable", "Autograd" },
	{ "MSNPU", "ORT" },
	{ "ORT", "MAIA" },
	{ "Autocast", "AutocastCUDA" },
	{ "XLAPreAutograd", "AutogradXLA" },
	{ "PrivateUse1_PreAutograd", "AutogradPrivateUse1" },
	{ "PrivateUse2_PreAutograd", "AutogradPrivateUse2" },
	{ "PrivateUse3_PreAutograd", "AutogradPrivateUse3" },
};

/*
 * The stages of dk_translation_next(), in the order of the notes. A stage has at most one note on
 * each bit, key or entry.
 */
enum stage {
	STAGE_BITS,		/* bits outside of the layout */
	STAGE_BACKENDS,
	STAGE_BLOCKS,
	STAGE_KEYS,
	STAGE_ADDED,
	STAGE_ALONE,
	STAGE_TOP,
	STAGE_END
};

/*
 * Returns the latest name of the key @name, and shortens @name. Before 1.6, most names ended in
 * TensorId or _TensorId.
 */
static const char *latest_name(char *name)
{
	static const char suffix[] = "TensorId";
	size_t len = strlen(name), i = len - (sizeof(suffix) - 1);
	const char *latest = name;

	if (len >= sizeof(suffix) && dkc_streq(name + i, suffix))
		name[name[i - 1] == '_' ? i - 1 : i] = 0;
	for (i = 0; i < ARRAY_SIZE(renames); i++)
		if (dkc_streq(latest, renames[i][0]))
			latest = renames[i][1];
	return latest;
}

/* True if a key has a bit. In 1.6, Autograd had one; later, it is an alias key. */
static bool has_bit(const struct dk_layout *l, unsigned int key)
{
	enum dk_key_kind kind = dk_key_kind(l, key);

	return key && dkc_is_key(kind) && kind != DK_KIND_ALIAS;
}

/*
 * Finds the key of layout @there that has the name of @key or, if there is none, the same latest
 * name. A layout of a user's own may have several keys with the same latest name.
 */
static bool counterpart(const struct dk_layout *here, unsigned int key,
			const struct dk_layout *there, unsigned int *other)
{
	char name[DK_NAME_MAX], buf[DK_NAME_MAX];
	const char *latest;
	unsigned int k;

	dkc_key_name(here, key, name);
	if (dkc_find_key(there, name, other) && has_bit(there, *other))
		return true;
	latest = latest_name(name);
	for (k = 1; k < dk_layout_keys(there); k++) {
		if (has_bit(there, k) &&
		    dkc_streq(latest_name(dkc_key_name(there, k, buf)), latest)) {
			*other = k;
			return true;
		}
	}
	return false;
}

static bool has_backend(const struct dk_layout *l, struct dk_keyset ks, unsigned int b)
{
	return ks.bits & l->backend_mask & dkc_backend_bit(b);
}

static bool has_functionality(const struct dk_layout *l, struct dk_keyset ks,
			      unsigned int f)
{
	return ks.bits & l->full & dkc_functionality_bit(l, f);
}

/* ---- the result ------------------------------------------------------------- */

static u64 translate_backends(const struct dk_translation *t)
{
	unsigned int b;
	u64 bits = 0;

	for (b = 1; b <= t->from->nb; b++)
		if (has_backend(t->from, t->set, b))
			bits |= dkc_backend_bit(dkc_find_backend(t->to,
						t->from->backend_names[b]));
	return bits;
}

static u64 translate_keys(const struct dk_translation *t)
{
	unsigned int slot = 0, to;
	u64 bits = 0;

	while ((slot = dk_keyset_next(t->from, t->set, slot)))
		if (counterpart(t->from, dk_slot_key(t->from, slot), t->to, &to))
			bits |= dk_key_set(t->to, to).bits;
	return bits;
}

/*
 * True if the result gets building block @there for @f. False if all runtime keys of @f in the set
 * become keys of other functionalities. For example, if {Meta} is translated from 2.14 to 1.12,
 * where Meta is a functionality, the result has no Dense.
 */
static bool block_stays(const struct dk_translation *t, unsigned int f, unsigned int there)
{
	unsigned int b, to, moved = 0, all = 0;

	for (b = 1; b <= t->from->nb; b++) {
		if (!has_backend(t->from, t->set, b))
			continue;
		all++;
		moved += counterpart(t->from, dk_runtime_key(t->from, f, b), t->to, &to) &&
			 dk_key_functionality(t->to, to) != there;
	}
	return !all || moved < all;
}

static u64 translate_blocks(const struct dk_translation *t)
{
	unsigned int f, to;
	u64 bits = 0;

	for (f = 1; f < t->from->nf; f++)
		if (dkc_is_per_backend(t->from, f) &&
		    has_functionality(t->from, t->set, f) &&
		    counterpart(t->from, f, t->to, &to) && block_stays(t, f, to))
			bits |= dk_key_set(t->to, to).bits;
	return bits;
}

void dk_translate(struct dk_translation *t, const struct dk_layout *from,
		  const struct dk_layout *to, struct dk_keyset ks)
{
	*t = (struct dk_translation){
		.from = dkc_layout(from), .to = dkc_layout(to), .set = ks, .stage = STAGE_BITS,
	};
	t->result.bits = translate_backends(t) | translate_blocks(t) | translate_keys(t);
}

/* ---- the notes -------------------------------------------------------------- */

static bool note_name(struct dk_note *n, unsigned int kind, const char *name)
{
	n->kind = kind;
	dkc_strcpy(n->name, name, sizeof(n->name));
	return true;
}

static bool note_key(struct dk_note *n, unsigned int kind, const struct dk_layout *l,
		     unsigned int key)
{
	n->kind = kind;
	dkc_key_name(l, key, n->name);
	return true;
}

static bool note_bits(const struct dk_translation *t, struct dk_note *n)
{
	static const char digits[] = "0123456789abcdef";
	u64 beyond = t->set.bits & ~t->from->full;
	char hex[20] = "0x";
	unsigned int at = 2, shift = 64;

	if (!beyond)
		return false;
	while (shift) {
		shift -= 4;
		if (at > 2 || beyond >> shift & 15)
			hex[at++] = digits[beyond >> shift & 15];
	}
	hex[at] = 0;
	return note_name(n, DK_NOTE_LOST, hex);
}

/*
 * True if @t->to has neither the backend nor any key that corresponds to a key of the set on this
 * backend.
 */
static bool backend_is_lost(const struct dk_translation *t, unsigned int b)
{
	unsigned int f, to;

	if (!b || dkc_find_backend(t->to, t->from->backend_names[b]))
		return false;
	for (f = 1; f < t->from->nf; f++)
		if (dkc_is_per_backend(t->from, f) &&
		    has_functionality(t->from, t->set, f) &&
		    counterpart(t->from, dk_runtime_key(t->from, f, b), t->to, &to))
			return false;
	return true;
}

static bool note_backend(const struct dk_translation *t, unsigned int b,
			 struct dk_note *n)
{
	struct dkc_text text = { n->name, sizeof(n->name), 0 };

	if (!has_backend(t->from, t->set, b) || !backend_is_lost(t, b))
		return false;
	n->kind = DK_NOTE_LOST;
	dkc_put(&text, t->from->backend_names[b]);
	dkc_put(&text, "Bit");
	dkc_put_end(&text);
	return true;
}

/* Writes a note on a key if it is lost, renamed, or of another kind in the target layout. */
static bool note_change(const struct dk_translation *t, unsigned int key,
			struct dk_note *n)
{
	unsigned int to;

	dkc_key_name(t->from, key, n->name);
	n->from_kind = dk_key_kind(t->from, key);
	if (!counterpart(t->from, key, t->to, &to)) {
		n->kind = DK_NOTE_LOST;
		return true;
	}
	dkc_key_name(t->to, to, n->other);
	n->to_kind = dk_key_kind(t->to, to);
	n->kind = (dkc_streq(n->name, n->other) ? 0 : DK_NOTE_RENAMED) |
		  (n->from_kind == n->to_kind ? 0 : DK_NOTE_CHANGED);
	return n->kind;
}

/* True if the counterpart of a building block of @l is one key for all backends of @other. */
static bool is_joined(const struct dk_layout *l, unsigned int f, const struct dk_layout *other)
{
	unsigned int key;

	return counterpart(l, f, other, &key) && dk_key_kind(other, key) == DK_KIND_FUNCTIONALITY;
}

/*
 * Writes a note on a building block. If the set has backends, the notes are on the block's runtime
 * keys instead, unless these have no counterparts because one key stands for all of them.
 */
static bool note_block(const struct dk_translation *t, unsigned int f, struct dk_note *n)
{
	return dkc_is_per_backend(t->from, f) && has_functionality(t->from, t->set, f) &&
	       (!dk_keyset_backend(t->from, t->set) || is_joined(t->from, f, t->to)) &&
	       note_change(t, f, n);
}

static bool note_added(const struct dk_translation *t, unsigned int slot,
		       struct dk_note *n)
{
	unsigned int key = dk_slot_key(t->to, slot), from;

	if (counterpart(t->to, key, t->from, &from) &&
	    dk_keyset_has(t->from, t->set, from))
		return false;
	return note_key(n, DK_NOTE_ADDED, t->to, key);
}

/*
 * Writes a note on a building block of the result that has no backend, although the set had one, or
 * a key for all backends.
 */
static bool note_alone(const struct dk_translation *t, unsigned int f, struct dk_note *n)
{
	if (!dkc_is_per_backend(t->to, f) || !has_functionality(t->to, t->result, f) ||
	    dk_keyset_backend(t->to, t->result))
		return false;
	if (!dk_keyset_backend(t->from, t->set) && !is_joined(t->to, f, t->from))
		return false;
	return note_key(n, DK_NOTE_ALONE, t->to, f);
}

/* Returns the highest key of the set that has a counterpart *@to, or 0. */
static unsigned int highest_kept(const struct dk_translation *t, unsigned int *to)
{
	unsigned int slot = 0, kept = 0, f, key, other;

	/* without a backend, building blocks have no runtime keys */
	if (!dk_keyset_backend(t->from, t->set)) {
		for (f = t->from->nf - 1; f; f--)
			if (has_functionality(t->from, t->set, f) &&
			    counterpart(t->from, f, t->to, to))
				return f;
		return 0;
	}
	while ((slot = dk_keyset_next(t->from, t->set, slot))) {
		key = dk_slot_key(t->from, slot);
		if (!counterpart(t->from, key, t->to, &other))
			continue;
		kept = key;
		*to = other;
	}
	return kept;
}

/* Writes a note if another key than before has the highest priority. Ignores lost keys. */
static bool note_top(const struct dk_translation *t, struct dk_note *n)
{
	unsigned int to = 0, key = highest_kept(t, &to);
	unsigned int top = dk_keyset_backend(t->to, t->result) ?
			   dk_keyset_key(t->to, t->result) :
			   dk_keyset_functionality(t->to, t->result);

	if (!key || top == to)
		return false;
	n->from_kind = dk_key_kind(t->from, key);
	n->to_kind = dk_key_kind(t->to, top);
	dkc_key_name(t->to, top, n->other);
	return note_key(n, DK_NOTE_TOP, t->from, key);
}

/*
 * Moves to the next position of the stage. At the end, moves to the next stage and returns false.
 */
static bool step(struct dk_translation *t)
{
	unsigned int at = t->at + 1, last = 1;

	switch (t->stage) {
	case STAGE_BACKENDS:
		last = t->from->nb + 1;
		break;
	case STAGE_BLOCKS:
		last = t->from->nf;
		break;
	case STAGE_ALONE:
		last = t->to->nf;
		break;
	case STAGE_TOP:
		last = 2;
		break;
	case STAGE_KEYS:
		at = dk_keyset_next(t->from, t->set, t->at);
		last = at ? at + 1 : 0;
		break;
	case STAGE_ADDED:
		at = dk_keyset_next(t->to, t->result, t->at);
		last = at ? at + 1 : 0;
		break;
	default:
		last = 0;
	}
	t->at = at < last ? at : 0;
	t->stage += !t->at;
	return t->at;
}

static bool note_at(const struct dk_translation *t, struct dk_note *n)
{
	unsigned int key;

	switch (t->stage) {
	case STAGE_BACKENDS:
		return note_backend(t, t->at, n);
	case STAGE_BLOCKS:
		return note_block(t, t->at, n);
	case STAGE_KEYS:
		key = dk_slot_key(t->from, t->at);
		return !backend_is_lost(t, dk_key_backend(t->from, key)) &&
		       note_change(t, key, n);
	case STAGE_ADDED:
		return note_added(t, t->at, n);
	case STAGE_ALONE:
		return note_alone(t, t->at, n);
	default:
		return note_top(t, n);
	}
}

int dk_translation_next(struct dk_translation *t, struct dk_note *note)
{
	const struct dk_note empty = { .size = sizeof(empty) };

	if (note->size != sizeof(*note))
		return -EINVAL;
	*note = empty;
	if (t->stage == STAGE_BITS) {
		t->stage = STAGE_BACKENDS;
		if (note_bits(t, note))
			return 1;
	}
	while (t->stage < STAGE_END) {
		if (step(t) && note_at(t, note))
			return 1;
		/* no note: clear what note_at() may have written */
		*note = empty;
	}
	return 0;
}
