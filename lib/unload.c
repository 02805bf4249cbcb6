// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Shared objects that are unloaded with dlclose(). */

#include "world.h"

#include <dlfcn.h>
#include <link.h>

/* Weak: a program that is linked statically has no dynamic linker. */
extern __typeof__(dlopen) dlopen __attribute__((weak));

/* A shared object, by an address in it. */
struct object {
	uintptr_t address;
	const char *name;	/* empty: the program itself */
};

static bool contains(const struct dl_phdr_info *info, uintptr_t address)
{
	unsigned int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD &&
		    address - (info->dlpi_addr + ph->p_vaddr) < ph->p_memsz)
			return true;
	}
	return false;
}

static int find(struct dl_phdr_info *info, size_t size, void *data)
{
	struct object *obj = data;

	if (!contains(info, obj->address))
		return 0;
	obj->name = info->dlpi_name;
	return 1;
}

/*
 * A plugin may have a copy of the library in it. The destructors of threads and
 * what fork() calls are code of that copy, so the plugin stays loaded.
 */
void dkc_pin_self(void)
{
	struct object self = { .address = (uintptr_t)dkc_pin_self };

	if (dlopen && dl_iterate_phdr(find, &self) && self.name[0])
		dlopen(self.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
