// SPDX-License-Identifier: GPL-2.0-only
/*
 * Defines the commands that list backends, devices and providers. Other commands defined here take
 * backends and devices offline or bring them online, and release the names of backends.
 */
#include "netlink.h"

#define MAX_PROVIDER_NAMES	16	/* in the message about a backend */
#define MAX_CALLS_INSIDE	8	/* in the message about a provider */
/*
 * The longest time that one request waits for calls on the backend or device that the request takes
 * offline. The wait for a grace period is not included. If a generic netlink family is registered
 * or unregistered during this wait, all generic netlink requests of the machine wait, too.
 */
#define DRAIN_TIMEOUT_MS	1000

/* ---- backends ----------------------------------------------------------------- */

/*
 * Adds the names of at most MAX_PROVIDER_NAMES providers that have joined a backend. This number of
 * names fits in any message.
 */
static int put_provider_names(struct sk_buff *skb, unsigned int backend)
{
	struct dk_provider_info prov = { .size = sizeof(prov) };
	unsigned int n = 0;

	while (n < MAX_PROVIDER_NAMES &&
	       !dk_registry_next_provider(NULL, prov.number, &prov)) {
		cond_resched();
		if (!(prov.backends.bits & dkc_backend_bit(backend)))
			continue;
		if (dk_nl_put_text(skb, DK_A_BACKEND_PROVIDER, prov.name))
			return -EMSGSIZE;
		n++;
	}
	return 0;
}

static int fill_backend(struct sk_buff *skb, const struct dk_backend_info *b)
{
	if (dk_nl_put_u32(skb, DK_A_BACKEND_NUMBER, b->number) ||
	    dk_nl_put_text(skb, DK_A_BACKEND_NAME, b->name) ||
	    dk_nl_put_text(skb, DK_A_BACKEND_KEY_NAME, b->own_name) ||
	    dk_nl_put_state(skb, DK_A_BACKEND_STATE, b->is_online) ||
	    (b->is_bound && nla_put_flag(skb, DK_A_BACKEND_BOUND)) ||
	    (b->is_alone && nla_put_flag(skb, DK_A_BACKEND_ALONE)) ||
	    dk_nl_put_u32(skb, DK_A_BACKEND_DEVICES, b->devices) ||
	    dk_nl_put_u32(skb, DK_A_BACKEND_IMPLS, b->impls) ||
	    dk_nl_put_u32(skb, DK_A_BACKEND_PROVIDERS, b->providers))
		return -EMSGSIZE;
	return b->providers ? put_provider_names(skb, b->number) : 0;
}

int dispatchkey_nl_backend_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_backend_info backend = { .size = sizeof(backend) };
	unsigned int number;
	int err;

	err = dk_nl_find_backend(info->attrs[DK_A_BACKEND_NUMBER],
				 info->attrs[DK_A_BACKEND_NAME], info->extack, &number);
	if (!err)
		err = dk_registry_backend(NULL, number, &backend);
	if (err)
		return err;
	skb = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE);
	return dk_nl_reply(info, skb, skb ? fill_backend(skb, &backend) : -ENOMEM);
}

int dispatchkey_nl_backend_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dk_backend_info backend = { .size = sizeof(backend) };
	struct nlattr *attrs[DK_A_BACKEND_NAME + 1];
	long *last = &cb->args[0];
	void *header;
	int err;

	err = dk_nl_dump_begin(cb, attrs, DK_A_BACKEND_NAME);
	if (!err)
		err = dk_nl_forbid(cb->extack,
				   attrs[DK_A_BACKEND_NUMBER] ?: attrs[DK_A_BACKEND_NAME],
				   "a dump lists all backends: a number or a name is not allowed");
	while (!err && !dk_registry_backend(NULL, *last + 1, &backend)) {
		header = dk_nl_message_begin(skb, cb);
		err = dk_nl_message_end(skb, header,
					header ? fill_backend(skb, &backend) : -EMSGSIZE);
		*last += !err;
	}
	dk_nl_dump_compare(cb);
	return dk_nl_dump_end(skb, err);
}

int dispatchkey_nl_backend_release_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *name = info->attrs[DK_A_BACKEND_NAME];
	struct dk_diag why = { .size = sizeof(why) };
	int err;

	err = dk_nl_require(info->extack, info->attrs, DK_A_BACKEND_NAME,
			    "the name of the backend is missing");
	if (err)
		return err;
	err = dk_backend_release(NULL, nla_data(name), &why);
	return err ? dk_nl_deny(info->extack, name, why.text, err) : 0;
}

/* ---- devices ------------------------------------------------------------------ */

static int fill_device(struct sk_buff *skb, const struct dk_device_info *d)
{
	if (dk_nl_put_u32(skb, DK_A_DEVICE_NUMBER, d->number) ||
	    dk_nl_put_text(skb, DK_A_DEVICE_NAME, d->name) ||
	    dk_nl_put_u32(skb, DK_A_DEVICE_BACKEND, d->backend) ||
	    dk_nl_put_text(skb, DK_A_DEVICE_BACKEND_NAME, d->backend_name) ||
	    dk_nl_put_text(skb, DK_A_DEVICE_PROVIDER, d->provider) ||
	    dk_nl_put_state(skb, DK_A_DEVICE_STATE, d->is_online) ||
	    dk_nl_put_state(skb, DK_A_DEVICE_BACKEND_STATE, d->backend_online) ||
	    dk_nl_put_u32(skb, DK_A_DEVICE_IMPLS, d->impls))
		return -EMSGSIZE;
	return 0;
}

int dispatchkey_nl_device_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_device_info device = { .size = sizeof(device) };
	u32 number;
	int err;

	err = dk_nl_forbid(info->extack, info->attrs[DK_A_DEVICE_BACKEND],
			   "this filter is allowed only in a dump");
	if (!err)
		err = dk_nl_find_device(info->attrs[DK_A_DEVICE_NUMBER],
					info->attrs[DK_A_DEVICE_NAME], info->extack,
					&number);
	if (err)
		return err;
	if (dk_registry_device(NULL, number, &device))
		return dk_nl_deny(info->extack, info->attrs[DK_A_DEVICE_NUMBER],
				  dk_reason_text(DK_WHY_NO_DEVICE), -ENODEV);
	skb = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE);
	return dk_nl_reply(info, skb, skb ? fill_device(skb, &device) : -ENOMEM);
}

/* Parses the request of a dump. Sets *@backend if the request is for the devices of one backend. */
static int device_filter(struct netlink_callback *cb, unsigned int *backend)
{
	struct nlattr *attrs[DK_A_DEVICE_BACKEND + 1];
	int err;

	err = dk_nl_dump_begin(cb, attrs, DK_A_DEVICE_BACKEND);
	if (!err)
		err = dk_nl_forbid(cb->extack,
				   attrs[DK_A_DEVICE_NUMBER] ?: attrs[DK_A_DEVICE_NAME],
				   "a dump lists all devices or those of a backend: a number or a name is not allowed");
	if (!err && attrs[DK_A_DEVICE_BACKEND])
		err = dk_nl_find_backend(attrs[DK_A_DEVICE_BACKEND], NULL, cb->extack, backend);
	return err;
}

int dispatchkey_nl_device_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dk_device_info device = { .size = sizeof(device) };
	unsigned int backend = 0;
	long *last = &cb->args[0];
	void *header;
	int err;

	err = device_filter(cb, &backend);
	while (!err && !dk_registry_next_device(NULL, *last, &device)) {
		if (!backend || device.backend == backend) {
			header = dk_nl_message_begin(skb, cb);
			err = dk_nl_message_end(skb, header,
						header ? fill_device(skb, &device) : -EMSGSIZE);
		}
		if (!err)
			*last = device.number;
	}
	dk_nl_dump_compare(cb);
	return dk_nl_dump_end(skb, err);
}

/* ---- online and offline --------------------------------------------------------- */

/* A command that takes a backend or a device online or offline. */
struct set_command {
	/* numbers of the command's attributes */
	u8 number;
	u8 name;
	u8 state;
	u8 unserved;
	u8 inside;
	int (*find)(const struct nlattr *number, const struct nlattr *name,
		    struct netlink_ext_ack *extack, u32 *found);
	bool is_device;
};

static int set_online(struct genl_info *info, const struct set_command *c)
{
	struct dk_diag why = { .size = sizeof(why) }, inside = { .size = sizeof(inside) };
	struct dkc_switch s = { .is_device = c->is_device, .why = &why, .inside = &inside };
	struct nlattr **attrs = info->attrs, *bad, *name = attrs[c->name];
	struct sk_buff *skb;
	int err;

	err = c->find(attrs[c->number], name, info->extack, &s.number);
	if (!err)
		err = dk_nl_require(info->extack, attrs, c->state, "the new state is missing");
	if (err)
		return err;
	/* allocate the answer first, because a change that is made must also be reported */
	skb = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE);
	if (!skb)
		return -ENOMEM;
	/* the name may belong to another backend by now; numbers of devices are not used again */
	s.backend_name = name && !c->is_device ? nla_data(name) : NULL;
	s.online = nla_get_u8(attrs[c->state]) == DK_NL_STATE_ONLINE;
	s.deadline = dkc_now() + DRAIN_TIMEOUT_MS;
	err = dkc_set_online(&s);
	if (err && err != -ETIMEDOUT) {
		bad = why.reason == DK_WHY_NO_DEVICE ? attrs[c->number] :
		      why.reason == DK_WHY_NO_BACKEND ? name : NULL;
		return dk_nl_reply(info, skb, dk_nl_deny(info->extack, bad, why.text, err));
	}
	if (dk_nl_put_u32(skb, c->number, s.number) || dk_nl_put_text(skb, c->name, s.name) ||
	    dk_nl_put_state(skb, c->state, s.online) ||
	    (why.reason == DK_WHY_UNSERVED && dk_nl_put_text(skb, c->unserved, why.name)) ||
	    (err && dk_nl_put_text(skb, c->inside, inside.name)))
		return dk_nl_reply(info, skb, -EMSGSIZE);
	return dk_nl_reply(info, skb, 0);
}

int dispatchkey_nl_backend_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	static const struct set_command command = {
		.number = DK_A_BACKEND_NUMBER,
		.name = DK_A_BACKEND_NAME,
		.state = DK_A_BACKEND_STATE,
		.unserved = DK_A_BACKEND_UNSERVED,
		.inside = DK_A_BACKEND_INSIDE,
		.find = dk_nl_find_backend,
	};

	return set_online(info, &command);
}

int dispatchkey_nl_device_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	static const struct set_command command = {
		.number = DK_A_DEVICE_NUMBER,
		.name = DK_A_DEVICE_NAME,
		.state = DK_A_DEVICE_STATE,
		.unserved = DK_A_DEVICE_UNSERVED,
		.inside = DK_A_DEVICE_INSIDE,
		.find = dk_nl_find_device,
		.is_device = true,
	};

	return set_online(info, &command);
}

/* ---- providers ---------------------------------------------------------------- */

static int put_backend_names(struct sk_buff *skb, u64 backends)
{
	char name[DK_NAME_MAX];
	unsigned int b;

	for (; backends; backends &= backends - 1) {
		b = __ffs64(backends) + 1;
		if (dk_nl_put_text(skb, DK_A_PROVIDER_BACKEND, dk_backend_name(NULL, b, name)))
			return -EMSGSIZE;
	}
	return 0;
}

/* Adds the number of calls of this provider only, not of others that have the same name. */
static int put_calls(struct sk_buff *skb, struct sk_buff *request, u64 number)
{
	struct dkc_calls calls = { .provider = number };

	return dk_nl_calls(request, &calls) ?
		dk_nl_put_u64(skb, DK_A_PROVIDER_CALLS, calls.count, DK_A_PROVIDER_PAD) : 0;
}

/*
 * Adds the calls for which unregistering the provider waits. Requires CAP_NET_ADMIN,
 * because the texts name tasks of other users.
 */
static int put_inside(struct sk_buff *skb, struct sk_buff *request,
		      const struct dk_provider_info *p)
{
	char text[DK_NAME_MAX];
	unsigned int i;

	if (!p->is_unregistering || !netlink_capable(request, CAP_NET_ADMIN))
		return 0;
	for (i = 0; i < MAX_CALLS_INSIDE; i++) {
		if (!dkc_provider_inside_text(NULL, p->number, i, text))
			break;
		if (dk_nl_put_text(skb, DK_A_PROVIDER_INSIDE, text))
			return -EMSGSIZE;
	}
	return 0;
}

static int fill_provider(struct sk_buff *skb, struct sk_buff *request,
			 const struct dk_provider_info *p)
{
	if (dk_nl_put_text(skb, DK_A_PROVIDER_NAME, p->name) ||
	    dk_nl_put_text(skb, DK_A_PROVIDER_MODULE, p->module) ||
	    nla_put_u8(skb, DK_A_PROVIDER_STATE, p->is_unregistering ?
		       DK_NL_PROVIDER_UNREGISTERING : DK_NL_PROVIDER_REGISTERED) ||
	    dk_nl_put_u32(skb, DK_A_PROVIDER_OPERATORS, p->operators) ||
	    dk_nl_put_u32(skb, DK_A_PROVIDER_IMPLS, p->impls) ||
	    dk_nl_put_u32(skb, DK_A_PROVIDER_DEVICES, p->devices) ||
	    put_calls(skb, request, p->number) || put_inside(skb, request, p))
		return -EMSGSIZE;
	return put_backend_names(skb, p->backends.bits);
}

static int find_provider(struct genl_info *info, struct dk_provider_info *prov)
{
	const struct nlattr *name = info->attrs[DK_A_PROVIDER_NAME];

	while (!dk_registry_next_provider(NULL, prov->number, prov)) {
		if (!nla_strcmp(name, prov->name))
			return 0;
		cond_resched();
	}
	return dk_nl_deny(info->extack, name, "no provider has this name", -ENOENT);
}

int dispatchkey_nl_provider_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_provider_info prov = { .size = sizeof(prov) };
	struct sk_buff *answer;
	int err;

	err = dk_nl_require(info->extack, info->attrs, DK_A_PROVIDER_NAME,
			    "the name of the provider is missing");
	if (!err)
		err = find_provider(info, &prov);
	if (err)
		return err;
	answer = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE);
	return dk_nl_reply(info, answer, answer ? fill_provider(answer, skb, &prov) : -ENOMEM);
}

int dispatchkey_nl_provider_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dk_provider_info prov = { .size = sizeof(prov) };
	struct nlattr *attrs[DK_A_PROVIDER_NAME + 1];
	u64 *last = (u64 *)cb->ctx;
	void *header;
	int err;

	err = dk_nl_dump_begin(cb, attrs, DK_A_PROVIDER_NAME);
	if (!err)
		err = dk_nl_forbid(cb->extack, attrs[DK_A_PROVIDER_NAME],
				   "a dump lists all providers: a name is not allowed");
	while (!err && !dk_registry_next_provider(NULL, *last, &prov)) {
		header = dk_nl_message_begin(skb, cb);
		err = dk_nl_message_end(skb, header,
					header ? fill_provider(skb, cb->skb, &prov) : -EMSGSIZE);
		if (!err)
			*last = prov.number;
	}
	dk_nl_dump_compare(cb);
	return dk_nl_dump_end(skb, err);
}
