#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests dispatchkey.ko as an administrator uses it: its messages, loading and unloading, which
# modules may use its symbols, and drivers that do not unregister or do not complete a call.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

need_root
need_command insmod rmmod modinfo dmesg awk
need_module dispatchkey dk_forgetful dk_unfinished
! is_loaded dispatchkey || skip_all "dispatchkey is loaded already, and this test has to load it"
file=$(ko dispatchkey) || skip_all "no dispatchkey.ko is built (make modules DK_SELFTESTS=1)"
forgetful=$(ko dk_forgetful)
sys=/sys/module/dispatchkey
plan 49

field() { modinfo -F "$1" "$file"; }
log_lines() { klog "$1" | wc -l; }
log_tells() { klog "$1" >/dev/null; }
within() { # SECONDS COMMAND... - repeats the command until it succeeds
	local until=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$until" ] || return
		sleep 0.2
	done
}
complete_call() { echo 1 >/sys/module/dk_unfinished/parameters/complete; }

# ---- the file -------------------------------------------------------------------

version=$(field version)
like "it has a version" '[0-9]*.[0-9]*.[0-9]*' "$version"
like "it has a source version" '????????????????*' "$(field srcversion)"
like "it is built for this kernel" "$(uname -r) *" "$(field vermagic)"
is "its licence" GPL "$(field license)"
is "it depends on nothing" "" "$(field depends)"

symvers=${file%/*}/Module.symvers
if [ -f "$symvers" ]; then
	exported=$(awk -F'\t' '$3 ~ /(^|\/)dispatchkey$/' "$symvers")
	like "it exports symbols" '?*' "$exported"
	is "all of them begin with dk_" "" "$(awk -F'\t' '$2 !~ /^dk_/ { print $2 }' <<<"$exported")"
	is "all are for GPL modules" "" \
		"$(awk -F'\t' '$4 != "EXPORT_SYMBOL_GPL" { print $2 }' <<<"$exported")"
	is "all are in namespace DISPATCHKEY" "" \
		"$(awk -F'\t' '$5 != "DISPATCHKEY" { print $2 }' <<<"$exported")"
else
	for what in "it exports symbols" "all of them begin with dk_" \
		"all are for GPL modules" "all are in namespace DISPATCHKEY"; do
		skip "$what" "no Module.symvers beside the module"
	done
fi

# ---- loading and unloading --------------------------------------------------------

ok "insmod loads it" load dispatchkey
# not counting the kernel's message about an out-of-tree module
is "one line in the log" 1 "$(klog 'dispatchkey: ' | grep -vc 'taint')"
is "it tells version, layout, ABI" 1 \
	"$(log_lines "dispatchkey: version $version, layout v1, ABI [0-9]+\$")"
is "version in sysfs" "$version" "$(cat $sys/version)"
is "source version in sysfs" "$(field srcversion)" "$(cat $sys/srcversion)"
ok "rmmod unloads it" unload dispatchkey
ok "it is gone" test ! -e $sys
ok "and can be loaded again" load dispatchkey
klog_mark

# ---- its symbols ------------------------------------------------------------------

# The same module, except that it imports another namespace.
sed 's/import_ns=DISPATCHKEY/import_ns=DISPATCHKEX/' "$forgetful" >"$st_tmp/dk_forgetful.ko"
refused "a module that does not import the namespace" insmod "$st_tmp/dk_forgetful.ko"
like "the log tells why" '*dk_forgetful*namespace DISPATCHKEY*does not import it*' "$(klog)"
ok "one that imports it" load dk_forgetful
refused "peer bug 06: rmmod dispatchkey while somebody uses it is refused" rmmod dispatchkey
ok "it is still there" test -e $sys
klog_mark

# ---- a driver that forgets to unregister ------------------------------------------

left='dispatchkey: .*dk_forgetful was unloaded with provider forgetful,'
ok "a forgetful driver can be removed" unload dk_forgetful
is "the log names module and provider" 1 "$(log_lines "$left")"
is "and its hooks" 1 "$(log_lines 'dispatchkey: .*dk_forgetful was unloaded with registered hooks')"
klog_mark
ok "nothing of it is left, it can come again" load dk_forgetful
ok "and go again" unload dk_forgetful
klog_mark
refused "peer bug 05: a module fails to load after it has registered" insmod "$forgetful" fail=1
is "peer bug 05: what it left is taken out, and the log names it" 1 "$(log_lines "$left")"
klog_mark
ok "one that forgets in a registry of its own" load dk_forgetful own=1
ok "can be removed, too" unload dk_forgetful
is "the log names what it left there" 1 "$(log_lines "$left")"
is "and its hooks" 1 "$(log_lines 'dispatchkey: .*dk_forgetful was unloaded with registered hooks')"
klog_mark

ok "one that does not release an operator" load dk_forgetful hold=1
ok "can be removed, too" unload dk_forgetful
klog_mark

# ---- a driver that does not complete a call -----------------------------------------

ok "a driver with a deferred call" load dk_unfinished
rmmod dk_unfinished &
waited='dispatchkey: unfinished waits for a call: selftest::unfinished unfinished_cpu '
waited+='\(deferred\)\[[0-9]+\] 1[0-9]{4} ms$'
ok "the log tells within 20 seconds what rmmod waits for" within 20 log_tells "$waited"
ok "the call is completed" complete_call
ok "rmmod ends" wait $!
klog_mark
ok "one that also forgets to unregister" load dk_unfinished forget=1
rmmod dk_unfinished &
left='dispatchkey: module dk_unfinished was unloaded with provider unfinished, .*may block module loading$'
ok "the log tells that it forgot" within 20 log_tells "$left"
ok "while its call is waited for" kill -0 $!
ok "the call is completed" complete_call
ok "rmmod ends" wait $!
klog_mark

ok "dispatchkey unloads after all that" unload dispatchkey
is "and frees the registry that was left" 1 \
	"$(log_lines 'dispatchkey: a registry was not freed')"
is "and the operator that was held" 1 \
	"$(log_lines 'dispatchkey: operator selftest::forgotten was not released by its module')"
is "without an error" 0 "$(log_lines 'dispatchkey: the registry has')"

finish
