/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulates a kernel: netlink sockets of the process are connected to the test. It replies to
 * requests for genetlink's own family, which libnl uses to find the dispatchkey family. It passes
 * every other request to the test, which queues a reply as bytes, well formed or not.
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

/* Settings of the simulated kernel. */
struct fake {
	int family;		/* its number; 0: the family is not registered */
	unsigned int lookups;	/* lookups until the family is not found any more; 0: any number */
	const char *module_state;	/* in sysfs; NULL: not loaded */
	/* called for each request to the family */
	void (*answer)(const struct nlmsghdr *request);
	int socket_error;	/* the error of opening a socket; 0: none */
	int send_error;		/* the error of sending the next request; 0: none */
	int lookup_error;	/* the error of sending requests for families; 0: none */
	bool is_foreign;	/* queued messages come from another process */
	bool is_busy;		/* other families are registered during requests */
};

extern struct fake fake;

/* Recorded by the simulated kernel. */
extern unsigned int fake_requests;	/* number of requests to the family */
extern unsigned int fake_sockets;	/* number of open sockets */
extern unsigned int fake_joined;	/* a bit for each group that was joined */
extern int fake_buffer;		/* the last size of a receive buffer that was set */

/* Resets the settings and the records. */
void fake_reset(void);

/*
 * A message is built in this buffer. It is queued for the sender of the last request or, if there
 * was no request, for every socket.
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
void fake_queue_error(int error);	/* reading the socket fails with this error */

/* Queue whole messages. */
void fake_ack(const struct nlmsghdr *request, int error);
void fake_done(const struct nlmsghdr *request, int flags, int error);

/* Returns the offset of an attribute of the outermost level of a request, or 0. */
size_t fake_find(const struct nlmsghdr *request, int type);
/* Returns the string of such an attribute, or NULL. */
const char *fake_find_string(const struct nlmsghdr *request, int type);
bool fake_is_dump(const struct nlmsghdr *request);
int fake_cmd(const struct nlmsghdr *request);

#endif /* _SELFTESTS_NL_FAKE_H */
