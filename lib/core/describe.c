// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Layouts as text: reading one, and writing one down. Lines of words; what
 * begins with '#' is a comment. Documentation/layouts.rst has the lines.
 */
#include "layout.h"

/* Of a name, so that prefix and backend together fit DK_NAME_MAX. */
#define NAME_MAX_LEN	56
/* What parses strictly where no line says it. */
#define ALL_BACKENDS	0xffff

struct reader {
	const char *at;
	unsigned int line;
	char *pool;			/* where names go */
	size_t room;
	struct dk_layout *l;
	struct dk_diag *why;
	char word[DK_NAME_MAX];
};

/* The word that is wrong, behind the number of its line. */
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

/* The next word of this line; one that is too long is cut off. */
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

/* The first word of the next line that has one. */
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

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '+';
}

static bool is_name(const char *s, size_t n)
{
	size_t i;

	if (!n || n > NAME_MAX_LEN || (s[0] == '0' && (s[1] | 0x20) == 'x'))
		return false;
	for (i = 0; i < n; i++)
		if (!is_name_char(s[i]))
			return false;
	return true;
}

/* Keep the @n characters at @s, and @tail behind them. */
static int keep(struct reader *r, const char *s, size_t n, const char *tail,
		const char **name)
{
	size_t more = dkc_strlen(tail);

	if (!is_name(s, n))
		return refuse(r, DK_WHY_LAYOUT_NAME, r->word);
	if (n + more + 1 > r->room)
		return refuse(r, DK_WHY_LAYOUT_SIZE, r->word);
	memcpy(r->pool, s, n);
	memcpy(r->pool + n, tail, more + 1);
	*name = r->pool;
	r->pool += n + more + 1;
	r->room -= n + more + 1;
	return 0;
}

/* NAME or NAME=PRINTED; without the latter it prints as NAME and @tail. */
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
		return keep(r, s + n + 1, dkc_strlen(s + n + 1), "", printed);
	if (tail[0])
		return keep(r, s, n, tail, printed);
	*printed = *name;
	return 0;
}

/* ---- the lines ------------------------------------------------------------- */

static int read_backends(struct reader *r)
{
	struct dk_layout *l = r->l;
	unsigned int b;
	int err;

	while (next_word(r)) {
		if (l->nb == DKC_MAX_BACKENDS)
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
		/* one of 64 bits is a backend's, and Undefined has none */
		if (l->nf == DKC_MAX_FUNCTIONALITIES)
			return refuse(r, DK_WHY_LAYOUT_SIZE, r->word);
		n = dkc_strlen(r->word);
		if (n > 1 && r->word[n - 1] == '*') {
			r->word[n - 1] = 0;
			l->per_backend |= 1ULL << l->nf;
		}
		if (!l->nf && !dkc_streq(r->word, "Undefined"))
			return refuse(r, DK_WHY_LAYOUT_LACKS, "Undefined");
		err = keep_pair(r, "", &l->functionality_names[l->nf],
				&l->functionality_prints[l->nf]);
		if (err)
			return err;
		if (dkc_find_functionality(l, l->functionality_names[l->nf]) ||
		    (l->nf && dkc_streq(r->word, "Undefined")))
			return refuse(r, DK_WHY_LAYOUT_TWICE, r->word);
		l->nf++;
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
		err = keep(r, r->word, dkc_strlen(r->word), "", &l->alias_names[i]);
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

/* "strict Sparse CPU CUDA": of the keys of Sparse only these parse strictly. */
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
	return keep(r, r->word, dkc_strlen(r->word), "", name);
}

static int read_flag(bool *flag)
{
	*flag = true;
	return 0;
}

/* The line that begins with the reader's word. */
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

/* ---- the whole ------------------------------------------------------------- */

/* SEMANTICS 1.1's limits, and section 3's: the last entry needs no backend. */
static int check(struct reader *r)
{
	struct dk_layout *l = r->l;
	const char *lacking, *stranger;

	if (!l->nb)
		return refuse(r, DK_WHY_LAYOUT_LACKS, "backends");
	if (l->nf < 2)
		return refuse(r, DK_WHY_LAYOUT_LACKS, "functionalities");
	if (l->nb + l->nf > 64)
		return refuse(r, DK_WHY_LAYOUT_SIZE,
			      l->functionality_names[64 - l->nb]);
	if (l->per_backend & 1)
		return refuse(r, DK_WHY_LAYOUT_BLOCK, "Undefined*");
	if (dkc_is_per_backend(l, l->nf - 1))
		return refuse(r, DK_WHY_LAYOUT_BLOCK,
			      l->functionality_names[l->nf - 1]);
	lacking = l->has_sets ? dkc_layout_lacks(l) : NULL;
	if (lacking)
		return refuse(r, DK_WHY_LAYOUT_LACKS, lacking);
	stranger = l->has_sets ? dkc_layout_stranger(l) : NULL;
	return stranger ? refuse(r, DK_WHY_LAYOUT_WORD, stranger) : 0;
}

static int read_head(struct reader *r)
{
	if (!next_line(r) || !dkc_streq(r->word, "layout"))
		return refuse(r, DK_WHY_LAYOUT_LACKS, "layout NAME");
	return read_name(r, &r->l->name);
}

/* What prints, or parses, as no line said. */
static void set_defaults(struct dk_layout *l)
{
	unsigned int f;

	l->backend_names[0] = "Invalid";
	l->backend_bits[0] = "InvalidBit";
	for (f = 0; f < DKC_MAX_FUNCTIONALITIES; f++)
		l->strict[f] = ALL_BACKENDS;
}

int dkc_layout_read(struct dk_layout *l, const char *text, char *pool, size_t room,
		    struct dk_diag *why)
{
	struct reader r = {
		.at = text, .line = 1, .pool = pool, .room = room, .l = l, .why = why,
	};
	int err;

	set_defaults(l);
	err = read_head(&r);
	while (!err) {
		/* some lines take no further word */
		if (next_word(&r)) {
			err = refuse(&r, DK_WHY_LAYOUT_LINE, r.word);
			break;
		}
		if (!next_line(&r))
			break;
		err = read_line(&r);
	}
	if (!err)
		err = check(&r);
	if (err)
		return err;
	if (!l->sentinel)
		l->sentinel = "Undefined";
	dkc_layout_derive(l);
	dkc_remark(why, DK_WHY_NONE, NULL);
	return 0;
}

static bool means_backend(const struct dk_layout *l, const char *name, unsigned int b)
{
	unsigned int other;

	return !dk_backend_bit_parse(l, name, &other, NULL) && other == b;
}

/* No two keys may print alike, nor two backends: a text has to mean one thing. */
static int check_names(const struct dk_layout *l, struct dk_diag *why)
{
	char name[DK_NAME_MAX];
	unsigned int key, other, b;

	for (b = 1; b <= l->nb; b++) {
		if (!means_backend(l, l->backend_bits[b], b))
			return dkc_refuse(why, DK_WHY_LAYOUT_TWICE, l->backend_bits[b]);
		if (!means_backend(l, l->backend_names[b], b))
			return dkc_refuse(why, DK_WHY_LAYOUT_TWICE, l->backend_names[b]);
	}
	for (key = 0; key < dk_layout_keys(l); key++) {
		if (dk_key_kind(l, key) == DK_KIND_SENTINEL)
			continue;
		dkc_key_name(l, key, name);
		if (!dkc_find_key(l, name, &other) || other != key)
			return dkc_refuse(why, DK_WHY_LAYOUT_TWICE, name);
		dk_key_name(l, key, name);
		if (dkc_find_key(l, name, &other) && other != key)
			return dkc_refuse(why, DK_WHY_LAYOUT_TWICE, name);
	}
	return 0;
}

/* Whoever asks for a built-in layout by name gets its numbers, and no others. */
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
	/* a backend's name is kept twice, and "Bit" behind it */
	size_t room = 2 * dkc_strlen(text) + 8 * DKC_MAX_BACKENDS;
	const struct dk_layout *same;
	struct dk_layout *l;

	l = dkc_alloc(sizeof(*l) + room);
	if (!l) {
		dkc_refuse(why, DK_WHY_NO_MEMORY, NULL);
		return NULL;
	}
	if (dkc_layout_read(l, text, (char *)(l + 1), room, why) ||
	    check_names(l, why)) {
		dkc_free(l);
		return NULL;
	}
	same = dk_layout_find(l->name, NULL);
	if (same && !same_lists(l, same)) {
		dkc_refuse(why, DK_WHY_LAYOUT_TAKEN, l->name);
		dkc_free(l);
		return NULL;
	}
	l->counted = true;
	dkc_layout_get(l);
	dkc_remark(why, DK_WHY_NONE, NULL);
	return l;
}

/* Only the counter of a layout is ever written, once it is made. */
void dkc_layout_get(const struct dk_layout *l)
{
	struct dk_layout *counted = (struct dk_layout *)l;

	if (l->counted)
		dkc_count(&counted->users);
}

void dkc_layout_put(const struct dk_layout *l)
{
	struct dk_layout *counted = (struct dk_layout *)l;

	if (l->counted && !dkc_uncount(&counted->users))
		dkc_free(counted);
}

void dk_layout_free(struct dk_layout *l)
{
	if (l)
		dkc_layout_put(l);
}

/* ---- writing one down ------------------------------------------------------- */

static void put_pair(struct dkc_text *t, const char *name, const char *printed,
		     const char *tail)
{
	size_t n = dkc_strlen(name);

	dkc_put(t, name);
	if (dkc_strlen(printed) == n + dkc_strlen(tail) &&
	    !memcmp(printed, name, n) && dkc_streq(printed + n, tail))
		return;
	dkc_put(t, "=");
	dkc_put(t, printed);
}

/* A line of functionalities, and of backends behind them. */
static void put_set(struct dkc_text *t, const struct dk_layout *l, const char *head,
		    u64 functionalities, u64 backends)
{
	unsigned int i;

	dkc_put(t, head);
	for (i = 1; i < l->nf; i++)
		if (functionalities >> i & 1) {
			dkc_put(t, " ");
			dkc_put(t, l->functionality_names[i]);
		}
	for (i = 1; i <= l->nb; i++)
		if (backends >> (i - 1) & 1) {
			dkc_put(t, " ");
			dkc_put(t, l->backend_names[i]);
		}
	dkc_put(t, "\n");
}

/* A space before the next name, or another line where this one is full. */
static void put_head(struct dkc_text *t, const char *head, unsigned int i,
		     const char *name, size_t *line)
{
	if (i && t->len - *line + dkc_strlen(name) < 80) {
		dkc_put(t, " ");
		return;
	}
	dkc_put(t, i ? "\n" : "");
	*line = t->len;
	dkc_put(t, head);
	dkc_put(t, " ");
}

static void put_lists(struct dkc_text *t, const struct dk_layout *l)
{
	unsigned int i;
	size_t line;

	dkc_put(t, "layout ");
	dkc_put(t, l->name);
	dkc_put(t, "\nbackends");
	for (i = 1; i <= l->nb; i++) {
		dkc_put(t, " ");
		put_pair(t, l->backend_names[i], l->backend_bits[i], "Bit");
	}
	dkc_put(t, "\n");
	for (i = 0; i < l->nf; i++) {
		put_head(t, "functionalities", i, l->functionality_names[i], &line);
		put_pair(t, l->functionality_names[i], l->functionality_prints[i], "");
		dkc_put(t, dkc_is_per_backend(l, i) ? "*" : "");
	}
	dkc_put(t, "\n");
	for (i = 0; i < l->num_aliases; i++) {
		put_head(t, "aliases", i, l->alias_names[i], &line);
		dkc_put(t, l->alias_names[i]);
	}
	if (l->num_aliases)
		dkc_put(t, "\n");
}

static void put_word(struct dkc_text *t, const char *head, const char *word)
{
	if (!word)
		return;
	dkc_put(t, head);
	dkc_put(t, word);
	dkc_put(t, "\n");
}

static void put_versions(struct dkc_text *t, const struct dk_layout *l)
{
	u64 all = l->backend_mask;
	unsigned int i, f;

	put_word(t, "sentinel ", dkc_streq(l->sentinel, "Undefined") ? NULL : l->sentinel);
	put_word(t, "unnamed ", l->unnamed);
	/* one with all backends says that the parser is known, and no more */
	for (i = 0; l->has_strict && i < l->num_blocks; i++) {
		f = l->block[i];
		if (!i || (l->strict[f] & all) != all)
			put_set(t, l, "strict", 1ULL << f, l->strict[f]);
	}
	if (l->has_legacy)
		put_set(t, l, "legacy", l->legacy_dropped, 0);
	if (l->other_autograd)
		put_set(t, l, "other-autograd", 0, l->other_autograd);
	if (l->implicit_also)
		put_set(t, l, "implicit", l->implicit_also, 0);
	dkc_put(t, l->batched_empty ? "batched-empty\n" : "");
	dkc_put(t, l->privateuseone ? "privateuseone\n" : "");
	dkc_put(t, l->has_sets ? "tables\n" : "");
	dkc_put(t, l->trimmed ? "trimmed\n" : "");
}

size_t dk_layout_describe(const struct dk_layout *l, char *buf, size_t size)
{
	struct dkc_text t = { buf, size, 0 };

	l = dkc_layout(l);
	put_lists(&t, l);
	put_versions(&t, l);
	return dkc_put_end(&t);
}
