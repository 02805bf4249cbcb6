// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Shared objects that are unloaded with dlclose().
 *
 * A plugin that unregisters is unloaded like any other. For one that did not, a
 * function is registered with its first provider. dlclose() calls that function
 * after the destructors of the plugin, while its code and its memory are still
 * there: what the plugin left is reported and removed, as kmod/left.c does for
 * modules.
 */
#include "world.h"
#include "core/registry.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

/* Weak: a program that is linked statically has no dynamic linker. */
extern __typeof__(dlopen) dlopen __attribute__((weak));

struct object {
	struct object *next;
	const void *owner;	/* an address in it, by which dlclose() knows it */
	uintptr_t begin;
	uintptr_t end;
	const char *name;	/* empty: the program itself */
};

/* Protects what follows; taken before the lock of any registry. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects;
static struct object program;
static struct dk_registry *registries;	/* by next_born */
static uintptr_t last_mark;
static bool exits;

static bool in_object(const void *data, uintptr_t address)
{
	const struct object *obj = data;

	return address - obj->begin < obj->end - obj->begin;
}

static void fill(struct object *obj, const struct dl_phdr_info *info)
{
	unsigned int i;

	obj->begin = UINTPTR_MAX;
	obj->end = 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		if (begin < obj->begin)
			obj->begin = begin;
		if (end > obj->end)
			obj->end = end;
	}
	obj->name = info->dlpi_name;
}

static int find(struct dl_phdr_info *info, size_t size, void *data)
{
	struct object *obj = data;

	fill(obj, info);
	return in_object(obj, (uintptr_t)obj->owner);
}

/* The program comes first, unless dlmopen() loaded this library. */
static int find_program(struct dl_phdr_info *info, size_t size, void *data)
{
	if (!info->dlpi_name[0])
		fill(data, info);
	return 1;
}

/* The program itself cannot be unloaded. */
static bool is_loaded(struct object *obj)
{
	return dlopen && dl_iterate_phdr(find, obj) && obj->name[0];
}

/*
 * A plugin may have a copy of the library in it. The destructors of threads and
 * what fork() calls are code of that copy, so the plugin stays loaded.
 */
void dkc_objects_init(void)
{
	struct object self = { .owner = (void *)dkc_objects_init };

	dl_iterate_phdr(find_program, &program);
	if (is_loaded(&self))
		dlopen(self.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* ---- registries --------------------------------------------------------------- */

void dkc_registries_before_fork(void)
{
	struct dk_registry *reg;

	pthread_mutex_lock(&lock);
	for (reg = registries; reg; reg = reg->next_born)
		dkc_mutex_lock(&reg->lock);
}

void dkc_registries_after_fork(bool child)
{
	struct dk_registry *reg;

	for (reg = registries; reg; reg = reg->next_born) {
		if (child) {
			dkc_news_after_fork(reg);
			dkc_providers_after_fork(reg);
		}
		dkc_mutex_unlock(&reg->lock);
	}
	pthread_mutex_unlock(&lock);
}

void dkc_registry_list(struct dk_registry *reg)
{
	pthread_mutex_lock(&lock);
	reg->next_born = registries;
	registries = reg;
	pthread_mutex_unlock(&lock);
}

void dkc_registry_dies(struct dk_registry *reg)
{
	struct dk_registry **p = &registries;

	pthread_mutex_lock(&lock);
	while (*p != reg)
		p = &(*p)->next_born;
	*p = reg->next_born;
	pthread_mutex_unlock(&lock);
}

/* ---- what an object left ------------------------------------------------------ */

static bool visit(struct dk_registry *reg, const struct object *obj)
{
	return dkc_visit(reg, in_object, obj, obj->owner);
}

static struct dk_registry *visit_one(const struct object *obj)
{
	struct dk_registry *reg;

	pthread_mutex_lock(&lock);
	for (reg = registries; reg && !visit(reg, obj);)
		reg = reg->next_born;
	pthread_mutex_unlock(&lock);
	return reg;
}

/* Is this thread inside a function of the object, so that waiting has no end? */
static bool is_inside(struct dk_registry *reg, const struct object *obj)
{
	const struct dkc_provider *core;
	int err;

	dkc_mutex_lock(&reg->lock);
	err = dkc_may_leave(NULL, NULL);
	for (core = reg->providers; core && !err; core = core->next)
		if (core->owner == obj->owner)
			err = dkc_may_leave(core, NULL);
	dkc_mutex_unlock(&reg->lock);
	return err;
}

/* False if nothing can be removed: this thread is inside a listener of the object. */
static bool remove_left(struct dk_registry *reg, const struct object *obj)
{
	char name[DK_NAME_MAX];
	bool any = false;

	for (; dkc_listener_leave(reg, in_object, obj); any = true)
		fprintf(stderr, "dispatchkey: %s is unloaded with a registered listener: removed\n",
			obj->name);
	for (; dkc_hooks_leave(reg, in_object, obj); any = true)
		fprintf(stderr, "dispatchkey: %s is unloaded with registered hooks: removed\n",
			obj->name);
	for (; dkc_owner_leave(reg, obj->owner, name); any = true)
		fprintf(stderr, "dispatchkey: %s is unloaded with provider %s: removed\n",
			obj->name, name);
	/* another thread may have removed it meanwhile */
	if (any || !visit(reg, obj))
		return true;
	dkc_visit_end(reg);
	return false;
}

static void object_forget(struct object *obj)
{
	struct object **p = &objects;

	pthread_mutex_lock(&lock);
	while (*p != obj)
		p = &(*p)->next;
	*p = obj->next;
	pthread_mutex_unlock(&lock);
	dkc_free(obj);
}

/* Called by dlclose(), and by exit(), when the functions go on serving. */
static void unloaded(void *data)
{
	struct object *obj = data;
	struct dk_registry *reg;
	bool removed = true;

	while (!dkc_load(exits) && removed && (reg = visit_one(obj))) {
		removed = !is_inside(reg, obj) && remove_left(reg, obj);
		dkc_visit_end(reg);
	}
	if (!removed)
		fprintf(stderr, "dispatchkey: %s is unloaded by its own function: not removed\n",
			obj->name);
	object_forget(obj);
}

/* ---- owners ------------------------------------------------------------------- */

static void exit_begins(void *mark)
{
	if ((uintptr_t)mark == last_mark)
		dkc_store(exits, true);
}

/*
 * exit() calls such functions, too, the newest first. So the newest is always one
 * that notes that the process exits; it replaces the one before, which is called
 * with an older mark.
 */
static void mark_exit(void)
{
	last_mark++;
	__cxa_finalize(&last_mark);
	__cxa_atexit(exit_begins, (void *)last_mark, &last_mark);
}

static void object_add(const struct object *found)
{
	struct object *obj = dkc_alloc(sizeof(*obj));

	if (!obj)
		return;
	*obj = *found;
	if (__cxa_atexit(unloaded, obj, (void *)obj->owner)) {
		dkc_free(obj);
		return;
	}
	obj->next = objects;
	objects = obj;
	mark_exit();
}

/*
 * Without memory, what the object leaves is not found. A child of fork() has the
 * lock of dl_iterate_phdr() as it was, so it is called with ours held.
 */
void dkc_owner_came(void *owner)
{
	struct object found = { .owner = owner };
	const struct object *obj;

	if (!owner || in_object(&program, (uintptr_t)owner))
		return;
	pthread_mutex_lock(&lock);
	for (obj = objects; obj && obj->owner != owner;)
		obj = obj->next;
	if (!obj && is_loaded(&found))
		object_add(&found);
	pthread_mutex_unlock(&lock);
}
