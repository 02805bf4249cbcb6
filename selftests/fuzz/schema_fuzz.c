// SPDX-License-Identifier: GPL-2.0-only
/* Prints an accepted schema, parses the text, and prints the result. Both texts must be equal. */
#include "fuzz.h"

static char *print(const struct dk_schema *s)
{
	size_t size = dk_schema_print(s, NULL, 0) + 1;
	char *text = malloc(size);

	REQUIRE(text);
	REQUIRE(dk_schema_print(s, text, size) == size - 1);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *first, *second;
	struct dk_schema *s, *again;
	struct dk_diag why = { .size = sizeof(why) };
	__u64 mask;

	if (dk_schema_parse(text, &s, &why)) {
		REQUIRE(why.text && why.text[0]);
		free(text);
		return 0;
	}
	free(text);
	dk_schema_dispatch_mask(s, &mask, NULL);
	first = print(s);
	REQUIRE(!dk_schema_parse(first, &again, NULL));
	second = print(again);
	REQUIRE(!strcmp(first, second));
	REQUIRE(!dk_schema_compare(s, again, NULL));
	free(first);
	free(second);
	dk_schema_free(again);
	dk_schema_free(s);
	return 0;
}
