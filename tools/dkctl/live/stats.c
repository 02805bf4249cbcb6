// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl stats: prints the number of calls of each function, and controls the counters. */
#include "live.h"
#include "stats_summary.h"

#include <errno.h>
#include <string.h>

#define NOT_COUNTED	"calls are not counted; type: sudo dkctl stats on"

/* ---- on, off, reset --------------------------------------------------------------- */

static int print_result(struct live *v, int err, const char *sentence, bool on)
{
	struct json j;

	if (err)
		return fail_kernel(v, err);
	if (has_option(v, OPTION_JSON)) {
		json_begin(&j, stdout, v->q);
		json_object(&j, "stats");
		json_bool(&j, "counted", on);
		json_end(&j);
	} else {
		puts(sentence);
	}
	return STATUS_OK;
}

static int enable(struct live *v, int on)
{
	int status = expect_end(v, NULL);

	if (status)
		return status;
	return print_result(v, dk_nl_stats_enable(client(v), on),
			    on ? "calls are counted from now on" : "calls are no longer counted",
			    on);
}

static int reset(struct live *v)
{
	int status = expect_end(v, NULL), err;

	if (status)
		return status;
	err = dk_nl_stats_reset(client(v));
	if (err == -ENODATA)
		return fail(v->q, STATUS_KERNEL, NULL, NULL, NOT_COUNTED);
	return print_result(v, err, "all counters are now zero", true);
}

static int set_readers(struct live *v, __u32 readers)
{
	int err = dk_nl_stats_set_readers(client(v), readers);
	struct json j;

	if (err)
		return fail_kernel(v, err);
	if (has_option(v, OPTION_JSON)) {
		json_begin(&j, stdout, v->q);
		json_object(&j, "stats");
		json_string(&j, "readers", dk_nl_word(DK_NL_WORDS_READERS, readers));
		json_end(&j);
	} else {
		puts(readers == DK_NL_READERS_ADMINS ?
		     "only users with CAP_NET_ADMIN may read the counters" :
		     "every user may read the counters");
	}
	return STATUS_OK;
}

static int take_readers(struct live *v)
{
	__u32 readers = DK_NL_READERS_ALL;
	int status = STATUS_OK;
	const char *given;

	given = take_value(v, "readers", "\"all\" or \"admins\"", &status);
	if (!given)
		return status;
	if (!strcmp(given, "admins"))
		readers = DK_NL_READERS_ADMINS;
	else if (strcmp(given, "all") != 0)
		return fail(v->q, STATUS_BAD_INPUT, given, NULL,
			    "unknown readers \"%.127s\": use \"all\" or \"admins\"", given);
	status = expect_end(v, NULL);
	return status ? status : set_readers(v, readers);
}

/* ---- show ------------------------------------------------------------------------- */

static void json_counter(struct json *j, const struct dk_nl_counter *c)
{
	json_object(j, NULL);
	json_string(j, "operator", c->op);
	json_string(j, "kind", dk_nl_word(DK_NL_WORDS_STAT_KIND, c->kind));
	json_name(j, "key", c->key_name);
	json_name(j, "function", c->label);
	json_name(j, "provider", c->provider);
	json_name(j, "device", c->device_name);
	if (c->has_count)
		json_uint(j, "calls", c->count);
	else
		json_null(j, "calls");
	json_close(j);
}

/* True if calls are counted, but repeated resets kept the module from computing the sum. */
static bool is_unknown(const struct dk_nl_stats *stats)
{
	return stats->state == DK_NL_STATE_ONLINE && !stats->has_count;
}

static void json_sum(struct json *j, const char *name, const struct dk_nl_stats *stats,
		     unsigned long long sum)
{
	if (is_unknown(stats))
		json_null(j, name);
	else
		json_uint(j, name, sum);
}

static void json(struct live *v, const struct dk_nl_stats *stats,
		 const struct dk_nl_counter *c, const struct stats_summary *u)
{
	unsigned int i;
	struct json j;

	json_begin(&j, stdout, v->q);
	json_object(&j, "stats");
	json_bool(&j, "counted", stats->state == DK_NL_STATE_ONLINE);
	json_string(&j, "readers", dk_nl_word(DK_NL_WORDS_READERS, stats->readers));
	json_sum(&j, "calls", stats, stats->count);
	json_sum(&j, "uncounted", stats, stats->uncounted);
	json_sum(&j, "gone", stats, stats->gone);
	json_uint(&j, "operators", u->operators);
	json_array(&j, "served_by");
	for (i = 0; i < u->num; i++) {
		json_object(&j, NULL);
		json_name(&j, "name", u->servers[i].name);
		json_uint(&j, "operators", u->servers[i].operators);
		json_uint(&j, "calls", u->servers[i].calls);
		json_close(&j);
	}
	json_close(&j);
	json_array(&j, "counters");
	for (; c; c = c->next)
		json_counter(&j, c);
	json_end(&j);
}

static void put_function(struct columns *l, const struct dk_nl_counter *c)
{
	if (c->kind == DK_NL_STAT_MISSING)
		columns_put(l, COLOR_BAD, "(nothing)");
	else
		columns_put(l, COLOR_NONE, "%s%s", c->label,
			    c->kind == DK_NL_STAT_FALLBACK ? " (fallback)" : "");
}

/*
 * Prints the number of counted calls. If the filter has no provider, and any operator was called,
 * also prints a summary.
 */
static int put_sum(struct live *v, const struct dk_nl_stats *stats,
		   const struct dk_nl_counter_filter *filter, unsigned long long listed,
		   const struct stats_summary *u)
{
	bool is_part = filter->op || filter->provider;
	char words[64];

	if (is_unknown(stats))
		puts("the sum of all calls is unknown, because the counters were reset: try again");
	else if (is_part)
		printf("%llu of %s counted\n", listed,
		       plural(words, stats->count, "call", "calls"));
	else
		printf("%s counted\n", plural(words, stats->count, "call", "calls"));
	if (stats->gone && !is_part)
		printf("%llu of them by functions that are no longer registered\n",
		       (unsigned long long)stats->gone);
	if (stats->uncounted)
		printf("%s not counted, for lack of memory\n",
		       plural(words, stats->uncounted, "call", "calls"));
	if (!u->operators && !stats->count && !stats->uncounted && !is_part && !is_unknown(stats))
		puts("no operator was called");
	if (!u->operators || filter->provider)
		return STATUS_OK;
	return stats_summary_print(v->q, u, has_option(v, OPTION_STATISTICS));
}

static int text(struct live *v, const struct dk_nl_stats *stats,
		const struct dk_nl_counter_filter *filter, const struct dk_nl_counter *c,
		const struct stats_summary *u)
{
	static const struct column columns[] = {
		{ "calls", true }, { "operator", false }, { "function", false },
		{ "key", false }, { "provider", false }, { "device", false },
	};
	unsigned long long listed = 0;
	struct columns l;
	int status;

	columns_begin(&l, columns, ARRAY_SIZE(columns));
	for (; c; c = c->next) {
		if (c->has_count)
			columns_put(&l, COLOR_NONE, "%llu", (unsigned long long)c->count);
		else
			columns_put(&l, COLOR_BAD, "no memory");
		columns_put(&l, COLOR_NONE, "%s", c->op);
		put_function(&l, c);
		columns_put(&l, COLOR_NONE, "%s", c->key_name);
		columns_put(&l, COLOR_NONE, "%s", c->provider);
		columns_put(&l, COLOR_NONE, "%s", c->device_name);
		listed += c->count;
	}
	status = columns_end(v->q, &l);
	return status ? status : put_sum(v, stats, filter, listed, u);
}

static int print_counters(struct live *v, const struct dk_nl_stats *stats,
			  const struct dk_nl_counter_filter *filter,
			  const struct dk_nl_counter *list)
{
	struct stats_summary u = { .num = 0 };
	int status;

	status = list ? STATUS_OK : check_names(v, filter->op, filter->provider);
	if (!status)
		status = names_begin(v);
	if (!status)
		status = stats_summary_begin(v, &u, list);
	if (!status && has_option(v, OPTION_JSON))
		json(v, stats, list, &u);
	else if (!status)
		status = text(v, stats, filter, list, &u);
	stats_summary_end(&u);
	return status;
}

/*
 * Reads the sums after the counters: calls go on meanwhile, and the sum of the rows must not be
 * above the total, unless the counters were reset meanwhile. If they were switched off, the sums
 * from before are printed.
 */
static int show_counters(struct live *v, const struct dk_nl_stats *before,
			 const struct dk_nl_counter_filter *filter)
{
	const struct dk_nl_stats *stats = NULL;
	const struct dk_nl_counter *list;
	int err = dk_nl_counters(client(v), filter, &list), status;

	if (err)
		return fail_filtered(v, err, filter->op, filter->provider);
	err = dk_nl_stats_get(client(v), &stats);
	if (err)
		status = fail_kernel(v, err);
	else
		status = print_counters(v, stats->state == DK_NL_STATE_ONLINE ? stats : before,
					filter, list);
	dk_nl_free(stats);
	dk_nl_free(list);
	return status;
}

static int show_uncounted(struct live *v, const struct dk_nl_counter_filter *filter)
{
	int status = check_names(v, filter->op, filter->provider);

	if (!status)
		puts(NOT_COUNTED);
	return status;
}

static int show(struct live *v, const struct dk_nl_counter_filter *filter)
{
	const struct dk_nl_stats *stats;
	int err = dk_nl_stats_get(client(v), &stats), status;

	if (err)
		return fail_kernel(v, err);
	/* if calls are not counted, there are no counters to read: no permission is needed */
	if (stats->state == DK_NL_STATE_ONLINE)
		status = show_counters(v, stats, filter);
	else if (has_option(v, OPTION_JSON))
		status = print_counters(v, stats, filter, NULL);
	else
		status = show_uncounted(v, filter);
	dk_nl_free(stats);
	return status;
}

int live_stats(struct live *v)
{
	static const char *const words[] = {
		"show", "op", "provider", "on", "off", "reset", "readers", NULL
	};
	struct dk_nl_counter_filter filter = { .size = sizeof(filter) };
	int status = STATUS_OK;

	if (*v->next && !strcmp(*v->next, "on")) {
		v->next++;
		return enable(v, 1);
	}
	if (*v->next && !strncmp(*v->next, "of", 2) && take(v, "off"))
		return enable(v, 0);
	/* "re" begins both "readers" and "reset", so it is not an abbreviation of "readers" */
	if (*v->next && strlen(*v->next) > 2 && take(v, "readers"))
		return take_readers(v);
	if (take(v, "reset"))
		return reset(v);
	filter.used = has_option(v, OPTION_USED);
	take_show(v);
	while (*v->next && !status) {
		if (*v->next[0] == 'o' && take(v, "op"))
			filter.op = take_value(v, "op", "an operator name", &status);
		else if (take(v, "provider"))
			filter.provider = take_value(v, "provider", "a provider name",
						     &status);
		else
			break;
	}
	if (!status)
		status = expect_end(v, words);
	return status ? status : show(v, &filter);
}
