// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests layouts that are parsed from a text and printed again. full_registry.h explains the
 * comments "refuses:".
 */
#include "full_registry.h"

/* A small layout with all keys that tables need. */
#define SMALL_HEAD	"layout small\nbackends CPU PrivateUse1\n"
#define SMALL_NAMES							\
	"functionalities Undefined Dense* NestedTensor* BackendSelect "	\
	"ADInplaceOrView AutogradOther AutogradFunctionality* "		\
	"AutogradNestedTensor PythonDispatcher"
#define SMALL_KEYS	SMALL_NAMES "\n"
#define SMALL_ALIASES							\
	"aliases Autograd CompositeImplicitAutograd "			\
	"CompositeImplicitAutogradNestedTensor CompositeExplicitAutograd " \
	"CompositeExplicitAutogradNonFunctional\n"
#define SMALL		SMALL_HEAD SMALL_KEYS SMALL_ALIASES "tables\n"

static void text_is_parsed_into_a_layout(void)
{
	struct dk_layout *l = dk_layout_parse("# a comment\n\n" SMALL, &t_why);
	struct dk_keyset ks;

	if (!CHECK(l))
		return;
	CHECK_INT(t_why.reason, DK_WHY_NONE);
	CHECK_STR(dk_layout_name(l), "small");
	CHECK_INT(dk_layout_backends(l), 2);
	CHECK_INT(dk_layout_functionalities(l), 9);
	CHECK_INT(dk_layout_entries(l), 12);
	CHECK_INT(dk_layout_full(l).bits, 0x3ff);
	CHECK_INT(dk_layout_knows(l), DK_KNOWS_TABLES | DK_KNOWS_SETS);
	CHECK_OK(dk_keyset_parse(l, "AutogradPrivateUse1|CPU", &ks, &t_why));
	CHECK_INT(ks.bits, 0x87);
	CHECK(!dk_layout_next("small"));
	CHECK(!dk_layout_find("small", NULL));
	dk_layout_free(l);
	dk_layout_free(NULL);
}

/* Tables, calls and private backends work with a parsed layout as with any other. */
static void registry_uses_a_parsed_layout(void)
{
	struct dk_layout *l = dk_layout_parse(SMALL, &t_why);
	const struct dk_layout *kept;
	struct dk_op_decl decl = t_decl("small::op");
	struct dk_provider prov;
	struct dk_impl impls[2];
	struct dk_obj x = { 0 };
	unsigned int key, other;
	struct dk_op *op;

	if (!CHECK(l))
		return;
	CHECK_OK(dk_key_parse(l, "CPU", 0, &key, &t_why));
	CHECK_OK(dk_key_parse(l, "CompositeImplicitAutograd", 0, &other, &t_why));
	t_reg = dk_registry_alloc(l, 0, &t_why);
	/* the registry holds a reference from here on */
	dk_layout_free(l);
	if (!CHECK(t_reg))
		return;
	kept = dk_registry_layout(t_reg);
	prov = (struct dk_provider)DK_PROVIDER("small");
	prov.layout = "small";
	prov.registry = t_reg;
	CHECK_OK(dk_provider_register(&prov, &t_why));
	CHECK_OK(dk_op_define(&prov, &decl, 0, &t_why));
	impls[0] = t_impl(&decl, key, 1);
	impls[1] = t_impl(&decl, other, 2);
	CHECK_OK(dk_impls_register(&prov, impls, 2, &t_why));
	op = dk_op_get(t_reg, "small::op");
	x.ks = dk_key_set(kept, key);
	CHECK_STR(t_route_label(op, &x, NULL), "f1");
	CHECK_OK(dk_key_parse(kept, "PrivateUse1", 0, &key, &t_why));
	x.ks = dk_key_set(kept, key);
	CHECK_STR(t_route_label(op, &x, NULL), "f2");
	dk_op_put(op);
	CHECK_OK(dk_provider_unregister(&prov));
	t_close();
}

DK_OP(turn, "layout_texts::turn", (struct dk_obj *x, int *depth), (x, depth), (x));

static int turn_below_it(struct dk_call *c, struct dk_obj *x, int *depth)
{
	return ++*depth > 3 ? -ELOOP : turn_below(c, x, depth);
}

static int turn_served(struct dk_call *c, struct dk_obj *x, int *depth)
{
	return 0;
}

/*
 * Returns the text of v1 in which @are, of the same length, replaces @were. Valid until the next
 * call.
 */
static char *v1_with(const char *were, const char *are)
{
	static char text[8192];
	char *at;

	CHECK(dk_layout_describe(dk_layout_find("v1", NULL), text, sizeof(text)) <
	      sizeof(text));
	at = strstr(text, were);
	if (CHECK(at))
		memcpy(at, are, strlen(are));
	return text;
}

/* Returns v1 with another name, and with its last two functionalities exchanged. */
static struct dk_layout *turned_around(void)
{
	char *text = v1_with("PreDispatch PythonDispatcher", "PythonDispatcher PreDispatch");
	struct dk_layout *l;
	char *at;

	at = strstr(text, "layout v1");
	if (!CHECK(at))
		return NULL;
	at[sizeof("layout v1") - 2] = '0';
	l = dk_layout_parse(text, &t_why);
	CHECK(l);
	return l;
}

/* The keyset below a key is computed in the registry's layout, and not in v1. */
static void below_uses_the_layout_of_the_registry(void)
{
	struct dk_layout *l = turned_around();
	struct dk_provider prov;
	struct dk_impl impls[2];
	unsigned int key = 0;
	struct dk_op *op;
	struct dk_obj x;
	int depth = 0;

	t_reg = dk_registry_alloc(l, DK_REGISTRY_BUILTINS, &t_why);
	dk_layout_free(l);
	if (!CHECK(t_reg))
		return;
	prov = (struct dk_provider)DK_PROVIDER("turned");
	prov.layout = dk_layout_name(dk_registry_layout(t_reg));
	prov.registry = t_reg;
	CHECK_OK(dk_provider_register(&prov, &t_why));
	CHECK_OK(dk_op_define(&prov, &turn_op, 0, &t_why));
	CHECK_OK(dk_key_parse(dk_registry_layout(t_reg), "PreDispatch", 0, &key, &t_why));
	impls[0] = (struct dk_impl)DK_IMPL(turn, DK_CPU, turn_served);
	impls[1] = (struct dk_impl)DK_IMPL(turn, DK_CPU, turn_below_it);
	impls[1].key = key;
	CHECK_OK(dk_impls_register(&prov, impls, 2, &t_why));
	op = dk_op_get(t_reg, "layout_texts::turn");
	x = t_obj(DK_KEY_BITS(DK_CPU) | dk_key_set(dk_registry_layout(t_reg), key).bits);
	CHECK_OK(turn_at(op, &dk_local_default, &x, &depth));
	CHECK_INT(depth, 1);
	/* call again: this time the signatures are not compared */
	CHECK_OK(turn_at(op, &dk_local_default, &x, &depth));
	CHECK_INT(depth, 2);
	dk_op_put(op);
	CHECK_OK(dk_provider_unregister(&prov));
	t_close();
}

/* Checks that a text is refused with this reason and name. */
static bool refused(const char *text, unsigned int reason, const char *name)
{
	struct dk_layout *l;

	r_poison();
	l = dk_layout_parse(text, &t_why);
	dk_layout_free(l);
	return CHECK(!l) && CHECK_INT(t_why.reason, reason) && CHECK_STR(t_why.name, name);
}

static void invalid_texts_are_refused(void)
{
	/* refuses: dk_layout_parse EINVAL NULL_ARGUMENT */
	refused(NULL, DK_WHY_NULL_ARGUMENT, "text");
	/* refuses: dk_layout_parse EINVAL LAYOUT_LACKS */
	refused("", DK_WHY_LAYOUT_LACKS, "line 1: layout NAME");
	refused("\n# nothing\n", DK_WHY_LAYOUT_LACKS, "line 3: layout NAME");
	refused("backends CPU\n", DK_WHY_LAYOUT_LACKS, "line 1: layout NAME");
	refused("layout", DK_WHY_LAYOUT_LACKS, "line 1: a name");
	refused("layout x\nfunctionalities Undefined Dense* X\n", DK_WHY_LAYOUT_LACKS,
		"line 3: backends");
	refused("layout x\nbackends\nfunctionalities Undefined X\nlegacy X", DK_WHY_LAYOUT_LACKS,
		"line 4: backends");
	refused("layout x\nfunctionalities Undefined X\ntables", DK_WHY_LAYOUT_LACKS,
		"line 3: Dense");
	refused(SMALL_HEAD, DK_WHY_LAYOUT_LACKS, "line 3: functionalities");
	refused(SMALL_HEAD "functionalities Dense*", DK_WHY_LAYOUT_LACKS,
		"line 3: Undefined");
	refused(SMALL_HEAD SMALL_KEYS "strict", DK_WHY_LAYOUT_LACKS,
		"line 4: a functionality");
	refused(SMALL_HEAD SMALL_KEYS "tables", DK_WHY_LAYOUT_LACKS, "line 4: Autograd");
	refused(SMALL_HEAD "functionalities Undefined Dense X\n" SMALL_ALIASES "tables",
		DK_WHY_LAYOUT_LACKS, "line 5: Dense");
	/* refuses: dk_layout_parse EINVAL LAYOUT_LINE */
	refused("layout x\nbackend CPU\n", DK_WHY_LAYOUT_LINE, "line 2: backend");
	refused("layout x y\n", DK_WHY_LAYOUT_LINE, "line 1: y");
	refused(SMALL "trimmed yes", DK_WHY_LAYOUT_LINE, "line 6: yes");
	/* refuses: dk_layout_parse EINVAL LAYOUT_WORD */
	refused(SMALL_HEAD SMALL_KEYS "legacy Python", DK_WHY_LAYOUT_WORD,
		"line 4: Python");
	refused(SMALL_HEAD SMALL_KEYS "other-autograd CPU CUDA", DK_WHY_LAYOUT_WORD,
		"line 4: CUDA");
	refused(SMALL_HEAD SMALL_KEYS "strict BackendSelect CPU", DK_WHY_LAYOUT_WORD,
		"line 4: BackendSelect");
	refused(SMALL_HEAD SMALL_KEYS "strict Dense CUDA", DK_WHY_LAYOUT_WORD,
		"line 4: CUDA");
	refused(SMALL "aliases Strange", DK_WHY_LAYOUT_WORD, "line 6: Strange");
	/* refuses: dk_layout_parse EINVAL LAYOUT_NAME */
	refused("layout 0x1", DK_WHY_LAYOUT_NAME, "line 1: 0x1");
	refused("layout x\nbackends CPU|CUDA", DK_WHY_LAYOUT_NAME, "line 2: CPU|CUDA");
	refused("layout x\nbackends CPU=", DK_WHY_LAYOUT_NAME, "line 2: CPU=");
	refused("layout x\nbackends =CPU", DK_WHY_LAYOUT_NAME, "line 2: =CPU");
	refused("layout x\nbackends B\xc3\xbc", DK_WHY_LAYOUT_NAME, "line 2: B\xc3\xbc");
	refused(SMALL_HEAD "functionalities Undefined *", DK_WHY_LAYOUT_NAME, "line 3: *");
	refused("layout a123456789b123456789c123456789d123456789e123456789f123456",
		DK_WHY_LAYOUT_NAME,
		"line 1: a123456789b123456789c123456789d123456789e123456789f123456");
	/* refuses: dk_layout_parse EINVAL LAYOUT_TWICE */
	refused("layout x\nbackends CPU CPU", DK_WHY_LAYOUT_TWICE, "line 2: CPU");
	refused(SMALL "functionalities Dense", DK_WHY_LAYOUT_TWICE, "line 6: Dense");
	refused(SMALL "functionalities Undefined", DK_WHY_LAYOUT_TWICE,
		"line 6: Undefined");
	refused(SMALL "aliases Autograd", DK_WHY_LAYOUT_TWICE, "line 6: Autograd");
	refused(SMALL "sentinel A\nsentinel B", DK_WHY_LAYOUT_TWICE, "line 7: B");
	refused(SMALL_HEAD SMALL_KEYS "strict Dense CPU\nstrict Dense CPU", DK_WHY_LAYOUT_TWICE,
		"line 5: Dense");
	/* two backends with the same printed name, or one with the name of another */
	refused("layout x\nbackends A=XBit B=XBit\nfunctionalities Undefined Dense* X",
		DK_WHY_LAYOUT_TWICE, "XBit");
	refused("layout x\nbackends A=B B\nfunctionalities Undefined Dense* X",
		DK_WHY_LAYOUT_TWICE, "B");
	refused("layout x\nbackends Invalid\nfunctionalities Undefined Dense* X",
		DK_WHY_LAYOUT_TWICE, "InvalidBit");
	/* two keys that would print alike */
	refused("layout x\nbackends CPU\nfunctionalities Undefined Dense* CPU",
		DK_WHY_LAYOUT_TWICE, "CPU");
	refused("layout x\nbackends CPU\nfunctionalities Undefined Dense* Sparse* SparseCPU",
		DK_WHY_LAYOUT_TWICE, "SparseCPU");
	refused("layout x\nbackends CPU\nfunctionalities Undefined Dense* X=CPU",
		DK_WHY_LAYOUT_TWICE, "CPU");
	refused("layout x\nbackends CPU\nfunctionalities Undefined A=X B=X C",
		DK_WHY_LAYOUT_TWICE, "X");
	/* refuses: dk_layout_parse EINVAL LAYOUT_BLOCK */
	refused("layout x\nbackends CPU\nfunctionalities Undefined Dense*\n\nbatched-empty\n",
		DK_WHY_LAYOUT_BLOCK, "line 3: Dense");
	refused("layout x\nbackends CPU\nfunctionalities Undefined* Dense* X\nbatched-empty\n",
		DK_WHY_LAYOUT_BLOCK, "line 3: Undefined*");
	/* a table has one entry for each of these keys */
	refused(SMALL_HEAD "functionalities Undefined Dense* NestedTensor* BackendSelect "
		"ADInplaceOrView AutogradOther* AutogradFunctionality* AutogradNestedTensor "
		"PythonDispatcher\n" SMALL_ALIASES "tables",
		DK_WHY_LAYOUT_BLOCK, "line 3: AutogradOther");
	refused(SMALL_HEAD "functionalities Undefined Dense* NestedTensor* BackendSelect "
		"ADInplaceOrView AutogradOther AutogradFunctionality*\n"
		"functionalities AutogradNestedTensor* PythonDispatcher\n" SMALL_ALIASES "tables",
		DK_WHY_LAYOUT_BLOCK, "line 4: AutogradNestedTensor");
}

#define EIGHT(x)	x "1 " x "2 " x "3 " x "4 " x "5 " x "6 " x "7 " x "8 "
#define SIXTEEN(x)	EIGHT(x "a") EIGHT(x "b")

static void size_of_a_text_is_limited(void)
{
	struct dk_layout *l;

	/* refuses: dk_layout_parse EINVAL LAYOUT_SIZE */
	refused("layout x\nbackends " SIXTEEN("B") "B17", DK_WHY_LAYOUT_SIZE,
		"line 2: B17");
	refused("layout x\nbackends " SIXTEEN("B") "\nfunctionalities Undefined "
		SIXTEEN("F") SIXTEEN("G") EIGHT("H") EIGHT("I"),
		DK_WHY_LAYOUT_SIZE, "line 3: I8");
	refused(SMALL_HEAD "functionalities Undefined " SIXTEEN("F") SIXTEEN("G")
		SIXTEEN("H") SIXTEEN("I") "\nbatched-empty\n",
		DK_WHY_LAYOUT_SIZE, "line 3: Ib6");
	/* the functionalities may come first */
	refused("layout x\nfunctionalities Undefined " SIXTEEN("F") SIXTEEN("G") SIXTEEN("H")
		EIGHT("I") "J1 J2 J3 J4 J5 J6\nbackends B1 B2\nbatched-empty\n",
		DK_WHY_LAYOUT_SIZE, "line 3: B2");
	refused(SMALL_HEAD SMALL_KEYS "aliases " EIGHT("A") "A9", DK_WHY_LAYOUT_SIZE,
		"line 4: A9");

	/* the maximum: 16 backends and 48 functionalities, 64 together */
	l = dk_layout_parse("layout full\nbackends " SIXTEEN("B") "\nfunctionalities Undefined "
			    "D1* D2* D3* D4* D5* D6* D7* D8* D9* Da* Db* Dc* Dd* De* Df* "
			    "Dg* Dh* Di* Dj* Dk* Dl* Dm* Dn* Do* Dp* Dq* Dr* Ds* Dt* Du* "
			    "Dv* Dw* Dx* Dy* Dz* E1* E2* E3* E4* E5* E6* E7* E8* E9* Ea* Eb* "
			    "Ec", &t_why);
	if (!CHECK(l))
		return;
	CHECK_INT(dk_layout_functionalities(l), 48);
	CHECK_INT(dk_layout_entries(l), 738);
	CHECK(dk_layout_full(l).bits == ~0ull >> 1);
	CHECK_INT(dk_keyset_slot(l, dk_layout_full(l)), 737);
	CHECK(!dk_layout_knows(l));
	dk_layout_free(l);
}

/* Checks that a walk finds the entries 1 to @n of @ks, and then ends. */
static void walk(const struct dk_layout *l, struct dk_keyset ks, unsigned int n)
{
	unsigned int i, slot = 0;

	for (i = 1; i <= n; i++) {
		slot = dk_keyset_next(l, ks, slot);
		CHECK_INT(slot, i);
	}
	CHECK_INT(dk_keyset_next(l, ks, slot), 0);
}

static void set_of_64_functionalities_has_an_end(void)
{
	struct dk_layout *l = dk_layout_parse("layout flat\nfunctionalities Undefined "
					      SIXTEEN("F") SIXTEEN("G") SIXTEEN("H")
					      EIGHT("I") "J1 J2 J3 J4 J5 J6 J7", &t_why);

	if (!CHECK(l))
		return;
	CHECK_INT(dk_layout_functionalities(l), 64);
	walk(l, dk_layout_full(l), 63);
	dk_layout_free(l);
}

/* A layout with 250 entries: 16 backends, 15 keys for each of them, and 10 other keys. */
#define LARGE(more)							\
	"layout large\nbackends CPU PrivateUse1 " EIGHT("B") "C1 C2 C3 C4 C5 C6\n" \
	SMALL_NAMES " D1* D2* D3* D4* D5* D6* D7* D8* D9* Da* Db* Dc* P1 P2 P3 P4" more "\n" \
	SMALL_ALIASES "tables\n"

static void register_at_all_entries(struct dk_provider *prov, const struct dk_op_decl *decl,
				    const struct dk_layout *l)
{
	unsigned int n = dk_layout_entries(l) - 1, i;
	struct dk_impl *impls = t_alloc(n * sizeof(*impls));
	struct dk_op *op = dk_op_get(t_reg, decl->name);
	struct dk_obj x = { 0 };

	for (i = 0; i < n; i++)
		impls[i] = t_impl(decl, dk_slot_key(l, i + 1), i % T_FUNCTIONS);
	CHECK_OK(dk_impls_register(prov, impls, n, &t_why));
	CHECK_OK(dk_registry_check(t_reg, &t_why));
	for (i = 0; i < n; i++) {
		x.ks = dk_key_set(l, impls[i].key);
		CHECK_STR(t_route_label(op, &x, NULL), impls[i].label);
	}
	dk_op_put(op);
	CHECK_OK(dk_provider_unregister(prov));
	t_free(impls);
}

static void tables_have_at_most_250_entries(void)
{
	struct dk_layout *l = dk_layout_parse(LARGE(" P5"), &t_why);
	struct dk_provider prov = DK_PROVIDER("large");
	struct dk_op_decl decl = t_decl("large::op");

	CHECK_INT(dk_layout_entries(l), 251);
	CHECK_INT(dk_layout_knows(l), DK_KNOWS_SETS);
	CHECK(!dk_registry_alloc(l, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NO_TABLE);
	dk_layout_free(l);
	l = dk_layout_parse(LARGE(""), &t_why);
	CHECK_INT(dk_layout_entries(l), 250);
	t_reg = dk_registry_alloc(l, 0, &t_why);
	dk_layout_free(l);
	if (!CHECK(t_reg))
		return;
	prov.layout = "large";
	prov.registry = t_reg;
	CHECK_OK(dk_provider_register(&prov, &t_why));
	CHECK_OK(dk_op_define(&prov, &decl, 0, &t_why));
	register_at_all_entries(&prov, &decl, dk_registry_layout(t_reg));
	t_close();
}

/*
 * Checks that a layout named v1 is refused if its lists differ from those of v1. The lines after
 * the lists, from "strict" on, are left out.
 */
static void refused_as_v1(const char *were, const char *are)
{
	char *text = v1_with(were, are), *end = strstr(text, "\nstrict");

	if (CHECK(end))
		*end = 0;
	refused(text, DK_WHY_LAYOUT_TAKEN, "v1");
}

static void layout_names_are_unique(void)
{
	struct dk_layout *l;

	refused_as_v1("Lazy", "Lary");
	refused_as_v1("Vulkan", "Vulcan");
	refused_as_v1("Sparse* SparseCsr*", "Sparse  SparseCsr*");
	refused_as_v1("Autograd CompositeImplicitAutograd", "CompositeImplicitAutograd Autograd");
	/* refuses: dk_layout_parse EEXIST LAYOUT_TAKEN */
	refused("layout v1\nbackends CPU\nfunctionalities Undefined Dense* X",
		DK_WHY_LAYOUT_TAKEN, "v1");
	refused("layout pytorch-2.6.9\nbackends CPU\nfunctionalities Undefined Dense* X",
		DK_WHY_LAYOUT_TAKEN, "pytorch-2.6.9");
	l = dk_layout_parse("layout pytorch-2.99\nbackends CPU\n"
			    "functionalities Undefined Dense* X", &t_why);
	CHECK(l);
	dk_layout_free(l);
}

/* Checks that @l is the same after it was printed and parsed again. */
static void round_trip(const struct dk_layout *l)
{
	size_t len = dk_layout_describe(l, NULL, 0);
	char *text = t_alloc(len + 1), *again = t_alloc(len + 1), name[DK_NAME_MAX];
	char other[DK_NAME_MAX];
	struct dk_layout *read;
	unsigned int key, a, b;

	CHECK_INT(dk_layout_describe(l, text, len + 1), len);
	CHECK_INT(strlen(text), len);
	read = dk_layout_parse(text, &t_why);
	if (!CHECK(read)) {
		t_note("%s: %s: %s", dk_layout_name(l), t_why.text, t_why.name);
		goto out;
	}
	CHECK_INT(dk_layout_describe(read, again, len + 1), len);
	CHECK_STR(again, text);
	CHECK_INT(dk_layout_keys(read), dk_layout_keys(l));
	CHECK_INT(dk_layout_knows(read), dk_layout_knows(l));
	CHECK_INT(dk_table_size(read), dk_table_size(l));
	for (key = 0; key < dk_layout_keys(l); key++) {
		CHECK_STR(dk_key_name(read, key, name), dk_key_name(l, key, other));
		CHECK_INT(dk_key_set(read, key).bits, dk_key_set(l, key).bits);
		CHECK_INT(dk_alias_set(read, key).bits, dk_alias_set(l, key).bits);
		CHECK_INT(dk_backends_of_autograd(read, key).bits,
			  dk_backends_of_autograd(l, key).bits);
		CHECK_INT(dk_key_parse(read, name, DK_PARSE_STRICT, &a, NULL),
			  dk_key_parse(l, name, DK_PARSE_STRICT, &b, NULL));
	}
	dk_layout_free(read);
out:
	t_free(text);
	t_free(again);
}

static void lists_are_printed_in_short_lines(void)
{
	static const char lines[] =
		SMALL_HEAD
		"functionalities Undefined Dense* NestedTensor* BackendSelect ADInplaceOrView\n"
		"functionalities AutogradOther AutogradFunctionality* AutogradNestedTensor\n"
		"functionalities PythonDispatcher\n"
		"aliases Autograd CompositeImplicitAutograd CompositeImplicitAutogradNestedTensor\n"
		"aliases CompositeExplicitAutograd CompositeExplicitAutogradNonFunctional\n"
		"tables\n";
	struct dk_layout *l = dk_layout_parse(SMALL, &t_why);
	char text[sizeof(lines)];

	CHECK_INT(dk_layout_describe(l, text, sizeof(text)), sizeof(lines) - 1);
	CHECK_STR(text, lines);
	dk_layout_free(l);
}

static void printed_layouts_parse_back(void)
{
	struct dk_layout *all = dk_layout_parse(SMALL "strict Dense CPU PrivateUse1\n",
						&t_why);
	const char *name = NULL;
	char buf[8];

	while ((name = dk_layout_next(name)))
		round_trip(dk_layout_find(name, NULL));
	round_trip(dk_layout_find("v1+trimmed", NULL));
	/* with a "strict" line, a layout also has the names that PyTorch's parser accepts */
	CHECK(dk_layout_knows(all) & DK_KNOWS_STRICT);
	round_trip(all);
	dk_layout_free(all);
	/* a text that is too long is truncated */
	memset(buf, 'x', sizeof(buf));
	CHECK(dk_layout_describe(NULL, buf, sizeof(buf)) > 1000);
	CHECK_STR(buf, "layout ");
}

/* A user's layout can have tables and lack the names that PyTorch's parser accepts. */
static void strict_parsing_without_names_is_refused(void)
{
	struct dk_layout *l = dk_layout_parse(SMALL, &t_why);
	unsigned int key;

	t_reg = dk_registry_alloc(l, 0, &t_why);
	if (CHECK(t_reg)) {
		/* refuses: dk_registry_key_parse_strict EOPNOTSUPP NO_STRICT */
		CHECK_INT(dk_registry_key_parse_strict(t_reg, "CPU", &key, &t_why),
			  -EOPNOTSUPP);
		CHECK_INT(t_why.reason, DK_WHY_NO_STRICT);
		t_close();
	}
	dk_layout_free(l);
}

T_SUITE(layout_texts,
	T(text_is_parsed_into_a_layout),
	T(registry_uses_a_parsed_layout),
	T(below_uses_the_layout_of_the_registry),
	T(invalid_texts_are_refused),
	T(size_of_a_text_is_limited),
	T(set_of_64_functionalities_has_an_end),
	T(tables_have_at_most_250_entries),
	T(layout_names_are_unique),
	T(lists_are_printed_in_short_lines),
	T(printed_layouts_parse_back),
	T(strict_parsing_without_names_is_refused));
