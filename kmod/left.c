// SPDX-License-Identifier: GPL-2.0-only
/*
 * What modules leave behind. Registrations take no reference on a module, so
 * that its exit function is reached and can unregister. One that did not is
 * found here, in whatever registry, before its text goes; that waits for the
 * calls inside, as the exit function should have.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/mutex.h>

#include "../lib/core/registry.h"
#include "left.h"

/* Of all registries, by next_born. It is taken before the lock of any of them. */
static DEFINE_MUTEX(dkc_born_lock);
static struct dk_registry *dkc_born;

void dkc_registry_born(struct dk_registry *reg)
{
	mutex_lock(&dkc_born_lock);
	reg->next_born = dkc_born;
	dkc_born = reg;
	mutex_unlock(&dkc_born_lock);
}

void dkc_registry_dies(struct dk_registry *reg)
{
	struct dk_registry **p = &dkc_born;

	mutex_lock(&dkc_born_lock);
	while (*p != reg)
		p = &(*p)->next_born;
	*p = reg->next_born;
	mutex_unlock(&dkc_born_lock);
}

void dkc_each_registry(void (*f)(struct dk_registry *reg))
{
	struct dk_registry *reg;

	mutex_lock(&dkc_born_lock);
	for (reg = dkc_born; reg; reg = reg->next_born) {
		dkc_mutex_lock(&reg->lock);
		f(reg);
		dkc_mutex_unlock(&reg->lock);
	}
	mutex_unlock(&dkc_born_lock);
}

static bool dkc_in_module(const void *mod, uintptr_t address)
{
	return within_module(address, mod);
}

static struct dk_registry *dkc_visit_one(const struct module *mod)
{
	struct dk_registry *reg;

	mutex_lock(&dkc_born_lock);
	for (reg = dkc_born; reg; reg = reg->next_born)
		if (dkc_visit(reg, dkc_in_module, mod, mod))
			break;
	mutex_unlock(&dkc_born_lock);
	return reg;
}

void dkc_take_out_what_left(const struct module *mod)
{
	struct dk_registry *reg;
	char name[DK_NAME_MAX];

	while ((reg = dkc_visit_one(mod))) {
		while (dkc_listener_leave(reg, dkc_in_module, mod))
			pr_warn("module %s left a listener behind; it was taken out\n",
				mod->name);
		while (dkc_hooks_leave(reg, dkc_in_module, mod))
			pr_warn("module %s left hooks behind; they were taken out\n",
				mod->name);
		while (dkc_owner_leave(reg, mod, name))
			pr_warn("module %s left provider %s behind; it was taken out\n",
				mod->name, name);
		dkc_visit_end(reg);
	}
}

void dkc_free_registries_left(void)
{
	struct dk_diag why = { .size = sizeof(why) };
	struct dk_registry *reg, *next;

	/* the last user is gone: nobody else changes the list */
	for (reg = dkc_born; reg; reg = next) {
		next = reg->next_born;
		pr_warn("a registry was left behind; it is freed\n");
		if (dk_registry_free(reg, &why))
			pr_err("%s: %s\n", why.text, why.name);
	}
}
