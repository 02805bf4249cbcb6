// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * From keyset and objects to a function: mask, index, devices, and the rules where there is
 * no table. Calls, explanations and listings use it, in a read section or under the lock.
 *
 * The arithmetic is written once, with the numbers of a layout as arguments:
 * for v1 they are constants, for other layouts they come from struct dk_layout.
 */
#include "registry.h"

_Static_assert(DK_NUM_BACKENDS == 16, "DKC_PLACES() lists them");

/* The places of a functionality, which has one for each backend or one for all. */
#define DKC_PLACES(bit, first, step)					\
	[0][bit] = (first), [1][bit] = (first) + (step),		\
	[2][bit] = (first) + 2 * (step), [3][bit] = (first) + 3 * (step), \
	[4][bit] = (first) + 4 * (step), [5][bit] = (first) + 5 * (step), \
	[6][bit] = (first) + 6 * (step), [7][bit] = (first) + 7 * (step), \
	[8][bit] = (first) + 8 * (step), [9][bit] = (first) + 9 * (step), \
	[10][bit] = (first) + 10 * (step), [11][bit] = (first) + 11 * (step), \
	[12][bit] = (first) + 12 * (step), [13][bit] = (first) + 13 * (step), \
	[14][bit] = (first) + 14 * (step), [15][bit] = (first) + 15 * (step)
#define DKC_PLACES_OF(U, N, per_backend)				\
	DKC_PLACES(DK_NUM_BACKENDS - 1 + DK_##U, DK_SLOT_##U, per_backend),

const u8 dk__places[DK_NUM_BACKENDS][64] = {
	DK_FUNCTIONALITIES(DKC_PLACES_OF)
	/* the byte after the last entry names none */
	DKC_PLACES(DK_NUM_BACKENDS - 1 + DK_NUM_FUNCTIONALITIES, DK_NUM_ENTRIES, 0),
	DKC_PLACES(63, DK_NUM_ENTRIES, 0),
};

/* 0-based index of the highest backend of a set; CPU's where there is none. */
static inline unsigned int dkc_backend_index(u64 ks, u64 backend_mask)
{
	return dkc_fls64((ks & backend_mask) >> 1);
}

static inline unsigned int dkc_index(u64 ks, const struct dk_layout *l)
{
	unsigned int f = dkc_fls64(ks >> l->nb);
	unsigned int b = dkc_backend_index(ks, l->backend_mask);

	return l->offset[f] + (l->per_backend >> f & 1 ? b : 0);
}

/* The entry of a set in a trimmed table; without one, the place after the last entry. */
static unsigned int dkc_trimmed_entry_of(const struct dk_layout *l, u64 ks)
{
	return dkc_trimmed_entry(l, dkc_fls64((ks & l->full) >> l->nb),
				 dkc_fls64(ks & l->backend_mask));
}

/* The entry of a set; bits outside of the layout are not looked at. */
static unsigned int dkc_entry_of(const struct dk_registry *reg, u64 ks)
{
	const struct dk_layout *l = reg->layout;

	if (dkc_likely(reg->v1))
		return dkc_v1_index(ks & DK_FULL);
	if (l->trimmed)
		return dkc_trimmed_entry_of(l, ks);
	return dkc_index(ks & l->full, l);
}

static inline u64 dkc_mask(const struct dk_registry *reg, const struct dkc_row *row,
			   u64 ks)
{
	return ks & row->shape->mask[dkc_backend_index(ks, dkc_backend_mask(reg))];
}

/* (K + included) - excluded; exclusion does not reach the backend bits. */
u64 dkc_merge(u64 raw, u64 included, u64 excluded, u64 backend_mask)
{
	return (raw | included) & (backend_mask | ~excluded);
}

static const struct dk_obj *dkc_first_on(const struct dk_list *list, u64 backend)
{
	const struct dk_obj *item;
	unsigned long i;

	for (i = 0; i < list->n; i++) {
		item = dk_list_at(list, i);
		if (item && (item->ks.bits & backend))
			return item;
	}
	return NULL;
}

/* The device of the first argument, or item of a list, on the highest backend of @ks. */
u32 dkc_device_of(const struct dk_layout *l, u64 ks, const struct dk_obj *const *objs,
		  unsigned int n)
{
	const struct dk_obj *o;
	unsigned int i;
	u64 top;

	if (!(ks & l->backend_mask))
		return 0;
	top = 1ULL << dk__top_bit(ks & l->backend_mask);
	for (i = 0; i < n; i++) {
		o = objs[i];
		if (o && dkc_unlikely(o->flags == DK_OBJ_LIST))
			o = dkc_first_on((const struct dk_list *)o, top);
		if (o && (o->ks.bits & top))
			return o->device;
	}
	return 0;
}

/* A number whose device is gone or offline, or of these backends, counts as none: NULL. */
static const struct dkc_device *dkc_device_without(const struct dk_registry *reg,
						   u32 number, u32 offline)
{
	const struct dkc_device *dev = dkc_device_at(reg, number);

	return dev && dkc_load(dev->online) && !(offline >> (dev->backend - 1) & 1) ?
	       dev : NULL;
}

const struct dkc_device *dkc_device_online(const struct dk_registry *reg,
					   u32 number)
{
	return dkc_device_without(reg, number, dkc_load(reg->offline));
}

/* Where the objects of a call are. */
struct dkc_places {
	const struct dk_registry *reg;
	u32 first;		/* device, 0: none yet */
	u32 offline;		/* backends that no device counts of */
};

/* Does it live on another device than the first one that did? */
static bool dkc_on_second_device(struct dkc_places *p, const struct dk_obj *o)
{
	u32 number = o ? o->device : 0;

	if (!number || number == p->first || !dkc_device_without(p->reg, number, p->offline))
		return false;
	if (p->first)
		return true;
	p->first = number;
	return false;
}

/*
 * Where a device or a backend is just coming online, or going offline, its functions
 * are found already or still: what they are for is online, whatever is said of it.
 */
bool dkc_on_two_devices(const struct dk_registry *reg, const struct dkc_reg *serves,
			const struct dk_obj *const *objs, unsigned int n)
{
	struct dkc_places p = { .reg = reg, .offline = dkc_load(reg->offline) };
	const struct dk_list *list;
	unsigned long k;
	unsigned int i;

	if (serves) {
		p.first = dkc_block_of(serves)->device;
		p.offline &= ~dkc_reg_bits(serves, reg->layout);
	}
	for (i = 0; i < n; i++) {
		if (!objs[i] || objs[i]->flags != DK_OBJ_LIST) {
			if (dkc_on_second_device(&p, objs[i]))
				return true;
			continue;
		}
		list = (const struct dk_list *)objs[i];
		for (k = 0; k < list->n; k++)
			if (dkc_on_second_device(&p, dk_list_at(list, k)))
				return true;
	}
	return false;
}

void dkc_split(const struct dk_registry *reg, u64 ks, unsigned int *f,
	       unsigned int *b)
{
	const struct dk_layout *l = reg->layout;

	ks &= l->full;
	*f = dkc_fls64(ks >> l->nb);
	*b = dkc_backend_index(ks, l->backend_mask) + 1;
}

/* What the mask would leave, by the evaluator. */
static u64 dkc_mask_slowly(const struct dk_op *op, const struct dkc_device *dev, u64 ks,
			   const struct dkc_view *view)
{
	const struct dk_layout *l = op->reg->layout;
	unsigned int f, b;
	u64 left;

	ks &= l->full;
	dkc_split(op->reg, ks, &f, &b);
	for (left = ks >> l->nb; left; left &= left - 1) {
		f = dkc_ffs64(left) + 1;
		if (dkc_falls_through(op, dev, f, b, view))
			ks &= ~dkc_functionality_bit(l, f);
	}
	return ks;
}

/* Route by the evaluator, where there is no row: the set that is left, and what serves it. */
static struct dkc_pick dkc_resolve(const struct dk_op *op, const struct dkc_device *dev,
				   struct dkc_way *way, const struct dkc_view *view)
{
	const struct dk_layout *l = op->reg->layout;
	struct dkc_pick pick;
	unsigned int f;

	if (way->mask)
		way->ks = dkc_mask_slowly(op, dev, way->ks, view);
	for (;;) {
		f = dkc_fls64((way->ks & l->full) >> l->nb);
		pick = dkc_serving(op, dev, way->ks, view);
		if (!f || !dkc_is_fallthrough(pick.reg))
			return pick;
		/* it became one since, or came with a redispatch */
		way->ks &= ~dkc_functionality_bit(l, f);
	}
}

/* Why an entry without a function has none; is the device of the call gone or offline? */
static int dkc_why_none(const struct dkc_row *row, unsigned int id, bool away)
{
	if (row->kind == DKC_ROW_GONE)
		return -ESHUTDOWN;
	if (row->kind == DKC_ROW_UNDEFINED)
		return -ENOENT;
	if (id == DKC_ID_AMBIGUOUS)
		return -ENOTUNIQ;
	return away ? -ENODEV : -ENOSYS;
}

/*
 * Has a declaration another signature than this one? One that was compared and fits keeps
 * a mark for it, by which a call by handle takes the fast path. The mark is
 * of the address of the text, too, in case that a copy of the declaration has another one.
 */
static bool dkc_is_other_sig(struct dk_op_decl *decl, u64 sig)
{
	u64 mark = sig ^ (uintptr_t)decl->sig;

	if (!decl->sig || !sig || dkc_load(decl->sig_mark) == mark)
		return false;
	if (dkc_sig_hash(decl->sig) != sig)
		return true;
	dkc_store(decl->sig_mark, mark);
	return false;
}

/*
 * The rules have found what is registered now, and the row that we read may be
 * older: of a definition that was atomic, or when no type was known.
 */
static int dkc_found_by_rules(const struct dkc_row *row, struct dkc_way *way)
{
	const struct dk_impl *impl = dkc_impl_of(way->reg);
	const char *sig = impl->op ? impl->op->sig : NULL;

	if ((row->op_flags & DK_OP_ATOMIC) && !(impl->flags & DK_IMPL_F_ATOMIC))
		return -ENOENT;
	if (way->decl && sig && dkc_is_other_sig(way->decl, dkc_sig_hash(sig)))
		return -EPROTOTYPE;
	way->fn = impl->fn;
	return 0;
}

/* What is published, or where that is set aside for all calls to come here, what it hides. */
const struct dkc_row *dkc_row_of_op(const struct dk_op *op)
{
	const struct dkc_row *row = dkc_deref(op->row), *base;

	if (dkc_likely(row->kind != DKC_ROW_ASIDE))
		return row;
	base = op->reg->flags & DK_REGISTRY_FORCE_RESOLVE ? NULL : dkc_deref(op->base);
	return base ? base : dkc_row_resolve(row->op_flags);
}

/* No row: by the rules, as of one change. */
static int dkc_find_by_rules(struct dk_op *op, const struct dkc_row *row, u32 device,
			     struct dkc_way *way)
{
	const struct dkc_device *dev;
	struct dkc_pick pick;
	struct dkc_view view;
	u64 ks = way->ks;

	do {
		way->ks = ks;
		dkc_view_begin(&view, op->reg);
		dev = dkc_device_without(op->reg, device, view.offline);
		way->args = dkc_deref(op->args);
		pick = dkc_resolve(op, dev, way, &view);
	} while (!dkc_view_holds(&view, op->reg));
	way->reg = pick.reg;
	if (!pick.reg || dkc_is_fallthrough(pick.reg))
		return dkc_why_none(row, pick.prov == DK_PROV_AMBIGUOUS ?
				    DKC_ID_AMBIGUOUS : DKC_ID_MISSING, device && !dev);
	return dkc_found_by_rules(row, way);
}

/* The row has no function for us: special, missing or ambiguous. */
static int dkc_find_slowly(struct dk_op *op, const struct dkc_row *row,
			   unsigned int id, struct dkc_way *way)
{
	u32 device = dkc_device_of(op->reg->layout, way->ks, way->objs, way->n);

	if (row->kind == DKC_ROW_RESOLVE)
		return dkc_find_by_rules(op, row, device, way);
	return dkc_why_none(row, id, device && !dkc_device_online(op->reg, device));
}

int dkc_find(struct dk_op *op, const struct dkc_row *row, struct dkc_way *way)
{
	const struct dk_registry *reg = op->reg;
	const struct dkc_row *own = row;
	bool masked = way->mask;
	const struct dk__entry *e;
	unsigned int id;

	if (dkc_unlikely(row->kind != DKC_ROW_FULL))
		return dkc_find_slowly(op, row, DKC_ID_MISSING, way);
	if (dkc_unlikely(row->devs))
		own = dkc_row_of_device(row, dkc_device_of(reg->layout, way->ks,
							   way->objs, way->n));
	if (masked)
		way->ks = dkc_mask(reg, own, way->ks);
again:
	id = own->shape->index[dkc_entry_of(reg, way->ks)];
	if (dkc_likely(id >= DKC_ID_FIRST)) {
		e = dkc_row_ent(own, id);
		way->fn = e->fn;
		way->reg = e->reg;
		if (dkc_likely(way->fn))
			return 0;
	} else {
		way->reg = NULL;
	}
	/* a redispatch, to what became a fallthrough since its call was masked */
	if (!masked && (id == DKC_ID_FALLTHROUGH || dkc_is_fallthrough(way->reg))) {
		way->ks = dkc_mask(reg, own, way->ks);
		masked = true;
		goto again;
	}
	return dkc_find_slowly(op, row, id, way);
}

/* What a row has at a key itself, and by no alias: NULL may only mean that it does not say. */
static const struct dkc_reg *dkc_row_at_key(const struct dk_layout *l,
					    const struct dkc_row *row, unsigned int key)
{
	unsigned int f = dk_key_functionality(l, key), b = dk_key_backend(l, key);
	unsigned int id = dkc_has_entry(l, f, b) ? dkc_row_id(l, row, f, b) : DKC_ID_MISSING;
	const struct dkc_reg *r = id >= DKC_ID_FIRST ? dkc_row_ent(row, id)->reg : NULL;

	return r && r->key == key ? r : NULL;
}

/* The same by the lists, as of one change; without a row also the set that is left. */
static void dkc_find_in_lists(struct dk_op *op, const struct dkc_row *row, u32 device,
			      bool has_fallback, struct dkc_way *way)
{
	const struct dk_layout *l = op->reg->layout;
	const struct dkc_device *dev;
	struct dkc_view view;
	u64 ks = way->ks;

	do {
		dkc_view_begin(&view, op->reg);
		dev = dkc_device_without(op->reg, device, view.offline);
		if (row->kind == DKC_ROW_RESOLVE)
			way->ks = dkc_mask_slowly(op, dev, ks, &view);
		way->args = dkc_deref(op->args);
		way->reg = dkc_top(op, dev, way->key, &view);
		/* as in PyTorch, a building block takes that of its first backend */
		if (!way->reg && has_fallback)
			way->reg = dkc_fallback_at(op, dk_keyset_slot(l, dk_key_set(l, way->key)),
						   &view);
	} while (!dkc_view_holds(&view, op->reg));
}

/* What has key @way->key of its own, and no rule: SEMANTICS 8.3. */
static int dkc_find_at_key(struct dk_op *op, const struct dkc_row *row,
			   struct dkc_way *way)
{
	const struct dk_layout *l = op->reg->layout;
	u32 device = dkc_device_of(l, way->ks, way->objs, way->n);
	enum dk_key_kind kind = dk_key_kind(l, way->key);
	bool has_slot = kind == DK_KIND_FUNCTIONALITY || kind == DK_KIND_PER_BACKEND;

	if (kind == DK_KIND_NONE || kind == DK_KIND_SENTINEL)
		return -EINVAL;
	way->reg = NULL;
	if (row->kind == DKC_ROW_FULL) {
		const struct dkc_row *own = dkc_row_of_device(row, device);

		way->ks = dkc_mask(op->reg, own, way->ks);
		if (has_slot)
			way->reg = dkc_row_at_key(l, own, way->key);
	}
	if (!way->reg && (row->kind == DKC_ROW_FULL || row->kind == DKC_ROW_RESOLVE))
		dkc_find_in_lists(op, row, device,
				  has_slot || kind == DK_KIND_BUILDING_BLOCK, way);
	if (!way->reg || dkc_is_fallthrough(way->reg))
		return dkc_why_none(row, DKC_ID_MISSING,
				    device && !dkc_device_online(op->reg, device));
	return dkc_found_by_rules(row, way);
}

/* Is the function of another type than the caller will call it with? */
static bool dkc_wrong_type(const struct dk_op *op, const struct dkc_row *row,
			   const struct dkc_way *way)
{
	return dkc_is_other_sig(way->decl,
				row->kind == DKC_ROW_FULL ? row->sig : dkc_load(op->sig));
}

int dkc_find_typed(struct dk_op *op, const struct dkc_row *row, struct dkc_way *way)
{
	/* before any answer about the route */
	if (way->decl && dkc_wrong_type(op, row, way))
		return -EPROTOTYPE;
	return way->at_key ? dkc_find_at_key(op, row, way) : dkc_find(op, row, way);
}
