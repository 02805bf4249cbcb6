/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the subcommands about a running kernel share. */
#ifndef DKCTL_LIVE_H
#define DKCTL_LIVE_H

#include "../dkctl.h"

#include <dispatchkey-nl.h>

struct live {
	struct request *q;
	struct dk_nl *nl;		/* NULL: not yet open; see kernel() */
	char **next;			/* the word to be read */
	const struct dk_layout *layout;	/* of the kernel's keys, see names.c */
	struct dk_layout *parsed;	/* to be freed */
	const struct dk_nl_backend *backends;
	struct dk_registry *names;
	struct dk_provider prov;
};

/* The subcommands. */
int live_backend(struct live *v);
int live_device(struct live *v);
int live_provider(struct live *v);
int live_op(struct live *v);
int live_kernels(struct live *v);
int live_table(struct live *v);
int live_route(struct live *v);
int live_stats(struct live *v);
int live_monitor(struct live *v);
int live_limits(struct live *v);

/*
 * live.c: the kernel, for the first question and all that follow. What is typed
 * wrongly has been told before. Where it cannot be asked, dkctl says so and ends.
 */
struct dk_nl *kernel(struct live *v);
/* One sentence on why the kernel cannot be asked, or has refused. */
int fail_open(struct request *q, int err, const struct dk_nl_error *why);
int fail_kernel(struct live *v, int err);

static inline bool wants(const struct live *v, unsigned int option)
{
	return v->q->options & option;
}

/* words.c: what stands behind the subcommand, in the manner of ip(8) */

/* The next word is this one or begins it, and is read; "-" is no such word. */
bool take(struct live *v, const char *word);
/* The same for "show" and its other names. */
bool take_show(struct live *v);
/* The value after a word such as "backend"; @what names it. NULL after a failure. */
const char *take_value(struct live *v, const char *word, const char *what, int *status);
/* "key KEY" and the like, behind that word; a failure where it is none. */
int take_key(struct live *v, __u32 *key);
int take_backend(struct live *v, __u32 *number);
int take_device(struct live *v, __u32 *number);
/* "offline" or "online". */
bool take_state(struct live *v, int *online);
/* There is to be no more; a failure if there is. @words are those that fit. */
int no_more(struct live *v, const char *const *words);

/* names.c: names of keys and sets, with those of private backends */
int names_begin(struct live *v);
void names_end(struct live *v);
const char *name_of_key(struct live *v, unsigned int key, char buf[DK_NAME_MAX]);
const char *name_of_backend(struct live *v, unsigned int number, char buf[DK_NAME_MAX]);
/* These fail with a sentence. */
int parse_key(struct live *v, const char *word, unsigned int *key);
int parse_set(struct live *v, const char *word, struct dk_keyset *ks);
/* What is nearest to a word that is no set. */
void suggest_live_set(struct live *v, struct suggestion *s);

/* find.c: what a person named, by asking for all there are */
int need_backends(struct live *v);
const struct dk_nl_backend *backend_named(const struct dk_nl_backend *list, const char *name);
const struct dk_nl_device *device_named(const struct dk_nl_device *list, const char *name);
int find_backend(struct live *v, const char *name, __u32 *number);
int find_device(struct live *v, const char *name, __u32 *number);
/* No such name: the sentence, with what is near. */
int fail_backend(struct live *v, const char *name);
int fail_device(struct live *v, const char *name);
int fail_provider(struct live *v, const char *name);
int fail_op(struct live *v, const char *name);
/* Nothing was found: is that because one of these is not there? */
int check_names(struct live *v, const char *op, const char *provider);
/* The kernel has refused what these filter: -ENOENT is one of them. */
int fail_filtered(struct live *v, int err, const char *op, const char *provider);
/* -ENOENT and -ENODEV for a name are one of these, and all else the kernel's own words. */
int fail_named(struct live *v, int err, const char *name,
	       int (*fail_name)(struct live *v, const char *name));

/* say.c: words that several use */
const char *state_word(__u32 state);
enum color state_color(__u32 state);
/* "provider", or what the registry was born with */
const char *provider_word(const char *provider);
void put_impl_flags(__u32 flags, char *buf, size_t size);
void put_op_flags(__u32 flags, char *buf, size_t size);
void json_impl_flags(struct json *j, __u32 flags);
void json_op_flags(struct json *j, __u32 flags);
/* A member, or null where there is none. */
void json_name(struct json *j, const char *name, const char *s);
/* The names of an array, of all that there are, and how many are not in it. */
void put_names(struct listing *l, const char *const *names, __u32 n, __u32 all);
void json_names(struct json *j, const char *name, const char *const *names, __u32 n);
/* "1 function", "2 functions" */
const char *plural(char buf[64], unsigned long long n, const char *one, const char *many);

/* switch.c: "set NAME offline|online", and what it led to; what can be switched */
struct switchable {
	const char *what;
	const char *name_needed;	/* after "set" */
	int (*set_online)(struct dk_nl *nl, __u32 number, const char *name, int online,
			  const struct dk_nl_switched **switched);
	int (*get_state)(struct dk_nl *nl, __u32 number, __u32 *state);
	int (*fail_name)(struct live *v, const char *name);
};

int run_set(struct live *v, const struct switchable *kind);

#endif /* DKCTL_LIVE_H */
