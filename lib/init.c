// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Beginning, fork and end of the userspace world, and its default registry. */

#include "world.h"
#include "core/registry.h"

#include <stdlib.h>

static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dk_registry *default_registry;

/* Made when first asked for, and tried again if there was no memory. */
struct dk_registry *dk_registry_default(void)
{
	struct dk_registry *reg = dkc_deref(default_registry);

	if (dkc_likely(reg))
		return reg;
	pthread_mutex_lock(&default_lock);
	reg = default_registry;
	if (!reg) {
		reg = dk_registry_alloc(NULL, DK_REGISTRY_STOCKED, NULL);
		if (reg)
			reg->is_default = true;
		dkc_publish(default_registry, reg);
	}
	pthread_mutex_unlock(&default_lock);
	return reg;
}

const char *dk_version(void)
{
	return DK_VERSION;
}

/*
 * The child gets locks as they are, and nobody who would unlock them: all are
 * taken before, that of RCU first: a thread that waits for a grace period holds
 * it, and a reader may be waiting for one of the others.
 */
static void before_fork(void)
{
	dkc_rcu_before_fork();
	pthread_mutex_lock(&default_lock);
	dkc_registries_before_fork();
	dkc_gate_before_fork();
}

static void after_fork(bool child)
{
	if (child)
		dkc_grace_after_fork();
	dkc_gate_after_fork(child);
	dkc_registries_after_fork(child);
	pthread_mutex_unlock(&default_lock);
	dkc_rcu_after_fork(child);
}

static void after_fork_parent(void)
{
	after_fork(false);
}

static void after_fork_child(void)
{
	after_fork(true);
}

/* Before all constructors of the users' own. */
__attribute__((constructor(101)))
static void begin(void)
{
	if (dkc_layouts_init() ||
	    pthread_atfork(before_fork, after_fork_parent, after_fork_child))
		abort();
	dkc_gate_init();
	dkc_objects_init();
}

/* Behind all destructors of the users' own: who still calls gets -ESHUTDOWN. */
__attribute__((destructor(101)))
static void end(void)
{
	struct dk_registry *reg = dkc_deref(default_registry);

	if (reg)
		dkc_registry_shutdown(reg);
}
