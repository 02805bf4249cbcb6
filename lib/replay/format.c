// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Formats the steps of a call. */
#include "format.h"

#include "internal.h"

/* Widths of the label, of the key, and of the rule. */
#define WHAT		13
#define KEY		39
#define RULE		9
/* Printed for values that only a newer module has. */
#define UNKNOWN		"unknown to this version"

static void put(struct dk_format *t, const char *s)
{
	t->ops->put(t, s, dk_replay_len(s));
}

static void put_blanks(struct dk_format *t, size_t n)
{
	while (n--)
		t->ops->put(t, " ", 1);
}

/* Puts @s, padded to @width columns. */
static void put_column(struct dk_format *t, const char *s, size_t width)
{
	size_t len = dk_replay_len(s);

	put(t, s);
	put_blanks(t, len < width ? width - len : 0);
}

static size_t hex_digits(u64 bits)
{
	size_t n = 1;

	while (bits >>= 4)
		n++;
	return n;
}

static void put_dec(struct dk_format *t, unsigned int n)
{
	char digits[10];
	unsigned int at = sizeof(digits);

	do {
		digits[--at] = '0' + n % 10;
		n /= 10;
	} while (n);
	t->ops->put(t, digits + at, sizeof(digits) - at);
}

static void put_hex(struct dk_format *t, u64 bits)
{
	size_t n = hex_digits(bits);

	put(t, "0x");
	while (n--)
		t->ops->put(t, &"0123456789abcdef"[bits >> 4 * n & 15], 1);
}

static const char *key_name(struct dk_format *t, unsigned int key, char buf[DK_NAME_MAX])
{
	return t->ops->key_name(t, key, buf);
}

static void put_key(struct dk_format *t, unsigned int key)
{
	char name[DK_NAME_MAX];

	put(t, key_name(t, key, name));
}

/* Prints -1 if a trimmed table lacks the entry. */
static void put_index(struct dk_format *t, struct dk_keyset ks)
{
	int index = dk_table_index(t->layout, ks);

	if (index < 0)
		put(t, "-");
	put_dec(t, (unsigned int)(index < 0 ? -index : index));
}

/* ---- sets ------------------------------------------------------------------- */

/* The position in a list of names separated by commas, in lines of at most t->columns. */
struct names {
	size_t indent;
	size_t column;
};

static void put_name(struct dk_format *t, struct names *n, const char *name)
{
	size_t len = dk_replay_len(name);

	if (n->column > n->indent && n->column + 2 + len >= t->columns) {
		put(t, ",\n");
		put_blanks(t, n->indent);
		n->column = n->indent;
	} else if (n->column > n->indent) {
		put(t, ", ");
		n->column += 2;
	}
	put(t, name);
	n->column += len;
}

/*
 * Puts building blocks if the set has no backend, and backends if it has no building block. PyTorch
 * prints neither.
 */
static void put_halves(struct dk_format *t, struct names *n, struct dk_keyset ks)
{
	unsigned int nb = dk_layout_backends(t->layout), i;
	char name[DK_NAME_MAX];
	bool alone = true;

	for (i = 1; i < dk_layout_functionalities(t->layout); i++) {
		if (!(ks.bits >> (nb + i - 1) & 1) || !dk_is_per_backend(t->layout, i))
			continue;
		alone = false;
		if (!(ks.bits & ((1ULL << nb) - 1)))
			put_name(t, n, key_name(t, i, name));
	}
	for (i = 1; alone && i <= nb; i++) {
		if (ks.bits >> (i - 1) & 1)
			put_name(t, n, t->ops->bit_name(t, i, name));
	}
}

static void put_names(struct dk_format *t, struct dk_keyset ks, size_t indent)
{
	struct names n = { indent, indent };
	char name[DK_NAME_MAX];
	unsigned int slot = 0;

	while ((slot = dk_keyset_next(t->layout, ks, slot)))
		put_name(t, &n, key_name(t, dk_slot_key(t->layout, slot), name));
	put_halves(t, &n, ks);
	if (n.column == indent)
		put(t, "nothing");
}

/* Returns the width of the set with the most digits. */
static size_t set_width(const struct dk_explain *ex)
{
	return 2 + hex_digits(ex->route.raw.bits | ex->included.bits | ex->excluded.bits);
}

/* Puts @what, and the bits in hex, aligned to the right. The caller then puts their names. */
static void put_bits(struct dk_format *t, const char *what, u64 bits)
{
	size_t width = set_width(t->explain), len = 2 + hex_digits(bits);

	put_column(t, what, WHAT);
	put_blanks(t, len < width ? width - len : 0);
	put_hex(t, bits);
	put(t, "  ");
}

static void put_set(struct dk_format *t, const char *what, struct dk_keyset ks)
{
	put_bits(t, what, ks.bits);
	put_names(t, ks, WHAT + set_width(t->explain) + 2);
	put(t, "\n");
}

/* ---- registrations ------------------------------------------------------------ */

static void put_label(struct dk_format *t, const struct dk_step *s)
{
	put(t, s->label);
	if (s->device) {
		put(t, "@");
		put(t, s->device_name);
	}
}

static void put_impl(struct dk_format *t, const struct dk_step *s)
{
	put_label(t, s);
	if (s->is_fallthrough && !dk_replay_eq(s->label, "fallthrough"))
		put(t, " (fallthrough)");
}

static void put_label_at(struct dk_format *t, const struct dk_step *s)
{
	put_label(t, s);
	put(t, " at ");
	put_key(t, s->impl_key);
}

/* Puts a line that ends with the effect of a registration on the call. */
static void put_bearing(struct dk_format *t, const struct dk_step *s)
{
	static const char *const words[] = {
		[DK_BEARING_NONE] = "not used",
		[DK_BEARING_OVERRIDDEN] = "overridden",
		[DK_BEARING_SERVES] = "used",
		[DK_BEARING_DECIDES] = "not used, but decides the route",
		[DK_BEARING_SET] = "not used, but changes the set",
		[DK_BEARING_OFFLINE] = "offline",
	};
	char name[DK_NAME_MAX];

	put_blanks(t, RULE);
	put_column(t, key_name(t, s->impl_key, name), KEY);
	put_impl(t, s);
	put(t, s->is_fallback ? ", the backend fallback: " : ": ");
	put(t, s->bearing < ARRAY_SIZE(words) ? words[s->bearing] : UNKNOWN);
	put(t, "\n");
}

/* ---- steps ---------------------------------------------------------------------- */

static void put_mask(struct dk_format *t, const struct dk_step *s)
{
	unsigned int f = dk_key_functionality(t->layout, s->key);

	put_bits(t, "- mask", 1ULL << (dk_layout_backends(t->layout) + f - 1));
	put_key(t, s->key);
	put(t, " falls through: ");
	if (s->is_fallback)
		put(t, "the backend fallback");
	else
		put_label_at(t, s);
	put(t, ", rule ");
	put_dec(t, s->rule);
	put(t, "\n");
}

static void put_outside(struct dk_format *t, const char *entry)
{
	put(t, "no: does not include ");
	put(t, entry);
}

static void put_verdict(struct dk_format *t, const struct dk_step *s, const char *entry)
{
	switch (s->verdict) {
	case DK_VERDICT_SERVES:
		put(t, s->is_fallthrough ? "no function: " : "serves: ");
		put_impl(t, s);
		put(t, " [");
		put(t, dk_provenance_name(t->explain->route.entry.provenance));
		put(t, "]");
		break;
	case DK_VERDICT_AMBIGUOUS:
		put(t, "ambiguous: a backend of AutogradOther also has a function");
		break;
	case DK_VERDICT_MISSING:
		put(t, "missing: no rule has a function");
		break;
	case DK_VERDICT_NO_IMPL:
		put(t, s->rule == 10 ? "no: no usable backend fallback is registered" :
				       "no: nothing is registered");
		break;
	case DK_VERDICT_NO_ALIAS:
		put(t, "no: this layout lacks the alias key");
		break;
	case DK_VERDICT_OUTSIDE:
		put_outside(t, entry);
		break;
	case DK_VERDICT_BARS:
		put(t, "barred by ");
		put_label_at(t, s);
		break;
	case DK_VERDICT_BARS_NOT:
		put(t, "not barred");
		break;
	case DK_VERDICT_BARRED:
		put(t, "no: ");
		put_impl(t, s);
		put(t, " is registered, but barred by rule 4");
		break;
	case DK_VERDICT_NO_ENTRY:
		if (s->has_impl) {
			put(t, "no: the table has no entry for ");
			put_impl(t, s);
			break;
		}
		put(t, "missing: the trimmed table has no such entry");
		break;
	case DK_VERDICT_HAS_ENTRY:
		put(t, "no: the table has this entry");
		break;
	default:
		put(t, UNKNOWN);
	}
}

static void put_rule(struct dk_format *t, const struct dk_step *s, const char *entry)
{
	char name[DK_NAME_MAX];

	if (s->verdict == DK_VERDICT_NOT_EVALUATED)
		return;
	put(t, s->rule < 10 ? "rule  " : "rule ");
	put_dec(t, s->rule);
	put(t, "  ");
	put_column(t, s->verdict == DK_VERDICT_NO_ALIAS || s->verdict == DK_VERDICT_MISSING ?
		   "-" : key_name(t, s->key, name), KEY);
	put_verdict(t, s, entry);
	put(t, "\n");
}

/* ---- the explanation -------------------------------------------------------------- */

static void put_device(struct dk_format *t, const char *where,
		       const struct dk_format_object *obj)
{
	if (!obj->device)
		return;
	put(t, where);
	put(t, obj->device_name);
	if (obj->is_offline)
		put(t, ", which is offline");
}

/* Puts the set and the device of each object. */
static void put_objects(struct dk_format *t)
{
	struct dk_format_object obj;
	unsigned int i;

	for (i = 0; i < t->num_objects; i++) {
		t->ops->object(t, i, &obj);
		put_bits(t, i ? "| object" : "object", obj.ks.bits);
		put_names(t, obj.ks, WHAT + set_width(t->explain) + 2);
		put_device(t, " on ", &obj);
		put(t, "\n");
	}
}

static bool is_one_without_device(struct dk_format *t)
{
	struct dk_format_object obj;

	if (t->num_objects == 1)
		t->ops->object(t, 0, &obj);
	return t->num_objects == 1 && !obj.device;
}

/* Puts the bits of the merged set that the layout does not have. Calls ignore them. */
static void put_beyond(struct dk_format *t)
{
	u64 beyond = t->explain->merged.bits & ~dk_layout_full(t->layout).bits;

	if (!beyond)
		return;
	put_bits(t, "- mask", beyond);
	put(t, "bits that the layout does not have\n");
}

void dk_format_begin(struct dk_format *t)
{
	const struct dk_explain *ex = t->explain;

	t->kind = DK_STEP_MASK;
	if (t->num_objects && !is_one_without_device(t))
		put_objects(t);
	put_set(t, t->num_objects > 1 ? "= arguments" : "arguments", ex->route.raw);
	put_set(t, "+ included", ex->included);
	put_set(t, "- excluded", ex->excluded);
	put_set(t, "= merged", ex->merged);
	put_beyond(t);
}

/* Returns the key that the effective set selects, even if a trimmed table lacks its entry. */
static unsigned int entry_key(struct dk_format *t)
{
	const struct dk_explain *ex = t->explain;

	if (dk_table_index(t->layout, ex->route.effective) < 0)
		return dk_keyset_key(t->layout, ex->route.effective);
	return dk_slot_key(t->layout, ex->route.slot);
}

/* Puts the effective set, the entry that it selects, and the device. */
static void put_entry(struct dk_format *t)
{
	const struct dk_explain *ex = t->explain;
	unsigned int key = entry_key(t), i;
	unsigned int b = dk_key_backend(t->layout, key);
	struct dk_format_object obj;
	char name[DK_NAME_MAX];

	put_set(t, "= effective", ex->route.effective);
	put_column(t, "top key", WHAT);
	put_key(t, dk_keyset_key(t->layout, ex->route.effective));
	put(t, "\n");
	put_column(t, "table entry", WHAT);
	put_index(t, ex->route.effective);
	put(t, ": ");
	put_key(t, dk_key_functionality(t->layout, key));
	if (b) {
		put(t, " on ");
		put(t, t->ops->backend_name(t, b, name));
	}
	for (i = 0; ex->device && i < t->num_objects; i++) {
		t->ops->object(t, i, &obj);
		if (obj.device == ex->device) {
			put_device(t, ", for ", &obj);
			break;
		}
	}
	put(t, "\n");
}

void dk_format_step(struct dk_format *t, const struct dk_step *s)
{
	char name[DK_NAME_MAX];

	if (t->kind == DK_STEP_MASK && s->kind != DK_STEP_MASK)
		put_entry(t);
	if (t->kind != DK_STEP_IMPL && s->kind == DK_STEP_IMPL)
		put(t, "registered at\n");
	t->kind = s->kind;
	if (s->kind == DK_STEP_MASK)
		put_mask(t, s);
	else if (s->kind == DK_STEP_RULE)
		put_rule(t, s, key_name(t, entry_key(t), name));
	else
		put_bearing(t, s);
}
