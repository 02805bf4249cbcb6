// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Calls: how they are entered and left. The fast path is inlined in callers:
 * <dispatchkey-inline.h>. What it does not call goes to dk__find(), while its slot protects
 * the table, and what that does not serve takes the slow path. No path takes a lock
 * or writes anything that another thread or CPU writes, and the cost does not depend on how
 * many operators, functions or fallthroughs there are.
 */
#include "registry.h"

_Static_assert(sizeof(((struct dk__room *)0)->gate) == DKC_GATE_ROOM * sizeof(u64),
	       "room for the gate");

/* What calls a function that is not of the operator's type, or NULL. */
static dk_boxed_fn_t dkc_boxed_of(const struct dk_impl *impl, dk_fn_t fn)
{
	if (dkc_likely(!(impl->flags & (DK_IMPL_F_BOXED | DK_IMPL_F_PLAIN))))
		return NULL;
	return impl->flags & DK_IMPL_F_BOXED ? (dk_boxed_fn_t)fn :
					       impl->op->unbox_plain;
}

/* The parts of dk__ask(). */
static inline unsigned int dkc_ask_id(u64 ask)
{
	return ask & 0xff;
}

static inline int dkc_ask_how(u64 ask)
{
	return ask >> 8 & 0xff;
}

static inline unsigned int dkc_ask_objs(u64 ask)
{
	return ask >> 32;
}

static inline const struct dk__entry *dkc_no_entry(struct dk__slot slot, u64 ask, int err)
{
	dk__give_back(slot, dkc_ask_how(ask));
	return DK__NO_ENTRY(err);
}

/* The device of a call by v1, if the first object is on it: others are not looked at then. */
static dkc_always_inline bool dkc_first_is_on(u64 ks, const struct dk_obj *const *objs,
					      u64 ask, u32 *device)
{
	const struct dk_obj *o = dkc_ask_objs(ask) ? objs[0] : NULL;

	if (dkc_unlikely(!dk__is_on(o, ks, dk__top_backend(ks))))
		return false;
	*device = o->device;
	return true;
}

/* Is the device of a call gone or offline? */
static dkc_noinline bool dkc_is_away(const struct dk_registry *reg, u64 ks,
				     const struct dk_obj *const *objs, u64 ask)
{
	u32 device = dkc_device_of(reg->layout, ks, objs, dkc_ask_objs(ask));
	bool away;

	dkc_read_lock();
	away = device && !dkc_device_online(reg, device);
	dkc_read_unlock();
	return away;
}

/* Nothing serves a call. */
static const struct dk__entry *dkc_missing(const struct dk_call *c, struct dk__slot slot,
					   const struct dk_obj *const *objs, u64 ask)
{
	const struct dk_registry *reg = c->op->reg;
	u64 ks = c->ks.bits;
	u32 device;

	dk__give_back(slot, dkc_ask_how(ask));
	if (dkc_likely(dkc_first_is_on(ks, objs, ask, &device) && !device))
		return DK__NO_ENTRY(-ENOSYS);
	return DK__NO_ENTRY(dkc_is_away(reg, ks, objs, ask) ? -ENODEV : -ENOSYS);
}

/* The entry of the call is found. It is counted at @at, unless that is NULL. */
static const struct dk__entry *dkc_go(struct dk_call *c, struct dk__slot slot,
				      const struct dkc_row *row, const struct dk__count *at,
				      int how)
{
#if DK__GATED
	if (row->direct >= DK__SLEEPS)
		return dk__enter_gate(c, &slot, at, how) ? c->entry : DK__NO_ENTRY(DK__SLOWLY);
#endif
	if (at)
		dk__add_count(at);
	dk__enter(&slot, c->entry);
	return c->entry;
}

/* By one row, which is not that of another device. */
static dkc_always_inline const struct dk__entry *
dkc_find_in(struct dk_call *c, struct dk__slot slot, const struct dkc_row *row, u64 ks,
	    const struct dk_obj *const *objs, u64 ask)
{
	const struct dk__count *at = NULL;
	unsigned int id = dkc_ask_id(ask);

	if (id >= row->lowest) {
		if (dkc_is_counted(row))
			at = dk__counter_of((const struct dk__table *)row, id);
		c->ks.bits = ks;
		c->entry = dkc_row_ent(row, id);
		return dkc_go(c, slot, row, at, dkc_ask_how(ask));
	}
	/* the slow path does not look at bits that are of no key */
	if (id > DKC_ID_AMBIGUOUS || (ks & ~DK_FULL))
		return dkc_no_entry(slot, ask, DK__SLOWLY);
	if (dkc_is_counted(row))
		dk__add_count(dkc_row_counters(row));
	return id == DKC_ID_MISSING ? dkc_missing(c, slot, objs, ask) :
				      dkc_no_entry(slot, ask, -ENOTUNIQ);
}

/* By the row of the device that the call is on. */
static dkc_noinline const struct dk__entry *
dkc_find_on(struct dk_call *c, struct dk__slot slot, const struct dkc_devtab *devs,
	    const struct dk_obj *const *objs, u64 ask)
{
	u64 ks = c->ks.bits;
	u32 device = dkc_device_of(c->op->reg->layout, ks, objs, dkc_ask_objs(ask));
	const struct dkc_row *row = dkc_devtab_row(devs, device);

	if (dkc_ask_how(ask) & DK__HOW_MASKED)
		ks &= row->shape->mask[dk__top_backend(ks)];
	ask = (ask & ~0xffull) | row->shape->index[dkc_v1_index(ks & DK_FULL)];
	return dkc_find_in(c, slot, row, ks, objs, ask);
}

const struct dk__entry *dk__find(struct dk_call *c, struct dk__slot slot,
				 const struct dk__table *table, u64 ks,
				 const struct dk_obj *const *objs, u64 ask)
{
	const struct dkc_row *row = (const struct dkc_row *)table;

	/* of a table that calls are made by */
	if (dkc_ask_id(ask) == DKC_ID_MISSING && row->direct < DK__NOT_DIRECT &&
	    !(ks & ~DK_FULL))
		return dkc_missing(c, slot, objs, ask);
	if (dkc_is_out(row))
		return DK__NO_ENTRY(DK__SLOWLY);
	if (row->direct == DK__NOT_DIRECT || dkc_ask_id(ask) == DK__FOR_SLOW_PATH)
		return dkc_no_entry(slot, ask, DK__SLOWLY);
	if (row->devs)
		return dkc_find_on(c, slot, row->devs, objs, ask);
	return dkc_find_in(c, slot, row, ks, objs, ask);
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
		f->call.made |= DK__CALL_IN_RCU;
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
	f->call.made = dk__made(decl, DK__CALL_FRAME | flags);
	f->call.local = local;
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

	if (rq->decl != dk_call_decl(from) &&
	    (!dkc_decl_fits(rq->decl) || !dkc_streq(rq->decl->name, from->op->name)))
		return -EPROTOTYPE;
	way->decl = rq->decl;
	way->ks = rq->ks.bits;
	way->in_rcu = from->made & DK__CALL_IN_RCU;
	dkc_begin(f, from->op, rq->decl, dk_call_local(from),
		  from->made & DK__CALL_BOXED, way);
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
static int dkc_enter_begun(struct dk_frame *f, struct dk__slot slot, int how)
{
	struct dk_call *c = &f->call;
	int err;

	if (!dkc_slots_are_gate()) {
		f->state = how & DK__HOW_IN_RCU ? DKC_CALL_IN_CALLERS :
			   c->made & DK__CALL_IN_RCU ? DKC_CALL_IN_SECTION : DKC_CALL_IN_GATE;
		return 0;
	}
	f->state = DKC_CALL_IN_GATE;
	f->room.entry = *c->entry;
	err = dkc_gate_enter(f->room.gate, c->entry->reg, c->op);
	c->entry = &f->room.entry;
	dk__give_back(slot, how);
	return err;
}

/* What @rq->from is tells @flags: it was not made from boxed arguments. */
dkc_noinline int dkc_fast_redispatch(struct dk_call *c, struct dk__slot *slot,
				     struct dk__request *rq, unsigned long flags,
				     const struct dk_obj *const *objs, unsigned int n)
{
	const struct dk_call *from = rq->from;

	if (!dk__may_redispatch(from, rq->decl))
		return DK__SLOWLY;
	rq->how = dk__how_again(from);
	return dkc_fast_find(c, slot, rq, from->op, flags & ~DK__CALL_BOXED, from->local,
			     rq->ks.bits, rq->how, objs, n);
}

int dk__call_enter(struct dk_frame *f, struct dk__request *rq,
		   const struct dk_obj *const *objs, unsigned int n)
{
	struct dk__slot slot = dkc_slot_of(&f->room);
	unsigned long flags = rq->flags & DK__FROM_BOXED ? DK__CALL_FRAME | DK__CALL_BOXED :
							   DK__CALL_FRAME;
	int err = dkc_fast_call(&f->call, &slot, rq, flags, objs, n);

	if (err == DK__SLOWLY)
		return dkc_enter_slowly(f, rq, objs, n);
	if (err)
		return err;
	f->objs = objs;
	f->n = n;
	f->boxed = NULL;
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
