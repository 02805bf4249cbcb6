// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Lists the contents of a registry. Each function takes the lock once, so that its result is
 * consistent. Callers continue a walk from the number of the last element, not from a pointer, so
 * that changes between two calls do no harm.
 */
#include "observe.h"

int dkc_registry_lock(struct dk_registry **reg, u32 size, size_t expected)
{
	if (size != expected)
		return -EINVAL;
	*reg = dkc_registry_locked(*reg);
	return *reg ? 0 : -ENOMEM;
}

int dk_registry_counts(struct dk_registry *reg, struct dk_counts *counts)
{
	int err = dkc_registry_lock(&reg, counts->size, sizeof(*counts));
	const struct dkc_provider *core;

	if (err)
		return err;
	*counts = (struct dk_counts){
		.size = sizeof(*counts), .operators = reg->num_listed, .impls = reg->num_impls,
		.devices = reg->num_devices, .generation = reg->generation,
	};
	for (core = reg->providers; core; core = core->next)
		counts->providers += !core->drained;
	mutex_unlock(&reg->lock);
	return 0;
}

/* ---- backends ------------------------------------------------------------- */

int dk_registry_backend(struct dk_registry *reg, unsigned int backend, struct dk_backend_info *info)
{
	int err = dkc_registry_lock(&reg, info->size, sizeof(*info));
	const struct dkc_private_backend *pb;

	if (err)
		return err;
	if (!backend || backend > reg->layout->nb) {
		mutex_unlock(&reg->lock);
		return -ENOENT;
	}
	pb = reg->private_backend[backend];
	*info = (struct dk_backend_info){
		.size = sizeof(*info), .number = backend,
		.is_online = !(reg->offline & dkc_backend_bit(backend)),
		.is_bound = pb->name[0] != 0, .is_alone = !!pb->alone,
		.providers = pb->users, .devices = reg->devices_of[backend],
		.impls = reg->impls_at[backend],
	};
	dkc_strcpy(info->own_name, reg->layout->backend_names[backend], sizeof(info->own_name));
	dkc_backend_text(reg, backend, info->name);
	mutex_unlock(&reg->lock);
	return 0;
}

/* ---- devices -------------------------------------------------------------- */

static void device_fill(const struct dk_registry *reg, const struct dkc_device *dev,
			struct dk_device_info *info)
{
	*info = (struct dk_device_info){
		.size = sizeof(*info), .number = dev->number, .backend = dev->backend,
		.impls = dev->block->n, .is_online = dev->online,
		.backend_online = !(reg->offline & dkc_backend_bit(dev->backend)),
	};
	dkc_strcpy(info->name, dev->name, sizeof(info->name));
	dkc_strcpy(info->provider, dev->prov->name, sizeof(info->provider));
	dkc_backend_text(reg, dev->backend, info->backend_name);
}

static int device_info(struct dk_registry *reg, u32 number,
		       struct dkc_device *(*find)(const struct dk_registry *reg, u32 number),
		       struct dk_device_info *info)
{
	int err = dkc_registry_lock(&reg, info->size, sizeof(*info));
	const struct dkc_device *dev;

	if (err)
		return err;
	dev = find(reg, number);
	if (dev)
		device_fill(reg, dev, info);
	mutex_unlock(&reg->lock);
	return dev ? 0 : -ENODEV;
}

int dk_registry_device(struct dk_registry *reg, __u32 device, struct dk_device_info *info)
{
	return device_info(reg, device, dkc_device_at, info);
}

int dk_registry_next_device(struct dk_registry *reg, __u32 after, struct dk_device_info *info)
{
	int err = device_info(reg, after, dkc_device_after, info);

	return err == -ENODEV ? -ENOENT : err;
}

/* ---- providers ------------------------------------------------------------ */

int dk_registry_next_provider(struct dk_registry *reg, __u64 after, struct dk_provider_info *info)
{
	int err = dkc_registry_lock(&reg, info->size, sizeof(*info));
	const struct dkc_provider *core;

	if (err)
		return err;
	core = dkc_provider_after(reg, after);
	if (core) {
		*info = (struct dk_provider_info){
			.size = sizeof(*info), .is_unregistering = core->unregistering,
			.number = core->number, .operators = core->num_ops,
			.impls = core->num_impls, .devices = core->num_devices,
			.backends = { core->joined >> 1 },
		};
		dkc_strcpy(info->name, core->name, sizeof(info->name));
		dkc_strcpy(info->module, dkc_owner_name(core->owner), sizeof(info->module));
	}
	mutex_unlock(&reg->lock);
	return core ? 0 : -ENOENT;
}

/* ---- limits --------------------------------------------------------------- */

int dk_registry_limit(struct dk_registry *reg, unsigned int i, struct dk_limit *limit)
{
	static const struct dk_limit limits[] = {
		{ .name = "private-backends", .has_used = 1 },
		{ .name = "devices", .most = DKC_MAX_DEVICES, .has_used = 1 },
		{ .name = "arguments", .most = DKC_MAX_PARAMS },
		{ .name = "name-length", .most = DK_NAME_MAX - 1 },
	};
	int err = dkc_registry_lock(&reg, limit->size, sizeof(*limit));
	unsigned int b;

	if (err)
		return err;
	if (i < ARRAY_SIZE(limits)) {
		*limit = limits[i];
		limit->size = sizeof(*limit);
	} else {
		err = -ENOENT;
	}
	for (b = 1; i == 0 && b <= reg->layout->nb; b++) {
		limit->most += dkc_is_private(reg->layout, b);
		limit->used += reg->private_backend[b]->name[0] != 0;
	}
	if (i == 1)
		limit->used = reg->num_devices;
	mutex_unlock(&reg->lock);
	return err;
}
