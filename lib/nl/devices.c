// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Lists backends and devices, takes them offline, and brings them online.
 */
#include "internal.h"

#include <errno.h>

/* ---- backends ------------------------------------------------------------- */

static const struct dkn_field backend_fields[] = {
	DKN_FIELD(DK_A_BACKEND_NUMBER, dk_nl_backend, number),
	DKN_FIELD(DK_A_BACKEND_NAME, dk_nl_backend, name),
	DKN_FIELD(DK_A_BACKEND_KEY_NAME, dk_nl_backend, key_name),
	DKN_FIELD(DK_A_BACKEND_STATE, dk_nl_backend, state, DKN_ONLINE),
	DKN_FIELD(DK_A_BACKEND_BOUND, dk_nl_backend, is_bound),
	DKN_FIELD(DK_A_BACKEND_PROVIDER, dk_nl_backend, providers,
		  DKN_STRINGS, DKN_COUNT(dk_nl_backend, num_providers)),
	DKN_FIELD(DK_A_BACKEND_PROVIDERS, dk_nl_backend, joined),
	DKN_FIELD(DK_A_BACKEND_ALONE, dk_nl_backend, is_alone),
	DKN_FIELD(DK_A_BACKEND_DEVICES, dk_nl_backend, devices),
	DKN_FIELD(DK_A_BACKEND_IMPLS, dk_nl_backend, impls),
};

static const struct dkn_shape backend_shape =
	DKN_LIST_SHAPE(dk_nl_backend, DKN_BACKEND, backend_fields);

static const struct dkn_field switched_backend_fields[] = {
	DKN_FIELD(DK_A_BACKEND_NUMBER, dk_nl_switched, number),
	DKN_FIELD(DK_A_BACKEND_NAME, dk_nl_switched, name),
	DKN_FIELD(DK_A_BACKEND_STATE, dk_nl_switched, state, DKN_ONLINE),
	DKN_FIELD(DK_A_BACKEND_UNSERVED, dk_nl_switched, unserved),
	DKN_FIELD(DK_A_BACKEND_INSIDE, dk_nl_switched, inside),
};

static const struct dkn_shape switched_backend_shape =
	DKN_SHAPE(dk_nl_switched, DKN_BACKEND, switched_backend_fields);

static void begin_backend(struct dkn_request *r, struct dk_nl *nl, uint8_t cmd,
			  __u32 number, const char *name)
{
	dkn_begin(r, nl, cmd, DKN_BACKEND);
	dkn_put_some_u32(r, DK_A_BACKEND_NUMBER, number);
	dkn_put_string(r, DKN_BACKEND, DK_A_BACKEND_NAME, name);
}

int dk_nl_backend_get(struct dk_nl *nl, __u32 number, const char *name,
		      const struct dk_nl_backend **backend)
{
	struct dkn_request r;

	begin_backend(&r, nl, DK_CMD_BACKEND_GET, number, name);
	*backend = dkn_get(&r, &backend_shape);
	return nl->why.code;
}

int dk_nl_backends(struct dk_nl *nl, const struct dk_nl_backend **backends)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_BACKEND_GET, DKN_BACKEND);
	*backends = dkn_get_all(&r, &backend_shape);
	return nl->why.code;
}

/* ---- devices -------------------------------------------------------------- */

static const struct dkn_field device_fields[] = {
	DKN_FIELD(DK_A_DEVICE_NUMBER, dk_nl_device, number),
	DKN_FIELD(DK_A_DEVICE_NAME, dk_nl_device, name),
	DKN_FIELD(DK_A_DEVICE_BACKEND, dk_nl_device, backend),
	DKN_FIELD(DK_A_DEVICE_BACKEND_NAME, dk_nl_device, backend_name),
	DKN_FIELD(DK_A_DEVICE_PROVIDER, dk_nl_device, provider),
	DKN_FIELD(DK_A_DEVICE_STATE, dk_nl_device, state, DKN_ONLINE),
	DKN_FIELD(DK_A_DEVICE_BACKEND_STATE, dk_nl_device, backend_state, DKN_ONLINE),
	DKN_FIELD(DK_A_DEVICE_IMPLS, dk_nl_device, impls),
};

static const struct dkn_shape device_shape =
	DKN_LIST_SHAPE(dk_nl_device, DKN_DEVICE, device_fields);

static const struct dkn_field switched_device_fields[] = {
	DKN_FIELD(DK_A_DEVICE_NUMBER, dk_nl_switched, number),
	DKN_FIELD(DK_A_DEVICE_NAME, dk_nl_switched, name),
	DKN_FIELD(DK_A_DEVICE_STATE, dk_nl_switched, state, DKN_ONLINE),
	DKN_FIELD(DK_A_DEVICE_UNSERVED, dk_nl_switched, unserved),
	DKN_FIELD(DK_A_DEVICE_INSIDE, dk_nl_switched, inside),
};

static const struct dkn_shape switched_device_shape =
	DKN_SHAPE(dk_nl_switched, DKN_DEVICE, switched_device_fields);

static void begin_device(struct dkn_request *r, struct dk_nl *nl, uint8_t cmd,
			 __u32 number, const char *name)
{
	dkn_begin(r, nl, cmd, DKN_DEVICE);
	dkn_put_some_u32(r, DK_A_DEVICE_NUMBER, number);
	dkn_put_string(r, DKN_DEVICE, DK_A_DEVICE_NAME, name);
}

int dk_nl_device_get(struct dk_nl *nl, __u32 number, const char *name,
		     const struct dk_nl_device **device)
{
	struct dkn_request r;

	begin_device(&r, nl, DK_CMD_DEVICE_GET, number, name);
	*device = dkn_get(&r, &device_shape);
	return nl->why.code;
}

int dk_nl_devices(struct dk_nl *nl, __u32 backend, const struct dk_nl_device **devices)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_DEVICE_GET, DKN_DEVICE);
	dkn_put_some_u32(&r, DK_A_DEVICE_BACKEND, backend);
	*devices = dkn_get_all(&r, &device_shape);
	return nl->why.code;
}

/* ---- switches ------------------------------------------------------------- */

/* Fails with -EINPROGRESS if a call is still running, even if @switched is NULL. */
static int do_switch(struct dkn_request *r, const struct dkn_shape *shape,
		     const struct dk_nl_switched **switched)
{
	const struct dk_nl_switched *s = dkn_get(r, shape);

	if (s && *s->inside)
		dkn_error_set(&r->nl->why, -EINPROGRESS,
			      "\"%.127s\" is offline, but a call has not returned: %.127s",
			      s->name, s->inside);
	if (switched)
		*switched = s;
	else
		dk_nl_free(s);
	return r->nl->why.code;
}

int dk_nl_backend_set_online(struct dk_nl *nl, __u32 number, const char *name,
			     int online, const struct dk_nl_switched **switched)
{
	struct dkn_request r;

	begin_backend(&r, nl, DK_CMD_BACKEND_SET, number, name);
	dkn_put_u8(&r, DK_A_BACKEND_STATE, online ? DK_NL_STATE_ONLINE : DK_NL_STATE_OFFLINE);
	return do_switch(&r, &switched_backend_shape, switched);
}

int dk_nl_backend_release(struct dk_nl *nl, const char *name)
{
	struct dkn_request r;

	begin_backend(&r, nl, DK_CMD_BACKEND_RELEASE, 0, name);
	return dkn_do(&r);
}

int dk_nl_device_set_online(struct dk_nl *nl, __u32 number, const char *name,
			    int online, const struct dk_nl_switched **switched)
{
	struct dkn_request r;

	begin_device(&r, nl, DK_CMD_DEVICE_SET, number, name);
	dkn_put_u8(&r, DK_A_DEVICE_STATE, online ? DK_NL_STATE_ONLINE : DK_NL_STATE_OFFLINE);
	return do_switch(&r, &switched_device_shape, switched);
}
