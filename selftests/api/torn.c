// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry changes in the middle of a call that goes by the rules. The rules read the
 * caller's struct dk_impl: where that lies in a page without access, the reader stops
 * there, and its signal handler makes the change. What the call is answered has to be
 * right before the change, after it, or between two of its steps. Userspace only.
 */
#include "test.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum label { NOBODY, OLD, NEW, LOWER, BELOW };

static struct dk_provider prov;
static struct dk_op_decl decl;
static struct dk_op *op;
static struct dk_impl *trap;		/* the first of a page of its own */
static struct dk_impl of_old, of_new, of_lower, of_below;
static void (*change)(void);
static unsigned int num_changes;
static size_t page_size;

static void deny(bool denied)
{
	CHECK_OK(mprotect(trap, page_size, denied ? PROT_NONE : PROT_READ | PROT_WRITE));
}

static void reached(int sig, siginfo_t *info, void *context)
{
	char *at = info->si_addr;

	if (at < (char *)trap || at >= (char *)trap + page_size)
		abort();
	deny(false);
	num_changes++;
	change();
}

static void add(struct dk_impl *impl)
{
	CHECK_OK(dk_impls_register(&prov, impl, 1, &t_why));
}

static void take(struct dk_impl *impl)
{
	CHECK_OK(dk_impls_withdraw(&prov, impl, &t_why));
}

static void begin(unsigned int key, bool is_fallthrough)
{
	t_first_call();
	t_open("v1", DK_REGISTRY_FORCE_RESOLVE);
	t_join(&prov, "prov");
	decl = t_decl("torn::op");
	CHECK_OK(dk_op_define(&prov, &decl, 0, &t_why));
	op = dk_op_get(t_reg, "torn::op");
	page_size = sysconf(_SC_PAGESIZE);
	trap = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(trap != MAP_FAILED);
	*trap = is_fallthrough ? t_fallthrough(&decl, key) : t_impl(&decl, key, OLD);
	of_old = t_impl(&decl, DK_CPU, OLD);
	of_new = t_impl(&decl, DK_CPU, NEW);
	of_lower = t_impl(&decl, DK_COMPOSITE_EXPLICIT_AUTOGRAD, LOWER);
	of_below = t_impl(&decl, DK_CPU, BELOW);
	num_changes = 0;
}

static void end(void)
{
	dk_op_put(op);
	t_leave(&prov);
	CHECK_OK(munmap(trap, page_size));
	t_close();
}

/* Call while the change waits at the trap; which function served. */
static int call_torn(u64 bits, void (*at_trap)(void))
{
	struct sigaction act = { .sa_sigaction = reached, .sa_flags = SA_SIGINFO };
	struct sigaction old[2];
	struct dk_obj x = t_obj(bits);
	int who;

	change = at_trap;
	CHECK_OK(sigaction(SIGSEGV, &act, &old[0]));
	CHECK_OK(sigaction(SIGBUS, &act, &old[1]));
	deny(true);
	who = t_call(op, &x, NULL);
	deny(false);
	CHECK_OK(sigaction(SIGSEGV, &old[0], NULL));
	CHECK_OK(sigaction(SIGBUS, &old[1], NULL));
	CHECK_INT(num_changes, 1);
	return who;
}

#define AUTOGRAD_CPU	(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU))

/* The function at the backend's key leaves when there is one at autograd. */
static void come_above_and_leave_below(void)
{
	of_new.key = DK_AUTOGRAD_CPU;
	add(&of_new);
	take(&of_below);
}

/* The fallthrough at autograd has been read, the backend's key has not. */
static void no_call_is_lost(void)
{
	begin(DK_AUTOGRAD_CPU, true);
	add(trap);
	add(&of_below);
	CHECK_INT(call_torn(AUTOGRAD_CPU, come_above_and_leave_below), NEW);
	end();
}

static void no_lower_rule_serves(void)
{
	begin(DK_AUTOGRAD_CPU, true);
	add(trap);
	add(&of_below);
	add(&of_lower);
	CHECK_INT(call_torn(AUTOGRAD_CPU, come_above_and_leave_below), NEW);
	end();
}

T_SUITE(torn,
	T(no_call_is_lost),
	T(no_lower_rule_serves));
