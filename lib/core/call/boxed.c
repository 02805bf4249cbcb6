// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Boxed calls: the arguments are packed in a struct. The declaration's function @extract, which
 * DK_OP() generates, puts the objects that the call dispatches on into an array on its stack. It
 * passes the array to dk_extracted(), which makes the call. So the array is valid until the call
 * returns.
 */
#include "call.h"

struct dk_extract {
	struct dk__request rq;
	void *args;
	const struct dk_op_decl *decl;	/* describes where the objects are; or NULL */
	struct dk__array objs;		/* set by dk_extracted() */
};

#define HOW	(DK__HOW_MASKED | DK__HOW_TYPED | DK__HOW_ARRAY)

/*
 * Runs a function that is not boxed, for a caller whose declaration cannot unpack the arguments.
 * The function's own declaration unpacks them; it is valid while the function is registered. Fails
 * if the function takes another struct than the caller has packed.
 */
static noinline __cold int unbox_by_function(struct dk_call *c, const struct dk_extract *x)
{
	const struct dk_impl *impl = dkc_impl_of(c->entry->reg);
	dk_boxed_fn_t unbox = impl->flags & DK_IMPL_F_PLAIN ? impl->op->unbox_plain :
							      impl->op->unbox;

	if (!unbox || (x->decl && !dkc_same_struct(x->decl, impl->op)))
		return -EPROTOTYPE;
	return unbox(c, x->args);
}

/* Runs the function that the fast path has found, and ends the call. */
static __always_inline int run(const struct dk_extract *x, struct dk_call *c,
			       const struct dk_op_decl *decl, struct dk__slot slot)
{
	int err = likely(decl->unbox) ? decl->unbox(c, x->args) : unbox_by_function(c, x);

	dk__end(c, slot, x->rq.how);
	return err;
}

static noinline __cold int call_slowly(struct dk_extract *x)
{
	const struct dk_op_decl *decl = x->rq.decl;
	struct dk_frame f DK__NOT_SET;
	dk_boxed_fn_t fn = decl->unbox;
	int err = dk__call_enter(&f, &x->rq, x->objs.items, x->objs.n);

	if (err)
		return err;
	if (f.boxed && (fn || (dkc_impl_of(f.call.entry->reg)->flags & DK_IMPL_F_BOXED)))
		fn = f.boxed;
	f.result = fn ? fn(&f.call, x->args) : unbox_by_function(&f.call, x);
	err = f.result;
	dk_call_leave(&f);
	return err;
}

/* Makes the call. @found is what dkc_fast_continue() or dkc_fast_redispatch() returned. */
static int finish(struct dk_extract *x, struct dk_call *c, struct dk__slot slot, int found)
{
	if (likely(!found))
		return run(x, c, x->rq.decl, slot);
	return found == DK__SLOWLY ? call_slowly(x) : found;
}

/* Makes the call if dk__begin() did not find a function. */
static noinline int find(struct dk_extract *x, struct dk_call *c, struct dk__slot slot,
			 const struct dk__table *table, u64 ks, u32 byte)
{
	return finish(x, c, slot, dkc_fast_continue(c, slot, &x->rq, table, ks, x->objs.items,
						    dk__pack(byte, HOW, x->objs.n)));
}

/* Makes a redispatch, a call at a given key, or a call whose declaration has no operator yet. */
static noinline int call_specially(struct dk_extract *x)
{
	struct dk_call c DK__NOT_SET;
	DK__SLOT(slot);
	int found;

	if (!x->rq.from)
		return call_slowly(x);
	found = dkc_fast_redispatch(&c, &slot, &x->rq, DK__CALL_BOXED, x->objs.items, x->objs.n);
	return finish(x, &c, slot, found);
}

int dk_extracted(struct dk_extract *x, const struct dk_obj *const *objs,
		 unsigned int n, struct dk_keyset raw)
{
	const struct dk__request *rq = &x->rq;
	struct dk__found found DK__NOT_SET;
	struct dk_call c DK__NOT_SET;
	DK__SLOT(slot);
	struct dk_op_decl *decl;
	struct dk_op *op;

	x->objs.items = objs;
	x->objs.n = n;
	decl = rq->decl;
	op = rq->op;
	if (!op && !rq->from)
		op = READ_ONCE(decl->op);
	if (unlikely(!op || rq->flags != DK__FROM_BOXED))
		return call_specially(x);
	if (unlikely(!dk__begin(&c, &slot, &found, op, decl, DK__CALL_BOXED, rq->local,
				dk__merge(raw.bits, rq->local), HOW, &x->objs)))
		return find(x, &c, slot, found.table, found.ks, found.byte);
	return run(x, &c, decl, slot);
}

int dk__call_packed(struct dk_call *c, const struct dk_obj *const *objs, unsigned int n, void *args)
{
	const struct dk_impl *impl = dkc_impl_of(c->entry->reg);
	struct dk_frame f DK__NOT_SET;

	if (impl->flags & DK_IMPL_F_PLAIN)
		return impl->op->unbox_plain(c, args);
	f.call = *c;
	f.call.made |= DK__CALL_FRAME;
	f.objs = objs;
	f.n = n;
	f.boxed = (dk_boxed_fn_t)c->entry->fn;
	/* if that of a newer definition does not fit, dkc_args_decl() does not use it */
	f.args = dkc_args_of(c->op);
	/* not @alone, @result and @state, because the caller leaves the call */
	return f.boxed(&f.call, args);
}

/* Returns the object of a parameter, or NULL if calls do not dispatch on the parameter. */
static const struct dk_obj *param_obj(const struct dk_param *p, void *args, bool generators)
{
	char *at = (char *)args + p->offset;
	char *obj;

	if (p->kind == DK_ARG_LIST)
		return dk_list_obj((struct dk_list *)at);
	if (p->kind != DK_ARG_OBJECT && (p->kind != DK_ARG_GENERATOR || !generators))
		return NULL;
	memcpy(&obj, at, sizeof(obj));
	return obj ? (const struct dk_obj *)(obj + p->obj_offset) : NULL;
}

/* Extracts the objects by the description of the parameters in @decl, and makes the call. */
static __cold int extract_described(struct dk_extract *x, const struct dk_op_decl *decl,
				    bool generators)
{
	const struct dk_obj *objs[DKC_MAX_PARAMS];
	unsigned int i;

	if (!decl->param || decl->num_params > DKC_MAX_PARAMS)
		return -EPROTOTYPE;
	x->decl = decl;
	for (i = 0; i < decl->num_params; i++)
		objs[i] = param_obj(&decl->param[i], x->args, generators);
	return dk_extracted(x, objs, decl->num_params, DK_KEYSET(dk__raw(objs, decl->num_params)));
}

/*
 * Makes a call through a hand-written declaration, which has no function @extract. The description
 * of the parameters shows which of them are objects. If the declaration has no description, uses
 * the operator's copy of the definition's description, which stays valid after the read-side
 * critical section (args.c).
 */
static noinline __cold int call_by_description(struct dk_extract *x)
{
	const struct dk_op_decl *decl = x->rq.decl;
	struct dk_op *op = x->rq.op ? x->rq.op : READ_ONCE(decl->op);
	int err = 0;

	if (!decl->param) {
		if (!x->rq.op && (!dkc_is_bound(op) || READ_ONCE(op->stale)))
			err = dkc_op_pin(x->rq.decl, &op);
		if (err)
			return err;
		decl = dkc_args_decl(dkc_args_of(op), decl);
	}
	return extract_described(x, decl, false);
}

static __always_inline int call_boxed(struct dk_op *op, struct dk_op_decl *decl,
				      const struct dk_local *local, unsigned int flags,
				      unsigned int key, void *args)
{
	struct dk_extract x DK__NOT_SET;

	if (decl->size != sizeof(*decl))
		return -EPROTOTYPE;
	/* not an initializer, which would also write @objs and the padding */
	x.rq.op = op;
	x.rq.decl = decl;
	x.rq.local = local;
	x.rq.from = NULL;
	x.rq.ks.bits = 0;
	x.rq.flags = flags;
	x.rq.how = 0;
	x.rq.key = key;
	x.args = args;
	x.decl = NULL;
	return decl->extract ? decl->extract(&x, args, false) : call_by_description(&x);
}

int dk_call_boxed(struct dk_op *op, struct dk_op_decl *decl,
		  const struct dk_local *local, void *args)
{
	return call_boxed(op, decl, local, DK__FROM_BOXED, 0, args);
}

int dk_call_boxed_key(struct dk_op *op, struct dk_op_decl *decl,
		      const struct dk_local *local, unsigned int key, void *args)
{
	return call_boxed(op, decl, local, DK__FROM_BOXED | DK__BY_KEY, key, args);
}

int dk_redispatch_boxed(struct dk_call *from, struct dk_keyset ks, void *args)
{
	const struct dk_frame *f = dk_call_frame(from);
	const struct dk_op_decl *decl = dk_call_decl(from);
	struct dk_extract x = {
		.rq = {
			.decl = (struct dk_op_decl *)decl, .from = from, .ks = ks,
			.flags = DK__FROM_BOXED,
		},
		.args = args,
	};

	if (decl->extract)
		return decl->extract(&x, args, !(from->made & DK__CALL_BOXED));
	if (!decl->param)
		decl = dk_call_described(from);
	/* neither the caller nor the definition describes the arguments */
	if (f && !decl->param)
		return dk_extracted(&x, f->objs, f->n, DK_KEYSET(dk__raw(f->objs, f->n)));
	return extract_described(&x, decl, !(from->made & DK__CALL_BOXED));
}

int dk_call_takes(const struct dk_call *c, const struct dk_op_decl *decl)
{
	const struct dk_op_decl *made_by = dk_call_decl(c);

	if (made_by == decl || (made_by->sig && decl->sig &&
				dkc_sig_hash(made_by->sig) == dkc_sig_hash(decl->sig)))
		return 0;
	return -EPROTOTYPE;
}
