/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a registry has: how much, and its backends, devices and providers one by
 * one. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_LIST_H
#define _DISPATCHKEY_LIST_H

#include <dispatchkey-registry.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct dk_counts - how much a registry has
 * @size: sizeof(struct dk_counts), set by the caller
 * @operators: that are defined or have functions
 * @impls: functions of operators
 * @providers: that are registered, those that are leaving included
 * @devices: that are registered
 * @reserved: zero
 * @generation: as dk_registry_generation()
 */
struct dk_counts {
	__u32 size;
	__u32 operators;
	__u32 impls;
	__u32 providers;
	__u32 devices;
	__u32 reserved;
	__u64 generation;
};

/**
 * dk_registry_counts() - how much a registry has
 * @reg: the registry, NULL for the default one
 * @counts: takes the answer; set @counts->size before
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (size), -ENOMEM.
 */
int dk_registry_counts(struct dk_registry *reg, struct dk_counts *counts);

/**
 * struct dk_backend_info - a backend
 * @size: sizeof(struct dk_backend_info), set by the caller
 * @number: its number
 * @is_online: as dk_backend_is_online()
 * @is_bound: whether it is a private one that is bound to a name
 * @is_alone: whether one provider has it alone
 * @reserved: zero
 * @providers: how many have joined it
 * @devices: how many are registered below it
 * @impls: how many functions are registered at its keys, backend fallbacks and
 *	those of devices, too
 * @name: as dk_backend_name()
 * @own_name: the layout's name for it, such as "PrivateUse1"
 */
struct dk_backend_info {
	__u32 size;
	__u32 number;
	__u8 is_online;
	__u8 is_bound;
	__u8 is_alone;
	__u8 reserved;
	__u32 providers;
	__u32 devices;
	__u32 impls;
	char name[DK_NAME_MAX];
	char own_name[DK_NAME_MAX];
};

/**
 * dk_registry_backend() - what there is to know of a backend
 * @reg: the registry, NULL for the default one
 * @backend: its number, 1 to dk_layout_backends()
 * @info: takes the answer; set @info->size before
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT (no backend has the number), -EINVAL (size), -ENOMEM.
 */
int dk_registry_backend(struct dk_registry *reg, unsigned int backend,
			struct dk_backend_info *info);

/**
 * struct dk_device_info - a device
 * @size: sizeof(struct dk_device_info), set by the caller
 * @number: its number
 * @backend: number of its backend
 * @impls: how many functions it was registered with
 * @is_online: whether nobody has taken it offline; see @backend_online
 * @backend_online: whether nobody has taken its backend offline
 * @reserved: zero
 * @name: its name
 * @provider: name of who registered it
 * @backend_name: as dk_backend_name()
 */
struct dk_device_info {
	__u32 size;
	__u32 number;
	__u32 backend;
	__u32 impls;
	__u8 is_online;
	__u8 backend_online;
	__u8 reserved[6];
	char name[DK_NAME_MAX];
	char provider[DK_NAME_MAX];
	char backend_name[DK_NAME_MAX];
};

/**
 * dk_registry_device() - what there is to know of a device
 * @reg: the registry, NULL for the default one
 * @device: its number
 * @info: takes the answer; set @info->size before
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENODEV, -EINVAL (size), -ENOMEM.
 */
int dk_registry_device(struct dk_registry *reg, __u32 device,
		       struct dk_device_info *info);

/**
 * dk_registry_next_device() - walk the devices of a registry
 * @reg: the registry, NULL for the default one
 * @after: number of the device behind which to look, which may be gone; 0 begins
 * @info: takes the answer; set @info->size before
 *
 * Devices that come and go meanwhile do not disturb the walk: each that is there
 * all the time is met once.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT behind the last one, -EINVAL (size), -ENOMEM.
 */
int dk_registry_next_device(struct dk_registry *reg, __u32 after,
			    struct dk_device_info *info);

/**
 * struct dk_provider_info - a provider
 * @size: sizeof(struct dk_provider_info), set by the caller
 * @is_leaving: whether it is being unregistered, and calls inside are waited for
 * @number: of those of the registry it is the @number-th that came
 * @operators: how many it defines
 * @impls: how many functions it has registered, backend fallbacks, too
 * @devices: how many devices it has registered
 * @reserved: zero
 * @backends: set of the private backends that it has joined
 * @name: its name, which others may have, too
 * @module: name of its kernel module, empty where it is none's
 */
struct dk_provider_info {
	__u32 size;
	__u32 is_leaving;
	__u64 number;
	__u32 operators;
	__u32 impls;
	__u32 devices;
	__u32 reserved;
	struct dk_keyset backends;
	char name[DK_NAME_MAX];
	char module[DK_NAME_MAX];
};

/**
 * dk_registry_next_provider() - walk the providers of a registry as they came
 * @reg: the registry, NULL for the default one
 * @after: number of the provider behind which to look, which may be gone; 0
 *	begins
 * @info: takes the answer; set @info->size before
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT behind the last one, -EINVAL (size), -ENOMEM.
 */
int dk_registry_next_provider(struct dk_registry *reg, __u64 after,
			      struct dk_provider_info *info);

/**
 * struct dk_limit - how much there may be of something
 * @size: sizeof(struct dk_limit), set by the caller
 * @has_used: whether @used says something
 * @name: constant, such as "private-backends"
 * @most: how much of it there may be
 * @used: how much of it there is
 */
struct dk_limit {
	__u32 size;
	__u32 has_used;
	const char *name;
	__u64 most;
	__u64 used;
};

/**
 * dk_registry_limit() - walk the limits of a registry
 * @reg: the registry, NULL for the default one
 * @i: which one, from 0
 * @limit: takes the answer; set @limit->size before
 *
 * They are "private-backends", "devices", "arguments" (of a call that is described
 * by a schema) and "name-length".
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT behind the last one, -EINVAL (size), -ENOMEM.
 */
int dk_registry_limit(struct dk_registry *reg, unsigned int i, struct dk_limit *limit);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_LIST_H */
