# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Reads the module's trace events and their fields from the header that declares them."""
import re


def nodes(path):
    """Returns a list of events with their fields; if there are none, a sentence."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    fields, found = {}, []
    for kind, name, body in re.findall(
            r"^(DECLARE_EVENT_CLASS|TRACE_EVENT(?:_FN)?|DEFINE_EVENT)\((.*?),\n(.*?)^\);",
            text, re.M | re.S):
        if kind == "DEFINE_EVENT":
            owner, name = name.split(", ")
        else:
            owner = name
            entry = body.partition("TP_STRUCT__entry(")[2].partition("TP_fast_assign")[0]
            fields[owner] = re.findall(r"DKC_TEXT\((\w+)|__field\(\w+, (\w+)\)", entry)
        if kind != "DECLARE_EVENT_CLASS":
            found.append((name, owner))
    if not found:
        return [("para", "None.")]
    return [("terms", [(f"``{name}``", [("plain", ", ".join(a or b for a, b in fields[owner]))])
                       for name, owner in found])]
