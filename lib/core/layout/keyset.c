// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Implements the algebra of keysets: SEMANTICS 2 to 4. Bits that the layout does not define are
 * kept in results, but never select a key. So every slot that these functions return exists.
 */
#include "layout.h"

struct dk_keyset dk_keyset_sub(const struct dk_layout *l, struct dk_keyset a, struct dk_keyset b)
{
	return DK_KEYSET(a.bits & (dkc_layout(l)->backend_mask | ~b.bits));
}

struct dk_keyset dk_keyset_remove(const struct dk_layout *l, struct dk_keyset a, unsigned int key)
{
	return dk_keyset_sub(l, a, dk_key_set(l, key));
}

struct dk_keyset dk_keyset_remove_backend(const struct dk_layout *l,
					  struct dk_keyset a, unsigned int backend)
{
	if (backend > dkc_layout(l)->nb)
		return a;
	return DK_KEYSET(a.bits & ~dkc_backend_bit(backend));
}

int dk_keyset_has(const struct dk_layout *l, struct dk_keyset ks, unsigned int key)
{
	return dk_keyset_has_all(ks, dk_key_set(l, key));
}

unsigned int dk_keyset_functionality(const struct dk_layout *l, struct dk_keyset ks)
{
	l = dkc_layout(l);
	return fls64((ks.bits & l->full) >> l->nb);
}

unsigned int dk_keyset_backend(const struct dk_layout *l, struct dk_keyset ks)
{
	return fls64(ks.bits & dkc_layout(l)->backend_mask);
}

unsigned int dk_keyset_key(const struct dk_layout *l, struct dk_keyset ks)
{
	unsigned int f = dk_keyset_functionality(l, ks);

	if (!dk_is_per_backend(l, f))
		return f;
	return dk_runtime_key(l, f, dk_keyset_backend(l, ks));
}

unsigned int dk_keyset_slot(const struct dk_layout *l, struct dk_keyset ks)
{
	l = dkc_layout(l);
	return dkc_slot(l, dk_keyset_functionality(l, ks), dk_keyset_backend(l, ks));
}

int dk_table_index(const struct dk_layout *l, struct dk_keyset ks)
{
	unsigned int entry;

	l = dkc_layout(l);
	entry = dkc_entry(l, dk_keyset_functionality(l, ks), dk_keyset_backend(l, ks));
	return entry < dkc_table_entries(l) ? (int)entry : -1;
}

unsigned int dk_keyset_next(const struct dk_layout *l, struct dk_keyset ks, unsigned int slot)
{
	u64 functionalities, backends, rest;
	unsigned int f;

	l = dkc_layout(l);
	if (slot >= l->num_entries)
		return 0;
	functionalities = (ks.bits & l->full) >> l->nb << 1;
	backends = ks.bits & l->backend_mask;
	f = l->slot_functionality[slot];
	if (functionalities & l->per_backend & 1ULL << f) {
		rest = backends >> (slot - l->offset[f] + 1);
		if (rest)
			return slot + 1 + __ffs64(rest);
	}
	/* not a shift by f + 1, which is 64 for the last of 64 functionalities */
	rest = functionalities & ~1ULL << f;
	if (!backends)
		rest &= ~l->per_backend;
	if (!rest)
		return 0;
	f = __ffs64(rest);
	return l->offset[f] + (dkc_is_per_backend(l, f) ? __ffs64(backends) : 0);
}

size_t dk_keyset_print(const struct dk_layout *l, struct dk_keyset ks, char *buf, size_t size)
{
	struct dkc_text t = { buf, size, 0 };
	const char *separator = "";
	char name[DK_NAME_MAX];
	unsigned int slot;

	dkc_put(&t, "DispatchKeySet(");
	for (slot = dk_keyset_next(l, ks, 0); slot; slot = dk_keyset_next(l, ks, slot)) {
		dkc_put(&t, separator);
		dkc_put(&t, dk_key_name(l, dk_slot_key(l, slot), name));
		separator = ", ";
	}
	dkc_put(&t, ")");
	return dkc_put_end(&t);
}

struct dk_keyset dk_alias_set(const struct dk_layout *l, unsigned int key)
{
	enum dkc_alias a = dkc_key_alias(l, key);

	l = dkc_layout(l);
	if (a == DKC_NUM_ALIASES)
		return dk_key_set(l, key);
	if (a == DKC_ALIAS_BATCHED && l->batched_empty)
		return DK_KEYSET(0);
	return DK_KEYSET(l->alias_set[a]);
}

struct dk_keyset dk_autocast_of_backend(const struct dk_layout *l, unsigned int backend)
{
	l = dkc_layout(l);
	return dk_key_set(l, backend <= l->nb ? l->autocast[backend] : 0);
}
