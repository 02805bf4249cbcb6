// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Builds a request, sends it and receives the answer. If the registry changes while a list is
 * received, the list is discarded and requested again, so that callers get a consistent list.
 */
#include "internal.h"

#include <errno.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* ---- building a request --------------------------------------------------- */

void dkn_begin(struct dkn_request *r, struct dk_nl *nl, uint8_t cmd, enum dkn_set set)
{
	*r = (struct dkn_request){ .nl = nl, .cmd = cmd, .set = set };
	dkn_error_clear(&nl->why);
	r->msg = nlmsg_alloc_size(DKN_REQUEST_MAX);
	if (!r->msg || !genlmsg_put(r->msg, 0, 0, nl->family, 0, 0, cmd, DK_GENL_VERSION))
		dkn_refuse(r, -ENOMEM, "no memory for a request");
}

/*
 * Stores an error, with which the request will fail, unless there was an earlier one. Attributes
 * that are added later are ignored.
 */
int dkn_refuse(struct dkn_request *r, int code, const char *sentence)
{
	if (!r->nl->why.code)
		dkn_error_set(&r->nl->why, code, "%s", sentence);
	return code;
}

static void put(struct dkn_request *r, unsigned int type, int len, const void *data)
{
	if (!r->nl->why.code && nla_put(r->msg, type, len, data))
		dkn_refuse(r, -EINVAL, "the request is too long");
}

/* Adds a string, unless it is NULL. @set is the attribute set of @type. */
void dkn_put_string(struct dkn_request *r, enum dkn_set set, unsigned int type,
		    const char *s)
{
	if (!s || r->nl->why.code)
		return;
	if (strnlen(s, DK_NAME_MAX) == DK_NAME_MAX)
		dkn_error_attr(&r->nl->why, -EINVAL, r->nest, set, type, s,
			       "the name is too long");
	else
		put(r, type, (int)strlen(s) + 1, s);
}

void dkn_put_u8(struct dkn_request *r, unsigned int type, uint8_t v)
{
	put(r, type, sizeof(v), &v);
}

void dkn_put_u32(struct dkn_request *r, unsigned int type, uint32_t v)
{
	put(r, type, sizeof(v), &v);
}

void dkn_put_u64(struct dkn_request *r, unsigned int type, uint64_t v)
{
	put(r, type, sizeof(v), &v);
}

void dkn_put_flag(struct dkn_request *r, unsigned int type)
{
	put(r, type, 0, NULL);
}

/* Adds a number, unless it is 0. */
void dkn_put_some_u32(struct dkn_request *r, unsigned int type, uint32_t v)
{
	if (v)
		dkn_put_u32(r, type, v);
}

/* Copies the caller's struct @name, such as a filter. If it is NULL, @to is not changed. */
void dkn_copy_struct(struct dkn_request *r, void *to, size_t size, const void *from,
		     const char *name)
{
	if (from && dkn_copy_in(to, size, from) && !r->nl->why.code)
		dkn_error_set(&r->nl->why, -EINVAL, "invalid size of struct %s", name);
}

struct nlattr *dkn_nest(struct dkn_request *r, unsigned int type)
{
	struct nlattr *nest = NULL;

	if (!r->nl->why.code) {
		r->nest = dkn_attr(r->set, type)->name;
		nest = nla_nest_start(r->msg, (int)type);
		if (!nest)
			dkn_refuse(r, -EINVAL, "the request is too long");
	}
	return nest;
}

void dkn_nest_end(struct dkn_request *r, struct nlattr *nest)
{
	r->nest = NULL;
	if (nest)
		nla_nest_end_keep_empty(r->msg, nest);
}

/* ---- sending and receiving ------------------------------------------------ */

/* The state of the reception of an answer. */
struct progress {
	uint32_t seq;
	bool is_over;
	bool is_interrupted;
	int error;			/* the first error in the answer */
	struct dkn_ack ack;
};

static int send_request(struct dkn_request *r, uint32_t *seq, int flags)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct nlmsghdr *nlh = nlmsg_hdr(r->msg);
	int fd = nl_socket_get_fd(r->nl->sk);

	nlh->nlmsg_type = (uint16_t)r->nl->family;
	nlh->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	nlh->nlmsg_seq = nl_socket_use_seq(r->nl->sk);
	nlh->nlmsg_pid = nl_socket_get_local_port(r->nl->sk);
	*seq = nlh->nlmsg_seq;
	if (sendto(fd, nlh, nlh->nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return dkn_error_set(&r->nl->why, -errno, "error on the netlink socket: %s",
				     strerror(errno));
	return 0;
}

/* Decodes an element of the answer. After an error the rest is received and ignored. */
static void read_element(struct dkn_request *r, const struct nlmsghdr *nlh,
			 struct progress *p)
{
	const struct genlmsghdr *genl = (const void *)((const char *)nlh + NLMSG_HDRLEN);
	int len = (int)nlh->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
	struct dkn_bad_attr bad = { DKN_NO_SET, 0 };

	if (p->error || !r->list.shape)
		return;
	if (len < 0 || genl->cmd != r->cmd || (r->list.n && !r->list.shape->next))
		p->error = -EBADMSG;
	else
		p->error = dkn_list_decode(r->arena, &r->list,
					   (const void *)((const char *)genl + GENL_HDRLEN),
					   len, &bad);
	if (p->error == -EBADMSG)
		dkn_error_malformed(&r->nl->why, &bad);
	else if (p->error)
		dkn_error_set(&r->nl->why, p->error, "no memory for the answer");
}

static void read_message(struct dkn_request *r, const struct nlmsghdr *nlh,
			 struct progress *p)
{
	if (nlh->nlmsg_seq != p->seq)
		return;			/* for an earlier request */
	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		p->is_interrupted = true;
	if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE) {
		p->is_over = true;
		if (dkn_ack_read(nlh, &p->ack) && !p->error)
			p->error = dkn_error_malformed(&r->nl->why, &(struct dkn_bad_attr){ 0 });
	} else if (nlh->nlmsg_type == r->nl->family) {
		read_element(r, nlh, p);
	}
}

/* Reads all messages of a datagram. A truncated message ends the loop. */
static void read_datagram(struct dkn_request *r, struct progress *p)
{
	const struct nlmsghdr *nlh = &r->nl->datagram.align;
	size_t rest = r->nl->datagram_len, len;

	while (!p->is_over && rest >= sizeof(*nlh) && nlh->nlmsg_len >= sizeof(*nlh) &&
	       nlh->nlmsg_len <= rest) {
		read_message(r, nlh, p);
		len = NLMSG_ALIGN(nlh->nlmsg_len);
		rest -= len < rest ? len : rest;
		nlh = (const void *)((const char *)nlh + len);
	}
}

/*
 * Receives until the answer is complete. Returns a negative errno if the socket fails or the time
 * is over before that.
 */
static int receive_answer(struct dkn_request *r, struct progress *p)
{
	struct dk_nl *nl = r->nl;
	long long end = nl->timeout_ms < 0 ? 0 : dkn_now_ms() + nl->timeout_ms, left = -1;
	int n;

	while (!p->is_over) {
		if (nl->timeout_ms >= 0) {
			left = end - dkn_now_ms();
			if (left < 0)
				return dkn_error_set(&nl->why, -ETIMEDOUT,
						     "the module did not answer in time");
		}
		n = dkn_receive(nl, (int)left);
		if (n == 1)
			read_datagram(r, p);
		else if (n < 0 && n != -EINTR)
			return dkn_error_set(&nl->why, n, "error on the netlink socket: %s",
					     strerror(-n));
	}
	return 0;
}

/*
 * Makes one attempt. Returns 0 or an error. If the registry changed, returns -EAGAIN without a
 * message in nl->why.
 */
static int transact_once(struct dkn_request *r, int flags)
{
	struct dk_nl *nl = r->nl;
	struct progress p = { 0 };
	int err;

	dkn_error_clear(&nl->why);
	if (!nl->sk) {
		err = dkn_connect(nl);
		if (err)
			return err;
	}
	err = send_request(r, &p.seq, flags);
	if (err)
		return err;
	err = receive_answer(r, &p);
	if (err) {
		dkn_disconnect(nl);
		return err;
	}
	if (p.error)
		return p.error;
	err = dkn_error_kernel(&nl->why, &p.ack, nlmsg_hdr(r->msg), r->set);
	return err ? err : p.is_interrupted ? -EAGAIN : 0;
}

/* ---- retries -------------------------------------------------------------- */

static void discard_answer(struct dkn_request *r)
{
	dkn_arena_free(r->arena);
	r->arena = NULL;
	r->list.first = NULL;
	r->list.last = NULL;
	r->list.n = 0;
}

/* Waits before the next attempt: 1 ms, and twice as long each time, up to 64 ms. */
static void back_off(unsigned int try)
{
	long long ms = 1LL << (try < 6 ? try : 6);
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

/*
 * Called after -ENOENT without a text: this is an error of genetlink, because the module always
 * adds a text. Reconnects. Returns 0 if the family has a new ID, because the module was reloaded.
 */
static int reconnect(struct dk_nl *nl)
{
	struct dk_nl_error before = nl->why;
	int family = nl->family, err;

	dkn_error_clear(&nl->why);
	err = dkn_connect(nl);
	if (!err && nl->family == family) {
		nl->why = before;
		err = before.code;
	}
	return err;
}

static int transact(struct dkn_request *r, int flags)
{
	struct dk_nl *nl = r->nl;
	unsigned int try;
	int err = nl->why.code;

	for (try = 0; !err && try <= nl->retries; try++) {
		if (try)
			back_off(try - 1);
		r->arena = r->list.shape ? dkn_arena_alloc() : NULL;
		if (r->list.shape && !r->arena)
			return dkn_error_set(&nl->why, -ENOMEM, "no memory for the answer");
		err = transact_once(r, flags);
		if (!err)
			return 0;
		discard_answer(r);
		if (!nl->why.code)
			err = 0;	/* the registry has changed: try again */
		else if (err == -ENOENT && !nl->why.message[0])
			err = reconnect(nl);
		else if (err == -EPROTONOSUPPORT && !nl->why.message[0])
			/* netlink refuses to begin a dump while the module is unloaded */
			err = dkn_error_no_family(&nl->why, -ENOENT);
	}
	return err ? err : dkn_error_changed(&nl->why, try);
}

static const void *end_request(struct dkn_request *r, bool is_one)
{
	nlmsg_free(r->msg);
	if (!r->nl->why.code && is_one && r->list.n != 1)
		dkn_error_set(&r->nl->why, -EBADMSG, "%s answer from the module",
			      r->list.n ? "more than one" : "empty");
	if (r->nl->why.code || !r->list.n) {
		discard_answer(r);
		return NULL;
	}
	return r->list.first;
}

const void *dkn_get(struct dkn_request *r, const struct dkn_shape *shape)
{
	r->list.shape = shape;
	transact(r, 0);
	return end_request(r, true);
}

const void *dkn_get_all(struct dkn_request *r, const struct dkn_shape *shape)
{
	r->list.shape = shape;
	transact(r, NLM_F_DUMP);
	return end_request(r, false);
}

/* Sends a request without an answer. */
int dkn_do(struct dkn_request *r)
{
	transact(r, 0);
	end_request(r, false);
	return r->nl->why.code;
}
