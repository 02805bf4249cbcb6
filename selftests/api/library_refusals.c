// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests errors of libraries, in a full registry: SEMANTICS 7.5, 8.1 and 8.2. full_registry.h
 * explains the comments "refuses:".
 */
#include "full_registry.h"

static struct dk_library def, frag, impl, none;
static struct dk_handle held;

static void open(void)
{
	struct dk_op_decl decl = t_decl("held");

	r_open();
	def = t_library(&r_a, DK_LIBRARY_DEF, "r", 0);
	frag = t_library(&r_b, DK_LIBRARY_FRAGMENT, "r", 0);
	impl = t_library(&r_a, DK_LIBRARY_IMPL, "r", DK_CUDA);
	none = t_library(&r_a, DK_LIBRARY_IMPL, "_", 0);
	CHECK_OK(dk_library_register(&def, &t_why));
	CHECK_OK(dk_library_register(&frag, &t_why));
	CHECK_OK(dk_library_register(&impl, &t_why));
	CHECK_OK(dk_library_register(&none, &t_why));
	memset(&held, 0, sizeof(held));
	CHECK_OK(dk_library_def(&frag, &decl, 0, &held, &t_why));
	r_rebase();
}

static void close(void)
{
	r_close();
	CHECK(!def.core && !frag.core && !impl.core && !none.core && !held.core);
}

#define IN(kind, ns) " (" kind " library " ns ", registered at here)"

static void refused_libraries(void)
{
	struct dk_library bad;

	open();
	/* refuses: dk_library_register EINVAL BAD_SIZE */
	bad = t_library(&r_a, DK_LIBRARY_DEF, "x", 0);
	bad.size--;
	REFUSED(dk_library_register(&bad, &t_why), EINVAL, BAD_SIZE, "struct dk_library");
	/* refuses: dk_library_register EINVAL LIBRARY_KIND */
	bad = t_library(&r_a, 4, "x", 0);
	REFUSED(dk_library_register(&bad, &t_why), EINVAL, LIBRARY_KIND,
		"library" IN("no kind", "x"));
	bad = t_library(&r_a, DK_LIBRARY_DEF, "x y", 0);
	REFUSED(dk_library_register(&bad, &t_why), EINVAL, BAD_NAME, "x y");
	/* refuses: dk_library_register EINVAL BAD_NAMESPACE */
	bad = t_library(&r_a, DK_LIBRARY_DEF, "x::y", 0);
	REFUSED(dk_library_register(&bad, &t_why), EINVAL, BAD_NAMESPACE,
		"x::y" IN("DEF", "x::y"));
	bad = t_library(&r_a, DK_LIBRARY_IMPL, "x(", 0);
	REFUSED(dk_library_register(&bad, &t_why), EINVAL, BAD_NAMESPACE,
		"x(" IN("IMPL", "x("));
	/* refuses: dk_library_register EINVAL LIBRARY_NAMESPACE */
	bad = t_library(&r_a, DK_LIBRARY_DEF, "_", 0);
	REFUSED(dk_library_register(&bad, &t_why), EINVAL, LIBRARY_NAMESPACE,
		"_" IN("DEF", "_"));
	bad = t_library(&r_a, DK_LIBRARY_FRAGMENT, NULL, 0);
	REFUSED(dk_library_register(&bad, &t_why), EINVAL, LIBRARY_NAMESPACE,
		"_" IN("FRAGMENT", "_"));
	/* refuses: dk_library_register EINVAL LIBRARY_KEY */
	bad = t_library(&r_a, DK_LIBRARY_DEF, "x", DK_CPU);
	REFUSED(dk_library_register(&bad, &t_why), EINVAL, LIBRARY_KEY,
		"x" IN("DEF", "x"));
	bad = t_library(&r_a, DK_LIBRARY_IMPL, "x", 9999);
	REFUSED(dk_library_register(&bad, &t_why), EINVAL, BAD_KEY,
		"9999" IN("IMPL", "x"));
	/* this enumerator only marks the end of the functionality keys, and is not a key */
	bad = t_library(&r_a, DK_LIBRARY_IMPL, "x", DK_END_OF_FUNCTIONALITY_KEYS);
	REFUSED(dk_library_register(&bad, &t_why), EINVAL, BAD_KEY,
		"47" IN("IMPL", "x"));
	bad = t_library(&r_none, DK_LIBRARY_DEF, "x", 0);
	REFUSED(dk_library_register(&bad, &t_why), EINVAL, UNREGISTERED, "none");
	/* refuses: dk_library_register EEXIST LIBRARY_EXISTS */
	bad = t_library(&r_b, DK_LIBRARY_DEF, "r", 0);
	bad.debug = "registered at there";
	REFUSED(dk_library_register(&bad, &t_why), EEXIST, LIBRARY_EXISTS,
		"r: registered at here -> registered at there");
	/* refuses: dk_library_register EEXIST LIBRARY_REGISTERED */
	REFUSED(dk_library_register(&frag, &t_why), EEXIST, LIBRARY_REGISTERED,
		"r" IN("FRAGMENT", "r"));
	bad = t_library(&r_a, DK_LIBRARY_IMPL, NULL, 0);
	CHECK_OK(dk_library_register(&bad, &t_why));
	REFUSED(dk_library_register(&bad, &t_why), EEXIST, LIBRARY_REGISTERED,
		"_" IN("IMPL", "_"));
	CHECK_OK(dk_library_unregister(&bad));
	close();
}

static void refused_definitions(void)
{
	struct dk_op_decl new = t_decl("new"), bad;
	struct dk_impl fn = t_impl(&new, DK_CPU, 1), other = t_impl(&r_other_sig, DK_CPU, 1);
	struct dk_impl infer = fn;
	struct dk_handle h = { NULL };

	open();
	/* refuses: dk_library_def EINVAL LIBRARY_IMPL */
	REFUSED(dk_library_def(&impl, &new, 0, &h, &t_why), EINVAL, LIBRARY_IMPL,
		"new" IN("IMPL", "r"));
	/* refuses: dk_library_def EINVAL NAMESPACE */
	bad = t_decl("s::new");
	REFUSED(dk_library_def(&def, &bad, 0, &h, &t_why), EINVAL, NAMESPACE,
		"s::new" IN("DEF", "r"));
	bad = t_decl("::new");
	REFUSED(dk_library_def(&def, &bad, 0, &h, &t_why), EINVAL, NAMESPACE,
		"::new" IN("DEF", "r"));
	/* refuses: dk_library_def EINVAL BAD_NAME */
	bad = t_decl("r::");
	REFUSED(dk_library_def(&def, &bad, 0, &h, &t_why), EINVAL, BAD_NAME,
		"r::" IN("DEF", "r"));
	bad = new;
	bad.schema = "s::new(Tensor x) -> ()";
	REFUSED(dk_library_def(&def, &bad, 0, &h, &t_why), EINVAL, NAMESPACE,
		"s::new(Tensor x) -> ()" IN("DEF", "r"));
	/* refuses: dk_library_def EINVAL SCHEMA_NAME */
	bad.schema = "r::old(Tensor x) -> ()";
	REFUSED(dk_library_def(&def, &bad, 0, &h, &t_why), EINVAL, SCHEMA_NAME,
		"r::old vs r::new");
	bad.schema = "new";
	REFUSED(dk_library_def(&def, &bad, 0, &h, &t_why), EINVAL, SCHEMA,
		T_KERNEL ? "r::new" : "column 4: the end instead of \"(\"");
	/* the columns are those of the given text, which has no namespace */
	if (!T_KERNEL) {
		bad.schema = "  new(Tensor) -> ()";
		REFUSED(dk_library_def(&def, &bad, 0, &h, &t_why), EINVAL, SCHEMA,
			"column 13: \")\" instead of the argument's name");
		infer.schema = "(Tensor) -> ()";
		REFUSED(dk_library_def_impl(&def, &new, 0, &infer, &h, &t_why), EINVAL,
			SCHEMA, "column 8: \")\" instead of the argument's name");
	}
	/* refuses: dk_library_def EEXIST DEFINED */
	bad = t_decl("op");
	bad.debug = "defined at there";
	REFUSED(dk_library_def(&frag, &bad, 0, &h, &t_why), EEXIST, DEFINED,
		"r::op: a -> defined at there");
	/* refuses: dk_library_def EEXIST HANDLE */
	REFUSED(dk_library_def(&frag, &new, 0, &held, &t_why), EEXIST, HANDLE,
		"handle" IN("FRAGMENT", "r"));
	/* refuses: dk_library_def EINVAL LIBRARY_UNREGISTERED */
	CHECK_OK(dk_library_unregister(&none));
	REFUSED(dk_library_def(&none, &new, 0, &h, &t_why), EINVAL,
		LIBRARY_UNREGISTERED, "library" IN("IMPL", "_"));
	/* refuses: dk_library_def EPROTOTYPE SIGNATURE */
	bad = t_decl("impl");
	bad.sig = "(float)";
	REFUSED(dk_library_def(&def, &bad, 0, &h, &t_why), EPROTOTYPE, SIGNATURE, NULL);
	/* refuses: dk_library_def EPROTO ABI */
	bad = new;
	bad.call_abi++;
	REFUSED(dk_library_def(&def, &bad, 0, &h, &t_why), EPROTO, ABI, "struct dk_op_decl");
	/* refuses: dk_library_def_impl EPROTO ABI */
	REFUSED(dk_library_def_impl(&def, &bad, 0, &fn, &h, &t_why), EPROTO, ABI,
		"struct dk_op_decl");
	other.op = &bad;
	REFUSED(dk_library_def_impl(&def, &new, 0, &other, &h, &t_why), EPROTO, ABI,
		"struct dk_op_decl");
	/* refuses: dk_library_def_impl EPROTOTYPE SIGNATURE */
	other.op = &r_other_sig;
	REFUSED(dk_library_def_impl(&def, &new, 0, &other, &h, &t_why), EPROTOTYPE, SIGNATURE,
		NULL);
	/* refuses: dk_library_def_impl EINVAL NULL_ARGUMENT */
	REFUSED(dk_library_def_impl(&def, &new, 0, NULL, &h, &t_why), EINVAL, NULL_ARGUMENT,
		"impl");
	/* refuses: dk_library_def_impl EINVAL NOT_ATOMIC */
	REFUSED(dk_library_def_impl(&def, &new, DK_OP_ATOMIC, &fn, &h, &t_why), EINVAL,
		NOT_ATOMIC, NULL);
	/* refuses: dk_library_def_impl EINVAL SCHEMA_INFER */
	bad = new;
	bad.sig = NULL;
	REFUSED(dk_library_def_impl(&def, &bad, 0, &fn, &h, &t_why), EINVAL,
		SCHEMA_INFER, "r::new");
	/* refuses: dk_library_def_impl EEXIST DEFINED */
	bad = t_decl("op");
	REFUSED(dk_library_def_impl(&frag, &bad, 0, &fn, &h, &t_why), EEXIST, DEFINED,
		"r::op: a -> registered at here");
	CHECK(!h.core);
	close();
}

/* No schema can define these names: PyTorch's libraries refuse them, too. */
static void refused_names(void)
{
	static const struct {
		const char *name, *why;
	} cases[] = {
		{ "f.", "column 3: the end instead of the overload's name" },
		{ "f.x.y", "column 4: \".\" instead of the end of the name" },
		{ "f(", "column 2: \"(\" instead of the end of the name" },
		{ "f-g", "column 2: \"-\" instead of the end of the name" },
		{ "r::1f", "column 4: \"1f\" instead of the operator's name" },
		{ "class", "column 1: \"class\" instead of the operator's name" },
		{ "\xc3\xa9", "column 1: \"\xc3\xa9\" instead of the operator's name" },
		{ "f.default",
		  "column 3: an overload must not be named \"default\" or begin with \"__\"" },
		{ "f.__x",
		  "column 3: an overload must not be named \"default\" or begin with \"__\"" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dk_op_decl bad = t_decl(cases[i].name);
		struct dk_impl fn = t_impl(&bad, DK_CUDA, 1);

		/* refuses: dk_library_impl EINVAL SCHEMA */
		REFUSED(dk_library_impl(&impl, &fn, NULL, &t_why), EINVAL, SCHEMA, cases[i].why);
		REFUSED(dk_library_def(&def, &bad, 0, NULL, &t_why), EINVAL, SCHEMA,
			cases[i].why);
	}
}

static void refused_functions(void)
{
	struct dk_op_decl new = t_decl("new"), bad = t_decl("s::new");
	struct dk_impl fn = t_impl(&new, DK_CPU, 1), other = t_impl(&bad, DK_CUDA, 1);
	struct dk_impl through = t_fallthrough(NULL, DK_XLA);

	open();
	/* refuses: dk_library_impl EINVAL LIBRARY_FN_KEY */
	REFUSED(dk_library_impl(&impl, &fn, NULL, &t_why), EINVAL, LIBRARY_FN_KEY,
		"CPU" IN("IMPL", "r"));
	/* refuses: dk_library_impl EINVAL NAMESPACE */
	REFUSED(dk_library_impl(&impl, &other, NULL, &t_why), EINVAL, NAMESPACE,
		"s::new" IN("IMPL", "r"));
	if (!T_KERNEL)
		refused_names();
	/* refuses: dk_library_impl EEXIST HANDLE */
	REFUSED(dk_library_impl(&frag, &fn, &held, &t_why), EEXIST, HANDLE,
		"handle" IN("FRAGMENT", "r"));
	/* refuses: dk_library_impl EPROTO ABI */
	bad = new;
	bad.call_abi++;
	other = t_impl(&bad, DK_CUDA, 1);
	REFUSED(dk_library_impl(&impl, &other, NULL, &t_why), EPROTO, ABI, "struct dk_op_decl");
	/* refuses: dk_library_impl EPROTOTYPE SIGNATURE */
	other = t_impl(&r_other_sig, DK_CUDA, 1);
	REFUSED(dk_library_impl(&impl, &other, NULL, &t_why), EPROTOTYPE, SIGNATURE, NULL);
	/* refuses: dk_library_fallback EINVAL NULL_ARGUMENT */
	REFUSED(dk_library_fallback(&impl, NULL, NULL, &t_why), EINVAL, NULL_ARGUMENT, "impl");
	/* refuses: dk_library_fallback EINVAL LIBRARY_FALLBACK */
	REFUSED(dk_library_fallback(&def, &through, NULL, &t_why), EINVAL,
		LIBRARY_FALLBACK, "fallback" IN("DEF", "r"));
	/* refuses: dk_library_fallback EINVAL FALLBACK_NAMESPACE */
	REFUSED(dk_library_fallback(&impl, &through, NULL, &t_why), EINVAL,
		FALLBACK_NAMESPACE, "r" IN("IMPL", "r"));
	through.key = 0;
	REFUSED(dk_library_fallback(&none, &through, NULL, &t_why), EINVAL,
		NOT_RUNTIME_KEY, "Undefined");
	/* refuses: dk_library_fallback EEXIST FALLBACK_EXISTS */
	through.key = DK_TRACER;
	REFUSED(dk_library_fallback(&none, &through, NULL, &t_why), EEXIST,
		FALLBACK_EXISTS, NULL);
	close();
}

/*
 * Releasing a handle with another library is refused. Otherwise, the release would wait for calls
 * of the wrong provider, and free memory that running calls use.
 */
static void handle_of_another_library(void)
{
	open();
	/* refuses: dk_handle_release ENOENT NOT_THERE */
	REFUSED_ERR(dk_handle_release(&def, &held), ENOENT);
	CHECK(held.core);
	CHECK_OK(dk_handle_release(&frag, &held));
	CHECK(!held.core);
	r_rebase();
	close();
}

T_SUITE(library_refusals,
	T(refused_libraries), T(refused_definitions), T(refused_functions),
	T(handle_of_another_library));
