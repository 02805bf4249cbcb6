// SPDX-License-Identifier: GPL-2.0-only
/*
 * What it costs that a provider with thousands of functions leaves: grace
 * periods are counted where they are waited for.
 */
#include "test.h"

#define OPERATORS	3500
#define NAME		16

/* ---- how many grace periods a task or thread waits for ------------------------ */

static unsigned int waited_for;

#if T_KERNEL
#include <linux/kprobes.h>
#include <linux/rcupdate.h>

#define SEQUENCE_SHIFT	2	/* RCU_SEQ_CTR_SHIFT */

static struct task_struct *watched;
static unsigned long sequence;	/* when the first one began to be waited for */

static int on_synchronize(struct kprobe *p, struct pt_regs *regs)
{
	if (current == watched && !waited_for++)
		sequence = get_state_synchronize_rcu();
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "synchronize_rcu",
	.pre_handler = on_synchronize,
};

static bool count_begin(void)
{
	watched = current;
	waited_for = 0;
	return !register_kprobe(&probe);
}

static void count_end(void)
{
	unsigned long now = get_state_synchronize_rcu();

	unregister_kprobe(&probe);
	t_note("RCU's sequence has gone on by %lu since the first",
	       waited_for ? (now - sequence) >> SEQUENCE_SHIFT : 0);
}
#else
#include "graces.h"

void __wrap_urcu_bp_synchronize_rcu(void)
{
	__atomic_fetch_add(&waited_for, 1, __ATOMIC_RELAXED);
	__real_urcu_bp_synchronize_rcu();
}

static bool count_begin(void)
{
	__atomic_store_n(&waited_for, 0, __ATOMIC_RELAXED);
	return true;
}

static void count_end(void)
{
}
#endif

/* ---- a provider with many functions ------------------------------------------- */

static struct dk_op_decl *decls;
static struct dk_impl *impls;
static char (*names)[NAME];

static void make_tables(void)
{
	unsigned int i;

	decls = t_alloc(OPERATORS * sizeof(*decls));
	impls = t_alloc(OPERATORS * sizeof(*impls));
	names = t_alloc(OPERATORS * sizeof(*names));
	for (i = 0; i < OPERATORS; i++) {
		snprintf(names[i], NAME, "graces::%u", i);
		decls[i] = t_decl(names[i]);
		impls[i] = t_impl(&decls[i], DK_CPU, i % T_FUNCTIONS);
	}
}

static void free_tables(void)
{
	t_free(decls);
	t_free(impls);
	t_free(names);
}

static void one_leave_of_many_functions(void)
{
	struct dk_provider prov, host;
	unsigned int i;

	make_tables();
	t_open("v1", DK_REGISTRY_STOCKED);
	t_join(&host, "host");
	t_join(&prov, "prov");
	for (i = 0; i < OPERATORS; i++) {
		if (!CHECK_OK(dk_op_define(&host, &decls[i], 0, &t_why)))
			break;
		t_pause();
	}
	CHECK_OK(dk_impls_register(&prov, impls, OPERATORS, &t_why));
	if (count_begin()) {
		CHECK_OK(dk_provider_unregister(&prov));
		count_end();
		t_note("%u functions, waited for %u grace periods", OPERATORS, waited_for);
		CHECK(waited_for >= 1 && waited_for <= 2);
	} else {
		t_skip("this kernel has no kprobes");
		t_leave(&prov);
	}
	t_leave(&host);
	t_close();
	free_tables();
}

T_SUITE(graces, T(one_leave_of_many_functions));
