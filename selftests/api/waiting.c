// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for calls: with a deadline, to go offline. One thread is in a function
 * that returns when it is told to; nothing here depends on how long anything takes.
 */
#include "alloc.h"
#include "test.h"
#include "../world.h"

#define LONG_MS		60000	/* far more than anything here takes */
/* What waits for a call for ever fails the test: the call leaves by itself. */
#define STAY_US		((u64)LONG_MS / 2 * 1000)
#define STEP_US		200

struct stay {
	bool inside, go, too_long;
	int plain;		/* written on the way out */
};

DK_OP(stay, "waiting::stay", (struct dk_obj *x, struct stay *s, int *who),
	(x, s, who), (x));
DK_OP(spin, "waiting::spin", (struct dk_obj *x, struct stay *s, int *who),
	(x, s, who), (x));

enum { NOBODY, BASE, GUEST };

static int stay_base(struct dk_call *c, struct dk_obj *x, struct stay *s, int *who)
{
	*who = BASE;
	return 0;
}

/* Until it is to go. */
static bool stays(struct stay *s, u64 since)
{
	if (w_load_acquire(s->go))
		return false;
	if (w_now_us() - since <= STAY_US)
		return true;
	w_store(s->too_long, true);
	return false;
}

static int stay_guest(struct dk_call *c, struct dk_obj *x, struct stay *s, int *who)
{
	u64 since = w_now_us();

	*who = GUEST;
	if (!s)
		return 0;
	w_store_release(s->inside, true);
	while (stays(s, since))
		w_sleep_us(STEP_US);
	s->plain = 1;
	return 0;
}

static int stay_above(struct dk_call *c, struct dk_obj *x, struct stay *s, int *who)
{
	return stay_below(c, x, s, who);
}

static int spin_guest(struct dk_call *c, struct dk_obj *x, struct stay *s, int *who)
{
	u64 since = w_now_us();

	*who = GUEST;
	if (!s)
		return 0;
	w_store_release(s->inside, true);
	while (stays(s, since))
		w_spin_us(STEP_US / 10);
	return 0;
}

static const struct dk_impl base_impls[] = {
	DK_IMPL(stay, DK_COMPOSITE_EXPLICIT_AUTOGRAD, stay_base),
	DK_IMPL_ATOMIC(spin, DK_COMPOSITE_EXPLICIT_AUTOGRAD, stay_base),
};

static const struct dk_impl guest_impls[] = {
	DK_IMPL(stay, DK_CPU, stay_guest),
	DK_IMPL(stay, DK_AUTOGRAD_CPU, stay_above),
	DK_IMPL_ATOMIC(spin, DK_CPU, spin_guest),
};

static const struct dk_impl card_impls[] = { DK_IMPL(stay, DK_DENSE, stay_guest) };

static struct dk_provider host, guest;
static struct dk_op *stay_handle, *spin_handle;
static unsigned int backend;
static u32 card;

static void begin(void)
{
	t_open("v1", DK_REGISTRY_STOCKED);
	t_join(&host, "host");
	t_join(&guest, "guest");
	CHECK_OK(dk_op_define(&host, &stay_op, 0, &t_why));
	CHECK_OK(dk_op_define(&host, &spin_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&host, base_impls, 2, &t_why));
	CHECK_OK(dk_impls_register(&guest, guest_impls, 3, &t_why));
	CHECK_OK(dk_backend_join(&guest, "edu", 0, 0, &backend, &t_why));
	CHECK_OK(dk_device_register(&guest, backend, "card", NULL, card_impls, 1, &card,
				    &t_why));
	stay_handle = dk_op_get(t_reg, "waiting::stay");
	spin_handle = dk_op_get(t_reg, "waiting::spin");
}

static void end(void)
{
	dk_op_put(stay_handle);
	dk_op_put(spin_handle);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	t_leave(&guest);
	t_leave(&host);
	t_close();
}

/* Who serves a call that does not stay. */
static int served(struct dk_op *op, struct dk_obj x)
{
	int who = NOBODY;

	if (op == spin_handle)
		CHECK_OK(spin_at(op, &dk_local_default, &x, NULL, &who));
	else
		CHECK_OK(stay_at(op, &dk_local_default, &x, NULL, &who));
	return who;
}

/* ---- a thread that stays inside -------------------------------------------- */

struct visitor {
	struct w_thread thread;
	struct stay stay;
	struct dk_obj x;
	bool spins, has_left;
	int err;
};

static void visit(void *data)
{
	struct visitor *v = data;
	int who;

	v->err = v->spins ? spin_at(spin_handle, &dk_local_default, &v->x, &v->stay, &who) :
			    stay_at(stay_handle, &dk_local_default, &v->x, &v->stay, &who);
	w_store_release(v->has_left, true);
}

static bool enter(struct visitor *v, struct dk_obj x, bool spins)
{
	memset(v, 0, sizeof(*v));
	v->x = x;
	v->spins = spins;
	if (!CHECK_OK(w_start(&v->thread, "dk_visitor", visit, v)))
		return false;
	while (!w_load_acquire(v->stay.inside) && !w_load_acquire(v->has_left))
		w_sleep_us(STEP_US);
	return CHECK(w_load_acquire(v->stay.inside));
}

static void let_go(struct visitor *v)
{
	w_store_release(v->stay.go, true);
	w_join(&v->thread);
	CHECK_OK(v->err);
	CHECK(!v->stay.too_long);
}

/* ---- a thread that unregisters ---------------------------------------------- */

struct leaver {
	struct w_thread thread;
	struct dk_library *lib;
	struct dk_handle *handle;
	bool has_left;
	int err;
};

static void leave(void *data)
{
	struct leaver *l = data;

	l->err = dk_provider_unregister(&guest);
	w_store_release(l->has_left, true);
}

/* What is released is out already: then for the calls inside of it. */
static void release(void *data)
{
	struct leaver *l = data;

	l->err = dk_handle_release(l->lib, l->handle);
	l->err = l->err ? l->err : dk_library_unregister(l->lib);
	w_store_release(l->has_left, true);
}

/* Returns when the provider is unpublished, and its leaving may still take. */
static bool begin_to_leave(struct leaver *l)
{
	const struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);

	memset(l, 0, sizeof(*l));
	if (!CHECK_OK(w_start(&l->thread, "dk_leaver", leave, l)))
		return false;
	while (served(stay_handle, cpu) != BASE && !w_load_acquire(l->has_left))
		w_sleep_us(STEP_US);
	return CHECK_OK(dk_registry_check(t_reg, &t_why));
}

static void has_left(struct leaver *l)
{
	w_join(&l->thread);
	CHECK_OK(l->err);
	CHECK(l->has_left);
	CHECK(!guest.core);
}

/* ---- deadlines ---------------------------------------------------------------- */

static struct dk_inside inside_at(unsigned int i)
{
	struct dk_inside in = { .size = sizeof(in) };

	CHECK_OK(dk_provider_inside(&guest, i, &in));
	return in;
}

static void nobody_from(unsigned int i)
{
	struct dk_inside in = { .size = sizeof(in) };

	/* refuses: dk_provider_inside ENOENT NOT_THERE */
	CHECK_INT(dk_provider_inside(&guest, i, &in), -ENOENT);
}

/* Does the answer begin so? */
static bool told(const char *text)
{
	if (!strncmp(t_why.name, text, strlen(text)))
		return true;
	t_note("told \"%s\" and not \"%s\"", t_why.name, text);
	return false;
}

static void deadline_names_the_call(void)
{
	const struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_inside in;
	struct visitor v;
	u64 ms = 0;

	begin();
	nobody_from(0);
	if (!enter(&v, cpu, false))
		return;
	in = inside_at(0);
	CHECK_STR(in.op, "waiting::stay");
	CHECK_STR(in.label, "stay_guest");
	CHECK(in.thread && in.thread_name[0]);
	CHECK_INT(in.device, 0);
	CHECK_INT(in.ms, 0);
	nobody_from(1);
	/* refuses: dk_provider_unregister_timeout ETIMEDOUT STILL_INSIDE */
	CHECK_INT(dk_provider_unregister_timeout(&guest, 200, &t_why), -ETIMEDOUT);
	CHECK_INT(t_why.reason, DK_WHY_STILL_INSIDE);
	CHECK(told("waiting::stay stay_guest "));
	/* it is unpublished, and no longer registered; but not gone */
	CHECK_INT(served(stay_handle, cpu), BASE);
	CHECK_INT(served(stay_handle, dk_obj_on(backend, card)), BASE);
	CHECK_INT(dk_impls_register(&guest, guest_impls, 3, &t_why), -EINVAL);
	CHECK_INT(dk_provider_register(&guest, &t_why), -EEXIST);
	CHECK_INT(dk_registry_free(t_reg, &t_why), -EBUSY);
	CHECK(guest.core);
	/* once a grace period is over it is known since when */
	while (CHECK_INT(dk_provider_unregister_timeout(&guest, 50, &t_why), -ETIMEDOUT) &&
	       !(ms = inside_at(0).ms))
		;
	w_sleep_us(3000);
	CHECK(inside_at(0).ms > ms);
	let_go(&v);
	CHECK_OK(dk_provider_unregister_timeout(&guest, LONG_MS, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	CHECK(!guest.core);
	nobody_from(0);
	CHECK_OK(dk_provider_unregister_timeout(&guest, 0, &t_why));
	end();
}

static unsigned int num_allocs;

static void see_alloc(void)
{
	num_allocs++;
}

static int leave_soon(void)
{
	int err;

	num_allocs = 0;
	dk_test_at_alloc(see_alloc);
	err = dk_provider_unregister_timeout(&guest, 20, &t_why);
	dk_test_at_alloc(NULL);
	return err;
}

/* Tables that found no memory are built when the provider has left, and not before. */
static void no_table_is_built_at_a_deadline(void)
{
	struct visitor v;

	begin();
	if (!enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_INT(dk_provider_unregister_timeout(&guest, 200, &t_why), -ETIMEDOUT);
	CHECK(dk_test_fail_alloc(0));
	/* to wait for a grace period needs memory once */
	CHECK_INT(leave_soon(), -ETIMEDOUT);
	CHECK(num_allocs <= 1);
	CHECK_INT(leave_soon(), -ETIMEDOUT);
	CHECK_INT(num_allocs, 0);
	let_go(&v);
	do
		CHECK(!num_allocs);
	while (leave_soon() == -ETIMEDOUT);
	CHECK(num_allocs);
	end();
}

/* In the kernel nobody has a record of it; it keeps the grace period from ending. */
static void deadline_of_an_atomic_call(void)
{
	const struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct visitor v;

	if (w_cpus() < 2) {
		t_skip("a call that spins needs a processor of its own");
		return;
	}
	begin();
	if (!enter(&v, cpu, true))
		return;
	if (T_KERNEL)
		nobody_from(0);
	/* refuses: dk_provider_unregister_timeout ETIMEDOUT GRACE */
	CHECK_INT(dk_provider_unregister_timeout(&guest, 50, &t_why), -ETIMEDOUT);
	if (T_KERNEL) {
		CHECK_INT(t_why.reason, DK_WHY_GRACE);
		CHECK_STR(t_why.name, "guest");
	} else {
		CHECK_INT(t_why.reason, DK_WHY_STILL_INSIDE);
		CHECK(told("waiting::spin spin_guest "));
	}
	let_go(&v);
	CHECK_OK(dk_provider_unregister(&guest));
	CHECK(!guest.core);
	CHECK_INT(served(spin_handle, cpu), BASE);
	end();
}

/* What of it was a library's is waited for, too, whoever took it out. */
static void a_library_of_who_is_leaving(void)
{
	struct dk_library lib = DK_LIBRARY(&guest, IMPL, "waiting", DK_UNDEFINED);
	static struct dk_impl impl = DK_IMPL(stay, DK_CUDA, stay_guest);
	struct dk_handle handle = { NULL };
	struct visitor v;
	struct leaver l;

	begin();
	CHECK_OK(dk_library_register(&lib, &t_why));
	CHECK_OK(dk_library_impl(&lib, &impl, &handle, &t_why));
	if (!enter(&v, dk_obj_on(DK_BACKEND_CUDA, 0), false))
		return;
	CHECK_INT(dk_provider_unregister_timeout(&guest, 0, &t_why), -ETIMEDOUT);
	memset(&l, 0, sizeof(l));
	l.lib = &lib;
	l.handle = &handle;
	if (!CHECK_OK(w_start(&l.thread, "dk_leaver", release, &l)))
		return;
	/* long enough for one who does not wait; no test fails for being slow */
	w_sleep_us(20000);
	CHECK(!w_load_acquire(l.has_left));
	let_go(&v);
	has_left(&l);
	end();
}

/* Who sees that another caller has unregistered it may do as he likes, too. */
static void whoever_sees_it_gone(void)
{
	struct visitor v;
	struct leaver l;

	begin();
	if (!enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false) || !begin_to_leave(&l))
		return;
	w_store_release(v.stay.go, true);
	while (w_load(guest.core))
		w_sleep_us(STEP_US);
	CHECK_OK(dk_provider_unregister(&guest));
	/* what its function wrote: a plain read, which ThreadSanitizer looks at */
	CHECK_INT(v.stay.plain, 1);
	w_join(&v.thread);
	has_left(&l);
	end();
}

static void deadline_that_is_long_enough(void)
{
	begin();
	CHECK_OK(dk_provider_unregister_timeout(&guest, LONG_MS, &t_why));
	CHECK(!guest.core);
	t_join(&guest, "guest");
	end();
}

/* It has not returned, though it could have been asked not to wait so long. */
static void one_waits_with_a_deadline_and_one_without(void)
{
	struct visitor v;
	struct leaver l;

	begin();
	if (!enter(&v, dk_obj_on(backend, card), false) || !begin_to_leave(&l))
		return;
	CHECK_INT(inside_at(0).device, card);
	CHECK_INT(dk_provider_unregister_timeout(&guest, 20, &t_why), -ETIMEDOUT);
	CHECK(!w_load_acquire(l.has_left));
	let_go(&v);
	CHECK_OK(dk_provider_unregister_timeout(&guest, LONG_MS, &t_why));
	has_left(&l);
	end();
}

static int leave_at_once(void)
{
	return dk_provider_unregister_timeout(&guest, 0, &t_why);
}

static int cuda_offline_at_once(void)
{
	return dk_backend_set_online_timeout(t_reg, DK_BACKEND_CUDA, 0, 0, &t_why);
}

static int (*done_inside)(void);

static int stay_does(struct dk_call *c, struct dk_obj *x, struct stay *s, int *who)
{
	*who = done_inside();
	return 0;
}

static int from_inside(int (*what)(void))
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CUDA, 0);
	int err = 0;

	done_inside = what;
	CHECK_OK(stay_at(stay_handle, &dk_local_default, &x, NULL, &err));
	return err;
}

static void not_from_inside(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(stay, DK_CUDA, stay_does) };
	struct dk_inside in = { .size = 1 };

	begin();
	CHECK_OK(dk_impls_register(&guest, impls, 1, &t_why));
	CHECK_INT(from_inside(cuda_offline_at_once), -EDEADLK);
	CHECK_INT(t_why.reason, DK_WHY_INSIDE_BACKEND);
	CHECK_OK(dk_backend_set_online(t_reg, DK_BACKEND_CUDA, 1, &t_why));
	/* refuses: dk_provider_unregister_timeout EDEADLK INSIDE */
	CHECK_INT(from_inside(leave_at_once), -EDEADLK);
	CHECK_INT(t_why.reason, DK_WHY_INSIDE);
	CHECK_INT(served(stay_handle, dk_obj_on(DK_BACKEND_CPU, 0)), GUEST);
	/* refuses: dk_provider_inside EINVAL BAD_SIZE */
	CHECK_INT(dk_provider_inside(&guest, 0, &in), -EINVAL);
	end();
}

/* ---- what nobody waits for -------------------------------------------------------- */

static const struct dk_impl cuda_impls[] = { DK_IMPL(stay, DK_CUDA, stay_guest) };

/* A call inside of what stays is none to wait for. */
static void drained_beside_a_call(void)
{
	struct visitor v;

	begin();
	CHECK_OK(dk_impls_register(&guest, cuda_impls, 1, &t_why));
	if (!enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	CHECK_OK(dk_provider_drain(&guest));
	CHECK_OK(dk_impls_withdraw(&guest, cuda_impls, &t_why));
	CHECK_OK(dk_provider_drain(&guest));
	let_go(&v);
	end();
}

/* Nor is one inside of another table, for a table that is unregistered alone. */
static void unregistered_beside_a_call(void)
{
	struct visitor v;

	begin();
	CHECK_OK(dk_impls_register(&guest, cuda_impls, 1, &t_why));
	if (!enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	CHECK_OK(dk_impls_withdraw(&guest, guest_impls, &t_why));
	CHECK_OK(dk_impls_unregister(&guest, cuda_impls, &t_why));
	let_go(&v);
	CHECK_OK(dk_provider_drain(&guest));
	end();
}

/* ---- two registries ------------------------------------------------------------- */

static int stay_switches(struct dk_call *c, struct dk_obj *x, struct stay *s, int *who)
{
	*who = dk_backend_set_online(t_reg, DK_BACKEND_CPU, 0, &t_why);
	return dk_backend_set_online(t_reg, DK_BACKEND_CPU, 1, &t_why);
}

static void call_of_another_registry(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(stay, DK_CPU, stay_switches) };
	struct dk_registry *other = dk_registry_alloc(NULL, DK_REGISTRY_STOCKED, &t_why);
	struct dk_provider stranger = DK_PROVIDER("stranger");
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_op *handle;
	int err = -1;

	begin();
	stranger.registry = other;
	CHECK_OK(dk_provider_register(&stranger, &t_why));
	CHECK_OK(dk_op_define(&stranger, &stay_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&stranger, impls, 1, &t_why));
	handle = dk_op_get(other, "waiting::stay");
	CHECK_OK(stay_at(handle, &dk_local_default, &x, NULL, &err));
	CHECK_OK(err);
	dk_op_put(handle);
	CHECK_OK(dk_provider_unregister(&stranger));
	end();
	CHECK_OK(dk_registry_free(other, &t_why));
}

#define CROWD	40	/* more than a CPU has slots for */

/* Each is waited for, in whichever order they go. */
static void a_crowd_is_waited_for(void)
{
	struct visitor *v = t_alloc(CROWD * sizeof(*v));
	unsigned int n;

	begin();
	for (n = 0; n < CROWD; n++)
		if (!enter(&v[n], dk_obj_on(DK_BACKEND_CPU, 0), false))
			break;
	for (n = 0; n < CROWD; n++) {
		CHECK_INT(dk_provider_unregister_timeout(&guest, 1, &t_why), -ETIMEDOUT);
		let_go(&v[n % 2 ? CROWD - 1 - n / 2 : n / 2]);
	}
	CHECK_OK(dk_provider_unregister_timeout(&guest, LONG_MS, &t_why));
	end();
	t_free(v);
}

/* A task that is inside does not unregister, however many calls it is in. */
static void a_crowd_of_one_task_is_seen(void)
{
	struct dk_frame *c = t_alloc(2 * CROWD * sizeof(*c));
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *const objs[] = { &cpu };
	unsigned int n;

	begin();
	for (n = 0; n < 2 * CROWD; n++)
		CHECK_OK(dk_call_enter_op(&c[n], stay_handle, &stay_op, &dk_local_default,
					  objs, 1));
	/* the oldest are left first, and new ones take their place */
	for (n = 0; n < CROWD; n++) {
		dk_call_leave(&c[n]);
		CHECK_INT(dk_provider_unregister(&guest), -EDEADLK);
	}
	for (n = 0; n < CROWD; n += 2)
		CHECK_OK(dk_call_enter_op(&c[n], stay_handle, &stay_op, &dk_local_default,
					  objs, 1));
	for (n = CROWD; n < 2 * CROWD; n++)
		dk_call_leave(&c[n]);
	for (n = 0; n < CROWD; n += 2) {
		CHECK_INT(dk_provider_unregister(&guest), -EDEADLK);
		dk_call_leave(&c[n]);
	}
	CHECK_OK(dk_provider_unregister(&guest));
	end();
	t_free(c);
}

/* ---- offline, with a call inside -------------------------------------------- */

struct switcher {
	struct w_thread thread;
	struct dk_diag why;
	bool is_off;
	u32 device;
	unsigned int ms;	/* a deadline, or 0 */
	int err;
};

static void switch_off(void *data)
{
	struct switcher *s = data;

	s->why.size = sizeof(s->why);
	if (s->ms)
		s->err = s->device ?
			dk_device_set_online_timeout(t_reg, s->device, 0, s->ms, &s->why) :
			dk_backend_set_online_timeout(t_reg, backend, 0, s->ms, &s->why);
	else
		s->err = s->device ? dk_device_set_online(t_reg, s->device, 0, &s->why) :
				     dk_backend_set_online(t_reg, backend, 0, &s->why);
	w_store_release(s->is_off, true);
}

/* Returns when a call is inside, and another thread has switched off what it is of. */
static bool switch_off_beside(struct visitor *v, const struct dk_obj x, struct switcher *s)
{
	if (!enter(v, x, false) ||
	    !CHECK_OK(w_start(&s->thread, "dk_switcher", switch_off, s)))
		return false;
	while (served(stay_handle, x) != BASE && !w_load_acquire(s->is_off))
		w_sleep_us(STEP_US);
	return true;
}

static void offline_waits(u32 device)
{
	const struct dk_obj x = dk_obj_on(backend, card);
	struct switcher s = { .device = device };
	struct visitor v;

	begin();
	if (!switch_off_beside(&v, x, &s))
		return;
	CHECK(!w_load_acquire(s.is_off));
	let_go(&v);
	w_join(&s.thread);
	CHECK_OK(s.err);
	CHECK_INT(served(stay_handle, x), BASE);
	end();
}

static void device_offline_waits(void)
{
	offline_waits(card);
}

static void backend_offline_waits(void)
{
	offline_waits(0);
}

/* "waiting::stay stay_guest dk_visitor[417] 20 ms" */
static unsigned long ms_told(void)
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
			dk_backend_set_online_timeout(t_reg, backend, online, ms, &t_why);
}

static bool is_online(u32 device)
{
	struct dk_device_info info = { .size = sizeof(info) };

	CHECK_OK(dk_registry_device(t_reg, device, &info));
	return info.is_online;
}

/*
 * It is offline at once, and who asks again goes on waiting for those who were
 * inside then: a call elsewhere is neither waited for nor named.
 */
static void offline_with_a_deadline(u32 device)
{
	const struct dk_obj x = dk_obj_on(backend, card);
	struct visitor v, other, elsewhere;

	begin();
	if (!enter(&v, x, false) || !enter(&other, x, false) ||
	    !enter(&elsewhere, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	/* refuses: dk_device_set_online_timeout ETIMEDOUT STILL_INSIDE */
	/* refuses: dk_backend_set_online_timeout ETIMEDOUT STILL_INSIDE */
	CHECK_INT(switch_until(device, 0, 0), -ETIMEDOUT);
	CHECK_INT(t_why.reason, DK_WHY_STILL_INSIDE);
	CHECK_INT(served(stay_handle, x), BASE);
	let_go(&other);
	CHECK_INT(switch_until(device, 0, 20), -ETIMEDOUT);
	CHECK(told("waiting::stay stay_guest "));
	/* since when is not forgotten from one question to the next */
	w_sleep_us(50000);
	CHECK_INT(switch_until(device, 0, 0), -ETIMEDOUT);
	CHECK(ms_told() >= 40);
	let_go(&v);
	CHECK_OK(switch_until(device, 0, LONG_MS));
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	CHECK_OK(switch_until(device, 0, 0));
	CHECK_INT(served(stay_handle, x), BASE);
	CHECK_OK(switch_until(device, 1, 0));
	CHECK_INT(served(stay_handle, x), GUEST);
	let_go(&elsewhere);
	end();
}

static void device_offline_with_a_deadline(void)
{
	offline_with_a_deadline(card);
}

static void backend_offline_with_a_deadline(void)
{
	offline_with_a_deadline(0);
}

/*
 * A wait ends if it comes online, also if it is offline again before the waiter looks.
 * A later one is also for calls that were entered while it was online.
 */
static void offline_again_meanwhile(u32 device)
{
	const struct dk_obj x = dk_obj_on(backend, card);
	struct switcher s = { .device = device };
	struct visitor old, younger;

	begin();
	if (!switch_off_beside(&old, x, &s))
		return;
	CHECK_OK(switch_until(device, 1, 0));
	if (!enter(&younger, x, false))
		return;
	CHECK_INT(switch_until(device, 0, 0), -ETIMEDOUT);
	w_join(&s.thread);
	CHECK_INT(s.err, -ECANCELED);
	CHECK_INT(switch_until(device, 0, 0), -ETIMEDOUT);
	let_go(&old);
	CHECK_INT(switch_until(device, 0, 0), -ETIMEDOUT);
	let_go(&younger);
	CHECK_OK(switch_until(device, 0, LONG_MS));
	end();
}

static void device_offline_again_meanwhile(void)
{
	offline_again_meanwhile(card);
}

static void backend_offline_again_meanwhile(void)
{
	offline_again_meanwhile(0);
}

/* A wait for what is online again meanwhile is over, and no call has to leave for it. */
static void online_again_meanwhile(u32 device)
{
	const struct dk_obj x = dk_obj_on(backend, card);
	struct switcher s = { .device = device };
	struct visitor v;

	begin();
	if (!switch_off_beside(&v, x, &s))
		return;
	if (device)
		CHECK_OK(dk_device_set_online(t_reg, device, 1, &t_why));
	else
		CHECK_OK(dk_backend_set_online(t_reg, backend, 1, &t_why));
	w_join(&s.thread);
	/* refuses: dk_device_set_online ECANCELED CANCELED */
	/* refuses: dk_backend_set_online ECANCELED CANCELED */
	CHECK_INT(s.err, -ECANCELED);
	CHECK_INT(s.why.reason, DK_WHY_CANCELED);
	CHECK_STR(s.why.name, device ? "card" : "edu");
	CHECK_INT(served(stay_handle, x), GUEST);
	let_go(&v);
	end();
}

/*
 * The wait stays canceled if the device is unregistered before the waiter looks; the
 * call is still inside when it ends. Waiters may look in between: no test fails for that.
 */
static void device_online_then_unregistered(void)
{
	const struct dk_obj x = dk_obj_on(backend, card);
	struct switcher s = { .device = card };
	struct visitor v;

	begin();
	if (!switch_off_beside(&v, x, &s))
		return;
	CHECK_OK(dk_device_set_online(t_reg, card, 1, &t_why));
	CHECK_INT(dk_provider_unregister_timeout(&guest, 0, &t_why), -ETIMEDOUT);
	w_join(&s.thread);
	CHECK_INT(s.err, -ECANCELED);
	CHECK_INT(s.why.reason, DK_WHY_CANCELED);
	CHECK_STR(s.why.name, "card");
	let_go(&v);
	CHECK_OK(dk_provider_unregister(&guest));
	end();
}

/* A wait with a deadline, and while what it belongs to stays offline. */
static void online_in_part_meanwhile(u32 device)
{
	const struct dk_obj x = dk_obj_on(backend, card);
	struct switcher s = { .device = device, .ms = LONG_MS };
	struct visitor v;

	begin();
	if (!enter(&v, x, false))
		return;
	CHECK_INT(switch_until(device ? 0 : card, 0, 0), -ETIMEDOUT);
	if (!CHECK_OK(w_start(&s.thread, "dk_switcher", switch_off, &s)))
		return;
	while (device ? is_online(card) : dk_backend_is_online(t_reg, backend))
		w_sleep_us(STEP_US);
	CHECK_OK(switch_until(device, 1, 0));
	w_join(&s.thread);
	/* refuses: dk_device_set_online_timeout ECANCELED CANCELED */
	/* refuses: dk_backend_set_online_timeout ECANCELED CANCELED */
	CHECK_INT(s.err, -ECANCELED);
	CHECK_INT(served(stay_handle, x), BASE);
	let_go(&v);
	end();
}

static void device_online_below_what_is_not(void)
{
	online_in_part_meanwhile(card);
}

static void backend_online_above_what_is_not(void)
{
	online_in_part_meanwhile(0);
}

static void device_online_again_meanwhile(void)
{
	online_again_meanwhile(card);
}

static void backend_online_again_meanwhile(void)
{
	online_again_meanwhile(0);
}

/*
 * An atomic call of one provider is waited for, though another one is leaving
 * and its own grace period was over long ago.
 */
static void offline_beside_who_is_leaving(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL_ATOMIC(spin, DK_PRIVATEUSE1, spin_guest),
	};
	struct switcher s = { .device = 0 };
	struct visitor v, spins;

	if (w_cpus() < 2) {
		t_skip("a call that spins needs a processor of its own");
		return;
	}
	begin();
	CHECK_OK(dk_impls_register(&host, impls, 1, &t_why));
	if (!enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	while (CHECK_INT(dk_provider_unregister_timeout(&guest, 50, &t_why), -ETIMEDOUT) &&
	       !inside_at(0).ms)
		;
	if (!enter(&spins, dk_obj_on(backend, 0), true) ||
	    !CHECK_OK(w_start(&s.thread, "dk_switcher", switch_off, &s)))
		return;
	/* long enough for one who does not wait; no test fails for being slow */
	w_sleep_us(20000);
	CHECK(!w_load_acquire(s.is_off));
	let_go(&spins);
	w_join(&s.thread);
	CHECK_OK(s.err);
	let_go(&v);
	CHECK_OK(dk_provider_unregister(&guest));
	end();
}

/* The same provider's calls at keys of another backend are not waited for. */
static void backend_offline_does_not_wait_for_others(void)
{
	struct visitor v;

	begin();
	if (!enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false))
		return;
	CHECK_OK(dk_backend_set_online(t_reg, backend, 0, &t_why));
	CHECK(!w_load_acquire(v.stay.go));
	let_go(&v);
	end();
}

/* ---- several waiters of one provider -------------------------------------------- */

static int serve_all(struct dk_call *c, void *args)
{
	return 0;
}

/* Is a counter of a backend fallback listed? Reads the label of each that is. */
static bool lists_a_fallback(void)
{
	struct dk_stat s = { .size = sizeof(s) };
	unsigned int i;

	for (i = 0; !dk_op_stat(stay_handle, i, &s); i++)
		if (s.kind == DK_STAT_FALLBACK)
			return true;
	return false;
}

/* The guest's fallback, in memory that can be freed, after one counted call of it. */
static struct dk_impl *counted_fallback(void)
{
	struct dk_impl *impl = t_alloc(sizeof(*impl));
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	*impl = (struct dk_impl)DK_FALLBACK(DK_PYTHON, serve_all);
	CHECK_OK(dk_stats_enable(t_reg, &t_why));
	CHECK_OK(dk_fallback_register(&guest, impl, &t_why));
	x.ks = dk_keyset_or(x.ks, dk_key_set(NULL, DK_PYTHON));
	CHECK_OK(stay_at(stay_handle, &dk_local_default, &x, NULL, NULL));
	CHECK(lists_a_fallback());
	return impl;
}

/* The caller may do with it what it likes. */
static void free_fallback(struct dk_impl *impl)
{
	memset(impl, 0x5a, sizeof(*impl));
	t_free(impl);
}

/* Another waiter keeps the provider's blocks, and nothing reads the table any more. */
static void withdrawn_beside_another_waiter(void)
{
	const struct dk_obj x = dk_obj_on(backend, card);
	struct switcher s = { .device = 0 };
	struct dk_impl *impl;
	struct visitor v;

	begin();
	impl = counted_fallback();
	if (!switch_off_beside(&v, x, &s))
		return;
	CHECK_OK(dk_impls_unregister(&guest, impl, &t_why));
	free_fallback(impl);
	CHECK(!lists_a_fallback());
	let_go(&v);
	w_join(&s.thread);
	CHECK_OK(s.err);
	end();
}

/*
 * The same of a whole provider, beside a wait for a grace period that its own was over
 * before: an atomic call of another provider keeps it from ending.
 */
static void gone_beside_another_waiter(void)
{
	static const struct dk_impl spins[] = {
		DK_IMPL_ATOMIC(spin, DK_PRIVATEUSE1, spin_guest),
	};
	struct dk_backend_info info = { .size = sizeof(info), .is_online = 1 };
	struct dk_stat stat = { .size = sizeof(stat) };
	struct switcher s = { .device = 0 };
	struct visitor v, young;
	struct dk_impl *impl;
	struct leaver l;

	if (w_cpus() < 2) {
		t_skip("a call that spins needs a processor of its own");
		return;
	}
	begin();
	CHECK_OK(dk_impls_register(&host, spins, 1, &t_why));
	impl = counted_fallback();
	if (!enter(&v, dk_obj_on(DK_BACKEND_CPU, 0), false) || !begin_to_leave(&l))
		return;
	while (!inside_at(0).ms)
		w_sleep_us(STEP_US);
	if (!enter(&young, dk_obj_on(backend, 0), true) ||
	    !CHECK_OK(w_start(&s.thread, "dk_switcher", switch_off, &s)))
		return;
	/* it is offline under the lock, which is given back to wait */
	while (info.is_online) {
		w_sleep_us(STEP_US);
		CHECK_OK(dk_registry_backend(t_reg, backend, &info));
	}
	let_go(&v);
	has_left(&l);
	free_fallback(impl);
	CHECK(!lists_a_fallback());
	CHECK_INT(dk_provider_stat(t_reg, "guest", &stat), -ENOENT);
	CHECK(!w_load_acquire(s.is_off));
	let_go(&young);
	w_join(&s.thread);
	CHECK_OK(s.err);
	end();
}

T_SUITE(waiting,
	T(deadline_names_the_call),
	T(no_table_is_built_at_a_deadline),
	T(deadline_of_an_atomic_call),
	T(a_library_of_who_is_leaving),
	T(whoever_sees_it_gone),
	T(deadline_that_is_long_enough),
	T(one_waits_with_a_deadline_and_one_without),
	T(not_from_inside),
	T(drained_beside_a_call),
	T(unregistered_beside_a_call),
	T(call_of_another_registry),
	T(a_crowd_is_waited_for),
	T(a_crowd_of_one_task_is_seen),
	T(device_offline_waits),
	T(backend_offline_waits),
	T(device_offline_with_a_deadline),
	T(backend_offline_with_a_deadline),
	T(device_offline_again_meanwhile),
	T(backend_offline_again_meanwhile),
	T(device_online_again_meanwhile),
	T(backend_online_again_meanwhile),
	T(device_online_then_unregistered),
	T(device_online_below_what_is_not),
	T(backend_online_above_what_is_not),
	T(offline_beside_who_is_leaving),
	T(backend_offline_does_not_wait_for_others),
	T(withdrawn_beside_another_waiter),
	T(gone_beside_another_waiter));
