/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defines the structures that code compiled into callers reads and writes, and the fast
 * path of a call. Both are part of the ABI: after a release, every change must increase
 * DK_ABI_VERSION. lib/core/table/types.h asserts that the dispatcher's structures match these.
 * Included by <dispatchkey-call.h>.
 *
 * A fast call looks up an index byte by its keyset, and calls the function that the byte
 * selects in a struct dk__table. The byte is below @first_direct in special cases: undefined
 * operators, counters, hooks, functions of devices or of another type, keysets without a
 * function. Of these cases, dk__begin() itself handles the device of the first object and
 * counters. It also enters the gate of the kernel and of bare metal, which records the calls
 * that unregistering must wait for.
 * dk__find() handles the devices of other objects, functions of another type, and keysets
 * without a function, out of line. All other cases take the slow path.
 */
#ifndef _DISPATCHKEY_INLINE_H
#define _DISPATCHKEY_INLINE_H

#include <dispatchkey-local.h>
#include <dispatchkey-operator.h>

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/rcupdate.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * DK__CAST() reinterprets bits as another type. DK__NUMBER() converts a number to a type
 * whose name is one word. Neither causes a warning in C++.
 */
#ifdef __cplusplus
#define DK__CAST(type, x)	__builtin_bit_cast(type, x)
#define DK__NUMBER(type, x)	type(x)
#else
#define DK__CAST(type, x)	((type)(x))
#define DK__NUMBER(type, x)	((type)(x))
#endif
#if defined(__KERNEL__)
#define dk__load(x)		READ_ONCE(x)
#elif defined(DK_BARE)
#define dk__load(x)		(x)
#else
#define dk__load(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#endif
/* Keeps the compiler from computing values that depend on @x before this point. */
#define DK__ANEW(x)		__asm__("" : "+r"(x))
/* Stores @v in @x. gcc would combine plain stores into vector instructions, which cost more. */
#if defined(__KERNEL__) || defined(DK_BARE)
#define DK__PUT(x, v)		((x) = (v))
#else
#define DK__PUT(x, v)		__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#endif
#define DK__UNLIKELY(x)		__builtin_expect(!!(x), 0)
#define DK__ALWAYS_INLINE	static inline __attribute__((__always_inline__, __unused__))
/* Keeps -ftrivial-auto-var-init from zeroing a variable that is written before it is read. */
#if defined(__has_attribute)
#if __has_attribute(__uninitialized__)
#define DK__NOT_SET		__attribute__((__uninitialized__))
#endif
#endif
#ifndef DK__NOT_SET
#define DK__NOT_SET
#endif

struct dkc_reg;

/* A function and its registration. */
struct dk__entry {
	dk_fn_t fn;
	const struct dkc_reg *reg;
};

#ifdef __KERNEL__
#define DK__RCU			__rcu
#define DK__RETIRED		2	/* number of pointers reserved for freeing the object */
#else
#define DK__RCU
#define DK__RETIRED		1
#endif

/*
 * The mask of each backend, which lacks the keys that fall through. The index bytes follow. Tables
 * with equal masks and index bytes share one index.
 */
struct dk__index {
	const void *retired[DK__RETIRED];
	const void *private_[3];
	__u32 numbers[4];
	__aligned_u64 mask[DK_NUM_BACKENDS];
};

/*
 * Immutable once published. The entries follow the struct in memory. If devices have functions
 * of the operator, the operator's table has no entries of its own. @devices has one table for
 * each of these devices, and one, with device number 0, for all other objects. @index is then
 * the index of one of the tables at @devices; usually all of them have the same index.
 */
struct dk__table {
	const void *retired[DK__RETIRED];
	const struct dk__index *index;
	union {
		const struct dk__devices *devices;
		const struct dk__count *counters;	/* if @first_direct has DK__COUNTS */
	};
	__u32 first_direct;	/* @lowest, or one of the values below */
	__u8 num;		/* number of entries */
	__u8 lowest;		/* smallest index byte of a function of the operator's own type */
	__u8 private_kind;
	__u8 flags;		/* of enum dk_op_flags */
	__aligned_u64 sig;	/* hash of the functions' signature */
};

/*
 * Values of @first_direct that are greater than all index bytes. The flags DK__COUNTS and
 * DK__GATES can be combined with DK__ONE_DEVICE and DK__BY_DEVICE.
 */
#define DK__NOT_DIRECT		256	/* all calls take the slow path */
#define DK__ONE_DEVICE		260	/* dk__find() compares the devices of all objects */
#define DK__BY_DEVICE		264	/* calls use one of @devices */
#define DK__COUNTS		1	/* calls are counted at @counters */
#define DK__GATES		2	/* kernel and bare metal: calls enter the gate */
#define DK__COUNTED		(DK__BY_DEVICE | DK__COUNTS)
#define DK__SLEEPS		(DK__BY_DEVICE | DK__GATES)
#define DK__SLEEPS_COUNTED	(DK__SLEEPS | DK__COUNTS)

/* A hash table by the low bits of device numbers. On a collision, the next free element is used. */
struct dk__devices {
	const void *retired[DK__RETIRED];
	__u32 mask;
};

/*
 * An element of the array that follows struct dk__devices. If @table has the index of the
 * operator's table, @same is @number. Otherwise @same is a number that calls never look for in
 * this element, because its low bits are those of another element.
 */
struct dk__device_table {
	__u32 number;
	__u32 same;
	const struct dk__table *table;
};

/*
 * Index byte i stands for entry i - DK__FIRST_ENTRY. Bytes below DK__FIRST_ENTRY stand for
 * no entry. DK__FOR_SLOW_PATH is the byte of a backend fallback that is a fallthrough.
 * dk__begin() also stores this byte in @byte of struct dk__found if the caller's signature
 * differs from the table's, or if dk__enter_gate() fails.
 */
#define DK__FIRST_ENTRY		3
#define DK__FOR_SLOW_PATH	2

struct dk__op {
	const void *private_[2];
	const struct dk__table DK__RCU *table;
};

/* Declarations point to this operator until the first call binds them. */
extern struct dk_op dk__unbound;

/*
 * The position of a keyset's index byte: [highest backend][highest bit]. The highest bit
 * is that of the highest functionality. Bits that v1 does not define lead to a byte
 * without an entry.
 */
extern const __u8 dk__places[DK_NUM_BACKENDS][64];

/* Flags in the low bits of a call's @made. */
#define DK__CALL_BOXED		1UL	/* made with boxed arguments: generators are ignored */
#define DK__CALL_FRAME		2UL	/* is the @call of a struct dk_frame */
#define DK__CALL_IN_RCU		4UL	/* runs in an RCU read-side critical section */
#define DK__CALL_FLAGS		7UL

/**
 * struct dk_call - a call in progress; the first argument of its function
 * @ks: the effective keyset. To redispatch, pass a part of it
 *
 * The other members are private; dk_call_decl() returns the declaration. Valid until
 * the function returns.
 */
struct dk_call {
	struct dk_keyset ks;
	/* private: */
	unsigned long made;		/* the caller's declaration, and flags */
	const struct dk__entry *entry;
	struct dk_op *op;
	const struct dk_local *local;	/* NULL in userspace for the thread's own */
};

DK__STATIC_ASSERT(sizeof(struct dk_call) <= 40, "too large to make for every call");
DK__STATIC_ASSERT(__alignof__(struct dk_op_decl) > DK__CALL_FLAGS,
		  "an address leaves its low bits to the flags");

DK__ALWAYS_INLINE unsigned long dk__made(const struct dk_op_decl *decl, unsigned long flags)
{
	return DK__CAST(unsigned long, decl) + flags;	/* as |, but may take one instruction */
}

/**
 * dk_call_decl() - the declaration that a call was made with
 * @c: the call
 *
 * For a description of the arguments use dk_call_described().
 *
 * Context: Any.
 * Return: The caller's declaration of the operator.
 */
DK_INLINE const struct dk_op_decl *dk_call_decl(const struct dk_call *c)
{
	return DK__CAST(const struct dk_op_decl *, c->made & ~DK__CALL_FLAGS);
}

/* ---- keysets: the fast path uses only these four functions ----------------------- */

DK__ALWAYS_INLINE __u64 dk__merge(__u64 raw, const struct dk_local *local)
{
	return (raw | (local->included ^ DK_DEFAULT_INCLUDED)) &
	       ((local->excluded ^ ~DK_DEFAULT_EXCLUDED) | DK_BACKEND_MASK);
}

DK__ALWAYS_INLINE __u64 dk__mask(__u64 ks, const struct dk__index *index, unsigned long b)
{
	return ks & index->mask[b];
}

/* Returns the position of the highest bit, counted from 0. Also returns 0 if no bit is set. */
DK__ALWAYS_INLINE unsigned long dk__top_bit(__u64 x)
{
#if defined(__KERNEL__) && BITS_PER_LONG == 64
	return __fls(x | 1);
#elif defined(__x86_64__)
	unsigned long top;

	if (__builtin_constant_p(x))
		return DK__CAST(unsigned long, 63L - __builtin_clzll(x | 1));
	/* the builtin would need one more instruction, to convert from int */
	__asm__("bsrq %1, %0" : "=r"(top) : "r"(x | 1) : "cc");
	return top;
#else
	/* use the halves on 32-bit machines, where the 64-bit builtin would call libgcc */
	__u32 high = DK__NUMBER(__u32, x >> 32), low = DK__NUMBER(__u32, x);
	int top = sizeof(long) == 8 ? 63 - __builtin_clzll(x | 1) :
		  high ? 63 - __builtin_clz(high) : 31 - __builtin_clz(low | 1);

	return DK__CAST(unsigned int, top);
#endif
}

/* Returns the highest backend, counted from 0. Also returns 0 if there is none. */
DK__ALWAYS_INLINE unsigned long dk__top_backend(__u64 ks)
{
	return dk__top_bit(ks & DK_BACKEND_MASK);
}

/* ---- counters -------------------------------------------------------------------- */

/* A counter with a separate copy for each CPU or thread. */
struct dk__count {
#if defined(__KERNEL__)
	__u64 __percpu *n;
#elif defined(DK_BARE)
	__u64 *n;
#else
	__u32 block, n;
#endif
};

/* ---- a call ---------------------------------------------------------------------- */

/* How dk__begin() looks up a function: a constant value, except in some redispatches. */
enum dk__how {
	DK__HOW_MASKED = 1,		/* remove fallthrough keys; not for a redispatch */
	DK__HOW_TYPED = 2,		/* compare the operator's type with the caller's */
	DK__HOW_IN_RCU = DK__CALL_IN_RCU,	/* caller is in an RCU read-side critical section */
	DK__HOW_ARRAY = 8,		/* the objects are in a struct dk__array: see dk__begin() */
};

/*
 * Storage of a call that no longer uses its table: the data of the gate, and a copy of
 * the entry. If the entry came first, gcc would align the struct to 16 bytes.
 */
struct dk__storage {
	__u64 gate[8];
	struct dk__entry entry;
};

/* Filled by dk__begin(): the entry to call, or the input for dk__find(). */
struct dk__found {
	const struct dk__entry *entry;
	const struct dk__table *table;	/* NULL or &dk__no_table: take the slow path */
	__u64 ks;			/* masked if DK__HOW_MASKED */
	unsigned int byte;		/* index byte */
};

/* Packs numbers for dk__find() into one register: index byte, enum dk__how, object count. */
DK__ALWAYS_INLINE __u64 dk__pack(unsigned int id, __u64 how, __u64 n)
{
	return id | how << 8 | n << 32;
}

/* Results of dk__find() that are not entries: a negative errno, or DK__SLOWLY for the slow path. */
#define DK__SLOWLY		(-4095)
#define DK__NO_ENTRY(err)	DK__CAST(const struct dk__entry *, 0L + (err))

DK__ALWAYS_INLINE int dk__is_entry(const struct dk__entry *entry)
{
	return DK__CAST(unsigned long, entry) < DK__CAST(unsigned long, DK__SLOWLY + 0L);
}

/* Returns the errno, or DK__SLOWLY, from a result of dk__find() that is not an entry. */
DK__ALWAYS_INLINE int dk__no_entry_err(const struct dk__entry *entry)
{
	return DK__NUMBER(int, DK__CAST(long, entry));
}

/* Returns the position of the index byte of @ks, whose highest backend is @b. */
DK__ALWAYS_INLINE unsigned long dk__place(__u64 ks, unsigned long b)
{
	return dk__places[b][dk__top_bit(ks)];
}

/*
 * Returns the index byte of a keyset. If @how has DK__HOW_MASKED, masks *@ks first. Otherwise
 * @place must be dk__place(*@ks, @b).
 */
DK__ALWAYS_INLINE unsigned long dk__lookup(const struct dk__table *table, __u64 *ks,
					   unsigned long b, unsigned long place, int how)
{
	const struct dk__index *index = table->index;

	if (how & DK__HOW_MASKED) {
		*ks = dk__mask(*ks, index, b);
		place = dk__place(*ks, b);
	}
	return DK__CAST(const __u8 *, index + 1)[place];
}

DK__ALWAYS_INLINE const struct dk__entry *dk__entry_of(const struct dk__table *table,
						       unsigned long byte)
{
	return DK__CAST(const struct dk__entry *, table + 1) + byte - DK__FIRST_ENTRY;
}

/*
 * Returns the counter of an index byte. The table must have counters. The first counter is for
 * unserved calls; the others are for the entries.
 */
DK__ALWAYS_INLINE const struct dk__count *dk__counter_of(const struct dk__table *table,
							 unsigned long byte)
{
	return table->counters + 1 + byte - DK__FIRST_ENTRY;
}

/* Returns whether the table and the caller's declaration have different types. */
DK__ALWAYS_INLINE int dk__is_other_type(const struct dk__table *table,
					const struct dk_op_decl *decl)
{
	return table->sig != (dk__load(decl->sig_mark) ^ DK__CAST(unsigned long, decl->sig));
}

#if defined(__KERNEL__) || defined(DK_BARE)

/*
 * An RCU read-side critical section protects table and function until the call
 * returns. If the function may sleep, dk__to_gate() enters the gate and ends the
 * section instead.
 */
struct dk__slot {
	struct dk__storage *at;
};

#define DK__SLOT(slot)							\
	struct dk__storage slot##_storage DK__NOT_SET;			\
	struct dk__slot slot = { &slot##_storage }

#ifdef __KERNEL__
void dk__to_gate(struct dk_call *c, struct dk__slot slot);
#else
/* Also ends the read-side critical section if the gate is full, and then returns 0. */
int dk__to_gate(struct dk_call *c, struct dk__slot slot);
#endif
void dk__leave_gate(struct dk__slot slot);

#ifdef __KERNEL__
#define dk__read_lock()		rcu_read_lock()
#define dk__read_unlock()	rcu_read_unlock()
#define dk__table_of(op)	rcu_dereference(DK__CAST(struct dk__op *, op)->table)
/* sparse cannot follow a section that one function begins and another function ends */
#define dk__section_stays()	__release(RCU)
#define dk__section_ends()	__acquire(RCU)
#else
extern unsigned int dk__bare_sections;
#define dk__read_lock()		((void)dk__bare_sections++)
#define dk__read_unlock()	((void)dk__bare_sections--)
#define dk__table_of(op)	(DK__CAST(struct dk__op *, op)->table)
#define dk__section_stays()	do { } while (0)
#define dk__section_ends()	do { } while (0)
#endif

#ifdef __KERNEL__
#define dk__add_count(at)		this_cpu_inc(*(at)->n)
#else
#define dk__add_count(at)		((void)++*(at)->n)
#endif
#define dk__local()		(&dk_local_default)
#define dk__local_of(c)		((c)->local)
#define DK__OWN_LOCAL		dk__local()

DK__ALWAYS_INLINE const struct dk__table *dk__keep(struct dk__slot *slot, struct dk_op *op, int how)
{
	if (!(how & DK__HOW_IN_RCU)) {
		dk__read_lock();
		dk__section_stays();
	}
	(void)slot;
	return dk__table_of(op);
}

/* The read-side critical section already protects the entry. */
DK__ALWAYS_INLINE void dk__enter(struct dk__slot *slot, const struct dk__entry *entry)
{
	(void)slot;
	(void)entry;
}

/*
 * Like dk__enter(), for a function that may sleep. Counts the call unless @at is NULL. Returns
 * 0 in two cases, in which the call must take the slow path. If the caller is already in a
 * section (DK__HOW_IN_RCU), the section stays open, and the slow path reports the mistake with
 * __might_sleep(). If the gate is full, on bare metal, dk__to_gate() has ended the section that
 * dk__keep() began.
 */
DK__ALWAYS_INLINE int dk__enter_gate(struct dk_call *c, struct dk__slot *slot,
				     const struct dk__count *at, int how)
{
	if (how & DK__HOW_IN_RCU)
		return 0;
#ifdef __KERNEL__
	if (at)
		dk__add_count(at);	/* the section still protects the table */
	dk__to_gate(c, *slot);
#else
	if (!dk__to_gate(c, *slot))
		return 0;
	if (at)
		dk__add_count(at);
#endif
	return 1;
}

/* Undoes dk__keep(), for a call that is not made. */
DK__ALWAYS_INLINE void dk__give_back(struct dk__slot slot, int how)
{
	(void)slot;
	if (!(how & DK__HOW_IN_RCU)) {
		dk__section_ends();
		dk__read_unlock();
	}
}

/* End a call that was made. */
DK__ALWAYS_INLINE void dk__end(const struct dk_call *c, struct dk__slot slot, int how)
{
	if (how & DK__HOW_IN_RCU)
		return;
	if (!(c->made & DK__CALL_IN_RCU))
		dk__leave_gate(slot);
	else
		dk__give_back(slot, how);
}

#define DK__FLAGS		DK__CALL_IN_RCU	/* flags of every call on the fast path */
#define DK__GATED		1	/* calls of functions that may sleep enter a gate */
/* Returns @table->first_direct. @copy is the value that the caller has already loaded. */
#define dk__direct(table, copy)	(copy)
#define dk__direct_first(table, how, copy)	(copy)

#else /* userspace */

#if defined(__SANITIZE_THREAD__)
#define DK__TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DK__TSAN 1
#endif
#endif

/*
 * A slot protects the table of a call during the lookup. After that it protects the entry
 * that was found, which is part of the table's memory. See lib/gate.c. In a slot, the lowest
 * bit is set in a pointer to a table, but not in a pointer to an entry.
 */
struct dk__slot {
	const void **at;
};

#define DK__SLOT(slot)		struct dk__slot slot DK__NOT_SET

/* The state of a thread. All members are zero before the first call of the thread. */
struct dk__thread {
	const void **top;	/* the first unused slot */
	const void **limit;	/* the end of the slots; if @top reaches it: the slow path */
	__u64 **const *counts;	/* counters, by block; other threads can replace the array */
	struct dk_local local;
};

/* Returned by dk__keep() if no slot is free or the table was replaced: take the slow path. */
extern const struct dk__table dk__no_table;

extern __thread struct dk__thread dk__self __attribute__((__tls_model__("initial-exec")));

/**
 * dk_local_current() - the calling thread's local state
 *
 * Change the local state with dk_local_include() and similar functions. Guards restore it
 * by copying the struct. In the kernel and on bare metal, returns the constant
 * dk_local_default.
 *
 * Context: Any thread; async-signal-safe.
 * Return: The state, valid as long as the thread.
 */
DK_INLINE struct dk_local *dk_local_current(void)
{
	return &dk__self.local;
}

#define dk__local()		(&dk__self.local)
#define dk__local_of(c)		((c)->local ? (c)->local : dk__local())
#define DK__OWN_LOCAL		NULL	/* the thread's own state; getting its address costs time */
#define dk__barrier()		__asm__ volatile("" ::: "memory")
#ifdef DK__TSAN			/* knows neither address dependencies nor membarrier() */
#define dk__table_of(op)						\
	__atomic_load_n(&DK__CAST(struct dk__op *, op)->table, __ATOMIC_ACQUIRE)
#else
#define dk__table_of(op)	dk__load(DK__CAST(struct dk__op *, op)->table)
#endif

DK__ALWAYS_INLINE void dk__give_back(struct dk__slot reserved, int how);

/*
 * Reserves a slot, stores the operator's table in the slot, and returns the table. Returns
 * dk__no_table if there is no slot, or if another table was published before the slot
 * protected this one.
 */
DK__ALWAYS_INLINE const struct dk__table *dk__keep(struct dk__slot *reserved, struct dk_op *op,
						   int how)
{
	const void **slot = dk__self.top;
	const struct dk__table *table;

	(void)how;
	reserved->at = slot;
	if (DK__UNLIKELY(slot >= dk__self.limit)) {
		dk__barrier();		/* keeps the address of dk__no_table out of the fast path */
		return &dk__no_table;
	}
	dk__self.top = slot + 1;	/* a signal handler uses the next one */
	dk__barrier();
	table = dk__table_of(op);
	__atomic_store_n(slot, DK__CAST(const char *, table) + 1, __ATOMIC_RELAXED);
	dk__barrier();			/* pairs with the membarrier() of dkc_replaced_end() */
	if (DK__UNLIKELY(dk__table_of(op) != table)) {
		dk__give_back(*reserved, how);
		return &dk__no_table;
	}
	return table;
}

/*
 * @at->block is a block of counters (lib/count.c). The calling thread has a slot, so it has its
 * own copy of every block. A signal handler may interrupt this function between any two
 * instructions and increment the same counter. Other threads only read the counter.
 */
DK__ALWAYS_INLINE void dk__add_count(const struct dk__count *at)
{
	__u64 **counts, *n;

#ifndef DK__TSAN
	/* pairs with the release in lib/count.c: counters exist before a table that uses them */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
	counts = __atomic_load_n(dk__self.counts, __ATOMIC_ACQUIRE);
	n = &counts[at->block][at->n];
#if defined(__x86_64__) && !defined(DK__TSAN)
	__asm__ volatile("incq %0" : "+m" (*n) : : "cc");
#else
	__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
#endif
}

/* From here on the slot protects the entry, and unregistering waits for the call. */
DK__ALWAYS_INLINE void dk__enter(struct dk__slot *reserved, const struct dk__entry *entry)
{
	__atomic_store_n(reserved->at, entry, __ATOMIC_RELEASE);
}

/* Releases the slot, for a call that is not made. */
DK__ALWAYS_INLINE void dk__give_back(struct dk__slot reserved, int how)
{
	(void)how;
	__atomic_store_n(reserved.at, NULL, __ATOMIC_RELEASE);
	dk__barrier();			/* clear the slot before a signal handler reuses it */
	dk__self.top = reserved.at;
}

/* End a call that was made. */
DK__ALWAYS_INLINE void dk__end(const struct dk_call *c, struct dk__slot reserved, int how)
{
	(void)c;
	dk__give_back(reserved, how);
}

#define DK__FLAGS		0
#define DK__GATED		0
/*
 * Both macros read @first_direct from the table again: a copy would need a register, and
 * redispatches would take more instructions. dk__load() makes gcc keep the address of
 * @first_direct in a register, which saves instructions in a redispatch. In a call, a plain
 * read after a barrier is better.
 */
#define dk__direct(table, copy)	dk__load((table)->first_direct)
#define dk__direct_first(table, how, copy)	dk__direct_again(table, how)

DK__ALWAYS_INLINE __u32 dk__direct_again(const struct dk__table *table, int how)
{
	if (!(how & DK__HOW_MASKED))
		return dk__load(table->first_direct);
	dk__barrier();
	return table->first_direct;
}

#endif

/*
 * Returns whether a redispatch of @from through @decl can take the fast path. The types
 * must be known to match, because only the slow path compares them. They match in two cases:
 * - @from has no frame and was made through @decl. Then @from was looked up in a table of
 *   the type of @decl.
 * - @decl is bound to the operator of @from.
 * A redispatch of a call with boxed arguments never takes the fast path.
 */
DK__ALWAYS_INLINE int dk__may_redispatch(const struct dk_call *from,
					 const struct dk_op_decl *decl)
{
	if (from->made & DK__CALL_BOXED)
		return 0;
	return (from->made & ~DK__CALL_IN_RCU) == dk__made(decl, 0) ||
	       dk__load(decl->op) == from->op;
}

/* If @from runs in a read-side critical section, its redispatch runs in the same section. */
DK__ALWAYS_INLINE int dk__how_again(const struct dk_call *from)
{
	return DK__FLAGS ? from->made & DK__CALL_IN_RCU : 0;
}

/* dk_call_below() for a call without a frame. */
DK__ALWAYS_INLINE struct dk_keyset dk__below(const struct dk_call *c)
{
	const __u64 none = 1ULL << (DK_NUM_BACKENDS - 1);
	const __u64 kept = none << DK_PYTHON_DISPATCHER;
	struct dk_keyset ks;

	ks.bits = c->ks.bits & (((1ULL << dk__top_bit(c->ks.bits | none)) - 1) | kept);
	return ks;
}

/*
 * Returns whether the device of @first is the device of the call. For a list the result does not
 * matter: dk__device_at() finds no table for DK_DEVICE_LIST. @b is the highest backend of the
 * call's keyset @ks. In a redispatch, @ks may lack the backends of @first.
 */
DK__ALWAYS_INLINE int dk__is_on(const struct dk_obj *first, __u64 ks, unsigned long b, int how)
{
	return first && (first->ks.bits & (how & DK__HOW_MASKED ? ~0ULL : ks)) >> b & 1;
}

/*
 * Returns the first element at which a search for @device looks. It may be for another device: the
 * caller must compare @same or @number of the element with @device.
 */
DK__ALWAYS_INLINE const struct dk__device_table *dk__device_at(const struct dk__devices *devices,
							       __u32 device)
{
	unsigned long offset = (device & devices->mask) * sizeof(struct dk__device_table);
	const void *at;

	DK__ANEW(offset);	/* without this, gcc needs more instructions for the address */
	at = DK__CAST(const char *, devices + 1) + offset;
	return DK__CAST(const struct dk__device_table *, at);
}

/* Stores what is known of a call before its function is found. */
DK__ALWAYS_INLINE void dk__fill(struct dk_call *c, struct dk_op *op, const struct dk_op_decl *decl,
				unsigned long flags, const struct dk_local *local)
{
	c->made = dk__made(decl, flags | DK__FLAGS);
	c->op = op;
	DK__PUT(c->local, local);
}

/* The objects of a call, from which dk__begin() reads only if a device has functions. */
struct dk__array {
	const struct dk_obj *const *items;
	unsigned int n;
};

/* Returns the first object of a call, or NULL. */
DK__ALWAYS_INLINE const struct dk_obj *dk__first(const void *first, int how)
{
	const struct dk__array *array = DK__CAST(const struct dk__array *, first);

	if (!(how & DK__HOW_ARRAY))
		return DK__CAST(const struct dk_obj *, first);
	return array->n ? array->items[0] : NULL;
}

/*
 * The fast path. Returns 1 if the caller must call @found->entry and then dk__end(), and
 * 0 if it must continue with dk__find(). @first is the first object, or NULL. With
 * DK__HOW_ARRAY, @first is a struct dk__array instead.
 */
DK__ALWAYS_INLINE int dk__begin(struct dk_call *c, struct dk__slot *slot,
				struct dk__found *found, struct dk_op *op,
				const struct dk_op_decl *decl, unsigned long flags,
				const struct dk_local *local, __u64 ks, int how,
				const void *first)
{
	unsigned long b = dk__top_backend(ks);
	const unsigned long place = how & DK__HOW_MASKED ? 0 : dk__place(ks, b);
	const struct dk__table *table = dk__keep(slot, op, how);
	const int early = how & DK__HOW_MASKED;	/* fill @c first: saves a register in a call */
	/* in NAME() and NAME_at() in userspace, gcc makes the best code with other hints */
	const int plain = !DK__GATED && early && !(how & DK__HOW_ARRAY);
	const struct dk__device_table *at;
	const struct dk_obj *o;
	__u64 masked = ks;
	unsigned long id;
	__u32 direct;
#if DK__GATED
	const struct dk__count *count;
#endif

	if (early)
		dk__fill(c, op, decl, flags, local);
	id = dk__lookup(table, &masked, b, place, how);
	if ((how & DK__HOW_TYPED) && DK__UNLIKELY(dk__is_other_type(table, decl))) {
		id = DK__FOR_SLOW_PATH;
		goto find;
	}
	if (DK__UNLIKELY(id < table->first_direct)) {
		/* only in a redispatch: in a call this would take more instructions */
		if (!DK__GATED && !(how & DK__HOW_MASKED))
			DK__ANEW(table);
		DK__ANEW(b);
		if (!plain)
			DK__ANEW(id);
#if DK__GATED
		direct = dk__load(table->first_direct);
		if (direct == DK__SLEEPS && id >= table->lowest)
			goto enter;
#endif
		if (dk__direct_first(table, how, direct) == DK__BY_DEVICE) {
			o = dk__first(first, how);
			if (!dk__is_on(o, ks, b, how))
				goto find;
			at = dk__device_at(table->devices, o->device);
			if (DK__UNLIKELY(at->same != o->device)) {
				if ((how & DK__HOW_ARRAY) || at->number != o->device)
					goto find;
				masked = ks;
				if (plain) {	/* saves the register in which @b would be kept */
					DK__ANEW(masked);
					b = dk__top_backend(masked);
				}
				id = dk__lookup(at->table, &masked, b, place, how);
			}
			table = at->table;
			direct = table->first_direct;
			if (plain ? DK__NUMBER(__u32, id) >= table->first_direct : id >= direct)
				goto found;
		}
		if (dk__direct(table, direct) < DK__COUNTED || id < table->lowest)
			goto find;
#if DK__GATED
		if (direct >= DK__SLEEPS)
			goto enter;
#endif
		dk__add_count(dk__counter_of(table, id));
	}
found:
	found->entry = dk__entry_of(table, id);
	c->ks.bits = masked;
	if (!early)
		dk__fill(c, op, decl, flags, local);
	DK__PUT(c->entry, found->entry);
	dk__enter(slot, found->entry);
	return 1;
#if DK__GATED
enter:
	c->ks.bits = masked;
	DK__PUT(c->entry, dk__entry_of(table, id));
	if (!early)
		dk__fill(c, op, decl, flags, local);
	count = dk__load(table->first_direct) == DK__SLEEPS ? NULL : dk__counter_of(table, id);
	if (dk__enter_gate(c, slot, count, how)) {
		found->entry = c->entry;
		return 1;
	}
	table = NULL;
	id = DK__FOR_SLOW_PATH;
#endif
find:
	c->ks.bits = ks;
	c->entry = NULL;
	if (!early)
		dk__fill(c, op, decl, flags, local);
	found->table = table;
	found->ks = masked;
	found->byte = DK__NUMBER(__u32, id);
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_INLINE_H */
