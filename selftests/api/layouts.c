// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layouts: read from a text and written down again, translated, asked for what
 * is not known of them. Their numbers are in selftests/unit/layout_test.c.
 */
#include "refuse.h"

/* A small one, with all that tables need. */
#define SMALL_HEAD	"layout small\nbackends CPU PrivateUse1\n"
#define SMALL_KEYS							\
	"functionalities Undefined Dense* NestedTensor* BackendSelect "	\
	"ADInplaceOrView AutogradOther AutogradFunctionality* "		\
	"AutogradNestedTensor PythonDispatcher\n"
#define SMALL_ALIASES							\
	"aliases Autograd CompositeImplicitAutograd "			\
	"CompositeImplicitAutogradNestedTensor CompositeExplicitAutograd " \
	"CompositeExplicitAutogradNonFunctional\n"
#define SMALL		SMALL_HEAD SMALL_KEYS SMALL_ALIASES "tables\n"

/* ---- read from a text ------------------------------------------------------- */

static void a_text_is_a_layout(void)
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
	CHECK(!dk_layout_next(l));
	CHECK(!dk_layout_find("small", NULL));
	dk_layout_free(l);
	dk_layout_free(NULL);
}

/* Tables, calls and private backends work with it as with any. */
static void a_registry_takes_it(void)
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
	/* which keeps it from here on */
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
	CHECK_STR(t_goes(op, &x, NULL), "f1");
	CHECK_OK(dk_key_parse(kept, "PrivateUse1", 0, &key, &t_why));
	x.ks = dk_key_set(kept, key);
	CHECK_STR(t_goes(op, &x, NULL), "f2");
	dk_op_put(op);
	CHECK_OK(dk_provider_unregister(&prov));
	t_close();
}

DK_OP(turn, "layouts::turn", (struct dk_obj *x, int *depth), (x, depth), (x));

static int turn_below_it(struct dk_call *c, struct dk_obj *x, int *depth)
{
	return ++*depth > 3 ? -ELOOP : turn_below(c, x, depth);
}

static int turn_served(struct dk_call *c, struct dk_obj *x, int *depth)
{
	return 0;
}

/* v1 under another name, with its last two functionalities in the other order. */
static struct dk_layout *turned_around(void)
{
	static const char were[] = "PreDispatch PythonDispatcher";
	static const char are[] = "PythonDispatcher PreDispatch";
	static char text[8192];
	struct dk_layout *l;
	char *at;

	CHECK(dk_layout_describe(dk_layout_find("v1", NULL), text, sizeof(text)) <
	      sizeof(text));
	at = strstr(text, were);
	if (!CHECK(at))
		return NULL;
	memcpy(at, are, sizeof(are) - 1);
	at = strstr(text, "layout v1");
	if (!CHECK(at))
		return NULL;
	at[sizeof("layout v1") - 2] = '0';
	l = dk_layout_parse(text, &t_why);
	CHECK(l);
	return l;
}

/* What stays in the set of a redispatch is said by the layout and not by the shape of v1. */
static void below_in_a_layout_like_v1(void)
{
	struct dk_layout *l = turned_around();
	struct dk_provider prov;
	struct dk_impl impls[2];
	unsigned int key = 0;
	struct dk_op *op;
	struct dk_obj x;
	int depth = 0;

	t_reg = dk_registry_alloc(l, DK_REGISTRY_STOCKED, &t_why);
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
	op = dk_op_get(t_reg, "layouts::turn");
	x = t_obj(DK_KEY_BITS(DK_CPU) | dk_key_set(dk_registry_layout(t_reg), key).bits);
	CHECK_OK(turn_at(op, &dk_local_default, &x, &depth));
	CHECK_INT(depth, 1);
	/* now that the signature has been compared */
	CHECK_OK(turn_at(op, &dk_local_default, &x, &depth));
	CHECK_INT(depth, 2);
	dk_op_put(op);
	CHECK_OK(dk_provider_unregister(&prov));
	t_close();
}

/* The text is refused with this reason and name. */
static bool refused(const char *text, unsigned int reason, const char *name)
{
	struct dk_layout *l;

	r_poison();
	l = dk_layout_parse(text, &t_why);
	dk_layout_free(l);
	return CHECK(!l) && CHECK_INT(t_why.reason, reason) && CHECK_STR(t_why.name, name);
}

static void texts_that_are_none(void)
{
	/* refuses: dk_layout_parse EINVAL LAYOUT_LACKS */
	refused("", DK_WHY_LAYOUT_LACKS, "line 1: layout NAME");
	refused("\n# nothing\n", DK_WHY_LAYOUT_LACKS, "line 3: layout NAME");
	refused("backends CPU\n", DK_WHY_LAYOUT_LACKS, "line 1: layout NAME");
	refused("layout", DK_WHY_LAYOUT_LACKS, "line 1: a name");
	refused("layout x\nfunctionalities Undefined Dense* X\n", DK_WHY_LAYOUT_LACKS,
		"line 3: backends");
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
	/* two backends that would print alike, or one as another's name */
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
	/* refuses: dk_layout_parse EINVAL LAYOUT_BLOCK */
	refused("layout x\nbackends CPU\nfunctionalities Undefined Dense*",
		DK_WHY_LAYOUT_BLOCK, "line 3: Dense");
	refused("layout x\nbackends CPU\nfunctionalities Undefined* Dense* X",
		DK_WHY_LAYOUT_BLOCK, "line 3: Undefined*");
}

#define EIGHT(x)	x "1 " x "2 " x "3 " x "4 " x "5 " x "6 " x "7 " x "8 "
#define SIXTEEN(x)	EIGHT(x "a") EIGHT(x "b")

static void limits_of_a_text(void)
{
	struct dk_layout *l;

	/* refuses: dk_layout_parse EINVAL LAYOUT_SIZE */
	refused("layout x\nbackends " SIXTEEN("B") "B17", DK_WHY_LAYOUT_SIZE,
		"line 2: B17");
	refused("layout x\nbackends " SIXTEEN("B") "\nfunctionalities Undefined "
		SIXTEEN("F") SIXTEEN("G") EIGHT("H") EIGHT("I"),
		DK_WHY_LAYOUT_SIZE, "line 3: I8");
	refused(SMALL_HEAD "functionalities Undefined " SIXTEEN("F") SIXTEEN("G")
		SIXTEEN("H") SIXTEEN("I"), DK_WHY_LAYOUT_SIZE, "line 3: Ib8");
	refused(SMALL_HEAD SMALL_KEYS "aliases " EIGHT("A") "A9", DK_WHY_LAYOUT_SIZE,
		"line 4: A9");

	/* all 64 of them, and more entries than a row can name functions for */
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

static void a_name_means_one_thing(void)
{
	struct dk_layout *l;

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

/* Written down and read again, every layout is the same. */
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

static void described_layouts_read_back(void)
{
	struct dk_layout *all = dk_layout_parse(SMALL "strict Dense CPU PrivateUse1\n",
						&t_why);
	const struct dk_layout *l = NULL;
	char buf[8];

	while ((l = dk_layout_next(l)))
		round_trip(l);
	round_trip(dk_layout_find("v1+trimmed", NULL));
	/* a parser that takes all is known, too */
	CHECK(dk_layout_knows(all) & DK_KNOWS_STRICT);
	round_trip(all);
	dk_layout_free(all);
	/* cut to fit */
	memset(buf, 'x', sizeof(buf));
	CHECK(dk_layout_describe(NULL, buf, sizeof(buf)) > 1000);
	CHECK_STR(buf, "layout ");
}

/* ---- what is not known ------------------------------------------------------ */

static void what_is_not_known_is_refused(void)
{
	const struct dk_layout *l = dk_layout_find("pytorch-1.12", NULL);
	struct dk_keyset ks = { 77 };
	unsigned int key = 77;

	r_open();
	CHECK(!dk_layout_knows(l));
	/* refuses: dk_key_parse EOPNOTSUPP NO_STRICT */
	REFUSED(dk_key_parse(l, "CPU", DK_PARSE_STRICT, &key, &t_why), EOPNOTSUPP,
		NO_STRICT, "pytorch-1.12");
	/* refuses: dk_constant_set EOPNOTSUPP NO_SETS */
	REFUSED(dk_constant_set(l, "autogradother_backends", &ks, &t_why), EOPNOTSUPP,
		NO_SETS, "pytorch-1.12");
	/* refuses: dk_compute_key EOPNOTSUPP NO_SETS */
	REFUSED(dk_compute_key(l, NULL, NULL, NULL, &key, &t_why), EOPNOTSUPP, NO_SETS,
		"pytorch-1.12");
	/* refuses: dk_registry_alloc EOPNOTSUPP NO_TABLE */
	CHECK(!dk_registry_alloc(l, 0, &t_why));
	CHECK_INT(t_why.reason, DK_WHY_NO_TABLE);
	CHECK_STR(t_why.name, "pytorch-1.12");
	CHECK_INT(key, 77);
	CHECK_INT(ks.bits, 77);
	r_close();
}

/* SEMANTICS 1.6, in a registry: the bound name in capitals, and no other. */
static void strict_parsing_with_a_bound_name(void)
{
	unsigned int key = 77;

	r_open();
	/* r_edu is PrivateUse1: the first name that was joined */
	CHECK_INT(r_edu, DK_BACKEND_PRIVATEUSE1);
	CHECK_OK(dk_registry_key_parse_strict(t_reg, "EDU", &key, &t_why));
	CHECK_INT(key, DK_PRIVATEUSE1);
	CHECK_OK(dk_registry_key_parse_strict(t_reg, "AutogradEDU", &key, &t_why));
	CHECK_INT(key, DK_AUTOGRAD_PRIVATEUSE1);
	CHECK_OK(dk_registry_key_parse_strict(t_reg, "AutocastEDU", &key, &t_why));
	CHECK_INT(key, DK_AUTOCAST_PRIVATEUSE1);
	CHECK_OK(dk_registry_key_parse_strict(t_reg, "PrivateUse1", &key, &t_why));
	CHECK_INT(key, DK_PRIVATEUSE1);
	CHECK_OK(dk_registry_key_parse_strict(t_reg, "CPU", &key, &t_why));
	/* refuses: dk_registry_key_parse_strict EINVAL PARSE_KEY */
	REFUSED(dk_registry_key_parse_strict(t_reg, "edu", &key, &t_why), EINVAL,
		PARSE_KEY, "edu");
	REFUSED(dk_registry_key_parse_strict(t_reg, "Edu", &key, &t_why), EINVAL,
		PARSE_KEY, "Edu");
	REFUSED(dk_registry_key_parse_strict(t_reg, "PRIVATEUSEONE", &key, &t_why),
		EINVAL, PARSE_KEY, "PRIVATEUSEONE");
	REFUSED(dk_registry_key_parse_strict(t_reg, "CatchAll", &key, &t_why), EINVAL,
		PARSE_KEY, "CatchAll");
	REFUSED(dk_registry_key_parse_strict(t_reg, "AutogradHIP", &key, &t_why), EINVAL,
		PARSE_KEY, "AutogradHIP");
	CHECK_INT(key, DK_CPU);
	r_close();

	t_open("v1", 0);
	CHECK_OK(dk_registry_key_parse_strict(t_reg, "PRIVATEUSEONE", &key, &t_why));
	CHECK_INT(key, DK_PRIVATEUSE1);
	t_close();
}

/* A layout of one's own has tables and need not have a parser of PyTorch's. */
static void strict_parsing_where_nobody_knows(void)
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

/* ---- computeDispatchKey, and back ------------------------------------------- */

static void compute_key_refuses(void)
{
	const struct dk_layout *old = dk_layout_find("pytorch-1.13", NULL);
	unsigned int key = 77;

	r_open();
	/* refuses: dk_compute_key EINVAL BAD_DTYPE */
	REFUSED(dk_compute_key(NULL, "float31", NULL, NULL, &key, &t_why), EINVAL,
		BAD_DTYPE, "float31");
	/* refuses: dk_compute_key EINVAL BAD_TENSOR_LAYOUT */
	REFUSED(dk_compute_key(NULL, NULL, "Dense", NULL, &key, &t_why), EINVAL,
		BAD_TENSOR_LAYOUT, "Dense");
	REFUSED(dk_compute_key(old, NULL, "Jagged", NULL, &key, &t_why), EINVAL,
		BAD_TENSOR_LAYOUT, "Jagged");
	/* refuses: dk_compute_key EINVAL BAD_DEVICE_TYPE */
	REFUSED(dk_compute_key(NULL, NULL, NULL, "cpu", &key, &t_why), EINVAL,
		BAD_DEVICE_TYPE, "cpu");
	/* refuses: dk_compute_key EOPNOTSUPP DEVICE_DENSE */
	REFUSED(dk_compute_key(NULL, NULL, NULL, "MKLDNN", &key, &t_why), EOPNOTSUPP,
		DEVICE_DENSE, "MKLDNN");
	REFUSED(dk_compute_key(old, NULL, NULL, "MTIA", &key, &t_why), EOPNOTSUPP,
		DEVICE_DENSE, "MTIA");
	/* refuses: dk_compute_key EOPNOTSUPP DEVICE_SPARSE */
	REFUSED(dk_compute_key(NULL, NULL, "Sparse", "MAIA", &key, &t_why), EOPNOTSUPP,
		DEVICE_SPARSE, "MAIA");
	/* refuses: dk_compute_key EOPNOTSUPP DEVICE_SPARSE_CSR */
	REFUSED(dk_compute_key(old, NULL, "SparseCsr", "XPU", &key, &t_why), EOPNOTSUPP,
		DEVICE_SPARSE_CSR, "XPU");
	/* refuses: dk_compute_key EOPNOTSUPP DEVICE_SPARSE_CSC */
	REFUSED(dk_compute_key(NULL, NULL, "SparseCsc", "Vulkan", &key, &t_why),
		EOPNOTSUPP, DEVICE_SPARSE_CSC, "Vulkan");
	/* refuses: dk_compute_key EOPNOTSUPP DEVICE_SPARSE_BSR */
	REFUSED(dk_compute_key(NULL, NULL, "SparseBsr", "FPGA", &key, &t_why),
		EOPNOTSUPP, DEVICE_SPARSE_BSR, "FPGA");
	/* refuses: dk_compute_key EOPNOTSUPP DEVICE_SPARSE_BSC */
	REFUSED(dk_compute_key(NULL, NULL, "SparseBsc", "IDEEP", &key, &t_why),
		EOPNOTSUPP, DEVICE_SPARSE_BSC, "IDEEP");
	/* refuses: dk_compute_key EOPNOTSUPP DEVICE_MKLDNN */
	REFUSED(dk_compute_key(NULL, NULL, "Mkldnn", "CUDA", &key, &t_why), EOPNOTSUPP,
		DEVICE_MKLDNN, "CUDA");
	CHECK_INT(key, 77);
	r_close();
}

/* SEMANTICS 10 */
static void numbers_of_devices_and_layouts(void)
{
	static const char *const devices[] = {
		"CPU", "CUDA", "MKLDNN", "OPENGL", "OPENCL", "IDEEP", "HIP", "FPGA",
		"MAIA", "XLA", "Vulkan", "Metal", "XPU", "MPS", "Meta", "HPU", "VE",
		"Lazy", "IPU", "MTIA", "PrivateUse1",
	};
	static const char *const layouts[] = {
		"Strided", "Sparse", "SparseCsr", "Mkldnn", "SparseCsc", "SparseBsr",
		"SparseBsc", "Jagged",
	};
	const struct dk_layout *old = dk_layout_find("pytorch-1.13", NULL);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(devices); i++) {
		CHECK_INT(dk_device_type_number(NULL, devices[i], &t_why), i);
		CHECK_STR(dk_device_type_name(NULL, i), devices[i]);
	}
	CHECK(!dk_device_type_name(NULL, 21));
	for (i = 0; i < ARRAY_SIZE(layouts); i++) {
		CHECK_INT(dk_tensor_layout_number(NULL, layouts[i], &t_why), i);
		CHECK_STR(dk_tensor_layout_name(NULL, i), layouts[i]);
	}
	CHECK(!dk_tensor_layout_name(NULL, 8));
	/* 1.13: no MTIA, ORT for MAIA, no Jagged */
	CHECK_INT(dk_device_type_number(old, "PrivateUse1", &t_why), 19);
	CHECK_STR(dk_device_type_name(old, 19), "PrivateUse1");
	CHECK(!dk_device_type_name(old, 20));
	CHECK_INT(dk_device_type_number(old, "ORT", &t_why), 8);
	CHECK_STR(dk_device_type_name(old, 8), "ORT");
	CHECK_STR(dk_device_type_name(old, 18), "IPU");
	CHECK_STR(dk_tensor_layout_name(old, 6), "SparseBsc");
	CHECK(!dk_tensor_layout_name(old, 7));
	r_open();
	/* refuses: dk_device_type_number EINVAL BAD_DEVICE_TYPE */
	REFUSED(dk_device_type_number(old, "MTIA", &t_why), EINVAL, BAD_DEVICE_TYPE, "MTIA");
	REFUSED(dk_device_type_number(NULL, "ORT", &t_why), EINVAL, BAD_DEVICE_TYPE, "ORT");
	REFUSED(dk_device_type_number(NULL, "cpu", &t_why), EINVAL, BAD_DEVICE_TYPE, "cpu");
	/* refuses: dk_tensor_layout_number EINVAL BAD_TENSOR_LAYOUT */
	REFUSED(dk_tensor_layout_number(old, "Jagged", &t_why), EINVAL, BAD_TENSOR_LAYOUT,
		"Jagged");
	r_close();
}

/* _dispatch_key_for_device, and SEMANTICS 10 on the name of PrivateUse1 */
static void key_for_a_device(void)
{
	static const char *const reserved[] = {
		"cpu", "CUDA", "hip", "Mps", "xpu", "mtia", "vulkan", "PrivateUseOne",
	};
	unsigned int key = 77, i, b;

	r_open();
	CHECK_OK(dk_key_for_device(t_reg, "cuda", &key, &t_why));
	CHECK_INT(key, DK_CUDA);
	CHECK_OK(dk_key_for_device(t_reg, "privateuseone", &key, &t_why));
	CHECK_INT(key, DK_PRIVATEUSE1);
	CHECK_OK(dk_key_for_device(t_reg, "edu", &key, &t_why));
	CHECK_INT(key, dk_runtime_key(NULL, DK_DENSE, r_edu));
	key = 77;
	/* refuses: dk_key_for_device EINVAL DEVICE_INDEX */
	REFUSED(dk_key_for_device(t_reg, "cuda:0", &key, &t_why), EINVAL, DEVICE_INDEX,
		"cuda:0");
	REFUSED(dk_key_for_device(t_reg, "edu:1", &key, &t_why), EINVAL, DEVICE_INDEX,
		"edu:1");
	/* refuses: dk_key_for_device EINVAL BAD_DEVICE_TYPE */
	REFUSED(dk_key_for_device(t_reg, "", &key, &t_why), EINVAL, BAD_DEVICE_TYPE, "");
	REFUSED(dk_key_for_device(t_reg, "cud", &key, &t_why), EINVAL, BAD_DEVICE_TYPE, "cud");
	REFUSED(dk_key_for_device(t_reg, "cudas", &key, &t_why), EINVAL, BAD_DEVICE_TYPE,
		"cudas");
	REFUSED(dk_key_for_device(t_reg, "ed", &key, &t_why), EINVAL, BAD_DEVICE_TYPE, "ed");
	REFUSED(dk_key_for_device(t_reg, "privateuse1", &key, &t_why), EINVAL,
		BAD_DEVICE_TYPE, "privateuse1");
	/* refuses: dk_key_for_device EOPNOTSUPP DEVICE_DENSE */
	REFUSED(dk_key_for_device(t_reg, "mkldnn", &key, &t_why), EOPNOTSUPP,
		DEVICE_DENSE, "MKLDNN");
	for (i = 0; i < ARRAY_SIZE(reserved); i++)
		REFUSED(dk_backend_join(&r_a, reserved[i], 0, 0, &b, &t_why), EINVAL,
			NAME_TAKEN, reserved[i]);
	CHECK_INT(key, 77);
	r_close();
}

static void back_from_a_key(void)
{
	const struct dk_layout *old = dk_layout_find("pytorch-1.13", NULL);
	const char *word = "nothing";
	unsigned int key;

	CHECK_OK(dk_key_device_type(NULL, DK_AUTOGRAD_XPU, &word, &t_why));
	CHECK_STR(word, "XPU");
	CHECK_OK(dk_key_device_type(NULL, DK_MKLDNN_CPU, &word, &t_why));
	CHECK_STR(word, "CPU");
	CHECK_OK(dk_key_device_type(NULL, DK_VULKAN, &word, &t_why));
	CHECK_STR(word, "Vulkan");
	CHECK_OK(dk_key_device_type(NULL, DK_MAIA, &word, &t_why));
	CHECK_STR(word, "MAIA");
	CHECK_OK(dk_key_parse(old, "ORT", 0, &key, &t_why));
	CHECK_OK(dk_key_device_type(old, key, &word, &t_why));
	CHECK_STR(word, "ORT");
	CHECK_OK(dk_key_tensor_layout(NULL, DK_SPARSE_CPU, &word, &t_why));
	CHECK_STR(word, "Sparse");
	CHECK_OK(dk_key_tensor_layout(NULL, DK_MKLDNN_CPU, &word, &t_why));
	CHECK_STR(word, "Mkldnn");
	CHECK_OK(dk_key_tensor_layout(NULL, DK_QUANTIZED_CUDA, &word, &t_why));
	CHECK_STR(word, "Strided");

	r_open();
	word = "nothing";
	/* refuses: dk_key_device_type EINVAL NO_DEVICE_TYPE */
	REFUSED(dk_key_device_type(NULL, DK_FPGA, &word, &t_why), EINVAL, NO_DEVICE_TYPE,
		"FPGA");
	REFUSED(dk_key_device_type(NULL, DK_METAL, &word, &t_why), EINVAL, NO_DEVICE_TYPE,
		"Metal");
	REFUSED(dk_key_device_type(NULL, DK_QUANTIZED_MAIA, &word, &t_why), EINVAL,
		NO_DEVICE_TYPE, "QuantizedMAIA");
	REFUSED(dk_key_device_type(NULL, DK_PRIVATEUSE2, &word, &t_why), EINVAL,
		NO_DEVICE_TYPE, "PrivateUse2");
	/* refuses: dk_key_tensor_layout EINVAL NO_UNIQUE_LAYOUT */
	REFUSED(dk_key_tensor_layout(NULL, DK_SPARSE_CSR_CPU, &word, &t_why), EINVAL,
		NO_UNIQUE_LAYOUT, "SparseCsrCPU");
	CHECK_STR(word, "nothing");
	r_close();
}

/* ---- translation ------------------------------------------------------------ */

/* The notes of a translation, each with a space behind it. */
static char notes[1024];

static void tell(const char *a, const char *b, const char *c)
{
	const char *const words[] = { a, b, c, " " };
	size_t at = strlen(notes), len;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		len = strlen(words[i]);
		if (at + len < sizeof(notes))
			memcpy(notes + at, words[i], len + 1);
		at += len;
	}
}

static u64 translate(const char *from, const char *to, const char *set)
{
	const struct dk_layout *a = dk_layout_find(from, NULL);
	struct dk_translation t;
	struct dk_keyset ks = { 0 };
	static struct dk_note n;

	notes[0] = 0;
	CHECK_OK(dk_keyset_parse(a, set, &ks, &t_why));
	dk_translate(&t, a, dk_layout_find(to, NULL), ks);
	while (dk_translation_next(&t, &n)) {
		if (n.kind & DK_NOTE_LOST)
			tell("-", n.name, "");
		if (n.kind & DK_NOTE_RENAMED)
			tell(n.name, ">", n.other);
		if (n.kind & DK_NOTE_CHANGED)
			tell(n.other, ":", dk_kind_name(n.to_kind));
		if (n.kind & DK_NOTE_ADDED)
			tell("+", n.name, "");
		if (n.kind & DK_NOTE_ALONE)
			tell("!", n.name, "");
	}
	CHECK(!dk_translation_next(&t, &n));
	return t.result.bits;
}

static void translations_tell_all(void)
{
	CHECK_INT(translate("pytorch-2.6", "v1", "CPU|AutogradCPU|Tracer"), 0x5000010001);
	CHECK_STR(notes, "");
	/* ORT was renamed first, and became a backend later */
	CHECK_INT(translate("pytorch-1.13", "pytorch-2.4", "ORT"), 0x20000);
	CHECK_STR(notes, "ORT>MAIA ");
	CHECK_INT(translate("pytorch-1.13", "v1", "ORT"), 0x10800);
	CHECK_STR(notes, "ORT>MAIA MAIA:per-backend ");
	CHECK_INT(translate("v1", "pytorch-1.13", "MAIA"), 0x10000);
	CHECK_STR(notes, "MAIA>ORT ORT:functionality ");
	/* Meta was no backend in 1.12, and Dense is none of its bits there */
	CHECK_INT(translate("pytorch-1.12", "v1", "Meta"), 0x18000);
	CHECK_STR(notes, "Meta:per-backend ");
	CHECK_INT(translate("v1", "pytorch-1.12", "Meta"), 0x40000);
	CHECK_STR(notes, "Meta:functionality ");
	CHECK_INT(translate("v1", "pytorch-1.12", "Meta|AutogradMeta"), 0x1000040000);
	CHECK_STR(notes, "Meta:functionality -AutogradMeta !AutogradFunctionality ");
	CHECK_INT(translate("v1", "pytorch-1.12", "MetaBit|FPGA"), 0x4000);
	CHECK_STR(notes, "-MetaBit ");
	/* so are sparse CSR tensors of CPU and CUDA */
	CHECK_INT(translate("pytorch-1.13", "v1", "SparseCsrCPU"), 0x1000001);
	CHECK_STR(notes, "SparseCsrCPU:per-backend ");
	CHECK_INT(translate("v1", "pytorch-1.13", "SparseCsrXPU|CUDABit"), 0x1000042);
	CHECK_STR(notes, "SparseCsrCUDA:functionality -SparseCsrXPU ");
	/* what the cross product adds */
	CHECK_INT(translate("pytorch-1.13", "v1", "SparseCsrCPU|CUDA"), 0x1010003);
	CHECK_STR(notes, "SparseCsrCPU:per-backend +CPU +SparseCsrCUDA ");
	/* what is lost: keys, backends, building blocks and stray bits */
	CHECK_INT(translate("v1", "pytorch-1.13", "CPU|PreDispatch"), 0x4001);
	CHECK_STR(notes, "-PreDispatch ");
	CHECK_INT(translate("v1", "pytorch-1.13", "MTIA|CPU"), 0x4001);
	CHECK_STR(notes, "-MTIABit ");
	CHECK_INT(translate("v1", "pytorch-1.13", "MTIA"), 0x4000);
	CHECK_STR(notes, "-MTIABit !Dense ");
	CHECK_INT(translate("v1", "pytorch-1.13", "SparseCsr"), 0);
	CHECK_STR(notes, "-SparseCsr ");
	CHECK_INT(translate("v1", "pytorch-1.13", "0xc000000000000001"), 1);
	CHECK_STR(notes, "-0xc000000000000000 ");
}

/* Whatever the bits: what has no note comes back as it was. */
static void there_and_back(const struct dk_layout *a, const struct dk_layout *b, u64 bits)
{
	struct dk_keyset in = { bits & dk_layout_full(a).bits };
	struct dk_translation t, back;
	static struct dk_note n;
	unsigned int kinds = 0;

	dk_translate(&t, a, b, DK_KEYSET(bits));
	CHECK(!(t.result.bits & ~dk_layout_full(b).bits));
	while (dk_translation_next(&t, &n))
		kinds |= n.kind;
	CHECK(bits == in.bits || (kinds & DK_NOTE_LOST));
	dk_translate(&back, b, a, t.result);
	if (!(kinds & ~DK_NOTE_RENAMED) &&
	    !CHECK(back.result.bits == in.bits))
		t_note("%s to %s: 0x%llx", dk_layout_name(a), dk_layout_name(b),
		       (unsigned long long)bits);
}

static void without_a_note_nothing_changes(void)
{
	const struct dk_layout *a = NULL, *b;
	unsigned int i, rounds = T_KERNEL ? 2 : 60;
	u64 seed = 0x9e3779b97f4a7c15ull;

	while ((a = dk_layout_next(a))) {
		for (b = dk_layout_next(NULL); b; b = dk_layout_next(b)) {
			for (i = 0; i < rounds; i++) {
				u64 bits = t_random(&seed) & t_random(&seed);

				if (i & 1)
					bits &= t_random(&seed) & t_random(&seed);
				there_and_back(a, b, bits);
			}
			t_pause();
		}
		/* a layout to itself: every bit, and no note */
		for (i = 0; i < 64; i++)
			there_and_back(a, a, 1ull << i);
	}
}

T_SUITE(layouts,
	T(a_text_is_a_layout),
	T(a_registry_takes_it),
	T(below_in_a_layout_like_v1),
	T(texts_that_are_none),
	T(limits_of_a_text),
	T(a_name_means_one_thing),
	T(described_layouts_read_back),
	T(what_is_not_known_is_refused),
	T(strict_parsing_with_a_bound_name),
	T(strict_parsing_where_nobody_knows),
	T(compute_key_refuses),
	T(numbers_of_devices_and_layouts),
	T(key_for_a_device),
	T(back_from_a_key),
	T(translations_tell_all),
	T(without_a_note_nothing_changes));
