// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel threads that call while the functions' providers come and go; the
 * twin of threads.c. Every call is counted by the function that served it, in
 * the memory of the provider that brought it, which is poisoned and freed when
 * the provider has left.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/smp.h>
#include <linux/timer.h>

#include "test.h"

#define CALLERS		2
#define SECONDS		2
#define ALIVE		0x616c6976u

DK_OP(count, "kthreads::count", (struct dk_obj *x), (x), (x));
DK_OP(swift, "kthreads::swift", (struct dk_obj *x), (x), (x));
DK_OP(block, "kthreads::block",
	(struct dk_obj *x, struct completion *in, struct completion *go),
	(x, in, go), (x));

struct counter {
	u32 alive;
	atomic64_t served;
};

static atomic64_t poisoned;
static u64 served_by_the_gone;

static int count_call(struct dk_call *c)
{
	struct counter *me = dk_call_priv(c);

	if (READ_ONCE(me->alive) != ALIVE)
		atomic64_inc(&poisoned);
	atomic64_inc(&me->served);
	return 0;
}

static int count_here(struct dk_call *c, struct dk_obj *x)
{
	struct counter *me = dk_call_priv(c);

	/* sleepable: leave the CPU now and then */
	if (atomic64_read(&me->served) % 64 == 0)
		cond_resched();
	return count_call(c);
}

static int count_behind(struct dk_call *c, struct dk_obj *x)
{
	return count_below(c, x);
}

static int swift_here(struct dk_call *c, struct dk_obj *x)
{
	return count_call(c);
}

static const struct dk_impl base_impls[] = {
	DK_IMPL(count, DK_COMPOSITE_EXPLICIT_AUTOGRAD, count_here),
	DK_IMPL_ATOMIC(swift, DK_COMPOSITE_EXPLICIT_AUTOGRAD, swift_here),
};

static const struct dk_impl guest_impls[] = {
	DK_IMPL(count, DK_CPU, count_here),
	DK_IMPL(count, DK_AUTOGRAD_CPU, count_behind),
	DK_IMPL_ATOMIC(swift, DK_CPU, swift_here),
};

static const struct dk_impl card_impls[] = {
	DK_IMPL(count, DK_DENSE, count_here),
	DK_IMPL_ATOMIC(swift, DK_DENSE, swift_here),
};

static const struct dk_impl through[] = {
	DK_IMPL_FALLTHROUGH(count, DK_TRACER),
};

static const struct dk_impl fallback = DK_FALLTHROUGH(DK_TRACER);

static struct dk_op *count_handle, *swift_handle;
static struct dk_obj objects[2];	/* on the CPU, and with autograd */
static unsigned int card_backend;
static u32 card;

struct caller {
	struct task_struct *task;
	u64 sent;
	u64 lost;
};

static int call_all_the_time(void *data)
{
	struct caller *me = data;
	unsigned int i = 0;

	while (!kthread_should_stop()) {
		struct dk_obj x = objects[i % 2];

		/* now of a card that is there, and now of one that is gone */
		if (i % 3 == 2)
			x = dk_obj_on(card_backend, READ_ONCE(card));
		me->lost += !!count_at(count_handle, &dk_local_default, &x);
		me->lost += !!swift_at(swift_handle, &dk_local_default, &x);
		me->sent += 2;
		i++;
		cond_resched();
	}
	return 0;
}

/* An atomic operator from a timer, and from an interrupt of every processor. */
static struct timer_list timer;
static atomic64_t sent_by_interrupts, lost_by_interrupts;

static void call_swift(void *unused)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	if (swift_at(swift_handle, &dk_local_default, &x))
		atomic64_inc(&lost_by_interrupts);
	atomic64_inc(&sent_by_interrupts);
}

static void timer_calls(struct timer_list *t)
{
	call_swift(NULL);
	mod_timer(t, jiffies + 1);
}

static struct counter *counter_new(void)
{
	struct counter *c = t_alloc(sizeof(*c));

	c->alive = ALIVE;
	return c;
}

static void counter_end(struct counter *c)
{
	if (!c)
		return;
	served_by_the_gone += atomic64_read(&c->served);
	memset(c, 0x5a, sizeof(*c));
	t_free(c);
}

struct visitor {
	struct dk_provider prov;
	struct counter *host, *card0, *card1;
	unsigned int backend;
	u32 d0, d1;
};

static void come(struct visitor *v)
{
	static const struct dk_provider prov = DK_PROVIDER("guest");

	v->host = counter_new();
	v->card0 = counter_new();
	v->card1 = counter_new();
	v->prov = prov;
	v->prov.registry = t_reg;
	v->prov.priv = v->host;
	CHECK_OK(dk_provider_register(&v->prov, &t_why));
	CHECK_OK(dk_impls_register(&v->prov, guest_impls, ARRAY_SIZE(guest_impls),
				   &t_why));
	CHECK_OK(dk_backend_join(&v->prov, "kthreads", 0, 0, &v->backend, &t_why));
	CHECK_OK(dk_device_register(&v->prov, v->backend, "d0", v->card0, card_impls,
				    ARRAY_SIZE(card_impls), &v->d0, &t_why));
	WRITE_ONCE(card, v->d0);
	CHECK_OK(dk_device_register(&v->prov, v->backend, "d1", v->card1, card_impls,
				    ARRAY_SIZE(card_impls), &v->d1, &t_why));
}

static void change(struct visitor *v, unsigned int round)
{
	CHECK_OK(dk_impls_register(&v->prov, through, 1, &t_why));
	CHECK_OK(dk_fallback_register(&v->prov, &fallback, &t_why));
	CHECK_OK(dk_device_set_online(t_reg, v->d0, 0, &t_why));
	WRITE_ONCE(card, v->d1);
	CHECK_OK(dk_device_set_online(t_reg, v->d0, 1, &t_why));
	if (round & 1)
		CHECK_OK(dk_impls_unregister(&v->prov, through, &t_why));
	else
		CHECK_OK(dk_impls_withdraw(&v->prov, through, &t_why));
	if (round & 2)
		CHECK_OK(dk_provider_drain(&v->prov));
	if (round & 4) {
		CHECK_OK(dk_device_unregister(&v->prov, v->d1, &t_why));
		counter_end(v->card1);
		v->card1 = NULL;
	}
	if (round & 8)
		CHECK_OK(dk_impls_unregister(&v->prov, guest_impls, &t_why));
}

static void go(struct visitor *v)
{
	CHECK_OK(dk_provider_unregister(&v->prov));
	counter_end(v->host);
	counter_end(v->card0);
	counter_end(v->card1);
}

static struct dk_provider host = DK_PROVIDER("host");
static struct caller callers[CALLERS];

static void begin(struct counter *base)
{
	t_open("v1", DK_REGISTRY_STOCKED);
	atomic64_set(&poisoned, 0);
	atomic64_set(&sent_by_interrupts, 0);
	atomic64_set(&lost_by_interrupts, 0);
	served_by_the_gone = 0;
	host.registry = t_reg;
	host.priv = base;
	CHECK_OK(dk_provider_register(&host, &t_why));
	CHECK_OK(dk_op_define(&host, &count_op, 0, &t_why));
	CHECK_OK(dk_op_define(&host, &swift_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&host, base_impls, 2, &t_why));
	CHECK_OK(dk_backend_join(&host, "kthreads", 0, 0, &card_backend, &t_why));
	count_handle = dk_op_get(t_reg, "kthreads::count");
	swift_handle = dk_op_get(t_reg, "kthreads::swift");
	objects[0] = dk_obj_on(DK_BACKEND_CPU, 0);
	objects[1] = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	memset(callers, 0, sizeof(callers));
}

static void start(struct caller *caller)
{
	caller->task = kthread_run(call_all_the_time, caller, "dk_api_test");
	if (!CHECK(!IS_ERR(caller->task)))
		caller->task = NULL;
}

static void call_while_all_changes(void)
{
	static struct visitor visitor;
	struct counter *base = counter_new();
	unsigned long end = jiffies + SECONDS * HZ;
	unsigned int i, rounds = 0;
	u64 sent, lost;

	begin(base);
	for (i = 0; i < CALLERS; i++)
		start(&callers[i]);
	timer_setup(&timer, timer_calls, 0);
	mod_timer(&timer, jiffies + 1);
	while (time_before(jiffies, end)) {
		come(&visitor);
		on_each_cpu(call_swift, NULL, 1);
		change(&visitor, rounds);
		on_each_cpu(call_swift, NULL, 1);
		go(&visitor);
		rounds++;
		cond_resched();
	}
	/* it starts itself again, and only who waits for it knows when it has not */
	while (del_timer_sync(&timer))
		;
	for (i = 0; i < CALLERS; i++)
		if (callers[i].task)
			kthread_stop(callers[i].task);
	sent = atomic64_read(&sent_by_interrupts);
	lost = atomic64_read(&lost_by_interrupts);
	for (i = 0; i < CALLERS; i++) {
		sent += callers[i].sent;
		lost += callers[i].lost;
	}
	CHECK_INT(lost, 0);
	CHECK_INT(atomic64_read(&poisoned), 0);
	CHECK_INT(served_by_the_gone + atomic64_read(&base->served), sent);
	CHECK(sent);
	CHECK(served_by_the_gone);
	CHECK(atomic64_read(&sent_by_interrupts));
	t_note("%u rounds, %llu calls, %llu of them by who left, %lld in interrupts",
	       rounds, sent, served_by_the_gone,
	       (long long)atomic64_read(&sent_by_interrupts));
	dk_op_put(count_handle);
	dk_op_put(swift_handle);
	CHECK_OK(dk_provider_unregister(&host));
	t_free(base);
	t_close();
}

/* ---- a call that stays ---------------------------------------------------- */

static struct dk_op *block_handle;
static struct completion inside, let_go;

static int block_here(struct dk_call *c, struct dk_obj *x, struct completion *in,
		      struct completion *go_on)
{
	complete(in);
	wait_for_completion(go_on);
	return 0;
}

static int call_and_stay(void *result)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	*(int *)result = block_at(block_handle, &dk_local_default, &x, &inside,
				  &let_go);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* A call that stays in one provider does not delay another's leaving. */
static void slow_call_delays_its_own_only(void)
{
	static const struct dk_impl slow[] = { DK_IMPL(block, DK_CPU, block_here) };
	static const struct dk_impl of_b[] = {
		DK_IMPL(count, DK_CPU, count_here), DK_IMPL(block, DK_CUDA, block_here),
	};
	static struct dk_provider a, b;
	struct task_struct *task;
	int result = 1;
	u32 device;

	t_open("v1", DK_REGISTRY_STOCKED);
	t_join(&a, "a");
	t_join(&b, "b");
	init_completion(&inside);
	init_completion(&let_go);
	CHECK_OK(dk_op_define(&b, &count_op, 0, &t_why));
	CHECK_OK(dk_op_define(&a, &block_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&a, slow, 1, &t_why));
	CHECK_OK(dk_impls_register(&b, of_b, 2, &t_why));
	block_handle = dk_op_get(t_reg, "kthreads::block");
	task = kthread_run(call_and_stay, &result, "dk_api_test");
	if (!CHECK(!IS_ERR(task)))
		goto out;
	wait_for_completion(&inside);
	/* if it did delay b, these would never return */
	CHECK_OK(dk_impls_unregister(&b, of_b, &t_why));
	CHECK_OK(dk_device_register(&b, 1, "d", NULL, NULL, 0, &device, &t_why));
	CHECK_OK(dk_device_unregister(&b, device, &t_why));
	CHECK_OK(dk_provider_drain(&b));
	t_leave(&b);
	CHECK_INT(result, 1);
	complete(&let_go);
	t_leave(&a);
	kthread_stop(task);
	CHECK_INT(result, 0);
out:
	if (a.core)
		t_leave(&a);
	if (b.core)
		t_leave(&b);
	dk_op_put(block_handle);
	t_close();
}

T_SUITE(kthreads,
	T(call_while_all_changes),
	T(slow_call_delays_its_own_only));
