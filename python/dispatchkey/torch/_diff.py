# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Compares two calls in PyTorch."""
from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Iterator, Optional

from .._explain import names_of
from .._keyset import KeySet
from ._path import PATH_HEADING, Hop, TorchCall, check_call
from ._words import html_table


@dataclass(frozen=True, repr=False)
class Row:
    """A functionality on the path of one of two calls, or of both.

    a  the step of the first call, or None
    b  the step of the second call, or None
    """

    a: Optional[Hop]
    b: Optional[Hop]

    @property
    def is_same(self) -> bool:
        """Whether both calls reach the same function here."""
        return self.a is not None and self.b is not None and \
            self.a.function == self.b.function

    def __repr__(self) -> str:
        return f"<Row {' / '.join(line.strip() for line in str(self).splitlines())}>"

    def __str__(self) -> str:
        if self.a and self.b and self.is_same:
            keys = f"{self.a.key}" if self.a.key == self.b.key else \
                f"{self.a.key}, in b {self.b.key}"
            return f"    {keys}: {_served(self.a)}"
        return "\n".join(f"  {sign} {hop.key}: {_served(hop)}"
                         for sign, hop in (("-", self.a), ("+", self.b)) if hop)


def _served(hop: Hop) -> str:
    return f"{hop.where or 'no function'} [{hop.rule}]"


@dataclass(frozen=True, repr=False)
class TorchDiff:
    """The differences between two calls in PyTorch. print() and notebooks show them.

    a     the first call
    b     the second call
    rows  the paths of both, side by side, the highest functionality first; down to the end of
          the first path that ends with a note
    """

    a: TorchCall
    b: TorchCall
    rows: tuple[Row, ...]

    @property
    def parts_at(self) -> Optional[Row]:
        """The first row in which the calls reach different functions, or None."""
        return next((row for row in self.rows if not row.is_same), None)

    @property
    def notes(self) -> list[str]:
        """The notes of both calls."""
        return [note for note in dict.fromkeys((self.a.note, self.b.note)) if note]

    def keys(self) -> Iterator[tuple[str, list[str], list[str]]]:
        """Return the sets that differ: each name, the keys only in a, and the keys only in b."""
        for name, a, b in zip(_SETS, _sets(self.a), _sets(self.b)):
            in_a, in_b = names_of(a), names_of(b)
            if a.bits != b.bits:
                yield name, [k for k in in_a if k not in in_b], [k for k in in_b if k not in in_a]

    @property
    def is_same(self) -> bool:
        """Whether both paths consist of the same functions."""
        return self.parts_at is None

    def __repr__(self) -> str:
        return f"<TorchDiff of {self.a.operator}, {self.a.description}, and " \
            f"{self._title(self.b)}: {self._end()}>"

    def _repr_html_(self) -> str:
        keys = [(name, ", ".join(a), ", ".join(b)) for name, a, b in self.keys()]
        path = [("" if row.is_same else "differs", *(
            f"{hop.key}: {_served(hop)}" if hop else "" for hop in (row.a, row.b)))
            for row in self.rows]
        titles = [f"a: {self._title(self.a)}", f"b: {self._title(self.b)}"]
        return f"<p>{escape(self.a.operator)} in PyTorch {escape(self.a.version)}</p>\n" + \
            html_table(["keys of only one", *titles], keys) + "\n" + \
            html_table(["path", *titles], path) + \
            "".join(f"\n<p>{escape(s)}</p>" for s in (self._end(), *self.notes))

    def __str__(self) -> str:
        lines = [f"{self.a.operator} in PyTorch {self.a.version}",
                 f"  - a: {self._title(self.a)}", f"  + b: {self._title(self.b)}", "",
                 "keys that differ:"]
        indent = max(map(len, _SETS)) + 4
        for name, only_a, only_b in self.keys():
            for sign, names in (("-", only_a), ("+", only_b)):
                if names:
                    lines.append(f"  {name:{indent - 2}}{sign} {', '.join(names)}")
                    name = ""
        if lines[-1] == "keys that differ:":
            lines[-1] += " none"
        lines += ["", PATH_HEADING]
        lines += [str(row) for row in self.rows]
        return "\n".join([*lines, "", self._end(), *self.notes])

    def _title(self, call: TorchCall) -> str:
        name = f"{call.operator}, " if self.a.operator != self.b.operator else ""
        return name + call.description

    def _end(self) -> str:
        row = self.parts_at
        if not row:
            return "Both paths have the same functions."
        if row.a and row.b:
            return f"The paths diverge at {row.a.key} and {row.b.key}: the functions differ." \
                if row.a.key != row.b.key else f"The paths diverge at {row.a.key}."
        hop, side = (row.a, "a") if row.a else (row.b, "b")
        return f"The paths diverge at {hop.key if hop else ''}, which is only in path {side}."


_SETS = ("arguments", "included", "excluded", "effective")


def _sets(call: TorchCall) -> tuple[KeySet, KeySet, KeySet, KeySet]:
    ex = call.explanation
    return ex.route.arguments, ex.included, ex.excluded, ex.route.effective


def diff(a: TorchCall, b: TorchCall) -> TorchDiff:
    """Compare two calls: report keys and functions that differ, and where the paths diverge.

    a, b  from explain() or explain_keys(), such as calls of an operator on two devices
    """
    for call in (a, b):
        check_call(call)
    if a.explanation.layout != b.explanation.layout:
        raise ValueError(f"cannot compare calls of different layouts: {a.explanation.layout} and "
                         f"{b.explanation.layout}")
    hops = [{hop.key.functionality.number: hop for hop in call.hops} for call in (a, b)]
    # Below the end of a path that is not followed, nothing can be compared.
    end = max((call.hops[-1].key.functionality.number for call in (a, b) if call.note), default=0)
    order = sorted((n for n in hops[0].keys() | hops[1].keys() if n >= end), reverse=True)
    return TorchDiff(a, b, tuple(_paired([Row(hops[0].get(n), hops[1].get(n)) for n in order])))


def _paired(rows: list[Row]) -> Iterator[Row]:
    """Join adjacent rows with the same function, such as AutogradCPU and AutogradOther."""
    while rows:
        row, *rows = rows
        if rows:
            both = Row(row.a or rows[0].a, row.b or rows[0].b)
            is_split = bool(row.a) != bool(row.b) and bool(rows[0].a) != bool(rows[0].b)
            if is_split and both.is_same:
                row, rows = both, rows[1:]
        yield row
