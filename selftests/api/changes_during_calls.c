// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes one kind of change at a time while threads make calls. A call must be served by a function
 * that is registered for the whole call. If the registrations change during the call, a function
 * that is registered only before or only after the change may also serve it. No other error than
 * UNSERVED may occur at any time. selftests/torture makes all kinds of changes at random.
 */
#include "test.h"

#include "../world.h"

#define CALLERS		2
#define CARDS		64
#define DRIVERS		8
#define HOST		1000
#define UNSERVED		2000	/* an error that can occur */

DK_OP(hot, "changes_during_calls::op", (struct dk_obj *x, long *served_by), (x, served_by), (x));

static struct dk_provider keeper;
static struct dk_op *op;
static u32 stop;

static int hot_priv(struct dk_call *c, struct dk_obj *x, long *served_by)
{
	*served_by = *(long *)dk_call_priv(c);
	return 0;
}

static int hot_host(struct dk_call *c, struct dk_obj *x, long *served_by)
{
	*served_by = HOST;
	return 0;
}

static const struct dk_impl host[] = {
	DK_IMPL(hot, DK_COMPOSITE_EXPLICIT_AUTOGRAD, hot_host),
};

static const struct dk_impl card[] = { DK_IMPL(hot, DK_DENSE, hot_priv) };

/*
 * An object, and the number of the function that must serve it. @changes is incremented before a
 * change begins and after it ends. If a caller reads the same even number before and after its
 * call, function @served_by must have served the call.
 */
struct expected_result {
	struct dk_obj x;
	u32 changes;		/* odd while a change is in progress */
	long served_by;
};

static struct expected_result expected[CARDS];
static unsigned int num_expected;

static void begin_change(struct expected_result *a, long to)
{
	w_store_release(a->changes, a->changes + 1);
	w_fence();	/* a caller that reads the old number made its call before the change */
	w_store(a->served_by, to);
}

static void end_change(struct expected_result *a)
{
	w_fence();	/* the change is complete before its end is announced */
	w_store_release(a->changes, a->changes + 1);
}

static struct caller {
	struct w_thread thread;
	u64 state;
	u64 calls, compared, wrong;
	long got, wanted;	/* of the last wrong call */
} callers[CALLERS];

static long call(const struct expected_result *a)
{
	struct dk_obj x = a->x;
	long served_by = -1;
	int err = hot_at(op, &dk_local_default, &x, &served_by);

	if (err == -ENOENT || err == (x.device ? -ENODEV : -ENOSYS))
		return UNSERVED;
	return err ? err : served_by;
}

static void call_all_the_time(void *data)
{
	struct caller *me = data;

	while (!w_load(stop)) {
		struct expected_result *a = &expected[w_one_of(&me->state, num_expected)];
		u32 changes = w_load_acquire(a->changes);
		long wanted = w_load(a->served_by), got = call(a);

		me->calls++;
		w_fence();	/* the call has returned before the number is read again */
		if (!(changes & 1) && changes == w_load(a->changes))
			w_store(me->compared, me->compared + 1);
		else if (got >= 0)
			wanted = got;
		if (got != wanted) {
			me->wrong++;
			me->got = got;
			me->wanted = wanted;
		}
		w_pause();
	}
}

static void start_callers(void)
{
	unsigned int i;

	stop = 0;
	memset(callers, 0, sizeof(callers));
	for (i = 0; i < CALLERS; i++) {
		callers[i].state = i;
		CHECK_OK(w_start(&callers[i].thread, "dk_hot", call_all_the_time,
				 &callers[i]));
	}
}

/* Sleeps long enough for some calls. Sleeps longer in the kernel, for slow emulated machines. */
static void wait_for_calls(void)
{
	w_sleep_us(T_KERNEL ? 2000 : 300);
}

static void stop_callers(void)
{
	unsigned int i;

	/* no more changes are made, so threads that have not run yet can compare a call now */
	for (i = 0; i < CALLERS; i++)
		while (!w_load(callers[i].compared))
			wait_for_calls();
	w_store(stop, 1);
	for (i = 0; i < CALLERS; i++) {
		w_join(&callers[i].thread);
		if (!CHECK_INT(callers[i].wrong, 0))
			t_note("served by %ld, expected %ld", callers[i].got, callers[i].wanted);
	}
	t_note("%llu calls, %llu of them between two changes",
	       (unsigned long long)(callers[0].calls + callers[1].calls),
	       (unsigned long long)(callers[0].compared + callers[1].compared));
}

static void setup(unsigned int n, bool with_host)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&keeper, "keeper");
	CHECK_OK(dk_op_define(&keeper, &hot_op, 0, &t_why));
	if (with_host)
		CHECK_OK(dk_impls_register(&keeper, host, 1, &t_why));
	op = t_get("changes_during_calls::op");
	memset(expected, 0, sizeof(expected));
	num_expected = n;
}

/* ---- 64 cards of 8 drivers ------------------------------------------------- */

static struct driver {
	struct dk_provider prov;
	unsigned int backend;
} drivers[DRIVERS];
static long *numbers[CARDS];	/* one for each card, freed when the card is unplugged */

static void plug(unsigned int i)
{
	struct driver *d = &drivers[i % DRIVERS];
	char name[16];
	u32 device = 0;

	numbers[i] = t_alloc(sizeof(long));
	*numbers[i] = i;
	snprintf(name, sizeof(name), "card%u", i);
	CHECK_OK(dk_device_register(&d->prov, d->backend, name, numbers[i], card, 1,
				    &device, &t_why));
	expected[i].x = dk_obj_on(d->backend, device);
	expected[i].served_by = i;
}

static void unplug(unsigned int i)
{
	struct driver *d = &drivers[i % DRIVERS];

	begin_change(&expected[i], HOST);
	CHECK_OK(dk_device_unregister(&d->prov, expected[i].x.device, &t_why));
	end_change(&expected[i]);
	*numbers[i] = -i - 1;
	t_free(numbers[i]);
	numbers[i] = NULL;
}

static void check_each_card(void)
{
	unsigned int i;

	for (i = 0; i < CARDS; i++)
		if (!CHECK_INT(call(&expected[i]), expected[i].served_by))
			break;
}

/* The cards are unplugged one by one in random order; the last ones with their drivers. */
static void cards_of_eight_drivers(void)
{
	unsigned int order[CARDS], i, k, n;
	u64 state = 64;

	setup(CARDS, true);
	for (i = 0; i < DRIVERS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "driver%u", i);
		t_join(&drivers[i].prov, name);
		CHECK_OK(dk_backend_join(&drivers[i].prov, "hot", 0, 0,
					 &drivers[i].backend, &t_why));
	}
	for (i = 0; i < CARDS; i++) {
		plug(i);
		order[i] = i;
	}
	for (i = CARDS - 1; i; i--) {
		k = w_one_of(&state, i + 1);
		n = order[i];
		order[i] = order[k];
		order[k] = n;
	}
	check_each_card();
	start_callers();
	for (i = 0; i < CARDS - 12; i++) {
		wait_for_calls();
		unplug(order[i]);
		check_each_card();
	}
	/* unregistering a driver unregisters its remaining cards */
	for (k = 0; k < DRIVERS; k++) {
		for (i = k; i < CARDS; i += DRIVERS)
			if (numbers[i])
				begin_change(&expected[i], HOST);
		t_unregister(&drivers[k].prov);
		for (i = k; i < CARDS; i += DRIVERS) {
			if (!numbers[i])
				continue;
			end_change(&expected[i]);
			t_free(numbers[i]);
			numbers[i] = NULL;
		}
		check_each_card();
	}
	stop_callers();
	CHECK_OK(dk_registry_check(t_reg, &t_why));
}

/* ---- definitions, functions, fallbacks, backends ---------------------------- */

/* Fewer in the kernel, because an emulated machine is slow. */
#define ROUNDS		(!T_KERNEL ? 60 : t_most > 1 ? 20 : 5)

/* Makes a change and reverses it, repeatedly. Between the two, calls return @to. */
static void change_and_reverse(long to, void (*change)(void), void (*reverse)(void))
{
	const long from = expected[0].served_by;
	unsigned int i;

	start_callers();
	for (i = 0; i < ROUNDS; i++) {
		begin_change(&expected[0], to);
		change();
		end_change(&expected[0]);
		CHECK_INT(call(&expected[0]), to);
		wait_for_calls();
		begin_change(&expected[0], from);
		reverse();
		end_change(&expected[0]);
		CHECK_INT(call(&expected[0]), from);
		wait_for_calls();
	}
	stop_callers();
}

static void undefine(void)
{
	CHECK_OK(dk_op_undefine(&keeper, "changes_during_calls::op", &t_why));
}

static void define(void)
{
	CHECK_OK(dk_op_define(&keeper, &hot_op, 0, &t_why));
}

static void definitions(void)
{
	setup(1, true);
	expected[0].x = dk_obj_on(DK_BACKEND_CPU, 0);
	expected[0].served_by = HOST;
	change_and_reverse(UNSERVED, undefine, define);
}

static struct dk_provider guest;
static long guest_number = 7;
static const struct dk_impl on_cpu[] = { DK_IMPL(hot, DK_CPU, hot_priv) };

static void register_functions(void)
{
	CHECK_OK(dk_impls_register(&guest, on_cpu, 1, &t_why));
}

static void unregister_functions(void)
{
	CHECK_OK(dk_impls_unregister(&guest, on_cpu, &t_why));
}

static void register_guest(void)
{
	static const struct dk_provider fresh = DK_PROVIDER("guest");

	guest = fresh;
	guest.registry = t_reg;
	guest.priv = &guest_number;
	CHECK_OK(dk_provider_register(&guest, &t_why));
}

static void functions(void)
{
	setup(1, true);
	register_guest();
	expected[0].x = dk_obj_on(DK_BACKEND_CPU, 0);
	expected[0].served_by = HOST;
	change_and_reverse(7, register_functions, unregister_functions);
	t_unregister(&guest);
}

static int fallback_here(struct dk_call *c, void *args)
{
	*((struct hot_args *)args)->served_by = *(long *)dk_call_priv(c);
	return 0;
}

static const struct dk_impl fallback = DK_FALLBACK(DK_TRACER, fallback_here);

static void register_fallback(void)
{
	CHECK_OK(dk_fallback_register(&guest, &fallback, &t_why));
}

static void unregister_fallback(void)
{
	CHECK_OK(dk_impls_unregister(&guest, &fallback, &t_why));
}

static void fallbacks(void)
{
	setup(1, false);
	register_guest();
	CHECK_OK(dk_impls_register(&guest, on_cpu, 1, &t_why));
	expected[0].x = t_obj(DK_KEY_BITS(DK_TRACER));
	expected[0].served_by = UNSERVED;
	change_and_reverse(7, register_fallback, unregister_fallback);
	t_unregister(&guest);
}

static unsigned int backend;

/* A provider joins the backend, which binds its name, and registers functions for it. */
static void register_backend(void)
{
	register_guest();
	CHECK_OK(dk_backend_join(&guest, "hot", 0, 0, &backend, &t_why));
	CHECK_OK(dk_backend_impls_register(&guest, backend, card, 1, &t_why));
}

static void release_backend(void)
{
	t_unregister(&guest);
	CHECK_OK(dk_backend_release(t_reg, "hot", &t_why));
}

static void backend_offline(void)
{
	CHECK_OK(dk_backend_set_online(t_reg, backend, 0, &t_why));
}

static void backend_online(void)
{
	CHECK_OK(dk_backend_set_online(t_reg, backend, 1, &t_why));
}

static void backends(void)
{
	setup(1, true);
	expected[0].x = dk_obj_on(DK_BACKEND_PRIVATEUSE1, 0);
	expected[0].served_by = HOST;
	change_and_reverse(7, register_backend, release_backend);
	register_backend();
	CHECK_INT(backend, DK_BACKEND_PRIVATEUSE1);
	expected[0].served_by = 7;
	change_and_reverse(HOST, backend_offline, backend_online);
	release_backend();
}

/* ---- a device that is taken offline -------------------------------------------- */

static void device_offline(void)
{
	CHECK_OK(dk_device_set_online(t_reg, expected[0].x.device, 0, &t_why));
}

static void device_online(void)
{
	CHECK_OK(dk_device_set_online(t_reg, expected[0].x.device, 1, &t_why));
}

static void take_device_offline(long instead)
{
	u32 device = 0;

	setup(1, instead == HOST);
	register_guest();
	CHECK_OK(dk_backend_join(&guest, "hot", 0, 0, &backend, &t_why));
	CHECK_OK(dk_device_register(&guest, backend, "card", &guest_number, card, 1,
				    &device, &t_why));
	expected[0].x = dk_obj_on(backend, device);
	expected[0].served_by = 7;
	change_and_reverse(instead, device_offline, device_online);
	t_unregister(&guest);
}

static void devices_offline(void)
{
	take_device_offline(HOST);
}

static void devices_offline_without_host(void)
{
	take_device_offline(UNSERVED);
}

T_SUITE(changes_during_calls,
	T(cards_of_eight_drivers),
	T(definitions),
	T(functions),
	T(fallbacks),
	T(backends),
	T(devices_offline),
	T(devices_offline_without_host));
