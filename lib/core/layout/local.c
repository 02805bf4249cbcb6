// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Reads and changes the local state: single keys, and modes that change several keys. */
#include "layout.h"

const struct dk_local dk_local_default = { 0, 0, 0, 0 };

int dk_local_is_included(const struct dk_local *local, unsigned int key)
{
	return dk_local_keyset_included(local, dk_key_set(NULL, key));
}

int dk_local_is_excluded(const struct dk_local *local, unsigned int key)
{
	return dk_local_keyset_excluded(local, dk_key_set(NULL, key));
}

static struct dk_keyset set_key(struct dk_keyset ks, unsigned int key, int want)
{
	struct dk_keyset one = dk_key_set(NULL, key);

	if (dk_keyset_has_all(ks, one) == !!want)
		return ks;
	return want ? dk_keyset_or(ks, one) : dk_keyset_sub(NULL, ks, one);
}

void dk_local_set_included(struct dk_local *local, unsigned int key, int want)
{
	dk_local_set(local, set_key(dk_local_included(local), key, want), dk_local_excluded(local));
}

void dk_local_set_excluded(struct dk_local *local, unsigned int key, int want)
{
	dk_local_set(local, dk_local_included(local), set_key(dk_local_excluded(local), key, want));
}

void dk_local_set_inference(struct dk_local *local, int on)
{
	struct dk_keyset autograd = DK_KEYSET(DK_AUTOGRAD_BITS);
	struct dk_keyset excluded = dk_local_excluded(local);

	dk_local_set_included(local, DK_ADINPLACE_OR_VIEW, !on);
	dk_local_set(local, dk_local_included(local),
		     on ? dk_keyset_or(excluded, autograd) :
			  dk_keyset_sub(NULL, excluded, autograd));
}

int dk_local_set_autocast(struct dk_local *local, unsigned int backend, int on)
{
	struct dk_keyset ks = dk_autocast_of_backend(NULL, backend);

	if (!ks.bits)
		return -EINVAL;
	dk_local_set_excluded(local, dk_keyset_functionality(NULL, ks), !on);
	return 0;
}
