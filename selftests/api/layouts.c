// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests layouts: errors for what a layout does not have, computeDispatchKey and its inverse, and
 * translation. selftests/unit/layout_test.c tests the numbers of keys. full_registry.h explains the
 * comments "refuses:".
 */
#include "full_registry.h"

/* ---- unknown properties -------------------------------------------------- */

static void unknown_data_is_refused(void)
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

/*
 * SEMANTICS 1.6: a registry's strict parser accepts a provider's name for PrivateUse1 in capitals
 * only: "EDU", not "edu".
 */
static void strict_parsing_with_a_bound_name(void)
{
	static struct dk_provider prov;
	unsigned int key = 77, backend;

	r_open();
	/*
	 * r_edu is PrivateUse1, because "edu" is the first private backend that a provider joined
	 */
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
	/* refuses: dk_registry_key_parse_strict EINVAL NULL_ARGUMENT */
	REFUSED(dk_registry_key_parse_strict(t_reg, NULL, &key, &t_why), EINVAL,
		NULL_ARGUMENT, "name");
	REFUSED(dk_registry_key_parse_strict(t_reg, "AutogradHIP", &key, &t_why), EINVAL,
		PARSE_KEY, "AutogradHIP");
	CHECK_INT(key, DK_CPU);
	r_close();

	t_open("v1", 0);
	CHECK_OK(dk_registry_key_parse_strict(t_reg, "PRIVATEUSEONE", &key, &t_why));
	CHECK_INT(key, DK_PRIVATEUSE1);
	/* only letters have capitals */
	t_join(&prov, "prov");
	CHECK_OK(dk_backend_join(&prov, "a-z", 0, 0, &backend, &t_why));
	CHECK_OK(dk_registry_key_parse_strict(t_reg, "AutogradA-Z", &key, &t_why));
	CHECK_INT(key, DK_AUTOGRAD_PRIVATEUSE1);
	t_close();
}

/* ---- computeDispatchKey and its inverse ---------------------------------- */

static void compute_key_refuses_unknown_words(void)
{
	const struct dk_layout *old = dk_layout_find("pytorch-1.13", NULL);
	unsigned int key = 77;

	r_open();
	/* refuses: dk_compute_key EINVAL BAD_DTYPE */
	REFUSED(dk_compute_key(NULL, "float31", NULL, NULL, &key, &t_why), EINVAL,
		BAD_DTYPE, "float31");
	REFUSED(dk_compute_key(NULL, "qint8 quint8", NULL, NULL, &key, &t_why), EINVAL,
		BAD_DTYPE, "qint8 quint8");
	/* refuses: dk_compute_key EINVAL BAD_TENSOR_LAYOUT */
	REFUSED(dk_compute_key(NULL, NULL, "Dense", NULL, &key, &t_why), EINVAL,
		BAD_TENSOR_LAYOUT, "Dense");
	REFUSED(dk_compute_key(old, NULL, "Jagged", NULL, &key, &t_why), EINVAL,
		BAD_TENSOR_LAYOUT, "Jagged");
	/* refuses: dk_compute_key EINVAL BAD_DEVICE_TYPE */
	REFUSED(dk_compute_key(NULL, NULL, NULL, "cup", &key, &t_why), EINVAL,
		BAD_DEVICE_TYPE, "cup");
	REFUSED(dk_compute_key(NULL, NULL, NULL, "cuda:", &key, &t_why), EINVAL,
		BAD_DEVICE_TYPE, "cuda:");
	REFUSED(dk_compute_key(NULL, NULL, NULL, "cuda:x", &key, &t_why), EINVAL,
		BAD_DEVICE_TYPE, "cuda:x");
	REFUSED(dk_compute_key(NULL, NULL, NULL, "cuda:0x", &key, &t_why), EINVAL,
		BAD_DEVICE_TYPE, "cuda:0x");
	/* devices of other versions, in all spellings */
	REFUSED(dk_compute_key(old, NULL, NULL, "mtia", &key, &t_why), EINVAL,
		BAD_DEVICE_TYPE, "mtia");
	REFUSED(dk_compute_key(old, NULL, NULL, "MTIA", &key, &t_why), EINVAL,
		BAD_DEVICE_TYPE, "MTIA");
	REFUSED(dk_compute_key(NULL, NULL, NULL, "ORT", &key, &t_why), EINVAL,
		BAD_DEVICE_TYPE, "ORT");
	REFUSED(dk_compute_key(old, NULL, "jagged", NULL, &key, &t_why), EINVAL,
		BAD_TENSOR_LAYOUT, "jagged");
	/* refuses: dk_compute_key EOPNOTSUPP DEVICE_DENSE */
	REFUSED(dk_compute_key(NULL, NULL, NULL, "MKLDNN", &key, &t_why), EOPNOTSUPP,
		DEVICE_DENSE, "MKLDNN");
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
	/* 1.13 has no MTIA and no Jagged, and has ORT instead of MAIA */
	CHECK_INT(dk_device_type_number(old, "PrivateUse1", &t_why), 19);
	CHECK_STR(dk_device_type_name(old, 19), "PrivateUse1");
	CHECK(!dk_device_type_name(old, 20));
	CHECK_INT(dk_device_type_number(old, "ORT", &t_why), 8);
	CHECK_STR(dk_device_type_name(old, 8), "ORT");
	CHECK_STR(dk_device_type_name(old, 18), "IPU");
	/* all words that dk_compute_key() accepts */
	CHECK_INT(dk_device_type_number(NULL, "cuda", &t_why), 1);
	CHECK_INT(dk_device_type_number(NULL, "cuda:1", &t_why), 1);
	CHECK_INT(dk_device_type_number(NULL, "privateuseone", &t_why), 20);
	CHECK_INT(dk_device_type_number(old, "privateuseone", &t_why), 19);
	CHECK_INT(dk_device_type_number(NULL, NULL, &t_why), 0);
	CHECK_INT(dk_tensor_layout_number(NULL, "sparse_coo", &t_why), 1);
	CHECK_INT(dk_tensor_layout_number(NULL, NULL, &t_why), 0);
	CHECK_STR(dk_tensor_layout_name(old, 6), "SparseBsc");
	CHECK(!dk_tensor_layout_name(old, 7));
	r_open();
	/* refuses: dk_device_type_number EINVAL BAD_DEVICE_TYPE */
	REFUSED(dk_device_type_number(old, "MTIA", &t_why), EINVAL, BAD_DEVICE_TYPE, "MTIA");
	REFUSED(dk_device_type_number(NULL, "ORT", &t_why), EINVAL, BAD_DEVICE_TYPE, "ORT");
	REFUSED(dk_device_type_number(NULL, "ort", &t_why), EINVAL, BAD_DEVICE_TYPE, "ort");
	REFUSED(dk_device_type_number(NULL, "cuda:", &t_why), EINVAL, BAD_DEVICE_TYPE, "cuda:");
	/* refuses: dk_tensor_layout_number EINVAL BAD_TENSOR_LAYOUT */
	REFUSED(dk_tensor_layout_number(old, "Jagged", &t_why), EINVAL, BAD_TENSOR_LAYOUT,
		"Jagged");
	r_close();
}

/* Tests PyTorch's _dispatch_key_for_device, and the name of PrivateUse1 (SEMANTICS 10). */
static void key_for_a_device(void)
{
	static const struct { const char *word, *name; } reserved[] = {
		{ "cpu", "CPU" }, { "CUDA", "CUDA" }, { "hip", "HIP" }, { "Mps", "MPS" },
		{ "xpu", "XPU" }, { "mtia", "MTIA" }, { "vulkan", "Vulkan" },
		{ "PrivateUseOne", "PrivateUseOne" },
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
	/* refuses: dk_key_for_device EINVAL NULL_ARGUMENT */
	REFUSED(dk_key_for_device(t_reg, NULL, &key, &t_why), EINVAL, NULL_ARGUMENT, "device");
	/* refuses: dk_key_for_device EOPNOTSUPP DEVICE_DENSE */
	REFUSED(dk_key_for_device(t_reg, "mkldnn", &key, &t_why), EOPNOTSUPP,
		DEVICE_DENSE, "MKLDNN");
	for (i = 0; i < ARRAY_SIZE(reserved); i++)
		REFUSED(dk_backend_join(&r_a, reserved[i].word, 0, 0, &b, &t_why), EINVAL,
			NAME_TAKEN, reserved[i].name);
	CHECK_INT(key, 77);
	r_close();
}

static void device_type_of_a_key(void)
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
	CHECK_OK(dk_key_parse(old, "SparseCsrCUDA", 0, &key, &t_why));
	CHECK_OK(dk_key_device_type(old, key, &word, &t_why));
	CHECK_STR(word, "CUDA");
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

/* ---- translation --------------------------------------------------------- */

/* The notes of a translation, each followed by a space. */
static char notes[1024];

static void add_note(const char *a, const char *b, const char *c)
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
	static struct dk_note n = { .size = sizeof(n) };

	notes[0] = 0;
	CHECK_OK(dk_keyset_parse(a, set, &ks, &t_why));
	dk_translate(&t, a, dk_layout_find(to, NULL), ks);
	while (dk_translation_next(&t, &n) > 0) {
		/* a member that has no value for this kind of note is empty */
		if (n.kind & (DK_NOTE_ADDED | DK_NOTE_ALONE))
			CHECK_INT(n.from_kind, 0);
		if (n.kind & (DK_NOTE_ADDED | DK_NOTE_ALONE | DK_NOTE_LOST))
			CHECK_STR(n.other, "");
		if (n.kind & DK_NOTE_LOST)
			add_note("-", n.name, "");
		if (n.kind & DK_NOTE_RENAMED)
			add_note(n.name, ">", n.other);
		if (n.kind & DK_NOTE_CHANGED)
			add_note(n.other, ":", dk_kind_name(n.to_kind));
		if (n.kind & DK_NOTE_ADDED)
			add_note("+", n.name, "");
		if (n.kind & DK_NOTE_ALONE)
			add_note("!", n.name, "");
		if (n.kind & DK_NOTE_TOP)
			add_note(n.other, "^", n.name);
	}
	CHECK(!dk_translation_next(&t, &n));
	CHECK_INT(n.size, sizeof(n));
	/* refuses: dk_translation_next EINVAL BAD_SIZE */
	n.size--;
	CHECK_INT(dk_translation_next(&t, &n), -EINVAL);
	n.size++;
	return t.result.bits;
}

/* The names of the keys have the device and tensor layout, because keysets have no backends. */
static void devices_in_layouts_without_backends(void)
{
	static const struct {
		const char *key, *device, *layout;
	} keys[] = {
		{ "CPU", "CPU", "Strided" }, { "QuantizedXPU", "XPU", "Strided" },
		{ "SparseVE", "VE", "Sparse" }, { "SparseCsrCUDA", "CUDA", NULL },
		{ "MkldnnCPU", "CPU", "Mkldnn" }, { "AutogradLazy", "Lazy", "Strided" },
		{ "ORT", "ORT", "Strided" }, { "NestedTensor", NULL, "Strided" },
		{ "AutogradOther", NULL, "Strided" }, { "AutocastCPU", NULL, "Strided" },
	};
	const struct dk_layout *l = dk_layout_find("pytorch-1.11", NULL);
	unsigned int key, i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *device = NULL, *layout = NULL;

		CHECK_OK(dk_key_parse(l, keys[i].key, 0, &key, &t_why));
		dk_key_device_type(l, key, &device, &t_why);
		dk_key_tensor_layout(l, key, &layout, &t_why);
		if (!CHECK_STR(device ?: "none", keys[i].device ?: "none") ||
		    !CHECK_STR(layout ?: "none", keys[i].layout ?: "none"))
			t_note("%s", keys[i].key);
	}
	CHECK(!dk_device_type_name(l, 0));
	CHECK(!dk_tensor_layout_name(l, 0));
	r_open();
	/* refuses: dk_device_type_number EOPNOTSUPP NO_SETS */
	REFUSED(dk_device_type_number(l, "CPU", &t_why), EOPNOTSUPP, NO_SETS, "pytorch-1.11");
	/* refuses: dk_tensor_layout_number EOPNOTSUPP NO_SETS */
	REFUSED(dk_tensor_layout_number(l, NULL, &t_why), EOPNOTSUPP, NO_SETS, "pytorch-1.11");
	REFUSED(dk_compute_key(l, NULL, NULL, "CPU", &key, &t_why), EOPNOTSUPP, NO_SETS,
		"pytorch-1.11");
	r_close();
}

static void translation_reports_changes(void)
{
	CHECK_INT(translate("pytorch-2.6", "v1", "CPU|AutogradCPU|Tracer"), 0x5000010001);
	CHECK_STR(notes, "");
	/* PyTorch first renamed ORT, and later made it a backend */
	CHECK_INT(translate("pytorch-1.13", "pytorch-2.4", "ORT"), 0x20000);
	CHECK_STR(notes, "ORT>MAIA ");
	CHECK_INT(translate("pytorch-1.13", "v1", "ORT"), 0x10800);
	CHECK_STR(notes, "ORT>MAIA MAIA:per-backend ");
	CHECK_INT(translate("v1", "pytorch-1.13", "MAIA"), 0x10000);
	CHECK_STR(notes, "MAIA>ORT ORT:functionality ");
	/* in 1.12, Meta is not a backend and has no Dense bit */
	CHECK_INT(translate("pytorch-1.12", "v1", "Meta"), 0x18000);
	CHECK_STR(notes, "Meta:per-backend ");
	CHECK_INT(translate("v1", "pytorch-1.12", "Meta"), 0x40000);
	CHECK_STR(notes, "Meta:functionality ");
	CHECK_INT(translate("v1", "pytorch-1.12", "Meta|AutogradMeta"), 0x1000040000);
	CHECK_STR(notes, "Meta:functionality -AutogradMeta !AutogradFunctionality "
		  "AutogradFunctionality^Meta ");
	CHECK_INT(translate("v1", "pytorch-1.12", "MetaBit|FPGA"), 0x4000);
	CHECK_STR(notes, "-MetaBit ");
	/* in 1.13, SparseCsrCPU and SparseCsrCUDA are functionalities */
	CHECK_INT(translate("pytorch-1.13", "v1", "SparseCsrCPU"), 0x1000001);
	CHECK_STR(notes, "SparseCsrCPU:per-backend ");
	CHECK_INT(translate("v1", "pytorch-1.13", "SparseCsrXPU|CUDABit"), 0x1000042);
	CHECK_STR(notes, "SparseCsrCUDA:functionality -SparseCsrXPU ");
	/* a set has each of its backends with each per-backend functionality: this adds keys */
	CHECK_INT(translate("pytorch-1.13", "v1", "SparseCsrCPU|CUDA"), 0x1010003);
	CHECK_STR(notes, "SparseCsrCPU:per-backend +CPU +SparseCsrCUDA "
		  "SparseCsrCUDA^SparseCsrCPU ");
	/* notes about keys, backends, building blocks and unknown bits that are lost */
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

/* Before 1.12, a keyset has no backends: CPU, SparseCPU and AutogradCPU are three bits. */
static void translation_to_and_from_layouts_without_backends(void)
{
	CHECK_INT(translate("pytorch-1.11", "v1", "CPU|AutogradCPU|Tracer"), 0x5000010001);
	CHECK_STR(notes, "CPU:per-backend AutogradCPU:per-backend ");
	CHECK_INT(translate("v1", "pytorch-1.11", "CPU|AutogradCPU|Tracer"), 0x4008000000001);
	CHECK_STR(notes, "CPU:functionality AutogradCPU:functionality ");
	CHECK_INT(translate("v1", "pytorch-1.10", "CPU|CUDA|SparseCPU"), 0x180003);
	CHECK_STR(notes, "CPU:functionality CUDA:functionality SparseCPU:functionality "
		  "SparseCUDA:functionality ");
	/* the set gets all combinations of Dense and Autograd with CPU and CUDA */
	CHECK_INT(translate("pytorch-1.11", "v1", "CPU|AutogradCUDA|MLC"), 0x1000010003);
	CHECK_STR(notes, "CPU:per-backend -MLC AutogradCUDA:per-backend +CUDA +AutogradCPU ");
	CHECK_INT(translate("pytorch-1.11", "v1", "ORT"), 0x10800);
	CHECK_STR(notes, "ORT>MAIA MAIA:per-backend ");
	CHECK_INT(translate("v1", "pytorch-1.11", "MTIA|AutogradMTIA"), 0);
	CHECK_STR(notes, "-MTIABit ");
	/* in 1.10 and 1.11, NestedTensor is one key */
	CHECK_INT(translate("v1", "pytorch-1.11", "NestedTensorCPU"), 0x4000000);
	CHECK_STR(notes, "-CPUBit NestedTensor:functionality ");
	CHECK_INT(translate("pytorch-1.11", "v1", "NestedTensor"), 0x2000000);
	CHECK_STR(notes, "NestedTensor:building-block !NestedTensor ");
	CHECK_INT(translate("pytorch-1.11", "pytorch-1.10", "CPU|ZeroTensor|Named"), 0x200000001);
	CHECK_STR(notes, "-ZeroTensor ");
	CHECK_INT(translate("pytorch-1.10", "pytorch-1.11", "CPU|FuncTorchPython"), 1);
	CHECK_STR(notes, "-FuncTorchPython ");
	/* names that the keys had earlier */
	CHECK_INT(translate("pytorch-1.8", "v1", "MSNPU|Autocast"), 0x800000010800);
	CHECK_STR(notes, "MSNPU>MAIA MAIA:per-backend Autocast>AutocastCUDA ");
	CHECK_INT(translate("v1", "pytorch-1.8", "AutocastCUDA"), 0x20000000000);
	CHECK_STR(notes, "AutocastCUDA>Autocast ");
	CHECK_INT(translate("pytorch-1.6", "pytorch-1.8", "PrivateUse2_PreAutograd|XLAPreAutograd"),
		  0x4400000000);
	CHECK_STR(notes, "XLAPreAutograd>AutogradXLA "
		  "PrivateUse2_PreAutograd>AutogradPrivateUse2 ");
	/* Autograd became an alias key */
	CHECK_INT(translate("pytorch-1.6", "pytorch-1.7", "CPU|Autograd|Profiler"), 1);
	CHECK_STR(notes, "-Autograd -Profiler ");
	/* before 1.6, names ended in TensorId */
	CHECK_INT(translate("pytorch-1.3", "pytorch-1.6", "CPUTensorId|SparseHIPTensorId"),
		  0x80001);
	CHECK_STR(notes, "CPUTensorId>CPU SparseHIPTensorId>SparseHIP ");
	CHECK_INT(translate("pytorch-1.5", "pytorch-1.6", "PrivateUse1_TensorId|VariableTensorId|"
			    "PrivateUse3_PreAutogradTensorId|CustomRNGKeyId"), 0x204108000);
	CHECK_STR(notes, "PrivateUse1_TensorId>PrivateUse1 VariableTensorId>Autograd "
		  "PrivateUse3_PreAutogradTensorId>PrivateUse3_PreAutograd ");
	CHECK_INT(translate("v1", "pytorch-1.4", "MAIA"), 0x100);
	CHECK_STR(notes, "MAIA>MSNPUTensorId MSNPUTensorId:functionality ");
	CHECK_INT(translate("pytorch-1.11", "v1", "0xc000000000000001"), 0x10001);
	CHECK_STR(notes, "-0xc000000000000000 CPU:per-backend ");
}

/* A layout of a user's own may have a key beside its earlier name. */
static void translation_prefers_the_same_name(void)
{
	static const char text[] =
		"layout mine\n"
		"functionalities Undefined CPU CPUTensorId ORT MAIA XTensorId X_TensorId\n";
	struct dk_layout *l = dk_layout_parse(text, &t_why);
	struct dk_translation t;
	struct dk_note n = { .size = sizeof(n) };
	u64 bits;

	if (!CHECK(l))
		return;
	for (bits = 0; bits < 64; bits++) {
		dk_translate(&t, l, l, DK_KEYSET(bits));
		CHECK(t.result.bits == bits);
		CHECK_INT(dk_translation_next(&t, &n), 0);
	}
	/* both become MAIA */
	dk_translate(&t, l, NULL, DK_KEYSET(4 | 8));
	CHECK(t.result.bits == 0x10800);
	dk_layout_free(l);
}

/* SEMANTICS 1.3: the order of backends and functionalities differs between releases. */
static void translation_reports_another_top_key(void)
{
	translate("pytorch-2.0", "v1", "PrivateUse1|Meta");
	CHECK_STR(notes, "Meta^PrivateUse1 ");
	translate("pytorch-1.12", "v1", "CPU|AutogradCPU|Functionalize");
	CHECK_STR(notes, "AutogradCPU^Functionalize ");
	translate("pytorch-2.7", "v1", "CPU|Fake|Python");
	CHECK_STR(notes, "Python^Fake ");
	/* without a backend */
	translate("pytorch-2.7", "v1", "Fake|Python|AutogradFunctionality");
	CHECK_STR(notes, "");
	translate("pytorch-1.12", "v1", "AutogradFunctionality|Functionalize");
	CHECK_STR(notes, "AutogradFunctionality^Functionalize ");
	/* keys that the translation loses do not count as top keys */
	translate("pytorch-2.7", "v1", "CPU|Fake|Python|Named");
	CHECK_STR(notes, "-Named Python^Fake ");
	/* a renamed key, and one that gained priority when it became a backend */
	translate("pytorch-2.7", "pytorch-1.13", "CPU|MAIA");
	CHECK_STR(notes, "MAIA>ORT ");
	translate("pytorch-1.13", "v1", "CUDA|MkldnnCPU|ORT");
	CHECK_STR(notes, "ORT>MAIA MAIA:per-backend ");
	translate("pytorch-1.13", "v1", "SparseCPU|ORT");
	CHECK_STR(notes, "ORT>MAIA MAIA:per-backend +CPU +SparseMAIA SparseMAIA^SparseCPU ");
}

/* Checks that a set without notes, or with renamed keys only, is translated back unchanged. */
static void translate_and_back(const struct dk_layout *a, const struct dk_layout *b, u64 bits)
{
	struct dk_keyset in = { bits & dk_layout_full(a).bits };
	struct dk_translation t, back;
	static struct dk_note n = { .size = sizeof(n) };
	unsigned int kinds = 0;

	dk_translate(&t, a, b, DK_KEYSET(bits));
	CHECK(!(t.result.bits & ~dk_layout_full(b).bits));
	while (dk_translation_next(&t, &n) > 0)
		kinds |= n.kind;
	CHECK(bits == in.bits || (kinds & DK_NOTE_LOST));
	dk_translate(&back, b, a, t.result);
	if (!(kinds & ~DK_NOTE_RENAMED) &&
	    !CHECK(back.result.bits == in.bits))
		t_note("%s to %s: 0x%llx", dk_layout_name(a), dk_layout_name(b),
		       (unsigned long long)bits);
}

static void translation_without_notes_is_reversible(void)
{
	const struct dk_layout *a, *b;
	const char *from = NULL, *to;
	unsigned int i, rounds = T_KERNEL ? 2 : 10;
	u64 seed = 0x9e3779b97f4a7c15ull;

	while ((from = dk_layout_next(from))) {
		a = dk_layout_find(from, NULL);
		for (to = dk_layout_next(NULL); to; to = dk_layout_next(to)) {
			b = dk_layout_find(to, NULL);
			for (i = 0; i < rounds; i++) {
				u64 bits = t_random(&seed) & t_random(&seed);

				if (i & 1)
					bits &= t_random(&seed) & t_random(&seed);
				translate_and_back(a, b, bits);
			}
			t_pause();
		}
		/* every single bit, from a layout to itself */
		for (i = 0; i < 64; i++)
			translate_and_back(a, a, 1ull << i);
	}
}

T_SUITE(layouts,
	T(unknown_data_is_refused),
	T(strict_parsing_with_a_bound_name),
	T(compute_key_refuses_unknown_words),
	T(numbers_of_devices_and_layouts),
	T(key_for_a_device),
	T(device_type_of_a_key),
	T(devices_in_layouts_without_backends),
	T(translation_reports_changes),
	T(translation_to_and_from_layouts_without_backends),
	T(translation_prefers_the_same_name),
	T(translation_reports_another_top_key),
	T(translation_without_notes_is_reversible));
