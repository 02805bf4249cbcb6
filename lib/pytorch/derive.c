// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Computes the numbers, sets and maps of a layout from its lists of names, by the rules of
 * SEMANTICS 1.2, 3 and 4. So a new layout needs only a new text, and no new code.
 */
#include "pytorch.h"

/* ---- the rules, as lists of names; names that a layout lacks are ignored ----- */

static const char *const role_names[DKC_NUM_ROLES] = {
	[DKC_ROLE_DENSE] = "Dense",
	[DKC_ROLE_NESTED_TENSOR] = "NestedTensor",
	[DKC_ROLE_AUTOGRAD] = "AutogradFunctionality",
	[DKC_ROLE_AUTOGRAD_OTHER] = "AutogradOther",
	[DKC_ROLE_AUTOGRAD_NESTED] = "AutogradNestedTensor",
	[DKC_ROLE_BACKEND_SELECT] = "BackendSelect",
	[DKC_ROLE_ADINPLACE_OR_VIEW] = "ADInplaceOrView",
	[DKC_ROLE_PYTHON_DISPATCHER] = "PythonDispatcher",
};

#define OTHER_BUT_SPARSE						\
	"FPGA ORT MAIA Vulkan Metal Quantized CustomRNGKeyId MkldnnCPU " \
	"SparseCsr SparseCsrCPU SparseCsrCUDA"
#define OTHER		OTHER_BUT_SPARSE " Sparse"
#define AUTOGRAD	"AutogradFunctionality AutogradOther AutogradNestedTensor"

/* The keys of the builtin fallbacks, on all backends. */
#define BUILTINS							\
	AUTOGRAD " BackendSelect ADInplaceOrView FuncTorchVmapMode VmapMode Autocast*"

/* An alias key stands for @functionalities on all backends except @not_on. */
static const struct {
	const char *name;
	const char *functionalities;
	const char *not_on;
} alias_rules[DKC_NUM_ALIASES] = {
	[DKC_ALIAS_AUTOGRAD] = { "Autograd", AUTOGRAD, "" },
	[DKC_ALIAS_IMPLICIT] = {
		"CompositeImplicitAutograd",
		OTHER " Dense NestedTensor " AUTOGRAD, "" },
	[DKC_ALIAS_BATCHED] = {
		"FuncTorchBatchedDecomposition", "FuncTorchBatched", "*" },
	[DKC_ALIAS_NESTED] = {
		"CompositeImplicitAutogradNestedTensor",
		"NestedTensor AutogradNestedTensor", "" },
	[DKC_ALIAS_EXPLICIT] = {
		"CompositeExplicitAutograd", OTHER " Dense", "" },
	[DKC_ALIAS_NON_FUNCTIONAL] = {
		"CompositeExplicitAutogradNonFunctional",
		OTHER_BUT_SPARSE " Dense", "XLA Lazy" },
};

/*
 * A constant is one of two kinds of sets. The first kind is a list of functionalities, with all
 * backends or none. The second kind is dk_keyset_after() of the key @after, without the
 * functionalities in @without.
 */
static const struct constant_rule {
	const char *name;
	const char *functionalities;
	const char *after;
	const char *without;
	bool backends;
} constant_rules[] = {
#define LIST(title, list)		{ .name = (title), .functionalities = (list) }
#define LIST_ON_ALL(title, list)					\
	{ .name = (title), .functionalities = (list), .backends = true }
#define AFTER(title, key, less)						\
	{ .name = (title), .after = (key), .without = (less) }
	[DKC_CONST_AUTOGRAD_ADINPLACE] =
		LIST("autograd_dispatch_keyset_with_ADInplaceOrView", AUTOGRAD " ADInplaceOrView"),
	[DKC_CONST_AUTOCAST] = LIST("autocast_dispatch_keyset", "Autocast*"),
	[DKC_CONST_PYTHON] = LIST("python_ks", "Python PythonTLSSnapshot"),
	[DKC_CONST_AUTOGRADOTHER_BACKENDS] = LIST_ON_ALL("autogradother_backends", OTHER),
	[DKC_CONST_BACKEND_FUNCTIONALITIES] =
		LIST_ON_ALL("backend_functionality_keys", "Dense Quantized Sparse SparseCsr"),
	/* the sets below are computed only when they are looked up */
	LIST("autograd_dispatch_keyset", AUTOGRAD),
	LIST("default_included_set", "BackendSelect ADInplaceOrView"),
	LIST("default_excluded_set", "Autocast*"),
	LIST("sparse_ks", "Sparse"),
	LIST("sparse_csr_ks", "SparseCsr SparseCsrCPU SparseCsrCUDA"),
	LIST("mkldnn_ks", "MkldnnCPU"),
	AFTER("after_autograd_keyset", "AutogradOther", ""),
	AFTER("after_ADInplaceOrView_keyset", "ADInplaceOrView", ""),
	AFTER("after_func_keyset", "Functionalize", "ADInplaceOrView"),
	LIST_ON_ALL("backend_bitset_mask", ""),
	LIST("functorch_transforms_ks",
	     "FuncTorchBatched FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper"),
	LIST("functorch_batched_ks", "FuncTorchBatched"),
};

/* ---- computing --------------------------------------------------------------- */

bool dkc_has_word(const char *list, const char *word)
{
	while (*list) {
		const char *w = word;

		while (*list > ' ' && *list == *w) {
			list++;
			w++;
		}
		if (*list == '*' || (!*w && *list <= ' '))
			return true;
		while (*list && *list != ' ')
			list++;
		while (*list == ' ')
			list++;
	}
	return false;
}

/* Returns the set of all i for which names[i] is in the list. Ignores names[0]. */
static u64 names_in(const char *list, const char *const *names, unsigned int n)
{
	unsigned int i;
	u64 set = 0;

	for (i = 1; list && i < n; i++)
		if (dkc_has_word(list, names[i]))
			set |= 1ULL << i;
	return set;
}

static u64 functionality_set(const struct dk_layout *l, const char *list)
{
	return dkc_functionality_bits(l, names_in(list, l->functionality_names, l->nf));
}

static u64 backend_set(const struct dk_layout *l, const char *list)
{
	return names_in(list, l->backend_names, l->nb + 1) >> 1;
}

static void derive_numbers(struct dk_layout *l)
{
	unsigned int f, i, entry = 0, key = l->nf + 1;

	l->backend_mask = (1ULL << l->nb) - 1;
	l->full = (1ULL << (l->nb + l->nf - 1)) - 1;
	for (f = 0; f < l->nf; f++) {
		l->offset[f] = entry;
		if (dkc_is_per_backend(l, f)) {
			l->block[l->num_blocks++] = f;
			l->start[f] = key;
			key += l->nb + 1;
		}
		for (i = dkc_width(l, f); i; i--)
			l->slot_functionality[entry++] = f;
	}
	l->num_entries = entry;
	l->first_alias = key;
	for (i = 0; i < DKC_NUM_ROLES; i++)
		l->role[i] = dkc_find_functionality(l, role_names[i]);
}

static enum dkc_alias find_alias(const char *name)
{
	unsigned int a;

	for (a = 0; a < DKC_NUM_ALIASES; a++)
		if (dkc_streq(alias_rules[a].name, name))
			break;
	return a;
}

static void derive_aliases(struct dk_layout *l)
{
	unsigned int a, i;

	for (i = 0; i < l->num_aliases; i++) {
		a = find_alias(l->alias_names[i]);
		if (a < DKC_NUM_ALIASES)
			l->alias_key[a] = l->first_alias + i;
	}
	for (a = 0; l->has_sets && a < DKC_NUM_ALIASES; a++)
		if (l->alias_key[a])
			l->alias_set[a] =
				functionality_set(l, alias_rules[a].functionalities) |
				(l->backend_mask &
				 ~backend_set(l, alias_rules[a].not_on));
	if (l->has_sets)
		l->alias_set[DKC_ALIAS_IMPLICIT] |=
			dkc_functionality_bits(l, l->implicit_also);
}

static u64 set_after(const struct dk_layout *l, const char *name)
{
	unsigned int f = dkc_find_functionality(l, name);

	return f ? dk_keyset_after(l, f).bits : 0;
}

static u64 constant_set(const struct dk_layout *l, const struct constant_rule *rule)
{
	u64 set = rule->after ? set_after(l, rule->after) :
				functionality_set(l, rule->functionalities);

	if (rule->backends)
		set |= l->backend_mask;
	return set & ~functionality_set(l, rule->without);
}

enum dk_reason dkc_constant_set(const struct dk_layout *l, const char *name, u64 *set)
{
	unsigned int i = 0;

	while (i < ARRAY_SIZE(constant_rules) && !dkc_streq(constant_rules[i].name, name))
		i++;
	if (i == ARRAY_SIZE(constant_rules))
		return DK_WHY_BAD_CONSTANT;
	/* the lists have the names of building blocks, which a layout without backends lacks */
	if (!l->has_sets && (!l->nb || i == DKC_CONST_AUTOGRADOTHER_BACKENDS))
		return DK_WHY_NO_SETS;
	/* PyTorch added this constant together with FuncTorchBatchedDecomposition */
	if (!l->alias_key[DKC_ALIAS_BATCHED] && dkc_streq(name, "functorch_batched_ks"))
		return DK_WHY_BAD_CONSTANT;
	*set = constant_set(l, &constant_rules[i]);
	return *set ? DK_WHY_NONE : DK_WHY_BAD_CONSTANT;
}

/*
 * For a layout without backends, the constants are not known. Such a layout has no registries, so
 * its @builtins are not used.
 */
static void derive_constants(struct dk_layout *l)
{
	unsigned int i;

	for (i = 0; l->nb && i < DKC_NUM_CONSTANTS; i++)
		l->constant[i] = constant_set(l, &constant_rules[i]);
	/* without @has_sets, it is not known which keys this set contains */
	if (!l->has_sets)
		l->constant[DKC_CONST_AUTOGRADOTHER_BACKENDS] = 0;
	l->builtins = functionality_set(l, BUILTINS) | l->backend_mask;
}

static unsigned int find_autocast(const struct dk_layout *l, const char *backend)
{
	const size_t skip = sizeof("Autocast") - 1;
	unsigned int f;

	for (f = 1; f < l->nf; f++)
		if ((l->constant[DKC_CONST_AUTOCAST] & dkc_functionality_bit(l, f)) &&
		    dkc_streq(l->functionality_names[f] + skip, backend))
			return f;
	return 0;
}

/* SEMANTICS 4.4. The inverse map of PyTorch lacks AutogradMTIA in all versions. */
static void derive_maps(struct dk_layout *l)
{
	unsigned int b;

	for (b = 1; l->has_sets && b <= l->nb; b++) {
		l->autocast[b] = find_autocast(l, l->backend_names[b]);
		/* versions without AutocastXLA use AutocastCUDA */
		if (!l->autocast[b] && dkc_streq(l->backend_names[b], "XLA"))
			l->autocast[b] = find_autocast(l, "CUDA");
	}
	l->from_autograd = l->backend_mask & ~l->other_autograd & ~backend_set(l, "MTIA");
}

/*
 * Computes the entries of a trimmed table, from their keys: SEMANTICS 1.8. An entry serves one key,
 * so a building block with the name of such a key has none.
 */
void dkc_layout_trim(struct dk_layout *l)
{
	static const char *const keys[DKC_TRIMMED_ENTRIES] = {
		"Undefined", "CPU", "QuantizedCPU", "SparseCPU", "BackendSelect",
		"ADInplaceOrView", "AutogradOther", "AutogradCPU",
	};
	unsigned int i, key;

	memset(l->trimmed_entry, DKC_NO_ENTRY, sizeof(l->trimmed_entry));
	l->trimmed_backend = dkc_find_backend(l, "CPU");
	for (i = 0; i < DKC_TRIMMED_ENTRIES; i++)
		if (dkc_find_key(l, keys[i], &key) && !dk_is_per_backend(l, key))
			l->trimmed_entry[dk_key_functionality(l, key)] = i;
}

void dkc_layout_derive(struct dk_layout *l)
{
	derive_numbers(l);
	derive_aliases(l);
	derive_constants(l);
	derive_maps(l);
	if (l->trimmed)
		dkc_layout_trim(l);
	/*
	 * a table can have a function in each entry, and each function needs a value of the index
	 * byte
	 */
	l->has_tables = l->has_sets && dkc_table_entries(l) <= DKC_MAX_FUNCTIONS;
}

const char *dkc_layout_unknown_alias(const struct dk_layout *l)
{
	unsigned int i;

	for (i = 0; i < l->num_aliases; i++)
		if (find_alias(l->alias_names[i]) == DKC_NUM_ALIASES)
			return l->alias_names[i];
	return NULL;
}

/*
 * Checks the names that a layout with tables must have, of roles and of alias keys. Only the alias
 * key FuncTorchBatchedDecomposition may be missing.
 */
enum dk_reason dkc_layout_check_tables(const struct dk_layout *l, const char **name)
{
	const u32 blocks = 1 << DKC_ROLE_DENSE | 1 << DKC_ROLE_AUTOGRAD;
	/* the tables have a single entry for each of these */
	const u32 single = 1 << DKC_ROLE_AUTOGRAD_OTHER | 1 << DKC_ROLE_AUTOGRAD_NESTED;
	unsigned int i, a, f;

	for (i = 0; i < DKC_NUM_ROLES; i++) {
		*name = role_names[i];
		f = dkc_find_functionality(l, *name);
		if (!f || (blocks >> i & 1 && !dkc_is_per_backend(l, f)))
			return DK_WHY_LAYOUT_LACKS;
		if (single >> i & 1 && dkc_is_per_backend(l, f))
			return DK_WHY_LAYOUT_BLOCK;
	}
	/* in reverse order, so that a missing Autograd is reported first */
	for (a = DKC_NUM_ALIASES; a--; ) {
		for (i = 0; i < l->num_aliases; i++)
			if (dkc_streq(l->alias_names[i], alias_rules[a].name))
				break;
		*name = alias_rules[a].name;
		if (i == l->num_aliases && a != DKC_ALIAS_BATCHED)
			return DK_WHY_LAYOUT_LACKS;
	}
	return DK_WHY_NONE;
}
