// SPDX-License-Identifier: GPL-2.0-only
/*
 * A host, and with -DPLUGIN a plugin that it opens with RTLD_DEEPBIND. The host has a copy of the
 * library's data objects (a copy relocation), and the plugin uses the library's own. The first
 * call of the thread is made in the plugin.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "plugin.h"

static int call(int *number)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	return work(&x, number);
}

#ifdef PLUGIN
struct plugin plugin = { .call = call };
#else
int main(int argc, char **argv)
{
	void *opened = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
	struct plugin *plugin = opened ? dlsym(opened, "plugin") : NULL;
	int number;

	if (!plugin) {
		printf("%s\n", dlerror());
		return 1;
	}
	printf("plugin: %d\n", plugin->call(&number));
	printf("host: %d\n", call(&number));
	return 0;
}
#endif
