#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests samples/torch-backend with Debian's PyTorch 1.13.1: runs make demo-torch with few steps,
# compares the backend's functions with those of the CPU, and tests the errors. Prints TAP. With
# DK_ASAN=1 the backend is built with ASan; PyTorch's headers do not compile with UBSan.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
need_command g++ make pkg-config pgrep
[ -e /usr/include/torch/library.h ] || skip_all "no libtorch here"
/usr/bin/python3 -c 'import torch' 2>/dev/null || skip_all "no PyTorch here"
build=${O:-$st_top/build}
backend=$build/torch-backend/backend.so
python=$st_tmp/python preload=()
if [ "${DK_ASAN:-}" = 1 ]; then
	build=$build/asan-torch backend=$build/torch-backend/backend.so
	export CXXFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=address"
	# Python is built without ASan and without C++, and does not free all memory.
	preload=("LD_PRELOAD=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libstdc++.so)"
		ASAN_OPTIONS=detect_leaks=0)
fi
demo() { env O="$build" STEPS="$1" PYTHON="$python" timeout 600 "$st_top/scripts/demo-torch"; }
train() { timeout 120 "$python" -B "$st_top/samples/torch-backend/train.py" "$@"; }
printf '#!/bin/sh\nexec env %s /usr/bin/python3 "$@"\n' "${preload[*]}" >"$python"
chmod +x "$python"
status_of() {
	"$@" >"$st_tmp/said" 2>&1
	echo $?
}

# wait_for COMMAND... - repeats a command until it succeeds, for at most three minutes
wait_for() {
	for ((tries = 0; tries < 9000; tries++)); do
		"$@" && return
		sleep 0.02
	done
	return 1
}
out=$build/torch-backend
has_temporary_file() { [ -n "$(find "$out/tmp" -type f 2>/dev/null)" ]; }
is_clean() { ! has_temporary_file; }
is_without_processes() { ! pgrep -f "^make .*O=$build|cc1plus .*$out/" >/dev/null; }

echo "TAP version 13"
# Send SIGKILL only to the script, while it compiles.
rm -f "$out/arith.o"
demo_script=$st_top/scripts/demo-torch
O=$build STEPS=4 PYTHON=$python "$demo_script" >/dev/null 2>&1 &
demo=$!
ok "the demo compiles" wait_for has_temporary_file
kill -KILL $demo
wait $demo 2>/dev/null
ok "after SIGKILL of the demo, no compiler is left running" wait_for is_without_processes
ok "after SIGKILL of the demo, no temporary file is left" wait_for is_clean

exec {lock}>"$out/lock"
flock "$lock"
status_of demo 60 >"$st_tmp/status" {lock}>&- &
demo=$!
ok "a second demo waits for the first" wait_for grep -q "^demo-torch: waiting for another demo-torch" \
	"$st_tmp/said"
exec {lock}>&-
wait $demo
is "make demo-torch succeeds" 0 "$(cat "$st_tmp/status")"
like "no call is lost, and the loss is as on the CPU" \
	"train: 60 steps, loss as on the CPU (*), * calls, * fallbacks, 0 lost" \
	"$(tail -n 1 "$st_tmp/said")"
for place in card0 card1; do
	ok "$place has served calls" grep -qE "^step +60 .* $place +[1-9]" "$st_tmp/said"
done
ok "a card was unplugged, and the network moved" grep -q "network has moved to card1" "$st_tmp/said"
picture=$build/torch-backend/mm.svg
ok "the table is drawn as SVG" grep -q '^<svg' "$picture"
ok "the picture shows that card1 serves its tensors" \
	grep -q 'on device card1, .*mm@card1 of ' <(tr '\n' ' ' <"$picture")

run_tap timeout 300 "$python" -B "$st_here/backend.py" "$backend"

# the Python package reports what serves each operator, and what the backend registers
package() {
	env PYTHONPATH="$st_top/python" DISPATCHKEY_LIBRARY="$build/libdispatchkey.so.0" \
		timeout 120 "$python" -B -m dispatchkey.torch "$@"
}
missing() { package missing privateuseone --load "$backend" "$@"; }
is "dispatchkey.torch missing loads the backend" 0 "$(status_of missing --show own)"
like "dispatchkey.torch missing lists the backend's own functions" "*
aten::mm * own *backend.cpp:*" "$(cat "$st_tmp/said")"
ok "dispatchkey.torch missing counts the operators that the fallback serves" \
	grep -qE '^ +[0-9]+  fallback ' "$st_tmp/said"
is "dispatchkey.torch missing lists no missing operator" \
	"" "$(grep -E '^ +[0-9]+  nothing ' "$st_tmp/said")"

is "dispatchkey.torch watch loads the backend" 0 "$(status_of package watch "$backend")"
ok "dispatchkey.torch watch prints the registered functions" \
	grep -q '^+ function of aten::mm at PrivateUse1: .*backend.cpp' \
	"$st_tmp/said"
ok "dispatchkey.torch watch prints the registered fallback" \
	grep -q '^+ fallback at PrivateUse1: .*backend.cpp' "$st_tmp/said"

touch "$st_tmp/backend.so"
ok "make clean needs no libdispatchkey" env PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR=/none \
	make -s -C "$st_top/samples/torch-backend" O="$st_tmp" clean
ok "make clean removes backend.so" test ! -e "$st_tmp/backend.so"

is "demo-torch refuses a wrong STEPS=" 2 "$(STEPS=many status_of "$st_top/scripts/demo-torch")"
like "the error names STEPS= and its value" \
	"*STEPS= must be a number from 4 to 9999999, not 'many'" "$(cat "$st_tmp/said")"

mkdir -p "$st_tmp/other/torch/csrc/api/include/torch"
touch "$st_tmp/other/torch/__init__.py"
echo '__version__ = "2.6.0"' >"$st_tmp/other/torch/version.py"
is "demo-torch with another PyTorch ends with 3" 3 \
	"$(PYTHONPATH=$st_tmp/other PYTHON=/usr/bin/python3 status_of "$demo_script")"
like "demo-torch refuses another PyTorch before anything is compiled" \
	"demo-torch: the backend is for PyTorch 1.13, but /usr/bin/python3 has 2.6.0: *" "$(cat "$st_tmp/said")"
printf '#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 6\n' \
	>"$st_tmp/other/torch/csrc/api/include/torch/version.h"
is "backend.cpp does not compile with the headers of another PyTorch" 1 \
	"$(status_of g++ -E -I "$st_tmp/other" -I "$st_top/include" \
	"$st_top/samples/torch-backend/functions.hpp")"
ok "the compiler's error names the required PyTorch" \
	grep -q "error: #error This backend is for PyTorch 1.13 " "$st_tmp/said"
printf '#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n' >"$st_tmp/bare"
chmod +x "$st_tmp/bare"
is "demo-torch without PyTorch ends with 3" 3 "$(PYTHON=$st_tmp/bare status_of "$demo_script")"
is "demo-torch without PyTorch prints one sentence" \
	"demo-torch: no PyTorch for $st_tmp/bare: install Debian's python3-torch and use \
PYTHON=/usr/bin/python3" "$(cat "$st_tmp/said")"

"$python" -B "$st_top/samples/torch-backend/train.py" --backend "$backend" >"$st_tmp/said" 2>&1 &
train=$!
wait_for grep -q libtorch /proc/$train/maps
kill -INT $train
wait $train
is "train ends with 130 after Ctrl-C during the import of PyTorch" 130 $?
is "train prints nothing after Ctrl-C during the import of PyTorch" "" "$(cat "$st_tmp/said")"
is "train without backend.so ends with 1" 1 "$(status_of train --backend /none.so)"
is "train without backend.so prints one sentence" \
	"train: no file /none.so: build it with \`make demo-torch\`" "$(cat "$st_tmp/said")"
is "train with a folder as backend ends with 1" 1 "$(status_of train --backend "$st_tmp")"
is "train with a folder as backend prints one sentence" \
	"train: no file $st_tmp: build it with \`make demo-torch\`" "$(cat "$st_tmp/said")"
is "train with a file that is no library ends with 1" 1 "$(status_of train --backend "$0")"
like "train with a file that is no library prints one sentence" \
	"train: $0 cannot be loaded: *" "$(cat "$st_tmp/said")"
mkdir "$st_tmp/without"
echo 'raise ImportError("not here")' >"$st_tmp/without/dispatchkey.py"
is "train --picture without the Python package ends with 1" 1 \
	"$(PYTHONPATH=$st_tmp/without status_of train --backend "$backend" \
	--picture "$st_tmp/mm.svg")"
is "train --picture without the Python package does not train" \
	"train: --picture needs the Python package dispatchkey (not here)" "$(cat "$st_tmp/said")"
ok "train --picture without the Python package writes no file" test ! -e "$st_tmp/mm.svg"
finish
