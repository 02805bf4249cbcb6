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

static void open_with_trap(unsigned int flags)
{
	t_first_call();
	t_open("v1", flags);
	t_join(&prov, "prov");
	page_size = sysconf(_SC_PAGESIZE);
	trap = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(trap != MAP_FAILED);
	num_changes = 0;
}

static void begin(unsigned int key, bool is_fallthrough)
{
	open_with_trap(DK_REGISTRY_FORCE_RESOLVE);
	decl = t_decl("torn::op");
	CHECK_OK(dk_op_define(&prov, &decl, 0, &t_why));
	op = dk_op_get(t_reg, "torn::op");
	*trap = is_fallthrough ? t_fallthrough(&decl, key) : t_impl(&decl, key, OLD);
	of_old = t_impl(&decl, DK_CPU, OLD);
	of_new = t_impl(&decl, DK_CPU, NEW);
	of_lower = t_impl(&decl, DK_COMPOSITE_EXPLICIT_AUTOGRAD, LOWER);
	of_below = t_impl(&decl, DK_CPU, BELOW);
}

static void end(void)
{
	dk_op_put(op);
	t_leave(&prov);
	CHECK_OK(munmap(trap, page_size));
	t_close();
}

/* Call while the change waits at the trap; what the call returns. */
static int call_at_trap(int (*call)(struct dk_obj *x), u64 bits, void (*at_trap)(void))
{
	struct sigaction act = { .sa_sigaction = reached, .sa_flags = SA_SIGINFO };
	struct sigaction old[2];
	struct dk_obj x = t_obj(bits);
	int ret;

	change = at_trap;
	CHECK_OK(sigaction(SIGSEGV, &act, &old[0]));
	CHECK_OK(sigaction(SIGBUS, &act, &old[1]));
	deny(true);
	ret = call(&x);
	deny(false);
	CHECK_OK(sigaction(SIGSEGV, &old[0], NULL));
	CHECK_OK(sigaction(SIGBUS, &old[1], NULL));
	CHECK_INT(num_changes, 1);
	return ret;
}

static int call_op(struct dk_obj *x)
{
	return t_call(op, x, NULL);
}

/* Which function served. */
static int call_torn(u64 bits, void (*at_trap)(void))
{
	return call_at_trap(call_op, bits, at_trap);
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

/* ---- two definitions without a signature, each with a function of its own ---------- */

static const struct dk_param old_param = { .name = "old", .kind = DK_ARG_POINTER };
static const struct dk_param new_param = { .name = "new", .kind = DK_ARG_POINTER };
static struct dk_op_decl untyped, defined;
static unsigned int at_key;		/* 0: by the table */

static int boxed_old(struct dk_call *c, void *args)
{
	CHECK_STR(dk_call_described(c)->param[0].name, "old");
	return OLD;
}

static int boxed_new(struct dk_call *c, void *args)
{
	CHECK_STR(dk_call_described(c)->param[0].name, "new");
	return NEW;
}

static void define_untyped(const struct dk_param *param)
{
	defined = untyped;
	defined.param = param;
	defined.num_params = 1;
	CHECK_OK(dk_op_define(&prov, &defined, 0, &t_why));
}

static void redefine(void)
{
	CHECK_OK(dk_op_undefine(&prov, untyped.name, &t_why));
	define_untyped(&new_param);
	add(&of_new);
}

static int call_untyped(struct dk_obj *x)
{
	const struct dk_obj *objs[] = { x };
	struct dk_local local = t_no_local();
	struct dk_frame f;
	int who;

	CHECK_OK(at_key ? dk_call_enter_key(&f, op, &untyped, &local, at_key, objs, 1) :
			  dk_call_enter_op(&f, op, &untyped, &local, objs, 1));
	who = f.boxed(&f.call, NULL);
	dk_call_leave(&f);
	return who;
}

static struct dk_impl boxed_at(dk_boxed_fn_t fn, unsigned int key)
{
	struct dk_impl impl = t_impl(&untyped, key, OLD);

	impl.fn = (dk_fn_t)fn;
	impl.flags = DK_IMPL_F_BOXED;
	return impl;
}

static void call_while_redefined(unsigned int flags, unsigned int key, bool by_key)
{
	open_with_trap(flags);
	untyped = t_decl("torn::untyped");
	untyped.sig = NULL;
	define_untyped(&old_param);
	*trap = boxed_at(boxed_old, key);
	of_new = boxed_at(boxed_new, key);
	add(trap);
	op = dk_op_get(t_reg, untyped.name);
	at_key = by_key ? key : 0;
	/* a call by an old table gets what belongs to it, and so does one by the new state */
	call_at_trap(call_untyped, DK_KEY_BITS(DK_CPU), redefine);
	/* the function that the change has brought */
	CHECK_INT(call_untyped(&(struct dk_obj){ .ks = { DK_KEY_BITS(DK_CPU) } }), NEW);
	end();
}

static void function_and_description(void)
{
	static const unsigned int flags[] = { 0, DK_REGISTRY_FORCE_RESOLVE };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		call_while_redefined(flags[i], DK_CPU, false);
		call_while_redefined(flags[i], DK_CPU, true);
		call_while_redefined(flags[i], DK_COMPOSITE_EXPLICIT_AUTOGRAD, true);
	}
}

T_SUITE(torn,
	T(no_call_is_lost),
	T(no_lower_rule_serves),
	T(function_and_description));
