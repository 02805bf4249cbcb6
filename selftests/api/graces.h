/* SPDX-License-Identifier: GPL-2.0-only */
/* What the linker makes of liburcu's function for graces.c, by --wrap. */
#ifndef _SELFTESTS_API_GRACES_H
#define _SELFTESTS_API_GRACES_H

#include <stdbool.h>

/* Called after each one, or NULL. */
extern void (*at_grace_over)(void);

/* While it is true, none begins. */
extern bool graces_held_back;

void __real_urcu_bp_synchronize_rcu(void);
void __wrap_urcu_bp_synchronize_rcu(void);

#endif
