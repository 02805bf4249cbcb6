/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads and child processes for tests that can hang if something is wrong. If a test
 * hangs, the program ends after some time. Userspace only.
 */
#ifndef _SELFTESTS_API_BOUNDED_H
#define _SELFTESTS_API_BOUNDED_H

#include "../world.h"
#include "core/base/world.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>

/*
 * For a suite's setup(): ends the program if the test takes more than T_LIMIT seconds, which is
 * far more than any test needs.
 */
#ifndef T_LIMIT
#define T_LIMIT		120
#endif
void t_bound(void);

/* Starts a thread; the program ends if that fails. */
void t_start(pthread_t *thread, void *(*run)(void *data), void *data);
/* Waits for a thread, which returns 0 or an error as a pointer, and checks that it is 0. */
void t_join_ok(pthread_t thread);

/* Forks, and checks that @run returns 0 in the child. */
bool t_in_child(int (*run)(void));

/* t_stay() sets *@inside, and returns when t_may_return is set. */
extern int t_may_return;
void t_stay(int *inside);
/* Waits until *@flag is set. */
void t_await(const int *flag);
/* Releases a thread that is in t_stay(), and waits for it as t_join_ok() does. */
void t_release_and_join(pthread_t thread);

/* Returns true if the provider is being unregistered, or is not registered. */
bool t_is_unregistering(struct dk_provider *prov);
/* Returns the number of threads that wait for calls of the provider. */
unsigned int t_num_waiting(const struct dk_provider *prov);

/* ThreadSanitizer is slow, and a child cannot start threads under it. */
#ifdef DKC_TSAN
#define T_TSAN		1
#else
#define T_TSAN		0
#endif

#endif /* _SELFTESTS_API_BOUNDED_H */
