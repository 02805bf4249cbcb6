// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests waits for calls when a device or a backend is taken offline, and events that end such a
 * wait. No result depends on how long something takes. full_registry.h explains the comments
 * "refuses:".
 */
#include "visit.h"

static void offline_waits(u32 device)
{
	const struct dk_obj x = dk_obj_on(v_backend, v_card);
	struct switcher s = { .device = device };
	struct v_caller v;

	if (!v_switch_off_during_call(&v, x, &s))
		return;
	CHECK(!w_load_acquire(s.is_off));
	v_release(&v);
	w_join(&s.thread);
	CHECK_OK(s.err);
	CHECK_INT(v_served(v_stay, x), V_BASE);
	t_close();
}

static void device_offline_waits(void)
{
	v_open();
	offline_waits(v_card);
}

static void backend_offline_waits(void)
{
	v_open();
	offline_waits(0);
}

/* Returns 20 if t_why.name is "visit::stay stay_guest@card dk_caller[417] 20 ms". */
static unsigned long reported_ms(void)
{
	const char *at = strrchr(t_why.name, ']');
	unsigned long ms = 0;

	for (at = at ? at + 2 : ""; *at >= '0' && *at <= '9'; at++)
		ms = 10 * ms + *at - '0';
	return ms;
}

static int switch_until(u32 device, int online, unsigned int ms)
{
	return device ? dk_device_set_online_timeout(t_reg, device, online, ms, &t_why) :
			dk_backend_set_online_timeout(t_reg, v_backend, online, ms, &t_why);
}

static bool is_online(u32 device)
{
	struct dk_device_info info = { .size = sizeof(info) };

	CHECK_OK(dk_registry_device(t_reg, device, &info));
	return info.is_online;
}

/*
 * The device or backend is offline at once. A repeated request continues to wait for the calls that
 * were inside. Calls on other backends are neither waited for nor named.
 */
static void offline_times_out(u32 device)
{
	const struct dk_obj x = dk_obj_on(v_backend, v_card);
	struct v_caller v, other, elsewhere;

	if (!v_enter(&v, x, false) || !v_enter(&other, x, false) ||
	    !v_enter(&elsewhere, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	/* refuses: dk_device_set_online_timeout ETIMEDOUT STILL_INSIDE */
	/* refuses: dk_backend_set_online_timeout ETIMEDOUT STILL_INSIDE */
	CHECK_INT(switch_until(device, 0, 0), -ETIMEDOUT);
	CHECK_INT(t_why.reason, DK_WHY_STILL_INSIDE);
	CHECK_INT(v_served(v_stay, x), V_BASE);
	v_release(&other);
	CHECK_INT(switch_until(device, 0, 20), -ETIMEDOUT);
	CHECK(v_why_begins("visit::stay stay_guest@card "));
	/* a repeated request does not reset the time in the message */
	w_sleep_us(50000);
	CHECK_INT(switch_until(device, 0, 0), -ETIMEDOUT);
	CHECK(reported_ms() >= 40);
	v_release(&v);
	CHECK_OK(switch_until(device, 0, V_LONG_MS));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	CHECK_OK(switch_until(device, 0, 0));
	CHECK_INT(v_served(v_stay, x), V_BASE);
	CHECK_OK(switch_until(device, 1, 0));
	CHECK_INT(v_served(v_stay, x), V_GUEST);
	v_release(&elsewhere);
	t_close();
}

static void device_offline_times_out(void)
{
	v_open();
	offline_times_out(v_card);
}

static void backend_offline_times_out(void)
{
	v_open();
	offline_times_out(0);
}

/*
 * A wait ends if the device or backend comes online, even if it is offline again before the waiter
 * checks. A later wait also covers calls that were entered while it was online.
 */
static void online_then_offline_cancels_wait(u32 device)
{
	const struct dk_obj x = dk_obj_on(v_backend, v_card);
	struct switcher s = { .device = device };
	struct v_caller old, younger;

	if (!v_switch_off_during_call(&old, x, &s))
		return;
	CHECK_OK(switch_until(device, 1, 0));
	if (!v_enter(&younger, x, false))
		return;
	CHECK_INT(switch_until(device, 0, 0), -ETIMEDOUT);
	w_join(&s.thread);
	CHECK_INT(s.err, -ECANCELED);
	CHECK_INT(switch_until(device, 0, 0), -ETIMEDOUT);
	v_release(&old);
	CHECK_INT(switch_until(device, 0, 0), -ETIMEDOUT);
	v_release(&younger);
	CHECK_OK(switch_until(device, 0, V_LONG_MS));
	t_close();
}

static void device_online_then_offline_cancels_wait(void)
{
	v_open();
	online_then_offline_cancels_wait(v_card);
}

static void backend_online_then_offline_cancels_wait(void)
{
	v_open();
	online_then_offline_cancels_wait(0);
}

/* A wait ends when the device or backend comes online again, even if a call is still inside. */
static void online_cancels_wait(u32 device)
{
	const struct dk_obj x = dk_obj_on(v_backend, v_card);
	struct switcher s = { .device = device };
	struct v_caller v;

	if (!v_switch_off_during_call(&v, x, &s))
		return;
	if (device)
		CHECK_OK(dk_device_set_online(t_reg, device, 1, &t_why));
	else
		CHECK_OK(dk_backend_set_online(t_reg, v_backend, 1, &t_why));
	w_join(&s.thread);
	/* refuses: dk_device_set_online ECANCELED CANCELED */
	/* refuses: dk_backend_set_online ECANCELED CANCELED */
	CHECK_INT(s.err, -ECANCELED);
	CHECK_INT(s.why.reason, DK_WHY_CANCELED);
	CHECK_STR(s.why.name, device ? "card" : "edu");
	CHECK_INT(v_served(v_stay, x), V_GUEST);
	v_release(&v);
	t_close();
}

/*
 * A thread waits for a call while its device goes offline. The device comes online, which cancels
 * the wait, and is unregistered at once. The wait must return -ECANCELED while the call is still
 * inside, even if the thread wakes up only after the unregistration.
 */
static void unregister_keeps_wait_canceled(void)
{
	struct switcher s = { .device = 0 };
	struct v_caller v;

	v_open();
	s.device = v_card;
	if (!v_switch_off_during_call(&v, dk_obj_on(v_backend, v_card), &s))
		return;
	CHECK_OK(dk_device_set_online(t_reg, v_card, 1, &t_why));
	CHECK_INT(dk_provider_unregister_timeout(&v_guest, 0, &t_why), -ETIMEDOUT);
	w_join(&s.thread);
	CHECK_INT(s.err, -ECANCELED);
	CHECK_INT(s.why.reason, DK_WHY_CANCELED);
	CHECK_STR(s.why.name, "card");
	v_release(&v);
	CHECK_OK(dk_provider_unregister(&v_guest));
}

/*
 * A wait with a deadline ends when the device comes online, even if its backend stays offline. It
 * also ends when the backend comes online, even if the device stays offline.
 */
static void partly_online_cancels_wait(u32 device)
{
	const struct dk_obj x = dk_obj_on(v_backend, v_card);
	struct switcher s = { .device = device, .ms = V_LONG_MS };
	struct v_caller v;

	if (!v_enter(&v, x, false))
		return;
	CHECK_INT(switch_until(device ? 0 : v_card, 0, 0), -ETIMEDOUT);
	if (!CHECK_OK(w_start(&s.thread, "dk_switcher", v_switch_off, &s)))
		return;
	while (device ? is_online(v_card) : dk_backend_is_online(t_reg, v_backend))
		w_sleep_us(V_STEP_US);
	CHECK_OK(switch_until(device, 1, 0));
	w_join(&s.thread);
	/* refuses: dk_device_set_online_timeout ECANCELED CANCELED */
	/* refuses: dk_backend_set_online_timeout ECANCELED CANCELED */
	CHECK_INT(s.err, -ECANCELED);
	CHECK_INT(v_served(v_stay, x), V_BASE);
	v_release(&v);
	t_close();
}

static void device_online_cancels_wait_in_offline_backend(void)
{
	v_open();
	partly_online_cancels_wait(v_card);
}

static void backend_online_cancels_wait_with_offline_device(void)
{
	v_open();
	partly_online_cancels_wait(0);
}

static void device_online_cancels_wait(void)
{
	v_open();
	online_cancels_wait(v_card);
}

static void backend_online_cancels_wait(void)
{
	v_open();
	online_cancels_wait(0);
}

/*
 * A backend goes offline while an atomic call on it is inside the host. The wait must include this
 * call. Before that, unregistering the guest has begun, and its grace period has already ended.
 */
static void offline_waits_while_another_provider_unregisters(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL_ATOMIC(spin, DK_PRIVATEUSE1, spin_guest),
	};
	struct switcher s = { .device = 0 };
	struct v_caller v, spins;

	if (w_cpus() < 2) {
		t_skip("a call that spins needs a CPU of its own");
		return;
	}
	v_open();
	CHECK_OK(dk_impls_register(&v_host, impls, 1, &t_why));
	if (!v_enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	while (CHECK_INT(dk_provider_unregister_timeout(&v_guest, 50, &t_why), -ETIMEDOUT) &&
	       !v_inside_at(0).ms)
		;
	if (!v_enter(&spins, dk_obj_on(v_backend, 0), true) ||
	    !CHECK_OK(w_start(&s.thread, "dk_switcher", v_switch_off, &s)))
		return;
	/*
	 * a request that wrongly does not wait ends in this time; a slow machine cannot fail the
	 * test
	 */
	w_sleep_us(20000);
	CHECK(!w_load_acquire(s.is_off));
	v_release(&spins);
	w_join(&s.thread);
	CHECK_OK(s.err);
	v_release(&v);
	CHECK_OK(dk_provider_unregister(&v_guest));
}

/* The wait does not include the same provider's calls at keys of another backend. */
static void backend_offline_ignores_calls_of_other_backends(void)
{
	struct v_caller v;

	v_open();
	if (!v_enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	CHECK_OK(dk_backend_set_online(t_reg, v_backend, 0, &t_why));
	CHECK(!w_load_acquire(v.stay.may_return));
	v_release(&v);
}

T_SUITE(waiting_offline,
	T(device_offline_waits),
	T(backend_offline_waits),
	T(device_offline_times_out),
	T(backend_offline_times_out),
	T(device_online_then_offline_cancels_wait),
	T(backend_online_then_offline_cancels_wait),
	T(device_online_cancels_wait),
	T(backend_online_cancels_wait),
	T(unregister_keeps_wait_canceled),
	T(device_online_cancels_wait_in_offline_backend),
	T(backend_online_cancels_wait_with_offline_device),
	T(offline_waits_while_another_provider_unregisters),
	T(backend_offline_ignores_calls_of_other_backends));
