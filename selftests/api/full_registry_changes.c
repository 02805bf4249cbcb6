// SPDX-License-Identifier: GPL-2.0-only
/* See full_registry_changes.h. */
#include "full_registry_changes.h"

static struct dk_provider prov;
struct dk_op_decl r_untyped, r_many_decl[R_MANY];
struct dk_impl r_one;

static struct dk_op_decl described, new2;
static struct dk_impl table[3], keys[3], aliases[2], other, fallback, alias_fallback;
static struct dk_impl many[R_MANY];
static char many_name[R_MANY][16];
static u32 device;

/* ---- changes, and how to undo them --------------------------------------- */

int r_register_provider(void)
{
	return dk_provider_register(&prov, &t_why);
}

int r_unregister_provider(void)
{
	return dk_provider_unregister(&prov);
}

int r_define_new(void)
{
	return dk_op_define(&r_a, &r_new, 0, &t_why);
}

int r_define_described(void)
{
	return dk_op_define(&r_a, &described, 0, &t_why);
}

int r_undefine_new(void)
{
	return dk_op_undefine(&r_a, "r::new", &t_why);
}

int r_define_known(void)
{
	return dk_op_define(&r_a, &r_impl, DK_OP_SAME_DEVICE, &t_why);
}

int r_undefine_known(void)
{
	return dk_op_undefine(&r_a, "r::impl", &t_why);
}

int r_define_early(void)
{
	return dk_op_define(&r_a, &r_early, DK_OP_ATOMIC, &t_why);
}

int r_undefine_early(void)
{
	return dk_op_undefine(&r_a, "r::early", &t_why);
}

int r_register_one(void)
{
	return dk_impls_register(&r_a, &r_one, 1, &t_why);
}

int r_unregister_one(void)
{
	return dk_impls_unregister(&r_a, &r_one, &t_why);
}

int r_register_other(void)
{
	return dk_impls_register(&r_b, &other, 1, &t_why);
}

int r_unregister_other(void)
{
	return dk_impls_unregister(&r_b, &other, &t_why);
}

int r_register_table(void)
{
	return dk_impls_register(&r_a, table, 3, &t_why);
}

int r_unregister_table(void)
{
	return dk_impls_unregister(&r_a, table, &t_why);
}

int r_register_keys(void)
{
	return dk_impls_register(&r_b, keys, 3, &t_why);
}

int r_unregister_keys(void)
{
	return dk_impls_unregister(&r_b, keys, &t_why);
}

int r_register_aliases(void)
{
	return dk_impls_register(&r_a, aliases, 2, &t_why);
}

int r_unregister_aliases(void)
{
	return dk_impls_unregister(&r_a, aliases, &t_why);
}

int r_register_backend(void)
{
	return dk_backend_impls_register(&r_a, r_edu, table, 3, &t_why);
}

int r_register_many(void)
{
	return dk_impls_register(&r_a, many, R_MANY, &t_why);
}

int r_unregister_many(void)
{
	return dk_impls_unregister(&r_a, many, &t_why);
}

int r_register_fallback(void)
{
	return dk_fallback_register(&r_a, &fallback, &t_why);
}

int r_unregister_fallback(void)
{
	return dk_impls_unregister(&r_a, &fallback, &t_why);
}

static int serve_all(struct dk_call *c, void *args)
{
	return 0;
}

static const struct dk_impl function = DK_FALLBACK(DK_CONJUGATE, serve_all);

int r_register_function(void)
{
	return dk_fallback_register(&r_a, &function, &t_why);
}

int r_unregister_function(void)
{
	return dk_impls_unregister(&r_a, &function, &t_why);
}

int r_register_alias_fallback(void)
{
	return dk_fallback_register(&r_a, &alias_fallback, &t_why);
}

int r_unregister_alias_fallback(void)
{
	return dk_impls_unregister(&r_a, &alias_fallback, &t_why);
}

int r_register_device(void)
{
	return dk_device_register(&r_a, r_edu, "new", NULL, table, 3, &device, &t_why);
}

int r_register_bare_device(void)
{
	return dk_device_register(&r_a, r_edu, "new", NULL, NULL, 0, &device, &t_why);
}

int r_unregister_device(void)
{
	return dk_device_unregister(&r_a, device, &t_why);
}

/* A withdrawal does not wait, so the array can be registered again only after a drain. */
int r_withdraw_table(void)
{
	int err = dk_impls_withdraw(&r_a, table, &t_why);

	return err ? err : dk_provider_drain(&r_a);
}

/*
 * Registers a provider with registrations of all kinds. If one fails, unregistering the provider
 * undoes the others.
 */
int r_register_all(void)
{
	unsigned int backend;
	int err = dk_provider_register(&prov, &t_why);

	if (err)
		return err;
	err = dk_backend_join(&prov, "edu", 0, 0, &backend, &t_why);
	if (!err)
		err = dk_op_define(&prov, &r_new, 0, &t_why);
	if (!err)
		err = dk_impls_register(&prov, table, 3, &t_why);
	if (!err)
		err = dk_fallback_register(&prov, &fallback, &t_why);
	if (!err)
		err = dk_device_register(&prov, backend, "new", NULL, keys, 3, &device,
					 &t_why);
	if (err)
		CHECK_OK(dk_provider_unregister(&prov));
	return err;
}

int r_hold_operator(void)
{
	struct dk_op *op;

	return dk_op_get_defined(t_reg, "r::op", &op, &t_why);
}

int r_put_operator(void)
{
	struct dk_op *op = dk_op_get(t_reg, "r::op");

	dk_op_put(op);
	dk_op_put(op);
	return 0;
}

static void hook(struct dk_hooks *h, const struct dk_hook_info *info)
{
}

static struct dk_hooks hooks = { .size = sizeof(hooks), .before = hook };

int r_register_hooks(void)
{
	return dk_hooks_register(t_reg, &hooks, &t_why);
}

int r_unregister_hooks(void)
{
	return dk_hooks_unregister(&hooks, &t_why);
}

static void ignore_event(struct dk_listener *l, const struct dk_event *event)
{
}

static struct dk_listener listener = {
	.size = sizeof(listener), .notify = ignore_event,
};

int r_register_listener(void)
{
	return dk_listener_register(&listener, &t_why);
}

int r_unregister_listener(void)
{
	return dk_listener_unregister(&listener);
}

static char text[4096];

/* Makes queries and a call, none of which changes the registry. */
int r_query(void)
{
	struct dk_explain ex = { .size = sizeof(ex) };
	struct dk_op *op = dk_op_get(t_reg, "r::op");
	unsigned int backend, key;

	CHECK(dk_op_dump(op, text, sizeof(text)));
	CHECK(dk_op_dump_table(op, text, sizeof(text)));
	CHECK(dk_op_list_keys(op, text, sizeof(text)));
	dk_invariants_text(op, text, sizeof(text));
	CHECK_OK(dk_op_explain(op, DK_KEYSET(0), DK_KEYSET(0), NULL, 0, &ex));
	CHECK_OK(dk_backend_find(t_reg, "edu", &backend, &t_why));
	CHECK_OK(dk_registry_key_parse(t_reg, "edu", &key, &t_why));
	CHECK_INT(t_call(op, &r_cpu, NULL), 1);
	dk_op_put(op);
	return dk_registry_check(t_reg, &t_why);
}

int r_query_again(void)
{
	return 0;
}

static struct dk_layout *layout;

/* The layout does not belong to a registry. */
int r_parse_layout(void)
{
	layout = dk_layout_parse("layout x\nbackends A\nfunctionalities Undefined B* C",
				 &t_why);
	return layout ? 0 : -ENOMEM;
}

int r_free_layout(void)
{
	dk_layout_free(layout);
	return 0;
}

static struct dk_registry *registry;

int r_make_registry(void)
{
	registry = dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS, &t_why);
	return registry ? 0 : -ENOMEM;
}

int r_make_other_registry(void)
{
	registry = dk_registry_alloc(dk_layout_find("pytorch-1.13", NULL), 0, &t_why);
	return registry ? 0 : -ENOMEM;
}

int r_free_registry(void)
{
	return dk_registry_free(registry, &t_why);
}

/* ---- libraries ----------------------------------------------------------- */

struct dk_library r_library = {
	.size = sizeof(r_library), .kind = DK_LIBRARY_FRAGMENT, .ns = "lib",
	.prov = &r_a, .debug = "here",
};

static struct dk_library nameless = {
	.size = sizeof(nameless), .kind = DK_LIBRARY_IMPL, .prov = &r_a,
};

struct dk_handle r_handle;
struct dk_op_decl r_lib_op;
static struct dk_impl lib_impl;

int r_register_library(void)
{
	return dk_library_register(&r_library, &t_why);
}

int r_unregister_library(void)
{
	return dk_library_unregister(&r_library);
}

static int unregister_nameless(void)
{
	return dk_library_unregister(&nameless);
}

/*
 * @err is the result of registering the library. If it is 0, calls @then, which makes a
 * registration in the library. If that is refused, unregisters the library.
 */
static int with_library(int err, int (*then)(void), struct dk_library *lib)
{
	if (err)
		return err;
	err = then();
	if (err) {
		CHECK(!r_handle.core);
		CHECK_OK(dk_library_unregister(lib));
	}
	return err;
}

static int add_def(void)
{
	return dk_library_def(&r_library, &r_lib_op, 0, &r_handle, &t_why);
}

int r_add_def_impl(void)
{
	return dk_library_def_impl(&r_library, &r_lib_op, 0, &lib_impl, &r_handle, &t_why);
}

static int add_impl(void)
{
	return dk_library_impl(&r_library, &lib_impl, &r_handle, &t_why);
}

static int add_fallback(void)
{
	return dk_library_fallback(&nameless, &fallback, &r_handle, &t_why);
}

int r_library_def(void)
{
	return with_library(r_register_library(), add_def, &r_library);
}

int r_library_def_impl(void)
{
	return with_library(r_register_library(), r_add_def_impl, &r_library);
}

int r_library_impl(void)
{
	return with_library(r_register_library(), add_impl, &r_library);
}

int r_library_fallback(void)
{
	return with_library(dk_library_register(&nameless, &t_why), add_fallback,
		&nameless);
}

int r_release_and_unregister(void)
{
	int err = dk_handle_release(&r_library, &r_handle);

	CHECK(!r_handle.core);
	return err ? err : dk_library_unregister(&r_library);
}

/*
 * Unregisters the library, and with it the registration in it, whose handle is not released before.
 */
int r_unregister_with_entry(void)
{
	int err = dk_library_unregister(&r_library);

	r_handle.core = NULL;
	return err;
}

int r_unregister_nameless_with_entry(void)
{
	int err = unregister_nameless();

	r_handle.core = NULL;
	return err;
}

/* ---- preparation ------------------------------------------------------------ */

void r_prepare(void)
{
	static const struct dk_param param = { .name = "x", .kind = DK_ARG_INT, .size = 1 };
	unsigned int i;

	r_open();
	described = r_new;
	described.param = &param;
	described.num_params = 1;
	described.args_size = 1;
	r_untyped = r_new;
	r_untyped.sig = NULL;
	new2 = t_decl("r::new2");
	table[0] = t_impl(&r_new, DK_SPARSE, 7);
	table[1] = t_impl(&r_def, DK_DENSE, 8);
	table[2] = t_impl(&new2, DK_DENSE, 9);
	keys[0] = t_impl(&r_def, DK_DENSE, 10);
	keys[1] = t_impl(&r_def, DK_SPARSE, 11);
	keys[2] = t_impl(&r_def, DK_AUTOGRAD_FUNCTIONALITY, 12);
	aliases[0] = t_impl(&r_def, DK_COMPOSITE_IMPLICIT_AUTOGRAD, 13);
	aliases[1] = t_impl(&r_impl, DK_AUTOGRAD, 14);
	r_one = t_impl(&r_def, DK_CUDA, 15);
	other = t_impl(&r_def, DK_CPU, 16);
	fallback = t_fallthrough(NULL, DK_PYTHON);
	alias_fallback = t_fallthrough(NULL, DK_COMPOSITE_EXPLICIT_AUTOGRAD);
	for (i = 0; i < R_MANY; i++) {
		snprintf(many_name[i], sizeof(many_name[i]), "many::%u", i);
		r_many_decl[i] = t_decl(many_name[i]);
		many[i] = t_impl(&r_many_decl[i], DK_CPU, 1);
	}
	prov = r_none;
	listener.registry = t_reg;
	r_lib_op = t_decl("lib::op");
	r_lib_op.schema = "lib::op(Tensor x) -> Tensor";
	lib_impl = t_impl(&r_lib_op, DK_CPU, 1);
	lib_impl.schema = "(Tensor _0) -> Tensor _0";
	r_rebase();
}

/* ---- offline and online ------------------------------------------------------ */

int r_card_offline(void)
{
	return dk_device_set_online(t_reg, r_card, 0, &t_why);
}

int r_card_offline_soon(void)
{
	return dk_device_set_online_timeout(t_reg, r_card, 0, 0, &t_why);
}

int r_edu_offline_soon(void)
{
	return dk_backend_set_online_timeout(t_reg, r_edu, 0, 0, &t_why);
}

int r_card_online(void)
{
	return dk_device_set_online(t_reg, r_card, 1, &t_why);
}

int r_edu_offline(void)
{
	return dk_backend_set_online(t_reg, r_edu, 0, &t_why);
}

int r_edu_online(void)
{
	return dk_backend_set_online(t_reg, r_edu, 1, &t_why);
}
