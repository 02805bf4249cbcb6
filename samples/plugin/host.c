// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * host: calls an operator all the time, while a plugin that serves its backend
 * is loaded and unloaded. No call is lost: without the plugin the CPU serves.
 *
 *	host [PLUGIN.so]
 */
#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ops.h"

static int scale_cpu(struct dk_call *c, struct vec *v, double by, enum who *who)
{
	v->x *= by;
	v->y *= by;
	*who = BY_CPU;
	return 0;
}

/* At this alias key it serves every backend that has no function of its own. */
static const struct dk_impl impls[] = {
	DK_IMPL(toy_scale, DK_COMPOSITE_EXPLICIT_AUTOGRAD, scale_cpu),
};

static struct dk_provider host = DK_PROVIDER("host");
static unsigned int backend;
static atomic_ulong served[NUM_WHO], failed;
static atomic_bool stop;

static void *caller(void *unused)
{
	struct vec v = { dk_obj_on(backend, 0), 1, 2 };
	enum who who;

	while (!atomic_load(&stop)) {
		if (toy_scale(&v, -1, &who))
			atomic_fetch_add(&failed, 1);
		else
			atomic_fetch_add(&served[who], 1);
	}
	return NULL;
}

/* Waits for a call served by @who, and sees who serves those behind it. */
static void report(const char *when, enum who who)
{
	unsigned long before[NUM_WHO], now[NUM_WHO];
	int i;

	before[who] = atomic_load(&served[who]);
	while (atomic_load(&served[who]) == before[who] && !atomic_load(&failed))
		usleep(100);
	for (i = 0; i < NUM_WHO; i++)
		before[i] = atomic_load(&served[i]);
	usleep(50000);
	for (i = 0; i < NUM_WHO; i++)
		now[i] = atomic_load(&served[i]) - before[i];

	printf("%-20s CPU %8lu calls, plugin %8lu, failed %lu\n", when,
	       now[BY_CPU], now[BY_TOY], atomic_load(&failed));
	if (atomic_load(&failed) || now[!who])
		errx(1, "a call went wrong");
}

static void *load(const char *path)
{
	struct dk_diag why = { .text = "it has no plugin_begin()" };
	int (*begin)(struct dk_diag *why);
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!plugin)
		errx(1, "%s", dlerror());
	*(void **)&begin = dlsym(plugin, "plugin_begin");
	if (!begin || begin(&why))
		errx(1, "%s: %s", path, why.text);
	return plugin;
}

static void unload(void *plugin)
{
	int (*end)(void);

	*(void **)&end = dlsym(plugin, "plugin_end");
	if (!end || end() || dlclose(plugin))
		errx(1, "the plugin does not leave");
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	struct dk_diag why = { .size = sizeof(why) };
	char path[4096];
	pthread_t thread;
	void *plugin;
	int i;

	snprintf(path, sizeof(path), "%.*s/plugin.so",
		 slash ? (int)(slash - argv[0]) : 1, slash ? argv[0] : ".");
	if (argc > 1)
		snprintf(path, sizeof(path), "%s", argv[1]);

	if (dk_provider_register(&host, &why) ||
	    dk_op_define(&host, &toy_scale_op, 0, &why) ||
	    dk_backend_join(&host, TOY_BACKEND, 0, 0, &backend, &why) ||
	    dk_impls_register(&host, impls, 1, &why))
		errx(1, "%s", why.text);
	if (pthread_create(&thread, NULL, caller, NULL))
		errx(1, "no thread");

	report("before the plugin:", BY_CPU);
	for (i = 0; i < 2; i++) {
		plugin = load(path);
		report("with the plugin:", BY_TOY);
		unload(plugin);
		report("after its dlclose():", BY_CPU);
	}

	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return dk_provider_unregister(&host);
}
