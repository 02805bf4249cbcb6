// SPDX-License-Identifier: GPL-2.0-only
/* Measures the speed of calls while another thread registers, in libdispatchkey. */
#include "readers.h"

#include <dispatchkey.h>

#define DRAIN		64	/* withdrawals between two drains of the provider */

DK_OP(any, "readers::any", (struct dk_obj *x, long n), (x, n), (x));

static struct dk_provider host = DK_PROVIDER("host"), guest = DK_PROVIDER("guest");
static struct dk_op_decl decls[2 * OPERATORS];
static struct dk_impl base[2 * OPERATORS], guests[2 * OPERATORS];
static struct dk_op *ops[2 * OPERATORS];
static struct dk_obj object;

static int serve(struct dk_call *c, struct dk_obj *x, long n)
{
	return 0;
}

static int set_up(char *const *names)
{
	static const struct dk_impl below = DK_IMPL(any, DK_COMPOSITE_EXPLICIT_AUTOGRAD, serve);
	static const struct dk_impl above = DK_IMPL(any, DK_CPU, serve);
	unsigned int i;

	object = dk_obj_on(DK_BACKEND_CPU, 0);
	if (dk_provider_register(&host, NULL) || dk_provider_register(&guest, NULL))
		return 2;
	for (i = 0; i < 2 * OPERATORS; i++) {
		decls[i] = any_op;
		decls[i].name = names[i];
		base[i] = below;
		base[i].op = &decls[i];
		guests[i] = above;
		guests[i].op = &decls[i];
		if (dk_op_define(&host, &decls[i], 0, NULL) ||
		    dk_impls_register(&host, &base[i], 1, NULL))
			return 2;
		ops[i] = dk_op_get(NULL, names[i]);
	}
	return 0;
}

static void call(unsigned int op)
{
	if (any_at(ops[op], &dk_local_default, &object, 1))
		abort();
}

static void come_and_go(unsigned int op)
{
	static unsigned int withdrawn;

	if (dk_impls_register(&guest, &guests[op], 1, NULL) ||
	    dk_impls_withdraw(&guest, &guests[op], NULL))
		abort();
	if (++withdrawn % DRAIN == 0 && dk_provider_drain(&guest))
		abort();
}

static const struct readers_side side = { "libdispatchkey", set_up, call, come_and_go, 1 };

int main(int argc, char **argv)
{
	return readers_main(&side, argc, argv);
}
