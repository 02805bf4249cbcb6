// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests what happens when an owner, a module or a plugin, is unloaded while waits for calls of its
 * functions have not ended. The tests call the functions that unloading calls.
 */
#include "bounded.h"
#include "core/change/change.h"
#include "visit.h"

/* The owner's memory is one struct or array. */
static bool owns(const void *owner, uintptr_t address)
{
	return (uintptr_t)owner == address;
}

/* Opens the registry. The guest belongs to an owner whose memory is the guest's struct. */
static void open_owned(void)
{
	v_open();
	v_guest.core->owner = &v_guest;
}

struct unloading {
	struct w_thread thread;
	const void *owner;
	bool found, done;
};

static void unload(void *data)
{
	struct unloading *u = data;

	u->found = dkc_owner_unregister(t_reg, owns, u->owner);
	w_store_release(u->done, true);
}

/* Unloads the owner while a call of the guest is running, and checks that this waits. */
static void unload_waits(const void *owner, struct v_caller *v)
{
	struct unloading u = { .owner = owner };

	CHECK_OK(w_start(&u.thread, "dk_unloader", unload, &u));
	w_sleep_us(20000);
	CHECK(!w_load_acquire(u.done));
	v_release(v);
	w_join(&u.thread);
	CHECK(u.found);
}

/* An array is withdrawn, but a call of its function is still running. */
static void array_is_withdrawn(void)
{
	struct v_caller v;

	v_open();
	if (!v_enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	CHECK_OK(dk_impls_withdraw(&v_guest, v_guest_impls, &t_why));
	unload_waits(v_guest_impls, &v);
	CHECK(!dkc_owner_unregister(t_reg, owns, v_guest_impls));
}

static void array_of_a_provider_that_is_unregistering(void)
{
	struct v_caller v;

	v_open();
	if (!v_enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	CHECK_INT(dk_provider_unregister_timeout(&v_guest, 1, &t_why), -ETIMEDOUT);
	unload_waits(v_guest_impls, &v);
	CHECK_OK(dk_provider_unregister(&v_guest));
}

/* The array belongs to one module, but a function or a label in it belongs to another. */
static void elements_of_an_array(void)
{
	const struct dk_impl *last = &v_guest_impls[V_GUEST_IMPLS - 1];
	const void *const parts[] = { (const void *)last->fn, last->label };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		v_open();
		CHECK(dkc_owner_unregister(t_reg, owns, parts[i]) == dkc_sees_unloading());
		CHECK(dkc_owner_unregister(t_reg, owns, v_guest_impls) != dkc_sees_unloading());
		t_close();
	}
}

/* Begins to unload the owner of the guest, of which a call is running. */
static void begin_unloading(struct unloading *u)
{
	u->owner = &v_guest;
	CHECK_OK(w_start(&u->thread, "dk_unloader", unload, u));
	while (!t_num_waiting(&v_guest))
		w_sleep_us(V_STEP_US);
}

static void register_again(void)
{
	CHECK_OK(dk_provider_register(&v_guest, &t_why));
	CHECK_OK(dk_impls_register(&v_guest, v_guest_impls, V_GUEST_IMPLS, &t_why));
	CHECK_INT(v_served(v_stay, dk_obj_on(DK_BACKEND_CPU, 0)), V_GUEST);
}

/*
 * The module with the provider's struct waits with a timeout. Meanwhile the provider's owner is
 * unloaded. The order in which the two begin makes no difference.
 */
static void unregister_while_unloading(bool times_out_before)
{
	struct unloading u = {};
	struct v_caller v;

	open_owned();
	if (!v_enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	if (times_out_before)
		CHECK_INT(dk_provider_unregister_timeout(&v_guest, 1, &t_why), -ETIMEDOUT);
	begin_unloading(&u);
	CHECK_INT(dk_provider_unregister_timeout(&v_guest, 1, &t_why), -ETIMEDOUT);
	CHECK(v_why_begins("visit::stay stay_guest "));
	CHECK(!w_load_acquire(u.done));
	v_release(&v);
	w_join(&u.thread);
	CHECK(u.found);
	CHECK_OK(dk_provider_unregister(&v_guest));
	register_again();
	t_close();
}

static void provider_is_unregistered_twice(void)
{
	unregister_while_unloading(true);
	unregister_while_unloading(false);
}

/* The struct of a provider stays, although unloading the owner has unregistered the provider. */
static void struct_outlives_the_provider(void)
{
	open_owned();
	CHECK(dkc_owner_unregister(t_reg, owns, &v_guest));
	CHECK_INT(dk_impls_register(&v_guest, v_guest_impls, V_GUEST_IMPLS, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_UNREGISTERED);
	CHECK_OK(dk_provider_unregister(&v_guest));
	v_guest.core = NULL;
	register_again();
}

/* A struct is at the address of a provider that was freed without unregistering it. */
static void address_of_a_forgotten_provider(void)
{
	struct dkc_provider *core;

	v_open();
	core = v_guest.core;
	v_guest.core = NULL;
	CHECK_INT(dk_impls_register(&v_guest, v_guest_impls, V_GUEST_IMPLS, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_UNREGISTERED);
	v_guest.core = core;
}

T_SUITE(owners,
	T(array_is_withdrawn),
	T(array_of_a_provider_that_is_unregistering),
	T(elements_of_an_array),
	T(provider_is_unregistered_twice),
	T(struct_outlives_the_provider),
	T(address_of_a_forgotten_provider));
