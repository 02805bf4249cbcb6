// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls at the end of their thread, which are left in a destructor of thread-specific data,
 * on another thread, twice, or never; and threads that use liburcu themselves. Userspace only.
 */
#include "alloc.h"
#include "grace_periods.h"
#include "test.h"

#include "../world.h"
#include "core/change/change.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu-bp.h>

#define DEEP	70	/* more calls than a thread has slots for */

DK_OP(visit, "thread_exit::visit", (struct dk_obj *x), (x), (x));
DK_OP(peek, "thread_exit::peek", (struct dk_obj *x), (x), (x));

static int visit_here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static const struct dk_impl impls[] = {
	DK_IMPL(visit, DK_CPU, visit_here),
	DK_IMPL_ATOMIC(peek, DK_CPU, visit_here),
};

static struct dk_provider *prov;
static struct dk_op *op;

static void begin(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	prov = t_alloc(sizeof(*prov));
	t_join(prov, "exits");
	CHECK_OK(dk_op_define(prov, &visit_op, 0, &t_why));
	CHECK_OK(dk_op_define(prov, &peek_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(prov, impls, 2, &t_why));
	op = t_get("thread_exit::visit");
}

static void end(void)
{
	t_close();
	t_free(prov);
}

/* ---- a thread inside calls -------------------------------------------------- */

struct visitor {
	unsigned int n;		/* number of calls, all entered at once */
	bool leaves;		/* the calls, in a destructor */
	pthread_key_t key;
	unsigned int rounds;	/* of destructors before the one that leaves */
	int error;
	unsigned int inside_at_end;
	bool exited_at_end;	/* whether the thread's name was "(exited)" */
	struct dk_frame calls[DEEP];
};

static void enter(struct visitor *v)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &x };
	unsigned int i;

	for (i = 0; i < v->n && !v->error; i++)
		v->error = dk_call_enter_op(&v->calls[i], op, &visit_op, &dk_local_default,
					    objs, 1);
}

static void leave(struct visitor *v)
{
	unsigned int i;

	for (i = v->n; i; i--)
		dk_call_leave(&v->calls[i - 1]);
}

static struct visitor *visitor(unsigned int n)
{
	struct visitor *v = t_alloc(sizeof(*v));

	v->n = n;
	return v;
}

/* ---- the end of a thread ----------------------------------------------------- */

/* Runs after the library's own destructor: its key is the younger one. */
static void at_the_end(void *data)
{
	struct visitor *v = data;
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_inside in = { .size = sizeof(in) };

	if (v->rounds) {
		v->rounds--;
		pthread_setspecific(v->key, v);
		return;
	}
	v->inside_at_end = t_num_inside(prov);
	v->exited_at_end = !dk_provider_inside(prov, 0, &in) &&
			   !strcmp(in.thread_name, "(exited)");
	leave(v);
	if (!v->error)
		v->error = visit_at(op, &dk_local_default, &x);
}

static void *enter_and_end(void *data)
{
	struct visitor *v = data;

	if (v->leaves)
		v->error = -pthread_setspecific(v->key, v);
	if (!v->error)
		enter(v);
	return NULL;
}

static void run_and_end(struct visitor *v)
{
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, enter_and_end, v));
	pthread_join(thread, NULL);
	CHECK_OK(v->error);
}

static void left_in_a_destructor(void)
{
	static const unsigned int depths[] = { 0, 1, 2, DEEP };
	unsigned int i;

	begin();
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		struct visitor *v = visitor(depths[i]);

		v->leaves = true;
		/* the library's key is made by the first call of the process */
		t_first_call();
		CHECK_OK(pthread_key_create(&v->key, at_the_end));
		run_and_end(v);
		CHECK_INT(v->inside_at_end, depths[i]);
		CHECK(!v->exited_at_end);
		CHECK_INT(t_num_inside(prov), 0);
		pthread_key_delete(v->key);
		t_free(v);
	}
	end();
}

static void *begin_and_end(void *unused)
{
	t_first_call();
	return NULL;
}

static void first_call_of_another_thread(void)
{
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, begin_and_end, NULL));
	pthread_join(thread, NULL);
}

/* The library's destructor does not run after the last round; another thread frees the memory. */
static void left_in_the_last_round(void)
{
	static const unsigned int depths[] = { 1, DEEP };
	unsigned int i, n;
	long before;

#ifdef DKC_TSAN
	t_skip("ThreadSanitizer has ended the thread by then");
	return;
#endif
	begin();
	t_first_call();
	first_call_of_another_thread();
	before = dk_test_allocs();
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		struct visitor *v = visitor(depths[i]);

		v->leaves = true;
		v->rounds = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
		CHECK_OK(pthread_key_create(&v->key, at_the_end));
		run_and_end(v);
		CHECK_INT(v->inside_at_end, depths[i]);
		CHECK(v->exited_at_end);
		pthread_key_delete(v->key);
		t_free(v);
		CHECK_INT(t_num_inside(prov), 0);
		/* a thread that was joined can exist in the kernel a little longer */
		for (n = 0; n < 1000 && dk_test_allocs() != before; n++)
			first_call_of_another_thread();
		CHECK_INT(dk_test_allocs(), before);
	}
	end();
}

static void thread_ends_inside(struct visitor *v)
{
	struct dk_inside in = { .size = sizeof(in) };
	struct visitor *other = visitor(1);

	run_and_end(v);
	/* the end of another thread, which leaves its call, changes nothing */
	other->leaves = true;
	CHECK_OK(pthread_key_create(&other->key, at_the_end));
	run_and_end(other);
	pthread_key_delete(other->key);
	t_free(other);
	CHECK_INT(t_num_inside(prov), v->n);
	CHECK_OK(dk_provider_inside(prov, 0, &in));
	CHECK_STR(in.thread_name, "(exited)");
	CHECK_STR(in.op, "thread_exit::visit");
	CHECK(in.thread);
	CHECK_INT(dk_provider_unregister_timeout(prov, 1, &t_why), -ETIMEDOUT);
	CHECK_INT(t_why.reason, DK_WHY_STILL_INSIDE);
	CHECK(strstr(t_why.name, " (exited)["));
}

/* These calls can never be left, so the registries stay until the program ends. */
static void ended_inside(void)
{
	static struct visitor *kept[2];

	t_keep();
	kept[0] = visitor(1);
	begin();
	thread_ends_inside(kept[0]);
	kept[1] = visitor(DEEP);
	begin();
	thread_ends_inside(kept[1]);
}

/* ---- left on another thread -------------------------------------------------- */

/* Stores into @text what is written to stderr while a function runs. */
static void listen(char *text, size_t size, void (*run)(void *data), void *data)
{
	int fd = memfd_create("stderr", 0), old = dup(STDERR_FILENO);
	ssize_t n;

	CHECK(fd >= 0 && old >= 0);
	CHECK(dup2(fd, STDERR_FILENO) >= 0);
	run(data);
	CHECK(dup2(old, STDERR_FILENO) >= 0);
	n = pread(fd, text, size - 1, 0);
	text[n > 0 ? n : 0] = 0;
	close(fd);
	close(old);
}

static void *leave_here(void *data)
{
	t_first_call();
	leave(data);
	return NULL;
}

static void leave_elsewhere(void *data)
{
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, leave_here, data));
	pthread_join(thread, NULL);
}

/* Runs on another thread, because unregistering would be refused on a thread that is inside. */
static void *drain(void *data)
{
	int *err = data;

	*err = dk_provider_unregister_timeout(prov, 1, &t_why);
	return NULL;
}

static void left_on_another_thread(unsigned int n)
{
	struct visitor *v = visitor(n);
	pthread_t thread;
	char text[8192 + 2048], want[128];
	int err = 0;

	begin();
	enter(v);
	CHECK_OK(v->error);
	listen(text, sizeof(text), leave_elsewhere, v);
	snprintf(want, sizeof(want),
		 "dispatchkey: thread_exit::visit was entered on thread %d: it cannot be left on thread ",
		 (int)gettid());
	/* one line for each call; it ends with the number of the other thread */
	if (!CHECK(!strncmp(text, want, strlen(want)) && text[strlen(text) - 1] == '\n'))
		t_note("stderr: %s", text);
	CHECK_INT(t_num_inside(prov), n);
	CHECK_INT(dk_provider_unregister(prov), -EDEADLK);
	CHECK_OK(pthread_create(&thread, NULL, drain, &err));
	pthread_join(thread, NULL);
	CHECK_INT(err, -ETIMEDOUT);
	leave(v);
	CHECK_INT(t_num_inside(prov), 0);
	end();
	t_free(v);
}

static void left_elsewhere(void)
{
	left_on_another_thread(1);
	left_on_another_thread(DEEP);
}

/* ---- left twice ---------------------------------------------------------------- */

static void leave_again(void *data)
{
	leave(data);
}

/* Later calls use the slots of the first ones, and stay inside when those are left again. */
static void left_twice_beside(unsigned int n)
{
	struct visitor *v = visitor(n), *w = visitor(n);
	char text[8192];

	begin();
	enter(v);
	leave(v);
	enter(w);
	listen(text, sizeof(text), leave_again, v);
	if (!CHECK(!strncmp(text, "dispatchkey: a call was left twice\n", 35)))
		t_note("stderr: %s", text);
	CHECK_INT(t_num_inside(prov), n);
	CHECK_INT(dk_provider_unregister(prov), -EDEADLK);
	leave(w);
	CHECK_INT(t_num_inside(prov), 0);
	end();
	t_free(w);
	t_free(v);
}

static void left_twice(void)
{
	left_twice_beside(1);
	left_twice_beside(DEEP);
}

/* ---- counters in threads that are registered with liburcu -------------------- */

static struct dk_op *peek_handle;

static void *call_as_a_reader_of_liburcu(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int *err = data;
	unsigned int i;

	urcu_bp_register_thread();
	for (i = 0; i < 10 && !*err; i++)
		*err = peek_at(peek_handle, &dk_local_default, &x);
	return NULL;
}

static void counted_where_liburcu_is_used(void)
{
	struct dk_stats s = { .size = sizeof(s) };
	struct dk_stat count = { .size = sizeof(count) };
	pthread_t thread;
	int err = 0;

	begin();
	peek_handle = t_get("thread_exit::peek");
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(pthread_create(&thread, NULL, call_as_a_reader_of_liburcu, &err));
	pthread_join(thread, NULL);
	CHECK_OK(err);
	CHECK_OK(dk_op_stat(peek_handle, 0, &count));
	CHECK_INT(count.count, 10);
	CHECK_OK(dk_stats_get(t_reg, &s));
	CHECK_INT(s.uncounted, 0);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
	end();
}

/* ---- the program's own read sections ------------------------------------------- */

static u32 is_in, let_go;

static void *read_and_stay(void *data)
{
	urcu_bp_register_thread();
	urcu_bp_read_lock();
	w_store_release(is_in, 1);
	while (!w_load_acquire(let_go))
		sched_yield();
	urcu_bp_read_unlock();
	return NULL;
}

/* A read section of the program prolongs a grace period, but not a deadline. */
static void deadline_beside_a_reader_of_liburcu(void)
{
	pthread_t thread;

	begin();
	is_in = 0;
	let_go = 0;
	CHECK_OK(pthread_create(&thread, NULL, read_and_stay, NULL));
	while (!w_load_acquire(is_in))
		sched_yield();
	/* refuses: dk_provider_unregister_timeout ETIMEDOUT GRACE */
	CHECK_INT(dk_provider_unregister_timeout(prov, 20, &t_why), -ETIMEDOUT);
	CHECK_INT(t_why.reason, DK_WHY_GRACE);
	CHECK_STR(t_why.name, "exits");
	CHECK_INT(t_num_inside(prov), 0);
	w_store_release(let_go, 1);
	pthread_join(thread, NULL);
	CHECK_OK(dk_provider_unregister(prov));
	CHECK(!prov->core);
	CHECK_OK(dk_provider_register(prov, &t_why));
	end();
}

/* A grace period would wait for the caller's own section. */
static void not_from_a_read_section(void)
{
	begin();
	urcu_bp_read_lock();
	/* refuses: dk_provider_unregister_timeout EDEADLK ATOMIC */
	CHECK_INT(dk_provider_unregister_timeout(prov, 0, &t_why), -EDEADLK);
	CHECK_INT(t_why.reason, DK_WHY_ATOMIC);
	urcu_bp_read_unlock();
	CHECK_OK(dk_provider_unregister(prov));
	CHECK_OK(dk_provider_register(prov, &t_why));
	end();
}

/* ---- fork during a grace period ------------------------------------------------ */

static int unregister_in_child(void)
{
	alarm(20);
	w_store_release(graces_held_back, false);
	return dk_provider_unregister_timeout(prov, 10000, NULL) || prov->core;
}

/* The thread that waits for the grace period does not exist in the child. */
static void fork_in_a_grace_period(void)
{
	int status = -1;
	pid_t pid;

	begin();
	w_store_release(graces_held_back, true);
	CHECK_INT(dk_provider_unregister_timeout(prov, 1, &t_why), -ETIMEDOUT);
	CHECK_INT(t_why.reason, DK_WHY_GRACE);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(unregister_in_child());
	if (CHECK(pid > 0)) {
		waitpid(pid, &status, 0);
		CHECK_INT(status, 0);
	}
	w_store_release(graces_held_back, false);
	CHECK_OK(dk_provider_unregister(prov));
	CHECK_OK(dk_provider_register(prov, &t_why));
	end();
}

T_SUITE(thread_exit,
	T(left_in_a_destructor),
	T(left_in_the_last_round),
	T(ended_inside),
	T(left_elsewhere),
	T(left_twice),
	T(counted_where_liburcu_is_used),
	T(deadline_beside_a_reader_of_liburcu),
	T(not_from_a_read_section),
	T(fork_in_a_grace_period));
