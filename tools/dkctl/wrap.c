// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Words in lines of at most so many columns. */
#include "dkctl.h"

#include <stdlib.h>
#include <string.h>

void wrap_begin(struct wrap *w, FILE *f, const char *head, int indent)
{
	w->f = f;
	w->columns = COLUMNS;
	w->indent = indent;
	w->column = fprintf(f, "%-*s", indent, head);
}

/* What does not fit a line of its own is broken. */
static const char *break_word(struct wrap *w, const char *word)
{
	int room = w->columns - w->indent;

	while ((int)strlen(word) > room) {
		fprintf(w->f, "%.*s\n%*s", room, word, w->indent, "");
		word += room;
	}
	return word;
}

/* @tail stays with the word, such as a comma. */
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
	char *plain = plain_text(text), *word, *rest;
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
	return wrap_words(stdout, COLUMNS, head, text) ? STATUS_OK : fail_memory(q);
}
