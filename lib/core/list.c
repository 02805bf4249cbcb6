// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What a registry has. Each answer is made under the lock and shows one state;
 * a walk goes on behind a number, so that what comes and goes meanwhile does not
 * disturb it.
 */
#include "registry.h"

int dk_registry_counts(struct dk_registry *reg, struct dk_counts *counts)
{
	const struct dkc_provider *core;

	if (counts->size != sizeof(*counts))
		return -EINVAL;
	reg = dkc_registry(reg);
	if (!reg)
		return -ENOMEM;
	*counts = (struct dk_counts){ .size = sizeof(*counts) };
	dkc_mutex_lock(&reg->lock);
	counts->operators = reg->num_there;
	counts->impls = reg->num_impls;
	counts->devices = reg->num_devices;
	counts->generation = reg->generation;
	for (core = reg->providers; core; core = core->next)
		counts->providers += !core->left;
	dkc_mutex_unlock(&reg->lock);
	return 0;
}

/* ---- backends ------------------------------------------------------------- */

int dk_registry_backend(struct dk_registry *reg, unsigned int backend,
			struct dk_backend_info *info)
{
	const struct dkc_private_backend *pb;

	if (info->size != sizeof(*info))
		return -EINVAL;
	reg = dkc_registry(reg);
	if (!reg)
		return -ENOMEM;
	if (!backend || backend > reg->layout->nb)
		return -ENOENT;
	*info = (struct dk_backend_info){ .size = sizeof(*info), .number = backend };
	pb = &reg->private_backend[backend];
	dkc_strcpy(info->own_name, reg->layout->backend_names[backend],
		   sizeof(info->own_name));
	dkc_mutex_lock(&reg->lock);
	info->is_online = !(reg->offline >> (backend - 1) & 1);
	info->is_bound = pb->name[0] != 0;
	info->is_alone = !!pb->alone;
	info->providers = pb->users;
	info->devices = reg->devices_of[backend];
	info->impls = reg->impls_at[backend];
	dkc_backend_text(reg, backend, info->name);
	dkc_mutex_unlock(&reg->lock);
	return 0;
}

/* ---- devices -------------------------------------------------------------- */

static void dkc_device_tell(const struct dk_registry *reg, const struct dkc_device *dev,
			    struct dk_device_info *info)
{
	*info = (struct dk_device_info){
		.size = sizeof(*info), .number = dev->number, .backend = dev->backend,
		.impls = dev->block->n, .is_online = dev->online,
		.backend_online = !(reg->offline >> (dev->backend - 1) & 1),
	};
	dkc_strcpy(info->name, dev->name, sizeof(info->name));
	dkc_strcpy(info->provider, dev->prov->name, sizeof(info->provider));
	dkc_backend_text(reg, dev->backend, info->backend_name);
}

/* The first one behind a place in the map, which is that of its number. */
static struct dkc_device *dkc_device_behind(const struct dk_registry *reg, u32 after)
{
	const struct dkc_devmap *map = dkc_deref_locked(reg->devmap);
	struct dkc_device *dev = NULL;
	u32 i;

	for (i = (after & DKC_MAX_DEVICES) + 1; !dev && map && i < map->size; i++)
		dev = dkc_deref_locked(map->slot[i].dev);
	return dev;
}

/* Of the one that @find finds; -ENODEV. */
static int dkc_device_ask(struct dk_registry *reg, u32 number,
			  struct dkc_device *(*find)(const struct dk_registry *reg, u32 number),
			  struct dk_device_info *info)
{
	const struct dkc_device *dev;

	if (info->size != sizeof(*info))
		return -EINVAL;
	reg = dkc_registry(reg);
	if (!reg)
		return -ENOMEM;
	dkc_mutex_lock(&reg->lock);
	dev = find(reg, number);
	if (dev)
		dkc_device_tell(reg, dev, info);
	dkc_mutex_unlock(&reg->lock);
	return dev ? 0 : -ENODEV;
}

int dk_registry_device(struct dk_registry *reg, __u32 device,
		       struct dk_device_info *info)
{
	return dkc_device_ask(reg, device, dkc_device_at, info);
}

int dk_registry_next_device(struct dk_registry *reg, __u32 after,
			    struct dk_device_info *info)
{
	int err = dkc_device_ask(reg, after, dkc_device_behind, info);

	return err == -ENODEV ? -ENOENT : err;
}

/* ---- providers ------------------------------------------------------------ */

/* They are in the list newest first; one that has left only waits for waiters. */
static const struct dkc_provider *dkc_provider_behind(const struct dk_registry *reg,
						      u64 after)
{
	const struct dkc_provider *core = reg->providers, *first = NULL;

	for (; core && core->number > after; core = core->next)
		if (!core->left)
			first = core;
	return first;
}

int dk_registry_next_provider(struct dk_registry *reg, __u64 after,
			      struct dk_provider_info *info)
{
	const struct dkc_provider *core;

	if (info->size != sizeof(*info))
		return -EINVAL;
	reg = dkc_registry(reg);
	if (!reg)
		return -ENOMEM;
	dkc_mutex_lock(&reg->lock);
	core = dkc_provider_behind(reg, after);
	if (core) {
		*info = (struct dk_provider_info){
			.size = sizeof(*info), .is_leaving = core->gone,
			.number = core->number, .operators = core->num_ops,
			.impls = core->num_impls, .devices = core->num_devices,
			.backends = { core->joined >> 1 },
		};
		dkc_strcpy(info->name, core->name, sizeof(info->name));
		dkc_strcpy(info->module, dkc_owner_name(core->owner),
			   sizeof(info->module));
	}
	dkc_mutex_unlock(&reg->lock);
	return core ? 0 : -ENOENT;
}

/* ---- limits --------------------------------------------------------------- */

/* Private backends that are bound, or with @all those that there are. */
static unsigned int dkc_private_backends(const struct dk_registry *reg, bool all)
{
	unsigned int b, n = 0;

	for (b = 1; b <= reg->layout->nb; b++)
		n += all ? dkc_is_private(reg->layout, b) :
			   reg->private_backend[b].name[0] != 0;
	return n;
}

enum {
	DKC_LIMIT_PRIVATE_BACKENDS,
	DKC_LIMIT_DEVICES,
	DKC_LIMIT_ARGUMENTS,
	DKC_LIMIT_NAME_LENGTH,
	DKC_NUM_LIMITS
};

/* The lock is held. */
static void dkc_limit(const struct dk_registry *reg, unsigned int i, struct dk_limit *limit)
{
	static const struct dk_limit limits[] = {
		[DKC_LIMIT_PRIVATE_BACKENDS] = { .name = "private-backends", .has_used = 1 },
		[DKC_LIMIT_DEVICES] = {
			.name = "devices", .most = DKC_MAX_DEVICES, .has_used = 1,
		},
		[DKC_LIMIT_ARGUMENTS] = { .name = "arguments", .most = DKC_MAX_PARAMS },
		[DKC_LIMIT_NAME_LENGTH] = { .name = "name-length", .most = DK_NAME_MAX - 1 },
	};

	*limit = limits[i];
	limit->size = sizeof(*limit);
	if (i == DKC_LIMIT_PRIVATE_BACKENDS) {
		limit->most = dkc_private_backends(reg, true);
		limit->used = dkc_private_backends(reg, false);
	} else if (i == DKC_LIMIT_DEVICES) {
		limit->used = reg->num_devices;
	}
}

int dk_registry_limit(struct dk_registry *reg, unsigned int i, struct dk_limit *limit)
{
	if (limit->size != sizeof(*limit))
		return -EINVAL;
	if (i >= DKC_NUM_LIMITS)
		return -ENOENT;
	reg = dkc_registry(reg);
	if (!reg)
		return -ENOMEM;
	dkc_mutex_lock(&reg->lock);
	dkc_limit(reg, i, limit);
	dkc_mutex_unlock(&reg->lock);
	return 0;
}
