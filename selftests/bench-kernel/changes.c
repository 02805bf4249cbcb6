// SPDX-License-Identifier: GPL-2.0-only
/* Defines the measured lookups and changes, in a registry with all operators of PyTorch. */
#include <linux/module.h>
#include <linux/slab.h>

#include "bench.h"

#define OPS	3640

DK_OP(bench_defined, "bench::defined", (struct dk_obj *x, long n), (x, n), (x));
DK_OP(bench_served, "bench::served", (struct dk_obj *x, long n), (x, n), (x));

static int serve(struct dk_call *c, struct dk_obj *x, long n)
{
	return 0;
}

static void serve_any(void)
{
}

static int serve_boxed(struct dk_call *c, void *args)
{
	return 0;
}

static const struct dk_impl impl = DK_IMPL(bench_served, DK_CPU, serve);
static const struct dk_impl alias = DK_IMPL(bench_served, DK_COMPOSITE_EXPLICIT_AUTOGRAD, serve);
static const struct dk_impl passed_by = DK_FALLTHROUGH(DK_PYTHON);
static const struct dk_impl fallback = DK_FALLBACK(DK_PYTHON, serve_boxed);

static struct dk_provider host = DK_PROVIDER("bench-host");
static struct dk_provider guest = DK_PROVIDER("bench-guest");
static struct dk_provider leaver = DK_PROVIDER("bench-leaver");

/* The operators, and a function for each. */
static struct many {
	struct dk_op *op;
	const char *name;
	struct dk_op_decl decl;
} *many;
static struct dk_impl *many_impls;

/* ---- finding ---------------------------------------------------------------- */

static unsigned int found;	/* number of handles of each operator */

static void find_all(unsigned int n)
{
	unsigned int i;

	found += n;
	while (n--)
		for (i = 0; i < OPS; i++)
			dk_op_get(NULL, many[i].name);
}

static void put_all(void)
{
	unsigned int i;

	for (; found; found--)
		for (i = 0; i < OPS; i++)
			dk_op_put(many[i].op);
}

/* ---- one function ----------------------------------------------------------- */

struct waits {
	struct rcu_head rcu;
};

/*
 * Queues memory with kfree_rcu(), so that the measured kfree_rcu() is not the first one, which
 * takes 300 instructions more.
 */
static int let_wait(void)
{
	struct waits *waits = kmalloc(sizeof(*waits), GFP_KERNEL);

	if (!waits)
		return -ENOMEM;
	kfree_rcu(waits, rcu);
	return 0;
}

static int register_one(void)
{
	return dk_impls_register(&guest, &impl, 1, NULL);
}

static int withdraw_one(void)
{
	return dk_impls_withdraw(&guest, &impl, NULL);
}

static void drain(void)
{
	dk_provider_drain(&guest);
}

static void take_out(void)
{
	dk_impls_unregister(&guest, &impl, NULL);
}

static int register_alias(void)
{
	return dk_impls_register(&guest, &alias, 1, NULL);
}

static void take_out_alias(void)
{
	dk_impls_unregister(&guest, &alias, NULL);
}

/* ---- one operator, and all -------------------------------------------------- */

static int define(void)
{
	return dk_op_define(&guest, &bench_defined_op, 0, NULL);
}

static int undefine(void)
{
	return dk_op_undefine(&guest, bench_defined_op.name, NULL);
}

static void take_back(void)
{
	dk_op_undefine(&guest, bench_defined_op.name, NULL);
}

static int register_fallback(void)
{
	return dk_fallback_register(&guest, &fallback, NULL);
}

static void take_out_fallback(void)
{
	dk_impls_unregister(&guest, &fallback, NULL);
}

static int register_fallthrough(void)
{
	return dk_fallback_register(&guest, &passed_by, NULL);
}

static void take_out_fallthrough(void)
{
	dk_impls_unregister(&guest, &passed_by, NULL);
}

static int register_all(void)
{
	return dk_impls_register(&guest, many_impls, OPS, NULL);
}

static void take_out_all(void)
{
	dk_impls_unregister(&guest, many_impls, NULL);
}

/* ---- a provider ------------------------------------------------------------- */

static int bring(const struct dk_impl *impls, unsigned int n)
{
	int err = dk_provider_register(&leaver, NULL);

	return err ?: dk_impls_register(&leaver, impls, n, NULL);
}

static int bring_one(void)
{
	return bring(&impl, 1);
}

static int bring_all(void)
{
	return bring(many_impls, OPS);
}

/* Does everything that unregistering does except waiting, which takes no instructions. */
static int leave(void)
{
	int err = dk_provider_unregister_timeout(&leaver, 0, NULL);

	return err == -ETIMEDOUT ? 0 : err;
}

static void have_left(void)
{
	dk_provider_unregister(&leaver);
}

const struct bench bench_changes[] = {
	{ .name = "find", .loop = find_all, .after = put_all, .n = 1, .per = OPS },
	{ .name = "register", .once = register_one, .before = let_wait, .after = take_out },
	{ .name = "withdraw", .once = withdraw_one, .before = register_one, .after = drain },
	{ .name = "register.alias", .once = register_alias, .before = let_wait,
	  .after = take_out_alias },
	{ .name = "define", .once = define, .before = let_wait, .after = take_back },
	{ .name = "undefine", .once = undefine, .before = define },
	{ .name = "fallback", .once = register_fallback, .before = let_wait,
	  .after = take_out_fallback, .per = OPS },
	{ .name = "fallthrough", .once = register_fallthrough, .after = take_out_fallthrough,
	  .per = OPS },
	{ .name = "register.all", .once = register_all, .after = take_out_all, .per = OPS },
	{ .name = "unregister", .once = leave, .before = bring_one, .after = have_left },
	{ .name = "unregister.all", .once = leave, .before = bring_all, .after = have_left,
	  .per = OPS },
	{ }
};

/* ---- all operators ---------------------------------------------------------- */

static int gather(void)
{
	struct dk_op_info info = { .size = sizeof(info) };
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < OPS; i++) {
		err = dk_registry_next_op(NULL, i ? info.name : NULL, &info);
		if (err)
			return err;
		many[i].op = dk_op_get(NULL, info.name);
		if (!many[i].op)
			return -ENOENT;
		many[i].name = dk_op_name(many[i].op);
		many[i].decl.size = sizeof(many[i].decl);
		many[i].decl.call_abi = DK_ABI_VERSION;
		many[i].decl.name = many[i].name;
		many_impls[i] = (struct dk_impl){
			.size = sizeof(*many_impls), .op = &many[i].decl, .key = DK_VULKAN,
			.fn = serve_any, .label = "serve_any",
		};
	}
	return 0;
}

int bench_changes_init(struct dk_diag *why)
{
	int err;

	many = kvcalloc(OPS, sizeof(*many), GFP_KERNEL);
	many_impls = kvcalloc(OPS, sizeof(*many_impls), GFP_KERNEL);
	if (!many || !many_impls)
		return -ENOMEM;
	err = gather();
	if (!err)
		err = dk_provider_register(&host, why);
	if (!err)
		err = dk_provider_register(&guest, why);
	if (!err)
		err = dk_op_define(&host, &bench_served_op, 0, why);
	return err;
}

void bench_changes_exit(void)
{
	unsigned int i;

	dk_provider_unregister(&leaver);
	dk_provider_unregister(&guest);
	dk_provider_unregister(&host);
	for (i = 0; many && i < OPS; i++)
		dk_op_put(many[i].op);
	kvfree(many);
	kvfree(many_impls);
}
