// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Replaces the subcommands for a running kernel in a build without libnl. */
#include "../complete.h"

const char live_note[] = " (not with this dkctl, which was built without libnl)";

static int run_live(struct request *q)
{
	return fail(q, STATUS_KERNEL, q->subcommand->name, NULL,
		    "this dkctl was built without libnl: install libnl-genl-3-dev and build it again");
}

#define DEFINE_RUN_LIVE(name)			\
int run_live_##name(struct request *q)		\
{						\
	return run_live(q);			\
}

LIVE_SUBCOMMANDS(DEFINE_RUN_LIVE)

static const char no_libnl[] = "this dkctl was built without libnl and cannot query the module";

static void json(struct request *q)
{
	struct json j;

	json_begin(&j, stdout, q);
	json_string(&j, "version", dk_version());
	json_uint(&j, "abi", DK_ABI_VERSION);
	json_string(&j, "layout", DK_LAYOUT_NAME);
	json_null(&j, "library");
	json_null(&j, "module");
	json_string(&j, "module_error", no_libnl);
	json_null(&j, "older_of_tool_and_module");
	json_null(&j, "older_of_tool_and_library");
	json_end(&j);
}

int run_version(struct request *q)
{
	if (q->options & OPTION_JSON) {
		json(q);
	} else {
		show_version(q);
		puts(no_libnl);
	}
	return STATUS_OK;
}

void live_candidates(struct completion *c, const char *kind)
{
}

void live_key_candidates(struct completion *c)
{
}
