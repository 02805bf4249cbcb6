// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backends that are taken offline: calls are routed as if their functions were absent, and
 * no call is lost. devices.c tests devices that are taken offline.
 */
#include "alloc.h"
#include "test.h"
#include "../world.h"

#if !T_KERNEL
#include "core/call/call.h"
#include "core/change/change.h"
#endif

static struct dk_provider host, one, two;
static struct dk_op_decl decl;
static struct dk_op *op;
static unsigned int backend;
static u32 card;
static struct dk_impl tables[6];

/*
 * Two providers register functions for the backend "edu". One of them also registers the device
 * "card" with a function. If @with_base, a third provider registers a function for all backends.
 */
static void setup(unsigned int flags, bool with_base)
{
	t_open("v1", DK_REGISTRY_BUILTINS | flags);
	t_join(&host, "host");
	t_join(&one, "one");
	t_join(&two, "two");
	decl = t_decl("offline::op");
	CHECK_OK(dk_op_define(&host, &decl, 0, &t_why));
	op = t_get("offline::op");
	CHECK_OK(dk_backend_join(&one, "edu", 0, 0, &backend, &t_why));
	tables[0] = t_impl(&decl, DK_COMPOSITE_EXPLICIT_AUTOGRAD, 0);
	tables[1] = t_impl(&decl, DK_PRIVATEUSE1, 1);
	tables[2] = t_impl(&decl, DK_AUTOGRAD_PRIVATEUSE1, 2);
	tables[3] = t_impl(&decl, DK_DENSE, 3);
	tables[4] = t_impl(&decl, DK_PRIVATEUSE1, 4);
	if (with_base)
		CHECK_OK(dk_impls_register(&host, &tables[0], 1, &t_why));
	CHECK_OK(dk_impls_register(&one, &tables[1], 1, &t_why));
	CHECK_OK(dk_impls_register(&two, &tables[2], 1, &t_why));
	CHECK_OK(dk_device_register(&two, backend, "card", NULL, &tables[3], 1, &card,
				    &t_why));
}

static void switch_to(int online)
{
	CHECK_OK(dk_backend_set_online(t_reg, backend, online, &t_why));
	CHECK_INT(dk_backend_is_online(t_reg, backend), online);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
}

static struct dk_obj on(u32 device, bool above)
{
	struct dk_obj x = dk_obj_on(backend, device);

	if (above)
		x.ks = dk_keyset_or(x.ks, dk_key_set(NULL, DK_AUTOGRAD_PRIVATEUSE1));
	return x;
}

static int call_with(struct dk_obj x)
{
	return t_call(op, &x, NULL);
}

static void offline_then_online(unsigned int flags)
{
	setup(flags, true);
	CHECK_INT(call_with(on(0, false)), 1);
	CHECK_INT(call_with(on(0, true)), 2);
	CHECK_INT(call_with(on(card, false)), 3);
	switch_to(0);
	CHECK_INT(call_with(on(0, false)), 0);
	CHECK_INT(call_with(on(0, true)), 0);
	CHECK_INT(call_with(on(card, false)), 0);
	CHECK_INT(t_call(op, &(struct dk_obj){ .ks = dk_obj_on(DK_BACKEND_CPU, 0).ks },
			 NULL), 0);
	switch_to(0);
	switch_to(1);
	CHECK_INT(call_with(on(0, false)), 1);
	CHECK_INT(call_with(on(0, true)), 2);
	CHECK_INT(call_with(on(card, false)), 3);
	switch_to(1);
	t_close();
}

static void offline_functions_do_not_serve(void)
{
	offline_then_online(0);
}

static void offline_functions_do_not_serve_by_the_rules(void)
{
	offline_then_online(DK_REGISTRY_FORCE_RESOLVE);
}

static void unserved_operator_is_reported(void)
{
	setup(0, false);
	CHECK_OK(dk_backend_set_online(t_reg, backend, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_UNSERVED);
	CHECK_STR(t_why.name, "offline::op at edu");
	CHECK_INT(call_with(on(0, false)), -ENOSYS);
	CHECK_INT(call_with(on(card, false)), -ENODEV);
	/* a repeated request names the operator again */
	CHECK_OK(dk_backend_set_online(t_reg, backend, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_UNSERVED);
	switch_to(1);
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	/* the backend's function takes the place of the card's */
	CHECK_OK(dk_device_set_online(t_reg, card, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	CHECK_OK(dk_device_set_online(t_reg, card, 1, &t_why));
	CHECK_OK(dk_impls_unregister(&one, &tables[1], &t_why));
	CHECK_OK(dk_device_set_online(t_reg, card, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_UNSERVED);
	CHECK_STR(t_why.name, "offline::op at edu");
	CHECK_OK(dk_device_set_online(t_reg, card, 1, &t_why));
}

static void served_operator_is_not_reported(void)
{
	setup(0, true);
	CHECK_OK(dk_backend_set_online(t_reg, backend, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
}

static void functions_registered_while_offline_do_not_serve(void)
{
	u32 second;

	setup(0, true);
	switch_to(0);
	CHECK_OK(dk_impls_register(&one, &tables[4], 1, &t_why));
	CHECK_OK(dk_device_register(&one, backend, "second", NULL, &tables[3], 1, &second,
				    &t_why));
	CHECK_INT(call_with(on(0, false)), 0);
	CHECK_INT(call_with(on(second, false)), 0);
	switch_to(1);
	CHECK_INT(call_with(on(0, false)), 4);
	CHECK_INT(call_with(on(second, false)), 3);
}

static void devices_keep_their_state(void)
{
	setup(0, true);
	CHECK_OK(dk_device_set_online(t_reg, card, 0, &t_why));
	switch_to(0);
	switch_to(1);
	CHECK_INT(call_with(on(card, false)), 1);
	switch_to(0);
	CHECK_OK(dk_device_set_online(t_reg, card, 1, &t_why));
	CHECK_INT(call_with(on(card, false)), 0);
	switch_to(1);
	CHECK_INT(call_with(on(card, false)), 3);
}

static void offline_fallbacks_do_not_serve(void)
{
	struct dk_impl fallback = t_fallthrough(NULL, DK_PRIVATEUSE1), second = fallback;

	setup(0, false);
	CHECK_OK(dk_fallback_register(&host, &fallback, &t_why));
	CHECK_OK(dk_impls_unregister(&one, &tables[1], &t_why));
	CHECK(!strcmp(t_serves(op, 0, DK_PRIVATEUSE1), "fallthrough"));
	switch_to(0);
	CHECK_STR(t_serves(op, 0, DK_PRIVATEUSE1), "missing");
	/* the fallback is still registered, although no call uses it */
	CHECK_INT(dk_fallback_register(&host, &second, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_FALLBACK_EXISTS);
	switch_to(1);
	CHECK_STR(t_serves(op, 0, DK_PRIVATEUSE1), "fallthrough");
}

static int serve_all(struct dk_call *c, void *args)
{
	return 0;
}

/* A fallback can be the last function that serves an operator. */
static void operator_without_its_fallback_is_reported(void)
{
	static const struct dk_impl fallback = DK_FALLBACK(DK_PRIVATEUSE1, serve_all);

	setup(0, false);
	CHECK_OK(dk_fallback_register(&host, &fallback, &t_why));
	CHECK_OK(dk_impls_unregister(&one, &tables[1], &t_why));
	CHECK_OK(dk_device_unregister(&two, card, &t_why));
	CHECK_OK(dk_impls_unregister(&two, &tables[2], &t_why));
	CHECK_OK(dk_backend_set_online(t_reg, backend, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_UNSERVED);
	CHECK_STR(t_why.name, "offline::op at edu");
}

/* A fallthrough serves no calls. So none are missing if it goes offline. */
static void fallthroughs_do_not_serve(void)
{
	struct dk_impl through = t_fallthrough(&decl, DK_CUDA), composite;
	u32 number;

	setup(0, false);
	CHECK_OK(dk_impls_register(&two, &through, 1, &t_why));
	CHECK_OK(dk_backend_set_online(t_reg, DK_BACKEND_CUDA, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	CHECK_OK(dk_backend_set_online(t_reg, DK_BACKEND_CUDA, 1, &t_why));
	CHECK_OK(dk_device_register(&one, DK_BACKEND_CUDA, "cuda0", NULL, &tables[3], 1, &number,
				    &t_why));
	CHECK_OK(dk_device_set_online(t_reg, number, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_UNSERVED);
	CHECK_STR(t_why.name, "offline::op at CUDA");
	/* a call that falls through at CUDA is routed by Undefined */
	CHECK_OK(dk_device_set_online(t_reg, number, 1, &t_why));
	composite = t_impl(&decl, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 5);
	CHECK_OK(dk_impls_register(&two, &composite, 1, &t_why));
	CHECK_OK(dk_device_set_online(t_reg, number, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	CHECK_INT(call_with(dk_obj_on(DK_BACKEND_CUDA, number)), 5);
}

/*
 * A fallback that may sleep never served an atomic operator, so nothing is missing when it goes
 * offline.
 */
static void atomic_operator_without_a_fallback_is_not_reported(void)
{
	static const struct dk_impl fallback = DK_FALLBACK(DK_PRIVATEUSE1, serve_all);
	struct dk_op_decl atomic = t_decl("offline::atomic");

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&one, "one");
	CHECK_OK(dk_backend_join(&one, "edu", 0, 0, &backend, &t_why));
	CHECK_OK(dk_op_define(&one, &atomic, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_fallback_register(&one, &fallback, &t_why));
	CHECK_OK(dk_backend_set_online(t_reg, backend, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
}

static void provider_unregisters_while_offline(void)
{
	setup(0, true);
	switch_to(0);
	CHECK_OK(dk_device_unregister(&two, card, &t_why));
	t_unregister(&two);
	switch_to(1);
	CHECK_INT(call_with(on(0, false)), 1);
	CHECK_INT(call_with(on(card, false)), 1);
	t_join(&two, "two");
}

static void released_name_comes_online(void)
{
	setup(0, true);
	CHECK_OK(dk_impls_register(&two, &tables[4], 1, &t_why));
	switch_to(0);
	t_unregister(&one);
	CHECK_OK(dk_device_unregister(&two, card, &t_why));
	CHECK_INT(call_with(on(0, false)), 0);
	CHECK_OK(dk_backend_release(t_reg, "edu", &t_why));
	CHECK_INT(dk_backend_is_online(t_reg, backend), 1);
	CHECK_INT(call_with(on(0, false)), 4);
	t_join(&one, "one");
}

static void no_such_backend(void)
{
	setup(0, true);
	/* refuses: dk_backend_set_online EINVAL BAD_BACKEND */
	CHECK_INT(dk_backend_set_online(t_reg, 0, 0, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_BACKEND);
	CHECK_INT(dk_backend_set_online(t_reg, DK_NUM_BACKENDS + 1, 0, &t_why), -EINVAL);
	/* refuses: dk_backend_set_online_timeout EINVAL BAD_BACKEND */
	CHECK_INT(dk_backend_set_online_timeout(t_reg, 0, 0, 1, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_BACKEND);
	CHECK_INT(dk_backend_is_online(t_reg, 0), 0);
	CHECK_INT(dk_backend_is_online(t_reg, DK_NUM_BACKENDS + 1), 0);
}

/* Tries all other numbers in the map of devices, and numbers beyond its end. */
static void no_such_device(void)
{
	u32 number;

	setup(0, true);
	for (number = 0; number <= 64; number++)
		if (number != card)
			CHECK_INT(dk_device_set_online(t_reg, number, 0, &t_why), -ENODEV);
}

/* ---- calls during a switch ----------------------------------------------------- */

#define MANY	100
#define ROUNDS	(T_KERNEL ? 20 : 100)
#define LONG_US	60000000	/* far more than anything here takes */

struct caller {
	struct w_thread thread;
	struct dk_op *op;
	struct dk_obj x;
	bool stop;
	int err;		/* of a failed call; no more calls until the test sets it to 0 */
};

static void call_on(void *data)
{
	struct caller *c = data;
	int ret;

	while (!w_load_acquire(c->stop)) {
		ret = t_call(c->op, &c->x, NULL);
		if (ret < 0)
			w_store_release(c->err, ret);
		while (w_load_acquire(c->err) && !w_load_acquire(c->stop))
			w_sleep_us(20);
		w_pause();
	}
}

static bool switch_off_and_on(struct caller *c, u32 device)
{
	u64 since = w_now_us();

	if (!CHECK_OK(dk_device_set_online(t_reg, device, 0, &t_why)))
		return false;
	while (!w_load_acquire(c->err) && w_now_us() - since < LONG_US)
		w_sleep_us(20);
	if (!CHECK_INT(w_load_acquire(c->err), -ENODEV))
		return false;
	CHECK_OK(dk_device_set_online(t_reg, device, 1, &t_why));
	w_store_release(c->err, 0);
	return true;
}

/*
 * A device is marked offline before the first of many tables changes. So a call that no longer
 * finds the device's function fails with -ENODEV, and not with -ENOSYS.
 */
static void device_is_offline_before_tables_change(void)
{
	struct dk_impl *impls = t_alloc(MANY * sizeof(*impls));
	struct dk_op_decl *decls = t_alloc(MANY * sizeof(*decls));
	char (*names)[16] = t_alloc(MANY * sizeof(*names));
	struct caller c = { .stop = false };
	unsigned int i;
	u32 device;

	setup(0, false);
	for (i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "many::%u", i);
		decls[i] = t_decl(names[i]);
		CHECK_OK(dk_op_define(&host, &decls[i], 0, &t_why));
		impls[i] = t_impl(&decls[i], DK_DENSE, 1);
	}
	CHECK_OK(dk_device_register(&two, backend, "many", NULL, impls, MANY, &device, &t_why));
	/* this operator's table changes first */
	c.op = dk_op_get(t_reg, names[MANY - 1]);
	c.x = dk_obj_on(backend, device);
	if (CHECK_OK(w_start(&c.thread, "dk_caller", call_on, &c))) {
		for (i = 0; i < ROUNDS && switch_off_and_on(&c, device); i++)
			;
		w_store_release(c.stop, true);
		w_join(&c.thread);
	}
	dk_op_put(c.op);
	t_close();
	t_free(impls);
	t_free(decls);
	t_free(names);
}

/* An explanation reports that the functions that would serve are offline. */
static void explanation_lists_offline_functions(void)
{
	struct dk_explain ex = { .size = sizeof(ex) };
	struct dk_step step = { .size = sizeof(step) };
	struct dk_obj x = on(0, false);
	const struct dk_obj *const objs[] = { &x };
	unsigned int i, offline = 0;

	setup(0, true);
	x = on(card, false);
	switch_to(0);
	CHECK_OK(dk_op_explain(op, DK_KEYSET(0), DK_KEYSET(0), objs, 1, &ex));
	for (i = 0; !dk_explain_step(op, &ex, i, &step); i++)
		offline += step.kind == DK_STEP_IMPL &&
			   step.bearing == DK_BEARING_OFFLINE;
	CHECK_INT(offline, 3);
}

/* Calls for an offline device use the operator's own table. */
static void no_table_for_an_offline_device(void)
{
	long with, without;

	setup(0, true);
	with = dk_test_allocs();
	CHECK_OK(dk_device_set_online(t_reg, card, 0, &t_why));
	without = dk_test_allocs();
	CHECK(without < with);
	CHECK_INT(call_with(on(card, false)), 1);
	CHECK_OK(dk_device_set_online(t_reg, card, 1, &t_why));
	CHECK_INT(dk_test_allocs(), with);
	CHECK_INT(call_with(on(card, false)), 3);
}

#if !T_KERNEL
static void bring_online(void *number)
{
	CHECK_OK(dk_device_set_online(t_reg, *(u32 *)number, 1, &t_why));
}

/*
 * After a call has read the table, its device comes online. The call is then routed by all
 * functions of the device. While it is offline, the fallback at Autograd masks the call's keys.
 */
static void device_comes_online_after_the_table_is_read(void)
{
	struct w_thread other;
	struct dk_obj x;
	const struct dk_obj *const objs[] = { &x };
	struct dkc_request req = { .objs = objs, .n = 1, .mask = true };
	const struct dkc_table *table;
	u32 number;

	setup(0, false);
	CHECK_OK(dk_impls_unregister(&two, &tables[2], &t_why));
	CHECK_OK(dk_impls_unregister(&one, &tables[1], &t_why));
	tables[4] = t_impl(&decl, DK_DENSE, 4);
	tables[5] = t_impl(&decl, DK_AUTOGRAD_FUNCTIONALITY, 5);
	CHECK_OK(dk_device_register(&two, backend, "both", NULL, &tables[4], 2, &number, &t_why));
	x = on(number, true);
	req.ks = x.ks.bits;
	CHECK_OK(dk_device_set_online(t_reg, number, 0, &t_why));
	rcu_read_lock();
	table = dkc_table_of_op(op);
	CHECK_INT(dkc_find(op, table, &req), -ENODEV);
	if (CHECK_OK(w_start(&other, "dk_online", bring_online, &number)))
		w_join(&other);
	req.ks = x.ks.bits;
	if (CHECK_OK(dkc_find(op, table, &req)))
		CHECK_STR(dkc_impl_of(req.reg)->label, "f5");
	rcu_read_unlock();
}

/*
 * The netlink family looks up the number of a backend by its name, and then takes the lock again.
 * The name may belong to no backend, or to another one, by then.
 */
static void name_of_another_backend(void)
{
	struct dkc_switch s = { .backend_name = "edu", .why = &t_why };

	setup(0, true);
	s.reg = t_reg;
	s.number = backend;
	CHECK_OK(dkc_set_online(&s));
	CHECK_INT(dk_backend_is_online(t_reg, backend), 0);
	s.online = true;
	CHECK_OK(dkc_set_online(&s));
	s.online = false;
	s.backend_name = "xpu2";
	CHECK_INT(dkc_set_online(&s), -ENOENT);
	CHECK_INT(t_why.reason, DK_WHY_NO_BACKEND);
	CHECK_STR(t_why.name, "xpu2");
	s.backend_name = "CUDA";
	CHECK_INT(dkc_set_online(&s), -ENOENT);
	CHECK_INT(dk_backend_is_online(t_reg, backend), 1);
}
#endif

T_SUITE(offline,
	T(offline_functions_do_not_serve),
	T(offline_functions_do_not_serve_by_the_rules),
	T(unserved_operator_is_reported),
	T(served_operator_is_not_reported),
	T(functions_registered_while_offline_do_not_serve),
	T(devices_keep_their_state),
	T(no_table_for_an_offline_device),
	T(offline_fallbacks_do_not_serve),
	T(operator_without_its_fallback_is_reported),
	T(fallthroughs_do_not_serve),
	T(atomic_operator_without_a_fallback_is_not_reported),
	T(provider_unregisters_while_offline),
	T(released_name_comes_online),
	T(no_such_backend),
	T(no_such_device),
	T(device_is_offline_before_tables_change),
#if !T_KERNEL
	T(device_comes_online_after_the_table_is_read),
	T(name_of_another_backend),
#endif
	T(explanation_lists_offline_functions));
