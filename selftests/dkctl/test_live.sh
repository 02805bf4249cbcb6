#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests dkctl's subcommands for a running kernel, with a scripted registry instead of a kernel
# (fake_nl.c). The second line of golden/*.txt names the script. Lines that begin with "$ " are
# commands; each is followed by its output and, if its exit status is not 0, by the status in
# brackets. DK_UPDATE=1 updates these files.

here=$(realpath -- "$(dirname -- "$0")")
golden=$here/golden
DKCTL=${DKCTL_FAKED:-${DK_BUILD:-$here/../../build}/selftests/dkctl/dkctl_fake}
[ -x "$DKCTL" ] || DKCTL=$here/dkctl_fake
export LC_ALL=C TZ=UTC TERM=xterm
unset NO_COLOR DKCTL_FAKE COLUMNS

if [ ! -x "$DKCTL" ]; then
	echo "TAP version 13"
	echo "1..0 # SKIP no dkctl_fake is built"
	exit 4
fi

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
count=0
failed=0

result() # STATUS NAME, with the reasons in $tmp/why
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count $2"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $count $2"
	sed 's/^/# /' "$tmp/why" | head -30
}

# The commands of golden files call this function.
dkctl()
{
	"$DKCTL" "$@"
}

# Prints the standard input, with bytes other than newlines and printable ASCII as \xNN.
shown()
{
	python3 -c 'import sys
for b in sys.stdin.buffer.read(): sys.stdout.write(chr(b) if b == 10 or 32 <= b < 127 else "\\x%02x" % b)'
}

# Runs the commands of a file and prints the file with their output.
play() # FILE
{
	grep '^# ' "$1" | head -n 2
	script=$(sed -n '2s/^# script: //p' "$1")
	DKCTL_FAKE=
	[ -z "$script" ] || DKCTL_FAKE=$golden/$script
	case $script in many.fake | ops.fake | calls.fake) DKCTL_FAKE=$tmp/$script ;; esac
	export DKCTL_FAKE
	[ -n "$script" ] || unset DKCTL_FAKE
	grep '^\$ ' "$1" >"$tmp/commands"
	while IFS= read -r line; do
		echo "$line"
		status=0
		eval "${line#??}" 2>&1 </dev/null || status=$?
		[ $status = 0 ] || echo "[$status]"
	done <"$tmp/commands"
}

# Prints a script with 250 functions of an operator, and 64 devices of 8 drivers.
many()
{
	echo "layout v1"
	echo "stock"
	echo "backend edu"
	echo "!join edu | driver0"
	echo "!join edu | driver1"
	echo "!joined edu | 40"
	echo "op many::op"
	echo "op other::op"
	for i in $(seq 0 63); do
		echo "device card$i edu"
		echo "!device card$i | driver$((i / 8))"
		echo "impl -d card$i many::op edu on_card$i"
	done
	for i in $(seq 0 185); do
		echo "impl many::op CPU older$i"
	done
	echo "!impls other::op | 137"
	for i in $(seq 0 411); do
		if [ $((i % 137)) = 0 ]; then
			echo "!counter impl | aten::op$i | edu | f | dk_edu | card0 | 7"
		else
			echo "!counter impl | aten::op$i | CPU | f | dk_cpu | | 7"
		fi
	done
	echo "!counter impl | aten::op1 | AutogradCPU | g | dk_cpu | | 7"
	echo "!stats on | 2884"
}

# Prints a script with as many operators as a registry can have.
ops()
{
	echo "layout v1"
	seq -f 'op many::op%.0f' 0 65535
}

# Prints a script in which each of these operators was called, every hundredth one on the card.
calls()
{
	echo "layout v1"
	echo "backend edu"
	echo "!stats on | 65536 | 0"
	awk 'BEGIN {
		for (i = 0; i < 65536; i++)
			print "!counter impl | many::op" i " | " (i % 100 ? "CPU" : "edu") \
				" | f | p | | 1"
	}'
}

echo "TAP version 13"
many >"$tmp/many.fake"
ops >"$tmp/ops.fake"
calls >"$tmp/calls.fake"

for file in "$golden"/*.txt; do
	play "$file" >"$tmp/got"
	[ -z "${DK_UPDATE:-}" ] || cp "$tmp/got" "$file"
	diff -u "$file" "$tmp/got" >"$tmp/why"
	result $? "golden: $(basename "$file")"
done

# ---- rules for all golden files ------------------------------------------------

# No line is longer than 100 characters, except in pictures, JSON and coloured text. Errors are one
# line of any length.
awk '/^\$ /{ skip = / -j|svg|color=always/ } !skip && length($0) > 100 && !/^(\$|dkctl:) / { print FILENAME ": " $0 }' \
	"$golden"/*.txt >"$tmp/why"
[ ! -s "$tmp/why" ]
result $? "all lines fit 100 columns"

grep -n ' $' "$golden"/*.txt >"$tmp/why"
[ ! -s "$tmp/why" ]
result $? "no line ends with a blank"

# JSON output, including that of errors, is valid and has the documented schema.
DKCTL_FAKE=
export DKCTL_FAKE
for script in demo empty odd events many; do
	DKCTL_FAKE=$golden/$script.fake
	[ $script != many ] || DKCTL_FAKE=$tmp/many.fake
	while read -r words; do
		echo "# $script: dkctl -j $words"
		# shellcheck disable=SC2086 # the variable contains several words
		dkctl -j $words 2>/dev/null
	done <<-END
		backend
		backend show edu
		backend show nothing
		backend set edu offline
		device
		device backend edu
		device set nothing online
		provider
		op
		op prefix demo::
		op demo::add
		op nothing::at_all
		kernels
		kernels op demo::add key CPU
		table demo::add
		table demo::add device edu0
		table nothing::at_all
		route demo::add CPU
		route -v demo::add edu0
		route nothing::at_all CPU
		stats
		stats --used
		stats on
		monitor
		version
		limits
		backend help
	END
done >"$tmp/json"
if command -v python3 >/dev/null; then
	python3 - "$tmp/json" >"$tmp/why" <<-'END'
		import json, sys

		command, bare, count = "", False, 0
		with open(sys.argv[1], encoding="utf-8") as stream:
		    lines = [*stream, "# "]
		for line in lines:
		    if line.startswith("# "):
		        if bare:
		            print("no answer:", command)
		        command, bare = line[2:].strip(), bool(line[2:].strip())
		        count += bare
		        continue
		    bare = False
		    try:
		        if json.loads(line)["schema"] != 1:
		            print("another schema:", command)
		    except (ValueError, KeyError) as why:
		        print(command, why)
		if count != 5 * 27:
		    print(count, "commands")
	END
	[ ! -s "$tmp/why" ]
	result $? "JSON output is valid and has its schema, also for errors and empty lists"
else
	count=$((count + 1))
	echo "ok $count JSON output is valid # SKIP no python3 to read it"
fi

# The examples of the help, with the registry of the demonstration.
subcommands=$(dkctl help |
	sed -n '/^on a running kernel/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p;/^options:/q')
[ "$(echo "$subcommands" | wc -l)" -ge 10 ]
result $? "help lists the subcommands for a running kernel"
for subcommand in $subcommands; do
	dkctl help "$subcommand" | sed -n '/^examples:/,$ s/^  \(.*[^ ]\)   *[^ ].*$/\1/p' >"$tmp/examples"
	[ -s "$tmp/examples" ] || echo "$subcommand has no examples"
	while read -r example; do
		status=0
		case $example in *monitor*) status=4 ;; esac
		script=demo
		case $example in *release*) script=release ;; esac
		DKCTL_FAKE=$golden/$script.fake
		cd "$tmp" && eval "$example" >"$tmp/got" 2>&1 </dev/null
		[ $? = $status ] || echo "$example: $(head -n 3 "$tmp/got")"
		[ -s "$tmp/got" ] || echo "$example" | grep -q '>' || echo "$example: prints nothing"
	done <"$tmp/examples"
done >"$tmp/why"
[ ! -s "$tmp/why" ]
result $? "the examples of the help run"

# Pictures are well-formed XML, and the picture in the README is up to date.
DKCTL_FAKE=$golden/demo.fake
for script in demo odd; do
	DKCTL_FAKE=$golden/$script.fake
	op=$(dkctl -j op | sed 's/.*"operators":\[{"name":"\([^"]*\)".*/\1/')
	dkctl table "$op" --svg "$tmp/$script.svg" >"$tmp/why" 2>&1
	python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$tmp/$script.svg" \
		>>"$tmp/why" 2>&1
	result $? "the SVG picture for $script.fake is well-formed XML"
done

DKCTL_FAKE=$golden/demo.fake
picture=$here/../../Documentation/images/table.svg
if [ -e "$picture" ]; then
	{
		echo "<!-- SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause -->"
		dkctl table demo::add device edu0 --svg -
	} >"$tmp/table.svg"
	[ -z "${DK_UPDATE:-}" ] || cp "$tmp/table.svg" "$picture"
	cmp "$picture" "$tmp/table.svg" >"$tmp/why" 2>&1
	result $? "the picture in the README equals the one that dkctl draws"
else
	count=$((count + 1))
	echo "ok $count the picture in the README # SKIP the picture is not beside the tests"
fi

# Subcommands that follow events end when the reader of their output ends.
DKCTL_FAKE=$golden/events.fake
# The script of the events ends with the unloading of the module, for which dkctl would end, too.
# The reader of the FIFO has ended, so that the first write fails.
mkfifo "$tmp/fifo"
: <"$tmp/fifo" &
exec 3>"$tmp/fifo"
wait
dkctl monitor 2>"$tmp/why" >&3 && [ ! -s "$tmp/why" ]
result $? "monitor ends when the reader of its output ends"
exec 3>&-
dkctl monitor >/dev/null 2>"$tmp/why"
[ $? = 4 ] && grep -qx 'dkctl: dispatchkey.ko was unloaded' "$tmp/why"
result $? "monitor ends when the module is unloaded"

# An answer may have longer names than the module makes. The buffer of a list ends in the second one.
long=$(head -c 600 /dev/zero | tr '\0' x)
{
	echo "layout v1"
	echo "!provider p | m | registered | 0 | 0 | 0 | 0 | $long | $long | $long"
} >"$tmp/long.fake"
DKCTL_FAKE=$tmp/long.fake dkctl provider >"$tmp/why" 2>&1 &&
	tr -d ' \n' <"$tmp/why" | grep -q "[^x]${long}and2more$"
result $? "names that do not fit into the list of a provider are counted"

dkctl table x --svg /nonexistent/folder/file >"$tmp/why" 2>&1
[ $? = 2 ]
result $? "a picture that cannot be written is an error"

DKCTL_FAKE=$golden/demo.fake
dkctl table demo::add --svg /dev/full >"$tmp/why" 2>&1
[ $? = 3 ] && grep -q '/dev/full: cannot be written: No space left on device$' "$tmp/why"
result $? "the reason why a picture cannot be written is printed"

# ---- failed allocations ----------------------------------------------------------

cat >"$tmp/layout" <<-END
	layout mine
	backends A
	functionalities Undefined Dense* Last
END
printf '> %s\n' 'op a::b' 'impl a::b CPU one' 'backend edu' 'device card edu' \
	'impl -d card a::b edu two' 'include Tracer' 'route -v a::b CPU' 'call a::b edu@card' \
	'table a::b' 'dump a::b' 'drop two' 'undef a::b' >"$tmp/commands.dkt"
{
	cat "$tmp/commands.dkt"
	yes '> key CPU' | head -n 200
} >"$tmp/long.dkt"
# expects "error" everywhere, which must not match the refusal of a command for lack of memory
sed 's/$/\nerror/' "$tmp/commands.dkt" >"$tmp/wrong.dkt"

# Each allocation fails in turn. A command must then report that, or work as before.
: >"$tmp/reported"
DKCTL_FAKE=$golden/demo.fake
while read -r words; do
	DKCTL_FAKE=$golden/demo.fake
	[ "$words" != "route x::y CPU" ] || DKCTL_FAKE=$golden/layout.fake
	# shellcheck disable=SC2086 # the variable contains several words
	dkctl $words >"$tmp/want" 2>&1 </dev/null
	want=$?
	n=0 status=0
	while [ $status != 98 ]; do
		[ $n -lt 2000 ] || { echo "dkctl $words: more than $n allocations"; break; }
		n=$((n + 1))
		[ $n -lt 150 ] || n=$((n + n / 10))
		status=0
		# shellcheck disable=SC2086
		DKCTL_FAIL=$n dkctl $words >"$tmp/got" 2>&1 </dev/null || status=$?
		[ $status != 98 ] || continue
		[ $status = $want ] && cmp -s "$tmp/want" "$tmp/got" && continue
		# a transcript goes on after a refused command
		case $words:$status in
		*:3 | *:4 | replay*:0)
			grep -qE '(no|out of) memory|Cannot allocate memory' "$tmp/got" &&
				echo "$words" >>"$tmp/reported" && continue
			;;
		esac
		echo "dkctl $words: status $status if allocation $n fails"
		tail -n 2 "$tmp/got"
		break
	done
	grep -qxF -- "$words" "$tmp/reported" ||
		echo "dkctl $words: no failed allocation is reported"
done >"$tmp/why" <<END
help route
layout -l $tmp/layout
key -l pytorch-2.6 CPU
schema a::b(Tensor[])->Tensor
replay $tmp/long.dkt
replay --json $tmp/long.dkt
replay --check $tmp/wrong.dkt
backend -s
device
provider
op
op key edu
kernels op demo::add
table demo::add
table demo::add --svg -
route x::y CPU
route -v demo::add edu0
route demo::add CPU include edu,Autograd
stats -s
limits
END
[ ! -s "$tmp/why" ]
result $? "each failed allocation is reported"

# Without memory to wrap a text, the help has longer lines, but the same words.
dkctl help | tr -d ' \n' >"$tmp/want"
n=0 status=0
while [ $status != 98 ]; do
	n=$((n + 1))
	[ $n -lt 1000 ] || { echo "more than $n allocations"; break; }
	status=0
	DKCTL_FAIL=$n dkctl help >"$tmp/help" 2>&1 || status=$?
	[ $status != 3 ] || continue
	tr -d ' \n' <"$tmp/help" >"$tmp/got"
	cmp -s "$tmp/want" "$tmp/got" || echo "other words if allocation $n fails"
done >"$tmp/why"
[ ! -s "$tmp/why" ] && [ $n -gt 10 ]
result $? "the help has the same words if memory is lacking"

echo "1..$count"
[ $failed = 0 ]
