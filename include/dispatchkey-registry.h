/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Registries, and the providers that register in them. Included by
 * <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_REGISTRY_H
#define _DISPATCHKEY_REGISTRY_H

#include <dispatchkey-keyset.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- registries ----------------------------------------------------------- */

/**
 * enum dk_registry_flags - how a registry begins
 * @DK_REGISTRY_STOCKED: with the fallthroughs that a call needs under the
 *	default local state; without it, bare
 * @DK_REGISTRY_FORCE_RESOLVE: every call goes through the rule evaluator:
 *	slow, for tests
 */
enum dk_registry_flags {
	DK_REGISTRY_STOCKED = 1,
	DK_REGISTRY_FORCE_RESOLVE = 2,
};

/**
 * dk_registry_alloc() - a registry of one's own
 * @l: its layout, NULL for v1
 * @flags: of enum dk_registry_flags
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: The registry, or NULL (reasons NO_MEMORY, NO_TABLE, BAD_FLAGS).
 */
struct dk_registry *dk_registry_alloc(const struct dk_layout *l, unsigned int flags,
				      struct dk_diag *why);

/**
 * dk_registry_free() - give a registry back
 * @reg: from dk_registry_alloc(); NULL is fine
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, or -EBUSY while providers, listeners or hooks are registered, or
 * operators are held.
 */
int dk_registry_free(struct dk_registry *reg, struct dk_diag *why);

/**
 * dk_registry_default() - the registry that everybody shares
 *
 * Context: Any; in userspace the first use allocates.
 * Return: The registry, of layout v1 and stocked; in userspace NULL if there
 * was no memory to make it.
 */
struct dk_registry *dk_registry_default(void);

/**
 * dk_registry_layout() - the layout of a registry
 * @reg: registry, NULL for the default one
 *
 * Context: Any.
 * Return: The layout.
 */
const struct dk_layout *dk_registry_layout(const struct dk_registry *reg);

/**
 * dk_registry_generation() - a number that grows with every change
 * @reg: registry, NULL for the default one
 *
 * Read it before and after a walk over several entries: if it is the same, the
 * walk saw one state. To switch or reset the counters is a change, too.
 *
 * Context: Process context, may sleep.
 * Return: The number.
 */
__u64 dk_registry_generation(struct dk_registry *reg);

/**
 * dk_registry_check() - compare every published row with the rules
 * @reg: the registry
 * @why: filled with the operator's name where something is wrong; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EILSEQ if an entry differs from what the rules say, or -ENOMEM.
 */
int dk_registry_check(struct dk_registry *reg, struct dk_diag *why);

/* ---- providers ------------------------------------------------------------ */

/**
 * struct dk_provider - who registers: a driver, a runtime, a plugin
 * @size: sizeof(struct dk_provider)
 * @abi: DK_ABI_VERSION
 * @layout: name of the layout that its keys are numbers of
 * @name: for people; 1 to 127 bytes of UTF-8 without spaces, control or
 *	bidirectional characters
 * @registry: where to register, NULL for the default registry
 * @priv: what dk_call_priv() gives to its functions that have no device
 * @owner: the module; in userspace the program or shared object, or NULL
 * @core: NULL while it is not registered, and nobody waits for its calls
 *
 * The storage is the caller's, and has to stay until it is unregistered.
 */
struct dk_provider {
	__u32 size;
	__u32 abi;
	const char *layout;
	const char *name;
	struct dk_registry *registry;
	void *priv;
	void *owner;
	struct dkc_provider *core;
};

/**
 * DK_PROVIDER() - what a struct dk_provider is initialised with
 * @provider_name: its name
 *
 * It notes the module, the ABI and the layout that the caller is built for.
 */
#define DK_PROVIDER(provider_name) {					\
	.size = sizeof(struct dk_provider),				\
	.abi = DK_ABI_VERSION,						\
	.layout = DK_LAYOUT_NAME,					\
	.name = (provider_name),					\
	.owner = DK__THIS_MODULE,					\
}

/**
 * dk_provider_register() - begin to register
 * @prov: from DK_PROVIDER()
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, -EINVAL (size, name), -EPROTO (ABI or layout), -EEXIST (is
 * registered), -ENOMEM, -ESHUTDOWN.
 */
int dk_provider_register(struct dk_provider *prov, struct dk_diag *why);

/**
 * dk_provider_unregister() - take out everything that a provider brought
 * @prov: the provider; one that is not registered is fine
 *
 * When it returns 0, no call is inside the provider's functions and none will
 * enter. It works when every allocation fails. Calls that race go to the next
 * candidate. Several may call it at once, and each waits. Two providers whose
 * functions unregister each other wait for ever.
 *
 * Context: Process context, sleeps until the calls inside have returned.
 * Return: 0; -EDEADLK from inside a function of the same provider, from inside a hook
 * or, in the kernel, from an atomic call (then nothing has changed); -ESHUTDOWN at the
 * end of the process, when its functions are no longer called and stay where they are.
 */
int dk_provider_unregister(struct dk_provider *prov);

/**
 * dk_provider_unregister_timeout() - dk_provider_unregister(), until a deadline
 * @prov: the provider; one that is not registered is fine
 * @ms: how long to wait, in milliseconds; 0 looks once
 * @why: filled on failure; may be NULL
 *
 * Whatever it returns but -EDEADLK and -ESHUTDOWN, no new call enters. After
 * -ETIMEDOUT the provider is leaving: calling this or dk_provider_unregister()
 * again goes on waiting, it cannot register anything, and only 0 allows its
 * memory and code to go. @why then names a call that is inside, its function
 * and thread, and for how long it is known to be there (reason STILL_INSIDE;
 * dk_provider_inside() lists all of them). The kernel does not record calls of atomic
 * operators: it reports a grace period that is not over (reason GRACE).
 *
 * In userspace a thread of the library's own waits for the grace period, and
 * ends with it. Listeners are told before it returns, for as long as that takes.
 *
 * Context: Process context, sleeps until the deadline.
 * Return: 0; -ETIMEDOUT, also at once if there is no memory to wait with a
 * deadline (reason NO_DEADLINE); -EDEADLK or -ESHUTDOWN as
 * dk_provider_unregister().
 */
int dk_provider_unregister_timeout(struct dk_provider *prov, unsigned int ms,
				   struct dk_diag *why);

#define DK_THREAD_NAME_MAX	16

/**
 * struct dk_inside - a call that is inside of a provider
 * @size: sizeof(struct dk_inside), set by the caller
 * @thread: number of the task or thread
 * @device: number of the device whose function it is, or 0
 * @reserved: zero
 * @ms: for how many milliseconds at least it has been inside, counted since the
 *	provider began to leave and the grace period was over; else 0
 * @op: the operator that was called; in userspace, "fallback for KEY" of a call inside
 *	a backend fallback
 * @label: of the function
 * @thread_name: name of the task or thread; "(exited)" of a userspace thread that
 *	has ended, or runs its last destructors, without leaving the call
 */
struct dk_inside {
	__u32 size;
	__u32 thread;
	__u32 device;
	__u32 reserved;
	__u64 ms;
	char op[DK_NAME_MAX];
	char label[DK_NAME_MAX];
	char thread_name[DK_THREAD_NAME_MAX];
};

/**
 * dk_provider_inside() - who is inside of a provider
 * @prov: the provider, also one that is leaving
 * @i: which call, from 0; they come and go between two questions
 * @in: takes it; set @in->size before
 *
 * The kernel does not record calls of atomic operators.
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOENT if there are no more, or the provider is not registered;
 * -EINVAL (size).
 */
int dk_provider_inside(struct dk_provider *prov, unsigned int i, struct dk_inside *in);

/**
 * dk_provider_drain() - wait until nothing that was withdrawn is in use
 * @prov: the provider
 *
 * After it, the memory of functions that dk_impls_withdraw() took out may go.
 *
 * Context: Process context, sleeps until the calls inside have returned.
 * Return: 0, -EINVAL if it is not registered, -EDEADLK or -ESHUTDOWN as
 * dk_provider_unregister().
 */
int dk_provider_drain(struct dk_provider *prov);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_REGISTRY_H */
