// SPDX-License-Identifier: GPL-2.0-only
/* See work.h. All numbers are written with the measured lock held. */
#include <linux/export.h>

#include "../../lib/core/change/change.h"
#include "work.h"

struct mutex *dk_test_watched;	/* NULL until dk_test_watch_lock() is called */
static const void *holder;		/* a task or a thread, or NULL */
static unsigned int done[DKC_NUM_WORK], most_done[DKC_NUM_WORK];
/* the registry's generation is incremented at the end of each of the next @changes holds */
static unsigned int changes;

void dk_test_hold_begins(void)
{
	memset(done, 0, sizeof(done));
	WRITE_ONCE(holder, dkc_self());
}

void dk_test_hold_ends(void)
{
	unsigned int i;

	WRITE_ONCE(holder, NULL);
	for (i = 0; i < DKC_NUM_WORK; i++)
		if (done[i] > most_done[i])
			most_done[i] = done[i];
	if (READ_ONCE(changes)) {
		container_of(dk_test_watched, struct dk_registry, lock)->generation++;
		WRITE_ONCE(changes, changes - 1);
	}
}

void dk_test_others_may_run(void)
{
	if (READ_ONCE(holder) != dkc_self())
		return;
	if (done[DKC_WORK_STEPS] > most_done[DKC_WORK_STEPS])
		most_done[DKC_WORK_STEPS] = done[DKC_WORK_STEPS];
	done[DKC_WORK_STEPS] = 0;
}

/* Work of readers, which do not hold the lock, is not counted. */
void dk_test_work(unsigned int kind, unsigned int n)
{
	if (READ_ONCE(holder) == dkc_self())
		done[kind] += n;
}

void dk_test_watch_lock(struct dk_registry *reg)
{
	reg = dkc_registry(reg);
	mutex_lock(&reg->lock);
	WRITE_ONCE(dk_test_watched, &reg->lock);
	memset(done, 0, sizeof(done));
	memset(most_done, 0, sizeof(most_done));
	mutex_unlock(&reg->lock);
}
EXPORT_SYMBOL_GPL(dk_test_watch_lock);

void dk_test_change(unsigned int n)
{
	WRITE_ONCE(changes, n);
}
EXPORT_SYMBOL_GPL(dk_test_change);

void dk_test_most_work(unsigned int most[DKC_NUM_WORK])
{
	mutex_lock(dk_test_watched);
	memcpy(most, most_done, sizeof(most_done));
	mutex_unlock(dk_test_watched);
}
EXPORT_SYMBOL_GPL(dk_test_most_work);
