// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl table: prints the computed table of an operator. */
#include "live.h"
#include "../table_grid.h"

#include <errno.h>
#include <string.h>

/* ---- JSON: runs of entries -------------------------------------------------------- */

static void json_run(struct json *j, const struct dk_nl_run *run)
{
	json_object(j, NULL);
	json_uint(j, "first", run->first);
	json_uint(j, "last", run->last);
	json_string(j, "first_key", run->first_key);
	json_string(j, "last_key", run->last_key);
	json_string(j, "provenance", dk_nl_word(DK_NL_WORDS_PROVENANCE, run->provenance));
	json_bool(j, "fallthrough", run->flags & DK_NL_IMPL_FALLTHROUGH);
	json_name(j, "function", run->label);
	json_name(j, "provider", run->provider);
	json_name(j, "device", run->device_name);
	json_close(j);
}

static void json(struct request *q, const struct grid *g, const struct dk_nl_run *run)
{
	struct json j;

	json_begin(&j, stdout, q);
	json_object(&j, "table");
	json_string(&j, "operator", g->op);
	json_name(&j, "device", g->device ? g->device : "");
	json_string(&j, "layout", g->layout->name);
	json_uint(&j, "entries", g->num_entries);
	json_array(&j, "runs");
	for (; run; run = run->next)
		json_run(&j, run);
	json_end(&j);
}

/* ---- the picture ------------------------------------------------------------------ */

static int svg(struct request *q, const struct grid *g)
{
	bool is_stdout = !strcmp(q->svg_name, "-");
	FILE *f = is_stdout ? stdout : fopen(q->svg_name, "w");
	bool failed;
	int err;

	if (!f)
		return fail(q, STATUS_BAD_INPUT, q->svg_name, NULL, "%.512s: %s", q->svg_name,
			    strerror(errno));
	grid_svg(f, g);
	if (is_stdout)
		return STATUS_OK;
	/* report the errno of a write that failed above or, if none did, of fclose() */
	failed = ferror(f);
	err = errno;
	if (fclose(f) && !failed) {
		failed = true;
		err = errno;
	}
	return failed ? fail(q, STATUS_SYSTEM, q->svg_name, NULL, "%.512s: cannot be written: %s",
			     q->svg_name, strerror(err)) : STATUS_OK;
}

/* ---- the subcommand --------------------------------------------------------------- */

static int draw(struct live *v, struct grid *g, const struct dk_nl_run *runs)
{
	const struct dk_nl_layout *layout;
	int err = dk_nl_layout_get(client(v), &layout), status;

	if (err)
		return fail_kernel(v, err);
	status = need_backends(v);
	if (!status && !grid_begin(g, layout, v->backends, runs))
		status = fail_memory(v->q);
	if (!status) {
		if (v->q->svg_name)
			status = svg(v->q, g);
		else if (has_option(v, OPTION_JSON))
			json(v->q, g, runs);
		else
			status = grid_print(v->q, g);
		grid_end(g);
	}
	dk_nl_free(layout);
	return status;
}

/* Reports which name does not exist: that of the operator or that of the device. */
static int fail_table(struct live *v, int err, const struct grid *g)
{
	int status;

	if (!g->device || !is_unknown_name(v, err))
		return fail_filtered(v, err, g->op, NULL);
	status = check_names(v, g->op, NULL);
	return status ? status : fail_device(v, g->device);
}

/* Suggests "device NAME" if the name of a device alone follows the operator. */
static int expect_no_name(struct live *v)
{
	const struct dk_nl_device *device;
	const char *name = v->next[0];
	char suggestion[160];

	if (!name || v->next[1] || dk_nl_device_get(client(v), 0, name, &device))
		return STATUS_OK;
	dk_nl_free(device);
	snprintf(suggestion, sizeof(suggestion), "device %.127s", name);
	return fail_unexpected(v, suggestion);
}

int live_table(struct live *v)
{
	static const char *const words[] = { "device", NULL };
	struct grid g = { .op = NULL };
	const struct dk_nl_run *runs;
	int status = STATUS_OK, err;

	if (v->next[0] && v->next[1])
		take_show(v);
	if (!*v->next)
		return fail(v->q, STATUS_BAD_INPUT, "OP", NULL,
			    "table needs an operator: \"dkctl op\" lists them");
	g.op = *v->next++;
	if (take(v, "device"))
		g.device = take_value(v, "device", "a device name", &status);
	else
		status = expect_no_name(v);
	if (!status)
		status = expect_end(v, words);
	if (status)
		return status;
	err = dk_nl_table_get(client(v), g.op, 0, g.device, &runs);
	if (err)
		return fail_table(v, err, &g);
	status = draw(v, &g, runs);
	dk_nl_free(runs);
	return status;
}
