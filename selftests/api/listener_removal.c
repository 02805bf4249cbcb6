// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listeners and hooks that are unregistered while they run. The caller can free their memory
 * when the unregistering function returns, so they must not be running then.
 */
#include "test.h"

#include "../world.h"

#define ROUNDS		(T_KERNEL ? 8 : 50)
/* Delays in code that must not sleep, and in code that may. */
#define busy()		w_spin_us(1000)
#define asleep()	w_sleep_us(1000)
#define yield_cpu()	w_sleep_us(100)
#define ALIVE		0x616c6976u
#define PATIENCE	5000	/* how often to check for a running listener */

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

static void told(struct dk_listener *l, const struct dk_event *event)
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
	w->listener.notify = told;
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

	for (i = 0; i < PATIENCE && !w_sum(&w->inside); i++)
		yield_cpu();
	return CHECK(i < PATIENCE);
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
static void a_listener_leaves(void)
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
		t_leave(&changers[i].prov);
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

static void hooks_leave(void)
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
	t_leave(&prov);
	t_close();
}

/* ---- two threads unregister the same listener or hooks ---------------------- */

static u32 let_go;

static void told_stays(struct dk_listener *l, const struct dk_event *event)
{
	enter(l->priv);
	while (!w_load(let_go))
		asleep();
	leave(l->priv);
}

static void before_stays(struct dk_hooks *h, const struct dk_hook_info *info)
{
	enter(h->data);
	while (!w_load(let_go))
		busy();
	leave(h->data);
}

static int listener_leaves(struct watcher *w)
{
	return dk_listener_unregister(&w->listener);
}

static int hooks_leave_once(struct watcher *w)
{
	return dk_hooks_unregister(&w->hooks, NULL);
}

struct leaver {
	struct w_thread thread;
	struct watcher *w;
	int (*leave)(struct watcher *w);
	int err;
	u32 inside;	/* functions that were running when it returned */
	u32 done;
};

static void leave_now(void *data)
{
	struct leaver *me = data;

	me->err = me->leave(me->w);
	me->inside = w_sum(&me->w->inside);
	w_store(me->done, 1);
}

/* Two threads unregister while a function runs. Neither thread returns before the function. */
static void both_wait(struct watcher *w, int (*leave_it)(struct watcher *))
{
	static struct leaver leavers[2];
	unsigned int i, turns, left = 0;

	memset(leavers, 0, sizeof(leavers));
	for (i = 0; i < 2; i++) {
		leavers[i].w = w;
		leavers[i].leave = leave_it;
		if (!start(&leavers[i].thread, leave_now, &leavers[i]))
			return;
	}
	/* time in which a wait that ends too early does end */
	for (i = 0; i < 30; i++)
		asleep();
	CHECK(!w_load(leavers[0].done) && !w_load(leavers[1].done));
	w_store(let_go, 1);
	for (i = 0; i < 2; i++) {
		for (turns = 0; turns < PATIENCE && !w_load(leavers[i].done); turns++)
			asleep();
		CHECK(w_load(leavers[i].done));
	}
	for (i = 0; i < 2; i++) {
		end(&leavers[i].thread);
		CHECK_INT(leavers[i].inside, 0);
		left += !leavers[i].err;
		/* one of two threads can find that the hooks are already unregistered */
		CHECK(!leavers[i].err || leavers[i].err == -ENOENT);
	}
	CHECK(left);
}

static void define_once(void *data)
{
	struct changer *me = data;

	CHECK_OK(dk_op_define(&me->prov, &me->decl, 0, NULL));
}

static void two_take_out_a_listener(void)
{
	static struct changer changer;
	struct watcher *w;

	t_open("v1", 0);
	memset(&changer, 0, sizeof(changer));
	t_join(&changer.prov, "changer");
	changer.decl = t_decl("listener_removal::first");
	w = watcher_new();
	w->listener.notify = told_stays;
	w_store(let_go, 0);
	CHECK_OK(dk_listener_register(&w->listener, &t_why));
	if (!start(&changer.thread, define_once, &changer))
		return;
	wait_inside(w);
	both_wait(w, listener_leaves);
	end(&changer.thread);
	watcher_end(w);
	t_leave(&changer.prov);
	t_close();
}

static void call_watched(void *data)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	CHECK_OK(watched_at(op, &dk_local_default, &x));
}

static void two_take_out_hooks(void)
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
	w_store(let_go, 0);
	CHECK_OK(dk_hooks_register(t_reg, &w->hooks, &t_why));
	if (!start(&caller, call_watched, NULL))
		return;
	wait_inside(w);
	both_wait(w, hooks_leave_once);
	end(&caller);
	CHECK_INT(dk_hooks_unregister(&w->hooks, &t_why), -ENOENT);
	watcher_end(w);
	dk_op_put(op);
	t_leave(&prov);
	t_close();
}

T_SUITE(listener_removal,
	T(a_listener_leaves),
	T(hooks_leave),
	T(two_take_out_a_listener),
	T(two_take_out_hooks));
