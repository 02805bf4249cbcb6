// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Wraps words into lines of a given width. */
#include "dkctl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* Tables need 40 columns, and longer lines than 100 are hard to read. */
#define WIDTH_MIN	40
#define WIDTH_MAX	100

/* TIOCGWINSZ fails unless @f is a terminal. A serial line may have the width 0. */
int line_width(FILE *f)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long width = 0;

	if (!ioctl(fileno(f), TIOCGWINSZ, &size))
		width = size.ws_col;
	else if (columns)
		width = strtol(columns, NULL, 10);
	if (width <= 0 || width > WIDTH_MAX)
		return WIDTH_MAX;
	return width < WIDTH_MIN ? WIDTH_MIN : (int)width;
}

void put_broken(FILE *f, const char *text, size_t len, int indent)
{
	size_t width = (size_t)line_width(f), column = 0, blanks, word;

	for (; len; text += blanks + word, len -= blanks + word) {
		for (blanks = 0; blanks < len && text[blanks] == ' '; blanks++)
			;
		for (word = 0; blanks + word < len && text[blanks + word] != ' '; word++)
			;
		if (column && column + blanks + word > width) {
			fprintf(f, "\n%*s", indent, "");
			column = (size_t)indent;
		} else {
			fprintf(f, "%*s", (int)blanks, "");
			column += blanks;
		}
		/* breaks a word that is longer than a line */
		if (column + word > width)
			word = column < width ? width - column : 0;
		print_escaped(f, text + blanks, word);
		column += word;
	}
}

void wrap_begin(struct wrap *w, FILE *f, const char *head, int indent)
{
	w->f = f;
	w->columns = line_width(f);
	w->indent = indent;
	w->column = fprintf(f, "%-*s", indent, head);
}

/* Breaks a word that is longer than a line. */
static const char *break_word(struct wrap *w, const char *word)
{
	int available = w->columns - w->indent;

	while ((int)strlen(word) > available) {
		fprintf(w->f, "%.*s\n%*s", available, word, w->indent, "");
		word += available;
	}
	return word;
}

/* Prints a word after this number of blanks, or on the next line. */
static void put_word(struct wrap *w, int blanks, const char *word, const char *tail)
{
	int len = (int)(strlen(word) + strlen(tail));

	if (w->column > w->indent && w->column + blanks + len > w->columns) {
		fprintf(w->f, "\n%*s", w->indent, "");
		w->column = w->indent;
	} else if (w->column > w->indent) {
		fprintf(w->f, "%*s", blanks, "");
		w->column += blanks;
	}
	if (w->column == w->indent) {
		word = break_word(w, word);
		len = (int)(strlen(word) + strlen(tail));
	}
	fprintf(w->f, "%s%s", word, tail);
	w->column += len;
}

/* Prints a word, and @tail, such as a comma, on the same line. */
void wrap_word(struct wrap *w, const char *word, const char *tail)
{
	put_word(w, 1, word, tail);
}

void wrap_end(struct wrap *w)
{
	fputc('\n', w->f);
}

bool wrap_all(struct wrap *w, const char *text)
{
	char *plain = escape_text(text), *rest = plain, *word;
	int blanks = 0;

	if (!plain)
		return false;
	/* several blanks are blanks around empty words */
	while (rest) {
		word = strsep(&rest, " ");
		if (*word) {
			put_word(w, blanks, word, "");
			blanks = 0;
		}
		blanks++;
	}
	wrap_end(w);
	free(plain);
	return true;
}

bool wrap_words(FILE *f, int columns, const char *head, const char *text)
{
	struct wrap w;

	wrap_begin(&w, f, head, (int)strlen(head));
	w.columns = columns;
	return wrap_all(&w, text);
}

int wrap_text(struct request *q, const char *head, const char *text)
{
	return wrap_words(stdout, line_width(stdout), head, text) ? STATUS_OK : fail_memory(q);
}
