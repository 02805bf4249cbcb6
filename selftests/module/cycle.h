/* SPDX-License-Identifier: GPL-2.0-only */
/* The operators of dk_cycle.ko, which comes and goes, and dk_cycle_calls.ko. */
#ifndef _SELFTESTS_MODULE_CYCLE_H
#define _SELFTESTS_MODULE_CYCLE_H

#include <dispatchkey.h>

/* defined by who calls, who has a function for them, too */
DK_OP(cycle_sleeps, "cycle::sleeps", (struct dk_obj *x, int *who), (x, who), (x));
DK_OP(cycle_atomic, "cycle::atomic", (struct dk_obj *x, int *who), (x, who), (x));
/* which is there as long as dk_cycle.ko is */
DK_OP(cycle_own, "cycle::own", (struct dk_obj *x, int *who), (x, who), (x));

enum cycle_who {
	CYCLE_NOBODY,
	CYCLE_CALLER,
	CYCLE_GUEST,
};

#endif
