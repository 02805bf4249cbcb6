/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines types, errnos and functions for programs without an operating system. Such
 * programs compile lib/core with DK_BARE. There is one thread. Interrupt handlers may
 * only complete deferred calls.
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
 * dk_bare_memory() - set the memory allocator
 * @alloc: returns memory aligned for any type, not necessarily zeroed, or
 *	NULL
 * @release: frees memory that @alloc returned
 *
 * Functions that cannot allocate return -ENOMEM and change nothing.
 *
 * Context: Call it at most once, before any other function.
 */
void dk_bare_memory(void *(*alloc)(size_t size), void (*release)(void *p));

/**
 * dk_bare_interrupts() - let interrupt handlers complete deferred calls
 * @off: masks interrupts and returns the previous state
 * @restore: restores the state that @off returned
 *
 * Without this call, dk_call_complete() must not be called in an interrupt handler.
 *
 * Context: Call it at most once, before any other function.
 */
void dk_bare_interrupts(unsigned long (*off)(void), void (*restore)(unsigned long flags));

/**
 * dk_bare_arena() - use one block of memory for all allocations
 * @memory: the block, which must never be freed
 * @size: its size in bytes, less than 4 GiB
 *
 * Replaces dk_bare_memory(). Freed memory is reused.
 *
 * Context: Call it at most once, before any other function.
 * Return: 0, or a negative errno if @size is too small or too large.
 */
int dk_bare_arena(void *memory, size_t size);

/**
 * dk_bare_arena_seal() - forbid further allocations
 *
 * Use it in programs that register everything at start. Afterwards, functions that
 * would allocate memory return -ENOMEM. Neither calls nor unregistering allocate
 * memory.
 *
 * Context: Any.
 */
void dk_bare_arena_seal(void);

/**
 * dk_bare_arena_used() - how much of the arena is in use
 *
 * Context: Any.
 * Return: Number of bytes, with an overhead of 8 for each allocation.
 */
size_t dk_bare_arena_used(void);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_BARE_H */
