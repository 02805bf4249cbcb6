// SPDX-License-Identifier: GPL-2.0-only
/* Tests the attributes of the client's requests. */
#include <errno.h>

#include "client.h"

static struct fake_msg last;

static void remember(const struct nlmsghdr *request)
{
	memcpy(last.bytes, request, request->nlmsg_len);
	last.len = request->nlmsg_len;
	answer_well(request);
}

static uint64_t sent(int type, size_t len)
{
	size_t at = fake_find(&last.nlh, type);
	uint64_t v = 0;

	if (!EXPECT(at))
		return 0;
	EXPECT_EQ(((const struct nlattr *)(last.bytes + at))->nla_len, NLA_HDRLEN + len);
	memcpy(&v, last.bytes + at + NLA_HDRLEN, len);
	return v;
}

static bool is_sent(int type)
{
	return fake_find(&last.nlh, type);
}

TEST(requests_have_the_given_attributes)
{
	struct dk_nl_op_filter of = { .size = sizeof(of), .has_key = 1, .prefix = "aten::" };
	struct dk_nl_impl_filter f = { .size = sizeof(f), .backend = 14, .provider = "p" };
	struct dk_nl_counter_filter cf = { .size = sizeof(cf), .used = 1 };
	struct dk_nl *nl = open_nl();
	const struct dk_nl_op *op;
	const struct dk_nl_impl *impl;
	const struct dk_nl_counter *counter;

	fake.answer = remember;
	dk_nl_ops(nl, &of, &op);
	EXPECT(fake_is_dump(&last.nlh));
	EXPECT_EQ(sent(DK_A_OP_KEY, 4), 0);
	EXPECT_STREQ(fake_find_string(&last.nlh, DK_A_OP_PREFIX), "aten::");
	EXPECT(!is_sent(DK_A_OP_BACKEND) && !is_sent(DK_A_OP_PROVIDER));
	dk_nl_free(op);
	dk_nl_impls(nl, &f, &impl);
	EXPECT_EQ(sent(DK_A_IMPL_BACKEND, 4), 14);
	EXPECT_STREQ(fake_find_string(&last.nlh, DK_A_IMPL_PROVIDER), "p");
	EXPECT(!is_sent(DK_A_IMPL_KEY) && !is_sent(DK_A_IMPL_OP) && !is_sent(DK_A_IMPL_DEVICE));
	dk_nl_free(impl);
	dk_nl_counters(nl, &cf, &counter);
	EXPECT_EQ(sent(DK_A_STATS_USED, 0), 0);
	dk_nl_free(counter);
	dk_nl_stats_enable(nl, 0);
	EXPECT_EQ(sent(DK_A_STATS_STATE, 1), DK_NL_STATE_OFFLINE);
	EXPECT(!is_sent(DK_A_STATS_RESET));
	dk_nl_stats_reset(nl);
	EXPECT(is_sent(DK_A_STATS_RESET) && !is_sent(DK_A_STATS_STATE));
	EXPECT_EQ(dk_nl_backend_release(nl, "edu"), 0);
	EXPECT(is_sent(DK_A_BACKEND_NAME) && !is_sent(DK_A_BACKEND_NUMBER));
	dk_nl_stats_set_readers(nl, DK_NL_READERS_ADMINS);
	EXPECT_EQ(sent(DK_A_STATS_READERS, 1), DK_NL_READERS_ADMINS);
	EXPECT(!is_sent(DK_A_STATS_RESET) && !is_sent(DK_A_STATS_STATE));
	/* a number that is too large is sent as the maximum, and not cut off */
	dk_nl_stats_set_readers(nl, 0x100);
	EXPECT_EQ(sent(DK_A_STATS_READERS, 1), 0xff);
	dk_nl_device_set_online(nl, 7, NULL, 1, NULL);
	EXPECT_EQ(sent(DK_A_DEVICE_NUMBER, 4), 7);
	EXPECT_EQ(sent(DK_A_DEVICE_STATE, 1), DK_NL_STATE_ONLINE);
	EXPECT(!is_sent(DK_A_DEVICE_NAME));
	close_nl(nl);
}

TEST(arguments_of_a_call)
{
	/* each device stands for its Dense key; the other objects have an empty keyset */
	struct dk_nl_obj objs[64] = { { .device = 9 }, { .device_name = "edu0" } };
	struct dk_nl_call call = {
		.size = sizeof(call), .op = "aten::add", .objs = objs, .num_objs = 64,
		.has_excluded = 1, .excluded = { 6 },
	};
	struct dk_nl *nl = open_nl();
	const struct dk_nl_route *r;
	const struct nlattr *nla;
	size_t at;

	fake.answer = remember;
	EXPECT_EQ(dk_nl_route_get(nl, &call, &r), 0);
	dk_nl_free(r);
	EXPECT_EQ(sent(DK_A_ROUTE_EXCLUDED, 8), 6);
	EXPECT(!is_sent(DK_A_ROUTE_INCLUDED));
	at = fake_find(&last.nlh, DK_A_ROUTE_OBJ);
	nla = (const void *)(last.bytes + at + NLA_HDRLEN);
	EXPECT_EQ(nla->nla_type, DK_A_OBJ_DEVICE);
	at += ((const struct nlattr *)(last.bytes + at))->nla_len;
	nla = (const void *)(last.bytes + at + NLA_HDRLEN);
	EXPECT_EQ(nla->nla_type, DK_A_OBJ_DEVICE_NAME);
	at += ((const struct nlattr *)(last.bytes + at))->nla_len;
	nla = (const void *)(last.bytes + at + NLA_HDRLEN);
	EXPECT_EQ(nla->nla_type, DK_A_OBJ_KEYSET);
	close_nl(nl);
}
