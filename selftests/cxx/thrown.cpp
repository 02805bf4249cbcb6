// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests that if an exception leaves a call, hooks get -ECANCELED, and unregistering no longer waits
 * for the call. The exception passes through functions of every kind except boxed ones. An
 * exception that leaves a listener ends the program.
 */
#include <dispatchkey.hpp>

#include <cstdio>
#include <exception>
#include <sys/wait.h>
#include <unistd.h>

static dk::op<int(int)> op{ "thrown::op" };
static int result = 1;

static int throws(int n)
{
	throw n;
}

static int passes(dk_call *c, int n)
{
	return op.below(c, n);
}

static void after(dk_hooks *, const dk_hook_info *info)
{
	result = info->result;
}

/* Returns the exit status of a process in which a listener throws, or -1. */
static int status_of_listener_that_throws()
{
	const pid_t child = fork();
	int status;

	if (!child) {
		std::set_terminate([] { _exit(42); });
		try {
			dk::listener listener([](const dk_event &) { throw 1; });
			dk::op<int(int)> seen{ "thrown::seen" };
			dk::registration defined = seen.define();

			_exit(!listener);
		} catch (int) {
			_exit(2);
		}
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

int main()
{
	dk::registration defined = op.define(), mine = op.impl<throws>(DK_COMPOSITE_EXPLICIT_AUTOGRAD);
	dk::registration outer = op.impl<passes>(DK_TRACER);
	dk::registration inner = op.impl(DK_PYTHON, [&defined](dk_call *c, int n) {
		return defined ? op.below(c, n) : -EINVAL;
	});
	const dk_impl plain = op.make_impl<throws>(DK_CPU);
	dk_provider prov = DK_PROVIDER("thrown");
	dk_hooks hooks = {};
	int caught = 0;

	if (dk_provider_register(&prov, nullptr) || dk_impls_register(&prov, &plain, 1, nullptr))
		return std::fprintf(stderr, "no functions\n"), 1;
	hooks.size = sizeof(hooks);
	hooks.after = after;
	for (bool hooked : { false, true }) {
		if (hooked && dk_hooks_register(nullptr, &hooks, nullptr))
			return std::fprintf(stderr, "no hooks\n"), 1;
		for (const dk::keyset &below : { dk::keyset(), dk::keyset(DK_CPU) }) {
			dk::include guard({ DK_TRACER, DK_PYTHON });
			dk::include own(below);

			try {
				op(7);
			} catch (int n) {
				caught += n;
			}
		}
	}
	dk_hooks_unregister(&hooks, nullptr);
	if (caught != 28 || result != -ECANCELED)
		return std::fprintf(stderr, "caught %d, result %d\n", caught, result), 1;
	if (status_of_listener_that_throws() != 42)
		return std::fprintf(stderr, "an exception left a listener\n"), 1;
	if (dk_provider_unregister(&prov) || inner.release() || outer.release() || mine.release())
		return std::fprintf(stderr, "unregistering waits for a call\n"), 1;
	return 0;
}
