// SPDX-License-Identifier: GPL-2.0-only
/*
 * host WHAT PLUGIN...: loads plugins, makes calls, and prints the results. test_plugins.sh compares
 * the output with the expected output.
 */
#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static struct dk_provider host = DK_PROVIDER("host");

static int work_host(struct dk_call *c, struct dk_obj *x, int *number)
{
	*number = HOST;
	return 0;
}

static const struct dk_impl of_host[] = {
	DK_IMPL(work, DK_COMPOSITE_EXPLICIT_AUTOGRAD, work_host),
};

static void report(const char *what, int value)
{
	dprintf(STDOUT_FILENO, "%s: %d\n", what, value);
}

static int call(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int number = 0, error = work(&x, &number);

	return error ? error : number;
}

struct loaded {
	void *handle;
	struct plugin *face;
};

static struct loaded load(const char *path, int elsewhere)
{
	struct loaded p;

	p.handle = elsewhere ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL) :
			       dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!p.handle)
		errx(1, "%s", dlerror());
	p.face = dlsym(p.handle, "plugin");
	if (!p.face)
		errx(1, "%s", dlerror());
	if (!elsewhere)
		p.face->report = report;
	return p;
}

static void unload(struct loaded p)
{
	if (dlclose(p.handle))
		errx(1, "%s", dlerror());
}

/* ---- bug 5: a plugin is loaded twice, or its loading fails ------------------- */

static void twice(char **path)
{
	struct loaded one, two;
	int first;

	for (first = 1; first <= 2; first++) {
		one = load(path[0], 0);
		two = load(path[1], 0);
		report("begin 1", one.face->begin(1, 0));
		report("begin 2", two.face->begin(2, 0));
		report("call", call());
		unload(first == 1 ? one : two);
		report("call", call());
		unload(first == 1 ? two : one);
		report("call", call());
	}
}

static void half(char **path)
{
	struct loaded p;
	int round;

	for (round = 0; round < 2; round++) {
		p = load(path[0], 0);
		report("half a begin", p.face->begin(1, 1));
		report("call", call());
		unload(p);
		report("call", call());
	}
	p = load(path[0], 0);
	report("begin", p.face->begin(1, 0));
	report("call", call());
	unload(p);
}

/* The plugin may use another copy of the library, which has its own registrations. */
static void elsewhere(char **path, int in_a_namespace)
{
	struct loaded p = load(path[0], in_a_namespace);
	int here, number = 0, status = -1;
	pid_t child;

	report("begin", p.face->begin(3, 0));
	here = call();
	report("call here", here);
	report("call there", p.face->call(&number));
	report("by", number);
	child = fork();
	if (!child)
		_exit(call() != here || p.face->call(&number) || number != 3);
	waitpid(child, &status, 0);
	report("both in a child", status);
	report("end", p.face->end());
	report("call here", call());
	unload(p);
	report("call here", call());
	if (!in_a_namespace)
		report("its library stays", !!dlopen("libdispatchkey.so." MAJOR,
						     RTLD_LAZY | RTLD_NOLOAD));
}

/* ---- a copy of the library in the plugin -------------------------------------- */

static atomic_int called, may_return;

static void *call_and_stay(void *face)
{
	int number = 0;

	report("call there", ((struct plugin *)face)->call(&number));
	atomic_store(&called, 1);
	while (!atomic_load(&may_return))
		usleep(1000);
	return NULL;
}

/* A thread uses the plugin's copy of the library, and ends after the plugin was closed. */
static void thread_outlives(char **path)
{
	struct loaded p = load(path[0], 0);
	pthread_t thread;

	report("begin", p.face->begin(3, 0));
	if (pthread_create(&thread, NULL, call_and_stay, p.face))
		errx(1, "no thread");
	while (!atomic_load(&called))
		usleep(1000);
	report("end", p.face->end());
	p.face->report = NULL;
	unload(p);
	atomic_store(&may_return, 1);
	report("the thread ends", pthread_join(thread, NULL));
}

/* ---- plugins are loaded and unloaded while a thread calls ---------------------- */

static atomic_int stop, unexpected;
static atomic_ulong by_plugin, by_host;

static void *call_all_the_time(void *unused)
{
	while (!atomic_load(&stop)) {
		int number = call();

		if (number == 9)
			atomic_fetch_add(&by_plugin, 1);
		else if (number == HOST)
			atomic_fetch_add(&by_host, 1);
		else
			atomic_store(&unexpected, number);
	}
	return NULL;
}

/* Waits until *@calls grows, or an unexpected result was seen. */
static void wait_for(atomic_ulong *calls)
{
	unsigned long before = atomic_load(calls);

	while (atomic_load(calls) == before && !atomic_load(&unexpected))
		usleep(100);
}

static void load_while_calling(char **path)
{
	struct loaded p;
	pthread_t thread;
	int round, wrong = 0;

	if (pthread_create(&thread, NULL, call_all_the_time, NULL))
		errx(1, "no thread");
	for (round = 0; round < 50; round++) {
		p = load(path[0], 0);
		p.face->report = NULL;
		wrong += p.face->begin(9, 0) || call() != 9;
		wait_for(&by_plugin);
		unload(p);
		wrong += call() != HOST;
		wait_for(&by_host);
	}
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	report("wrong", wrong);
	report("strange", atomic_load(&unexpected));
}

/* ---- bug 6: the end of the process --------------------------------------------- */

static bool ends;
static struct dk_op *handle;
static struct dk_library lib = DK_LIBRARY(&host, IMPL, "plugins", DK_UNDEFINED);
static atomic_int unexpected_late, served;

/* The write function of a stream that is flushed at exit, after all destructors. */
static ssize_t late_write(void *unused, const char *text, size_t size)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_provider more = DK_PROVIDER("more");
	int number = 0;

	report("late: call", call());
	report("late: call by handle", work_at(handle, &dk_local_default, &x, &number));
	report("late: register", dk_provider_register(&more, NULL));
	report("late: release a library", dk_library_unregister(&lib));
	report("late: unregister", dk_provider_unregister(&host));
	dk_op_put(handle);
	report("late: answers that a thread must not get", atomic_load(&unexpected_late));
	return size;
}

static void write_at_the_very_end(void)
{
	FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = late_write });

	if (!f || setvbuf(f, NULL, _IOFBF, BUFSIZ) || fputs("x", f) < 0)
		errx(1, "no stream");
}

__attribute__((destructor)) static void last_destructor(void)
{
	if (ends)
		report("destructor: call", call());
}

static void at_exit(void)
{
	report("atexit: call", call());
}

/* Makes calls until the process ends. */
static void *call_until_exit(void *unused)
{
	for (;;) {
		int answer = call();

		/* HOST serves between the plugin's destructor and the library's destructor */
		if (answer != atomic_load(&served) && answer != HOST &&
		    answer != -ESHUTDOWN)
			atomic_store(&unexpected_late, answer);
	}
	return NULL;
}

static void end_of_process(char **path)
{
	struct loaded p = load(path[0], 0);
	pthread_t thread;

	ends = true;
	write_at_the_very_end();
	report("begin", p.face->begin(4, 0));
	report("library", dk_library_register(&lib, NULL));
	handle = dk_op_get(NULL, "plugins::work");
	atomic_store(&served, call());
	if (pthread_create(&thread, NULL, call_until_exit, NULL) || atexit(at_exit))
		errx(1, "no thread, or no memory");
	usleep(20000);
	report("call", call());
}

/* ---- bug 18: dlclose() during a call of the plugin's functions ------------------- */

/* dlclose() runs the destructor, which unregisters and therefore waits for the thread's call. */
static void own_thread(char **path)
{
	struct loaded p;
	int round;

	for (round = 0; round < 3; round++) {
		p = load(path[0], 0);
		report("begin", p.face->begin(5, 0));
		report("its own thread is inside", p.face->own_thread());
		unload(p);
		report("call", call());
	}
}

static int end_plugin(void *p)
{
	return ((struct loaded *)p)->face->end();
}

/* A function must not unregister its own provider, so the plugin cannot be closed from inside. */
static void from_inside(char **path)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct loaded p = load(path[0], 0);

	report("begin", p.face->begin(6, 0));
	report("end from inside", inside(&x, end_plugin, &p));
	report("call", call());
	report("end", p.face->end());
	report("call", call());
	unload(p);
}

/* ---- plugins that do not unregister -------------------------------------------- */

static struct loaded load_forgetful(const char *path)
{
	struct loaded p = load(path, 0);

	p.face->stays_registered = true;
	return p;
}

static void forget(char **path)
{
	struct loaded p;
	int round;

	/* the second time, the plugin is usually loaded at the same address */
	for (round = 0; round < 2; round++) {
		p = load_forgetful(path[0]);
		report("begin", p.face->begin(7, 0));
		report("listen", p.face->listen());
		report("call", call());
		unload(p);
		report("call", call());
	}
	p = load(path[0], 0);
	report("begin", p.face->begin(8, 0));
	report("call", call());
	unload(p);
	report("call", call());
}

static int stay_and_return(void *unused)
{
	atomic_store(&called, 1);
	while (!atomic_load(&may_return))
		usleep(1000);
	return 0;
}

static void *be_inside(void *unused)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);

	return inside(&x, stay_and_return, NULL) ? "refused" : NULL;
}

/* Lets the call end when the host serves again, because then dlclose() waits for the call. */
static void *release_when_unloaded(void *unused)
{
	while (call() != HOST)
		usleep(1000);
	atomic_store(&may_return, 1);
	return NULL;
}

static void forget_while_inside(char **path)
{
	struct loaded p = load_forgetful(path[0]);
	pthread_t threads[2];
	void *refused;

	report("begin", p.face->begin(7, 0));
	if (pthread_create(&threads[0], NULL, be_inside, NULL))
		errx(1, "no thread");
	while (!atomic_load(&called))
		usleep(1000);
	if (pthread_create(&threads[1], NULL, release_when_unloaded, NULL))
		errx(1, "no thread");
	unload(p);
	report("let go", atomic_load(&may_return));
	pthread_join(threads[0], &refused);
	pthread_join(threads[1], NULL);
	report("refused", !!refused);
}

/* Completes the call when the host serves again, because then dlclose() waits for the call. */
static void *complete(void *token)
{
	while (call() != HOST)
		usleep(1000);
	usleep(20000);
	atomic_store(&may_return, 1);
	return dk_call_complete(token, 0) ? "refused" : NULL;
}

static void close_with_a_deferred_call(char **path, bool stays_registered)
{
	struct loaded p = stays_registered ? load_forgetful(path[0]) : load(path[0], 0);
	struct dk_deferred token;
	pthread_t thread;
	void *refused;

	dk_deferred_init(&token);
	p.face->token = &token;
	report("begin", p.face->begin(7, 0));
	report("call", call());
	if (pthread_create(&thread, NULL, complete, &token))
		errx(1, "no thread");
	unload(p);
	report("completed", atomic_load(&may_return));
	pthread_join(thread, &refused);
	report("refused", !!refused);
}

static FILE *messages;	/* from stderr */

/* Completes the call when the library has reported on stderr that it waits for the call. */
static void *complete_when_reported(void *token)
{
	char line[256] = "", *time;

	while (!strstr(line, " waits for a call: "))
		if (!fgets(line, sizeof(line), messages))
			errx(1, "no message about the wait");
	time = strchr(line, '[');
	if (!time || strcmp(line + strlen(line) - 4, " ms\n"))
		errx(1, "%s", line);
	*time = 0;
	dprintf(STDOUT_FILENO, "%s\n", line);
	return dk_call_complete(token, 0) ? "refused" : NULL;
}

static void close_and_wait_long(char **path)
{
	struct loaded p = load(path[0], 0);
	struct dk_deferred token;
	pthread_t thread;
	void *refused;
	int ends[2];

	dk_deferred_init(&token);
	p.face->token = &token;
	report("begin", p.face->begin(7, 0));
	report("call", call());
	if (pipe(ends) || dup2(ends[1], STDERR_FILENO) < 0)
		err(1, "host");
	messages = fdopen(ends[0], "r");
	if (!messages ||
	    pthread_create(&thread, NULL, complete_when_reported, &token))
		err(1, "host");
	unload(p);
	pthread_join(thread, &refused);
	report("refused", !!refused);
}

/* ---- a plugin is closed in a child -------------------------------------------- */

#define NUM_FORKS	20

static atomic_ulong checks;

/* Holds the lock of the registry most of the time. */
static void *check_all_the_time(void *reg)
{
	while (!atomic_load(&stop)) {
		if (dk_registry_check(reg, NULL))
			atomic_store(&unexpected, 1);
		atomic_fetch_add(&checks, 1);
		usleep(10);
	}
	return NULL;
}

/* Makes a registry with so many operators that checking it takes a while. */
static struct dk_registry *large_registry(struct dk_provider *prov)
{
	static struct dk_op_decl decls[2000];
	static char names[ARRAY_SIZE(decls)][32];
	unsigned int i;

	prov->registry = dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS, NULL);
	if (!prov->registry || dk_provider_register(prov, NULL))
		errx(1, "no registry");
	for (i = 0; i < ARRAY_SIZE(decls); i++) {
		snprintf(names[i], sizeof(names[i]), "plugins::op%u", i);
		decls[i] = work_op;
		decls[i].op = NULL;
		decls[i].name = names[i];
		if (dk_op_define(prov, &decls[i], 0, NULL))
			errx(1, "no operator");
	}
	return prov->registry;
}

static int close_in_child(struct loaded p, struct dk_registry *reg)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		alarm(20);
		unload(p);
		_exit(call() != HOST || dk_registry_check(reg, NULL));
	}
	waitpid(child, &status, 0);
	return status;
}

static void close_in_children(char **path)
{
	static struct dk_provider large = DK_PROVIDER("large");
	struct loaded p = load(path[0], 0);
	struct dk_registry *reg = large_registry(&large);
	pthread_t thread;
	int i, status = 0;

	p.face->report = NULL;
	report("begin", p.face->begin(7, 0));
	if (pthread_create(&thread, NULL, check_all_the_time, reg))
		errx(1, "no thread");
	for (i = 0; i < NUM_FORKS && !status; i++) {
		wait_for(&checks);
		status = close_in_child(p, reg);
	}
	report("in a child", status);
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	report("strange", atomic_load(&unexpected));
	unload(p);
}

static int close_and_exit(void *p)
{
	unload(*(struct loaded *)p);
	report("closed", 0);
	_exit(0);
}

static void forget_from_inside(char **path)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct loaded p = load_forgetful(path[0]);

	report("begin", p.face->begin(7, 0));
	inside(&x, close_and_exit, &p);
}

static void forget_from_older(char **path)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct loaded p = load_forgetful(path[0]);

	report("begin", p.face->begin(7, 0));
	report("begin another", p.face->begin_another());
	inside(&x, close_and_exit, &p);
}

static struct loaded listening;

static void close_listening(void)
{
	close_and_exit(&listening);
}

static void forget_from_listener(char **path)
{
	listening = load_forgetful(path[0]);
	report("begin", listening.face->begin(7, 0));
	report("listen", listening.face->listen());
	report("end", listening.face->end());
	listening.face->on_event = close_listening;
	report("define", dk_op_define(&host, &news_op, 0, NULL));
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	char **path = argv + 2;

	if (dk_provider_register(&host, NULL) ||
	    dk_op_define(&host, &work_op, 0, NULL) ||
	    dk_op_define(&host, &inside_op, 0, NULL) ||
	    dk_impls_register(&host, of_host, 1, NULL))
		errx(1, "the host does not register");
	if (!strcmp(what, "twice") && argc > 3)
		twice(path);
	else if (!strcmp(what, "half"))
		half(path);
	else if (!strcmp(what, "namespace"))
		elsewhere(path, 1);
	else if (!strcmp(what, "copy"))
		elsewhere(path, 0);
	else if (!strcmp(what, "outlives"))
		thread_outlives(path);
	else if (!strcmp(what, "hot"))
		load_while_calling(path);
	else if (!strcmp(what, "exit"))
		end_of_process(path);
	else if (!strcmp(what, "thread"))
		own_thread(path);
	else if (!strcmp(what, "inside"))
		from_inside(path);
	else if (!strcmp(what, "forget"))
		forget(path);
	else if (!strcmp(what, "forget while inside"))
		forget_while_inside(path);
	else if (!strcmp(what, "deferred"))
		close_with_a_deferred_call(path, false);
	else if (!strcmp(what, "forget deferred"))
		close_with_a_deferred_call(path, true);
	else if (!strcmp(what, "deferred for long"))
		close_and_wait_long(path);
	else if (!strcmp(what, "children"))
		close_in_children(path);
	else if (!strcmp(what, "forget from inside"))
		forget_from_inside(path);
	else if (!strcmp(what, "forget from older"))
		forget_from_older(path);
	else if (!strcmp(what, "forget from listener"))
		forget_from_listener(path);
	else
		errx(2, "host WHAT PLUGIN...");
	return 0;
}
