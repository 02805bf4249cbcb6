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

/*
 * dkc_device_of() by v1, unless an object is a list: then false. With the search in lists,
 * every call would save registers.
 */
static dkc_always_inline bool dkc_device_without_lists(u64 ks, const struct dk_obj *const *objs,
						       unsigned int n, u32 *device)
{
	u64 top = ks & DK_BACKEND_MASK;
	unsigned int i;

	*device = 0;
	top = top ? 1ULL << dk__top_bit(top) : 0;
	for (i = 0; i < n; i++) {
		if (!objs[i])
			continue;
		if (dkc_unlikely(objs[i]->flags == DK_OBJ_LIST))
			return false;
		if (objs[i]->ks.bits & top) {
			*device = objs[i]->device;
			break;
		}
	}
	return true;
}

/* Is the device of a call by v1 gone or offline? */
static bool dkc_is_away(const struct dk_registry *reg, u64 ks, const struct dk_obj *const *objs,
			unsigned int n)
{
	bool away = false;
	u32 device;

	if (!dkc_device_without_lists(ks, objs, n, &device))
		device = dkc_device_of(reg->layout, ks, objs, n);
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
	u32 device = dkc_device_of(c->op->reg->layout, c->ks.bits, objs, n);

	return dkc_find_on(device, c, slot, objs, n, how);
}

/* By the row of the device that the call is on. */
static dkc_noinline int dkc_find_by_device(struct dk_call *c, struct dk__slot *slot,
					   const struct dk_obj *const *objs, unsigned int n,
					   int how)
{
	u32 device;

	if (!dkc_device_without_lists(c->ks.bits, objs, n, &device))
		return dkc_find_in_list(c, slot, objs, n, how);
	return dkc_find_on(device, c, slot, objs, n, how);
}

/* True if there was no slot, or in the kernel if the gate refused the call. */
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
