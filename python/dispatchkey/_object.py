# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Defines objects that calls dispatch on, and the values of arguments for C."""
from __future__ import annotations

import ctypes
import numbers
import struct
from typing import Any, Callable, Optional, Sequence, Union

from . import _abi
from ._error import from_diag, new_diag
from ._keys import Layout
from ._keyset import Keys, KeySet
from ._library import GENERATOR_POINTER, OBJ_POINTER, c_bool, c_text, lib
from ._schema import Argument, Schema


class Object:
    """An object that calls dispatch on; the base class of your own tensors.

    >>> class Tensor(Object):
    ...     def __init__(self, data, keys="CPU"):
    ...         super().__init__(keys)
    ...         self.data = data
    >>> print(Tensor([1, 2, 3]).keys)
    DispatchKeySet(CPU)

    A subclass calls super().__init__() with the keys.
    """

    def __init__(self, keys: Keys = "", *, layout: Union[str, Layout, None] = None):
        keys = KeySet(keys, layout=layout)
        self._layout = keys.layout
        self._obj = _abi.dk_obj(ks=_abi.dk_keyset(keys.bits))

    @property
    def keys(self) -> KeySet:
        """The keyset; assign to it to change it."""
        return KeySet(self._obj.ks.bits, layout=self._layout)

    @keys.setter
    def keys(self, keys: Keys) -> None:
        self._obj.ks.bits = KeySet(keys, layout=self._layout).bits

    def __setstate__(self, state: Any) -> None:
        """Give a copy its own struct, so that its keys can be changed separately."""
        members, slots = state if isinstance(state, tuple) else (state, None)
        for name, value in {**(members or {}), **(slots or {})}.items():
            setattr(self, name, value)
        if hasattr(self, "_obj"):
            self._obj = _abi.dk_obj.from_buffer_copy(self._obj)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.keys}>"


_OBJECT = "a dispatchkey.Object or KeySet"


def object_of(value: Any, layout: Layout, what: str) -> _abi.dk_obj:
    """Return the struct dk_obj of an object, or a new one with a set of keys."""
    if isinstance(value, Object):
        if not hasattr(value, "_obj"):
            raise TypeError(f"{what}: {type(value).__name__}.__init__() has not called "
                            "super().__init__() with its keys")
        if value._layout != layout:
            raise ValueError(f"{what}: the object has keys of layout {value._layout}, but "
                             f"the registry has layout {layout}")
        return value._obj
    if isinstance(value, KeySet):
        keys = KeySet(value, layout=layout)
        return _abi.dk_obj(ks=_abi.dk_keyset(keys.bits))
    raise TypeError(f"{what}: expected {_OBJECT}, not {type(value).__name__}")


_C_VALUES = (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._SimpleCData)


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Number)


def _is_int(value: object) -> bool:
    return isinstance(value, numbers.Integral)


def _is_real(value: object) -> bool:
    return isinstance(value, numbers.Real)


def _int_of(value: Any, what: str, end: int = 2**63) -> int:
    number = int(value)
    if not -2**63 <= number < end:
        raise OverflowError(f"{what}: the number does not fit into 64 bits")
    return number


def _float_of(value: Any, what: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise OverflowError(f"{what}: the number does not fit into a float") from None


def _check_complex(value: Any, what: str) -> None:
    if _is_real(value):
        _float_of(value, what)


def _check_scalar(value: Any, what: str) -> None:
    if _is_int(value):
        _int_of(value, what, 2**64)     # in PyTorch, a Scalar can also be an unsigned number
    else:
        _check_complex(value, what)


# The values of a type that C gets as a pointer, as in PyTorch, and a function that raises an error
# if a number is too large. A type that is not listed takes any value.
_FITS: dict[str, tuple[str, Callable[[object], bool], Optional[Callable[[Any, str], object]]]] = {
    "int": ("an int", _is_int, _int_of), "SymInt": ("an int", _is_int, _int_of),
    "float": ("a float", _is_real, _float_of), "SymFloat": ("a float", _is_real, _float_of),
    "bool": ("a bool", lambda value: isinstance(value, bool), None),
    "SymBool": ("a bool", lambda value: isinstance(value, bool), None),
    "Scalar": ("a number", _is_number, _check_scalar),
    "complex": ("a number", _is_number, _check_complex),
    "str": ("a str", lambda value: isinstance(value, str), None),
}


def _check(kind: str, value: Any, what: str) -> None:
    """Raise TypeError if a value does not fit a type, such as Scalar, int? or int[2].

    Raise OverflowError if a number is too large.
    """
    if kind.endswith("?"):
        if value is not None:
            _check(kind[:-1], value, what)
    elif kind.endswith("]"):
        item, _, size = kind[:-1].rpartition("[")
        if isinstance(value, (list, tuple)):
            for i, v in enumerate(value):
                _check(item, v, f"{what}[{i}]")
        # as in PyTorch, int[2] takes an int and float[2] a float, but bool[2] takes no bool
        elif size and (item in ("int", "SymInt") or (item == "float" and not _is_int(value))):
            _check(item, value, what)
        elif item in _FITS or item[-1] in "]?":
            raise TypeError(f"{what}: expected a list, not {type(value).__name__}")
    elif kind in _FITS:
        name, is_fit, check_range = _FITS[kind]
        if not is_fit(value):
            raise TypeError(f"{what}: expected {name}, not {type(value).__name__}")
        if check_range:
            check_range(value, what)


# The kinds of arguments that take None only if their type is optional.
_NOT_NONE = {_abi.DK_ARG_GENERATOR: _OBJECT, _abi.DK_ARG_LIST: "a list of objects",
             _abi.DK_ARG_STRING: "a str"}


class Packer:
    """Fills the argument struct of a call from Python values."""

    def __init__(self, schema: Schema, decl: _abi.dk_op_decl, layout: Layout):
        self._schema, self._decl, self._layout = schema, decl, layout
        self._keep: list[Any] = []

    def pack(self, values: Sequence[Any]) -> tuple[Any, Any]:
        """Return the struct, and the objects that must be kept alive while it is used."""
        n = self._decl.num_params
        packed = (_abi.dk_value * max(n, 1))()
        for i, (argument, value) in enumerate(zip(self._schema.arguments, values)):
            kind = packed[i].kind = self._decl.param[i].kind
            what = f"{self._schema.full_name}(): argument '{argument.name}'"
            if not argument._takes_name(value):      # C does not use an enumerator's name
                self._check_none(argument, kind, value, what)
                if kind == _abi.DK_ARG_POINTER and not isinstance(value, _C_VALUES):
                    self._check(argument, value, what)
                getattr(self, "_pack_" + _KINDS[kind])(packed[i], value, what)
        size = max(self._decl.args_size, 8)
        args, why = ctypes.create_string_buffer(size), new_diag()
        result = lib.dk_args_pack(self._decl, packed, n, args, size, why)
        if result < 0:
            raise from_diag(why, result)
        return args, (self._keep, packed)

    @staticmethod
    def _check(argument: Argument, value: Any, what: str) -> None:
        try:
            _check(argument.type, value, what)
        except (TypeError, OverflowError):
            if not argument._is_default(value):
                raise

    @staticmethod
    def _check_none(argument: Argument, kind: int, value: Any, what: str) -> None:
        """Refuse None as PyTorch does. PyTorch takes it for a Tensor, but not in a list of them."""
        if kind not in _NOT_NONE or argument.type.endswith("?") or argument._is_default(value):
            return
        if value is None:
            raise TypeError(f"{what}: expected {_NOT_NONE[kind]}, not NoneType")
        if kind == _abi.DK_ARG_LIST and "?" not in argument.type:
            for i, item in enumerate(value if isinstance(value, (list, tuple)) else ()):
                if item is None:
                    raise TypeError(f"{what}[{i}]: expected {_OBJECT}, not NoneType")

    def _pointer(self, value: Any, what: str) -> Any:
        obj = object_of(value, self._layout, what)
        self._keep.append(obj)
        return OBJ_POINTER(obj)

    def _pack_object(self, out: _abi.dk_value, value: Any, what: str) -> None:
        if value is not None:
            out.obj = self._pointer(value, what)

    def _pack_generator(self, out: _abi.dk_value, value: Any, what: str) -> None:
        if value is not None:
            out.gen = ctypes.cast(self._pointer(value, what), GENERATOR_POINTER)

    def _pack_list(self, out: _abi.dk_value, value: Any, what: str) -> None:
        if value is None:
            return
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"{what}: expected a list of objects, not {type(value).__name__}")
        items = (OBJ_POINTER * max(len(value), 1))()
        for i, item in enumerate(value):
            if item is not None:
                items[i] = self._pointer(item, f"{what}[{i}]")
        self._keep.append(items)
        lib.dk_list_init(out.list, items, len(value), 0)

    @staticmethod
    def _pack_int(out: _abi.dk_value, value: Any, what: str) -> None:
        if not _is_int(value):
            raise TypeError(f"{what}: expected an int, not {type(value).__name__}")
        out.i = _int_of(value, what)

    @staticmethod
    def _pack_bool(out: _abi.dk_value, value: Any, what: str) -> None:
        out.i = c_bool(value, what)

    @staticmethod
    def _pack_double(out: _abi.dk_value, value: Any, what: str) -> None:
        if not _is_real(value):
            raise TypeError(f"{what}: expected a float, not {type(value).__name__}")
        out.bits = struct.unpack("<Q", struct.pack("<d", _float_of(value, what)))[0]

    def _pack_string(self, out: _abi.dk_value, value: Any, what: str) -> None:
        if value is None:
            return
        if not isinstance(value, str):
            raise TypeError(f"{what}: expected a str, not {type(value).__name__}")
        text = c_text(value, what)
        self._keep.append(text)
        out.str = text

    def _pack_pointer(self, out: _abi.dk_value, value: Any, what: str) -> None:
        if isinstance(value, _C_VALUES):
            self._keep.append(value)
            out.ptr = ctypes.addressof(value)


_KINDS = {_abi.DK_ARG_OBJECT: "object", _abi.DK_ARG_GENERATOR: "generator",
          _abi.DK_ARG_LIST: "list", _abi.DK_ARG_INT: "int", _abi.DK_ARG_BOOL: "bool",
          _abi.DK_ARG_DOUBLE: "double", _abi.DK_ARG_STRING: "string",
          _abi.DK_ARG_POINTER: "pointer"}
