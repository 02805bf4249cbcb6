// SPDX-License-Identifier: GPL-2.0-only
/*
 * A list of operators by name is put into order in pieces, with the lock given back
 * between them. Operators come and leave meanwhile.
 */
#include "alloc.h"
#include "test.h"

#include "core/registry.h"

#define OPS	140		/* more than are put in their places at once */
#define STRIDE	61		/* they are defined in another order than that of their names */
#define FEW	6
#define MANY	4096
#define PIECE	100		/* of work */

static struct dk_provider prov;
static struct dk_op_decl decls[OPS];
static char names[OPS][16];

static void name_operators(void)
{
	unsigned int i;

	for (i = 0; i < OPS; i++) {
		snprintf(names[i], sizeof(names[i]), "order::%03u", i);
		decls[i] = t_decl(names[i]);
	}
}

static void define(unsigned int i)
{
	CHECK_OK(dk_op_define(&prov, &decls[i], 0, &t_why));
}

static void undefine(unsigned int i)
{
	CHECK_OK(dk_op_undefine(&prov, names[i], &t_why));
}

static int put_into_order(unsigned int n)
{
	int err;

	dkc_mutex_lock(&t_reg->lock);
	err = dkc_order_some(t_reg, n);
	dkc_mutex_unlock(&t_reg->lock);
	return err;
}

static void begin(void)
{
	t_open("v1", 0);
	t_join(&prov, "order");
	name_operators();
}

static void end(void)
{
	t_leave(&prov);
	t_close();
}

/* Those from number @first on, up to @end, are there, but for number @gone. */
static void check_list(unsigned int first, unsigned int end, unsigned int gone)
{
	struct dk_op_info info = { .size = sizeof(info) };
	const char *after = NULL;
	unsigned int i;

	for (i = first; i < end; i++) {
		if (i == gone)
			continue;
		if (!CHECK_OK(dk_registry_next_op(t_reg, after, &info)) ||
		    !CHECK_STR(info.name, names[i]))
			return;
		after = info.name;
	}
	CHECK_INT(dk_registry_next_op(t_reg, after, &info), -ENOENT);
}

/* Up to @n pieces; how many are all of them, or 0 if these are not all. */
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
 * Operators are listed when there are @listed, and later put into order in @pieces pieces.
 * Then number @n comes, or leaves. Was all in order before?
 */
static bool change_between(unsigned int listed, unsigned int pieces, unsigned int n, bool comes)
{
	unsigned int i, next;
	bool in_order;

	begin();
	for (i = 0; i < FEW; i++) {
		if (i == listed)
			CHECK(put_pieces(~0U, ~0U));
		next = (i * 5 + 2) % FEW;
		if (!comes || next != n)
			define(next);
	}
	in_order = put_pieces(pieces, 1);
	if (comes)
		define(n);
	else
		undefine(n);
	check_list(0, FEW, comes ? FEW : n);
	end();
	return in_order;
}

/* While the array is filled, while it is made a heap, and while that is merged. */
static void change_between_two_pieces(bool comes)
{
	unsigned int listed, n, pieces;

	for (listed = 0; listed <= FEW; listed++)
		for (n = 0; n < FEW; n++)
			for (pieces = 0; !change_between(listed, pieces, n, comes); pieces++)
				;
}

static void leaving_between_two_pieces(void)
{
	change_between_two_pieces(false);
}

static void one_comes_between_two_pieces(void)
{
	change_between_two_pieces(true);
}

/* Operators @first to @end come in no order; how much work their order is. */
static unsigned int work_for(unsigned int first, unsigned int end)
{
	static struct dk_op_decl decl[MANY];
	static char name[MANY][16];
	unsigned int i;

	for (i = first; i < end; i++) {
		snprintf(name[i], sizeof(name[i]), "order::%05u", i * 2477 % MANY);
		decl[i] = t_decl(name[i]);
		CHECK_OK(dk_op_define(&prov, &decl[i], 0, &t_why));
	}
	return PIECE * put_pieces(~0U, PIECE);
}

/* What n operators take grows with n log n, also where others are in order already. */
static void work_of_many(void)
{
	begin();
	/* for each one its logarithm, and a few for the table of names and the heap */
	CHECK(work_for(0, MANY / 2) < MANY / 2 * (11 + 4));
	/* those in order are merged, and not put into order again */
	CHECK(work_for(MANY / 2, MANY / 8 * 5) < MANY / 8 * (9 + 4) + MANY / 2);
	/* more than there was room for */
	CHECK(work_for(MANY / 8 * 5, MANY) < MANY * (12 + 4));
	CHECK(work_for(MANY, MANY) <= PIECE);
	end();
}

/* To build tables later passes their slots in parts, also where all have left. */
static void empty_slots_are_work(void)
{
	unsigned int parts = 0;

	begin();
	work_for(0, MANY);
	t_leave(&prov);
	dkc_mutex_lock(&t_reg->lock);
	t_reg->unbuilt = 1;
	while (dkc_change_rebuild(t_reg, true))
		parts++;
	CHECK_INT(t_reg->unbuilt, 0);
	CHECK(parts >= dkc_deref_locked(t_reg->ops)->size / 1024);
	dkc_mutex_unlock(&t_reg->lock);
	t_close();
}

static void coming_between_two_pieces(void)
{
	unsigned int i;

	begin();
	for (i = 0; i < OPS; i++) {
		define(i * STRIDE % OPS);
		if (i % 7 == 0)
			put_into_order(i % 5);
	}
	check_list(0, OPS, OPS);
	for (i = 0; i < OPS / 2; i++)
		undefine(i);
	check_list(OPS / 2, OPS, OPS);
	for (i = 0; i < OPS / 2; i++)
		define(i);
	check_list(0, OPS, OPS);
	end();
}

/* By the bytes of UTF-8, and not by those of a signed char. */
static void names_of_other_alphabets(void)
{
	struct dk_op_info info = { .size = sizeof(info) };
	struct dk_op_decl other = t_decl("order::\xc3\xa9");

	begin();
	CHECK_OK(dk_op_define(&prov, &other, 0, &t_why));
	define(0);
	CHECK_OK(dk_registry_next_op(t_reg, NULL, &info));
	CHECK_STR(info.name, names[0]);
	CHECK_OK(dk_registry_next_op(t_reg, names[0], &info));
	CHECK_STR(info.name, other.name);
	end();
}

/* Some names are in the array when all get other places in the table of names. */
static void another_table_between_two_pieces(void)
{
	unsigned int i;

	begin();
	for (i = 0; i < 30; i++)
		define(i);
	CHECK_INT(put_into_order(8), -EAGAIN);
	for (; i < 50; i++)
		define(i);
	check_list(0, 50, OPS);
	end();
}

/* The table of names has room for more operators than the array of a list was made for. */
static void more_come_than_were_there(void)
{
	unsigned int i;

	begin();
	for (i = 0; i < 74; i++)
		define(i);
	for (i = 4; i < 74; i++)
		undefine(i);
	CHECK_INT(put_into_order(1), -EAGAIN);
	for (i = 74; i < 74 + 37; i++)
		define(i);
	CHECK_OK(put_into_order(~0U));
	end();
}

/*
 * A list that finds no memory fails, and so does no change.
 *
 * refuses: dk_registry_list_ops ENOMEM NO_MEMORY
 * refuses: dk_registry_list_dangling ENOMEM NO_MEMORY
 */
static void lists_without_memory(void)
{
	struct dk_op_info info = { .size = sizeof(info) };
	char text[64];

	begin();
	define(0);
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_INT(dk_registry_next_op(t_reg, NULL, &info), -ENOMEM);
	strcpy(text, "before");
	CHECK_INT(dk_registry_list_ops(t_reg, DK_UNDEFINED, text, sizeof(text)), -ENOMEM);
	CHECK_STR(text, "");
	strcpy(text, "before");
	CHECK_INT(dk_registry_list_dangling(t_reg, text, sizeof(text)), -ENOMEM);
	CHECK_STR(text, "");
	dk_test_fail_alloc(0);
	check_list(0, 1, 1);
	/* the array that the new one is merged into */
	define(1);
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_INT(dk_registry_list_ops(t_reg, DK_UNDEFINED, text, sizeof(text)), -ENOMEM);
	CHECK_STR(text, "");
	dk_test_fail_alloc(0);
	CHECK_INT(dk_registry_list_ops(t_reg, DK_UNDEFINED, text, sizeof(text)), 22);
	CHECK_STR(text, "order::000\norder::001\n");
	undefine(1);
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_registry_next_op(t_reg, NULL, &info));
	undefine(0);
	CHECK_INT(dk_registry_next_op(t_reg, NULL, &info), -ENOENT);
	dk_test_fail_alloc(0);
	end();
}

T_SUITE(order,
	T(leaving_between_two_pieces),
	T(one_comes_between_two_pieces),
	T(work_of_many),
	T(empty_slots_are_work),
	T(coming_between_two_pieces),
	T(names_of_other_alphabets),
	T(another_table_between_two_pieces),
	T(more_come_than_were_there),
	T(lists_without_memory));
