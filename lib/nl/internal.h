/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Declares what the files of libdispatchkey-nl share. All names begin with dkn_.
 */
#ifndef DKN_INTERNAL_H
#define DKN_INTERNAL_H

/* The library is built with hidden visibility. It exports only what <dispatchkey-nl.h> declares. */
#pragma GCC visibility push(default)
#include <dispatchkey-nl.h>
#pragma GCC visibility pop

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/netlink.h>

struct nl_msg;
struct nl_sock;

/* Size of a request. The longest request is that for a route with 64 objects. */
#define DKN_REQUEST_MAX		(32 * 1024)
/* Size of the receive buffer. The kernel sends at most 32 KiB at once. */
#define DKN_DATAGRAM_MAX	(64 * 1024)
/* The maximum number of arguments that a call dispatches on. */
#define DKN_OBJS_MAX		64

/* ---- the specification: attrs.c ------------------------------------------- */

/* The attribute sets of the specification. */
enum dkn_set {
	DKN_NO_SET,
	DKN_INFO,
	DKN_LAYOUT,
	DKN_LAYOUT_BACKEND,
	DKN_LAYOUT_FUNCTIONALITY,
	DKN_LAYOUT_ALIAS,
	DKN_BACKEND,
	DKN_DEVICE,
	DKN_PROVIDER,
	DKN_OP,
	DKN_IMPL,
	DKN_TABLE,
	DKN_OBJ,
	DKN_STEP,
	DKN_ROUTE,
	DKN_STATS,
	DKN_LIMIT,
	DKN_EVENT,
	DKN_NUM_SETS,
};

/* The type of an attribute. */
enum dkn_kind {
	DKN_PAD,
	DKN_U8,
	DKN_U32,
	DKN_S32,
	DKN_U64,
	DKN_STRING,
	DKN_FLAG,
	DKN_NEST,
};

/*
 * An attribute: its name in the specification, its name in error messages, its type,
 * and for a nest the set of the nested attributes.
 */
struct dkn_attr {
	const char *name;
	const char *noun;
	enum dkn_kind kind;
	enum dkn_set nested;
};

const char *dkn_set_name(enum dkn_set set);
const struct dkn_attr *dkn_attr(enum dkn_set set, unsigned int type);

/* ---- the memory of an answer: arena.c ------------------------------------- */

/* The first allocation of an arena is the answer, which is passed to dk_nl_free(). */
struct dkn_arena;

struct dkn_arena *dkn_arena_alloc(void);
void dkn_arena_free(struct dkn_arena *a);
void *dkn_arena_get(struct dkn_arena *a, size_t size);
const char *dkn_arena_text(struct dkn_arena *a, const char *text, size_t len);

/* From now on, dk_nl_free(@answer) also frees @other, which is another answer or NULL. */
void dkn_answer_adopt(const void *answer, const void *other);

/* ---- from attributes to structs: decode.c --------------------------------- */

/*
 * Describes how attributes are decoded into a struct. The first member of the struct
 * is its size. In a list, @next is the offset of the pointer to the next struct.
 */
struct dkn_shape {
	size_t size;
	size_t next;			/* 0: not a list */
	enum dkn_set set;
	const struct dkn_field *fields;
	unsigned int num_fields;
};

/* How a string or a nest is stored. */
enum dkn_many {
	DKN_ONE,			/* pointer to the first */
	DKN_ALL,			/* strings: array; nests: list */
	DKN_PART,			/* nest: its attributes are members of the same struct */
};

/* A member of a struct, and the attribute from which it is decoded. */
struct dkn_field {
	unsigned int attr;
	size_t at;
	size_t width;			/* size of the member */
	size_t count_at;		/* offset of the number of strings or nests; 0: none */
	size_t has_at;			/* offset of the flag "present"; 0: none */
	uint32_t preset;		/* value if the attribute is absent */
	enum dkn_many many;
	const struct dkn_shape *shape;	/* of a nest */
};

#define DKN_FIELD(_attr, _struct, _member, ...) {			\
	.attr = (_attr), .at = offsetof(struct _struct, _member),	\
	.width = sizeof(((struct _struct *)0)->_member), ##__VA_ARGS__	\
}

#define DKN_COUNT(_struct, _member)	.count_at = offsetof(struct _struct, _member)
#define DKN_HAS(_struct, _member)	.has_at = offsetof(struct _struct, _member)
#define DKN_ONLINE			.preset = DK_NL_STATE_ONLINE
#define DKN_STRINGS			.many = DKN_ALL
#define DKN_NESTS(_shape)		.many = DKN_ALL, .shape = &(_shape)
#define DKN_NESTED(_shape)		.shape = &(_shape)
#define DKN_INLINE(_shape)		.many = DKN_PART, .shape = &(_shape)
#define DKN_SHAPE(_struct, _set, _fields) {				\
	.size = sizeof(struct _struct), .set = (_set),			\
	.fields = (_fields),						\
	.num_fields = sizeof(_fields) / sizeof((_fields)[0])		\
}

#define DKN_LIST_SHAPE(_struct, _set, _fields) {			\
	.size = sizeof(struct _struct), .set = (_set),			\
	.next = offsetof(struct _struct, next), .fields = (_fields),	\
	.num_fields = sizeof(_fields) / sizeof((_fields)[0])		\
}

/* A list of structs that is being built. */
struct dkn_list {
	const struct dkn_shape *shape;
	void *first;
	void *last;
	unsigned int n;
};

struct dkn_bad_attr {
	enum dkn_set set;
	unsigned int type;
};

void dkn_preset(const struct dkn_shape *shape, void *into);
int dkn_decode(struct dkn_arena *a, const struct dkn_shape *shape,
	       const struct nlattr *head, int len, void *into, struct dkn_bad_attr *bad);
int dkn_list_decode(struct dkn_arena *a, struct dkn_list *list,
		    const struct nlattr *head, int len, struct dkn_bad_attr *bad);
bool dkn_attr_is_valid(const struct nlattr *nla, enum dkn_kind kind);
void dkn_copy_text(char *to, size_t size, const char *from, size_t len);

/*
 * A loop over attributes is: for (; dkn_attr_ok(nla, rest); nla = dkn_attr_next(nla, &rest)). In
 * contrast to nla_for_each_attr() of libnl, the last attribute may lack its padding.
 */
static inline bool dkn_attr_ok(const struct nlattr *nla, int rest)
{
	return rest >= (int)sizeof(*nla) && nla->nla_len >= sizeof(*nla) &&
	       nla->nla_len <= rest;
}

static inline const struct nlattr *dkn_attr_next(const struct nlattr *nla, int *rest)
{
	int len = NLA_ALIGN(nla->nla_len);

	*rest -= len;
	return (const void *)((const char *)nla + len);
}

/* ---- errors: error.c ------------------------------------------------------ */

/* The kernel's acknowledgment of a request: an errno, and the TLVs of the extended ACK. */
struct dkn_ack {
	int code;
	const struct nlattr *tlvs;
	int len;
};

/* True for 0 and for a negative errno. The largest errno is that of the kernel. */
static inline bool dkn_is_error(int code)
{
	return code <= 0 && code >= -4095;
}

int dkn_ack_read(const struct nlmsghdr *nlh, struct dkn_ack *v);
void dkn_error_clear(struct dk_nl_error *e);
int dkn_error_set(struct dk_nl_error *e, int code, const char *sentence, ...)
	__attribute__((format(printf, 3, 4)));
int dkn_error_attr(struct dk_nl_error *e, int code, const char *nest, enum dkn_set set,
		   unsigned int type, const char *value, const char *message);
int dkn_error_kernel(struct dk_nl_error *e, const struct dkn_ack *v,
		     const struct nlmsghdr *request, enum dkn_set set);
int dkn_error_libnl(struct dk_nl_error *e, int nlerr, const char *what);
int dkn_error_malformed(struct dk_nl_error *e, const struct dkn_bad_attr *bad);
int dkn_error_no_family(struct dk_nl_error *e, int code);
int dkn_error_changed(struct dk_nl_error *e, unsigned int times);
int dkn_error_no_handle(struct dk_nl_error *why);
/* Copies to the caller's struct, which may be NULL. */
void dkn_error_out(struct dk_nl_error *why, const struct dk_nl_error *e);

/* ---- sockets: handle.c ---------------------------------------------------- */

struct dk_nl {
	struct nl_sock *sk;		/* NULL: connect before the next request */
	int family;
	uint32_t retries;
	int timeout_ms;			/* -1: none */
	struct dk_nl_error why;
	size_t datagram_len;
	union {
		struct nlmsghdr align;
		char bytes[DKN_DATAGRAM_MAX];
	} datagram;
};

int dkn_connect(struct dk_nl *nl);
void dkn_disconnect(struct dk_nl *nl);
/* Returns the number of a family or, unless @group is NULL, of a group; or libnl's error. */
int dkn_resolve(struct nl_sock *sk, const char *family, const char *group);
/* Returns the number that dkn_resolve() returned, or the errno of its error. */
int dkn_resolved(struct dk_nl *nl, int number);
int dkn_receive(struct dk_nl *nl, int timeout_ms);
long long dkn_now_ms(void);

/*
 * Copies a caller's struct, which may be that of another version of the library. Sets members that
 * it lacks to 0. Returns -EINVAL if it has more members than @to, and one of these is not 0.
 */
int dkn_copy_in(void *to, size_t size, const void *from);

/* Copies to a caller's struct, whose first member is the size of the struct. */
void dkn_copy_out(void *to, const void *from, size_t size);

/* ---- requests: request.c -------------------------------------------------- */

struct dkn_request {
	struct dk_nl *nl;
	struct nl_msg *msg;
	enum dkn_set set;
	const char *nest;		/* name of the nest that is being added, or NULL */
	uint8_t cmd;
	struct dkn_arena *arena;
	struct dkn_list list;
};

void dkn_begin(struct dkn_request *r, struct dk_nl *nl, uint8_t cmd, enum dkn_set set);
void dkn_put_string(struct dkn_request *r, enum dkn_set set, unsigned int type,
		    const char *s);
void dkn_put_u8(struct dkn_request *r, unsigned int type, uint8_t v);
void dkn_put_u32(struct dkn_request *r, unsigned int type, uint32_t v);
void dkn_put_u64(struct dkn_request *r, unsigned int type, uint64_t v);
void dkn_put_flag(struct dkn_request *r, unsigned int type);
void dkn_put_some_u32(struct dkn_request *r, unsigned int type, uint32_t v);
void dkn_copy_struct(struct dkn_request *r, void *to, size_t size, const void *from,
		     const char *name);
struct nlattr *dkn_nest(struct dkn_request *r, unsigned int type);
void dkn_nest_end(struct dkn_request *r, struct nlattr *nest);
int dkn_refuse(struct dkn_request *r, int code, const char *sentence);

/*
 * These functions send the request and free it. On failure nl->why has the error. dkn_get() and
 * dkn_get_all() return the answer, for dk_nl_free(), or NULL on failure or for an empty list.
 * dkn_do() returns 0 or the negative errno.
 */
const void *dkn_get(struct dkn_request *r, const struct dkn_shape *shape);
const void *dkn_get_all(struct dkn_request *r, const struct dkn_shape *shape);
int dkn_do(struct dkn_request *r);

/* ---- shapes shared by several files --------------------------------------- */

extern const struct dkn_shape dkn_impl_shape;	/* operators.c */

#endif /* DKN_INTERNAL_H */
