/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares registries, and the providers that register in them. Included by
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
 * enum dk_registry_flags - flags of dk_registry_alloc()
 * @DK_REGISTRY_BUILTINS: register the builtin fallbacks, which are fallthroughs. Calls with the
 *	default local state need them. Without this flag the registry is empty
 * @DK_REGISTRY_FORCE_RESOLVE: for tests: each call evaluates the rules instead of reading
 *	a table, which is slow
 */
enum dk_registry_flags {
	DK_REGISTRY_BUILTINS = 1,
	DK_REGISTRY_FORCE_RESOLVE = 2,
};

/**
 * dk_registry_alloc() - allocate a registry
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
 * dk_registry_free() - free a registry
 * @reg: from dk_registry_alloc(), or NULL
 * @why: filled on failure; may be NULL
 *
 * No other thread may be inside an API function that uses this registry, its providers,
 * its listeners or its hooks. For example, a dk_provider_unregister() that another thread
 * has begun must have returned.
 *
 * Context: Process context, may sleep.
 * Return:
 * * 0: success
 * * -EBUSY: providers, listeners or hooks are registered, or a handle refers to an operator
 *   (reason IN_USE), or @reg is the default registry (reason DEFAULT_REGISTRY)
 * * -EDEADLK: called from inside a hook, or in a read-side critical section of liburcu;
 *   in the kernel and on bare metal also from inside an atomic call (reason ATOMIC). A
 *   kernel without CONFIG_PREEMPT_COUNT detects neither
 */
int dk_registry_free(struct dk_registry *reg, struct dk_diag *why);

/**
 * dk_registry_default() - the registry that functions use if they are passed NULL
 *
 * Context: Any; in userspace and on bare metal the first use allocates it.
 * Return: The registry, of layout v1 and with DK_REGISTRY_BUILTINS; in userspace and on
 * bare metal NULL if it cannot be allocated.
 */
struct dk_registry *dk_registry_default(void);

/**
 * dk_registry_layout() - the layout of a registry
 * @reg: registry, NULL for the default one
 *
 * Context: Any. Not in the kernel module.
 * Return: The layout.
 */
const struct dk_layout *dk_registry_layout(const struct dk_registry *reg);

/**
 * dk_registry_generation() - a number that increases with every change
 * @reg: registry, NULL for the default one
 *
 * Read the number before and after several calls that read the registry, such as a walk.
 * If it is the same, nothing changed in between. Enabling, disabling or resetting the
 * counters also increases the number.
 *
 * Context: Process context, may sleep.
 * Return: The number.
 */
__u64 dk_registry_generation(struct dk_registry *reg);

/**
 * dk_registry_check() - compare all published tables with the rules
 * @reg: registry, NULL for the default one
 * @why: filled with the operator's name on failure; may be NULL
 *
 * Context: Process context, may sleep. Not in the kernel module.
 * Return: 0, -EILSEQ if an entry differs from the rules, or -ENOMEM.
 */
int dk_registry_check(struct dk_registry *reg, struct dk_diag *why);

/* ---- providers ------------------------------------------------------------ */

/**
 * struct dk_provider - a driver, runtime or plugin that registers functions
 * @size: sizeof(struct dk_provider)
 * @abi: DK_ABI_VERSION
 * @layout: name of the layout of the provider's keys
 * @name: human-readable name, 1 to 127 bytes of UTF-8 without ASCII spaces, line
 *	separators, control or bidirectional characters
 * @registry: the registry to register in, NULL for the default one
 * @priv: returned by dk_call_priv() in functions that belong to no device
 * @owner: the module or, in userspace, the program or shared object. When the owner is
 *	unloaded, its providers are unregistered. The kernel also unregisters a
 *	provider when a module's memory that contains this struct is freed. In
 *	userspace, NULL means that there is no owner: the provider may stay registered
 *	after its shared object is unloaded
 * @core: private; NULL when the provider is not registered and no call is
 *	running in its functions
 *
 * The caller provides the storage, which must stay valid until the provider is
 * unregistered. Do not change the members while the provider is registered: if @registry
 * is changed, functions do not find the provider, and dk_provider_unregister() returns 0
 * without unregistering it.
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

#ifdef __cplusplus
/* C++17 cannot name members here. All members are listed, so that compilers do not warn. */
#define DK_PROVIDER(provider_name) {					\
	sizeof(struct dk_provider), DK_ABI_VERSION, DK_LAYOUT_NAME, (provider_name), \
	nullptr, nullptr, DK__THIS_MODULE, nullptr,			\
}
#else
/**
 * DK_PROVIDER() - initialiser of a struct dk_provider
 * @provider_name: its name
 *
 * Records the caller's module, ABI version and layout.
 */
#define DK_PROVIDER(provider_name) {					\
	.size = sizeof(struct dk_provider),				\
	.abi = DK_ABI_VERSION,						\
	.layout = DK_LAYOUT_NAME,					\
	.name = (provider_name),					\
	.owner = DK__THIS_MODULE,					\
}
#endif

/**
 * dk_provider_register() - register a provider
 * @prov: from DK_PROVIDER()
 * @why: filled on failure; may be NULL
 *
 * Context: Process context, may sleep.
 * Return:
 * * 0: success
 * * -EINVAL: @prov is NULL, or its size or name is invalid
 * * -EPROTO: @prov was built for another ABI version or layout
 * * -EEXIST: @prov is registered already, or its memory is that of a provider that was
 *   freed while it was registered
 * * -EBUSY: @prov is being unregistered
 * * -ENOMEM, -ESHUTDOWN
 */
int dk_provider_register(struct dk_provider *prov, struct dk_diag *why);

/**
 * dk_provider_unregister() - unregister a provider and all that it registered
 * @prov: the provider; may be NULL or not registered
 *
 * After this function has returned 0, no call is running in the provider's functions, and
 * none will enter them. New calls are routed to other functions, by the rules. Succeeds
 * even if no memory can be allocated. Several threads may unregister the same provider at
 * once, and each of them waits. If functions of two providers unregister each other's
 * provider, both wait for ever. Every ten seconds, a message in the kernel's log or on
 * stderr names a call for which this function waits. dk_provider_unregister_timeout()
 * with DK_NO_TIMEOUT does the same and gives a reason.
 *
 * Context: Process context, sleeps until the running calls return.
 * Return:
 * * 0: success
 * * -EDEADLK: called from inside a function of the same provider or from inside a hook. In
 *   userspace also in a read-side critical section of liburcu-bp. In the kernel and on bare
 *   metal also from inside an atomic call. A kernel without CONFIG_PREEMPT_COUNT detects
 *   neither a hook nor an atomic call. Nothing has changed
 * * -ESHUTDOWN: in userspace, the process is ending, and the destructors of all users of the
 *   library have run. The provider's functions stay registered, but are no longer called
 */
int dk_provider_unregister(struct dk_provider *prov);

/**
 * dk_provider_unregister_timeout() - dk_provider_unregister() with a timeout
 * @prov: the provider; may be NULL or not registered
 * @ms: how long to wait, in milliseconds; 0 to check once. The first check begins
 *	a grace period, so it may return -ETIMEDOUT even if no call is running
 * @why: filled on failure; may be NULL
 *
 * Unless it returns -EDEADLK or -ESHUTDOWN, no new call enters the provider's functions. After
 * -ETIMEDOUT the provider is being unregistered: it cannot register anything, and its memory
 * and code must stay valid until another call of this function or of dk_provider_unregister()
 * returns 0. With the reason STILL_INSIDE, @why names a call that is still running: its
 * operator, function, device and thread, and the minimum time for which it has been running.
 * dk_provider_inside() lists all running calls. The kernel does not record calls of atomic
 * operators. If it waits for such a call, the reason is GRACE: the grace period is not over.
 * Like dk_provider_unregister(), it reports a running call every ten seconds.
 *
 * In userspace a thread of the library waits for the grace period and then exits.
 * Listeners are notified before this function returns; the timeout does not cover their
 * time. Bare metal has no clock: unless @ms is DK_NO_TIMEOUT, this function checks once.
 *
 * Context: Process context, sleeps until the timeout.
 * Return: 0; -ETIMEDOUT, at once if there is no memory to wait with a timeout (reason
 * NO_DEADLINE); -EDEADLK or -ESHUTDOWN as dk_provider_unregister().
 */
int dk_provider_unregister_timeout(struct dk_provider *prov, unsigned int ms,
				   struct dk_diag *why);

#define DK_NO_TIMEOUT		(~0U)	/* as @ms: wait as long as it takes */
#define DK_THREAD_NAME_MAX	16

/**
 * struct dk_inside - a call that is running in a provider's function
 * @size: sizeof(struct dk_inside), set by the caller
 * @thread: thread ID; in the kernel 0 for a call that was deferred in an interrupt
 * @device: number of the device that the function belongs to, or 0
 * @is_deferred: 1 if the call was deferred with dk_call_defer(): its function has
 *	returned, but the call is not complete
 * @ms: minimum time for which the call has been running, in milliseconds: the time since the
 *	end of the first grace period of unregistering, or 0 before that. For a deferred call,
 *	the time since dk_call_defer()
 * @op: the operator that was called. It may be "fallback for KEY" if a backend fallback
 *	serves the call, and the call is deferred or in userspace
 * @label: label of the function
 * @thread_name: name of the task or thread. For a deferred call, "(deferred)". For a
 *	thread that has ended without leaving the call, or that is running its last
 *	destructors in userspace, "(exited)"
 */
struct dk_inside {
	__u32 size;
	__u32 thread;
	__u32 device;
	__u32 is_deferred;
	__u64 ms;
	char op[DK_NAME_MAX];
	char label[DK_NAME_MAX];
	char thread_name[DK_THREAD_NAME_MAX];
};

/**
 * dk_provider_inside() - get one of the calls running in a provider's functions
 * @prov: the provider; may be unregistering
 * @i: index of the call, from 0; calls may start and end between two queries
 * @in: filled with the call; set @in->size first
 *
 * The kernel does not record calls of atomic operators.
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOENT if there is no such call, or the provider is not registered;
 * -EINVAL (size).
 */
int dk_provider_inside(struct dk_provider *prov, unsigned int i, struct dk_inside *in);

/**
 * dk_provider_drain() - wait for the calls of withdrawn functions
 * @prov: the provider
 *
 * After this function has returned 0, you may free the arrays that dk_impls_withdraw()
 * unregistered earlier. If the provider is being unregistered, this function does the
 * same as dk_provider_unregister().
 *
 * Context: Process context, sleeps until the running calls return.
 * Return: 0, -EINVAL if it is not registered, -EDEADLK or -ESHUTDOWN as
 * dk_provider_unregister().
 */
int dk_provider_drain(struct dk_provider *prov);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_REGISTRY_H */
