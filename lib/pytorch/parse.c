// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reads the text of a layout: lines of words, and comments from '#' to the end of a line.
 * Documentation/layouts.rst describes the lines.
 */
#include "pytorch.h"

/* For a functionality without a line "strict": PyTorch's parser accepts all its keys. */
#define ALL_BACKENDS	0xffff

struct reader {
	const char *at;
	unsigned int line;
	unsigned int lines[DKC_MAX_FUNCTIONALITIES];	/* of the functionalities */
	char *pool;			/* free storage for names */
	size_t pool_size;
	struct dk_layout *l;
	struct dk_diag *why;
	char word[DK_NAME_MAX];
};

/* Fails with the line number and the wrong word. */
static int refuse(struct reader *r, enum dk_reason reason, const char *word)
{
	char name[DK_NAME_MAX];
	struct dkc_text t = { name, sizeof(name), 0 };

	dkc_put(&t, "line ");
	dkc_put_dec(&t, r->line);
	dkc_put(&t, ": ");
	dkc_strcpy(name + t.len, word, sizeof(name) - t.len);
	return dkc_refuse(r->why, reason, name);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Reads the next word of this line. Truncates a word that is too long. */
static bool next_word(struct reader *r)
{
	size_t n = 0;

	while (is_blank(*r->at))
		r->at++;
	if (*r->at == '#')
		while (*r->at && *r->at != '\n')
			r->at++;
	while (r->at[n] && r->at[n] != '\n' && r->at[n] != '#' && !is_blank(r->at[n]))
		n++;
	dkc_strncpy(r->word, r->at, n, sizeof(r->word));
	r->at += n;
	return n;
}

/* Goes to the next line that has a word, and reads its first word. */
static bool next_line(struct reader *r)
{
	while (!next_word(r)) {
		if (!*r->at)
			return false;
		r->at++;
		r->line++;
	}
	return true;
}

/* Copies @n characters of @s, followed by @tail, to the pool. */
static int keep(struct reader *r, const char *s, size_t n, const char *tail,
		const char **name)
{
	size_t more = strlen(tail);

	if (!dkc_word_ok(s, n))
		return refuse(r, DK_WHY_LAYOUT_NAME, r->word);
	if (n + more + 1 > r->pool_size)
		return refuse(r, DK_WHY_LAYOUT_SIZE, r->word);
	memcpy(r->pool, s, n);
	memcpy(r->pool + n, tail, more + 1);
	*name = r->pool;
	r->pool += n + more + 1;
	r->pool_size -= n + more + 1;
	return 0;
}

/*
 * Stores @name and @printed of a word NAME=PRINTED, or of a word NAME, where PRINTED is NAME
 * followed by @tail.
 */
static int keep_pair(struct reader *r, const char *tail, const char **name,
		     const char **printed)
{
	char *s = r->word;
	size_t n = 0;
	int err;

	while (s[n] && s[n] != '=')
		n++;
	err = keep(r, s, n, "", name);
	if (err)
		return err;
	if (s[n])
		return keep(r, s + n + 1, strlen(s + n + 1), "", printed);
	if (tail[0])
		return keep(r, s, n, tail, printed);
	*printed = *name;
	return 0;
}

static bool is_full(const struct dk_layout *l)
{
	return l->nb + l->nf == DKC_MAX_FUNCTIONALITIES;
}

static int read_backends(struct reader *r)
{
	struct dk_layout *l = r->l;
	unsigned int b;
	int err;

	while (next_word(r)) {
		if (l->nb == DKC_MAX_BACKENDS || is_full(l))
			return refuse(r, DK_WHY_LAYOUT_SIZE, r->word);
		b = l->nb + 1;
		err = keep_pair(r, "Bit", &l->backend_names[b], &l->backend_bits[b]);
		if (err)
			return err;
		if (dkc_find_backend(l, l->backend_names[b]))
			return refuse(r, DK_WHY_LAYOUT_TWICE, r->word);
		l->nb = b;
	}
	return 0;
}

static int read_functionalities(struct reader *r)
{
	struct dk_layout *l = r->l;
	size_t n;
	int err;

	while (next_word(r)) {
		if (is_full(l))
			return refuse(r, DK_WHY_LAYOUT_SIZE, r->word);
		n = strlen(r->word);
		if (n > 1 && r->word[n - 1] == '*') {
			r->word[n - 1] = 0;
			l->per_backend |= 1ULL << l->nf;
		}
		if (!l->nf && !dkc_streq(r->word, "Undefined"))
			return refuse(r, DK_WHY_LAYOUT_LACKS, "Undefined");
		if (l->per_backend & 1)
			return refuse(r, DK_WHY_LAYOUT_BLOCK, "Undefined*");
		err = keep_pair(r, "", &l->functionality_names[l->nf],
				&l->functionality_prints[l->nf]);
		if (err)
			return err;
		if (dkc_find_functionality(l, l->functionality_names[l->nf]) ||
		    (l->nf && dkc_streq(r->word, "Undefined")))
			return refuse(r, DK_WHY_LAYOUT_TWICE, r->word);
		r->lines[l->nf++] = r->line;
	}
	return 0;
}

static int read_aliases(struct reader *r)
{
	struct dk_layout *l = r->l;
	unsigned int i;
	int err;

	while (next_word(r)) {
		if (l->num_aliases == DKC_MAX_ALIASES)
			return refuse(r, DK_WHY_LAYOUT_SIZE, r->word);
		for (i = 0; i < l->num_aliases; i++)
			if (dkc_streq(l->alias_names[i], r->word))
				return refuse(r, DK_WHY_LAYOUT_TWICE, r->word);
		err = keep(r, r->word, strlen(r->word), "", &l->alias_names[i]);
		if (err)
			return err;
		l->num_aliases++;
	}
	return 0;
}

static int read_functionality_set(struct reader *r, u64 *set)
{
	unsigned int f;

	while (next_word(r)) {
		f = dkc_find_functionality(r->l, r->word);
		if (!f)
			return refuse(r, DK_WHY_LAYOUT_WORD, r->word);
		*set |= 1ULL << f;
	}
	return 0;
}

static int read_backend_set(struct reader *r, u32 *set)
{
	unsigned int b;

	while (next_word(r)) {
		b = dkc_find_backend(r->l, r->word);
		if (!b)
			return refuse(r, DK_WHY_LAYOUT_WORD, r->word);
		*set |= 1u << (b - 1);
	}
	return 0;
}

/*
 * "strict Sparse CPU CUDA": of the Sparse keys, the strict parser accepts only SparseCPU and
 * SparseCUDA.
 */
static int read_strict(struct reader *r)
{
	struct dk_layout *l = r->l;
	u32 set = 0;
	unsigned int f;
	int err;

	if (!next_word(r))
		return refuse(r, DK_WHY_LAYOUT_LACKS, "a functionality");
	f = dkc_find_functionality(l, r->word);
	if (!dkc_is_per_backend(l, f))
		return refuse(r, DK_WHY_LAYOUT_WORD, r->word);
	if (l->strict[f] != ALL_BACKENDS)
		return refuse(r, DK_WHY_LAYOUT_TWICE, r->word);
	err = read_backend_set(r, &set);
	l->strict[f] = set;
	l->has_strict = true;
	return err;
}

static int read_name(struct reader *r, const char **name)
{
	const char *before = *name;

	if (!next_word(r))
		return refuse(r, DK_WHY_LAYOUT_LACKS, "a name");
	if (before)
		return refuse(r, DK_WHY_LAYOUT_TWICE, r->word);
	return keep(r, r->word, strlen(r->word), "", name);
}

static int read_flag(bool *flag)
{
	*flag = true;
	return 0;
}

/* Reads the line whose first word is in r->word. */
static int read_line(struct reader *r)
{
	struct dk_layout *l = r->l;

	if (dkc_streq(r->word, "backends"))
		return read_backends(r);
	if (dkc_streq(r->word, "functionalities"))
		return read_functionalities(r);
	if (dkc_streq(r->word, "aliases"))
		return read_aliases(r);
	if (dkc_streq(r->word, "sentinel"))
		return read_name(r, &l->sentinel);
	if (dkc_streq(r->word, "unnamed"))
		return read_name(r, &l->unnamed);
	if (dkc_streq(r->word, "strict"))
		return read_strict(r);
	if (dkc_streq(r->word, "legacy")) {
		l->has_legacy = true;
		return read_functionality_set(r, &l->legacy_dropped);
	}
	if (dkc_streq(r->word, "implicit"))
		return read_functionality_set(r, &l->implicit_also);
	if (dkc_streq(r->word, "other-autograd"))
		return read_backend_set(r, &l->other_autograd);
	if (dkc_streq(r->word, "batched-empty"))
		return read_flag(&l->batched_empty);
	if (dkc_streq(r->word, "privateuseone"))
		return read_flag(&l->privateuseone);
	if (dkc_streq(r->word, "tables"))
		return read_flag(&l->has_sets);
	if (dkc_streq(r->word, "trimmed"))
		return read_flag(&l->trimmed);
	return refuse(r, DK_WHY_LAYOUT_LINE, r->word);
}

/*
 * Checks the requirements of SEMANTICS 1.2 and 3, such as that the last functionality is not a
 * building block.
 */
static int check(struct reader *r)
{
	struct dk_layout *l = r->l;
	const char *name, *unknown;
	enum dk_reason reason;

	if (!l->nb && (l->per_backend || l->has_legacy))
		return refuse(r, DK_WHY_LAYOUT_LACKS, "backends");
	if (l->nf < 2)
		return refuse(r, DK_WHY_LAYOUT_LACKS, "functionalities");
	if (dkc_is_per_backend(l, l->nf - 1)) {
		r->line = r->lines[l->nf - 1];
		return refuse(r, DK_WHY_LAYOUT_BLOCK,
			      l->functionality_names[l->nf - 1]);
	}
	reason = l->has_sets ? dkc_layout_check_tables(l, &name) : DK_WHY_NONE;
	if (reason == DK_WHY_LAYOUT_BLOCK)
		r->line = r->lines[dkc_find_functionality(l, name)];
	if (reason)
		return refuse(r, reason, name);
	unknown = l->has_sets ? dkc_layout_unknown_alias(l) : NULL;
	return unknown ? refuse(r, DK_WHY_LAYOUT_WORD, unknown) : 0;
}

static int check_end_of_line(struct reader *r)
{
	return next_word(r) ? refuse(r, DK_WHY_LAYOUT_LINE, r->word) : 0;
}

static int read_head(struct reader *r)
{
	if (!next_line(r) || !dkc_streq(r->word, "layout"))
		return refuse(r, DK_WHY_LAYOUT_LACKS, "layout NAME");
	return read_name(r, &r->l->name) ?: check_end_of_line(r);
}

/* Sets the defaults for lines that the text does not have. */
static void set_defaults(struct dk_layout *l)
{
	unsigned int f;

	l->backend_names[0] = "Invalid";
	l->backend_bits[0] = "InvalidBit";
	for (f = 0; f < DKC_MAX_FUNCTIONALITIES; f++)
		l->strict[f] = ALL_BACKENDS;
}

int dkc_layout_read(struct dk_layout *l, const char *text, char *pool, size_t pool_size,
		    struct dk_diag *why)
{
	struct reader r = {
		.at = text, .line = 1, .pool = pool, .pool_size = pool_size, .l = l, .why = why,
	};
	int err;

	set_defaults(l);
	err = l->name ? 0 : read_head(&r);
	while (!err && next_line(&r))
		err = read_line(&r) ?: check_end_of_line(&r);
	if (!err)
		err = check(&r);
	if (err)
		return err;
	if (!l->sentinel)
		l->sentinel = "Undefined";
	dkc_layout_derive(l);
	return dkc_accept(why);
}

static bool is_name_of_backend(const struct dk_layout *l, const char *name, unsigned int b)
{
	unsigned int other;

	return !dk_backend_bit_parse(l, name, &other, NULL) && other == b;
}

/* Checks that names are unambiguous: two keys or two backends must not be printed alike. */
static int check_names(const struct dk_layout *l, struct dk_diag *why)
{
	char name[DK_NAME_MAX];
	unsigned int key, other, b;

	for (b = 1; b <= l->nb; b++) {
		if (!is_name_of_backend(l, l->backend_bits[b], b))
			return dkc_refuse(why, DK_WHY_LAYOUT_TWICE, l->backend_bits[b]);
		if (!is_name_of_backend(l, l->backend_names[b], b))
			return dkc_refuse(why, DK_WHY_LAYOUT_TWICE, l->backend_names[b]);
	}
	for (key = 0; key < dk_layout_keys(l); key++) {
		if (dk_key_kind(l, key) == DK_KIND_SENTINEL)
			continue;
		dkc_key_name(l, key, name);
		if (!dkc_find_key(l, name, &other) || other != key)
			return dkc_refuse(why, DK_WHY_LAYOUT_TWICE, name);
		dk_key_name(l, key, name);
		if (!dk_key_parse(l, name, 0, &other, NULL) && other != key)
			return dkc_refuse(why, DK_WHY_LAYOUT_TWICE, name);
	}
	return 0;
}

/* True if two layouts have the same lists of names, so that all keys have the same numbers. */
static bool same_lists(const struct dk_layout *a, const struct dk_layout *b)
{
	unsigned int i;

	if (a->nb != b->nb || a->nf != b->nf || a->per_backend != b->per_backend ||
	    a->num_aliases != b->num_aliases)
		return false;
	for (i = 1; i <= a->nb; i++)
		if (!dkc_streq(a->backend_names[i], b->backend_names[i]))
			return false;
	for (i = 1; i < a->nf; i++)
		if (!dkc_streq(a->functionality_names[i], b->functionality_names[i]))
			return false;
	for (i = 0; i < a->num_aliases; i++)
		if (!dkc_streq(a->alias_names[i], b->alias_names[i]))
			return false;
	return true;
}

struct dk_layout *dk_layout_parse(const char *text, struct dk_diag *why)
{
	struct dk_diag found = { .size = sizeof(found) };
	const struct dk_layout *same;
	struct dk_layout *l;
	size_t pool_size;

	if (!text) {
		dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "text");
		return NULL;
	}
	/* a backend's name is stored twice, once followed by "Bit" */
	pool_size = 2 * strlen(text) + 8 * DKC_MAX_BACKENDS;
	l = kvzalloc(sizeof(*l) + pool_size, GFP_KERNEL);
	if (!l) {
		dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
		return NULL;
	}
	if (dkc_layout_read(l, text, (char *)(l + 1), pool_size, why) ||
	    check_names(l, why)) {
		kvfree(l);
		return NULL;
	}
	same = dk_layout_find(l->name, &found);
	if (found.reason == DK_WHY_NO_MEMORY || (same && !same_lists(l, same))) {
		dkc_refuse(why, same ? DK_WHY_LAYOUT_TAKEN : DK_WHY_NO_MEMORY, l->name);
		kvfree(l);
		return NULL;
	}
	l->counted = true;
	dkc_layout_get(l);
	dkc_accept(why);
	return l;
}

void dk_layout_free(struct dk_layout *l)
{
	if (l)
		dkc_layout_put(l);
}
