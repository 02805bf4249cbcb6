// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Operators that PyTorch's CPU fallback cannot serve: convolution, which has another name
 * for the CPU, and indexing, whose lists of tensors the fallback does not copy.
 */
#include "functions.hpp"

#include <ATen/ATen.h>
#include <torch/library.h>

using tensor = at::Tensor;
using numbers = at::IntArrayRef;
using indices = c10::List<c10::optional<tensor>>;

static tensor convolution(const tensor &input, const tensor &weight,
			  const c10::optional<tensor> &bias, numbers stride, numbers padding,
			  numbers dilation, bool transposed, numbers output_padding,
			  std::int64_t groups)
{
	const auto bias_there = bias && bias->defined() ? c10::make_optional(bias->cpu()) : bias;

	return at::convolution(input.cpu(), weight.cpu(), bias_there, stride, padding, dilation,
			       transposed, output_padding, groups).to(input.device());
}

static std::tuple<tensor, tensor, tensor>
convolution_backward(const tensor &grad, const tensor &input, const tensor &weight,
		     numbers stride, numbers padding, numbers dilation, bool transposed,
		     numbers output_padding, std::int64_t groups, std::array<bool, 3> wanted)
{
	const std::int64_t bias_size = grad.size(1);
	const auto there = at::convolution_backward(grad.cpu(), input.cpu(), weight.cpu(),
						    numbers(bias_size), stride, padding, dilation,
						    transposed, output_padding, groups, wanted);
	const auto back = [&](const tensor &t) { return t.defined() ? t.to(input.device()) : t; };

	return { back(std::get<0>(there)), back(std::get<1>(there)), back(std::get<2>(there)) };
}

static indices on_cpu(const indices &all)
{
	indices there;

	for (const c10::optional<tensor> one : all)
		there.push_back(one && one->defined() ? one->cpu() : one);
	return there;
}

static tensor at_indices(const tensor &self, const indices &at)
{
	return at::index(self.cpu(), on_cpu(at)).to(self.device());
}

static tensor &put_at_indices(tensor &self, const indices &at, const tensor &values,
			      bool accumulate, bool unsafe)
{
	tensor there = self.cpu();

	at::_index_put_impl_(there, on_cpu(at), values.cpu(), accumulate, unsafe);
	return self.copy_(there);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
	m.impl("convolution_overrideable", TORCH_FN(convolution));
	m.impl("convolution_backward_overrideable", TORCH_FN(convolution_backward));
	m.impl("index.Tensor", TORCH_FN(at_indices));
	m.impl("_index_put_impl_", TORCH_FN(put_at_indices));
}
