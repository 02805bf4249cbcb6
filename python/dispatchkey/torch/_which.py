# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Finds the operator that a function of PyTorch calls, and the values of its arguments.

PyTorch itself selects the overload. Its key PythonDispatcher has the highest priority,
and routes a call to the operator's OpOverload object in Python before any other function
is entered. This module makes that object raise an exception with the operator and the
arguments. The function gets copies of the tensors on the device "meta", without data.
"""
from __future__ import annotations

import sys
import threading
import types
from contextlib import contextmanager
from typing import Any, Callable, Iterator, NoReturn, Optional, Union

from .._error import UnknownName
from .._schema import Argument, Schema
from . import _live

NUMBER = (int, float, complex)
# Modules whose functions in Python only prepare arguments before they call an operator.
_MODULES = ("torch.functional", "torch.nn.functional", "torch._tensor")
# Functions of PyTorch that turn a number into a tensor.
_TAKE_NUMBERS = {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide",
                 "floor_divide"}
# Operators that functions call to read a number from a tensor, before their own operator.
_READS_NUMBER = ("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero")

Call = tuple[str, list[Any]]


class _Called(BaseException):
    """Raised to end a function at its first operator; not caught by "except Exception"."""

    def __init__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]):
        super().__init__(name)
        self.name, self.args_, self.kwargs = name, args, kwargs


def _full_name(overload: Any) -> str:
    schema = overload._schema
    return str(schema.name) + (f".{schema.overload_name}" if schema.overload_name else "")


@contextmanager
def _ends_at_operators() -> Iterator[None]:
    """Make every operator that this thread calls in the block raise _Called."""
    overload = sys.modules["torch._ops"].OpOverload
    thread = threading.get_ident()

    def handler(self: Any) -> Callable[..., NoReturn]:
        def called(*args: Any, **kwargs: Any) -> NoReturn:
            raise _Called(_full_name(self), args, kwargs)
        return called

    def attribute(self: Any, name: str) -> Any:
        if threading.get_ident() == thread:
            if name[:1].isupper():              # PyTorch 1.13 reads the name of the key
                return handler(self)
            if name == "_dispatch_cache":       # later releases look up functions by the key
                return {}
            if name == "_get_dispatch":
                return lambda _key: handler(self)
        return object.__getattribute__(self, name)

    overload.__getattribute__ = attribute
    try:
        enabled = _live.internal("_EnablePythonDispatcher")()
        try:
            yield
        finally:
            del enabled
    finally:
        del overload.__getattribute__


def _can_ask() -> bool:
    return bool(_live.optional("_EnablePythonDispatcher")) and "torch._ops" in sys.modules


class _Copies:
    """Makes copies of tensors without data, and finds the originals of the copies.

    Devices are also replaced by "meta", because functions in Python initialize CUDA, or fail
    without it, before they call an operator.
    """

    def __init__(self) -> None:
        self._made: list[tuple[Any, Any]] = []
        self._device: Any = None        # the device that an argument names

    def of(self, value: Any) -> Any:
        torch = _live.pytorch()
        if isinstance(value, torch.Tensor):
            for original, copy in self._made:
                if original is value:
                    return copy
            self._made.append((value, self._empty(torch, value)))
            return self._made[-1][1]
        if type(value) in (list, tuple):
            return type(value)(map(self.of, value))
        device = self._device_named(torch, value)
        if device is None:
            return value
        self._device = device
        return value if device.type in ("cpu", "meta") else torch.device("meta")

    @staticmethod
    def _device_named(torch: Any, value: Any) -> Any:
        """Return the device that value is, or that it names, or None."""
        if not isinstance(value, (str, torch.device)):
            return None
        try:
            return torch.device(value)
        except RuntimeError:
            return None

    @staticmethod
    def _empty(torch: Any, tensor: Any) -> Any:
        for options in ({"dtype": tensor.dtype}, {}):
            try:
                # A symbolic size, such as that of a jagged dimension, has no number.
                shape = [size if isinstance(size, int) else 2 for size in tensor.shape]
                return torch.empty(shape, device="meta", **options)
            except (RuntimeError, NotImplementedError):
                continue            # the device does not support the dtype, or there is no shape
        return torch.empty((), device="meta")

    def original(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self.original(v) for v in value]
        if isinstance(value, _live.pytorch().device):
            devices = {original.device for original, _copy in self._made}
            # A function has read the device from a copy. If the tensors are on several devices, it
            # is not known which copy that was.
            if self._device is None and value.type == "meta" and len(devices) == 1:
                return devices.pop()
            return self._device or value
        for original, copy in self._made:
            if copy is value:
                return original
        return value


def with_default_device(function: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Add the default device of PyTorch 2 to the arguments of a function that makes tensors.

    torch.set_default_device(), and a device used as a context manager, enter a mode of
    __torch_function__, which without_modes() disables.
    """
    devices, overrides = sys.modules.get("torch.utils._device"), sys.modules.get("torch.overrides")
    mode = getattr(devices, "DeviceContext", None)
    stack: list[Any] = getattr(overrides, "_get_current_function_mode_stack", list)()
    found = [m.device for m in stack if mode and isinstance(m, mode)]
    try:
        is_maker = bool(found) and function in getattr(devices, "_device_constructors")()
    except TypeError:       # the object is not hashable
        is_maker = False
    return {**kwargs, "device": found[-1]} if is_maker and kwargs.get("device") is None else kwargs


def _is_pytorchs(function: Any) -> bool:
    """Return whether function is an operator, or a function or method of PyTorch that only calls
    operators."""
    torch = _live.pytorch()
    if hasattr(function, "_schema") or hasattr(function, "_qualified_op_name"):
        return True
    if isinstance(getattr(function, "__objclass__", None), type):
        return issubclass(torch.Tensor, function.__objclass__) and \
            function.__objclass__ is not object
    owner, module = getattr(function, "__self__", None), getattr(function, "__module__", None)
    if isinstance(owner, torch.Tensor):
        return module in (None, *_MODULES)
    if isinstance(owner, types.ModuleType) and owner.__name__.startswith("torch._C._"):
        return True
    if isinstance(function, types.BuiltinFunctionType):
        # Each access creates a new object, but the objects are equal.
        functions = getattr(torch._C, "_VariableFunctions", None)
        return bool(getattr(functions, function.__name__, None) == function)
    # A function that other code has wrapped has the module's name, but is not in the module.
    return module in _MODULES and any(
        found is function for place in (sys.modules.get(module), torch.Tensor)
        for found in vars(place).values())


def _is_higher_order(function: Any) -> bool:
    kind = getattr(sys.modules.get("torch._ops"), "HigherOrderOperator", None)
    return isinstance(kind, type) and isinstance(function, kind)


def _name_of(function: Any) -> str:
    if hasattr(function, "_schema"):
        return _full_name(function)
    packet = getattr(function, "_qualified_op_name", None)
    return str(packet) if packet else \
        str(getattr(function, "__name__", f"an object of type {type(function).__name__}"))


def _ask(function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Run the function up to its first operator."""
    copies = _Copies()
    owner = getattr(function, "__self__", None)
    if isinstance(owner, _live.pytorch().Tensor):
        function = getattr(copies.of(owner), function.__name__)
    args, kwargs = copies.of(args), {k: copies.of(v) for k, v in kwargs.items()}
    try:
        with _live.lock, _ends_at_operators():
            function(*args, **kwargs)
    except _Called as called:
        if called.name in _READS_NUMBER and called.name.split("::")[1] not in name:
            raise TypeError(f"{name} reads a number from a tensor before it calls its operator: "
                            "pass the number itself") from None
        schema = _live.Operator.read(called.name).parsed_schema
        values = schema.bind(called.args_, called.kwargs)
        _check(schema, values)
        return called.name, [copies.original(value) for value in values]
    except Exception as e:          # PyTorch refuses the arguments
        raise TypeError(_refusal(name, e)) from None
    raise TypeError(f"{name} calls no operator with these arguments")


def _refusal(name: str, e: Exception) -> str:
    """Return PyTorch's reason in one line, without the rest of its message."""
    lines = [line.strip() for line in str(e).splitlines() if line.strip()] or [type(e).__name__]
    reason = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    return f"{name} does not take these arguments: {reason}"


def _check(schema: Schema, values: list[Any]) -> None:
    """Refuse None for a tensor: PyTorch accepts it, and the function then fails."""
    for a, value in zip(schema.arguments, values):
        if a.is_dispatched and not a.type.endswith("?") and value is None:
            raise TypeError(f"{schema.full_name}() needs a tensor for argument '{a.name}', but "
                            "None is given")


def _overload_of(name: str) -> Optional[Any]:
    """Return the object of an operator in torch.ops, if PyTorch makes one."""
    space, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    try:
        return getattr(getattr(getattr(_live.pytorch().ops, space), base), overload or "default")
    except (AttributeError, RuntimeError):
        return None


def call_of(operator: Union[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Return the operator that a call reaches first, and the values of all its arguments.

    operator  the name of an operator with its overload, an operator of torch.ops, or a
              function or method of PyTorch
    """
    if isinstance(operator, str):
        name = _live.operator_name(operator)
        schema = _live.Operator.read(name).parsed_schema
        schema.bind(args, kwargs)           # raises an error that names what is missing
        overload = _overload_of(name) if _can_ask() else None
        if overload is None:
            values = schema.bind(args, kwargs)
            wrong = [a for a, v in zip(schema.arguments, values) if not _fits(a.type, v, True)]
            if wrong:
                raise TypeError(_expected(schema, wrong[0], values))
            return name, values
        return _ask(overload, name, args, kwargs)
    # torch.library.custom_op() of PyTorch 2 returns an object that has the operator.
    operator = getattr(operator, "_opoverload", operator)
    name = _name_of(operator)
    if _is_higher_order(operator):
        raise TypeError(f"{name} is a higher-order operator: PyTorch calls its functions in Python, "
                        "without a table")
    if not callable(operator) or not _is_pytorchs(operator) and not _is_of_torch(operator, name):
        raise TypeError(f"{name} is not an operator, function or method of PyTorch: name the "
                        'operator that it calls, such as "aten::add.Tensor"')
    return _ask(operator, name, args, kwargs) if _can_ask() else _search(operator, args, kwargs)


def _is_of_torch(function: Any, name: str) -> bool:
    """Return whether a function is torch.NAME. False if PyTorch can select the overload itself."""
    return not _can_ask() and getattr(_live.pytorch(), name, None) is function


def _expected(schema: Schema, a: Argument, values: list[Any]) -> str:
    value = values[schema.arguments.index(a)]
    what = "None" if value is None else f"a value of type {type(value).__name__}"
    return f"{schema.full_name}() needs a {a.type} for argument '{a.name}', but {what} is given"


# ---- if PyTorch cannot select the overload --------------------------------------------


def _search(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Return the only overload that takes values of these types."""
    if hasattr(function, "_schema"):
        return call_of(_full_name(function), args, kwargs)
    short = _name_of(function)
    name = short if "::" in short else short.replace(".", "::", 1) if "." in short else \
        f"aten::{short}"
    overloads = [n for n in _live.operators() if n.split(".")[0] == name]
    if not overloads:
        raise _live._unknown(name)
    found = []
    for overload in overloads:
        schema = _live.Operator.read(overload).parsed_schema
        takes_numbers = overload.endswith(".Tensor") and short.rstrip("_") in _TAKE_NUMBERS
        try:
            values = schema.bind(args, kwargs)
        except (TypeError, UnknownName):
            continue
        if all(_fits(a.type, value, takes_numbers) for a, value in zip(schema.arguments, values)):
            found.append((overload, values))
    # These functions turn a number next to a tensor into a tensor.
    tensor = [f for f in found if f[0].endswith(".Tensor") and short.rstrip("_") in _TAKE_NUMBERS]
    found = tensor or found
    if not found:
        raise TypeError(f"no overload of {name} takes these arguments: its overloads are "
                        f"{', '.join(overloads)}")
    if len(found) > 1:
        raise TypeError(f"{', '.join(n for n, _ in found)} take these arguments: name one of them")
    return found[0]


_CLASSES = {"ScalarType": "dtype", "Layout": "layout", "MemoryFormat": "memory_format",
            "Generator": "Generator"}


def _fits(kind: str, value: Any, takes_numbers: bool) -> bool:
    """Return whether a value has the type. With takes_numbers, a number can be a Tensor."""
    if kind.endswith("?"):
        return value is None or _fits(kind[:-1], value, takes_numbers)
    if kind.endswith("]"):
        element, size = kind[:-1].rsplit("[", 1)
        if not isinstance(value, (list, tuple)):
            return bool(size) and _fits(element, value, takes_numbers)      # int[1] takes an int
        return all(_fits(element, v, False) for v in value)
    torch, base = _live.pytorch(), kind.split("(")[0]
    if base == "Tensor":
        return isinstance(value, (torch.Tensor, *(NUMBER if takes_numbers else ())))
    if base == "Device":
        return isinstance(value, str) or type(value).__name__ == "device"
    if base in _CLASSES:
        of = getattr(torch, _CLASSES[base], None)
        # A default value in a schema is a number or a word.
        return isinstance(value, (str, of) if isinstance(of, type) else str)
    classes: dict[str, Any] = {"int": int, "SymInt": int, "bool": bool, "str": str,
                               "Dimname": str, "Scalar": NUMBER, "float": (int, float)}
    return isinstance(value, classes.get(base, ()))
