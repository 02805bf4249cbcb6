#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the Debian packages in DK_DEBS, a folder that "make deb" has filled, in a minimal root of
# DK_SUITE (bookworm) that mmdebstrap makes. The packages are installed, and programs are built
# with them. dkms builds the module for a kernel, and again when the kernel is upgraded. The new
# kernel is booted in a virtual machine, where modprobe loads the module and a driver uses it.
# Purging the packages must leave no file. Needs root and Debian's archive. Prints TAP.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "the project is not here"
need_root
need_command mmdebstrap chroot unshare qemu-system-x86_64
[ -n "$(ls "${DK_DEBS:-/nonexistent}"/*.deb 2>/dev/null)" ] ||
	skip_all "no packages: make deb, and set DK_DEBS to build/deb"
suite=${DK_SUITE:-bookworm}
root=$st_tmp/root
plan 23

# Runs a command in the root. dkms needs /proc, which is mounted only for this command.
inside() {
	# shellcheck disable=SC2016 # the inner shell expands it
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive AUTOPKGTEST_TMP=/tmp unshare --mount sh -c \
		'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@"' \
		"$root" "$@" </dev/null
}
apt_install() { inside apt-get install -y --no-install-recommends "$@"; }
# packages NAME... - prints the files of these packages
packages() {
	local name
	for name; do
		echo "/debs/$(cd "$DK_DEBS" && ls "${name}"_[0-9]*.deb)"
	done
}
test_of() { inside sh -c "cd /project && packaging/debian/tests/$1"; }
ours() {
	find "$root" -xdev \( -path "$root/debs" -o -path "$root/project" -o -path "$root/tmp" \
		-o -path "$root/var/log" -o -path "$root/var/cache" \) -prune -o \
		\( -name '*dispatchkey*' -o -name 'dkctl*' \) -print
}
# Prints the second newest and the newest kernel.
kernels() {
	local newest
	newest=$(inside apt-cache depends linux-headers-amd64 | sed -n 's/^ *Depends: linux-headers-//p')
	inside apt-cache pkgnames "linux-headers-$(cut -d. -f1-2 <<<"$newest")." | sed 's/^linux-headers-//' |
		grep -E '^[0-9][^a-z]*([+]deb[0-9.]*)?-amd64$' | sort -V | grep -B 1 -Fx "$newest"
}
built_for() { # KERNEL
	find "$root/lib/modules/$1/updates" -name 'dispatchkey.ko*' 2>/dev/null
}
in_machine() { # COMMAND
	# shellcheck disable=SC2016 # the machine's shell expands it
	(cd "$root" && "$st_top/selftests/vm/run" --kernel "$root/boot/vmlinuz-$newest" \
		--modules "$root/lib/modules/$newest" -- sh -c '
		for folder in proc sys dev; do
			mount --rbind "/$folder" "$0/$folder" || exit
		done
		exec chroot "$0" sh -exc "$1"' "$root" "$1")
}

ok "mmdebstrap makes a minimal system of $suite" \
	mmdebstrap --quiet --variant=apt "$suite" "$root" || finish
mkdir "$root/debs" "$root/project"
cp "$DK_DEBS"/*.deb "$root/debs"
cp /etc/resolv.conf "$root/etc/"
ok "apt-get update succeeds in the minimal system" inside apt-get update
cp -r "$st_top/packaging" "$st_top/selftests" "$root/project"

# shellcheck disable=SC2046 # names of files are words
ok "dispatchkey-tools and its dependencies are installed" apt_install $(packages dispatchkey-tools)
ok "the installed dkctl runs" test_of dkctl
# shellcheck disable=SC2046
ok "the development files are installed" apt_install gcc g++ libc6-dev pkg-config \
	$(packages libdispatchkey0 libdispatchkey-nl0 libdispatchkey-dev dispatchkey-doc)
ok "programs with the installed libraries build and run" test_of build
# shellcheck disable=SC2046
ok "the Python package is installed" apt_install $(packages python3-dispatchkey)
ok "the Python package runs with the system's library" test_of python
ok "the HTML pages are installed" test -s "$root/usr/share/doc/dispatchkey/html/index.html"
ok "the specification of the netlink family is installed, and not compressed" \
	test -s "$root/usr/share/doc/dispatchkey/dispatchkey.yaml"

read -r -d '' older newest <<<"$(kernels)"
like "the archive has an older kernel and the newest" "*?-amd64 *?-amd64" "$older $newest"
# shellcheck disable=SC2046
ok "the module's package is installed beside an older kernel's headers" \
	apt_install "linux-headers-$older" $(packages dispatchkey-dkms)
like "dkms has built the module for the older kernel" \
	"$root/lib/modules/$older/updates/dkms/dispatchkey.ko*" \
	"$(built_for "$older")"
ok "the kernel is upgraded" apt_install linux-headers-amd64 linux-image-amd64
like "dkms has built the module for the newest kernel" \
	"$root/lib/modules/$newest/updates/dkms/dispatchkey.ko*" "$(built_for "$newest")"
like "modinfo shows the newest kernel for the module" \
	"$newest *" "$(modinfo -F vermagic "$(built_for "$newest")" 2>/dev/null)"
inside cp -r /usr/share/doc/dispatchkey/samples/outside /srv
ok "a driver builds with the module of the newest kernel" \
	inside make -s -C /srv/outside KVER="$newest"

# The driver registers card0, and a function for it.
ok "modprobe and a driver work on the newest kernel" in_machine "
	modprobe dispatchkey
	insmod /srv/outside/my.ko
	dkctl route my::add card0
	rmmod my
	modprobe -r dispatchkey"
said=$(cat "$st_log")
like "dkctl route names the driver's function" "*card_add*" "$said"

rm -r "$root/srv/outside"
ok "the module's package is removed" inside apt-get remove -y dispatchkey-dkms
is "removing the module's package removes the built modules" \
	"" "$(built_for "$older")$(built_for "$newest")"
ok "all packages are purged" inside sh -c \
	"apt-get purge -y '*dispatchkey*' && rm -rf /tmp/*"
is "after the purge, no file is left" "" "$(ours)"
finish
