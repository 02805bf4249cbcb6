#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the core without a libc, with all of its memory in one array that the caller supplies
# and that may be too small. Prints TAP.
#
# shellcheck disable=SC2317 # functions are called by result

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

cc=${CC:-cc}
[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
need_command "${cc%% *}"
dir=$st_tmp/arena
mkdir "$dir"

links() {
	BARE_CC=$cc O=$dir "$st_top/scripts/check-bare" &&
		$cc -std=gnu11 -Wall -I"$st_top/include" -I"$st_top/uapi" -o "$dir/arena" \
			"$st_top/selftests/bare/arena.c" "$dir/bare/$cc/bare.o"
}
# The program is compiled again, because calls are inlined in it.
defined() {
	clang -std=gnu11 -Wall -fsanitize=undefined -fsanitize-trap=undefined -I"$st_top/include" \
		-I"$st_top/uapi" -o "$dir/trapping" "$st_top/selftests/bare/arena.c" \
		"$dir/bare/$cc/bare.o" || return
	"$dir/trapping" && "$dir/trapping" nested && "$dir/trapping" deferred &&
		"$dir/trapping" owned
}
fits() { # SIZE WORD
	"$dir/arena" "$1" >"$dir/log" && grep -q "^ok 1 $2$" "$dir/log"
}
page=$st_top/Documentation/api/bare.rst
# The page has the sizes of 64-bit CPUs.
page_names_arena() {
	local used
	used=$("$dir/arena" small | sed -n 's/^# \([0-9]*\) bytes for .*/\1/p')
	diag "$used bytes"
	[ -n "$used" ] && tr -d ' ' <"$page" | grep "functionsof10operatorstake${used}bytes"
}
page_names_declaration() {
	local size
	size=$(tr '\n' ' ' <"$page" | sed -n 's/.*32-bit CPU, and \([0-9]*\) bytes on a 64-bit CPU.*/\1/p')
	echo "#include <dispatchkey.h>
		_Static_assert(sizeof(struct dk_op_decl) == $size, \"\");" |
		$cc -std=gnu11 -I"$st_top/include" -I"$st_top/uapi" -fsyntax-only -x c -
}
served=0 refused=0 without=0
# A larger arena never serves less than a smaller one.
every_size() {
	local size
	for ((size = 16; size <= 65536; size += 488)); do
		"$dir/arena" "$size" >"$dir/log" || { diag "$size bytes" "$(cat "$dir/log")"; return 1; }
		case $(head -n 1 "$dir/log") in
		"ok 1 no registry fits") without=$((without + 1)); [ "$refused" -eq 0 ] || break ;;
		"ok 1 refused") refused=$((refused + 1)); [ "$served" -eq 0 ] || break ;;
		"ok 1 served") served=$((served + 1)) ;;
		esac
	done
	diag "$without sizes without a registry, $refused refused, $served served"
	[ "$size" -gt 65536 ] && [ "$served" -gt 0 ] && [ "$refused" -gt 0 ] && [ "$without" -gt 0 ]
}

echo "TAP version 13"
ok "a program that gives the core its memory links" links
ok "the program runs in 256 KiB" "$dir/arena"
diag "$("$dir/arena" | sed -n 's/^# //p')"
ok "35 functions of 10 operators fit in 12 KiB" "$dir/arena" small
diag "$("$dir/arena" small | sed -n 's/^# //p')"
if [ ! -e "$page" ] || ! $cc -dM -E -x c /dev/null | grep -q __LP64__; then
	skip "the page has the sizes of the arena and of a declaration" "no page, or no 64-bit CPU"
else
	ok "the page has the size of the arena that these functions take" page_names_arena
	ok "the page has the size of a declaration" page_names_declaration
fi
ok "nested calls are made and counted" "$dir/arena" nested
ok "calls are deferred and completed" "$dir/arena" deferred
ok "a function registers other functions" "$dir/arena" changing
ok "a function of a device is called and counted" "$dir/arena" owned
if command -v clang >/dev/null; then
	ok "calls have no undefined behaviour" defined
else
	skip "calls have no undefined behaviour" "no clang"
fi
ok "with every size, requests that do not fit are refused" every_size
ok "everything fits in 64 KiB" fits 65536 served
finish
