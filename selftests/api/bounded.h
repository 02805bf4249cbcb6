/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads and child processes that could hang if something is wrong: after some time the
 * program is ended. Userspace only.
 */
#ifndef _SELFTESTS_API_BOUNDED_H
#define _SELFTESTS_API_BOUNDED_H

#include "../world.h"
#include "core/base/world.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>

/* A suite's setup(): each test ends within T_LIMIT seconds, far more than any takes. */
#ifndef T_LIMIT
#define T_LIMIT		120
#endif
void t_bound(void);

/* Starts a thread; the program ends if that fails. */
void t_start(pthread_t *thread, void *(*run)(void *data), void *data);
/* Wait for a thread that returns 0 or an error, as a pointer, and check that it is 0. */
void t_join_ok(pthread_t thread);

/* Fork, and check that @run returns 0 in the child. */
bool t_in_child(int (*run)(void));

/* Set *@inside, and return when t_let_go is set. */
extern int t_let_go;
void t_stay(int *inside);
/* Wait until *@flag is set. */
void t_await(const int *flag);
/* Releases a thread that is in t_stay(), and waits for it as t_join_ok() does. */
void t_let_go_and_join(pthread_t thread);

/* While a provider is being unregistered, it registers and unregisters nothing. */
bool t_is_unregistering(struct dk_provider *prov);
/* How many threads wait for calls of the provider. */
unsigned int t_num_waiting(const struct dk_provider *prov);

/* ThreadSanitizer is slow, and a child cannot start threads under it. */
#ifdef DKC_TSAN
#define T_TSAN		1
#else
#define T_TSAN		0
#endif

#endif /* _SELFTESTS_API_BOUNDED_H */
