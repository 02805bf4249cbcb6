// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Lists the registries, for fork() and for the library's destructor, and cleans up after shared
 * objects that are unloaded with dlclose().
 *
 * A plugin should unregister everything before it is unloaded. The exit function unloaded() reports
 * and unregisters what is left, as kmod/cleanup.c does for modules. unloaded() is added with
 * __cxa_atexit() when the plugin's first provider is registered. dlclose() calls it before the
 * plugin's memory is unmapped. Static objects in C++ that are older than this registration may
 * unregister it in their destructors, so unloaded() first runs these destructors.
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
	bool no_cleanup;	/* the process exits, or exit_begins() could not be added */
};

/* A visit of unloaded() to a registry. Each visit counts as one in @visitors of the registry. */
struct visit {
	struct visit *next;
	struct dk_registry *reg;
	const void *thread;
};

/*
 * Protects the variables below, except program once the constructor has set it. Taken before a
 * registry's lock.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects;
static struct object program;
static struct visit *visits;
static struct dk_registry *registries;	/* linked by next_registry */
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
		/* the next wait with a deadline begins another grace period */
		dkc_grace_forget(&core->grace);
		core->grace_begun = false;
		if (core->waiters) {
			core->waiters = 1;
			dkc_wait_end(core);
		}
	}
}

/*
 * Counts the visits of the caller, which may have forked in a listener. Other threads do not exist
 * in the child. dkc_listeners_after_fork() has set the numbers of visitors before.
 */
static void count_visits(void)
{
	struct visit **p = &visits, *v;

	while ((v = *p)) {
		if (v->thread == dkc_self()) {
			v->reg->visitors++;
			p = &v->next;
		} else {
			*p = v->next;
		}
	}
}

void dkc_registries_after_fork(bool child)
{
	struct dk_registry *reg;

	for (reg = child ? registries : NULL; reg; reg = reg->next_registry) {
		dkc_listeners_after_fork(reg);
		end_waits(reg);
	}
	if (child)
		count_visits();
	for (reg = registries; reg; reg = reg->next_registry)
		mutex_unlock(&reg->lock);
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

/* Visits the registry if something of the object is registered there. */
static bool try_visit(struct dk_registry *reg, const struct object *obj)
{
	return dkc_registry_visit(reg, in_object, obj) ||
	       dkc_listener_visit(reg, in_object, obj);
}

/*
 * Begins a visit to a registry in which something of the object is registered. The registry is not
 * freed before visit_end(). Returns false if there is no such registry.
 */
static bool visit_one(const struct object *obj, struct visit *v)
{
	struct dk_registry *reg;

	pthread_mutex_lock(&lock);
	for (reg = registries; reg && !try_visit(reg, obj);)
		reg = reg->next_registry;
	if (reg) {
		*v = (struct visit){ .next = visits, .reg = reg, .thread = dkc_self() };
		visits = v;
	}
	pthread_mutex_unlock(&lock);
	return reg;
}

static void visit_end(const struct visit *v)
{
	struct visit **p = &visits;

	pthread_mutex_lock(&lock);
	while (*p != v)
		p = &(*p)->next;
	*p = v->next;
	dkc_registry_visit_end(v->reg);
	pthread_mutex_unlock(&lock);
}

/* True if unregistering what the object has left waits for this call. */
static bool is_of_object(const struct dkc_inside *in, void *data)
{
	const struct dkc_block *b = dkc_block_of(in->reg);

	return dkc_provider_is_owned(b->prov, in_object, data) ||
	       dkc_block_is_owned(b, in_object, data);
}

/* True if this thread is inside such a call, or in a read-side section: a wait would never end. */
static bool is_inside(struct object *obj)
{
	return dkc_may_unregister(NULL, NULL) || dkc_gate_mine(is_of_object, obj);
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
 * Unregisters the object's listeners, and waits until none is running. Returns false if this thread
 * is inside one, which cannot be unregistered then.
 */
static bool unregister_listeners(struct dk_registry *reg, const struct object *obj)
{
	const struct timespec pause = { 0, 100000 };
	int err;

	while ((err = dkc_listener_unregister_owned(reg, in_object, obj)) != -ENOENT) {
		if (err == -EDEADLK)
			return false;
		if (err == -EBUSY)
			nanosleep(&pause, NULL);
		else
			fprintf(stderr,
				"dispatchkey: %s was unloaded with a registered listener, which was unregistered\n",
				obj->name);
	}
	return true;
}

/*
 * Unregisters what the object has left in a registry. Returns false if this thread is inside a
 * listener of the object.
 */
static bool unregister_left(struct dk_registry *reg, const struct object *obj)
{
	bool removed = unregister_listeners(reg, obj);
	char name[DK_NAME_MAX];
	const char *what;

	while (dkc_hooks_unregister_owned(reg, in_object, obj))
		fprintf(stderr,
			"dispatchkey: %s was unloaded with registered hooks, which were unregistered\n",
			obj->name);
	for (; find_left(reg, obj, name, &what); dkc_owner_unregister(reg, in_object, obj))
		fprintf(stderr, "dispatchkey: %s was unloaded with %s %s, which was unregistered\n",
			obj->name, what, name);
	return removed;
}

/* A cancelled thread would keep its visit, and the linker's lock, which dlclose() holds. */
static void unregister_all_left(struct object *obj)
{
	bool removed = true;
	struct visit v;
	int cancel;

	dkc_cancel_off(&cancel);
	while (removed && visit_one(obj, &v)) {
		removed = !is_inside(obj) && unregister_left(v.reg, obj);
		visit_end(&v);
	}
	if (!removed)
		fprintf(stderr,
			"dispatchkey: %s was unloaded by one of its own functions: its registrations remain\n",
			obj->name);
	dkc_cancel_on(cancel);
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

/* ---- owners ------------------------------------------------------------------- */

/* Called by exit(), directly before unloaded(), and by __cxa_finalize() in unloaded(). */
static void exit_begins(void *data)
{
	struct object *obj;

	pthread_mutex_lock(&lock);
	for (obj = objects; obj && obj != data;)
		obj = obj->next;
	/* another thread may have freed it, at the end of dlclose() */
	if (obj)
		obj->no_cleanup = true;
	pthread_mutex_unlock(&lock);
}

/* Called by exit(), which has called exit_begins() before, and by dlclose(), which has not. */
static void unloaded(void *data)
{
	struct object *obj = data;

	if (!obj->no_cleanup) {
		/* the C library does not call unloaded() again */
		__cxa_finalize((void *)obj->owner);
		unregister_all_left(obj);
		__cxa_finalize(obj);	/* removes exit_begins() */
	}
	object_free(obj);
}

/*
 * exit() calls the functions that were added with __cxa_atexit(), the newest first. dlclose() calls
 * only those that were added with the owner. If exit_begins() cannot be added, nothing is
 * unregistered: exit() would otherwise wait for calls that never return.
 */
static void object_add(const struct object *found)
{
	struct object *obj = kvzalloc(sizeof(*obj), GFP_KERNEL);

	if (!obj)
		return;
	*obj = *found;
	obj->no_cleanup = true;
	if (__cxa_atexit(unloaded, obj, (void *)obj->owner)) {
		kvfree(obj);
		return;
	}
	obj->no_cleanup = __cxa_atexit(exit_begins, obj, obj);
	obj->next = objects;
	objects = obj;
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
