/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Supplies the services of lib/core/base/world.h on bare metal. Functions are in bare.c. */
#ifndef _DKC_BARE_WORLD_H
#define _DKC_BARE_WORLD_H

#include "kernel.h"

#define DKC_BUCKETS		16
#define DKC_FIRST_OPS		16
#define DKC_NOTICE_MS		0
#define dkc_notice_wait(prov, call)	((void)(call))
#define dkc_misuse(op, text)	((void)(op))
#define dkc_free_table_rcu(table)	kvfree_rcu(table, rcu)
#define dkc_flush_retired()	do { } while (0)
#define dkc_now()		((u64)1)
#define dkc_in_atomic()		(dk__bare_sections > 0)
#define dkc_self()		((const void *)&dk__bare_sections)
#define dkc_wait_zero(p)	do { } while (0)
#define dkc_clear_and_wake(p)	(*(p) = 0)
#define dkc_cancel_off(was)	(*(was) = 0)
#define dkc_cancel_on(was)	((void)(was))
#define dkc_owner_name(mod)	((void)(mod), "")
#define dkc_owner_registers(owner)	do { } while (0)
#define dkc_registry_created(reg)	do { } while (0)
#define dkc_registry_destroyed(reg)	do { } while (0)
#define dkc_thread_depth()	((unsigned int *)NULL)
#define dkc_schema_check(schema, why)	0
#define dkc_op_name_check(text, name, why)	0
#define dkc_schema_check_decl(decl, why)	0
#define dkc_schema_compare(declared, inferred, why)	0

#define dkc_calls_are_traced()	false
#define dkc_traced(point)	false
#define dkc_num_forks()		0U
#define dkc_trace(point, ...)	do { } while (0)
#define dkc_trace_call(point, ...)	do { } while (0)

struct dkc_grace {
	u8 unused;
};

struct dkc_call_map {
	u8 unused;
};

#define dkc_call_map_init(m, name)	((void)(m))
#define dkc_call_map_destroy(m)	((void)(m))
#define dkc_call_map_wait(m)	((void)(m))

struct dkc_counts {
	u64 *n;
};

#define dkc_count_at(c, i)	((struct dk__count){ &(c)->n[i] })
#define dkc_count_add(at)	dk__add_count(at)
#define dkc_counts_lost()	((u64)0)

#define dkc_section_is_gate(flags)	((flags) & DK_OP_ATOMIC)
#define dkc_slots_are_gate()	false
#define dkc_sees_unloading()	false
#define dkc_gate_owns(storage)	true
#define dkc_slot_of(storage)	((struct dk__slot){ storage })
#define dkc_is_out(table)		(!(table))
#define dkc_has_fast_calls()	true

#endif /* _DKC_BARE_WORLD_H */
