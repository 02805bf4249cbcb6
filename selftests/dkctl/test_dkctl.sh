#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests dkctl's output as text and as JSON, its messages for bad input, and its replay with right
# and wrong answers and at a prompt. DKCTL is the path of the tool. This file is longer than others,
# because it has a line or two for each message of each subcommand.

here=$(realpath -- "$(dirname -- "$0")")
DKCTL=${DKCTL:-${DK_BUILD:-$here/../../build}/dkctl}

if [ ! -x "$DKCTL" ]; then
	echo "TAP version 13"
	echo "1..0 # SKIP no dkctl at $DKCTL, type make or set DKCTL"
	exit 4
fi

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

planned=284
count=0
failed=0

result() # STATUS NAME, with the output in $tmp/out and $tmp/err
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count $2"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $count $2"
	sed 's/^/# out: /' "$tmp/out" | head -20
	sed 's/^/# err: /' "$tmp/err" | head -20
}

skip() # NAME WHY
{
	count=$((count + 1))
	echo "ok $count $1 # SKIP $2"
}

run() # WORDS...: sets status, $tmp/out and $tmp/err
{
	"$DKCTL" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
}

# The output must equal the standard input of this function.
golden() # NAME WORDS...
{
	name=$1
	shift
	cat >"$tmp/want"
	run "$@"
	[ $status = 0 ] && cmp -s "$tmp/out" "$tmp/want" && [ ! -s "$tmp/err" ]
	result $? "$name"
}

has() # NAME TEXT WORDS...: one line of the output is TEXT
{
	name=$1
	text=$2
	shift 2
	run "$@"
	[ $status = 0 ] && grep -qxF -- "$text" "$tmp/out"
	result $? "$name"
}

# dkctl must print one line with WORD on stderr, nothing on stdout, and exit with status 2.
bad() # WORD WORDS...
{
	word=$1
	shift
	run "$@"
	[ $status = 2 ] && [ "$(wc -l <"$tmp/err")" = 1 ] && [ ! -s "$tmp/out" ] &&
		grep -qF -- "$word" "$tmp/err"
	result $? "bad input: dkctl $(printf '%s' "$*" | LC_ALL=C tr -c ' -"$-~' '?') names $word"
}

is_json()
{
	python3 -m json.tool <"$tmp/out" >/dev/null 2>&1
}

json() # STATUS TEXT WORDS...: valid JSON that has TEXT
{
	want=$1
	text=$2
	shift 2
	name="JSON: dkctl $*"
	run "$@"
	if ! command -v python3 >/dev/null; then
		skip "$name" "no python3 to read JSON"
		return
	fi
	[ $status = "$want" ] && is_json && grep -qF -- "$text" "$tmp/out" &&
		grep -q '"schema": *1' "$tmp/out"
	result $? "$name"
}

echo "TAP version 13"
echo "1..$planned"

unset COLUMNS

# ---- output -----------------------------------------------------------------

golden "key of a backend" key SparseCUDA <<'END'
SparseCUDA (layout v1)
  class          per-backend runtime key: the Sparse functionality on CUDA
  C name         DK_SPARSE_CUDA
  value          84
  set            0x800002
  table entry    39
  functionality  Sparse
  backend        CUDABit
END
golden "key in another layout" key -l pytorch-1.13 AutogradPrivateUse3 <<'END'
AutogradPrivateUse3 (layout pytorch-1.13)
  class          per-backend runtime key: the AutogradFunctionality functionality on PrivateUse3
  value          116
  set            0x2000002000
  table entry    89
  functionality  AutogradFunctionality
  backend        PrivateUse3Bit
END
golden "key that is a building block" key Dense <<'END'
Dense (layout v1)
  class          building block: a functionality with one runtime key per backend
  C name         DK_DENSE
  value          1
  set            0x10000
  table entries  1..16
  functionality  Dense
  backend        none
END
golden "key that is an alias" key Autograd <<'END'
Autograd (layout v1)
  class          alias key: stands for 18 runtime keys, has no bit and no table entry
  C name         DK_AUTOGRAD
  value          150
  set            0x0
  table entry    none
  functionality  none
  backend        none
END
has "key of a functionality" \
	"  class          runtime key: a functionality with one table entry for all backends" \
	key Tracer
has "key by its value" "AutogradPrivateUse1 (layout v1)" key 146
has "key by its value in another layout" "CPU (layout pytorch-1.13)" key -l pytorch-1.13 43
has "key by its name in C" "AutogradPrivateUse1 (layout v1)" key DK_AUTOGRAD_PRIVATEUSE1
while read -r second key first; do
	has "$second is $first" "$key (layout v1)" key "$second"
	has "$first is shown for $second" "  C name         $first" key "$second"
done <<END
DK_CATCH_ALL Undefined DK_UNDEFINED
DK_DEFAULT_BACKEND CompositeExplicitAutograd DK_COMPOSITE_EXPLICIT_AUTOGRAD
DK_AUTOCAST AutocastCUDA DK_AUTOCAST_CUDA
DK_PRIVATEUSE1_PRE_AUTOGRAD AutogradPrivateUse1 DK_AUTOGRAD_PRIVATEUSE1
DK_PRIVATEUSE2_PRE_AUTOGRAD AutogradPrivateUse2 DK_AUTOGRAD_PRIVATEUSE2
DK_PRIVATEUSE3_PRE_AUTOGRAD AutogradPrivateUse3 DK_AUTOGRAD_PRIVATEUSE3
END
has "keys of another layout" "  116  AutogradPrivateUse3" key -l pytorch-1.13
run key
{
	echo '#include <linux/dispatchkey.h>'
	sed 1d "$tmp/out" | while read -r value _ name; do
		echo "_Static_assert($name == $value, \"\");"
	done
} >"$tmp/keys.c"
if [ ! -e "$here/../../uapi/linux/dispatchkey.h" ]; then
	skip "the list of keys has the constants of the header" "the header is not beside the tests"
else
	[ "$(wc -l <"$tmp/keys.c")" = 150 ] &&
		${CC:-cc} -I"$here/../../uapi" -fsyntax-only "$tmp/keys.c" 2>"$tmp/err"
	result $? "the list of keys has the constants of the header"
fi
has "key by an alternative name" "Undefined (layout v1)" key CatchAll
golden "alias" alias CompositeImplicitAutogradNestedTensor --layout=pytorch-1.13 <<'END'
CompositeImplicitAutogradNestedTensor (layout pytorch-1.13)
  stands for 15 runtime keys, set 0x4002003fff:
  NestedTensorCPU NestedTensorCUDA NestedTensorHIP NestedTensorXLA NestedTensorMPS NestedTensorIPU
  NestedTensorXPU NestedTensorHPU NestedTensorVE NestedTensorLazy NestedTensorMeta
  NestedTensorPrivateUse1 NestedTensorPrivateUse2 NestedTensorPrivateUse3 AutogradNestedTensor
END
golden "keyset by names" keyset 'CPU|AutogradCUDA' <<'END'
0x1000010003 (layout v1)
  printed            DispatchKeySet(CPU, CUDA, AutogradCPU, AutogradCUDA)
  functionalities    Dense AutogradFunctionality
  backend bits       CPUBit CUDABit
  top key            AutogradCUDA
  table entry        97
END
golden "keyset by number" keyset 0x8000 <<'END'
0x8000 (layout v1)
  printed            DispatchKeySet()
  functionalities    none
  backend bits       MetaBit
  top key            Undefined
  table entry        0
END
"$DKCTL" keyset 'CPU|FPGA|Tracer' >"$tmp/same"
golden "keyset as printed" keyset 'DispatchKeySet(CPU, FPGA, Tracer)' <"$tmp/same"
golden "keyset in several words" keyset FPGA Tracer CPU <"$tmp/same"
has "layout, a functionality" "  96..111   36     21  AutogradFunctionality (one entry per backend)" \
	layout
has "layout, a backend" "            13     14  PrivateUse3Bit" layout pytorch-1.13
run layout
[ "$(grep -n 'PythonDispatcher\|Undefined' "$tmp/out" | tr -s ' ' | tr '\n' ' ')" = \
	"6: 136 61 46 PythonDispatcher 52: 0 - 0 Undefined " ]
result $? "layout lists keys from the highest to the lowest"
run version
grep -qE '^dkctl [0-9]+\.[0-9]+\.[0-9]+ \(ABI [0-9]+, layout v1\)$' "$tmp/out"
result $? "version prints version, ABI and layout"
head -n 1 "$tmp/out" >"$tmp/same"
golden "--version" --version <"$tmp/same"

# ---- help -------------------------------------------------------------------

has "dkctl without arguments prints the help" "usage: dkctl [OPTIONS] SUBCOMMAND [WORDS]"
cp "$tmp/out" "$tmp/same"
golden "help" help <"$tmp/same"
has "help of a subcommand" "usage: dkctl key [NAME]" help key
cp "$tmp/out" "$tmp/same"
golden "--help after a subcommand" key --help <"$tmp/same"
run help schema
[ $status = 0 ] && grep -q -e --json "$tmp/out" && ! grep -q -e --layout "$tmp/out"
result $? "help lists no option that is refused"
"$DKCTL" | awk '/:$/ { listed = !/^(options|examples)/ } listed && /^  [a-z]/ { print $1 }' \
	>"$tmp/subcommands"
: >"$tmp/err"
: >"$tmp/tested"
while read -r statuses subcommands; do
	for subcommand in $subcommands; do
		echo "$subcommand" >>"$tmp/tested"
		"$DKCTL" help "$subcommand" >"$tmp/out"
		told=$(sed -n '/^exit status:/,/^$/ s/^  \([0-9]\)  .*/\1/p' "$tmp/out" | tr -d '\n')
		[ "$told" = "$statuses" ] || echo "$subcommand has $told" >>"$tmp/err"
	done
done <<'END'
023 layout key alias keyset schema version help
0123 replay
01234 route
0234 backend device provider op kernels table stats monitor limits
END
grep -vxFf "$tmp/tested" "$tmp/subcommands" |
	sed 's/$/ is not in the list of exit statuses/' >>"$tmp/err"
"$DKCTL" >"$tmp/out"
[ ! -s "$tmp/err" ] && [ "$(sed -n 's/^  \([0-9]\)  .*/\1/p' "$tmp/out" | tr -d '\n')" = 01234 ]
result $? "help has the exit statuses that a subcommand can end with"
has "help replay lists the commands of transcripts" \
	"  key KEY                          value, set, index, functionality and backend" \
	help replay
# test_live.sh runs the examples for a running kernel.
mkdir "$tmp/bin"
ln -s "$(realpath "$DKCTL")" "$tmp/bin/dkctl"
: >"$tmp/err"
for subcommand in layout key alias keyset schema replay version help; do
	"$DKCTL" help $subcommand | sed -n '/^examples:/,$ s/^  \(.*[^ ]\)   *[^ ].*$/\1/p' >"$tmp/examples"
	[ -s "$tmp/examples" ] || echo "$subcommand has no examples" >>"$tmp/err"
	while read -r example; do
		(PATH=$tmp/bin:$PATH && eval "$example") >"$tmp/out" 2>&1 </dev/null &&
			[ -s "$tmp/out" ] || [ "$example" = "dkctl replay -" ] ||
			echo "$example: $(head -3 "$tmp/out")" >>"$tmp/err"
	done <"$tmp/examples"
done
[ ! -s "$tmp/err" ]
result $? "the examples of the help run"
{
	"$DKCTL"
	while read -r subcommand; do
		"$DKCTL" help "$subcommand"
	done <"$tmp/subcommands"
} >"$tmp/out" 2>"$tmp/err"
[ "$(grep -c ^usage: "$tmp/out")" -gt 15 ] && ! grep -nE '^.{81}' "$tmp/out" >"$tmp/err"
result $? "help fits 80 columns"
# The longest lines of these commands are wrapped, and have more than 90 characters.
{
	"$DKCTL" layout &&
		"$DKCTL" keyset 0xffffffffffffffff &&
		"$DKCTL" alias CompositeImplicitAutograd &&
		"$DKCTL" alias CompositeExplicitAutogradNonFunctional -l pytorch-1.13
} >"$tmp/out" 2>"$tmp/err" && grep -q '^.\{90\}' "$tmp/out" &&
	! grep -nE '^.{101}' "$tmp/out" >"$tmp/err"
result $? "output fits 100 columns"

# ---- layouts ----------------------------------------------------------------

has "a layout by a release of PyTorch" "CPU (layout pytorch-2.14)" key -l pytorch-2.14.1 CPU
has "a key in a layout with a trimmed table" \
	"  table entry    none, the table is trimmed" key -l v1+trimmed CUDA
has "key of a sentinel by its value" \
	"  class          sentinel: marks where the keys of Dense start" key 48
for name in StartOfDenseBackends StartOfAutogradFunctionalityBackends; do
	has "key $name" "  class          sentinel: marks where the keys of \
$(printf %s $name | sed 's/^StartOf//; s/Backends$//') start" key $name
done
has "key EndOfFunctionalityKeys" \
	"  class          sentinel: marks the end of the functionalities" key EndOfFunctionalityKeys
has "key EndOfDenseBackends" "Meta (layout v1)" key EndOfDenseBackends
has "key of a building block in a trimmed layout" "  table entries  7" \
	key -l v1+trimmed AutogradFunctionality
has "layout prints the size of a trimmed table" \
	"layout pytorch-2.14+trimmed: 16 backends, 47 functionalities, 8 table entries, full set 0x3fffffffffffffff" \
	layout pytorch-2.14+trimmed
[ "$(awk '$1 ~ /^[0-9.]+$/ && $3 ~ /^[0-9]+$/ && $4 { print $1, $4 }' "$tmp/out" | paste -sd' ')" = \
	"7 AutogradFunctionality 6 AutogradOther 5 ADInplaceOrView 4 BackendSelect 3 Sparse 2 Quantized 1 Dense 0 Undefined" ]
result $? "layout prints the eight entries of a trimmed table"
has "layout prints - without an entry" "        -   61     46  PythonDispatcher" \
	layout pytorch-2.14+trimmed
has "keyset --to prints a set in another layout" "0x10801 (layout v1)" \
	keyset --layout pytorch-1.13 --to v1 'ORT|CPU'
has "keyset --to names a key that is renamed" "  renamed            ORT is now MAIA" \
	keyset --layout pytorch-1.13 --to v1 'ORT|CPU'
has "keyset --to names a key that has another kind" \
	"  changed            Meta was per-backend, is now functionality" \
	keyset --to pytorch-1.12 Meta
has "keyset --to names a key that is lost" \
	"  lost               MTIABit" keyset --to pytorch-1.13 MTIA
has "keyset --to names a key that lost its backend" \
	"  without a backend  Dense: routed as if on the first backend" \
	keyset --to pytorch-1.13 MTIA
has "keyset --to prints the top key" "  top key            Meta" \
	keyset -l pytorch-2.0 --to v1 'PrivateUse1|Meta'
has "keyset --to names a key that gains priority" \
	"  priority           Meta is now above PrivateUse1" \
	keyset -l pytorch-2.0 --to v1 'PrivateUse1|Meta'
golden "key in a layout without backends" key -l pytorch-1.11 AutogradCPU <<'END'
AutogradCPU (layout pytorch-1.11)
  class          runtime key: a functionality with one table entry
  value          40
  set            0x8000000000
  table entry    40
  functionality  AutogradCPU
  backend        none
END
golden "keyset --to from a layout without backends" keyset -l 1.11 --to v1 'CPU|AutogradCUDA|MLC' <<'END'
0x10000000041 (layout pytorch-1.11)
0x1000010003 (layout v1)
  printed            DispatchKeySet(CPU, CUDA, AutogradCPU, AutogradCUDA)
  top key            AutogradCUDA
  changed            CPU was functionality, is now per-backend
  lost               MLC
  changed            AutogradCUDA was functionality, is now per-backend
  added              CUDA: a set has all combinations of its bits
  added              AutogradCPU: a set has all combinations of its bits
END
run layout pytorch-1.10
[ $status = 0 ] && grep -qx 'The highest functionality of a set wins.' "$tmp/out" &&
	grep -qx '       40   39     40  AutogradCPU' "$tmp/out" && ! grep -q 'backend$' "$tmp/out"
result $? "layout prints a layout without backends"
printf 'layout mine\nfunctionalities Undefined Dense*\n' >"$tmp/mine"
bad 'backends: missing from the text of the layout' layout "$tmp/mine"
"$DKCTL" layout --describe pytorch-2.6 | sed 's/^layout .*/layout mine/' >"$tmp/mine"
has "a layout from a file" "MAIA (layout mine)" key -l "$tmp/mine" MAIA
has "keyset --to translates a set from a layout in a file" \
	"0x10800 (layout v1)" keyset -l "$tmp/mine" --to v1 MAIA
has "keyset --to translates a set to a layout in a file" \
	"0x20000 (layout mine)" keyset --to "$tmp/mine" MAIA
has "layout prints the sizes of a layout in a file" \
	"layout mine: 15 backends, 47 functionalities, 131 table entries, full set 0x1fffffffffffffff" \
	layout "$tmp/mine"
printf 'op a::b\nimpl a::b CompositeImplicitAutograd x\ntable -c a::b\nlayout v1\nlayout mine\nkey MAIA\n' |
	"$DKCTL" -l "$tmp/mine" replay - >"$tmp/out" 2>"$tmp/err"
[ "$(cat "$tmp/out")" = "0..81=x/math-kernel 86=x/math-kernel 92..108=x/math-kernel
value=3 set=0x20000 index=17 functionality=MAIA backend=InvalidBit" ]
result $? "replay in a layout from a file"
"$DKCTL" layout --describe "$tmp/mine" | cmp -s - "$tmp/mine"
result $? "layout --describe of a layout file prints the same text"

# ---- JSON -------------------------------------------------------------------

golden "JSON of a keyset" -j keyset CPU <<'END'
{"schema":1,"keyset":{"layout":"v1","set":"0x10001","printed":"DispatchKeySet(CPU)","keys":["CPU"],"functionalities":["Dense"],"backend_bits":["CPUBit"],"beyond":"0x0","top_key":"CPU","entry":1}}
END
golden "indented JSON of an alias key" key -p Autograd <<'END'
{
  "schema": 1,
  "key": {
    "layout": "v1",
    "name": "Autograd",
    "kind": "alias",
    "class": "alias key: stands for 18 runtime keys, has no bit and no table entry",
    "c_name": "DK_AUTOGRAD",
    "value": 150,
    "set": "0x0",
    "entry": null,
    "functionality": null,
    "backend": null
  }
}
END
json 0 '{"name":"CPU","kind":"per-backend","c_name":"DK_CPU","value":49}' -j key
json 0 '"last_entry":16' -j layout
json 0 '"last_entry": 14' -jp layout pytorch-1.13
json 0 '"value":1,"bit":16,"per_backend":true,"first_entry":1,"last_entry":1}' \
	-j layout v1+trimmed
json 0 '"value":2,"bit":17,"per_backend":false,"first_entry":null,"last_entry":null}' \
	-j layout v1+trimmed
json 0 '"top_key":"Meta","notes":[{"top":"Meta","above":"PrivateUse1"}]' \
	-j keyset -l pytorch-2.0 --to v1 'PrivateUse1|Meta'
json 0 '["FuncTorchBatched"]' alias FuncTorchBatchedDecomposition --json
json 0 '"abi":1' -jV
json 0 '"help":"dkctl' -j
json 0 '"help":"usage: dkctl key [NAME]\n' -j help key
json 2 '"word":"Spase","suggestion":"Sparse"' -j key Spase
json 2 '"word":"--bogus"' -j --bogus
json 2 '"word":"--layout"}' -j -l v1 schema 'f() -> ()'
json 2 '"word":"--statistics"}' -js key CPU
json 2 '"word":"--transcript"}' -j replay --check --transcript /dev/null
printf 'layout x\nbackends CPU\nbackend CUDA\n' >"$tmp/bad"
json 2 "\"word\":\"$tmp/bad\",\"line\":3}" -j key -l "$tmp/bad" CPU
json 2 '"word":"/nonexistent"' -j replay --check /nonexistent
json 2 '"error"' -j replay --check /dev/null
"$DKCTL" -j key "$(printf 'a\001"\\\377')" >"$tmp/out" 2>"$tmp/err"
if command -v python3 >/dev/null; then
	is_json
	result $? "JSON output is valid for a word of any bytes"
else
	skip "JSON output is valid for a word of any bytes" "no python3 to read JSON"
fi

# ---- bad input --------------------------------------------------------------

bad '"ORT", but layout pytorch-2.3 has; did you mean "MAIA"?' key ORT
bad '"ORT", but layout pytorch-2.3 has; did you mean "MAIA"?' keyset 'ORT|CPU'
bad 'no dispatch key "MAIA", but layout v1 has; did you mean "ORT"?' key MAIA -l pytorch-1.13
run key Named
[ $status = 2 ] && [ "$(cat "$tmp/err")" = \
	'dkctl: layout v1 has no dispatch key "Named", but layout pytorch-2.12 has' ]
result $? "bad input: key Named names a layout that has it"
bad '"Spase"' key Spase
bad '"Sparse"' key Spase
bad '""' key ''
bad '"CPU"' alias CPU
bad '"Foo"' keyset 'CPU|Foo'
bad '"CPU,,CUDA"' keyset CPU,,CUDA
bad 'did you mean "0x10001"?' keyset 65537
bad 'keyset needs a SET: use "dkctl keyset [--to NAME] SET"' keyset
bad 'use "dkctl keyset -l pytorch-1.13 '"'CPUBit'" key CPUBit -l pytorch-1.13
bad 'a | or , is missing before "CUDA"' keyset 'CPU CUDA'
bad 'no dispatch key, backend bit or keyset "nosuch"' keyset 'CPU nosuch'
bad '"0x1ffffffffffffffff" is larger than 64 bits' keyset 0x1ffffffffffffffff
bad '"99999999999999999999" is larger than 64 bits' keyset CPU 99999999999999999999
bad 'has no dispatch key "4294967345"' key 4294967345
bad 'has no dispatch key "156"' key 156
bad 'has no dispatch key "StartOfCPUBackends"' key StartOfCPUBackends
bad 'has no dispatch key "EndOfBackends"' key EndOfBackends
bad 'schema needs the text of a schema, as in "dkctl schema ' schema
bad '"pytorch-9"' layout pytorch-9
bad 'did you mean "pytorch-2.6"?' layout pytroch-2.6
for release in 2.6 v2.6 v2.6.0 2.6.1+cpu; do
	has "--layout $release" "MAIA (layout pytorch-2.6)" key -l $release MAIA
done
for release in pytorch-9 pytorch-1.2 pytorch-2.15 pytroch-1.2 pytorch-0.4 v1.2.1 1.2; do
	run key -l $release CPU
	[ $status = 2 ] && grep -qF "unknown layout \"$release\": " "$tmp/err" &&
		! grep -q 'did you mean' "$tmp/err"
	result $? "no other release is suggested for $release"
done
bad 'the keys of this release are not known; use a file, or a layout' layout pytorch-2.15
bad 'the keys of this release are not known; use a file, or a layout' layout v2.15.1
bad 'unknown layout "v9": use a file' layout v9
for release in pytorch-2.6 pytorch-2.14.1 v2.14.1 torch; do
	run layout $release+trimmed
	[ $status = 2 ] && [ "$(cat "$tmp/err")" = "dkctl: unknown layout \"$release+trimmed\": \
the layouts with a trimmed table are v1+trimmed, pytorch-2.14+trimmed, pytorch-1.13+trimmed" ]
	result $? "the layouts with a trimmed table are listed for $release+trimmed"
done
for name in $("$DKCTL" help layout | tr -s ' ,' '\n' | grep -F +trimmed); do
	has "the help of layout names a layout that exists: $name" \
		"The table is trimmed: most functionalities have no entry." layout "$name"
done
bad 'cannot open "/dev/null/v9": Not a directory' layout /dev/null/v9
bad '"pytorch-9"' key CPU -l pytorch-9
bad 'use a file, or a layout that "dkctl layout" lists' keyset --to pytorch-2.15 CPU
bad '--to' keyset --to
bad '--to' key --to v1 CPU
bad 'pytorch-1.12' alias -l pytorch-1.12 Autograd
bad "$tmp/bad: line 3: backend: " key -l "$tmp/bad" CPU
printf 'layout x\0y\n' >"$tmp/bad"
bad 'it has a NUL byte' key -l "$tmp/bad" CPU
bad "cannot read a layout from \"$tmp\": " key -l "$tmp" CPU
bad 'longer than 65536 bytes' key -l /dev/zero CPU
bad '"kye"' kye CPU
bad 'unknown subcommand "translate"; did you mean "keyset --to"?' translate v1 CPU
bad 'unknown subcommand "parse"; did you mean "key"?' parse CPU
bad 'unknown subcommand "set"; did you mean "keyset"?' set CPU
bad '"nonsense"' help nonsense
bad '--jsn' --jsn
bad '-x' key -x CPU
bad '-l' key CPU -l
bad '--json=1' key --json=1 CPU
bad '--check' key --check CPU
bad '"DK_AUTOGRAD"' key -l pytorch-1.13 DK_AUTOGRAD
bad '"two"' key one two
bad 'FILE' replay
bad '/nonexistent' replay /nonexistent
bad "$tmp" replay --check "$tmp"
bad '/dev/null' replay --check /dev/null
echo 'op a::b' >"$tmp/in"
bad 'has no command: start each command line with "> "' replay "$tmp/in"
run replay --check "$tmp/in"
[ $status = 2 ] && grep -q 'has no command' "$tmp/err"
result $? "replay --check of a file without a command ends with 2, not 1"
bad 'a\x0ab' key "$(printf 'a\nb')"
bad 'a\x1b\x9b\xffb' key "$(printf 'a\033\233\377b')"
bad '"v1"' -l pytorch-1.13 layout v1
bad '"x"' -V x
bad '"dkctl alias Autograd" lists its runtime keys' keyset 'CPU|Autograd'
bad '"dkctl alias -l pytorch-1.13 Autograd" lists its runtime keys' keyset Autograd -l pytorch-1.13
run keyset Autograt
[ $status = 2 ] && grep -q '"Autograt"' "$tmp/err" && ! grep -q 'did you mean' "$tmp/err"
result $? "keyset suggests no alias key"

# ---- replay -----------------------------------------------------------------

cat >"$tmp/right.dkt" <<'END'
> layout pytorch-1.13
> key CPU
value=43 set=0x4001 index=1 functionality=Dense backend=CPUBit
> local 0x0 0x0
> op a::b
> impl a::b CPU one
> impl a::b CompositeExplicitAutograd all
> impl -f a::b Tracer pass
> route a::b CPU|Tracer
0x4001 CPU one
> route a::b 0x4001|MetaBit
0x4401 Meta all
> table -c a::b
0=all/default-backend-kernel 1=one/kernel 2..50=all/default-backend-kernel 91=pass(fallthrough)/kernel
> undef a::b
> route a::b CPU
error
> call a::b
error: missing word: SET[@DEVICE]...
> layout v1
> local 0x0 0x0
> backend edu
> device card0 edu
> device card1 edu
> op a::b
> impl a::b - cpu
> impl -d card0 a::b Dense zero
> impl -d card1 a::b Dense one
> call a::b edu@card1 edu@card0 CPU
0x11001 0x11001 PrivateUse1 one@card1
> offline card1
> call a::b edu@card1
0x11000 0x11000 PrivateUse1 cpu
> leave card0
> call a::b edu@card0
error: no such device: card0
END
golden "replay --check of right answers" replay --check "$tmp/right.dkt" <<END
$tmp/right.dkt: 27 commands, every answer is right
END
golden "replay --check --force-resolve of right answers" \
	replay --check --force-resolve "$tmp/right.dkt" <<END
$tmp/right.dkt: 27 commands, every answer is right
END
golden "replay --transcript prints the transcript" \
	replay --transcript "$tmp/right.dkt" <<END
$(sed 's/^error$/error: no such operator: a::b/' "$tmp/right.dkt")
END
grep -v '^> ' "$tmp/right.dkt" | sed 's/^error$/error: no such operator: a::b/' >"$tmp/same"
golden "replay prints the answers" replay "$tmp/right.dkt" <"$tmp/same"
"$DKCTL" replay --check - <"$tmp/right.dkt" >"$tmp/out" 2>"$tmp/err"
[ "$(cat "$tmp/out")" = "standard input: 27 commands, every answer is right" ]
result $? "replay --check reads the standard input"
echo 'key CPU' | "$DKCTL" replay - >"$tmp/out" 2>"$tmp/err"
grep -q '^value=49 ' "$tmp/out"
result $? "commands without answers from a pipe"

printf '> tls\n> kye CPU\n> key Foo\n> tls\n' >"$tmp/in.dkt"
run replay "$tmp/in.dkt"
cat >"$tmp/want" <<END
dkctl: $tmp/in.dkt:2: unknown command: kye; did you mean "key"?
dkctl: $tmp/in.dkt:3: could not parse dispatch key: Foo
END
[ $status = 2 ] && cmp -s "$tmp/err" "$tmp/want" && [ "$(grep -c '^included=' "$tmp/out")" = 2 ]
result $? "replay reports an unknown command with file and line, goes on, and fails"
json 2 '"refused":true' -j replay "$tmp/in.dkt"
sed -i 2d "$tmp/in.dkt"
run replay "$tmp/in.dkt"
[ $status = 0 ] && [ "$(cat "$tmp/err")" = \
	"dkctl: $tmp/in.dkt:2: could not parse dispatch key: Foo" ]
result $? "replay reports a refused command with file and line"
printf '> kye\nerror\n> key Foo\nerror: could not\n' >"$tmp/in.dkt"
run replay "$tmp/in.dkt"
[ $status = 0 ] && [ ! -s "$tmp/err" ]
result $? "replay reports no error that the transcript expects"
printf '> "op" a::b\n> "op" a::b\n' >"$tmp/in.dkt"
run replay "$tmp/in.dkt"
[ $status = 0 ] && grep -q ':2: the operator is defined already: ' "$tmp/err"
result $? "replay knows a command in quotes"
printf "> 'kye' CPU\n" >"$tmp/in.dkt"
run replay "$tmp/in.dkt"
[ $status = 2 ] && grep -q ':1: unknown command: kye; did you mean "key"?$' "$tmp/err"
result $? "replay reports an unknown command in quotes"
printf 'key CPU\nkye CPU\n' | "$DKCTL" replay - >"$tmp/out" 2>"$tmp/err"
[ $? = 2 ] && grep -q '^dkctl: standard input:2: unknown command: kye' "$tmp/err"
result $? "an unknown command from a pipe gives a failure status"
printf 'help\nquit\nkye\n' | "$DKCTL" replay - >"$tmp/out" 2>"$tmp/err" &&
	[ ! -s "$tmp/err" ] && grep -q '^  layout-info  ' "$tmp/out"
result $? "the commands help and quit from a pipe"
printf 'help nope\nquit now\nhelp key x\nhelp quit\n quit \nkye\n' |
	"$DKCTL" replay - >"$tmp/out" 2>"$tmp/err"
[ $? = 2 ] && [ "$(cat "$tmp/out")" = 'error: unknown command: nope
error: unexpected word: now
error: unexpected word: x
  quit                             end dkctl' ] && [ "$(wc -l <"$tmp/err")" = 3 ]
result $? "wrong words after help and quit are refused"
printf 'help key\n' | "$DKCTL" -j replay - >"$tmp/out" 2>"$tmp/err" &&
	grep -q '"answer":\["  key KEY ' "$tmp/out"
result $? "the command help from a pipe, in JSON"

sed '10s/one/two/' "$tmp/right.dkt" >"$tmp/wrong.dkt"
run replay --check "$tmp/wrong.dkt"
cat >"$tmp/want" <<END
$tmp/wrong.dkt:9: > route a::b CPU|Tracer
$tmp/wrong.dkt:10: expected 0x4001 CPU two
$tmp/wrong.dkt:10: got      0x4001 CPU one
$tmp/wrong.dkt: 27 commands, 1 wrong answer
END
[ $status = 1 ] && cmp -s "$tmp/out" "$tmp/want"
result $? "replay --check names a falsified answer by its line"
json 1 '"line":10' -j replay --check "$tmp/wrong.dkt"
json 1 '"passed": false' -jp replay --check "$tmp/right.dkt" "$tmp/wrong.dkt"
json 0 '"answer":["0x4001 CPU one"]' -j replay "$tmp/right.dkt"

sed 10d "$tmp/right.dkt" >"$tmp/wrong.dkt"
run replay --check "$tmp/wrong.dkt"
[ $status = 1 ] && grep -qxF "$tmp/wrong.dkt:10: expected (no line)" "$tmp/out" &&
	grep -qxF "$tmp/wrong.dkt:10: got      0x4001 CPU one" "$tmp/out"
result $? "replay --check finds a missing answer"
sed '10a 0x0' "$tmp/right.dkt" >"$tmp/wrong.dkt"
run replay --check "$tmp/wrong.dkt"
[ $status = 1 ] && grep -qxF "$tmp/wrong.dkt:11: got      (no line)" "$tmp/out"
result $? "replay --check finds a surplus answer"
sed '10s/.*/error/' "$tmp/right.dkt" >"$tmp/wrong.dkt"
run replay --check "$tmp/wrong.dkt"
[ $status = 1 ] && grep -qxF "$tmp/wrong.dkt:10: expected error" "$tmp/out"
result $? "the expected answer \"error\" matches errors only"
{
	echo '> layout v1'
	i=0
	while [ $i -lt 12 ]; do
		printf '> tls\nwrong\n'
		i=$((i + 1))
	done
} >"$tmp/wrong.dkt"
run replay --check "$tmp/wrong.dkt"
[ $status = 1 ] && [ "$(grep -c 'got ' "$tmp/out")" = 10 ] &&
	grep -q '12 wrong answers, the first 10 are shown$' "$tmp/out"
result $? "replay --check shows the first wrong answers"

# Bytes that a terminal would interpret as control sequences are escaped.
name=$tmp/$(printf 'a\033b.dkt')
printf '> key\tC\001U\nC\033[2J\233\n' >"$name"
run replay --check "$name"
cat >"$tmp/want" <<'END'
a\x1bb.dkt:1: > key	C\x01U
a\x1bb.dkt:2: expected C\x1b[2J\x9b
a\x1bb.dkt:2: got      error: this word has a control character or is not UTF-8: C\x01U
a\x1bb.dkt: 1 command, 1 wrong answer
END
sed -i "s|^$tmp/||" "$tmp/out"
[ $status = 1 ] && cmp -s "$tmp/out" "$tmp/want"
result $? "replay --check shows control characters as \\xNN"
printf '> key C\0U\nx\n' >"$tmp/in"
run replay --check "$tmp/in"
grep -qF ':1: > key C\x00U' "$tmp/out"
result $? "replay --check prints a command with a NUL to its end"
json 1 '"command":"key C\u0000U"' -j replay --check "$tmp/in"
printf '> key %b\n' 'C\033U' '\0377' '\0302\0233' >"$tmp/in"
golden "replay --transcript shows control characters as \\xNN" \
	replay --transcript "$tmp/in" <<'END'
> key C\x1bU
error: this word has a control character or is not UTF-8: C\x1bU
> key \xff
error: this word has a control character or is not UTF-8: \xff
> key \xc2\x9b
error: this word has a control character or is not UTF-8: \xc2\x9b
END
printf '> op a::\303\251\360\237\230\200\n> ops\na::\303\251\360\237\230\200\n' >"$tmp/in"
cp "$tmp/in" "$tmp/same"
golden "replay --transcript prints UTF-8 unchanged" replay --transcript "$tmp/in" <"$tmp/same"

# A refused command prints one error that names the word, and the script continues.
refused() # ERROR COMMAND
{
	printf '> %s\n> tls\n' "$2" >"$tmp/in"
	"$DKCTL" replay - <"$tmp/in" >"$tmp/out" 2>"$tmp/err"
	[ "$(head -1 "$tmp/out")" = "error: $1" ] && grep -q '^included=' "$tmp/out" &&
		[ "$(wc -l <"$tmp/out")" = 2 ]
	result $? "transcript: error: $(printf '%s' "$1" | cut -c1-70)"
}

refused "unknown command: kye" "kye CPU"
refused "empty command" " "
refused "missing word: KEY" "key"
refused "missing word: LABEL" "impl -f a::b CPU"
refused "missing value of option: -d" "impl -d"
refused "unexpected word: CUDA" "key CPU CUDA"
refused "unknown option: -x" "impl -x a::b CPU one"
refused "could not parse dispatch key: Spase" "key Spase"
refused "this word has no closing quote: 'a::b" "op 'a::b"
refused "this word has no closing quote: 'it'\"s two words" "op -s 'it'\"s two words"
refused "this word has no closing quote: \"CPU" "call a::b CPU \"CPU"
refused "this word has no closing quote: 'c" "or DispatchKeySet(CPU, 'b) 'c"
refused "empty word: ''" "key CPU '' junk"
refused "empty word: \"\"" "check \"\" nosuch"
refused "empty word: ''\"\"" "call a::b CPU ''\"\" CUDA"
refused "empty word: ''" "op -s '' a::b"
refused "empty word: ''" "'' key CPU"
echo "> parse ''CPU" >"$tmp/in"
golden "transcript: a word may begin with an empty quoted part" replay "$tmp/in" <<END
CPU
END
refused "could not parse dispatch key: it's" "key it's"
refused "could not parse keyset: 'b" "or DispatchKeySet(CPU, 'b) CPU"
refused "could not parse keyset: Foo" "keyset CPU|Foo"
alias="error: an alias key has no bits; the command alias lists its runtime keys: Autograd"
printf '%s\n' 'op a::b' 'include Autograd' 'exclude CPU|Autograd' 'has-impl-in a::b Autograd' |
	"$DKCTL" replay - >"$tmp/out" 2>"$tmp/err"
[ "$(sort "$tmp/out" | uniq -c | sed 's/^ *//')" = "3 $alias" ]
result $? "transcript: alias keys are refused in sets, with an explanation"
layouts="v1, pytorch-2.14, pytorch-2.13, pytorch-2.12, pytorch-2.11, pytorch-2.10, \
pytorch-2.9, pytorch-2.8, pytorch-2.7, pytorch-2.6, pytorch-2.5, pytorch-2.4, pytorch-2.3, \
pytorch-2.2, pytorch-2.1, pytorch-2.1-pre, pytorch-2.0, pytorch-2.0-pre, pytorch-1.13, \
pytorch-1.12, pytorch-1.11, pytorch-1.10, pytorch-1.9, pytorch-1.8, pytorch-1.7, \
pytorch-1.6, pytorch-1.5, pytorch-1.4, pytorch-1.3; \
\"dkctl replay -l FILE\" reads one from a file"
refused "no such layout: v9; the layouts are $layouts" "layout v9"
refused "no such layout: torch; the layouts are $layouts" "translate torch v1 0x1"
refused "no such operator: a::b" "table a::b"
refused "no such device: card0" "leave card0"
refused "nothing is registered under this label: one" "drop one"
refused "no such device or backend: nope" "offline nope"
refused "no such device or backend: nope" "online nope"
printf '%s\n' stock 'op a::b' 'backend edu' 'device a@b edu' 'impl -d a@b a::b edu one' \
	'call a::b edu@a@b' 'call a::b @a@b' 'call a::b edu@' |
	"$DKCTL" replay - >"$tmp/out" 2>"$tmp/err"
cat >"$tmp/want" <<END
0x11000 0x11000 PrivateUse1 one@a@b
error: expected a keyset before the @: @a@b
error: expected a device after the @: edu@
END
cmp -s "$tmp/out" "$tmp/want"
result $? "transcript: a device of a call follows the first @"
printf '%s\n' stock 'op a::b' 'backend edu' 'device edu edu' 'device two edu' \
	'impl -d edu a::b edu one' 'impl -d two a::b edu two' 'offline edu' 'call a::b edu@two' \
	'online edu' 'offline PrivateUse1' 'call a::b edu@two' |
	"$DKCTL" replay - >"$tmp/out" 2>"$tmp/err"
cat >"$tmp/want" <<END
0x11000 0x11000 PrivateUse1 two@two
error: the device is unregistered or offline, and no other function serves this route: a::b
END
cmp -s "$tmp/out" "$tmp/want"
result $? "transcript: a name of a device and a backend is the device"
printf '%s\n' 'backend edu' 'keyset edu|Foo|' 'keyset CPU|' 'keyset |CPU' 'keyset edu||CPU' 'keyset edu,' |
	"$DKCTL" replay - >"$tmp/out" 2>"$tmp/err"
printf 'error: could not parse keyset: %s\n' Foo 'CPU|' '|CPU' 'edu||CPU' edu, >"$tmp/want"
cmp -s "$tmp/out" "$tmp/want"
result $? "transcript: a keyset that lacks a part is named"
refused "there is no include or exclude to end" "end"
for word in missing ambiguous; do
	refused "route prints this word instead of a function: use another label: $word" \
		"impl -f a::b CPU $word"
	refused "route prints this word instead of a function: use another label: $word" \
		"fallback CPU $word"
done
refused "use option -f for a fallthrough, or another label: fallthrough" \
	"impl a::b Autograd fallthrough"
printf '%s\n' 'op a::b' 'impl -f a::b CPU fallthrough' 'fallback CUDA fallthrough' 'is-fallthrough a::b CPU' |
	"$DKCTL" replay - >"$tmp/out" 2>"$tmp/err"
[ "$(cat "$tmp/out")" = true ]
result $? "transcript: fallthrough may be the label of a fallthrough"
refused "Unsupported layout: Foo" "compute-key float Foo CPU"
refused 'this word has a control character or is not UTF-8: C\x01U' \
	"key $(printf 'C\001U')"
refused 'this word has a control character or is not UTF-8: \xff' \
	"key $(printf '\377') CPU"
refused "this command is longer than 65536 bytes: key" \
	"key $(head -c 65536 /dev/zero | tr '\0' x)"
for words in "replay -" "schema -"; do
	what="$words: a line of 200 MB is refused with 100 MB of memory"
	# a sanitizer reserves more address space than this limit
	# shellcheck disable=SC3045
	if (ulimit -v 100000 && "$DKCTL" key CPU) >/dev/null 2>&1; then
		# shellcheck disable=SC2086,SC3045
		head -c 200M /dev/zero | (ulimit -v 100000 && "$DKCTL" $words) >"$tmp/out" 2>"$tmp/err"
		grep -qE 'longer than 65536 bytes|has a NUL byte' "$tmp/err"
		result $? "$what"
	else
		skip "$what" "the memory cannot be limited"
	fi
done

printf 'translate pytorch-2.7 v1 CPU|Fake|Python\n' | "$DKCTL" replay - >"$tmp/out" 2>"$tmp/err"
[ "$(sed 1d "$tmp/out")" = "top Fake -> Python" ]
result $? "translate in a transcript reports another top key"

# ---- stock ------------------------------------------------------------------------

printf '%s\n' stock 'op a::b' 'impl a::b CPU one' 'route a::b CPU|AutogradCPU|AutocastCPU' \
	'layout v1' 'op a::b' 'impl a::b CPU one' 'route a::b CPU' 'layout pytorch-1.12' stock |
	"$DKCTL" replay - >"$tmp/out" 2>"$tmp/err"
[ "$(cat "$tmp/out")" = "0x10001 CPU one
0x404010001 ADInplaceOrView missing
error: this layout has names and bits, but no tables: pytorch-1.12" ]
result $? "the command stock adds the builtin fallbacks, the command layout removes them"

# ---- a prompt ---------------------------------------------------------------

prompt() # typed lines come from standard input
{
	script -qec "'$DKCTL' replay -" /dev/null 2>"$tmp/err" | tr -d '\r' |
		sed 's/^> //' >"$tmp/out"
}

# Types text at the prompt; the output must have this line. @ in TYPED is a newline.
advice() # TYPED LINE
{
	name="prompt: $(printf '%s' "$1" | tr @ ';') $2"
	if ! command -v script >/dev/null; then
		skip "$name" "no script(1) to make a terminal"
		return
	fi
	printf '%s\nquit\n' "$1" | tr @ '\n' | prompt
	grep -qxF -- "$2" "$tmp/out"
	result $? "$name"
}

if command -v script >/dev/null; then
	printf 'key CPU\n> tls\nkye\nhelp\nalias CompositeImplicitAutograd\nquit\n' | prompt
	grep -q '"help" lists the commands, "quit" ends' "$tmp/out" &&
		grep -q 'value=49 set=0x10001 ' "$tmp/out" &&
		grep -q 'included=0x404000000 ' "$tmp/out" &&
		grep -q 'error: unknown command: kye$' "$tmp/out" &&
		grep -q '^  layout-info  ' "$tmp/out" && ! grep -qE '^.{101}' "$tmp/out"
	result $? "at a terminal, the prompt's output fits 100 columns"
else
	skip "at a terminal, the prompt's output fits 100 columns" "no script(1) to make a terminal"
fi
: >"$tmp/err"
if command -v script >/dev/null; then
	script -qec "'$DKCTL' alias CPU" /dev/null | tr -d '\r' >"$tmp/out"
	[ "$(wc -l <"$tmp/out")" = 3 ] && ! grep -qE '^.{101}' "$tmp/out"
	result $? "at a terminal, an error is wrapped to 100 columns"
else
	skip "at a terminal, an error is wrapped to 100 columns" "no script(1) to make a terminal"
fi
# alias CPU is an error, and the other commands are not
for words in 'alias CPU' 'alias Autograd' 'replay -'; do
	name="at a terminal of 60 columns, this is wrapped: dkctl $words"
	if ! command -v script >/dev/null; then
		skip "$name" "no script(1) to make a terminal"
		continue
	fi
	printf 'alias Autograd\nquit\n' |
		script -qec "stty cols 60; COLUMNS=90 '$DKCTL' $words" /dev/null 2>"$tmp/err" |
		tr -d '\r' >"$tmp/out"
	grep -q 'AutogradC\|Composite' "$tmp/out" &&
		! grep -v '^An empty' "$tmp/out" | grep -qE '^.{61}'
	result $? "$name"
done
run alias CPU
[ $status = 2 ] && [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q '.\{101\}' "$tmp/err"
result $? "without a terminal, an error is one line of any length"
advice 'kye CPU' 'did you mean "key"?'
advice 'op my::add@table my::ad' 'did you mean "my::add"?'
advice 'key Autograt' 'did you mean "Autograd"?'
advice 'backend edu@device card0 edu@offline card1' 'did you mean "card0"?'
advice 'help keyset' '  keyset SET                       properties of a set'
advice 'key Autograt@help nope' 'error: unknown command: nope'
advice 'key Autograt@help nope' '"help" lists the commands'
advice 'help kye' 'did you mean "key"?'
advice 'quit now' '  quit                             end dkctl'
advice 'keyset' '  keyset SET                       properties of a set'

# ---- schemas ----------------------------------------------------------------

golden "schema lists arguments and return values" \
	schema 'f.x(Tensor(a!) x,*,int[2] y=[1, 2])->(Tensor z,...)' <<'END'
f.x(Tensor(a!) x, *, int[2] y=[1, 2]) -> (Tensor z, ...)
  argument 0: Tensor(a!) x
  argument 1: int[2] y, by default [1, 2], by keyword only
  returns 0: Tensor z
  and any further return values
  a boxed call dispatches on 0x2 (bit 0 is the last argument)
END
has "a schema with any number of arguments" "  and any further arguments" \
	schema 'f(Tensor x, ...) -> ()'
json 0 '"dispatch_mask":"0x1"' schema -j 'f(Tensor x) -> ()'
json 0 '"default":"1"' schema -j 'f(int x=1) -> ()'
json 2 '"message":"could not parse schema: column 9' schema -j 'f(Tensor) -> ()'
bad "instead of the argument's name" schema 'f(Tensor) -> ()'
json 2 "has no JSON output: omit option --json" schema -j -
list=$(seq -s ', ' -f 'Tensor(a%.0f)' 1 40)
json 0 "\"type\":\"($list)\"" schema -j "f(($list) x) -> ()"
bad 'column 1: "\xc3\xa4" instead of' schema "$(printf '\303\244()->()')"
escaped=$(printf 'f(str x="\302\2331m") -> ()')
[ "$("$DKCTL" schema "$escaped" | LC_ALL=C grep -c '"\\xc2\\x9b1m"')" = 2 ] &&
	[ "$(echo "$escaped" | "$DKCTL" schema -)" = 'f(str x="\xc2\x9b1m") -> ()' ]
result $? "schema: a schema cannot control the terminal"
vectors=${DK_VECTORS:-$here/../vectors}/pytorch-2.14/schemas.txt
"$DKCTL" schema - <"$vectors" >"$tmp/out" 2>"$tmp/err" &&
	[ "$(wc -l <"$tmp/out")" = 3640 ] && cmp -s "$vectors" "$tmp/out"
result $? "the schemas of PyTorch's operators print back byte for byte"
printf 'f() -> ()\nf(\n' | "$DKCTL" schema - >"$tmp/out" 2>"$tmp/err"
[ $? = 2 ] && grep -q '^dkctl: line 2: could not parse schema: column 3: the end' "$tmp/err"
result $? "a wrong schema is reported with its line"

# ---- input that cannot be read ------------------------------------------------

# Runs a command whose standard input has two lines; after these, read() fails with EAGAIN.
unreadable() # WORDS...
{
	python3 - "$DKCTL" "$@" <<-'END' >"$tmp/out" 2>"$tmp/err"
		import os, subprocess, sys

		reader, writer = os.pipe()
		os.set_blocking(reader, False)
		os.write(writer, b"> key CPU\n> key nothing\n")
		sys.exit(subprocess.run(sys.argv[1:], stdin=reader).returncode)
	END
}
if command -v python3 >/dev/null; then
	unreadable replay -
	[ $? = 2 ] && grep -qx 'dkctl: cannot read "standard input": Resource temporarily unavailable' \
		"$tmp/err"
	result $? "replay: an error while reading is reported with its reason"
else
	skip "replay: an error while reading is reported with its reason" "no python3 for the input"
fi

"$DKCTL" schema - <"$tmp" >"$tmp/out" 2>"$tmp/err"
[ $? = 2 ] && [ "$(cat "$tmp/err")" = 'dkctl: cannot read "standard input": Is a directory' ]
result $? "schema: an error while reading is reported with its reason"

# ---- output that cannot be written ------------------------------------------

"$DKCTL" layout 2>"$tmp/err" >/dev/full
status=$?
: >"$tmp/out"
[ $status = 3 ] && grep -q 'cannot write the output: No space left' "$tmp/err"
result $? "a full disk is reported"
# This output is longer than the buffer of stdio.
"$DKCTL" help replay 2>"$tmp/err" >/dev/full
[ $? = 3 ] && grep -q 'cannot write the output: No space left' "$tmp/err"
result $? "a full disk is reported for a long output"
"$DKCTL" -j key bogus 2>"$tmp/err" >/dev/full
[ $? = 3 ] && grep -q 'cannot write the output: No space left' "$tmp/err"
result $? "a full disk is reported after an error"
# The reader of a FIFO has ended, so that each write fails with EPIPE.
mkfifo "$tmp/fifo"
: <"$tmp/fifo" &
exec 3>"$tmp/fifo"
wait
(trap '' PIPE && LC_ALL=C env echo >&3) 2>"$tmp/out"
grep -q 'Broken pipe' "$tmp/out"
result $? "a write to the closed pipe fails"
"$DKCTL" version 2>"$tmp/err" >&3 && [ ! -s "$tmp/err" ]
result $? "a reader that closes the pipe causes no error"
# This output is longer than the buffer of stdio, so that its first write fails.
[ "$("$DKCTL" help replay | wc -c)" -gt 4096 ] && "$DKCTL" help replay 2>"$tmp/err" >&3 &&
	[ ! -s "$tmp/err" ]
result $? "a reader that closes the pipe before a long output causes no error"
exec 3>&-

if [ $count != $planned ]; then
	echo "# $count tests were run, $planned were planned"
	failed=$((failed + 1))
fi
[ $failed = 0 ]
