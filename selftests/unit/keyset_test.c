// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layouts, keys, keysets, names and reasons. The expected numbers are those of
 * SEMANTICS 1 to 4, which were printed by PyTorch 2.14.1 and 1.13.1 ("N", "L");
 * the tests called upstream_N are the statements of SEMANTICS 11.1.
 */
#include <stdlib.h>
#include <dispatchkey.h>
#include "layout.h"
#include "tap.h"

#define FOR_EACH_LAYOUT(l)						\
	for (const struct dk_layout *l = dk_layout_next(NULL); l;	\
	     l = dk_layout_next(l))

/* The layouts whose numbers PyTorch itself printed: N twice, as v1 too, and L. */
#define FOR_N_AND_L(l)							\
	FOR_EACH_LAYOUT(l)						\
		if (is_n(l) || is_l(l))

/* The two families of numbers; v1 is in the first. */
static const struct dk_layout *layout_n(void)
{
	return dk_layout_find("pytorch-2.14", NULL);
}

static const struct dk_layout *layout_l(void)
{
	return dk_layout_find("pytorch-1.13", NULL);
}

static bool is_l(const struct dk_layout *l)
{
	return l == layout_l();
}

static bool is_n(const struct dk_layout *l)
{
	return l == layout_n() || l == dkc_layout(NULL);
}

static struct dk_keyset set_of(const struct dk_layout *l, const char *text)
{
	struct dk_keyset ks = { 0 };
	struct dk_diag why = { 0 };

	if (!EXPECT(!dk_keyset_parse(l, text, &ks, &why)))
		printf("#   %s: %s: %s\n", text, why.text, why.name);
	return ks;
}

static unsigned int key_of(const struct dk_layout *l, const char *name)
{
	unsigned int key = ~0U;

	if (!EXPECT(!dk_key_parse(l, name, 0, &key, NULL)))
		printf("#   %s\n", name);
	return key;
}

static unsigned int bit_of(const struct dk_layout *l, const char *name)
{
	unsigned int backend = ~0U;

	if (!EXPECT(!dk_backend_bit_parse(l, name, &backend, NULL)))
		printf("#   %s\n", name);
	return backend;
}

static const char *name_of(const struct dk_layout *l, unsigned int key)
{
	static char buf[DK_NAME_MAX];

	return dk_key_name(l, key, buf);
}

static const char *print(const struct dk_layout *l, struct dk_keyset ks)
{
	static char buf[4096];

	EXPECT(dk_keyset_print(l, ks, buf, sizeof(buf)) < sizeof(buf));
	return buf;
}

static bool has(const struct dk_layout *l, struct dk_keyset ks, unsigned int key)
{
	return dk_keyset_has_all(ks, dk_key_set(l, key));
}

static unsigned int count(const struct dk_layout *l, struct dk_keyset ks)
{
	unsigned int slot, n = 0;

	for (slot = dk_keyset_next(l, ks, 0); slot; slot = dk_keyset_next(l, ks, slot))
		n++;
	return n;
}

/* The same numbers in every run. */
static unsigned long long some_bits(void)
{
	static unsigned long long x = 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* ---- layouts ------------------------------------------------------------------ */

TEST(layouts_init_again_does_no_harm)
{
	EXPECT_EQ(dkc_layouts_init(), 0);
	EXPECT_EQ(dkc_layouts_init(), 0);
	EXPECT_EQ(dk_layout_entries(NULL), 137);
	EXPECT_EQ(dk_key_slot(NULL, DK_PYTHON_DISPATCHER), 136);
}

TEST(layouts_by_name)
{
	struct dk_diag why = { 0 };
	unsigned int n = 0;

	FOR_N_AND_L(l) {
		EXPECT(dk_layout_find(dk_layout_name(l), &why) == l);
		EXPECT_EQ(why.reason, DK_WHY_NONE);
		n++;
	}
	EXPECT_EQ(n, 3);
	EXPECT_STREQ(dk_layout_name(NULL), "v1");
	EXPECT(dk_layout_find("v1", NULL) == dkc_layout(NULL));
	EXPECT_STREQ(dk_layout_name(layout_l()), "pytorch-1.13");
	EXPECT(!dk_layout_find("pytorch-9.9", &why));
	EXPECT_EQ(why.reason, DK_WHY_BAD_LAYOUT);
	EXPECT_STREQ(why.text, "no such layout");
	EXPECT_STREQ(why.name, "pytorch-9.9");
}

TEST(sizes)
{
	FOR_N_AND_L(l) {
		EXPECT_EQ(dk_layout_backends(l), is_l(l) ? 14 : 16);
		EXPECT_EQ(dk_layout_functionalities(l), is_l(l) ? 41 : 47);
		EXPECT_EQ(dk_layout_entries(l), is_l(l) ? 106 : 137);
		EXPECT_EQ(dk_layout_keys(l), is_l(l) ? 122 : 156);
		EXPECT_EQ(dk_layout_full(l).bits,
			  is_l(l) ? 0x3fffffffffffffULL : 0x3fffffffffffffffULL);
	}
}

/* SEMANTICS 3, as it stands there. */
struct row {
	const char *name;
	int bit;
	unsigned int per_backend;
	unsigned int first;
	unsigned int last;
};

static const struct row v1_rows[] = {
	{ "Undefined", -1, 0, 0, 0 },
	{ "Dense", 16, 1, 1, 16 },
	{ "FPGA", 17, 0, 17, 17 },
	{ "Vulkan", 18, 0, 18, 18 },
	{ "Metal", 19, 0, 19, 19 },
	{ "Quantized", 20, 1, 20, 35 },
	{ "CustomRNGKeyId", 21, 0, 36, 36 },
	{ "MkldnnCPU", 22, 0, 37, 37 },
	{ "Sparse", 23, 1, 38, 53 },
	{ "SparseCsr", 24, 1, 54, 69 },
	{ "NestedTensor", 25, 1, 70, 85 },
	{ "BackendSelect", 26, 0, 86, 86 },
	{ "Fake", 27, 0, 87, 87 },
	{ "Python", 28, 0, 88, 88 },
	{ "FuncTorchDynamicLayerBackMode", 29, 0, 89, 89 },
	{ "Functionalize", 30, 0, 90, 90 },
	{ "Conjugate", 31, 0, 91, 91 },
	{ "Negative", 32, 0, 92, 92 },
	{ "ZeroTensor", 33, 0, 93, 93 },
	{ "ADInplaceOrView", 34, 0, 94, 94 },
	{ "AutogradOther", 35, 0, 95, 95 },
	{ "AutogradFunctionality", 36, 1, 96, 111 },
	{ "AutogradNestedTensor", 37, 0, 112, 112 },
	{ "Tracer", 38, 0, 113, 113 },
	{ "AutocastCPU", 39, 0, 114, 114 },
	{ "AutocastMTIA", 40, 0, 115, 115 },
	{ "AutocastMAIA", 41, 0, 116, 116 },
	{ "AutocastXPU", 42, 0, 117, 117 },
	{ "AutocastIPU", 43, 0, 118, 118 },
	{ "AutocastHPU", 44, 0, 119, 119 },
	{ "AutocastXLA", 45, 0, 120, 120 },
	{ "AutocastMPS", 46, 0, 121, 121 },
	{ "AutocastCUDA", 47, 0, 122, 122 },
	{ "AutocastPrivateUse1", 48, 0, 123, 123 },
	{ "FuncTorchBatched", 49, 0, 124, 124 },
	{ "BatchedNestedTensor", 50, 0, 125, 125 },
	{ "FuncTorchVmapMode", 51, 0, 126, 126 },
	{ "Batched", 52, 0, 127, 127 },
	{ "VmapMode", 53, 0, 128, 128 },
	{ "FuncTorchGradWrapper", 54, 0, 129, 129 },
	{ "DeferredInit", 55, 0, 130, 130 },
	{ "PythonTLSSnapshot", 56, 0, 131, 131 },
	{ "FuncTorchDynamicLayerFrontMode", 57, 0, 132, 132 },
	{ "TESTING_ONLY_GenericWrapper", 58, 0, 133, 133 },
	{ "TESTING_ONLY_GenericMode", 59, 0, 134, 134 },
	{ "PreDispatch", 60, 0, 135, 135 },
	{ "PythonDispatcher", 61, 0, 136, 136 },
};

static const struct row pt113_rows[] = {
	{ "Undefined", -1, 0, 0, 0 },
	{ "Dense", 14, 1, 1, 14 },
	{ "FPGA", 15, 0, 15, 15 },
	{ "ORT", 16, 0, 16, 16 },
	{ "Vulkan", 17, 0, 17, 17 },
	{ "Metal", 18, 0, 18, 18 },
	{ "Quantized", 19, 1, 19, 32 },
	{ "CustomRNGKeyId", 20, 0, 33, 33 },
	{ "MkldnnCPU", 21, 0, 34, 34 },
	{ "Sparse", 22, 1, 35, 48 },
	{ "SparseCsrCPU", 23, 0, 49, 49 },
	{ "SparseCsrCUDA", 24, 0, 50, 50 },
	{ "NestedTensor", 25, 1, 51, 64 },
	{ "BackendSelect", 26, 0, 65, 65 },
	{ "Python", 27, 0, 66, 66 },
	{ "Fake", 28, 0, 67, 67 },
	{ "FuncTorchDynamicLayerBackMode", 29, 0, 68, 68 },
	{ "Functionalize", 30, 0, 69, 69 },
	{ "Named", 31, 0, 70, 70 },
	{ "Conjugate", 32, 0, 71, 71 },
	{ "Negative", 33, 0, 72, 72 },
	{ "ZeroTensor", 34, 0, 73, 73 },
	{ "ADInplaceOrView", 35, 0, 74, 74 },
	{ "AutogradOther", 36, 0, 75, 75 },
	{ "AutogradFunctionality", 37, 1, 76, 89 },
	{ "AutogradNestedTensor", 38, 0, 90, 90 },
	{ "Tracer", 39, 0, 91, 91 },
	{ "AutocastCPU", 40, 0, 92, 92 },
	{ "AutocastXPU", 41, 0, 93, 93 },
	{ "AutocastCUDA", 42, 0, 94, 94 },
	{ "FuncTorchBatched", 43, 0, 95, 95 },
	{ "FuncTorchVmapMode", 44, 0, 96, 96 },
	{ "Batched", 45, 0, 97, 97 },
	{ "VmapMode", 46, 0, 98, 98 },
	{ "FuncTorchGradWrapper", 47, 0, 99, 99 },
	{ "DeferredInit", 48, 0, 100, 100 },
	{ "PythonTLSSnapshot", 49, 0, 101, 101 },
	{ "FuncTorchDynamicLayerFrontMode", 50, 0, 102, 102 },
	{ "TESTING_ONLY_GenericWrapper", 51, 0, 103, 103 },
	{ "TESTING_ONLY_GenericMode", 52, 0, 104, 104 },
	{ "PythonDispatcher", 53, 0, 105, 105 },
};

static void expect_rows(const struct dk_layout *l, const struct row *rows,
			unsigned int n)
{
	unsigned int f, b, key;

	EXPECT_EQ(dk_layout_functionalities(l), n);
	for (f = 0; f < n; f++) {
		EXPECT_STREQ(name_of(l, f), rows[f].name);
		EXPECT_EQ(dk_key_set(l, f).bits, f ? 1ULL << rows[f].bit : 0);
		EXPECT_EQ(dk_is_per_backend(l, f), rows[f].per_backend);
		EXPECT_EQ(dk_key_slot(l, f), rows[f].first);
		if (!rows[f].per_backend) {
			EXPECT_EQ(dk_slot_key(l, rows[f].first), f);
			continue;
		}
		EXPECT_EQ(rows[f].last, rows[f].first + dk_layout_backends(l) - 1);
		for (b = 1; b <= dk_layout_backends(l); b++) {
			key = dk_runtime_key(l, f, b);
			EXPECT_EQ(dk_key_slot(l, key), rows[f].first + b - 1);
			EXPECT_EQ(dk_slot_key(l, rows[f].first + b - 1), key);
			EXPECT_EQ(dk_key_set(l, key).bits,
				  1ULL << rows[f].bit | 1ULL << (b - 1));
		}
	}
}

TEST(table_index_of_every_key)
{
	expect_rows(NULL, v1_rows, DKC_COUNT(v1_rows));
	expect_rows(layout_n(), v1_rows, DKC_COUNT(v1_rows));
	expect_rows(layout_l(), pt113_rows, DKC_COUNT(pt113_rows));
}

TEST(table_index_examples)
{
	EXPECT_EQ(dk_key_slot(NULL, DK_AUTOGRAD_META), 111);
	EXPECT_EQ(dk_key_slot(NULL, DK_SPARSE_MAIA), 49);
	EXPECT_EQ(dk_key_slot(NULL, DK_NESTED_TENSOR_XPU), 76);
	EXPECT_EQ(dk_key_slot(layout_l(), key_of(layout_l(), "SparseCUDA")), 36);
	EXPECT_EQ(dk_key_slot(layout_l(), key_of(layout_l(), "AutogradMeta")), 86);
	EXPECT_EQ(dk_key_slot(layout_l(),
			      key_of(layout_l(), "AutogradPrivateUse3")), 89);
}

TEST(slots_and_runtime_keys_are_one_to_one)
{
	unsigned int slot, key, runtime;

	FOR_EACH_LAYOUT(l) {
		for (slot = 0; slot < dk_layout_entries(l); slot++)
			EXPECT_EQ(dk_key_slot(l, dk_slot_key(l, slot)), slot);
		EXPECT_EQ(dk_slot_key(l, slot), 0);
		EXPECT_EQ(dk_slot_key(l, ~0U), 0);
		runtime = 0;
		for (key = 0; key < dk_layout_keys(l) + 50; key++)
			runtime += dk_slot_key(l, dk_key_slot(l, key)) == key;
		EXPECT_EQ(runtime, dk_layout_entries(l));
	}
}

TEST(kinds_of_keys)
{
	static const struct {
		unsigned int key;
		enum dk_key_kind kind;
	} kinds[] = {
		{ DK_UNDEFINED, DK_KIND_UNDEFINED },
		{ DK_DENSE, DK_KIND_BUILDING_BLOCK },
		{ DK_FPGA, DK_KIND_FUNCTIONALITY },
		{ DK_AUTOGRAD_FUNCTIONALITY, DK_KIND_BUILDING_BLOCK },
		{ DK_PYTHON_DISPATCHER, DK_KIND_FUNCTIONALITY },
		{ DK_END_OF_FUNCTIONALITY_KEYS, DK_KIND_SENTINEL },
		{ DK_START_OF_DENSE_BACKENDS, DK_KIND_SENTINEL },
		{ DK_CPU, DK_KIND_PER_BACKEND },
		{ DK_START_OF_AUTOGRAD_BACKENDS, DK_KIND_SENTINEL },
		{ DK_AUTOGRAD_META, DK_KIND_PER_BACKEND },
		{ DK_AUTOGRAD, DK_KIND_ALIAS },
		{ DK_END_OF_ALIAS_KEYS, DK_KIND_ALIAS },
		{ DK_END_OF_ALIAS_KEYS + 1, DK_KIND_NONE },
		{ ~0U, DK_KIND_NONE },
	};
	unsigned int i;

	for (i = 0; i < DKC_COUNT(kinds); i++)
		EXPECT_EQ(dk_key_kind(NULL, kinds[i].key), kinds[i].kind);
	EXPECT_EQ(dk_key_kind(layout_l(), 117), DK_KIND_ALIAS);
	EXPECT_EQ(dk_key_kind(layout_l(), 122), DK_KIND_NONE);
}

TEST(conversions_of_keys)
{
	FOR_EACH_LAYOUT(l) {
		unsigned int nf = dk_layout_functionalities(l);
		unsigned int dense = key_of(l, "Dense");

		EXPECT_EQ(dk_key_functionality(l, nf), nf);
		EXPECT_EQ(dk_key_functionality(l, nf + 1), dense);
		EXPECT_EQ(dk_key_backend(l, nf + 1), 0);
		EXPECT_EQ(dk_key_functionality(l, key_of(l, "Autograd")), 0);
		EXPECT_EQ(dk_key_functionality(l, ~0U), 0);
		EXPECT_EQ(dk_key_functionality(l, key_of(l, "SparseXPU")),
			  key_of(l, "Sparse"));
		EXPECT_EQ(dk_key_backend(l, key_of(l, "SparseXPU")), 7);
		EXPECT_EQ(dk_key_backend(l, dense), 0);
		EXPECT_EQ(dk_key_backend(l, key_of(l, "FPGA")), 0);
		EXPECT_EQ(dk_key_backend(l, key_of(l, "Autograd")), 0);
		EXPECT_EQ(dk_runtime_key(l, dense, 1), key_of(l, "CPU"));
		EXPECT_EQ(dk_runtime_key(l, dense, 0), nf + 1);
		EXPECT_EQ(dk_runtime_key(l, dense, 17), 0);
		EXPECT_EQ(dk_runtime_key(l, key_of(l, "FPGA"), 1), 0);
		EXPECT_EQ(dk_runtime_key(l, ~0U, 1), 0);
		EXPECT_EQ(dk_is_per_backend(l, key_of(l, "CPU")), 0);
		EXPECT_EQ(dk_is_per_backend(l, ~0U), 0);
		/* an alias key and Undefined go to entry 0 */
		EXPECT_EQ(dk_key_slot(l, key_of(l, "Autograd")), 0);
		EXPECT_EQ(dk_key_set(l, key_of(l, "Autograd")).bits, 0);
		EXPECT_EQ(dk_key_slot(l, 0), 0);
	}
}

TEST(macros_of_v1_equal_the_derived_layout)
{
	static const unsigned long long a_constant = DK_KEY_BITS(DK_AUTOGRAD_CUDA);
	static const unsigned long long per_backend = DK_PER_BACKEND_MASK;
	unsigned int key;

	EXPECT_EQ(a_constant, 0x1000000002);
	for (key = 0; key < DK__KEY_END + 20; key++)
		EXPECT_EQ(DK_KEY_BITS(key), dk_key_set(NULL, key).bits);
	EXPECT_EQ(DK_FULL, dk_layout_full(NULL).bits);
	EXPECT_EQ(DK_NUM_BACKENDS, dk_layout_backends(NULL));
	EXPECT_EQ(DK_NUM_FUNCTIONALITIES, dk_layout_functionalities(NULL));
	EXPECT_EQ(DK_NUM_ENTRIES, dk_layout_entries(NULL));
	EXPECT_EQ(DK__KEY_END, dk_layout_keys(NULL));
	EXPECT_EQ(DK_DEFAULT_INCLUDED, set_of(NULL, "BackendSelect,ADInplaceOrView").bits);
	EXPECT_EQ(DK_DEFAULT_INCLUDED, dkc_layout(NULL)->default_included);
	EXPECT_EQ(DK_DEFAULT_EXCLUDED, dkc_layout(NULL)->default_excluded);
	EXPECT_EQ(DK_DEFAULT_EXCLUDED, 0x1ff8000000000);
	EXPECT_EQ(DK_BACKEND_MASK, dkc_layout(NULL)->backend_mask);
	for (key = 1; key < DK_NUM_FUNCTIONALITIES; key++)
		EXPECT_EQ(!!(per_backend & DK_KEY_BITS(key)),
			  dk_is_per_backend(NULL, key));
	EXPECT(!dk_local_default.included && !dk_local_default.excluded);
	EXPECT_EQ(dk_local_included(&dk_local_default).bits, DK_DEFAULT_INCLUDED);
	EXPECT_EQ(dk_local_excluded(&dk_local_default).bits, DK_DEFAULT_EXCLUDED);
}

TEST(enumerators_of_v1_equal_the_derived_layout)
{
#define FUNCTIONALITY(U, N, P)						\
	EXPECT_STREQ(name_of(NULL, DK_##U), #N);			\
	EXPECT_EQ(DK_SLOT_##U, dk_key_slot(NULL, DK_##U));		\
	EXPECT_EQ(DK_SLOT_LAST_##U - DK_SLOT_##U,			\
		  dk_is_per_backend(NULL, DK_##U) ? DK_NUM_BACKENDS - 1 : 0);
#define BACKEND(U, N, P, arg)						\
	EXPECT_STREQ(dk_backend_bit_name(NULL, DK_BACKEND_##U), P);	\
	EXPECT_EQ(bit_of(NULL, #N), DK_BACKEND_##U);			\
	EXPECT_STREQ(name_of(NULL, DK_##U), #N);			\
	EXPECT_STREQ(name_of(NULL, DK_QUANTIZED_##U), "Quantized" #N);	\
	EXPECT_STREQ(name_of(NULL, DK_SPARSE_##U), "Sparse" #N);	\
	EXPECT_STREQ(name_of(NULL, DK_SPARSE_CSR_##U), "SparseCsr" #N);	\
	EXPECT_STREQ(name_of(NULL, DK_NESTED_TENSOR_##U), "NestedTensor" #N); \
	EXPECT_STREQ(name_of(NULL, DK_AUTOGRAD_##U), "Autograd" #N);
#define ALIAS(U, N)							\
	EXPECT_STREQ(name_of(NULL, DK_##U), #N);			\
	EXPECT_EQ(dk_key_kind(NULL, DK_##U), DK_KIND_ALIAS);
	DK_FUNCTIONALITIES(FUNCTIONALITY)
	DK_BACKENDS(BACKEND, DK__NONE)
	DK_ALIASES(ALIAS)
}

/* ---- the algebra -------------------------------------------------------------- */

/* The table at the end of SEMANTICS 2.3. */
struct worked {
	const char *set;
	unsigned long long bits;
	const char *top;
	unsigned int slot;
};

static void expect_worked(const struct dk_layout *l, struct dk_keyset ks,
			  unsigned long long bits, const char *top, unsigned int slot)
{
	EXPECT_EQ(ks.bits, bits);
	EXPECT_STREQ(name_of(l, dk_keyset_key(l, ks)), top);
	EXPECT_EQ(dk_keyset_slot(l, ks), slot);
}

static void expect_sets(const struct dk_layout *l, const struct worked *w,
			unsigned int n)
{
	for (; n--; w++)
		expect_worked(l, set_of(l, w->set), w->bits, w->top, w->slot);
}

TEST(worked_values_n)
{
	static const struct worked sets[] = {
		{ "DispatchKeySet()", 0, "Undefined", 0 },
		{ "CPU", 0x10001, "CPU", 1 },
		{ "Dense", 0x10000, "Undefined", 1 },
		{ "CPUBit", 0x1, "Undefined", 0 },
		{ "MetaBit", 0x8000, "Undefined", 0 },
		{ "Dense|Sparse|CPUBit|CUDABit", 0x810003, "SparseCUDA", 39 },
		{ "CPU|AutogradCUDA", 0x1000010003, "AutogradCUDA", 97 },
		{ "CPU|ADInplaceOrView|AutogradCPU|AutocastCPU", 0x9400010001,
		  "AutocastCPU", 114 },
		{ "FPGA", 0x20000, "FPGA", 17 },
		{ "FPGA|CUDABit", 0x20002, "FPGA", 17 },
		{ "AutogradFunctionality", 0x1000000000, "AutogradUndefined", 96 },
		{ "AutogradOther", 0x800000000, "AutogradOther", 95 },
	};
	const struct dk_layout *l = layout_n();
	struct dk_keyset both = set_of(l, "CPU|CUDA");

	expect_sets(NULL, sets, DKC_COUNT(sets));
	expect_sets(l, sets, DKC_COUNT(sets));
	expect_worked(l, dk_keyset_remove(l, set_of(l, "CPU|AutogradCUDA"),
					  DK_AUTOGRAD_CUDA), 0x10003, "CUDA", 2);
	expect_worked(l, dk_keyset_sub(l, both, DK_SET(DK_CUDA)), 0x3,
		      "Undefined", 0);
	expect_worked(l, dk_keyset_remove_backend(l, both, DK_BACKEND_CUDA),
		      0x10001, "CPU", 1);
	expect_worked(l, dk_keyset_xor(DK_SET(DK_CPU), DK_SET(DK_CUDA)), 0x3,
		      "Undefined", 0);
	expect_worked(l, dk_keyset_after(l, DK_DENSE), 0x200000000000ffff,
		      "PythonDispatcher", 136);
	EXPECT_EQ(dk_keyset_key(l, set_of(l, "Dense")), DK_START_OF_DENSE_BACKENDS);
	EXPECT_EQ(dk_keyset_key(l, set_of(l, "AutogradFunctionality")),
		  DK_START_OF_AUTOGRAD_BACKENDS);
	EXPECT_EQ(dk_keyset_backend(l, set_of(l, "MetaBit")), 16);
}

TEST(worked_values_l)
{
	static const struct worked sets[] = {
		{ "DispatchKeySet()", 0, "Undefined", 0 },
		{ "CPU", 0x4001, "CPU", 1 },
		{ "Dense", 0x4000, "Unknown", 1 },
		{ "CPUBit", 0x1, "Undefined", 0 },
		{ "MetaBit", 0x400, "Undefined", 0 },
		{ "Dense|Sparse|CPUBit|CUDABit", 0x404003, "SparseCUDA", 36 },
		{ "CPU|AutogradCUDA", 0x2000004003, "AutogradCUDA", 77 },
		{ "CPU|ADInplaceOrView|AutogradCPU|AutocastCPU", 0x12800004001,
		  "AutocastCPU", 92 },
		{ "FPGA", 0x8000, "FPGA", 15 },
		{ "FPGA|CUDABit", 0x8002, "FPGA", 15 },
		{ "AutogradFunctionality", 0x2000000000, "AutogradUnknown", 76 },
		{ "AutogradOther", 0x1000000000, "AutogradOther", 75 },
	};
	const struct dk_layout *l = layout_l();
	struct dk_keyset both = set_of(l, "CPU|CUDA");

	expect_sets(l, sets, DKC_COUNT(sets));
	expect_worked(l, dk_keyset_remove(l, set_of(l, "CPU|AutogradCUDA"),
					  key_of(l, "AutogradCUDA")),
		      0x4003, "CUDA", 2);
	expect_worked(l, dk_keyset_sub(l, both, set_of(l, "CUDA")), 0x3,
		      "Undefined", 0);
	expect_worked(l, dk_keyset_remove_backend(l, both, bit_of(l, "CUDABit")),
		      0x4001, "CPU", 1);
	expect_worked(l, dk_keyset_xor(set_of(l, "CPU"), set_of(l, "CUDA")), 0x3,
		      "Undefined", 0);
	expect_worked(l, dk_keyset_after(l, key_of(l, "Dense")), 0x20000000003fff,
		      "PythonDispatcher", 105);
	EXPECT_EQ(dk_keyset_backend(l, set_of(l, "MetaBit")), 11);
}

TEST(worked_iterations)
{
	FOR_EACH_LAYOUT(l) {
		EXPECT_STREQ(print(l, set_of(l, "Dense|Sparse|CPUBit|CUDABit")),
			     "DispatchKeySet(CPU, CUDA, SparseCPU, SparseCUDA)");
		EXPECT_STREQ(print(l, set_of(l, "CPUBit|FPGA|Functionalize|Dense")),
			     "DispatchKeySet(CPU, FPGA, Functionalize)");
		EXPECT_STREQ(print(l, set_of(l, "Dense")), "DispatchKeySet()");
		EXPECT_STREQ(print(l, set_of(l, "CPUBit")), "DispatchKeySet()");
		EXPECT_STREQ(print(l, set_of(l, "AutogradFunctionality")),
			     "DispatchKeySet()");
		EXPECT_STREQ(print(l, DK_KEYSET(0)), "DispatchKeySet()");
	}
}

TEST(removal_takes_functionality_bits_only)
{
	FOR_EACH_LAYOUT(l) {
		struct dk_keyset cpu = set_of(l, "CPU");

		EXPECT_EQ(dk_keyset_remove(l, cpu, key_of(l, "CPU")).bits, 1);
		EXPECT_EQ(dk_keyset_remove(l, cpu, 0).bits, cpu.bits);
		EXPECT_EQ(dk_keyset_remove(l, cpu, key_of(l, "Autograd")).bits,
			  cpu.bits);
		EXPECT_EQ(dk_backend_set(l, bit_of(l, "CPUBit")).bits, 1);
		EXPECT_EQ(dk_backend_set(l, 0).bits, 0);
		EXPECT_EQ(dk_backend_set(l, dk_layout_backends(l)).bits,
			  1ULL << (dk_layout_backends(l) - 1));
		EXPECT_EQ(dk_backend_set(l, dk_layout_backends(l) + 1).bits, 0);
		EXPECT_EQ(dk_keyset_remove_backend(l, cpu, 0).bits, cpu.bits);
		EXPECT_EQ(dk_keyset_remove_backend(l, cpu, ~0U).bits, cpu.bits);
		/* has(Undefined) and has(alias) hold for every set */
		EXPECT(has(l, DK_KEYSET(0), 0));
		EXPECT(has(l, DK_KEYSET(0), key_of(l, "Autograd")));
	}
}

TEST(sets_after_a_key)
{
	const struct dk_layout *n = layout_n();

	EXPECT_EQ(dk_keyset_after(n, DK_CPU).bits, 0x200000000000ffff);
	EXPECT_EQ(dk_keyset_after(n, DK_PYTHON_DISPATCHER).bits, DK_FULL);
	/* degenerate, as in PyTorch: the top backend bit is missing */
	EXPECT_EQ(dk_keyset_after(n, DK_UNDEFINED).bits, 0x2000000000007fff);
	EXPECT_EQ(dk_keyset_after(n, DK_AUTOGRAD).bits, 0x2000000000007fff);
	EXPECT_EQ(dk_keyset_after(n, ~0U).bits, 0x2000000000007fff);
}

/* Whatever the bits, what comes out is a slot of the layout. */
TEST(bits_outside_of_the_layout_choose_nothing)
{
	unsigned int i, slot, last;

	FOR_EACH_LAYOUT(l) {
		struct dk_keyset outside = { ~dk_layout_full(l).bits };

		EXPECT_EQ(dk_keyset_slot(l, outside), 0);
		EXPECT_EQ(dk_keyset_key(l, outside), 0);
		EXPECT_EQ(count(l, outside), 0);
		EXPECT_EQ(count(l, DK_KEYSET(~0ULL)), dk_layout_entries(l) - 1);
		for (i = 0; i < 20000; i++) {
			struct dk_keyset ks = { some_bits() & some_bits() };
			struct dk_keyset in = dk_keyset_and(ks, dk_layout_full(l));

			EXPECT(dk_keyset_slot(l, ks) < dk_layout_entries(l));
			EXPECT_EQ(dk_keyset_slot(l, ks), dk_keyset_slot(l, in));
			EXPECT_EQ(dk_keyset_key(l, ks), dk_keyset_key(l, in));
			EXPECT_EQ(dk_backend_type(l, ks), dk_backend_type(l, in));
			EXPECT_EQ(dk_legacy_extract(l, ks),
				  dk_legacy_extract(l, in));
			EXPECT_EQ(count(l, ks), count(l, in));
			last = 0;
			for (slot = dk_keyset_next(l, ks, 0); slot;
			     slot = dk_keyset_next(l, ks, slot)) {
				EXPECT(slot > last);
				EXPECT(has(l, ks, dk_slot_key(l, slot)));
				last = slot;
			}
			if (last && dk_keyset_backend(l, ks))
				EXPECT_EQ(last, dk_keyset_slot(l, ks));
		}
	}
}

/* ---- SEMANTICS 11.1: the tests that PyTorch has for its own sets ------------------ */

/* states: 11.1.1 */
TEST(upstream_1_show_semantics)
{
	FOR_EACH_LAYOUT(l) {
		struct dk_keyset cpu = set_of(l, "CPU");
		struct dk_keyset cross =
			set_of(l, "AutogradFunctionality|Dense|CUDA|CPU");

		EXPECT_EQ(cpu.bits, set_of(l, "Dense|CPUBit").bits);
		EXPECT_EQ(set_of(l, "Lazy").bits, set_of(l, "Dense|LazyBit").bits);
		EXPECT_EQ(set_of(l, "AutogradCUDA").bits,
			  set_of(l, "AutogradFunctionality|CUDABit").bits);
		EXPECT(has(l, cross, key_of(l, "CPU")));
		EXPECT(has(l, cross, key_of(l, "CUDA")));
		EXPECT(has(l, cross, key_of(l, "AutogradCPU")));
		EXPECT(has(l, cross, key_of(l, "AutogradCUDA")));
		EXPECT_EQ(cross.bits,
			  set_of(l, "AutogradCUDA|AutogradCPU|CUDA|CPU").bits);
		EXPECT_EQ(cross.bits, set_of(l, "AutogradCUDA|CPU").bits);
		EXPECT_EQ(cross.bits, set_of(l, "CUDA|AutogradCPU").bits);
		EXPECT_STREQ(print(l, cpu), "DispatchKeySet(CPU)");
		EXPECT_STREQ(print(l, cross),
			     "DispatchKeySet(CPU, CUDA, AutogradCPU, AutogradCUDA)");
		EXPECT_STREQ(print(l, set_of(l, "CPUBit|FPGA|Functionalize|Dense")),
			     "DispatchKeySet(CPU, FPGA, Functionalize)");
	}
}

/* states: 11.1.2 */
TEST(upstream_2_empty)
{
	unsigned int key;

	FOR_EACH_LAYOUT(l)
		for (key = 1; key < key_of(l, "Autograd"); key++)
			EXPECT(!has(l, DK_KEYSET(0), key));
}

/* states: 11.1.3 */
TEST(upstream_3_singleton_backend_component)
{
	unsigned int b;

	FOR_EACH_LAYOUT(l) {
		for (b = 1; b <= dk_layout_backends(l); b++) {
			struct dk_keyset one =
				set_of(l, dk_backend_bit_name(l, b));

			/* two of them are printed like keys, and are those */
			if (one.bits >> dk_layout_backends(l))
				continue;
			EXPECT_EQ(one.bits, 1ULL << (b - 1));
			EXPECT_EQ(dk_keyset_or(one, one).bits, one.bits);
			EXPECT_EQ(dk_keyset_backend(l, one), b);
			EXPECT_EQ(dk_keyset_functionality(l, one), 0);
		}
	}
}

/* states: 11.1.4 */
TEST(upstream_4_singleton_functionality_keys)
{
	unsigned int key;

	FOR_EACH_LAYOUT(l) {
		for (key = 1; key < dk_layout_functionalities(l); key++) {
			struct dk_keyset one = dk_key_set(l, key);

			EXPECT_NE(one.bits, 0);
			EXPECT_EQ(dk_keyset_or(DK_KEYSET(0), one).bits, one.bits);
			EXPECT_EQ(dk_keyset_or(one, one).bits, one.bits);
			EXPECT(has(l, one, key));
			EXPECT_EQ(dk_keyset_remove(l, one, key).bits, 0);
		}
	}
}

/* states: 11.1.5 */
TEST(upstream_5_singleton_per_backend_keys)
{
	unsigned int key;

	FOR_EACH_LAYOUT(l) {
		for (key = dk_layout_functionalities(l) + 1;
		     key < key_of(l, "Autograd"); key++) {
			struct dk_keyset one = dk_key_set(l, key);
			unsigned int f = dk_key_functionality(l, key);
			unsigned int b = dk_key_backend(l, key);
			unsigned long long bit = b ? 1ULL << (b - 1) : 0;

			EXPECT_NE(one.bits, 0);
			EXPECT(has(l, one, key));
			EXPECT_EQ(one.bits, dk_key_set(l, f).bits | bit);
			EXPECT_EQ(dk_keyset_remove(l, one, key).bits, bit);
		}
	}
}

static void expect_doubleton(const struct dk_layout *l, unsigned int a, unsigned int b)
{
	struct dk_keyset ks = dk_keyset_or(dk_key_set(l, a), dk_key_set(l, b));
	bool cross = dk_key_functionality(l, a) != dk_key_functionality(l, b) &&
		     dk_key_backend(l, a) != dk_key_backend(l, b);

	EXPECT(has(l, ks, a));
	EXPECT(has(l, ks, b));
	EXPECT(has(l, ks, dk_key_functionality(l, a)));
	EXPECT(has(l, ks, dk_key_functionality(l, b)));
	EXPECT(has(l, ks, dk_runtime_key(l, dk_key_functionality(l, a),
					 dk_key_backend(l, b))));
	EXPECT_EQ(count(l, ks), cross ? 4 : 2);
}

/* states: 11.1.6 */
TEST(upstream_6_doubleton_per_backend)
{
	unsigned int a, b;

	FOR_EACH_LAYOUT(l)
		for (a = 1; a < key_of(l, "Autograd"); a++)
			for (b = a + 1; b < key_of(l, "Autograd"); b++)
				if (dk_key_backend(l, a) && dk_key_backend(l, b))
					expect_doubleton(l, a, b);
}

/* states: 11.1.7 */
TEST(upstream_7_full)
{
	unsigned int f;

	FOR_EACH_LAYOUT(l) {
		for (f = 1; f < dk_layout_functionalities(l); f++)
			EXPECT(has(l, dk_layout_full(l), f));
		EXPECT(!has(l, dk_layout_full(l), f));
	}
}

/* states: 11.1.8 */
TEST(upstream_8_iterator_basic_ops)
{
	FOR_EACH_LAYOUT(l) {
		struct dk_keyset cpu = set_of(l, "CPU"), full = dk_layout_full(l);
		unsigned int first = dk_keyset_next(l, full, 0);

		EXPECT_EQ(dk_keyset_next(l, DK_KEYSET(0), 0), 0);
		EXPECT_STREQ(name_of(l, dk_slot_key(l, dk_keyset_next(l, cpu, 0))),
			     "CPU");
		EXPECT_EQ(dk_keyset_next(l, cpu, dk_keyset_next(l, cpu, 0)), 0);
		EXPECT_NE(first, 0);
		EXPECT_EQ(dk_keyset_next(l, full, 0), first);
		EXPECT_NE(dk_keyset_next(l, full, first), first);
	}
}

static const char *backend_type(const struct dk_layout *l, const char *set)
{
	return name_of(l, dk_backend_type(l, set_of(l, set)));
}

/* states: 11.1.9 */
TEST(upstream_9_highest_priority_backend_type)
{
	FOR_N_AND_L(l) {
		EXPECT_STREQ(backend_type(l, "AutogradCPU|CPU"), "CPU");
		EXPECT_STREQ(backend_type(l, "Functionalize|SparseCUDA"),
			     "SparseCUDA");
		EXPECT_STREQ(backend_type(l, "CUDA|QuantizedCUDA"),
			     "QuantizedCUDA");
		/* in L it is no per-backend functionality */
		EXPECT_STREQ(backend_type(l, "Functionalize|SparseCsrCUDA"),
			     is_l(l) ? "Undefined" : "SparseCsrCUDA");
	}
}

/* states: 11.1.10 */
TEST(upstream_10_iterator_empty)
{
	FOR_EACH_LAYOUT(l)
		EXPECT_EQ(count(l, DK_KEYSET(0)), 0);
}

/* states: 11.1.11 */
TEST(upstream_11_iterator_cross_product)
{
	FOR_EACH_LAYOUT(l)
		EXPECT_STREQ(print(l, set_of(l, "CPUBit|CUDABit|Dense|FPGA|"
						"AutogradFunctionality")),
			     "DispatchKeySet(CPU, CUDA, FPGA, AutogradCPU, AutogradCUDA)");
}

/* states: 11.1.12 */
TEST(upstream_12_iterator_full)
{
	unsigned int slot, n;

	FOR_N_AND_L(l) {
		n = 0;
		for (slot = dk_keyset_next(l, dk_layout_full(l), 0); slot;
		     slot = dk_keyset_next(l, dk_layout_full(l), slot))
			EXPECT_EQ(slot, ++n);
		EXPECT_EQ(n, is_l(l) ? 105 : 136);
	}
}

/*
 * states: 11.1.13
 *
 * Where PyTorch raises, a walk that starts behind the end is at its end.
 */
TEST(upstream_13_fail_at_end_iterator)
{
	FOR_EACH_LAYOUT(l) {
		struct dk_keyset full = dk_layout_full(l);

		EXPECT_EQ(dk_keyset_next(l, full, dk_layout_entries(l) - 1), 0);
		EXPECT_EQ(dk_keyset_next(l, full, dk_layout_entries(l)), 0);
		EXPECT_EQ(dk_keyset_next(l, full, ~0U), 0);
	}
}

/* states: 11.1.14 */
TEST(upstream_14_backend_component_to_string)
{
	unsigned int a, b;

	FOR_EACH_LAYOUT(l) {
		for (a = 0; a <= dk_layout_backends(l); a++) {
			EXPECT(strcmp(dk_backend_bit_name(l, a),
				      "UNKNOWN_BACKEND_BIT"));
			for (b = 0; b < a; b++)
				EXPECT(strcmp(dk_backend_bit_name(l, a),
					      dk_backend_bit_name(l, b)));
		}
		EXPECT_STREQ(dk_backend_bit_name(l, 0), "InvalidBit");
		EXPECT_STREQ(dk_backend_bit_name(l, a), "UNKNOWN_BACKEND_BIT");
		EXPECT_STREQ(dk_backend_bit_name(l, ~0U), "UNKNOWN_BACKEND_BIT");
	}
	EXPECT_STREQ(dk_backend_bit_name(NULL, DK_BACKEND_MTIA), "MTIA");
	EXPECT_STREQ(dk_backend_bit_name(NULL, DK_BACKEND_MAIA), "MAIA");
}

/* states: 11.1.15 */
TEST(upstream_15_end_of_runtime_backend_keys)
{
	EXPECT_EQ(DK_END_OF_RUNTIME_BACKEND_KEYS, DK_START_OF_AUTOGRAD_BACKENDS +
						  DK_NUM_BACKENDS);
	FOR_EACH_LAYOUT(l)
		EXPECT_EQ(dk_runtime_key(l, key_of(l, "AutogradFunctionality"),
					 dk_layout_backends(l)),
			  key_of(l, "Autograd") - 1);
}

/* states: 11.1.16 */
TEST(upstream_16_key_to_string)
{
	char a[DK_NAME_MAX], b[DK_NAME_MAX];
	unsigned int i, j;

	FOR_EACH_LAYOUT(l) {
		for (i = 0; i < dk_layout_keys(l); i++) {
			if (dk_key_kind(l, i) == DK_KIND_SENTINEL)
				continue;
			EXPECT(!strstr(dk_key_name(l, i, a), "Unknown"));
			for (j = 0; j < i; j++)
				if (dk_key_kind(l, j) != DK_KIND_SENTINEL)
					EXPECT(strcmp(a, dk_key_name(l, j, b)));
		}
	}
}

/* states: 11.1.17 */
TEST(upstream_17_runtime_dispatch_key_set)
{
	unsigned int a, b;

	FOR_EACH_LAYOUT(l)
		for (a = 1; a < dk_layout_entries(l); a++)
			for (b = 1; b < dk_layout_entries(l); b++) {
				unsigned int x = dk_slot_key(l, a);
				unsigned int y = dk_slot_key(l, b);

				/* of a key that is no alias, its own set */
				EXPECT_EQ(dk_alias_set(l, x).bits,
					  dk_key_set(l, x).bits);
				EXPECT_EQ(has(l, dk_alias_set(l, x), y),
					  dk_alias_has(l, x, y));
			}
}

/* ---- aliases, maps, constants --------------------------------------------------- */

struct value {
	const char *name;
	unsigned long long n, l;	/* in N and in L, 0 for none */
};

TEST(alias_sets)
{
	static const struct value sets[] = {
		{ "Autograd", 0x380000ffff, 0x7000003fff },
		{ "CompositeImplicitAutograd", 0x3803ffffff, 0x7003ffffff },
		{ "CompositeImplicitAutogradNestedTensor", 0x200200ffff,
		  0x4002003fff },
		{ "CompositeExplicitAutograd", 0x1ffffff, 0x1ffffff },
		{ "CompositeExplicitAutogradNonFunctional", 0x17ffdf7, 0x1bffdf7 },
		{ "FuncTorchBatchedDecomposition", 0x2000000000000, 0 },
		{ "Sparse", 0x800000, 0x400000 },
		{ "SparseCPU", 0x800001, 0x400001 },
	};
	unsigned int i, key;

	FOR_N_AND_L(l) {
		for (i = 0; i < DKC_COUNT(sets); i++) {
			if (is_l(l) && !sets[i].l) {
				EXPECT(dk_key_parse(l, sets[i].name, 0, &key, NULL));
				continue;
			}
			key = key_of(l, sets[i].name);
			EXPECT_EQ(dk_alias_set(l, key).bits,
				  is_l(l) ? sets[i].l : sets[i].n);
		}
		EXPECT_EQ(dk_alias_set(l, ~0U).bits, 0);
	}
}

TEST(alias_numbers)
{
	const struct dk_layout *l = layout_l();

	EXPECT_EQ(dkc_key_alias(NULL, 152), DKC_ALIAS_BATCHED);
	EXPECT_EQ(dkc_key_alias(NULL, 155), DKC_ALIAS_NON_FUNCTIONAL);
	EXPECT_EQ(dkc_key_alias(NULL, 156), DKC_NUM_ALIASES);
	EXPECT_EQ(dkc_key_alias(NULL, 0), DKC_NUM_ALIASES);
	EXPECT_EQ(dkc_key_alias(l, 117), DKC_ALIAS_AUTOGRAD);
	EXPECT_EQ(dkc_key_alias(l, 118), DKC_ALIAS_IMPLICIT);
	EXPECT_EQ(dkc_key_alias(l, 119), DKC_ALIAS_NESTED);
	EXPECT_EQ(dkc_key_alias(l, 120), DKC_ALIAS_EXPLICIT);
	EXPECT_EQ(dkc_key_alias(l, 121), DKC_ALIAS_NON_FUNCTIONAL);
	EXPECT_EQ(dkc_key_alias(l, 0), DKC_NUM_ALIASES);
}

/* SEMANTICS 4.3, the edges. */
TEST(alias_membership)
{
	FOR_N_AND_L(l) {
		unsigned int explicit = key_of(l, "CompositeExplicitAutograd");
		unsigned int autograd = key_of(l, "Autograd");

		EXPECT(dk_alias_has(l, explicit, key_of(l, "Dense")));
		EXPECT(dk_alias_has(l, explicit, key_of(l, "SparseMeta")));
		EXPECT(!dk_alias_has(l, explicit, key_of(l, "NestedTensorCPU")));
		EXPECT(!dk_alias_has(l, explicit, key_of(l, "NestedTensor")));
		EXPECT(!dk_alias_has(l, explicit, key_of(l, "AutogradCPU")));
		EXPECT(dk_alias_has(l, autograd, key_of(l, "AutogradHIP")));
		EXPECT(dk_alias_has(l, autograd, key_of(l, "AutogradOther")));
		EXPECT(!dk_alias_has(l, autograd, key_of(l, "CPU")));
		EXPECT(!dk_alias_has(l, autograd, 0));
		EXPECT(!dk_alias_has(l, autograd, ~0U));
		EXPECT(dk_alias_has(l, autograd, explicit));
		EXPECT(dk_alias_has(l, key_of(l, "CPU"), key_of(l, "CPU")));
		EXPECT(!dk_alias_has(l, key_of(l, "Dense"), key_of(l, "CPU")));
	}
}

TEST(backend_keys)
{
	static const char *const yes[] = {
		"CPU", "Meta", "QuantizedHIP", "SparseXLA", "SparseCsrCUDA",
		"FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU",
		"Dense", "Quantized", "Sparse",
	};
	static const char *const no[] = {
		"Undefined", "NestedTensorCPU", "NestedTensor", "AutogradCPU",
		"AutogradOther", "Tracer", "AutogradFunctionality", "Autograd",
		"CompositeExplicitAutograd", "PythonDispatcher",
	};
	unsigned int i;

	FOR_N_AND_L(l) {
		for (i = 0; i < DKC_COUNT(yes); i++)
			EXPECT(dk_is_backend_key(l, key_of(l, yes[i])));
		for (i = 0; i < DKC_COUNT(no); i++)
			EXPECT(!dk_is_backend_key(l, key_of(l, no[i])));
		EXPECT(!dk_is_backend_key(l, dk_layout_functionalities(l)));
		EXPECT(!dk_is_backend_key(l, ~0U));
	}
	EXPECT(dk_is_backend_key(layout_l(), key_of(layout_l(), "ORT")));
}

/* SEMANTICS 4.4: backend, its autograd and autocast keys in N and in L. */
static const struct {
	const char *backend;
	const char *autograd_n, *autograd_l;
	const char *autocast_n, *autocast_l;
} maps[] = {
	{ "Invalid", "AutogradOther", "AutogradOther", NULL, NULL },
	{ "CPU", "AutogradCPU", "AutogradCPU", "AutocastCPU", "AutocastCPU" },
	{ "CUDA", "AutogradCUDA", "AutogradCUDA", "AutocastCUDA", "AutocastCUDA" },
	{ "HIP", "AutogradOther", "AutogradOther", NULL, NULL },
	{ "VE", "AutogradOther", "AutogradOther", NULL, NULL },
	{ "XLA", "AutogradXLA", "AutogradXLA", "AutocastXLA", "AutocastCUDA" },
	{ "MPS", "AutogradMPS", "AutogradMPS", "AutocastMPS", NULL },
	{ "IPU", "AutogradIPU", "AutogradIPU", "AutocastIPU", NULL },
	{ "XPU", "AutogradXPU", "AutogradXPU", "AutocastXPU", "AutocastXPU" },
	{ "HPU", "AutogradHPU", "AutogradHPU", "AutocastHPU", NULL },
	{ "Lazy", "AutogradLazy", "AutogradLazy", NULL, NULL },
	{ "MTIA", "AutogradMTIA", NULL, "AutocastMTIA", NULL },
	{ "MAIA", "AutogradMAIA", NULL, "AutocastMAIA", NULL },
	{ "PrivateUse1", "AutogradPrivateUse1", "AutogradPrivateUse1",
	  "AutocastPrivateUse1", NULL },
	{ "PrivateUse2", "AutogradPrivateUse2", "AutogradPrivateUse2", NULL, NULL },
	{ "PrivateUse3", "AutogradPrivateUse3", "AutogradPrivateUse3", NULL, NULL },
	{ "Meta", "AutogradMeta", "AutogradMeta", NULL, NULL },
};

TEST(maps_of_backends)
{
	char bit[DK_NAME_MAX];
	unsigned int i, b;

	FOR_N_AND_L(l) {
		for (i = 0; i < DKC_COUNT(maps); i++) {
			const char *autograd = is_l(l) ? maps[i].autograd_l :
							 maps[i].autograd_n;
			const char *autocast = is_l(l) ? maps[i].autocast_l :
							 maps[i].autocast_n;
			unsigned long long want;

			if (!autograd)
				continue;
			snprintf(bit, sizeof(bit), "%sBit", maps[i].backend);
			b = bit_of(l, bit);
			want = set_of(l, "ADInplaceOrView").bits |
			       set_of(l, autograd).bits;
			EXPECT_EQ(dk_autograd_of_backend(l, b).bits, want);
			want = autocast ? set_of(l, autocast).bits : 0;
			EXPECT_EQ(dk_autocast_of_backend(l, b).bits, want);
		}
		EXPECT_EQ(dk_autocast_of_backend(l, ~0U).bits, 0);
		EXPECT_EQ(dk_autograd_of_backend(l, ~0U).bits,
			  set_of(l, "ADInplaceOrView|AutogradOther").bits);
	}
}

TEST(maps_of_autograd_keys)
{
	static const char *const leads[] = {
		"CPU", "CUDA", "XLA", "Lazy", "Meta", "MPS", "HPU", "IPU", "XPU",
		"PrivateUse1", "PrivateUse2", "PrivateUse3",
	};
	static const char *const empty[] = {
		"AutogradHIP", "AutogradVE", "CPU", "SparseCPU", "FPGA", "Dense",
		"AutogradFunctionality", "Tracer", "Undefined", "Autograd",
	};
	char name[DK_NAME_MAX];
	unsigned int i;

	FOR_N_AND_L(l) {
		for (i = 0; i < DKC_COUNT(leads); i++) {
			snprintf(name, sizeof(name), "Autograd%s", leads[i]);
			EXPECT_EQ(dk_backends_of_autograd(l, key_of(l, name)).bits,
				  set_of(l, leads[i]).bits);
		}
		for (i = 0; i < DKC_COUNT(empty); i++)
			EXPECT_EQ(dk_backends_of_autograd(l, key_of(l, empty[i])).bits, 0);
		EXPECT_EQ(dk_backends_of_autograd(l, key_of(l, "AutogradOther")).bits,
			  is_l(l) ? 0x1ffbfff : 0x1feffff);
		EXPECT_EQ(dk_backends_of_autograd(l,
						  key_of(l, "AutogradNestedTensor")).bits,
			  is_l(l) ? 0x2003fff : 0x200ffff);
	}
	EXPECT_EQ(dk_backends_of_autograd(NULL, DK_AUTOGRAD_MAIA).bits, 0x10800);
	EXPECT_EQ(dk_backends_of_autograd(NULL, DK_AUTOGRAD_MTIA).bits, 0);
}

TEST(constants)
{
	static const struct value sets[] = {
		{ "autograd_dispatch_keyset", 0x3800000000, 0x7000000000 },
		{ "autograd_dispatch_keyset_with_ADInplaceOrView",
		  0x3c00000000, 0x7800000000 },
		{ "autocast_dispatch_keyset", 0x1ff8000000000, 0x70000000000 },
		{ "default_excluded_set", 0x1ff8000000000, 0x70000000000 },
		{ "default_included_set", 0x404000000, 0x804000000 },
		{ "python_ks", 0x100000010000000, 0x2000008000000 },
		{ "sparse_ks", 0x800000, 0x400000 },
		{ "sparse_csr_ks", 0x1000000, 0x1800000 },
		{ "mkldnn_ks", 0x400000, 0x200000 },
		{ "autogradother_backends", 0x1feffff, 0x1ffbfff },
		{ "after_autograd_keyset", 0x20000007ffffffff, 0x20000fffffffff },
		{ "after_ADInplaceOrView_keyset", 0x20000003ffffffff,
		  0x200007ffffffff },
		{ "after_func_keyset", 0x200000003fffffff, 0x2000003fffffff },
		{ "backend_bitset_mask", 0xffff, 0x3fff },
		{ "functorch_transforms_ks", 0x7a000000000000, 0xf80000000000 },
		{ "functorch_batched_ks", 0x2000000000000, 0 },
		{ "backend_functionality_keys", 0x191ffff, 0x487fff },
		{ "no_such_ks", 0, 0 },
	};
	unsigned int i;

	FOR_N_AND_L(l) {
		for (i = 0; i < DKC_COUNT(sets); i++) {
			unsigned long long want = is_l(l) ? sets[i].l : sets[i].n;
			struct dk_keyset ks = { 0 };
			struct dk_diag why = { 0 };
			int err = dk_constant_set(l, sets[i].name, &ks, &why);

			EXPECT_EQ(err, want ? 0 : -ENOENT);
			EXPECT_EQ(why.reason, want ? DK_WHY_NONE : DK_WHY_BAD_CONSTANT);
			EXPECT_STREQ(why.name, want ? "" : sets[i].name);
			EXPECT_EQ(ks.bits, want);
		}
	}
}

static const char *fresh(const struct dk_layout *l, const char *set, int inference)
{
	return print(l, dk_fresh_set(l, set_of(l, set), inference));
}

TEST(fresh_sets)
{
	FOR_N_AND_L(l) {
		EXPECT_STREQ(fresh(l, "CPU", 0), "DispatchKeySet(CPU, "
			     "ADInplaceOrView, AutogradCPU, AutocastCPU)");
		EXPECT_STREQ(fresh(l, "Meta", 0), "DispatchKeySet(Meta, "
			     "ADInplaceOrView, AutogradMeta)");
		EXPECT_STREQ(fresh(l, "MkldnnCPU", 0), "DispatchKeySet(MkldnnCPU, "
			     "ADInplaceOrView, AutogradOther)");
		EXPECT_STREQ(fresh(l, "CPU", 1), "DispatchKeySet(CPU, AutocastCPU)");
		EXPECT_STREQ(fresh(l, "CPU|Python|PythonTLSSnapshot|AutogradCPU", 1),
			     "DispatchKeySet(CPU, AutocastCPU)");
	}
	EXPECT_STREQ(fresh(NULL, "SparseCPU", 0), "DispatchKeySet(SparseCPU, "
		     "ADInplaceOrView, AutogradCPU, AutocastCPU)");
	EXPECT_STREQ(fresh(NULL, "QuantizedCPU", 0), "DispatchKeySet(QuantizedCPU, "
		     "ADInplaceOrView, AutogradCPU, AutocastCPU)");
}

TEST(legacy_extract)
{
	FOR_N_AND_L(l) {
		struct dk_keyset ks = set_of(l, "CPU|AutogradCPU|AutocastCPU|"
						"ADInplaceOrView|Python|"
						"PythonTLSSnapshot");
		struct dk_keyset wrapped =
			dk_keyset_or(ks, set_of(l, "FuncTorchGradWrapper"));

		EXPECT_STREQ(name_of(l, dk_legacy_extract(l, ks)), "CPU");
		EXPECT_STREQ(name_of(l, dk_legacy_extract(l, wrapped)),
			     is_l(l) ? "FuncTorchGradWrapper" : "CPU");
	}
}

/* ---- names ---------------------------------------------------------------------- */

TEST(names_of_sentinels_and_strangers)
{
	const struct dk_layout *l = layout_l();

	EXPECT_STREQ(name_of(NULL, DK_END_OF_FUNCTIONALITY_KEYS), "UnknownUnknown");
	EXPECT_STREQ(name_of(NULL, DK__KEY_END), "UnknownUnknown");
	EXPECT_STREQ(name_of(NULL, ~0U), "UnknownUnknown");
	EXPECT_STREQ(name_of(NULL, DK_START_OF_DENSE_BACKENDS), "Undefined");
	EXPECT_STREQ(name_of(NULL, DK_START_OF_SPARSE_CSR_BACKENDS),
		     "SparseCsrUndefined");
	EXPECT_STREQ(name_of(NULL, DK_START_OF_AUTOGRAD_BACKENDS),
		     "AutogradUndefined");
	EXPECT_STREQ(name_of(l, 41), "UnknownUnknown");
	EXPECT_STREQ(name_of(l, 42), "Unknown");
	EXPECT_STREQ(name_of(l, 42 + 15), "QuantizedUnknown");
}

TEST(every_printed_name_parses)
{
	unsigned int key, b;

	FOR_EACH_LAYOUT(l) {
		for (key = 0; key < dk_layout_keys(l); key++)
			if (dk_key_kind(l, key) != DK_KIND_SENTINEL)
				EXPECT_EQ(key_of(l, name_of(l, key)), key);
		for (b = 0; b <= dk_layout_backends(l); b++)
			EXPECT_EQ(bit_of(l, dk_backend_bit_name(l, b)), b);
	}
}

TEST(enumerator_aliases_parse_leniently_only)
{
	static const char *const aliases[][2] = {
		{ "CatchAll", "Undefined" },
		{ "CPUTensorId", "CPU" },
		{ "CUDATensorId", "CUDA" },
		{ "DefaultBackend", "CompositeExplicitAutograd" },
		{ "PrivateUse1_PreAutograd", "AutogradPrivateUse1" },
		{ "PrivateUse2_PreAutograd", "AutogradPrivateUse2" },
		{ "PrivateUse3_PreAutograd", "AutogradPrivateUse3" },
		{ "Autocast", "AutocastCUDA" },
	};
	unsigned int i, key;

	FOR_N_AND_L(l) {
		for (i = 0; i < DKC_COUNT(aliases); i++) {
			key = key_of(l, aliases[i][0]);
			EXPECT_STREQ(name_of(l, key), aliases[i][1]);
			EXPECT_EQ(dk_key_parse(l, aliases[i][0], DK_PARSE_STRICT,
					       &key, NULL), -EINVAL);
		}
	}
}

/* The table of SEMANTICS 1.6: the only runtime keys of a block that parse. */
static const struct {
	const char *block, *n, *l;
} strict[] = {
	{ "Quantized", " CPU CUDA XPU PrivateUse1 ", " CPU CUDA XPU " },
	{ "Sparse", " CPU CUDA HIP MPS XPU VE PrivateUse1 Meta ",
	  " CPU CUDA HIP XPU VE " },
	{ "SparseCsr", " CPU CUDA HIP MPS XPU VE PrivateUse1 Meta ", "" },
	{ "NestedTensor", " CPU CUDA XPU HPU PrivateUse1 Meta ", " CPU CUDA " },
	{ "AutogradFunctionality",
	  " CPU CUDA XLA MPS IPU XPU HPU Lazy PrivateUse1 PrivateUse2 PrivateUse3 Meta ",
	  " CPU CUDA XLA MPS IPU XPU HPU Lazy PrivateUse1 PrivateUse2 PrivateUse3 Meta " },
};

static bool parses_strictly(const struct dk_layout *l, unsigned int key)
{
	unsigned int i, b = dk_key_backend(l, key);
	char block[DK_NAME_MAX], word[DK_NAME_MAX];

	if (!b)
		return true;
	dk_key_name(l, dk_key_functionality(l, key), block);
	snprintf(word, sizeof(word), " %s ", name_of(l, dk_runtime_key(l, DK_DENSE, b)));
	for (i = 0; i < DKC_COUNT(strict); i++)
		if (!strcmp(block, strict[i].block))
			return strstr(is_l(l) ? strict[i].l : strict[i].n, word);
	return true;
}

TEST(strict_parser_takes_what_pytorch_takes)
{
	unsigned int key, got, n;
	char name[DK_NAME_MAX];

	FOR_N_AND_L(l) {
		n = 0;
		for (key = 0; key < dk_layout_keys(l); key++) {
			struct dk_diag why = { 0 };
			int err = dk_key_parse(l, dk_key_name(l, key, name),
					       DK_PARSE_STRICT, &got, &why);

			if (dk_key_kind(l, key) == DK_KIND_SENTINEL)
				continue;
			n += !err;
			if (parses_strictly(l, key)) {
				EXPECT_EQ(err, 0);
				EXPECT_EQ(got, key);
				continue;
			}
			EXPECT_EQ(err, -EINVAL);
			EXPECT_EQ(why.reason, DK_WHY_PARSE_KEY);
			EXPECT_STREQ(why.name, name);
		}
		EXPECT_EQ(n, is_l(l) ? 82 : 107);
	}
}

TEST(words_that_are_no_key)
{
	static const char *const words[] = {
		"", "cpu", "Cpu", "CPUBit", "MTIABit", "DenseCPU", "NoSuchKey", " CPU",
		"CPU ", "StartOfDenseBackends", "EndOfFunctionalityKeys",
		"AutogradUndefined", "SparseUnknown", "UnknownUnknown",
		"privateuseone", "InvalidBit", "QuantizedQuantized",
	};
	unsigned int i, key = 4711;

	FOR_N_AND_L(l) {
		for (i = 0; i < DKC_COUNT(words); i++) {
			struct dk_diag why = { 0 };

			EXPECT_EQ(dk_key_parse(l, words[i], 0, &key, &why), -EINVAL);
			EXPECT_EQ(dk_key_parse(l, words[i], DK_PARSE_STRICT, &key,
					       &why), -EINVAL);
			EXPECT_STREQ(why.text, "could not parse dispatch key");
			EXPECT_STREQ(why.name, words[i]);
		}
	}
	EXPECT_EQ(key, 4711);
}

TEST(privateuseone_is_privateuse1_since_2_7)
{
	char many[DK_NAME_MAX * 4] = "";
	unsigned int key = 0, i;

	EXPECT_EQ(dk_key_parse(NULL, "PRIVATEUSEONE", DK_PARSE_STRICT, &key, NULL), 0);
	EXPECT_EQ(key, DK_PRIVATEUSE1);
	EXPECT_EQ(key_of(NULL, "AutogradPRIVATEUSEONE"), DK_AUTOGRAD_PRIVATEUSE1);
	EXPECT_EQ(key_of(NULL, "AutocastPRIVATEUSEONE"), DK_AUTOCAST_PRIVATEUSE1);
	EXPECT(dk_key_parse(layout_l(), "PRIVATEUSEONE", 0, &key, NULL));
	for (i = 0; i < 30; i++)
		strcat(many, "PRIVATEUSEONE");
	EXPECT(dk_key_parse(NULL, many, 0, &key, NULL));
}

TEST(backend_bits_by_name)
{
	struct dk_diag why = { 0 };
	unsigned int b = 4711;

	FOR_N_AND_L(l) {
		EXPECT_EQ(bit_of(l, "CPUBit"), 1);
		EXPECT_EQ(bit_of(l, "CPU"), 1);
		EXPECT_EQ(bit_of(l, "Lazy"), 10);
		EXPECT_EQ(bit_of(l, "InvalidBit"), 0);
		EXPECT_EQ(bit_of(l, "Meta"), is_l(l) ? 11 : 16);
		EXPECT_EQ(dk_backend_bit_parse(l, "FPGABit", &b, &why), -EINVAL);
		EXPECT_STREQ(why.name, "FPGABit");
		EXPECT_EQ(why.reason, DK_WHY_PARSE_BACKEND);
		EXPECT_EQ(dk_backend_bit_parse(l, "Invalid", &b, NULL), -EINVAL);
		EXPECT_EQ(dk_backend_bit_parse(l, "", &b, NULL), -EINVAL);
		EXPECT_EQ(dk_backend_bit_parse(l, "CPUBitBit", &b, NULL), -EINVAL);
	}
	EXPECT_EQ(b, 4711);
	EXPECT_EQ(bit_of(NULL, "MTIA"), DK_BACKEND_MTIA);
	EXPECT_EQ(bit_of(NULL, "MTIABit"), DK_BACKEND_MTIA);
	EXPECT_EQ(bit_of(NULL, "MAIABit"), DK_BACKEND_MAIA);
	EXPECT(dk_backend_bit_parse(layout_l(), "MTIABit", &b, NULL));
}

/* ---- sets as text ----------------------------------------------------------------- */

TEST(keysets_parse)
{
	static const struct {
		const char *text;
		unsigned long long bits;
	} sets[] = {
		{ "0x0", 0 },
		{ "0xABcd", 0xabcd },
		{ "0XabCD", 0xabcd },
		{ "0xffffffffffffffff", ~0ULL },
		{ "0x0000000000000000000000000001", 1 },
		{ "CPU", 0x10001 },
		{ "CPU|CUDA", 0x10003 },
		{ "CPU,CUDA", 0x10003 },
		{ "  CPU  |  CUDA , FPGA ", 0x30003 },
		{ "CPUBit", 0x1 },
		{ "MTIA", 0x10400 },
		{ "MTIABit", 0x400 },
		{ "MAIABit|MTIABit", 0xc00 },
		{ "MAIA", 0x10800 },
		{ "Undefined", 0 },
		{ "InvalidBit", 0 },
		{ "CPUTensorId", 0x10001 },
		{ "PRIVATEUSEONE", 0x11000 },
		{ "DispatchKeySet()", 0 },
		{ " DispatchKeySet( ) ", 0 },
		{ "DispatchKeySet(CPU, AutogradCPU)", 0x1000010001 },
		{ "DispatchKeySet(CPU|CUDABit)", 0x10003 },
		{ "0x1|CUDA", 0x10003 },
	};
	unsigned int i;

	for (i = 0; i < DKC_COUNT(sets); i++)
		EXPECT_EQ(set_of(NULL, sets[i].text).bits, sets[i].bits);
}

TEST(keysets_that_do_not_parse)
{
	static const char *const words[][2] = {
		{ "", "" },
		{ "   ", "   " },
		{ "cpu", "cpu" },
		{ "CPU|nope|CUDA", "nope" },
		{ "CPU|", "CPU|" },
		{ "|CPU", "|CPU" },
		{ "CPU||CUDA", "CPU||CUDA" },
		{ "CPU CUDA", "CUDA" },
		{ "CPU)", ")" },
		{ "CPU(CUDA)", "(CUDA)" },
		{ "DispatchKeySet", "DispatchKeySet" },
		{ "DispatchKeySet(", "DispatchKeySet(" },
		{ "DispatchKeySet(CPU", "DispatchKeySet(CPU" },
		{ "DispatchKeySet(CPU CUDA)", "CUDA)" },
		{ "DispatchKeySet(CPU,)", "DispatchKeySet(CPU,)" },
		{ "DispatchKeySet(CPU))", ")" },
		{ "DispatchKeySet(CPU) x", "x" },
		{ "DispatchKeySet(nope)", "nope" },
		{ "dispatchkeyset()", "dispatchkeyset" },
		{ "0x", "0x" },
		{ "0x1g", "0x1g" },
		{ "0x10000000000000000", "0x10000000000000000" },
		{ "1", "1" },
		{ "65537", "65537" },
		{ "-0x1", "-0x1" },
		{ "CPU\n", "CPU\n" },
		/* an alias key has no bits: not a way to say its set */
		{ "Autograd", "Autograd" },
		{ "CPU|CompositeImplicitAutograd", "CompositeImplicitAutograd" },
	};
	struct dk_keyset ks = { 4711 };
	unsigned int i;

	for (i = 0; i < DKC_COUNT(words); i++) {
		struct dk_diag why = { 0 };

		if (!EXPECT_EQ(dk_keyset_parse(NULL, words[i][0], &ks, &why),
			       -EINVAL))
			printf("#   %s\n", words[i][0]);
		EXPECT_EQ(why.reason, DK_WHY_PARSE_SET);
		EXPECT_STREQ(why.name, words[i][1]);
		EXPECT_EQ(dk_keyset_parse(NULL, words[i][0], &ks, NULL), -EINVAL);
	}
	EXPECT_EQ(ks.bits, 4711);
}

TEST(overlong_words_are_cut_off)
{
	struct dk_diag why = { 0 };
	struct dk_keyset ks;
	char word[300];
	unsigned int key;

	memset(word, 'A', sizeof(word) - 1);
	word[sizeof(word) - 1] = 0;
	EXPECT_EQ(dk_keyset_parse(NULL, word, &ks, &why), -EINVAL);
	EXPECT_EQ(strlen(why.name), DK_NAME_MAX - 1);
	EXPECT_STREQ(why.name + DK_NAME_MAX - 5, "A...");
	memset(&why, 0, sizeof(why));
	EXPECT_EQ(dk_key_parse(NULL, word, 0, &key, &why), -EINVAL);
	EXPECT_STREQ(why.name + DK_NAME_MAX - 5, "A...");
}

TEST(printed_sets_parse_back)
{
	unsigned int i, slot;

	FOR_EACH_LAYOUT(l) {
		for (i = 0; i < 2000; i++) {
			struct dk_keyset ks = { some_bits() & some_bits() };
			unsigned long long iterated = 0;

			/* printing says no more than the walk does */
			for (slot = dk_keyset_next(l, ks, 0); slot;
			     slot = dk_keyset_next(l, ks, slot))
				iterated |= dk_key_set(l, dk_slot_key(l, slot)).bits;
			EXPECT_EQ(set_of(l, print(l, ks)).bits, iterated);
		}
		EXPECT_EQ(set_of(l, print(l, dk_layout_full(l))).bits,
			  dk_layout_full(l).bits);
	}
}

TEST(print_counts_as_snprintf_does)
{
	static const char whole[] = "DispatchKeySet(CPU, AutogradCPU)";
	struct dk_keyset ks = set_of(NULL, "CPU|AutogradCPU");
	size_t n = sizeof(whole) - 1, size;
	char *buf;

	EXPECT_EQ(dk_keyset_print(NULL, ks, NULL, 0), n);
	for (size = 1; size < n + 10; size++) {
		/* its own block, so that a sanitizer sees one byte too many */
		buf = malloc(size);
		if (!EXPECT(buf))
			return;
		memset(buf, 'x', size);
		EXPECT_EQ(dk_keyset_print(NULL, ks, buf, size), n);
		EXPECT_EQ(strlen(buf), size - 1 < n ? size - 1 : n);
		EXPECT(!strncmp(buf, whole, size - 1));
		free(buf);
	}
}

/* ---- reasons ---------------------------------------------------------------------- */

TEST(reasons_have_sentences)
{
	static const int errors[] = {
#define ERROR(R, e, text) e,
		DK_REASONS(ERROR)
	};
	unsigned int i;

	for (i = 0; i < DK_NUM_REASONS; i++) {
		const char *text = dk_reason_text(i);
		struct dk_diag why = { 0 };

		EXPECT(text[0] && text[strlen(text) - 1] != '.');
		EXPECT_EQ(dkc_refuse(&why, i, "name"), -errors[i]);
		EXPECT_EQ(why.reason, i);
		EXPECT(why.text == text);
		EXPECT_STREQ(why.name, "name");
		EXPECT_EQ(dkc_refuse(NULL, i, "name"), -errors[i]);
	}
	EXPECT_STREQ(dk_reason_text(DK_NUM_REASONS), "unknown reason");
	EXPECT_STREQ(dk_reason_text(~0U), "unknown reason");
}

TEST(diag_respects_its_size)
{
	struct {
		struct dk_diag why;
		char behind[64];
	} room;
	const size_t head = offsetof(struct dk_diag, name);
	char name[300];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;

	/* the published size, and a larger one of a newer caller */
	memset(&room, 0x55, sizeof(room));
	room.why.size = 0;
	dkc_remark(&room.why, DK_WHY_OVERRIDE, name);
	EXPECT_EQ(room.why.size, 0);
	EXPECT_EQ(strlen(room.why.name), DK_NAME_MAX - 1);
	EXPECT_STREQ(room.why.name + DK_NAME_MAX - 5, "n...");
	EXPECT_EQ(room.behind[0], 0x55);
	room.why.size = sizeof(room);
	dkc_remark(&room.why, DK_WHY_NO_DEVICE, NULL);
	EXPECT_STREQ(room.why.name, "");
	EXPECT_STREQ(room.why.text, "no such device");
	EXPECT_EQ(room.behind[0], 0x55);

	/* a shorter name, then none at all, then no room for the reason either */
	memset(&room, 0x55, sizeof(room));
	room.why.size = head + 8;
	dkc_remark(&room.why, DK_WHY_OVERRIDE, name);
	EXPECT_STREQ(room.why.name, "nnnn...");
	EXPECT_EQ(room.why.name[8], 0x55);
	memset(&room, 0x55, sizeof(room));
	room.why.size = head;
	dkc_remark(&room.why, DK_WHY_OVERRIDE, name);
	EXPECT_EQ(room.why.reason, DK_WHY_OVERRIDE);
	EXPECT_STREQ(room.why.text, dk_reason_text(DK_WHY_OVERRIDE));
	EXPECT_EQ(room.why.name[0], 0x55);
	memset(&room, 0x55, sizeof(room));
	room.why.size = head - 1;
	dkc_remark(&room.why, DK_WHY_OVERRIDE, name);
	EXPECT_EQ(room.why.reason, 0x55555555);
}

TEST(strings)
{
	char buf[8];

	memset(buf, 0x55, sizeof(buf));
	dkc_strcpy(buf, "abc", 0);
	EXPECT_EQ(buf[0], 0x55);
	dkc_strcpy(buf, "abc", 1);
	EXPECT_STREQ(buf, "");
	dkc_strcpy(buf, "abc", 3);
	EXPECT_STREQ(buf, "..");
	dkc_strcpy(buf, "abc", 4);
	EXPECT_STREQ(buf, "abc");
	dkc_strcpy(buf, "abcdefgh", 8);
	EXPECT_STREQ(buf, "abcd...");
	dkc_strncpy(buf, "abcdefgh", 3, 8);
	EXPECT_STREQ(buf, "abc");
	EXPECT_EQ(dkc_strlen(""), 0);
	EXPECT_EQ(dkc_strlen("abc"), 3);
	EXPECT(dkc_streq("abc", "abc") && dkc_streq("", ""));
	EXPECT(!dkc_streq("abc", "abd") && !dkc_streq("ab", "abc") &&
	       !dkc_streq("abc", "ab") && !dkc_streq("abc", "ABC"));
	EXPECT(dkc_strcaseeq("aBc", "AbC") && !dkc_strcaseeq("ab", "abc") &&
	       !dkc_strcaseeq("a[", "a{"));
	EXPECT(dkc_has_word("ab abc", "abc") && dkc_has_word("ab abc", "ab"));
	EXPECT(!dkc_has_word("ab abc", "a") && !dkc_has_word("ab abc", "abcd"));
	EXPECT(!dkc_has_word("", "a") && !dkc_has_word("ab", "b"));
	EXPECT(dkc_has_word("x Auto*", "Autocast") && !dkc_has_word("Auto*", "Aut"));
}
