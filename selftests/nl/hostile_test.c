// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests malformed replies. The client must refuse or skip each of them, and the next request must
 * work. The test is also run with ASan and UBSan.
 */
#include <errno.h>
#include <stdlib.h>

#include "client.h"

/* Sends the malformed reply to the next request. Later requests get correct replies. */
static void (*spoil)(const struct nlmsghdr *request);

static void answer_spoilt(const struct nlmsghdr *request)
{
	void (*how)(const struct nlmsghdr *request) = spoil;

	spoil = NULL;
	if (how)
		how(request);
	else
		answer_well(request);
}

static struct dk_nl *open_spoilt(void)
{
	return open_nl_with(answer_spoilt);
}

/* Requests a backend twice; the first reply is malformed, the second is correct. */
static void expect_backend(void (*how)(const struct nlmsghdr *request), int error,
			   const char *sentence)
{
	const struct dk_nl_backend *b;
	struct dk_nl *nl = open_spoilt();

	spoil = how;
	EXPECT_EQ(dk_nl_backend_get(nl, 14, NULL, &b), error);
	if (sentence)
		EXPECT_STREQ(dk_nl_strerror(nl), sentence);
	EXPECT(!b == !!error);
	dk_nl_free(b);
	EXPECT_EQ(dk_nl_backend_get(nl, 14, NULL, &b), 0);
	EXPECT_STREQ(b->name, "edu");
	dk_nl_free(b);
	close_nl(nl);
}

#define MALFORMED	"malformed answer from the module"

static void queue_with(const struct nlmsghdr *request, int type, const void *data, size_t len)
{
	struct fake_msg m;

	fake_begin_genl(&m, fake_cmd(request), 0, request->nlmsg_seq);
	fake_attr(&m, type, data, len);
	fake_queue(&m);
	fake_ack(request, 0);
}

/* ---- attributes ----------------------------------------------------------- */

static void short_number(const struct nlmsghdr *request)
{
	queue_with(request, DK_A_BACKEND_NUMBER, "\1\2\3", 3);
}

static void long_number(const struct nlmsghdr *request)
{
	queue_with(request, DK_A_BACKEND_STATE, "\1\2\3\4", 4);
}

static void no_nul(const struct nlmsghdr *request)
{
	queue_with(request, DK_A_BACKEND_NAME, "edu", 3);
}

static void no_string(const struct nlmsghdr *request)
{
	queue_with(request, DK_A_BACKEND_PROVIDER, NULL, 0);
}

static void long_flag(const struct nlmsghdr *request)
{
	queue_with(request, DK_A_BACKEND_ALONE, "\1", 1);
}

TEST(wrong_lengths)
{
	expect_backend(short_number, -EBADMSG, MALFORMED ": attribute number of backend");
	expect_backend(long_number, -EBADMSG, MALFORMED ": attribute state of backend");
	expect_backend(no_nul, -EBADMSG, MALFORMED ": attribute name of backend");
	expect_backend(no_string, -EBADMSG, MALFORMED ": attribute provider of backend");
	expect_backend(long_flag, -EBADMSG, MALFORMED ": attribute alone of backend");
}

/* Queues a message whose last attribute has the length @len in its header. */
static void queue_lying(const struct nlmsghdr *request, int len)
{
	struct fake_msg m;
	size_t at;

	fake_begin_genl(&m, fake_cmd(request), 0, request->nlmsg_seq);
	fake_string(&m, DK_A_BACKEND_NAME, "edu");
	at = m.len;
	fake_u32(&m, DK_A_BACKEND_NUMBER, 14);
	((struct nlattr *)(m.bytes + at))->nla_len = (uint16_t)len;
	fake_queue(&m);
	fake_ack(request, 0);
}

static void too_long(const struct nlmsghdr *request)
{
	queue_lying(request, 9);
}

static void much_too_long(const struct nlmsghdr *request)
{
	queue_lying(request, 65535);
}

static void too_short(const struct nlmsghdr *request)
{
	queue_lying(request, 3);
}

static void of_no_length(const struct nlmsghdr *request)
{
	queue_lying(request, 0);
}

TEST(false_lengths)
{
	expect_backend(too_long, -EBADMSG, MALFORMED);
	expect_backend(much_too_long, -EBADMSG, MALFORMED);
	expect_backend(too_short, -EBADMSG, MALFORMED);
	expect_backend(of_no_length, -EBADMSG, MALFORMED);
}

/* Queues a message that ends directly after a string, without padding. */
static void unpadded(const struct nlmsghdr *request)
{
	struct fake_msg m;

	fake_begin_genl(&m, fake_cmd(request), 0, request->nlmsg_seq);
	fake_string(&m, DK_A_BACKEND_NAME, "CUDA");
	m.nlh.nlmsg_len -= 3;
	m.len -= 3;
	fake_queue(&m);
	fake_ack(request, 0);
}

TEST(no_padding)
{
	expect_backend(unpadded, 0, "");
}

static void bad_nest(const struct nlmsghdr *request)
{
	struct fake_msg m;
	size_t nest;

	fake_begin_genl(&m, fake_cmd(request), 0, request->nlmsg_seq);
	nest = fake_nest(&m, DK_A_OP_IMPL);
	fake_attr(&m, DK_A_IMPL_LABEL, "add", 3);
	fake_nest_end(&m, nest);
	fake_queue(&m);
	fake_ack(request, 0);
}

TEST(within_a_nest)
{
	const struct dk_nl_op *op;
	struct dk_nl *nl = open_spoilt();

	spoil = bad_nest;
	EXPECT_EQ(dk_nl_op_get(nl, "aten::add", &op), -EBADMSG);
	EXPECT_STREQ(dk_nl_strerror(nl), MALFORMED ": attribute label of impl");
	dk_nl_close(nl);
}

/* ---- messages ------------------------------------------------------------- */

static void no_element(const struct nlmsghdr *request)
{
	fake_ack(request, 0);
}

static void two_elements(const struct nlmsghdr *request)
{
	struct fake_msg m;

	fake_begin_genl(&m, fake_cmd(request), 0, request->nlmsg_seq);
	put_element(&m, fake_cmd(request), 0, false);
	fake_queue(&m);
	answer_well(request);
}

static void another_command(const struct nlmsghdr *request)
{
	struct fake_msg m;

	fake_begin_genl(&m, DK_CMD_LIMIT_GET, 0, request->nlmsg_seq);
	fake_queue(&m);
	fake_ack(request, 0);
}

static void no_genl_header(const struct nlmsghdr *request)
{
	struct fake_msg m;

	fake_begin(&m, FAKE_FAMILY, 0, request->nlmsg_seq);
	fake_queue(&m);
	fake_ack(request, 0);
}

static void positive_error(const struct nlmsghdr *request)
{
	fake_ack(request, 5);
}

static void error_of_no_errno(const struct nlmsghdr *request)
{
	fake_ack(request, INT32_MIN);
}

static void short_error(const struct nlmsghdr *request)
{
	struct fake_msg m;

	fake_begin(&m, NLMSG_ERROR, 0, request->nlmsg_seq);
	fake_bytes(&m, "\0\0\0\0\0\0\0", 8);
	fake_queue(&m);
}

TEST(wrong_messages)
{
	expect_backend(no_element, -EBADMSG, "empty answer from the module");
	expect_backend(two_elements, -EBADMSG, "more than one answer from the module");
	expect_backend(another_command, -EBADMSG, MALFORMED);
	expect_backend(no_genl_header, -EBADMSG, MALFORMED);
	expect_backend(positive_error, -EBADMSG, MALFORMED);
	expect_backend(error_of_no_errno, -EBADMSG, MALFORMED);
	expect_backend(short_error, -EBADMSG, MALFORMED);
}

TEST(two_answers_to_one_request)
{
	const struct dk_nl_info *info;
	struct dk_nl *nl = open_spoilt();

	spoil = two_elements;
	EXPECT_EQ(dk_nl_info_get(nl, &info), -EBADMSG);
	dk_nl_close(nl);
}

static int32_t route_error;

static void answer_route_error(const struct nlmsghdr *request)
{
	queue_with(request, DK_A_ROUTE_ERROR, &route_error, sizeof(route_error));
}

/* Callers negate the error of a route. */
TEST(errors_of_routes)
{
	static const int32_t wrong[] = { INT32_MIN, -4096, 1, INT32_MAX };
	struct dk_nl_call call = { .size = sizeof(call), .op = "aten::add" };
	struct dk_nl *nl = open_spoilt();
	const struct dk_nl_route *r;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		route_error = wrong[i];
		spoil = answer_route_error;
		EXPECT_EQ(dk_nl_route_get(nl, &call, &r), -EBADMSG);
		EXPECT(!r);
		EXPECT_STREQ(dk_nl_strerror(nl), MALFORMED ": attribute error of route");
	}
	route_error = -4095;
	spoil = answer_route_error;
	EXPECT_EQ(dk_nl_route_get(nl, &call, &r), 0);
	EXPECT(r && r->error == -4095);
	dk_nl_free(r);
	close_nl(nl);
}

/* Queues messages of other kinds and for another request, and parts of messages. */
static void garbage_first(const struct nlmsghdr *request)
{
	struct fake_msg m;

	fake_begin(&m, NLMSG_NOOP, 0, request->nlmsg_seq);
	fake_queue(&m);
	fake_begin(&m, NLMSG_OVERRUN, 0, request->nlmsg_seq);
	fake_queue(&m);
	fake_begin(&m, NLMSG_ERROR, 0, request->nlmsg_seq - 1);
	fake_queue(&m);
	fake_begin(&m, NLMSG_ERROR, 0, request->nlmsg_seq);
	m.nlh.nlmsg_len = 4000;
	fake_queue(&m);
	m.nlh.nlmsg_len = 3;
	fake_queue(&m);
	m.len = 7;
	fake_queue(&m);
	m.len = 0;
	fake_queue(&m);
	answer_well(request);
}

TEST(garbage_is_skipped)
{
	expect_backend(garbage_first, 0, "");
}

static void longer_than_any(const struct nlmsghdr *request)
{
	struct fake_msg m;

	fake_begin_genl(&m, fake_cmd(request), 0, request->nlmsg_seq);
	while (m.len < 70000)
		fake_string(&m, DK_A_BACKEND_PROVIDER, "somebody");
	fake_queue(&m);
	fake_ack(request, 0);
}

/* Another process sends a datagram that is longer than any of the kernel. */
static void longer_and_foreign(const struct nlmsghdr *request)
{
	fake.is_foreign = true;
	longer_than_any(request);
	fake.is_foreign = false;
	answer_well(request);
}

static void very_many(const struct nlmsghdr *request)
{
	struct fake_msg m;

	fake_begin_genl(&m, fake_cmd(request), 0, request->nlmsg_seq);
	while (m.len < 65000)
		fake_string(&m, DK_A_BACKEND_PROVIDER, "");
	fake_queue(&m);
	fake_ack(request, 0);
}

TEST(long_messages)
{
	expect_backend(longer_than_any, -EBADMSG, NULL);
	expect_backend(longer_and_foreign, 0, "");
	expect_backend(very_many, 0, "");
}

/* Queues a malformed element of a dump. The following messages are part of the same dump. */
static void bad_element_first(const struct nlmsghdr *request)
{
	struct fake_msg m;

	fake_begin_genl(&m, fake_cmd(request), NLM_F_MULTI, request->nlmsg_seq);
	fake_attr(&m, DK_A_BACKEND_NAME, "edu", 3);
	fake_queue(&m);
	answer_well(request);
}

TEST(malformed_elements_of_a_list)
{
	const struct dk_nl_backend *b;
	struct dk_nl *nl = open_spoilt();

	spoil = bad_element_first;
	EXPECT_EQ(dk_nl_backends(nl, &b), -EBADMSG);
	EXPECT(!b);
	EXPECT_EQ(dk_nl_backends(nl, &b), 0);
	EXPECT(b && b->next && b->next->next && !b->next->next->next);
	dk_nl_free(b);
	dk_nl_close(nl);
}

static void answer_buffer_full(const struct nlmsghdr *request)
{
	fake_queue_error(ENOBUFS);
	fake_ack(request, 0);
}

TEST(socket_buffer_overflows)
{
	expect_backend(answer_buffer_full, -ENOBUFS, NULL);
}

/* ---- the extended ACK ----------------------------------------------------- */

/* Queues an error with these malformed TLVs. */
static void ack_with(const struct nlmsghdr *request, const void *tlvs, size_t len,
		     uint32_t request_len)
{
	struct nlmsgerr err = { .error = -EINVAL, .msg = *request };
	struct fake_msg m;

	err.msg.nlmsg_len = request_len;
	fake_begin(&m, NLMSG_ERROR, NLM_F_ACK_TLVS | (request_len ? 0 : NLM_F_CAPPED),
		   request->nlmsg_seq);
	fake_bytes(&m, &err, sizeof(err));
	fake_bytes(&m, tlvs, len);
	fake_queue(&m);
}

struct tlv {
	uint16_t len, type;
	uint32_t v;
};

static void offset_nowhere(const struct nlmsghdr *request)
{
	ack_with(request, &(struct tlv){ 8, NLMSGERR_ATTR_OFFS, 100000 }, 8, 0);
}

static void offset_into_the_header(const struct nlmsghdr *request)
{
	ack_with(request, &(struct tlv){ 8, NLMSGERR_ATTR_OFFS, 3 }, 8, 0);
}

static void offset_into_a_value(const struct nlmsghdr *request)
{
	ack_with(request, &(struct tlv){ 8, NLMSGERR_ATTR_OFFS, 26 }, 8, 0);
}

static void long_tlv(const struct nlmsghdr *request)
{
	ack_with(request, &(struct tlv){ 800, NLMSGERR_ATTR_MSG, 0 }, 8, 0);
}

static void message_without_nul(const struct nlmsghdr *request)
{
	ack_with(request, &(struct tlv){ 8, NLMSGERR_ATTR_MSG, 0x41414141 }, 8, 0);
}

static void unknown_missing(const struct nlmsghdr *request)
{
	ack_with(request, &(struct tlv){ 8, NLMSGERR_ATTR_MISS_TYPE, 4000000000 }, 8, 0);
}

static void request_beyond_the_end(const struct nlmsghdr *request)
{
	ack_with(request, &(struct tlv){ 8, NLMSGERR_ATTR_OFFS, 20 }, 8, UINT32_MAX);
}

/*
 * Queues an error whose copy of the request ends 4 GiB after the error's start. In 32 bits, that is
 * the start. The error code would then be the header of a TLV with 61536 bytes, and the message
 * would follow it.
 */
static void request_of_4_gib(const struct nlmsghdr *request)
{
	struct nlmsgerr err = { .error = -4000, .msg = *request };
	struct fake_msg m;

	err.msg.nlmsg_len = UINT32_MAX - 3;
	fake_begin(&m, NLMSG_ERROR, NLM_F_ACK_TLVS, request->nlmsg_seq);
	fake_bytes(&m, &err, sizeof(err));
	memset(m.bytes + m.len, 0, 61536);
	m.len = NLMSG_HDRLEN + (0x10000 - 4000);
	fake_string(&m, NLMSGERR_ATTR_MSG, "not a message");
	fake_queue(&m);
}

static void request_of_no_length(const struct nlmsghdr *request)
{
	ack_with(request, &(struct tlv){ 8, NLMSGERR_ATTR_OFFS, 20 }, 8, 1);
}

TEST(extended_acks)
{
	char unknown[40];

	expect_backend(offset_nowhere, -EINVAL, "Invalid argument");
	expect_backend(offset_into_the_header, -EINVAL, "Invalid argument");
	expect_backend(offset_into_a_value, -EINVAL, "Invalid argument");
	expect_backend(long_tlv, -EINVAL, "Invalid argument");
	expect_backend(message_without_nul, -EINVAL, "Invalid argument");
	expect_backend(unknown_missing, -EINVAL, "Invalid argument");
	expect_backend(request_beyond_the_end, -EINVAL, "Invalid argument");
	/* a later strerror() of an unknown number frees the text */
	snprintf(unknown, sizeof(unknown), "%s", strerror(4000));
	expect_backend(request_of_4_gib, -4000, unknown);
	expect_backend(request_of_no_length, -EINVAL, "backend 14: Invalid argument");
}

/* ---- random changes of replies -------------------------------------------- */

#define ROUNDS	4000

static uint32_t seed = 20261121;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Queues a correct reply in which a few bytes are changed, and which is cut off sometimes. */
static void answer_mutated(const struct nlmsghdr *request)
{
	bool is_dump = fake_is_dump(request);
	unsigned int i, flips;
	struct fake_msg m;

	fake_begin_genl(&m, fake_cmd(request), is_dump ? NLM_F_MULTI : 0, request->nlmsg_seq);
	put_element(&m, fake_cmd(request), any(3), is_dump);
	flips = any(4);
	for (i = 0; i < flips; i++)
		m.bytes[NLMSG_HDRLEN + any((uint32_t)(m.len - NLMSG_HDRLEN))] = (char)any(256);
	if (any(4) == 0) {
		m.len -= any((uint32_t)(m.len - NLMSG_HDRLEN));
		m.nlh.nlmsg_len = (uint32_t)m.len;
	}
	fake_queue(&m);
	/* a reply to another request than a dump has one element */
	if (is_dump)
		answer_well(request);
	else
		fake_ack(request, 0);
}

/* Reading all strings of an answer lets ASan check that they are in allocated memory. */
static size_t total, of_functions;
static unsigned int explained;

static void read_op(const struct dk_nl_op *op)
{
	const struct dk_nl_impl *i;

	for (; op; op = op->next) {
		total += strlen(op->name) + strlen(op->schema) + strlen(op->provider);
		for (i = op->impls; i; i = i->next)
			of_functions += strlen(i->op) + strlen(i->label) + strlen(i->provider);
	}
}

static void read_backends(const struct dk_nl_backend *b)
{
	uint32_t i;

	for (; b; b = b->next)
		for (i = 0; i < b->num_providers; i++)
			total += strlen(b->providers[i]);
}

static void ask_all(struct dk_nl *nl)
{
	struct dk_nl_call call = { .size = sizeof(call), .op = "aten::add" };
	const struct dk_nl_layout *layout;
	const struct dk_nl_backend *backends;
	const struct dk_nl_device *devices;
	const struct dk_nl_provider *providers;
	const struct dk_nl_op *op, *ops;
	const struct dk_nl_route *route;
	const struct dk_nl_step *steps;
	const struct dk_nl_counter *counters;
	const struct dk_nl_run *runs;

	dk_nl_layout_get(nl, &layout);
	dk_nl_free(layout);
	dk_nl_backends(nl, &backends);
	read_backends(backends);
	dk_nl_free(backends);
	dk_nl_devices(nl, 0, &devices);
	dk_nl_free(devices);
	dk_nl_providers(nl, &providers);
	dk_nl_free(providers);
	dk_nl_op_get(nl, "aten::add", &op);
	read_op(op);
	dk_nl_free(op);
	dk_nl_ops(nl, NULL, &ops);
	read_op(ops);
	dk_nl_free(ops);
	if (!dk_nl_explain(nl, &call, &route, &steps)) {
		explained++;
		dk_nl_free(route);
		dk_nl_free(steps);
	}
	dk_nl_counters(nl, NULL, &counters);
	dk_nl_free(counters);
	dk_nl_table_get(nl, "aten::add", 0, NULL, &runs);
	dk_nl_free(runs);
}

TEST(bytes_at_random)
{
	struct dk_nl_options o = { .size = sizeof(o), .retries = 1 };
	const struct dk_nl_info *info;
	struct dk_nl *nl;
	unsigned int i;

	dk_nl_close(open_spoilt());
	EXPECT_EQ(dk_nl_open(&o, &nl, NULL), 0);
	elements = 1;
	fake.answer = answer_mutated;
	for (i = 0; i < ROUNDS; i++)
		ask_all(nl);
	EXPECT(total > 0 && of_functions > 0 && explained > 0);
	fake.answer = answer_well;
	EXPECT_EQ(dk_nl_info_get(nl, &info), 0);
	dk_nl_free(info);
	dk_nl_close(nl);
}
