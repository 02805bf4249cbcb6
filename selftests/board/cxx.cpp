// SPDX-License-Identifier: GPL-2.0-only
/* A program in C++ without exceptions, RTTI and a C++ library. The operator is in cxx_op.c. */
#include "cxx.h"

extern "C" {
#include "board.h"
}

namespace {

char arena[12 * 1024];
dk_provider prov = DK_PROVIDER("cxx");

} /* namespace */

int add_cpu(dk_call *c, tensor *out, const tensor *a)
{
	out->data += a->data * (dk_call_key(c) == DK_CPU);
	return 0;
}

void board_timer_expired()
{
}

int main()
{
	tensor a = { dk_obj_on(DK_BACKEND_CPU, 0), 20 }, b = { a.dk, 22 };
	dk_diag why = {};

	why.size = sizeof(why);
	if (dk_bare_arena(arena, sizeof(arena)) || dk_provider_register(&prov, &why) ||
	    add_register(&prov, &why) || add_call(&a, &b))
		return 1;
	return a.data == 42 && !dk_provider_unregister(&prov) ? 42 : 1;
}
