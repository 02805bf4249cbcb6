# SPDX-License-Identifier: GPL-2.0-only
"""Tests explanations of the calls of the installed PyTorch, and the commands of the guides."""
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

from conftest import BUILD, TOP
from torch_helpers import ALL, installed_version, needs_pytorch, needs_pytorch_2, program, replayed

GUIDES = ["Documentation/python.rst", "Documentation/why.rst"]


def blocks_of_the_guide(name, language):
    """Returns the code blocks of a guide that this file must run."""
    guide = TOP / name
    text = guide.read_text() if guide.exists() else ""
    found = re.findall(rf"^\.\. check: by selftests/python/test_torch\.py\n"
                       rf"\.\. code-block:: {language}\n\n((?:   .*\n|\n)+)", text, re.M)
    return [textwrap.dedent(block).rstrip("\n") + "\n" for block in found]


def is_printed(expected, text):
    """Compares a text with the expected text, in which "..." matches anything, and a line "..."
    matches any lines."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else
                      ".*".join(map(re.escape, line.split("..."))) + r"\n"
                      for line in expected.splitlines())
    return re.fullmatch(pattern, re.sub(r" +$", "", text, flags=re.M))


@needs_pytorch
@pytest.mark.parametrize("guide, enough", zip(GUIDES, (4, 1)))
def test_commands_of_the_guide(tmp_path, guide, enough):
    """The commands of the guides print what the guides show. With another release than 1.13, the
    places and numbers of functions differ, so the first line and the exit status are compared."""
    shutil.copy(pathlib.Path(__file__).with_name("scale.py"), tmp_path)
    (tmp_path / "samples").symlink_to(TOP / "samples")
    number = 0
    for block in blocks_of_the_guide(guide, "console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, expected = part.split("\n", 1)
            line = line.replace("python3", sys.executable).replace("dkctl", f"{BUILD}/dkctl")
            done = subprocess.run(["bash", "-c", line], cwd=tmp_path, text=True, timeout=120,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if installed_version().startswith("1.13"):
                assert not expected or is_printed(expected, done.stdout), done.stdout
            else:
                first = re.sub(r"1\.13(\.\.\.)?|\d\d+|User specified .*|(?<= )\./", "...",
                               expected.split("\n")[0])
                assert not expected or is_printed(f"{first}\n...\n", done.stdout), done.stdout
                failed = first.startswith("dispatchkey.torch: ")
                assert done.returncode == (2 if failed else 0), done.stdout
            number += 1
    assert number >= enough


@needs_pytorch
@pytest.mark.parametrize("guide", GUIDES)
def test_sessions_of_the_guide(guide):
    """The sessions of a guide are run as one. Line breaks may differ."""
    code = "".join(blocks_of_the_guide(guide, "pycon"))
    assert ">>> " in code
    release = ".".join(installed_version().split(".")[:2])
    code = code.replace("pytorch-1.13", f"pytorch-{release}")
    code = code.replace("PyTorch 1.13", f"PyTorch {release}")
    if release != "1.13":
        # In PyTorch 2, the fallback of AutogradCPU is a function.
        code = code.replace("not a fallthrough [", "not ...aten/src/ATen/core/Variable...:... [")
    if release == "2.14":
        # It records the place of scale.py in which the Library is made.
        code = code.replace("calls a Python function at", "calls ...scale.py:5 at")
    assert program(f"""
import doctest
test = doctest.DocTestParser().get_doctest({code!r}, {{}}, {guide!r}, {guide!r}, 0)
doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS |
                      doctest.NORMALIZE_WHITESPACE).run(test)
""") == ""


@needs_pytorch
def test_every_operator_of_the_installed_one():
    """All tables follow the rules, checked in 20 seconds of CPU time. Also explains every tenth
    operator, or all with DK_TORCH=all. Debian's PyTorch 2.6 has a function of an operator that
    is not defined, aten::hardshrink_ at Vulkan. Such operators are left out."""
    every = 1 if ALL else 10
    assert program(f"""
import time, torch, dispatchkey.torch as dt
begin = time.process_time()
found = dt.check()
undefined = torch._C._dispatch_find_dangling_impls()
print(found.operators == len(dt.operators()) - len(undefined) > 2000, found.entries > 200000,
      found.differences)
print(time.process_time() - begin < 20)
calls = [dt.explain_keys(name, []) for name in dt.operators()[::{every}]
         if dt._live.Operator.read(name).is_defined]
print(len(calls) > 2000 / {every}, [(c.operator, c.differences) for c in calls if c.differences])
""") == "True True ()\nTrue\nTrue []\n"


@needs_pytorch
def test_the_operator_is_the_one_that_is_called():
    assert program("""
import torch, dispatchkey.torch as dt
from torch.utils._python_dispatch import TorchDispatchMode

class First(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))

x, i = torch.ones(2, 2), torch.tensor([0, 1])
for function, *args in ((torch.add, x, x), (torch.add, x, 2), (torch.mul, x, 2.5),
                        (torch.sub, x, x), (torch.relu, x), (torch.cat, [x, x]), (torch.sum, x),
                        (torch.sum, x, 0),
                        (torch.pow, x, 2), (torch.pow, x, x), (torch.mm, x, x), (torch.exp, x),
                        (torch.index_select, x, 0, i), (torch.clamp, x, 0, 1)):
    mode = First()
    mode.seen = []
    with mode:
        function(*args)
    schema = mode.seen[0]._schema
    seen = schema.name + ("." + schema.overload_name if schema.overload_name else "")
    if dt.explain(function, *args).operator != seen:
        print(function, args, seen, dt.explain(function, *args).operator)
""") == ""


@needs_pytorch
def test_local_state_of_the_installed_one():
    assert program("""
import torch, dispatchkey.torch as dt
x = torch.ones(2, requires_grad=True)
print([hop.key.name for hop in dt.explain(torch.relu, x).hops])
with torch.inference_mode():
    y = torch.ones(2)
    print([hop.key.name for hop in dt.explain(torch.relu, y).hops])
    print([hop.key.name for hop in dt.explain(torch.relu, x).hops])
print([hop.key.name for hop in dt.explain(torch.relu, y).hops])
with torch.autocast("cpu"):
    print(dt.explain(torch.mm, torch.ones(2, 2), torch.ones(2, 2)).hops[0].key)
""") == "['AutogradCPU', 'CPU']\n" + 3 * "['CPU']\n" + "AutocastCPU\n"


# Functions that record their key and, except for the last one, call the keys below.
NOTES_ITS_KEY = """
import torch, torch.library, dispatchkey.torch as dt
torch._C._dispatch_key_parse                            # PyTorch 1.13
lib = torch.library.Library("demo", "DEF")
lib.define("f(Tensor a) -> Tensor")
seen = []
def note(key, ends=False):
    def f(a):
        seen.append(key)
        if ends:
            return a * 1
        guard = torch._C.ExcludeDispatchKeyGuard(
            torch._C.DispatchKeySet(torch._C._dispatch_key_parse(key)))
        try:
            return torch.ops.demo.f(a)
        finally:
            del guard
    lib.impl("f", f, key)
for key in ("AutocastCPU", "AutogradCPU"):
    note(key)
for key in ("CPU", "Meta", "FuncTorchBatched"):
    note(key, True)
def route(x):
    seen.clear()
    torch.ops.demo.f(x)
    return list(seen)
x = torch.ones(2, requires_grad=True)
call = dt.explain("demo::f", x)
found = dt.what_if(call)
def path(change):
    return found[change].path.split(" > ")
"""


@needs_pytorch
def test_paths_are_those_of_calls():
    """The explained path for a mode is the path of a real call in that mode."""
    assert program(NOTES_ITS_KEY + """
with torch.no_grad():
    print(route(x), path("no_grad"), route(x) == path("no_grad"))
with torch.inference_mode():
    print(route(x), route(x) == path("inference_mode"))
    y = torch.ones(2)
print(route(y), route(y) == path("inference"))
with torch.autocast("cpu"):
    print(route(x), route(x) == path("autocast"))
print(route(torch.ones(2)) == path("requires_grad") == route(x))
key = torch._C._dispatch_key_parse("AutogradMeta")
if torch._C._dispatch_has_backend_fallback(key):
    # PyTorch 2 has a fallback at AutogradMeta, which calls the keys below.
    hops = found["meta"].difference.b.hops
    print(route(torch.ones(2, device="meta")) == ["Meta"],
          [(hop.key.name, hop.rule) for hop in hops] ==
          [("AutogradMeta", "backend fallback"), ("Meta", "kernel")])
else:
    # PyTorch 1.13 has none, so the call fails.
    try:
        route(torch.ones(2, device="meta"))
    except NotImplementedError as e:
        print("with arguments from the 'AutogradMeta' backend" in str(e),
              path("meta") == ["AutogradMeta (no function)"])
""") == """\
['AutogradCPU', 'CPU'] ['AutogradCPU', 'CPU'] True
['CPU'] True
['CPU'] True
['AutocastCPU', 'AutogradCPU', 'CPU'] True
True
True True
"""


@needs_pytorch
def test_vmap_is_that_of_calls():
    """A call inside vmap calls the operator again with other keys, and the path ends there."""
    assert program(NOTES_ITS_KEY + """
seen.clear()
try:
    vmap = torch.vmap
except AttributeError:
    from functorch import vmap
try:
    vmap(torch.ops.demo.f)(x)
except RuntimeError:
    pass                # the function returns what vmap does not expect
print(seen[0], path("vmap"), found["vmap"], str(found).splitlines()[-1], sep="\\n")
""") == """\
FuncTorchBatched
['FuncTorchDynamicLayerFrontMode']
with FuncTorchDynamicLayerFrontMode
FuncTorchDynamicLayerFrontMode calls operators with other keys, which this path does not follow.
"""


@needs_pytorch
def test_modes_leave_nothing_behind():
    assert program("""
import torch, dispatchkey.torch as dt
from dispatchkey.torch import _live
before = _live.local_state(dt.layout()), torch.is_grad_enabled(), torch.is_inference_mode_enabled()
x = torch.ones(2, 2)
for device in ("cpu", "cuda", "meta"):
    keys = dt.explain_keys("aten::mm", [dt._words.keyset_of(device, dt.layout())])
    found = dt.what_if(keys)
    print([w.change for w in found if not w.difference])
print(before == (_live.local_state(dt.layout()), torch.is_grad_enabled(),
                 torch.is_inference_mode_enabled()))
print([hop.key.name for hop in dt.explain_under("aten::mm", [], ["vmap", "vmap"]).hops][:1])
try:
    dt.what_if(keys)["vmp"]
except KeyError as e:
    print(e)
""") == """\
[]
[]
['autocast']
True
['FuncTorchDynamicLayerFrontMode']
'vmp: the changes are no_grad, inference_mode, autocast, vmap, requires_grad, inference, cpu, cuda'
"""


@needs_pytorch
def test_modes_that_are_refused():
    """PyTorch 2 refuses autocast on a private device without a module with an AssertionError."""
    assert program("""
import dispatchkey.torch as dt
call = dt.explain_keys("aten::mm", [dt._words.keyset_of("privateuseone", dt.layout())])
found = dt.what_if(call, ["autocast", "no_grad"])
print(found["autocast"].reason.startswith("PyTorch refuses autocast on privateuseone: "),
      found["autocast"].difference, found["no_grad"])
""") == "True None the same functions\n"


@needs_pytorch
def test_functions_that_call_operators():
    """The path ends at functions at CompositeImplicitAutogradNestedTensor and at NestedTensorCPU,
    and goes on at Undefined if no key is left."""
    assert program("""
import warnings, torch, torch.library, dispatchkey as dk, dispatchkey.torch as dt
warnings.simplefilter("ignore")
lib = torch.library.Library("demo", "DEF")
seen = []
def define(name, *keys):
    lib.define(name + "(Tensor a) -> Tensor")
    for key in keys:
        lib.impl(name, lambda a, key=key: seen.append(key) or a.clone(), key)
define("f", "CompositeImplicitAutogradNestedTensor", "ADInplaceOrView")
define("g", "CompositeExplicitAutograd", "Tracer")
define("h", "NestedTensorCPU", "CompositeExplicitAutograd")
def path(name, keys):
    keys = dk.KeySet(keys, layout=dt.layout())
    none = dk.KeySet(layout=dt.layout())
    print([(h.key.name, h.rule) for h in dt.explain_keys(name, [keys], (none, none)).hops])
path("demo::f", "NestedTensorCPU, AutogradNestedTensor, ADInplaceOrView")
path("demo::f", "NestedTensorCPU, ADInplaceOrView")
path("demo::g", "NestedTensorCPU, Tracer")
path("demo::g", "Tracer")
path("demo::h", "NestedTensorCPU")
x = getattr(torch, "nested_tensor", None) or torch.nested.nested_tensor
x = x([torch.ones(2)])
for op in (torch.ops.demo.f, torch.ops.demo.h):
    seen.clear()
    with torch.inference_mode(op is torch.ops.demo.h):
        print(op(x).is_nested, seen)
""") == """\
[('AutogradNestedTensor', 'nested kernel')]
[('ADInplaceOrView', 'kernel'), ('NestedTensorCPU', 'nested kernel')]
[('Tracer', 'kernel'), ('NestedTensorCPU', 'missing')]
[('Tracer', 'kernel'), ('Undefined', 'default backend kernel')]
[('NestedTensorCPU', 'kernel')]
True ['CompositeImplicitAutogradNestedTensor']
True ['NestedTensorCPU']
"""


@needs_pytorch
def test_batched_decompositions():
    """Registering a function at FuncTorchBatchedDecomposition does not refresh the entry of
    FuncTorchBatched up to PyTorch 2.7, so vmap still calls the fallback."""
    assert program("""
import torch, torch.library, dispatchkey as dk, dispatchkey.torch as dt
try:
    alias = dk.Key("FuncTorchBatchedDecomposition", dt.layout())
except dk.UnknownName:
    print("PyTorch 1.13 lacks the alias key")
    raise SystemExit
torch._C._functorch._set_vmap_fallback_warning_enabled(False)
lib = torch.library.Library("demo", "DEF")
called = []
def note(key):
    def f(a):
        called.append(key)
        return a.clone()
    return f
for name, keys in (("f", ("CPU", alias.name)), ("g", ("CPU", alias.name, "FuncTorchBatched"))):
    lib.define(name + "(Tensor a) -> Tensor")
    for key in keys:
        lib.impl(name, note(key), key)
    called.clear()
    call = dt.explain_keys("demo::" + name, [dk.KeySet("CPU, FuncTorchBatched", layout=alias.layout)])
    by = call.hops[0]
    try:
        torch.vmap(getattr(torch.ops.demo, name))(torch.ones(1, 2))
    except (RuntimeError, ValueError):
        pass            # the function returns what vmap does not expect
    real = called[0] if called else ""
    print(name, real == ("CPU" if by.rule == "stale backend fallback" else by.registered_at),
          bool(call.stale) == bool(call.differences) == by.rule.startswith("stale"))
    if not alias.stands_for:
        assert by.rule == ("stale backend fallback" if name == "f" else "kernel")
""") in ("PyTorch 1.13 lacks the alias key\n", "f True True\ng True True\n")


@needs_pytorch_2
def test_operators_of_pytorch_2():
    """The objects of custom operators, the default device, and tensors with symbolic sizes."""
    assert program("""
import torch, dispatchkey as dk, dispatchkey.torch as dt
@torch.library.custom_op("demo::twice", mutates_args=())
def twice(a: torch.Tensor) -> torch.Tensor:
    return a * 2
def path(*args, **kwargs):
    call = dt.explain(*args, **kwargs)
    print(call.operator, [hop.key.name for hop in call.hops])
x = torch.ones(2, 2)
path(twice, x)
with torch.device("meta"):
    path(torch.ones, 2)
    path(torch.ones, 2, device="cpu")
    path(torch.ops.aten.ones.default, [2])      # as in PyTorch, only functions of torch use it
path(torch.ones, 2)
path(torch.relu, torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged))
for wrong in (torch.ops.higher_order.cond, "higher_order::cond"):
    try:
        dt.explain(wrong, x)
    except (TypeError, dk.UnknownName) as e:
        print(e)
""") == """\
demo::twice ['AutogradCPU', 'CPU']
aten::ones ['BackendSelect', 'Meta']
aten::ones ['BackendSelect', 'CPU']
aten::ones ['BackendSelect', 'CPU']
aten::ones ['BackendSelect', 'CPU']
aten::relu ['PythonTLSSnapshot', 'AutogradNestedTensor', 'Python']
cond is a higher-order operator: PyTorch calls its functions in Python, without a table
PyTorch has no such operator: higher_order::cond; PyTorch calls higher-order operators in Python, \
without a table
"""


@needs_pytorch
def test_diff_of_calls_in_modes():
    assert program("""
import torch, dispatchkey.torch as dt
x = torch.ones(2, 2)
a = dt.explain(torch.mm, x, x)
with torch.autocast("cpu"):
    b = dt.explain(torch.mm, x, x)
found = dt.diff(a, b)
print(list(found.keys()), found.is_same, found.parts_at.b.key)
print(dt.diff(a, a).is_same, [row.is_same for row in found.rows])
under = dt.explain_under("aten::mm", a.explanation.objects, ["autocast"])
print(dt.diff(b, under).is_same, list(dt.diff(b, under).keys()), under.description)
""") == """\
[('excluded', ['AutocastCPU'], []), ('effective', [], ['AutocastCPU'])] False AutocastCPU
True [False, True, True]
True [] CPU; CPU under autocast
"""


@needs_pytorch
def test_missing_is_what_pytorch_says():
    """PyTorch's own queries return the same, for each operator and two backends, or several with
    DK_TORCH=all."""
    keys = {"privateuseone": "PrivateUse1", "cpu,sparse": "SparseCPU"}
    if ALL:
        keys |= {"cpu": "CPU", "meta": "Meta", "QuantizedCPU": "QuantizedCPU"}
    assert program(f"keys = {keys}" + """
import time, torch, dispatchkey.torch as dt
c, begin = torch._C, time.monotonic()
for backend, key in keys.items():
    found = dt.missing(backend)
    print(found.key, len(found) > 2000, sum(found.counts.values()) == len(found),
          [s for s in found if
           (s.by == "own") != c._dispatch_has_kernel_for_dispatch_key(s.operator, key) or
           "MetaFallbackKernel" not in s.where and (s.by != "nothing") !=
           c._dispatch_has_computed_kernel_for_dispatch_key(s.operator, key)
           or (s.autograd != "nothing") != c._dispatch_has_computed_kernel_for_dispatch_key(
               s.operator, found.autograd.name)])
print(time.monotonic() - begin < 100)
""") == "".join(f"{key} True True []\n" for key in keys.values()) + "True\n"


@needs_pytorch
def test_missing_operators_fail():
    """Operators that are reported as missing on a backend fail there, others do not."""
    assert program("""
import torch, dispatchkey.torch as dt
x = torch.ones(2, 2).to_sparse()
by = {s.operator: s.by for s in dt.missing("SparseCPU")}
for name in ("neg", "trunc", "cos", "digamma"):
    try:
        getattr(torch, name)(x)
        assert by["aten::" + name] != "nothing"
    except NotImplementedError as e:
        assert by["aten::" + name] == "nothing" and "'SparseCPU' backend" in str(e)
print(sorted({by["aten::" + name] for name in ("neg", "trunc", "cos", "digamma")}))
""") == "['nothing', 'own']\n"


@needs_pytorch
def test_transcripts_of_the_installed_one(tmp_path):
    """dkctl replays PyTorch's tables of every tenth operator (of all with DK_TORCH=all) and the
    paths of calls."""
    every = 1 if ALL else 10
    assert program(f"""
import dispatchkey.torch as dt
keys = [dt._words.keyset_of("cpu,requires_grad", dt.layout())]
calls = [n for n in dt.operators()[::{every}] if dt._live.Operator.read(n).is_defined]
with open({str(tmp_path / "x.dkt")!r}, "w") as f:
    f.write(dt.transcript(*calls, *(dt.explain_under(name, keys, modes)
            for name in ("aten::mm", "aten::add.Tensor", "aten::matmul", "aten::relu_")
            for modes in ([], ["autocast"], ["inference_mode"], ["vmap"]))))
print(len(calls) > 2000 / {every})
""") == "True\n"
    status, text = replayed(tmp_path / "x.dkt")
    assert status == 0 and text.endswith("every answer is right\n"), text


@needs_pytorch
def test_transcripts_of_functions_with_confusing_labels(tmp_path):
    """PyTorch registers functions with any text as their place, even with a word that dkctl replay
    prints instead of a function."""
    path, words = str(tmp_path / "x.dkt"), ("missing", "ambiguous", "fallthrough")
    assert program(f"""
import torch, dispatchkey.torch as dt
libraries, calls = [], []
for word in {words}:
    libraries.append(torch._C._dispatch_library("DEF", word, ""))
    libraries[-1].define("f(Tensor a) -> Tensor")
    libraries[-1].impl_t_t("f", "CPU", word)
    calls.append(dt.explain_keys(f"{{word}}::f", [dt._words.keyset_of("cpu", dt.layout())]))
    print(calls[-1].hops[-1].why.route.entry)
with open({path!r}, "w") as f:
    f.write(dt.transcript(*calls))
""") == "".join(f'"{word}" of PyTorch [kernel]\n' for word in words)
    status, text = replayed(path)
    assert status == 0 and text.endswith("every answer is right\n"), text


@needs_pytorch
def test_operators_without_tensors(tmp_path):
    """A call without tensors and its redispatches are routed by the local state."""
    assert program(f"""
import dispatchkey.torch as dt
call = dt.explain_under("aten::empty.memory_format", [], ["no_grad"])
print([hop.key.name for hop in call.hops])
print(dt.what_if(call, ["cuda"])["cuda"].difference.is_same)
with open({str(tmp_path / "x.dkt")!r}, "w") as f:
    f.write(dt.transcript(call))
""") == "['BackendSelect', 'CPU']\nFalse\n"
    assert replayed(tmp_path / "x.dkt")[0] == 0


@needs_pytorch
def test_fallbacks_of_keys_with_functions():
    """A fallback is found even if the operator has a function at its key."""
    assert program("""
import torch, dispatchkey.torch as dt
live = dt._live.Operator.read("aten::mm")
entry = live.fallbacks(dt.layout())["AutocastCPU"]
print(live.entries["AutocastCPU"].rule, entry.rule, entry.is_fallthrough)
""") == "kernel backend fallback True\n"


@needs_pytorch
def test_watch_of_the_installed_one():
    """watch reports registrations, which calls use, and their end."""
    assert program("""
import torch, torch.library, dispatchkey.torch as dt
def say(found):
    for e in found:
        print("+" if e.is_added else "-", e.kind, e.operator, e.key, e.is_fallthrough)
with dt.watch() as found:
    mine = torch.library.Library("mine", "DEF")
    mine.define("f(Tensor a) -> Tensor")
    mine.impl("f", lambda a: a + a, "CPU")
    cpu = torch.library.Library("aten", "IMPL")
    cpu.impl("erfinv", lambda a: a, "SparseVE")
    print(len(found), torch.ops.mine.f(torch.ones(1)))
say(found)
with dt.watch() as none:
    torch.ops.mine.f(torch.ones(1))
    temporary = torch.library.Library("temporary", "DEF")
    temporary.define("f() -> ()")
    del temporary
print(none, len(none))
try:
    with dt.watch() as found:
        del cpu
        raise KeyError
except KeyError:
    say(found)
if hasattr(torch._C, "_dispatch_library"):
    with dt.watch() as found:
        library = torch._C._dispatch_library("IMPL", "_", "PrivateUse2")
        library.fallback_fallthrough()
    say(found)
""") == """\
0 tensor([2.])
+ function aten::erfinv SparseVE False
+ operator mine::f  False
+ function mine::f CPU False
nothing was registered 0
- function aten::erfinv SparseVE False
+ fallback  PrivateUse2 True
"""
