// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the schemas of the 3 640 operators of PyTorch 2.14.1, from
 * $DK_VECTORS/pytorch-2.14/schemas.txt. Userspace only.
 */
#include "schema.h"

#define LINE	2048

static struct dk_provider prov;

static FILE *open_vectors(void)
{
	const char *vectors = getenv("DK_VECTORS");
	char file[4096];
	FILE *f;

	snprintf(file, sizeof(file), "%s/pytorch-2.14/schemas.txt",
		 vectors ? vectors : ".");
	f = fopen(file, "r");
	if (!f)
		t_skip("no schemas.txt; set DK_VECTORS");
	return f;
}

static bool next_line(FILE *f, char line[LINE])
{
	if (!fgets(line, LINE, f))
		return false;
	line[strcspn(line, "\n")] = 0;
	return true;
}

/* One operator has no schema; PyTorch prints "(none)" for it. */
static void all_print_back(void)
{
	unsigned int n = 0, none = 0;
	char line[LINE], text[LINE];
	FILE *f = open_vectors();

	while (f && next_line(f, line)) {
		struct dk_schema *s;

		n++;
		if (!strcmp(line, "(none)")) {
			none++;
			continue;
		}
		s = parse(line);
		if (!s)
			continue;
		dk_schema_print(s, text, sizeof(text));
		CHECK_STR(text, line);
		dk_schema_free(s);
	}
	if (!f)
		return;
	CHECK_INT(n, 3640);
	CHECK_INT(none, 1);
	fclose(f);
}

/* Stores the mask of the arguments that a boxed call dispatches on, with PyTorch's numbering. */
static int store_mask(struct dk_call *c, void *args)
{
	const struct dk_frame *f = dk_call_frame(c);
	u64 *mask = dk_call_priv(c);
	unsigned int i;

	*mask = 0;
	for (i = 0; i < f->n; i++)
		*mask = *mask << 1 | !!f->objs[i];
	return 0;
}

/* Fills in every argument, including generators and opaque ones. */
static void pack_all(const struct dk_op_decl *decl, struct dk_value *v)
{
	static struct dk_obj cpu, *items[] = { &cpu };
	static struct dk_generator g;
	unsigned int i;

	cpu = t_obj(DK_KEY_BITS(DK_CPU));
	g.dk = cpu;
	for (i = 0; i < decl->num_params; i++) {
		memset(&v[i], 0, sizeof(v[i]));
		v[i].kind = decl->param[i].kind;
		if (v[i].kind == DK_ARG_OBJECT)
			v[i].obj = &cpu;
		else if (v[i].kind == DK_ARG_LIST)
			dk_list_init(&v[i].list, items, 1, 0);
		else if (v[i].kind == DK_ARG_GENERATOR)
			v[i].gen = &g;
		else if (v[i].kind == DK_ARG_POINTER)
			v[i].ptr = &cpu;
	}
}

static u64 called_mask(struct dk_op_decl *decl)
{
	static u64 args[64 * sizeof(struct dk_list) / sizeof(u64)];
	struct dk_local local = t_no_local();
	static struct dk_value v[64];
	u64 *mask = prov.priv;
	struct dk_op *op = dk_op_get(t_reg, decl->name);

	/* include CPU, so that operators without an object are called, too */
	local.included ^= DK_KEY_BITS(DK_CPU);
	*mask = ~0ull;
	pack_all(decl, v);
	CHECK_OK(dk_args_pack(decl, v, decl->num_params, args, sizeof(args), &t_why));
	CHECK_OK(dk_call_boxed(op, decl, &local, args));
	dk_op_put(op);
	return *mask;
}

static bool dispatches_as_its_schema(const char *line)
{
	struct dk_schema *s = parse(line);
	struct dk_op_decl *decl;
	u64 want;
	bool same;

	if (!s || !CHECK_OK(dk_schema_decl(s, &decl, &t_why)))
		return false;
	CHECK_OK(dk_schema_dispatch_mask(s, &want, &t_why));
	dk_schema_free(s);
	CHECK_STR(decl->schema, line);
	CHECK_OK(dk_op_define(&prov, decl, 0, &t_why));
	same = CHECK_INT(called_mask(decl), want);
	CHECK_OK(dk_op_undefine(&prov, decl->name, &t_why));
	dk_schema_decl_free(decl);
	return same;
}

/* Boxed calls dispatch on exactly the arguments of PyTorch's mask (SEMANTICS 6.1). */
static void all_dispatch(void)
{
	static const struct dk_impl cpu = DK_FALLBACK(DK_CPU, store_mask);
	unsigned int n = 0;
	static u64 mask;
	char line[LINE];
	FILE *f = open_vectors();

	if (!f)
		return;
	t_open("v1", 0);
	prov = (struct dk_provider)DK_PROVIDER("schema");
	prov.registry = t_reg;
	prov.priv = &mask;
	CHECK_OK(dk_provider_register(&prov, &t_why));
	CHECK_OK(dk_fallback_register(&prov, &cpu, &t_why));
	while (next_line(f, line))
		n += strcmp(line, "(none)") && dispatches_as_its_schema(line);
	CHECK_INT(n, 3639);
	fclose(f);
	t_unregister(&prov);
	t_close();
}

/*
 * Invariant 2 of SEMANTICS 7.6: the core and the schema parser find the same dispatch arguments in
 * every schema.
 */
static void all_masks_match(void)
{
	struct dk_provider me;
	struct dk_op_decl decl;
	unsigned int n = 0;
	FILE *f = open_vectors();
	char line[LINE], name[LINE];

	if (!f)
		return;
	t_open("v1", 0);
	t_join(&me, "schemas");
	while (next_line(f, line)) {
		char digits[65], want[65];
		struct dk_schema *s = NULL;
		struct dk_op *op;
		unsigned int i;
		u64 mask;

		if (!strcmp(line, "(none)") || strcspn(line, "(") >= DK_NAME_MAX)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, "("), line);
		decl = t_decl(name);
		decl.schema = line;
		s = parse(line);
		if (!s || !CHECK_OK(dk_schema_dispatch_mask(s, &mask, &t_why)) ||
		    !CHECK_OK(dk_op_define(&me, &decl, 0, &t_why)))
			break;
		for (i = 0; i < 64; i++)
			want[i] = mask >> i & 1 ? '1' : '0';
		want[64] = 0;
		op = dk_op_get(t_reg, name);
		dk_op_dump_extractor(op, digits, sizeof(digits));
		if (!CHECK_STR(digits, want))
			t_note("%s", line);
		n++;
		dk_op_put(op);
		CHECK_OK(dk_op_undefine(&me, name, &t_why));
		dk_schema_free(s);
	}
	CHECK_INT(n, 3639);
	fclose(f);
	t_unregister(&me);
	t_close();
}

/*
 * Checks that the printed form of a schema can be parsed, and prints the same. Returns false if
 * @line is not a schema.
 */
static bool same_again(const char *line)
{
	static char text[2 * LINE], again[2 * LINE];
	struct dk_schema *s;

	if (dk_schema_parse(line, &s, &t_why))
		return false;
	CHECK(dk_schema_print(s, text, sizeof(text)) < sizeof(text));
	dk_schema_free(s);
	if (!CHECK_OK(dk_schema_parse(text, &s, &t_why))) {
		t_note("\"%s\" printed \"%s\"", line, text);
		return true;
	}
	dk_schema_print(s, again, sizeof(again));
	CHECK_STR(again, text);
	dk_schema_free(s);
	return true;
}

/* Makes up to three random changes to a line. */
static void mutate(char line[LINE], u64 *state)
{
	static const char letters[] = "()[]?!,.*:=-> |\"'\\aT1_\n";
	size_t len = strlen(line), at;
	unsigned int i;

	for (i = t_random(state) % 3; i < 3 && len > 1; i++) {
		at = t_random(state) % len;
		switch (t_random(state) % 4) {
		case 0:
			line[at] = letters[t_random(state) % (sizeof(letters) - 1)];
			break;
		case 1:
			memmove(line + at, line + at + 1, len - at);
			len--;
			break;
		case 2:
			memmove(line + at + 1, line + at, len - at + 1);
			len++;
			break;
		default:
			if (!(t_random(state) % 8))
				line[at] = 0;
			len = strlen(line);
		}
	}
}

static void mutated_schemas_do_not_crash(void)
{
	unsigned int n = 0, good = 0, i;
	char line[LINE], bad[LINE];
	FILE *f = open_vectors();
	u64 state = 3640;

	while (f && next_line(f, line)) {
		for (i = 0; i < 50; i++, n++) {
			strcpy(bad, line);
			mutate(bad, &state);
			good += same_again(bad);
		}
	}
	if (!f)
		return;
	fclose(f);
	/* at least 5 % of the mutations are valid schemas, and at least 5 % are not */
	CHECK(good > n / 20 && good < n / 20 * 19);
	t_note("%u of %u mutations are valid schemas", good, n);
}

T_SUITE(schema_pytorch,
	T(all_print_back),
	T(all_dispatch),
	T(all_masks_match),
	T(mutated_schemas_do_not_crash));
