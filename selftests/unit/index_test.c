// SPDX-License-Identifier: GPL-2.0-only
/*
 * Computes table indexes, and compares them with a separate model of the rules of SEMANTICS 3, for
 * all sets that have at most two functionalities, and any backends. The digests are those of
 * selftests/api/table_indexes.c, which also runs in the kernel.
 */
#include <dispatchkey.h>
#include "tap.h"

#define MAX_FUNCTIONALITIES	64

struct model {
	unsigned int nb, nf;
	const char *per_backend;	/* a character per functionality: '*' or '.' */
	unsigned int first[MAX_FUNCTIONALITIES];
	unsigned char highest[1 << 16];	/* position of the highest bit, from 0 */
};

static struct model model;

/* SEMANTICS 1.1: '*' marks the functionalities that have a key for each backend. */
static const char v1_stars[] = ".*...*..***..........*.........................";
static const char l_stars[] = ".*....*..*..*...........*................";

static void prepare(unsigned int nb, const char *stars)
{
	unsigned int f, b, entry = 0, mask;

	model.nb = nb;
	model.nf = strlen(stars);
	model.per_backend = stars;
	for (f = 0; f < model.nf; f++) {
		model.first[f] = entry;
		entry += stars[f] == '*' ? nb : 1;
	}
	for (mask = 1; mask < 1U << nb; mask++)
		for (b = 0; b < nb; b++)
			if (mask >> b & 1)
				model.highest[mask] = b;
}

/* Returns the index of a set. If the set has no backend, the first backend is assumed. */
static unsigned int model_index(unsigned int f, unsigned int g, unsigned int mask)
{
	unsigned int top = f > g ? f : g;

	if (model.per_backend[top] != '*')
		return model.first[top];
	return model.first[top] + model.highest[mask];
}

/* Returns the bit of a functionality by SEMANTICS 1.3, without using code of the core. */
static unsigned long long bit_of(unsigned int f)
{
	return f ? 1ULL << (model.nb + f - 1) : 0;
}

static unsigned long long wrong, sets;

static unsigned long long compare(const struct dk_layout *l)
{
	unsigned long long hash = 0xcbf29ce484222325ULL, bits;
	unsigned int f, g, mask, want;

	wrong = 0;
	sets = 0;
	for (f = 0; f < model.nf; f++) {
		for (g = f ? f + 1 : 0; g < model.nf; g++) {
			bits = bit_of(f) | bit_of(g);
			for (mask = 0; mask < 1U << model.nb; mask++, sets++) {
				want = model_index(f, g, mask);
				wrong += dk_keyset_slot(l, DK_KEYSET(bits | mask)) != want;
				hash = (hash ^ want) * 0x100000001b3ULL;
			}
		}
	}
	return hash;
}

TEST(every_index_of_v1)
{
	prepare(16, v1_stars);
	EXPECT_EQ(model.first[46], 136);
	EXPECT_EQ(compare(NULL), 0x7d2d8c55d176e801ULL);
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(sets, (1 + 46 + 46 * 45 / 2) * 65536ULL);
}

TEST(every_index_of_1_13)
{
	prepare(14, l_stars);
	EXPECT_EQ(model.first[40], 105);
	EXPECT_EQ(compare(dk_layout_find("pytorch-1.13", NULL)), 0x7587d1264ac58469ULL);
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(sets, (1 + 40 + 40 * 39 / 2) * 16384ULL);
}
