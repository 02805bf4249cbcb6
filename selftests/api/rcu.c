// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests calls inside an RCU read-side critical section of the caller. Kernel only. full_registry.h
 * explains the comments "refuses:".
 */
#include "test.h"

DK_OP(rcu_atomic, "rcu::atomic", (const struct dk_obj *x, int *served_by), (x, served_by), (x));

static struct dk_provider prov;
static struct dk_obj cpu, grad;

static int on_cpu(struct dk_call *c, const struct dk_obj *x, int *served_by)
{
	*served_by = 10 * *served_by + 1;
	return dk_call_priv(c) == &prov && !dk_call_device(c) ? 0 : -EIO;
}

static int on_autograd(struct dk_call *c, const struct dk_obj *x, int *served_by)
{
	*served_by = 2;
	return rcu_atomic_below(c, x, served_by);
}

static const struct dk_impl impls[] = {
	DK_IMPL_ATOMIC(rcu_atomic, DK_CPU, on_cpu),
	DK_IMPL_ATOMIC(rcu_atomic, DK_AUTOGRAD_CPU, on_autograd),
};

static void setup(void)
{
	cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	grad = cpu;
	grad.ks = dk_keyset_or(grad.ks, dk_key_set(NULL, DK_AUTOGRAD_CPU));
	prov = (struct dk_provider)DK_PROVIDER("rcu");
	prov.priv = &prov;
	t_register(&prov);
	CHECK_OK(dk_op_define(&prov, &rcu_atomic_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, ARRAY_SIZE(impls), &t_why));
}

static int rcu_call(const struct dk_obj *x, int *served_by)
{
	const struct dk_obj *objs[] = { x };
	struct dk_frame c;
	int err;

	err = dk_call_enter_rcu(&c, &rcu_atomic_op, &dk_local_default, objs, 1);
	if (err)
		return err;
	err = rcu_atomic_run(&c, x, served_by);
	dk_call_leave(&c);
	/* leaving it again is reported, as for a call that was not entered */
	CHECK_INT(c.state, 0);
	return err;
}

/* Makes each call twice, since only the first call looks up the operator's name. */
static void call_in_a_section_is_served(void)
{
	unsigned int i;

	setup();
	rcu_read_lock();
	for (i = 0; i < 2; i++) {
		int served_by = 0;

		CHECK_OK(rcu_atomic_rcu(&dk_local_default, &cpu, &served_by));
		CHECK_INT(served_by, 1);
		CHECK_OK(rcu_atomic_rcu(&dk_local_default, &grad, &served_by));
		CHECK_INT(served_by, 21);
		served_by = 0;
		CHECK_OK(rcu_call(&cpu, &served_by));
		CHECK_INT(served_by, 1);
	}
	rcu_read_unlock();
	CHECK_OK(dk_provider_unregister(&prov));
}

static void unserved_call_in_a_section(void)
{
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);
	int served_by = 0;

	setup();
	rcu_read_lock();
	/* refuses: dk_call_enter_rcu ENOSYS MISSING */
	CHECK_INT(rcu_call(&cuda, &served_by), -ENOSYS);
	CHECK_INT(rcu_atomic_rcu(&dk_local_default, &cuda, &served_by), -ENOSYS);
	rcu_read_unlock();
	CHECK_OK(dk_provider_unregister(&prov));
	rcu_read_lock();
	/* refuses: dk_call_enter_rcu ENOENT NOT_DEFINED */
	CHECK_INT(rcu_call(&cpu, &served_by), -ENOENT);
	rcu_read_unlock();
}

DK_OP(rcu_strict, "rcu::strict", (const struct dk_obj *x, const struct dk_obj *y),
	(x, y), (x, y));

static int strict(struct dk_call *c, const struct dk_obj *x, const struct dk_obj *y)
{
	return 0;
}

static const struct dk_impl strict_impls[] = {
	DK_IMPL_ATOMIC(rcu_strict, DK_COMPOSITE_IMPLICIT_AUTOGRAD, strict),
	DK_IMPL_ATOMIC(rcu_strict, DK_FPGA, strict),
};

static int strict_call(struct dk_op_decl *decl, const struct dk_obj *x,
		       const struct dk_obj *y)
{
	const struct dk_obj *objs[] = { x, y };
	struct dk_frame c;
	int err;

	rcu_read_lock();
	err = dk_call_enter_rcu(&c, decl, &dk_local_default, objs, 2);
	rcu_read_unlock();
	return err;
}

static void other_refusals_in_a_section(void)
{
	struct dk_obj other = { .ks = dk_key_set(NULL, DK_AUTOGRAD_OTHER) };
	struct dk_op_decl wrong = rcu_strict_op;
	struct dk_obj c0, c1, gone;
	unsigned int backend;
	u32 d0, d1;

	setup();
	wrong.sig = "(int)";
	wrong.op = &dk__unbound;	/* a first run has bound the original */
	CHECK_OK(dk_op_define(&prov, &rcu_strict_op, DK_OP_ATOMIC | DK_OP_SAME_DEVICE,
			      &t_why));
	CHECK_OK(dk_impls_register(&prov, strict_impls, ARRAY_SIZE(strict_impls), &t_why));
	CHECK_OK(dk_backend_join(&prov, "rcu", 0, 0, &backend, &t_why));
	CHECK_OK(dk_device_register(&prov, backend, "b0", NULL, NULL, 0, &d0, &t_why));
	CHECK_OK(dk_device_register(&prov, backend, "b1", NULL, NULL, 0, &d1, &t_why));
	c0 = dk_obj_on(backend, d0);
	c1 = dk_obj_on(backend, d1);
	gone = dk_obj_on(backend, ~0u);
	/* refuses: dk_call_enter_rcu EXDEV TWO_DEVICES */
	CHECK_INT(strict_call(&rcu_strict_op, &c0, &c1), -EXDEV);
	/* refuses: dk_call_enter_rcu ENOTUNIQ AMBIGUOUS */
	CHECK_INT(strict_call(&rcu_strict_op, &other, NULL), -ENOTUNIQ);
	/* refuses: dk_call_enter_rcu EPROTOTYPE SIGNATURE */
	CHECK_INT(strict_call(&wrong, &cpu, NULL), -EPROTOTYPE);
	/* refuses: dk_call_enter_rcu ENODEV DEVICE_GONE */
	CHECK_INT(strict_call(&rcu_atomic_op, &gone, NULL), -ENODEV);
	CHECK_OK(dk_provider_unregister(&prov));
	CHECK_OK(dk_backend_release(NULL, "rcu", &t_why));
}

/* A call leaves the nesting depth of the caller's read-side critical section unchanged. */
static void call_keeps_the_nesting_depth(void)
{
	int served_by = 0;

	if (t_skip_atomic())
		return;
	setup();
	CHECK_OK(rcu_atomic(&cpu, &served_by));
	rcu_read_lock();
	CHECK_OK(rcu_call(&cpu, &served_by));
	CHECK_INT(dk_provider_unregister(&prov), -EDEADLK);
	rcu_read_unlock();
	CHECK_OK(dk_provider_unregister(&prov));
}

T_SUITE(rcu,
	T(call_in_a_section_is_served),
	T(unserved_call_in_a_section),
	T(other_refusals_in_a_section),
	T(call_keeps_the_nesting_depth));
