// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Looks up names in the kernel, and suggests corrections for unknown ones. */
#include "live.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

int need_backends(struct live *v)
{
	int err = v->backends ? 0 : dk_nl_backends(client(v), &v->backends);

	return err ? fail_kernel(v, err) : STATUS_OK;
}

const struct dk_nl_backend *backend_named(const struct dk_nl_backend *list, const char *name)
{
	while (list && strcasecmp(list->name, name) != 0 &&
	       strcasecmp(list->key_name, name) != 0)
		list = list->next;
	return list;
}

const struct dk_nl_device *device_named(const struct dk_nl_device *list, const char *name)
{
	while (list && strcmp(list->name, name) != 0)
		list = list->next;
	return list;
}

int find_backend(struct live *v, const char *name, __u32 *number)
{
	int status = need_backends(v);
	const struct dk_nl_backend *b;

	if (status)
		return status;
	b = backend_named(v->backends, name);
	if (!b)
		return fail_backend(v, name);
	*number = b->number;
	return STATUS_OK;
}

int find_device(struct live *v, const char *name, __u32 *number)
{
	const struct dk_nl_device *d;
	int err = dk_nl_device_get(client(v), 0, name, &d);

	if (err)
		return fail_named(v, err, name, fail_device);
	*number = d->number;
	dk_nl_free(d);
	return STATUS_OK;
}

int fail_name(struct live *v, const char *what, const char *subcommand, const char *name,
	      struct suggestion *s)
{
	if (suggest_end(s))
		return fail(v->q, STATUS_BAD_INPUT, name, suggest_end(s),
			    "the kernel has no %s \"%.127s\"", what, name);
	return fail(v->q, STATUS_BAD_INPUT, name, NULL,
		    "the kernel has no %s \"%.127s\": \"dkctl %s\" lists them", what, name,
		    subcommand);
}

int fail_backend(struct live *v, const char *name)
{
	const struct dk_nl_backend *b;
	struct suggestion s;

	suggest_begin(&s, name);
	if (need_backends(v))
		return STATUS_KERNEL;
	for (b = v->backends; b; b = b->next) {
		suggest_try(&s, b->name);
		suggest_try(&s, b->key_name);
	}
	return fail_name(v, "backend", "backend -s", name, &s);
}

int fail_device(struct live *v, const char *name)
{
	const struct dk_nl_device *list = NULL, *d;
	struct suggestion s;

	suggest_begin(&s, name);
	if (!dk_nl_devices(client(v), 0, &list)) {
		for (d = list; d; d = d->next)
			suggest_try(&s, d->name);
		dk_nl_free(list);
	}
	return fail_name(v, "device", "device", name, &s);
}

int fail_provider(struct live *v, const char *name)
{
	const struct dk_nl_provider *list = NULL, *p;
	struct suggestion s;

	suggest_begin(&s, name);
	if (!dk_nl_providers(client(v), &list)) {
		for (p = list; p; p = p->next)
			suggest_try(&s, p->name);
		dk_nl_free(list);
	}
	return fail_name(v, "provider", "provider", name, &s);
}

int fail_op(struct live *v, const char *name)
{
	const struct dk_nl_op *list = NULL, *op;
	struct suggestion s;

	suggest_begin(&s, name);
	if (!dk_nl_ops(client(v), NULL, &list)) {
		for (op = list; op; op = op->next)
			suggest_try(&s, op->name);
		dk_nl_free(list);
	}
	return fail_name(v, "operator", "op", name, &s);
}

/* If the module is gone, the error is -ENOENT, too, but without a message of the kernel. */
bool is_unknown_name(struct live *v, int err)
{
	return (err == -ENOENT || err == -ENODEV) && *dk_nl_why(client(v))->message;
}

int fail_named(struct live *v, int err, const char *name,
	       int (*fail_one)(struct live *v, const char *name))
{
	return is_unknown_name(v, err) ? fail_one(v, name) : fail_kernel(v, err);
}

int fail_filtered(struct live *v, int err, const char *op, const char *provider)
{
	const struct dk_nl_error why = *dk_nl_why(client(v));
	int status;

	if (!is_unknown_name(v, err))
		return fail_kernel(v, err);
	status = check_names(v, op, provider);
	/* the name has come back */
	return status ? status : fail(v->q, STATUS_KERNEL, NULL, NULL, "%s", why.sentence);
}

int check_names(struct live *v, const char *op, const char *provider)
{
	const struct dk_nl_op *o = NULL;
	const struct dk_nl_provider *p = NULL;
	int err;

	err = op ? dk_nl_op_get(client(v), op, &o) : 0;
	if (err)
		return fail_named(v, err, op, fail_op);
	dk_nl_free(o);
	err = provider ? dk_nl_provider_get(client(v), provider, &p) : 0;
	if (err)
		return fail_named(v, err, provider, fail_provider);
	dk_nl_free(p);
	return STATUS_OK;
}
