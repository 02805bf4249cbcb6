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
need_module dispatchkey dk_cpu dk_forgetful dk_unfinished dk_lender dk_borrower dk_namesake
! is_loaded dispatchkey || skip_all "dispatchkey is loaded already, and this test has to load it"
file=$(ko dispatchkey) || skip_all "no dispatchkey.ko is built (make modules DK_SELFTESTS=1)"
forgetful=$(ko dk_forgetful)
sys=/sys/module/dispatchkey
plan 80

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
sleeps() { [[ $(</proc/"$1"/stat) == *") D "* ]]; } # PID
complete_call() { echo 1 >/sys/module/dk_unfinished/parameters/complete; }

# ---- the file -------------------------------------------------------------------

version=$(field version)
like "dispatchkey.ko has a version" '[0-9]*.[0-9]*.[0-9]*' "$version"
like "dispatchkey.ko has a source version" '????????????????*' "$(field srcversion)"
like "dispatchkey.ko is built for this kernel" "$(uname -r) *" "$(field vermagic)"
is "the licence of dispatchkey.ko is GPL" GPL "$(field license)"
is "dispatchkey.ko depends on no module" "" "$(field depends)"

symvers=${file%/*}/Module.symvers
if [ -f "$symvers" ]; then
	exported=$(awk -F'\t' '$3 ~ /(^|\/)dispatchkey$/' "$symvers")
	like "dispatchkey.ko exports symbols" '?*' "$exported"
	is "all exported symbols begin with dk_" \
		"" "$(awk -F'\t' '$2 !~ /^dk_/ { print $2 }' <<<"$exported")"
	is "all exported symbols are for GPL modules" "" \
		"$(awk -F'\t' '$4 != "EXPORT_SYMBOL_GPL" { print $2 }' <<<"$exported")"
	is "all exported symbols are in namespace DISPATCHKEY" "" \
		"$(awk -F'\t' '$5 != "DISPATCHKEY" { print $2 }' <<<"$exported")"
else
	for what in "dispatchkey.ko exports symbols" "all exported symbols begin with dk_" \
		"all exported symbols are for GPL modules" \
		"all exported symbols are in namespace DISPATCHKEY"; do
		skip "$what" "no Module.symvers beside the module"
	done
fi

# ---- loading and unloading --------------------------------------------------------

ok "insmod loads dispatchkey" load dispatchkey
# not counting the kernel's message about an out-of-tree module
is "loading dispatchkey prints one line to the log" 1 "$(klog 'dispatchkey: ' | grep -vc 'taint')"
is "the line in the log has the version, the layout and the ABI" 1 \
	"$(log_lines "dispatchkey: version $version, layout v1, ABI [0-9]+\$")"
is "sysfs shows the version" "$version" "$(cat $sys/version)"
is "sysfs shows the source version" "$(field srcversion)" "$(cat $sys/srcversion)"
ok "rmmod unloads dispatchkey" unload dispatchkey
ok "dispatchkey is not in sysfs after rmmod" test ! -e $sys
klog_mark
load dk_namesake
refused "dispatchkey does not load if another module has a netlink family of its name" \
	insmod "$(ko dispatchkey)"
is "the error is not that of a module that is loaded already" 0 "$(grep -c exists "$st_log")"
is "the log contains the reason why it does not load" 1 \
	"$(log_lines 'dispatchkey: cannot register the netlink family dispatchkey: error -17')"
unload dk_namesake
ok "dispatchkey can be loaded again" load dispatchkey
klog_mark

# ---- namespace of the symbols ------------------------------------------------------------------

# A copy of dk_forgetful.ko that imports another namespace.
sed 's/import_ns=DISPATCHKEY/import_ns=DISPATCHKEX/' "$forgetful" >"$st_tmp/dk_forgetful.ko"
refused "a module that does not import the namespace does not load" insmod "$st_tmp/dk_forgetful.ko"
like "the log contains the reason why it does not load" \
	'*dk_forgetful*namespace DISPATCHKEY*does not import it*' "$(klog)"
ok "a module that imports the namespace loads" load dk_forgetful
refused "peer bug 06: rmmod dispatchkey is refused while a module uses it" rmmod dispatchkey
ok "dispatchkey is still loaded after the refused rmmod" test -e $sys
klog_mark

# ---- a driver that forgets to unregister ------------------------------------------

left='dispatchkey: .*dk_forgetful was unloaded without unregistering provider forgetful:'
ok "a driver that does not unregister can be unloaded" unload dk_forgetful
is "the log names the unloaded module and the provider" 1 "$(log_lines "$left")"
is "the log reports the hooks of the unloaded module" \
	1 "$(log_lines 'dispatchkey: .*dk_forgetful was unloaded with registered hooks')"
klog_mark
ok "the driver can be loaded again, so none of its registrations are left" load dk_forgetful
ok "the driver can be unloaded again" unload dk_forgetful
klog_mark
refused "peer bug 05: a module fails to load after it has registered" insmod "$forgetful" fail=1
is "peer bug 05: the module's registrations are removed, and the log names its provider" \
	1 "$(log_lines "$left")"
klog_mark
ok "a driver loads that allocates a registry and does not free it" load dk_forgetful own=1
ok "the driver with that registry can be unloaded" unload dk_forgetful
is "the log names the provider in that registry" 1 "$(log_lines "$left")"
is "the log reports the hooks in that registry" \
	1 "$(log_lines 'dispatchkey: .*dk_forgetful was unloaded with registered hooks')"
klog_mark

ok "a driver loads whose provider names no module" load dk_forgetful no_owner=1
ok "that driver can be unloaded" unload dk_forgetful
is "the log names the provider that names no module" 1 "$(log_lines "$left")"
klog_mark

ok "a driver loads that does not release an operator" load dk_forgetful hold=1
ok "the driver that holds an operator can be unloaded" unload dk_forgetful
klog_mark

refused "a value for a parameter that only reports a number is refused" load dk_cpu served_copy=1
is "the log names the parameter" 1 "$(log_lines 'dk_cpu: .1. invalid for parameter .served_copy')"
klog_mark

# ---- registrations in memory that is freed before the provider is unregistered ----------

ok "a module loads that registers the functions of others" load dk_lender
ok "a driver loads whose functions another module registers" load dk_borrower
ok "the driver can be unloaded" unload dk_borrower
frees='dispatchkey: module dk_borrower frees its memory with'
is "the log names the provider with the array of the unloaded driver" 1 \
	"$(log_lines "$frees an array or a function of provider lender:")"
is "the log names the operator with the declaration of the unloaded driver" 1 \
	"$(log_lines "$frees the declaration of operator selftest::borrowed:")"
klog_mark
ok "the driver can be loaded again, so its array and operator are not left" load dk_borrower
ok "the driver can be unloaded again" unload dk_borrower
klog_mark
ok "a driver loads that withdraws its array" load dk_borrower withdraw=1
ok "the driver that has not waited for its array's calls can be unloaded" unload dk_borrower
is "the log names the provider whose calls may run in the unloaded driver" 1 \
	"$(log_lines "$frees an array or a function of provider lender:")"
klog_mark
ok "a driver loads whose function is in an array of another module" load dk_borrower function=1
ok "the driver with that function can be unloaded" unload dk_borrower
is "the log names the provider with the function of the unloaded driver" 1 \
	"$(log_lines "$frees an array or a function of provider lender:")"
klog_mark
ok "a driver loads that registers an array in init memory" load dk_borrower init=1
is "the log names the provider with the array in init memory" 1 \
	"$(log_lines "${frees/memory/init memory} an array or a function of provider borrower:")"
klog_mark
ok "that driver unregisters its provider and is unloaded" unload dk_borrower
is "the log has no line about it" 0 "$(log_lines 'dispatchkey: module dk_borrower')"
klog_mark
ok "a driver loads whose provider is in init memory" load dk_borrower provider=1
is "the log names the provider in init memory" 1 \
	"$(log_lines "${frees/memory with/init memory with} provider initial: the provider was unregistered")"
ok "that driver can be unloaded" unload dk_borrower
is "after that, the log has no line about it" 1 "$(log_lines 'dispatchkey: module dk_borrower')"
ok "the module with the functions of others can be unloaded" unload dk_lender
klog_mark

# ---- a driver that does not complete a call -----------------------------------------

# A wait with a deadline is reported, too; selftests/plugins has a wait without one.
ok "a driver with a deferred call loads" load dk_unfinished timeout=60000
rmmod dk_unfinished &
waited='dispatchkey: unfinished waits for a call: selftest::unfinished unfinished_cpu '
waited+='\(deferred\)\[[0-9]+\] 1[0-9]{4} ms$'
ok "within 20 seconds, the log names the call that rmmod waits for" within 20 log_tells "$waited"
ok "rmmod sleeps while it waits for the call" within 5 sleeps $!
ok "the deferred call is completed" complete_call
ok "rmmod ends after the deferred call is completed" wait $!
klog_mark
ok "a driver loads that has a deferred call and does not unregister" load dk_unfinished forget=1
rmmod dk_unfinished &
left='dispatchkey: module dk_unfinished was unloaded without unregistering provider unfinished: '
left+='doing so now may block module loading$'
ok "the log names the provider that is still registered" within 20 log_tells "$left"
ok "rmmod still waits for the deferred call" kill -0 $!
ok "the call of the driver that does not unregister is completed" complete_call
ok "rmmod of that driver ends after the call is completed" wait $!
klog_mark

ok "dispatchkey unloads after these drivers" unload dispatchkey
is "the log reports the registry that was not freed" 1 \
	"$(log_lines 'dispatchkey: a registry was not freed')"
is "the log reports the operator that was not released" 1 \
	"$(log_lines 'dispatchkey: operator selftest::forgotten was not released by its module')"
is "the log reports no registry that could not be freed" 0 \
	"$(log_lines 'dispatchkey: the registry has')"

finish
