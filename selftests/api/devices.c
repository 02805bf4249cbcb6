// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests which device and which function serve a call, while devices of one or several providers are
 * registered, unregistered and taken offline. backends.c tests their backends, and device_numbers.c
 * their numbers.
 *
 * This file is longer than other suites, because its tests share one operator, whose functions
 * record on which device they are called.
 */
#include "test.h"

/* The result of a function: the private number of its card (-1: the host) and the device. */
struct seen {
	long card;
	u32 device;
	int calls;
};

DK_OP(work, "devices::work",
	(struct dk_obj *x, struct dk_obj *y, struct dk_obj *z, struct seen *seen),
	(x, y, z, seen), (x, y, z));

DK_OP(unused, "devices::unused",
	(struct dk_obj *x, struct dk_obj *y, struct dk_obj *z, struct seen *seen),
	(x, y, z, seen), (x, y, z));

static int work_card(struct dk_call *c, struct dk_obj *x, struct dk_obj *y,
		     struct dk_obj *z, struct seen *seen)
{
	seen->card = (long)dk_call_priv(c);
	seen->device = dk_call_device(c);
	seen->calls++;
	return 0;
}

static int work_host(struct dk_call *c, struct dk_obj *x, struct dk_obj *y,
		     struct dk_obj *z, struct seen *seen)
{
	seen->card = -1;
	seen->device = dk_call_device(c);
	seen->calls++;
	return 0;
}

/* A function for an autograd key. Its redispatch finds the same device. */
static int work_above(struct dk_call *c, struct dk_obj *x, struct dk_obj *y,
		      struct dk_obj *z, struct seen *seen)
{
	int err = work_below(c, x, y, z, seen);

	seen->calls += 100;
	return err;
}

static const struct dk_impl host[] = {
	DK_IMPL(work, DK_COMPOSITE_EXPLICIT_AUTOGRAD, work_host),
};

static const struct dk_impl card[] = { DK_IMPL(work, DK_DENSE, work_card) };

static struct dk_provider cpu, edu;
static struct dk_op *op;
static unsigned int backend;

/* Defines the operator, and lets provider edu join the backend "edu". */
static void setup_in(unsigned int flags, unsigned int op_flags)
{
	t_open("v1", flags);
	t_join(&cpu, "cpu");
	t_join(&edu, "edu-driver");
	CHECK_OK(dk_op_define(&cpu, &work_op, op_flags, &t_why));
	op = t_get("devices::work");
	CHECK_OK(dk_backend_join(&edu, "edu", 0, 0, &backend, &t_why));
	CHECK_INT(backend, DK_BACKEND_PRIVATEUSE1);
}

static void setup(unsigned int op_flags)
{
	setup_in(DK_REGISTRY_BUILTINS, op_flags);
}

static u32 plug(const char *name, long number, const struct dk_impl *impls,
		unsigned int n)
{
	u32 device = 0;

	CHECK_OK(dk_device_register(&edu, backend, name, (void *)number, impls, n,
				    &device, &t_why));
	CHECK(device);
	return device;
}

static void unplug(u32 device)
{
	CHECK_OK(dk_device_unregister(&edu, device, &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
}

/* Returns the number of the card that serves, -1 for the host, or the error. */
static long serves(struct dk_obj *x, struct dk_obj *y, struct dk_obj *z)
{
	struct seen seen = { -2, 0, 0 }, boxed = { -2, 0, 0 };
	struct work_args args = { x, y, z, &boxed };
	int err = work_at(op, &dk_local_default, x, y, z, &seen);

	CHECK_INT(dk_call_boxed(op, &work_op, &dk_local_default, &args), err);
	CHECK(!memcmp(&seen, &boxed, sizeof(seen)));
	if (err)
		return err;
	CHECK_INT(seen.calls % 100, 1);
	return seen.card;
}

static int route(const struct dk_obj *x, const struct dk_obj *y)
{
	const struct dk_obj *const objs[] = { x, y };

	memset(&t_answer, 0, sizeof(t_answer));
	t_answer.size = sizeof(t_answer);
	return dk_op_route(op, DK_KEYSET(DK_DEFAULT_INCLUDED),
			   DK_KEYSET(DK_DEFAULT_EXCLUDED), objs, 2, &t_answer);
}

static void two_cards_and_a_cpu_object(void)
{
	struct dk_obj host_obj = dk_obj_on(DK_BACKEND_CPU, 0), c0, c1;

	setup(0);
	CHECK_OK(dk_impls_register(&cpu, host, 1, &t_why));
	c0 = dk_obj_on(backend, plug("card0", 100, card, 1));
	c1 = dk_obj_on(backend, plug("card1", 101, card, 1));
	/* the first object on the highest backend decides the card */
	CHECK_INT(serves(&host_obj, &c0, &c1), 100);
	CHECK_INT(serves(&host_obj, &c1, &c0), 101);
	CHECK_INT(serves(&c0, &host_obj, &c1), 100);
	CHECK_INT(serves(&c1, &c0, &host_obj), 101);
	CHECK_INT(serves(&host_obj, NULL, &c1), 101);
	CHECK_INT(serves(NULL, &c0, &host_obj), 100);
	CHECK_INT(serves(&host_obj, &host_obj, NULL), -1);
	/* a copy from card to card is served by the function of the first object's card */
	CHECK_INT(serves(&c0, &c1, NULL), 100);
	CHECK_INT(serves(&c1, &c0, NULL), 101);
	/* an object of the backend that is on no device is served by the host */
	c1.device = 0;
	CHECK_INT(serves(&c1, &c0, NULL), -1);
}

static void devices_do_not_affect_calls_without_a_device(void)
{
	setup(0);
	plug("card0", 100, card, 1);
	CHECK_INT(dk_op_is_served(op, DK_PRIVATEUSE1, &t_why), 0);
	CHECK_OK(dk_impls_register(&cpu, host, 1, &t_why));
	CHECK_INT(dk_op_is_served(op, DK_PRIVATEUSE1, &t_why), 1);
	CHECK_INT(dk_op_is_served(op, DK_CPU, &t_why), 1);
}

/* Device numbers that share a slot in the list of device tables, and devices without a table. */
static void device_numbers_share_a_slot(void)
{
	enum { CARDS = 33 };
	unsigned int each, i;
	struct dk_obj x;

	for (each = 1; each <= 16; each++) {
		u32 device[CARDS];

		setup(0);
		CHECK_OK(dk_impls_register(&cpu, host, 1, &t_why));
		for (i = 0; i < CARDS; i++) {
			char name[] = { 'c', 'a' + i / 26, 'a' + i % 26, 0 };

			device[i] = plug(name, i, card, !(i % each));
		}
		for (i = 0; i < CARDS; i++) {
			x = dk_obj_on(backend, device[i]);
			CHECK_INT(serves(&x, NULL, NULL), i % each ? -1 : (long)i);
			CHECK_INT(serves(NULL, &x, NULL), i % each ? -1 : (long)i);
		}
		x = dk_obj_on(backend, 0);
		CHECK_INT(serves(&x, NULL, NULL), -1);
		t_close();
	}
}

/* A function of a backend and one of its card at the same key do not override each other. */
static void card_function_overrides_nothing(void)
{
	static const struct dk_impl of_all[] = { DK_IMPL(work, DK_PRIVATEUSE1, work_host) };

	setup(0);
	plug("card0", 100, card, 1);
	CHECK_OK(dk_impls_register(&edu, of_all, 1, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
}

/* If functions of one array have equal keys, the last one serves, with tables and by the rules. */
static void last_of_equal_keys_serves(void)
{
	static const struct dk_impl of_card[] = {
		DK_IMPL(work, DK_DENSE, work_host),
		DK_IMPL(work, DK_PRIVATEUSE1, work_card),
	};
	static const struct dk_impl of_host[] = {
		DK_IMPL(work, DK_CPU, work_card), DK_IMPL(work, DK_CPU, work_host),
		DK_IMPL(work, DK_COMPOSITE_EXPLICIT_AUTOGRAD, work_card),
		DK_IMPL(work, DK_COMPOSITE_EXPLICIT_AUTOGRAD, work_host),
	};
	struct dk_obj on_host = dk_obj_on(DK_BACKEND_CPU, 0), on_card;
	unsigned int forced;

	for (forced = 0; forced < 2; forced++) {
		setup_in(DK_REGISTRY_BUILTINS | forced * DK_REGISTRY_FORCE_RESOLVE, 0);
		on_card = dk_obj_on(backend, plug("card0", 100, of_card, 2));
		CHECK_INT(serves(&on_card, NULL, NULL), 100);
		CHECK_OK(dk_impls_register(&cpu, of_host, 4, &t_why));
		CHECK_INT(serves(&on_host, NULL, NULL), -1);
		CHECK_INT(serves(&on_card, NULL, NULL), 100);
		unplug(on_card.device);
		CHECK_INT(serves(&on_card, NULL, NULL), -1);
		t_close();
	}
}

/* A card's function is found, with tables and by the rules, wherever it is in the card's array. */
static void each_function_of_a_card_serves(void)
{
	static const struct dk_impl of_unused = DK_IMPL(unused, DK_DENSE, work_host);
	struct dk_impl of_card[7];
	unsigned int flags, i, k;
	struct dk_obj on_card;

	for (flags = 0; flags < T_MODES; flags++) {
		for (i = 0; i < ARRAY_SIZE(of_card); i++) {
			setup_in(t_modes[flags], 0);
			CHECK_OK(dk_impls_register(&cpu, host, 1, &t_why));
			for (k = 0; k < ARRAY_SIZE(of_card); k++)
				of_card[k] = k == i ? card[0] : of_unused;
			on_card = dk_obj_on(backend, plug("card0", 100, of_card, k));
			plug("card1", 200, card, 1);
			CHECK_INT(serves(&on_card, NULL, NULL), 100);
			t_close();
		}
	}
}

static void route_names_provider_and_device(void)
{
	struct dk_obj c0, cpu_obj = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj found;
	u32 device;

	setup(0);
	CHECK_OK(dk_impls_register(&cpu, host, 1, &t_why));
	device = plug("0000:00:04.0", 1, card, 1);
	c0 = dk_obj_on(backend, device);
	CHECK_OK(route(&cpu_obj, &c0));
	CHECK_STR(t_answer.entry.label, "work_card");
	CHECK_STR(t_answer.entry.provider, "edu-driver");
	CHECK_STR(t_answer.entry.device_name, "0000:00:04.0");
	CHECK_INT(t_answer.entry.device, device);
	CHECK_INT(t_answer.entry.provenance, DK_PROV_KERNEL);
	CHECK_INT(t_answer.slot, dk_key_slot(NULL, DK_PRIVATEUSE1));
	CHECK_INT(t_answer.raw.bits, DK_KEY_BITS(DK_PRIVATEUSE1) |
				     DK_KEY_BITS(DK_CPU));
	CHECK_STR(t_serves(op, device, DK_PRIVATEUSE1), "work_card");
	CHECK_STR(t_serves(op, device, DK_CPU), "work_host");
	CHECK_STR(t_serves(op, 0, DK_PRIVATEUSE1), "work_host");
	CHECK_OK(route(&cpu_obj, NULL));
	CHECK_STR(t_answer.entry.label, "work_host");
	CHECK_STR(t_answer.entry.provider, "cpu");
	CHECK_STR(t_answer.entry.device_name, "");
	CHECK_INT(t_answer.entry.provenance, DK_PROV_DEFAULT_BACKEND);
	CHECK_OK(dk_device_find(t_reg, "0000:00:04.0", &found, &t_why));
	CHECK(!memcmp(&found, &c0, sizeof(found)));
	unplug(device);
	CHECK_OK(route(&cpu_obj, &c0));
	CHECK_STR(t_answer.entry.label, "work_host");
	CHECK_STR(dk_provenance_name(t_answer.entry.provenance),
		  "default backend kernel");
}

/*
 * The number of an unregistered card never becomes valid again, however often cards are registered
 * and unregistered.
 */
static void number_of_an_unregistered_card_stays_invalid(void)
{
	enum { TIMES = T_KERNEL ? 100 : 2000 };
	struct dk_obj old, now;
	u32 device, last;
	unsigned int i;

	setup(0);
	device = plug("card", 7, card, 1);
	old = dk_obj_on(backend, device);
	CHECK_INT(serves(&old, NULL, NULL), 7);
	unplug(device);
	CHECK_INT(serves(&old, NULL, NULL), -ENODEV);
	CHECK_OK(dk_impls_register(&cpu, host, 1, &t_why));
	CHECK_INT(serves(&old, NULL, NULL), -1);
	last = device;
	for (i = 0; i < TIMES; i++) {
		u32 again = plug("card", 8, card, 1);

		now = dk_obj_on(backend, again);
		if (!CHECK(again != device && again != last) ||
		    !CHECK_INT(serves(&old, &now, NULL), -1) ||
		    !CHECK_INT(serves(&now, &old, NULL), 8))
			break;
		CHECK_OK(dk_device_unregister(&edu, again, &t_why));
		last = again;
		t_pause();
	}
}

static void card_without_the_function(void)
{
	static const struct dk_impl shared[] = { DK_IMPL(work, DK_DENSE, work_card) };
	struct dk_obj c0, c1, gone;
	u32 bare, own;

	setup(0);
	own = plug("own", 1, card, 1);
	bare = plug("bare", 2, NULL, 0);
	c0 = dk_obj_on(backend, own);
	c1 = dk_obj_on(backend, bare);
	gone = dk_obj_on(backend, plug("gone", 3, NULL, 0));
	unplug(gone.device);
	CHECK_INT(serves(&c0, NULL, NULL), 1);
	/* the error shows whether the card or the function is missing */
	CHECK_INT(serves(&c1, NULL, NULL), -ENOSYS);
	CHECK_INT(serves(&gone, NULL, NULL), -ENODEV);
	CHECK_INT(route(&c1, NULL), -ENOSYS);
	CHECK_INT(route(&gone, NULL), -ENODEV);
	/* a function at an alias key serves */
	CHECK_OK(dk_impls_register(&cpu, host, 1, &t_why));
	CHECK_INT(serves(&c1, NULL, NULL), -1);
	CHECK_INT(serves(&gone, NULL, NULL), -1);
	CHECK_INT(serves(&c0, NULL, NULL), 1);
	/*
	 * a function of the backend precedes the function at the alias key, and gets the private
	 * pointer of its provider
	 */
	CHECK_OK(dk_backend_impls_register(&edu, backend, shared, 1, &t_why));
	CHECK_INT(serves(&c1, NULL, NULL), 0);
	CHECK_INT(serves(&gone, NULL, NULL), 0);
	CHECK_INT(serves(&c0, NULL, NULL), 1);
	CHECK_OK(route(&c1, NULL));
	CHECK_INT(t_answer.entry.device, 0);
	CHECK_OK(dk_impls_unregister(&edu, shared, &t_why));
	CHECK_INT(serves(&c1, NULL, NULL), -1);
}

static void two_providers_one_backend(void)
{
	static struct dk_provider other;
	struct dk_obj c0, c1;
	unsigned int b;
	u32 d0, d1;

	setup(0);
	CHECK_OK(dk_impls_register(&cpu, host, 1, &t_why));
	t_join(&other, "other-driver");
	/* upper and lower case are equal, and joining again returns the same backend */
	CHECK_OK(dk_backend_join(&other, "EDU", 0, 0, &b, &t_why));
	CHECK_INT(b, backend);
	CHECK_OK(dk_backend_join(&other, "edu", backend, 0, &b, &t_why));
	CHECK_INT(b, backend);
	d0 = plug("card0", 10, card, 1);
	CHECK_OK(dk_device_register(&other, b, "card1", (void *)11, card, 1, &d1,
				    &t_why));
	c0 = dk_obj_on(backend, d0);
	c1 = dk_obj_on(backend, d1);
	CHECK_INT(serves(&c0, &c1, NULL), 10);
	CHECK_INT(serves(&c1, &c0, NULL), 11);
	/* one provider unregisters; the card of the other one is not affected */
	t_unregister(&other);
	CHECK_INT(serves(&c0, &c1, NULL), 10);
	CHECK_INT(serves(&c1, &c0, NULL), -1);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
}

static void same_device_operator(void)
{
	struct dk_obj host_obj = dk_obj_on(DK_BACKEND_CPU, 0), c0, c1, gone;

	setup(DK_OP_SAME_DEVICE);
	CHECK_OK(dk_impls_register(&cpu, host, 1, &t_why));
	c0 = dk_obj_on(backend, plug("card0", 100, card, 1));
	c1 = dk_obj_on(backend, plug("card1", 101, card, 1));
	gone = dk_obj_on(backend, plug("card2", 102, card, 1));
	unplug(gone.device);
	CHECK_INT(serves(&c0, &c1, NULL), -EXDEV);
	CHECK_INT(serves(&c0, &host_obj, &c1), -EXDEV);
	CHECK_INT(route(&c0, &c1), -EXDEV);
	CHECK_STR(t_answer.entry.label, "work_card");
	CHECK_INT(serves(&c0, &c0, &host_obj), 100);
	CHECK_INT(serves(&host_obj, &c1, &c1), 101);
	/* a card that is unregistered or offline is treated as no device */
	CHECK_INT(serves(&c0, &gone, NULL), 100);
	CHECK_INT(serves(&gone, &c0, NULL), -1);
	CHECK_OK(dk_device_set_online(t_reg, c1.device, 0, &t_why));
	CHECK_INT(serves(&c0, &c1, NULL), 100);
	CHECK_OK(route(&c0, &c1));
	CHECK_OK(dk_device_set_online(t_reg, c1.device, 1, &t_why));
	CHECK_INT(serves(&c0, &c1, NULL), -EXDEV);
	/*
	 * calls and routes return the same error if nothing serves or the operator is not defined
	 */
	CHECK_OK(dk_impls_unregister(&cpu, host, &t_why));
	c0.ks = DK_SET(DK_TRACER);
	CHECK_INT(serves(&c0, &c1, NULL), route(&c0, &c1));
	CHECK_OK(dk_op_undefine(&cpu, "devices::work", &t_why));
	CHECK_INT(serves(&c0, &c1, NULL), -ENOENT);
	CHECK_INT(route(&c0, &c1), -ENOENT);
}

static void offline_and_online(void)
{
	static const struct dk_impl bad[] = { DK_IMPL(work, DK_DENSE, work_host) };
	struct dk_obj c0, c1;
	u32 d0, d1;

	setup(0);
	d0 = plug("card0", 100, card, 1);
	d1 = plug("card1", 101, card, 1);
	c0 = dk_obj_on(backend, d0);
	c1 = dk_obj_on(backend, d1);
	CHECK_OK(dk_device_set_online(t_reg, d0, 0, &t_why));
	CHECK_OK(dk_device_set_online(t_reg, d0, 0, &t_why));
	CHECK_INT(serves(&c0, NULL, NULL), -ENODEV);
	CHECK_INT(route(&c0, NULL), -ENODEV);
	CHECK_INT(serves(&c1, &c0, NULL), 101);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	CHECK_STR(t_serves(op, d0, DK_PRIVATEUSE1), "missing");
	CHECK_OK(dk_impls_register(&cpu, host, 1, &t_why));
	CHECK_INT(serves(&c0, &c1, NULL), -1);
	/* changes of other registrations leave the card offline */
	CHECK_OK(dk_backend_impls_register(&edu, backend, bad, 1, &t_why));
	CHECK_INT(serves(&c0, NULL, NULL), -1);
	CHECK_STR(t_serves(op, d0, DK_PRIVATEUSE1), "work_host");
	CHECK_OK(dk_device_set_online(t_reg, d0, 1, &t_why));
	CHECK_OK(dk_device_set_online(t_reg, d0, 1, &t_why));
	CHECK_INT(serves(&c0, &c1, NULL), 100);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	/* a card that is offline can be unregistered */
	CHECK_OK(dk_device_set_online(t_reg, d1, 0, &t_why));
	unplug(d1);
	CHECK_INT(dk_device_set_online(t_reg, d1, 1, &t_why), -ENODEV);
	CHECK_INT(serves(&c1, NULL, NULL), -1);
}

static void keys_of_other_backends_are_refused(void)
{
	static const u16 bad[] = {
		DK_CPU, DK_PRIVATEUSE2, DK_SPARSE_CUDA, DK_TRACER, DK_FPGA,
		DK_AUTOGRAD_OTHER, DK_AUTOGRAD, DK_COMPOSITE_EXPLICIT_AUTOGRAD,
		DK_UNDEFINED,
	};
	static const u16 good[] = {
		DK_DENSE, DK_PRIVATEUSE1, DK_SPARSE, DK_SPARSE_CSR_PRIVATEUSE1,
		DK_QUANTIZED, DK_NESTED_TENSOR, DK_AUTOGRAD_FUNCTIONALITY,
		DK_AUTOGRAD_PRIVATEUSE1,
	};
	static struct dk_impl impl;
	unsigned int i;
	u32 device;

	setup(0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		impl = card[0];
		impl.key = bad[i];
		CHECK_INT(dk_device_register(&edu, backend, "bad", NULL, &impl, 1,
					     &device, &t_why), -EINVAL);
		CHECK_INT(t_why.reason, DK_WHY_DEVICE_KEY);
		CHECK(t_why.name[0]);
	}
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		const unsigned int key = dk_key_kind(NULL, good[i]) ==
					 DK_KIND_BUILDING_BLOCK ?
			dk_runtime_key(NULL, good[i], backend) : good[i];

		impl = card[0];
		impl.key = good[i];
		device = plug("good", 1, &impl, 1);
		CHECK_STR(t_serves(op, device, key), "work_card");
		CHECK_STR(t_serves(op, 0, key), key >= DK_AUTOGRAD_CPU ?
			  "fallthrough" : "missing");
		unplug(device);
	}
}

/* Eight providers have eight cards each. The cards are unregistered one by one. */
static void sixty_four_cards(void)
{
	static struct dk_provider prov[8];
	static struct dk_obj obj[64];
	static bool out[64];
	char name[16];
	unsigned int i, k, b, at;

	setup(0);
	CHECK_OK(dk_impls_register(&cpu, host, 1, &t_why));
	memset(out, 0, sizeof(out));
	for (i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "prov%u", i);
		t_join(&prov[i], name);
		CHECK_OK(dk_backend_join(&prov[i], "edu", 0, 0, &b, &t_why));
		CHECK_INT(b, backend);
	}
	for (i = 0; i < 64; i++) {
		u32 device = 0;

		snprintf(name, sizeof(name), "card%u", i);
		CHECK_OK(dk_device_register(&prov[i % 8], backend, name,
					    (void *)(long)i, card, 1, &device,
					    &t_why));
		obj[i] = dk_obj_on(backend, device);
	}
	for (i = 0; i < 64; i++) {
		at = i * 37 % 64;
		CHECK_OK(dk_device_unregister(&prov[at % 8], obj[at].device,
					      &t_why));
		out[at] = true;
		for (k = 0; k < 64; k++)
			if (!CHECK_INT(serves(&obj[k], NULL, NULL),
				       out[k] ? -1 : (long)k))
				break;
		CHECK_OK(dk_registry_check(t_reg, &t_why));
		t_pause();
	}
	for (i = 0; i < 8; i++)
		t_unregister(&prov[i * 3 % 8]);
}

/* Unregistering a provider unregisters all its cards. Those of other providers stay. */
static void unregistering_removes_the_cards(void)
{
	static struct dk_provider other;
	struct dk_obj mine[4], its[4];
	char name[16];
	unsigned int i, b;

	setup(0);
	CHECK_OK(dk_impls_register(&cpu, host, 1, &t_why));
	t_join(&other, "other");
	CHECK_OK(dk_backend_join(&other, "edu", 0, 0, &b, &t_why));
	for (i = 0; i < 4; i++) {
		u32 device = 0;

		snprintf(name, sizeof(name), "mine%u", i);
		mine[i] = dk_obj_on(backend, plug(name, i, card, 1));
		snprintf(name, sizeof(name), "its%u", i);
		CHECK_OK(dk_device_register(&other, b, name, (void *)(10L + i),
					    card, 1, &device, &t_why));
		its[i] = dk_obj_on(backend, device);
	}
	t_unregister(&other);
	for (i = 0; i < 4; i++) {
		CHECK_INT(serves(&mine[i], NULL, NULL), i);
		CHECK_INT(serves(&its[i], NULL, NULL), -1);
	}
	CHECK_INT(dk_device_find(t_reg, "its0", &its[0], &t_why), -ENODEV);
}

/* Functions and fallthroughs of a card precede those of its backend, key by key. */
static void fallthrough_at_a_card(void)
{
	static const struct dk_impl base[] = {
		DK_IMPL(work, DK_DENSE, work_card),
		DK_IMPL(work, DK_AUTOGRAD_FUNCTIONALITY, work_above),
	};
	static const struct dk_impl through[] = {
		DK_IMPL_FALLTHROUGH(work, DK_AUTOGRAD_FUNCTIONALITY),
		DK_IMPL(work, DK_DENSE, work_card),
	};
	static const struct dk_impl above[] = {
		DK_IMPL(work, DK_AUTOGRAD_FUNCTIONALITY, work_above),
	};
	const u64 grad = DK_KEY_BITS(DK_AUTOGRAD_PRIVATEUSE1);
	struct seen seen = { 0 };
	struct dk_obj c0, c1, c2;

	setup(0);
	CHECK_OK(dk_backend_impls_register(&edu, backend, base, 2, &t_why));
	c0 = dk_obj_on(backend, plug("through", 1, through, 2));
	c1 = dk_obj_on(backend, plug("plain", 2, card, 1));
	c2 = dk_obj_on(backend, plug("above", 3, above, 1));
	c0.ks.bits |= grad;
	c1.ks.bits |= grad;
	c2.ks.bits |= grad;
	/* the card's fallthrough removes the autograd key */
	CHECK_OK(work_at(op, &dk_local_default, &c0, NULL, NULL, &seen));
	CHECK_INT(seen.calls, 1);
	CHECK_INT(seen.card, 1);
	CHECK_INT(seen.device, c0.device);
	/* the backend's function at the autograd key runs, and then the card's function */
	memset(&seen, 0, sizeof(seen));
	CHECK_OK(work_at(op, &dk_local_default, &c1, NULL, NULL, &seen));
	CHECK_INT(seen.calls, 101);
	CHECK_INT(seen.card, 2);
	/* the card's function at the autograd key runs, and then the backend's function */
	memset(&seen, 0, sizeof(seen));
	CHECK_OK(work_at(op, &dk_local_default, &c2, &c0, NULL, &seen));
	CHECK_INT(seen.calls, 101);
	CHECK_INT(seen.card, 0);
	CHECK_INT(seen.device, 0);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	/* the card's function at the autograd key runs, and its redispatch finds no function */
	CHECK_OK(dk_impls_unregister(&edu, base, &t_why));
	CHECK_INT(serves(&c2, NULL, NULL), -ENOSYS);
}

static u64 again_by;

static int work_again(struct dk_call *c, struct dk_obj *x, struct dk_obj *y,
		      struct dk_obj *z, struct seen *seen)
{
	return work_redispatch(c, DK_KEYSET(again_by), x, y, z, seen);
}

/* A redispatch uses the keyset as it is. Without a backend in it, no device serves. */
static void redispatch_uses_its_keyset(void)
{
	static const struct dk_impl own[] = {
		DK_IMPL(work, DK_CPU, work_host),
		DK_IMPL(work, DK_AUTOGRAD_CPU, work_again),
	};
	static const unsigned int flags[] = { 0, DK_REGISTRY_FORCE_RESOLVE };
	struct seen seen;
	struct dk_obj x;
	unsigned int i;
	u32 device;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		setup_in(flags[i], 0);
		CHECK_OK(dk_impls_register(&cpu, own, 2, &t_why));
		CHECK_OK(dk_device_register(&edu, DK_BACKEND_CPU, "core", (void *)7, card, 1,
					    &device, &t_why));
		x = t_obj(DK_KEY_BITS(DK_AUTOGRAD_CPU) | DK_KEY_BITS(DK_CPU));
		x.device = device;
		seen = (struct seen){ 0 };
		again_by = DK_KEY_BITS(DK_CPU);
		CHECK_OK(work_at(op, &dk_local_default, &x, NULL, NULL, &seen));
		CHECK_INT(seen.card, 7);
		again_by = DK_KEY_BITS(DK_CPU) & ~DK_BACKEND_MASK;
		CHECK_OK(work_at(op, &dk_local_default, &x, NULL, NULL, &seen));
		CHECK_INT(seen.card, -1);
		/* bits that belong to no key are ignored */
		again_by = DK_KEY_BITS(DK_CPU) | 1ULL << 63;
		CHECK_OK(work_at(op, &dk_local_default, &x, NULL, NULL, &seen));
		CHECK_INT(seen.card, 7);
		CHECK_INT(seen.calls, 3);
		t_close();
	}
}

/* ---- a fallback that serves only devices --------------------------------------- */

/*
 * Rule 4: if the card has a function, CompositeImplicitAutograd does not serve the autograd key of
 * the card.
 */
static const struct dk_impl implicit[] = {
	DK_IMPL(work, DK_COMPOSITE_IMPLICIT_AUTOGRAD, work_host),
};

static int work_any(struct dk_call *c, void *args)
{
	((struct work_args *)args)->seen->card = 7;
	return 0;
}

static long serves_with_autograd(u32 device)
{
	struct dk_obj x = dk_obj_on(backend, device);
	struct seen seen = { 0 };

	x.ks = dk_keyset_or(x.ks, DK_SET(DK_AUTOGRAD_PRIVATEUSE1));
	CHECK_OK(work_at(op, &dk_local_default, &x, NULL, NULL, &seen));
	return seen.card;
}

static void fallback_serves_only_a_device(void)
{
	static const struct dk_impl any = DK_FALLBACK(DK_AUTOGRAD_PRIVATEUSE1, work_any);
	static const struct dk_impl autograd[] = {
		DK_IMPL(work, DK_AUTOGRAD_FUNCTIONALITY, work_card),
	};
	u32 device, other;

	setup(0);
	CHECK_OK(dk_impls_register(&cpu, implicit, 1, &t_why));
	other = plug("edu1", 6, autograd, 1);
	device = plug("edu0", 5, card, 1);
	CHECK_INT(serves_with_autograd(0), -1);
	CHECK_INT(serves_with_autograd(device), 5);
	CHECK_INT(serves_with_autograd(other), 6);
	CHECK_OK(dk_fallback_register(&cpu, &any, &t_why));
	CHECK_INT(serves_with_autograd(0), -1);
	CHECK_INT(serves_with_autograd(device), 7);
	CHECK_INT(serves_with_autograd(other), 6);
	CHECK_OK(dk_impls_unregister(&cpu, &any, &t_why));
	CHECK_INT(serves_with_autograd(device), 5);
}

T_SUITE(devices,
	T(two_cards_and_a_cpu_object),
	T(devices_do_not_affect_calls_without_a_device),
	T(device_numbers_share_a_slot),
	T(card_function_overrides_nothing),
	T(last_of_equal_keys_serves),
	T(each_function_of_a_card_serves),
	T(route_names_provider_and_device),
	T_PEER(14, number_of_an_unregistered_card_stays_invalid),
	T(card_without_the_function),
	T(two_providers_one_backend),
	T(same_device_operator),
	T(offline_and_online),
	T(keys_of_other_backends_are_refused),
	T(sixty_four_cards),
	T(unregistering_removes_the_cards),
	T(fallthrough_at_a_card),
	T(redispatch_uses_its_keyset),
	T(fallback_serves_only_a_device));
