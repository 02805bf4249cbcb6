/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares backends and devices. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_DEVICE_H
#define _DISPATCHKEY_DEVICE_H

#include <dispatchkey-operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum dk_join_flags - flags of dk_backend_join()
 * @DK_JOIN_ALONE: no other provider may join while this one is registered. Providers
 *	that have not joined can still register functions and devices
 */
enum dk_join_flags {
	DK_JOIN_ALONE = 1,
};

/**
 * dk_backend_join() - join a private backend by its name
 * @prov: the provider; it leaves the backend when it is unregistered
 * @name: such as "edu": 1 to 56 letters, digits and _-.+, without 0x at the start, and
 *	not the name of a key or backend in any case. Case is ignored
 * @pin: number of the private backend to which the name must be bound, or 0 for any
 * @flags: of enum dk_join_flags
 * @backend: set to the backend's number; may be NULL
 * @why: filled on failure; may be NULL
 *
 * If the name is bound to a backend, the provider joins this backend. If not, the name is
 * bound to a free private backend. It stays bound after its providers have been
 * unregistered, so that existing objects are not routed to functions of another name.
 * dk_backend_release() unbinds it.
 *
 * Context: Process context, may sleep.
 * Return:
 * * 0: success
 * * -ENOSPC: all private backends are bound to other names
 * * -EBUSY: another provider has joined, and it or @prov wants to be alone
 *   (DK_JOIN_ALONE); @name is bound to another backend than @pin; @pin is bound to
 *   another name; or @prov is being unregistered
 * * -EINVAL: @prov, @name, @pin or @flags is invalid
 * * -ESHUTDOWN
 */
int dk_backend_join(struct dk_provider *prov, const char *name, unsigned int pin,
		    unsigned int flags, unsigned int *backend, struct dk_diag *why);

/**
 * dk_backend_release() - unbind an unused name
 * @reg: registry, NULL for the default one
 * @name: the name
 * @why: filled on failure; may be NULL
 *
 * If another name is bound to the backend later, existing objects of the backend are
 * routed to the functions of that name. A provider may have registered functions at the
 * backend's keys without joining the backend. Such functions stay registered, and then
 * serve the objects of the other name.
 *
 * Context: Process context, may sleep.
 * Return:
 * * 0: success
 * * -ENOENT: the name is not bound
 * * -EBUSY: a provider has joined the backend, or a device of the backend is registered
 * * -ENOMEM: the backend is offline, and there is no memory to bring it online
 */
int dk_backend_release(struct dk_registry *reg, const char *name,
		       struct dk_diag *why);

/**
 * dk_backend_find() - look up a backend by its bound name or PyTorch's name
 * @reg: registry, NULL for the default one
 * @name: "edu", "PrivateUse1" or "CPU"
 * @backend: set to the backend's number; may be NULL
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENOENT.
 */
int dk_backend_find(struct dk_registry *reg, const char *name,
		    unsigned int *backend, struct dk_diag *why);

/**
 * dk_backend_name() - the displayed name of a backend
 * @reg: registry, NULL for the default one
 * @backend: its number
 * @buf: filled with the name
 *
 * Context: Process context, may sleep.
 * Return: @buf: the name bound to the backend, otherwise PyTorch's, such as "CPU";
 * empty for an invalid number.
 */
char *dk_backend_name(struct dk_registry *reg, unsigned int backend,
		      char buf[DK_NAME_MAX]);

/**
 * dk_registry_key_name() - the name of a key, with the bound name of its backend
 * @reg: registry, NULL for the default one
 * @key: any number
 * @buf: filled with the name
 *
 * Context: Process context, may sleep.
 * Return: @buf: for example "Autogradedu" for the key that dk_key_name() calls
 * "AutogradPrivateUse1", if its backend is bound to "edu".
 */
char *dk_registry_key_name(struct dk_registry *reg, unsigned int key,
			   char buf[DK_NAME_MAX]);

/**
 * dk_registry_key_parse() - parse the name of a key, including bound names of backends
 * @reg: registry, NULL for the default one
 * @name: as for dk_key_parse(), or "edu" or "Autogradedu" in upper or lower case
 * @key: set to the key
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (reason PARSE_KEY, or NULL_ARGUMENT if @name is NULL), -ENOMEM.
 */
int dk_registry_key_parse(struct dk_registry *reg, const char *name,
			  unsigned int *key, struct dk_diag *why);

/**
 * dk_registry_key_parse_strict() - parse the name of a key exactly as PyTorch does
 * @reg: registry, NULL for the default one
 * @name: the name
 * @key: set to the key
 * @why: filled on failure; may be NULL
 *
 * Accepts the same names as dk_key_parse() with DK_PARSE_STRICT. There is one exception,
 * as in PyTorch since 2.7: if PrivateUse1 is bound to a name, this name in capitals
 * replaces PRIVATEUSEONE, as in "AutogradEDU".
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return:
 * * 0: success
 * * -EINVAL: the name is unknown (reason PARSE_KEY) or NULL (reason NULL_ARGUMENT)
 * * -EOPNOTSUPP: the names that the layout's parser accepts are unknown (reason
 *   NO_STRICT)
 * * -ENOMEM: the default registry cannot be allocated
 */
int dk_registry_key_parse_strict(struct dk_registry *reg, const char *name,
				 unsigned int *key, struct dk_diag *why);

/**
 * dk_key_for_device() - the key of a dense tensor on a named device type
 * @reg: registry, NULL for the default one
 * @device: "cpu", "cuda", "privateuseone" and so on, or the bound name of a
 *	private backend; in lower case, without an index
 * @key: set to the key
 * @why: filled on failure; may be NULL
 *
 * Equivalent to PyTorch's _dispatch_key_for_device().
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return:
 * * 0: success
 * * -EINVAL: the device is unknown (reason BAD_DEVICE_TYPE), has an index, such as
 *   "cuda:0" (reason DEVICE_INDEX), or is NULL (reason NULL_ARGUMENT)
 * * -EOPNOTSUPP: the device has no dense tensors (reason DEVICE_DENSE)
 * * -ENOMEM: the default registry cannot be allocated
 */
int dk_key_for_device(struct dk_registry *reg, const char *device, unsigned int *key,
		      struct dk_diag *why);

/**
 * dk_device_register() - register a device and its functions, all or nothing
 * @prov: the provider
 * @backend: number of the device's backend
 * @name: unique in the registry, such as its PCI name
 * @priv: returned by dk_call_priv() in its functions
 * @impls: array of functions at keys of @backend; a building block such as
 *	DK_DENSE means the runtime key of @backend
 * @n: number of elements, at most 524288; may be 0
 * @device: set to the device's number; may be NULL
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return:
 * * 0: success
 * * -EEXIST: a device has this name
 * * -ENOSPC: there are too many devices or functions
 * * -EINVAL: the provider, the backend, the name, @impls or an element of @impls is
 *   invalid, such as a key of another backend
 * * -EBUSY: the provider is being unregistered
 * * -EPROTOTYPE, -EPROTO: as dk_impls_register()
 * * -ENOMEM, -ESHUTDOWN
 */
int dk_device_register(struct dk_provider *prov, unsigned int backend,
		       const char *name, void *priv, const struct dk_impl *impls,
		       unsigned int n, __u32 *device, struct dk_diag *why);

/**
 * dk_device_unregister() - unregister a device and wait for its running calls
 * @prov: the provider that registered it
 * @device: its number
 * @why: filled on failure; may be NULL
 *
 * After it returns 0, no call is running in the device's functions and none will enter
 * them. The device's objects are then routed to other functions of their backend. If
 * another thread unregisters the device or its provider at the same time, both threads
 * wait. A driver's remove function may ignore the result, unless it runs inside a call.
 *
 * Context: Process context, sleeps until the running calls return.
 * Return:
 * * 0: success
 * * -ENODEV: there is no such device
 * * -ENOENT: another provider registered the device
 * * -EINVAL: the provider is not registered
 * * -EDEADLK or -ESHUTDOWN as dk_provider_unregister()
 */
int dk_device_unregister(struct dk_provider *prov, __u32 device,
			 struct dk_diag *why);

/**
 * dk_device_find() - look up a device by name
 * @reg: registry, NULL for the default one
 * @name: the name
 * @obj: set to an object on the device, with the Dense key of the device's backend
 *	and the number of the device
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENODEV.
 */
int dk_device_find(struct dk_registry *reg, const char *name, struct dk_obj *obj,
		   struct dk_diag *why);

/**
 * dk_device_set_online_timeout() - dk_device_set_online() with a timeout
 * @reg: registry, NULL for the default one
 * @device: its number
 * @online: 0 for offline, otherwise online
 * @ms: how long to wait for running calls, in milliseconds; 0 to check once;
 *	DK_NO_TIMEOUT to wait until they return
 * @why: filled on failure, and on success as by dk_device_set_online(); may be NULL
 *
 * After -ETIMEDOUT the device is offline and no new call enters its functions, but a call is
 * still running. With the reason STILL_INSIDE, @why names the operator, function, device and
 * thread of this call, and the minimum time for which it has been running. To continue waiting,
 * call this function again. If another caller has brought the device online between the two
 * calls, the second one takes it offline again. The reason UNSERVED is reported only if 0 is
 * returned.
 * @ms does not limit the wait for a grace period, which calls of atomic operators may prolong.
 *
 * Context: Process context, sleeps for a grace period and until the timeout.
 * Return: As dk_device_set_online(), or -ETIMEDOUT.
 */
int dk_device_set_online_timeout(struct dk_registry *reg, __u32 device, int online,
				 unsigned int ms, struct dk_diag *why);

/**
 * dk_device_set_online() - take a device offline or bring it online
 * @reg: registry, NULL for the default one
 * @device: its number
 * @online: 0 for offline, otherwise online
 * @why: filled on failure; may be NULL. If an operator has no function left for the
 *	device's objects, also filled on success: with reason UNSERVED, the first such
 *	operator and the key, as in "aten::add at edu"
 *
 * The functions of an offline device stay registered but are not called. After this
 * function returns 0 for @online 0, no call is running in the device's functions. If
 * another caller brings the device online during the wait, the wait ends at once with
 * -ECANCELED.
 *
 * Context: Process context, sleeps until the running calls return.
 * Return: 0, -ENODEV, -ENOMEM (nothing has changed), -ECANCELED, -EDEADLK or
 * -ESHUTDOWN as dk_provider_unregister().
 */
DK_INLINE int dk_device_set_online(struct dk_registry *reg, __u32 device, int online,
				   struct dk_diag *why)
{
	return dk_device_set_online_timeout(reg, device, online, DK_NO_TIMEOUT, why);
}

/**
 * dk_backend_set_online_timeout() - dk_backend_set_online() with a timeout
 * @reg: registry, NULL for the default one
 * @backend: its number
 * @online: 0 for offline, otherwise online
 * @ms: how long to wait for running calls, in milliseconds; 0 to check once;
 *	DK_NO_TIMEOUT to wait until they return
 * @why: filled on failure, and on success as by dk_device_set_online(); may be NULL
 *
 * Like dk_device_set_online_timeout().
 *
 * Context: Process context, sleeps for a grace period and until the timeout.
 * Return: As dk_backend_set_online(), or -ETIMEDOUT.
 */
int dk_backend_set_online_timeout(struct dk_registry *reg, unsigned int backend,
				  int online, unsigned int ms, struct dk_diag *why);

/**
 * dk_backend_set_online() - take a whole backend offline or bring it online
 * @reg: registry, NULL for the default one
 * @backend: its number
 * @online: 0 for offline, otherwise online
 * @why: filled on failure; may be NULL. If an operator has no function left for the
 *	backend's objects, also filled on success, with reason UNSERVED
 *
 * While a backend is offline, no function at its keys is called. This holds for the
 * functions of all providers and devices, for backend fallbacks, and for functions that
 * are registered later. After this function returns 0 for @online 0, no call is running
 * in any of these functions. The states of the backend's devices do not change.
 * dk_backend_release() brings the backend online.
 *
 * Context: Process context, sleeps until the running calls return.
 * Return:
 * * 0: success
 * * -EINVAL: there is no such backend
 * * -ENOMEM: there is no memory; nothing has changed
 * * -ECANCELED: as dk_device_set_online()
 * * -EDEADLK: called from inside a function at one of the backend's keys, a hook, an
 *   atomic call or, in userspace, a read-side critical section of liburcu-bp. A kernel
 *   without CONFIG_PREEMPT_COUNT detects neither a hook nor an atomic call
 * * -ESHUTDOWN
 */
DK_INLINE int dk_backend_set_online(struct dk_registry *reg, unsigned int backend,
				    int online, struct dk_diag *why)
{
	return dk_backend_set_online_timeout(reg, backend, online, DK_NO_TIMEOUT, why);
}

/**
 * dk_backend_is_online() - whether a backend is online
 * @reg: registry, NULL for the default one
 * @backend: its number
 *
 * Context: Any.
 * Return: 1 or 0; 0 also for an invalid number.
 */
int dk_backend_is_online(struct dk_registry *reg, unsigned int backend);

/*
 * The type of an argument that is a backend, not a key. In C it is an enum, so that
 * compilers warn if an enum dk_key is passed. C++ would not convert a number from
 * dk_backend_join() to an enum.
 */
#ifdef __cplusplus
#define dk__backend	unsigned int
#else
#define dk__backend	enum dk_backend
#endif

/**
 * dk_obj_on() - make an object on a backend or device
 * @backend: number of the backend whose Dense key it gets, from enum dk_backend or
 *	dk_backend_join()
 * @device: number of the device, or 0
 *
 * Context: Any.
 * Return: The object. If layout v1 has no such backend, the object has no keys.
 */
DK_INLINE struct dk_obj dk_obj_on(dk__backend backend, __u32 device)
{
	const unsigned int b = backend;
	struct dk_obj obj = { { b - 1 < DK_NUM_BACKENDS ?
				DK_FUNCTIONALITY_BIT(DK_DENSE) | DK_BACKEND_BIT(b) : 0 },
			      device, 0 };
	return obj;
}

/**
 * dk_obj_undefined() - make the object of PyTorch's undefined tensor
 *
 * The object stands for an argument that is present but has no tensor. Its keys are
 * ADInplaceOrView and AutogradOther (SEMANTICS 6.1). An absent optional argument is
 * NULL instead and adds no keys.
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
