/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * An explanation of a call, in words and in lines of at most 100 columns: what
 * "route -v" of a transcript and dkctl route on a live kernel show. What things
 * are called is the caller's affair.
 */
#ifndef _DK_TELL_H
#define _DK_TELL_H

#include <dispatchkey.h>

/* An argument of the call. */
struct dk_tell_object {
	struct dk_keyset ks;
	__u32 device;		/* its number, or 0 */
	__u32 is_offline;	/* that device, or its backend */
	const char *device_name;
};

struct dk_tell;

struct dk_tell_ops {
	/* takes the text, piece by piece */
	void (*put)(struct dk_tell *t, const char *s, size_t len);
	/* the name of a key, of a backend component, of a backend */
	const char *(*key_name)(struct dk_tell *t, unsigned int key, char buf[DK_NAME_MAX]);
	const char *(*bit_name)(struct dk_tell *t, unsigned int backend,
				char buf[DK_NAME_MAX]);
	const char *(*backend_name)(struct dk_tell *t, unsigned int backend,
				    char buf[DK_NAME_MAX]);
	/* the @i-th argument */
	void (*object)(struct dk_tell *t, unsigned int i, struct dk_tell_object *obj);
};

/**
 * struct dk_tell - one explanation, set by the caller
 * @ops: whom it asks
 * @ctx: the caller's
 * @layout: of keys and keysets
 * @explain: the call
 * @num_objects: how many arguments it dispatches on
 * @kind: of the last step
 */
struct dk_tell {
	const struct dk_tell_ops *ops;
	void *ctx;
	const struct dk_layout *layout;
	const struct dk_explain *explain;
	unsigned int num_objects;
	unsigned int kind;
};

/* What the arguments bring and the local state makes of it; then each step, in
 * their order.
 */
void dk_tell_begin(struct dk_tell *t);
void dk_tell_step(struct dk_tell *t, const struct dk_step *s);

#endif /* _DK_TELL_H */
