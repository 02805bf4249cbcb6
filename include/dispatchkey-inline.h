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
 * @first_direct. dk__begin() serves the first object's device, counts, and enters the
 * kernel's gate. dk__find() looks at other objects, out of line; what it does not serve
 * either takes the slow path.
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
#define DK__CALL_ABI		8

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
/* What is computed of it is computed anew, and not kept for later by the fast path. */
#define DK__ANEW(x)		__asm__("" : "+r"(x))
/* A store by itself; gcc would make one of two by vector instructions, which are more. */
#if defined(__KERNEL__) || defined(DK_BARE)
#define DK__PUT(x, v)		((x) = (v))
#else
#define DK__PUT(x, v)		__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
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

/*
 * Published tables never change. The entries follow it. Those of an operator that devices have
 * functions of are in @devices, one for each of these devices and one for number 0.
 */
struct dk__table {
	const void *retired[DK__RETIRED];
	const struct dk__shape *shape;
	const struct dk__devices *devices;
	__u32 first_direct;	/* index bytes below this one are not called by this table */
	__u8 num;		/* entries */
	__u8 lowest;		/* as @first_direct, where that is DK__COUNTED and so on */
	__u8 private_kind;
	__u8 flags;		/* DK_OP_ATOMIC and so on */
	__aligned_u64 sig;	/* hash of the functions' signature */
};

/* A @first_direct greater than all index bytes. */
#define DK__NOT_DIRECT		256	/* the slow path serves */
#define DK__BY_DEVICE		257	/* calls are made by one of @devices */
#define DK__COUNTED		258	/* they are counted: dk__counters() */
#define DK__SLEEPS		259	/* kernel, bare metal: they enter the gate */
#define DK__SLEEPS_COUNTED	260

/* Tables by the low bits of a device's number; the next ones where two have the same. */
struct dk__devices {
	const void *retired[DK__RETIRED];
	__u32 mask;
};

/* They follow it. */
struct dk__device_table {
	__u32 number;
	const struct dk__table *table;
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
 * The place of an index byte by the highest backend of a keyset and its highest bit, which is
 * that of its functionality. Bits that v1 does not have lead to a byte that names no entry.
 */
extern const __u8 dk__places[DK_NUM_BACKENDS][64];

/* How a call is made, in the low bits of its @made. */
#define DK__CALL_BOXED		1UL	/* from boxed arguments: generators do not count */
#define DK__CALL_FRAME		2UL	/* it is the @call of a struct dk_frame */
#define DK__CALL_IN_RCU		4UL	/* an RCU read section lasts as long */
#define DK__CALL_FLAGS		7UL

/**
 * struct dk_call - a call in flight; its functions get it as first argument
 * @ks: the effective keyset: what redispatching masks
 *
 * The rest is the dispatcher's own; dk_call_decl() returns the operator. It lives for the
 * call.
 */
struct dk_call {
	struct dk_keyset ks;
	/* private: */
	unsigned long made;		/* by which declaration, and flags */
	const struct dk__entry *entry;
	struct dk_op *op;
	const struct dk_local *local;	/* in userspace NULL: the thread's */
};

DK__STATIC_ASSERT(sizeof(struct dk_call) <= 40, "made for every call");
DK__STATIC_ASSERT(__alignof__(struct dk_op_decl) > DK__CALL_FLAGS, "its address and flags");

DK__ALWAYS_INLINE unsigned long dk__made(const struct dk_op_decl *decl, unsigned long flags)
{
	return DK__CAST(unsigned long, decl) | flags;
}

/**
 * dk_call_decl() - the operator of a call, as the caller knows it
 * @c: the call
 *
 * dk_call_described() describes the arguments.
 *
 * Context: Any.
 * Return: The declaration that the call was made with.
 */
DK_INLINE const struct dk_op_decl *dk_call_decl(const struct dk_call *c)
{
	return DK__CAST(const struct dk_op_decl *, c->made & ~DK__CALL_FLAGS);
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

/* ---- counters -------------------------------------------------------------------- */

/* Where calls are counted, in what each CPU or thread has for itself. */
struct dk__count {
#if defined(__KERNEL__)
	__u64 __percpu *n;
#elif defined(DK_BARE)
	__u64 *n;
#else
	__u32 block, n;
#endif
};

/* They follow the entries: one for calls that nothing serves, then one for each entry. */
DK__ALWAYS_INLINE const struct dk__count *dk__counters(const struct dk__table *table)
{
	const struct dk__entry *entries = DK__CAST(const struct dk__entry *, table + 1);

	return DK__CAST(const struct dk__count *, entries + table->num);
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
	const struct dk__table *table;	/* NULL: the call is out */
	__u64 ks;			/* masked, if the call has to */
	unsigned int byte;		/* of the index */
};

/* The numbers that dk__find() takes, in one register: index byte, enum dk__how, objects. */
DK__ALWAYS_INLINE __u64 dk__ask(unsigned int id, __u64 how, __u64 n)
{
	return id | how << 8 | n << 32;
}

/* What dk__find() returns that is no entry: a negative errno, or that the slow path serves. */
#define DK__SLOWLY		(-4095)
#define DK__NO_ENTRY(err)	DK__CAST(const struct dk__entry *, 0L + (err))

DK__ALWAYS_INLINE int dk__is_entry(const struct dk__entry *entry)
{
	return DK__CAST(unsigned long, entry) < 0UL + DK__SLOWLY;
}

/* The number in what is no entry. */
DK__ALWAYS_INLINE int dk__no_entry_err(const struct dk__entry *entry)
{
	return DK__CAST(long, entry);
}

/* Where the index byte of a keyset is, whose highest backend is @b. */
DK__ALWAYS_INLINE unsigned long dk__place(__u64 ks, unsigned long b)
{
	return dk__places[b][dk__top_bit(ks)];
}

/* The index byte of a keyset, which is masked if the call has to; @place is for others. */
DK__ALWAYS_INLINE unsigned long dk__look_up(const struct dk__table *table, __u64 *ks,
					    unsigned long b, unsigned long place, int how)
{
	const struct dk__shape *shape = table->shape;

	if (how & DK__HOW_MASKED) {
		*ks = dk__mask(*ks, shape, b);
		place = dk__place(*ks, b);
	}
	return DK__CAST(const __u8 *, shape + 1)[place];
}

DK__ALWAYS_INLINE const struct dk__entry *dk__entry_of(const struct dk__table *table,
						       unsigned long byte)
{
	return DK__CAST(const struct dk__entry *, table + 1) + byte - DK__FIRST_ENTRY;
}

/* Where its calls are counted, by a table that counts. */
DK__ALWAYS_INLINE const struct dk__count *dk__counter_of(const struct dk__table *table,
							 unsigned long byte)
{
	return dk__counters(table) + 1 + byte - DK__FIRST_ENTRY;
}

/* Is a table of another type than the caller's? */
DK__ALWAYS_INLINE int dk__is_other_type(const struct dk__table *table,
					const struct dk_op_decl *decl)
{
	return table->sig != (dk__load(decl->sig_mark) ^ DK__CAST(unsigned long, decl->sig));
}

DK__ALWAYS_INLINE void dk__fill(struct dk_call *c, __u64 ks, const struct dk__entry *entry,
				struct dk_op *op, unsigned long made,
				const struct dk_local *local)
{
	c->ks.bits = ks;
	c->made = made;
	DK__PUT(c->entry, entry);
	c->op = op;
	DK__PUT(c->local, local);
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

#ifdef __KERNEL__
void dk__to_gate(struct dk_call *c, struct dk__slot slot);
#else
/* 0: there is no room in the gate, and the section has ended. */
int dk__to_gate(struct dk_call *c, struct dk__slot slot);
#endif
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

/* The section has the entry, too. */
DK__ALWAYS_INLINE void dk__enter(struct dk__slot *slot, const struct dk__entry *entry)
{
	(void)slot;
	(void)entry;
}

/*
 * The same where the function may sleep; count the call, unless @at is NULL. 0: the call is out,
 * and for the slow path, which also reports that the section is the caller's.
 */
DK__ALWAYS_INLINE int dk__enter_gate(struct dk_call *c, struct dk__slot *slot,
				     const struct dk__count *at, int how)
{
	if (how & DK__HOW_IN_RCU)
		return 0;
#ifdef __KERNEL__
	if (at)
		dk__add_count(at);	/* while the section keeps the table */
	dk__to_gate(c, *slot);
#else
	if (!dk__to_gate(c, *slot))
		return 0;
	if (at)
		dk__add_count(at);
#endif
	return 1;
}

/* A call that is not made. */
DK__ALWAYS_INLINE void dk__give_back(struct dk__slot slot, int how)
{
	(void)slot;
	if (!(how & DK__HOW_IN_RCU)) {
		dk__section_ends();
		dk__read_unlock();
	}
}

/* A call that was made. */
DK__ALWAYS_INLINE void dk__end(const struct dk_call *c, struct dk__slot slot, int how)
{
	if (how & DK__HOW_IN_RCU)
		return;
	if (!(c->made & DK__CALL_IN_RCU))
		dk__leave_gate(slot);
	else
		dk__give_back(slot, how);
}

#define DK__FLAGS		DK__CALL_IN_RCU	/* of every call of the fast path */
#define DK__GATED		1	/* calls enter a gate if their functions may sleep */

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
	__u64 **const *counts;	/* its counters, by block; other threads may move them */
	struct dk_local local;
};

/* A table of which no call is made: there was no slot, or another table was published. */
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
#define dk__local_of(c)		((c)->local ? (c)->local : dk__local())
#define DK__OWN_LOCAL		NULL	/* of the thread; its address takes long */
#define dk__barrier()		__asm__ volatile("" ::: "memory")
#ifdef DK__TSAN			/* it knows neither dependencies nor membarrier() */
#define dk__table_of(op)						\
	__atomic_load_n(&DK__CAST(struct dk__op *, op)->table, __ATOMIC_ACQUIRE)
#else
#define dk__table_of(op)	dk__load(DK__CAST(struct dk__op *, op)->table)
#endif

DK__ALWAYS_INLINE void dk__give_back(struct dk__slot reserved, int how);

/*
 * Reserve a slot, and let it keep the operator's table. Where there is no slot, or another
 * table was published meanwhile, it is one of which no call is made.
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
	table = dk__table_of(op);
	__atomic_store_n(slot, DK__CAST(const char *, table) + 1, __ATOMIC_RELAXED);
	dk__barrier();			/* pairs with the membarrier() of dkc_rows_end() */
	if (DK__UNLIKELY(dk__table_of(op) != table)) {
		dk__give_back(*reserved, how);
		return &dk__no_table;
	}
	return table;
}

/*
 * By a thread that has a slot, which has counters in every block. A signal handler may come
 * between any two instructions, and count, too; other threads only read.
 */
DK__ALWAYS_INLINE void dk__add_count(const struct dk__count *at)
{
	__u64 **counts, *n;

#ifndef DK__TSAN
	/* pairs with the release in lib/count.c: a table of a new block comes after its counters */
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

/* From here on it is the entry that is kept, and the call is inside of its provider. */
DK__ALWAYS_INLINE void dk__enter(struct dk__slot *reserved, const struct dk__entry *entry)
{
	__atomic_store_n(reserved->at, entry, __ATOMIC_RELEASE);
}

/* A call that is not made. */
DK__ALWAYS_INLINE void dk__give_back(struct dk__slot reserved, int how)
{
	(void)how;
	__atomic_store_n(reserved.at, NULL, __ATOMIC_RELEASE);
	dk__barrier();			/* before a signal handler may use it */
	dk__self.top = reserved.at;
}

/* A call that was made. */
DK__ALWAYS_INLINE void dk__end(const struct dk_call *c, struct dk__slot reserved, int how)
{
	(void)c;
	dk__give_back(reserved, how);
}

#define DK__FLAGS		0
#define DK__GATED		0

#endif

/*
 * May a redispatch take the fast path? A call without a frame has found its function by a
 * table of its declaration's type, and a declaration that is bound to an operator is of the
 * operator's type. Other ones take the slow path, which compares.
 */
DK__ALWAYS_INLINE int dk__may_redispatch(const struct dk_call *from,
					 const struct dk_op_decl *decl)
{
	if (from->made & DK__CALL_BOXED)
		return 0;
	return (from->made & ~DK__CALL_IN_RCU) == dk__made(decl, 0) ||
	       dk__load(decl->op) == from->op;
}

/* Where a call is in a read section already, so are its redispatches. */
DK__ALWAYS_INLINE int dk__how_again(const struct dk_call *from)
{
	return DK__FLAGS ? from->made & DK__CALL_IN_RCU : 0;
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

/* Does the first object of a call tell its device? @b is the call's highest backend. */
DK__ALWAYS_INLINE int dk__is_on(const struct dk_obj *first, __u64 ks, unsigned long b)
{
	if (!first || first->flags == DK_OBJ_LIST)
		return 0;
	return (first->ks.bits & ks) >> b & 1;
}

/* Find the table of the device that the first object is on; or 0: dk__find() looks further. */
DK__ALWAYS_INLINE int dk__on_device(const struct dk__table **table, __u64 ks, unsigned long b,
				    const struct dk_obj *first)
{
	const struct dk__devices *devices = (*table)->devices;
	const struct dk__device_table *at;

	if (!dk__is_on(first, ks, b))
		return 0;
	at = DK__CAST(const struct dk__device_table *, devices + 1) +
	     (first->device & devices->mask);
	if (at->number != first->device)
		return 0;
	*table = at->table;
	return 1;
}

/*
 * Take the fast path: 1 if the entry found is to be called, and then dk__end(). Otherwise the
 * call is for dk__find(). @first is the first object, or NULL.
 */
DK__ALWAYS_INLINE int dk__begin(struct dk_call *c, struct dk__slot *slot,
				struct dk__found *found, struct dk_op *op,
				const struct dk_op_decl *decl, unsigned long flags,
				const struct dk_local *local, __u64 ks, int how,
				const struct dk_obj *first)
{
	const unsigned long made = dk__made(decl, flags | DK__FLAGS);
	unsigned long b = dk__top_backend(ks);
	const unsigned long place = how & DK__HOW_MASKED ? 0 : dk__place(ks, b);
	const struct dk__table *table = dk__keep(slot, op, how);
	const struct dk__count *at = NULL;
	__u64 masked = ks;
	unsigned long id = dk__look_up(table, &masked, b, place, how);

	if ((how & DK__HOW_TYPED) && DK__UNLIKELY(dk__is_other_type(table, decl))) {
		id = DK__FOR_SLOW_PATH;
		goto find;
	}
	if (DK__UNLIKELY(id < table->first_direct)) {
		DK__ANEW(table);
		DK__ANEW(b);
		DK__ANEW(id);
#if DK__GATED
		if (dk__load(table->first_direct) == DK__SLEEPS && id >= table->lowest)
			goto enter;
#endif
		if (dk__load(table->first_direct) == DK__BY_DEVICE) {
			if (!dk__on_device(&table, ks, b, first))
				goto find;
			masked = ks;
			id = dk__look_up(table, &masked, b, place, how);
			if (id >= table->first_direct)
				goto found;
		}
		if (dk__load(table->first_direct) < DK__COUNTED || id < table->lowest)
			goto find;
		at = dk__counter_of(table, id);
#if DK__GATED
		if (dk__load(table->first_direct) >= DK__SLEEPS)
			goto enter;
#endif
		dk__add_count(at);
	}
found:
	found->entry = dk__entry_of(table, id);
	dk__fill(c, masked, found->entry, op, made, local);
	dk__enter(slot, found->entry);
	return 1;
#if DK__GATED
enter:
	dk__fill(c, masked, dk__entry_of(table, id), op, made, local);
	if (dk__load(table->first_direct) == DK__SLEEPS)
		at = NULL;
	if (dk__enter_gate(c, slot, at, how)) {
		found->entry = c->entry;
		return 1;
	}
	table = NULL;
	id = DK__FOR_SLOW_PATH;
#endif
find:
	dk__fill(c, ks, NULL, op, made, local);
	found->table = table;
	found->ks = masked;
	found->byte = id;
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_INLINE_H */
