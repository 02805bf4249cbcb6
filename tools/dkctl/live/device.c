// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl device: lists devices, and switches them on and off. */
#include "live.h"

static void json(struct request *q, const struct dk_nl_device *d)
{
	struct json j;

	json_begin(&j, stdout, q);
	json_array(&j, "devices");
	for (; d; d = d->next) {
		json_object(&j, NULL);
		json_string(&j, "name", d->name);
		json_uint(&j, "number", d->number);
		json_string(&j, "backend", d->backend_name);
		json_string(&j, "state", state_word(d->state));
		json_string(&j, "backend_state", state_word(d->backend_state));
		json_uint(&j, "functions", d->impls);
		json_name(&j, "provider", d->provider);
		json_close(&j);
	}
	json_end(&j);
}

/*
 * Prints the state of a device, or that its backend is offline, because then an online device
 * serves no calls.
 */
static void put_state(struct columns *l, const struct dk_nl_device *d)
{
	if (d->state == DK_NL_STATE_ONLINE && d->backend_state != DK_NL_STATE_ONLINE)
		columns_put(l, COLOR_BAD, "backend offline");
	else
		columns_put(l, state_color(d->state), "%s", state_word(d->state));
}

static int text(struct live *v, const struct dk_nl_device *d)
{
	static const struct column columns[] = {
		{ "device", false }, { "number", true }, { "backend", false },
		{ "state", false }, { "functions", true }, { "provider", false },
	};
	struct columns l;

	if (!d)
		puts("no devices");
	columns_begin(&l, columns, ARRAY_SIZE(columns));
	for (; d; d = d->next) {
		columns_put(&l, COLOR_NONE, "%s", d->name);
		if (has_option(v, OPTION_STATISTICS))
			columns_put(&l, COLOR_NONE, "%u", d->number);
		else
			columns_put(&l, COLOR_NONE, "%s", "");
		columns_put(&l, COLOR_NONE, "%s", d->backend_name);
		put_state(&l, d);
		columns_put(&l, COLOR_NONE, "%u", d->impls);
		columns_put(&l, COLOR_NONE, "%s", d->provider);
	}
	return columns_end(v->q, &l);
}

static int show(struct live *v, const char *name, __u32 backend)
{
	const struct dk_nl_device *list;
	int err, status = STATUS_OK;

	err = name ? dk_nl_device_get(client(v), 0, name, &list) :
		     dk_nl_devices(client(v), backend, &list);
	if (err)
		return name ? fail_named(v, err, name, fail_device) : fail_kernel(v, err);
	if (has_option(v, OPTION_JSON))
		json(v->q, list);
	else
		status = text(v, list);
	dk_nl_free(list);
	return status;
}

static int get_state(struct dk_nl *nl, __u32 number, __u32 *state)
{
	const struct dk_nl_device *d;
	int err = dk_nl_device_get(nl, number, NULL, &d);

	if (!err) {
		*state = d->state;
		dk_nl_free(d);
	}
	return err;
}

static const struct switchable device = {
	"device", true, "a device name", dk_nl_device_set_online, get_state, fail_device,
};

int live_device(struct live *v)
{
	static const char *const words[] = { "show", "set", "backend", NULL };
	const char *name = NULL;
	int status = STATUS_OK;
	__u32 backend = 0;
	bool shown;

	if (take(v, "set"))
		return run_set(v, &device);
	shown = take_show(v);
	if (v->next[0] && v->next[1] && take(v, "backend"))
		status = take_backend(v, &backend);
	else
		name = take_name(v, shown, words);
	if (name)
		status = expect_no_state(v);
	if (!status)
		status = expect_end(v, words);
	return status ? status : show(v, name, backend);
}
