/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers 35 functions on 10 operators, to measure how much memory they need in userspace and on
 * boards.
 */
#define OPERATORS	10
#define FUNCTIONS	35

static struct dk_op_decl few_ops[OPERATORS];
static struct dk_impl few_impls[FUNCTIONS];
static struct dk_provider few = DK_PROVIDER("functions");

static int few_serve(struct dk_call *c, void *args)
{
	return 0;
}

static void few_make(void)
{
	static const char * const names[OPERATORS] = {
		"few::a", "few::b", "few::c", "few::d", "few::e",
		"few::f", "few::g", "few::h", "few::i", "few::j",
	};
	/* two backends, and two keys of wrappers around their functions */
	static const unsigned int keys[] = { DK_CPU, DK_CUDA, DK_AUTOGRAD, DK_TRACER };
	unsigned int i;

	for (i = 0; i < OPERATORS; i++)
		few_ops[i] = (struct dk_op_decl){
			.size = sizeof(few_ops[i]), .call_abi = DK_ABI_VERSION,
			.name = names[i],
		};
	for (i = 0; i < FUNCTIONS; i++)
		few_impls[i] = (struct dk_impl){
			.op = &few_ops[i % OPERATORS], .fn = (dk_fn_t)few_serve,
			.label = "serve", .key = keys[i / OPERATORS],
			.size = sizeof(few_impls[i]), .flags = DK_IMPL_F_BOXED,
		};
}

/* Registers them in a new registry with the builtin fallbacks. */
static int few_register(void)
{
	unsigned int i;
	int err;

	few_make();
	few.registry = dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS, NULL);
	err = few.registry ? dk_provider_register(&few, NULL) : -ENOMEM;
	for (i = 0; i < OPERATORS && !err; i++)
		err = dk_op_define(&few, &few_ops[i], 0, NULL);
	return err ? err : dk_impls_register(&few, few_impls, FUNCTIONS, NULL);
}

static int few_unregister(void)
{
	int err = dk_provider_unregister(&few);

	return err ? err : dk_registry_free(few.registry, NULL);
}
