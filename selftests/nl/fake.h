/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A simulated kernel: netlink sockets of the process are connected to the test. It answers
 * requests to genetlink's own family, by which libnl finds the dispatchkey family. Every other
 * request is passed to the test, which queues the reply as bytes, well formed or not.
 */
#ifndef _SELFTESTS_NL_FAKE_H
#define _SELFTESTS_NL_FAKE_H

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_FAMILY	0x21
#define FAKE_GROUP	7

/* What a test sets. */
struct fake {
	int family;		/* its number, 0: the module is not loaded */
	bool is_module_loaded;	/* the content of /sys/module */
	/* a request to the family has arrived */
	void (*answer)(const struct nlmsghdr *request);
	int send_error;		/* the next request is not taken */
	bool is_foreign;	/* queued messages come from another process */
	bool is_busy;		/* other families are registered at any time */
};

extern struct fake fake;

/* The recorded events. */
extern unsigned int fake_requests;	/* of this program */
extern unsigned int fake_sockets;	/* that are open */
extern unsigned int fake_joined;	/* a bit a group */

/* Start again. */
void fake_reset(void);

/*
 * A message is made in a buffer, and queued for the sender of the last request; without a request,
 * for every socket.
 */
struct fake_msg {
	size_t len;
	union {
		struct nlmsghdr nlh;
		char bytes[128 * 1024];
	};
};

void fake_begin(struct fake_msg *m, int type, int flags, uint32_t seq);
void fake_begin_genl(struct fake_msg *m, int cmd, int flags, uint32_t seq);
void fake_bytes(struct fake_msg *m, const void *data, size_t len);
void fake_attr(struct fake_msg *m, int type, const void *data, size_t len);
void fake_string(struct fake_msg *m, int type, const char *s);
void fake_u8(struct fake_msg *m, int type, uint8_t v);
void fake_u16(struct fake_msg *m, int type, uint16_t v);
void fake_u32(struct fake_msg *m, int type, uint32_t v);
void fake_u64(struct fake_msg *m, int type, uint64_t v);
size_t fake_nest(struct fake_msg *m, int type);
void fake_nest_end(struct fake_msg *m, size_t nest);
void fake_queue(struct fake_msg *m);
void fake_queue_error(int error);	/* the error of reading the socket */

/* Whole answers. */
void fake_ack(const struct nlmsghdr *request, int error);
void fake_done(const struct nlmsghdr *request, int flags, int error);

/* In a request: the offset of an attribute of the outermost level; 0 if it is absent. */
size_t fake_find(const struct nlmsghdr *request, int type);
/* The string of the attribute, NULL if it is absent. */
const char *fake_find_string(const struct nlmsghdr *request, int type);
bool fake_is_dump(const struct nlmsghdr *request);
int fake_cmd(const struct nlmsghdr *request);

#endif /* _SELFTESTS_NL_FAKE_H */
