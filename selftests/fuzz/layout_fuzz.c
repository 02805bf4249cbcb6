// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints an accepted layout, parses the text, and prints the result. Both texts must be equal. Also
 * walks the set of all keys, which must find each entry once.
 */
#include "fuzz.h"

static char *describe(const struct dk_layout *l)
{
	size_t size = dk_layout_describe(l, NULL, 0) + 1;
	char *text = malloc(size);

	REQUIRE(text);
	REQUIRE(dk_layout_describe(l, text, size) == size - 1);
	return text;
}

static void walk(const struct dk_layout *l)
{
	unsigned int slot = 0, n;

	for (n = 1; n < dk_layout_entries(l); n++) {
		slot = dk_keyset_next(l, dk_layout_full(l), slot);
		REQUIRE(slot == n);
	}
	REQUIRE(!dk_keyset_next(l, dk_layout_full(l), slot));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *first, *second;
	struct dk_layout *l = dk_layout_parse(text, NULL), *again;

	free(text);
	if (!l)
		return 0;
	first = describe(l);
	again = dk_layout_parse(first, NULL);
	REQUIRE(again);
	second = describe(again);
	REQUIRE(!strcmp(first, second));
	walk(l);
	free(first);
	free(second);
	dk_layout_free(again);
	dk_layout_free(l);
	return 0;
}
