// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate of the kernel module records which task is running a function of which provider.
 *
 * Each CPU has a ring of slots for the sleepable calls that are entered on it. A call takes the
 * next slot with preemption disabled, so that no two tasks take the same slot. The call frees the
 * slot when it returns, on any CPU. Taking and freeing a slot use no lock. They write no cache
 * line that another CPU uses, unless the task has migrated meanwhile. A call that finds no free
 * slot is added to the overflow list of its CPU.
 *
 * A task that waits for the calls of a provider first unpublishes the functions and waits for a
 * grace period. After that, every call that found these functions is recorded, and the task reads
 * all slots and overflow lists. A deferred call is added to a list before its function returns,
 * and stays in the list until it is completed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "../lib/core/change/change.h"
#include "gate.h"

/*
 * While this many calls that were entered on a CPU are running, the next call on this CPU is added
 * to the overflow list, which needs a lock.
 */
#define GATE_SLOTS	16

/* The value of word 0 of a frame's storage after the call was left. */
#define LEFT		1

struct gate_slot {
	struct gate_slot *next;		/* in the ring */
	const void *prov;		/* NULL: the slot is free */
	const struct dkc_reg *reg;
	const void *op;
	const struct task_struct *task;
	unsigned long seq;		/* number of calls that have used the slot */
#ifdef CONFIG_LOCKDEP
	bool is_mapped;			/* the call has acquired its provider's lockdep map */
#endif
};

struct gate_cpu {
	struct gate_slot *next;		/* the next slot to take; used by this CPU only */
	struct gate_slot slots[GATE_SLOTS];
	raw_spinlock_t lock;		/* protects @overflow */
	struct hlist_head overflow;	/* calls that found no free slot */
};

/*
 * A call in an overflow list. This struct is in the storage passed to dkc_gate_take(). The
 * first word of the storage is the address of the call's slot, or 0 if the call has none.
 */
struct gate_overflow {
	u64 no_slot;
	struct hlist_node node;
	struct gate_cpu *cpu;
	const struct task_struct *task;
	const void *prov;
	const struct dkc_reg *reg;
	const void *op;
};

static DEFINE_PER_CPU_SHARED_ALIGNED(struct gate_cpu, gate_cpus);

/*
 * The number of waiters. While it is 0, a call that ends wakes none. A waiter waits on two
 * addresses: on that of its provider, so that calls of other providers do not wake it, and on that
 * of this variable.
 */
static atomic_t num_waiters __read_mostly = ATOMIC_INIT(0);

/*
 * Deferred calls, hashed by their provider. A deferred call is added to one of these lists
 * before it leaves its slot or overflow list. So a waiter reads these lists after the slots
 * and overflow lists.
 */
#define GATE_DEFERRED_BITS	6
static struct gate_deferred {
	raw_spinlock_t lock;
	struct dk_deferred *list;
} ____cacheline_aligned_in_smp gate_deferred[1 << GATE_DEFERRED_BITS];

static struct gate_overflow *gate_overflow(u64 *storage)
{
	BUILD_BUG_ON(sizeof(struct gate_overflow) > DKC_GATE_SIZE * sizeof(u64));
	return (struct gate_overflow *)storage;
}

void dkc_gate_init(void)
{
	int cpu, i;

	for (i = 0; i < ARRAY_SIZE(gate_deferred); i++)
		raw_spin_lock_init(&gate_deferred[i].lock);
	for_each_possible_cpu(cpu) {
		struct gate_cpu *g = per_cpu_ptr(&gate_cpus, cpu);

		for (i = 0; i < GATE_SLOTS; i++)
			g->slots[i].next = &g->slots[(i + 1) % GATE_SLOTS];
		g->next = g->slots;
		raw_spin_lock_init(&g->lock);
		INIT_HLIST_HEAD(&g->overflow);
	}
}

/*
 * Records a call in a free slot, with preemption disabled. The stores pair with the loads of the
 * same words in slot_read(). If a reader loads one of the new words, its later load of @seq returns
 * the new @seq. If it loads the new @prov, its later loads return the other new words. See
 * selftests/model/slot.pml.
 */
static __always_inline void slot_take(struct gate_slot *slot, u64 *storage,
				      const struct dkc_reg *reg, const void *op)
{
	const void *prov = dkc_block_of(reg)->prov;

	__this_cpu_write(gate_cpus.next, slot->next);
	smp_store_release(&slot->seq, slot->seq + 1);	/* after the previous call's stores */
	smp_store_release(&slot->reg, reg);		/* after @seq */
	smp_store_release(&slot->op, op);		/* after @seq */
	smp_store_release(&slot->task, current);	/* after @seq */
	smp_store_release(&slot->prov, prov);		/* after all other words */
	storage[0] = (unsigned long)slot;
}

static void overflow_add(u64 *storage, const struct dkc_reg *reg, const void *op)
{
	struct gate_cpu *g = this_cpu_ptr(&gate_cpus);
	struct gate_overflow *c = gate_overflow(storage);

	c->no_slot = 0;
	c->cpu = g;
	c->task = current;
	c->prov = dkc_block_of(reg)->prov;
	c->reg = reg;
	c->op = op;
	raw_spin_lock(&g->lock);
	hlist_add_head(&c->node, &g->overflow);
	raw_spin_unlock(&g->lock);
}

/*
 * Takes the next free slot in the ring, or adds the call to the overflow list. Called with
 * preemption disabled, when the next slot is in use.
 */
static void take_another_slot(u64 *storage, const struct dkc_reg *reg, const void *op)
{
	struct gate_slot *taken = __this_cpu_read(gate_cpus.next);
	struct gate_slot *slot = taken->next;

	/* pairs with smp_store_release() in leave_gate(), which may run on another CPU */
	while (slot != taken && smp_load_acquire(&slot->prov))
		slot = slot->next;
	if (slot != taken)
		slot_take(slot, storage, reg, op);
	else
		overflow_add(storage, reg, op);
}

/* Sets *@slot to the next slot of the ring. Returns false if the slot is in use. */
static __always_inline bool slot_next(struct gate_slot **slot)
{
	*slot = __this_cpu_read(gate_cpus.next);
	/* pairs with smp_store_release() in leave_gate(), which may run on another CPU */
	return likely(!smp_load_acquire(&(*slot)->prov));
}

#ifdef CONFIG_LOCKDEP
/*
 * Each provider has a map, which lockdep treats as a lock. A call acquires the map for reading, as
 * if by trylock, because a call never waits. A wait for the provider's calls acquires the map for
 * writing: dkc_call_map_wait(). lockdep then reports a possible deadlock if a task waits for calls
 * while it holds a lock that one of the functions takes. It also reports two functions that
 * unregister each other's provider. A wait does not acquire the map if it can end before the calls
 * return. Such waits have a deadline, or are for a device or backend, which may be brought online
 * again.
 *
 * lockdep has few entries for the locks that a task holds. So only the outermost call in a provider
 * acquires the map, and only if enough entries are free. A call in an overflow list does not
 * acquire the map.
 */
static void call_map_acquire(const u64 *storage, const struct dkc_reg *reg, unsigned long ip)
{
	struct gate_slot *slot = (struct gate_slot *)(unsigned long)storage[0];
	struct lockdep_map *map = &dkc_block_of(reg)->prov->call_map.map;

	if (!slot)
		return;
	slot->is_mapped = lockdep_depth(current) < MAX_LOCK_DEPTH / 2 && !lock_is_held(map);
	if (slot->is_mapped)
		lock_acquire_shared_recursive(map, 0, 1, NULL, ip);
}

/* Called before the slot is freed. After that, the provider and its map may be freed. */
static void call_map_release(const struct gate_slot *slot, unsigned long ip)
{
	struct dkc_provider *prov = (struct dkc_provider *)slot->prov;

	if (slot->is_mapped)
		lock_release(&prov->call_map.map, ip);
}
#else
#define call_map_acquire(storage, reg, ip)	do { } while (0)
#define call_map_release(slot, ip)	do { } while (0)
#endif

void dkc_gate_take(u64 *storage, const struct dkc_reg *reg, const void *op)
{
	struct gate_slot *slot;

	preempt_disable();
	if (slot_next(&slot))
		slot_take(slot, storage, reg, op);
	else
		take_another_slot(storage, reg, op);
	preempt_enable();
	call_map_acquire(storage, reg, _RET_IP_);
}

/* The rest of dk__to_gate() if the next slot is in use. Called with preemption disabled. */
static noinline void to_gate_slowly(struct dk__storage *storage, const void *op)
{
	take_another_slot(storage->gate, storage->entry.reg, op);
	preempt_enable();
	__acquire(RCU);		/* for sparse: the RCU section began in the caller */
	rcu_read_unlock();
	call_map_acquire(storage->gate, storage->entry.reg, _RET_IP_);
	__might_sleep(__FILE__, __LINE__);
}

/*
 * Called in the read-side critical section of a call that has found its function. Copies the
 * entry, because the table may be freed after the section. Then enters the gate and ends the
 * section.
 */
void dk__to_gate(struct dk_call *c, struct dk__slot slot)
{
	struct dk__storage *storage = slot.at;
	const struct dk__entry entry = *c->entry;
	struct gate_slot *free;

	storage->entry = entry;
	c->entry = &storage->entry;
	c->made &= ~DK__CALL_IN_RCU;
	preempt_disable();
	if (!slot_next(&free)) {
		to_gate_slowly(storage, c->op);
		return;
	}
	slot_take(free, storage->gate, entry.reg, c->op);
	preempt_enable();
	__acquire(RCU);		/* for sparse: the RCU section began in the caller */
	rcu_read_unlock();
	call_map_acquire(storage->gate, entry.reg, _RET_IP_);
	__might_sleep(__FILE__, __LINE__);
}

/*
 * Wakes the waiters on an address. The caller must have executed a full barrier, which pairs with
 * that of prepare_to_wait() in dkc_gate_wait(). See NO_WAKE_ORDER in
 * selftests/model/dispatchkey.pml.
 */
static void wake(const void *on)
{
	wake_up_var((void *)on);
}

void dkc_gate_wake(void)
{
	smp_mb();	/* pairs with prepare_to_wait() in dkc_gate_wait() */
	wake(&num_waiters);
}

static noinline const void *overflow_del(u64 *storage)
{
	struct gate_overflow *c = gate_overflow(storage);
	const void *prov = c->prov;

	raw_spin_lock(&c->cpu->lock);
	hlist_del(&c->node);
	raw_spin_unlock(&c->cpu->lock);
	return prov;
}

static __always_inline void leave_gate(u64 *storage)
{
	struct gate_slot *slot = (struct gate_slot *)(unsigned long)storage[0];
	const void *prov;

	if (likely(slot)) {
		call_map_release(slot, _RET_IP_);
		prov = slot->prov;
		/* pairs with smp_load_acquire() in slot_next() and slot_read() */
		smp_store_release(&slot->prov, NULL);
	} else {
		prov = overflow_del(storage);
	}
	smp_mb();	/* pairs with prepare_to_wait() in dkc_gate_wait() */
	/* only the address of @prov is used: a waiter may have freed the provider */
	if (unlikely(atomic_read(&num_waiters)))
		wake(prov);
}

/* Only for calls that have a frame. */
void dkc_gate_leave(u64 *storage)
{
	const struct dk_frame *f = container_of(storage, struct dk_frame, storage.gate[0]);

	if (unlikely(storage[0] == LEFT)) {
		dkc_misuse(dkc_name_of_call(&f->call), " was left twice");
		return;
	}
	leave_gate(storage);
	storage[0] = LEFT;
}

void dk__leave_gate(struct dk__slot slot)
{
	leave_gate(slot.at->gate);
}

/* ---- deferred calls ----------------------------------------------------------- */

static void wake_all(struct work_struct *work)
{
	dkc_gate_wake();
}

static DECLARE_WORK(wake_all_work, wake_all);

static void schedule_wake_all(struct irq_work *work)
{
	schedule_work(&wake_all_work);
}

/*
 * On PREEMPT_RT, a thread of each CPU runs the irq_work that is not marked HARD. A CPU that goes
 * offline stops this thread before its interrupts. Without the work that is scheduled here, which
 * other CPUs run, the irq_work of the last interrupts would wait until the CPU is online again.
 */
static struct irq_work schedule_wake_all_work = IRQ_WORK_INIT_HARD(schedule_wake_all);

void dkc_gate_exit(void)
{
	irq_work_sync(&schedule_wake_all_work);
	flush_work(&wake_all_work);
}

static struct gate_deferred *deferred_of(const void *prov)
{
	return &gate_deferred[hash_ptr(prov, GATE_DEFERRED_BITS)];
}

int dkc_gate_defer(struct dk_deferred *d, const void *prov, const struct dkc_reg *reg)
{
	struct gate_deferred *g = deferred_of(prov);
	unsigned long flags;
	int err;

	raw_spin_lock_irqsave(&g->lock, flags);
	err = dkc_deferred_link(d, &g->list, prov, reg, in_task() ? task_pid_nr(current) : 0);
	raw_spin_unlock_irqrestore(&g->lock, flags);
	return err;
}

bool dkc_gate_complete(struct dk_deferred *d, int result)
{
	/* pairs with the release in dkc_deferred_unlink() */
	const void *prov = smp_load_acquire(&d->prov);
	struct gate_deferred *g = deferred_of(prov);
	unsigned long flags;
	bool found;

	raw_spin_lock_irqsave(&g->lock, flags);
	/* another caller may have completed the call */
	found = prov && d->prov == prov;
	if (found) {
		dkc_trace(complete, d, result);
		dkc_deferred_unlink(d);
	}
	raw_spin_unlock_irqrestore(&g->lock, flags);
	if (!found)
		return false;
	smp_mb();	/* pairs with prepare_to_wait() in dkc_gate_wait() */
	if (!atomic_read(&num_waiters))
		return true;
	/* on PREEMPT_RT the lock of a wait queue may sleep, which atomic contexts must not */
	if (dkc_in_atomic())
		irq_work_queue(&schedule_wake_all_work);
	else
		wake(prov);
	return true;
}

static bool any_deferred(const void *prov, dkc_inside_fn match, void *data)
{
	struct gate_deferred *g = deferred_of(prov);
	unsigned long flags;
	bool found;

	raw_spin_lock_irqsave(&g->lock, flags);
	found = dkc_deferred_any(g->list, match, data);
	raw_spin_unlock_irqrestore(&g->lock, flags);
	return found;
}

/* ---- waits --------------------------------------------------------------------- */

/*
 * Reads a slot. All returned words belong to one call, even if other calls take and free the slot
 * at the same time. Returns false if the slot is free. Each call increments @seq before it stores
 * other words. So if @seq has the same value before and after the other loads, no word belongs to a
 * later call. The loads pair with the stores in slot_take() and leave_gate().
 */
static bool slot_read(const struct gate_slot *slot, struct dkc_inside *in)
{
	unsigned long seq;

	do {
		seq = smp_load_acquire(&slot->seq);		/* before the other words */
		in->prov = smp_load_acquire(&slot->prov);	/* before the words below */
		in->reg = smp_load_acquire(&slot->reg);		/* before @seq is read again */
		in->op = smp_load_acquire(&slot->op);		/* before @seq is read again */
		in->task = smp_load_acquire(&slot->task);	/* before @seq is read again */
	} while (READ_ONCE(slot->seq) != seq);
	return in->prov;
}

static bool any_slot(const struct gate_cpu *g, const struct task_struct *task,
		     dkc_inside_fn match, void *data)
{
	struct dkc_inside in = { .deferred = NULL };
	unsigned int i;

	for (i = 0; i < GATE_SLOTS; i++)
		if (slot_read(&g->slots[i], &in) && (!task || in.task == task) &&
		    match(&in, data))
			return true;
	return false;
}

static bool any_overflow(struct gate_cpu *g, const struct task_struct *task,
			 dkc_inside_fn match, void *data)
{
	struct gate_overflow *c;
	bool found = false;

	raw_spin_lock(&g->lock);
	hlist_for_each_entry(c, &g->overflow, node) {
		struct dkc_inside in = {
			.prov = c->prov, .reg = c->reg, .op = c->op, .task = c->task,
		};

		found = (!task || c->task == task) && match(&in, data);
		if (found)
			break;
	}
	raw_spin_unlock(&g->lock);
	return found;
}

/*
 * The pointer to the task of a recorded call is only compared, never followed. If an oops kills a
 * task inside a call, the call stays recorded, but the task is freed. A new task at the same
 * address is then mistaken for the killed task. If such a call is in an overflow list, reading the
 * list uses freed memory, because the record was on the stack of the killed task. Slots are static
 * memory.
 */
static bool any_recorded(const struct task_struct *task, dkc_inside_fn match, void *data)
{
	struct gate_cpu *g;
	bool found = false;
	int cpu;

	rcu_read_lock();
	for_each_possible_cpu(cpu) {
		g = per_cpu_ptr(&gate_cpus, cpu);
		found = any_slot(g, task, match, data) ||
			any_overflow(g, task, match, data);
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

bool dkc_gate_mine(dkc_inside_fn match, void *data)
{
	return any_recorded(current, match, data);
}

bool dkc_gate_any(const void *prov, dkc_inside_fn match, void *data)
{
	return any_recorded(NULL, match, data) || any_deferred(prov, match, data);
}

/* Returns the time until @deadline, in jiffies, but at least one jiffy. */
static unsigned long timeout_until(u64 deadline)
{
	u64 now = dkc_now();

	return deadline > now ? msecs_to_jiffies(deadline - now) : 1;
}

bool dkc_gate_wait(const void *prov, dkc_inside_fn match, void *data, u64 deadline)
{
	long left = deadline ? timeout_until(deadline) : MAX_SCHEDULE_TIMEOUT;
	wait_queue_head_t *queue = __var_waitqueue((void *)prov);
	wait_queue_head_t *queue_of_all = __var_waitqueue(&num_waiters);
	struct wait_bit_queue_entry waiter, in_all;
	bool empty;

	might_sleep();
	atomic_inc(&num_waiters);
	init_wait_var_entry(&waiter, (void *)prov, 0);
	init_wait_var_entry(&in_all, &num_waiters, 0);
	for (;;) {
		/*
		 * prepare_to_wait() has a full barrier, which pairs with the barriers in
		 * leave_gate(), dkc_gate_complete() and dkc_gate_wake(). A signal does not end
		 * the wait, because the caller will free what the calls use.
		 */
		prepare_to_wait(queue, &waiter.wq_entry, TASK_UNINTERRUPTIBLE);
		prepare_to_wait(queue_of_all, &in_all.wq_entry, TASK_UNINTERRUPTIBLE);
		empty = !dkc_gate_any(prov, match, data);
		if (empty || !left)
			break;
		left = schedule_timeout(left);
	}
	finish_wait(queue_of_all, &in_all.wq_entry);
	finish_wait(queue, &waiter.wq_entry);
	atomic_dec(&num_waiters);
	return empty;
}

void dkc_notice_wait(const char *prov, const char *call)
{
	pr_warn("%s waits for a call: %s\n", prov, call);
}

void dkc_misuse(const char *op, const char *text)
{
	pr_warn_ratelimited("%s%s\n", op, text);
}

/* Walks over all tasks, so spinlocks must not be held. @of may already be freed. */
u32 dkc_inside_task(const void *of, char *name, size_t size)
{
	struct task_struct *process, *task;
	u32 pid = 0;

	strscpy(name, "(exited)", size);
	rcu_read_lock();
	for_each_process_thread(process, task) {
		if (task != of)
			continue;
		strscpy(name, task->comm, size);
		pid = task_pid_nr(task);
		goto out;
	}
out:
	rcu_read_unlock();
	return pid;
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
