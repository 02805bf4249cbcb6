// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Returns the properties of a layout and of its keys: SEMANTICS 1.1, 1.2 and 1.7. */
#include "layout.h"

unsigned int dk_layout_keys(const struct dk_layout *l)
{
	l = dkc_layout(l);
	return l->first_alias + l->num_aliases;
}

/* ---- keys ------------------------------------------------------------------- */

struct dkc_place dkc_key_place(const struct dk_layout *l, unsigned int key)
{
	unsigned int n = key - l->nf - 1, block = n / (l->nb + 1);

	if (key <= l->nf)
		return (struct dkc_place){ .f = key };
	if (key >= l->first_alias)
		return (struct dkc_place){ .f = 0 };
	return (struct dkc_place){ .f = l->block[block], .b = n - block * (l->nb + 1) };
}

enum dk_key_kind dk_key_kind(const struct dk_layout *l, unsigned int key)
{
	l = dkc_layout(l);
	if (key == 0)
		return DK_KIND_UNDEFINED;
	if (key < l->nf)
		return dkc_is_per_backend(l, key) ? DK_KIND_BUILDING_BLOCK :
						    DK_KIND_FUNCTIONALITY;
	if (key < l->first_alias)
		return dkc_key_place(l, key).b ? DK_KIND_PER_BACKEND : DK_KIND_SENTINEL;
	return key < dk_layout_keys(l) ? DK_KIND_ALIAS : DK_KIND_NONE;
}

unsigned int dk_key_functionality(const struct dk_layout *l, unsigned int key)
{
	return dkc_key_place(dkc_layout(l), key).f;
}

unsigned int dk_key_backend(const struct dk_layout *l, unsigned int key)
{
	return dkc_key_place(dkc_layout(l), key).b;
}

struct dk_keyset dk_key_set(const struct dk_layout *l, unsigned int key)
{
	struct dkc_place at;

	l = dkc_layout(l);
	at = dkc_key_place(l, key);
	if (!at.f)
		return DK_KEYSET(0);
	return DK_KEYSET(dkc_functionality_bit(l, at.f) | dkc_backend_bit(at.b));
}

unsigned int dk_slot_key(const struct dk_layout *l, unsigned int slot)
{
	unsigned int f;

	l = dkc_layout(l);
	if (slot >= l->num_entries)
		return 0;
	f = l->slot_functionality[slot];
	return dkc_is_per_backend(l, f) ? l->start[f] + 1 + slot - l->offset[f] : f;
}

unsigned int dk_runtime_key(const struct dk_layout *l, unsigned int functionality,
			    unsigned int backend)
{
	l = dkc_layout(l);
	if (!dk_is_per_backend(l, functionality) || backend > l->nb)
		return 0;
	return l->start[functionality] + backend;
}

int dk_is_per_backend(const struct dk_layout *l, unsigned int functionality)
{
	l = dkc_layout(l);
	return functionality < l->nf && dkc_is_per_backend(l, functionality);
}

unsigned int dkc_slot(const struct dk_layout *l, unsigned int f, unsigned int b)
{
	return l->offset[f] + (dkc_is_per_backend(l, f) && b ? b - 1 : 0);
}

unsigned int dkc_entry(const struct dk_layout *l, unsigned int f, unsigned int b)
{
	if (!l->trimmed)
		return dkc_slot(l, f, b);
	return dkc_is_per_backend(l, f) && b != l->trimmed_backend ?
	       DKC_NO_ENTRY : l->trimmed_entry[f];
}

bool dkc_has_entry(const struct dk_layout *l, unsigned int slot)
{
	unsigned int f = l->slot_functionality[slot];

	return dkc_entry(l, f, slot - l->offset[f] + 1) < dkc_table_entries(l);
}

bool dkc_is_private(const struct dk_layout *l, unsigned int b)
{
	return b && b <= l->nb && dkc_starts_with(l->backend_names[b], "PrivateUse");
}

enum dkc_alias dkc_key_alias(const struct dk_layout *l, unsigned int key)
{
	unsigned int a;

	l = dkc_layout(l);
	for (a = 0; key && a < DKC_NUM_ALIASES; a++)
		if (l->alias_key[a] == key)
			return a;
	return DKC_NUM_ALIASES;
}

/* A layout is constant, except for its reference count. */
void dkc_layout_get(const struct dk_layout *l)
{
	struct dk_layout *counted = (struct dk_layout *)l;

	if (l->counted)
		atomic_long_inc_return(&counted->users);
}

void dkc_layout_put(const struct dk_layout *l)
{
	struct dk_layout *counted = (struct dk_layout *)l;

	if (l->counted && !atomic_long_dec_return(&counted->users))
		kvfree(counted);
}
