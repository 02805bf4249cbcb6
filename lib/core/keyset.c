// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The algebra of keysets, SEMANTICS 2 to 4. Bits outside of the layout's full
 * set are carried along, but never chosen: every slot that comes out is one.
 */
#include "layout.h"

struct dk_keyset dk_keyset_sub(const struct dk_layout *l, struct dk_keyset a,
			       struct dk_keyset b)
{
	return DK_KEYSET(a.bits & (dkc_layout(l)->backend_mask | ~b.bits));
}

struct dk_keyset dk_keyset_remove(const struct dk_layout *l, struct dk_keyset a,
				  unsigned int key)
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

struct dk_keyset dk_backend_set(const struct dk_layout *l, unsigned int backend)
{
	return DK_KEYSET(backend > dkc_layout(l)->nb ? 0 : dkc_backend_bit(backend));
}

struct dk_keyset dk_keyset_of(const struct dk_layout *l, const unsigned int *keys,
			      unsigned int n)
{
	u64 bits = 0;

	while (n--)
		bits |= dk_key_set(l, keys[n]).bits;
	return DK_KEYSET(bits);
}

int dk_keyset_has(const struct dk_layout *l, struct dk_keyset ks, unsigned int key)
{
	return dk_keyset_has_all(ks, dk_key_set(l, key));
}

/* NestedTensor is not looked at, as in PyTorch. */
int dk_keyset_has_any_valid(const struct dk_layout *l, struct dk_keyset b)
{
	u64 blocks;

	l = dkc_layout(l);
	blocks = l->per_backend << (l->nb - 1) & ~dkc_role_bit(l, DKC_ROLE_NESTED_TENSOR);
	return !(b.bits & l->backend_mask) || !(b.bits & blocks);
}

unsigned int dk_keyset_highest_bit(struct dk_keyset ks)
{
	return dkc_fls64(ks.bits);
}

/* PyTorch's formula as it is: behind Undefined the top backend is missing. */
struct dk_keyset dk_keyset_after(const struct dk_layout *l, unsigned int key)
{
	l = dkc_layout(l);
	return DK_KEYSET((dkc_functionality_bit(l, dk_key_functionality(l, key)) - 1) |
			 dkc_role_bit(l, DKC_ROLE_PYTHON_DISPATCHER));
}

unsigned int dk_keyset_functionality(const struct dk_layout *l, struct dk_keyset ks)
{
	l = dkc_layout(l);
	return dkc_fls64((ks.bits & l->full) >> l->nb);
}

unsigned int dk_keyset_backend(const struct dk_layout *l, struct dk_keyset ks)
{
	return dkc_fls64(ks.bits & dkc_layout(l)->backend_mask);
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
	unsigned int f, b;

	l = dkc_layout(l);
	f = dk_keyset_functionality(l, ks);
	b = dkc_is_per_backend(l, f) ? dk_keyset_backend(l, ks) : 0;
	/* no backend goes where the first one goes */
	return l->offset[f] + (b ? b - 1 : 0);
}

/* Without a backend it is no key of a trimmed table, where it has to have one. */
int dk_table_index(const struct dk_layout *l, struct dk_keyset ks)
{
	unsigned int entry;

	l = dkc_layout(l);
	if (!l->trimmed)
		return dk_keyset_slot(l, ks);
	entry = dkc_trimmed_entry(l, dk_keyset_functionality(l, ks),
				  dk_keyset_backend(l, ks));
	return entry == DKC_NO_ENTRY ? -1 : (int)entry;
}

unsigned int dk_table_size(const struct dk_layout *l)
{
	return dkc_table_size(dkc_layout(l));
}

unsigned int dk_keyset_next(const struct dk_layout *l, struct dk_keyset ks,
			    unsigned int slot)
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
			return slot + 1 + dkc_ffs64(rest);
	}
	rest = functionalities >> (f + 1) << (f + 1);
	if (!backends)
		rest &= ~l->per_backend;
	if (!rest)
		return 0;
	f = dkc_ffs64(rest);
	return l->offset[f] + (dkc_is_per_backend(l, f) ? dkc_ffs64(backends) : 0);
}

size_t dk_keyset_print(const struct dk_layout *l, struct dk_keyset ks,
		       char *buf, size_t size)
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

/* One test is enough for all aliases: PyTorch's differ only off its own keys. */
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
	unsigned int f = dk_key_functionality(l, key);
	u64 backend = dkc_backend_bit(dk_key_backend(l, key));

	l = dkc_layout(l);
	if (!f || !l->has_sets)
		return DK_KEYSET(0);
	if (f == l->role[DKC_ROLE_AUTOGRAD_OTHER])
		return DK_KEYSET(l->autogradother_backends);
	if (f == l->role[DKC_ROLE_AUTOGRAD_NESTED])
		return DK_KEYSET(dkc_role_bit(l, DKC_ROLE_NESTED_TENSOR) |
				 l->backend_mask);
	if (f == l->role[DKC_ROLE_AUTOGRAD] && (backend & l->from_autograd))
		return DK_KEYSET(dkc_role_bit(l, DKC_ROLE_DENSE) | backend);
	return DK_KEYSET(0);
}

struct dk_keyset dk_autograd_of_backend(const struct dk_layout *l, unsigned int backend)
{
	u64 bit, set;

	l = dkc_layout(l);
	if (!l->has_sets)
		return DK_KEYSET(0);
	bit = backend <= l->nb ? dkc_backend_bit(backend) : 0;
	set = dkc_role_bit(l, DKC_ROLE_ADINPLACE_OR_VIEW);
	if (bit & l->own_autograd)
		return DK_KEYSET(set | dkc_role_bit(l, DKC_ROLE_AUTOGRAD) | bit);
	return DK_KEYSET(set | dkc_role_bit(l, DKC_ROLE_AUTOGRAD_OTHER));
}

struct dk_keyset dk_autocast_of_backend(const struct dk_layout *l, unsigned int backend)
{
	l = dkc_layout(l);
	return dk_key_set(l, backend <= l->nb ? l->autocast[backend] : 0);
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
	l = dkc_layout(l);
	if (!l->has_legacy)
		return 0;
	return dk_keyset_key(l, dk_keyset_sub(l, ks, DK_KEYSET(l->legacy_set)));
}
