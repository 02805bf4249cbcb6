/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares the interface between the host and its plugins. */
#ifndef _PLUGIN_OPS_H
#define _PLUGIN_OPS_H

#include <dispatchkey.h>

/* The private backend of the host and the plugins; the first provider that joins binds it. */
#define TOY_BACKEND	"toy"

struct vec {
	struct dk_obj dk;
	double x, y;
};

enum function { BY_CPU, BY_TOY, NUM_FUNCTIONS };

/* Multiplies @v by @factor, and sets @by to the function that was called. */
DK_OP(toy_scale, "toy::scale", (struct vec *v, double factor, enum function *by),
	(v, factor, by), (&v->dk));

/* Exported by a plugin. */
int plugin_begin(struct dk_diag *why);
int plugin_end(void);

#endif /* _PLUGIN_OPS_H */
