// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses the input as a keyset, a backend bit and a key in every layout. If a key is found, its
 * name must parse as the same key.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	const struct dk_layout *l;
	const char *layout = NULL;
	char name[DK_NAME_MAX];
	struct dk_keyset ks;
	unsigned int key, again;

	while ((layout = dk_layout_next(layout))) {
		l = dk_layout_find(layout, NULL);
		dk_keyset_parse(l, text, &ks, NULL);
		dk_backend_bit_parse(l, text, &key, NULL);
		dk_key_parse(l, text, DK_PARSE_STRICT, &key, NULL);
		if (dk_key_parse(l, text, 0, &key, NULL))
			continue;
		dk_key_name(l, key, name);
		REQUIRE(!dk_key_parse(l, name, 0, &again, NULL));
		REQUIRE(again == key);
	}
	free(text);
	return 0;
}
