// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the numbers of every layout (SEMANTICS 1.2, 1.3 and 3), and the differences between
 * versions (SEMANTICS 1.5, 1.6, 1.8 and 4.1 to 4.5).
 */
#include <dispatchkey.h>
#include "tap.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

struct block {
	const char *name;
	unsigned int start;	/* value of the sentinel before the first key */
	unsigned int offset;	/* first table entry */
};

static const struct version {
	const char *name;
	unsigned int nb, nf, entries, first_alias, last_alias;
	unsigned long long full;
	unsigned int knows;
	struct block blocks[7];
	unsigned int strict;		/* number of names that PyTorch's parser accepts */
} versions[] = {
	{ "pytorch-1.3", 0, 18, 18, 19, 18, (1ULL << 17) - 1, 0, { }, 0 },
	{ "pytorch-1.4", 0, 20, 20, 21, 20, (1ULL << 19) - 1, 0, { }, 0 },
	{ "pytorch-1.5", 0, 29, 29, 30, 29, (1ULL << 28) - 1, 0, { }, 0 },
	{ "pytorch-1.6", 0, 38, 38, 39, 38, (1ULL << 37) - 1, 0, { }, 0 },
	{ "pytorch-1.7", 0, 40, 40, 41, 42, (1ULL << 39) - 1, 0, { }, 0 },
	{ "pytorch-1.8", 0, 47, 47, 48, 50, (1ULL << 46) - 1, 0, { }, 0 },
	{ "pytorch-1.9", 0, 54, 54, 55, 57, (1ULL << 53) - 1, 0, { }, 0 },
	{ "pytorch-1.10", 0, 62, 62, 63, 65, (1ULL << 61) - 1, 0, { }, 0 },
	{ "pytorch-1.11", 0, 63, 63, 64, 66, (1ULL << 62) - 1, 0, { }, 0 },
	{ "pytorch-1.12", 13, 41, 101, 112, 114, (1ULL << 53) - 1, 0,
	  { { "Dense", 42, 1 }, { "Quantized", 56, 19 }, { "Sparse", 70, 34 },
	    { "NestedTensor", 84, 49 }, { "AutogradFunctionality", 98, 72 } }, 0 },
	{ "pytorch-1.13", 14, 41, 106, 117, 121, 0x3fffffffffffff, 15,
	  { { "Dense", 42, 1 }, { "Quantized", 57, 19 }, { "Sparse", 72, 35 },
	    { "NestedTensor", 87, 51 }, { "AutogradFunctionality", 102, 76 } }, 82 },
	{ "pytorch-2.0-pre", 14, 42, 107, 118, 123, (1ULL << 55) - 1, 0,
	  { { "Dense", 43, 1 }, { "Quantized", 58, 19 }, { "Sparse", 73, 35 },
	    { "NestedTensor", 88, 51 }, { "AutogradFunctionality", 103, 76 } }, 0 },
	{ "pytorch-2.0", 15, 42, 112, 123, 128, 0xffffffffffffff, 15,
	  { { "Dense", 43, 1 }, { "Quantized", 59, 20 }, { "Sparse", 75, 37 },
	    { "NestedTensor", 91, 54 }, { "AutogradFunctionality", 107, 80 } }, 87 },
	{ "pytorch-2.1-pre", 15, 42, 112, 123, 128, 0xffffffffffffff, 0,
	  { { "Dense", 43, 1 }, { "Quantized", 59, 20 }, { "Sparse", 75, 37 },
	    { "NestedTensor", 91, 54 }, { "AutogradFunctionality", 107, 80 } }, 0 },
	{ "pytorch-2.1", 15, 46, 116, 127, 132, (1ULL << 60) - 1, DK_KNOWS_LEGACY,
	  { { "Dense", 47, 1 }, { "Quantized", 63, 20 }, { "Sparse", 79, 37 },
	    { "NestedTensor", 95, 54 }, { "AutogradFunctionality", 111, 80 } }, 0 },
	{ "pytorch-2.2", 15, 47, 117, 128, 133, (1ULL << 61) - 1, DK_KNOWS_LEGACY,
	  { { "Dense", 48, 1 }, { "Quantized", 64, 20 }, { "Sparse", 80, 37 },
	    { "NestedTensor", 96, 54 }, { "AutogradFunctionality", 112, 80 } }, 0 },
	{ "pytorch-2.3", 15, 46, 130, 143, 148, (1ULL << 60) - 1, DK_KNOWS_LEGACY,
	  { { "Dense", 47, 1 }, { "Quantized", 63, 20 }, { "Sparse", 79, 37 },
	    { "SparseCsr", 95, 52 }, { "NestedTensor", 111, 67 },
	    { "AutogradFunctionality", 127, 93 } }, 0 },
	{ "pytorch-2.4", 15, 46, 130, 143, 148, 0xfffffffffffffff, 15,
	  { { "Dense", 47, 1 }, { "Quantized", 63, 20 }, { "Sparse", 79, 37 },
	    { "SparseCsr", 95, 52 }, { "NestedTensor", 111, 67 },
	    { "AutogradFunctionality", 127, 93 } }, 101 },
	{ "pytorch-2.5", 15, 47, 131, 144, 149, (1ULL << 61) - 1, 0,
	  { { "Dense", 48, 1 }, { "Quantized", 64, 20 }, { "Sparse", 80, 37 },
	    { "SparseCsr", 96, 52 }, { "NestedTensor", 112, 67 },
	    { "AutogradFunctionality", 128, 93 } }, 0 },
	{ "pytorch-2.6", 15, 47, 131, 144, 149, 0x1fffffffffffffff, 15,
	  { { "Dense", 48, 1 }, { "Quantized", 64, 20 }, { "Sparse", 80, 37 },
	    { "SparseCsr", 96, 52 }, { "NestedTensor", 112, 67 },
	    { "AutogradFunctionality", 128, 93 } }, 103 },
	{ "pytorch-2.7", 15, 48, 132, 145, 150, 0x3fffffffffffffff, 15,
	  { { "Dense", 49, 1 }, { "Quantized", 65, 20 }, { "Sparse", 81, 37 },
	    { "SparseCsr", 97, 52 }, { "NestedTensor", 113, 67 },
	    { "AutogradFunctionality", 129, 93 } }, 104 },
	{ "pytorch-2.8", 16, 48, 138, 151, 156, 0x7fffffffffffffff, DK_KNOWS_LEGACY,
	  { { "Dense", 49, 1 }, { "Quantized", 66, 20 }, { "Sparse", 83, 38 },
	    { "SparseCsr", 100, 54 }, { "NestedTensor", 117, 70 },
	    { "AutogradFunctionality", 134, 97 } }, 0 },
	{ "pytorch-2.9", 16, 48, 138, 151, 156, (1ULL << 63) - 1, DK_KNOWS_LEGACY,
	  { { "Dense", 49, 1 }, { "Quantized", 66, 20 }, { "Sparse", 83, 38 },
	    { "SparseCsr", 100, 54 }, { "NestedTensor", 117, 70 },
	    { "AutogradFunctionality", 134, 97 } }, 0 },
	{ "pytorch-2.10", 16, 48, 138, 151, 156, (1ULL << 63) - 1, DK_KNOWS_LEGACY,
	  { { "Dense", 49, 1 }, { "Quantized", 66, 20 }, { "Sparse", 83, 38 },
	    { "SparseCsr", 100, 54 }, { "NestedTensor", 117, 70 },
	    { "AutogradFunctionality", 134, 97 } }, 0 },
	{ "pytorch-2.11", 16, 48, 138, 151, 156, 0x7fffffffffffffff, 15,
	  { { "Dense", 49, 1 }, { "Quantized", 66, 20 }, { "Sparse", 83, 38 },
	    { "SparseCsr", 100, 54 }, { "NestedTensor", 117, 70 },
	    { "AutogradFunctionality", 134, 97 } }, 108 },
	{ "pytorch-2.12", 16, 48, 138, 151, 156, (1ULL << 63) - 1, DK_KNOWS_LEGACY,
	  { { "Dense", 49, 1 }, { "Quantized", 66, 20 }, { "Sparse", 83, 38 },
	    { "SparseCsr", 100, 54 }, { "NestedTensor", 117, 70 },
	    { "AutogradFunctionality", 134, 97 } }, 0 },
	{ "pytorch-2.13", 16, 47, 137, 150, 155, (1ULL << 62) - 1, DK_KNOWS_LEGACY,
	  { { "Dense", 48, 1 }, { "Quantized", 65, 20 }, { "Sparse", 82, 38 },
	    { "SparseCsr", 99, 54 }, { "NestedTensor", 116, 70 },
	    { "AutogradFunctionality", 133, 96 } }, 0 },
	{ "pytorch-2.14", 16, 47, 137, 150, 155, 0x3fffffffffffffff, 15,
	  { { "Dense", 48, 1 }, { "Quantized", 65, 20 }, { "Sparse", 82, 38 },
	    { "SparseCsr", 99, 54 }, { "NestedTensor", 116, 70 },
	    { "AutogradFunctionality", 133, 96 } }, 107 },
	{ "v1", 16, 47, 137, 150, 155, 0x3fffffffffffffff, 15,
	  { { "Dense", 48, 1 }, { "Quantized", 65, 20 }, { "Sparse", 82, 38 },
	    { "SparseCsr", 99, 54 }, { "NestedTensor", 116, 70 },
	    { "AutogradFunctionality", 133, 96 } }, 107 },
};

#define FOR_EACH_VERSION(v, l)						\
	for (const struct version *v = versions; v < versions + COUNT(versions); v++) \
		for (const struct dk_layout *l = dk_layout_find(v->name, NULL); \
		     l; l = NULL)

static const struct dk_layout *layout(const char *name)
{
	return dk_layout_find(name, NULL);
}

static unsigned int key_of(const struct dk_layout *l, const char *name)
{
	unsigned int key = ~0U;

	if (!EXPECT(!dk_key_parse(l, name, 0, &key, NULL)))
		printf("#   %s has no %s\n", dk_layout_name(l), name);
	return key;
}

static struct dk_keyset set_of(const struct dk_layout *l, const char *text)
{
	struct dk_keyset ks = { 0 };

	if (!EXPECT(!dk_keyset_parse(l, text, &ks, NULL)))
		printf("#   %s: %s\n", dk_layout_name(l), text);
	return ks;
}

static const char *name_of(const struct dk_layout *l, unsigned int key)
{
	static char buf[DK_NAME_MAX];

	return dk_key_name(l, key, buf);
}

TEST(all_layouts_are_listed)
{
	const char *name = NULL;
	unsigned int n = 0;

	while ((name = dk_layout_next(name))) {
		EXPECT_STREQ(dk_layout_name(layout(name)), name);
		n++;
	}
	EXPECT_EQ(n, COUNT(versions));
	EXPECT_STREQ(dk_layout_next(NULL), "v1");
	EXPECT_STREQ(dk_layout_next("v1"), "pytorch-2.14");
	EXPECT(!dk_layout_next("v1+trimmed"));
	EXPECT(!dk_layout_next("2.14"));
}

TEST(numbers_of_every_layout)
{
	FOR_EACH_VERSION(v, l) {
		EXPECT_EQ(dk_layout_backends(l), v->nb);
		EXPECT_EQ(dk_layout_functionalities(l), v->nf);
		EXPECT_EQ(dk_layout_entries(l), v->entries);
		EXPECT_EQ(dk_table_size(l), v->entries);
		EXPECT_EQ(dk_layout_full(l).bits, v->full);
		EXPECT_EQ(dk_layout_keys(l), v->last_alias + 1);
		EXPECT_EQ(dk_layout_knows(l), v->knows);
		/* 1.3 to 1.6 have no alias keys */
		if (v->first_alias <= v->last_alias)
			EXPECT_EQ(key_of(l, "Autograd"), v->first_alias);
		EXPECT_EQ(dk_key_kind(l, v->first_alias - 1),
			  v->nb ? DK_KIND_PER_BACKEND : DK_KIND_SENTINEL);
		EXPECT_EQ(dk_slot_key(l, v->entries - 1), v->nf - 1);
	}
}

TEST(blocks_of_every_layout)
{
	FOR_EACH_VERSION(v, l) {
		unsigned int n = 0, f;

		for (const struct block *b = v->blocks; b->name; b++, n++) {
			f = key_of(l, b->name);
			EXPECT_EQ(dk_is_per_backend(l, f), 1);
			EXPECT_EQ(dk_runtime_key(l, f, 0), b->start);
			EXPECT_EQ(dk_key_slot(l, f), b->offset);
			EXPECT_EQ(dk_key_slot(l, b->start + v->nb), b->offset + v->nb - 1);
			EXPECT_EQ(dk_key_kind(l, b->start), DK_KIND_SENTINEL);
		}
		for (f = 0; f < v->nf; f++)
			n -= dk_is_per_backend(l, f);
		EXPECT_EQ(n, 0);
	}
}

/* SEMANTICS 1.3 and 3: some keys whose numbers differ between the versions. */
TEST(places_of_keys)
{
	static const struct {
		const char *layout, *key;
		unsigned int value, slot;
	} places[] = {
		{ "pytorch-1.10", "FuncTorchPython", 33, 33 },
		{ "pytorch-1.10", "AutogradCPU", 40, 40 },
		{ "pytorch-1.11", "CPU", 1, 1 },
		{ "pytorch-1.11", "ZeroTensor", 36, 36 },
		{ "pytorch-1.11", "Functionalize", 59, 59 },
		{ "pytorch-1.12", "Meta", 6, 18 },
		{ "pytorch-1.12", "FuncTorchDynamicLayerBackMode", 21, 69 },
		{ "pytorch-1.12", "Functionalize", 35, 95 },
		{ "pytorch-1.12", "TESTING_ONLY_GenericMode", 40, 100 },
		{ "pytorch-1.13", "PythonDispatcher", 40, 105 },
		{ "pytorch-2.0-pre", "Batched", 33, 98 },
		{ "pytorch-2.0-pre", "AutogradCPU", 104, 76 },
		{ "pytorch-2.0-pre", "Meta", 54, 11 },
		{ "pytorch-2.0-pre", "PrivateUse3", 57, 14 },
		{ "pytorch-2.0", "Meta", 54, 11 },
		{ "pytorch-2.0", "MTIA", 55, 12 },
		{ "pytorch-2.1-pre", "MTIA", 54, 11 },
		{ "pytorch-2.1-pre", "PrivateUse1", 55, 12 },
		{ "pytorch-2.1-pre", "Meta", 58, 15 },
		{ "pytorch-2.1-pre", "PythonDispatcher", 41, 111 },
		{ "pytorch-2.4", "MAIA", 3, 17 },
		{ "pytorch-2.4", "PreDispatch", 44, 128 },
		{ "pytorch-2.4", "PythonDispatcher", 45, 129 },
		{ "pytorch-2.6", "AutocastMPS", 31, 115 },
		{ "pytorch-2.6", "PythonDispatcher", 46, 130 },
		{ "pytorch-2.7", "AutocastMTIA", 27, 111 },
		{ "pytorch-2.7", "PythonDispatcher", 47, 131 },
		{ "pytorch-2.8", "MAIA", 61, 12 },
		{ "pytorch-2.8", "Python", 12, 87 },
		{ "pytorch-2.8", "Fake", 13, 88 },
		{ "pytorch-2.8", "Named", 16, 91 },
		{ "pytorch-2.8", "PythonDispatcher", 47, 137 },
		{ "pytorch-2.11", "Fake", 13, 88 },
		{ "pytorch-2.11", "Named", 16, 91 },
		{ "pytorch-2.14", "Fake", 12, 87 },
		{ "pytorch-2.14", "Python", 13, 88 },
	};
	unsigned int i;

	for (i = 0; i < COUNT(places); i++) {
		const struct dk_layout *l = layout(places[i].layout);

		EXPECT_EQ(key_of(l, places[i].key), places[i].value);
		EXPECT_EQ(dk_key_slot(l, places[i].value), places[i].slot);
		EXPECT_EQ(dk_slot_key(l, places[i].slot), places[i].value);
	}
}

TEST(releases)
{
	static const char *const same[][2] = {
		{ "pytorch-2.14.1", "pytorch-2.14" }, { "pytorch-2.14.0", "pytorch-2.14" },
		{ "pytorch-1.13.1", "pytorch-1.13" }, { "pytorch-2.0.1", "pytorch-2.0" },
		{ "pytorch-2.6.0+cu126", "pytorch-2.6" }, { "pytorch-2.8.12", "pytorch-2.8" },
		{ "2.11.0+cu130", "pytorch-2.11" },
		{ "2.6", "pytorch-2.6" }, { "v2.14", "pytorch-2.14" },
		{ "v2.6.0", "pytorch-2.6" }, { "1.13.1+cu117", "pytorch-1.13" },
		{ "1.3.1", "pytorch-1.3" }, { "v1.9.1", "pytorch-1.9" },
	};
	static const char *const none[] = {
		"pytorch-1.2", "pytorch-1.2.0", "pytorch-2.15", "pytorch-2.140",
		"pytorch-2.14.", "pytorch-2.14.x", "pytorch-2.14-1", "pytorch-2.14.1.2",
		"pytorch-2",
		"pytorch-2.14+cu130", "v1.0", "v1.1", "PyTorch-2.14", "", "pytorch-2.4-pre",
		"pytorch-2.6.0+trimmed", "pytorch-2.6+trimmed", "1.2", "v0.4.1", "2.140", "2.6.",
		"vv2.6", "V2.6", "v", "2", "v2",
	};
	unsigned int i;

	for (i = 0; i < COUNT(same); i++)
		EXPECT_STREQ(dk_layout_name(layout(same[i][0])), same[i][1]);
	for (i = 0; i < COUNT(none); i++) {
		struct dk_diag why = { 0 };

		if (!EXPECT(!dk_layout_find(none[i], &why)))
			printf("#   %s\n", none[i]);
		EXPECT_EQ(why.reason, DK_WHY_BAD_LAYOUT);
		EXPECT_STREQ(why.name, none[i]);
	}
}

/* SEMANTICS 1.5 */
TEST(printing_of_1_12)
{
	const struct dk_layout *l = layout("pytorch-1.12");
	unsigned int autocast = 29, key;

	EXPECT_STREQ(name_of(l, autocast), "Autocast");
	EXPECT_EQ(key_of(l, "AutocastCUDA"), autocast);
	EXPECT_EQ(key_of(l, "Autocast"), autocast);
	EXPECT_STREQ(name_of(l, 42), "UNKNOWN_TENSOR_TYPE_ID");
	EXPECT_STREQ(name_of(l, 98), "UNKNOWN_TENSOR_TYPE_ID");
	EXPECT_EQ(dk_key_parse(l, "UNKNOWN_TENSOR_TYPE_ID", 0, &key, NULL), -EINVAL);
	/* without PythonDispatcher, which this layout lacks */
	EXPECT_EQ(dk_keyset_after(l, key_of(l, "CPU")).bits, 0x1fff);
}

/* Printed names of 1.3 to 1.11. Names that are aliases of enumerators later are those of keys. */
TEST(names_before_1_12)
{
	const struct dk_layout *l = layout("pytorch-1.11");
	unsigned int key;

	EXPECT_STREQ(name_of(l, key_of(l, "AutocastCUDA")), "Autocast");
	EXPECT_EQ(key_of(l, "Autocast"), key_of(l, "AutocastCUDA"));
	EXPECT_EQ(key_of(l, "DefaultBackend"), key_of(l, "CompositeExplicitAutograd"));
	EXPECT_STREQ(name_of(l, 63), "UNKNOWN_TENSOR_TYPE_ID");
	l = layout("pytorch-1.9");
	EXPECT_STREQ(name_of(l, key_of(l, "CPUTensorId")), "CPU");
	l = layout("pytorch-1.8");
	EXPECT_STREQ(name_of(l, key_of(l, "Autocast")), "Autocast");
	EXPECT_STREQ(name_of(l, key_of(l, "DefaultBackend")), "DefaultBackend");
	EXPECT_EQ(dk_key_kind(l, key_of(l, "Math")), DK_KIND_ALIAS);
	l = layout("pytorch-1.6");
	EXPECT_EQ(dk_key_kind(l, key_of(l, "Autograd")), DK_KIND_FUNCTIONALITY);
	EXPECT_STREQ(name_of(l, key_of(l, "PrivateUse1_PreAutograd")), "PrivateUse1_PreAutograd");
	l = layout("pytorch-1.5");
	EXPECT_STREQ(name_of(l, key_of(l, "CPUTensorId")), "CPUTensorId");
	EXPECT_EQ(dk_key_parse(l, "CPU", 0, &key, NULL), -EINVAL);
}

/* SEMANTICS 1.2: before 1.12, the key with value v > 0 has bit v - 1 and table entry v. */
TEST(layouts_without_backends)
{
	char text[200], want[200];

	FOR_EACH_VERSION(v, l) {
		unsigned int key, slot = 0, n = 0;

		if (v->nb)
			continue;
		for (key = 0; key < v->nf; key++) {
			struct dk_keyset ks = dk_key_set(l, key);

			EXPECT_EQ(ks.bits, key ? 1ULL << (key - 1) : 0);
			EXPECT_EQ(dk_keyset_key(l, ks), key);
			EXPECT_EQ(dk_table_index(l, ks), key);
			EXPECT_EQ(dk_keyset_after(l, key).bits, key ? ks.bits - 1 : 0);
			EXPECT_EQ(dk_key_kind(l, key),
				  key ? DK_KIND_FUNCTIONALITY : DK_KIND_UNDEFINED);
		}
		while ((slot = dk_keyset_next(l, dk_layout_full(l), slot)))
			EXPECT_EQ(slot, ++n);
		EXPECT_EQ(n, v->nf - 1);
		EXPECT_EQ(dk_keyset_backend(l, DK_KEYSET(~0ULL)), 0);
		EXPECT_EQ(dk_keyset_key(l, DK_KEYSET(~0ULL)), v->nf - 1);
		/* no bit is kept as that of a backend */
		EXPECT_EQ(dk_keyset_sub(l, DK_KEYSET(7), DK_KEYSET(5)).bits, 2);
		dk_keyset_print(l, DK_KEYSET(5), text, sizeof(text));
		n = (unsigned int)snprintf(want, sizeof(want), "DispatchKeySet(%s, ",
					   name_of(l, 1));
		snprintf(want + n, sizeof(want) - n, "%s)", name_of(l, 3));
		EXPECT_STREQ(text, want);
		EXPECT(!dk_registry_alloc(l, 0, NULL));
	}
}

TEST(sentinels_of_the_others)
{
	EXPECT_STREQ(name_of(layout("pytorch-2.0"), 43), "Undefined");
	EXPECT_STREQ(name_of(layout("pytorch-2.0"), 107), "AutogradUndefined");
	EXPECT_STREQ(name_of(layout("pytorch-2.8"), 66), "QuantizedUndefined");
	EXPECT_STREQ(name_of(layout("pytorch-1.13"), 72), "SparseUnknown");
}

/* SEMANTICS 1.6: the number of names that the parser of each version accepts. */
TEST(strict_parsing_of_every_layout)
{
	char name[DK_NAME_MAX];
	unsigned int key, got, n;

	FOR_EACH_VERSION(v, l) {
		n = 0;
		for (key = 0; key < dk_layout_keys(l); key++) {
			struct dk_diag why = { 0 };
			int err = dk_key_parse(l, dk_key_name(l, key, name),
					       DK_PARSE_STRICT, &got, &why);

			if (!v->strict)
				EXPECT_EQ(why.reason, DK_WHY_NO_STRICT);
			n += !err && dk_key_kind(l, key) != DK_KIND_SENTINEL;
		}
		EXPECT_EQ(n, v->strict);
	}
	EXPECT_EQ(dk_key_parse(layout("pytorch-2.7"), "PRIVATEUSEONE", DK_PARSE_STRICT,
			       &key, NULL), 0);
	EXPECT_EQ(dk_key_parse(layout("pytorch-2.6"), "PRIVATEUSEONE", DK_PARSE_STRICT,
			       &key, NULL), -EINVAL);
}

/* SEMANTICS 4.1 to 4.5: differences of the versions between PyTorch 1.13 (L) and 2.14 (N). */
TEST(sets_between_1_13_and_2_14)
{
	static const char *const with_functionalize[] = {
		"pytorch-2.4", "pytorch-2.6", "pytorch-2.7",
	};
	static const char *const autocast[][2] = {
		{ "pytorch-2.0", "AutocastCPU|AutocastXPU|AutocastHPU|AutocastCUDA" },
		{ "pytorch-2.4", "AutocastCPU|AutocastCUDA|AutocastXPU|AutocastIPU|"
				 "AutocastHPU|AutocastXLA|AutocastPrivateUse1" },
		{ "pytorch-2.6", "AutocastCPU|AutocastCUDA|AutocastXPU|AutocastIPU|"
				 "AutocastHPU|AutocastXLA|AutocastPrivateUse1|AutocastMPS" },
	};
	const struct dk_layout *l;
	struct dk_keyset ks;
	unsigned int i, b;

	for (i = 0; i < COUNT(with_functionalize); i++) {
		l = layout(with_functionalize[i]);
		EXPECT(dk_alias_has(l, key_of(l, "CompositeImplicitAutograd"),
				    key_of(l, "Functionalize")));
		EXPECT(!dk_alias_has(l, key_of(l, "CompositeExplicitAutograd"),
				     key_of(l, "Functionalize")));
		EXPECT(dk_is_backend_key(l, key_of(l, "MAIA")));
	}
	l = layout("pytorch-2.0");
	EXPECT(!dk_alias_has(l, key_of(l, "CompositeImplicitAutograd"),
			     key_of(l, "Functionalize")));
	EXPECT(dk_is_backend_key(l, key_of(l, "SparseCsrCUDA")));
	/* as in PyTorch, the set is empty although dk_alias_has() is true */
	for (i = 0; i < COUNT(autocast); i++) {
		l = layout(autocast[i][0]);
		EXPECT_EQ(dk_alias_set(l, key_of(l, "FuncTorchBatchedDecomposition")).bits, 0);
		EXPECT(dk_alias_has(l, key_of(l, "FuncTorchBatchedDecomposition"),
				    key_of(l, "FuncTorchBatched")));
		EXPECT(!dk_constant_set(l, "autocast_dispatch_keyset", &ks, NULL));
		EXPECT_EQ(ks.bits, set_of(l, autocast[i][1]).bits);
		EXPECT(!dk_backend_bit_parse(l, "MTIABit", &b, NULL));
		EXPECT_EQ(dk_autograd_of_backend(l, b).bits,
			  set_of(l, "ADInplaceOrView|AutogradOther").bits);
		EXPECT(!dk_backend_bit_parse(l, "XLABit", &b, NULL));
		EXPECT_EQ(dk_autocast_of_backend(l, b).bits,
			  set_of(l, i ? "AutocastXLA" : "AutocastCUDA").bits);
	}
	l = layout("pytorch-2.7");
	EXPECT(!dk_backend_bit_parse(l, "MTIABit", &b, NULL));
	EXPECT_EQ(dk_autograd_of_backend(l, b).bits,
		  set_of(l, "ADInplaceOrView|AutogradMTIA").bits);
	EXPECT_EQ(dk_autocast_of_backend(l, b).bits, set_of(l, "AutocastMTIA").bits);
	/* 2.6 and later skip FuncTorchGradWrapper */
	ks = set_of(l, "CPU|FuncTorchGradWrapper");
	EXPECT_EQ(dk_legacy_extract(l, ks), key_of(l, "CPU"));
	l = layout("pytorch-2.4");
	ks = set_of(l, "CPU|FuncTorchGradWrapper|Functionalize");
	EXPECT_EQ(dk_legacy_extract(l, ks), key_of(l, "FuncTorchGradWrapper"));
	ks = set_of(l, "CPU|Functionalize");
	EXPECT_EQ(dk_legacy_extract(l, ks), key_of(l, "CPU"));
}

/*
 * Every layout has every named set, except sets that are derived from unknown alias sets. Of a
 * layout without backends, no set is known.
 */
TEST(constants_of_every_layout)
{
	static const char *const lists[][2] = {
		{ "autograd_dispatch_keyset",
		  "AutogradFunctionality|AutogradOther|AutogradNestedTensor" },
		{ "autograd_dispatch_keyset_with_ADInplaceOrView",
		  "AutogradFunctionality|AutogradOther|AutogradNestedTensor|ADInplaceOrView" },
		{ "default_included_set", "BackendSelect|ADInplaceOrView" },
		{ "python_ks", "Python|PythonTLSSnapshot" },
		{ "sparse_ks", "Sparse" },
		{ "mkldnn_ks", "MkldnnCPU" },
		{ "functorch_transforms_ks", "FuncTorchBatched|FuncTorchVmapMode|Batched|"
					     "VmapMode|FuncTorchGradWrapper" },
	};
	struct dk_keyset ks, other;
	unsigned int i, key;
	int err;

	FOR_EACH_VERSION(v, l) {
		if (!v->nb) {
			for (i = 0; i < COUNT(lists); i++)
				EXPECT_EQ(dk_constant_set(l, lists[i][0], &ks, NULL), -EOPNOTSUPP);
			EXPECT_EQ(dk_constant_set(l, "no_such_set", &ks, NULL), -ENOENT);
			continue;
		}
		for (i = 0; i < COUNT(lists); i++) {
			EXPECT(!dk_constant_set(l, lists[i][0], &ks, NULL));
			EXPECT_EQ(ks.bits, set_of(l, lists[i][1]).bits);
		}
		EXPECT(!dk_constant_set(l, "backend_bitset_mask", &ks, NULL));
		EXPECT_EQ(ks.bits, (1ULL << v->nb) - 1);
		EXPECT(!dk_constant_set(l, "default_excluded_set", &ks, NULL));
		EXPECT(!dk_constant_set(l, "autocast_dispatch_keyset", &other, NULL));
		EXPECT_EQ(ks.bits, other.bits);
		EXPECT(!dk_constant_set(l, "after_autograd_keyset", &ks, NULL));
		EXPECT_EQ(ks.bits, dk_keyset_after(l, key_of(l, "AutogradOther")).bits);
		EXPECT(!dk_constant_set(l, "backend_functionality_keys", &ks, NULL));
		EXPECT_EQ(ks.bits & ~((1ULL << v->nb) - 1),
			  set_of(l, dk_key_parse(l, "SparseCsr", 0, &key, NULL) ?
				 "Dense|Quantized|Sparse" :
				 "Dense|Quantized|Sparse|SparseCsr").bits);
		err = dk_constant_set(l, "autogradother_backends", &ks, NULL);
		EXPECT_EQ(err, v->knows & DK_KNOWS_SETS ? 0 : -EOPNOTSUPP);
	}
}

/* If the alias sets and maps of a layout are unknown, results are empty, never partial. */
TEST(nothing_is_guessed)
{
	unsigned int key;

	FOR_EACH_VERSION(v, l) {
		if (v->knows & DK_KNOWS_SETS)
			continue;
		for (key = v->first_alias; key <= v->last_alias; key++) {
			EXPECT_EQ(dk_alias_set(l, key).bits, 0);
			EXPECT(!dk_alias_has(l, key, key_of(l, "AutogradCPU")));
		}
		key = v->nb ? key_of(l, "CPU") : 1;
		EXPECT(!dk_is_backend_key(l, key));
		EXPECT_EQ(dk_fresh_set(l, dk_key_set(l, key), 0).bits, 0);
		if (v->first_alias <= v->last_alias)
			EXPECT_EQ(dk_backends_of_autograd(l, key_of(l, "AutogradCPU")).bits, 0);
		EXPECT_EQ(dk_autograd_of_backend(l, 1).bits, 0);
		EXPECT_EQ(dk_autocast_of_backend(l, 1).bits, 0);
	}
}

/* SEMANTICS 1.8 */
TEST(trimmed_tables)
{
	static const char *const names[] = { "v1", "pytorch-2.14", "pytorch-1.13" };
	static const struct {
		const char *set;
		int index;
	} sets[] = {
		{ "DispatchKeySet()", 0 }, { "CPU", 1 }, { "QuantizedCPU|CPU", 2 },
		{ "SparseCPU", 3 }, { "BackendSelect|CPU", 4 }, { "ADInplaceOrView", 5 },
		{ "AutogradOther|FPGA", 6 }, { "AutogradCPU|CPU", 7 }, { "CUDA", -1 },
		{ "CPU|CUDA", -1 }, { "FPGA", -1 }, { "CPU|Tracer", -1 }, { "Dense", -1 },
		{ "CPUBit", 0 }, { "AutogradFunctionality", -1 },
	};
	char name[DK_NAME_MAX];
	unsigned int i, k;

	for (k = 0; k < COUNT(names); k++) {
		const struct dk_layout *l, *whole = layout(names[k]);

		snprintf(name, sizeof(name), "%s+trimmed", names[k]);
		l = layout(name);
		if (!EXPECT(l))
			continue;
		EXPECT_STREQ(dk_layout_name(l), name);
		EXPECT_EQ(dk_table_size(l), 8);
		EXPECT_EQ(dk_layout_full(l).bits, dk_layout_full(whole).bits);
		EXPECT_EQ(dk_layout_knows(l), dk_layout_knows(whole));
		for (i = 0; i < COUNT(sets); i++) {
			struct dk_keyset ks = set_of(l, sets[i].set);

			if (!EXPECT_EQ(dk_table_index(l, ks), sets[i].index))
				printf("#   %s\n", sets[i].set);
			EXPECT_EQ(dk_table_index(whole, ks), dk_keyset_slot(whole, ks));
			EXPECT_EQ(dk_keyset_slot(l, ks), dk_keyset_slot(whole, ks));
		}
	}
}

/* SEMANTICS 2.1 and 2.2 */
TEST(lists_and_bits_of_sets)
{
	static const unsigned int keys[] = { DK_CPU, DK_AUTOGRAD_CUDA, DK_UNDEFINED,
					     DK_AUTOGRAD };

	EXPECT_EQ(dk_keyset_of(NULL, keys, 4).bits, 0x1000010003);
	EXPECT_EQ(dk_keyset_of(NULL, NULL, 0).bits, 0);
	EXPECT(dk_keyset_has(NULL, dk_keyset_of(NULL, keys, 4), DK_AUTOGRAD_CPU));
	EXPECT(!dk_keyset_has(NULL, dk_keyset_of(NULL, keys, 1), DK_CUDA));
	EXPECT(dk_keyset_has(NULL, DK_KEYSET(0), DK_UNDEFINED));
	EXPECT_EQ(dk_keyset_highest_bit(DK_KEYSET(0)), 0);
	EXPECT_EQ(dk_keyset_highest_bit(DK_KEYSET(1)), 1);
	EXPECT_EQ(dk_keyset_highest_bit(DK_KEYSET(~0ULL)), 64);
}

TEST(has_any_precondition)
{
	static const char *const valid[] = {
		"DispatchKeySet()", "CPUBit", "Dense|Sparse", "FPGA|CUDABit", "NestedTensorCPU",
		"AutogradFunctionality|AutogradOther",
	};
	static const char *const invalid[] = {
		"CPU", "QuantizedCUDA", "SparseXLA", "AutogradXPU", "CPU|FPGA",
	};
	unsigned int i;

	FOR_EACH_VERSION(v, l) {
		if (!v->nb) {
			EXPECT(dk_keyset_has_any_valid(l, dk_layout_full(l)));
			continue;
		}
		for (i = 0; i < COUNT(valid); i++)
			EXPECT(dk_keyset_has_any_valid(l, set_of(l, valid[i])));
		for (i = 0; i < COUNT(invalid); i++)
			EXPECT(!dk_keyset_has_any_valid(l, set_of(l, invalid[i])));
	}
	EXPECT(!dk_keyset_has_any_valid(NULL, DK_SET(DK_SPARSE_CSR_CPU)));
	/* in 1.13, SparseCsrCPU is one key without a backend */
	EXPECT(dk_keyset_has_any_valid(layout("pytorch-1.13"),
				       set_of(layout("pytorch-1.13"), "SparseCsrCPU|CPUBit")));
}
