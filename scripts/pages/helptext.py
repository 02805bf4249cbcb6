# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Converts the help of dkctl to pages of section 8.

The help consists of paragraphs; titles that end in ":"; lists of "  WORDS   what they
mean", whose meaning may also be in the next line, with more indentation; and examples. All other
indented lines are examples.
"""
import re
import subprocess

from . import rst

ENTRY = re.compile(r" {2,6}(\S.*?) {2,}(\S.*)$")
PLACEHOLDER = re.compile(r"(?<![\w-])[A-Z][A-Z0-9_]*(?:\.\.\.)?(?![\w-])")
KNOWN = {"options": "options", "examples": "examples", "exit status": "exit status",
         "commands": "commands"}


def ask(tool, *words):
    """Returns the help of dkctl, or of one of its subcommands."""
    return subprocess.run([tool, "help", *words], text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def markup(term):
    """Returns a term with placeholders in italics, words in bold, and brackets as they are."""
    pieces = []
    for part in re.split(r"(\s+|[\[\]{}|,()=]+)", term):
        if not part or part.isspace() or part[0] in "[]{}|,()=":
            pieces.append(part.replace("|", "\\|"))
            continue
        at = 0
        for m in PLACEHOLDER.finditer(part):
            pieces += [f"``{part[at:m.start()]}``" if m.start() > at else "", f"*{m[0]}*"]
            at = m.end()
        pieces.append(f"``{part[at:]}``" if part[at:] else "")
    # reST needs "\ " between markup and text that follows it without a blank
    return "\\ ".join(filter(None, pieces)).replace("\\  \\ ", " ")


def entries(lines, at):
    """Returns the list that begins at this line, and the number of the line after it."""
    items = []
    while at < len(lines) and lines[at].startswith("  "):
        depth = rst.indent_of(lines[at])
        found = ENTRY.match(lines[at])
        if found:
            term, what = found[1], [found[2]]
        else:
            term, what = lines[at].strip(), []
        at += 1
        while at < len(lines) and rst.indent_of(lines[at]) > depth + 4:
            what.append(lines[at].strip())
            at += 1
        items.append((term, what))
    return items, at


def meaning(lines):
    """Returns the meaning of a term; if every line is a term itself, a list of these terms."""
    inner = [re.match(r"(\S.*?) {2,}(\S.*)", line) for line in lines]
    if len(inner) > 1 and all(inner):
        return [("terms", [(markup(m[1]), [("plain", m[2])]) for m in inner])]
    return [("plain", "\n".join(lines))]


def is_list(lines, at):
    """True if a term has a meaning, in its line or, with more indentation, in the next one."""
    if ENTRY.match(lines[at]):
        return True
    return at + 1 < len(lines) and rst.indent_of(lines[at + 1]) > rst.indent_of(lines[at]) + 4


def parse(text):
    """Returns the nodes of a help text, which begins after the usage lines."""
    lines = text.splitlines()
    nodes, at = [], 0
    while at < len(lines):
        line = lines[at]
        title = re.fullmatch(r"(\S.*?):", line)
        if not line:
            at += 1
        elif re.fullmatch(r"[A-Z][a-z ]+", line) and not "".join(lines[at + 1:at + 2]):
            nodes.append(("section", line))
            at += 1
        elif title and title[1] in KNOWN:
            nodes.append(("section", title[1]))
            at += 1
        elif title and at + 1 < len(lines) and lines[at + 1].startswith("  "):
            nodes.append(("subsection", title[1][0].upper() + title[1][1:]))
            at += 1
        elif line.startswith("  ") and is_list(lines, at):
            items, at = entries(lines, at)
            # examples are commands as they are typed, without placeholders
            term_of = "``{}``".format if nodes[-1:] == [("section", "examples")] else markup
            nodes.append(("terms", [(term_of(term), meaning(what)) for term, what in items]))
        elif line.startswith("  "):
            code = []
            while at < len(lines) and lines[at].startswith("  "):
                code.append(lines[at][2:])
                at += 1
            nodes.append(("code", code))
        else:
            text = []
            while at < len(lines) and lines[at] and not lines[at].startswith("  "):
                text.append(lines[at])
                at += 1
            nodes.append(("plain", "\n".join(text)))
    return nodes


class Help:
    """All help of a tool."""

    def __init__(self, tool):
        self.overview = ask(tool)
        self.summary = re.match(r"dkctl - (.*)", self.overview)[1]
        self.nodes = parse(self.overview)
        self.subcommands = {}
        self.groups = []    # titles and subcommands
        lines = self.overview.split("\noptions:")[0].splitlines()
        at = 0
        while at < len(lines):
            items, following = entries(lines, at) if lines[at].startswith("  ") else ([], at + 1)
            if items:
                title = lines[at - 1].removesuffix(":")
                self.groups.append((title[:1].upper() + title[1:], [t.split()[0] for t, _ in items]))
            for term, what in items:
                name = term.split()[0]
                self.subcommands[name] = Subcommand(name, " ".join(what), ask(tool, name))
            at = following

    def section(self, title):
        """Returns the nodes of a section of the overview, or of a subcommand that has it."""
        for nodes in (self.nodes, *(s.nodes for s in self.subcommands.values())):
            if ("section", title) in nodes:
                behind = nodes[nodes.index(("section", title)) + 1:]
                ends = [i for i, n in enumerate(behind) if n[0] == "section"]
                return behind[:ends[0]] if ends else behind
        return []


class Subcommand:
    """The help of a subcommand: usage lines, then the rest."""

    def __init__(self, name, summary, text):
        self.name = name
        self.summary = summary
        usage, _, rest = text.partition("\n\n")
        self.usage = [re.sub(r"^(?:usage:)? *", "", line) for line in usage.splitlines()]
        self.told = parse(rest)
        self.nodes = self.options_together(self.told)

    def own(self):
        """Returns the text without options and exit status, for a page of all subcommands."""
        nodes = self.told
        for title in ("options", "exit status"):
            if ("section", title) in nodes:
                nodes = nodes[:nodes.index(("section", title))]
        return [("para", f"**{value}**") if kind in ("section", "subsection") else (kind, value)
                for kind, value in nodes]

    @staticmethod
    def options_together(nodes):
        """Moves options that are described before the section OPTIONS to its beginning."""
        if ("section", "options") not in nodes:
            return nodes
        at = nodes.index(("section", "options"))
        front, own = [], []
        for kind, value in nodes[:at]:
            if kind != "terms":
                front.append((kind, value))
                continue
            own += [item for item in value if item[0].startswith("``-")]
            words = [item for item in value if not item[0].startswith("``-")]
            if words:
                front.append((kind, words))
        return [*front, nodes[at], *([("terms", own)] if own else []), *nodes[at + 1:]]
