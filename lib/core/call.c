// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Calls: merge, mask, index, enter the gate. The fast path is inlined in callers:
 * <dispatchkey-inline.h>. What it does not call goes to dk__find(), while its slot protects
 * the table, and what that does not serve takes the slow path. No path takes a lock
 * or writes anything that another thread or CPU writes, and the cost does not depend on how
 * many operators, functions or fallthroughs there are.
 *
 * The arithmetic is written once, with the numbers of a layout as arguments:
 * for v1 they are constants, for other layouts they come from struct dk_layout.
 */
#include "registry.h"

_Static_assert(sizeof(((struct dk__room *)0)->gate) == DKC_GATE_ROOM * sizeof(u64),
	       "room for the gate");

const struct dk__place dk__places[64] = {
#define DKC_PLACE(U, N, per_backend)					\
	[DK_NUM_BACKENDS - 1 + DK_##U] = { DK_SLOT_##U, (per_backend) ? 0xff : 0 },
	DK_FUNCTIONALITIES(DKC_PLACE)
#undef DKC_PLACE
	/* the byte behind the last entry names none */
	[DK_NUM_BACKENDS - 1 + DK_NUM_FUNCTIONALITIES] = { DK_NUM_ENTRIES, 0 },
	[63] = { DK_NUM_ENTRIES, 0 },
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

/* The same for v1. */
static inline unsigned int dkc_v1_index(u64 ks)
{
	const struct dk__place *place = &dk__places[dk__top_bit(ks)];

	return place->first + (dk__top_backend(ks) & place->backends);
}

/* What an entry of a trimmed table is for a set; where it has none, the one behind. */
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

static inline u64 dkc_backend_mask(const struct dk_registry *reg)
{
	return dkc_likely(reg->v1) ? DK_BACKEND_MASK : reg->layout->backend_mask;
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

static dkc_noinline const struct dk_obj *dkc_first_on(const struct dk_list *list, u64 backend)
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

/* The device of the first object, or item of a list, that has the highest of these keys. */
static dkc_always_inline u32 dkc_device_on(u64 backends, const struct dk_obj *const *objs,
					   unsigned int n)
{
	const struct dk_obj *o;
	unsigned int i;
	u64 top;

	if (!backends)
		return 0;
	top = 1ULL << dk__top_bit(backends);
	for (i = 0; i < n; i++) {
		o = objs[i];
		if (o && dkc_unlikely(o->flags == DK_OBJ_LIST))
			o = dkc_first_on((const struct dk_list *)o, top);
		if (o && (o->ks.bits & top))
			return o->device;
	}
	return 0;
}

/* The device of the first argument that lives on the highest backend of @ks. */
u32 dkc_device_of(const struct dk_layout *l, u64 ks, const struct dk_obj *const *objs,
		  unsigned int n)
{
	return dkc_device_on(ks & l->backend_mask, objs, n);
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

/*
 * In a read section: the row of an operator, and how the definition that has published it
 * describes the arguments.
 */
static const struct dkc_row *dkc_row_with_args(const struct dk_op *op,
					       const struct dkc_args **args)
{
	const struct dkc_row *row = dkc_row_of_op(op), *before;

	do {
		before = row;
		/* pairs with dkc_publish() of op->row: no older description */
		dkc_read_barrier();
		*args = dkc_deref(op->args);
		if (!*args)
			break;
		/* pairs with dkc_publish() of op->args: a later one comes after undefining */
		dkc_read_barrier();
		row = dkc_row_of_op(op);
	} while (dkc_unlikely(row != before));
	return row;
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

/* In a read section: from keyset and objects to a function. */
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

/* What calls a function that is not of the operator's type, or NULL. */
static dk_boxed_fn_t dkc_boxed_of(const struct dk_impl *impl, dk_fn_t fn)
{
	if (dkc_likely(!(impl->flags & (DK_IMPL_F_BOXED | DK_IMPL_F_PLAIN))))
		return NULL;
	return impl->flags & DK_IMPL_F_BOXED ? (dk_boxed_fn_t)fn :
					       impl->op->unbox_plain;
}

/* Is the function of another type than the caller will call it with? */
static bool dkc_wrong_type(const struct dk_op *op, const struct dkc_row *row,
			   const struct dkc_way *way)
{
	return dkc_is_other_sig(way->decl,
				row->kind == DKC_ROW_FULL ? row->sig : dkc_load(op->sig));
}

/* In a read section: what serves, by the row. */
static inline int dkc_find_typed(struct dk_op *op, const struct dkc_row *row,
				 struct dkc_way *way)
{
	/* before any answer about the route */
	if (way->decl && dkc_wrong_type(op, row, way))
		return -EPROTOTYPE;
	return way->at_key ? dkc_find_at_key(op, row, way) : dkc_find(op, row, way);
}

/* Is the device of a call by v1 gone or offline? */
static bool dkc_is_away(const struct dk_registry *reg, u64 ks, const struct dk_obj *const *objs,
			unsigned int n)
{
	u32 device = dkc_device_on(ks & DK_BACKEND_MASK, objs, n);
	bool away = false;

	if (device) {
		dkc_read_lock();
		away = !dkc_device_online(reg, device);
		dkc_read_unlock();
	}
	return away;
}

#if defined(__KERNEL__) || defined(DK_BARE)
/*
 * The call does not need its table any more, and leaves its read section for the gate. If the
 * section is the caller's, the slow path reports that mistake.
 */
int dk__to_gate(struct dk_call *c, struct dk__slot *slot, int how)
{
	if ((how & DK__HOW_IN_RCU) || dkc_gate_enter(slot->room.gate, c->entry->reg, c->op)) {
		dk__end(slot, how);
		slot->found.table = NULL;
		return 0;
	}
	slot->room.entry = *c->entry;
	slot->in_gate = 1;
	c->entry = &slot->room.entry;
	c->state &= ~DK__CALL_IN_RCU;
	dkc_section_ends();
	dkc_read_unlock();
	dkc_might_sleep();
	return 1;
}

void dk__leave_gate(struct dk__slot *slot)
{
	dkc_gate_leave(slot->room.gate);
}
#endif

/* dk__find() where no function is called as it is: the call is out again. */
static dkc_noinline int dkc_not_found(struct dk_call *c, struct dk__slot *slot,
				      const struct dkc_row *row, unsigned int id,
				      const struct dk_obj *const *objs, unsigned int n, int how)
{
	int err = 1;

	if (id == DKC_ID_MISSING)
		err = dkc_is_away(c->op->reg, c->ks.bits, objs, n) ? -ENODEV : -ENOSYS;
	else if (id == DKC_ID_AMBIGUOUS)
		err = -ENOTUNIQ;
	if (err < 0 && row->direct == DKC_COUNTED)
		dkc_count_add(dkc_row_counts(row));
	dk__end(slot, how);
	return err;
}

/* The entry of the call is called as it is. */
static dkc_always_inline int dkc_go(struct dk_call *c, struct dk__slot *slot,
				    const struct dkc_row *row, int how)
{
	const struct dk__entry *e = c->entry;

	return dk__enter(c, slot, (const struct dk__table *)row, how, &e) ? 0 : 1;
}

/* The same, where the thread has no part of the counter's block. */
static dkc_noinline int dkc_count_and_go(struct dk_call *c, struct dk__slot *slot,
					 const struct dkc_row *row, int how,
					 const struct dkc_count_at *at)
{
	dkc_count_slowly(at);
	return dkc_go(c, slot, row, how);
}

/* Will dkc_go() enter? The slow path counts the calls that it enters by itself. */
static inline bool dkc_will_go(const struct dkc_row *row, int how)
{
	return dkc_slots_are_gate() || (row->op_flags & DK_OP_ATOMIC) ||
	       (!(how & DK__HOW_IN_RCU) && dkc_gate_has_room());
}

static dkc_always_inline int dkc_found(struct dk_call *c, struct dk__slot *slot,
				       const struct dkc_row *row, unsigned int id, u64 ks, int how)
{
	const struct dkc_count_at *at = dkc_row_counts(row) + 1 + id - DKC_ID_FIRST;

	c->ks.bits = ks;
	c->entry = dkc_row_ent(row, id);
	if (row->direct == DKC_COUNTED && dkc_will_go(row, how) &&
	    dkc_unlikely(!dkc_count_here(at)))
		return dkc_count_and_go(c, slot, row, how, at);
	return dkc_go(c, slot, row, how);
}

static dkc_always_inline int dkc_find_on(u32 device, struct dk_call *c, struct dk__slot *slot,
					 const struct dk_obj *const *objs, unsigned int n, int how)
{
	const struct dkc_row *row = (const struct dkc_row *)slot->found.table;
	u64 ks = c->ks.bits;
	unsigned int id;

	row = dkc_devtab_row(row->devs, device);
	if (how & DK__HOW_MASKED)
		ks &= row->shape->mask[dk__top_backend(ks)];
	id = row->shape->index[dkc_v1_index(ks & DK_FULL)];
	if (dkc_unlikely(id < row->shape->direct))
		return dkc_not_found(c, slot, row, id, objs, n, how);
	return dkc_found(c, slot, row, id, ks, how);
}

/* Where a list has to be searched for the device. */
static dkc_noinline int dkc_find_in_list(struct dk_call *c, struct dk__slot *slot,
					 const struct dk_obj *const *objs, unsigned int n, int how)
{
	u32 device = dkc_device_on(c->ks.bits & DK_BACKEND_MASK, objs, n);

	return dkc_find_on(device, c, slot, objs, n, how);
}

/*
 * By the row of the device that the call is on. It does not call dkc_device_on(), whose search
 * in lists would make every call save registers.
 */
static dkc_noinline int dkc_find_by_device(struct dk_call *c, struct dk__slot *slot,
					   const struct dk_obj *const *objs, unsigned int n,
					   int how)
{
	u64 top = c->ks.bits & DK_BACKEND_MASK;
	u32 device = 0;
	unsigned int i;

	top = top ? 1ULL << dk__top_bit(top) : 0;
	for (i = 0; i < n; i++) {
		if (!objs[i])
			continue;
		if (dkc_unlikely(objs[i]->flags == DK_OBJ_LIST))
			return dkc_find_in_list(c, slot, objs, n, how);
		if (objs[i]->ks.bits & top) {
			device = objs[i]->device;
			break;
		}
	}
	return dkc_find_on(device, c, slot, objs, n, how);
}

/* Did the call find no slot, or has it left its read section for the gate in vain? */
static inline bool dkc_is_out(const struct dk__slot *slot)
{
#if defined(__KERNEL__) || defined(DK_BARE)
	return !slot->found.table;
#else
	return !slot->at;
#endif
}

int dk__find(struct dk_call *c, struct dk__slot *slot, const struct dk_obj *const *objs,
	     unsigned int n, int how)
{
	const struct dkc_row *row = (const struct dkc_row *)slot->found.table;
	unsigned int id = slot->found.id;

	if (dkc_unlikely(dkc_is_out(slot)))
		return 1;
	if (dkc_unlikely(row->direct == DKC_NOT_DIRECT))
		return dkc_not_found(c, slot, row, DK__FOR_SLOW_PATH, objs, n, how);
	if (row->devs && id != DK__FOR_SLOW_PATH)
		return dkc_find_by_device(c, slot, objs, n, how);
	if (dkc_unlikely(id < row->shape->direct))
		return dkc_not_found(c, slot, row, id, objs, n, how);
	return dkc_found(c, slot, row, id, slot->found.ks, how);
}

/* In a read section: all that can be said against a call of the right type. */
static int dkc_admit(struct dk_op *op, const struct dkc_row *row, struct dkc_way *way)
{
	if (dkc_unlikely(row->op_flags & DK_OP_SAME_DEVICE) &&
	    dkc_on_two_devices(op->reg, way->reg, way->objs, way->n))
		return -EXDEV;
	return 0;
}

/* What was found, with the set that it was found by. */
static void dkc_fill(struct dk_frame *f, struct dkc_way *way)
{
	struct dk_call *c = &f->call;

	c->ks.bits = way->ks;
	/* the row's own entry does not outlast the read section */
	f->room.entry.fn = way->fn;
	f->room.entry.reg = way->reg;
	c->entry = &f->room.entry;
	f->boxed = dkc_boxed_of(dkc_impl_of(way->reg), way->fn);
	f->run = f->boxed ? c->decl->pack : way->fn;
	f->args = way->args;
}

/*
 * In a read section, which ends unless the call of an atomic operator has it. A
 * provider that leaves has unpublished its rows first: a call that has read an old one is
 * seen in the gate, or its section keeps the grace period from ending.
 */
static int dkc_pass(struct dk_frame *f, struct dk_op *op, const struct dkc_row *row,
		    struct dkc_way *way)
{
	int err = dkc_find_typed(op, row, way);

	if (dkc_likely(!err))
		err = dkc_admit(op, row, way);
	if (dkc_unlikely(err))
		goto out;
	dkc_fill(f, way);
	if (dkc_section_is_gate(row->op_flags)) {
		f->call.state |= DK__CALL_IN_RCU;
		f->state = way->in_rcu ? DKC_CALL_IN_CALLERS : DKC_CALL_IN_SECTION;
		if (way->in_rcu)
			goto out;
		return 0;
	}
	f->state = DKC_CALL_IN_GATE;
	err = dkc_gate_enter(f->room.gate, way->reg, op);
	dkc_section_ends();
	dkc_read_unlock();
	dkc_might_sleep();
	return err;
out:
	dkc_section_ends();
	dkc_read_unlock();
	return err;
}

/* Count a call, and show it to hooks and tracers. */
static dkc_noinline void dkc_watch_call(struct dk_frame *f, struct dk_op *op,
					struct dkc_way *way, int err)
{
	bool missing = err == -ENOSYS || err == -ENOTUNIQ || err == -ENODEV;

	if (!err) {
		dkc_stats_count(op, way->reg);
		dkc_trace_call(call_enter, f, way);
	} else if (missing) {
		dkc_stats_count(op, NULL);
		dkc_trace_call(missing, op, way->ks, err);
	}
	if (!way->at_key && (!err || missing || err == -EXDEV))
		dkc_hooks_before(f, op, way, err);
	if (!err && dkc_traced(call_exit))
		f->state |= DKC_CALL_TRACED;
}

static int dkc_enter(struct dk_frame *f, struct dk_op *op, struct dkc_way *way)
{
	bool watched = dkc_load(op->reg->watched);
	const struct dkc_row *row;
	int err;

	dkc_read_lock();
	dkc_section_stays();
	row = dkc_row_with_args(op, &way->args);
	err = dkc_pass(f, op, row, way);
	if (dkc_unlikely(watched))
		dkc_watch_call(f, op, way, err);
	return err;
}

/* What is known before the call is routed. */
static void dkc_begin(struct dk_frame *f, struct dk_op *op, const struct dk_op_decl *decl,
		      const struct dk_local *local, unsigned long flags,
		      const struct dkc_way *way)
{
	f->call.op = op;
	f->call.decl = decl;
	f->call.state = dk__state(local, DK__CALL_FRAME | flags);
	f->objs = way->objs;
	f->n = way->n;
}

/* From objects and local state to the keyset, and in; or -EPROTOTYPE. */
static int dkc_call_op(struct dk_frame *f, struct dk_op *op, const struct dk__request *rq,
		       struct dkc_way *way)
{
	struct dk_op_decl *decl = rq->decl;

	/* one that points to its operator was compared when it began to */
	if (dkc_load(decl->op) != op || rq->op) {
		if (!dkc_decl_fits(decl))
			return -EPROTOTYPE;
		way->decl = decl;
	}
	way->ks = rq->flags & DK__BY_KEYSET ? rq->ks.bits :
		  dkc_merge(dk__raw(way->objs, way->n), dk_local_included(rq->local).bits,
			    dk_local_excluded(rq->local).bits, dkc_backend_mask(op->reg));
	dkc_begin(f, op, decl, rq->local, way->boxed ? DK__CALL_BOXED : 0, way);
	return dkc_enter(f, op, way);
}

/* By name: bind the declaration to the operator, once more where it was replaced. */
static int dkc_call_by_name(struct dk_frame *f, const struct dk__request *rq,
			    struct dkc_way *way)
{
	struct dk_op *op = dkc_load(rq->decl->op);
	int err;

	if (dkc_is_bound(op)) {
		err = dkc_call_op(f, op, rq, way);
		if (err != -ENOENT || !dkc_load(op->stale))
			return err;
		dkc_store(rq->decl->op, &dk__unbound);
	}
	err = dkc_op_pin(rq->decl, &op);
	return err ? err : dkc_call_op(f, op, rq, way);
}

static int dkc_redispatch(struct dk_frame *f, const struct dk__request *rq,
			  struct dkc_way *way)
{
	const struct dk_call *from = rq->from;

	if (rq->decl != from->decl && (!dkc_decl_fits(rq->decl) ||
				       !dkc_streq(rq->decl->name, from->op->name)))
		return -EPROTOTYPE;
	way->decl = rq->decl;
	way->ks = rq->ks.bits;
	way->in_rcu = from->state & DK__CALL_IN_RCU;
	dkc_begin(f, from->op, rq->decl, dk_call_local(from),
		  from->state & DK__CALL_BOXED, way);
	return dkc_enter(f, from->op, way);
}

/* By all that is known of a call: the rules, hooks, layouts, boxed functions. */
static dkc_noinline int dkc_enter_slowly(struct dk_frame *f, const struct dk__request *rq,
					 const struct dk_obj *const *objs, unsigned int n)
{
	struct dkc_way way = {
		.objs = objs, .n = n, .key = rq->key,
		.mask = !rq->from && !(rq->flags & DK__BY_KEYSET),
		.at_key = rq->flags & DK__BY_KEY, .boxed = rq->flags & DK__FROM_BOXED,
		.in_rcu = rq->how & DK__HOW_IN_RCU,
	};

	if (rq->from)
		return dkc_redispatch(f, rq, &way);
	return rq->op ? dkc_call_op(f, rq->op, rq, &way) : dkc_call_by_name(f, rq, &way);
}

/* A call that has begun goes on in a frame, which may be left in any order. */
static int dkc_enter_begun(struct dk_frame *f, struct dk__slot *slot, int how)
{
	struct dk_call *c = &f->call;
	int err;

	if (!dkc_slots_are_gate()) {
		f->state = how & DK__HOW_IN_RCU ? DKC_CALL_IN_CALLERS :
			   c->state & DK__CALL_IN_RCU ? DKC_CALL_IN_SECTION : DKC_CALL_IN_GATE;
		return 0;
	}
	f->state = DKC_CALL_IN_GATE;
	f->room.entry = *c->entry;
	err = dkc_gate_enter(f->room.gate, c->entry->reg, c->op);
	c->entry = &f->room.entry;
	dk__end(slot, how);
	return err;
}

int dk__call_enter(struct dk_frame *f, struct dk__request *rq,
		   const struct dk_obj *const *objs, unsigned int n)
{
	struct dk__slot own DK__NOT_SET, *slot = dkc_slots_are_gate() ? &own : &f->slot;
	unsigned long flags = rq->flags & DK__FROM_BOXED ? DK__CALL_FRAME | DK__CALL_BOXED :
							   DK__CALL_FRAME;
	int err = dkc_fast_call(&f->call, slot, rq, flags, objs, n);

	if (err < 0)
		return err;
	if (err)
		return dkc_enter_slowly(f, rq, objs, n);
	f->objs = objs;
	f->n = n;
	f->boxed = NULL;
	f->run = f->call.entry->fn;
	return dkc_enter_begun(f, slot, rq->how);
}

/* ---- without DK_OP() ---------------------------------------------------------------- */

int dk_call_enter(struct dk_frame *f, struct dk_op_decl *decl,
		  const struct dk_local *local, const struct dk_obj *const *objs,
		  unsigned int n)
{
	struct dk__request rq = { .decl = decl, .local = local };

	return dk__call_enter(f, &rq, objs, n);
}

int dk_call_enter_op(struct dk_frame *f, struct dk_op *op, struct dk_op_decl *decl,
		     const struct dk_local *local, const struct dk_obj *const *objs,
		     unsigned int n)
{
	struct dk__request rq = { .op = op, .decl = decl, .local = local };

	return dk__call_enter(f, &rq, objs, n);
}

int dk_call_enter_key(struct dk_frame *f, struct dk_op *op, struct dk_op_decl *decl,
		      const struct dk_local *local, unsigned int key,
		      const struct dk_obj *const *objs, unsigned int n)
{
	struct dk__request rq = {
		.op = op, .decl = decl, .local = local, .key = key, .flags = DK__BY_KEY,
	};

	return dk__call_enter(f, &rq, objs, n);
}

int dk_call_enter_keyset(struct dk_frame *f, struct dk_op *op, struct dk_op_decl *decl,
			 const struct dk_local *local, struct dk_keyset ks,
			 const struct dk_obj *const *objs, unsigned int n)
{
	struct dk__request rq = {
		.op = op, .decl = decl, .local = local, .ks = ks, .flags = DK__BY_KEYSET,
	};

	return dk__call_enter(f, &rq, objs, n);
}

int dk_call_redispatch(struct dk_frame *f, const struct dk_call *from,
		       const struct dk_op_decl *decl, struct dk_keyset ks,
		       const struct dk_obj *const *objs, unsigned int n)
{
	struct dk__request rq = {
		.decl = (struct dk_op_decl *)decl, .from = from, .ks = ks,
	};

	return dk__call_enter(f, &rq, objs, n);
}

/* ---- from inside of a call ------------------------------------------------------------ */

/* As dk_keyset_after() of dk_keyset_key(), without the way over the key. */
struct dk_keyset dk__call_below(const struct dk_call *c)
{
	const struct dk_layout *l = c->op->reg->layout;
	unsigned int f = dkc_fls64((c->ks.bits & l->full) >> l->nb);

	return DK_KEYSET(c->ks.bits & ((dkc_functionality_bit(l, f) - 1) |
				       dkc_role_bit(l, DKC_ROLE_PYTHON_DISPATCHER)));
}

void *dk_call_priv(const struct dk_call *c)
{
	return dkc_block_of(c->entry->reg)->priv;
}

__u32 dk_call_device(const struct dk_call *c)
{
	return dkc_block_of(c->entry->reg)->device;
}

/* ---- and out ------------------------------------------------------------------------- */

static dkc_noinline void dkc_leave_watched(struct dk_frame *f)
{
	if (f->state & DKC_CALL_HOOKED)
		dkc_hooks_after(f);
	if (f->state & DKC_CALL_TRACED)
		dkc_trace_call(call_exit, f);
	f->state &= ~DKC_CALL_FLAGS;
}

void dk_call_leave(struct dk_frame *f)
{
	if (dkc_unlikely(f->state & DKC_CALL_FLAGS))
		dkc_leave_watched(f);
	if (f->state == DKC_CALL_IN_GATE) {
		dkc_gate_leave(f->room.gate);
	} else if (f->state == DKC_CALL_IN_SECTION) {
		dkc_section_ends();
		dkc_read_unlock();
	}
}
