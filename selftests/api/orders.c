// SPDX-License-Identifier: GPL-2.0-only
/* See orders.h. */
#include "orders.h"

#define MOST		T_ORDERED	/* registrations of a test */
#define ENTRIES		DK_NUM_ENTRIES

unsigned int t_factorial(unsigned int n)
{
	return n < 2 ? 1 : n == 2 ? 2 : n == 3 ? 6 : n == 4 ? 24 : 120;
}

void t_permute(unsigned int which, unsigned int n, unsigned int *order)
{
	unsigned int i, j, left[T_ORDERED];

	for (i = 0; i < n; i++)
		left[i] = i;
	for (i = 0; i < n; i++) {
		unsigned int f = t_factorial(n - 1 - i), at = which / f;

		which %= f;
		order[i] = left[at];
		for (j = at; j + 1 < n - i; j++)
			left[j] = left[j + 1];
	}
}

/* Everything that can be read about an operator. */
struct state {
	struct {
		u8 function;	/* its number, NO_FUNCTION or FALLTHROUGH */
		u8 rule;
	} entry[ENTRIES];
	struct {
		u16 key;
		u8 function;
		u8 is_active;
	} list[MOST];
	u32 listed;
	int answer;		/* result of a call for CPU */
};

#define NO_FUNCTION	0xff
#define FALLTHROUGH	0xfe

struct dk_provider o_provider, o_other;
struct dk_op_decl o_decl;
const char *o_inferred;
struct dk_op *o_op;

/* Withdrawn functions are reused only after a drain, when all others are used up. */
static struct dk_impl pool[1024], *impl_of[MOST];
static unsigned int pool_at;
static struct state seen[1 << MOST];
static bool was_seen[1 << MOST];

void o_open(void)
{
	t_open("v1", DK_REGISTRY_BUILTINS);
	t_join(&o_provider, "dispatch");
	t_join(&o_other, "other");
	o_decl = t_decl("dispatch::op");
	o_inferred = NULL;
	pool_at = 0;
	/* o_register() gets the operator, which exists even without a definition */
	o_op = NULL;
	memset(was_seen, 0, sizeof(was_seen));
}

static u8 number_of(const char *label)
{
	return label[0] != 'f' ? NO_FUNCTION :
	       label[1] == 'a' ? FALLTHROUGH : label[1] - '0';
}

static void read_state(struct state *s)
{
	const struct dk_layout *l = dk_registry_layout(t_reg);
	struct dk_impl_info info = { .size = sizeof(info) };
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	unsigned int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < ENTRIES; i++) {
		s->entry[i].function = number_of(t_serves(o_op, 0, dk_slot_key(l, i)));
		s->entry[i].rule = t_rule_served();
	}
	for (i = 0; !dk_op_impl(o_op, i, &info) && CHECK(i < MOST); i++) {
		s->list[i].key = info.key;
		s->list[i].function = number_of(info.label);
		s->list[i].is_active = info.is_active;
	}
	s->listed = i;
	s->answer = t_call(o_op, &cpu, NULL);
	CHECK_OK(dk_registry_check(t_reg, &t_why));
}

bool o_register(const struct step *s, unsigned int i)
{
	if (s->defines && !CHECK_OK(dk_op_define(&o_provider, &o_decl, 0, &t_why)))
		return false;
	if (s->has_function) {
		impl_of[i] = &pool[pool_at++ % ARRAY_SIZE(pool)];
		*impl_of[i] = t_impl(&o_decl, s->key, i);
		impl_of[i]->schema = o_inferred;
		if (!CHECK_OK(dk_impls_register(&o_provider, impl_of[i], 1, &t_why)))
			return false;
	}
	if (!o_op)
		o_op = t_get(o_decl.name);
	return CHECK(o_op);
}

bool o_remove(const struct step *s, unsigned int i)
{
	return (!s->has_function ||
		CHECK_OK(dk_impls_withdraw(&o_provider, impl_of[i], &t_why))) &&
	       (!s->defines ||
		CHECK_OK(dk_op_undefine(&o_provider, o_decl.name, &t_why)));
}

/* Checks that the state is the same as when the steps of @set were active for the first time. */
static bool as_before(unsigned int set)
{
	static struct state now;

	if (!was_seen[set]) {
		read_state(&seen[set]);
		was_seen[set] = true;
		return true;
	}
	read_state(&now);
	return CHECK(!memcmp(&now, &seen[set], sizeof(now)));
}

static bool one_order(const struct step *steps, unsigned int n, unsigned int come,
		      unsigned int go)
{
	unsigned int i, set = 0, order[MOST];
	bool ok = true;

	t_permute(come, n, order);
	for (i = 0; ok && i < n; i++) {
		set |= 1U << order[i];
		ok = o_register(&steps[order[i]], order[i]) && as_before(set);
	}
	t_permute(go, n, order);
	for (i = 0; ok && i < n; i++) {
		set &= ~(1U << order[i]);
		ok = o_remove(&steps[order[i]], order[i]) && as_before(set);
	}
	if (pool_at >= ARRAY_SIZE(pool) - MOST) {
		CHECK_OK(dk_provider_drain(&o_provider));
		pool_at = 0;
	}
	t_pause();
	if (!ok)
		t_note("order of registration %u, of removal %u, steps 0x%x", come, go,
		       set);
	return ok;
}

static void check_wants(const struct want *want, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!CHECK_STR(t_serves(o_op, 0, want[i].key), want[i].label) ||
		    !CHECK_INT(t_rule_served(), want[i].rule))
			t_note("key %u", want[i].key);
}

void o_register_all(const struct step *steps, unsigned int n, const struct want *want,
		    unsigned int num_want)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		o_register(&steps[i], i);
	check_wants(want, num_want);
}

/*
 * Tries each order of registration with each order of removal, or only with some if there are many.
 * In the kernel, which the tests run on slow emulated machines, tries fewer orders.
 */
void o_commute(const struct step *steps, unsigned int n, const struct want *want,
	       unsigned int num_want)
{
	const unsigned int all = t_factorial(n);
	unsigned int few = T_KERNEL ? 3 : 12, come, k, i;

	if (n < t_most || all < few)
		few = all;
	for (come = 0; come < all; come += T_KERNEL && n > 4 ? 7 : 1)
		for (k = 0; k < few; k++)
			if (!one_order(steps, n, come,
				       few == all ? k : (come + k * (all / 2 - 1)) % all))
				return;
	o_register_all(steps, n, want, num_want);
	for (i = 0; i < n; i++)
		o_remove(&steps[i], i);
}

void o_check_listed(const u16 *keys, unsigned int n)
{
	struct dk_impl_info info = { .size = sizeof(info) };
	unsigned int i;

	for (i = 0; i < n; i++)
		if (CHECK_OK(dk_op_impl(o_op, i, &info))) {
			CHECK_INT(info.key, keys[i]);
			CHECK(info.is_active);
		}
	CHECK_INT(dk_op_impl(o_op, n, &info), -ENOENT);
}

void o_check_dump(const char *text)
{
	static const char head[] = "name: dispatch::op\n";
	static char dump[1024];

	dk_op_dump(o_op, dump, sizeof(dump));
	CHECK(!strncmp(dump, head, strlen(head)));
	CHECK_STR(dump + strlen(head), text);
}

void o_open_with_schema(void)
{
	o_open();
	o_decl.schema = SCHEMA;
	o_decl.debug = DK_HERE;
	o_decl.alias_analysis = DK_ALIAS_FROM_SCHEMA;
	o_inferred = INFERRED;
}

static struct state before;

void o_note_state(void)
{
	read_state(&before);
}

void o_check_unchanged(void)
{
	static struct state after;

	read_state(&after);
	CHECK(!memcmp(&before, &after, sizeof(before)));
}
