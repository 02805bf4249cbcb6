# SPDX-License-Identifier: GPL-2.0-only
"""Compares the kernel's description of the family and its policies with the
specification: every command with its flags and modes, and the type, range and length of every
attribute in requests."""
import struct

import genl

ADMIN_PERM, CAN_DO, CAN_DUMP, HAS_POLICY = 1, 2, 4, 8
OPS, MCAST_GROUPS, POLICY, OP_POLICY = 6, 7, 8, 9
# The names of the values of NL_POLICY_TYPE_ATTR_TYPE.
TYPES = ("invalid flag u8 u16 u32 u64 s8 s16 s32 s64 binary string nul-string nested "
         "nested-array bitfield32").split()
BOUNDS = {4: "min", 5: "max", 6: "min-length", 7: "max-length", 8: "policy",
          9: "max-type", 2: "min-signed", 3: "max-signed", 12: "mask"}
WIDEST = {"u8": 2**8 - 1, "u32": 2**32 - 1, "u64": 2**64 - 1}


def number(payload):
    return int.from_bytes(payload, "little")


def first(data, kind):
    return [payload for n, payload, _ in genl.attrs(data) if n == kind]


def one_policy(data):
    out = {"type": TYPES[number(first(data, 1)[0])]}
    for kind, payload, _ in genl.attrs(data):
        if kind in BOUNDS:
            out[BOUNDS[kind]] = number(payload)
    return out


def kernels_policies(family):
    """Returns ({command: {"do" or "dump": number of a policy}}, {policy: {attribute: rule}})."""
    answer = family.sock.ask(genl.GENL_ID_CTRL, genl.CTRL_GETPOLICY,
                             genl.attr(1, struct.pack("H", family.number)), dump=True)
    if answer.error:
        raise OSError(-answer.error, answer.text)
    ops, policies = {}, {}
    for _, data in answer.messages:
        for table in first(data, OP_POLICY):
            for command, modes, _ in genl.attrs(table):
                ops[command] = {"do" if kind == 1 else "dump": number(payload)
                                for kind, payload, _ in genl.attrs(modes)}
        for table in first(data, POLICY):
            for index, known, _ in genl.attrs(table):
                policies.setdefault(index, {}).update(
                    {n: one_policy(payload) for n, payload, _ in genl.attrs(known)})
    return ops, policies


def expected_attribute(spec, known):
    kind, checks = known["type"], known["checks"]
    if kind == "string":
        return {"type": "nul-string", "max-length": checks["max-len"]}
    if kind == "flag":
        return {"type": "flag"}
    if kind == "nest":
        inner = spec.sets[known["nested"]]
        return {"type": "nested", "max-type": max(a["value"] for a in inner.values()),
                "policy": expected_policy(spec, known["nested"], inner)}
    return {"type": kind, "min": checks.get("min", 0),
            "max": checks.get("max", WIDEST[kind])}


def expected_policy(spec, space, names):
    return {spec.sets[space][name]["value"]: expected_attribute(spec, spec.sets[space][name])
            for name in names if spec.sets[space][name]["type"] != "pad"}


def resolved(policies, index):
    """Returns a copy of a policy. It contains nested policies in place of their numbers."""
    out = {}
    for attribute, told in policies.get(index, {}).items():
        out[attribute] = dict(told)
        if "policy" in told:
            out[attribute]["policy"] = resolved(policies, told["policy"])
    return out


def same_policy(expected, got):
    """Returns the first difference in words, or an empty string."""
    for attribute in sorted(set(expected) | set(got)):
        want, have = expected.get(attribute), got.get(attribute)
        if want != have:
            return f"attribute {attribute}: expected {want}, the kernel has {have}"
    return ""


def operations(tap, family):
    told = {}
    for _, entry, _ in genl.attrs(family.told[OPS]):
        one = {n: number(payload) for n, payload, _ in genl.attrs(entry)}
        told[one[1]] = one[2]
    known = {}
    for name, cmd in family.spec.commands.items():
        if cmd["do"] or cmd["dump"]:
            known[cmd["value"]] = name
    tap.equal("the kernel has the commands of the specification", sorted(known), sorted(told))
    for value, name in known.items():
        cmd = family.spec.commands[name]
        flags = HAS_POLICY | ADMIN_PERM * cmd["admin"]
        flags |= CAN_DO * cmd["do"] | CAN_DUMP * cmd["dump"]
        tap.equal(f"{name}: its modes and privileges", flags, told.get(value))


def policies_of_all(tap, family, spec):
    got = tap.attempt("the kernel returns its policies", kernels_policies, family)
    if got is None:
        return
    ops, policies = got
    for name, cmd in spec.commands.items():
        if not cmd["do"] and not cmd["dump"]:
            continue
        expected = expected_policy(spec, cmd["set"], cmd["request"])
        modes = ops.get(cmd["value"], {})
        tap.equal(f"{name}: the kernel has a policy for each of its modes",
                  sorted(["do"] * cmd["do"] + ["dump"] * cmd["dump"]), sorted(modes))
        for mode, index in modes.items():
            why = same_policy(expected, resolved(policies, index))
            tap.ok(f"{name}, {mode}: the policy equals that of the specification", not why, why)


def main():
    tap = genl.Tap(59)
    family = genl.Family()
    spec = family.spec
    tap.equal("the family has the version of the specification",
              spec.version, number(family.told[3]))
    tap.equal("the family has no header of its own", 0, number(family.told[4]))
    tap.equal("the family has the groups of the specification", spec.groups, sorted(family.groups))
    operations(tap, family)
    policies_of_all(tap, family, spec)
    tap.finish()


if __name__ == "__main__":
    main()
