/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Formats the explanation of a call, for "route -v" of a transcript and for dkctl route. The caller
 * supplies the names.
 */
#ifndef _DK_FORMAT_H
#define _DK_FORMAT_H

#include <dispatchkey.h>

/* An argument of the call. */
struct dk_format_object {
	struct dk_keyset ks;
	__u32 device;		/* number of the device, or 0 */
	__u32 is_offline;	/* the device or its backend is offline */
	const char *device_name;
};

struct dk_format;

struct dk_format_ops {
	/* prints a piece of the text */
	void (*put)(struct dk_format *t, const char *s, size_t len);
	/* return the name of a key, of a backend component, or of a backend */
	const char *(*key_name)(struct dk_format *t, unsigned int key, char buf[DK_NAME_MAX]);
	const char *(*bit_name)(struct dk_format *t, unsigned int backend,
				char buf[DK_NAME_MAX]);
	const char *(*backend_name)(struct dk_format *t, unsigned int backend,
				    char buf[DK_NAME_MAX]);
	/* sets @obj to argument @i */
	void (*object)(struct dk_format *t, unsigned int i, struct dk_format_object *obj);
};

/**
 * struct dk_format - an explanation, set up by the caller
 * @ops: callbacks
 * @ctx: context of the callbacks
 * @layout: layout of keys and keysets
 * @explain: the call
 * @num_objects: number of arguments that the call dispatches on
 * @columns: lists of names are broken into lines of at most this many columns
 * @kind: kind of the last step
 */
struct dk_format {
	const struct dk_format_ops *ops;
	void *ctx;
	const struct dk_layout *layout;
	const struct dk_explain *explain;
	unsigned int num_objects;
	unsigned int columns;
	unsigned int kind;
};

/* dk_format_begin() prints the sets of the call; dk_format_step() is called for each step. */
void dk_format_begin(struct dk_format *t);
void dk_format_step(struct dk_format *t, const struct dk_step *s);

#endif /* _DK_FORMAT_H */
