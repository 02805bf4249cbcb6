// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Runs the commands for layouts, keys and keysets. */
#include "internal.h"

static int answer_set(struct dk_replay *r, struct dk_keyset ks)
{
	dk_replay_put_hex(r, ks.bits);
	dk_replay_put(r, "\n");
	return 0;
}

static int answer_key(struct dk_replay *r, unsigned int key)
{
	dk_replay_put_key(r, key);
	dk_replay_put(r, "\n");
	return 0;
}

static int answer_bool(struct dk_replay *r, bool yes)
{
	dk_replay_put(r, yes ? "true\n" : "false\n");
	return 0;
}

void dk_replay_put_index(struct dk_replay *r, struct dk_keyset ks)
{
	int index = dk_table_index(r->layout, ks);

	if (index < 0)
		dk_replay_put(r, "-1");
	else
		dk_replay_put_dec(r, index);
}

/* Fails if the layout does not define @what. */
static int need(struct dk_replay *r, unsigned int what)
{
	if (dk_layout_knows(r->layout) & what)
		return 0;
	return dk_replay_reason(r, -EOPNOTSUPP, DK_WHY_NO_SETS,
				dk_layout_name(r->layout));
}

DK_REPLAY_RUN(layout_info)
{
	const struct dk_layout *l = r->layout;
	unsigned int nb = dk_layout_backends(l), nf = dk_layout_functionalities(l);
	unsigned int i;

	(void)w;
	dk_replay_put(r, "backends=");
	dk_replay_put_dec(r, nb);
	dk_replay_put(r, " functionalities=");
	dk_replay_put_dec(r, nf);
	dk_replay_put(r, " entries=");
	dk_replay_put_dec(r, dk_table_size(l));
	dk_replay_put(r, " full=");
	answer_set(r, dk_layout_full(l));
	for (i = 1; i <= nb; i++) {
		dk_replay_put(r, "backend ");
		dk_replay_put_dec(r, i);
		dk_replay_put(r, " bit=");
		dk_replay_put_dec(r, i - 1);
		dk_replay_put(r, " ");
		dk_replay_put(r, dk_backend_bit_name(l, i));
		dk_replay_put(r, "\n");
	}
	for (i = 0; i < nf; i++) {
		dk_replay_put(r, "functionality ");
		dk_replay_put_dec(r, i);
		dk_replay_put(r, " bit=");
		if (i)
			dk_replay_put_dec(r, nb + i - 1);
		else
			dk_replay_put(r, "-1");
		dk_replay_put(r, " per-backend=");
		dk_replay_put_dec(r, dk_is_per_backend(l, i) ? 1 : 0);
		dk_replay_put(r, " offset=");
		dk_replay_put_index(r, dk_key_set(l, i));
		dk_replay_put(r, " ");
		answer_key(r, i);
	}
	return 0;
}

DK_REPLAY_RUN(key)
{
	const struct dk_layout *l = r->layout;
	unsigned int key;
	int err = dk_replay_key(r, w->arg[0], &key);

	if (err)
		return err;
	dk_replay_put(r, "value=");
	dk_replay_put_dec(r, key);
	dk_replay_put(r, " set=");
	dk_replay_put_hex(r, dk_key_set(l, key).bits);
	dk_replay_put(r, " index=");
	dk_replay_put_index(r, dk_key_set(l, key));
	dk_replay_put(r, " functionality=");
	dk_replay_put_key(r, dk_key_functionality(l, key));
	dk_replay_put(r, " backend=");
	dk_replay_put(r, dk_backend_bit_name(l, dk_key_backend(l, key)));
	dk_replay_put(r, "\n");
	return 0;
}

DK_REPLAY_RUN(alias)
{
	const struct dk_layout *l = r->layout;
	unsigned int alias, slot, key, n = dk_layout_entries(l);
	int err = dk_replay_key(r, w->arg[0], &alias);

	if (!err && dk_key_kind(l, alias) == DK_KIND_ALIAS)
		err = need(r, DK_KNOWS_SETS);
	if (err)
		return err;
	dk_replay_put_hex(r, dk_alias_set(l, alias).bits);
	for (slot = 1; slot < n; slot++) {
		key = dk_slot_key(l, slot);
		if (!dk_alias_has(l, alias, key))
			continue;
		dk_replay_put(r, " ");
		dk_replay_put_key(r, key);
	}
	dk_replay_put(r, "\n");
	return 0;
}

DK_REPLAY_RUN(backends_of_autograd)
{
	unsigned int key;
	int err = dk_replay_key(r, w->arg[0], &key);

	if (!err)
		err = need(r, DK_KNOWS_SETS);
	return err ? err : answer_set(r, dk_backends_of_autograd(r->layout, key));
}

DK_REPLAY_RUN(autograd_of_backend)
{
	unsigned int b;
	int err = dk_replay_bit(r, w->arg[0], &b);

	if (!err)
		err = need(r, DK_KNOWS_SETS);
	return err ? err : answer_set(r, dk_autograd_of_backend(r->layout, b));
}

DK_REPLAY_RUN(autocast_of_backend)
{
	unsigned int b;
	int err = dk_replay_bit(r, w->arg[0], &b);

	if (!err)
		err = need(r, DK_KNOWS_SETS);
	return err ? err : answer_set(r, dk_autocast_of_backend(r->layout, b));
}

DK_REPLAY_RUN(full_after)
{
	unsigned int key;
	int err = dk_replay_key(r, w->arg[0], &key);

	return err ? err : answer_set(r, dk_keyset_after(r->layout, key));
}

DK_REPLAY_RUN(constant)
{
	struct dk_keyset ks;
	int err = dk_constant_set(r->layout, w->arg[0], &ks, &r->why);

	return err ? err : answer_set(r, ks);
}

DK_REPLAY_RUN(fresh)
{
	unsigned int key;
	int err = dk_replay_key(r, w->arg[0], &key);

	if (!err)
		err = need(r, DK_KNOWS_SETS);
	return err ? err : answer_set(r, dk_fresh_set(r->layout,
						      dk_key_set(r->layout, key),
						      dk_replay_option(w, 'i')));
}

DK_REPLAY_RUN(keyset)
{
	const struct dk_layout *l = r->layout;
	struct dk_keyset ks;
	int err = dk_replay_set(r, w->arg[0], &ks);

	if (err)
		return err;
	dk_replay_put_hex(r, ks.bits);
	dk_replay_put(r, " top=");
	dk_replay_put_key(r, dk_keyset_key(l, ks));
	dk_replay_put(r, " functionality=");
	dk_replay_put_key(r, dk_keyset_functionality(l, ks));
	dk_replay_put(r, " backend=");
	dk_replay_put(r, dk_backend_bit_name(l, dk_keyset_backend(l, ks)));
	dk_replay_put(r, " index=");
	dk_replay_put_index(r, ks);
	dk_replay_put(r, " ");
	dk_replay_put_printed(r, ks);
	dk_replay_put(r, "\n");
	return 0;
}

static int two_sets(struct dk_replay *r, struct dk_replay_words *w,
		    struct dk_keyset *a, struct dk_keyset *b)
{
	int err = dk_replay_set(r, w->arg[0], a);

	return err ? err : dk_replay_set(r, w->arg[1], b);
}

static int set_and_key(struct dk_replay *r, struct dk_replay_words *w,
		       struct dk_keyset *a, unsigned int *key)
{
	int err = dk_replay_set(r, w->arg[0], a);

	return err ? err : dk_replay_key(r, w->arg[1], key);
}

DK_REPLAY_RUN(or)
{
	struct dk_keyset a, b;
	int err = two_sets(r, w, &a, &b);

	return err ? err : answer_set(r, dk_keyset_or(a, b));
}

DK_REPLAY_RUN(and)
{
	struct dk_keyset a, b;
	int err = two_sets(r, w, &a, &b);

	return err ? err : answer_set(r, dk_keyset_and(a, b));
}

DK_REPLAY_RUN(sub)
{
	struct dk_keyset a, b;
	int err = two_sets(r, w, &a, &b);

	return err ? err : answer_set(r, dk_keyset_sub(r->layout, a, b));
}

DK_REPLAY_RUN(xor)
{
	struct dk_keyset a, b;
	int err = two_sets(r, w, &a, &b);

	return err ? err : answer_set(r, dk_keyset_xor(a, b));
}

DK_REPLAY_RUN(remove)
{
	struct dk_keyset a;
	unsigned int key;
	int err = set_and_key(r, w, &a, &key);

	return err ? err : answer_set(r, dk_keyset_remove(r->layout, a, key));
}

DK_REPLAY_RUN(remove_backend)
{
	struct dk_keyset a;
	unsigned int b;
	int err = dk_replay_set(r, w->arg[0], &a);

	if (!err)
		err = dk_replay_bit(r, w->arg[1], &b);
	return err ? err : answer_set(r, dk_keyset_remove_backend(r->layout, a, b));
}

DK_REPLAY_RUN(has)
{
	struct dk_keyset a;
	unsigned int key;
	int err = set_and_key(r, w, &a, &key);

	return err ? err :
		     answer_bool(r, dk_keyset_has_all(a, dk_key_set(r->layout, key)));
}

DK_REPLAY_RUN(has_any)
{
	struct dk_keyset a, b;
	int err = two_sets(r, w, &a, &b);

	return err ? err : answer_bool(r, dk_keyset_has_any(a, b));
}

DK_REPLAY_RUN(has_all)
{
	struct dk_keyset a, b;
	int err = two_sets(r, w, &a, &b);

	return err ? err : answer_bool(r, dk_keyset_has_all(a, b));
}

DK_REPLAY_RUN(is_backend_key)
{
	unsigned int key;
	int err = dk_replay_key(r, w->arg[0], &key);

	if (!err)
		err = need(r, DK_KNOWS_SETS);
	return err ? err : answer_bool(r, dk_is_backend_key(r->layout, key));
}

DK_REPLAY_RUN(parse)
{
	unsigned int key;
	int err;

	if (!dk_replay_option(w, 's'))
		err = dk_replay_key(r, w->arg[0], &key);
	else if (r->reg)
		err = dk_registry_key_parse_strict(r->reg, w->arg[0], &key, &r->why);
	else
		err = dk_key_parse(r->layout, w->arg[0], DK_PARSE_STRICT, &key,
				   &r->why);
	return err ? err : answer_key(r, key);
}

DK_REPLAY_RUN(legacy_extract)
{
	struct dk_keyset ks;
	int err = dk_replay_set(r, w->arg[0], &ks);

	if (!err)
		err = need(r, DK_KNOWS_LEGACY);
	return err ? err : answer_key(r, dk_legacy_extract(r->layout, ks));
}

DK_REPLAY_RUN(backend_type)
{
	struct dk_keyset ks, known;
	int err = dk_replay_set(r, w->arg[0], &ks);

	if (!err)
		err = dk_constant_set(r->layout, "backend_functionality_keys", &known, &r->why);
	return err ? err : answer_key(r, dk_backend_type(r->layout, ks));
}
