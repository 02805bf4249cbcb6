#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests that DK_TRACE prints a line for each call of a program, and that nothing is printed without
# it. The program is samples/hello; HELLO= is the path of another copy.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

program=${HELLO:-${DK_BUILD:-$st_here/../../build}/samples/hello}
[ -x "$program" ] || skip_all "no $program, type make or set HELLO"
plan 4

# traced VALUE - runs the sample with DK_TRACE=VALUE; the trace is in $st_tmp/err
traced() { DK_TRACE=$1 "$program" >"$st_tmp/out" 2>"$st_tmp/err"; }
untraced() { env -u DK_TRACE "$program" >"$st_tmp/out" 2>"$st_tmp/err"; }

silent() { traced 0 && [ ! -s "$st_tmp/err" ] && untraced && [ ! -s "$st_tmp/err" ]; }
reported_once() {
	traced yes && [ "$(wc -l <"$st_tmp/err")" -eq 1 ] &&
		grep -q '"yes" is ignored: use 0 or 1' "$st_tmp/err"
}

cat >"$st_tmp/want" <<'END'
 [call] op=[my::add], key=[CPU]
 [call] op=[my::add], key=[Tracer]
  [redispatch] op=[my::add], key=[CPU]
END

ok "a program with DK_TRACE=1 succeeds" traced 1
ok "DK_TRACE=1 prints the calls, indented by nesting" cmp "$st_tmp/err" "$st_tmp/want"
ok "nothing is traced with DK_TRACE=0 or without DK_TRACE" silent
ok "another value of DK_TRACE is reported once, and nothing is traced" reported_once

finish
