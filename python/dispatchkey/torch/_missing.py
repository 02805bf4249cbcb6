# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Finds the operators of PyTorch that a backend lacks, and what serves them instead."""
from __future__ import annotations

import csv
import errno
import io
from dataclasses import dataclass
from html import escape
from typing import Callable, Iterator, Optional, Sequence

from .._error import Error, did_you_mean, error
from .._keys import Key, Layout
from .._library import lib
from . import _live
from ._words import devices, devices_hint, html_table, keyset_of, number_of

# The words for what serves an operator, and what each means for the backend.
SERVED_BY = {
    "own": "a function of this backend",
    "CompositeImplicitAutograd": "calls other operators, and needs no function",
    "CompositeExplicitAutograd": "one function for all backends",
    "CompositeExplicitAutogradNonFunctional": "needs the out variant (*_copy: the view)",
    "fallback": "the fallback of this backend",
    "fallthrough": "calls skip this key",
    "nothing": "calls fail",
}
_ALIASES = ("CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Served:
    """What serves an operator on a backend.

    operator  the operator's name
    by        "own", an alias key, "fallback", "fallthrough" or "nothing"
    where     the place in the sources where the function is registered, or ""
    autograd  the same as by, for the backend's autograd key
    schema    the operator's schema
    """

    operator: str
    by: str
    where: str
    autograd: str
    schema: str


@dataclass(frozen=True, repr=False)
class Coverage:
    """What serves each operator on a backend. print() and notebooks show a summary.

    key       the key of the backend
    autograd  its autograd key
    version   of PyTorch
    served    each operator, sorted by name
    skipped   the operators that PyTorch lists but cannot read; normally none
    """

    key: Key
    autograd: Key
    version: str
    served: tuple[Served, ...]
    skipped: tuple[_live.Skipped, ...] = ()

    def __iter__(self) -> Iterator[Served]:
        return iter(self.served)

    def __len__(self) -> int:
        return len(self.served)

    def by(self, *what: str) -> list[Served]:
        """Return the operators served by one of these, such as by("nothing", "fallback")."""
        return [s for s in self.served if s.by in what]

    @property
    def counts(self) -> dict[str, int]:
        """The number of operators that each word of SERVED_BY applies to."""
        return {what: len(self.by(what)) for what in SERVED_BY if self.by(what)}

    def __repr__(self) -> str:
        return f"<Coverage of {self.key} in PyTorch {self.version}: " \
            f"{number_of(len(self), 'operator')}>"

    @property
    def notes(self) -> list[str]:
        """A sentence for each operator that was skipped."""
        return [f"{s.operator} was skipped: {s.reason}" for s in self.skipped]

    def _repr_html_(self) -> str:
        rows = [[n, what, SERVED_BY[what]] for what, n in self.counts.items()]
        return f"<p>{escape(repr(self)[1:-1])}</p>\n" + \
            html_table(["number", "served by", "which"], rows) + \
            "".join(f"\n<p>{escape(note)}</p>" for note in self.notes)

    def __str__(self) -> str:
        counts = self.counts
        width = max(map(len, [*counts, "served by"]))
        lines = [f"{self.key} in PyTorch {self.version}: {number_of(len(self), 'operator')}", "",
                 f"number  {'served by':{width}}  which"]
        lines += [f"{n:6}  {what:{width}}  {SERVED_BY[what]}" for what, n in counts.items()]
        without = [s for s in self.served if s.by != "nothing" and s.autograd == "nothing"]
        if without:
            lines += ["", f"{len(without)} of them have no function at {self.autograd}: calls "
                      "with tensors that have this key fail."]
        return "\n".join(lines + ([""] if self.skipped else []) + self.notes)

    def csv(self) -> str:
        """Return CSV text with a heading and a line for each operator."""
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        out.writerow(["operator", "served_by", "where", "autograd_by", "schema"])
        out.writerows([s.operator, s.by, s.where, s.autograd, s.schema] for s in self.served)
        return text.getvalue()

    def html(self) -> str:
        """Return a page with a summary and a searchable table, without external references."""
        title = f"{self.key} in PyTorch {self.version}"
        total = max(len(self), 1)
        bar = "".join(f'<i class="{what}" style="width:{100 * n / total:.2f}%" '
                      f'title="{what}: {n}"></i>' for what, n in self.counts.items())
        summary = "".join(
            f'<tr><td class="n">{n}</td><td><i class="{what}"></i> <a href="#" '
            f'data-by="{what}">{what}</a></td><td>{escape(SERVED_BY[what])}</td></tr>\n'
            for what, n in self.counts.items())
        notes = "".join(f"<p>{escape(note)}</p>\n" for note in self.notes)
        rows = "".join(
            f'<tr data-by="{s.by}"><td title="{escape(s.schema)}">{escape(s.operator)}</td>'
            f'<td><i class="{s.by}"></i> {s.by}</td><td>{s.autograd}</td>'
            f"<td>{escape(s.where)}</td></tr>\n" for s in self.served)
        return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
                f"<title>{escape(title)}</title>\n{_STYLE}</head>\n<body>\n"
                f"<h1>{escape(title)}</h1>\n"
                f"<p>{number_of(len(self), 'operator')}, and what serves each:</p>\n"
                f'<div class="bar">{bar}</div>\n<table>\n{summary}</table>\n{notes}'
                f'<p><input id="word" placeholder="a word of the name" aria-label="a word of the '
                f'name"> <a href="#" data-by="">all</a> <span id="shown"></span></p>\n'
                f'<table id="operators">\n<thead><tr><th>operator</th><th>served by</th>'
                f"<th>{self.autograd}</th><th>registered at</th></tr></thead>\n<tbody>\n{rows}"
                f"</tbody>\n</table>\n{_SCRIPT}</body>\n</html>\n")


_STYLE = """\
<style>
body{font:14px system-ui,sans-serif;margin:2em;color:#1f2328;background:#fff}
table{border-collapse:collapse}td,th{padding:2px 12px 2px 0;text-align:left;vertical-align:top}
td.n{text-align:right}#operators td{font:13px ui-monospace,Menlo,Consolas,monospace}
i{display:inline-block;width:10px;height:10px;border-radius:2px}
.bar{display:flex;max-width:60em;margin-bottom:1em}.bar i{height:18px;border-radius:0}
.own{background:#3fbf7f}.CompositeImplicitAutograd{background:#0b62b8}
.CompositeExplicitAutograd{background:#56b4e9}.fallback{background:#f0e442}
.CompositeExplicitAutogradNonFunctional{background:#e69f00}
.fallthrough{background:#9198a1}.nothing{background:#b3261e}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}a{color:#58a6ff}}
</style>
"""
_SCRIPT = """\
<script>
const rows = [...document.querySelectorAll("#operators tbody tr")];
const word = document.getElementById("word"), shown = document.getElementById("shown");
let by = "";
function show() {
  let n = 0;
  for (const row of rows) {
    const has = row.cells[0].textContent.includes(word.value);
    row.hidden = !has || (by && row.dataset.by !== by);
    n += !row.hidden;
  }
  shown.textContent = `${n} operator${n === 1 ? "" : "s"}` + (by ? `, served by ${by}` : "");
}
word.addEventListener("input", show);
for (const a of document.querySelectorAll("a[data-by]"))
  a.addEventListener("click", e => { e.preventDefault(); by = a.dataset.by; show(); });
show();
</script>
"""


def _served_by(live: _live.Operator, entry: Optional[_live.TableEntry]) -> str:
    """Return what serves an entry, as one of the words of SERVED_BY."""
    # The fallback that later releases have at Meta only raises an error.
    if entry is None or "MetaFallbackKernel" in entry.where:
        return "nothing"
    if entry.is_fallthrough:
        return "fallthrough"
    if entry.rule == "math kernel":
        return "CompositeImplicitAutograd"
    if entry.rule == "backend fallback":
        return "fallback"
    if entry.rule == "default backend kernel":
        at = {m["key"] for m in live.impls() if _live.label(m["text"]) == entry.where}
        return next((alias for alias in _ALIASES if alias in at), _ALIASES[-1])
    return "own"


def _autograd_by(live: _live.Operator, entry: Optional[_live.TableEntry]) -> str:
    return "Autograd" if entry and entry.rule == "autograd kernel" else _served_by(live, entry)


def backend_key(backend: object, layout: Layout) -> Key:
    """Return the key of a backend, which is given as a device such as "cuda", or as its key.

    A key of another layout stands for the key with its name.
    """
    try:
        key = next(iter(keyset_of(str(backend), layout)), None)
    except Error:
        key = None
    if key is None or not lib.dk_is_backend_key(layout._ptr, key.number):
        names = [k.name for k in layout.keys if lib.dk_is_backend_key(layout._ptr, k.number)]
        raise error(errno.EINVAL, "expected a device or the key of a backend", "PARSE_KEY",
                    str(backend), did_you_mean(str(backend), [*devices(layout), *names]) or
                    devices_hint(layout))
    return key


def _autograd_of(key: Key) -> Key:
    """Return the autograd key of tensors with this key."""
    fresh = [k for k in key.keyset.fresh() if k.name.startswith("Autograd")]
    return fresh[0] if fresh else Key("AutogradOther", key.layout)


def missing(backend: object, *, only: str = "*", like: object = None,
            progress: Optional[Progress] = None) -> Coverage:
    """Report what serves each operator on a backend: its own function, another, or nothing.

    backend   a device such as "cuda" or torch.device("meta"), or a key such as SparseCUDA
    only      a pattern of operators' names, such as "aten::*"
    like      only operators that a function serves on this other backend
    progress  called with the number of operators read so far, and the number of all
    """
    layout = _live.layout()
    key = backend_key(backend, layout)
    other = backend_key(like, layout) if like is not None else None
    autograd = _autograd_of(key)
    names = _live.matching(only)
    found, skipped = [], []
    for i, name in enumerate(names):
        if progress:
            progress(i, len(names))
        try:
            live = _live.Operator.read(name)
        except Error as e:
            skipped.append(_live.Skipped(name, str(e)))
            continue
        entries = live.entries
        if not live.is_defined or other and other.name not in entries:
            continue
        entry = entries.get(key.name)
        found.append(Served(name, _served_by(live, entry), entry.where if entry else "",
                            _autograd_by(live, entries.get(autograd.name)), live.schema))
    if progress:
        progress(len(names), len(names))
    return Coverage(key, autograd, str(_live.pytorch().__version__), tuple(found), tuple(skipped))


def lines_of(served: Sequence[Served]) -> list[str]:
    """Return the lines of a list: each operator and, if they differ, what serves it."""
    if {s.by for s in served} == {"nothing"}:
        return [s.operator for s in served]
    name = max((len(s.operator) for s in served), default=0)
    by = max((len(s.by) for s in served), default=0)
    return [f"{s.operator:{name}}  {s.by:{by}}  {s.where}".rstrip() for s in served]
