// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes calls of every kind between two marks, for test_stores.sh, which traces all stores. Two
 * threads make these calls, one after the other. Each first prints which memory belongs to it:
 *
 *	mark begin|end ADDRESS		stored to before and after the calls
 *	own THREAD stack|record|reader FIRST END
 *	kind THREAD NAME		a kind of calls, in the order in which they are made
 *
 * Arguments: with "stats" the library counts the calls. With "shared" the functions count in
 * memory that is shared by both threads. With "line" each thread counts in its own word, and
 * the two words are in one cache line.
 */
#define _LGPL_SOURCE	/* declares liburcu's reader of a thread */

#include <dispatchkey.h>
#include <err.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <urcu-bp.h>

#define CALLS		20

DK_OP(calm, "stores::calm", (struct dk_obj *x), (x), (x));
DK_OP(swift, "stores::swift", (struct dk_obj *x), (x), (x));

static int count_all;
static __attribute__((aligned(64))) int count_own[2];
static __thread int *counter;

static int here(struct dk_call *c, struct dk_obj *x)
{
	if (counter)
		++*counter;
	return 0;
}

static int behind_calm(struct dk_call *c, struct dk_obj *x)
{
	return calm_below(c, x);
}

static int behind_swift(struct dk_call *c, struct dk_obj *x)
{
	return swift_below(c, x);
}

static int boxed(struct dk_call *c, void *args)
{
	return here(c, NULL);
}

static const struct dk_impl impls[] = {
	DK_IMPL(calm, DK_CPU, here),
	DK_IMPL(calm, DK_AUTOGRAD_CPU, behind_calm),
	DK_IMPL_FALLTHROUGH(calm, DK_TRACER),
	DK_IMPL_BOXED(calm, DK_XPU, boxed),
	DK_IMPL_ATOMIC(swift, DK_CPU, here),
	DK_IMPL_ATOMIC(swift, DK_AUTOGRAD_CPU, behind_swift),
};

static const struct dk_impl card_impls[] = {
	DK_IMPL(calm, DK_DENSE, here),
	DK_IMPL_ATOMIC(swift, DK_DENSE, here),
};

/* The default registry, and one in which the rules route every call, without tables. */
static struct side {
	struct dk_registry *reg;
	struct dk_provider me;
	struct dk_op *calm, *swift;
	unsigned int backend;
	__u32 card;
} tables = { .me = DK_PROVIDER("stores") }, rules = { .me = DK_PROVIDER("stores") };
static int begin, end;

static struct dk_obj with(unsigned int key)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	x.ks.bits |= DK_KEY_BITS(key);
	return x;
}

#define REPEAT(call, expected)						\
	do {								\
		for (int i = 0; i < CALLS; i++)				\
			if ((call) != (expected))			\
				abort();				\
	} while (0)

/* DO(name, object, what) */
#define KINDS(DO)							\
	DO(sleepable, dk_obj_on(DK_BACKEND_CPU, 0), REPEAT(calm(&x), 0)) \
	DO(atomic, dk_obj_on(DK_BACKEND_CPU, 0), REPEAT(swift(&x), 0))	\
	DO(by_handle, dk_obj_on(DK_BACKEND_CPU, 0),			\
	   REPEAT(calm_at(tables.calm, &dk_local_default, &x), 0))	\
	DO(atomic_by_handle, dk_obj_on(DK_BACKEND_CPU, 0),		\
	   REPEAT(swift_at(tables.swift, &dk_local_default, &x), 0))	\
	DO(of_a_device, dk_obj_on(tables.backend, tables.card), REPEAT(calm(&x), 0))	\
	DO(atomic_of_a_device, dk_obj_on(tables.backend, tables.card), REPEAT(swift(&x), 0)) \
	DO(redispatched, with(DK_AUTOGRAD_CPU), REPEAT(calm(&x), 0))	\
	DO(atomic_redispatched, with(DK_AUTOGRAD_CPU), REPEAT(swift(&x), 0)) \
	DO(through_a_fallthrough, with(DK_TRACER), REPEAT(calm(&x), 0))	\
	DO(missing, dk_obj_on(DK_BACKEND_CUDA, 0), REPEAT(calm(&x), -ENOSYS)) \
	DO(atomic_missing, dk_obj_on(DK_BACKEND_CUDA, 0), REPEAT(swift(&x), -ENOSYS)) \
	DO(of_a_boxed_function, dk_obj_on(DK_BACKEND_XPU, 0), REPEAT(calm(&x), 0)) \
	DO(from_boxed_arguments, dk_obj_on(DK_BACKEND_CPU, 0), REPEAT(	\
	   dk_call_boxed(tables.calm, &calm_op, &dk_local_default,	\
			 &(struct calm_args){ &x }), 0))		\
	DO(under_a_guard, dk_obj_on(DK_BACKEND_CPU, 0), REPEAT(guarded(&x), 0)) \
	DO(of_a_key, with(DK_AUTOGRAD_CPU), REPEAT(			\
	   calm_for_key(tables.calm, &dk_local_default, DK_CPU, &x), 0))	\
	DO(atomic_of_a_key, with(DK_AUTOGRAD_CPU), REPEAT(		\
	   swift_for_key(tables.swift, &dk_local_default, DK_CPU, &x), 0)) \
	DO(in_batches, dk_obj_on(DK_BACKEND_CPU, 0), REPEAT(batches(&tables, &x), 0)) \
	DO(by_rules, dk_obj_on(DK_BACKEND_CPU, 0), REPEAT(		\
	   calm_at(rules.calm, &dk_local_default, &x), 0))		\
	DO(atomic_by_rules, dk_obj_on(DK_BACKEND_CPU, 0), REPEAT(	\
	   swift_at(rules.swift, &dk_local_default, &x), 0))		\
	DO(by_rules_of_a_device, dk_obj_on(rules.backend, rules.card), REPEAT( \
	   calm_at(rules.calm, &dk_local_default, &x), 0))		\
	DO(by_rules_redispatched, with(DK_AUTOGRAD_CPU), REPEAT(	\
	   calm_at(rules.calm, &dk_local_default, &x), 0))		\
	DO(by_rules_missing, dk_obj_on(DK_BACKEND_CUDA, 0), REPEAT(	\
	   calm_at(rules.calm, &dk_local_default, &x), -ENOSYS))	\
	DO(by_rules_of_a_key, with(DK_AUTOGRAD_CPU), REPEAT(		\
	   calm_for_key(rules.calm, &dk_local_default, DK_CPU, &x), 0))	\
	DO(by_rules_in_batches, dk_obj_on(DK_BACKEND_CPU, 0), REPEAT(batches(&rules, &x), 0))

static int guarded(struct dk_obj *x)
{
	DK_INCLUDE(DK_SET(DK_TRACER));

	return calm(x);
}

#define BATCH	4

static int run_batch(struct dk_frame *c, struct dk_obj *x)
{
	int err = 0, i;

	for (i = 0; i < BATCH && !err; i++)
		err = calm_run(c, x);
	dk_call_leave(c);
	return err;
}

/* Makes a batch of calls of each operator. */
static int batches(const struct side *side, struct dk_obj *x)
{
	const struct dk_obj *objs[] = { x };
	struct dk_frame c;
	int err;

	err = dk_call_enter_op(&c, side->calm, &calm_op, &dk_local_default, objs, 1);
	err = err ? err : run_batch(&c, x);
	if (err)
		return err;
	err = dk_call_enter_op(&c, side->swift, &swift_op, &dk_local_default, objs, 1);
	return err ? err : run_batch(&c, x);
}

#define MARK(what)	__atomic_store_n(&(what), 1, __ATOMIC_SEQ_CST)

#define MAKE(name, object, what)					\
	static __attribute__((noinline)) void name(void)		\
	{								\
		struct dk_obj x = object;				\
									\
		MARK(begin);						\
		what;							\
		MARK(end);						\
	}
KINDS(MAKE)

/* ---- the memory of a thread --------------------------------------------------- */

#define MOST	16

static __thread struct {
	void *p;
	size_t size;
} taken[MOST];
static __thread unsigned int num_taken;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

/* Notes a thread's allocations, which include the library's record and counters of the thread. */
void *__wrap_calloc(size_t n, size_t size)
{
	void *p = __real_calloc(n, size);

	if (num_taken < MOST) {
		taken[num_taken].p = p;
		taken[num_taken++].size = n * size;
	}
	return p;
}

static void own(long thread, const char *what, const void *p, size_t size)
{
	printf("own %ld %s %lx %lx\n", thread, what, (unsigned long)p,
	       (unsigned long)p + size);
}

static void tell(long thread)
{
	struct urcu_bp_reader *reader = URCU_TLS(urcu_bp_reader);
	pthread_attr_t attr;
	unsigned int i;
	size_t size;
	void *stack;

	if (!num_taken || num_taken == MOST || !reader ||
	    pthread_getattr_np(pthread_self(), &attr) ||
	    pthread_attr_getstack(&attr, &stack, &size))
		errx(1, "the thread's memory cannot be determined");
	pthread_attr_destroy(&attr);
	/* glibc has the thread's static TLS at the end of its stack */
	if ((char *)&taken < (char *)stack || (char *)&taken >= (char *)stack + size)
		errx(1, "the thread's TLS is not where its stack is");
	own(thread, "stack", stack, size);
	for (i = 0; i < num_taken; i++)
		own(thread, "record", taken[i].p, taken[i].size);
	own(thread, "reader", reader, sizeof(*reader));
	if (counter == &count_own[thread])
		own(thread, "stack", counter, sizeof(*counter));
#define TELL(name, object, what) printf("kind %ld " #name "\n", thread);
	KINDS(TELL)
}

static const char *fault = "";
static sem_t second_exists;

/*
 * Makes the calls of a thread when the previous thread has ended, so that no other thread stores
 * meanwhile. The second thread allocates its memory before the first thread ends and frees its own,
 * so that the two do not get the same addresses.
 */
static void call_after(long thread, pthread_t before)
{
	if (dk_thread_init())
		errx(1, "no memory");
	if (!strcmp(fault, "shared"))
		counter = &count_all;
	else if (!strcmp(fault, "line"))
		counter = &count_own[thread];
	tell(thread);
	if (thread == 1)
		sem_post(&second_exists);
	if (pthread_join(before, NULL))
		errx(1, "the thread before cannot be joined");
#define CALL(name, object, what) name();
	KINDS(CALL)
}

static void *second(void *before)
{
	call_after(1, *(pthread_t *)before);
	puts("done");
	return NULL;
}

static void *first(void *before)
{
	pthread_t self = pthread_self(), next;

	call_after(0, *(pthread_t *)before);
	if (pthread_create(&next, NULL, second, &self))
		errx(1, "no thread");
	sem_wait(&second_exists);
	return NULL;
}

static void set_up(struct side *side)
{
	struct dk_diag why = { .size = sizeof(why) };
	struct dk_provider *me = &side->me;

	me->registry = side->reg;
	if (dk_provider_register(me, &why) ||
	    dk_op_define(me, &calm_op, 0, &why) ||
	    dk_op_define(me, &swift_op, DK_OP_ATOMIC, &why) ||
	    dk_impls_register(me, impls, sizeof(impls) / sizeof(impls[0]), &why) ||
	    dk_backend_join(me, "stores", 0, 0, &side->backend, &why) ||
	    dk_device_register(me, side->backend, "card", NULL, card_impls, 2, &side->card,
			       &why))
		errx(1, "%s", why.text);
	side->calm = dk_op_get(side->reg, "stores::calm");
	side->swift = dk_op_get(side->reg, "stores::swift");
}

static void set_up_both(void)
{
	struct dk_diag why = { .size = sizeof(why) };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	rules.reg = dk_registry_alloc(dk_registry_layout(NULL),
				      DK_REGISTRY_BUILTINS | DK_REGISTRY_FORCE_RESOLVE, &why);
	if (!rules.reg)
		errx(1, "%s", why.text);
	set_up(&rules);
	set_up(&tables);
	/*
	 * The first call by name in a process looks up the operator, and stores it in the
	 * declaration. The first call by a handle of another registry stores in the declaration
	 * that the operator's type matches.
	 */
	if (calm(&x) || swift(&x) || calm_at(rules.calm, &dk_local_default, &x) ||
	    swift_at(rules.swift, &dk_local_default, &x))
		errx(1, "the first call fails");
}

int main(int argc, char **argv)
{
	static pthread_t initial;
	pthread_t next;

	fault = argc > 1 ? argv[1] : "";
	if (fault[0] && strcmp(fault, "stats") && strcmp(fault, "shared") && strcmp(fault, "line"))
		errx(1, "unknown word: %s", fault);
	set_up_both();
	if (!strcmp(fault, "stats") &&
	    (dk_stats_enable(NULL, NULL) || dk_stats_enable(rules.reg, NULL)))
		errx(1, "no counters");
	printf("mark begin %lx\nmark end %lx\n", (unsigned long)&begin, (unsigned long)&end);
	sem_init(&second_exists, 0, 0);
	initial = pthread_self();
	if (pthread_create(&next, NULL, first, &initial))
		errx(1, "no thread");
	pthread_exit(NULL);
}
