#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests dkctl's completion in fish, which prints the candidates and descriptions. Prints TAP.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"
# shellcheck source=shells.sh
. "$st_here/shells.sh"

need_completion dkctl.fish
need_command fish
export HOME=$st_tmp XDG_CONFIG_HOME=$st_tmp XDG_DATA_HOME=$st_tmp

cat >"$st_tmp/drive.fish" <<-'END'
	source $argv[1]
	while read -l line
		set -l found (complete -C "$line" | string replace \t ': ')
		test (count $found) -gt 0; or set found -
		string join -- ' | ' $found
	end
END
completes() { cases "$1" fish "$st_tmp/drive.fish" "$completions/dkctl.fish"; }

echo "TAP version 13"

touch "$st_tmp/empty/mine.layout" "$st_tmp/empty/other" "$st_tmp/empty/-dash"
mkdir "$st_tmp/empty/a folder"
touch "$st_tmp/empty/a folder/file"
cat >"$st_tmp/cases" <<-'END'
	dkctl rep => replay: run a transcript, or check its answers
	dkctl nonsense _ => -
	dkctl ke => kernels: list functions and backend fallbacks | key: properties of a key: class, C name, value, set, table entry | keyset: a set: bits, names, top key, table entry
	dkctl --js => --json: print JSON, for errors as well
	dkctl --color=al => --color=always: use colours
	dkctl keyset MkldnnCPU,AutogradXL => MkldnnCPU,AutogradXLA: per-backend runtime key: the AutogradFunctionality functionality on XLA
	dkctl keyset 'CPU|MkldnnC => CPU|MkldnnCPU: runtime key: a functionality with one table entry for all backends
	dkctl layout v1+ => v1+trimmed: 16 backends, 47 functionalities, 8 table entries
	dkctl layout mi => mine.layout
	dkctl table --svg=oth => --svg=other
	dkctl table --svg=a\ folder/ => --svg=a folder/file
	dkctl replay a\ folder/ => a folder/file
	dkctl replay "a folder/ => a folder/file
	dkctl replay ~/emp => ~/empty/
	dkctl replay -- -d => -dash
	~/bin/dkctl rep => replay: run a transcript, or check its answers
	dkctl keyset MkldnnCPU\|AutogradXL => MkldnnCPU|AutogradXLA: per-backend runtime key: the AutogradFunctionality functionality on XLA
	dkctl schema _ => -
END
completes "$st_tmp/bin"

cat >"$st_tmp/cases" <<-'END'
	dkctl device set 0000:00:04.0 of => offline: send no more calls to its functions, and wait for running calls to return
	dkctl device show odd => odd$(id): online, a device of edu
	dkctl backend release e => edu: online, 5 devices, 0 functions
	dkctl op sample::f => sample::factorial: sample::factorial(Tensor x, int n) -> int
END
completes_live

finish
