// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A computed table as a grid, on a terminal. */
#include "grid.h"

#include <stdlib.h>
#include <string.h>

/* Of a backend's name, so that the cells have room. */
#define NAME_WIDTH	24
#define GAP		2
/* Columns of a cell of a functionality with one entry, and the blank behind it. */
#define CELL		3
/* Entries are counted in 16 bits. */
#define MOST_ENTRIES	65536u

/* ---- the model ------------------------------------------------------------------ */

static void set_letter(struct grid_function *fn, unsigned int n)
{
	if (n < 26)
		snprintf(fn->letter, sizeof(fn->letter), "%c", 'a' + n);
	else
		snprintf(fn->letter, sizeof(fn->letter), "%c%c", 'a' + (n / 26 - 1) % 26,
			 'a' + n % 26);
}

/* Fallthroughs are one to the eye, and so are all that is ambiguous. */
static bool set_sign(struct grid_function *fn)
{
	const char *sign = "";

	if (fn->provenance == DK_NL_PROV_MISSING || fn->provenance == DK_NL_PROV_NO_ENTRY)
		sign = ".";
	else if (fn->provenance == DK_NL_PROV_AMBIGUOUS)
		sign = "!";
	else if (fn->flags & DK_NL_IMPL_FALLTHROUGH)
		sign = "-";
	snprintf(fn->letter, sizeof(fn->letter), "%s", sign);
	return *sign;
}

static bool is_same(const struct grid_function *fn, const struct dk_nl_run *run)
{
	if (fn->provenance == DK_NL_PROV_AMBIGUOUS)
		return run->provenance == DK_NL_PROV_AMBIGUOUS;
	return fn->provenance == run->provenance && fn->flags == run->flags &&
	       !strcmp(fn->label, run->label) && !strcmp(fn->provider, run->provider) &&
	       !strcmp(fn->device_name, run->device_name);
}

/* The function of a run, with a letter of its own when it is met first. */
static struct grid_function *function_of(struct grid *g, const struct dk_nl_run *run,
					 unsigned int *letters)
{
	struct grid_function *fn = g->functions;

	for (; fn < g->functions + g->num_functions; fn++) {
		if (is_same(fn, run))
			return fn;
	}
	g->num_functions++;
	fn->provenance = run->provenance;
	fn->flags = run->flags;
	fn->label = run->label;
	fn->provider = run->provider;
	fn->device_name = run->device_name;
	if (!set_sign(fn))
		set_letter(fn, (*letters)++);
	return fn;
}

bool grid_begin(struct grid *g, const struct dk_nl_layout *layout,
		const struct dk_nl_backend *backends, const struct dk_nl_run *runs)
{
	static const struct dk_nl_run nothing = {
		.provenance = DK_NL_PROV_MISSING,
		.label = "", .provider = "", .device_name = "",
	};
	unsigned int n = 1, letters = 0, i;
	const struct dk_nl_run *run;

	g->layout = layout;
	g->backends = backends;
	g->num_entries = layout->entries < MOST_ENTRIES ? layout->entries : MOST_ENTRIES;
	for (run = runs; run; run = run->next)
		n++;
	g->functions = calloc(n, sizeof(*g->functions));
	g->entries = calloc(g->num_entries + 1, sizeof(*g->entries));
	if (!g->functions || !g->entries) {
		grid_end(g);
		return false;
	}
	g->functions[0].cells = g->num_entries;
	function_of(g, &nothing, &letters);
	for (i = 0; i < g->num_entries; i++)
		g->entries[i] = g->functions;
	for (run = runs; run; run = run->next) {
		struct grid_function *fn = function_of(g, run, &letters);

		for (i = run->first; i <= run->last && i < g->num_entries; i++) {
			g->entries[i] = fn;
			fn->cells++;
			g->functions[0].cells--;
		}
	}
	return true;
}

void grid_end(struct grid *g)
{
	free(g->functions);
	free(g->entries);
	g->functions = NULL;
	g->entries = NULL;
}

const struct grid_function *grid_cell(const struct grid *g, const struct dk_nl_layout_key *f,
				      unsigned int backend)
{
	unsigned int slot = f->slot + (f->is_per_backend ? backend - 1 : 0);

	return slot < g->num_entries ? g->entries[slot] : g->functions;
}

const struct dk_nl_layout_key *grid_functionality(const struct grid *g, unsigned int i,
						  bool per_backend)
{
	const struct dk_nl_layout_key *f;
	unsigned int n = 0;

	for (f = g->layout->functionalities; f; f = f->next)
		n += !f->is_per_backend == !per_backend;
	if (i >= n)
		return NULL;
	/* the list begins with the lowest */
	for (f = g->layout->functionalities; f; f = f->next) {
		if (!f->is_per_backend == !per_backend && --n == i)
			return f;
	}
	return NULL;
}

const char *grid_backend(const struct grid *g, unsigned int backend, char *buf, size_t size)
{
	const struct dk_nl_backend *b = g->backends;
	const struct dk_nl_layout_key *k = g->layout->backends;

	while (b && b->number != backend)
		b = b->next;
	while (k && k->number != backend)
		k = k->next;
	if (!b)
		snprintf(buf, size, "%s", k ? k->name : "");
	else if (b->is_bound)
		snprintf(buf, size, "%s (%s)", b->name, b->key_name);
	else
		snprintf(buf, size, "%s", b->name);
	return buf;
}

const char *rule_word(__u32 provenance)
{
	return provenance > DK_NL_PROV_NO_ENTRY ? "by a rule that is not known here" :
	       dk_provenance_name((enum dk_provenance)provenance);
}

void grid_describe(const struct grid_function *fn, char *buf, size_t size)
{
	int n;

	if (fn->provenance == DK_NL_PROV_MISSING || fn->provenance == DK_NL_PROV_NO_ENTRY) {
		snprintf(buf, size, "nothing serves it");
	} else if (fn->provenance == DK_NL_PROV_AMBIGUOUS) {
		snprintf(buf, size, "ambiguous: a backend of AutogradOther has one, too");
	} else {
		n = snprintf(buf, size, "%s%s%s%s%s", fn->label, *fn->device_name ? "@" : "",
			     fn->device_name, *fn->provider ? " of " : "", fn->provider);
		if (n > 0 && (size_t)n < size)
			snprintf(buf + n, size - (size_t)n, " [%s]%s%s",
				 rule_word(fn->provenance),
				 fn->flags & DK_NL_IMPL_FALLTHROUGH ?
				 ", calls pass it by" : "",
				 fn->flags & DK_NL_IMPL_OFFLINE ? ", offline" : "");
	}
}

/* ---- the terminal --------------------------------------------------------------- */

static void put_padded(const char *s, size_t width)
{
	size_t len = strlen(s);

	if (len > width)
		printf("%.*s...", (int)(width - 3), s);
	else
		printf("%-*s", (int)width, s);
}

/* The letter in the middle of a coloured cell; without colour no blanks end a line. */
static void put_cell(struct request *q, const struct grid_function *fn, size_t width,
		     bool is_last)
{
	unsigned int color = COLOR_CELL + fn->provenance;
	size_t len = strlen(fn->letter), left = (width - len) / 2;

	if (fn->flags & DK_NL_IMPL_FALLTHROUGH)
		color = COLOR_DIM;
	color_begin(stdout, q->color, color);
	printf("%*s%s", (int)left, "", fn->letter);
	if (q->color || !is_last)
		printf("%*s", (int)(width - len - left), "");
	color_end(stdout, q->color, color);
}

static size_t name_width(const struct grid *g)
{
	char name[2 * DK_NAME_MAX + 4];
	size_t width = 0, len;
	unsigned int b;

	for (b = 1; b <= g->layout->num_backends; b++) {
		len = strlen(grid_backend(g, b, name, sizeof(name)));
		if (len > width)
			width = len;
	}
	return width < NAME_WIDTH ? width : NAME_WIDTH;
}

static void put_backends(struct request *q, const struct grid *g)
{
	size_t label = name_width(g);
	const struct dk_nl_layout_key *f;
	char name[2 * DK_NAME_MAX + 4], *plain;
	unsigned int b, i;

	printf("%*s", (int)label, "");
	for (i = 0; (f = grid_functionality(g, i, true)); i++) {
		printf("%*s", GAP, "");
		color_begin(stdout, q->color, COLOR_BOLD);
		fputs(f->name, stdout);
		color_end(stdout, q->color, COLOR_BOLD);
	}
	putchar('\n');
	for (b = 1; b <= g->layout->num_backends; b++) {
		plain = plain_text(grid_backend(g, b, name, sizeof(name)));
		put_padded(plain ? plain : "", label);
		free(plain);
		for (i = 0; (f = grid_functionality(g, i, true)); i++) {
			printf("%*s", GAP, "");
			put_cell(q, grid_cell(g, f, b), strlen(f->name),
				 !grid_functionality(g, i + 1, true));
		}
		putchar('\n');
	}
}

/* ---- functionalities with one entry, from top to bottom and left to right ------- */

static unsigned int num_others(const struct grid *g)
{
	unsigned int n = 0;

	while (grid_functionality(g, n, false))
		n++;
	return n;
}

/* Columns of the @i-th stripe of names, of @rows each. */
static size_t stripe_width(const struct grid *g, unsigned int i, unsigned int rows)
{
	const struct dk_nl_layout_key *f;
	size_t width = 0;
	unsigned int row;

	for (row = 0; row < rows; row++) {
		f = grid_functionality(g, i * rows + row, false);
		if (f && strlen(f->name) > width)
			width = strlen(f->name);
	}
	return CELL + 1 + width;
}

static bool fits(const struct grid *g, unsigned int stripes, unsigned int rows)
{
	size_t width = 0;
	unsigned int i;

	for (i = 0; i < stripes; i++)
		width += stripe_width(g, i, rows) + (i ? GAP : 0);
	return width <= COLUMNS;
}

static void put_others(struct request *q, const struct grid *g)
{
	unsigned int n = num_others(g), stripes = 4, rows, row, i;
	const struct dk_nl_layout_key *f, *next;
	size_t width;

	while (stripes > 1 && !fits(g, stripes, (n + stripes - 1) / stripes))
		stripes--;
	rows = (n + stripes - 1) / stripes;
	for (row = 0; row < rows; row++) {
		for (i = 0; i < stripes; i++) {
			f = grid_functionality(g, i * rows + row, false);
			if (!f)
				break;
			next = i + 1 < stripes ?
			       grid_functionality(g, (i + 1) * rows + row, false) : NULL;
			width = stripe_width(g, i, rows) - CELL - 1 + GAP;
			put_cell(q, grid_cell(g, f, 0), CELL, false);
			printf(" %-*s", next ? (int)width : 0, f->name);
		}
		putchar('\n');
	}
}

/* ---- the legend ------------------------------------------------------------------ */

static void put_legend(struct request *q, const struct grid *g)
{
	const struct grid_function *fn;
	char text[4 * DK_NAME_MAX + 64], *plain, *word, *rest;
	struct wrap w = { stdout, COLUMNS, CELL + 1, CELL + 1 };
	unsigned int i;

	for (i = 1; i <= g->num_functions; i++) {
		fn = g->functions + i % g->num_functions;
		if (!fn->cells)
			continue;
		put_cell(q, fn, CELL, false);
		putchar(' ');
		w.column = w.indent;
		grid_describe(fn, text, sizeof(text));
		plain = plain_text(text);
		for (word = plain ? strtok_r(plain, " ", &rest) : NULL; word;
		     word = strtok_r(NULL, " ", &rest))
			wrap_word(&w, word, "");
		wrap_end(&w);
		free(plain);
	}
}

static void put_title(struct request *q, const struct grid *g)
{
	char text[2 * DK_NAME_MAX + 32];

	snprintf(text, sizeof(text), "%.*s%s%.*s", DK_NAME_MAX, g->op,
		 g->device ? " for device " : "", DK_NAME_MAX, g->device ? g->device : "");
	wrap_text(q, "", text);
	putchar('\n');
}

void grid_print(struct request *q, const struct grid *g)
{
	put_title(q, g);
	put_backends(q, g);
	fputs("\nfor all backends, highest priority first:\n", stdout);
	put_others(q, g);
	putchar('\n');
	put_legend(q, g);
}
