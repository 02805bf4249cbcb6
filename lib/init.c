// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Defines the library's constructor, fork handlers and destructor, and the default registry. */

#include "private.h"
#include "pytorch/pytorch.h"

#include <stdlib.h>

static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dk_registry *default_registry;

/* Allocates the registry in the first call. After a failure, the next call tries again. */
struct dk_registry *dk_registry_default(void)
{
	/* pairs with rcu_assign_pointer() below */
	struct dk_registry *reg = smp_load_acquire(&default_registry);

	if (likely(reg))
		return reg;
	pthread_mutex_lock(&default_lock);
	reg = default_registry;
	if (!reg) {
		reg = dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS, NULL);
		if (reg)
			reg->is_default = true;
		rcu_assign_pointer(default_registry, reg);
	}
	pthread_mutex_unlock(&default_lock);
	return reg;
}

const char *dk_version(void)
{
	return DK_VERSION;
}

/*
 * Takes all locks before fork(). Otherwise a lock that another thread of the parent holds would
 * stay locked in the child. Takes liburcu's lock first: its holder may be waiting for a grace
 * period, that is, for readers. If this thread already held the other locks, a reader that needs
 * one of them would never end, and neither would the grace period.
 */
static void before_fork(void)
{
	dkc_rcu_before_fork();
	pthread_mutex_lock(&default_lock);
	dkc_registries_before_fork();
	dkc_threads_before_fork();
}

static void after_fork(bool child)
{
	dkc_threads_after_fork(child);
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

/* Runs before constructors without a priority, which may use the library. */
__attribute__((constructor(101)))
static void begin(void)
{
	if (pthread_atfork(before_fork, after_fork_parent, after_fork_child))
		abort();
	dkc_gate_init();
	dkc_objects_init();
}

/* Runs after destructors without a priority. Later calls return -ESHUTDOWN. */
__attribute__((destructor(101)))
static void end(void)
{
	dkc_registries_shutdown();
}
