#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the tracepoints in tracefs, which trace-cmd, perf and bpftrace read, too: the events of a
# module that is loaded, makes calls, and is unloaded.
#
# shellcheck disable=SC2317 # at_exit is called by the trap

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_root
need_command insmod rmmod awk
need_module dispatchkey dk_traced dk_crowd
tracing=/sys/kernel/tracing
[ -e $tracing/events ] || mount -t tracefs tracefs $tracing 2>/dev/null ||
	skip_all "this kernel has no tracefs"
must_load dispatchkey
events=$tracing/events/dispatchkey
[ -d $events ] || skip_all "this kernel has no trace events"
! is_loaded dk_traced || rmmod dk_traced

at_exit() {
	[ ! -e "$events" ] || echo 0 >"$events/enable"
	echo "$recorded" >"$names"
}
# Names of tasks are not recorded. To record them, the kernel would patch the scheduler each time an
# event is enabled or disabled. An emulated machine may then hang, because its other CPU runs the
# old instructions.
names=$tracing/options/record-cmd
recorded=$(cat "$names")
echo 0 >"$names"
call() { echo 1 >/sys/module/dk_traced/parameters/calls; }
job() { echo 1 >/sys/module/dk_traced/parameters/job; }
clear_trace() { : >$tracing/trace; }
# Prints the recorded events, one on each line, without task, CPU and time.
traced() { sed -nE 's/^.*: (dk_[a-z_]+: .*)$/\1/p' $tracing/trace; }
# seen NAME LINE - checks that the line was recorded once
seen() { is "$1" 1 "$(traced | grep -cFx -- "$2")"; }

plan 38

# ---- the events -------------------------------------------------------------------

is "tracefs lists the tracepoints" \
	"dk_call_enter dk_call_exit dk_complete dk_drain dk_missing dk_publish dk_register dk_unregister" \
	"$(cd $events && echo dk_*)"
like "dk_call_enter has the fields op, label and device" \
	"*field:__data_loc char\[\] op;*field:__data_loc char\[\] label;*field:u32 device;*" \
	"$(cat $events/dk_call_enter/format)"
# perf and trace-cmd read "a ? x : b ? y : z" as "(a ? x : b) ? y : z", so "b ? y : z" needs
# parentheses.
cat $events/dk_*/format >"$st_tmp/formats"
is "each tracepoint has a format" 8 "$(grep -c '^print fmt:' "$st_tmp/formats")"
lacks "formats have parentheses around nested conditional expressions" \
	'^print fmt:.*\?[^(,]*:[^(,]*\?' "$st_tmp/formats"

# ---- a module is loaded, makes calls, and is unloaded -------------------------------

clear_trace
echo 1 >$events/enable
ok "a driver loads while all events are enabled" load dk_traced
seen "dk_register is recorded for a function" \
	"dk_register: op=traced::op key=CPU label=on_cpu provider=traced device=0 device_name="
seen "dk_register is recorded for a second function of the operator" \
	"dk_register: op=traced::op key=AutogradCPU label=on_autograd provider=traced device=0 device_name="
seen "dk_register is recorded for a function of an atomic operator" \
	"dk_register: op=traced::swift key=CPU label=on_cpu provider=traced device=0 device_name="
seen "dk_publish is recorded for an operator without functions" \
	"dk_publish: op=traced::op table=full functions=0"
seen "dk_publish is recorded for an operator with two functions" \
	"dk_publish: op=traced::op table=full functions=2"
clear_trace
ok "the driver makes calls while all events are enabled" call
is "the events of the calls are recorded in order" "dk_missing: op=traced::op key=CUDA error=-38
dk_call_enter: op=traced::swift key=CPU label=on_cpu device=0
dk_call_exit: op=traced::swift key=CPU label=on_cpu device=0 result=-16
dk_call_enter: op=traced::op key=AutogradCPU label=on_autograd device=0
dk_call_enter: op=traced::op key=CPU label=on_cpu device=0 redispatch
dk_call_exit: op=traced::op key=CPU label=on_cpu device=0 result=-16
dk_call_exit: op=traced::op key=AutogradCPU label=on_autograd device=0 result=-16" \
	"$(traced | sed -E 's/ keyset=0x[0-9a-f]+//')"
like "dk_missing has the keyset of the call" \
	"*dk_missing: op=traced::op key=CUDA keyset=0x10002 error=-38*" "$(traced)"
clear_trace
ok "the driver defers a call and completes it" job
is "dk_complete is recorded after a deferred call" \
	"dk_call_enter: op=traced::job key=CPU label=submit device=0
dk_call_exit: op=traced::job key=CPU label=submit device=0 result=0
dk_complete: op=traced::job key=CPU label=submit provider=traced device=0 result=-5" \
	"$(traced | sed -E 's/ (keyset=0x[0-9a-f]+|ms=[0-9]+)//')"
clear_trace
ok "a driver with a device loads while all events are enabled" load dk_crowd devices=1
like "dk_register has the name of the device" \
	"*dk_register: op=crowd::one * label=card_one provider=crowd device=[1-9]* device_name=crowd000*" "$(traced)"
clear_trace
ok "the device is called twice" sh -c 'echo 1 >/sys/module/dk_crowd/parameters/call'
is "the events of these calls have the number of the device" 4 \
	"$(traced | grep -cE '^dk_call_(enter|exit): .* label=card_one device=[1-9]')"
unload dk_crowd
clear_trace
ok "the driver unloads while all events are enabled" unload dk_traced
seen "dk_unregister is recorded for a function" \
	"dk_unregister: op=traced::op key=CPU label=on_cpu provider=traced device=0 device_name="
seen "dk_drain is recorded before the wait for running calls" \
	"dk_drain: provider=traced begin unregister"
seen "dk_drain is recorded after the wait, with no running call" \
	"dk_drain: provider=traced end unregister empty"
echo 0 >$events/enable

# ---- one at a time ------------------------------------------------------------------

ok "a driver loads while no event is enabled" load dk_traced
clear_trace
ok "the driver makes calls while no event is enabled" call
is "no call is recorded while no event is enabled" "" "$(traced)"
for event in dk_missing dk_call_enter dk_call_exit; do
	echo 1 >$events/$event/enable
	clear_trace
	call
	is "$event is recorded if only this event is enabled" \
		$event "$(traced | sed 's/:.*//' | sort -u)"
	echo 0 >$events/$event/enable
done
echo 'op == "traced::swift"' >$events/dk_call_enter/filter
echo 1 >$events/dk_call_enter/enable
clear_trace
call
is "with a filter by operator, only its calls are recorded" \
	"dk_call_enter: op=traced::swift" "$(traced | cut -d' ' -f1-2)"
echo 0 >$events/dk_call_enter/filter
echo 0 >$events/dk_call_enter/enable

# ---- a long name --------------------------------------------------------------------

unload dk_traced
clear_trace
echo 1 >$events/enable
ok "a driver with a label of 9000 bytes loads" load dk_traced long_label=1
seen "the event has the beginning of the label" \
	"dk_register: op=traced::op key=CPU label=$(printf 'l%.0s' {1..124})... provider=traced device=0 device_name="
echo 0 >$events/enable

# ---- addresses, and unloading while events are enabled ----------------------------------

echo 1 >$events/enable
call
traced >"$st_tmp/traced"
lacks "events contain no addresses" '[fF]{4}[0-9a-fA-F]{8,}' "$st_tmp/traced"
ok "a driver that has made calls unloads while all events are enabled" unload dk_traced
ok "dispatchkey unloads while all events are enabled" unload dispatchkey
ok "dispatchkey loads again" load dispatchkey
is "all events are disabled after dispatchkey was loaded again" 0 "$(cat $events/enable)"

finish
