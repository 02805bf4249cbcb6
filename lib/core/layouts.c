// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The layouts, each as the text that a user could write (SEMANTICS 1.2, 1.3;
 * the form is in Documentation/layouts.rst). Where SEMANTICS gives a version no
 * alias sets and maps, it has no line "tables" and no line "strict".
 */
#include "layout.h"

/* ---- what several versions share ------------------------------------------- */

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

#define LEGACY_2_0	"legacy Functionalize PythonTLSSnapshot Python\n"
#define LEGACY_2_6							\
	"legacy Functionalize PythonTLSSnapshot FuncTorchGradWrapper "	\
	"FuncTorchVmapMode FuncTorchBatched Python\n"

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

/* ---- PyTorch 2.14.1, which is v1: from the lists of the ABI ------------------ */

#define BACKEND(U, N, P, arg)	" " #N "=" P
#define STAR_0
#define STAR_1			"*"
#define FUNCTIONALITY(U, N, P)	" " #N STAR_##P
#define ALIAS(U, N)		" " #N

static const char v1[] =
	"layout " DK_LAYOUT_NAME "\n"
	"backends" DK_BACKENDS(BACKEND, DK__NONE) "\n"
	"functionalities" DK_FUNCTIONALITIES(FUNCTIONALITY) "\n"
	"aliases" DK_ALIASES(ALIAS) "\n"
	"strict Quantized CPU CUDA XPU PrivateUse1\n"
	"strict Sparse CPU CUDA HIP MPS XPU VE PrivateUse1 Meta\n"
	"strict SparseCsr CPU CUDA HIP MPS XPU VE PrivateUse1 Meta\n"
	"strict NestedTensor CPU CUDA XPU HPU PrivateUse1 Meta\n"
	STRICT_AUTOGRAD
	LEGACY_2_6
	"other-autograd HIP VE\n"
	"privateuseone\n"
	"tables\n";

/* ---- the other versions ------------------------------------------------------ */

static const char pt2_8[] =
	"layout pytorch-2.8\n"
	"backends CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA=MTIA MAIA=MAIA "
	"PrivateUse1 PrivateUse2 PrivateUse3 Meta\n"
	"functionalities Undefined Dense* FPGA Vulkan Metal Quantized* CustomRNGKeyId "
	"MkldnnCPU Sparse* SparseCsr* NestedTensor* BackendSelect "
	"Python Fake FuncTorchDynamicLayerBackMode Functionalize Named "
	"Conjugate Negative ZeroTensor ADInplaceOrView AutogradOther "
	"AutogradFunctionality* AutogradNestedTensor Tracer AutocastCPU "
	"AutocastMTIA AutocastMAIA AutocastXPU AutocastIPU AutocastHPU "
	"AutocastXLA AutocastMPS AutocastCUDA AutocastPrivateUse1 "
	"FuncTorchBatched BatchedNestedTensor FuncTorchVmapMode Batched "
	"VmapMode FuncTorchGradWrapper DeferredInit PythonTLSSnapshot "
	"FuncTorchDynamicLayerFrontMode TESTING_ONLY_GenericWrapper "
	"TESTING_ONLY_GenericMode PreDispatch PythonDispatcher\n"
	ALIASES_2_0
	LEGACY_2_6
	"privateuseone\n";

static const char pt2_7[] =
	"layout pytorch-2.7\n"
	BACKENDS_2_1
	"functionalities Undefined Dense* FPGA MAIA Vulkan Metal Quantized* "
	"CustomRNGKeyId MkldnnCPU Sparse* SparseCsr* NestedTensor* "
	"BackendSelect Python Fake FuncTorchDynamicLayerBackMode "
	"Functionalize Named Conjugate Negative ZeroTensor "
	"ADInplaceOrView AutogradOther AutogradFunctionality* "
	"AutogradNestedTensor Tracer AutocastCPU AutocastMTIA "
	"AutocastXPU AutocastIPU AutocastHPU AutocastXLA AutocastMPS "
	"AutocastCUDA AutocastPrivateUse1 FuncTorchBatched "
	"BatchedNestedTensor FuncTorchVmapMode Batched VmapMode "
	"FuncTorchGradWrapper DeferredInit PythonTLSSnapshot "
	"FuncTorchDynamicLayerFrontMode TESTING_ONLY_GenericWrapper "
	"TESTING_ONLY_GenericMode PreDispatch PythonDispatcher\n"
	ALIASES_2_0
	STRICT_2_4("CPU CUDA XPU PrivateUse1 Meta")
	LEGACY_2_6
	"other-autograd HIP VE\n"
	"implicit Functionalize\n"
	"batched-empty\n"
	"privateuseone\n"
	"tables\n";

static const char pt2_6[] =
	"layout pytorch-2.6\n"
	BACKENDS_2_1
	"functionalities Undefined Dense* FPGA MAIA Vulkan Metal Quantized* "
	"CustomRNGKeyId MkldnnCPU Sparse* SparseCsr* NestedTensor* "
	"BackendSelect Python Fake FuncTorchDynamicLayerBackMode "
	"Functionalize Named Conjugate Negative ZeroTensor "
	"ADInplaceOrView AutogradOther AutogradFunctionality* "
	"AutogradNestedTensor Tracer AutocastCPU AutocastXPU "
	"AutocastIPU AutocastHPU AutocastXLA AutocastMPS AutocastCUDA "
	"AutocastPrivateUse1 FuncTorchBatched BatchedNestedTensor "
	"FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper "
	"DeferredInit PythonTLSSnapshot FuncTorchDynamicLayerFrontMode "
	"TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode "
	"PreDispatch PythonDispatcher\n"
	ALIASES_2_0
	STRICT_2_4("CPU CUDA XPU PrivateUse1 Meta")
	LEGACY_2_6
	"other-autograd HIP VE MTIA\n"
	"implicit Functionalize\n"
	"batched-empty\n"
	"tables\n";

static const char pt2_4[] =
	"layout pytorch-2.4\n"
	BACKENDS_2_1
	"functionalities Undefined Dense* FPGA MAIA Vulkan Metal Quantized* "
	"CustomRNGKeyId MkldnnCPU Sparse* SparseCsr* NestedTensor* "
	"BackendSelect Python Fake FuncTorchDynamicLayerBackMode "
	"Functionalize Named Conjugate Negative ZeroTensor "
	"ADInplaceOrView AutogradOther AutogradFunctionality* "
	"AutogradNestedTensor Tracer AutocastCPU AutocastXPU "
	"AutocastIPU AutocastHPU AutocastXLA AutocastCUDA "
	"AutocastPrivateUse1 FuncTorchBatched BatchedNestedTensor "
	"FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper "
	"DeferredInit PythonTLSSnapshot FuncTorchDynamicLayerFrontMode "
	"TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode "
	"PreDispatch PythonDispatcher\n"
	ALIASES_2_0
	STRICT_2_4("CPU CUDA PrivateUse1 Meta")
	LEGACY_2_0
	"other-autograd HIP VE MTIA\n"
	"implicit Functionalize\n"
	"batched-empty\n"
	"tables\n";

/* between 2.0 and 2.1 */
static const char pt2_1_pre[] =
	"layout pytorch-2.1-pre\n"
	BACKENDS_2_1
	FUNCTIONALITIES_2_0
	ALIASES_2_0;

static const char pt2_0[] =
	"layout pytorch-2.0\n"
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

/* between 1.13 and 2.0 */
static const char pt2_0_pre[] =
	"layout pytorch-2.0-pre\n"
	BACKENDS_1_13
	FUNCTIONALITIES_2_0
	ALIASES_2_0;

static const char pt1_13[] =
	"layout pytorch-1.13\n"
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
	"layout pytorch-1.12\n"
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
	"unnamed UNKNOWN_TENSOR_TYPE_ID\n";

/*
 * In the order of a list; those behind NUM_LISTED are found and not listed. One
 * with a name is like the one of its text before it.
 */
static const struct {
	const char *text;
	const char *name;
	bool trimmed;
} built_in[] = {
	{ .text = v1 },
	{ .text = v1, .name = "pytorch-2.14" },
	{ .text = pt2_8 },
	{ .text = pt2_7 },
	{ .text = pt2_6 },
	{ .text = pt2_4 },
	{ .text = pt2_1_pre },
	{ .text = pt2_0 },
	{ .text = pt2_0_pre },
	{ .text = pt1_13 },
	{ .text = pt1_12 },
	{ .text = v1, .name = DK_LAYOUT_NAME "+trimmed", .trimmed = true },
	{ .text = v1, .name = "pytorch-2.14+trimmed", .trimmed = true },
	{ .text = pt1_13, .name = "pytorch-1.13+trimmed", .trimmed = true },
};

#define NUM_LAYOUTS	DKC_COUNT(built_in)
#define NUM_LISTED	(NUM_LAYOUTS - 3)
#define NUM_TEXTS	(NUM_LAYOUTS - 4)
/* bytes of a layout's names */
#define POOL		1280

static struct dk_layout layouts[NUM_LAYOUTS];
static char pools[NUM_TEXTS][POOL];

/* Fill number @i from the one before it that has the same text. */
static void make_like(unsigned int i)
{
	unsigned int k = 0;

	while (built_in[k].text != built_in[i].text)
		k++;
	layouts[i] = layouts[k];
	layouts[i].name = built_in[i].name;
	layouts[i].trimmed = built_in[i].trimmed;
	if (layouts[i].trimmed)
		dkc_layout_trim(&layouts[i]);
}

int dkc_layouts_init(void)
{
	unsigned int i, pool = 0;
	int err;

	if (layouts[NUM_LAYOUTS - 1].num_entries)
		return 0;
	for (i = 0; i < NUM_LAYOUTS; i++) {
		if (built_in[i].name) {
			make_like(i);
			continue;
		}
		err = dkc_layout_read(&layouts[i], built_in[i].text, pools[pool++], POOL,
				      NULL);
		if (err)
			return err;
	}
	return 0;
}

/* ---- by name ------------------------------------------------------------------ */

const struct dk_layout *dkc_layout(const struct dk_layout *l)
{
	return l ? l : &layouts[0];
}

const struct dk_layout *dk_layout_next(const struct dk_layout *l)
{
	if (!l)
		return &layouts[0];
	/* one that was read from a text is in no list */
	if (l < layouts || l >= &layouts[NUM_LISTED - 1])
		return NULL;
	return l + 1;
}

/* A patch release is numbered like its minor one: pytorch-2.6.1, 2.14.1+cu130. */
static bool is_release_of(const char *name, const char *layout)
{
	while (*layout && *name == *layout) {
		name++;
		layout++;
	}
	if (*layout || name[0] != '.' || name[1] < '0' || name[1] > '9')
		return false;
	for (name++; *name >= '0' && *name <= '9'; name++)
		;
	return !*name || (*name == '+' && !dkc_streq(name, "+trimmed"));
}

const struct dk_layout *dk_layout_find(const char *name, struct dk_diag *why)
{
	unsigned int i;

	dkc_remark(why, DK_WHY_NONE, NULL);
	for (i = 0; i < NUM_LAYOUTS; i++)
		if (dkc_streq(layouts[i].name, name))
			return &layouts[i];
	/* no release is called like the ABI's layout, which is the first one */
	for (i = 1; i < NUM_LISTED; i++)
		if (is_release_of(name, layouts[i].name))
			return &layouts[i];
	dkc_remark(why, DK_WHY_BAD_LAYOUT, name);
	return NULL;
}
