# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Converts the netlink specification to nodes: the protocol page and the manual's page."""
import re


def constant(prefix, name):
    return (prefix + name).upper().replace("-", "_")


def enumerators(header):
    """Returns the numbers of the uapi header's enumerators."""
    numbers = {}
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    for block in re.findall(r"enum \w*\s*\{(.*?)\}", text, re.S):
        value = 0
        for name, given in re.findall(r"(\w+)(?:\s*=\s*(\w+))?\s*(?:,|$)", block.strip()):
            value = int(given, 0) if given else value
            numbers[name] = value
            value += 1
    return numbers


def doc(thing):
    return " ".join(thing.get("doc", "").split())


class Protocol:
    """A parsed specification, and the numbers of the uapi header."""

    def __init__(self, spec, header):
        self.spec = spec
        self.numbers = enumerators(header)
        self.titles = {d["name"]: f"{d['type']} {d['name']}" for d in spec["definitions"]}

    def number(self, name):
        """Returns the constant with its number. Fails if the header does not have it."""
        return f"``{name}`` ({self.numbers[name]})"

    # ---- operations ------------------------------------------------------------

    def attributes(self, what, names):
        text = ", ".join(f"``{n}``" for n in names)
        return (what, [("para", text)])

    def operation(self, op):
        prefix = self.spec["operations"]["name-prefix"]
        nodes = [("subsection", op["name"]),
                 ("para", self.number(constant(prefix, op["name"])) +
                  (", needs ``CAP_NET_ADMIN``" if "admin-perm" in op.get("flags", []) else "") +
                  f"; its attributes are the `{op['attribute-set']} attributes`_"),
                 ("para", doc(op))]
        items = []
        for mode, reply in (("do", "Reply attributes"),
                            ("dump", "Attributes of each message of a dump")):
            if mode not in op:
                continue
            request = op[mode].get("request", {}).get("attributes", [])
            if request:
                items.append(self.attributes("Request attributes", request))
            if "reply" in op[mode]:
                items.append(self.attributes(reply, op[mode]["reply"]["attributes"]))
        if "event" in op:
            items.append(self.attributes(f"Attributes, sent to the group ``{op['mcgrp']}``",
                                         op["event"]["attributes"]))
        return [*nodes, ("terms", items)] if items else nodes

    # ---- attributes ------------------------------------------------------------

    def type_of(self, attr):
        if attr["type"] == "nest":
            text = f"a nest of `{attr['nested-attributes']} attributes`_"
        elif "enum" in attr:
            text = f"{attr['type']}, `{self.titles[attr['enum']]}`_"
        else:
            text = attr["type"]
        if attr.get("multi-attr"):
            text += ", any number of them"
        checks = attr.get("checks", {})
        words = [f"at most {checks['max-len']} bytes" if "max-len" in checks else "",
                 f"at least {checks['min']}" if "min" in checks else "",
                 f"at most {checks['max']}" if "max" in checks else ""]
        return ", ".join([text, *filter(None, words)])

    def attribute_set(self, aset):
        nodes = [("subsection", f"{aset['name']} attributes")]
        if doc(aset):
            nodes.append(("para", doc(aset)))
        if "subset-of" in aset:
            names = ", ".join(f"``{a['name']}``" for a in aset["attributes"])
            nodes.append(("para", f"Of the `{aset['subset-of']} attributes`_: {names}."))
            return nodes
        items = []
        for attr in aset["attributes"]:
            if attr["type"] == "pad":
                continue
            name = constant(aset["name-prefix"], attr["name"])
            body = [("para", f"{self.number(name)}, {self.type_of(attr)}.")]
            if doc(attr):
                body[0] = ("para", body[0][1] + "\n" + doc(attr))
            items.append((f"``{attr['name']}``", body))
        return [*nodes, ("terms", items)]

    # ---- definitions -----------------------------------------------------------

    def definition(self, d):
        nodes = [("subsection", self.titles[d["name"]])]
        if doc(d):
            nodes.append(("para", doc(d)))
        items = []
        for entry in d["entries"]:
            entry = entry if isinstance(entry, dict) else {"name": entry}
            items.append((self.number(constant(d["name-prefix"], entry["name"])),
                          [("para", doc(entry) or entry["name"].capitalize() + ".")]))
        return [*nodes, ("terms", items)]

    # ---- the page --------------------------------------------------------------

    def nodes(self):
        spec = self.spec
        nodes = [
            ("section", "Synopsis"),
            ("code", ["#include <linux/genetlink.h>",
                      f"#include <{spec['uapi-header']}>"]),
            ("section", "Description"),
            ("para", doc(spec)),
            ("para", f"The family is ``{spec['name']}`` (``{constant('', spec['c-family-name'])}``), "
             f"version {spec['version']}, of generic netlink."),
            ("para", "A request returns one object, and a dump (``NLM_F_DUMP``) returns a list. "
             "\"Request attributes\" below lists the attributes of both. Some of them, such as a "
             "name, select one object: a dump refuses these. Others are filters of a list: a "
             "request without ``NLM_F_DUMP`` refuses these."),
            ("para", "If the module refuses a request, the extended acknowledgement has a message, "
             "and names the attribute that is wrong or missing. Some kernels, such as Linux 6.1, "
             "do not send the attribute if the request is for a dump. Generic netlink itself "
             "refuses with ``EPERM`` a change without ``CAP_NET_ADMIN``, and with "
             "``EOPNOTSUPP`` an unknown command; these refusals have no message. If the registry "
             "changes during a dump, the dump is marked with ``NLM_F_DUMP_INTR``, perhaps only in "
             "``NLMSG_DONE``; repeat it to get a consistent state."),
            ("para", "The kernel sends up to 32 KiB at once, so a shorter receive buffer may "
             "truncate an answer."),
            ("section", "Operations"),
        ]
        for op in spec["operations"]["list"]:
            nodes += self.operation(op)
        nodes.append(("section", "Attributes"))
        for aset in spec["attribute-sets"]:
            nodes += self.attribute_set(aset)
        nodes.append(("section", "Definitions"))
        for d in spec["definitions"]:
            nodes += self.definition(d)
        groups = ", ".join(f"``{g['name']}``" for g in spec["mcast-groups"]["list"])
        return [*nodes, ("section", "Multicast groups"),
                ("para", f"{groups}: see the operation ``event``.")]
