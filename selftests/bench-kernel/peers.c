// SPDX-License-Identifier: GPL-2.0-only
/* Measures kernel primitives that calls use, and other kernel services that route calls. */
#include <crypto/hash.h>
#include <linux/completion.h>
#include <linux/crypto.h>
#include <linux/dmaengine.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/percpu-refcount.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/static_call.h>

#include "bench.h"

#define ALG "sha256"

/* ---- primitives ------------------------------------------------------------- */

static __attribute__((__noipa__)) int fn(struct dk_obj *x, long n)
{
	return 0;
}

DEFINE_STATIC_CALL(dk_bench_fn, fn);
DEFINE_STATIC_SRCU(srcu);
static DEFINE_SPINLOCK(lock);
static struct percpu_ref ref;
static DECLARE_COMPLETION(ref_gone);
static struct dk_obj object;

static void direct(unsigned int n)
{
	while (n--)
		fn(&object, 1);
}

static void indirect(unsigned int n)
{
	int (*at)(struct dk_obj *x, long n) = fn;

	OPTIMIZER_HIDE_VAR(at);
	while (n--)
		at(&object, 1);
}

/* The floor: a call through a table with a known index. */
static void table(unsigned int n)
{
	int (*const fns[])(struct dk_obj *x, long n) = { fn, fn };
	int (*const *at)(struct dk_obj *x, long n) = fns;

	OPTIMIZER_HIDE_VAR(at);
	while (n--)
		at[1](&object, 1);
}

static void through_static_call(unsigned int n)
{
	while (n--)
		static_call(dk_bench_fn)(&object, 1);
}

static void by_rcu(unsigned int n)
{
	while (n--) {
		rcu_read_lock();
		rcu_read_unlock();
	}
}

static void by_srcu(unsigned int n)
{
	while (n--)
		srcu_read_unlock(&srcu, srcu_read_lock(&srcu));
}

static void by_ref(unsigned int n)
{
	while (n--) {
		percpu_ref_get(&ref);
		percpu_ref_put(&ref);
	}
}

const struct bench bench_primitives[] = {
	{ .name = "direct-call", .loop = direct },
	{ .name = "indirect-call", .loop = indirect },
	{ .name = "static_call", .loop = through_static_call },
	{ .name = "rcu", .loop = by_rcu },
	{ .name = "srcu", .loop = by_srcu },
	{ .name = "percpu_ref", .loop = by_ref },
	{ }
};

/* ---- peers ------------------------------------------------------------------ */

static int notified(struct notifier_block *b, unsigned long event, void *data)
{
	return NOTIFY_OK;
}

static ATOMIC_NOTIFIER_HEAD(chain);
static struct notifier_block block = { .notifier_call = notified };

static void by_lock(unsigned int n)
{
	while (n--) {
		spin_lock(&lock);
		spin_unlock(&lock);
	}
}

/* The usual way to call a driver that can be unloaded. */
static void by_module(unsigned int n)
{
	int (*at)(struct dk_obj *x, long n) = fn;

	OPTIMIZER_HIDE_VAR(at);
	while (n--)
		if (try_module_get(THIS_MODULE)) {
			at(&object, 1);
			module_put(THIS_MODULE);
		}
}

static void by_chain(unsigned int n)
{
	while (n--)
		atomic_notifier_call_chain(&chain, 1, NULL);
}

/* Not every kernel has hash algorithms. */
#if IS_REACHABLE(CONFIG_CRYPTO_HASH)
static void has_alg(unsigned int n)
{
	while (n--)
		crypto_has_alg(ALG, 0, 0);
}

static void alloc_shash(unsigned int n)
{
	while (n--)
		crypto_free_shash(crypto_alloc_shash(ALG, 0, 0));
}
#endif

static void find_channel(unsigned int n)
{
	while (n--)
		dma_find_channel(DMA_MEMCPY);
}

static void allocate(unsigned int n)
{
	while (n--)
		kfree(kmalloc(64, GFP_KERNEL));
}

const struct bench bench_peers[] = {
	{ .name = "floor", .loop = table },
	{ .name = "spin_lock", .loop = by_lock },
	{ .name = "module_get", .loop = by_module },
	{ .name = "notifier", .loop = by_chain },
	{ .name = "dma_find_channel", .loop = find_channel },
	{ .name = "kmalloc", .loop = allocate },
#if IS_REACHABLE(CONFIG_CRYPTO_HASH)
	{ .name = "crypto_has_alg", .loop = has_alg, .n = 64 },
	{ .name = "crypto_shash", .loop = alloc_shash, .n = 64 },
#endif
	{ }
};

static void ref_released(struct percpu_ref *r)
{
	complete(&ref_gone);
}

int bench_peers_init(void)
{
#if IS_REACHABLE(CONFIG_CRYPTO_HASH)
	if (!crypto_has_alg(ALG, 0, 0))
		return -ENOENT;
#endif
	atomic_notifier_chain_register(&chain, &block);
	return percpu_ref_init(&ref, ref_released, 0, GFP_KERNEL);
}

void bench_peers_exit(void)
{
	percpu_ref_kill(&ref);
	wait_for_completion(&ref_gone);
	percpu_ref_exit(&ref);
}
