// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls fork() while threads make their first call and end. In each child, a new thread makes
 * its first call. liburcu's locks are held for longer than usual, so that one of them is often
 * held during fork().
 */
#include <dispatchkey.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FORKS	50
#define FORKS_OF_COPIES	12	/* each takes half a second */

/* Replaces glibc's function for liburcu-bp, too, because the program is linked with -rdynamic. */
int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*unlock)(pthread_mutex_t *mutex);
	const struct timespec pause = { 0, 200000 };
	Dl_info from;

	if (!unlock)
		*(void **)&unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	if (dladdr(__builtin_return_address(0), &from) && strstr(from.dli_fname, "urcu"))
		nanosleep(&pause, NULL);
	return unlock(mutex);
}

DK_OP(forks, "forks::op", (struct dk_obj *x), (x), (x));

static int forks_here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static const struct dk_impl impls[] = { DK_IMPL(forks, DK_CPU, forks_here) };
static struct dk_provider provider = DK_PROVIDER("forks");
static int stop;

static void *first_call(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	long err = forks(&x);

	return (void *)err;
}

/* Registers and unregisters a provider, but makes no call. */
static void *registers(void *data)
{
	struct dk_provider p = DK_PROVIDER("visitor");
	long err = dk_provider_register(&p, NULL) ?: dk_provider_unregister(&p);

	return (void *)err;
}

static void *first_uses(void *use)
{
	pthread_t thread;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		if (!pthread_create(&thread, NULL, *(void *(**)(void *))use, NULL))
			pthread_join(thread, NULL);
	return NULL;
}

static bool alarm_is_blocked(void)
{
	sigset_t mask;

	return pthread_sigmask(SIG_BLOCK, NULL, &mask) || sigismember(&mask, SIGALRM);
}

static int in_child(void)
{
	pthread_t thread;
	void *err = NULL;

	if (alarm_is_blocked())
		return 3;
	alarm(10);
	if (pthread_create(&thread, NULL, first_call, NULL) || pthread_join(thread, &err))
		return 1;
	return err ? 2 : 0;
}

/* forks [PLUGIN] - PLUGIN is loaded first, and contains a copy of the library. */
int main(int argc, char **argv)
{
	static void *(*uses[])(void *) = { first_call, first_call, registers };
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	pthread_t threads[3];
	int i, status = 0, num = argc > 1 ? FORKS_OF_COPIES : FORKS;
	pid_t pid;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 1 && !dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND))
		return 1;
	printf("begin: %d\n", dk_provider_register(&provider, NULL) ?:
	       dk_op_define(&provider, &forks_op, 0, NULL) ?:
	       dk_impls_register(&provider, impls, 1, NULL) ?: forks(&x));
	for (i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, first_uses, &uses[i]))
			return 1;
	for (i = 0; i < num && !status; i++) {
		pid = fork();
		if (!pid)
			_exit(in_child());
		if (alarm_is_blocked())
			return 2;
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	if (status)
		printf("child %d: %s %d\n", i, WIFSIGNALED(status) ? "signal" : "error",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	printf("end: %d\n", dk_provider_unregister(&provider));
	return 0;
}
