// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests keys: the layouts that have them, their sizes, slots, kinds and conversions. The expected
 * numbers are those that PyTorch 2.14.1 and 1.13.1 printed (SEMANTICS 1 and 3).
 */
#include "keys.h"

#define SAME(array)	EXPECT(!memcmp(v1->array, l->array, sizeof(l->array)))

/* The built-in layout v1 equals the layout that lib/pytorch parses from its description. */
TEST(v1_equals_its_description)
{
	static char text[4096];
	const struct dk_layout *v1 = dkc_layout(NULL);
	struct dk_layout *l;
	unsigned int i;

	EXPECT(dk_layout_describe(NULL, text, sizeof(text)) < sizeof(text));
	EXPECT(!strncmp(text, "layout v1\n", 10));
	text[sizeof("layout v") - 1] = 'x';
	l = dk_layout_parse(text, NULL);
	if (!EXPECT(l))
		return;
	EXPECT_EQ(v1->per_backend, l->per_backend);
	EXPECT_EQ(v1->nb, l->nb);
	EXPECT_EQ(v1->nf, l->nf);
	EXPECT_EQ(v1->num_aliases, l->num_aliases);
	EXPECT_EQ(v1->legacy_dropped, l->legacy_dropped);
	EXPECT_EQ(v1->implicit_also, l->implicit_also);
	EXPECT_EQ(v1->other_autograd, l->other_autograd);
	EXPECT_EQ(v1->has_strict, l->has_strict);
	EXPECT_EQ(v1->has_legacy, l->has_legacy);
	EXPECT_EQ(v1->has_sets, l->has_sets);
	EXPECT_EQ(v1->batched_empty, l->batched_empty);
	EXPECT_EQ(v1->privateuseone, l->privateuseone);
	EXPECT_EQ(v1->trimmed, l->trimmed);
	EXPECT_EQ(v1->has_tables, l->has_tables);
	EXPECT_EQ(v1->num_entries, l->num_entries);
	EXPECT_EQ(v1->first_alias, l->first_alias);
	EXPECT_EQ(v1->num_blocks, l->num_blocks);
	EXPECT_EQ(v1->backend_mask, l->backend_mask);
	EXPECT_EQ(v1->full, l->full);
	EXPECT_EQ(v1->from_autograd, l->from_autograd);
	EXPECT_EQ(v1->builtins, l->builtins);
	SAME(block);
	SAME(start);
	SAME(offset);
	SAME(slot_functionality);
	SAME(role);
	SAME(alias_key);
	SAME(alias_set);
	SAME(constant);
	SAME(autocast);
	for (i = 0; i <= l->nb; i++) {
		EXPECT_STREQ(v1->backend_names[i], l->backend_names[i]);
		EXPECT_STREQ(v1->backend_bits[i], l->backend_bits[i]);
	}
	for (i = 0; i < l->nf; i++) {
		EXPECT_STREQ(v1->functionality_names[i], l->functionality_names[i]);
		EXPECT_STREQ(v1->functionality_prints[i], l->functionality_prints[i]);
		EXPECT(!dkc_is_per_backend(l, i) || v1->strict[i] == l->strict[i]);
	}
	for (i = 0; i < l->num_aliases; i++)
		EXPECT_STREQ(v1->alias_names[i], l->alias_names[i]);
	EXPECT_STREQ(v1->sentinel, l->sentinel);
	EXPECT(!v1->unnamed && !l->unnamed);
	EXPECT(!v1->counted);
	dk_layout_free(l);
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

/* SEMANTICS 3: the table entries of each functionality. */
struct table {
	const char *name;
	int bit;
	unsigned int per_backend;
	unsigned int first;
	unsigned int last;
};

static const struct table v1_tables[] = {
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

static const struct table pt113_tables[] = {
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

static void expect_tables(const struct dk_layout *l, const struct table *tables,
			  unsigned int n)
{
	unsigned int f, b, key;

	EXPECT_EQ(dk_layout_functionalities(l), n);
	for (f = 0; f < n; f++) {
		EXPECT_STREQ(name_of(l, f), tables[f].name);
		EXPECT_EQ(dk_key_set(l, f).bits, f ? 1ULL << tables[f].bit : 0);
		EXPECT_EQ(dk_is_per_backend(l, f), tables[f].per_backend);
		EXPECT_EQ(dk_key_slot(l, f), tables[f].first);
		if (!tables[f].per_backend) {
			EXPECT_EQ(dk_slot_key(l, tables[f].first), f);
			continue;
		}
		EXPECT_EQ(tables[f].last, tables[f].first + dk_layout_backends(l) - 1);
		for (b = 1; b <= dk_layout_backends(l); b++) {
			key = dk_runtime_key(l, f, b);
			EXPECT_EQ(dk_key_slot(l, key), tables[f].first + b - 1);
			EXPECT_EQ(dk_slot_key(l, tables[f].first + b - 1), key);
			EXPECT_EQ(dk_key_set(l, key).bits,
				  1ULL << tables[f].bit | 1ULL << (b - 1));
		}
	}
}

TEST(table_index_of_every_key)
{
	expect_tables(NULL, v1_tables, ARRAY_SIZE(v1_tables));
	expect_tables(layout_n(), v1_tables, ARRAY_SIZE(v1_tables));
	expect_tables(layout_l(), pt113_tables, ARRAY_SIZE(pt113_tables));
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

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		EXPECT_EQ(dk_key_kind(NULL, kinds[i].key), kinds[i].kind);
	EXPECT_EQ(dk_key_kind(layout_l(), 117), DK_KIND_ALIAS);
	EXPECT_EQ(dk_key_kind(layout_l(), 122), DK_KIND_NONE);
}

TEST(conversions_of_keys)
{
	FOR_EACH_LAYOUT_WITH_BACKENDS(l) {
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
		/* alias keys and Undefined have table entry 0 */
		EXPECT_EQ(dk_key_slot(l, key_of(l, "Autograd")), 0);
		EXPECT_EQ(dk_key_set(l, key_of(l, "Autograd")).bits, 0);
		EXPECT_EQ(dk_key_slot(l, 0), 0);
	}
}

TEST(macros_of_v1_equal_the_derived_layout)
{
	static const unsigned long long a_constant = DK_KEY_BITS(DK_AUTOGRAD_CUDA);
	static const unsigned long long per_backend = DK_PER_BACKEND_MASK;
	struct dk_keyset excluded;
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
	EXPECT(!dk_constant_set(NULL, "default_excluded_set", &excluded, NULL));
	EXPECT_EQ(DK_DEFAULT_EXCLUDED, excluded.bits);
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
