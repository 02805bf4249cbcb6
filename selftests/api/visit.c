// SPDX-License-Identifier: GPL-2.0-only
/* See visit.h. */
#include "visit.h"

/*
 * A call stays at most this long. So if a test waits for the wrong call, it fails and does not
 * hang.
 */
#define STAY_US		((u64)V_LONG_MS / 2 * 1000)

static int stay_base(struct dk_call *c, struct dk_obj *x, struct stay *s, int *served_by)
{
	*served_by = V_BASE;
	return 0;
}

/* Returns false when the call must leave. */
static bool must_stay(struct stay *s, u64 since)
{
	if (w_load_acquire(s->may_return))
		return false;
	if (w_now_us() - since <= STAY_US)
		return true;
	w_store(s->too_long, true);
	return false;
}

int stay_guest(struct dk_call *c, struct dk_obj *x, struct stay *s, int *served_by)
{
	u64 since = w_now_us();

	*served_by = V_GUEST;
	if (!s)
		return 0;
	w_store_release(s->inside, true);
	while (must_stay(s, since))
		w_sleep_us(V_STEP_US);
	s->plain = 1;
	return 0;
}

static int stay_above(struct dk_call *c, struct dk_obj *x, struct stay *s, int *served_by)
{
	return stay_below(c, x, s, served_by);
}

int spin_guest(struct dk_call *c, struct dk_obj *x, struct stay *s, int *served_by)
{
	u64 since = w_now_us();

	*served_by = V_GUEST;
	if (!s)
		return 0;
	w_store_release(s->inside, true);
	while (must_stay(s, since))
		w_spin_us(V_STEP_US / 10);
	return 0;
}

static const struct dk_impl base_impls[] = {
	DK_IMPL(stay, DK_COMPOSITE_EXPLICIT_AUTOGRAD, stay_base),
	DK_IMPL_ATOMIC(spin, DK_COMPOSITE_EXPLICIT_AUTOGRAD, stay_base),
};

const struct dk_impl v_guest_impls[V_GUEST_IMPLS] = {
	DK_IMPL(stay, DK_CPU, stay_guest),
	DK_IMPL(stay, DK_AUTOGRAD_CPU, stay_above),
	DK_IMPL_ATOMIC(spin, DK_CPU, spin_guest),
};

static const struct dk_impl card_impls[] = { DK_IMPL(stay, DK_DENSE, stay_guest) };

struct dk_provider v_host, v_guest;
struct dk_op *v_stay, *v_spin;
unsigned int v_backend;
u32 v_card;

void v_open(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&v_host, "host");
	t_join(&v_guest, "guest");
	CHECK_OK(dk_op_define(&v_host, &stay_op, 0, &t_why));
	CHECK_OK(dk_op_define(&v_host, &spin_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&v_host, base_impls, 2, &t_why));
	CHECK_OK(dk_impls_register(&v_guest, v_guest_impls, V_GUEST_IMPLS, &t_why));
	CHECK_OK(dk_backend_join(&v_guest, "edu", 0, 0, &v_backend, &t_why));
	CHECK_OK(dk_device_register(&v_guest, v_backend, "card", NULL, card_impls, 1, &v_card,
				    &t_why));
	v_stay = t_get("visit::stay");
	v_spin = t_get("visit::spin");
}

int v_served(struct dk_op *op, struct dk_obj x)
{
	int served_by = V_NONE;

	if (op == v_spin)
		CHECK_OK(spin_at(op, &dk_local_default, &x, NULL, &served_by));
	else
		CHECK_OK(stay_at(op, &dk_local_default, &x, NULL, &served_by));
	return served_by;
}

/* ---- a thread that stays inside a call ----------------------------------- */

static void make_call(void *data)
{
	struct v_caller *v = data;
	int served_by;

	v->err = v->spins ? spin_at(v_spin, &dk_local_default, &v->x, &v->stay, &served_by) :
			    stay_at(v_stay, &dk_local_default, &v->x, &v->stay, &served_by);
	w_store_release(v->done, true);
}

bool v_enter(struct v_caller *v, struct dk_obj x, bool spins)
{
	memset(v, 0, sizeof(*v));
	v->x = x;
	v->spins = spins;
	if (!CHECK_OK(w_start(&v->thread, "dk_caller", make_call, v)))
		return false;
	while (!w_load_acquire(v->stay.inside) && !w_load_acquire(v->done))
		w_sleep_us(V_STEP_US);
	return CHECK(w_load_acquire(v->stay.inside));
}

void v_release(struct v_caller *v)
{
	w_store_release(v->stay.may_return, true);
	w_join(&v->thread);
	CHECK_OK(v->err);
	CHECK(!v->stay.too_long);
}

/* ---- a thread that unregisters ------------------------------------------- */

static void unregister_guest(void *data)
{
	struct v_unregister *l = data;

	l->err = dk_provider_unregister(&v_guest);
	w_store_release(l->done, true);
}

bool v_begin_unregister(struct v_unregister *l)
{
	const struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);

	memset(l, 0, sizeof(*l));
	if (!CHECK_OK(w_start(&l->thread, "dk_unregister", unregister_guest, l)))
		return false;
	while (v_served(v_stay, cpu) != V_BASE && !w_load_acquire(l->done))
		w_sleep_us(V_STEP_US);
	return CHECK_OK(dk_registry_check(t_reg, &t_why));
}

void v_end_unregister(struct v_unregister *l)
{
	w_join(&l->thread);
	CHECK_OK(l->err);
	CHECK(l->done);
	CHECK(!v_guest.core);
}

/* ---- calls inside the guest, and refusals ----------------------------------- */

struct dk_inside v_inside_at(unsigned int i)
{
	struct dk_inside in = { .size = sizeof(in) };

	CHECK_OK(dk_provider_inside(&v_guest, i, &in));
	return in;
}

bool v_why_begins(const char *text)
{
	if (!strncmp(t_why.name, text, strlen(text)))
		return true;
	t_note("reported \"%s\", expected \"%s\"", t_why.name, text);
	return false;
}

/* ---- a thread that takes a device or backend offline -------------------------- */

void v_switch_off(void *data)
{
	struct switcher *s = data;

	s->why.size = sizeof(s->why);
	if (s->ms)
		s->err = s->device ?
			dk_device_set_online_timeout(t_reg, s->device, 0, s->ms, &s->why) :
			dk_backend_set_online_timeout(t_reg, v_backend, 0, s->ms, &s->why);
	else
		s->err = s->device ? dk_device_set_online(t_reg, s->device, 0, &s->why) :
				     dk_backend_set_online(t_reg, v_backend, 0, &s->why);
	w_store_release(s->is_off, true);
}

bool v_switch_off_during_call(struct v_caller *v, const struct dk_obj x, struct switcher *s)
{
	if (!v_enter(v, x, false) ||
	    !CHECK_OK(w_start(&s->thread, "dk_switcher", v_switch_off, s)))
		return false;
	while (v_served(v_stay, x) != V_BASE && !w_load_acquire(s->is_off))
		w_sleep_us(V_STEP_US);
	return true;
}
