#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints the specification in the format of words.c or, with --unused, the attributes that no
message of a command lists.

usage: spec.py [--unused] SPECIFICATION
"""
import sys

import yaml

with open(sys.argv[-1], encoding="utf-8") as f:
    spec = yaml.safe_load(f)


def listed(op):
    """Yields the attributes that the messages of a command list."""
    yield from op.get("event", {}).get("attributes", [])
    for mode in ("do", "dump"):
        for way in ("request", "reply"):
            yield from op.get(mode, {}).get(way, {}).get("attributes", [])


if sys.argv[1] == "--unused":
    used = {}
    for op in spec["operations"]["list"]:
        used.setdefault(op["attribute-set"], set()).update(listed(op))
    for s in spec["attribute-sets"]:
        for a in s["attributes"] if s["name"] in used else []:
            if a["type"] != "pad" and a["name"] not in used[s["name"]]:
                print(s["name"], a["name"])
    sys.exit()

subsets = {s["name"]: s["subset-of"] for s in spec["attribute-sets"] if "subset-of" in s}
for s in spec["attribute-sets"]:
    if s["name"] in subsets:
        continue
    for number, a in enumerate(s["attributes"], 1):
        line = [s["name"], a["name"], str(number), a["type"]]
        if a["type"] == "nest":
            line.append(subsets.get(a["nested-attributes"], a["nested-attributes"]))
        print(*line)
for d in spec["definitions"]:
    if d["type"] != "enum":
        continue
    for number, e in enumerate(d["entries"]):
        print(d["name"], e if isinstance(e, str) else e["name"], number)
