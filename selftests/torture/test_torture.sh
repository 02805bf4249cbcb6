#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The torture in userspace: by rows, by the rules alone, without membarrier(), and, but for builds with
# sanitizers, with a mistake on purpose of each kind, which has to be found.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

program=${DK_TORTURE:-$st_here/dk_torture}
seconds=${DK_SECONDS:-8}
[ -x "$program" ] || skip_all "no $program is built"

# fails TEST... - have these tests of the last torture failed?
fails() {
	local test
	for test; do
		grep -q "^not ok [0-9]* - $test\$" "$st_tmp/out" || return
	done
}

# found KIND TEST... - with that mistake, these tests fail; soon, or on a machine
# that is slow after some more time
found() {
	local kind=$1 seconds status
	shift
	for seconds in 1 4 16; do
		status=0
		"$program" --duration $seconds --break "$kind" >"$st_tmp/out" 2>&1 || status=$?
		! fails "$@" || break
	done
	is "a torture with a mistake ($kind) fails" 1 $status
	ok "it tells: $*" fails "$@" || diag "$(grep '^# .* s: ' "$st_tmp/out")"
}

echo "TAP version 13"
run_tap "$program" --duration "$seconds"
run_tap "$program" --duration "$seconds" --resolve
run_tap "${DK_FILTERED:-$st_here/filtered}" "$program" --duration 1
if grep -qE '__(asan|tsan)_init' "$program"; then
	skip "a torture with a mistake fails" "with a sanitizer: the plain build does that"
else
	found stale "no stale entries"
	found lost "no lost calls"
	found double "no double calls"
	found wrong "no wrong routes"
	found refused "no changes refused, or not refused"
	found sum "every call was served once"
	found idle "calls of every kind" "changes of every kind"
	found left "nothing is left"
fi
ok "nothing is broken that is not asked for" "$program" --duration 1 --break nothing
refused "a mistake that it does not know" "$program" --break everything
refused "a number that is none" "$program" --duration soon
finish
