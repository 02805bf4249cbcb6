// SPDX-License-Identifier: GPL-2.0-only
/* Tests that the dispatcher returns the errnos of a libc whose numbers differ from Linux's. */
#include <errno.h>
#include <dispatchkey.h>

#include "board.h"

DK_OP(nothing, "k::nothing", (struct dk_obj *x), (x), (x));

static char arena[12 * 1024];
static struct dk_provider prov = DK_PROVIDER("errnos");

void board_timer_expired(void)
{
}

int main(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int err = dk_bare_arena(arena, sizeof(arena));

	if (!err)
		err = dk_provider_register(&prov, NULL);
	if (!err)
		err = dk_op_define(&prov, &nothing_op, 0, NULL);
	if (err)
		return 1;
	err = nothing(&x);
	print_number(-err);
	print(": ");
	print(dk_call_error_text(-ENOSYS));
	print("\n");
	return err == -ENOSYS ? 0 : 1;
}
