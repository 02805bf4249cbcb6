// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replaces the socket functions of the C library that the client and libnl call. The linker
 * finds the program's definitions first.
 */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_SOCKETS	4
#define FIRST_PORT	1000
#define NOTIFY_GROUP	16

struct datagram {
	struct datagram *next;
	int error;
	bool is_foreign;
	size_t len;
	char bytes[];
};

static struct fake_socket {
	int fd;
	bool is_notified;		/* has joined the group for events of families */
	struct datagram *first, **last;
} sockets[MOST_SOCKETS];

static struct fake_socket *asking;	/* sender of the last request */

struct fake fake;
unsigned int fake_requests, fake_sockets, fake_joined;
int fake_buffer;

void fake_reset(void)
{
	fake = (struct fake){ .family = FAKE_FAMILY, .module_state = "live\n" };
	fake_requests = 0;
	fake_joined = 0;
	fake_buffer = 0;
	asking = NULL;
}

static struct fake_socket *find_socket(int fd)
{
	unsigned int i;

	for (i = 0; i < MOST_SOCKETS; i++)
		if (sockets[i].fd == fd && sockets[i].last)
			return &sockets[i];
	return NULL;
}

/* ---- messages ------------------------------------------------------------- */

void fake_bytes(struct fake_msg *m, const void *data, size_t len)
{
	if (len)
		memcpy(m->bytes + m->len, data, len);
	m->len += len;
	while (m->len % NLMSG_ALIGNTO)
		m->bytes[m->len++] = 0;
	m->nlh.nlmsg_len = (uint32_t)m->len;
}

void fake_begin(struct fake_msg *m, int type, int flags, uint32_t seq)
{
	struct nlmsghdr nlh = {
		.nlmsg_type = (uint16_t)type, .nlmsg_flags = (uint16_t)flags, .nlmsg_seq = seq,
	};

	m->len = 0;
	fake_bytes(m, &nlh, sizeof(nlh));
}

void fake_begin_genl(struct fake_msg *m, int cmd, int flags, uint32_t seq)
{
	struct genlmsghdr genl = { .cmd = (uint8_t)cmd, .version = 1 };

	fake_begin(m, fake.family, flags, seq);
	fake_bytes(m, &genl, sizeof(genl));
}

void fake_attr(struct fake_msg *m, int type, const void *data, size_t len)
{
	struct nlattr nla = {
		.nla_type = (uint16_t)type, .nla_len = (uint16_t)(sizeof(nla) + len),
	};

	fake_bytes(m, &nla, sizeof(nla));
	fake_bytes(m, data, len);
}

void fake_string(struct fake_msg *m, int type, const char *s)
{
	fake_attr(m, type, s, strlen(s) + 1);
}

void fake_u8(struct fake_msg *m, int type, uint8_t v)
{
	fake_attr(m, type, &v, sizeof(v));
}

void fake_u16(struct fake_msg *m, int type, uint16_t v)
{
	fake_attr(m, type, &v, sizeof(v));
}

void fake_u32(struct fake_msg *m, int type, uint32_t v)
{
	fake_attr(m, type, &v, sizeof(v));
}

void fake_u64(struct fake_msg *m, int type, uint64_t v)
{
	fake_attr(m, type, &v, sizeof(v));
}

size_t fake_nest(struct fake_msg *m, int type)
{
	size_t at = m->len;

	fake_attr(m, type | NLA_F_NESTED, NULL, 0);
	return at;
}

void fake_nest_end(struct fake_msg *m, size_t nest)
{
	((struct nlattr *)(m->bytes + nest))->nla_len = (uint16_t)(m->len - nest);
}

static void queue_at(struct fake_socket *s, const void *bytes, size_t len, int error)
{
	struct datagram *d = malloc(sizeof(*d) + len);

	*d = (struct datagram){ .error = error, .len = len, .is_foreign = fake.is_foreign };
	if (len)
		memcpy(d->bytes, bytes, len);
	*s->last = d;
	s->last = &d->next;
}

static void queue(const void *bytes, size_t len, int error)
{
	unsigned int i;

	for (i = 0; i < MOST_SOCKETS; i++)
		if (sockets[i].last && (!asking || asking == &sockets[i]))
			queue_at(&sockets[i], bytes, len, error);
}

void fake_queue(struct fake_msg *m)
{
	queue(m->bytes, m->len, 0);
}

void fake_queue_error(int error)
{
	queue(NULL, 0, error);
}

void fake_ack(const struct nlmsghdr *request, int error)
{
	struct nlmsgerr err = { .error = error, .msg = *request };
	struct fake_msg m;

	fake_begin(&m, NLMSG_ERROR, NLM_F_CAPPED, request->nlmsg_seq);
	fake_bytes(&m, &err, sizeof(err));
	fake_queue(&m);
}

void fake_done(const struct nlmsghdr *request, int flags, int error)
{
	struct fake_msg m;

	fake_begin(&m, NLMSG_DONE, NLM_F_MULTI | flags, request->nlmsg_seq);
	fake_bytes(&m, &error, sizeof(error));
	fake_queue(&m);
}

size_t fake_find(const struct nlmsghdr *request, int type)
{
	size_t at = NLMSG_HDRLEN + GENL_HDRLEN;
	const struct nlattr *nla;

	while (at < request->nlmsg_len) {
		nla = (const void *)((const char *)request + at);
		if ((nla->nla_type & NLA_TYPE_MASK) == type)
			return at;
		at += NLA_ALIGN(nla->nla_len);
	}
	return 0;
}

const char *fake_find_string(const struct nlmsghdr *request, int type)
{
	size_t at = fake_find(request, type);

	return at ? (const char *)request + at + NLA_HDRLEN : NULL;
}

bool fake_is_dump(const struct nlmsghdr *request)
{
	return (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
}

int fake_cmd(const struct nlmsghdr *request)
{
	return ((const struct genlmsghdr *)((const char *)request + NLMSG_HDRLEN))->cmd;
}

/* ---- genetlink's own family ----------------------------------------------- */

static void describe_family(uint32_t seq, const char *name, int id, const char *group,
			    int group_id)
{
	struct genlmsghdr genl = { .cmd = CTRL_CMD_NEWFAMILY, .version = 2 };
	struct fake_msg m;
	size_t groups, one;

	fake_begin(&m, GENL_ID_CTRL, 0, seq);
	fake_bytes(&m, &genl, sizeof(genl));
	fake_string(&m, CTRL_ATTR_FAMILY_NAME, name);
	fake_u16(&m, CTRL_ATTR_FAMILY_ID, (uint16_t)id);
	fake_u32(&m, CTRL_ATTR_VERSION, 1);
	fake_u32(&m, CTRL_ATTR_HDRSIZE, 0);
	fake_u32(&m, CTRL_ATTR_MAXATTR, 0);
	groups = fake_nest(&m, CTRL_ATTR_MCAST_GROUPS);
	one = fake_nest(&m, 1);
	fake_string(&m, CTRL_ATTR_MCAST_GRP_NAME, group);
	fake_u32(&m, CTRL_ATTR_MCAST_GRP_ID, (uint32_t)group_id);
	fake_nest_end(&m, one);
	fake_nest_end(&m, groups);
	fake_queue(&m);
}

static void answer_ctrl(const struct nlmsghdr *request)
{
	const char *name = fake_find_string(request, CTRL_ATTR_FAMILY_NAME);
	uint32_t seq = request->nlmsg_seq;

	if (fake.is_busy && asking->is_notified)
		describe_family(0, "other", FAKE_FAMILY - 1, "others", FAKE_GROUP - 1);
	if (!strcmp(name, "nlctrl")) {
		describe_family(seq, name, GENL_ID_CTRL, "notify", NOTIFY_GROUP);
	} else if (fake.family) {
		describe_family(seq, name, fake.family, "changes", FAKE_GROUP);
		if (fake.lookups && !--fake.lookups)
			fake.family = 0;
	} else {
		fake_ack(request, -ENOENT);
		return;
	}
	fake_ack(request, 0);
}

static int take_request(struct fake_socket *s, const void *bytes)
{
	const struct nlmsghdr *request = bytes;

	asking = s;
	if (request->nlmsg_type == GENL_ID_CTRL) {
		if (fake.lookup_error) {
			errno = fake.lookup_error;
			return -1;
		}
		answer_ctrl(request);
	} else {
		fake_requests++;
		if (fake.send_error) {
			errno = fake.send_error;
			fake.send_error = 0;
			return -1;
		}
		if (request->nlmsg_type != fake.family)
			fake_ack(request, -ENOENT);
		else if (fake.answer)
			fake.answer(request);
	}
	asking = NULL;
	return (int)request->nlmsg_len;
}

/* ---- replacements of functions of the C library ----------------------------- */

int socket(int domain, int type, int protocol)
{
	unsigned int i;
	int fd;

	if (domain != AF_NETLINK)
		return (int)syscall(SYS_socket, domain, type, protocol);
	if (fake.socket_error) {
		errno = fake.socket_error;
		return -1;
	}
	for (i = 0; i < MOST_SOCKETS && sockets[i].last; i++)
		;
	fd = i < MOST_SOCKETS ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return -1;
	sockets[i].fd = fd;
	sockets[i].is_notified = false;
	sockets[i].first = NULL;
	sockets[i].last = &sockets[i].first;
	fake_sockets++;
	return fd;
}

int close(int fd)
{
	struct fake_socket *s = find_socket(fd);
	struct datagram *d;

	if (s) {
		while ((d = s->first)) {
			s->first = d->next;
			free(d);
		}
		s->last = NULL;
		fake_sockets--;
	}
	return (int)syscall(SYS_close, fd);
}

int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	return find_socket(fd) ? 0 : (int)syscall(SYS_bind, fd, addr, len);
}

int getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	struct fake_socket *s = find_socket(fd);
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK };

	if (!s)
		return (int)syscall(SYS_getsockname, fd, addr, len);
	nl.nl_pid = FIRST_PORT + (unsigned int)(s - sockets);
	memcpy(addr, &nl, sizeof(nl));
	*len = sizeof(nl);
	return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	struct fake_socket *s = find_socket(fd);

	if (!s)
		return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
	if (level == SOL_NETLINK && name == NETLINK_ADD_MEMBERSHIP) {
		fake_joined |= 1U << *(const int *)value;
		s->is_notified |= *(const int *)value == NOTIFY_GROUP;
	}
	/* only a monitor sets it with this option */
	if (level == SOL_SOCKET && name == SO_RCVBUFFORCE)
		fake_buffer = *(const int *)value;
	return 0;
}

ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
	       socklen_t addr_len)
{
	struct fake_socket *s = find_socket(fd);

	return s ? take_request(s, buf) :
		   syscall(SYS_sendto, fd, buf, len, flags, addr, addr_len);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct fake_socket *s = find_socket(fd);

	return s ? take_request(s, msg->msg_iov[0].iov_base) :
		   syscall(SYS_sendmsg, fd, msg, flags);
}

/* A message that is read is removed, unless MSG_PEEK is set. */
static ssize_t take_datagram(struct fake_socket *s, struct msghdr *msg, int flags)
{
	struct datagram *d = s->first;
	size_t room = msg->msg_iov[0].iov_len, len;
	struct sockaddr_nl from = { .nl_family = AF_NETLINK };
	ssize_t got;

	if (!d) {
		errno = EAGAIN;
		return -1;
	}
	len = d->len < room ? d->len : room;
	memcpy(msg->msg_iov[0].iov_base, d->bytes, len);
	from.nl_pid = d->is_foreign ? 4711 : 0;
	memcpy(msg->msg_name, &from, sizeof(from));
	msg->msg_namelen = sizeof(from);
	msg->msg_controllen = 0;
	msg->msg_flags = d->len > room ? MSG_TRUNC : 0;
	got = flags & MSG_TRUNC ? (ssize_t)d->len : (ssize_t)len;
	if (d->error) {
		errno = d->error;
		got = -1;
	}
	if (flags & MSG_PEEK)
		return got;
	s->first = d->next;
	if (!s->first)
		s->last = &s->first;
	free(d);
	return got;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct fake_socket *s = find_socket(fd);

	return s ? take_datagram(s, msg, flags) : syscall(SYS_recvmsg, fd, msg, flags);
}

/*
 * Replaces poll(), for one socket. If there is no message now, none will arrive later. So the
 * function sleeps until the timeout, or fails if there is no timeout. Its name in C is not poll(),
 * because the compiler makes assumptions about poll().
 */
int fake_poll(struct pollfd *fds, nfds_t n, int timeout) __asm__("poll");
int fake_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct fake_socket *s = n == 1 ? find_socket(fds->fd) : NULL;

	if (!s)
		return (int)syscall(SYS_poll, fds, n, timeout);
	fds->revents = s->first ? POLLIN : 0;
	if (!s->first && timeout < 0) {
		errno = EDEADLK;
		return -1;
	}
	if (!s->first)
		usleep((useconds_t)timeout * 1000);
	return !!s->first;
}

FILE *fopen(const char *path, const char *mode)
{
	if (strcmp(path, "/sys/module/dispatchkey/initstate"))
		return fdopen(open(path, O_RDONLY | O_CLOEXEC), mode);
	errno = ENOENT;
	return fake.module_state ? fmemopen((char *)fake.module_state, strlen(fake.module_state),
					    mode) : NULL;
}
