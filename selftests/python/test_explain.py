# SPDX-License-Identifier: GPL-2.0-only
"""Tests that explanations use the same words as dkctl, and that pictures are complete."""
import base64
import gc
import pickle
import re
import subprocess
import threading
import time
import weakref
from xml.etree import ElementTree

import pytest

import dispatchkey as dk
from conftest import BUILD, TOP
from dispatchkey import Key, KeySet
from dispatchkey._library import lib
from dispatchkey._registry import _Kept

SETS = ["CPU|AutogradCPU", "CUDA", "SparseCPU", "Tracer|CPU", "Dense", "CPUBit", "Undefined",
        "FPGA|AutogradOther", "CPU, CUDA, AutogradCUDA, ADInplaceOrView, AutocastCPU"]
SETUPS = [
    [],
    [("impl", "CPU", "cpu")],
    [("impl", "CPU", "cpu"), ("impl", "-", "math"), ("impl", "Autograd", "grad"),
     ("impl", "FPGA", "fpga")],
    [("impl", "CPU", "old"), ("impl", "CPU", "new"), ("impl", "Tracer", None),
     ("fallback", "Autograd", None), ("fallback", "CUDA", "all"),
     ("impl", "CompositeExplicitAutograd", "both")],
    [("impl", "CompositeExplicitAutogradNonFunctional", None)],     # serves Undefined, too
]
LAYOUTS = ["v1", "pytorch-1.13", "pytorch-2.14+trimmed"]


def dkctl(layout, setup, query):
    """Returns the answer of dkctl replay, without the first line, which route prints without
    -v."""
    lines = [f"layout {layout}", "stock", "op -s 't::f(Tensor a, Tensor b) -> Tensor' t::f"]
    for what, key, label in setup:
        op = "t::f " if what == "impl" else ""
        lines.append(f"{what} {'-f ' if label is None else ''}{op}{key} {label or 'fallthrough'}")
    done = subprocess.run([BUILD / "dkctl", "replay", "-"], text=True, check=True,
                          input="\n".join([*lines, query]) + "\n", stdout=subprocess.PIPE)
    return done.stdout.rstrip("\n").split("\n")[1:]


def set_up(registry, setup):
    registry.define("t::f(Tensor a, Tensor b) -> Tensor")
    for what, key, label in setup:
        fn = dk.fallthrough if label is None else lambda *args: None
        if what == "impl":
            registry.impl("t::f", None if key == "-" else key, fn, label=label)
        else:
            registry.fallback(key, fn, label=label)


@pytest.mark.filterwarnings("ignore::dispatchkey.OverrideWarning")
@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_text_is_that_of_dkctl(layout, setup):
    with dk.Registry(layout) as registry:
        set_up(registry, setup)
        for keys in SETS:
            quoted = keys.replace(", ", ",")
            ks = KeySet(keys, layout=layout)
            assert str(registry.explain("t::f", ks)).splitlines() == \
                dkctl(layout, setup, f"route -v t::f {quoted}")
            assert str(registry.explain("t::f", ks, KeySet("CUDA", layout=layout))) == \
                "\n".join(dkctl(layout, setup, f"call -v t::f {quoted} CUDA"))


@pytest.mark.parametrize("online", [True, False])
def test_text_of_a_call_on_a_device_is_that_of_dkctl(registry, card, online):
    registry.impl("t::f", "CUDA", lambda a, b: None, label="cuda")
    memory = registry._handles.use()
    assert lib.dk_device_set_online_timeout(memory, registry._device(card), online, 0, None) == 0
    query = (f"device {card} CUDA\nimpl -d {card} t::f CUDA card_f\n"
             f"{'online' if online else 'offline'} {card}\ncall -v t::f ")
    for objects in ([f"CUDA@{card}"], [f"CUDA,AutogradCUDA@{card}", "CPU"],
                    ["CPU", f"CUDA@{card}"], [f"CUDA@{card}", f"CPU@{card}"]):
        ex = registry.explain("t::f", *objects)
        assert str(ex).splitlines() == dkctl("v1", [("impl", "CUDA", "cuda")],
                                             query + " ".join(objects))
        assert ex.svg().count(f">on {card}") == sum("@" in o for o in objects)


def test_explanation(registry):
    registry.impl("t::f", None, lambda a, b: None, label="math")
    registry.impl("t::f", "Tracer", lambda a, b: None, label="trace")
    with dk.exclude("Tracer"):
        ex = registry.explain("t::f", "CPU, Tracer", dk.Object("CUDA"))
    assert ex.objects == [KeySet("CPU, Tracer"), KeySet("CUDA")]
    assert "Tracer" in ex.excluded and "BackendSelect" in ex.included
    assert "Tracer" not in ex.merged and "BackendSelect" in ex.merged
    assert ex.route.key == ex.entry_key == Key.CUDA and ex.route.entry.label == "math"
    rules = [s for s in ex.steps if s.kind == "rule"]
    assert [s.rule for s in rules] == list(range(1, 12))
    assert [s.rule for s in rules if s.verdict == "SERVES"] == [6]
    assert {(s.function, s.bearing) for s in ex.steps if s.kind == "impl"} >= \
        {("math", "SERVES"), ("trace", "NONE")}
    assert Key.BackendSelect in [s.key for s in ex.steps if s.kind == "mask"]
    assert repr(ex) == f"<Explanation: {ex.route}>"


def test_explained_while_others_register(registry):
    """All rules and registrations of an explanation are those of one state of the registry."""
    stop, seen = threading.Event(), set()

    def register():
        while not stop.is_set():
            with registry.library("t", "IMPL") as library:
                library.impl("f", "CPU", lambda a, b: None)
                time.sleep(0.001)
            time.sleep(0.001)

    thread = threading.Thread(target=register)
    thread.start()
    try:
        end, n = time.monotonic() + 30, 0
        while n < 300 or (seen != {False, True} and time.monotonic() < end):
            n += 1
            ex = registry.explain("t::f", "CPU")
            rules = [s.rule for s in ex.steps if s.kind == "rule"]
            assert rules == list(range(1, 12))
            assert len([s for s in ex.steps if s.kind == "impl"]) == bool(ex.route)
            seen.add(bool(ex.route))
    finally:
        stop.set()
        thread.join(30)
    assert seen == {False, True}


# ---- pictures ----------------------------------------------------------------------------


def texts(svg):
    root = ElementTree.fromstring(svg)
    assert not re.search(r'(href|src|url\()', svg), "it refers to something outside"
    width, height = int(root.get("width")), int(root.get("height"))
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        right = int(rect.get("x", 0)) + int(rect.get("width"))
        bottom = int(rect.get("y", 0)) + int(rect.get("height"))
        assert right <= width and bottom <= height
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        assert int(text.get("y")) <= height
        if "q" not in text.get("class", "") and "c" not in text.get("class", ""):
            assert int(text.get("x")) + 8 * len(text.text) <= width
    return [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]


def picture_of_html(shown):
    image = ElementTree.fromstring(shown._repr_html_().replace('">', '"/>'))
    data = image.get("src").removeprefix("data:image/svg+xml;base64,")
    assert image.get("alt") == str(shown)
    return base64.b64decode(data).decode()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_picture_of_a_table(layout):
    with dk.Registry(layout) as registry:
        registry.define("t::f(Tensor a) -> ()")
        registry.impl("t::f", "CPU", lambda a: None, label='<cpu> & "co"')
        registry.impl("t::f", None, lambda a: None, label="math")
        table = registry.table("t::f")
        svg = table._repr_svg_()
        assert picture_of_html(table) == svg
        found = texts(svg)
        for expected in ("t::f", f"layout {layout}", "Dense", "CUDA", "Tracer",
                         "math of python [math kernel]", "nothing serves it"):
            assert expected in found
        assert len(re.findall("<title>", svg)) > len(list(registry.layout.functionalities))


def test_picture_of_an_explanation(registry):
    registry.impl("t::f", "CPU", lambda a, b: None, label='<cpu> & "co"')
    for keys in ("CPU|ADInplaceOrView", "CUDA", "Undefined"):
        ex = registry.explain("t::f", keys)
        svg = ex._repr_svg_()
        assert picture_of_html(ex) == svg
        found = texts(svg)
        for expected in ("t::f", "arguments", "= merged", "= effective", "rule 1",
                         str(ex.route.entry)):
            assert expected in found


def test_the_picture_of_the_guide():
    """The picture is up to date. If the file does not exist, this test creates it."""
    path = TOP / "Documentation/images/explain.svg"
    licence = "<!-- SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause -->\n"
    with dk.Registry() as registry:
        registry.define("demo::add(Tensor a, Tensor b, *, int scale=1) -> Tensor")
        registry.impl("demo::add", "CPU", lambda *args: None, label="add_cpu")
        registry.impl("demo::add", "Autograd", dk.fallthrough)
        registry.impl("demo::add", "Tracer", lambda *args: None, label="trace")
        svg = licence + registry.explain("demo::add", "CPU, AutogradCPU").svg()
    if not path.exists():
        path.write_text(svg)
        pytest.fail(f"{path} is written: look at it and commit it")
    assert path.read_text() == svg


def test_an_explanation_does_not_keep_the_registry():
    registry = dk.Registry()
    registry.define("t::f(Tensor a) -> Tensor")
    registry.impl("t::f", "CPU", lambda a: None, label="cpu")
    explanation = registry.explain("t::f", "CPU")
    text, collected = str(explanation), weakref.ref(registry)
    del registry
    gc.collect()
    assert collected() is None and str(explanation) == text
    assert str(pickle.loads(pickle.dumps(explanation))) == text


def test_labels_of_c_functions_may_be_any_bytes():
    with dk.Registry() as registry:
        name = registry.define("t::f(Tensor a) -> Tensor")
        kept = _Kept(registry, lambda a: None, Key.CPU.number, name.encode(), "cpu", None, False)
        kept.impl.label = b"caf\xe9"
        assert lib.dk_impls_register(registry._provider, kept.impl, 1, None) == 0
        assert registry.impls(name)[0].label == "caf\N{REPLACEMENT CHARACTER}"
