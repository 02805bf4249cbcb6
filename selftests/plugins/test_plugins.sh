#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests plugins that are loaded and unloaded, two copies of the library, and calls at the end of
# a process. Each test runs its own process, whose output is compared with the expected output.
#
# shellcheck disable=SC2317,SC2054 # functions are called by ok; the commas are ld's

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

top=${DK_TOP:-$(cd "$st_here/../.." && pwd)}
case ${O:-build} in
/*) lib=$O ;;
*) lib=$top/${O:-build} ;;
esac
[ -e "$top/lib/libdispatchkey.map" ] ||
	skip_all "the library's sources are not beside the tests"
[ "${DK_PREBUILT:-}" = 1 ] || MAKEFLAGS='' make -s -C "$top" O="$lib" lib >&2 || exit 1
need_command timeout
major=$(cut -d. -f1 "$top/VERSION")

# c OPTION... - compiles
c() {
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -g -Wall -Wextra -Wno-unused-parameter -Werror -pthread \
		-DMAJOR="\"$major\"" -I"$top/include" -I"$top/uapi" "$@" -ldl
}
shared=(-L"$lib" -Wl,-rpath,"$lib" -ldispatchkey)
static=("$lib/libdispatchkey.a" -lurcu-bp)

# sees PROGRAM WHAT PLUGIN... - checks that the program prints the text on the standard input
sees() {
	cat >"$st_tmp/want"
	timeout -s KILL 60 "$st_tmp/$1" "${@:2}" </dev/null >"$st_tmp/got" 2>&1 || {
		local status=$?
		cat "$st_tmp/got"
		return "$status"
	}
	diff "$st_tmp/want" "$st_tmp/got"
}
destructor='unregistering in the destructor: 0
inside after that: 0'

plan 55
ok "a plugin compiles" c -shared -fPIC "$st_here/plugin.c" -o "$st_tmp/plugin.so" "${shared[@]}" ||
	finish
ok "a plugin compiles with a copy of the library" c -shared -fPIC "$st_here/plugin.c" \
	-o "$st_tmp/copy.so" "${static[@]}"
cp "$st_tmp/plugin.so" "$st_tmp/again.so"
plugin=$st_tmp/plugin.so
ok "a host compiles with the shared library" c "$st_here/host.c" -o "$st_tmp/host" "${shared[@]}"
ok "a host compiles with a copy of the library" \
	c "$st_here/host.c" -o "$st_tmp/inside" "${static[@]}"
ok "a host compiles with a copy of the library that plugins use" \
	c -rdynamic "$st_here/host.c" -o "$st_tmp/shown" "${static[@]}"

# ---- while a thread calls -----------------------------------------------------------

ok "a plugin is loaded and closed 50 times while a thread makes calls" sees host hot "$plugin" <<END
wrong: 0
strange: 0
END

# ---- with a kernel that refuses membarrier() -------------------------------------------

ok "a program that disables membarrier() compiles" c "$st_here/filtered.c" -o "$st_tmp/filtered"
ok "without membarrier(), a plugin is loaded and closed 50 times while a thread makes calls" \
	sees filtered "$st_tmp/host" hot "$plugin" <<END
wrong: 0
strange: 0
END
ok "without membarrier(), dlclose() waits for a running call" \
	sees filtered "$st_tmp/host" "forget while inside" "$plugin" <<END
begin: 0
dispatchkey: $plugin was unloaded with provider plugin, which was unregistered
let go: 1
refused: 0
END

# ---- fork() ---------------------------------------------------------------------------

ok "a program that forks while threads begin and end compiles" \
	c -rdynamic "$st_here/forks.c" -o "$st_tmp/forks" "${shared[@]}"
ok "after fork(), children can start threads" sees forks <<END
begin: 0
end: 0
END
ok "after fork(), children can start threads with two copies of the library" \
	sees forks "$st_tmp/copy.so" <<END
begin: 0
end: 0
END

# ---- the first call ---------------------------------------------------------------------

ok "a program that makes a first call compiles" \
	c "$st_here/first.c" -o "$st_tmp/first" "${shared[@]}"
ok "a call succeeds after another failed because there was no key for its thread" \
	sees first "without keys" <<END
without keys: -12
call: 1
END
export DK_TRACE=yes
ok "a call succeeds after the first thread was cancelled during a message" \
	sees first canceled <<END
dispatchkey: DK_TRACE="yes" is ignored: use 0 or 1
call: 1
END
unset DK_TRACE

# ---- a program that does not link the library -------------------------------------------

ok "a program without the library compiles" c "$st_here/loader.c" -o "$st_tmp/loader"
ok "a library with thread-local storage compiles" \
	c -shared -fPIC "$st_here/storage.c" -o "$st_tmp/any1.so"
ok "a library with static thread-local storage compiles" \
	c -shared -fPIC -DSTATIC "$st_here/storage.c" -o "$st_tmp/static1.so"
storages=("$st_tmp/any1.so" "$st_tmp/static1.so")
for i in 2 3 4; do
	cp "$st_tmp/any1.so" "$st_tmp/any$i.so"
	cp "$st_tmp/static1.so" "$st_tmp/static$i.so"
	storages+=("$st_tmp/any$i.so" "$st_tmp/static$i.so")
done
# called HOW - prints the expected output of the loader
called() {
	echo "begin: 0"
	for place in main thread; do
		printf '%s: 0 by 1\n%s: 0 by 1%s\n' $place $place "$1"
	done
	echo "end: 0"
}
ok "calls take the fast path if the library is loaded late" \
	sees loader "$plugin" "${storages[@]}" < <(called '')
ok "without membarrier(), all calls take the slow path" \
	sees filtered "$st_tmp/loader" "$plugin" "${storages[@]}" \
	< <(called ', on the slow path')

# ---- bug 5: a plugin, or the library, is loaded twice --------------------------------

ok "peer bug 05: a plugin is loaded twice, and closed in both orders" \
	sees host twice "$plugin" "$st_tmp/again.so" <<END
begin 1: 0
begin 2: 0
call: 2
$destructor
call: 2
$destructor
call: 1000
begin 1: 0
begin 2: 0
call: 2
$destructor
call: 1
$destructor
call: 1000
END
ok "peer bug 05: a plugin that fails to load leaves nothing registered" \
	sees host half "$plugin" <<END
half a begin: -5
call: 1
$destructor
call: 1000
half a begin: -5
call: 1
$destructor
call: 1000
begin: 0
call: 1
$destructor
END
# Registrations in the plugin's own copy of the library exist only there, and those of the host
# only in the host's copy. Both work, even in a child process.
there='call there: 0
by: 3
both in a child: 0
end: 0
call here: 1000'
ok "peer bug 05: the library is loaded twice, in two namespaces of the linker" \
	sees host namespace "$plugin" <<END
begin: 0
call here: 1000
$there
call here: 1000
END
ok "peer bug 05: the library is loaded twice, in the host and beside the plugin" \
	sees inside copy "$plugin" <<END
begin: 0
call here: 1000
$there
$destructor
call here: 1000
its library stays: 1
END
ok "peer bug 05: the plugin uses the host's copy of the library if its symbols are visible" \
	sees shown copy "$plugin" <<END
begin: 0
call here: 3
$there
$destructor
call here: 1000
its library stays: 1
END

ok "a plugin compiles with a copy of the library that it hides" c -shared -fPIC \
	"$st_here/plugin.c" -o "$st_tmp/hidden.so" -Wl,--exclude-libs,ALL "${static[@]}"
ok "a plugin with a copy of the library uses the host's copy" \
	sees host copy "$st_tmp/copy.so" <<END
begin: 0
call here: 3
$there
call here: 1000
its library stays: 1
$destructor
END
ok "a plugin that hides its copy of the library does not use the host's copy" \
	sees host copy "$st_tmp/hidden.so" <<END
begin: 0
call here: 1000
$there
call here: 1000
its library stays: 1
$destructor
END

closes='begin: 0
call there: 0
end: 0
the thread ends: 0'
ok "a thread ends after the plugin with a copy of the library was closed" \
	sees inside outlives "$st_tmp/copy.so" <<END
$closes
END
cd "$st_tmp" || exit
ok "a thread ends after a plugin opened by a relative name was closed" \
	sees inside outlives ./copy.so <<END
$closes
END
cd "$OLDPWD" || exit

# ---- bug 6: the end of a process -----------------------------------------------------

# before SERVED - prints the expected output up to the plugin's destructor
before() {
	echo "begin: 0
library: 0
call: $1
atexit: call: $1
destructor: call: $1"
}
late='late: call: -108
late: call by handle: -108
late: register: -108
late: release a library: -108
late: unregister: -108
late: answers that a thread must not get: 0'
ok "peer bug 06: a process ends while a thread makes calls" sees host exit "$plugin" <<END
$(before 4)
$destructor
$late
END
ok "peer bug 06: a process with a copy of the library ends while a thread makes calls" \
	sees inside exit "$plugin" <<END
$(before 1000)
$destructor
$late
END
ok "peer bug 06: a process ends with a plugin whose destructor runs late" \
	sees shown exit "$plugin" <<END
$(before 4)
unregistering in the destructor: -108
inside after that: 0
$late
END

# ---- bug 18: dlclose() during a call of the plugin's functions ------------------------

leaves='begin: 0
its own thread is inside: 0
unregistering in the destructor: 0
inside after that: 0
the thread ends: 0
call: 1000'
ok "peer bug 18: dlclose() while a thread runs in the plugin" \
	sees host thread "$plugin" <<END
$leaves
$leaves
$leaves
END
ok "peer bug 18: unregistering a plugin from inside its own call is refused" \
	sees host inside "$plugin" <<END
begin: 0
end from inside: -35
call: 6
end: 0
call: 1000
$destructor
END

ok "a plugin is closed in a child while a thread uses another registry" \
	sees host children "$plugin" <<END
begin: 0
in a child: 0
strange: 0
END

# ---- plugins that do not unregister ---------------------------------------------------

forgets="begin: 0
listen: 0
call: 7
dispatchkey: $plugin was unloaded with a registered listener, which was unregistered
dispatchkey: $plugin was unloaded with registered hooks, which were unregistered
dispatchkey: $plugin was unloaded with provider plugin, which was unregistered
call: 1000"
ok "dlclose() removes the functions of a plugin that does not unregister" \
	sees host forget "$plugin" <<END
$forgets
$forgets
begin: 0
call: 8
$destructor
call: 1000
END
ok "dlclose() of a plugin that does not unregister waits for a running call" \
	sees host "forget while inside" "$plugin" <<END
begin: 0
dispatchkey: $plugin was unloaded with provider plugin, which was unregistered
let go: 1
refused: 0
END
ok "dlclose() of a plugin that does not unregister waits for a deferred call" \
	sees host "forget deferred" "$plugin" <<END
begin: 0
call: 7
dispatchkey: $plugin was unloaded with provider plugin, which was unregistered
completed: 1
refused: 0
END
ok "dlclose() of a plugin that unregisters waits for a deferred call" \
	sees host deferred "$plugin" <<END
begin: 0
call: 7
$destructor
completed: 1
refused: 0
END
ok "the call for which dlclose() waits is reported every 10 seconds" \
	sees host "deferred for long" "$plugin" <<END
begin: 0
call: 7
dispatchkey: plugin waits for a call: plugins::work work_here (deferred)
$destructor
refused: 0
END
ok "dlclose() from inside a call of the plugin is reported" \
	sees host "forget from inside" "$plugin" <<END
begin: 0
dispatchkey: $plugin was unloaded by one of its own functions: its registrations remain
closed: 0
END
ok "dlclose() from inside a call of the plugin's older provider is reported" \
	sees host "forget from older" "$plugin" <<END
begin: 0
begin another: 0
dispatchkey: $plugin was unloaded by one of its own functions: its registrations remain
closed: 0
END
ok "dlclose() from the plugin's listener is reported" \
	sees host "forget from listener" "$plugin" <<END
begin: 0
listen: 0
end: 0
dispatchkey: $plugin was unloaded with registered hooks, which were unregistered
dispatchkey: $plugin was unloaded by one of its own functions: its registrations remain
closed: 0
END

# ---- dlclose() while something else goes on --------------------------------------------

ok "a program that closes plugins compiles" c "$st_here/closing.c" -o "$st_tmp/closing" "${shared[@]}"
removed="dispatchkey: $plugin was unloaded with provider plugin, which was unregistered"
array="dispatchkey: $plugin was unloaded with an array of provider host, which was unregistered"
ok "dlclose() waits for a call of the plugin's array, which the host has withdrawn" \
	sees closing array "$plugin" <<END
$removed
$array
returned: 1
unregister: 0
END
ok "dlclose() waits for a call of the plugin's array after unregistering the host has timed out" \
	sees closing "array after a timeout" "$plugin" <<END
unregister: -110
$removed
$array
returned: 1
unregister: 0
END
ok "dlclose() waits for a running function of a listener that is being unregistered" \
	sees closing listener "$plugin" <<END
$removed
returned: 1
END
ok "a function of the host closes a plugin whose array the host has withdrawn" \
	sees closing host "$plugin" <<END
$removed
$array
call: 0
call: -38
END
ok "a listener can fork during dlclose()" sees closing fork "$plugin" <<END
dispatchkey: $plugin was unloaded with provider there, which was unregistered
child: free: 0
parent: free: 0
status: 0
END
ok "a thread is cancelled in dlclose()" sees closing cancel "$plugin" <<END
$removed
returned: 1
unregister: 0
opens again: 1
END
ok "a plugin is closed by a function of atexit(), after another one was loaded" \
	sees closing exit "$plugin" "$st_tmp/again.so" <<END
$removed
call: -38
END

# ---- RTLD_DEEPBIND ---------------------------------------------------------------------

ok "a host with copies of the library's data compiles" \
	c -fPIE -pie "$st_here/deep.c" -o "$st_tmp/deep" "${shared[@]}"
ok "a plugin for RTLD_DEEPBIND compiles" \
	c -shared -fPIC -DPLUGIN "$st_here/deep.c" -o "$st_tmp/deep.so" "${shared[@]}"
ok "a plugin that was opened with RTLD_DEEPBIND makes the first call of a thread" \
	sees deep "$st_tmp/deep.so" <<END
plugin: -2
host: -2
END

finish
