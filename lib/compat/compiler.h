/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines the kernel's names that need only the compiler. A kernel.h includes this file after
 * the headers that have size_t and the types of <linux/types.h>.
 */
#ifndef _DKC_COMPILER_H
#define _DKC_COMPILER_H

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define __rcu
#define __must_hold(lock)
#define __must_check		__attribute__((warn_unused_result))
#undef __always_inline
#define __always_inline		inline __attribute__((always_inline))
#define noinline		__attribute__((noinline))
#define __cold			__attribute__((cold))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define container_of(p, type, member)					\
	((type *)((char *)(p) - offsetof(type, member)))

/* On 32-bit machines, computes with halves, because the 64-bit builtins would call libgcc. */
static inline unsigned int fls64(u64 x)
{
	if (!x)
		return 0;
	if (sizeof(long) == 8)
		return 64 - __builtin_clzll(x);
	return x >> 32 ? 64 - __builtin_clz(x >> 32) : 32 - __builtin_clz(x);
}

static inline unsigned int __ffs64(u64 x)
{
	if (sizeof(long) == 8)
		return __builtin_ctzll(x);
	return (u32)x ? __builtin_ctz(x) : 32 + __builtin_ctz(x >> 32);
}

#define kvcalloc(n, size, gfp)						\
({									\
	size_t bytes_;							\
									\
	__builtin_mul_overflow(n, size, &bytes_) ? NULL : kvzalloc(bytes_, gfp); \
})

#define kvfree_rcu(p, member)						\
	do {								\
		static_assert(offsetof(__typeof__(*(p)), member) == 0,	\
			      "the rcu_head must be the first member");	\
		dkc_free_rcu(&(p)->member);				\
	} while (0)

#define RCU_INITIALIZER(p)	(p)
#define cond_resched()		do { } while (0)
#define __might_sleep(file, line)	do { } while (0)
#define __acquire(context)	do { } while (0)
#define __release(context)	do { } while (0)

#endif /* _DKC_COMPILER_H */
