# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Converts the public headers' comments to pages of section 3."""
import re
import sys

from . import rst

COMMENT = re.compile(r"^/\*\*\n(.*?)\n \*/\n", re.M | re.S)
HEAD = re.compile(r"(?:(struct|enum|typedef) )?(\w+)(?:\(\))? - (.*)")
WIDTH = 80 - 8     # the width of a terminal without the margin
CLIENT = "dispatchkey-nl.h"    # all others are included by <dispatchkey.h>
SEMANTICS = ("SEMANTICS with a number names a section of Documentation/semantics.rst in the "
             "sources of dispatchkey, which is semantics.html in the package dispatchkey-doc.")


class Item:
    """A comment and the declaration after it. Functions that only the kernel has are declared
    "static inline", and other inline functions DK_INLINE."""

    def __init__(self, header, comment, code):
        self.header = header
        lines = [re.sub(r"^ \* ?", "", line) for line in comment.splitlines()]
        head = HEAD.match(lines.pop(0))
        kind, self.name, self.summary = head.groups()
        while lines and lines[0].startswith((" ", "\t")):
            self.summary += " " + lines.pop(0).strip()
        self.params, self.text, self.context, self.returns = self.split(lines)
        if re.search(r"^@[\w.]+:", self.text, re.M):
            sys.exit(f"{header}: {self.name}: parameters must follow the summary; "
                     "indent a second line of the summary")
        if kind:
            self.kind = kind
        else:
            self.kind = "macro" if code.startswith("#define") else "function"
        line = code.partition("\n")[0]
        self.only_kernel = self.kind == "function" and line.startswith("static inline")
        self.inline = "DK_INLINE" in line or self.only_kernel
        self.declaration = self.declared(code)

    @staticmethod
    def split(lines):
        """Returns parameters, description, Context and Return of a comment."""
        params, parts = [], {"": [], "Context": [], "Return": []}
        part = ""
        for line in lines:
            param = re.match(r"@([\w.]+): *(.*)", line)
            section = re.match(r"(Context|Return): *(.*)", line)
            if param and not any(parts.values()):
                params.append([param[1], param[2]])
            elif params and line.startswith(("\t", "  ")) and not any(parts.values()):
                params[-1][1] += "\n" + line.strip()
            elif section:
                part = section[1]
                parts[part].append(section[2])
            elif line or parts[part]:
                parts[part].append(line)
        return params, *("\n".join(p).strip() for p in parts.values())

    def declared(self, code):
        """Returns the declaration, without a body and without attributes for the compiler."""
        if self.kind == "macro":
            head = re.match(r"#define (\w+(?:\([^)]*\))?)", code)[1]
            return re.sub(r"\s+", " ", head.replace("\\\n", ""))
        code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
        code = re.sub(r"^#.*\n", "", code, flags=re.M)
        code = re.sub(r"^(?:DK_INLINE|static inline) | DK__(?:HOT|RCU)\b", "", code)
        if self.kind in ("struct", "enum"):
            text = code[:re.search(r"^\}.*?;", code, re.M).end()]
            return re.sub(r"\n(?:[ \t]*\n)+", "\n", text)
        end = re.search(r";|\{", code).start()
        return re.sub(r"\s+", " ", code[:end]).strip() + ";"


def read(path):
    """Returns all items of a header, in the header's order."""
    text = path.read_text(encoding="utf-8")
    return [Item(path.name, m[1], text[m.end():]) for m in COMMENT.finditer(text)
            if HEAD.match(re.sub(r"^ \* ?", "", m[1].splitlines()[0]))]


def wrapped(declaration):
    """Splits a prototype into lines that fit, with parameters below each other."""
    if len(declaration) <= WIDTH:
        return [declaration]
    head = declaration.index("(") + 1
    if declaration[head] == "*":     # a pointer to a function
        head = declaration.index("(", head) + 1
    params = re.findall(r"[^, ][^,]*(?:,|$)", declaration[head:])
    lines = [declaration[:head]]
    fits = head + max(map(len, params)) <= WIDTH
    pad = " " * (head if fits else 8)
    if not fits:
        lines.append(pad)
    for param in params:
        first = lines[-1] in (pad, declaration[:head])
        if not first and len(lines[-1]) + 1 + len(param) > WIDTH:
            lines.append(pad)
            first = True
        lines[-1] += param if first else " " + param
    return lines


def synopsis(item):
    """Returns the declaration in bold, with names of parameters in italics."""
    names = "|".join(sorted((re.escape(p) for p, _ in item.params), key=len, reverse=True))
    if item.kind in ("struct", "enum"):
        names = ""
        lines = item.declaration.expandtabs(4).splitlines()
    else:
        lines = wrapped(item.declaration)
    out = []
    for line in lines:
        line = line.replace("\\", "\\e").replace("-", "\\-")
        blank = re.match(r" *", line)[0]
        line = line[len(blank):]
        if names:
            line = re.sub(rf"(?<=[ *(])({names})(?=[,)\[; ]|$)", r"\\fI\1\\fB", line)
        out.append(f"{blank}\\fB{line}\\fR" if line else "\\&")
    return out


TITLES = {"struct": "members", "enum": "values", "typedef": "parameters",
          "macro": "parameters", "function": "parameters"}


def exported(path):
    """Returns the functions that the module exports."""
    return set(re.findall(r"^EXPORT_SYMBOL\w*\((\w+)", path.read_text(encoding="utf-8"), re.M))


# The headers that <dispatchkey.h> does not include in the kernel.
NOT_IN_KERNEL = (CLIENT, "dispatchkey-bare.h", "dispatchkey-schema.h")
LACKS = "Not in the kernel module."


def wrong_context(item, exports):
    """Returns what is wrong in the Context of a function. It ends with LACKS if the module lacks
    the function, and not otherwise."""
    if item.kind != "function" or item.header in NOT_IN_KERNEL:
        return None
    lacks = not item.inline and item.name not in exports
    text = " ".join(f"{item.summary} {item.text} {item.context} {item.returns}".split())
    if lacks and not " ".join(item.context.split()).endswith(LACKS):
        return f'{item.name}() is not in kmod/exports.c: its Context must end with "{LACKS}"'
    if not lacks and LACKS in text:
        return f'{item.name}() is in the module, but its comment has "{LACKS}"'
    return None


def is_in_module(items, group, exports):
    """Returns whether the module has ITEMS, which have the same name. The module has a function
    that is inline or exported. It has a type or macro if it has a function of the same GROUP, or if
    the GROUP has no functions. A GROUP is the items of a header in one section of the API pages."""
    functions = [i for i in items if i.kind == "function"]
    functions = functions or [i for i in group if i.kind == "function"]
    return not functions or any(i.inline or i.name in exports for i in functions)


def body(items, group, exports):
    """Returns the sections of a page about ITEMS, which have the same name. EXPORTS are the
    functions that the module exports."""
    client = items[0].header == CLIENT
    where = "Dispatch key library (**libdispatchkey**, ``-ldispatchkey``)" + (
        ", and the module dispatchkey(4)" if is_in_module(items, group, exports)
        else "; not in the module")
    if items[0].only_kernel:
        where = "Only in the module dispatchkey(4)"
    if client:
        where = "Client of the module dispatchkey(4) (**libdispatchkey-nl**, ``-ldispatchkey-nl``)"
    header = CLIENT.replace("-", "\\-") if client else "dispatchkey.h"
    nodes = [("section", "library"), ("para", where),
             ("section", "synopsis"),
             ("groff", [".nf", f"\\fB#include <{header}>\\fR"])]
    for item in items:
        nodes.append(("groff", ["\\&", *synopsis(item)]))
    nodes.append(("groff", [".fi"]))
    texts = [node for item in items for node in rst.Parser().parse(item.text)]
    if texts:
        nodes += [("section", "description"), *texts]
    for item in items:
        if item.params:
            nodes.append(("section", TITLES[item.kind]))
            nodes.append(("terms", [(f"*{name}*" if item.kind != "enum" else f"``{name}``",
                                     [("para", what)]) for name, what in item.params]))
        if item.context:
            nodes += [("section", "context"), *rst.Parser().parse(item.context)]
        if item.returns:
            nodes += [("section", "return value"), *rst.Parser().parse(item.returns)]
    others = dict.fromkeys(i.name for i in group if i.name != items[0].name)
    nodes.append(("section", "see also"))
    library = "libdispatchkey-nl" if client else "libdispatchkey"
    nodes.append(("para", ",\n".join([*(f"{n}(3)" for n in others), f"{library}(3)"])))
    if "SEMANTICS" in items[0].summary + str(nodes):
        nodes.append(("para", SEMANTICS))
    return nodes


def groups(folder):
    """Yields (page, group, names) of the API pages, in the order of their index."""
    order = re.findall(r"^   ([a-z]+)$", (folder / "index.rst").read_text(encoding="utf-8"), re.M)
    for page in order:
        text = (folder / f"{page}.rst").read_text(encoding="utf-8")
        title = re.search(r"^=+\n(.*)\n=+$", text, re.M)[1]
        group = title
        for m in re.finditer(r"^(\S.*)\n=+$|:functions:((?: .*)?(?:\n {6,}\S.*)*)", text, re.M):
            if m[1]:
                group = m[1]
            elif m[2]:
                yield title, group, m[2].split()
