/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What dk_client.ko and its programs say to each other through /dev/dk_client.
 * A sample, not an ABI: it changes with the samples, and the node is root's.
 *
 * An open file has objects, on the CPU, on a backend or on a device; they go
 * when it is closed. A call's route depends on its objects only.
 *
 * Answers: 0, or -1 and errno: ENOENT no such object, operator or place; EINVAL
 * a wrong number, length or name; ENOSPC too many objects; EFAULT, ENOMEM; and
 * of a call what the dispatcher or the function answered.
 */
#ifndef _SAMPLES_DK_CLIENT_H
#define _SAMPLES_DK_CLIENT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DK_CLIENT_NODE		"/dev/dk_client"
#define DK_CLIENT_NAME		128		/* bytes of a name, with its NUL */
#define DK_CLIENT_OBJS		256		/* objects of an open file */
#define DK_CLIENT_BYTES		(64 * 1024)	/* bytes of an object */
#define DK_CLIENT_ARGS		4		/* objects that a route is asked for */

/**
 * struct dk_client_new - make an object
 * @on: where: a device ("0000:00:03.0"), else a backend ("CPU", "edu")
 * @len: how many bytes it has, may be 0
 * @id: takes its id, from 1
 * @device: takes the number of its device, 0 for none
 * @keyset: takes its keyset
 */
struct dk_client_new {
	char on[DK_CLIENT_NAME];
	__u32 len;
	__u32 id;
	__u32 device;
	__u32 reserved;
	__u64 keyset;
};

/**
 * struct dk_client_bytes - read or write bytes of an object
 * @data: address of the bytes in user memory
 * @id: the object
 * @at: from which byte of it
 * @len: how many
 */
struct dk_client_bytes {
	__u64 data;
	__u32 id;
	__u32 at;
	__u32 len;
	__u32 reserved;
};

/**
 * struct dk_client_factorial - call sample::factorial
 * @id: the object that says where
 * @n: of which number
 * @result: takes n! modulo 2^32
 * @device: takes the number of the device whose function it was, 0 for none;
 *	also where the function failed
 */
struct dk_client_factorial {
	__u32 id;
	__u32 n;
	__u32 result;
	__u32 device;
};

/**
 * struct dk_client_copy - call sample::copy
 * @dst: object to copy to
 * @src: object to copy from
 * @device: as in struct dk_client_factorial
 */
struct dk_client_copy {
	__u32 dst;
	__u32 src;
	__u32 device;
	__u32 reserved;
};

/**
 * struct dk_client_entry - what serves a call or a table entry
 * @device: number of the device whose function it is, 0 for none
 * @passes: 1 if it is as if the key were not there, else 0
 * @provenance: the rule that found it, such as "default backend kernel"
 * @label: the function, empty if there is none
 * @provider: who registered it
 * @device_name: name of the device
 */
struct dk_client_entry {
	__u32 device;
	__u32 passes;
	char provenance[32];
	char label[DK_CLIENT_NAME];
	char provider[DK_CLIENT_NAME];
	char device_name[DK_CLIENT_NAME];
};

/**
 * struct dk_client_route - where a call would go
 * @op: the operator
 * @ids: the objects that it dispatches on, 0 for an absent one
 * @n: how many
 * @err: takes 0, or the negative errno that a call would be refused with
 * @raw: takes what the objects carry
 * @effective: takes what is left after local state and mask
 * @key: takes the key that it is routed by
 * @entry: takes what serves it
 */
struct dk_client_route {
	char op[DK_CLIENT_NAME];
	__u32 ids[DK_CLIENT_ARGS];
	__u32 n;
	__s32 err;
	__u64 raw;
	__u64 effective;
	char key[DK_CLIENT_NAME];
	struct dk_client_entry entry;
};

/**
 * struct dk_client_slot - an entry of an operator's table
 * @op: the operator
 * @device: the table of which device, 0 for the one without
 * @slot: which entry
 * @entry: takes what serves it
 */
struct dk_client_slot {
	char op[DK_CLIENT_NAME];
	__u32 device;
	__u32 slot;
	struct dk_client_entry entry;
};

#define DK_CLIENT_NEW		_IOWR(0xdb, 1, struct dk_client_new)
#define DK_CLIENT_FREE		_IOW(0xdb, 2, __u32)
#define DK_CLIENT_WRITE		_IOW(0xdb, 3, struct dk_client_bytes)
#define DK_CLIENT_READ		_IOW(0xdb, 4, struct dk_client_bytes)
#define DK_CLIENT_FACTORIAL	_IOWR(0xdb, 5, struct dk_client_factorial)
#define DK_CLIENT_COPY		_IOWR(0xdb, 6, struct dk_client_copy)
#define DK_CLIENT_ROUTE		_IOWR(0xdb, 7, struct dk_client_route)
#define DK_CLIENT_SLOT		_IOWR(0xdb, 8, struct dk_client_slot)

#endif /* _SAMPLES_DK_CLIENT_H */
