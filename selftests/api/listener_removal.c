// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unregisters listeners and hooks while they run. When the request to unregister returns, the
 * caller can free their memory. So no listener or hook may be running any more.
 */
#include "test.h"

#include "../world.h"

#define ROUNDS		(T_KERNEL ? 8 : 50)
/* Delays in code that must not sleep, and in code that may. */
#define busy()		w_spin_us(1000)
#define asleep()	w_sleep_us(1000)
#define yield_cpu()	w_sleep_us(100)
#define ALIVE		0x616c6976u
#define MAX_CHECKS	5000	/* how often to check for a running listener */

static u32 stop;

static bool start(struct w_thread *t, void (*body)(void *data), void *data)
{
	w_store(stop, 0);
	return CHECK_OK(w_start(t, "dk_api_test", body, data));
}

static void end(struct w_thread *t)
{
	w_store(stop, 1);
	w_join(t);
}

DK_OP(watched, "listener_removal::op", (struct dk_obj *x), (x), (x));

/* A listener and hooks. The memory is freed when the test has unregistered them. */
struct watcher {
	struct dk_listener listener;
	struct dk_hooks hooks;
	u32 alive;
	struct w_count inside;
};

static u32 poisoned;

static void enter(struct watcher *w)
{
	w_add(&w->inside, 1);
}

static void leave(struct watcher *w)
{
	if (w->alive != ALIVE)
		w_store(poisoned, 1);
	w_add(&w->inside, -1);
}

static void on_event(struct dk_listener *l, const struct dk_event *event)
{
	enter(l->priv);
	asleep();
	leave(l->priv);
}

static void before(struct dk_hooks *h, const struct dk_hook_info *info)
{
	enter(h->data);
	busy();
	leave(h->data);
}

static struct watcher *watcher_new(void)
{
	struct watcher *w = t_alloc(sizeof(*w));

	w->alive = ALIVE;
	w->listener.size = sizeof(w->listener);
	w->listener.registry = t_reg;
	w->listener.notify = on_event;
	w->listener.priv = w;
	w->hooks.size = sizeof(w->hooks);
	w->hooks.before = before;
	w->hooks.data = w;
	return w;
}

/* Waits until the listener or a hook is running. */
static bool wait_inside(struct watcher *w)
{
	unsigned int i;

	for (i = 0; i < MAX_CHECKS && !w_sum(&w->inside); i++)
		yield_cpu();
	return CHECK(i < MAX_CHECKS);
}

static void watcher_end(struct watcher *w)
{
	CHECK_INT(w_sum(&w->inside), 0);
	memset(w, 0x5a, sizeof(*w));
	t_free(w);
}

struct changer {
	struct w_thread thread;
	struct dk_provider prov;
	struct dk_op_decl decl;
	unsigned int rounds;
};

static void define_and_undefine(void *data)
{
	struct changer *me = data;
	unsigned int i;

	while (!w_load(stop)) {
		if (dk_op_define(&me->prov, &me->decl, 0, NULL) ||
		    dk_op_undefine(&me->prov, me->decl.name, NULL))
			break;
		me->rounds++;
		/* longer than the listener takes, so that a thread that notifies it can finish */
		for (i = 0; i < 10; i++)
			asleep();
	}
}

/* Two threads change the registry, so that one delivers the events of the other. */
static void listener_unregisters_during_events(void)
{
	static struct changer changers[2];
	struct watcher *w;
	unsigned int i;

	t_open("v1", 0);
	w_store(poisoned, 0);
	memset(changers, 0, sizeof(changers));
	t_join(&changers[0].prov, "first");
	t_join(&changers[1].prov, "second");
	changers[0].decl = t_decl("listener_removal::first");
	changers[1].decl = t_decl("listener_removal::second");
	for (i = 0; i < 2; i++)
		if (!start(&changers[i].thread, define_and_undefine, &changers[i]))
			return;
	for (i = 0; i < ROUNDS; i++) {
		w = watcher_new();
		CHECK_OK(dk_listener_register(&w->listener, &t_why));
		wait_inside(w);
		CHECK_OK(dk_listener_unregister(&w->listener));
		watcher_end(w);
	}
	for (i = 0; i < 2; i++) {
		end(&changers[i].thread);
		CHECK(changers[i].rounds);
		t_unregister(&changers[i].prov);
	}
	CHECK_INT(w_load(poisoned), 0);
	t_close();
}

static int watched_cpu(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static struct dk_op *op;

static void call_all_the_time(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	u32 *failed = data;

	while (!w_load(stop)) {
		if (watched_at(op, &dk_local_default, &x))
			w_store(*failed, 1);
		yield_cpu();
	}
}

static void hooks_unregister_during_calls(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(watched, DK_CPU, watched_cpu) };
	static struct dk_provider prov;
	static struct w_thread threads[2];
	struct watcher *w;
	u32 failed = 0;
	unsigned int i;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&prov, "watched");
	w_store(poisoned, 0);
	CHECK_OK(dk_op_define(&prov, &watched_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	op = dk_op_get(t_reg, "listener_removal::op");
	for (i = 0; i < 2; i++)
		if (!start(&threads[i], call_all_the_time, &failed))
			return;
	for (i = 0; i < ROUNDS; i++) {
		w = watcher_new();
		CHECK_OK(dk_hooks_register(t_reg, &w->hooks, &t_why));
		wait_inside(w);
		CHECK_OK(dk_hooks_unregister(&w->hooks, &t_why));
		watcher_end(w);
	}
	for (i = 0; i < 2; i++)
		end(&threads[i]);
	CHECK_INT(w_load(failed), 0);
	CHECK_INT(w_load(poisoned), 0);
	dk_op_put(op);
	t_unregister(&prov);
	t_close();
}

/* ---- two threads unregister the same listener or hooks ---------------------- */

static u32 may_return;

static void on_event_stays(struct dk_listener *l, const struct dk_event *event)
{
	enter(l->priv);
	while (!w_load(may_return))
		asleep();
	leave(l->priv);
}

static void before_stays(struct dk_hooks *h, const struct dk_hook_info *info)
{
	enter(h->data);
	while (!w_load(may_return))
		busy();
	leave(h->data);
}

static int unregister_listener(struct watcher *w)
{
	return dk_listener_unregister(&w->listener);
}

static int unregister_hooks(struct watcher *w)
{
	return dk_hooks_unregister(&w->hooks, NULL);
}

struct remover {
	struct w_thread thread;
	struct watcher *w;
	int (*remove)(struct watcher *w);
	int err;
	u32 inside;	/* number of functions that were running when the removal returned */
	u32 done;
};

static void run_remover(void *data)
{
	struct remover *me = data;

	me->err = me->remove(me->w);
	me->inside = w_sum(&me->w->inside);
	w_store(me->done, 1);
}

/*
 * Two threads unregister while a function runs. Neither request returns before the function does.
 */
static void both_wait(struct watcher *w, int (*remove)(struct watcher *))
{
	static struct remover removers[2];
	unsigned int i, turns, left = 0;

	memset(removers, 0, sizeof(removers));
	for (i = 0; i < 2; i++) {
		removers[i].w = w;
		removers[i].remove = remove;
		if (!start(&removers[i].thread, run_remover, &removers[i]))
			return;
	}
	/* a wait that ends too early ends during this time */
	for (i = 0; i < 30; i++)
		asleep();
	CHECK(!w_load(removers[0].done) && !w_load(removers[1].done));
	w_store(may_return, 1);
	for (i = 0; i < 2; i++) {
		for (turns = 0; turns < MAX_CHECKS && !w_load(removers[i].done); turns++)
			asleep();
		CHECK(w_load(removers[i].done));
	}
	for (i = 0; i < 2; i++) {
		end(&removers[i].thread);
		CHECK_INT(removers[i].inside, 0);
		left += !removers[i].err;
		/* one of two threads can find that the hooks are already unregistered */
		CHECK(!removers[i].err || removers[i].err == -ENOENT);
	}
	CHECK(left);
}

static void define_once(void *data)
{
	struct changer *me = data;

	CHECK_OK(dk_op_define(&me->prov, &me->decl, 0, NULL));
}

static void two_threads_unregister_a_listener(void)
{
	static struct changer changer;
	struct watcher *w;

	t_open("v1", 0);
	memset(&changer, 0, sizeof(changer));
	t_join(&changer.prov, "changer");
	changer.decl = t_decl("listener_removal::first");
	w = watcher_new();
	w->listener.notify = on_event_stays;
	w_store(may_return, 0);
	CHECK_OK(dk_listener_register(&w->listener, &t_why));
	if (!start(&changer.thread, define_once, &changer))
		return;
	wait_inside(w);
	both_wait(w, unregister_listener);
	end(&changer.thread);
	watcher_end(w);
	t_unregister(&changer.prov);
	t_close();
}

static void call_watched(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	CHECK_OK(watched_at(op, &dk_local_default, &x));
}

static void two_threads_unregister_hooks(void)
{
	static const struct dk_impl impls[] = { DK_IMPL(watched, DK_CPU, watched_cpu) };
	static struct dk_provider prov;
	static struct w_thread caller;
	struct watcher *w;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&prov, "watched");
	CHECK_OK(dk_op_define(&prov, &watched_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	op = dk_op_get(t_reg, "listener_removal::op");
	w = watcher_new();
	w->hooks.before = before_stays;
	w_store(may_return, 0);
	CHECK_OK(dk_hooks_register(t_reg, &w->hooks, &t_why));
	if (!start(&caller, call_watched, NULL))
		return;
	wait_inside(w);
	both_wait(w, unregister_hooks);
	end(&caller);
	CHECK_INT(dk_hooks_unregister(&w->hooks, &t_why), -ENOENT);
	watcher_end(w);
	dk_op_put(op);
	t_unregister(&prov);
	t_close();
}

T_SUITE(listener_removal,
	T(listener_unregisters_during_events),
	T(hooks_unregister_during_calls),
	T(two_threads_unregister_a_listener),
	T(two_threads_unregister_hooks));
