// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Receives events, which report changes of the registry. If events are lost because the receive
 * buffer is full, an event of kind DK_NL_EVENT_LOST is returned.
 */
#include "internal.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/socket.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define DEFAULT_BUFFER	(1024 * 1024)

struct dk_nl_monitor {
	struct dk_nl *nl;
	size_t done;			/* bytes of the datagram that have been processed */
	bool is_gone;			/* the module was unloaded */
};

/* ---- open and close ------------------------------------------------------- */

/* SO_RCVBUFFORCE can exceed the system's limit, but needs CAP_NET_ADMIN. */
static void set_buffer(int fd, __u32 bytes)
{
	int size = bytes > INT32_MAX ? INT32_MAX : bytes ? (int)bytes : DEFAULT_BUFFER;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

/*
 * Returns the ID of the group or, if @group is NULL, of the family. Uses a separate socket: on the
 * monitor's socket, libnl could mistake an event for the answer.
 */
static int find_number(const char *family, const char *group)
{
	struct nl_sock *sk;
	int number;

	errno = 0;
	sk = nl_socket_alloc();
	if (!sk)
		return -NLE_NOMEM;
	number = genl_connect(sk);
	if (!number)
		number = dkn_resolve(sk, family, group);
	nl_socket_free(sk);
	return number;
}

static int join(struct dk_nl *nl, const char *family, const char *group)
{
	int number = dkn_resolved(nl, find_number(family, group)), err;

	if (number < 0)
		return number;
	err = nl_socket_add_membership(nl->sk, number);
	return err ? dkn_error_libnl(&nl->why, err, "cannot join the multicast group") : 0;
}

/*
 * Joins the groups for the family's events and for genetlink's events, which report that the family
 * is removed.
 */
static int join_groups(struct dk_nl *nl)
{
	int number, err = join(nl, "nlctrl", "notify");

	if (err)
		return err;
	for (;;) {
		err = join(nl, DK_GENL_NAME, DISPATCHKEY_MCGRP_CHANGES);
		if (err)
			return err;
		number = dkn_resolved(nl, find_number(DK_GENL_NAME, NULL));
		if (number < 0)
			return number;
		if (number == nl->family)
			return 0;
		/* the module was reloaded meanwhile, so the ID of its group has changed, too */
		nl->family = number;
	}
}

int dk_nl_monitor_open(const struct dk_nl_options *options,
		       struct dk_nl_monitor **monitor, struct dk_nl_error *why)
{
	struct dk_nl_monitor *m = calloc(1, sizeof(*m));
	struct dk_nl_options o = { 0 };
	int err;

	*monitor = NULL;
	if (!m)
		return dkn_error_no_handle(why);
	err = dk_nl_open(options, &m->nl, why);
	if (err)
		goto fail;
	if (options)
		dkn_copy_in(&o, sizeof(o), options);
	set_buffer(nl_socket_get_fd(m->nl->sk), o.buffer);
	err = join_groups(m->nl);
	if (err) {
		dkn_error_out(why, &m->nl->why);
		goto fail;
	}
	m->nl->datagram_len = 0;
	*monitor = m;
	return 0;
fail:
	dk_nl_monitor_close(m);
	return err;
}

void dk_nl_monitor_close(struct dk_nl_monitor *monitor)
{
	if (!monitor)
		return;
	dk_nl_close(monitor->nl);
	free(monitor);
}

int dk_nl_monitor_fd(const struct dk_nl_monitor *monitor)
{
	return nl_socket_get_fd(monitor->nl->sk);
}

const struct dk_nl_error *dk_nl_monitor_why(const struct dk_nl_monitor *monitor)
{
	return &monitor->nl->why;
}

/* ---- messages ------------------------------------------------------------- */

/* Returns the next message of the current datagram, or NULL at its end. */
static const struct nlmsghdr *next_message(struct dk_nl_monitor *m)
{
	size_t rest = m->nl->datagram_len - m->done, len;
	const struct nlmsghdr *nlh = (const void *)(m->nl->datagram.bytes + m->done);

	if (rest < sizeof(*nlh) || nlh->nlmsg_len < sizeof(*nlh) || nlh->nlmsg_len > rest) {
		m->nl->datagram_len = 0;
		m->done = 0;
		return NULL;
	}
	len = NLMSG_ALIGN(nlh->nlmsg_len);
	m->done += len < rest ? len : rest;
	return nlh;
}

#define NO_KIND		UINT32_MAX

static const struct dkn_field event_fields[] = {
	DKN_FIELD(DK_A_EVENT_KIND, dk_nl_event, kind, .preset = NO_KIND),
	DKN_FIELD(DK_A_EVENT_NAME, dk_nl_event, name),
	DKN_FIELD(DK_A_EVENT_NUMBER, dk_nl_event, number),
	DKN_FIELD(DK_A_EVENT_KEY, dk_nl_event, key, DKN_HAS(dk_nl_event, has_key)),
	DKN_FIELD(DK_A_EVENT_KEY_NAME, dk_nl_event, key_name),
	DKN_FIELD(DK_A_EVENT_PROVIDER, dk_nl_event, provider),
	DKN_FIELD(DK_A_EVENT_STATE, dk_nl_event, state, DKN_ONLINE),
	DKN_FIELD(DK_A_EVENT_COUNT, dk_nl_event, count),
	DKN_FIELD(DK_A_EVENT_TIME, dk_nl_event, time),
	DKN_FIELD(DK_A_EVENT_GENERATION, dk_nl_event, generation),
};

static const struct dkn_shape event_shape =
	DKN_SHAPE(dk_nl_event, DKN_EVENT, event_fields);

/* True if genetlink reports that our family is removed. */
static bool is_end(const struct dk_nl_monitor *m, const struct genlmsghdr *genl,
		   const struct nlattr *nla, int len)
{
	if (genl->cmd != CTRL_CMD_DELFAMILY)
		return false;
	for (; dkn_attr_ok(nla, len); nla = dkn_attr_next(nla, &len))
		if (nla_type(nla) == CTRL_ATTR_FAMILY_ID && nla_len(nla) == sizeof(__u16))
			return nla_get_u16(nla) == m->nl->family;
	return false;
}

/* Returns 1 for an event, 0 for any other message, or -EBADMSG. */
static int read_message(struct dk_nl_monitor *m, const struct nlmsghdr *nlh,
			struct dk_nl_event *e)
{
	const struct genlmsghdr *genl = (const void *)((const char *)nlh + NLMSG_HDRLEN);
	const struct nlattr *head = (const void *)((const char *)genl + GENL_HDRLEN);
	int len = (int)nlh->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN, err;
	struct dkn_bad_attr bad = { DKN_NO_SET, 0 };

	if (len < 0)
		return 0;
	if (nlh->nlmsg_type == GENL_ID_CTRL && is_end(m, genl, head, len))
		m->is_gone = true;
	if (nlh->nlmsg_type != m->nl->family || genl->cmd != DK_CMD_EVENT)
		return 0;
	dkn_preset(&event_shape, e);
	err = dkn_decode(NULL, &event_shape, head, len, e, &bad);
	if (err || e->kind == NO_KIND)
		return dkn_error_malformed(&m->nl->why, &bad);
	return 1;
}

static int gone(struct dk_nl_monitor *m)
{
	return dkn_error_set(&m->nl->why, -ENODEV, "the dispatchkey module was unloaded");
}

static int socket_error(struct dk_nl_monitor *m, int err)
{
	return dkn_error_set(&m->nl->why, err, "error on the netlink socket: %s",
			     strerror(-err));
}

/* ---- events --------------------------------------------------------------- */

/*
 * Reads the next event of the current datagram. Returns 1, 0 at the end of the datagram, or
 * -ENODEV after the module was unloaded.
 */
static int next_in_datagram(struct dk_nl_monitor *m, struct dk_nl_event *e)
{
	const struct nlmsghdr *nlh;
	int n;

	while (!m->is_gone && (nlh = next_message(m))) {
		n = read_message(m, nlh, e);
		if (n)
			return n;
	}
	return m->is_gone ? gone(m) : 0;
}

static int next_event(struct dk_nl_monitor *m, int timeout_ms, struct dk_nl_event *e)
{
	long long end = dkn_now_ms() + timeout_ms, left = timeout_ms;
	int n;

	for (;;) {
		n = next_in_datagram(m, e);
		if (n)
			return n;
		n = dkn_receive(m->nl, (int)left);
		if (n == -ENOBUFS) {
			dkn_preset(&event_shape, e);
			e->kind = DK_NL_EVENT_LOST;
			return 1;
		}
		if (n < 0)
			return socket_error(m, n);
		if (timeout_ms >= 0) {
			left = end - dkn_now_ms();
			if (!n && left <= 0)
				return 0;
			left = left > 0 ? left : 0;
		}
	}
}

int dk_nl_monitor_next(struct dk_nl_monitor *monitor, int timeout_ms,
		       struct dk_nl_event *event)
{
	struct dk_nl_event e;
	__u32 size = event->size;
	int n;

	dkn_error_clear(&monitor->nl->why);
	if (size < sizeof(size))
		return dkn_error_set(&monitor->nl->why, -EINVAL,
				     "invalid size of struct dk_nl_event");
	n = next_event(monitor, timeout_ms, &e);
	if (n == 1)
		dkn_copy_out(event, &e, sizeof(e));
	return n;
}

/*
 * The message that the family was removed may be lost, too. Called when the socket is empty,
 * because from then on the kernel sends messages to it again.
 */
static int check_family(struct dk_nl_monitor *m)
{
	int number = find_number(DK_GENL_NAME, NULL);

	if (number < 0 && number != -NLE_OBJ_NOTFOUND)
		return dkn_resolved(m->nl, number);
	m->is_gone = number != m->nl->family;
	return m->is_gone ? gone(m) : 0;
}

int dk_nl_monitor_drain(struct dk_nl_monitor *monitor)
{
	struct dk_nl_event e;
	int n;

	dkn_error_clear(&monitor->nl->why);
	do {
		do
			n = next_in_datagram(monitor, &e);
		while (n == 1 || n == -EBADMSG);
		if (n)
			return n;
		n = dkn_receive(monitor->nl, 0);
	} while (n == 1 || n == -ENOBUFS || n == -EINTR);
	dkn_error_clear(&monitor->nl->why);
	return n ? socket_error(monitor, n) : check_family(monitor);
}
