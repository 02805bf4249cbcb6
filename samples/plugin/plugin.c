// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * plugin.so: registers a function for a backend. The host loads and unloads the plugin at run time,
 * and makes the calls.
 */
#include "ops.h"

static int scale_toy(struct dk_call *c, struct vec *v, double factor, enum function *by)
{
	v->x *= factor;
	v->y *= factor;
	*by = BY_TOY;
	return 0;
}

static const struct dk_impl impls[] = {
	DK_IMPL(toy_scale, DK_DENSE, scale_toy),	/* at the backend's Dense key */
};

static struct dk_provider plugin = DK_PROVIDER("plugin");

int plugin_begin(struct dk_diag *why)
{
	unsigned int backend;
	int error;

	error = dk_provider_register(&plugin, why);
	if (error)
		return error;
	error = dk_backend_join(&plugin, TOY_BACKEND, 0, 0, &backend, why);
	if (!error)
		error = dk_backend_impls_register(&plugin, backend, impls, 1, why);
	if (error)
		dk_provider_unregister(&plugin);
	return error;
}

/* After it returns, no call is inside, and dlclose() is safe. */
int plugin_end(void)
{
	return dk_provider_unregister(&plugin);
}
