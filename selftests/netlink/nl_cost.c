// SPDX-License-Identifier: GPL-2.0-only
/*
 * nl_cost - measure the costs of netlink requests, in instructions
 *
 * In a machine where each instruction takes one nanosecond (QEMU's -icount), the clock counts
 * instructions. A request is timed from before its sendmsg() to after its last recvmsg(), on a
 * socket that has been used before. The minimum of several runs is printed. This number is slightly
 * too large, because it includes the kernel's entry and exit and a few instructions of this
 * program. The replies are checked after the clock is read.
 *
 * usage: nl_cost getfamily | get OPERATOR | dump
 *
 * It prints "INSTRUCTIONS MESSAGES BYTES".
 */
#include <errno.h>
#include <linux/dispatchkey_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	20
#define PART	32768

static int sock;
static char part[PART];

struct request {
	struct nlmsghdr nl;
	struct genlmsghdr genl;
	char attrs[256];
};

struct cost {
	uint64_t ns;
	unsigned int messages;
	size_t bytes;
};

static void die(const char *what)
{
	fprintf(stderr, "nl_cost: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void make(struct request *r, int family, int cmd, int flags)
{
	memset(r, 0, sizeof(*r));
	r->nl.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	r->nl.nlmsg_type = family;
	r->nl.nlmsg_flags = NLM_F_REQUEST | flags;
	r->genl.cmd = cmd;
	r->genl.version = 1;
}

static void add_text(struct request *r, int type, const char *text)
{
	struct nlattr *a = (void *)((char *)r + r->nl.nlmsg_len);

	if (strlen(text) >= 128)
		die("a long name");
	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + strlen(text) + 1;
	strcpy((char *)a + NLA_HDRLEN, text);
	r->nl.nlmsg_len += NLA_ALIGN(a->nla_len);
}

/* Checks the messages of a read. Returns true if one of them ends the reply. */
static bool look(size_t len, struct cost *c)
{
	struct nlmsghdr *m = (void *)part;
	bool last = false;

	c->bytes += len;
	for (; NLMSG_OK(m, len); m = NLMSG_NEXT(m, len)) {
		if (m->nlmsg_type == NLMSG_ERROR) {
			errno = -*(int *)NLMSG_DATA(m);
			die("refused");
		}
		if (m->nlmsg_flags & NLM_F_DUMP_INTR)
			die("interrupted");
		last = m->nlmsg_type == NLMSG_DONE || !(m->nlmsg_flags & NLM_F_MULTI);
		c->messages += m->nlmsg_type != NLMSG_DONE;
	}
	return last;
}

static struct cost ask(struct request *r)
{
	struct cost c = { 0 };
	bool last = false;
	uint64_t t;
	ssize_t n;

	r->nl.nlmsg_seq++;
	t = now();
	n = send(sock, r, r->nl.nlmsg_len, 0);
	while (!last) {
		if (n >= 0)
			n = recv(sock, part, sizeof(part), 0);
		c.ns += now() - t;
		if (n < 0)
			die("netlink");
		last = look(n, &c);
		t = now();
	}
	return c;
}

static struct cost least(struct request *r)
{
	struct cost best = ask(r);
	unsigned int i;

	for (i = 1; i < ROUNDS; i++) {
		struct cost c = ask(r);

		if (c.ns < best.ns)
			best = c;
	}
	return best;
}

/* Returns the number of the family, from GETFAMILY. */
static int family(struct request *r)
{
	struct nlattr *a = (void *)(part + NLMSG_LENGTH(GENL_HDRLEN));

	ask(r);
	while ((char *)a < part + sizeof(part) && a->nla_type != CTRL_ATTR_FAMILY_ID)
		a = (void *)((char *)a + NLA_ALIGN(a->nla_len));
	return *(uint16_t *)((char *)a + NLA_HDRLEN);
}

int main(int argc, char **argv)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct request r;
	struct cost c;

	sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (sock < 0 || connect(sock, (void *)&kernel, sizeof(kernel)))
		die("socket");
	make(&r, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	add_text(&r, CTRL_ATTR_FAMILY_NAME, DK_GENL_NAME);
	if (argc == 3 && !strcmp(argv[1], "get")) {
		make(&r, family(&r), DK_CMD_OP_GET, 0);
		add_text(&r, DK_A_OP_NAME, argv[2]);
	} else if (argc == 2 && !strcmp(argv[1], "dump")) {
		make(&r, family(&r), DK_CMD_OP_GET, NLM_F_DUMP);
	} else if (argc != 2 || strcmp(argv[1], "getfamily")) {
		fprintf(stderr, "usage: nl_cost getfamily | get OPERATOR | dump\n");
		return 2;
	}
	c = least(&r);
	printf("%llu %u %zu\n", (unsigned long long)c.ns, c.messages, c.bytes);
	close(sock);
	return 0;
}
