// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Uses the CPU, in the card's memory, for operators that cards do not support. For convolution,
 * PyTorch calls operators that the CPU lacks, such as convolution_overrideable.
 */
#include "functions.hpp"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <cstring>
#include <unordered_map>

/* ---- every operator ------------------------------------------------------------------ */

static const c10::DispatchKeySet cpu(c10::DispatchKey::CPU);
static const c10::DispatchKeySet privateuse1(c10::DispatchKey::PrivateUse1);

static bool on_card(const c10::Device &device)
{
	return device.type() == at::kPrivateUse1;
}

/* Makes a tensor in @memory with the dtype, sizes, strides, offset and flags of @like. */
static at::Tensor like_in(const at::Tensor &like, c10::Storage memory, c10::DispatchKeySet keys)
{
	at::Tensor same = at::detail::make_tensor<c10::TensorImpl>(std::move(memory), keys,
								   like.dtype());

	same.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(),
							  like.storage_offset());
	same._set_conj(like.is_conj());
	same._set_neg(like.is_neg());
	return same;
}

/*
 * The arguments of one call for the CPU's function: tensors on the CPU that use the memory of the
 * card, which the host shares. The tensors are not copies, because functions may write to arguments
 * that the schema does not mark as written, such as running_mean of native_batch_norm.
 */
class cpu_arguments {
public:
	c10::IValue to_cpu(const c10::IValue &value);
	/*
	 * After the call, gives the cards' tensors the memory, sizes and flags of the CPU's
	 * tensors.
	 */
	void update();
	c10::IValue to_card(const c10::IValue &value) const;

private:
	at::Tensor to_cpu(const at::Tensor &t);
	c10::Storage to_cpu(const c10::Storage &memory);
	at::Tensor to_card(const at::Tensor &t) const;

	struct tensors {
		at::Tensor given, cpu;
	};
	struct storages {
		c10::Storage given, cpu;
	};
	/* A tensor that is passed twice is also a single tensor on the CPU. */
	std::unordered_map<c10::TensorImpl *, at::Tensor> cpu_tensors_;
	std::unordered_map<c10::TensorImpl *, tensors> by_cpu_tensor_;
	/* Tensors that overlap also overlap on the CPU, where operators check this. */
	std::unordered_map<c10::StorageImpl *, c10::Storage> cpu_storages_;
	std::unordered_map<c10::StorageImpl *, storages> by_cpu_storage_;
	/* The device for new tensors: the device argument, otherwise the first card. */
	c10::optional<c10::Device> device_argument_, first_card_;
};

c10::Storage cpu_arguments::to_cpu(const c10::Storage &memory)
{
	c10::Storage &there = cpu_storages_[memory.unsafeGetStorageImpl()];

	if (!there) {
		if (on_card(memory.device())) {
			if (!first_card_)
				first_card_ = memory.device();
			TORCH_CHECK(memory.device() == *first_card_,
				    "the tensors must be on one card, not on ", *first_card_,
				    " and ", memory.device());
			card_at(memory.device().index()).finish();
			const auto release = [](void *held) {
				delete static_cast<c10::Storage *>(held);
			};
			c10::DataPtr same(memory.data(), new c10::Storage(memory), release,
					  at::kCPU);
			there = c10::Storage(c10::Storage::use_byte_size_t(), memory.nbytes(),
					     std::move(same), c10::GetAllocator(at::kCPU), true);
		} else {
			there = memory;
		}
		by_cpu_storage_[there.unsafeGetStorageImpl()] = { memory, there };
	}
	return there;
}

at::Tensor cpu_arguments::to_cpu(const at::Tensor &t)
{
	if (!t.defined() || !t.has_storage())
		return t;
	at::Tensor &there = cpu_tensors_[t.unsafeGetTensorImpl()];
	if (!there.defined()) {
		c10::Storage memory = to_cpu(t.storage());

		there = on_card(t.device()) ? like_in(t, std::move(memory), cpu) : t;
		by_cpu_tensor_[there.unsafeGetTensorImpl()] = { t, there };
	}
	return there;
}

c10::IValue cpu_arguments::to_cpu(const c10::IValue &value)
{
	if (value.isTensor())
		return to_cpu(value.toTensor());
	if (value.isTensorList()) {
		c10::List<at::Tensor> there;

		for (const at::Tensor &one : value.toTensorVector())
			there.push_back(to_cpu(one));
		return there;
	}
	if (value.isOptionalTensorList()) {
		c10::List<c10::optional<at::Tensor>> there;

		for (const auto &one : value.toOptionalTensorVector())
			there.push_back(one ? c10::make_optional(to_cpu(*one)) : one);
		return there;
	}
	if (value.isStorage())
		return to_cpu(value.toStorage());
	if (value.isDevice()) {
		device_argument_ = value.toDevice();
		return c10::Device(at::kCPU);
	}
	return value;
}

/* Copies a storage to a card. A CPU function such as set_() has assigned it to an argument. */
static c10::Storage new_on_card(const c10::Storage &memory, c10::Device card)
{
	const at::Tensor there = at::empty({ 0 }, at::TensorOptions(at::kByte).device(card));

	enlarge(there.storage(), memory.nbytes());
	std::memcpy(there.storage().data(), memory.data(), memory.nbytes());
	return there.storage();
}

void cpu_arguments::update()
{
	for (const auto &[_, memory] : by_cpu_storage_) {
		if (memory.cpu.data() == memory.given.data())
			continue;
		/* the CPU's function resized the memory */
		enlarge(memory.given, memory.cpu.nbytes());
		std::memcpy(memory.given.data(), memory.cpu.data(), memory.cpu.nbytes());
	}
	for (const auto &[_, t] : by_cpu_tensor_) {
		if (t.given.is_same(t.cpu))
			continue;
		c10::TensorImpl *impl = t.given.unsafeGetTensorImpl();
		const auto found = by_cpu_storage_.find(t.cpu.storage().unsafeGetStorageImpl());
		const c10::Storage memory = found == by_cpu_storage_.end() ?
			new_on_card(t.cpu.storage(), t.given.device()) : found->second.given;

		TORCH_CHECK(memory.device() == t.given.device(), "a tensor on ", t.given.device(),
			    " cannot have memory of ", memory.device());
		if (!memory.is_alias_of(t.given.storage()))
			impl->set_storage_keep_dtype(memory);
		if (t.given.sizes() != t.cpu.sizes() || t.given.strides() != t.cpu.strides() ||
		    t.given.storage_offset() != t.cpu.storage_offset())
			impl->set_sizes_and_strides(t.cpu.sizes(), t.cpu.strides(),
						    t.cpu.storage_offset());
		t.given._set_conj(t.cpu.is_conj());
		t.given._set_neg(t.cpu.is_neg());
	}
}

/* Returns a result on the card. It is an argument, a view of an argument's memory, or new. */
at::Tensor cpu_arguments::to_card(const at::Tensor &t) const
{
	if (!t.defined())
		return t;
	const auto argument = by_cpu_tensor_.find(t.unsafeGetTensorImpl());
	if (argument != by_cpu_tensor_.end())
		return argument->second.given;
	const auto base = t.has_storage() ?
		by_cpu_storage_.find(t.storage().unsafeGetStorageImpl()) : by_cpu_storage_.end();
	if (base != by_cpu_storage_.end())
		return on_card(base->second.given.device()) ?
			like_in(t, base->second.given, privateuse1) : t;
	const auto device = device_argument_ ? device_argument_ : first_card_;
	return device ? t.to(*device) : t;
}

c10::IValue cpu_arguments::to_card(const c10::IValue &value) const
{
	if (value.isTensor())
		return to_card(value.toTensor());
	if (value.isTensorList()) {
		c10::List<at::Tensor> there;

		for (const at::Tensor &one : value.toTensorVector())
			there.push_back(to_card(one));
		return there;
	}
	return value;
}

void compute_on_cpu(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
	const std::size_t num_arguments = op.schema().arguments().size();
	const std::size_t num_results = op.schema().returns().size();
	cpu_arguments args;

	for (auto value = stack->end() - num_arguments; value != stack->end(); value++)
		*value = args.to_cpu(*value);
	op.redispatchBoxed(cpu, stack);
	args.update();
	for (auto value = stack->end() - num_results; value != stack->end(); value++)
		*value = args.to_card(*value);
}

/* ---- convolution --------------------------------------------------------------------- */

using tensor = at::Tensor;
using numbers = at::IntArrayRef;

static tensor convolution(const tensor &input, const tensor &weight,
			  const c10::optional<tensor> &bias, numbers stride, numbers padding,
			  numbers dilation, bool transposed, numbers output_padding,
			  std::int64_t groups)
{
	check_one_card({ input, weight, bias.value_or(tensor()) });
	const auto bias_there = bias && bias->defined() ? c10::make_optional(bias->cpu()) : bias;

	return at::convolution(input.cpu(), weight.cpu(), bias_there, stride, padding, dilation,
			       transposed, output_padding, groups).to(input.device());
}

static std::tuple<tensor, tensor, tensor>
convolution_backward(const tensor &grad, const tensor &input, const tensor &weight,
		     numbers stride, numbers padding, numbers dilation, bool transposed,
		     numbers output_padding, std::int64_t groups, std::array<bool, 3> wanted)
{
	check_one_card({ grad, input, weight });
	const std::int64_t bias_size = grad.size(1);
	const auto there = at::convolution_backward(grad.cpu(), input.cpu(), weight.cpu(),
						    numbers(bias_size), stride, padding, dilation,
						    transposed, output_padding, groups, wanted);
	const auto back = [&](const tensor &t) { return t.defined() ? t.to(input.device()) : t; };

	return { back(std::get<0>(there)), back(std::get<1>(there)), back(std::get<2>(there)) };
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
	m.impl("convolution_overrideable", TORCH_FN(convolution));
	m.impl("convolution_backward_overrideable", TORCH_FN(convolution_backward));
}
