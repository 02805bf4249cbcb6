/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Defines what unload_torch.cpp and unload_dk.c share: a child process and its parent. In the
 * child, one thread makes calls while another registers and unregisters. The parent prints the
 * child's progress and how the child ended.
 */
#ifndef _SELFTESTS_TORCH_UNLOAD_H
#define _SELFTESTS_TORCH_UNLOAD_H

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Parent and child share this memory, so that the parent can read it after a crash of the child. */
struct tally {
	unsigned long wanted;		/* calls to make */
	unsigned long calls;		/* calls that have begun */
	unsigned long served;		/* calls that a function served */
	unsigned long served_by_guest;	/* by the function that is registered and unregistered */
	unsigned long registrations;	/* of the guest, each followed by an unregistration */
	int begun;			/* the guest was registered for the first time */
	int stop;
};

#define TALLY_SET(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define TALLY_GET(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)

/* Waits for a call while the guest is registered. Otherwise few calls would reach the guest. */
static inline void unload_meet_a_call(struct tally *t)
{
	unsigned long n = TALLY_GET(t->calls);

	__atomic_store_n(&t->begun, 1, __ATOMIC_RELEASE);
	while (TALLY_GET(t->calls) < n + 2 && !TALLY_GET(t->stop))
		sched_yield();
}

/* Delays the first call. Otherwise a million calls might be made before the other thread runs. */
static inline void unload_await_a_guest(const struct tally *t)
{
	while (!__atomic_load_n(&t->begun, __ATOMIC_ACQUIRE))
		sched_yield();
}

static inline double unload_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Formats a number as 12 345 678. */
static inline const char *unload_number(unsigned long n, char text[32])
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%lu", n), out = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			text[out++] = ' ';
		text[out++] = digits[i];
	}
	text[out] = 0;
	return text;
}

static inline void unload_progress(const char *name, const struct tally *t, double seconds)
{
	char calls[32], regs[32];

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%s: %5.1f s, %s calls, %s registrations ", name, seconds,
			unload_number(TALLY_GET(t->calls), calls),
			unload_number(TALLY_GET(t->registrations), regs));
}

/* Prints the result of a run. Returns 0 for success, 3 after a crash, 1 otherwise. */
static inline int unload_tell(const char *name, const struct tally *t, double seconds,
			      int status, int killed)
{
	char calls[32], regs[32], lost[32];

	unload_number(t->calls, calls);
	unload_number(t->registrations, regs);
	unload_number(t->calls - t->served, lost);
	if (WIFSIGNALED(status) && !killed) {
		printf("%-15s crashed (SIG%s) after %.3f s: %s calls, %s registrations\n", name,
		       sigabbrev_np(WTERMSIG(status)), seconds, calls, regs);
		return 3;
	}
	printf("%-15s %s in %.1f s: %s calls, %s lost, %s registrations\n", name,
	       killed ? "stopped" : WEXITSTATUS(status) ? "failed" : "completed", seconds,
	       calls, lost, regs);
	return killed || WEXITSTATUS(status) || t->calls != t->wanted || t->served != t->calls ||
	       !t->registrations || !t->served_by_guest;
}

/* The arguments are CALLS [SECONDS]. The child exits with the result of @run. */
static inline int unload_main(const char *name, int argc, char **argv,
			      int (*run)(struct tally *t))
{
	double limit = argc > 2 ? atof(argv[2]) : 1e9, begin, seconds, told = 0;
	struct tally *t = (struct tally *)mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
					       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, killed = 0;
	pid_t child;

	if (t == MAP_FAILED || argc < 2) {
		fprintf(stderr, "usage: %s CALLS [SECONDS]\n", argv[0]);
		return 2;
	}
	t->wanted = strtoul(argv[1], NULL, 0);
	begin = unload_now();
	child = fork();
	if (child < 0)
		return 2;
	if (!child)
		_exit(run(t));
	while (!waitpid(child, &status, WNOHANG)) {
		seconds = unload_now() - begin;
		if (seconds - told > 0.2) {
			unload_progress(name, t, seconds);
			told = seconds;
		}
		if (seconds > limit && !killed) {
			killed = 1;
			kill(child, SIGKILL);
		}
		usleep(1000);
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	return unload_tell(name, t, unload_now() - begin, status, killed);
}

#endif
