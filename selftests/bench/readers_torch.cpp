// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the same as readers_dk.c, in libtorch. The writer registers only for operators that are
 * not called: libtorch crashes if functions of called operators are unregistered (make
 * demo-unload).
 */
#include "readers.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <memory>
#include <string>
#include <vector>

using Call = int64_t(const at::Tensor &, int64_t);

static std::vector<c10::TypedOperatorHandle<Call>> ops;
static std::vector<std::string> names_of;
static at::Tensor object;

static int64_t serve(const at::Tensor &, int64_t)
{
	return 0;
}

static int set_up(char *const *names)
{
	static torch::Library def(torch::Library::DEF, "readers", c10::nullopt, __FILE__, __LINE__);
	static torch::Library impl(torch::Library::IMPL, "readers",
				   c10::DispatchKey::CompositeExplicitAutograd, __FILE__, __LINE__);

	object = at::empty({ 1 });
	for (unsigned int i = 0; i < 2 * OPERATORS; i++) {
		/* in a namespace of its own, because libtorch already defines these names */
		std::string name = names[i];

		for (char &c : name)
			c = isalnum(static_cast<unsigned char>(c)) ? c : '_';
		names_of.push_back(name);
		def.def((name + "(Tensor x, int n) -> int").c_str());
		impl.impl(name.c_str(), serve);
		ops.push_back(c10::Dispatcher::singleton()
				      .findSchemaOrThrow(("readers::" + name).c_str(), "")
				      .typed<Call>());
	}
	return 0;
}

static void call(unsigned int op)
{
	if (ops[op].call(object, 1))
		abort();
}

static void come_and_go(unsigned int op)
{
	torch::Library lib(torch::Library::IMPL, "readers", c10::DispatchKey::CPU, __FILE__, __LINE__);

	lib.impl(names_of[op].c_str(), serve);
}

static const struct readers_side side = { "libtorch 1.13.1", set_up, call, come_and_go, 0 };

int main(int argc, char **argv)
{
	return readers_main(&side, argc, argv);
}
