# SPDX-License-Identifier: GPL-2.0-only
"""Tests calls: arguments, results, exceptions, redispatching and threads."""
import copy
import ctypes
import errno
import gc
import numbers
import os
import sys
import threading
import time
import weakref
from fractions import Fraction

import pytest

import dispatchkey as dk
from conftest import python, run
from dispatchkey import Key, KeySet


def test_arguments_arrive():
    with dk.Registry() as registry:
        registry.define("t::all(Tensor a, Tensor?[] b, int c, float d, bool e, str s, *, "
                        "Tensor? f=None, int[]? g=None, Generator? h=None) -> Tensor")
        seen = []
        registry.impl("t::all", "CPU", lambda *args: seen.append(args))
        a, b = dk.Object("CPU"), dk.Object("CPU")
        registry.call("t::all", a, [b, None], -5, 2.5, True, "text", g=[1, 2])
        assert seen == [(a, [b, None], -5, 2.5, True, "text", None, [1, 2], None)]
        assert seen[0][0] is a


def test_arguments_named_as_those_of_the_methods(registry, cpu):
    registry.define("t::self(Tensor self, int name) -> int")
    registry.impl("t::self", "CPU", lambda tensor, number: number)
    registry.impl("t::self", "Tracer", lambda call, tensor, number:
                  call.redispatch(self=tensor, name=number + 1), with_call=True)
    assert registry.call("t::self", self=cpu, name=1) == 1
    with dk.include("Tracer"):
        assert registry.call("t::self", self=cpu, name=1) == 2


@pytest.mark.parametrize("schema, args, why", [
    ("Tensor a", (5,), "argument 'a': expected a dispatchkey.Object or KeySet, not int"),
    ("Tensor[] a", (dk.Object("CPU"),), "argument 'a': expected a list of objects, not Object"),
    ("Tensor[] a", ([1],), r"argument 'a'\[0\]: expected a dispatchkey.Object or KeySet, not int"),
    ("Tensor[] a", (None,), "argument 'a': expected a list of objects, not NoneType"),
    ("Tensor?[] a", (None,), "argument 'a': expected a list of objects, not NoneType"),
    ("Tensor(a!)[] a", ([KeySet("CPU"), None],),
     r"argument 'a'\[1\]: expected a dispatchkey.Object or KeySet, not NoneType"),
    ("Generator a", (None,), "argument 'a': expected a dispatchkey.Object or KeySet, not NoneType"),
    ("int a", (1.5,), "argument 'a': expected an int, not float"),
    ("int a", ("x",), "argument 'a': expected an int, not str"),
    ("int a=Mean", ("Mena",), "argument 'a': expected an int, not str"),
    ("bool a", (1,), "argument 'a': expected True or False, not int"),
    ("float a", ("x",), "argument 'a': expected a float, not str"),
    ("str a", (1,), "argument 'a': expected a str, not int"),
    ("str a", (None,), "argument 'a': expected a str, not NoneType"),
    ("Scalar a", ("x",), "argument 'a': expected a number, not str"),
    ("Scalar a", (None,), "argument 'a': expected a number, not NoneType"),
    ("int? a", (1.5,), "argument 'a': expected an int, not float"),
    ("int[2] a", (1.5,), "argument 'a': expected an int, not float"),
    ("float[2] a", (1,), "argument 'a': expected a list, not int"),
    ("int[] a", (1,), "argument 'a': expected a list, not int"),
    ("int[] a", ([1, "x"],), r"argument 'a'\[1\]: expected an int, not str"),
    ("int?[] a", ([None, 1.5],), r"argument 'a'\[1\]: expected an int, not float"),
    ("float[]? a", ([1, 1j],), r"argument 'a'\[1\]: expected a float, not complex"),
    ("bool[2] a", (True,), "argument 'a': expected a list, not bool"),
    ("str[] a", ("x",), "argument 'a': expected a list, not str"),
    ("complex? a", ("x",), "argument 'a': expected a number, not str"),
    ("int a, ...", (1, 2), 'takes 1 positional .* given: no value can be passed for "..."'),
    ("int a", (), r"needs a value for argument 'a'"),
])
def test_wrong_arguments(registry, schema, args, why):
    registry.define(f"t::wrong({schema}) -> ()")
    with pytest.raises(TypeError, match=rf"t::wrong\(\):? {why}"):
        registry.call("t::wrong", *args)


class Number:
    """A number that is no int and no float, like those of NumPy."""

    def __init__(self, number):
        self.number = number

    def __int__(self):
        return int(self.number)

    def __float__(self):
        return float(self.number)


class Integer(Number):
    pass


numbers.Real.register(Number)
numbers.Integral.register(Integer)


@pytest.mark.parametrize("kind, values", [
    ("Scalar", (1, True, 1.5, 1j, -2 ** 63, 2 ** 64 - 1)), ("Scalar?", (None, 1)),
    ("int?", (1, True, None, -2 ** 63, 2 ** 63 - 1)),
    ("int[]", ([1, True], (1,), [])), ("int[2]", (1, [1, 2, 3])), ("int[2]?", (None, 1, [1])),
    ("float?", (1, 1.5, None)), ("float[]", ([1, 1.5],)), ("float[2]", (1.5, [1, 2])),
    ("bool[]", ([True],)), ("str[]", (["a"],)), ("complex?", (1, 1.5, 1j, None)),
    ("Scalar[]", ([1, 1.5, 1j],)), ("int?[]", ([1, None],)), ("Tensor[]?", (None, [1])),
    ("Device?", ("cpu", None)), ("int[]", (ctypes.c_int(5),)), ("Dict(str, int)", ({"a": 1},)),
    ("int", (Integer(1),)), ("SymInt", (Integer(1),)), ("int?", (Integer(1),)),
    ("float", (Integer(1), Number(1.5))), ("float[]", ([Integer(1), Number(1.5)],)),
    ("Tensor", (None,)), ("Tensor?[]", ([None],)), ("str?", (None, "a")), ("Generator?", (None,)),
])
def test_values_that_fit(registry, cpu, kind, values):
    registry.define(f"t::fits(Tensor x, {kind} a) -> ()")
    registry.impl("t::fits", "CPU", lambda x, a: a)
    for value in values:
        assert registry.call("t::fits", cpu, value) is value


def test_a_default_with_leading_zeros(registry, cpu):
    registry.define("t::zeros(Tensor x, int a=007, *, float b=00.50, int[] c=[-01, 10]) -> ()")
    registry.impl("t::zeros", "CPU", lambda x, a, b, c: (a, b, c))
    assert registry.call("t::zeros", cpu) == (7, 0.5, [-1, 10])


def test_a_default_need_not_fit(registry, cpu):
    registry.define('t::default(Tensor x, int? a="text", *, int[1] b=[Mean], str c=None) -> ()')
    registry.impl("t::default", "CPU", lambda x, a, b, c: (a, b, c))
    assert registry.call("t::default", cpu) == ("text", "[Mean]", None)


def test_names_of_enumerators(registry):
    registry.define("t::name(Tensor a, int b=Mean, *, MemoryFormat c=contiguous_format) -> ()")
    registry.impl("t::name", "CPU", lambda a, b, c: (b, c))
    cpu = dk.Object("CPU")
    assert registry.call("t::name", cpu) == ("Mean", "contiguous_format")
    assert registry.call("t::name", cpu, "Mean", c="channels_last") == ("Mean", "channels_last")
    assert registry.call("t::name", cpu, 2, c=1) == (2, 1)
    registry.define("t::number(int b=1) -> ()")
    with pytest.raises(TypeError, match="argument 'b': expected an int, not str"):
        registry.call("t::number", "1")


@pytest.mark.parametrize("kind, base, exponent, size", [
    ("int", 2, 63, "64 bits"), ("int", 10, 5000, "64 bits"), ("float", 10, 400, "a float"),
    ("float", -10, 5000, "a float"), ("int?", 2, 63, "64 bits"), ("SymInt?", -2, 65, "64 bits"),
    ("int[2]", 2, 70, "64 bits"), ("Scalar", 2, 64, "64 bits"), ("Scalar?", -2, 65, "64 bits"),
    ("float?", 10, 400, "a float"), ("SymFloat?", 10, 400, "a float"),
    ("complex", 10, 400, "a float")])
def test_a_number_that_is_too_large(registry, kind, base, exponent, size):
    registry.define(f"t::number({kind} n) -> ()")
    with pytest.raises(OverflowError, match=rf"t::number\(\): argument 'n': .* fit into {size}$"):
        registry.call("t::number", base ** exponent)


@pytest.mark.parametrize("kind, base, exponent, size", [
    ("int[]", 2, 70, "64 bits"), ("int?[]", 2, 63, "64 bits"), ("Scalar[]", 2, 70, "64 bits"),
    ("float[]", 10, 400, "a float"), ("float[]?", Fraction(10), 400, "a float")])
def test_a_number_in_a_list_that_is_too_large(registry, kind, base, exponent, size):
    registry.define(f"t::number({kind} n) -> ()")
    with pytest.raises(OverflowError, match=rf"t::number\(\): argument 'n'\[1\]: .* into {size}$"):
        registry.call("t::number", [1, base ** exponent])


def test_object_without_init(registry):
    class Tensor(dk.Object):
        def __init__(self):
            pass

    with pytest.raises(TypeError, match=r"Tensor.__init__\(\) has not called super"):
        registry.call("t::f", Tensor(), None)


def test_keys_of_an_object_change(registry, cpu):
    registry.impl("t::f", "CPU", lambda a, b: "cpu")
    registry.impl("t::f", "CUDA", lambda a, b: "cuda")
    assert registry.call("t::f", cpu, cpu) == "cpu"
    cpu.keys |= "CUDA"
    assert registry.call("t::f", cpu, cpu) == "cuda" and repr(cpu) == \
        "<Object DispatchKeySet(CPU, CUDA)>"


def test_not_served(registry, cpu):
    registry.impl("t::f", "CPU", lambda a, b: None)
    with pytest.raises(dk.NotServed) as e:
        registry.call("t::f", dk.Object("CUDA"), cpu)
    assert isinstance(e.value, NotImplementedError) and e.value.errno == errno.ENOSYS
    assert e.value.reason == "MISSING"
    assert str(e.value).startswith("Could not run 't::f' with arguments from the 'CUDA' backend.")


def test_redispatch(registry, cpu):
    order = []
    registry.impl("t::f", "CPU", lambda a, b: order.append("cpu") or "result")

    @registry.impl("t::f", "Tracer", with_call=True)
    def trace(call, a, b):
        order.append((call.operator, call.key, "CPU" in call.below, "Tracer" in call.below))
        return call.redispatch(), call.redispatch(b, a), call.redispatch(a, b=b), \
            call.redispatch(keys=KeySet("CPU"))

    with dk.include("Tracer"):
        assert registry.call("t::f", cpu, cpu) == ("result",) * 4
    assert order == [("t::f", Key.Tracer, True, False)] + ["cpu"] * 4


def test_two_arguments_of_one_name(registry):
    registry.define("t::two(int x, int x, *, int y=3) -> int")
    registry.impl("t::two", None, lambda *args: args)
    assert registry.call("t::two", 1, 2) == (1, 2, 3)
    assert registry.call("t::two", 1, x=2, y=4) == (1, 2, 4)
    with pytest.raises(TypeError, match="needs a value for argument 'x'"):
        registry.call("t::two", 1)
    with pytest.raises(TypeError, match="got two values for argument 'x'"):
        registry.call("t::two", 1, 2, x=3)


def test_operator_of_a_library(registry, cpu):
    """A library adds its namespace to the name, wherever the operator is used later."""
    library = registry.library("t", "FRAGMENT")
    assert library.define(" short(Tensor x) -> Tensor") == "t::short"
    registry.impl("t::short", "CPU", lambda x: "cpu")
    library.impl("short", "Tracer", lambda call, x: (call.operator, call.redispatch()),
                 with_call=True)
    assert registry.call("t::short", KeySet("CPU, Tracer")) == ("t::short", "cpu")
    assert "short" not in [op.name for op in registry.operators()]
    with pytest.raises(dk.NotServed, match="run 't::short' with arguments from the 'CUDA'"):
        registry.call("t::short", KeySet("CUDA, Tracer"))
    library.close()


def test_a_failed_redispatch_names_the_key_without_fallthroughs(registry):
    registry.define("t::above(Tensor x) -> Tensor")
    registry.impl("t::above", "Tracer", lambda call, x: call.redispatch(keys="CPU, AutogradCPU"),
                  with_call=True)
    with pytest.raises(dk.NotServed, match="with arguments from the 'CPU' backend"):
        registry.call("t::above", KeySet("CPU, Tracer"))


def test_redispatch_to_nothing(registry, cpu):
    registry.impl("t::f", "Tracer", lambda call, a, b: call.redispatch(), with_call=True)
    with dk.include("Tracer"), pytest.raises(dk.NotServed, match="Could not run 't::f'"):
        registry.call("t::f", cpu, cpu)


def test_a_call_ends_with_its_function(registry, cpu):
    kept = []
    registry.impl("t::f", "CPU", lambda call, a, b: kept.append(call), with_call=True)
    registry.call("t::f", cpu, cpu)
    with pytest.raises(RuntimeError, match="the call of t::f has returned"):
        kept[0].redispatch()
    assert kept[0].key == Key.CPU


def test_calls_nest(registry, cpu):
    registry.define("t::g(Tensor a, int n) -> int")

    @registry.impl("t::g", "CPU")
    def count(a, n):
        return n and 1 + registry.call("t::g", a, n - 1)

    assert registry.call("t::g", cpu, 50) == 50


class Mine(Exception):
    """Raised by a function."""


@pytest.mark.parametrize("exception", [Mine("why"), KeyboardInterrupt(), SystemExit(3),
                                       OSError(errno.EBUSY, "busy"), dk.Error(5, "why")])
def test_exceptions_reach_the_caller(registry, cpu, exception):
    @registry.impl("t::f", "CPU")
    def fails(a, b):
        raise exception

    registry.impl("t::f", "Tracer", lambda call, a, b: call.redispatch(), with_call=True)
    with pytest.raises(type(exception)) as e:
        registry.call("t::f", cpu, cpu)
    assert e.value is exception and "fails" in [t.name for t in e.traceback]
    with dk.include("Tracer"), pytest.raises(type(exception)) as e:
        registry.call("t::f", cpu, cpu)
    assert e.value is exception


def test_a_caught_exception_is_gone(registry, cpu):
    @registry.impl("t::f", "CPU")
    def fails(a, b):
        raise Mine

    @registry.impl("t::f", "Tracer", with_call=True)
    def catches(call, a, b):
        try:
            return call.redispatch()
        except Mine:
            return "caught"

    with dk.include("Tracer"):
        assert registry.call("t::f", cpu, cpu) == "caught"


def test_an_exception_does_not_keep_the_arguments(registry):
    """Without a garbage collection: arguments may be large."""
    registry.define("t::raises(Tensor a) -> ()")

    @registry.impl("t::raises", "CPU")
    def raises(a):
        raise Mine

    registry.impl("t::raises", "Tracer", lambda call, a: call.redispatch(), with_call=True)

    class Large(dk.Object):
        pass

    a = Large("CPU")
    kept = weakref.ref(a)
    gc.disable()
    try:
        with dk.include("Tracer"), pytest.raises(Mine) as e:
            registry.call("t::raises", a)
        del a, e
        assert kept() is None
    finally:
        gc.enable()


# ---- calls from C ------------------------------------------------------------------------


def call_from_c(registry, name, *packed):
    """Makes a call as C code does, without the wrapper of the Python package."""
    from dispatchkey import _abi
    from dispatchkey._library import lib
    definition = registry._definitions[name]
    values = (_abi.dk_value * len(packed))()
    for value, (kind, member, what) in zip(values, packed):
        value.kind = kind
        setattr(value, member, what)
    args = ctypes.create_string_buffer(256)
    assert lib.dk_args_pack(definition.decl, values, len(packed), args, 256, None) == 0
    with registry._operator(name) as op:
        return lib.dk_call_boxed(op, definition.decl, lib.dk_local_current(), args)


def test_called_from_c(registry):
    from dispatchkey import _abi
    registry.define("t::c(Tensor a, int n, float x, bool b, str s) -> ()")
    obj, seen = _abi.dk_obj(ks=_abi.dk_keyset(KeySet("CPU").bits)), []
    packed = ((_abi.DK_ARG_OBJECT, "obj", ctypes.pointer(obj)), (_abi.DK_ARG_INT, "i", -7),
              (_abi.DK_ARG_DOUBLE, "bits", 0x3ff8000000000000), (_abi.DK_ARG_BOOL, "i", 1),
              (_abi.DK_ARG_STRING, "str", b"text"))
    registry.impl("t::c", "CPU", lambda *args: seen.append(args))
    assert call_from_c(registry, "t::c", *packed) == 0
    assert seen == [(KeySet("CPU"), -7, 1.5, True, "text")]

    registry.impl("t::c", "Tracer", lambda call, *args: call.redispatch(), with_call=True)
    with dk.include("Tracer"):
        assert call_from_c(registry, "t::c", *packed) == 0
    assert len(seen) == 2


def test_a_redispatch_to_c_has_no_result(registry, cpu, monkeypatch):
    registry.define("t::two(Tensor a) -> int")
    registry.impl("t::two", "CPU", lambda a: 1)
    registry.impl("t::two", "CUDA", lambda a: 2)

    @registry.impl("t::two", "Tracer", with_call=True)
    def both(call, a):
        first = call.redispatch(keys="CPU")
        # without a frame, a function behaves as one in C
        monkeypatch.setattr("dispatchkey._call._frame_of", lambda address: None)
        second = call.redispatch(keys="CUDA")
        monkeypatch.undo()
        return first, second

    with dk.include("Tracer"):
        assert registry.call("t::two", cpu) == (1, None)


@pytest.mark.parametrize("exception, number", [(Mine("why"), errno.EIO),
                                               (OSError(errno.EBUSY, "busy"), errno.EBUSY)])
def test_an_exception_for_c_is_an_errno(registry, monkeypatch, exception, number):
    from dispatchkey import _abi
    seen = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, value, trace: seen.append(value))
    registry.define("t::c(Tensor a) -> ()")

    @registry.impl("t::c", "CPU")
    def fails(a):
        raise exception

    obj = _abi.dk_obj(ks=_abi.dk_keyset(KeySet("CPU").bits))
    packed = (_abi.DK_ARG_OBJECT, "obj", ctypes.pointer(obj))
    assert call_from_c(registry, "t::c", packed) == -number
    assert seen == [exception]


def test_repr_of_a_call(registry, cpu):
    calls = []

    @registry.impl("t::f", "CPU", with_call=True)
    def kept(call, a, b):
        calls.append(call)
        return repr(call)

    assert registry.call("t::f", cpu, cpu) == "<Call of t::f by CPU of DispatchKeySet(CPU)>"
    assert repr(calls[0]) == "<Call of t::f by CPU of DispatchKeySet(CPU), which has returned>"


def test_redispatch_to_keys(registry):
    registry.impl("t::f", "CPU", lambda a, b: "cpu")
    registry.impl("t::f", "Autograd", lambda a, b: "grad")
    registry.impl("t::f", "Tracer", with_call=True,
                  fn=lambda call, a, b: call.redispatch(keys=call.below - "AutogradCPU"))
    keys = KeySet("CPU, AutogradCPU, Tracer")
    assert registry.call("t::f", keys, None) == "cpu"


def test_threads_redispatch_one_call(registry, cpu):
    """Each redispatch returns its own result, or raises its own exception."""
    registry.define("t::who(Tensor a) -> int")

    @registry.impl("t::who", "CPU")
    def who(a):
        me = threading.get_ident()
        if me % 3:
            return me
        raise ValueError(me)

    @registry.impl("t::who", "Tracer", with_call=True)
    def ask(call, a):
        wrong = []

        def repeat():
            for _ in range(1000):
                try:
                    answer = call.redispatch()
                except (ValueError, dk.Error) as e:
                    answer = e.args[0]
                if answer != threading.get_ident():
                    wrong.append(answer)

        threads = [threading.Thread(target=repeat) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return wrong

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with dk.include("Tracer"):
            assert registry.call("t::who", cpu) == []
    finally:
        sys.setswitchinterval(before)


def test_threads_call_while_others_register():
    stop, seen = threading.Event(), []
    with dk.Registry() as registry:
        registry.define("t::f(Tensor a, Tensor b) -> Tensor")
        registry.impl("t::f", None, lambda a, b: "math")

        def call():
            cpu, results = dk.Object("CPU"), set()
            while not stop.is_set():
                results.add(registry.call("t::f", cpu, cpu))
            seen.append(results)        # unless a call has raised an exception

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(100):
            with registry.library("t", "IMPL", "CPU") as library:
                library.impl("f", None, lambda a, b: "cpu")
                time.sleep(0.001)       # lets the threads call
        stop.set()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    assert len(seen) == 4 and set.union(*seen) == {"math", "cpu"}


@pytest.mark.parametrize("function", ("entered", "_frame_of"))
def test_an_exception_at_the_beginning_of_a_callback_is_raised(function):
    """A signal handler may raise an exception at the beginning of a callback. ctypes alone would
    lose the exception, and return an undefined number."""
    code = f"""if True:
        import sys, dispatchkey as dk
        registry = dk.Registry()
        registry.define("demo::f(Tensor a) -> Tensor")
        registry.impl("demo::f", "CPU", lambda call, a: "served", with_call=True)
        def interrupt(frame, event, arg):
            if frame.f_code.co_name == "{function}":
                raise KeyboardInterrupt
        sys.settrace(interrupt)
        try:
            registry.call("demo::f", dk.Object("CPU"))
        except KeyboardInterrupt:
            sys.settrace(None)
            print(registry.call("demo::f", dk.Object("CPU")))
    """
    assert python(code) == (0, "served\n", "")


def test_an_exception_while_ctypes_converts_arguments_is_raised(registry):
    """ctypes would replace the exception, so converting arguments must run no Python code."""
    codes = []
    sys.setprofile(lambda frame, event, arg: codes.append(frame.f_code.co_name))
    try:
        registry.route("t::f", KeySet("CPU") | "Tracer")
    finally:
        sys.setprofile(None)
    assert "route" in codes and "from_param" not in codes


def test_a_call_cannot_be_copied():
    with dk.Registry() as registry:
        registry.define("t::f(Tensor a) -> Tensor")
        registry.impl("t::f", "CPU", lambda call, a: copy.copy(call), with_call=True)
        with pytest.raises(TypeError, match="a Call cannot be copied"):
            registry.call("t::f", dk.Object("CPU"))


def test_a_program_may_have_a_path_that_is_not_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.py"
    with open(path, "w", encoding="ascii") as f:
        f.write("import dispatchkey as dk\n"
                "print(dk.Registry().define('t::f(Tensor a) -> Tensor'))\n")
    done = run(sys.executable, path)
    assert (done.stdout, done.stderr) == ("t::f\n", "")
