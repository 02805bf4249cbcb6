// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batches: a call is entered once, its function runs any number of times, and the call
 * is left once.
 */
#include "test.h"
#include "../world.h"

#define RUNS		5
#define LONG_MS		60000	/* far more than anything here takes */
#define STEP_US		200

DK_OP(sleepable, "batch::sleepable", (struct dk_obj *x, int n, int *sum), (x, n, sum), (x));
DK_OP(atomic, "batch::atomic", (struct dk_obj *x, int n, int *sum), (x, n, sum), (x));

/* Adds, and returns a different result in each run. */
static int add(struct dk_call *c, struct dk_obj *x, int n, int *sum)
{
	*sum += n;
	return 100 + n;
}

static int add_boxed(struct dk_call *c, void *args)
{
	struct sleepable_args *a = args;

	return add(c, a->x, a->n, a->sum);
}

static int add_plain(struct dk_obj *x, int n, int *sum)
{
	return add(NULL, x, n, sum);
}

static int add_above(struct dk_call *c, struct dk_obj *x, int n, int *sum)
{
	return sleepable_below(c, x, 10 * n, sum);
}

static int add_above_atomic(struct dk_call *c, struct dk_obj *x, int n, int *sum)
{
	return atomic_below(c, x, 10 * n, sum);
}

static const struct dk_impl impls[] = {
	DK_IMPL(sleepable, DK_CPU, add),
	DK_IMPL(sleepable, DK_AUTOGRAD_CPU, add_above),
	DK_IMPL_BOXED(sleepable, DK_CUDA, add_boxed),
	DK_IMPL_PLAIN(sleepable, DK_XLA, add_plain),
	DK_IMPL_ATOMIC(atomic, DK_CPU, add),
	DK_IMPL_ATOMIC(atomic, DK_AUTOGRAD_CPU, add_above_atomic),
	DK_IMPL_BOXED_ATOMIC(atomic, DK_CUDA, add_boxed),
	DK_IMPL_PLAIN_ATOMIC(atomic, DK_XLA, add_plain),
};

static struct dk_provider host, guest;
static struct dk_op *handles[2];	/* sleepable, atomic */
static struct dk_op_decl *const decls[2] = { &sleepable_op, &atomic_op };

static void setup(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&host, "host");
	t_join(&guest, "guest");
	CHECK_OK(dk_op_define(&host, &sleepable_op, 0, &t_why));
	CHECK_OK(dk_op_define(&host, &atomic_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&guest, impls, ARRAY_SIZE(impls), &t_why));
	handles[0] = t_get("batch::sleepable");
	handles[1] = t_get("batch::atomic");
}

static int enter(struct dk_frame *c, unsigned int kind, struct dk_obj *x)
{
	const struct dk_obj *const objs[] = { x };

	return dk_call_enter_op(c, handles[kind], decls[kind], &dk_local_default, objs, 1);
}

static int run(struct dk_frame *c, unsigned int kind, struct dk_obj *x, int n, int *sum)
{
	return kind ? atomic_run(c, x, n, sum) : sleepable_run(c, x, n, sum);
}

/* ---- functions that run --------------------------------------------------------- */

/* Each run has its own arguments and result. The function that serves @x adds @times * n. */
static void batch_of(unsigned int kind, struct dk_obj x, int times)
{
	struct dk_frame c;
	int n, sum = 0;

	if (!CHECK_OK(enter(&c, kind, &x)))
		return;
	for (n = 1; n <= RUNS; n++)
		CHECK_INT(run(&c, kind, &x, n, &sum), 100 + times * n);
	dk_call_leave(&c);
	CHECK_INT(sum, times * RUNS * (RUNS + 1) / 2);
	/* the call was left, so the provider has no calls, and this thread can wait */
	CHECK_OK(dk_provider_drain(&guest));
}

static void batches_run_every_kind_of_function(void)
{
	struct dk_obj above = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned int kind;

	setup();
	above.ks = dk_keyset_or(above.ks, dk_key_set(NULL, DK_AUTOGRAD_CPU));
	for (kind = 0; kind < 2; kind++) {
		batch_of(kind, dk_obj_on(DK_BACKEND_CPU, 0), 1);
		batch_of(kind, dk_obj_on(DK_BACKEND_CUDA, 0), 1);
		batch_of(kind, dk_obj_on(DK_BACKEND_XLA, 0), 1);
		batch_of(kind, above, 10);
	}
}

static void enter_and_leave(unsigned int kind)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_frame c;

	setup();
	CHECK_OK(enter(&c, kind, &x));
	CHECK_INT(dk_provider_drain(&guest), -EDEADLK);
	dk_call_leave(&c);
	CHECK_OK(dk_provider_drain(&guest));
}

static void batch_without_runs(void)
{
	enter_and_leave(0);
}

static void atomic_batch_without_runs(void)
{
	if (!t_skip_atomic())
		enter_and_leave(1);
}

/* ---- calls that were not entered ------------------------------------------------- */

static void leave(void *data)
{
	dk_call_leave(data);
}

static void cannot_be_left(struct dk_frame *c, const char *name)
{
	char text[128], want[128];

	t_capture_stderr(text, sizeof(text), leave, c);
	snprintf(want, sizeof(want),
		 "dispatchkey: %s was not entered: it cannot be left\n", name);
	if (!T_KERNEL)
		CHECK_STR(text, want);
}

/*
 * If entering a call failed, running the call returns the same error. Leaving the call prints a
 * report, and does not leave any other call.
 */
static void check_not_entered(unsigned int kind)
{
	static const int fills[] = { 0, 0x55, 0xff };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0), none = dk_obj_on(DK_BACKEND_HIP, 0);
	const struct dk_obj *const objs[] = { &x };
	const char *name = decls[kind]->name;
	struct dk_op_decl wrong = *decls[kind], other_abi = wrong, nameless = wrong;
	struct dk_frame c, inside;
	unsigned int i;
	int sum = 0;

	wrong.sig = "(int n)";
	wrong.op = &dk__unbound;
	wrong.sig_mark = 0;
	other_abi.call_abi++;
	nameless.name = NULL;
	nameless.op = &dk__unbound;
	setup();
	CHECK_OK(enter(&inside, kind, &x));
	for (i = 0; i < ARRAY_SIZE(fills); i++) {
		memset(&c, fills[i], sizeof(c));
		CHECK_INT(enter(&c, kind, &none), -ENOSYS);
		CHECK_INT(run(&c, kind, &none, 1, &sum), -ENOSYS);
		CHECK_INT(c.boxed(&c.call, NULL), -ENOSYS);
		cannot_be_left(&c, name);
		memset(&c, fills[i], sizeof(c));
		/* not defined in the default registry */
		CHECK_INT(dk_call_enter(&c, decls[kind], &dk_local_default, objs, 1), -ENOENT);
		CHECK_INT(run(&c, kind, &x, 1, &sum), -ENOENT);
		cannot_be_left(&c, name);
		memset(&c, fills[i], sizeof(c));
		CHECK_INT(dk_call_enter_op(&c, handles[kind], &wrong, &dk_local_default, objs, 1),
			  -EPROTOTYPE);
		CHECK_INT(run(&c, kind, &x, 1, &sum), -EPROTOTYPE);
		cannot_be_left(&c, name);
		CHECK_INT(dk_call_enter_op(&c, NULL, &other_abi, &dk_local_default, objs, 1),
			  -EPROTOTYPE);
		cannot_be_left(&c, "a call");
		CHECK_INT(dk_call_enter(&c, &nameless, &dk_local_default, objs, 1), -ENOENT);
		cannot_be_left(&c, "a call");
		CHECK_INT(dk_call_redispatch(&c, &inside.call, decls[kind], none.ks, objs, 1),
			  -ENOSYS);
		CHECK_INT(run(&c, kind, &x, 1, &sum), -ENOSYS);
		cannot_be_left(&c, name);
	}
	memset(&c, 0, sizeof(c));
	cannot_be_left(&c, "a call");
	CHECK_INT(sum, 0);
	CHECK_INT(dk_provider_drain(&guest), -EDEADLK);
	dk_call_leave(&inside);
	CHECK_OK(dk_provider_drain(&guest));
}

static void call_that_was_not_entered(void)
{
	check_not_entered(0);
}

static void atomic_call_that_was_not_entered(void)
{
	if (!t_skip_atomic())
		check_not_entered(1);
}

/* ---- calls that are left twice ---------------------------------------------------- */

/* The second call gets the slot of the first one, and stays inside when the first is left again. */
static void leave_twice(unsigned int kind)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_frame first, second;
	char text[256];

	setup();
	CHECK_OK(enter(&first, kind, &x));
	dk_call_leave(&first);
	CHECK_OK(enter(&second, kind, &x));
	t_capture_stderr(text, sizeof(text), leave, &first);
	CHECK_INT(dk_provider_drain(&guest), -EDEADLK);
	dk_call_leave(&second);
	CHECK_OK(dk_provider_drain(&guest));
}

static void call_that_was_left_twice(void)
{
	leave_twice(0);
}

static void atomic_call_that_was_left_twice(void)
{
	if (!t_skip_atomic())
		leave_twice(1);
}

/* ---- counters and hooks ---------------------------------------------------------- */

static unsigned int num_before, num_after;
static int last_result;

static void before(struct dk_hooks *h, const struct dk_hook_info *info)
{
	num_before++;
}

static void after(struct dk_hooks *h, const struct dk_hook_info *info)
{
	num_after++;
	last_result = info->result;
}

/* A batch is one call for counters and for hooks, which receive the result of the last run. */
static void batch_counts_as_one_call(void)
{
	struct dk_hooks hooks = { .size = sizeof(hooks), .before = before, .after = after };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_stat s = { .size = sizeof(s) };
	unsigned int kind;
	struct dk_frame c;
	int n, sum = 0;

	setup();
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(dk_hooks_register(t_reg, &hooks, &t_why));
	for (kind = 0; kind < 2; kind++) {
		num_before = 0;
		num_after = 0;
		CHECK_OK(enter(&c, kind, &x));
		for (n = 1; n <= RUNS; n++)
			run(&c, kind, &x, n, &sum);
		CHECK_INT(num_before, 1);
		CHECK_INT(num_after, 0);
		dk_call_leave(&c);
		CHECK_INT(num_after, 1);
		CHECK_INT(last_result, 100 + RUNS);
		CHECK_OK(dk_op_stat(handles[kind], 0, &s));
		CHECK_INT(s.count, 1);
	}
	CHECK_OK(dk_hooks_unregister(&hooks, &t_why));
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
}

/* ---- waits ----------------------------------------------------------------------- */

struct batch {
	struct w_thread thread;
	unsigned int kind;
	u32 begun, requested;	/* number of runs that have ended, and of runs that may begin */
	u32 left;
	int err, sum;
};

static void run_on_request(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct batch *b = data;
	struct dk_frame c;
	int n;

	b->err = enter(&c, b->kind, &x);
	for (n = 1; n <= RUNS && !b->err; n++) {
		while ((int)w_load_acquire(b->requested) < n)
			b->kind ? w_spin_us(1) : w_sleep_us(STEP_US);
		b->err = run(&c, b->kind, &x, n, &b->sum) - 100 - n;
		w_store_release(b->begun, n);
	}
	if (!b->err)
		dk_call_leave(&c);
	w_store_release(b->left, true);
}

static void request_run(struct batch *b, unsigned int n)
{
	w_store_release(b->requested, n);
	while (w_load_acquire(b->begun) < n && !w_load_acquire(b->left))
		w_sleep_us(STEP_US);
}

/*
 * Unregistering the provider between two runs times out. The later runs still call its function.
 */
static void check_unregister_waits(unsigned int kind)
{
	struct dk_inside in = { .size = sizeof(in) };
	struct batch b = { .kind = kind };
	unsigned int n;

	setup();
	if (!CHECK_OK(w_start(&b.thread, "dk_batch", run_on_request, &b)))
		return;
	for (n = 1; n < RUNS; n++) {
		request_run(&b, n);
		CHECK_INT(dk_provider_unregister_timeout(&guest, 1, &t_why), -ETIMEDOUT);
		CHECK(guest.core);
		if (!kind)
			CHECK_OK(dk_provider_inside(&guest, 0, &in));
	}
	request_run(&b, RUNS);
	w_join(&b.thread);
	CHECK_OK(b.err);
	CHECK_INT(b.sum, RUNS * (RUNS + 1) / 2);
	CHECK_INT(dk_provider_inside(&guest, 0, &in), -ENOENT);
	CHECK_OK(dk_provider_unregister_timeout(&guest, LONG_MS, &t_why));
	CHECK(!guest.core);
	t_close();
}

static void unregister_waits_for_a_sleepable_batch(void)
{
	check_unregister_waits(0);
}

static void unregister_waits_for_an_atomic_batch(void)
{
	if (w_cpus() < 2) {
		t_skip("a call that spins needs a CPU of its own");
		return;
	}
	check_unregister_waits(1);
}

T_SUITE(batch,
	T(batches_run_every_kind_of_function),
	T(batch_without_runs),
	T(atomic_batch_without_runs),
	T(call_that_was_not_entered),
	T(atomic_call_that_was_not_entered),
	T(call_that_was_left_twice),
	T(atomic_call_that_was_left_twice),
	T(batch_counts_as_one_call),
	T(unregister_waits_for_a_sleepable_batch),
	T(unregister_waits_for_an_atomic_batch));
