// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The call path: merge, mask, index, enter. It writes nothing that another
 * thread or CPU writes, takes no lock, and its cost does not depend on how
 * many operators, functions or fallthroughs there are.
 *
 * The arithmetic is written once, with the numbers of a layout as arguments:
 * for v1 they are constants, for other layouts they come from struct dk_layout.
 */
#include "registry.h"

/* Where v1's entries begin by the highest bit of a set, and if they are one a backend. */
static const struct {
	u8 first;
	u8 backends;		/* all bits of a backend's index, or 0 */
} dkc_v1_place[64] = {
#define DKC_PLACE(U, N, per_backend)					\
	[DK_NUM_BACKENDS - 1 + DK_##U] = { DK_SLOT_##U, (per_backend) ? 0xff : 0 },
	DK_FUNCTIONALITIES(DKC_PLACE)
#undef DKC_PLACE
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
static inline unsigned long dkc_v1_backend_index(u64 ks)
{
	return dkc_top_bit((ks & DK_BACKEND_MASK) | 1);
}

static inline unsigned long dkc_v1_index(u64 ks, unsigned long b)
{
	unsigned long top = dkc_top_bit(ks | 1);

	return dkc_v1_place[top].first + (b & dkc_v1_place[top].backends);
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
		return dkc_v1_index(ks & DK_FULL, dkc_v1_backend_index(ks));
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

u64 dkc_raw(const struct dk_obj *const *objs, unsigned int n)
{
	u64 raw = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		if (objs[i])
			raw |= objs[i]->ks.bits;
	return raw;
}

/* The object, or the first of a list, that lives on a backend. */
static const struct dk_obj *dkc_on_backend(const struct dk_obj *o, u64 backend)
{
	const struct dk_list *list = (const struct dk_list *)o;
	const struct dk_obj *item;
	unsigned long i;

	if (dkc_likely(o->flags != DK_OBJ_LIST))
		return o->ks.bits & backend ? o : NULL;
	for (i = 0; i < list->n; i++) {
		item = dk_list_at(list, i);
		if (item && (item->ks.bits & backend))
			return item;
	}
	return NULL;
}

/* The device of the first argument that lives on the highest backend of @ks. */
u32 dkc_device_of(const struct dk_layout *l, u64 ks, const struct dk_obj *const *objs,
		  unsigned int n)
{
	u64 top = ks & l->backend_mask;
	const struct dk_obj *o;
	unsigned int i;

	if (!top)
		return 0;
	top = 1ULL << (dkc_fls64(top) - 1);
	for (i = 0; i < n; i++) {
		o = objs[i] ? dkc_on_backend(objs[i], top) : NULL;
		if (o)
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
 * The rules have found what is registered now, and the row that we read may be
 * older: of a definition that was atomic, or when no type was known.
 */
static int dkc_found_by_rules(const struct dkc_row *row, struct dkc_way *way)
{
	const struct dk_impl *impl = dkc_impl_of(way->reg);
	const char *sig = impl->op ? impl->op->sig : NULL;

	if ((row->op_flags & DK_OP_ATOMIC) && !(impl->flags & DK_IMPL_F_ATOMIC))
		return -ENOENT;
	if (way->decl && way->decl->sig && sig &&
	    dkc_sig_hash(way->decl->sig) != dkc_sig_hash(sig))
		return -EPROTOTYPE;
	way->fn = impl->fn;
	return 0;
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
	const struct dkc_ent *e;
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
static void dkc_look_at_key(struct dk_op *op, const struct dkc_row *row, u32 device,
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
		dkc_look_at_key(op, row, device,
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

/* What is known before the call is routed. */
static dkc_always_inline void dkc_begin(struct dk_call *c, struct dk_op *op,
					const struct dk_op_decl *decl,
					const struct dk_local *local, unsigned int flags,
					const struct dk_obj *const *objs, unsigned int n,
					u64 ks)
{
	c->ks.bits = ks;
	c->objs = objs;
	c->n = n;
	c->flags = flags;
	c->decl = decl;
	c->local = local;
	c->op = op;
}

/* And behind. */
static dkc_always_inline void dkc_fill(struct dk_call *c, const struct dkc_reg *r,
				       dk_fn_t fn, u64 ks)
{
	c->ks.bits = ks;
	c->fn = fn;
	c->serves = r;
}

/* Out of a section that the checker does not follow. */
static dkc_always_inline void dkc_look_away(void)
{
	dkc_section_ends();
	dkc_read_unlock();
}

/*
 * In the section the row was read; here the gate is entered. A provider that
 * goes has unpublished its rows first, so whoever read an old one is seen in the
 * gate or, of an atomic operator, keeps the grace period from ending.
 */
static dkc_always_inline int dkc_pass_gate(struct dk_call *c)
{
	const struct dkc_reg *r = c->serves;

	c->state = DKC_CALL_SLEEPABLE;
	return dkc_gate_enter(c->gate, dkc_block_of(r)->prov, r, c->op);
}

static dkc_noinline int dkc_enter_gate(struct dk_call *c)
{
	int err = dkc_pass_gate(c);

	dkc_look_away();
	dkc_might_sleep();
	return err;
}

/* From a section of the caller's. */
static dkc_noinline int dkc_enter_gate_in_rcu(struct dk_call *c)
{
	dkc_read_lock();
	dkc_section_stays();
	return dkc_enter_gate(c);
}

/*
 * A declaration that was compared with a row and fits keeps the hash that a row has
 * to have. Who gives it another text to point to gives it another mark to have.
 */
static inline u64 dkc_sig_mark(const struct dk_op_decl *decl, u64 sig)
{
	return sig ^ (uintptr_t)decl->sig;
}

static inline bool dkc_is_marked(const struct dk_op_decl *decl, u64 sig)
{
	return sig && dkc_load(decl->sig_mark) == dkc_sig_mark(decl, sig);
}

/* Is the function of another type than the caller will call it with? */
static bool dkc_wrong_type(const struct dk_op *op, const struct dkc_row *row,
			   struct dkc_way *way)
{
	u64 sig = row->kind == DKC_ROW_FULL ? row->sig : dkc_load(op->sig);

	if (!way->decl->sig || !sig || dkc_is_marked(way->decl, sig))
		return false;
	way->sig = dkc_sig_hash(way->decl->sig);
	return way->sig != sig;
}

/* In a read section: what serves, by the row. */
static inline int dkc_find_typed(struct dk_op *op, const struct dkc_row *row,
				 struct dkc_way *way)
{
	/* before any answer about the route */
	if (dkc_unlikely(way->decl) && dkc_wrong_type(op, row, way))
		return -EPROTOTYPE;
	return way->at_key ? dkc_find_at_key(op, row, way) : dkc_find(op, row, way);
}

/* In a read section: all that can be said against a call of the right type. */
static inline int dkc_admit(struct dk_op *op, const struct dkc_row *row,
			    struct dkc_way *way)
{
	if (dkc_unlikely(row->op_flags & DK_OP_SAME_DEVICE) &&
	    dkc_on_two_devices(op->reg, way->reg, way->objs, way->n))
		return -EXDEV;
	return 0;
}

/* In a read section, which ends unless the call of an atomic operator has it. */
static dkc_noinline int dkc_enter_row(struct dk_call *c, struct dk_op *op,
				      const struct dkc_row *row, struct dkc_way *way)
{
	int err = dkc_find_typed(op, row, way);

	if (dkc_likely(!err))
		err = dkc_admit(op, row, way);
	if (dkc_unlikely(err))
		goto out;
	c->boxed = dkc_boxed_of(dkc_impl_of(way->reg), way->fn);
	if (c->boxed)
		c->flags |= DK_CALL_PACKED;
	dkc_fill(c, way->reg, way->fn, way->ks);
	if (!(row->op_flags & DK_OP_ATOMIC))
		return dkc_enter_gate(c);
	if (!way->in_rcu) {
		c->state = DKC_CALL_ATOMIC;
		return 0;
	}
	c->state = DKC_CALL_IN_RCU;
out:
	dkc_look_away();
	return err;
}

static int dkc_enter_plain(struct dk_call *c, struct dk_op *op, struct dkc_way *way)
{
	dkc_read_lock();
	dkc_section_stays();
	return dkc_enter_row(c, op, dkc_deref(op->row), way);
}

/* Enter a call, count it, and tell of it whoever wants to know. */
static dkc_noinline int dkc_enter_watched(struct dk_call *c, struct dk_op *op,
					  struct dkc_way *way)
{
	int err = dkc_enter_plain(c, op, way);
	bool missing = err == -ENOSYS || err == -ENOTUNIQ || err == -ENODEV;

	if (!err) {
		dkc_stats_count(op, way->reg);
		dkc_trace_call(call_enter, c, way);
	} else if (missing) {
		dkc_stats_count_missing(op);
		dkc_trace_call(missing, op, way->ks, err);
	}
	if (!way->at_key && (!err || missing || err == -EXDEV))
		dkc_hooks_before(c, op, way, err);
	if (!err && dkc_traced(call_exit))
		c->state |= DKC_CALL_TRACED;
	return err;
}

static inline int dkc_enter(struct dk_call *c, struct dk_op *op, struct dkc_way *way)
{
	return dkc_watched() ? dkc_enter_watched(c, op, way) : dkc_enter_plain(c, op, way);
}

/* From objects and local state to the keyset, and in; or -EPROTOTYPE. */
static int dkc_call_op(struct dk_call *c, struct dk_op *op,
		       const struct dk_op_decl *decl, const struct dk_local *local,
		       struct dkc_way *way)
{
	/* one that points to its operator was compared when it began to */
	if (dkc_unlikely(dkc_load(decl->op) != op)) {
		if (!dkc_decl_fits(decl))
			return -EPROTOTYPE;
		way->decl = decl;
	}
	if (!way->by_keyset)
		way->ks = dkc_merge(dkc_raw(way->objs, way->n),
				    dk_local_included(local).bits,
				    dk_local_excluded(local).bits,
				    dkc_backend_mask(op->reg));
	dkc_begin(c, op, decl, local, way->boxed ? DK_CALL_BOXED : 0, way->objs, way->n,
		  way->ks);
	return dkc_enter(c, op, way);
}

int dkc_call(struct dk_call *c, struct dk_op *op, struct dk_op_decl *decl,
	     const struct dk_local *local, struct dkc_way *way)
{
	int err;

	if (op) {
		err = dkc_call_op(c, op, decl, local, way);
		if (!err && way->sig)
			dkc_store(decl->sig_mark, dkc_sig_mark(decl, way->sig));
		return err;
	}
	op = dkc_load(decl->op);
	if (op) {
		err = dkc_call_op(c, op, decl, local, way);
		if (err != -ENOENT || !dkc_load(op->stale))
			return err;
		dkc_store(decl->op, NULL);
	}
	err = dkc_op_pin(decl, &op);
	return err ? err : dkc_call_op(c, op, decl, local, way);
}

/* ---- the way of almost every call ------------------------------------------- */

/* Whatever is not found there, with what dkc_begin() has put into the call. */
static dkc_noinline int dkc_call_slowly(struct dk_call *c, struct dk_op *op)
{
	struct dkc_way way = {
		.objs = c->objs, .n = c->n, .mask = true,
		.boxed = c->flags & DK_CALL_BOXED,
	};

	return dkc_call(c, op, (struct dk_op_decl *)c->decl, c->local, &way);
}

/*
 * What a row of v1 has for a set, where it is called as it is, else NULL. Where
 * there is no row of v1, or more has to be asked, all ids are too small. The row is
 * that of the call's device: whoever has one with @devs asks for that first.
 */
static dkc_always_inline const struct dkc_ent *
dkc_look_up(const struct dkc_row *row, u64 *ks, bool masked)
{
	unsigned long b = dkc_v1_backend_index(*ks), id;
	const struct dkc_shape *shape = row->shape;
	const struct dkc_ent *e;

	*ks &= masked ? shape->mask[b] : DK_FULL;
	id = shape->index[dkc_v1_index(*ks, b)];
	if (dkc_unlikely(id < row->direct))
		return NULL;
	e = dkc_row_ent(row, id);
	if (!e)
		__builtin_unreachable();	/* so that nobody asks again */
	return e;
}

/*
 * Into a section and to the row. False where the thread has to be made known
 * first. @in_rcu is a constant.
 */
static dkc_always_inline bool dkc_look(struct dk_op *op, const struct dkc_row **row,
				       bool in_rcu)
{
	if (!in_rcu) {
		if (dkc_unlikely(dkc_first_section()))
			return false;
		dkc_read_lock();
		dkc_section_stays();
	}
	*row = dkc_deref(op->row);
	return true;
}

/* Enter what was found. */
static dkc_always_inline int dkc_enter_direct(struct dk_call *c,
					      const struct dkc_row *row,
					      const struct dkc_ent *e, u64 ks, bool in_rcu)
{
	dkc_fill(c, e->reg, e->fn, ks);
	if (dkc_unlikely(!(row->op_flags & DK_OP_ATOMIC)))
		return in_rcu ? dkc_enter_gate_in_rcu(c) : dkc_enter_gate(c);
	c->state = in_rcu ? DKC_CALL_IN_RCU : DKC_CALL_ATOMIC;
	return 0;
}

static dkc_noinline const struct dkc_row *dkc_row_by_device(const struct dk_call *c,
							    const struct dkc_row *row,
							    u64 ks)
{
	return dkc_row_of_device(row, dkc_device_of(c->op->reg->layout, ks, c->objs, c->n));
}

/* The row itself, or where devices have functions of their own, that of the call's. */
static dkc_always_inline const struct dkc_row *dkc_row_of_call(const struct dk_call *c,
							       const struct dkc_row *row,
							       u64 ks)
{
	return dkc_unlikely(row->devs) ? dkc_row_by_device(c, row, ks) : row;
}

/*
 * The highest backend of a set of v1 is one of an object, unless local state has added
 * it, and mostly of the first: NULL, where it is not.
 */
static dkc_always_inline const struct dk_obj *dkc_first_on_top(const struct dk_call *c,
							       u64 ks)
{
	const struct dk_obj *o = c->n ? c->objs[0] : NULL;

	if (dkc_unlikely(!o) || dkc_unlikely(o->flags == DK_OBJ_LIST) ||
	    dkc_unlikely(!(o->ks.bits >> dkc_v1_backend_index(ks) & 1)))
		return NULL;
	return o;
}

/* Does nothing serve a set, by the row of its device in a registry of v1? */
static dkc_always_inline bool dkc_is_missing(const struct dkc_row *own, u64 *ks)
{
	unsigned long b = dkc_v1_backend_index(*ks), slot;

	*ks &= own->shape->mask[b];
	slot = dkc_v1_index(*ks, b);
	return own->kind == DKC_ROW_FULL && own->shape->index[slot] == DKC_ID_MISSING;
}

/* It does not. */
static dkc_noinline int dkc_why_missing(const struct dk_call *c, u64 ks)
{
	const struct dk_registry *reg = c->op->reg;
	const struct dk_obj *o = dkc_first_on_top(c, ks);
	u32 device = o ? o->device : dkc_device_of(reg->layout, ks, c->objs, c->n);

	return device && !dkc_device_online(reg, device) ? -ENODEV : -ENOSYS;
}

/* The same, and the section ends. */
static int dkc_refuse_missing(const struct dk_call *c, u64 ks)
{
	int err = dkc_why_missing(c, ks);

	dkc_look_away();
	return err;
}

/* Whatever has no direct way. The call has the set that is not masked yet. */
static dkc_always_inline int dkc_enter_otherwise(struct dk_call *c,
						 const struct dkc_row *row, bool by_name)
{
	const struct dk_op *op = c->op;
	u64 ks = c->ks.bits;
	int err;

	if (dkc_likely(op->reg->v1)) {
		struct dkc_way way = {
			.objs = c->objs, .n = c->n, .mask = true, .ks = c->ks.bits,
			.boxed = c->flags & DK_CALL_BOXED,
		};

		if (dkc_is_missing(dkc_row_of_call(c, row, ks), &ks))
			return dkc_refuse_missing(c, ks);
		err = dkc_enter_row(c, c->op, row, &way);
		if (err != -ENOENT || !by_name || !dkc_load(op->stale))
			return err;
	} else {
		dkc_look_away();
	}
	return dkc_call_slowly(c, by_name ? NULL : c->op);
}

static dkc_noinline int dkc_enter_named_otherwise(struct dk_call *c,
						  const struct dkc_row *row)
{
	return dkc_enter_otherwise(c, row, true);
}

static dkc_noinline int dkc_enter_op_otherwise(struct dk_call *c,
					       const struct dkc_row *row)
{
	return dkc_enter_otherwise(c, row, false);
}

/*
 * Where devices have functions of their own: the row of the first object's, NULL where
 * that is not the first one that is looked at.
 */
static dkc_always_inline const struct dkc_row *dkc_row_of_first(const struct dk_call *c,
								const struct dkc_row *row,
								u64 ks)
{
	const struct dk_obj *o = dkc_first_on_top(c, ks);
	const struct dkc_devtab *tab = row->devs;
	const struct dkc_row *own;
	u32 i;

	if (!o)
		return NULL;
	i = o->device & tab->mask;
	if (dkc_unlikely(tab->slot[i].number != o->device))
		return NULL;
	own = tab->slot[i].row;
	if (!own)
		__builtin_unreachable();	/* so that nobody asks again */
	return own;
}

/* By any object, and any row. */
static dkc_noinline int dkc_enter_by_device(struct dk_call *c, const struct dkc_row *row,
					    bool by_name)
{
	u64 ks = c->ks.bits;
	const struct dkc_row *own = dkc_row_by_device(c, row, ks);
	const struct dkc_ent *e = dkc_look_up(own, &ks, true);

	if (e)
		return dkc_enter_direct(c, own, e, ks, false);
	return by_name ? dkc_enter_named_otherwise(c, row) :
			 dkc_enter_op_otherwise(c, row);
}

static dkc_always_inline int dkc_enter_device(struct dk_call *c,
					      const struct dkc_row *row, bool by_name)
{
	u64 ks = c->ks.bits;
	const struct dkc_row *own = dkc_row_of_first(c, row, ks);
	const struct dkc_ent *e = own ? dkc_look_up(own, &ks, true) : NULL;

	return dkc_likely(e) ? dkc_enter_direct(c, own, e, ks, false) :
			       dkc_enter_by_device(c, row, by_name);
}

static dkc_noinline int dkc_enter_named_device(struct dk_call *c,
					       const struct dkc_row *row)
{
	return dkc_enter_device(c, row, true);
}

static dkc_noinline int dkc_enter_op_device(struct dk_call *c, const struct dkc_row *row)
{
	return dkc_enter_device(c, row, false);
}

/* Does nobody want more than its count? Hooks and tracers are told of a call. */
static inline bool dkc_is_only_counted(const struct dk_op *op)
{
	return !dkc_deref(op->reg->hooks) && !dkc_traced(call_enter) &&
	       !dkc_traced(call_exit);
}

/* As dkc_enter_direct(), and the call is counted while the section still lasts. */
static dkc_always_inline int dkc_enter_counted(struct dk_call *c, const struct dk_op *op,
					       const struct dkc_row *row,
					       const struct dkc_ent *e, u64 ks)
{
	bool atomic = row->op_flags & DK_OP_ATOMIC;
	int err = 0;

	dkc_fill(c, e->reg, e->fn, ks);
	if (atomic)
		c->state = DKC_CALL_ATOMIC;
	else
		err = dkc_pass_gate(c);
	if (dkc_likely(!err))
		dkc_stats_count_here(op, c->serves);
	if (!atomic) {
		dkc_look_away();
		dkc_might_sleep();
	}
	return err;
}

/* Does a caller call a row by its type, as he is known to? */
static dkc_always_inline bool dkc_is_of_type(const struct dk_op_decl *decl,
					     const struct dk_op *op,
					     const struct dkc_row *row)
{
	return dkc_likely(dkc_load(decl->op) == op) ||
	       (dkc_likely(decl->size == sizeof(*decl)) && dkc_is_marked(decl, row->sig));
}

/* A call that has begun, and is watched: by the name of its operator, or not. */
static dkc_always_inline int dkc_call_watched(struct dk_call *c, bool by_name)
{
	struct dk_op *op = c->op;
	const struct dkc_row *row;
	const struct dkc_ent *e;
	u64 ks = c->ks.bits;

	if (!dkc_is_only_counted(op) || !dkc_look(op, &row, false))
		goto slowly;
	row = dkc_row_of_call(c, row, ks);
	e = dkc_is_of_type(c->decl, op, row) ? dkc_look_up(row, &ks, true) : NULL;
	if (dkc_unlikely(!e)) {
		dkc_look_away();
		goto slowly;
	}
	return dkc_enter_counted(c, op, row, e, ks);
slowly:
	return dkc_call_slowly(c, by_name ? NULL : op);
}

static dkc_noinline int dkc_call_named_watched(struct dk_call *c)
{
	return dkc_call_watched(c, true);
}

static dkc_noinline int dkc_call_op_watched(struct dk_call *c)
{
	return dkc_call_watched(c, false);
}

/*
 * By handle, where the declaration points to no operator or to another one: to that
 * of its name in the default registry.
 */
static dkc_noinline int dkc_call_by_type(struct dk_call *c)
{
	struct dk_op *op = c->op;
	const struct dkc_row *row;
	const struct dkc_ent *e;
	u64 ks = c->ks.bits;

	if (!dkc_look(op, &row, false))
		return dkc_call_slowly(c, op);
	if (dkc_unlikely(!dkc_is_of_type(c->decl, op, row))) {
		dkc_look_away();
		return dkc_call_slowly(c, op);
	}
	if (dkc_unlikely(row->devs))
		return dkc_enter_op_device(c, row);
	e = dkc_look_up(row, &ks, true);
	return dkc_likely(e) ? dkc_enter_direct(c, row, e, ks, false) :
			       dkc_enter_op_otherwise(c, row);
}

static dkc_always_inline u64 dkc_v1_merge(u64 raw, const struct dk_local *local)
{
	return dkc_merge(raw, dk_local_included(local).bits,
			 dk_local_excluded(local).bits, DK_BACKEND_MASK);
}

/* By the name of the operator, which may not be known yet, or by handle: a constant. */
static dkc_always_inline int dkc_enter_op(struct dk_call *c, struct dk_op *op,
					  const struct dk_op_decl *decl,
					  const struct dk_local *local,
					  unsigned int flags,
					  const struct dk_obj *const *objs, unsigned int n,
					  u64 raw, bool by_name)
{
	u64 ks = dkc_v1_merge(raw, local);
	const struct dkc_row *row;
	const struct dkc_ent *e;

	dkc_begin(c, op, decl, local, flags, objs, n, ks);
	if (by_name && dkc_unlikely(!op))
		return dkc_call_slowly(c, NULL);
	if (dkc_watched())
		return by_name ? dkc_call_named_watched(c) : dkc_call_op_watched(c);
	if (!by_name && dkc_unlikely(dkc_load(decl->op) != op))
		return dkc_call_by_type(c);
	if (!dkc_look(op, &row, false))
		return dkc_call_slowly(c, by_name ? NULL : op);
	if (dkc_unlikely(row->devs))
		return by_name ? dkc_enter_named_device(c, row) :
				 dkc_enter_op_device(c, row);
	e = dkc_look_up(row, &ks, true);
	if (dkc_unlikely(!e))
		return by_name ? dkc_enter_named_otherwise(c, row) :
				 dkc_enter_op_otherwise(c, row);
	return dkc_enter_direct(c, row, e, ks, false);
}

int dk__call_enter(struct dk_call *c, struct dk_op_decl *decl,
		   const struct dk_local *local, const struct dk_obj *const *objs,
		   unsigned int n, __u64 raw)
{
	return dkc_enter_op(c, dkc_load(decl->op), decl, local, 0, objs, n, raw, true);
}

int dk_call_enter(struct dk_call *c, struct dk_op_decl *decl,
		  const struct dk_local *local, const struct dk_obj *const *objs,
		  unsigned int n)
{
	return dk__call_enter(c, decl, local, objs, n, dkc_raw(objs, n));
}

int dk__call_enter_op(struct dk_call *c, struct dk_op *op,
		      struct dk_op_decl *decl, const struct dk_local *local,
		      const struct dk_obj *const *objs, unsigned int n)
{
	return dkc_enter_op(c, op, decl, local, 0, objs, n, c->ks.bits, false);
}

int dk_call_enter_op(struct dk_call *c, struct dk_op *op,
		     struct dk_op_decl *decl, const struct dk_local *local,
		     const struct dk_obj *const *objs, unsigned int n)
{
	c->ks.bits = dkc_raw(objs, n);
	return dk__call_enter_op(c, op, decl, local, objs, n);
}

int dkc_call_enter_boxed(struct dk_call *c, struct dk_op *op, struct dk_op_decl *decl,
			 const struct dk_local *local, const struct dk_obj *const *objs,
			 unsigned int n)
{
	u64 raw = dkc_raw(objs, n);

	if (op)
		return dkc_enter_op(c, op, decl, local, DK_CALL_BOXED, objs, n, raw, false);
	return dkc_enter_op(c, dkc_load(decl->op), decl, local, DK_CALL_BOXED, objs, n, raw,
			    true);
}

int dk_call_enter_key(struct dk_call *c, struct dk_op *op, struct dk_op_decl *decl,
		      const struct dk_local *local, unsigned int key,
		      const struct dk_obj *const *objs, unsigned int n)
{
	struct dkc_way way = {
		.objs = objs, .n = n, .mask = true, .at_key = true, .key = key,
	};

	return dkc_call(c, op, decl, local, &way);
}

int dk_call_enter_keyset(struct dk_call *c, struct dk_op *op, struct dk_op_decl *decl,
			 const struct dk_local *local, struct dk_keyset ks,
			 const struct dk_obj *const *objs, unsigned int n)
{
	struct dkc_way way = { .objs = objs, .n = n, .by_keyset = true, .ks = ks.bits };

	return dkc_call(c, op, decl, local, &way);
}

#if DKC_RCU_CALLERS

/* ---- from inside an RCU section of the caller's ------------------------------- */

/* Whatever has no direct way. The call has the set that is not masked yet. */
static dkc_noinline int dkc_enter_rcu_slowly(struct dk_call *c)
{
	struct dkc_way way = { .objs = c->objs, .n = c->n, .mask = true, .in_rcu = true };

	return dkc_call(c, NULL, (struct dk_op_decl *)c->decl, c->local, &way);
}

/* Where devices have functions of their own, or the row has none. */
static dkc_noinline int dkc_enter_rcu_otherwise(struct dk_call *c,
						const struct dkc_row *row)
{
	const struct dkc_row *own = dkc_row_of_call(c, row, c->ks.bits);
	u64 ks = c->ks.bits, left = ks;
	const struct dkc_ent *e = own == row ? NULL : dkc_look_up(own, &ks, true);

	if (e)
		return dkc_enter_direct(c, own, e, ks, true);
	if (dkc_likely(c->op->reg->v1) && dkc_is_missing(own, &left))
		return dkc_why_missing(c, left);
	return dkc_enter_rcu_slowly(c);
}

int dk__call_enter_rcu(struct dk_call *c, struct dk_op_decl *decl,
		       const struct dk_local *local, const struct dk_obj *const *objs,
		       unsigned int n, __u64 raw)
{
	struct dk_op *op = dkc_load(decl->op);
	u64 ks = dkc_v1_merge(raw, local);
	const struct dkc_row *row;
	const struct dkc_ent *e;

	dkc_begin(c, op, decl, local, 0, objs, n, ks);
	if (dkc_unlikely(!op) || dkc_watched())
		return dkc_enter_rcu_slowly(c);
	dkc_look(op, &row, true);
	if (dkc_unlikely(row->devs))
		return dkc_enter_rcu_otherwise(c, row);
	e = dkc_look_up(row, &ks, true);
	if (dkc_unlikely(!e))
		return dkc_enter_rcu_otherwise(c, row);
	return dkc_enter_direct(c, row, e, ks, true);
}

int dk_call_enter_rcu(struct dk_call *c, struct dk_op_decl *decl,
		      const struct dk_local *local, const struct dk_obj *const *objs,
		      unsigned int n)
{
	return dk__call_enter_rcu(c, decl, local, objs, n, dkc_raw(objs, n));
}

#endif

/* ---- from inside of a call --------------------------------------------------- */

static bool dkc_is_in_rcu(const struct dk_call *c)
{
	unsigned int state = c->state & ~DKC_CALL_FLAGS;

	return state == DKC_CALL_ATOMIC || state == DKC_CALL_IN_RCU;
}

int dkc_redispatch(struct dk_call *c, const struct dk_call *from,
		   const struct dk_op_decl *decl, struct dkc_way *way)
{
	if (dkc_unlikely(decl != from->decl)) {
		if (!dkc_decl_fits(decl) ||
		    !dkc_streq(decl->name, from->op->name))
			return -EPROTOTYPE;
		way->decl = decl;
	}
	way->in_rcu = dkc_is_in_rcu(from);
	dkc_begin(c, from->op, decl, from->local, from->flags & ~DK_CALL_PACKED,
		  way->objs, way->n, way->ks);
	return dkc_enter(c, from->op, way);
}

/* The call has the set that was asked for. */
static dkc_noinline int dkc_redispatch_slowly(struct dk_call *c,
					      const struct dk_call *from)
{
	struct dkc_way way = { .objs = c->objs, .n = c->n, .ks = c->ks.bits };

	return dkc_redispatch(c, from, c->decl, &way);
}

/* Where devices have functions of their own, and for whatever has no direct way. */
static dkc_noinline int dkc_redispatch_otherwise(struct dk_call *c,
						 const struct dk_call *from,
						 const struct dkc_row *row)
{
	u64 below = c->ks.bits;
	const struct dkc_ent *e;

	if (row->devs) {
		row = dkc_row_by_device(c, row, below);
		e = dkc_look_up(row, &below, false);
		if (e)
			return dkc_enter_direct(c, row, e, below, dkc_is_in_rcu(from));
	}
	if (!dkc_is_in_rcu(from))
		dkc_look_away();
	return dkc_redispatch_slowly(c, from);
}

/* From inside of a call that is in no section. */
static dkc_noinline int dkc_redispatch_in(struct dk_call *c, const struct dk_call *from)
{
	const struct dkc_row *row;
	const struct dkc_ent *e;
	u64 ks = c->ks.bits;

	if ((from->state & DKC_CALL_FLAGS) || !dkc_look(c->op, &row, false))
		return dkc_redispatch_slowly(c, from);
	if (dkc_unlikely(row->devs))
		return dkc_redispatch_otherwise(c, from, row);
	e = dkc_look_up(row, &ks, false);
	if (dkc_unlikely(!e))
		return dkc_redispatch_otherwise(c, from, row);
	return dkc_enter_direct(c, row, e, ks, false);
}

/* The section of an atomic call lasts for those inside of it. */
int dk_call_redispatch(struct dk_call *c, const struct dk_call *from,
		       const struct dk_op_decl *decl, struct dk_keyset ks,
		       const struct dk_obj *const *objs, unsigned int n)
{
	const struct dkc_row *row;
	const struct dkc_ent *e;
	u64 below = ks.bits;

	dkc_begin(c, from->op, decl, from->local, from->flags & ~DK_CALL_PACKED, objs, n,
		  ks.bits);
	if (dkc_unlikely(decl != from->decl) || dkc_watched())
		return dkc_redispatch_slowly(c, from);
	if (!dkc_is_in_rcu(from))
		return dkc_redispatch_in(c, from);
	dkc_look(c->op, &row, true);
	if (dkc_unlikely(row->devs))
		return dkc_redispatch_otherwise(c, from, row);
	e = dkc_look_up(row, &below, false);
	if (dkc_unlikely(!e))
		return dkc_redispatch_otherwise(c, from, row);
	return dkc_enter_direct(c, row, e, below, true);
}

/* As dk_keyset_after() of dk_keyset_key(), without the way over the key. */
struct dk_keyset dk_call_below(const struct dk_call *c)
{
	const struct dk_layout *l = c->op->reg->layout;
	unsigned int f = dkc_fls64((c->ks.bits & l->full) >> l->nb);

	return DK_KEYSET(c->ks.bits & ((dkc_functionality_bit(l, f) - 1) |
				       dkc_role_bit(l, DKC_ROLE_PYTHON_DISPATCHER)));
}

void *dk_call_priv(const struct dk_call *c)
{
	return dkc_block_of(c->serves)->priv;
}

__u32 dk_call_device(const struct dk_call *c)
{
	return dkc_block_of(c->serves)->device;
}

/* ---- and out ------------------------------------------------------------------ */

/* False where there is nothing to leave. */
static inline bool dkc_leave(struct dk_call *c)
{
	if (c->state == DKC_CALL_ATOMIC)
		dkc_look_away();
	else if (dkc_likely(c->state == DKC_CALL_SLEEPABLE))
		dkc_gate_leave(c->gate);
	else
		return false;
	return true;
}

static dkc_noinline void dkc_leave_watched(struct dk_call *c)
{
	bool hooked = c->state & DKC_CALL_HOOKED;

	c->state &= ~DKC_CALL_FLAGS;
	if (hooked)
		dkc_hooks_after(c);
	dkc_trace_call(call_exit, c);
	dkc_leave(c);
}

void dk_call_leave(struct dk_call *c)
{
	if (!dkc_leave(c) && (c->state & DKC_CALL_FLAGS))
		dkc_leave_watched(c);
}
