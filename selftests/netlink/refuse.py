# SPDX-License-Identifier: GPL-2.0-only
"""Sends requests that must be refused. Each refusal must have a message and name the attribute. The
policy refuses wrong attributes of every request in the specification; the module refuses the
requests in a table. After all refusals, the registry must be unchanged."""
import errno
import os
import struct

import genl
import snapshot

E = errno
F_ECHO, F_EXCL = 8, 0x200
UNKNOWN, NESTED = "nothing::of-that-name", genl.NLA_F_NESTED
# The size of the netlink header and of the generic netlink header.
HEADERS = 20


def modes(cmd):
    return [False] * cmd["do"] + [True] * cmd["dump"]


# For errors after a dump has begun, older kernels report no attribute, only the message.
WHERE_IN_DUMPS = tuple(int(n) for n in os.uname().release.split(".")[:2]) >= (6, 10)


def check(tap, what, answer, errors, offset=None, missing=None, begun=False):
    """Tests that a request was refused with a message and with the attribute: its offset in the
    request, or the type of a missing attribute."""
    why = []
    if begun and not WHERE_IN_DUMPS:
        offset = missing = None
    if -answer.error not in errors:
        why.append(f"expected {[E.errorcode[e] for e in errors]}")
    if not answer.text or answer.text.strip() != answer.text:
        why.append("no message, or spaces around it")
    if answer.offset != (None if offset is None else HEADERS + offset):
        why.append(f"expected the offset of the attribute: {offset}")
    if missing is not None and answer.missing != missing:
        why.append(f"expected attribute {missing} to be reported as missing")
    if answer.messages:
        why.append("there are other messages")
    tap.ok(what, not why, f"{'; '.join(why)}: {answer}")


# ---- refusals by the policy ---------------------------------------------------------

def bad_scalar(known):
    """Yields invalid attributes for a number: (how, attribute, errnos)"""
    size = struct.calcsize(genl.SCALARS[known["type"]])
    number, checks = known["value"], known["checks"]
    good = checks.get("min", 0)
    for length in (0, size - 1, size + 1):
        yield f"{length} bytes", genl.attr(number, bytes(length)), {E.EINVAL, E.ERANGE}
    yield ("marked as nested", genl.attr(number | NESTED, good.to_bytes(size, "little")),
           {E.EINVAL})
    if checks.get("min"):
        yield ("too low", genl.attr(number, (checks["min"] - 1).to_bytes(size, "little")),
               {E.ERANGE})
    if "max" in checks:
        for value in (checks["max"] + 1, 2 ** (8 * size) - 1):
            yield f"{value}", genl.attr(number, value.to_bytes(size, "little")), {E.ERANGE}


def bad_string(known):
    number, most = known["value"], known["checks"]["max-len"]
    bad = {E.EINVAL, E.ERANGE}
    yield "no byte", genl.attr(number), bad
    yield "without an end", genl.attr(number, b"CPU"), bad
    yield f"{most + 1} characters", genl.attr(number, b"x" * (most + 1) + b"\0"), bad
    yield "60000 characters", genl.attr(number, b"x" * 60000 + b"\0"), bad
    yield "marked as nested", genl.attr(number | NESTED, b"CPU\0"), {E.EINVAL}


def bad_attribute(known):
    if known["type"] == "string":
        yield from bad_string(known)
    elif known["type"] == "flag":
        yield "with a payload", genl.attr(known["value"], b"1"), {E.EINVAL, E.ERANGE}
    elif known["type"] == "nest":
        yield "not marked as nested", genl.attr(known["value"]), {E.EINVAL}
    else:
        yield from bad_scalar(known)


def by_policy(tap, family, name, dump):
    spec = family.spec
    cmd = spec.commands[name]
    space = spec.sets[cmd["set"]]
    mode = "dump of " if dump else ""
    for one in cmd["request"]:
        for how, payload, errors in bad_attribute(space[one]):
            check(tap, f"{mode}{name}: {one}, {how}", family.raw(name, payload, dump), errors, 0)
        if space[one]["type"] != "nest":
            continue
        for inner in spec.sets[space[one]["nested"]].values():
            if inner["type"] == "pad":
                continue
            for how, payload, errors in bad_attribute(inner):
                nest = genl.attr(space[one]["value"] | NESTED, payload)
                check(tap, f"{mode}{name}: {inner['value']} in {one}, {how}",
                      family.raw(name, nest, dump), errors, 4)
    # Attributes of other commands, and unknown ones.
    others = [a["value"] for n, a in space.items() if n not in cmd["request"]]
    strangers = others + [max(a["value"] for a in space.values()) + 1, 0x3FFF, 0]
    for number in strangers:
        check(tap, f"{mode}{name}: attribute {number} of another command",
              family.raw(name, genl.attr(number, bytes(4)), dump), {E.EINVAL}, 0)
    for how, tail in (("one byte after the attributes", b"\0"), ("a truncated attribute",
                      genl.attr(1, b"", 400))):
        check(tap, f"{mode}{name}: {how}", family.raw(name, tail, dump), {E.EINVAL})


def by_header(tap, family, name, dump):
    mode = "dump of " if dump else ""
    flags = genl.F_REQUEST | (genl.F_DUMP if dump else genl.F_ACK)
    check(tap, f"{mode}{name}: reserved bits in the header",
          family.raw(name, b"", flags=flags, reserved=1), {E.EINVAL})
    check(tap, f"{mode}{name}: an unsupported flag in the header",
          family.raw(name, b"", flags=flags | 0x400), {E.EINVAL})


# ---- refusals by the module ---------------------------------------------------------

def objects(n, card):
    return {"obj": [{"device": card["number"]} for _ in range(n)]}


def table(family):
    """Yields (what, command, is it a dump, request, errnos, the wrong attribute or None,
    the missing attribute or None). An attribute in a nest is (nest, attribute)."""
    card, other = family.whole("device-get")[:2]
    op = family.whole("op-get")[0]["name"]
    layout = family.do("layout-get")
    backends, cpu = len(layout["backend"]), layout["backend"][0]["name"]
    no_key = max(a["number"] for a in layout["alias"]) + 1
    unknown_bits = 1 << 63
    no_device = {E.ENODEV}
    bad = {E.EINVAL}
    # The attributes that select a backend or a device.
    for name in ("backend-get", "backend-set", "device-get", "device-set"):
        absent = no_device if name[0] == "d" else {E.ENOENT}
        state = {"state": 1} if name.endswith("set") else {}
        numbered = [card["number"], other] if name[0] == "d" else [1, {"name": card["backend-name"]}]
        yield "neither number nor name", name, False, state, bad, None, None
        yield "an unknown name", name, False, {"name": UNKNOWN, **state}, absent, "name", None
        yield "an empty name", name, False, {"name": "", **state}, absent | bad, "name", None
        yield ("a number, and the name of another one", name, False,
               {"number": numbered[0], "name": numbered[1]["name"], **state}, bad, "name", None)
        if name[0] == "d":
            yield ("an unknown number", name, False, {"number": 0xFFFFFFFF, **state}, absent,
                   "number", None)
            yield ("number 4095, which is unused", name, False, {"number": 4095, **state},
                   absent, "number", None)
        elif backends < 16:
            yield ("an unused number", name, False, {"number": backends + 1, **state},
                   absent | bad, "number", None)
    for name, values in (("backend-set", {"name": cpu}), ("device-set", {"name": card["name"]})):
        yield "no state", name, False, values, bad, None, "state"
    yield ("neither state, reset nor readers", "stats-set", False, {}, bad, None, None)
    yield ("readers, and a reset of counters that are off", "stats-set", False,
           {"readers": 1, "reset": True}, {E.ENODATA}, "reset", None)
    yield ("another layout", "info-get", False, {"layout": "v0"}, {E.EPROTO}, "layout", None)
    yield ("another layout", "layout-get", False, {"name": "v0"}, {E.EPROTO}, "name", None)
    yield ("a backend with a device", "backend-release", False, {"name": card["backend-name"]},
           {E.EBUSY}, "name", None)
    yield ("a backend that the layout names", "backend-release", False, {"name": cpu}, {E.ENOENT},
           "name", None)
    # Commands that select an object by name only.
    for name in ("provider-get", "op-get", "limit-get", "backend-release"):
        yield "no name", name, False, {}, bad, None, "name"
        yield "an unknown name", name, False, {"name": UNKNOWN}, {E.ENOENT}, "name", None
        yield "an empty name", name, False, {"name": ""}, {E.ENOENT, E.EINVAL}, "name", None
    # Attributes that only a dump accepts, and attributes that a dump rejects.
    for name, known, extra in (
            ("op-get", {"name": op}, {"prefix": "sample::"}),
            ("op-get", {"name": op}, {"key": 1}),
            ("op-get", {"name": op}, {"backend": 1}),
            ("op-get", {"name": op}, {"provider": "dk_cpu"}),
            ("device-get", {"name": card["name"]}, {"backend": card["backend"]}),
            ("impl-get", {"op": op, "key": 1}, {"backend": 1}),
            ("impl-get", {"op": op, "key": 1}, {"provider": "dk_cpu"})):
        wrong = next(iter(extra))
        yield f"{wrong}, which filters dumps", name, False, {**known, **extra}, bad, wrong, None
    for name, values in (("op-get", {"name": op}), ("device-get", {"name": card["name"]}),
                         ("device-get", {"number": card["number"]}),
                         ("backend-get", {"name": cpu}), ("backend-get", {"number": 1}),
                         ("provider-get", {"name": "dk_cpu"}), ("limit-get", {"name": "devices"}),
                         ("table-get", {"op": op, "first": 1})):
        wrong = list(values)[-1]
        yield f"{wrong}, which selects one object", name, True, values, bad, wrong, None
    for extra in ({"used": True}, {"op": op}, {"provider": "dk_cpu"}):
        wrong = next(iter(extra))
        yield f"{wrong}, which filters dumps", "stats-get", False, extra, bad, wrong, None
    yield ("an unknown operator", "stats-get", True, {"op": UNKNOWN}, {E.ENOENT}, "op", None)
    for name in ("op-get", "impl-get", "stats-get"):
        yield ("an unknown provider", name, True, {"provider": UNKNOWN}, {E.ENOENT},
               "provider", None)
    # Operators, keys and devices.
    yield "no key", "impl-get", False, {"op": op}, bad, None, "key"
    for mode in (False, True):
        yield ("a key that the layout lacks", "impl-get", mode, {"op": op, "key": no_key},
               bad | {E.ENOENT}, "key", None)
        yield ("an unknown operator", "impl-get", mode, {"op": UNKNOWN, "key": 1}, {E.ENOENT},
               "op", None)
        yield ("an unknown device", "impl-get", mode,
               {"op": op, "key": 1, "device": 0xFFFFFFFF}, no_device, "device", None)
    yield ("a key that the layout lacks", "op-get", True, {"key": no_key}, bad | {E.ENOENT},
           "key", None)
    for name in ("table-get", "route-get"):
        for mode in (False, True):
            more = objects(1, card) if name == "route-get" else {"first": 1} if not mode else {}
            yield "no operator", name, mode, more, bad, None, "op"
            yield "an unknown operator", name, mode, {"op": UNKNOWN, **more}, {E.ENOENT}, "op", None
    yield "no entry", "table-get", False, {"op": op}, bad, None, "first"
    for mode, more in ((False, {"op": op, "first": 1}), (True, {"op": op})):
        yield ("an unknown device", "table-get", mode, {**more, "device": 0xFFFFFFFF},
               no_device, "device", None)
        yield ("an unknown device's name", "table-get", mode, {**more, "device-name": UNKNOWN},
               no_device, "device-name", None)
        yield ("a device's number, and the name of another one", "table-get", mode,
               {**more, "device": card["number"], "device-name": other["name"]}, bad,
               "device-name", None)
    yield ("an entry that the table lacks", "table-get", False,
           {"op": op, "first": layout["entries"]}, bad | {E.ENOENT, E.ERANGE}, "first", None)
    # Calls.
    for mode in (False, True):
        yield ("65 objects", "route-get", mode, {"op": op, **objects(65, card)},
               bad | {E.E2BIG}, "obj", None)
        yield ("an empty object", "route-get", mode, {"op": op, "obj": [{}]}, bad,
               "obj", None)
        yield ("a keyset with unknown bits", "route-get", mode,
               {"op": op, "obj": [{"keyset": unknown_bits}]}, bad, ("obj", "keyset"), None)
        for which in ("included", "excluded"):
            yield (f"unknown bits in {which}", "route-get", mode,
                   {"op": op, **objects(2, card), which: unknown_bits}, bad, which, None)
        yield ("an unknown device", "route-get", mode,
               {"op": op, "obj": [{"device": 0xFFFFFFFF}]}, no_device, ("obj", "device"), None)
        yield ("an unknown device's name", "route-get", mode,
               {"op": op, "obj": [{"device-name": UNKNOWN}]}, no_device,
               ("obj", "device-name"), None)
        yield ("a device's number, and the name of another one", "route-get", mode,
               {"op": op, "obj": [{"device": card["number"], "device-name": other["name"]}]},
               bad, ("obj", "device-name"), None)


def place(spec, space, values, wrong):
    """Returns the offset of the wrong attribute in the request; the last if there are several."""
    inner = wrong[1] if isinstance(wrong, tuple) else None
    outer = wrong[0] if inner else wrong
    found = [(payload, at) for number, payload, at in genl.attrs(spec.encode(space, values))
             if number == spec.number(space, outer)]
    payload, at = found[-1]
    if not inner:
        return at
    nested = spec.sets[space][outer]["nested"]
    return [at + 4 + inside for number, _, inside in genl.attrs(payload)
            if number == spec.number(nested, inner)][-1]


def by_module(tap, family):
    spec = family.spec
    for what, name, dump, values, errors, wrong, missing in table(family):
        space = spec.commands[name]["set"]
        answer = family.raw(name, spec.encode(space, values), dump)
        check(tap, f"{'dump of ' if dump else ''}{name}: {what}", answer, errors,
              None if wrong is None else place(spec, space, values, wrong),
              None if missing is None else spec.number(space, missing), dump)


def main():
    tap = genl.Tap(846)
    family = genl.Family()
    before = snapshot.take(family)
    for name, cmd in family.spec.commands.items():
        for dump in modes(cmd):
            by_policy(tap, family, name, dump)
            by_header(tap, family, name, dump)
    by_module(tap, family)
    why = snapshot.difference(before, snapshot.take(family))
    tap.ok("no refused request changed anything", not why, why)
    tap.finish()


if __name__ == "__main__":
    main()
