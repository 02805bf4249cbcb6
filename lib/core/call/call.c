// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The slow path makes the calls for which dk__begin() and dk__find() find no entry. It binds
 * declarations, compares signatures, evaluates the rules if there is no table, and runs hooks and
 * tracers. It also handles boxed functions and layouts other than v1. Calls with a struct dk_frame
 * are made here, too: dk__call_enter() tries the fast path before the slow path.
 */
#include "call.h"

static_assert(sizeof(((struct dk__storage *)0)->gate) == DKC_GATE_SIZE * sizeof(u64),
	      "the storage for the gate has another size");

/*
 * Returns a function that takes the packed arguments: @fn itself if it is boxed, or the function
 * that unpacks them and calls @fn if @fn is plain, that is, takes no struct dk_call. Else NULL.
 */
static dk_boxed_fn_t boxed_of(const struct dk_impl *impl, dk_fn_t fn)
{
	if (likely(!(impl->flags & (DK_IMPL_F_BOXED | DK_IMPL_F_PLAIN))))
		return NULL;
	return impl->flags & DK_IMPL_F_BOXED ? (dk_boxed_fn_t)fn :
					       impl->op->unbox_plain;
}

/* Fills in the frame after routing. */
static void fill(struct dk_frame *f, struct dkc_request *req)
{
	struct dk_call *c = &f->call;

	c->ks.bits = req->ks;
	/* copy the entry: the table may be freed after the read-side critical section */
	f->storage.entry.fn = req->fn;
	f->storage.entry.reg = req->reg;
	c->entry = &f->storage.entry;
	f->boxed = boxed_of(dkc_impl_of(req->reg), req->fn);
	f->alone = f->boxed ? NULL : req->fn;
	f->args = req->args;
}

/*
 * Finds the function, and protects its provider until the call ends. Called in a read-side critical
 * section. If dkc_section_is_gate(), the section protects the provider and lasts until the call
 * ends. Otherwise the call enters the gate, and the section ends here.
 *
 * Unregistering publishes tables without the provider before it waits for the provider's calls. A
 * call that has read an older table is either in the gate, or still in the section, so that the
 * grace period cannot end.
 */
static int find_and_enter(struct dk_frame *f, struct dk_op *op, const struct dkc_table *table,
			  struct dkc_request *req)
{
	int err = dkc_find_typed(op, table, req);

	if (likely(!err) && unlikely(table->op_flags & DK_OP_SAME_DEVICE) &&
	    dkc_on_two_devices(op->reg, req->reg, req->objs, req->n))
		err = -EXDEV;
	if (unlikely(err))
		goto out;
	fill(f, req);
	if (dkc_section_is_gate(table->op_flags)) {
		f->call.made |= DK__CALL_IN_RCU;
		f->state = req->in_rcu ? DKC_CALL_IN_CALLERS : DKC_CALL_IN_SECTION;
		if (req->in_rcu)
			goto out;
		return 0;
	}
	f->state = DKC_CALL_IN_GATE;
	err = dkc_gate_enter(f->storage.gate, req->reg, op);
	__acquire(RCU);
	rcu_read_unlock();
	__might_sleep(__FILE__, __LINE__);
	return err;
out:
	__acquire(RCU);
	rcu_read_unlock();
	return err;
}

/*
 * Returns the table of an operator. Sets *@args to the argument description of the definition for
 * which that table was published. Called in a read-side critical section.
 */
static const struct dkc_table *table_with_args(const struct dk_op *op, const struct dkc_args **args)
{
	const struct dkc_table *table = dkc_table_of_op(op), *before;

	do {
		before = table;
		/*
		 * Pairs with rcu_assign_pointer() in dkc_op_set_table(): @args is not older than
		 * the table.
		 */
		smp_rmb();
		*args = dkc_deref(op->args, op->reg);
		if (!*args)
			break;
		/*
		 * Pairs with rcu_assign_pointer() in dkc_args_give(). If *@args belongs to a later
		 * definition than @before, the earlier definition was removed in between. The
		 * removal published another table. So the load below returns another table than
		 * @before, and the loop repeats.
		 */
		smp_rmb();
		table = dkc_table_of_op(op);
	} while (unlikely(table != before));
	return table;
}

/* Counts a call, and reports it to hooks and tracers. */
static noinline void notify_enter(struct dk_frame *f, struct dk_op *op,
				  struct dkc_request *req, int err)
{
	bool missing = err == -ENOSYS || err == -ENOTUNIQ || err == -ENODEV;

	if (!err) {
		dkc_stats_count(op, req->reg);
		dkc_trace_call(call_enter, f, req);
	} else if (missing) {
		dkc_stats_count(op, NULL);
		dkc_trace_call(missing, op, req->ks, err);
	}
	if (!req->at_key && (!err || missing || err == -EXDEV))
		dkc_hooks_before(f, op, req, err);
	if (err)
		return;
	if (dkc_traced(call_exit))
		f->state |= DKC_CALL_TRACED;
	if (f->state & DKC_CALL_FLAGS) {
		f->result = 0;
		f->alone = NULL;	/* makes id_run() store the result for hooks and tracers */
	}
}

static int enter(struct dk_frame *f, struct dk_op *op, struct dkc_request *req)
{
	bool watched = READ_ONCE(op->reg->watched);
	const struct dkc_table *table;
	int err;

	rcu_read_lock();
	__release(RCU);
	table = table_with_args(op, &req->args);
	err = find_and_enter(f, op, table, req);
	if (unlikely(watched))
		notify_enter(f, op, req, err);
	return err;
}

/* Fills in the frame before routing. */
static void begin(struct dk_frame *f, struct dk_op *op, const struct dk_op_decl *decl,
		  const struct dk_local *local, unsigned long flags,
		  const struct dkc_request *req)
{
	f->call.op = op;
	f->call.made = dk__made(decl, DK__CALL_FRAME | flags);
	f->call.local = local;
	f->objs = req->objs;
	f->n = req->n;
}

static int call_op(struct dk_frame *f, struct dk_op *op, const struct dk__request *rq,
		   struct dkc_request *req)
{
	struct dk_op_decl *decl = rq->decl;

	/*
	 * If @decl is bound to @op, dkc_op_pin() has checked its version. But with @rq->op, @decl
	 * may be a copy of a bound declaration, which nothing has checked.
	 */
	if ((READ_ONCE(decl->op) != op || rq->op) && !dkc_decl_fits(decl))
		return -EPROTOTYPE;
	req->decl = decl;
	req->ks = rq->flags & DK__BY_KEYSET ? rq->ks.bits :
		  dkc_merge(dk__raw(req->objs, req->n), dk_local_included(rq->local).bits,
			    dk_local_excluded(rq->local).bits, dkc_backend_mask(op->reg));
	begin(f, op, decl, rq->local, req->boxed ? DK__CALL_BOXED : 0, req);
	return enter(f, op, req);
}

/* Before the call, binds the declaration if it is not bound, or if its operator was replaced. */
static int call_by_name(struct dk_frame *f, const struct dk__request *rq, struct dkc_request *req)
{
	struct dk_op *op = READ_ONCE(rq->decl->op);
	int err;

	if (dkc_is_bound(op)) {
		err = call_op(f, op, rq, req);
		if (err != -ENOENT || !READ_ONCE(op->stale))
			return err;
		WRITE_ONCE(rq->decl->op, &dk__unbound);
	}
	err = dkc_op_pin(rq->decl, &op);
	return err ? err : call_op(f, op, rq, req);
}

static int redispatch(struct dk_frame *f, const struct dk__request *rq, struct dkc_request *req)
{
	const struct dk_call *from = rq->from;

	if (rq->decl != dk_call_decl(from) &&
	    (!rq->decl->name || !dkc_decl_fits(rq->decl) ||
	     !dkc_streq(rq->decl->name, from->op->name)))
		return -EPROTOTYPE;
	req->decl = rq->decl;
	req->ks = rq->ks.bits;
	req->in_rcu = from->made & DK__CALL_IN_RCU;
	begin(f, from->op, rq->decl, dk_call_local(from), from->made & DK__CALL_BOXED, req);
	return enter(f, from->op, req);
}

/* Runs in place of the function if a call could not be entered. Returns the error of the call. */
static int run_not_entered(struct dk_call *c, void *args)
{
	(void)args;
	return dk_call_frame(c)->result;
}

/* Fills in the frame of a call that failed, so that id_run() returns the error, too. */
static noinline __cold int not_entered(struct dk_frame *f, const struct dk_op_decl *decl, int err)
{
	f->call.made = dk__made(decl, DK__CALL_FRAME);
	f->boxed = run_not_entered;
	f->alone = NULL;
	f->result = err;
	f->state = DKC_CALL_NOT_ENTERED;
	return err;
}

static noinline int enter_slowly(struct dk_frame *f, const struct dk__request *rq,
				 const struct dk_obj *const *objs, unsigned int n)
{
	struct dkc_request req = {
		.objs = objs, .n = n, .key = rq->key,
		.mask = !rq->from && !(rq->flags & DK__BY_KEYSET),
		.at_key = rq->flags & DK__BY_KEY, .boxed = rq->flags & DK__FROM_BOXED,
		.in_rcu = rq->how & DK__HOW_IN_RCU,
	};
	int err;

	if (rq->from)
		err = redispatch(f, rq, &req);
	else
		err = rq->op ? call_op(f, rq->op, rq, &req) : call_by_name(f, rq, &req);
	return likely(!err) ? 0 : not_entered(f, rq->decl, err);
}

/*
 * Turns a call on the fast path into a call with a frame. In userspace, slots of the fast path must
 * be released in the reverse order, but frames may be left in any order. So the call moves to a
 * slot of the slow path: dkc_gate_enter(). It enters that slot before it releases the other one, so
 * that a waiter always finds the call.
 */
static int enter_from_fast(struct dk_frame *f, struct dk__slot slot, int how)
{
	struct dk_call *c = &f->call;
	int err;

	if (!dkc_slots_are_gate()) {
		f->state = how & DK__HOW_IN_RCU ? DKC_CALL_IN_CALLERS :
			   c->made & DK__CALL_IN_RCU ? DKC_CALL_IN_SECTION : DKC_CALL_IN_GATE;
		return 0;
	}
	f->state = DKC_CALL_IN_GATE;
	f->storage.entry = *c->entry;
	err = dkc_gate_enter(f->storage.gate, c->entry->reg, c->op);
	c->entry = &f->storage.entry;
	dk__give_back(slot, how);
	return err;
}

/* The fast path for calls through a frame. Returns what dkc_fast_find() returns. */
static __always_inline int fast_call(struct dk_call *c, struct dk__slot *slot,
				     struct dk__request *rq, unsigned long flags,
				     const struct dk_obj *const *objs, unsigned int n)
{
	struct dk_op *op = rq->op;
	int how = DK__HOW_MASKED;

	if (rq->flags & (DK__SKIP_FAST | DK__BY_KEY | DK__BY_KEYSET))
		return DK__SLOWLY;
	if (rq->from)
		return dkc_fast_redispatch(c, slot, rq, flags, objs, n);
	if (op)
		how |= DK__HOW_TYPED;
	else
		op = READ_ONCE(rq->decl->op);
	if (!op)
		return DK__SLOWLY;
	if (DK__GATED)
		how |= rq->how;
	return dkc_fast_find(c, slot, rq, op, flags, rq->local,
			     dk__merge(dk__raw(objs, n), rq->local), how, objs, n);
}

int dk__call_enter(struct dk_frame *f, struct dk__request *rq,
		   const struct dk_obj *const *objs, unsigned int n)
{
	struct dk__slot slot = dkc_slot_of(&f->storage);
	unsigned long flags = rq->flags & DK__FROM_BOXED ? DK__CALL_FRAME | DK__CALL_BOXED :
							   DK__CALL_FRAME;
	int err = fast_call(&f->call, &slot, rq, flags, objs, n);

	if (err == DK__SLOWLY)
		return enter_slowly(f, rq, objs, n);
	if (err)
		return not_entered(f, rq->decl, err);
	f->objs = objs;
	f->n = n;
	f->boxed = NULL;
	f->alone = f->call.entry->fn;
	err = enter_from_fast(f, slot, rq->how);
	return likely(!err) ? 0 : not_entered(f, rq->decl, err);
}

/* ---- without DK_OP() ---------------------------------------------------------------- */

int dk_call_enter(struct dk_frame *f, struct dk_op_decl *decl,
		  const struct dk_local *local, const struct dk_obj *const *objs,
		  unsigned int n)
{
	return dk_call_enter_op(f, NULL, decl, local, objs, n);
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

/* ---- inside a call --------------------------------------------------------------------- */

/* Returns the keys of the call's set that are also in dk_keyset_after() of its highest key. */
struct dk_keyset dk__call_below(const struct dk_call *c)
{
	const struct dk_layout *l = c->op->reg->layout;
	unsigned int f = fls64((c->ks.bits & l->full) >> l->nb);

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

/* ---- the end of a call ----------------------------------------------------------------- */

static noinline void notify_leave(struct dk_frame *f)
{
	/* if another thread has entered the call, dkc_gate_leave() only reports the mistake */
	if (!dkc_gate_owns(f->storage.gate)) {
		dkc_gate_leave(f->storage.gate);
		return;
	}
	if (f->state & DKC_CALL_HOOKED)
		dkc_hooks_after(f);
	if (f->state & DKC_CALL_TRACED)
		dkc_trace_call(call_exit, f);
	f->state &= ~DKC_CALL_FLAGS;
}

static noinline __cold void report_not_entered(const struct dk_frame *f)
{
	dkc_misuse(dkc_name_of_call(&f->call), " was not entered: it cannot be left");
}

void dk_call_leave(struct dk_frame *f)
{
	if (unlikely(f->state & DKC_CALL_FLAGS))
		notify_leave(f);
	if (f->state == DKC_CALL_IN_GATE) {
		dkc_gate_leave(f->storage.gate);
	} else if (f->state == DKC_CALL_IN_SECTION) {
		f->state = DKC_CALL_NOT_ENTERED;
		__acquire(RCU);
		rcu_read_unlock();
	} else if (f->state == DKC_CALL_IN_CALLERS) {
		f->state = DKC_CALL_NOT_ENTERED;
	} else if (f->state == DKC_CALL_NOT_ENTERED) {
		report_not_entered(f);
	}
}
