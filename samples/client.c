// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * dk_client: calls the sample operators of the modules, prints the routes of calls,
 * and checks that no call is lost. Needs dk_client.ko.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/dispatchkey.h>

#include "dk_client.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define FACTORIAL	"sample::factorial"
#define COPY		"sample::copy"
#define QUEUE_COPY	"sample::queue_copy"
#define DRIVER		"/sys/bus/pci/drivers/dk_edu"
#define CPU_MODULE	"/sys/module/dk_cpu/parameters"

enum { EXIT_USAGE = 2 };

static const char usage_text[] =
"usage: dk_client COMMAND [OPTION...]\n"
"\n"
"Calls the sample operators through dk_client.ko. WHERE is \"cpu\", a device such\n"
"as \"0000:00:03.0\", or a backend such as \"edu\" or \"CUDA\" (default: cpu).\n"
"\n"
"  factorial [--on WHERE] N       compute N! modulo 2^32\n"
"  copy [--to WHERE] [--from WHERE] [--queue N] [BYTES]\n"
"                                 copy bytes (default 4000) between two objects;\n"
"                                 --queue: make N copies, by deferred calls\n"
"  route [-v] OP [--on WHERE]...  print the function for a call with an object on\n"
"                                 each WHERE; -v: also print rule, key and keysets\n"
"  table OP [--on DEVICE]...      print the function of every functionality and\n"
"                                 backend, and the differences for these devices\n"
"  counts                         print the counters of the drivers\n"
"  load [--on WHERE]... [--threads T] [--seconds S]\n"
"                                 call sample::factorial repeatedly (default: 4\n"
"                                 threads, 5 seconds), check every result, and compare\n"
"                                 the calls sent with the drivers' counters\n"
"  help                           print this text\n"
"\n"
"OP is an operator such as sample::factorial.\n"
"Exit status: 0 on success, 1 if a call failed, returned a wrong result or was lost,\n"
"2 for invalid arguments.\n";

static int node = -1;

/* Returns the meaning of an errno that the dispatcher returned. */
static const char *meaning(int err)
{
	switch (err) {
	case ENOSYS:
		return "no function for this call";
	case ENOTUNIQ:
		return "more than one function for this call";
	case ENODEV:
		return "the device is unregistered or offline, and there is no other function";
	case EXDEV:
		return "the objects are on different devices";
	case ENOENT:
		return "no such operator";
	default:
		return strerror(err);
	}
}

static void copy_name(char to[DK_CLIENT_NAME], const char *from)
{
	if (strlen(from) >= DK_CLIENT_NAME)
		errx(EXIT_USAGE, "name '%.20s...' is too long", from);
	strcpy(to, from);
}

static void open_node(void)
{
	node = open(DK_CLIENT_NODE, O_RDWR | O_CLOEXEC);
	if (node >= 0)
		return;
	if (errno == ENOENT)
		errx(EXIT_FAILURE, "%s does not exist: load dk_client.ko", DK_CLIENT_NODE);
	errx(EXIT_FAILURE, "%s: %s%s", DK_CLIENT_NODE, strerror(errno),
	     errno == EACCES ? " (root only)" : "");
}

static struct dk_client_new new_object(const char *on, unsigned int len)
{
	struct dk_client_new req = { .len = len };

	copy_name(req.on, on);
	if (!ioctl(node, DK_CLIENT_NEW, &req))
		return req;
	if (errno == ENOENT)
		errx(EXIT_FAILURE, "unknown device or backend '%s'", on);
	errx(EXIT_FAILURE, "cannot create an object on '%s': %s", on, strerror(errno));
}

static unsigned int parse_number(const char *text, unsigned int max, const char *what)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno || end == text || *end || n > max || strchr(text, '-'))
		errx(EXIT_USAGE, "invalid %s '%s': use a number up to %u", what, text, max);
	return n;
}

static bool is_option(const char *arg)
{
	return arg[0] == '-' && arg[1];
}

/* Returns the value after an option, and advances @i to it. */
static const char *next_arg(int argc, char **argv, int *i)
{
	if (*i + 1 >= argc)
		errx(EXIT_USAGE, "%s needs a value", argv[*i]);
	return argv[++*i];
}

static void bad_argument(const char *arg)
{
	errx(EXIT_USAGE, "%s '%s' (see dk_client help)",
	     is_option(arg) ? "unknown option" : "unexpected argument", arg);
}

/* ---- routes --------------------------------------------------------------- */

static struct dk_client_route get_route(const char *op, const __u32 *ids, unsigned int n)
{
	struct dk_client_route r = { .n = n };

	copy_name(r.op, op);
	memcpy(r.ids, ids, n * sizeof(*ids));
	if (!ioctl(node, DK_CLIENT_ROUTE, &r))
		return r;
	if (errno == ENOENT)
		errx(EXIT_FAILURE, "no operator is named '%s'", op);
	errx(EXIT_FAILURE, "route of '%s': %s", op, strerror(errno));
}

/* Describes a function in @buf, such as "edu_factorial of dk_edu on 0000:00:03.0". */
static const char *describe(const struct dk_client_entry *e, char *buf, size_t size)
{
	if (!e->label[0])
		snprintf(buf, size, "nothing");
	else if (e->device_name[0])
		snprintf(buf, size, "%s of %s on %s", e->label, e->provider,
			 e->device_name);
	else
		snprintf(buf, size, "%s of %s", e->label, e->provider);
	return buf;
}

static int do_route(int argc, char **argv)
{
	__u32 ids[DK_CLIENT_ARGS];
	struct dk_client_route r;
	const char *op = NULL;
	bool verbose = false;
	unsigned int n = 0;
	char buf[512];
	int i;

	for (i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "-v")) {
			verbose = true;
		} else if (!strcmp(argv[i], "--on")) {
			if (n == ARRAY_SIZE(ids))
				errx(EXIT_USAGE, "at most %zu objects", ARRAY_SIZE(ids));
			ids[n++] = new_object(next_arg(argc, argv, &i), 0).id;
		} else if (is_option(argv[i]) || op) {
			bad_argument(argv[i]);
		} else {
			op = argv[i];
		}
	}
	if (!op)
		errx(EXIT_USAGE, "route needs an operator, such as " FACTORIAL);
	if (!n)
		ids[n++] = new_object("cpu", 0).id;
	r = get_route(op, ids, n);
	if (r.err)
		printf("%s: %s\n", op, meaning(-r.err));
	else
		printf("%s: %s\n", op, describe(&r.entry, buf, sizeof(buf)));
	if (verbose) {
		if (!r.err)
			printf("  rule       %s\n", r.entry.provenance);
		printf("  key        %s\n", r.key);
		printf("  arguments  %#018llx\n", (unsigned long long)r.raw);
		printf("  effective  %#018llx\n", (unsigned long long)r.effective);
	}
	return r.err ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- single calls --------------------------------------------------------- */

static __u32 expected(__u32 n)
{
	__u32 r = 1;

	for (; n > 1 && r; n--)
		r *= n;
	return r;
}

/*
 * Prints the function that served a call. @device is the device that the call returned, and @r is a
 * route that was queried after the call. If a registration changed in between, the route may lead
 * to another device. Then prints only @device.
 */
static void print_served(__u32 device, const struct dk_client_route *r)
{
	char buf[512];

	if (device == r->entry.device)
		printf("served by %s\n", describe(&r->entry, buf, sizeof(buf)));
	else
		printf("served by device %#x (the route has changed)\n", device);
}

static int do_factorial(int argc, char **argv)
{
	const char *on = "cpu", *text = NULL;
	struct dk_client_factorial req = {};
	struct dk_client_route route;
	struct dk_client_new obj;
	int i;

	for (i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--on"))
			on = next_arg(argc, argv, &i);
		else if (is_option(argv[i]) || text)
			bad_argument(argv[i]);
		else
			text = argv[i];
	}
	if (!text)
		errx(EXIT_USAGE, "factorial needs a number");
	req.n = parse_number(text, ~0U, "N");
	obj = new_object(on, 0);
	req.id = obj.id;
	route = get_route(FACTORIAL, &obj.id, 1);
	if (ioctl(node, DK_CLIENT_FACTORIAL, &req))
		errx(EXIT_FAILURE, FACTORIAL " on %s: %s", on, meaning(errno));
	printf("object on %-12s  %u! = %u, ", on, req.n, req.result);
	print_served(req.device, &route);
	if (req.result != expected(req.n))
		errx(EXIT_FAILURE, "wrong result: expected %u", expected(req.n));
	return EXIT_SUCCESS;
}

static void transfer_bytes(unsigned long request, __u32 id, unsigned char *bytes, __u32 len)
{
	struct dk_client_bytes io = {
		.data = (unsigned long)bytes, .id = id, .len = len,
	};

	if (ioctl(node, request, &io))
		errx(EXIT_FAILURE, "cannot access an object: %s", strerror(errno));
}

/* Makes @n deferred calls, or one call of sample::copy if @n is 0. Returns the device. */
static __u32 copy_object(const __u32 ids[2], unsigned int n)
{
	struct dk_client_copy copy = { .dst = ids[0], .src = ids[1] };
	struct dk_client_queue queue = { .dst = ids[0], .src = ids[1], .n = n };

	if (!n && ioctl(node, DK_CLIENT_COPY, &copy))
		errx(EXIT_FAILURE, COPY ": %s", meaning(errno));
	if (!n)
		return copy.device;
	if (ioctl(node, DK_CLIENT_QUEUE, &queue))
		errx(EXIT_FAILURE, QUEUE_COPY ": %s", meaning(errno));
	if (queue.copied != n)
		errx(EXIT_FAILURE, QUEUE_COPY ": %u of %u copies succeeded, one failed: %s",
		     queue.copied, n, meaning(-queue.error));
	return queue.device;
}

static int do_copy(int argc, char **argv)
{
	unsigned char bytes[DK_CLIENT_BYTES], back[DK_CLIENT_BYTES];
	const char *places[2] = { "cpu", "cpu" }, *text = NULL;
	unsigned int i, len = 4000, n = 0;
	struct dk_client_route route;
	struct timespec begin, end;
	__u32 ids[2], device;
	int a;

	for (a = 0; a < argc; a++) {
		if (!strcmp(argv[a], "--to"))
			places[0] = next_arg(argc, argv, &a);
		else if (!strcmp(argv[a], "--from"))
			places[1] = next_arg(argc, argv, &a);
		else if (!strcmp(argv[a], "--queue"))
			n = parse_number(next_arg(argc, argv, &a), DK_CLIENT_JOBS, "N");
		else if (is_option(argv[a]) || text)
			bad_argument(argv[a]);
		else
			text = argv[a];
	}
	if (text)
		len = parse_number(text, DK_CLIENT_BYTES, "BYTES");
	for (i = 0; i < 2; i++)
		ids[i] = new_object(places[i], len).id;
	for (i = 0; i < len; i++)
		bytes[i] = i * 7 + (i >> 8) + 1;
	transfer_bytes(DK_CLIENT_WRITE, ids[1], bytes, len);
	route = get_route(n ? QUEUE_COPY : COPY, ids, 2);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	device = copy_object(ids, n);
	clock_gettime(CLOCK_MONOTONIC, &end);
	transfer_bytes(DK_CLIENT_READ, ids[0], back, len);
	printf("from %s to %s: ", places[1], places[0]);
	if (n)
		printf("%u copies of ", n);
	printf("%u bytes, %ld ms, ", len,
	       (end.tv_sec - begin.tv_sec) * 1000 +
	       (end.tv_nsec - begin.tv_nsec) / 1000000);
	print_served(device, &route);
	if (memcmp(bytes, back, len))
		errx(EXIT_FAILURE, "the copy differs from the original");
	return EXIT_SUCCESS;
}

/* ---- the table ------------------------------------------------------------ */

static const char *const functionality_names[] = {
#define NAME(U, N, per_backend) #N,
	DK_FUNCTIONALITIES(NAME)
#undef NAME
};

static const char *const backend_names[] = {
	"",
#define NAME(U, N, P, arg) #N,
	DK_BACKENDS(NAME, DK__NONE)
#undef NAME
};

static const unsigned short slot_of[] = {
#define SLOT(U, N, per_backend) DK_SLOT_##U,
	DK_FUNCTIONALITIES(SLOT)
#undef SLOT
};

static bool is_per_backend(unsigned int functionality)
{
	return functionality && (DK_PER_BACKEND_MASK >> (DK_NUM_BACKENDS - 1) >>
				 functionality & 1);
}

/* The letters in the table, one for every distinct function. */
struct legend {
	struct dk_client_entry kinds[26];
	unsigned int n;
};

static bool same_entry(const struct dk_client_entry *a, const struct dk_client_entry *b)
{
	return a->device == b->device && a->passes == b->passes &&
	       !strcmp(a->provenance, b->provenance) && !strcmp(a->label, b->label) &&
	       !strcmp(a->provider, b->provider);
}

static char letter(struct legend *l, const struct dk_client_entry *e)
{
	unsigned int i;

	if (!strcmp(e->provenance, "missing"))
		return '.';
	if (e->passes)
		return '-';
	for (i = 0; i < l->n; i++)
		if (same_entry(&l->kinds[i], e))
			return 'A' + i;
	if (l->n == ARRAY_SIZE(l->kinds))
		return '?';
	l->kinds[l->n++] = *e;
	return 'A' + i;
}

static struct dk_client_entry get_slot(const char *op, __u32 device, unsigned int slot)
{
	struct dk_client_slot req = { .device = device, .slot = slot };

	copy_name(req.op, op);
	if (!ioctl(node, DK_CLIENT_SLOT, &req))
		return req.entry;
	if (errno == ENOENT)
		errx(EXIT_FAILURE, "no operator is named '%s'", op);
	errx(EXIT_FAILURE, "table of '%s': %s", op, meaning(errno));
}

/* Returns the backend that a private name is bound to, or 0. */
static unsigned int bound_backend(const char *name)
{
	struct dk_client_new req = {};

	copy_name(req.on, name);
	if (ioctl(node, DK_CLIENT_NEW, &req) || !(req.keyset & DK_BACKEND_MASK))
		return 0;
	ioctl(node, DK_CLIENT_FREE, &req.id);
	return 64 - __builtin_clzll(req.keyset & DK_BACKEND_MASK);
}

/* Width of the names in the table. With 16 columns of width 5, a line has width 100. */
#define LABEL	20

/* Prints the column heads, of at most 4 characters; those of private backends are shortened. */
static void print_heads(unsigned int edu)
{
	unsigned int b;

	printf("%-*s", LABEL, "");
	for (b = 1; b <= DK_NUM_BACKENDS; b++) {
		if (b == edu)
			printf("  edu");
		else if (!strncmp(backend_names[b], "PrivateUse", 10))
			printf("  PU%c", backend_names[b][10]);
		else
			printf(" %4s", backend_names[b]);
	}
	putchar('\n');
}

/* Returns a functionality's name for the table: "Autograd" for AutogradFunctionality. */
static const char *table_name(unsigned int functionality)
{
	return functionality == DK_AUTOGRAD_FUNCTIONALITY ? "Autograd" :
	       functionality_names[functionality];
}

static void print_table(const char *name, const char *cells)
{
	int i, end = DK_NUM_BACKENDS;

	while (end && cells[end - 1] == ' ')
		end--;
	printf("%-*s", LABEL, name);
	for (i = 0; i < end; i++)
		printf("    %c", cells[i]);
	putchar('\n');
}

/*
 * Prints the keys with one entry for all backends, such as Tracer: each function's letter, then the
 * keys that it serves.
 */
static void print_singles(const char *op, struct legend *l)
{
	char cells[DK_NUM_FUNCTIONALITIES], kinds[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ?-.";
	struct dk_client_entry e;
	unsigned int f, column;
	const char *kind;

	for (f = 0; f < DK_NUM_FUNCTIONALITIES; f++) {
		cells[f] = ' ';
		if (is_per_backend(f))
			continue;
		e = get_slot(op, 0, slot_of[f]);
		cells[f] = letter(l, &e);
	}
	for (kind = kinds; *kind; kind++) {
		for (f = column = 0; f < DK_NUM_FUNCTIONALITIES; f++) {
			if (cells[f] != *kind)
				continue;
			if (!column)
				column = printf("  %c ", *kind);
			else if (column + strlen(functionality_names[f]) > 98)
				column = printf("\n    ") - 1;
			column += printf(" %s", functionality_names[f]);
		}
		if (column)
			putchar('\n');
	}
}

static void print_legend(const struct legend *l, unsigned int edu)
{
	unsigned int i;
	char buf[512];

	for (i = 0; i < l->n; i++)
		printf("  %c  %s: %s\n", 'A' + i,
		       describe(&l->kinds[i], buf, sizeof(buf)), l->kinds[i].provenance);
	puts("  -  fallthrough: the key is skipped   .  missing: no function");
	if (edu)
		printf("  edu is %s; PU is PrivateUse\n", backend_names[edu]);
	else
		printf("  PU is PrivateUse\n");
}

/* Fills @cells for a device; returns true if they differ from those without a device. */
static bool device_table(const char *op, __u32 device, unsigned int f, struct legend *l,
			 char *cells)
{
	bool differs = false;
	unsigned int b;

	for (b = 0; b < DK_NUM_BACKENDS; b++) {
		struct dk_client_entry e = get_slot(op, device, slot_of[f] + b);
		struct dk_client_entry base = get_slot(op, 0, slot_of[f] + b);

		cells[b] = same_entry(&e, &base) ? ' ' : letter(l, &e);
		differs |= cells[b] != ' ';
	}
	cells[b] = 0;
	return differs;
}

static int do_table(int argc, char **argv)
{
	const char *op = NULL, *on[16];
	struct legend legend = {};
	unsigned int f, b, n = 0, d, edu;
	char cells[DK_NUM_BACKENDS + 1];
	int i;

	for (i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--on")) {
			if (n == ARRAY_SIZE(on))
				errx(EXIT_USAGE, "at most %zu devices", ARRAY_SIZE(on));
			on[n++] = next_arg(argc, argv, &i);
		} else if (is_option(argv[i]) || op) {
			bad_argument(argv[i]);
		} else {
			op = argv[i];
		}
	}
	if (!op)
		errx(EXIT_USAGE, "table needs an operator, such as " FACTORIAL);
	edu = bound_backend("edu");

	printf("%s\n", op);
	print_heads(edu);
	for (f = 0; f < DK_NUM_FUNCTIONALITIES; f++) {
		if (!is_per_backend(f))
			continue;
		for (b = 0; b < DK_NUM_BACKENDS; b++) {
			struct dk_client_entry e = get_slot(op, 0, slot_of[f] + b);

			cells[b] = letter(&legend, &e);
		}
		cells[b] = 0;
		print_table(table_name(f), cells);
	}
	for (d = 0; d < n; d++) {
		__u32 device = new_object(on[d], 0).device;

		if (!device)
			errx(EXIT_USAGE, "'%s' is not a device", on[d]);
		for (f = 0; f < DK_NUM_FUNCTIONALITIES; f++) {
			char name[64];

			if (!is_per_backend(f) ||
			    !device_table(op, device, f, &legend, cells))
				continue;
			snprintf(name, sizeof(name), "%s, %s", table_name(f), on[d]);
			print_table(name, cells);
		}
	}
	puts("keys with one entry for all backends:");
	print_singles(op, &legend);
	puts("legend:");
	print_legend(&legend, edu);
	return EXIT_SUCCESS;
}

/* ---- counters ------------------------------------------------------------- */

/* Returns the number in a file, or @otherwise if the file has no number. */
static long long read_count(long long otherwise, const char *fmt, ...)
{
	long long n = otherwise;
	char path[512];
	va_list args;
	FILE *f;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	f = fopen(path, "re");
	if (!f)
		return otherwise;
	if (fscanf(f, "%lld", &n) != 1)
		n = otherwise;
	fclose(f);
	return n;
}

/* Returns a card's interrupts on all CPUs, from /proc/interrupts; -1 if the card is not listed. */
static long long proc_interrupts(const char *card)
{
	char *line = NULL, *at, *end, want[DK_CLIENT_NAME + 16];
	long long sum = -1;
	size_t size = 0;
	FILE *f;

	snprintf(want, sizeof(want), "dk_edu:%s", card);
	f = fopen("/proc/interrupts", "re");
	while (f && getline(&line, &size, f) > 0) {
		if (!strstr(line, want))
			continue;
		at = strchr(line, ':');
		for (sum = 0; at; at = end) {
			long long n = strtoll(++at, &end, 10);

			if (end == at || (*end != ' ' && *end != '\t'))
				break;
			sum += n;
		}
	}
	if (f)
		fclose(f);
	free(line);
	return sum;
}

static void print_count(long long n, const char *none)
{
	if (n < 0)
		printf(" %12s", none);
	else
		printf(" %12lld", n);
}

static int do_counts(int argc, char **argv)
{
	static const char *const names[] = {
		"served_factorial", "served_copy", "interrupts", "dma_bytes"
	};
	long long gone[ARRAY_SIZE(names)], n;
	char card[DK_CLIENT_NAME];
	bool any_gone = false;
	unsigned int i;
	FILE *list;

	if (argc)
		bad_argument(argv[0]);
	/* Start with the totals; the loop below subtracts the cards that are present. */
	for (i = 0; i < ARRAY_SIZE(names); i++)
		gone[i] = read_count(0, DRIVER "/%s", names[i]);
	printf("%-14s %12s %12s %12s %17s %12s\n", "served by", "factorial",
	       "copy", "interrupts", "/proc/interrupts", "DMA bytes");
	/* The cards of the driver, sorted by name. */
	list = popen("cd " DRIVER " 2>/dev/null && ls -d ????:* 2>/dev/null", "re");
	while (list && fscanf(list, "%127s", card) == 1) {
		printf("%-14s", card);
		for (i = 0; i < ARRAY_SIZE(names); i++) {
			n = read_count(0, DRIVER "/%s/%s", card, names[i]);
			gone[i] -= n;
			print_count(n, "");
			if (i == 2) {
				printf("     ");
				print_count(proc_interrupts(card), "none");
			}
		}
		putchar('\n');
	}
	if (list)
		pclose(list);
	/* A difference is negative if calls were made while the counters were read. */
	for (i = 0; i < ARRAY_SIZE(names); i++)
		any_gone |= gone[i] > 0;
	if (any_gone) {
		printf("%-14s", "cards unbound");
		for (i = 0; i < ARRAY_SIZE(names); i++) {
			print_count(gone[i] > 0 ? gone[i] : 0, "");
			if (i == 2)
				printf("     %12s", "-");
		}
		putchar('\n');
	}
	printf("%-14s", "the CPU");
	print_count(read_count(-1, CPU_MODULE "/served_factorial"), "not loaded");
	print_count(read_count(-1, CPU_MODULE "/served_copy"), "not loaded");
	putchar('\n');
	return EXIT_SUCCESS;
}

/* ---- load ----------------------------------------------------------------- */

#define MAX_PLACES	8
#define MAX_THREADS	64

/*
 * The objects, one on each place. In struct tally, by[i] counts the calls that the device of object
 * i served, and by[places] those that the CPU served.
 */
struct load {
	const char *on[MAX_PLACES];
	__u32 device[MAX_PLACES];
	__u32 id[MAX_PLACES];
	char rule[MAX_PLACES][768];	/* the function of each object, as last printed */
	unsigned int places;
	unsigned int threads;
	unsigned int seconds;
	/*
	 * Each call holds @calls for reading. While @calls is held for writing, no call is
	 * running, and the counts must be equal. Each thread holds @next while it waits for
	 * @calls, so that readers cannot starve the writer.
	 */
	pthread_rwlock_t calls;
	pthread_mutex_t next;
	bool stop;
	bool compared;	/* whether the drivers' counters can be compared */
};

struct tally {
	long long sent;
	long long by[MAX_PLACES + 1];
	long long elsewhere;
	long long wrong;
	long long failed;
	long long lost;
	int last_error;
};

struct caller {
	struct load *load;
	pthread_t thread;
	unsigned int place;
	struct tally tally;
};

static void send_call(struct caller *c, __u32 n)
{
	struct dk_client_factorial req = { .id = c->load->id[c->place], .n = n };
	struct tally *t = &c->tally;
	unsigned int i;

	t->sent++;
	if (ioctl(node, DK_CLIENT_FACTORIAL, &req)) {
		t->failed++;
		t->last_error = errno;
		return;
	}
	if (req.result != expected(n))
		t->wrong++;
	if (!req.device) {
		t->by[c->load->places]++;
		return;
	}
	for (i = 0; i < c->load->places; i++)
		if (req.device == c->load->device[i]) {
			t->by[i]++;
			return;
		}
	t->elsewhere++;
}

static void *caller_main(void *arg)
{
	struct caller *c = arg;
	__u32 n = 0;
	bool stop;

	for (stop = false; !stop; n++) {
		pthread_mutex_lock(&c->load->next);
		pthread_rwlock_rdlock(&c->load->calls);
		pthread_mutex_unlock(&c->load->next);
		stop = c->load->stop;
		if (!stop)
			send_call(c, n % 40);
		pthread_rwlock_unlock(&c->load->calls);
	}
	return NULL;
}

static struct tally add_up(const struct caller *callers, unsigned int n)
{
	struct tally sum = {};
	unsigned int i, j;

	for (i = 0; i < n; i++) {
		const struct tally *t = &callers[i].tally;

		sum.sent += t->sent;
		for (j = 0; j <= MAX_PLACES; j++)
			sum.by[j] += t->by[j];
		sum.elsewhere += t->elsewhere;
		sum.wrong += t->wrong;
		sum.failed += t->failed;
		if (t->last_error)
			sum.last_error = t->last_error;
	}
	return sum;
}

/* Print the functions of those objects whose function has changed. */
static void print_routes(struct load *l)
{
	char buf[512], rule[768];
	unsigned int i;

	for (i = 0; i < l->places; i++) {
		struct dk_client_route r = get_route(FACTORIAL, &l->id[i], 1);

		if (r.err)
			snprintf(rule, sizeof(rule), "nothing: %s", meaning(-r.err));
		else
			snprintf(rule, sizeof(rule), "%s, %s",
				 describe(&r.entry, buf, sizeof(buf)), r.entry.provenance);
		if (!strcmp(rule, l->rule[i]))
			continue;
		printf("   %s objects on %s %s served by %s\n", l->rule[i][0] ? "!" : " ",
		       l->on[i], l->rule[i][0] ? "are now" : "are", rule);
		strcpy(l->rule[i], rule);
	}
}

/* Numbers of factorials, from the drivers' counters; -1 if a driver is not loaded. */
struct served {
	long long cards;
	long long cpu;
};

static struct served get_served(void)
{
	return (struct served){ read_count(-1, DRIVER "/served_factorial"),
				read_count(-1, CPU_MODULE "/served_factorial") };
}

static void print_load_heads(const struct load *l)
{
	unsigned int i;

	printf("%7s %10s", "seconds", "sent");
	for (i = 0; i < l->places; i++)
		if (l->device[i])
			printf(" %13s", l->on[i]);
	printf(" %12s | %s  %5s\n", "the CPU",
	       "counted by functions: cards        CPU", "lost");
}

static void print_load_line(const struct load *l, const struct tally *t,
			    const struct served *counted, double seconds)
{
	unsigned int i;

	printf("%7.1f %10lld", seconds, t->sent);
	for (i = 0; i < l->places; i++)
		if (l->device[i])
			printf(" %13lld", t->by[i]);
	printf(" %12lld | ", t->by[l->places]);
	if (l->compared)
		printf("%27lld %10lld  %5lld\n", counted->cards, counted->cpu, t->lost);
	else
		printf("%27s %10s  %5s\n", "-", "-", "-");
}

static double seconds_since(const struct timespec *begin)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - begin->tv_sec + (now.tv_nsec - begin->tv_nsec) / 1e9;
}

/* Pause the calls, compare the counts and print a line. Returns false after a mismatch. */
static bool count_load(struct load *l, const struct caller *callers, struct tally *t,
		       const struct served *base, double seconds, bool last)
{
	struct served counted;

	pthread_mutex_lock(&l->next);
	pthread_rwlock_wrlock(&l->calls);
	pthread_mutex_unlock(&l->next);
	l->stop = last;
	*t = add_up(callers, l->threads);
	counted = get_served();
	print_routes(l);
	pthread_rwlock_unlock(&l->calls);

	/* If a module was loaded again, its counters started at 0 and cannot be compared. */
	l->compared &= counted.cards >= base->cards && counted.cpu >= base->cpu;
	counted.cards -= base->cards;
	counted.cpu -= base->cpu;
	t->lost = l->compared ? t->sent - counted.cards - counted.cpu : 0;
	print_load_line(l, t, &counted, seconds);
	return !l->compared || (!t->lost && counted.cpu == t->by[l->places]);
}

static int run_load(struct load *l, struct caller *callers)
{
	struct served base = get_served();
	struct tally sum = {};
	struct timespec begin;
	unsigned int i, lines;
	bool equal = true;
	double at = 0;

	print_routes(l);
	print_load_heads(l);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (i = 0; i < l->threads; i++)
		if (pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]))
			errx(EXIT_FAILURE, "cannot create a thread");
	for (lines = 1; at < l->seconds; lines++) {
		while (at < lines && at < l->seconds) {
			usleep(20000);
			at = seconds_since(&begin);
		}
		equal &= count_load(l, callers, &sum, &base, at, at >= l->seconds);
	}
	for (i = 0; i < l->threads; i++)
		pthread_join(callers[i].thread, NULL);

	printf("load: %lld calls sent,", sum.sent);
	for (i = 0; i < l->places; i++)
		if (l->device[i])
			printf(" %lld on %s,", sum.by[i], l->on[i]);
	printf(" %lld on the CPU, %lld failed, %lld wrong", sum.by[l->places],
	       sum.failed, sum.wrong);
	if (l->compared)
		printf(", %lld lost", sum.lost);
	putchar('\n');
	if (sum.failed)
		warnx("the last error: %s", meaning(sum.last_error));
	if (sum.elsewhere)
		warnx("%lld calls were routed to a device that no object is on", sum.elsewhere);
	if (!l->compared)
		warnx("a module was unloaded with its counters: nothing to compare");
	if (!equal && !sum.failed)
		warnx("the counters differ from the calls sent (are there other callers?)");
	return sum.failed || sum.wrong || sum.elsewhere || !equal ? EXIT_FAILURE :
								    EXIT_SUCCESS;
}

static int do_load(int argc, char **argv)
{
	struct load l = { .threads = 4, .seconds = 5, .compared = true };
	struct caller callers[MAX_THREADS] = {};
	struct dk_client_new obj;
	unsigned int n;
	int i;

	for (i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--on")) {
			if (l.places == MAX_PLACES)
				errx(EXIT_USAGE, "at most %u places", MAX_PLACES);
			l.on[l.places++] = next_arg(argc, argv, &i);
		} else if (!strcmp(argv[i], "--threads")) {
			l.threads = parse_number(next_arg(argc, argv, &i), MAX_THREADS,
						 "--threads");
		} else if (!strcmp(argv[i], "--seconds")) {
			l.seconds = parse_number(next_arg(argc, argv, &i), 3600, "--seconds");
		} else {
			bad_argument(argv[i]);
		}
	}
	if (!l.threads || !l.seconds)
		errx(EXIT_USAGE, "--threads and --seconds must be at least 1");
	if (!l.places)
		l.on[l.places++] = "cpu";
	for (n = 0; n < l.places; n++) {
		obj = new_object(l.on[n], 0);
		l.id[n] = obj.id;
		l.device[n] = obj.device;
	}
	for (n = 0; n < l.threads; n++) {
		callers[n].load = &l;
		callers[n].place = n % l.places;
	}
	pthread_rwlock_init(&l.calls, NULL);
	pthread_mutex_init(&l.next, NULL);
	return run_load(&l, callers);
}

/* ---- commands ------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	bool needs_node;
} commands[] = {
	{ "factorial", do_factorial, true },
	{ "copy", do_copy, true },
	{ "route", do_route, true },
	{ "table", do_table, true },
	{ "counts", do_counts, false },
	{ "load", do_load, true },
};

int main(int argc, char **argv)
{
	unsigned int i;

	setlinebuf(stdout);
	if (argc < 2) {
		fputs(usage_text, stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") ||
	    !strcmp(argv[1], "-h")) {
		fputs(usage_text, stdout);
		return EXIT_SUCCESS;
	}
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		if (commands[i].needs_node)
			open_node();
		return commands[i].run(argc - 2, argv + 2);
	}
	warnx("unknown command '%s'", argv[1]);
	fputs(usage_text, stderr);
	return EXIT_USAGE;
}
