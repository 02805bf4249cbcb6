#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests scripts/check-layers. It must report a folder of the core that uses lib/pytorch, or that
# uses a folder listed before it.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"
[ -n "$st_top" ] || skip_all "the project is not here"
need_command python3 nm cc
plan 10

tree=$st_tmp/tree
mkdir -p "$tree/scripts" "$tree/lib/core/high" "$tree/lib/core/low"
cp "$st_top/scripts/check-layers" "$tree/scripts/"
echo "dkc-layers := high low" >"$tree/lib/core/Makefile.objs"

# checked HIGH LOW - the output for a tree with these functions
checked() {
	local layer
	echo "$1" >"$tree/lib/core/high/a.c"
	echo "$2" >"$tree/lib/core/low/b.c"
	for layer in high/a low/b; do
		mkdir -p "$tree/build/lib/core/${layer%/*}"
		cc -c -o "$tree/build/lib/core/$layer.o" "$tree/lib/core/$layer.c"
	done
	O=build "$tree/scripts/check-layers" 2>&1
}

high='int low(void); int high(void) { return low(); }'
is "use of a lower folder is allowed" "" "$(checked "$high" 'int low(void) { return 1; }')"
is "use of a higher folder's function is refused" \
	"lib/core/low/b.c uses high of lib/core/high/a.c: lib/core/low/ is below lib/core/high/" \
	"$(checked "$high" 'int high(void); int low(void) { return high(); }')"
touch "$tree/lib/core/high/high.h"
is "inclusion of a higher folder's header is refused" \
	"lib/core/low/b.c includes lib/core/high/high.h: lib/core/low/ is below lib/core/high/" \
	"$(checked "$high" $'#include "../high/high.h"\nint low(void) { return 1; }')"
mkdir -p "$tree/lib/pytorch"
echo 'int low(void); int more(void) { return low(); }' >"$tree/lib/pytorch/c.c"
mkdir -p "$tree/build/lib/pytorch"
cc -c -o "$tree/build/lib/pytorch/c.o" "$tree/lib/pytorch/c.c"
is "lib/pytorch may use all folders of the core" \
	"" "$(checked "$high" 'int low(void) { return 1; }')"
is "use of lib/pytorch by the core is refused" \
	"lib/core/low/b.c uses more of lib/pytorch/c.c: lib/core/low/ is below lib/pytorch/" \
	"$(checked "$high" 'int more(void); int low(void) { return more(); }')"
rm -r "$tree/lib/pytorch"
touch "$tree/lib/core/own.h"
like "a file outside of the folders is refused" "*lib/core/own.h is in no folder*" \
	"$(checked "$high" 'int low(void) { return 1; }')"
rm "$tree/lib/core/own.h"
like "objects that use no symbols are refused" "*not the objects of the core*" \
	"$(checked 'int high(void) { return 1; }' 'int low(void) { return 1; }')"
mkdir "$tree/lib/core/new"
like "a folder without a place is refused" "*lib/core/new is not in dkc-layers*" \
	"$(checked "$high" 'int low(void) { return 1; }')"
rmdir "$tree/lib/core/new"
touch -d '1 minute' "$tree/lib/core/low/b.c"
like "an object that is older than its source is named" \
	"*low/b.o is older than its source: make lib*" \
	"$(O=build "$tree/scripts/check-layers" 2>&1)"
rm -r "$tree/build"
like "an object that is missing is named" "*high/a.o is not built: make lib*" \
	"$(O=build "$tree/scripts/check-layers" 2>&1)"
finish
