// SPDX-License-Identifier: GPL-2.0-only
/*
 * A list of operators by name is put into order in pieces, with the lock given back
 * between them. Operators leave meanwhile.
 */
#include "test.h"

#include "core/registry.h"

#define OPS	5

static const char *const names[OPS] = {
	"order::a", "order::b", "order::c", "order::d", "order::e",
};

static struct dk_provider prov;
static struct dk_op_decl decls[OPS];

static void check_list(unsigned int gone)
{
	const struct dk_op *op;
	unsigned int i, n = 0;

	for (i = 0; i < OPS; i++) {
		if (i == gone)
			continue;
		op = dkc_op_at(t_reg, n++);
		if (!CHECK(op) || !CHECK_STR(op->name, names[i]))
			return;
	}
	CHECK(!dkc_op_at(t_reg, n));
}

/* Number @gone leaves after @ordered operators were put into order. */
static void leave_between(unsigned int ordered, unsigned int gone)
{
	unsigned int i;

	t_open("v1", 0);
	t_join(&prov, "order");
	for (i = 0; i < OPS; i++) {
		decls[i] = t_decl(names[i]);
		CHECK_OK(dk_op_define(&prov, &decls[i], 0, &t_why));
	}
	dkc_mutex_lock(&t_reg->lock);
	dkc_order_some(t_reg, ordered);
	dkc_mutex_unlock(&t_reg->lock);
	CHECK_OK(dk_op_undefine(&prov, names[gone], &t_why));
	dkc_mutex_lock(&t_reg->lock);
	check_list(gone);
	dkc_mutex_unlock(&t_reg->lock);
	t_leave(&prov);
	t_close();
}

static void leaving_between_two_pieces(void)
{
	unsigned int ordered, gone;

	for (ordered = 0; ordered <= OPS; ordered++)
		for (gone = 0; gone < OPS; gone++)
			leave_between(ordered, gone);
}

T_SUITE(order,
	T(leaving_between_two_pieces));
