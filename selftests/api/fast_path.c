// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the fast path together with other users of its slots: deep nesting, frames that are left in
 * any order, signal handlers, threads that end inside a call, and changes that send calls to the
 * slow path for a while. A call on the fast path has no frame. Userspace only.
 */
#include "alloc.h"
#include "grace_periods.h"
#include "test.h"

#include "../world.h"
#include "core/change/change.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS	64	/* of a thread: lib/thread.h */
#define MOST	100	/* nested calls */

DK_OP(dive, "fast_path::dive", (struct dk_obj *x, int depth, int *fast), (x, depth, fast), (x));
DK_OP(other, "fast_path::other", (struct dk_obj *x, int depth, int *fast), (x, depth, fast), (x));

static struct dk_provider prov, elsewhere;
static struct dk_op *op, *other_handle;
static void (*at_bottom)(void);
static void (*at_level)(int depth, bool begins);
static struct dk_obj cpu;

/* Counts the calls on the fast path. */
static int dive_here(struct dk_call *c, struct dk_obj *x, int depth, int *fast)
{
	int err = 0;

	*fast += !dk_call_frame(c);
	if (at_level)
		at_level(depth, true);
	if (depth > 1)
		err = dive_at(op, &dk_local_default, x, depth - 1, fast);
	else if (at_bottom)
		at_bottom();
	if (at_level)
		at_level(depth, false);
	return err;
}

static int other_here(struct dk_call *c, struct dk_obj *x, int depth, int *fast)
{
	*fast += !dk_call_frame(c);
	return 0;
}

static const struct dk_impl impls[] = { DK_IMPL(dive, DK_CPU, dive_here) };
static const struct dk_impl others[] = { DK_IMPL(other, DK_CPU, other_here) };

/* Makes @depth nested calls. Returns how many of them took the fast path. */
static int num_fast(int depth)
{
	int fast = 0;

	CHECK_OK(dive_at(op, &dk_local_default, &cpu, depth, &fast));
	return fast;
}

/* Checks that calls take the fast path. The first one may still take the slow path. */
static bool is_fast_again(void)
{
	num_fast(1);
	return CHECK_INT(num_fast(1), 1) && CHECK(num_fast(SLOTS) >= SLOTS - 1);
}

static unsigned int num_inside(void)
{
	struct dk_inside in = { .size = sizeof(in) };
	unsigned int n = 0;

	while (!dk_provider_inside(&prov, n, &in))
		n++;
	return n;
}

static void teardown(void)
{
	CHECK_INT(num_inside(), 0);
	is_fast_again();
}

static void setup(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&prov, "fast");
	t_join(&elsewhere, "elsewhere");
	CHECK_OK(dk_op_define(&prov, &dive_op, 0, &t_why));
	CHECK_OK(dk_op_define(&elsewhere, &other_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	CHECK_OK(dk_impls_register(&elsewhere, others, 1, &t_why));
	op = t_get("fast_path::dive");
	other_handle = t_get("fast_path::other");
	cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	at_bottom = NULL;
	at_level = NULL;
	is_fast_again();
	t_at_close(teardown);
}

/* ---- more calls than slots ------------------------------------------------------- */

static unsigned int wanted_inside, num_compared;

static void compare_inside(void)
{
	num_compared++;
	CHECK_INT(num_inside(), wanted_inside);
	CHECK_INT(dk_provider_drain(&prov), -EDEADLK);
}

static void calls_deeper_than_the_slots(void)
{
	static const unsigned int depths[] = { 1, SLOTS - 1, SLOTS, SLOTS + 1, MOST };
	unsigned int i;

	setup();
	num_compared = 0;
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		int fast;

		at_bottom = compare_inside;
		wanted_inside = depths[i];
		fast = num_fast(depths[i]);
		at_bottom = NULL;
		CHECK(fast >= (depths[i] < SLOTS ? (int)depths[i] : SLOTS) - 1);
		CHECK(fast <= SLOTS);
		CHECK_OK(dk_provider_drain(&prov));
		is_fast_again();
	}
	CHECK_INT(num_compared, ARRAY_SIZE(depths));
}

/* ---- frames ------------------------------------------------------------------------ */

static struct dk_frame frames[2 * MOST];

static void enter(unsigned int i)
{
	const struct dk_obj *const objs[] = { &cpu };

	CHECK_OK(dk_call_enter_op(&frames[i], op, &dive_op, &dk_local_default, objs, 1));
}

static void shuffle(unsigned int *order, unsigned int n)
{
	u64 state = n;
	unsigned int i, k, swap;

	for (i = 0; i < n; i++)
		order[i] = i;
	for (i = n; i > 1; i--) {
		k = w_one_of(&state, i);
		swap = order[i - 1];
		order[i - 1] = order[k];
		order[k] = swap;
	}
}

/* Enters frames and leaves them in random order. After each step, nested calls need slots, too. */
static void frames_left_in_any_order(void)
{
	static const unsigned int numbers[] = { 1, SLOTS - 1, SLOTS, SLOTS + 1, MOST };
	unsigned int i, n, order[MOST];

	setup();
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		shuffle(order, numbers[i]);
		at_bottom = compare_inside;
		for (n = 0; n < numbers[i]; n++) {
			enter(n);
			wanted_inside = n + 1 + 5;
			num_fast(5);
		}
		for (n = numbers[i]; n--;) {
			dk_call_leave(&frames[order[n]]);
			wanted_inside = n + SLOTS;
			num_fast(SLOTS);
		}
		at_bottom = NULL;
		CHECK_INT(num_inside(), 0);
		CHECK_OK(dk_provider_drain(&prov));
		is_fast_again();
	}
}

/* ---- frames and nested calls, also in a signal handler --------------------------- */

#define LEVELS	45

static unsigned int first_frame;	/* 0 in the interrupted call, LEVELS in the handler */
static unsigned int left_at[LEVELS];

/* Each level of nested calls enters a frame, which another level leaves. */
static void frame_at_level(int depth, bool begins)
{
	unsigned int i = LEVELS - depth;

	if (begins)
		enter(first_frame + i);
	else
		dk_call_leave(&frames[first_frame + left_at[i]]);
}

static void dive_with_frames(void)
{
	wanted_inside += 2 * LEVELS;
	num_fast(LEVELS);
	wanted_inside -= 2 * LEVELS;
}

static void handler(int sig)
{
	at_bottom = compare_inside;
	first_frame = LEVELS;
	dive_with_frames();
	first_frame = 0;
}

static void raise_signal(void)
{
	CHECK_INT(num_inside(), 2 * LEVELS);
	CHECK_OK(raise(SIGUSR1));
	CHECK_INT(num_inside(), 2 * LEVELS);
}

static void frames_within_calls_and_a_signal_handler(void)
{
	struct sigaction old, act = { .sa_handler = handler };

	setup();
	/* all frames are entered before the first one is left, so any order is allowed */
	shuffle(left_at, LEVELS);
	CHECK_OK(sigaction(SIGUSR1, &act, &old));
	num_compared = 0;
	wanted_inside = 0;
	at_level = frame_at_level;
	at_bottom = raise_signal;
	dive_with_frames();
	at_level = NULL;
	at_bottom = NULL;
	CHECK_INT(num_compared, 1);
	CHECK_OK(sigaction(SIGUSR1, &old, NULL));
}

/* ---- a thread that ends inside ----------------------------------------------------- */

static u32 num_calls;

static void end_thread(void)
{
	pthread_exit(NULL);
}

static void handle_by_end(int sig)
{
	end_thread();
}

static void *call_to_depth(void *depth)
{
	t_first_call();
	num_fast(*(int *)depth);
	return NULL;
}

static void *call_until_ended(void *unused)
{
	t_first_call();
	for (;;) {
		num_fast(2);
		w_store_release(num_calls, num_calls + 1);
	}
	return NULL;
}

/* Checks that no call of the joined thread delays unregistering. */
static void check_no_call_is_inside(void)
{
	CHECK_INT(num_inside(), 0);
	CHECK_OK(dk_impls_unregister(&prov, impls, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
}

static void thread_ends_inside_a_function(void)
{
	static int depths[] = { 1, 2, SLOTS / 2 };
	pthread_t thread;
	unsigned int i;

	setup();
	/* if unregistering hangs, the signal ends the program */
	alarm(120);
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		at_bottom = end_thread;
		CHECK_OK(pthread_create(&thread, NULL, call_to_depth, &depths[i]));
		pthread_join(thread, NULL);
		at_bottom = NULL;
		check_no_call_is_inside();
	}
	alarm(0);
}

static void signal_handler_ends_the_thread(void)
{
	struct sigaction old, act = { .sa_handler = handle_by_end };
	pthread_t thread;
	unsigned int i;

#ifdef DKC_TSAN
	t_skip("ThreadSanitizer treats the end of the thread as part of the handler");
	return;
#endif
	if (getenv("DK_NO_SIGNAL_UNWIND")) {
		t_skip("pthread_exit() in a signal handler hangs or crashes in this emulator");
		return;
	}
	setup();
	CHECK_OK(sigaction(SIGUSR1, &act, &old));
	alarm(120);
	for (i = 0; i < 100; i++) {
		num_calls = 0;
		CHECK_OK(pthread_create(&thread, NULL, call_until_ended, NULL));
		while (w_load_acquire(num_calls) < 3)
			sched_yield();
		pthread_kill(thread, SIGUSR1);
		pthread_join(thread, NULL);
		check_no_call_is_inside();
	}
	alarm(0);
	CHECK_OK(sigaction(SIGUSR1, &old, NULL));
}

/* ---- a call that stays ------------------------------------------------------------- */

static u32 is_inside, may_return;

static void stay(void)
{
	w_store_release(is_inside, 1);
	while (!w_load_acquire(may_return))
		sched_yield();
}

static void *call_and_stay(void *fast)
{
	t_first_call();
	*(int *)fast = num_fast(1);
	return NULL;
}

/* A long call delays the freeing of its own table, and of no other table or provider. */
static void long_call_keeps_one_table(void)
{
	pthread_t thread;
	unsigned int i;
	int fast = 0;

	setup();
	CHECK_OK(dk_provider_drain(&prov));
	CHECK_INT(dk_test_retired(), 0);
	is_inside = 0;
	may_return = 0;
	at_bottom = stay;
	CHECK_OK(pthread_create(&thread, NULL, call_and_stay, &fast));
	while (!w_load_acquire(is_inside))
		sched_yield();
	at_bottom = NULL;
	for (i = 0; i < 10; i++) {
		CHECK_OK(dk_impls_unregister(&elsewhere, others, &t_why));
		CHECK_OK(dk_impls_register(&elsewhere, others, 1, &t_why));
	}
	/* the table of the call's operator is replaced several times */
	for (i = 0; i < 10; i++) {
		struct dk_impl above = DK_IMPL(dive, DK_CPU, dive_here);

		CHECK_OK(dk_impls_register(&elsewhere, &above, 1, &t_why));
		CHECK_OK(dk_impls_unregister(&elsewhere, &above, &t_why));
	}
	CHECK_INT(dk_test_retired(), 1);
	CHECK_INT(num_inside(), 1);
	w_store_release(may_return, 1);
	pthread_join(thread, NULL);
	CHECK_INT(fast, 1);
	CHECK_OK(dk_impls_unregister(&elsewhere, others, &t_why));
	CHECK_INT(dk_test_retired(), 0);
	CHECK_OK(dk_impls_register(&elsewhere, others, 1, &t_why));
}

/* ---- memory that waits to be freed, in a child --------------------------------------- */

static unsigned int retired_in_child;

/*
 * In the child, no call of another thread delays freeing. If another thread of the parent was about
 * to free memory at the fork, the child does not count that memory.
 */
static int free_in_child(void)
{
	if (dk_test_retired() != retired_in_child)
		return 1;
	if (dk_provider_drain(&elsewhere))
		return 2;
	return dk_test_retired() ? 3 : 0;
}

static void fork_and_free(unsigned int retired)
{
	int status = -1;
	pid_t pid;

	retired_in_child = retired;
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(free_in_child());
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
}

static const struct dk_impl of_here[] = { DK_IMPL(dive, DK_CPU, dive_here) };

/* A call in another thread keeps a table, while other tables wait for a grace period. */
static void fork_during_a_long_call(void)
{
	pthread_t thread;
	int fast = 0;
	unsigned int n;

	setup();
	CHECK_OK(dk_provider_drain(&prov));
	is_inside = 0;
	may_return = 0;
	at_bottom = stay;
	CHECK_OK(pthread_create(&thread, NULL, call_and_stay, &fast));
	while (!w_load_acquire(is_inside))
		sched_yield();
	at_bottom = NULL;
	CHECK_OK(dk_impls_register(&elsewhere, of_here, 1, &t_why));
	CHECK_OK(dk_impls_unregister(&elsewhere, of_here, &t_why));
	CHECK_INT(dk_test_retired(), 1);
	CHECK_OK(dk_impls_register(&elsewhere, of_here, 1, &t_why));
	n = dk_test_retired();
	CHECK(n > 1);
	fork_and_free(n);
	CHECK_INT(dk_test_retired(), n);
	w_store_release(may_return, 1);
	pthread_join(thread, NULL);
	CHECK_OK(dk_impls_unregister(&elsewhere, of_here, &t_why));
	CHECK_INT(dk_test_retired(), 0);
}

/* Replaced tables are freed in batches, even if no provider is unregistered. */
static void replaced_tables_do_not_pile_up(void)
{
	static struct dk_impl above[500];
	unsigned int i;

	setup();
	for (i = 0; i < ARRAY_SIZE(above); i++) {
		above[i] = (struct dk_impl)DK_IMPL(dive, DK_CPU, dive_here);
		CHECK_OK(dk_impls_register(&elsewhere, &above[i], 1, &t_why));
		if (!CHECK(dk_test_retired() < 100))
			return;
	}
	for (i = 0; i < ARRAY_SIZE(above); i++) {
		CHECK_OK(dk_impls_withdraw(&elsewhere, &above[i], &t_why));
		if (!CHECK(dk_test_retired() < 100))
			return;
	}
}

/* However much memory waits to be freed, a request with a deadline returns in time. */
static void deadline_holds_with_many_retired_tables(void)
{
	static struct dk_op_decl decls[100];
	static char names[ARRAY_SIZE(decls)][32];
	unsigned int i;

	setup();
	for (i = 0; i < ARRAY_SIZE(decls); i++) {
		snprintf(names[i], sizeof(names[i]), "fast_path::retired%u", i);
		decls[i] = t_decl(names[i]);
		CHECK_OK(dk_op_define(&elsewhere, &decls[i], 0, &t_why));
	}
	w_store_release(hold_grace_periods, true);
	CHECK_INT(dk_provider_unregister_timeout(&elsewhere, 10, &t_why), -ETIMEDOUT);
	CHECK(dk_test_retired() >= 100);
	w_store_release(hold_grace_periods, false);
	CHECK_OK(dk_provider_unregister(&elsewhere));
}

static void *drain_elsewhere(void *data)
{
	CHECK_OK(dk_provider_drain(&elsewhere));
	return NULL;
}

/*
 * At the fork, another thread has waited for the grace period of some tables, but has not freed
 * them yet.
 */
static void fork_before_tables_are_freed(void)
{
	unsigned int in_batch, n;
	pthread_t thread;

	setup();
	CHECK_OK(dk_provider_drain(&prov));
	CHECK_OK(dk_impls_register(&elsewhere, of_here, 1, &t_why));
	in_batch = dk_test_retired();
	CHECK(in_batch);
	is_inside = 0;
	may_return = 0;
	after_grace_period = stay;
	CHECK_OK(pthread_create(&thread, NULL, drain_elsewhere, NULL));
	while (!w_load_acquire(is_inside))
		sched_yield();
	after_grace_period = NULL;
	CHECK_OK(dk_impls_register(&prov, of_here, 1, &t_why));
	n = dk_test_retired();
	CHECK(n > in_batch);
	fork_and_free(n - in_batch);
	w_store_release(may_return, 1);
	pthread_join(thread, NULL);
	CHECK_INT(dk_test_retired(), n - in_batch);
	CHECK_OK(dk_impls_unregister(&prov, of_here, &t_why));
	CHECK_OK(dk_impls_unregister(&elsewhere, of_here, &t_why));
	CHECK_INT(dk_test_retired(), 0);
}

/* ---- counters and hooks, while threads call ------------------------------------------ */

#define CALLERS		2
#define ROUNDS		100

static struct caller {
	pthread_t thread;
	u32 calls;
	int fast, failed;
} callers[CALLERS];
static u32 stop, num_hooked;
static bool hooks_are_there;

static void *call_all_the_time(void *data)
{
	struct caller *me = data;

	t_first_call();
	while (!w_load(stop)) {
		me->failed += !!dive_at(op, &dk_local_default, &cpu, 1, &me->fast);
		w_store_release(me->calls, me->calls + 1);
	}
	return NULL;
}

static void wait_for_calls(void)
{
	u32 calls[CALLERS];
	unsigned int i;

	for (i = 0; i < CALLERS; i++)
		calls[i] = w_load_acquire(callers[i].calls);
	for (i = 0; i < CALLERS; i++)
		while (w_load_acquire(callers[i].calls) == calls[i])
			sched_yield();
}

static void before(struct dk_hooks *h, const struct dk_hook_info *info)
{
	CHECK(__atomic_load_n(&hooks_are_there, __ATOMIC_ACQUIRE));
	__atomic_fetch_add(&num_hooked, 1, __ATOMIC_RELAXED);
}

/* Calls that begin after counting was enabled are counted once each. */
static void count_some(void)
{
	struct dk_stat s = { .size = sizeof(s) };
	int i, fast = 0;
	u64 counted;

	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(dk_op_stat(other_handle, 0, &s));
	counted = s.count;
	wait_for_calls();
	for (i = 0; i < 7; i++)
		CHECK_OK(other_at(other_handle, &dk_local_default, &cpu, 1, &fast));
	CHECK_OK(dk_op_stat(other_handle, 0, &s));
	CHECK_INT(s.count - counted, 7);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	fast = 0;
	CHECK_OK(other_at(other_handle, &dk_local_default, &cpu, 1, &fast));
	CHECK_INT(fast, 1);
}

static void hook_some(void)
{
	struct dk_hooks hooks = { .size = sizeof(hooks), .before = before };

	__atomic_store_n(&hooks_are_there, true, __ATOMIC_RELEASE);
	CHECK_OK(dk_hooks_register(t_reg, &hooks, &t_why));
	wait_for_calls();
	CHECK_OK(dk_hooks_unregister(&hooks, &t_why));
	__atomic_store_n(&hooks_are_there, false, __ATOMIC_RELEASE);
}

static void hooks_and_counters_change_under_load(void)
{
	unsigned int i;

	setup();
	stop = 0;
	num_hooked = 0;
	memset(callers, 0, sizeof(callers));
	for (i = 0; i < CALLERS; i++)
		CHECK_OK(pthread_create(&callers[i].thread, NULL, call_all_the_time,
					&callers[i]));
	for (i = 0; i < ROUNDS; i++) {
		count_some();
		hook_some();
		wait_for_calls();
	}
	w_store(stop, 1);
	for (i = 0; i < CALLERS; i++) {
		pthread_join(callers[i].thread, NULL);
		CHECK_INT(callers[i].failed, 0);
		CHECK(callers[i].fast);
	}
	CHECK(num_hooked);
}

DK_OP(step, "fast_path::step", (struct dk_obj *x, int *framed), (x, framed), (x));

static int step_traced(struct dk_call *c, struct dk_obj *x, int *framed)
{
	*framed += !!dk_call_frame(c);
	return step_below(c, x, framed);
}

static int step_here(struct dk_call *c, struct dk_obj *x, int *framed)
{
	*framed += 10 * !!dk_call_frame(c);
	return 0;
}

static const struct dk_impl steps[] = {
	DK_IMPL(step, DK_TRACER, step_traced),
	DK_IMPL(step, DK_CPU, step_here),
};

/* The call has a frame. Its redispatch takes the fast path and has none. */
static void redispatch_from_a_frame(void)
{
	struct dk_provider me = DK_PROVIDER("fast");
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *objs[] = { &x };
	struct dk_frame f;
	int framed = 0;

	x.ks.bits |= DK_KEY_BITS(DK_TRACER);
	CHECK_OK(dk_provider_register(&me, &t_why));
	CHECK_OK(dk_op_define(&me, &step_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, steps, ARRAY_SIZE(steps), &t_why));
	CHECK_OK(dk_call_enter(&f, &step_op, dk_local_current(), objs, 1));
	CHECK_OK(step_run(&f, &x, &framed));
	dk_call_leave(&f);
	CHECK_INT(framed, 1);
	CHECK_OK(dk_provider_unregister(&me));
}

T_SUITE(fast_path,
	T(redispatch_from_a_frame),
	T(calls_deeper_than_the_slots),
	T(frames_left_in_any_order),
	T(frames_within_calls_and_a_signal_handler),
	T(thread_ends_inside_a_function),
	T(signal_handler_ends_the_thread),
	T(long_call_keeps_one_table),
	T(replaced_tables_do_not_pile_up),
	T(deadline_holds_with_many_retired_tables),
	T(fork_during_a_long_call),
	T(fork_before_tables_are_freed),
	T(hooks_and_counters_change_under_load));
