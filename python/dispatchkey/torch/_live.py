# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Reads the dispatcher of the installed PyTorch."""
from __future__ import annotations

import errno
import fnmatch
import functools
import importlib
import importlib.util
import json
import os
import re
import sys
import threading
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, NamedTuple, Optional

from .. import _abi
from .._error import Error, did_you_mean, error, printable
from .._keys import Key, Layout
from .._keyset import KeySet
from .._library import c_text
from .._registry import Registry, fallthrough
from .._schema import Schema

# A registration of _dispatch_dump(): "CPU: registered at FILE:1 :: (Tensor _0) [ boxed ]"
_IMPL = re.compile(r"^(?P<key>\w+)(?P<alias>\[alias\])?(?P<old> \(inactive\))?: "
                   r"(?P<text>.*?) :: .* \[ (?P<flags>[a-z ]*) \]$")
# An entry of _dispatch_dump_table(): "CPU: registered at FILE:1 [kernel]"
_ENTRY = re.compile(r"^(?P<key>\w+): (?P<fallthrough>fallthrough )?(?P<text>.*?) "
                    r"\[(?P<rule>[a-z ]+)\]$")
# An operator as torch.ops prints it, or with "::". "default" stands for no overload.
_PRINTED = re.compile(r"(?:torch\.ops\.)?(\w+)(?:\.|::)(\w+)\.(\w+)")
# A default value, up to the next argument or to the end of the arguments; alone if it is a string,
# list, number or constant.
_DEFAULT = re.compile(r"""=(?:(?P<plain>"(?:[^"\\]|\\.)*"|\[.*?\]|-?[\d.]+(?:e[+-]?\d+)?|"""
                      r"True|False|None)|(?P<word>.*?))"
                      r"(?=, (?:\*, )?[^,=]*[^,= ] \w+(?:=|, |\) -> )|\) -> )")


# The private functions of torch._C that this package calls, and what follows if one is missing.
# Other releases can lack some. They are accessed only through internal() and optional().
PRIVATE = {
    "_EnablePythonDispatcher": "dispatchkey selects the overload by the argument types",
    "_dispatch_check_invariants": "fewer stale entries are found",
    "_dispatch_dump": "the registrations of an operator cannot be read",
    "_dispatch_dump_table": "the tables of operators and the fallbacks cannot be read",
    "_dispatch_get_all_op_names": "operators cannot be listed",
    "_dispatch_get_registrations_for_dispatch_key": "operators cannot be listed",
    "_dispatch_has_computed_kernel_for_dispatch_key": "fewer stale entries are found",
    "_dispatch_has_backend_fallback": "fallbacks are found only where they serve the operator",
    "_dispatch_is_included_in_alias": "what its alias keys stand for cannot be read",
    "_dispatch_key_name": "the names of keys cannot be checked",
    "_dispatch_key_parse": "fallbacks are found only where they serve the operator",
    "_dispatch_keys": "the keys of tensors cannot be read",
    "_dispatch_num_backends": "the number of backends cannot be checked",
    "_dispatch_tls_local_exclude_set": "the local state of a thread cannot be read",
    "_dispatch_tls_local_include_set": "the local state of a thread cannot be read",
    "_get_privateuse1_backend_name": "PrivateUse1 keeps its original name",
}


class Incomplete(UserWarning):
    """An answer omits something, because this PyTorch lacks a private function."""


def pytorch() -> Any:
    """Return the module torch; raise ImportError with one sentence if it is missing."""
    try:
        import torch
    except Exception as e:      # a broken installation can raise anything
        if "KeyboardInterrupt" in str(e):
            raise KeyboardInterrupt from None
        what = f"{e}" if isinstance(e, ImportError) else f"{type(e).__name__}: {e}"
        raise ImportError(f"PyTorch cannot be imported ({_first_line(what)}): "
                          f"{_advice(e)} for this Python, {sys.executable}") from None
    if not hasattr(torch, "_C") or not hasattr(torch._C, "_dispatch_dump"):
        raise ImportError(f"{torch.__name__} at {getattr(torch, '__file__', None)} is not PyTorch, "
                          "or has no torch._C._dispatch_dump()")
    return torch


def _advice(e: Exception) -> str:
    return "install it" if isinstance(e, ModuleNotFoundError) and e.name == "torch" else \
        "install it again"


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0].rstrip(".:")


def load(file: str) -> None:
    """Load a backend: a shared library, a Python file, or a Python module by its name."""
    torch = pytorch()
    path = os.path.abspath(file)
    is_path = os.sep in file or file.endswith((".py", ".so")) or os.path.isfile(file)
    try:
        if not is_path:
            importlib.import_module(file)
        elif not os.path.exists(path):
            raise FileNotFoundError(os.strerror(errno.ENOENT))
        elif os.path.isdir(path) or path.endswith(".py"):
            _run_file(path)
        else:
            torch.ops.load_library(path)
    except (Exception, SystemExit) as e:    # the code of a backend can raise anything
        text = str(e).replace(f"{path}: ", "")
        reason = f"it calls sys.exit({e.code})" if isinstance(e, SystemExit) else \
            _first_line(text) or type(e).__name__
        raise ImportError(f"{file} cannot be loaded: {reason}") from None


def _run_file(path: str) -> None:
    """Import a Python file or package. Like a script, it can import files beside it."""
    name = os.path.splitext(os.path.basename(path))[0]
    if name in {*sys.modules, *getattr(sys, "stdlib_module_names", ())}:
        name = path.replace(".", "_")   # a file such as random.py does not replace that module
    is_folder = os.path.isdir(path)
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(path, "__init__.py") if is_folder else path,
        submodule_search_locations=[path] if is_folder else None)
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python module")
    sys.path.append(os.path.dirname(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def optional(name: str) -> Any:
    """Return a function of PRIVATE, or None if this PyTorch lacks it."""
    assert name in PRIVATE
    return getattr(pytorch()._C, name, None)


def internal(name: str) -> Any:
    """Return a function of PRIVATE; raise ImportError if this PyTorch lacks it."""
    function = optional(name)
    if function is None:
        raise ImportError(lacks(name))
    return function


def lacks(name: str) -> str:
    """Return a sentence on what this PyTorch lacks, and on what follows from that."""
    return f"PyTorch {pytorch().__version__} has no torch._C.{name}(): {PRIVATE[name]}"


def _note(name: str) -> None:
    """Warn once that a function of PRIVATE is missing."""
    if name not in _noted:
        _noted.add(name)
        warnings.warn(lacks(name), Incomplete, stacklevel=2)


_noted: set[str] = set()


def private_name() -> str:
    """Return PyTorch's name for the device of PrivateUse1, which a program can rename."""
    name = optional("_get_privateuse1_backend_name")
    return str(name()) if name else "privateuseone"


def layout() -> Layout:
    """Return the installed PyTorch's layout; raise ImportError if it is unknown or differs."""
    version = str(pytorch().__version__)
    found = _described[-1] if _described else _released(version)
    difference = _first_difference(version, found)
    if difference:
        of = f"layout {found}" if _described else f"release {release()}"
        raise ImportError(f"the keys of PyTorch {version} differ from those of {of}: {difference}")
    return found


_NEEDED = {"tables", "sets"}
# No layout is this long. The limit also stops reading endless device files.
_LONGEST = 65536
_described: list[Layout] = []           # the last one is used


def release() -> str:
    """Return the installed PyTorch's release, such as "1.13"."""
    return ".".join(str(pytorch().__version__).split(".")[:2])


def releases() -> list[str]:
    """Return the releases whose calls can be explained, the newest first."""
    names = [of.name[len("pytorch-"):] for of in Layout.all() if of.name.startswith("pytorch-")]
    return [name for name in names if name == "1.13" or re.fullmatch(r"2\.\d+", name)]


def _released(version: str) -> Layout:
    if release() not in releases():
        raise ImportError(f"the alias keys of PyTorch {version} are unknown; known releases: "
                          f"{', '.join(releases())}; --layout FILE describes others")
    of = Layout(f"pytorch-{release()}")
    return of if of.knows >= _NEEDED else _completed(of)


@functools.lru_cache(maxsize=4)
def _completed(of: Layout) -> Layout:
    """Return a layout with the sets of its alias keys. The library knows only their names.

    Functionalize is in a set of some releases only, so PyTorch is asked. The other lines depend on
    the release (Documentation/semantics.rst, 4.3 and 4.4). All sets are compared with PyTorch's.
    """
    minor = int(of.name.split(".")[1])
    text = of.describe() + "other-autograd HIP VE" + (" MTIA" if minor < 7 else "") + "\n" + \
        ("batched-empty\n" if minor < 8 else "") + "tables\n"
    implicit = [key.name for alias, key in _differing(Layout.parse(text))
                if alias.name == "CompositeImplicitAutograd" and key.kind == "functionality"]
    found = Layout.parse(text + "".join(f"implicit {name}\n" for name in implicit))
    for alias, key in _differing(found):
        raise ImportError(f"PyTorch and layout {of} disagree whether {alias} stands for {key}: "
                          "--layout FILE describes another layout")
    return found


def _differing(of: Layout) -> list[tuple[Key, Key]]:
    """Return the alias keys and runtime keys for which PyTorch's sets differ from the layout's."""
    is_included = internal("_dispatch_is_included_in_alias")
    # PyTorch's test ignores that the set of this key was empty up to 2.7.
    unsure = "FuncTorchBatchedDecomposition"
    aliases = [k for k in of.keys if k.kind == "alias" and k.name != unsure]
    runtime = [k for k in of.keys if k.kind in ("functionality", "per-backend")]
    live = {k: _live_key(k.name) for k in [*aliases, *runtime]}
    return [(alias, key) for alias in aliases for key in runtime
            if None not in (live[alias], live[key]) and
            is_included(live[key], live[alias]) != (key in alias.stands_for)]


def describe(file: str) -> None:
    """Use the layout that a file describes, instead of that of the installed release."""
    try:
        with open(file, "rb") as f:
            text = f.read(_LONGEST + 1)
        found = Layout.parse(text.decode()) if len(text) <= _LONGEST else None
    except ValueError:      # not UTF-8, or with a NUL
        raise error(errno.EINVAL, "the file is not text", word=file) from None
    except OSError as e:
        raise error(e.errno or errno.EINVAL, e.strerror or str(e), word=file) from None
    if not found:
        raise error(errno.EINVAL, f"the file is longer than {_LONGEST} bytes", word=file)
    if not found.knows >= _NEEDED:
        raise error(errno.EINVAL, 'the layout needs the line "tables"', word=file)
    _described.append(found)


def is_described() -> bool:
    """Whether other programs do not know the layout, or not its tables."""
    return bool(_described) or not Layout(f"pytorch-{release()}").knows >= _NEEDED


@functools.lru_cache(maxsize=4)
def _first_difference(_version: str, of: Layout) -> str:
    """Describe the first key that PyTorch numbers or names differently from the layout, or "".

    Compares three things, if this PyTorch reports them: how many backends there are, which number
    and bits each key name has, and which name each key number has.
    """
    c = pytorch()._C
    name_of = optional("_dispatch_key_name")
    count, members = optional("_dispatch_num_backends"), getattr(c, "DispatchKey", None)
    if count and count() != len(of.backends):
        return f"{count()} backends, but {len(of.backends)} in layout {of}"
    keys = of.keys
    # A number at which a group of keys begins is not a key, but PyTorch 2 names it "Undefined" or,
    # for example, "QuantizedUndefined". So does the library.
    names = {number: Key(number, of).name for number in range(keys[-1].number + 1)}
    for key in keys:
        live = _live_key(key.name)
        number = _call(int, live)
        if number is not None and number != key.number:
            return f"{key} has number {number}, but {key.number} in layout {of}"
        bits = _call(lambda k: c.DispatchKeySet(k).raw_repr(), live)
        if bits is not None and key.kind != "alias" and bits != key.keyset.bits:
            return f"{key} has bits {bits:#x}, but {key.keyset.bits:#x} in layout {of}"
    for number in range(max(names) + 4):
        name = _call(name_of, _call(members, number))
        expected = names.get(number)
        if name and "Unknown" not in name and name != expected:
            return f"number {number} is {name}, but {expected or 'no key'} in layout {of}"
    return ""


def _live_key(name: str) -> Any:
    """Return PyTorch's object for a key, or None. Not all keys are members of DispatchKey."""
    live = getattr(getattr(pytorch()._C, "DispatchKey", None), name, None)
    return _call(optional("_dispatch_key_parse"), name) if live is None else live


def _call(function: Any, *arguments: Any) -> Any:
    """Return the result of a function of PyTorch; None if it is missing or fails."""
    try:
        return function(*arguments)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return None


def operators() -> list[str]:
    """Return the names of all operators, with their overloads."""
    every = optional("_dispatch_get_all_op_names")
    return sorted(every() if every else
                  internal("_dispatch_get_registrations_for_dispatch_key")(""))


def matching(pattern: str) -> list[str]:
    """Return the names of the operators that match a pattern, such as "aten::*"."""
    c_text(pattern, "a pattern of operators' names")
    names = [name for name in operators() if fnmatch.fnmatchcase(name, pattern)]
    if not names:
        raise error(errno.ENOENT, "no operator of PyTorch matches this pattern", "NO_OPERATOR",
                    pattern)
    return names


class Skipped(NamedTuple):
    """An operator that an answer leaves out, and the reason."""

    operator: str
    reason: str

    def __str__(self) -> str:
        return f"{self.operator} was not compared: {self.reason}"


# Held while something is replaced that belongs to the whole process.
lock = threading.RLock()


def new_registry(of: Layout) -> Registry:
    """Return a registry for copies of PyTorch's registrations, some of which replace others."""
    registry = Registry(of, name="PyTorch", builtins=False)
    registry._warns, registry._takes_blocks = False, True
    return registry


LABEL_MAX = _abi.NAME_MAX - 1
PYTHON_FUNCTION = "a Python function"
# Words that dkctl replay prints instead of a label, and so refuses as labels.
_ANSWERS = ("missing", "ambiguous", "fallthrough")
_OF_COMPILER = re.compile(r"\.(c|cc|cpp|cu|cuh|cxx|h|hh|hip|hpp|hxx|inc|inl|ipp|m|mm):\d+$", re.I)


def label(text: str) -> str:
    """Return the place where a function is registered as a label, which has no spaces.

    For a function of torch.library, PyTorch 1.13 and 2.6 print /dev/null and a line of another
    file. PyTorch 2.14 prints where the Library was made. Neither prints the function's name.
    """
    where = text.replace("registered at ", "")
    if where.startswith("/dev/null:") or where == PYTHON_FUNCTION:
        return PYTHON_FUNCTION
    if where in _ANSWERS:
        return f'"{where}"'
    return end_of(printable(where.replace(" ", "_")), LABEL_MAX) or "unknown"


def end_of(text: str, size: int) -> str:
    """Return the end of a text, of at most this number of bytes."""
    return text.encode()[-size:].decode(errors="ignore")


def is_in_python(place: str) -> bool:
    """Return whether a label is that of a function in Python.

    The file of Python code can have any name, such as "<stdin>" or that of a script. So every file
    counts as Python unless it is a file of C++.
    """
    return place.endswith(PYTHON_FUNCTION) or \
        bool(re.search(r":\d+$", place)) and not _OF_COMPILER.search(place)


class TableEntry(NamedTuple):
    """An entry of a printed table."""

    where: str
    rule: str
    is_fallthrough: bool

    def __str__(self) -> str:
        return f"{'fallthrough ' if self.is_fallthrough else ''}{self.where} [{self.rule}]"


def entries_of(table: str) -> dict[str, TableEntry]:
    """Return the entry of each key with a function, from the text of _dispatch_dump_table()."""
    found = (_ENTRY.match(line) for line in table.splitlines())
    return {m["key"]: TableEntry(label(m["text"]), m["rule"], bool(m["fallthrough"]))
            for m in found if m}


def dump_of(name: str) -> Optional[str]:
    """Return what _dispatch_dump() prints, "" for no operator; None if it cannot parse the name.

    PyTorch registers an operator with any name, such as my-lib::f, but parses only identifiers.
    """
    dump: Optional[str] = _call(internal("_dispatch_dump"), name)
    return dump


@dataclass(frozen=True)
class Operator:
    """The texts that PyTorch prints for one operator."""

    name: str
    dump: str
    table: str

    @classmethod
    def read(cls, name: str) -> "Operator":
        c_text(name, "the name of an operator")
        dump = dump_of(name)
        if not dump:
            raise _unknown(name)
        return cls(name, dump, internal("_dispatch_dump_table")(name))

    @property
    def is_defined(self) -> bool:
        """Whether the operator has a schema, and not only functions."""
        return bool(re.search(r"^schema: (?!\(none\)$)", self.dump, re.M))

    @property
    def schema(self) -> str:
        """The schema as PyTorch prints it."""
        found = re.search(r"^schema: (.*)$", self.dump, re.M)
        if not found or not self.is_defined:
            raise error(errno.ENOENT, "the operator has functions but no definition", "DANGLING",
                        self.name)
        return found[1]

    @functools.cached_property
    def _parsed(self) -> tuple[str, Schema]:
        try:
            return self.schema, Schema(self.schema)
        except Error as e:
            text = _DEFAULT.sub(lambda m: m[0] if m["plain"] else f"={json.dumps(m['word'])}",
                                self.schema)
            try:
                return text, Schema(text)
            except Error:
                raise error(errno.EINVAL, f"the schema that PyTorch prints cannot be read: {e}",
                            e.reason) from None

    @property
    def readable_schema(self) -> str:
        """The schema, with quotes around default values if it cannot be parsed without them.

        PyTorch prints Device d="cuda:0" without the quotes, and complex c=1j as 0.+1.j.
        """
        return self._parsed[0]

    @property
    def parsed_schema(self) -> Schema:
        """The schema in its parts."""
        return self._parsed[1]

    @property
    def makes_tensors(self) -> bool:
        """Whether it takes no tensors, but a device on which it makes tensors."""
        if not self.is_defined:
            return False
        arguments = self.parsed_schema.arguments
        return not any(a.is_dispatched for a in arguments) and \
            any(a.name == "device" for a in arguments)

    @property
    def debug(self) -> str:
        """The place where the operator is defined, or ""."""
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
        """Return the registrations, the newest first."""
        return [m for m in map(_IMPL.match, self.dump.splitlines()) if m]

    @functools.cached_property
    def entries(self) -> dict[str, TableEntry]:
        """The entries of PyTorch's table."""
        return entries_of(self.table)

    def fallbacks(self, of: Layout) -> dict[str, TableEntry]:
        """Return all backend fallbacks, including those that the operator does not use."""
        found = {key: entry for key, entry in self.entries.items()
                 if entry.rule == "backend fallback"}
        return {**_fallbacks(frozenset(_keys_with_fallback(of))), **found}

    def mirror(self, registry: Registry) -> str:
        """Make PyTorch's registrations in our registry, and return the operator's name."""
        name = self.mirror_functions(registry)
        mirror_fallbacks(registry, self.fallbacks(registry.layout))
        return name

    def mirror_functions(self, registry: Registry) -> str:
        """Register the operator and its functions, and return the operator's name."""
        name = registry.define(self.readable_schema)
        for m in reversed(self.impls()):
            fn: Any = fallthrough if "fallthrough" in m["flags"] else _never
            registry.impl(name, m["key"], fn, label=label(m["text"]))
        return name


def mirror_fallbacks(registry: Registry, fallbacks: dict[str, TableEntry]) -> None:
    """Register backend fallbacks."""
    for key, entry in fallbacks.items():
        fn: Any = fallthrough if entry.is_fallthrough else _never
        registry.fallback(key, fn, label=entry.where)


def all_fallbacks(of: Layout) -> dict[str, TableEntry]:
    """Return the backend fallbacks. If a fallback serves no operator, its place is unknown."""
    keys = frozenset(_keys_with_fallback(of))
    unknown = TableEntry("unknown", "backend fallback", False)
    return {**dict.fromkeys(keys, unknown), **_read_fallbacks(keys)}


@functools.lru_cache(maxsize=4)
def _fallbacks(keys: frozenset[str]) -> dict[str, TableEntry]:
    return _read_fallbacks(keys)


def _read_fallbacks(keys: frozenset[str]) -> dict[str, TableEntry]:
    """Return the backend fallbacks of these keys, from tables of operators that they serve."""
    found: dict[str, TableEntry] = {}
    dump_table = optional("_dispatch_dump_table")
    if not keys or not dump_table:
        if keys:
            _note("_dispatch_dump_table")
        return found
    try:
        names = operators()
    except ImportError:
        _note("_dispatch_get_registrations_for_dispatch_key")
        return found
    for name in names:
        left = keys - found.keys()
        if not left:
            break
        table = _call(dump_table, name) or ""       # see dump_of()
        if any(f"\n{key}: " in table for key in left):
            found.update((key, entry) for key, entry in entries_of(table).items()
                         if key in left and entry.rule == "backend fallback")
    return found


def _keys_with_fallback(of: Layout) -> list[str]:
    """Return the keys that have a backend fallback, if this PyTorch reports them."""
    for name in ("_dispatch_has_backend_fallback", "_dispatch_key_parse"):
        if not optional(name):
            _note(name)
            return []
    has = internal("_dispatch_has_backend_fallback")
    return [name for name, key in _runtime_keys(of) if has(key)]


@functools.lru_cache(maxsize=4)
def _runtime_keys(of: Layout) -> list[tuple[str, Any]]:
    """Return the runtime keys that this PyTorch also has: each name, and PyTorch's key."""
    parse, found = internal("_dispatch_key_parse"), []
    for key in of.keys:
        if key.kind not in ("alias", "building-block"):
            try:
                found.append((key.name, parse(key.name)))
            except RuntimeError:
                continue
    return found


def _never(*_args: Any) -> None:
    """Stand for a function of PyTorch in our registry, where no call is made."""


def operator_name(written: str) -> str:
    """Return an operator's name. It may be written as torch.ops prints it: aten.mm.default."""
    found = _PRINTED.fullmatch(written)
    if not found:
        return written
    name = f"{found[1]}::{found[2]}" + ("" if found[3] == "default" else f".{found[3]}")
    return name if name != written and dump_of(name) else written


def _unknown(name: str) -> Exception:
    if not name:
        return error(errno.EINVAL, "the name of an operator is empty", "NO_OPERATOR", "",
                     "use a name such as aten::add.Tensor")
    try:
        names = operators()
    except ImportError:
        names = []
    if name in names:
        return unreadable(name)
    overloads = [n for n in names if n.split(".")[0] == name]
    if overloads:
        return error(errno.ENOENT, "PyTorch has this operator only with an overload",
                     "NO_OPERATOR", name, f"its overloads are {', '.join(overloads[:6])}")
    return error(errno.ENOENT, "PyTorch has no such operator", "NO_OPERATOR", name,
                 _hint(name, names))


def unreadable(name: str) -> Error:
    """Return the error for an operator whose name PyTorch's functions cannot parse."""
    return error(errno.EINVAL, "PyTorch's own functions cannot read this operator's name",
                 word=name, hint="use only letters, digits and _ in names")


def _hint(name: str, names: list[str]) -> str:
    """Suggest operators with a similar name, or what to do if there is none."""
    namespace = name.partition("::")[0] if "::" in name else "torch"
    if namespace == "higher_order":
        return "PyTorch calls higher-order operators in Python, without a table"
    known = {n.partition("::")[0] for n in names}
    if namespace != "torch" and known and namespace not in known:
        return did_you_mean(namespace, known) and did_you_mean(name, names) or \
            f"no operator of namespace {namespace} is registered: load its library first (on " \
            "the command line, with --load FILE)"
    # mm, torch::mm and torch.nn.functional.relu are aten::mm and aten::relu.
    last = re.split(r"::|\.", name)[-1] if namespace == "torch" else ""
    same = [n for n in names if last and n.split("::")[-1].split(".")[0] == last]
    same.sort(key=lambda n: (not n.startswith("aten::"), "." in n, not n.endswith(".Tensor"), n))
    if same:
        same = same[:2] if "." in same[0] else same[:1]
        return f"did you mean {' or '.join(same)}?"
    return did_you_mean(name, names)


def keyset(live: Any, of: Layout) -> KeySet:
    """Convert one of PyTorch's sets to a KeySet."""
    raw = getattr(live, "raw_repr", None)
    if raw:
        return KeySet(raw(), layout=of)
    # In PyTorch 1.13, the printed form of a set omits a functionality without a backend and a
    # backend without a functionality. Adding a key completes such a half, so both are printed.
    # Two different keys are added in turn: the bits that both results have are those of the set.
    make, parse = getattr(pytorch()._C, "DispatchKeySet", None), optional("_dispatch_key_parse")
    if not make or not parse:
        return KeySet(str(live), layout=of)
    try:
        printed = [str(live | make(parse(key))) for key in ("CPU", "SparseCUDA")]
    except (AttributeError, RuntimeError, TypeError):
        return KeySet(str(live), layout=of)
    return KeySet(printed[0], layout=of) & KeySet(printed[1], layout=of)


def local_state(of: Layout) -> tuple[KeySet, KeySet]:
    """Return the sets that this thread includes and excludes in PyTorch."""
    return keyset(internal("_dispatch_tls_local_include_set")(), of), \
        keyset(internal("_dispatch_tls_local_exclude_set")(), of)


@contextmanager
def without_modes(with_function: bool = False) -> Iterator[None]:
    """Disable PyTorch's modes and subclasses for the calls in the block.

    with_function  __torch_function__ of subclasses, and of modes that are entered in the block,
                   stays enabled
    """
    c, overrides = pytorch()._C, sys.modules.get("torch.overrides")
    disable = getattr(c, "_DisableTorchDispatch", None)
    with ExitStack() as stack:
        if hasattr(c, "DisableTorchFunction") and not with_function:
            stack.enter_context(c.DisableTorchFunction())
        # In PyTorch 1.13, DisableTorchFunction does not disable modes.
        for _ in range(getattr(c, "_len_torch_function_stack", int)()):
            stack.enter_context(getattr(overrides, "_pop_mode_temporarily")())
        guard = disable() if disable else None      # active until it is deleted
        try:
            yield
        finally:
            del guard


def keys_of(tensor: Any, of: Layout) -> KeySet:
    """Return the keys of a tensor."""
    return keyset(internal("_dispatch_keys")(tensor), of)


def tensors(values: Iterable[Any]) -> list[Any]:
    """Return the tensors in arguments, including those in lists, in order."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += tensors(value)
        elif isinstance(value, pytorch().Tensor):
            found.append(value)
    return found
