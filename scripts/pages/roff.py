# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Formats parsed reST nodes as a manual page in man(7)."""
import re

COLUMNS = 80
MARGIN = 8      # the most by which groff and mandoc indent a section's text

INLINE = re.compile(
    r"``(?P<code>.+?)``"
    r"|:(?:c:)?(?:func|macro|type|struct|enum):`(?P<call>[^`]+)`"
    r"|`(?P<section>[^`<>]+)`_"
    r"|:doc:`(?:(?P<title>[^`<]+) <[^`]+>|(?P<doc>[^`]+))`"
    r"|\*\*(?P<bold>[^*\s](?:[^*]*[^*\s])?)\*\*"
    r"|(?<![\w*])\*(?P<italic>[^*\s](?:[^*]*[^*\s])?)\*(?![\w*])"
    r"|(?P<page>\b[A-Za-z_][\w-]*)\((?P<sect>[1-8])\)"
    r"|\b(?P<function>[A-Za-z_]\w*)\(\)"
    r"|@(?P<param>[A-Za-z_]\w*)"
    r"|%(?P<const>-?[A-Z]\w*)"
    r"|&(?:struct |enum )?(?P<type>[a-z]\w*)", re.S)


def escape(text, literal=False):
    """Escapes everything that groff would interpret."""
    text = text.replace("\\", "\\e")
    if literal:
        return text.replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace(
            "^", "\\(ha").replace("~", "\\(ti")
    # A "-" at the beginning of a word is the minus of an option or a number, not a hyphen.
    text = re.sub(r"(?<![\w)])-(?=\S)", r"\\-", text)
    return text.replace("^", "\\(ha").replace("~", "\\(ti")


def bold(text):
    return f"\\fB{escape(text, True)}\\fR"


def italic(text):
    return f"\\fI{escape(text, True)}\\fR"


class Writer:
    """Writes one page. PAGES maps each name that has a page of its own to the page's section."""

    def __init__(self, name, pages):
        self.name = name
        self.pages = pages
        self.lines = []
        self.indent = MARGIN
        self.fresh = True   # no paragraph has begun since the last heading

    def reference(self, name):
        return f"{bold(name)}({self.pages[name]})" if name in self.pages else f"{bold(name)}()"

    def inline(self, text):
        """Converts inline markup to groff's escapes."""
        text = text.replace("\\ ", "").replace("\\|", "|")
        out, at = [], 0
        for m in INLINE.finditer(text):
            out.append(escape(text[at:m.start()]))
            at = m.end()
            if m["code"]:
                call = re.fullmatch(r"(\w+)\(\)", m["code"])
                out.append(self.reference(call[1]) if call else bold(m["code"]))
            elif m["call"] or m["function"]:
                out.append(self.reference((m["call"] or m["function"]).removesuffix("()")))
            elif m["section"]:
                out.append(italic(m["section"]))
            elif m["title"] or m["doc"]:
                out.append(escape(m["title"] or m["doc"].rsplit("/", 1)[-1]))
            elif m["page"]:
                out.append(f"{bold(m['page'])}({m['sect']})")
            elif m["bold"] or m["const"]:
                out.append(bold(m["bold"] or m["const"]))
            elif m["type"]:
                out.append(bold(m["type"]))
            else:
                out.append(italic(m["italic"] or m["param"]))
        out.append(escape(text[at:]))
        return "".join(out)

    def text(self, text, inline=None):
        """Adds lines that groff fills, with an escape before those that look like a request."""
        for line in (inline or self.inline)(text).splitlines():
            line = line.strip()
            if line:
                self.lines.append("\\&" + line if line[0] in ".'" else line)

    def raw(self, *lines):
        self.lines += lines

    def paragraph(self, macro):
        if not self.fresh:
            self.raw(macro)
        self.fresh = False

    def code(self, lines):
        self.raw(".RS 4", ".nf") if self.fresh else self.raw(".PP", ".RS 4", ".nf")
        self.fresh = False
        for line in lines:
            line = line.expandtabs(8)
            if self.indent + 4 + len(line) > COLUMNS:
                raise SystemExit(f"{self.name}: this line does not fit {COLUMNS} columns: {line}")
            line = escape(line, True)
            self.raw("\\&" + line if line[:1] in (".", "'") else line)
        self.raw(".fi", ".RE")

    def items(self, items):
        """Adds tagged paragraphs. Everything after the first paragraph of a tag is indented."""
        for term, body in items:
            self.raw(".TP" if term is not None else ".IP \\(bu 2")
            if term is not None:
                self.raw(self.inline(term) or "\\&")
            first, *rest = body or [("para", "\\&")]
            if first[0] == "para":
                self.text(first[1])
            elif first[0] == "plain":
                self.text(first[1], escape)
            else:
                rest.insert(0, first)
                self.raw("\\&")
            if rest:
                self.raw(".RS")
                self.indent += MARGIN
                self.fresh = False
                self.nodes(rest)
                self.indent -= MARGIN
                self.raw(".RE")
        self.fresh = False

    def nodes(self, nodes):
        for kind, value in nodes:
            if kind == "section":
                self.raw(f".SH {self.heading(value.upper())}")
                self.fresh = True
            elif kind == "subsection":
                self.raw(f".SS {self.heading(value)}")
                self.fresh = True
            elif kind == "para":
                self.paragraph(".PP")
                self.text(value)
            elif kind == "plain":
                self.paragraph(".PP")
                self.text(value, escape)
            elif kind == "code":
                self.code(value)
            elif kind == "terms":
                self.items(value)
            elif kind == "bullets":
                self.items([(None, body) for body in value])
            elif kind == "groff":
                self.raw(*value)
                self.fresh = False

    @staticmethod
    def heading(title):
        return escape(title.replace("``", ""), True).replace('"', "\\(dq")


def page(name, section, summary, nodes, pages, version, date):
    """Returns the whole page."""
    w = Writer(f"{name}({section})", pages)
    # Between two long names, the header has no space for a title in the middle.
    middle = ' " "' if len(name) > 24 else ""
    w.raw('.\\" SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause',
          '.\\" dispatchkey: made by scripts/man-pages, which is to be changed, or what it reads.',
          f'.TH {escape(name, True)} {section} {date} "dispatchkey {version}"{middle}',
          ".nh", ".ad l",
          ".SH NAME", f"{escape(name, True)} \\- {w.inline(summary)}")
    w.fresh = False
    w.nodes(nodes)
    return "\n".join(w.lines) + "\n"
