#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# DK_TRACE: the lines that it makes of a program's calls, and that without it
# there are none. The program is samples/hello; HELLO names it.

here=$(cd "$(dirname -- "$0")" && pwd -P)
program=${HELLO:-${DK_BUILD:-$here/../../build}/samples/hello}

echo "TAP version 13"
if [ ! -x "$program" ]; then
	echo "1..0 # SKIP no $program, type make or set HELLO"
	exit 4
fi
echo "1..4"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0

result() { # STATUS WHAT
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
		return
	fi
	failed=1
	echo "not ok $n - $2"
	head -n 20 "$tmp/err" | sed 's/^/#   /'
}

cat >"$tmp/want" <<'END'
 [call] op=[my::add], key=[CPU]
 [call] op=[my::add], key=[Tracer]
  [redispatch] op=[my::add], key=[CPU]
END

DK_TRACE=1 "$program" >"$tmp/out" 2>"$tmp/err"
result $? "a program runs as it does without a trace"
cmp -s "$tmp/err" "$tmp/want"
result $? "DK_TRACE=1 shows its calls, nested"

DK_TRACE=0 "$program" >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/err" ] &&
	"$program" >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/err" ]
result $? "DK_TRACE=0 and none show nothing"
DK_TRACE=yes "$program" >"$tmp/out" 2>"$tmp/err" &&
	[ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q '"yes".*neither 0 nor 1' "$tmp/err"
result $? "another value is told once, and shows nothing"

exit $failed
