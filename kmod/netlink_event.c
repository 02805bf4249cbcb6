// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens in the registry is told to a multicast group. Whoever changes the
 * registry puts it into a ring that is there from the beginning, so that no
 * change waits, allocates or fails for it; a work tells it some milliseconds
 * later. What happens to one thing again and again meanwhile is told once.
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

#define DK_NL_RING_SIZE		1024
#define DK_NL_LOOK_BACK		8u	/* events that one may be joined with */
#define DK_NL_WAIT		msecs_to_jiffies(10)
#define DK_NL_WAIT_MEMORY	msecs_to_jiffies(100)

struct dk_nl_event {
	u64 time;
	u64 generation;
	u32 kind;		/* of enum dk_nl_event_kind */
	u32 number;
	u32 key;		/* 0: none, or several */
	u32 count;
	bool online;
	char name[DK_NAME_MAX];	/* empty: of a backend fallback */
	char provider[DK_NAME_MAX];	/* empty: an administrator's doing */
	char key_name[DK_NAME_MAX];
};

static struct {
	spinlock_t lock;	/* of all that follows, for a few instructions */
	struct dk_nl_event *ring;
	u32 oldest;
	u32 n;
	u32 lost;
	u64 lost_generation;	/* of the last of them */
} dk_nl_events = {
	.lock = __SPIN_LOCK_UNLOCKED(dk_nl_events.lock),
};

static void dk_nl_tell_all(struct work_struct *work);
static DECLARE_DELAYED_WORK(dk_nl_teller, dk_nl_tell_all);

static const struct {
	u8 kind;
	u8 subject;		/* kinds that have the same one are of one thing */
} dk_nl_seen[] = {
	[DKC_OP_CAME] = { DK_NL_EVENT_OP_CAME, DK_NL_EVENT_OP_CAME },
	[DKC_OP_WENT] = { DK_NL_EVENT_OP_WENT, DK_NL_EVENT_OP_CAME },
	[DKC_IMPL_CAME] = { DK_NL_EVENT_IMPL_CAME, DK_NL_EVENT_IMPL_CAME },
	[DKC_IMPL_WENT] = { DK_NL_EVENT_IMPL_WENT, DK_NL_EVENT_IMPL_CAME },
	[DKC_BACKEND_CAME] = { DK_NL_EVENT_BACKEND_CAME, DK_NL_EVENT_BACKEND_CAME },
	[DKC_BACKEND_WENT] = { DK_NL_EVENT_BACKEND_WENT, DK_NL_EVENT_BACKEND_CAME },
	[DKC_BACKEND_STATE] = { DK_NL_EVENT_BACKEND_STATE, DK_NL_EVENT_BACKEND_CAME },
	[DKC_DEVICE_CAME] = { DK_NL_EVENT_DEVICE_CAME, DK_NL_EVENT_DEVICE_CAME },
	[DKC_DEVICE_WENT] = { DK_NL_EVENT_DEVICE_WENT, DK_NL_EVENT_DEVICE_CAME },
	[DKC_DEVICE_STATE] = { DK_NL_EVENT_DEVICE_STATE, DK_NL_EVENT_DEVICE_CAME },
};

/* ---- into the ring ------------------------------------------------------------ */

static struct dk_nl_event *dk_nl_slot(u32 i)
{
	return &dk_nl_events.ring[(dk_nl_events.oldest + i) % DK_NL_RING_SIZE];
}

static u8 dk_nl_subject(u32 kind)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(dk_nl_seen); i++)
		if (dk_nl_seen[i].kind == kind)
			return dk_nl_seen[i].subject;
	return kind;
}

/*
 * One that has just happened to the same thing, so that both can be told as one;
 * NULL if there is none, or something else has happened to it since.
 */
static struct dk_nl_event *dk_nl_last_like(const struct dk_nl_event *e)
{
	u32 i, first = dk_nl_events.n - min(dk_nl_events.n, DK_NL_LOOK_BACK);

	for (i = dk_nl_events.n; i > first; i--) {
		struct dk_nl_event *old = dk_nl_slot(i - 1);

		if (dk_nl_subject(old->kind) != dk_nl_subject(e->kind) ||
		    old->number != e->number || strcmp(old->name, e->name))
			continue;
		return old->kind == e->kind && !strcmp(old->provider, e->provider) ?
			old : NULL;
	}
	return NULL;
}

static void dk_nl_join(struct dk_nl_event *old, const struct dk_nl_event *e)
{
	if (old->key != e->key)
		old->key = 0;
	old->time = e->time;
	old->generation = e->generation;
	old->online = e->online;
	old->count += e->count;
}

static void dk_nl_lose(const struct dk_nl_event *e)
{
	spin_lock(&dk_nl_events.lock);
	dk_nl_events.lost += min(e->count, U32_MAX - dk_nl_events.lost);
	dk_nl_events.lost_generation = max(e->generation,
					   dk_nl_events.lost_generation);
	spin_unlock(&dk_nl_events.lock);
}

/* How many are in the ring now. */
static u32 dk_nl_add(const struct dk_nl_event *e)
{
	struct dk_nl_event *old;
	bool full = false;
	u32 n;

	spin_lock(&dk_nl_events.lock);
	old = dk_nl_last_like(e);
	if (old)
		dk_nl_join(old, e);
	else if (dk_nl_events.n < DK_NL_RING_SIZE)
		*dk_nl_slot(dk_nl_events.n++) = *e;
	else
		full = true;
	n = dk_nl_events.n;
	spin_unlock(&dk_nl_events.lock);
	if (full)
		dk_nl_lose(e);
	return n;
}

static void dk_nl_note(const struct dkc_sight *sight)
{
	struct dk_nl_event e = {
		.time = ktime_get_real_ns(),
		.generation = sight->reg->generation,
		.kind = dk_nl_seen[sight->kind].kind,
		.number = sight->number,
		.key = sight->key,
		.count = 1,
		.online = sight->online,
	};

	strscpy(e.name, sight->name ?: "", sizeof(e.name));
	strscpy(e.provider, sight->provider ?: "", sizeof(e.provider));
	if (e.key)
		dkc_key_text(sight->reg, e.key, e.key_name);
	/* where there is little room left, there is no time to wait */
	if (dk_nl_add(&e) == DK_NL_RING_SIZE / 2)
		mod_delayed_work(system_unbound_wq, &dk_nl_teller, 0);
	else
		queue_delayed_work(system_unbound_wq, &dk_nl_teller, DK_NL_WAIT);
}

/* Called with the registry's lock held. */
static void dk_nl_saw(struct dkc_watcher *self, const struct dkc_sight *sight)
{
	if (sight->kind == DKC_DEVICE_STATE || sight->kind == DKC_BACKEND_STATE)
		pr_info("%s %s is %s\n",
			sight->kind == DKC_DEVICE_STATE ? "device" : "backend",
			sight->name, sight->online ? "online" : "offline");
	if (genl_has_listeners(&dk_nl_family, &init_net, DISPATCHKEY_NLGRP_CHANGES))
		dk_nl_note(sight);
}

static struct dkc_watcher dk_nl_watcher = { .saw = dk_nl_saw };

/* ---- and out of it ------------------------------------------------------------ */

/* The oldest, or behind all of them how many are lost; false if there is none. */
static bool dk_nl_take(struct dk_nl_event *e)
{
	bool any = true;

	spin_lock(&dk_nl_events.lock);
	if (dk_nl_events.n) {
		*e = *dk_nl_slot(0);
		dk_nl_events.oldest = (dk_nl_events.oldest + 1) % DK_NL_RING_SIZE;
		dk_nl_events.n--;
	} else if (dk_nl_events.lost) {
		*e = (struct dk_nl_event){
			.time = ktime_get_real_ns(),
			.generation = dk_nl_events.lost_generation,
			.kind = DK_NL_EVENT_LOST,
			.count = dk_nl_events.lost,
		};
		dk_nl_events.lost = 0;
	} else {
		any = false;
	}
	spin_unlock(&dk_nl_events.lock);
	return any;
}

static int dk_nl_put_thing(struct sk_buff *skb, const struct dk_nl_event *e)
{
	if ((e->name[0] && nla_put_string(skb, DK_A_EVENT_NAME, e->name)) ||
	    (e->number && nla_put_u32(skb, DK_A_EVENT_NUMBER, e->number)))
		return -EMSGSIZE;
	if (e->key &&
	    (nla_put_u32(skb, DK_A_EVENT_KEY, e->key) ||
	     nla_put_string(skb, DK_A_EVENT_KEY_NAME, e->key_name)))
		return -EMSGSIZE;
	if (e->kind == DK_NL_EVENT_BACKEND_STATE || e->kind == DK_NL_EVENT_DEVICE_STATE)
		return nla_put_u8(skb, DK_A_EVENT_STATE, dk_nl_state(e->online));
	return 0;
}

static int dk_nl_put_event(struct sk_buff *skb, const struct dk_nl_event *e)
{
	void *header = genlmsg_put(skb, 0, 0, &dk_nl_family, 0, DK_CMD_EVENT);

	if (!header)
		return -EMSGSIZE;
	if (nla_put_u32(skb, DK_A_EVENT_KIND, e->kind) || dk_nl_put_thing(skb, e) ||
	    (e->provider[0] && nla_put_string(skb, DK_A_EVENT_PROVIDER, e->provider)) ||
	    nla_put_u32(skb, DK_A_EVENT_COUNT, e->count) ||
	    nla_put_u64_64bit(skb, DK_A_EVENT_TIME, e->time, DK_A_EVENT_PAD) ||
	    nla_put_u64_64bit(skb, DK_A_EVENT_GENERATION, e->generation,
			      DK_A_EVENT_PAD)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

/* Who is too slow for them finds it out by his socket (ENOBUFS). */
static void dk_nl_send(struct sk_buff *skb)
{
	if (skb)
		genlmsg_multicast(&dk_nl_family, skb, 0, DISPATCHKEY_NLGRP_CHANGES,
				  GFP_KERNEL);
}

/*
 * As many events as fit go into one buffer. It takes no lock of the registry, and
 * so goes on while much is changed at once.
 */
static void dk_nl_tell_all(struct work_struct *work)
{
	struct sk_buff *skb = NULL;
	struct dk_nl_event e;

	while (dk_nl_take(&e)) {
		if (skb && !dk_nl_put_event(skb, &e))
			continue;
		dk_nl_send(skb);
		skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
		if (!skb || dk_nl_put_event(skb, &e)) {
			nlmsg_free(skb);
			dk_nl_lose(&e);
			queue_delayed_work(system_unbound_wq, &dk_nl_teller,
					   DK_NL_WAIT_MEMORY);
			return;
		}
		cond_resched();
	}
	dk_nl_send(skb);
}

void dk_nl_event_limit(struct dk_limit *limit)
{
	limit->name = "queued-events";
	limit->most = DK_NL_RING_SIZE;
	limit->used = READ_ONCE(dk_nl_events.n);
	limit->has_used = true;
}

int dk_nl_events_init(void)
{
	dk_nl_events.ring = kvcalloc(DK_NL_RING_SIZE, sizeof(*dk_nl_events.ring),
				     GFP_KERNEL);
	return dk_nl_events.ring ? 0 : -ENOMEM;
}

void dk_nl_events_begin(void)
{
	dkc_watch(dk_registry_default(), &dk_nl_watcher);
}

void dk_nl_events_end(void)
{
	dkc_watch(dk_registry_default(), NULL);
	cancel_delayed_work_sync(&dk_nl_teller);
}

void dk_nl_events_exit(void)
{
	kvfree(dk_nl_events.ring);
}
