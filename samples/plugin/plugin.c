// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * plugin.so: a backend that comes and goes. It has the functions, and nothing
 * in it says where in a program they are called.
 */
#include "ops.h"

static int scale_toy(struct dk_call *c, struct vec *v, double by, enum who *who)
{
	v->x *= by;
	v->y *= by;
	*who = BY_TOY;
	return 0;
}

static const struct dk_impl impls[] = {
	DK_IMPL(toy_scale, DK_DENSE, scale_toy),	/* Dense of our backend */
};

static struct dk_provider plugin = DK_PROVIDER("plugin");

int plugin_begin(struct dk_diag *why)
{
	unsigned int backend;
	int error;

	error = dk_provider_register(&plugin, why);
	if (!error)
		error = dk_backend_join(&plugin, TOY_BACKEND, 0, 0, &backend, why);
	if (!error)
		error = dk_backend_impls_register(&plugin, backend, impls, 1, why);
	if (error)
		dk_provider_unregister(&plugin);
	return error;
}

/* When it returns, nobody is in our functions, and dlclose() is safe. */
int plugin_end(void)
{
	return dk_provider_unregister(&plugin);
}
