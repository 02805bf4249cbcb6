// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Lists providers, operators and their functions.
 */
#include "internal.h"

#include <errno.h>

/* ---- providers ------------------------------------------------------------ */

static const struct dkn_field provider_fields[] = {
	DKN_FIELD(DK_A_PROVIDER_NAME, dk_nl_provider, name),
	DKN_FIELD(DK_A_PROVIDER_MODULE, dk_nl_provider, module),
	DKN_FIELD(DK_A_PROVIDER_STATE, dk_nl_provider, state),
	DKN_FIELD(DK_A_PROVIDER_OPERATORS, dk_nl_provider, operators),
	DKN_FIELD(DK_A_PROVIDER_IMPLS, dk_nl_provider, impls),
	DKN_FIELD(DK_A_PROVIDER_DEVICES, dk_nl_provider, devices),
	DKN_FIELD(DK_A_PROVIDER_BACKEND, dk_nl_provider, backends,
		  DKN_STRINGS, DKN_COUNT(dk_nl_provider, num_backends)),
	DKN_FIELD(DK_A_PROVIDER_CALLS, dk_nl_provider, calls,
		  DKN_HAS(dk_nl_provider, has_calls)),
	DKN_FIELD(DK_A_PROVIDER_INSIDE, dk_nl_provider, inside,
		  DKN_STRINGS, DKN_COUNT(dk_nl_provider, num_inside)),
};

static const struct dkn_shape provider_shape =
	DKN_LIST_SHAPE(dk_nl_provider, DKN_PROVIDER, provider_fields);

int dk_nl_provider_get(struct dk_nl *nl, const char *name,
		       const struct dk_nl_provider **provider)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_PROVIDER_GET, DKN_PROVIDER);
	dkn_put_string(&r, DKN_PROVIDER, DK_A_PROVIDER_NAME, name);
	*provider = dkn_get(&r, &provider_shape);
	return nl->why.code;
}

int dk_nl_providers(struct dk_nl *nl, const struct dk_nl_provider **providers)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_PROVIDER_GET, DKN_PROVIDER);
	*providers = dkn_get_all(&r, &provider_shape);
	return nl->why.code;
}

/* ---- functions ------------------------------------------------------------ */

static const struct dkn_field impl_fields[] = {
	DKN_FIELD(DK_A_IMPL_OP, dk_nl_impl, op),
	DKN_FIELD(DK_A_IMPL_KEY, dk_nl_impl, key),
	DKN_FIELD(DK_A_IMPL_KEY_NAME, dk_nl_impl, key_name),
	DKN_FIELD(DK_A_IMPL_LABEL, dk_nl_impl, label),
	DKN_FIELD(DK_A_IMPL_PROVIDER, dk_nl_impl, provider),
	DKN_FIELD(DK_A_IMPL_DEVICE, dk_nl_impl, device),
	DKN_FIELD(DK_A_IMPL_DEVICE_NAME, dk_nl_impl, device_name),
	DKN_FIELD(DK_A_IMPL_FLAGS, dk_nl_impl, flags),
};

const struct dkn_shape dkn_impl_shape = DKN_LIST_SHAPE(dk_nl_impl, DKN_IMPL, impl_fields);

int dk_nl_impl_get(struct dk_nl *nl, const char *op, __u32 key, __u32 device,
		   const struct dk_nl_impl **impl)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_IMPL_GET, DKN_IMPL);
	dkn_put_string(&r, DKN_IMPL, DK_A_IMPL_OP, op);
	dkn_put_u32(&r, DK_A_IMPL_KEY, key);
	dkn_put_some_u32(&r, DK_A_IMPL_DEVICE, device);
	*impl = dkn_get(&r, &dkn_impl_shape);
	return nl->why.code;
}

int dk_nl_impls(struct dk_nl *nl, const struct dk_nl_impl_filter *filter,
		const struct dk_nl_impl **impls)
{
	struct dk_nl_impl_filter f = { 0 };
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_IMPL_GET, DKN_IMPL);
	dkn_copy_struct(&r, &f, sizeof(f), filter, "dk_nl_impl_filter");
	if (f.reserved)
		dkn_refuse(&r, -EINVAL, "the reserved member of struct dk_nl_impl_filter is not 0");
	if (f.has_key)
		dkn_put_u32(&r, DK_A_IMPL_KEY, f.key);
	dkn_put_some_u32(&r, DK_A_IMPL_BACKEND, f.backend);
	dkn_put_some_u32(&r, DK_A_IMPL_DEVICE, f.device);
	dkn_put_string(&r, DKN_IMPL, DK_A_IMPL_OP, f.op);
	dkn_put_string(&r, DKN_IMPL, DK_A_IMPL_PROVIDER, f.provider);
	*impls = dkn_get_all(&r, &dkn_impl_shape);
	return nl->why.code;
}

/* ---- operators ------------------------------------------------------------ */

static const struct dkn_field op_fields[] = {
	DKN_FIELD(DK_A_OP_NAME, dk_nl_op, name),
	DKN_FIELD(DK_A_OP_SCHEMA, dk_nl_op, schema),
	DKN_FIELD(DK_A_OP_PROVIDER, dk_nl_op, provider),
	DKN_FIELD(DK_A_OP_FLAGS, dk_nl_op, flags),
	DKN_FIELD(DK_A_OP_NUM_IMPLS, dk_nl_op, num_impls),
	DKN_FIELD(DK_A_OP_NUM_DEVICE_IMPLS, dk_nl_op, num_device_impls),
	DKN_FIELD(DK_A_OP_IMPL, dk_nl_op, impls, DKN_NESTS(dkn_impl_shape)),
	DKN_FIELD(DK_A_OP_MAX_OBJS, dk_nl_op, max_objs),
};

static const struct dkn_shape op_shape = DKN_LIST_SHAPE(dk_nl_op, DKN_OP, op_fields);

int dk_nl_ops(struct dk_nl *nl, const struct dk_nl_op_filter *filter,
	      const struct dk_nl_op **ops)
{
	struct dk_nl_op_filter f = { 0 };
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_OP_GET, DKN_OP);
	dkn_copy_struct(&r, &f, sizeof(f), filter, "dk_nl_op_filter");
	if (f.has_key)
		dkn_put_u32(&r, DK_A_OP_KEY, f.key);
	dkn_put_some_u32(&r, DK_A_OP_BACKEND, f.backend);
	dkn_put_string(&r, DKN_OP, DK_A_OP_PREFIX, f.prefix);
	dkn_put_string(&r, DKN_OP, DK_A_OP_PROVIDER, f.provider);
	*ops = dkn_get_all(&r, &op_shape);
	return nl->why.code;
}

static const struct dk_nl_op *get_op(struct dk_nl *nl, const char *name)
{
	struct dkn_request r;

	dkn_begin(&r, nl, DK_CMD_OP_GET, DKN_OP);
	dkn_put_string(&r, DKN_OP, DK_A_OP_NAME, name);
	return dkn_get(&r, &op_shape);
}

/* Sets the operator of each function. Returns the number of functions. */
static unsigned int name_impls(const struct dk_nl_op *op)
{
	struct dk_nl_impl *i = (struct dk_nl_impl *)op->impls;
	unsigned int n = 0;

	for (; i; i = (struct dk_nl_impl *)i->next, n++)
		i->op = op->name;
	return n;
}

/*
 * Requests the functions of an operator separately, because they may not fit into one message.
 * Returns -EAGAIN if their number is not the number in @op: then the registry has changed between
 * the two requests.
 */
static int get_impls(struct dk_nl *nl, const struct dk_nl_op *op)
{
	struct dk_nl_impl_filter f = { .size = sizeof(f), .op = op->name };
	const struct dk_nl_impl *impls;
	int err;

	err = dk_nl_impls(nl, &f, &impls);
	if (err)
		return err;
	((struct dk_nl_op *)op)->impls = impls;
	dkn_answer_adopt(op, impls);
	return name_impls(op) == op->num_impls ? 0 : -EAGAIN;
}

int dk_nl_op_get(struct dk_nl *nl, const char *name, const struct dk_nl_op **op)
{
	uint32_t try;
	int err = 0;

	for (try = 0; try <= nl->retries; try++) {
		*op = get_op(nl, name);
		if (!*op)
			return nl->why.code;
		if (name_impls(*op) >= (*op)->num_impls)
			return 0;
		err = get_impls(nl, *op);
		if (!err)
			return 0;
		dk_nl_free(*op);
		*op = NULL;
		if (err != -EAGAIN || nl->why.code)
			return err;
	}
	return dkn_error_changed(&nl->why, try);
}
