// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests sorting operators by name, in parts. The lock is released between the parts, so operators
 * can be added and removed between them.
 */
#include "alloc.h"
#include "test.h"

#include "core/change/change.h"

#define OPS	140		/* enough to make the table of names grow */
#define STRIDE	61		/* operators are not defined in the order of their names */
#define FEW	6
#define MANY	4096
#define PIECE	100		/* maximum work in one part */

static struct dk_provider prov;
static struct dk_op_decl decls[OPS];
static char names[OPS][16];
static bool is_there[OPS];

static void name_operators(void)
{
	unsigned int i;

	for (i = 0; i < OPS; i++) {
		snprintf(names[i], sizeof(names[i]), "sorted::%03u", i);
		decls[i] = t_decl(names[i]);
	}
}

static void define(unsigned int i)
{
	CHECK_OK(dk_op_define(&prov, &decls[i], 0, &t_why));
	is_there[i] = true;
}

static void undefine(unsigned int i)
{
	CHECK_OK(dk_op_undefine(&prov, names[i], &t_why));
	is_there[i] = false;
}

static int put_into_order(unsigned int n)
{
	int err;

	mutex_lock(&t_reg->lock);
	err = dkc_order_some(t_reg, n);
	mutex_unlock(&t_reg->lock);
	return err;
}

static void setup(void)
{
	t_open("v1", 0);
	t_join(&prov, "order");
	name_operators();
	memset(is_there, 0, sizeof(is_there));
}

/* Checks that the list has the operators that exist, in the order of their names. */
static void check_list(void)
{
	struct dk_op_info info = { .size = sizeof(info) };
	const char *after = NULL;
	unsigned int i;

	for (i = 0; i < OPS; i++) {
		if (!is_there[i])
			continue;
		if (!CHECK_OK(dk_registry_next_op(t_reg, after, &info)) ||
		    !CHECK_STR(info.name, names[i]))
			return;
		after = info.name;
	}
	CHECK_INT(dk_registry_next_op(t_reg, after, &info), -ENOENT);
}

/* Checks that op->after of each sorted operator is the operator that a search finds after @op. */
static void check_links(void)
{
	const struct dk_op *op = t_reg->first;

	if (!CHECK(op == dkc_op_from(t_reg, "", false)))
		return;
	while (op && CHECK(op->after == dkc_op_from(t_reg, op->name, true)))
		op = op->after;
}

/*
 * Makes two searches for each name: for the first operator with this name or a later one, and for
 * the first with a later name. Checks that they find the right operators. Unless @all operators are
 * sorted, a search may skip unsorted ones.
 */
static void check_searches(bool all)
{
	unsigned int i, want, after;
	const struct dk_op *op;

	mutex_lock(&t_reg->lock);
	for (i = 0; i < 2 * OPS; i++) {
		after = i % 2;
		want = i / 2 + after;
		op = dkc_op_from(t_reg, names[i / 2], after);
		for (; want < OPS; want++)
			if (is_there[want] && (all || (op && !strcmp(op->name, names[want]))))
				break;
		if (want == OPS ? !CHECK(!op) : !CHECK(op && !strcmp(op->name, names[want])))
			break;
	}
	check_links();
	mutex_unlock(&t_reg->lock);
}

/*
 * Sorts in up to @n parts, each with @work steps. Returns how many parts were needed, or 0 if some
 * operators are not sorted yet.
 */
static unsigned int put_pieces(unsigned int n, unsigned int work)
{
	unsigned int i = 0;
	int err = -EAGAIN;

	while (i < n && err == -EAGAIN) {
		err = put_into_order(work);
		i++;
	}
	CHECK(!err || err == -EAGAIN);
	return err ? 0 : i;
}

/*
 * Defines some operators. When @listed of them are defined, sorts these. After all are defined,
 * sorts the others in up to @pieces parts. Then adds or removes operator @n, and checks the list.
 * Returns whether all operators were sorted before operator @n was added or removed.
 */
static bool change_between(unsigned int listed, unsigned int pieces, unsigned int n, bool is_added)
{
	unsigned int i, next;
	bool in_order;

	setup();
	for (i = 0; i < FEW; i++) {
		if (i == listed)
			CHECK(put_pieces(~0U, ~0U));
		next = (i * 5 + 2) % FEW;
		if (!is_added || next != n)
			define(next);
	}
	in_order = put_pieces(pieces, 1);
	if (is_added)
		define(n);
	else
		undefine(n);
	check_list();
	t_close();
	return in_order;
}

static void change_between_two_pieces(bool is_added)
{
	unsigned int listed, n, pieces;

	for (listed = 0; listed <= FEW; listed++)
		for (n = 0; n < FEW; n++)
			for (pieces = 0; !change_between(listed, pieces, n, is_added); pieces++)
				;
}

static void operator_is_removed_between_pieces(void)
{
	change_between_two_pieces(false);
}

static void operator_is_added_between_pieces(void)
{
	change_between_two_pieces(true);
}

/* Adds operators number @first to @end - 1 in random order. Returns the work of sorting them. */
static unsigned int work_for(unsigned int first, unsigned int end)
{
	static struct dk_op_decl decl[MANY];
	static char name[MANY][16];
	unsigned int i;

	for (i = first; i < end; i++) {
		snprintf(name[i], sizeof(name[i]), "sorted::%05u", i * 2477 % MANY);
		decl[i] = t_decl(name[i]);
		CHECK_OK(dk_op_define(&prov, &decl[i], 0, &t_why));
	}
	return PIECE * put_pieces(~0U, PIECE);
}

/* The work for n operators grows with n log n. */
static void work_grows_with_n_log_n(void)
{
	/* twice the average depth of a node in a random tree of MANY nodes */
	const unsigned int each = 28;
	unsigned int n;

	setup();
	n = work_for(0, MANY / 2);
	CHECK(n > MANY / 2 * each / 4 && n < MANY / 2 * each);
	/* all slots of a larger table of names are visited, but sorted operators stay sorted */
	CHECK(work_for(MANY / 2, MANY / 8 * 5) < MANY / 8 * each + 2 * MANY);
	CHECK(work_for(MANY / 8 * 5, MANY) < MANY / 8 * 3 * each + 4 * MANY);
	CHECK(work_for(MANY, MANY) <= PIECE);
}

/* Returns the depth of a sorted operator in the tree. */
static unsigned int depth_of(const char *name)
{
	const struct dk_op *op = t_reg->order;
	unsigned int depth = 0;
	int side;

	while (op && (side = strcmp(op->name, name))) {
		op = op->child[side < 0];
		depth++;
	}
	CHECK(op);
	return depth;
}

/* Names are inserted in ascending order, so each one is the last one at that time. */
static void ascending_names_keep_the_tree_shallow(void)
{
	static struct dk_op_decl decl[MANY];
	static char name[MANY][16];
	unsigned int i;

	setup();
	for (i = 0; i < MANY; i++) {
		snprintf(name[i], sizeof(name[i]), "sorted::%05u", i);
		decl[i] = t_decl(name[i]);
		CHECK_OK(dk_op_define(&prov, &decl[i], 0, &t_why));
		CHECK_OK(put_into_order(~0U));
	}
	/* the depth of a random tree is about 30 */
	for (i = 0; i < MANY; i++)
		if (!CHECK(depth_of(name[i]) < 60))
			break;
}

/* The search for operators without tables walks all slots in parts, even if all are empty. */
static void search_counts_empty_slots(void)
{
	unsigned int parts = 0;

	setup();
	work_for(0, MANY);
	t_unregister(&prov);
	mutex_lock(&t_reg->lock);
	t_reg->unbuilt = 1;
	while (dkc_change_rebuild(t_reg, true))
		parts++;
	CHECK_INT(t_reg->unbuilt, 0);
	CHECK(parts >= dkc_deref_locked(t_reg->ops, t_reg)->size / 1024);
	mutex_unlock(&t_reg->lock);
	t_close();
}

/* Adds operators in the order of @nth, and removes some between two listings. */
static void add_in_order(unsigned int (*nth)(unsigned int i))
{
	unsigned int i, gone;
	u64 state = 1;

	setup();
	for (i = 0; i < OPS; i++) {
		define(nth(i));
		gone = t_random(&state) % OPS;
		if (i % 3 == 0 && is_there[gone])
			undefine(gone);
		if (i % 7 == 0)
			check_list();
		if (i % 7 == 0)
			check_searches(true);
	}
	for (i = 0; i < OPS; i += 2)
		if (is_there[nth(i)])
			undefine(nth(i));
	check_list();
	check_searches(true);
	t_close();
}

static unsigned int ascending(unsigned int i)
{
	return i;
}

static unsigned int descending(unsigned int i)
{
	return OPS - 1 - i;
}

static unsigned int shuffled(unsigned int i)
{
	return i * STRIDE % OPS;
}

static void operators_are_sorted_from_any_order(void)
{
	add_in_order(ascending);
	add_in_order(descending);
	add_in_order(shuffled);
}

/* The parts are so small that operators are added and removed before all are sorted. */
static void changes_between_small_pieces(void)
{
	unsigned int i, n, unsorted = 0;
	u64 state = 2;

	setup();
	for (i = 0; i < 4000; i++) {
		n = t_random(&state) % OPS;
		if (is_there[n])
			undefine(n);
		else
			define(n);
		if (put_into_order(t_random(&state) % 8))
			unsorted++;
		check_searches(false);
		if (i % 50 == 0) {
			check_list();
			check_searches(true);
		}
	}
	CHECK(unsorted > 1000);
}

/* Names are ordered by their UTF-8 bytes as unsigned numbers. */
static void names_are_ordered_by_bytes(void)
{
	struct dk_op_info info = { .size = sizeof(info) };
	struct dk_op_decl other = t_decl("sorted::\xc3\xa9");

	setup();
	CHECK_OK(dk_op_define(&prov, &other, 0, &t_why));
	define(0);
	CHECK_OK(dk_registry_next_op(t_reg, NULL, &info));
	CHECK_STR(info.name, names[0]);
	CHECK_OK(dk_registry_next_op(t_reg, names[0], &info));
	CHECK_STR(info.name, other.name);
}

/* Some operators are sorted when a new table of names moves all operators to other slots. */
static void table_of_names_is_replaced_between_pieces(void)
{
	unsigned int i;

	setup();
	for (i = 0; i < 30; i++)
		define(i);
	CHECK_INT(put_into_order(40), -EAGAIN);
	for (; i < 50; i++)
		define(i);
	check_list();
	check_searches(true);
}

static void pin(unsigned int i)
{
	mutex_lock(&t_reg->lock);
	dkc_op_find(t_reg, names[i])->pinned = true;
	mutex_unlock(&t_reg->lock);
}

/*
 * A sorted operator is replaced by one with another signature. Later, when the table of names has
 * grown, the first operator is defined again, and must be sorted again.
 */
static void replaced_operator_is_sorted_again(void)
{
	struct dk_op_decl other;
	unsigned int i;

	setup();
	other = decls[0];
	other.sig = "another signature";
	define(0);
	pin(0);
	check_list();
	undefine(0);
	CHECK_OK(dk_op_define(&prov, &other, 0, &t_why));
	pin(0);
	undefine(0);
	for (i = 1; i < 50; i++)
		define(i);
	define(0);
	check_list();
	check_searches(true);
}

static void operators_are_listed_without_memory(void)
{
	char text[64];

	setup();
	define(1);
	define(0);
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_INT(dk_registry_list_ops(t_reg, DK_UNDEFINED, text, sizeof(text)), 24);
	CHECK_INT(dk_test_fail_alloc(0), 0);
	CHECK_STR(text, "sorted::000\nsorted::001\n");
}

T_SUITE(sorted_operators,
	T(operator_is_removed_between_pieces),
	T(operator_is_added_between_pieces),
	T(work_grows_with_n_log_n),
	T(ascending_names_keep_the_tree_shallow),
	T(search_counts_empty_slots),
	T(operators_are_sorted_from_any_order),
	T(changes_between_small_pieces),
	T(names_are_ordered_by_bytes),
	T(table_of_names_is_replaced_between_pieces),
	T(replaced_operator_is_sorted_again),
	T(operators_are_listed_without_memory));
