// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests error messages: those in the kernel's extended ACK at the end of a request or a dump, and
 * the client's own messages if the kernel sends none. selftests/api/full_registry.h explains the
 * comments "refuses:".
 */
#include <errno.h>

#include "client.h"

/* The kernel's reply to the next request. */
static struct {
	int error;
	const char *message;
	int attribute;		/* the wrong attribute of the request; 0: none */
	size_t inner;		/* added to the offset of the attribute, for nested ones */
	int missing;
	int missing_in;		/* the nest that lacks the missing attribute */
	bool has_request;	/* the reply contains the whole request */
} says;

static void put_tlvs(struct fake_msg *m, const struct nlmsghdr *request)
{
	if (says.message)
		fake_string(m, NLMSGERR_ATTR_MSG, says.message);
	if (says.attribute)
		fake_u32(m, NLMSGERR_ATTR_OFFS,
			 (uint32_t)(fake_find(request, says.attribute) + says.inner));
	if (says.missing)
		fake_u32(m, NLMSGERR_ATTR_MISS_TYPE, (uint32_t)says.missing);
	if (says.missing_in)
		fake_u32(m, NLMSGERR_ATTR_MISS_NEST,
			 (uint32_t)fake_find(request, says.missing_in));
	fake_queue(m);
}

/* An error of a dump that has begun is sent with NLMSG_DONE, as in the kernel. */
static void answer_as_said(const struct nlmsghdr *request)
{
	struct nlmsgerr err = { .error = says.error, .msg = *request };
	struct fake_msg m;

	if (fake_is_dump(request)) {
		fake_begin(&m, NLMSG_DONE, NLM_F_MULTI | NLM_F_ACK_TLVS, request->nlmsg_seq);
		fake_bytes(&m, &says.error, sizeof(says.error));
	} else {
		fake_begin(&m, NLMSG_ERROR,
			   NLM_F_ACK_TLVS | (says.has_request ? 0 : NLM_F_CAPPED),
			   request->nlmsg_seq);
		fake_bytes(&m, &err, sizeof(err));
		if (says.has_request)
			fake_bytes(&m, request + 1, request->nlmsg_len - sizeof(*request));
	}
	put_tlvs(&m, request);
}

static struct dk_nl *open_said(void)
{
	memset(&says, 0, sizeof(says));
	return open_nl_with(answer_as_said);
}

/* ---- messages of the kernel ----------------------------------------------- */

static void check_edu9(struct dk_nl *nl)
{
	const struct dk_nl_error *why = dk_nl_why(nl);

	EXPECT_EQ(why->code, -ENODEV);
	EXPECT_STREQ(why->sentence, "device \"edu9\": no such device");
	EXPECT_STREQ(why->message, "no such device");
	EXPECT_STREQ(why->attribute, "name");
	EXPECT_STREQ(why->value, "edu9");
	EXPECT_STREQ(why->missing, "");
	EXPECT_STREQ(dk_nl_strerror(nl), why->sentence);
}

TEST(a_backend_in_use)
{
	struct dk_nl *nl = open_said();

	says.error = -EBUSY;
	says.message = "a provider or a device uses the backend's name";
	says.attribute = DK_A_BACKEND_NAME;
	says.has_request = true;
	/* refuses: dk_nl_backend_release EBUSY */
	EXPECT_EQ(dk_nl_backend_release(nl, "edu"), -EBUSY);
	EXPECT_STREQ(dk_nl_strerror(nl),
		     "backend \"edu\": a provider or a device uses the backend's name");
	close_nl(nl);
}

TEST(a_name_at_fault)
{
	const struct dk_nl_device *d = (void *)1;
	struct dk_nl *nl = open_said();

	says.error = -ENODEV;
	says.message = "no such device";
	says.attribute = DK_A_DEVICE_NAME;
	EXPECT_EQ(dk_nl_device_get(nl, 0, "edu9", &d), -ENODEV);
	EXPECT(!d);
	check_edu9(nl);
	/* the reply contains the request, followed by the TLVs */
	says.has_request = true;
	EXPECT_EQ(dk_nl_device_get(nl, 0, "edu9", &d), -ENODEV);
	check_edu9(nl);
	close_nl(nl);
}

TEST(a_number_at_fault)
{
	const struct dk_nl_backend *b;
	struct dk_nl *nl = open_said();

	says.error = -ERANGE;
	says.message = "integer out of range";
	says.attribute = DK_A_BACKEND_NUMBER;
	EXPECT_EQ(dk_nl_backend_get(nl, 99, NULL, &b), -ERANGE);
	EXPECT_STREQ(dk_nl_strerror(nl), "backend 99: integer out of range");
	says.message = NULL;
	EXPECT_EQ(dk_nl_backend_get(nl, 99, NULL, &b), -ERANGE);
	EXPECT_STREQ(dk_nl_strerror(nl), "backend 99: Numerical result out of range");
	close_nl(nl);
}

TEST(at_the_end_of_a_dump)
{
	struct dk_nl_op_filter f = { .size = sizeof(f), .provider = "nobody" };
	const struct dk_nl_op *op;
	struct dk_nl *nl = open_said();

	says.error = -ENOENT;
	says.message = "no such provider";
	says.attribute = DK_A_OP_PROVIDER;
	EXPECT_EQ(dk_nl_ops(nl, &f, &op), -ENOENT);
	EXPECT_STREQ(dk_nl_strerror(nl), "provider \"nobody\": no such provider");
	close_nl(nl);
}

TEST(within_a_nest)
{
	struct dk_nl_obj obj = { .device_name = "edu9" };
	struct dk_nl_call call = {
		.size = sizeof(call), .op = "aten::add", .objs = &obj, .num_objs = 1,
	};
	const struct dk_nl_route *r;
	struct dk_nl *nl = open_said();

	says.error = -ENODEV;
	says.message = "no such device";
	says.attribute = DK_A_ROUTE_OBJ;
	says.inner = NLA_HDRLEN;
	EXPECT_EQ(dk_nl_route_get(nl, &call, &r), -ENODEV);
	EXPECT_STREQ(dk_nl_why(nl)->attribute, "obj.device-name");
	EXPECT_STREQ(dk_nl_strerror(nl), "device \"edu9\": no such device");
	/* the wrong attribute is the nest itself, which has no value to print */
	says.inner = 0;
	says.message = "too many arguments";
	EXPECT_EQ(dk_nl_route_get(nl, &call, &r), -ENODEV);
	EXPECT_STREQ(dk_nl_why(nl)->attribute, "obj");
	EXPECT_STREQ(dk_nl_strerror(nl), "argument: too many arguments");
	close_nl(nl);
}

TEST(what_is_missing)
{
	const struct dk_nl_run *run;
	struct dk_nl *nl = open_said();

	says.error = -EINVAL;
	says.missing = DK_A_TABLE_OP;
	EXPECT_EQ(dk_nl_table_get(nl, NULL, 0, NULL, &run), -EINVAL);
	EXPECT_STREQ(dk_nl_why(nl)->missing, "op");
	EXPECT_STREQ(dk_nl_strerror(nl), "operator is missing");
	says.message = "a table is an operator's";
	EXPECT_EQ(dk_nl_table_entry_get(nl, NULL, 0, NULL, 1, &run), -EINVAL);
	EXPECT_STREQ(dk_nl_strerror(nl), "a table is an operator's");
	EXPECT_STREQ(dk_nl_why(nl)->missing, "op");
	close_nl(nl);
}

TEST(what_is_missing_in_a_nest)
{
	struct dk_nl_obj obj = { .device = 4 };
	struct dk_nl_call call = {
		.size = sizeof(call), .op = "aten::add", .objs = &obj, .num_objs = 1,
	};
	const struct dk_nl_route *r;
	struct dk_nl *nl = open_said();

	says.error = -EINVAL;
	says.missing = DK_A_OBJ_KEYSET;
	says.missing_in = DK_A_ROUTE_OBJ;
	EXPECT_EQ(dk_nl_route_get(nl, &call, &r), -EINVAL);
	EXPECT_STREQ(dk_nl_why(nl)->missing, "obj.keyset");
	EXPECT_STREQ(dk_nl_strerror(nl), "keyset is missing");
	close_nl(nl);
}

TEST(a_reset_of_disabled_counters)
{
	struct dk_nl *nl = open_said();

	says.error = -ENODATA;
	says.message = "the counters are off";
	says.attribute = DK_A_STATS_RESET;
	/* refuses: dk_nl_stats_reset ENODATA */
	EXPECT_EQ(dk_nl_stats_reset(nl), -ENODATA);
	EXPECT_STREQ(dk_nl_strerror(nl), "reset: the counters are off");
	close_nl(nl);
}

TEST(only_a_message)
{
	struct dk_nl *nl = open_said();

	says.error = -ENOMEM;
	says.message = "no memory for the counters";
	/* refuses: dk_nl_stats_enable ENOMEM */
	EXPECT_EQ(dk_nl_stats_enable(nl, 1), -ENOMEM);
	EXPECT_STREQ(dk_nl_strerror(nl), "no memory for the counters");
	EXPECT_STREQ(dk_nl_why(nl)->attribute, "");
	close_nl(nl);
}

TEST(online_again_meanwhile)
{
	struct dk_nl *nl = open_said();

	says.error = -ECANCELED;
	says.message = "the device or backend was brought online again during the wait";
	/* refuses: dk_nl_device_set_online ECANCELED */
	EXPECT_EQ(dk_nl_device_set_online(nl, 0, "edu0", 0, NULL), -ECANCELED);
	/* refuses: dk_nl_backend_set_online ECANCELED */
	EXPECT_EQ(dk_nl_backend_set_online(nl, 0, "edu", 0, NULL), -ECANCELED);
	EXPECT_STREQ(dk_nl_strerror(nl), says.message);
	close_nl(nl);
}

TEST(a_warning)
{
	struct dk_nl *nl = open_said();

	says.message = "counters were off";
	EXPECT_EQ(dk_nl_stats_reset(nl), 0);
	EXPECT_EQ(dk_nl_why(nl)->code, 0);
	EXPECT_STREQ(dk_nl_why(nl)->message, "counters were off");
	EXPECT_STREQ(dk_nl_strerror(nl), "");
	close_nl(nl);
}

TEST(terminal_escapes_are_removed)
{
	struct dk_nl *nl = open_said();

	says.error = -EBUSY;
	says.message = "a\033[2J\nb\177";
	EXPECT_EQ(dk_nl_stats_reset(nl), -EBUSY);
	EXPECT_STREQ(dk_nl_strerror(nl), "a?[2J?b?");
	/* U+009B is equivalent to ESC [ and is replaced; printable characters are kept */
	says.message = "\302\2332J\302\240\303\233";
	EXPECT_EQ(dk_nl_stats_reset(nl), -EBUSY);
	EXPECT_STREQ(dk_nl_strerror(nl), "??2J\302\240\303\233");
	close_nl(nl);
}

TEST(another_layout)
{
	struct dk_nl_options o = { .size = sizeof(o), .layout = "v7" };
	struct dk_nl_error why = { .size = sizeof(why) };
	struct dk_nl_monitor *m;
	struct dk_nl *nl;

	fake_reset();
	fake.answer = answer_as_said;
	memset(&says, 0, sizeof(says));
	says.error = -EPROTO;
	says.message = "the registry has another layout";
	says.attribute = DK_A_INFO_LAYOUT;
	/* refuses: dk_nl_open EPROTO */
	EXPECT_EQ(dk_nl_open(&o, &nl, &why), -EPROTO);
	EXPECT(!nl);
	EXPECT_STREQ(why.sentence, "layout \"v7\": the registry has another layout");
	/* refuses: dk_nl_monitor_open EPROTO */
	EXPECT_EQ(dk_nl_monitor_open(&o, &m, &why), -EPROTO);
	EXPECT_STREQ(why.value, "v7");
	says.error = 0;
	EXPECT_EQ(dk_nl_open(&o, &nl, NULL), 0);
	close_nl(nl);
}

/* ---- without a message ---------------------------------------------------- */

static int plain_error;

static void answer_plainly(const struct nlmsghdr *request)
{
	fake_ack(request, plain_error);
}

TEST(sentences_of_the_client)
{
	struct dk_nl *nl = open_said();
	const struct dk_nl_counter *c;

	fake.answer = answer_plainly;
	plain_error = -EPERM;
	EXPECT_EQ(dk_nl_stats_enable(nl, 1), -EPERM);
	EXPECT(strstr(dk_nl_strerror(nl), "CAP_NET_ADMIN"));
	/* refuses: dk_nl_counters EPERM */
	EXPECT_EQ(dk_nl_counters(nl, NULL, &c), -EPERM);
	EXPECT(!c && strstr(dk_nl_strerror(nl), "CAP_NET_ADMIN"));
	plain_error = -EOPNOTSUPP;
	EXPECT_EQ(dk_nl_stats_enable(nl, 1), -EOPNOTSUPP);
	EXPECT(strstr(dk_nl_strerror(nl), "older"));
	/* this -ENOENT is the module's reply, and not a missing family */
	plain_error = -ENOENT;
	EXPECT_EQ(dk_nl_stats_enable(nl, 1), -ENOENT);
	EXPECT_STREQ(dk_nl_strerror(nl), "No such file or directory");
	plain_error = -EBUSY;
	EXPECT_EQ(dk_nl_stats_enable(nl, 1), -EBUSY);
	EXPECT_STREQ(dk_nl_strerror(nl), "Device or resource busy");
	close_nl(nl);
}

TEST(a_socket_that_does_not_send)
{
	struct dk_nl *nl = open_said();

	fake.send_error = ENOBUFS;
	EXPECT_EQ(dk_nl_stats_reset(nl), -ENOBUFS);
	EXPECT_STREQ(dk_nl_strerror(nl), "error on the netlink socket: No buffer space available");
	EXPECT_EQ(dk_nl_stats_reset(nl), 0);
	close_nl(nl);
}

TEST(a_socket_that_does_not_open)
{
	struct dk_nl_error why = { .size = sizeof(why) };
	struct dk_nl_monitor *m;
	struct dk_nl *nl;

	fake_reset();
	fake.socket_error = EMFILE;
	EXPECT_EQ(dk_nl_open(NULL, &nl, &why), -EMFILE);
	EXPECT_STREQ(why.sentence, "cannot connect to generic netlink: Too many open files");
	EXPECT_EQ(dk_nl_monitor_open(NULL, &m, &why), -EMFILE);
	EXPECT(!nl && !m);
	EXPECT_EQ(fake_sockets, 0);
}

/* ---- requests that the client refuses -------------------------------------- */

TEST(a_name_that_is_too_long)
{
	const struct dk_nl_device *d;
	struct dk_nl *nl = open_said();
	char name[DK_NAME_MAX + 1];

	memset(name, 'x', DK_NAME_MAX);
	name[DK_NAME_MAX] = '\0';
	EXPECT_EQ(dk_nl_device_get(nl, 0, name, &d), -EINVAL);
	EXPECT(!d);
	EXPECT_EQ(fake_requests, 0);
	EXPECT_STREQ(dk_nl_why(nl)->attribute, "name");
	EXPECT_EQ(strlen(dk_nl_why(nl)->value), DK_NAME_MAX - 1);
	EXPECT(strstr(dk_nl_strerror(nl), "xxx\": the name is too long"));
	name[DK_NAME_MAX - 1] = '\0';
	EXPECT_EQ(dk_nl_device_get(nl, 0, name, &d), -EBADMSG);
	EXPECT_EQ(fake_requests, 1);
	close_nl(nl);
}

TEST(a_name_in_a_nest_that_is_too_long)
{
	struct dk_nl_obj obj = { .device_name = NULL };
	struct dk_nl_call call = {
		.size = sizeof(call), .op = "aten::add", .objs = &obj, .num_objs = 1,
	};
	const struct dk_nl_route *r;
	struct dk_nl *nl = open_said();
	char name[DK_NAME_MAX + 1];

	memset(name, 'x', DK_NAME_MAX);
	name[DK_NAME_MAX] = '\0';
	obj.device_name = name;
	EXPECT_EQ(dk_nl_route_get(nl, &call, &r), -EINVAL);
	EXPECT_EQ(fake_requests, 0);
	EXPECT_STREQ(dk_nl_why(nl)->attribute, "obj.device-name");
	EXPECT(strstr(dk_nl_strerror(nl), "xxx\": the name is too long"));
	close_nl(nl);
}

TEST(too_many_arguments)
{
	struct dk_nl_obj objs[65] = { { .device = 1 } };
	struct dk_nl_call call = {
		.size = sizeof(call), .op = "aten::add", .objs = objs, .num_objs = 65,
	};
	const struct dk_nl_route *r;
	struct dk_nl *nl = open_said();

	EXPECT_EQ(dk_nl_route_get(nl, &call, &r), -EINVAL);
	EXPECT_EQ(fake_requests, 0);
	EXPECT_STREQ(dk_nl_strerror(nl), "a request has at most 64 objects");
	close_nl(nl);
}

/*
 * A later version may give reserved members a meaning. So this version must refuse values other
 * than 0 instead of ignoring them.
 */
TEST(reserved_members)
{
	struct dk_nl_obj objs[2] = { { .device = 1 }, { .device = 1, .reserved = 1 } };
	struct dk_nl_call call = {
		.size = sizeof(call), .op = "aten::add", .objs = objs, .num_objs = 2,
	};
	struct dk_nl_impl_filter filter = { .size = sizeof(filter), .reserved = 1 };
	const struct dk_nl_impl *impl;
	const struct dk_nl_route *r;
	struct dk_nl *nl = open_said();

	EXPECT_EQ(dk_nl_route_get(nl, &call, &r), -EINVAL);
	EXPECT_STREQ(dk_nl_strerror(nl), "the reserved member of struct dk_nl_obj is not 0");
	EXPECT_EQ(dk_nl_impls(nl, &filter, &impl), -EINVAL);
	EXPECT_STREQ(dk_nl_strerror(nl),
		     "the reserved member of struct dk_nl_impl_filter is not 0");
	EXPECT_EQ(fake_requests, 0);
	close_nl(nl);
}

/* Callers of other versions: a shorter struct, and a longer one. */
TEST(sizes)
{
	struct {
		struct dk_nl_options o;
		__u64 newer;
	} long_one = { .o = { .size = sizeof(long_one) } };
	struct dk_nl_options o = { .size = offsetof(struct dk_nl_options, buffer) };
	struct dk_nl_error why = { .size = sizeof(why) };
	struct dk_nl_op_filter none = { 0 };
	struct dk_nl_call no_call = { 0 };
	const struct dk_nl_op *op;
	const struct dk_nl_route *r;
	struct dk_nl_monitor *m;
	struct dk_nl *nl;

	fake_reset();
	fake.answer = answer_well;
	o.layout = (const char *)1;	/* after the end of the caller's struct: must not be read */
	EXPECT_EQ(dk_nl_open(&o, &nl, NULL), 0);
	dk_nl_close(nl);
	EXPECT_EQ(dk_nl_open(&long_one.o, &nl, NULL), 0);
	/* refuses: dk_nl_open EINVAL */
	EXPECT_EQ(dk_nl_ops(nl, &none, &op), -EINVAL);
	EXPECT_STREQ(dk_nl_strerror(nl), "invalid size of struct dk_nl_op_filter");
	EXPECT_EQ(dk_nl_route_get(nl, &no_call, &r), -EINVAL);
	EXPECT_STREQ(dk_nl_strerror(nl), "invalid size of struct dk_nl_call");
	dk_nl_close(nl);
	long_one.newer = 1;
	EXPECT_EQ(dk_nl_open(&long_one.o, &nl, &why), -EINVAL);
	EXPECT_EQ(why.code, -EINVAL);
	/* refuses: dk_nl_monitor_open EINVAL */
	EXPECT_EQ(dk_nl_monitor_open(&long_one.o, &m, NULL), -EINVAL);
	/* a caller whose struct dk_nl_error is shorter */
	memset(&why, 0x55, sizeof(why));
	why.size = offsetof(struct dk_nl_error, sentence);
	EXPECT_EQ(dk_nl_open(&long_one.o, &nl, &why), -EINVAL);
	EXPECT_EQ(why.code, -EINVAL);
	EXPECT_EQ(why.size, offsetof(struct dk_nl_error, sentence));
	EXPECT_EQ(why.sentence[0], 0x55);
	EXPECT_EQ(fake_sockets, 0);
}
