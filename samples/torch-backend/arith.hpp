/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares the functions that a card can compute, on arrays of floats.
 */
#ifndef ARITH_HPP
#define ARITH_HPP

#include <cstdint>
#include <vector>

struct array {
	float *data;
	std::vector<std::int64_t> sizes;
	std::vector<std::int64_t> strides;	/* in floats */

	float &at(std::int64_t i, std::int64_t j) const
	{
		return data[i * strides[0] + j * strides[1]];
	}
	/* Returns the stride in dimension @d of @dims; 0 where the array is broadcast. */
	std::int64_t stride(std::size_t d, std::size_t dims) const
	{
		const std::size_t missing = dims - sizes.size();

		return d < missing || sizes[d - missing] == 1 ? 0 : strides[d - missing];
	}
};

/*
 * Call f(x, y, z) with each element of @x and the elements of @y and @z at the same place.
 * @y and @z are broadcast to the sizes of @x.
 */
template <class F> void for_each(const array &x, const array &y, const array &z, F f)
{
	const std::size_t dims = x.sizes.size();
	std::vector<std::int64_t> index(dims);
	std::int64_t i = 0, j = 0, k = 0;
	std::size_t d;

	for (std::int64_t size : x.sizes)
		if (!size)
			return;
	do {
		f(x.data[i], y.data[j], z.data[k]);
		for (d = dims; d-- > 0;) {
			const std::int64_t back = ++index[d] < x.sizes[d] ? 0 : x.sizes[d];

			i += x.stride(d, dims) * (1 - back);
			j += y.stride(d, dims) * (1 - back);
			k += z.stride(d, dims) * (1 - back);
			if (!back)
				break;
			index[d] = 0;
		}
	} while (d < dims);
}

/* out = scale * a * b + keep * out, for matrices */
void matmul(const array &out, const array &a, const array &b, float scale, float keep);
/* Computes the sum of @a over the dimensions in which @out, without gaps, has size 1. */
void sum(const array &out, const array &a);

/* These take arrays of @rows rows of @n floats without gaps. */
void softmax(float *out, const float *a, std::int64_t rows, std::int64_t n);
void log_softmax(float *out, const float *a, std::int64_t rows, std::int64_t n);
void softmax_backward(float *out, const float *grad, const float *result, std::int64_t rows,
		      std::int64_t n);
void log_softmax_backward(float *out, const float *grad, const float *result, std::int64_t rows,
			  std::int64_t n);

#endif /* ARITH_HPP */
