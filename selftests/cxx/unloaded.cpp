// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin and its host: dlclose() unmaps the plugin and unregisters its functions. -DPLUGIN
 * builds the plugin; with -DLEAKS, the plugin does not unregister.
 */
#include <dispatchkey.hpp>

#include <cstdio>
#include <dlfcn.h>

struct tensor { dk_obj dk; };

static dk::op<int(tensor &, int &)> op{ "unloaded::op" };

#ifdef PLUGIN

static int serves(tensor &, int &served_by)
{
	served_by = 1;
	return 0;
}

#ifdef LEAKS
__attribute__((constructor)) static void begin()
{
	new dk::registration(op.impl<serves>(DK_CPU));
}
#else
static dk::registration mine = op.impl<serves>(DK_CPU);
#endif

#else

static bool is_mapped(const char *file)
{
	void *plugin = dlopen(file, RTLD_NOW | RTLD_NOLOAD);

	if (plugin)
		dlclose(plugin);
	return plugin;
}

int main(int, char **argv)
{
	dk::registration defined = op.define();
	tensor t{ dk_obj_on(DK_BACKEND_CPU, 0) };
	void *plugin;
	int served_by = 0;

	for (int i = 0; i < 2; i++) {
		plugin = dlopen(argv[1], RTLD_NOW);
		if (!plugin || op(t, served_by) || served_by != 1)
			return std::fprintf(stderr, "the plugin does not serve\n"), 1;
		dlclose(plugin);
		if (is_mapped(argv[1]))
			return std::fprintf(stderr, "the plugin is still mapped\n"), 1;
		if (op(t, served_by) != -ENOSYS)
			return std::fprintf(stderr, "a call finds a function\n"), 1;
	}
	return 0;
}

#endif
