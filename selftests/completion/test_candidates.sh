#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the candidates that dkctl __complete prints for the completion files. The candidates must be
# the words that dkctl's help lists and that dkctl accepts, with descriptions. Needs no other shell.
# Prints TAP.
#
# shellcheck disable=SC2317,SC2016 # functions are called by ok; a name has a $

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"
# shellcheck source=shells.sh
. "$st_here/shells.sh"

path=$st_tmp/bin/dkctl
complete() { "$path" __complete -- "$@"; }
# values WORD... - prints the candidates without descriptions, in one line
values() { complete "$@" | cut -f 1 | tr '\n' ' ' | sed 's/ $//'; }
sorted() { values "$@" | tr ' ' '\n' | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//'; }
# offers CANDIDATES WORD... - these must be the candidates after the words
offers() {
	local expected=$1
	shift
	is "candidates after: dkctl $*" "$expected" "$(values "$@")"
}
refuses() { # STATUS PATTERN WORD...
	local status=$1 pattern=$2 said got=0
	shift 2
	said=$("$path" __complete "$@" 2>&1) || got=$?
	like "dkctl __complete $* is refused" "$pattern" "$said"
	is "dkctl __complete $* has the expected status" "$status" $got
}

echo "TAP version 13"

mapfile -t subcommands < <("$path" help | sed '/^options:/,$d' | grep -oE '^  [a-z]+' | tr -d ' ')
ok "the help lists subcommands" test ${#subcommands[@]} -gt 15
offers "${subcommands[*]}" ''
is "each subcommand has a description" "" "$(complete '' | grep -v $'\t..')"
"$path" help >"$st_tmp/help"
lacks "the help does not list __complete" __complete "$st_tmp/help"

# The options that the help lists must be offered with a description, and offered options must
# be accepted.
listed() { # SUBCOMMAND
	"$path" help "$1" | sed '/^exit status:/,$d' | grep -E '^  -' | grep -oE -- '--[a-z-]+' |
		LC_ALL=C sort -u | tr '\n' ' ' | sed 's/ $//'
}
# unknown SUBCOMMAND OPTION - prints the error for an option that is not accepted
unknown() {
	# shellcheck disable=SC2086 # an option and its value
	"$path" "$1" $2 x </dev/null 2>&1 | grep 'option --'
}
unknown_options() { # SUBCOMMAND
	local option
	for option in $(values "$1" -); do
		case $option in --layout | --to) option+=' v1' ;; --svg) option+=" $st_tmp/svg" ;; esac
		unknown "$1" "${option/--color=/--color=auto}"
	done
}
like "an option that is not accepted is reported" "*option --nonsense*" "$(unknown key --nonsense)"
for name in "${subcommands[@]}"; do
	is "the options of $name" "$(listed "$name")" "$(sorted "$name" - | tr -d =)"
	is "each option of $name has a description" "" "$(complete "$name" - | grep -v $'\t..')"
	is "each offered option of $name is accepted" "" "$(unknown_options "$name")"
done
offers '--pretty --layout --help --version' -j key CPU --
offers '--layout=pytorch-1.13 --layout=pytorch-1.12 --layout=pytorch-1.11 --layout=pytorch-1.10' \
	--layout=pytorch-1.1
offers '' key -- --
offers '' --nonsense=
offers '-lpytorch-1.13 -lpytorch-1.12 -lpytorch-1.11 -lpytorch-1.10' key -lpytorch-1.1
offers '-jlpytorch-1.13 -jlpytorch-1.12 -jlpytorch-1.11 -jlpytorch-1.10' key -jlpytorch-1.1
offers '' -x
offers 'pytorch-2.14+trimmed' layout pytorch-2.14+
offers '--layout=v1+trimmed' --layout=v1+
offers ':files' layout pytorch-2.6+

is "all layouts are offered" \
	"$("$path" layout | sed -n '/^layouts: /,$ { s/^layouts: *//; s/^ *//; p }' |
	tr '\n' ' ' | sed 's/ $//')" "$(values layout '')"
is "all keys are offered" \
	"$("$path" key | awk 'NR > 1 { print $2 }' | LC_ALL=C sort | tr '\n' ' ')" \
	"$(sorted key '') "
is "all keys of another layout are offered" \
	"$("$path" key -l pytorch-1.12 | awk 'NR > 1 { print $2 }' | LC_ALL=C sort | tr '\n' ' ')" \
	"$(sorted -l pytorch-1.12 key '') "
offers 'DK_AUTOGRAD_XLA' key DK_AUTOGRAD_XL
offers 'XPU XPUBit' keyset XP
offers 'CPU|XPU CPU|XPUBit :nospace' keyset 'CPU|XP'
offers 'CPU,MAIA :nospace' keyset CPU,MA
offers ':files' replay ''
offers ':files' replay one.dkt ''
offers ':files' layout nonsense
offers '' schema ''
offers '' key CPU ''
offers '' nonsense ''
offers 'schema' help sche
refuses 2 'dkctl: __complete needs the words after dkctl: use "dkctl __complete -- WORD..."'
refuses 2 'dkctl: unknown layout "x"*' -- -l x key ''

# ---- a running kernel --------------------------------------------------------------

if [ -n "$no_live" ]; then
	skip "completion of names in a kernel's registry" "$no_live"
	finish
fi
path=$st_tmp/live/dkctl
offers 'show CPU edu set release' backend ''
offers 'edu' backend release ''
offers '-sc=always -sc=auto' backend -sc=a
for name in backend device provider op kernels table stats limits; do
	complete "$name" ''
	complete "$name" X ''
done >"$st_tmp/offered"
ok "words are offered for each subcommand" test "$(wc -l <"$st_tmp/offered")" -gt 30
is "offered words have a description" "" "$(grep -v $'^[^\t]*\t..' "$st_tmp/offered")"
offers 'offline online' backend set edu ''
offers 'offline' backend set edu of
offers 'offline online' dev set edu ''
offers '0000:00:04.0 0000:00:05.0 odd$(id) z@slot backend' device show ''
offers 'edu' device backend e
offers 'CPU@0000:00:04.0 CPU@0000:00:05.0' route sample::copy CPU@0
offers 'CPU@z@slot' route sample::copy CPU@z@
offers 'include' route sample::copy CPU inc
offers 'Tracer' route sample::copy CPU include Trac
offers 'prefix provider' op p
offers '' op prefix x
offers 'prefix' op prefix x pre
offers 'Autogradedu' op key Autograde
offers 'sample::copy sample::factorial' table sample
offers 'device' table sample::copy ''
offers 'show op provider on off reset readers' stats ''
offers 'all admins' stats readers ''
offers 'dk_cpu dk_edu' provider d
offers '' provider new
offers 'backends devices' limits show ''
offers '' version ''
is "the description of a backend has its state and counts" \
	$'edu\tonline, 5 devices, 0 functions' "$(complete backend set e)"
is "the description of a device has its state and backend" \
	$'0000:00:04.0\tonline, a device of edu' "$(complete device 0000:00:04)"
is "the description of a word is that of the help" \
	$'release\tunbind an unused name from its private backend, which can then get another name' \
	"$(complete backend re)"

# dkctl must accept the offered words.
words_of() { # SUBCOMMAND
	complete "$1" '' | cut -f 1 | grep -xE '[a-z]+' | grep -vxE 'edu|backends|devices'
}
# said SUBCOMMAND WORD - prints the error for WORD and too many words after it, with @ for WORD
said() { "$path" "$1" "$2" x y z 2>&1 | sed "s/\"$2\"/@/g"; }
# reads SUBCOMMAND WORD - checks that the error does not name WORD, and that it differs from that
# for a word that is not offered, which may be the name of an object
reads() {
	local got unknown
	got=$(said "$@") unknown=$(said "$1" nonsense)
	echo "dkctl $*: $got"
	[ -n "$got" ] && [ "$got" != "$unknown" ] && [[ $got != *@* ]]
}
for name in backend device provider op kernels stats limits; do
	mapfile -t words < <(words_of $name)
	ok "$name offers words" test ${#words[@]} -gt 0
	for word in "${words[@]}"; do
		ok "the word that $name offers is accepted: $word" reads $name "$word"
	done
	refused "a word that $name does not offer is not accepted" reads $name nonsense
done

finish
