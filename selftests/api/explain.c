// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests explanations of random programs. If an explanation reports that a registration serves or
 * decides, removing it must change the entry of the call. If it reports a registration as
 * irrelevant, removing it must not. full_registry.h explains the comments "refuses:".
 */
#include "test.h"

#define PROGRAMS	(T_KERNEL ? 60 : 1000)
#define MOST		9	/* registrations of a program */

static const char *const keys[] = {
	"CPU", "CUDA", "PrivateUse1", "Dense", "SparseCPU", "FPGA", "NestedTensorCPU",
	"AutogradCPU", "AutogradOther", "AutogradNestedTensor", "AutogradPrivateUse1",
	"Tracer", "ADInplaceOrView", "BackendSelect", "FuncTorchBatched",
	"Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd",
	"CompositeExplicitAutogradNonFunctional",
	"CompositeImplicitAutogradNestedTensor", "FuncTorchBatchedDecomposition",
};

static const char *const labels[MOST + 1] = {
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "card",
};

/* The registrations, and the call to be explained. */
static struct program {
	struct dk_op_decl decl;
	struct dk_impl impls[MOST];
	struct dk_impl of_card;
	unsigned int n;
	bool on_device;
	struct dk_keyset objs[2];
	struct dk_keyset included;
} p;

static struct dk_provider me;
static struct dk_op *op;
static struct dk_obj x, y;
static u32 card;
static struct dk_explain ex;
static struct dk_step step;
static struct dk_route without;
static struct dk_entry entry;

static unsigned int key_of(const char *name)
{
	unsigned int key = 0;

	CHECK_OK(dk_key_parse(NULL, name, 0, &key, &t_why));
	return key;
}

static int boxed(struct dk_call *c, void *args)
{
	return 0;
}

static struct dk_keyset some_set(u64 *state)
{
	struct dk_keyset ks = { 0 };
	unsigned int key, n = t_random(state) % 4;

	while (n--) {
		key = key_of(keys[t_random(state) % 15]);
		ks = dk_keyset_or(ks, dk_key_set(NULL, key));
	}
	return ks;
}

/* Returns a random registration. One in four is a backend fallback, which has no operator. */
static struct dk_impl some_impl(u64 *state, unsigned int i)
{
	bool fallback = t_random(state) % 4 == 0;
	struct dk_impl impl = {
		.op = fallback ? NULL : &p.decl,
		.fn = (dk_fn_t)boxed,
		.label = labels[i],
		.flags = DK_IMPL_F_BOXED,
		.size = sizeof(impl),
	};

	impl.key = key_of(keys[t_random(state) % (fallback ? 3 : ARRAY_SIZE(keys))]);
	if (fallback && t_random(state) % 2)
		impl.key = key_of(keys[7 + t_random(state) % 8]);
	if (t_random(state) % 3 == 0) {
		impl.fn = NULL;
		impl.flags = DK_IMPL_F_FALLTHROUGH;
	}
	/* the random key can be a building block, which needs this flag */
	if (!fallback)
		impl.flags |= DK_IMPL_F_BLOCK;
	return impl;
}

static bool same_fallback(unsigned int n, const struct dk_impl *impl)
{
	while (n--)
		if (!p.impls[n].op && !impl->op && p.impls[n].key == impl->key)
			return true;
	return false;
}

static void make_program(u64 *state)
{
	unsigned int i, n = t_random(state) % (MOST + 1);

	memset(&p, 0, sizeof(p));
	p.decl = t_decl("explain::op");
	for (i = 0; i < n; i++) {
		p.impls[p.n] = some_impl(state, i);
		if (!same_fallback(p.n, &p.impls[p.n]))
			p.n++;
	}
	p.on_device = t_random(state) % 3 == 0;
	p.of_card = p.impls[0];
	p.of_card.op = &p.decl;
	p.of_card.fn = (dk_fn_t)boxed;
	p.of_card.flags = DK_IMPL_F_BOXED;
	p.of_card.key = t_random(state) % 2 ? DK_DENSE : DK_AUTOGRAD_FUNCTIONALITY;
	p.of_card.label = labels[MOST];
	p.of_card.size = sizeof(p.of_card);
	p.objs[0] = some_set(state);
	p.objs[1] = some_set(state);
	p.included = some_set(state);
}

/* Registers the whole program, except the registration with the label @left_out. */
static void open_program(const char *left_out)
{
	unsigned int i, backend = 0;

	t_join(&me, "explain");
	CHECK_OK(dk_op_define(&me, &p.decl, 0, &t_why));
	for (i = 0; i < p.n; i++) {
		if (left_out && !strcmp(p.impls[i].label, left_out))
			continue;
		if (p.impls[i].op)
			CHECK_OK(dk_impls_register(&me, &p.impls[i], 1, &t_why));
		else
			CHECK_OK(dk_fallback_register(&me, &p.impls[i], &t_why));
	}
	x = t_obj(p.objs[0].bits);
	y = t_obj(p.objs[1].bits);
	card = 0;
	if (p.on_device && !(left_out && !strcmp(left_out, p.of_card.label))) {
		CHECK_OK(dk_backend_find(t_reg, "PrivateUse1", &backend, &t_why));
		CHECK_OK(dk_device_register(&me, backend, "card0", NULL, &p.of_card, 1,
					    &card, &t_why));
		x.ks = dk_keyset_or(x.ks, dk_key_set(NULL, key_of("PrivateUse1")));
		x.device = card;
	} else if (p.on_device) {
		x.ks = dk_keyset_or(x.ks, dk_key_set(NULL, key_of("PrivateUse1")));
	}
	op = t_get("explain::op");
}

static void close_program(void)
{
	t_put(op);
	t_unregister(&me);
}

static struct dk_keyset none = { 0 };

static const struct dk_obj *const objs[] = { &x, &y };

static void explain(void)
{
	ex.size = sizeof(ex);
	CHECK_OK(dk_op_explain(op, p.included, none, objs, 2, &ex));
	step.size = sizeof(step);
}

static bool same_entry(const struct dk_route *a, const struct dk_route *b)
{
	return a->slot == b->slot && a->entry.provenance == b->entry.provenance &&
	       !strcmp(a->entry.label, b->entry.label);
}

/*
 * Leaves out the registration that the step names. Checks that the route changes if the explanation
 * says so, and only then.
 */
static bool try_without(const struct dk_step *s)
{
	bool held;

	open_program(s->label);
	without.size = sizeof(without);
	dk_op_route(op, p.included, none, objs, 2, &without);
	switch (s->bearing) {
	case DK_BEARING_SERVES:
		held = CHECK_OK(ex.error) && CHECK(!same_entry(&without, &ex.route));
		break;
	case DK_BEARING_DECIDES:
		held = CHECK(!same_entry(&without, &ex.route));
		break;
	case DK_BEARING_SET:
		held = CHECK(same_entry(&without, &ex.route)) &&
		       CHECK(without.effective.bits != ex.route.effective.bits);
		break;
	default:
		held = CHECK(same_entry(&without, &ex.route)) &&
		       CHECK_INT(without.effective.bits, ex.route.effective.bits);
	}
	close_program();
	return held;
}

/*
 * A mask step names a fallthrough, by which calls skip a key. Leaves out this registration, and
 * checks that something else is then in the key's entry.
 */
static bool try_without_mask(const struct dk_step *s)
{
	unsigned int slot = dk_key_slot(NULL, s->key);
	bool held;

	open_program(s->label);
	entry.size = sizeof(entry);
	held = CHECK_OK(dk_op_entry(op, card, slot, &entry)) &&
	       CHECK(strcmp(entry.label, s->label) != 0);
	close_program();
	return held;
}

/* Checks a step about a rule: the route and other queries must agree with its verdict. */
static bool rule_is_right(const struct dk_step *s, bool *decided)
{
	unsigned int key = dk_slot_key(NULL, ex.route.slot);

	if (*decided)
		return CHECK_INT(s->verdict, DK_VERDICT_NOT_EVALUATED);
	switch (s->verdict) {
	case DK_VERDICT_SERVES:
		*decided = true;
		return CHECK_STR(s->label, ex.route.entry.label);
	case DK_VERDICT_AMBIGUOUS:
		*decided = true;
		return CHECK_INT(ex.route.entry.provenance, DK_PROV_AMBIGUOUS);
	case DK_VERDICT_MISSING:
		*decided = true;
		return CHECK_INT(ex.route.entry.provenance, DK_PROV_MISSING);
	case DK_VERDICT_NO_IMPL:
		if (s->rule == 10)
			return CHECK_INT(dk_registry_has_fallback(t_reg, s->key), 0);
		return CHECK_INT(dk_op_has_impl(op, s->key, &t_why), 0);
	case DK_VERDICT_OUTSIDE:
		return CHECK_INT(dk_alias_has(NULL, s->key, key), 0);
	case DK_VERDICT_BARRED:
		return CHECK_INT(s->rule, 6);
	default:
		return CHECK(s->rule == 4 || s->rule == 9);
	}
}

static unsigned int count[5];

/*
 * Checks all steps of one call. Then leaves out each registration that the steps name, one at a
 * time.
 */
static bool try_program(void)
{
	static struct dk_step impls[MOST + 2], masks[DK_NUM_FUNCTIONALITIES];
	unsigned int i, n = 0, m = 0, rules = 0;
	bool decided = false, held = true;

	open_program(NULL);
	explain();
	for (i = 0; held && !dk_explain_step(op, &ex, i, &step); i++) {
		if (step.kind == DK_STEP_MASK) {
			masks[m++] = step;
		} else if (step.kind == DK_STEP_IMPL) {
			impls[n++] = step;
			count[step.bearing]++;
		} else {
			held = CHECK_INT(step.rule, ++rules) &&
			       rule_is_right(&step, &decided);
		}
	}
	held = held && CHECK_INT(rules, 11) && CHECK(decided);
	close_program();
	while (held && n--)
		held = try_without(&impls[n]);
	while (held && m--)
		held = try_without_mask(&masks[m]);
	return held;
}

static void random_programs(void)
{
	u64 seed = 20260000, state;
	unsigned int i;

	memset(count, 0, sizeof(count));
	t_open("v1", 0);
	for (i = 0; i < PROGRAMS; i++) {
		state = seed + i;
		make_program(&state);
		if (!try_program()) {
			t_note("the program of seed %llu", (unsigned long long)seed + i);
			break;
		}
		t_pause();
	}
	t_note("%u programs from seed %llu: %u serve, %u decide, %u change the set",
	       i, (unsigned long long)seed, count[DK_BEARING_SERVES],
	       count[DK_BEARING_DECIDES], count[DK_BEARING_SET]);
	t_note("%u are overridden, %u are not used", count[DK_BEARING_OVERRIDDEN],
	       count[DK_BEARING_NONE]);
	/* each kind of step must occur, or the test has tested nothing */
	for (i = 0; i < ARRAY_SIZE(count); i++)
		CHECK(count[i] > 0);
}

/* A fallback at an alias key is one function: without it, all the keys of the alias lack it. */
static void fallback_at_an_alias_key(void)
{
	static const struct dk_impl fallback = DK_FALLBACK(DK_AUTOGRAD, boxed);
	struct dk_op_decl decl = t_decl("explain::alias");
	struct dk_impl own = t_impl(&decl, DK_AUTOGRAD_CPU, 0);
	struct dk_obj obj = dk_obj_on(DK_BACKEND_CPU, 0);
	const struct dk_obj *one[] = { &obj };
	unsigned int i, found = 0;

	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&me, "me");
	CHECK_OK(dk_op_define(&me, &decl, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, &own, 1, &t_why));
	CHECK_OK(dk_fallback_register(&me, &fallback, &t_why));
	op = t_get("explain::alias");
	/* AutogradOther is above AutogradCPU, which serves if AutogradOther falls through */
	obj.ks = dk_keyset_or(obj.ks, dk_keyset_or(DK_SET(DK_AUTOGRAD_OTHER),
						   DK_SET(DK_AUTOGRAD_CPU)));
	CHECK_OK(dk_op_explain(op, none, none, one, 1, &ex));
	for (i = 0; !dk_explain_step(op, &ex, i, &step); i++) {
		if (step.kind == DK_STEP_IMPL && step.is_fallback)
			found += CHECK_INT(step.bearing, DK_BEARING_SET);
	}
	CHECK_INT(found, 1);
}

static void refusals(void)
{
	u64 state = 1;

	t_open("v1", 0);
	make_program(&state);
	open_program(NULL);
	ex.size = 1;
	/* refuses: dk_op_explain EINVAL BAD_SIZE */
	CHECK_INT(dk_op_explain(op, none, none, objs, 2, &ex), -EINVAL);
	explain();
	step.size = 1;
	/* refuses: dk_explain_step EINVAL BAD_SIZE */
	CHECK_INT(dk_explain_step(op, &ex, 0, &step), -EINVAL);
	step.size = sizeof(step);
	/* refuses: dk_explain_step ENOENT NOT_THERE */
	CHECK_INT(dk_explain_step(op, &ex, 1000, &step), -ENOENT);
	CHECK_OK(dk_op_undefine(&me, "explain::op", &t_why));
	/* refuses: dk_explain_step EAGAIN CHANGED */
	CHECK_INT(dk_explain_step(op, &ex, 0, &step), -EAGAIN);
	explain();
	CHECK_INT(ex.error, -ENOENT);
	CHECK_OK(dk_explain_step(op, &ex, 0, &step));
}

T_SUITE(explain, T(random_programs), T(fallback_at_an_alias_key), T(refusals));
