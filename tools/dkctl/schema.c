// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl schema: checks a schema and prints its parts. */
#include "dkctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A printed type is longer than its text by at most a blank after each comma and around "->". */
#define TYPE_MAX	(3 * DK_SCHEMA_MAX)

/* PyTorch prints this as the schema of an operator without a definition. */
#define NO_SCHEMA	"(none)"

static char *printed(const struct dk_schema *s)
{
	size_t len = dk_schema_print(s, NULL, 0);
	char *text = malloc(len + 1);

	if (text)
		dk_schema_print(s, text, len + 1);
	return text;
}

static void put(const char *s)
{
	print_escaped(stdout, s, strlen(s));
}

static void arg_text(const char *what, unsigned int i, const struct dk_schema_arg *arg)
{
	char type[TYPE_MAX];

	dk_type_print(arg->type, type, sizeof(type));
	printf("  %s %u: %s%s%s", what, i, type, *arg->name ? " " : "", arg->name);
	if (arg->value) {
		printf(", by default ");
		put(arg->value);
	}
	printf("%s\n", arg->keyword_only ? ", by keyword only" : "");
}

static void schema_text(const struct dk_schema *s, const char *text)
{
	unsigned int i;
	__u64 mask;

	put(text);
	putchar('\n');
	for (i = 0; i < dk_schema_args(s); i++)
		arg_text("argument", i, dk_schema_argument(s, i));
	if (dk_schema_flags(s) & DK_SCHEMA_VARARG)
		puts("  and any further arguments");
	for (i = 0; i < dk_schema_returns(s); i++)
		arg_text("returns", i, dk_schema_return(s, i));
	if (dk_schema_flags(s) & DK_SCHEMA_VARRET)
		puts("  and any further return values");
	if (!dk_schema_dispatch_mask(s, &mask, NULL))
		printf("  a boxed call dispatches on 0x%llx (bit 0 is the last argument)\n",
		       (unsigned long long)mask);
}

static void arg_json(struct json *j, const struct dk_schema_arg *arg)
{
	char type[TYPE_MAX];

	dk_type_print(arg->type, type, sizeof(type));
	json_object(j, NULL);
	json_string(j, "name", arg->name);
	json_string(j, "type", type);
	if (arg->value)
		json_string(j, "default", arg->value);
	else
		json_null(j, "default");
	json_bool(j, "keyword_only", arg->keyword_only);
	json_close(j);
}

static void schema_json(struct request *q, const struct dk_schema *s, const char *text)
{
	struct json j;
	unsigned int i;
	__u64 mask;

	json_begin(&j, stdout, q);
	json_object(&j, "operator");
	json_string(&j, "schema", text);
	json_string(&j, "name", dk_schema_name(s));
	json_string(&j, "overload", dk_schema_overload(s));
	json_array(&j, "arguments");
	for (i = 0; i < dk_schema_args(s); i++)
		arg_json(&j, dk_schema_argument(s, i));
	json_close(&j);
	json_bool(&j, "varargs", dk_schema_flags(s) & DK_SCHEMA_VARARG);
	json_array(&j, "returns");
	for (i = 0; i < dk_schema_returns(s); i++)
		arg_json(&j, dk_schema_return(s, i));
	json_close(&j);
	json_bool(&j, "varreturns", dk_schema_flags(s) & DK_SCHEMA_VARRET);
	if (dk_schema_dispatch_mask(s, &mask, NULL))
		json_null(&j, "dispatch_mask");
	else
		json_hex(&j, "dispatch_mask", mask);
	json_end(&j);
}

static int fail_schema(struct request *q, const char *word, const struct dk_diag *why)
{
	return fail(q, STATUS_BAD_INPUT, word, NULL, "%s: %s", why->text, why->name);
}

static int show_schema(struct request *q, const char *word)
{
	struct dk_diag why = { .size = sizeof(why) };
	struct dk_schema *s;
	char *text;
	int err = dk_schema_parse(word, &s, &why);

	if (err == -ENOMEM)
		return fail_memory(q);
	if (err)
		return fail_schema(q, word, &why);
	text = printed(s);
	if (text && q->options & OPTION_JSON)
		schema_json(q, s, text);
	else if (text)
		schema_text(s, text);
	free(text);
	dk_schema_free(s);
	return text ? STATUS_OK : fail_memory(q);
}

/* Reads a schema and prints it as PyTorch does. */
static int print_line(struct request *q, const char *line, unsigned long number)
{
	struct dk_diag why = { .size = sizeof(why) };
	struct dk_schema *s;
	char *text;
	int err;

	if (!strcmp(line, NO_SCHEMA)) {
		puts(line);
		return STATUS_OK;
	}
	err = dk_schema_parse(line, &s, &why);
	if (err == -ENOMEM)
		return fail_memory(q);
	if (err)
		return fail(q, STATUS_BAD_INPUT, line, NULL, "line %lu: %s: %s", number,
			    why.text, why.name);
	text = printed(s);
	if (text) {
		put(text);
		putchar('\n');
	}
	free(text);
	dk_schema_free(s);
	return text ? STATUS_OK : fail_memory(q);
}

static int print_lines(struct request *q)
{
	unsigned long number = 0;
	int status = STATUS_OK;
	char *line = NULL;
	ssize_t len = 0;
	int err;

	while (status == STATUS_OK && (len = read_line(&line, stdin)) >= 0) {
		if (len && line[len - 1] == '\n')
			line[--len] = '\0';
		number++;
		if (memchr(line, '\0', len))
			status = fail(q, STATUS_BAD_INPUT, NULL, NULL,
				      "line %lu has a NUL byte", number);
		else if (len)
			status = print_line(q, line, number);
	}
	/* errno, not ferror(): read_line() may also have failed to allocate memory */
	err = len < 0 && !feof(stdin) ? errno : 0;
	free(line);
	if (err)
		return fail(q, err == ENOMEM ? STATUS_SYSTEM : STATUS_BAD_INPUT, NULL, NULL,
			    "cannot read \"standard input\": %s", strerror(err));
	return status;
}

int run_schema(struct request *q)
{
	if (!q->num_args)
		return fail(q, STATUS_BAD_INPUT, "TEXT", NULL,
			    "schema needs the text of a schema, as in \"dkctl schema 'a::neg(Tensor self) -> Tensor'\", or \"-\" to read schemas from standard input");
	if (strcmp(q->args[0], "-"))
		return show_schema(q, q->args[0]);
	if (q->options & OPTION_JSON)
		return fail(q, STATUS_BAD_INPUT, "-", NULL,
			    "\"schema -\" has no JSON output: omit option --json");
	return print_lines(q);
}
