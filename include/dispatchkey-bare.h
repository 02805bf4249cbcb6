/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines types, errnos and functions for programs without an operating system. Such
 * programs compile lib/core with DK_BARE. There is one thread. Interrupt
 * handlers make no calls: they may only complete deferred ones (dk_call_complete()).
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
typedef __u64 __aligned_u64 __attribute__((__aligned__(8)));
typedef int32_t __s32;
typedef int64_t __s64;

/*
 * The errnos of the core and of the program must have the same numbers. If there is a libc, the
 * program may include its <errno.h>, so the numbers are taken from this header. Errnos that
 * <errno.h> lacks get Linux's numbers.
 */
#ifdef __has_include
#if __has_include("errno.h")
#include <errno.h>
#endif
#endif
#ifndef ENOENT
#define ENOENT		2
#endif
#ifndef EAGAIN
#define EAGAIN		11
#endif
#ifndef ENOMEM
#define ENOMEM		12
#endif
#ifndef EBUSY
#define EBUSY		16
#endif
#ifndef EEXIST
#define EEXIST		17
#endif
#ifndef EXDEV
#define EXDEV		18
#endif
#ifndef ENODEV
#define ENODEV		19
#endif
#ifndef EINVAL
#define EINVAL		22
#endif
#ifndef ENOSPC
#define ENOSPC		28
#endif
#ifndef EDEADLK
#define EDEADLK		35
#endif
#ifndef ENOSYS
#define ENOSYS		38
#endif
#ifndef ENODATA
#define ENODATA		61
#endif
#ifndef EPROTO
#define EPROTO		71
#endif
#ifndef ENOTUNIQ
#define ENOTUNIQ	76
#endif
#ifndef EILSEQ
#define EILSEQ		84
#endif
#ifndef EPROTOTYPE
#define EPROTOTYPE	91
#endif
#ifndef EOPNOTSUPP
#define EOPNOTSUPP	95
#endif
#ifndef ESHUTDOWN
#define ESHUTDOWN	108
#endif
#ifndef ETIMEDOUT
#define ETIMEDOUT	110
#endif
#ifndef ECANCELED
#define ECANCELED	125
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dk_bare_memory() - set the memory allocator
 * @alloc: returns memory aligned to 8 bytes, not necessarily zeroed, or
 *	NULL
 * @release: frees memory that @alloc returned
 *
 * Functions that cannot allocate return -ENOMEM and change nothing.
 *
 * Context: Call it at most once, before all functions except dk_bare_interrupts().
 */
void dk_bare_memory(void *(*alloc)(size_t size), void (*release)(void *p));

/**
 * dk_bare_interrupts() - let interrupt handlers complete deferred calls
 * @off: masks the interrupts whose handlers call dk_call_complete(), and returns the
 *	previous state
 * @restore: restores the state that @off returned
 *
 * Without this call, dk_call_complete() must not be called in an interrupt handler.
 * The compiler must not move memory accesses across the two functions: list "memory"
 * as clobbered by their asm statements.
 *
 * Context: Call it at most once, before the first call is deferred.
 */
void dk_bare_interrupts(unsigned long (*off)(void), void (*restore)(unsigned long flags));

/**
 * dk_bare_arena() - use one block of memory for all allocations
 * @memory: the block, which must never be freed
 * @size: its size in bytes, less than 4 GiB
 *
 * Use it instead of dk_bare_memory(). Freed memory is reused.
 *
 * Context: Call it before all functions except dk_bare_interrupts(). Do not call it again
 * after it has returned 0.
 * Return: 0, or -EINVAL if @memory is NULL or @size is too small or too large.
 */
int dk_bare_arena(void *memory, size_t size);

/**
 * dk_bare_arena_seal() - forbid further allocations
 *
 * For programs that register everything at the start. After this call, functions that
 * would allocate memory return -ENOMEM. Calls and unregistering need no memory.
 *
 * Context: Any.
 */
void dk_bare_arena_seal(void);

/**
 * dk_bare_arena_used() - how much of the arena is in use
 *
 * During a registration more memory is in use for a short time, because new tables are
 * allocated before the old ones are freed.
 *
 * Context: Any.
 * Return: Number of bytes, including 8 bytes of overhead for each allocation.
 */
size_t dk_bare_arena_used(void);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_BARE_H */
