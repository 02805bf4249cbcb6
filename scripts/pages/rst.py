# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Converts the reST that the manual's sources and the headers' comments use to nodes, and nodes to
reST."""
import re
import textwrap

DIRECTIVE = re.compile(r"\.\. ([\w-]+)::\s*(.*)$")
TITLE = re.compile(r"([=\-~^\"*])\1{2,}$")
MARK = re.compile(r"(?:[*-]|\d+\.) +(?=\S)")


def indent_of(line):
    return len(line) - len(line.lstrip())


class Parser:
    """Converts lines to nodes. EXPAND(name, argument) returns the nodes of a directive of
    this project."""

    def __init__(self, expand=None):
        self.expand = expand or (lambda name, argument: [])
        self.levels = []

    def title(self, char, text, over):
        """Returns a heading. The first kind of underline is that of sections, the second one that
        of subsections. CHAR is the character of the line, and OVER means that there is such a line
        above, too. If the first heading is between two lines of "=", it is the page's title, which
        is left out."""
        if (char, over) not in self.levels:
            self.levels.append((char, over))
        level = self.levels.index((char, over))
        if self.levels[0] == ("=", True):
            level -= 1
        return [] if level < 0 else [("subsection" if level else "section", text)]

    def parse(self, text):
        return self.block(text.expandtabs(8).splitlines())

    @staticmethod
    def body(lines, at, deeper):
        """Returns the lines from AT that are indented by more than DEEPER, without their common
        indentation, and the number of the line after them."""
        out = []
        while at < len(lines) and (not lines[at].strip() or indent_of(lines[at]) > deeper):
            out.append(lines[at])
            at += 1
        while out and not out[-1].strip():
            out.pop()
        return textwrap.dedent("\n".join(out)).splitlines(), at

    def block(self, lines):
        nodes, at = [], 0
        while at < len(lines):
            line = lines[at]
            following = lines[at + 1] if at + 1 < len(lines) else ""
            if not line.strip():
                at += 1
            elif TITLE.match(line) and at + 2 < len(lines) and TITLE.match(lines[at + 2]):
                nodes += self.title(line[0], following.strip(), True)
                at += 3
            elif TITLE.match(following) and indent_of(line) == 0:
                nodes += self.title(following[0], line.strip(), False)
                at += 2
            elif line.startswith(".. "):
                at = self.directive(lines, at, nodes)
            elif MARK.match(line):
                at = self.bullets(lines, at, nodes)
            elif following.strip() and indent_of(following) > indent_of(line):
                at = self.terms(lines, at, nodes)
            else:
                at = self.para(lines, at, nodes)
        return nodes

    def para(self, lines, at, nodes):
        text = []
        while at < len(lines) and lines[at].strip():
            text.append(lines[at].strip())
            at += 1
        nodes.append(("para", "\n".join(text)))
        return at

    def directive(self, lines, at, nodes):
        found = DIRECTIVE.match(lines[at])
        body, at = self.body(lines, at + 1, 0)
        if not found:
            return at
        if found[1] == "code-block":
            while body and re.match(r":[\w-]+:", body[0]):
                body.pop(0)
            while body and not body[0].strip():
                body.pop(0)
            nodes.append(("code", body))
        elif found[1] in ("note", "warning"):
            nodes.extend(self.block(body))
        elif found[1] != "toctree":
            nodes.extend(self.expand(found[1], found[2]))
        return at

    def bullets(self, lines, at, nodes):
        items = []
        while at < len(lines) and (mark := MARK.match(lines[at])):
            rest, after = self.body(lines, at + 1, 0)
            items.append(self.block([lines[at][mark.end():], *rest]))
            at = after
        nodes.append(("bullets", items))
        return at

    def terms(self, lines, at, nodes):
        items = []
        while at + 1 < len(lines) and lines[at].strip() and indent_of(lines[at + 1]) > 0 and \
                lines[at + 1].strip() and not lines[at].startswith(".. "):
            rest, after = self.body(lines, at + 1, 0)
            items.append((lines[at].strip(), self.block(rest)))
            at = after
        nodes.append(("terms", items))
        return at


def escape(text):
    """Escapes everything that reST would interpret as markup."""
    return re.sub(r"([\\*`|_])", r"\\\1", text)


def as_rst(nodes, marks="=-"):
    """Returns nodes as reST; MARKS underline sections and subsections."""
    out = []
    for kind, value in nodes:
        if kind in ("section", "subsection"):
            out += [value, marks[kind == "subsection"] * len(value), ""]
        elif kind == "para":
            out += [*textwrap.wrap(value, 90, break_on_hyphens=False), ""]
        elif kind == "plain":
            out += [*escape(value).splitlines(), ""]
        elif kind == "code":
            out += [".. code-block:: none", "", *(f"   {x}" for x in value), ""]
        elif kind == "terms":
            for term, body in value:
                out += [term, textwrap.indent(as_rst(body, marks), "   "), ""]
        elif kind == "bullets":
            for body in value:
                text = textwrap.indent(as_rst(body, marks), "  ")
                out += ["*" + text[1:], ""]
    return "\n".join(out).rstrip() + "\n"
