/* SPDX-License-Identifier: GPL-2.0-only */
/* Declares the operators that dk_cycle.ko and dk_cycle_calls.ko define. */
#ifndef _SELFTESTS_MODULE_CYCLE_H
#define _SELFTESTS_MODULE_CYCLE_H

#include <dispatchkey.h>

/* defined by dk_cycle_calls.ko, which also registers a function for each of these operators */
DK_OP(cycle_sleeps, "cycle::sleeps", (struct dk_obj *x, int *served_by), (x, served_by), (x));
DK_OP(cycle_atomic, "cycle::atomic", (struct dk_obj *x, int *served_by), (x, served_by), (x));
/* defined by dk_cycle.ko, so this operator exists only while dk_cycle.ko is loaded */
DK_OP(cycle_own, "cycle::own", (struct dk_obj *x, int *served_by), (x, served_by), (x));

enum cycle_server {
	CYCLE_NONE,
	CYCLE_CALLER,
	CYCLE_GUEST,
};

#endif
