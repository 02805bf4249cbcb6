// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Subcommands about a running kernel, where libnl was not there to build them with. */
#include "../dkctl.h"

int run_live(struct request *q)
{
	return fail(q, STATUS_KERNEL, q->subcommand->name, NULL,
		    "this dkctl was built without libnl: install libnl-genl-3-dev and build it again");
}

int run_version(struct request *q)
{
	return show_version(q);
}
