// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Why a request was refused, in words: what the kernel says in its extended
 * ACK, which libnl does not read, and what the library knows beside it.
 */
#include "internal.h"

#include <errno.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ABSENT	"the dispatchkey module is not loaded: type modprobe dispatchkey"
#define ELSEWHERE	"the dispatchkey module is loaded, but its netlink family is in the first network namespace alone: type nsenter --net=/proc/1/ns/net before the command"
#define PERMISSION	"changes need the capability CAP_NET_ADMIN in the first user namespace: try it as root"
#define TOO_OLD		"the module does not know this request: it is older than this program"

/* The largest errno there is, as the kernel has it. */
#define MAX_ERRNO	4095

/* ---- text ----------------------------------------------------------------- */

static void copy_string(char *to, size_t size, const char *from)
{
	dkn_copy(to, size, from, strlen(from));
}

void dkn_error_clear(struct dk_nl_error *e)
{
	memset(e, 0, sizeof(*e));
	e->size = sizeof(*e);
}

/* Returns @code. */
int dkn_error_say(struct dk_nl_error *e, int code, const char *sentence, ...)
{
	va_list args;

	e->code = code;
	va_start(args, sentence);
	vsnprintf(e->sentence, sizeof(e->sentence), sentence, args);
	va_end(args);
	return code;
}

/* There is no handle that could tell. */
int dkn_no_memory(struct dk_nl_error *why)
{
	static const struct dk_nl_error no_memory = {
		.size = sizeof(no_memory), .code = -ENOMEM, .sentence = "no memory for a handle",
	};

	if (why)
		dkn_give(why, &no_memory, sizeof(no_memory));
	return -ENOMEM;
}

/* ---- sentences ------------------------------------------------------------ */

/* Where the module says nothing; that is genetlink, or another part of Linux. */
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

/* The whole sentence, from the other members; @attr has the value in it. */
static void compose(struct dk_nl_error *e, const struct dkn_attr *attr,
		    const struct dkn_attr *missing)
{
	const char *text = e->message[0] ? e->message : default_text(e->code);
	bool is_name = attr && attr->kind == DKN_STRING;

	if (attr && e->value[0])
		dkn_error_say(e, e->code, is_name ? "%s \"%s\": %s" : "%s %s: %s",
			      attr->noun, e->value, text);
	else if (attr)
		dkn_error_say(e, e->code, "%s: %s", attr->noun, text);
	else if (missing && !e->message[0])
		dkn_error_say(e, e->code, "no %s is given", missing->noun);
	else
		dkn_error_say(e, e->code, "%s", text);
}

/* The library's own refusal of an attribute; returns @code. */
int dkn_error_of(struct dk_nl_error *e, int code, enum dkn_set set, unsigned int type,
		 const char *value, const char *message)
{
	const struct dkn_attr *attr = dkn_attr(set, type);

	e->code = code;
	copy_string(e->attribute, sizeof(e->attribute), attr->name);
	copy_string(e->value, sizeof(e->value), value);
	copy_string(e->message, sizeof(e->message), message);
	compose(e, attr, NULL);
	return code;
}

/* There is no such family, for which @code is returned. */
int dkn_error_absent(struct dk_nl_error *e, int code)
{
	bool is_loaded = !access("/sys/module/dispatchkey", F_OK);

	return dkn_error_say(e, code, "%s", is_loaded ? ELSEWHERE : ABSENT);
}

int dkn_error_changed(struct dk_nl_error *e, unsigned int times)
{
	return dkn_error_say(e, -EAGAIN,
			     "the registry changed each of the %u times that it was read", times);
}

int dkn_error_answer(struct dk_nl_error *e, const struct dkn_culprit *bad)
{
	const struct dkn_attr *attr = dkn_attr(bad->set, bad->type);

	if (!attr)
		return dkn_error_say(e, -EBADMSG, "the module's answer is not well formed");
	return dkn_error_say(e, -EBADMSG, "the module's answer is not well formed: %s of %s",
			     attr->name, dkn_set_name(bad->set));
}

/* What a function of libnl failed with, as an errno. */
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

int dkn_error_libnl(struct dk_nl_error *e, int nlerr, const char *what)
{
	return dkn_error_say(e, errno_of(nlerr), "%s: %s", what, nl_geterror(nlerr));
}

/* ---- the request's attributes --------------------------------------------- */

/* Where an attribute of a request is. */
struct place {
	const struct nlattr *nla;
	enum dkn_set set;		/* that it is of */
	char path[sizeof(((struct dk_nl_error *)0)->attribute)];
};

/* "obj" and "device" are "obj.device". */
static void extend(char *path, size_t size, const char *name)
{
	size_t len = strlen(path);

	snprintf(path + len, size - len, "%s%s", len ? "." : "", name);
}

/* The attribute that begins @offset bytes behind the request; false if none does. */
static bool find(const struct nlmsghdr *request, uint32_t offset, enum dkn_set set,
		 struct place *p)
{
	const char *base = (const char *)request;
	int len = (int)request->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
	const struct nlattr *nla = (const void *)(base + NLMSG_HDRLEN + GENL_HDRLEN);
	const struct dkn_attr *attr;
	uint32_t at;

	p->path[0] = '\0';
	while (dkn_ok(nla, len)) {
		at = (uint32_t)((const char *)nla - base);
		attr = dkn_attr(set, nla_type(nla));
		if (offset < at || !attr)
			return false;
		if (offset >= at + nla->nla_len) {
			nla = dkn_next(nla, &len);
			continue;
		}
		extend(p->path, sizeof(p->path), attr->name);
		p->nla = nla;
		p->set = set;
		if (offset == at)
			return true;
		/* within it, or nowhere */
		set = attr->nested;
		len = nla_len(nla);
		nla = nla_data(nla);
	}
	return false;
}

/* What the caller gave. */
static void value_text(const struct place *p, enum dkn_kind kind, char *buf, size_t size)
{
	buf[0] = '\0';
	if (!dkn_attr_is_good(p->nla, kind))
		return;
	if (kind == DKN_STRING)
		dkn_copy(buf, size, nla_data(p->nla), nla_len(p->nla));
	else if (kind == DKN_U8)
		snprintf(buf, size, "%u", nla_get_u8(p->nla));
	else if (kind == DKN_U32)
		snprintf(buf, size, "%u", nla_get_u32(p->nla));
	else if (kind == DKN_U64)	/* a keyset */
		snprintf(buf, size, "%#llx", (unsigned long long)nla_get_u64(p->nla));
}

/* ---- the extended ACK ----------------------------------------------------- */

/*
 * Read an NLMSG_ERROR or NLMSG_DONE, in its bounds. -EBADMSG if it is not well
 * formed.
 */
int dkn_verdict_read(const struct nlmsghdr *nlh, struct dkn_verdict *v)
{
	const char *data = (const char *)nlh + NLMSG_HDRLEN;
	int len = (int)nlh->nlmsg_len - NLMSG_HDRLEN;
	struct nlmsgerr err;
	size_t used = sizeof(v->code);

	*v = (struct dkn_verdict){ 0 };
	if (nlh->nlmsg_type == NLMSG_ERROR) {
		if (len < (int)sizeof(err))
			return -EBADMSG;
		memcpy(&err, data, sizeof(err));
		v->code = err.error;
		used = sizeof(err);
		/* the request itself comes back, too */
		if (!(nlh->nlmsg_flags & NLM_F_CAPPED) && err.msg.nlmsg_len > NLMSG_HDRLEN)
			used += (size_t)err.msg.nlmsg_len - NLMSG_HDRLEN;
	} else if (len >= (int)sizeof(v->code)) {
		memcpy(&v->code, data, sizeof(v->code));
	}
	if (v->code > 0 || v->code < -MAX_ERRNO)
		return -EBADMSG;
	used = NLMSG_ALIGN(used);
	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS) || used > (size_t)len)
		return 0;
	v->tlvs = (const void *)(data + used);
	v->len = len - (int)used;
	return 0;
}

static const struct nlattr *tlv(const struct dkn_verdict *v, int type, enum dkn_kind kind)
{
	const struct nlattr *nla = v->tlvs;
	int len = v->len;

	for (; nla && dkn_ok(nla, len); nla = dkn_next(nla, &len))
		if (nla_type(nla) == type && dkn_attr_is_good(nla, kind))
			return nla;
	return NULL;
}

/* The attribute that is missing, in the nest where it is. */
static const struct dkn_attr *find_missing(const struct dkn_verdict *v,
					   const struct nlmsghdr *request,
					   enum dkn_set set, struct place *p)
{
	const struct nlattr *type = tlv(v, NLMSGERR_ATTR_MISS_TYPE, DKN_U32);
	const struct nlattr *nest = tlv(v, NLMSGERR_ATTR_MISS_NEST, DKN_U32);
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

/* Say what @v says of @request, whose attributes are of @set; returns the errno. */
int dkn_error_kernel(struct dk_nl_error *e, const struct dkn_verdict *v,
		     const struct nlmsghdr *request, enum dkn_set set)
{
	const struct nlattr *text = tlv(v, NLMSGERR_ATTR_MSG, DKN_STRING);
	const struct nlattr *offset = tlv(v, NLMSGERR_ATTR_OFFS, DKN_U32);
	const struct dkn_attr *attr = NULL, *missing;
	struct place p;

	e->code = v->code;
	if (text)
		dkn_copy(e->message, sizeof(e->message), nla_data(text), nla_len(text));
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
