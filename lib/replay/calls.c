// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Runs the commands for local state and routes. */
#include "internal.h"

/* ---- local state ---------------------------------------------------------- */

static void pop_guard(struct dk_replay *r)
{
	struct dk_replay_guard *g = r->guards;

	r->guards = g->outer;
	kvfree(g);
}

void dk_replay_local_reset(struct dk_replay *r)
{
	while (r->guards)
		pop_guard(r);
	if (dk_constant_set(r->layout, "default_included_set", &r->included, NULL))
		r->included.bits = 0;
	if (dk_constant_set(r->layout, "default_excluded_set", &r->excluded, NULL))
		r->excluded.bits = 0;
}

DK_REPLAY_RUN(local)
{
	struct dk_keyset inc, exc;
	int err = dk_replay_set(r, w->arg[0], &inc);

	if (!err)
		err = dk_replay_set(r, w->arg[1], &exc);
	if (err)
		return err;
	r->included = inc;
	r->excluded = exc;
	return 0;
}

/* In every layout, guards behave as in PyTorch 2.14: the end of a guard restores the whole set. */
static int push_guard(struct dk_replay *r, struct dk_replay_words *w,
		      struct dk_keyset *set)
{
	struct dk_replay_guard *g;
	struct dk_keyset ks;
	int err = dk_replay_set(r, w->arg[0], &ks);

	if (err)
		return err;
	g = kvzalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return dk_replay_reason(r, -ENOMEM, DK_WHY_NO_MEMORY, "");
	g->outer = r->guards;
	g->set = set;
	g->saved = *set;
	r->guards = g;
	*set = dk_keyset_or(*set, ks);
	return 0;
}

DK_REPLAY_RUN(include)
{
	return push_guard(r, w, &r->included);
}

DK_REPLAY_RUN(exclude)
{
	return push_guard(r, w, &r->excluded);
}

DK_REPLAY_RUN(end)
{
	struct dk_replay_guard *g = r->guards;

	(void)w;
	if (!g)
		return dk_replay_refuse(r, -EINVAL,
					"there is no include or exclude to end", "", 0);
	*g->set = g->saved;
	pop_guard(r);
	return 0;
}

DK_REPLAY_RUN(tls)
{
	(void)w;
	dk_replay_put(r, "included=");
	dk_replay_put_hex(r, r->included.bits);
	dk_replay_put(r, " excluded=");
	dk_replay_put_hex(r, r->excluded.bits);
	dk_replay_put(r, "\n");
	return 0;
}

/* ---- routes --------------------------------------------------------------- */

static int refuse_route(struct dk_replay *r, int err, struct dk_op *op)
{
	static const enum dk_reason reasons[] = {
		DK_WHY_NOT_DEFINED, DK_WHY_DEVICE_GONE, DK_WHY_TWO_DEVICES,
		DK_WHY_SHUTDOWN, DK_WHY_NO_MEMORY,
	};
	static const int errors[] = { ENOENT, ENODEV, EXDEV, ESHUTDOWN, ENOMEM };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		if (err == -errors[i])
			return dk_replay_reason(r, err, reasons[i], dk_op_name(op));
	}
	return dk_replay_refuse(r, err, "unexpected error: this route cannot be computed", "", 0);
}

/* Looks up the route as a call does. It is not an error if nothing serves the call. */
static int find_route(struct dk_replay *r, struct dk_op *op,
		      const struct dk_obj *const *objs, unsigned int n)
{
	int err;

	r->explain.size = sizeof(r->explain);
	err = dk_op_explain(op, r->included, r->excluded, objs, n, &r->explain);
	if (!err)
		err = r->explain.error;
	if (err && err != -ENOSYS && err != -ENOTUNIQ)
		return refuse_route(r, err, op);
	return 0;
}

/* Prints the effective set, its top key, and the function. */
static void put_route(struct dk_replay *r)
{
	const struct dk_entry *e = &r->explain.route.entry;

	dk_replay_put_hex(r, r->explain.route.effective.bits);
	dk_replay_put(r, " ");
	dk_replay_put_key(r, dk_keyset_key(r->layout, r->explain.route.effective));
	dk_replay_put(r, " ");
	if (e->provenance == DK_PROV_MISSING || e->provenance == DK_PROV_NO_ENTRY) {
		dk_replay_put(r, "missing");
	} else if (e->provenance == DK_PROV_AMBIGUOUS) {
		dk_replay_put(r, "ambiguous");
	} else if (e->is_fallthrough) {
		dk_replay_put(r, "fallthrough");
	} else {
		dk_replay_put(r, e->label);
		if (e->device) {
			dk_replay_put(r, "@");
			dk_replay_put(r, e->device_name);
		}
	}
	dk_replay_put(r, "\n");
}

DK_REPLAY_RUN(route)
{
	struct dk_obj obj = { { 0 }, 0, 0 };
	const struct dk_obj *const objs[] = { &obj };
	struct dk_op *op = dk_replay_op_get(r, w->arg[0]);
	int err;

	if (!op)
		return -ENOENT;
	err = dk_replay_set(r, w->arg[1], &obj.ks);
	if (!err)
		err = find_route(r, op, objs, 1);
	if (!err) {
		put_route(r);
		if (dk_replay_option(w, 'v'))
			err = dk_replay_put_steps(r, op, objs, 1);
	}
	dk_op_put(op);
	return err;
}

/* Parses SET or SET@DEVICE. */
static int parse_obj(struct dk_replay *r, char *word, struct dk_obj *obj)
{
	char *at = word;
	struct dk_obj on;
	int err;

	/* the name of a device may have an @, too */
	while (*at && *at != '@')
		at++;
	if (*at) {
		if (at == word)
			return dk_replay_refuse(r, -EINVAL, "expected a keyset before the @",
						word, dk_replay_len(word));
		if (!at[1])
			return dk_replay_refuse(r, -EINVAL, "expected a device after the @",
						word, dk_replay_len(word));
		*at++ = '\0';
		err = dk_device_find(r->reg, at, &on, &r->why);
		if (err)
			return err;
		obj->device = on.device;
	}
	return dk_replay_set(r, word, &obj->ks);
}

static int call(struct dk_replay *r, struct dk_op *op, struct dk_replay_words *w,
		struct dk_obj *objs, const struct dk_obj **list)
{
	char *rest = w->rest;
	unsigned int n = 0;
	char *word;
	int err;

	while ((word = dk_replay_word(&rest))) {
		err = parse_obj(r, word, &objs[n]);
		if (err)
			return err;
		list[n] = &objs[n];
		n++;
	}
	err = find_route(r, op, list, n);
	if (err)
		return err;
	dk_replay_put_hex(r, r->explain.route.raw.bits);
	dk_replay_put(r, " ");
	put_route(r);
	return dk_replay_option(w, 'v') ? dk_replay_put_steps(r, op, list, n) : 0;
}

DK_REPLAY_RUN(call)
{
	/* an upper limit: there is a space between two words */
	size_t most = dk_replay_len(w->rest) / 2 + 1;
	struct dk_obj *objs;
	struct dk_op *op = dk_replay_op_get(r, w->arg[0]);
	int err;

	if (!op)
		return -ENOENT;
	objs = kvzalloc(most * (sizeof(*objs) + sizeof(struct dk_obj *)), GFP_KERNEL);
	if (objs)
		err = call(r, op, w, objs, (const struct dk_obj **)(objs + most));
	else
		err = dk_replay_reason(r, -ENOMEM, DK_WHY_NO_MEMORY, "");
	kvfree(objs);
	dk_op_put(op);
	return err;
}
