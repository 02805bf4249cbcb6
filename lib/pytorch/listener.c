// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reports events to listeners. A notifier queues each event under the registry's lock, and reports
 * the queued events after the lock is released. Only one thread reports at a time, in the order of
 * the queue. If a second thread makes a change meanwhile, it returns without reporting, and the
 * first thread reports the events of that change, too. A change never fails because of its events:
 * if an event cannot be allocated, it is counted as lost, and the number of lost events is reported
 * after the queued events.
 */
#include "pytorch.h"

/*
 * Flags of @inside. It is 0 if a listener is neither registered nor running: then its registry may
 * be freed.
 */
#define LISTENS		1
#define RUNS		2

/* An event that is not yet reported. */
struct dkc_queued {
	struct dkc_queued *next;
	const struct dk_listener *only;	/* the only listener to report to, or NULL */
	u64 number;
	u32 kind;
	u32 key;
	char name[];
};

/* The listeners of a registry that has had at least one. Protected by the registry's lock. */
struct dkc_listeners {
	struct dkc_notifier notifier;
	struct dk_registry *reg;
	struct dk_listener *first;
	struct dkc_queued *queue;	/* oldest first */
	struct dkc_queued *last;
	u64 number;			/* of the newest event */
	u32 lost;			/* events that could not be allocated; not yet reported */
	const void *reporter;		/* the thread that reports, or NULL */
	struct dk_listener *running;	/* the listener that @reporter runs, or NULL */
};

static struct dkc_listeners *listeners_of_notifier(struct dkc_notifier *n)
{
	return container_of(n, struct dkc_listeners, notifier);
}

static struct dkc_queued *queued_make(const char *name, u32 kind, u32 key, bool may_sleep)
{
	size_t len = strlen(name);
	struct dkc_queued *q = dkc_alloc(sizeof(*q) + len + 1, may_sleep);

	if (q) {
		q->kind = kind;
		q->key = key;
		memcpy(q->name, name, len + 1);
	}
	return q;
}

static void queued_free(struct dkc_queued *q)
{
	struct dkc_queued *next;

	for (; q; q = next) {
		next = q->next;
		kvfree(q);
	}
}

static void queue_add(struct dkc_listeners *ls, struct dkc_queued *q)
{
	dkc_assert_writer(ls->reg);
	q->next = NULL;
	q->number = ++ls->number;
	if (ls->queue)
		ls->last->next = q;
	else
		WRITE_ONCE(ls->queue, q);
	ls->last = q;
}

static void listeners_notify(struct dkc_notifier *n, const struct dkc_event *event)
{
	struct dkc_listeners *ls = listeners_of_notifier(n);
	struct dkc_queued *q;
	u32 kind;

	if (!ls->first || !event->name)
		return;
	if (event->kind == DKC_OP_DEFINED)
		kind = DK_EVENT_DEFINED;
	else if (event->kind == DKC_OP_UNDEFINED)
		kind = DK_EVENT_UNDEFINED;
	else if (event->kind == DKC_IMPL_ADDED)
		kind = DK_EVENT_IMPL;
	else
		return;
	q = queued_make(event->name, kind, event->key, false);
	if (q)
		queue_add(ls, q);
	else
		WRITE_ONCE(ls->lost, ls->lost + 1);
}

static struct dk_listener *next_listener(struct dkc_listeners *ls, u64 number,
					 const struct dk_listener *only)
{
	struct dk_listener *l = ls->first;

	while (l && (l->last >= number || (only && only != l)))
		l = l->next;
	return l;
}

/* Called with the lock held. Clears a flag of @inside. */
static void clear_inside(struct dk_listener *l, u32 flag)
{
	if (l->inside == flag)
		dkc_clear_and_wake(&l->inside);
	else
		WRITE_ONCE(l->inside, l->inside & ~flag);
}

/* Reports an event to the listeners. Releases the lock for each call, so the list may change. */
static void report(struct dkc_listeners *ls, const struct dk_event *event, u64 number,
		   const struct dk_listener *only)
{
	struct dk_listener *l;

	while ((l = next_listener(ls, number, only))) {
		l->last = number;
		WRITE_ONCE(l->inside, LISTENS | RUNS);
		ls->running = l;
		mutex_unlock(&ls->reg->lock);
		l->notify(l, event);
		mutex_lock(&ls->reg->lock);
		ls->running = NULL;
		/* the last access to @l: if it is being unregistered, it may be freed now */
		clear_inside(l, RUNS);
	}
}

/*
 * An event stays in the queue while it is reported: a child of fork() then reports it to the
 * listeners that have not received it.
 */
static void report_queue(struct dkc_listeners *ls)
{
	struct dk_event event = { .size = sizeof(event) };
	struct dkc_queued *q;

	while ((q = ls->queue)) {
		event.kind = q->kind;
		event.name = q->name;
		event.key = q->key;
		report(ls, &event, q->number, q->only);
		WRITE_ONCE(ls->queue, q->next);
		kvfree(q);
	}
}

static void report_lost(struct dkc_listeners *ls)
{
	const struct dk_event event = {
		.size = sizeof(event), .kind = DK_EVENT_LOST, .name = "", .key = ls->lost,
	};

	WRITE_ONCE(ls->lost, 0);
	report(ls, &event, ++ls->number, NULL);
}

/* Cancellation of the calling thread is deferred until all events are reported. */
static void listeners_unlocked(struct dkc_notifier *n)
{
	struct dkc_listeners *ls = listeners_of_notifier(n);
	struct dk_registry *reg = ls->reg;
	int cancel;

	if (!READ_ONCE(ls->queue) && !READ_ONCE(ls->lost))
		return;
	dkc_cancel_off(&cancel);
	mutex_lock(&reg->lock);
	if (!ls->reporter) {
		ls->reporter = dkc_self();
		reg->num_held++;
		while (ls->queue || ls->lost) {
			report_queue(ls);
			if (ls->lost)
				report_lost(ls);
		}
		reg->num_held--;
		ls->reporter = NULL;
	}
	mutex_unlock(&reg->lock);
	dkc_cancel_on(cancel);
}

static void listeners_release(struct dkc_notifier *n)
{
	struct dkc_listeners *ls = listeners_of_notifier(n);

	queued_free(ls->queue);
	kvfree(ls);
}

/* Returns the listeners of a registry, or NULL if it never had a listener. */
static struct dkc_listeners *listeners_of(struct dk_registry *reg)
{
	struct dkc_notifier *n = reg->notifiers;

	dkc_assert_writer(reg);
	while (n && n->notify != listeners_notify)
		n = n->next;
	return n ? listeners_of_notifier(n) : NULL;
}

/* The struct lasts as long as the registry, because dkc_registry_unlock() may be reading it. */
static struct dkc_listeners *listeners_make(struct dk_registry *reg)
{
	struct dkc_listeners *ls = kvzalloc(sizeof(*ls), GFP_KERNEL);

	if (!ls)
		return NULL;
	ls->reg = reg;
	ls->notifier.notify = listeners_notify;
	ls->notifier.unlocked = listeners_unlocked;
	ls->notifier.release = listeners_release;
	return ls;
}

/*
 * Other threads than the caller of fork() do not exist in the child, and cannot end their visits
 * and reports there.
 */
void dkc_listeners_after_fork(struct dk_registry *reg)
{
	struct dkc_listeners *ls = listeners_of(reg);

	reg->visitors = ls && ls->reporter == dkc_self();
	if (!ls || !ls->reporter || ls->reporter == dkc_self())
		return;
	ls->reporter = NULL;
	reg->num_held--;
	if (ls->running)
		clear_inside(ls->running, RUNS);
	ls->running = NULL;
}

static bool is_listening(const struct dkc_listeners *ls,
			 const struct dk_listener *listener)
{
	const struct dk_listener *l = ls->first;

	while (l && l != listener)
		l = l->next;
	return l;
}

/* Makes an event for each operator that is already defined, in the order of the hash table. */
static int first_events(struct dk_registry *reg, const struct dk_listener *only,
			struct dkc_queued **events)
{
	struct dkc_queued **end = events;
	struct dk_op *op;
	u32 pos = 0;

	while ((op = dkc_op_next(reg, &pos))) {
		if (!op->definer)
			continue;
		*end = queued_make(op->name, DK_EVENT_DEFINED, 0, true);
		if (!*end)
			return -ENOMEM;
		(*end)->only = only;
		end = &(*end)->next;
	}
	return 0;
}

static int listener_add(struct dk_registry *reg, struct dk_listener *l, struct dk_diag *why)
{
	struct dkc_listeners *ls = listeners_of(reg), *made = NULL;
	struct dkc_queued *events = NULL, *q;

	if (reg->shutdown)
		return dkc_refuse(why, DK_WHY_SHUTDOWN, NULL);
	/* @inside is also set if @l is registered in, or still runs for, another registry */
	if (READ_ONCE(l->inside) || (ls && is_listening(ls, l)))
		return dkc_refuse(why, DK_WHY_LISTENING, NULL);
	if (!ls) {
		made = listeners_make(reg);
		ls = made;
	}
	if (!ls || first_events(reg, l, &events)) {
		queued_free(events);
		kvfree(made);
		return dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	}
	if (made)
		dkc_notifier_add(reg, &made->notifier);
	WRITE_ONCE(l->inside, LISTENS);
	/* skip queued events: @only of some may be a freed listener that had the address of @l */
	l->last = ls->number;
	l->next = ls->first;
	ls->first = l;
	reg->num_held++;
	while ((q = events)) {
		events = q->next;
		queue_add(ls, q);
	}
	return dkc_accept(why);
}

int dk_listener_register(struct dk_listener *listener, struct dk_diag *why)
{
	struct dk_registry *reg;
	int err;

	if (!listener)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "listener");
	if (listener->size != sizeof(*listener))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_listener");
	if (!listener->notify)
		return dkc_refuse(why, DK_WHY_NO_LISTENER, NULL);
	reg = dkc_registry(listener->registry);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	mutex_lock(&reg->lock);
	err = listener_add(reg, listener, why);
	dkc_registry_unlock(reg);
	return err;
}

/* Removes a listener from the list. Returns false if another caller has removed it. */
static bool listener_remove(struct dkc_listeners *ls, struct dk_listener *l)
{
	struct dk_listener **p = &ls->first;

	while (*p && *p != l)
		p = &(*p)->next;
	if (!*p)
		return false;
	*p = l->next;
	ls->reg->num_held--;
	clear_inside(l, LISTENS);
	return true;
}

static bool is_running_here(const struct dkc_listeners *ls, const struct dk_listener *l)
{
	return ls->running == l && ls->reporter == dkc_self();
}

int dk_listener_unregister(struct dk_listener *listener)
{
	struct dkc_listeners *ls;
	struct dk_registry *reg;

	if (!listener)
		return 0;
	/* waiting would deadlock if the running listener waits for the caller's section to end */
	if (dkc_in_atomic())
		return -EDEADLK;
	/* pairs with dkc_clear_and_wake() in clear_inside() */
	if (!smp_load_acquire(&listener->inside))
		return 0;
	reg = dkc_registry_locked(listener->registry);
	ls = listeners_of(reg);
	if (ls && is_running_here(ls, listener)) {
		mutex_unlock(&reg->lock);
		return -EDEADLK;
	}
	if (ls)
		listener_remove(ls, listener);
	mutex_unlock(&reg->lock);
	/* wait even if another caller has removed the listener: it may still be running */
	dkc_wait_zero(&listener->inside);
	return 0;
}

static bool is_owned(const struct dk_listener *l, dkc_owns_fn owns, const void *owner)
{
	return l && (owns(owner, (uintptr_t)l->notify) || owns(owner, (uintptr_t)l));
}

/* Returns a registered listener of the owner or, if there is none, the running one; or NULL. */
static struct dk_listener *listener_of(const struct dkc_listeners *ls, dkc_owns_fn owns,
				       const void *owner)
{
	struct dk_listener *l = ls->first;

	while (l && !is_owned(l, owns, owner))
		l = l->next;
	return l ? l : is_owned(ls->running, owns, owner) ? ls->running : NULL;
}

bool dkc_listener_visit(struct dk_registry *reg, dkc_owns_fn owns, const void *owner)
{
	struct dkc_listeners *ls;
	bool has;

	mutex_lock(&reg->lock);
	ls = listeners_of(reg);
	has = ls && listener_of(ls, owns, owner);
	reg->visitors += has;
	mutex_unlock(&reg->lock);
	return has;
}

int dkc_listener_unregister_owned(struct dk_registry *reg, dkc_owns_fn owns, const void *owner)
{
	struct dkc_listeners *ls;
	struct dk_listener *l;
	int err = -ENOENT;

	mutex_lock(&reg->lock);
	ls = listeners_of(reg);
	l = ls ? listener_of(ls, owns, owner) : NULL;
	if (l && is_running_here(ls, l))
		err = -EDEADLK;
	else if (l)
		err = listener_remove(ls, l) ? 0 : -EBUSY;
	mutex_unlock(&reg->lock);
	return err;
}
