/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Provides the environment of tests with threads, for the kernel and for userspace:
 *
 * w_load() w_store()	a variable that other threads read or write
 * w_load_acquire() w_store_release() w_fence()
 * struct w_count		a sum that all threads add to: w_add(), w_sum(); w_next() adds one
 *			and returns the sum
 * struct w_mutex		W_MUTEX(); w_mutex_lock() w_mutex_unlock()
 * w_alloc() w_free()	zeroed memory; NULL if allocation fails
 * w_cpus()		number of CPUs
 * w_now_us()		monotonic time
 * w_div()			64-bit division
 * w_sleep_us()		sleep for about this time
 * w_spin_us()		busy-wait for this time
 * w_pause()		lets other threads run; called between the steps of long work
 * w_yield_to_all()	in the kernel, gives the calling thread the lowest priority of nice(2)
 * struct w_thread		w_start() returns 0 or an error; w_join() waits for the thread's end
 *
 * W_KERNEL is 1 in the kernel, W_SANITIZED in a program built with ASan or TSan.
 */
#ifndef _SELFTESTS_WORLD_H
#define _SELFTESTS_WORLD_H

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

#define W_KERNEL	1
#define W_SANITIZED	0

#define w_load(x)		READ_ONCE(x)
#define w_store(x, v)		WRITE_ONCE(x, v)
#define w_load_acquire(x)	smp_load_acquire(&(x)) /* documented where it is used */
#define w_store_release(x, v)	smp_store_release(&(x), v) /* documented where it is used */
#define w_fence()		smp_mb() /* documented where it is used */

struct w_count {
	atomic64_t n;
};

#define w_add(c, by)		atomic64_add(by, &(c)->n)
#define w_next(c)		((u64)atomic64_inc_return(&(c)->n))
#define w_sum(c)		((u64)atomic64_read(&(c)->n))

struct w_mutex {
	struct mutex m;		/* documented where it is used */
};

#define W_MUTEX(name)		{ __MUTEX_INITIALIZER((name).m) }
#define w_mutex_lock(l)		mutex_lock(&(l)->m)
#define w_mutex_unlock(l)	mutex_unlock(&(l)->m)

#define w_alloc(size)		kvzalloc(size, GFP_KERNEL)
#define w_free(p)		kvfree(p)
#define w_cpus()		num_online_cpus()
#define w_now_us()		((u64)ktime_to_us(ktime_get()))
#define w_div(n, by)		div64_u64(n, by)
#define w_spin_us(us)		udelay(us)
#define w_pause()		cond_resched()
#define w_yield_to_all()	set_user_nice(current, MAX_NICE)

static inline void w_sleep_us(unsigned int us)
{
	usleep_range(us, 2 * us);
}

struct w_thread {
	struct task_struct *task;
	struct completion begun;
	void (*run)(void *data);
	void *data;
};

static inline int w_thread_main(void *data)
{
	struct w_thread *t = data;

	complete(&t->begun);
	t->run(t->data);
	/* do not return before kthread_stop(), which needs a thread that still exists */
	set_current_state(TASK_INTERRUPTIBLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static inline int w_start(struct w_thread *t, const char *name,
			  void (*run)(void *data), void *data)
{
	t->run = run;
	t->data = data;
	init_completion(&t->begun);
	t->task = kthread_run(w_thread_main, t, "%s", name);
	return PTR_ERR_OR_ZERO(t->task);
}

static inline void w_join(struct w_thread *t)
{
	/* w_start() fails if the test is being killed, for example because it takes too long */
	if (IS_ERR(t->task))
		return;
	/*
	 * wait until the thread runs: kthread_run() starts it, but if it is stopped before, it
	 * never runs
	 */
	wait_for_completion(&t->begun);
	kthread_stop(t->task);
}

#else /* userspace */

#include <errno.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#define W_KERNEL	0
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define W_SANITIZED	1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define W_SANITIZED	1
#endif
#endif
#ifndef W_SANITIZED
#define W_SANITIZED	0
#endif
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define w_load(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define w_store(x, v)		__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define w_load_acquire(x)	__atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define w_store_release(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELEASE)
/* not __atomic_thread_fence(), of which gcc warns under ThreadSanitizer */
#define w_fence()		__sync_synchronize()

struct w_count {
	u64 n;
};

#define w_add(c, by)		__atomic_fetch_add(&(c)->n, by, __ATOMIC_RELAXED)
#define w_next(c)		__atomic_add_fetch(&(c)->n, 1, __ATOMIC_RELAXED)
#define w_sum(c)		w_load((c)->n)

struct w_mutex {
	pthread_mutex_t m;
};

#define W_MUTEX(name)		{ PTHREAD_MUTEX_INITIALIZER }
#define w_mutex_lock(l)		pthread_mutex_lock(&(l)->m)
#define w_mutex_unlock(l)	pthread_mutex_unlock(&(l)->m)

#define w_alloc(size)		calloc(1, size)
#define w_free(p)		free(p)
#define w_cpus()		((unsigned int)sysconf(_SC_NPROCESSORS_ONLN))
#define w_pause()		do { } while (0)
#define w_yield_to_all()	do { } while (0)
#define w_div(n, by)		((u64)(n) / (by))

static inline u64 w_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

static inline void w_sleep_us(unsigned int us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000L };

	nanosleep(&t, NULL);
}

static inline void w_spin_us(unsigned int us)
{
	u64 end = w_now_us() + us;

	while (w_now_us() < end)
		;
}

struct w_thread {
	pthread_t thread;
	void (*run)(void *data);
	void *data;
};

static inline void *w_thread_main(void *data)
{
	struct w_thread *t = data;

	t->run(t->data);
	return NULL;
}

static inline int w_start(struct w_thread *t, const char *name,
			  void (*run)(void *data), void *data)
{
	t->run = run;
	t->data = data;
	return -pthread_create(&t->thread, NULL, w_thread_main, t);
}

static inline void w_join(struct w_thread *t)
{
	pthread_join(t->thread, NULL);
}

#endif

/* splitmix64: random numbers of good quality from any state, the same in every run. */
static inline u64 w_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* One number of 0..n-1, without a 64-bit division. */
static inline unsigned int w_one_of(u64 *state, unsigned int n)
{
	return (u64)(u32)w_random(state) * n >> 32;
}

#endif /* _SELFTESTS_WORLD_H */
