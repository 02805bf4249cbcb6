// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Prints rows in aligned columns. A column is as wide as its widest cell. If a row does not fit
 * into a line, the widest columns are made narrower. The cells of these columns continue on the
 * next line, so that no part of a name is lost.
 */
#include "dkctl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define GAP		2
#define MAX_COLUMNS	12

struct cell {
	char *text;
	enum color color;
};

void columns_begin(struct columns *l, const struct column *columns, unsigned int n)
{
	memset(l, 0, sizeof(*l));
	l->columns = columns;
	l->num_columns = n;
}

static void append(struct columns *l, const char *s, enum color color)
{
	struct cell *cells = l->cells;

	if (l->num_cells == l->capacity) {
		l->capacity = l->capacity ? 2 * l->capacity : 256;
		cells = realloc(l->cells, l->capacity * sizeof(*cells));
		if (!cells) {
			l->failed = true;
			return;
		}
		l->cells = cells;
	}
	cells[l->num_cells].color = color;
	cells[l->num_cells].text = escape_text(s);
	if (!cells[l->num_cells++].text)
		l->failed = true;
}

void columns_put(struct columns *l, enum color color, const char *format, ...)
{
	char *text;
	va_list ap;
	int len;

	if (l->failed)
		return;
	va_start(ap, format);
	len = vasprintf(&text, format, ap);
	va_end(ap);
	if (len < 0) {
		l->failed = true;
		return;
	}
	append(l, text, color);
	free(text);
}

void columns_free(struct columns *l)
{
	while (l->num_cells)
		free(l->cells[--l->num_cells].text);
	free(l->cells);
	l->cells = NULL;
}

/* ---- widths ------------------------------------------------------------------- */

struct widths {
	unsigned int width[MAX_COLUMNS];	/* 0: the column is empty and omitted */
	unsigned int longest[MAX_COLUMNS];	/* longest cell */
};

static unsigned int larger(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

static void measure(const struct columns *l, struct widths *w)
{
	unsigned int i, head;
	size_t n;

	memset(w, 0, sizeof(*w));
	for (n = 0; n < l->num_cells; n++) {
		i = n % l->num_columns;
		w->longest[i] = larger(w->longest[i], (unsigned int)strlen(l->cells[n].text));
	}
	for (i = 0; i < l->num_columns; i++) {
		head = (unsigned int)strlen(l->columns[i].head);
		w->width[i] = w->longest[i] ? larger(w->longest[i], head) : 0;
	}
}

static unsigned int total(const struct columns *l, const struct widths *w)
{
	unsigned int i, sum = 0;

	for (i = 0; i < l->num_columns; i++)
		sum += w->width[i] ? w->width[i] + (sum ? GAP : 0) : 0;
	return sum;
}

/* Narrows the widest columns. Numbers are not broken; no column gets narrower than its head. */
static void fit(const struct columns *l, struct widths *w)
{
	unsigned int available = (unsigned int)line_width(stdout), i, widest;

	while (total(l, w) > available) {
		widest = l->num_columns;
		for (i = 0; i < l->num_columns; i++) {
			if (l->columns[i].is_right ||
			    w->width[i] <= larger(1, (unsigned int)strlen(l->columns[i].head)))
				continue;
			if (widest == l->num_columns || w->width[i] > w->width[widest])
				widest = i;
		}
		if (widest == l->num_columns)
			return;
		w->width[widest]--;
	}
}

/* ---- printing ----------------------------------------------------------------- */

struct row {
	const struct cell *cells;
	const char *rest[MAX_COLUMNS];		/* not printed yet */
};

/* Returns the length of the part of @s that fits into a line, up to a space if possible. */
static unsigned int piece(const char *s, unsigned int width)
{
	unsigned int n = (unsigned int)strlen(s), at;

	if (n <= width)
		return n;
	for (at = width; at > 0; at--) {
		if (s[at] == ' ')
			return at;
	}
	return width;
}

static bool is_last(const struct columns *l, const struct row *r, unsigned int column)
{
	while (++column < l->num_columns) {
		if (*r->rest[column])
			return false;
	}
	return true;
}

static void put_cell(struct request *q, const struct columns *l, const struct widths *w,
		     struct row *r, unsigned int i)
{
	unsigned int n = piece(r->rest[i], w->width[i]), pad = w->width[i] - n;
	enum color color = r->cells[i].color;
	bool last = is_last(l, r, i);

	if (l->columns[i].is_right)
		printf("%*s", (int)pad, "");
	color_begin(stdout, q->color, color);
	printf("%.*s", (int)n, r->rest[i]);
	color_end(stdout, q->color, color);
	if (!last && !l->columns[i].is_right)
		printf("%*s", (int)pad, "");
	r->rest[i] += n;
	r->rest[i] += *r->rest[i] == ' ';
}

static bool has_rest(const struct columns *l, const struct row *r)
{
	unsigned int i;

	for (i = 0; i < l->num_columns; i++) {
		if (*r->rest[i])
			return true;
	}
	return false;
}

static void put_row(struct request *q, const struct columns *l, const struct widths *w,
		    const struct cell *cells)
{
	struct row r = { .cells = cells };
	unsigned int i, done;
	bool first;

	for (i = 0; i < l->num_columns; i++)
		r.rest[i] = cells[i].text;
	do {
		first = true;
		for (i = 0; i < l->num_columns; i++) {
			if (!w->width[i])
				continue;
			done = !*r.rest[i] && is_last(l, &r, i);
			if (done)
				break;
			printf("%*s", first ? 0 : GAP, "");
			put_cell(q, l, w, &r, i);
			first = false;
		}
		fputc('\n', stdout);
	} while (has_rest(l, &r));
}

static void put_heads(struct request *q, const struct columns *l, const struct widths *w)
{
	struct cell heads[MAX_COLUMNS];
	char text[MAX_COLUMNS][64];
	unsigned int i;

	for (i = 0; i < l->num_columns; i++) {
		snprintf(text[i], sizeof(text[i]), "%s", w->width[i] ? l->columns[i].head : "");
		heads[i].text = text[i];
		heads[i].color = COLOR_BOLD;
	}
	put_row(q, l, w, heads);
}

int columns_end(struct request *q, struct columns *l)
{
	struct widths w;
	size_t n;

	if (l->failed) {
		columns_free(l);
		return fail_memory(q);
	}
	measure(l, &w);
	fit(l, &w);
	if (l->num_cells)
		put_heads(q, l, &w);
	for (n = 0; n < l->num_cells; n += l->num_columns)
		put_row(q, l, &w, l->cells + n);
	columns_free(l);
	return STATUS_OK;
}
