#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the library without its headers. Each inline function is also exported by the library,
# and does the same there. The sample in Python needs no other functions. Prints TAP.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"
# shellcheck source=selftests/cxx/steps.sh
. "$st_here/steps.sh"

# Prints the inline functions of the headers that twins_test.c does not test.
unnamed() {
	sed -n 's/^DK_INLINE .*\(dk_[a-z0-9_]*\)(.*/\1/p' "$top"/include/*.h | sort -u >"$st_tmp/names"
	[ -s "$st_tmp/names" ] && ! grep -vwFf - "$st_tmp/names" <<-EOF
	$(sed -n 's/.*TWIN(\(dk_[a-z0-9_]*\)).*/\1/p' "$st_here/twins_test.c")
	EOF
}

echo "TAP version 13"
ok "twins_test compiles" c "$st_here/twins_test.c" -o "$st_tmp/twins_test"
ok "every exported function gives the results of its inline function" "$st_tmp/twins_test"
ok "twins_test has every inline function" unnamed
if command -v python3 >/dev/null; then
	ok "hello.py prints the same as hello.c" says_as_hello env PYTHONPATH="$top/python" \
		PYTHONDONTWRITEBYTECODE=1 DISPATCHKEY_LIBRARY="$lib/libdispatchkey.so.0" \
		python3 "$top/samples/hello.py"
else
	skip "hello.py prints the same as hello.c" "no python3"
fi

finish
