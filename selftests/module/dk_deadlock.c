// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_deadlock: possible deadlocks between a lock and a wait for calls, which lockdep must report,
 * and legal waits that look like these deadlocks. Nothing really deadlocks, because one thread
 * makes all calls, one after another. selftests/vm/check-deadlocks loads this module.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include <dispatchkey.h>

DK_OP(visit, "selftest::visit", (const struct dk_obj *x, int (*inside)(void)), (x, inside), (x));

static char *what;
module_param(what, charp, 0);
MODULE_PARM_DESC(what, "legal, lock or each-other");

static int visit_here(struct dk_call *c, const struct dk_obj *x, int (*inside)(void))
{
	return inside ? inside() : 0;
}

static const struct dk_impl on_cpu[] = { DK_IMPL(visit, DK_CPU, visit_here) };
static const struct dk_impl on_card[] = { DK_IMPL(visit, DK_DENSE, visit_here) };

static struct dk_provider cpu = DK_PROVIDER("deadlock_cpu");
static struct dk_provider cards = DK_PROVIDER("deadlock_cards");
static struct dk_obj at_cpu, at_card;
static unsigned int backend;
static DEFINE_MUTEX(m);

static int open(void)
{
	u32 card;
	int err;

	err = dk_provider_register(&cpu, NULL);
	if (!err)
		err = dk_op_define(&cpu, &visit_op, 0, NULL);
	if (!err)
		err = dk_impls_register(&cpu, on_cpu, 1, NULL);
	if (!err)
		err = dk_provider_register(&cards, NULL);
	if (!err)
		err = dk_backend_join(&cards, "deadlock", 0, 0, &backend, NULL);
	if (!err)
		err = dk_device_register(&cards, backend, "card", NULL, on_card, 1, &card, NULL);
	at_cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	if (!err)
		at_card = dk_obj_on(backend, card);
	return err;
}

static void close(void)
{
	dk_provider_unregister(&cards);
	dk_provider_unregister(&cpu);
}

static int take_m(void)
{
	mutex_lock(&m);
	mutex_unlock(&m);
	return 0;
}

static int call_cpu(void)
{
	return visit(&at_cpu, NULL);
}

static int call_card(void)
{
	return visit(&at_card, NULL);
}

static int unregister_cards(void)
{
	return dk_device_unregister(&cards, at_card.device, NULL);
}

static int unregister_cpu(void)
{
	return dk_impls_unregister(&cpu, on_cpu, NULL);
}

static int cards_offline(void)
{
	return dk_backend_set_online_timeout(NULL, backend, 0, DK_NO_TIMEOUT, NULL);
}

static int cpu_offline(void)
{
	return dk_backend_set_online_timeout(NULL, DK_BACKEND_CPU, 0, DK_NO_TIMEOUT, NULL);
}

/*
 * The function takes @m. Later, the provider is unregistered with @m held. Unregistering waits for
 * calls of the function, so this could deadlock.
 */
static int lock(void)
{
	int err = visit(&at_cpu, take_m);

	mutex_lock(&m);
	if (!err)
		err = unregister_cpu();
	mutex_unlock(&m);
	return err;
}

/* Calls @inside in a batch of the device's function. */
static int in_batch(int (*inside)(void))
{
	const struct dk_obj *objs[] = { &at_card };
	struct dk_frame f;
	int err = dk_call_enter(&f, &visit_op, &dk_local_default, objs, 1);

	if (err)
		return err;
	err = inside();
	dk_call_leave(&f);
	return err;
}

/*
 * A batch of the card's function unregisters the CPU's function. Later, the CPU's function
 * unregisters the card.
 */
static int each_other(void)
{
	int err = in_batch(unregister_cpu);

	if (!err)
		err = dk_impls_register(&cpu, on_cpu, 1, NULL);
	return err ?: visit(&at_cpu, unregister_cards);
}

#define NUM_CALLS	60	/* more than lockdep has entries for a task's locks */

/* Nested calls, and frames that are left in the order in which they were entered. */
static int many_calls(void)
{
	const struct dk_obj *objs[] = { &at_card };
	struct dk_frame *f = kcalloc(NUM_CALLS, sizeof(*f), GFP_KERNEL);
	unsigned int n = 0, i;
	int err = f ? 0 : -ENOMEM;

	while (!err && n < NUM_CALLS) {
		objs[0] = n % 2 ? &at_cpu : &at_card;
		err = dk_call_enter(&f[n], &visit_op, &dk_local_default, objs, 1);
		n += !err;
	}
	for (i = 0; i < n; i++)
		dk_call_leave(&f[i]);
	kfree(f);
	return err;
}

/*
 * A function of each provider calls the other provider's function. In one call, the CPU's function
 * takes the lock. Another call is made with the lock held, but its function does not take the lock.
 */
static int legal_calls(void)
{
	int err = visit(&at_cpu, call_card);

	if (!err)
		err = visit(&at_card, call_cpu);
	if (!err)
		err = visit(&at_cpu, take_m);
	mutex_lock(&m);
	if (!err)
		err = call_cpu();
	mutex_unlock(&m);
	return err ?: many_calls();
}

/*
 * A wait with a deadline can end before the call has returned. So can a wait for the calls on a
 * device or backend that goes offline.
 */
static int legal_waits(void)
{
	int err = visit(&at_card, take_m);

	if (!err)
		err = visit(&at_card, cpu_offline);
	if (!err)
		err = dk_backend_set_online_timeout(NULL, DK_BACKEND_CPU, 1, 0, NULL);
	if (!err)
		err = visit(&at_cpu, cards_offline);
	if (!err)
		err = dk_backend_set_online_timeout(NULL, backend, 1, 0, NULL);
	mutex_lock(&m);
	if (!err)
		err = dk_device_set_online_timeout(NULL, at_card.device, 0, DK_NO_TIMEOUT, NULL);
	if (!err)
		err = dk_provider_unregister_timeout(&cards, 60000, NULL);
	if (!err)
		err = dk_provider_unregister_timeout(&cpu, 60000, NULL);
	mutex_unlock(&m);
	return err;
}

static int legal(void)
{
	int err = legal_calls();

	if (!err)
		err = legal_waits();
	close();
	if (!err)
		err = open();
	if (!err)
		err = in_batch(unregister_cpu);
	close();
	if (!err)
		err = open();
	/* the providers were registered again, so this wait and that of in_batch() form no cycle */
	return err ?: visit(&at_cpu, unregister_cards);
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{ "legal", legal },
	{ "lock", lock },
	{ "each-other", each_other },
};

static int __init deadlock_init(void)
{
	int err = open();
	size_t i;

	for (i = 0; !err && i < ARRAY_SIZE(cases); i++)
		if (what && !strcmp(what, cases[i].name))
			break;
	if (!err && i == ARRAY_SIZE(cases))
		err = -EINVAL;
	if (!err)
		err = cases[i].run();
	if (err)
		close();
	return err;
}
module_init(deadlock_init);

static void __exit deadlock_exit(void)
{
	close();
}
module_exit(deadlock_exit);

MODULE_DESCRIPTION("dispatchkey selftest: deadlocks that lockdep reports");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
