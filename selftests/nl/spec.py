#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints the specification in the format of words.c."""
import sys

import yaml

with open(sys.argv[1], encoding="utf-8") as f:
    spec = yaml.safe_load(f)

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
