// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Listeners. Who changes the registry puts the news into a queue under the
 * lock, and tells when the lock is free; one tells at a time, in the order of
 * the queue, and who finds somebody telling leaves his news to him. No change
 * fails for its news: what finds no memory is counted, and the sum is told behind
 * the queue.
 */
#include "registry.h"

struct dkc_news *dkc_news_make(const char *name, u32 kind, u32 key, bool may_sleep)
{
	size_t len = dkc_strlen(name);
	struct dkc_news *n = dkc_get(sizeof(*n) + len + 1, may_sleep);

	if (n) {
		n->kind = kind;
		n->key = key;
		memcpy(n->name, name, len + 1);
	}
	return n;
}

/* Put them, newest first, into the queue; who has no listener forgets them. */
void dkc_news_put(struct dk_registry *reg, struct dkc_news *newest)
{
	struct dkc_news *oldest = NULL, *n;

	while ((n = newest)) {
		newest = n->next;
		n->next = oldest;
		oldest = n;
	}
	if (!reg->listeners) {
		dkc_news_free(oldest);
		return;
	}
	while ((n = oldest)) {
		oldest = n->next;
		n->next = NULL;
		n->number = ++reg->news_number;
		if (reg->news)
			reg->last_news->next = n;
		else
			dkc_store(reg->news, n);
		reg->last_news = n;
	}
}

/* So many found no memory. */
void dkc_news_lose(struct dk_registry *reg, u32 n)
{
	if (n && reg->listeners)
		dkc_store(reg->news_lost, reg->news_lost + n);
}

void dkc_news_free(struct dkc_news *n)
{
	struct dkc_news *next;

	for (; n; n = next) {
		next = n->next;
		dkc_free(n);
	}
}

static struct dk_listener *dkc_next_to_tell(struct dk_registry *reg, u64 number,
					    const struct dk_listener *only)
{
	struct dk_listener *l = reg->listeners;

	while (l && (l->last >= number || (only && only != l)))
		l = l->next;
	return l;
}

/* Tell all; the lock is given back meanwhile, and the listeners may change. */
static void dkc_tell_all(struct dk_registry *reg, const struct dk_event *event,
			 u64 number, const struct dk_listener *only)
{
	struct dk_listener *l;

	while ((l = dkc_next_to_tell(reg, number, only))) {
		l->last = number;
		dkc_store(l->inside, 1);
		reg->told = l;
		dkc_mutex_unlock(&reg->lock);
		l->told(l, event);
		dkc_mutex_lock(&reg->lock);
		reg->told = NULL;
		/* the last we see of one that is being unregistered */
		dkc_clear_and_wake(&l->inside);
	}
}

static void dkc_tell_queue(struct dk_registry *reg)
{
	struct dk_event event = { .size = sizeof(event) };
	struct dkc_news *n;

	while ((n = reg->news)) {
		dkc_store(reg->news, n->next);
		event.kind = n->kind;
		event.name = n->name;
		event.key = n->key;
		dkc_tell_all(reg, &event, n->number, n->only);
		dkc_free(n);
	}
}

static void dkc_tell_lost(struct dk_registry *reg)
{
	const struct dk_event event = {
		.size = sizeof(event), .kind = DK_EVENT_LOST, .name = "",
		.key = reg->news_lost,
	};

	dkc_store(reg->news_lost, 0);
	dkc_tell_all(reg, &event, ++reg->news_number, NULL);
}

/* No lock is held. A thread that is cancelled meanwhile ends when all is told. */
void dkc_news_tell(struct dk_registry *reg)
{
	int cancel;

	if (!dkc_load(reg->news) && !dkc_load(reg->news_lost))
		return;
	dkc_cancel_off(&cancel);
	dkc_mutex_lock(&reg->lock);
	if (!reg->teller) {
		reg->teller = dkc_self();
		while (reg->news || reg->news_lost) {
			dkc_tell_queue(reg);
			if (reg->news_lost)
				dkc_tell_lost(reg);
		}
		reg->teller = NULL;
	}
	dkc_mutex_unlock(&reg->lock);
	dkc_cancel_on(cancel);
}

/*
 * The lock is held. Who was telling is not in the child, unless it is the
 * child, and will not come back from the listener that it was in.
 */
void dkc_news_after_fork(struct dk_registry *reg)
{
	if (reg->teller == dkc_self())
		return;
	reg->teller = NULL;
	if (reg->told)
		reg->told->inside = 0;
	reg->told = NULL;
}

static bool dkc_is_listening(const struct dk_registry *reg,
			     const struct dk_listener *listener)
{
	const struct dk_listener *l = reg->listeners;

	while (l && l != listener)
		l = l->next;
	return l;
}

/* What a listener begins with: all operators that are defined. */
static int dkc_first_news(struct dk_registry *reg, const struct dk_listener *only,
			  struct dkc_news **news)
{
	struct dkc_news *n;
	struct dk_op *op;
	u32 pos = 0;

	while ((op = dkc_op_next(reg, &pos))) {
		if (!op->definer)
			continue;
		n = dkc_news_make(op->name, DK_EVENT_DEFINED, 0, true);
		if (!n)
			return -ENOMEM;
		n->only = only;
		n->next = *news;
		*news = n;
	}
	return 0;
}

static int dkc_listen(struct dk_registry *reg, struct dk_listener *l,
		      struct dk_diag *why)
{
	struct dkc_news *news = NULL;

	if (reg->shutdown)
		return dkc_refuse(why, DK_WHY_SHUTDOWN, NULL);
	if (dkc_is_listening(reg, l) || reg->told == l)
		return dkc_refuse(why, DK_WHY_LISTENING, NULL);
	if (dkc_first_news(reg, l, &news)) {
		dkc_news_free(news);
		return dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	}
	l->inside = 0;
	/* news that are older are not for this one, also if another one had its address */
	l->last = reg->news_number;
	l->next = reg->listeners;
	reg->listeners = l;
	dkc_news_put(reg, news);
	dkc_remark(why, DK_WHY_NONE, NULL);
	return 0;
}

int dk_listener_register(struct dk_listener *listener, struct dk_diag *why)
{
	struct dk_registry *reg = dkc_registry(listener->registry);
	int err;

	if (listener->size != sizeof(*listener))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_listener");
	if (!listener->told)
		return dkc_refuse(why, DK_WHY_NO_LISTENER, NULL);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
	dkc_mutex_lock(&reg->lock);
	err = dkc_listen(reg, listener, why);
	dkc_mutex_unlock(&reg->lock);
	if (!err)
		dkc_news_tell(reg);
	return err;
}

int dk_listener_unregister(struct dk_listener *listener)
{
	struct dk_registry *reg = dkc_registry(listener->registry);
	struct dk_listener **p;

	if (!reg)
		return 0;
	/* whom we wait for may be waiting for our read section */
	if (dkc_in_atomic())
		return -EDEADLK;
	dkc_mutex_lock(&reg->lock);
	if (reg->told == listener && reg->teller == dkc_self()) {
		dkc_mutex_unlock(&reg->lock);
		return -EDEADLK;
	}
	p = &reg->listeners;
	while (*p && *p != listener)
		p = &(*p)->next;
	if (*p)
		*p = listener->next;
	dkc_mutex_unlock(&reg->lock);
	/* also if another caller has taken it out, and waits */
	dkc_wait_zero(&listener->inside);
	return 0;
}

struct dk_listener *dkc_listener_of(struct dk_registry *reg, dkc_owns_fn owns,
				    const void *owner)
{
	struct dk_listener *l = reg->listeners;

	while (l && !owns(owner, (uintptr_t)l->told) && !owns(owner, (uintptr_t)l))
		l = l->next;
	return l;
}

bool dkc_listener_leave(struct dk_registry *reg, dkc_owns_fn owns, const void *owner)
{
	struct dk_listener *l;

	dkc_mutex_lock(&reg->lock);
	l = dkc_listener_of(reg, owns, owner);
	dkc_mutex_unlock(&reg->lock);
	return l && !dk_listener_unregister(l);
}
