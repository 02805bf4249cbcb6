// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes calls in signal handlers that interrupt a call, nested calls, or a registration. Userspace
 * only.
 */
#include "alloc.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
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

T_SUITE(signals,
	T(handlers_call_at_any_moment),
	T(memory_is_managed_without_the_lock_of_calls));
