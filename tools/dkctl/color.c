// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Colours text with the terminal's palette, so it can be read on dark and light backgrounds. */
#include "dkctl.h"

#include <linux/dispatchkey_netlink.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NO_COLOR is a convention that many programs follow: see no-color.org. */
static bool is_wanted(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

/* The words of color_parse(). */
const struct term color_terms[] = {
	{ "always", "use colours", NULL },
	{ "auto", "use colours at a terminal, unless NO_COLOR is set", NULL },
	{ "never", "use no colours", NULL },
	{ },
};

bool color_parse(const char *word, bool *color)
{
	if (!strcmp(word, "auto"))
		*color = is_wanted();
	else if (!strcmp(word, "always"))
		*color = true;
	else if (!strcmp(word, "never"))
		*color = false;
	else
		return false;
	return true;
}

static const char *sequence(unsigned int color)
{
	static const char *const names[] = {
		[COLOR_BOLD] = "1",
		[COLOR_DIM] = "2",
		[COLOR_GOOD] = "32",
		[COLOR_BAD] = "31",
		[COLOR_CELL + DK_NL_PROV_MISSING] = "2",
		[COLOR_CELL + DK_NL_PROV_KERNEL] = "30;42",
		[COLOR_CELL + DK_NL_PROV_DEFAULT_BACKEND] = "30;46",
		[COLOR_CELL + DK_NL_PROV_NESTED] = "30;104",
		[COLOR_CELL + DK_NL_PROV_AMBIGUOUS] = "97;41",
		[COLOR_CELL + DK_NL_PROV_MATH] = "97;44",
		[COLOR_CELL + DK_NL_PROV_AUTOGRAD] = "97;45",
		[COLOR_CELL + DK_NL_PROV_BATCHED] = "30;105",
		[COLOR_CELL + DK_NL_PROV_FALLBACK] = "30;43",
		[COLOR_CELL + DK_NL_PROV_NO_ENTRY] = "2",
	};

	return color < ARRAY_SIZE(names) ? names[color] : NULL;
}

void color_begin(FILE *f, bool on, unsigned int color)
{
	if (on && sequence(color))
		fprintf(f, "\033[%sm", sequence(color));
}

void color_end(FILE *f, bool on, unsigned int color)
{
	if (on && sequence(color))
		fputs("\033[0m", f);
}
