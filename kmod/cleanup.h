/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DK_KMOD_CLEANUP_H
#define _DK_KMOD_CLEANUP_H

struct module;

struct dk_registry;

/* Calls @f with each registry, while the lock of that registry is held. */
void dkc_each_registry(void (*f)(struct dk_registry *reg));
/* Unregisters what @mod has left registered, in all registries. May sleep. */
void dkc_module_cleanup(const struct module *mod);
/* Unregisters what @mod has registered in memory that is freed after its init function. */
void dkc_module_init_cleanup(const struct module *mod);
/* Frees the registries that modules did not free. Called when no module uses them. */
void dkc_registries_cleanup(void);

#endif /* _DK_KMOD_CLEANUP_H */
