// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions of devices receive the private pointer and the number of their device: on the
 * fast path and by the rules, on a redispatch, and with many devices.
 */
#include "test.h"

DK_OP(on, "device_priv::on",
	(struct dk_obj *x, void **priv, u32 *device), (x, priv, device), (x));

static struct dk_provider host, cards;
static struct dk_op *op;
static unsigned int ran;

static int on_here(struct dk_call *c, struct dk_obj *x, void **priv, u32 *device)
{
	*priv = dk_call_priv(c);
	*device = dk_call_device(c);
	return 0;
}

static int boxed_redispatches(struct dk_call *c, void *args)
{
	ran++;
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

static const struct dk_impl on_backend[] = {
	DK_IMPL(on, DK_PRIVATEUSE1, on_here), DK_IMPL(on, DK_CPU, on_here),
};

static const struct dk_impl on_card[] = { DK_IMPL(on, DK_DENSE, on_here) };
static const struct dk_impl tracer = DK_FALLBACK(DK_TRACER, boxed_redispatches);
static int of_provider, of_card[2];
static u32 card[2];

static void setup(unsigned int flags)
{
	static const struct dk_provider with_priv = DK_PROVIDER("cards");

	t_open("v1", flags);
	t_join(&host, "host");
	cards = with_priv;
	cards.registry = t_reg;
	cards.priv = &of_provider;
	t_register(&cards);
	ran = 0;
	CHECK_OK(dk_op_define(&host, &on_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&cards, on_backend, 2, &t_why));
	CHECK_OK(dk_device_register(&cards, DK_BACKEND_PRIVATEUSE1, "card0", &of_card[0],
				    on_card, 1, &card[0], &t_why));
	CHECK_OK(dk_device_register(&cards, DK_BACKEND_PRIVATEUSE1, "card1", &of_card[1],
				    on_card, 1, &card[1], &t_why));
	op = t_get(on_op.name);
}

/*
 * Checks that an object with these bits on @device is served by the function of device @want with
 * the private pointer @want_priv.
 */
static void check_served_by(u64 bits, u32 device, u32 want, const void *want_priv)
{
	struct dk_obj x = t_obj(bits);
	struct dk_local local = t_no_local();
	void *priv = NULL;
	u32 served = ~0u;

	x.device = device;
	CHECK_OK(on_at(op, &local, &x, &priv, &served));
	CHECK_INT(served, want);
	CHECK(priv == want_priv);
}

/*
 * Regression test: a boxed function redispatches without naming the objects, and the device of the
 * objects was lost.
 */
static void boxed_redispatch_keeps_the_device(void)
{
	const u64 bits = DK_KEY_BITS(DK_PRIVATEUSE1) | DK_KEY_BITS(DK_TRACER);
	unsigned int m;

	for (m = 0; m < T_MODES; m++) {
		setup(t_modes[m]);
		CHECK_OK(dk_fallback_register(&host, &tracer, &t_why));
		check_served_by(bits, card[0], card[0], &of_card[0]);
		check_served_by(bits, card[1], card[1], &of_card[1]);
		check_served_by(bits, 0, 0, &of_provider);
		CHECK_INT(ran, 3);
		t_close();
	}
}

/*
 * Each function gets the private pointer of its own device. threads.c tests this while devices are
 * registered and unregistered.
 */
static void device_functions_get_its_priv(void)
{
	const u64 bits = DK_KEY_BITS(DK_PRIVATEUSE1);
	unsigned int m;

	for (m = 0; m < T_MODES; m++) {
		setup(t_modes[m]);
		check_served_by(bits, card[0], card[0], &of_card[0]);
		check_served_by(bits, card[1], card[1], &of_card[1]);
		check_served_by(bits, 0, 0, &of_provider);
		check_served_by(DK_KEY_BITS(DK_CPU), card[0], 0, &of_provider);
		CHECK_OK(dk_device_set_online(t_reg, card[0], 0, &t_why));
		check_served_by(bits, card[0], 0, &of_provider);
		CHECK_OK(dk_device_set_online(t_reg, card[0], 1, &t_why));
		check_served_by(bits, card[0], card[0], &of_card[0]);
		CHECK_OK(dk_device_unregister(&cards, card[0], &t_why));
		check_served_by(bits, card[0], 0, &of_provider);
		t_close();
	}
}

/* An emulated machine is slow, and so is ThreadSanitizer. */
#if T_KERNEL || defined(__SANITIZE_THREAD__)
#define MANY		300
#define ONE_BY_ONE	10
#else
#define MANY		1000
#define ONE_BY_ONE	400
#endif

/* Regression test: the time for each device grew with the square of the number of devices. */
static void operator_with_many_devices(void)
{
	const u64 bits = DK_KEY_BITS(DK_PRIVATEUSE1);
	u32 *devices = t_alloc(MANY * sizeof(*devices));
	char name[16];
	unsigned int i;

	setup(DK_REGISTRY_BUILTINS);
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many%u", i);
		if (!CHECK_OK(dk_device_register(&cards, DK_BACKEND_PRIVATEUSE1, name,
						 &devices[i], on_card, 1, &devices[i],
						 &t_why)))
			break;
		t_pause();
	}
	for (i = 0; i < MANY; i++)
		check_served_by(bits, devices[i], devices[i], &devices[i]);
	for (i = 0; i < ONE_BY_ONE; i++) {
		CHECK_OK(dk_device_unregister(&cards, devices[i * 2], &t_why));
		t_pause();
	}
	check_served_by(bits, devices[0], 0, &of_provider);
	check_served_by(bits, devices[1], devices[1], &devices[1]);
	t_close();
	t_free(devices);
}

T_SUITE(device_priv,
	T(device_functions_get_its_priv),
	T(boxed_redispatch_keeps_the_device),
	T(operator_with_many_devices));
