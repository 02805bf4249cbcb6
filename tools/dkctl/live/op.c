// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl op: lists operators, or the functions of one operator. */
#include "live.h"

#include <string.h>

/* ---- a list of operators -------------------------------------------------------- */

static void json_op(struct json *j, const struct dk_nl_op *op)
{
	json_string(j, "name", op->name);
	json_name(j, "schema", op->schema);
	json_name(j, "provider", op->provider);
	json_op_flags(j, op->flags);
	json_uint(j, "functions", op->num_impls);
	json_uint(j, "device_functions", op->num_device_impls);
}

static void json_list(struct request *q, const struct dk_nl_op *op)
{
	struct json j;

	json_begin(&j, stdout, q);
	json_array(&j, "operators");
	for (; op; op = op->next) {
		json_object(&j, NULL);
		json_op(&j, op);
		json_close(&j);
	}
	json_end(&j);
}

static int text_list(struct live *v, const struct dk_nl_op *list)
{
	static const struct column columns[] = {
		{ "operator", false }, { "functions", true }, { "of devices", true },
		{ "flags", false }, { "defined by", false }, { "schema", false },
	};
	unsigned long long n = 0, undefined = 0;
	const struct dk_nl_op *op;
	char words[64], flags[64];
	struct columns l;
	int status;

	columns_begin(&l, columns, ARRAY_SIZE(columns));
	for (op = list; op; op = op->next) {
		put_op_flags(op->flags, flags, sizeof(flags));
		columns_put(&l, COLOR_NONE, "%s", op->name);
		columns_put(&l, COLOR_NONE, "%u", op->num_impls);
		if (op->num_device_impls)
			columns_put(&l, COLOR_NONE, "%u", op->num_device_impls);
		else
			columns_put(&l, COLOR_NONE, "%s", "");
		columns_put(&l, COLOR_NONE, "%s", flags);
		columns_put(&l, *op->provider ? COLOR_NONE : COLOR_BAD, "%s",
			    *op->provider ? op->provider : "(undefined)");
		columns_put(&l, COLOR_NONE, "%s",
			    has_option(v, OPTION_STATISTICS) ? op->schema : "");
		undefined += !*op->provider;
		n++;
	}
	status = columns_end(v->q, &l);
	if (status)
		return status;
	printf("%s", plural(words, n, "operator", "operators"));
	if (undefined)
		printf(", %llu of them undefined", undefined);
	putchar('\n');
	return STATUS_OK;
}

static int show_list(struct live *v, const struct dk_nl_op_filter *filter)
{
	const struct dk_nl_op *list;
	int err = dk_nl_ops(client(v), filter, &list), status = STATUS_OK;

	if (err)
		return fail_filtered(v, err, NULL, filter->provider);
	if (!list)
		status = check_names(v, NULL, filter->provider);
	if (status)
		return status;
	if (has_option(v, OPTION_JSON))
		json_list(v->q, list);
	else
		status = text_list(v, list);
	dk_nl_free(list);
	return status;
}

/* ---- one operator --------------------------------------------------------------- */

static void json_one(struct request *q, const struct dk_nl_op *op)
{
	const struct dk_nl_impl *i;
	struct json j;

	json_begin(&j, stdout, q);
	json_object(&j, "operator");
	json_op(&j, op);
	json_array(&j, "registrations");
	for (i = op->impls; i; i = i->next) {
		json_object(&j, NULL);
		json_impl(&j, i);
		json_close(&j);
	}
	json_end(&j);
}

static int text_one(struct live *v, const struct dk_nl_op *op)
{
	static const struct column columns[] = {
		{ "key", false }, { "function", false }, { "provider", false },
		{ "device", false }, { "", false },
	};
	const struct dk_nl_impl *i;
	char flags[64], words[64];
	struct columns l;

	if (wrap_text(v->q, "", *op->schema ? op->schema : op->name) ||
	    wrap_text(v->q, "  defined by  ", *op->provider ? op->provider : "(undefined)"))
		return STATUS_SYSTEM;
	put_op_flags(op->flags, flags, sizeof(flags));
	if (*flags)
		printf("  flags       %s\n", flags);
	printf("  functions   %u", op->num_impls);
	if (op->num_device_impls)
		printf(", %s", plural(words, op->num_device_impls, "of a device", "of devices"));
	printf("\n%s", op->impls ? "\n" : "");
	columns_begin(&l, columns, ARRAY_SIZE(columns));
	for (i = op->impls; i; i = i->next)
		put_impl(&l, i);
	return columns_end(v->q, &l);
}

static int show_one(struct live *v, const char *name)
{
	const struct dk_nl_op *op;
	int err, status = expect_end(v, NULL);

	if (status)
		return status;
	err = dk_nl_op_get(client(v), name, &op);
	if (err)
		return fail_named(v, err, name, fail_op);
	if (has_option(v, OPTION_JSON))
		json_one(v->q, op);
	else
		status = text_one(v, op);
	dk_nl_free(op);
	return status;
}

/* ---- the words ------------------------------------------------------------------ */

static const char *const words[] = { "prefix", "key", "backend", "provider", NULL };

/* Reads a filter and its value. Returns -1 if the next word is not a filter. */
static int take_filter(struct live *v, struct dk_nl_op_filter *filter)
{
	int status = STATUS_OK;

	if (take(v, "prefix")) {
		filter->prefix = take_value(v, "prefix", "the beginning of an operator name",
					    &status);
	} else if (take(v, "provider")) {
		filter->provider = take_value(v, "provider", "a provider name", &status);
	} else if (take(v, "backend")) {
		status = take_backend(v, &filter->backend);
	} else if (take(v, "key")) {
		status = take_key(v, &filter->key);
		filter->has_key = !status;
	} else {
		return -1;
	}
	return status;
}

/*
 * True if the next word is a filter. Any other word, also an abbreviated filter without a value, is
 * the name of an operator.
 */
static bool is_filter(struct live *v)
{
	const char *given = *v->next;
	size_t i;

	for (i = 0; words[i]; i++) {
		if (!strcmp(words[i], given))
			return true;
		if (v->next[1] && *given && !strncmp(words[i], given, strlen(given)))
			return true;
	}
	return false;
}

int live_op(struct live *v)
{
	struct dk_nl_op_filter filter = { .size = sizeof(filter) };
	int status = STATUS_OK;

	take_show(v);
	if (*v->next && !is_filter(v))
		return show_one(v, *v->next++);
	while (*v->next && !status)
		status = take_filter(v, &filter);
	if (status <= 0)
		status = expect_end(v, words);
	return status ? status : show_list(v, &filter);
}
