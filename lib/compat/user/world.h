/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Supplies the services of lib/core/base/world.h in userspace. Functions are in lib/. */
#ifndef _DKC_USER_WORLD_H
#define _DKC_USER_WORLD_H

#include "kernel.h"

#define DKC_BUCKETS		256
#define DKC_FIRST_OPS		64
#define DKC_NOTICE_MS		10000	/* as in the kernel */

/* lib/rcu.c */
void dkc_free_table_rcu(struct dkc_table *table);
void dkc_flush_retired(void);
bool dkc_in_atomic(void);

/* lib/system.c */
u64 dkc_now(void);
void dkc_notice_wait(const char *prov, const char *call);
void dkc_misuse(const char *op, const char *text);
void dkc_wait_zero(const __u32 *p);
#define dkc_clear_and_wake(p)	smp_store_release(p, 0)	/* pairs with dkc_wait_zero() */
#define dkc_self()		((const void *)pthread_self())
#define dkc_cancel_off(was)	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, was)
#define dkc_cancel_on(was)	pthread_setcancelstate(was, NULL)

/* lib/unload.c */
#define dkc_owner_name(mod)	((void)(mod), "")
void dkc_owner_registers(void *owner);
void dkc_registry_created(struct dk_registry *reg);
void dkc_registry_destroyed(struct dk_registry *reg);

/* lib/probe.c. Tracers increment these while they are attached. */
#ifdef DKC_PROBES
extern u32 dkc_call_probes DKC_HIDDEN;
extern u32 dkc_change_probes DKC_HIDDEN;
#else
#define dkc_call_probes		0
#define dkc_change_probes	0
#endif
#define dkc_calls_are_traced()	(dkc_call_probes != 0)
#define dkc_traced(point)	(dkc_call_probes != 0)
#define dkc_trace(point, ...)						\
	do {								\
		if (dkc_change_probes)					\
			dkc_trace_##point(__VA_ARGS__);			\
	} while (0)
#define dkc_trace_call(point, ...)					\
	do {								\
		if (dkc_traced(point))					\
			dkc_trace_##point(__VA_ARGS__);			\
	} while (0)

/* lib/trace.c */
unsigned int *dkc_thread_depth(void);

/* lib/grammar.c */
int dkc_schema_check(const char *schema, struct dk_diag *why);
int dkc_op_name_check(const char *text, const char *name, struct dk_diag *why);
int dkc_schema_check_decl(const struct dk_op_decl *decl, struct dk_diag *why);
int dkc_schema_compare(const char *declared, const char *inferred,
		       struct dk_diag *why);

/* lib/grace.c */
struct dkc_grace {
	struct dkc_grace_thread *thread;
};

struct dkc_call_map {
	u8 unused;
};

#define dkc_call_map_init(m, name)	((void)(m))
#define dkc_call_map_destroy(m)	((void)(m))
#define dkc_call_map_wait(m)	((void)(m))

/* lib/count.c: each thread counts in its own memory. */
struct dkc_counts {
	struct dkc_ended *block;
	u32 id;				/* of @block */
};

#define dkc_count_at(c, i)	((struct dk__count){ (c)->id, (i) })

/* Counts a call. If there was no memory for the thread's part of the block, counts it as lost. */
void dkc_count_add(const struct dk__count *at);
u64 dkc_counts_lost(void);

/* lib/gate.c */
#define dkc_section_is_gate(flags)	((void)(flags), false)
#define dkc_slots_are_gate()	true
#define dkc_sees_unloading()	false
bool dkc_gate_owns(const u64 *storage);
#define dkc_slot_of(storage)	((void)(storage), (struct dk__slot){ NULL })
#define dkc_is_out(table)		((table)->kind == DKC_TABLE_PLACEHOLDER)
extern u32 dkc_forks DKC_HIDDEN;
#define dkc_num_forks()		READ_ONCE(dkc_forks)
extern bool dkc_fences DKC_HIDDEN;	/* the kernel supports membarrier() */
#define dkc_has_fast_calls()	dkc_fences

#endif /* _DKC_USER_WORLD_H */
