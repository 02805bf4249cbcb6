/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * All that code which is compiled into callers reads and writes, and the fast path
 * of a call. This is ABI: DK__CALL_ABI grows with every change, and
 * lib/core/registry.h asserts that the structures of the dispatcher match these.
 * Included by <dispatchkey-call.h>.
 *
 * A fast call finds the function in one table and does nothing else. Everything
 * unusual - an operator that is not defined, counters, hooks, functions of devices or
 * of another type, a keyset that nothing serves - is a table or an entry below
 * @first_direct. dk__find() looks those up out of line; what it does not serve either
 * takes the slow path.
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

/* What a declaration was compiled for; the slow path compares it before it binds one. */
#define DK__CALL_ABI		7

#ifdef __cplusplus
#define DK__CAST(type, x)	__builtin_bit_cast(type, x)
#else
#define DK__CAST(type, x)	((type)(x))
#endif
#if defined(__KERNEL__)
#define dk__load(x)		READ_ONCE(x)
#elif defined(DK_BARE)
#define dk__load(x)		(x)
#else
#define dk__load(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#endif
#define DK__UNLIKELY(x)		__builtin_expect(!!(x), 0)
#define DK__ALWAYS_INLINE	static inline __attribute__((always_inline, unused))
/* All of it is written before it is read; a compiler may zero it otherwise. */
#if defined(__has_attribute)
#if __has_attribute(uninitialized)
#define DK__NOT_SET		__attribute__((uninitialized))
#endif
#endif
#ifndef DK__NOT_SET
#define DK__NOT_SET
#endif

struct dkc_reg;

/* A function, and its registration. */
struct dk__entry {
	dk_fn_t fn;
	const struct dkc_reg *reg;
};

#ifdef __KERNEL__
#define DK__RCU			__rcu
#define DK__RETIRED		2	/* pointers' worth of what frees it */
#else
#define DK__RCU
#define DK__RETIRED		1
#endif

/* What tables that look alike share: masks by backend, and after them the index. */
struct dk__shape {
	const void *retired[DK__RETIRED];
	const void *private_[3];
	__u32 numbers[4];
	__aligned_u64 mask[DK_NUM_BACKENDS];
};

/* Published tables never change. The entries follow it. */
struct dk__table {
	const void *retired[DK__RETIRED];
	const struct dk__shape *shape;
	const void *private_;
	__u32 first_direct;	/* index bytes below this one are for dk__find() */
	__u16 private_numbers;
	__u8 private_kind;
	__u8 flags;		/* DK_OP_ATOMIC and so on */
	__aligned_u64 sig;	/* hash of the functions' signature */
};

/*
 * Index byte i names entry i - DK__FIRST_ENTRY; smaller ones name none. DK__FOR_SLOW_PATH is
 * the byte of a fallthrough, and of every keyset where the table's functions are of another
 * type than the caller's.
 */
#define DK__FIRST_ENTRY		3
#define DK__FOR_SLOW_PATH	2

struct dk__op {
	const void *private_[2];
	const struct dk__table DK__RCU *table;
};

/* A declaration that no call has bound yet is bound to this operator. */
extern struct dk_op dk__unbound;

/*
 * Where the entries of a keyset's highest functionality are, by its bit: the index
 * byte of the first backend, and all bits of a backend's number or none where the
 * functionality has one entry for all. Bits that v1 does not have lead to a byte that
 * names no entry.
 */
struct dk__place {
	__u8 first;
	__u8 backends;
};

extern const struct dk__place dk__places[64];

/* How a call is made, in the low bits of its @state. */
#define DK__CALL_BOXED		1UL	/* from boxed arguments: generators do not count */
#define DK__CALL_FRAME		2UL	/* it is the @call of a struct dk_frame */
#define DK__CALL_IN_RCU		4UL	/* an RCU read section lasts as long */
#define DK__CALL_FLAGS		7UL

/**
 * struct dk_call - a call in flight; its functions get it as first argument
 * @ks: the effective keyset: what redispatching masks
 * @decl: the operator, as the caller knows it; dk_call_described() describes the
 *	arguments
 *
 * The rest is the dispatcher's own. It lives for the call.
 */
struct dk_call {
	struct dk_keyset ks;
	const struct dk_op_decl *decl;
	/* private: */
	const struct dk__entry *entry;
	struct dk_op *op;
	unsigned long state;	/* the local state, 0: the thread's; and flags */
};

DK__STATIC_ASSERT(sizeof(struct dk_call) <= 40, "made for every call");
DK__STATIC_ASSERT(__alignof__(struct dk_local) > DK__CALL_FLAGS, "its address and flags");

DK__ALWAYS_INLINE unsigned long dk__state(const struct dk_local *local, unsigned long flags)
{
	return DK__CAST(unsigned long, local) | flags;
}

DK__ALWAYS_INLINE const struct dk_local *dk__state_local(unsigned long state)
{
	return DK__CAST(const struct dk_local *, state & ~DK__CALL_FLAGS);
}

/* ---- keysets: the fast path touches one by these four only ---------------------- */

DK__ALWAYS_INLINE __u64 dk__merge(__u64 raw, const struct dk_local *local)
{
	return (raw | (local->included ^ DK_DEFAULT_INCLUDED)) &
	       ((local->excluded ^ ~DK_DEFAULT_EXCLUDED) | DK_BACKEND_MASK);
}

DK__ALWAYS_INLINE __u64 dk__mask(__u64 ks, const struct dk__shape *shape, unsigned long b)
{
	return ks & shape->mask[b];
}

/* The number of the highest bit; 0 where there is none. */
DK__ALWAYS_INLINE unsigned long dk__top_bit(__u64 x)
{
#if defined(__KERNEL__) && BITS_PER_LONG == 64
	return __fls(x | 1);
#elif defined(__x86_64__)
	unsigned long top;

	if (__builtin_constant_p(x))
		return 63 - __builtin_clzll(x | 1);
	/* the builtin's int is made longer once more */
	__asm__("bsrq %1, %0" : "=r"(top) : "r"(x | 1) : "cc");
	return top;
#else
	/* in halves where a word has 32 bits: there the builtin calls into libgcc */
	__u32 half = x >> 32;
	unsigned int top = sizeof(long) == 8 ? 63 - __builtin_clzll(x | 1) :
			   half ? 63 - __builtin_clz(half) :
				  31 - __builtin_clz((x & ~0U) | 1);

	return top;
#endif
}

/* From 0; that of the first backend where there is none. */
DK__ALWAYS_INLINE unsigned long dk__top_backend(__u64 ks)
{
	return dk__top_bit(ks & DK_BACKEND_MASK);
}

/* ---- a call ---------------------------------------------------------------------- */

/* How dk__begin() looks a function up; constants but for a redispatch in the kernel. */
enum dk__how {
	DK__HOW_MASKED = 1,		/* without keys that fall through; not a redispatch */
	DK__HOW_TYPED = 2,		/* the operator may be of another type than the caller's */
	DK__HOW_IN_RCU = DK__CALL_IN_RCU,	/* the caller is in an RCU read section */
};

/*
 * What a call has that does not need its table any more: a copy of its entry, and what
 * the gate writes into.
 */
struct dk__room {
	struct dk__entry entry;
	__u64 gate[8];
};

/* What dk__begin() has found: the entry to call; or the rest, for dk__find(). */
struct dk__found {
	const struct dk__entry *entry;
	const struct dk__table *table;	/* NULL: there is none, and the call is out */
	__u64 ks;			/* masked */
	unsigned int id;		/* the index byte */
};

/* The numbers that dk__find() takes, in one register: index byte, enum dk__how, objects. */
DK__ALWAYS_INLINE __u64 dk__ask(unsigned int id, __u64 how, __u64 n)
{
	return id | how << 8 | n << 32;
}

/* The index byte of a keyset, which is masked where the call has to. */
DK__ALWAYS_INLINE unsigned int dk__look_up(const struct dk__table *table, __u64 *ks,
					   const struct dk_op_decl *decl, int how)
{
	const struct dk__shape *shape = table->shape;
	unsigned long b = dk__top_backend(*ks), top;

	if ((how & DK__HOW_TYPED) &&
	    DK__UNLIKELY(table->sig != (dk__load(decl->sig_mark) ^
					 DK__CAST(unsigned long, decl->sig))))
		return DK__FOR_SLOW_PATH;
	if (how & DK__HOW_MASKED)
		*ks = dk__mask(*ks, shape, b);
	top = dk__top_bit(*ks);
	return DK__CAST(const __u8 *, shape + 1)[dk__places[top].first +
						  (b & dk__places[top].backends)];
}

DK__ALWAYS_INLINE void dk__fill(struct dk_call *c, __u64 ks, const struct dk__entry *entry,
				struct dk_op *op, const struct dk_op_decl *decl,
				unsigned long state)
{
	c->ks.bits = ks;
	c->decl = decl;
	c->entry = entry;
	c->op = op;
	c->state = state;
}

#if defined(__KERNEL__) || defined(DK_BARE)

/*
 * A read section protects table and function until the call has returned. For a function
 * that may sleep dk__to_gate() enters the gate, and ends the section.
 */
struct dk__slot {
	struct dk__room *at;
};

#define DK__SLOT(slot)							\
	struct dk__room slot##_room DK__NOT_SET;			\
	struct dk__slot slot = { &slot##_room }

/* 0: the call is out again, for the slow path */
int dk__to_gate(struct dk_call *c, struct dk__slot slot, int how);
void dk__leave_gate(struct dk__slot slot);

#ifdef __KERNEL__
#define dk__read_lock()		rcu_read_lock()
#define dk__read_unlock()	rcu_read_unlock()
#define dk__table_of(op)	rcu_dereference(DK__CAST(struct dk__op *, op)->table)
/* sparse does not follow a section from one function to another */
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

#define dk__local()		(&dk_local_default)
#define dk__local_of(c)		dk__state_local((c)->state)
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

DK__ALWAYS_INLINE int dk__enter(struct dk_call *c, struct dk__slot *slot,
				struct dk__found *found, int how)
{
	if (found->table->flags & DK_OP_ATOMIC)
		return 1;
	if (!dk__to_gate(c, *slot, how)) {
		found->table = NULL;
		found->ks = 0;
		found->id = DK__FOR_SLOW_PATH;
		return 0;
	}
	found->entry = c->entry;
	return 1;
}

/* A call that has not been made. */
DK__ALWAYS_INLINE void dk__give_back(struct dk__slot slot, int how)
{
	(void)slot;
	if (!(how & DK__HOW_IN_RCU)) {
		dk__section_ends();
		dk__read_unlock();
	}
}

DK__ALWAYS_INLINE void dk__end(const struct dk_call *c, struct dk__slot slot, int how)
{
	if (how & DK__HOW_IN_RCU)
		return;
	if (DK__UNLIKELY(!(c->state & DK__CALL_IN_RCU)))
		dk__leave_gate(slot);
	else
		dk__give_back(slot, how);
}

#define DK__FLAGS		DK__CALL_IN_RCU	/* of every call of the fast path */

#else /* userspace */

#if defined(__SANITIZE_THREAD__)
#define DK__TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DK__TSAN 1
#endif
#endif

/*
 * A slot protects a call's table and then its entry, which lies in the table's memory:
 * lib/gate.c. A table is marked by its lowest bit.
 */
struct dk__slot {
	const void **at;
};

#define DK__SLOT(slot)		struct dk__slot slot DK__NOT_SET

/* What a thread has; zero before its first call. */
struct dk__thread {
	const void **top;	/* the first slot that no call uses */
	const void **limit;	/* from here on there is no slot: the slow path */
	struct dk_local local;
};

/* A table of which no call is made: there was no slot. */
extern const struct dk__table dk__no_table;

extern __thread struct dk__thread dk__self __attribute__((tls_model("initial-exec")));

/**
 * dk_local_current() - the calling thread's local state
 *
 * Change it with dk_local_include() and so on; a copy of the struct is the
 * snapshot that a guard puts back.
 *
 * Context: Any thread; async-signal-safe.
 * Return: The state, which lives as long as the thread.
 */
DK_INLINE struct dk_local *dk_local_current(void)
{
	return &dk__self.local;
}

#define dk__local()		(&dk__self.local)
#define dk__local_of(c)							\
	((c)->state > DK__CALL_FLAGS ? dk__state_local((c)->state) : dk__local())
#define DK__OWN_LOCAL		NULL	/* of the thread; its address takes long */
#define dk__barrier()		__asm__ volatile("" ::: "memory")
#ifdef DK__TSAN			/* it knows neither dependencies nor membarrier() */
#define dk__table_of(op)						\
	__atomic_load_n(&DK__CAST(struct dk__op *, op)->table, __ATOMIC_ACQUIRE)
#else
#define dk__table_of(op)	dk__load(DK__CAST(struct dk__op *, op)->table)
#endif

/*
 * Reserve a slot, and let it keep the operator's table. Where there is no slot, the table
 * is one of which no call is made.
 */
DK__ALWAYS_INLINE const struct dk__table *dk__keep(struct dk__slot *reserved, struct dk_op *op,
						   int how)
{
	const void **slot = dk__self.top;
	const struct dk__table *table;

	(void)how;
	reserved->at = slot;
	if (DK__UNLIKELY(slot >= dk__self.limit)) {
		dk__barrier();		/* keeps its address out of the fast path */
		return &dk__no_table;
	}
	dk__self.top = slot + 1;	/* a signal handler uses the next one */
	dk__barrier();
	do {
		table = dk__table_of(op);
		__atomic_store_n(slot, DK__CAST(const char *, table) + 1, __ATOMIC_RELAXED);
		dk__barrier();		/* pairs with the membarrier() of dkc_synchronize() */
	} while (DK__UNLIKELY(dk__table_of(op) != table));
	return table;
}

/* From here on it is the entry that is kept, and the call is inside of its provider. */
DK__ALWAYS_INLINE int dk__enter(struct dk_call *c, struct dk__slot *reserved,
				struct dk__found *found, int how)
{
	(void)c;
	(void)how;
	__atomic_store_n(reserved->at, found->entry, __ATOMIC_RELEASE);
	return 1;
}

/* A call that has not been made. */
DK__ALWAYS_INLINE void dk__give_back(struct dk__slot reserved, int how)
{
	(void)how;
	__atomic_store_n(reserved.at, NULL, __ATOMIC_RELEASE);
	dk__barrier();			/* before a signal handler may use it */
	dk__self.top = reserved.at;
}

DK__ALWAYS_INLINE void dk__end(const struct dk_call *c, struct dk__slot reserved, int how)
{
	(void)c;
	dk__give_back(reserved, how);
}

#define DK__FLAGS		0

#endif

/*
 * May a redispatch take the fast path, and what is its state then? A call without a frame has
 * found its function by a table of its declaration's type, and a declaration that is bound to
 * an operator is of the operator's type. Other ones take the slow path, which compares.
 */
DK__ALWAYS_INLINE int dk__may_redispatch(const struct dk_call *from,
					 const struct dk_op_decl *decl, unsigned long *state)
{
	*state = from->state;
	if (DK__UNLIKELY(*state & (DK__CALL_BOXED | DK__CALL_FRAME) || from->decl != decl)) {
		*state &= ~DK__CALL_FRAME;
		return !(*state & DK__CALL_BOXED) && dk__load(decl->op) == from->op;
	}
	return 1;
}

/* Where a call is in a read section already, so are its redispatches. */
DK__ALWAYS_INLINE int dk__how_again(const struct dk_call *from)
{
	return DK__FLAGS ? from->state & DK__CALL_IN_RCU : 0;
}

/* As dk_keyset_after() of the key of a call that the fast path has made. */
DK__ALWAYS_INLINE struct dk_keyset dk__below(const struct dk_call *c)
{
	const __u64 none = 1ULL << (DK_NUM_BACKENDS - 1);
	const __u64 kept = none << DK_PYTHON_DISPATCHER;
	struct dk_keyset ks;

	ks.bits = c->ks.bits & (((1ULL << dk__top_bit(c->ks.bits | none)) - 1) | kept);
	return ks;
}

/*
 * Take the fast path: 1 if the entry found is to be called, and then dk__end(). Otherwise the
 * call is for dk__find().
 */
DK__ALWAYS_INLINE int dk__begin(struct dk_call *c, struct dk__slot *slot,
				struct dk__found *found, struct dk_op *op,
				const struct dk_op_decl *decl, unsigned long state, __u64 ks,
				int how)
{
	const struct dk__table *table = dk__keep(slot, op, how);
	__u64 masked = ks;
	const unsigned int id = dk__look_up(table, &masked, decl, how);

	found->table = table;
	if (DK__UNLIKELY(id < table->first_direct)) {
		dk__fill(c, ks, NULL, op, decl, state | DK__FLAGS);
		found->ks = masked;
		found->id = id;
		return 0;
	}
	found->entry = DK__CAST(const struct dk__entry *, table + 1) + id - DK__FIRST_ENTRY;
	dk__fill(c, masked, found->entry, op, decl, state | DK__FLAGS);
	return dk__enter(c, slot, found, how);
}

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_INLINE_H */
