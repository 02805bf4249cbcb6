// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry changes in the middle of a call. The call stops where it accesses protected memory.
 * In some tests, that is the caller's struct dk_impl, which the rules read. In others, it is the
 * thread's slots, which calls write. The signal handler makes the change. The result
 * of the call must be correct for one of the states that the registry had during the call.
 * Userspace only.
 */
#include "test.h"

#include "core/change/change.h"
#include "thread.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef DKC_TSAN
const char *__tsan_default_suppressions(void);

/* A memory access of the call raises the signal, not malloc(), so the handler can allocate. */
const char *__tsan_default_suppressions(void)
{
	return "signal:on_trap\n";
}
#endif

enum label { NO_LABEL, OLD, NEW, LOWER, BELOW };

static struct dk_provider prov;
static struct dk_op_decl decl;
static struct dk_op *op;
static struct dk_impl *trap;		/* at the start of a page of its own */
static char *protected_pages;
static size_t protected_size;
static int protection;
static struct dk_impl of_old, of_new, of_lower, of_below;
static void (*change)(void);
static unsigned int num_changes;
static size_t page_size;

static void set_protection(bool denied)
{
	CHECK_OK(mprotect(protected_pages, protected_size,
			  denied ? protection : PROT_READ | PROT_WRITE));
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	char *at = info->si_addr;

	if (at < protected_pages || at >= protected_pages + protected_size)
		abort();
	set_protection(false);
	num_changes++;
	change();
}

static void add(struct dk_impl *impl)
{
	CHECK_OK(dk_impls_register(&prov, impl, 1, &t_why));
}

static void withdraw(struct dk_impl *impl)
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
	protected_pages = (char *)trap;
	protected_size = page_size;
	protection = PROT_NONE;
}

/* The call stops where it first writes to a slot. The slots may be in two pages. */
static void trap_at_slot(void)
{
	const void **end = dk__self.top + GATE_SLOTS;
	char *last_page = (char *)((uintptr_t)(end - 1) & -page_size);

	protected_pages = (char *)((uintptr_t)dk__self.top & -page_size);
	protected_size = last_page + page_size - protected_pages;
	protection = PROT_READ;
}

static void begin_as(unsigned int flags, unsigned int key, bool is_fallthrough)
{
	open_with_trap(flags);
	decl = t_decl("change_inside_call::op");
	CHECK_OK(dk_op_define(&prov, &decl, 0, &t_why));
	op = t_get("change_inside_call::op");
	*trap = is_fallthrough ? t_fallthrough(&decl, key) : t_impl(&decl, key, OLD);
	of_old = t_impl(&decl, DK_CPU, OLD);
	of_new = t_impl(&decl, DK_CPU, NEW);
	of_lower = t_impl(&decl, DK_COMPOSITE_EXPLICIT_AUTOGRAD, LOWER);
	of_below = t_impl(&decl, DK_CPU, BELOW);
}

/* Opens a registry whose calls are routed by the rules instead of tables. */
static void begin(unsigned int key, bool is_fallthrough)
{
	begin_as(DK_REGISTRY_FORCE_RESOLVE, key, is_fallthrough);
}

static void begin_with_table(void)
{
	begin_as(0, DK_CUDA, false);
}

static void end(void)
{
	t_close();
	CHECK_OK(munmap(trap, page_size));
}

/*
 * Makes a call. When it reaches the trap, the signal handler calls @at_trap. Returns the result of
 * the call.
 */
static int call_at_trap(int (*call)(struct dk_obj *x), u64 bits, void (*at_trap)(void))
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct sigaction old[2];
	struct dk_obj x = t_obj(bits);
	int ret;

	change = at_trap;
	num_changes = 0;
	CHECK_OK(sigaction(SIGSEGV, &act, &old[0]));
	CHECK_OK(sigaction(SIGBUS, &act, &old[1]));
	set_protection(true);
	ret = call(&x);
	set_protection(false);
	CHECK_OK(sigaction(SIGSEGV, &old[0], NULL));
	CHECK_OK(sigaction(SIGBUS, &old[1], NULL));
	CHECK_INT(num_changes, 1);
	return ret;
}

static int call_op(struct dk_obj *x)
{
	return t_call(op, x, NULL);
}

/* Returns the number of the function that served the call. */
static int call_op_at_trap(u64 bits, void (*at_trap)(void))
{
	return call_at_trap(call_op, bits, at_trap);
}

#define AUTOGRAD_CPU	(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU))

/* Registers a function at the autograd key, and then withdraws the one at the backend's key. */
static void register_above_and_withdraw_below(void)
{
	of_new.key = DK_AUTOGRAD_CPU;
	add(&of_new);
	withdraw(&of_below);
}

/* The call stops at the fallthrough at the autograd key, before it reads the backend's key. */
static void no_call_is_lost(void)
{
	begin(DK_AUTOGRAD_CPU, true);
	add(trap);
	add(&of_below);
	CHECK_INT(call_op_at_trap(AUTOGRAD_CPU, register_above_and_withdraw_below), NEW);
	end();
}

static void no_lower_rule_serves(void)
{
	begin(DK_AUTOGRAD_CPU, true);
	add(trap);
	add(&of_below);
	add(&of_lower);
	CHECK_INT(call_op_at_trap(AUTOGRAD_CPU, register_above_and_withdraw_below), NEW);
	end();
}

/* Makes so many changes that one of them waits for a grace period, to free replaced tables. */
static void change_often(void)
{
	unsigned int i;

	for (i = 0; i < 100; i++) {
		add(&of_new);
		withdraw(&of_new);
	}
	add(&of_new);
}

/* The call is in a read-side critical section, so the changes must not wait. */
static void many_changes_do_not_wait_for_the_call(void)
{
	begin(DK_AUTOGRAD_CPU, true);
	add(trap);
	add(&of_below);
	of_new.key = DK_AUTOGRAD_CPU;
	CHECK_INT(call_op_at_trap(AUTOGRAD_CPU, change_often), NEW);
	end();
}

/* ---- two definitions without a signature, each with its own function --------------- */

static const struct dk_param old_param = { .name = "old", .kind = DK_ARG_INT, .size = 1 };
static const struct dk_param new_param = { .name = "new", .kind = DK_ARG_INT, .size = 1 };
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
	defined.args_size = 1;
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
	int served_by;

	CHECK_OK(at_key ? dk_call_enter_key(&f, op, &untyped, &local, at_key, objs, 1) :
			  dk_call_enter_op(&f, op, &untyped, &local, objs, 1));
	served_by = f.boxed(&f.call, NULL);
	dk_call_leave(&f);
	return served_by;
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
	untyped = t_decl("change_inside_call::untyped");
	untyped.sig = NULL;
	define_untyped(&old_param);
	*trap = boxed_at(boxed_old, key);
	of_new = boxed_at(boxed_new, key);
	add(trap);
	op = t_get(untyped.name);
	at_key = by_key ? key : 0;
	/*
	 * The call can run the old function or the new one. Each checks that it gets the
	 * description of its own definition.
	 */
	call_at_trap(call_untyped, DK_KEY_BITS(DK_CPU), redefine);
	/* the next call runs the new function */
	CHECK_INT(call_untyped(&(struct dk_obj){ .ks = { DK_KEY_BITS(DK_CPU) } }), NEW);
	end();
}

static void function_gets_its_own_description(void)
{
	static const unsigned int flags[] = { 0, DK_REGISTRY_FORCE_RESOLVE };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		call_while_redefined(flags[i], DK_CPU, false);
		call_while_redefined(flags[i], DK_CPU, true);
		call_while_redefined(flags[i], DK_COMPOSITE_EXPLICIT_AUTOGRAD, true);
	}
}

/* ---- between the two halves of a change ------------------------------------------ */

static struct dkc_block *block_of(const struct dk_impl *impl)
{
	struct dkc_block *b = prov.core->blocks;

	while (b && b->impls != impl)
		b = b->next;
	return b;
}

/*
 * dkc_block_set_live() sets an intermediate state of the block, increments the registry's number of
 * changes, sets the final state, and increments the number again. Makes a call while the block has
 * the intermediate state @state, before (@halves is 0) or after (1) the first increment. Returns
 * the number of the function that served the call.
 */
static int call_between(struct dkc_block *b, u32 state, u32 halves)
{
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	int served_by;

	WRITE_ONCE(b->state, state);
	WRITE_ONCE(t_reg->changes, t_reg->changes + halves);
	served_by = call_op(&x);
	WRITE_ONCE(t_reg->changes, t_reg->changes + halves);
	WRITE_ONCE(b->state, DKC_LIVE);
	return served_by;
}

/* For calls, all functions of an array are registered and unregistered at the same instant. */
static void array_changes_at_one_instant(void)
{
	struct dkc_block *b;

	begin(DK_CUDA, false);
	add(&of_old);
	add(&of_new);
	b = block_of(&of_new);
	CHECK_INT(call_between(b, DKC_ADDING, 0), OLD);
	CHECK_INT(call_between(b, DKC_ADDING, 1), NEW);
	CHECK_INT(call_between(b, DKC_REMOVING, 0), NEW);
	CHECK_INT(call_between(b, DKC_REMOVING, 1), OLD);
	end();
}

/* ---- a change before the slot of a call protects the table ------------------------ */

/* Registers first, so that no new table is allocated in the memory of the table that was read. */
static void replace_old(void)
{
	add(&of_new);
	CHECK_OK(dk_impls_unregister(&prov, &of_old, &t_why));
}

/*
 * The table is freed after the call has read its address, and before the call's slot protects it.
 */
static void call_retries_if_its_table_is_freed(void)
{
	begin_with_table();
	add(&of_old);
	trap_at_slot();
	CHECK_INT(call_op_at_trap(DK_KEY_BITS(DK_CPU), replace_old), NEW);
	end();
}

#define MAX_ENTERED	70	/* more than a thread has slots */

static struct dk_provider kept;
static struct dk_op *kept_op;
static unsigned int num_entered;

static void enter(struct dk_frame *f, struct dk_op *of)
{
	static struct dk_obj x;
	static const struct dk_obj *const objs[] = { &x };
	static struct dk_local local;

	x = t_obj(DK_KEY_BITS(DK_CPU));
	local = t_no_local();
	CHECK_OK(dk_call_enter_op(f, of, &decl, &local, objs, 1));
}

static struct dk_frame kept_frame;

static void enter_and_keep_the_last(void)
{
	static struct dk_frame f[MAX_ENTERED];
	unsigned int i;

	for (i = 0; i < num_entered; i++)
		enter(&f[i], op);
	enter(&kept_frame, kept_op);
	while (i--)
		dk_call_leave(&f[i]);
}

/*
 * A signal handler enters a call, also while @call takes a slot. The call is left after @call has
 * returned.
 */
static void keep_a_call_of_a_handler(int (*call)(struct dk_obj *x), int expected)
{
	struct dk_op_decl kept_decl = t_decl("change_inside_call::kept");
	struct dk_impl impl = t_impl(&kept_decl, DK_CPU, 0);

	begin_with_table();
	add(&of_old);
	for (num_entered = 0; num_entered < MAX_ENTERED; num_entered++) {
		t_join(&kept, "kept");
		CHECK_OK(dk_op_define(&kept, &kept_decl, 0, &t_why));
		CHECK_OK(dk_impls_register(&kept, &impl, 1, &t_why));
		kept_op = dk_op_get(t_reg, kept_decl.name);
		trap_at_slot();
		CHECK_INT(call_at_trap(call, DK_KEY_BITS(DK_CPU), enter_and_keep_the_last),
			  expected);
		if (!CHECK_INT(dk_provider_unregister(&kept), -EDEADLK))
			num_entered = MAX_ENTERED;
		dk_call_leave(&kept_frame);
		dk_op_put(kept_op);
		CHECK_OK(dk_provider_unregister(&kept));
	}
	end();
}

static void call_entered_in_a_handler_is_inside(void)
{
	keep_a_call_of_a_handler(call_op, OLD);
}

/* Enters a call on the slow path, and leaves it. */
static int enter_at_cpu(struct dk_obj *x)
{
	const struct dk_obj *const objs[] = { x };
	struct dk_local local = t_no_local();
	struct dk_frame f;
	int err = dk_call_enter_key(&f, op, &decl, &local, DK_CPU, objs, 1);

	if (!err)
		dk_call_leave(&f);
	return err;
}

static void call_entered_while_a_slot_is_taken_is_inside(void)
{
#ifdef DKC_TSAN
	t_skip("ThreadSanitizer holds a lock during the access that the handler interrupts");
#else
	keep_a_call_of_a_handler(enter_at_cpu, 0);
#endif
}

/* ---- a change before a call is counted --------------------------------------------- */

static void withdraw_trap(void)
{
	withdraw(trap);
}

static int reset_inside(struct dk_call *c, void *args)
{
	CHECK_OK(dk_stats_reset(t_reg, &t_why));
	return OLD;
}

static u64 gone_counts(void)
{
	struct dk_stats s = { .size = sizeof(s) };

	CHECK_OK(dk_stats_get(t_reg, &s));
	return s.gone;
}

/*
 * A call is counted after its function was withdrawn. After the drain, the member "gone" of struct
 * dk_stats must have the value @gone.
 */
static void count_after_withdrawal(dk_boxed_fn_t fn, u64 gone)
{
	open_with_trap(0);
	untyped = t_decl("change_inside_call::untyped");
	untyped.sig = NULL;
	define_untyped(&old_param);
	*trap = boxed_at(fn, DK_CPU);
	add(trap);
	op = t_get(untyped.name);
	at_key = 0;
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_INT(call_at_trap(call_untyped, DK_KEY_BITS(DK_CPU), withdraw_trap), OLD);
	CHECK_INT(gone_counts(), 0);
	CHECK_OK(dk_provider_drain(&prov));
	CHECK_INT(gone_counts(), gone);
	end();
}

static void call_of_a_withdrawn_function_is_counted(void)
{
	count_after_withdrawal(boxed_old, 1);
	/* a reset clears these counts, too */
	count_after_withdrawal(reset_inside, 0);
}

T_SUITE(change_inside_call,
	T(no_call_is_lost),
	T(no_lower_rule_serves),
	T(many_changes_do_not_wait_for_the_call),
	T(function_gets_its_own_description),
	T(array_changes_at_one_instant),
	T(call_retries_if_its_table_is_freed),
	T(call_entered_in_a_handler_is_inside),
	T(call_entered_while_a_slot_is_taken_is_inside),
	T(call_of_a_withdrawn_function_is_counted));
