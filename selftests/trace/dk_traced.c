// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_traced: registers functions. Makes one call of each kind when its parameter "calls" is
 * written, and a deferred call when "job" is written. With long_label=1, one label is longer than
 * an event may be. trace.sh checks the events.
 */
#include <linux/module.h>

#include <dispatchkey.h>

DK_OP(traced, "traced::op", (struct dk_obj *x), (x), (x));
DK_OP(traced_swift, "traced::swift", (struct dk_obj *x), (x), (x));
DK_OP(traced_job, "traced::job", (struct dk_obj *x), (x), (x));

static struct dk_provider me = DK_PROVIDER("traced");

static int on_cpu(struct dk_call *c, struct dk_obj *x)
{
	return -EBUSY;
}

static int on_autograd(struct dk_call *c, struct dk_obj *x)
{
	return traced_below(c, x);
}

static struct dk_deferred token;

static int submit(struct dk_call *c, struct dk_obj *x)
{
	return dk_call_defer(c, &token);
}

static bool long_label;
module_param(long_label, bool, 0400);

static char label[9000];

static struct dk_impl impls[] = {
	DK_IMPL(traced, DK_CPU, on_cpu),
	DK_IMPL(traced, DK_AUTOGRAD_CPU, on_autograd),
	DK_IMPL_ATOMIC(traced_swift, DK_CPU, on_cpu),
	DK_IMPL(traced_job, DK_CPU, submit),
};

/* Calls through a frame. The event call_exit has the result of the last run. */
static int call_swift(struct dk_obj *x)
{
	const struct dk_obj *const objs[] = { x };
	struct dk_frame f;
	int err = dk_call_enter(&f, &traced_swift_op, &dk_local_default, objs, 1);

	if (err)
		return err;
	err = traced_swift_run(&f, x);
	dk_call_leave(&f);
	return err;
}

static int make_calls(const char *value, const struct kernel_param *kp)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj y = dk_obj_on(DK_BACKEND_CUDA, 0);

	if (traced(&y) != -ENOSYS ||
	    call_swift(&x) != -EBUSY)
		return -EIO;
	x.ks.bits |= DK_KEY_BITS(DK_AUTOGRAD_CPU);
	return traced(&x) == -EBUSY ? 0 : -EIO;
}

module_param_call(calls, make_calls, NULL, NULL, 0200);

static int make_job(const char *value, const struct kernel_param *kp)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	dk_deferred_init(&token);
	return traced_job(&x) ?: dk_call_complete(&token, -EIO);
}

module_param_call(job, make_job, NULL, NULL, 0200);

static int __init traced_init(void)
{
	int err = dk_provider_register(&me, NULL);

	if (err)
		return err;
	if (long_label)
		impls[0].label = memset(label, 'l', sizeof(label) - 1);
	err = dk_op_define(&me, &traced_op, 0, NULL);
	if (!err)
		err = dk_op_define(&me, &traced_swift_op, DK_OP_ATOMIC, NULL);
	if (!err)
		err = dk_op_define(&me, &traced_job_op, 0, NULL);
	if (!err)
		err = dk_impls_register(&me, impls, ARRAY_SIZE(impls), NULL);
	if (err)
		dk_provider_unregister(&me);
	return err;
}

static void __exit traced_exit(void)
{
	dk_provider_unregister(&me);
}

module_init(traced_init);
module_exit(traced_exit);
MODULE_DESCRIPTION("Calls for tests of the tracepoints");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
