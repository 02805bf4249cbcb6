// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Reads lines of any length in limited memory, unlike getline(). */
#include "dkctl.h"
#include "replay.h"

#include <stdlib.h>

/*
 * Longer than any valid line of a transcript, which may begin with "> ". dkctl schema also reads
 * lines with read_line(): a schema is shorter than a command of a transcript.
 */
#define KEPT	(DK_REPLAY_LINE_MAX + 3)

ssize_t read_line(char **line, FILE *f)
{
	size_t n = 0;
	int c;

	if (!*line)
		*line = malloc(KEPT + 1);
	if (!*line)
		return -1;
	do {
		c = getc_unlocked(f);
		if (c != EOF && n < KEPT)
			(*line)[n++] = (char)c;
	} while (c != EOF && c != '\n');
	(*line)[n] = '\0';
	return c == EOF && (!n || ferror(f)) ? -1 : (ssize_t)n;
}
