#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the core on emulated boards without an operating system: samples/board, how much of an
# arena functions need, and all transcripts. BOARDS= names the boards, by default all. Prints
# TAP.
#
# shellcheck disable=SC2317 # functions are called by result

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "no sources of dispatchkey (set DK_TOP)"
need_command make timeout
sample=$st_top/samples/board tests=$st_top/selftests/board
out=$st_tmp
unset MAKEFLAGS MAKELEVEL CFLAGS

# Sets the compiler and the emulator of a board, the text that a program prints after an exception,
# the options for a CPU of the same kind that lacks some instructions, and clang's target.
tools() { # BOARD
	case $1 in
	riscv64-virt)
		cc=riscv64-unknown-elf-gcc qemu=qemu-system-riscv64 group=board-riscv64 fault="trap "
		cpu="-march=rv32i -mabi=ilp32" target=riscv64-unknown-elf
		;;
	mps2-an385)
		cc=arm-none-eabi-gcc qemu=qemu-system-arm group=board-arm fault="fault"
		cpu="-mcpu=cortex-m0 -mthumb" target=thumbv7m-none-eabi
		;;
	*)
		skip_all "no board \"$1\": BOARDS= are riscv64-virt and mps2-an385"
		;;
	esac
}

build() { # PROGRAM...
	make -s -j"$(nproc)" -C "$sample" BOARD="$board" O="$out/board/$board" PROGRAM="$*"
}
run() { "$sample/run" "$board" "$out/board/$board/$1.elf"; }
# ends STATUS TEXT PROGRAM - checks that the program ends with this status and prints this text
ends() {
	local status=0 text
	build "$tests/$3.c" || return
	text=$(DK_SECONDS=${seconds:-60} run "$3" 2>&1) || status=$?
	echo "$text"
	[ "$status" -eq "$1" ] && [[ $text == *"$2"* ]]
}
# Compares the output of the sample, except the used size of the arena, which differs between
# boards.
same_text() {
	DK_INSTALL=no make -s -C "$st_top" O="$out" demo-board BOARD="$board" >"$st_tmp/said" &&
		sed 's/^arena: [0-9]*/arena: N/' "$st_tmp/said" |
		diff <(grep -v '^# SPDX' "$tests/sample.txt") -
}
# Runs the commands of the page, which export their flags first, and then use
# riscv64-unknown-elf-gcc and riscv64-unknown-elf-ar. OPTION is added to the flags.
page() ( # [OPTION]
	mkdir -p "$out/page" && cd "$st_top" || return
	sed -n '/^   \$ export FLAGS/,/^   \$ samples.board.run/{s/^   [\$>] //p}' \
		Documentation/api/bare.rst |
		sed "s|build/my-board|$out/page|g; s/-Os/& ${1:-}/" >"$st_tmp/page.sh"
	[ -s "$st_tmp/page.sh" ] && sh -e "$st_tmp/page.sh" | grep "npu: unregistered"
)
unknown_board() {
	local status=0
	DK_INSTALL=no make -s -C "$st_top" O="$out" demo-board BOARD=foo 2>"$st_tmp/said" ||
		status=$?
	[ "$status" -eq 2 ] && grep '^demo-board: no board "foo": use ' "$st_tmp/said"
}
# Builds everything with a libc whose errnos differ from Linux's, as newlib's do. Like newlib, it
# lacks some.
errnos() {
	local out=$out/errnos
	mkdir -p "$out/libc" && cat >"$out/libc/errno.h" <<-'END'
		#define ENOENT 2
		#define EAGAIN 11
		#define ENOMEM 12
		#define EBUSY 16
		#define EEXIST 17
		#define EXDEV 18
		#define ENODEV 19
		#define EINVAL 22
		#define ENOSPC 28
		#define EDEADLK 45
		#define ENODATA 61
		#define EPROTO 71
		#define ENOSYS 88
		#define EOPNOTSUPP 95
		#define EPROTOTYPE 107
		#define ETIMEDOUT 116
		#define EILSEQ 138
		#define ECANCELED 140
	END
	CFLAGS="-isystem $out/libc" ends 0 "88: no function serves this route" errnos
}
outside() {
	local status=0
	mkdir -p "$out/other" && cp "$tests/fails.c" "$out/other/other.c" &&
		build "$out/other/other.c" || return
	run other || status=$?
	[ "$status" -eq 3 ]
}
no_source() { ! build "$out/other/none.c" 2>"$st_tmp/said" && grep "no source file .*/none.c" "$st_tmp/said"; }
cxx() {
	local status=0
	build "$tests/cxx.cpp" "$tests/cxx_op.c" || return
	run cxx || status=$?
	[ "$status" -eq 42 ]
}
warnings() {
	local flags="-DDK_BARE -ffreestanding -fsyntax-only -Wall -Wextra -Wconversion -pedantic -Werror"
	flags+=" -I$st_top/include -I$st_top/uapi -I$sample"
	# shellcheck disable=SC2086 # options are words
	"$cc" -std=gnu11 $flags "$tests/cxx_op.c" &&
		"$cc" -std=gnu++17 -fno-exceptions -fno-rtti $flags "$tests/cxx.cpp"
}
# refused LANGUAGE TEXT MESSAGE [OPTION...] - checks that TEXT does not compile, with this message
refused() {
	local language=$1 text=$2 message=$3
	shift 3
	! echo "$text" | "$cc" -x "$language" "$@" -ffreestanding -fsyntax-only -I"$st_top/include" \
		-I"$st_top/uapi" - 2>"$st_tmp/said" && grep "error: .*$message" "$st_tmp/said"
}
with_lto() {
	local out=$out/lto
	CFLAGS="-O3 -flto -Werror" build "$sample/main.c" && run main | grep "npu: unregistered"
}
compiles() { O=$out BARE_CC=${2:-$cc} BARE_CFLAGS=$1 "$st_top/scripts/check-bare"; } # OPTIONS [COMPILER]
all_transcripts() {
	diff <(cd "$st_top/selftests/vectors" && echo ./*/*.dkt | xargs -n 1 | sort) \
		<(sed -n 's/.*transcript "\(.*\)"/.\/\1/p' "$tests/transcripts.S" | sort)
}

test_board() {
	ok "$board: the core links with the compiler's library only" compiles ""
	ok "$board: the core for $cpu, a simpler CPU, links with the compiler's library only" \
		compiles "$cpu"
	if command -v clang >/dev/null; then
		ok "$board: the core compiled with clang for $target needs only clang's library" \
			compiles "--target=$target" clang
	else
		skip "$board, with clang" "no clang here"
	fi
	ok "$board: the output of the sample is as expected" same_text
	if [ "$board" = riscv64-virt ]; then
		ok "$board: the commands of Documentation/api/bare.rst succeed" page
		ok "$board: these commands succeed with -flto" page -flto
	fi
	ok "$board: a failed program gives its exit status" ends 3 "" fails
	ok "$board: a program in a folder outside of the tree is built" outside
	ok "$board: a missing source file of a program is named" no_source
	ok "$board: a program in C and C++ runs without a C++ library" cxx
	ok "$board: the headers compile without warnings in C and C++" warnings
	ok "$board: without DK_BARE, the compiler names it" \
		refused c "#include <dispatchkey.h>" "without an operating system, -DDK_BARE"
	ok "$board: in C++, the compiler names <dispatchkey.h> instead of <dispatchkey.hpp>" \
		refused c++ "#include <dispatchkey.hpp>" "include <dispatchkey.h>" -DDK_BARE
	ok "$board: for DK_OP() in C++, the compiler names the way to call an operator" \
		refused c++ $'#include <dispatchkey.h>\nDK_OP(x, "x::x", (int x), (x), ());' \
		"DK_OP() is for C: use it in a C file" -DDK_BARE
	ok "$board: a CPU exception ends a program with status 1" ends 1 "$fault" faults
	seconds=2 ok "$board: a program that hangs is stopped after the time limit" \
		ends 124 "has not ended after 2 seconds" hangs
	ok "$board: the sample is linked with -O3 -flto without warnings" with_lto
	ok "$board: errnos are those of the libc" errnos
	ok "$board: the program with all transcripts builds" \
		build "$tests/board_test.c" "$tests/transcripts.S" &&
		DK_SECONDS=300 run_tap run board_test
}

echo "TAP version 13"
ok "the test program contains every transcript" all_transcripts
ok "make demo-board with an unknown board names the boards" unknown_board
for board in ${BOARDS:-riscv64-virt mps2-an385}; do
	tools "$board"
	if command -v "$cc" >/dev/null && command -v "$qemu" >/dev/null; then
		test_board
	else
		skip "$board" "no $cc or no $qemu here: scripts/ensure-deps $group"
	fi
done
finish
