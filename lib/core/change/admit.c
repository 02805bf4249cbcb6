// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Finds or makes the operator of a definition or function, and checks that both fit: name,
 * signature, schema and class. The class of an operator is atomic (DK_OP_ATOMIC) or sleepable.
 */
#include "change.h"

#define SIG_SHOWN	40	/* characters of a signature in a message */

void dkc_impl_text(char text[DK_NAME_MAX], const struct dk_impl *impl,
		   const struct dkc_provider *prov)
{
	const char *const part[] = {
		impl->label ? impl->label : "?", " (", prov->name, ")",
	};

	dkc_join(text, part, ARRAY_SIZE(part));
}

noinline int dkc_refuse_had(struct dk_diag *why, enum dk_reason reason,
			    const struct dkc_reg *old, const struct dk_impl *impl,
			    const struct dkc_provider *prov)
{
	char key[DK_NAME_MAX], had[DK_NAME_MAX], new[DK_NAME_MAX];
	const struct dk_op *op = dkc_reg_op(old);
	const char *const part[] = {
		op ? op->name : "", op ? " " : "",
		dk_key_name(prov->reg->layout, old->key, key), ": ", had, " -> ", new,
	};

	dkc_impl_text(had, dkc_impl_of(old), dkc_block_of(old)->prov);
	dkc_impl_text(new, impl, prov);
	return dkc_refuse_joined(why, reason, part, ARRAY_SIZE(part));
}

/* For messages: the debug string of a definition, or the name of its provider. */
static const char *definer_name(const struct dk_op_decl *decl, const struct dkc_provider *prov)
{
	return decl->debug ? decl->debug : prov->name;
}

/* The message is "op: earlier definition -> new definition". */
static int refuse_defined(const struct dkc_claim *c, const struct dk_op *op, struct dk_diag *why)
{
	const char *const part[] = {
		op->name, ": ", definer_name(op->decl, op->definer),
		" -> ", definer_name(c->decl, c->prov),
	};

	return dkc_refuse_joined(why, DK_WHY_DEFINED, part, ARRAY_SIZE(part));
}

/* ---- signatures -------------------------------------------------------------- */

/* True if the text at @sig was already compared with the operator's signature. */
static bool sig_known(const struct dk_op *op, const char *sig)
{
	const struct dkc_reg *r = dkc_deref_locked(op->regs, op->reg);

	return (op->definer && op->decl->sig == sig) || (r && dkc_impl_of(r)->op->sig == sig);
}

static bool sig_fits(const struct dk_op *op, const struct dk_op_decl *decl)
{
	u64 sig;

	if (!decl->sig || sig_known(op, decl->sig))
		return true;
	sig = dkc_op_sig(op);
	return !sig || dkc_sig_hash(decl->sig) == sig;
}

int dk_op_takes(struct dk_op *op, const struct dk_op_decl *decl)
{
	bool fits;

	if (!op)
		return -ENOENT;
	if (!dkc_decl_fits(decl))
		return -EPROTOTYPE;
	mutex_lock(&op->reg->lock);
	fits = sig_fits(op, decl);
	mutex_unlock(&op->reg->lock);
	return fits ? 0 : -EPROTOTYPE;
}

/*
 * Returns where the operator's signature comes from: its definition, or the oldest function with
 * that signature. @decl of the result is NULL if neither is registered any more.
 */
static struct dkc_claim sig_origin(const struct dkc_claim *c, const struct dk_op *op)
{
	struct dkc_claim origin = { .decl = NULL };
	const struct dkc_reg *r = NULL;
	u64 sig = dkc_op_sig(op);

	/* the definition may be pending, if it is part of the same request as @c: no definer yet */
	if (op->decl && dkc_sig_hash(op->decl->sig) == sig)
		return (struct dkc_claim){
			.decl = op->decl, .prov = op->definer ? op->definer : c->prov,
		};
	while ((r = dkc_reg_walk(op, r)))
		if (dkc_sig_hash(dkc_impl_of(r)->op->sig) == sig)
			origin = (struct dkc_claim){
				.decl = dkc_impl_of(r)->op, .impl = dkc_impl_of(r),
				.prov = dkc_block_of(r)->prov, .key = r->key,
			};
	return origin;
}

/*
 * Returns how many characters of two long signatures a message can omit: their common prefix, up to
 * a comma. Returns 0 if a message can show both in full.
 */
static size_t sig_common(const char *a, const char *b)
{
	size_t i, common = 0;

	if (strlen(a) < SIG_SHOWN && strlen(b) < SIG_SHOWN)
		return 0;
	for (i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == ',')
			common = i;
	return common;
}

/*
 * Formats a claim for a message: "(int x), f1 (provider) at CPU". Leaves out the first @common
 * characters of the signature.
 */
static void sig_text(char text[DK_NAME_MAX], const struct dkc_claim *c, size_t common)
{
	char sig[SIG_SHOWN], impl[DK_NAME_MAX], key[DK_NAME_MAX];
	const char *const part[] = {
		common ? "(..." : "", sig, ", ",
		c->impl ? impl : definer_name(c->decl, c->prov), c->impl ? " at " : "", key,
	};

	dkc_strcpy(sig, c->decl->sig + common, sizeof(sig));
	key[0] = 0;
	if (c->impl) {
		dkc_impl_text(impl, c->impl, c->prov);
		dk_key_name(c->prov->reg->layout, c->key, key);
	}
	dkc_join(text, part, ARRAY_SIZE(part));
}

static noinline int refuse_sig(const struct dkc_claim *c, const struct dk_op *op,
			       struct dk_diag *why)
{
	char had[DK_NAME_MAX], new[DK_NAME_MAX];
	const char *const part[] = { op->name, ": ", had, " -> ", new };
	const struct dkc_claim origin = sig_origin(c, op);
	size_t common = 0;

	dkc_strcpy(had, "that of an unregistered function", sizeof(had));
	if (origin.decl) {
		common = sig_common(origin.decl->sig, c->decl->sig);
		sig_text(had, &origin, common);
	}
	sig_text(new, c, common);
	return dkc_refuse_joined(why, DK_WHY_SIGNATURE, part, ARRAY_SIZE(part));
}

/* ---- schemas and classes ------------------------------------------------------- */

/*
 * The message contains the difference, and both schemas with their origin: "op: 2 vs 1: (Tensor
 * x, int y) -> (), debug, vs (Tensor _0) -> (), label".
 */
static noinline int check_schemas(const struct dk_op_decl *decl, const struct dk_impl *impl,
				  struct dk_diag *why)
{
	char declared[SIG_SHOWN], inferred[SIG_SHOWN];
	struct dk_diag diff = { .size = sizeof(diff) };
	const char *args = decl->schema;
	const char *const part[] = {
		decl->name, ": ", diff.name, ": ", declared, ", ",
		decl->debug ? decl->debug : "", decl->debug ? ", vs " : "vs ", inferred,
		", ", impl->label ? impl->label : "?",
	};

	if (!dkc_schema_compare(args, impl->schema, &diff))
		return 0;
	while (*args && *args != '(')
		args++;
	dkc_strcpy(declared, args, sizeof(declared));
	dkc_strcpy(inferred, impl->schema, sizeof(inferred));
	return dkc_refuse_joined(why, diff.reason, part, ARRAY_SIZE(part));
}

/* Compares a function with a definition. If the function is not atomic, the message has @name. */
static int check_function(const struct dk_op_decl *decl, unsigned int flags,
			  const struct dk_impl *impl, const char *name, struct dk_diag *why)
{
	if ((flags & DK_OP_ATOMIC) && !(impl->flags & DK_IMPL_F_ATOMIC))
		return dkc_refuse(why, DK_WHY_NOT_ATOMIC, name);
	return decl->schema && impl->schema ? check_schemas(decl, impl, why) : 0;
}

/*
 * Checks the functions that were registered before the definition. Also refuses to change the class
 * of an operator to which declarations or handles point: calls through them rely on its class.
 */
static int check_definition(const struct dkc_claim *c, const struct dk_op *op, struct dk_diag *why)
{
	const struct dkc_reg *r = NULL;
	int err = 0;

	/* pairs with smp_mb() in op_keep(): selftests/model/pin.pml */
	smp_mb();
	if (op->classed && ((op->flags ^ c->flags) & DK_OP_ATOMIC) &&
	    (READ_ONCE(op->pinned) || op->holders))
		return dkc_refuse(why, DK_WHY_CLASS, op->name);
	while (!err && (r = dkc_reg_walk(op, r)))
		err = check_function(c->decl, c->flags, dkc_impl_of(r), op->name, why);
	return err;
}

int dkc_admit(const struct dkc_claim *c, struct dk_op **out, struct dk_diag *why)
{
	struct dk_registry *reg = c->prov->reg;
	struct dk_op *op = c->decl->name ? dkc_op_find(reg, c->decl->name) : NULL;
	int err = 0;

	dkc_assert_writer(reg);
	/* names of definitions and of existing operators have already been checked */
	if (!op && c->impl && !dkc_name_ok(c->decl->name))
		return dkc_refuse(why, DK_WHY_BAD_NAME, c->decl->name);
	op = dkc_op_obtain(reg, c->decl, op, c->flags);
	if (!op)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, c->decl->name);
	if (!c->impl && op->definer)
		err = refuse_defined(c, op, why);
	else if (!sig_fits(op, c->decl))
		err = refuse_sig(c, op, why);
	else if (!c->impl)
		err = check_definition(c, op, why);
	else if (op->decl)
		err = check_function(op->decl, op->flags, c->impl, c->impl->label, why);
	/*
	 * After an error, the operator need not be released: it is not new, because a new operator
	 * fits every claim.
	 */
	if (!err)
		*out = op;
	return err;
}
