#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests scripts/check-abi with deliberate mistakes in a copy of the sources. It must name a
# change of a released type, symbol or constant, and accept a change of a private type.
# Prints TAP. CC= is the compiler.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "the project is not here"
need_command make abidiff abidw "${CC:-cc}"

tree=$st_tmp/tree
mkdir "$tree"
cp -r "$st_top"/{Makefile,VERSION,include,uapi,lib,samples,scripts,tools} "$tree"
cp -r "$tree" "$tree.orig"

# check - builds the copy and runs check-abi there, with its output in $st_tmp/said
check() {
	env -u O MAKEFLAGS='' make -s -j"$(nproc)" -C "$tree" CFLAGS='-O0 -g' lib nl &&
		"$tree/scripts/check-abi" >"$st_tmp/said" 2>&1
}
# change FILE SCRIPT - restores the copy, and changes FILE there by a script for sed
change() {
	cp -r "$tree.orig"/* "$tree"
	sed -i -E "$2" "$tree/$1"
	cmp "$tree/$1" "$tree.orig/$1"
	[ $? -eq 1 ]
}
# finds WHAT PATTERN FILE SCRIPT - checks that check-abi fails after a change of FILE, and that
# its message matches PATTERN
finds() {
	ok "$1: a change of the sources is applied" change "$3" "$4"
	refused "$1: check-abi fails" check
	like "$1: check-abi names the change" "$2" "$(cat "$st_tmp/said")"
}

echo "TAP version 13"
ok "check-abi passes without a change" check
finds "a member's type" "*dk_provider_inside*dk_inside*'__u64 ms' changed*abi-baseline*" \
	include/dispatchkey-registry.h '/^struct dk_inside/,/^}/s/__u64 ms/__s64 ms/'
finds "a size" "*struct dk_obj'*size changed*" \
	include/dispatchkey-base.h '/^struct dk_obj/,/^}/s/__u32 device/__u64 device/'
finds "a constant" "*-DK_STEP_RULE 1*+DK_STEP_RULE 2*" \
	include/dispatchkey-explain.h '/^enum dk_step_kind/,/^}/s/(DK_STEP_RULE),/\1 = 2,/'
finds "a symbol of the client" "*Removed function*dk_nl_version*" \
	lib/nl/libdispatchkey-nl.map '/dk_nl_version;/d'
ok "a private type: a change of the sources is applied" change lib/core/table/types.h \
	'/^struct dk_registry \{/s/$/\n\tint unused[7];/'
ok "a private type: check-abi passes" check

mkdir "$st_tmp/bin"
ln -s /usr/bin/* /bin/* "$st_tmp/bin" 2>/dev/null
rm "$st_tmp/bin/abidiff"
PATH=$st_tmp/bin "$tree/scripts/check-abi" >"$st_tmp/said" 2>&1
is "check-abi without abidiff ends with 3" 3 $?
like "check-abi without abidiff names the package" "*abigail-tools*" "$(cat "$st_tmp/said")"
finish
