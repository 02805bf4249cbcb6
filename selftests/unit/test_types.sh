#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests that wrong types do not compile, even without warning options, because the macros check
# types. Each line that must not compile is tested together with a line that must compile and
# differs only in a type. Prints TAP. CC= is the compiler.
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

# says CODE SENTENCE - CODE causes exactly one error, with this sentence. The error that gcc 14
# and later add for an incompatible pointer is not counted.
says() {
	compile "$1" >"$st_tmp/said" 2>&1 && return 1
	cat "$st_tmp/said"
	[ "$(grep "error:" "$st_tmp/said" | grep -vcF '[-Wincompatible-pointer-types]')" = 1 ] && grep -qF "$2" "$st_tmp/said"
}

# error_is CODE SENTENCE - CODE does not compile, and its first error has this sentence
error_is() {
	compile "$1" >"$st_tmp/said" 2>&1 && return 1
	cat "$st_tmp/said"
	grep -m 1 "error:" "$st_tmp/said" | grep -qF "$2"
}

# DK_OP(self, ...) declares only names that its comment lists, or that begin with dk__.
names_are_documented() {
	printf '%s\n' '#include <dispatchkey.h>' 'DK_OP(self, "t::x", (int n), (n), (NULL));' |
		$cc -E -P -I"$st_top/include" -I"$st_top/uapi" -x c - |
		grep -ow 'self[a-z_]*' | sort -u >"$st_tmp/made"
	sed -n '/DK_OP() - /,/^ \*\//p' "$st_top/include/dispatchkey-op.h" |
		grep -v "kernel only" | grep -oE '``(struct )?id[a-z_]*' | sed 's/.*id/self/' | sort -u >"$st_tmp/listed"
	[ -s "$st_tmp/made" ] && diff "$st_tmp/listed" "$st_tmp/made"
}

# types CODE RIGHT WRONG... - CODE compiles with RIGHT for "@", and not with WRONG
types() {
	local code=$1 right=$2 wrong
	shift 2
	ok "compiles: ${code//@/$right}" compile "${code//@/$right}"
	for wrong; do
		ok "does not compile: ${code//@/$wrong}" does_not_compile "${code//@/$wrong}"
	done
}

# warns CODE OPTION - CODE compiles with -Wall -Wextra, and causes a warning of this option
warns() {
	# shellcheck disable=SC2086
	$cc -std=gnu11 -fsyntax-only -Wall -Wextra -I"$st_top/include" -I"$st_top/uapi" -x c - \
		<<-END >"$st_tmp/said" 2>&1 || { cat "$st_tmp/said"; return 1; }
		#include <dispatchkey.h>

		DK_OP(op, "t::op", (struct dk_obj *x, int n), (x, n), (x));
		int typed(struct dk_call *c, struct dk_obj *x, int n);
		int boxed(struct dk_call *c, void *args);
		$1
	END
	cat "$st_tmp/said"
	grep -qF "[$2" "$st_tmp/said"
}

# quiet CODE - CODE compiles without a warning, with the warning options that programs may use
quiet() {
	# shellcheck disable=SC2086
	$cc -std=gnu11 -O1 -I"$st_top/include" -I"$st_top/uapi" -Wall -Wextra -Wpedantic -Wshadow \
		-Wconversion -Wsign-conversion -Wcast-qual -Wcast-align -Wundef -Wwrite-strings \
		-Wdouble-promotion -Wfloat-conversion -Wstrict-prototypes -Wmissing-prototypes \
		-Wmissing-declarations -Wold-style-definition -Wredundant-decls -Wnested-externs \
		-Wswitch-enum -Wnull-dereference -Wvla -Wenum-compare -Wenum-conversion \
		-Wtype-limits -Wsign-compare -Werror -c -o /dev/null -x c - <<-END
		#include <dispatchkey.h>

		$1
	END
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
ok "the arguments of DK_LIST() may be any expressions" compile '
	struct batch { struct dk_obj **objs; unsigned int count; };
	DK_OP(l, "t::l", (struct dk_obj **list, int num), (list, num), (DK_LIST(list, num)));
	DK_OP(m, "t::m", (struct batch *b), (b), (DK_LIST(b->objs, b->count - 1)));
	DK_OP(o, "t::o", (struct tensor **ts, int end), (ts, end), (DK_LIST_OF(ts, end, dk)));'
types 'DK_OP(g, "t::g", (@ *g), (g), (DK_GENERATOR(g)));' \
	"struct dk_generator" "struct dk_obj" "struct tensor"
types 'DK_OP(v, "t::v", (@ xs), (xs), (dk_list_obj(&xs)));' \
	"struct dk_list" missing
for form in DK_IMPL DK_IMPL_ATOMIC DK_IMPL_PLAIN DK_IMPL_PLAIN_ATOMIC DK_IMPL_BOXED \
	DK_IMPL_BOXED_ATOMIC; do
	ok "the error of $form names macro, operator and function" says \
		"struct dk_impl i = $form(op, DK_CPU, other);" \
		"$form(op): other is not of the type int ("
done
for form in DK_FALLBACK DK_FALLBACK_ATOMIC; do
	ok "the error of $form names macro, key and function" says \
		"struct dk_impl i = $form(DK_CPU, other);" \
		"$form(DK_CPU): other is not of the type int ("
done
ok "the error of DK_BOXED names macro, operator and function" says "DK_BOXED(op, by_type, plain);" \
	"DK_BOXED(op): plain is not of the type int (struct dk_call *, parameters of the operator)"
ok "the error of DK_UNBOXED names macro, operator and function" says \
	"DK_UNBOXED(op, by_box, typed, (struct dk_obj *x, int n), (x, n));" \
	"DK_UNBOXED(op): typed is not of the type int (struct dk_call *, void *args)"
ok "DK_OP compiles beside names with the same endings" compile \
	'DK_OP(self, "t::self", (struct dk_obj *x), (x), (x));
	static int self_fn, self_plain_fn, self_params, self_unbox, self_unbox_plain;
	static int self_extract;'
ok "two guards on one line compile" compile \
	'void f(void) { DK_INCLUDE(DK_SET(DK_TRACER)); DK_EXCLUDE(DK_SET(DK_CPU)); DK_AUTOCAST(1, 1); }'
ok "every name that DK_OP makes is documented" names_are_documented
types 'DK_OP(s, "t::s", (struct dk_obj *x, int a, int b), (@), (x));' \
	"x, a, b" "x, b, a" "a, x, b" "x, a"
ok "the error of DK_OP says that names are in another order" error_is \
	'DK_OP(s, "t::s", (struct dk_obj *x, int a, int b), (x, b, a), (x));' \
	"DK_OP(s): b is not named in the order of the parameters"
ok "the error of DK_OP says that a name is missing" error_is \
	'DK_OP(s, "t::s", (struct dk_obj *x, int a, int b, void *p), (x, a, p), (x));' \
	"DK_OP(s): each parameter must have a name in the list of names"
for objs in x "&t->dk" "x ? x : NULL"; do
	ok "the error of DK_OP says that parentheses are missing: $objs" error_is \
		"DK_OP(s, \"t::s\", (struct dk_obj *x, struct tensor *t), (x, t), $objs);" \
		"DK_OP(s): put the objects to dispatch on in parentheses"
done
ok "the error of DK_OP says that there are too many parameters" error_is \
	'DK_OP(s, "t::s", (int a, int b, int c, int d, int e, int f, int g, int h, int i, int j,
		int k, int l, int m), (a, b, c, d, e, f, g, h, i, j, k, l, m), (NULL));' \
	"an operator has at most 12 parameters"
ok "the error of DK_OP says so, too, if there are twice as many" error_is \
	'DK_OP(s, "t::s", (int a, int b, int c, int d, int e, int f, int g, int h, int i, int j,
		int k, int l, int m, int n, int o, int p, int q, int r, int s, int t, int u, int v,
		int w, int x), (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w,
		x), (NULL));' \
	"an operator has at most 12 parameters"
for none in "(void), ()" "(), ()"; do
	ok "the error of DK_OP says that there are no parameters: $none" error_is \
		"DK_OP(s, \"t::s\", $none, (NULL));" "an operator has at least 1 parameter"
done
types 'DK_OP(s, "t::s", (struct dk_obj *x, @), (x, n), (x));' \
	"const int n" "int n[4]" "int n[]"
for form in "struct dk_list n" "const float n" "int (*n)[4]" "int (*n)(int a)"; do
	ok "DK_OP has a parameter of another type: $form" compile \
		"DK_OP(s, \"t::s\", (struct dk_obj *x, $form), (x, n), (x));"
done
ok "the error of DK_OP says that a parameter is an array" error_is \
	'DK_OP(s, "t::s", (struct dk_obj *x, int n[4]), (x, n), (x));' \
	"DK_OP(s): n must not be an array: use a pointer"
types "int f(struct dk_obj *x) { return op(@); }" "x, 1" x "x, 1, 2"
ok "a key in the place of a backend causes a warning" warns \
	"struct dk_obj f(void) { return dk_obj_on(DK_CPU, 0); }" -Wenum-conversion
for code in "DK_IMPL(op, DK_BACKEND_CUDA, typed)" "DK_IMPL_FALLTHROUGH(op, DK_BACKEND_CUDA)" \
	"DK_FALLTHROUGH(DK_BACKEND_CUDA)" "DK_FALLBACK(DK_BACKEND_CUDA, boxed)"; do
	if $cc -dM -E -x c /dev/null | grep -q __clang__; then
		skip "a backend in the place of a key causes a warning: $code" "clang has none"
	else
		ok "a backend in the place of a key causes a warning: $code" warns \
			"const struct dk_impl i = $code;" -Wenum-compare
	fi
done
ok "a handle that is NULL causes a warning" warns \
	"int f(struct dk_obj *x) { return op_at(NULL, &dk_local_default, x, 1); }" -Wnonnull
ok "keys and backends of any integer type cause no warnings" quiet '
	DK_OP(w, "t::w", (struct dk_obj *x, int n), (x, n), (x));
	static int typed(struct dk_call *c, struct dk_obj *x, int n)
	{
		(void)c;
		(void)x;
		return n;
	}
	void use(unsigned int b, __u16 key, enum dk_key e, struct dk_impl *i, struct dk_obj *x);
	void use(unsigned int b, __u16 key, enum dk_key e, struct dk_impl *i, struct dk_obj *x)
	{
		const struct dk_impl impls[] = {
			DK_IMPL(w, key, typed), DK_IMPL(w, (__u16)e, typed), DK_IMPL(w, 13, typed),
			DK_IMPL(w, 0xffff, typed), DK_IMPL_FALLTHROUGH(w, DK_UNDEFINED),
		};
		struct dk_obj objs[] = {
			dk_obj_on(b, 0), dk_obj_on(DK_BACKEND_CPU, 1), dk_obj_on(1, 0),
			dk_obj_on((enum dk_backend)b, 0),
		};

		*i = impls[b];
		*x = objs[b];
	}'
ok "the macros cause no warnings" quiet '
	DK_OP(w, "t::w", (const struct dk_obj *a, struct dk_list l, struct dk_generator *g,
			  float f, double d, int i, unsigned char c, _Bool b, char *s),
	      (a, l, g, f, d, i, c, b, s), (a, dk_list_obj(&l), DK_GENERATOR(g)));
	static int boxed(struct dk_call *c, void *args)
	{
		(void)args;
		return dk_redispatch_boxed(c, dk_call_below(c), args);
	}
	DK_UNBOXED(w, unboxed, boxed,
		   (const struct dk_obj *a, struct dk_list l, struct dk_generator *g, float f,
		    double d, int i, unsigned char c, _Bool b, char *s),
		   (a, l, g, f, d, i, c, b, s));
	DK_BOXED(w, boxed_again, unboxed);
	static const struct dk_impl impls[] = {
		DK_IMPL(w, DK_CPU, unboxed), DK_IMPL_BOXED(w, DK_CUDA, boxed_again),
		DK_IMPL_FALLTHROUGH(w, DK_AUTOGRAD_CPU), DK_FALLBACK(DK_XLA, boxed),
	};
	static struct dk_provider prov = DK_PROVIDER("p");
	int use(const struct dk_obj *a, struct dk_list l);
	int use(const struct dk_obj *a, struct dk_list l)
	{
		DK_EXCLUDE(DK_SET(DK_AUTOGRAD_CPU));

		if (dk_provider_register(&prov, NULL) ||
		    dk_impls_register(&prov, impls, 4, NULL))
			return -1;
		return w(a, l, NULL, 1.0f, 2.0, 3, 4, 1, NULL);
	}'
finish
