// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The key of a tensor from dtype, layout and device, and back: SEMANTICS 10.
 * What differs between versions follows from the keys that a layout has.
 */
#include "layout.h"

enum device_kind {
	DEVICE_BACKEND,		/* an extensible one: <prefix><device> is a key */
	DEVICE_PLAIN,		/* one key, and dense only */
	DEVICE_OLD,		/* has a number and nothing else */
};

static const struct device {
	const char *name;
	enum device_kind kind;
	bool has_key;		/* that leads back to the device */
} devices[] = {
	{ "CPU", DEVICE_BACKEND, true },	{ "CUDA", DEVICE_BACKEND, true },
	{ "MKLDNN", DEVICE_OLD, false },	{ "OPENGL", DEVICE_OLD, false },
	{ "OPENCL", DEVICE_OLD, false },	{ "IDEEP", DEVICE_OLD, false },
	{ "HIP", DEVICE_BACKEND, true },	{ "FPGA", DEVICE_PLAIN, false },
	{ "MAIA", DEVICE_PLAIN, true },		{ "ORT", DEVICE_PLAIN, true },
	{ "XLA", DEVICE_BACKEND, true },	{ "Vulkan", DEVICE_PLAIN, true },
	{ "Metal", DEVICE_PLAIN, false },	{ "XPU", DEVICE_BACKEND, true },
	{ "MPS", DEVICE_BACKEND, true },	{ "Meta", DEVICE_BACKEND, true },
	{ "HPU", DEVICE_BACKEND, true },	{ "VE", DEVICE_BACKEND, true },
	{ "Lazy", DEVICE_BACKEND, true },	{ "IPU", DEVICE_BACKEND, true },
	{ "MTIA", DEVICE_BACKEND, true },	{ "PrivateUse1", DEVICE_BACKEND, true },
};

static const struct tensor_layout {
	const char *name;
	const char *prefix;	/* of the keys of its backends */
	enum dk_reason reason;	/* of a device that has none */
} tensor_layouts[] = {
	{ "Strided", "", DK_WHY_DEVICE_DENSE },
	{ "Jagged", "", DK_WHY_DEVICE_DENSE },
	{ "Sparse", "Sparse", DK_WHY_DEVICE_SPARSE },
	{ "SparseCsr", "SparseCsr", DK_WHY_DEVICE_SPARSE_CSR },
	{ "SparseCsc", "SparseCsr", DK_WHY_DEVICE_SPARSE_CSC },
	{ "SparseBsr", "SparseCsr", DK_WHY_DEVICE_SPARSE_BSR },
	{ "SparseBsc", "SparseCsr", DK_WHY_DEVICE_SPARSE_BSC },
	{ "Mkldnn", "Mkldnn", DK_WHY_DEVICE_MKLDNN },
};

static const char quantized[] = "qint8 quint8 qint32 quint4x2 quint2x4";

static const char dtypes[] =
	"uint8 uint16 uint32 uint64 int8 int16 int32 int64 half float16 bfloat16 "
	"float float32 double float64 complex32 complex64 complex128 bool "
	"float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz";

static const struct device *find_device(const char *name)
{
	unsigned int i;

	for (i = 0; i < DKC_COUNT(devices); i++)
		if (dkc_streq(devices[i].name, name))
			return &devices[i];
	return NULL;
}

static const struct tensor_layout *
find_tensor_layout(const struct dk_layout *l, const char *name)
{
	unsigned int i;

	/* both came with the same versions */
	if (dkc_streq(name, "Jagged") &&
	    !dkc_find_functionality(l, "BatchedNestedTensor"))
		return NULL;
	for (i = 0; i < DKC_COUNT(tensor_layouts); i++)
		if (dkc_streq(tensor_layouts[i].name, name))
			return &tensor_layouts[i];
	return NULL;
}

/* Has a tensor of this layout a key on this device, and by which prefix? */
static const char *choose_prefix(const struct tensor_layout *t,
				 const struct device *d, bool is_quantized)
{
	bool dense = !t->prefix[0];

	if (t->reason == DK_WHY_DEVICE_MKLDNN)
		return dkc_streq(d->name, "CPU") ? t->prefix : NULL;
	if (d->kind == DEVICE_OLD || (d->kind == DEVICE_PLAIN && !dense))
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
	t = find_tensor_layout(l, layout ? layout : "Strided");
	if (!t)
		return dkc_refuse(why, DK_WHY_BAD_TENSOR_LAYOUT, layout);
	d = find_device(device ? device : "CPU");
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
	dkc_remark(why, DK_WHY_NONE, NULL);
	return 0;
}

/* A key of another device that only looks like one (QuantizedMAIA) leads nowhere. */
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
	if (dkc_streq(name, "MkldnnCPU") || dkc_streq(name, "SparseCsrCPU"))
		return find_device("CPU");
	if (dkc_streq(name, "SparseCsrCUDA"))
		return find_device("CUDA");
	d = find_device(name);
	return d && d->has_key ? d : NULL;
}

int dk_key_device_type(const struct dk_layout *l, unsigned int key,
		       const char **device, struct dk_diag *why)
{
	char name[DK_NAME_MAX];
	const struct device *d;

	l = dkc_layout(l);
	d = device_of(l, key);
	if (!d)
		return dkc_refuse(why, DK_WHY_NO_DEVICE_TYPE, dk_key_name(l, key, name));
	*device = d->name;
	dkc_remark(why, DK_WHY_NONE, NULL);
	return 0;
}

int dk_key_tensor_layout(const struct dk_layout *l, unsigned int key,
			 const char **layout, struct dk_diag *why)
{
	char name[DK_NAME_MAX], f[DK_NAME_MAX];

	l = dkc_layout(l);
	dkc_key_name(l, key, name);
	dkc_key_name(l, dk_key_functionality(l, key), f);
	if (dkc_has_word("SparseCsr SparseCsrCPU SparseCsrCUDA", f))
		return dkc_refuse(why, DK_WHY_NO_UNIQUE_LAYOUT, dk_key_name(l, key, name));
	if (dk_key_backend(l, key) && dkc_streq(f, "Sparse"))
		*layout = "Sparse";
	else if (dkc_streq(name, "MkldnnCPU"))
		*layout = "Mkldnn";
	else
		*layout = "Strided";
	dkc_remark(why, DK_WHY_NONE, NULL);
	return 0;
}
