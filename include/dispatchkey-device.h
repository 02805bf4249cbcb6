/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Backends and devices. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_DEVICE_H
#define _DISPATCHKEY_DEVICE_H

#include <dispatchkey-operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum dk_join_flags - how dk_backend_join() binds a name
 * @DK_JOIN_ALONE: nobody else may join, as long as the provider is registered
 */
enum dk_join_flags {
	DK_JOIN_ALONE = 1,
};

/**
 * dk_backend_join() - get the private backend of a name, binding a free one
 * @prov: the provider, which leaves it when it is unregistered
 * @name: such as "edu", in any case
 * @pin: the backend that it has to be, or 0
 * @flags: of enum dk_join_flags
 * @backend: takes its number
 * @why: filled on failure; may be NULL
 *
 * The binding stays for the life of the registry, so that old objects never
 * meet a newcomer.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOSPC (three names are bound), -EBUSY (had alone, or pinned
 * elsewhere), -EINVAL (provider, name, pin), -ENOMEM, -ESHUTDOWN.
 */
int dk_backend_join(struct dk_provider *prov, const char *name, unsigned int pin,
		    unsigned int flags, unsigned int *backend, struct dk_diag *why);

/**
 * dk_backend_release() - unbind an unused name
 * @reg: registry, NULL for the default one
 * @name: the name
 * @why: filled on failure; may be NULL
 *
 * Objects of the old name are then routed to the functions of the next name that
 * is bound to the backend.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOENT, -EBUSY (a provider that joined it or a device of it is
 * registered); -ENOMEM if it was offline and cannot be switched.
 */
int dk_backend_release(struct dk_registry *reg, const char *name,
		       struct dk_diag *why);

/**
 * dk_backend_find() - a backend by its private name or its own
 * @reg: registry, NULL for the default one
 * @name: "edu", "PrivateUse1" or "CPU"
 * @backend: takes its number
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENOENT.
 */
int dk_backend_find(struct dk_registry *reg, const char *name,
		    unsigned int *backend, struct dk_diag *why);

/**
 * dk_backend_name() - the name that people know a backend by
 * @reg: registry, NULL for the default one
 * @backend: its number
 * @buf: takes the name
 *
 * Context: Process context, may sleep.
 * Return: @buf: the private name that the backend is bound to, or its own,
 * such as "CPU"; empty for a number that is none.
 */
char *dk_backend_name(struct dk_registry *reg, unsigned int backend,
		      char buf[DK_NAME_MAX]);

/**
 * dk_registry_key_name() - the name of a key, as people know its backend
 * @reg: registry, NULL for the default one
 * @key: any number
 * @buf: takes the name
 *
 * Context: Process context, may sleep.
 * Return: @buf: "Autogradedu" where dk_key_name() says "AutogradPrivateUse1"
 * and the backend is bound to "edu".
 */
char *dk_registry_key_name(struct dk_registry *reg, unsigned int key,
			   char buf[DK_NAME_MAX]);

/**
 * dk_registry_key_parse() - a key by name, private names of backends included
 * @reg: registry, NULL for the default one
 * @name: what dk_key_parse() takes, or "edu", "Autogradedu" in any case
 * @key: takes the key
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (reason PARSE_KEY), -ENOMEM.
 */
int dk_registry_key_parse(struct dk_registry *reg, const char *name,
			  unsigned int *key, struct dk_diag *why);

/**
 * dk_registry_key_parse_strict() - a key by name, as PyTorch's parser reads it
 * @reg: registry, NULL for the default one
 * @name: the name
 * @key: takes the key
 * @why: filled on failure; may be NULL
 *
 * dk_key_parse() with DK_PARSE_STRICT; but where PrivateUse1 is bound to a name,
 * that name in capitals stands for it ("AutogradEDU"), and PRIVATEUSEONE no
 * longer does. PyTorch has it so since 2.7.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL (reason PARSE_KEY); -EOPNOTSUPP (reason NO_STRICT) where
 * that parser is not known; -ENOMEM if the default registry could not be made.
 */
int dk_registry_key_parse_strict(struct dk_registry *reg, const char *name,
				 unsigned int *key, struct dk_diag *why);

/**
 * dk_key_for_device() - the key of a dense tensor on a device, by its written name
 * @reg: registry, NULL for the default one
 * @device: "cpu", "cuda", "privateuseone" and so on, in lower case and without an
 *	index; or the name that a private backend is bound to, in lower case
 * @key: takes the key
 * @why: filled on failure; may be NULL
 *
 * The rule is PyTorch's _dispatch_key_for_device().
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL for a device that is unknown or has an index, such as
 * "cuda:0" (reasons BAD_DEVICE_TYPE, DEVICE_INDEX); -EOPNOTSUPP for one that has
 * no dense tensors (reason DEVICE_DENSE); -ENOMEM if the default registry could
 * not be made.
 */
int dk_key_for_device(struct dk_registry *reg, const char *device, unsigned int *key,
		      struct dk_diag *why);

/**
 * dk_device_register() - a device, with its functions: all or nothing
 * @prov: the provider
 * @backend: of which backend it is a device
 * @name: unique in the registry, such as its PCI name
 * @priv: what dk_call_priv() gives to its functions
 * @impls: table of functions at keys of @backend; a building block such as
 *	DK_DENSE means the runtime key of @backend
 * @n: its length, may be 0, at most 524288
 * @device: takes the number
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EEXIST (name), -ENOSPC (too many devices or functions), -EINVAL (provider,
 * backend, key of another backend, ...), -EPROTOTYPE, -ENOMEM, -ESHUTDOWN.
 */
int dk_device_register(struct dk_provider *prov, unsigned int backend,
		       const char *name, void *priv, const struct dk_impl *impls,
		       unsigned int n, __u32 *device, struct dk_diag *why);

/**
 * dk_device_unregister() - take a device out
 * @prov: the provider that registered it
 * @device: its number
 * @why: filled on failure; may be NULL
 *
 * When it returns 0, no call is inside the device's functions and none will
 * enter; its objects are served by whatever else serves their backend. A driver
 * that calls it from its remove function, outside of any call, need not look at
 * the answer.
 *
 * Context: Process context, sleeps until the calls inside have returned.
 * Return: 0, -ENODEV, -EINVAL (the provider is not registered), -EDEADLK or
 * -ESHUTDOWN as dk_provider_unregister().
 */
int dk_device_unregister(struct dk_provider *prov, __u32 device,
			 struct dk_diag *why);

/**
 * dk_device_find() - a device by name
 * @reg: registry, NULL for the default one
 * @name: the name
 * @obj: takes the object on that device: its backend's Dense key and its number
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENODEV.
 */
int dk_device_find(struct dk_registry *reg, const char *name, struct dk_obj *obj,
		   struct dk_diag *why);

/**
 * dk_device_set_online() - take a device offline or online again
 * @reg: registry, NULL for the default one
 * @device: its number
 * @online: 0 for offline
 * @why: filled on failure; may be NULL
 *
 * Offline, its functions are as if absent, and calls inside have returned. That
 * an operator is left without a function for the device's objects is no
 * obstacle: @why names the first one then (reason UNSERVED, with 0 returned).
 *
 * If another caller brings the device online before the calls inside have returned,
 * this one stops waiting at once and fails with -ECANCELED.
 *
 * Context: Process context, sleeps until the calls inside have returned.
 * Return: 0, -ENODEV, -ENOMEM (then nothing has changed), -ECANCELED (online
 * again), -EDEADLK or -ESHUTDOWN as dk_provider_unregister().
 */
int dk_device_set_online(struct dk_registry *reg, __u32 device, int online,
			 struct dk_diag *why);

/**
 * dk_device_set_online_timeout() - dk_device_set_online(), until a deadline
 * @reg: registry, NULL for the default one
 * @device: its number
 * @online: 0 for offline
 * @ms: how long to wait for the calls inside, in milliseconds; 0 looks once
 * @why: filled on failure, or as for dk_device_set_online(); may be NULL
 *
 * After -ETIMEDOUT the device is offline and no new call enters, but a call that
 * was inside has not returned: @why names it, its function and thread, and for how
 * long it is known to be there (reason STILL_INSIDE). Asking again goes
 * on waiting, and takes it offline again if somebody has brought it online
 * meanwhile. That an operator is left unserved is told with 0 only. A grace period,
 * which calls of atomic operators may prolong, is always waited for.
 *
 * Context: Process context, sleeps for a grace period and until the deadline.
 * Return: As dk_device_set_online(), or -ETIMEDOUT.
 */
int dk_device_set_online_timeout(struct dk_registry *reg, __u32 device, int online,
				 unsigned int ms, struct dk_diag *why);

/**
 * dk_backend_set_online() - take a whole backend offline or online again
 * @reg: registry, NULL for the default one
 * @backend: its number
 * @online: 0 for offline
 * @why: filled on failure, or as for dk_device_set_online(); may be NULL
 *
 * Offline, whatever is registered at keys of the backend is as if absent,
 * whoever registered it, for the backend or for one of its devices, backend
 * fallbacks too, and what is registered meanwhile; calls inside have returned.
 * Which of its devices are online by themselves is remembered. Releasing the
 * backend's name brings it online.
 *
 * Context: Process context, sleeps until the calls inside have returned.
 * Return: 0; -EINVAL (no such backend); -ENOMEM (then nothing has changed);
 * -ECANCELED as dk_device_set_online(); -EDEADLK from inside a function at one of
 * its keys or from an atomic call; -ESHUTDOWN.
 */
int dk_backend_set_online(struct dk_registry *reg, unsigned int backend, int online,
			  struct dk_diag *why);

/**
 * dk_backend_set_online_timeout() - dk_backend_set_online(), until a deadline
 * @reg: registry, NULL for the default one
 * @backend: its number
 * @online: 0 for offline
 * @ms: how long to wait for the calls inside, in milliseconds; 0 looks once
 * @why: filled on failure, or as for dk_device_set_online(); may be NULL
 *
 * As dk_device_set_online_timeout().
 *
 * Context: Process context, sleeps for a grace period and until the deadline.
 * Return: As dk_backend_set_online(), or -ETIMEDOUT.
 */
int dk_backend_set_online_timeout(struct dk_registry *reg, unsigned int backend,
				  int online, unsigned int ms, struct dk_diag *why);

/**
 * dk_backend_is_online() - has nobody taken a backend offline?
 * @reg: registry, NULL for the default one
 * @backend: its number
 *
 * Context: Any.
 * Return: 1 or 0; 0 also for a number that is none.
 */
int dk_backend_is_online(struct dk_registry *reg, unsigned int backend);

/**
 * dk_obj_on() - the object of a backend or of a device
 * @backend: whose Dense key it has
 * @device: number, or 0
 *
 * Context: Any.
 * Return: The object.
 */
DK_INLINE struct dk_obj dk_obj_on(unsigned int backend, __u32 device)
{
	struct dk_obj obj = { { DK_FUNCTIONALITY_BIT(DK_DENSE) |
				DK_BACKEND_BIT(backend) }, device, 0 };
	return obj;
}

/**
 * dk_obj_undefined() - the object of PyTorch's undefined tensor
 *
 * An argument that is there and has no tensor: it has ADInplaceOrView and
 * AutogradOther (SEMANTICS 6.1). An absent optional argument is NULL and adds
 * nothing.
 *
 * Context: Any.
 * Return: The object, in layout v1.
 */
DK_INLINE struct dk_obj dk_obj_undefined(void)
{
	struct dk_obj obj = { { DK_FUNCTIONALITY_BIT(DK_ADINPLACE_OR_VIEW) |
				DK_FUNCTIONALITY_BIT(DK_AUTOGRAD_OTHER) }, 0, 0 };
	return obj;
}

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_DEVICE_H */
