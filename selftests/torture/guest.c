// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest of the torture: a provider whose code comes and goes, as a module or
 * as a plugin. Its functions serve by the host's, from text of its own.
 */
#include "torture.h"

static struct dk_impl table[NUM_OPS];
static struct dk_provider guest = DK_PROVIDER("torture-guest");

static int serve_guest(struct dk_call *c, struct dk_obj *x, struct ticket *t)
{
	int err = torture_serve(c, x, t, ROLE_BACKEND);

	/* the host's function returns to here: no tail call */
	t->visited++;
	return err;
}

int torture_guest_come(void)
{
	unsigned int backend;
	int err;

	torture_table(table, serve_guest, "serve_guest", DK_DENSE);
	err = torture_guest_begin(&guest, &backend);
	if (err)
		return err;
	err = dk_provider_register(&guest, NULL);
	err = err ? err : dk_backend_impls_register(&guest, backend, table, NUM_OPS, NULL);
	if (!err) {
		torture_guest_here(&guest);
		return 0;
	}
	dk_provider_unregister(&guest);
	torture_guest_left(&guest);
	return err;
}

void torture_guest_go(void)
{
	torture_guest_leaves();
	dk_provider_unregister(&guest);
	torture_guest_left(&guest);
}

#if W_KERNEL
module_init(torture_guest_come);
module_exit(torture_guest_go);
MODULE_DESCRIPTION("dispatchkey selftest: a guest of dk_torture that comes and goes");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
#endif
