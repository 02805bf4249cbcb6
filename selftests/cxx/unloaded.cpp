// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin and its host: dlclose() unmaps the plugin and unregisters its functions. -DPLUGIN
 * builds the plugin; with -DLEAKS, the plugin does not unregister, and with -DOLDER, static objects
 * unregister that are older than the plugin's first registration. The functions have external
 * linkage. The header's templates over such functions have static data, which must be hidden.
 * Otherwise g++ would make the data unique in the process, and dlclose() could not unmap the
 * plugin.
 */
#include <dispatchkey.hpp>

#include <cstdio>
#include <dlfcn.h>
#include <optional>
#include <vector>

struct tensor : dk_obj {};

static dk::op<int(tensor &, int &)> op{ "unloaded::op" };
DK_CXX_OP(shared, "unloaded::shared", (struct dk_obj *obj, int *served_by), dk::every);
using op_of_host = dk::op<int(tensor &)>;

#ifdef PLUGIN

int serves(tensor &, int &served_by)
{
	served_by = 1;
	return 0;
}

int serves_shared(struct dk_obj *, int *served_by)
{
	*served_by = 2;
	return 0;
}

int passes_on(dk_call *c, void *args)
{
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

/* makes the first call of an operator whose declaration the host has */
extern "C" int call(const op_of_host &op_there, tensor &t)
{
	return op_there(t);
}

#ifdef OLDER
static std::optional<dk::registration> mine, mine_too;

static std::vector<dk::registration> &others()
{
	static std::vector<dk::registration> all;

	return all;
}

static bool begin()
{
	others().push_back(dk::fallback<passes_on>(DK_TRACER));
	mine_too.emplace(shared.impl<serves_shared>(DK_CPU));
	mine.emplace(op.impl<serves>(DK_CPU));
	return true;
}

static const bool begun = begin();
#else
static dk::registration mine_too = shared.impl<serves_shared>(DK_CPU);
static dk::registration passes = dk::fallback<passes_on>(DK_TRACER);

#ifdef LEAKS
__attribute__((constructor)) static void begin()
{
	new dk::registration(op.impl<serves>(DK_CPU));
}
#else
static dk::registration mine = op.impl<serves>(DK_CPU);
#endif
#endif

#else

static op_of_host packed{ "unloaded::packed" };

static int boxed(dk_call *, void *)
{
	return 3;
}

static bool is_mapped(const char *file)
{
	void *plugin = dlopen(file, RTLD_NOW | RTLD_NOLOAD);

	if (plugin)
		dlclose(plugin);
	return plugin;
}

int main(int, char **argv)
{
	dk::registration defined = op.define(), defined_too = shared.define();
	dk::registration defined_here = packed.define(), boxed_here = packed.boxed<boxed>(DK_CPU);
	tensor t{ dk_obj_on(DK_BACKEND_CPU, 0) };
	int (*call)(const op_of_host &, tensor &);
	void *plugin;
	int served_by = 0;

	for (int i = 0; i < 2; i++) {
		plugin = dlopen(argv[1], RTLD_NOW);
		if (!plugin || op(t, served_by) || served_by != 1 ||
		    shared(&t, &served_by) || served_by != 2)
			return std::fprintf(stderr, "the plugin does not serve\n"), 1;
		call = reinterpret_cast<decltype(call)>(dlsym(plugin, "call"));
		if (!call || call(packed, t) != 3)
			return std::fprintf(stderr, "the plugin cannot call\n"), 1;
		dlclose(plugin);
		if (is_mapped(argv[1]))
			return std::fprintf(stderr, "the plugin is still mapped\n"), 1;
		if (op(t, served_by) != -ENOSYS || shared(&t, &served_by) != -ENOSYS)
			return std::fprintf(stderr, "a call finds a function\n"), 1;
		if (packed(t) != 3)
			return std::fprintf(stderr, "the host cannot call\n"), 1;
	}
	return 0;
}

#endif
