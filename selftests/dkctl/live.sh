#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dkctl on a running kernel, with a CPU and two edu accelerators: lists, changes and counters,
# as root and as an unprivileged user.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_root
need_command insmod rmmod setpriv unshare timeout
need_module dispatchkey dk_cpu dk_edu dk_client dk_crowd dk_tallied dk_caller
! is_loaded dispatchkey || skip_all "dispatchkey is loaded already, and this test has to load it"

# program NAME - prints the path of a program in the build folder, or of an installed one
program() {
	local path
	for path in "${DK_BUILD:-$st_top/build}/$1" "$st_here/${1##*/}" "$(command -v "${1##*/}")"; do
		[ ! -x "$path" ] || { echo "$path" && return 0; }
	done
	return 1
}
dkctl=$(program dkctl) || skip_all "no dkctl is built (make)"
client=$(program samples/dk_client) || skip_all "no dk_client is built (make)"
case $("$dkctl" monitor 2>&1) in
*"without libnl"*) skip_all "dkctl was built without libnl" ;;
esac
dkctl() { "$dkctl" "$@"; }
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all "$@"; }

# says WHAT STATUS PATTERN WORDS... - tests dkctl's output and errors, and its exit status
says() {
	local what=$1 status=$2 pattern=$3 out got=0
	shift 3
	out=$(dkctl "$@" 2>&1) || got=$?
	if [ $got = "$status" ]; then
		like "$what" "$pattern" "$out"
	else
		fail "$what" "dkctl $*: status $got, and not $status: $out"
	fi
}

# ---- without the module, and without drivers -----------------------------------------

says "without the module it says what to type" 4 \
	"dkctl: dispatchkey.ko is not loaded; type: sudo modprobe dispatchkey" backend
says "version works without the module" 0 "*dispatchkey.ko is not loaded" version
must_load dispatchkey
says "tool, library and module are of one version" 0 "*All three are of one version." version
says "no devices yet" 0 "no devices" device
says "in JSON neither" 0 '{"schema":1,"devices":[]}' -j device
says "no operators yet" 0 "0 operators" op
like "in another network namespace it says where to ask" "*first network namespace*nsenter*" \
	"$(unshare -n "$dkctl" op 2>&1)"
like "as version does" "*first network namespace*" "$(unshare -n "$dkctl" version 2>&1)"

# ---- lists -----------------------------------------------------------------------------

must_load dk_cpu dk_edu dk_client
card=$(dkctl -j device | sed 's/.*"devices":\[{"name":"\([^"]*\)".*/\1/')
op=sample::factorial
says "two cards" 0 "*
$card *edu *online*dk_edu
*edu *online*dk_edu" device
says "of backend edu" 0 "*$card *edu*" device backend edu
says "which is a private backend" 0 "*
edu *PrivateUse1*online* 2 *dk_edu*" backend show edu
says "the drivers" 0 "*dk_cpu *dk_edu*" provider
says "an operator and its functions" 0 "*cpu_factorial*dk_cpu*" op $op
says "operators of the cards" 0 "*$op *" op backend edu
says "functions of a card" 0 "*$op *edu_factorial*$card*" kernels device "$card"
says "the fallthroughs that the registry was born with" 0 "*(fallback)*fallthrough*(built in)*" \
	-s kernels
says "keys have the private name" 0 "*Autocastedu *fallthrough*" -s kernels
says "limits" 0 "*private-backends *1 *3*" limits
says "the grid" 0 "*edu (PrivateUse1)*cpu_factorial of dk_cpu*" table $op
says "the grid of a card" 0 "*edu_factorial@$card of dk_edu*" table $op device "$card"
ok "a picture of it" dkctl table $op device "$card" --svg "$st_tmp/table.svg"
like "is one" "*<svg*edu_factorial*</svg>" "$(cat "$st_tmp/table.svg")"

# ---- routes ------------------------------------------------------------------------------

says "a call for a card goes to it" 0 "$op($card) goes to edu_factorial@$card of dk_edu *" \
	route $op "$card"
says "one of the processor does not" 0 "$op(CPU) goes to cpu_factorial of dk_cpu *" \
	route $op CPU
says "and why" 0 "*table entry  13: Dense on edu, for $card*rule  1*serves: edu_factorial@$card*" \
	route -v $op "$card"
says "with the sets that a call has" 0 "*included *0x404000000 *excluded *0x1ff8000000000 *" \
	route -v $op 'CPU|AutocastCPU'
says "a mistyped operator" 2 "*did you mean \"$op\"?" route sample::factorail CPU
says "a filter by an operator that is not there" 2 "*no operator \"foo\"*" kernels op foo
says "a filter by a provider that is not there" 2 "*no provider \"foo\"*" op provider foo
says "a mistyped card" 2 "*has no device, backend or keyset*" route $op nothing

# ---- switching --------------------------------------------------------------------------

klog_mark
says "a card goes offline" 0 "device $card is offline*" device set "$card" offline
says "and is shown so" 0 "*$card *offline*" device
says "its calls go to the processor" 0 "*goes to cpu_factorial of dk_cpu*" route $op "$card"
like "as they do indeed" "*served by cpu_factorial*" \
	"$("$client" factorial --on "$card" 5 2>&1)"
says "whoever asks again is told the same" 0 "device $card is offline*" device set "$card" offline
ok "what is offline is not called overridden" \
	awk '/edu_/ { n += /offline/ && !/overridden/ } END { exit n != 3 }' \
	<(dkctl kernels device "$card")
says "the explanation tells why" 0 "*$card, which is offline*" route -v $op "$card"
says "it comes back" 0 "device $card is online" device set "$card" online
is "each is one line in the kernel log" \
	"dispatchkey: device $card is offline dispatchkey: device $card is online" \
	"$(klog 'dispatchkey: ' | grep -o 'dispatchkey: .*' | paste -sd ' ')"
klog_mark
like "and serves" "*served by edu_factorial*" "$("$client" factorial --on "$card" 5 2>&1)"
says "a backend goes offline" 0 "backend edu is offline*" backend set edu offline
says "and its cards with it" 0 "*$card *backend offline*" device
says "and comes back" 0 "backend edu is online" backend set edu online
is "these are two lines, too" \
	"dispatchkey: backend edu is offline dispatchkey: backend edu is online" \
	"$(klog 'dispatchkey: ' | grep -o 'dispatchkey: .*' | paste -sd ' ')"
says "the name of a backend in use is not released" 4 "*uses the backend's name*" \
	backend release edu
says "and stays" 0 "*
edu *PrivateUse1*online* 2 *dk_edu*" backend show edu
says "a card that is not there" 2 "*no device \"nothing\"*" device set nothing offline

like "nobody may look" "*$card *online*" "$(nobody "$dkctl" device 2>&1)"
like "and is told what changing needs" "*CAP_NET_ADMIN*sudo dkctl device set $card offline" \
	"$(nobody "$dkctl" device set "$card" offline 2>&1)"
says "nothing has changed" 0 "*$card *online*" device show "$card"

# ---- counting ----------------------------------------------------------------------------

says "calls are not counted at first" 0 "*not counted*dkctl stats on" stats
if dkctl stats on >"$st_tmp/on" 2>&1; then
	pass "an administrator switches counting on"
	"$client" factorial --on "$card" 5 >/dev/null
	"$client" factorial --on cpu 5 >/dev/null
	says "what was used" 0 "*1 *$op *edu_factorial*1 of 1 operators served by edu, 1 by dk_cpu" \
		stats --used
	says "from zero" 0 "*from zero*" stats reset
	says "nothing was used since" 0 "*0 of 0 operators served by edu" stats --used
	says "and off" 0 "*no longer*" stats off
else
	fail "an administrator switches counting on" "$(cat "$st_tmp/on")"
fi

# ---- a call that stays inside ------------------------------------------------------------

crowd=/sys/module/dk_crowd/parameters
# asked_in FILE - takes the device offline in the background, and waits until dkctl names the
# call inside
asked_in() {
	timeout 120 "$dkctl" device set crowd000 offline >"$1" 2>&1 &
	asked=$!
	for _ in {1..600}; do
		! grep -q 'waiting for a call to return' "$1" 2>/dev/null || return 0
		sleep 0.1
	done
	fail "who goes offline is told who is inside" "$(cat "$1")"
}
ok "a device that calls stay inside of is there" load dk_crowd devices=1
ok "a call is inside" sh -c "echo 1 >$crowd/stay"
asked_in "$st_tmp/first"
like "who goes offline is told who is inside" \
	"dkctl: device \"crowd000\" is offline; waiting for a call to return: crowd::one card_one dk_visitor*] * ms" \
	"$(cat "$st_tmp/first")"
says "it is offline at once" 0 "*crowd000 *offline*" device show crowd000
kill $asked
wait $asked
like "whoever is not patient is not kept" 143 $?
says "and leaves it offline" 0 "*crowd000 *offline*" device show crowd000
asked_in "$st_tmp/second"
ok "the call returns" sh -c "echo 0 >$crowd/stay"
wait $asked
like "then whoever waits has done it" "0 *
device crowd000 is offline*" "$? $(cat "$st_tmp/second")"
says "the device comes back" 0 "device crowd000 is online" device set crowd000 online
ok "a call is inside once more" sh -c "echo 1 >$crowd/stay"
asked_in "$st_tmp/third"
says "somebody else brings it online" 0 "device crowd000 is online" device set crowd000 online
wait $asked
like "which ends the wait, and no call has returned" \
	"4 *went offline, but was brought online again before its calls returned" \
	"$? $(cat "$st_tmp/third")"
ok "that call returns" sh -c "echo 0 >$crowd/stay"

# ---- a provider that is unregistered while a call stays inside ----------------------------

ok "a call is inside a provider" sh -c "echo 1 >$crowd/stay"
says "which does not wait for it while it is registered" 0 \
	"provider *crowd *registered *crowd" provider crowd
ok "the provider begins to unregister" sh -c "echo 1 >$crowd/leave"
waits='crowd::one card_one dk_visitor*] * ms'
says "and the call that it waits for is named" 0 \
	"*crowd is unregistering; waiting for a call to return: $waits" provider crowd
says "also in JSON" 0 "*\"name\":\"crowd\"*\"unregistering\"*\"inside\":\[\"$waits\"]*" \
	-j provider
seen=$(nobody "$dkctl" provider crowd 2>&1)
like "nobody sees the provider" "provider *crowd *unregistering *" "$seen"
is "and not the call" "" "$(grep waiting <<<"$seen")"
ok "the call returns to a provider that leaves" sh -c "echo 0 >$crowd/stay"
says "then nothing is waited for" 0 "*\"unregistering\"*\"inside\":\[\]*" -j provider crowd
unload dk_crowd

# ---- a driver that is unloaded while its functions are counted ---------------------------

caller=/sys/module/dk_caller/parameters/call
tallied=$(ko dk_tallied)
ok "the caller loads" load dk_caller
ok "a driver with a backend fallback loads" insmod "$tallied"
dkctl stats on >/dev/null
ok "its fallback serves a call" sh -c "echo 1 >$caller"
says "which is counted" 0 "*1 *caller::op *tallied_serve*" stats --used
ok "the driver is unloaded" rmmod dk_tallied
like "nobody sees its fallback among the counters" "*caller::op *(nothing)*" \
	"$(nobody "$dkctl" stats op caller::op 2>&1 | grep -v tallied)"
is "nor its label" "" "$(nobody "$dkctl" stats 2>&1 | grep tallied)"
refused "its name is no provider's" dkctl stats provider tallied
like "its call stays in the sum" "*1 call counted
1 of them by functions that are gone*" "$(dkctl stats)"
dkctl stats off >/dev/null
unload dk_caller

# ---- a backend name that is no longer used -----------------------------------------------

says "a backend keeps the name that nobody uses" 0 "*
crowd *PrivateUse2*online* 0 *" backend show crowd
like "nobody may not release it" "*CAP_NET_ADMIN*sudo dkctl backend release crowd" \
	"$(nobody "$dkctl" backend release crowd 2>&1)"
says "an administrator releases it" 0 "the name crowd is released, PrivateUse2 is free" \
	backend release crowd
says "once" 2 "*the kernel has no backend \"crowd\"*" backend release crowd
says "one of the layout has none" 2 "*there is nothing to release" backend release CPU

# ---- events ------------------------------------------------------------------------------

timeout 30 "$dkctl" monitor >"$st_tmp/events" 2>&1 &
monitor=$!
timeout 30 "$dkctl" -j monitor >"$st_tmp/json" 2>&1 &
sleep 2
dkctl device set "$card" offline >/dev/null
dkctl device set "$card" online >/dev/null
unload dk_client
unload dk_edu
sleep 2
ok "a state is told, with the time" \
	grep -qE "^20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8}\.[0-9]{3}  device $card is o" "$st_tmp/events"
ok "a card that goes is told" grep -q "device $card unregistered" "$st_tmp/events"
ok "in JSON a line each" grep -q "{\"schema\":1,\"event\":{.*\"name\":\"$card\"" "$st_tmp/json"
unload dk_cpu
ok "the module unloads under a monitor" unload dispatchkey
wait $monitor
is "which ends then" 4 $?
like "and says so" "*dispatchkey.ko was unloaded" "$(tail -n 1 "$st_tmp/events")"
sed 's/^/#   /' "$st_tmp/events" | head -n 20
finish
