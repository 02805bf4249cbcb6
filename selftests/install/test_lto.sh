#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the static libraries with link-time optimization, strips them as Debian and Fedora
# strip their packages, and links a program with them. Prints TAP.
#
# shellcheck disable=SC2317 # functions are called by ok

# shellcheck source=../lib.sh
. "$(dirname -- "$0")/lib.sh" 2>/dev/null || . "$(dirname -- "$0")/../lib.sh"

[ -n "$st_top" ] || skip_all "the project is not here"
need_command make objcopy strip nm

builds() { # CC FLAGS
	MAKEFLAGS='' make -s -j"$(nproc)" -C "$st_top" O="$st_tmp/$1" CC="$1" CFLAGS="$2" \
		"$st_tmp/$1"/libdispatchkey{,-nl}.a
}
# Debian's packages are stripped by strip -g. In Fedora's packages, objcopy removes the
# intermediate code first.
strips() { # DISTRIBUTION CC NAME
	cp "$st_tmp/$2/$3.a" "$st_tmp/$3.a"
	[ "$1" != Fedora ] || objcopy -R '.gnu.lto_*' -R '.gnu.debuglto_*' -N __gnu_lto_v1 \
		"$st_tmp/$3.a" || return
	strip -g "$st_tmp/$3.a"
}
# Prints "dk" for the names of the library, and the global names that could also be names of a
# program. Ignores two kinds that <sys/sdt.h> defines.
alien() { # NAME
	nm -g --defined-only "$st_tmp/$1.a" | awk 'NF == 3 { print $3 }' |
		grep -vE '^(_\.stapsdt\.base$|dispatchkey_[a-z_]*_semaphore$)' |
		sed 's/^dk.*/dk/' | sort -u
}
links() { # CC OPTION
	"$1" "$2" -I"$st_top/include" -I"$st_top/uapi" "$st_top/samples/hello.c" \
		-o "$st_tmp/hello" "$st_tmp/libdispatchkey.a" -pthread -lurcu-bp
}

tests() { # CC FLAGS
	local name system option
	if ! echo 'int main(void) { return 0; }' | "$1" -flto -xc - -o "$st_tmp/hello" 2>/dev/null; then
		skip "the static libraries of $1 -flto" "$1 -flto does not link here"
		return
	fi
	ok "the static libraries build by $1 $2" builds "$1" "$2" || return
	for name in libdispatchkey libdispatchkey-nl; do
		is "$name.a of $1 does not contain the path of the sources" 0 \
			"$(grep -acF "$st_top/" "$st_tmp/$1/$name.a")"
	done
	for system in Debian Fedora; do
		for name in libdispatchkey libdispatchkey-nl; do
			ok "$name.a of $1 is stripped for $system" strips $system "$1" $name
			is "$name.a of $1 for $system has no names of a program" dk "$(alien $name)"
		done
		for option in -pie -no-pie; do
			ok "$1 $option links a program with the library for $system" links "$1" $option
			is "the program of $1 $option for $system runs" "21 42 63" \
				"$("$st_tmp/hello" | tail -n 1)"
		done
	done
}

echo "TAP version 13"
tests gcc "-O2 -g -flto=auto -ffat-lto-objects"
tests clang "-O2 -g -flto"
finish
