#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the torture test in userspace: with tables, without tables, and without membarrier(). Except
# in builds with sanitizers, also runs it with a deliberate mistake of each kind, which must be
# detected. DK_BRIEF=1 tries only one kind of mistake.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"
# shellcheck source=selftests/torture/mistakes.sh
. "$st_here/mistakes.sh"

program=${DK_TORTURE:-$st_here/dk_torture}
seconds=${DK_SECONDS:-8}
[ -x "$program" ] || skip_all "$program is not built"

# found KIND TEST... - with the mistake KIND these tests fail. A slow machine might need
# more than a second
found() {
	local kind=$1 seconds status
	shift
	for seconds in 1 4 16; do
		status=0
		"$program" --duration $seconds --break "$kind" >"$st_tmp/out" 2>&1 || status=$?
		! fails "$@" || break
	done
	is "dk_torture with a mistake ($kind) exits with 1" 1 $status
	ok "dk_torture with a mistake ($kind) fails the tests: $*" \
		fails "$@" || diag "$(grep '^# .* s: ' "$st_tmp/out")"
}

echo "TAP version 13"
run_tap "$program" --duration "$seconds"
run_tap "$program" --duration "$seconds" --resolve
run_tap "${DK_FILTERED:-$st_here/filtered}" "$program" --duration 1
if grep -qE '__(asan|tsan)_init' "$program"; then
	skip "dk_torture with a mistake fails" "built with a sanitizer; the plain build tests this"
else
	all_found
fi
ok "dk_torture without a mistake passes" "$program" --duration 1 --break nothing
refused "dk_torture refuses an unknown mistake" "$program" --break everything
refused "dk_torture refuses an invalid number" "$program" --duration soon
finish
