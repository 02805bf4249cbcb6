// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Defines the functions of the cards and the host for each operator. A function takes its tensors
 * from PyTorch's stack, allocates the result, and runs the work where the call was routed.
 */
#include "functions.hpp"
#include "arith.hpp"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtilsMulti.h>

#include <cerrno>
#include <tuple>

/* Returned for arguments that cards do not support. The CPU's function then computes the result. */
constexpr int not_for_cards = -EOPNOTSUPP;

using obj = const dk_obj *;

/* ---- tensors as arrays -------------------------------------------------------------- */

/* An array that keeps its memory alive, for work that is done later. */
struct held : array {
	c10::Storage memory;
};

static held hold(const at::Tensor &t)
{
	return { { t.data_ptr<float>(), t.sizes().vec(), t.strides().vec() }, t.storage() };
}

static bool on_card(const at::Tensor &t)
{
	return t.defined() && t.device().type() == at::kPrivateUse1;
}

static bool fits(const at::Tensor &t)
{
	return on_card(t) && t.scalar_type() == at::kFloat;
}

/* True if a number fits into a float. For other numbers the CPU's function is called. */
static bool fits(const c10::IValue &scalar)
{
	const c10::Scalar value = scalar.toScalar();

	return !value.isComplex() && !c10::overflows<float, double>(value.toDouble());
}

static at::Tensor empty_beside(const at::Tensor &t, at::IntArrayRef sizes)
{
	return at::empty(sizes, at::TensorOptions(t.scalar_type()).device(t.device()));
}

/* ---- where the work is done --------------------------------------------------------- */

void check_one_card(std::initializer_list<at::Tensor> tensors)
{
	const at::Tensor *first = nullptr;

	for (const at::Tensor &t : tensors) {
		if (!on_card(t))
			continue;
		TORCH_CHECK(!first || t.device() == first->device(),
			    "the tensors must be on one card, not on ", first->device(), " and ",
			    t.device());
		first = &t;
	}
}

/*
 * Queues the work on the card that the call was routed to. If the card of the tensors is unplugged,
 * the call was routed to the host. Then waits for work that is still queued on a card that is being
 * unplugged, and runs the new work now, on the host.
 */
static void run(const dk_call *c, std::initializer_list<at::Tensor> tensors,
		std::function<void()> work)
{
	check_one_card(tensors);
	if (void *priv = dk_call_priv(c)) {
		static_cast<card *>(priv)->submit(c, std::move(work));
		return;
	}
	for (const at::Tensor &t : tensors)
		finish(t);
	work();
}

/* Call @f with @out and @in as arrays; @out is the operator's result. */
template <class F, class... T>
static int compute(const dk_call *c, arguments &args, at::Tensor out, F f, const T &...in)
{
	run(c, { out, in... }, [f, out = hold(out), in = std::tuple(hold(in)...)] {
		std::apply([&](const auto &...a) { f(out, a...); }, in);
	});
	return args.result(std::move(out));
}

/* ---- element by element ------------------------------------------------------------- */

/* True for a number such as the 2 in x * 2, which PyTorch makes a tensor on the CPU. */
static bool is_number(const at::Tensor &t)
{
	return t.defined() && t.is_cpu() && !t.dim();
}

/* Returns the operand itself, or a copy of a number for the card. */
static at::Tensor operand(const at::Tensor &t)
{
	return is_number(t) ? t.to(at::kFloat, false, true) : t;
}

/* Refuses the overlaps that PyTorch refuses on the CPU. @in may be the same as @out. */
static void check_overlap(const at::Tensor &out, const at::Tensor &in)
{
	at::assert_no_internal_overlap(out);
	at::assert_no_partial_overlap(out, in);
}

/* A new tensor with the strides of the first operand on a card that has the result's sizes. */
static at::Tensor empty_result(const at::Tensor &x, const at::Tensor &y, at::IntArrayRef sizes)
{
	for (const at::Tensor &t : { x, y })
		if (on_card(t) && t.sizes() == sizes)
			return at::empty_like(t);
	return empty_beside(on_card(x) ? x : y, sizes);
}

/* Calls f(o, a, b) for the elements of the first two arguments; the result is @into or new. */
template <class F>
static int binary(const dk_call *c, arguments &args, at::Tensor into, F f)
{
	const at::Tensor a = args[0].toTensor(), b = args[1].toTensor();

	if (!(fits(a) || is_number(a)) || !(fits(b) || is_number(b)) ||
	    at::result_type(a, b) != at::kFloat || (into.defined() && !fits(into)))
		return not_for_cards;
	const at::Tensor x = operand(a), y = operand(b);
	const auto sizes = at::infer_size(x.sizes(), y.sizes());
	if (!into.defined())
		into = empty_result(x, y, sizes);
	if (into.sizes() != sizes)
		return not_for_cards;
	check_overlap(into, x);
	check_overlap(into, y);
	return compute(c, args, into, [f](const array &o, const array &p, const array &q) {
		for_each(o, p, q, f);
	}, x, y);
}

static int add_into(dk_call *c, arguments &args, at::Tensor into)
{
	/* the CPU's function refuses a bool */
	if (!fits(args[2]) || args[2].isBool())
		return not_for_cards;
	return binary(c, args, std::move(into), [alpha = args[2].toScalar().toFloat()]
		      (float &o, float a, float b) { o = a + alpha * b; });
}

static int add(dk_call *c, obj, obj, obj, arguments &args)
{
	return add_into(c, args, {});
}

static int add_in_place(dk_call *c, obj, obj, obj, arguments &args)
{
	return add_into(c, args, args[0].toTensor());
}

static int mul(dk_call *c, obj, obj, obj, arguments &args)
{
	return binary(c, args, {}, [](float &o, float a, float b) { o = a * b; });
}

static int relu(dk_call *c, obj, obj, obj, arguments &args)
{
	const at::Tensor a = args[0].toTensor();

	if (!fits(a))
		return not_for_cards;
	return compute(c, args, at::empty_like(a), [](const array &o, const array &x) {
		for_each(o, x, x, [](float &to, float from, float) { to = from < 0 ? 0 : from; });
	}, a);
}

static int threshold_backward(dk_call *c, obj, obj, obj, arguments &args)
{
	const at::Tensor grad = args[0].toTensor(), a = args[1].toTensor();

	if (!fits(grad) || !fits(a) || grad.sizes() != a.sizes() || !fits(args[2]))
		return not_for_cards;
	return compute(c, args, at::empty_like(a),
		       [least = args[2].toScalar().toFloat()]
		       (const array &o, const array &g, const array &x) {
		for_each(o, g, x, [least](float &to, float by, float from) {
			to = from <= least ? 0 : by;
		});
	}, grad, a);
}

static int fill(const dk_call *c, arguments &args, float value)
{
	const at::Tensor a = args[0].toTensor();

	if (!fits(a))
		return not_for_cards;
	return compute(c, args, a, [value](const array &o) {
		for_each(o, o, o, [value](float &to, float, float) { to = value; });
	});
}

static int fill_scalar(dk_call *c, obj, obj, obj, arguments &args)
{
	return fits(args[1]) ? fill(c, args, args[1].toScalar().toFloat()) : not_for_cards;
}

static int zero(dk_call *c, obj, obj, obj, arguments &args)
{
	return fill(c, args, 0);
}

/* ---- matrices ----------------------------------------------------------------------- */

static bool are_factors(const at::Tensor &a, const at::Tensor &b)
{
	return fits(a) && fits(b) && a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0);
}

static int mm(dk_call *c, obj, obj, obj, arguments &args)
{
	const at::Tensor a = args[0].toTensor(), b = args[1].toTensor();

	if (!are_factors(a, b))
		return not_for_cards;
	return compute(c, args, empty_beside(a, { a.size(0), b.size(1) }),
		       [](const array &o, const array &p, const array &q) {
		matmul(o, p, q, 1, 0);
	}, a, b);
}

static int addmm(dk_call *c, obj, obj, obj, arguments &args)
{
	const at::Tensor self = args[0].toTensor();
	const at::Tensor a = args[1].toTensor(), b = args[2].toTensor();

	if (!are_factors(a, b) || !fits(self) || !fits(args[3]) || !fits(args[4]) ||
	    !at::is_expandable_to(self.sizes(), { a.size(0), b.size(1) }))
		return not_for_cards;
	return compute(c, args, empty_beside(a, { a.size(0), b.size(1) }),
		       [beta = args[3].toScalar().toFloat(), alpha = args[4].toScalar().toFloat()]
		       (const array &o, const array &s, const array &p, const array &q) {
		for_each(o, s, s, [](float &to, float from, float) { to = from; });
		matmul(o, p, q, alpha, beta);
	}, self, a, b);
}

static int sum_over(dk_call *c, obj, obj, obj, arguments &args)
{
	const at::Tensor a = args[0].toTensor();

	/* sum(self, dim, keepdim, dtype) */
	if (!fits(a) || !args[1].isIntList() || !args[3].isNone())
		return not_for_cards;
	const bool keepdim = args[2].toBool();
	/* an empty list stands for all dimensions */
	auto over = at::dim_list_to_bitset(args[1].toIntVector(), a.dim());
	if (over.none())
		over.set();
	auto sizes = a.sizes().vec();
	for (std::int64_t d = 0; d < a.dim(); d++)
		if (over[d])
			sizes[d] = 1;
	at::Tensor out = empty_beside(a, sizes);
	compute(c, args, out, sum, a);
	for (std::int64_t d = a.dim(); !keepdim && d-- > 0;)
		if (over[d])
			out = out.squeeze(d);
	args.stack.back() = std::move(out);
	return 0;
}

/* ---- rows --------------------------------------------------------------------------- */

/* Calls f(out, a, rows, n) for contiguous rows of the last dimension. */
template <class F, class... T>
static int by_rows(const dk_call *c, arguments &args, std::int64_t dim, F f, const T &...in)
{
	const at::Tensor &first = std::get<0>(std::tie(in...));
	const bool last = first.dim() && c10::maybe_wrap_dim(dim, first.dim()) == first.dim() - 1;

	if (!last || !((fits(in) && in.sizes() == first.sizes()) && ...))
		return not_for_cards;
	const std::int64_t n = first.size(-1), rows = n ? first.numel() / n : 0;
	return compute(c, args, empty_beside(first, first.sizes()),
		       [f, rows, n](const array &o, const auto &...a) {
		f(o.data, a.data..., rows, n);
	}, in.contiguous()...);
}

/* _softmax(self, dim, half_to_float), and _log_softmax() with the same arguments */
template <auto f> static int softmax_by(dk_call *c, obj, obj, obj, arguments &args)
{
	if (args[2].toBool())
		return not_for_cards;
	return by_rows(c, args, args[1].toInt(), f, args[0].toTensor());
}

/* _softmax_backward_data(grad, result, dim, input_dtype), and _log_softmax_backward_data() */
template <auto f> static int softmax_backward_by(dk_call *c, obj, obj, obj, arguments &args)
{
	if (args[3].toScalarType() != at::kFloat)
		return not_for_cards;
	return by_rows(c, args, args[2].toInt(), f, args[0].toTensor(), args[1].toTensor());
}

/* ---- copies ------------------------------------------------------------------------- */

/* Returns a tensor on the CPU with the memory of @t, which cards share with the host. */
static at::Tensor seen_by_cpu(const at::Tensor &t)
{
	at::Tensor same = at::from_blob(t.data_ptr(), t.sizes(), t.strides(),
					at::TensorOptions(t.scalar_type()));

	same._set_conj(t.is_conj());
	same._set_neg(t.is_neg());
	return same;
}

/* Queues a copy between like tensors of one card. For other tensors, waits and copies now. */
static int copy(dk_call *c, obj, obj, obj, arguments &args)
{
	const at::Tensor from = args[0].toTensor(), to = args[1].toTensor();
	const auto work = [from = seen_by_cpu(from), to = seen_by_cpu(to),
			   memory = std::pair(from.storage(), to.storage())] {
		at::NoGradGuard none;

		to.copy_(from);
	};

	if (from.device() == to.device() && from.scalar_type() == to.scalar_type() &&
	    from.sizes() == to.sizes()) {
		check_overlap(to, from);
		run(c, { from, to }, work);
		return args.result(to);
	}
	finish(from);
	finish(to);
	work();
	return args.result(to);
}

/* ---- new tensors -------------------------------------------------------------------- */

/* Make a tensor on the card @device. If the card is unplugged, the host's function does this. */
template <class F>
static int make(arguments &args, const c10::IValue &dtype, const c10::IValue &device, F f)
{
	const c10::OptionalDeviceGuard guard(device.toOptional<at::Device>());

	return args.result(f(c10::GetAllocator(at::kPrivateUse1),
			     c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
			     c10::dtype_or_default(dtype.toOptional<at::ScalarType>())));
}

/* empty(size, dtype, layout, device, pin_memory, memory_format) */
static int empty(dk_call *, obj, obj, obj, arguments &args)
{
	return make(args, args[1], args[3], [&](auto memory, auto keys, auto dtype) {
		return at::detail::empty_generic(args[0].toIntVector(), memory, keys, dtype,
						 args[5].toOptional<at::MemoryFormat>());
	});
}

/* empty_strided(size, stride, dtype, layout, device, pin_memory) */
static int empty_strided(dk_call *, obj, obj, obj, arguments &args)
{
	return make(args, args[2], args[4], [&](auto memory, auto keys, auto dtype) {
		return at::detail::empty_strided_generic(args[0].toIntVector(),
							 args[1].toIntVector(), memory, keys,
							 dtype);
	});
}

/* Does nothing. Used to measure the cost of a call. */
static int nothing(dk_call *, obj, obj, obj, arguments &args)
{
	torch::jit::drop(args.stack, args.n);
	return 0;
}

/* ---- the table ---------------------------------------------------------------------- */

__constinit routed operators[] = {
	{ op_type("aten::empty.memory_format"), empty, "empty", 0 },
	{ op_type("aten::empty_strided"), empty_strided, "empty_strided", 0 },
	{ op_type("aten::add.Tensor"), add, "add", DK_OP_SAME_DEVICE },
	{ op_type("aten::add_.Tensor"), add_in_place, "add_in_place", DK_OP_SAME_DEVICE },
	{ op_type("aten::mul.Tensor"), mul, "mul", DK_OP_SAME_DEVICE },
	{ op_type("aten::relu"), relu, "relu", DK_OP_SAME_DEVICE },
	{ op_type("aten::threshold_backward"), threshold_backward, "threshold_backward",
	  DK_OP_SAME_DEVICE },
	{ op_type("aten::fill_.Scalar"), fill_scalar, "fill_scalar", DK_OP_SAME_DEVICE },
	{ op_type("aten::zero_"), zero, "zero", DK_OP_SAME_DEVICE },
	{ op_type("aten::mm"), mm, "mm", DK_OP_SAME_DEVICE },
	{ op_type("aten::addmm"), addmm, "addmm", DK_OP_SAME_DEVICE },
	{ op_type("aten::sum.dim_IntList"), sum_over, "sum_over", DK_OP_SAME_DEVICE },
	{ op_type("aten::_softmax"), softmax_by<softmax>, "softmax", DK_OP_SAME_DEVICE },
	{ op_type("aten::_softmax_backward_data"), softmax_backward_by<softmax_backward>,
	  "softmax_backward", DK_OP_SAME_DEVICE },
	{ op_type("aten::_log_softmax"), softmax_by<log_softmax>, "log_softmax",
	  DK_OP_SAME_DEVICE },
	{ op_type("aten::_log_softmax_backward_data"), softmax_backward_by<log_softmax_backward>,
	  "log_softmax_backward", DK_OP_SAME_DEVICE },
	{ op_type("aten::_copy_from"), copy, "copy", 0 },
	{ op_type("cards::routed_nothing"), nothing, "nothing", DK_OP_SAME_DEVICE },
};
const std::size_t num_operators = std::size(operators);
