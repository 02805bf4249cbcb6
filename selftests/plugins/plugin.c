// SPDX-License-Identifier: GPL-2.0-only
/*
 * plugin.so: does what the test requests, unregisters in its destructor, and reports the result
 * to the host.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin.h"

struct plugin plugin;

static int own_number;
static pthread_t thread;
static bool has_thread;
static atomic_int is_inside, rounds;

static int work_here(struct dk_call *c, struct dk_obj *x, int *number)
{
	*number = own_number;
	plugin.framed = dk_call_frame(c);
	return plugin.token ? dk_call_defer(c, plugin.token) : 0;
}

static int inside_here(struct dk_call *c, struct dk_obj *x, int (*what)(void *), void *arg)
{
	int err;

	atomic_fetch_add(&is_inside, 1);
	err = what(arg);
	atomic_fetch_sub(&is_inside, 1);
	return err;
}

static const struct dk_impl first[] = { DK_IMPL(work, DK_CPU, work_here) };
static const struct dk_impl second[] = { DK_IMPL(inside, DK_CPU, inside_here) };
static struct dk_impl third[] = { DK_IMPL(inside, DK_CUDA, inside_here) };

static struct dk_provider prov = DK_PROVIDER("plugin");

static int begin(int number, int half)
{
	int err = dk_provider_register(&prov, NULL);

	own_number = number;
	if (!err)
		err = dk_impls_register(&prov, first, 1, NULL);
	if (!err && half)
		return -EIO;
	return err ? err : dk_impls_register(&prov, second, 1, NULL);
}

static int end(void)
{
	return dk_provider_unregister(&prov);
}

static int call(int *number)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int err = work(&x, number);

	/* in another copy of the library than the host's, the operator is not defined */
	if (err != -ENOENT)
		return err;
	err = dk_op_define(&prov, &work_op, 0, NULL);
	return err ? err : work(&x, number);
}

static int fork_and_call(void)
{
	int status = -1, number = 0;
	pid_t child = fork();

	if (!child)
		_exit(call(&number) || number != own_number);
	return waitpid(child, &status, 0) == child ? status : -1;
}

static int stay_a_while(void *unused)
{
	usleep(20000);
	atomic_fetch_add(&rounds, 1);
	return 0;
}

/* Makes calls until the plugin's functions are unregistered. */
static void *all_the_time(void *unused)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	while (!inside(&x, stay_a_while, NULL))
		;
	return NULL;
}

static int own_thread(void)
{
	int err = pthread_create(&thread, NULL, all_the_time, NULL);

	has_thread = !err;
	while (!err && !atomic_load(&rounds))
		usleep(1000);
	while (!err && !atomic_load(&is_inside))
		;
	return err;
}

static void on_event(struct dk_listener *l, const struct dk_event *event)
{
	if (plugin.on_event)
		plugin.on_event();
}

static void before(struct dk_hooks *h, const struct dk_hook_info *info)
{
}

static int listen_here(void)
{
	static struct dk_listener listener = { .size = sizeof(listener), .notify = on_event };
	static struct dk_hooks hooks = { .size = sizeof(hooks), .before = before };
	int err = dk_listener_register(&listener, NULL);

	return err ? err : dk_hooks_register(NULL, &hooks, NULL);
}

static int begin_another(void)
{
	static struct dk_provider another = DK_PROVIDER("another");

	return dk_provider_register(&another, NULL);
}

static int define_in(struct dk_registry *reg)
{
	static struct dk_provider there = DK_PROVIDER("there");
	int err;

	there.registry = reg;
	err = dk_provider_register(&there, NULL);
	return err ? err : dk_op_define(&there, &work_op, 0, NULL);
}

struct plugin plugin = {
	.begin = begin, .end = end, .call = call, .own_thread = own_thread,
	.fork_and_call = fork_and_call, .listen = listen_here,
	.begin_another = begin_another, .notify = on_event, .array = third,
	.define_in = define_in,
};

__attribute__((destructor)) static void unload(void)
{
	int err = plugin.stays_registered ? 0 : end();

	if (!plugin.report || plugin.stays_registered)
		return;
	plugin.report("unregistering in the destructor", err);
	plugin.report("inside after that", atomic_load(&is_inside));
	if (has_thread)
		plugin.report("the thread ends", pthread_join(thread, NULL));
}
