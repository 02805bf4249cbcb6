// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests keysets: their algebra, iteration, printing and parsing. The expected numbers are those
 * that PyTorch 2.14.1 ("N") and 1.13.1 ("L") printed (SEMANTICS 2). Test upstream_N checks
 * statement N of SEMANTICS 11.1.
 */
#include <stdlib.h>
#include "keys.h"

/* ---- the algebra --------------------------------------------------------- */

/* A set, its bits, its top key and its index: SEMANTICS 2 and 3. */
struct worked {
	const char *set;
	unsigned long long bits;
	const char *top;
	unsigned int slot;
};

static void expect_worked(const struct dk_layout *l, struct dk_keyset ks,
			  unsigned long long bits, const char *top, unsigned int slot)
{
	EXPECT_EQ(ks.bits, bits);
	EXPECT_STREQ(name_of(l, dk_keyset_key(l, ks)), top);
	EXPECT_EQ(dk_keyset_slot(l, ks), slot);
}

static void expect_sets(const struct dk_layout *l, const struct worked *w,
			unsigned int n)
{
	for (; n--; w++)
		expect_worked(l, set_of(l, w->set), w->bits, w->top, w->slot);
}

TEST(worked_values_n)
{
	static const struct worked sets[] = {
		{ "DispatchKeySet()", 0, "Undefined", 0 },
		{ "CPU", 0x10001, "CPU", 1 },
		{ "Dense", 0x10000, "Undefined", 1 },
		{ "CPUBit", 0x1, "Undefined", 0 },
		{ "MetaBit", 0x8000, "Undefined", 0 },
		{ "Dense|Sparse|CPUBit|CUDABit", 0x810003, "SparseCUDA", 39 },
		{ "CPU|AutogradCUDA", 0x1000010003, "AutogradCUDA", 97 },
		{ "CPU|ADInplaceOrView|AutogradCPU|AutocastCPU", 0x9400010001,
		  "AutocastCPU", 114 },
		{ "FPGA", 0x20000, "FPGA", 17 },
		{ "FPGA|CUDABit", 0x20002, "FPGA", 17 },
		{ "AutogradFunctionality", 0x1000000000, "AutogradUndefined", 96 },
		{ "AutogradOther", 0x800000000, "AutogradOther", 95 },
	};
	const struct dk_layout *l = layout_n();
	struct dk_keyset both = set_of(l, "CPU|CUDA");

	expect_sets(NULL, sets, ARRAY_SIZE(sets));
	expect_sets(l, sets, ARRAY_SIZE(sets));
	expect_worked(l, dk_keyset_remove(l, set_of(l, "CPU|AutogradCUDA"),
					  DK_AUTOGRAD_CUDA), 0x10003, "CUDA", 2);
	expect_worked(l, dk_keyset_sub(l, both, DK_SET(DK_CUDA)), 0x3,
		      "Undefined", 0);
	expect_worked(l, dk_keyset_remove_backend(l, both, DK_BACKEND_CUDA),
		      0x10001, "CPU", 1);
	expect_worked(l, dk_keyset_xor(DK_SET(DK_CPU), DK_SET(DK_CUDA)), 0x3,
		      "Undefined", 0);
	expect_worked(l, dk_keyset_after(l, DK_DENSE), 0x200000000000ffff,
		      "PythonDispatcher", 136);
	EXPECT_EQ(dk_keyset_key(l, set_of(l, "Dense")), DK_START_OF_DENSE_BACKENDS);
	EXPECT_EQ(dk_keyset_key(l, set_of(l, "AutogradFunctionality")),
		  DK_START_OF_AUTOGRAD_BACKENDS);
	EXPECT_EQ(dk_keyset_backend(l, set_of(l, "MetaBit")), 16);
}

TEST(worked_values_l)
{
	static const struct worked sets[] = {
		{ "DispatchKeySet()", 0, "Undefined", 0 },
		{ "CPU", 0x4001, "CPU", 1 },
		{ "Dense", 0x4000, "Unknown", 1 },
		{ "CPUBit", 0x1, "Undefined", 0 },
		{ "MetaBit", 0x400, "Undefined", 0 },
		{ "Dense|Sparse|CPUBit|CUDABit", 0x404003, "SparseCUDA", 36 },
		{ "CPU|AutogradCUDA", 0x2000004003, "AutogradCUDA", 77 },
		{ "CPU|ADInplaceOrView|AutogradCPU|AutocastCPU", 0x12800004001,
		  "AutocastCPU", 92 },
		{ "FPGA", 0x8000, "FPGA", 15 },
		{ "FPGA|CUDABit", 0x8002, "FPGA", 15 },
		{ "AutogradFunctionality", 0x2000000000, "AutogradUnknown", 76 },
		{ "AutogradOther", 0x1000000000, "AutogradOther", 75 },
	};
	const struct dk_layout *l = layout_l();
	struct dk_keyset both = set_of(l, "CPU|CUDA");

	expect_sets(l, sets, ARRAY_SIZE(sets));
	expect_worked(l, dk_keyset_remove(l, set_of(l, "CPU|AutogradCUDA"),
					  key_of(l, "AutogradCUDA")),
		      0x4003, "CUDA", 2);
	expect_worked(l, dk_keyset_sub(l, both, set_of(l, "CUDA")), 0x3,
		      "Undefined", 0);
	expect_worked(l, dk_keyset_remove_backend(l, both, bit_of(l, "CUDABit")),
		      0x4001, "CPU", 1);
	expect_worked(l, dk_keyset_xor(set_of(l, "CPU"), set_of(l, "CUDA")), 0x3,
		      "Undefined", 0);
	expect_worked(l, dk_keyset_after(l, key_of(l, "Dense")), 0x20000000003fff,
		      "PythonDispatcher", 105);
	EXPECT_EQ(dk_keyset_backend(l, set_of(l, "MetaBit")), 11);
}

TEST(worked_iterations)
{
	FOR_EACH_LAYOUT_WITH_BACKENDS(l) {
		EXPECT_STREQ(print(l, set_of(l, "Dense|Sparse|CPUBit|CUDABit")),
			     "DispatchKeySet(CPU, CUDA, SparseCPU, SparseCUDA)");
		EXPECT_STREQ(print(l, set_of(l, "CPUBit|FPGA|Functionalize|Dense")),
			     "DispatchKeySet(CPU, FPGA, Functionalize)");
		EXPECT_STREQ(print(l, set_of(l, "Dense")), "DispatchKeySet()");
		EXPECT_STREQ(print(l, set_of(l, "CPUBit")), "DispatchKeySet()");
		EXPECT_STREQ(print(l, set_of(l, "AutogradFunctionality")),
			     "DispatchKeySet()");
		EXPECT_STREQ(print(l, DK_KEYSET(0)), "DispatchKeySet()");
	}
}

TEST(removal_takes_functionality_bits_only)
{
	FOR_EACH_LAYOUT_WITH_BACKENDS(l) {
		struct dk_keyset cpu = set_of(l, "CPU");

		EXPECT_EQ(dk_keyset_remove(l, cpu, key_of(l, "CPU")).bits, 1);
		EXPECT_EQ(dk_keyset_remove(l, cpu, 0).bits, cpu.bits);
		EXPECT_EQ(dk_keyset_remove(l, cpu, key_of(l, "Autograd")).bits,
			  cpu.bits);
		EXPECT_EQ(dk_backend_set(l, bit_of(l, "CPUBit")).bits, 1);
		EXPECT_EQ(dk_backend_set(l, 0).bits, 0);
		EXPECT_EQ(dk_backend_set(l, dk_layout_backends(l)).bits,
			  1ULL << (dk_layout_backends(l) - 1));
		EXPECT_EQ(dk_backend_set(l, dk_layout_backends(l) + 1).bits, 0);
		EXPECT_EQ(dk_keyset_remove_backend(l, cpu, 0).bits, cpu.bits);
		EXPECT_EQ(dk_keyset_remove_backend(l, cpu, ~0U).bits, cpu.bits);
		/* has(Undefined) and has(alias) hold for every set */
		EXPECT(has(l, DK_KEYSET(0), 0));
		EXPECT(has(l, DK_KEYSET(0), key_of(l, "Autograd")));
	}
}

TEST(sets_after_a_key)
{
	const struct dk_layout *n = layout_n();

	EXPECT_EQ(dk_keyset_after(n, DK_CPU).bits, 0x200000000000ffff);
	EXPECT_EQ(dk_keyset_after(n, DK_PYTHON_DISPATCHER).bits, DK_FULL);
	/* for a key without a bit, the result lacks the highest backend bit, as in PyTorch */
	EXPECT_EQ(dk_keyset_after(n, DK_UNDEFINED).bits, 0x2000000000007fff);
	EXPECT_EQ(dk_keyset_after(n, DK_AUTOGRAD).bits, 0x2000000000007fff);
	EXPECT_EQ(dk_keyset_after(n, ~0U).bits, 0x2000000000007fff);
}

/* Bits that the layout does not define are ignored. */
TEST(bits_outside_of_the_layout_are_ignored)
{
	unsigned int i, slot, last;

	FOR_EACH_LAYOUT(l) {
		struct dk_keyset outside = { ~dk_layout_full(l).bits };

		EXPECT_EQ(dk_keyset_slot(l, outside), 0);
		EXPECT_EQ(dk_keyset_key(l, outside), 0);
		EXPECT_EQ(count(l, outside), 0);
		EXPECT_EQ(count(l, DK_KEYSET(~0ULL)), dk_layout_entries(l) - 1);
		for (i = 0; i < 20000; i++) {
			struct dk_keyset ks = { some_bits() & some_bits() };
			struct dk_keyset in = dk_keyset_and(ks, dk_layout_full(l));

			EXPECT(dk_keyset_slot(l, ks) < dk_layout_entries(l));
			EXPECT_EQ(dk_keyset_slot(l, ks), dk_keyset_slot(l, in));
			EXPECT_EQ(dk_keyset_key(l, ks), dk_keyset_key(l, in));
			EXPECT_EQ(dk_backend_type(l, ks), dk_backend_type(l, in));
			EXPECT_EQ(dk_legacy_extract(l, ks),
				  dk_legacy_extract(l, in));
			EXPECT_EQ(count(l, ks), count(l, in));
			last = 0;
			for (slot = dk_keyset_next(l, ks, 0); slot;
			     slot = dk_keyset_next(l, ks, slot)) {
				EXPECT(slot > last);
				EXPECT(has(l, ks, dk_slot_key(l, slot)));
				last = slot;
			}
			if (last && dk_keyset_backend(l, ks))
				EXPECT_EQ(last, dk_keyset_slot(l, ks));
		}
	}
}

/* ---- SEMANTICS 11.1: the tests that PyTorch has for its own sets --------- */

/* states: 11.1.1 */
TEST(upstream_1_show_semantics)
{
	FOR_EACH_LAYOUT_WITH_BACKENDS(l) {
		struct dk_keyset cpu = set_of(l, "CPU");
		struct dk_keyset cross =
			set_of(l, "AutogradFunctionality|Dense|CUDA|CPU");

		EXPECT_EQ(cpu.bits, set_of(l, "Dense|CPUBit").bits);
		EXPECT_EQ(set_of(l, "Lazy").bits, set_of(l, "Dense|LazyBit").bits);
		EXPECT_EQ(set_of(l, "AutogradCUDA").bits,
			  set_of(l, "AutogradFunctionality|CUDABit").bits);
		EXPECT(has(l, cross, key_of(l, "CPU")));
		EXPECT(has(l, cross, key_of(l, "CUDA")));
		EXPECT(has(l, cross, key_of(l, "AutogradCPU")));
		EXPECT(has(l, cross, key_of(l, "AutogradCUDA")));
		EXPECT_EQ(cross.bits,
			  set_of(l, "AutogradCUDA|AutogradCPU|CUDA|CPU").bits);
		EXPECT_EQ(cross.bits, set_of(l, "AutogradCUDA|CPU").bits);
		EXPECT_EQ(cross.bits, set_of(l, "CUDA|AutogradCPU").bits);
		EXPECT_STREQ(print(l, cpu), "DispatchKeySet(CPU)");
		EXPECT_STREQ(print(l, cross),
			     "DispatchKeySet(CPU, CUDA, AutogradCPU, AutogradCUDA)");
		EXPECT_STREQ(print(l, set_of(l, "CPUBit|FPGA|Functionalize|Dense")),
			     "DispatchKeySet(CPU, FPGA, Functionalize)");
	}
}

/* states: 11.1.2 */
TEST(upstream_2_empty)
{
	unsigned int key;

	FOR_EACH_LAYOUT(l)
		for (key = 1; key < dk_layout_keys(l); key++)
			if (dk_key_kind(l, key) != DK_KIND_ALIAS)
				EXPECT(!has(l, DK_KEYSET(0), key));
}

/* states: 11.1.3 */
TEST(upstream_3_singleton_backend_component)
{
	unsigned int b;

	FOR_EACH_LAYOUT(l) {
		for (b = 1; b <= dk_layout_backends(l); b++) {
			struct dk_keyset one =
				set_of(l, dk_backend_bit_name(l, b));

			/* two names of backend bits are also names of keys, and parsed as such */
			if (one.bits >> dk_layout_backends(l))
				continue;
			EXPECT_EQ(one.bits, 1ULL << (b - 1));
			EXPECT_EQ(dk_keyset_or(one, one).bits, one.bits);
			EXPECT_EQ(dk_keyset_backend(l, one), b);
			EXPECT_EQ(dk_keyset_functionality(l, one), 0);
		}
	}
}

/* states: 11.1.4 */
TEST(upstream_4_singleton_functionality_keys)
{
	unsigned int key;

	FOR_EACH_LAYOUT(l) {
		for (key = 1; key < dk_layout_functionalities(l); key++) {
			struct dk_keyset one = dk_key_set(l, key);

			EXPECT_NE(one.bits, 0);
			EXPECT_EQ(dk_keyset_or(DK_KEYSET(0), one).bits, one.bits);
			EXPECT_EQ(dk_keyset_or(one, one).bits, one.bits);
			EXPECT(has(l, one, key));
			EXPECT_EQ(dk_keyset_remove(l, one, key).bits, 0);
		}
	}
}

/* states: 11.1.5 */
TEST(upstream_5_singleton_per_backend_keys)
{
	unsigned int key;

	FOR_EACH_LAYOUT_WITH_BACKENDS(l) {
		for (key = dk_layout_functionalities(l) + 1;
		     key < key_of(l, "Autograd"); key++) {
			struct dk_keyset one = dk_key_set(l, key);
			unsigned int f = dk_key_functionality(l, key);
			unsigned int b = dk_key_backend(l, key);
			unsigned long long bit = b ? 1ULL << (b - 1) : 0;

			EXPECT_NE(one.bits, 0);
			EXPECT(has(l, one, key));
			EXPECT_EQ(one.bits, dk_key_set(l, f).bits | bit);
			EXPECT_EQ(dk_keyset_remove(l, one, key).bits, bit);
		}
	}
}

static void expect_doubleton(const struct dk_layout *l, unsigned int a, unsigned int b)
{
	struct dk_keyset ks = dk_keyset_or(dk_key_set(l, a), dk_key_set(l, b));
	bool cross = dk_key_functionality(l, a) != dk_key_functionality(l, b) &&
		     dk_key_backend(l, a) != dk_key_backend(l, b);

	EXPECT(has(l, ks, a));
	EXPECT(has(l, ks, b));
	EXPECT(has(l, ks, dk_key_functionality(l, a)));
	EXPECT(has(l, ks, dk_key_functionality(l, b)));
	EXPECT(has(l, ks, dk_runtime_key(l, dk_key_functionality(l, a),
					 dk_key_backend(l, b))));
	EXPECT_EQ(count(l, ks), cross ? 4 : 2);
}

/* states: 11.1.6 */
TEST(upstream_6_doubleton_per_backend)
{
	unsigned int a, b;

	FOR_EACH_LAYOUT_WITH_BACKENDS(l)
		for (a = 1; a < key_of(l, "Autograd"); a++)
			for (b = a + 1; b < key_of(l, "Autograd"); b++)
				if (dk_key_backend(l, a) && dk_key_backend(l, b))
					expect_doubleton(l, a, b);
}

/* states: 11.1.7 */
TEST(upstream_7_full)
{
	unsigned int f;

	FOR_EACH_LAYOUT(l) {
		for (f = 1; f < dk_layout_functionalities(l); f++)
			EXPECT(has(l, dk_layout_full(l), f));
		EXPECT(!has(l, dk_layout_full(l), f));
	}
}

/* states: 11.1.8 */
TEST(upstream_8_iterator_basic_ops)
{
	FOR_EACH_LAYOUT(l) {
		/* in each layout without backends, key 1 is CPU, or CPUTensorId */
		unsigned int key = dk_layout_backends(l) ? key_of(l, "CPU") : 1;
		struct dk_keyset cpu = dk_key_set(l, key), full = dk_layout_full(l);
		unsigned int first = dk_keyset_next(l, full, 0);

		EXPECT_EQ(dk_keyset_next(l, DK_KEYSET(0), 0), 0);
		EXPECT_EQ(dk_slot_key(l, dk_keyset_next(l, cpu, 0)), key);
		EXPECT_EQ(dk_keyset_next(l, cpu, dk_keyset_next(l, cpu, 0)), 0);
		EXPECT_NE(first, 0);
		EXPECT_EQ(dk_keyset_next(l, full, 0), first);
		EXPECT_NE(dk_keyset_next(l, full, first), first);
	}
}

static const char *backend_type(const struct dk_layout *l, const char *set)
{
	return name_of(l, dk_backend_type(l, set_of(l, set)));
}

/* states: 11.1.9 */
TEST(upstream_9_highest_priority_backend_type)
{
	FOR_N_AND_L(l) {
		EXPECT_STREQ(backend_type(l, "AutogradCPU|CPU"), "CPU");
		EXPECT_STREQ(backend_type(l, "Functionalize|SparseCUDA"),
			     "SparseCUDA");
		EXPECT_STREQ(backend_type(l, "CUDA|QuantizedCUDA"),
			     "QuantizedCUDA");
		/* in L, SparseCsrCUDA is not a per-backend key */
		EXPECT_STREQ(backend_type(l, "Functionalize|SparseCsrCUDA"),
			     is_l(l) ? "Undefined" : "SparseCsrCUDA");
	}
}

/* states: 11.1.10 */
TEST(upstream_10_iterator_empty)
{
	FOR_EACH_LAYOUT(l)
		EXPECT_EQ(count(l, DK_KEYSET(0)), 0);
}

/* states: 11.1.11 */
TEST(upstream_11_iterator_cross_product)
{
	FOR_EACH_LAYOUT_WITH_BACKENDS(l)
		EXPECT_STREQ(print(l, set_of(l, "CPUBit|CUDABit|Dense|FPGA|"
						"AutogradFunctionality")),
			     "DispatchKeySet(CPU, CUDA, FPGA, AutogradCPU, AutogradCUDA)");
}

/* states: 11.1.12 */
TEST(upstream_12_iterator_full)
{
	unsigned int slot, n;

	FOR_N_AND_L(l) {
		n = 0;
		for (slot = dk_keyset_next(l, dk_layout_full(l), 0); slot;
		     slot = dk_keyset_next(l, dk_layout_full(l), slot))
			EXPECT_EQ(slot, ++n);
		EXPECT_EQ(n, is_l(l) ? 105 : 136);
	}
}

/*
 * states: 11.1.13
 *
 * PyTorch raises an exception here; dk_keyset_next() returns 0 after the last slot.
 */
TEST(upstream_13_fail_at_end_iterator)
{
	FOR_EACH_LAYOUT(l) {
		struct dk_keyset full = dk_layout_full(l);

		EXPECT_EQ(dk_keyset_next(l, full, dk_layout_entries(l) - 1), 0);
		EXPECT_EQ(dk_keyset_next(l, full, dk_layout_entries(l)), 0);
		EXPECT_EQ(dk_keyset_next(l, full, ~0U), 0);
	}
}

/* states: 11.1.14 */
TEST(upstream_14_backend_component_to_string)
{
	unsigned int a, b;

	FOR_EACH_LAYOUT(l) {
		for (a = 0; a <= dk_layout_backends(l); a++) {
			EXPECT(strcmp(dk_backend_bit_name(l, a),
				      "UNKNOWN_BACKEND_BIT"));
			for (b = 0; b < a; b++)
				EXPECT(strcmp(dk_backend_bit_name(l, a),
					      dk_backend_bit_name(l, b)));
		}
		EXPECT_STREQ(dk_backend_bit_name(l, 0), "InvalidBit");
		EXPECT_STREQ(dk_backend_bit_name(l, a), "UNKNOWN_BACKEND_BIT");
		EXPECT_STREQ(dk_backend_bit_name(l, ~0U), "UNKNOWN_BACKEND_BIT");
	}
	EXPECT_STREQ(dk_backend_bit_name(NULL, DK_BACKEND_MTIA), "MTIA");
	EXPECT_STREQ(dk_backend_bit_name(NULL, DK_BACKEND_MAIA), "MAIA");
}

/* states: 11.1.15 */
TEST(upstream_15_end_of_runtime_backend_keys)
{
	EXPECT_EQ(DK_END_OF_RUNTIME_BACKEND_KEYS, DK_START_OF_AUTOGRAD_BACKENDS +
						  DK_NUM_BACKENDS);
	FOR_EACH_LAYOUT_WITH_BACKENDS(l)
		EXPECT_EQ(dk_runtime_key(l, key_of(l, "AutogradFunctionality"),
					 dk_layout_backends(l)),
			  key_of(l, "Autograd") - 1);
}

/* states: 11.1.16 */
TEST(upstream_16_key_to_string)
{
	char a[DK_NAME_MAX], b[DK_NAME_MAX];
	unsigned int i, j;

	FOR_EACH_LAYOUT(l) {
		for (i = 0; i < dk_layout_keys(l); i++) {
			if (dk_key_kind(l, i) == DK_KIND_SENTINEL)
				continue;
			EXPECT(!strstr(dk_key_name(l, i, a), "Unknown"));
			for (j = 0; j < i; j++)
				if (dk_key_kind(l, j) != DK_KIND_SENTINEL)
					EXPECT(strcmp(a, dk_key_name(l, j, b)));
		}
	}
}

/* states: 11.1.17 */
TEST(upstream_17_runtime_dispatch_key_set)
{
	unsigned int a, b;

	FOR_EACH_LAYOUT(l)
		for (a = 1; a < dk_layout_entries(l); a++)
			for (b = 1; b < dk_layout_entries(l); b++) {
				unsigned int x = dk_slot_key(l, a);
				unsigned int y = dk_slot_key(l, b);

				/* for a key that is not an alias: the set of the key itself */
				EXPECT_EQ(dk_alias_set(l, x).bits,
					  dk_key_set(l, x).bits);
				EXPECT_EQ(has(l, dk_alias_set(l, x), y),
					  dk_alias_has(l, x, y));
			}
}

/* ---- sets as text -------------------------------------------------------- */

TEST(keysets_parse)
{
	static const struct {
		const char *text;
		unsigned long long bits;
	} sets[] = {
		{ "0x0", 0 },
		{ "0xABcd", 0xabcd },
		{ "0XabCD", 0xabcd },
		{ "0xffffffffffffffff", ~0ULL },
		{ "0x0000000000000000000000000001", 1 },
		{ "CPU", 0x10001 },
		{ "CPU|CUDA", 0x10003 },
		{ "CPU,CUDA", 0x10003 },
		{ "  CPU  |  CUDA , FPGA ", 0x30003 },
		{ "CPUBit", 0x1 },
		{ "MTIA", 0x10400 },
		{ "MTIABit", 0x400 },
		{ "MAIABit|MTIABit", 0xc00 },
		{ "MAIA", 0x10800 },
		{ "Undefined", 0 },
		{ "InvalidBit", 0 },
		{ "CPUTensorId", 0x10001 },
		{ "PRIVATEUSEONE", 0x11000 },
		{ "DispatchKeySet()", 0 },
		{ " DispatchKeySet( ) ", 0 },
		{ "DispatchKeySet(CPU, AutogradCPU)", 0x1000010001 },
		{ "DispatchKeySet(CPU|CUDABit)", 0x10003 },
		{ "0x1|CUDA", 0x10003 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sets); i++)
		EXPECT_EQ(set_of(NULL, sets[i].text).bits, sets[i].bits);
}

TEST(keysets_that_do_not_parse)
{
	static const char *const words[][2] = {
		{ "", "" },
		{ "   ", "   " },
		{ "cpu", "cpu" },
		{ "CPU|nope|CUDA", "nope" },
		{ "CPU|", "CPU|" },
		{ "|CPU", "|CPU" },
		{ "CPU||CUDA", "CPU||CUDA" },
		{ "CPU CUDA", "CUDA" },
		{ "CPU)", ")" },
		{ "CPU(CUDA)", "(CUDA)" },
		{ "DispatchKeySet", "DispatchKeySet" },
		{ "DispatchKeySet(", "DispatchKeySet(" },
		{ "DispatchKeySet(CPU", "DispatchKeySet(CPU" },
		{ "DispatchKeySet(CPU CUDA)", "CUDA)" },
		{ "DispatchKeySet(CPU,)", "DispatchKeySet(CPU,)" },
		{ "DispatchKeySet(CPU))", ")" },
		{ "DispatchKeySet(CPU) x", "x" },
		{ "DispatchKeySet(nope)", "nope" },
		{ "dispatchkeyset()", "dispatchkeyset" },
		{ "0x", "0x" },
		{ "0x1g", "0x1g" },
		{ "1x10", "1x10" },
		{ "0x-1", "0x-1" },
		{ "0x10000000000000000", "0x10000000000000000" },
		{ "1", "1" },
		{ "65537", "65537" },
		{ "-0x1", "-0x1" },
		{ "CPU\n", "CPU\n" },
		/* an alias key has no bits, so it is refused */
		{ "Autograd", "Autograd" },
		{ "CPU|CompositeImplicitAutograd", "CompositeImplicitAutograd" },
	};
	struct dk_keyset ks = { 4711 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		struct dk_diag why = { 0 };

		if (!EXPECT_EQ(dk_keyset_parse(NULL, words[i][0], &ks, &why),
			       -EINVAL))
			printf("#   %s\n", words[i][0]);
		EXPECT_EQ(why.reason, DK_WHY_PARSE_SET);
		EXPECT_STREQ(why.name, words[i][1]);
		EXPECT_EQ(dk_keyset_parse(NULL, words[i][0], &ks, NULL), -EINVAL);
	}
	EXPECT_EQ(ks.bits, 4711);
}

TEST(overlong_words_are_cut_off)
{
	struct dk_diag why = { 0 };
	struct dk_keyset ks;
	char word[300];
	unsigned int key;

	memset(word, 'A', sizeof(word) - 1);
	word[sizeof(word) - 1] = 0;
	EXPECT_EQ(dk_keyset_parse(NULL, word, &ks, &why), -EINVAL);
	EXPECT_EQ(strlen(why.name), DK_NAME_MAX - 1);
	EXPECT_STREQ(why.name + DK_NAME_MAX - 5, "A...");
	memset(&why, 0, sizeof(why));
	EXPECT_EQ(dk_key_parse(NULL, word, 0, &key, &why), -EINVAL);
	EXPECT_STREQ(why.name + DK_NAME_MAX - 5, "A...");
}

TEST(printed_sets_parse_back)
{
	unsigned int i, slot;

	FOR_EACH_LAYOUT(l) {
		for (i = 0; i < 2000; i++) {
			struct dk_keyset ks = { some_bits() & some_bits() };
			unsigned long long iterated = 0;

			/* the printed keys are those of the iteration */
			for (slot = dk_keyset_next(l, ks, 0); slot;
			     slot = dk_keyset_next(l, ks, slot))
				iterated |= dk_key_set(l, dk_slot_key(l, slot)).bits;
			EXPECT_EQ(set_of(l, print(l, ks)).bits, iterated);
		}
		EXPECT_EQ(set_of(l, print(l, dk_layout_full(l))).bits,
			  dk_layout_full(l).bits);
	}
}

TEST(print_counts_as_snprintf_does)
{
	static const char whole[] = "DispatchKeySet(CPU, AutogradCPU)";
	struct dk_keyset ks = set_of(NULL, "CPU|AutogradCPU");
	size_t n = sizeof(whole) - 1, size;
	char *buf;

	EXPECT_EQ(dk_keyset_print(NULL, ks, NULL, 0), n);
	for (size = 1; size < n + 10; size++) {
		/* exactly this size, so that a sanitizer detects a write after the end */
		buf = malloc(size);
		if (!EXPECT(buf))
			return;
		memset(buf, 'x', size);
		EXPECT_EQ(dk_keyset_print(NULL, ks, buf, size), n);
		EXPECT_EQ(strlen(buf), size - 1 < n ? size - 1 : n);
		EXPECT(!strncmp(buf, whole, size - 1));
		free(buf);
	}
}
