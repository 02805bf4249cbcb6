// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Supplies the services of lib/core/base/world.h on bare metal. There is one thread. Memory is
 * allocated and freed by two functions that the user sets.
 */
#include "../../core/change/change.h"

#define MAX_DEPTH	64	/* calls in the gate at the same time */

static void *(*user_alloc)(size_t size);
static void (*user_free)(void *p);
static unsigned long (*user_interrupts_off)(void);
static void (*user_interrupts_restore)(unsigned long flags);
static struct dk_registry *default_registry;
unsigned int dk__bare_sections;
static unsigned int depth;
static struct dkc_inside calls[MAX_DEPTH];
static struct dk_deferred *deferred_calls;
static struct rcu_head *retired;	/* freed after the outermost read-side critical section */

void dk_bare_memory(void *(*alloc)(size_t size), void (*release)(void *p))
{
	user_alloc = alloc;
	user_free = release;
}

void dk_bare_interrupts(unsigned long (*off)(void), void (*restore)(unsigned long flags))
{
	user_interrupts_off = off;
	user_interrupts_restore = restore;
}

static unsigned long interrupts_off(void)
{
	return user_interrupts_off ? user_interrupts_off() : 0;
}

static void interrupts_restore(unsigned long flags)
{
	if (user_interrupts_restore)
		user_interrupts_restore(flags);
}

/* Unrolled by hand: compilers turn a plain loop into a call of strlen(). */
size_t dkc_strlen(const char *s)
{
	size_t n;

	for (n = 0;; n += 4) {
		if (!s[n])
			return n;
		if (!s[n + 1])
			return n + 1;
		if (!s[n + 2])
			return n + 2;
		if (!s[n + 3])
			return n + 3;
	}
}

static void free_retired(void)
{
	struct rcu_head *r;

	while (retired && !dk__bare_sections) {
		r = retired;
		retired = r->next;
		user_free(r);
	}
}

void *dkc_bare_alloc(size_t size)
{
	void *p;

	free_retired();
	p = user_alloc ? user_alloc(size) : NULL;
	if (p)
		memset(p, 0, size);
	return p;
}

void dkc_bare_free(void *p)
{
	free_retired();
	if (p)
		user_free(p);
}

/*
 * A call of an atomic operator is a read-side critical section. The function that it calls may
 * change the registry while the call still uses the old table. So retired objects are freed only
 * after the section.
 */
void dkc_free_rcu(struct rcu_head *r)
{
	r->next = retired;
	retired = r;
	free_retired();
}

struct dk_registry *dk_registry_default(void)
{
	if (!default_registry)
		default_registry = dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS, NULL);
	if (default_registry)
		default_registry->is_default = true;
	return default_registry;
}

const char *dk_version(void)
{
	return DK_VERSION;
}

/* With one thread, a grace period is over at once. */
bool dkc_grace_begin(struct dkc_grace *g)
{
	(void)g;
	return true;
}

bool dkc_grace_wait(struct dkc_grace *g, u64 deadline)
{
	(void)g;
	(void)deadline;
	return true;
}

void dkc_grace_end(struct dkc_grace *g)
{
	(void)g;
}

int dkc_gate_enter(u64 *storage, const struct dkc_reg *reg, const void *op)
{
	struct dkc_inside *in = &calls[depth];

	if (depth == MAX_DEPTH)
		return -ENOMEM;
	*storage = depth++;
	in->prov = dkc_block_of(reg)->prov;
	in->reg = reg;
	in->op = op;
	return 0;
}

/*
 * Calls may be left in any order. An element of @calls in the middle is used again only after all
 * elements above it are free.
 */
void dkc_gate_leave(u64 *storage)
{
	if (*storage == MAX_DEPTH)	/* the call was left before */
		return;
	calls[*storage].prov = NULL;
	*storage = MAX_DEPTH;
	while (depth && !calls[depth - 1].prov)
		depth--;
}

int dk__to_gate(struct dk_call *c, struct dk__slot slot)
{
	int err = dkc_gate_enter(slot.at->gate, c->entry->reg, c->op);

	if (!err) {
		slot.at->entry = *c->entry;
		c->entry = &slot.at->entry;
		c->made &= ~DK__CALL_IN_RCU;
	}
	rcu_read_unlock();
	return !err;
}

void dk__leave_gate(struct dk__slot slot)
{
	dkc_gate_leave(slot.at->gate);
}

bool dkc_gate_mine(dkc_inside_fn match, void *data)
{
	unsigned int i;

	for (i = 0; i < depth; i++)
		if (calls[i].prov && match(&calls[i], data))
			return true;
	return false;
}

static bool any_deferred(dkc_inside_fn match, void *data)
{
	unsigned long flags = interrupts_off();
	bool found = dkc_deferred_any(deferred_calls, match, data);

	interrupts_restore(flags);
	return found;
}

bool dkc_gate_any(const void *prov, dkc_inside_fn match, void *data)
{
	(void)prov;
	return dkc_gate_mine(match, data) || any_deferred(match, data);
}

int dkc_gate_defer(struct dk_deferred *d, const void *prov, const struct dkc_reg *reg)
{
	unsigned long flags = interrupts_off();
	int err = dkc_deferred_link(d, &deferred_calls, prov, reg, 0);

	interrupts_restore(flags);
	return err;
}

bool dkc_gate_complete(struct dk_deferred *d, int result)
{
	unsigned long flags = interrupts_off();
	bool found = dkc_is_deferred(d);

	(void)result;
	if (found)
		dkc_deferred_unlink(d);
	interrupts_restore(flags);
	return found;
}

/*
 * Waits only for deferred calls, which interrupt handlers complete. There is one thread, so any
 * running function is a caller of this function, and could not return during a wait. In that case
 * the core has returned -EDEADLK. There is no clock: with a deadline, checks only once.
 */
bool dkc_gate_wait(const void *prov, dkc_inside_fn match, void *data, u64 deadline)
{
	bool found;

	(void)prov;
	do
		found = any_deferred(match, data);
	while (found && !deadline);
	return !found;
}

void dkc_gate_wake(void)
{
}

u32 dkc_inside_task(const void *task, char *name, size_t size)
{
	(void)task;
	dkc_strcpy(name, "", size);
	return 0;
}

bool dkc_counts_init(struct dkc_counts *c, bool may_sleep)
{
	(void)may_sleep;
	c->n = dkc_bare_alloc(DKC_COUNTS * sizeof(c->n[0]));
	return c->n;
}

void dkc_counts_destroy(struct dkc_counts *c)
{
	dkc_bare_free(c->n);
}

u64 dkc_counts_sum(const struct dkc_counts *c, unsigned int i)
{
	return c->n[i];
}
