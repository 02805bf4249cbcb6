// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests alias keys, the maps between backends and autograd keys, and the named constant sets. The
 * expected numbers are those that PyTorch 2.14.1 and 1.13.1 printed (SEMANTICS 4).
 */
#include "keys.h"

struct value {
	const char *name;
	unsigned long long n, l;	/* in layouts N and L (keys.h); 0: not in that layout */
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
		for (i = 0; i < ARRAY_SIZE(sets); i++) {
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

/* Edge cases of SEMANTICS 4.3. */
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
		for (i = 0; i < ARRAY_SIZE(yes); i++)
			EXPECT(dk_is_backend_key(l, key_of(l, yes[i])));
		for (i = 0; i < ARRAY_SIZE(no); i++)
			EXPECT(!dk_is_backend_key(l, key_of(l, no[i])));
		EXPECT(!dk_is_backend_key(l, dk_layout_functionalities(l)));
		EXPECT(!dk_is_backend_key(l, ~0U));
	}
	EXPECT(dk_is_backend_key(layout_l(), key_of(layout_l(), "ORT")));
}

/* SEMANTICS 4.4: each backend with its autograd and autocast keys in N and in L. */
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
		for (i = 0; i < ARRAY_SIZE(maps); i++) {
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
		for (i = 0; i < ARRAY_SIZE(leads); i++) {
			snprintf(name, sizeof(name), "Autograd%s", leads[i]);
			EXPECT_EQ(dk_backends_of_autograd(l, key_of(l, name)).bits,
				  set_of(l, leads[i]).bits);
		}
		for (i = 0; i < ARRAY_SIZE(empty); i++)
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
		for (i = 0; i < ARRAY_SIZE(sets); i++) {
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
