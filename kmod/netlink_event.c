// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: changes of the registry are sent to a multicast group. An event is queued in a
 * preallocated ring, so that queueing never sleeps, allocates or fails. A delayed work item sends
 * the event some milliseconds later. Repeated events about the same object are merged into one
 * message with a count.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "netlink.h"

#define RING_SIZE	1024
#define MERGE_WINDOW	8u	/* number of newest events with which an event can be merged */
#define SEND_DELAY	msecs_to_jiffies(10)
#define RETRY_DELAY	msecs_to_jiffies(100)	/* after an allocation has failed */

struct dk_nl_event {
	u64 time;
	u64 generation;
	u8 kind;		/* of enum dk_nl_event_kind */
	u8 subject;		/* what changed, as the kind of the event that adds it */
	bool online;
	u32 number;
	u32 key;		/* 0: none, or several keys */
	u32 count;		/* number of events that were merged into this one */
	char name[DK_NAME_MAX];		/* empty: a backend fallback */
	char provider[DK_NAME_MAX];	/* empty: changed by an administrator */
	char key_name[DK_NAME_MAX];
};

static struct {
	spinlock_t lock;	/* protects the members below */
	struct dk_nl_event *ring;
	u32 oldest;		/* index of the oldest event in @ring */
	u32 n;			/* number of queued events */
	u32 lost;		/* events lost since the last report */
	u64 lost_generation;	/* of the last lost event */
} events = {
	.lock = __SPIN_LOCK_UNLOCKED(events.lock),
};

static void send_events(struct work_struct *work);
static DECLARE_DELAYED_WORK(event_work, send_events);

static const struct {
	u8 kind;
	u8 subject;
} event_kinds[] = {
	[DKC_OP_DEFINED] = { DK_NL_EVENT_OP_ADDED, DK_NL_EVENT_OP_ADDED },
	[DKC_OP_UNDEFINED] = { DK_NL_EVENT_OP_REMOVED, DK_NL_EVENT_OP_ADDED },
	[DKC_IMPL_ADDED] = { DK_NL_EVENT_IMPL_ADDED, DK_NL_EVENT_IMPL_ADDED },
	[DKC_IMPL_REMOVED] = { DK_NL_EVENT_IMPL_REMOVED, DK_NL_EVENT_IMPL_ADDED },
	[DKC_BACKEND_BOUND] = { DK_NL_EVENT_BACKEND_ADDED, DK_NL_EVENT_BACKEND_ADDED },
	[DKC_BACKEND_RELEASED] = { DK_NL_EVENT_BACKEND_REMOVED, DK_NL_EVENT_BACKEND_ADDED },
	[DKC_BACKEND_STATE] = { DK_NL_EVENT_BACKEND_STATE, DK_NL_EVENT_BACKEND_ADDED },
	[DKC_DEVICE_ADDED] = { DK_NL_EVENT_DEVICE_ADDED, DK_NL_EVENT_DEVICE_ADDED },
	[DKC_DEVICE_REMOVED] = { DK_NL_EVENT_DEVICE_REMOVED, DK_NL_EVENT_DEVICE_ADDED },
	[DKC_DEVICE_STATE] = { DK_NL_EVENT_DEVICE_STATE, DK_NL_EVENT_DEVICE_ADDED },
	[DKC_PROVIDER_ADDED] = { DK_NL_EVENT_PROVIDER_ADDED, DK_NL_EVENT_PROVIDER_ADDED },
	[DKC_PROVIDER_UNREGISTERING] = {
		DK_NL_EVENT_PROVIDER_UNREGISTERING, DK_NL_EVENT_PROVIDER_ADDED
	},
	[DKC_PROVIDER_REMOVED] = { DK_NL_EVENT_PROVIDER_REMOVED, DK_NL_EVENT_PROVIDER_ADDED },
};

/* ---- queueing ----------------------------------------------------------------- */

/* Returns the @i-th oldest event. Called with events.lock held. */
static struct dk_nl_event *event_at(u32 i)
{
	return &events.ring[(events.oldest + i) % RING_SIZE];
}

/*
 * Sets *@at to the index of the queued event with which @e is merged: the last event about the same
 * object, if that event has the same kind and provider as @e. Returns false if there is none.
 */
static bool event_to_merge(const struct dk_nl_event *e, u32 *at)
{
	u32 i, first = events.n - min(events.n, MERGE_WINDOW);

	lockdep_assert_held(&events.lock);
	for (i = events.n; i > first; i--) {
		const struct dk_nl_event *old = event_at(i - 1);

		if (old->subject != e->subject || old->number != e->number ||
		    strcmp(old->name, e->name))
			continue;
		*at = i - 1;
		return old->kind == e->kind && !strcmp(old->provider, e->provider);
	}
	return false;
}

/* Replaces the event at index @at by the newest event, which stands for both. */
static void event_merge(u32 at, const struct dk_nl_event *e)
{
	const struct dk_nl_event *old = event_at(at);
	u32 count = old->count + e->count;
	bool same_key = old->key == e->key;
	struct dk_nl_event *newest;

	lockdep_assert_held(&events.lock);
	for (; at + 1 < events.n; at++)
		*event_at(at) = *event_at(at + 1);
	newest = event_at(at);
	*newest = *e;
	newest->count = count;
	if (!same_key)
		newest->key = 0;
}

/* Adds the events that @e represents to the number of lost events, which send_events() reports. */
static void event_drop(const struct dk_nl_event *e)
{
	spin_lock(&events.lock);
	events.lost += min(e->count, U32_MAX - events.lost);
	events.lost_generation = max(e->generation, events.lost_generation);
	spin_unlock(&events.lock);
}

/* Queues an event. Returns the number of queued events. */
static u32 event_add(const struct dk_nl_event *e)
{
	bool full = false;
	u32 n, at;

	spin_lock(&events.lock);
	if (event_to_merge(e, &at))
		event_merge(at, e);
	else if (events.n < RING_SIZE)
		*event_at(events.n++) = *e;
	else
		full = true;
	n = events.n;
	spin_unlock(&events.lock);
	if (full)
		event_drop(e);
	return n;
}

/* Called with the registry's lock held; must not block. */
static void event_queue(const struct dkc_event *event)
{
	struct dk_nl_event e = {
		.time = ktime_get_real_ns(),
		.generation = event->reg->generation,
		.kind = event_kinds[event->kind].kind,
		.subject = event_kinds[event->kind].subject,
		.number = event->number,
		.key = event->key,
		.count = 1,
		.online = event->online,
	};

	strscpy(e.name, event->name ?: "", sizeof(e.name));
	strscpy(e.provider, event->provider ?: "", sizeof(e.provider));
	if (e.key)
		dkc_key_text(event->reg, e.key, e.key_name);
	/* send at once when the ring becomes half full */
	if (event_add(&e) == RING_SIZE / 2)
		mod_delayed_work(system_unbound_wq, &event_work, 0);
	else
		queue_delayed_work(system_unbound_wq, &event_work, SEND_DELAY);
}

/* Called with the registry's lock held. */
static void notify(struct dkc_notifier *self, const struct dkc_event *event)
{
	if (event->kind == DKC_DEVICE_STATE || event->kind == DKC_BACKEND_STATE)
		pr_info("%s %s is %s\n",
			event->kind == DKC_DEVICE_STATE ? "device" : "backend",
			event->name, event->online ? "online" : "offline");
	if (genl_has_listeners(&dk_nl_family, &init_net, DISPATCHKEY_NLGRP_CHANGES))
		event_queue(event);
}

static struct dkc_notifier notifier = { .notify = notify };

/* ---- sending ------------------------------------------------------------------ */

/*
 * Takes the oldest event. If no event is queued but events were lost, makes an event with the
 * number of lost events. Returns false if there is neither.
 */
static bool event_take(struct dk_nl_event *e)
{
	bool any = true;

	spin_lock(&events.lock);
	if (events.n) {
		*e = *event_at(0);
		events.oldest = (events.oldest + 1) % RING_SIZE;
		events.n--;
	} else if (events.lost) {
		*e = (struct dk_nl_event){
			.time = ktime_get_real_ns(),
			.generation = events.lost_generation,
			.kind = DK_NL_EVENT_LOST,
			.count = events.lost,
		};
		events.lost = 0;
	} else {
		any = false;
	}
	spin_unlock(&events.lock);
	return any;
}

static int put_subject(struct sk_buff *skb, const struct dk_nl_event *e)
{
	if (dk_nl_put_text(skb, DK_A_EVENT_NAME, e->name) ||
	    (e->number && dk_nl_put_u32(skb, DK_A_EVENT_NUMBER, e->number)))
		return -EMSGSIZE;
	if (e->key &&
	    (dk_nl_put_u32(skb, DK_A_EVENT_KEY, e->key) ||
	     dk_nl_put_text(skb, DK_A_EVENT_KEY_NAME, e->key_name)))
		return -EMSGSIZE;
	if (e->kind == DK_NL_EVENT_BACKEND_STATE || e->kind == DK_NL_EVENT_DEVICE_STATE)
		return dk_nl_put_state(skb, DK_A_EVENT_STATE, e->online);
	return 0;
}

static int fill_event(struct sk_buff *skb, const struct dk_nl_event *e)
{
	void *header = genlmsg_put(skb, 0, 0, &dk_nl_family, 0, DK_CMD_EVENT);

	if (!header)
		return -EMSGSIZE;
	if (dk_nl_put_u32(skb, DK_A_EVENT_KIND, e->kind) || put_subject(skb, e) ||
	    dk_nl_put_text(skb, DK_A_EVENT_PROVIDER, e->provider) ||
	    dk_nl_put_u32(skb, DK_A_EVENT_COUNT, e->count) ||
	    dk_nl_put_u64(skb, DK_A_EVENT_TIME, e->time, DK_A_EVENT_PAD) ||
	    dk_nl_put_u64(skb, DK_A_EVENT_GENERATION, e->generation, DK_A_EVENT_PAD)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

/* Consumes @skb, which may be NULL. A receiver that is too slow gets ENOBUFS from its socket. */
static void multicast(struct sk_buff *skb)
{
	if (skb)
		genlmsg_multicast(&dk_nl_family, skb, 0, DISPATCHKEY_NLGRP_CHANGES, GFP_KERNEL);
}

/*
 * Sends the queued events, as many in one buffer as fit. Does not take the registry's lock, so
 * events can be sent while the registry changes.
 */
static void send_events(struct work_struct *work)
{
	struct sk_buff *skb = NULL;
	struct dk_nl_event e;

	while (event_take(&e)) {
		if (skb && !fill_event(skb, &e))
			continue;
		multicast(skb);
		skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
		if (!skb || fill_event(skb, &e)) {
			nlmsg_free(skb);
			event_drop(&e);
			queue_delayed_work(system_unbound_wq, &event_work, RETRY_DELAY);
			return;
		}
		cond_resched();
	}
	multicast(skb);
}

void dk_nl_event_limit(struct dk_limit *limit)
{
	limit->name = "queued-events";
	limit->most = RING_SIZE;
	limit->used = READ_ONCE(events.n);
	limit->has_used = true;
}

int dk_nl_events_begin(void)
{
	struct dk_registry *reg = dk_registry_default();

	events.ring = kvcalloc(RING_SIZE, sizeof(*events.ring), GFP_KERNEL);
	if (!events.ring)
		return -ENOMEM;
	mutex_lock(&reg->lock);
	dkc_notifier_add(reg, &notifier);
	mutex_unlock(&reg->lock);
	return 0;
}

void dk_nl_events_end(void)
{
	struct dk_registry *reg = dk_registry_default();

	mutex_lock(&reg->lock);
	dkc_notifier_remove(reg, &notifier);
	mutex_unlock(&reg->lock);
	/* send the queued events now: if they were dropped, no later event could report the loss */
	flush_delayed_work(&event_work);
	/* if there was no memory for a message, the work item has queued itself again */
	cancel_delayed_work_sync(&event_work);
	kvfree(events.ring);
}
