// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the enumerators of PyTorch's versions: their numbers, and the bits and table entries that
 * follow from SEMANTICS 1.3 and 3. Tests the maps of SEMANTICS 4.2 and 4.4, which depend on the
 * version.
 */
#include <dispatchkey.h>
#include "tap.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* The keys of 1.3, with which those of 1.4 begin. */
#define KEYS_1_3							\
	"0 Undefined, 1 CPUTensorId, 2 CUDATensorId, 3 MKLDNNTensorId, " \
	"4 OpenGLTensorId, 5 OpenCLTensorId, 6 IDEEPTensorId, 7 HIPTensorId, " \
	"8 SparseHIPTensorId, 9 MSNPUTensorId, 10 XLATensorId, "	\
	"11 MkldnnCPUTensorId, 12 QuantizedCPUTensorId, 13 ComplexCPUTensorId, " \
	"14 ComplexCUDATensorId, 15 SparseCPUTensorId, 16 SparseCUDATensorId, " \
	"17 VariableTensorId"

static const struct version {
	const char *names[6];		/* layouts with the same keys */
	const char *backends, *functionalities, *aliases;
} versions[] = {
	{ { "pytorch-2.14", "pytorch-2.13" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, 11 MTIA, "
	  "12 MAIA, 13 PrivateUse1Bit, 14 PrivateUse2Bit, 15 PrivateUse3Bit, "
	  "16 MetaBit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 Vulkan, 4 Metal, 5 Quantized*, "
	  "6 CustomRNGKeyId, 7 MkldnnCPU, 8 Sparse*, 9 SparseCsr*, "
	  "10 NestedTensor*, 11 BackendSelect, 12 Fake, 13 Python, "
	  "14 FuncTorchDynamicLayerBackMode, 15 Functionalize, 16 Conjugate, "
	  "17 Negative, 18 ZeroTensor, 19 ADInplaceOrView, 20 AutogradOther, "
	  "21 AutogradFunctionality*, 22 AutogradNestedTensor, 23 Tracer, "
	  "24 AutocastCPU, 25 AutocastMTIA, 26 AutocastMAIA, 27 AutocastXPU, "
	  "28 AutocastIPU, 29 AutocastHPU, 30 AutocastXLA, 31 AutocastMPS, "
	  "32 AutocastCUDA, 33 AutocastPrivateUse1, 34 FuncTorchBatched, "
	  "35 BatchedNestedTensor, 36 FuncTorchVmapMode, 37 Batched, "
	  "38 VmapMode, 39 FuncTorchGradWrapper, 40 DeferredInit, "
	  "41 PythonTLSSnapshot, 42 FuncTorchDynamicLayerFrontMode, "
	  "43 TESTING_ONLY_GenericWrapper, 44 TESTING_ONLY_GenericMode, "
	  "45 PreDispatch, 46 PythonDispatcher",
	  "150 Autograd, 151 CompositeImplicitAutograd, "
	  "152 FuncTorchBatchedDecomposition, "
	  "153 CompositeImplicitAutogradNestedTensor, "
	  "154 CompositeExplicitAutograd, "
	  "155 CompositeExplicitAutogradNonFunctional" },
	{ { "pytorch-2.12", "pytorch-2.10", "pytorch-2.9", "pytorch-2.8", "pytorch-2.11" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, 11 MTIA, "
	  "12 MAIA, 13 PrivateUse1Bit, 14 PrivateUse2Bit, 15 PrivateUse3Bit, "
	  "16 MetaBit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 Vulkan, 4 Metal, 5 Quantized*, "
	  "6 CustomRNGKeyId, 7 MkldnnCPU, 8 Sparse*, 9 SparseCsr*, "
	  "10 NestedTensor*, 11 BackendSelect, 12 Python, 13 Fake, "
	  "14 FuncTorchDynamicLayerBackMode, 15 Functionalize, 16 Named, "
	  "17 Conjugate, 18 Negative, 19 ZeroTensor, 20 ADInplaceOrView, "
	  "21 AutogradOther, 22 AutogradFunctionality*, "
	  "23 AutogradNestedTensor, 24 Tracer, 25 AutocastCPU, "
	  "26 AutocastMTIA, 27 AutocastMAIA, 28 AutocastXPU, 29 AutocastIPU, "
	  "30 AutocastHPU, 31 AutocastXLA, 32 AutocastMPS, 33 AutocastCUDA, "
	  "34 AutocastPrivateUse1, 35 FuncTorchBatched, "
	  "36 BatchedNestedTensor, 37 FuncTorchVmapMode, 38 Batched, "
	  "39 VmapMode, 40 FuncTorchGradWrapper, 41 DeferredInit, "
	  "42 PythonTLSSnapshot, 43 FuncTorchDynamicLayerFrontMode, "
	  "44 TESTING_ONLY_GenericWrapper, 45 TESTING_ONLY_GenericMode, "
	  "46 PreDispatch, 47 PythonDispatcher",
	  "151 Autograd, 152 CompositeImplicitAutograd, "
	  "153 FuncTorchBatchedDecomposition, "
	  "154 CompositeImplicitAutogradNestedTensor, "
	  "155 CompositeExplicitAutograd, "
	  "156 CompositeExplicitAutogradNonFunctional" },
	{ { "pytorch-2.7" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, 11 MTIA, "
	  "12 PrivateUse1Bit, 13 PrivateUse2Bit, 14 PrivateUse3Bit, "
	  "15 MetaBit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 MAIA, 4 Vulkan, 5 Metal, "
	  "6 Quantized*, 7 CustomRNGKeyId, 8 MkldnnCPU, 9 Sparse*, "
	  "10 SparseCsr*, 11 NestedTensor*, 12 BackendSelect, 13 Python, "
	  "14 Fake, 15 FuncTorchDynamicLayerBackMode, 16 Functionalize, "
	  "17 Named, 18 Conjugate, 19 Negative, 20 ZeroTensor, "
	  "21 ADInplaceOrView, 22 AutogradOther, 23 AutogradFunctionality*, "
	  "24 AutogradNestedTensor, 25 Tracer, 26 AutocastCPU, "
	  "27 AutocastMTIA, 28 AutocastXPU, 29 AutocastIPU, 30 AutocastHPU, "
	  "31 AutocastXLA, 32 AutocastMPS, 33 AutocastCUDA, "
	  "34 AutocastPrivateUse1, 35 FuncTorchBatched, "
	  "36 BatchedNestedTensor, 37 FuncTorchVmapMode, 38 Batched, "
	  "39 VmapMode, 40 FuncTorchGradWrapper, 41 DeferredInit, "
	  "42 PythonTLSSnapshot, 43 FuncTorchDynamicLayerFrontMode, "
	  "44 TESTING_ONLY_GenericWrapper, 45 TESTING_ONLY_GenericMode, "
	  "46 PreDispatch, 47 PythonDispatcher",
	  "145 Autograd, 146 CompositeImplicitAutograd, "
	  "147 FuncTorchBatchedDecomposition, "
	  "148 CompositeImplicitAutogradNestedTensor, "
	  "149 CompositeExplicitAutograd, "
	  "150 CompositeExplicitAutogradNonFunctional" },
	{ { "pytorch-2.6", "pytorch-2.5" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, 11 MTIA, "
	  "12 PrivateUse1Bit, 13 PrivateUse2Bit, 14 PrivateUse3Bit, "
	  "15 MetaBit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 MAIA, 4 Vulkan, 5 Metal, "
	  "6 Quantized*, 7 CustomRNGKeyId, 8 MkldnnCPU, 9 Sparse*, "
	  "10 SparseCsr*, 11 NestedTensor*, 12 BackendSelect, 13 Python, "
	  "14 Fake, 15 FuncTorchDynamicLayerBackMode, 16 Functionalize, "
	  "17 Named, 18 Conjugate, 19 Negative, 20 ZeroTensor, "
	  "21 ADInplaceOrView, 22 AutogradOther, 23 AutogradFunctionality*, "
	  "24 AutogradNestedTensor, 25 Tracer, 26 AutocastCPU, "
	  "27 AutocastXPU, 28 AutocastIPU, 29 AutocastHPU, 30 AutocastXLA, "
	  "31 AutocastMPS, 32 AutocastCUDA, 33 AutocastPrivateUse1, "
	  "34 FuncTorchBatched, 35 BatchedNestedTensor, "
	  "36 FuncTorchVmapMode, 37 Batched, 38 VmapMode, "
	  "39 FuncTorchGradWrapper, 40 DeferredInit, 41 PythonTLSSnapshot, "
	  "42 FuncTorchDynamicLayerFrontMode, "
	  "43 TESTING_ONLY_GenericWrapper, 44 TESTING_ONLY_GenericMode, "
	  "45 PreDispatch, 46 PythonDispatcher",
	  "144 Autograd, 145 CompositeImplicitAutograd, "
	  "146 FuncTorchBatchedDecomposition, "
	  "147 CompositeImplicitAutogradNestedTensor, "
	  "148 CompositeExplicitAutograd, "
	  "149 CompositeExplicitAutogradNonFunctional" },
	{ { "pytorch-2.4" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, 11 MTIA, "
	  "12 PrivateUse1Bit, 13 PrivateUse2Bit, 14 PrivateUse3Bit, "
	  "15 MetaBit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 MAIA, 4 Vulkan, 5 Metal, "
	  "6 Quantized*, 7 CustomRNGKeyId, 8 MkldnnCPU, 9 Sparse*, "
	  "10 SparseCsr*, 11 NestedTensor*, 12 BackendSelect, 13 Python, "
	  "14 Fake, 15 FuncTorchDynamicLayerBackMode, 16 Functionalize, "
	  "17 Named, 18 Conjugate, 19 Negative, 20 ZeroTensor, "
	  "21 ADInplaceOrView, 22 AutogradOther, 23 AutogradFunctionality*, "
	  "24 AutogradNestedTensor, 25 Tracer, 26 AutocastCPU, "
	  "27 AutocastXPU, 28 AutocastIPU, 29 AutocastHPU, 30 AutocastXLA, "
	  "31 AutocastCUDA, 32 AutocastPrivateUse1, 33 FuncTorchBatched, "
	  "34 BatchedNestedTensor, 35 FuncTorchVmapMode, 36 Batched, "
	  "37 VmapMode, 38 FuncTorchGradWrapper, 39 DeferredInit, "
	  "40 PythonTLSSnapshot, 41 FuncTorchDynamicLayerFrontMode, "
	  "42 TESTING_ONLY_GenericWrapper, 43 TESTING_ONLY_GenericMode, "
	  "44 PreDispatch, 45 PythonDispatcher",
	  "143 Autograd, 144 CompositeImplicitAutograd, "
	  "145 FuncTorchBatchedDecomposition, "
	  "146 CompositeImplicitAutogradNestedTensor, "
	  "147 CompositeExplicitAutograd, "
	  "148 CompositeExplicitAutogradNonFunctional" },
	{ { "pytorch-2.3" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, 11 MTIA, "
	  "12 PrivateUse1Bit, 13 PrivateUse2Bit, 14 PrivateUse3Bit, "
	  "15 MetaBit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 ORT, 4 Vulkan, 5 Metal, "
	  "6 Quantized*, 7 CustomRNGKeyId, 8 MkldnnCPU, 9 Sparse*, "
	  "10 SparseCsr*, 11 NestedTensor*, 12 BackendSelect, 13 Python, "
	  "14 Fake, 15 FuncTorchDynamicLayerBackMode, 16 Functionalize, "
	  "17 Named, 18 Conjugate, 19 Negative, 20 ZeroTensor, "
	  "21 ADInplaceOrView, 22 AutogradOther, 23 AutogradFunctionality*, "
	  "24 AutogradNestedTensor, 25 Tracer, 26 AutocastCPU, "
	  "27 AutocastXPU, 28 AutocastIPU, 29 AutocastHPU, 30 AutocastXLA, "
	  "31 AutocastCUDA, 32 AutocastPrivateUse1, 33 FuncTorchBatched, "
	  "34 BatchedNestedTensor, 35 FuncTorchVmapMode, 36 Batched, "
	  "37 VmapMode, 38 FuncTorchGradWrapper, 39 DeferredInit, "
	  "40 PythonTLSSnapshot, 41 FuncTorchDynamicLayerFrontMode, "
	  "42 TESTING_ONLY_GenericWrapper, 43 TESTING_ONLY_GenericMode, "
	  "44 PreDispatch, 45 PythonDispatcher",
	  "143 Autograd, 144 CompositeImplicitAutograd, "
	  "145 FuncTorchBatchedDecomposition, "
	  "146 CompositeImplicitAutogradNestedTensor, "
	  "147 CompositeExplicitAutograd, "
	  "148 CompositeExplicitAutogradNonFunctional" },
	{ { "pytorch-2.2" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, 11 MTIA, "
	  "12 PrivateUse1Bit, 13 PrivateUse2Bit, 14 PrivateUse3Bit, "
	  "15 MetaBit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 ORT, 4 Vulkan, 5 Metal, "
	  "6 Quantized*, 7 CustomRNGKeyId, 8 MkldnnCPU, 9 Sparse*, "
	  "10 SparseCsrCPU, 11 SparseCsrCUDA, 12 NestedTensor*, "
	  "13 BackendSelect, 14 Python, 15 Fake, "
	  "16 FuncTorchDynamicLayerBackMode, 17 Functionalize, 18 Named, "
	  "19 Conjugate, 20 Negative, 21 ZeroTensor, 22 ADInplaceOrView, "
	  "23 AutogradOther, 24 AutogradFunctionality*, "
	  "25 AutogradNestedTensor, 26 Tracer, 27 AutocastCPU, "
	  "28 AutocastXPU, 29 AutocastIPU, 30 AutocastHPU, 31 AutocastXLA, "
	  "32 AutocastCUDA, 33 AutocastPrivateUse1, 34 FuncTorchBatched, "
	  "35 BatchedNestedTensor, 36 FuncTorchVmapMode, 37 Batched, "
	  "38 VmapMode, 39 FuncTorchGradWrapper, 40 DeferredInit, "
	  "41 PythonTLSSnapshot, 42 FuncTorchDynamicLayerFrontMode, "
	  "43 TESTING_ONLY_GenericWrapper, 44 TESTING_ONLY_GenericMode, "
	  "45 PreDispatch, 46 PythonDispatcher",
	  "128 Autograd, 129 CompositeImplicitAutograd, "
	  "130 FuncTorchBatchedDecomposition, "
	  "131 CompositeImplicitAutogradNestedTensor, "
	  "132 CompositeExplicitAutograd, "
	  "133 CompositeExplicitAutogradNonFunctional" },
	{ { "pytorch-2.1" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, 11 MTIA, "
	  "12 PrivateUse1Bit, 13 PrivateUse2Bit, 14 PrivateUse3Bit, "
	  "15 MetaBit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 ORT, 4 Vulkan, 5 Metal, "
	  "6 Quantized*, 7 CustomRNGKeyId, 8 MkldnnCPU, 9 Sparse*, "
	  "10 SparseCsrCPU, 11 SparseCsrCUDA, 12 NestedTensor*, "
	  "13 BackendSelect, 14 Python, 15 Fake, "
	  "16 FuncTorchDynamicLayerBackMode, 17 Functionalize, 18 Named, "
	  "19 Conjugate, 20 Negative, 21 ZeroTensor, 22 ADInplaceOrView, "
	  "23 AutogradOther, 24 AutogradFunctionality*, "
	  "25 AutogradNestedTensor, 26 Tracer, 27 AutocastCPU, "
	  "28 AutocastXPU, 29 AutocastIPU, 30 AutocastHPU, 31 AutocastXLA, "
	  "32 AutocastCUDA, 33 AutocastPrivateUse1, 34 FuncTorchBatched, "
	  "35 FuncTorchVmapMode, 36 Batched, 37 VmapMode, "
	  "38 FuncTorchGradWrapper, 39 DeferredInit, 40 PythonTLSSnapshot, "
	  "41 FuncTorchDynamicLayerFrontMode, "
	  "42 TESTING_ONLY_GenericWrapper, 43 TESTING_ONLY_GenericMode, "
	  "44 PreDispatch, 45 PythonDispatcher",
	  "127 Autograd, 128 CompositeImplicitAutograd, "
	  "129 FuncTorchBatchedDecomposition, "
	  "130 CompositeImplicitAutogradNestedTensor, "
	  "131 CompositeExplicitAutograd, "
	  "132 CompositeExplicitAutogradNonFunctional" },
	{ { "pytorch-2.1-pre" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, 11 MTIA, "
	  "12 PrivateUse1Bit, 13 PrivateUse2Bit, 14 PrivateUse3Bit, "
	  "15 MetaBit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 ORT, 4 Vulkan, 5 Metal, "
	  "6 Quantized*, 7 CustomRNGKeyId, 8 MkldnnCPU, 9 Sparse*, "
	  "10 SparseCsrCPU, 11 SparseCsrCUDA, 12 NestedTensor*, "
	  "13 BackendSelect, 14 Python, 15 Fake, "
	  "16 FuncTorchDynamicLayerBackMode, 17 Functionalize, 18 Named, "
	  "19 Conjugate, 20 Negative, 21 ZeroTensor, 22 ADInplaceOrView, "
	  "23 AutogradOther, 24 AutogradFunctionality*, "
	  "25 AutogradNestedTensor, 26 Tracer, 27 AutocastCPU, "
	  "28 AutocastXPU, 29 AutocastHPU, 30 AutocastCUDA, "
	  "31 FuncTorchBatched, 32 FuncTorchVmapMode, 33 Batched, "
	  "34 VmapMode, 35 FuncTorchGradWrapper, 36 DeferredInit, "
	  "37 PythonTLSSnapshot, 38 FuncTorchDynamicLayerFrontMode, "
	  "39 TESTING_ONLY_GenericWrapper, 40 TESTING_ONLY_GenericMode, "
	  "41 PythonDispatcher",
	  "123 Autograd, 124 CompositeImplicitAutograd, "
	  "125 FuncTorchBatchedDecomposition, "
	  "126 CompositeImplicitAutogradNestedTensor, "
	  "127 CompositeExplicitAutograd, "
	  "128 CompositeExplicitAutogradNonFunctional" },
	{ { "pytorch-2.0" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, 11 MetaBit, "
	  "12 MTIA, 13 PrivateUse1Bit, 14 PrivateUse2Bit, 15 PrivateUse3Bit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 ORT, 4 Vulkan, 5 Metal, "
	  "6 Quantized*, 7 CustomRNGKeyId, 8 MkldnnCPU, 9 Sparse*, "
	  "10 SparseCsrCPU, 11 SparseCsrCUDA, 12 NestedTensor*, "
	  "13 BackendSelect, 14 Python, 15 Fake, "
	  "16 FuncTorchDynamicLayerBackMode, 17 Functionalize, 18 Named, "
	  "19 Conjugate, 20 Negative, 21 ZeroTensor, 22 ADInplaceOrView, "
	  "23 AutogradOther, 24 AutogradFunctionality*, "
	  "25 AutogradNestedTensor, 26 Tracer, 27 AutocastCPU, "
	  "28 AutocastXPU, 29 AutocastHPU, 30 AutocastCUDA, "
	  "31 FuncTorchBatched, 32 FuncTorchVmapMode, 33 Batched, "
	  "34 VmapMode, 35 FuncTorchGradWrapper, 36 DeferredInit, "
	  "37 PythonTLSSnapshot, 38 FuncTorchDynamicLayerFrontMode, "
	  "39 TESTING_ONLY_GenericWrapper, 40 TESTING_ONLY_GenericMode, "
	  "41 PythonDispatcher",
	  "123 Autograd, 124 CompositeImplicitAutograd, "
	  "125 FuncTorchBatchedDecomposition, "
	  "126 CompositeImplicitAutogradNestedTensor, "
	  "127 CompositeExplicitAutograd, "
	  "128 CompositeExplicitAutogradNonFunctional" },
	{ { "pytorch-2.0-pre" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, 11 MetaBit, "
	  "12 PrivateUse1Bit, 13 PrivateUse2Bit, 14 PrivateUse3Bit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 ORT, 4 Vulkan, 5 Metal, "
	  "6 Quantized*, 7 CustomRNGKeyId, 8 MkldnnCPU, 9 Sparse*, "
	  "10 SparseCsrCPU, 11 SparseCsrCUDA, 12 NestedTensor*, "
	  "13 BackendSelect, 14 Python, 15 Fake, "
	  "16 FuncTorchDynamicLayerBackMode, 17 Functionalize, 18 Named, "
	  "19 Conjugate, 20 Negative, 21 ZeroTensor, 22 ADInplaceOrView, "
	  "23 AutogradOther, 24 AutogradFunctionality*, "
	  "25 AutogradNestedTensor, 26 Tracer, 27 AutocastCPU, "
	  "28 AutocastXPU, 29 AutocastHPU, 30 AutocastCUDA, "
	  "31 FuncTorchBatched, 32 FuncTorchVmapMode, 33 Batched, "
	  "34 VmapMode, 35 FuncTorchGradWrapper, 36 DeferredInit, "
	  "37 PythonTLSSnapshot, 38 FuncTorchDynamicLayerFrontMode, "
	  "39 TESTING_ONLY_GenericWrapper, 40 TESTING_ONLY_GenericMode, "
	  "41 PythonDispatcher",
	  "118 Autograd, 119 CompositeImplicitAutograd, "
	  "120 FuncTorchBatchedDecomposition, "
	  "121 CompositeImplicitAutogradNestedTensor, "
	  "122 CompositeExplicitAutograd, "
	  "123 CompositeExplicitAutogradNonFunctional" },
	{ { "pytorch-1.13" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, 11 MetaBit, "
	  "12 PrivateUse1Bit, 13 PrivateUse2Bit, 14 PrivateUse3Bit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 ORT, 4 Vulkan, 5 Metal, "
	  "6 Quantized*, 7 CustomRNGKeyId, 8 MkldnnCPU, 9 Sparse*, "
	  "10 SparseCsrCPU, 11 SparseCsrCUDA, 12 NestedTensor*, "
	  "13 BackendSelect, 14 Python, 15 Fake, "
	  "16 FuncTorchDynamicLayerBackMode, 17 Functionalize, 18 Named, "
	  "19 Conjugate, 20 Negative, 21 ZeroTensor, 22 ADInplaceOrView, "
	  "23 AutogradOther, 24 AutogradFunctionality*, "
	  "25 AutogradNestedTensor, 26 Tracer, 27 AutocastCPU, "
	  "28 AutocastXPU, 29 AutocastCUDA, 30 FuncTorchBatched, "
	  "31 FuncTorchVmapMode, 32 Batched, 33 VmapMode, "
	  "34 FuncTorchGradWrapper, 35 DeferredInit, 36 PythonTLSSnapshot, "
	  "37 FuncTorchDynamicLayerFrontMode, "
	  "38 TESTING_ONLY_GenericWrapper, 39 TESTING_ONLY_GenericMode, "
	  "40 PythonDispatcher",
	  "117 Autograd, 118 CompositeImplicitAutograd, "
	  "119 CompositeImplicitAutogradNestedTensor, "
	  "120 CompositeExplicitAutograd, "
	  "121 CompositeExplicitAutogradNonFunctional" },
	{ { "pytorch-1.12" },
	  "0 InvalidBit, 1 CPUBit, 2 CUDABit, 3 HIPBit, 4 XLABit, 5 MPSBit, "
	  "6 IPUBit, 7 XPUBit, 8 HPUBit, 9 VEBit, 10 LazyBit, "
	  "11 PrivateUse1Bit, 12 PrivateUse2Bit, 13 PrivateUse3Bit",
	  "0 Undefined, 1 Dense*, 2 FPGA, 3 ORT, 4 Vulkan, 5 Metal, 6 Meta, "
	  "7 Quantized*, 8 CustomRNGKeyId, 9 MkldnnCPU, 10 Sparse*, "
	  "11 SparseCsrCPU, 12 SparseCsrCUDA, 13 NestedTensor*, "
	  "14 BackendSelect, 15 Python, 16 Fake, 17 Named, 18 Conjugate, "
	  "19 Negative, 20 ZeroTensor, 21 FuncTorchDynamicLayerBackMode, "
	  "22 ADInplaceOrView, 23 AutogradOther, 24 AutogradFunctionality*, "
	  "25 AutogradNestedTensor, 26 Tracer, 27 AutocastCPU, "
	  "28 AutocastXPU, 29 AutocastCUDA, 30 FuncTorchBatched, "
	  "31 FuncTorchVmapMode, 32 Batched, 33 VmapMode, "
	  "34 FuncTorchGradWrapper, 35 Functionalize, 36 DeferredInit, "
	  "37 PythonTLSSnapshot, 38 FuncTorchDynamicLayerFrontMode, "
	  "39 TESTING_ONLY_GenericWrapper, 40 TESTING_ONLY_GenericMode",
	  "112 Autograd, 113 CompositeImplicitAutograd, "
	  "114 CompositeExplicitAutograd" },
	{ { "pytorch-1.11" },
	  "0 InvalidBit",
	  "0 Undefined, 1 CPU, 2 CUDA, 3 HIP, 4 FPGA, 5 ORT, 6 XLA, 7 MLC, "
	  "8 Vulkan, 9 Metal, 10 XPU, 11 HPU, 12 VE, 13 Lazy, 14 Meta, "
	  "15 QuantizedCPU, 16 QuantizedCUDA, 17 QuantizedXPU, "
	  "18 CustomRNGKeyId, 19 MkldnnCPU, 20 SparseCPU, 21 SparseCUDA, "
	  "22 SparseHIP, 23 SparseXPU, 24 SparseVE, 25 SparseCsrCPU, "
	  "26 SparseCsrCUDA, 27 NestedTensor, 28 PrivateUse1, "
	  "29 PrivateUse2, 30 PrivateUse3, 31 BackendSelect, 32 Python, "
	  "33 Named, 34 Conjugate, 35 Negative, 36 ZeroTensor, "
	  "37 FuncTorchDynamicLayerBackMode, 38 ADInplaceOrView, "
	  "39 AutogradOther, 40 AutogradCPU, 41 AutogradCUDA, "
	  "42 AutogradXLA, 43 AutogradLazy, 44 AutogradXPU, 45 AutogradMLC, "
	  "46 AutogradHPU, 47 AutogradNestedTensor, 48 AutogradPrivateUse1, "
	  "49 AutogradPrivateUse2, 50 AutogradPrivateUse3, 51 Tracer, "
	  "52 AutocastCPU, 53 AutocastCUDA, 54 FuncTorchBatched, "
	  "55 FuncTorchVmapMode, 56 Batched, 57 VmapMode, "
	  "58 FuncTorchGradWrapper, 59 Functionalize, "
	  "60 FuncTorchDynamicLayerFrontMode, "
	  "61 TESTING_ONLY_GenericWrapper, 62 TESTING_ONLY_GenericMode",
	  "64 Autograd, 65 CompositeImplicitAutograd, "
	  "66 CompositeExplicitAutograd" },
	{ { "pytorch-1.10" },
	  "0 InvalidBit",
	  "0 Undefined, 1 CPU, 2 CUDA, 3 HIP, 4 FPGA, 5 ORT, 6 XLA, 7 MLC, "
	  "8 Vulkan, 9 Metal, 10 XPU, 11 HPU, 12 VE, 13 Lazy, 14 Meta, "
	  "15 QuantizedCPU, 16 QuantizedCUDA, 17 QuantizedXPU, "
	  "18 CustomRNGKeyId, 19 MkldnnCPU, 20 SparseCPU, 21 SparseCUDA, "
	  "22 SparseHIP, 23 SparseXPU, 24 SparseVE, 25 SparseCsrCPU, "
	  "26 SparseCsrCUDA, 27 NestedTensor, 28 PrivateUse1, "
	  "29 PrivateUse2, 30 PrivateUse3, 31 BackendSelect, 32 Python, "
	  "33 FuncTorchPython, 34 Named, 35 Conjugate, 36 Negative, "
	  "37 FuncTorchDynamicLayerBackMode, 38 ADInplaceOrView, "
	  "39 AutogradOther, 40 AutogradCPU, 41 AutogradCUDA, "
	  "42 AutogradXLA, 43 AutogradLazy, 44 AutogradXPU, 45 AutogradMLC, "
	  "46 AutogradHPU, 47 AutogradNestedTensor, 48 AutogradPrivateUse1, "
	  "49 AutogradPrivateUse2, 50 AutogradPrivateUse3, 51 Tracer, "
	  "52 AutocastCPU, 53 AutocastCUDA, 54 FuncTorchBatched, "
	  "55 FuncTorchVmapMode, 56 Batched, 57 VmapMode, "
	  "58 FuncTorchGradWrapper, 59 FuncTorchDynamicLayerFrontMode, "
	  "60 TESTING_ONLY_GenericWrapper, 61 TESTING_ONLY_GenericMode",
	  "63 Autograd, 64 CompositeImplicitAutograd, "
	  "65 CompositeExplicitAutograd" },
	{ { "pytorch-1.9" },
	  "0 InvalidBit",
	  "0 Undefined, 1 CPU, 2 CUDA, 3 HIP, 4 FPGA, 5 MSNPU, 6 XLA, 7 MLC, "
	  "8 Vulkan, 9 Metal, 10 XPU, 11 HPU, 12 Meta, 13 QuantizedCPU, "
	  "14 QuantizedCUDA, 15 QuantizedXPU, 16 CustomRNGKeyId, "
	  "17 MkldnnCPU, 18 SparseCPU, 19 SparseCUDA, 20 SparseHIP, "
	  "21 SparseXPU, 22 SparseCsrCPU, 23 SparseCsrCUDA, 24 NestedTensor, "
	  "25 PrivateUse1, 26 PrivateUse2, 27 PrivateUse3, 28 BackendSelect, "
	  "29 FuncTorchPython, 30 Named, 31 FuncTorchDynamicLayerBackMode, "
	  "32 ADInplaceOrView, 33 AutogradOther, 34 AutogradCPU, "
	  "35 AutogradCUDA, 36 AutogradXLA, 37 AutogradXPU, 38 AutogradMLC, "
	  "39 AutogradHPU, 40 AutogradNestedTensor, 41 AutogradPrivateUse1, "
	  "42 AutogradPrivateUse2, 43 AutogradPrivateUse3, 44 Tracer, "
	  "45 AutocastCUDA, 46 FuncTorchBatched, 47 FuncTorchVmapMode, "
	  "48 Batched, 49 VmapMode, 50 FuncTorchGradWrapper, "
	  "51 FuncTorchDynamicLayerFrontMode, "
	  "52 TESTING_ONLY_GenericWrapper, 53 TESTING_ONLY_GenericMode",
	  "55 Autograd, 56 CompositeImplicitAutograd, "
	  "57 CompositeExplicitAutograd" },
	{ { "pytorch-1.8" },
	  "0 InvalidBit",
	  "0 Undefined, 1 CPU, 2 CUDA, 3 HIP, 4 FPGA, 5 MSNPU, 6 XLA, "
	  "7 Vulkan, 8 Metal, 9 XPU, 10 MKLDNN, 11 OpenGL, 12 OpenCL, "
	  "13 IDEEP, 14 QuantizedCPU, 15 QuantizedCUDA, 16 QuantizedXPU, "
	  "17 ComplexCPU, 18 ComplexCUDA, 19 CustomRNGKeyId, 20 MkldnnCPU, "
	  "21 SparseCPU, 22 SparseCUDA, 23 SparseHIP, 24 SparseXPU, "
	  "25 NestedTensor, 26 PrivateUse1, 27 PrivateUse2, 28 PrivateUse3, "
	  "29 Meta, 30 BackendSelect, 31 Named, 32 AutogradOther, "
	  "33 AutogradCPU, 34 AutogradCUDA, 35 AutogradXLA, "
	  "36 AutogradNestedTensor, 37 AutogradXPU, 38 AutogradPrivateUse1, "
	  "39 AutogradPrivateUse2, 40 AutogradPrivateUse3, 41 Tracer, "
	  "42 Autocast, 43 Batched, 44 VmapMode, "
	  "45 TESTING_ONLY_GenericWrapper, 46 TESTING_ONLY_GenericMode",
	  "48 Autograd, 49 Math, 50 DefaultBackend" },
	{ { "pytorch-1.7" },
	  "0 InvalidBit",
	  "0 Undefined, 1 CPU, 2 CUDA, 3 HIP, 4 FPGA, 5 MSNPU, 6 XLA, "
	  "7 Vulkan, 8 MKLDNN, 9 OpenGL, 10 OpenCL, 11 IDEEP, "
	  "12 QuantizedCPU, 13 QuantizedCUDA, 14 ComplexCPU, 15 ComplexCUDA, "
	  "16 CustomRNGKeyId, 17 MkldnnCPU, 18 SparseCPU, 19 SparseCUDA, "
	  "20 SparseHIP, 21 PrivateUse1, 22 PrivateUse2, 23 PrivateUse3, "
	  "24 Meta, 25 BackendSelect, 26 Named, 27 AutogradOther, "
	  "28 AutogradCPU, 29 AutogradCUDA, 30 AutogradXLA, "
	  "31 AutogradPrivateUse1, 32 AutogradPrivateUse2, "
	  "33 AutogradPrivateUse3, 34 Tracer, 35 Autocast, 36 Batched, "
	  "37 VmapMode, 38 TESTING_ONLY_GenericWrapper, "
	  "39 TESTING_ONLY_GenericMode",
	  "41 Autograd, 42 Math" },
	{ { "pytorch-1.6" },
	  "0 InvalidBit",
	  "0 Undefined, 1 CPU, 2 CUDA, 3 HIP, 4 FPGA, 5 MSNPU, 6 XLA, "
	  "7 Vulkan, 8 MKLDNN, 9 OpenGL, 10 OpenCL, 11 IDEEP, "
	  "12 QuantizedCPU, 13 QuantizedCUDA, 14 ComplexCPU, 15 ComplexCUDA, "
	  "16 CustomRNGKeyId, 17 MkldnnCPU, 18 SparseCPU, 19 SparseCUDA, "
	  "20 SparseHIP, 21 PrivateUse1, 22 PrivateUse2, 23 PrivateUse3, "
	  "24 Meta, 25 BackendSelect, 26 Named, 27 Autograd, 28 Profiler, "
	  "29 Tracer, 30 XLAPreAutograd, 31 Autocast, "
	  "32 PrivateUse1_PreAutograd, 33 PrivateUse2_PreAutograd, "
	  "34 PrivateUse3_PreAutograd, 35 Batched, "
	  "36 TESTING_ONLY_GenericWrapper, 37 TESTING_ONLY_GenericMode",
	  "" },
	{ { "pytorch-1.5" },
	  "0 InvalidBit",
	  "0 Undefined, 1 CPUTensorId, 2 CUDATensorId, 3 HIPTensorId, "
	  "4 MSNPUTensorId, 5 XLATensorId, 6 MKLDNNTensorId, "
	  "7 OpenGLTensorId, 8 OpenCLTensorId, 9 IDEEPTensorId, "
	  "10 QuantizedCPUTensorId, 11 ComplexCPUTensorId, "
	  "12 ComplexCUDATensorId, 13 CustomRNGKeyId, 14 MkldnnCPUTensorId, "
	  "15 SparseCPUTensorId, 16 SparseCUDATensorId, "
	  "17 SparseHIPTensorId, 18 PrivateUse1_TensorId, "
	  "19 PrivateUse2_TensorId, 20 PrivateUse3_TensorId, "
	  "21 BackendSelect, 22 VariableTensorId, 23 XLAPreAutograd, "
	  "24 PrivateUse1_PreAutogradTensorId, "
	  "25 PrivateUse2_PreAutogradTensorId, "
	  "26 PrivateUse3_PreAutogradTensorId, "
	  "27 TESTING_ONLY_GenericWrapperTensorId, "
	  "28 TESTING_ONLY_GenericModeTensorId",
	  "" },
	{ { "pytorch-1.4" },
	  "0 InvalidBit",
	  KEYS_1_3 ", "
	  "18 TESTING_ONLY_GenericWrapperTensorId, "
	  "19 TESTING_ONLY_GenericModeTensorId",
	  "" },
	{ { "pytorch-1.3" },
	  "0 InvalidBit",
	  KEYS_1_3,
	  "" },
};

static char word[DK_NAME_MAX];

/* Reads "NUMBER NAME" or "NUMBER NAME*", and stores the name in word[]. Returns the rest. */
static const char *next(const char *list, unsigned int *number, bool *star)
{
	int n = 0;

	if (sscanf(list, "%u %127[^,]%n", number, word, &n) != 2)
		return NULL;
	*star = word[strlen(word) - 1] == '*';
	if (*star)
		word[strlen(word) - 1] = 0;
	list += n;
	return *list ? list + strlen(", ") : list;
}

static const char *name_of(const struct dk_layout *l, unsigned int key)
{
	static char buf[DK_NAME_MAX];

	return dk_key_name(l, key, buf);
}

/*
 * Expects that the key has the name in word[]. 1.10 to 1.12 print AutocastCUDA with its earlier
 * name.
 */
static void expect_name(const struct dk_layout *l, unsigned int key)
{
	unsigned int parsed = ~0U;

	EXPECT_EQ(dk_key_parse(l, word, 0, &parsed, NULL), 0);
	EXPECT_EQ(parsed, key);
	if (!strncmp(dk_layout_name(l), "pytorch-1.", 10) && !strcmp(word, "AutocastCUDA") &&
	    strcmp(dk_layout_name(l), "pytorch-1.13"))
		EXPECT_STREQ(name_of(l, key), "Autocast");
	else
		EXPECT_STREQ(name_of(l, key), word);
}

static unsigned int expect_backends(const struct dk_layout *l, const char *list)
{
	unsigned int b, n = 0, parsed;
	bool star;

	for (; (list = next(list, &b, &star)); n++) {
		EXPECT_EQ(b, n);
		EXPECT_STREQ(dk_backend_bit_name(l, b), word);
		EXPECT_EQ(dk_backend_bit_parse(l, word, &parsed, NULL), 0);
		EXPECT_EQ(parsed, b);
	}
	EXPECT_EQ(dk_layout_backends(l), n - 1);
	return n - 1;
}

/* Checks the runtime keys of a functionality with a key for each backend. */
static void expect_block(const struct dk_layout *l, unsigned int f, unsigned int bit,
			 unsigned int key, unsigned int entry)
{
	unsigned int b, nb = dk_layout_backends(l);

	EXPECT_EQ(dk_key_kind(l, key), DK_KIND_SENTINEL);
	for (b = 1; b <= nb; b++) {
		EXPECT_EQ(dk_runtime_key(l, f, b), key + b);
		EXPECT_EQ(dk_key_functionality(l, key + b), f);
		EXPECT_EQ(dk_key_backend(l, key + b), b);
		EXPECT_EQ(dk_key_set(l, key + b).bits, 1ULL << bit | 1ULL << (b - 1));
		EXPECT_EQ(dk_key_slot(l, key + b), entry + b - 1);
		EXPECT_EQ(dk_slot_key(l, entry + b - 1), key + b);
	}
}

static void expect_version(const struct dk_layout *l, const struct version *v)
{
	unsigned int nb = expect_backends(l, v->backends);
	unsigned int f, n = 0, entry = 0, key = dk_layout_functionalities(l) + 1;
	const char *list = v->functionalities;
	bool star;

	for (; (list = next(list, &f, &star)); n++) {
		EXPECT_EQ(f, n);
		expect_name(l, f);
		EXPECT_EQ(dk_key_set(l, f).bits, f ? 1ULL << (nb + f - 1) : 0);
		EXPECT_EQ(dk_is_per_backend(l, f), star);
		EXPECT_EQ(dk_key_slot(l, f), entry);
		if (star) {
			expect_block(l, f, nb + f - 1, key, entry);
			key += nb + 1;
		}
		entry += star ? nb : 1;
	}
	EXPECT_EQ(dk_layout_functionalities(l), n);
	EXPECT_EQ(dk_layout_entries(l), entry);
	for (list = v->aliases; (list = next(list, &f, &star)); key++) {
		EXPECT_EQ(f, key);
		expect_name(l, f);
		EXPECT_EQ(dk_key_kind(l, f), DK_KIND_ALIAS);
		EXPECT_EQ(dk_key_set(l, f).bits, 0);
	}
	EXPECT_EQ(dk_layout_keys(l), key);
}

TEST(every_enumerator)
{
	const char *const *name;
	unsigned int i;

	for (i = 0; i < COUNT(versions); i++)
		for (name = versions[i].names; *name; name++)
			expect_version(dk_layout_find(*name, NULL), &versions[i]);
	expect_version(NULL, &versions[0]);
}

/* SEMANTICS 4.4: the version that added the autocast key of each backend. */
TEST(autocast_keys_by_version)
{
	static const struct {
		const char *bit, *key;
		unsigned int since;	/* index in known[] */
	} autocast[] = {
		{ "CPUBit", "AutocastCPU", 0 }, { "CUDABit", "AutocastCUDA", 0 },
		{ "XPUBit", "AutocastXPU", 0 }, { "HPUBit", "AutocastHPU", 1 },
		{ "IPUBit", "AutocastIPU", 2 }, { "XLABit", "AutocastXLA", 2 },
		{ "PrivateUse1Bit", "AutocastPrivateUse1", 2 },
		{ "MPSBit", "AutocastMPS", 3 }, { "MTIA", "AutocastMTIA", 4 },
		{ "MAIA", "AutocastMAIA", 5 }, { "HIPBit", NULL, 0 },
		{ "VEBit", NULL, 0 }, { "LazyBit", NULL, 0 }, { "MetaBit", NULL, 0 },
		{ "PrivateUse2Bit", NULL, 0 }, { "PrivateUse3Bit", NULL, 0 },
	};
	static const char *const known[] = {
		"pytorch-1.13", "pytorch-2.0", "pytorch-2.4", "pytorch-2.6",
		"pytorch-2.7", "pytorch-2.14",
	};
	unsigned int i, k, b, key;

	for (i = 0; i < COUNT(known); i++) {
		const struct dk_layout *l = dk_layout_find(known[i], NULL);

		for (k = 0; k < COUNT(autocast); k++) {
			const char *name = autocast[k].key;

			if (dk_backend_bit_parse(l, autocast[k].bit, &b, NULL))
				continue;
			if (name && autocast[k].since > i)
				name = strcmp(name, "AutocastXLA") ? NULL : "AutocastCUDA";
			key = 0;
			if (name)
				EXPECT_EQ(dk_key_parse(l, name, 0, &key, NULL), 0);
			if (!EXPECT_EQ(dk_autocast_of_backend(l, b).bits,
				       dk_key_set(l, key).bits))
				printf("#   %s %s\n", known[i], autocast[k].bit);
		}
	}
}

/* SEMANTICS 4.2: the set of the keys that share AutogradOther. It also has all backend bits. */
TEST(other_backends_by_version)
{
	static const char *const others[][2] = {
		{ "pytorch-1.13", "FPGA|ORT|Vulkan|Metal|Quantized|CustomRNGKeyId|"
				  "MkldnnCPU|Sparse|SparseCsrCPU|SparseCsrCUDA" },
		{ "pytorch-2.0", "FPGA|ORT|Vulkan|Metal|Quantized|CustomRNGKeyId|"
				 "MkldnnCPU|Sparse|SparseCsrCPU|SparseCsrCUDA" },
		{ "pytorch-2.4", "FPGA|MAIA|Vulkan|Metal|Quantized|CustomRNGKeyId|"
				 "MkldnnCPU|Sparse|SparseCsr" },
		{ "pytorch-2.6", "FPGA|MAIA|Vulkan|Metal|Quantized|CustomRNGKeyId|"
				 "MkldnnCPU|Sparse|SparseCsr" },
		{ "pytorch-2.7", "FPGA|MAIA|Vulkan|Metal|Quantized|CustomRNGKeyId|"
				 "MkldnnCPU|Sparse|SparseCsr" },
		{ "pytorch-2.14", "FPGA|Vulkan|Metal|Quantized|CustomRNGKeyId|"
				  "MkldnnCPU|Sparse|SparseCsr" },
	};
	unsigned int i, key = 0;

	for (i = 0; i < COUNT(others); i++) {
		const struct dk_layout *l = dk_layout_find(others[i][0], NULL);
		struct dk_keyset ks = { 0 }, want = { 0 };

		EXPECT_EQ(dk_keyset_parse(l, others[i][1], &want, NULL), 0);
		want.bits |= (1ULL << dk_layout_backends(l)) - 1;
		EXPECT_EQ(dk_constant_set(l, "autogradother_backends", &ks, NULL), 0);
		EXPECT_EQ(ks.bits, want.bits);
		/* the set of CompositeExplicitAutograd also has Dense */
		want.bits |= dk_key_set(l, 1).bits;
		EXPECT_EQ(dk_key_parse(l, "CompositeExplicitAutograd", 0, &key, NULL), 0);
		EXPECT_EQ(dk_alias_set(l, key).bits, want.bits);
	}
}
