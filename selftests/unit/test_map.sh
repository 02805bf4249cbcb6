#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests that scripts/code-map draws the parts of a tree, and names those that it cannot draw.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"
[ -n "$st_top" ] || skip_all "the project is not here"
need_command python3 nm cc
plan 15

tree=$st_tmp/tree
map=$tree/Documentation/images/map.svg
page=$tree/Documentation/internals.rst
core=$tree/lib/core
mkdir -p "$tree"/{scripts,build,include,kmod,Documentation/images} "$core"/{high,left,right,low}
cp "$st_top"/scripts/{check-layers,code-map} "$tree/scripts/"
echo "dkc-layers := high left right low" >"$core/Makefile.objs"
licence='/* SPDX-License-Identifier: GPL-2.0-only */'
header() { # FOLDER COMMENT
	printf '%s\n' "$licence" "$2" >"$core/$1/$1.h"
}
header high '/* What is high. And more of it. */'
header left '/* What is left. */'
header right '/* What is right. */'
header low $'/*\n * What is\n * low.\n */\n#include <public.h>'
echo 'int left(void), right(void), low(void);
int high(void) { return left() + right() + low(); }' >"$core/high/a.c"
for side in left right; do
	echo "int low(void); int $side(void) { return low(); }" >"$core/$side/$side.c"
done
echo 'int low(void) { return 1; }' >"$core/low/low.c"
touch "$tree/include/public.h"
printf '#include "../lib/core/low/low.h"\n#include <public.h>\n' >"$tree/kmod/main.c"
cat >"$page" <<'END'
``include/``
   What is public.
``lib/core/``
   The core.
``kmod/``
   The module. It has more.
END

built() { # builds the objects, and draws the map
	local file
	for file in "$core"/*/*.c; do
		file=${file#"$tree/"}
		mkdir -p "$tree/build/${file%/*}"
		cc -c -o "$tree/build/${file%.c}.o" "$tree/$file"
	done
	O=build "$tree/scripts/code-map" "$@" 2>&1
}

is "the picture of a tree is drawn without errors" "" "$(built)"
is "--check accepts a picture that is up to date" "0" "$(built --check >/dev/null; echo $?)"
is "the picture is XML" \
	"" "$(python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' \
	"$map" 2>&1)"
svg=$(cat "$map")
like "the picture has the first sentences of the headers" "*>What is high.<*>What is low.<*" "$svg"
like "the picture has the files" "*>a.c<*" "$svg"
like "an arrow is left out if others lead the same way" \
	"*kmod/ uses lib/core/. high/ uses left/, right/. left/ uses low/. right/ uses low/.<*" "$svg"
echo 'int more(void) { return 1; }' >"$core/low/more.c"
like "after a file was added, --check names the command to run" \
	"*make lib && scripts/code-map*" "$(built --check)"
is "--check of an old picture ends with 1" "1" "$(built --check >/dev/null; echo $?)"
header left '/* No sentence */'
like "a header that does not say what its folder is for is named" \
	"*lib/core/left/left.h, first comment: a sentence*" "$(built)"
header left '#define COMMENT'
like "a header without a comment is named" "*lib/core/left/left.h: the first comment*" "$(built)"
rm "$core/left/left.h"
like "a folder without its header is named" "*lib/core/left/ has no left.h*" "$(built)"
header left '/* What is left. */'
mkdir "$tree/lib/new"
touch "$tree/lib/new/new.c"
like "a folder that the page does not list is named" \
	"*internals.rst does not describe lib/new/*" "$(built)"
rm -r "$tree/lib/new"
# shellcheck disable=SC2016 # the quotes of the page
printf '%s\n' '``old/``' '   What was there.' >>"$page"
like "a folder that only the page lists is named" \
	"*describes old/, which has no sources*" "$(built)"
sed -i '/old/,$d' "$page"
echo '#include "../kmod/kmod.h"' >"$tree/include/public.h"
touch "$tree/kmod/kmod.h"
like "two folders that use each other are refused" "*and * use each other*" "$(built)"
printf '%s\n' '#ifdef WORLD' '#include "../kmod/kmod.h"' '#endif' >"$tree/include/public.h"
is "a conditional #include against the order of the others is ignored" "" "$(built)"
finish
