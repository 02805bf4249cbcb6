// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Lists the registries, for fork() and for the library's destructor, and cleans up after shared
 * objects that are unloaded with dlclose().
 *
 * A plugin should unregister everything before it is unloaded. The exit function unloaded() reports
 * and unregisters what is left, as kmod/cleanup.c does for modules. unloaded() is added with
 * __cxa_atexit() when the plugin's first provider is registered. dlclose() calls it after the
 * destructors of the plugin, and before the plugin's memory is unmapped.
 */
#include "private.h"
#include "pytorch/pytorch.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

/* Weak: a statically linked program has no dynamic linker. */
extern __typeof__(dlopen) dlopen __attribute__((weak));

struct object {
	struct object *next;
	/* &__dso_handle of the object, which dlclose() passes to __cxa_finalize() */
	const void *owner;
	uintptr_t begin;
	uintptr_t end;
	const char *name;	/* empty: the program itself */
};

/*
 * Protects the variables below except process_exits, and program once the constructor has set it.
 * exit_begins() reads exit_mark without it. Taken before a registry's lock.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects;
static struct object program;
static struct dk_registry *registries;	/* linked by next_registry */
static uintptr_t exit_mark;		/* the argument of the newest exit_begins() */
static bool process_exits;
static bool ended;			/* the library's destructor has run */

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

/* Returns true, and so ends dl_iterate_phdr(), at the object that contains the owner. */
static int find(struct dl_phdr_info *info, size_t size, void *data)
{
	struct object *obj = data;

	fill(obj, info);
	return in_object(obj, (uintptr_t)obj->owner);
}

/* Reads only the first object, which is the program unless dlmopen() loaded this library. */
static int find_program(struct dl_phdr_info *info, size_t size, void *data)
{
	if (!info->dlpi_name[0])
		fill(data, info);
	return 1;
}

/* True if the owner is a shared object. The program itself cannot be unloaded. */
static bool is_loaded(struct object *obj)
{
	return dlopen && dl_iterate_phdr(find, obj) && obj->name[0];
}

/*
 * Keeps the object that contains this library loaded: thread destructors and fork handlers are in
 * the library's code. The object may be a plugin that links the library statically.
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
	for (reg = registries; reg; reg = reg->next_registry)
		mutex_lock(&reg->lock);
}

/*
 * The threads that waited in the parent do not exist in the child, so this function ends their
 * waits. If a provider was being unregistered, the child must unregister it again.
 */
static void end_waits(struct dk_registry *reg)
{
	struct dkc_provider *core, *next;

	for (core = reg->providers; core; core = next) {
		next = core->next;
		if (core->waiters) {
			core->waiters = 1;
			dkc_wait_end(core);
		}
	}
}

void dkc_registries_after_fork(bool child)
{
	struct dk_registry *reg;

	for (reg = registries; reg; reg = reg->next_registry) {
		if (child) {
			dkc_listeners_after_fork(reg);
			end_waits(reg);
		}
		mutex_unlock(&reg->lock);
	}
	pthread_mutex_unlock(&lock);
}

void dkc_registry_shutdown(struct dk_registry *reg)
{
	struct dk_op *op;
	u32 pos = 0;

	mutex_lock(&reg->lock);
	WRITE_ONCE(reg->shutdown, true);
	while ((op = dkc_op_next(reg, &pos)))
		dkc_op_set_table(op, &dkc_table_shutdown);
	mutex_unlock(&reg->lock);
}

void dkc_registry_list(struct dk_registry *reg)
{
	pthread_mutex_lock(&lock);
	reg->next_registry = registries;
	registries = reg;
	if (ended)
		dkc_registry_shutdown(reg);
	pthread_mutex_unlock(&lock);
}

void dkc_registries_shutdown(void)
{
	struct dk_registry *reg;

	pthread_mutex_lock(&lock);
	ended = true;
	for (reg = registries; reg; reg = reg->next_registry)
		dkc_registry_shutdown(reg);
	pthread_mutex_unlock(&lock);
}

void dkc_registry_destroyed(struct dk_registry *reg)
{
	struct dk_registry **p = &registries;

	pthread_mutex_lock(&lock);
	while (*p != reg)
		p = &(*p)->next_registry;
	*p = reg->next_registry;
	pthread_mutex_unlock(&lock);
}

/* ---- cleanup ------------------------------------------------------------------ */

static bool visit(struct dk_registry *reg, const struct object *obj)
{
	return dkc_registry_visit(reg, in_object, obj) ||
	       dkc_listener_visit(reg, in_object, obj);
}

/*
 * Finds a registry in which something of the object is registered. The registry is not freed before
 * dkc_registry_visit_end().
 */
static struct dk_registry *visit_one(const struct object *obj)
{
	struct dk_registry *reg;

	pthread_mutex_lock(&lock);
	for (reg = registries; reg && !visit(reg, obj);)
		reg = reg->next_registry;
	pthread_mutex_unlock(&lock);
	return reg;
}

/* True if this thread is inside a function of the object: waiting for it would never end. */
static bool is_inside(struct dk_registry *reg, const struct object *obj)
{
	const struct dkc_provider *core;
	int err;

	mutex_lock(&reg->lock);
	err = dkc_may_unregister(NULL, NULL);
	for (core = reg->providers; core && !err; core = core->next)
		if (dkc_provider_uses(core, in_object, obj))
			err = dkc_may_unregister(core, NULL);
	mutex_unlock(&reg->lock);
	return err;
}

/* Copies the name of what the object has left, and sets *@what to what it is. */
static bool find_left(struct dk_registry *reg, const struct object *obj,
		      char name[DK_NAME_MAX], const char **what)
{
	struct dkc_left left;
	bool found;

	mutex_lock(&reg->lock);
	found = dkc_left_by(reg, in_object, obj, &left);
	if (found)
		dkc_strcpy(name, left.op ? left.op->name : left.prov->name, DK_NAME_MAX);
	*what = left.op ? "the definition of" : left.block ? "an array of provider" : "provider";
	mutex_unlock(&reg->lock);
	return found;
}

/*
 * Unregisters what the object has left in a registry. Returns false if this thread is inside a
 * listener of the object, which cannot be unregistered then.
 */
static bool unregister_left(struct dk_registry *reg, const struct object *obj)
{
	char name[DK_NAME_MAX];
	const char *what;
	bool any = false;

	for (; dkc_listener_unregister_owned(reg, in_object, obj); any = true)
		fprintf(stderr,
			"dispatchkey: %s was unloaded with a registered listener, which was unregistered\n",
			obj->name);
	for (; dkc_hooks_unregister_owned(reg, in_object, obj); any = true)
		fprintf(stderr,
			"dispatchkey: %s was unloaded with registered hooks, which were unregistered\n",
			obj->name);
	for (; find_left(reg, obj, name, &what); any |= dkc_owner_unregister(reg, in_object, obj))
		fprintf(stderr, "dispatchkey: %s was unloaded with %s %s, which was unregistered\n",
			obj->name, what, name);
	/* another thread may have unregistered everything meanwhile */
	if (any || !visit(reg, obj))
		return true;
	dkc_registry_visit_end(reg);
	return false;
}

static void object_free(struct object *obj)
{
	struct object **p = &objects;

	pthread_mutex_lock(&lock);
	while (*p != obj)
		p = &(*p)->next;
	*p = obj->next;
	pthread_mutex_unlock(&lock);
	kvfree(obj);
}

/* Called by dlclose() and by exit(). Does not unregister anything when the process exits. */
static void unloaded(void *data)
{
	struct object *obj = data;
	struct dk_registry *reg;
	bool removed = true;

	while (!READ_ONCE(process_exits) && removed && (reg = visit_one(obj))) {
		removed = !is_inside(reg, obj) && unregister_left(reg, obj);
		dkc_registry_visit_end(reg);
	}
	if (!removed)
		fprintf(stderr,
			"dispatchkey: %s was unloaded by its own function: its registrations remain\n",
			obj->name);
	object_free(obj);
}

/* ---- owners ------------------------------------------------------------------- */

/* Records that the process exits, if @mark is the newest mark. */
static void exit_begins(void *mark)
{
	if ((uintptr_t)mark == exit_mark)
		WRITE_ONCE(process_exits, true);
}

/*
 * exit() also calls the functions that were added with __cxa_atexit(), the newest first.
 * exit_begins() must be the newest one, so that it sets process_exits before unloaded() runs. So
 * each time unloaded() has been added, this function, with the lock held, adds exit_begins() again.
 * __cxa_finalize() removes the previous exit_begins(), but also calls it. That call does nothing,
 * because its mark is not the newest.
 */
static void register_exit(void)
{
	exit_mark++;
	__cxa_finalize(&exit_mark);
	__cxa_atexit(exit_begins, (void *)exit_mark, &exit_mark);
}

/* Called with the lock held. */
static void object_add(const struct object *found)
{
	struct object *obj = kvzalloc(sizeof(*obj), GFP_KERNEL);

	if (!obj)
		return;
	*obj = *found;
	if (__cxa_atexit(unloaded, obj, (void *)obj->owner)) {
		kvfree(obj);
		return;
	}
	obj->next = objects;
	objects = obj;
	register_exit();
}

/*
 * If allocation fails, what the object leaves registered is not removed. Calls dl_iterate_phdr()
 * with @lock held, which the fork handler takes, too. Otherwise fork() could copy the internal lock
 * of dl_iterate_phdr() in the locked state.
 */
void dkc_owner_registers(void *owner)
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
