/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registrations of one operator in every order, for PyTorch's tests of its tables.
 *
 * o_commute() is like the harness of PyTorch's test_dispatch.py, and tests more. It tries the
 * orders of registration and removal. After every step it reads everything that the API
 * returns, and compares it with the state when the same registrations were active first. It
 * reads the published table, where PyTorch's harness computes a new one.
 */
#ifndef _SELFTESTS_API_ORDERS_H
#define _SELFTESTS_API_ORDERS_H

#include "test.h"

#define T_ORDERED	5

unsigned int t_factorial(unsigned int n);
/* Permutation number @which of 0..n-1, for n up to T_ORDERED. */
void t_permute(unsigned int which, unsigned int n, unsigned int *order);

/* One registration, which may define the operator too. */
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
	const char *label;	/* "f2": of step 2 */
	unsigned int rule;
};

#define NOBODY		"missing", DK_PROV_MISSING
#define FALLBACK	"fallthrough", DK_PROV_FALLBACK
#define AMBIGUOUS	"ambiguous", DK_PROV_AMBIGUOUS
#define KERNEL(n)	"f" #n, DK_PROV_KERNEL
#define MATH(n)		"f" #n, DK_PROV_MATH
#define DEFAULT(n)	"f" #n, DK_PROV_DEFAULT_BACKEND
#define AUTOGRAD(n)	"f" #n, DK_PROV_AUTOGRAD

/* The operator "dispatch::op", and two providers; nothing is defined. */
extern struct dk_provider o_provider, o_other;
extern struct dk_op_decl o_decl;
extern const char *o_inferred;	/* schema of each function, or NULL */
extern struct dk_op *o_op;	/* from the first registration for it on */

void o_open(void);
/* The same for a definition with a schema and functions with theirs. */
void o_open_with_schema(void);

#define SCHEMA		"dispatch::op(Tensor x, Tensor y) -> int"
#define INFERRED	"(Tensor _0, Tensor _1) -> int _0"

/* Make registration number @i, and take it back. */
bool o_put_in(const struct step *s, unsigned int i);
bool o_take_out(const struct step *s, unsigned int i);

/* Make all, in their order, and check what serves. They stay. */
void o_all_there(const struct step *steps, unsigned int n, const struct want *want,
		 unsigned int num_want);
/* In all orders; at the end nothing is registered. */
void o_commute(const struct step *steps, unsigned int n, const struct want *want,
	       unsigned int num_want);

#define COMMUTE(S, W)	o_commute(S, ARRAY_SIZE(S), W, ARRAY_SIZE(W))
#define ALL_THERE(S, W)	o_all_there(S, ARRAY_SIZE(S), W, ARRAY_SIZE(W))

/* The registrations are at these keys, in this order, and all are active. */
void o_check_listed(const u16 *keys, unsigned int n);

#define CHECK_LISTED(...)						\
	o_check_listed((const u16[]){ __VA_ARGS__ },			\
		       ARRAY_SIZE(((const u16[]){ __VA_ARGS__ })))

/* The output of dumpState, from its second line on. */
void o_check_dump(const char *text);

/* For a refusal, before and after: it changes nothing. */
void o_note_state(void);
void o_check_unchanged(void);

#endif /* _SELFTESTS_API_ORDERS_H */
