# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The module's trace events and what they print, from its header."""
import re


def nodes(path):
    """A list of events with their fields; where there are none, a sentence."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    prints, found = {}, []
    for kind, name, body in re.findall(
            r"^(DECLARE_EVENT_CLASS|TRACE_EVENT(?:_FN)?|DEFINE_EVENT)\((.*?),\n(.*?)^\);",
            text, re.M | re.S):
        if kind == "DEFINE_EVENT":
            owner, name = name.split(", ")
        else:
            owner = name
            said = re.search(r'TP_printk\("(.*?)"', body)
            prints[owner] = re.findall(r"(\w+)=", said[1]) if said else []
        if kind != "DECLARE_EVENT_CLASS":
            found.append((name, owner))
    if not found:
        return [("para", "None.")]
    return [("terms", [(f"``{name}``", [("plain", ", ".join(prints[owner]))])
                       for name, owner in found])]
