#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs make demo-unload with fewer calls. dispatchkey must serve all of them. If PyTorch is
# installed, the result with PyTorch is printed, too. Prints TAP.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_command cc
[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
lib=${DK_BUILD:-$st_top/build}/libdispatchkey.a
[ -e "$lib" ] || skip_all "no $lib, type make"

compiles() { # PROGRAM OPTION...
	cc -std=gnu11 -D_GNU_SOURCE -O2 -DNDEBUG -Wall -Wextra -Wno-unused-parameter -Werror "${@:2}" \
		-I"$st_top/include" -I"$st_top/uapi" -o "$st_tmp/$1" "$st_here/unload_dk.c" "$lib" \
		-lurcu-bp -pthread
}
status_of() {
	"$@" >"$st_tmp/said" 2>&1
	echo $?
}

plan 5

ok "the program that unloads a function compiles" compiles unload || skip_all "no program"
is "a million calls are made, and none is lost" 0 "$(status_of "$st_tmp/unload" 1000000)"
diag "$(cat "$st_tmp/said")"
ok "a program that loses a call compiles" compiles loses -DLOSE=500000
is "a lost call is reported" 1 "$(status_of "$st_tmp/loses" 1000000)"
if [ -e /usr/include/ATen/core/dispatch/Dispatcher.h ] && [ -x "$st_top/scripts/demo-unload" ]; then
	status=$(CALLS=1000000 LIMIT=60 O="${DK_BUILD:-$st_top/build}" \
		status_of "$st_top/scripts/demo-unload")
	if [ "$status" = 3 ]; then
		skip "beside PyTorch, a million calls are made, and none is lost" \
			"$(cat "$st_tmp/said")"
	else
		is "beside PyTorch, a million calls are made, and none is lost" 0 "$status"
		diag "$(cat "$st_tmp/said")"
	fi
else
	skip "beside PyTorch, a million calls are made, and none is lost" "no PyTorch 1.13.1 here"
fi

finish
