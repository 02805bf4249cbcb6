/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The operators of the samples: for all who define, implement or call them, in
 * the kernel and in userspace. Both are sleepable.
 */
#ifndef _SAMPLES_OPS_H
#define _SAMPLES_OPS_H

#include <dispatchkey.h>

/* *res = n! modulo 2^32; @x says where to compute. */
DK_OP(sample_factorial, "sample::factorial",
	(const struct dk_obj *x, __u32 n, __u32 *res), (x, n, res), (x));

/* From this one on, a factorial is 0 modulo 2^32. */
#define SAMPLE_FACTORIAL_ZERO	34

/**
 * struct sample_buf - bytes that live on the CPU or on a device
 * @dk: what calls dispatch on
 * @len: how many bytes
 * @data: in host memory always; the device only says who works on them
 */
struct sample_buf {
	struct dk_obj dk;
	__u32 len;
	void *data;
};

/* All of @src to the beginning of @dst; -EINVAL where it does not fit. */
DK_OP(sample_copy, "sample::copy",
	(struct sample_buf *dst, const struct sample_buf *src), (dst, src),
	(&dst->dk, &src->dk));

#endif /* _SAMPLES_OPS_H */
