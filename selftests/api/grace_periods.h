/* SPDX-License-Identifier: GPL-2.0-only */
/* The linker replaces liburcu's function by this one (--wrap), for grace_periods.c. */
#ifndef _SELFTESTS_API_GRACE_PERIODS_H
#define _SELFTESTS_API_GRACE_PERIODS_H

#include <stdbool.h>

/* Called after each one, or NULL. */
extern void (*at_grace_over)(void);

/* While it is true, none begins. */
extern bool graces_held_back;

void __real_urcu_bp_synchronize_rcu(void);
void __wrap_urcu_bp_synchronize_rcu(void);

#endif
