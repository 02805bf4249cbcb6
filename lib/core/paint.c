// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * How a row looks: which of an operator's registrations each entry names, and
 * the masks. It is painted rule by rule, the strongest first, over the sets of
 * slots that the rules mean: what dkc_evaluate() says of one entry.
 *
 * It follows from few facts, which are gathered first: what is registered where,
 * and which fallbacks are fallthroughs. Rows of the same facts share a shape, and
 * most are not painted at all.
 */
#include "registry.h"

/* The aliases, the strongest first. */
static const u8 dkc_strength[DKC_NUM_ALIASES] = {
	DKC_ALIAS_NON_FUNCTIONAL, DKC_ALIAS_EXPLICIT, DKC_ALIAS_NESTED,
	DKC_ALIAS_IMPLICIT, DKC_ALIAS_AUTOGRAD, DKC_ALIAS_BATCHED,
};

/* ---- sets of slots ----------------------------------------------------------- */

static void dkc_slot_add(u64 *slots, unsigned int slot)
{
	slots[slot / 64] |= 1ULL << (slot % 64);
}

static void dkc_slot_remove(u64 *slots, unsigned int slot)
{
	slots[slot / 64] &= ~(1ULL << (slot % 64));
}

static bool dkc_slot_in(const u64 *slots, unsigned int slot)
{
	return slots[slot / 64] >> (slot % 64) & 1;
}

/* The slots of a keyset; that of Undefined is in none. */
static void dkc_slots_of(const struct dk_layout *l, u64 set, u64 *slots)
{
	unsigned int f, b;

	for (f = 1; f < l->nf; f++) {
		if (!(set & dkc_functionality_bit(l, f)))
			continue;
		if (!dkc_is_per_backend(l, f))
			dkc_slot_add(slots, l->offset[f]);
		for (b = 0; dkc_is_per_backend(l, f) && b < l->nb; b++)
			if (set >> b & 1)
				dkc_slot_add(slots, l->offset[f] + b);
	}
}

/*
 * The masks that have the functionality of a slot lose it, and the others get it: one
 * of a backend, or @all, which stands for those of all backends.
 */
static void dkc_slot_toggle(const struct dk_layout *l, u64 *mask, u64 *all,
			    unsigned int slot)
{
	unsigned int f = l->slot_functionality[slot];
	u64 bit = f ? dkc_functionality_bit(l, f) : 0;

	if (dkc_is_per_backend(l, f))
		mask[slot - l->offset[f]] ^= bit;
	else
		*all ^= bit;
}

static void dkc_toggle_all(u64 *mask, u64 all)
{
	unsigned int i;

	for (i = 0; all && i < DKC_MAX_BACKENDS; i++)
		mask[i] ^= all;
}

/* ---- what a registry has for it ------------------------------------------------ */

/* What the fallbacks are for the operators of a class: fallthroughs, or not. */
static bool dkc_ground_make(struct dk_registry *reg, bool atomic)
{
	struct dkc_easel *e = reg->easel;
	unsigned int slot, entries = reg->layout->num_entries;
	u64 *mask = e->ground_mask[atomic], all = 0;
	u8 *ids = e->canvas;

	memset(e->through[atomic], 0, sizeof(e->through[atomic]));
	for (slot = 0; slot < DKC_MAX_BACKENDS; slot++)
		mask[slot] = reg->layout->full;
	for (slot = 0; slot < entries; slot++) {
		const struct dkc_reg *r = dkc_fallback_of(reg, atomic, slot, NULL);

		ids[slot] = dkc_slot_in(e->in_table, slot) ? DKC_ID_FALLBACK :
							     DKC_ID_MISSING;
		if (ids[slot] == DKC_ID_MISSING || !dkc_is_fallthrough(r))
			continue;
		ids[slot] = DKC_ID_FALLTHROUGH;
		dkc_slot_add(e->through[atomic], slot);
		dkc_slot_toggle(reg->layout, mask, &all, slot);
	}
	dkc_toggle_all(mask, all);
	if (!memcmp(ids, e->ground[atomic], entries))
		return false;
	memcpy(e->ground[atomic], ids, entries);
	return true;
}

struct dkc_easel *dkc_easel_make(const struct dk_layout *l)
{
	struct dkc_easel *e;
	unsigned int a, i;

	e = dkc_alloc(sizeof(*e) + l->num_entries * (sizeof(e->slot[0]) + 3));
	if (!e)
		return NULL;
	e->ground[0] = (u8 *)&e->slot[l->num_entries];
	e->ground[1] = e->ground[0] + l->num_entries;
	e->canvas = e->ground[1] + l->num_entries;
	e->words = (l->num_entries + 63) / 64;
	for (i = 0; i < dkc_table_size(l); i++)
		if (dkc_entry_slot(l, i) < l->num_entries)
			dkc_slot_add(e->in_table, dkc_entry_slot(l, i));
	for (a = 0; a < DKC_NUM_ALIASES; a++)
		dkc_slots_of(l, l->alias_set[a], e->alias_slots[a]);
	/* these serve Undefined, too */
	dkc_slot_add(e->alias_slots[DKC_ALIAS_IMPLICIT], 0);
	dkc_slot_add(e->alias_slots[DKC_ALIAS_EXPLICIT], 0);
	dkc_slot_add(e->alias_slots[DKC_ALIAS_NON_FUNCTIONAL], 0);
	return e;
}

/* ---- the facts ------------------------------------------------------------------ */

static void dkc_note_alias(struct dkc_easel *e, const struct dkc_reg *r,
			   enum dkc_alias alias)
{
	if (alias == DKC_NUM_ALIASES || e->alias[alias])
		return;
	e->alias[alias] = r;
	e->look.aliases |= DKC_LOOK_ALIAS(alias, r->group);
}

/* One registration, unless a newer one was at its key. */
static dkc_always_inline void dkc_note(struct dkc_easel *e, const struct dk_layout *l,
				       struct dkc_reg *r)
{
	/* a building block has no slot, and is on all backends */
	unsigned int slot = r->slot, f = slot ? l->slot_functionality[slot] : r->key;

	if (!dkc_visible(r, NULL))
		return;
	if (r->key >= l->first_alias) {
		dkc_note_alias(e, r, dkc_key_alias(l, r->key));
		return;
	}
	e->functionalities |= dkc_functionality_bit(l, f);
	if (f == l->role[DKC_ROLE_DENSE])
		e->dense |= slot ? 1ULL << (slot - l->offset[f]) : l->backend_mask;
	if (!slot || dkc_slot_in(e->noted, slot) || !dkc_slot_in(e->in_table, slot))
		return;
	dkc_slot_add(e->noted, slot);
	dkc_slot_add(e->look.slots + r->group * e->words, slot);
	e->slot[slot] = r;
}

/* Who keeps CompositeImplicitAutograd away from autograd keys: rules 4 and 6. */
static void dkc_note_bars(struct dkc_easel *e, const struct dk_layout *l)
{
	u64 other = l->autogradother_backends & ~l->backend_mask;

	e->look.ambiguous = e->functionalities & other;
	if (e->alias[DKC_ALIAS_EXPLICIT])
		return;
	e->look.nested = e->functionalities & dkc_role_bit(l, DKC_ROLE_NESTED_TENSOR);
	e->look.barred = e->dense & l->from_autograd;
}

static size_t dkc_look_size(const struct dkc_easel *e)
{
	return offsetof(struct dkc_look, slots) +
	       DKC_GROUPS * e->words * sizeof(e->look.slots[0]);
}

/* All that decides how the row of an operator looks, without a device or with one. */
static void dkc_facts(const struct dk_op *op, const struct dkc_device *dev)
{
	const size_t facts = offsetof(struct dkc_easel, alias);
	const struct dk_layout *l = op->reg->layout;
	struct dkc_easel *e = op->reg->easel;
	struct dkc_reg *r;
	u32 i;

	memset((char *)e + facts, 0,
	       offsetof(struct dkc_easel, look) + dkc_look_size(e) - facts);
	e->look.ground = e->ground_number;
	e->look.atomic = op->flags & DK_OP_ATOMIC;
	for (i = dev ? dev->block->n : 0; i; i--)
		if (dev->block->regs[i - 1].op == op)
			dkc_note(e, l, &dev->block->regs[i - 1]);
	for (r = dkc_deref_locked(op->regs); r; r = dkc_deref_locked(r->next))
		dkc_note(e, l, r);
	if (e->alias[DKC_ALIAS_IMPLICIT])
		dkc_note_bars(e, l);
}

/* ---- painting --------------------------------------------------------------------- */

/* CompositeImplicitAutograd does not serve where it is barred or ambiguous. */
static void dkc_paint_bars(struct dkc_easel *e, const struct dk_layout *l, u64 *slots,
			   u8 *canvas)
{
	unsigned int other = l->offset[l->role[DKC_ROLE_AUTOGRAD_OTHER]];
	unsigned int first = l->offset[l->role[DKC_ROLE_AUTOGRAD]], b;

	/* beside CompositeExplicitAutograd only its ambiguity stays */
	if (e->alias[DKC_ALIAS_EXPLICIT])
		memset(slots, 0, e->words * sizeof(slots[0]));
	if (e->look.nested)
		dkc_slot_remove(slots, l->offset[l->role[DKC_ROLE_AUTOGRAD_NESTED]]);
	for (b = 0; b < l->nb; b++)
		if (e->look.barred >> b & 1)
			dkc_slot_remove(slots, first + b);
	if (!e->look.ambiguous || !dkc_slot_in(e->left, other))
		return;
	canvas[other] = DKC_ID_AMBIGUOUS;
	dkc_slot_remove(e->left, other);
}

/* An alias takes what stronger rules have left of its slots; is that anything? */
static bool dkc_paint_alias(struct dkc_easel *e, const struct dk_layout *l,
			    enum dkc_alias alias, u8 *canvas)
{
	u64 *slots = e->alias_took[alias], any = 0;
	unsigned int i;

	if (!e->alias[alias])
		return false;
	memcpy(slots, e->alias_slots[alias], e->words * sizeof(slots[0]));
	if (alias == DKC_ALIAS_IMPLICIT)
		dkc_paint_bars(e, l, slots, canvas);
	for (i = 0; i < e->words; i++) {
		slots[i] &= e->left[i];
		e->left[i] &= ~slots[i];
		any |= slots[i];
		if (e->alias[alias]->group == DKC_FALLS_THROUGH)
			e->falls[i] |= slots[i];
	}
	return any;
}

static void dkc_paint_slots(const struct dkc_easel *e, const u64 *slots, u8 *canvas,
			    unsigned int id)
{
	unsigned int i;
	u64 left;

	for (i = 0; i < e->words; i++)
		for (left = slots[i]; left; left &= left - 1)
			canvas[64 * i + dkc_ffs64(left)] = id;
}

/* Give the registrations of a group their ids, beginning with @id; the next one. */
static unsigned int dkc_paint_group(const struct dkc_easel *e, enum dkc_group group,
				    u8 used, u8 *canvas, unsigned int id)
{
	const u64 *slots = e->look.slots + group * e->words;
	unsigned int a, i;
	u64 left;

	for (left = used; left; left &= left - 1) {
		a = dkc_ffs64(left);
		if (e->alias[a]->group == group)
			dkc_paint_slots(e, e->alias_took[a], canvas, id++);
	}
	for (i = 0; i < e->words; i++)
		for (left = slots[i]; left; left &= left - 1)
			canvas[64 * i + dkc_ffs64(left)] = id++;
	return id;
}

/*
 * The masks lack the functionalities whose entry is a fallthrough. Those of the
 * fallbacks do already; an operator covers few of them, and has few of its own.
 */
static void dkc_paint_masks(const struct dkc_easel *e, const struct dk_layout *l,
			    struct dkc_shape *s)
{
	const u64 *through = e->through[e->look.atomic];
	u64 left, all = 0;
	unsigned int i;

	memcpy(s->mask, e->ground_mask[e->look.atomic], sizeof(s->mask));
	for (i = 0; i < e->words; i++)
		for (left = e->falls[i] ^ through[i]; left; left &= left - 1)
			dkc_slot_toggle(l, s->mask, &all, 64 * i + dkc_ffs64(left));
	dkc_toggle_all(s->mask, all);
}

/* The shape of the facts: its masks and index, and how many functions it has. */
static void dkc_paint(struct dk_registry *reg, struct dkc_shape *s)
{
	const struct dk_layout *l = reg->layout;
	struct dkc_easel *e = reg->easel;
	bool atomic = e->look.atomic;
	unsigned int i, id = DKC_ID_FIRST;
	u8 *canvas = l->trimmed ? e->canvas : s->index;

	memcpy(canvas, e->ground[atomic], l->num_entries);
	for (i = 0; i < e->words; i++) {
		e->left[i] = e->in_table[i] & ~e->noted[i];
		e->falls[i] = e->look.slots[DKC_FALLS_THROUGH * e->words + i];
	}
	for (i = 0; i < DKC_NUM_ALIASES; i++)
		if (dkc_paint_alias(e, l, dkc_strength[i], canvas))
			s->used |= 1u << dkc_strength[i];
	for (i = 0; i < e->words; i++)
		e->falls[i] |= e->through[atomic][i] & e->left[i];
	for (i = 0; i < DKC_GROUPS; i++) {
		s->direct = id;
		id = dkc_paint_group(e, i, s->used, canvas, id);
	}
	s->n = id - DKC_ID_FIRST;
	dkc_paint_masks(e, l, s);
	/* the one behind those of a trimmed table stays missing */
	for (i = 0; l->trimmed && i < dkc_table_size(l); i++)
		if (dkc_entry_slot(l, i) < l->num_entries)
			s->index[i] = canvas[dkc_entry_slot(l, i)];
}

/* ---- shapes ------------------------------------------------------------------------- */

static u32 dkc_look_hash(const struct dkc_look *look, size_t size)
{
	const u64 *word = (const u64 *)look;
	u64 hash = 0;

	for (; size; size -= sizeof(*word))
		hash = (hash ^ *word++) * 0x9e3779b97f4a7c15ull;
	return hash >> 32;
}

static bool dkc_look_same(const struct dkc_shape *s, u32 hash,
			  const struct dkc_look *look, size_t size)
{
	return s->hash == hash && !memcmp(s->look, look, size);
}

static struct dkc_shape *dkc_shape_make(struct dk_registry *reg, bool may_sleep)
{
	/* the look is behind the index, in whole words */
	size_t size = dkc_look_size(reg->easel), index = (reg->shape_entries + 7) & ~7u;
	struct dkc_shape *s;

	s = dkc_get(offsetof(struct dkc_shape, index) + index + size, may_sleep);
	if (!s)
		return NULL;
	s->look = (struct dkc_look *)&s->index[index];
	memcpy(s->look, &reg->easel->look, size);
	s->entries = reg->shape_entries;
	dkc_paint(reg, s);
	return s;
}

/*
 * The shape of an operator's row, without a device or with one; NULL for lack of
 * memory. The easel has its registrations, until the next shape.
 */
struct dkc_shape *dkc_shape_get(const struct dk_op *op, const struct dkc_device *dev,
				bool may_sleep)
{
	struct dk_registry *reg = op->reg;
	const struct dkc_easel *e = reg->easel;
	struct dkc_shape **bucket, *s;
	size_t size = dkc_look_size(e);
	u32 hash;

	dkc_facts(op, dev);
	hash = dkc_look_hash(&e->look, size);
	bucket = &reg->shapes[hash % DKC_SHAPE_BUCKETS];
	for (s = *bucket; s && !dkc_look_same(s, hash, &e->look, size); s = s->next)
		;
	if (s) {
		s->users++;
		return s;
	}
	s = dkc_shape_make(reg, may_sleep);
	if (s) {
		s->hash = hash;
		s->users = 1;
		s->next = *bucket;
		*bucket = s;
	}
	return s;
}

/* Where it was the last user, its heir loses one, too. */
void dkc_shape_put(struct dk_registry *reg, const struct dkc_shape *shape)
{
	struct dkc_shape *s = (struct dkc_shape *)shape, *heir, **p;

	for (; s && !--s->users; s = heir) {
		p = &reg->shapes[s->hash % DKC_SHAPE_BUCKETS];
		while (*p != s)
			p = &(*p)->next;
		*p = s->next;
		heir = s->heir;
		/* a reader may still be in the last row of this shape */
		dkc_retire(s);
	}
}

/*
 * What becomes of a row's shape when fallbacks changed, and its operator did not.
 * That is the same for all rows of the shape, and found once.
 */
struct dkc_shape *dkc_shape_inherit(const struct dk_op *op, const struct dkc_shape *old,
				    bool may_sleep)
{
	struct dkc_shape *s = (struct dkc_shape *)old, *heir = s->heir;
	u32 now = op->reg->easel->ground_number;

	if (s->look->ground == now)
		heir = s;
	if (heir && heir->look->ground == now) {
		heir->users++;
		return heir;
	}
	dkc_shape_put(op->reg, heir);
	s->heir = dkc_shape_get(op, NULL, may_sleep);
	if (s->heir)
		s->heir->users++;
	return s->heir;
}

/*
 * A fallback came or went, or its backend is online or offline. Do rows look another
 * way now?
 */
bool dkc_ground_changed(struct dk_registry *reg)
{
	bool sleepable = dkc_ground_make(reg, false);
	struct dkc_shape *s, *heir;
	unsigned int i;

	if (!dkc_ground_make(reg, true) && !sleepable)
		return false;
	reg->easel->ground_number++;
	/* those of a change that was given up, too */
	for (i = 0; i < DKC_SHAPE_BUCKETS; i++)
		for (s = reg->shapes[i]; s; s = s->next) {
			heir = s->heir;
			s->heir = NULL;
			dkc_shape_put(reg, heir);
		}
	return true;
}
