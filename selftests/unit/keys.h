/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks up layouts, keys and sets by name, for the tests of keys and keysets. */
#ifndef _SELFTESTS_UNIT_KEYS_H
#define _SELFTESTS_UNIT_KEYS_H

#include <dispatchkey.h>
#include "layout/layout.h"
#include "tap.h"

static inline const struct dk_layout *layout_after(const struct dk_layout *l)
{
	const char *name = dk_layout_next(dk_layout_name(l));

	return name ? dk_layout_find(name, NULL) : NULL;
}

#define FOR_EACH_LAYOUT(l)						\
	for (const struct dk_layout *l = dk_layout_find("v1", NULL); l;	\
	     l = layout_after(l))

/* The tests of building blocks: before 1.12, PyTorch had none. */
#define FOR_EACH_LAYOUT_WITH_BACKENDS(l)				\
	FOR_EACH_LAYOUT(l)						\
		if (dk_layout_backends(l))

/* Visits the layouts whose numbers PyTorch itself printed: N (2.14 and v1) and L (1.13). */
#define FOR_N_AND_L(l)							\
	FOR_EACH_LAYOUT(l)						\
		if (is_n(l) || is_l(l))

/* The layouts that the tests call N and L. v1 has the numbers of N. */
static inline const struct dk_layout *layout_n(void)
{
	return dk_layout_find("pytorch-2.14", NULL);
}

static inline const struct dk_layout *layout_l(void)
{
	return dk_layout_find("pytorch-1.13", NULL);
}

static inline bool is_l(const struct dk_layout *l)
{
	return l == layout_l();
}

static inline bool is_n(const struct dk_layout *l)
{
	return l == layout_n() || l == dkc_layout(NULL);
}

static inline struct dk_keyset set_of(const struct dk_layout *l, const char *text)
{
	struct dk_keyset ks = { 0 };
	struct dk_diag why = { 0 };

	if (!EXPECT(!dk_keyset_parse(l, text, &ks, &why)))
		printf("#   %s: %s: %s\n", text, why.text, why.name);
	return ks;
}

static inline unsigned int key_of(const struct dk_layout *l, const char *name)
{
	unsigned int key = ~0U;

	if (!EXPECT(!dk_key_parse(l, name, 0, &key, NULL)))
		printf("#   %s\n", name);
	return key;
}

static inline unsigned int bit_of(const struct dk_layout *l, const char *name)
{
	unsigned int backend = ~0U;

	if (!EXPECT(!dk_backend_bit_parse(l, name, &backend, NULL)))
		printf("#   %s\n", name);
	return backend;
}

static inline const char *name_of(const struct dk_layout *l, unsigned int key)
{
	static char buf[DK_NAME_MAX];

	return dk_key_name(l, key, buf);
}

static inline const char *print(const struct dk_layout *l, struct dk_keyset ks)
{
	static char buf[4096];

	EXPECT(dk_keyset_print(l, ks, buf, sizeof(buf)) < sizeof(buf));
	return buf;
}

static inline bool has(const struct dk_layout *l, struct dk_keyset ks, unsigned int key)
{
	return dk_keyset_has_all(ks, dk_key_set(l, key));
}

static inline unsigned int count(const struct dk_layout *l, struct dk_keyset ks)
{
	unsigned int slot, n = 0;

	for (slot = dk_keyset_next(l, ks, 0); slot; slot = dk_keyset_next(l, ks, slot))
		n++;
	return n;
}

/* Returns pseudo-random bits. The sequence is the same in every run. */
static inline unsigned long long some_bits(void)
{
	static unsigned long long x = 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

#endif /* _SELFTESTS_UNIT_KEYS_H */
