# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Draws tables and explanations, in the manner of dkctl table --svg."""
from __future__ import annotations

import base64
from typing import Optional
from xml.sax.saxutils import escape

from . import _abi
from ._explain import Entry, Explanation, Step, bearing_of, mask_of, names_of, verdict_of
from ._keys import Backend, Key
from ._table import Table

# Sizes in pixels. Letters of the 13-pixel font are about 8 pixels wide.
LETTER, MARGIN, LINE, CELL, SMALL, GAP, STRIPES = 8, 20, 24, 20, 32, 6, 3
# Colours that need white letters.
DARK = (f"p{_abi.DK_PROV_AMBIGUOUS}", f"p{_abi.DK_PROV_MATH}")
STYLE = (
    "<style>\n"
    "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
    "fill:#1f2328}\n"
    ".page{fill:#fff}.h{font-weight:600}.t{font-size:16px;font-weight:600}.n{fill:#656d76}\n"
    ".c{text-anchor:middle;fill:#000}.w{fill:#fff}.e{fill:none;stroke:#d0d7de}"
    ".q{text-anchor:middle;fill:#656d76}\n"
    ".p1{fill:#3fbf7f}.p2{fill:#56b4e9}.p3{fill:#e8875a}.p4{fill:#b3261e}.p5{fill:#0b62b8}\n"
    ".p6{fill:#cc79a7}.p7{fill:#e69f00}.p8{fill:#f0e442}.x{text-decoration:line-through}\n"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}"
    ".n,.q{fill:#9198a1}.c{fill:#000}.w{fill:#fff}.e{stroke:#3d444d}}\n"
    "</style>\n")


def as_image(svg: str, text: str) -> str:
    """Return HTML with the picture as an image, so that its styles do not affect the page."""
    data = base64.b64encode(svg.encode()).decode()
    alt = escape(text, {'"': "&quot;", "\n": "&#10;"})
    return f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}">'


def _width(text: str) -> int:
    return len(text) * LETTER


def _plain(text: str) -> str:
    """Escape the text for XML, and unprintable characters as \\xNN."""
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    return escape(shown, {'"': "&quot;"})


def _text(x: int, y: int, css: str, text: str) -> str:
    cls = f' class="{css}"' if css else ""
    return f'<text x="{x}" y="{y}"{cls}>{_plain(text)}</text>\n'


def _page(title: str, description: str, width: int, height: int, body: str) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="{_plain(title)}">\n'
            f"<title>{_plain(title)}</title>\n<desc>{_plain(description)}</desc>\n{STYLE}"
            f'<rect class="page" width="{width}" height="{height}"/>\n{body}</svg>\n')


# ---- tables ---------------------------------------------------------------------------


class _Grid:
    """Draws the picture of a table, part by part, from top to bottom.

    The next part begins at self.y.
    """

    def __init__(self, table: Table):
        self._table, self.body, self.y, self.width = table, "", MARGIN, 0
        self._letters: dict[Entry, str] = {}
        functionalities = table.layout.functionalities[::-1]
        self._columns = [f for f in functionalities if f.kind == "building-block"]
        self._others = [f for f in functionalities if f.kind != "building-block"]

    def _put(self, x: int, y: int, css: str, text: str) -> None:
        self.body += _text(x, y, css, text)
        self.width = max(self.width, x + _width(text) + MARGIN)

    @staticmethod
    def _sign(entry: Entry) -> Optional[str]:
        """Return the sign of an entry that is not a function, or None."""
        if entry.provenance == _abi.DK_PROV_AMBIGUOUS:
            return "!"
        if not entry.is_served:
            return "\u00b7"
        return "-" if entry.is_fallthrough else None

    def _letter(self, entry: Entry) -> str:
        sign = self._sign(entry)
        if entry not in self._letters:
            n = sum(1 for e in self._letters if self._sign(e) is None)
            self._letters[entry] = sign or (chr(ord("a") + n) if n < 26 else
                                            chr(ord("a") + (n // 26 - 1) % 26) +
                                            chr(ord("a") + n % 26))
        return self._letters[entry]

    def _cell(self, entry: Entry, x: int, y: int, width: int, title: str) -> None:
        letter = self._letter(entry)
        is_empty = not entry.is_served and letter != "!" or entry.is_fallthrough
        css = f"p{entry.provenance}"
        self.body += (f"<g><title>{_plain(f'{title}: {entry}')}</title>"
                      f'<rect x="{x}" y="{y}" width="{width}" height="{CELL}" rx="3" '
                      f'class="{"e" if is_empty else css}"/>' +
                      _text(x + width // 2, y + CELL - 6,
                            "q" if is_empty else "c w" if css in DARK else "c", letter).rstrip() +
                      "</g>\n")
        self.width = max(self.width, x + width + MARGIN)

    def head(self) -> None:
        table = self._table
        self._put(MARGIN, self.y + 14, "t", table.operator)
        on = f"on device {table.device}, " if table.device else ""
        self._put(MARGIN + _width(table.operator) * 5 // 4 + 2 * GAP, self.y + 14, "n",
                  f"{on}layout {table.layout}")
        self.y += LINE + GAP

    def backends(self) -> None:
        table = self._table
        backends = table.layout.backends
        x = left = MARGIN + max(_width(table.backend_name(b)) for b in backends)
        for f in self._columns:
            self._put(x + 2 * GAP, self.y + 14, "h", f.name)
            x += 2 * GAP + _width(f.name)
        for backend in backends:
            self.y += LINE
            self._row(backend, left)
        self.y += LINE

    def _row(self, backend: Backend, x: int) -> None:
        name = self._table.backend_name(backend)
        self._put(MARGIN, self.y + 14, "", name)
        for f in self._columns:
            self._cell(self._table.entry(f, backend), x + 2 * GAP, self.y, _width(f.name),
                       f"{f}, {name}")
            x += 2 * GAP + _width(f.name)

    def others(self) -> None:
        """Draw the functionalities with one entry for all backends, in columns."""
        self._put(MARGIN, self.y + 24, "n", "one entry for all backends, highest priority first")
        self.y += LINE + 2 * GAP
        rows, x = -(-len(self._others) // STRIPES), MARGIN
        for at in range(0, len(self._others), rows):
            stripe = self._others[at:at + rows]
            for i, f in enumerate(stripe):
                y = self.y + i * LINE
                self._cell(self._table.entry(f), x, y, SMALL, f.name)
                self._put(x + SMALL + GAP, y + 14, "", f.name)
            x += SMALL + 3 * GAP + max(_width(f.name) for f in stripe)
        self.y += rows * LINE

    def legend(self) -> None:
        self.y += LINE // 2
        for entry in sorted(self._letters, key=lambda e: self._sign(e) is not None):
            self._cell(entry, MARGIN, self.y, SMALL, "legend")
            self._put(MARGIN + SMALL + GAP, self.y + 14, "", str(entry))
            self.y += LINE


def table_svg(table: Table) -> str:
    grid = _Grid(table)
    grid.head()
    grid.backends()
    grid.others()
    grid.legend()
    on = f" for device {table.device}" if table.device else ""
    return _page(f"Where calls of {table.operator} go{on}",
                 f"The computed dispatch table of {table.operator}{on}: a row for each backend, a "
                 "column for each functionality that has an entry for every backend, then a "
                 "cell for each other functionality. Below them a legend lists the function of "
                 "each letter, and the rule by which it serves.",
                 grid.width, grid.y + MARGIN, grid.body)


# ---- explanations ---------------------------------------------------------------------

_INDENT = MARGIN + 13 * LETTER


class _Steps:
    """Draws the picture of an explanation, part by part, from top to bottom.

    The next part begins at self.y.
    """

    def __init__(self, ex: Explanation):
        self._ex, self.body, self.y, self.width = ex, "", MARGIN, 0
        self._masked = {s.key.functionality for s in ex.steps if s.kind == "mask"}

    def _put(self, x: int, css: str, text: str) -> int:
        self.body += _text(x, self.y + 14, css, text)
        end = x + _width(text)
        self.width = max(self.width, end + MARGIN)
        return end

    def _chip(self, x: int, name: str, css: str, crossed: bool = False) -> int:
        width = _width(name) + 2 * GAP
        text = ("q" if css == "e" else "c") + (" w" if css in DARK else "")
        self.body += (f'<rect x="{x}" y="{self.y}" width="{width}" height="{CELL}" rx="3" '
                      f'class="{css}"/>' +
                      _text(x + width // 2, self.y + 14, text + (" x" if crossed else ""), name))
        self.width = max(self.width, x + width + MARGIN)
        return x + width + GAP

    def head(self) -> None:
        route = self._ex.route
        self._put(MARGIN, "t", route.operator)
        self.body += _text(MARGIN + _width(route.operator) * 5 // 4 + 2 * GAP, self.y + 14, "n",
                           f"layout {self._ex.layout}")
        self.y += LINE + GAP

    def sets(self) -> None:
        """Draw a line for each set, with a box for each key. The deciding key has a colour."""
        ex = self._ex
        devices = iter(ex._devices)
        for what, keys in [*ex.sets(), ("= effective", ex.route.effective)]:
            self._put(MARGIN, "n", what)
            x = _INDENT
            for name in names_of(keys) or ["nothing"]:
                if x > _INDENT and x + _width(name) > 100 * LETTER:
                    x = _INDENT
                    self.y += LINE
                x = self._chip(x, name, self._color(what, name),
                               what == "= merged" and self._is_masked(name))
            device = next(devices, "")
            if device:
                self._put(x, "n", f"on {device}")
            self.y += LINE
        for step in ex.steps:
            if step.kind == "mask":
                self._put(_INDENT, "n", mask_of(step))
                self.y += LINE

    def _is_masked(self, name: str) -> bool:
        try:
            return Key(name, self._ex.layout).functionality in self._masked
        except LookupError:
            return False

    def _color(self, what: str, name: str) -> str:
        if what == "= effective" and name == self._ex.route.key.name:
            return f"p{self._ex.route.entry.provenance or 4}"
        return "e"

    def route(self) -> None:
        ex = self._ex
        entry = ex.route.entry
        self.y += GAP
        self._put(MARGIN, "h", "goes to")
        self._chip(_INDENT, str(entry), f"p{entry.provenance or 4}" if entry or ex.route.error
                   else "e")
        self.y += LINE + GAP

    def rules(self) -> None:
        ex = self._ex
        for step in ex.steps:
            if step.kind == "rule" and step.verdict != "NOT_EVALUATED":
                self._line(f"rule {step.rule}", step, verdict_of(step, ex),
                           step.verdict in ("SERVES", "AMBIGUOUS", "MISSING"))
        impls = [s for s in ex.steps if s.kind == "impl"]
        if impls:
            self.y += GAP
            self._put(MARGIN, "n", "registered at")
            self.y += LINE
        for step in impls:
            self._line("", step, bearing_of(step), step.bearing == "SERVES")

    def _line(self, what: str, step: Step, text: str, is_bold: bool) -> None:
        key = step.impl_key if step.kind == "impl" else step.key
        if what:
            self._put(MARGIN, "n", what)
        self._put(_INDENT, "", "-" if step.verdict in ("NO_ALIAS", "MISSING") else key.name)
        self._put(_INDENT + 39 * LETTER, "h" if is_bold else "n", text)
        self.y += LINE


def explanation_svg(ex: Explanation) -> str:
    steps = _Steps(ex)
    steps.head()
    steps.sets()
    steps.route()
    steps.rules()
    return _page(str(ex.route), str(ex), steps.width, steps.y + MARGIN, steps.body)
