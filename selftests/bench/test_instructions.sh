#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Compares the instructions of each kind of call with baseline.COMPILER; a difference of 2 % is
# allowed. Prints TAP. Measures libdispatchkey.so in the build folder DK_BUILD.
#
#   test_instructions.sh --write	writes a new baseline
#
# A baseline is valid for one compiler and the CFLAGS of the Makefile. With other ones, the test is
# skipped.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
need_command valgrind cc
cc=${CC:-cc}
build=${DK_BUILD:-$st_top/build}
[ -e "$build/libdispatchkey.so" ] || skip_all "no $build/libdispatchkey.so, type make"
grep -qE ' -O2 -g (-DDKC_PROBES )?$' "$build/flags" ||
	skip_all "the library was built with flags of the user's: $(cat "$build/flags")"
[ -e /usr/include/valgrind/callgrind.h ] || skip_all "no headers of valgrind"

compiler=gcc
! $cc --version | grep -qi clang || compiler=clang
version=$compiler$($cc -dumpversion | sed 's/\..*//')-$(uname -m)
baseline=$st_here/baseline.$version
names=$st_top/selftests/vectors/pytorch-2.14/registrations.txt

# shellcheck disable=SC2317 # called by ok
compiles() {
	$cc -std=gnu11 -D_GNU_SOURCE -O2 -g -DNDEBUG -Wall -Wextra -Wno-unused-parameter -Werror \
		-I"$st_top/include" -I"$st_top/uapi" -o "$st_tmp/calls" "$st_here/calls.c" \
		"$st_here/calls_dk.c" -L"$build" -Wl,-rpath,"$build" -ldispatchkey \
		-lurcu-bp -lurcu-memb -lurcu-qsbr -pthread
}

# shellcheck disable=SC2317
counted() {
	valgrind -q --tool=callgrind --instr-atstart=no --combine-dumps=yes \
		--callgrind-out-file="$st_tmp/dumps" "$st_tmp/calls" -c "$names" &&
		awk -f "$st_here/instructions.awk" "$st_tmp/dumps" >"$st_tmp/counts" &&
		[ -s "$st_tmp/counts" ]
}

# within COUNT EXPECTED - true if they differ by at most 2 %
within() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b * 0.98 && a <= b * 1.02) }'; }

if [ "${1-}" = --write ]; then
	compiles && counted || exit 1
	{
		echo "# SPDX-License-Identifier: GPL-2.0-only"
		echo "# Instructions of a call; test_instructions.sh --write has counted them."
		sort "$st_tmp/counts"
	} >"$baseline"
	echo "wrote ${baseline#"$PWD/"}"
	st_finished=1
	exit 0
fi
[ -e "$baseline" ] || skip_all "no baseline for $version ($0 --write makes one)"

expected=$(grep -v '^#' "$baseline")

plan $((3 + $(wc -l <<<"$expected")))
ok "the program that makes calls compiles" compiles || skip_all "no program"
ok "the instructions of the calls are counted" counted || skip_all "no counts"
is "all kinds of calls in the baseline are counted" "$(cut -d' ' -f1 <<<"$expected")" \
	"$(sort "$st_tmp/counts" | cut -d' ' -f1)"

while read -r name want; do
	count=$(awk -v name="$name" '$1 == name { print $2 }' "$st_tmp/counts")
	if within "${count:-0}" "$want"; then
		pass "$name: $count instructions"
	else
		fail "$name: $count instructions, but $want in the baseline" \
			"if this change is intended, type $0 --write"
	fi
done <<<"$expected"

finish
