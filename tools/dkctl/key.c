// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * dkctl key and dkctl alias: print the properties of a key, and the runtime keys of an alias key.
 */
#include "dkctl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Returns the name of a backend within key names: the name of its bit without "Bit". */
static const char *backend_name(const struct dk_layout *l, unsigned int b,
				char buf[DK_NAME_MAX])
{
	size_t len;

	snprintf(buf, DK_NAME_MAX, "%s", dk_backend_bit_name(l, b));
	len = strlen(buf);
	if (len > 3 && !strcmp(buf + len - 3, "Bit"))
		buf[len - 3] = '\0';
	return buf;
}

static unsigned int stands_for(const struct dk_layout *l, unsigned int key)
{
	unsigned int slot, n = 0;

	for (slot = 1; slot < dk_layout_entries(l); slot++)
		n += !!dk_alias_has(l, key, dk_slot_key(l, slot));
	return n;
}

void key_class(const struct dk_layout *l, unsigned int key, char *buf, size_t size)
{
	char f[DK_NAME_MAX], b[DK_NAME_MAX];
	const char *what = "no key";

	dk_key_name(l, dk_key_functionality(l, key), f);
	switch (dk_key_kind(l, key)) {
	case DK_KIND_UNDEFINED:
		what = "undefined: the empty set; a function registered here is the catch-all";
		break;
	case DK_KIND_FUNCTIONALITY:
		what = dk_layout_backends(l) ?
		       "runtime key: a functionality with one table entry for all backends" :
		       "runtime key: a functionality with one table entry";
		break;
	case DK_KIND_BUILDING_BLOCK:
		what = "building block: a functionality with one runtime key per backend";
		break;
	case DK_KIND_PER_BACKEND:
		snprintf(buf, size, "per-backend runtime key: the %s functionality on %s", f,
			 backend_name(l, dk_key_backend(l, key), b));
		return;
	case DK_KIND_ALIAS:
		if (dk_layout_knows(l) & DK_KNOWS_SETS)
			snprintf(buf, size, "alias key: stands for %u runtime keys, %s",
				 stands_for(l, key), "has no bit and no table entry");
		else
			snprintf(buf, size, "alias key: has no bit and no table entry");
		return;
	case DK_KIND_SENTINEL:
		if (key == dk_layout_functionalities(l))
			snprintf(buf, size, "sentinel: marks the end of the functionalities");
		else
			snprintf(buf, size, "sentinel: marks where the keys of %s start", f);
		return;
	default:
		break;
	}
	snprintf(buf, size, "%s", what);
}

static void key_text(const struct dk_layout *l, unsigned int key)
{
	enum dk_key_kind kind = dk_key_kind(l, key);
	char name[DK_NAME_MAX], what[400];
	unsigned int first, last;

	key_class(l, key, what, sizeof(what));
	printf("%s (layout %s)\n", dk_key_name(l, key, name), dk_layout_name(l));
	printf("  %-14s %s\n", "class", what);
	if (key_c_name(l, key))
		printf("  %-14s %s\n", "C name", key_c_name(l, key));
	printf("  %-14s %u\n", "value", key);
	printf("  %-14s 0x%llx\n", "set", (unsigned long long)dk_key_set(l, key).bits);
	if (kind == DK_KIND_BUILDING_BLOCK && table_entries(l, key, &first, &last))
		printf(first == last ? "  %-14s %u\n" : "  %-14s %u..%u\n", "table entries",
		       first, last);
	else if (kind == DK_KIND_ALIAS)
		printf("  %-14s none\n", "table entry");
	else
		put_entry(l, dk_key_set(l, key), 15);
	printf("  %-14s %s\n", "functionality",
	       kind == DK_KIND_ALIAS ? "none" :
	       dk_key_name(l, dk_key_functionality(l, key), name));
	printf("  %-14s %s\n", "backend",
	       dk_key_backend(l, key) ? dk_backend_bit_name(l, dk_key_backend(l, key)) :
					"none");
}

static void json_c_name(struct json *j, const struct dk_layout *l, unsigned int key)
{
	if (key_c_name(l, key))
		json_string(j, "c_name", key_c_name(l, key));
	else
		json_null(j, "c_name");
}

static void key_json(struct request *q, unsigned int key)
{
	const struct dk_layout *l = q->layout;
	unsigned int b = dk_key_backend(l, key);
	enum dk_key_kind kind = dk_key_kind(l, key);
	char name[DK_NAME_MAX], what[400];
	struct json j;

	key_class(l, key, what, sizeof(what));
	json_begin(&j, stdout, q);
	json_object(&j, "key");
	json_string(&j, "layout", dk_layout_name(l));
	json_string(&j, "name", dk_key_name(l, key, name));
	json_string(&j, "kind", dk_kind_name(kind));
	json_string(&j, "class", what);
	json_c_name(&j, l, key);
	json_uint(&j, "value", key);
	json_hex(&j, "set", dk_key_set(l, key).bits);
	if (kind == DK_KIND_ALIAS) {
		json_null(&j, "entry");
		json_null(&j, "functionality");
	} else {
		json_entry(&j, l, dk_key_set(l, key));
		json_string(&j, "functionality",
			    dk_key_name(l, dk_key_functionality(l, key), name));
	}
	if (b)
		json_string(&j, "backend", dk_backend_bit_name(l, b));
	else
		json_null(&j, "backend");
	json_end(&j);
}

bool is_key(const struct dk_layout *l, unsigned int key)
{
	enum dk_key_kind kind = dk_key_kind(l, key);

	return kind != DK_KIND_NONE && kind != DK_KIND_SENTINEL;
}

static int list_keys(struct request *q)
{
	static const struct column columns[] = {
		{ "value", true }, { "key", false }, { "C name", false },
	};
	unsigned int key, n = dk_layout_keys(q->layout);
	char name[DK_NAME_MAX];
	struct columns l;

	columns_begin(&l, columns, ARRAY_SIZE(columns));
	for (key = 0; key < n; key++) {
		const char *c_name = key_c_name(q->layout, key);

		if (!is_key(q->layout, key))
			continue;
		columns_put(&l, COLOR_NONE, "%u", key);
		columns_put(&l, COLOR_NONE, "%s", dk_key_name(q->layout, key, name));
		columns_put(&l, COLOR_NONE, "%s", c_name ? c_name : "");
	}
	return columns_end(q, &l);
}

static int list_keys_json(struct request *q)
{
	unsigned int key, n = dk_layout_keys(q->layout);
	char name[DK_NAME_MAX];
	struct json j;

	json_begin(&j, stdout, q);
	json_string(&j, "layout", dk_layout_name(q->layout));
	json_array(&j, "keys");
	for (key = 0; key < n; key++) {
		if (!is_key(q->layout, key))
			continue;
		json_object(&j, NULL);
		json_string(&j, "name", dk_key_name(q->layout, key, name));
		json_string(&j, "kind", dk_kind_name(dk_key_kind(q->layout, key)));
		json_c_name(&j, q->layout, key);
		json_uint(&j, "value", key);
		json_close(&j);
	}
	json_end(&j);
	return STATUS_OK;
}

static bool key_of_value(const struct dk_layout *l, const char *word, unsigned int *key)
{
	unsigned long value;
	char *end;

	if (!isdigit((unsigned char)*word))
		return false;
	value = strtoul(word, &end, 10);
	*key = (unsigned int)value;
	return !*end && value < dk_layout_keys(l);
}

/*
 * Finds EndOfFunctionalityKeys, and StartOfNAMEBackends and EndOfNAMEBackends of a building block.
 * PyTorch has these enumerators, but does not print them.
 */
static bool key_of_enumerator(const struct dk_layout *l, const char *word, unsigned int *key)
{
	bool start = !strncmp(word, "StartOf", 7);
	char name[DK_NAME_MAX];
	unsigned int f;
	int n = 0;

	if (!strcmp(word, "EndOfFunctionalityKeys")) {
		*key = dk_layout_functionalities(l);
		return true;
	}
	if (!start && strncmp(word, "EndOf", 5))
		return false;
	word += start ? 7 : 5;
	n = (int)strlen(word) - 8;
	if (n <= 0 || n >= DK_NAME_MAX || strcmp(word + n, "Backends"))
		return false;
	snprintf(name, sizeof(name), "%.*s", n, word);
	if (dk_key_parse(l, name, 0, &f, NULL) || !dk_is_per_backend(l, f))
		return false;
	*key = dk_runtime_key(l, f, start ? 0 : dk_layout_backends(l));
	return true;
}

int run_key(struct request *q)
{
	unsigned int key;

	if (!q->num_args)
		return q->options & OPTION_JSON ? list_keys_json(q) : list_keys(q);
	if (dk_key_parse(q->layout, q->args[0], 0, &key, NULL) &&
	    !key_of_c_name(q->layout, q->args[0], &key) &&
	    !key_of_value(q->layout, q->args[0], &key) &&
	    !key_of_enumerator(q->layout, q->args[0], &key))
		return fail_key(q, q->args[0]);
	if (q->options & OPTION_JSON)
		key_json(q, key);
	else
		key_text(q->layout, key);
	return STATUS_OK;
}

static void alias_text(const struct dk_layout *l, unsigned int key)
{
	unsigned int slot, runtime;
	char name[DK_NAME_MAX];
	struct wrap w;

	printf("%s (layout %s)\n", dk_key_name(l, key, name), dk_layout_name(l));
	printf("  stands for %u runtime keys, set 0x%llx:\n", stands_for(l, key),
	       (unsigned long long)dk_alias_set(l, key).bits);
	wrap_begin(&w, stdout, "", 2);
	for (slot = 1; slot < dk_layout_entries(l); slot++) {
		runtime = dk_slot_key(l, slot);
		if (dk_alias_has(l, key, runtime))
			wrap_word(&w, dk_key_name(l, runtime, name), "");
	}
	wrap_end(&w);
}

static void alias_json(struct request *q, unsigned int key)
{
	const struct dk_layout *l = q->layout;
	unsigned int slot, runtime;
	char name[DK_NAME_MAX];
	struct json j;

	json_begin(&j, stdout, q);
	json_object(&j, "alias");
	json_string(&j, "layout", dk_layout_name(l));
	json_string(&j, "name", dk_key_name(l, key, name));
	json_hex(&j, "set", dk_alias_set(l, key).bits);
	json_array(&j, "keys");
	for (slot = 1; slot < dk_layout_entries(l); slot++) {
		runtime = dk_slot_key(l, slot);
		if (dk_alias_has(l, key, runtime))
			json_string(&j, NULL, dk_key_name(l, runtime, name));
	}
	json_end(&j);
}

static int fail_alias(struct request *q, const char *given)
{
	unsigned int key, n = dk_layout_keys(q->layout);
	char name[DK_NAME_MAX], list[512];
	size_t len = 0;

	list[0] = '\0';
	for (key = 0; key < n; key++) {
		if (dk_key_kind(q->layout, key) == DK_KIND_ALIAS && len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						len ? ", " : "",
						dk_key_name(q->layout, key, name));
	}
	return fail(q, STATUS_BAD_INPUT, given, NULL,
		    "\"%.127s\" is not an alias key: use one of %s", given, list);
}

int run_alias(struct request *q)
{
	unsigned int key;

	if (dk_key_parse(q->layout, q->args[0], 0, &key, NULL))
		return fail_key(q, q->args[0]);
	if (dk_key_kind(q->layout, key) != DK_KIND_ALIAS)
		return fail_alias(q, q->args[0]);
	if (!(dk_layout_knows(q->layout) & DK_KNOWS_SETS))
		return fail(q, STATUS_BAD_INPUT, dk_layout_name(q->layout), NULL,
			    "the runtime keys of the alias keys of layout %.127s are not known",
			    dk_layout_name(q->layout));
	if (q->options & OPTION_JSON)
		alias_json(q, key);
	else
		alias_text(q->layout, key);
	return STATUS_OK;
}
