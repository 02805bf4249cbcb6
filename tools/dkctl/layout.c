// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl layout: prints a layout, highest priority first. */
#include "dkctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* No layout is this long. The limit also stops reading endless device files. */
#define FILE_MAX	65536

/* For most reasons, @why->name is "line N: WORD". */
static int fail_parse(struct request *q, const char *file, const struct dk_diag *why)
{
	static const char prefix[] = "line ";
	size_t len = sizeof(prefix) - 1;
	unsigned long line = 0;

	if (!strncmp(why->name, prefix, len))
		line = strtoul(why->name + len, NULL, 10);
	return fail_at(q, file, line, "%.512s: %s: %s", file, why->name, why->text);
}

static struct dk_layout *parse_file(struct request *q, const char *name, FILE *f, int *status)
{
	struct dk_diag why = { .size = sizeof(why) };
	char *text = malloc(FILE_MAX + 1);
	struct dk_layout *l = NULL;
	size_t n;

	if (!text) {
		*status = fail_memory(q);
		return NULL;
	}
	n = fread(text, 1, FILE_MAX + 1, f);
	if (ferror(f) || n > FILE_MAX || memchr(text, '\0', n)) {
		*status = fail(q, STATUS_BAD_INPUT, name, NULL,
			       "cannot read a layout from \"%.512s\": %s", name,
			       ferror(f) ? strerror(errno) : n > FILE_MAX ?
			       "it is longer than 65536 bytes" : "it has a NUL byte");
	} else {
		text[n] = '\0';
		l = dk_layout_parse(text, &why);
		if (!l && why.reason == DK_WHY_NO_MEMORY)
			*status = fail_memory(q);
		else if (!l)
			*status = fail_parse(q, name, &why);
	}
	free(text);
	return l;
}

const struct dk_layout *open_layout(struct request *q, const char *name, int *status)
{
	struct dk_diag why = { .size = sizeof(why) };
	const struct dk_layout *found = dk_layout_find(name, &why);
	struct dk_layout *l;
	FILE *f;

	if (found)
		return found;
	if (why.reason == DK_WHY_NO_MEMORY) {
		*status = fail_memory(q);
		return NULL;
	}
	f = fopen(name, "r");
	if (!f) {
		*status = errno == ENOENT ? fail_layout(q, name) :
			  fail(q, STATUS_BAD_INPUT, name, NULL, "cannot open \"%.500s\": %s", name,
			       strerror(errno));
		return NULL;
	}
	l = parse_file(q, name, f, status);
	fclose(f);
	if (l)
		q->opened[q->num_opened++] = l;
	return l;
}

bool table_entries(const struct dk_layout *l, unsigned int f, unsigned int *first,
		   unsigned int *last)
{
	unsigned int b, nb = dk_is_per_backend(l, f) ? dk_layout_backends(l) : 0;
	bool found = false;
	int index;

	for (b = nb ? 1 : 0; b <= nb; b++) {
		index = dk_table_index(l, dk_key_set(l, b ? dk_runtime_key(l, f, b) : f));
		if (index < 0)
			continue;
		*last = (unsigned int)index;
		if (!found)
			*first = *last;
		found = true;
	}
	return found;
}

static bool is_trimmed(const struct dk_layout *l)
{
	return dk_table_size(l) < dk_layout_entries(l);
}

static void entries_text(const struct dk_layout *l, unsigned int f, char *buf, size_t size)
{
	unsigned int first, last;

	if (!table_entries(l, f, &first, &last))
		snprintf(buf, size, "-");
	else if (dk_is_per_backend(l, f) && !is_trimmed(l))
		snprintf(buf, size, "%u..%u", first, last);
	else
		snprintf(buf, size, "%u", first);
}

/* In a trimmed table, only CPU has entries. */
static const char *per_backend_text(const struct dk_layout *l, unsigned int f,
				    const char *entries)
{
	if (!dk_is_per_backend(l, f))
		return "";
	if (!is_trimmed(l))
		return " (one entry per backend)";
	return *entries == '-' ? " (per backend)" : " (per backend, the entry is that of CPU)";
}

static void text(const struct dk_layout *l)
{
	unsigned int nb = dk_layout_backends(l), nf = dk_layout_functionalities(l);
	const char *other = NULL;
	char name[DK_NAME_MAX], slots[32], bit[16];
	unsigned int i;
	struct wrap w;

	printf("layout %s: %u backends, %u functionalities, %u table entries, full set 0x%llx\n\n",
	       dk_layout_name(l), nb, nf, dk_table_size(l),
	       (unsigned long long)dk_layout_full(l).bits);
	if (is_trimmed(l))
		printf("The table is trimmed: most functionalities have no entry.\n\n");
	printf("The highest functionality of a set wins%s.\n\n",
	       nb ? ", then its highest backend" : "");
	printf("%9s %4s %6s  %s\n", "entries", "bit", "value", "functionality");
	for (i = nf; i-- > 0;) {
		entries_text(l, i, slots, sizeof(slots));
		snprintf(bit, sizeof(bit), "%u", nb + i - 1);
		printf("%9s %4s %6u  %s%s\n", slots, i ? bit : "-", i,
		       dk_key_name(l, i, name),
		       per_backend_text(l, i, slots));
	}
	if (nb)
		printf("\n%9s %4s %6s  %s\n", "", "bit", "number", "backend");
	for (i = nb; i > 0; i--)
		printf("%9s %4u %6u  %s\n", "", i - 1, i, dk_backend_bit_name(l, i));
	printf("\n");
	wrap_begin(&w, stdout, "layouts:", 9);
	while ((other = dk_layout_next(other)))
		wrap_word(&w, other, "");
	wrap_end(&w);
}

static void json_functionality(struct json *j, const struct dk_layout *l, unsigned int f)
{
	bool per_backend = dk_is_per_backend(l, f);
	unsigned int nb = dk_layout_backends(l), first, last;
	char name[DK_NAME_MAX];

	json_object(j, NULL);
	json_string(j, "name", dk_key_name(l, f, name));
	json_uint(j, "value", f);
	if (f)
		json_uint(j, "bit", nb + f - 1);
	else
		json_null(j, "bit");
	json_bool(j, "per_backend", per_backend);
	if (table_entries(l, f, &first, &last)) {
		json_uint(j, "first_entry", first);
		json_uint(j, "last_entry", last);
	} else {
		json_null(j, "first_entry");
		json_null(j, "last_entry");
	}
	json_close(j);
}

static void json(struct request *q, const struct dk_layout *l)
{
	unsigned int i;
	struct json j;

	json_begin(&j, stdout, q);
	json_object(&j, "layout");
	json_string(&j, "name", dk_layout_name(l));
	json_uint(&j, "entries", dk_table_size(l));
	json_hex(&j, "full", dk_layout_full(l).bits);
	json_array(&j, "functionalities");
	for (i = dk_layout_functionalities(l); i-- > 0;)
		json_functionality(&j, l, i);
	json_close(&j);
	json_array(&j, "backends");
	for (i = dk_layout_backends(l); i > 0; i--) {
		json_object(&j, NULL);
		json_string(&j, "name", dk_backend_bit_name(l, i));
		json_uint(&j, "number", i);
		json_uint(&j, "bit", i - 1);
		json_close(&j);
	}
	json_end(&j);
}

/* Prints the text of a layout file, in JSON as one string. */
static int describe(struct request *q, const struct dk_layout *l)
{
	size_t len = dk_layout_describe(l, NULL, 0);
	char *buf = malloc(len + 1);
	struct json j;

	if (!buf)
		return fail_memory(q);
	dk_layout_describe(l, buf, len + 1);
	if (q->options & OPTION_JSON) {
		json_begin(&j, stdout, q);
		json_string(&j, "text", buf);
		json_end(&j);
	} else {
		fputs(buf, stdout);
	}
	free(buf);
	return STATUS_OK;
}

int run_layout(struct request *q)
{
	const struct dk_layout *l = q->layout;
	int status;

	if (q->num_args && q->layout_name)
		return fail(q, STATUS_BAD_INPUT, q->args[0], NULL,
			    "two layouts, \"%.127s\" and the one of --layout: use only one",
			    q->args[0]);
	if (q->num_args) {
		l = open_layout(q, q->args[0], &status);
		if (!l)
			return status;
	}
	if (q->options & OPTION_DESCRIBE)
		return describe(q, l);
	if (q->options & OPTION_JSON)
		json(q, l);
	else
		text(l);
	return STATUS_OK;
}
