// SPDX-License-Identifier: GPL-2.0-only
/*
 * Computes the table indexes of all sets that have at most two functionalities, and any backends.
 * Compares a digest of these indexes for each layout. selftests/unit/index_test.c computes the same
 * digests from a separate model, and also compares each index.
 */
#include "test.h"

/* FNV-1a over the indices, in the order of the loops. */
static u64 digest(const struct dk_layout *l)
{
	unsigned int nb = dk_layout_backends(l), nf = dk_layout_functionalities(l);
	u64 hash = 0xcbf29ce484222325ull, bits, mask;
	unsigned int f, g;

	for (f = 0; f < nf; f++) {
		/*
		 * Undefined, number 0, has no bit: with f == 0, sets have at most one functionality
		 */
		for (g = f ? f + 1 : 0; g < nf; g++) {
			bits = dk_key_set(l, f).bits | dk_key_set(l, g).bits;
			for (mask = 0; mask < 1ull << nb; mask++) {
				hash ^= dk_keyset_slot(l, DK_KEYSET(bits | mask));
				hash *= 0x100000001b3ull;
			}
			t_pause();
		}
	}
	return hash;
}

static void index_digest_of_v1(void)
{
	CHECK_INT(digest(NULL), 0x7d2d8c55d176e801ull);
}

static void index_digest_of_1_13(void)
{
	CHECK_INT(digest(dk_layout_find("pytorch-1.13", NULL)), 0x7587d1264ac58469ull);
}

T_SUITE(table_indexes,
	T(index_digest_of_v1),
	T(index_digest_of_1_13));
