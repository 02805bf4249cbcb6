// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Runs the commands for private backends and devices. A device is registered together with all its
 * functions. So to add a function, the device is unregistered and registered again.
 */
#include "internal.h"

static struct dk_replay_device **find(struct dk_replay *r, const char *name)
{
	struct dk_replay_device **at = &r->devices;

	while (*at && !dk_replay_eq((*at)->name, name))
		at = &(*at)->next;
	return at;
}

static int refuse_device(struct dk_replay *r, const char *name)
{
	return dk_replay_reason(r, -ENODEV, DK_WHY_NO_DEVICE, name);
}

static void unregister_device(struct dk_replay_device *d)
{
	if (d->number)
		dk_device_unregister(&d->prov, d->number, NULL);
	d->number = 0;
	kvfree(d->table);
	d->table = NULL;
}

/* The array begins with the oldest function: of several functions at a key, the last one serves. */
static int register_device(struct dk_replay *r, struct dk_replay_device *d,
			   struct dk_diag *why)
{
	struct dk_replay_impl *i;
	unsigned int n = d->num_impls;
	int err;

	if (n) {
		d->table = kvcalloc(n, sizeof(*d->table), GFP_KERNEL);
		if (!d->table)
			return dk_replay_reason(r, -ENOMEM, DK_WHY_NO_MEMORY, "");
	}
	for (i = d->impls; i; i = i->next)
		d->table[--n] = i->impl;
	err = dk_device_register(&d->prov, d->backend, d->name, NULL, d->table,
				 d->num_impls, &d->number, why);
	if (!err && d->offline)
		err = dk_device_set_online(r->reg, d->number, 0, why);
	return err;
}

int dk_replay_device_impl(struct dk_replay *r, const char *device,
			  struct dk_replay_impl *impl)
{
	struct dk_replay_device *d = *find(r, device);
	int err;

	if (!d) {
		kvfree(impl);
		return refuse_device(r, device);
	}
	unregister_device(d);
	impl->next = d->impls;
	d->impls = impl;
	d->num_impls++;
	err = register_device(r, d, &r->why);
	if (!err)
		return 0;
	unregister_device(d);
	d->impls = impl->next;
	d->num_impls--;
	kvfree(impl);
	register_device(r, d, NULL);
	return err;
}

static bool matches(const struct dk_replay_impl *i, const char *label,
		    const char *op)
{
	return op ? dk_replay_eq(i->impl.op->name, op) :
		    dk_replay_eq(i->impl.label, label);
}

int dk_replay_device_drop(struct dk_replay *r, const char *label, const char *op,
			  unsigned int *dropped)
{
	struct dk_replay_impl **at, *i;
	struct dk_replay_device *d;
	int err;

	for (d = r->devices; d; d = d->next) {
		for (i = d->impls; i && !matches(i, label, op); i = i->next)
			;
		if (!i)
			continue;
		unregister_device(d);
		at = &d->impls;
		while ((i = *at)) {
			if (!matches(i, label, op)) {
				at = &i->next;
				continue;
			}
			*at = i->next;
			d->num_impls--;
			kvfree(i);
			++*dropped;
		}
		err = register_device(r, d, &r->why);
		if (err)
			return err;
	}
	return 0;
}

static void device_free(struct dk_replay_device *d)
{
	dk_provider_unregister(&d->prov);
	dk_replay_impls_free(d->impls);
	kvfree(d->table);
	kvfree(d);
}

void dk_replay_devices_clear(struct dk_replay *r)
{
	struct dk_replay_device *next;

	for (; r->devices; r->devices = next) {
		next = r->devices->next;
		device_free(r->devices);
	}
}

DK_REPLAY_RUN(backend)
{
	unsigned int backend, key, pin = 0;
	int err = dk_replay_need_registry(r);

	if (!err && w->n > 1) {
		err = dk_replay_key(r, w->arg[1], &key);
		if (err)
			return err;
		pin = dk_key_backend(r->layout, key);
		if (!pin)
			return dk_replay_refuse(r, -EINVAL,
						"expected a key of a private backend",
						w->arg[1],
						dk_replay_len(w->arg[1]));
	}
	return err ? err : dk_backend_join(&r->prov, w->arg[0], pin, 0, &backend,
					   &r->why);
}

DK_REPLAY_RUN(device)
{
	size_t len = dk_replay_len(w->arg[0]) + 1;
	struct dk_replay_device *d;
	unsigned int backend;
	int err = dk_replay_need_registry(r);

	if (!err)
		err = dk_backend_find(r->reg, w->arg[1], &backend, &r->why);
	if (err)
		return err;
	d = kvzalloc(sizeof(*d) + len, GFP_KERNEL);
	if (!d)
		return dk_replay_reason(r, -ENOMEM, DK_WHY_NO_MEMORY, "");
	memcpy(d->name, w->arg[0], len);
	d->prov = r->prov;
	d->prov.core = NULL;
	d->prov.name = d->name;
	d->backend = backend;
	err = dk_provider_register(&d->prov, &r->why);
	if (!err)
		err = register_device(r, d, &r->why);
	if (err) {
		device_free(d);
		return err;
	}
	d->next = r->devices;
	r->devices = d;
	return 0;
}

DK_REPLAY_RUN(leave)
{
	struct dk_replay_device **at = find(r, w->arg[0]), *d = *at;

	if (!d)
		return refuse_device(r, w->arg[0]);
	*at = d->next;
	device_free(d);
	return 0;
}

/* @name names a device, or a backend by its private name or by its name in the layout. */
static int switch_to(struct dk_replay *r, const char *name, bool online)
{
	struct dk_replay_device *d = *find(r, name);
	unsigned int backend;
	int err = dk_replay_need_registry(r);

	if (err)
		return err;
	if (!d && !dk_backend_find(r->reg, name, &backend, NULL))
		return dk_backend_set_online(r->reg, backend, online, &r->why);
	if (!d) {
		err = refuse_device(r, name);
		r->why.text = "no such device or backend";
		return err;
	}
	err = dk_device_set_online(r->reg, d->number, online, &r->why);
	if (!err)
		d->offline = !online;
	return err;
}

DK_REPLAY_RUN(offline)
{
	return switch_to(r, w->arg[0], false);
}

DK_REPLAY_RUN(online)
{
	return switch_to(r, w->arg[0], true);
}
