// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl version: prints the versions of tool, library and module, and reports if one is older. */
#include "live.h"
#include "nl/module_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Compares versions such as "0.1.0"; returns a negative number if @a is older. */
static int compare(const char *a, const char *b)
{
	char *end_a, *end_b;
	long x, y;

	for (;;) {
		x = strtol(a, &end_a, 10);
		y = strtol(b, &end_b, 10);
		if (x != y || (!*end_a && !*end_b))
			return (x > y) - (x < y);
		a = end_a + (*end_a != '\0');
		b = end_b + (*end_b != '\0');
	}
}

/* Returns the name of the older part, or NULL if the versions are equal. */
static const char *older(const char *a, const char *name_a, const char *b,
			 const char *name_b)
{
	int order = compare(a, b);

	return order < 0 ? name_a : order > 0 ? name_b : NULL;
}

/* Returns why the module did not answer a request that failed with @err. */
static const char *silence(int err)
{
	if (err != -ENOENT)
		return "dispatchkey.ko does not answer";
	return dkn_module_is_live() ?
	       "dispatchkey.ko answers in the initial network namespace only" :
	       "dispatchkey.ko is not loaded";
}

/* @info is NULL if the module did not answer; @err says why. */
static void json(struct request *q, const struct dk_nl_info *info, int err)
{
	const char *module = info ? older(info->version, "module", dk_version(), "tool") : NULL;
	const char *library = older(dk_nl_version(), "library", dk_version(), "tool");
	struct json j;

	json_begin(&j, stdout, q);
	json_string(&j, "version", dk_version());
	json_uint(&j, "abi", DK_ABI_VERSION);
	json_string(&j, "layout", DK_LAYOUT_NAME);
	json_string(&j, "library", dk_nl_version());
	if (info) {
		json_object(&j, "module");
		json_string(&j, "version", info->version);
		json_uint(&j, "abi", info->abi);
		json_string(&j, "layout", info->layout);
		json_close(&j);
	} else {
		json_null(&j, "module");
	}
	json_name(&j, "module_error", info ? "" : silence(err));
	json_name(&j, "older_of_tool_and_module", module ? module : "");
	json_name(&j, "older_of_tool_and_library", library ? library : "");
	json_end(&j);
}

static void compare_library(void)
{
	int order = compare(dk_nl_version(), dk_version());

	if (order < 0)
		puts("libdispatchkey-nl is older than dkctl: some output may be missing.");
	else if (order > 0)
		puts("dkctl is older than libdispatchkey-nl. This is harmless.");
}

static void compare_module(const struct dk_nl_info *info)
{
	int order = compare(info->version, dk_version());

	if (order < 0)
		puts("The module is older than dkctl, and refuses what it does not support.");
	else if (order > 0)
		puts("dkctl is older than the module, and omits what it does not support.");
	else if (!compare(dk_nl_version(), dk_version()))
		puts("All three have the same version.");
}

static void put_module(const struct dk_nl_info *info, int err)
{
	if (info) {
		printf("dispatchkey.ko ");
		print_escaped(stdout, info->version, strlen(info->version));
		printf(" (ABI %u, layout ", info->abi);
		print_escaped(stdout, info->layout, strlen(info->layout));
		puts(")");
	} else {
		puts(silence(err));
	}
}

int run_version(struct request *q)
{
	const struct dk_nl_info *info = NULL;
	struct dk_nl *nl = NULL;
	int err = dk_nl_open(NULL, &nl, NULL);

	if (!err)
		err = dk_nl_info_get(nl, &info);
	if (q->options & OPTION_JSON) {
		json(q, info, err);
	} else {
		show_version(q);
		printf("libdispatchkey-nl %s\n", dk_nl_version());
		put_module(info, err);
		compare_library();
		if (info)
			compare_module(info);
	}
	dk_nl_free(info);
	dk_nl_close(nl);
	return STATUS_OK;
}
