/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Lists the contents of a registry: its size, backends, devices, providers and
 * limits. Included by <dispatchkey.h>.
 *
 * These functions exist in userspace and on bare metal. The kernel module has only
 * dk_registry_device().
 */
#ifndef _DISPATCHKEY_LIST_H
#define _DISPATCHKEY_LIST_H

#include <dispatchkey-registry.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct dk_counts - the size of a registry
 * @size: sizeof(struct dk_counts), set by the caller
 * @operators: number of operators that are defined or have functions
 * @impls: number of functions of operators
 * @providers: number of registered providers, including those being
 *	unregistered
 * @devices: number of registered devices
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
 * dk_registry_counts() - get the size of a registry
 * @reg: the registry, NULL for the default one
 * @counts: filled with the numbers; set @counts->size first
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 0, -EINVAL (size), -ENOMEM.
 */
int dk_registry_counts(struct dk_registry *reg, struct dk_counts *counts);

/**
 * struct dk_backend_info - a backend
 * @size: sizeof(struct dk_backend_info), set by the caller
 * @number: its number
 * @is_online: as dk_backend_is_online()
 * @is_bound: whether it is a private backend that is bound to a name
 * @is_alone: whether a provider joined it with DK_JOIN_ALONE
 * @reserved: zero
 * @providers: number of providers that have joined it
 * @devices: number of its registered devices
 * @impls: number of functions registered at its keys, including backend
 *	fallbacks and functions of devices
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
 * dk_registry_backend() - get information on a backend
 * @reg: the registry, NULL for the default one
 * @backend: its number, 1 to dk_layout_backends()
 * @info: filled with the backend; set @info->size first
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 0, -ENOENT (no such backend), -EINVAL (size), -ENOMEM.
 */
int dk_registry_backend(struct dk_registry *reg, unsigned int backend,
			struct dk_backend_info *info);

/**
 * struct dk_device_info - a device
 * @size: sizeof(struct dk_device_info), set by the caller
 * @number: its number
 * @backend: number of its backend
 * @impls: number of functions that it was registered with
 * @is_online: 0 if the device itself was taken offline; see @backend_online
 * @backend_online: 0 if its backend was taken offline
 * @reserved: zero
 * @name: its name
 * @provider: name of the provider that registered it
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
 * dk_registry_device() - get information on a device
 * @reg: the registry, NULL for the default one
 * @device: its number
 * @info: filled with the device; set @info->size first
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENODEV, -EINVAL (size), -ENOMEM.
 */
int dk_registry_device(struct dk_registry *reg, __u32 device,
		       struct dk_device_info *info);

/**
 * dk_registry_next_device() - walk the devices of a registry
 * @reg: the registry, NULL for the default one
 * @after: number of the previous device, which may be unregistered; 0 to
 *	begin
 * @info: filled with the device; set @info->size first
 *
 * Every device that is registered during the whole walk is returned exactly once,
 * even if other devices are added or removed during the walk.
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 0, -ENOENT at the end, -EINVAL (size), -ENOMEM.
 */
int dk_registry_next_device(struct dk_registry *reg, __u32 after,
			    struct dk_device_info *info);

/**
 * struct dk_provider_info - a provider
 * @size: sizeof(struct dk_provider_info), set by the caller
 * @is_unregistering: whether it is being unregistered; unregistering waits for its
 *	running calls
 * @number: sequence number of its registration in the registry
 * @operators: number of operators that the provider defines
 * @impls: number of functions that the provider has registered, including backend
 *	fallbacks
 * @devices: number of devices that the provider has registered
 * @reserved: zero
 * @backends: set of the private backends that the provider has joined
 * @name: its name, which need not be unique
 * @module: name of its kernel module, or empty
 */
struct dk_provider_info {
	__u32 size;
	__u32 is_unregistering;
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
 * dk_registry_next_provider() - walk the providers of a registry, oldest first
 * @reg: the registry, NULL for the default one
 * @after: number of the previous provider, which may be unregistered; 0 to
 *	begin
 * @info: filled with the provider; set @info->size first
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 0, -ENOENT at the end, -EINVAL (size), -ENOMEM.
 */
int dk_registry_next_provider(struct dk_registry *reg, __u64 after,
			      struct dk_provider_info *info);

/**
 * struct dk_limit - a limit of a registry
 * @size: sizeof(struct dk_limit), set by the caller
 * @has_used: whether @used is valid
 * @name: constant, such as "private-backends"
 * @most: the limit
 * @used: how much of the limit is in use
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
 * @i: index, from 0
 * @limit: filled with the limit; set @limit->size first
 *
 * The limits are "private-backends", "devices", "arguments" (that the declaration of an
 * operator describes) and "name-length".
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 0, -ENOENT at the end, -EINVAL (size), -ENOMEM.
 */
int dk_registry_limit(struct dk_registry *reg, unsigned int i, struct dk_limit *limit);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_LIST_H */
