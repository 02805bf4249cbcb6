#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests dkctl on a running kernel, with a CPU and two edu accelerators: lists, changes and counters,
# as root and as an unprivileged user.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_root
need_command insmod rmmod setpriv unshare timeout
need_module dispatchkey dk_cpu dk_edu dk_client dk_crowd dk_tallied dk_caller
! is_loaded dispatchkey || skip_all "dispatchkey is loaded already, and this test has to load it"

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

says "without the module, dkctl prints the command that loads it" 4 \
	"dkctl: dispatchkey.ko is not loaded; type: sudo modprobe dispatchkey" backend
says "dkctl version works without the module" 0 "*dispatchkey.ko is not loaded" version
must_load dispatchkey
says "tool, library and module have the same version" 0 "*All three have the same version." version
says "without drivers, no device is listed" 0 "no devices" device
says "without drivers, no device is listed in JSON" 0 '{"schema":1,"devices":[]}' -j device
says "without drivers, no operator is listed" 0 "0 operators" op
like "dkctl op in another network namespace names the initial one" \
	"*initial network namespace*nsenter*" \
	"$(unshare -n "$dkctl" op 2>&1)"
like "dkctl version in another network namespace names the initial one" \
	"*initial network namespace*" "$(unshare -n "$dkctl" version 2>&1)"

# ---- lists -----------------------------------------------------------------------------

must_load dk_cpu dk_edu dk_client
card=$(dkctl -j device | sed 's/.*"devices":\[{"name":"\([^"]*\)".*/\1/')
op=sample::factorial
says "both cards are listed with backend and driver" 0 "*
$card *edu *online*dk_edu
*edu *online*dk_edu" device
says "a card is listed among the devices of its backend" 0 "*$card *edu*" device backend edu
says "backend edu is listed as a private backend with two devices" 0 "*
edu *PrivateUse1*online* 2 *dk_edu*" backend show edu
says "both drivers are listed as providers" 0 "*dk_cpu *dk_edu*" provider
says "an operator is listed with its functions" 0 "*cpu_factorial*dk_cpu*" op $op
says "operators of the cards' backend are listed" 0 "*$op *" op backend edu
says "functions of a card are listed" 0 "*$op *edu_factorial*$card*" kernels device "$card"
says "the built-in fallthroughs are listed" 0 "*(fallback)*fallthrough*(built in)*" \
	-s kernels
says "keys of a private backend are listed by its name" 0 "*Autocastedu *fallthrough*" -s kernels
says "limits are listed with use and maximum" 0 "*private-backends *1 *3*" limits
says "the table of an operator is drawn" 0 "*edu (PrivateUse1)*cpu_factorial of dk_cpu*" table $op
says "the table of an operator is drawn for a card" 0 \
	"*edu_factorial@$card of dk_edu*" table $op device "$card"
ok "the table of an operator is written as SVG" \
	dkctl table $op device "$card" --svg "$st_tmp/table.svg"
like "the SVG picture of a table contains the card's function" \
	"*<svg*edu_factorial*</svg>" "$(cat "$st_tmp/table.svg")"

# ---- routes ------------------------------------------------------------------------------

says "a call for a card is routed to the card's function" 0 \
	"$op($card) goes to edu_factorial@$card of dk_edu *" \
	route $op "$card"
says "a call for the CPU is routed to the CPU's function" 0 \
	"$op(CPU) goes to cpu_factorial of dk_cpu *" \
	route $op CPU
says "route -v lists the table entry and the rule for a call for a card" 0 \
	"*table entry  13: Dense on edu, for $card*rule  1*serves: edu_factorial@$card*" \
	route -v $op "$card"
says "route -v shows the included and excluded sets" 0 \
	"*included *0x404000000 *excluded *0x1ff8000000000 *" \
	route -v $op 'CPU|AutocastCPU'
says "route with a mistyped operator name suggests the operator" 2 \
	"*did you mean \"$op\"?" route sample::factorail CPU
says "kernels with an unknown operator fails" 2 "*no operator \"foo\"*" kernels op foo
says "op with an unknown provider fails" 2 "*no provider \"foo\"*" op provider foo
says "route with an unknown device fails" 2 "*has no device, backend or keyset*" route $op nothing

# ---- switching --------------------------------------------------------------------------

klog_mark
says "device set takes a card offline" 0 "device $card is offline*" device set "$card" offline
says "a card that is offline is listed as offline" 0 "*$card *offline*" device
says "while a card is offline, its calls are routed to the CPU's function" 0 \
	"*goes to cpu_factorial of dk_cpu*" route $op "$card"
like "while a card is offline, the CPU's function serves its calls" "*served by cpu_factorial*" \
	"$("$client" factorial --on "$card" 5 2>&1)"
says "device set offline succeeds for a card that is already offline" 0 \
	"device $card is offline*" device set "$card" offline
ok "functions of an offline card are listed as offline, not as overridden" \
	awk '/edu_/ { n += /offline/ && !/overridden/ } END { exit n != 3 }' \
	<(dkctl kernels device "$card")
says "route -v says that the card is offline" 0 "*$card, which is offline*" route -v $op "$card"
says "device set brings a card online" 0 "device $card is online" device set "$card" online
is "the kernel log has one line for each change of a card's state" \
	"dispatchkey: device $card is offline dispatchkey: device $card is online" \
	"$(klog 'dispatchkey: ' | grep -o 'dispatchkey: .*' | paste -sd ' ')"
klog_mark
like "the card's function serves calls after the card was brought online" \
	"*served by edu_factorial*" "$("$client" factorial --on "$card" 5 2>&1)"
says "backend set takes a backend offline" 0 "backend edu is offline*" backend set edu offline
says "a card of an offline backend is listed as \"backend offline\"" 0 \
	"*$card *backend offline*" device
says "backend set brings a backend online" 0 "backend edu is online" backend set edu online
is "the kernel log has one line for each change of a backend's state" \
	"dispatchkey: backend edu is offline dispatchkey: backend edu is online" \
	"$(klog 'dispatchkey: ' | grep -o 'dispatchkey: .*' | paste -sd ' ')"
says "releasing the name of a backend in use fails" 4 "*uses the backend's name*" \
	backend release edu
says "a backend whose name was not released keeps its name" 0 "*
edu *PrivateUse1*online* 2 *dk_edu*" backend show edu
says "device set with an unknown device fails" 2 \
	"*no device \"nothing\"*" device set nothing offline

like "an unprivileged user can list devices" "*$card *online*" "$(nobody "$dkctl" device 2>&1)"
like "a change by an unprivileged user fails and names CAP_NET_ADMIN" \
	"*CAP_NET_ADMIN*sudo dkctl device set $card offline" \
	"$(nobody "$dkctl" device set "$card" offline 2>&1)"
like "a change by root of a user namespace fails without the advice to become root" \
	"dkctl: this needs CAP_NET_ADMIN in the initial user namespace, *" \
	"$(unshare -Ur "$dkctl" device set "$card" offline 2>&1)"
says "a refused change has no effect" 0 "*$card *online*" device show "$card"

# ---- counting ----------------------------------------------------------------------------

says "calls are not counted by default" 0 "*not counted*dkctl stats on" stats
says "while calls are not counted, an unknown operator is refused" 2 \
	"*no operator \"nothing::at_all\"*" stats op nothing::at_all
if dkctl stats on >"$st_tmp/on" 2>&1; then
	pass "root can switch on the counting of calls"
	"$client" factorial --on "$card" 5 >/dev/null
	"$client" factorial --on cpu 5 >/dev/null
	says "stats --used lists the functions that were called" 0 \
		"*1 *$op *edu_factorial*1 of 1 operators served by edu, 1 by dk_cpu" \
		stats --used
	says "stats reset clears the counters" 0 "*are now zero*" stats reset
	says "after stats reset, no operator is listed as used" 0 \
		"0 calls counted
no operator was called" stats --used
	says "root can switch off the counting of calls" 0 "*no longer*" stats off
else
	fail "root can switch on the counting of calls" "$(cat "$st_tmp/on")"
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
	fail "device set offline names the running call that it waits for" "$(cat "$1")"
}
ok "a device is registered whose calls run until they are released" load dk_crowd devices=1
ok "a call for the device runs" sh -c "echo 1 >$crowd/stay"
asked_in "$st_tmp/first"
like "device set offline names the running call that it waits for" \
	"dkctl: device \"crowd000\" is offline; waiting for a call to return: crowd::one card_one@crowd000 dk_visitor*] * ms" \
	"$(cat "$st_tmp/first")"
says "a device is listed as offline while device set waits for its calls" 0 \
	"*crowd000 *offline*" device show crowd000
kill $asked
wait $asked
like "a waiting device set can be killed" 143 $?
says "the device stays offline after device set was killed" 0 \
	"*crowd000 *offline*" device show crowd000
asked_in "$st_tmp/second"
ok "the running call returns" sh -c "echo 0 >$crowd/stay"
wait $asked
like "device set offline succeeds after the call has returned, and names the unserved operator" "0 *
device crowd000 is offline; crowd::one at crowd has no other function for calls on this device" "$? $(cat "$st_tmp/second")"
says "the device is brought online after its call has returned" 0 \
	"device crowd000 is online" device set crowd000 online
tracing=/sys/kernel/tracing
[ -e $tracing/events ] || mount -t tracefs tracefs $tracing
: >$tracing/trace
echo 1 >$tracing/events/dispatchkey/dk_drain/enable
ok "another call for the device runs" sh -c "echo 1 >$crowd/stay"
asked_in "$st_tmp/third"
says "another dkctl brings the device online" 0 \
	"device crowd000 is online" device set crowd000 online
wait $asked
like "device set offline fails if the device is brought online before its calls return" \
	"4 *went offline, but was brought online again before its calls returned" \
	"$? $(cat "$st_tmp/third")"
echo 0 >$tracing/events/dispatchkey/dk_drain/enable
is "dk_drain shows that all waits ended with a running call" "provider=crowd end inside" \
	"$(grep -o 'provider=crowd end.*' $tracing/trace | sort -u)"
ok "the second running call returns" sh -c "echo 0 >$crowd/stay"

# ---- a provider that is unregistered while a call stays inside ----------------------------

ok "a call of a provider's function runs" sh -c "echo 1 >$crowd/stay"
says "a registered provider is not listed as waiting for its call" 0 \
	"provider *crowd *registered *crowd" provider crowd
ok "the provider starts to unregister" sh -c "echo 1 >$crowd/leave"
waits='crowd::one card_one@crowd000 dk_visitor*] * ms'
says "a provider that is unregistering is listed with the call that it waits for" 0 \
	"*crowd is unregistering; waiting for a call to return: $waits" provider crowd
says "JSON output lists the call that an unregistering provider waits for" 0 \
	"*\"name\":\"crowd\"*\"unregistering\"*\"inside\":\[\"$waits\"]*" \
	-j provider
seen=$(nobody "$dkctl" provider crowd 2>&1)
like "an unprivileged user can list a provider that is unregistering" \
	"provider *crowd *unregistering *" "$seen"
is "an unprivileged user cannot list the call that the provider waits for" "" \
	"$(grep waiting <<<"$seen")"
ok "the call of the unregistering provider returns" sh -c "echo 0 >$crowd/stay"
says "after the call has returned, no call is listed for the provider" 0 \
	"*\"unregistering\"*\"inside\":\[\]*" -j provider crowd
unload dk_crowd

# ---- a driver that is unloaded while its functions are counted ---------------------------

caller=/sys/module/dk_caller/parameters/call
tallied=$(ko dk_tallied)
ok "a module that calls an operator loads" load dk_caller
ok "a driver with a backend fallback loads" insmod "$tallied"
dkctl stats on >/dev/null
ok "the driver's fallback serves a call" sh -c "echo 1 >$caller"
says "a call that a fallback served is counted" 0 "*1 *caller::op *tallied_serve*" stats --used
ok "a driver with a counted fallback unloads" rmmod dk_tallied
nobody "$dkctl" stats op caller::op >"$st_tmp/counters" 2>&1
ok "an unprivileged user finds the counters of an operator" \
	grep 'caller::op *(nothing)' "$st_tmp/counters"
lacks "an unprivileged user finds no fallback of an unloaded driver among the counters" \
	tallied "$st_tmp/counters"
nobody "$dkctl" stats >"$st_tmp/stats" 2>&1
ok "an unprivileged user finds the unserved calls" grep 'caller::op *(nothing)' "$st_tmp/stats"
lacks "an unprivileged user finds no label of an unloaded driver" tallied "$st_tmp/stats"
says "the name of an unloaded driver is an unknown provider" 2 \
	"*no provider \"tallied\"*" stats provider tallied
like "calls of an unloaded driver's functions remain in the sum" "*1 call counted
1 of them by functions that are no longer registered*" "$(dkctl stats)"
dkctl stats off >/dev/null
unload dk_caller

# ---- a backend name that is no longer used -----------------------------------------------

says "an unused private backend keeps its name" 0 "*
crowd *PrivateUse2*online* 0 *" backend show crowd
like "an unprivileged user cannot release a backend's name" \
	"*CAP_NET_ADMIN*sudo dkctl backend release crowd" \
	"$(nobody "$dkctl" backend release crowd 2>&1)"
says "root can release an unused backend's name" 0 \
	"the name crowd is released, PrivateUse2 is free" \
	backend release crowd
says "releasing a backend's name a second time fails" 2 \
	"*the kernel has no backend \"crowd\"*" backend release crowd
says "releasing the name of a backend of the layout fails" 2 \
	"*no private name to release" backend release CPU

# ---- events ------------------------------------------------------------------------------

number=$(dkctl -j device "$card" | grep -o '"number":[0-9]*' | cut -d: -f2)
timeout 30 "$dkctl" monitor >"$st_tmp/events" 2>&1 &
monitor=$!
timeout 30 "$dkctl" -j monitor >"$st_tmp/json" 2>&1 &
sleep 2
dkctl device set "$card" offline >/dev/null
dkctl device set "$card" online >/dev/null
unload dk_client
unload dk_edu
sleep 2
ok "monitor prints a change of a card's state with the time" \
	grep -qE "^20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8}\.[0-9]{3}  device $card is o" "$st_tmp/events"
ok "monitor prints that a card was unregistered" \
	grep -q "device $card unregistered" "$st_tmp/events"
events_of() { sed -n "s/.*  provider $1 //p" "$st_tmp/events"; }
is "monitor prints that a provider is being unregistered, and then that it is unregistered" \
	"is being unregistered unregistered" "$(events_of dk_edu | paste -sd' ')"
ok "monitor prints each event as one line of JSON" \
	grep -q "{\"schema\":1,\"event\":{.*\"name\":\"$card\"" "$st_tmp/json"
ok "JSON output has the device number of a function that is unregistered" \
	grep -q "impl-removed.*\"number\":$number,\"key\":\"edu\"" "$st_tmp/json"
unload dk_cpu
ok "dispatchkey unloads while dkctl monitor runs" unload dispatchkey
wait $monitor
is "monitor ends with status 4 when dispatchkey is unloaded" 4 $?
like "monitor prints that dispatchkey was unloaded" \
	"*dispatchkey.ko was unloaded" "$(tail -n 1 "$st_tmp/events")"
sed 's/^/#   /' "$st_tmp/events" | head -n 20
finish
