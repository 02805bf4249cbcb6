// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Prints the grid of a computed table to a terminal. */
#include "table_grid.h"

#include <stdlib.h>
#include <string.h>

/* The maximum length of a backend's name that is printed in full. */
#define NAME_WIDTH	24
#define GAP		2
/* Width of a cell in the list of functionalities with one table entry. */
#define CELL		3

/* Cuts off the end of a long name, but keeps a second name, as in "edu (PrivateUse1)". */
static void put_padded(const char *s, size_t width)
{
	const char *second = strchr(s, ' ');

	if (!second || strlen(second) + 3 > width)
		second = "";
	if (strlen(s) > width)
		printf("%.*s...%s", (int)(width - 3 - strlen(second)), s, second);
	else
		printf("%-*s", (int)width, s);
}

/* Centres the letter in the cell. Without colour, trailing spaces are omitted. */
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

static bool put_backends(struct request *q, const struct grid *g)
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
		plain = escape_text(grid_backend(g, b, name, sizeof(name)));
		if (!plain)
			return false;
		put_padded(plain, label);
		free(plain);
		for (i = 0; (f = grid_functionality(g, i, true)); i++) {
			printf("%*s", GAP, "");
			put_cell(q, grid_cell(g, f, b), strlen(f->name),
				 !grid_functionality(g, i + 1, true));
		}
		putchar('\n');
	}
	return true;
}

/* ---- functionalities with one entry, from top to bottom and left to right ------- */

static unsigned int num_others(const struct grid *g)
{
	unsigned int n = 0;

	while (grid_functionality(g, n, false))
		n++;
	return n;
}

/* Returns the width of the @i-th stripe of names; a stripe has @rows names. */
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
	return width <= (size_t)line_width(stdout);
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

static bool put_legend(struct request *q, const struct grid *g)
{
	const struct grid_function *fn;
	char text[4 * DK_NAME_MAX + 64];
	struct wrap w = { stdout, line_width(stdout), CELL + 1, CELL + 1 };
	unsigned int i;

	for (i = 1; i <= g->num_functions; i++) {
		fn = g->functions + i % g->num_functions;
		if (!fn->cells)
			continue;
		put_cell(q, fn, CELL, false);
		putchar(' ');
		w.column = w.indent;
		grid_describe(fn, text, sizeof(text));
		if (!wrap_all(&w, text))
			return false;
	}
	return true;
}

static int put_title(struct request *q, const struct grid *g)
{
	char text[2 * DK_NAME_MAX + 32];

	snprintf(text, sizeof(text), "%.*s%s%.*s", DK_NAME_MAX, g->op,
		 g->device ? " for device " : "", DK_NAME_MAX, g->device ? g->device : "");
	return wrap_text(q, "", text);
}

int grid_print(struct request *q, const struct grid *g)
{
	int status = put_title(q, g);

	if (status)
		return status;
	putchar('\n');
	if (!put_backends(q, g))
		return fail_memory(q);
	fputs("\none entry for all backends, highest priority first:\n", stdout);
	put_others(q, g);
	putchar('\n');
	return put_legend(q, g) ? STATUS_OK : fail_memory(q);
}
