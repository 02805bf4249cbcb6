// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The steps of a call, in words: what route -v and call -v show. */
#include "internal.h"

#define COLUMNS		100
/* Columns of what a set is, of the longest set, and of a rule and its key. */
#define WHAT		13
#define KEY		39
#define RULE		9

static void put_blanks(struct dk_replay *r, size_t n)
{
	while (n--)
		dk_replay_text_add(&r->answer, " ", 1);
}

/* @s in @width columns. */
static void put_column(struct dk_replay *r, const char *s, size_t width)
{
	size_t len = dk_replay_len(s);

	dk_replay_put(r, s);
	put_blanks(r, len < width ? width - len : 0);
}

static size_t digits(u64 bits)
{
	size_t n = 1;

	while (bits >>= 4)
		n++;
	return n;
}

/* ---- sets ------------------------------------------------------------------- */

/* Names in lines that fit, with commas between them. */
struct names {
	size_t indent;
	size_t column;
};

static void put_name(struct dk_replay *r, struct names *n, const char *name)
{
	size_t len = dk_replay_len(name);

	if (n->column > n->indent && n->column + 2 + len >= COLUMNS) {
		dk_replay_put(r, ",\n");
		put_blanks(r, n->indent);
		n->column = n->indent;
	} else if (n->column > n->indent) {
		dk_replay_put(r, ", ");
		n->column += 2;
	}
	dk_replay_put(r, name);
	n->column += len;
}

/* What PyTorch's printing leaves out: half of what makes a runtime key. */
static void put_halves(struct dk_replay *r, struct names *n, struct dk_keyset ks)
{
	unsigned int nb = dk_layout_backends(r->layout), i;
	char name[DK_NAME_MAX];
	bool alone = true;

	for (i = 1; i < dk_layout_functionalities(r->layout); i++) {
		if (!(ks.bits >> (nb + i - 1) & 1) || !dk_is_per_backend(r->layout, i))
			continue;
		alone = false;
		if (!(ks.bits & ((1ULL << nb) - 1)))
			put_name(r, n, dk_key_name(r->layout, i, name));
	}
	for (i = 1; alone && i <= nb; i++) {
		if (ks.bits >> (i - 1) & 1)
			put_name(r, n, dk_backend_bit_name(r->layout, i));
	}
}

static void put_names(struct dk_replay *r, struct dk_keyset ks, size_t indent)
{
	struct names n = { indent, indent };
	char name[DK_NAME_MAX];
	unsigned int slot = 0;

	while ((slot = dk_keyset_next(r->layout, ks, slot)))
		put_name(r, &n, dk_key_name(r->layout, dk_slot_key(r->layout, slot), name));
	put_halves(r, &n, ks);
	if (n.column == indent)
		dk_replay_put(r, "nothing");
}

/* As wide as the widest set of this call. */
static size_t set_width(const struct dk_explain *ex)
{
	return 2 + digits(ex->route.raw.bits | ex->included.bits | ex->excluded.bits);
}

/* What it is, and the bits, flush right; names come behind. */
static void put_bits(struct dk_replay *r, const char *what, u64 bits)
{
	size_t width = set_width(&r->explain), len = 2 + digits(bits);

	put_column(r, what, WHAT);
	put_blanks(r, len < width ? width - len : 0);
	dk_replay_put_hex(r, bits);
	dk_replay_put(r, "  ");
}

static void put_set(struct dk_replay *r, const char *what, struct dk_keyset ks)
{
	put_bits(r, what, ks.bits);
	put_names(r, ks, WHAT + set_width(&r->explain) + 2);
	dk_replay_put(r, "\n");
}

/* ---- registrations ------------------------------------------------------------ */

static void put_label(struct dk_replay *r)
{
	dk_replay_put(r, r->step.label);
	if (r->step.device) {
		dk_replay_put(r, "@");
		dk_replay_put(r, r->step.device_name);
	}
}

static void put_impl(struct dk_replay *r)
{
	put_label(r);
	if (r->step.is_fallthrough && !dk_replay_eq(r->step.label, "fallthrough"))
		dk_replay_put(r, " (fallthrough)");
}

static void put_label_at(struct dk_replay *r)
{
	put_label(r);
	dk_replay_put(r, " at ");
	dk_replay_put_key(r, r->step.impl_key);
}

static const struct dk_replay_device *device_of(struct dk_replay *r, __u32 number)
{
	const struct dk_replay_device *d = number ? r->devices : NULL;

	while (d && d->number != number)
		d = d->next;
	return d;
}

/* What it has to do with the call. */
static void put_bearing(struct dk_replay *r)
{
	static const char *const words[] = {
		[DK_BEARING_NONE] = "has no bearing",
		[DK_BEARING_OVERRIDDEN] = "is overridden",
		[DK_BEARING_SERVES] = "serves",
		[DK_BEARING_DECIDES] = "decides: the answer depends on it",
		[DK_BEARING_SET] = "changes the set, and not who serves",
		[DK_BEARING_OFFLINE] = "is offline",
	};
	char name[DK_NAME_MAX];

	put_blanks(r, RULE);
	put_column(r, dk_key_name(r->layout, r->step.impl_key, name), KEY);
	put_impl(r);
	dk_replay_put(r, r->step.is_fallback ? ", the backend fallback, " : " ");
	dk_replay_put(r, words[r->step.bearing]);
	dk_replay_put(r, "\n");
}

/* ---- steps ---------------------------------------------------------------------- */

static void put_mask(struct dk_replay *r)
{
	const struct dk_step *s = &r->step;
	unsigned int f = dk_key_functionality(r->layout, s->key);

	put_bits(r, "- mask", 1ULL << (dk_layout_backends(r->layout) + f - 1));
	dk_replay_put_key(r, s->key);
	dk_replay_put(r, " falls through: ");
	if (s->is_fallback)
		dk_replay_put(r, "the backend fallback");
	else
		put_label_at(r);
	dk_replay_put(r, ", rule ");
	dk_replay_put_dec(r, s->rule);
	dk_replay_put(r, "\n");
}

static void put_not_for(struct dk_replay *r, const char *entry)
{
	dk_replay_put(r, "no: does not stand for ");
	dk_replay_put(r, entry);
}

static void put_verdict(struct dk_replay *r, const char *entry)
{
	switch (r->step.verdict) {
	case DK_VERDICT_SERVES:
		dk_replay_put(r, "serves: ");
		put_impl(r);
		dk_replay_put(r, " [");
		dk_replay_put(r, dk_provenance_name(r->explain.route.entry.provenance));
		dk_replay_put(r, "]");
		break;
	case DK_VERDICT_AMBIGUOUS:
		dk_replay_put(r, "ambiguous: a backend of AutogradOther has one, too");
		break;
	case DK_VERDICT_MISSING:
		dk_replay_put(r, "nothing serves: missing");
		break;
	case DK_VERDICT_NO_IMPL:
		dk_replay_put(r, r->step.rule == 10 ? "no: there is no backend fallback" :
						      "no: nothing is registered there");
		break;
	case DK_VERDICT_NO_ALIAS:
		dk_replay_put(r, "no: this layout has not its alias key");
		break;
	case DK_VERDICT_OUTSIDE:
		put_not_for(r, entry);
		break;
	case DK_VERDICT_BARS:
		dk_replay_put(r, "barred by ");
		put_label_at(r);
		break;
	case DK_VERDICT_BARS_NOT:
		dk_replay_put(r, "not barred");
		break;
	case DK_VERDICT_BARRED:
		dk_replay_put(r, "no: ");
		put_impl(r);
		dk_replay_put(r, " is there, and barred by rule 4");
		break;
	case DK_VERDICT_NO_ENTRY:
		if (r->step.has_impl) {
			dk_replay_put(r, "no: without an entry there is no place for ");
			put_impl(r);
			break;
		}
		dk_replay_put(r, "nothing serves: the trimmed table has no such entry");
		break;
	default:
		dk_replay_put(r, "no: only for tables without this entry");
	}
}

static void put_rule(struct dk_replay *r, const char *entry)
{
	const struct dk_step *s = &r->step;
	char name[DK_NAME_MAX];

	if (s->verdict == DK_VERDICT_NOT_ASKED)
		return;
	dk_replay_put(r, s->rule < 10 ? "rule  " : "rule ");
	dk_replay_put_dec(r, s->rule);
	dk_replay_put(r, "  ");
	put_column(r, s->verdict == DK_VERDICT_NO_ALIAS || s->verdict == DK_VERDICT_MISSING ?
		   "-" : dk_key_name(r->layout, s->key, name), KEY);
	put_verdict(r, entry);
	dk_replay_put(r, "\n");
}

/* ---- the whole -------------------------------------------------------------------- */

static void put_device(struct dk_replay *r, const char *where, __u32 number)
{
	const struct dk_replay_device *d = device_of(r, number);

	if (!d)
		return;
	dk_replay_put(r, where);
	dk_replay_put(r, d->name);
	if (d->offline || !dk_backend_is_online(r->reg, d->backend))
		dk_replay_put(r, ", which is offline");
}

/* What each of several objects brings. */
static void put_objects(struct dk_replay *r, const struct dk_obj *const *objs,
			unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		put_bits(r, i ? "| object" : "object", objs[i]->ks.bits);
		put_names(r, objs[i]->ks, WHAT + set_width(&r->explain) + 2);
		put_device(r, " on ", objs[i]->device);
		dk_replay_put(r, "\n");
	}
}

/* What the set was before the mask, and how it came to that. */
static void put_before_mask(struct dk_replay *r, const struct dk_obj *const *objs,
			    unsigned int n)
{
	const struct dk_explain *ex = &r->explain;

	if (n > 1 || (n && objs[0]->device))
		put_objects(r, objs, n);
	put_set(r, n > 1 ? "= arguments" : "arguments", ex->route.raw);
	put_set(r, "+ included", ex->included);
	put_set(r, "- excluded", ex->excluded);
	put_set(r, "= merged", ex->merged);
}

/* The key of the entry that the set leads to, if there is an entry or not. */
static unsigned int entry_key(struct dk_replay *r)
{
	const struct dk_explain *ex = &r->explain;

	if (dk_table_index(r->layout, ex->route.effective) < 0)
		return dk_keyset_key(r->layout, ex->route.effective);
	return dk_slot_key(r->layout, ex->route.slot);
}

/* The entry that the set leads to, and the device. */
static void put_entry(struct dk_replay *r)
{
	const struct dk_explain *ex = &r->explain;
	unsigned int key = entry_key(r);
	unsigned int b = dk_key_backend(r->layout, key);
	char name[DK_NAME_MAX];

	put_set(r, "= effective", ex->route.effective);
	put_column(r, "top key", WHAT);
	dk_replay_put_key(r, dk_keyset_key(r->layout, ex->route.effective));
	dk_replay_put(r, "\n");
	put_column(r, "table entry", WHAT);
	dk_replay_put_index(r, ex->route.effective);
	dk_replay_put(r, ": ");
	dk_replay_put_key(r, dk_key_functionality(r->layout, key));
	if (b) {
		dk_replay_put(r, " on ");
		dk_replay_put(r, dk_backend_name(r->reg, b, name));
	}
	put_device(r, ", for ", ex->device);
	dk_replay_put(r, "\n");
}

int dk_replay_put_steps(struct dk_replay *r, struct dk_op *op,
			const struct dk_obj *const *objs, unsigned int n)
{
	const struct dk_explain *ex = &r->explain;
	int err, kind = DK_STEP_MASK;
	char entry[DK_NAME_MAX];
	unsigned int i;

	r->step.size = sizeof(r->step);
	dk_key_name(r->layout, entry_key(r), entry);
	put_before_mask(r, objs, n);
	for (i = 0; !(err = dk_explain_step(op, ex, i, &r->step)); i++) {
		if (kind == DK_STEP_MASK && r->step.kind != kind)
			put_entry(r);
		if (kind != DK_STEP_IMPL && r->step.kind == DK_STEP_IMPL)
			dk_replay_put(r, "registered at\n");
		kind = r->step.kind;
		if (kind == DK_STEP_MASK)
			put_mask(r);
		else if (kind == DK_STEP_RULE)
			put_rule(r, entry);
		else
			put_bearing(r);
	}
	return err == -ENOENT ? 0 : err;
}
