// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Defines the builtin layouts other than v1, as texts in the format of Documentation/layouts.rst
 * (SEMANTICS 1.2, 1.3). For some versions, it is not known which keys the alias keys stand for,
 * which autograd key each backend has, and which names PyTorch's own parser accepts. The texts of
 * these versions have no lines "tables" and "strict".
 */
#include "pytorch.h"

/* ---- lines of several versions ---------------------------------------------- */

#define ALIASES_2_0							\
	"aliases Autograd CompositeImplicitAutograd FuncTorchBatchedDecomposition " \
	"CompositeImplicitAutogradNestedTensor CompositeExplicitAutograd " \
	"CompositeExplicitAutogradNonFunctional\n"

#define BACKENDS_2_1							\
	"backends CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA=MTIA "	\
	"PrivateUse1 PrivateUse2 PrivateUse3 Meta\n"

#define BACKENDS_1_13							\
	"backends CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy Meta "	\
	"PrivateUse1 PrivateUse2 PrivateUse3\n"

#define STRICT_AUTOGRAD							\
	"strict AutogradFunctionality CPU CUDA XLA MPS IPU XPU HPU Lazy " \
	"PrivateUse1 PrivateUse2 PrivateUse3 Meta\n"

#define STRICT_2_4(nested)						\
	"strict Quantized CPU CUDA XPU PrivateUse1\n"			\
	"strict Sparse CPU CUDA HIP XPU VE PrivateUse1 Meta\n"		\
	"strict SparseCsr CPU CUDA HIP XPU VE PrivateUse1 Meta\n"	\
	"strict NestedTensor " nested "\n"				\
	STRICT_AUTOGRAD

#define KEYS_2_8(python_and_fake, named)				\
	"backends CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA=MTIA MAIA=MAIA " \
	"PrivateUse1 PrivateUse2 PrivateUse3 Meta\n"			\
	"functionalities Undefined Dense* FPGA Vulkan Metal Quantized* CustomRNGKeyId " \
	"MkldnnCPU Sparse* SparseCsr* NestedTensor* BackendSelect "	\
	python_and_fake " FuncTorchDynamicLayerBackMode Functionalize " named \
	"Conjugate Negative ZeroTensor ADInplaceOrView AutogradOther "	\
	"AutogradFunctionality* AutogradNestedTensor Tracer AutocastCPU " \
	"AutocastMTIA AutocastMAIA AutocastXPU AutocastIPU AutocastHPU " \
	"AutocastXLA AutocastMPS AutocastCUDA AutocastPrivateUse1 "	\
	"FuncTorchBatched BatchedNestedTensor FuncTorchVmapMode Batched " \
	"VmapMode FuncTorchGradWrapper DeferredInit PythonTLSSnapshot "	\
	"FuncTorchDynamicLayerFrontMode TESTING_ONLY_GenericWrapper "	\
	"TESTING_ONLY_GenericMode PreDispatch PythonDispatcher\n"

#define UNNAMED		"unnamed UNKNOWN_TENSOR_TYPE_ID\n"
#define LEGACY_2_0	"legacy Functionalize PythonTLSSnapshot Python\n"
#define LEGACY_2_6							\
	"legacy Functionalize PythonTLSSnapshot FuncTorchGradWrapper "	\
	"FuncTorchVmapMode FuncTorchBatched Python\n"

#define FUNCTIONALITIES_2_3(maia, mtia, mps)				\
	"functionalities Undefined Dense* FPGA " maia " Vulkan Metal Quantized* " \
	"CustomRNGKeyId MkldnnCPU Sparse* SparseCsr* NestedTensor* "	\
	"BackendSelect Python Fake FuncTorchDynamicLayerBackMode "	\
	"Functionalize Named Conjugate Negative ZeroTensor "		\
	"ADInplaceOrView AutogradOther AutogradFunctionality* "		\
	"AutogradNestedTensor Tracer AutocastCPU " mtia "AutocastXPU "	\
	"AutocastIPU AutocastHPU AutocastXLA " mps "AutocastCUDA "	\
	"AutocastPrivateUse1 FuncTorchBatched BatchedNestedTensor "	\
	"FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper "	\
	"DeferredInit PythonTLSSnapshot FuncTorchDynamicLayerFrontMode "\
	"TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode "		\
	"PreDispatch PythonDispatcher\n"

#define FUNCTIONALITIES_2_1(batched)					\
	"functionalities Undefined Dense* FPGA ORT Vulkan Metal Quantized* " \
	"CustomRNGKeyId MkldnnCPU Sparse* SparseCsrCPU SparseCsrCUDA "	\
	"NestedTensor* BackendSelect Python Fake "			\
	"FuncTorchDynamicLayerBackMode Functionalize Named Conjugate "	\
	"Negative ZeroTensor ADInplaceOrView AutogradOther "		\
	"AutogradFunctionality* AutogradNestedTensor Tracer AutocastCPU " \
	"AutocastXPU AutocastIPU AutocastHPU AutocastXLA AutocastCUDA "	\
	"AutocastPrivateUse1 " batched " FuncTorchVmapMode Batched VmapMode " \
	"FuncTorchGradWrapper DeferredInit PythonTLSSnapshot "		\
	"FuncTorchDynamicLayerFrontMode TESTING_ONLY_GenericWrapper "	\
	"TESTING_ONLY_GenericMode PreDispatch PythonDispatcher\n"

#define FUNCTIONALITIES_2_0						\
	"functionalities Undefined Dense* FPGA ORT Vulkan Metal Quantized* " \
	"CustomRNGKeyId MkldnnCPU Sparse* SparseCsrCPU SparseCsrCUDA " \
	"NestedTensor* BackendSelect Python Fake " \
	"FuncTorchDynamicLayerBackMode Functionalize Named Conjugate " \
	"Negative ZeroTensor ADInplaceOrView AutogradOther " \
	"AutogradFunctionality* AutogradNestedTensor Tracer AutocastCPU " \
	"AutocastXPU AutocastHPU AutocastCUDA FuncTorchBatched " \
	"FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper " \
	"DeferredInit PythonTLSSnapshot FuncTorchDynamicLayerFrontMode " \
	"TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode " \
	"PythonDispatcher\n"

/* ---- versions ---------------------------------------------------------------- */

static const char pt2_13[] =
	KEYS_2_8("Fake Python", "")
	ALIASES_2_0
	LEGACY_2_6
	"privateuseone\n";

static const char pt2_11[] =
	KEYS_2_8("Python Fake", "Named ")
	ALIASES_2_0
	"strict Quantized CPU CUDA XPU PrivateUse1\n"
	"strict Sparse CPU CUDA HIP MPS XPU VE PrivateUse1 Meta\n"
	"strict SparseCsr CPU CUDA HIP MPS XPU VE PrivateUse1 Meta\n"
	"strict NestedTensor CPU CUDA XPU HPU PrivateUse1 Meta\n"
	STRICT_AUTOGRAD
	LEGACY_2_6
	"other-autograd HIP VE\n"
	"privateuseone\n"
	"tables\n";

/* the numbers of 2.8, 2.9, 2.10 and 2.12 are those of 2.11 */
static const char pt2_8[] =
	KEYS_2_8("Python Fake", "Named ")
	ALIASES_2_0
	LEGACY_2_6
	"privateuseone\n";

static const char pt2_7[] =
	BACKENDS_2_1
	FUNCTIONALITIES_2_3("MAIA", "AutocastMTIA ", "AutocastMPS ")
	ALIASES_2_0
	STRICT_2_4("CPU CUDA XPU PrivateUse1 Meta")
	LEGACY_2_6
	"other-autograd HIP VE\n"
	"implicit Functionalize\n"
	"batched-empty\n"
	"privateuseone\n"
	"tables\n";

static const char pt2_6[] =
	BACKENDS_2_1
	FUNCTIONALITIES_2_3("MAIA", "", "AutocastMPS ")
	ALIASES_2_0
	STRICT_2_4("CPU CUDA XPU PrivateUse1 Meta")
	LEGACY_2_6
	"other-autograd HIP VE MTIA\n"
	"implicit Functionalize\n"
	"batched-empty\n"
	"tables\n";

static const char pt2_5[] =
	BACKENDS_2_1
	FUNCTIONALITIES_2_3("MAIA", "", "AutocastMPS ")
	ALIASES_2_0;

static const char pt2_4[] =
	BACKENDS_2_1
	FUNCTIONALITIES_2_3("MAIA", "", "")
	ALIASES_2_0
	STRICT_2_4("CPU CUDA PrivateUse1 Meta")
	LEGACY_2_0
	"other-autograd HIP VE MTIA\n"
	"implicit Functionalize\n"
	"batched-empty\n"
	"tables\n";

static const char pt2_3[] =
	BACKENDS_2_1
	FUNCTIONALITIES_2_3("ORT", "", "")
	ALIASES_2_0
	LEGACY_2_0;

static const char pt2_2[] =
	BACKENDS_2_1
	FUNCTIONALITIES_2_1("FuncTorchBatched BatchedNestedTensor")
	ALIASES_2_0
	LEGACY_2_0;

static const char pt2_1[] =
	BACKENDS_2_1
	FUNCTIONALITIES_2_1("FuncTorchBatched")
	ALIASES_2_0
	LEGACY_2_0;

/* a version between 2.0 and 2.1 */
static const char pt2_1_pre[] =
	BACKENDS_2_1
	FUNCTIONALITIES_2_0
	ALIASES_2_0;

static const char pt2_0[] =
	"backends CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy Meta MTIA=MTIA "
	"PrivateUse1 PrivateUse2 PrivateUse3\n"
	FUNCTIONALITIES_2_0
	ALIASES_2_0
	"strict Quantized CPU CUDA XPU\n"
	"strict Sparse CPU CUDA HIP XPU VE Meta\n"
	"strict NestedTensor CPU CUDA Meta\n"
	STRICT_AUTOGRAD
	LEGACY_2_0
	"other-autograd HIP VE MTIA\n"
	"batched-empty\n"
	"tables\n";

/* a version between 1.13 and 2.0 */
static const char pt2_0_pre[] =
	BACKENDS_1_13
	FUNCTIONALITIES_2_0
	ALIASES_2_0;

static const char pt1_13[] =
	BACKENDS_1_13
	"functionalities Undefined Dense* FPGA ORT Vulkan Metal Quantized* "
	"CustomRNGKeyId MkldnnCPU Sparse* SparseCsrCPU SparseCsrCUDA "
	"NestedTensor* BackendSelect Python Fake "
	"FuncTorchDynamicLayerBackMode Functionalize Named Conjugate "
	"Negative ZeroTensor ADInplaceOrView AutogradOther "
	"AutogradFunctionality* AutogradNestedTensor Tracer AutocastCPU "
	"AutocastXPU AutocastCUDA FuncTorchBatched FuncTorchVmapMode "
	"Batched VmapMode FuncTorchGradWrapper DeferredInit "
	"PythonTLSSnapshot FuncTorchDynamicLayerFrontMode "
	"TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode "
	"PythonDispatcher\n"
	"aliases Autograd CompositeImplicitAutograd "
	"CompositeImplicitAutogradNestedTensor CompositeExplicitAutograd "
	"CompositeExplicitAutogradNonFunctional\n"
	"sentinel Unknown\n"
	"strict Quantized CPU CUDA XPU\n"
	"strict Sparse CPU CUDA HIP XPU VE\n"
	"strict NestedTensor CPU CUDA\n"
	STRICT_AUTOGRAD
	"legacy PythonTLSSnapshot Python\n"
	"other-autograd HIP VE\n"
	"tables\n";

static const char pt1_12[] =
	"backends CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy PrivateUse1 "
	"PrivateUse2 PrivateUse3\n"
	"functionalities Undefined Dense* FPGA ORT Vulkan Metal Meta Quantized* "
	"CustomRNGKeyId MkldnnCPU Sparse* SparseCsrCPU SparseCsrCUDA "
	"NestedTensor* BackendSelect Python Fake Named Conjugate "
	"Negative ZeroTensor FuncTorchDynamicLayerBackMode "
	"ADInplaceOrView AutogradOther AutogradFunctionality* "
	"AutogradNestedTensor Tracer AutocastCPU AutocastXPU "
	"AutocastCUDA=Autocast FuncTorchBatched FuncTorchVmapMode "
	"Batched VmapMode FuncTorchGradWrapper Functionalize "
	"DeferredInit PythonTLSSnapshot FuncTorchDynamicLayerFrontMode "
	"TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode\n"
	"aliases Autograd CompositeImplicitAutograd CompositeExplicitAutograd\n"
	UNNAMED;

/* Before 1.12, keysets had no backends: each key had a bit. */
#define KEYS_1_10(after_python, after_negative, after_wrapper)		\
	"functionalities Undefined CPU CUDA HIP FPGA ORT XLA MLC Vulkan Metal XPU " \
	"HPU VE Lazy Meta QuantizedCPU QuantizedCUDA QuantizedXPU "	\
	"CustomRNGKeyId MkldnnCPU SparseCPU SparseCUDA SparseHIP SparseXPU SparseVE " \
	"SparseCsrCPU SparseCsrCUDA NestedTensor PrivateUse1 PrivateUse2 PrivateUse3 " \
	"BackendSelect Python " after_python "Named Conjugate Negative " after_negative \
	"FuncTorchDynamicLayerBackMode ADInplaceOrView AutogradOther AutogradCPU " \
	"AutogradCUDA AutogradXLA AutogradLazy AutogradXPU AutogradMLC AutogradHPU " \
	"AutogradNestedTensor AutogradPrivateUse1 AutogradPrivateUse2 "	\
	"AutogradPrivateUse3 Tracer AutocastCPU AutocastCUDA=Autocast "	\
	"FuncTorchBatched FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper " \
	after_wrapper "FuncTorchDynamicLayerFrontMode "			\
	"TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode\n"	\
	"aliases Autograd CompositeImplicitAutograd CompositeExplicitAutograd\n" \
	UNNAMED

/* A line of 1.6 and 1.7 begins with these keys. */
#define KEYS_1_6							\
	"functionalities Undefined CPU CUDA HIP FPGA MSNPU XLA Vulkan MKLDNN OpenGL " \
	"OpenCL IDEEP QuantizedCPU QuantizedCUDA ComplexCPU ComplexCUDA CustomRNGKeyId " \
	"MkldnnCPU SparseCPU SparseCUDA SparseHIP PrivateUse1 PrivateUse2 PrivateUse3 " \
	"Meta BackendSelect Named "

static const char pt1_11[] =
	KEYS_1_10("", "ZeroTensor ", "Functionalize ");

static const char pt1_10[] =
	KEYS_1_10("FuncTorchPython ", "", "");

static const char pt1_9[] =
	"functionalities Undefined CPU CUDA HIP FPGA MSNPU XLA MLC Vulkan Metal XPU HPU "
	"Meta QuantizedCPU QuantizedCUDA QuantizedXPU CustomRNGKeyId MkldnnCPU SparseCPU "
	"SparseCUDA SparseHIP SparseXPU SparseCsrCPU SparseCsrCUDA NestedTensor "
	"PrivateUse1 PrivateUse2 PrivateUse3 BackendSelect FuncTorchPython Named "
	"FuncTorchDynamicLayerBackMode ADInplaceOrView AutogradOther AutogradCPU "
	"AutogradCUDA AutogradXLA AutogradXPU AutogradMLC AutogradHPU "
	"AutogradNestedTensor AutogradPrivateUse1 AutogradPrivateUse2 "
	"AutogradPrivateUse3 Tracer AutocastCUDA=Autocast FuncTorchBatched "
	"FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper "
	"FuncTorchDynamicLayerFrontMode TESTING_ONLY_GenericWrapper "
	"TESTING_ONLY_GenericMode\n"
	"aliases Autograd CompositeImplicitAutograd CompositeExplicitAutograd\n"
	UNNAMED;

static const char pt1_8[] =
	"functionalities Undefined CPU CUDA HIP FPGA MSNPU XLA Vulkan Metal XPU MKLDNN "
	"OpenGL OpenCL IDEEP QuantizedCPU QuantizedCUDA QuantizedXPU ComplexCPU "
	"ComplexCUDA CustomRNGKeyId MkldnnCPU SparseCPU SparseCUDA SparseHIP SparseXPU "
	"NestedTensor PrivateUse1 PrivateUse2 PrivateUse3 Meta BackendSelect Named "
	"AutogradOther AutogradCPU AutogradCUDA AutogradXLA AutogradNestedTensor "
	"AutogradXPU AutogradPrivateUse1 AutogradPrivateUse2 AutogradPrivateUse3 Tracer "
	"Autocast Batched VmapMode TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode\n"
	"aliases Autograd Math DefaultBackend\n"
	UNNAMED;

static const char pt1_7[] =
	KEYS_1_6
	"AutogradOther AutogradCPU AutogradCUDA AutogradXLA AutogradPrivateUse1 "
	"AutogradPrivateUse2 AutogradPrivateUse3 Tracer Autocast Batched VmapMode "
	"TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode\n"
	"aliases Autograd Math\n"
	UNNAMED;

static const char pt1_6[] =
	KEYS_1_6
	"Autograd Profiler Tracer XLAPreAutograd Autocast PrivateUse1_PreAutograd "
	"PrivateUse2_PreAutograd PrivateUse3_PreAutograd Batched "
	"TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode\n"
	UNNAMED;

static const char pt1_5[] =
	"functionalities Undefined CPUTensorId CUDATensorId HIPTensorId MSNPUTensorId "
	"XLATensorId MKLDNNTensorId OpenGLTensorId OpenCLTensorId IDEEPTensorId "
	"QuantizedCPUTensorId ComplexCPUTensorId ComplexCUDATensorId CustomRNGKeyId "
	"MkldnnCPUTensorId SparseCPUTensorId SparseCUDATensorId SparseHIPTensorId "
	"PrivateUse1_TensorId PrivateUse2_TensorId PrivateUse3_TensorId BackendSelect "
	"VariableTensorId XLAPreAutograd PrivateUse1_PreAutogradTensorId "
	"PrivateUse2_PreAutogradTensorId PrivateUse3_PreAutogradTensorId "
	"TESTING_ONLY_GenericWrapperTensorId TESTING_ONLY_GenericModeTensorId\n"
	UNNAMED;

/* 1.3 and 1.4 begin with these keys. PyTorch calls the first one UndefinedTensorId. */
#define KEYS_1_3							\
	"functionalities Undefined CPUTensorId CUDATensorId MKLDNNTensorId "	\
	"OpenGLTensorId OpenCLTensorId IDEEPTensorId HIPTensorId SparseHIPTensorId " \
	"MSNPUTensorId XLATensorId MkldnnCPUTensorId QuantizedCPUTensorId " \
	"ComplexCPUTensorId ComplexCUDATensorId SparseCPUTensorId SparseCUDATensorId " \
	"VariableTensorId"

static const char pt1_4[] =
	KEYS_1_3
	" TESTING_ONLY_GenericWrapperTensorId TESTING_ONLY_GenericModeTensorId\n"
	UNNAMED;

/* the first version with keysets */
static const char pt1_3[] =
	KEYS_1_3 "\n"
	UNNAMED;

/*
 * The layouts after v1, in the order of dk_layout_next(), which ends before index NUM_LISTED. The
 * layouts from this index on can only be found by name. A layout without a text has the keys of v1.
 */
static const struct built_in {
	const char *name;
	const char *text;
	bool trimmed;
} built_in[] = {
	{ .name = "pytorch-2.14" },
	{ .name = "pytorch-2.13", .text = pt2_13 },
	{ .name = "pytorch-2.12", .text = pt2_8 },
	{ .name = "pytorch-2.11", .text = pt2_11 },
	{ .name = "pytorch-2.10", .text = pt2_8 },
	{ .name = "pytorch-2.9", .text = pt2_8 },
	{ .name = "pytorch-2.8", .text = pt2_8 },
	{ .name = "pytorch-2.7", .text = pt2_7 },
	{ .name = "pytorch-2.6", .text = pt2_6 },
	{ .name = "pytorch-2.5", .text = pt2_5 },
	{ .name = "pytorch-2.4", .text = pt2_4 },
	{ .name = "pytorch-2.3", .text = pt2_3 },
	{ .name = "pytorch-2.2", .text = pt2_2 },
	{ .name = "pytorch-2.1", .text = pt2_1 },
	{ .name = "pytorch-2.1-pre", .text = pt2_1_pre },
	{ .name = "pytorch-2.0", .text = pt2_0 },
	{ .name = "pytorch-2.0-pre", .text = pt2_0_pre },
	{ .name = "pytorch-1.13", .text = pt1_13 },
	{ .name = "pytorch-1.12", .text = pt1_12 },
	{ .name = "pytorch-1.11", .text = pt1_11 },
	{ .name = "pytorch-1.10", .text = pt1_10 },
	{ .name = "pytorch-1.9", .text = pt1_9 },
	{ .name = "pytorch-1.8", .text = pt1_8 },
	{ .name = "pytorch-1.7", .text = pt1_7 },
	{ .name = "pytorch-1.6", .text = pt1_6 },
	{ .name = "pytorch-1.5", .text = pt1_5 },
	{ .name = "pytorch-1.4", .text = pt1_4 },
	{ .name = "pytorch-1.3", .text = pt1_3 },
	{ .name = DK_LAYOUT_NAME "+trimmed", .trimmed = true },
	{ .name = "pytorch-2.14+trimmed", .trimmed = true },
	{ .name = "pytorch-1.13+trimmed", .text = pt1_13, .trimmed = true },
};

#define NUM_LAYOUTS	ARRAY_SIZE(built_in)
#define NUM_LISTED	(NUM_LAYOUTS - 3)
#define POOL		1280	/* bytes for the names of one layout */

#ifdef DKC_KEPT_MAX
static_assert(NUM_LAYOUTS * (sizeof(struct dk_layout) + POOL) <= DKC_KEPT_MAX,
	      "no space for all layouts on bare metal");
#endif

/* The layouts that were used, with the indexes of built_in[]. They are never freed. */
static const struct dk_layout *layouts[NUM_LAYOUTS];

static struct dk_layout *make_layout(const struct built_in *b)
{
	struct dk_layout *l = dkc_kept_alloc(sizeof(*l) + POOL);

	if (!l)
		return NULL;
	if (!b->text)
		*l = dkc_v1;
	l->name = b->name;
	if (b->text && dkc_layout_read(l, b->text, (char *)(l + 1), POOL, NULL)) {
		dkc_kept_free(l);
		return NULL;
	}
	l->trimmed = b->trimmed;
	if (l->trimmed)
		dkc_layout_trim(l);
	return l;
}

/*
 * Returns a layout. Reads it if it is used for the first time, so that programs that use only v1 do
 * not pay for the others. Returns NULL if allocation fails.
 */
static const struct dk_layout *layout_at(unsigned int i)
{
	/* pairs with cmpxchg() below: the layout is complete */
	const struct dk_layout *l = smp_load_acquire(&layouts[i]);
	struct dk_layout *made;

	if (l)
		return l;
	made = make_layout(&built_in[i]);
	if (!made)
		return NULL;
	l = cmpxchg(&layouts[i], NULL, made);
	if (!l)
		return made;
	/* another thread was faster */
	dkc_kept_free(made);
	return l;
}

/* ---- by name ------------------------------------------------------------------ */

const char *dk_layout_next(const char *name)
{
	unsigned int i = 0;

	if (!name)
		return DK_LAYOUT_NAME;
	if (!dkc_streq(name, DK_LAYOUT_NAME)) {
		while (i < NUM_LISTED && !dkc_streq(built_in[i].name, name))
			i++;
		i++;
	}
	return i < NUM_LISTED ? built_in[i].name : NULL;
}

/*
 * True for a patch release such as pytorch-2.6.1 or pytorch-2.14.1+cu130, which has the
 * layout of its minor release.
 */
static bool is_release_of(const char *name, const char *layout)
{
	if (!dkc_starts_with(name, layout))
		return false;
	name += strlen(layout);
	if (name[0] != '.' || name[1] < '0' || name[1] > '9')
		return false;
	for (name++; *name >= '0' && *name <= '9'; name++)
		;
	return !*name || (*name == '+' && !dkc_streq(name, "+trimmed"));
}

/* Returns the index of a layout in built_in[], or NUM_LAYOUTS. */
static unsigned int find_layout(const char *name)
{
	/* versions and tags of PyTorch, such as 2.6 and v2.6.0, are names, too */
	const char *version = name + (*name == 'v'), *release;
	unsigned int i;

	for (i = 0; i < NUM_LAYOUTS; i++)
		if (dkc_streq(built_in[i].name, name))
			return i;
	for (i = 0; i < NUM_LISTED; i++) {
		release = built_in[i].name + sizeof("pytorch-") - 1;
		if (is_release_of(name, built_in[i].name) || dkc_streq(version, release) ||
		    is_release_of(version, release))
			return i;
	}
	return NUM_LAYOUTS;
}

const struct dk_layout *dk_layout_find(const char *name, struct dk_diag *why)
{
	const struct dk_layout *l;
	unsigned int i;

	if (!name) {
		dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "name");
		return NULL;
	}
	dkc_accept(why);
	if (dkc_streq(name, DK_LAYOUT_NAME))
		return &dkc_v1;
	i = find_layout(name);
	l = i < NUM_LAYOUTS ? layout_at(i) : NULL;
	if (!l)
		dkc_refuse(why, i < NUM_LAYOUTS ? DK_WHY_NO_MEMORY : DK_WHY_BAD_LAYOUT, name);
	return l;
}

/* ---- properties of layouts ---------------------------------------------------- */

const struct dk_layout *dk_registry_layout(const struct dk_registry *reg)
{
	return reg ? reg->layout : dkc_layout(NULL);
}

unsigned int dk_layout_knows(const struct dk_layout *l)
{
	l = dkc_layout(l);
	return (l->has_tables ? DK_KNOWS_TABLES : 0) |
	       (l->has_sets ? DK_KNOWS_SETS : 0) |
	       (l->has_strict ? DK_KNOWS_STRICT : 0) |
	       (l->has_legacy ? DK_KNOWS_LEGACY : 0);
}

const char *dk_layout_name(const struct dk_layout *l)
{
	return dkc_layout(l)->name;
}

unsigned int dk_layout_backends(const struct dk_layout *l)
{
	return dkc_layout(l)->nb;
}

unsigned int dk_layout_functionalities(const struct dk_layout *l)
{
	return dkc_layout(l)->nf;
}

unsigned int dk_layout_entries(const struct dk_layout *l)
{
	return dkc_layout(l)->num_entries;
}

unsigned int dk_table_size(const struct dk_layout *l)
{
	return dkc_table_entries(dkc_layout(l));
}

struct dk_keyset dk_layout_full(const struct dk_layout *l)
{
	return DK_KEYSET(dkc_layout(l)->full);
}
