// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Computes sets and keys from other sets and keys, as PyTorch does: SEMANTICS 4.
 */
#include "pytorch.h"

int dk_constant_set(const struct dk_layout *l, const char *name,
		    struct dk_keyset *ks, struct dk_diag *why)
{
	enum dk_reason reason;
	u64 set;

	if (!name)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "name");
	l = dkc_layout(l);
	reason = dkc_constant_set(l, name, &set);
	if (reason)
		return dkc_refuse(why, reason, reason == DK_WHY_NO_SETS ? l->name : name);
	ks->bits = set;
	return dkc_accept(why);
}

unsigned int dk_key_slot(const struct dk_layout *l, unsigned int key)
{
	return dk_keyset_slot(l, dk_key_set(l, key));
}

const char *dk_backend_bit_name(const struct dk_layout *l, unsigned int backend)
{
	l = dkc_layout(l);
	return backend <= l->nb ? l->backend_bits[backend] : "UNKNOWN_BACKEND_BIT";
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

	return kind < ARRAY_SIZE(names) ? names[kind] : names[DK_KIND_NONE];
}

struct dk_keyset dk_keyset_of(const struct dk_layout *l, const unsigned int *keys,
			      unsigned int n)
{
	u64 bits = 0;

	while (n--)
		bits |= dk_key_set(l, keys[n]).bits;
	return DK_KEYSET(bits);
}

/*
 * This is PyTorch's formula. By this formula, the set after Undefined lacks the highest backend. It
 * is empty if the layout has no backends.
 */
struct dk_keyset dk_keyset_after(const struct dk_layout *l, unsigned int key)
{
	unsigned int f = dk_key_functionality(l, key);

	l = dkc_layout(l);
	return DK_KEYSET((l->nb + f ? dkc_functionality_bit(l, f) - 1 : 0) |
			 dkc_role_bit(l, DKC_ROLE_PYTHON_DISPATCHER));
}

struct dk_keyset dk_backend_set(const struct dk_layout *l, unsigned int backend)
{
	return DK_KEYSET(backend > dkc_layout(l)->nb ? 0 : dkc_backend_bit(backend));
}

int dk_is_backend_key(const struct dk_layout *l, unsigned int key)
{
	l = dkc_layout(l);
	return dk_key_functionality(l, key) != 0 &&
	       dk_keyset_has_all(DK_KEYSET(l->alias_set[DKC_ALIAS_EXPLICIT]),
				 dk_key_set(l, key));
}

/* NestedTensor is ignored, as in PyTorch. */
int dk_keyset_has_any_valid(const struct dk_layout *l, struct dk_keyset b)
{
	u64 blocks;

	l = dkc_layout(l);
	blocks = dkc_functionality_bits(l, l->per_backend) &
		 ~dkc_role_bit(l, DKC_ROLE_NESTED_TENSOR);
	return !(b.bits & l->backend_mask) || !(b.bits & blocks);
}

unsigned int dk_keyset_highest_bit(struct dk_keyset ks)
{
	return fls64(ks.bits);
}

/*
 * PyTorch has a separate test for each alias key. For runtime keys, the results of these tests are
 * the same as those of this function.
 */
int dk_alias_has(const struct dk_layout *l, unsigned int alias, unsigned int key)
{
	enum dk_key_kind kind = dk_key_kind(l, key);
	enum dkc_alias a = dkc_key_alias(l, alias);

	if (kind == DK_KIND_UNDEFINED || kind == DK_KIND_NONE)
		return 0;
	if (dk_key_kind(l, alias) != DK_KIND_ALIAS)
		return alias == key;
	l = dkc_layout(l);
	if (!l->has_sets || a == DKC_NUM_ALIASES)
		return 0;
	return dk_keyset_has_all(DK_KEYSET(l->alias_set[a]), dk_key_set(l, key));
}

struct dk_keyset dk_backends_of_autograd(const struct dk_layout *l, unsigned int key)
{
	l = dkc_layout(l);
	return DK_KEYSET(l->has_sets ? dkc_autograd_backends(l, dk_key_functionality(l, key),
							     dk_key_backend(l, key)) : 0);
}

struct dk_keyset dk_autograd_of_backend(const struct dk_layout *l, unsigned int backend)
{
	u64 bit, set;

	l = dkc_layout(l);
	if (!l->has_sets)
		return DK_KEYSET(0);
	bit = backend <= l->nb ? dkc_backend_bit(backend) : 0;
	set = dkc_role_bit(l, DKC_ROLE_ADINPLACE_OR_VIEW);
	if (bit & ~l->other_autograd)
		return DK_KEYSET(set | dkc_role_bit(l, DKC_ROLE_AUTOGRAD) | bit);
	return DK_KEYSET(set | dkc_role_bit(l, DKC_ROLE_AUTOGRAD_OTHER));
}

struct dk_keyset dk_fresh_set(const struct dk_layout *l, struct dk_keyset ks,
			      int inference)
{
	unsigned int b = dk_keyset_backend(l, ks);
	const u64 *constant;

	l = dkc_layout(l);
	if (!l->has_sets)
		return DK_KEYSET(0);
	constant = l->constant;
	ks = dk_keyset_or(ks, dk_autocast_of_backend(l, b));
	ks = dk_keyset_sub(l, ks, DK_KEYSET(constant[DKC_CONST_PYTHON]));
	if (!inference)
		return dk_keyset_or(ks, dk_autograd_of_backend(l, b));
	return dk_keyset_sub(l, ks,
			     DK_KEYSET(constant[DKC_CONST_AUTOGRAD_ADINPLACE]));
}

unsigned int dk_backend_type(const struct dk_layout *l, struct dk_keyset ks)
{
	l = dkc_layout(l);
	ks.bits &= l->constant[DKC_CONST_BACKEND_FUNCTIONALITIES];
	return dk_keyset_key(l, ks);
}

unsigned int dk_legacy_extract(const struct dk_layout *l, struct dk_keyset ks)
{
	u64 set;

	l = dkc_layout(l);
	if (!l->has_legacy)
		return 0;
	set = l->constant[DKC_CONST_AUTOGRAD_ADINPLACE] | l->constant[DKC_CONST_AUTOCAST] |
	      dkc_functionality_bits(l, l->legacy_dropped);
	return dk_keyset_key(l, dk_keyset_sub(l, ks, DK_KEYSET(set)));
}
