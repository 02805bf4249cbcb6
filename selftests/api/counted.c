// SPDX-License-Identifier: GPL-2.0-only
/* See counted.h. */
#include "counted.h"

struct dk_provider c_prov;
struct dk_op *c_tick, *c_tock;
unsigned int c_backend;
u32 c_card;

int c_here(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static int call_below(struct dk_call *c, struct dk_obj *x)
{
	return tick_below(c, x);
}

int c_serve_all(struct dk_call *c, void *args)
{
	return 0;
}

static const struct dk_impl impls[] = {
	DK_IMPL(tick, DK_CPU, c_here),
	DK_IMPL(tick, DK_AUTOGRAD_CPU, call_below),
	DK_IMPL_FALLTHROUGH(tick, DK_TRACER),
	DK_IMPL_ATOMIC(tock, DK_CPU, c_here),
};

const struct dk_impl c_card_impls[C_CARD_IMPLS] = {
	DK_IMPL(tick, DK_DENSE, c_here),
};

const struct dk_impl c_tack_impls[C_TACK_IMPLS] = {
	DK_IMPL(tack, DK_CPU, c_here),
	DK_IMPL(tick, DK_XPU, c_here),
};

const struct dk_impl c_fallback = DK_FALLBACK(DK_PYTHON, c_serve_all);

void c_open(unsigned int flags)
{
	t_open("v1", DK_REGISTRY_BUILTINS | flags);
	t_join(&c_prov, "stats");
	CHECK_OK(dk_op_define(&c_prov, &tick_op, 0, &t_why));
	CHECK_OK(dk_op_define(&c_prov, &tock_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&c_prov, impls, ARRAY_SIZE(impls), &t_why));
	CHECK_OK(dk_backend_join(&c_prov, "stats", 0, 0, &c_backend, &t_why));
	CHECK_OK(dk_device_register(&c_prov, c_backend, "card", NULL, c_card_impls,
				    ARRAY_SIZE(c_card_impls), &c_card, &t_why));
	c_tick = t_get("counted::tick");
	c_tock = t_get("counted::tock");
}

struct dk_obj c_on(unsigned int b, u32 device, unsigned int key)
{
	struct dk_obj x = dk_obj_on(b, device);

	if (key)
		x.ks.bits |= DK_KEY_BITS(key);
	return x;
}

int c_call_tick(struct dk_obj x)
{
	return tick_at(c_tick, &dk_local_default, &x);
}

int c_call_tock(struct dk_obj x)
{
	return tock_at(c_tock, &dk_local_default, &x);
}

s64 c_at_key(struct dk_op *op, unsigned int kind, unsigned int key, u32 device)
{
	struct dk_stat s = { .size = sizeof(s) };
	unsigned int i;

	for (i = 0; !dk_op_stat(op, i, &s); i++)
		if (s.kind == kind && s.key == key && s.device == device)
			return s.is_counted ? (s64)s.count : -1;
	return -1;
}

s64 c_served(unsigned int key)
{
	return c_at_key(c_tick, DK_STAT_IMPL, key, 0);
}

s64 c_missing(void)
{
	return c_at_key(c_tick, DK_STAT_MISSING, DK_UNDEFINED, 0);
}

s64 c_by_card(void)
{
	return c_at_key(c_tick, DK_STAT_IMPL, dk_runtime_key(NULL, DK_DENSE, c_backend),
		      c_card);
}

s64 c_by_provider(const char *name)
{
	struct dk_stat s = { .size = sizeof(s) };

	CHECK_OK(dk_provider_stat(t_reg, name, &s));
	CHECK_INT(s.kind, DK_STAT_PROVIDER);
	CHECK_STR(s.provider, name);
	return s.count;
}

struct dk_stats c_get(void)
{
	struct dk_stats s = { .size = sizeof(s) };

	CHECK_OK(dk_stats_get(t_reg, &s));
	return s;
}

u64 c_uncounted(void)
{
	return c_get().uncounted;
}

bool c_is_on(void)
{
	return c_get().is_enabled;
}
