// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replaces libdispatchkey-nl with a registry in this process, so that dkctl's subcommands for a
 * running kernel can be tested anywhere. The environment variable DKCTL_FAKE names a script. Its
 * lines are commands of transcripts, which make the registrations, and lines that begin with "!",
 * which set what transcripts cannot set. "|" separates the words of a line with "!":
 *
 *   !version TEXT                        version of the module, and its ABI
 *   !of LABEL | PROVIDER                 provider of the functions with that label
 *   !provider NAME | MODULE | STATE | OPS | IMPLS | DEVICES | CALLS | BACKEND...
 *   !layout TEXT [| NAME]                name of the layout, and of its lowest functionality
 *   !newer                               explanations have values of a later module version
 *   !library TEXT                        version of the client library
 *   !root                                dkctl is run by root; otherwise, by another user
 *   !waits NAME | TEXT                   a call that unregistering the provider waits for
 *   !device NAME | PROVIDER              provider of a device
 *   !unserved OP at KEY                  an operator without a function for its calls after a
 *                                        device or backend was taken offline
 *   !inside [TEXT] [| online]            the next request to take a device or backend offline
 *                                        reports the call TEXT as still inside. "online": the
 *                                        device is online again after that; without TEXT, the
 *                                        request fails with -ECANCELED
 *   !removed                             after all "!inside" lines are used, a request to take
 *                                        a device offline finds no device
 *   !join BACKEND | PROVIDER [| alone]   a provider that has joined a backend
 *   !joined BACKEND | N                  number of providers that have joined a backend, including
 *                                        those without a "!join" line
 *   !schema OP | TEXT [| PROVIDER | FLAGS]
 *   !stats STATE | SUM | NOT-COUNTED | GONE
 *                                        whether calls are counted; SUM may be empty. With more
 *                                        such lines, each request reads the next one
 *   !counter KIND | OP | KEY | LABEL | PROVIDER | DEVICE | COUNT
 *   !limit NAME | MOST [| USED]
 *   !event KIND | NAME | KEY | PROVIDER | STATE | COUNT [| NUMBER]
 *                                        the KIND "queued": an unknown event, which
 *                                        dk_nl_monitor_drain() discards
 *   !fail FUNCTION | ERRNO [| MESSAGE]   the error that a function returns
 *   !impls OP | N                        the table of OP has N different functions
 *
 * This file is longer than others, because it has all functions of one library, which read the
 * script.
 *
 * A function whose label begins with "boxed" is reported as boxed. Without DKCTL_FAKE, the module
 * is reported as not loaded. Replies are never freed.
 */
#include <dispatchkey-nl.h>
#include "fail_alloc.h"
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WORDS	24

struct line {
	struct line *next;
	char *verb;
	char *words[MAX_WORDS];
	unsigned int num_words;
};

static struct dk_replay *replay;
static struct line *lines, **last_line = &lines;
static struct dk_nl_error error = { .size = sizeof(error) };
/* All replies. They stay reachable, so that a leak checker does not report them. */
static void **given;
static size_t num_given;

static void die(const char *what)
{
	fprintf(stderr, "fake_nl: %s\n", what);
	exit(99);
}

static void *give(size_t size)
{
	void *p;

	fail_alloc_pause();
	p = calloc(1, size);
	/* grows by doubling, because AddressSanitizer's realloc() always copies the array */
	if (!(num_given & (num_given - 1)))
		given = realloc(given, 2 * (num_given + !num_given) * sizeof(*given));
	fail_alloc_resume();
	if (!p || !given)
		die("no memory");
	given[num_given++] = p;
	return p;
}

static const char *text(const char *s)
{
	return strcpy(give(strlen(s) + 1), s);
}

/* ---- the script ------------------------------------------------------------------ */

/* Replaces \xNN with a byte, so that a script can use names with any bytes. */
static void unescape(char *s)
{
	char *out = s, *end;

	for (; *s; out++) {
		if (s[0] == '\\' && s[1] == 'x') {
			char hex[3] = { s[2], s[3], 0 };

			*out = (char)strtoul(hex, &end, 16);
			s += 4;
		} else {
			*out = *s++;
		}
	}
	*out = '\0';
}

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (*s == ' ')
		s++;
	while (end > s && end[-1] == ' ')
		*--end = '\0';
	unescape(s);
	return s;
}

static void add_line(char *s)
{
	struct line *l = give(sizeof(*l));
	char *blank = strchr(s, ' '), *bar;

	l->verb = (char *)text(s);
	if (blank) {
		l->verb[blank - s] = '\0';
		for (s = l->verb + (blank - s) + 1; s && l->num_words < MAX_WORDS; s = bar) {
			bar = strchr(s, '|');
			if (bar)
				*bar++ = '\0';
			l->words[l->num_words++] = trim(s);
		}
	}
	*last_line = l;
	last_line = &l->next;
}

static struct line *next_of(struct line *l, const char *verb)
{
	while (l && strcmp(l->verb, verb) != 0)
		l = l->next;
	return l;
}

/* Replaces that of the C library: the output must not depend on the user who runs the tests. */
uid_t geteuid(void)
{
	return next_of(lines, "root") ? 0 : 1000;
}

#define for_each(l, verb)	\
	for (l = next_of(lines, verb); l; l = next_of(l->next, verb))

static const char *word(const struct line *l, unsigned int i)
{
	return l && i < l->num_words ? l->words[i] : "";
}

static unsigned long long number(const struct line *l, unsigned int i)
{
	return strtoull(word(l, i), NULL, 0);
}

static struct line *find(const char *verb, const char *first)
{
	struct line *l;

	for_each(l, verb) {
		if (!strcmp(word(l, 0), first))
			return l;
	}
	return NULL;
}

static void emit(void *ctx, const char *answer, size_t len)
{
	if (len > 6 && !memcmp(answer, "error:", 6)) {
		fwrite(answer, 1, len, stderr);
		die("the script has a line that is refused");
	}
}

static void read_script(const char *name)
{
	FILE *f = fopen(name, "r");
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (!f)
		die("cannot read DKCTL_FAKE");
	replay = dk_replay_alloc(0, emit, NULL);
	while ((len = getline(&line, &size, f)) >= 0) {
		while (len && (line[len - 1] == '\n'))
			line[--len] = '\0';
		if (line[0] == '!')
			add_line(line + 1);
		else if (len && line[0] != '#')
			dk_replay_line(replay, line, (size_t)len);
	}
	free(line);
	fclose(f);
	if (dk_replay_need_registry(replay))
		die("no registry");
}

/* ---- errors ---------------------------------------------------------------------- */

static int failed(int err, const char *sentence)
{
	memset(&error, 0, sizeof(error));
	error.size = sizeof(error);
	error.code = err;
	snprintf(error.sentence, sizeof(error.sentence), "%s", sentence);
	return err;
}

/* Returns the error that the script sets for a function, or 0. */
static int scripted(const char *function)
{
	static const struct { const char *name; int value; } errors[] = {
		{ "EPERM", EPERM }, { "ENOENT", ENOENT }, { "ENOMEM", ENOMEM },
		{ "EBUSY", EBUSY }, { "EAGAIN", EAGAIN }, { "EPROTO", EPROTO },
		{ "ETIMEDOUT", ETIMEDOUT }, { "ENODEV", ENODEV }, { "EBADMSG", EBADMSG },
		{ "EOPNOTSUPP", EOPNOTSUPP }, { "EDEADLK", EDEADLK }, { "ENODATA", ENODATA },
		{ "EINVAL", EINVAL },
	};
	struct line *l = find("fail", function);
	size_t i;

	failed(0, "");
	for (i = 0; l && i < ARRAY_SIZE(errors); i++) {
		if (strcmp(word(l, 1), errors[i].name) != 0)
			continue;
		failed(-errors[i].value, *word(l, 2) ? word(l, 2) : strerror(errors[i].value));
		snprintf(error.message, sizeof(error.message), "%s", word(l, 2));
		snprintf(error.value, sizeof(error.value), "%s", word(l, 3));
		return -errors[i].value;
	}
	if (l)
		die(word(l, 1));
	return 0;
}

static int absent(const char *what, const char *name)
{
	char sentence[400];

	snprintf(sentence, sizeof(sentence), "%s \"%s\": no such %s", what, name, what);
	failed(-ENOENT, sentence);
	snprintf(error.message, sizeof(error.message), "no such %s", what);
	return -ENOENT;
}

/* The first call reads the script. Without a script, the module is not loaded. */
static int open_by(const char *call)
{
	failed(-ENOENT, "dispatchkey.ko is not loaded; type: sudo modprobe dispatchkey");
	if (!getenv("DKCTL_FAKE"))
		return -ENOENT;
	if (!replay) {
		fail_alloc_pause();
		read_script(getenv("DKCTL_FAKE"));
		fail_alloc_resume();
	}
	return scripted(call);
}

int dk_nl_open(const struct dk_nl_options *options, struct dk_nl **nl, struct dk_nl_error *why)
{
	static char handle;	/* only its address is used */
	int err = open_by("open");

	if (why)
		*why = error;
	*nl = err ? NULL : (struct dk_nl *)&handle;
	return err;
}

void dk_nl_close(struct dk_nl *nl)
{
}

void dk_nl_free(const void *answer)
{
}

const struct dk_nl_error *dk_nl_why(const struct dk_nl *nl)
{
	return &error;
}

const char *dk_nl_strerror(const struct dk_nl *nl)
{
	return error.sentence;
}

const char *dk_nl_version(void)
{
	struct line *l = next_of(lines, "library");

	return l ? word(l, 0) : "0.1.0";
}

/* ---- the module and its layout ----------------------------------------------------- */

int dk_nl_info_get(struct dk_nl *nl, const struct dk_nl_info **info)
{
	struct line *l = next_of(lines, "version");
	struct dk_nl_info *i = give(sizeof(*i));
	int err = scripted("info");

	i->abi = *word(l, 1) ? (__u32)number(l, 1) : DK_ABI_VERSION;
	i->version = l ? word(l, 0) : "0.1.0";
	i->layout = dk_layout_name(replay->layout);
	*info = err ? NULL : i;
	return err;
}

static void add_key(const struct dk_nl_layout_key ***tail, __u32 n, const char *name,
		    __u32 slot, bool per_backend)
{
	struct dk_nl_layout_key *k = give(sizeof(*k));

	k->number = n;
	k->name = text(name);
	k->slot = slot;
	k->is_per_backend = per_backend;
	**tail = k;
	*tail = &k->next;
}

int dk_nl_layout_get(struct dk_nl *nl, const struct dk_nl_layout **layout)
{
	const struct dk_layout *l = replay->layout;
	struct dk_nl_layout *a = give(sizeof(*a));
	const struct dk_nl_layout_key **tail;
	struct line *other = next_of(lines, "layout");
	char name[DK_NAME_MAX];
	unsigned int i;

	*layout = a;
	a->entries = dk_layout_entries(l);
	a->num_backends = dk_layout_backends(l);
	a->num_functionalities = dk_layout_functionalities(l);
	a->name = other ? word(other, 0) : dk_layout_name(l);
	for (tail = &a->backends, i = 1; i <= a->num_backends; i++)
		add_key(&tail, i, dk_backend_name(replay->reg, i, name), 0, false);
	for (tail = &a->functionalities, i = 0; i < a->num_functionalities; i++)
		add_key(&tail, i, !i && *word(other, 1) ? word(other, 1) : dk_key_name(l, i, name),
			dk_key_slot(l, i), dk_is_per_backend(l, i));
	return scripted("layout");
}

/* ---- backends and devices ---------------------------------------------------------- */

static const char *provider_of(const char *label, const char *provider)
{
	struct line *l = find("of", label);

	return l ? word(l, 1) : provider;
}

static __u32 impls_of_backend(unsigned int b)
{
	const struct dk_replay_impl *i;
	__u32 n = 0, at;

	for (at = 0; at < DK_REPLAY_BUCKETS; at++) {
		for (i = replay->impls[at]; i; i = i->next)
			n += dk_key_backend(replay->layout, i->impl.key) == b;
	}
	return n;
}

static const struct dk_nl_backend *backend(unsigned int b)
{
	struct dk_nl_backend *a = give(sizeof(*a));
	const char **providers = give(MAX_WORDS * sizeof(*providers));
	const struct dk_replay_device *d;
	char name[DK_NAME_MAX];
	struct line *l;

	a->number = b;
	a->name = text(dk_backend_name(replay->reg, b, name));
	a->key_name = text(dk_key_name(replay->layout, dk_runtime_key(replay->layout, 1, b), name));
	a->is_bound = strcmp(a->name, a->key_name) != 0;
	a->state = dk_backend_is_online(replay->reg, b) ? DK_NL_STATE_ONLINE : DK_NL_STATE_OFFLINE;
	a->impls = impls_of_backend(b);
	a->providers = providers;
	for (d = replay->devices; d; d = d->next)
		a->devices += d->backend == b;
	for_each(l, "join") {
		if (strcmp(word(l, 0), a->name) != 0)
			continue;
		providers[a->num_providers++] = word(l, 1);
		a->is_alone = !strcmp(word(l, 2), "alone");
	}
	a->joined = a->num_providers;
	l = find("joined", a->name);
	if (l)
		a->joined = (__u32)number(l, 1);
	return a;
}

static unsigned int backend_number(__u32 n, const char *name)
{
	unsigned int b;

	return name ? dk_backend_find(replay->reg, name, &b, NULL) ? 0 : b : n;
}

int dk_nl_backend_get(struct dk_nl *nl, __u32 n, const char *name,
		      const struct dk_nl_backend **answer)
{
	unsigned int b = backend_number(n, name);
	int err = scripted("backend");

	if (!err && !b)
		return absent("backend", name);
	*answer = b ? backend(b) : NULL;
	return err;
}

int dk_nl_backends(struct dk_nl *nl, const struct dk_nl_backend **list)
{
	const struct dk_nl_backend **tail = list;
	unsigned int b;
	int err = scripted("backends");

	*list = NULL;
	for (b = 1; !err && b <= dk_layout_backends(replay->layout); b++) {
		*tail = backend(b);
		tail = &((struct dk_nl_backend *)*tail)->next;
	}
	return err;
}

/* Returns the result of a request to go offline or online; sets @is_online to the new state. */
static int switched(const char *name, __u32 number, int online, bool *is_online,
		    const struct dk_nl_switched **answer)
{
	static struct line *last;
	struct dk_nl_switched *s = give(sizeof(*s));
	struct line *l = next_of(lines, "unserved");
	struct line *inside = next_of(last ? last->next : lines, "inside");

	s->name = text(name);
	s->number = number;
	s->unserved = online ? "" : word(l, 0);
	s->inside = online ? "" : word(inside, 0);
	*answer = s;
	*is_online = online || !strcmp(word(inside, 1), "online");
	s->state = online ? DK_NL_STATE_ONLINE : DK_NL_STATE_OFFLINE;
	if (!online && inside)
		last = inside;
	if (!online && !inside && last && next_of(lines, "removed"))
		return absent("device", name);
	if (!online && *is_online && !*s->inside)
		return -ECANCELED;
	return *s->inside ? -EINPROGRESS : 0;
}

int dk_nl_backend_set_online(struct dk_nl *nl, __u32 n, const char *name, int online,
			     const struct dk_nl_switched **answer)
{
	unsigned int b = backend_number(n, name);
	int err = scripted("backend-set");
	bool is_online;

	if (err)
		return err;
	if (!b)
		return absent("backend", name);
	err = switched(backend(b)->name, b, online, &is_online, answer);
	dk_backend_set_online(replay->reg, b, is_online, NULL);
	return err;
}

int dk_nl_backend_release(struct dk_nl *nl, const char *name)
{
	int err = scripted("backend-release");

	/* ignores the interpreter's own provider, which joins every backend */
	if (!err && find("join", name))
		err = failed(-EBUSY, dk_reason_text(DK_WHY_BACKEND_USED));
	return err;
}

static const struct dk_nl_device *device(const struct dk_replay_device *d)
{
	struct dk_nl_device *a = give(sizeof(*a));
	const struct dk_replay_impl *i;
	struct line *l = find("device", d->name);
	char name[DK_NAME_MAX];

	a->number = d->number;
	a->name = d->name;
	a->state = d->offline ? DK_NL_STATE_OFFLINE : DK_NL_STATE_ONLINE;
	a->backend = d->backend;
	a->backend_name = text(dk_backend_name(replay->reg, d->backend, name));
	a->backend_state = dk_backend_is_online(replay->reg, d->backend) ?
			   DK_NL_STATE_ONLINE : DK_NL_STATE_OFFLINE;
	a->provider = l ? word(l, 1) : "fake";
	for (i = d->impls; i; i = i->next)
		a->impls++;
	return a;
}

static struct dk_replay_device *device_of(__u32 number)
{
	struct dk_replay_device *d = replay->devices;

	while (d->number != number)
		d = d->next;
	return d;
}

int dk_nl_device_get(struct dk_nl *nl, __u32 n, const char *name,
		     const struct dk_nl_device **answer)
{
	const struct dk_replay_device *d;
	int err = scripted("device");

	for (d = replay->devices; !err && d; d = d->next) {
		if (name ? !strcmp(d->name, name) : d->number == n) {
			*answer = device(d);
			return 0;
		}
	}
	return err ? err : absent("device", name);
}

int dk_nl_devices(struct dk_nl *nl, __u32 b, const struct dk_nl_device **list)
{
	const struct dk_replay_device *d;
	const struct dk_nl_device *a;
	int err = scripted("devices");

	*list = NULL;
	for (d = replay->devices; !err && d; d = d->next) {
		if (b && d->backend != b)
			continue;
		/* reverses the order: the interpreter lists the newest device first */
		a = device(d);
		((struct dk_nl_device *)a)->next = *list;
		*list = a;
	}
	return err;
}

int dk_nl_device_set_online(struct dk_nl *nl, __u32 n, const char *name, int online,
			    const struct dk_nl_switched **answer)
{
	const struct dk_nl_device *d = NULL;
	int err = scripted("device-set");
	bool is_online;

	if (!err)
		err = dk_nl_device_get(nl, n, name, &d);
	if (err)
		return err;
	err = switched(d->name, d->number, online, &is_online, answer);
	device_of(d->number)->offline = !is_online;
	return err;
}

/* ---- providers, operators and functions -------------------------------------------- */

int dk_nl_providers(struct dk_nl *nl, const struct dk_nl_provider **list)
{
	const struct dk_nl_provider **tail = list;
	struct dk_nl_provider *p;
	const char **backends, **inside;
	struct line *l, *waits;
	unsigned int i;
	int err = scripted("providers");

	*list = NULL;
	for_each(l, "provider") {
		p = give(sizeof(*p));
		backends = give(MAX_WORDS * sizeof(*backends));
		p->name = word(l, 0);
		p->module = word(l, 1);
		p->state = !strcmp(word(l, 2), "unregistering") ? DK_NL_PROVIDER_UNREGISTERING :
							    DK_NL_PROVIDER_REGISTERED;
		p->operators = (__u32)number(l, 3);
		p->impls = (__u32)number(l, 4);
		p->devices = (__u32)number(l, 5);
		p->has_calls = *word(l, 6) != '\0';
		p->calls = number(l, 6);
		for (i = 7; i < l->num_words; i++)
			backends[p->num_backends++] = l->words[i];
		p->backends = backends;
		inside = give(MAX_WORDS * sizeof(*inside));
		for_each(waits, "waits") {
			if (!strcmp(word(waits, 0), p->name))
				inside[p->num_inside++] = word(waits, 1);
		}
		p->inside = inside;
		*tail = p;
		tail = &p->next;
	}
	return err;
}

int dk_nl_provider_get(struct dk_nl *nl, const char *name, const struct dk_nl_provider **answer)
{
	struct dk_nl_provider *p;
	int err = dk_nl_providers(nl, answer);

	while (!err && *answer && strcmp((*answer)->name, name) != 0)
		*answer = (*answer)->next;
	if (!*answer)
		return absent("provider", name);
	p = give(sizeof(*p));
	*p = **answer;
	p->next = NULL;
	*answer = p;
	return err;
}

static const struct dk_nl_impl *impls_of(struct dk_op *op, const char *name,
					 const struct dk_nl_impl ***tail)
{
	struct dk_impl_info info = { .size = sizeof(info) };
	const struct dk_nl_impl *first = NULL, **own = &first;
	struct dk_nl_impl *a;
	char key[DK_NAME_MAX];
	unsigned int i, b;

	if (!tail)
		tail = &own;
	for (i = 0; !dk_op_impl(op, i, &info); i++) {
		a = give(sizeof(*a));
		a->op = text(name);
		a->key = info.key;
		a->key_name = text(dk_registry_key_name(replay->reg, info.key, key));
		a->label = text(info.label);
		a->provider = text(provider_of(info.label, info.provider));
		a->device = info.device;
		a->device_name = text(info.device_name);
		b = dk_key_backend(replay->layout, info.key);
		a->flags = (info.is_fallthrough ? DK_NL_IMPL_FALLTHROUGH : 0) |
			   (!strncmp(info.label, "boxed", 5) ? DK_NL_IMPL_BOXED : 0) |
			   (info.is_active ? DK_NL_IMPL_ACTIVE : 0) |
			   (b && !dk_backend_is_online(replay->reg, b) ? DK_NL_IMPL_OFFLINE : 0);
		**tail = a;
		*tail = &a->next;
	}
	return first;
}

static struct dk_nl_op *op_of(const struct dk_op_info *info)
{
	struct dk_nl_op *a = give(sizeof(*a));
	struct line *l = find("schema", info->name);
	struct dk_op *op = dk_op_get(replay->reg, info->name);
	const struct dk_nl_impl *i;

	a->name = text(info->name);
	a->schema = word(l, 1);
	a->provider = *word(l, 2) ? word(l, 2) : text(info->definer);
	a->flags = *word(l, 3) ? (__u32)number(l, 3) : info->flags;
	a->num_impls = info->num_impls;
	a->max_objs = number(l, 4);
	a->impls = impls_of(op, "", NULL);
	for (i = a->impls; i; i = i->next)
		a->num_device_impls += i->device != 0;
	dk_op_put(op);
	return a;
}

static bool has_impl(const struct dk_nl_op *op, const struct dk_nl_op_filter *f)
{
	const struct dk_nl_impl *i;

	for (i = op->impls; i; i = i->next) {
		if ((!f->has_key || i->key == f->key) &&
		    (!f->backend || dk_key_backend(replay->layout, i->key) == f->backend) &&
		    (!f->provider || !strcmp(i->provider, f->provider)))
			return true;
	}
	return !f->has_key && !f->backend && (!f->provider || !strcmp(op->provider, f->provider));
}

int dk_nl_ops(struct dk_nl *nl, const struct dk_nl_op_filter *filter, const struct dk_nl_op **list)
{
	static const struct dk_nl_op_filter all = { .size = sizeof(all) };
	struct dk_op_info info = { .size = sizeof(info) };
	const struct dk_nl_op_filter *f = filter ? filter : &all;
	const struct dk_nl_op **tail = list;
	const char *after = NULL;
	struct dk_nl_op *op;
	int err = scripted("ops");

	*list = NULL;
	for (; !err && !dk_registry_next_op(replay->reg, after, &info); after = info.name) {
		op = op_of(&info);
		if ((f->prefix && strncmp(op->name, f->prefix, strlen(f->prefix)) != 0) ||
		    !has_impl(op, f))
			continue;
		op->impls = NULL;
		*tail = op;
		tail = &op->next;
	}
	return err;
}

int dk_nl_op_get(struct dk_nl *nl, const char *name, const struct dk_nl_op **answer)
{
	struct dk_op_info info = { .size = sizeof(info) };
	const char *after = NULL;
	int err = scripted("op");

	for (; !err && !dk_registry_next_op(replay->reg, after, &info); after = info.name) {
		if (!strcmp(info.name, name)) {
			*answer = op_of(&info);
			return 0;
		}
	}
	return err ? err : absent("operator", name);
}

/* Appends the backend fallbacks of the interpreter, after the functions of operators. */
static void fallbacks(const struct dk_nl_impl ***tail)
{
	const struct dk_replay_impl *i;
	struct dk_nl_impl *a;
	char key[DK_NAME_MAX];
	unsigned int at, k;

	for (k = 0; k < dk_layout_keys(replay->layout); k++) {
		for (at = 0; at < DK_REPLAY_BUCKETS; at++) {
			for (i = replay->impls[at]; i; i = i->next) {
				if (i->impl.op || i->impl.key != k)
					continue;
				a = give(sizeof(*a));
				a->op = "";
				a->key = k;
				a->key_name = text(dk_registry_key_name(replay->reg, k, key));
				a->label = text(i->impl.label);
				a->provider = provider_of(i->impl.label, "");
				a->device_name = "";
				a->flags = DK_NL_IMPL_ACTIVE | (!strcmp(a->label, "fallthrough") ?
								DK_NL_IMPL_FALLTHROUGH : 0);
				**tail = a;
				*tail = &a->next;
			}
		}
	}
}

static bool passes(const struct dk_nl_impl *i, const struct dk_nl_impl_filter *f)
{
	return !f || ((!f->has_key || i->key == f->key) &&
		      (!f->backend || dk_key_backend(replay->layout, i->key) == f->backend) &&
		      (!f->device || i->device == f->device) &&
		      (!f->op || !strcmp(i->op, f->op)) &&
		      (!f->provider || !strcmp(i->provider, f->provider)));
}

int dk_nl_impls(struct dk_nl *nl, const struct dk_nl_impl_filter *filter,
		const struct dk_nl_impl **list)
{
	struct dk_op_info info = { .size = sizeof(info) };
	const struct dk_nl_impl **tail = list;
	const char *after = NULL;
	struct dk_op *op;
	int err = scripted("impls");

	*list = NULL;
	for (; !err && !dk_registry_next_op(replay->reg, after, &info); after = info.name) {
		op = dk_op_get(replay->reg, info.name);
		impls_of(op, info.name, &tail);
		dk_op_put(op);
	}
	fallbacks(&tail);
	for (tail = list; *tail;) {
		if (passes(*tail, filter))
			tail = (const struct dk_nl_impl **)&((struct dk_nl_impl *)*tail)->next;
		else
			*tail = (*tail)->next;
	}
	return err;
}

/* ---- where calls go ---------------------------------------------------------------- */

static struct dk_nl_run *run_of(const struct dk_entry *e, unsigned int slot)
{
	struct dk_nl_run *a = give(sizeof(*a));
	char key[DK_NAME_MAX];

	a->first = slot;
	a->first_key = text(dk_registry_key_name(replay->reg,
						 dk_slot_key(replay->layout, slot), key));
	a->provenance = next_of(lines, "newer") && e->provenance ? 100 : e->provenance;
	a->flags = e->is_fallthrough ? DK_NL_IMPL_FALLTHROUGH : 0;
	a->label = text(e->label);
	a->provider = e->is_fallthrough && !find("of", e->label) ? "" :
		      text(provider_of(e->label, e->provider));
	a->device = e->device;
	a->device_name = text(e->device_name);
	return a;
}

/* Returns a table with a different function in every entry. */
static int many(unsigned int n, const struct dk_nl_run **list)
{
	struct dk_entry e = { .size = sizeof(e), .provenance = DK_PROV_KERNEL };
	const struct dk_nl_run **tail = list;
	struct dk_nl_run *run;
	unsigned int i;

	for (i = 0; i < n && i < dk_layout_entries(replay->layout); i++) {
		snprintf(e.label, sizeof(e.label), "function_%u", i);
		e.provenance = (__u16)(DK_PROV_KERNEL + i % 8);
		run = run_of(&e, i);
		run->last = i;
		*tail = run;
		tail = &run->next;
	}
	return 0;
}

int dk_nl_table_get(struct dk_nl *nl, const char *op_name, __u32 n, const char *device_name,
		    const struct dk_nl_run **list)
{
	struct dk_entry e = { .size = sizeof(e) };
	const struct dk_nl_run **tail = list;
	struct dk_nl_run *run = NULL, *next;
	const struct dk_nl_device *d;
	const struct dk_nl_op *o;
	char key[DK_NAME_MAX];
	struct dk_op *op;
	unsigned int i;
	int err = scripted("table");

	*list = NULL;
	if (!err)
		err = dk_nl_op_get(nl, op_name, &o);
	if (!err && device_name) {
		err = dk_nl_device_get(nl, 0, device_name, &d);
		n = err ? 0 : d->number;
	}
	if (err)
		return err;
	if (find("impls", op_name))
		return many((unsigned int)number(find("impls", op_name), 1), list);
	op = dk_op_get(replay->reg, op_name);
	for (i = 0; !dk_op_entry(op, n, i, &e); i++) {
		if (e.provenance == DK_PROV_MISSING)
			continue;
		next = run_of(&e, i);
		if (run && run->last + 1 == i && run->provenance == next->provenance &&
		    !strcmp(run->label, next->label) && run->device == next->device) {
			run->last = i;
			run->last_key = next->first_key;
			continue;
		}
		run = next;
		run->last = i;
		run->last_key = text(dk_registry_key_name(replay->reg,
							  dk_slot_key(replay->layout, i), key));
		*tail = run;
		tail = &run->next;
	}
	dk_op_put(op);
	return 0;
}

/* Sets values that no existing version of the module sends. */
static void make_newer(struct dk_nl_step *a, const struct dk_step *s)
{
	if (s->kind == DK_STEP_RULE && s->rule == 11)
		a->kind = 100;
	if (s->verdict == DK_VERDICT_NO_IMPL)
		a->verdict = 100;
	if (s->bearing == DK_BEARING_NONE)
		a->bearing = 100;
}

static const struct dk_nl_step *step_of(const struct dk_step *s)
{
	struct dk_nl_step *a = give(sizeof(*a));
	struct dk_nl_impl *i = give(sizeof(*i));
	char key[DK_NAME_MAX];

	a->kind = s->kind;
	a->rule = s->rule;
	a->verdict = s->verdict;
	a->bearing = s->bearing;
	a->key = s->key;
	a->key_name = text(dk_registry_key_name(replay->reg, s->key, key));
	a->is_fallback = s->is_fallback;
	if (next_of(lines, "newer"))
		make_newer(a, s);
	if (!s->has_impl)
		return a;
	i->key = s->impl_key;
	i->key_name = text(dk_registry_key_name(replay->reg, s->impl_key, key));
	i->flags = s->is_fallthrough ? DK_NL_IMPL_FALLTHROUGH : 0;
	i->device = s->device;
	i->label = text(s->label);
	i->provider = text(provider_of(s->label, s->provider));
	i->device_name = text(s->device_name);
	a->impl = i;
	return a;
}

static struct dk_nl_route *route_of(struct dk_op *op, const struct dk_explain *ex)
{
	struct dk_nl_route *a = give(sizeof(*a));
	const struct dk_entry *e = &ex->route.entry;
	char key[DK_NAME_MAX];

	a->op = text(dk_op_name(op));
	a->slot = ex->route.slot;
	a->key = dk_slot_key(replay->layout, a->slot);
	a->key_name = text(dk_registry_key_name(replay->reg, a->key, key));
	a->error = ex->error;
	a->provenance = next_of(lines, "newer") && e->provenance ? 100 : e->provenance;
	a->flags = e->is_fallthrough ? DK_NL_IMPL_FALLTHROUGH : 0;
	a->device = e->device;
	a->included = ex->included;
	a->excluded = ex->excluded;
	a->raw = ex->route.raw;
	a->merged = ex->merged;
	a->effective = ex->route.effective;
	a->generation = 42;
	a->label = text(e->label);
	a->provider = text(provider_of(e->label, e->provider));
	a->device_name = text(e->device_name);
	return a;
}

int dk_nl_explain(struct dk_nl *nl, const struct dk_nl_call *call,
		  const struct dk_nl_route **route, const struct dk_nl_step **steps)
{
	struct dk_explain ex = { .size = sizeof(ex) };
	struct dk_step step = { .size = sizeof(step) };
	const struct dk_obj *list[64];
	struct dk_obj objs[64];
	const struct dk_nl_op *o;
	struct dk_op *op;
	unsigned int i;
	int err = scripted("route");

	if (!err)
		err = dk_nl_op_get(nl, call->op, &o);
	if (err)
		return err;
	for (i = 0; i < call->num_objs; i++) {
		objs[i].ks = call->objs[i].ks;
		objs[i].device = call->objs[i].device;
		list[i] = &objs[i];
	}
	op = dk_op_get(replay->reg, call->op);
	dk_op_explain(op, call->has_included ? call->included : replay->included,
		      call->has_excluded ? call->excluded : replay->excluded, list,
		      call->num_objs, &ex);
	*route = route_of(op, &ex);
	for (i = 0; steps && !dk_explain_step(op, &ex, i, &step); i++) {
		*steps = step_of(&step);
		steps = (const struct dk_nl_step **)&((struct dk_nl_step *)*steps)->next;
	}
	dk_op_put(op);
	return 0;
}

int dk_nl_route_get(struct dk_nl *nl, const struct dk_nl_call *call,
		    const struct dk_nl_route **route)
{
	return dk_nl_explain(nl, call, route, NULL);
}

/* ---- counters, limits and events ---------------------------------------------------- */

int dk_nl_stats_get(struct dk_nl *nl, const struct dk_nl_stats **stats)
{
	static struct line *l;
	struct line *next = next_of(l ? l->next : lines, "stats");
	struct dk_nl_stats *s = give(sizeof(*s));

	l = next ? next : l;
	s->state = !strcmp(word(l, 0), "on") ? DK_NL_STATE_ONLINE : DK_NL_STATE_OFFLINE;
	s->count = number(l, 1);
	s->uncounted = number(l, 2);
	s->has_count = s->state == DK_NL_STATE_ONLINE && *word(l, 1);
	s->gone = number(l, 3);
	*stats = s;
	return scripted("stats");
}

int dk_nl_stats_enable(struct dk_nl *nl, int on)
{
	return scripted("stats-set");
}

int dk_nl_stats_reset(struct dk_nl *nl)
{
	return scripted("stats-set");
}

int dk_nl_stats_set_readers(struct dk_nl *nl, __u32 readers)
{
	return scripted("stats-set");
}

static __u32 value_of(enum dk_nl_words of, const char *name)
{
	__u32 i;

	for (i = 0; i < 16; i++) {
		if (!strcmp(dk_nl_word(of, i), name))
			return i;
	}
	die(name);
	return 0;
}

static const struct dk_nl_counter *counter(const struct line *l)
{
	struct dk_nl_counter *c = give(sizeof(*c));
	unsigned int key = 0;

	if (*word(l, 2) && dk_registry_key_parse(replay->reg, word(l, 2), &key, NULL))
		die("no such key");
	c->kind = value_of(DK_NL_WORDS_STAT_KIND, word(l, 0));
	c->op = word(l, 1);
	c->key = key;
	c->key_name = word(l, 2);
	c->label = word(l, 3);
	c->provider = word(l, 4);
	c->device_name = word(l, 5);
	c->has_count = *word(l, 6) != '\0';
	c->count = number(l, 6);
	return c;
}

int dk_nl_counters(struct dk_nl *nl, const struct dk_nl_counter_filter *f,
		   const struct dk_nl_counter **list)
{
	const struct dk_nl_counter **tail = list, *c;
	struct line *l;
	int err = scripted("counters");

	*list = NULL;
	for_each(l, "counter") {
		c = counter(l);
		if ((f->used && !c->count) || (f->op && strcmp(c->op, f->op) != 0) ||
		    (f->provider && strcmp(c->provider, f->provider) != 0))
			continue;
		*tail = c;
		tail = (const struct dk_nl_counter **)&((struct dk_nl_counter *)c)->next;
	}
	return err;
}

int dk_nl_limits(struct dk_nl *nl, const struct dk_nl_limit **list)
{
	const struct dk_nl_limit **tail = list;
	struct dk_nl_limit *a;
	struct line *l;
	int err = scripted("limits");

	*list = NULL;
	for_each(l, "limit") {
		a = give(sizeof(*a));
		a->name = word(l, 0);
		a->most = number(l, 1);
		a->has_used = *word(l, 2) != '\0';
		a->used = number(l, 2);
		*tail = a;
		tail = &a->next;
	}
	return err;
}

int dk_nl_limit_get(struct dk_nl *nl, const char *name, const struct dk_nl_limit **answer)
{
	struct dk_nl_limit *a;
	int err = dk_nl_limits(nl, answer);

	while (!err && *answer && strcmp((*answer)->name, name) != 0)
		*answer = (*answer)->next;
	if (!*answer)
		return absent("limit", name);
	a = give(sizeof(*a));
	*a = **answer;
	a->next = NULL;
	*answer = a;
	return err;
}

/* ---- events: one a second from the script, then the unloading of the module --------- */

static struct line *event_line;
static unsigned int num_events;

int dk_nl_monitor_open(const struct dk_nl_options *options, struct dk_nl_monitor **monitor,
		       struct dk_nl_error *why)
{
	int err = open_by("monitor");

	event_line = next_of(lines, "event");
	*why = error;
	*monitor = NULL;
	return err;
}

void dk_nl_monitor_close(struct dk_nl_monitor *monitor)
{
}

const struct dk_nl_error *dk_nl_monitor_why(const struct dk_nl_monitor *monitor)
{
	return &error;
}

int dk_nl_monitor_drain(struct dk_nl_monitor *monitor)
{
	while (event_line && !strcmp(word(event_line, 0), "queued"))
		event_line = next_of(event_line->next, "event");
	return 0;
}

int dk_nl_monitor_next(struct dk_nl_monitor *monitor, int timeout_ms, struct dk_nl_event *e)
{
	struct line *l = event_line;

	if (!l)
		return failed(-ENODEV, "the module was unloaded");
	event_line = next_of(l->next, "event");
	if (!strcmp(word(l, 0), "torn"))
		return failed(-EBADMSG, "an event that is not well formed");
	e->kind = !strcmp(word(l, 0), "new") || !strcmp(word(l, 0), "queued") ? 99 :
		  value_of(DK_NL_WORDS_EVENT_KIND, word(l, 0));
	snprintf(e->name, sizeof(e->name), "%s", word(l, 1));
	e->has_key = *word(l, 2) != '\0';
	snprintf(e->key_name, sizeof(e->key_name), "%s", word(l, 2));
	snprintf(e->provider, sizeof(e->provider), "%s", word(l, 3));
	e->state = !strcmp(word(l, 4), "new") ? 99 :
		   strcmp(word(l, 4), "offline") ? DK_NL_STATE_ONLINE : DK_NL_STATE_OFFLINE;
	e->count = (__u32)number(l, 5);
	e->number = (__u32)number(l, 6);
	e->time = 1800000000123456789ull + 1000000000ull * num_events;
	e->generation = 100 + num_events++;
	return 1;
}
