// SPDX-License-Identifier: GPL-2.0-only
/* Tests names of keys and backends, strict and lenient parsing, and the texts of reasons. */
#include "keys.h"

/* ---- names --------------------------------------------------------------- */

TEST(names_of_sentinels_and_unknown_keys)
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
		for (i = 0; i < ARRAY_SIZE(aliases); i++) {
			key = key_of(l, aliases[i][0]);
			EXPECT_STREQ(name_of(l, key), aliases[i][1]);
			EXPECT_EQ(dk_key_parse(l, aliases[i][0], DK_PARSE_STRICT,
					       &key, NULL), -EINVAL);
		}
	}
}

/*
 * SEMANTICS 1.6: for each building block, the backends whose keys PyTorch's strict parser accepts.
 */
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
	for (i = 0; i < ARRAY_SIZE(strict); i++)
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

TEST(words_that_name_no_key)
{
	static const char *const words[] = {
		"", "cpu", "Cpu", "CPUBit", "MTIABit", "DenseCPU", "NoSuchKey", " CPU",
		"CPU ", "StartOfDenseBackends", "EndOfFunctionalityKeys",
		"AutogradUndefined", "SparseUnknown", "UnknownUnknown",
		"privateuseone", "InvalidBit", "QuantizedQuantized",
	};
	unsigned int i, key = 4711;

	FOR_N_AND_L(l) {
		for (i = 0; i < ARRAY_SIZE(words); i++) {
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

/* ---- reasons ------------------------------------------------------------- */

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

	/* size 0 stands for the published size; a newer caller can pass a larger struct */
	memset(&room, 0x55, sizeof(room));
	room.why.size = 0;
	dkc_refuse(&room.why, DK_WHY_OVERRIDE, name);
	EXPECT_EQ(room.why.size, 0);
	EXPECT_EQ(strlen(room.why.name), DK_NAME_MAX - 1);
	EXPECT_STREQ(room.why.name + DK_NAME_MAX - 5, "n...");
	EXPECT_EQ(room.behind[0], 0x55);
	room.why.size = sizeof(room);
	dkc_refuse(&room.why, DK_WHY_NO_DEVICE, NULL);
	EXPECT_STREQ(room.why.name, "");
	EXPECT_STREQ(room.why.text, "no such device");
	EXPECT_EQ(room.behind[0], 0x55);

	/* a struct with a shorter name, one without a name, and one that is too small */
	memset(&room, 0x55, sizeof(room));
	room.why.size = head + 8;
	dkc_refuse(&room.why, DK_WHY_OVERRIDE, name);
	EXPECT_STREQ(room.why.name, "nnnn...");
	EXPECT_EQ(room.why.name[8], 0x55);
	memset(&room, 0x55, sizeof(room));
	room.why.size = head;
	dkc_refuse(&room.why, DK_WHY_OVERRIDE, name);
	EXPECT_EQ(room.why.reason, DK_WHY_OVERRIDE);
	EXPECT_STREQ(room.why.text, dk_reason_text(DK_WHY_OVERRIDE));
	EXPECT_EQ(room.why.name[0], 0x55);
	memset(&room, 0x55, sizeof(room));
	room.why.size = head - 1;
	dkc_refuse(&room.why, DK_WHY_OVERRIDE, name);
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
	/* a character of two bytes is kept or left out as a whole */
	dkc_strcpy(buf, "ab\xc3\xa9\xc3\xa9\xc3\xa9", 8);
	EXPECT_STREQ(buf, "ab\xc3\xa9...");
	dkc_strcpy(buf, "ab\xc3\xa9\xc3\xa9\xc3\xa9", 7);
	EXPECT_STREQ(buf, "ab...");
	dkc_strncpy(buf, "abcdefgh", 3, 8);
	EXPECT_STREQ(buf, "abc");
	EXPECT(dkc_streq("abc", "abc") && dkc_streq("", ""));
	EXPECT(!dkc_streq("abc", "abd") && !dkc_streq("ab", "abc") &&
	       !dkc_streq("abc", "ab") && !dkc_streq("abc", "ABC"));
	EXPECT(dkc_strcaseeq("aBc", "AbC") && !dkc_strcaseeq("ab", "abc") &&
	       !dkc_strcaseeq("a[", "a{"));
	EXPECT(dkc_starts_with("abc", "ab") && dkc_starts_with("ab", "ab") &&
	       dkc_starts_with("a", "") && !dkc_starts_with("a", "ab") &&
	       !dkc_starts_with("abc", "bc"));
}
