// SPDX-License-Identifier: GPL-2.0-only
/* See churn.h. */
#include "churn.h"

#define CALLERS		2
#define ALIVE		0x616c6976u

struct w_count churn_poisoned, churn_served_by_unregistered;

/* ---- counting ------------------------------------------------------------------ */

void counting_begin(void)
{
	memset(&churn_poisoned, 0, sizeof(churn_poisoned));
	memset(&churn_served_by_unregistered, 0, sizeof(churn_served_by_unregistered));
}

struct counter *counter_new(void)
{
	struct counter *c = t_alloc(sizeof(*c));

	c->alive = ALIVE;
	return c;
}

void counter_end(struct counter *c)
{
	if (!c)
		return;
	w_add(&churn_served_by_unregistered, w_sum(&c->served));
	memset(c, 0x5a, sizeof(*c));
	t_free(c);
}

static int count_call(struct dk_call *c)
{
	struct counter *me = dk_call_priv(c);

	if (w_load(me->alive) != ALIVE)
		w_add(&churn_poisoned, 1);
	w_add(&me->served, 1);
	return 0;
}

int count_here(struct dk_call *c, struct dk_obj *x)
{
	struct counter *me = dk_call_priv(c);

	/* this function may sleep: sometimes let other threads run on the CPU */
	if (w_sum(&me->served) % 64 == 0)
		w_pause();
	return count_call(c);
}

/* Calls the next function, which counts the call. */
static int count_above(struct dk_call *c, struct dk_obj *x)
{
	return count_below(c, x);
}

int swift_here(struct dk_call *c, struct dk_obj *x)
{
	return count_call(c);
}

/* ---- arrays of functions -------------------------------------------------------- */

static const struct dk_impl base_impls[] = {
	DK_IMPL(count, DK_COMPOSITE_EXPLICIT_AUTOGRAD, count_here),
	DK_IMPL_ATOMIC(swift, DK_COMPOSITE_EXPLICIT_AUTOGRAD, swift_here),
};

static const struct dk_impl guest_impls[] = {
	DK_IMPL(count, DK_CPU, count_here),
	DK_IMPL(count, DK_AUTOGRAD_CPU, count_above),
	DK_IMPL_ATOMIC(swift, DK_CPU, swift_here),
};

static const struct dk_impl card_impls[] = {
	DK_IMPL(count, DK_DENSE, count_here),
	DK_IMPL_ATOMIC(swift, DK_DENSE, swift_here),
};

static const struct dk_impl through[] = {
	DK_IMPL_FALLTHROUGH(count, DK_TRACER),
};

static const struct dk_impl fallback = DK_FALLTHROUGH(DK_TRACER);

/* ---- callers -------------------------------------------------------------------- */

static struct dk_op *count_handle, *swift_handle;
static struct dk_obj objects[2];	/* on the CPU, without and with an autograd key */
static unsigned int card_backend;
static u32 card;
static bool stop;

static struct caller {
	struct w_thread thread;
	bool started;
	u64 sent;
	u64 lost;
} callers[CALLERS];

static void call_all_the_time(void *data)
{
	struct caller *me = data;
	unsigned int i = 0;

	while (!w_load(stop)) {
		struct dk_obj x = objects[i % 2];

		/* the card can be registered, offline or already unregistered */
		if (i % 3 == 2)
			x = dk_obj_on(card_backend, w_load(card));
		me->lost += !!count_at(count_handle, &dk_local_default, &x);
		me->lost += !!swift_at(swift_handle, &dk_local_default, &x);
		me->sent += 2;
		i++;
		w_pause();
	}
}

int churn_swift(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	return swift_at(swift_handle, &dk_local_default, &x);
}

/* ---- providers that register and unregister ---------------------------------- */

static struct guest {
	struct dk_provider prov;
	struct counter *host, *card0, *card1;
	unsigned int backend;
	u32 d0, d1;
} guest;

static void register_guest(struct guest *v)
{
	static const struct dk_provider prov = DK_PROVIDER("guest");

	v->host = counter_new();
	v->card0 = counter_new();
	v->card1 = counter_new();
	v->prov = prov;
	v->prov.registry = t_reg;
	v->prov.priv = v->host;
	CHECK_OK(dk_provider_register(&v->prov, &t_why));
	CHECK_OK(dk_impls_register(&v->prov, guest_impls, ARRAY_SIZE(guest_impls),
				   &t_why));
	CHECK_OK(dk_backend_join(&v->prov, "churn", 0, 0, &v->backend, &t_why));
	CHECK_OK(dk_device_register(&v->prov, v->backend, "d0", v->card0, card_impls,
				    ARRAY_SIZE(card_impls), &v->d0, &t_why));
	w_store(card, v->d0);
	CHECK_OK(dk_device_register(&v->prov, v->backend, "d1", v->card1, card_impls,
				    ARRAY_SIZE(card_impls), &v->d1, &t_why));
}

static void change(struct guest *v, unsigned int round)
{
	CHECK_OK(dk_impls_register(&v->prov, through, 1, &t_why));
	CHECK_OK(dk_fallback_register(&v->prov, &fallback, &t_why));
	CHECK_OK(dk_device_set_online(t_reg, v->d0, 0, &t_why));
	w_store(card, v->d1);
	CHECK_OK(dk_device_set_online(t_reg, v->d0, 1, &t_why));
	if (round & 1)
		CHECK_OK(dk_impls_unregister(&v->prov, through, &t_why));
	else
		CHECK_OK(dk_impls_withdraw(&v->prov, through, &t_why));
	if (round & 2)
		CHECK_OK(dk_provider_drain(&v->prov));
	if (round & 4) {
		CHECK_OK(dk_device_unregister(&v->prov, v->d1, &t_why));
		counter_end(v->card1);
		v->card1 = NULL;
	}
	if (round & 8)
		CHECK_OK(dk_impls_unregister(&v->prov, guest_impls, &t_why));
}

static void unregister_guest(struct guest *v)
{
	CHECK_OK(dk_provider_unregister(&v->prov));
	counter_end(v->host);
	counter_end(v->card0);
	counter_end(v->card1);
}

void churn_round(unsigned int round, void (*meanwhile)(void))
{
	register_guest(&guest);
	if (meanwhile)
		meanwhile();
	change(&guest, round);
	if (meanwhile)
		meanwhile();
	unregister_guest(&guest);
	w_pause();
}

/* ---- the host ------------------------------------------------------------------- */

static struct dk_provider host;

void churn_begin(void)
{
	static const struct dk_provider unregistered = DK_PROVIDER("host");
	unsigned int i;

	t_open("v1", DK_REGISTRY_BUILTINS);
	counting_begin();
	host = unregistered;
	host.registry = t_reg;
	host.priv = counter_new();
	CHECK_OK(dk_provider_register(&host, &t_why));
	CHECK_OK(dk_op_define(&host, &count_op, 0, &t_why));
	CHECK_OK(dk_op_define(&host, &swift_op, DK_OP_ATOMIC, &t_why));
	CHECK_OK(dk_impls_register(&host, base_impls, 2, &t_why));
	CHECK_OK(dk_backend_join(&host, "churn", 0, 0, &card_backend, &t_why));
	count_handle = dk_op_get(t_reg, "churn::count");
	swift_handle = dk_op_get(t_reg, "churn::swift");
	objects[0] = dk_obj_on(DK_BACKEND_CPU, 0);
	objects[1] = t_obj(DK_KEY_BITS(DK_CPU) | DK_KEY_BITS(DK_AUTOGRAD_CPU));
	memset(callers, 0, sizeof(callers));
	stop = false;
	for (i = 0; i < CALLERS; i++)
		callers[i].started = CHECK_OK(w_start(&callers[i].thread, "dk_api_test",
						      call_all_the_time, &callers[i]));
}

void churn_end(unsigned int rounds, u64 sent_by_others, u64 lost_by_others)
{
	struct counter *base = host.priv;
	u64 sent = sent_by_others, lost = lost_by_others, by_unregistered;
	unsigned int i;

	w_store(stop, true);
	for (i = 0; i < CALLERS; i++) {
		if (callers[i].started)
			w_join(&callers[i].thread);
		sent += callers[i].sent;
		lost += callers[i].lost;
	}
	by_unregistered = w_sum(&churn_served_by_unregistered);
	CHECK_INT(lost, 0);
	CHECK_INT(w_sum(&churn_poisoned), 0);
	CHECK_INT(by_unregistered + w_sum(&base->served), sent);
	CHECK(sent);
	CHECK(by_unregistered);
	t_note("%u rounds, %llu calls, %llu of them by unregistered providers, %llu in interrupts",
	       rounds, (unsigned long long)sent, (unsigned long long)by_unregistered,
	       (unsigned long long)sent_by_others);
	dk_op_put(count_handle);
	dk_op_put(swift_handle);
	CHECK_OK(dk_provider_unregister(&host));
	counter_end(base);
	t_close();
}
