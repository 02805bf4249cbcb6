#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Converts the netlink specification for the tests.

usage: tables.py json|header SPECIFICATION

json is for the tests in Python, which then need no YAML and start faster. header is for the fuzzer.
It has the commands and the attributes of their requests.
"""
import json
import sys

import yaml


def numbered(entries):
    """Yields (number, entry). Numbers start at one; an entry can set its number."""
    number = 0
    for entry in entries:
        number = entry.get("value", number + 1)
        yield number, entry


def attributes(sets):
    out = {}
    for one in sets:
        if "subset-of" in one:
            whole = out[one["subset-of"]]
            out[one["name"]] = {a["name"]: whole[a["name"]] for a in one["attributes"]}
            continue
        out[one["name"]] = {
            a["name"]: {
                "value": number,
                "type": a["type"],
                "nested": a.get("nested-attributes"),
                "multi": a.get("multi-attr", False),
                "enum": a.get("enum"),
                "checks": a.get("checks", {}),
            }
            for number, a in numbered(one["attributes"])
        }
    return out


def commands(operations):
    out = {}
    for number, op in numbered(operations):
        do, dump = op.get("do"), op.get("dump")
        out[op["name"]] = {
            "value": number,
            "set": op["attribute-set"],
            "admin": "admin-perm" in op.get("flags", []),
            "do": do is not None,
            "dump": dump is not None,
            # The generator makes a single policy for both modes of a command, do and dump.
            "request": (do or {}).get("request", {}).get("attributes", []),
            "reply": (do or {}).get("reply", {}).get("attributes", []),
            "dumped": (dump or {}).get("reply", {}).get("attributes", []),
            "event": op.get("event", {}).get("attributes", []),
        }
    return out


def enumerations(definitions):
    out = {}
    for one in definitions:
        names = [e if isinstance(e, str) else e["name"] for e in one["entries"]]
        out[one["name"]] = {"flags": one["type"] == "flags", "entries": names}
    return out


def read(path):
    with open(path, encoding="utf-8") as stream:
        spec = yaml.safe_load(stream)
    return {
        "family": spec["name"],
        "version": spec["version"],
        "groups": [group["name"] for group in spec["mcast-groups"]["list"]],
        "enums": enumerations(spec["definitions"]),
        "sets": attributes(spec["attribute-sets"]),
        "commands": commands(spec["operations"]["list"]),
    }


KINDS = {"string": "STRING", "flag": "FLAG", "u8": "U8", "u32": "U32", "u64": "U64"}


def c_attribute(attr, nests):
    checks = attr["checks"]
    if attr["type"] == "nest":
        return f"\t{{ {attr['value']}, NEST, 0, 0, nest_{nests.index(attr['nested'])} }},"
    most = {"string": checks.get("max-len", 0), "u8": 255, "u32": 2**32 - 1}
    low, high = checks.get("min", 0), checks.get("max", most.get(attr["type"], 0))
    return f"\t{{ {attr['value']}, {KINDS[attr['type']]}, {low}, {high}, NULL }},"


def c_array(name, attrs, nests):
    lines = [f"static const struct attr {name}[] = {{"]
    lines += [c_attribute(a, nests) for a in attrs if a["type"] != "pad"]
    return lines + ["\t{ 0 }", "};"]


def header(spec):
    sets = spec["sets"]
    nests, lines, rows = [], [], []
    for cmd in spec["commands"].values():
        for name in cmd["request"]:
            nested = sets[cmd["set"]][name]["nested"]
            if nested and nested not in nests:
                nests.append(nested)
                lines += c_array(f"nest_{len(nests) - 1}", sets[nested].values(), nests)
    for cmd in spec["commands"].values():
        if not cmd["do"] and not cmd["dump"]:
            continue
        attrs = [sets[cmd["set"]][name] for name in cmd["request"]]
        lines += c_array(f"request_{cmd['value']}", attrs, nests)
        rows.append(
            f"\t{{ {cmd['value']}, {int(cmd['dump'])}, {int(cmd['admin'])}, "
            f"request_{cmd['value']} }},"
        )
    lines += [f'#define FAMILY "{spec["family"]}"', "static const struct command commands[] = {"]
    return "\n".join(lines + rows + ["};", ""])


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("json", "header"):
        sys.exit(__doc__)
    spec = read(sys.argv[2])
    sys.stdout.write(json.dumps(spec) + "\n" if sys.argv[1] == "json" else header(spec))


if __name__ == "__main__":
    main()
