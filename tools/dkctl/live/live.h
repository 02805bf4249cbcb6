/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares what the subcommands for a running kernel share. */
#ifndef DKCTL_LIVE_H
#define DKCTL_LIVE_H

#include "../dkctl.h"

#include <dispatchkey-nl.h>

struct live {
	struct request *q;
	struct dk_nl *nl;		/* NULL until client() opens it */
	char **next;			/* next word to read */
	const struct dk_layout *layout;	/* the kernel's layout, see key_names.c */
	struct dk_layout *parsed;	/* @layout if it must be freed, or NULL */
	const struct dk_nl_backend *backends;
	struct dk_registry *names;
	struct dk_provider prov;
};

/* The subcommands: backend.c, device.c, ... */
#define DECLARE_LIVE(name)	int live_##name(struct live *v);
LIVE_SUBCOMMANDS(DECLARE_LIVE)

/*
 * live.c: returns the netlink client, which the first call opens. If the module is not
 * available, prints an error and exits. Subcommands check their words before they call
 * this function, so that wrong words are reported first.
 */
struct dk_nl *client(struct live *v);
/* Report that the module is not available, or that it refused a request. */
int fail_open(struct request *q, int err, const struct dk_nl_error *why);
int fail_kernel(struct live *v, int err);

static inline bool has_option(const struct live *v, unsigned int option)
{
	return v->q->options & option;
}

/* arguments.c: reads the words after the subcommand, which may be abbreviated as in ip(8) */

/* Reads the next word if it is @word or an abbreviation of it. */
bool take(struct live *v, const char *word);
/* Reads the next word if it is "show", "list" or "lst", or an abbreviation. */
bool take_show(struct live *v);
/* Reads the value after @word. @what describes the value in errors. Returns NULL after an error. */
const char *take_value(struct live *v, const char *word, const char *what, int *status);
/* Read the value after "key", "backend" or "device"; return a status. */
int take_key(struct live *v, __u32 *key);
int take_backend(struct live *v, __u32 *number);
int take_device(struct live *v, __u32 *number);
/* Reads "offline" or "online"; returns false for another word. */
bool take_state(struct live *v, int *online);
/*
 * Reads the name of what to show. @shown is true if the previous word was "show". Returns NULL if
 * there is no name. Also returns NULL if more words follow the name, and the name is probably a
 * mistyped word of @words.
 */
const char *take_name(struct live *v, bool shown, const char *const *words);
/* Reports that the next word was not expected. @suggestion may be NULL. */
int fail_unexpected(struct live *v, const char *suggestion);
/* Fails if there are more words. @words are the candidates for a suggestion. */
int expect_end(struct live *v, const char *const *words);
/* Fails if a state follows a name without "set" before the name. */
int expect_no_state(struct live *v);

/* key_names.c: names of keys and sets, including those of private backends */
int names_begin(struct live *v);
void names_end(struct live *v);
const char *live_key_name(struct live *v, unsigned int key, char buf[DK_NAME_MAX]);
const char *live_backend_name(struct live *v, unsigned int number, char buf[DK_NAME_MAX]);
/* parse_key() and parse_set() print an error on failure. */
int parse_key(struct live *v, const char *word, unsigned int *key);
int parse_set(struct live *v, const char *word, struct dk_keyset *ks);
/* Tries all parts of a set, including private names. */
void suggest_live_set(struct live *v, struct suggestion *s);

/* lookup.c: looks up names in the kernel */
int need_backends(struct live *v);
const struct dk_nl_backend *backend_named(const struct dk_nl_backend *list, const char *name);
const struct dk_nl_device *device_named(const struct dk_nl_device *list, const char *name);
int find_backend(struct live *v, const char *name, __u32 *number);
int find_device(struct live *v, const char *name, __u32 *number);
/* Reports an unknown name. If there is no suggestion, names the subcommand that lists all names. */
int fail_name(struct live *v, const char *what, const char *subcommand, const char *name,
	      struct suggestion *s);
/* Report an unknown name, with a suggestion. */
int fail_backend(struct live *v, const char *name);
int fail_device(struct live *v, const char *name);
int fail_provider(struct live *v, const char *name);
int fail_op(struct live *v, const char *name);
/* Called if a list is empty. Fails if a name in the filter does not exist. */
int check_names(struct live *v, const char *op, const char *provider);
/* Reports an error of a filtered list. -ENOENT means that a name in the filter is unknown. */
int fail_filtered(struct live *v, int err, const char *op, const char *provider);
/* True if the error means that the kernel does not know a name. */
bool is_unknown_name(struct live *v, int err);
/* Reports an unknown name with @fail_name, and other errors with the kernel's text. */
int fail_named(struct live *v, int err, const char *name,
	       int (*fail_name)(struct live *v, const char *name));

/*
 * backend.c: true for a backend that is offline, or that has a private name, functions, devices or
 * providers
 */
bool backend_in_use(const struct dk_nl_backend *b);

/* format.c: formatting shared by several subcommands */
const char *state_word(__u32 state);
enum color state_color(__u32 state);
/* Returns the name of a provider, or "(built in)" if it is empty. */
const char *provider_word(const char *provider);
void put_op_flags(__u32 flags, char *buf, size_t size);
void json_op_flags(struct json *j, __u32 flags);
/* Adds the columns of a function: its key, label, provider, device and flags. */
void put_impl(struct columns *l, const struct dk_nl_impl *i);
/* Writes the members of a function, without its operator. */
void json_impl(struct json *j, const struct dk_nl_impl *i);
/* Writes a string member, or null if @s is empty. */
void json_name(struct json *j, const char *name, const char *s);
/* Prints @n names and, if @all is greater than @n, the number of those not printed. */
void put_names(struct columns *l, const char *const *names, __u32 n, __u32 all);
void json_names(struct json *j, const char *name, const char *const *names, __u32 n);
/* Returns a number with a noun: "1 function", "2 functions" */
const char *plural(char buf[64], unsigned long long n, const char *one, const char *many);

/* set_online.c: "set NAME offline|online" for backends and devices */
struct switchable {
	const char *what;
	bool is_device;
	const char *name_needed;	/* what "set" needs, for the error message */
	int (*set_online)(struct dk_nl *nl, __u32 number, const char *name, int online,
			  const struct dk_nl_switched **switched);
	int (*get_state)(struct dk_nl *nl, __u32 number, __u32 *state);
	int (*fail_name)(struct live *v, const char *name);
};

int run_set(struct live *v, const struct switchable *kind);

#endif /* DKCTL_LIVE_H */
