// SPDX-License-Identifier: GPL-2.0-only
/* See bounded.h. */
#include "bounded.h"
#include "core/change/change.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int t_may_return;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over = PTHREAD_COND_INITIALIZER;
static pthread_t watcher;
static bool is_over;
static pid_t child;

/* A thread is used instead of SIGALRM, because liburcu blocks all signals where it can hang. */
static void *watch(void *data)
{
	static const char text[] = "Bail out! a test hangs\n";
	struct timespec end;
	int err = 0;

	/* not CLOCK_REALTIME, which can be set while a test runs */
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += T_LIMIT;
	pthread_mutex_lock(&lock);
	while (!is_over && !err)
		err = pthread_cond_clockwait(&over, &lock, CLOCK_MONOTONIC, &end);
	if (!is_over) {
		if (w_load_acquire(child) > 0)
			kill(w_load_acquire(child), SIGKILL);
		_exit(write(STDOUT_FILENO, text, sizeof(text) - 1) < 0 ? 2 : 1);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void end_watch(void)
{
	pthread_mutex_lock(&lock);
	is_over = true;
	pthread_cond_signal(&over);
	pthread_mutex_unlock(&lock);
	pthread_join(watcher, NULL);
}

void t_bound(void)
{
	is_over = false;
	t_start(&watcher, watch, NULL);
	t_at_close(end_watch);
}

void t_start(pthread_t *thread, void *(*run)(void *data), void *data)
{
	if (CHECK_OK(pthread_create(thread, NULL, run, data)))
		return;
	printf("Bail out! no thread\n");
	exit(1);
}

void t_join_ok(pthread_t thread)
{
	void *err;

	pthread_join(thread, &err);
	CHECK_INT((long)err, 0);
}

bool t_in_child(int (*run)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(run());
	if (!CHECK(pid > 0))
		return false;
	w_store_release(child, pid);
	waitpid(pid, &status, 0);
	w_store_release(child, 0);
	return CHECK_INT(status, 0);
}

void t_stay(int *inside)
{
	w_store_release(*inside, 1);
	while (!w_load_acquire(t_may_return))
		w_sleep_us(500);
}

void t_await(const int *flag)
{
	while (!w_load_acquire(*flag))
		sched_yield();
}

void t_release_and_join(pthread_t thread)
{
	w_store_release(t_may_return, 1);
	t_join_ok(thread);
}

bool t_is_unregistering(struct dk_provider *prov)
{
	/* -EBUSY while the provider is being unregistered, -EINVAL when it is unregistered */
	return dk_op_undefine(prov, "bounded::none", NULL) != -ENOENT;
}

unsigned int t_num_waiting(const struct dk_provider *prov)
{
	struct dk_registry *reg = prov->registry ? prov->registry : dk_registry_default();
	unsigned int n;

	mutex_lock(&reg->lock);
	n = prov->core ? prov->core->waiters : 0;
	mutex_unlock(&reg->lock);
	return n;
}
