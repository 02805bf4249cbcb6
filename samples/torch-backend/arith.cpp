// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "arith.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

void matmul(const array &out, const array &a, const array &b, float scale, float keep)
{
	for (std::int64_t i = 0; i < out.sizes[0]; i++) {
		for (std::int64_t j = 0; j < out.sizes[1]; j++) {
			double total = 0;

			for (std::int64_t k = 0; k < a.sizes[1]; k++)
				total += a.at(i, k) * b.at(k, j);
			/* new memory can contain NaN, and 0 * NaN is not 0 */
			out.at(i, j) = scale * total + (keep ? keep * out.at(i, j) : 0);
		}
	}
}

void sum(const array &out, const array &a)
{
	/* @out is contiguous, so the place of an element is also its number */
	std::vector<double> totals(std::accumulate(out.sizes.begin(), out.sizes.end(),
						   std::size_t(1), std::multiplies<>()));

	for_each(a, out, out, [&](float x, float &o, float) { totals[&o - out.data] += x; });
	std::copy(totals.begin(), totals.end(), out.data);
}

void softmax(float *out, const float *a, std::int64_t rows, std::int64_t n)
{
	log_softmax(out, a, rows, n);
	std::transform(out, out + rows * n, out, [](float x) { return std::exp(x); });
}

void log_softmax(float *out, const float *a, std::int64_t rows, std::int64_t n)
{
	for (; n && rows--; out += n, a += n) {
		const float most = *std::max_element(a, a + n);
		double total = 0;

		for (std::int64_t i = 0; i < n; i++)
			total += std::exp(a[i] - most);
		for (std::int64_t i = 0; i < n; i++)
			out[i] = a[i] - most - std::log(total);
	}
}

void softmax_backward(float *out, const float *grad, const float *result, std::int64_t rows,
		      std::int64_t n)
{
	for (; rows--; out += n, grad += n, result += n) {
		double total = 0;

		for (std::int64_t i = 0; i < n; i++)
			total += grad[i] * result[i];
		for (std::int64_t i = 0; i < n; i++)
			out[i] = result[i] * (grad[i] - total);
	}
}

void log_softmax_backward(float *out, const float *grad, const float *result, std::int64_t rows,
			  std::int64_t n)
{
	for (; rows--; out += n, grad += n, result += n) {
		double total = 0;

		for (std::int64_t i = 0; i < n; i++)
			total += grad[i];
		for (std::int64_t i = 0; i < n; i++)
			out[i] = grad[i] - std::exp(result[i]) * total;
	}
}
