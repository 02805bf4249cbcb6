// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backends, devices and providers, and the switches of an administrator.
 */
#include "netlink.h"

#define DK_NL_MAX_NAMED		16	/* providers in the answer about a backend */
/*
 * How long, in ms, one request waits for the calls inside of what it takes offline:
 * generic netlink has its lock for as long, which families need to come and to go.
 */
#define DK_NL_PATIENCE		1000

/* ---- backends ----------------------------------------------------------------- */

/* Those who have joined it, up to a number that fits into any message. */
static int dk_nl_put_joined(struct sk_buff *skb, unsigned int backend)
{
	struct dk_provider_info prov = { .size = sizeof(prov) };
	unsigned int n = 0;

	while (n < DK_NL_MAX_NAMED &&
	       !dk_registry_next_provider(NULL, prov.number, &prov)) {
		if (!(prov.backends.bits & dkc_backend_bit(backend)))
			continue;
		if (nla_put_string(skb, DK_A_BACKEND_PROVIDER, prov.name))
			return -EMSGSIZE;
		n++;
	}
	return 0;
}

static int dk_nl_put_backend(struct sk_buff *skb, const struct dk_backend_info *b)
{
	if (nla_put_u32(skb, DK_A_BACKEND_NUMBER, b->number) ||
	    nla_put_string(skb, DK_A_BACKEND_NAME, b->name) ||
	    nla_put_string(skb, DK_A_BACKEND_KEY_NAME, b->own_name) ||
	    nla_put_u8(skb, DK_A_BACKEND_STATE, dk_nl_state(b->is_online)) ||
	    (b->is_bound && nla_put_flag(skb, DK_A_BACKEND_BOUND)) ||
	    (b->is_alone && nla_put_flag(skb, DK_A_BACKEND_ALONE)) ||
	    nla_put_u32(skb, DK_A_BACKEND_DEVICES, b->devices) ||
	    nla_put_u32(skb, DK_A_BACKEND_IMPLS, b->impls) ||
	    nla_put_u32(skb, DK_A_BACKEND_PROVIDERS, b->providers))
		return -EMSGSIZE;
	return b->providers ? dk_nl_put_joined(skb, b->number) : 0;
}

int dispatchkey_nl_backend_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_backend_info backend = { .size = sizeof(backend) };
	unsigned int number;
	void *header;
	int err;

	err = dk_nl_find_backend(info->attrs[DK_A_BACKEND_NUMBER],
				 info->attrs[DK_A_BACKEND_NAME], info->extack, &number);
	if (!err)
		err = dk_registry_backend(NULL, number, &backend);
	if (err)
		return err;
	skb = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE, &header);
	if (!skb)
		return -ENOMEM;
	if (dk_nl_put_backend(skb, &backend))
		return dk_nl_overrun(skb);
	return dk_nl_reply(info, skb, header);
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
		err = dk_nl_bar(cb->extack, attrs[DK_A_BACKEND_NUMBER],
				"a dump is of all backends");
	if (!err)
		err = dk_nl_bar(cb->extack, attrs[DK_A_BACKEND_NAME],
				"a dump is of all backends");
	if (err)
		return err;
	while (!dk_registry_backend(NULL, *last + 1, &backend)) {
		header = dk_nl_dump_put(skb, cb);
		if (!header || dk_nl_put_backend(skb, &backend))
			return dk_nl_dump_full(skb, header);
		genlmsg_end(skb, header);
		++*last;
	}
	return skb->len;
}

/*
 * What a switch is to do: online, or not; -EINVAL and a sentence if the request
 * does not say it.
 */
static int dk_nl_wanted(struct genl_info *info, int attr, bool *online)
{
	int err = dk_nl_need(info, attr, "the state that is wanted is not given");

	if (!err)
		*online = nla_get_u8(info->attrs[attr]) == DK_NL_STATE_ONLINE;
	return err;
}

int dispatchkey_nl_backend_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *const *attrs = info->attrs;
	struct dk_diag why = { .size = sizeof(why) }, inside = { .size = sizeof(inside) };
	char name[DK_NAME_MAX];
	unsigned int backend;
	void *header;
	bool online;
	int err;

	err = dk_nl_find_backend(attrs[DK_A_BACKEND_NUMBER], attrs[DK_A_BACKEND_NAME],
				 info->extack, &backend);
	if (!err)
		err = dk_nl_wanted(info, DK_A_BACKEND_STATE, &online);
	if (err)
		return err;
	/* before it is switched: what is done has an answer */
	skb = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE, &header);
	if (!skb)
		return -ENOMEM;
	err = dkc_backend_set_online(NULL, backend, online, dkc_now() + DK_NL_PATIENCE,
				     &why, &inside);
	if (err && err != -ETIMEDOUT) {
		nlmsg_free(skb);
		return dk_nl_refuse(info->extack, NULL, &why, err);
	}
	if (nla_put_u32(skb, DK_A_BACKEND_NUMBER, backend) ||
	    nla_put_string(skb, DK_A_BACKEND_NAME,
			   dk_backend_name(NULL, backend, name)) ||
	    nla_put_u8(skb, DK_A_BACKEND_STATE,
		       dk_nl_state(dk_backend_is_online(NULL, backend))) ||
	    (why.reason == DK_WHY_UNSERVED &&
	     nla_put_string(skb, DK_A_BACKEND_UNSERVED, why.name)) ||
	    (err && nla_put_string(skb, DK_A_BACKEND_INSIDE, inside.name)))
		return dk_nl_overrun(skb);
	return dk_nl_reply(info, skb, header);
}

int dispatchkey_nl_backend_release_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *name = info->attrs[DK_A_BACKEND_NAME];
	struct dk_diag why = { .size = sizeof(why) };
	int err;

	err = dk_nl_need(info, DK_A_BACKEND_NAME, "the name of a backend is not given");
	if (err)
		return err;
	err = dk_backend_release(NULL, nla_data(name), &why);
	return err ? dk_nl_refuse(info->extack, name, &why, err) : 0;
}

/* ---- devices ------------------------------------------------------------------ */

static int dk_nl_put_device(struct sk_buff *skb, const struct dk_device_info *d)
{
	if (nla_put_u32(skb, DK_A_DEVICE_NUMBER, d->number) ||
	    nla_put_string(skb, DK_A_DEVICE_NAME, d->name) ||
	    nla_put_u32(skb, DK_A_DEVICE_BACKEND, d->backend) ||
	    nla_put_string(skb, DK_A_DEVICE_BACKEND_NAME, d->backend_name) ||
	    nla_put_string(skb, DK_A_DEVICE_PROVIDER, d->provider) ||
	    nla_put_u8(skb, DK_A_DEVICE_STATE, dk_nl_state(d->is_online)) ||
	    nla_put_u8(skb, DK_A_DEVICE_BACKEND_STATE, dk_nl_state(d->backend_online)) ||
	    nla_put_u32(skb, DK_A_DEVICE_IMPLS, d->impls))
		return -EMSGSIZE;
	return 0;
}

/* No device has the number that a request names, any more. */
static int dk_nl_no_device(struct genl_info *info)
{
	const struct dk_diag why = { .text = dk_reason_text(DK_WHY_NO_DEVICE) };

	return dk_nl_refuse(info->extack, info->attrs[DK_A_DEVICE_NUMBER], &why, -ENODEV);
}

int dispatchkey_nl_device_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_device_info device = { .size = sizeof(device) };
	u32 number;
	void *header;
	int err;

	err = dk_nl_bar(info->extack, info->attrs[DK_A_DEVICE_BACKEND],
			"only a dump is of the devices of a backend");
	if (!err)
		err = dk_nl_find_device(info->attrs[DK_A_DEVICE_NUMBER],
					info->attrs[DK_A_DEVICE_NAME], info->extack,
					&number);
	if (err)
		return err;
	err = dk_registry_device(NULL, number, &device);
	if (err)
		return dk_nl_no_device(info);
	skb = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE, &header);
	if (!skb)
		return -ENOMEM;
	if (dk_nl_put_device(skb, &device))
		return dk_nl_overrun(skb);
	return dk_nl_reply(info, skb, header);
}

/* Which devices a dump is of: those of a backend, or of all. */
static int dk_nl_device_filter(struct netlink_callback *cb, unsigned int *backend)
{
	struct nlattr *attrs[DK_A_DEVICE_BACKEND + 1];
	int err;

	err = dk_nl_dump_begin(cb, attrs, DK_A_DEVICE_BACKEND);
	if (!err)
		err = dk_nl_bar(cb->extack, attrs[DK_A_DEVICE_NUMBER],
				"a dump is of all devices, or of those of a backend");
	if (!err)
		err = dk_nl_bar(cb->extack, attrs[DK_A_DEVICE_NAME],
				"a dump is of all devices, or of those of a backend");
	if (!err && attrs[DK_A_DEVICE_BACKEND])
		err = dk_nl_find_backend(attrs[DK_A_DEVICE_BACKEND], NULL, cb->extack,
					 backend);
	return err;
}

int dispatchkey_nl_device_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dk_device_info device = { .size = sizeof(device) };
	unsigned int backend = 0;
	long *last = &cb->args[0];
	void *header;
	int err;

	err = dk_nl_device_filter(cb, &backend);
	if (err)
		return err;
	while (!dk_registry_next_device(NULL, *last, &device)) {
		if (!backend || device.backend == backend) {
			header = dk_nl_dump_put(skb, cb);
			if (!header || dk_nl_put_device(skb, &device))
				return dk_nl_dump_full(skb, header);
			genlmsg_end(skb, header);
		}
		*last = device.number;
	}
	return skb->len;
}

int dispatchkey_nl_device_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *const *attrs = info->attrs;
	struct dk_device_info device = { .size = sizeof(device) };
	struct dk_diag why = { .size = sizeof(why) }, inside = { .size = sizeof(inside) };
	void *header;
	bool online;
	u32 number;
	int err;

	err = dk_nl_find_device(attrs[DK_A_DEVICE_NUMBER], attrs[DK_A_DEVICE_NAME],
				info->extack, &number);
	if (!err)
		err = dk_nl_wanted(info, DK_A_DEVICE_STATE, &online);
	if (err)
		return err;
	if (dk_registry_device(NULL, number, &device))
		return dk_nl_no_device(info);
	/* before it is switched: what is done has an answer */
	skb = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE, &header);
	if (!skb)
		return -ENOMEM;
	err = dkc_device_set_online(NULL, number, online, dkc_now() + DK_NL_PATIENCE, &why,
				    &inside);
	if (err && err != -ETIMEDOUT) {
		nlmsg_free(skb);
		return dk_nl_refuse(info->extack, NULL, &why, err);
	}
	/* one that was removed while we waited is what it was made */
	if (dk_registry_device(NULL, number, &device))
		device.is_online = online;
	if (nla_put_u32(skb, DK_A_DEVICE_NUMBER, number) ||
	    nla_put_string(skb, DK_A_DEVICE_NAME, device.name) ||
	    nla_put_u8(skb, DK_A_DEVICE_STATE, dk_nl_state(device.is_online)) ||
	    (why.reason == DK_WHY_UNSERVED &&
	     nla_put_string(skb, DK_A_DEVICE_UNSERVED, why.name)) ||
	    (err && nla_put_string(skb, DK_A_DEVICE_INSIDE, inside.name)))
		return dk_nl_overrun(skb);
	return dk_nl_reply(info, skb, header);
}

/* ---- providers ---------------------------------------------------------------- */

static int dk_nl_put_backends(struct sk_buff *skb, u64 backends)
{
	char name[DK_NAME_MAX];
	unsigned int b;

	for (; backends; backends &= backends - 1) {
		b = dkc_ffs64(backends) + 1;
		if (nla_put_string(skb, DK_A_PROVIDER_BACKEND,
				   dk_backend_name(NULL, b, name)))
			return -EMSGSIZE;
	}
	return 0;
}

/* What it served itself, without another provider of its name. */
static int dk_nl_put_calls(struct sk_buff *skb, struct sk_buff *request, u64 number)
{
	struct dkc_calls calls;

	return dk_nl_may_read_counters(request) && dk_nl_calls(number, &calls) ?
		nla_put_u64_64bit(skb, DK_A_PROVIDER_CALLS, calls.sum, DK_A_PROVIDER_PAD) : 0;
}

static int dk_nl_put_provider(struct sk_buff *skb, struct sk_buff *request,
			      const struct dk_provider_info *p)
{
	if (nla_put_string(skb, DK_A_PROVIDER_NAME, p->name) ||
	    (p->module[0] && nla_put_string(skb, DK_A_PROVIDER_MODULE, p->module)) ||
	    nla_put_u8(skb, DK_A_PROVIDER_STATE, p->is_leaving ?
		       DK_NL_PROVIDER_LEAVING : DK_NL_PROVIDER_REGISTERED) ||
	    nla_put_u32(skb, DK_A_PROVIDER_OPERATORS, p->operators) ||
	    nla_put_u32(skb, DK_A_PROVIDER_IMPLS, p->impls) ||
	    nla_put_u32(skb, DK_A_PROVIDER_DEVICES, p->devices) ||
	    dk_nl_put_calls(skb, request, p->number))
		return -EMSGSIZE;
	return dk_nl_put_backends(skb, p->backends.bits);
}

/* The first one of a name. */
static int dk_nl_find_provider(const struct nlattr *name, struct dk_provider_info *prov)
{
	while (!dk_registry_next_provider(NULL, prov->number, prov))
		if (!nla_strcmp(name, prov->name))
			return 0;
	return -ENOENT;
}

int dispatchkey_nl_provider_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dk_provider_info prov = { .size = sizeof(prov) };
	struct nlattr *name = info->attrs[DK_A_PROVIDER_NAME];
	struct sk_buff *answer;
	void *header;
	int err;

	err = dk_nl_need(info, DK_A_PROVIDER_NAME, "the name of a provider is not given");
	if (err)
		return err;
	if (dk_nl_find_provider(name, &prov)) {
		NL_SET_ERR_MSG_ATTR(info->extack, name, "no provider has this name");
		return -ENOENT;
	}
	answer = dk_nl_answer(info, GENLMSG_DEFAULT_SIZE, &header);
	if (!answer)
		return -ENOMEM;
	if (dk_nl_put_provider(answer, skb, &prov))
		return dk_nl_overrun(answer);
	return dk_nl_reply(info, answer, header);
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
		err = dk_nl_bar(cb->extack, attrs[DK_A_PROVIDER_NAME],
				"a dump is of all providers");
	if (err)
		return err;
	while (!dk_registry_next_provider(NULL, *last, &prov)) {
		header = dk_nl_dump_put(skb, cb);
		if (!header || dk_nl_put_provider(skb, cb->skb, &prov))
			return dk_nl_dump_full(skb, header);
		genlmsg_end(skb, header);
		*last = prov.number;
	}
	return skb->len;
}
