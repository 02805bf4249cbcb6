// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Argument descriptions of operators. Boxed functions read a copy of the definition's description.
 * They cannot read the original: dk_op_undefine() does not wait for calls, and the original may be
 * freed when it returns. An operator keeps a copy of each description that it was ever defined
 * with, the current one first. A definition with an equal description reuses the old copy.
 */
#include "table.h"

static u32 num_params(const struct dk_op_decl *decl)
{
	return decl->param ? decl->num_params : 0;
}

static struct dkc_args *args_copy(const struct dk_op *op, const struct dk_op_decl *decl, u64 sig)
{
	u32 n = num_params(decl), i;
	size_t at = offsetof(struct dkc_args, param) + n * sizeof(decl->param[0]);
	size_t size = at, len;
	struct dkc_args *args;

	for (i = 0; i < n; i++)
		size += strlen(decl->param[i].name) + 1;
	args = kvzalloc(size, GFP_KERNEL);
	if (!args)
		return NULL;
	args->decl = (struct dk_op_decl){
		.size = sizeof(args->decl), .call_abi = decl->call_abi, .name = op->name,
		.num_params = n, .param = n ? args->param : NULL,
		.args_size = decl->args_size, .sig_mark = sig,
	};
	for (i = 0; i < n; i++) {
		len = strlen(decl->param[i].name) + 1;
		args->param[i] = decl->param[i];
		args->param[i].name = memcpy((char *)args + at, decl->param[i].name, len);
		at += len;
	}
	return args;
}

/*
 * True if a value that was stored by one description can be read by the other. The kinds may
 * differ. For example, a pointer to a type of the program is described as an object only in source
 * files whose DK_OBJECT_TYPES() lists the type.
 */
static bool fits(const struct dk_param *p, const struct dk_param *q)
{
	/* classes of kinds: integer, floating-point number, pointer, list, any other value */
	static const char class_of[] = "-iiiffpplpp?";

	static_assert(sizeof(class_of) == DK_ARG_OTHER + 2, "each kind has a class");
	if (p->offset != q->offset || p->size != q->size || p->kind > DK_ARG_OTHER ||
	    q->kind > DK_ARG_OTHER)
		return false;
	if (p->kind == DK_ARG_OBJECT && q->kind == DK_ARG_OBJECT)
		return p->obj_offset == q->obj_offset;
	return class_of[p->kind] == class_of[q->kind] || p->kind == DK_ARG_OTHER ||
	       q->kind == DK_ARG_OTHER;
}

bool dkc_same_struct(const struct dk_op_decl *a, const struct dk_op_decl *b)
{
	u32 i = 0, n = num_params(a);

	if (n != num_params(b))
		return false;
	while (i < n && fits(&a->param[i], &b->param[i]))
		i++;
	return i == n;
}

static bool same_param(const struct dk_param *a, const struct dk_param *b)
{
	return a->kind == b->kind && a->offset == b->offset && a->size == b->size &&
	       a->obj_offset == b->obj_offset && dkc_streq(a->name, b->name);
}

static bool same_args(const struct dkc_args *args, const struct dk_op_decl *decl, u64 sig)
{
	const struct dk_op_decl *copy = &args->decl;
	u32 i;

	if (copy->num_params != num_params(decl) || copy->args_size != decl->args_size ||
	    copy->sig_mark != sig)
		return false;
	for (i = 0; i < copy->num_params; i++)
		if (!same_param(&copy->param[i], &decl->param[i]))
			return false;
	return true;
}

/* A definition without a description needs a copy only if an earlier definition had one. */
int dkc_args_make(struct dk_op *op, const struct dk_op_decl *decl, struct dkc_args **out)
{
	struct dkc_args *args = dkc_deref_locked(op->args, op->reg);
	u64 sig;

	dkc_assert_writer(op->reg);
	*out = NULL;
	if (!args && !num_params(decl))
		return 0;
	sig = dkc_sig_hash(decl->sig);
	while (args && !same_args(args, decl, sig))
		args = args->next;
	*out = args ? args : args_copy(op, decl, sig);
	return *out ? 0 : -ENOMEM;
}

/* Returns the link that points to @args, or the last link of the list. */
static struct dkc_args **args_link(struct dkc_args **link, const struct dkc_args *args)
{
	while (*link && *link != args)
		link = &(*link)->next;
	return link;
}

/* Readers only use the first copy and do not walk the list. */
void dkc_args_give(struct dk_op *op, struct dkc_args *args)
{
	struct dkc_args *first = dkc_deref_locked(op->args, op->reg);

	dkc_assert_writer(op->reg);
	/* @args is NULL only if there is no copy yet */
	if (args == first)
		return;
	*args_link(&first, args) = args->next;
	args->next = first;
	rcu_assign_pointer(op->args, args);
}

void dkc_args_cancel(const struct dk_op *op, struct dkc_args *args)
{
	struct dkc_args *first = dkc_deref_locked(op->args, op->reg);

	dkc_assert_writer(op->reg);
	if (args && !*args_link(&first, args))
		kvfree(args);
}

void dkc_args_free(struct dk_op *op, bool published)
{
	struct dkc_args *args = dkc_deref_locked(op->args, op->reg), *next;

	dkc_assert_writer(op->reg);
	for (; args; args = next) {
		next = args->next;
		if (published)
			kvfree_rcu(args, rcu);
		else
			kvfree(args);
	}
}

const struct dk_op_decl *dkc_args_decl(const struct dkc_args *args, const struct dk_op_decl *decl)
{
	if (!args || !args->decl.param ||
	    (decl->param && !(decl->sig && args->decl.sig_mark &&
			      dkc_same_struct(decl, &args->decl))))
		return decl;
	return &args->decl;
}

const struct dkc_args *dkc_args_of(const struct dk_op *op)
{
	const struct dkc_args *args;

	rcu_read_lock();
	args = dkc_deref(op->args, op->reg);
	rcu_read_unlock();
	return args;
}

const struct dk_op_decl *dk_call_described(const struct dk_call *c)
{
	const struct dk_frame *f = dk_call_frame(c);

	return dkc_args_decl(f && f->boxed ? f->args : dkc_args_of(c->op), dk_call_decl(c));
}

u64 dkc_sig_hash(const char *sig)
{
	u64 hash = 14695981039346656037ull;

	if (!sig)
		return 0;
	for (; *sig; sig++)
		if (*sig != ' ' && *sig != '\t' && *sig != '\n')
			hash = (hash ^ (u8)*sig) * 1099511628211ull;
	return hash > DKC_SIG_UNKNOWN ? hash : DKC_SIG_UNKNOWN + 1;
}

bool dkc_is_other_sig(struct dk_op_decl *decl, u64 sig)
{
	u64 mark = sig ^ (uintptr_t)decl->sig;

	if (!decl->sig || !sig || READ_ONCE(decl->sig_mark) == mark)
		return false;
	if (dkc_sig_hash(decl->sig) != sig)
		return true;
	WRITE_ONCE(decl->sig_mark, mark);
	return false;
}

/*
 * If @op->sig is not set yet, the signature is that of the definition, which may still be
 * cancelled, or that of the newest function that has one. Once set, @op->sig never changes.
 */
u64 dkc_op_sig(const struct dk_op *op)
{
	const struct dkc_reg *r = NULL;
	const char *sig;

	dkc_assert_writer(op->reg);
	if (op->sig)
		return op->sig;
	sig = op->decl ? op->decl->sig : NULL;
	while (!sig && (r = dkc_reg_walk(op, r)))
		sig = dkc_impl_of(r)->op->sig;
	return dkc_sig_hash(sig);
}
