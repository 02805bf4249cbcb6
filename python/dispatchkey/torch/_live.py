# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Reads the dispatcher of the installed PyTorch."""
from __future__ import annotations

import errno
import functools
import importlib
import os
import re
from dataclasses import dataclass
from typing import Any, Iterable, NamedTuple

from .. import _abi
from .._error import did_you_mean, error
from .._keys import Layout
from .._keyset import KeySet
from .._registry import Registry, fallthrough
from .._schema import Schema

# A registration of _dispatch_dump(): "CPU: registered at FILE:1 :: (Tensor _0) [ boxed ]"
_IMPL = re.compile(r"^(?P<key>\w+)(?P<alias>\[alias\])?(?P<old> \(inactive\))?: "
                   r"(?P<text>.*?) :: .* \[ (?P<flags>[a-z ]*) \]$")
# An entry of _dispatch_dump_table(): "CPU: registered at FILE:1 [kernel]"
_ENTRY = re.compile(r"^(?P<key>\w+): (?P<fallthrough>fallthrough )?(?P<text>.*?) "
                    r"\[(?P<rule>[a-z ]+)\]$")


def pytorch() -> Any:
    """The module torch; raises ImportError with one sentence if it is missing."""
    try:
        import torch
    except ImportError as e:
        raise ImportError(f"PyTorch cannot be imported ({e}): install it for this Python") \
            from None
    if not hasattr(torch, "_C") or not hasattr(torch._C, "_dispatch_dump"):
        raise ImportError(f"{torch.__name__} at {getattr(torch, '__file__', None)} is not PyTorch, "
                          "or has no torch._C._dispatch_dump()")
    return torch


def load(file: str) -> None:
    """Load a backend: a shared library, or a Python module by its name."""
    torch = pytorch()
    try:
        if os.path.exists(file) or os.sep in file:
            torch.ops.load_library(os.path.abspath(file))
        else:
            importlib.import_module(file)
    except Exception as e:      # the code of a backend may raise anything
        text = str(e).replace(f"{os.path.abspath(file)}: ", "")
        reason = (text.splitlines() or [type(e).__name__])[0]
        raise ImportError(f"{file} cannot be loaded: {reason}") from None


def internal(name: str) -> Any:
    """A function of torch._C, which another release may lack."""
    torch = pytorch()
    function = getattr(torch._C, name, None)
    if function is None:
        raise ImportError(f"PyTorch {torch.__version__} has no torch._C.{name}()")
    return function


def private_name() -> str:
    """PyTorch's name for the device of PrivateUse1, which a program may rename."""
    name = getattr(pytorch()._C, "_get_privateuse1_backend_name", None)
    return str(name()) if name else "privateuseone"


def layout() -> Layout:
    """The layout of the installed PyTorch."""
    version = str(pytorch().__version__)
    release = ".".join(version.split(".")[:2])
    try:
        return Layout(f"pytorch-{release}")
    except LookupError:
        known = ", ".join(found.name[len("pytorch-"):] for found in Layout.all()
                          if found.name.startswith("pytorch-") and "-pre" not in found.name)
        raise ImportError(f"PyTorch {version} has keys that are not known here: known are those "
                          f"of {known}") from None


def operators() -> list[str]:
    """The names of all operators, with their overloads."""
    c = pytorch()._C
    every = getattr(c, "_dispatch_get_all_op_names", None)
    return sorted(every() if every else c._dispatch_get_registrations_for_dispatch_key(""))


LABEL_MAX = _abi.NAME_MAX - 1
PYTHON_FUNCTION = "a Python function"


def label(text: str) -> str:
    """Where a function is registered, as a label: a name without spaces.

    For a function of torch.library, PyTorch 1.13 prints /dev/null and a line of another
    file, and nowhere the function's name.
    """
    where = text.replace("registered at ", "")
    if where.startswith("/dev/null:") or where == PYTHON_FUNCTION:
        return PYTHON_FUNCTION
    return where.replace(" ", "_")[-LABEL_MAX:] or "unknown"


class TableEntry(NamedTuple):
    """An entry of a printed table."""

    where: str
    rule: str
    is_fallthrough: bool

    def __str__(self) -> str:
        return f"{'fallthrough ' if self.is_fallthrough else ''}{self.where} [{self.rule}]"


def entries_of(table: str) -> dict[str, TableEntry]:
    """The entry of each key with a function, from what _dispatch_dump_table() prints."""
    found = (_ENTRY.match(line) for line in table.splitlines())
    return {m["key"]: TableEntry(label(m["text"]), m["rule"], bool(m["fallthrough"]))
            for m in found if m}


@dataclass(frozen=True)
class Operator:
    """The texts that PyTorch prints for one operator."""

    name: str
    dump: str
    table: str

    @classmethod
    def read(cls, name: str) -> "Operator":
        c = pytorch()._C
        try:
            dump = c._dispatch_dump(name)
        except RuntimeError:
            # not the form of a name
            raise _unknown(name) from None
        if not dump:
            raise _unknown(name)
        return cls(name, dump, c._dispatch_dump_table(name))

    @property
    def is_defined(self) -> bool:
        """Whether there is a schema, and not only functions."""
        return bool(re.search(r"^schema: (?!\(none\)$)", self.dump, re.M))

    @property
    def schema(self) -> str:
        found = re.search(r"^schema: (.*)$", self.dump, re.M)
        if not found or not self.is_defined:
            raise error(errno.ENOENT, "the operator has functions but no definition", "DANGLING",
                        self.name)
        return found[1]

    @property
    def makes_tensors(self) -> bool:
        """Whether it takes no tensors, and a device on which it makes some."""
        if not self.is_defined:
            return False
        arguments = Schema(self.schema).arguments
        return not any(a.is_dispatched for a in arguments) and \
            any(a.name == "device" for a in arguments)

    @property
    def debug(self) -> str:
        """Where the operator is defined, or ""."""
        return self._line("debug")

    @property
    def alias_analysis(self) -> str:
        """The kind of its alias analysis, or "" if it is the default."""
        kind = self._line("alias analysis kind")
        return "" if "default" in kind else kind

    def _line(self, what: str) -> str:
        found = re.search(f"^{what}: (.*)$", self.dump, re.M)
        return found[1] if found else ""

    def impls(self) -> list[re.Match[str]]:
        """The registrations, the newest first."""
        return [m for m in map(_IMPL.match, self.dump.splitlines()) if m]

    def entries(self) -> dict[str, TableEntry]:
        """The entries of PyTorch's table."""
        return entries_of(self.table)

    def fallbacks(self, of: Layout) -> dict[str, TableEntry]:
        """The backend fallbacks, including those of keys at which this operator has a function."""
        found = {key: entry for key, entry in self.entries().items()
                 if entry.rule == "backend fallback"}
        return {**_fallbacks(frozenset(_keys_with_fallback(of))), **found}

    def mirror(self, registry: Registry) -> str:
        """Make PyTorch's registrations in our registry; returns the operator's name."""
        name = registry.define(self.schema)
        for m in reversed(self.impls()):
            fn: Any = fallthrough if "fallthrough" in m["flags"] else _never
            registry.impl(name, m["key"], fn, label=label(m["text"]))
        for key, entry in self.fallbacks(registry.layout).items():
            fn = fallthrough if entry.is_fallthrough else _never
            registry.fallback(key, fn, label=entry.where)
        return name


def all_fallbacks(of: Layout) -> dict[str, TableEntry]:
    """The backend fallbacks. One that serves no operator has no known place."""
    keys = frozenset(_keys_with_fallback(of))
    unknown = TableEntry("unknown", "backend fallback", False)
    return {**dict.fromkeys(keys, unknown), **_read_fallbacks(keys)}


@functools.lru_cache(maxsize=4)
def _fallbacks(keys: frozenset[str]) -> dict[str, TableEntry]:
    return _read_fallbacks(keys)


def _read_fallbacks(keys: frozenset[str]) -> dict[str, TableEntry]:
    """The backend fallbacks of these keys, from the tables of operators that they serve."""
    found: dict[str, TableEntry] = {}
    for name in operators():
        left = keys - found.keys()
        if not left:
            break
        table = pytorch()._C._dispatch_dump_table(name)
        if any(f"\n{key}: " in table for key in left):
            found.update((key, entry) for key, entry in entries_of(table).items()
                         if key in left and entry.rule == "backend fallback")
    return found


def _keys_with_fallback(of: Layout) -> list[str]:
    """The keys that have a backend fallback, if this PyTorch reports them."""
    has = getattr(pytorch()._C, "_dispatch_has_backend_fallback", None)
    return [name for name, key in _runtime_keys(of.name) if has(key)] if has else []


@functools.lru_cache(maxsize=4)
def _runtime_keys(layout_name: str) -> list[tuple[str, Any]]:
    """The runtime keys that this PyTorch also has: the name of each, and PyTorch's key."""
    parse, found = internal("_dispatch_key_parse"), []
    for key in Layout(layout_name).keys:
        if key.kind not in ("alias", "building-block"):
            try:
                found.append((key.name, parse(key.name)))
            except RuntimeError:
                continue
    return found


def _never(*_args: Any) -> None:
    """Stands for one of PyTorch's functions; a route does not call it."""


def _unknown(name: str) -> Exception:
    names = operators()
    overloads = [n for n in names if n.split(".")[0] == name]
    hint = f"its overloads are {', '.join(overloads[:6])}" if overloads else \
        did_you_mean(name, names)
    text = "PyTorch has no operator without an overload of this name" if overloads else \
        "PyTorch has no such operator"
    return error(errno.ENOENT, text, "NO_OPERATOR", name, hint)


def keyset(live: Any, of: Layout) -> KeySet:
    """One of PyTorch's sets as ours."""
    raw = getattr(live, "raw_repr", None)
    if raw:
        return KeySet(raw(), layout=of)
    # PyTorch 1.13 prints neither a functionality without a backend nor a backend without a
    # functionality. With a key of another functionality and another backend it prints both.
    c = pytorch()._C
    try:
        printed = [str(live | c.DispatchKeySet(c._dispatch_key_parse(key)))
                   for key in ("CPU", "SparseCUDA")]
    except (AttributeError, TypeError):
        return KeySet(str(live), layout=of)
    return KeySet(printed[0], layout=of) & KeySet(printed[1], layout=of)


def local_state(of: Layout) -> tuple[KeySet, KeySet]:
    """What this thread includes and excludes in PyTorch."""
    return keyset(internal("_dispatch_tls_local_include_set")(), of), \
        keyset(internal("_dispatch_tls_local_exclude_set")(), of)


def keys_of(tensor: Any, of: Layout) -> KeySet:
    """The keys of a tensor."""
    return keyset(internal("_dispatch_keys")(tensor), of)


def tensors(values: Iterable[Any]) -> list[Any]:
    """The tensors in arguments, including those in lists, in order."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += tensors(value)
        elif isinstance(value, pytorch().Tensor):
            found.append(value)
    return found
