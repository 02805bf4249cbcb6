// SPDX-License-Identifier: GPL-2.0-only
/*
 * Private backends: providers join them by name, alone or with others, and a name stays bound
 * until it is released.
 */
#include "test.h"

static struct dk_provider edu, other;

static void setup(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&edu, "edu-driver");
}

/* A name stays bound after its provider has left. Only an unused name can be released. */
static void name_stays_bound_after_unregister(void)
{
	static const char *const names[] = { "alpha", "beta", "gamma" };
	static struct dk_provider third, fourth;
	struct dk_obj card;
	unsigned int b, i;

	setup();
	CHECK_OK(dk_backend_join(&edu, "edu", 0, 0, NULL, &t_why));
	CHECK_OK(dk_backend_find(t_reg, "edu", NULL, &t_why));
	CHECK_OK(dk_backend_find(t_reg, "edu", &b, &t_why));
	CHECK_INT(b, DK_BACKEND_PRIVATEUSE1);
	CHECK_OK(dk_device_register(&edu, b, "card", NULL, NULL, 0, NULL, &t_why));
	CHECK_OK(dk_device_find(t_reg, "card", &card, &t_why));
	CHECK_INT(dk_backend_release(t_reg, "edu", &t_why), -EBUSY);
	t_join(&third, "third");
	for (i = 0; i < 2; i++)
		CHECK_OK(dk_backend_join(&third, names[i], 0, 0, &b, &t_why));
	CHECK_INT(b, DK_BACKEND_PRIVATEUSE3);
	CHECK_INT(dk_backend_join(&third, names[2], 0, 0, &b, &t_why), -ENOSPC);
	CHECK_INT(t_why.reason, DK_WHY_BACKENDS_TAKEN);
	CHECK_STR(t_why.name, "edu, alpha, beta");
	t_unregister(&third);
	t_join(&fourth, "fourth");
	CHECK_INT(dk_backend_join(&fourth, names[2], 0, 0, &b, &t_why), -ENOSPC);
	CHECK_OK(dk_backend_release(t_reg, "Alpha", &t_why));
	CHECK_OK(dk_backend_join(&fourth, names[2], 0, 0, &b, &t_why));
	CHECK_INT(b, DK_BACKEND_PRIVATEUSE2);
	CHECK_OK(dk_backend_find(t_reg, "GAMMA", &b, &t_why));
	CHECK_INT(b, DK_BACKEND_PRIVATEUSE2);
	CHECK_OK(dk_backend_find(t_reg, "PrivateUse2", &b, &t_why));
	CHECK_INT(b, DK_BACKEND_PRIVATEUSE2);
	CHECK_OK(dk_backend_find(t_reg, "cuda", &b, &t_why));
	CHECK_INT(b, DK_BACKEND_CUDA);
	CHECK_INT(dk_backend_find(t_reg, "alpha", &b, &t_why), -ENOENT);
	CHECK_INT(dk_backend_find(t_reg, NULL, &b, &t_why), -ENOENT);
}

static void exclusive_and_numbered_backends(void)
{
	unsigned int got;

	setup();
	t_join(&other, "other");
	CHECK_OK(dk_backend_join(&edu, "mine", DK_BACKEND_PRIVATEUSE3, DK_JOIN_ALONE,
				 &got, &t_why));
	CHECK_INT(got, DK_BACKEND_PRIVATEUSE3);
	CHECK_INT(dk_backend_join(&other, "mine", 0, 0, &got, &t_why), -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_BACKEND_OWNED);
	CHECK_STR(t_why.name, "edu-driver");
	CHECK_OK(dk_backend_join(&other, "ours", 0, 0, &got, &t_why));
	CHECK_INT(got, DK_BACKEND_PRIVATEUSE1);
	CHECK_OK(dk_backend_join(&edu, "ours", 0, 0, &got, &t_why));
	CHECK_INT(dk_backend_join(&edu, "ours", 0, DK_JOIN_ALONE, &got, &t_why),
		  -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_BACKEND_SHARED);
	CHECK_INT(dk_backend_join(&other, "ours", DK_BACKEND_PRIVATEUSE2, 0, &got,
				  &t_why), -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_BACKEND_PINNED);
	/* "mine" stays bound to its backend after its only provider has left */
	t_unregister(&edu);
	CHECK_OK(dk_backend_join(&other, "mine", 0, DK_JOIN_ALONE, &got, &t_why));
	CHECK_INT(got, DK_BACKEND_PRIVATEUSE3);
	CHECK_OK(dk_backend_join(&other, "ours", 0, DK_JOIN_ALONE, &got, &t_why));
	t_unregister(&other);
	CHECK_OK(dk_backend_release(t_reg, "mine", &t_why));
	CHECK_INT(dk_backend_release(t_reg, "mine", &t_why), -ENOENT);
}

/*
 * The only provider that joined the backend is unregistered. The device belongs to a provider that
 * never joined the backend.
 */
static void device_keeps_the_name_of_its_backend(void)
{
	unsigned int backend, b;
	u32 device;

	setup();
	CHECK_OK(dk_backend_join(&edu, "edu", 0, 0, &backend, &t_why));
	t_join(&other, "driver");
	CHECK_OK(dk_device_register(&other, backend, "d", NULL, NULL, 0, &device, &t_why));
	t_unregister(&edu);
	CHECK_INT(dk_backend_release(t_reg, "edu", &t_why), -EBUSY);
	CHECK_INT(t_why.reason, DK_WHY_BACKEND_USED);
	CHECK_OK(dk_backend_find(t_reg, "edu", &b, &t_why));
	CHECK_INT(b, backend);
	CHECK_OK(dk_device_unregister(&other, device, &t_why));
	CHECK_OK(dk_backend_release(t_reg, "edu", &t_why));
	CHECK_INT(dk_backend_find(t_reg, "edu", &b, &t_why), -ENOENT);
}

/* A backend's name must not be one that a parser already gives another meaning. */
static void names_of_keys_are_refused(void)
{
	static const char *const names[] = {
		"Autograd", "Sparse", "Dense", "CPUBit",
		"AutogradCPU", "Undefined", "CompositeImplicitAutograd", "Tracer",
		"PrivateUse1", "Autocast", "DefaultBackend",
		/* other names that only parsers know, and bits */
		"autocast", "catchall", "CPUTENSORID", "cpubit", "InvalidBIT",
	};
	/* the names in another case, and the ends of names of keys */
	static const char *const others[][2] = {
		{ "cpu", "CPU" }, { "fake", "Fake" }, { "autograd", "Autograd" },
		{ "Other", "AutogradOther" }, { "functionality", "AutogradFunctionality" },
	};
	unsigned int i, backend = 0, key = 0;

	setup();
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK_INT(dk_backend_join(&edu, names[i], 0, 0, &backend, &t_why),
			  -EINVAL);
		CHECK_INT(t_why.reason, DK_WHY_NAME_TAKEN);
		CHECK_STR(t_why.name, names[i]);
		CHECK_INT(backend, 0);
	}
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		CHECK_INT(dk_backend_join(&edu, others[i][0], 0, 0, &backend, &t_why), -EINVAL);
		CHECK_INT(t_why.reason, DK_WHY_NAME_TAKEN);
		CHECK_STR(t_why.name, others[i][1]);
	}
	CHECK_OK(dk_backend_join(&edu, "Sparse2", 0, 0, &backend, &t_why));
	CHECK_OK(dk_registry_key_parse(t_reg, "Autograd", &key, &t_why));
	CHECK_INT(key, DK_AUTOGRAD);
	CHECK_OK(dk_registry_key_parse(t_reg, "Sparse", &key, &t_why));
	CHECK_INT(key, DK_SPARSE);
}

/* A name is refused if it would give a key of its backend the name of another backend's key. */
static void keys_of_two_backends_have_different_names(void)
{
	static const struct {
		const char *first, *second, *taken;
		unsigned int pin;	/* of the first name */
	} names[] = {
		{ "acme", "AutogradACME", "Autogradacme", 0 },
		{ "SparseAcme", "acme", "SparseAcme", 0 },
		{ "x", "CsrX", "SparseCsrx", 0 },
		/* of the private backends, only PrivateUse1 has an Autocast key */
		{ "AutocastAcme", "acme", "AutocastAcme", DK_BACKEND_PRIVATEUSE2 },
	};
	unsigned int i, backend, got, key = 0;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		setup();
		CHECK_OK(dk_backend_join(&edu, names[i].first, names[i].pin, 0, &backend,
					 &t_why));
		t_join(&other, "driver");
		CHECK_INT(dk_backend_join(&other, names[i].second, 0, 0, &got, &t_why), -EINVAL);
		CHECK_INT(t_why.reason, DK_WHY_NAME_TAKEN);
		CHECK_STR(t_why.name, names[i].taken);
		/* the first name is still accepted, and its keys are found */
		CHECK_OK(dk_backend_join(&other, names[i].first, 0, 0, &got, &t_why));
		CHECK_INT(got, backend);
		CHECK_OK(dk_registry_key_parse(t_reg, names[i].first, &key, &t_why));
		CHECK_INT(dk_registry_key_parse(t_reg, NULL, &got, &t_why), -EINVAL);
		CHECK_INT(key, dk_runtime_key(NULL, DK_DENSE, backend));
		t_close();
	}
}

/* An object has backend 0 if dk_backend_join() failed and did not set the backend's number. */
static void object_on_no_backend_has_no_keys(void)
{
	static const unsigned int none[] = { 0, DK_NUM_BACKENDS + 1, DK_CPU, ~0u };
	struct dk_obj x;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(none); i++) {
		x = dk_obj_on(none[i], 7);
		CHECK_INT(x.ks.bits, 0);
		CHECK_INT(x.device, 7);
	}
	for (i = 1; i <= DK_NUM_BACKENDS; i++)
		CHECK_INT(dk_obj_on(i, 0).ks.bits,
			  DK_FUNCTIONALITY_BIT(DK_DENSE) | 1ull << (i - 1));
}

T_SUITE(backends,
	T(object_on_no_backend_has_no_keys),
	T(name_stays_bound_after_unregister),
	T(exclusive_and_numbered_backends),
	T(device_keeps_the_name_of_its_backend),
	T(names_of_keys_are_refused),
	T(keys_of_two_backends_have_different_names));
