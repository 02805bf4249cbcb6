# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Defines the computed table of an operator."""
from __future__ import annotations

from typing import Iterator, Optional, Union

from ._error import UnknownName
from ._explain import Entry
from ._keys import Backend, Key, Layout


class Table:
    """The function of each key of an operator, by the rules of PyTorch.

    print() writes the table as PyTorch does; a notebook shows a picture. table["CPU"]
    is the Entry of a runtime key. The table contains the runtime keys that have a
    function: "CPU" in table.

    operator  the operator's name
    layout    the layout of its keys
    device    the device whose objects are routed by the table, or ""
    """

    def __init__(self, operator: str, layout: Layout, entries: list[Entry],
                 backends: list[str], device: str = ""):
        self.operator, self.layout, self.device = operator, layout, device
        self._entries, self._backends = entries, backends

    def __getitem__(self, key: Union[str, Key]) -> Entry:
        key = self._key(key)
        if key.kind in ("alias", "building-block"):
            raise KeyError(f"{key} has no entry of its own: use a runtime key")
        return self._entries[key.entry]

    def _key(self, key: Union[str, Key]) -> Key:
        """Return a key, whose name may contain a private name, in upper or lower case."""
        try:
            return Key(key, self.layout)
        except UnknownName:
            found = self._private_keys().get(str(key).lower())
            if found is None:
                raise
            return found

    def _private_keys(self) -> dict[str, Key]:
        """Return the keys of backends with a private name, by their names in lower case."""
        found = {}
        for key in self.layout.keys:
            backend = key.backend
            name = self._backends[backend.number - 1] if backend else ""
            if backend and name != backend.name:
                found[(key.name[:-len(backend.name)] + name).lower()] = key
        return found

    def __iter__(self) -> Iterator[Key]:
        """The runtime keys that have a function."""
        for i, entry in enumerate(self._entries):
            if i and entry.is_served:
                yield self._key_of(i)

    def __contains__(self, key: Union[str, Key]) -> bool:
        found = self._key(key)
        return any(found == key for key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def items(self) -> Iterator[tuple[Key, Entry]]:
        """Return the keys that have a function, with their entries."""
        return ((key, self[key]) for key in self)

    def _key_of(self, index: int) -> Key:
        from ._library import lib
        return Key(lib.dk_slot_key(self.layout._ptr, index), self.layout)

    def entry(self, functionality: Key, backend: Optional[Backend] = None) -> Entry:
        """Return the entry of a functionality, or its entry for a backend."""
        return self._entries[functionality.entry + (backend.number - 1 if backend else 0)]

    def backend_name(self, backend: Backend) -> str:
        """Return the backend's name; a private name is followed by the backend's own name."""
        name = self._backends[backend.number - 1]
        return name if name == backend.name else f"{name} ({backend.name})"

    def svg(self) -> str:
        """The picture, as text of an SVG file without external references."""
        from ._picture import table_svg
        return table_svg(self)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        from ._picture import as_image
        return as_image(self.svg(), str(self))

    def __repr__(self) -> str:
        on = f" for device {self.device}" if self.device else ""
        return f"<Table of {self.operator}{on}, {len(self)} keys have a function>"

    def __str__(self) -> str:
        return "\n".join(f"{self._key_of(i)}: {entry.in_dump()}"
                         for i, entry in enumerate(self._entries)
                         if entry.is_served or entry.is_ambiguous)
