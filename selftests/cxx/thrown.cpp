// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests that if an exception leaves a call, hooks get -ECANCELED, and unregistering no longer waits
 * for the call. The exception passes through functions of every kind except boxed ones that pass on
 * the call. An exception that leaves a listener or a boxed call ends the program.
 */
#include <dispatchkey.hpp>

#include <cstdio>
#include <exception>
#include <sys/wait.h>
#include <unistd.h>

static dk::op<int(int)> op{ "thrown::op" };
static int result = 1;

static int throws_boxed(dk_call *, void *)
{
	throw 7;
}

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

static void listener_throws()
{
	dk::listener listener([](const dk_event &) { throw 1; });
	dk::op<int(int)> seen{ "thrown::seen" };
	dk::registration defined = seen.define();
}

static int passes_boxed(dk_call *c, void *args)
{
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

/* A function throws to a boxed function, which passes the call on. */
static void throws_to_boxed()
{
	dk::registration passes = dk::fallback<passes_boxed>(DK_FUNCTIONALIZE);
	dk::include guard(DK_FUNCTIONALIZE);

	op(7);
}

/* The same, with a function without a dk_call *. */
static void plain_throws_to_boxed()
{
	static const dk_impl plain = op.make_impl(DK_CPU, [](int n) -> int { throw n; });
	dk_provider prov = DK_PROVIDER("plain");
	dk::include guard(DK_CPU);

	if (!dk_provider_register(&prov, nullptr) &&
	    !dk_impls_register(&prov, &plain, 1, nullptr))
		throws_to_boxed();
}

static void boxed_throws_to_boxed()
{
	dk::registration throws = op.boxed(DK_PYTHON, [](dk_call *, void *) -> int { throw 1; });
	dk::include guard(DK_PYTHON);

	throws_to_boxed();
}

/* Returns true if a process that calls @run ends because of an exception. */
static bool ends(void (*run)())
{
	const pid_t child = fork();
	int status;

	if (!child) {
		std::set_terminate([] { _exit(42); });
		try {
			run();
		} catch (int) {
		}
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 42;
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

	/* the first call takes the slow path, the second one the fast path */
	for (int i = 0; i < 2; i++) {
		dk::registration boxed = op.boxed<throws_boxed>(DK_TRACER);
		dk::include guard(DK_TRACER);

		try {
			op(7);
		} catch (int n) {
			caught += n;
		}
	}
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
	if (caught != 42 || result != -ECANCELED)
		return std::fprintf(stderr, "caught %d, result %d\n", caught, result), 1;
	if (!ends(listener_throws))
		return std::fprintf(stderr, "an exception left a listener\n"), 1;
	for (auto run : { throws_to_boxed, plain_throws_to_boxed, boxed_throws_to_boxed })
		if (!ends(run))
			return std::fprintf(stderr, "an exception left a boxed call\n"), 1;
	if (dk_provider_unregister(&prov) || inner.release() || outer.release() || mine.release())
		return std::fprintf(stderr, "unregistering waits for a call\n"), 1;
	return 0;
}
