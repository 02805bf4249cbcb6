// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests programs that use liburcu themselves, grace periods that take long, and fork() during a
 * grace period. Userspace only.
 */
#include "grace_periods.h"
#include "test.h"

#include "../world.h"
#include "core/base/world.h"

#include <sys/wait.h>
#include <unistd.h>
#include <urcu-bp.h>

DK_OP(peek, "liburcu::peek", (struct dk_obj *x), (x), (x));

static int peek_here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static const struct dk_impl impls[] = { DK_IMPL_ATOMIC(peek, DK_CPU, peek_here) };

static struct dk_provider reader;

static void open_reader(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&reader, "reader");
	CHECK_OK(dk_op_define(&reader, &peek_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&reader, impls, 1, &t_why));
}

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

static void calls_of_liburcu_readers_are_counted(void)
{
	struct dk_stats s = { .size = sizeof(s) };
	struct dk_stat count = { .size = sizeof(count) };
	pthread_t thread;
	int err = 0;

	peek_handle = t_get("liburcu::peek");
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(pthread_create(&thread, NULL, call_as_a_reader_of_liburcu, &err));
	pthread_join(thread, NULL);
	CHECK_OK(err);
	CHECK_OK(dk_op_stat(peek_handle, 0, &count));
	CHECK_INT(count.count, 10);
	CHECK_OK(dk_stats_get(t_reg, &s));
	CHECK_INT(s.uncounted, 0);
	CHECK_OK(dk_stats_disable(t_reg, &t_why));
}

static u32 is_inside, may_return;

static void *read_and_stay(void *data)
{
	urcu_bp_register_thread();
	urcu_bp_read_lock();
	w_store_release(is_inside, 1);
	while (!w_load_acquire(may_return))
		sched_yield();
	urcu_bp_read_unlock();
	return NULL;
}

/* A read-side critical section of the program prolongs a grace period, but not a deadline. */
static void deadline_ends_during_a_read_section(void)
{
	pthread_t thread;

	is_inside = 0;
	may_return = 0;
	CHECK_OK(pthread_create(&thread, NULL, read_and_stay, NULL));
	while (!w_load_acquire(is_inside))
		sched_yield();
	/* refuses: dk_provider_unregister_timeout ETIMEDOUT GRACE */
	CHECK_INT(dk_provider_unregister_timeout(&reader, 20, &t_why), -ETIMEDOUT);
	CHECK_INT(t_why.reason, DK_WHY_GRACE);
	CHECK_STR(t_why.name, "reader");
	CHECK_INT(t_num_inside(&reader), 0);
	w_store_release(may_return, 1);
	pthread_join(thread, NULL);
	CHECK_OK(dk_provider_unregister(&reader));
	CHECK(!reader.core);
	CHECK_OK(dk_provider_register(&reader, &t_why));
}

/*
 * Inside a read-side critical section, unregistering is refused: a grace period would wait for the
 * caller's own section.
 */
static void read_section_cannot_unregister(void)
{
	urcu_bp_read_lock();
	/* refuses: dk_provider_unregister_timeout EDEADLK ATOMIC */
	CHECK_INT(dk_provider_unregister_timeout(&reader, 0, &t_why), -EDEADLK);
	CHECK_INT(t_why.reason, DK_WHY_ATOMIC);
	urcu_bp_read_unlock();
	CHECK_OK(dk_provider_unregister(&reader));
	CHECK_OK(dk_provider_register(&reader, &t_why));
}

static int unregister_in_child(void)
{
	alarm(20);
	if (dk_provider_unregister_timeout(&reader, 20, NULL) != -ETIMEDOUT)
		return 1;
	w_store_release(hold_grace_periods, false);
	return dk_provider_unregister_timeout(&reader, 10000, NULL) || reader.core;
}

/* The thread that waits for the grace period does not exist in the child. Deadlines hold there. */
static void fork_in_a_grace_period(void)
{
	int status = -1;
	pid_t pid;

#ifdef DKC_TSAN
	t_skip("ThreadSanitizer starts no thread in a child of fork()");
	return;
#endif
	w_store_release(hold_grace_periods, true);
	CHECK_INT(dk_provider_unregister_timeout(&reader, 1, &t_why), -ETIMEDOUT);
	CHECK_INT(t_why.reason, DK_WHY_GRACE);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(unregister_in_child());
	if (CHECK(pid > 0)) {
		waitpid(pid, &status, 0);
		CHECK_INT(status, 0);
	}
	w_store_release(hold_grace_periods, false);
	CHECK_OK(dk_provider_unregister(&reader));
	CHECK_OK(dk_provider_register(&reader, &t_why));
}

T_SUITE_WITH(liburcu, open_reader,
	T(calls_of_liburcu_readers_are_counted),
	T(deadline_ends_during_a_read_section),
	T(read_section_cannot_unregister),
	T(fork_in_a_grace_period));
