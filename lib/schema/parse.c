// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Parses schemas. A schema is one allocation, so upper limits of the numbers of arguments, types
 * and characters are computed first.
 */
#include "schema.h"

/* A type whose closing parenthesis has not been read, and the last type within it. */
struct open_type {
	struct dk_type *type;
	struct dk_type *last;
};

struct parser {
	const char *text;
	const char *at;
	bool name_only;			/* parse only the operator's name */
	struct dk_schema *s;
	struct dk_type *types;
	char *chars;			/* where the next string is written */
	u32 num_types, max_types;
	u32 num_args, max_args;
	struct dk_diag *why;
	struct open_type open[DK_SCHEMA_DEPTH];
	u8 height[DK_SCHEMA_DEPTH];	/* how deeply the types within each open type are nested */
};

/* ---- errors ------------------------------------------------------------------- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Copies the word or number at @at for a message, or the character if there is neither. */
static void word_at(const char *at, char *buf, size_t size)
{
	bool number = is_digit(at[*at == '-' || *at == '.']);
	size_t n = 0;

	while (is_letter(at[n]) || is_digit(at[n]) ||
	       (number && (at[n] == '.' || at[n] == '-')))
		n++;
	/* a character of UTF-8 has up to 4 bytes */
	if (*at && !n)
		for (n = 1; n < 4 && (at[n] & 0xc0) == 0x80;)
			n++;
	if (*at)
		dkc_strncpy(buf, at, n, size);
	else
		dkc_strcpy(buf, "the end", size);
}

/* Reports an error at the current column. Returns -EINVAL. */
static int invalid(struct parser *p, const char *what)
{
	char column[DKC_NUMBER_MAX];
	const char *const part[] = {
		"column ", dkc_number(column, (u32)(p->at - p->text) + 1), ": ", what,
	};

	return dkc_refuse_joined(p->why, DK_WHY_SCHEMA, part, ARRAY_SIZE(part));
}

/* Reports what is expected at the current column and what was found. Returns -EINVAL. */
static int expected(struct parser *p, const char *what)
{
	char text[DK_NAME_MAX], word[40];
	const char *const part[] = {
		*p->at ? "\"" : "", word, *p->at ? "\"" : "", " instead of ", what,
	};

	word_at(p->at, word, sizeof(word));
	dkc_join(text, part, ARRAY_SIZE(part));
	return invalid(p, text);
}

/* ---- words ------------------------------------------------------------------ */

static void skip_space(struct parser *p)
{
	while (is_space(*p->at))
		p->at++;
}

static bool take(struct parser *p, const char *word)
{
	size_t n = strlen(word), i;

	skip_space(p);
	for (i = 0; i < n; i++)
		if (p->at[i] != word[i])
			return false;
	p->at += n;
	return true;
}

/* Copies a string or a part of one into the memory of the schema. */
static void append(struct parser *p, const char *from, const char *to)
{
	memcpy(p->chars, from, to - from);
	p->chars += to - from;
}

/* Takes a word, such as one that joins two names, and copies it. */
static bool take_joint(struct parser *p, const char *word)
{
	if (!take(p, word))
		return false;
	append(p, p->at - strlen(word), p->at);
	return true;
}

/* Skips the rest of a name, after its first letter. */
static void skip_name(struct parser *p)
{
	while (is_letter(*p->at) || is_digit(*p->at))
		p->at++;
}

/* Words that PyTorch's lexer does not accept as names. */
static bool is_keyword(const char *word)
{
	return dkc_is_any_of(word, "and as assert break class continue def del elif else "
			     "for global if import in is not or pass raise return while "
			     "with Ellipsis False None NoneType True");
}

/* Takes a name or a part of one, and copies it. */
static int take_word(struct parser *p, const char *what)
{
	const char *from, *word = p->chars;

	skip_space(p);
	from = p->at;
	if (is_letter(*from)) {
		skip_name(p);
		append(p, from, p->at);
		*p->chars = 0;
		if (!is_keyword(word))
			return 0;
		p->at = from;
	}
	return expected(p, what);
}

static int take_name(struct parser *p, const char **name, const char *what)
{
	*name = p->chars;
	if (take_word(p, what))
		return -EINVAL;
	*p->chars++ = 0;
	return 0;
}

/* Parses names joined by dots. */
static int take_dotted(struct parser *p, const char **name)
{
	const char *from;

	*name = p->chars;
	do {
		skip_space(p);
		from = p->at;
		if (!is_letter(*from))
			return expected(p, "a type");
		skip_name(p);
		append(p, from, p->at);
	} while (take_joint(p, "."));
	*p->chars++ = 0;
	return 0;
}

static int take_size(struct parser *p, u32 *size)
{
	u32 n = 0;

	skip_space(p);
	for (; is_digit(*p->at); p->at++) {
		n = n * 10 + (*p->at - '0');
		if (n > 65535)
			return expected(p, "a size up to 65535");
	}
	*size = n;
	return 0;
}

/* ---- types ------------------------------------------------------------------ */

static struct dk_type *new_type(struct parser *p, enum dk_type_kind kind)
{
	struct dk_type *t = &p->types[p->num_types];

	/* cannot happen: allocate() has computed an upper limit */
	if (p->num_types == p->max_types)
		return NULL;
	p->num_types++;
	t->kind = kind;
	return t;
}

/* Parses alias sets joined by "|". The last one may be "*". */
static int take_sets(struct parser *p, const char **sets)
{
	*sets = p->chars;
	do {
		if (take_joint(p, "*"))
			break;
		if (take_word(p, "an alias set"))
			return -EINVAL;
	} while (take_joint(p, "|"));
	*p->chars++ = 0;
	return 0;
}

static int take_alias(struct parser *p, struct dk_type *t)
{
	int err;

	if (!take(p, "("))
		return 0;
	err = take_sets(p, &t->before);
	if (err)
		return err;
	t->write = take(p, "!");
	if (take(p, "->")) {
		err = take_sets(p, &t->after);
		if (err)
			return err;
	}
	return take(p, ")") ? 0 : expected(p, "\")\" after the alias sets");
}

static bool is_generic(const char *name)
{
	return dkc_is_any_of(name, "Dict Future RRef Await Union");
}

static bool begins(const char *s, const char *prefix)
{
	while (*prefix && *s == *prefix) {
		s++;
		prefix++;
	}
	return !*prefix;
}

/*
 * True if a type in lower case may be a type variable. In PyTorch, only its own operators have
 * them. A schema without a namespace may be that of such an operator.
 */
static bool has_variables(const struct parser *p)
{
	const char *ns = p->text, *end;

	while (is_space(*ns))
		ns++;
	for (end = ns; *end && *end != '(' && *end != ':';)
		end++;
	return *end != ':' ||
	       ((begins(ns, "aten") || begins(ns, "prim")) && (ns[4] == ':' || is_space(ns[4])));
}

/* True for PyTorch's types, and for type variables. */
static bool is_known(const struct parser *p, const char *name)
{
	unsigned int dots = 0;
	const char *s;

	for (s = name; *s; s++)
		dots += *s == '.';
	/* the class has a namespace and a name */
	if (dots)
		return dots == 4 && begins(name, "__torch__.torch.classes.");
	return (*name >= 'a' && *name <= 'z' && !is_keyword(name) && has_variables(p)) ||
	       dkc_is_any_of(name, "int float bool str complex "
			     "Tensor Generator Dimname ScalarType Layout "
			     "MemoryFormat Storage QScheme Quantizer ConstQuantizerPtr "
			     "Device DeviceIndex Stream Scalar SymInt SymFloat SymBool "
			     "None NoneType Capsule Any AnyClassType AnyEnumType");
}

/* Parses a name or "(". Sets *@opens if a list of types follows, which take_type() parses. */
static int take_base(struct parser *p, struct dk_type **t, bool *opens)
{
	const char *from;
	int err;

	*opens = take(p, "(");
	*t = new_type(p, *opens ? DK_TYPE_TUPLE : DK_TYPE_NAME);
	if (!*t)
		return invalid(p, "too many types");
	if (*opens)
		return 0;
	from = p->at;
	err = take_dotted(p, &(*t)->name);
	if (err)
		return err;
	if (is_generic((*t)->name) && take(p, "(")) {
		(*t)->kind = DK_TYPE_GENERIC;
		*opens = true;
	} else if (!is_known(p, (*t)->name)) {
		p->at = from;
		return expected(p, "a known type");
	}
	return 0;
}

/* Puts a type into a list or an optional type. */
static int wrap_type(struct parser *p, struct dk_type **t, enum dk_type_kind kind,
		     u8 *height)
{
	struct dk_type *outer = new_type(p, kind);

	if (!outer || ++*height > DK_SCHEMA_DEPTH)
		return invalid(p, "types are nested too deeply");
	outer->first = *t;
	*t = outer;
	return 0;
}

/* Parses the alias sets, "[]" and "?" that follow a type. As in PyTorch, "??" is "?". */
static int take_suffixes(struct parser *p, struct dk_type **t, u8 *height)
{
	int err = take_alias(p, *t);

	while (!err) {
		if (take(p, "?")) {
			if ((*t)->kind == DK_TYPE_OPTIONAL)
				continue;
			err = wrap_type(p, t, DK_TYPE_OPTIONAL, height);
		} else if (take(p, "[")) {
			u32 size = 0;

			err = take_size(p, &size);
			if (!err && !take(p, "]"))
				err = expected(p, "\"]\"");
			if (!err)
				err = wrap_type(p, t, DK_TYPE_LIST, height);
			if (!err)
				(*t)->size = size;
		} else {
			return 0;
		}
		if (!err)
			err = take_alias(p, *t);
	}
	return err;
}

/* True if a type in parentheses contains the right number of types. */
static bool arity_ok(const struct dk_type *t)
{
	unsigned int n = 0;
	const struct dk_type *in;

	for (in = t->first; in; in = in->next)
		n++;
	if (t->kind == DK_TYPE_TUPLE)
		return true;
	if (dkc_streq(t->name, "Dict"))
		return n == 2;
	return dkc_streq(t->name, "Union") ? n > 0 : n == 1;
}

/* Adds a complete type to the innermost open one. */
static void add_within(struct parser *p, unsigned int depth, struct dk_type *t,
		       u8 height)
{
	struct open_type *o = &p->open[depth - 1];

	if (o->last)
		o->last->next = t;
	else
		o->type->first = t;
	o->last = t;
	if (height > p->height[depth - 1])
		p->height[depth - 1] = height;
}

/*
 * Called after a complete type *@t. Adds it to the innermost open type, and closes the open types
 * that end here. Sets *@t to the outermost type if all types are closed, and to NULL if another
 * type follows.
 */
static int close_types(struct parser *p, unsigned int *depth, struct dk_type **t,
		       u8 height)
{
	int err = take_suffixes(p, t, &height);

	while (!err && *depth) {
		add_within(p, *depth, *t, height);
		*t = NULL;
		if (take(p, ","))
			return 0;
		if (!take(p, ")"))
			return expected(p, "\",\" or \")\" between types");
		*t = p->open[--*depth].type;
		height = p->height[*depth] + 1;
		if (height > DK_SCHEMA_DEPTH)
			return invalid(p, "types are nested too deeply");
		if (!arity_ok(*t))
			return invalid(p, "wrong number of types in the parentheses");
		err = take_suffixes(p, t, &height);
	}
	return err;
}

static int take_type(struct parser *p, const struct dk_type **out)
{
	unsigned int depth = 0;
	struct dk_type *t;
	bool opens;
	int err;

	do {
		err = take_base(p, &t, &opens);
		if (err)
			return err;
		if (opens && !take(p, ")")) {
			if (depth == DK_SCHEMA_DEPTH)
				return invalid(p, "types are nested too deeply");
			p->open[depth] = (struct open_type){ t, NULL };
			p->height[depth++] = 0;
			t = NULL;
			continue;
		}
		if (opens && !arity_ok(t))
			return invalid(p, "wrong number of types in the parentheses");
		err = close_types(p, &depth, &t, 1);
		if (err)
			return err;
	} while (!t);
	*out = t;
	return 0;
}

/* ---- default values --------------------------------------------------------- */

static int skip_string(struct parser *p)
{
	char quote = *p->at++;

	while (*p->at != quote) {
		if (*p->at == '\\' && p->at[1])
			p->at++;
		if ((u8)*p->at < ' ')
			return expected(p, "the end of the string");
		p->at++;
	}
	p->at++;
	return 0;
}

/* Kinds of constants. */
enum {
	IS_NONE = 1,
	IS_BOOL = 2,
	IS_STRING = 4,
	IS_INTEGER = 8,
	IS_REAL = 16,
	IS_IMAGINARY = 32,
	IS_NUMBER_NAME = 64,	/* also of other types than ScalarType */
	IS_ANY = 127,
	IS_DTYPE = 128,		/* only of the type ScalarType */
};

/*
 * Returns the kind of a word, or 0 if it is not a constant. Constants have at most 17 characters,
 * so a longer word is cut off and matches none.
 */
static unsigned int word_kind(const char *from, size_t len)
{
	char word[18];

	dkc_strncpy(word, from, len, sizeof(word));
	if (dkc_streq(word, "None"))
		return IS_NONE;
	if (dkc_is_any_of(word, "True False"))
		return IS_BOOL;
	if (dkc_is_any_of(word, "float complex long strided Mean contiguous_format"))
		return IS_NUMBER_NAME;
	return dkc_is_any_of(word, "uint8 uint16 uint32 uint64 uint1 uint2 uint3 uint4 uint5 uint6 "
			     "uint7 int8 int16 short int32 int int64 int1 int2 int3 int4 int5 int6 "
			     "int7 float16 half float32 float64 double bfloat16 float8_e5m2 "
			     "float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz float8_e8m0fnu "
			     "float4_e2m1fn_x2 bool complex32 chalf complex64 cfloat complex128 "
			     "cdouble qint8 quint8 qint32 quint4x2 quint2x4 bits1x8 bits2x4 "
			     "bits4x2 bits8 bits16") ? IS_DTYPE : 0;
}

static const char *skip_digits(const char *s)
{
	while (is_digit(*s))
		s++;
	return s;
}

/* Returns the kind of a number such as -1, .5, 1e-05 or 2j, or 0 if it is not a number. */
static unsigned int skip_number(struct parser *p)
{
	const char *s = p->at + (*p->at == '-');
	unsigned int kind = IS_INTEGER;

	if (!is_digit(s[*s == '.']))
		return 0;
	s = skip_digits(s);
	if (*s == '.') {
		kind = IS_REAL;
		s = skip_digits(s + 1);
	}
	if ((*s | ' ') == 'e') {
		kind = IS_REAL;
		s += 1 + (s[1] == '-' || s[1] == '+');
		if (!is_digit(*s))
			return 0;
		s = skip_digits(s);
	}
	if (*s == 'j') {
		kind = IS_IMAGINARY;
		s++;
	}
	/* as in 1a or 1.5.5 */
	if (is_letter(*s) || is_digit(*s) || *s == '.')
		return 0;
	p->at = s;
	return kind;
}

/* Parses and copies a number, a word or a string that is of one of @kinds. */
static int take_constant(struct parser *p, unsigned int kinds, const char *what)
{
	const char *from;
	unsigned int kind;
	int err;

	skip_space(p);
	from = p->at;
	if (*from == '"' || *from == '\'') {
		err = skip_string(p);
		if (err)
			return err;
		kind = IS_STRING;
	} else if (is_letter(*from)) {
		skip_name(p);
		kind = word_kind(from, p->at - from);
	} else {
		kind = skip_number(p);
	}
	if (kind & kinds) {
		append(p, from, p->at);
		return 0;
	}
	p->at = from;
	return expected(p, what);
}

static bool is_integer_type(const char *name)
{
	return dkc_is_any_of(name, "int SymInt ScalarType Layout MemoryFormat DeviceIndex "
			     "ConstQuantizerPtr");
}

/* True if a list of this type can have a default value. */
static bool is_list_type(const struct dk_type *t)
{
	return t->kind == DK_TYPE_NAME &&
	       (is_integer_type(t->name) || dkc_is_any_of(t->name, "float bool complex"));
}

/* Returns IS_DTYPE if the names of element types are constants of a type, or 0. */
static unsigned int dtypes_of(const struct dk_type *t)
{
	return t->kind == DK_TYPE_NAME && dkc_streq(t->name, "ScalarType") ? IS_DTYPE : 0;
}

/* Names of numbers are constants only in brackets. */
static int take_element(struct parser *p, const struct dk_type *t, bool in_brackets)
{
	unsigned int words = in_brackets ? IS_NUMBER_NAME | dtypes_of(t) : 0;
	const char *type = t->name;

	if (is_integer_type(type))
		return take_constant(p, IS_INTEGER | words, "an integer");
	if (dkc_streq(type, "float"))
		return take_constant(p, IS_INTEGER | IS_REAL, "a number");
	if (dkc_streq(type, "bool"))
		return take_constant(p, IS_BOOL, "True or False");
	return take_constant(p, IS_IMAGINARY, "an imaginary number");
}

static int take_list(struct parser *p, const struct dk_type *t)
{
	static const char separator[2] = { ',', ' ' };
	int err;

	if (!is_list_type(t->first))
		return invalid(p, "a list of this type cannot have a default value");
	if (!take_joint(p, "["))
		return t->size ? take_element(p, t->first, false) : expected(p, "\"[\"");
	if (take_joint(p, "]"))
		return 0;
	for (;;) {
		err = take_element(p, t->first, true);
		if (err)
			return err;
		if (!take(p, ","))
			break;
		append(p, separator, separator + sizeof(separator));
	}
	return take_joint(p, "]") ? 0 : expected(p, "\",\" or \"]\" in a list");
}

/*
 * Parses a default value. Like PyTorch, accepts any constant, except in lists and where None or a
 * string is required.
 */
static int take_default(struct parser *p, const struct dk_type *t)
{
	if (t->kind == DK_TYPE_LIST)
		return take_list(p, t);
	if (t->kind == DK_TYPE_OPTIONAL)
		return take_constant(p, IS_ANY | dtypes_of(t->first), "a value");
	if (t->kind != DK_TYPE_NAME)
		return invalid(p, "this type cannot have a default value");
	if (dkc_is_any_of(t->name, "Tensor Generator Quantizer"))
		return take_constant(p, IS_NONE, "None");
	if (dkc_streq(t->name, "Device"))
		return take_constant(p, IS_STRING, "a string");
	if (is_integer_type(t->name) ||
	    dkc_is_any_of(t->name, "float bool str complex Scalar SymFloat SymBool "
			  "Dimname"))
		return take_constant(p, IS_ANY | dtypes_of(t), "a value");
	return invalid(p, "this type cannot have a default value");
}

/* ---- arguments -------------------------------------------------------------- */

static struct dk_schema_arg *new_arg(struct parser *p)
{
	struct dk_schema_arg *arg = &p->s->args[p->num_args];

	if (p->num_args == p->max_args)
		return NULL;
	p->num_args++;
	arg->name = "";
	return arg;
}

/*
 * If an argument has a default value, checks that every later argument has one, too. As in PyTorch,
 * keyword-only arguments and lists are exempt.
 */
static int check_default(struct parser *p, const struct dk_schema_arg *arg,
			 bool *seen)
{
	if (arg->value)
		*seen = true;
	else if (*seen && !arg->keyword_only && arg->type->kind != DK_TYPE_LIST)
		return expected(p, "a default value, because an earlier argument has one");
	return 0;
}

static int take_arg(struct parser *p, bool keyword_only, bool *seen_default)
{
	struct dk_schema_arg *arg = new_arg(p);
	int err;

	if (!arg)
		return invalid(p, "too many arguments");
	arg->keyword_only = keyword_only;
	err = take_type(p, &arg->type);
	if (!err)
		err = take_name(p, &arg->name, "the argument's name");
	if (!err && take(p, "=")) {
		arg->value = p->chars;
		err = take_default(p, arg->type);
		*p->chars++ = 0;
	}
	return err ? err : check_default(p, arg, seen_default);
}

static int take_args(struct parser *p)
{
	bool keyword_only = false, seen_default = false, star = false;
	int err;

	if (!take(p, "("))
		return expected(p, "\"(\"");
	if (take(p, ")"))
		return 0;
	do {
		if (take(p, "...")) {
			p->s->flags |= DK_SCHEMA_VARARG;
			if (seen_default)
				return invalid(p,
					       "a schema with \"...\" cannot have default values");
			break;
		}
		star = !keyword_only && take(p, "*");
		if (star) {
			keyword_only = true;
			continue;
		}
		err = take_arg(p, keyword_only, &seen_default);
		if (err)
			return err;
	} while (take(p, ","));
	if (star)
		return expected(p, "an argument after the \"*\"");
	return take(p, ")") ? 0 : expected(p, "\",\" or \")\"");
}

static int take_return(struct parser *p)
{
	struct dk_schema_arg *arg;
	int err;

	if (take(p, "...")) {
		p->s->flags |= DK_SCHEMA_VARRET;
		return 0;
	}
	arg = new_arg(p);
	if (!arg)
		return invalid(p, "too many returns");
	err = take_type(p, &arg->type);
	skip_space(p);
	if (!err && is_letter(*p->at))
		err = take_name(p, &arg->name, "a name");
	return err;
}

static int take_returns(struct parser *p)
{
	int err;

	if (!take(p, "->"))
		return expected(p, "\"->\"");
	if (!take(p, "("))
		return take_return(p);
	if (take(p, ")"))
		return 0;
	do {
		err = take_return(p);
		if (err)
			return err;
	} while (!(p->s->flags & DK_SCHEMA_VARRET) && take(p, ","));
	return take(p, ")") ? 0 : expected(p, "\",\" or \")\"");
}

/* ---- schemas ------------------------------------------------------------------ */

static int take_overload(struct parser *p)
{
	const char *from;
	int err;

	skip_space(p);
	from = p->at;
	err = take_name(p, &p->s->overload, "the overload's name");
	if (!err && (dkc_streq(p->s->overload, "default") ||
		     (p->s->overload[0] == '_' && p->s->overload[1] == '_'))) {
		p->at = from;
		err = invalid(p, "an overload must not be named \"default\" or begin with \"__\"");
	}
	return err;
}

/* Parses the name of the operator. An inferred schema has no name. */
static int take_op_name(struct parser *p)
{
	const char *overload, *name = p->chars;
	bool after_ns = p->at > p->text;

	skip_space(p);
	if (*p->at == '(')
		return 0;
	if (take_word(p, "the operator's name") ||
	    (!after_ns && take_joint(p, "::") && take_word(p, "the operator's name")))
		return -EINVAL;
	*p->chars++ = 0;
	p->s->name = name;
	if (take(p, ".") && take_overload(p))
		return -EINVAL;
	overload = p->s->overload;
	if (strlen(name) + (*overload ? 1 + strlen(overload) : 0) >= DK_NAME_MAX)
		return dkc_refuse(p->why, DK_WHY_BAD_NAME, p->s->name);
	return 0;
}

static int take_schema(struct parser *p)
{
	int err = take_op_name(p);

	if (!err && !p->name_only) {
		err = take_args(p);
		p->s->num_args = p->num_args;
		if (!err)
			err = take_returns(p);
		p->s->num_returns = p->num_args - p->s->num_args;
	}
	skip_space(p);
	return err || !*p->at ? err :
	       expected(p, p->name_only ? "the end of the name" : "the end");
}

/*
 * Computes upper limits from the characters of the text, and allocates the schema. Each argument or
 * return, except the first, follows a comma. Each type belongs to an argument or return, follows a
 * comma or a parenthesis, or is made by "(", "[" or "?". Each string is a part of the text,
 * followed by a NUL, and has at most one more space for each comma in it.
 */
static int allocate(struct parser *p)
{
	size_t len = 0, args_size, types_size;
	char *block;

	p->max_args = 2;
	p->max_types = 2;
	for (; p->text[len] && len <= DK_SCHEMA_MAX; len++) {
		char c = p->text[len];

		p->max_args += c == ',';
		p->max_types += (c == ',' || c == '[' || c == '?') + 2 * (c == '(');
	}
	if (len > DK_SCHEMA_MAX) {
		p->at = p->text + len - 1;
		return invalid(p, "the schema is too long");
	}
	args_size = p->max_args * sizeof(struct dk_schema_arg);
	types_size = p->max_types * sizeof(struct dk_type);
	block = kvzalloc(sizeof(*p->s) + args_size + types_size + 2 * len + 2, GFP_KERNEL);
	if (!block)
		return dkc_refuse(p->why, DK_WHY_NO_MEMORY, NULL);
	p->s = (void *)block;
	p->s->name = "";
	p->s->overload = "";
	p->s->args = (void *)(block + sizeof(*p->s));
	p->types = (void *)(block + sizeof(*p->s) + args_size);
	p->chars = block + sizeof(*p->s) + args_size + types_size;
	return 0;
}

int dkc_schema_parse(const char *text, const char *from, bool name_only,
		     struct dk_schema **s, struct dk_diag *why)
{
	struct parser p = { .text = text, .at = from, .name_only = name_only, .why = why };
	int err;

	*s = NULL;
	if (!text)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "text");
	err = allocate(&p);
	if (err)
		return err;
	err = take_schema(&p);
	if (err) {
		kvfree(p.s);
		return err;
	}
	dkc_accept(why);
	*s = p.s;
	return 0;
}

int dk_schema_parse(const char *text, struct dk_schema **s, struct dk_diag *why)
{
	return dkc_schema_parse(text, text, false, s, why);
}

void dk_schema_free(struct dk_schema *s)
{
	kvfree(s);
}
