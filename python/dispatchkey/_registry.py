# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Registries: operators, the functions that serve them, and calls."""
from __future__ import annotations

import atexit
import ctypes
import errno
import numbers
import os
import re
import sys
import threading
import time
import warnings
import weakref
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional, TypeVar, Union, overload

from . import _abi
from ._call import Definition, Frame, _Unserved, serve, unserved
from ._error import (OverrideWarning, did_you_mean, error, from_diag, from_reason, new_diag,
                     printable, shown)
from ._explain import Entry, Explanation, Route, explain, route_of
from ._keys import Backend, Key, Layout, text_of
from ._keyset import Keys, KeySet
from ._library import DECL_POINTER, OBJ_POINTER, PROVIDER_POINTER, Owned, c_text, lib
from ._local import _get, state_of
from ._object import Object, object_of
from ._table import Table

KeyName = Union[str, Key]
# How long a wait lasts, in seconds, before Ctrl-C is checked.
_SLICE = 0.1
_LONGEST = 1e9             # seconds; stands for no limit


class _Fallthrough:
    """The type of `fallthrough`."""

    def __reduce__(self) -> str:
        return "fallthrough"        # a copy is the same object

    def __repr__(self) -> str:
        return "dispatchkey.fallthrough"


fallthrough = _Fallthrough()
"""Used instead of a function: calls are routed as if the key were not in their keyset."""


Function = TypeVar("Function", bound=Union[Callable[..., Any], _Fallthrough])


@dataclass(frozen=True)
class Operator:
    """An operator of a registry.

    definer        the provider that defined it, or ""
    num_functions  the number of its registered functions
    """

    name: str
    is_defined: bool
    definer: str
    num_functions: int


@dataclass(frozen=True)
class Registration:
    """A registered function.

    label      the function's name, or ""
    provider   the provider that registered it
    is_active  whether it is the newest function at its key, and not offline
    """

    key: Key
    label: str
    provider: str
    is_fallthrough: bool
    is_active: bool


class _Kept:
    """A function in the form that the library needs. Keep it until no call can be in it."""

    def __init__(self, registry: Registry, fn: Any, key: int, name: Optional[bytes],
                 label: str, definition: Optional[Definition], with_call: bool):
        self.label = c_text(label, "a label")
        if not label.isprintable():     # a line break would add a line to dumps and tables
            raise ValueError(f"a label must consist of printable characters: {label!r}")
        self.definition = definition
        self.decl = definition.decl if definition else None
        if name is not None and definition is None:
            self.decl = DECL_POINTER(_abi.dk_op_decl(
                size=ctypes.sizeof(_abi.dk_op_decl), call_abi=_abi.ABI_VERSION, name=name))
        self.impl = _abi.dk_impl(size=ctypes.sizeof(_abi.dk_impl), label=self.label, key=key)
        if self.decl is not None:
            self.impl.op = self.decl
        if fn is fallthrough:
            self.impl.flags = _abi.DK_IMPL_F_FALLTHROUGH
        else:
            self.callback = serve(registry._registry, fn, with_call)
            self.impl.flags = _abi.DK_IMPL_F_BOXED
            self.impl.fn = ctypes.cast(self.callback, ctypes.c_void_p)


def _label_of(fn: Any, label: Optional[str]) -> str:
    if label is not None and label != "":
        return label
    return "fallthrough" if fn is fallthrough else getattr(fn, "__name__", type(fn).__name__)


def _place(depth: int) -> bytes:
    """Return the caller's place in the program, in PyTorch's format."""
    frame = sys._getframe(depth)
    return os.fsencode(f"registered at {printable(frame.f_code.co_filename)}:{frame.f_lineno}")


class _Registrar:
    """The methods define(), impl() and fallback() of registries and their libraries."""

    _registry: Registry
    _kept: set[Union[_Kept, Definition]]
    _without_key = "for all backends"       # where impl() registers without a key

    def _full(self, name: str) -> str:
        return name

    def _c_define(self, decl: Any, flags: int, why: _abi.dk_diag) -> int:
        raise NotImplementedError

    def _c_impl(self, impl: _abi.dk_impl, why: _abi.dk_diag) -> int:
        raise NotImplementedError

    def _c_fallback(self, impl: _abi.dk_impl, why: _abi.dk_diag) -> int:
        raise NotImplementedError

    def define(self, schema: str, *, same_device: bool = False) -> str:
        """Define an operator by its schema, and return its name with the overload.

        same_device  all arguments that are on a device must be on the same device
        """
        return self._define(schema, same_device, _place(2))

    def _define(self, schema: str, same_device: bool, place: bytes) -> str:
        definition = Definition(schema, place)
        name = self._full(definition.schema.full_name)
        decl = definition.decl
        with self._registry._handles.lock:
            self._register(definition, self._c_define, decl,
                           _abi.DK_OP_SAME_DEVICE if same_device else 0)
            if name != definition.schema.full_name:
                definition.qualify(name)
            self._registry._definitions[name] = definition
        return name

    def _register(self, kept: Union[_Kept, Definition], function: Callable[..., int],
                  *args: Any) -> _abi.dk_diag:
        """Call a C function that registers, and keep what the registration needs."""
        handles, why = self._registry._handles, new_diag()
        with handles.lock:
            handles.use()
            # Before the call: after it, a signal handler may raise an exception at once.
            self._kept.add(kept)
            result = function(*args, why)
            if result < 0:
                self._kept.discard(kept)
                raise from_diag(why, result)
        return why

    @overload
    def impl(self, name: str, key: Optional[KeyName] = None, fn: None = None, *,
             label: Optional[str] = None,
             with_call: bool = False) -> Callable[[Function], Function]: ...

    @overload
    def impl(self, name: str, key: Optional[KeyName], fn: Function, *,
             label: Optional[str] = None, with_call: bool = False) -> Function: ...

    @overload
    def impl(self, name: str, *, fn: Function, label: Optional[str] = None,
             with_call: bool = False) -> Function: ...

    def impl(self, name: str, key: Optional[KeyName] = None, fn: Any = None, *,
             label: Optional[str] = None, with_call: bool = False) -> Any:
        """Register a function of an operator at a key; without fn, return a decorator.

        name       the operator, which may be defined later
        key        a runtime key such as "CPU", or an alias key such as "Autograd"; None
                   for the library's key or, if it has none, for all backends
                   (CompositeImplicitAutograd). The name may contain that of a private
                   backend, such as "Autogradedu"
        fn         a Python function that takes the operator's arguments, or `fallthrough`
        label      its human-readable name; by default the name of fn
        with_call  pass the Call as the first argument, for redispatching

        The newest function at a key is used; OverrideWarning reports that it replaces another
        function. The function stays alive until it is unregistered and no call is inside it.
        """
        if callable(key) or key is fallthrough:
            raise TypeError("impl(): the key comes before the function: impl(name, key, fn), "
                            f"or impl(name, fn=fn) {self._without_key}")
        if fn is None:
            c_text(name)        # a function if the decorator has no ()
            return lambda f: self._impl(name, key, f, label, with_call)
        return self._impl(name, key, fn, label, with_call)

    def _impl(self, name: str, key: Optional[KeyName], fn: Any, label: Optional[str],
              with_call: bool) -> Any:
        registry = self._registry
        _check_function(fn)
        definition = registry._definitions.get(self._full(name))
        kept = _Kept(registry, fn, registry._key(key), c_text(name), _label_of(fn, label),
                     definition, with_call)
        if registry._takes_blocks:
            kept.impl.flags |= _abi.DK_IMPL_F_BLOCK
        why = self._register(kept, self._c_impl, kept.impl)
        if why.reason and (registry._warns or why.reason != _abi.DK_WHY_OVERRIDE):
            text, about = why.text.decode(), why.name.decode(errors="replace")
            warnings.warn(f"{text}: {about}", OverrideWarning if
                          why.reason == _abi.DK_WHY_OVERRIDE else UserWarning, stacklevel=3)
        return fn

    @overload
    def fallback(self, key: KeyName, fn: None = None, *,
                 label: Optional[str] = None) -> Callable[[Function], Function]: ...

    @overload
    def fallback(self, key: KeyName, fn: Function, *,
                 label: Optional[str] = None) -> Function: ...

    def fallback(self, key: KeyName, fn: Any = None, *, label: Optional[str] = None) -> Any:
        """Register a function for all operators that have none at a key.

        The function is called with the Call and then the operator's arguments. With
        `fallthrough` as fn, calls are routed as if the key were not in their keyset.
        Without fn, returns a decorator.
        """
        if callable(key) or key is fallthrough:
            raise TypeError("fallback(): the key comes before the function: fallback(key, fn)")
        if fn is None:
            return lambda f: self.fallback(key, f, label=label)
        registry = self._registry
        _check_function(fn)
        kept = _Kept(registry, fn, registry._key(key), None, _label_of(fn, label), None, True)
        self._register(kept, self._c_fallback, kept.impl)
        return fn


def _check_function(fn: Any) -> None:
    if fn is not fallthrough and not callable(fn):
        raise TypeError(f"expected a function or fallthrough, not {type(fn).__name__}")


class Library(_Registrar):
    """Definitions and functions of one namespace, which are released together.

    Returned by Registry.library(). Call close(), or use it in a `with` statement.
    """

    def __init__(self, registry: Registry, namespace: Optional[str], kind: str,
                 key: Optional[KeyName]):
        kinds = {"DEF": _abi.DK_LIBRARY_DEF, "FRAGMENT": _abi.DK_LIBRARY_FRAGMENT,
                 "IMPL": _abi.DK_LIBRARY_IMPL}
        if kind not in kinds:
            raise ValueError(f'unknown kind of library "{kind}": use "DEF", "FRAGMENT" or "IMPL"')
        self._registry, self.namespace, self.kind = registry, namespace, kind
        self._kept = set()
        self._names: list[str] = []
        texts = (None if namespace is None or namespace == "" else c_text(namespace), _place(3))
        self._lib = _abi.dk_library(
            size=ctypes.sizeof(_abi.dk_library), kind=kinds[kind], ns=texts[0],
            key=registry._key(key), debug=texts[1], prov=PROVIDER_POINTER(registry._provider))
        if self._lib.key:
            self._without_key = f"at the library's key {key}"
        handles, why = registry._handles, new_diag()
        with handles.lock:
            handles.use()
            # The registry keeps these three objects, and not the Library itself: the Library
            # refers to the registry, so neither would ever be freed.
            handles.libraries[id(self._lib)] = (self._lib, texts, self._kept)
            result = lib.dk_library_register(self._lib, why)
            if result < 0:
                del handles.libraries[id(self._lib)]
                raise from_diag(why, result)

    def _full(self, name: str) -> str:
        return name if "::" in name or not self.namespace else f"{self.namespace}::{name}"

    def _c_define(self, decl: Any, flags: int, why: _abi.dk_diag) -> int:
        return int(lib.dk_library_def(self._lib, decl, flags, None, why))

    def _c_impl(self, impl: _abi.dk_impl, why: _abi.dk_diag) -> int:
        return int(lib.dk_library_impl(self._lib, impl, None, why))

    def _c_fallback(self, impl: _abi.dk_impl, why: _abi.dk_diag) -> int:
        return int(lib.dk_library_fallback(self._lib, impl, None, why))

    def _define(self, schema: str, same_device: bool, place: bytes) -> str:
        name = super()._define(schema, same_device, place)
        self._names.append(name)
        return name

    def close(self) -> None:
        """Release all registrations of the library, and wait for the calls of its functions."""
        handles = self._registry._handles
        memory = handles.memory
        if memory is None or id(self._lib) not in handles.libraries:
            return
        if handles.is_closing:
            raise _closed()
        # Without the lock, because this waits for calls, which may register. If another thread
        # is closing the library, both wait.
        self._registry._check(lib.dk_library_unregister(self._lib), self.namespace or "_")
        with handles.lock:
            handles.libraries.pop(id(self._lib), None)
            for name in self._names:
                # The operator may have been defined again since.
                if handles.definitions.get(name) in self._kept:
                    del handles.definitions[name]
        self._kept.clear()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> str:
        raise TypeError("a Library cannot be copied: it belongs to its Registry")

    def __repr__(self) -> str:
        return f"<Library {self.kind} {self.namespace or '_'}>"


_unclosed: set[_Handles] = set()
"""Handles whose functions the library may still call, even if their Registry was dropped."""


class _Handles:
    """The objects that a registry holds in the library, and their release.

    memory   the C registry; None when the registry is closed. It is freed with its last
             reference, so close() need not wait for other methods, only for calls. In the
             child of fork(), other methods may never end: their threads do not exist there
    lock     held while something is registered or undefined, both in C and here
    dropped  a weak reference, which releases this when the Registry is collected
    """

    def __init__(self, registry: object, layout: Layout, name: str, flags: int, is_default: bool):
        self.texts = (c_text(layout.name), c_text(name))
        self.kept: set[Union[_Kept, Definition]] = set()
        self.libraries: dict[int, Any] = {}
        self.is_closing = False
        self.lock = threading.RLock()   # a signal handler or a finalizer may register, too
        self.definitions: dict[str, Definition] = {}
        why = new_diag()
        ptr = lib.dk_registry_default() if is_default else \
            lib.dk_registry_alloc(layout._ptr, flags, why)
        if not ptr:
            raise from_diag(why)
        self.memory: Union[int, Owned, None] = ptr if is_default else Owned(ptr, _free)
        self.provider = _abi.dk_provider(
            size=ctypes.sizeof(_abi.dk_provider), abi=_abi.ABI_VERSION, layout=self.texts[0],
            name=self.texts[1], registry=ptr)
        self.dropped: Optional[weakref.ref[object]] = weakref.ref(registry, lambda _: self.drop())
        _unclosed.add(self)
        result = lib.dk_provider_register(self.provider, why)
        if result < 0:
            _unclosed.discard(self)
            raise from_diag(why, result)

    def use(self) -> Union[int, Owned]:
        """Return the memory. Until C has returned, keep a reference to it or hold the lock."""
        memory = self.memory
        if self.is_closing or memory is None:
            raise _closed()
        return memory

    def release(self, milliseconds: int, why: _abi.dk_diag) -> int:
        """Unregister all functions and wait for their calls. Call again after -ETIMEDOUT.

        Several threads may do this at once: each of them waits.
        """
        memory = self.memory
        if memory is None:
            return 0
        result = int(lib.dk_provider_unregister_timeout(self.provider, milliseconds, why))
        if result == 0:
            self.kept.clear()
            self.libraries.clear()
            # The memory is last, so that close() can be called again if Ctrl-C ends this, and
            # under the lock, so that no other thread is in a function that changes the registry.
            with self.lock:
                self.definitions.clear()
                self.memory = self.dropped = None
                _unclosed.discard(self)
        elif result == -errno.ETIMEDOUT:
            self.is_closing = True
        return result

    def drop(self) -> bool:
        """Release a registry that was not closed. Return False if calls are still running."""
        for milliseconds in (1, 10, 100):
            why = new_diag()
            result = self.release(milliseconds, why)
            if why.reason != _abi.DK_WHY_GRACE:
                break
        return result == 0


def _closed() -> Exception:
    return error(errno.EINVAL, "the registry is closed", "UNREGISTERED")


def _free(ptr: int) -> None:
    lib.dk_registry_free(ptr, None)


@atexit.register
def _end() -> None:
    """Release what was not closed, when the interpreter ends."""
    for handles in _unclosed.copy():        # other threads may close registries meanwhile
        if not handles.drop():
            # Keep the objects that the calls use until the process ends.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(handles))


def _forked() -> None:
    """In the child of fork(), replace the locks: they may be held by threads of the parent."""
    for handles in _unclosed:
        handles.lock = threading.RLock()


os.register_at_fork(after_in_child=_forked)


class Registry(_Registrar):
    """Operators, the functions that serve them at each key, and calls of them.

    >>> registry = Registry()
    >>> registry.define("demo::add(Tensor a, Tensor b) -> Tensor")
    'demo::add'
    >>> @registry.impl("demo::add", "CPU")
    ... def add_cpu(a, b):
    ...     return f"add_cpu of {a} and {b}"
    >>> print(registry.route("demo::add", "CPU"))
    demo::add(CPU) goes to add_cpu of python [kernel]
    >>> registry.call("demo::add", KeySet("CPU"), KeySet("CPU"))
    'add_cpu of DispatchKeySet(CPU) and DispatchKeySet(CPU)'
    >>> registry.close()

    layout    the layout of its keys; Layout.all() lists the layouts
    name      the provider's human-readable name
    builtins  register the fallthroughs that calls need under the default local state

    Call close(), or use the registry in a `with` statement: close() waits until no call
    is running in its functions. The functions are kept alive until then.
    """

    _warns = True           # of functions that replace others
    _takes_blocks = False   # functions at building blocks, which serve no call

    def __init__(self, layout: Union[str, Layout] = "v1", *, name: str = "python",
                 builtins: bool = True, _is_default: bool = False):
        self.layout = Layout(layout)
        self._handles = _Handles(self, self.layout, name,
                                 _abi.DK_REGISTRY_BUILTINS if builtins else 0, _is_default)
        self._provider = self._handles.provider
        self._kept = self._handles.kept
        self._definitions = self._handles.definitions
        self._registry = weakref.proxy(self)

    @classmethod
    def default(cls, *, name: str = "python") -> Registry:
        """Return the default registry of the C library, which has layout v1."""
        return cls(name=name, _is_default=True)

    # ---- methods for the other classes --------------------------------------------------

    def _keyset(self, bits: int) -> KeySet:
        return KeySet(bits, layout=self.layout)

    def _key(self, key: Optional[KeyName]) -> int:
        if key is None:
            return _abi.DK_UNDEFINED
        if not isinstance(key, (str, Key)):
            raise TypeError("expected a Key, the name of a key, or None for all backends, "
                            f"not {shown(key)}")
        return Key(self._public(key) if isinstance(key, str) else key, self.layout).number

    def _public(self, name: str) -> str:
        """Return a key's name in the layout, from a name that may contain a backend's private name.

        Other text is returned unchanged, so that errors name what the caller wrote.
        """
        number = ctypes.c_uint()
        if lib.dk_key_parse(self.layout._ptr, c_text(name), 0, number, None) == 0:
            return name
        if lib.dk_registry_key_parse(self._handles.use(), c_text(name), number, None) < 0:
            return name
        return Key(number.value, self.layout).name

    def _set(self, keys: Keys) -> KeySet:
        """Return a set; text may contain private names of backends."""
        if isinstance(keys, str):
            keys = re.sub("[^|,() ]+", lambda word: self._public(word[0]), keys)
        return KeySet(keys, layout=self.layout)

    @staticmethod
    def _sized(struct: Any) -> Any:
        return struct(size=ctypes.sizeof(struct))

    @staticmethod
    def _check(result: int, name: str) -> None:
        """Raise the error of a C function that returned an errno without a reason."""
        if result == -errno.EDEADLK:
            raise from_reason(-result, _abi.DK_WHY_INSIDE, name)
        if result == -errno.ENOENT:
            raise from_reason(-result, _abi.DK_WHY_NOT_DEFINED, name)
        if result < 0:
            raise error(-result, lib.dk_call_error_text(result).decode(), word=name)

    @contextmanager
    def _operator(self, name: str) -> Iterator[int]:
        memory = self._handles.use()
        held: list[int] = []
        try:
            # extend() stores the handle before a signal handler can raise an exception.
            held.extend(map(lib.dk_op_get, (memory,), (c_text(name),)))
            if not held[0]:
                hint = did_you_mean(name, (op.name for op in self.operators()))
                raise from_reason(errno.ENOENT, _abi.DK_WHY_NO_OPERATOR, name, hint)
            yield held[0]
        finally:
            for op in held:
                lib.dk_op_put(op)

    def _backend_name(self, backend: Backend) -> str:
        buf = ctypes.create_string_buffer(_abi.NAME_MAX)
        return str(lib.dk_backend_name(self._handles.use(), backend.number, buf).decode())

    @staticmethod
    def _why_not_served(op: int, number: int, keys: KeySet) -> str:
        text = text_of(lib.dk_ambiguous_text, op) if number == errno.ENOTUNIQ else \
            text_of(lib.dk_missing_text, op, keys.bits)
        return text.rstrip("\n")

    def _c_define(self, decl: Any, flags: int, why: _abi.dk_diag) -> int:
        return int(lib.dk_op_define(self._provider, decl, flags, why))

    def _c_impl(self, impl: _abi.dk_impl, why: _abi.dk_diag) -> int:
        return int(lib.dk_impls_register(self._provider, impl, 1, why))

    def _c_fallback(self, impl: _abi.dk_impl, why: _abi.dk_diag) -> int:
        return int(lib.dk_fallback_register(self._provider, impl, why))

    # ---- registering --------------------------------------------------------------------

    def library(self, namespace: Optional[str], kind: str = "IMPL",
                key: Optional[KeyName] = None) -> Library:
        """Return a Library of a namespace; its definitions and functions are released together.

        kind  "DEF" or "FRAGMENT" (TORCH_LIBRARY, TORCH_LIBRARY_FRAGMENT) to define
              operators; "IMPL" (TORCH_LIBRARY_IMPL) for functions, by default at `key`.
              A namespace can have one DEF library. An IMPL library without a namespace
              takes backend fallbacks.
        """
        return Library(self, namespace, kind, key)

    def undefine(self, name: str) -> None:
        """Undefine an operator; its functions stay registered."""
        why = new_diag()
        with self._handles.lock:
            self._handles.use()
            result = lib.dk_op_undefine(self._provider, c_text(name), why)
            if result < 0:
                raise from_diag(why, result)
            definition = self._definitions.pop(name, None)
            if definition:
                self._kept.discard(definition)

    def close(self, timeout: Optional[float] = None) -> None:
        """Unregister everything; return when no call is inside.

        timeout  seconds after which Timeout is raised and names a call that is still
                 inside. No new call can enter; call close() again to continue waiting.

        Ctrl-C also ends the wait. A closed registry stays closed.

        Calls that other threads make during close() are served as before, or fail with
        an Error: UnknownName or NotServed while registrations are being removed, then
        "the registry is closed". Calls that a function makes while close() waits for it
        fail in the same way. All later calls fail.
        """
        given: Any = timeout            # mypy does not take float for a numbers.Real
        if given is not None and not isinstance(given, numbers.Real):
            raise TypeError("timeout: expected seconds as a number, or None to wait without "
                            f"a limit, not {shown(timeout)}")
        if timeout is not None and not timeout >= 0:
            raise ValueError(f"timeout: expected seconds, 0 or more, not {timeout!r}")
        end = None if timeout is None else time.monotonic() + float(min(timeout, _LONGEST))
        while True:
            left = _SLICE if end is None else max(end - time.monotonic(), 0)
            why = new_diag()
            result = self._handles.release(int(min(left, _SLICE) * 1000), why)
            if result == 0:
                return
            if result == -errno.EDEADLK:
                self._check(result, self._handles.texts[1].decode())
            if result != -errno.ETIMEDOUT or (end is not None and time.monotonic() >= end):
                raise from_diag(why, result)

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # ---- calls --------------------------------------------------------------------------

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call an operator; return what its function returns, and raise what it raises.

        The arguments are those of the schema. For a Tensor pass an Object, or a KeySet.
        If no function serves the call, NotServed is raised, with a text like PyTorch's.
        """
        definition = self._definition(name)
        frame = Frame(definition, definition.schema.bind(args, kwargs), self.layout)
        state = state_of(self.layout)
        try:
            with self._operator(name) as op:
                return frame.run(
                    lambda packed: int(lib.dk_call_boxed(op, definition.decl, state, packed)))
        except _Unserved as e:
            result = e.result
        raise unserved(self, name, result, self._effective(name, frame.values))

    def _definition(self, name: str) -> Definition:
        definition = self._definitions.get(name)
        if definition is not None:
            return definition
        with self._operator(name):
            pass
        definer = next((op.definer for op in self.operators() if op.name == name), "")
        if not definer:
            raise from_reason(errno.ENOENT, _abi.DK_WHY_NOT_DEFINED, name,
                              "define() it with its schema in this Registry")
        # A schema states neither the layout of a definition's argument struct nor the C types that
        # its objects are embedded in.
        raise error(errno.EPROTOTYPE,
                    "a Registry can call only operators that it has defined itself", word=name,
                    hint=f"this operator is defined by provider {definer}: call it there")

    def _effective(self, name: str, values: list[Any]) -> KeySet:
        """Return the keyset that a call with these arguments is routed by."""
        objects: list[Any] = []
        for a, value in zip(self._definition(name).schema.arguments, values):
            if a.is_dispatched:
                objects += value if isinstance(value, (list, tuple)) else [value]
        return self.route(name, *(v for v in objects if v is not None)).effective

    def _redispatched(self, name: str, keys: KeySet) -> KeySet:
        """Return the keyset that a redispatch to these keys is routed by."""
        obj = _abi.dk_obj(ks=_abi.dk_keyset(keys.bits))
        r = self._sized(_abi.dk_route)
        with self._operator(name) as op:
            lib.dk_op_route(op, 0, 0, (OBJ_POINTER * 1)(OBJ_POINTER(obj)), 1, r)
        return self._keyset(r.effective.bits)

    # ---- routes -------------------------------------------------------------------------

    def _objects(self, name: str, objects: tuple[Any, ...]) -> tuple[list[_abi.dk_obj], Any]:
        """Return the structs dk_obj of objects and, for C, an array of pointers to them."""
        definition = self._definitions.get(name)
        if definition:
            definition.schema.check_dispatched(len(objects), name)
        found = [self._object(o) for o in objects]
        return found, (OBJ_POINTER * max(len(found), 1))(
            *(OBJ_POINTER(obj) for obj in found))

    def _object(self, given: Union[Keys, Object]) -> _abi.dk_obj:
        """Return the struct dk_obj of an object, key, backend or set, or of text: SET[@DEVICE]."""
        if isinstance(given, (Key, Backend)):
            given = self._set(given)
        if not isinstance(given, str):
            return object_of(given, self.layout, "argument")
        keys, at, device = given.rpartition("@")
        return _abi.dk_obj(ks=_abi.dk_keyset(self._set(keys if at else given).bits),
                           device=self._device(device) if at else 0)

    def route(self, name: str, *objects: Union[Keys, Object]) -> Route:
        """Return the route of a call with these arguments, under this thread's local state.

        objects  the objects that it dispatches on, or their keys; not more than the
                 operator's schema has. "CUDA@card1" is an object on the device card1
        """
        found, pointers = self._objects(name, objects)
        r = self._sized(_abi.dk_route)
        with self._operator(name) as op:
            result = lib.dk_op_route(op, *_get(state_of(self.layout)), pointers, len(found), r)
        if result not in (0, -errno.ENOSYS, -errno.ENOTUNIQ):
            self._check(result, name)
        return route_of(self, name, r, result)

    def explain(self, name: str, *objects: Union[Keys, Object]) -> Explanation:
        """Explain the route of a call with these arguments, given as for route().

        print() writes each step; a notebook shows a picture.
        """
        found, pointers = self._objects(name, objects)
        return explain(self, name, found, pointers, _get(state_of(self.layout)))

    def table(self, name: str, device: Optional[str] = None) -> Table:
        """Return the computed table of an operator: the function of each key.

        device  the name of a device, to get the table that its objects are routed by

        print() writes the table as PyTorch does; a notebook shows a picture.
        """
        e = self._sized(_abi.dk_entry)
        entries: list[Entry] = []
        number = self._device(device) if device is not None else 0
        with self._operator(name) as op:
            for i in range(self.layout.entries):
                self._check(lib.dk_op_entry(op, number, i, e), device or name)
                entries.append(Entry._of(e))
        backends = [self._backend_name(b) for b in self.layout.backends]
        return Table(name, self.layout, entries, backends, device or "")

    def _device(self, name: str) -> int:
        """Return the number of a device."""
        obj, why, memory = _abi.dk_obj(), new_diag(), self._handles.use()
        result = lib.dk_device_find(memory, c_text(name, "a device"), obj, why)
        if result < 0:
            raise from_diag(why, result, self._devices_hint(name, memory))
        return int(obj.device)

    def _device_text(self, number: int) -> str:
        """Return a device's name, with ", which is offline" if so; "" if it does not exist."""
        info = self._sized(_abi.dk_device_info)
        if not number or lib.dk_registry_device(self._handles.use(), number, info) < 0:
            return ""
        is_online = info.is_online and info.backend_online
        return str(info.name.decode()) + ("" if is_online else ", which is offline")

    def _devices_hint(self, name: str, memory: Union[int, Owned]) -> str:
        info, names = self._sized(_abi.dk_device_info), []
        while lib.dk_registry_next_device(memory, info.number, info) == 0:
            names.append(info.name.decode())
        return did_you_mean(name, names) or \
            (f"devices are {', '.join(names)}" if names else "there are no devices")

    # ---- registrations --------------------------------------------------------------------

    def operators(self) -> list[Operator]:
        """Return all operators by name, including those with functions but no definition."""
        info, after, found = self._sized(_abi.dk_op_info), None, []
        memory = self._handles.use()
        while lib.dk_registry_next_op(memory, after, info) == 0:
            after = info.name
            found.append(Operator(info.name.decode(), bool(info.is_defined),
                                  info.definer.decode(), info.num_impls))
        return found

    def impls(self, name: str) -> list[Registration]:
        """Return the functions of an operator, sorted by key.

        At each key, the functions of devices come last, and the newest of each kind first.
        """
        info = self._sized(_abi.dk_impl_info)
        found: list[Registration] = []
        with self._operator(name) as op:
            while lib.dk_op_impl(op, len(found), info) == 0:
                found.append(Registration(
                    Key(info.key, self.layout), info.label.decode(errors="replace"),
                    info.provider.decode(),
                    bool(info.is_fallthrough), bool(info.is_active)))
        return found

    def dump(self, name: str) -> str:
        """Return the registrations of an operator, as PyTorch prints them (dumpState)."""
        with self._operator(name) as op:
            return text_of(lib.dk_op_dump, op)

    def __reduce__(self) -> str:
        raise TypeError("a Registry cannot be copied: its registrations belong to this process")

    def __repr__(self) -> str:
        if self._handles.memory is None or self._handles.is_closing:
            return "<Registry, closed>"
        return f"<Registry of layout {self.layout}, {len(self.operators())} operators>"
