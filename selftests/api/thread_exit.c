// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests calls that are still entered when their thread ends. They are left in a destructor of
 * thread-specific data, on another thread, twice, in a child of fork(), or never. Also tests
 * functions that do not return. Userspace only.
 */
#include "alloc.h"
#include "bounded.h"
#include "test.h"

#include "../world.h"
#include "core/change/change.h"

#include <limits.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEEP	70	/* more calls than a thread has slots for */

DK_OP(visit, "thread_exit::visit", (struct dk_obj *x), (x), (x));

static void (*leave_function)(void);	/* never returns, or NULL */

static int visit_here(struct dk_call *c, struct dk_obj *x)
{
	if (leave_function)
		leave_function();
	return 0;
}

static const struct dk_impl impls[] = {
	DK_IMPL(visit, DK_CPU, visit_here),
};

static struct dk_provider *prov;
static struct dk_op *op;

static void open_for(struct dk_provider *provider)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	prov = provider;
	t_join(prov, "exits");
	CHECK_OK(dk_op_define(prov, &visit_op, 0, &t_why));
	CHECK_OK(dk_impls_register(prov, impls, 1, &t_why));
	op = t_get("thread_exit::visit");
}

static void open_exits(void)
{
	static struct dk_provider exits;

	open_for(&exits);
}

/* ---- a thread inside calls -------------------------------------------------- */

struct thread_calls {
	unsigned int n;		/* number of calls, all entered at once */
	bool leaves_at_end;		/* whether a destructor leaves the calls */
	bool calls_before;		/* whether the thread makes one other call before @calls */
	pthread_key_t key;
	pid_t tid;
	unsigned int rounds;	/* of destructors before the calls are left */
	int error;
	unsigned int inside_at_end;
	bool exited_at_end;	/* whether the thread's name was "(exited)" */
	struct dk_frame calls[DEEP];
};

static void enter(struct thread_calls *v)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &x };
	unsigned int i;

	for (i = 0; i < v->n && !v->error; i++)
		v->error = dk_call_enter_op(&v->calls[i], op, &visit_op, &dk_local_default,
					    objs, 1);
}

static void leave(struct thread_calls *v)
{
	unsigned int i;

	for (i = v->n; i; i--)
		dk_call_leave(&v->calls[i - 1]);
}

static struct thread_calls *thread_calls_new(unsigned int n)
{
	struct thread_calls *v = t_alloc(sizeof(*v));

	v->n = n;
	return v;
}

/* ---- the end of a thread ----------------------------------------------------- */

/* Runs after the library's own destructor, because the key of this destructor is created later. */
static void leave_in_destructor(void *data)
{
	struct thread_calls *v = data;
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
	struct thread_calls *v = data;
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	v->tid = gettid();
	if (v->leaves_at_end)
		v->error = -pthread_setspecific(v->key, v);
	if (v->calls_before)
		v->error = visit_at(op, &dk_local_default, &x);
	if (!v->error)
		enter(v);
	return NULL;
}

static void run_and_end(struct thread_calls *v)
{
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, enter_and_end, v));
	pthread_join(thread, NULL);
	CHECK_OK(v->error);
}

/*
 * In the third round of destructors, that of the test makes a call. By then liburcu has removed the
 * thread, and the library has freed the thread's record.
 */
static void destructor_calls_without_a_record(void)
{
	struct thread_calls *v;

#ifdef DKC_TSAN
	t_skip("ThreadSanitizer ends the thread before the last round of destructors");
	return;
#endif
	v = thread_calls_new(0);
	v->leaves_at_end = true;
	v->calls_before = true;
	v->rounds = 2;
	t_first_call();
	CHECK_OK(pthread_key_create(&v->key, leave_in_destructor));
	run_and_end(v);
	pthread_key_delete(v->key);
	t_free(v);
}

static void destructor_leaves_calls(void)
{
	static const unsigned int depths[] = { 0, 1, 2, DEEP };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		struct thread_calls *v = thread_calls_new(depths[i]);

		v->leaves_at_end = true;
		/* the first call of the process creates the library's key */
		t_first_call();
		CHECK_OK(pthread_key_create(&v->key, leave_in_destructor));
		run_and_end(v);
		CHECK_INT(v->inside_at_end, depths[i]);
		CHECK(!v->exited_at_end);
		CHECK_INT(t_num_inside(prov), 0);
		pthread_key_delete(v->key);
		t_free(v);
	}
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

/*
 * The calls are left in the last round of destructors, after the library's destructor. Another
 * thread frees the memory.
 */
static void last_destructor_round_leaves_calls(void)
{
	static const unsigned int depths[] = { 1, DEEP };
	unsigned int i, n;
	long before;

#ifdef DKC_TSAN
	t_skip("ThreadSanitizer ends the thread before this round");
	return;
#endif
	t_first_call();
	first_call_of_another_thread();
	before = dk_test_allocs();
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		struct thread_calls *v = thread_calls_new(depths[i]);

		v->leaves_at_end = true;
		v->rounds = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
		CHECK_OK(pthread_key_create(&v->key, leave_in_destructor));
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
}

static int nothing(void)
{
	return 0;
}

/* A call on the slow path is in a read-side critical section: liburcu adds the thread again. */
static void call_slowly_in_destructor(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &x };
	struct thread_calls *v = data;
	struct dk_frame f;

	if (v->rounds) {
		v->rounds--;
		pthread_setspecific(v->key, v);
		return;
	}
	leave(v);
	v->error = dk_call_enter_key(&f, op, &visit_op, &dk_local_default, DK_CPU, objs, 1);
	if (!v->error)
		dk_call_leave(&f);
}

/*
 * A destructor makes a call in one of the last rounds. After that the stack of the thread is
 * unmapped, with its thread-local variables. fork() must not read them.
 */
static void destructor_calls_before_a_fork(unsigned int rounds, unsigned int depth,
					   bool calls_before)
{
	long before = dk_test_allocs();
	struct thread_calls *v = thread_calls_new(depth);
	size_t size = 1 << 20;
	void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	v->leaves_at_end = true;
	v->calls_before = calls_before;
	v->rounds = rounds;
	CHECK_OK(pthread_key_create(&v->key, call_slowly_in_destructor));
	pthread_attr_init(&attr);
	CHECK_OK(pthread_attr_setstack(&attr, stack, size));
	CHECK_OK(pthread_create(&thread, &attr, enter_and_end, v));
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	munmap(stack, size);
	CHECK_OK(v->error);
	t_in_child(nothing);
	pthread_key_delete(v->key);
	/* a thread that was joined can exist in the kernel a little longer */
	while (!syscall(SYS_tgkill, getpid(), v->tid, 0))
		w_sleep_us(100);
	t_free(v);
	first_call_of_another_thread();
	CHECK_INT(dk_test_allocs(), before);
}

static void destructors_call_before_a_fork(void)
{
	unsigned int rounds;

#ifdef DKC_TSAN
	t_skip("ThreadSanitizer ends the thread before the last rounds of destructors");
	return;
#endif
	t_first_call();
	first_call_of_another_thread();
	for (rounds = 0; rounds < PTHREAD_DESTRUCTOR_ITERATIONS; rounds++) {
		destructor_calls_before_a_fork(rounds, 0, false);
		destructor_calls_before_a_fork(rounds, 0, true);
		destructor_calls_before_a_fork(rounds, 1, true);
	}
}

static void thread_ends_inside(struct thread_calls *v)
{
	struct dk_inside in = { .size = sizeof(in) };
	struct thread_calls *other = thread_calls_new(1);

	run_and_end(v);
	/* another thread leaves its call at its end; this changes nothing */
	other->leaves_at_end = true;
	CHECK_OK(pthread_key_create(&other->key, leave_in_destructor));
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
static void thread_ends_inside_calls(void)
{
	static struct thread_calls *kept[2];

	t_close();
	t_keep();
	kept[0] = thread_calls_new(1);
	open_for(t_alloc(sizeof(*prov)));
	thread_ends_inside(kept[0]);
	kept[1] = thread_calls_new(DEEP);
	open_for(t_alloc(sizeof(*prov)));
	thread_ends_inside(kept[1]);
}

/* ---- functions that do not return ---------------------------------------------- */

static void end_thread(void)
{
	pthread_exit(NULL);
}

static void *call_and_end(void *unused)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	CHECK_OK(dk_thread_init());
	CHECK_OK(visit_at(op, &dk_local_default, &x));
	return NULL;
}

/*
 * The thread's first call takes the fast path, because dk_thread_init() has allocated its record.
 */
static void first_call_ends_with_its_thread(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	pthread_t thread;

	/* compares the signatures, which the first call by handle does on the slow path */
	CHECK_OK(visit_at(op, &dk_local_default, &x));
	leave_function = end_thread;
	CHECK_OK(pthread_create(&thread, NULL, call_and_end, NULL));
	pthread_join(thread, NULL);
	leave_function = NULL;
	CHECK_INT(t_num_inside(prov), 0);
}

static jmp_buf before_jump;

static void jump(void)
{
	longjmp(before_jump, 1);
}

/* The frame still exists after the jump, so the call can be left. */
static void call_is_left_after_longjmp(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &x };
	struct dk_frame f;
	static int i;	/* keeps its value after the jump */

	leave_function = jump;
	for (i = 0; i < 2 * DEEP; i++) {
		CHECK_OK(dk_call_enter_op(&f, op, &visit_op, &dk_local_default, objs, 1));
		if (!setjmp(before_jump)) {
			visit_run(&f, &x);
			CHECK(!"the function returned");
		}
		dk_call_leave(&f);
	}
	leave_function = NULL;
	CHECK_INT(t_num_inside(prov), 0);
}

/* ---- left on another thread -------------------------------------------------- */

static void *first_call_and_leave(void *data)
{
	t_first_call();
	leave(data);
	return NULL;
}

static void leave_on_new_thread(void *data)
{
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, first_call_and_leave, data));
	pthread_join(thread, NULL);
}

/* Runs on another thread, because unregistering would be refused on a thread that is inside. */
static void *drain(void *data)
{
	int *err = data;

	*err = dk_provider_unregister_timeout(prov, 1, &t_why);
	return NULL;
}

static unsigned int num_after;

static void count_after(struct dk_hooks *h, const struct dk_hook_info *info)
{
	num_after++;
	CHECK(info->depth < DEEP);
}

/*
 * Another thread tries to leave calls, which is refused: they stay inside until the first thread
 * leaves them. If @hooked, the hooks after the calls must run on the first thread only.
 */
static void leave_on_another_thread(unsigned int n, bool hooked)
{
	struct dk_hooks hooks = { .size = sizeof(hooks), .after = count_after };
	struct thread_calls *v = thread_calls_new(n);
	pthread_t thread;
	char text[8192 + 2048], want[128];
	int err = 0;

	t_close();
	open_exits();
	num_after = 0;
	if (hooked)
		CHECK_OK(dk_hooks_register(t_reg, &hooks, &t_why));
	enter(v);
	CHECK_OK(v->error);
	t_capture_stderr(text, sizeof(text), leave_on_new_thread, v);
	CHECK_INT(num_after, 0);
	snprintf(want, sizeof(want),
		 "dispatchkey: thread_exit::visit was entered on thread %d, and cannot be left on thread ",
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
	if (hooked) {
		CHECK_INT(num_after, n);
		CHECK_OK(dk_hooks_unregister(&hooks, &t_why));
	}
	t_free(v);
}

static void call_cannot_be_left_on_another_thread(void)
{
	unsigned int hooked;

	for (hooked = 0; hooked < 2; hooked++) {
		leave_on_another_thread(1, hooked);
		leave_on_another_thread(DEEP, hooked);
	}
}

/* ---- left twice ---------------------------------------------------------------- */

static void leave_again(void *data)
{
	leave(data);
}

/* Later calls use the slots of the first calls, and stay inside when the first are left again. */
static void leave_twice(unsigned int n)
{
	struct thread_calls *v = thread_calls_new(n), *w = thread_calls_new(n);
	char text[8192];

	enter(v);
	leave(v);
	enter(w);
	t_capture_stderr(text, sizeof(text), leave_again, v);
	if (!CHECK(!strncmp(text, "dispatchkey: thread_exit::visit was left twice\n", 47)))
		t_note("stderr: %s", text);
	CHECK_INT(t_num_inside(prov), n);
	CHECK_INT(dk_provider_unregister(prov), -EDEADLK);
	leave(w);
	CHECK_INT(t_num_inside(prov), 0);
	t_free(w);
	t_free(v);
}

static void call_cannot_be_left_twice(void)
{
	leave_twice(1);
	leave_twice(DEEP);
}

/* ---- left in a child of fork() ------------------------------------------------ */

static struct thread_calls *of_another;
static bool is_forked;

static void *stay_until_forked(void *data)
{
	enter(data);
	w_store_release(of_another, data);
	while (!w_load_acquire(is_forked))
		w_sleep_us(100);
	leave(data);
	return NULL;
}

static void leave_all(void *data)
{
	leave(data);
}

static int leave_in_child(void)
{
	char text[1024];

	t_capture_stderr(text, sizeof(text), leave_all, of_another);
	return text[0] != 0;
}

/*
 * The child tries to leave calls of a thread that does not exist there. The memory of that thread
 * was freed.
 */
static void child_cannot_leave_calls_of_another_thread(void)
{
	struct thread_calls *v = thread_calls_new(DEEP);
	pthread_t thread;

	t_first_call();
	is_forked = false;
	of_another = NULL;
	CHECK_OK(pthread_create(&thread, NULL, stay_until_forked, v));
	while (!w_load_acquire(of_another))
		w_sleep_us(100);
	t_in_child(leave_in_child);
	w_store_release(is_forked, true);
	pthread_join(thread, NULL);
	CHECK_OK(v->error);
	t_free(v);
}

T_SUITE_WITH(thread_exit, open_exits,
	T(destructor_leaves_calls),
	T(destructor_calls_without_a_record),
	T(last_destructor_round_leaves_calls),
	T(destructors_call_before_a_fork),
	T(child_cannot_leave_calls_of_another_thread),
	T(thread_ends_inside_calls),
	T(first_call_ends_with_its_thread),
	T(call_is_left_after_longjmp),
	T(call_cannot_be_left_on_another_thread),
	T(call_cannot_be_left_twice));
