# SPDX-License-Identifier: GPL-2.0-only
"""Tests explanations of other releases of PyTorch, which lack private functions, or have other
sets, keys or tables. Also tests the functions for programs. Answers were recorded from PyTorch."""
import re
import sys

import pytest

import dispatchkey as dk
from conftest import BUILD, TOP, run
from dispatchkey.torch import _live, _stale
from torch_helpers import ALL, command, needs_pytorch, program


# Runs each command once for each private function that the package uses, without that function.
WITHOUT = """
import os, sys, warnings
import torch, dispatchkey.torch.__main__ as command
from dispatchkey.torch import _live

def run(name, arguments):
    r, w = os.pipe()
    if not os.fork():
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(w, 2)
        if name and hasattr(torch._C, name):
            delattr(torch._C, name)
        status = 99
        try:
            status = command.main(arguments)
        except BaseException as e:
            print("raises", repr(e), file=sys.stderr)
        sys.stderr.flush()
        os._exit(status)
    os.close(w)
    with open(r) as f:
        err = f.read()
    return os.waitstatus_to_exitcode(os.wait()[1]), err

if hasattr(torch, "func"):
    torch.vmap(len)     # the first one imports torch._dynamo, here and not in each process
for name in ["", *_live.PRIVATE]:
    if name and not hasattr(torch._C, name):
        continue
    for line in COMMANDS:
        status, err = run(name, line.split())
        lines = err.splitlines()
        if status not in (0, 3) or any(not l.startswith("dispatchkey.torch: ") for l in lines) or \
                len(lines) > 2 or (status == 3) != (len(lines) == 1 and "note" not in err) or \
                (lines and name not in err):
            print(name, line, status, err)
        print(name, line.split()[0], status, file=sys.stderr)
"""
COMMANDS = ["explain aten::relu --on cpu", "explain aten::relu --on cpu --under inference_mode",
            "what-if aten::relu --on cpu", "diff aten::relu --on cpu --to cuda",
            "missing cpu --only aten::r*", "export aten::relu --on cpu", "watch csv",
            "check --only aten::r*"]


# Private functions that the recorded PyTorch lacks.
ONLY_INSTALLED = {"_EnablePythonDispatcher", "_dispatch_check_invariants",
                  "_dispatch_has_computed_kernel_for_dispatch_key",
                  "_dispatch_is_included_in_alias"}


def without_private_functions(commands):
    code = f"COMMANDS = {commands}\n{WITHOUT}"
    done = run(sys.executable, "-c", code, timeout=300)
    assert done.stdout == ""
    found = {}
    for line in done.stderr.splitlines():
        name, what, status = line.rsplit(" ", 2)
        found.setdefault(name, {}).setdefault(what, set()).add(int(status))
    return found


def test_without_private_functions(fake):
    """Without a private function, a command prints a result, or one sentence with status 3."""
    fake(more="\nclass no_grad:\n    def __enter__(self): pass\n"
         "    def __exit__(self, *args): pass\ninference_mode = no_grad\n"
         "Tensor.tolist = lambda self: 0\n")
    found = without_private_functions(COMMANDS)
    assert set(found[""]) == {line.split()[0] for line in COMMANDS}
    assert all(statuses == {0} for statuses in found[""].values())
    assert all(statuses == {3} for statuses in found["_dispatch_dump"].values())
    assert found["_dispatch_dump_table"]["watch"] == {0}
    assert found["_dispatch_has_backend_fallback"]["explain"] == {0}
    assert found["_dispatch_keys"]["explain"] == {0, 3}
    assert {*_live.PRIVATE} - {*found} == ONLY_INSTALLED


@needs_pytorch
def test_without_private_functions_of_the_installed_one():
    """The commands explain and missing, or all with DK_TORCH=all."""
    found = without_private_functions(COMMANDS if ALL else [COMMANDS[0], COMMANDS[4]])
    for name in ("_dispatch_has_backend_fallback", "_dispatch_key_parse"):
        assert all(statuses == {0} for statuses in found.get(name, {}).values())
    assert found["_dispatch_dump_table"]["explain"] == {3}
    assert found["_dispatch_tls_local_include_set"]["missing"] == {0}
    for name in ONLY_INSTALLED & {*found}:
        assert all(statuses == {0} for statuses in found[name].values())


def test_private_functions_are_listed():
    """Every private function that the package calls is in the list PRIVATE."""
    for path in (TOP / "python/dispatchkey/torch").glob("*.py"):
        text = re.sub(r"(?s)^PRIVATE = .*?^}", "", path.read_text(), flags=re.M)
        text = text.replace('hasattr(torch._C, "_dispatch_dump")', "")
        text = re.sub(r"torch\._C\._dispatch_dump\(\)", "", text)
        assert not re.search(r"\b(_C|c)\._\w+\(", text), path
        names = set(re.findall(r'"(_dispatch_\w+|_get_\w+)"', text))
        # these are attributes of operators in Python, and a function of torch.overrides
        assert names - {"_dispatch_cache", "_get_dispatch", "_get_current_function_mode_stack"} <= \
            {*_live.PRIVATE}, path


def test_another_torch(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{TOP}/python")
    status, _out, err = command("explain", "aten::relu")
    assert status == 3 and err.count("\n") == 1 and "is not PyTorch" in err


def test_an_unknown_release(fake):
    fake(version="9.9.9")
    status, out, err = command("explain", "aten::relu")
    assert (status, out) == (3, "")
    assert err == "dispatchkey.torch: the alias keys of PyTorch 9.9.9 are unknown; " \
        f"known releases: {', '.join(_live.releases())}; --layout FILE describes others\n"


def test_the_guide_lists_the_releases():
    guide = " ".join((TOP / "Documentation/python.rst").read_text().split())
    newest, *others = _live.releases()
    assert f"The releases 1.13 and 2.0 to {newest} are known" in guide
    assert others[-2:] == ["2.0", "1.13"]


# A torch module that also reports the sets of its alias keys.
SETS = """
_C._dispatch_key_parse = lambda name: name
_C._dispatch_is_included_in_alias = lambda key, alias: key in {sets}[alias]
"""


def sets_of(layout):
    layout = dk.Layout(layout)
    found = {k.name: {each.name for each in k.stands_for} for k in layout.keys if k.kind == "alias"}
    # PyTorch reports this one also for releases whose set is empty.
    return {**found, "FuncTorchBatchedDecomposition": {"FuncTorchBatched"}}


@pytest.mark.parametrize("release, like", [("2.5", "2.4"), ("2.5", "2.6"), ("2.12", "2.11"),
                                           ("2.10", "2.11"), ("2.13", "2.14")])
def test_a_release_whose_sets_only_pytorch_knows(fake, release, like):
    """The completed layout has the lines of a release with the same sets."""
    fake(version=f"{release}.0", layout=f"pytorch-{like}",
         more=SETS.format(sets=sets_of(f"pytorch-{like}")))
    assert program("""
import dispatchkey as dk
from dispatchkey.torch import _live

lines = [line for line in _live.layout().describe().splitlines() if line.split()[0] in
         ("layout", "other-autograd", "implicit", "batched-empty", "tables")]
print("\\n".join(lines))
print(_live.is_described())
""") == "".join(f"{line}\n".replace(f"layout pytorch-{like}", f"layout pytorch-{release}")
               for line in dk.Layout(f"pytorch-{like}").describe().splitlines() if line.split()[0]
               in ("layout", "other-autograd", "implicit", "batched-empty", "tables")) + "True\n"


def test_an_explanation_with_completed_sets(fake):
    fake(version="2.13.0", file="pytorch-2.14/dumps.txt", layout="pytorch-2.14",
         more=SETS.format(sets=sets_of("pytorch-2.14")))
    status, out, err = command("check")
    assert (status, err) == (0, "") and "60 operators, 5804 entries, 0 differences" in out
    status, out, err = command("explain", "aten::acos", "--on", "cpu")
    assert (status, err) == (0, "")
    assert out.startswith("aten::acos in PyTorch 2.13.0, layout pytorch-2.13\n")
    assert "layout" not in command("export", "aten::acos")[1]


def test_a_release_whose_sets_differ(fake):
    sets = sets_of("pytorch-2.11")
    sets["Autograd"] -= {"AutogradCUDA"}
    fake(version="2.9.0", layout="pytorch-2.11", more=SETS.format(sets=sets))
    assert command("explain", "aten::relu") == \
        (3, "", "dispatchkey.torch: PyTorch and layout pytorch-2.9 disagree whether Autograd "
         "stands for AutogradCUDA: --layout FILE describes another layout\n")


def test_a_release_that_does_not_report_its_sets(fake):
    fake(version="2.9.0", layout="pytorch-2.9")
    assert command("explain", "aten::relu") == \
        (3, "", "dispatchkey.torch: PyTorch 2.9.0 has no "
         "torch._C._dispatch_is_included_in_alias(): what its alias keys stand for cannot be "
         "read\n")


@needs_pytorch
def test_the_sets_of_the_installed_one():
    assert program("from dispatchkey.torch import _live\n"
                   "print(_live._differing(_live.layout()))") == "[]\n"


def test_a_described_release(fake, tmp_path):
    """A file describes the keys of a release that is not known, or of a build with other keys."""
    fake(version="9.9.9")
    file, dkt = tmp_path / "mine.layout", tmp_path / "x.dkt"
    text = dk.Layout("pytorch-1.13").describe().replace("pytorch-1.13", "mine")
    file.write_text(text)
    status, out, err = command("explain", "aten::relu", "--on", "cpu", "--layout", str(file))
    assert (status, err) == (0, "")
    assert out.startswith("aten::relu in PyTorch 9.9.9, layout mine\n")
    status, out, err = command("export", "aten::relu", "--on", "cpu", "--layout", str(file), "-o",
                               str(dkt))
    assert (status, err) == (0, "")
    done = run(str(BUILD / "dkctl"), "replay", "--layout", str(file), str(dkt))
    assert (done.returncode, done.stderr) == (0, "")
    assert "rule  1  CPU                                    serves: ./build/" in done.stdout
    file.write_text(text.replace(" Lazy", ""))
    assert command("explain", "aten::relu", "--layout", str(file)) == (
        3, "", "dispatchkey.torch: the keys of PyTorch 9.9.9 differ from those of layout mine: "
        "14 backends, but 13 in layout mine\n")


@pytest.mark.parametrize("text, message", [
    (None, "No such file or directory: {file}"),
    (b"\xff", "the file is not text: {file}"),
    (b"layout\0mine\n", "the file is not text: {file}"),
    (b"layout mine\n", None),
    (b"#" * 65537, "the file is longer than 65536 bytes: {file}"),
    (dk.Layout("pytorch-1.12").describe().replace("pytorch-1.12", "mine").encode(),
     'the layout needs the line "tables": {file}'),
], ids=["no file", "no text", "NUL", "no keys", "too long", "no tables"])
def test_a_wrong_description(fake, tmp_path, text, message):
    fake()
    file = tmp_path / "mine.layout"
    if text is not None:
        file.write_bytes(text)
    status, out, err = command("explain", "aten::relu", "--layout", str(file))
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert not message or err == f"dispatchkey.torch: {message.format(file=file)}\n"


@pytest.mark.parametrize("version", ["1.11.0", "1.12.1"])
def test_a_release_without_tables(fake, version):
    """A release of which only names and bits are known is refused."""
    fake(version=version, layout=f"pytorch-{version[:-2]}")
    status, out, err = command("explain", "aten::relu")
    assert (status, out) == (3, "") and err.count("\n") == 1
    assert f"the alias keys of PyTorch {version} are unknown" in err and \
        version[:-2] not in err.split("known releases")[1]


KEYS = """
class Key:
    def __init__(self, number): self.number = number
    def __int__(self): return self.number
class Set:
    def __init__(self, key): self.key = key
    def raw_repr(self): return {bits} if int(self.key) == 43 else _BITS[int(self.key)]
_NUMBERS, _BITS = {numbers}, {all_bits}
_NAMES = {{number: name for name, number in _NUMBERS.items()}}
_C.DispatchKey, _C.DispatchKeySet = Key, Set
_C._dispatch_key_parse = lambda name: Key(_NUMBERS[name])
_C._dispatch_key_name = lambda key: _NAMES.get(int(key), "UnknownUnknown")
_C._dispatch_num_backends = lambda: {backends}
"""


@pytest.mark.parametrize("what, message", [
    ({}, ""),
    ({"backends": 15}, "15 backends, but 14 in layout pytorch-1.13"),
    ({"rename": ("CPU", "GPU")}, "number 43 is GPU, but CPU in layout pytorch-1.13"),
    ({"number": ("HIP", 200)}, "HIP has number 200, but 45 in layout pytorch-1.13"),
    ({"number": ("New", 122)}, "number 122 is New, but no key in layout pytorch-1.13"),
    ({"bits": 3}, "CPU has bits 0x3, but 0x4001 in layout pytorch-1.13"),
])
def test_keys_that_differ(fake, what, message):
    """The keys of the running PyTorch are compared with the layout of its release."""
    layout = dk.Layout("pytorch-1.13")
    numbers = {key.name: key.number for key in layout.keys}
    if "rename" in what:
        old, new = what["rename"]
        numbers[new] = numbers.pop(old)
    if "number" in what:
        numbers.update([what["number"]])
    fake(more=KEYS.format(
        numbers=numbers, backends=what.get("backends", 14), bits=what.get("bits", 0x4001),
        all_bits={key.number: key.keyset.bits for key in layout.keys}).replace(
            "Key(_NUMBERS[name])", "Key(_NUMBERS[name]) if name in _NUMBERS else _no()") +
        "def _no(): raise RuntimeError\n")
    status, _out, err = command("missing", "cpu")
    assert (status, err) == ((3, "dispatchkey.torch: the keys of PyTorch 1.13.1+cpu differ from "
                              f"those of release 1.13: {message}\n") if message else (0, ""))


def test_a_table_that_differs(fake):
    fake(broken='.replace("RegisterCPU.cpp:30798 [kernel]", "Other.cpp:1 [math kernel]")')
    status, out, _err = command("explain", "aten::add.Tensor", "--on", "cpu")
    assert status == 1
    assert "PyTorch's table differs from the rules:\n  CPU: PyTorch has ./build/aten/src/ATen/" \
        "Other.cpp:1 [math kernel], the rules give ./build/aten/src/ATen/RegisterCPU.cpp:30798 " \
        "[kernel]\n" in out


def test_check(fake):
    """check prints a line for each entry that differs, and a summary."""
    fake(broken='.replace("RegisterCPU.cpp:30798 [kernel]", "Other.cpp:1 [math kernel]")')
    status, out, err = command("check")
    assert (status, err) == (1, "")
    assert out == """\
aten::add.Tensor at CPU: PyTorch has ./build/aten/src/ATen/Other.cpp:1 [math kernel], \
the rules give ./build/aten/src/ATen/RegisterCPU.cpp:30798 [kernel]
aten::relu at CPU: PyTorch has ./build/aten/src/ATen/Other.cpp:1 [math kernel], \
the rules give ./build/aten/src/ATen/RegisterCPU.cpp:30798 [kernel]
4 operators, 300 entries, 2 differences
"""
    assert command("check", "--only", "aten::matmul") == \
        (0, "1 operator, 101 entries, 0 differences\n", "")
    assert command("check", "--only", "x*") == \
        (2, "", "dispatchkey.torch: no operator of PyTorch matches this pattern: x*\n")
    assert program("""
import dispatchkey.torch as dt
found = dt.check()
print(found.operators, len(found), [d.key for d in found], bool(found))
print(repr(found))
""") == "4 2 ['CPU', 'CPU'] True\n" \
        "<Check of PyTorch 1.13.1+cpu: 4 operators, 300 entries, 2 differences>\n"


@pytest.mark.parametrize("call, message", [
    ('check(only=b"x")', "expected a pattern of operators' names as a str, not bytes"),
    ('missing("cpu", only=5)', "expected a pattern of operators' names as a str, not int"),
    ('explain_keys(None, [])', "expected the name of an operator as a str, not NoneType"),
    ('what_if(None)', "expected a call from explain(), not NoneType"),
    ('diff(dt.explain_keys("aten::matmul", []), 1)', "expected a call from explain(), not int"),
])
def test_arguments_of_a_wrong_type(fake, call, message):
    fake()
    assert program(f"""
import dispatchkey.torch as dt
try:
    dt.{call}
except TypeError as e:
    print(e)
""") == f"{message}\n"


def test_results_in_shells_and_notebooks(fake):
    """repr() returns a line, notebooks show a table, and dir() omits private modules."""
    fake()
    assert program("""
import torch, dispatchkey as dk, dispatchkey.torch as dt
a = dt.explain_keys("aten::relu", [dt._words.keyset_of("cpu", dt.layout())])
b = dt.explain_keys("aten::relu", [dt._words.keyset_of("cuda", dt.layout())])
for found in (dt.diff(a, b), dt.what_if(a, ["cuda"]), dt.missing("cpu"),
              dt.missing("cpu", only="aten::relu"), dt.check()):
    print(repr(found))
    html = found._repr_html_()
    assert html.startswith(("<p>", "<pre>")) and html.count("<") == html.count(">")
print(dt.what_if(a, ["cuda"]).changes, dt.diff(a, a).rows[1:])
print([name for module in (dk, dt) for name in dir(module)
       if name.startswith("_") and not name.startswith("__")])
print({*dk.__all__} - {*dir(dk)}, {*dt.__all__} - {*dir(dt)}, "torch" in dir(dk))
print(dt.missing("cpu", only="aten::relu"))
""") == """\
<TorchDiff of aten::relu, CPU, and CUDA: The paths diverge at CPU and CUDA: the functions differ.>
<WhatIfs of aten::relu, CPU: cuda>
<Coverage of CPU in PyTorch 1.13.1+cpu: 4 operators>
<Coverage of CPU in PyTorch 1.13.1+cpu: 1 operator>
<Check of PyTorch 1.13.1+cpu: 4 operators, 300 entries, 0 differences>
(<WhatIf cuda: another function at CUDA>,) (<Row CPU: ./build/aten/src/ATen/RegisterCPU.cpp:30798 \
[kernel]>,)
[]
set() set() True
CPU in PyTorch 1.13.1+cpu: 1 operator

number  served by  which
     1  own        a function of this backend
"""


def test_recorded_operators(fake):
    """The recorded tables of 60 operators of PyTorch 2.14.1 follow the rules."""
    fake(version="2.14.1+cpu", file="pytorch-2.14/dumps.txt", layout="pytorch-2.14")
    assert program("""
import torch, dispatchkey.torch as dt
calls = [dt.explain_keys(name, []) for name in dt.operators()]
print(dt.layout(), len(calls), sum(c.entries for c in calls) > 5000)
print([(c.operator, c.differences) for c in calls if c.differences])
""") == "pytorch-2.14 60 True\n[]\n"


def test_overridden_functions():
    """As in PyTorch, the newest function at a key is active."""
    dump = ("name: t::f\nschema: t::f(Tensor a) -> Tensor\ndebug: registered at a.cpp:1\n"
            "alias analysis kind: FROM_SCHEMA\n"
            "CPU: registered at new.py:2 :: (none) [ boxed ]\n"
            "CPU (inactive): registered at old.cpp:1 :: (Tensor _0) -> Tensor _0 [ unboxed ]\n"
            "Tracer: registered at c.cpp:3 :: (none) [ fallthrough boxed ]\n")
    with dk.Registry("pytorch-1.13", builtins=False) as registry:
        with pytest.warns(dk.OverrideWarning):
            assert _live.Operator("t::f", dump, "").mirror_functions(registry) == "t::f"
        assert [(i.key.name, i.label, i.is_active, i.is_fallthrough)
                for i in registry.impls("t::f")] == [
                    ("Tracer", "c.cpp:3", True, True), ("CPU", "new.py:2", True, False),
                    ("CPU", "old.cpp:1", False, False)]


@pytest.mark.parametrize("fallback, place, candidates", [
    # PyTorch's own fallback precedes a function in Python, so the entry is stale
    ("Fallback.cpp:1", "f.py:12", {"Fallback.cpp:1"}),
    ("Fallback.cpp:1", "/" + "x" * 200 + "/f.py:12", {"Fallback.cpp:1"}),
    # a fallback in Python may precede the function or not
    ("fallback.py:1", "f.py:12", {"fallback.py:1", "0 f.py:12"}),
    ("a Python function", "f.py:12", {"a Python function", "0 f.py:12"}),
    ("Fallback.cpp:1", "f.cpp:12", {"Fallback.cpp:1", "0 f.cpp:12"}),
], ids=["python", "long", "both", "nameless", "cpp"])
def test_entries_that_only_a_fallback_refreshes(fallback, place, candidates):
    """Up to PyTorch 2.7, a function at FuncTorchBatchedDecomposition refreshes no entry."""
    layout = dk.Layout("pytorch-2.6")
    live = _live.Operator("t::f", "name: t::f\nschema: t::f(Tensor a) -> Tensor\n"
                          f"FuncTorchBatchedDecomposition[alias]: registered at {place} :: (none) "
                          "[ boxed ]\n", "")
    with dk.Registry(layout, builtins=False) as registry:
        for key in ("FuncTorchBatched", "Negative"):
            registry.fallback(key, _live._never, label=fallback)
        slots = list(_stale._slots(_stale._Tables(live, layout, registry), layout))
    assert [slot.key.name for slot in slots] == ["FuncTorchBatched"]
    assert {e.label for e in slots[0].candidates.values()} == candidates


def test_picture(fake, tmp_path):
    fake()
    assert command("explain", "aten::relu", "--on", "cpu", "--svg", str(tmp_path / "x.svg"))[0] == 0
    assert (tmp_path / "x.svg").read_text().startswith("<svg")


def test_from_python(fake):
    fake()
    assert program("""
import torch, dispatchkey as dk, dispatchkey.torch as dt
x = torch.Tensor()
for call in (dt.explain("aten::add.Tensor", self=x, other=x), dt.explain(torch.add, x, x, alpha=2),
             dt.explain(torch.add, x, 1), dt.explain(torch.add, x, other=torch.Tensor("CPU"))):
    print(call.operator, [hop.key.name for hop in call.hops], len(call.explanation.objects))
assert call._repr_svg_().startswith("<svg") and call._repr_html_().startswith("<img")
def add(*args):
    pass
for wrong in ((torch.add, x, "s"), (isinstance, x), ("aten::add.Tensor", x), (add, x, x),
              ("aten::add.Tensor", x, None), ("aten::add.Tensor", "x", x)):
    try:
        dt.explain(*wrong)
    except (TypeError, dk.UnknownName) as e:
        print(e)
""") == """\
aten::add.Tensor ['AutogradCPU', 'CPU'] 2
aten::add.Tensor ['AutogradCPU', 'CPU'] 2
aten::add.Tensor ['AutogradCPU', 'CPU'] 2
aten::add.Tensor ['AutogradCPU', 'CPU'] 2
no overload of aten::add takes these arguments: its overloads are aten::add.Scalar, aten::add.Tensor
isinstance is not an operator, function or method of PyTorch: name the operator that it calls, \
such as "aten::add.Tensor"
aten::add.Tensor() needs a value for argument 'other'
add is not an operator, function or method of PyTorch: name the operator that it calls, such as \
"aten::add.Tensor"
aten::add.Tensor() needs a Tensor for argument 'other', but None is given
aten::add.Tensor() needs a Tensor for argument 'self', but a value of type str is given
"""


def test_one_mode_is_given_as_a_list(fake):
    fake()
    assert program("""
import torch, dispatchkey.torch as dt
call = dt.explain("aten::relu", torch.Tensor())
for function in (lambda: dt.what_if(call, "no_grad"),
                 lambda: dt.explain_under("aten::relu", call.explanation.objects, "no_grad")):
    try:
        function()
    except TypeError as e:
        print(e)
""") == "expected a list, such as [\"no_grad\"], not str 'no_grad'\n" * 2
