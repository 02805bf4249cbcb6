// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Registers and unregisters devices, assigns their numbers, and finds them by name. */
#include "change.h"

#define DKC_DEVMAP_MIN		16
/* The last generation is not used, so that no number of a device is DK_DEVICE_LIST. */
#define DKC_MAX_GENERATION	((1u << (32 - DKC_DEVICE_BITS)) - 2)

struct dkc_device *dkc_device_after(const struct dk_registry *reg, u32 number)
{
	const struct dkc_devmap *map = dkc_deref_locked(reg->devmap, reg);
	struct dkc_device *dev = NULL;
	u32 i;

	for (i = (number & DKC_MAX_DEVICES) + 1; !dev && map && i < map->size; i++)
		dev = dkc_deref_locked(map->slot[i].dev, reg);
	return dev;
}

static struct dkc_device *device_named(const struct dk_registry *reg, const char *name)
{
	struct dkc_device *dev = dkc_device_after(reg, 0);

	while (dev && !(name && dkc_streq(dev->name, name)))
		dev = dkc_device_after(reg, dev->number);
	return dev;
}

static struct dkc_devmap *devmap_grow(struct dk_registry *reg)
{
	struct dkc_devmap *old = dkc_deref_locked(reg->devmap, reg), *map;
	u32 size = old ? 2 * old->size : DKC_DEVMAP_MIN;

	map = kvzalloc(offsetof(struct dkc_devmap, slot) +
		       size * sizeof(map->slot[0]), GFP_KERNEL);
	if (!map)
		return NULL;
	map->size = size;
	if (old)
		memcpy(map->slot, old->slot, old->size * sizeof(map->slot[0]));
	rcu_assign_pointer(reg->devmap, map);
	if (old)
		kvfree_rcu(old, rcu);
	return map;
}

/* Returns a free slot, or 0. A slot whose generations are used up is never used again. */
static u32 free_slot(const struct dk_registry *reg, const struct dkc_devmap *map)
{
	u32 i;

	for (i = 1; map && i < map->size; i++)
		if (!dkc_deref_locked(map->slot[i].dev, reg) &&
		    map->slot[i].generation <= DKC_MAX_GENERATION)
			return i;
	return 0;
}

static int device_number(struct dk_registry *reg, struct dkc_device *dev, struct dk_diag *why)
{
	struct dkc_devmap *map = dkc_deref_locked(reg->devmap, reg);
	u32 slot;

	while (!(slot = free_slot(reg, map))) {
		if (map && map->size > DKC_MAX_DEVICES)
			return dkc_refuse(why, DK_WHY_TOO_MANY_DEVICES, dev->name);
		map = devmap_grow(reg);
		if (!map)
			return dkc_refuse(why, DK_WHY_NO_MEMORY, dev->name);
	}
	dev->number = map->slot[slot].generation << DKC_DEVICE_BITS | slot;
	return 0;
}

void dkc_device_publish(struct dkc_device *dev)
{
	struct dk_registry *reg = dev->prov->reg;
	struct dkc_devmap *map = dkc_deref_locked(reg->devmap, reg);

	dkc_assert_writer(reg);
	rcu_assign_pointer(map->slot[dev->number & DKC_MAX_DEVICES].dev, dev);
	dkc_changed(reg, DKC_WHOLE_CHANGE);
}

void dkc_device_remove(struct dkc_device *dev)
{
	struct dk_registry *reg = dev->prov->reg;
	struct dkc_devmap *map = dkc_deref_locked(reg->devmap, reg);
	u32 slot = dev->number & DKC_MAX_DEVICES;

	dkc_assert_writer(reg);
	map->slot[slot].generation++;
	rcu_assign_pointer(map->slot[slot].dev, NULL);
	dkc_changed(reg, DKC_WHOLE_CHANGE);
	dkc_notify_device(dev, DKC_DEVICE_REMOVED);
}

int dk_device_register(struct dk_provider *prov, unsigned int backend,
		       const char *name, void *priv, const struct dk_impl *impls,
		       unsigned int n, __u32 *device, struct dk_diag *why)
{
	struct dkc_registration r = {
		.impls = impls, .n = n, .backend = backend, .priv = priv, .why = why,
	};
	struct dk_registry *reg;
	struct dkc_device *dev;
	int err;

	if (!dkc_name_ok(name))
		return dkc_refuse(why, DK_WHY_BAD_NAME, name);
	if (n && !impls)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "impls");
	dev = kvzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, name);
	err = dkc_provider_lock(prov, &r.prov, why);
	if (err) {
		kvfree(dev);
		return err;
	}
	reg = r.prov->reg;
	r.dev = dev;
	dkc_strcpy(dev->name, name, sizeof(dev->name));
	dev->prov = r.prov;
	dev->backend = backend;
	dev->online = true;
	dev->want_online = true;
	if (!backend || backend > reg->layout->nb)
		err = dkc_refuse_number(why, DK_WHY_BAD_BACKEND, backend);
	else if (device_named(reg, name))
		err = dkc_refuse(why, DK_WHY_DEVICE_EXISTS, name);
	else
		err = device_number(reg, dev, why);
	if (!err)
		err = dkc_register(&r);
	if (!err && device)
		*device = dev->number;
	if (err)
		kvfree_rcu(dev, rcu);
	dkc_registry_unlock_flush(reg);
	return err;
}

int dk_device_unregister(struct dk_provider *prov, __u32 device, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dk_registry *reg;
	struct dkc_device *dev;
	struct dkc_block *b;
	int err = dkc_provider_lock_to_wait(prov, &core, why);

	if (err)
		return err;
	reg = core->reg;
	dev = dkc_device_at(reg, device);
	b = dkc_block_remove(dev && dev->prov == core ? dev->block : NULL);
	/* another caller may have unregistered the device or provider, and may be waiting */
	if (!b && device)
		b = dkc_block_find_withdrawn(core, NULL, device);
	if (b)
		dkc_drain(core, b);
	else if (dev)
		err = dkc_refuse(why, DK_WHY_NOT_THERE, dev->name);
	else
		err = dkc_refuse_number(why, DK_WHY_NO_DEVICE, device);
	dkc_registry_unlock(reg);
	return err;
}

int dk_device_find(struct dk_registry *reg, const char *name, struct dk_obj *obj,
		   struct dk_diag *why)
{
	const struct dkc_device *dev;
	const struct dk_layout *l;

	reg = dkc_registry_locked(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_DEVICE, name);
	l = reg->layout;
	dev = device_named(reg, name);
	if (dev) {
		obj->ks.bits = dkc_functionality_bit(l, l->role[DKC_ROLE_DENSE]) |
			       dkc_backend_bit(dev->backend);
		obj->device = dev->number;
		obj->flags = 0;
	}
	mutex_unlock(&reg->lock);
	if (!dev)
		return dkc_refuse(why, DK_WHY_NO_DEVICE, name);
	return dkc_accept(why);
}
