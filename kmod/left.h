/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DK_KMOD_LEFT_H
#define _DK_KMOD_LEFT_H

struct module;

struct dk_registry;

/* Call @f with each registry, which is locked meanwhile. */
void dkc_each_registry(void (*f)(struct dk_registry *reg));
/* What a module that goes has not taken out itself, of every registry. */
void dkc_take_out_what_left(const struct module *mod);
/* The registries that nobody has freed; nobody is left to use them. */
void dkc_free_registries_left(void);

#endif /* _DK_KMOD_LEFT_H */
