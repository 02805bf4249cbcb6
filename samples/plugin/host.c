// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * host: calls an operator repeatedly while it loads and unloads a plugin, which has a
 * function of the operator for a backend. No call is lost: without the plugin, the CPU
 * function serves.
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

static int scale_cpu(struct dk_call *c, struct vec *v, double factor, enum function *by)
{
	v->x *= factor;
	v->y *= factor;
	*by = BY_CPU;
	return 0;
}

/* At this alias key the function serves every backend without a function of its own. */
static const struct dk_impl impls[] = {
	DK_IMPL(toy_scale, DK_COMPOSITE_EXPLICIT_AUTOGRAD, scale_cpu),
};

static struct dk_provider host = DK_PROVIDER("host");
static unsigned int backend;
static atomic_ulong served[NUM_FUNCTIONS], failed;
static atomic_bool stop;

static void *caller(void *unused)
{
	struct vec v = { dk_obj_on(backend, 0), 1, 2 };
	enum function by;

	while (!atomic_load(&stop)) {
		if (toy_scale(&v, -1, &by))
			atomic_fetch_add(&failed, 1);
		else
			atomic_fetch_add(&served[by], 1);
	}
	return NULL;
}

/* Wait for a call to function @by, at most some seconds, then count the calls of 50 ms. */
static void report(const char *when, enum function by)
{
	unsigned long before[NUM_FUNCTIONS], now[NUM_FUNCTIONS];
	int i;

	before[by] = atomic_load(&served[by]);
	for (i = 0; i < 30000 && atomic_load(&served[by]) == before[by] &&
	     !atomic_load(&failed); i++)
		usleep(100);
	for (i = 0; i < NUM_FUNCTIONS; i++)
		before[i] = atomic_load(&served[i]);
	usleep(50000);
	for (i = 0; i < NUM_FUNCTIONS; i++)
		now[i] = atomic_load(&served[i]) - before[i];

	printf("%-20s CPU %8lu calls, plugin %8lu, failed %lu\n", when,
	       now[BY_CPU], now[BY_TOY], atomic_load(&failed));
	if (atomic_load(&failed) || now[!by])
		errx(1, "a call failed or ran the wrong function");
}

static void *load(const char *path)
{
	struct dk_diag why = { .text = "missing plugin_begin()" };
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
		errx(1, "the plugin cannot be unloaded");
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
		errx(1, "cannot create a thread");

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
