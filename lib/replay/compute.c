// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * compute-key: the key of a tensor from dtype, layout and device (SEMANTICS
 * 10). What differs between versions follows from the keys that a layout has.
 */
#include "internal.h"

enum device_kind {
	DEVICE_BACKEND,		/* an extensible one: <prefix><device> is a key */
	DEVICE_PLAIN,		/* one key, and dense only */
	DEVICE_OLD,		/* has a number and nothing else */
};

static const struct {
	const char *name;
	enum device_kind kind;
} devices[] = {
	{ "CPU", DEVICE_BACKEND },	{ "CUDA", DEVICE_BACKEND },
	{ "MKLDNN", DEVICE_OLD },	{ "OPENGL", DEVICE_OLD },
	{ "OPENCL", DEVICE_OLD },	{ "IDEEP", DEVICE_OLD },
	{ "HIP", DEVICE_BACKEND },	{ "FPGA", DEVICE_PLAIN },
	{ "MAIA", DEVICE_PLAIN },	{ "ORT", DEVICE_PLAIN },
	{ "XLA", DEVICE_BACKEND },	{ "Vulkan", DEVICE_PLAIN },
	{ "Metal", DEVICE_PLAIN },	{ "XPU", DEVICE_BACKEND },
	{ "MPS", DEVICE_BACKEND },	{ "Meta", DEVICE_BACKEND },
	{ "HPU", DEVICE_BACKEND },	{ "VE", DEVICE_BACKEND },
	{ "Lazy", DEVICE_BACKEND },	{ "IPU", DEVICE_BACKEND },
	{ "MTIA", DEVICE_BACKEND },	{ "PrivateUse1", DEVICE_BACKEND },
};

static const struct {
	const char *name;
	const char *prefix;	/* of the keys of its backends */
	const char *refusal;
} layouts[] = {
	{ "Strided", "", "Unsupported device type for dense layout" },
	{ "Jagged", "", "Unsupported device type for dense layout" },
	{ "Sparse", "Sparse", "Unsupported device type for sparse layout" },
	{ "SparseCsr", "SparseCsr", "Unsupported device type for SparseCsr layout" },
	{ "SparseCsc", "SparseCsr", "Unsupported device type for SparseCsc layout" },
	{ "SparseBsr", "SparseCsr", "Unsupported device type for SparseBsr layout" },
	{ "SparseBsc", "SparseCsr", "Unsupported device type for SparseBsc layout" },
	{ "Mkldnn", NULL, "Unsupported device type for mkldnn layout" },
};

static const char *const quantized[] = {
	"qint8", "quint8", "qint32", "quint4x2", "quint2x4",
};

static const char *const dtypes[] = {
	"uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
	"half", "float16", "bfloat16", "float", "float32", "double", "float64",
	"complex32", "complex64", "complex128", "bool",
	"float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz",
};

static bool among(const char *const *list, unsigned int n, const char *name)
{
	while (n--) {
		if (dk_replay_eq(list[n], name))
			return true;
	}
	return false;
}

static int refuse(struct dk_replay *r, const char *text, const char *name)
{
	return dk_replay_refuse(r, -EINVAL, text, name, dk_replay_len(name));
}

/* The key that is called @prefix@device, or the layout's refusal. */
static int answer(struct dk_replay *r, const char *prefix, const char *device,
		  const char *refusal)
{
	char name[32];
	size_t n = dk_replay_len(prefix), len = dk_replay_len(device);
	unsigned int key;

	memcpy(name, prefix, n);
	memcpy(name + n, device, len + 1);
	if (dk_key_parse(r->layout, name, 0, &key, NULL))
		return refuse(r, refusal, device);
	dk_replay_put_key(r, key);
	dk_replay_put(r, "\n");
	return 0;
}

static bool find_layout(struct dk_replay *r, const char *name, unsigned int *i)
{
	unsigned int key;

	/* both came with the same versions */
	if (dk_replay_eq(name, "Jagged") &&
	    dk_key_parse(r->layout, "BatchedNestedTensor", 0, &key, NULL))
		return false;
	for (*i = 0; *i < ARRAY_SIZE(layouts); ++*i) {
		if (dk_replay_eq(layouts[*i].name, name))
			return true;
	}
	return false;
}

DK_REPLAY_RUN(compute_key)
{
	const char *dtype = dk_replay_eq(w->arg[0], "-") ? "float" : w->arg[0];
	const char *layout = dk_replay_eq(w->arg[1], "-") ? "Strided" : w->arg[1];
	const char *device = dk_replay_eq(w->arg[2], "-") ? "CPU" : w->arg[2];
	bool is_quantized = among(quantized, ARRAY_SIZE(quantized),
				  dtype);
	unsigned int l, d = 0;
	const char *prefix;

	if (!is_quantized && !among(dtypes, ARRAY_SIZE(dtypes), dtype))
		return refuse(r, "no such dtype", dtype);
	if (!find_layout(r, layout, &l))
		return refuse(r, "Unsupported layout", layout);
	while (d < ARRAY_SIZE(devices) &&
	       !dk_replay_eq(devices[d].name, device))
		d++;
	if (d == ARRAY_SIZE(devices))
		return refuse(r, "no such device type", device);

	prefix = layouts[l].prefix;
	if (!prefix) {		/* Mkldnn: one key, for the CPU */
		if (!dk_replay_eq(device, "CPU"))
			return refuse(r, layouts[l].refusal, device);
		return answer(r, "Mkldnn", device, layouts[l].refusal);
	}
	if (devices[d].kind == DEVICE_OLD ||
	    (devices[d].kind == DEVICE_PLAIN && prefix[0]))
		return refuse(r, layouts[l].refusal, device);
	if (devices[d].kind == DEVICE_BACKEND && is_quantized && !prefix[0])
		prefix = "Quantized";
	return answer(r, prefix, device, layouts[l].refusal);
}
