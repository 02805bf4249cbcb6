// SPDX-License-Identifier: GPL-2.0-only
/*
 * One thread calls an operator, while another thread repeatedly registers and unregisters a
 * function for it. unload_dk.c does the same with libdispatchkey.
 */
#include "unload.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <thread>

static tally *counts;

static int64_t base(const at::Tensor &, int64_t n)
{
	return 2 * n;
}

static int64_t guest(const at::Tensor &, int64_t n)
{
	TALLY_SET(counts->served_by_guest, counts->served_by_guest + 1);
	return 2 * n;
}

static void come_and_go()
{
	while (!TALLY_GET(counts->stop)) {
		{
			torch::Library lib(torch::Library::IMPL, "unload",
					   c10::DispatchKey::CPU, __FILE__, __LINE__);

			lib.impl("twice", guest);
			unload_meet_a_call(counts);
		}
		TALLY_SET(counts->registrations, counts->registrations + 1);
	}
}

static void call()
{
	auto twice = c10::Dispatcher::singleton()
			     .findSchemaOrThrow("unload::twice", "")
			     .typed<int64_t(const at::Tensor &, int64_t)>();
	at::Tensor x = at::empty({ 1 });

	unload_await_a_guest(counts);
	for (unsigned long i = 0; i < counts->wanted; i++) {
		TALLY_SET(counts->calls, i + 1);
		try {
			if (twice.call(x, static_cast<int64_t>(i)) == 2 * static_cast<int64_t>(i))
				TALLY_SET(counts->served, counts->served + 1);
		} catch (const c10::Error &) {
			/* the call was not served, and is counted as lost */
		}
	}
}

static int run(tally *t)
{
	torch::Library def(torch::Library::DEF, "unload", c10::nullopt, __FILE__, __LINE__);
	torch::Library impl(torch::Library::IMPL, "unload",
			    c10::DispatchKey::CompositeExplicitAutograd, __FILE__, __LINE__);

	counts = t;
	def.def("twice(Tensor x, int n) -> int");
	impl.impl("twice", base);
	std::thread other(come_and_go);
	call();
	TALLY_SET(t->stop, 1);
	other.join();
	return 0;
}

int main(int argc, char **argv)
{
	return unload_main("libtorch 1.13.1", argc, argv, run);
}
