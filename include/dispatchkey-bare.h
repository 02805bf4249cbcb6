/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The dispatcher in a program without an operating system: lib/core compiled with
 * DK_BARE, and what its headers want there. One thread, no interrupts that call.
 */
#ifndef _DISPATCHKEY_BARE_H
#define _DISPATCHKEY_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef __u64 __aligned_u64 __attribute__((aligned(8)));
typedef int32_t __s32;
typedef int64_t __s64;
#ifndef ENOENT
#define ENOENT		2
#define EAGAIN		11
#define ENOMEM		12
#define EBUSY		16
#define EEXIST		17
#define EXDEV		18
#define ENODEV		19
#define EINVAL		22
#define ENOSPC		28
#define EDEADLK		35
#define ENOSYS		38
#define ENODATA		61
#define EPROTO		71
#define ENOTUNIQ	76
#define EILSEQ		84
#define EPROTOTYPE	91
#define EOPNOTSUPP	95
#define ESHUTDOWN	108
#define ETIMEDOUT	110
#define ECANCELED	125
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dk_bare_memory() - where memory comes from
 * @alloc: gives memory that is aligned for any type, or NULL; it need not be zero
 * @release: takes it back
 *
 * Before anything else is called. Where there is no memory, what needs some is
 * refused with -ENOMEM and has changed nothing.
 *
 * Context: Once.
 */
void dk_bare_memory(void *(*alloc)(size_t size), void (*release)(void *p));

/**
 * dk_bare_arena() - all memory is this, and there is no more
 * @memory: the caller's, for ever
 * @size: its size, less than 4 GiB
 *
 * Instead of dk_bare_memory(). What is given back is used again.
 *
 * Context: Once.
 * Return: 0, or a negative errno where no piece fits in, or @size is too large.
 */
int dk_bare_arena(void *memory, size_t size);

/**
 * dk_bare_arena_seal() - from now on nothing is allocated
 *
 * For programs that register all at their start: what would allocate is refused
 * with -ENOMEM from now on. Calls never do, and unregistering works without.
 *
 * Context: Any.
 */
void dk_bare_arena_seal(void);

/**
 * dk_bare_arena_used() - how much of the arena is in use
 *
 * Context: Any.
 * Return: Bytes, with 8 for each piece.
 */
size_t dk_bare_arena_used(void);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_BARE_H */
