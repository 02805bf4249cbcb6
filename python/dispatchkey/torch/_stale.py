# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Finds the entries of PyTorch's table that registrations left stale.

PyTorch's calls read a table in memory. A registration refreshes only some of the
entries that depend on it. So an entry can be older than the registrations, depending on
their order (Documentation/semantics.rst, 7.3). _dispatch_dump_table() computes each entry
anew, and does not show stale entries. PyTorch does not record the order of registrations. It
reports two facts about the table in memory, which narrow down the possible orders:

  _dispatch_has_computed_kernel_for_dispatch_key()  whether an entry has any function
  _dispatch_check_invariants()  whether all entries equal the computed ones; functions
                                that are written in Python all compare as equal
"""
from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, Optional

from .._explain import Entry
from .._keys import Key, Layout
from .._keyset import KeySet
from .._library import lib
from .._registry import Registry, fallthrough
from . import _live

_COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd",
              "CompositeExplicitAutogradNonFunctional")
_MATH = {"CompositeImplicitAutograd", "CompositeImplicitAutogradNestedTensor"}
# The registration of a function at one of these keys does not refresh all entries it changes.
_UNREFRESHED = ("CompositeExplicitAutograd", "NestedTensor", "Sparse", "Quantized",
                "FuncTorchBatchedDecomposition")

# Identifies a function by its numbered label, and whether it is a fallthrough; see _function().
Function = tuple[str, str]


@dataclass(frozen=True)
class StaleEntry:
    """An entry of PyTorch's table in memory that differs, or could differ, from the rules.

    key         the key of the entry
    functions   the functions that calls can reach instead of fresh; only one if is_certain
    sources     the key that each of these functions is registered at, or ""
    fresh       the entry by the rules
    unnoticed   the keys of registrations for which PyTorch did not refresh the entry
    is_certain  whether calls reach functions[0]; otherwise they reach one of functions or fresh
    """

    key: Key
    functions: tuple[Entry, ...]
    sources: tuple[str, ...]
    fresh: Entry
    unnoticed: tuple[str, ...]
    is_certain: bool

    @property
    def label(self) -> str:
        """The label of the function that calls reach."""
        end = f" at {self.sources[0]}, stale" if self.sources[0] else ", stale"
        size = _live.LABEL_MAX - len(end)
        return self.functions[0].label.encode()[:size].decode(errors="ignore") + end


def named(entry: Entry, source: str = "") -> str:
    """Describe a function, the key that it is registered at, and the rule that selected it."""
    if entry.is_ambiguous:
        return "the error for ambiguous functions"
    if not entry.is_served:
        return "no function"
    if entry.is_fallthrough:
        return f"a fallthrough [{entry.rule}]"
    return entry.label + (f" at {source}" if source else "") + f" [{entry.rule}]"


@dataclass
class Found:
    """The stale entries of one operator.

    is_unexplained  whether PyTorch reports a stale entry that no order of the registered
                    functions explains; a function must have been unregistered
    """

    entries: list[StaleEntry] = field(default_factory=list)
    is_unexplained: bool = False

    @property
    def certain(self) -> list[StaleEntry]:
        """The entries at which it is known which function calls reach."""
        return [entry for entry in self.entries if entry.is_certain]


def refreshed(key: Key) -> frozenset[int]:
    """Return the indices of the entries that PyTorch refreshes for a registration at a key."""
    if key.kind == "building-block":
        found = set()
    else:
        found = {k.entry for k in key.stands_for}
    if key.name in _COMPOSITE:
        found.add(0)
    layout = key.layout
    if lib.dk_is_backend_key(layout._ptr, key.number):
        number = key.backend.number if key.backend else 0
        autograd = KeySet(lib.dk_autograd_of_backend(layout._ptr, number).bits, layout=layout)
        found.add(autograd.highest.entry)
    return frozenset(found)


def _can_be(keys: Iterable[Key]) -> bool:
    """Return whether a table with functions at these keys can be stale at all."""
    keys = set(keys)
    names = {key.name for key in keys}
    return any(key.kind == "building-block" for key in keys) or \
        "FuncTorchBatchedDecomposition" in names or \
        bool(names & _MATH) and any(name.startswith(_UNREFRESHED) for name in names)


class _Tables:
    """The computed tables of an operator with some of its functions."""

    def __init__(self, live: _live.Operator, layout: Layout, registry: Registry):
        self._live, self._layout, self._registry = live, layout, registry
        self._impls = list(reversed(live.impls()))
        self.keys = {Key(m["key"], layout) for m in self._impls}
        self._known: dict[frozenset[Key], list[Entry]] = {}
        self._arguments = live.readable_schema[live.readable_schema.index("("):]

    def of(self, keys: frozenset[Key]) -> list[Entry]:
        """Return the table with the functions at these keys. Labels begin with their numbers."""
        if keys not in self._known:
            name = self._registry.define(f"stale::s{len(self._known)}{self._arguments}")
            for i, m in enumerate(self._impls):
                if Key(m["key"], self._layout) in keys:
                    fn: Any = fallthrough if "fallthrough" in m["flags"] else _live._never
                    # The end of a place, such as ".py:12", shows whether it is in Python.
                    number, place = f"{i} ", _live.label(m["text"])
                    label = number + _live.end_of(place, _live.LABEL_MAX - len(number))
                    self._registry.impl(name, m["key"], fn, label=label)
            self._known[keys] = list(self._registry.table(name)._entries)
        return self._known[keys]

    def source(self, number: int) -> str:
        """Return the key of the registration with this number."""
        return str(self._impls[number]["key"])

    def is_python(self, entry: Entry) -> bool:
        """Return whether the entry's function is in Python.

        PyTorch cannot tell Python functions apart.
        """
        return _live.is_in_python(entry.label) and not entry.is_fallthrough


def _function(entry: Entry) -> Function:
    """Return the identity of an entry's function, which does not depend on the rule."""
    what = entry.label if entry.is_served else "ambiguous" if entry.is_ambiguous else "missing"
    return what, "fallthrough" if entry.is_fallthrough else ""


@dataclass
class _Slot:
    """An entry that can be stale, and what it contains for each order of registration."""

    key: Key
    refreshers: frozenset[Key]      # the keys whose registration refreshes the entry
    others: frozenset[Key]          # the other keys whose functions change the entry
    # candidates[S], for a subset S of others: the entry if the keys in S were registered before
    # the last key of refreshers, and the rest of others after it
    candidates: dict[frozenset[Key], Entry]
    fresh: Entry

    def functions(self) -> set[Function]:
        return {_function(e) for e in self.candidates.values()}

    def keep(self, wanted: set[frozenset[Key]]) -> None:
        """Drop all other candidates. An entry without candidates is not explained."""
        self.candidates = {s: e for s, e in self.candidates.items() if s in wanted}

    @property
    def is_stale(self) -> bool:
        return bool(self.candidates) and _function(self.fresh) not in self.functions()

    @property
    def is_open(self) -> bool:
        return len(self.functions()) > 1


def _slots(tables: _Tables, layout: Layout) -> Iterator[_Slot]:
    keys = frozenset(tables.keys)
    refreshes = {key: refreshed(key) for key in keys}
    fresh = tables.of(keys)
    by_refreshers: dict[frozenset[Key], list[int]] = defaultdict(list)
    for i in range(len(fresh)):
        by_refreshers[frozenset(k for k in keys if i in refreshes[k])].append(i)
    for refreshers, indices in by_refreshers.items():
        rest = keys - refreshers
        for i in indices:
            # The keys whose functions change the entry, alone or together with all others.
            others = frozenset(k for k in rest if
                               _function(tables.of(refreshers | {k})[i]) !=
                               _function(tables.of(refreshers)[i]) or
                               _function(tables.of(keys - {k})[i]) != _function(fresh[i]))
            sets = {frozenset(), others, *(frozenset({k}) for k in others)}
            found = {s: tables.of(refreshers | s)[i] for s in sets}
            found[others] = fresh[i]
            if not refreshers and _live.is_in_python(fresh[i].label) and \
                    not _live.is_in_python(found[frozenset()].label):
                # Registering a function does not refresh this entry, only registering a
                # fallback does. The fallback is not in Python, so PyTorch registered it
                # when it was loaded, before any function in Python. So the entry in memory
                # is older than the Python function.
                del found[others]
            if {_function(e) for e in found.values()} != {_function(fresh[i])}:
                key = Key(lib.dk_slot_key(layout._ptr, i), layout)
                yield _Slot(key, refreshers, others, found, fresh[i])


def _is_clean(live: _live.Operator) -> Optional[bool]:
    """Return whether PyTorch's check finds no stale entry; None if PyTorch lacks the check."""
    check = _live.optional("_dispatch_check_invariants")
    if check is None:
        return None
    try:
        check(live.name)
    except RuntimeError:
        return False
    return True


class _Facts:
    """What PyTorch reports about its table, and the order of registrations that this proves."""

    def __init__(self, live: _live.Operator, tables: _Tables):
        self._live, self._tables = live, tables
        self._is_before: dict[tuple[Key, Key], bool] = {}

    def is_served(self, key: Key) -> Optional[bool]:
        """Return whether the entry in memory has any function; None if PyTorch lacks the check."""
        has = _live.optional("_dispatch_has_computed_kernel_for_dispatch_key")
        try:
            return bool(has(self._live.name, key.name)) if has else None
        except RuntimeError:
            return None

    def by_service(self, slot: _Slot) -> None:
        has = self.is_served(slot.key)
        if has is not None:
            slot.keep({s for s, e in slot.candidates.items()
                       if has == (e.is_served or e.is_ambiguous)})

    def looks_fresh(self, slot: _Slot, entry: Entry) -> bool:
        """Return whether PyTorch's check cannot distinguish the entry from the computed one."""
        return _function(entry) == _function(slot.fresh) or \
            self._tables.is_python(entry) and self._tables.is_python(slot.fresh)

    def learn(self, slot: _Slot, all_sets: set[frozenset[Key]]) -> None:
        """Record the order of two keys if only one order is possible."""
        if len(slot.refreshers) == len(slot.others) == 1 and len(slot.candidates) == 1 and \
                len(all_sets) == 2:
            (k,), (o,) = slot.refreshers, slot.others
            self._is_before[o, k] = bool(next(iter(slot.candidates)))

    def by_order(self, slot: _Slot) -> None:
        if not slot.refreshers:
            return

        def possible(before: frozenset[Key]) -> bool:
            return all(any(self._is_before.get((o, k), True) for k in slot.refreshers)
                       if o in before else
                       not any(self._is_before.get((o, k), False) for k in slot.refreshers)
                       for o in slot.others)
        slot.keep({s for s in slot.candidates if possible(s)})


def _decide(slots: list[_Slot], facts: _Facts, is_clean: Optional[bool]) -> None:
    """Drop the candidates that contradict what PyTorch reports."""
    for slot in slots:
        sets = set(slot.candidates)
        facts.by_service(slot)
        if is_clean:
            slot.keep({s for s, e in slot.candidates.items() if facts.looks_fresh(slot, e)})
        facts.learn(slot, sets)
    for slot in slots:
        facts.by_order(slot)
    if is_clean is False and not any(slot.is_stale for slot in slots):
        # At least one entry is stale. If all undecided entries depend on the order of the
        # same keys, all of them are stale.
        is_open = [slot for slot in slots if slot.is_open and
                   not all(facts.looks_fresh(slot, e) for e in slot.candidates.values())]
        if len({(slot.refreshers, slot.others) for slot in is_open}) == 1:
            for slot in is_open:
                slot.keep({s for s, e in slot.candidates.items() if s != slot.others and
                           not facts.looks_fresh(slot, e)})


def _plain(entry: Entry, tables: _Tables) -> tuple[Entry, str]:
    """Return the entry with PyTorch's label instead of a numbered one, and its function's key."""
    number, _, label = entry.label.partition(" ")
    if not number.isdigit():
        return entry, ""
    return Entry(label, entry.provider, entry.rule, entry.is_fallthrough, entry.device,
                 entry.provenance), tables.source(int(number))


def _of_slot(slot: _Slot, tables: _Tables) -> Optional[StaleEntry]:
    if not slot.is_stale and not slot.is_open:
        return None
    other = {_function(e): e for e in slot.candidates.values()
             if _function(e) != _function(slot.fresh)}
    unnoticed = {o.name for s, e in slot.candidates.items() for o in slot.others - s
                 if _function(e) in other}
    functions, sources = zip(*(_plain(e, tables) for e in other.values()))
    return StaleEntry(slot.key, functions, sources, _plain(slot.fresh, tables)[0],
                      tuple(sorted(unnoticed)), not slot.is_open)


def find(live: _live.Operator, layout: Layout) -> Found:
    """Find the entries in memory that are stale, or could be, depending on the order."""
    impls = live.impls()
    is_clean = _is_clean(live)
    in_python = {m["key"] for m in impls if _live.is_in_python(_live.label(m["text"]))}
    if not _can_be(Key(m["key"], layout) for m in impls) or is_clean and len(in_python) < 2:
        return Found(is_unexplained=is_clean is False)
    with _live.new_registry(layout) as registry:
        tables = _Tables(live, layout, registry)
        for key, entry in live.fallbacks(layout).items():
            fn: Any = fallthrough if entry.is_fallthrough else _live._never
            registry.fallback(key, fn, label=entry.where)
        slots = list(_slots(tables, layout))
    _decide(slots, _Facts(live, tables), is_clean)
    found = Found([e for e in (_of_slot(slot, tables) for slot in slots) if e])
    found.is_unexplained = any(not slot.candidates for slot in slots) or \
        is_clean is False and not found.entries
    return found


def apply(found: Found, registry: Registry, name: str, keys: KeySet) -> dict[str, StaleEntry]:
    """Register the functions that calls with these keys reach at stale entries.

    Routes in the registry then equal those of PyTorch. Returns the entries by the labels of
    their functions.
    """
    applied = {}
    for entry in found.certain:
        if entry.functions[0].is_served and entry.key in keys:
            fn: Any = fallthrough if entry.functions[0].is_fallthrough else _live._never
            registry.impl(name, entry.key.name, fn, label=entry.label)
            applied[entry.label] = entry
    return applied
