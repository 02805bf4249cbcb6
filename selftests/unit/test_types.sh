#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Wrong types do not compile, by what the macros check themselves: without any
# option for warnings. Beside every line that must not stands one that must,
# which differs in nothing but the type. Prints TAP. CC= is the compiler.
#
# shellcheck disable=SC2317 # functions are called by result

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

cc=${CC:-cc}
[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
need_command "${cc%% *}"

# compile CODE
compile() {
	# shellcheck disable=SC2086
	$cc -std=gnu11 -fsyntax-only -w -I"$st_top/include" -I"$st_top/uapi" -x c - <<-END
		#include <dispatchkey.h>

		struct tensor { int data; struct dk_obj dk; };
		DK_OP(op, "t::op", (struct dk_obj *x, int n), (x, n), (x));
		static int typed(struct dk_call *c, struct dk_obj *x, int n) { return 0; }
		static int other(struct dk_call *c, struct dk_obj *x, long n) { return 0; }
		static int fewer(struct dk_call *c, struct dk_obj *x) { return 0; }
		static void silent(struct dk_call *c, struct dk_obj *x, int n) { }
		static int plain(struct dk_obj *x, int n) { return 0; }
		static int other_plain(struct dk_obj *x, unsigned int n) { return 0; }
		static int boxed(struct dk_call *c, void *args) { return 0; }
		static int other_boxed(struct dk_call *c, const void *args) { return 0; }
		$1
	END
}

does_not_compile() { ! compile "$1"; }

# types MACRO RIGHT WRONG... - CODE with RIGHT for "@" compiles, with WRONG not
types() {
	local code=$1 right=$2 wrong
	shift 2
	ok "${code//@/$right}" compile "${code//@/$right}"
	for wrong; do
		ok "not ${code//@/$wrong}" does_not_compile "${code//@/$wrong}"
	done
}

echo "TAP version 13"
for form in DK_IMPL DK_IMPL_ATOMIC; do
	types "struct dk_impl i = $form(op, DK_CPU, @);" \
		typed other fewer silent plain boxed missing
done
for form in DK_IMPL_PLAIN DK_IMPL_PLAIN_ATOMIC; do
	types "struct dk_impl i = $form(op, DK_CPU, @);" plain other_plain typed boxed
done
for form in DK_IMPL_BOXED DK_IMPL_BOXED_ATOMIC; do
	types "struct dk_impl i = $form(op, DK_CPU, @);" boxed other_boxed typed plain
done
for form in DK_FALLBACK DK_FALLBACK_ATOMIC; do
	types "struct dk_impl i = $form(DK_CPU, @);" boxed other_boxed typed plain
done
types "DK_BOXED(op, by_type, @);" typed other fewer plain boxed
types "DK_UNBOXED(op, by_box, @, (struct dk_obj *x, int n), (x, n));" \
	boxed typed other_boxed
types "DK_UNBOXED(op, by_box, boxed, (struct dk_obj *x, @ n), (x, n));" \
	int long "unsigned int" "int *"
types 'DK_OP(l, "t::l", (@ **xs, int n), (xs, n), (DK_LIST(xs, n)));' \
	"struct dk_obj" "struct tensor" void
types 'DK_OP(l, "t::l", (struct tensor **xs, int n), (xs, n), (DK_LIST_OF(xs, n, @)));' \
	dk data missing
types 'DK_OP(g, "t::g", (@ *g), (g), (DK_GENERATOR(g)));' \
	"struct dk_generator" "struct dk_obj" "struct tensor"
types 'DK_OP(v, "t::v", (@ xs), (xs), (dk_list_obj(&xs)));' \
	"struct dk_list" missing
types "int f(struct dk_obj *x) { return op(@); }" "x, 1" x "x, 1, 2"
finish
