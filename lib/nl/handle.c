// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Opens and closes the handle, and receives messages from its socket.
 */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define DEFAULT_RETRIES	16

const char *dk_nl_version(void)
{
	return DK_VERSION;
}

int dkn_copy_in(void *to, size_t size, const void *from)
{
	const unsigned char *bytes = from;
	__u32 given, i;

	memcpy(&given, from, sizeof(given));
	if (given < sizeof(given))
		return -EINVAL;
	for (i = size; i < given; i++)
		if (bytes[i])
			return -EINVAL;
	memset(to, 0, size);
	memcpy(to, from, given < size ? given : size);
	return 0;
}

void dkn_copy_out(void *to, const void *from, size_t size)
{
	__u32 given;

	memcpy(&given, to, sizeof(given));
	if (given < sizeof(given))
		return;
	memset(to, 0, given);
	memcpy(to, from, given < size ? given : size);
	memcpy(to, &given, sizeof(given));
}

long long dkn_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* ---- the socket ----------------------------------------------------------- */

/*
 * Makes the kernel send extended ACKs, without a copy of the request, and check requests strictly.
 * Ignores errors, because old kernels lack some of the options.
 */
static void set_socket_options(int fd)
{
	static const int options[] = { NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK };
	const int on = 1;
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, SOL_NETLINK, options[i], &on, sizeof(on));
}

/*
 * Closes the socket, which may have unread messages. This also ends an unfinished dump, which would
 * keep the module from being unloaded.
 */
void dkn_disconnect(struct dk_nl *nl)
{
	nl_socket_free(nl->sk);
	nl->sk = NULL;
}

int dkn_resolve(struct nl_sock *sk, const char *family, const char *group)
{
	int number;

	errno = 0;
	number = group ? genl_ctrl_resolve_grp(sk, family, group) : genl_ctrl_resolve(sk, family);
	/* libnl returns this number for every error; if errno is set, something else failed */
	return number == -NLE_OBJ_NOTFOUND && errno ? -NLE_FAILURE : number;
}

int dkn_resolved(struct dk_nl *nl, int number)
{
	if (number >= 0)
		return number;
	if (number == -NLE_OBJ_NOTFOUND)
		return dkn_error_no_family(&nl->why, -ENOENT);
	return dkn_error_libnl(&nl->why, number, "cannot find the netlink family");
}

static int connect_new(struct dk_nl *nl)
{
	int err;

	errno = 0;
	nl->sk = nl_socket_alloc();
	if (!nl->sk)
		return dkn_error_set(&nl->why, -ENOMEM, "no memory for a netlink socket");
	err = genl_connect(nl->sk);
	if (err)
		return dkn_error_libnl(&nl->why, err, "cannot connect to generic netlink");
	set_socket_options(nl_socket_get_fd(nl->sk));
	nl->family = dkn_resolved(nl, dkn_resolve(nl->sk, DK_GENL_NAME, NULL));
	return nl->family < 0 ? nl->family : 0;
}

/* Opens a new socket and resolves the family, whose ID changes each time the module is loaded. */
int dkn_connect(struct dk_nl *nl)
{
	int err;

	dkn_disconnect(nl);
	err = connect_new(nl);
	if (err)
		dkn_disconnect(nl);
	return err;
}

/* Returns 1 if there is something to read, 0 on timeout, or a negative errno. */
static int wait_for(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = poll(&p, 1, timeout_ms);

	return n < 0 ? -errno : n;
}

/*
 * Receives the next datagram into nl->datagram. A timeout of -1 means none. Returns 1 after
 * receiving a datagram; if it is not from the kernel, nl->datagram_len is 0. Returns 0 on timeout,
 * -ENOBUFS if datagrams were lost, -EBADMSG if the kernel's datagram is too long, or another
 * negative errno, such as -EINTR.
 */
int dkn_receive(struct dk_nl *nl, int timeout_ms)
{
	struct sockaddr_nl from = { 0 };
	struct iovec iov = { nl->datagram.bytes, sizeof(nl->datagram) };
	struct msghdr msg = {
		.msg_name = &from, .msg_namelen = sizeof(from),
		.msg_iov = &iov, .msg_iovlen = 1,
	};
	int fd = nl_socket_get_fd(nl->sk);
	ssize_t len;
	int n;

	nl->datagram_len = 0;
	n = wait_for(fd, timeout_ms);
	if (n <= 0)
		return n;
	len = recvmsg(fd, &msg, MSG_DONTWAIT);
	if (len < 0)
		return errno == EAGAIN ? 0 : -errno;
	/* any process may send to this socket; only the kernel has port 0 */
	if (msg.msg_namelen != sizeof(from) || from.nl_family != AF_NETLINK || from.nl_pid)
		return 1;
	if (msg.msg_flags & MSG_TRUNC)
		return -EBADMSG;
	nl->datagram_len = len;
	return 1;
}

/* ---- open and close ------------------------------------------------------- */

/* The module refuses the request if its registry has another layout. */
static int check_layout(struct dk_nl *nl, const char *layout)
{
	struct dkn_request r;

	if (!layout)
		return 0;
	dkn_begin(&r, nl, DK_CMD_INFO_GET, DKN_INFO);
	dkn_put_string(&r, DKN_INFO, DK_A_INFO_LAYOUT, layout);
	return dkn_do(&r);
}

static int open_with(struct dk_nl *nl, const struct dk_nl_options *options)
{
	struct dk_nl_options o = { .size = sizeof(o) };
	int err;

	if (options && dkn_copy_in(&o, sizeof(o), options))
		return dkn_error_set(&nl->why, -EINVAL, "invalid size of struct dk_nl_options");
	nl->retries = o.retries ? o.retries : DEFAULT_RETRIES;
	if (o.timeout_ms > INT_MAX)
		o.timeout_ms = INT_MAX;
	nl->timeout_ms = o.timeout_ms ? (int)o.timeout_ms : -1;
	err = dkn_connect(nl);
	return err ? err : check_layout(nl, o.layout);
}

int dk_nl_open(const struct dk_nl_options *options, struct dk_nl **nl,
	       struct dk_nl_error *why)
{
	struct dk_nl *n = calloc(1, sizeof(*n));
	int err;

	*nl = NULL;
	if (!n)
		return dkn_error_no_handle(why);
	dkn_error_clear(&n->why);
	err = open_with(n, options);
	dkn_error_out(why, &n->why);
	if (err)
		dk_nl_close(n);
	else
		*nl = n;
	return err;
}

void dk_nl_close(struct dk_nl *nl)
{
	if (!nl)
		return;
	dkn_disconnect(nl);
	free(nl);
}

const struct dk_nl_error *dk_nl_why(const struct dk_nl *nl)
{
	return &nl->why;
}

const char *dk_nl_strerror(const struct dk_nl *nl)
{
	return nl->why.sentence;
}
