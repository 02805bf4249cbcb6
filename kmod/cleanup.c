// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unregisters what a module leaves registered when it is unloaded. A module should unregister in
 * its exit function. Registrations take no reference on the module: with a reference, the module
 * could not be unloaded, and its exit function would never run. What the exit function leaves
 * registered is unregistered here, in all registries, before the module's memory is freed. So are
 * arrays, functions and definitions in its memory that another module's provider has registered.
 * What is registered in init memory is unregistered when the init function has returned, before
 * the kernel frees that memory.
 * Like dk_provider_unregister(), unregistering here waits for running calls.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/mutex.h>

#include "../lib/core/change/change.h"
#include "cleanup.h"

/* Protects the list of all registries. Taken before the lock of a registry. */
static DEFINE_MUTEX(registries_lock);
static struct dk_registry *registries;	/* linked by @next_registry */

void dkc_registry_created(struct dk_registry *reg)
{
	mutex_lock(&registries_lock);
	reg->next_registry = registries;
	registries = reg;
	mutex_unlock(&registries_lock);
}

void dkc_registry_destroyed(struct dk_registry *reg)
{
	struct dk_registry **p = &registries;

	mutex_lock(&registries_lock);
	while (*p != reg)
		p = &(*p)->next_registry;
	*p = reg->next_registry;
	mutex_unlock(&registries_lock);
}

void dkc_each_registry(void (*f)(struct dk_registry *reg))
{
	struct dk_registry *reg;

	mutex_lock(&registries_lock);
	for (reg = registries; reg; reg = reg->next_registry) {
		mutex_lock(&reg->lock);
		f(reg);
		mutex_unlock(&reg->lock);
	}
	mutex_unlock(&registries_lock);
}

static bool in_module_memory(const void *mod, uintptr_t address)
{
	return within_module(address, mod);
}

static bool in_init_memory(const void *mod, uintptr_t address)
{
	return within_module_init(address, mod);
}

/*
 * Finds a registry in which the module has something registered. The registry is not freed
 * before visit_end().
 */
static struct dk_registry *visit_one(dkc_owns_fn owns, const struct module *mod)
{
	struct dk_registry *reg;

	mutex_lock(&registries_lock);
	for (reg = registries; reg; reg = reg->next_registry)
		if (dkc_registry_visit(reg, owns, mod))
			break;
	mutex_unlock(&registries_lock);
	return reg;
}

/*
 * dkc_registry_visit_end() releases the registry's own lock. As soon as that lock is released,
 * another thread may pass the checks of dk_registry_free(). But mutex_unlock() may then still use
 * memory of the registry. So dk_registry_free() takes registries_lock before it frees the registry,
 * and thus waits until this function is done.
 */
static void visit_end(struct dk_registry *reg)
{
	mutex_lock(&registries_lock);
	dkc_registry_visit_end(reg);
	mutex_unlock(&registries_lock);
}

/* Reports what the module has left in a registry. Returns false if it has left nothing. */
static bool report_left(struct dk_registry *reg, dkc_owns_fn owns, const struct module *mod)
{
	const char *memory = owns == in_init_memory ? "init memory" : "memory";
	struct dkc_left left;
	bool found;

	mutex_lock(&reg->lock);
	found = dkc_left_by(reg, owns, mod, &left);
	if (left.op)
		pr_warn("module %s frees its %s with the declaration of operator %s: the operator was undefined\n",
			mod->name, memory, left.op->name);
	else if (left.block)
		pr_warn("module %s frees its %s with an array or a function of provider %s: the array was unregistered\n",
			mod->name, memory, left.prov->name);
	else if (found && owns == in_init_memory)
		pr_warn("module %s frees its init memory with provider %s: the provider was unregistered\n",
			mod->name, left.prov->name);
	else if (found)
		pr_warn("module %s was unloaded without unregistering provider %s: doing so now may block module loading\n",
			mod->name, left.prov->name);
	mutex_unlock(&reg->lock);
	return found;
}

/*
 * Called by the module notifier, with the notifier's lock held. This function waits until the
 * calls of what is unregistered have returned. Loading and unloading other modules needs the
 * notifier's lock, so it waits just as long. The messages are printed before the wait, so that they
 * show the cause.
 */
static void cleanup(dkc_owns_fn owns, const struct module *mod)
{
	struct dk_registry *reg;

	while ((reg = visit_one(owns, mod))) {
		while (dkc_hooks_unregister_owned(reg, owns, mod))
			pr_warn("module %s was unloaded with registered hooks, which were unregistered\n",
				mod->name);
		while (report_left(reg, owns, mod))
			dkc_owner_unregister(reg, owns, mod);
		visit_end(reg);
	}
}

void dkc_module_cleanup(const struct module *mod)
{
	cleanup(in_module_memory, mod);
}

void dkc_module_init_cleanup(const struct module *mod)
{
	cleanup(in_init_memory, mod);
}

/* Reports operators that handles still refer to, and makes dk_registry_free() free them anyway. */
static void release_operators(struct dk_registry *reg)
{
	struct dk_op *op;
	u32 pos = 0;

	mutex_lock(&reg->lock);
	while ((op = dkc_op_next(reg, &pos)))
		if (op->holders)
			pr_warn("operator %s was not released by its module\n", op->name);
	reg->num_held = 0;
	mutex_unlock(&reg->lock);
}

void dkc_registries_cleanup(void)
{
	struct dk_diag why = { .size = sizeof(why) };
	struct dk_registry *reg, *next;

	/* no lock is needed: no module uses dispatchkey any more */
	for (reg = registries; reg; reg = next) {
		next = reg->next_registry;
		if (!reg->is_default)
			pr_warn("a registry was not freed by its module\n");
		reg->is_default = false;
		if (reg->num_held)
			release_operators(reg);
		/* providers were unregistered with their modules */
		if (dk_registry_free(reg, &why))
			pr_err("%s: %s\n", why.text, why.name);
	}
}
