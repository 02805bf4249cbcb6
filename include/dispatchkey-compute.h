/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Computes the key of a tensor from its dtype, layout and device, and the reverse.
 * Included by <dispatchkey.h>. Rules: SEMANTICS 10, see Documentation/semantics.rst.
 *
 * These functions exist in userspace and on bare metal, but not in the kernel module.
 */
#ifndef _DISPATCHKEY_COMPUTE_H
#define _DISPATCHKEY_COMPUTE_H

#include <dispatchkey-base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dk_compute_key() - the key of a tensor
 * @l: layout, NULL for v1
 * @dtype: such as "float32" or "qint8"; NULL for float32
 * @layout: "Strided", "Jagged", "Sparse", "SparseCsr", "SparseCsc",
 *	"SparseBsr", "SparseBsc" or "Mkldnn", or as PyTorch prints it, such as
 *	"sparse_coo"; NULL for Strided
 * @device: such as "CPU", "CUDA" or "PrivateUse1", or as PyTorch prints it, such
 *	as "cuda:0" or "privateuseone"; NULL for CPU
 * @key: set to the key, which is never an autograd key
 * @why: filled on failure; may be NULL
 *
 * Equivalent to PyTorch's computeDispatchKey().
 *
 * Context: Any. Not in the kernel module.
 * Return:
 * * 0: success
 * * -EINVAL: a word is unknown, or the PyTorch version of @l has no such layout or device
 *   (reasons BAD_DTYPE, BAD_TENSOR_LAYOUT, BAD_DEVICE_TYPE)
 * * -EOPNOTSUPP: the device does not support the layout (reasons DEVICE_DENSE,
 *   DEVICE_SPARSE, DEVICE_SPARSE_CSR, DEVICE_SPARSE_CSC, DEVICE_SPARSE_BSR,
 *   DEVICE_SPARSE_BSC, DEVICE_MKLDNN), or the rules of @l are unknown (reason NO_SETS)
 */
int dk_compute_key(const struct dk_layout *l, const char *dtype, const char *layout,
		   const char *device, unsigned int *key, struct dk_diag *why);

/**
 * dk_key_device_type() - the device type of a key
 * @l: layout, NULL for v1
 * @key: any number
 * @device: set to its name, a constant string such as "CPU"
 * @why: filled on failure; may be NULL
 *
 * Equivalent to PyTorch's dispatchKeyToDeviceType().
 *
 * Context: Any. Not in the kernel module.
 * Return: 0, or -EINVAL (reason NO_DEVICE_TYPE) if the key has no device type, or if
 * PyTorch's function does not support the key (for example FPGA, Metal, QuantizedMAIA).
 */
int dk_key_device_type(const struct dk_layout *l, unsigned int key,
		       const char **device, struct dk_diag *why);

/**
 * dk_key_tensor_layout() - the layout of a key's tensors
 * @l: layout, NULL for v1
 * @key: any number
 * @layout: set to its name, a constant string: "Sparse", "Mkldnn" or
 *	"Strided"
 * @why: filled on failure; may be NULL
 *
 * Equivalent to PyTorch's dispatchKeyToLayout(): the layout of a key that is neither
 * sparse nor for Mkldnn is "Strided".
 *
 * Context: Any. Not in the kernel module.
 * Return: 0, or -EINVAL (reason NO_UNIQUE_LAYOUT) for the keys of SparseCsr, which
 * stand for four layouts.
 */
int dk_key_tensor_layout(const struct dk_layout *l, unsigned int key,
			 const char **layout, struct dk_diag *why);

/**
 * dk_device_type_number() - PyTorch's number of a device type
 * @l: layout, NULL for v1
 * @name: as @device of dk_compute_key(), such as "CUDA" or "cuda:0"; NULL for CPU
 * @why: filled on failure; may be NULL
 *
 * The number is the value of PyTorch's enum DeviceType. Values differ between versions:
 * PrivateUse1 is 19 in PyTorch up to 1.13, which has no MTIA, and 20 in later versions.
 * Number 8 is MAIA (formerly ORT).
 *
 * Context: Any. Not in the kernel module.
 * Return: The number; -EINVAL (reason BAD_DEVICE_TYPE) if the PyTorch version of @l has no such
 * device type; -EOPNOTSUPP (reason NO_SETS) if @l has no backends: the numbers before 1.12 are not
 * known.
 */
int dk_device_type_number(const struct dk_layout *l, const char *name,
			  struct dk_diag *why);

/**
 * dk_device_type_name() - the device type with a given number
 * @l: layout, NULL for v1
 * @number: any number
 *
 * Context: Any. Not in the kernel module.
 * Return: A constant string, such as "CUDA"; NULL for an invalid number, and if @l has no backends.
 */
const char *dk_device_type_name(const struct dk_layout *l, unsigned int number);

/**
 * dk_tensor_layout_number() - PyTorch's number of a tensor layout
 * @l: layout, NULL for v1
 * @name: as @layout of dk_compute_key(), such as "Strided" or "sparse_coo"; NULL for Strided
 * @why: filled on failure; may be NULL
 *
 * Context: Any. Not in the kernel module.
 * Return: The number; -EINVAL (reason BAD_TENSOR_LAYOUT) if the PyTorch version of @l has no such
 * layout; -EOPNOTSUPP (reason NO_SETS) if @l has no backends: the numbers before 1.12 are not
 * known.
 */
int dk_tensor_layout_number(const struct dk_layout *l, const char *name,
			    struct dk_diag *why);

/**
 * dk_tensor_layout_name() - the tensor layout with a given number
 * @l: layout, NULL for v1
 * @number: any number
 *
 * Context: Any. Not in the kernel module.
 * Return: A constant string, such as "Strided"; NULL for an invalid number, and if @l has no
 * backends.
 */
const char *dk_tensor_layout_name(const struct dk_layout *l, unsigned int number);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_COMPUTE_H */
