#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The Debian packages in DK_DEBS, a folder that "make deb" has filled, in a minimal root of
# DK_SUITE (bookworm), made by mmdebstrap. They are installed, programs and a driver are built
# with them, dkms builds the module, and purging them leaves no file. Needs root and Debian's
# archive. Prints TAP.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "the project is not here"
need_root
need_command mmdebstrap chroot unshare
[ -n "$(ls "${DK_DEBS:-/nonexistent}"/*.deb 2>/dev/null)" ] ||
	skip_all "no packages: make deb, and set DK_DEBS to build/deb"
suite=${DK_SUITE:-bookworm}
root=$st_tmp/root
plan 15

# dkms needs /proc; it is mounted only for this command.
inside() {
	# shellcheck disable=SC2016 # the inner shell expands it
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive AUTOPKGTEST_TMP=/tmp unshare --mount sh -c \
		'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@"' \
		"$root" "$@" </dev/null
}
apt_install() { inside apt-get install -y --no-install-recommends "$@"; }
# packages NAME... - the files of these packages
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
installed_module() { find "$root/lib/modules" -name 'dispatchkey.ko*'; }

ok "a minimal root of $suite" mmdebstrap --quiet --variant=apt "$suite" "$root" || finish
mkdir "$root/debs" "$root/project"
cp "$DK_DEBS"/*.deb "$root/debs"
cp /etc/resolv.conf "$root/etc/"
ok "its archive is read" inside apt-get update
cp -r "$st_top/packaging" "$st_top/selftests" "$root/project"

# shellcheck disable=SC2046 # names of files are words
ok "the tool is installed, with what it needs" apt_install $(packages dispatchkey-tools)
ok "it runs" test_of dkctl
# shellcheck disable=SC2046
ok "the development files are installed" apt_install gcc g++ libc6-dev pkg-config \
	$(packages libdispatchkey0 libdispatchkey-nl0 libdispatchkey-dev dispatchkey-doc)
ok "programs build and run" test_of build
# shellcheck disable=SC2046
ok "the Python package is installed" apt_install $(packages python3-dispatchkey)
ok "it runs with the system's library" test_of python
ok "pages are where doc-base says" test -s "$root/usr/share/doc/dispatchkey/html/index.html"

# shellcheck disable=SC2046
ok "the module's package is installed beside a kernel's headers" \
	apt_install linux-headers-amd64 $(packages dispatchkey-dkms)
module=$(installed_module)
kver=${module#"$root"/lib/modules/}
kver=${kver%%/*}
like "dkms has built the module" "$root/lib/modules/*/updates/dkms/dispatchkey.ko*" "$module"
like "for that kernel" "$kver *" "$(modinfo -F vermagic "$module" 2>/dev/null)"
inside cp -r /usr/share/doc/dispatchkey/samples/outside /tmp
ok "a driver builds with it" inside make -s -C /tmp/outside KVER="$kver"

ok "all of it is purged" inside sh -c \
	"apt-get purge -y '*dispatchkey*' && rm -rf /tmp/*"
is "nothing is left" "" "$(ours)"
finish
