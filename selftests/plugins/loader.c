// SPDX-License-Identifier: GPL-2.0-only
/*
 * loader PLUGIN LIBRARY...: a program that is not linked with dispatchkey. It starts a thread,
 * loads libraries that use much of the static thread-local storage, and then loads a plugin that
 * is linked with dispatchkey.
 */
#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#define WITHOUT_OPERATORS
#include "plugin.h"

static struct plugin *face;
static sem_t loaded;

static void *load(const char *path, const char *name)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;

	if (!handle)
		errx(1, "%s", dlerror());
	symbol = dlsym(handle, name);
	if (!symbol)
		errx(1, "%s", dlerror());
	return symbol;
}

/* If membarrier() is available, the second call takes the fast path. */
static void call(const char *where)
{
	int number = 0, round;

	for (round = 0; round < 2; round++) {
		int err = face->call(&number);

		printf("%s: %d by %d%s\n", where, err, number,
		       round && face->framed ? ", on the slow path" : "");
	}
}

static void *call_when_loaded(void *unused)
{
	sem_wait(&loaded);
	call("thread");
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int i;

	if (argc < 2)
		errx(2, "loader PLUGIN LIBRARY...");
	sem_init(&loaded, 0, 0);
	if (pthread_create(&thread, NULL, call_when_loaded, NULL))
		errx(1, "no thread");
	for (i = 2; i < argc; i++)
		((void (*)(void))load(argv[i], "use_storage"))();
	face = load(argv[1], "plugin");
	printf("begin: %d\n", face->begin(1, 0));
	call("main");
	sem_post(&loaded);
	pthread_join(thread, NULL);
	printf("end: %d\n", face->end());
	return 0;
}
