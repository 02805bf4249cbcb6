// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The layouts. Each is written as one short table; everything else follows
 * from its names and flags by the rules of SEMANTICS 1.2, 3 and 4, so that a
 * new layout is a new table and no new code.
 */
#include "layout.h"

/* ---- the table of PyTorch 2.14.1, which is v1's ---------------------------- */

#define NAME_OF_BACKEND(U, N, P, arg) #N,
static const char *const v1_backend_names[] = {
	"Invalid", DK_BACKENDS(NAME_OF_BACKEND, DK__NONE)
};

#define BIT_OF_BACKEND(U, N, P, arg) P,
static const char *const v1_backend_bits[] = {
	"InvalidBit", DK_BACKENDS(BIT_OF_BACKEND, DK__NONE)
};

#define NAME_OF_FUNCTIONALITY(U, N, P) #N,
static const char *const v1_functionality_names[] = {
	DK_FUNCTIONALITIES(NAME_OF_FUNCTIONALITY)
};

#define FLAG_OF_FUNCTIONALITY(U, N, P) P,
static const u8 v1_per_backend[] = {
	DK_FUNCTIONALITIES(FLAG_OF_FUNCTIONALITY)
};

#define NAME_OF_ALIAS(U, N) #N,
static const char *const v1_alias_names[] = { DK_ALIASES(NAME_OF_ALIAS) };

static const char *const v1_strict[] = {
	"*",
	"CPU CUDA XPU PrivateUse1",
	"CPU CUDA HIP MPS XPU VE PrivateUse1 Meta",
	"CPU CUDA HIP MPS XPU VE PrivateUse1 Meta",
	"CPU CUDA XPU HPU PrivateUse1 Meta",
	"CPU CUDA XLA MPS IPU XPU HPU Lazy PrivateUse* Meta",
};

#define V1_TABLE(title)							\
	.name = (title),						\
	.backend_names = v1_backend_names,				\
	.backend_bits = v1_backend_bits,				\
	.functionality_names = v1_functionality_names,			\
	.alias_names = v1_alias_names,					\
	.per_backend_flags = v1_per_backend,				\
	.nb = DK_NUM_BACKENDS,						\
	.nf = DK_NUM_FUNCTIONALITIES,					\
	.num_aliases = DKC_COUNT(v1_alias_names),			\
	.sentinel = "Undefined",					\
	.legacy_dropped = "Functionalize PythonTLSSnapshot FuncTorchGradWrapper " \
			  "FuncTorchVmapMode FuncTorchBatched Python",	\
	.strict = v1_strict,						\
	.privateuseone = true

/* ---- the table of PyTorch 1.13.1 ------------------------------------------- */

#define PT113_BACKENDS(X)						\
	X(CPU) X(CUDA) X(HIP) X(XLA) X(MPS) X(IPU) X(XPU) X(HPU) X(VE)	\
	X(Lazy) X(Meta) X(PrivateUse1) X(PrivateUse2) X(PrivateUse3)

#define PT113_FUNCTIONALITIES(X)					\
	X(Undefined, 0) X(Dense, 1) X(FPGA, 0) X(ORT, 0) X(Vulkan, 0)	\
	X(Metal, 0) X(Quantized, 1) X(CustomRNGKeyId, 0)		\
	X(MkldnnCPU, 0) X(Sparse, 1) X(SparseCsrCPU, 0)			\
	X(SparseCsrCUDA, 0) X(NestedTensor, 1) X(BackendSelect, 0)	\
	X(Python, 0) X(Fake, 0) X(FuncTorchDynamicLayerBackMode, 0)	\
	X(Functionalize, 0) X(Named, 0) X(Conjugate, 0) X(Negative, 0)	\
	X(ZeroTensor, 0) X(ADInplaceOrView, 0) X(AutogradOther, 0)	\
	X(AutogradFunctionality, 1) X(AutogradNestedTensor, 0)		\
	X(Tracer, 0) X(AutocastCPU, 0) X(AutocastXPU, 0)		\
	X(AutocastCUDA, 0) X(FuncTorchBatched, 0)			\
	X(FuncTorchVmapMode, 0) X(Batched, 0) X(VmapMode, 0)		\
	X(FuncTorchGradWrapper, 0) X(DeferredInit, 0)			\
	X(PythonTLSSnapshot, 0) X(FuncTorchDynamicLayerFrontMode, 0)	\
	X(TESTING_ONLY_GenericWrapper, 0) X(TESTING_ONLY_GenericMode, 0) \
	X(PythonDispatcher, 0)

#define PT113_BACKEND_NAME(N) #N,
static const char *const pt113_backend_names[] = {
	"Invalid", PT113_BACKENDS(PT113_BACKEND_NAME)
};

#define PT113_BACKEND_BIT(N) #N "Bit",
static const char *const pt113_backend_bits[] = {
	"InvalidBit", PT113_BACKENDS(PT113_BACKEND_BIT)
};

#define PT113_NAME(N, P) #N,
static const char *const pt113_functionality_names[] = {
	PT113_FUNCTIONALITIES(PT113_NAME)
};

#define PT113_FLAG(N, P) P,
static const u8 pt113_per_backend[] = { PT113_FUNCTIONALITIES(PT113_FLAG) };

static const char *const pt113_alias_names[] = {
	"Autograd", "CompositeImplicitAutograd",
	"CompositeImplicitAutogradNestedTensor", "CompositeExplicitAutograd",
	"CompositeExplicitAutogradNonFunctional",
};

static const char *const pt113_strict[] = {
	"*",
	"CPU CUDA XPU",
	"CPU CUDA HIP XPU VE",
	"CPU CUDA",
	"CPU CUDA XLA MPS IPU XPU HPU Lazy PrivateUse* Meta",
};

static struct dk_layout layouts[] = {
	{ V1_TABLE(DK_LAYOUT_NAME) },
	{ V1_TABLE("pytorch-2.14") },
	{
		.name = "pytorch-1.13",
		.backend_names = pt113_backend_names,
		.backend_bits = pt113_backend_bits,
		.functionality_names = pt113_functionality_names,
		.alias_names = pt113_alias_names,
		.per_backend_flags = pt113_per_backend,
		.nb = DKC_COUNT(pt113_backend_names) - 1,
		.nf = DKC_COUNT(pt113_functionality_names),
		.num_aliases = DKC_COUNT(pt113_alias_names),
		.sentinel = "Unknown",
		.legacy_dropped = "PythonTLSSnapshot Python",
		.strict = pt113_strict,
	},
};

/* ---- the rules: lists by name; what a layout does not have is not meant ----- */

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

/* The alias keys: these functionalities, on all but these backends. */
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

/* The constants: a list, with all backends or none, or what is behind a key. */
static const struct {
	const char *name;
	const char *functionalities;
	const char *after;
	const char *without;
	bool backends;
} constant_rules[DKC_NUM_CONSTANTS] = {
#define LIST(NAME, title, list)						\
	[DKC_CONST_##NAME] = { .name = (title), .functionalities = (list) }
#define LIST_ON_ALL(NAME, title, list)					\
	[DKC_CONST_##NAME] = {						\
		.name = (title), .functionalities = (list), .backends = true }
#define AFTER(NAME, title, key, less)					\
	[DKC_CONST_##NAME] = {						\
		.name = (title), .after = (key), .without = (less) }
	LIST(AUTOGRAD, "autograd_dispatch_keyset", AUTOGRAD),
	LIST(AUTOGRAD_ADINPLACE, "autograd_dispatch_keyset_with_ADInplaceOrView",
	     AUTOGRAD " ADInplaceOrView"),
	LIST(AUTOCAST, "autocast_dispatch_keyset", "Autocast*"),
	LIST(DEFAULT_INCLUDED, "default_included_set",
	     "BackendSelect ADInplaceOrView"),
	LIST(DEFAULT_EXCLUDED, "default_excluded_set", "Autocast*"),
	LIST(PYTHON, "python_ks", "Python PythonTLSSnapshot"),
	LIST(SPARSE, "sparse_ks", "Sparse"),
	LIST(SPARSE_CSR, "sparse_csr_ks", "SparseCsr SparseCsrCPU SparseCsrCUDA"),
	LIST(MKLDNN, "mkldnn_ks", "MkldnnCPU"),
	LIST_ON_ALL(AUTOGRADOTHER_BACKENDS, "autogradother_backends", OTHER),
	AFTER(AFTER_AUTOGRAD, "after_autograd_keyset", "AutogradOther", ""),
	AFTER(AFTER_ADINPLACE, "after_ADInplaceOrView_keyset",
	      "ADInplaceOrView", ""),
	AFTER(AFTER_FUNC, "after_func_keyset", "Functionalize",
	      "ADInplaceOrView"),
	LIST_ON_ALL(BACKENDS, "backend_bitset_mask", ""),
	LIST(FUNCTORCH_TRANSFORMS, "functorch_transforms_ks",
	     "FuncTorchBatched FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper"),
	LIST(FUNCTORCH_BATCHED, "functorch_batched_ks", "FuncTorchBatched"),
	LIST_ON_ALL(BACKEND_FUNCTIONALITIES, "backend_functionality_keys",
		    "Dense Quantized Sparse SparseCsr"),
};

/* ---- deriving --------------------------------------------------------------- */

static u64 functionality_set(const struct dk_layout *l, const char *list)
{
	unsigned int f;
	u64 set = 0;

	for (f = 1; list && f < l->nf; f++)
		if (dkc_has_word(list, l->functionality_names[f]))
			set |= dkc_functionality_bit(l, f);
	return set;
}

static u64 backend_set(const struct dk_layout *l, const char *list)
{
	unsigned int b;
	u64 set = 0;

	for (b = 1; b <= l->nb; b++)
		if (dkc_has_word(list, l->backend_names[b]))
			set |= dkc_backend_bit(b);
	return set;
}

static unsigned int find_functionality(const struct dk_layout *l, const char *name)
{
	unsigned int f;

	for (f = 1; f < l->nf; f++)
		if (dkc_streq(l->functionality_names[f], name))
			return f;
	return 0;
}

/* SEMANTICS 1.1's limits, and section 3's: the last entry needs no backend. */
static bool table_is_sound(const struct dk_layout *l)
{
	return l->nb >= 1 && l->nb <= DKC_MAX_BACKENDS && l->nf >= 2 &&
	       l->nb + l->nf <= 64 && l->num_aliases <= DKC_MAX_ALIASES &&
	       !l->per_backend_flags[0] && !l->per_backend_flags[l->nf - 1];
}

static void derive_numbers(struct dk_layout *l)
{
	unsigned int f, i, entry = 0, key = l->nf + 1;

	l->backend_mask = (1ULL << l->nb) - 1;
	l->full = (1ULL << (l->nb + l->nf - 1)) - 1;
	for (f = 0; f < l->nf; f++) {
		l->offset[f] = entry;
		if (l->per_backend_flags[f]) {
			l->per_backend |= 1ULL << f;
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
		l->role[i] = find_functionality(l, role_names[i]);
}

static void derive_aliases(struct dk_layout *l)
{
	unsigned int a, i;

	for (i = 0; i < l->num_aliases; i++)
		for (a = 0; a < DKC_NUM_ALIASES; a++)
			if (dkc_streq(l->alias_names[i], alias_rules[a].name))
				l->alias_key[a] = l->first_alias + i;
	for (a = 0; a < DKC_NUM_ALIASES; a++)
		if (l->alias_key[a])
			l->alias_set[a] =
				functionality_set(l, alias_rules[a].functionalities) |
				(l->backend_mask &
				 ~backend_set(l, alias_rules[a].not_on));
	/* a byte of a row names any of its functions */
	l->has_tables = l->num_aliases && l->num_entries <= DKC_MAX_FUNCTIONS;
}

static void derive_constants(struct dk_layout *l)
{
	unsigned int i;
	u64 set;

	for (i = 0; i < DKC_NUM_CONSTANTS; i++) {
		const char *after = constant_rules[i].after;

		set = functionality_set(l, constant_rules[i].functionalities);
		if (constant_rules[i].backends)
			set |= l->backend_mask;
		if (after)
			set = dk_keyset_after(l, find_functionality(l, after)).bits;
		set &= ~functionality_set(l, constant_rules[i].without);
		l->constant[i] = set;
	}
	/* it came with the alias key that stands for it */
	if (!l->alias_key[DKC_ALIAS_BATCHED])
		l->constant[DKC_CONST_FUNCTORCH_BATCHED] = 0;
	l->default_included = l->constant[DKC_CONST_DEFAULT_INCLUDED];
	l->default_excluded = l->constant[DKC_CONST_DEFAULT_EXCLUDED];
	l->autocast_set = l->constant[DKC_CONST_AUTOCAST];
	l->autogradother_backends = l->constant[DKC_CONST_AUTOGRADOTHER_BACKENDS];
	l->legacy_set = l->constant[DKC_CONST_AUTOGRAD_ADINPLACE] |
			l->autocast_set |
			functionality_set(l, l->legacy_dropped);
}

static unsigned int find_autocast(const struct dk_layout *l, const char *backend)
{
	const size_t skip = sizeof("Autocast") - 1;
	unsigned int f;

	for (f = 1; f < l->nf; f++)
		if (dkc_has_word("Autocast*", l->functionality_names[f]) &&
		    dkc_streq(l->functionality_names[f] + skip, backend))
			return f;
	return 0;
}

/* SEMANTICS 4.4: HIP and VE never had a map to their autograd keys. */
static void derive_maps(struct dk_layout *l)
{
	unsigned int b;

	for (b = 1; b <= l->nb; b++) {
		l->autocast[b] = find_autocast(l, l->backend_names[b]);
		/* before XLA had an autocast key it used CUDA's */
		if (!l->autocast[b] && dkc_streq(l->backend_names[b], "XLA"))
			l->autocast[b] = find_autocast(l, "CUDA");
	}
	l->own_autograd = l->backend_mask & ~backend_set(l, "HIP VE");
	l->from_autograd = l->own_autograd & ~backend_set(l, "MTIA");
}

int dkc_layouts_init(void)
{
	struct dk_layout *l;
	unsigned int i;

	for (i = 0; i < DKC_COUNT(layouts); i++) {
		l = &layouts[i];
		if (l->num_entries)
			continue;
		if (!table_is_sound(l))
			return -EINVAL;
		derive_numbers(l);
		derive_aliases(l);
		derive_constants(l);
		derive_maps(l);
	}
	return 0;
}

/* ---- layouts ------------------------------------------------------------------ */

const struct dk_layout *dkc_layout(const struct dk_layout *l)
{
	return l ? l : &layouts[0];
}

const struct dk_layout *dk_layout_next(const struct dk_layout *l)
{
	if (!l)
		return &layouts[0];
	return l == &layouts[DKC_COUNT(layouts) - 1] ? NULL : l + 1;
}

const struct dk_layout *dk_layout_find(const char *name, struct dk_diag *why)
{
	const struct dk_layout *l;

	for (l = dk_layout_next(NULL); l; l = dk_layout_next(l))
		if (dkc_streq(l->name, name))
			break;
	dkc_remark(why, l ? DK_WHY_NONE : DK_WHY_BAD_LAYOUT, l ? NULL : name);
	return l;
}

const char *dk_layout_name(const struct dk_layout *l)
{
	return dkc_layout(l)->name;
}

unsigned int dk_layout_backends(const struct dk_layout *l)
{
	return dkc_layout(l)->nb;
}

unsigned int dk_layout_functionalities(const struct dk_layout *l)
{
	return dkc_layout(l)->nf;
}

unsigned int dk_layout_entries(const struct dk_layout *l)
{
	return dkc_layout(l)->num_entries;
}

unsigned int dk_layout_keys(const struct dk_layout *l)
{
	l = dkc_layout(l);
	return l->first_alias + l->num_aliases;
}

struct dk_keyset dk_layout_full(const struct dk_layout *l)
{
	return DK_KEYSET(dkc_layout(l)->full);
}

int dk_constant_set(const struct dk_layout *l, const char *name,
		    struct dk_keyset *ks, struct dk_diag *why)
{
	unsigned int i;

	l = dkc_layout(l);
	for (i = 0; i < DKC_NUM_CONSTANTS; i++) {
		if (!l->constant[i] || !dkc_streq(constant_rules[i].name, name))
			continue;
		ks->bits = l->constant[i];
		dkc_remark(why, DK_WHY_NONE, NULL);
		return 0;
	}
	return dkc_refuse(why, DK_WHY_BAD_CONSTANT, name);
}

/* ---- keys ------------------------------------------------------------------- */

enum dk_key_kind dk_key_kind(const struct dk_layout *l, unsigned int key)
{
	l = dkc_layout(l);
	if (key == 0)
		return DK_KIND_UNDEFINED;
	if (key < l->nf)
		return dkc_is_per_backend(l, key) ? DK_KIND_BUILDING_BLOCK :
						    DK_KIND_FUNCTIONALITY;
	if (key == l->nf)
		return DK_KIND_SENTINEL;
	if (key < l->first_alias)
		return dk_key_backend(l, key) ? DK_KIND_PER_BACKEND :
						DK_KIND_SENTINEL;
	return key < dk_layout_keys(l) ? DK_KIND_ALIAS : DK_KIND_NONE;
}

/* The end sentinel behind the functionality keys maps to itself. */
unsigned int dk_key_functionality(const struct dk_layout *l, unsigned int key)
{
	l = dkc_layout(l);
	if (key <= l->nf)
		return key;
	if (key >= l->first_alias)
		return 0;
	return l->block[(key - l->nf - 1) / (l->nb + 1)];
}

unsigned int dk_key_backend(const struct dk_layout *l, unsigned int key)
{
	l = dkc_layout(l);
	if (key <= l->nf || key >= l->first_alias)
		return 0;
	return (key - l->nf - 1) % (l->nb + 1);
}

struct dk_keyset dk_key_set(const struct dk_layout *l, unsigned int key)
{
	unsigned int f = dk_key_functionality(l, key);

	if (!f)
		return DK_KEYSET(0);
	return DK_KEYSET(dkc_functionality_bit(dkc_layout(l), f) |
			 dkc_backend_bit(dk_key_backend(l, key)));
}

unsigned int dk_key_slot(const struct dk_layout *l, unsigned int key)
{
	return dk_keyset_slot(l, dk_key_set(l, key));
}

unsigned int dk_slot_key(const struct dk_layout *l, unsigned int slot)
{
	unsigned int f;

	l = dkc_layout(l);
	if (slot >= l->num_entries)
		return 0;
	f = l->slot_functionality[slot];
	return dkc_is_per_backend(l, f) ? l->start[f] + 1 + slot - l->offset[f] : f;
}

unsigned int dk_runtime_key(const struct dk_layout *l, unsigned int functionality,
			    unsigned int backend)
{
	l = dkc_layout(l);
	if (!dk_is_per_backend(l, functionality) || backend > l->nb)
		return 0;
	return l->start[functionality] + backend;
}

int dk_is_per_backend(const struct dk_layout *l, unsigned int functionality)
{
	l = dkc_layout(l);
	return functionality < l->nf && dkc_is_per_backend(l, functionality);
}

int dk_is_backend_key(const struct dk_layout *l, unsigned int key)
{
	l = dkc_layout(l);
	return dk_key_functionality(l, key) != 0 &&
	       dk_keyset_has_all(DK_KEYSET(l->alias_set[DKC_ALIAS_EXPLICIT]),
				 dk_key_set(l, key));
}

enum dkc_alias dkc_key_alias(const struct dk_layout *l, unsigned int key)
{
	unsigned int a;

	l = dkc_layout(l);
	for (a = 0; key && a < DKC_NUM_ALIASES; a++)
		if (l->alias_key[a] == key)
			return a;
	return DKC_NUM_ALIASES;
}
