#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests make demo-opencl with a second of load: its summary, its errors, a processor that
# cannot be divided, the sanitizers, and the files that are left after SIGKILL. Prints TAP.
# O= is the output folder, CC= the compiler.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
need_command "${CC:-cc}" make
build=$(mkdir -p "${O:-$st_top/build}" && realpath -- "${O:-$st_top/build}")
demo=$st_top/scripts/demo-opencl
(cd "$st_top" && DK_INSTALL=no scripts/ensure-deps build opencl) >"$st_log" 2>&1 ||
	skip_all "no OpenCL here: type $(sed -n 's/^ *sudo sh -c //p' "$st_log")"

# run_demo [VARIABLE=VALUE...] - runs the demo for a second; sets status, and writes the files
# out and err
run_demo() {
	status=0
	env O="$build" MAKEFLAGS='' DK_SECONDS=1 "$@" "$demo" >"$st_tmp/out" 2>"$st_tmp/err" ||
		status=$?
}
# The table has a line for each device and for the CPU. The sum of the calls in the table must
# equal the number of calls in the last line.
adds_up() {
	local line sum calls
	line=$(tail -n 1 "$st_tmp/out")
	[[ $line =~ ^demo-opencl:\ ([0-9]+)\ calls,\ 0\ wrong,\ 0\ lost$ ]] || return
	calls=${BASH_REMATCH[1]}
	sum=$(sed '1,/^== What served/d' "$st_tmp/out" |
		awk '/^(cl[0-9]|CPU) / { sum += $8; idle += !$8 } END { print idle ? 0 : sum + 0 }')
	echo "$line: $sum were served"
	[ "$calls" -gt 0 ] && [ "$sum" -eq "$calls" ]
}
equal_results() {
	grep -xE "results compared with the CPU's: [1-9][0-9]*, different: 0; misrouted calls: 0" \
		"$st_tmp/out"
}
succeeds() {
	cat "$st_tmp/out" "$st_tmp/err"
	[ "$status" -eq 0 ] && [ ! -s "$st_tmp/err" ]
}
has() { grep -F -- "$1" "$st_tmp/out"; }

# ---- the demo ------------------------------------------------------------------------

run_demo
if [ "$status" -eq 3 ]; then
	skip_all "$(cat "$st_tmp/err")"
fi
plan 34
ok "the demo succeeds with a second of load" succeeds
ok "all calls were served, by each device and by the CPU" adds_up
ok "all results equal those of the CPU" equal_results
ok "a device was removed" has ' is removed, after '
ok "the CPU serves the buffers of the removed device" \
	has '! buffers on it are now served by axpy_cpu of cpu'
ok "a device was added" has ' is registered: a new context of the same device'

what="a processor that cannot be divided is used twice"
if has 'a part of pthread-' >/dev/null; then
	run_demo POCL_MAX_PTHREAD_COUNT=1
	ok "$what" succeeds
	ok "a processor that cannot be divided is used by two contexts" \
		has 'another context of pthread-'
	ok "no call is lost on a processor that is used twice" adds_up
else
	for _ in 1 2 3; do
		skip "$what" "the devices here are not a divided processor of pocl"
	done
fi

# pocl presents the processor as ten devices.
run_demo POCL_DEVICES="$(printf 'pthread %.0s' {1..10})"
what="two of ten devices are not used, and are named"
if has pthread- >/dev/null; then
	ok "$what" grep -xE 'not used, because the demo uses at most 8: pthread-[^,]*, pthread-[^,]*' \
		"$st_tmp/out"
	ok "no call is lost on eight devices" succeeds
else
	for _ in 1 2; do
		skip "$what" "the devices here are not pocl's"
	done
fi

# ---- refusals ------------------------------------------------------------------------

mkdir "$st_tmp"/{vendors,scripts}
run_demo OCL_ICD_VENDORS="$st_tmp/vendors" OCL_ICD_FILENAMES=
is "without an OpenCL device, the demo ends with 3" 3 "$status"
is "without an OpenCL device, the demo prints one sentence" \
	"demo-opencl: no OpenCL device found: install a driver such as pocl-opencl-icd" \
	"$(cat "$st_tmp/out" "$st_tmp/err")"

# The same scripts, with a package whose files do not exist.
cp "$demo" "$st_top/scripts/ensure-deps" "$st_tmp/scripts"
sed 's|^\(opencl pocl-opencl-icd *\)[^ ]*|\1/nowhere/*.icd|' "$st_top/scripts/packages" \
	>"$st_tmp/scripts/packages"
without_package() {
	status=0
	DK_INSTALL=no "$st_tmp/scripts/demo-opencl" >"$st_log" 2>&1 || status=$?
}
without_package
is "with a missing package, the demo ends with 3" 3 "$status"
like "with a missing package, the demo prints the command that installs it" \
	"*apt-get install*pocl-opencl-icd*" "$(cat "$st_log")"

status=0
"$demo" twice >"$st_log" 2>&1 || status=$?
is "the script with an argument ends with 2 and names it" \
	"2 demo-opencl: unexpected argument 'twice'" \
	"$status $(cat "$st_log")"
run_demo DK_SECONDS=0
is "DK_SECONDS=0: the script ends with 2" 2 "$status"
for word in 5x '' -1 +5 ' 5' 0 1000 18446744073709551617; do
	message=$("$build/samples/opencl/demo" "$word" 2>&1 >"$st_log") && continue
	[ "$message" = "demo: SECONDS must be a number from 1 to 999, not '$word'" ] || continue
	refused_words=${refused_words-}1
done
is "the program names an invalid time" 11111111 "${refused_words-}"
is "the program names an argument after the time" \
	"demo: unexpected argument '6': usage: demo [SECONDS]" \
	"$("$build/samples/opencl/demo" 5 6 2>&1)"
ok "the script's -h prints the exit statuses" grep -q '^Exit status: 0' <("$demo" -h)

# ---- a call that fails ------------------------------------------------------------------

# rt::fill is first called by the threads, before the load.
no_fill() {
	echo 'int clEnqueueFillBuffer(void) { return -5; }' |
		"${CC:-cc}" -shared -fPIC -x c -o "$st_tmp/no_fill.so" - || return
	local code=0
	LD_PRELOAD=$st_tmp/no_fill.so "$build/samples/opencl/demo" 1 >"$st_tmp/out" \
		2>"$st_tmp/err" || code=$?
	sort -u "$st_tmp/err"
	[ "$code" -eq 1 ]
}
ok "if a call fails before the load, the program ends with 1" no_fill
is "if a call fails before the load, the program prints one sentence" \
	"demo-opencl: a call failed before the load" \
	"$(grep demo-opencl "$st_tmp/err")"

# ---- SIGKILL in the middle -------------------------------------------------------------

# Kills the demo under load, in a mount namespace where the home directory and the folders for
# temporary files are empty. Prints new files in these folders, and processes that still run.
# The output folder and the sources keep their paths, even if these are below such a folder.
# shellcheck disable=SC2016 # the inner shell expands it
killed='
	exec 3<"$3" 4<"$1"
	for folder in /tmp /var/tmp /dev/shm; do
		mount -t tmpfs none $folder || { echo "$folder cannot be hidden"; exit 1; }
	done
	for fd in 3 4; do
		path=$(readlink /proc/$$/fd/$fd)
		[ ! "$path" -ef /proc/$$/fd/$fd ] || continue
		mkdir -p "$path" && mount -c --rbind /proc/$$/fd/$fd "$path" ||
			{ echo "$path cannot be used"; exit 1; }
	done
	mkdir /tmp/home
	files() { find /tmp /var/tmp /dev/shm -xdev | sort; }
	before=$(touch /tmp/out && files)
	unset TMPDIR XDG_CACHE_HOME XDG_RUNTIME_DIR
	HOME=/tmp/home O=$1 MAKEFLAGS= DK_SECONDS=9 "$2" >/tmp/out 2>&1 &
	when="before the load"
	for _ in {1..600}; do
		grep -qE "^ +[0-9.]+ +[0-9]" /tmp/out && when="under load" && break
		sleep 0.1
	done
	kill -KILL $! && echo "killed $when"
	wait
	comm -13 <(echo "$before") <(files)
	for exe in /proc/[0-9]*/exe; do
		[ "$(readlink "$exe")" != "$1/samples/opencl/demo" ] || echo "$exe still runs"
	done'
alone=(unshare -m)
[ "$(id -u)" -eq 0 ] || alone=(unshare -rm)
why=$("${alone[@]}" true 2>&1) && why=''
if [ -z "$why" ]; then
	is "SIGKILL leaves no file outside of the output folder, and no process" \
		"killed under load" \
		"$("${alone[@]}" bash -c "$killed" sh "$build" "$demo" "$st_top" 2>/dev/null)"
	run_demo
	ok "a run after SIGKILL succeeds" succeeds
else
	skip "SIGKILL leaves no file outside of the output folder, and no process" "$why"
	skip "a run after SIGKILL succeeds" "$why"
fi

# ---- sanitizers ------------------------------------------------------------------------

# compiles PROGRAM FILE...
compiles() {
	local program=$1
	shift
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer \
		-fsanitize=address,undefined -Wall -Wextra -Wno-unused-parameter -Werror \
		-I"$st_top/include" -I"$st_top/uapi" -I"$samples" -o "$st_tmp/$program" "$@" \
		"$build/libdispatchkey.a" -lurcu-bp -lOpenCL -pthread
}
sanitized() {
	POCL_CACHE_DIR=$build/opencl/cache "$st_tmp/demo" 1 >"$st_tmp/out" 2>"$st_tmp/err"
	status=$?
	succeeds
}
make -s -C "$st_top" O="$build" MAKEFLAGS='' lib >/dev/null
samples=$st_top/samples/opencl
ok "the demo compiles with ASan and UBSan" compiles demo "$samples"/*.c
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
# pocl leaks memory when it compiles a kernel, which it does for each work size not in its cache.
echo leak:libpocl >"$st_tmp/leaks"
export LSAN_OPTIONS=suppressions=$st_tmp/leaks:print_suppressions=0
ok "ASan and UBSan report nothing, also when buffers outlive their device" sanitized

# ---- the operators, without the demo ---------------------------------------------------

mapfile -t wrap < <(sed -nE 's/^WRAPPED\((cl[A-Za-z]+)\);$/-Wl,--wrap=\1/p' \
	"$st_top/selftests/opencl/ops_test.c")
ok "ops_test compiles" compiles ops_test \
	"$st_top/selftests/opencl/ops_test.c" "$samples"/{cpu,cl,cl_ops,worker}.c "${wrap[@]}"
export POCL_CACHE_DIR=$build/opencl/cache
run_tap "$st_tmp/ops_test"

finish
