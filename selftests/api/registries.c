// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests registries: flags, generation, and the default registry. Calls in one registry do not
 * affect another registry: unregistering there neither waits for these calls nor fails with
 * -EDEADLK.
 */
#include "test.h"

#define MS	30000	/* a deadline for waits that would otherwise never end */

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
	t_open("v1", DK_REGISTRY_BUILTINS);
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
	t_unregister(&h->guest);
	t_unregister(&h->prov);
	t_close();
}

/* Checks that all functions that wait for calls are refused, since the caller is inside a call. */
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

/* Checks that the same functions succeed, since no call is running in this registry. */
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

static void free_new_registry(void)
{
	struct dk_registry *reg = dk_registry_alloc(NULL, 0, &t_why);

	CHECK_OK(dk_registry_free(reg, &t_why));
}

/* ---- calls ---------------------------------------------------------------------- */

static void inside_of_one(void)
{
	refused_in(&one);
	waits_in(&other);
	free_new_registry();
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

static void calls_in_two_registries(void)
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

/* ---- one registry ----------------------------------------------------------------- */

static struct dk_provider a, b;

static void default_registry_is_not_freed(void)
{
	static const struct dk_provider unregistered = DK_PROVIDER("registries");
	struct dk_registry *reg = dk_registry_default();

	/* refuses: dk_registry_free EBUSY DEFAULT_REGISTRY */
	CHECK_INT(dk_registry_free(reg, &t_why), -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_DEFAULT_REGISTRY);
	CHECK_STR(t_why.text, "the default registry cannot be freed");
	CHECK_STR(t_why.name, "");
	CHECK(dk_registry_default() == reg);
	/* providers can still be registered */
	a = unregistered;
	t_register(&a);
}

static void unknown_registry_flags_are_refused(void)
{
	unsigned int bit;

	for (bit = 2; bit < 32; bit++) {
		memset(&t_why, 0, sizeof(t_why));
		/* refuses: dk_registry_alloc EINVAL BAD_FLAGS */
		CHECK(!dk_registry_alloc(NULL, 1u << bit, &t_why));
		CHECK_INT(t_why.reason, DK_WHY_BAD_FLAGS);
	}
	CHECK(!dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS | 1u << 31, &t_why));
}

static u64 generation(void)
{
	return dk_registry_generation(t_reg);
}

#define GROWS(call)							\
	do {								\
		u64 before = generation();				\
									\
		CHECK_OK(call);						\
		t_check(generation() > before, __FILE__, __LINE__,	\
			#call " moves the generation, which");		\
	} while (0)

#define REFUSED(call, errno)						\
	do {								\
		u64 before = generation();				\
									\
		CHECK_INT(call, errno);					\
		CHECK_INT(generation(), before);			\
	} while (0)

static void generation_grows_with_every_change(void)
{
	static struct dk_op_decl decl;
	static struct dk_impl impls[1], fallback, bad[1];
	unsigned int backend = 0;
	u32 device = 0, more;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&a, "a");
	t_join(&b, "b");
	decl = t_decl("registries::generation");
	impls[0] = t_impl(&decl, DK_CPU, 1);
	bad[0] = t_impl(&decl, 0xffff, 2);
	fallback = t_fallthrough(NULL, DK_TRACER);

	REFUSED(dk_fallback_register(&a, bad, &t_why), -EINVAL);
	GROWS(dk_fallback_register(&a, &fallback, &t_why));
	REFUSED(dk_fallback_register(&b, &fallback, &t_why), -EEXIST);
	REFUSED(dk_impls_unregister(&b, &fallback, &t_why), -ENOENT);
	GROWS(dk_impls_unregister(&a, &fallback, &t_why));

	GROWS(dk_backend_join(&a, "mine", 0, 0, &backend, &t_why));
	REFUSED(dk_backend_join(&b, "Autograd", 0, 0, &backend, &t_why), -EINVAL);
	REFUSED(dk_backend_release(t_reg, "mine", &t_why), -EBUSY);

	GROWS(dk_device_register(&a, backend, "card", NULL, NULL, 0, &device, &t_why));
	REFUSED(dk_device_register(&a, backend, "card", NULL, NULL, 0, &more, &t_why),
		-EEXIST);
	REFUSED(dk_device_register(&a, backend, "bad", NULL, bad, 1, &more, &t_why),
		-EINVAL);
	GROWS(dk_device_set_online(t_reg, device, 0, &t_why));
	GROWS(dk_device_set_online(t_reg, device, 1, &t_why));
	REFUSED(dk_device_set_online(t_reg, device + 1, 0, &t_why), -ENODEV);
	REFUSED(dk_device_unregister(&b, device, &t_why), -ENOENT);
	GROWS(dk_device_unregister(&a, device, &t_why));
	REFUSED(dk_device_unregister(&a, device, &t_why), -ENODEV);
	GROWS(dk_device_register(&a, backend, "card", NULL, NULL, 0, &device, &t_why));

	REFUSED(dk_op_undefine(&a, decl.name, &t_why), -ENOENT);
	GROWS(dk_op_define(&a, &decl, 0, &t_why));
	REFUSED(dk_op_define(&b, &decl, 0, &t_why), -EEXIST);
	REFUSED(dk_op_undefine(&b, decl.name, &t_why), -ENOENT);
	REFUSED(dk_impls_register(&a, bad, 1, &t_why), -EINVAL);
	GROWS(dk_impls_register(&a, impls, 1, &t_why));
	GROWS(dk_op_undefine(&a, decl.name, &t_why));
	GROWS(dk_impls_withdraw(&a, impls, &t_why));

	GROWS(dk_provider_unregister(&a));
	GROWS(dk_backend_release(t_reg, "mine", &t_why));
	REFUSED(dk_backend_release(t_reg, "mine", &t_why), -ENOENT);
}

static void put(void *data)
{
	dk_op_put(data);
}

/* Putting an operator too often has no effect, and the registry can be freed. */
static void operator_is_put_more_often_than_got(void)
{
	static struct dk_provider prov;
	struct dk_op *op;
	char text[128];

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&prov, "putter");
	CHECK_OK(dk_op_define(&prov, &twice_op, 0, &t_why));
	op = dk_op_get(t_reg, "registries::op");
	dk_op_put(op);
	t_capture_stderr(text, sizeof(text), put, op);
	if (!T_KERNEL)
		CHECK_STR(text,
			  "dispatchkey: registries::op: dk_op_put() was called too often\n");
	CHECK(dk_op_get(t_reg, "registries::op") == op);
	dk_op_put(op);
	CHECK_OK(dk_provider_unregister(&prov));
	CHECK(!dk_op_get(t_reg, "registries::op"));
	/* t_close() checks that the registry is not in use */
}

/* The provider still points to the registry. */
static void provider_outlives_its_registry(void)
{
	static struct dk_provider prov;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&prov, "late");
	CHECK_OK(dk_provider_unregister(&prov));
	t_close();
	/* an address that would crash */
	prov.registry = (struct dk_registry *)sizeof(long);
	CHECK_INT(dk_impls_register(&prov, here, 1, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_UNREGISTERED);
	CHECK_INT(dk_impls_withdraw(&prov, here, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_UNREGISTERED);
}

T_SUITE(registries,
	T(calls_in_two_registries),
	T(default_registry_is_not_freed),
	T(unknown_registry_flags_are_refused),
	T(generation_grows_with_every_change),
	T(operator_is_put_more_often_than_got),
	T(provider_outlives_its_registry));
