// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the torture test as a program, with signal handlers, forks and a plugin in addition.
 */
#include "torture.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const breaks[] = {
#define TORTURE_NAME(NAME, text) text,
	TORTURE_BREAKS(TORTURE_NAME)
};

#define EXTRA_TIME	60000000	/* us, to wait until every kind of event has happened */

static unsigned int duration = 10;
static bool quit;

void torture_print(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

/* ---- signals: handlers that make calls ------------------------------------------------- */

static struct w_thread victim, signaller;
static struct actor *in_handler;
static sigset_t interrupts;

static void handler(int signal)
{
	int saved = errno;

	torture_call(in_handler, false, 0);
	/* the interrupted call takes longer, so that more changes happen during it */
	if (w_random(&in_handler->random) & 1)
		w_sleep_us(300);
	errno = saved;
}

static void send_signals(void *data)
{
	while (!w_load(torture.stop)) {
		pthread_kill(victim.thread, SIGUSR1);
		w_sleep_us(200);
	}
}

/* The first call of a thread allocates, which a signal handler must not interrupt. */
static void interrupted_thread(void *actor)
{
	if (dk_thread_init())
		torture_error(actor, E_REFUSED, "a thread was initialised", NULL, 0, 0);
	pthread_sigmask(SIG_UNBLOCK, &interrupts, NULL);
	torture_read(actor);
}

static int signals_begin(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct actor *a = torture_actor(false, false);
	int err;

	in_handler = torture_actor(true, false);
	sigaction(SIGUSR1, &action, NULL);
	/* all other threads block the signal */
	sigemptyset(&interrupts);
	sigaddset(&interrupts, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &interrupts, NULL);
	err = w_start(&victim, "victim", interrupted_thread, a);
	return err ? err : w_start(&signaller, "signaller", send_signals, NULL);
}

static void signals_end(void)
{
	w_join(&signaller);
	w_join(&victim);
}

/* ---- forks: a child makes calls and a change --------------------------------------------- */

static struct w_thread forker;
static struct actor *forks, *in_child;

/* Only the default registry can be changed in a child. */
static void change_in_child(void)
{
	struct dk_provider p = DK_PROVIDER("torture-child");

	if (torture.reg != dk_registry_default())
		return;
	if (dk_provider_register(&p, NULL) || dk_provider_unregister(&p))
		torture_error(in_child, E_REFUSED, "a change in a child", NULL, 0, 0);
}

static int child(void)
{
	unsigned int i;

	alarm(60);
	for (i = 0; i < 100; i++) {
		torture_call(in_child, false, 0);
		if (i == 50)
			change_in_child();
	}
	for (i = 0; i < NUM_ERRORS; i++)
		if (in_child->errors[i])
			return 1 + i;
	return 0;
}

static void fork_now(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(child());
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		bump(forks->changes[C_FORK]);
	else if (WIFEXITED(status) && WEXITSTATUS(status) <= NUM_ERRORS)
		torture_error(forks, WEXITSTATUS(status) - 1, "in a child", NULL, status, 0);
	else
		torture_error(forks, E_LOST, "a child died", NULL, status, 0);
}

static void fork_often(void *data)
{
	while (!w_load(torture.stop)) {
		fork_now();
		w_sleep_us(50000);
	}
}

/* ---- the plugin is loaded and unloaded --------------------------------------------- */

static struct w_thread loader;
static struct actor *loads;
static char plugin_path[PATH_MAX];

static bool load_and_unload(void)
{
	void *so = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
	int (*load)(void) = so ? (int (*)(void))dlsym(so, "torture_plugin_load") : NULL;
	void (*unload)(void) = so ? (void (*)(void))dlsym(so, "torture_plugin_unload") : NULL;

	if (!load || !unload) {
		torture_print("# %s", dlerror());
		return false;
	}
	if (!load()) {
		w_sleep_us(1 + w_one_of(&loads->random, 3000));
		unload();
	}
	dlclose(so);
	return true;
}

static void loader_run(void *data)
{
	while (!w_load(torture.stop))
		if (!load_and_unload())
			return;
}

/* The plugin is in the program's folder. */
static bool find_plugin(void)
{
	static const char name[] = "dk_torture_plugin.so";
	ssize_t n = readlink("/proc/self/exe", plugin_path, sizeof(plugin_path) - sizeof(name));

	if (n <= 0)
		return false;
	while (n && plugin_path[n - 1] != '/')
		n--;
	memcpy(plugin_path + n, name, sizeof(name));
	return !access(plugin_path, R_OK);
}

/* ---- the program ------------------------------------------------------------- */

static void interrupted(int signal)
{
	w_store(quit, true);
}

static int others_begin(void)
{
	int err = signals_begin();

	forks = torture_actor(false, false);
	in_child = torture_actor(true, false);
	loads = torture_actor(false, false);
	err = err ? err : w_start(&loader, "loader", loader_run, NULL);
	if (err || torture.set.no_forks)
		return err;
	return w_start(&forker, "forker", fork_often, NULL);
}

static void others_end(void)
{
	w_store(torture.stop, true);
	signals_end();
	w_join(&loader);
	if (!torture.set.no_forks)
		w_join(&forker);
}

/* Returns false after @end, or up to EXTRA_TIME later if some kinds have not happened yet. */
static bool must_continue(u64 end)
{
	u64 now = w_now_us();

	if (w_load(quit))
		return false;
	if (!duration || now < end)
		return true;
	return !torture.set.breaks && now < end + EXTRA_TIME && torture_missing();
}

static void run_until_end(void)
{
	u64 end = w_now_us() + duration * 1000000ULL;
	u64 next = w_now_us() + 10000000;

	while (must_continue(end)) {
		w_sleep_us(50000);
		if (w_now_us() < next)
			continue;
		torture_progress();
		next += 10000000;
	}
}

static int run(const struct settings *set)
{
	unsigned int failed;

	if (torture_begin(set))
		return 1;
	if (others_begin()) {
		torture_print("Bail out! cannot create threads");
		return 1;
	}
	run_until_end();
	others_end();
	failed = torture_end();
	return failed ? 1 : 0;
}

static const char usage[] =
	"usage: dk_torture [OPTION...]\n"
	"\n"
	"Makes calls while everything changes, and reports wrong results.\n"
	"\n"
	"  --duration SECONDS  duration (default 10); 0: until it is interrupted\n"
	"  --readers N         threads that call (default: CPUs, at least 2)\n"
	"  --writers N         threads that change, 1 to 8 (default 2)\n"
	"  --seed N            seed of the random numbers (default: the time)\n"
	"  --resolve           without tables: the rules route each call\n"
	"  --break KIND        make a mistake on purpose, which must be found:\n"
	"                      stale, lost, double, wrong, refused, sum, idle or left\n";

static int bad_usage(void)
{
	fputs(usage, stderr);
	return 2;
}

static bool number(const char *text, u64 min, u64 max, u64 *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end && !errno && *n >= min && *n <= max;
}

static bool break_named(const char *name, unsigned int *n)
{
	for (*n = 0; *n < NUM_BREAKS; ++*n)
		if (!strcmp(name, breaks[*n]))
			return true;
	return false;
}

static bool option(int opt, const char *value, struct settings *set)
{
	u64 n = 0;

	switch (opt) {
	case 'd':
		if (!number(value, 0, 1000000000, &n))
			return false;
		duration = n;
		return true;
	case 'r':
		if (!number(value, 1, MAX_READERS, &n))
			return false;
		set->readers = n;
		return true;
	case 'w':
		if (!number(value, 1, MAX_WRITERS, &n))
			return false;
		set->writers = n;
		return true;
	case 's':
		return number(value, 0, ~0ULL, &set->seed);
	case 'R':
		set->resolve = true;
		return true;
	case 'b':
		return break_named(value, &set->breaks);
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "duration", required_argument, NULL, 'd' },
		{ "readers", required_argument, NULL, 'r' },
		{ "writers", required_argument, NULL, 'w' },
		{ "seed", required_argument, NULL, 's' },
		{ "resolve", no_argument, NULL, 'R' },
		{ "break", required_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	unsigned int cpus = w_cpus();
	struct settings set = {
		.readers = cpus < 2 ? 2 : cpus > MAX_READERS ? MAX_READERS : cpus,
		.writers = 2,
		.others = 5,
		.seed = time(NULL),
		/* a child inherits locks of the sanitizer that other threads might hold */
		.no_forks = W_SANITIZED,
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (!option(opt, optarg, &set))
			return bad_usage();
	}
	if (optind != argc)
		return bad_usage();
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	if (!find_plugin()) {
		torture_print("Bail out! cannot read the plugin %s", plugin_path);
		return 1;
	}
	return run(&set);
}
