// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Computes the key of a tensor from dtype, layout and device, or from a device alone. "-" stands
 * for a missing dtype, layout or device.
 */
#include "internal.h"

static const char *or_missing(const char *word)
{
	return dk_replay_eq(word, "-") ? NULL : word;
}

DK_REPLAY_RUN(compute_key)
{
	unsigned int key;
	int err = dk_compute_key(r->layout, or_missing(w->arg[0]),
				 or_missing(w->arg[1]), or_missing(w->arg[2]),
				 &key, &r->why);

	if (err)
		return err;
	dk_replay_put_key(r, key);
	dk_replay_put(r, "\n");
	return 0;
}

DK_REPLAY_RUN(key_for_device)
{
	unsigned int key;
	int err = dk_replay_need_registry(r);

	if (!err)
		err = dk_key_for_device(r->reg, w->arg[0], &key, &r->why);
	if (err)
		return err;
	dk_replay_put_key(r, key);
	dk_replay_put(r, "\n");
	return 0;
}
