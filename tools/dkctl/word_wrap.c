// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Wraps words into lines of a given width. */
#include "dkctl.h"

#include <stdlib.h>
#include <string.h>

void wrap_begin(struct wrap *w, FILE *f, const char *head, int indent)
{
	w->f = f;
	w->columns = LINE_WIDTH;
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

/* Prints a word, and @tail, such as a comma, on the same line. */
void wrap_word(struct wrap *w, const char *word, const char *tail)
{
	int len = (int)(strlen(word) + strlen(tail));

	if (w->column > w->indent && w->column + 1 + len > w->columns) {
		fprintf(w->f, "\n%*s", w->indent, "");
		w->column = w->indent;
	} else if (w->column > w->indent) {
		fputc(' ', w->f);
		w->column++;
	}
	if (w->column == w->indent) {
		word = break_word(w, word);
		len = (int)(strlen(word) + strlen(tail));
	}
	fprintf(w->f, "%s%s", word, tail);
	w->column += len;
}

void wrap_end(struct wrap *w)
{
	fputc('\n', w->f);
}

bool wrap_words(FILE *f, int columns, const char *head, const char *text)
{
	char *plain = escape_text(text), *word, *rest;
	struct wrap w;

	if (!plain)
		return false;
	wrap_begin(&w, f, head, (int)strlen(head));
	w.columns = columns;
	for (word = strtok_r(plain, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		wrap_word(&w, word, "");
	wrap_end(&w);
	free(plain);
	return true;
}

int wrap_text(struct request *q, const char *head, const char *text)
{
	return wrap_words(stdout, LINE_WIDTH, head, text) ? STATUS_OK : fail_memory(q);
}
