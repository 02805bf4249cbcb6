# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Compares PyTorch's tables of all operators with the rules."""
from __future__ import annotations

import errno
import fnmatch
from dataclasses import dataclass
from html import escape
from typing import Iterator, Optional

from .._error import error
from .._registry import Registry
from . import _live
from ._missing import Progress
from ._words import number_of


@dataclass(frozen=True)
class Difference:
    """An entry of PyTorch's table that differs from the rules.

    operator  the operator's name
    key       the key of the entry
    pytorch   PyTorch's entry, or "no function"
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
    """

    version: str
    operators: int
    entries: int
    differences: tuple[Difference, ...]

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
            f"{number_of(len(self), 'difference')}"

    def __repr__(self) -> str:
        return f"<Check of PyTorch {self.version}: {self.summary}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        return "\n".join([*map(str, self.differences), self.summary])


def differences(registry: Registry, name: str, live: _live.Operator) -> list[Difference]:
    """Compare an operator's table in PyTorch with its table in our registry."""
    theirs, ours = live.entries, _live.entries_of(str(registry.table(name)))
    return [Difference(live.name, key, str(theirs.get(key, "no function")),
                       str(ours.get(key, "no function")))
            for key in sorted({*ours, *theirs}) if ours.get(key) != theirs.get(key)]


def check(only: str = "*", progress: Optional[Progress] = None) -> Check:
    """Compute the table of every operator by the rules, and compare it with PyTorch's.

    only      a pattern of operators' names, such as "aten::*"
    progress  called with the number of operators compared so far, and the number of all
    """
    layout = _live.layout()
    names = [name for name in _live.operators() if fnmatch.fnmatchcase(name, only)]
    if not names:
        raise error(errno.ENOENT, "no operator of PyTorch matches this pattern", "NO_OPERATOR", only)
    found: list[Difference] = []
    operators = entries = 0
    with _live.new_registry(layout) as registry:
        fallbacks: dict[str, _live.TableEntry] = {}
        for i, name in enumerate(names):
            if progress:
                progress(i, len(names))
            live = _live.Operator.read(name)
            if not live.is_defined:
                continue
            new = {key: entry for key, entry in live.fallbacks(layout).items()
                   if fallbacks.get(key) != entry}
            _live.mirror_fallbacks(registry, new)
            fallbacks.update(new)
            found += differences(registry, live.mirror_functions(registry), live)
            operators += 1
            entries += len(live.entries)
        if progress:
            progress(len(names), len(names))
    return Check(str(_live.pytorch().__version__), operators, entries, tuple(found))
