/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declares the harness of the public API's tests, which run in userspace and in the kernel from one
 * source. A test is a function without arguments. A failed check is reported, and the test
 * continues. Tests run one after the other, in process context, and print KTAP.
 *
 * test.c is for userspace and the kernel. main_user.c and main_kernel.c define t_vprint(),
 * t_alloc(), t_free() and t_capture_stderr(), and choose the suites that run.
 */
#ifndef _SELFTESTS_API_TEST_H
#define _SELFTESTS_API_TEST_H

#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

#define T_KERNEL	1
/* 1 if dkc_in_atomic() can detect an RCU read-side critical section. */
#define T_DETECTS_ATOMIC	IS_ENABLED(CONFIG_PREEMPT_COUNT)
/* Called between the steps of a long test. */
#define t_pause()	cond_resched()
#else
#include <linux/types.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#define T_KERNEL	0
#define T_DETECTS_ATOMIC	1
#define t_pause()	do { } while (0)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

#include <dispatchkey.h>

/* ---- tests ---------------------------------------------------------------- */

struct t_case {
	const char *name;
	void (*run)(void);
	unsigned int peer;	/* number of the bug in scripts/peer-bugs, or 0 */
};

struct t_suite {
	const char *name;
	const struct t_case *cases;
	unsigned int n;
	void (*setup)(void);	/* before each test, or NULL */
};

#define T(test)		{ #test, test, 0 }
/* A test for a bug that another project had. scripts/peer-bugs lists these bugs. */
#define T_PEER(bug, test)	{ #test, test, bug }
#define T_SUITE_WITH(suite, setup, ...)					\
	static const struct t_case suite##_cases[] = { __VA_ARGS__ };	\
	const struct t_suite suite##_suite = {				\
		#suite, suite##_cases, ARRAY_SIZE(suite##_cases), setup	\
	}
#define T_SUITE(suite, ...)	T_SUITE_WITH(suite, NULL, __VA_ARGS__)

#include "suites.h"

#define T_DECLARE(suite)	extern const struct t_suite suite##_suite;
T_SUITES(T_DECLARE, T_DECLARE, T_DECLARE, T_DECLARE)
#undef T_DECLARE

/* Arguments of T_SUITES() for an array of suites: include the suite, or leave it out. */
#define T_TAKE(suite)		&suite##_suite,
#define T_LEAVE(suite)

/* The most registrations in a set of registration_order.c. orders.c uses this limit, too. */
extern unsigned int t_most;

/*
 * Appends suites to @chosen, which has @num suites and space for @n. @names has the names of the
 * suites, separated by spaces or commas. Returns the new number of suites, or 0 if a name is
 * unknown or there are too many.
 */
unsigned int t_choose(const struct t_suite *const *all, unsigned int n, const char *names,
		      const struct t_suite **chosen, unsigned int num);
/* Runs suites and prints KTAP. Returns the number of tests that failed. */
unsigned int t_run(const struct t_suite *const *suites, unsigned int n);

/* ---- checks --------------------------------------------------------------- */

bool t_check(bool held, const char *file, int line, const char *what);
bool t_check_int(s64 a, s64 b, const char *file, int line, const char *what);
bool t_check_str(const char *a, const char *b, const char *file, int line,
		 const char *what);

/* These macros return whether the check holds. */
#define CHECK(what)		t_check((what), __FILE__, __LINE__, #what)
#define CHECK_INT(a, b)		t_check_int((a), (b), __FILE__, __LINE__, #a)
#define CHECK_STR(a, b)		t_check_str((a), (b), __FILE__, __LINE__, #a)
#define CHECK_OK(call)		CHECK_INT(call, 0)

/* Reports the running test as skipped, unless a check fails. */
void t_skip(const char *reason);
/* Returns true, and skips the test, if this kernel cannot detect that a caller is atomic. */
static inline bool t_skip_atomic(void)
{
	if (!T_DETECTS_ATOMIC)
		t_skip("a kernel without CONFIG_PREEMPT_COUNT cannot detect an atomic call");
	return !T_DETECTS_ATOMIC;
}

/* Prints a line of information. */
void t_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- the environment ------------------------------------------------------ */

void t_vprint(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));
/* Returns zeroed memory, never NULL. In userspace the program ends if there is none. */
void *t_alloc(size_t size);
void t_free(void *p);

/*
 * Runs a function, and stores into @text what it writes to stderr. In the kernel, where messages
 * are in the log, stores "".
 */
void t_capture_stderr(char *text, size_t size, void (*run)(void *data), void *data);

/* ---- an operator, its functions, and results ------------------------------ */

/* The operator of t_functions. Each function stores its number in *served_by. */
DK_OP(t_op, "t::op",
	(struct dk_obj *x, struct dk_obj *y, int *served_by), (x, y, served_by), (x, y));
typedef int (*t_function)(struct dk_call *c, struct dk_obj *x, struct dk_obj *y, int *served_by);

#define T_FUNCTIONS	32
/* Function number N stores N in *served_by and has the label "fN". */
extern const t_function t_functions[T_FUNCTIONS];
extern const char *const t_labels[T_FUNCTIONS];

/* The reason of the last refusal. */
extern struct dk_diag t_why;
/* The result of the last t_route(). */
extern struct dk_route t_answer;

/* ---- the fixture ---------------------------------------------------------- */

/*
 * A test has its own registry, providers and operators. t_close() frees what the test opens,
 * registers and gets with the functions below. The harness calls t_close() after each test. If the
 * core has more allocations after the test than before, the harness runs the test again. If the
 * number of allocations grows again, the test fails.
 */

/* Calls @act and returns its result. Stores the number of allocations that the core made. */
int t_count_allocs(int (*act)(void), unsigned int *num);

/* The registry that is open, or NULL. */
extern struct dk_registry *t_reg;

#define T_MODES	2
/* Flags of a registry whose calls read tables, and of one whose calls evaluate the rules. */
extern const unsigned int t_modes[T_MODES];

/* Allocates the registry t_reg. */
void t_open(const char *layout, unsigned int flags);
/*
 * Runs the functions of t_at_close(), puts the operators, unregisters the providers, newest first,
 * checks the registry, and frees it. Without an open registry, does the same for the default
 * registry, but does not free it.
 */
void t_close(void);
/* Makes the next t_close() call @teardown first. */
void t_at_close(void (*teardown)(void));
/* For a test that makes something that can never be freed: frees nothing when the test ends. */
void t_keep(void);
/* Prevents a second run of the test, because the default registry keeps the test's operators. */
void t_grow(void);

/* t_join() fills in and registers a provider of the open registry; t_unregister() removes it. */
void t_join(struct dk_provider *prov, const char *name);
void t_unregister(struct dk_provider *prov);
/* Registers a provider that is filled in already, in the registry that it names. */
void t_register(struct dk_provider *prov);

/* Gets an operator of the open registry, or of the default one, until t_put() or t_close(). */
struct dk_op *t_get(const char *name);
void t_put(struct dk_op *op);

/* ---- operators and calls -------------------------------------------------- */

/* Returns a declaration of t_op under another name. */
struct dk_op_decl t_decl(const char *name);
/* Returns a library of namespace @ns; its debug string is "registered at here". */
struct dk_library t_library(struct dk_provider *prov, unsigned int kind, const char *ns,
			    unsigned int key);
/* Returns function number @n at @key. */
struct dk_impl t_impl(const struct dk_op_decl *decl, unsigned int key,
		      unsigned int n);
struct dk_impl t_fallthrough(const struct dk_op_decl *decl, unsigned int key);

/* Returns the label of the function that serves an entry, or "missing" or "ambiguous". */
const char *t_serves(struct dk_op *op, u32 device, unsigned int key);
/*
 * t_rule() returns the rule that decides an entry. t_rule_served() returns the rule for the entry
 * that was read last.
 */
unsigned int t_rule(struct dk_op *op, u32 device, unsigned int key);
unsigned int t_rule_served(void);

/* Routes a call with two objects, without local state, and stores the route in t_answer. */
int t_route(struct dk_op *op, const struct dk_obj *x, const struct dk_obj *y);
/* Returns the label of the function that serves the call, or the error, such as "-ENOSYS". */
const char *t_route_label(struct dk_op *op, const struct dk_obj *x,
			  const struct dk_obj *y);
/* Calls by handle, without local state. Returns the number of the function or an error. */
int t_call(struct dk_op *op, struct dk_obj *x, struct dk_obj *y);
/* Returns the number of calls that are inside functions of a provider. */
unsigned int t_num_inside(struct dk_provider *prov);
/*
 * Makes in advance the allocations of this thread's first call in userspace, for tests that count
 * other allocations.
 */
void t_first_call(void);
/* Returns a local state that includes and excludes nothing. */
struct dk_local t_no_local(void);

struct dk_obj t_obj(u64 bits);

/* Returns a pseudorandom number. The sequence is the same in every run. */
u64 t_random(u64 *state);

/* ---- the rules ------------------------------------------------------------ */

/* A registration of an operator, for t_model(). */
struct t_given {
	u16 key;
	bool is_fallthrough;
	const char *label;
};

struct t_choice {
	const char *label;	/* as t_serves() */
	unsigned int rule;	/* of enum dk_provenance */
	bool is_fallthrough;
};

/*
 * Returns what serves runtime key @key of an operator with these registrations, oldest first, in a
 * registry without other registrations. Implements the rules of SEMANTICS 7.2 from their text.
 */
struct t_choice t_model(const struct dk_layout *l, const struct t_given *regs,
			unsigned int n, unsigned int key);

#endif /* _SELFTESTS_API_TEST_H */
