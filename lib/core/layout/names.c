// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Formats names of keys, and parses keys and keysets: SEMANTICS 1.4 to 1.6. */
#include "layout.h"

static char *join(char buf[DK_NAME_MAX], const char *a, const char *b)
{
	size_t n;

	dkc_strcpy(buf, a, DK_NAME_MAX);
	n = strlen(buf);
	dkc_strcpy(buf + n, b, DK_NAME_MAX - n);
	return buf;
}

const char *dkc_key_prefix(const struct dk_layout *l, unsigned int f)
{
	if (f == l->role[DKC_ROLE_DENSE])
		return "";
	if (f == l->role[DKC_ROLE_AUTOGRAD])
		return "Autograd";
	return l->functionality_names[f];
}

char *dkc_key_name(const struct dk_layout *l, unsigned int key, char buf[DK_NAME_MAX])
{
	struct dkc_place at = dkc_key_place(l, key);

	if (key < l->nf)
		return join(buf, l->functionality_names[key], "");
	if (key > l->nf && key < l->first_alias)
		return join(buf, dkc_key_prefix(l, at.f),
			    at.b ? l->backend_names[at.b] : l->sentinel);
	if (dk_key_kind(l, key) == DK_KIND_ALIAS)
		return join(buf, l->alias_names[key - l->first_alias], "");
	return join(buf, "UnknownUnknown", "");
}

char *dk_key_name(const struct dk_layout *l, unsigned int key, char buf[DK_NAME_MAX])
{
	l = dkc_layout(l);
	if (key < l->nf)
		return join(buf, l->functionality_prints[key], "");
	if (l->unnamed && dk_key_kind(l, key) == DK_KIND_SENTINEL)
		return join(buf, l->unnamed, "");
	return dkc_key_name(l, key, buf);
}

unsigned int dkc_find_name(const char *const *names, unsigned int n, const char *name)
{
	unsigned int i;

	for (i = 1; i < n; i++)
		if (dkc_streq(names[i], name))
			return i;
	return 0;
}

/* True if PyTorch's own parser accepts the key. It rejects many keys that PyTorch prints. */
static bool parses_strictly(const struct dk_layout *l, unsigned int key)
{
	unsigned int b = dk_key_backend(l, key);

	return !b || l->strict[dk_key_functionality(l, key)] >> (b - 1) & 1;
}

bool dkc_find_key(const struct dk_layout *l, const char *name, unsigned int *key)
{
	char buf[DK_NAME_MAX];
	unsigned int k;

	for (k = 0; k < dk_layout_keys(l); k++) {
		if (dk_key_kind(l, k) != DK_KIND_SENTINEL &&
		    dkc_streq(dkc_key_name(l, k, buf), name)) {
			*key = k;
			return true;
		}
	}
	return false;
}

static bool find_key(const struct dk_layout *l, const char *name,
		     unsigned int flags, unsigned int *key)
{
	unsigned int k;

	/* a few keys are printed with another name */
	if (!dkc_find_key(l, name, &k)) {
		k = dkc_find_name(l->functionality_prints, l->nf, name);
		if (!k)
			return false;
	}
	if ((flags & DK_PARSE_STRICT) && !parses_strictly(l, k))
		return false;
	*key = k;
	return true;
}

typedef bool (*same_fn)(const char *a, const char *b);

/*
 * Returns the printed name for a name that is only a second enumerator of the key in PyTorch's
 * source, or NULL. Later versions of PyTorch than 1.12 neither print nor parse such names.
 */
static const char *enumerator_alias(const char *name, same_fn same)
{
	static const char *const other_names[][2] = {
		{ "CatchAll", "Undefined" },
		{ "CPUTensorId", "CPU" },
		{ "CUDATensorId", "CUDA" },
		{ "DefaultBackend", "CompositeExplicitAutograd" },
		{ "PrivateUse1_PreAutograd", "AutogradPrivateUse1" },
		{ "PrivateUse2_PreAutograd", "AutogradPrivateUse2" },
		{ "PrivateUse3_PreAutograd", "AutogradPrivateUse3" },
		{ "Autocast", "AutocastCUDA" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(other_names); i++)
		if (same(other_names[i][0], name))
			return other_names[i][1];
	return NULL;
}

void dkc_replace(char buf[DK_NAME_MAX], const char *name, const char *from, const char *to)
{
	size_t skip = strlen(from), more = strlen(to), n = 0;

	while (*name && n + more + 1 < DK_NAME_MAX) {
		if (dkc_starts_with(name, from)) {
			memcpy(buf + n, to, more);
			n += more;
			name += skip;
		} else {
			buf[n++] = *name++;
		}
	}
	buf[n] = 0;
}

static bool parse_key(const struct dk_layout *l, const char *name,
		      unsigned int flags, unsigned int *key)
{
	const char *alias = flags & DK_PARSE_STRICT ? NULL :
			    enumerator_alias(name, dkc_streq);
	char buf[DK_NAME_MAX];

	l = dkc_layout(l);
	/* first the name itself: before 1.12, some of the aliases were the names of keys */
	if (find_key(l, name, flags, key))
		return true;
	if (alias && find_key(l, alias, flags, key))
		return true;
	if (!l->privateuseone)
		return false;
	/* a result that is cut off matches no key: all names of keys are shorter */
	dkc_replace(buf, name, "PRIVATEUSEONE", "PrivateUse1");
	return find_key(l, buf, flags, key);
}

/* Returns a negative number if there is no backend with this name. */
static int parse_backend(const struct dk_layout *l, const char *name, same_fn same)
{
	char buf[DK_NAME_MAX];
	int b;

	l = dkc_layout(l);
	for (b = 0; b <= (int)l->nb; b++)
		if (same(l->backend_bits[b], name) ||
		    same(join(buf, l->backend_names[b], "Bit"), name) ||
		    (b && same(l->backend_names[b], name)))
			return b;
	return -1;
}

bool dkc_name_parses(const struct dk_layout *l, const char *name)
{
	return enumerator_alias(name, dkc_strcaseeq) || parse_backend(l, name, dkc_strcaseeq) >= 0;
}

bool dkc_key_parse_strict(const struct dk_layout *l, const char *name, unsigned int *key)
{
	return l->has_strict && find_key(l, name, DK_PARSE_STRICT, key);
}

int dk_key_parse(const struct dk_layout *l, const char *name, unsigned int flags,
		 unsigned int *key, struct dk_diag *why)
{
	if (!name)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "name");
	if (flags & ~DK_PARSE_STRICT)
		return dkc_refuse(why, DK_WHY_BAD_FLAGS, name);
	if ((flags & DK_PARSE_STRICT) && !dkc_layout(l)->has_strict)
		return dkc_refuse(why, DK_WHY_NO_STRICT, dkc_layout(l)->name);
	if (!parse_key(l, name, flags, key))
		return dkc_refuse(why, DK_WHY_PARSE_KEY, name);
	return dkc_accept(why);
}

int dk_backend_bit_parse(const struct dk_layout *l, const char *name,
			 unsigned int *backend, struct dk_diag *why)
{
	int b;

	if (!name)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "name");
	b = parse_backend(l, name, dkc_streq);
	if (b < 0)
		return dkc_refuse(why, DK_WHY_PARSE_BACKEND, name);
	*backend = b;
	return dkc_accept(why);
}

/* ---- keysets ---------------------------------------------------------------- */

struct reader {
	const char *at;
	char word[DK_NAME_MAX];
};

static void skip_blanks(struct reader *r)
{
	while (*r->at == ' ')
		r->at++;
}

static bool ends_word(char c)
{
	return !c || c == ' ' || c == '|' || c == ',' || c == '(' || c == ')';
}

/* A word that does not fit is cut off and ends in "...", so that it matches no name. */
static void read_word(struct reader *r)
{
	size_t n = 0;

	skip_blanks(r);
	while (!ends_word(r->at[n]))
		n++;
	dkc_strncpy(r->word, r->at, n, sizeof(r->word));
	r->at += n;
	skip_blanks(r);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = dkc_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hex(const char *digits, u64 *bits)
{
	u64 value = 0;

	do {
		if (hex_digit(*digits) < 0 || value >> 60)
			return false;
		value = value << 4 | hex_digit(*digits);
	} while (*++digits);
	*bits = value;
	return true;
}

/*
 * A key takes precedence over a backend of the same name. Refuses alias keys: they have no bits, so
 * an alias key in a set is most likely a mistake.
 */
static bool parse_word(const struct dk_layout *l, const char *word, u64 *bits)
{
	unsigned int n;
	int b;

	if (word[0] == '0' && (word[1] == 'x' || word[1] == 'X'))
		return parse_hex(word + 2, bits);
	if (parse_key(l, word, 0, &n)) {
		*bits = dk_key_set(l, n).bits;
		return dk_key_kind(l, n) != DK_KIND_ALIAS;
	}
	b = parse_backend(l, word, dkc_streq);
	if (b < 0)
		return false;
	*bits = dkc_backend_bit(b);
	return true;
}

/* Parses words separated by '|' or ',' and stops after the last one. */
static bool parse_words(const struct dk_layout *l, struct reader *r, u64 *set)
{
	u64 bits;

	for (;;) {
		if (!parse_word(l, r->word, &bits))
			return false;
		*set |= bits;
		if (*r->at != '|' && *r->at != ',')
			return true;
		r->at++;
		read_word(r);
	}
}

int dk_keyset_parse(const struct dk_layout *l, const char *text,
		    struct dk_keyset *ks, struct dk_diag *why)
{
	struct reader r = { .at = text };
	bool printed;
	u64 set = 0;

	if (!text)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "text");
	read_word(&r);
	printed = *r.at == '(' && dkc_streq(r.word, "DispatchKeySet");
	if (printed) {
		r.at++;
		read_word(&r);
	}
	/* only the printed form, DispatchKeySet(), may be empty */
	if (!(printed && !r.word[0] && *r.at == ')') && !parse_words(l, &r, &set))
		return dkc_refuse(why, DK_WHY_PARSE_SET, r.word[0] ? r.word : text);
	if (printed && *r.at != ')')
		return dkc_refuse(why, DK_WHY_PARSE_SET, *r.at ? r.at : text);
	r.at += printed;
	skip_blanks(&r);
	if (*r.at)
		return dkc_refuse(why, DK_WHY_PARSE_SET, r.at);
	ks->bits = set;
	return dkc_accept(why);
}

int dkc_refuse_key(struct dk_diag *why, enum dk_reason reason,
		   const struct dk_layout *l, unsigned int key)
{
	char name[DK_NAME_MAX];

	return dkc_refuse(why, reason, dk_key_name(l, key, name));
}
