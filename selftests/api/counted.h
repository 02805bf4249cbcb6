/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Defines operators whose calls are counted, and reads their counters, for the suites of
 * statistics.
 */
#ifndef _SELFTESTS_API_COUNTED_H
#define _SELFTESTS_API_COUNTED_H

#include "../world.h"
#include "test.h"

DK_OP(tick, "counted::tick", (struct dk_obj *x), (x), (x));
DK_OP(tock, "counted::tock", (struct dk_obj *x), (x), (x));	/* atomic */
DK_OP(tack, "counted::tack", (struct dk_obj *x), (x), (x));	/* not defined */

extern struct dk_provider c_prov;
extern struct dk_op *c_tick, *c_tock;
extern unsigned int c_backend;
extern u32 c_card;		/* of c_backend, with a function for tick */

/* c_here() serves all these operators. c_serve_all() is a boxed function for a fallback. */
int c_here(struct dk_call *c, struct dk_obj *x);
int c_serve_all(struct dk_call *c, void *args);

#define C_CARD_IMPLS	1
#define C_TACK_IMPLS	2
extern const struct dk_impl c_card_impls[C_CARD_IMPLS];
/* An array that is not registered: functions for tack at CPU and for tick at XPU. */
extern const struct dk_impl c_tack_impls[C_TACK_IMPLS];
/* A fallback for Python that is not registered. */
extern const struct dk_impl c_fallback;

/* Opens a registry with these operators and the device. Its calls are not counted yet. */
void c_open(unsigned int flags);

/* Returns an object on @device of backend @b. @key is one more key that it has, or 0. */
struct dk_obj c_on(unsigned int b, u32 device, unsigned int key);
int c_call_tick(struct dk_obj x);
int c_call_tock(struct dk_obj x);

/* Returns the counter at @key of @device (0 for none), or -1 if there is no such counter. */
s64 c_at_key(struct dk_op *op, unsigned int kind, unsigned int key, u32 device);
/* Counters of tick: of the function at @key, of unserved calls, and of the card's function. */
s64 c_served(unsigned int key);
s64 c_missing(void);
s64 c_by_card(void);
/* Returns the number of calls that the provider served. */
s64 c_by_provider(const char *name);

struct dk_stats c_get(void);
u64 c_uncounted(void);
bool c_is_on(void);

#endif /* _SELFTESTS_API_COUNTED_H */
