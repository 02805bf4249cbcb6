// SPDX-License-Identifier: GPL-2.0-only
/* Measures registrations in libdispatchkey, in a separate registry with the default settings. */
#include "regs.h"

#include <dispatchkey.h>
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct regs_all *all;
static struct dk_op_decl *decls, *fresh;
static struct dk_impl *impls, at_key[REGS_ONES], at_alias[REGS_ONES], fallback, through;
static struct dk_registry *reg;
static struct dk_provider everyone = DK_PROVIDER("pytorch"), guest = DK_PROVIDER("guest");
static struct dk_op *found[REGS_ONES];
static struct dk_diag why = { .size = sizeof(why) };

static void must(int err)
{
	if (err)
		errx(1, "%s: %s", why.name, why.text);
}

static int serve(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static int serve_boxed(struct dk_call *c, void *args)
{
	return 0;
}

static struct dk_op_decl declare(const struct regs_op *op, bool with_schema)
{
	return (struct dk_op_decl){
		.size = sizeof(struct dk_op_decl),
		.call_abi = DK_ABI_VERSION,
		.name = op->name,
		.sig = "(struct dk_obj *x)",
		.schema = with_schema ? op->schema : NULL,
	};
}

static struct dk_impl implement(const struct dk_op_decl *decl, const char *key,
				const char *label, bool is_fallthrough)
{
	struct dk_impl impl = { .op = decl, .label = label, .flags = DK_IMPL_F_BLOCK,
				.size = sizeof(impl) };
	unsigned int number;

	must(dk_key_parse(NULL, key, 0, &number, &why));
	impl.key = number;
	if (is_fallthrough)
		impl.flags |= DK_IMPL_F_FALLTHROUGH;
	else
		impl.fn = (dk_fn_t)serve;
	return impl;
}

static void prepare(const struct regs_all *of)
{
	const struct regs_op *op;
	unsigned int i, j, n = 0;

	all = of;
	decls = calloc(all->num_ops, sizeof(*decls));
	impls = calloc(all->num_impls, sizeof(*impls));
	fresh = calloc(2 * REGS_ONES, sizeof(*fresh));
	for (i = 0; i < all->num_ops; i++) {
		op = &all->ops[i];
		decls[i] = declare(op, true);
		for (j = 0; j < op->num_impls; j++)
			impls[n++] = implement(&decls[i], op->impls[j].key,
					       op->impls[j].label,
					       op->impls[j].is_fallthrough);
	}
	fallback = implement(NULL, REGS_FALLBACK, "fallback", false);
	fallback.fn = (dk_fn_t)serve_boxed;
	fallback.flags = DK_IMPL_F_BOXED;
	through = implement(NULL, REGS_FALLBACK, "fallthrough", true);
}

static void load(void)
{
	unsigned int i;

	reg = dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS, &why);
	everyone.registry = reg;
	guest.registry = reg;
	if (!reg || dk_provider_register(&everyone, &why))
		must(-1);
	for (i = 0; i < all->num_ops; i++)
		if (decls[i].schema)
			must(dk_op_define(&everyone, &decls[i], 0, &why));
	must(dk_impls_register(&everyone, impls, all->num_impls, &why));
}

static void unload(void)
{
	must(dk_provider_unregister(&everyone));
}

static void clean(void)
{
	must(dk_registry_free(reg, &why));
}

static unsigned int num_ops(void)
{
	return all->num_ops;
}

/* ---- one by one ---------------------------------------------------------------- */

static void come(void)
{
	must(dk_provider_register(&guest, &why));
}

static void go(void)
{
	must(dk_provider_unregister(&guest));
}

static void declare_fresh(bool with_schema)
{
	unsigned int i;

	come();
	for (i = 0; i < REGS_ONES; i++)
		fresh[i] = declare(&all->fresh[i], with_schema);
}

static void declare_without(void)
{
	declare_fresh(false);
}

static void declare_with(void)
{
	declare_fresh(true);
}

static void define(void)
{
	unsigned int i;

	for (i = 0; i < REGS_ONES; i++)
		must(dk_op_define(&guest, &fresh[i], 0, &why));
}

static void choose(struct dk_impl *one, const char *key)
{
	unsigned int i;

	come();
	for (i = 0; i < REGS_ONES; i++)
		one[i] = implement(&decls[all->chosen[i]], key, "guest", false);
}

static void choose_at_key(void)
{
	choose(at_key, REGS_KEY);
}

static void choose_at_alias(void)
{
	choose(at_alias, REGS_ALIAS);
}

static void register_each(const struct dk_impl *one)
{
	unsigned int i;

	for (i = 0; i < REGS_ONES; i++)
		must(dk_impls_register(&guest, &one[i], 1, &why));
}

static void register_at_key(void)
{
	register_each(at_key);
}

static void register_at_alias(void)
{
	register_each(at_alias);
}

static void register_fallback(void)
{
	must(dk_fallback_register(&guest, &fallback, &why));
}

static void register_fallthrough(void)
{
	must(dk_fallback_register(&guest, &through, &why));
}

static void find(void)
{
	unsigned int i;

	for (i = 0; i < REGS_ONES; i++)
		found[i] = dk_op_get(reg, decls[all->chosen[i]].name);
}

static void put(void)
{
	unsigned int i;

	for (i = 0; i < REGS_ONES; i++)
		dk_op_put(found[i]);
}

static void nothing(void)
{
}

static const struct regs_contender contenders[] = {
	{ "define", REGS_ONES, declare_without, define, go },
	{ "define.schema", REGS_ONES, declare_with, define, go },
	{ "impl", REGS_ONES, choose_at_key, register_at_key, go },
	{ "impl.alias", REGS_ONES, choose_at_alias, register_at_alias, go },
	{ "fallback", 1, come, register_fallback, go },
	{ "fallback.through", 1, come, register_fallthrough, go },
	{ "name", REGS_ONES, nothing, find, put },
};

const struct regs_side regs_dk = {
	"", prepare, load, unload, clean, num_ops, contenders,
	sizeof(contenders) / sizeof(contenders[0]),
};
