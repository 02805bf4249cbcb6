// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two registries at once: a call of one keeps nothing of the other, neither for
 * -EDEADLK nor for whoever waits.
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
static void refused_in(struct half *h)
{
	struct dk_registry *reg = h->reg;

	CHECK_INT(dk_provider_unregister(&h->prov), -EDEADLK);
	CHECK_INT(dk_provider_drain(&h->prov), -EDEADLK);
	CHECK_INT(dk_impls_unregister(&h->prov, &h->extra, &t_why), -EDEADLK);
	CHECK_INT(t_why.reason, DK_WHY_INSIDE);
	CHECK_INT(dk_device_set_online(reg, h->card, 0, &t_why), -EDEADLK);
	CHECK_INT(t_why.reason, DK_WHY_INSIDE);
	CHECK_INT(dk_backend_set_online(reg, DK_BACKEND_CPU, 0, &t_why), -EDEADLK);
	CHECK_INT(t_why.reason, DK_WHY_INSIDE_BACKEND);
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
	refused_in(&one);
	waits_in(&other);
	registry_goes();
}

static void inside_of_both(void)
{
	refused_in(&one);
	refused_in(&other);
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

T_SUITE(registries,
	T(calls));
