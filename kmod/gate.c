// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate of the kernel: which tasks are inside of which provider.
 *
 * Every CPU has a ring of slots for the sleepable calls that were entered on it.
 * Entering writes to the next one with preemption off, so that no two tasks take the
 * same, and leaving empties it, on whichever CPU. No lock is taken and no line
 * written that another CPU uses, unless the task has migrated in between. A call for
 * which there is no slot is in a list of its CPU's.
 *
 * A waiter reads all slots: it has unpublished the functions and waited for a grace
 * period, so every call that found them is in one by then.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "../lib/core/registry.h"
#include "gate.h"

/* Calls that were entered on a CPU, before entering takes a lock. */
#define DKC_GATE_SLOTS	16

struct dkc_gate_slot {
	struct dkc_gate_slot *next;	/* of the ring */
	const void *prov;		/* NULL: free */
	const struct dkc_reg *reg;
	const void *op;
	const struct task_struct *task;
	unsigned long seq;		/* of the calls that used it */
};

struct dkc_gate_cpu {
	struct dkc_gate_slot *next;	/* to be taken; for its CPU alone */
	struct dkc_gate_slot slots[DKC_GATE_SLOTS];
	raw_spinlock_t lock;		/* of the crowd */
	struct hlist_head crowd;	/* calls for which there was no slot */
};

/* A call of the crowd; it lives in its room, whose first word is the slot or 0. */
struct dkc_crowded {
	u64 no_slot;
	struct hlist_node node;
	struct dkc_gate_cpu *cpu;
	const struct task_struct *task;
	const void *prov;
	const struct dkc_reg *reg;
	const void *op;
};

static DEFINE_PER_CPU_SHARED_ALIGNED(struct dkc_gate_cpu, dkc_gate_cpus);

/*
 * Queues of the waiters, by the address of what they wait for: of a provider for
 * its calls, and of its registry for a device or backend that comes online. So a
 * call that leaves takes no lock that waiters for other providers take.
 */
#define DKC_GATE_QUEUE_BITS	6
static wait_queue_head_t dkc_gate_queues[1 << DKC_GATE_QUEUE_BITS];
/* How many wait, in all queues: where nobody does, a call need not look for its own. */
static atomic_t dkc_gate_waiters = ATOMIC_INIT(0);

struct dkc_gate_waiter {
	struct wait_queue_entry entry;
	const void *on;
};

static struct dkc_crowded *dkc_crowded(u64 *room)
{
	BUILD_BUG_ON(sizeof(struct dkc_crowded) > DKC_GATE_ROOM * sizeof(u64));
	return (struct dkc_crowded *)room;
}

void dkc_gate_init(void)
{
	int cpu, i;

	for (i = 0; i < ARRAY_SIZE(dkc_gate_queues); i++)
		init_waitqueue_head(&dkc_gate_queues[i]);
	for_each_possible_cpu(cpu) {
		struct dkc_gate_cpu *g = per_cpu_ptr(&dkc_gate_cpus, cpu);

		for (i = 0; i < DKC_GATE_SLOTS; i++)
			g->slots[i].next = &g->slots[(i + 1) % DKC_GATE_SLOTS];
		g->next = g->slots;
		raw_spin_lock_init(&g->lock);
		INIT_HLIST_HEAD(&g->crowd);
	}
}

/* The slot is free, and the next one to be taken is that behind it. */
static __always_inline void dkc_slot_take(struct dkc_gate_slot *slot, u64 *room,
					  const void *prov, const struct dkc_reg *reg,
					  const void *op)
{
	__this_cpu_write(dkc_gate_cpus.next, slot->next);
	/*
	 * a reader that sees a word of this call sees its number. Pairs with dkc_slot_read():
	 * selftests/model/slot.pml
	 */
	smp_store_release(&slot->seq, slot->seq + 1);	/* after the leave before */
	smp_store_release(&slot->reg, reg);	/* behind the number */
	smp_store_release(&slot->op, op);	/* behind the number */
	smp_store_release(&slot->task, current);	/* behind the number */
	smp_store_release(&slot->prov, prov);	/* behind all words */
	room[0] = (unsigned long)slot;
}

static void dkc_gate_crowd(u64 *room, const void *prov, const struct dkc_reg *reg,
			   const void *op)
{
	struct dkc_gate_cpu *g = this_cpu_ptr(&dkc_gate_cpus);
	struct dkc_crowded *c = dkc_crowded(room);

	c->no_slot = 0;
	c->cpu = g;
	c->task = current;
	c->prov = prov;
	c->reg = reg;
	c->op = op;
	raw_spin_lock(&g->lock);
	hlist_add_head(&c->node, &g->crowd);
	raw_spin_unlock(&g->lock);
}

/* The next slot is taken, by a call that has been inside for a while. */
static void dkc_gate_take_another(u64 *room, const void *prov, const struct dkc_reg *reg,
				  const void *op)
{
	struct dkc_gate_slot *taken = __this_cpu_read(dkc_gate_cpus.next);
	struct dkc_gate_slot *slot = taken->next;

	/* as in dkc_slot_next() */
	while (slot != taken && smp_load_acquire(&slot->prov))
		slot = slot->next;
	if (slot != taken)
		dkc_slot_take(slot, room, prov, reg, op);
	else
		dkc_gate_crowd(room, prov, reg, op);
}

/* With preemption off; NULL if the slot that would be next is taken. */
static __always_inline struct dkc_gate_slot *dkc_slot_next(void)
{
	struct dkc_gate_slot *slot = __this_cpu_read(dkc_gate_cpus.next);

	/* pairs with the release by the call that left it, maybe on another CPU */
	return likely(!smp_load_acquire(&slot->prov)) ? slot : NULL;
}

void dkc_gate_take(u64 *room, const void *prov, const struct dkc_reg *reg,
		   const void *op)
{
	struct dkc_gate_slot *slot;

	preempt_disable();
	slot = dkc_slot_next();
	if (slot)
		dkc_slot_take(slot, room, prov, reg, op);
	else
		dkc_gate_take_another(room, prov, reg, op);
	preempt_enable();
}

static noinline void dkc_to_gate_slowly(struct dk__room *room, const void *op)
{
	dkc_gate_take_another(room->gate, dkc_block_of(room->entry.reg)->prov, room->entry.reg,
			      op);
	preempt_enable();
	dkc_section_ends();
	rcu_read_unlock();
	dkc_might_sleep();
}

/* The call does not need its table any more, and leaves its read section for the gate. */
void dk__to_gate(struct dk_call *c, struct dk__slot slot)
{
	struct dk__room *room = slot.at;
	const struct dk__entry entry = *c->entry;
	struct dkc_gate_slot *free;

	room->entry = entry;
	c->entry = &room->entry;
	c->made &= ~DK__CALL_IN_RCU;
	preempt_disable();
	free = dkc_slot_next();
	if (unlikely(!free)) {
		dkc_to_gate_slowly(room, c->op);
		return;
	}
	dkc_slot_take(free, room->gate, dkc_block_of(entry.reg)->prov, entry.reg, c->op);
	preempt_enable();
	dkc_section_ends();
	rcu_read_unlock();
	dkc_might_sleep();
}

static wait_queue_head_t *dkc_gate_queue(const void *on)
{
	return &dkc_gate_queues[hash_ptr(on, DKC_GATE_QUEUE_BITS)];
}

/* Others in the queue go on sleeping. */
static int dkc_gate_wake_waiter(struct wait_queue_entry *entry, unsigned int mode, int sync,
				void *key)
{
	const struct dkc_gate_waiter *w = container_of(entry, struct dkc_gate_waiter, entry);

	return w->on == key ? default_wake_function(entry, mode, sync, key) : 0;
}

noinline void dkc_gate_wake(const void *on)
{
	wait_queue_head_t *queue = dkc_gate_queue(on);

	/*
	 * has a full barrier, which pairs with set_current_state() in dkc_gate_wait():
	 * NO_WAKE_ORDER of selftests/model/dispatchkey.pml
	 */
	if (wq_has_sleeper(queue))
		__wake_up(queue, TASK_NORMAL, 0, (void *)on);
}

static noinline const void *dkc_gate_leave_crowd(u64 *room)
{
	struct dkc_crowded *c = dkc_crowded(room);
	const void *prov = c->prov;

	raw_spin_lock(&c->cpu->lock);
	hlist_del(&c->node);
	raw_spin_unlock(&c->cpu->lock);
	return prov;
}

static __always_inline void dkc_gate_leave_one(u64 *room)
{
	struct dkc_gate_slot *slot = (struct dkc_gate_slot *)(unsigned long)room[0];
	const void *prov;

	if (likely(slot)) {
		prov = slot->prov;
		smp_store_release(&slot->prov, NULL);	/* all that was done inside is seen */
	} else {
		prov = dkc_gate_leave_crowd(room);
	}
	smp_mb();	/* pairs with set_current_state() in dkc_gate_wait() */
	/* by its address alone: a waiter may have freed it */
	if (unlikely(atomic_read(&dkc_gate_waiters)))
		dkc_gate_wake(prov);
}

void dkc_gate_leave(u64 *room)
{
	dkc_gate_leave_one(room);
}

void dk__leave_gate(struct dk__slot slot)
{
	dkc_gate_leave_one(slot.at->gate);
}

/*
 * The words of a slot as one call wrote them; false if it is free. The CPU may go on
 * meanwhile, but it numbers a call before it writes any word of it, and a reader that
 * sees the word sees the number.
 */
static bool dkc_slot_read(const struct dkc_gate_slot *slot, struct dkc_inside *in)
{
	unsigned long seq;

	do {
		seq = smp_load_acquire(&slot->seq);	/* before the words */
		in->prov = smp_load_acquire(&slot->prov);	/* before what it says */
		in->reg = smp_load_acquire(&slot->reg);	/* before the number */
		in->op = smp_load_acquire(&slot->op);	/* before the number */
		in->who = smp_load_acquire(&slot->task);	/* before the number */
	} while (READ_ONCE(slot->seq) != seq);
	return in->prov;
}

static bool dkc_gate_any_in(const struct dkc_gate_cpu *g, const struct task_struct *task,
			    dkc_inside_fn is, void *data)
{
	struct dkc_inside in;
	unsigned int i;

	for (i = 0; i < DKC_GATE_SLOTS; i++)
		if (dkc_slot_read(&g->slots[i], &in) && (!task || in.who == task) &&
		    is(&in, data))
			return true;
	return false;
}

static bool dkc_gate_any_crowded(struct dkc_gate_cpu *g, const struct task_struct *task,
				 dkc_inside_fn is, void *data)
{
	struct dkc_crowded *c;
	bool found = false;

	raw_spin_lock(&g->lock);
	hlist_for_each_entry(c, &g->crowd, node) {
		struct dkc_inside in = { c->prov, c->reg, c->op, c->task };

		found = (!task || c->task == task) && is(&in, data);
		if (found)
			break;
	}
	raw_spin_unlock(&g->lock);
	return found;
}

bool dkc_gate_any(bool mine, dkc_inside_fn is, void *data)
{
	const struct task_struct *task = mine ? current : NULL;
	struct dkc_gate_cpu *g;
	bool found = false;
	int cpu;

	/* a task that is seen inside stays, although it may leave and exit */
	rcu_read_lock();
	for_each_possible_cpu(cpu) {
		g = per_cpu_ptr(&dkc_gate_cpus, cpu);
		found = dkc_gate_any_in(g, task, is, data) ||
			dkc_gate_any_crowded(g, task, is, data);
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

/* Of a deadline, in jiffies, at least one. */
static unsigned long dkc_time_left(u64 deadline)
{
	u64 now = dkc_now();

	return deadline > now ? msecs_to_jiffies(deadline - now) : 1;
}

static void dkc_gate_begin_to_wait(struct dkc_gate_waiter *w, const void *on)
{
	w->on = on;
	init_waitqueue_entry(&w->entry, current);
	w->entry.func = dkc_gate_wake_waiter;
	add_wait_queue(dkc_gate_queue(on), &w->entry);
}

bool dkc_gate_wait(const void *prov, const void *reg, dkc_inside_fn is, void *data,
		   u64 deadline)
{
	long left = deadline ? dkc_time_left(deadline) : MAX_SCHEDULE_TIMEOUT;
	struct dkc_gate_waiter by_prov, by_reg;
	bool empty;

	atomic_inc(&dkc_gate_waiters);
	dkc_gate_begin_to_wait(&by_prov, prov);
	dkc_gate_begin_to_wait(&by_reg, reg);
	for (;;) {
		/* has a full barrier, which pairs with the one in dkc_gate_wake() */
		set_current_state(TASK_UNINTERRUPTIBLE);
		empty = !dkc_gate_any(false, is, data);
		if (empty || !left)
			break;
		left = schedule_timeout(left);
	}
	__set_current_state(TASK_RUNNING);
	remove_wait_queue(dkc_gate_queue(reg), &by_reg.entry);
	remove_wait_queue(dkc_gate_queue(prov), &by_prov.entry);
	atomic_dec(&dkc_gate_waiters);
	return empty;
}

/* The task was inside in the read section of dkc_gate_any(), and its memory lasts. */
u32 dkc_inside_who(const struct dkc_inside *in, char *name, size_t size)
{
	const struct task_struct *task = in->who;

	strscpy(name, task->comm, size);
	return task_pid_nr((struct task_struct *)task);
}

/* ---- a grace period with a deadline ----------------------------------------- */

bool dkc_grace_begin(struct dkc_grace *g)
{
	g->cookie = start_poll_synchronize_rcu();
	return true;
}

bool dkc_grace_wait(struct dkc_grace *g, u64 deadline)
{
	if (!deadline) {
		cond_synchronize_rcu(g->cookie);
		return true;
	}
	while (!poll_state_synchronize_rcu(g->cookie)) {
		if (dkc_now() >= deadline)
			return false;
		schedule_timeout_uninterruptible(1);
	}
	return true;
}

void dkc_grace_end(struct dkc_grace *g)
{
}
