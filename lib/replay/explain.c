// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The steps of a call, as route -v and call -v show them: with the layout's names. */
#include "internal.h"
#include "tell.h"

struct story {
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

static void put(struct dk_tell *t, const char *s, size_t len)
{
	struct story *story = t->ctx;

	dk_replay_text_add(&story->r->answer, s, len);
}

static const char *key_name(struct dk_tell *t, unsigned int key, char buf[DK_NAME_MAX])
{
	return dk_key_name(t->layout, key, buf);
}

static const char *bit_name(struct dk_tell *t, unsigned int backend, char buf[DK_NAME_MAX])
{
	(void)buf;
	return dk_backend_bit_name(t->layout, backend);
}

static const char *backend_name(struct dk_tell *t, unsigned int backend,
				char buf[DK_NAME_MAX])
{
	struct story *story = t->ctx;

	return dk_backend_name(story->r->reg, backend, buf);
}

/* A device that has gone counts as none. */
static void object(struct dk_tell *t, unsigned int i, struct dk_tell_object *obj)
{
	struct story *story = t->ctx;
	const struct dk_replay_device *d = device_of(story->r, story->objs[i]->device);

	memset(obj, 0, sizeof(*obj));
	obj->ks = story->objs[i]->ks;
	if (!d)
		return;
	obj->device = d->number;
	obj->device_name = d->name;
	obj->is_offline = d->offline || !dk_backend_is_online(story->r->reg, d->backend);
}

int dk_replay_put_steps(struct dk_replay *r, struct dk_op *op,
			const struct dk_obj *const *objs, unsigned int n)
{
	static const struct dk_tell_ops ops = {
		.put = put,
		.key_name = key_name,
		.bit_name = bit_name,
		.backend_name = backend_name,
		.object = object,
	};
	struct story story = { r, objs };
	struct dk_tell t = {
		.ops = &ops,
		.ctx = &story,
		.layout = r->layout,
		.explain = &r->explain,
		.num_objects = n,
	};
	unsigned int i;
	int err;

	r->step.size = sizeof(r->step);
	dk_tell_begin(&t);
	for (i = 0; !(err = dk_explain_step(op, t.explain, i, &r->step)); i++)
		dk_tell_step(&t, &r->step);
	return err == -ENOENT ? 0 : err;
}
