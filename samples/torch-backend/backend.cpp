// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Implements a backend for PyTorch 1.13 with the devices privateuseone:0 and privateuseone:1. For
 * every operator, PyTorch calls the backend's function route(), and dispatchkey chooses the
 * function that serves the call. This file also has the other things that PyTorch needs from a
 * backend: memory, views of it, and the current device.
 *
 *	torch.ops.load_library("backend.so")
 */
#include "functions.hpp"

#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/library.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

/* ---- every operator ------------------------------------------------------------------ */

static std::unordered_map<const c10::FunctionSchema *, op_type *> routed_by_schema;
static std::atomic<std::int64_t> asked, refused, fallbacks;

static thread_local c10::DeviceIndex current_card;

static dk_obj object_on(c10::Device d)
{
	return d.type() != at::kPrivateUse1 ?
		dk_obj_on(DK_BACKEND_CPU, 0) :
		dk_obj_on(DK_BACKEND_PRIVATEUSE1,
			  card_at(d.has_index() ? d.index() : current_card).device);
}

/*
 * Call an operator of dispatchkey with PyTorch's arguments. The call dispatches on tensors
 * and, if the operator makes a tensor, on the device argument.
 */
static int call(op_type &op, arguments &args)
{
	dk_obj objs[3];
	const dk_obj *at[3] = {};
	std::size_t n = 0;

	for (std::size_t i = 0; i < args.n && n < std::size(at); i++) {
		if (args[i].isTensor() && args[i].toTensor().defined())
			objs[n] = object_on(args[i].toTensor().device());
		else if (args[i].isDevice())
			objs[n] = object_on(args[i].toDevice());
		else
			continue;
		at[n] = &objs[n];
		n++;
	}
	asked++;
	return op(at[0], at[1], at[2], args);
}

static void route(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
	arguments args{ *stack, op.schema().arguments().size() };
	const auto found = routed_by_schema.find(&op.schema());
	int error = -EOPNOTSUPP;

	if (found != routed_by_schema.end())
		error = call(*found->second, args);
	if (error == -EOPNOTSUPP) {
		fallbacks++;
		compute_on_cpu(op, stack);
	} else if (error) {
		refused++;
		TORCH_CHECK(false, op.schema().name(), ": ", dk::error_text(error));
	}
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m)
{
	m.fallback(torch::CppFunction::makeFromBoxedFunction<&route>());
}

/* PyTorch 1.13 registers this fallback only for its own backends. */
TORCH_LIBRARY_IMPL(_, AutogradPrivateUse1, m)
{
	m.fallback(torch::CppFunction::makeFallthrough());
}

/*
 * The first backward() of a process starts autograd's queues, one for each device that exists
 * at that time. Devices that are registered later have no queue, and PyTorch does not report
 * this.
 */
struct engine : torch::autograd::Engine {
	static bool is_started()
	{
		struct not_yet {};
		constexpr auto flag = &engine::start_device_threads_flag_;

		/*
		 * call_once() calls the function only if the engine has not started. The function
		 * throws, so that call_once() does not set the flag.
		 */
		try {
			c10::call_once(get_default_engine().*flag, [] { throw not_yet(); });
		} catch (const not_yet &) {
			return false;
		}
		return true;
	}
};

/*
 * The operators that dispatchkey routes. Each needs a registration of its own: for many of them,
 * PyTorch has a function for all backends, which takes precedence over a backend's fallback.
 */
static void register_operators(torch::Library &m, const std::string &space)
{
	for (std::size_t i = 0; i < num_operators; i++) {
		const std::string name = operators[i].op.name();
		const std::size_t dot = name.find('.');

		if (name.compare(0, space.size(), space))
			continue;
		const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
			name.substr(0, dot).c_str(),
			dot == name.npos ? "" : name.substr(dot + 1).c_str());

		routed_by_schema[&op.schema()] = &operators[i].op;
		m.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&route>());
	}
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
	begin();
	if (engine::is_started())
		TORCH_WARN("backward() will not work on cards, because it was called before the "
			   "backend was loaded: load the backend before the first backward()");
	register_operators(m, "aten::");
	/* PyTorch's functions for all backends fail for these, on cards or for empty tensors. */
	for (const char *name : { "conj_physical_", "nanmean.out", "native_group_norm" })
		m.impl(name, torch::CppFunction::makeFromBoxedFunction<&route>());
}

/* ---- memory -------------------------------------------------------------------------- */

struct card_memory final : c10::Allocator {
	c10::DataPtr allocate(std::size_t size) const override
	{
		const c10::Device device(at::kPrivateUse1, current_card);
		void *p = nullptr;

		TORCH_CHECK(!size || !posix_memalign(&p, 64, size), device, ": no memory for ",
			    size, " bytes");
		return { p, p, std::free, device };
	}
	c10::DeleterFnPtr raw_deleter() const override { return std::free; }
};
static card_memory memory;
REGISTER_ALLOCATOR(at::kPrivateUse1, &memory);

void enlarge(const c10::Storage &to, std::size_t bytes)
{
	if (to.nbytes() >= bytes)
		return;
	const c10::DeviceGuard guard(to.device());
	c10::DataPtr larger = memory.allocate(bytes);

	card_at(to.device().index()).finish();
	std::memcpy(larger.get(), to.data(), to.nbytes());
	to.set_data_ptr_noswap(std::move(larger));
	to.set_nbytes(bytes);
}

static const at::Tensor &resize(const at::Tensor &self, at::IntArrayRef size,
				c10::optional<at::MemoryFormat> format)
{
	TORCH_CHECK(std::all_of(size.begin(), size.end(), [](auto n) { return n >= 0; }),
		    "resize_: sizes must be 0 or more, not ", size);
	if (self.sizes() != size) {	/* otherwise its strides stay */
		enlarge(self.storage(), at::detail::computeStorageNbytesContiguous(
			size, self.itemsize(), self.storage_offset()));
		self.unsafeGetTensorImpl()->set_sizes_contiguous(size);
	}
	if (format)
		self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
	return self;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
	m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
	m.impl("view", TORCH_FN(at::native::view));
	m.impl("unfold", TORCH_FN(at::native::unfold));
	m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
	m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
	m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
	m.impl("resize_", TORCH_FN(resize));
}

/*
 * _copy_from() copies conjugate and negative tensors itself. PyTorch's fallback would call
 * _copy_from() again, without end.
 */
TORCH_LIBRARY_IMPL(aten, Conjugate, m)
{
	m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, Negative, m)
{
	m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

/* ---- the current device -------------------------------------------------------------- */

struct card_guard final : c10::impl::DeviceGuardImplInterface {
	c10::DeviceType type() const override { return at::kPrivateUse1; }
	c10::Device exchangeDevice(c10::Device to) const override
	{
		const c10::Device from = getDevice();

		setDevice(to);
		return from;
	}
	c10::Device getDevice() const override { return { at::kPrivateUse1, current_card }; }
	void setDevice(c10::Device to) const override
	{
		card_at(to.index());
		uncheckedSetDevice(to);
	}
	void uncheckedSetDevice(c10::Device to) const noexcept override
	{
		if (to.has_index())
			current_card = to.index();
	}
	c10::Stream getStream(c10::Device of) const noexcept override
	{
		return c10::Stream(c10::Stream::DEFAULT, of);
	}
	c10::Stream exchangeStream(c10::Stream to) const noexcept override { return to; }
	c10::DeviceIndex deviceCount() const noexcept override { return num_cards; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, card_guard);

/* ---- torch.ops.cards, for programs ---------------------------------------------------- */

static c10::Dict<std::string, std::int64_t> calls()
{
	c10::Dict<std::string, std::int64_t> all;

	for (const auto &[who, n] : counted())
		all.insert(who, n);
	return all;
}

/* Returns the time of one call of @f in nanoseconds, as the mean of @n calls. */
template <class F> static double time_of(std::int64_t n, F f)
{
	using clock = std::chrono::steady_clock;
	const auto begin = clock::now();

	for (std::int64_t i = 0; i < n; i++)
		f();
	return std::chrono::duration<double, std::nano>(clock::now() - begin).count() / n;
}

/*
 * Returns three times of a call to a function that does nothing: in PyTorch's dispatcher alone; in
 * dispatchkey alone, with its counters enabled; and in both, from PyTorch through route() to
 * dispatchkey.
 */
static std::tuple<double, double, double> cost(const at::Tensor &x, std::int64_t n)
{
	const auto find = [](const char *name) {
		return c10::Dispatcher::singleton().findSchemaOrThrow(name, "")
			.typed<void(const at::Tensor &)>();
	};
	const auto direct = find("cards::nothing"), routed = find("cards::routed_nothing");
	op_type &op = *routed_by_schema.at(&routed.schema());
	const dk_obj obj = object_on(x.device());
	torch::jit::Stack none;
	arguments args{ none, 0 };

	TORCH_CHECK(n > 0, "the number of calls must be at least 1, not ", n);
	time_of(n, [&] { direct.call(x); });
	return { time_of(n, [&] { direct.call(x); }),
		 time_of(n, [&] { op(&obj, nullptr, nullptr, args); }),
		 time_of(n, [&] { routed.call(x); }) };
}

TORCH_LIBRARY(cards, m)
{
	m.def("plug(int card) -> ()", plug);
	m.def("unplug(int card) -> ()", unplug);
	m.def("is_plugged(int card) -> bool", is_plugged);
	m.def("calls() -> Dict(str, int)", calls);
	m.def("asked() -> int", [] { return asked.load(); });
	m.def("refused() -> int", [] { return refused.load(); });
	m.def("fallbacks() -> int", [] { return fallbacks.load(); });
	m.def("cost(Tensor x, int n) -> (float, float, float)", cost);
	m.def("nothing(Tensor x) -> ()");
	m.def("routed_nothing(Tensor x) -> ()");
}

TORCH_LIBRARY_IMPL(cards, PrivateUse1, m)
{
	m.impl("nothing", [](const at::Tensor &) {});
	register_operators(m, "cards::");
}
