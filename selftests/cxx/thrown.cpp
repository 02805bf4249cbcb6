// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests that if an exception leaves a call, hooks get -ECANCELED, and waits no longer include the
 * call.
 */
#include <dispatchkey.hpp>

#include <cstdio>

static dk::op<int(int)> op{ "thrown::op" };
static int result = 1;

static int throws(int n)
{
	throw n;
}

static void after(dk_hooks *, const dk_hook_info *info)
{
	result = info->result;
}

int main()
{
	dk::registration defined = op.define(), mine = op.impl<throws>(DK_COMPOSITE_EXPLICIT_AUTOGRAD);
	dk_hooks hooks = {};
	int caught = 0;

	hooks.size = sizeof(hooks);
	hooks.after = after;
	for (bool hooked : { false, true }) {
		if (hooked && dk_hooks_register(nullptr, &hooks, nullptr))
			return std::fprintf(stderr, "no hooks\n"), 1;
		try {
			op(7);
		} catch (int n) {
			caught += n;
		}
	}
	dk_hooks_unregister(&hooks, nullptr);
	if (caught != 14 || result != -ECANCELED || mine.release())
		return std::fprintf(stderr, "caught %d, result %d\n", caught, result), 1;
	return 0;
}
