// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Prints the steps of route -v and call -v, with the names of the layout. */
#include "internal.h"
#include "format.h"

/* Answers do not depend on a terminal. */
#define COLUMNS		100

/* The @ctx of struct dk_format. */
struct steps {
	struct dk_replay *r;
	const struct dk_obj *const *objs;
};

static const struct dk_replay_device *device_of(struct dk_replay *r, __u32 number)
{
	const struct dk_replay_device *d = number ? r->devices : NULL;

	while (d && d->number != number)
		d = d->next;
	return d;
}

static void put(struct dk_format *t, const char *s, size_t len)
{
	struct steps *steps = t->ctx;

	dk_replay_text_add(&steps->r->answer, s, len);
}

static const char *key_name(struct dk_format *t, unsigned int key, char buf[DK_NAME_MAX])
{
	return dk_key_name(t->layout, key, buf);
}

static const char *bit_name(struct dk_format *t, unsigned int backend, char buf[DK_NAME_MAX])
{
	(void)buf;
	return dk_backend_bit_name(t->layout, backend);
}

static const char *backend_name(struct dk_format *t, unsigned int backend,
				char buf[DK_NAME_MAX])
{
	struct steps *steps = t->ctx;

	return dk_backend_name(steps->r->reg, backend, buf);
}

/* Shows an object on an unregistered device as an object without a device. */
static void object(struct dk_format *t, unsigned int i, struct dk_format_object *obj)
{
	struct steps *steps = t->ctx;
	const struct dk_replay_device *d = device_of(steps->r, steps->objs[i]->device);

	memset(obj, 0, sizeof(*obj));
	obj->ks = steps->objs[i]->ks;
	if (!d)
		return;
	obj->device = d->number;
	obj->device_name = d->name;
	obj->is_offline = d->offline || !dk_backend_is_online(steps->r->reg, d->backend);
}

int dk_replay_put_steps(struct dk_replay *r, struct dk_op *op,
			const struct dk_obj *const *objs, unsigned int n)
{
	static const struct dk_format_ops ops = {
		.put = put,
		.key_name = key_name,
		.bit_name = bit_name,
		.backend_name = backend_name,
		.object = object,
	};
	struct steps steps = { r, objs };
	struct dk_format t = {
		.ops = &ops,
		.ctx = &steps,
		.layout = r->layout,
		.explain = &r->explain,
		.num_objects = n,
		.columns = COLUMNS,
	};
	unsigned int i;
	int err;

	r->step.size = sizeof(r->step);
	dk_format_begin(&t);
	for (i = 0; !(err = dk_explain_step(op, t.explain, i, &r->step)); i++)
		dk_format_step(&t, &r->step);
	return err == -ENOENT ? 0 : err;
}
