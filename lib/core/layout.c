// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What is asked of a layout and of its keys: SEMANTICS 1.2, 1.7 and 4.5. */
#include "layout.h"

const char *dk_layout_name(const struct dk_layout *l)
{
	return dkc_layout(l)->name;
}

unsigned int dk_layout_knows(const struct dk_layout *l)
{
	l = dkc_layout(l);
	return (l->has_tables ? DK_KNOWS_TABLES : 0) |
	       (l->has_sets ? DK_KNOWS_SETS : 0) |
	       (l->has_strict ? DK_KNOWS_STRICT : 0) |
	       (l->has_legacy ? DK_KNOWS_LEGACY : 0);
}

unsigned int dk_layout_backends(const struct dk_layout *l)
{
	return dkc_layout(l)->nb;
}

unsigned int dk_layout_functionalities(const struct dk_layout *l)
{
	return dkc_layout(l)->nf;
}

unsigned int dk_layout_entries(const struct dk_layout *l)
{
	return dkc_layout(l)->num_entries;
}

unsigned int dk_layout_keys(const struct dk_layout *l)
{
	l = dkc_layout(l);
	return l->first_alias + l->num_aliases;
}

struct dk_keyset dk_layout_full(const struct dk_layout *l)
{
	return DK_KEYSET(dkc_layout(l)->full);
}

int dk_constant_set(const struct dk_layout *l, const char *name,
		    struct dk_keyset *ks, struct dk_diag *why)
{
	unsigned int i;

	l = dkc_layout(l);
	for (i = 0; i < DKC_NUM_CONSTANTS; i++) {
		if (!l->constant[i] || !dkc_streq(dkc_constant_name(i), name))
			continue;
		ks->bits = l->constant[i];
		dkc_remark(why, DK_WHY_NONE, NULL);
		return 0;
	}
	if (!l->has_sets &&
	    dkc_streq(dkc_constant_name(DKC_CONST_AUTOGRADOTHER_BACKENDS), name))
		return dkc_refuse(why, DK_WHY_NO_SETS, l->name);
	return dkc_refuse(why, DK_WHY_BAD_CONSTANT, name);
}

/* ---- keys ------------------------------------------------------------------- */

enum dk_key_kind dk_key_kind(const struct dk_layout *l, unsigned int key)
{
	l = dkc_layout(l);
	if (key == 0)
		return DK_KIND_UNDEFINED;
	if (key < l->nf)
		return dkc_is_per_backend(l, key) ? DK_KIND_BUILDING_BLOCK :
						    DK_KIND_FUNCTIONALITY;
	if (key == l->nf)
		return DK_KIND_SENTINEL;
	if (key < l->first_alias)
		return dkc_key_place(l, key).b ? DK_KIND_PER_BACKEND : DK_KIND_SENTINEL;
	return key < dk_layout_keys(l) ? DK_KIND_ALIAS : DK_KIND_NONE;
}

const char *dk_kind_name(unsigned int kind)
{
	static const char *const names[] = {
		[DK_KIND_NONE] = "none",
		[DK_KIND_UNDEFINED] = "undefined",
		[DK_KIND_FUNCTIONALITY] = "functionality",
		[DK_KIND_BUILDING_BLOCK] = "building-block",
		[DK_KIND_PER_BACKEND] = "per-backend",
		[DK_KIND_ALIAS] = "alias",
		[DK_KIND_SENTINEL] = "sentinel",
	};

	return kind < DKC_COUNT(names) ? names[kind] : names[DK_KIND_NONE];
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

unsigned int dk_key_slot(const struct dk_layout *l, unsigned int key)
{
	return dk_keyset_slot(l, dk_key_set(l, key));
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

int dk_is_backend_key(const struct dk_layout *l, unsigned int key)
{
	l = dkc_layout(l);
	return l->has_sets && dk_key_functionality(l, key) != 0 &&
	       dk_keyset_has_all(DK_KEYSET(l->alias_set[DKC_ALIAS_EXPLICIT]),
				 dk_key_set(l, key));
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
