// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Builds the indexes of tables: for each entry, the id of what serves it; and the masks. Each rule
 * is applied to a whole set of slots, in the order of precedence. The result is the same as if
 * dkc_evaluate() evaluated each entry by itself.
 *
 * An index depends only on where functions of each group (enum dkc_group) are registered, at slots
 * and alias keys, and on the slots of backend fallbacks. These form the index key, which is
 * collected first. Tables with equal keys share an index, so most tables need none of their own.
 */
#include "table.h"

/* ---- sets of slots ----------------------------------------------------------- */

static void slot_add(u64 *slots, unsigned int slot)
{
	slots[slot / 64] |= 1ULL << (slot % 64);
}

static void slot_remove(u64 *slots, unsigned int slot)
{
	slots[slot / 64] &= ~(1ULL << (slot % 64));
}

static bool slot_in(const u64 *slots, unsigned int slot)
{
	return slots[slot / 64] >> (slot % 64) & 1;
}

/* ---- backend fallbacks --------------------------------------------------------- */

/* Reads the fallbacks for atomic or for other operators. Returns true if one has changed. */
static bool fallbacks_update(struct dk_registry *reg, bool atomic)
{
	struct dkc_scratch *sc = reg->scratch;
	struct dkc_fallbacks *f = &sc->fallbacks[atomic];
	u64 now[2 * DKC_SLOT_WORDS] = { 0 }, any = 0;
	unsigned int slot, i, words = sc->words;

	dkc_for_each_slot(slot, sc->in_table, words) {
		const struct dkc_reg *r = dkc_fallback_of(reg, atomic, slot, NULL);

		if (r)
			slot_add(dkc_is_fallthrough(r) ? now + words : now, slot);
	}
	for (i = 0; i < words; i++) {
		f->changed[i] = (f->sets[i] ^ now[i]) | (f->sets[words + i] ^ now[words + i]);
		any |= f->changed[i];
	}
	memcpy(f->sets, now, 2 * words * sizeof(now[0]));
	return any;
}

/*
 * It is enough to compare the sets of slots. A change never replaces the fallback of one provider
 * by that of another, so a slot that has a function before and after the change still has the same
 * function. A fallthrough may replace another one, but a table does not point to fallbacks that are
 * fallthroughs.
 */
bool dkc_fallbacks_changed(struct dk_registry *reg)
{
	bool sleepable = fallbacks_update(reg, false);

	dkc_assert_writer(reg);
	return fallbacks_update(reg, true) || sleepable;
}

static const struct dkc_fallbacks *fallbacks_for(const struct dkc_scratch *sc,
						 unsigned int op_flags)
{
	return &sc->fallbacks[!!(op_flags & DK_OP_ATOMIC)];
}

bool dkc_table_shows_change(const struct dk_registry *reg, const struct dkc_table *table)
{
	const struct dkc_fallbacks *f = fallbacks_for(reg->scratch, table->op_flags);
	u64 any = 0;
	u32 i;

	dkc_assert_writer(reg);
	for (i = 0; i < reg->scratch->words; i++)
		any |= table->index->open[i] & f->changed[i];
	/*
	 * The tables of devices can have other slots in @open than @table: the functions of a
	 * device can bar CompositeImplicitAutograd (rule 4) from other slots.
	 */
	return any || table->devices;
}

static size_t index_key_size(u32 words, unsigned int sets)
{
	return offsetof(struct dkc_index_key, slots) + sets * words * sizeof(u64);
}

/* The number of sets that set_pointers() assigns. */
#define NUM_SETS	(4 + 2 * DKC_NUM_ALIASES + 2 * 3)

/* Assigns the storage at @at: NUM_SETS sets and an index key. */
static void set_pointers(struct dkc_scratch *sc, u64 *at)
{
	struct dkc_fallbacks *f;
	unsigned int i;

	sc->in_table = at;
	sc->registered = at += sc->words;
	sc->unserved = at += sc->words;
	sc->fallthroughs = at += sc->words;
	for (i = 0; i < DKC_NUM_ALIASES; i++) {
		sc->alias_slots[i] = at += sc->words;
		sc->alias_serves[i] = at += sc->words;
	}
	for (f = sc->fallbacks; f < sc->fallbacks + 2; f++) {
		f->sets = at += sc->words;
		f->changed = at += 2 * sc->words;
	}
	sc->key = (struct dkc_index_key *)(at + sc->words);
}

static struct dkc_scratch *scratch_alloc(const struct dk_layout *l)
{
	const u32 words = (l->num_entries + 63) / 64;
	struct dkc_scratch *sc;
	size_t size = offsetof(struct dkc_scratch, slot) + l->num_entries * sizeof(sc->slot[0]);
	size_t sets = (size + 7) & ~(size_t)7;

	size = sets + NUM_SETS * words * sizeof(u64) + index_key_size(words, DKC_SETS);
	sc = kvzalloc(size, GFP_KERNEL);
	if (!sc)
		return NULL;
	sc->words = words;
	set_pointers(sc, (u64 *)((char *)sc + sets));
	return sc;
}

struct dkc_scratch * __cold dkc_scratch_make(const struct dk_layout *l)
{
	struct dkc_scratch *sc = scratch_alloc(l);
	unsigned int a, slot;

	if (!sc)
		return NULL;
	for (slot = 0; slot < l->num_entries; slot++)
		if (dkc_has_entry(l, slot))
			slot_add(sc->in_table, slot);
	for (a = 0; a < DKC_NUM_ALIASES; a++) {
		slot = 0;
		while ((slot = dk_keyset_next(l, DK_KEYSET(l->alias_set[a]), slot)))
			slot_add(sc->alias_slots[a], slot);
		if (dkc_alias_has_undefined(a))
			slot_add(sc->alias_slots[a], 0);
	}
	return sc;
}

/* ---- index keys ------------------------------------------------------------------ */

static void add_alias(struct dkc_scratch *sc, const struct dkc_reg *r, enum dkc_alias alias)
{
	if (alias == DKC_NUM_ALIASES || sc->alias[alias])
		return;
	sc->alias[alias] = r;
	sc->key->aliases |= DKC_INDEX_KEY_ALIAS(alias, r->group);
}

/* Adds a registration, unless a newer one at the same key was added before. */
static void add_reg(struct dkc_scratch *sc, const struct dk_layout *l, const struct dkc_reg *r)
{
	/* a registration at a building block has no slot, and stands for all backends */
	unsigned int slot = r->slot, f = slot ? l->slot_functionality[slot] : r->key;

	dkc_work(DKC_WORK_FUNCTIONS, 1);
	if (!dkc_may_serve(r))
		return;
	if (r->key >= l->first_alias) {
		add_alias(sc, r, dkc_key_alias(l, r->key));
		return;
	}
	sc->functionalities |= dkc_functionality_bit(l, f);
	if (f == l->role[DKC_ROLE_DENSE])
		sc->dense |= slot ? 1ULL << (slot - l->offset[f]) : l->backend_mask;
	if (!slot || slot_in(sc->registered, slot) || !slot_in(sc->in_table, slot))
		return;
	slot_add(sc->registered, slot);
	slot_add(sc->key->slots + r->group * sc->words, slot);
	sc->slot[slot] = r;
}

/*
 * Adds to the index key the autograd keys that CompositeImplicitAutograd does not serve, because of
 * rule 4 (barred) or rule 6 (ambiguous).
 */
static void add_bars(struct dkc_scratch *sc, const struct dk_layout *l)
{
	u64 other = l->constant[DKC_CONST_AUTOGRADOTHER_BACKENDS] & ~l->backend_mask;

	sc->key->ambiguous = sc->functionalities & other;
	if (sc->alias[DKC_ALIAS_EXPLICIT])
		return;
	sc->key->nested = sc->functionalities & dkc_role_bit(l, DKC_ROLE_NESTED_TENSOR);
	sc->key->barred = sc->dense & l->from_autograd;
}

/* Collects the index key for the table that dkc_index_get() describes. */
static void collect_key(const struct dk_op *op, const struct dkc_reg *first)
{
	const struct dk_layout *l = op->reg->layout;
	struct dkc_scratch *sc = op->reg->scratch;
	const struct dkc_reg *r;

	memset(sc->alias, 0, sizeof(sc->alias));
	sc->functionalities = 0;
	sc->dense = 0;
	memset(sc->registered, 0, sc->words * sizeof(u64));
	memset(sc->key, 0, index_key_size(sc->words, DKC_GROUPS));
	memcpy(sc->key->slots + DKC_FALLBACK_FUNCTIONS * sc->words,
	       fallbacks_for(sc, op->flags)->sets, 2 * sc->words * sizeof(u64));
	/* a device's registrations are consecutive, because they are made together */
	for (r = first; r && dkc_block_of(r) == dkc_block_of(first); r = dkc_next_reg(r))
		add_reg(sc, l, r);
	for (r = dkc_reg_walk(op, NULL); r && !r->of_device; r = dkc_next_reg(r))
		add_reg(sc, l, r);
	if (sc->alias[DKC_ALIAS_IMPLICIT])
		add_bars(sc, l);
}

/* ---- rules -------------------------------------------------------------------------- */

/* Removes from @slots those at which CompositeImplicitAutograd is barred or ambiguous. */
static void apply_bars(struct dkc_scratch *sc, const struct dk_layout *l, u64 *slots, u8 *ids)
{
	unsigned int other = l->offset[l->role[DKC_ROLE_AUTOGRAD_OTHER]];
	unsigned int first = l->offset[l->role[DKC_ROLE_AUTOGRAD]], b;

	/* a function at CompositeExplicitAutograd bars all slots, but does not prevent ambiguity */
	if (sc->alias[DKC_ALIAS_EXPLICIT])
		memset(slots, 0, sc->words * sizeof(slots[0]));
	if (sc->key->nested)
		slot_remove(slots, l->offset[l->role[DKC_ROLE_AUTOGRAD_NESTED]]);
	for (b = 0; b < l->nb; b++)
		if (sc->key->barred >> b & 1)
			slot_remove(slots, first + b);
	if (!sc->key->ambiguous)
		return;
	/* if a function is registered at AutogradOther, number_group() overwrites this id */
	ids[other] = DKC_ID_AMBIGUOUS;
	slot_remove(sc->unserved, other);
}

/* Assigns to an alias those of its slots that are still unserved. Returns true if there are any. */
static bool apply_alias(struct dkc_scratch *sc, const struct dk_layout *l,
			enum dkc_alias alias, u8 *ids)
{
	u64 *slots = sc->alias_serves[alias], any = 0;
	unsigned int i;

	if (!sc->alias[alias])
		return false;
	memcpy(slots, sc->alias_slots[alias], sc->words * sizeof(slots[0]));
	if (alias == DKC_ALIAS_IMPLICIT)
		apply_bars(sc, l, slots, ids);
	for (i = 0; i < sc->words; i++) {
		slots[i] &= sc->unserved[i];
		sc->unserved[i] &= ~slots[i];
		any |= slots[i];
		if (sc->alias[alias]->group == DKC_FALLS_THROUGH)
			sc->fallthroughs[i] |= slots[i];
	}
	return any;
}

/*
 * Assigns ids to the slots of a set: consecutive ids from @id on if @each, otherwise @id to all
 * slots. Returns the next free id.
 */
static unsigned int number_slots(const struct dkc_scratch *sc, const u64 *slots, bool each,
				 u8 *ids, unsigned int id)
{
	unsigned int slot;

	dkc_for_each_slot(slot, slots, sc->words) {
		ids[slot] = id;
		id += each;
	}
	return id + !each;
}

/* Numbers the registrations of a group: first those at aliases, then those at slots. */
static unsigned int number_group(const struct dkc_scratch *sc, enum dkc_group group,
				 struct dkc_index *index, unsigned int id)
{
	const u64 aliases = index->used;
	unsigned int a;

	dkc_for_each_slot(a, &aliases, 1)
		if (sc->alias[a]->group == group)
			id = number_slots(sc, sc->alias_serves[a], false, index->index, id);
	return number_slots(sc, sc->key->slots + group * sc->words, true, index->index, id);
}

/*
 * Removes from the masks the functionalities whose entries are fallthroughs. A per-backend
 * functionality is removed only from the mask of the entry's backend.
 */
static void build_masks(const struct dkc_scratch *sc, const struct dk_layout *l,
			struct dkc_index *index)
{
	unsigned int i, slot, f;
	u64 all = l->full;

	dkc_for_each_slot(slot, sc->fallthroughs, sc->words) {
		f = l->slot_functionality[slot];
		if (dkc_is_per_backend(l, f))
			index->mask[slot - l->offset[f]] |= dkc_functionality_bit(l, f);
		else if (f)
			all &= ~dkc_functionality_bit(l, f);
	}
	for (i = 0; i < DKC_MAX_BACKENDS; i++)
		index->mask[i] = all & ~index->mask[i];
}

/* Applies all rules but that of fallback functions. Sets @open to the slots left for fallbacks. */
static void apply_rules(struct dkc_scratch *sc, const struct dk_layout *l, struct dkc_index *index)
{
	const u64 *through = sc->key->slots + DKC_FALLBACK_THROUGH * sc->words;
	unsigned int i;

	for (i = 0; i < sc->words; i++) {
		sc->unserved[i] = sc->in_table[i] & ~sc->registered[i];
		sc->fallthroughs[i] = sc->key->slots[DKC_FALLS_THROUGH * sc->words + i];
	}
	for (i = 0; i < DKC_NUM_ALIASES; i++)
		if (apply_alias(sc, l, i, index->index))
			index->used |= 1u << i;
	for (i = 0; i < sc->words; i++) {
		index->open[i] = sc->unserved[i];
		sc->unserved[i] &= through[i];
		sc->fallthroughs[i] |= sc->unserved[i];
	}
	number_slots(sc, sc->unserved, false, index->index, DKC_ID_FALLTHROUGH);
}

void dkc_fallback_slots(const struct dk_registry *reg, const struct dkc_index *index, u64 *slots)
{
	u32 words = reg->scratch->words, i;

	dkc_assert_writer(reg);
	for (i = 0; i < words; i++)
		slots[i] = index->open[i] & index->key->slots[DKC_FALLBACK_FUNCTIONS * words + i];
}

/* The bytes of a new index are 0: DKC_ID_MISSING. Those of slots without an entry stay 0. */
static void build_index(struct dk_registry *reg, struct dkc_index *index)
{
	struct dkc_scratch *sc = reg->scratch;
	unsigned int i, id;

	apply_rules(sc, reg->layout, index);
	dkc_fallback_slots(reg, index, sc->unserved);
	id = number_slots(sc, sc->unserved, true, index->index, DKC_ID_FIRST);
	for (i = 0; i < DKC_GROUPS; i++) {
		index->lowest = id;
		id = number_group(sc, i, index, id);
	}
	index->n = id - DKC_ID_FIRST;
	build_masks(sc, reg->layout, index);
}

/* ---- indexes ------------------------------------------------------------------------- */

static u32 index_hash(const struct dkc_index_key *key, size_t size)
{
	const u64 *word = (const u64 *)key;
	u64 hash = 0;

	for (; size; size -= sizeof(*word))
		hash = (hash ^ *word++) * 0x9e3779b97f4a7c15ull;
	return hash >> 32;
}

static struct dkc_index *index_make(struct dk_registry *reg, bool may_sleep)
{
	/*
	 * The bytes of the index, in whole words, then the index key and the set @open. One more
	 * byte is for keysets without a slot. dk__lookup() reads the byte at a position of v1, even
	 * if the table has another layout.
	 */
	size_t slots = reg->layout->num_entries;
	size_t bytes = ((slots > DK_NUM_ENTRIES ? slots : DK_NUM_ENTRIES) + 1 + 7) & ~7u;
	size_t size = index_key_size(reg->scratch->words, DKC_SETS);
	size_t set = reg->scratch->words * sizeof(u64);
	struct dkc_index *index;

	index = dkc_alloc(offsetof(struct dkc_index, index) + bytes + size + set, may_sleep);
	if (!index)
		return NULL;
	index->key = (struct dkc_index_key *)&index->index[bytes];
	index->open = (u64 *)&index->index[bytes + size];
	memcpy(index->key, reg->scratch->key, size);
	build_index(reg, index);
	return index;
}

/* The scratch area holds the registrations of the index until this function is called again. */
struct dkc_index *dkc_index_get(const struct dk_op *op, const struct dkc_reg *first, bool may_sleep)
{
	struct dk_registry *reg = op->reg;
	const struct dkc_scratch *sc = reg->scratch;
	struct dkc_index **bucket, *index;
	size_t size = index_key_size(sc->words, DKC_SETS);
	u32 hash;

	dkc_assert_writer(op->reg);
	collect_key(op, first);
	/* the hash does not include the fallbacks: most operators have the same ones */
	hash = index_hash(sc->key, index_key_size(sc->words, DKC_GROUPS));
	bucket = &reg->indexes[hash % DKC_BUCKETS];
	for (index = *bucket; index; index = index->next) {
		if (index->hash == hash && !memcmp(index->key, sc->key, size)) {
			index->users++;
			return index;
		}
	}
	index = index_make(reg, may_sleep);
	if (index) {
		index->hash = hash;
		index->users = 1;
		index->next = *bucket;
		*bucket = index;
	}
	return index;
}

void dkc_index_put(struct dk_registry *reg, const struct dkc_index *shared)
{
	struct dkc_index *index = (struct dkc_index *)shared, **p;

	dkc_assert_writer(reg);
	if (!index || --index->users)
		return;
	p = &reg->indexes[index->hash % DKC_BUCKETS];
	while (*p != index)
		p = &(*p)->next;
	*p = index->next;
	/* a reader may still be using the last table of this index */
	kvfree_rcu(index, rcu);
}
