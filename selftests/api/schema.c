// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests schemas: their grammar, errors, and declarations with a schema. Userspace only.
 * full_registry.h explains the comments "refuses:".
 */
#include "schema.h"

static void refused(const char *text, const char *name)
{
	struct dk_schema *s = (void *)text;

	memset(&t_why, 0, sizeof(t_why));
	/* refuses: dk_schema_parse EINVAL SCHEMA */
	CHECK_INT(dk_schema_parse(text, &s, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_SCHEMA);
	CHECK_STR(t_why.name, name);
	CHECK(!s);
}

static void parts(void)
{
	struct dk_schema *s = parse("aten::add.Tensor(Tensor(a!) self, int[3]? x, *, "
				    "Dict(str, Tensor?[]) d, ...) -> (Tensor(a!) y, ...)");
	const struct dk_schema_arg *arg;
	char text[64];

	if (!s)
		return;
	CHECK_STR(dk_schema_name(s), "aten::add");
	CHECK_STR(dk_schema_overload(s), "Tensor");
	CHECK_INT(dk_schema_flags(s), DK_SCHEMA_VARARG | DK_SCHEMA_VARRET);
	CHECK_INT(dk_schema_args(s), 3);
	CHECK(!dk_schema_argument(s, 3));
	arg = dk_schema_argument(s, 0);
	CHECK_INT(arg->type->kind, DK_TYPE_NAME);
	CHECK_STR(arg->type->name, "Tensor");
	CHECK_STR(arg->type->before, "a");
	CHECK_INT(arg->type->write, 1);
	CHECK(!arg->type->after);
	CHECK(!arg->value);
	arg = dk_schema_argument(s, 1);
	CHECK_INT(arg->type->kind, DK_TYPE_OPTIONAL);
	CHECK_INT(arg->type->first->kind, DK_TYPE_LIST);
	CHECK_INT(arg->type->first->size, 3);
	CHECK_STR(arg->type->first->first->name, "int");
	CHECK_STR(arg->name, "x");
	CHECK(!arg->value);
	CHECK_INT(arg->keyword_only, 0);
	arg = dk_schema_argument(s, 2);
	CHECK_INT(arg->keyword_only, 1);
	CHECK_INT(arg->type->kind, DK_TYPE_GENERIC);
	CHECK_STR(arg->type->first->name, "str");
	CHECK_INT(dk_type_print(arg->type->first->next, text, sizeof(text)), 9);
	CHECK_STR(text, "Tensor?[]");
	CHECK_INT(dk_type_print(arg->type, text, 8), 20);
	CHECK_STR(text, "Dict(st");
	CHECK_INT(dk_schema_returns(s), 1);
	CHECK_STR(dk_schema_return(s, 0)->name, "y");
	CHECK(!dk_schema_return(s, 1));
	dk_schema_free(s);
	s = parse("f(int[3] x= [1, -2], str y=\"a\") -> ()");
	if (!s)
		return;
	CHECK_STR(dk_schema_argument(s, 0)->value, "[1, -2]");
	CHECK_STR(dk_schema_argument(s, 1)->value, "\"a\"");
	dk_schema_free(s);
	dk_schema_free(NULL);
}

/* The printed form of a schema does not depend on white space in the text. */
static void printed(void)
{
	static const struct {
		const char *text;
		const char *prints;
	} cases[] = {
		{ "f()->()", "f() -> ()" },
		{ " f ( Tensor  x ,int y = 3 )\n->(Tensor)", "f(Tensor x, int y=3) -> Tensor" },
		{ "f(Tensor(a|b! -> *)[] x) -> Tensor(a)[]",
		  "f(Tensor(a|b! -> *)[] x) -> Tensor(a)[]" },
		{ "f(int[][2]?[] x) -> int?", "f(int[][2]?[] x) -> int?" },
		{ "f(int?? x, Tensor(a)? ?[] y) -> ()", "f(int? x, Tensor(a)?[] y) -> ()" },
		{ "f((int, (float, str)[])? x) -> ((int, int))",
		  "f((int, (float, str)[])? x) -> ((int, int))" },
		{ "f() -> ((int, int)[])", "f() -> ((int, int)[])" },
		{ "f(...) -> ...", "f(...) -> ..." },
		{ "f(Future(Tensor) x, RRef(t) y) -> Await(int)",
		  "f(Future(Tensor) x, RRef(t) y) -> Await(int)" },
		{ "f(str x='a\\'),', str y=\"\\\\\") -> ()",
		  "f(str x='a\\'),', str y=\"\\\\\") -> ()" },
		{ "f(float x=1e-05, float y=-.5, int z=long) -> ()",
		  "f(float x=1e-05, float y=-.5, int z=long) -> ()" },
		{ "(Tensor _0) -> Tensor _0", "(Tensor _0) -> Tensor _0" },
		{ "f(int a, *, int b) -> ()", "f(int a, *, int b) -> ()" },
		{ "f(*, int b, ...) -> ()", "f(*, int b, ...) -> ()" },
		{ " a :: f . out ( Tensor (a | b! -> *) [] ? x ) -> Tensor ( a )\v[ 2 ] y",
		  "a::f.out(Tensor(a|b! -> *)[]? x) -> Tensor(a)[2] y" },
		{ "f(Dict (str, int) x,\f__torch__ . torch.\nclasses . ns . c y) -> Future (int) ?",
		  "f(Dict(str, int) x, __torch__.torch.classes.ns.c y) -> Future(int)?" },
		{ "f(Tensor(a|*) x) -> ()", "f(Tensor(a|*) x) -> ()" },
		{ "f(int[] x=[-2,-1], int[2] y=[ 1 ,\n2,long ], int[] z=[ ]) -> ()",
		  "f(int[] x=[-2, -1], int[2] y=[1, 2, long], int[] z=[]) -> ()" },
	};
	char text[128];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dk_schema *s;

		s = parse(cases[i].text);
		if (!s)
			continue;
		CHECK_INT(dk_schema_print(s, text, sizeof(text)), strlen(cases[i].prints));
		CHECK_STR(text, cases[i].prints);
		CHECK_INT(dk_schema_print(s, NULL, 0), strlen(cases[i].prints));
		dk_schema_free(s);
	}
}

static void wrong_schemas_are_refused(void)
{
	static char text[DK_SCHEMA_MAX + 100];
	struct dk_schema *s;
	unsigned int i;

	refused("", "column 1: the end instead of the operator's name");
	refused("aten::", "column 7: the end instead of the operator's name");
	refused("aten::add", "column 10: the end instead of \"(\"");
	refused("f.default() -> ()",
		"column 3: an overload must not be named \"default\" or begin with \"__\"");
	refused("f.__x() -> ()",
		"column 3: an overload must not be named \"default\" or begin with \"__\"");
	refused("f(Tensor) -> ()", "column 9: \")\" instead of the argument's name");
	refused("f(Tensor x y) -> ()", "column 12: \"y\" instead of \",\" or \")\"");
	refused("f(Tensor x,) -> ()", "column 12: \")\" instead of a type");
	refused("f(int[ x) -> ()", "column 8: \"x\" instead of \"]\"");
	refused("f(int[65536] x) -> ()", "column 11: \"6\" instead of a size up to 65535");
	refused("f(Tensor() x) -> ()", "column 10: \")\" instead of an alias set");
	refused("f(Tensor(a x) -> ()",
		"column 12: \"x\" instead of \")\" after the alias sets");
	refused("f(Dict(int) x) -> ()",
		"column 12: wrong number of types in the parentheses");
	refused("f((int x) -> ()", "column 8: \"x\" instead of \",\" or \")\" between types");
	refused("f(int x=) -> ()", "column 9: \")\" instead of a value");
	refused("f(int x=half) -> ()", "column 9: \"half\" instead of a value");
	refused("f(Layout? x=bool) -> ()", "column 13: \"bool\" instead of a value");
	refused("f(int[2] x=long) -> ()", "column 12: \"long\" instead of an integer");
	refused("f(int[2] x=[half]) -> ()", "column 13: \"half\" instead of an integer");
	refused("my::f(double x) -> ()", "column 7: \"double\" instead of a known type");
	refused("atenx::f(t x) -> ()", "column 10: \"t\" instead of a known type");
	refused("f(int[] x=[1 2]) -> ()",
		"column 14: \"2\" instead of \",\" or \"]\" in a list");
	refused("f(int[] x=[1, 2.5]) -> ()", "column 15: \"2.5\" instead of an integer");
	refused("f(int[] x=[-1e-05]) -> ()", "column 12: \"-1e-05\" instead of an integer");
	refused("f(int[] x=[.5]) -> ()", "column 12: \".5\" instead of an integer");
	refused("f(str x=\"a) -> ()", "column 18: the end instead of the end of the string");
	refused("f(int x=1, int y) -> ()", "column 17: \")\" instead of a default value, "
		"because an earlier argument has one");
	refused("f(int x, *) -> ()", "column 11: \")\" instead of an argument after the \"*\"");
	refused("f(*, *, int x) -> ()", "column 6: \"*\" instead of a type");
	refused("f(...,int x) -> ()", "column 6: \",\" instead of \",\" or \")\"");
	refused("f()", "column 4: the end instead of \"->\"");
	refused("f() -> () x", "column 11: \"x\" instead of the end");
	refused("f() -> int x=1", "column 13: \"=\" instead of the end");
	refused("f(Tensor\x01 x) -> ()", "column 9: \"\x01\" instead of the argument's name");

	for (i = 0; i < DK_SCHEMA_DEPTH + 1; i++)
		text[i + 2] = '(';
	memcpy(text, "f(", 2);
	refused(text, "column 20: types are nested too deeply");
	strcpy(text, "f(int");
	for (i = 0; i < DK_SCHEMA_DEPTH; i++)
		strcat(text, "[]");
	strcat(text, " x) -> ()");
	refused(text, "column 38: types are nested too deeply");
	memset(text, ' ', sizeof(text) - 1);
	memcpy(text, "f()", 3);
	refused(text, "column 16385: the schema is too long");
	memset(text, 0, sizeof(text));
	memset(text, 'f', DK_NAME_MAX);
	strcat(text, "() -> ()");
	CHECK_INT(dk_schema_parse(text, &s, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_NAME);
}

/* Types and default values that PyTorch accepts, and some that it does not. */
static void types_and_defaults(void)
{
	static const char *const good[] = {
		"f(t x, tensr y, number z) -> t",
		"f(Generator a, Dimname b, ScalarType c, Layout d, MemoryFormat e) -> ()",
		"f(Storage a, QScheme b, Quantizer c, ConstQuantizerPtr d, Device e) -> ()",
		"f(DeviceIndex a, Stream b, Scalar c, SymInt d, SymFloat e, SymBool f) -> ()",
		"f(None a, NoneType b, Capsule c, Any d, AnyClassType e, AnyEnumType g) -> ()",
		"f(__torch__.torch.classes.quantized.Conv x) -> ()",
		"f(int from, int lambda, int try, int none, inf is_, Tensor(in_) x) -> ()",
		"f(Tensor a=None, Tensor? b=1, Generator c=None, Device d=\"cpu\") -> ()",
		"f(int a=\"a\", int b=1.5, int c=None, int d=Mean, bool e=1, str f=1) -> ()",
		"f(int a=1j, float b=True, Scalar c=None, ScalarType d=float) -> ()",
		"f(Device? a=1, Stream? b=None, Any? c=None, Dict(int, int)? d=None) -> ()",
		"f(int[2] a=1, int[] b=[], int[2] c=[1, 2, 3], float[] d=[1, .5]) -> ()",
		"f(bool[2] a=True, bool[] b=[False], ScalarType[] c=[1, half]) -> ()",
		"f(ScalarType a=half, ScalarType? b=float8_e4m3fn, Layout c=long) -> ()",
		"aten::f(t x) -> t",
		"f(float a=1., float b=-.5, float c=1E5, float d=1.5e+05, complex e=2.e-1j) -> ()",
		"f(complex[] a=[1j], SymInt[2] b=-1, int[]? c=1, Tensor[]? d=None) -> ()",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		dk_schema_free(parse(good[i]));
	refused("a::b(Tensr x) -> Tensor", "column 6: \"Tensr\" instead of a known type");
	refused("f(_t x) -> ()", "column 3: \"_t\" instead of a known type");
	refused("f(int x) -> Tensr[]", "column 13: \"Tensr\" instead of a known type");
	refused("f(Dict(Tensr, int) x) -> ()", "column 8: \"Tensr\" instead of a known type");
	refused("f(Dict x) -> ()", "column 3: \"Dict\" instead of a known type");
	refused("f(Float x) -> ()", "column 3: \"Float\" instead of a known type");
	refused("f(class x) -> ()", "column 3: \"class\" instead of a known type");
	refused("f(int class) -> ()", "column 7: \"class\" instead of the argument's name");
	refused("f(int None=1) -> ()", "column 7: \"None\" instead of the argument's name");
	refused("f() -> (int x, int in)", "column 20: \"in\" instead of a name");
	refused("in::f() -> ()", "column 1: \"in\" instead of the operator's name");
	refused("a::if() -> ()", "column 4: \"if\" instead of the operator's name");
	refused("a::f.is() -> ()", "column 6: \"is\" instead of the overload's name");
	refused("f(Tensor(as) x) -> ()", "column 10: \"as\" instead of an alias set");
	refused("f(__torch__.torch.classes.Conv x) -> ()",
		"column 3: \"__torch__\" instead of a known type");
	refused("f(__torch__.torch.classes.a.b.c x) -> ()",
		"column 3: \"__torch__\" instead of a known type");
	refused("f(foo.bar x) -> ()", "column 3: \"foo\" instead of a known type");
	refused("f(int x=1, ...) -> ()",
		"column 15: a schema with \"...\" cannot have default values");
	refused("f(Tensor x=1) -> ()", "column 12: \"1\" instead of None");
	refused("f(Generator x=True) -> ()", "column 15: \"True\" instead of None");
	refused("f(Quantizer x=1) -> ()", "column 15: \"1\" instead of None");
	refused("f(Device x=None) -> ()", "column 12: \"None\" instead of a string");
	refused("f(Device x=cpu) -> ()", "column 12: \"cpu\" instead of a string");
	refused("f(int x=foo) -> ()", "column 9: \"foo\" instead of a value");
	refused("f(int x=+1) -> ()", "column 9: \"+\" instead of a value");
	refused("f(int x=3a) -> ()", "column 9: \"3a\" instead of a value");
	refused("f(int x=1_000) -> ()", "column 9: \"1_000\" instead of a value");
	refused("f(int x=0x10) -> ()", "column 9: \"0x10\" instead of a value");
	refused("f(float x=1.5.5) -> ()", "column 11: \"1.5.5\" instead of a value");
	refused("f(float x=1e) -> ()", "column 11: \"1e\" instead of a value");
	refused("f(float x=1e+) -> ()", "column 11: \"1e\" instead of a value");
	refused("f(float x=-.) -> ()", "column 11: \"-\" instead of a value");
	refused("f(complex x=1jj) -> ()", "column 13: \"1jj\" instead of a value");
	refused("f(int[] x=[1, 2b]) -> ()", "column 15: \"2b\" instead of an integer");
	refused("f(int x=[1]) -> ()", "column 9: \"[\" instead of a value");
	refused("f(bool x=true) -> ()", "column 10: \"true\" instead of a value");
	refused("f(int[]? x=[]) -> ()", "column 12: \"[\" instead of a value");
	refused("f(int[] x=1) -> ()", "column 11: \"1\" instead of \"[\"");
	refused("f(int[2] x=True) -> ()", "column 12: \"True\" instead of an integer");
	refused("f(int[] x=[1.5]) -> ()", "column 12: \"1.5\" instead of an integer");
	refused("f(int[] x=[1,]) -> ()", "column 14: \"]\" instead of an integer");
	refused("f(float[] x=[\"a\"]) -> ()", "column 14: \"\"\" instead of a number");
	refused("f(bool[] x=[1]) -> ()", "column 13: \"1\" instead of True or False");
	refused("f(complex[] x=[1]) -> ()",
		"column 16: \"1\" instead of an imaginary number");
	refused("f(str[] x=[]) -> ()",
		"column 11: a list of this type cannot have a default value");
	refused("f(int[][] x=[]) -> ()",
		"column 13: a list of this type cannot have a default value");
	refused("f(Tensor[] x=[]) -> ()",
		"column 14: a list of this type cannot have a default value");
	refused("f(Any x=None) -> ()", "column 9: this type cannot have a default value");
	refused("f(t x=1) -> ()", "column 7: this type cannot have a default value");
	refused("f((int, int) x=1) -> ()", "column 16: this type cannot have a default value");
	refused("f(Dict(int, int) x=None) -> ()",
		"column 20: this type cannot have a default value");
}

static void dispatch_mask(void)
{
	struct dk_schema *s = parse("f(Tensor a, int b, Tensor? c, Tensor[] d, Tensor?[] e, "
				    "Tensor[]? f, Generator? g, Tensor[][] h, Tensor?? i) -> Tensor");
	static char text[2048];
	struct dk_op_decl *decl;
	unsigned int i;
	u64 mask = 0;

	if (!s)
		return;
	CHECK_OK(dk_schema_dispatch_mask(s, &mask, &t_why));
	CHECK_INT(mask, 0x171);
	dk_schema_free(s);

	strcpy(text, "f(");
	for (i = 0; i < 64; i++)
		strcat(text, i ? ", Tensor x" : "Tensor x");
	strcat(text, ") -> ()");
	s = parse(text);
	CHECK_OK(dk_schema_dispatch_mask(s, &mask, &t_why));
	CHECK_INT(mask, ~0ull);
	dk_schema_free(s);
	strcpy(strchr(text, ')'), ", int y) -> ()");
	s = parse(text);
	/* refuses: dk_schema_dispatch_mask EINVAL SCHEMA_ARGS */
	CHECK_INT(dk_schema_dispatch_mask(s, &mask, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_SCHEMA_ARGS);
	/* refuses: dk_schema_decl EINVAL SCHEMA_ARGS */
	CHECK_INT(dk_schema_decl(s, &decl, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_SCHEMA_ARGS);
	dk_schema_free(s);
}

static void compared(const char *declared, const char *inferred, unsigned int reason,
		     const char *name)
{
	struct dk_schema *a = parse(declared), *b = parse(inferred);

	if (a && b) {
		CHECK_INT(dk_schema_compare(a, b, &t_why), reason ? -EPROTOTYPE : 0);
		CHECK_INT(t_why.reason, reason);
		CHECK_STR(t_why.name, name);
	}
	dk_schema_free(a);
	dk_schema_free(b);
}

/* Compares schemas as PyTorch's test_def_impl_schema_mismatch does (SEMANTICS 11.2), and others. */
static void compare(void)
{
	compared("f(Tensor x, int[2] y=1) -> Tensor(a!)", "(Tensor _0, int[] _1) -> Tensor _0",
		 DK_WHY_NONE, "");
	compared("f(SymInt[] x, ScalarType? t) -> SymBool",
		 "(int[] _0, ScalarType? _1) -> bool _0", DK_WHY_NONE, "");
	compared("f(int?? x) -> ()", "(int? _0) -> ()", DK_WHY_NONE, "");
	compared("f(ScalarType x) -> ()", "(int _0) -> ()", DK_WHY_SCHEMA_ARG,
		 "1: ScalarType vs int");
	compared("f(Layout x) -> ()", "(MemoryFormat _0) -> ()", DK_WHY_SCHEMA_ARG,
		 "1: Layout vs MemoryFormat");
	compared("f(QScheme x) -> ()", "(int _0) -> ()", DK_WHY_SCHEMA_ARG, "1: QScheme vs int");
	compared("f(SymInt x) -> ()", "(SymInt _0) -> ()", DK_WHY_NONE, "");
	compared("f(DeviceIndex x, Dimname[]? y, ConstQuantizerPtr z) -> None",
		 "(int _0, str[]? _1, int _2) -> NoneType _0", DK_WHY_NONE, "");
	compared("f(str x) -> ()", "(int _0) -> ()", DK_WHY_SCHEMA_ARG, "1: str vs int");
	/* refuses: dk_schema_compare EPROTOTYPE SCHEMA_NUM_ARGS */
	compared("f(Tensor x, Tensor y) -> Tensor", "(Tensor _0) -> Tensor _0",
		 DK_WHY_SCHEMA_NUM_ARGS, "2 vs 1");
	/* refuses: dk_schema_compare EPROTOTYPE SCHEMA_NUM_RETURNS */
	compared("f(Tensor x) -> ()", "(Tensor _0) -> Tensor _0",
		 DK_WHY_SCHEMA_NUM_RETURNS, "0 vs 1");
	/* refuses: dk_schema_compare EPROTOTYPE SCHEMA_ARG */
	compared("f(Tensor x, int y) -> ()", "(Tensor _0, float _1) -> ()",
		 DK_WHY_SCHEMA_ARG, "2: int vs float");
	compared("f(Tensor[] x) -> ()", "(Tensor?[] _0) -> ()",
		 DK_WHY_SCHEMA_ARG, "1: Tensor[] vs Tensor?[]");
	compared("f((int, int) x) -> ()", "((int, int, int) _0) -> ()",
		 DK_WHY_SCHEMA_ARG, "1: (int, int) vs (int, int, int)");
	compared("f(int x) -> ()", "(SymInt _0) -> ()", DK_WHY_SCHEMA_ARG,
		 "1: int vs SymInt");
	/* refuses: dk_schema_compare EPROTOTYPE SCHEMA_RETURN */
	compared("f() -> (int, Dict(str, int))", "() -> (int, Dict(str, str))",
		 DK_WHY_SCHEMA_RETURN, "2: Dict(str, int) vs Dict(str, str)");
}

static void alias_analysis(void)
{
	struct dk_schema *a = parse("f(Tensor x) -> Tensor");
	struct dk_schema *b = parse("(Tensor _0) -> Tensor _0");

	CHECK_INT(dk_schema_alias_analysis(a), DK_ALIAS_FROM_SCHEMA);
	CHECK_INT(dk_schema_alias_analysis(b), DK_ALIAS_CONSERVATIVE);
	dk_schema_free(a);
	dk_schema_free(b);
}

/* ---- declarations -------------------------------------------------------- */

DK_OP(add, "schema::add", (struct dk_obj *x, struct dk_obj *y, double alpha, void *out),
	(x, y, alpha, out), (x, y));
DK_OP(pick, "schema::pick", (struct dk_list xs, void *items, long n, struct dk_generator *g),
	(xs, items, n, g), (dk_list_obj(&xs)));

static struct dk_provider prov;

static void described(const struct dk_op_decl *decl, const char *schema,
		      const char *culprit)
{
	struct dk_op_decl copy = *decl;

	copy.schema = schema;
	if (!culprit) {
		CHECK_OK(dk_op_define(&prov, &copy, 0, &t_why));
		CHECK_OK(dk_op_undefine(&prov, copy.name, &t_why));
		return;
	}
	/* refuses: dk_op_define EPROTOTYPE SCHEMA_PARAMS */
	CHECK_INT(dk_op_define(&prov, &copy, 0, &t_why), -EPROTOTYPE);
	CHECK_INT(t_why.reason, DK_WHY_SCHEMA_PARAMS);
	CHECK_STR(t_why.name, culprit);
}

/* The C parameters must have the objects and lists of the schema, in the same order. */
static void parameters_of_another_schema(void)
{
	struct dk_op_decl many = add_op;

	t_open("v1", 0);
	t_join(&prov, "schema");
	described(&add_op, "schema::add(Tensor a, Tensor? b, float c) -> Tensor", NULL);
	described(&add_op, "schema::add(int i, Tensor(a!) a, Tensor b) -> Tensor", NULL);
	/* a pointer to an undescribed type can be one more object */
	described(&add_op, "schema::add(Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor",
		  NULL);
	described(&add_op, "schema::add(Tensor a, Tensor[] out, Tensor b) -> ()", "y");
	described(&add_op, "schema::add(Tensor a) -> ()", "y");
	described(&add_op, "schema::add(Tensor[] a, Tensor b) -> ()", "x");
	described(&add_op, "schema::add(Tensor a, Tensor b, Tensor c, Tensor d) -> ()", "d");
	described(&pick_op, "schema::pick(Tensor[] a, Generator? g) -> ()", NULL);
	described(&pick_op, "schema::pick(Tensor?[] a, Tensor[] b) -> ()", NULL);
	described(&pick_op, "schema::pick(Tensor[] a, Tensor[] b, Tensor c) -> ()", "c");
	described(&pick_op, "schema::pick(Tensor a) -> ()", "xs");
	/* parameters that are not described are not compared */
	many.param = NULL;
	described(&many, "schema::add(Tensor[] a) -> ()", NULL);
	/* refuses: dk_op_define EINVAL BAD_ALIAS_ANALYSIS */
	many.schema = "schema::add(Tensor a) -> ()";
	many.alias_analysis = DK_ALIAS_INTERNAL_SPECIAL_CASE + 1;
	CHECK_INT(dk_op_define(&prov, &many, 0, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_ALIAS_ANALYSIS);
	CHECK_STR(t_why.name, "5");
	t_unregister(&prov);
	t_close();
}

static int sum_boxed(struct dk_call *c, void *args)
{
	const struct dk_op_decl *decl = dk_call_described(c);
	struct dk_value i, f, s, out;

	CHECK_OK(dk_arg_get(decl, args, dk_arg_find(decl, "i"), &i));
	CHECK_OK(dk_arg_get(decl, args, dk_arg_find(decl, "f"), &f));
	CHECK_OK(dk_arg_get(decl, args, dk_arg_find(decl, "s"), &s));
	CHECK_OK(dk_arg_get(decl, args, dk_arg_find(decl, "sizes"), &out));
	CHECK_INT(f.kind, DK_ARG_DOUBLE);
	CHECK_STR(s.str, "text");
	*(u64 *)out.ptr = i.i + f.bits;
	return 0;
}

static void integers_of_a_declaration(void)
{
	struct dk_schema *s = parse("f(int a, SymInt b, DeviceIndex c, Layout d) -> ()");
	struct dk_op_decl *decl;
	unsigned int i;

	if (!s || !CHECK_OK(dk_schema_decl(s, &decl, &t_why)))
		return;
	for (i = 0; i < decl->num_params; i++)
		CHECK_INT(decl->param[i].kind, DK_ARG_INT);
	dk_schema_decl_free(decl);
	dk_schema_free(s);
}

static void declaration_of_a_schema(void)
{
	struct dk_schema *s = parse("schema::sum.of(Tensor x, bool b, int i, float f, str? s, "
				    "Generator? g, int[]? sizes, ScalarType t) -> ()");
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	struct dk_generator g = { t_obj(DK_KEY_BITS(DK_CUDA)) };
	struct dk_local local = t_no_local();
	u64 out = 0, args[16];
	struct dk_value v[8] = {
		{ .kind = DK_ARG_OBJECT, .obj = &x },
		{ .kind = DK_ARG_BOOL, .i = 1 },
		{ .kind = DK_ARG_INT, .i = -7 },
		{ .kind = DK_ARG_DOUBLE, .bits = 1000 },
		{ .kind = DK_ARG_STRING, .str = "text" },
		{ .kind = DK_ARG_GENERATOR, .gen = &g },
		{ .kind = DK_ARG_POINTER, .ptr = &out },
		{ .kind = DK_ARG_INT, .i = 6 },
	};
	struct dk_op_decl *decl;
	struct dk_impl impl;
	struct dk_op *op;

	t_open("v1", 0);
	t_join(&prov, "schema");
	if (!s || !CHECK_OK(dk_schema_decl(s, &decl, &t_why)))
		return;
	dk_schema_free(s);
	CHECK_STR(decl->name, "schema::sum.of");
	impl = (struct dk_impl){ .op = decl, .fn = (dk_fn_t)sum_boxed, .label = "sum",
				 .key = DK_CPU, .flags = DK_IMPL_F_BOXED,
				 .size = sizeof(impl) };
	decl->name = "schema::sum";
	/* the operator must have the name in the schema */
	CHECK_INT(dk_op_define(&prov, decl, 0, &t_why), -EINVAL);
	decl->name = "schema::sum.of";
	CHECK_OK(dk_op_define(&prov, decl, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, &impl, 1, &t_why));
	op = dk_op_get(t_reg, "schema::sum.of");
	CHECK(decl->args_size <= sizeof(args));
	CHECK_OK(dk_args_pack(decl, v, 8, args, sizeof(args), &t_why));
	CHECK_OK(dk_call_boxed(op, decl, &local, args));
	CHECK_INT(out, 993);
	dk_op_put(op);
	t_unregister(&prov);
	t_close();
	dk_schema_decl_free(decl);
	dk_schema_decl_free(NULL);
	s = parse("(Tensor _0) -> Tensor _0");
	/* refuses: dk_schema_decl EINVAL BAD_NAME */
	CHECK_INT(dk_schema_decl(s, &decl, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_NAME);
	CHECK(!decl);
	dk_schema_free(s);
}

static void missing_text_is_refused(void)
{
	struct dk_schema *s = NULL;

	/* refuses: dk_schema_parse EINVAL NULL_ARGUMENT */
	CHECK_INT(dk_schema_parse(NULL, &s, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_NULL_ARGUMENT);
	CHECK_STR(t_why.name, "text");
	CHECK(!s);
}

T_SUITE(schema,
	T(missing_text_is_refused),
	T(parts),
	T(printed),
	T(wrong_schemas_are_refused),
	T(types_and_defaults),
	T(dispatch_mask),
	T(compare),
	T(alias_analysis),
	T(parameters_of_another_schema),
	T(integers_of_a_declaration),
	T(declaration_of_a_schema));
