/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the host and its plugins agree on. */
#ifndef _PLUGIN_OPS_H
#define _PLUGIN_OPS_H

#include <dispatchkey.h>

/* The private backend of both: the first who joins binds it. */
#define TOY_BACKEND	"toy"

struct vec {
	struct dk_obj dk;
	double x, y;
};

enum who { BY_CPU, BY_TOY, NUM_WHO };

/* Multiplies @v, and says in @who who did it. */
DK_OP(toy_scale, "toy::scale", (struct vec *v, double by, enum who *who),
	(v, by, who), (&v->dk));

/* What a plugin exports. */
int plugin_begin(struct dk_diag *why);
int plugin_end(void);

#endif /* _PLUGIN_OPS_H */
