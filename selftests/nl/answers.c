// SPDX-License-Identifier: GPL-2.0-only
/* Makes correct replies of the module. */
#include "answers.h"

#include <stdio.h>
#include <string.h>

enum version module_version;
unsigned int elements = 3;
uint64_t generation = 77;

static void put_info(struct fake_msg *m)
{
	fake_string(m, DK_A_INFO_VERSION, "0.9.1");
	fake_u32(m, DK_A_INFO_ABI, 1);
	fake_string(m, DK_A_INFO_LAYOUT, "v1");
	fake_u64(m, DK_A_INFO_GENERATION, generation);
	fake_u32(m, DK_A_INFO_OPERATORS, 412);
	fake_u32(m, DK_A_INFO_IMPLS, 1000);
	fake_u32(m, DK_A_INFO_PROVIDERS, 2);
	fake_u32(m, DK_A_INFO_DEVICES, 4);
	fake_u8(m, DK_A_INFO_COUNTERS, DK_NL_STATE_ONLINE);
}

static void put_layout(struct fake_msg *m)
{
	size_t nest;
	uint32_t i;

	fake_string(m, DK_A_LAYOUT_NAME, "v1");
	fake_u32(m, DK_A_LAYOUT_ENTRIES, 1000);
	for (i = 1; i <= 2; i++) {
		nest = fake_nest(m, DK_A_LAYOUT_BACKEND);
		fake_u32(m, DK_A_LAYOUT_BACKEND_NUMBER, i);
		fake_string(m, DK_A_LAYOUT_BACKEND_NAME, i == 1 ? "CPU" : "CUDA");
		fake_nest_end(m, nest);
	}
	for (i = 0; i < 3; i++) {
		nest = fake_nest(m, DK_A_LAYOUT_FUNCTIONALITY);
		fake_u32(m, DK_A_LAYOUT_FUNCTIONALITY_NUMBER, i);
		fake_string(m, DK_A_LAYOUT_FUNCTIONALITY_NAME, i ? "Dense" : "Undefined");
		fake_u32(m, DK_A_LAYOUT_FUNCTIONALITY_SLOT, 16 * i);
		if (i == 1)
			fake_attr(m, DK_A_LAYOUT_FUNCTIONALITY_PER_BACKEND, NULL, 0);
		fake_nest_end(m, nest);
	}
	nest = fake_nest(m, DK_A_LAYOUT_ALIAS);
	fake_u32(m, DK_A_LAYOUT_ALIAS_NUMBER, 200);
	fake_string(m, DK_A_LAYOUT_ALIAS_NAME, "Autograd");
	fake_nest_end(m, nest);
}

static void put_backend(struct fake_msg *m, unsigned int i)
{
	fake_u32(m, DK_A_BACKEND_NUMBER, 14 + i);
	fake_string(m, DK_A_BACKEND_NAME, "edu");
	if (module_version == OLDER)
		return;
	fake_string(m, DK_A_BACKEND_KEY_NAME, "PrivateUse1");
	fake_u8(m, DK_A_BACKEND_STATE, DK_NL_STATE_OFFLINE);
	fake_attr(m, DK_A_BACKEND_BOUND, NULL, 0);
	fake_string(m, DK_A_BACKEND_PROVIDER, "dk_edu");
	fake_u32(m, DK_A_BACKEND_DEVICES, 2);
	fake_string(m, DK_A_BACKEND_PROVIDER, "other");
	fake_u32(m, DK_A_BACKEND_IMPLS, 9);
	fake_u32(m, DK_A_BACKEND_PROVIDERS, 20);
}

static void put_device(struct fake_msg *m, unsigned int i)
{
	fake_u32(m, DK_A_DEVICE_NUMBER, 65536 + i);
	fake_string(m, DK_A_DEVICE_NAME, i ? "edu1" : "edu0");
	if (module_version == OLDER)
		return;
	fake_u32(m, DK_A_DEVICE_BACKEND, 14);
	fake_string(m, DK_A_DEVICE_BACKEND_NAME, "edu");
	fake_string(m, DK_A_DEVICE_PROVIDER, "dk_edu");
	fake_u8(m, DK_A_DEVICE_STATE, DK_NL_STATE_ONLINE);
	fake_u8(m, DK_A_DEVICE_BACKEND_STATE, DK_NL_STATE_OFFLINE);
	fake_u32(m, DK_A_DEVICE_IMPLS, 5);
}

static void put_provider(struct fake_msg *m, unsigned int i)
{
	fake_string(m, DK_A_PROVIDER_NAME, "dk_edu");
	if (module_version == OLDER)
		return;
	fake_string(m, DK_A_PROVIDER_MODULE, "dk_edu");
	fake_u8(m, DK_A_PROVIDER_STATE, DK_NL_PROVIDER_UNREGISTERING);
	fake_u32(m, DK_A_PROVIDER_OPERATORS, 3);
	fake_u32(m, DK_A_PROVIDER_IMPLS, 6);
	fake_u32(m, DK_A_PROVIDER_DEVICES, 2);
	fake_string(m, DK_A_PROVIDER_BACKEND, "edu");
	if (i == 0)
		fake_u64(m, DK_A_PROVIDER_CALLS, 1ULL << 40);
	fake_string(m, DK_A_PROVIDER_INSIDE, "aten::add add_edu python3[17] 1500 ms");
	fake_string(m, DK_A_PROVIDER_INSIDE, "aten::add add_edu (deferred)[18] 90 ms");
}

/* Appends a registration. @op is NULL inside another attribute. */
static void put_impl(struct fake_msg *m, const char *op, unsigned int i)
{
	if (op)
		fake_string(m, DK_A_IMPL_OP, op);
	fake_u32(m, DK_A_IMPL_KEY, 30 + i);
	fake_string(m, DK_A_IMPL_KEY_NAME, "edu");
	fake_string(m, DK_A_IMPL_LABEL, "add");
	if (module_version == OLDER)
		return;
	fake_string(m, DK_A_IMPL_PROVIDER, "dk_edu");
	fake_u32(m, DK_A_IMPL_DEVICE, 65536);
	fake_string(m, DK_A_IMPL_DEVICE_NAME, "edu0");
	fake_u32(m, DK_A_IMPL_FLAGS, DK_NL_IMPL_ACTIVE | DK_NL_IMPL_BOXED);
}

static void put_op(struct fake_msg *m, unsigned int i, bool is_dump)
{
	char name[32];
	size_t nest;
	unsigned int n;

	snprintf(name, sizeof(name), "aten::op%05u", i);
	fake_string(m, DK_A_OP_NAME, name);
	fake_u32(m, DK_A_OP_NUM_IMPLS, 2);
	for (n = 0; !is_dump && n < 2; n++) {
		nest = fake_nest(m, DK_A_OP_IMPL);
		put_impl(m, NULL, n);
		fake_nest_end(m, nest);
	}
	if (module_version == OLDER)
		return;
	fake_string(m, DK_A_OP_SCHEMA, "op(Tensor x) -> Tensor");
	fake_string(m, DK_A_OP_PROVIDER, "dk_cpu");
	fake_u32(m, DK_A_OP_FLAGS, DK_NL_OP_ATOMIC);
	fake_u32(m, DK_A_OP_NUM_DEVICE_IMPLS, 1);
	fake_u32(m, DK_A_OP_MAX_OBJS, 3);
}

static void put_run(struct fake_msg *m, unsigned int i)
{
	fake_u32(m, DK_A_TABLE_FIRST, 10 * i);
	fake_u32(m, DK_A_TABLE_LAST, 10 * i + 4);
	fake_string(m, DK_A_TABLE_FIRST_KEY, "CPU");
	fake_string(m, DK_A_TABLE_LAST_KEY, "XPU");
	fake_u32(m, DK_A_TABLE_PROVENANCE, DK_NL_PROV_MATH);
	if (module_version == OLDER)
		return;
	fake_u32(m, DK_A_TABLE_FLAGS, DK_NL_IMPL_ACTIVE);
	fake_string(m, DK_A_TABLE_LABEL, "add");
	fake_string(m, DK_A_TABLE_PROVIDER, "dk_edu");
	fake_u32(m, DK_A_TABLE_DEVICE, 65536);
	fake_string(m, DK_A_TABLE_DEVICE_NAME, "edu0");
}

static void put_route(struct fake_msg *m)
{
	fake_string(m, DK_A_ROUTE_OP, "aten::add");
	fake_u64(m, DK_A_ROUTE_INCLUDED, 1);
	fake_u64(m, DK_A_ROUTE_EXCLUDED, 2);
	fake_u64(m, DK_A_ROUTE_RAW, 3);
	fake_u64(m, DK_A_ROUTE_MERGED, 4);
	fake_u64(m, DK_A_ROUTE_EFFECTIVE, 5ULL << 33);
	fake_u32(m, DK_A_ROUTE_SLOT, 15);
	fake_u32(m, DK_A_ROUTE_KEY, 31);
	fake_string(m, DK_A_ROUTE_KEY_NAME, "edu");
	fake_u32(m, DK_A_ROUTE_ERROR, (uint32_t)-38);
	fake_u32(m, DK_A_ROUTE_PROVENANCE, DK_NL_PROV_KERNEL);
	fake_u64(m, DK_A_ROUTE_GENERATION, generation);
	if (module_version == OLDER)
		return;
	fake_u32(m, DK_A_ROUTE_FLAGS, DK_NL_IMPL_ACTIVE);
	fake_string(m, DK_A_ROUTE_LABEL, "add");
	fake_string(m, DK_A_ROUTE_PROVIDER, "dk_edu");
	fake_u32(m, DK_A_ROUTE_DEVICE, 65536);
	fake_string(m, DK_A_ROUTE_DEVICE_NAME, "edu0");
}

static void put_step(struct fake_msg *m, unsigned int i)
{
	size_t step, impl;

	fake_u64(m, DK_A_ROUTE_GENERATION, generation);
	step = fake_nest(m, DK_A_ROUTE_STEP);
	fake_u32(m, DK_A_STEP_KIND, DK_NL_STEP_IMPL);
	fake_u32(m, DK_A_STEP_RULE, i + 1);
	fake_u32(m, DK_A_STEP_VERDICT, DK_NL_VERDICT_BARRED);
	fake_u32(m, DK_A_STEP_BEARING, DK_NL_BEARING_DECIDES);
	fake_u32(m, DK_A_STEP_KEY, 31);
	fake_string(m, DK_A_STEP_KEY_NAME, "edu");
	if (i < 2) {
		impl = fake_nest(m, DK_A_STEP_IMPL);
		put_impl(m, NULL, 1);
		fake_nest_end(m, impl);
	}
	if (i == 0)
		fake_attr(m, DK_A_STEP_FALLBACK, NULL, 0);
	fake_nest_end(m, step);
}

static void put_stats(struct fake_msg *m)
{
	fake_u8(m, DK_A_STATS_STATE, DK_NL_STATE_ONLINE);
	fake_u64(m, DK_A_STATS_COUNT, 5000000000ULL);
	fake_u64(m, DK_A_STATS_UNCOUNTED, 3);
	fake_u8(m, DK_A_STATS_READERS, DK_NL_READERS_ADMINS);
	fake_u64(m, DK_A_STATS_GONE, 4000000000ULL);
}

static void put_counter(struct fake_msg *m, unsigned int i)
{
	fake_string(m, DK_A_STATS_OP, "aten::add");
	fake_u32(m, DK_A_STATS_KIND, DK_NL_STAT_FALLBACK);
	fake_u32(m, DK_A_STATS_KEY, 31);
	fake_string(m, DK_A_STATS_KEY_NAME, "edu");
	fake_string(m, DK_A_STATS_LABEL, "add");
	if (i == 0)
		fake_u64(m, DK_A_STATS_COUNT, 12);
}

static void put_limit(struct fake_msg *m, unsigned int i)
{
	fake_string(m, DK_A_LIMIT_NAME, "private-backends");
	fake_u64(m, DK_A_LIMIT_MOST, 3);
	if (i == 0)
		fake_u64(m, DK_A_LIMIT_USED, 1);
}

bool calls_inside;

static void put_switched(struct fake_msg *m, int cmd)
{
	bool is_backend = cmd == DK_CMD_BACKEND_SET;

	fake_u32(m, is_backend ? DK_A_BACKEND_NUMBER : DK_A_DEVICE_NUMBER, 14);
	fake_string(m, is_backend ? DK_A_BACKEND_NAME : DK_A_DEVICE_NAME, "edu0");
	fake_u8(m, is_backend ? DK_A_BACKEND_STATE : DK_A_DEVICE_STATE, DK_NL_STATE_OFFLINE);
	fake_string(m, is_backend ? DK_A_BACKEND_UNSERVED : DK_A_DEVICE_UNSERVED,
		    "aten::add at edu");
	if (calls_inside)
		fake_string(m, is_backend ? DK_A_BACKEND_INSIDE : DK_A_DEVICE_INSIDE,
			    "aten::add add_edu python3[17] 1500 ms");
}

void put_element(struct fake_msg *m, int cmd, unsigned int i, bool is_dump)
{
	switch (cmd) {
	case DK_CMD_INFO_GET:
		put_info(m);
		break;
	case DK_CMD_LAYOUT_GET:
		put_layout(m);
		break;
	case DK_CMD_BACKEND_GET:
		put_backend(m, i);
		break;
	case DK_CMD_DEVICE_GET:
		put_device(m, i);
		break;
	case DK_CMD_BACKEND_SET:
	case DK_CMD_DEVICE_SET:
		put_switched(m, cmd);
		break;
	case DK_CMD_PROVIDER_GET:
		put_provider(m, i);
		break;
	case DK_CMD_OP_GET:
		put_op(m, i, is_dump);
		break;
	case DK_CMD_IMPL_GET:
		put_impl(m, "aten::add", i);
		break;
	case DK_CMD_TABLE_GET:
		put_run(m, i);
		break;
	case DK_CMD_ROUTE_GET:
		if (is_dump)
			put_step(m, i);
		else
			put_route(m);
		break;
	case DK_CMD_STATS_GET:
		if (is_dump)
			put_counter(m, i);
		else
			put_stats(m);
		break;
	case DK_CMD_LIMIT_GET:
		put_limit(m, i);
		break;
	}
	if (module_version == NEWER) {
		fake_string(m, 300, "nobody knows this");
		fake_attr(m, 301 | NLA_F_NESTED, "\1", 1);
	}
}

void answer_well(const struct nlmsghdr *request)
{
	bool is_dump = fake_is_dump(request);
	unsigned int i, n = is_dump ? elements : 1;
	struct fake_msg m;

	if (fake_cmd(request) == DK_CMD_STATS_SET || fake_cmd(request) == DK_CMD_BACKEND_RELEASE)
		n = 0;
	for (i = 0; i < n; i++) {
		fake_begin_genl(&m, fake_cmd(request), is_dump ? NLM_F_MULTI : 0,
				request->nlmsg_seq);
		put_element(&m, fake_cmd(request), i, is_dump);
		fake_queue(&m);
	}
	if (is_dump)
		fake_done(request, 0, 0);
	else
		fake_ack(request, 0);
}
