/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares what the files of lib/replay share. */
#ifndef _DK_REPLAY_INTERNAL_H
#define _DK_REPLAY_INTERNAL_H

#include "base/world.h"
#include "replay.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

/* ---- text.c: growing text ------------------------------------------------- */

struct dk_replay_text {
	char *buf;
	size_t len;
	size_t size;
	bool failed;		/* no memory: the text is incomplete */
};

bool dk_replay_text_grow(struct dk_replay_text *t, size_t more);
void dk_replay_text_add(struct dk_replay_text *t, const char *s, size_t len);
void dk_replay_text_free(struct dk_replay_text *t);

void dk_replay_put(struct dk_replay *r, const char *s);
void dk_replay_put_dec(struct dk_replay *r, unsigned int n);
void dk_replay_put_hex(struct dk_replay *r, u64 n);
void dk_replay_put_key(struct dk_replay *r, unsigned int key);
/* Puts a set in the form that PyTorch prints, such as DispatchKeySet(CPU). */
void dk_replay_put_printed(struct dk_replay *r, struct dk_keyset ks);
/* Puts the table entry of a set, or -1 if a trimmed table has no entry for the set. */
void dk_replay_put_index(struct dk_replay *r, struct dk_keyset ks);

size_t dk_replay_len(const char *s);
bool dk_replay_eq(const char *a, const char *b);

/* ---- words.c: splitting a command line ------------------------------------ */

#define DK_REPLAY_MAX_ARGS	3

struct dk_replay_words {
	char *arg[DK_REPLAY_MAX_ARGS];
	unsigned int n;
	unsigned int options;	/* bit c - 'a' for option c */
	char *value[26];	/* values of options, by letter */
	char *rest;		/* words after the args, if the command takes any number of words */
};

struct dk_replay_verb {
	struct dk_replay_command help;
	int (*run)(struct dk_replay *r, struct dk_replay_words *w);
	const char *options;	/* in the format of getopt() */
	u8 min;			/* smallest number of args; @max: largest */
	u8 max;
	bool more;		/* the command takes any number of words after the args */
};

/*
 * Returns the next word, terminated in place, or NULL. DispatchKeySet(...) is one
 * word, and so is text in '' or "".
 */
char *dk_replay_word(char **rest);
int dk_replay_words(struct dk_replay *r, const struct dk_replay_verb *v,
		    char *rest, struct dk_replay_words *w);
/* Refuses a line with a quote that has no end, or with an empty word. Precedes dk_replay_word(). */
int dk_replay_check_quotes(struct dk_replay *r, const char *s);
/* Refuses a line that is too long, is not UTF-8 or has control characters. */
int dk_replay_check_line(struct dk_replay *r, const char *line, size_t len);

static inline bool dk_replay_option(const struct dk_replay_words *w, char c)
{
	return w->options >> (c - 'a') & 1;
}

/* Returns the value of an option, or NULL. */
static inline const char *dk_replay_value(const struct dk_replay_words *w, char c)
{
	return w->value[c - 'a'];
}

/* ---- registered objects --------------------------------------------------- */

/* Definitions and registrations, by the hash of their operator's name. */
#define DK_REPLAY_BUCKETS	256

/* An operator that the transcript has defined. */
struct dk_replay_op {
	struct dk_replay_op *next;
	struct dk_op_decl decl;
};

/* A registered function, function of a device, or backend fallback (without @decl). */
struct dk_replay_impl {
	struct dk_replay_impl *next;
	struct dk_impl impl;
	struct dk_op_decl decl;
};

struct dk_replay_device {
	struct dk_replay_device *next;
	struct dk_provider prov;
	struct dk_replay_impl *impls;	/* newest first */
	struct dk_impl *table;		/* the array that was registered for @impls */
	unsigned int num_impls;
	unsigned int backend;
	__u32 number;			/* 0 while it is not registered */
	bool offline;
	char name[];
};

struct dk_replay_guard {
	struct dk_replay_guard *outer;
	struct dk_keyset *set;		/* which set to restore: @included or @excluded */
	struct dk_keyset saved;
};

struct dk_replay {
	dk_replay_emit_t emit;
	void *ctx;
	unsigned int registry_flags;
	bool builtins;				/* with the builtin fallbacks */

	const struct dk_layout *layout;
	const struct dk_layout *given;		/* layout of dk_replay_use_layout(), or NULL */
	struct dk_keyset included;
	struct dk_keyset excluded;
	struct dk_replay_guard *guards;		/* innermost first */

	struct dk_registry *reg;		/* NULL until it is needed */
	struct dk_provider prov;
	struct dk_replay_op *ops[DK_REPLAY_BUCKETS];
	struct dk_replay_impl *impls[DK_REPLAY_BUCKETS];
	struct dk_replay_impl *withdrawn;	/* to be freed after a drain */
	unsigned int num_withdrawn;
	struct dk_replay_device *devices;

	struct dk_replay_text line;
	struct dk_replay_text answer;
	struct dk_diag why;
	/* too large for a kernel stack */
	struct dk_entry entry;
	struct dk_entry run;
	struct dk_route route;
	struct dk_note note;
	struct dk_explain explain;
	struct dk_step step;
};

/* Refuses with a text of the interpreter. */
int dk_replay_refuse(struct dk_replay *r, int err, const char *text,
		     const char *name, size_t name_len);
/* Refuses with a reason of the dispatcher. */
int dk_replay_reason(struct dk_replay *r, int err, enum dk_reason reason,
		     const char *name);
int dk_replay_need_registry(struct dk_replay *r);
/* Finds a builtin layout by name, or the layout of dk_replay_use_layout(). */
const struct dk_layout *dk_replay_find_layout(struct dk_replay *r, const char *name);

/* These functions parse a word. They also accept the private names of backends. */
int dk_replay_key(struct dk_replay *r, const char *word, unsigned int *key);
int dk_replay_set(struct dk_replay *r, const char *word, struct dk_keyset *ks);
int dk_replay_bit(struct dk_replay *r, const char *word, unsigned int *backend);

/* ops.c */
struct dk_replay_impl *dk_replay_impl_alloc(const char *op, unsigned int key,
					    const char *label, const char *schema,
					    unsigned int flags);
void dk_replay_impls_free(struct dk_replay_impl *list);
struct dk_op *dk_replay_op_get(struct dk_replay *r, const char *name);
void dk_replay_ops_clear(struct dk_replay *r);

/* dump.c: appends a dump of an operator to the answer */
int dk_replay_put_text(struct dk_replay *r, struct dk_op *op,
		       size_t (*print)(struct dk_op *op, char *buf, size_t size));

/* devices.c */
int dk_replay_device_impl(struct dk_replay *r, const char *device,
			  struct dk_replay_impl *impl);
/* Removes the functions with this label or operator from all devices. */
int dk_replay_device_drop(struct dk_replay *r, const char *label, const char *op,
			  unsigned int *dropped);
void dk_replay_devices_clear(struct dk_replay *r);

/* explain.c: appends the steps of the call in r->explain; @objs are its arguments */
int dk_replay_put_steps(struct dk_replay *r, struct dk_op *op,
			const struct dk_obj *const *objs, unsigned int n);

/* calls.c */
void dk_replay_local_reset(struct dk_replay *r);

/* The functions that run the commands. */
#define DK_REPLAY_RUN(name)						\
	int dk_replay_run_##name(struct dk_replay *r, struct dk_replay_words *w)

DK_REPLAY_RUN(layout);
DK_REPLAY_RUN(stock);
DK_REPLAY_RUN(layout_info);
DK_REPLAY_RUN(key);
DK_REPLAY_RUN(alias);
DK_REPLAY_RUN(backends_of_autograd);
DK_REPLAY_RUN(autograd_of_backend);
DK_REPLAY_RUN(autocast_of_backend);
DK_REPLAY_RUN(full_after);
DK_REPLAY_RUN(constant);
DK_REPLAY_RUN(fresh);
DK_REPLAY_RUN(keyset);
DK_REPLAY_RUN(or);
DK_REPLAY_RUN(and);
DK_REPLAY_RUN(sub);
DK_REPLAY_RUN(xor);
DK_REPLAY_RUN(remove);
DK_REPLAY_RUN(remove_backend);
DK_REPLAY_RUN(has);
DK_REPLAY_RUN(has_any);
DK_REPLAY_RUN(has_all);
DK_REPLAY_RUN(is_backend_key);
DK_REPLAY_RUN(parse);
DK_REPLAY_RUN(legacy_extract);
DK_REPLAY_RUN(backend_type);
DK_REPLAY_RUN(compute_key);
DK_REPLAY_RUN(key_for_device);
DK_REPLAY_RUN(translate);
DK_REPLAY_RUN(op);
DK_REPLAY_RUN(undef);
DK_REPLAY_RUN(impl);
DK_REPLAY_RUN(fallback);
DK_REPLAY_RUN(drop);
DK_REPLAY_RUN(table);
DK_REPLAY_RUN(dump);
DK_REPLAY_RUN(keys);
DK_REPLAY_RUN(extractor);
DK_REPLAY_RUN(ops);
DK_REPLAY_RUN(dangling);
DK_REPLAY_RUN(has_op);
DK_REPLAY_RUN(has_impl);
DK_REPLAY_RUN(has_impl_in);
DK_REPLAY_RUN(is_served);
DK_REPLAY_RUN(is_fallthrough);
DK_REPLAY_RUN(has_fallback);
DK_REPLAY_RUN(check);
DK_REPLAY_RUN(missing);
DK_REPLAY_RUN(ambiguous);
DK_REPLAY_RUN(backend);
DK_REPLAY_RUN(device);
DK_REPLAY_RUN(leave);
DK_REPLAY_RUN(offline);
DK_REPLAY_RUN(online);
DK_REPLAY_RUN(local);
DK_REPLAY_RUN(include);
DK_REPLAY_RUN(exclude);
DK_REPLAY_RUN(end);
DK_REPLAY_RUN(tls);
DK_REPLAY_RUN(route);
DK_REPLAY_RUN(call);

#endif /* _DK_REPLAY_INTERNAL_H */
