// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Runs the commands that dump registrations in PyTorch's format. */
#include "internal.h"

/* A function that prints like snprintf(), and the arguments for it. */
struct text {
	long (*print)(struct text *t, char *buf, size_t size);
	size_t (*of_op)(struct dk_op *op, char *buf, size_t size);
	struct dk_registry *reg;
	struct dk_op *op;
	struct dk_keyset ks;
	unsigned int key;
};

static int put(struct dk_replay *r, struct text *t)
{
	struct dk_replay_text *answer = &r->answer;
	long len = t->print(t, NULL, 0), now;

	if (len < 0)
		return dk_replay_reason(r, len, DK_WHY_NO_MEMORY, "");
	if (!dk_replay_text_grow(answer, len))
		return 0;
	/* another thread may have changed the registry after the first call */
	now = t->print(t, answer->buf + answer->len, len + 1);
	if (now < 0)
		return dk_replay_reason(r, now, DK_WHY_NO_MEMORY, "");
	answer->len += now < len ? now : len;
	return 0;
}

static long print_op(struct text *t, char *buf, size_t size)
{
	return t->of_op(t->op, buf, size);
}

int dk_replay_put_text(struct dk_replay *r, struct dk_op *op,
		       size_t (*print)(struct dk_op *op, char *buf, size_t size))
{
	struct text t = { .print = print_op, .of_op = print, .op = op };

	return put(r, &t);
}

/* Like dk_replay_put_text(), for an operator by name. */
static int put_op(struct dk_replay *r, const char *name,
		  size_t (*print)(struct dk_op *op, char *buf, size_t size))
{
	struct dk_op *op = dk_replay_op_get(r, name);
	int err;

	if (!op)
		return -ENOENT;
	err = dk_replay_put_text(r, op, print);
	dk_op_put(op);
	return err;
}

DK_REPLAY_RUN(dump)
{
	return put_op(r, w->arg[0], dk_op_dump);
}

DK_REPLAY_RUN(keys)
{
	int err = put_op(r, w->arg[0], dk_op_list_keys);

	if (!err)
		dk_replay_put(r, "\n");
	return err;
}

DK_REPLAY_RUN(extractor)
{
	return put_op(r, w->arg[0], dk_op_dump_extractor);
}

DK_REPLAY_RUN(ambiguous)
{
	return put_op(r, w->arg[0], dk_ambiguous_text);
}

static long print_missing(struct text *t, char *buf, size_t size)
{
	return dk_missing_text(t->op, t->ks, buf, size);
}

DK_REPLAY_RUN(missing)
{
	struct text t = { .print = print_missing };
	int err;

	t.op = dk_replay_op_get(r, w->arg[0]);
	if (!t.op)
		return -ENOENT;
	err = dk_replay_set(r, w->arg[1], &t.ks);
	if (!err)
		err = put(r, &t);
	dk_op_put(t.op);
	return err;
}

static long print_ops(struct text *t, char *buf, size_t size)
{
	return dk_registry_list_ops(t->reg, t->key, buf, size);
}

DK_REPLAY_RUN(ops)
{
	struct text t = { .print = print_ops };
	int err = dk_replay_need_registry(r);

	if (!err && w->n)
		err = dk_replay_key(r, w->arg[0], &t.key);
	t.reg = r->reg;
	return err ? err : put(r, &t);
}

static long print_dangling(struct text *t, char *buf, size_t size)
{
	return dk_registry_list_dangling(t->reg, buf, size);
}

DK_REPLAY_RUN(dangling)
{
	struct text t = { .print = print_dangling };
	int err = dk_replay_need_registry(r);

	(void)w;
	t.reg = r->reg;
	return err ? err : put(r, &t);
}

/* ---- queries -------------------------------------------------------------- */

static int put_bool(struct dk_replay *r, int answer)
{
	if (answer < 0)
		return answer;
	dk_replay_put(r, answer ? "true\n" : "false\n");
	return 0;
}

DK_REPLAY_RUN(has_op)
{
	int err = dk_replay_need_registry(r);
	struct dk_op *op;

	if (err)
		return err;
	op = dk_op_get(r->reg, w->arg[0]);
	dk_op_put(op);
	return put_bool(r, !!op);
}

/* Answers a query on an operator and a key. */
static int query_key(struct dk_replay *r, const struct dk_replay_words *w,
		     int (*query)(struct dk_op *op, unsigned int key, struct dk_diag *why))
{
	struct dk_op *op = dk_replay_op_get(r, w->arg[0]);
	unsigned int key;
	int err;

	if (!op)
		return -ENOENT;
	err = dk_replay_key(r, w->arg[1], &key);
	if (!err)
		err = put_bool(r, query(op, key, &r->why));
	dk_op_put(op);
	return err;
}

DK_REPLAY_RUN(has_impl)
{
	return query_key(r, w, dk_op_has_impl);
}

DK_REPLAY_RUN(is_served)
{
	return query_key(r, w, dk_op_is_served);
}

DK_REPLAY_RUN(is_fallthrough)
{
	return query_key(r, w, dk_op_is_fallthrough);
}

DK_REPLAY_RUN(has_impl_in)
{
	struct dk_op *op = dk_replay_op_get(r, w->arg[0]);
	struct dk_keyset ks;
	int err;

	if (!op)
		return -ENOENT;
	err = dk_replay_set(r, w->arg[1], &ks);
	if (!err)
		err = put_bool(r, dk_op_has_impl_in(op, ks));
	dk_op_put(op);
	return err;
}

DK_REPLAY_RUN(has_fallback)
{
	int err = dk_replay_need_registry(r);
	unsigned int key;

	if (!err)
		err = dk_replay_key(r, w->arg[0], &key);
	return err ? err : put_bool(r, dk_registry_has_fallback(r->reg, key));
}

DK_REPLAY_RUN(check)
{
	struct dk_op *op;
	int err;

	if (!w->n) {
		err = dk_replay_need_registry(r);
		return err ? err : dk_registry_check(r->reg, &r->why);
	}
	op = dk_replay_op_get(r, w->arg[0]);
	if (!op)
		return -ENOENT;
	err = dk_op_check(op, &r->why);
	dk_op_put(op);
	return err;
}
