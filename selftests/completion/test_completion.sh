#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests dkctl's completion in bash: types keys into a bash on a terminal and compares its line.
# Names in the kernel's registry come from a scripted registry. Without the module, dkctl must
# complete no such names. Prints TAP.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"
# shellcheck source=shells.sh
. "$st_here/shells.sh"

need_completion dkctl
[ -e /usr/share/bash-completion/bash_completion ] || skip_all "no bash-completion here"
need_command python3 bash

# completes FOLDER - runs the cases in bash. "-" means that nothing is inserted. "\t" types Tab,
# which inserts the common beginning; otherwise all candidates are inserted.
completes() { cases "$1" python3 "$st_here/drive.py" bash "$completions/dkctl"; }

subcommands=$("$dkctl" help | sed '/^options:/,$d' | grep -oE '^  [a-z]+' | tr -d ' ' | sort | tr '\n' ' ')
per_backend() { # PREFIX - prints the key of that functionality for each backend
	"$dkctl" -p layout | sed -n "s/.*\"name\": \"\([A-Za-z0-9]*\)Bit\".*/$1\1/p; s/.*\"name\": \"\(M[AT]IA\)\".*/$1\1/p" |
		sort | tr '\n' ' '
}
quantized=$(per_backend Quantized)
layouts=$("$dkctl" layout | sed -n '/^layouts: /,$ { s/^layouts://; p }' | tr -s ' ' '\n' |
	sed '/^$/d' | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')
aliases=$("$dkctl" alias Undefined 2>&1 | sed 's/.*: use one of //; s/, / /g')

echo "TAP version 13"

cat >"$st_tmp/cases" <<-END
	dkctl _ => ${subcommands% }
	dkctl ke => $(tr ' ' '\n' <<<"$subcommands" | grep '^ke' | tr '\n' ' ' | sed 's/ $//')
	dkctl rep\t => replay
	dkctl nonsense _ => -
	dkctl help sch => schema
	dkctl -j -p help al => alias
	dkctl --transcript => -
	dkctl replay --tr => --transcript
	dkctl keyset --t => --to
	dkctl --js\t => --json
	dkctl layout pytorch-1.1 => pytorch-1.10 pytorch-1.11 pytorch-1.12 pytorch-1.13
	dkctl --layout pytorch-2.14 => -
	dkctl --layout pytorch-2.0- => pytorch-2.0-pre
	dkctl --layout=pytorch-1.1 => --layout=pytorch-1.10 pytorch-1.11 pytorch-1.12 pytorch-1.13
	dkctl keyset --to pytorch-1.1 => pytorch-1.10 pytorch-1.11 pytorch-1.12 pytorch-1.13
	dkctl key SparseCsrX => SparseCsrXLA SparseCsrXPU
	dkctl key Quantized => Quantized ${quantized% }
	dkctl key AutogradF => AutogradFunctionality
	dkctl key Compos\t => Composite
	dkctl -l pytorch-1.13 key OR => ORT
	dkctl key OR => -
	dkctl alias _ => $(tr ' ' '\n' <<<"$aliases" | sort | tr '\n' ' ' | sed 's/ $//')
	dkctl keyset MkldnnCPU,AutogradX => MkldnnCPU,AutogradXLA MkldnnCPU,AutogradXPU
	dkctl keyset 'CPU|AutogradXL\t => 'CPU|AutogradXLA'
	dkctl keyset "CPU|AutogradXL\t => "CPU|AutogradXLA"
	dkctl schema _ => -
	dkctl version _ => -
END
completes "$st_tmp/bin"

# Completes names of layouts, even if files exist; completes files if no name matches.
touch "$st_tmp/empty/mine.layout" "$st_tmp/empty/other"
cat >"$st_tmp/cases" <<-END
	dkctl --layout _ => $layouts
	dkctl key CPU -l v => v1
	dkctl keyset CPU --to _ => $layouts
	dkctl --layout=v1+t => --layout=v1+trimmed
	dkctl -l v1+\t => v1+trimmed
	dkctl --layout mi\t => mine.layout
END
completes "$st_tmp/bin"
rm "$st_tmp/empty/mine.layout" "$st_tmp/empty/other"

# The text that bash replaces begins after "=" or ":" or a quote.
touch "$st_tmp/empty/one two" "$st_tmp/empty/equal=sign" "$st_tmp/empty/co:lon"
mkdir "$st_tmp/a folder"
ln -s "$st_tmp/bin/dkctl" "$st_tmp/a folder/dkctl"
cat >"$st_tmp/options" <<-'END'
	dkctl table --svg=on\t => --svg=one\ two
	dkctl table --svg="on\t => --svg="one two"
	dkctl table --svg=co:l\t => --svg=co:lon
	dkctl table --svg=equal=\t => --svg=equal=sign
	dkctl replay equal=\t => equal=sign
	dkctl replay equal\=s\t => equal\=sign
	dkctl replay "equal=\t => "equal=sign"
	dkctl --color=al\t => --color=always
	dkctl --color="al\t => --color="always"
END
cat - "$st_tmp/options" >"$st_tmp/cases" <<-END
	$st_tmp/a\\ folder/dkctl rep\t => replay
END
completes "$st_tmp/bin"
# A program may remove the "=" from the characters that separate words for completion.
{ cat "$completions/dkctl" && echo "COMP_WORDBREAKS=\${COMP_WORDBREAKS//=}"; } >"$st_tmp/dkctl"
grep -v '\\=' "$st_tmp/options" >"$st_tmp/cases"
cases "$st_tmp/bin" python3 "$st_here/drive.py" bash "$st_tmp/dkctl"
rm "$st_tmp/empty/one two" "$st_tmp/empty/equal=sign" "$st_tmp/empty/co:lon"

cat >"$st_tmp/cases" <<-'END'
	dkctl backend _ => CPU edu release set show
	dkctl backend rel\t => release
	dkctl backend release e => edu
	dkctl backend release edu _ => -
	dkctl backend set e => edu
	dkctl backend set edu _ => offline online
	dkctl device set 0000:00:04\t => 0000:00:04.0
	dkctl device set 0000:00:04.0 of => offline
	dkctl device show od => odd\$\(id\)
	dkctl device show odd\$\(i => odd\$\(id\)
	dkctl route sample::copy odd => odd\$\(id\)
	dkctl route sample::copy "od => -
	dkctl device show backend e => edu
	dkctl provider dk_e => dk_edu
	dkctl op prefix sample:: pro => provider
	dkctl op key AutogradXL => AutogradXLA
	dkctl op sample::f\t => sample::factorial
	dkctl kernels _ => backend device key op provider
	dkctl kernels op aten\t => aten::add.Tensor
	dkctl kernels provider dk_cpu op sample::co => sample::copy
	dkctl table sample::factorial _ => device
	dkctl table sample::factorial device 0000:00:05\t => 0000:00:05.0
	dkctl table --svg /dev/nul\t => /dev/null
	dkctl route sample::co\t => sample::copy
	dkctl route sample::copy ed => edu
	dkctl route sample::copy edu CPU inc => include
	dkctl route sample::copy edu include Trac => Tracer
	dkctl stats _ => off on op provider readers reset show
	dkctl stats readers _ => admins all
	dkctl stats --us => --used
	dkctl stats --used provider dk_c => dk_cpu
	dkctl limits b => backends
	dkctl --color=al => --color=always
END
completes_live

if [ -d /sys/module/dispatchkey ]; then
	skip "without the module, no names are completed" "the module is loaded"
else
	cat >"$st_tmp/cases" <<-'END'
		dkctl device _ => backend set show
		dkctl route x => -
	END
	completes "$st_tmp/bin"
fi

finish
