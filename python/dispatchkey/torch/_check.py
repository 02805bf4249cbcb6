# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Compares PyTorch's tables of all operators with the rules, and looks for stale entries."""
from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from html import escape
from typing import Iterator, Optional

from .._error import Error
from .._keys import Layout
from .._registry import Registry
from . import _live, _stale
from ._missing import Progress
from ._words import number_of


@dataclass(frozen=True)
class Difference:
    """An entry of PyTorch's table that differs from the rules.

    operator  the operator's name
    key       the key of the entry; "an unknown key" of a stale entry that only PyTorch's own check
              finds
    pytorch   PyTorch's entry, or "no function"; ends with ", stale" if PyTorch did not update
              the entry after a registration
    rules     the entry by the rules, or "no function"
    """

    operator: str
    key: str
    pytorch: str
    rules: str

    def __str__(self) -> str:
        return f"{self.operator} at {self.key}: PyTorch has {self.pytorch}, " \
            f"the rules give {self.rules}"


@dataclass(frozen=True, repr=False)
class Check:
    """PyTorch's tables, compared with the rules. print() writes the differences and a summary.

    version      of PyTorch
    operators    the number of operators that were compared
    entries      the number of entries in their tables
    differences  the entries that differ; normally none
    skipped      the operators that could not be compared; normally none
    """

    version: str
    operators: int
    entries: int
    differences: tuple[Difference, ...]
    skipped: tuple[_live.Skipped, ...] = ()

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)

    def __bool__(self) -> bool:
        return True

    @property
    def summary(self) -> str:
        """The numbers, in one line."""
        return f"{number_of(self.operators, 'operator')}, " \
            f"{number_of(self.entries, 'entry', 'entries')}, " \
            f"{number_of(len(self), 'difference')}" + \
            (f", {len(self.skipped)} not compared" if self.skipped else "")

    def __repr__(self) -> str:
        return f"<Check of PyTorch {self.version}: {self.summary}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        same: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for d in self:
            same[d.operator, d.pytorch, d.rules].append(d.key)
        lines = [str(Difference(operator, ", ".join(keys), *entries))
                 for (operator, *entries), keys in same.items()]
        return "\n".join([*lines, *map(str, self.skipped), self.summary])


def differences(registry: Registry, name: str, live: _live.Operator) -> list[Difference]:
    """Compare an operator's table in PyTorch with its table in our registry."""
    theirs, ours = live.entries, _live.entries_of(str(registry.table(name)))
    return [Difference(live.name, key, str(theirs.get(key, "no function")),
                       str(ours.get(key, "no function")))
            for key in sorted({*ours, *theirs}) if ours.get(key) != theirs.get(key)]


def _stale_entries(live: _live.Operator, layout: Layout) -> list[Difference]:
    """Return the entries that calls find in PyTorch's table, but that the rules do not give."""
    stale = _stale.find(live, layout)
    found = [Difference(live.name, e.key.name,
                        f"{_stale.named(e.functions[0], e.sources[0])}, stale",
                        _stale.named(e.fresh)) for e in stale.certain]
    if stale.is_unexplained:
        found.append(Difference(live.name, "an unknown key", "a stale entry", "another one"))
    return found


def check(only: str = "*", progress: Optional[Progress] = None) -> Check:
    """Compute the table of every operator by the rules, and compare it with PyTorch's.

    Also finds stale entries, which PyTorch did not update after a registration.

    only      a pattern of operators' names, such as "aten::*"
    progress  called with the number of operators compared so far, and the number of all
    """
    layout = _live.layout()
    names = _live.matching(only)
    found: list[Difference] = []
    skipped: list[_live.Skipped] = []
    operators = entries = 0
    with _live.new_registry(layout) as registry:
        fallbacks: dict[str, _live.TableEntry] = {}
        for i, name in enumerate(names):
            if progress:
                progress(i, len(names))
            try:
                live = _live.Operator.read(name)
            except Error as e:
                skipped.append(_live.Skipped(name, str(e)))
                continue
            if not live.is_defined:
                continue
            new = {key: entry for key, entry in live.fallbacks(layout).items()
                   if fallbacks.get(key) != entry}
            _live.mirror_fallbacks(registry, new)
            fallbacks.update(new)
            try:
                found += differences(registry, live.mirror_functions(registry), live)
                found += _stale_entries(live, layout)
            except Error as e:
                skipped.append(_live.Skipped(name, str(e)))
                continue
            operators += 1
            entries += len(live.entries)
        if progress:
            progress(len(names), len(names))
    return Check(str(_live.pytorch().__version__), operators, entries, tuple(found),
                 tuple(skipped))
