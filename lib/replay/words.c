// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Splits a command line into words. Errors name the wrong word. */
#include "internal.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * Returns the length of the character at @s, which has at most @len bytes. Returns 0 for a control
 * character, and for bytes that are not UTF-8.
 */
static size_t char_len(const unsigned char *s, size_t len)
{
	size_t n, i;

	if (s[0] < 0x80)
		return s[0] == '\t' || (s[0] >= 0x20 && s[0] != 0x7f);
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (n > len)
		return 0;
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* C1 controls, overlong forms, surrogates, and numbers beyond the last character */
	if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* Refuses the word around @at. The message shows unprintable bytes as \xNN. */
static int refuse_word(struct dk_replay *r, const char *line, size_t len,
		       size_t at)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *s = (const unsigned char *)line;
	char name[DK_NAME_MAX];
	size_t begin = at, n = 0;

	while (begin > 0 && at - begin < 64 && !is_blank(line[begin - 1]))
		begin--;
	/* do not begin in the middle of a character */
	while (begin < at && (s[begin] & 0xc0) == 0x80)
		begin++;
	while (begin < len && !is_blank(line[begin]) && n + 4 < sizeof(name)) {
		size_t one = char_len(s + begin, len - begin);

		if (one) {
			memcpy(name + n, s + begin, one);
			n += one;
			begin += one;
			continue;
		}
		name[n++] = '\\';
		name[n++] = 'x';
		name[n++] = hex[s[begin] >> 4];
		name[n++] = hex[s[begin++] & 15];
	}
	return dk_replay_refuse(r, -EINVAL,
				"this word has a control character or is not UTF-8",
				name, n);
}

int dk_replay_check_line(struct dk_replay *r, const char *line, size_t len)
{
	size_t at = 0, one;

	if (len > DK_REPLAY_LINE_MAX) {
		while (at < 32 && !is_blank(line[at]))
			at++;
		return dk_replay_refuse(r, -EINVAL,
					"this command is longer than 65536 bytes",
					line, at);
	}
	while (at < len) {
		one = char_len((const unsigned char *)line + at, len - at);
		if (!one)
			return refuse_word(r, line, len, at);
		at += one;
	}
	return 0;
}

static bool begins(const char *s, const char *prefix)
{
	while (*prefix && *s == *prefix) {
		s++;
		prefix++;
	}
	return !*prefix;
}

static bool is_quote(char c)
{
	return c == '\'' || c == '"';
}

/*
 * Returns the length of the word at @s, or 0 if one of its quotes has no end. Adjacent quoted parts
 * are one word, so that a word can contain both kinds of quotes: 'a "b" '"it's".
 */
static size_t word_len(const char *s)
{
	size_t n = 0;
	char quote;

	if (begins(s, "DispatchKeySet(")) {
		while (s[n] && s[n] != ')')
			n++;
	}
	while (is_quote(*s) && is_quote(s[n])) {
		quote = s[n++];
		while (s[n] && s[n] != quote)
			n++;
		if (!s[n++])
			return 0;
	}
	while (s[n] && !is_blank(s[n]))
		n++;
	return n;
}

/* Removes the quotes around the parts of a word. */
static void unquote(char *s)
{
	char *to = s, quote;

	while (is_quote(*s)) {
		quote = *s++;
		while (*s != quote)
			*to++ = *s++;
		s++;
	}
	while (*s)
		*to++ = *s++;
	*to = '\0';
}

char *dk_replay_word(char **rest)
{
	char *word = *rest, *end;

	while (is_blank(*word))
		word++;
	end = word + word_len(word);
	*rest = end + (*end != '\0');
	*end = '\0';
	unquote(word);
	return *word ? word : NULL;
}

/* True for a word that has nothing between its quotes, nor after them. */
static bool is_empty(const char *s, size_t len)
{
	while (len > 1 && is_quote(*s) && s[1] == *s) {
		s += 2;
		len -= 2;
	}
	return !len;
}

int dk_replay_check_quotes(struct dk_replay *r, const char *s)
{
	size_t len;

	for (; *s; s += len) {
		while (is_blank(*s))
			s++;
		len = word_len(s);
		if (*s && !len)
			return dk_replay_refuse(r, -EINVAL, "this word has no closing quote", s,
						dk_replay_len(s));
		/* dk_replay_word() would return it as the end of the command */
		if (*s && is_empty(s, len))
			return dk_replay_refuse(r, -EINVAL, "empty word", s, len);
	}
	return 0;
}

/* Reports argument @n as missing, by its name in the usage. */
static int refuse_missing(struct dk_replay *r, const struct dk_replay_verb *v,
			  unsigned int n)
{
	const char *s = v->help.usage;
	size_t len = 0;

	for (;;) {
		while (*s == ' ')
			s++;
		len = 0;
		while (s[len] && s[len] != ' ')
			len++;
		if (*s == '[') {	/* an option */
			while (*s && *s != ']')
				s++;
			s += *s == ']';
			continue;
		}
		if (!n-- || !len)
			break;
		s += len;
	}
	return dk_replay_refuse(r, -EINVAL, "missing word", s, len);
}

static int take_options(struct dk_replay *r, const struct dk_replay_verb *v,
			char **word, char **rest, struct dk_replay_words *w)
{
	const char *known;
	char *s;

	while (*word && (*word)[0] == '-' && (*word)[1]) {
		s = *word;
		known = v->options;
		while (*known && *known != s[1])
			known++;
		if (s[2] || s[1] < 'a' || s[1] > 'z' || !*known)
			return dk_replay_refuse(r, -EINVAL, "unknown option", s,
						dk_replay_len(s));
		w->options |= 1u << (s[1] - 'a');
		if (known[1] == ':') {
			char *value = dk_replay_word(rest);

			w->value[s[1] - 'a'] = value;
			if (!value)
				return dk_replay_refuse(r, -EINVAL,
					"missing value of option", s, 2);
		}
		*word = dk_replay_word(rest);
	}
	return 0;
}

int dk_replay_words(struct dk_replay *r, const struct dk_replay_verb *v,
		    char *rest, struct dk_replay_words *w)
{
	char *word = dk_replay_word(&rest);
	int err = v->options ? take_options(r, v, &word, &rest, w) : 0;

	if (err)
		return err;
	while (word && w->n < v->max) {
		w->arg[w->n++] = word;
		if (v->more && w->n == v->max)
			break;
		word = dk_replay_word(&rest);
	}
	while (is_blank(*rest))
		rest++;
	w->rest = rest;
	if (w->n < v->min || (v->more && !*rest))
		return refuse_missing(r, v, w->n);
	if (word && !v->more)
		return dk_replay_refuse(r, -EINVAL, "unexpected word", word,
					dk_replay_len(word));
	return 0;
}
