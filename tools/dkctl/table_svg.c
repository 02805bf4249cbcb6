// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Writes a computed table as an SVG picture without external references, for light and
 * dark pages, with titles and a description for screen readers.
 */
#include "table_grid.h"

#include <stdlib.h>
#include <string.h>

/* Sizes in pixels. Letters of the 13-pixel font are about 8 pixels wide. */
#define LETTER		8
#define MARGIN		20
#define LINE		24
#define CELL_HEIGHT	20
#define SMALL		32		/* a cell of the legend */
#define GAP		6
#define STRIPES		3

static const char style[] =
	"<style>\n"
	"text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328}\n"
	".page{fill:#fff}.h{font-weight:600}.t{font-size:16px;font-weight:600}.n{fill:#656d76}\n"
	".c{text-anchor:middle;fill:#000}.w{fill:#fff}.e{fill:none;stroke:#d0d7de}.q{text-anchor:middle;fill:#656d76}\n"
	".p1{fill:#3fbf7f}.p2{fill:#56b4e9}.p3{fill:#e8875a}.p4{fill:#b3261e}.p5{fill:#0b62b8}\n"
	".p6{fill:#cc79a7}.p7{fill:#e69f00}.p8{fill:#f0e442}\n"
	"@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.n,.q{fill:#9198a1}"
	".c{fill:#000}.w{fill:#fff}.e{stroke:#3d444d}}\n"
	"</style>\n";

/* Escapes unprintable bytes as \xNN, and the special characters of XML. */
static void put_xml(FILE *f, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		default:
			print_escaped(f, *s == '\t' ? "\\x09" : s, *s == '\t' ? 4 : 1);
		}
	}
}

static int text_width(const char *s)
{
	return (int)escaped_len(s) * LETTER;
}

static void put_text(FILE *f, int x, int y, const char *class, const char *s)
{
	fprintf(f, "<text x=\"%d\" y=\"%d\"%s%s%s>", x, y, *class ? " class=\"" : "", class,
		*class ? "\"" : "");
	put_xml(f, s);
	fputs("</text>\n", f);
}

/* True for cells without a colour: no function, a fallthrough, or an unknown rule. */
static bool is_empty(const struct grid_function *fn)
{
	return fn->provenance == DK_NL_PROV_MISSING ||
	       fn->provenance >= DK_NL_PROV_NO_ENTRY ||
	       fn->flags & DK_NL_IMPL_FALLTHROUGH;
}

static bool is_dark(const struct grid_function *fn)
{
	return fn->provenance == DK_NL_PROV_AMBIGUOUS || fn->provenance == DK_NL_PROV_MATH;
}

/* Draws a cell with its top left corner at @x, @y, and with a title. */
static void put_cell(FILE *f, const struct grid_function *fn, int x, int y, int width,
		     const char *key, const char *backend)
{
	char text[4 * DK_NAME_MAX + 64];

	grid_describe(fn, text, sizeof(text));
	fputs("<g><title>", f);
	put_xml(f, key);
	if (*backend)
		fputs(", ", f);
	put_xml(f, backend);
	fputs(": ", f);
	put_xml(f, text);
	fprintf(f, "</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" class=\"",
		x, y, width, CELL_HEIGHT);
	if (is_empty(fn))
		fputs("e\"/>", f);
	else
		fprintf(f, "p%u\"/>", fn->provenance);
	fprintf(f, "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text></g>\n", x + width / 2,
		y + CELL_HEIGHT - 6, is_empty(fn) ? "q" : is_dark(fn) ? "c w" : "c",
		is_empty(fn) && *fn->letter == '.' ? "\302\267" : fn->letter);
}

/* ---- parts from top to bottom; each function takes its top and returns its bottom */

static int label_width(const struct grid *g)
{
	char name[2 * DK_NAME_MAX + 4];
	int width = 0, one;
	unsigned int b;

	for (b = 1; b <= g->layout->num_backends; b++) {
		one = text_width(grid_backend(g, b, name, sizeof(name)));
		if (one > width)
			width = one;
	}
	return width;
}

static int backends_width(const struct grid *g)
{
	const struct dk_nl_layout_key *f;
	int x = MARGIN + label_width(g);
	unsigned int i;

	for (i = 0; (f = grid_functionality(g, i, true)); i++)
		x += 2 * GAP + text_width(f->name);
	return x + MARGIN;
}

static int put_backends(FILE *f, const struct grid *g, int y)
{
	int x, left = MARGIN + label_width(g), width;
	const struct dk_nl_layout_key *key;
	char name[2 * DK_NAME_MAX + 4];
	unsigned int b, i;

	for (x = left, i = 0; (key = grid_functionality(g, i, true)); i++) {
		put_text(f, x + 2 * GAP, y + 14, "h", key->name);
		x += 2 * GAP + text_width(key->name);
	}
	for (b = 1; b <= g->layout->num_backends; b++) {
		y += LINE;
		grid_backend(g, b, name, sizeof(name));
		put_text(f, MARGIN, y + 14, "", name);
		for (x = left, i = 0; (key = grid_functionality(g, i, true)); i++) {
			width = text_width(key->name);
			put_cell(f, grid_cell(g, key, b), x + 2 * GAP, y, width, key->name, name);
			x += 2 * GAP + width;
		}
	}
	return y + LINE;
}

static unsigned int num_others(const struct grid *g)
{
	unsigned int n = 0;

	while (grid_functionality(g, n, false))
		n++;
	return n;
}

static int stripe_width(const struct grid *g, unsigned int stripe, unsigned int rows)
{
	const struct dk_nl_layout_key *f;
	int width = 0;
	unsigned int i;

	for (i = stripe * rows; i < (stripe + 1) * rows; i++) {
		f = grid_functionality(g, i, false);
		if (f && text_width(f->name) > width)
			width = text_width(f->name);
	}
	return SMALL + 3 * GAP + width;
}

static int others_width(const struct grid *g)
{
	unsigned int i, rows = (num_others(g) + STRIPES - 1) / STRIPES;
	int width = 2 * MARGIN;

	for (i = 0; i < STRIPES; i++)
		width += stripe_width(g, i, rows);
	return width;
}

static int put_others(FILE *f, const struct grid *g, int y)
{
	unsigned int i, n = num_others(g), rows = (n + STRIPES - 1) / STRIPES;
	const struct dk_nl_layout_key *key;
	int x = MARGIN, at = y;

	for (i = 0; i < n; i++) {
		if (i && !(i % rows)) {
			x += stripe_width(g, i / rows - 1, rows);
			at = y;
		}
		key = grid_functionality(g, i, false);
		put_cell(f, grid_cell(g, key, 0), x, at, SMALL, key->name, "");
		put_text(f, x + SMALL + GAP, at + 14, "", key->name);
		at += LINE;
	}
	return y + (int)rows * LINE;
}

/* Draws the legend: functions first, then the entry for cells without a function. */
static int put_legend(FILE *f, const struct grid *g, int y)
{
	const struct grid_function *fn;
	char text[4 * DK_NAME_MAX + 64];
	unsigned int i;

	for (i = 1; i <= g->num_functions; i++) {
		fn = g->functions + i % g->num_functions;
		if (!fn->cells)
			continue;
		put_cell(f, fn, MARGIN, y, SMALL, "legend", "");
		grid_describe(fn, text, sizeof(text));
		put_text(f, MARGIN + SMALL + GAP, y + 14, "", text);
		y += LINE;
	}
	return y;
}

static int legend_width(const struct grid *g)
{
	char text[4 * DK_NAME_MAX + 64];
	int width = 0, one;
	unsigned int i;

	for (i = 0; i < g->num_functions; i++) {
		grid_describe(g->functions + i, text, sizeof(text));
		one = text_width(text);
		if (g->functions[i].cells && one > width)
			width = one;
	}
	return 2 * MARGIN + SMALL + GAP + width;
}

static unsigned int legend_lines(const struct grid *g)
{
	unsigned int i, n = 0;

	for (i = 0; i < g->num_functions; i++)
		n += g->functions[i].cells > 0;
	return n;
}

static int max(int a, int b)
{
	return a > b ? a : b;
}

static void put_head(FILE *f, const struct grid *g, int width, int height)
{
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"title desc\">\n",
		width, height, width, height);
	fputs("<title id=\"title\">Where calls of ", f);
	put_xml(f, g->op);
	fputs(" go</title>\n<desc id=\"desc\">The computed dispatch table of ", f);
	put_xml(f, g->op);
	if (g->device)
		fputs(" for device ", f);
	put_xml(f, g->device ? g->device : "");
	fprintf(f, ": a row for each of %u backends, a column for each functionality that has an "
		"entry for every backend, then a cell for each other functionality. Below them a "
		"legend lists the function of each letter, and the rule by which it serves."
		"</desc>\n",
		g->layout->num_backends);
	fputs(style, f);
	fprintf(f, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, height);
}

void grid_svg(FILE *f, const struct grid *g)
{
	int others = (int)(num_others(g) + STRIPES - 1) / STRIPES, y = MARGIN;
	int width = max(backends_width(g), max(others_width(g), legend_width(g)));
	char name[2 * DK_NAME_MAX + 64];

	put_head(f, g, width, 2 * MARGIN + 4 * LINE +
		 LINE * ((int)g->layout->num_backends + others + (int)legend_lines(g)));
	put_text(f, MARGIN, y + 14, "t", g->op);
	snprintf(name, sizeof(name), "%s%slayout %s", g->device ? g->device : "",
		 g->device ? ", " : "", g->layout->name);
	put_text(f, MARGIN + text_width(g->op) * 5 / 4 + 2 * GAP, y + 14, "n", name);
	y = put_backends(f, g, y + LINE + GAP);
	put_text(f, MARGIN, y + 24, "n", "one entry for all backends, highest priority first");
	y = put_others(f, g, y + LINE + 2 * GAP);
	put_legend(f, g, y + LINE / 2);
	fputs("</svg>\n", f);
}
