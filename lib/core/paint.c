// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * How a row looks: which of an operator's registrations each entry names, and
 * the masks. It is painted rule by rule, the strongest first, over the sets of
 * slots that the rules mean: what dkc_evaluate() says of one entry.
 *
 * It follows from few facts, which are gathered first: what is registered where,
 * and at which slots there are backend fallbacks. Rows of the same facts share a
 * shape, and most are not painted at all.
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

/* ---- what a registry has for it ------------------------------------------------ */

/* The fallbacks for the operators of a class; has anything changed? */
static bool dkc_fallbacks_read(struct dk_registry *reg, bool atomic)
{
	struct dkc_easel *e = reg->easel;
	struct dkc_fallbacks *f = &e->fallbacks[atomic], old = *f;
	unsigned int slot, i;
	u64 any = 0;

	memset(f, 0, sizeof(*f));
	for (slot = 0; slot < reg->layout->num_entries; slot++) {
		const struct dkc_reg *r = dkc_fallback_of(reg, atomic, slot, NULL);

		if (r && dkc_slot_in(e->in_table, slot))
			dkc_slot_add(dkc_is_fallthrough(r) ? f->through : f->functions, slot);
	}
	for (i = 0; i < e->words; i++) {
		f->changed[i] = (f->functions[i] ^ old.functions[i]) |
				(f->through[i] ^ old.through[i]);
		any |= f->changed[i];
	}
	return any;
}

/*
 * No provider's fallback replaces another provider's, so a slot that still has a function,
 * or a fallthrough, still has the same one, or one that rows do not name.
 */
bool dkc_fallbacks_changed(struct dk_registry *reg)
{
	bool sleepable = dkc_fallbacks_read(reg, false);

	return dkc_fallbacks_read(reg, true) || sleepable;
}

static const struct dkc_fallbacks *dkc_fallbacks_for(const struct dkc_easel *e,
						     unsigned int op_flags)
{
	return &e->fallbacks[!!(op_flags & DK_OP_ATOMIC)];
}

bool dkc_row_shows_change(const struct dk_registry *reg, const struct dkc_row *row)
{
	const struct dkc_fallbacks *f = dkc_fallbacks_for(reg->easel, row->op_flags);
	u64 any = 0;
	u32 i;

	for (i = 0; i < reg->easel->words; i++)
		any |= row->shape->open[i] & f->changed[i];
	/* what a device has may open a slot, by rule 4 */
	return any || row->devs;
}

struct dkc_easel *dkc_easel_make(const struct dk_layout *l)
{
	struct dkc_easel *e;
	unsigned int a, i;

	e = dkc_alloc(sizeof(*e) + l->num_entries * (sizeof(e->slot[0]) + 1));
	if (!e)
		return NULL;
	e->canvas = (u8 *)&e->slot[l->num_entries];
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

static size_t dkc_look_size(const struct dkc_easel *e, unsigned int sets)
{
	return offsetof(struct dkc_look, slots) +
	       sets * e->words * sizeof(e->look.slots[0]);
}

/* What the operator has of it was noted; the fallbacks for its class. */
static void dkc_note_fallbacks(struct dkc_easel *e, unsigned int op_flags)
{
	const struct dkc_fallbacks *f = dkc_fallbacks_for(e, op_flags);
	unsigned int i;

	for (i = 0; i < e->words; i++) {
		e->look.slots[DKC_FALLBACK_FUNCTIONS * e->words + i] = f->functions[i];
		e->look.slots[DKC_FALLBACK_THROUGH * e->words + i] = f->through[i];
	}
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
	       offsetof(struct dkc_easel, look) + dkc_look_size(e, DKC_GROUPS) - facts);
	dkc_note_fallbacks(e, op->flags);
	for (i = dev ? dev->block->n : 0; i; i--)
		if (dkc_reg_op(&dev->block->regs[i - 1]) == op)
			dkc_note(e, l, &dev->block->regs[i - 1]);
	for (r = dkc_without_device(dkc_deref_locked(op->regs)); r;
	     r = dkc_without_device(dkc_next_reg(r)))
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

/* Give each slot an id, beginning with @id; the next one. */
static unsigned int dkc_paint_each(const struct dkc_easel *e, const u64 *slots, u8 *canvas,
				   unsigned int id)
{
	unsigned int i;
	u64 left;

	for (i = 0; i < e->words; i++)
		for (left = slots[i]; left; left &= left - 1)
			canvas[64 * i + dkc_ffs64(left)] = id++;
	return id;
}

/* The same of the registrations of a group. */
static unsigned int dkc_paint_group(const struct dkc_easel *e, enum dkc_group group,
				    u8 used, u8 *canvas, unsigned int id)
{
	unsigned int a;
	u64 left;

	for (left = used; left; left &= left - 1) {
		a = dkc_ffs64(left);
		if (e->alias[a]->group == group)
			dkc_paint_slots(e, e->alias_took[a], canvas, id++);
	}
	return dkc_paint_each(e, e->look.slots + group * e->words, canvas, id);
}

/* The masks lack the functionalities whose entry is a fallthrough, some on one backend. */
static void dkc_paint_masks(const struct dkc_easel *e, const struct dk_layout *l,
			    struct dkc_shape *s)
{
	unsigned int i, slot, f;
	u64 left, all = l->full;

	for (i = 0; i < e->words; i++) {
		for (left = e->falls[i]; left; left &= left - 1) {
			slot = 64 * i + dkc_ffs64(left);
			f = l->slot_functionality[slot];
			if (dkc_is_per_backend(l, f))
				s->mask[slot - l->offset[f]] |= dkc_functionality_bit(l, f);
			else if (f)
				all &= ~dkc_functionality_bit(l, f);
		}
	}
	for (i = 0; i < DKC_MAX_BACKENDS; i++)
		s->mask[i] = all & ~s->mask[i];
}

/* Aliases and fallthroughs take what stronger rules have left; what is @open stays. */
static void dkc_paint_rules(struct dkc_easel *e, const struct dk_layout *l,
			    struct dkc_shape *s, u8 *canvas)
{
	const u64 *through = e->look.slots + DKC_FALLBACK_THROUGH * e->words;
	unsigned int i;

	for (i = 0; i < e->words; i++) {
		e->left[i] = e->in_table[i] & ~e->noted[i];
		e->falls[i] = e->look.slots[DKC_FALLS_THROUGH * e->words + i];
	}
	for (i = 0; i < DKC_NUM_ALIASES; i++)
		if (dkc_paint_alias(e, l, dkc_strength[i], canvas))
			s->used |= 1u << dkc_strength[i];
	for (i = 0; i < e->words; i++) {
		s->open[i] = e->left[i];
		e->left[i] &= through[i];
		e->falls[i] |= e->left[i];
	}
	dkc_paint_slots(e, e->left, canvas, DKC_ID_FALLTHROUGH);
}

/* The shape of the facts: its masks and index, and how many functions it has. */
static void dkc_paint(struct dk_registry *reg, struct dkc_shape *s)
{
	const struct dk_layout *l = reg->layout;
	struct dkc_easel *e = reg->easel;
	unsigned int i, id;
	u8 *canvas = l->trimmed ? e->canvas : s->index;

	memset(canvas, DKC_ID_MISSING, l->num_entries);
	dkc_paint_rules(e, l, s, canvas);
	for (i = 0; i < e->words; i++)
		e->left[i] = dkc_served(reg, s, i);
	id = dkc_paint_each(e, e->left, canvas, DKC_ID_FIRST);
	for (i = 0; i < DKC_GROUPS; i++) {
		s->lowest = id;
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
	/* after the index, in whole words, come the look and a set */
	size_t size = dkc_look_size(reg->easel, DKC_SETS);
	size_t index = (reg->shape_entries + 7) & ~7u, set = reg->easel->words * sizeof(u64);
	struct dkc_shape *s;

	s = dkc_get(offsetof(struct dkc_shape, index) + index + size + set, may_sleep);
	if (!s)
		return NULL;
	s->look = (struct dkc_look *)&s->index[index];
	s->open = (u64 *)&s->index[index + size];
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
	size_t size = dkc_look_size(e, DKC_SETS);
	u32 hash;

	dkc_facts(op, dev);
	/* the fallbacks are the same for most */
	hash = dkc_look_hash(&e->look, dkc_look_size(e, DKC_GROUPS));
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

void dkc_shape_put(struct dk_registry *reg, const struct dkc_shape *shape)
{
	struct dkc_shape *s = (struct dkc_shape *)shape, **p;

	if (!s || --s->users)
		return;
	p = &reg->shapes[s->hash % DKC_SHAPE_BUCKETS];
	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	/* a reader may still be in the last row of this shape */
	dkc_retire(s);
}
