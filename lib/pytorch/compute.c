// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Computes the key of a tensor from its dtype, tensor layout and device, and the device and tensor
 * layout from a key: SEMANTICS 10. The results for two versions of PyTorch differ only because the
 * versions have different keys.
 */
#include "pytorch.h"

enum device_kind {
	DEVICE_BACKEND,		/* extensible: has keys with prefixes, such as SparseCUDA */
	DEVICE_PLAIN,		/* one key, for dense tensors only */
	DEVICE_OLD,		/* deprecated: has a number but no key */
};

static const struct device {
	const char *name;
	unsigned int number;
	enum device_kind kind;
	bool has_key;		/* dk_key_device_type() returns the device for its key */
} devices[] = {
	{ "CPU", 0, DEVICE_BACKEND, true },	{ "CUDA", 1, DEVICE_BACKEND, true },
	{ "MKLDNN", 2, DEVICE_OLD, false },	{ "OPENGL", 3, DEVICE_OLD, false },
	{ "OPENCL", 4, DEVICE_OLD, false },	{ "IDEEP", 5, DEVICE_OLD, false },
	{ "HIP", 6, DEVICE_BACKEND, true },	{ "FPGA", 7, DEVICE_PLAIN, false },
	{ "MAIA", 8, DEVICE_PLAIN, true },	{ "ORT", 8, DEVICE_PLAIN, true },
	{ "MSNPU", 8, DEVICE_PLAIN, true },
	{ "XLA", 9, DEVICE_BACKEND, true },	{ "Vulkan", 10, DEVICE_PLAIN, true },
	{ "Metal", 11, DEVICE_PLAIN, false },	{ "XPU", 12, DEVICE_BACKEND, true },
	{ "MPS", 13, DEVICE_BACKEND, true },	{ "Meta", 14, DEVICE_BACKEND, true },
	{ "HPU", 15, DEVICE_BACKEND, true },	{ "VE", 16, DEVICE_BACKEND, true },
	{ "Lazy", 17, DEVICE_BACKEND, true },	{ "IPU", 18, DEVICE_BACKEND, true },
	{ "MTIA", 19, DEVICE_BACKEND, true },
	{ "PrivateUse1", 20, DEVICE_BACKEND, true },
};

static const struct tensor_layout {
	const char *name;
	const char *printed;	/* what PyTorch prints after "torch." */
	unsigned int number;
	const char *prefix;	/* the names of the layout's keys begin with it */
	enum dk_reason reason;	/* the error for a device without such a key */
} tensor_layouts[] = {
	{ "Strided", "strided", 0, "", DK_WHY_DEVICE_DENSE },
	{ "Sparse", "sparse_coo", 1, "Sparse", DK_WHY_DEVICE_SPARSE },
	{ "SparseCsr", "sparse_csr", 2, "SparseCsr", DK_WHY_DEVICE_SPARSE_CSR },
	{ "Mkldnn", "_mkldnn", 3, "Mkldnn", DK_WHY_DEVICE_MKLDNN },
	{ "SparseCsc", "sparse_csc", 4, "SparseCsr", DK_WHY_DEVICE_SPARSE_CSC },
	{ "SparseBsr", "sparse_bsr", 5, "SparseCsr", DK_WHY_DEVICE_SPARSE_BSR },
	{ "SparseBsc", "sparse_bsc", 6, "SparseCsr", DK_WHY_DEVICE_SPARSE_BSC },
	{ "Jagged", "jagged", 7, "", DK_WHY_DEVICE_DENSE },
};

static const char quantized[] = "qint8 quint8 qint32 quint4x2 quint2x4";

static const char dtypes[] =
	"uint8 uint16 uint32 uint64 int8 int16 int32 int64 half float16 bfloat16 "
	"float float32 double float64 complex32 complex64 complex128 bool "
	"float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz";

static const struct device *find_device(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(devices); i++)
		if (dkc_streq(devices[i].name, name))
			return &devices[i];
	return NULL;
}

/* True if the layout's version of PyTorch has the device. All versions have the deprecated ones. */
static bool has_device(const struct dk_layout *l, const struct device *d)
{
	unsigned int key;

	return d->kind == DEVICE_OLD || dkc_find_key(l, d->name, &key);
}

/*
 * Parses a device such as "CUDA"; NULL stands for CPU. Also accepts what PyTorch prints, such as
 * "cuda" or "cuda:0". Returns NULL if the version of the layout has no such device.
 */
static const struct device *parse_device(const struct dk_layout *l, const char *word)
{
	const struct device *d;
	const char *type;
	size_t len = 0, end;

	word = word ? word : "CPU";
	d = find_device(word);
	if (d)
		return has_device(l, d) ? d : NULL;
	while (word[len] && word[len] != ':')
		len++;
	for (end = word[len] ? len + 1 : len; word[end] >= '0' && word[end] <= '9'; end++)
		;
	if (word[end] || (word[len] && end == len + 1))
		return NULL;
	type = dkc_parse_device_type(l, word, len);
	return type ? find_device(type) : NULL;
}

static bool has_tensor_layout(const struct dk_layout *l, const struct tensor_layout *t)
{
	/* Jagged was added in the same version of PyTorch as BatchedNestedTensor */
	return !dkc_streq(t->name, "Jagged") ||
	       dkc_find_functionality(l, "BatchedNestedTensor");
}

/* NULL stands for Strided. */
static const struct tensor_layout *
find_tensor_layout(const struct dk_layout *l, const char *name)
{
	const struct tensor_layout *t;

	name = name ? name : "Strided";
	for (t = tensor_layouts; t < tensor_layouts + ARRAY_SIZE(tensor_layouts); t++)
		if (dkc_streq(t->name, name) || dkc_streq(t->printed, name))
			return has_tensor_layout(l, t) ? t : NULL;
	return NULL;
}

/* Returns what precedes the device in the name of the tensor's key; NULL if there is no key. */
static const char *choose_prefix(const struct tensor_layout *t,
				 const struct device *d, bool is_quantized)
{
	bool dense = !t->prefix[0];

	if (d->kind == DEVICE_PLAIN && !dense)
		return NULL;
	if (d->kind == DEVICE_BACKEND && dense && is_quantized)
		return "Quantized";
	return t->prefix;
}

int dk_compute_key(const struct dk_layout *l, const char *dtype, const char *layout,
		   const char *device, unsigned int *key, struct dk_diag *why)
{
	const struct tensor_layout *t;
	const struct device *d;
	const char *prefix;
	char name[DK_NAME_MAX];
	struct dkc_text text = { name, sizeof(name), 0 };
	bool is_quantized;

	l = dkc_layout(l);
	is_quantized = dtype && dkc_has_word(quantized, dtype);
	if (!l->has_sets)
		return dkc_refuse(why, DK_WHY_NO_SETS, l->name);
	if (dtype && !is_quantized && !dkc_has_word(dtypes, dtype))
		return dkc_refuse(why, DK_WHY_BAD_DTYPE, dtype);
	t = find_tensor_layout(l, layout);
	if (!t)
		return dkc_refuse(why, DK_WHY_BAD_TENSOR_LAYOUT, layout);
	d = parse_device(l, device);
	if (!d)
		return dkc_refuse(why, DK_WHY_BAD_DEVICE_TYPE, device);
	prefix = choose_prefix(t, d, is_quantized);
	if (!prefix)
		return dkc_refuse(why, t->reason, d->name);
	dkc_put(&text, prefix);
	dkc_put(&text, d->name);
	dkc_put_end(&text);
	if (!dkc_find_key(l, name, key))
		return dkc_refuse(why, t->reason, d->name);
	return dkc_accept(why);
}

/*
 * ---- numbers -----------------------------------------------------------------
 *
 * Those of the versions before 1.12, which have no backends, are not known.
 */

/* Before MTIA was added, PrivateUse1 had the number that MTIA has now. */
static unsigned int device_number(const struct dk_layout *l, const struct device *d)
{
	return d->number > 19 && !dkc_find_backend(l, "MTIA") ? d->number - 1 : d->number;
}

int dk_device_type_number(const struct dk_layout *l, const char *name,
			  struct dk_diag *why)
{
	const struct device *d;

	l = dkc_layout(l);
	if (!l->nb)
		return dkc_refuse(why, DK_WHY_NO_SETS, l->name);
	d = parse_device(l, name);
	if (!d)
		return dkc_refuse(why, DK_WHY_BAD_DEVICE_TYPE, name);
	dkc_accept(why);
	return device_number(l, d);
}

const char *dk_device_type_name(const struct dk_layout *l, unsigned int number)
{
	unsigned int i;

	l = dkc_layout(l);
	for (i = 0; l->nb && i < ARRAY_SIZE(devices); i++)
		if (has_device(l, &devices[i]) && device_number(l, &devices[i]) == number)
			return devices[i].name;
	return NULL;
}

int dk_tensor_layout_number(const struct dk_layout *l, const char *name,
			    struct dk_diag *why)
{
	const struct tensor_layout *t;

	l = dkc_layout(l);
	if (!l->nb)
		return dkc_refuse(why, DK_WHY_NO_SETS, l->name);
	t = find_tensor_layout(l, name);
	if (!t)
		return dkc_refuse(why, DK_WHY_BAD_TENSOR_LAYOUT, name);
	dkc_accept(why);
	return t->number;
}

const char *dk_tensor_layout_name(const struct dk_layout *l, unsigned int number)
{
	unsigned int i;

	l = dkc_layout(l);
	for (i = 0; l->nb && i < ARRAY_SIZE(tensor_layouts); i++)
		if (tensor_layouts[i].number == number &&
		    find_tensor_layout(l, tensor_layouts[i].name))
			return tensor_layouts[i].name;
	return NULL;
}

/* ---- names in lower case ----------------------------------------------------------- */

/* True if @word is the name of a device type in lower case; "privateuseone" is PrivateUse1. */
static bool is_lower_name(const struct device *d, const char *word, size_t len)
{
	const char *name = dkc_streq(d->name, "PrivateUse1") ? "privateuseone" : d->name;
	size_t i;

	for (i = 0; i < len && name[i]; i++)
		if (word[i] != dkc_lower(name[i]))
			return false;
	return i == len && !name[i];
}

const char *dkc_parse_device_type(const struct dk_layout *l, const char *word, size_t len)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(devices); i++)
		if (has_device(l, &devices[i]) && is_lower_name(&devices[i], word, len))
			return devices[i].name;
	return NULL;
}

/* ---- from keys -------------------------------------------------------------------- */

/* Returns the device of a key such as SparseCsrCPU that has no backend in this layout, or NULL. */
static const struct device *device_in_name(const char *name)
{
	static const char *const prefixes[] = {
		"Mkldnn", "SparseCsr", "Sparse", "Quantized", "Autograd",
	};
	const struct device *d = NULL;
	unsigned int i;

	for (i = 0; !d && i < ARRAY_SIZE(prefixes); i++)
		if (dkc_starts_with(name, prefixes[i]))
			d = find_device(name + strlen(prefixes[i]));
	return d && d->kind == DEVICE_BACKEND ? d : NULL;
}

/*
 * Returns the device of a key, or NULL. For example, the key MAIA has the device "maia", but the
 * key QuantizedMAIA has none.
 */
static const struct device *device_of(const struct dk_layout *l, unsigned int key)
{
	unsigned int b = dk_key_backend(l, key);
	const struct device *d;
	char name[DK_NAME_MAX];

	if (b) {
		d = find_device(l->backend_names[b]);
		if (d && d->kind == DEVICE_BACKEND)
			return d;
	}
	dkc_key_name(l, key, name);
	d = find_device(name);
	return d && d->has_key ? d : device_in_name(name);
}

int dk_key_device_type(const struct dk_layout *l, unsigned int key,
		       const char **device, struct dk_diag *why)
{
	const struct device *d;

	l = dkc_layout(l);
	d = device_of(l, key);
	if (!d)
		return dkc_refuse_key(why, DK_WHY_NO_DEVICE_TYPE, l, key);
	*device = d->name;
	return dkc_accept(why);
}

int dk_key_tensor_layout(const struct dk_layout *l, unsigned int key,
			 const char **layout, struct dk_diag *why)
{
	char name[DK_NAME_MAX], f[DK_NAME_MAX];

	l = dkc_layout(l);
	dkc_key_name(l, key, name);
	dkc_key_name(l, dk_key_functionality(l, key), f);
	if (dkc_has_word("SparseCsr SparseCsrCPU SparseCsrCUDA", f))
		return dkc_refuse_key(why, DK_WHY_NO_UNIQUE_LAYOUT, l, key);
	if ((dk_key_backend(l, key) && dkc_streq(f, "Sparse")) ||
	    (!l->nb && dkc_starts_with(f, "Sparse")))
		*layout = "Sparse";
	else if (dkc_streq(name, "MkldnnCPU"))
		*layout = "Mkldnn";
	else
		*layout = "Strided";
	return dkc_accept(why);
}
