// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate of the kernel: a record for every sleepable call in flight, in a
 * list of the CPU that it was entered on. Entering writes to that CPU's own
 * line; leaving does too, unless the task has migrated in between.
 */
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "gate.h"

struct dkc_gate_cpu {
	raw_spinlock_t lock;
	struct list_head calls;
};

/* Lives in the room that struct dk_call keeps for it. */
struct dkc_inflight {
	struct list_head node;
	struct dkc_gate_cpu *cpu;
	struct task_struct *task;
	const void *prov;
	const void *block;
};

static DEFINE_PER_CPU(struct dkc_gate_cpu, dkc_gate_cpus);
static DECLARE_WAIT_QUEUE_HEAD(dkc_gate_wq);

static struct dkc_inflight *dkc_inflight(struct dk_call *c)
{
	BUILD_BUG_ON(sizeof(struct dkc_inflight) > sizeof(c->gate));
	return (struct dkc_inflight *)c->gate;
}

void dkc_gate_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct dkc_gate_cpu *g = per_cpu_ptr(&dkc_gate_cpus, cpu);

		raw_spin_lock_init(&g->lock);
		INIT_LIST_HEAD(&g->calls);
	}
}

int dkc_gate_enter(struct dk_call *c, const void *prov, const void *block)
{
	struct dkc_gate_cpu *g = raw_cpu_ptr(&dkc_gate_cpus);
	struct dkc_inflight *f = dkc_inflight(c);

	f->cpu = g;
	f->task = current;
	f->prov = prov;
	f->block = block;
	raw_spin_lock(&g->lock);
	list_add(&f->node, &g->calls);
	raw_spin_unlock(&g->lock);
	return 0;
}

void dkc_gate_leave(struct dk_call *c)
{
	struct dkc_inflight *f = dkc_inflight(c);

	raw_spin_lock(&f->cpu->lock);
	list_del(&f->node);
	raw_spin_unlock(&f->cpu->lock);
	/* has a full barrier, which pairs with the one of prepare_to_wait() */
	if (wq_has_sleeper(&dkc_gate_wq))
		wake_up_all(&dkc_gate_wq);
}

/* Is a call in flight that @task (NULL: any) made to @prov, @block (NULL: any)? */
static bool dkc_gate_has(const struct task_struct *task, const void *prov,
			 const void *block)
{
	bool found = false;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct dkc_gate_cpu *g = per_cpu_ptr(&dkc_gate_cpus, cpu);
		struct dkc_inflight *f;

		raw_spin_lock(&g->lock);
		list_for_each_entry(f, &g->calls, node) {
			found = f->prov == prov && (!task || f->task == task) &&
				(!block || f->block == block);
			if (found)
				break;
		}
		raw_spin_unlock(&g->lock);
		if (found)
			return true;
	}
	return false;
}

bool dkc_gate_inside(const void *prov)
{
	return dkc_gate_has(current, prov, NULL);
}

void dkc_gate_drain(const void *prov, const void *block)
{
	wait_event(dkc_gate_wq, !dkc_gate_has(NULL, prov, block));
}
