// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* dkctl keyset: parses a set in any form, and prints it in all forms. */
#include "dkctl.h"

#include <stdlib.h>
#include <string.h>

/* Width of the labels. */
#define LABEL	21

/* These functions test single bits, which PyTorch's printed form does not show. */
static bool has_functionality(const struct dk_layout *l, struct dk_keyset ks, unsigned int f)
{
	return ks.bits >> (dk_layout_backends(l) + f - 1) & 1;
}

static bool has_backend(struct dk_keyset ks, unsigned int b)
{
	return ks.bits >> (b - 1) & 1;
}

/* Prints PyTorch's printed form, wrapped after commas. */
static int put_printed(struct request *q, struct dk_keyset ks)
{
	size_t len = dk_keyset_print(q->layout, ks, NULL, 0);
	char *buf = malloc(len + 1), *word, *rest;
	struct wrap w;

	if (!buf)
		return fail_memory(q);
	dk_keyset_print(q->layout, ks, buf, len + 1);
	wrap_begin(&w, stdout, "  printed", LABEL);
	for (word = strtok_r(buf, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		wrap_word(&w, word, "");
	wrap_end(&w);
	free(buf);
	return STATUS_OK;
}

void put_entry(const struct dk_layout *l, struct dk_keyset ks, int label)
{
	int index = dk_table_index(l, ks);

	if (index < 0)
		printf("  %-*s%s\n", label, "table entry", "none, the table is trimmed");
	else
		printf("  %-*s%d\n", label, "table entry", index);
}

void json_entry(struct json *j, const struct dk_layout *l, struct dk_keyset ks)
{
	int index = dk_table_index(l, ks);

	if (index < 0)
		json_null(j, "entry");
	else
		json_uint(j, "entry", (unsigned long)index);
}

static void none_if_empty(struct wrap *w)
{
	if (w->column == w->indent)
		wrap_word(w, "none", "");
}

static int text(struct request *q, struct dk_keyset ks)
{
	const struct dk_layout *l = q->layout;
	unsigned int i, nf = dk_layout_functionalities(l);
	unsigned long long beyond = ks.bits & ~dk_layout_full(l).bits;
	char name[DK_NAME_MAX];
	struct wrap w;
	int status;

	printf("0x%llx (layout %s)\n", (unsigned long long)ks.bits, dk_layout_name(l));
	status = put_printed(q, ks);
	if (status)
		return status;
	wrap_begin(&w, stdout, "  functionalities", LABEL);
	for (i = 1; i < nf; i++) {
		if (has_functionality(l, ks, i))
			wrap_word(&w, dk_key_name(l, i, name), "");
	}
	none_if_empty(&w);
	wrap_end(&w);
	wrap_begin(&w, stdout, "  backend bits", LABEL);
	for (i = 1; i <= dk_layout_backends(l); i++) {
		if (has_backend(ks, i))
			wrap_word(&w, dk_backend_bit_name(l, i), "");
	}
	none_if_empty(&w);
	wrap_end(&w);
	if (beyond)
		printf("  %-*s0x%llx\n", LABEL - 2, "beyond the layout", beyond);
	printf("  %-*s%s\n", LABEL - 2, "top key",
	       dk_key_name(l, dk_keyset_key(l, ks), name));
	put_entry(l, ks, LABEL - 2);
	return STATUS_OK;
}

static int json_printed(struct request *q, struct json *j, struct dk_keyset ks)
{
	size_t len = dk_keyset_print(q->layout, ks, NULL, 0);
	char *buf = malloc(len + 1);

	if (!buf)
		return -1;
	dk_keyset_print(q->layout, ks, buf, len + 1);
	json_string(j, "printed", buf);
	free(buf);
	return 0;
}

static int json(struct request *q, struct dk_keyset ks)
{
	const struct dk_layout *l = q->layout;
	unsigned int i, slot = 0;
	char name[DK_NAME_MAX];
	struct json j;

	json_begin(&j, stdout, q);
	json_object(&j, "keyset");
	json_string(&j, "layout", dk_layout_name(l));
	json_hex(&j, "set", ks.bits);
	if (json_printed(q, &j, ks))
		json_null(&j, "printed");
	json_array(&j, "keys");
	while ((slot = dk_keyset_next(l, ks, slot)))
		json_string(&j, NULL, dk_key_name(l, dk_slot_key(l, slot), name));
	json_close(&j);
	json_array(&j, "functionalities");
	for (i = 1; i < dk_layout_functionalities(l); i++) {
		if (has_functionality(l, ks, i))
			json_string(&j, NULL, dk_key_name(l, i, name));
	}
	json_close(&j);
	json_array(&j, "backend_bits");
	for (i = 1; i <= dk_layout_backends(l); i++) {
		if (has_backend(ks, i))
			json_string(&j, NULL, dk_backend_bit_name(l, i));
	}
	json_close(&j);
	json_hex(&j, "beyond", ks.bits & ~dk_layout_full(l).bits);
	json_string(&j, "top_key", dk_key_name(l, dk_keyset_key(l, ks), name));
	json_entry(&j, l, ks);
	json_end(&j);
	return STATUS_OK;
}

/* Joins several words with | into one set. */
static char *join(struct request *q)
{
	size_t len = 1;
	char *set;
	int i;

	for (i = 0; i < q->num_args; i++)
		len += strlen(q->args[i]) + 1;
	set = calloc(1, len);
	for (i = 0; set && i < q->num_args; i++) {
		if (i)
			strcat(set, "|");
		strcat(set, q->args[i]);
	}
	return set;
}

int run_keyset(struct request *q)
{
	struct dk_diag why = { .size = sizeof(why) };
	struct dk_keyset ks;
	char *set = join(q);
	int status;

	if (!set)
		return fail_memory(q);
	if (dk_keyset_parse(q->layout, set, &ks, &why))
		status = fail_keyset(q, why.name);
	else if (q->options & OPTION_TO)
		status = run_translate(q, ks);
	else
		status = q->options & OPTION_JSON ? json(q, ks) : text(q, ks);
	free(set);
	return status;
}
