#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the commands of the guides that need the module, as a reader types them. The tool, the
# library and the modules are installed first, so run this only on a machine that discards
# changes. scripts/check-docs finds the commands, runs them and compares their output.

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

# The tree with the pages. This script may be a link in a folder in which modules are built.
top=$(dirname -- "$(realpath -- "$0")")/../..
build=${DK_BUILD:-$st_top/build}
modules=(dispatchkey dk_cpu dk_edu dk_client)

need_root
need_command python3 modprobe depmod
[ -e "$top/scripts/check-docs" ] || skip_all "the pages are not beside the tests"
# This test must not change the installed files of a real machine.
[ "${DK_VM-}" = 1 ] || skip_all "not in the virtual machine of selftests/vm"
[ -x "$build/dkctl" ] || skip_all "no dkctl at $build, type make"
[ -f "${DK_OUTSIDE-}/driver/my.ko" ] ||
	skip_all "no driver outside of the tree (DK_OUTSIDE, of selftests/module/outside_driver.sh)"
need_module "${modules[@]}"

# Unloads all modules: names of backends stay bound as long as dispatchkey is loaded.
unload_modules() {
	local i
	! is_loaded my || rmmod my
	for ((i = ${#modules[@]} - 1; i >= 0; i--)); do
		! is_loaded "${modules[i]}" || rmmod "${modules[i]}"
	done
}
unload_modules

# Installs the modules in a folder without the thousands of other modules of the machine.
folder=/lib/modules/$(uname -r)
mkdir -p "$st_tmp/tree$folder/updates" /usr/local/bin /usr/local/lib
for module in "${modules[@]}"; do
	cp "$(ko "$module")" "$st_tmp/tree$folder/updates" || skip_all "no $module.ko"
done
cp "$folder"/modules.{builtin*,order} "$st_tmp/tree$folder"
depmod -b "$st_tmp/tree"
mount --bind "$st_tmp/tree$folder" "$folder" || skip_all "no folder can be mounted here"
# shellcheck disable=SC2317 # called by the trap
at_exit() {
	unload_modules
	umount "$folder"
}

cp "$build/dkctl" "$build/samples/dk_client" /usr/local/bin
cp -P "$build"/libdispatchkey*.so* /usr/local/lib

mkdir "$st_tmp/my"
cp "$DK_OUTSIDE/driver/my.ko" "$st_tmp/my"
echo "TAP version 13"
run_tap env PATH="/usr/local/bin:$PATH" LD_LIBRARY_PATH=/usr/local/lib \
	"$top/scripts/check-docs" --machine "$st_tmp"
finish
