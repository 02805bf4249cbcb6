// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Words in lines of at most COLUMNS columns. */
#include "dkctl.h"

#include <string.h>

void wrap_begin(struct wrap *w, FILE *f, const char *head, int indent)
{
	w->f = f;
	w->indent = indent;
	w->column = fprintf(f, "%-*s", indent, head);
}

/* @tail stays with the word, such as a comma. */
void wrap_word(struct wrap *w, const char *word, const char *tail)
{
	int len = (int)(strlen(word) + strlen(tail));

	if (w->column > w->indent && w->column + 1 + len > COLUMNS) {
		fprintf(w->f, "\n%*s", w->indent, "");
		w->column = w->indent;
	} else if (w->column > w->indent) {
		fputc(' ', w->f);
		w->column++;
	}
	fprintf(w->f, "%s%s", word, tail);
	w->column += len;
}

void wrap_end(struct wrap *w)
{
	fputc('\n', w->f);
}
