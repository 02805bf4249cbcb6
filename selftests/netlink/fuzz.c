// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz - send valid, nearly valid and invalid messages to the netlink family, generated from
 * the specification (fuzz_tables.h, by tables.py)
 *
 * usage: fuzz [-n MESSAGES] [-s SEED] [-u] [NAME...]
 *
 * -u sends them as an unprivileged user. A NAME is used in strings and, if it is a number, in
 * numbers. The same seed sends the same messages. Prints a line for each reply that is not well
 * formed, each refusal by the module without a message, and each change that an unprivileged
 * user could make; the exit status is then 1.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum kind { NONE, STRING, FLAG, U8, U32, U64, NEST };

struct attr {
	uint16_t type;
	enum kind kind;
	uint64_t min, max;
	const struct attr *nested;
};

struct command {
	uint8_t cmd;
	bool dump, admin;
	const struct attr *request;
};

#include "fuzz_tables.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ROOM		8192

static uint64_t state;
static char **names;
static int num_names;
static uint16_t family;
static bool as_nobody;
/* Everything in this message is right, except perhaps its values. */
static bool careful;

/* The last message, for the report of a wrong reply. */
static unsigned char sent[2 * ROOM];
static size_t sent_len;

/* How it went. */
static unsigned long done, refused, unheard, wrong, bytes, admin_done;
static unsigned long by_errno[256];

static uint64_t roll(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dull;
}

static uint32_t below(uint32_t n)
{
	return (roll() >> 33) % n;
}

static bool one_in(uint32_t n)
{
	return !below(n);
}

/* One of so many mistakes. */
static bool mistake(uint32_t n)
{
	return !careful && one_in(n);
}

/* ---- a message ------------------------------------------------------------ */

struct buf {
	unsigned char data[ROOM];
	size_t len;
};

static void put(struct buf *b, const void *data, size_t len)
{
	if (len > ROOM - b->len)
		len = ROOM - b->len;
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void pad(struct buf *b)
{
	put(b, "\0\0\0", -b->len & 3);
}

static void put_noise(struct buf *b, size_t len)
{
	unsigned char byte;

	while (len--) {
		byte = roll() >> 40;
		put(b, &byte, 1);
	}
}

static void put_string(struct buf *b, uint64_t max)
{
	size_t len;

	if (num_names && (careful || !one_in(4))) {
		const char *name = names[below(num_names)];

		put(b, name, strlen(name) + 1);
		return;
	}
	switch (below(6)) {
	case 0:
		len = max - 1 + below(3);	/* the longest, and one more */
		while (len--)
			put(b, "x", 1);
		put(b, "", 1);
		break;
	case 1:
		put(b, "", 1);
		break;
	case 2:
		put_noise(b, below(40));	/* most often without an end */
		break;
	case 3:
		put(b, "%s%p%n", 7);
		break;
	case 4:
		put(b, "CPU\0behind", 11);
		break;
	default:
		put_noise(b, 1 + below(12));
		put(b, "", 1);
	}
}

static uint64_t number(const struct attr *a)
{
	uint64_t n;

	if (careful && a->kind == U64)
		return 1ull << below(8) | (one_in(2) ? 1ull << (15 + below(8)) : 0);
	if (careful) {
		n = num_names && one_in(2) ? strtoull(names[below(num_names)], NULL, 0) :
			a->min + below(one_in(4) ? 128 : 4);
		return n < a->min ? a->min : n > a->max ? a->max : n;
	}
	switch (below(8)) {
	case 0:
		return a->min - 1;
	case 1:
		return a->max;
	case 2:
		return a->max + 1;
	case 3:
		return roll();
	case 4:
		return 1ull << below(64);
	case 5:
		return num_names ? strtoull(names[below(num_names)], NULL, 0) : 0;
	case 6:
		return ~0ull;
	default:
		return a->min + below(24);
	}
}

static void put_attrs(struct buf *b, const struct attr *known, unsigned int depth);

static void put_payload(struct buf *b, const struct attr *a, unsigned int depth)
{
	uint64_t n = number(a);

	switch (a->kind) {
	case STRING:
		put_string(b, a->max);
		break;
	case U8:
		put(b, &n, mistake(16) ? below(9) : 1);
		break;
	case U32:
		put(b, &n, mistake(16) ? below(9) : 4);
		break;
	case U64:
		put(b, &n, mistake(16) ? below(9) : 8);
		break;
	case FLAG:
		put_noise(b, mistake(8) ? below(5) : 0);
		break;
	case NEST:
		if (depth < 8)
			put_attrs(b, a->nested, depth + 1);
		break;
	default:
		put_noise(b, below(20));
	}
}

static void put_attr(struct buf *b, const struct attr *a, unsigned int depth)
{
	struct nlattr head = { .nla_type = a->type };
	size_t at = b->len;

	if (ROOM - at < 256)
		return;
	if (a->kind == NEST)
		head.nla_type |= NLA_F_NESTED;
	if (mistake(24))
		head.nla_type ^= 1u << below(16);
	put(b, &head, sizeof(head));
	put_payload(b, a, depth);
	head.nla_len = b->len - at;
	if (mistake(32))
		head.nla_len += below(9) - 4;
	if (mistake(200))
		head.nla_len = roll();
	memcpy(b->data + at, &head, sizeof(head));
	pad(b);
}

/* Some attributes of a set, most often once, and sometimes unknown ones. */
static void put_attrs(struct buf *b, const struct attr *known, unsigned int depth)
{
	static const struct attr stranger = { .type = 77 };
	const struct attr *a;
	unsigned int times;

	for (a = known; a->type; a++) {
		/* most useful requests have few attributes */
		if (one_in(2) || (careful && one_in(3)))
			continue;
		times = 1 + (a->kind == NEST ? below(one_in(8) ? 70 : 3) : below(10) / 9);
		while (times--)
			put_attr(b, a, depth);
	}
	if (mistake(20))
		put_attr(b, &stranger, depth);
	if (mistake(60))
		put_noise(b, 1 + below(12));
}

static uint16_t flags_for(const struct command *c)
{
	if (mistake(12))
		return roll();
	if (c->dump ? one_in(2) : mistake(12))
		return NLM_F_REQUEST | NLM_F_DUMP;
	return NLM_F_REQUEST | NLM_F_ACK;
}

static void damage(struct buf *b)
{
	unsigned int n = 1 + below(4);

	switch (below(3)) {
	case 0:
		while (n--)
			b->data[sizeof(struct nlmsghdr) +
				below(b->len - sizeof(struct nlmsghdr))] = roll() >> 40;
		break;
	case 1:
		b->len -= below(b->len - sizeof(struct nlmsghdr));
		break;
	default:
		put_noise(b, below(40));
	}
}

static void make_message(struct buf *b, uint32_t seq)
{
	const struct command *c = &commands[below(ARRAY_SIZE(commands))];
	struct genlmsghdr genl = { .cmd = c->cmd, .version = 1 };
	struct nlmsghdr head = { .nlmsg_type = family, .nlmsg_seq = seq };

	b->len = 0;
	careful = one_in(2);
	if (mistake(40))
		genl.cmd = roll() >> 40;
	if (mistake(40))
		genl.version = roll() >> 40;
	if (mistake(60))
		genl.reserved = roll() >> 40;
	head.nlmsg_flags = flags_for(c);
	/* Messages of netlink itself, but never for another family. */
	if (mistake(100))
		head.nlmsg_type = below(16);
	put(b, &head, sizeof(head));
	put(b, &genl, sizeof(genl));
	put_attrs(b, c->request, 0);
	if (mistake(12))
		damage(b);
	head.nlmsg_len = b->len;
	if (mistake(100))
		head.nlmsg_len = one_in(2) ? roll() : b->len + below(9) - 4;
	memcpy(b->data, &head, sizeof(head));
}

/* ---- its answer ----------------------------------------------------------- */

static void complain(const char *what, int err)
{
	size_t i;

	if (wrong++ >= 10)
		return;
	printf("# %s (errno %d), the answer to ", what, err);
	for (i = 0; i < sent_len && i < 200; i++)
		printf("%02x", sent[i]);
	printf("%s\n", i < sent_len ? "..." : "");
}

/* The message of the extended acknowledgment; NULL if there is none. */
static const char *sentence(const struct nlmsghdr *h, size_t skip)
{
	const unsigned char *at = (const unsigned char *)h + skip;
	const unsigned char *end = (const unsigned char *)h + h->nlmsg_len;
	const struct nlattr *a;

	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return NULL;
	for (; end - at >= (int)sizeof(*a); at += NLMSG_ALIGN(a->nla_len)) {
		a = (const struct nlattr *)at;
		if (a->nla_len < sizeof(*a) || a->nla_len > end - at)
			return NULL;
		if (a->nla_type == NLMSGERR_ATTR_MSG && a->nla_len > sizeof(*a) + 1)
			return (const char *)(a + 1);
	}
	return NULL;
}

/* Errors of generic netlink before it calls the family and its policies. */
static bool has_no_words(int err)
{
	return err == -EPERM || err == -EOPNOTSUPP || err == -EBUSY || err == -ENOENT ||
	       err == -EINVAL;
}

/* Then any refusal has a message, except that another dump is still running (-EBUSY). */
static bool header_is_right(void)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)sent;
	const struct genlmsghdr *g = NLMSG_DATA(h);
	size_t i;

	if (sent_len != h->nlmsg_len || sent_len < NLMSG_HDRLEN + GENL_HDRLEN ||
	    h->nlmsg_type != family || g->reserved)
		return false;
	if (h->nlmsg_flags != (NLM_F_REQUEST | NLM_F_ACK) &&
	    h->nlmsg_flags != (NLM_F_REQUEST | NLM_F_DUMP))
		return false;
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].cmd == g->cmd)
			return !(as_nobody && commands[i].admin) &&
			       (commands[i].dump || !(h->nlmsg_flags & NLM_F_DUMP));
	return false;
}

static bool is_admin(void)
{
	const struct genlmsghdr *g = NLMSG_DATA((const struct nlmsghdr *)sent);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].cmd == g->cmd)
			return commands[i].admin;
	return false;
}

static void take_end(const struct nlmsghdr *h)
{
	const struct nlmsghdr *request = (const struct nlmsghdr *)sent;
	bool error = h->nlmsg_type == NLMSG_ERROR;
	int err = *(const int *)NLMSG_DATA(h);

	/* of a dump that was abandoned, or of bytes after a length that is too small */
	if (h->nlmsg_seq != request->nlmsg_seq)
		return;
	if (!err) {
		done++;
		/* messages that are not requests are acknowledged, too */
		if (error && request->nlmsg_type == family &&
		    (request->nlmsg_flags & NLM_F_REQUEST) && is_admin()) {
			admin_done++;
			if (as_nobody)
				complain("a change that nobody may", err);
		}
		return;
	}
	refused++;
	by_errno[-err & 255]++;
	/* An acknowledgment repeats the header of the request, because it is capped. */
	if (sentence(h, NLMSG_HDRLEN + sizeof(int) + (error ? NLMSG_HDRLEN : 0)))
		return;
	if (header_is_right() ? err != -EBUSY : !has_no_words(err))
		complain("a refusal without a sentence", err);
}

static void take_answer(const struct nlmsghdr *h)
{
	const unsigned char *at = (const unsigned char *)NLMSG_DATA(h) + GENL_HDRLEN;
	const unsigned char *end = (const unsigned char *)h + h->nlmsg_len;
	const struct nlattr *a;

	for (; at < end; at += NLMSG_ALIGN(a->nla_len)) {
		a = (const struct nlattr *)at;
		if (end - at < (int)sizeof(*a) || a->nla_len < sizeof(*a) ||
		    a->nla_len > end - at) {
			complain("an answer that is not well-formed", 0);
			return;
		}
	}
}

static void take(const unsigned char *data, ssize_t len)
{
	const struct nlmsghdr *h;

	for (; len > 0; data += NLMSG_ALIGN(h->nlmsg_len), len -= NLMSG_ALIGN(h->nlmsg_len)) {
		h = (const struct nlmsghdr *)data;
		if (len < (ssize_t)sizeof(*h) || h->nlmsg_len < sizeof(*h) ||
		    h->nlmsg_len > len) {
			complain("a message that is not well-formed", 0);
			return;
		}
		if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE)
			take_end(h);
		else if (h->nlmsg_type == family)
			take_answer(h);
	}
}

/* The kernel replies before send() returns, and continues dumps when they are read. */
static void hear(int sock)
{
	static unsigned char data[65536];
	bool heard = false;
	ssize_t len;

	for (;;) {
		len = recv(sock, data, sizeof(data), MSG_DONTWAIT);
		if (len < 0 && errno == ENOBUFS)
			continue;
		if (len < 0)
			break;
		heard = true;
		bytes += len;
		take(data, len);
		/* Sometimes a dump is abandoned. */
		if (one_in(20))
			break;
	}
	unheard += !heard;
}

/* ---- all of them ---------------------------------------------------------- */

static int open_socket(void)
{
	int sock = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC), on = 1;

	if (sock < 0) {
		perror("socket");
		exit(2);
	}
	setsockopt(sock, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	setsockopt(sock, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	return sock;
}

static uint16_t find_family(void)
{
	struct {
		struct nlmsghdr head;
		struct genlmsghdr genl;
		struct nlattr attr;
		char name[16];
	} request = {
		.head = { sizeof(request), GENL_ID_CTRL, NLM_F_REQUEST, 1, 0 },
		.genl = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
		.attr = { 4 + sizeof(FAMILY), CTRL_ATTR_FAMILY_NAME },
		.name = FAMILY,
	};
	unsigned char data[8192], *at = data + NLMSG_HDRLEN + GENL_HDRLEN;
	int sock = open_socket();
	struct nlattr *a;
	ssize_t len;

	send(sock, &request, sizeof(request), 0);
	len = recv(sock, data, sizeof(data), 0);
	close(sock);
	if (((struct nlmsghdr *)data)->nlmsg_type != GENL_ID_CTRL)
		return 0;
	for (; at < data + len; at += NLMSG_ALIGN(a->nla_len)) {
		a = (struct nlattr *)at;
		if (a->nla_type == CTRL_ATTR_FAMILY_ID)
			return *(uint16_t *)(a + 1);
	}
	return 0;
}

static void send_all(unsigned long count)
{
	int sock = open_socket();
	struct buf b;
	unsigned long i;

	for (i = 0; i < count; i++) {
		make_message(&b, i + 1);
		memcpy(sent, b.data, b.len);
		sent_len = b.len;
		send(sock, b.data, b.len, 0);
		hear(sock);
		/* A socket with an unfinished dump is closed with it. */
		if (one_in(16)) {
			close(sock);
			sock = open_socket();
		}
	}
	close(sock);
}

static void report(unsigned long count, uint64_t seed)
{
	unsigned int i;

	printf("# %lu messages as %s, seed %llu: %lu done, %lu of them changes, ", count,
	       as_nobody ? "nobody" : "root", (unsigned long long)seed, done, admin_done);
	printf("%lu refused, %lu unheard, %lu bytes of answers\n", refused, unheard, bytes);
	printf("#");
	for (i = 0; i < ARRAY_SIZE(by_errno); i++)
		if (by_errno[i])
			printf(" %s %lu", strerrorname_np(i), by_errno[i]);
	printf("\n");
}

int main(int argc, char **argv)
{
	unsigned long count = 50000;
	uint64_t seed = 1;
	int c;

	while ((c = getopt(argc, argv, "n:s:u")) != -1) {
		if (c == 'n')
			count = strtoul(optarg, NULL, 0);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'u')
			as_nobody = true;
		else
			return 2;
	}
	names = argv + optind;
	num_names = argc - optind;
	family = find_family();
	if (!family) {
		fprintf(stderr, "there is no family %s\n", FAMILY);
		return 2;
	}
	if (as_nobody && (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))) {
		perror("nobody");
		return 2;
	}
	/* Neighbouring seeds must differ much, and none may be 0. */
	state = (seed + 1) * 0x9e3779b97f4a7c15ull;
	send_all(count);
	report(count, seed);
	return wrong ? 1 : 0;
}
