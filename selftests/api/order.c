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
#define FEW	5

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

/* Number @gone leaves after @ordered operators were put into order. */
static void leave_between(unsigned int ordered, unsigned int gone)
{
	unsigned int i;

	begin();
	for (i = 0; i < FEW; i++)
		define(i);
	CHECK_INT(put_into_order(ordered), ordered < FEW ? -EAGAIN : 0);
	undefine(gone);
	check_list(0, FEW, gone);
	end();
}

static void leaving_between_two_pieces(void)
{
	unsigned int ordered, gone;

	for (ordered = 0; ordered <= FEW; ordered++)
		for (gone = 0; gone < FEW; gone++)
			leave_between(ordered, gone);
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

/* A list that finds no memory fails, and so does no change. */
static void lists_without_memory(void)
{
	struct dk_op_info info = { .size = sizeof(info) };

	begin();
	define(0);
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_INT(dk_registry_next_op(t_reg, NULL, &info), -ENOMEM);
	CHECK_INT(dk_registry_list_ops(t_reg, DK_UNDEFINED, NULL, 0), 0);
	dk_test_fail_alloc(0);
	check_list(0, 1, 1);
	dk_test_fail_alloc(DK_TEST_EVERY);
	CHECK_OK(dk_registry_next_op(t_reg, NULL, &info));
	undefine(0);
	CHECK_INT(dk_registry_next_op(t_reg, NULL, &info), -ENOENT);
	dk_test_fail_alloc(0);
	end();
}

T_SUITE(order,
	T(leaving_between_two_pieces),
	T(coming_between_two_pieces),
	T(names_of_other_alphabets),
	T(lists_without_memory));
