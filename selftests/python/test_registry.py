# SPDX-License-Identifier: GPL-2.0-only
"""Tests defining, registering, libraries, routes and tables."""
import copy
import errno
import gc
import pickle
import re
import warnings
import weakref

import pytest

import dispatchkey as dk
from dispatchkey import Key, KeySet, fallthrough
from dispatchkey._keys import text_of
from dispatchkey._library import lib


def refused(function, *args, **kwargs):
    with pytest.raises(dk.Error) as e:
        function(*args, **kwargs)
    return e.value


def f(a, b):
    """A function to register."""


# ---- registering -------------------------------------------------------------------------


def test_define_and_impl(registry):
    registry.impl("t::f", "CPU", f)

    @registry.impl("t::f", "Autograd", label="grad")
    def other(a, b):
        """Another function to register."""

    assert other.__name__ == "other"
    registry.impl("t::f", Key.Tracer, dk.fallthrough)
    assert [(i.key.name, i.label, i.is_fallthrough) for i in registry.impls("t::f")] == \
        [("Tracer", "fallthrough", True), ("CPU", "f", False), ("Autograd", "grad", False)]
    assert registry.operators() == [dk.Operator("t::f", True, "python", 3)]
    registry.define("t::here() -> ()")
    assert f"debug: registered at {__file__}:" in registry.dump("t::here")


def test_define_again(registry):
    e = refused(registry.define, "t::f(Tensor a) -> Tensor")
    assert (e.errno, e.reason) == (errno.EEXIST, "DEFINED")
    assert str(e).startswith("the operator is defined already: t::f: registered at ")


def test_undefine(registry):
    registry.undefine("t::f")
    assert registry.operators() == []
    assert refused(registry.undefine, "t::f").reason == "NO_OPERATOR"
    registry.define("t::f(Tensor a) -> Tensor")


def test_impl_before_define(registry):
    registry.impl("t::later", "CPU", lambda a: "late")
    assert refused(registry.call, "t::later", KeySet("CPU")).reason == "NOT_DEFINED"
    registry.define("t::later(Tensor a) -> Tensor")
    assert registry.call("t::later", KeySet("CPU")) == "late"


@pytest.mark.parametrize("fn", [f, dk.fallthrough])
def test_impl_key_comes_before_function(registry, fn):
    text = r"the key comes before the function: impl\(name, key, fn\), or impl\(name, fn=fn\) "
    with pytest.raises(TypeError, match=text + "for all backends$"):
        registry.impl("t::f", fn)
    with registry.library("t") as library, pytest.raises(TypeError, match="for all backends$"):
        library.impl("f", fn)
    for key in ("CUDA", dk.Key.CUDA):
        with registry.library("t", key=key) as library, \
                pytest.raises(TypeError, match=text + "at the library's key CUDA$"):
            library.impl("f", fn)


def test_overriding_warns(registry):
    registry.impl("t::f", "CPU", f, label="old")
    with pytest.warns(dk.OverrideWarning, match=r"t::f CPU: old \(python\) -> new \(python\)") as w:
        registry.impl("t::f", "CPU", f, label="new")
    assert w[0].filename == __file__
    with pytest.warns(dk.OverrideWarning) as w:
        @registry.impl("t::f", "CPU", label="newest")
        def newest(a, b):
            """A third function to register."""
    assert w[0].filename == __file__
    assert [(i.label, i.is_active) for i in registry.impls("t::f")] == \
        [("newest", True), ("new", False), ("old", False)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        registry.impl("t::f", "CUDA", f)


def test_a_file_name_with_a_line_break(registry):
    exec(compile("registry.define('t::place(Tensor a) -> ()')", "file\nCUDA: forged", "exec"),
         {"registry": registry})
    assert "registered at file?CUDA: forged:1\n" in registry.dump("t::place")


def test_a_label_with_a_line_break(registry):
    with pytest.raises(ValueError, match="a label must consist of printable characters"):
        registry.impl("t::f", "CPU", lambda a, b: None, label="f\nCUDA: forged")


def test_wrong_registrations(registry):
    e = refused(registry.impl, "t::f", "CUP", f)
    assert isinstance(e, dk.UnknownName) and e.word == "CUP"
    assert refused(registry.impl, "t::f", "Dense", f).reason == "BUILDING_BLOCK"
    assert refused(registry.impl, "a b", "CPU", f).reason == "BAD_NAME"
    assert refused(registry.define, "t::g(Tensor").reason == "SCHEMA"
    assert refused(registry.define, "(Tensor a) -> Tensor").reason == "BAD_NAME"
    with pytest.raises(TypeError, match="expected a function or fallthrough, not int"):
        registry.impl("t::f", "CPU", 5)
    for key, shown in ((0, "int 0"), (5.5, "float 5.5"), (["CPU"], "list"), (False, "bool False")):
        for register in (lambda: registry.impl("t::f", key, f), lambda: registry.fallback(key, f),
                         lambda: registry.library("t", "IMPL", key)):
            with pytest.raises(TypeError) as wrong:
                register()
            assert str(wrong.value) == ("expected a Key, the name of a key, or None for all "
                                        f"backends, not {shown}")
    e = refused(registry.impl, "t::f", "", f)
    assert isinstance(e, dk.UnknownName) and e.reason == "PARSE_KEY"
    assert str(e) == 'the name of a dispatch key is empty; names are "CPU", "Autograd" and so on'
    with pytest.raises(ValueError, match="a key of layout pytorch-1.13, not of v1"):
        registry.impl("t::f", Key("CPU", "pytorch-1.13"), f)
    assert registry.impls("t::f") == []


def test_fallbacks(registry):
    registry.fallback("CPU", dk.fallthrough)
    assert refused(registry.fallback, "CPU", f).reason == "FALLBACK_EXISTS"
    assert registry.table("t::f")["CPU"].is_fallthrough
    assert registry.route("t::f", "CPU").effective == KeySet("CPUBit")

    @registry.fallback("CUDA")
    def anything(call, *args):
        return call.operator, len(args), call.key

    assert registry.call("t::f", KeySet("CUDA"), None) == ("t::f", 2, Key.CUDA)


@pytest.mark.parametrize("fn", [f, dk.fallthrough])
def test_a_function_is_not_a_decorator(registry, fn):
    """Such a call would register nothing. It is what decorators without () do."""
    with pytest.raises(TypeError, match=r"^fallback\(\): the key comes before the function: fallb"):
        registry.fallback(fn)
    with pytest.raises(TypeError, match="^expected a name as a str, not "):
        registry.impl(fn)


@pytest.mark.parametrize("text", [0, False, [], {}, b""])
def test_labels_and_namespaces_are_strings(registry, text):
    for call in (lambda: registry.impl("t::f", "CPU", f, label=text),
                 lambda: registry.fallback("CPU", f, label=text), lambda: registry.library(text)):
        with pytest.raises(TypeError, match=f" as a str, not {type(text).__name__}"):
            call()
    assert registry.library("") and registry.library(None)


# ---- libraries ---------------------------------------------------------------------------


def test_library():
    with dk.Registry() as registry:
        with registry.library("t", "DEF") as library:
            assert library.define("g(Tensor a) -> Tensor") == "t::g"
            assert f"debug: registered at {__file__}:" in registry.dump("t::g")
            library.impl("g", "CPU", lambda a: "cpu")
            with registry.library("t", "IMPL", "CUDA") as cuda:
                cuda.impl("g", fn=lambda a: "cuda")
                assert registry.call("t::g", KeySet("CUDA")) == "cuda"
            assert not registry.route("t::g", "CUDA")
            assert registry.call("t::g", KeySet("CPU")) == "cpu"
            assert refused(registry.library, "t", "DEF").reason == "LIBRARY_EXISTS"
            assert registry.library("t", "FRAGMENT").define("h() -> ()") == "t::h"
        assert [op.name for op in registry.operators()] == ["t::h"]
        library.close()
        with registry.library(None, "IMPL", "CUDA") as fallbacks:
            fallbacks.fallback("CUDA", dk.fallthrough)
            assert registry.table("t::h")["CUDA"].is_fallthrough
        assert not registry.table("t::h")["CUDA"]


def test_namespaces_outside_of_the_grammar(registry):
    for namespace in ("a-b", "demo.x", "é", "1x", "a,b"):
        with registry.library(namespace, "DEF") as library:
            name = f"{namespace}::f.o"
            assert library.define("f.o(Tensor a) -> Tensor") == name
            assert f"\nschema: {name}(Tensor a) -> Tensor\n" in registry.dump(name)
            library.impl("f.o", "CPU", lambda a: "short")
            assert registry.call(name, KeySet("CPU")) == "short"
            registry.impl(name, "CUDA", lambda a: "full")
            assert registry.call(name, KeySet("CUDA")) == "full"
            with pytest.raises(TypeError, match=re.escape(f"{name}() takes 1 positional")):
                registry.call(name, 1, 2)
            assert refused(library.define, " g(Tensor) -> ()").word.startswith("column 10: ")
            assert refused(library.define, f"{namespace}::g() -> ()").reason == "SCHEMA"
    assert registry.library("a-b", "DEF")


def test_wrong_libraries(registry):
    with pytest.raises(ValueError, match='unknown kind of library "DEFS": use "DEF", "FRAGMENT"'):
        registry.library("t", "DEFS")
    assert refused(registry.library, None, "DEF").reason == "LIBRARY_NAMESPACE"
    assert refused(registry.library, "t", "DEF", "CPU").reason == "LIBRARY_KEY"
    library = registry.library("t", "IMPL", "CPU")
    assert refused(library.define, "g() -> ()").reason == "LIBRARY_IMPL"
    assert refused(library.impl, "u::g", None, f).reason == "NAMESPACE"
    assert refused(library.impl, "f", "CUDA", f).reason == "LIBRARY_FN_KEY"
    assert refused(library.fallback, "CPU", dk.fallthrough).reason == "FALLBACK_NAMESPACE"


# ---- routes and tables -------------------------------------------------------------------


def test_route(registry):
    registry.impl("t::f", "CPU", f)
    assert registry.route("t::f", Key.Dense, dk.Backend("CPU")).key == Key.CPU
    route = registry.route("t::f", "CPU", KeySet("CPU"))
    assert route and route.key == Key.CPU and route.error == 0
    assert (route.entry.label, route.entry.provider, route.entry.rule) == ("f", "python", "kernel")
    assert str(route) == "t::f(CPU) goes to f of python [kernel]"
    route = registry.route("t::f", "CUDA")
    assert not route and route.error == errno.ENOSYS
    assert str(route) == "t::f(CUDA) has no function at CUDA: nothing serves it"
    with dk.include("Tracer"):
        assert registry.route("t::f", dk.Object("CPU")).key == Key.Tracer


def test_ambiguous():
    with dk.Registry() as registry:
        registry.define("t::f(Tensor a, Tensor b) -> Tensor")
        registry.impl("t::f", None, f)
        route = registry.route("t::f", "FPGA, AutogradOther")
        assert route.error == 0 and route.entry.rule == "math kernel"
        registry.impl("t::f", "FPGA", f)
        route = registry.route("t::f", "FPGA, AutogradOther")
        assert route.error == errno.ENOTUNIQ
        entry = registry.table("t::f")["AutogradOther"]
        assert entry.is_ambiguous and not entry
        with pytest.raises(dk.NotServed, match="AutogradOther"):
            registry.call("t::f", KeySet("FPGA, AutogradOther"), None)


def test_table(registry):
    registry.impl("t::f", None, f, label="math")
    registry.impl("t::f", "CPU", f)
    table = registry.table("t::f")
    assert table["CPU"].label == "f" and table[Key.CUDA].rule == "math kernel"
    assert Key.CUDA in table and len(table) == len(list(table)) == len(dict(table.items()))
    assert "CUDA" in table and "Python" not in table and "Autograd" not in table
    assert not table["Python"] and str(table["Python"]) == "nothing serves it"
    assert "CPU: f [kernel]" in str(table) and "CUDA: math [math kernel]" in str(table)
    with pytest.raises(KeyError, match="Autograd has no entry of its own: use a runtime key"):
        table["Autograd"]
    for function in (lambda: table["CUP"], lambda: "CUP" in table):
        assert refused(function).word == "CUP"


def test_table_of_a_device(registry, card):
    """Objects on the device are routed by the device's table, not by its backend's table."""
    registry.impl("t::f", None, f, label="math")
    registry.impl("t::f", "Tracer", fallthrough)
    table, backend = registry.table("t::f", device=card), registry.table("t::f")
    assert str(table["CUDA"]) == "card_f@card1 of python [kernel]"
    assert (table.device, backend.device, backend["CUDA"].label) == ("card1", "", "math")
    lines, others = str(table).splitlines(), str(backend).splitlines()
    assert [line for line in lines if line not in others] == [
        "CUDA: card_f@card1 [kernel]", "AutogradCUDA: fallthrough fallthrough [backend fallback]"]
    assert [line for line in others if line not in lines] == [
        "CUDA: math [math kernel]", "AutogradCUDA: math [math kernel]"]
    assert "Tracer: fallthrough fallthrough [kernel]" in lines
    assert repr(table).startswith("<Table of t::f for device card1, ")
    assert "on device card1, layout v1" in table.svg() and "on device" not in backend.svg()


def test_table_of_an_unknown_device(registry, card):
    e = refused(registry.table, "t::f", "card2")
    assert isinstance(e, dk.UnknownName) and (e.reason, e.word) == ("NO_DEVICE", "card2")
    assert str(e).endswith(": card2; did you mean card1?")
    assert str(refused(registry.table, "t::f", "gpu")).endswith(": gpu; devices are card1")
    assert str(refused(registry.table, "t::f", "")).endswith("; devices are card1")
    with pytest.raises(TypeError, match="a device"):
        registry.table("t::f", 5)
    with dk.Registry() as empty:
        assert str(refused(empty.table, "t::f", "gpu")).endswith(": gpu; there are no devices")


def test_objects_on_a_device(registry, card):
    registry.impl("t::f", "CUDA", f)
    assert registry.route("t::f", "CUDA@card1").entry.device == card
    assert registry.route("t::f", "CPU", "AutogradCUDA,CUDA@card1").entry.label == "card_f"
    assert registry.route("t::f", "CUDA").entry.label == "f"
    assert not registry.route("t::f", "CPU@card1")
    for query in (registry.route, registry.explain):
        assert str(refused(query, "t::f", "CUDA@card2")) == \
            "no such device: card2; did you mean card1?"
        assert refused(query, "t::f", "CUDA@").reason == "NO_DEVICE"
        assert refused(query, "t::f", "CUP@card1").word == "CUP"


def test_private_names(registry):
    """A registry parses the names of its private backends wherever it takes keys as text."""
    assert lib.dk_backend_join(registry._provider, b"Edu", 0, 0, None, None) == 0
    private, grad = Key.PrivateUse1, Key.AutogradPrivateUse1
    registry.impl("t::f", "EDU", f)
    registry.impl("t::f", "Autogradedu", fn=lambda call, a, b: call.redispatch(keys="edu"),
                  with_call=True)
    registry.fallback("SparseEdu", fallthrough)
    assert [i.key for i in registry.impls("t::f")] == [private, grad]
    for text in ("edu", "CPU, edu", "DispatchKeySet(CPU, Edu)", "CPUBit|EDU"):
        assert registry.route("t::f", text).key == private
        assert registry.explain("t::f", text).route.key == private
    assert registry.call("t::f", KeySet(private, grad), None) is None
    with registry.library("t", "IMPL", "SparseEdu") as library:
        library.impl("f", None, f)
        assert registry.table("t::f")["sparseedu"].label == "f"
    table = registry.table("t::f")
    assert table["Edu"].label == "f" and table["sparseEDU"].is_fallthrough and "edu" in table
    for function in (lambda: registry.impl("t::f", "edux", f), lambda: table["edux"],
                     lambda: registry.route("t::f", "edu, edux"), lambda: KeySet("edux")):
        e = refused(function)
        assert isinstance(e, dk.UnknownName) and e.word == "edux"
    assert refused(lambda: registry.route("t::f", "DefaultBackend")).word == "DefaultBackend"
    for function in (lambda: registry.impl("t::f", "", f), lambda: table[""], lambda: table["cpu"]):
        assert refused(function).reason == "PARSE_KEY"


def test_text_of_a_table_is_that_of_c(registry):
    for key in ("CPU", "FPGA", None):
        registry.impl("t::f", key, f)
    with registry._operator("t::f") as op:
        assert str(registry.table("t::f")) + "\n" == text_of(lib.dk_op_dump_table, op)
    assert "AutogradOther: ambiguous_autogradother [" in str(registry.table("t::f"))


def test_unknown_operator(registry):
    for query in (registry.route, registry.explain):
        e = refused(query, "t::ff", "CPU")
        assert isinstance(e, dk.UnknownName)
        assert str(e) == "no such operator: t::ff; did you mean t::f?"
    for query in (registry.table, registry.dump, registry.impls, registry.call):
        assert refused(query, "t::ff").reason == "NO_OPERATOR"
    with pytest.raises(TypeError, match="argument: expected a dispatchkey.Object or KeySet"):
        registry.route("t::f", 5)


def test_more_arguments_than_the_schema_has(registry):
    registry.define("t::none(int a, Generator? g) -> ()")
    registry.define("t::one(Tensor(a!)? a, int b) -> ()")
    registry.define("t::list(Tensor?[] a) -> ()")
    registry.define("t::pair(Tensor[2] a, Tensor?[3] b) -> ()")
    for query in (registry.route, registry.explain):
        for name, takes, n, be in (("t::f", 2, 3, "are"), ("t::none", 0, 1, "is"),
                                   ("t::one", 1, 2, "are")):
            with pytest.raises(TypeError) as e:
                query(name, *["CPU"] * n)
            assert str(e.value) == (f"{name} dispatches on {takes} of its arguments, but {n} {be} "
                                    "given")
            query(name, *["CPU"] * takes)
        query("t::list", "CPU", "CPU", "CPU")
        query("t::pair", "CPU", "CPU", "CPU", "CPU", "CPU")
        query("t::f", "CPU")
    with registry.library("t", "FRAGMENT") as library:
        library.define("own(Tensor a) -> ()")
        with pytest.raises(TypeError, match="t::own dispatches on 1 of its arguments, but 2 are"):
            registry.route("t::own", "CPU", "CPU")
        with pytest.raises(dk.NotServed, match="'t::own' with arguments from the 'CPU' backend"):
            registry.call("t::own", KeySet("CPU"))


def test_the_text_of_a_call_ignores_generators(registry):
    registry.define("t::g(Tensor a, Generator? g) -> ()")
    with pytest.raises(dk.NotServed, match="from the 'CPU' backend"):
        registry.call("t::g", KeySet("CPU"), dk.Object("Tracer"))


def test_other_layouts():
    for layout in dk.Layout.all():
        if "tables" not in layout.knows:
            assert refused(dk.Registry, layout).reason == "NO_TABLE"
            continue
        with dk.Registry(layout) as registry:
            registry.define("t::f(Tensor a) -> Tensor")
            registry.impl("t::f", "CPU", lambda a: a.layout)
            cpu = dk.Object("CPU", layout=layout)
            assert registry.call("t::f", KeySet("CPU", layout=layout)) is layout
            assert registry.route("t::f", cpu).entry.label == "<lambda>"
            if layout.name != "v1":
                with pytest.raises(ValueError, match="the object has keys of layout v1, but"):
                    registry.route("t::f", dk.Object("CPU"))
                with dk.exclude("CPU", layout=layout):
                    assert not registry.route("t::f", cpu)


def test_empty_registry():
    with dk.Registry(builtins=False) as registry:
        registry.define("t::f(Tensor a) -> Tensor")
        registry.impl("t::f", "CPU", lambda a: 1)
        assert registry.route("t::f", "CPU").key == Key.ADInplaceOrView


def test_default_registry():
    with dk.Registry.default(name="one") as one, dk.Registry.default(name="two") as two:
        one.define("t::shared(Tensor a) -> Tensor")
        two.impl("t::shared", "CPU", lambda a: "two")
        assert one.call("t::shared", KeySet("CPU")) == "two"
        assert one.operators() == [dk.Operator("t::shared", True, "one", 1)]
        e = refused(two.call, "t::shared", KeySet("CPU"))
        assert e.errno == errno.EPROTOTYPE and not isinstance(e, dk.UnknownName)
        assert str(e) == ("a Registry can call only operators that it has defined itself: "
                          "t::shared; this operator is defined by provider one: call it there")
        one.undefine("t::shared")
        assert refused(two.call, "t::shared", KeySet("CPU")).reason == "NOT_DEFINED"
    with dk.Registry.default() as again:
        assert again.operators() == []


# ---- lifetimes ---------------------------------------------------------------------------


def test_closed(registry):
    registry.close()
    registry.close()
    for query in (lambda: registry.define("t::g() -> ()"), lambda: registry.impl("t::f", "CPU", f),
                  lambda: registry.call("t::f"), lambda: registry.route("t::f"),
                  lambda: registry.library("t"), registry.operators,
                  lambda: registry.fallback("CPU", f)):
        e = refused(query)
        assert str(e) == "the registry is closed" and e.reason == "UNREGISTERED"
    assert repr(registry) == "<Registry, closed>"


def test_a_registry_cannot_be_copied(registry):
    with registry.library("t") as library:
        for function in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="a Registry cannot be copied: its registrations "):
                function(registry)
            with pytest.raises(TypeError, match="a Library cannot be copied: it belongs to its R"):
                function(library)


def test_functions_stay_alive_and_are_freed():
    class Function:
        def __call__(self, a):
            return "alive"

    with dk.Registry() as registry:
        registry.define("t::f(Tensor a) -> Tensor")
        kept = weakref.ref(registry.impl("t::f", "CPU", Function(), label="fn"))
        gc.collect()
        assert registry.call("t::f", KeySet("CPU")) == "alive"
    gc.collect()
    assert kept() is None


def test_functions_of_dropped_registries_are_freed():
    class Function:
        def __call__(self, a):
            return a

    def dropped():
        registry = dk.Registry()
        registry.define("t::f(Tensor a) -> Tensor")
        return weakref.ref(registry.impl("t::f", "CPU", Function(), label="fn"))

    kept = [dropped() for _ in range(50)]
    gc.collect()
    assert [ref() for ref in kept] == [None] * 50


def test_a_registry_that_is_dropped_is_released():
    registry = dk.Registry.default(name="dropped")
    registry.define("t::dropped() -> ()")
    registry.impl("t::dropped", "CPU", lambda call: None, with_call=True)
    registry.library("t", "IMPL").impl("dropped", "CUDA", lambda: None)
    del registry
    gc.collect()
    with dk.Registry.default() as again:
        assert again.operators() == []
