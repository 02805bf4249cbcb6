// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The devices of backends: their numbers, and functions of their own.
 */
#include "registry.h"

#define DKC_DEVMAP_MIN		16
#define DKC_MAX_GENERATION	((1u << (32 - DKC_DEVICE_BITS)) - 1)

/* The live device of a number; under the lock or in a read section. */
struct dkc_device *dkc_device_at(const struct dk_registry *reg, u32 number)
{
	const struct dkc_devmap *map = dkc_deref(reg->devmap);
	u32 slot = number & DKC_MAX_DEVICES;
	struct dkc_device *dev;

	if (!map || !number || slot >= map->size)
		return NULL;
	dev = dkc_deref(map->slot[slot].dev);
	return dev && dev->number == number ? dev : NULL;
}

static struct dkc_device *dkc_device_named(const struct dk_registry *reg,
					   const char *name)
{
	const struct dkc_devmap *map = dkc_deref_locked(reg->devmap);
	u32 i;

	for (i = 1; map && i < map->size; i++) {
		struct dkc_device *dev = dkc_deref_locked(map->slot[i].dev);

		if (dev && dkc_streq(dev->name, name))
			return dev;
	}
	return NULL;
}

/* A map of twice the size, with the same devices. */
static struct dkc_devmap *dkc_devmap_grow(struct dk_registry *reg)
{
	struct dkc_devmap *old = dkc_deref_locked(reg->devmap), *map;
	u32 i, size = old ? 2 * old->size : DKC_DEVMAP_MIN;

	if (size > DKC_MAX_DEVICES + 1)
		return NULL;
	map = dkc_alloc(offsetof(struct dkc_devmap, slot) +
			size * sizeof(map->slot[0]));
	if (!map)
		return NULL;
	map->size = size;
	for (i = 1; old && i < old->size; i++) {
		map->slot[i].generation = old->slot[i].generation;
		dkc_publish(map->slot[i].dev, dkc_deref_locked(old->slot[i].dev));
	}
	dkc_publish(reg->devmap, map);
	if (old)
		dkc_retire(old);
	return map;
}

/* A slot whose generations are used up is never given out again. */
static u32 dkc_devmap_free_slot(const struct dkc_devmap *map)
{
	u32 i;

	for (i = 1; map && i < map->size; i++)
		if (!dkc_deref_locked(map->slot[i].dev) &&
		    map->slot[i].generation <= DKC_MAX_GENERATION)
			return i;
	return 0;
}

/* Give a device a number; nobody sees it yet. */
static int dkc_device_number(struct dk_registry *reg, struct dkc_device *dev,
			     struct dk_diag *why)
{
	struct dkc_devmap *map = dkc_deref_locked(reg->devmap);
	u32 slot = dkc_devmap_free_slot(map);

	if (!slot) {
		if (map && map->size > DKC_MAX_DEVICES)
			return dkc_refuse(why, DK_WHY_TOO_MANY_DEVICES, dev->name);
		map = dkc_devmap_grow(reg);
		if (!map)
			return dkc_refuse(why, DK_WHY_NO_MEMORY, dev->name);
		slot = dkc_devmap_free_slot(map);
	}
	dev->number = map->slot[slot].generation << DKC_DEVICE_BITS | slot;
	return 0;
}

static void dkc_device_show(struct dk_registry *reg, struct dkc_device *dev)
{
	struct dkc_devmap *map = dkc_deref_locked(reg->devmap);

	dkc_publish(map->slot[dev->number & DKC_MAX_DEVICES].dev, dev);
	dkc_changed(reg, DKC_WHOLE_CHANGE);
}

/* Out of the map; its number is never valid again. */
void dkc_device_remove(struct dk_registry *reg, struct dkc_device *dev)
{
	struct dkc_devmap *map = dkc_deref_locked(reg->devmap);
	u32 slot = dev->number & DKC_MAX_DEVICES;

	map->slot[slot].generation++;
	dkc_publish(map->slot[slot].dev, NULL);
	dkc_changed(reg, DKC_WHOLE_CHANGE);
	dkc_saw_device(dev, DKC_DEVICE_WENT);
}

static int dkc_device_add(struct dkc_provider *core, struct dkc_device *dev,
			  void *priv, const struct dk_impl *impls, unsigned int n,
			  struct dk_diag *why)
{
	struct dkc_change ch = { .ops = NULL };
	struct dkc_block *b;
	int err = dkc_device_number(core->reg, dev, why);

	if (err)
		return err;
	b = dkc_block_make(core, impls, n, dev->backend, dev, priv, &ch, why, &err);
	if (!b)
		return err;
	err = dkc_change_prepare(&ch);
	if (err) {
		dkc_block_undo(b);
		return dkc_refuse(why, DK_WHY_NO_MEMORY, dev->name);
	}
	dkc_device_show(core->reg, dev);
	dkc_block_publish(b, &ch);
	return 0;
}

int dk_device_register(struct dk_provider *prov, unsigned int backend,
		       const char *name, void *priv, const struct dk_impl *impls,
		       unsigned int n, __u32 *device, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dk_registry *reg;
	struct dkc_device *dev;
	int err;

	if (!dkc_name_ok(name))
		return dkc_refuse(why, DK_WHY_BAD_NAME, name);
	dev = dkc_alloc(sizeof(*dev));
	if (!dev)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, name);
	err = dkc_provider_lock(prov, &core, why);
	if (err) {
		dkc_free(dev);
		return err;
	}
	dkc_strcpy(dev->name, name, sizeof(dev->name));
	dev->prov = core;
	dev->backend = backend;
	dev->online = true;
	dev->want_online = true;
	if (!backend || backend > core->reg->layout->nb)
		err = dkc_refuse_number(why, DK_WHY_BAD_BACKEND, backend);
	else if (dkc_device_named(core->reg, name))
		err = dkc_refuse(why, DK_WHY_DEVICE_EXISTS, name);
	else
		err = dkc_device_add(core, dev, priv, impls, n, why);
	if (!err)
		*device = dev->number;
	else
		dkc_retire(dev);
	reg = core->reg;
	dkc_mutex_unlock(&reg->lock);
	dkc_flush_retired();
	dkc_news_tell(reg);
	return err;
}

int dk_device_unregister(struct dk_provider *prov, __u32 device,
			 struct dk_diag *why)
{
	struct dkc_change ch = { .ops = NULL };
	struct dkc_provider *core;
	struct dkc_device *dev;
	struct dkc_block *b;
	int err = dkc_provider_lock_to_leave(prov, &core, why);

	if (err)
		return err;
	dev = dkc_device_at(core->reg, device);
	if (!dev || dev->prov != core) {
		dkc_mutex_unlock(&core->reg->lock);
		return dkc_refuse_number(why, DK_WHY_NO_DEVICE, device);
	}
	b = dev->block;
	dkc_block_withdraw(b, &ch);
	dkc_device_remove(core->reg, dev);
	dkc_change_force(&ch);
	dkc_provider_wait(core, (struct dkc_target){ .block = b });
	return 0;
}

int dk_device_find(struct dk_registry *reg, const char *name, struct dk_obj *obj,
		   struct dk_diag *why)
{
	struct dkc_device *dev;
	int err = 0;

	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_DEVICE, name);
	dkc_remark(why, DK_WHY_NONE, NULL);
	dkc_mutex_lock(&reg->lock);
	dev = dkc_device_named(reg, name);
	if (dev) {
		const struct dk_layout *l = reg->layout;

		obj->ks.bits = dkc_functionality_bit(l, l->role[DKC_ROLE_DENSE]) |
			       1ULL << (dev->backend - 1);
		obj->device = dev->number;
		obj->flags = 0;
	} else {
		err = dkc_refuse(why, DK_WHY_NO_DEVICE, name);
	}
	dkc_mutex_unlock(&reg->lock);
	return err;
}
