// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Reads the usage of a subcommand, such as "[show] [NAME | FILTER...] | set NAME", and
 * finds the words that can follow the given words. Options are ignored.
 */
#include "usage.h"

#include <ctype.h>
#include <string.h>

#define MAX_NODES	128

/* A required word, or an edge to one or two other nodes. An edge has no word. */
struct node {
	struct usage_word word;
	int next, other;		/* -1: none */
};

struct graph {
	struct node nodes[MAX_NODES];
	int num_nodes;
	const char *s;			/* the text that has not been read yet */
	const struct term *terms;
	struct usage_word literal;	/* the last literal word read in this alternative */
};

struct part {
	int start, end;
};

static struct part read_alternatives(struct graph *g);

/* No usage needs even half of the nodes. A usage that needed more would lose its last words. */
static int add_node(struct graph *g, int next, int other)
{
	int i = g->num_nodes < MAX_NODES - 1 ? g->num_nodes++ : MAX_NODES - 1;

	g->nodes[i] = (struct node){ .next = next, .other = other };
	return i;
}

static struct part empty(struct graph *g)
{
	int i = add_node(g, -1, -1);

	return (struct part){ i, i };
}

static void join(struct graph *g, struct part *a, struct part b)
{
	g->nodes[a->end].next = b.start;
	a->end = b.end;
}

/* Returns a part that matches either @a or @b. */
static struct part choice(struct graph *g, struct part a, struct part b)
{
	int end = add_node(g, -1, -1);

	g->nodes[a.end].next = end;
	g->nodes[b.end].next = end;
	return (struct part){ add_node(g, a.start, b.start), end };
}

bool is_placeholder(const struct usage_word *w)
{
	return w->len && isupper((unsigned char)w->text[0]);
}

/* Reads the terms that a placeholder such as FILTER stands for. Returns false if it has none. */
static bool read_terms(struct graph *g, const struct usage_word *w, struct part *p)
{
	const char *rest = g->s;
	const struct term *t;
	bool found = false;

	for (t = g->terms; t && t->name; t++) {
		if (!t->kind || !is_word(w->text, w->len, t->kind))
			continue;
		g->s = t->name;
		*p = found ? choice(g, *p, read_alternatives(g)) : read_alternatives(g);
		found = true;
	}
	g->s = rest;
	return found;
}

/* Reads one of the words that "|" joins without spaces. "-" is not offered. */
static struct part read_choice(struct graph *g, const char *text, size_t len)
{
	struct usage_word w = { text, len, g->literal.text, g->literal.len };
	struct part p = empty(g);

	if (read_terms(g, &w, &p) || text[0] == '-')
		return p;
	p.end = add_node(g, -1, -1);
	p.start = add_node(g, p.end, -1);
	g->nodes[p.start].word = w;
	if (!is_placeholder(&w))
		g->literal = w;
	return p;
}

/* Reads the text up to a space: "offline|online", "NAME", "FILTER...". */
static struct part read_token(struct graph *g)
{
	struct usage_word before = g->literal;
	size_t len = strcspn(g->s, " ]"), one;
	const char *s = g->s, *end = g->s + len;
	struct part p = { -1, -1 }, next;
	bool again = len > 3 && !memcmp(end - 3, "...", 3);

	if (again)
		end -= 3;
	for (; s < end; s += one + 1) {
		one = strcspn(s, "|");
		if (one > (size_t)(end - s))
			one = (size_t)(end - s);
		g->literal = before;
		next = read_choice(g, s, one);
		p = p.start < 0 ? next : choice(g, p, next);
	}
	g->s += len;
	if (again)
		g->nodes[p.end].other = p.start;
	next = empty(g);
	join(g, &p, next);
	return p;
}

static struct part read_optional(struct graph *g)
{
	struct part p;

	g->s++;
	if (*g->s == '-') {
		g->s += strcspn(g->s, "]");
		p = empty(g);
	} else {
		p = choice(g, read_alternatives(g), empty(g));
	}
	if (*g->s)
		g->s++;
	return p;
}

static struct part read_sequence(struct graph *g)
{
	struct part p = empty(g);

	g->literal = (struct usage_word){ .text = NULL };
	while (*g->s && *g->s != ']' && *g->s != '|') {
		if (*g->s == ' ')
			g->s++;
		else
			join(g, &p, *g->s == '[' ? read_optional(g) : read_token(g));
	}
	return p;
}

static struct part read_alternatives(struct graph *g)
{
	struct part p = read_sequence(g);

	while (*g->s == '|') {
		g->s++;
		p = choice(g, p, read_sequence(g));
	}
	return p;
}

/* ---- the words that can follow ------------------------------------------------- */

/* Adds a node to @set, and all nodes that can be reached from it without a word. */
static void reach(const struct graph *g, bool *set, int i)
{
	if (i < 0 || set[i])
		return;
	set[i] = true;
	if (g->nodes[i].word.text)
		return;
	reach(g, set, g->nodes[i].next);
	reach(g, set, g->nodes[i].other);
}

enum match { MATCH_ANY, MATCH_SHORTENED, MATCH_EXACT, MATCH_NONE };

/* Words may be abbreviated, as in ip(8). */
static enum match match(const struct usage_word *w, const char *given)
{
	size_t len = strlen(given);

	if (is_placeholder(w))
		return MATCH_ANY;
	if (!len || len > w->len || memcmp(w->text, given, len) != 0)
		return MATCH_NONE;
	return len == w->len ? MATCH_EXACT : MATCH_SHORTENED;
}

/* Advances @set past @given. A word that is written in full is never a name. */
static void step(const struct graph *g, bool *set, const char *given)
{
	bool next[MAX_NODES] = { false }, exact = false;
	enum match m;
	int i;

	for (i = 0; i < g->num_nodes; i++) {
		if (set[i] && g->nodes[i].word.text)
			exact |= match(&g->nodes[i].word, given) == MATCH_EXACT;
	}
	for (i = 0; i < g->num_nodes; i++) {
		if (!set[i] || !g->nodes[i].word.text)
			continue;
		m = match(&g->nodes[i].word, given);
		if (m == MATCH_EXACT || (!exact && m != MATCH_NONE))
			reach(g, next, g->nodes[i].next);
	}
	memcpy(set, next, sizeof(next));
}

void usage_next(const struct subcommand *s, char **words,
		void (*offer)(void *ctx, const struct usage_word *w), void *ctx)
{
	struct graph g = { .s = s->usage, .terms = s->terms };
	bool set[MAX_NODES] = { false };
	int i;

	reach(&g, set, read_alternatives(&g).start);
	for (; *words; words++)
		step(&g, set, *words);
	for (i = 0; i < g.num_nodes; i++) {
		if (set[i] && g.nodes[i].word.text)
			offer(ctx, &g.nodes[i].word);
	}
}
