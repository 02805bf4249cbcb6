#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks that a call stores only to memory of the calling thread: its stack and TLS, its record
# in the gate, and its RCU counter. valgrind traces all stores of calls of all kinds. Prints TAP.
# DK_BUILD is the build folder.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_command valgrind cc
[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
lib=${DK_BUILD:-$st_top/build}/libdispatchkey.a
[ -e "$lib" ] || skip_all "no $lib, type make"

# shellcheck disable=SC2317 # called by ok
compiles() {
	cc -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wno-unused-parameter -Werror \
		-I"$st_top/include" -I"$st_top/uapi" -o "$st_tmp/calls" "$st_here/calls.c" \
		"$lib" -lurcu-bp -pthread -static -Wl,--wrap=calloc
}

# trace NAME [FAULT] - traces the program, and writes the output of stores.awk to $st_tmp/NAME
trace() {
	local name=$1
	shift
	mkfifo "$st_tmp/$name.fifo"
	grep '^ [SM] ' "$st_tmp/$name.fifo" >"$st_tmp/$name.stores" &
	local reader=$!
	valgrind --tool=lackey --trace-mem=yes --basic-counts=no --log-file="$st_tmp/$name.fifo" \
		"$st_tmp/calls" "$@" >"$st_tmp/$name.said" || {
		# SIGKILL, because the reader may still be a subshell that has this script's traps
		# and waits for a writer of the pipe
		kill -KILL "$reader"
		wait "$reader" 2>/dev/null
		return 1
	}
	wait "$reader"
	awk -f "$st_here/stores.awk" "$st_tmp/$name.said" "$st_tmp/$name.stores" >"$st_tmp/$name"
}

plan 11

ok "the program that makes calls compiles" compiles || skip_all "no program"

ok "the stores of the program are traced" trace real
is "stores of every kind of call are traced in both threads" \
	"48 kinds, $(grep -c '^kind' "$st_tmp/real.said") expected" \
	"$(grep -c ' stores [0-9 ]*$' "$st_tmp/real") kinds, 48 expected"
is "calls store only to memory of their thread" "" \
	"$(grep -E '^(foreign|incomplete)' "$st_tmp/real")$(awk '$3 == "stores" && $7' "$st_tmp/real")"
lacks "no cache line is stored to by both threads" '^shared' "$st_tmp/real"
awk '$1 == 0 && $3 == "stores" {
	printf "# %-22s %6.1f a call on the stack, %4.1f in the record, %4.1f for RCU\n", $2,
		$4 / 20, $5 / 20, $6 / 20 }' "$st_tmp/real"

ok "the stores with counters enabled are traced" trace stats stats
is "with counters enabled, stores of every kind of call are traced in both threads" 48 \
	"$(grep -c ' stores [0-9 ]*$' "$st_tmp/stats")"
is "with counters enabled, calls store only to memory of their thread" "" \
	"$(grep -E '^(foreign|incomplete)' "$st_tmp/stats")$(awk '$3 == "stores" && $7' "$st_tmp/stats")"
lacks "with counters enabled, no cache line is stored to by both threads" '^shared' "$st_tmp/stats"

trace counted shared
like "a counter that all threads share is found" "foreign: 0 sleepable stores to *" \
	"$(grep -m 1 '^foreign' "$st_tmp/counted")"
trace line line
like "two counters in one cache line are found" "shared: *" "$(grep -m 1 '^shared' "$st_tmp/line")"

finish
