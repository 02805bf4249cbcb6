// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_waiters: calls an operator of its own, holds the registry, and waits for
 * providers, in the order in which words are written to its parameter "step":
 *
 *   call      call the operator at key Python
 *   old       a thread takes a hold
 *   young     another one does, and a third takes a backend offline, which waits
 *             for both
 *   released  the first one releases its hold
 *   over      the second one does, and the backend is online again
 */
#include <linux/module.h>

#include <dispatchkey.h>

#include "../world.h"

#define STEP_US		200
#define BACKEND		DK_BACKEND_XLA

DK_OP(waiters, "waiters::op", (const struct dk_obj *x), (x), (x));

struct holder {
	struct w_thread thread;
	bool inside, go;
	int err;
};

static struct dk_provider prov = DK_PROVIDER("waiters");
static struct holder old, young;
static struct w_thread switcher;
static int switched;

static void hold(void *data)
{
	struct dk_hold h = { .size = sizeof(h) };
	struct holder *me = data;

	me->err = dk_hold_begin(&h, NULL);
	w_store_release(me->inside, true);	/* with the answer */
	while (!w_load_acquire(me->go))		/* with nothing */
		w_sleep_us(STEP_US);
	if (!me->err)
		dk_release(&h);
}

static int begin_to_hold(struct holder *h)
{
	int err;

	*h = (struct holder){ .inside = false };
	err = w_start(&h->thread, "dk_holder", hold, h);
	while (!err && !w_load_acquire(h->inside))	/* with the answer */
		w_sleep_us(STEP_US);
	return err ? err : h->err;
}

static void end_hold(struct holder *h)
{
	w_store_release(h->go, true);	/* with nothing */
	w_join(&h->thread);
}

static void take_offline(void *unused)
{
	switched = dk_backend_set_online(NULL, BACKEND, 0, NULL);
}

/* It is seen offline under the lock, which is given back to wait. */
static int begin_to_switch(void)
{
	struct dk_backend_info info = { .size = sizeof(info), .is_online = 1 };
	int err = w_start(&switcher, "dk_switcher", take_offline, NULL);

	while (!err && info.is_online) {
		w_sleep_us(STEP_US);
		err = dk_registry_backend(NULL, BACKEND, &info);
	}
	return err;
}

static int call(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	x.ks = dk_keyset_or(x.ks, dk_key_set(NULL, DK_PYTHON));
	return waiters(&x);
}

static int end_all(void)
{
	end_hold(&young);
	w_join(&switcher);
	return switched ? switched : dk_backend_set_online(NULL, BACKEND, 1, NULL);
}

static int step(const char *word, const struct kernel_param *kp)
{
	int err = -EINVAL;

	if (sysfs_streq(word, "call"))
		return call();
	if (sysfs_streq(word, "old"))
		return begin_to_hold(&old);
	if (sysfs_streq(word, "young")) {
		err = begin_to_hold(&young);
		return err ? err : begin_to_switch();
	}
	if (sysfs_streq(word, "released")) {
		end_hold(&old);
		return 0;
	}
	return sysfs_streq(word, "over") ? end_all() : err;
}

static const struct kernel_param_ops step_ops = { .set = step };
module_param_cb(step, &step_ops, NULL, 0200);
MODULE_PARM_DESC(step, "what to do: see the source");

static int __init waiters_init(void)
{
	int err = dk_provider_register(&prov, NULL);

	if (err)
		return err;
	err = dk_op_define(&prov, &waiters_op, 0, NULL);
	if (err)
		dk_provider_unregister(&prov);
	return err;
}
module_init(waiters_init);

static void __exit waiters_exit(void)
{
	dk_provider_unregister(&prov);
}
module_exit(waiters_exit);

MODULE_DESCRIPTION("dispatchkey selftest: waits for other providers");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
