// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate of the kernel: a record for every sleepable call in flight, in a
 * list of the CPU that it was entered on. Entering writes to that CPU's own
 * line; leaving does too, unless the task has migrated in between.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "gate.h"

struct dkc_gate_cpu {
	raw_spinlock_t lock;
	struct hlist_head calls;
};

/* Lives in the room that a struct dk_call or dk_hold keeps for it. */
struct dkc_inflight {
	struct hlist_node node;
	struct dkc_gate_cpu *cpu;
	struct task_struct *task;
	const void *prov;
	const struct dkc_reg *reg;
	const void *op;
};

static DEFINE_PER_CPU(struct dkc_gate_cpu, dkc_gate_cpus);
static DECLARE_WAIT_QUEUE_HEAD(dkc_gate_wq);

static struct dkc_inflight *dkc_inflight(u64 *room)
{
	BUILD_BUG_ON(sizeof(struct dkc_inflight) > DKC_GATE_ROOM * sizeof(u64));
	return (struct dkc_inflight *)room;
}

void dkc_gate_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct dkc_gate_cpu *g = per_cpu_ptr(&dkc_gate_cpus, cpu);

		raw_spin_lock_init(&g->lock);
		INIT_HLIST_HEAD(&g->calls);
	}
}

int dkc_gate_enter(u64 *room, const void *prov, const struct dkc_reg *reg,
		   const void *op)
{
	struct dkc_gate_cpu *g = raw_cpu_ptr(&dkc_gate_cpus);
	struct dkc_inflight *f = dkc_inflight(room);

	f->cpu = g;
	f->task = current;
	f->prov = prov;
	f->reg = reg;
	f->op = op;
	raw_spin_lock(&g->lock);
	hlist_add_head(&f->node, &g->calls);
	raw_spin_unlock(&g->lock);
	return 0;
}

void dkc_gate_leave(u64 *room)
{
	struct dkc_inflight *f = dkc_inflight(room);

	raw_spin_lock(&f->cpu->lock);
	hlist_del(&f->node);
	raw_spin_unlock(&f->cpu->lock);
	/* has a full barrier, which pairs with the one of prepare_to_wait() */
	if (wq_has_sleeper(&dkc_gate_wq))
		wake_up_all(&dkc_gate_wq);
}

static bool dkc_gate_any_on(struct dkc_gate_cpu *g, const struct task_struct *task,
			    dkc_inside_fn is, void *data)
{
	struct dkc_inflight *f;
	bool found = false;

	raw_spin_lock(&g->lock);
	hlist_for_each_entry(f, &g->calls, node) {
		struct dkc_inside in = { f->prov, f->reg, f->op, f->task };

		found = (!task || f->task == task) && is(&in, data);
		if (found)
			break;
	}
	raw_spin_unlock(&g->lock);
	return found;
}

bool dkc_gate_any(bool mine, dkc_inside_fn is, void *data)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (dkc_gate_any_on(per_cpu_ptr(&dkc_gate_cpus, cpu),
				    mine ? current : NULL, is, data))
			return true;
	return false;
}

/* Of a deadline, in jiffies, at least one. */
static unsigned long dkc_time_left(u64 deadline)
{
	u64 now = dkc_now();

	return deadline > now ? msecs_to_jiffies(deadline - now) : 1;
}

bool dkc_gate_wait(dkc_inside_fn is, void *data, u64 deadline)
{
	if (deadline)
		return wait_event_timeout(dkc_gate_wq, !dkc_gate_any(false, is, data),
					  dkc_time_left(deadline));
	wait_event(dkc_gate_wq, !dkc_gate_any(false, is, data));
	return true;
}

/* The task is in a call, and so it is there as long as the CPU's lock is held. */
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
