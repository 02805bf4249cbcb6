#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the two commands of README on a system with only apt and Debian's essential packages.
# For a plain user they must print the command that installs the missing packages, make
# included, and build nothing. Prints TAP.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

command -v dpkg-query >/dev/null || skip_all "not Debian or a relative of it"
[ -n "$st_top" ] || skip_all "the project is not around the tests"

# The folder in PATH has only links to the commands of these packages. ensure-deps adds the
# folders for administrators to PATH, which contain none of the commands that are missing.
essential=$st_tmp/bin
mkdir "$essential" "$st_tmp/project"
dpkg-query -W -f '${Essential} ${Package}\n' | sed -n 's/^yes //p' | xargs dpkg-query -L apt |
	grep -E '^(/usr)?/bin/[^/]+$' | while read -r file; do
	ln -sf "$file" "$essential/"
done
cp -R "$st_top/scripts" "$st_tmp/project/"
chmod -R go+rX "$st_tmp"

as_user() {
	if [ "$(id -u)" = 0 ]; then
		set -- setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	fi
	env -i PATH="$essential" HOME=/nonexistent "$@"
}

# refuses COMMAND - checks that COMMAND exits with 3 and prints a command that installs make
refuses() {
	local status=0
	as_user "$st_tmp/project/scripts/$1" >"$st_tmp/out" 2>&1 || status=$?
	[ "$status" -eq 3 ] && grep -Eq '^ +sudo .*apt-get install .* make( |")' "$st_tmp/out" && return
	echo "exit status $status"
	cat "$st_tmp/out"
	return 1
}

plan 3
ok "a system with only essential packages has no make" test ! -e "$essential/make"
ok "scripts/demo lists missing packages, including make" refuses demo
ok "scripts/check lists missing packages, including make" refuses check

finish
