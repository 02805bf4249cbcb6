/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines the ioctls of /dev/dk_client, which programs use to make calls through dk_client.ko. The
 * ioctls are a sample, not an ABI, and change with the samples. Only root can open the node.
 *
 * An open file has objects on the CPU, on a backend or on a device. They are freed when
 * the file is closed. The route of a call depends only on its objects.
 *
 * Each ioctl returns 0, or -1 with errno: ENOENT (no such object, operator or place),
 * EINVAL (number, length or name), ENOSPC (too many objects), EFAULT or ENOMEM. A call
 * can also fail with an errno of the dispatcher or of the function.
 */
#ifndef _SAMPLES_DK_CLIENT_H
#define _SAMPLES_DK_CLIENT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DK_CLIENT_NODE		"/dev/dk_client"
#define DK_CLIENT_NAME		128		/* maximum size of a name, including the NUL */
#define DK_CLIENT_OBJS		256		/* objects in an open file */
#define DK_CLIENT_BYTES		(64 * 1024)	/* maximum size of an object */
#define DK_CLIENT_ARGS		4		/* objects of a route */
#define DK_CLIENT_JOBS		16		/* copies at a time */

/**
 * struct dk_client_new - create an object
 * @on: its place: a device ("0000:00:03.0"), or a backend ("CPU", "edu")
 * @len: its size in bytes, may be 0
 * @id: set to its id, from 1
 * @device: set to the number of its device, 0 for none
 * @keyset: set to its keyset
 * @reserved: unused
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
 * @at: offset of the first byte in the object
 * @len: number of bytes
 * @reserved: unused
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
 * @id: the object that the call dispatches on
 * @n: the number
 * @result: set to n! modulo 2^32
 * @device: set to the number of the device whose function was called, 0 for none. It is
 *	set even if the function failed
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
 * @reserved: unused
 */
struct dk_client_copy {
	__u32 dst;
	__u32 src;
	__u32 device;
	__u32 reserved;
};

/**
 * struct dk_client_queue - call sample::queue_copy, and wait until all copies have ended
 * @dst: object to copy to
 * @src: object to copy from
 * @n: number of calls, at most DK_CLIENT_JOBS; all are made before the first is waited for
 * @copied: set to the number of copies that have succeeded
 * @error: set to 0, or to the negative errno of a copy that has failed
 * @device: as in struct dk_client_factorial, of the first call
 */
struct dk_client_queue {
	__u32 dst;
	__u32 src;
	__u32 n;
	__u32 copied;
	__s32 error;
	__u32 device;
};

/**
 * struct dk_client_entry - the function of a call or a table entry
 * @device: number of the device that it belongs to, 0 for none
 * @passes: 1 if it is a fallthrough, else 0
 * @provenance: the rule that selected it, such as "default backend kernel"
 * @label: label of the function, empty if there is none
 * @provider: name of the provider that registered it
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
 * struct dk_client_route - get the route of a call
 * @op: the operator
 * @ids: the objects that the call dispatches on, 0 for an absent one
 * @n: number of objects
 * @err: set to 0, or the negative errno that a call would return
 * @raw: set to the union of the objects' keysets
 * @effective: set to the effective set: @raw after the local state and fallthroughs are applied
 * @key: set to the key that the call is routed by
 * @entry: set to the function
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
 * struct dk_client_slot - get an entry of an operator's table
 * @op: the operator
 * @device: number of the device whose table to use, 0 for the table without a device
 * @slot: index of the entry
 * @entry: set to the function
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
#define DK_CLIENT_QUEUE		_IOWR(0xdb, 9, struct dk_client_queue)

#endif /* _SAMPLES_DK_CLIENT_H */
