#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests dkctl's completion in zsh: types keys into a zsh on a terminal and compares its line or
# its list. Prints TAP.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"
# shellcheck source=shells.sh
. "$st_here/shells.sh"

need_completion _dkctl
need_command python3 zsh

completes() { cases "$1" python3 "$st_here/drive.py" zsh "$completions/_dkctl"; }

echo "TAP version 13"

touch "$st_tmp/empty/mine.layout" "$st_tmp/empty/other" "$st_tmp/empty/equal=sign"
cat >"$st_tmp/cases" <<-'END'
	dkctl rep => replay
	dkctl nonsense _ => -
	dkctl ke\l => kernels -- list functions and backend fallbacks | key -- properties of a key: class, C name, value, set, table entry | keyset -- a set: bits, names, top key, table entry
	dkctl --js => --json
	dkctl --pr\l => --pretty -- print indented JSON
	dkctl --col => --color=
	dkctl --color=al => --color=always
	dkctl key SparseCsrXL => SparseCsrXLA
	dkctl keyset MkldnnCPU,AutogradXL => MkldnnCPU,AutogradXLA
	dkctl keyset 'CPU|AutogradXL => 'CPU|AutogradXLA
	dkctl --layout=pytorch-2.0- => --layout=pytorch-2.0-pre
	dkctl layout mi => mine.layout
	dkctl table --svg=oth => --svg=other
	dkctl table --svg=equal=s => --svg=equal=sign
	dkctl schema _ => -
END
completes "$st_tmp/bin"

cat >"$st_tmp/cases" <<-'END'
	dkctl device show odd => odd\$\(id\)
	dkctl device set 0000:00:04 => 0000:00:04.0
	dkctl device set 0000:00:04.0 of => offline
	dkctl device show 0000:\l => 0000:00:05.0 0000:00:04.0 -- online, a device of edu
	dkctl op sample::f => sample::factorial
	dkctl kernels op sample::f\l => sample::factorial -- sample::factorial(Tensor x, int n) -> int
END
completes_live

finish
