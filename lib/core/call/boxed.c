// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Boxed calls: the arguments are packed in a struct. An extract function puts the objects that the
 * call dispatches on into an array on its stack, and passes the array to dk_extracted().
 * dk_extracted() makes the call, so the array stays valid until the call returns.
 */
#include "call.h"

struct dk_extract {
	struct dk__request rq;
	void *args;
};

/*
 * Returns the function that unpacks the arguments. The caller's declaration may lack this function
 * if it is hand-written. Then the declaration of the called function is used. It stays valid while
 * the called function is registered.
 */
static dk_boxed_fn_t unbox_of(const struct dk_call *c, const struct dk_op_decl *decl)
{
	return likely(decl->unbox) ? decl->unbox : dkc_impl_of(c->entry->reg)->op->unbox;
}

int dk_extracted(struct dk_extract *x, const struct dk_obj *const *objs,
		 unsigned int n, struct dk_keyset raw)
{
	struct dk__request *rq = &x->rq;
	struct dk_op *op = rq->op ? rq->op : rq->from ? NULL : READ_ONCE(rq->decl->op);
	struct dk_frame f DK__NOT_SET;
	DK__SLOT(slot);
	dk_boxed_fn_t unbox;
	int err = DK__SLOWLY;

	/* @sig_mark is set only after the declaration was checked */
	if (likely(rq->flags == DK__FROM_BOXED && op && READ_ONCE(rq->decl->sig_mark)))
		err = dkc_fast_find(&f.call, &slot, rq, op, DK__CALL_BOXED, rq->local,
				    dk__merge(raw.bits, rq->local),
				    DK__HOW_MASKED | DK__HOW_TYPED, objs, n);
	else if (rq->from)
		err = dkc_fast_redispatch(&f.call, &slot, rq, DK__CALL_BOXED, objs, n);
	if (!err) {
		unbox = unbox_of(&f.call, rq->decl);
		err = unbox ? unbox(&f.call, x->args) : -EPROTOTYPE;
		dk__end(&f.call, slot, rq->how);
		return err;
	}
	if (err != DK__SLOWLY)
		return err;
	err = dk__call_enter(&f, rq, objs, n);
	if (err)
		return err;
	unbox = f.boxed ? f.boxed : unbox_of(&f.call, rq->decl);
	err = unbox ? unbox(&f.call, x->args) : -EPROTOTYPE;
	f.result = err;
	dk_call_leave(&f);
	return err;
}

/* Returns the object of a parameter, or NULL if calls do not dispatch on the parameter. */
static const struct dk_obj *param_obj(const struct dk_param *p, void *args,
				      bool generators)
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

/*
 * Sets *@op to the operator of a call that has not been entered yet. Binds the declaration if
 * needed.
 */
static int op_of(const struct dk__request *rq, struct dk_op **op)
{
	*op = rq->op ? rq->op : READ_ONCE(rq->decl->op);
	if (rq->op || (dkc_is_bound(*op) && !READ_ONCE((*op)->stale)))
		return 0;
	return dkc_op_pin(rq->decl, op);
}

/* Extracts the objects by the description of the parameters in @decl, and makes the call. */
static int extract_described(struct dk_extract *x, const struct dk_op_decl *decl,
			     bool generators)
{
	const struct dk_obj *objs[DKC_MAX_PARAMS];
	unsigned int i;

	if (!decl->param || decl->num_params > DKC_MAX_PARAMS)
		return -EPROTOTYPE;
	for (i = 0; i < decl->num_params; i++)
		objs[i] = param_obj(&decl->param[i], x->args, generators);
	return dk_extracted(x, objs, decl->num_params,
			    DK_KEYSET(dk__raw(objs, decl->num_params)));
}

/*
 * Makes a call through a hand-written declaration, which has no function to extract the objects.
 * The description of the parameters shows which of them are objects. If the declaration has no
 * description, the operator's copy of the definition's description is used. The copy stays valid
 * after the read-side critical section.
 */
static noinline int call_by_description(struct dk_extract *x)
{
	const struct dk_op_decl *decl = x->rq.decl;
	struct dk_op *op;
	int err;

	if (!decl->param) {
		err = op_of(&x->rq, &op);
		if (err)
			return err;
		rcu_read_lock();
		decl = dkc_args_decl(dkc_deref(op->args, op->reg), decl);
		rcu_read_unlock();
	}
	return extract_described(x, decl, false);
}

static int call_boxed(struct dk_extract *x)
{
	const struct dk_op_decl *decl = x->rq.decl;

	if (decl->size != sizeof(*decl))
		return -EPROTOTYPE;
	return decl->extract ? decl->extract(x, x->args, false) : call_by_description(x);
}

int dk_call_boxed(struct dk_op *op, struct dk_op_decl *decl,
		  const struct dk_local *local, void *args)
{
	struct dk_extract x = {
		.rq = { .op = op, .decl = decl, .local = local, .flags = DK__FROM_BOXED },
		.args = args,
	};

	return call_boxed(&x);
}

int dk_call_boxed_key(struct dk_op *op, struct dk_op_decl *decl,
		      const struct dk_local *local, unsigned int key, void *args)
{
	struct dk_extract x = {
		.rq = {
			.op = op, .decl = decl, .local = local, .key = key,
			.flags = DK__FROM_BOXED | DK__BY_KEY,
		},
		.args = args,
	};

	return call_boxed(&x);
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
