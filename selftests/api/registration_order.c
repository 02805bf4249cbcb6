// SPDX-License-Identifier: GPL-2.0-only
/*
 * The order of registration and removal does not matter. The state of a registry depends only on
 * two things: the set of registrations and, for each key, which of its registrations is the newest.
 *
 * The items below are registrations. For every set of up to t_most items, each item of the set is
 * removed and registered again. After each step, everything that the API returns is compared with
 * the result of the rules for the set. The oldest item is removed first and becomes the newest one,
 * so the registry's lists are in many different orders. Before the next set, the newest item is
 * removed.
 *
 * This file is longer than other suites, because the rules, the checks of the registry's state
 * and the walk share one table of items.
 */
#include "test.h"

enum kind {
	FUNCTION,		/* of the operator, at a key */
	FALLBACK,
	DEVICE_ONLINE,		/* of a device that is always registered */
	DEVICE,			/* a device that is registered and unregistered */
	UNDEFINITION,		/* the operator's definition is removed */
};

/* An item is registered and unregistered as a whole, with up to two functions. */
struct item {
	u8 kind;
	u8 device;		/* 1 or 2, 0 for none */
	struct {
		u16 key;
		bool is_fallthrough;
	} at[2];
};

#define ONE(kind, key, pass)	{ kind, 0, { { key, pass }, { 0, false } } }
#define AT(key)			ONE(FUNCTION, key, false)
#define PASS_AT(key)		ONE(FUNCTION, key, true)

static const struct item items[] = {
	/*
	 * aliases; DK_UNDEFINED is the catch-all key, and its functions are at
	 * CompositeImplicitAutograd
	 */
	AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD),
	AT(DK_UNDEFINED),
	AT(DK_COMPOSITE_EXPLICIT_AUTOGRAD),
	AT(DK_COMPOSITE_EXPLICIT_AUTOGRAD_NON_FUNCTIONAL),
	AT(DK_COMPOSITE_IMPLICIT_AUTOGRAD_NESTED_TENSOR),
	AT(DK_AUTOGRAD),
	AT(DK_FUNCTORCH_BATCHED_DECOMPOSITION),
	/* building blocks */
	AT(DK_DENSE),
	AT(DK_QUANTIZED),
	AT(DK_SPARSE),
	AT(DK_SPARSE_CSR),
	AT(DK_NESTED_TENSOR),
	AT(DK_AUTOGRAD_FUNCTIONALITY),
	/* runtime keys of every kind; of the two items at DK_CPU, the newer overrides the older */
	AT(DK_CPU),
	PASS_AT(DK_CPU),
	AT(DK_SPARSE_CPU),
	AT(DK_FPGA),
	AT(DK_NESTED_TENSOR_CPU),
	AT(DK_AUTOGRAD_CPU),
	PASS_AT(DK_AUTOGRAD_OTHER),
	/* fallbacks at runtime keys, and at all keys of an alias */
	ONE(FALLBACK, DK_TRACER, false),
	ONE(FALLBACK, DK_FUNCTORCH_BATCHED, true),
	ONE(FALLBACK, DK_AUTOGRAD, true),
	ONE(FALLBACK, DK_COMPOSITE_EXPLICIT_AUTOGRAD, false),
	/* devices of backend CPU */
	{ DEVICE_ONLINE, 1, { { DK_DENSE, false }, { DK_NESTED_TENSOR, true } } },
	{ DEVICE, 2, { { DK_SPARSE, false },
		       { DK_AUTOGRAD_FUNCTIONALITY, true } } },
	ONE(UNDEFINITION, 0, false),
};

#define N		ARRAY_SIZE(items)
#define TABLES		3	/* without a device, of device 1, of device 2 */

/* A registration: number R is function R % 2 of item R / 2. */
#define REGS		(2 * N)
#define ITEM_OF(r)	((r) / 2)
#define REG_BIT(r)	(1ULL << (r))

/*
 * A table entry, and for each rule the set of registrations by which the rule can fill the entry.
 */
struct rules {
	struct dk_keyset ks;
	u8 functionality, backend;	/* 0 if all backends share the functionality */
	bool there;		/* false for most keys in a trimmed table */
	u64 direct, nonfunctional, explicit, nested, implicit, autograd, batched;
	u64 fallback;
	u64 no_math;		/* with any of these, CompositeImplicitAutograd does not serve */
	u64 ambiguous;		/* with any of these, CompositeImplicitAutograd is ambiguous */
};

/* The expected content of an entry. */
struct want {
	int reg;		/* or NO_REG */
	unsigned int rule;
};

#define NO_REG		-1

static const struct dk_layout *l;
static struct rules rules[DK_NUM_ENTRIES];
static u64 of_device[TABLES], fallthroughs, fallbacks;
static struct want want[TABLES][DK_NUM_ENTRIES];
static unsigned int num_regs_of[N];

static struct dk_provider definer, provider;
static struct dk_op_decl decl;
static struct dk_op *op;
static u32 number[TABLES];
static struct dk_impl device_impls[TABLES][2];

/* The active registrations, oldest first. */
static unsigned int active[N], num_active;
static u64 regs;
static unsigned int age[N], now;

/* Withdrawn functions are not reused before the provider is drained. */
static struct slot {
	struct dk_impl impl;
	enum { FREE, ACTIVE, WITHDRAWN } state;
} pool[512], *slot_of[N];
static unsigned int pool_at;

static unsigned long steps, sets;

/* ---- the rules of SEMANTICS 7.2, for sets of registrations ----------------- */

static u16 key_of(unsigned int r)
{
	const struct item *item = &items[ITEM_OF(r)];
	u16 key = item->at[r % 2].key;

	if (item->kind == FUNCTION && !key)
		return DK_COMPOSITE_IMPLICIT_AUTOGRAD;
	/* a device's function is at the key of the device's backend */
	return item->device ? dk_runtime_key(l, key, DK_BACKEND_CPU) : key;
}

static bool lies_in(u16 key, struct dk_keyset set)
{
	struct dk_keyset q = dk_key_set(l, key);

	return q.bits && dk_keyset_has_all(set, q);
}

/* Adds registration @r to the sets of @e, the entry of @key. */
static void add_rules(struct rules *e, unsigned int key, unsigned int r)
{
	const u64 bit = REG_BIT(r);
	const u16 at = key_of(r);
	struct dk_keyset others;

	if (items[ITEM_OF(r)].kind == FALLBACK) {
		if (key && e->there && dk_keyset_has_all(dk_alias_set(l, at), dk_key_set(l, key)))
			e->fallback |= bit;
		return;
	}
	CHECK_OK(dk_constant_set(l, "autogradother_backends", &others, NULL));
	if (key && at == key)
		e->direct |= bit;
	if (key == DK_AUTOGRAD_OTHER && lies_in(at, others))
		e->ambiguous |= bit;
	if (lies_in(at, dk_backends_of_autograd(l, key)) ||
	    at == DK_COMPOSITE_EXPLICIT_AUTOGRAD)
		e->no_math |= bit;
	switch (at) {
	case DK_COMPOSITE_EXPLICIT_AUTOGRAD_NON_FUNCTIONAL:
		e->nonfunctional |= !key || dk_alias_has(l, at, key) ? bit : 0;
		break;
	case DK_COMPOSITE_EXPLICIT_AUTOGRAD:
		e->explicit |= !key || dk_alias_has(l, at, key) ? bit : 0;
		break;
	case DK_COMPOSITE_IMPLICIT_AUTOGRAD_NESTED_TENSOR:
		e->nested |= key && dk_alias_has(l, at, key) ? bit : 0;
		break;
	case DK_COMPOSITE_IMPLICIT_AUTOGRAD:
		e->implicit |= !key || dk_alias_has(l, at, key) ? bit : 0;
		break;
	case DK_AUTOGRAD:
		e->autograd |= key && dk_alias_has(l, at, key) ? bit : 0;
		break;
	case DK_FUNCTORCH_BATCHED_DECOMPOSITION:
		e->batched |= key && dk_alias_has(l, at, key) ? bit : 0;
		break;
	}
}

/* Returns whether a trimmed table has an entry for the key: SEMANTICS 1.8. */
static bool in_trimmed(unsigned int key)
{
	static const u16 keys[] = {
		DK_UNDEFINED, DK_CPU, DK_QUANTIZED_CPU, DK_SPARSE_CPU,
		DK_BACKEND_SELECT, DK_ADINPLACE_OR_VIEW, DK_AUTOGRAD_OTHER,
		DK_AUTOGRAD_CPU,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i] == key)
			return true;
	return false;
}

static void learn_rules(bool trimmed)
{
	unsigned int i, slot, r;

	memset(rules, 0, sizeof(rules));
	memset(of_device, 0, sizeof(of_device));
	fallthroughs = 0;
	fallbacks = 0;
	for (i = 0; i < N; i++)
		num_regs_of[i] = items[i].kind == UNDEFINITION ? 0 :
				 items[i].device ? 2 : 1;
	for (slot = 0; slot < DK_NUM_ENTRIES; slot++)
		rules[slot].there = !trimmed || in_trimmed(dk_slot_key(l, slot));
	for (r = 0; r < REGS; r++) {
		if (r % 2 >= num_regs_of[ITEM_OF(r)])
			continue;
		of_device[items[ITEM_OF(r)].device] |= REG_BIT(r);
		if (items[ITEM_OF(r)].at[r % 2].is_fallthrough)
			fallthroughs |= REG_BIT(r);
		if (items[ITEM_OF(r)].kind == FALLBACK)
			fallbacks |= REG_BIT(r);
		for (slot = 0; slot < DK_NUM_ENTRIES; slot++)
			add_rules(&rules[slot], dk_slot_key(l, slot), r);
	}
	for (slot = 0; slot < DK_NUM_ENTRIES; slot++) {
		rules[slot].ks = dk_key_set(l, dk_slot_key(l, slot));
		rules[slot].functionality = dk_keyset_functionality(l, rules[slot].ks);
		rules[slot].backend = dk_keyset_backend(l, rules[slot].ks);
	}
}

/* Returns the newest registration of a set. Those of devices come before all others. */
static int newest(u64 set)
{
	int best = NO_REG;
	unsigned int r;

	for (; set; set &= set - 1) {
		r = __builtin_ctzll(set);
		if (best == NO_REG ||
		    items[ITEM_OF(r)].device > items[ITEM_OF(best)].device ||
		    (items[ITEM_OF(r)].device == items[ITEM_OF(best)].device &&
		     age[ITEM_OF(r)] > age[ITEM_OF(best)]))
			best = r;
	}
	return best;
}

/* Returns what serves entry @e if the registrations @have are active. */
static struct want choose(const struct rules *e, u64 have)
{
	if (have & e->direct)
		return (struct want){ newest(have & e->direct), DK_PROV_KERNEL };
	if (have & e->nonfunctional)
		return (struct want){ newest(have & e->nonfunctional),
				      DK_PROV_DEFAULT_BACKEND };
	if (have & e->explicit)
		return (struct want){ newest(have & e->explicit),
				      DK_PROV_DEFAULT_BACKEND };
	if (have & e->nested)
		return (struct want){ newest(have & e->nested), DK_PROV_NESTED };
	if ((have & e->implicit) && (have & e->ambiguous))
		return (struct want){ NO_REG, DK_PROV_AMBIGUOUS };
	if ((have & e->implicit) && !(have & e->no_math))
		return (struct want){ newest(have & e->implicit), DK_PROV_MATH };
	if (have & e->autograd)
		return (struct want){ newest(have & e->autograd), DK_PROV_AUTOGRAD };
	if (have & e->batched)
		return (struct want){ newest(have & e->batched), DK_PROV_BATCHED };
	if (have & e->fallback)
		return (struct want){ newest(have & e->fallback), DK_PROV_FALLBACK };
	return (struct want){ NO_REG, e->there ? DK_PROV_MISSING : DK_PROV_NO_ENTRY };
}

static void choose_all(void)
{
	unsigned int t, slot;

	for (t = 0; t < TABLES; t++)
		for (slot = 0; slot < DK_NUM_ENTRIES; slot++)
			want[t][slot] = choose(&rules[slot],
					       regs & (of_device[0] | of_device[t]));
}

static bool falls_through(const struct want *w)
{
	return w->reg != NO_REG && (fallthroughs & REG_BIT(w->reg));
}

/*
 * Returns whether the entry falls through, so that its functionality is removed from a call's
 * keyset. An entry that is not in the table removes nothing.
 */
static bool masks(unsigned int t, unsigned int slot)
{
	return rules[slot].there && falls_through(&want[t][slot]);
}

/* ---- the state of the registry --------------------------------------------- */

static bool has_device(unsigned int t)
{
	return t && (regs & of_device[t]);
}

static bool is_defined(void)
{
	unsigned int i;

	for (i = 0; i < num_active; i++)
		if (items[active[i]].kind == UNDEFINITION)
			return false;
	return true;
}

/* Checks an entry of a table. */
static bool entry_right(unsigned int t, unsigned int slot)
{
	const struct want *w = &want[t][slot];
	struct dk_entry e = { .size = sizeof(e) };

	return CHECK_OK(dk_op_entry(op, t ? number[t] : 0, slot, &e)) &&
	       CHECK_INT(e.provenance, w->rule) &&
	       CHECK_STR(e.label, w->reg == NO_REG ? "" : t_labels[ITEM_OF(w->reg)]) &&
	       CHECK_INT(e.is_fallthrough, falls_through(w)) &&
	       CHECK_INT(e.device, w->reg != NO_REG && items[ITEM_OF(w->reg)].device ?
				   number[t] : 0);
}

/* Checks a call with an object of the entry's key, on device @t, or on no device if @t is 0. */
static bool call_right(unsigned int t, unsigned int slot)
{
	struct dk_obj x = { rules[slot].ks, number[t], 0 };
	const struct want *w = &want[t][slot];
	bool there = rules[slot].there;
	int answer;

	/* the call's only functionality is removed, so the call uses entry 0 */
	if (masks(t, slot))
		w = &want[t][0];
	if (!is_defined())
		answer = -ENOENT;
	else if (there && w->rule == DK_PROV_AMBIGUOUS)
		answer = -ENOTUNIQ;
	else if (!there || w->reg == NO_REG)
		answer = t && !has_device(t) ? -ENODEV : -ENOSYS;
	else
		answer = ITEM_OF(w->reg);
	return CHECK_INT(t_call(op, &x, NULL), answer);
}

/*
 * Checks a call at a given key, which can be an alias or a building block. The newest function at
 * the key serves it or, if there is none, the fallback of the key's entry: SEMANTICS 8.3.
 */
static bool key_right(unsigned int t, unsigned int key, u64 fallback)
{
	const u64 have = regs & (of_device[0] | of_device[t]);
	struct dk_obj x = { dk_key_set(l, key), number[t], 0 };
	struct dk_local local = t_no_local();
	int served_by = -1, r = NO_REG, err;
	u64 here = 0, left;

	for (left = have & ~fallbacks; left; left &= left - 1)
		if (key_of(__builtin_ctzll(left)) == key)
			here |= left & -left;
	r = newest(here ? here : have & fallback);
	err = t_op_for_key(op, &local, key, &x, NULL, &served_by);
	if (!is_defined())
		return CHECK_INT(err, -ENOENT);
	if (r == NO_REG || (fallthroughs & REG_BIT(r)))
		return CHECK_INT(err, t && !has_device(t) ? -ENODEV : -ENOSYS);
	return CHECK_OK(err) && CHECK_INT(served_by, ITEM_OF(r));
}

/*
 * Checks a call at the key of entry @slot. If item number @slot is at an alias or a building block,
 * also checks a call at that key.
 */
static bool keys_right(unsigned int t, unsigned int slot)
{
	const unsigned int key = slot < N ? items[slot].at[0].key : 0;
	const enum dk_key_kind kind = dk_key_kind(l, key);

	if (slot && !key_right(t, dk_slot_key(l, slot), rules[slot].fallback))
		return false;
	if (t || (kind != DK_KIND_ALIAS && kind != DK_KIND_BUILDING_BLOCK))
		return true;
	/* a building block uses the entry of its first backend */
	return key_right(0, key, kind == DK_KIND_ALIAS ? 0 :
			 rules[dk_key_slot(l, dk_runtime_key(l, key, 1))].fallback);
}

/*
 * Checks which functionalities are left when those that fall through for a backend are removed from
 * a full set.
 */
static bool mask_right(unsigned int t, unsigned int backend)
{
	struct dk_obj x = { DK_KEYSET(DK_FULL & ~DK_BACKEND_MASK), number[t], 0 };
	unsigned int slot;
	u64 left;

	x.ks.bits |= DK_BACKEND_BIT(backend);
	left = x.ks.bits;
	for (slot = 1; slot < DK_NUM_ENTRIES; slot++)
		if (masks(t, slot) &&
		    (!rules[slot].backend || rules[slot].backend == backend))
			left &= ~DK_FUNCTIONALITY_BIT(rules[slot].functionality);
	t_route(op, &x, NULL);
	return CHECK_INT(t_answer.effective.bits, left);
}

/*
 * Returns whether registration @a is listed before @b. The list is ordered by key. Registrations of
 * devices are last at their key. Otherwise the newest registration is first.
 */
static bool before(unsigned int a, unsigned int b)
{
	const unsigned int i = ITEM_OF(a), j = ITEM_OF(b);

	if (key_of(a) != key_of(b))
		return key_of(a) < key_of(b);
	if (items[i].device != items[j].device)
		return items[i].device < items[j].device;
	return age[i] > age[j];
}

static int first_of(u64 set)
{
	int first = NO_REG;

	for (; set; set &= set - 1)
		if (first == NO_REG || before(__builtin_ctzll(set), first))
			first = __builtin_ctzll(set);
	return first;
}

/* Also checks whether @info reports the newest function at the key as active. */
static bool listed_right(const struct dk_impl_info *info, int r, int last)
{
	const struct item *item = &items[ITEM_OF(r)];
	bool is_active = last == NO_REG || key_of(last) != key_of(r) ||
			 items[ITEM_OF(last)].device != item->device;

	return CHECK_INT(info->key, key_of(r)) &&
	       CHECK_STR(info->label, t_labels[ITEM_OF(r)]) &&
	       CHECK_INT(info->is_fallthrough, item->at[r % 2].is_fallthrough) &&
	       CHECK_INT(info->is_active, is_active) &&
	       CHECK_INT(info->device, item->device ? number[item->device] : 0);
}

static bool list_right(void)
{
	struct dk_impl_info info = { .size = sizeof(info) };
	u64 left = regs & ~fallbacks;
	int r, last = NO_REG;
	unsigned int i;

	for (i = 0; !dk_op_impl(op, i, &info); i++) {
		/* functions of an offline device are listed, but serve nothing */
		if (info.device == number[1] && !has_device(1))
			continue;
		r = first_of(left);
		if (!CHECK(r != NO_REG) || !listed_right(&info, r, last))
			return false;
		left &= ~REG_BIT(r);
		last = r;
	}
	return CHECK_INT(left, 0);
}

static void note_position(void)
{
	char name[DK_NAME_MAX];
	unsigned int i;

	t_note("after %lu steps; active, from the oldest:", steps);
	for (i = 0; i < num_active; i++)
		t_note("item %u, %s", active[i],
		       dk_key_name(l, items[active[i]].at[0].key, name));
}

/*
 * Checks everything that can be read. Calls every entry with an object. If @all, also reads every
 * entry with its rule, and makes a call at its key. Otherwise does this for every eighth entry
 * only. @all is true when a set is reached for the first time.
 */
static bool right(bool all)
{
	static unsigned int turn;
	unsigned int t, slot, step = all ? 1 : 8;
	bool ok = true;

	steps++;
	turn++;
	choose_all();
	for (t = 0; ok && t < TABLES; t++) {
		for (slot = 0; ok && slot < DK_NUM_ENTRIES; slot++)
			if (!t || rules[slot].backend == DK_BACKEND_CPU)
				ok = call_right(t, slot);
		for (slot = turn % step; ok && slot < DK_NUM_ENTRIES; slot += step) {
			if (!t || t == 1 || has_device(t))
				ok = entry_right(t, slot);
			if (ok && (!t || rules[slot].backend == DK_BACKEND_CPU))
				ok = keys_right(t, slot);
		}
		ok = ok && mask_right(t, DK_BACKEND_CPU);
	}
	ok = ok && mask_right(0, turn % DK_NUM_BACKENDS + 1) && list_right() &&
	     CHECK_OK(dk_registry_check(t_reg, &t_why));
	if (!ok)
		note_position();
	t_pause();
	return ok;
}

/* ---- adding and removing items --------------------------------------------- */

/* Called by the functions of fallbacks. Stores the number of the item in *served_by. */
static int store_item(void *args, unsigned int key)
{
	unsigned int i = 0;

	while (items[i].kind != FALLBACK || items[i].at[0].key != key)
		i++;
	*((struct t_op_args *)args)->served_by = i;
	return 0;
}

static int tracer_fallback(struct dk_call *c, void *args)
{
	return store_item(args, DK_TRACER);
}

static int explicit_fallback(struct dk_call *c, void *args)
{
	return store_item(args, DK_COMPOSITE_EXPLICIT_AUTOGRAD);
}

static struct slot *take_slot(void)
{
	unsigned int i;

	for (; pool_at < ARRAY_SIZE(pool); pool_at++)
		if (pool[pool_at].state == FREE)
			return &pool[pool_at++];
	CHECK_OK(dk_provider_drain(&provider));
	for (i = 0; i < ARRAY_SIZE(pool); i++)
		if (pool[i].state == WITHDRAWN)
			pool[i].state = FREE;
	for (pool_at = 0; pool[pool_at].state != FREE; pool_at++)
		;
	return &pool[pool_at++];
}

static struct dk_impl impl_of(unsigned int i, unsigned int which)
{
	struct dk_impl impl = t_impl(&decl, items[i].at[which].key, i);

	if (items[i].at[which].is_fallthrough) {
		impl.fn = NULL;
		impl.flags = DK_IMPL_F_FALLTHROUGH;
	}
	if (items[i].kind == FALLBACK) {
		impl.op = NULL;
		if (impl.fn) {
			impl.fn = (dk_fn_t)(impl.key == DK_TRACER ? tracer_fallback :
						explicit_fallback);
			impl.flags = DK_IMPL_F_BOXED;
		}
	}
	return impl;
}

static void plug(unsigned int i)
{
	const unsigned int t = items[i].device;

	device_impls[t][0] = impl_of(i, 0);
	device_impls[t][1] = impl_of(i, 1);
	CHECK_OK(dk_device_register(&provider, DK_BACKEND_CPU, t == 1 ? "one" : "two",
				    NULL, device_impls[t], 2, &number[t], &t_why));
}

static void add(unsigned int i)
{
	if (items[i].kind == FUNCTION || items[i].kind == FALLBACK) {
		slot_of[i] = take_slot();
		slot_of[i]->impl = impl_of(i, 0);
		slot_of[i]->state = ACTIVE;
	}
	switch (items[i].kind) {
	case FUNCTION:
		CHECK_OK(dk_impls_register(&provider, &slot_of[i]->impl, 1, &t_why));
		break;
	case FALLBACK:
		CHECK_OK(dk_fallback_register(&provider, &slot_of[i]->impl, &t_why));
		break;
	case DEVICE_ONLINE:
		CHECK_OK(dk_device_set_online(t_reg, number[1], 1, &t_why));
		break;
	case DEVICE:
		plug(i);
		break;
	case UNDEFINITION:
		CHECK_OK(dk_op_undefine(&definer, decl.name, &t_why));
		break;
	}
	active[num_active++] = i;
	age[i] = ++now;
	regs |= (REG_BIT(num_regs_of[i]) - 1) << 2 * i;
}

/* Removes number @at of the active items, counted from the oldest. */
static void drop(unsigned int at)
{
	const unsigned int i = active[at];

	switch (items[i].kind) {
	case FUNCTION:
	case FALLBACK:
		CHECK_OK(dk_impls_withdraw(&provider, &slot_of[i]->impl, &t_why));
		slot_of[i]->state = WITHDRAWN;
		break;
	case DEVICE_ONLINE:
		CHECK_OK(dk_device_set_online(t_reg, number[1], 0, &t_why));
		break;
	case DEVICE:
		CHECK_OK(dk_device_unregister(&provider, number[2], &t_why));
		break;
	case UNDEFINITION:
		CHECK_OK(dk_op_define(&definer, &decl, 0, &t_why));
		break;
	}
	num_active--;
	memmove(&active[at], &active[at + 1], (num_active - at) * sizeof(active[0]));
	regs &= ~((REG_BIT(num_regs_of[i]) - 1) << 2 * i);
}

static void begin(const char *layout, unsigned int flags)
{
	unsigned int i;

	t_open(layout, flags);
	l = dk_registry_layout(t_reg);
	learn_rules(strcmp(layout, "v1"));
	t_join(&definer, "definer");
	t_join(&provider, "provider");
	decl = t_decl("registration_order::op");
	decl.sig = NULL;	/* hashing it for many registrations takes long */
	CHECK_OK(dk_op_define(&definer, &decl, 0, &t_why));
	op = t_get("registration_order::op");
	memset(pool, 0, sizeof(pool));
	pool_at = 0;
	num_active = 0;
	regs = 0;
	steps = 0;
	sets = 0;
	/* device 1 is offline, and the number of device 2 is that of an unregistered device */
	for (i = 0; i < N; i++)
		if (items[i].device)
			plug(i);
	CHECK_OK(dk_device_set_online(t_reg, number[1], 0, &t_why));
	CHECK_OK(dk_device_unregister(&provider, number[2], &t_why));
}

static void end(void)
{
	while (num_active)
		drop(num_active - 1);
	t_close();
}

/* ---- the lattice ----------------------------------------------------------- */

/* Removes each item in turn, the oldest first, and registers it again. */
static bool turn_around(void)
{
	unsigned int k, i;

	for (k = num_active; k; k--) {
		i = active[0];
		drop(0);
		if (!right(false))
			return false;
		add(i);
		if (!right(false))
			return false;
	}
	return true;
}

/*
 * Walks through all sets of up to @most items in lexicographic order. The next set has one more
 * item, or the successor of the newest item in its place.
 */
static void walk(const char *layout, unsigned int flags, unsigned int most)
{
	unsigned int next = 0;

	begin(layout, flags);
	if (!right(true))
		goto out;
	for (;;) {
		if (num_active == most || next == N) {
			if (!num_active)
				break;
			next = active[num_active - 1] + 1;
			drop(num_active - 1);
			if (!right(false))
				break;
			continue;
		}
		add(next++);
		sets++;
		if (!right(true) || !turn_around())
			break;
	}
out:
	t_note("%lu sets of up to %u of %u, %lu steps", sets, most, (unsigned int)N,
	       steps);
	end();
}

static void every_order(void)
{
	walk("v1", 0, t_most);
}

/* Walks through all sets in a registry without tables. */
static void every_order_without_tables(void)
{
	walk("v1", DK_REGISTRY_FORCE_RESOLVE, t_most > 2 ? 2 : t_most);
}

/* Walks through all sets with a table of eight entries. */
static void every_order_in_a_trimmed_table(void)
{
	walk("v1+trimmed", 0, t_most > 2 ? 2 : t_most);
	walk("v1+trimmed", DK_REGISTRY_FORCE_RESOLVE, 1);
}

T_SUITE(registration_order,
	T(every_order),
	T(every_order_without_tables),
	T(every_order_in_a_trimmed_table));
