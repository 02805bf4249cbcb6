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

static const u16 dkc_v1_offset[] = {
#define DKC_OFFSET(U, N, per_backend) DK_SLOT_##U,
	DK_FUNCTIONALITIES(DKC_OFFSET)
#undef DKC_OFFSET
};

/* 0-based index of the highest backend of a set; CPU's where there is none. */
static inline unsigned int dkc_backend_index(u64 ks, u64 backend_mask)
{
	return dkc_fls64((ks & backend_mask) >> 1);
}

static inline unsigned int dkc_index(u64 ks, unsigned int nb, u64 per_backend,
				     const u16 *offset)
{
	unsigned int f = dkc_fls64(ks >> nb);
	unsigned int b = dkc_backend_index(ks, (1ULL << nb) - 1);

	return offset[f] + (per_backend >> f & 1 ? b : 0);
}

#define DKC_V1_PER_BACKEND	(DK_PER_BACKEND_MASK >> (DK_NUM_BACKENDS - 1))

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
		return dkc_index(ks & DK_FULL, DK_NUM_BACKENDS,
				 DKC_V1_PER_BACKEND, dkc_v1_offset);
	if (l->trimmed)
		return dkc_trimmed_entry_of(l, ks);
	return dkc_index(ks & l->full, l->nb, l->per_backend, l->offset);
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

/* A number whose device is gone or offline, or its backend, counts as none: NULL. */
const struct dkc_device *dkc_device_online(const struct dk_registry *reg,
					   u32 number)
{
	const struct dkc_device *dev = dkc_device_at(reg, number);

	return dev && dkc_load(dev->online) &&
	       !(dkc_load(reg->offline) >> (dev->backend - 1) & 1) ? dev : NULL;
}

/* Does it live on another device than the first one that did? */
static bool dkc_on_second_device(const struct dk_registry *reg,
				 const struct dk_obj *o, u32 *first)
{
	u32 number = o ? o->device : 0;

	if (!number || number == *first || !dkc_device_online(reg, number))
		return false;
	if (*first)
		return true;
	*first = number;
	return false;
}

bool dkc_on_two_devices(const struct dk_registry *reg,
			const struct dk_obj *const *objs, unsigned int n)
{
	const struct dk_list *list;
	unsigned long k;
	unsigned int i;
	u32 first = 0;

	for (i = 0; i < n; i++) {
		if (!objs[i] || objs[i]->flags != DK_OBJ_LIST) {
			if (dkc_on_second_device(reg, objs[i], &first))
				return true;
			continue;
		}
		list = (const struct dk_list *)objs[i];
		for (k = 0; k < list->n; k++)
			if (dkc_on_second_device(reg, dk_list_at(list, k), &first))
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
static u64 dkc_mask_slowly(const struct dk_op *op, const struct dkc_device *dev,
			   u64 ks)
{
	const struct dk_layout *l = op->reg->layout;
	unsigned int f, b;
	u64 left;

	ks &= l->full;
	dkc_split(op->reg, ks, &f, &b);
	for (left = ks >> l->nb; left; left &= left - 1) {
		f = dkc_ffs64(left) + 1;
		if (dkc_falls_through(op, dev, f, b, false))
			ks &= ~dkc_functionality_bit(l, f);
	}
	return ks;
}

/*
 * Route by the evaluator, where there is no row: the effective set, and what
 * serves it. In a read section or under the lock.
 */
static u64 dkc_resolve(const struct dk_op *op, const struct dkc_device *dev, u64 ks,
		       bool mask, struct dkc_pick *pick)
{
	const struct dk_layout *l = op->reg->layout;
	unsigned int f;

	if (mask)
		ks = dkc_mask_slowly(op, dev, ks);
	for (;;) {
		f = dkc_fls64((ks & l->full) >> l->nb);
		*pick = dkc_serving(op, dev, ks, false);
		if (!f || !dkc_is_fallthrough(pick->reg))
			return ks;
		/* it became one since, or came with a redispatch */
		ks &= ~dkc_functionality_bit(l, f);
	}
}

/* Why an entry without a function has none. */
static int dkc_why_none(const struct dk_registry *reg, const struct dkc_row *row,
			unsigned int id, u32 device)
{
	if (row->kind == DKC_ROW_GONE)
		return -ESHUTDOWN;
	if (row->kind == DKC_ROW_UNDEFINED)
		return -ENOENT;
	if (id == DKC_ID_AMBIGUOUS)
		return -ENOTUNIQ;
	return device && !dkc_device_online(reg, device) ? -ENODEV : -ENOSYS;
}

/*
 * The rules have found what is registered now, and the row that we read may be
 * older: of a definition that was atomic, or when no type was known.
 */
static int dkc_found_by_rules(const struct dkc_row *row, struct dkc_way *way)
{
	const struct dk_impl *impl = way->reg->impl;
	const char *sig = impl->op ? impl->op->sig : NULL;

	if ((row->op_flags & DK_OP_ATOMIC) && !(impl->flags & DK_IMPL_F_ATOMIC))
		return -ENOENT;
	if (way->decl && way->decl->sig && sig &&
	    dkc_sig_hash(way->decl->sig) != dkc_sig_hash(sig))
		return -EPROTOTYPE;
	way->fn = impl->fn;
	return 0;
}

/* The row has no function for us: special, missing or ambiguous. */
static int dkc_find_slowly(struct dk_op *op, const struct dkc_row *row,
			   unsigned int id, struct dkc_way *way)
{
	u32 device = dkc_device_of(op->reg->layout, way->ks, way->objs, way->n);
	struct dkc_pick pick;

	if (row->kind != DKC_ROW_RESOLVE)
		return dkc_why_none(op->reg, row, id, device);
	way->ks = dkc_resolve(op, dkc_device_online(op->reg, device), way->ks,
			      way->mask, &pick);
	way->reg = pick.reg;
	if (!pick.reg || dkc_is_fallthrough(pick.reg))
		return dkc_why_none(op->reg, row,
				    pick.prov == DK_PROV_AMBIGUOUS ?
				    DKC_ID_AMBIGUOUS : DKC_ID_MISSING, device);
	return dkc_found_by_rules(row, way);
}

/* In a read section: from keyset and objects to a function. */
int dkc_find(struct dk_op *op, const struct dkc_row *row, struct dkc_way *way)
{
	const struct dk_registry *reg = op->reg;
	bool masked = way->mask;
	unsigned int id;

	if (dkc_unlikely(row->kind != DKC_ROW_FULL))
		return dkc_find_slowly(op, row, DKC_ID_MISSING, way);
	if (dkc_unlikely(row->devs))
		row = dkc_row_of_device(row, dkc_device_of(reg->layout, way->ks,
							   way->objs, way->n));
	if (masked)
		way->ks = dkc_mask(reg, row, way->ks);
again:
	id = row->shape->index[dkc_entry_of(reg, way->ks)];
	way->fn = row->ent[id].fn;
	way->reg = row->ent[id].reg;
	if (dkc_likely(way->fn))
		return 0;
	/* a redispatch, to what became a fallthrough since its call was masked */
	if (!masked && dkc_is_fallthrough(way->reg)) {
		way->ks = dkc_mask(reg, row, way->ks);
		masked = true;
		goto again;
	}
	return dkc_find_slowly(op, row, id, way);
}

/* What has key @way->key of its own, and no rule: SEMANTICS 8.3. */
static int dkc_find_at_key(struct dk_op *op, const struct dkc_row *row,
			   struct dkc_way *way)
{
	const struct dk_registry *reg = op->reg;
	u32 device = dkc_device_of(reg->layout, way->ks, way->objs, way->n);
	const struct dkc_device *dev = dkc_device_online(reg, device);
	enum dk_key_kind kind = dk_key_kind(reg->layout, way->key);

	if (kind == DK_KIND_NONE || kind == DK_KIND_SENTINEL)
		return -EINVAL;
	if (row->kind == DKC_ROW_FULL)
		way->ks = dkc_mask(reg, dkc_row_of_device(row, device), way->ks);
	else if (row->kind == DKC_ROW_RESOLVE)
		way->ks = dkc_mask_slowly(op, dev, way->ks);
	else
		return dkc_why_none(reg, row, DKC_ID_MISSING, device);
	way->reg = dkc_top(op, dev, way->key, false);
	if (!way->reg && (kind == DK_KIND_FUNCTIONALITY || kind == DK_KIND_PER_BACKEND))
		way->reg = dkc_fallback_at(op, dk_key_slot(reg->layout, way->key),
					   false);
	if (!way->reg || dkc_is_fallthrough(way->reg))
		return dkc_why_none(reg, row, DKC_ID_MISSING, device);
	return dkc_found_by_rules(row, way);
}

/* What calls a function that is not of the operator's type, or NULL. */
static dk_boxed_fn_t dkc_boxed_of(const struct dkc_way *way)
{
	const struct dk_impl *impl = way->reg->impl;

	if (dkc_likely(!(impl->flags & (DK_IMPL_F_BOXED | DK_IMPL_F_PLAIN))))
		return NULL;
	return impl->flags & DK_IMPL_F_BOXED ? (dk_boxed_fn_t)way->fn :
					       impl->op->unbox_plain;
}

/* A probe looks longer to the compiler than the nop that it is. */
static dkc_always_inline void dkc_fill(struct dk_call *c, struct dk_op *op,
				       const struct dkc_way *way)
{
	const struct dkc_reg *r = way->reg;

	c->ks.bits = way->ks;
	c->fn = way->fn;
	c->boxed = dkc_boxed_of(way);
	c->priv = r->block->priv;
	c->device = r->block->device;
	c->objs = way->objs;
	c->n = way->n;
	c->op = op;
	dkc_probe(call_enter, c, op->probed, r->impl->label, way->ks, c->device);
}

/* Is the function of the type that the caller will call it with? */
static bool dkc_wrong_type(const struct dk_op *op, const struct dkc_row *row,
			   const struct dk_op_decl *decl)
{
	u64 sig = row->kind == DKC_ROW_FULL ? row->sig : dkc_load(op->sig);

	return decl->sig && sig && dkc_sig_hash(decl->sig) != sig;
}

typedef int (*dkc_find_fn)(struct dk_op *op, const struct dkc_row *row,
			   struct dkc_way *way);

/* In a read section: all that can be said against a call. */
static inline int dkc_admit(struct dk_op *op, const struct dkc_row *row,
			    struct dkc_way *way, dkc_find_fn find)
{
	int err = find(op, row, way);

	if (dkc_unlikely(err))
		return err;
	if (dkc_unlikely(way->decl) && dkc_wrong_type(op, row, way->decl))
		return -EPROTOTYPE;
	if (dkc_unlikely(row->op_flags & DK_OP_SAME_DEVICE) &&
	    dkc_on_two_devices(op->reg, way->objs, way->n))
		return -EXDEV;
	return 0;
}

/*
 * In the section the row is read and the gate entered; a provider that goes
 * has unpublished its rows first, so whoever read an old one is seen in the
 * gate or, of an atomic operator, keeps the grace period from ending.
 */
static dkc_always_inline int dkc_enter_by(struct dk_call *c, struct dk_op *op,
					  struct dkc_way *way, dkc_find_fn find)
{
	const struct dkc_block *b;
	const struct dkc_row *row;
	const struct dkc_reg *r;
	int err;

	if (!(dkc_load(op->flags) & DK_OP_ATOMIC))
		dkc_might_sleep();
	dkc_read_lock();
	row = dkc_deref(op->row);
	err = dkc_admit(op, row, way, find);
	if (dkc_unlikely(err)) {
		dkc_probe(missing, op->probed, way->ks, err);
		goto out;
	}
	r = way->reg;
	b = r->block;
	dkc_fill(c, op, way);
	if (row->op_flags & DK_OP_ATOMIC) {
		c->state = DKC_CALL_ATOMIC;
		dkc_section_stays();
		return 0;
	}
	if (dkc_unlikely(way->held)) {
		c->state = DKC_CALL_HELD;
		goto out;
	}
	c->state = DKC_CALL_SLEEPABLE;
	err = dkc_gate_enter(c->gate, b->prov, r, op);
out:
	dkc_read_unlock();
	return err;
}

/* One copy for all; only dk_call_enter_op() has its own, for 5 % of a call. */
static dkc_noinline int dkc_enter_plain(struct dk_call *c, struct dk_op *op,
					struct dkc_way *way)
{
	return dkc_enter_by(c, op, way, dkc_find);
}

static dkc_noinline int dkc_enter_plain_at_key(struct dk_call *c, struct dk_op *op,
					       struct dkc_way *way)
{
	return dkc_enter_by(c, op, way, dkc_find_at_key);
}

/* Enter a call, count it, and tell of it whoever wants to know. */
static dkc_noinline int dkc_enter_watched(struct dk_call *c, struct dk_op *op,
					  struct dkc_way *way, bool at_key)
{
	int err = at_key ? dkc_enter_plain_at_key(c, op, way) :
			   dkc_enter_plain(c, op, way);
	bool missing = err == -ENOSYS || err == -ENOTUNIQ || err == -ENODEV;

	if (!err) {
		dkc_stats_count(op, way->reg);
		dkc_trace_call(call_enter, c, way);
	} else if (missing) {
		dkc_stats_count(op, NULL);
		dkc_trace_call(missing, op, way->ks, err);
	}
	if (!at_key && (!err || missing || err == -EXDEV))
		dkc_hooks_before(c, op, way, err);
	if (!err && dkc_traced(call_exit))
		c->state |= DKC_CALL_TRACED;
	return err;
}

static inline int dkc_enter(struct dk_call *c, struct dk_op *op, struct dkc_way *way)
{
	return dkc_watched(&op->reg->watch) ? dkc_enter_watched(c, op, way, false) :
					      dkc_enter_plain(c, op, way);
}

static inline int dkc_enter_at_key(struct dk_call *c, struct dk_op *op,
				   struct dkc_way *way)
{
	return dkc_watched(&op->reg->watch) ? dkc_enter_watched(c, op, way, true) :
					      dkc_enter_plain_at_key(c, op, way);
}

/* Only what is read before it is written: each store is one more in a call. */
static inline void dkc_way_begin(struct dkc_way *way, const struct dk_obj *const *objs,
				 unsigned int n, bool mask)
{
	way->objs = objs;
	way->n = n;
	way->mask = mask;
	way->boxed = false;
	way->held = false;
	way->decl = NULL;
}

/* From objects and local state to the keyset; 0, or -EPROTOTYPE. */
static inline int dkc_begin(struct dk_call *c, struct dk_op *op,
			    const struct dk_op_decl *decl,
			    const struct dk_local *local, struct dkc_way *way)
{
	/* one that points to its operator was compared when it began to */
	if (dkc_unlikely(dkc_load(decl->op) != op)) {
		if (decl->call_size != sizeof(*c))
			return -EPROTOTYPE;
		way->decl = decl;
	}
	way->ks = dkc_merge(dkc_raw(way->objs, way->n), dk_local_included(local).bits,
			    dk_local_excluded(local).bits,
			    dkc_backend_mask(op->reg));
	c->local = local;
	c->decl = decl;
	c->flags = 0;
	return 0;
}

int dk_call_enter_op(struct dk_call *c, struct dk_op *op,
		     const struct dk_op_decl *decl, const struct dk_local *local,
		     const struct dk_obj *const *objs, unsigned int n)
{
	struct dkc_way way;

	dkc_way_begin(&way, objs, n, true);
	if (dkc_begin(c, op, decl, local, &way))
		return -EPROTOTYPE;
	if (dkc_watched(&op->reg->watch))
		return dkc_enter_watched(c, op, &way, false);
	return dkc_enter_by(c, op, &way, dkc_find);
}

int dk_call_enter(struct dk_call *c, struct dk_op_decl *decl,
		  const struct dk_local *local, const struct dk_obj *const *objs,
		  unsigned int n)
{
	struct dk_op *op = dkc_load(decl->op);
	int err;

	if (dkc_likely(op)) {
		err = dk_call_enter_op(c, op, decl, local, objs, n);
		if (dkc_likely(err != -ENOENT) || !dkc_load(op->stale))
			return err;
		dkc_store(decl->op, NULL);
	}
	err = dkc_op_pin(decl, &op);
	return err ? err : dk_call_enter_op(c, op, decl, local, objs, n);
}

static int dkc_call_op(struct dk_call *c, struct dk_op *op,
		       const struct dk_op_decl *decl, const struct dk_local *local,
		       struct dkc_way *way)
{
	if (dkc_begin(c, op, decl, local, way))
		return -EPROTOTYPE;
	return way->at_key ? dkc_enter_at_key(c, op, way) : dkc_enter(c, op, way);
}

int dkc_call(struct dk_call *c, struct dk_op *op, struct dk_op_decl *decl,
	     const struct dk_local *local, struct dkc_way *way)
{
	int err;

	if (op)
		return dkc_call_op(c, op, decl, local, way);
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

int dk_call_enter_key(struct dk_call *c, struct dk_op *op, struct dk_op_decl *decl,
		      const struct dk_local *local, unsigned int key,
		      const struct dk_obj *const *objs, unsigned int n)
{
	struct dkc_way way = {
		.objs = objs, .n = n, .mask = true, .at_key = true, .key = key,
	};

	return dkc_call(c, op, decl, local, &way);
}

static inline int dkc_redispatch_by(struct dk_call *c, const struct dk_call *from,
				    const struct dk_op_decl *decl,
				    struct dkc_way *way)
{
	if (dkc_unlikely(decl != from->decl)) {
		if (decl->call_size != sizeof(*c) ||
		    !dkc_streq(decl->name, from->op->name))
			return -EPROTOTYPE;
		way->decl = decl;
	}
	c->local = from->local;
	c->decl = decl;
	c->flags = from->flags;
	way->held = (from->state & ~DKC_CALL_FLAGS) == DKC_CALL_HELD;
	return dkc_enter(c, from->op, way);
}

int dkc_redispatch(struct dk_call *c, const struct dk_call *from, struct dkc_way *way)
{
	return dkc_redispatch_by(c, from, from->decl, way);
}

int dk_call_redispatch(struct dk_call *c, const struct dk_call *from,
		       const struct dk_op_decl *decl, struct dk_keyset ks,
		       const struct dk_obj *const *objs, unsigned int n)
{
	struct dkc_way way;

	dkc_way_begin(&way, objs, n, false);
	way.ks = ks.bits;
	return dkc_redispatch_by(c, from, decl, &way);
}

/* False where it was neither of the two. */
static inline bool dkc_leave(struct dk_call *c)
{
	if (c->state == DKC_CALL_ATOMIC) {
		dkc_section_ends();
		dkc_read_unlock();
	} else if (dkc_likely(c->state == DKC_CALL_SLEEPABLE)) {
		dkc_gate_leave(c->gate);
	} else {
		return false;
	}
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
	dkc_probe(call_exit, c, c->result);
	if (!dkc_leave(c) && (c->state & DKC_CALL_FLAGS))
		dkc_leave_watched(c);
}

/*
 * A hold in the gate keeps every provider. It bears the epoch that it began in:
 * who has seen that of a leaving provider sees its rows unpublished, too.
 */
int dk_hold(struct dk_hold *h, struct dk_registry *reg)
{
	unsigned long epoch;

	if (h->size != sizeof(*h))
		return -EINVAL;
	reg = dkc_registry(reg);
	if (!reg)
		return -ENOMEM;
	dkc_might_sleep();
	h->reg = reg;
	epoch = dkc_load_acquire(reg->epoch);
	return dkc_gate_enter(h->gate, reg, NULL, (const void *)epoch);
}

void dk_release(struct dk_hold *h)
{
	dkc_gate_leave(h->gate);
}

int dk_call_enter_held(struct dk_call *c, const struct dk_hold *h, struct dk_op *op,
		       struct dk_op_decl *decl, const struct dk_local *local,
		       const struct dk_obj *const *objs, unsigned int n)
{
	const struct dk_registry *reg = op ? op->reg : dk_registry_default();
	struct dkc_way way = {
		.objs = objs, .n = n, .mask = true, .held = h->reg == reg,
	};

	return dkc_call(c, op, decl, local, &way);
}

struct dk_keyset dk_call_below(const struct dk_call *c)
{
	const struct dk_layout *l = c->op->reg->layout;

	return dk_keyset_and(c->ks, dk_keyset_after(l, dk_keyset_key(l, c->ks)));
}
