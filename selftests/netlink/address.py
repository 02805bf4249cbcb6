# SPDX-License-Identifier: GPL-2.0-only
"""Tests that no reply contains a kernel address, neither as text nor as a number."""
import struct

import genl
import snapshot


def main():
    tap = genl.Tap(10)
    family = genl.Family()
    # First, test the search itself.
    for bad in (struct.pack("Q", 0xFFFF888004A1B000), struct.pack("Q", 0xFFFFFFFFC0A01234),
                b"edu_copy at ffff888004a1b000\0", b"0xffffffffc0a01234\0"):
        tap.ok(f"{bad!r} is an address", snapshot.is_address(bad))
    for good in (struct.pack("Q", 1 << 57), struct.pack("q", -95), b"0000:00:04.0\0"):
        tap.ok(f"{good!r} is no address", not snapshot.is_address(good))

    taken = snapshot.take(family)
    size = sum(len(data) for _, _, found in taken.values() for data in found)
    tap.ok("the replies have more than 4096 bytes", size > 4096, size)
    found = list(snapshot.addresses(family.spec, taken))
    tap.equal(f"no kernel address in {size} bytes of {len(taken)} replies", [], found)
    # The messages of refusals, for a privileged user.
    refusals = [family.raw(name, family.spec.encode(cmd["set"], {})).text or ""
                for name, cmd in family.spec.commands.items() if cmd["do"]]
    tap.equal("no kernel address in the messages of refusals", [],
              [text for text in refusals if snapshot.is_address(text.encode())])
    tap.finish()


if __name__ == "__main__":
    main()
