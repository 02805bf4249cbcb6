// SPDX-License-Identifier: GPL-2.0-only
/* Prints an accepted layout, parses the text, and prints the result. Both texts must be equal. */
#include "fuzz.h"

static char *describe(const struct dk_layout *l)
{
	size_t size = dk_layout_describe(l, NULL, 0) + 1;
	char *text = malloc(size);

	REQUIRE(text);
	REQUIRE(dk_layout_describe(l, text, size) == size - 1);
	return text;
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
	free(first);
	free(second);
	dk_layout_free(again);
	dk_layout_free(l);
	return 0;
}
