/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes the registrations of one operator in every order, for PyTorch's tests of its tables.
 *
 * o_commute() tests more than the harness of PyTorch's test_dispatch.py. It removes the
 * registrations in many orders, too. After every step it reads the whole state of the operator, and
 * compares it with the state when the same registrations were active for the first time. It reads
 * the published table, whereas PyTorch's harness computes a new one.
 */
#ifndef _SELFTESTS_API_ORDERS_H
#define _SELFTESTS_API_ORDERS_H

#include "test.h"

#define T_ORDERED	5

unsigned int t_factorial(unsigned int n);
/* Stores permutation number @which of 0..@n-1 in @order, for @n up to T_ORDERED. */
void t_permute(unsigned int which, unsigned int n, unsigned int *order);

/* A definition, a function, or both. */
struct step {
	bool defines;
	bool has_function;
	u16 key;
};

#define DEF		{ true, false, 0 }
#define DEF_AT(key)	{ true, true, key }
#define AT(key)		{ false, true, key }
#define CATCH_ALL	DK_UNDEFINED

struct want {
	u16 key;
	const char *label;	/* "f2" for the function of step 2 */
	unsigned int rule;
};

#define UNSERVED		"missing", DK_PROV_MISSING
#define FALLBACK	"fallthrough", DK_PROV_FALLBACK
#define AMBIGUOUS	"ambiguous", DK_PROV_AMBIGUOUS
#define KERNEL(n)	"f" #n, DK_PROV_KERNEL
#define MATH(n)		"f" #n, DK_PROV_MATH
#define DEFAULT(n)	"f" #n, DK_PROV_DEFAULT_BACKEND
#define AUTOGRAD(n)	"f" #n, DK_PROV_AUTOGRAD

/* o_open() registers the providers; "dispatch::op" is not defined yet. */
extern struct dk_provider o_provider, o_other;
extern struct dk_op_decl o_decl;
extern const char *o_inferred;	/* schema of each function, or NULL */
extern struct dk_op *o_op;	/* set by the first o_register() */

void o_open(void);
/* Like o_open(), but the definition and the functions have schemas. */
void o_open_with_schema(void);

#define SCHEMA		"dispatch::op(Tensor x, Tensor y) -> int"
#define INFERRED	"(Tensor _0, Tensor _1) -> int _0"

/* o_register() makes registration number @i, and o_remove() removes it. */
bool o_register(const struct step *s, unsigned int i);
bool o_remove(const struct step *s, unsigned int i);

/* Makes all registrations in their order, checks what serves, and removes nothing. */
void o_register_all(const struct step *steps, unsigned int n, const struct want *want,
		    unsigned int num_want);
/* Makes and removes the registrations in many orders. At the end nothing is registered. */
void o_commute(const struct step *steps, unsigned int n, const struct want *want,
	       unsigned int num_want);

#define COMMUTE(S, W)	o_commute(S, ARRAY_SIZE(S), W, ARRAY_SIZE(W))
#define REGISTER_ALL(S, W)	o_register_all(S, ARRAY_SIZE(S), W, ARRAY_SIZE(W))

/* Checks that the functions are at these keys, in this order, and that all are active. */
void o_check_listed(const u16 *keys, unsigned int n);

#define CHECK_LISTED(...)						\
	o_check_listed((const u16[]){ __VA_ARGS__ },			\
		       ARRAY_SIZE(((const u16[]){ __VA_ARGS__ })))

/* Checks the output of dk_op_dump(), from its second line on. */
void o_check_dump(const char *text);

/* Called before and after a refused change: checks that it changed nothing. */
void o_note_state(void);
void o_check_unchanged(void);

#endif /* _SELFTESTS_API_ORDERS_H */
