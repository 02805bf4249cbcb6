#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests that the client has the attributes and values of the specification, and that each attribute
# is in a message. Also tests that libdispatchkey is not linked with libnl, and that
# libdispatchkey-nl is not linked with libdispatchkey. Prints TAP.
#
# shellcheck disable=SC2016,SC2317 # ok evaluates it

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
need_command python3 readelf
[ -e "$DK_BUILD/libdispatchkey-nl.so" ] || skip_all "no libdispatchkey-nl is built"

needs() { # LIBRARY
	readelf -d "$DK_BUILD/$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'
}
needs libdispatchkey.so >"$st_tmp/needed"
needs libdispatchkey-nl.so >"$st_tmp/needed-nl"

plan 6
if python3 -c 'import yaml' 2>/dev/null; then
	ok "the netlink specification can be read" eval \
		'python3 "$st_here/spec.py" "$st_top/Documentation/netlink/specs/dispatchkey.yaml" \
			>"$st_tmp/words" && sort "$st_tmp/words" >"$st_tmp/spec" &&
			[ -s "$st_tmp/spec" ]'
	ok "the client library has all names of the specification" \
		eval '"$DK_WORDS" >"$st_tmp/words" && sort "$st_tmp/words" | diff -u "$st_tmp/spec" -'
	is "each attribute of a command is listed in one of its messages" "" \
		"$(python3 "$st_here/spec.py" --unused \
			"$st_top/Documentation/netlink/specs/dispatchkey.yaml" 2>&1)"
else
	skip "the netlink specification can be read" "no python3-yaml"
	skip "the client library has all names of the specification" "no python3-yaml"
	skip "each attribute of a command is listed in one of its messages" "no python3-yaml"
fi
lacks "libdispatchkey is not linked with libnl" libnl "$st_tmp/needed"
ok "libdispatchkey-nl is linked with libnl" grep libnl-genl-3 "$st_tmp/needed-nl"
lacks "libdispatchkey-nl is not linked with libdispatchkey" libdispatchkey "$st_tmp/needed-nl"
finish
