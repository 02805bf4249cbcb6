// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the grace periods that pass, and those that the caller waits for, when a provider with
 * thousands of functions is unregistered.
 */
#include "test.h"

#define OPERATORS	3500
#define NAME		16
#define TRIES		5

/* ---- the number of grace periods that a thread waits for ---------------------- */

static unsigned int num_waits;

#if T_KERNEL
#include <linux/kprobes.h>
#include <linux/rcupdate.h>

static struct task_struct *watched;

static int on_synchronize(struct kprobe *p, struct pt_regs *regs)
{
	if (current == watched)
		num_waits++;
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "synchronize_rcu",
	.pre_handler = on_synchronize,
};

static bool count_begin(void)
{
	watched = current;
	num_waits = 0;
	return !register_kprobe(&probe);
}

static void count_end(void)
{
	unregister_kprobe(&probe);
}

static void wait_for_one(void)
{
	synchronize_rcu();
}

/*
 * Returns RCU's sequence number at the end of a full grace period that would begin now. A grace
 * period adds 4 to this number (1 << RCU_SEQ_CTR_SHIFT). The low bits are set while a grace period
 * is running. In a kernel for one CPU (TINY_RCU), a grace period adds 2. A caller subtracts an
 * earlier result from a later one. If a grace period of other code begins before the later result
 * is read, the difference is larger by one grace period.
 */
static unsigned long sequence(void)
{
	return get_state_synchronize_rcu();
}
#else
#include "grace_periods.h"

#include <unistd.h>

/* Counts the ends of waits for a grace period, because liburcu does not count grace periods. */
static unsigned long num_ended;
void (*after_grace_period)(void);
bool hold_grace_periods;

void __wrap_urcu_bp_synchronize_rcu(void)
{
	__atomic_fetch_add(&num_waits, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&hold_grace_periods, __ATOMIC_ACQUIRE))
		usleep(500);
	__real_urcu_bp_synchronize_rcu();
	__atomic_fetch_add(&num_ended, 1, __ATOMIC_RELAXED);
	if (after_grace_period)
		after_grace_period();
}

static bool count_begin(void)
{
	__atomic_store_n(&num_waits, 0, __ATOMIC_RELAXED);
	return true;
}

static void count_end(void)
{
}

static void wait_for_one(void)
{
	__wrap_urcu_bp_synchronize_rcu();
}

static unsigned long sequence(void)
{
	return __atomic_load_n(&num_ended, __ATOMIC_RELAXED);
}
#endif

/*
 * Returns the smaller of @least and the increase of the sequence since @before. The smallest of a
 * few increases is the one least affected by grace periods of other code.
 */
static unsigned long min_increase(unsigned long least, unsigned long before)
{
	unsigned long passed = sequence() - before;

	return passed < least ? passed : least;
}

static unsigned long one_grace_period(void)
{
	unsigned long least = ~0UL, before;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		before = sequence();
		wait_for_one();
		least = min_increase(least, before);
	}
	return least;
}

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
		snprintf(names[i], NAME, "grace::%u", i);
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

static struct dk_provider host, prov;

static void begin(void)
{
	unsigned int i;

	make_tables();
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&host, "host");
	for (i = 0; i < OPERATORS; i++) {
		if (!CHECK_OK(dk_op_define(&host, &decls[i], 0, &t_why)))
			break;
		t_pause();
	}
}

static void end(void)
{
	t_close();
	free_tables();
}

static void register_guest(void)
{
	t_join(&prov, "prov");
	CHECK_OK(dk_impls_register(&prov, impls, OPERATORS, &t_why));
}

/* Returns the smallest increase of the sequence while withdrawn functions are drained. */
static unsigned long drain_of_many(void)
{
	unsigned long least = ~0UL, before;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		register_guest();
		CHECK_OK(dk_impls_withdraw(&prov, impls, &t_why));
		before = sequence();
		CHECK_OK(dk_provider_drain(&prov));
		least = min_increase(least, before);
		t_unregister(&prov);
	}
	return least;
}

/*
 * Unregistering builds thousands of tables and frees the old ones. On a slow machine, many grace
 * periods of other code pass in that time, but far fewer than there are functions.
 */
static void many_functions_need_few_grace_periods(void)
{
	unsigned long one = one_grace_period(), drain, unregister, before;

	begin();
	drain = drain_of_many();
	register_guest();
	before = sequence();
	CHECK_OK(dk_provider_unregister(&prov));
	unregister = sequence() - before;
	end();
	t_note("%u functions: the sequence grows by %lu for a drain, by %lu to unregister,"
	       " by %lu for one grace period", OPERATORS, drain, unregister, one);
	CHECK(one);
	CHECK(drain >= one && drain <= 2 * one);
	CHECK(unregister >= one && unregister < OPERATORS / 2 * one);
}

static void unregister_waits_for_at_most_two_grace_periods(void)
{
	begin();
	register_guest();
	if (count_begin()) {
		CHECK_OK(dk_provider_unregister(&prov));
		count_end();
		t_note("%u functions, waited for %u grace periods", OPERATORS, num_waits);
		CHECK(num_waits >= 1 && num_waits <= 2);
	} else {
		t_skip("this kernel has no kprobes");
		t_unregister(&prov);
	}
	end();
}

T_SUITE(grace_periods,
	T(many_functions_need_few_grace_periods),
	T(unregister_waits_for_at_most_two_grace_periods));
