// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The steps of a call, in words: what route -v and call -v show. */
#include "internal.h"

static void put_set(struct dk_replay *r, const char *what, struct dk_keyset ks)
{
	dk_replay_put(r, what);
	dk_replay_put_hex(r, ks.bits);
	dk_replay_put(r, " ");
	dk_replay_put_printed(r, ks);
	dk_replay_put(r, "\n");
}

/* The function that a step is about. */
static void put_impl(struct dk_replay *r)
{
	const struct dk_step *s = &r->step;

	dk_replay_put(r, s->label);
	if (s->device) {
		dk_replay_put(r, "@");
		dk_replay_put(r, s->device_name);
	}
	if (s->is_fallthrough && !dk_replay_eq(s->label, "fallthrough"))
		dk_replay_put(r, " (fallthrough)");
}

static void put_registered_at(struct dk_replay *r)
{
	put_impl(r);
	if (r->step.is_fallback) {
		dk_replay_put(r, ", the backend fallback");
		return;
	}
	dk_replay_put(r, " at ");
	dk_replay_put_key(r, r->step.impl_key);
}

static void put_mask(struct dk_replay *r)
{
	dk_replay_put(r, "taken out: ");
	dk_replay_put_key(r, r->step.key);
	dk_replay_put(r, ", a fallthrough, rule ");
	dk_replay_put_dec(r, r->step.rule);
	dk_replay_put(r, ": ");
	put_registered_at(r);
	dk_replay_put(r, "\n");
}

/* @before KEY @behind */
static void put_about_key(struct dk_replay *r, const char *before, const char *behind)
{
	dk_replay_put(r, before);
	dk_replay_put_key(r, r->step.key);
	dk_replay_put(r, behind);
}

static void put_serves(struct dk_replay *r)
{
	dk_replay_put(r, "serves: ");
	put_registered_at(r);
}

static void put_verdict(struct dk_replay *r, const char *entry)
{
	switch (r->step.verdict) {
	case DK_VERDICT_SERVES:
		put_serves(r);
		break;
	case DK_VERDICT_AMBIGUOUS:
		put_about_key(r, "ambiguous: ", " has a function, and so has a backend of AutogradOther");
		break;
	case DK_VERDICT_MISSING:
		dk_replay_put(r, "nothing serves");
		break;
	case DK_VERDICT_NO_IMPL:
		if (r->step.rule == 10)
			put_about_key(r, "no: there is no backend fallback at ", "");
		else
			put_about_key(r, "no: nothing is registered at ", "");
		break;
	case DK_VERDICT_NO_ALIAS:
		dk_replay_put(r, "no: this layout has not its alias key");
		break;
	case DK_VERDICT_OUTSIDE:
		put_about_key(r, "no: ", " does not stand for ");
		dk_replay_put(r, entry);
		break;
	case DK_VERDICT_BARS:
		put_registered_at(r);
		put_about_key(r, " bars ", "");
		break;
	case DK_VERDICT_BARS_NOT:
		put_about_key(r, "nothing bars ", "");
		break;
	case DK_VERDICT_BARRED:
		dk_replay_put(r, "no: rule 4 bars ");
		put_registered_at(r);
		break;
	case DK_VERDICT_NO_ENTRY:
		if (r->step.has_impl) {
			dk_replay_put(r, "no: without an entry there is no place for ");
			put_registered_at(r);
			break;
		}
		dk_replay_put(r, "nothing serves: the table has no entry at ");
		dk_replay_put(r, entry);
		break;
	default:
		dk_replay_put(r, "no: for builds that have no entry at ");
		dk_replay_put(r, entry);
	}
}

static void put_rule(struct dk_replay *r, const char *entry)
{
	const struct dk_step *s = &r->step;

	if (s->verdict == DK_VERDICT_NOT_ASKED)
		return;
	dk_replay_put(r, s->rule < 10 ? "rule  " : "rule ");
	dk_replay_put_dec(r, s->rule);
	dk_replay_put(r, ": ");
	put_verdict(r, entry);
	if (s->verdict == DK_VERDICT_SERVES || s->verdict == DK_VERDICT_AMBIGUOUS) {
		dk_replay_put(r, " [");
		dk_replay_put(r, dk_provenance_name(r->explain.route.entry.provenance));
		dk_replay_put(r, "]");
	}
	dk_replay_put(r, "\n");
}

static void put_bearing(struct dk_replay *r)
{
	static const char *const words[] = {
		[DK_BEARING_NONE] = "has no bearing",
		[DK_BEARING_OVERRIDDEN] = "is overridden",
		[DK_BEARING_SERVES] = "serves",
		[DK_BEARING_DECIDES] = "decides: without it the answer would be another",
		[DK_BEARING_SET] = "changes the set, and not who serves",
	};

	dk_replay_put(r, "registered: ");
	put_registered_at(r);
	dk_replay_put(r, r->step.is_fallback ? ", " : " ");
	dk_replay_put(r, words[r->step.bearing]);
	dk_replay_put(r, "\n");
}

/* What the set was before the mask, and how it came to that. */
static void put_before_mask(struct dk_replay *r)
{
	const struct dk_explain *ex = &r->explain;

	put_set(r, "arguments: ", ex->route.raw);
	put_set(r, "included: ", ex->included);
	put_set(r, "excluded: ", ex->excluded);
	put_set(r, "after local state: ", ex->merged);
}

/* What the set is behind it, and the entry and the device that it leads to. */
static void put_behind_mask(struct dk_replay *r, const char *entry)
{
	const struct dk_explain *ex = &r->explain;

	put_set(r, "effective: ", ex->route.effective);
	dk_replay_put(r, "key: ");
	dk_replay_put(r, entry);
	dk_replay_put(r, ", entry ");
	dk_replay_put_index(r, ex->route.effective);
	dk_replay_put(r, "\ndevice: ");
	if (ex->device)
		dk_replay_put_hex(r, ex->device);
	else
		dk_replay_put(r, "none");
	dk_replay_put(r, "\n");
}

int dk_replay_put_steps(struct dk_replay *r, struct dk_op *op)
{
	const struct dk_explain *ex = &r->explain;
	unsigned int i, key = dk_slot_key(r->layout, ex->route.slot);
	bool masked = false;
	char entry[DK_NAME_MAX];
	int err;

	r->step.size = sizeof(r->step);
	if (dk_table_index(r->layout, ex->route.effective) < 0)
		key = dk_keyset_key(r->layout, ex->route.effective);
	dk_key_name(r->layout, key, entry);
	put_before_mask(r);
	for (i = 0; !(err = dk_explain_step(op, ex, i, &r->step)); i++) {
		if (r->step.kind == DK_STEP_MASK) {
			put_mask(r);
			continue;
		}
		if (!masked)
			put_behind_mask(r, entry);
		masked = true;
		if (r->step.kind == DK_STEP_RULE)
			put_rule(r, entry);
		else
			put_bearing(r);
	}
	return err == -ENOENT ? 0 : err;
}
