# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Makes calls, and wraps the Python functions that serve them.

When the library calls a function, it passes a pointer to the struct with the arguments. If
Python made the call, a Frame object of the thread also has the arguments as Python values,
and gets the result. The pointer identifies the Frame. A call that C made has no Frame.
"""
from __future__ import annotations

import ctypes
import errno
import struct
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import _abi
from ._error import error, from_reason
from ._keys import Key, Layout
from ._keyset import Keys, KeySet
from ._library import Owned, lib
from ._object import Packer
from ._schema import Schema

if TYPE_CHECKING:
    from ._registry import Registry

_threads = threading.local()


class Frame:
    """The arguments of one call as Python values, its result, and its exception."""

    __slots__ = ("definition", "values", "args", "address", "keep", "result", "exception")

    def __init__(self, definition: Definition, values: list[Any], layout: Layout):
        self.definition = definition
        self.values = values
        packer = Packer(definition.schema, definition.decl.contents, layout)
        self.args, self.keep = packer.pack(values)
        self.address = ctypes.addressof(self.args)
        self.result: Any = None
        self.exception: Optional[BaseException] = None

    def again(self) -> Frame:
        """Return the frame of another call with the same arguments."""
        frame = Frame.__new__(Frame)
        frame.definition, frame.values = self.definition, self.values
        frame.args, frame.address, frame.keep = self.args, self.address, self.keep
        frame.result = frame.exception = None
        return frame

    def run(self, enter: Callable[[Any], int]) -> Any:
        """Make the call; raise the exception of one of its functions, or the library's error."""
        frames = _threads.__dict__.setdefault("frames", [])
        depth = len(frames)
        try:
            frames.append(self)     # in the block, as Ctrl-C may raise an exception at once
            result = enter(self.args)
        finally:
            del frames[depth:]
        raised, self.exception = self.exception, None
        if raised is not None:
            try:
                raise raised
            finally:
                del raised      # its traceback refers to this function's variables
        if result == 0:
            return self.result
        raise _Unserved(result)


class _Unserved(Exception):
    """The dispatcher, or a C function, returned an errno."""

    def __init__(self, result: int):
        super().__init__(result)
        self.result = result


class Definition:
    """A schema and its declaration. The library keeps a pointer to the declaration."""

    __slots__ = ("schema", "decl", "place", "_owned", "_texts")

    def __init__(self, text: str, place: bytes):
        self.schema = Schema(text)
        self.place = place
        self.decl = self.schema.declaration()
        self.decl.contents.debug = place
        self._owned = Owned(self.decl, lib.dk_schema_decl_free)

    def qualify(self, name: str) -> None:
        """Give the operator its full name, with the namespace of its library.

        Called after the library has copied the declaration: the namespace need not fit the
        grammar of schemas, such as "a-b".
        """
        prefix = name[:-len(self.schema.full_name)]
        decl = self.decl.contents
        self._texts = (name.encode(), prefix.encode() + decl.schema)
        decl.name, decl.schema = self._texts
        self.schema.name = prefix + self.schema.name


def _frame_of(address: int) -> Optional[Frame]:
    frames: list[Frame] = _threads.__dict__.get("frames", [])
    for frame in reversed(frames):
        if frame.address == address:
            return frame
    return None


def _innermost_frame() -> Optional[Frame]:
    frames: list[Frame] = _threads.__dict__.get("frames", [])
    return frames[-1] if frames else None


def unserved(registry: Registry, name: str, result: int, keys: KeySet) -> Exception:
    """Return the exception for a call that returned an errno and raised no exception."""
    number = -result
    if number in (errno.ENOSYS, errno.ENOTUNIQ):
        with registry._operator(name) as op:
            text = registry._why_not_served(op, number, keys)
        reason = "MISSING" if number == errno.ENOSYS else "AMBIGUOUS"
        return error(number, text, reason)
    if number == errno.ENOENT:
        return from_reason(number, _abi.DK_WHY_NOT_DEFINED, name)
    return error(number, lib.dk_call_error_text(result).decode(), word=name)


class Call:
    """The call that a function serves; the function's first argument if with_call is true.

    operator  the operator's name
    keys      the keyset that it was routed by
    key       the key that it was routed by: the highest in keys
    below     the keys below that key

    The object is valid until the function returns.
    """

    def __init__(self, registry: Registry, ptr: Any, args: int, frame: Optional[Frame]):
        self._registry, self._ptr, self._args, self._frame = registry, ptr, args, frame
        self.operator: str = lib.dk_call_decl(ptr).contents.name.decode()
        self.keys = KeySet(ptr.contents.ks.bits, layout=registry.layout)

    def __reduce__(self) -> str:
        raise TypeError("a Call cannot be copied: it is valid only inside its function")

    def __repr__(self) -> str:
        state = "" if self._ptr else ", which has returned"
        return f"<Call of {self.operator} by {self.key} of {self.keys}{state}>"

    @property
    def key(self) -> Key:
        return self.keys.highest

    @property
    def below(self) -> KeySet:
        return self._registry._keyset(lib.dk_call_below(self._checked()).bits)

    def _checked(self) -> Any:
        if self._ptr is None:
            raise RuntimeError(f"the call of {self.operator} has returned: "
                               "use a Call only inside the function that it is passed to")
        return self._ptr

    def redispatch(self, /, *args: Any, keys: Optional[Keys] = None, **kwargs: Any) -> Any:
        """Continue with the keys below, or with the given keys; return the result.

        If no arguments are given, the arguments of the call are passed on.
        """
        ptr = self._checked()
        to = self.below if keys is None else self._registry._set(keys)
        frame = self._frame
        try:
            if not args and not kwargs and frame is None:
                result = lib.dk_redispatch_boxed(ptr, to.bits, self._args)
                if result:
                    raise _Unserved(result)
                return None
            if frame is None:
                raise TypeError(f"{self.operator}: a call from C is redispatched with its own "
                                "arguments: pass none")
            if args or kwargs:
                frame = Frame(frame.definition, frame.definition.schema.bind(args, kwargs),
                              self._registry.layout)
            else:
                frame = frame.again()
            return frame.run(
                lambda packed: int(lib.dk_redispatch_boxed(ptr, to.bits, packed)))
        except _Unserved as e:
            raise unserved(self._registry, self.operator, e.result,
                           self._registry._redispatched(self.operator, to)) from None


def _values_from_c(call: Any, args: int, layout: Layout) -> list[Any]:
    """Return the arguments of a call from C: numbers, strings, sets of keys, addresses."""
    decl = lib.dk_call_described(call)
    value, values = _abi.dk_value(), []
    for i in range(decl.contents.num_params):
        if lib.dk_arg_get(decl, args, i, value) < 0:
            break
        values.append(_from_c(value, layout))
    return values


def _from_c(value: _abi.dk_value, layout: Layout) -> Any:
    kind = value.kind
    if kind == _abi.DK_ARG_BOOL:
        return bool(value.i)
    if kind == _abi.DK_ARG_INT:
        return value.i
    if kind == _abi.DK_ARG_UINT:
        return value.u
    if kind == _abi.DK_ARG_FLOAT:
        return struct.unpack("<f", struct.pack("<I", value.bits))[0]
    if kind == _abi.DK_ARG_DOUBLE:
        return struct.unpack("<d", struct.pack("<Q", value.bits))[0]
    if kind == _abi.DK_ARG_STRING:
        return value.str.decode(errors="replace") if value.str is not None else None
    if kind == _abi.DK_ARG_OBJECT:
        return KeySet(value.obj.contents.ks.bits, layout=layout) if value.obj else None
    if kind == _abi.DK_ARG_LIST:
        items = [lib.dk_list_at(value.list, i) for i in range(value.list.n)]
        return [KeySet(item.contents.ks.bits, layout=layout) if item else None for item in items]
    return value.ptr


def _errno_of(e: BaseException) -> int:
    """Return the errno that C gets instead of an exception."""
    return e.errno if isinstance(e, OSError) and e.errno in errno.errorcode else errno.EIO


class _Rescue:
    """A hook of the interpreter for exceptions that a callback of ctypes does not return.

    A signal handler, such as that of Ctrl-C, may raise an exception before the first line of
    entered(). ctypes then returns an undefined number to C, and passes the exception to
    sys.unraisablehook. This hook passes it to the Frame of the thread's innermost call.
    """

    def __init__(self) -> None:
        self.code: Any = None
        self.before: Callable[[Any], object] = sys.unraisablehook

    def install(self, code: Any) -> None:
        """Rescue exceptions of entered() in serve(). All calls of serve() pass the same code."""
        if not self.code:
            self.before, sys.unraisablehook = sys.unraisablehook, self
        self.code = code

    def __call__(self, lost: Any) -> None:
        frame, trace = _innermost_frame(), lost.exc_traceback
        if frame and trace and trace.tb_frame.f_code is self.code:
            frame.exception = lost.exc_value
        else:
            self.before(lost)


_rescue = _Rescue()


def serve(registry: Registry, fn: Callable[..., Any], with_call: bool) -> Any:
    """Return a function that the library can call, and that calls a Python function."""

    def entered(ptr: Any, args: int) -> int:
        frame = call = None
        found = False
        try:
            frame = _frame_of(args)
            found = True
            call = Call(registry, ptr, args, frame) if with_call else None
            values = frame.values if frame else _values_from_c(ptr, args, registry.layout)
            result = fn(*((call,) if call else ()), *values)
            if frame:
                frame.result, frame.exception = result, None
            return 0
        except BaseException as e:  # pylint: disable=broad-except
            if not found:       # an exception of a signal handler
                frame = _innermost_frame()
            if frame:
                frame.exception = e
            else:
                sys.excepthook(type(e), e, e.__traceback__)
            return -_errno_of(e)
        finally:
            if call:
                call._ptr = None

    _rescue.install(entered.__code__)
    return _abi.dk_boxed_fn_t(entered)
