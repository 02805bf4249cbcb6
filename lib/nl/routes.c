// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Requests tables, routes and explanations.
 */
#include "internal.h"

#include <errno.h>
#include <string.h>

/* ---- tables --------------------------------------------------------------- */

static const struct dkn_field run_fields[] = {
	DKN_FIELD(DK_A_TABLE_FIRST, dk_nl_run, first),
	DKN_FIELD(DK_A_TABLE_LAST, dk_nl_run, last),
	DKN_FIELD(DK_A_TABLE_FIRST_KEY, dk_nl_run, first_key),
	DKN_FIELD(DK_A_TABLE_LAST_KEY, dk_nl_run, last_key),
	DKN_FIELD(DK_A_TABLE_PROVENANCE, dk_nl_run, provenance),
	DKN_FIELD(DK_A_TABLE_FLAGS, dk_nl_run, flags),
	DKN_FIELD(DK_A_TABLE_LABEL, dk_nl_run, label),
	DKN_FIELD(DK_A_TABLE_PROVIDER, dk_nl_run, provider),
	DKN_FIELD(DK_A_TABLE_DEVICE, dk_nl_run, device),
	DKN_FIELD(DK_A_TABLE_DEVICE_NAME, dk_nl_run, device_name),
};

static const struct dkn_shape run_shape = DKN_LIST_SHAPE(dk_nl_run, DKN_TABLE, run_fields);

static void begin_table(struct dkn_request *r, struct dk_nl *nl, const char *op,
			__u32 device, const char *device_name)
{
	dkn_begin(r, nl, DK_CMD_TABLE_GET, DKN_TABLE);
	dkn_put_string(r, DKN_TABLE, DK_A_TABLE_OP, op);
	dkn_put_some_u32(r, DK_A_TABLE_DEVICE, device);
	dkn_put_string(r, DKN_TABLE, DK_A_TABLE_DEVICE_NAME, device_name);
}

int dk_nl_table_get(struct dk_nl *nl, const char *op, __u32 device,
		    const char *device_name, const struct dk_nl_run **runs)
{
	struct dkn_request r;

	begin_table(&r, nl, op, device, device_name);
	*runs = dkn_get_all(&r, &run_shape);
	return nl->why.code;
}

int dk_nl_table_entry_get(struct dk_nl *nl, const char *op, __u32 device,
			  const char *device_name, __u32 slot,
			  const struct dk_nl_run **run)
{
	struct dkn_request r;

	begin_table(&r, nl, op, device, device_name);
	dkn_put_u32(&r, DK_A_TABLE_FIRST, slot);
	*run = dkn_get(&r, &run_shape);
	return nl->why.code;
}

/* ---- routes --------------------------------------------------------------- */

static const struct dkn_field route_fields[] = {
	DKN_FIELD(DK_A_ROUTE_OP, dk_nl_route, op),
	DKN_FIELD(DK_A_ROUTE_INCLUDED, dk_nl_route, included),
	DKN_FIELD(DK_A_ROUTE_EXCLUDED, dk_nl_route, excluded),
	DKN_FIELD(DK_A_ROUTE_RAW, dk_nl_route, raw),
	DKN_FIELD(DK_A_ROUTE_MERGED, dk_nl_route, merged),
	DKN_FIELD(DK_A_ROUTE_EFFECTIVE, dk_nl_route, effective),
	DKN_FIELD(DK_A_ROUTE_SLOT, dk_nl_route, slot),
	DKN_FIELD(DK_A_ROUTE_KEY, dk_nl_route, key),
	DKN_FIELD(DK_A_ROUTE_KEY_NAME, dk_nl_route, key_name),
	DKN_FIELD(DK_A_ROUTE_ERROR, dk_nl_route, error),
	DKN_FIELD(DK_A_ROUTE_PROVENANCE, dk_nl_route, provenance),
	DKN_FIELD(DK_A_ROUTE_FLAGS, dk_nl_route, flags),
	DKN_FIELD(DK_A_ROUTE_LABEL, dk_nl_route, label),
	DKN_FIELD(DK_A_ROUTE_PROVIDER, dk_nl_route, provider),
	DKN_FIELD(DK_A_ROUTE_DEVICE, dk_nl_route, device),
	DKN_FIELD(DK_A_ROUTE_DEVICE_NAME, dk_nl_route, device_name),
	DKN_FIELD(DK_A_ROUTE_GENERATION, dk_nl_route, generation),
};

static const struct dkn_shape route_shape =
	DKN_SHAPE(dk_nl_route, DKN_ROUTE, route_fields);

static void put_obj(struct dkn_request *r, const struct dk_nl_obj *o)
{
	struct nlattr *nest;

	if (o->reserved)
		dkn_refuse(r, -EINVAL, "the reserved member of struct dk_nl_obj is not 0");
	nest = dkn_nest(r, DK_A_ROUTE_OBJ);
	if (o->ks.bits || !(o->device || o->device_name))
		dkn_put_u64(r, DK_A_OBJ_KEYSET, o->ks.bits);
	dkn_put_some_u32(r, DK_A_OBJ_DEVICE, o->device);
	dkn_put_string(r, DKN_OBJ, DK_A_OBJ_DEVICE_NAME, o->device_name);
	dkn_nest_end(r, nest);
}

static void begin_route(struct dkn_request *r, struct dk_nl *nl,
			const struct dk_nl_call *call)
{
	struct dk_nl_call c = { 0 };
	__u32 i;

	dkn_begin(r, nl, DK_CMD_ROUTE_GET, DKN_ROUTE);
	dkn_copy_struct(r, &c, sizeof(c), call, "dk_nl_call");
	dkn_put_string(r, DKN_ROUTE, DK_A_ROUTE_OP, c.op);
	if (c.num_objs > DKN_OBJS_MAX)
		dkn_refuse(r, -EINVAL, "a request has at most 64 objects");
	for (i = 0; !nl->why.code && i < c.num_objs; i++)
		put_obj(r, &c.objs[i]);
	if (c.has_included)
		dkn_put_u64(r, DK_A_ROUTE_INCLUDED, c.included.bits);
	if (c.has_excluded)
		dkn_put_u64(r, DK_A_ROUTE_EXCLUDED, c.excluded.bits);
}

int dk_nl_route_get(struct dk_nl *nl, const struct dk_nl_call *call,
		    const struct dk_nl_route **route)
{
	struct dkn_request r;

	begin_route(&r, nl, call);
	*route = dkn_get(&r, &route_shape);
	/* callers negate it, and print its text */
	if (*route && !dkn_is_error((*route)->error)) {
		dk_nl_free(*route);
		*route = NULL;
		dkn_error_malformed(&nl->why,
				    &(struct dkn_bad_attr){ DKN_ROUTE, DK_A_ROUTE_ERROR });
	}
	return nl->why.code;
}

/* ---- explanations --------------------------------------------------------- */

static const struct dkn_field step_fields[] = {
	DKN_FIELD(DK_A_STEP_KIND, dk_nl_step, kind),
	DKN_FIELD(DK_A_STEP_RULE, dk_nl_step, rule),
	DKN_FIELD(DK_A_STEP_VERDICT, dk_nl_step, verdict),
	DKN_FIELD(DK_A_STEP_BEARING, dk_nl_step, bearing),
	DKN_FIELD(DK_A_STEP_KEY, dk_nl_step, key),
	DKN_FIELD(DK_A_STEP_KEY_NAME, dk_nl_step, key_name),
	DKN_FIELD(DK_A_STEP_IMPL, dk_nl_step, impl, DKN_NESTED(dkn_impl_shape)),
	DKN_FIELD(DK_A_STEP_FALLBACK, dk_nl_step, is_fallback),
};

static const struct dkn_shape step_shape = DKN_LIST_SHAPE(dk_nl_step, DKN_STEP, step_fields);

/* A message has one step. The attributes of the step are stored in the struct itself. */
static const struct dkn_field explained_fields[] = {
	DKN_FIELD(DK_A_ROUTE_STEP, dk_nl_step, size, DKN_INLINE(step_shape)),
	DKN_FIELD(DK_A_ROUTE_GENERATION, dk_nl_step, generation),
};

static const struct dkn_shape explained_shape =
	DKN_LIST_SHAPE(dk_nl_step, DKN_ROUTE, explained_fields);

/* Sets the operator @op of each function, which the module sends only with the route. */
static void name_step_impls(const struct dk_nl_step *s, const char *op)
{
	for (; s; s = s->next)
		if (s->impl && !s->is_fallback)
			((struct dk_nl_impl *)s->impl)->op = op;
}

static const struct dk_nl_step *get_steps(struct dk_nl *nl, const struct dk_nl_call *call,
					  const struct dk_nl_route *route)
{
	const struct dk_nl_step *steps;
	struct dkn_request r;
	const char *op;

	begin_route(&r, nl, call);
	steps = dkn_get_all(&r, &explained_shape);
	if (!steps)
		return NULL;
	/* a copy, because the caller may free the route first */
	op = dkn_arena_text(r.arena, route->op, strlen(route->op));
	if (op)
		name_step_impls(steps, op);
	else
		dkn_error_set(&nl->why, -ENOMEM, "no memory for the answer");
	return steps;
}

static bool have_same_generation(const struct dk_nl_route *route, const struct dk_nl_step *s)
{
	while (s && s->generation == route->generation)
		s = s->next;
	return !s;
}

int dk_nl_explain(struct dk_nl *nl, const struct dk_nl_call *call,
		  const struct dk_nl_route **route, const struct dk_nl_step **steps)
{
	uint32_t try;

	*steps = NULL;
	for (try = 0; try <= nl->retries; try++) {
		if (dk_nl_route_get(nl, call, route))
			return nl->why.code;
		*steps = get_steps(nl, call, *route);
		if (!nl->why.code && have_same_generation(*route, *steps))
			return 0;
		dk_nl_free(*steps);
		dk_nl_free(*route);
		*steps = NULL;
		*route = NULL;
		if (nl->why.code)
			return nl->why.code;
	}
	return dkn_error_changed(&nl->why, try);
}
