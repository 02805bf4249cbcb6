/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * With --wrap, the linker replaces liburcu's synchronize_rcu() by __wrap_urcu_bp_synchronize_rcu(),
 * which is in grace_periods.c.
 */
#ifndef _SELFTESTS_API_GRACE_PERIODS_H
#define _SELFTESTS_API_GRACE_PERIODS_H

#include <stdbool.h>

/* Called after each grace period, unless it is NULL. */
extern void (*after_grace_period)(void);

/* While this is true, no grace period begins. */
extern bool hold_grace_periods;

void __real_urcu_bp_synchronize_rcu(void);
void __wrap_urcu_bp_synchronize_rcu(void);

#endif
