/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * Defines the bit layout "v1" of dispatchkey's keysets.
 *
 * v1 equals the layout of PyTorch 2.14.1 and never changes; a new key requires a
 * v2. A keyset is one 64-bit word: bit B - 1 for backend B, and bit
 * DK_NUM_BACKENDS + F - 1 for functionality F. A call is routed by the highest
 * functionality.
 *
 * Keys are 16-bit numbers: the functionality keys, then for each per-backend
 * functionality a block with a runtime key for each backend, then the alias keys.
 */
#ifndef _UAPI_LINUX_DISPATCHKEY_H
#define _UAPI_LINUX_DISPATCHKEY_H

#ifdef DK_BARE
#include <dispatchkey-bare.h>
#else
#include <linux/types.h>
#endif

/*
 * A module or library and its users must be built with the same ABI version, because parts of the
 * library are compiled into callers and functions.
 */
#define DK_ABI_VERSION		1
#define DK_LAYOUT_NAME		"v1"

/*
 * X(ENUM, Name, "printed bit", arg) for each backend component, lowest bit first. arg is
 * passed on to X. DK__NONE is an empty arg.
 */
#define DK__NONE
#define DK_BACKENDS(X, arg)						\
	X(CPU, CPU, "CPUBit", arg)					\
	X(CUDA, CUDA, "CUDABit", arg)					\
	X(HIP, HIP, "HIPBit", arg)					\
	X(XLA, XLA, "XLABit", arg)					\
	X(MPS, MPS, "MPSBit", arg)					\
	X(IPU, IPU, "IPUBit", arg)					\
	X(XPU, XPU, "XPUBit", arg)					\
	X(HPU, HPU, "HPUBit", arg)					\
	X(VE, VE, "VEBit", arg)						\
	X(LAZY, Lazy, "LazyBit", arg)					\
	X(MTIA, MTIA, "MTIA", arg)					\
	X(MAIA, MAIA, "MAIA", arg)					\
	X(PRIVATEUSE1, PrivateUse1, "PrivateUse1Bit", arg)		\
	X(PRIVATEUSE2, PrivateUse2, "PrivateUse2Bit", arg)		\
	X(PRIVATEUSE3, PrivateUse3, "PrivateUse3Bit", arg)		\
	X(META, Meta, "MetaBit", arg)

/* X(ENUM, Name, per_backend) for each functionality key, lowest priority first. */
#define DK_FUNCTIONALITIES(X)						\
	X(UNDEFINED, Undefined, 0)					\
	X(DENSE, Dense, 1)						\
	X(FPGA, FPGA, 0)						\
	X(VULKAN, Vulkan, 0)						\
	X(METAL, Metal, 0)						\
	X(QUANTIZED, Quantized, 1)					\
	X(CUSTOM_RNG_KEY_ID, CustomRNGKeyId, 0)				\
	X(MKLDNN_CPU, MkldnnCPU, 0)					\
	X(SPARSE, Sparse, 1)						\
	X(SPARSE_CSR, SparseCsr, 1)					\
	X(NESTED_TENSOR, NestedTensor, 1)				\
	X(BACKEND_SELECT, BackendSelect, 0)				\
	X(FAKE, Fake, 0)						\
	X(PYTHON, Python, 0)						\
	X(FUNCTORCH_DYNAMIC_LAYER_BACK_MODE, FuncTorchDynamicLayerBackMode, 0) \
	X(FUNCTIONALIZE, Functionalize, 0)				\
	X(CONJUGATE, Conjugate, 0)					\
	X(NEGATIVE, Negative, 0)					\
	X(ZERO_TENSOR, ZeroTensor, 0)					\
	X(ADINPLACE_OR_VIEW, ADInplaceOrView, 0)			\
	X(AUTOGRAD_OTHER, AutogradOther, 0)				\
	X(AUTOGRAD_FUNCTIONALITY, AutogradFunctionality, 1)		\
	X(AUTOGRAD_NESTED_TENSOR, AutogradNestedTensor, 0)		\
	X(TRACER, Tracer, 0)						\
	X(AUTOCAST_CPU, AutocastCPU, 0)					\
	X(AUTOCAST_MTIA, AutocastMTIA, 0)				\
	X(AUTOCAST_MAIA, AutocastMAIA, 0)				\
	X(AUTOCAST_XPU, AutocastXPU, 0)					\
	X(AUTOCAST_IPU, AutocastIPU, 0)					\
	X(AUTOCAST_HPU, AutocastHPU, 0)					\
	X(AUTOCAST_XLA, AutocastXLA, 0)					\
	X(AUTOCAST_MPS, AutocastMPS, 0)					\
	X(AUTOCAST_CUDA, AutocastCUDA, 0)				\
	X(AUTOCAST_PRIVATEUSE1, AutocastPrivateUse1, 0)			\
	X(FUNCTORCH_BATCHED, FuncTorchBatched, 0)			\
	X(BATCHED_NESTED_TENSOR, BatchedNestedTensor, 0)		\
	X(FUNCTORCH_VMAP_MODE, FuncTorchVmapMode, 0)			\
	X(BATCHED, Batched, 0)						\
	X(VMAP_MODE, VmapMode, 0)					\
	X(FUNCTORCH_GRAD_WRAPPER, FuncTorchGradWrapper, 0)		\
	X(DEFERRED_INIT, DeferredInit, 0)				\
	X(PYTHON_TLS_SNAPSHOT, PythonTLSSnapshot, 0)			\
	X(FUNCTORCH_DYNAMIC_LAYER_FRONT_MODE, FuncTorchDynamicLayerFrontMode, 0) \
	X(TESTING_ONLY_GENERIC_WRAPPER, TESTING_ONLY_GenericWrapper, 0)	\
	X(TESTING_ONLY_GENERIC_MODE, TESTING_ONLY_GenericMode, 0)	\
	X(PRE_DISPATCH, PreDispatch, 0)					\
	X(PYTHON_DISPATCHER, PythonDispatcher, 0)

/* X(ENUM, Name) for each alias key, in the order of their numbers. */
#define DK_ALIASES(X)							\
	X(AUTOGRAD, Autograd)						\
	X(COMPOSITE_IMPLICIT_AUTOGRAD, CompositeImplicitAutograd)	\
	X(FUNCTORCH_BATCHED_DECOMPOSITION, FuncTorchBatchedDecomposition) \
	X(COMPOSITE_IMPLICIT_AUTOGRAD_NESTED_TENSOR,			\
	  CompositeImplicitAutogradNestedTensor)			\
	X(COMPOSITE_EXPLICIT_AUTOGRAD, CompositeExplicitAutograd)	\
	X(COMPOSITE_EXPLICIT_AUTOGRAD_NON_FUNCTIONAL,			\
	  CompositeExplicitAutogradNonFunctional)

/* Backend components: bits of a keyset, which are not keys. */
enum dk_backend {
	DK_BACKEND_INVALID = 0,
#define DK__BACKEND(U, N, P, arg) DK_BACKEND_##U,
	DK_BACKENDS(DK__BACKEND, DK__NONE)
#undef DK__BACKEND
	DK__BACKEND_END
};

#define DK_NUM_BACKENDS		(DK__BACKEND_END - 1)

/* Keys, with PyTorch's numbers. */
enum dk_key {
#define DK__FUNCTIONALITY(U, N, P) DK_##U,
	DK_FUNCTIONALITIES(DK__FUNCTIONALITY)
#undef DK__FUNCTIONALITY
	DK_END_OF_FUNCTIONALITY_KEYS,
#define DK__RUNTIME(U, N, P, prefix) DK_##prefix##U,
	DK_START_OF_DENSE_BACKENDS,
	DK_BACKENDS(DK__RUNTIME, DK__NONE)
	DK_START_OF_QUANTIZED_BACKENDS,
	DK_BACKENDS(DK__RUNTIME, QUANTIZED_)
	DK_START_OF_SPARSE_BACKENDS,
	DK_BACKENDS(DK__RUNTIME, SPARSE_)
	DK_START_OF_SPARSE_CSR_BACKENDS,
	DK_BACKENDS(DK__RUNTIME, SPARSE_CSR_)
	DK_START_OF_NESTED_TENSOR_BACKENDS,
	DK_BACKENDS(DK__RUNTIME, NESTED_TENSOR_)
	DK_START_OF_AUTOGRAD_BACKENDS,
	DK_BACKENDS(DK__RUNTIME, AUTOGRAD_)
#undef DK__RUNTIME
	DK_END_OF_RUNTIME_BACKEND_KEYS = DK_AUTOGRAD_META,
#define DK__ALIAS(U, N) DK_##U,
	DK_ALIASES(DK__ALIAS)
#undef DK__ALIAS
	DK__KEY_END,
	DK_START_OF_ALIAS_KEYS = DK_AUTOGRAD,
	DK_END_OF_ALIAS_KEYS = DK__KEY_END - 1,
	/* other names of the same numbers */
	DK_CATCH_ALL = DK_UNDEFINED,
	DK_CPU_TENSOR_ID = DK_CPU,
	DK_CUDA_TENSOR_ID = DK_CUDA,
	DK_DEFAULT_BACKEND = DK_COMPOSITE_EXPLICIT_AUTOGRAD,
	DK_PRIVATEUSE1_PRE_AUTOGRAD = DK_AUTOGRAD_PRIVATEUSE1,
	DK_PRIVATEUSE2_PRE_AUTOGRAD = DK_AUTOGRAD_PRIVATEUSE2,
	DK_PRIVATEUSE3_PRE_AUTOGRAD = DK_AUTOGRAD_PRIVATEUSE3,
	DK_AUTOCAST = DK_AUTOCAST_CUDA
};

#define DK_NUM_FUNCTIONALITIES	DK_END_OF_FUNCTIONALITY_KEYS

/*
 * Entries of a dispatch table: DK_SLOT_x is the first one of functionality x,
 * DK_SLOT_LAST_x the last one.
 */
enum dk_slot {
#define DK__SLOT(U, N, per_backend)					\
	DK_SLOT_##U,							\
	DK_SLOT_LAST_##U = DK_SLOT_##U +				\
			   ((per_backend) ? DK_NUM_BACKENDS - 1 : 0),
	DK_FUNCTIONALITIES(DK__SLOT)
#undef DK__SLOT
	DK_NUM_ENTRIES
};

/* The bit of a backend component, and of a functionality key. */
#define DK_BACKEND_BIT(b)	(1ULL << ((b) - 1))
#define DK_FUNCTIONALITY_BIT(f)	(1ULL << (DK_NUM_BACKENDS + (f) - 1))

#define DK_BACKEND_MASK		((1ULL << DK_NUM_BACKENDS) - 1)
#define DK_FULL								\
	((1ULL << (DK_NUM_BACKENDS + DK_NUM_FUNCTIONALITIES - 1)) - 1)

/* The functionalities with a table entry for each backend, as a keyset. */
#define DK__PER_BACKEND(U, N, per_backend)				\
	| ((per_backend) ? DK_FUNCTIONALITY_BIT(DK_##U) : 0)
#define DK_PER_BACKEND_MASK	(0ULL DK_FUNCTIONALITIES(DK__PER_BACKEND))

/* The local state of a new thread: its included and its excluded set. */
#define DK_DEFAULT_INCLUDED						\
	(DK_FUNCTIONALITY_BIT(DK_BACKEND_SELECT) |			\
	 DK_FUNCTIONALITY_BIT(DK_ADINPLACE_OR_VIEW))
#define DK_DEFAULT_EXCLUDED						\
	(DK_FUNCTIONALITY_BIT(DK_AUTOCAST_PRIVATEUSE1 + 1) -		\
	 DK_FUNCTIONALITY_BIT(DK_AUTOCAST_CPU))

/*
 * The keyset of a key, which is a constant if the key is a constant. A per-backend
 * runtime key has the bits of its functionality and its backend. A building block has
 * only the bit of its functionality. The sets of Undefined and of alias keys are
 * empty. The key is evaluated more than once.
 */
#define DK__BLOCK(k)							\
	(((k) - DK_START_OF_DENSE_BACKENDS) / (DK_NUM_BACKENDS + 1))
#define DK__BLOCK_BACKEND(k)						\
	(((k) - DK_START_OF_DENSE_BACKENDS) % (DK_NUM_BACKENDS + 1))
#define DK__BLOCK_FUNCTIONALITY(n)					\
	((n) == 0 ? DK_DENSE : (n) == 1 ? DK_QUANTIZED :		\
	 (n) == 2 ? DK_SPARSE : (n) == 3 ? DK_SPARSE_CSR :		\
	 (n) == 4 ? DK_NESTED_TENSOR : DK_AUTOGRAD_FUNCTIONALITY)
#define DK_KEY_BITS(k)							\
	((k) <= DK_UNDEFINED || (k) > DK_END_OF_RUNTIME_BACKEND_KEYS ?	\
	 0ULL :								\
	 (k) <= DK_END_OF_FUNCTIONALITY_KEYS ?				\
	 DK_FUNCTIONALITY_BIT((k) <= DK_UNDEFINED ? 1 : (k)) :		\
	 DK_FUNCTIONALITY_BIT(DK__BLOCK_FUNCTIONALITY(DK__BLOCK(k))) |	\
	 ((1ULL << DK__BLOCK_BACKEND((k) < DK_START_OF_DENSE_BACKENDS ?	\
				     DK_START_OF_DENSE_BACKENDS : (k))) >> 1))

#ifdef __cplusplus
#define DK__STATIC_ASSERT(what, why) static_assert(what, why)
#else
#define DK__STATIC_ASSERT(what, why) _Static_assert(what, why)
#endif

DK__STATIC_ASSERT(DK_NUM_BACKENDS <= 16, "at most 16 backends");
DK__STATIC_ASSERT(DK_NUM_BACKENDS + DK_NUM_FUNCTIONALITIES <= 64,
		  "a keyset is 64 bits");
DK__STATIC_ASSERT(DK_NUM_ENTRIES < 65536, "a table index is 16 bits");
DK__STATIC_ASSERT(DK_NUM_BACKENDS == 16 && DK_NUM_FUNCTIONALITIES == 47 &&
		  DK_NUM_ENTRIES == 137, "layout v1 never changes");
DK__STATIC_ASSERT(DK_CPU == 49 && DK_AUTOGRAD_META == 149 &&
		  DK_AUTOGRAD == 150 && DK_END_OF_ALIAS_KEYS == 155,
		  "the keys of layout v1 never change");

#endif /* _UAPI_LINUX_DISPATCHKEY_H */
