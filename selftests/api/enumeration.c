// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the numbers and lists of a registry's backends, devices and providers. full_registry.h
 * explains the comments "refuses:".
 */
#include "test.h"

DK_OP(enumerated, "enumeration::op", (struct dk_obj *x), (x), (x));

static int serve(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static const struct dk_impl on_cpu[] = {
	DK_IMPL(enumerated, DK_CPU, serve),
	DK_IMPL(enumerated, DK_COMPOSITE_EXPLICIT_AUTOGRAD, serve),
};

static const struct dk_impl on_card[] = { DK_IMPL(enumerated, DK_DENSE, serve) };

static struct dk_provider cpu, edu;
static unsigned int backend;

static struct dk_counts counts(void)
{
	struct dk_counts c = { .size = sizeof(c) };

	CHECK_OK(dk_registry_counts(t_reg, &c));
	CHECK_INT(c.generation, dk_registry_generation(t_reg));
	return c;
}

static struct dk_backend_info of_backend(unsigned int b)
{
	struct dk_backend_info info = { .size = sizeof(info) };

	CHECK_OK(dk_registry_backend(t_reg, b, &info));
	CHECK_INT(info.number, b);
	CHECK_INT(info.is_online, dk_backend_is_online(t_reg, b));
	return info;
}

static struct dk_device_info of_device(u32 device)
{
	struct dk_device_info info = { .size = sizeof(info) };

	CHECK_OK(dk_registry_device(t_reg, device, &info));
	CHECK_INT(info.number, device);
	return info;
}

/* The @nth provider, from 0, in the order of registration. */
static struct dk_provider_info of_provider(unsigned int nth)
{
	struct dk_provider_info info = { .size = sizeof(info) };

	do
		CHECK_OK(dk_registry_next_provider(t_reg, info.number, &info));
	while (nth--);
	return info;
}

static u32 plug(const char *name)
{
	u32 device = 0;

	CHECK_OK(dk_device_register(&edu, backend, name, NULL, on_card, 1, &device,
				    &t_why));
	return device;
}

static void teardown(void)
{
	struct dk_counts c;

	t_unregister(&edu);
	t_unregister(&cpu);
	c = counts();
	CHECK_INT(c.operators + c.impls + c.providers + c.devices, 0);
}

static void setup(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&cpu, "cpu");
	t_join(&edu, "edu-driver");
	CHECK_OK(dk_backend_join(&edu, "edu", 0, 0, &backend, &t_why));
	t_at_close(teardown);
}

static void everything_is_counted(void)
{
	struct dk_impl fallback = t_fallthrough(NULL, DK_TRACER);
	struct dk_counts c;
	u32 card;

	c = counts();
	CHECK_INT(c.providers, 2);
	CHECK_INT(c.operators, 0);
	/* a fallback is not a function of an operator */
	CHECK_OK(dk_fallback_register(&cpu, &fallback, &t_why));
	CHECK_OK(dk_impls_register(&cpu, on_cpu, 2, &t_why));
	card = plug("card0");
	c = counts();
	CHECK_INT(c.operators, 1);
	CHECK_INT(c.impls, 3);
	CHECK_INT(c.devices, 1);
	CHECK_OK(dk_op_define(&cpu, &enumerated_op, 0, &t_why));
	CHECK_INT(counts().operators, 1);
	CHECK_OK(dk_impls_unregister(&cpu, on_cpu, &t_why));
	CHECK_OK(dk_device_unregister(&edu, card, &t_why));
	c = counts();
	CHECK_INT(c.operators, 1);
	CHECK_INT(c.impls, 0);
	CHECK_INT(c.devices, 0);
	CHECK_OK(dk_op_undefine(&cpu, "enumeration::op", &t_why));
	CHECK_INT(counts().operators, 0);
}

/* Refused registrations are not counted. */
static void refused_registrations_are_not_counted(void)
{
	struct dk_impl bad[2];
	struct dk_counts c;
	u32 device;

	bad[0] = on_cpu[0];
	bad[1] = on_cpu[1];
	bad[1].key = 0xffff;
	CHECK_INT(dk_impls_register(&cpu, bad, 2, &t_why), -EINVAL);
	CHECK_INT(dk_device_register(&edu, backend, "card", NULL, on_cpu, 1, &device,
				     &t_why), -EINVAL);
	c = counts();
	CHECK_INT(c.operators + c.impls + c.devices, 0);
	CHECK_INT(of_backend(DK_BACKEND_CPU).impls, 0);
}

static void backend_information(void)
{
	struct dk_impl at_alias = t_fallthrough(NULL, DK_COMPOSITE_EXPLICIT_AUTOGRAD);
	struct dk_impl fallback = t_fallthrough(NULL, DK_AUTOGRAD_CPU);
	struct dk_backend_info info;

	info = of_backend(DK_BACKEND_CPU);
	CHECK_STR(info.name, "CPU");
	CHECK_STR(info.own_name, "CPU");
	CHECK_INT(info.is_bound, 0);
	CHECK_OK(dk_impls_register(&cpu, on_cpu, 2, &t_why));
	CHECK_OK(dk_fallback_register(&cpu, &fallback, &t_why));
	/* an alias key is not a key of the backend */
	CHECK_INT(of_backend(DK_BACKEND_CPU).impls, 2);
	/* a fallback at an alias key is one function of each backend */
	CHECK_OK(dk_fallback_register(&cpu, &at_alias, &t_why));
	CHECK_INT(of_backend(DK_BACKEND_CUDA).impls, 1);
	CHECK_OK(dk_impls_unregister(&cpu, &at_alias, &t_why));
	CHECK_INT(of_backend(DK_BACKEND_CUDA).impls, 0);
	plug("card0");
	plug("card1");
	info = of_backend(backend);
	CHECK_STR(info.name, "edu");
	CHECK_STR(info.own_name, "PrivateUse1");
	CHECK_INT(info.is_bound, 1);
	CHECK_INT(info.is_alone, 0);
	CHECK_INT(info.providers, 1);
	CHECK_INT(info.devices, 2);
	CHECK_INT(info.impls, 2);
	CHECK_OK(dk_backend_set_online(t_reg, backend, 0, &t_why));
	CHECK_INT(of_backend(backend).is_online, 0);
}

static void exclusive_backend(void)
{
	unsigned int alone = 0;

	CHECK_OK(dk_backend_join(&cpu, "mine", 0, DK_JOIN_ALONE, &alone, &t_why));
	CHECK_INT(of_backend(alone).is_alone, 1);
	t_unregister(&cpu);
	CHECK_INT(of_backend(alone).is_alone, 0);
	CHECK_INT(of_backend(alone).is_bound, 1);
	CHECK_INT(of_backend(alone).providers, 0);
	t_join(&cpu, "cpu");
}

static void device_information(void)
{
	struct dk_device_info info;
	u32 card;

	card = plug("card0");
	info = of_device(card);
	CHECK_STR(info.name, "card0");
	CHECK_STR(info.provider, "edu-driver");
	CHECK_STR(info.backend_name, "edu");
	CHECK_INT(info.backend, backend);
	CHECK_INT(info.impls, 1);
	CHECK_INT(info.is_online && info.backend_online, 1);
	CHECK_OK(dk_device_set_online(t_reg, card, 0, &t_why));
	CHECK_INT(of_device(card).is_online, 0);
	CHECK_OK(dk_backend_set_online(t_reg, backend, 0, &t_why));
	CHECK_INT(of_device(card).backend_online, 0);
}

/* A walk over devices continues while one is unregistered and another one is registered. */
static void walk_devices(void)
{
	struct dk_device_info info = { .size = sizeof(info) };
	u32 first, second, third;

	/* refuses: dk_registry_next_device ENOENT NOT_THERE */
	CHECK_INT(dk_registry_next_device(t_reg, 0, &info), -ENOENT);
	first = plug("card0");
	second = plug("card1");
	third = plug("card2");
	CHECK_OK(dk_registry_next_device(t_reg, 0, &info));
	CHECK_INT(info.number, first);
	CHECK_OK(dk_registry_next_device(t_reg, first, &info));
	CHECK_INT(info.number, second);
	CHECK_OK(dk_device_unregister(&edu, second, &t_why));
	first = plug("card3");	/* gets card1's slot in the map of devices */
	CHECK_OK(dk_registry_next_device(t_reg, second, &info));
	CHECK_INT(info.number, third);
	CHECK_INT(dk_registry_next_device(t_reg, third, &info), -ENOENT);
	/* refuses: dk_registry_device ENODEV NO_DEVICE */
	CHECK_INT(dk_registry_device(t_reg, second, &info), -ENODEV);
	CHECK_STR(of_device(first).name, "card3");
}

static void walk_providers(void)
{
	struct dk_impl fallback = t_fallthrough(NULL, DK_AUTOGRAD);
	struct dk_provider_info info = { .size = sizeof(info) };

	CHECK_OK(dk_op_define(&cpu, &enumerated_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&cpu, on_cpu, 2, &t_why));
	/* one function, at the autograd keys of all backends */
	CHECK_OK(dk_fallback_register(&cpu, &fallback, &t_why));
	plug("card0");
	info = of_provider(0);
	CHECK_STR(info.name, "cpu");
	CHECK_INT(info.operators, 1);
	CHECK_INT(info.impls, 3);
	CHECK_INT(info.devices, 0);
	CHECK_INT(info.is_unregistering, 0);
	CHECK_INT(info.backends.bits, 0);
	CHECK_STR(info.module, T_KERNEL ? "dk_api_test" : "");
	info = of_provider(1);
	CHECK_STR(info.name, "edu-driver");
	CHECK_INT(info.impls, 1);
	CHECK_INT(info.devices, 1);
	CHECK_INT(info.backends.bits, DK_BACKEND_BIT(backend));
	/* refuses: dk_registry_next_provider ENOENT NOT_THERE */
	CHECK_INT(dk_registry_next_provider(t_reg, info.number, &info), -ENOENT);
	t_unregister(&cpu);
	CHECK_STR(of_provider(0).name, "edu-driver");
	t_join(&cpu, "cpu");
	CHECK_STR(of_provider(1).name, "cpu");
}

/* Returns limit number @i, and checks its name. */
static struct dk_limit limit(unsigned int i, const char *name)
{
	struct dk_limit l = { .size = sizeof(l) };

	CHECK_OK(dk_registry_limit(t_reg, i, &l));
	CHECK_STR(l.name, name);
	return l;
}

static void limits(void)
{
	struct dk_limit l = { .size = sizeof(l) };

	plug("card0");
	CHECK_INT(limit(0, "private-backends").most, 3);
	CHECK_INT(limit(0, "private-backends").used, 1);
	CHECK_INT(limit(1, "devices").most, 4095);
	CHECK_INT(limit(1, "devices").used, 1);
	CHECK_INT(limit(3, "name-length").most, DK_NAME_MAX - 1);
	CHECK_INT(limit(3, "name-length").has_used, 0);
	CHECK_INT(limit(2, "arguments").most, 64);
	/* refuses: dk_registry_limit ENOENT NOT_THERE */
	CHECK_INT(dk_registry_limit(t_reg, 4, &l), -ENOENT);
}

#define ENDS_WITH(type, member)						\
	CHECK_INT(offsetof(type, member) + sizeof(((type *)NULL)->member), sizeof(type))

/* A member that a later version adds must change the size, so no struct ends with padding. */
static void no_padding_at_end(void)
{
	ENDS_WITH(struct dk_backend_info, own_name);
	ENDS_WITH(struct dk_counts, generation);
	ENDS_WITH(struct dk_device_info, backend_name);
	ENDS_WITH(struct dk_diag, name);
	ENDS_WITH(struct dk_entry, device_name);
	ENDS_WITH(struct dk_event, reserved);
	ENDS_WITH(struct dk_explain, route);
	ENDS_WITH(struct dk_hook_info, reserved);
	ENDS_WITH(struct dk_impl_info, device_name);
	ENDS_WITH(struct dk_inside, thread_name);
	ENDS_WITH(struct dk_limit, used);
	ENDS_WITH(struct dk_op_info, definer);
	ENDS_WITH(struct dk_provider_info, module);
	ENDS_WITH(struct dk_route, entry);
	ENDS_WITH(struct dk_stat, device_name);
	ENDS_WITH(struct dk_stats, gone);
	ENDS_WITH(struct dk_step, device_name);
}

static void sizes_and_numbers(void)
{
	struct dk_counts c = { .size = 1 };
	struct dk_backend_info b = { .size = 1 };
	struct dk_device_info d = { .size = 1 };
	struct dk_provider_info p = { .size = 1 };
	struct dk_limit l = { .size = 1 };

	/* refuses: dk_registry_counts EINVAL BAD_SIZE */
	CHECK_INT(dk_registry_counts(t_reg, &c), -EINVAL);
	/* refuses: dk_registry_backend EINVAL BAD_SIZE */
	CHECK_INT(dk_registry_backend(t_reg, 1, &b), -EINVAL);
	/* refuses: dk_registry_device EINVAL BAD_SIZE */
	CHECK_INT(dk_registry_device(t_reg, 1, &d), -EINVAL);
	/* refuses: dk_registry_next_device EINVAL BAD_SIZE */
	CHECK_INT(dk_registry_next_device(t_reg, 0, &d), -EINVAL);
	/* refuses: dk_registry_next_provider EINVAL BAD_SIZE */
	CHECK_INT(dk_registry_next_provider(t_reg, 0, &p), -EINVAL);
	/* refuses: dk_registry_limit EINVAL BAD_SIZE */
	CHECK_INT(dk_registry_limit(t_reg, 0, &l), -EINVAL);
	b.size = sizeof(b);
	/* refuses: dk_registry_backend ENOENT NO_BACKEND */
	CHECK_INT(dk_registry_backend(t_reg, 0, &b), -ENOENT);
	CHECK_INT(dk_registry_backend(t_reg, DK_NUM_BACKENDS + 1, &b), -ENOENT);
}

T_SUITE_WITH(enumeration, setup,
	T(everything_is_counted),
	T(refused_registrations_are_not_counted),
	T(backend_information),
	T(exclusive_backend),
	T(device_information),
	T(walk_devices),
	T(walk_providers),
	T(limits),
	T(no_padding_at_end),
	T(sizes_and_numbers));
