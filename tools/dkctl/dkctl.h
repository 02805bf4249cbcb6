/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the files of dkctl share. */
#ifndef DKCTL_H
#define DKCTL_H

/* getline(), open_memstream(), SIGPIPE; the first header that is included */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE	200809L
#endif

#include <dispatchkey.h>
#include <stdbool.h>
#include <stdio.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Exit status. */
enum {
	STATUS_OK,
	STATUS_DIFFERS,		/* a wrong answer in replay --check, a route to nothing */
	STATUS_BAD_INPUT,	/* a word, an option or a file that is wrong */
	STATUS_SYSTEM,		/* no memory, or the output cannot be written */
	STATUS_KERNEL,		/* the module is not loaded, or has refused */
};

/* Columns that output fits in. */
#define COLUMNS		100

/* Version of the JSON that is written; it changes when a member goes. */
#define JSON_SCHEMA	1

enum option {
	OPTION_JSON = 1,
	OPTION_PRETTY = 2,
	OPTION_LAYOUT = 4,
	OPTION_HELP = 8,
	OPTION_VERSION = 16,
	OPTION_CHECK = 32,
	OPTION_TRANSCRIPT = 64,
	OPTION_FORCE_RESOLVE = 128,
	OPTION_TO = 256,
	OPTION_DESCRIBE = 512,
	OPTION_STATISTICS = 1024,
	OPTION_COLOR = 2048,
	OPTION_SVG = 4096,
	OPTION_USED = 8192,
	OPTION_VERBOSE = 16384,
	OPTIONS_WITH_VALUE = OPTION_LAYOUT | OPTION_TO | OPTION_SVG,
	OPTIONS_GLOBAL = OPTION_JSON | OPTION_PRETTY | OPTION_HELP | OPTION_VERSION,
	/* of the subcommands about a running kernel */
	OPTIONS_LIVE = OPTION_STATISTICS | OPTION_COLOR,
};

/* The command line, taken apart. */
struct request {
	unsigned int options;
	const char *layout_name;
	const struct dk_layout *layout;	/* found, v1 unless it was named */
	const char *to_name;		/* of --to, or NULL */
	const char *svg_name;		/* of --svg, or NULL */
	bool color;
	const struct subcommand *subcommand;
	struct dk_layout *opened[3];	/* read from files, to be freed */
	int num_opened;
	char **args;			/* behind the subcommand */
	int num_args;
};

struct subcommand {
	const char *name;
	const char *usage;		/* its words and own options */
	const char *summary;
	const char *help;
	int (*run)(struct request *q);
	unsigned int options;		/* that it knows, beside the global ones */
	int min_args;
	int max_args;			/* -1: any number */
	const char *examples;		/* as lines of a list */
};

/* main.c */
extern const struct subcommand subcommands[];	/* ended by one without name */
const struct subcommand *find_subcommand(const char *name);
/* The last thing: the status, or that of what could not be written. */
int close_output(int status);

/* layout.c, key.c, ...: the subcommands */
int run_layout(struct request *q);
int run_key(struct request *q);
int run_alias(struct request *q);
int run_keyset(struct request *q);
int run_schema(struct request *q);
int run_replay(struct request *q);
int run_help(struct request *q);
/* live/live.c: those about a running kernel, or nolive/live.c without libnl */
int run_live(struct request *q);
/* What the help says of them. */
extern const char live_note[];
int run_version(struct request *q);
/* Of the tool alone. */
int show_version(struct request *q);

/* layout.c: by name, or from the file of that name; else NULL, after fail().
 * A request needs three at most.
 */
const struct dk_layout *open_layout(struct request *q, const char *name, int *status);

/* cname.c: "DK_AUTOGRAD_PRIVATEUSE1"; NULL for no constant, or under another layout than v1 */
const char *key_c_name(const struct dk_layout *l, unsigned int key);
bool key_of_c_name(const struct dk_layout *l, const char *name, unsigned int *key);

/* translate.c: keyset --to */
int run_translate(struct request *q, struct dk_keyset ks);

/* help.c */
void help_overview(FILE *f);
void help_subcommand(FILE *f, const struct subcommand *s);
/* The commands of a transcript, as replay's help and its prompt show them. */
void help_transcript(FILE *f);
/* One of them; false if there is none of that name. */
bool help_command(FILE *f, const char *name);
int show_help(struct request *q, const struct subcommand *s);

/* error.c: what a user or a file gave; all but ASCII to be seen and tabs as \xNN */
void print_text(FILE *f, const char *s, size_t len);
/* The same as a string, of tabs, too; to be freed; NULL without memory. */
char *plain_text(const char *s);

/* error.c: one sentence on stderr, of an error in JSON too if that was asked for */
void remark(const char *format, ...) __attribute__((format(printf, 1, 2)));
int fail(struct request *q, int status, const char *word, const char *suggestion,
	 const char *format, ...) __attribute__((format(printf, 5, 6)));
int fail_key(struct request *q, const char *name);
int fail_keyset(struct request *q, const char *word);
int fail_layout(struct request *q, const char *name);
int fail_subcommand(struct request *q, const char *name);
int fail_memory(struct request *q);

/* suggest.c: the candidate that is nearest to a mistyped word */
struct suggestion {
	const char *word;
	unsigned int distance;
	char best[DK_NAME_MAX];
};

void suggest_begin(struct suggestion *s, const char *word);
void suggest_try(struct suggestion *s, const char *candidate);
/* Every key, bit, part of a set or layout that there is. */
void suggest_keys(struct suggestion *s, const struct dk_layout *l, bool aliases);
void suggest_bits(struct suggestion *s, const struct dk_layout *l);
void suggest_set(struct suggestion *s, const struct dk_layout *l);
void suggest_layouts(struct suggestion *s);
/* The best one, or NULL if none is near. */
const char *suggest_end(struct suggestion *s);

/* json.c */
struct json {
	FILE *f;
	bool pretty;
	bool inside;		/* something was written at this depth */
	int depth;
	char closing[16];
};

void json_begin(struct json *j, FILE *f, const struct request *q);
void json_object(struct json *j, const char *name);
void json_array(struct json *j, const char *name);
void json_close(struct json *j);
void json_end(struct json *j);
void json_string(struct json *j, const char *name, const char *s);
void json_string_len(struct json *j, const char *name, const char *s, size_t len);
void json_uint(struct json *j, const char *name, unsigned long long n);
void json_hex(struct json *j, const char *name, unsigned long long n);
void json_bool(struct json *j, const char *name, bool b);
void json_null(struct json *j, const char *name);

/* keyset.c: the table entry of a set, which a trimmed table may not have */
void put_entry(const struct dk_layout *l, struct dk_keyset ks, int label);
void json_entry(struct json *j, const struct dk_layout *l, struct dk_keyset ks);

/* wrap.c: words in lines that fit */
struct wrap {
	FILE *f;
	int columns;
	int indent;
	int column;
};

void wrap_begin(struct wrap *w, FILE *f, const char *head, int indent);
void wrap_word(struct wrap *w, const char *word, const char *tail);
void wrap_end(struct wrap *w);
/* All words of a text, with bytes that are not to be seen as \\xNN; false without memory. */
bool wrap_words(FILE *f, int columns, const char *head, const char *text);
/* The same to standard output; or it fails. */
int wrap_text(struct request *q, const char *head, const char *text);

/* color.c: what a terminal shows in which colour */
enum color {
	COLOR_NONE,
	COLOR_BOLD,
	COLOR_DIM,
	COLOR_GOOD,
	COLOR_BAD,
	COLOR_CELL,		/* + a provenance: a cell of a grid */
};

/* "auto", "always" or "never"; false for another word. */
bool color_parse(const char *word, bool *color);
/* Begin and end text of that colour. */
void color_begin(FILE *f, bool on, unsigned int color);
void color_end(FILE *f, bool on, unsigned int color);

/* listing.c: rows and columns that fit in COLUMNS; words too long are broken */
struct column {
	const char *head;
	bool is_right;		/* flush right, for numbers */
};

struct listing {
	const struct column *columns;
	unsigned int num_columns;
	struct listing_cell *cells;
	size_t num_cells;
	size_t room;
	bool failed;		/* no memory */
};

void listing_begin(struct listing *l, const struct column *columns, unsigned int n);
/* The next cell of the row. */
void listing_put(struct listing *l, enum color color, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Print and free it; columns without a word are left out. */
int listing_end(struct request *q, struct listing *l);
void listing_free(struct listing *l);

#endif /* DKCTL_H */
