/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Changes of a registry: providers, operators, functions, fallbacks, devices, backends. */
#ifndef _DKC_CHANGE_H
#define _DKC_CHANGE_H

#include "../call/call.h"

/* check.c: check the form of declarations and functions. Called with or without the lock. */
int dkc_check_decl(const struct dk_op_decl *decl, unsigned int flags, struct dk_diag *why);
int dkc_check_impl(const struct dk_impl *impl, struct dk_diag *why);
/* Checks only the size of @impl, and that it has a declaration for this ABI version. */
int dkc_check_impl_op(const struct dk_impl *impl, struct dk_diag *why);
/* Checks a function of one operator or, with @fallback, a backend fallback. */
int dkc_check_function(const struct dk_impl *impl, bool fallback, struct dk_diag *why);

/*
 * objects.c: returns @max_objs of struct dk_op_info for a definition: the number of objects, or 0
 * if the number is not constant or not known.
 */
u32 dkc_count_objs(const struct dk_op_decl *decl);

/* The functions below are called with the lock held, unless their comments state otherwise. */

/* A definition, or a function at a key. */
struct dkc_claim {
	const struct dk_op_decl *decl;
	const struct dk_impl *impl;	/* NULL: a definition */
	const struct dkc_provider *prov;
	unsigned int key;
	unsigned int flags;		/* the class, or DKC_ANY_CLASS */
};

/*
 * admit.c: finds or makes the operator of a claim. Fails if the name, signature, schema or class
 * does not fit, or if allocation fails. If the caller does not use the operator, it must call
 * dkc_op_release().
 */
int dkc_admit(const struct dkc_claim *claim, struct dk_op **op, struct dk_diag *why);
/*
 * Refuses @impl because of @old. The text is "operator key: old (a) -> new (b)", where a and b are
 * the providers. For a fallback, it lacks the operator.
 */
int dkc_refuse_had(struct dk_diag *why, enum dk_reason reason, const struct dkc_reg *old,
		   const struct dk_impl *impl, const struct dkc_provider *prov);
/* Formats the name of a function for messages: "label (provider)". */
void dkc_impl_text(char text[DK_NAME_MAX], const struct dk_impl *impl,
		   const struct dkc_provider *prov);

/*
 * register.c: what one API call registers: a definition, functions, or both. A device is registered
 * together with its functions, even if it has none.
 */
struct dkc_registration {
	struct dkc_provider *prov;
	struct dk_diag *why;
	const struct dk_op_decl *decl;	/* the definition to register, or NULL */
	unsigned int flags;		/* of the definition */
	const struct dk_impl *impls;	/* the array of functions, or one fallback */
	unsigned int n;
	unsigned int backend;		/* the backend that building blocks refer to; 0: all */
	bool fallback;
	struct dkc_device *dev;		/* the device that is registered, or NULL */
	void *priv;			/* private data of the device's functions */
	struct dkc_block *block;	/* result: the functions; NULL: none, or failed */
	/* state of a definition that is not published yet */
	struct dk_op *op;
	struct dkc_args *args;		/* the copy of the argument description, or NULL */
	u32 old_flags;
	struct dkc_change ch;
};

/* Publishes everything in @r in one change, or fails and changes nothing. */
int __must_check dkc_register(struct dkc_registration *r);

/*
 * unregister.c: remove a definition or functions, and add their operators to @ch. The caller must
 * then publish other tables for these operators: dkc_change_force(@ch).
 */
void dkc_op_undefine(struct dk_op *op, struct dkc_change *ch);
void dkc_block_withdraw(struct dkc_block *b, struct dkc_change *ch);
/* Withdraws a block and publishes the changed tables. Returns @b, which may be NULL. */
struct dkc_block *dkc_block_remove(struct dkc_block *b);
/* Takes the registrations of a block out of all lists, and adds the operators to @ch. */
void dkc_block_unlink(struct dkc_block *b, struct dkc_change *ch);
/* Returns the block of an array that the provider registered without a device, or NULL. */
struct dkc_block *dkc_block_find(const struct dkc_provider *prov, const struct dk_impl *impls);
/*
 * Returns a block that was withdrawn but is not drained yet: the block of @device or, if @device is
 * 0, a block of the array @impls that belongs to no device. Returns NULL if there is none.
 */
struct dkc_block *dkc_block_find_withdrawn(const struct dkc_provider *prov,
					   const struct dk_impl *impls, u32 device);

static inline struct dkc_block **dkc_bucket(struct dk_registry *reg, const struct dk_impl *impls)
{
	return &reg->blocks[((uintptr_t)impls >> 4) % DKC_BUCKETS];
}

/*
 * provider.c: three functions that take the lock of a provider's registry, and set *@core to the
 * provider. dkc_provider_lock() fails if the provider is not registered, or is being
 * unregistered.
 */
int dkc_provider_lock(struct dk_provider *prov, struct dkc_provider **core, struct dk_diag *why);
/*
 * For a caller that will wait for calls. Also accepts a provider that is being unregistered. If
 * the provider is not registered, returns 0 without the lock and sets *@core to NULL.
 */
int dkc_provider_lock_unregistering(struct dk_provider *prov, struct dkc_provider **core,
				    struct dk_diag *why);
/* Like dkc_provider_lock_unregistering(), but fails if the provider is not registered. */
int dkc_provider_lock_to_wait(struct dk_provider *prov, struct dkc_provider **core,
			      struct dk_diag *why);
struct dkc_provider *dkc_provider_find(struct dk_registry *reg, const struct dk_provider *prov);
/*
 * Returns the first provider with a number greater than @after. Skips providers with @drained set:
 * these are unregistered, and the last thread that waits for them will free them.
 */
const struct dkc_provider *dkc_provider_after(const struct dk_registry *reg, u64 after);
/*
 * Unregisters what dkc_left_by() finds, and waits for its calls. Returns false if nothing is left.
 * Does not read the public struct dk_provider, which may already be freed. Takes the lock.
 */
bool dkc_owner_unregister(struct dk_registry *reg, dkc_owns_fn owns, const void *owner);

/* Returns the deadline of a timeout in milliseconds; 0 means none. */
static inline u64 dkc_deadline(unsigned int ms)
{
	return ms == DK_NO_TIMEOUT ? 0 : dkc_now() + ms;
}

/*
 * Selects running calls of a provider by their functions. The first of @block, @backends and @any
 * that is set decides. If none is set, selects the calls of functions in the blocks that were
 * withdrawn before the wait began. The caller of dkc_wait() sets the members up to @deadline and,
 * to continue an earlier wait, @over.
 */
struct dkc_target {
	const struct dkc_block *block;	/* select the functions of this block */
	u32 backends;			/* select the functions at keys of these backends */
	bool any;			/* select all functions */
	struct dkc_offline *since;	/* the device or backend that was taken offline, or NULL */
	unsigned long switches;		/* @since->switches when the wait began */
	u64 deadline;			/* in ms of dkc_now(); 0: none */
	const struct dkc_provider *core;
	struct dkc_block *withdrawn;	/* the blocks that were withdrawn before the wait began */
	bool past_grace;		/* a grace period has ended since the wait began */
	bool canceled;			/* @since was brought online again during the wait */
	u64 over;			/* when the wait's grace period ended; 0: not yet */
	struct dk_inside *found;	/* find_inside() fills it with a selected call */
	const struct dkc_device *dev;	/* the device of the function in @found, or NULL */
	const void *task;		/* the task of the call in @found; NULL: deferred */
	unsigned int skip;		/* the selected calls to skip before @found */
};

/*
 * drain.c: returns 0 if the caller may wait for calls of @core (NULL: of any provider). Fails in
 * atomic context and, unless @core is NULL, inside a call of @core.
 */
int dkc_may_unregister(const struct dkc_provider *core, struct dk_diag *why);
/*
 * Releases the lock, waits until no selected call is running, and takes the lock again. Fails with
 * -ETIMEDOUT at the deadline; @why then names a running call or, if none is found, @core. If @core
 * is unregistered and no other caller waits, dkc_registry_unlock_flush() will free it. Called after
 * dkc_may_unregister().
 */
int dkc_wait(struct dkc_provider *core, struct dkc_target *t, struct dk_diag *why)
	__must_hold(&core->reg->lock);
/* Like dkc_wait(), without a deadline, for @block or, if it is NULL, for all withdrawn blocks. */
void dkc_drain(struct dkc_provider *core, const struct dkc_block *block)
	__must_hold(&core->reg->lock);
/*
 * Describes running call @i, counted from 0, of the provider with this number: see inside_text() in
 * drain.c. Returns false if there is no such call. Takes the lock.
 */
bool dkc_provider_inside_text(struct dk_registry *reg, u64 number, unsigned int i,
			      char text[DK_NAME_MAX]);
/* Ends a wait. The last waiter frees the drained blocks, and removes an unregistered provider. */
void dkc_wait_end(struct dkc_provider *core);

/* device.c: returns the device in the next used slot after that of @number (0: begin), or NULL. */
struct dkc_device *dkc_device_after(const struct dk_registry *reg, u32 number);
/* Make the number of a device valid, or make it invalid forever. */
void dkc_device_publish(struct dkc_device *dev);
void dkc_device_remove(struct dkc_device *dev);

/* backend.c: returns the backend with this private name or, if there is none, this name; or 0. */
unsigned int dkc_backend_named(const struct dk_registry *reg, const char *name);
void dkc_backends_release(struct dkc_provider *prov);
/* Like dk_registry_key_name(), but returns true if the key's backend has a private name. */
bool dkc_key_text(const struct dk_registry *reg, unsigned int key, char text[DK_NAME_MAX]);
/*
 * @name is the name of a key in the layout, such as AutogradPrivateUse1. If its backend has a
 * private name, returns the private name, and sets *@kept to the length of the part of @name before
 * the backend's name (8 for "Autograd"). Otherwise returns NULL.
 */
const char *dkc_private_end(const struct dk_registry *reg, const char *name, size_t *kept);

/*
 * offline.c: a device or backend that is taken offline or brought online. The caller of
 * dkc_set_online() sets the members up to @inside.
 */
struct dkc_switch {
	struct dk_registry *reg;	/* NULL: the default one */
	bool is_device;
	bool online;			/* the new state */
	u32 number;			/* of the device or backend */
	const char *backend_name;	/* fail unless the backend has this name; or NULL */
	u64 deadline;			/* of the wait for calls, in ms of dkc_now(); 0: none */
	struct dk_diag *why;		/* names an operator that nothing serves now */
	struct dk_diag *inside;		/* names a call that still runs at the deadline */
	struct dkc_device *dev;		/* NULL for a backend */
	u32 backends;			/* the bit of the backend; 0 for a device */
	struct dkc_offline *since;
	char name[DK_NAME_MAX];		/* a copy, because the device may be freed during a wait */
};

/*
 * Like dk_device_set_online_timeout(). Takes the lock. If it returns 0 or -ETIMEDOUT, the device or
 * backend has the new state.
 */
int dkc_set_online(struct dkc_switch *s);
/* Brings a backend online, with the lock held. Does not wait. */
int dkc_backend_online(struct dk_registry *reg, unsigned int backend, struct dk_diag *why);

#endif /* _DKC_CHANGE_H */
