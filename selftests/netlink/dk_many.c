// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_many: registers all operators of PyTorch in the default registry, with their schemas and
 * functions. If a parameter requests more operators, copies of them are registered, too. The module
 * is used to measure costs with thousands of operators.
 *
 * registrations.txt has a line for each operator, "NAME KEY=LABEL KEY=LABEL! ...", where !
 * marks a fallthrough; schemas.txt has the schemas of the same operators in the same order.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dk_many.h"

static unsigned int count = 3640;
module_param(count, uint, 0400);
MODULE_PARM_DESC(count, "number of operators; copies follow PyTorch's own");

/* Both files, each followed by a 0: see dk_many.h. */
asm(".pushsection .rodata\n"
	"dk_many_registrations:\n"
	".incbin \"" DK_MANY_VECTORS "/registrations.txt\"\n"
	".byte 0\n"
	"dk_many_schemas:\n"
	".incbin \"" DK_MANY_VECTORS "/schemas.txt\"\n"
	".byte 0\n"
	".popsection\n");

/* An operator, allocated with its functions. */
struct many_op {
	struct many_op *next;
	struct dk_op_decl decl;
	char *words;		/* NAME KEY=LABEL ..., split into strings */
	char *schema;
	unsigned int n;
	struct dk_impl impls[];
};

static struct dk_provider many_prov = DK_PROVIDER("pytorch");
static struct many_op *many_ops;

static int many_fn(struct dk_call *c)
{
	return 0;
}

/* Parses KEY=LABEL or KEY=LABEL!. */
static int many_read_impl(struct many_op *op, char *word)
{
	struct dk_impl *impl = &op->impls[op->n++];
	char *label = strchr(word, '=');
	unsigned int key;
	int err;

	*label++ = 0;
	err = dk_key_parse(NULL, word, 0, &key, NULL);
	if (err)
		return err;
	impl->size = sizeof(*impl);
	impl->op = &op->decl;
	impl->label = label;
	impl->key = key;
	if (label[strlen(label) - 1] == '!') {
		label[strlen(label) - 1] = 0;
		impl->flags = DK_IMPL_F_FALLTHROUGH;
	} else {
		impl->fn = (dk_fn_t)many_fn;
	}
	return 0;
}

static void many_free(struct many_op *op)
{
	if (!op)
		return;
	kfree(op->words);
	kfree(op->schema);
	kfree(op);
}

/*
 * Creates an operator from a line of each file. The lines end before @line_end and @schema_end. If
 * the operator is a copy, its name ends in a number.
 */
static struct many_op *many_make(const char *line, const char *line_end,
				 const char *schema, const char *schema_end,
				 unsigned int copy)
{
	const char *behind = strchr(line, ' '), *args = strchr(schema, '(');
	unsigned int n = 0;
	struct many_op *op;
	char tail[16] = "";
	const char *s;

	/* some operators have no functions */
	if (!behind || behind > line_end)
		behind = line_end;
	for (s = behind; s < line_end; s++)
		n += *s == '=';
	op = kzalloc(struct_size(op, impls, n), GFP_KERNEL);
	if (!op)
		return NULL;
	if (copy)
		snprintf(tail, sizeof(tail), "~%u", copy);
	op->words = kasprintf(GFP_KERNEL, "%.*s%s%.*s", (int)(behind - line), line, tail,
			      (int)(line_end - behind), behind);
	op->schema = kasprintf(GFP_KERNEL, "%.*s%s%.*s", (int)(behind - line), line, tail,
			       (int)(schema_end - args), args);
	if (!op->words || !op->schema) {
		many_free(op);
		return NULL;
	}
	return op;
}

static int many_register(struct many_op *op, struct dk_diag *why)
{
	char *rest = op->words, *word;
	int err = 0;

	op->decl.size = sizeof(op->decl);
	op->decl.call_abi = DK_ABI_VERSION;
	op->decl.name = strsep(&rest, " ");
	op->decl.schema = op->schema;
	op->decl.dispatched = "(self, other, out)";
	while (!err && (word = strsep(&rest, " ")))
		err = many_read_impl(op, word);
	if (!err)
		err = dk_op_define(&many_prov, &op->decl, 0, why);
	if (!err && op->n)
		err = dk_impls_register(&many_prov, op->impls, op->n, why);
	return err;
}

static int many_register_all(struct dk_diag *why)
{
	const char *line = dk_many_registrations, *schema = dk_many_schemas;
	const char *line_end, *schema_end;
	unsigned int i, copy = 0;
	struct many_op *op;
	int err = 0;

	for (i = 0; !err && i < count; i++) {
		if (!*line) {
			line = dk_many_registrations;
			schema = dk_many_schemas;
			copy++;
		}
		line_end = strchr(line, '\n');
		schema_end = strchr(schema, '\n');
		op = many_make(line, line_end, schema, schema_end, copy);
		if (!op)
			return -ENOMEM;
		op->next = many_ops;
		many_ops = op;
		err = many_register(op, why);
		if (err)
			pr_err("%s: %s %s\n", op->decl.name, why->text, why->name);
		line = line_end + 1;
		schema = schema_end + 1;
		cond_resched();
	}
	return err;
}

static void many_leave(void)
{
	struct many_op *op;

	dk_provider_unregister(&many_prov);
	while ((op = many_ops)) {
		many_ops = op->next;
		many_free(op);
	}
}

static int __init many_init(void)
{
	struct dk_diag why = { .size = sizeof(why) };
	int err;

	err = dk_provider_register(&many_prov, &why);
	if (err)
		return err;
	err = many_register_all(&why);
	if (err)
		many_leave();
	return err;
}
module_init(many_init);

static void __exit many_exit(void)
{
	many_leave();
}
module_exit(many_exit);

MODULE_DESCRIPTION("dispatchkey selftest: thousands of operators");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
