// SPDX-License-Identifier: GPL-2.0-only
/* Makes the same calls of the same functions in libtorch, on its unboxed fast path. */
#include "bench.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <cctype>
#include <string>
#include <vector>

using Pair = int64_t(const at::Tensor &, const at::Tensor &);

static std::vector<c10::TypedOperatorHandle<Pair>> ops;
static std::vector<at::Tensor> on_cpu, on_meta;

static int64_t serve(const at::Tensor &, const at::Tensor &)
{
	return 0;
}

static void check(int64_t bad)
{
	if (bad)
		abort();
}

static void call(const bench_contender *, unsigned long n)
{
	at::AutoDispatchBelowADInplaceOrView guard;
	const at::Tensor &x = on_cpu[0], &y = on_cpu[1];
	const auto *op = ops.data();
	int64_t bad = 0;

	while (n--)
		bad |= op[n % BENCH_UNROLLED].call(x, y);
	check(bad);
}

static void redispatch(const bench_contender *, unsigned long n)
{
	const c10::DispatchKeySet ks(c10::DispatchKey::CPU);
	const at::Tensor &x = on_cpu[0], &y = on_cpu[1];
	const auto *op = ops.data();
	int64_t bad = 0;

	while (n--)
		bad |= op[n % BENCH_UNROLLED].redispatch(ks, x, y);
	check(bad);
}

static void boxed(const bench_contender *, unsigned long n)
{
	at::AutoDispatchBelowADInplaceOrView guard;
	const at::Tensor &x = on_cpu[0], &y = on_cpu[1];
	const auto *op = ops.data();
	torch::jit::Stack stack;
	int64_t bad = 0;

	while (n--) {
		stack.emplace_back(x);
		stack.emplace_back(y);
		op[n % BENCH_UNROLLED].callBoxed(&stack);
		bad |= stack.back().toInt();
		stack.clear();
	}
	check(bad);
}

static bool is_missing(const c10::TypedOperatorHandle<Pair> &op)
{
	try {
		op.call(on_meta[0], on_meta[1]);
	} catch (const c10::Error &) {
		return true;
	}
	return false;
}

static void missing(const bench_contender *, unsigned long n)
{
	at::AutoDispatchBelowADInplaceOrView guard;

	while (n--)
		check(!is_missing(ops[n % BENCH_UNROLLED]));
}

static int set_up(char *const *names)
{
	static torch::Library def(torch::Library::DEF, "bench", c10::nullopt, __FILE__, __LINE__);
	static torch::Library impl(torch::Library::IMPL, "bench", c10::DispatchKey::CPU,
				   __FILE__, __LINE__);

	for (int i = 0; i < BENCH_UNROLLED; i++) {
		/* in the namespace "bench", because libtorch already defines these names */
		std::string name = names[i];

		for (char &c : name)
			c = isalnum(static_cast<unsigned char>(c)) ? c : '_';
		def.def((name + "(Tensor x, Tensor y) -> int").c_str());
		impl.impl(name.c_str(), TORCH_FN(serve));
		ops.push_back(c10::Dispatcher::singleton()
				      .findSchemaOrThrow(("bench::" + name).c_str(), "")
				      .typed<Pair>());
	}
	for (int i = 0; i < 2; i++) {
		on_cpu.push_back(at::empty({ 1 }));
		on_meta.push_back(at::empty({ 1 }, at::device(at::kMeta)));
	}
	return 0;
}

static const bench_contender contenders[] = {
	{ "torch.redispatch", redispatch },
	{ "torch.call", call, 0, 0, 1 },
	{ "torch.boxed", boxed },
	{ "torch.missing", missing, 0, 1 },
};

const bench_side bench_torch = {
	set_up, contenders, sizeof(contenders) / sizeof(contenders[0]),
};
