// SPDX-License-Identifier: GPL-2.0-only
/*
 * closing WHAT PLUGIN...: closes a plugin that does not unregister, while something else goes on.
 * Prints the results; test_plugins.sh compares them with the expected output.
 */
#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin.h"

static struct dk_provider host = DK_PROVIDER("host");
static struct dk_diag why = { .size = sizeof(why) };
static atomic_int arrived, may_return, returned;
static struct plugin *face;
static void *handle;

static void report(const char *what, int value)
{
	dprintf(STDOUT_FILENO, "%s: %d\n", what, value);
}

static void must(int err)
{
	if (err)
		errx(1, "error %d, %s: %s", err, why.text, why.name);
}

static pthread_t start(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		errx(1, "no thread");
	return thread;
}

static void await(atomic_int *flag)
{
	while (!atomic_load(flag))
		usleep(1000);
}

/* Lets the other thread return while dlclose() waits for it. */
static void *let_return(void *unused)
{
	usleep(100000);
	atomic_store(&may_return, 1);
	return NULL;
}

static int stay(void *unused)
{
	atomic_store(&arrived, 1);
	await(&may_return);
	atomic_store(&returned, 1);
	return 0;
}

static void *call_inside(void *unused)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CUDA, 0);

	inside(&x, stay, NULL);
	return NULL;
}

/* The plugin's array was registered by the host, and is withdrawn while a call is running. */
static void close_with_array(int times_out)
{
	pthread_t threads[2];

	must(face->begin(1, 0));
	must(dk_impls_register(&host, face->array, 1, &why));
	threads[0] = start(call_inside);
	await(&arrived);
	if (times_out)
		report("unregister", dk_provider_unregister_timeout(&host, 10, &why));
	else
		must(dk_impls_withdraw(&host, face->array, &why));
	threads[1] = start(let_return);
	dlclose(handle);
	report("returned", atomic_load(&returned));
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	report("unregister", dk_provider_unregister(&host));
}

static struct dk_listener listener = { .size = sizeof(listener) };

static void stay_in_listener(void)
{
	stay(NULL);
}

static void *define(void *unused)
{
	must(dk_op_define(&host, &news_op, 0, &why));
	return NULL;
}

static void *unregister_listener(void *unused)
{
	must(dk_listener_unregister(&listener));
	return NULL;
}

/* The host unregisters a listener while its function, which is in the plugin, is running. */
static void close_with_listener(void)
{
	pthread_t threads[3];

	must(face->begin(1, 0));
	listener.notify = face->notify;
	must(dk_listener_register(&listener, &why));
	face->on_event = stay_in_listener;
	threads[0] = start(define);
	await(&arrived);
	threads[1] = start(unregister_listener);
	/* the lowest bit means that the listener is registered */
	while (__atomic_load_n(&listener.inside, __ATOMIC_ACQUIRE) & 1)
		usleep(1000);
	threads[2] = start(let_return);
	dlclose(handle);
	report("returned", atomic_load(&returned));
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	pthread_join(threads[2], NULL);
}

static struct dk_registry *own;
static pid_t child = -1;

static void fork_once(struct dk_listener *l, const struct dk_event *event)
{
	if (event->kind == DK_EVENT_UNDEFINED && child == -1)
		child = fork();
}

/* dlclose() undefines an operator. The host's listener forks when it gets this event. */
static void close_and_fork(void)
{
	int status = -1;

	own = dk_registry_alloc(NULL, 0, &why);
	listener.registry = own;
	listener.notify = fork_once;
	must(dk_listener_register(&listener, &why));
	must(face->define_in(own));
	dlclose(handle);
	if (child)
		waitpid(child, &status, 0);
	must(dk_listener_unregister(&listener));
	report(child ? "parent: free" : "child: free", dk_registry_free(own, &why));
	if (!child)
		_exit(0);
	report("status", status);
}

static int close_inside(struct dk_call *c, struct dk_obj *x, int *number)
{
	must(dk_impls_withdraw(&host, face->array, &why));
	dlclose(handle);
	*number = HOST;
	return 0;
}

/* A function of the host closes the plugin: the host is also the provider of the plugin's array. */
static void close_from_host(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(work, DK_CUDA, close_inside) };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CUDA, 0);
	int number = 0;

	must(face->begin(1, 0));
	must(dk_impls_register(&host, impls, 1, &why));
	must(dk_impls_register(&host, face->array, 1, &why));
	report("call", work(&x, &number));
	x = dk_obj_on(DK_BACKEND_CPU, 0);
	report("call", work(&x, &number));
}

static void *close_it(void *unused)
{
	pthread_cancel(pthread_self());
	dlclose(handle);
	atomic_store(&returned, 1);
	return NULL;
}

/* A cancelled thread must not leave while it holds the dynamic linker's lock. */
static void close_and_cancel(const char *path)
{
	must(face->begin(1, 0));
	pthread_join(start(close_it), NULL);
	report("returned", atomic_load(&returned));
	report("unregister", dk_provider_unregister(&host));
	report("opens again", !!dlopen(path, RTLD_NOW));
}

static void close_now(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int number = 0;

	dlclose(handle);
	report("call", work(&x, &number));
}

static struct plugin *load(const char *path, void **opened)
{
	struct plugin *p;

	*opened = dlopen(path, RTLD_NOW);
	p = *opened ? dlsym(*opened, "plugin") : NULL;
	if (!p)
		errx(1, "%s", dlerror());
	return p;
}

/* The other plugin is loaded later, so exit() cleans it up before the first one is closed. */
static void close_at_exit(const char *other)
{
	struct plugin *later;
	void *stays_open;

	must(face->begin(1, 0));
	must(atexit(close_now));
	later = load(other, &stays_open);
	must(later->begin(2, 0));
	must(later->end());
}

int main(int argc, char **argv)
{
	const char *what = argv[1];

	if (argc < 3)
		errx(2, "closing WHAT PLUGIN...");
	must(dk_provider_register(&host, &why));
	must(dk_op_define(&host, &inside_op, 0, &why));
	must(dk_op_define(&host, &work_op, 0, &why));
	face = load(argv[2], &handle);
	face->stays_registered = true;
	if (!strcmp(what, "array"))
		close_with_array(0);
	else if (!strcmp(what, "array after a timeout"))
		close_with_array(1);
	else if (!strcmp(what, "listener"))
		close_with_listener();
	else if (!strcmp(what, "fork"))
		close_and_fork();
	else if (!strcmp(what, "host"))
		close_from_host();
	else if (!strcmp(what, "cancel"))
		close_and_cancel(argv[2]);
	else if (!strcmp(what, "exit") && argc > 3)
		close_at_exit(argv[3]);
	else
		errx(2, "closing WHAT PLUGIN...");
	return 0;
}
