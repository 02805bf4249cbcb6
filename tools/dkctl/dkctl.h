/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares what the files of dkctl share. */
#ifndef DKCTL_H
#define DKCTL_H

/* For fopencookie() and SIGPIPE; this must be the first header. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dispatchkey.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Exit status. */
enum {
	STATUS_OK,
	STATUS_DIFFERS,		/* replay --check found a wrong answer; a route has no function */
	STATUS_BAD_INPUT,	/* a word, an option or a file is wrong */
	STATUS_SYSTEM,		/* no memory, or the output cannot be written */
	STATUS_KERNEL,		/* the module is not loaded, or refused the request */
};

/* Version of the JSON output. Changes if a member is removed, or if a member's meaning changes. */
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
	/* options of the subcommands for a running kernel */
	OPTIONS_LIVE = OPTION_STATISTICS | OPTION_COLOR,
};

/* The parsed command line. */
struct request {
	unsigned int options;
	const char *layout_name;
	const struct dk_layout *layout;	/* the named layout, or v1 */
	const char *to_name;		/* argument of --to, or NULL */
	const char *svg_name;		/* argument of --svg, or NULL */
	bool color;
	const struct subcommand *subcommand;
	struct dk_layout *opened[3];	/* layouts read from files, to be freed */
	int num_opened;
	char **args;			/* words after the subcommand */
	int num_args;
};

/* A word or an option and its meaning, as the help and the completion print it. */
struct term {
	const char *name;		/* including its values: "set NAME offline", "-j, --json" */
	const char *what;		/* one or more lines */
	const char *kind;		/* the usage's placeholder that it can replace, or NULL */
};

struct subcommand {
	const char *name;
	const char *usage;		/* its arguments, and the options that are not global */
	const char *summary;
	const char *help;		/* the first paragraphs */
	int (*run)(struct request *q);
	unsigned int options;		/* accepted in addition to the global ones */
	int min_args;
	int max_args;			/* -1: any number */
	const char *examples;		/* one per line */
	const struct term *terms;	/* ends with a NULL name */
	const char *note;		/* paragraphs after @terms, or NULL */
};

/* subcommands.c */
extern const struct subcommand subcommands[];	/* ends with a NULL name */
const struct subcommand *find_subcommand(const char *name);

/* options.c */
struct option_name {
	const char *name;
	char letter;			/* or 0 */
	unsigned int option;
};

extern const struct option_name options[];	/* each of these ends with a NULL name */
extern const struct term layout_option_terms[];
extern const struct term global_option_terms[];
extern const struct term live_option_terms[];

/* The state of reading a command line. The first wrong option is reported at the end. */
struct reader {
	struct request *q;
	char **next;
	const char *bad;		/* the wrong option, or NULL */
	const char *why;
	unsigned int wants;		/* the last option, if its value is missing; else 0 */
	bool is_over;			/* "--" was read, so no more options follow */
};

/* Reads options at any position and moves the other words to the front of @argv. */
void read_options(struct reader *r, char **argv);
int fail_option(struct reader *r);
/* Fails if the subcommand does not accept one of the options. */
int check_options(struct request *q, const struct subcommand *s);
/* True if the @len bytes at @text are equal to @word. */
static inline bool is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(text, word, len);
}

/* Finds an option by its name without "--", or returns NULL. */
const struct option_name *find_option(const char *name, size_t len);
const struct option_name *find_letter(char letter);

/* main.c: writes a long text, and keeps the errno for close_output() */
void put_output(const char *text, size_t len);
/* main.c: flushes standard output, and keeps the errno for close_output() */
void flush_output(void);
/* main.c: flushes and closes standard output; returns @status, or STATUS_SYSTEM on failure */
int close_output(int status);
/* main.c: reports that standard output cannot be written; returns STATUS_SYSTEM */
int fail_output(int error);

/* layout.c, key.c, ...: the subcommands */
int run_layout(struct request *q);
int run_key(struct request *q);
int run_alias(struct request *q);
int run_keyset(struct request *q);
int run_schema(struct request *q);
int run_replay(struct request *q);
int run_help(struct request *q);
/* complete.c: not in the table of subcommands, because only the shells' files use it */
#define COMPLETE	"__complete"
int run_complete(char **words);
/*
 * The subcommands for a running kernel. run_live_NAME() in live/live.c calls live_NAME() in live/.
 * Without libnl, run_live_NAME() is in nolive/live.c and reports that libnl is missing.
 */
#define LIVE_SUBCOMMANDS(X)							\
	X(backend) X(device) X(provider) X(op) X(kernels) X(table) X(route)	\
	X(stats) X(monitor) X(limits)
#define DECLARE_RUN_LIVE(name)	int run_live_##name(struct request *q);
LIVE_SUBCOMMANDS(DECLARE_RUN_LIVE)
/* A note in the help; empty if dkctl was built with libnl. */
extern const char live_note[];
int run_version(struct request *q);
/* Prints only the version of dkctl. */
int show_version(struct request *q);

/* The end of the name of a layout whose table is PyTorch's trimmed one. */
#define TRIMMED	"+trimmed"

/*
 * layout.c: finds a layout by name, or reads it from a file. Returns NULL after fail().
 * Each request may open three layouts.
 */
const struct dk_layout *open_layout(struct request *q, const char *name, int *status);
/* Returns the entries of a functionality, or false if a trimmed table has none. */
bool table_entries(const struct dk_layout *l, unsigned int f, unsigned int *first,
		   unsigned int *last);

/* c_names.c: returns a C name such as "DK_AUTOGRAD_PRIVATEUSE1", or NULL. Layout v1 only. */
const char *key_c_name(const struct dk_layout *l, unsigned int key);
bool key_of_c_name(const struct dk_layout *l, const char *name, unsigned int *key);

/* key.c: describes in words what kind of key it is */
void key_class(const struct dk_layout *l, unsigned int key, char *buf, size_t size);
/* True if the value is a key, and not a gap or a sentinel. */
bool is_key(const struct dk_layout *l, unsigned int key);

/* translate.c: keyset --to */
int run_translate(struct request *q, struct dk_keyset ks);

/* help.c */
void help_overview(FILE *f);
void help_subcommand(FILE *f, const struct subcommand *s);
/* Prints the commands of transcripts. */
void help_transcript(FILE *f);
/* Prints the usage of one command; returns false if it is unknown. */
bool help_command(FILE *f, const char *name, size_t len);
int show_help(struct request *q, const struct subcommand *s);

/* text_stream.c: collects output in memory */
struct text_stream {
	char *text;			/* valid after text_end() */
	size_t len;
	size_t size;
	bool failed;			/* an allocation failed */
};

/* Returns NULL if allocation fails. */
FILE *text_begin(struct text_stream *t);
/* Closes @f. Returns false if an allocation failed; otherwise, the caller frees t->text. */
bool text_end(struct text_stream *t, FILE *f);

/*
 * read_line.c: like getline(), but *line has a fixed size. The end of a line that is longer than
 * any valid line is left out
 */
ssize_t read_line(char **line, FILE *f);

/* escape.c: prints bytes other than printable ASCII and tabs as \xNN */
void print_escaped(FILE *f, const char *s, size_t len);
/* Returns the length of the UTF-8 character at @s, or 0 if it is invalid. */
size_t utf8_len(const unsigned char *s, size_t len);
/* True if the UTF-8 character of @n bytes is a control character beyond ASCII. */
bool is_utf8_control(const char *s, size_t n);
/* Like print_escaped(), but prints UTF-8 unchanged, except for control characters. */
void print_utf8(FILE *f, const char *s, size_t len);
/* Returns an allocated copy in which tabs are escaped, too, or NULL if allocation fails. */
char *escape_text(const char *s);
/* Returns the length of the copy that escape_text() makes. */
size_t escaped_len(const char *s);

/* error.c: prints a message on stderr, and with --json as an object on stdout */
void print_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));
int fail(struct request *q, int status, const char *word, const char *suggestion,
	 const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Reports bad input in a line of a file. */
int fail_at(struct request *q, const char *file, unsigned long line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int fail_key(struct request *q, const char *name);
int fail_keyset(struct request *q, const char *word);
int fail_layout(struct request *q, const char *name);
/* @words: the unknown subcommand and what follows it */
int fail_subcommand(struct request *q, char *const *words);
int fail_memory(struct request *q);
/* True for "offline", "online" and their abbreviations. */
bool is_state(const char *word);

/* suggest.c: finds the candidate that is most similar to a mistyped word */
struct suggestion {
	const char *word;
	unsigned int distance;
	char best[DK_NAME_MAX];
};

void suggest_begin(struct suggestion *s, const char *word);
void suggest_try(struct suggestion *s, const char *candidate);
/* Try all keys, bits, parts of a set, or layouts as candidates. */
void suggest_keys(struct suggestion *s, const struct dk_layout *l, bool aliases);
void suggest_bits(struct suggestion *s, const struct dk_layout *l);
void suggest_set(struct suggestion *s, const struct dk_layout *l);
void suggest_layouts(struct suggestion *s);
/* Returns the best candidate, or NULL if none is similar enough. */
const char *suggest_end(struct suggestion *s);

/* json.c */
struct json {
	FILE *f;
	bool pretty;
	bool inside;		/* the current object or array is not empty */
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

/* keyset.c: prints the table entry of a set, or that a trimmed table has no such entry */
void put_entry(const struct dk_layout *l, struct dk_keyset ks, int label);
void json_entry(struct json *j, const struct dk_layout *l, struct dk_keyset ks);

/*
 * word_wrap.c: returns how many columns the output is wrapped to: those of the terminal, or
 * COLUMNS, or 100
 */
int line_width(FILE *f);
/* Prints a line, with unprintable bytes as \xNN. Breaks it at spaces; keeps all other spaces. */
void put_broken(FILE *f, const char *text, size_t len, int indent);

/* Wraps words into lines. */
struct wrap {
	FILE *f;
	int columns;
	int indent;
	int column;
};

void wrap_begin(struct wrap *w, FILE *f, const char *head, int indent);
void wrap_word(struct wrap *w, const char *word, const char *tail);
void wrap_end(struct wrap *w);
/* Wraps a text, with unprintable bytes as \xNN, and ends it; false if allocation fails. */
bool wrap_all(struct wrap *w, const char *text);
/* As wrap_begin() and wrap_all(), for lines of this width. */
bool wrap_words(FILE *f, int columns, const char *head, const char *text);
/* Like wrap_words(), to standard output; returns a status. */
int wrap_text(struct request *q, const char *head, const char *text);

/* color.c: colours of a terminal */
enum color {
	COLOR_NONE,
	COLOR_BOLD,
	COLOR_DIM,
	COLOR_GOOD,
	COLOR_BAD,
	COLOR_CELL,		/* plus a provenance: the colour of a cell of a table */
};

extern const struct term color_terms[];
/* Parses "auto", "always" or "never"; returns false for another word. */
bool color_parse(const char *word, bool *color);
/* Start and end coloured text. */
void color_begin(FILE *f, bool on, unsigned int color);
void color_end(FILE *f, bool on, unsigned int color);

/* columns.c: prints rows in aligned columns, and breaks cells that do not fit */
struct column {
	const char *head;
	bool is_right;		/* flush right, for numbers */
};

struct columns {
	const struct column *columns;
	unsigned int num_columns;
	struct cell *cells;
	size_t num_cells;
	size_t capacity;
	bool failed;		/* no memory */
};

void columns_begin(struct columns *l, const struct column *columns, unsigned int n);
/* Adds the next cell of the row. */
void columns_put(struct columns *l, enum color color, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Prints and frees all rows; empty columns are omitted. */
int columns_end(struct request *q, struct columns *l);
void columns_free(struct columns *l);

#endif /* DKCTL_H */
