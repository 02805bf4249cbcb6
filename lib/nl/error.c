// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Composes error messages from the attributes of the request and from the kernel's extended ACK,
 * which it parses, because libnl 3.7 does not.
 */
#include "internal.h"
#include "module_state.h"

#include <errno.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ABSENT	"dispatchkey.ko is not loaded; type: sudo modprobe dispatchkey"
#define ELSEWHERE	"the dispatchkey module answers in the initial network namespace only: prefix the command with nsenter --net=/proc/1/ns/net"
#define PERMISSION	"changes need CAP_NET_ADMIN in the initial user namespace: try again as root"
#define TOO_OLD		"the module is older than this program and does not support this request: load a newer module"

/* ---- text ----------------------------------------------------------------- */

static void copy_string(char *to, size_t size, const char *from)
{
	dkn_copy_text(to, size, from, strlen(from));
}

void dkn_error_clear(struct dk_nl_error *e)
{
	memset(e, 0, sizeof(*e));
	e->size = sizeof(*e);
}

/* Sets the code and the sentence of an error. Returns @code. */
int dkn_error_set(struct dk_nl_error *e, int code, const char *sentence, ...)
{
	va_list args;

	e->code = code;
	va_start(args, sentence);
	vsnprintf(e->sentence, sizeof(e->sentence), sentence, args);
	va_end(args);
	return code;
}

/* The size of struct dk_nl_error in the first release; must not change. */
enum { ERROR_FIRST_SIZE = offsetof(struct dk_nl_error, missing) + 64 };

void dkn_error_out(struct dk_nl_error *why, const struct dk_nl_error *e)
{
	if (!why)
		return;
	if (!why->size)
		why->size = ERROR_FIRST_SIZE;
	dkn_copy_out(why, e, sizeof(*e));
}

/* Reports that dk_nl_open() had no memory for a handle, so no handle can store the error. */
int dkn_error_no_handle(struct dk_nl_error *why)
{
	static const struct dk_nl_error no_memory = {
		.size = sizeof(no_memory), .code = -ENOMEM, .sentence = "no memory for a handle",
	};

	dkn_error_out(why, &no_memory);
	return -ENOMEM;
}

/* ---- sentences ------------------------------------------------------------ */

/* Returns the text for an error that genetlink or Linux reported, without a message. */
static const char *default_text(int code)
{
	switch (code) {
	case -EPERM:
		return PERMISSION;
	case -EOPNOTSUPP:
		return TOO_OLD;
	}
	return strerror(-code);
}

/*
 * Composes the sentence from the other members of @e. @attr is the attribute with e->value,
 * @missing one that the request lacks; both may be NULL.
 */
static void compose(struct dk_nl_error *e, const struct dkn_attr *attr,
		    const struct dkn_attr *missing)
{
	const char *text = e->message[0] ? e->message : default_text(e->code);
	bool is_name = attr && attr->kind == DKN_STRING;

	if (attr && e->value[0])
		dkn_error_set(e, e->code, is_name ? "%s \"%s\": %s" : "%s %s: %s",
			      attr->noun, e->value, text);
	else if (attr)
		dkn_error_set(e, e->code, "%s: %s", attr->noun, text);
	else if (missing && !e->message[0])
		dkn_error_set(e, e->code, "%s is missing", missing->noun);
	else
		dkn_error_set(e, e->code, "%s", text);
}

/* Appends a name to a path: "obj" and "device" give "obj.device". */
static void extend(char *path, size_t size, const char *name)
{
	size_t len = strlen(path);

	snprintf(path + len, size - len, "%s%s", len ? "." : "", name);
}

/*
 * Sets the error for an attribute that the library itself refuses. @nest is the name of the
 * attribute that contains it, or NULL. Returns @code.
 */
int dkn_error_attr(struct dk_nl_error *e, int code, const char *nest, enum dkn_set set,
		   unsigned int type, const char *value, const char *message)
{
	const struct dkn_attr *attr = dkn_attr(set, type);

	e->code = code;
	copy_string(e->attribute, sizeof(e->attribute), nest ? nest : "");
	extend(e->attribute, sizeof(e->attribute), attr->name);
	copy_string(e->value, sizeof(e->value), value);
	copy_string(e->message, sizeof(e->message), message);
	compose(e, attr, NULL);
	return code;
}

/* Sets the error for a missing netlink family. Returns @code. */
int dkn_error_no_family(struct dk_nl_error *e, int code)
{
	return dkn_error_set(e, code, "%s", dkn_module_is_live() ? ELSEWHERE : ABSENT);
}

int dkn_error_changed(struct dk_nl_error *e, unsigned int times)
{
	return dkn_error_set(e, -EAGAIN,
			     "the registry changed during each of %u attempts to read it: try again",
			     times);
}

int dkn_error_malformed(struct dk_nl_error *e, const struct dkn_bad_attr *bad)
{
	const struct dkn_attr *attr = dkn_attr(bad->set, bad->type);

	if (!attr)
		return dkn_error_set(e, -EBADMSG, "malformed answer from the module");
	return dkn_error_set(e, -EBADMSG, "malformed answer from the module: attribute %s of %s",
			     attr->name, dkn_set_name(bad->set));
}

/* Maps a libnl error to an errno. */
static int errno_of(int nlerr)
{
	switch (nlerr < 0 ? -nlerr : nlerr) {
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_PERM:
		return -EPERM;
	case NLE_NOACCESS:
		return -EACCES;
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	case NLE_AF_NOSUPPORT:
		return -EAFNOSUPPORT;
	case NLE_PROTO_MISMATCH:
		return -EPROTONOSUPPORT;
	case NLE_INVAL:
		return -EINVAL;
	}
	return -EIO;
}

/* If libnl has no number for the error, errno contains it, or is 0. */
int dkn_error_libnl(struct dk_nl_error *e, int nlerr, const char *what)
{
	if (nlerr == -NLE_FAILURE && errno)
		return dkn_error_set(e, -errno, "%s: %s", what, strerror(errno));
	return dkn_error_set(e, errno_of(nlerr), "%s: %s", what, nl_geterror(nlerr));
}

/* ---- the request's attributes --------------------------------------------- */

/* The position of an attribute in a request. */
struct place {
	const struct nlattr *nla;
	enum dkn_set set;		/* of the attribute */
	char path[sizeof(((struct dk_nl_error *)0)->attribute)];
};

/* Finds the attribute at @offset from the start of the request. Returns false if there is none. */
static bool find(const struct nlmsghdr *request, uint32_t offset, enum dkn_set set,
		 struct place *p)
{
	const char *base = (const char *)request;
	int len = (int)request->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
	const struct nlattr *nla = (const void *)(base + NLMSG_HDRLEN + GENL_HDRLEN);
	const struct dkn_attr *attr;
	uint32_t at;

	p->path[0] = '\0';
	while (dkn_attr_ok(nla, len)) {
		at = (uint32_t)((const char *)nla - base);
		attr = dkn_attr(set, nla_type(nla));
		if (offset < at || !attr)
			return false;
		if (offset >= at + nla->nla_len) {
			nla = dkn_attr_next(nla, &len);
			continue;
		}
		extend(p->path, sizeof(p->path), attr->name);
		p->nla = nla;
		p->set = set;
		if (offset == at)
			return true;
		/* @offset can only be inside this attribute */
		set = attr->nested;
		len = nla_len(nla);
		nla = nla_data(nla);
	}
	return false;
}

/* Formats the value that the caller passed. */
static void value_text(const struct place *p, enum dkn_kind kind, char *buf, size_t size)
{
	buf[0] = '\0';
	if (!dkn_attr_is_valid(p->nla, kind))
		return;
	if (kind == DKN_STRING)
		dkn_copy_text(buf, size, nla_data(p->nla), nla_len(p->nla));
	else if (kind == DKN_U8)
		snprintf(buf, size, "%u", nla_get_u8(p->nla));
	else if (kind == DKN_U32)
		snprintf(buf, size, "%u", nla_get_u32(p->nla));
	else if (kind == DKN_U64)	/* a keyset */
		snprintf(buf, size, "%#llx", (unsigned long long)nla_get_u64(p->nla));
}

/* ---- the extended ACK ----------------------------------------------------- */

/*
 * Reads an NLMSG_ERROR or NLMSG_DONE. Returns -EBADMSG if it is malformed.
 */
int dkn_ack_read(const struct nlmsghdr *nlh, struct dkn_ack *v)
{
	const char *data = (const char *)nlh + NLMSG_HDRLEN;
	int len = (int)nlh->nlmsg_len - NLMSG_HDRLEN;
	struct nlmsgerr err;
	uint64_t used = sizeof(v->code);	/* size_t may be too small for the sum below */

	*v = (struct dkn_ack){ 0 };
	if (nlh->nlmsg_type == NLMSG_ERROR) {
		if (len < (int)sizeof(err))
			return -EBADMSG;
		memcpy(&err, data, sizeof(err));
		v->code = err.error;
		used = sizeof(err);
		/* the ACK contains a copy of the whole request */
		if (!(nlh->nlmsg_flags & NLM_F_CAPPED) && err.msg.nlmsg_len > NLMSG_HDRLEN)
			used += err.msg.nlmsg_len - NLMSG_HDRLEN;
	} else if (len >= (int)sizeof(v->code)) {
		memcpy(&v->code, data, sizeof(v->code));
	}
	if (!dkn_is_error(v->code))
		return -EBADMSG;
	/* NLMSG_ALIGN() has only 32 bits, so compare the length before, too */
	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS) || used > (size_t)len)
		return 0;
	used = NLMSG_ALIGN(used);
	if (used > (size_t)len)
		return 0;
	v->tlvs = (const void *)(data + used);
	v->len = len - (int)used;
	return 0;
}

static const struct nlattr *find_tlv(const struct dkn_ack *v, int type, enum dkn_kind kind)
{
	const struct nlattr *nla = v->tlvs;
	int len = v->len;

	for (; nla && dkn_attr_ok(nla, len); nla = dkn_attr_next(nla, &len))
		if (nla_type(nla) == type && dkn_attr_is_valid(nla, kind))
			return nla;
	return NULL;
}

/* Returns the missing attribute, or NULL. Sets p->path to its position in the request. */
static const struct dkn_attr *find_missing(const struct dkn_ack *v,
					   const struct nlmsghdr *request,
					   enum dkn_set set, struct place *p)
{
	const struct nlattr *type = find_tlv(v, NLMSGERR_ATTR_MISS_TYPE, DKN_U32);
	const struct nlattr *nest = find_tlv(v, NLMSGERR_ATTR_MISS_NEST, DKN_U32);
	const struct dkn_attr *attr;

	p->path[0] = '\0';
	if (!type)
		return NULL;
	if (nest) {
		if (!find(request, nla_get_u32(nest), set, p))
			return NULL;
		set = dkn_attr(p->set, nla_type(p->nla))->nested;
	}
	attr = dkn_attr(set, nla_get_u32(type));
	if (attr)
		extend(p->path, sizeof(p->path), attr->name);
	return attr;
}

/* Turns the acknowledgment @v of @request into an error. Returns its errno. */
int dkn_error_kernel(struct dk_nl_error *e, const struct dkn_ack *v,
		     const struct nlmsghdr *request, enum dkn_set set)
{
	const struct nlattr *text = find_tlv(v, NLMSGERR_ATTR_MSG, DKN_STRING);
	const struct nlattr *offset = find_tlv(v, NLMSGERR_ATTR_OFFS, DKN_U32);
	const struct dkn_attr *attr = NULL, *missing;
	struct place p;

	e->code = v->code;
	if (text)
		dkn_copy_text(e->message, sizeof(e->message), nla_data(text), nla_len(text));
	if (offset && find(request, nla_get_u32(offset), set, &p)) {
		attr = dkn_attr(p.set, nla_type(p.nla));
		copy_string(e->attribute, sizeof(e->attribute), p.path);
		value_text(&p, attr->kind, e->value, sizeof(e->value));
	}
	missing = find_missing(v, request, set, &p);
	if (missing)
		copy_string(e->missing, sizeof(e->missing), p.path);
	if (v->code)
		compose(e, attr, missing);
	return v->code;
}
