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

plan 5
if python3 -c 'import yaml' 2>/dev/null; then
	ok "the netlink specification can be read" eval \
		'python3 "$st_here/spec.py" "$st_top/Documentation/netlink/specs/dispatchkey.yaml" |
			sort >"$st_tmp/spec"'
	ok "the client library has all names of the specification" \
		eval '"$DK_WORDS" | sort | diff -u "$st_tmp/spec" -'
	is "each attribute of a command is listed in one of its messages" "" \
		"$(python3 "$st_here/spec.py" --unused \
			"$st_top/Documentation/netlink/specs/dispatchkey.yaml" 2>&1)"
else
	skip "the netlink specification can be read" "no python3-yaml"
	skip "the client library has all names of the specification" "no python3-yaml"
	skip "each attribute of a command is listed in one of its messages" "no python3-yaml"
fi
ok "libdispatchkey is not linked with libnl" eval '! needs libdispatchkey.so | grep -q libnl'
ok "libdispatchkey-nl is not linked with libdispatchkey" eval \
	'needs libdispatchkey-nl.so | grep -q libnl-genl-3 &&
		! needs libdispatchkey-nl.so | grep -q libdispatchkey'
finish
