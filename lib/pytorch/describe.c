// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Prints a layout as a text that parse.c can read.
 */
#include "pytorch.h"

/* Puts NAME=PRINTED, or only NAME if PRINTED is NAME followed by @tail. */
static void put_pair(struct dkc_text *t, const char *name, const char *printed,
		     const char *tail)
{
	size_t n = strlen(name);

	dkc_put(t, name);
	if (strlen(printed) == n + strlen(tail) &&
	    !memcmp(printed, name, n) && dkc_streq(printed + n, tail))
		return;
	dkc_put(t, "=");
	dkc_put(t, printed);
}

/* Puts a line of functionalities, followed by backends. */
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

/*
 * Called before name @i is put. Begins a line with @head if @name is the first name or does not fit
 * into the current line. Otherwise puts a space.
 */
static void put_head(struct dkc_text *t, const char *head, unsigned int i,
		     const char *name, size_t *line)
{
	if (i && t->len - *line + strlen(name) < 80) {
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
	dkc_put(t, l->nb ? "\nbackends" : "");
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
	/* always print the first line "strict": it shows that the parser's rules are known */
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
