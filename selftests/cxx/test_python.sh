#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The library without its headers: each inline function has a twin in it that
# does the same, and they are enough for the sample in Python. Prints TAP.

here=$(cd "$(dirname -- "$0")" && pwd)
# shellcheck source=selftests/cxx/steps.sh
. "$here/steps.sh"

# The inline functions of the headers that the test does not name.
unnamed() {
	sed -n 's/^DK_INLINE .*\(dk_[a-z0-9_]*\)(.*/\1/p' "$top"/include/*.h | sort -u >"$tmp/names"
	[ -s "$tmp/names" ] && ! grep -vwFf - "$tmp/names" <<-EOF
	$(sed -n 's/.*TWIN(\(dk_[a-z0-9_]*\)).*/\1/p' "$here/twins_test.c")
	EOF
}

echo "TAP version 13"
try "the test of twins compiles" c "$here/twins_test.c" -o "$tmp/twins_test"
try "every twin does what the inline function does" "$tmp/twins_test"
try "every inline function is in that test" unnamed
if command -v python3 >/dev/null; then
	try "hello.py prints what hello.c does" says_as_hello python3 "$top/samples/hello.py" \
		"$lib/libdispatchkey.so.0"
else
	n=$((n + 1))
	echo "ok $n - hello.py prints what hello.c does # SKIP no python3"
fi

echo "1..$n"
[ $failures -eq 0 ]
