// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two registries at once: a call or a hold of one keeps nothing of the other, neither for
 * -EDEADLK nor for whoever waits, and a hold of one holds no call of the other.
 */
#include "test.h"

#define MS	30000	/* ends a wait that would never end */

DK_OP(twice, "registries::op",
	(struct dk_obj *x, void (*then)(void)), (x, then), (x));

static int twice_here(struct dk_call *c, struct dk_obj *x, void (*then)(void))
{
	then();
	return 0;
}

static const struct dk_impl here[] = { DK_IMPL(twice, DK_CPU, twice_here) };

static struct half {
	struct dk_registry *reg;
	struct dk_provider prov, guest;
	struct dk_impl extra;
	struct dk_op *op;
	u32 card;
} one, other;

static void open_half(struct half *h)
{
	t_open("v1", DK_REGISTRY_STOCKED);
	h->reg = t_reg;
	t_join(&h->prov, "prov");
	t_join(&h->guest, "guest");
	CHECK_OK(dk_op_define(&h->prov, &twice_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&h->prov, here, 1, &t_why));
	CHECK_OK(dk_device_register(&h->prov, DK_BACKEND_CPU, "card", NULL, NULL, 0, &h->card,
				    &t_why));
	h->extra = here[0];
	h->extra.key = DK_META;
	CHECK_OK(dk_impls_register(&h->prov, &h->extra, 1, &t_why));
	h->op = dk_op_get(t_reg, "registries::op");
}

static void close_half(struct half *h)
{
	t_reg = h->reg;
	dk_op_put(h->op);
	t_leave(&h->guest);
	t_leave(&h->prov);
	t_close();
}

/* Whatever waits for calls is refused, and changes nothing. */
static void refused_in(struct half *h, unsigned int reason)
{
	struct dk_registry *reg = h->reg;

	CHECK_INT(dk_provider_unregister(&h->prov), -EDEADLK);
	CHECK_INT(dk_provider_drain(&h->prov), -EDEADLK);
	CHECK_INT(dk_impls_unregister(&h->prov, &h->extra, &t_why), -EDEADLK);
	CHECK_INT(t_why.reason, reason);
	CHECK_INT(dk_device_set_online(reg, h->card, 0, &t_why), -EDEADLK);
	CHECK_INT(t_why.reason, reason);
	CHECK_INT(dk_backend_set_online(reg, DK_BACKEND_CPU, 0, &t_why), -EDEADLK);
	CHECK_INT(t_why.reason, reason == DK_WHY_HELD ? reason : DK_WHY_INSIDE_BACKEND);
}

/* And there is nothing to wait for. */
static void waits_in(struct half *h)
{
	static const struct dk_provider guest = DK_PROVIDER("guest");
	struct dk_registry *reg = h->reg;

	CHECK_OK(dk_provider_drain(&h->prov));
	CHECK_OK(dk_impls_unregister(&h->prov, &h->extra, &t_why));
	CHECK_OK(dk_impls_register(&h->prov, &h->extra, 1, &t_why));
	CHECK_OK(dk_device_set_online_timeout(reg, h->card, 0, MS, &t_why));
	CHECK_OK(dk_device_set_online(reg, h->card, 1, &t_why));
	CHECK_OK(dk_backend_set_online_timeout(reg, DK_BACKEND_CPU, 0, MS, &t_why));
	CHECK_OK(dk_backend_set_online(reg, DK_BACKEND_CPU, 1, &t_why));
	CHECK_OK(dk_provider_unregister_timeout(&h->guest, MS, &t_why));
	h->guest = guest;
	h->guest.registry = reg;
	CHECK_OK(dk_provider_register(&h->guest, &t_why));
}

static void registry_goes(void)
{
	struct dk_registry *reg = dk_registry_alloc(NULL, 0, &t_why);

	CHECK_OK(dk_registry_free(reg, &t_why));
}

/* ---- calls ---------------------------------------------------------------------- */

static void inside_of_one(void)
{
	refused_in(&one, DK_WHY_INSIDE);
	waits_in(&other);
	registry_goes();
}

static void inside_of_both(void)
{
	refused_in(&one, DK_WHY_INSIDE);
	refused_in(&other, DK_WHY_INSIDE);
}

static void call_other(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	CHECK_OK(twice_at(other.op, &dk_local_default, &x, inside_of_both));
	inside_of_one();
}

static void calls(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	open_half(&one);
	open_half(&other);
	CHECK_OK(twice_at(one.op, &dk_local_default, &x, inside_of_one));
	CHECK_OK(twice_at(one.op, &dk_local_default, &x, call_other));
	waits_in(&one);
	waits_in(&other);
	close_half(&other);
	close_half(&one);
}

/* ---- holds ---------------------------------------------------------------------- */

static void inside_of_other(void)
{
	refused_in(&one, DK_WHY_HELD);
	refused_in(&other, DK_WHY_INSIDE);
}

/* Call as if the hold kept the operator's provider; a declaration means the default one. */
static int call_held(const struct dk_hold *h, struct dk_op *op, struct dk_op_decl *decl,
		     void (*then)(void))
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &x };
	struct dk_call c;
	int err = dk_call_enter_held(&c, h, op, decl, &dk_local_default, objs, 1);

	return err ? err : twice_run(&c, &x, then);
}

static void holds(void)
{
	struct dk_hold h = { .size = sizeof(h) };

	open_half(&one);
	open_half(&other);
	CHECK_OK(dk_hold_begin(&h, one.reg));
	refused_in(&one, DK_WHY_HELD);
	waits_in(&other);
	registry_goes();
	CHECK_OK(call_held(&h, other.op, &twice_op, inside_of_other));
	CHECK_OK(dk_stats_enable(other.reg, &t_why));
	CHECK_OK(call_held(&h, other.op, &twice_op, inside_of_other));
	CHECK_OK(dk_stats_disable(other.reg, &t_why));
	dk_release(&h);
	waits_in(&one);
	close_half(&other);
	close_half(&one);
}

static struct dk_provider by_default;

static void inside_of_default(void)
{
	CHECK_INT(dk_provider_unregister(&by_default), -EDEADLK);
}

static void nothing(void)
{
}

/* By its declaration, which has found the default registry's operator. */
static void hold_and_default_registry(void)
{
	static const struct dk_provider unregistered = DK_PROVIDER("default");
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_hold h = { .size = sizeof(h) };

	by_default = unregistered;
	open_half(&one);
	CHECK_OK(dk_provider_register(&by_default, &t_why));
	CHECK_OK(dk_op_define(&by_default, &twice_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&by_default, here, 1, &t_why));
	CHECK_OK(twice(&x, nothing));
	CHECK_OK(dk_hold_begin(&h, one.reg));
	CHECK_OK(call_held(&h, NULL, &twice_op, inside_of_default));
	CHECK_OK(dk_provider_unregister_timeout(&by_default, MS, &t_why));
	dk_release(&h);
	close_half(&one);
}

T_SUITE(registries,
	T(calls),
	T(holds),
	T(hold_and_default_registry));
