# SPDX-License-Identifier: GPL-2.0-only
"""Takes a snapshot of everything that can be read from the family, for comparisons.

usage: snapshot.py FILE    writes the snapshot, or compares it if FILE exists
"""
import os
import pickle
import re
import sys

import genl


def requests(family):
    """Yields (what, command, request, is it a dump) for each command that needs no name, for each
    dump, and for the tables and routes of some operators."""
    for name, cmd in family.spec.commands.items():
        if cmd["do"] and not cmd["admin"]:
            yield name, name, {}, False
        if cmd["dump"]:
            yield f"dump of {name}", name, {}, True
    cards = [{}] + [{"device": d["number"]} for d in family.whole("device-get")]
    for op in [o["name"] for o in family.whole("op-get")[:8]]:
        yield op, "op-get", {"name": op}, False
        for card in cards:
            yield f"table of {op} {card}", "table-get", {"op": op, **card}, True
            obj = [card if card else {"keyset": 1 << 16 | 1}]
            for dump in (False, True):
                yield f"route of {op} {card}", "route-get", {"op": op, "obj": obj}, dump


def take(family):
    """Returns {(what, is it a dump): (error, attribute set, [message])}; messages are bytes."""
    out = {}
    for what, name, values, dump in requests(family):
        cmd = family.spec.commands[name]
        answer = family.raw(name, family.spec.encode(cmd["set"], values), dump)
        out[what, dump] = (answer.error, cmd["set"], [data for _, data in answer.messages])
    return out


def difference(before, after):
    """Returns the first difference in words, or an empty string."""
    for what in sorted(set(before) | set(after)):
        if before.get(what) != after.get(what):
            return f"{what}: {before.get(what)}\nnow {after.get(what)}"
    return ""


# A kernel address in hexadecimal digits.
LETTERS = re.compile(rb"[fF]{4}[89a-fA-F][0-9a-fA-F]{11}")


def values(spec, space, data):
    """Yields (name, payload) of all attributes, including nested ones."""
    for number, payload, _ in genl.attrs(data):
        name, known = spec.by_number[space][number]
        if known["type"] == "nest":
            yield from values(spec, known["nested"], payload)
        else:
            yield f"{space}.{name}", payload


def is_address(payload):
    """Returns true for text with a kernel address, and for a 64-bit number in the kernel's half
    of the address space. The highest 4096 numbers are errnos or other small negative numbers,
    not addresses."""
    if LETTERS.search(payload):
        return True
    number = int.from_bytes(payload[:8], "little")
    return len(payload) == 8 and number >> 47 == (1 << 17) - 1 and number < 2**64 - 2**12


def addresses(spec, taken):
    """Yields (what, attribute, payload) of each kernel address."""
    for (what, _), (_, space, found) in taken.items():
        for data in found:
            for attribute, payload in values(spec, space, data):
                if is_address(payload):
                    yield what, attribute, payload


def main():
    family = genl.Family()
    path = sys.argv[1]
    if not os.path.exists(path):
        with open(path, "wb") as stream:
            pickle.dump(take(family), stream)
        return 0
    with open(path, "rb") as stream:
        before = pickle.load(stream)
    why = difference(before, take(family))
    print(why or f"the same in {len(before)} answers")
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main())
