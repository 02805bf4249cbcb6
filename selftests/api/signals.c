// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes calls in signal handlers that interrupt a call, nested calls, or a registration. Userspace
 * only.
 */
#include "alloc.h"
#include "test.h"

#include "../world.h"
#include "core/base/world.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SIGNALS		1500
#define DEEP		70	/* more than a thread's record has room for */
#define LOAD(x)		__atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define STORE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELEASE)
#define ADD(x)		__atomic_fetch_add(&(x), 1, __ATOMIC_RELAXED)

DK_OP(calm, "signals::calm", (struct dk_obj *x, int depth), (x, depth), (x));
DK_OP(instant, "signals::instant", (struct dk_obj *x), (x), (x));

static struct dk_provider host = DK_PROVIDER("host");
static int stop;
static unsigned int handled, bad, calls, changes;
static __thread void (*inside)(void);	/* called in the innermost call */

static int calm_here(struct dk_call *c, struct dk_obj *x, int depth)
{
	if (!depth && inside)
		inside();
	return depth ? calm(x, depth - 1) : 0;
}

static int instant_here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static const struct dk_impl impls[] = {
	DK_IMPL(calm, DK_COMPOSITE_EXPLICIT_AUTOGRAD, calm_here),
	DK_IMPL_ATOMIC(instant, DK_COMPOSITE_EXPLICIT_AUTOGRAD, instant_here),
};

static const struct dk_impl more[] = {
	DK_IMPL(calm, DK_CPU, calm_here), DK_IMPL_ATOMIC(instant, DK_CPU, instant_here),
};

static bool serves(int depth)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	return !calm(&x, depth) && !instant(&x);
}

static void handler(int sig)
{
	int saved = errno;

	/* sometimes more nested calls than a thread's record has room for */
	if (!serves(ADD(handled) % 8 ? 0 : DEEP))
		ADD(bad);
	errno = saved;
}

static void *call_all_the_time(void *data)
{
	while (!LOAD(stop)) {
		if (!serves(ADD(calls) % 4 ? 1 : DEEP))
			ADD(bad);
	}
	return NULL;
}

/* Signals interrupt this thread while it holds locks, and while it waits for grace periods. */
static void *change_all_the_time(void *data)
{
	struct dk_provider guest = DK_PROVIDER("guest");

	if (dk_thread_init())
		ADD(bad);
	while (!LOAD(stop)) {
		if (dk_provider_register(&guest, NULL) ||
		    dk_impls_register(&guest, more, 2, NULL) ||
		    dk_provider_unregister(&guest))
			ADD(bad);
		ADD(changes);
	}
	return NULL;
}

static void handlers_call_at_any_moment(void)
{
	struct sigaction old, act = { .sa_handler = handler };
	pthread_t threads[2];
	unsigned int i;

	stop = 0;
	handled = 0;
	bad = 0;
	calls = 0;
	changes = 0;
	CHECK_OK(dk_provider_register(&host, &t_why));
	CHECK_OK(dk_op_define(&host, &calm_op, 0, &t_why));
	CHECK_OK(dk_op_define(&host, &instant_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&host, impls, 2, &t_why));
	CHECK(serves(0));
	CHECK_OK(sigaction(SIGUSR1, &act, &old));
	CHECK_OK(pthread_create(&threads[0], NULL, call_all_the_time, NULL));
	CHECK_OK(pthread_create(&threads[1], NULL, change_all_the_time, NULL));
	while (LOAD(calls) < 10 || LOAD(changes) < 2)
		usleep(1000);
	/* end the program if a thread hangs */
	alarm(120);
	for (i = 0; i < SIGNALS; i++) {
		CHECK_OK(pthread_kill(threads[i % 2], SIGUSR1));
		usleep(50);
	}
	STORE(stop, 1);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	alarm(0);
	CHECK_OK(sigaction(SIGUSR1, &old, NULL));
	CHECK_INT(bad, 0);
	CHECK(handled);
	t_note("%u handlers, %u calls, %u changes", handled, calls, changes);
	CHECK_OK(dk_provider_unregister(&host));
}

/* ---- handlers that interrupt malloc() -------------------------------------------------- */

static sem_t look_begins, look_ends;

/* In place of a handler that interrupts malloc(): makes calls that take the gate's lock. */
static void *call_at_each_look(void *data)
{
	CHECK_OK(dk_thread_init());
	for (;;) {
		sem_wait(&look_begins);
		if (LOAD(stop))
			return NULL;
		if (!serves(DEEP))
			ADD(bad);
		sem_post(&look_ends);
	}
}

/* Called before the library allocates or frees memory. */
static void wait_for_calls(void)
{
	struct timespec end;

	if (LOAD(bad))
		return;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 20;
	sem_post(&look_begins);
	if (sem_timedwait(&look_ends, &end))
		ADD(bad);
	ADD(handled);
}

static void look_at_memory(void (*look)(void))
{
	dk_test_at_alloc(look);
	dk_test_at_free(look);
}

/* The record of the thread, with its counters, is freed after this function. */
static void *count_and_end(void *data)
{
	CHECK(serves(0));
	look_at_memory(wait_for_calls);
	return NULL;
}

static bool forks;

/* Runs after the handlers of the library, because it is registered before them. */
static void before_fork(void)
{
	if (forks)
		wait_for_calls();
}

__attribute__((constructor(101)))
static void register_first(void)
{
	pthread_atfork(before_fork, NULL, NULL);
}

static void fork_inside_of_calls(void)
{
	int status = -1;
	pid_t child;

	forks = true;
	child = fork();
	forks = false;
	inside = NULL;
	if (!child)
		_exit(!serves(DEEP) || dk_provider_drain(&host) != -EDEADLK);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
}

static void *use_memory(void *data)
{
	struct dk_provider guest = DK_PROVIDER("guest");
	pthread_t thread;

	look_at_memory(wait_for_calls);
	CHECK_OK(dk_thread_init());
	CHECK_OK(dk_stats_enable(NULL, &t_why));
	CHECK_OK(pthread_create(&thread, NULL, count_and_end, NULL));
	pthread_join(thread, NULL);
	look_at_memory(wait_for_calls);
	CHECK_OK(dk_provider_register(&guest, &t_why));
	CHECK_OK(dk_impls_register(&guest, more, 2, &t_why));
	CHECK_OK(dk_provider_unregister(&guest));
	CHECK_OK(dk_stats_disable(NULL, &t_why));
	look_at_memory(NULL);
	/* fork() takes the locks of malloc() */
	inside = fork_inside_of_calls;
	CHECK(serves(DEEP));
	return NULL;
}

/* A handler may have interrupted malloc(). It must not wait for a thread that needs malloc(). */
static void memory_is_managed_without_the_lock_of_calls(void)
{
	pthread_t caller, user;

	stop = 0;
	handled = 0;
	bad = 0;
	sem_init(&look_begins, 0, 0);
	sem_init(&look_ends, 0, 0);
	CHECK_OK(dk_provider_register(&host, &t_why));
	CHECK_OK(dk_op_define(&host, &calm_op, 0, &t_why));
	CHECK_OK(dk_op_define(&host, &instant_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&host, impls, 2, &t_why));
	CHECK_OK(pthread_create(&caller, NULL, call_at_each_look, NULL));
	CHECK_OK(pthread_create(&user, NULL, use_memory, NULL));
	pthread_join(user, NULL);
	STORE(stop, 1);
	sem_post(&look_begins);
	pthread_join(caller, NULL);
	CHECK_INT(bad, 0);
	CHECK(handled > 20);
	t_note("%u times", handled);
	CHECK_OK(dk_provider_unregister(&host));
}

/* ---- a handler between any two instructions --------------------------------------------- */

DK_OP(stepped, "signals::stepped", (struct dk_obj *x, bool *fast), (x, fast), (x));
DK_OP(paired, "signals::paired", (struct dk_obj *x, int depth), (x, depth), (x));
DK_OP(kept, "signals::kept", (struct dk_obj *x), (x), (x));

#if defined(__x86_64__) && !defined(DKC_TSAN)
#define SLOTS		64	/* of a thread: lib/thread.h */
#define TRAP_FLAG	0x100	/* SIGTRAP after each instruction */

static struct dk_provider guest = DK_PROVIDER("guest");
static struct dk_frame frames[SLOTS];
static int instructions;	/* until the handler enters a call; negative: the steps end */
static bool has_entered, has_called;

static void (*at_step)(void);	/* what the handler does */

static int paired_here(struct dk_call *c, struct dk_obj *x, int depth)
{
	return depth ? paired(x, depth - 1) : 0;
}

static int stepped_here(struct dk_call *c, struct dk_obj *x, bool *fast)
{
	*fast = !dk_call_frame(c);
	return 0;
}

static int kept_here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static const struct dk_impl stepped_impls[] = {
	DK_IMPL(stepped, DK_COMPOSITE_EXPLICIT_AUTOGRAD, stepped_here),
	DK_IMPL(paired, DK_COMPOSITE_EXPLICIT_AUTOGRAD, paired_here),
};

static const struct dk_impl kept_impls[] = { DK_IMPL(kept, DK_CPU, kept_here) };

/* Enters a call on the slow path. */
static void enter_kept(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &x };

	STORE(has_entered, CHECK_OK(dk_call_enter_key(&frames[0], NULL, &kept_op,
						      &dk_local_default, DK_CPU, objs, 1)));
}

/* Makes nested calls on the fast path, for which there may be too few slots. */
static void call_twice(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	CHECK_OK(paired(&x, 1));
	STORE(has_called, true);
}

/*
 * SIGUSR1 begins single steps. The handler of one step runs @at_step. Then, or if @instructions is
 * negative, the steps end. They must not go on in functions that block signals.
 */
static void take_step(int sig, siginfo_t *info, void *context)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

	if (sig == SIGTRAP)
		STORE(instructions, LOAD(instructions) - 1);
	if (sig == SIGTRAP && LOAD(instructions) == -1)
		at_step();
	*flags = LOAD(instructions) < 0 ? *flags & ~TRAP_FLAG : *flags | TRAP_FLAG;
}

/* A call on the slow path may block signals. */
static bool is_fast(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	bool fast = false;

	/* the first one may still be slow */
	CHECK_OK(stepped(&x, &fast));
	CHECK_OK(stepped(&x, &fast));
	return fast;
}

/* Makes a call, in which the handler enters another one. Returns false if the call is too short. */
static bool interrupted_after(int n)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_inside in = { .size = sizeof(in) };
	bool fast, in_call;

	if (!CHECK(is_fast()))
		return false;
	STORE(has_entered, false);
	STORE(instructions, n);
	raise(SIGUSR1);
	stepped(&x, &fast);
	in_call = LOAD(has_entered);
	/* not -1, at which the handler enters the call */
	STORE(instructions, -2);
	CHECK_INT(dk_provider_inside(&guest, 0, &in), LOAD(has_entered) ? 0 : -ENOENT);
	if (LOAD(has_entered))
		dk_call_leave(&frames[0]);
	return in_call;
}

/*
 * Enters a call on the slow path, which the handler interrupts by nested calls. Nested calls must
 * not use its slot, then or later. Returns false if entering the call is too short.
 */
static bool kept_after(int n)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_inside in = { .size = sizeof(in) };
	bool in_call;

	if (!CHECK(is_fast()))
		return false;
	STORE(has_called, false);
	STORE(instructions, n);
	raise(SIGUSR1);
	enter_kept();
	in_call = LOAD(has_called);
	STORE(instructions, -2);
	CHECK_OK(paired(&x, 1));
	CHECK_INT(dk_provider_inside(&guest, 0, &in), 0);
	dk_call_leave(&frames[0]);
	CHECK_INT(dk_provider_inside(&guest, 0, &in), -ENOENT);
	return in_call;
}

/* Steps through calls while only @free slots are free. */
static void step_through(bool (*each)(int n), void (*step)(void), int free)
{
	struct sigaction user, trap, act = { .sa_sigaction = take_step, .sa_flags = SA_SIGINFO };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &x };
	int i, n = 0;

	at_step = step;
	t_register(&host);
	t_register(&guest);
	CHECK_OK(dk_op_define(&host, &stepped_op, 0, &t_why));
	CHECK_OK(dk_op_define(&host, &paired_op, 0, &t_why));
	CHECK_OK(dk_op_define(&host, &kept_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&host, stepped_impls, 2, &t_why));
	CHECK_OK(dk_impls_register(&guest, kept_impls, 1, &t_why));
	if (is_fast() && CHECK_OK(paired(&x, 1))) {
		for (i = 1; i < SLOTS + 1 - free; i++)
			CHECK_OK(dk_call_enter(&frames[i], &stepped_op, &dk_local_default,
					       objs, 1));
		CHECK_OK(sigaction(SIGUSR1, &act, &user));
		CHECK_OK(sigaction(SIGTRAP, &act, &trap));
		while (each(n))
			n++;
		CHECK(n > 20);
		CHECK_OK(sigaction(SIGTRAP, &trap, NULL));
		CHECK_OK(sigaction(SIGUSR1, &user, NULL));
		while (--i)
			dk_call_leave(&frames[i]);
	} else {
		t_skip("no call takes the fast path");
	}
	t_unregister(&guest);
	t_unregister(&host);
}

/* The interrupted call and that of the handler must not both use the free slot. */
static void handler_enters_a_call_at_any_instruction(void)
{
	step_through(interrupted_after, enter_kept, 1);
}

static void handler_calls_while_a_call_is_entered(void)
{
	step_through(kept_after, call_twice, 2);
}
#else
static void handler_calls_while_a_call_is_entered(void)
{
	t_skip("single steps need an x86-64, and no ThreadSanitizer");
}

static void handler_enters_a_call_at_any_instruction(void)
{
	t_skip("single steps need an x86-64, and no ThreadSanitizer");
}
#endif

/* ---- errno --------------------------------------------------------------------------- */

/* A handler may make a mistake, too. Without stderr, the report of it cannot be written. */
static void report_of_a_mistake_keeps_errno(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &x };
	int copy = dup(STDERR_FILENO), err;
	struct dk_frame f;

	CHECK_INT(dk_call_enter(&f, &calm_op, &dk_local_default, objs, 1), -ENOENT);
	fflush(stderr);
	close(STDERR_FILENO);
	errno = EXDEV;
	dk_call_leave(&f);
	err = errno;
	dup2(copy, STDERR_FILENO);
	close(copy);
	CHECK_INT(err, EXDEV);
}

T_SUITE(signals,
	T(handlers_call_at_any_moment),
	T(handler_enters_a_call_at_any_instruction),
	T(handler_calls_while_a_call_is_entered),
	T(report_of_a_mistake_keeps_errno),
	T(memory_is_managed_without_the_lock_of_calls));
