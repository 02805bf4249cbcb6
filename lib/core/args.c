// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * How a definition describes the arguments of its operator. Boxed functions read a copy:
 * dk_op_undefine() waits for no call, and what it was defined with may be gone when it
 * returns. Operators keep a copy of every description that they were defined with, the
 * last one first; one that comes again is used again.
 */
#include "registry.h"

static size_t dkc_names_size(const struct dk_op_decl *decl, u32 n)
{
	size_t size = 0;
	u32 i;

	for (i = 0; i < n; i++)
		size += dkc_strlen(decl->param[i].name) + 1;
	return size;
}

static struct dkc_args *dkc_args_copy(const struct dk_op *op, const struct dk_op_decl *decl)
{
	u32 n = decl->param ? decl->num_params : 0, i;
	size_t at = offsetof(struct dkc_args, param) + n * sizeof(decl->param[0]), len;
	size_t size = at + dkc_names_size(decl, n);
	struct dkc_args *args = dkc_alloc(size);

	if (!args)
		return NULL;
	args->decl = (struct dk_op_decl){
		.size = sizeof(args->decl), .call_abi = decl->call_abi, .name = op->name,
		.num_params = n, .param = n ? args->param : NULL,
		.args_size = decl->args_size, .sig_mark = dkc_sig_hash(decl->sig),
	};
	for (i = 0; i < n; i++) {
		len = dkc_strlen(decl->param[i].name) + 1;
		args->param[i] = decl->param[i];
		args->param[i].name = memcpy((char *)args + at, decl->param[i].name, len);
		at += len;
	}
	return args;
}

static bool dkc_same_param(const struct dk_param *a, const struct dk_param *b)
{
	return a->kind == b->kind && a->offset == b->offset && a->size == b->size &&
	       a->obj_offset == b->obj_offset && dkc_streq(a->name, b->name);
}

static bool dkc_args_are(const struct dkc_args *args, const struct dk_op_decl *decl)
{
	const struct dk_op_decl *had = &args->decl;
	u32 i;

	if (had->num_params != (decl->param ? decl->num_params : 0) ||
	    had->args_size != decl->args_size || had->call_abi != decl->call_abi ||
	    had->sig_mark != dkc_sig_hash(decl->sig))
		return false;
	for (i = 0; i < had->num_params; i++)
		if (!dkc_same_param(&had->param[i], &decl->param[i]))
			return false;
	return true;
}

/* A definition that describes nothing needs a copy only to take the place of others. */
int dkc_args_make(struct dk_op *op, const struct dk_op_decl *decl, struct dkc_args **out)
{
	struct dkc_args *args = dkc_deref_locked(op->args);

	dkc_assert_held(&op->reg->lock);
	*out = NULL;
	if (!args && !(decl->param && decl->num_params))
		return 0;
	while (args && !dkc_args_are(args, decl))
		args = args->next;
	*out = args ? args : dkc_args_copy(op, decl);
	return *out ? 0 : -ENOMEM;
}

/* Where it is in the list of an operator, or the list's end. */
static struct dkc_args **dkc_args_link(struct dkc_args **link, const struct dkc_args *args)
{
	while (*link && *link != args)
		link = &(*link)->next;
	return link;
}

/* Readers follow no link of the list. */
void dkc_args_give(struct dk_op *op, struct dkc_args *args)
{
	struct dkc_args *first = dkc_deref_locked(op->args);

	dkc_assert_held(&op->reg->lock);
	if (!args || args == first)
		return;
	*dkc_args_link(&first, args) = args->next;
	args->next = first;
	dkc_publish(op->args, args);
}

void dkc_args_cancel(const struct dk_op *op, struct dkc_args *args)
{
	struct dkc_args *first = dkc_deref_locked(op->args);

	dkc_assert_held(&op->reg->lock);
	if (args && !*dkc_args_link(&first, args))
		dkc_free(args);
}

void dkc_args_free(struct dk_op *op)
{
	struct dkc_args *args = dkc_deref_locked(op->args), *next;

	for (; args; args = next) {
		next = args->next;
		dkc_free(args);
	}
}

/* Its memory goes with the operator's, which no call has any more. */
void dkc_args_retire(struct dk_op *op)
{
	struct dkc_args *args = dkc_deref_locked(op->args), *next;

	dkc_assert_held(&op->reg->lock);
	for (; args; args = next) {
		next = args->next;
		dkc_retire(args);
	}
}

const struct dk_op_decl *dkc_args_decl(const struct dkc_args *args,
				       const struct dk_op_decl *decl)
{
	if (!args || !args->decl.param ||
	    (decl->param && !(decl->sig && args->decl.sig_mark)))
		return decl;
	return &args->decl;
}

/* The caller of a call keeps the operator, and that keeps the copy. */
static const struct dkc_args *dkc_args_of_call(const struct dk_call *c)
{
	const struct dk_frame *f = dk_call_frame(c);
	const struct dkc_args *args;

	if (f && f->boxed)
		return f->args;
	dkc_read_lock();
	args = dkc_deref(c->op->args);
	dkc_read_unlock();
	return args;
}

const struct dk_op_decl *dk_call_described(const struct dk_call *c)
{
	return dkc_args_decl(dkc_args_of_call(c), dk_call_decl(c));
}
