// SPDX-License-Identifier: GPL-2.0-only
/* See work.h. All numbers are written under the lock that is watched. */
#include <linux/export.h>

#include "../../lib/core/registry.h"
#include "work.h"

static struct dkc_mutex *watched;
static const void *holder;		/* a task or a thread, or NULL */
static unsigned int done[DKC_NUM_WORK], most_done[DKC_NUM_WORK];
static unsigned int changes;		/* of the registry, one at the end of a hold */

void dkc_hold_begins(const struct dkc_mutex *lock)
{
	if (lock != dkc_load(watched))
		return;
	memset(done, 0, sizeof(done));
	dkc_store(holder, dkc_self());
}

void dkc_hold_ends(const struct dkc_mutex *lock)
{
	unsigned int i;

	if (lock != dkc_load(watched))
		return;
	dkc_store(holder, NULL);
	for (i = 0; i < DKC_NUM_WORK; i++)
		if (done[i] > most_done[i])
			most_done[i] = done[i];
	if (dkc_load(changes)) {
		container_of(lock, struct dk_registry, lock)->generation++;
		dkc_store(changes, changes - 1);
	}
}

/* Readers do the same work, without the lock. */
void dkc_work(enum dkc_work kind, unsigned int n)
{
	if (dkc_load(holder) == dkc_self())
		done[kind] += n;
}

void dk_test_watch_lock(struct dk_registry *reg)
{
	reg = dkc_registry(reg);
	dkc_mutex_lock(&reg->lock);
	dkc_store(watched, &reg->lock);
	memset(done, 0, sizeof(done));
	memset(most_done, 0, sizeof(most_done));
	dkc_mutex_unlock(&reg->lock);
}
EXPORT_SYMBOL_GPL(dk_test_watch_lock);

void dk_test_change(unsigned int n)
{
	dkc_store(changes, n);
}
EXPORT_SYMBOL_GPL(dk_test_change);

void dk_test_most_work(unsigned int most[DKC_NUM_WORK])
{
	dkc_mutex_lock(watched);
	memcpy(most, most_done, sizeof(most_done));
	dkc_mutex_unlock(watched);
}
EXPORT_SYMBOL_GPL(dk_test_most_work);
