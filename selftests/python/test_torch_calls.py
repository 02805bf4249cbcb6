# SPDX-License-Identifier: GPL-2.0-only
"""Explanations name the functions that PyTorch calls: real calls record which functions they
enter. This file is longer than others, because the tests share programs that make such calls."""
import re

from conftest import TOP, python
from torch_helpers import (ALL, command, installed_version, needs_pytorch, needs_pytorch_1_13,
                           needs_pytorch_2, program, replayed)

# make() registers functions in the given order. Each records its key and ends the call.
OPERATORS = """
import itertools, torch, torch.library, torch.nested, warnings
import dispatchkey.torch as dt
warnings.simplefilter("ignore")
libraries, entered = [], []
def make(order, schema="(Tensor a) -> Tensor"):
    space = f"made{len(libraries)}"
    library = torch.library.Library(space, "DEF")
    libraries.append(library)
    library.define("f" + schema)
    for key in order:
        def function(*args, key=key):
            entered.append(key)
            return torch.ones(1)
        library.impl("f", function, key)
    return space
def first_of(space, *args):
    entered.clear()
    try:
        getattr(torch.ops, space).f(*args)
    except RuntimeError as e:
        return "ambiguous" if "a backend mapped to AutogradOther" in str(e) else "nothing"
    return entered[0]
def is_fallback(hop):
    return hop.rule.endswith("backend fallback")
def explained(call):
    # In PyTorch 2, the fallbacks of the autograd keys are functions, which redispatch.
    hop = next((hop for hop in call.hops if not is_fallback(hop)), call.hops[-1])
    entry = hop.why.route.entry
    return "ambiguous" if entry.is_ambiguous else "nothing" if is_fallback(hop) else \
        hop.registered_at or "nothing"
IMPLICIT, EXPLICIT = "CompositeImplicitAutograd", "CompositeExplicitAutograd"
TENSORS = {"cpu": torch.ones(2), "mkldnn": torch.ones(2).to_mkldnn(),
           "sparse": torch.ones(2).to_sparse(), "meta": torch.ones(2, device="meta"),
           "nested": torch.nested.nested_tensor([torch.ones(2)])}
with torch.inference_mode():
    TENSORS["inference"] = torch.ones(2)
"""


@needs_pytorch
def test_the_order_of_registrations():
    """For registrations in every order, the explanation names the function that calls enter, or
    states that it is not known."""
    assert program(OPERATORS + """
stale = open = number = 0
for keys in ([IMPLICIT, EXPLICIT], [IMPLICIT, EXPLICIT, "Autograd"], [IMPLICIT, "SparseCPU"],
             [IMPLICIT, EXPLICIT, "AutogradCPU"], [IMPLICIT, EXPLICIT, "CPU"],
             [IMPLICIT, "NestedTensorCPU"], [IMPLICIT, EXPLICIT, "SparseCPU"], [EXPLICIT, "CPU"],
             [IMPLICIT, "QuantizedCPU", "SparseCPU"], [EXPLICIT, "Autograd", "CPU"],
             [IMPLICIT, EXPLICIT, "CompositeExplicitAutogradNonFunctional"],
             [IMPLICIT, "CPU", "Autograd"], [IMPLICIT, EXPLICIT, "NestedTensorCPU"],
             [IMPLICIT, "CPU", "Autograd", "NestedTensorCPU"],
             [IMPLICIT, EXPLICIT, "Autograd", "CPU"], [IMPLICIT, "Autograd"]):
    for order in itertools.permutations(keys):
        space = make(order)
        for what, tensor in TENSORS.items():
            number += 1
            call = dt.explain(f"{space}::f", tensor)
            real, found = first_of(space, tensor), explained(call)
            may = [s for s in call.stale if " may still call " in s]
            if may:
                open += 1
                if real != found and not any(f" at {real} " in s for s in may):
                    print("neither", order, what, real, found, may)
            elif real != found:
                print(order, what, "enters", real, "explained", found, call.stale)
            elif call.hops[0].stale:
                stale += 1
                if not call.differences or not any(f" at {real} " in s for s in call.stale) or \\
                        f"<p>PyTorch {dt._live.release()} calls " not in call._repr_html_() or \\
                        f"at {real}, stale" not in call._repr_html_() or \\
                    "afterwards" not in str(call):
                    print("not shown", order, what)
print(number > 500, stale > 50, open < number / 7)
""") == "True True True\n"


@needs_pytorch
def test_a_function_that_was_unregistered():
    """An entry can be stale because a function was unregistered; the difference is reported."""
    assert program(OPERATORS + """
space = make([IMPLICIT])
explicit, autograd = (torch.library.Library(space, "IMPL") for _ in range(2))
explicit.impl("f", lambda a: a, EXPLICIT)
autograd.impl("f", lambda a: a, "AutogradCPU")
del autograd        # refreshes AutogradCPU
del explicit        # does not
call = dt.explain(f"{space}::f", TENSORS["cpu"])
print(len(call.differences), "was unregistered" in "".join(call.differences).replace("\\n", ""))
torch.library.Library(space, "IMPL").impl("f", lambda a: a, "AutogradCPU")
print(dt.explain(f"{space}::f", TENSORS["cpu"]).differences, first_of(space, TENSORS["cpu"]))
""") == "1 True\n() CompositeImplicitAutograd\n"


@needs_pytorch
def test_unusual_operators(tmp_path):
    """check compares operators with default values that PyTorch prints without quotes, and with
    functions at Dense. It reports stale entries, and names what it could not compare."""
    path = tmp_path / "unusual.py"
    path.write_text(f"""
from torch.library import Library
def make(space, schema, *keys):
    library = Library(space, "DEF")
    library.define(schema)
    for key in keys:
        library.impl(schema.split("(")[0], lambda x, *args: x, key)
    return library
libraries = [
    make("odd", 'f(Tensor x, Device d="cuda:0", int i="abc", float f="", int[] k=[1, 2], '
         '*, complex c=1j, str s="a, b) -> Tensor", bool? b=None) -> (Tensor, Tensor)', "CPU"),
    make("dense", "f(Tensor x) -> Tensor", "Dense", "CompositeImplicitAutograd"),
    make("stale", "f(Tensor x) -> Tensor", "CompositeImplicitAutograd",
         "CompositeExplicitAutograd"),
    make("long", "{130 * 'n'}(Tensor x) -> Tensor", "CPU")]
""")
    load = ["--load", str(path)]
    for space in ("odd", "dense"):
        status, out, err = command("check", "--only", f"{space}::*", *load)
        assert (status, err) == (0, "") and out.endswith(" 0 differences\n")
        assert command("explain", f"{space}::f", "--on", "cpu", *load)[0] == 0
        assert command("export", f"{space}::f", "-o", str(tmp_path / "x.dkt"), *load) == (0, "", "")
        assert replayed(tmp_path / "x.dkt")[0] == 0
    status, out, err = command("check", "--only", "stale::*", *load)
    line, summary = out.splitlines()[-2:]
    assert (status, err) == (1, "") and summary.startswith("1 operator, ")
    assert line.startswith("stale::f at ") and " AutogradCPU, " in line
    assert " at CompositeImplicitAutograd [math kernel], stale, the rules give a fallthrough" in line
    status, out, err = command("export", "stale::f", "-o", str(tmp_path / "x.dkt"), *load)
    assert (status, out) == (1, "")
    assert err.startswith("dispatchkey.torch: stale::f: PyTorch's table differs from the rules:\n")
    status, out = replayed(tmp_path / "x.dkt")
    assert status == 1 and " [math kernel]\n" in out
    status, out, _err = command("check", "--only", "long::*", *load)
    assert status == 1 and out.startswith(f"long::{130 * 'n'} was not compared: ")
    assert out.endswith("0 operators, 0 entries, 0 differences, 1 not compared\n")


@needs_pytorch
def test_names_that_pytorch_cannot_read(tmp_path):
    """PyTorch registers an operator with any name, but prints only those made of identifiers. Such
    an operator is reported, and does not disturb answers about others. It is the first one that
    is read for fallbacks."""
    path = tmp_path / "unreadable.py"
    path.write_text("""
from torch.library import Library
libraries = [Library("_-lib", "DEF"), Library("mine", "DEF")]
for library in libraries:
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x, "CPU")
""")
    load = ["--load", str(path)]
    why = "PyTorch's own functions cannot read this operator's name: _-lib::f; use only letters, " \
        "digits and _ in names\n"
    status, out, err = command("check", "--only", "*::f", *load)
    assert (status, err) == (1, "")
    assert out.startswith(f"_-lib::f was not compared: {why}1 operator, ")
    assert out.endswith(", 0 differences, 1 not compared\n")
    status, out, err = command("missing", "cuda", "--only", "*::f", *load)
    assert (status, err) == (0, "") and "1 operator\n" in out
    assert f"\n\n_-lib::f was skipped: {why}\nmine::f\n" in out
    page = tmp_path / "page.html"
    status, out, err = command("missing", "cuda", "--only", "*::f", "--csv", "-", "--html",
                               str(page), *load)
    assert (status, err) == (0, f"dispatchkey.torch: note: _-lib::f was skipped: {why}")
    assert len(out.splitlines()) == 2 and "<p>_-lib::f was skipped: PyTorch" in page.read_text()
    for arguments in (["explain", "_-lib::f", "--on", "cpu"], ["export", "_-lib::f"]):
        assert command(*arguments, *load) == (2, "", f"dispatchkey.torch: {why}")
    for name in ("explain", "what-if", "export"):
        status, out, err = command(name, "aten::mm", "--on", "cpu", *load)
        assert (status, err) == (0, "") and out
    status, out, err = command("watch", str(path))
    assert (status, err) == (0, "")
    assert "+ operator mine::f: " in out and out.endswith(f"\n_-lib::f was not compared: {why}")
    assert program(f"""
import sys, torch, dispatchkey.torch as dt
dt._live.load({str(path)!r})
x = torch.ones(1)
try:
    dt.explain(getattr(torch.ops, "_-lib").f, x)
except dt._live.Error as e:
    print(e)
print(dt.explain(torch.ops.mine.f, x).operator)
print([s.operator for found in (dt.check("*::f"), dt.missing("cpu", only="*::f"))
       for s in found.skipped])
with dt.watch() as found:
    pass
print(len(found), [s.operator for s in found.skipped])
""") == f"{why}mine::f\n['_-lib::f', '_-lib::f']\n0 ['_-lib::f']\n"


@needs_pytorch
def test_functions_in_python():
    """PyTorch 1.13 and 2.6 print /dev/null as the place of Python functions; the explanation does
    not. PyTorch 2.14 prints the file and line that make the Library; this file is <string>."""
    text = program(OPERATORS + "print(dt.explain(make(['CPU']) + '::f', TENSORS['inference']))")
    assert "/dev/null" not in text
    line = OPERATORS.split("torch.library.Library(")[0].count("\n") + 1
    place = f"<string>:{line}" if installed_version().startswith("2.14") else "a Python function"
    assert f"  1.  CPU: {place} [kernel]\n" in text
    assert program("""
from dispatchkey.torch import _live
for text in ("/dev/null:3", "<stdin>:1", "/tmp/ipykernel_7/12.py:1", "/usr/bin/train:5", "a b.PY:2",
             "./build/RegisterCPU.cpp:3", "x.CU:12", "registered by RegisterOperators"):
    print(_live.is_in_python(_live.label(f"registered at {text}")), end=" ")
""") == "True True True True True False False False "


# Registers functions at the keys of one list of KEYS, and calls the operator with tensors of one
# kind, in one mode.
REAL_CALLS = OPERATORS + """
import contextlib
from dispatchkey import Schema
c = torch._C
DONE = torch.ones(1)
KEYS = (["AutocastCPU", "AutogradCPU", "CPU"], ["Autograd", "CPU"], ["CPU", "Meta"],
        ["ADInplaceOrView", "CPU"], ["AutogradCPU", "SparseCPU"], ["AutogradMeta", "CPU"],
        [EXPLICIT, "AutocastCPU"], [IMPLICIT, "AutocastCPU"], ["Autograd", EXPLICIT],
        ["CompositeExplicitAutogradNonFunctional", "AutogradOther"])
KINDS = {"cpu": lambda: torch.ones(2, 2), "inference": lambda: TENSORS["inference"],
         "grad": lambda: torch.ones(2, 2, requires_grad=True),
         "meta": lambda: torch.ones(2, 2, device="meta"), "sparse": lambda: TENSORS["sparse"]}
MODES = {"": contextlib.nullcontext, "no_grad": torch.no_grad,
         "inference_mode": torch.inference_mode, "autocast": lambda: torch.autocast("cpu")}
VALUES = {"Tensor": None, "int": 1, "SymInt": 1, "bool": True, "float": 1.0, "Scalar": 1,
          "int[]": [0], "SymInt[]": [2]}

def runtime(key):
    return {"Autograd": "AutogradCPU"}.get(key, key)

def arguments(schema, tensor):
    '''Returns values for arguments without a default; None if VALUES lacks one of the types.'''
    required = [a for a in schema.arguments if a.default is None and not a.keyword_only]
    types = [a.type.split("(")[0] for a in required]
    return None if any(a.keyword_only and a.default is None for a in schema.arguments) or \\
        "Tensor" not in types or not set(types) <= set(VALUES) else \\
        [tensor if t == "Tensor" else VALUES[t] for t in types]

def register(library, op, name, keys):
    '''Registers functions that note their key and, except at backends, redispatch. Returns the
    keys that PyTorch accepts.'''
    accepted = []
    # PyTorch calls is_nonzero and item to convert a tensor to their own results.
    done = {"aten::is_nonzero": True, "aten::item": 1}.get(f"{library.ns}::{name}", DONE)
    for key in keys:
        def function(*args, key=key, **kwargs):
            entered.append(key)
            below = [k for k in ("AutocastCPU", "AutogradCPU", "AutogradMeta", "ADInplaceOrView")
                     if key in (k, "Autograd")]
            if not below:
                return done
            seen = c.DispatchKeySet(c._dispatch_key_parse(below[0]))
            for k in below[1:] if key == "Autograd" else []:
                if k != "ADInplaceOrView":
                    seen = seen | c.DispatchKeySet(c._dispatch_key_parse(k))
            guard = c.ExcludeDispatchKeyGuard(seen)
            try:
                return op(*args, **kwargs)
            finally:
                del guard
        try:
            library.impl(name, function, key)
            accepted.append(key)
        except RuntimeError:
            pass            # at Meta, beside an implicit function or another one in Python
    return accepted

def compare(number, name, op, schema, kind, mode, keys):
    '''Returns how many functions were explained and how many were entered; None if this is not
    known; a text if they differ.'''
    args = arguments(schema, KINDS[kind]())
    if args is None:
        return None
    library = torch.library.Library("aten", "IMPL")
    keys = register(library, op, name.split("::")[1], keys)
    with MODES[mode]():
        call = dt.explain(name, *args)
        entered.clear()
        try:
            op(*args)
        except Exception:
            pass            # PyTorch refuses some of the arguments, and some of the results
    del library
    # PyTorch has functions in Python at other keys. The place of a stale one has the key, too.
    path = [hop.registered_at if dt._live.is_in_python(hop.where.split(" at ")[0]) and
            hop.registered_at in keys else None for hop in call.hops]
    if any(" may still " in s for s in call.stale):
        return None
    foreign = path.index(None) if None in path else len(path)
    known = path[:foreign]
    same = entered[:foreign] == known and (foreign < len(path) or len(entered) == foreign)
    text = f"{name} {kind} {mode} {keys}: entered {entered}, explained {path} {call.stale}"
    return (len(known), len(entered)) if same else text

# PyTorch 2.6 crashes in gru_cell with tensors on meta.
LEFT_OUT = () if dt._live.release() == "1.13" else ("aten::gru_cell",)

def compare_all(every, at_most):
    names = [n for n in dt.operators() if n.startswith("aten::") and not n.startswith("aten::_")
             and n not in LEFT_OUT]
    number, functions, wrong = 0, 0, []
    combinations = itertools.cycle(itertools.product(KEYS, KINDS, MODES))
    # 61 has no common divisor with the number of combinations
    for i, name in enumerate(names[::every]):
        space, base = name.split("::")
        base, _, overload = base.partition(".")
        try:
            op = getattr(getattr(torch.ops.aten, base), overload or "default")
        except (AttributeError, RuntimeError):
            continue
        schema = Schema(dt._live.Operator.read(name).schema)
        keys, kind, mode = next(itertools.islice(combinations, 60, None))
        result = compare(i, name, op, schema, kind, mode, keys)
        if isinstance(result, str):
            wrong.append(result)
        elif result:
            number += result[0] > 0
            functions += result[0]
        if number == at_most:
            break
    return number, functions, wrong
"""


@needs_pytorch
def test_real_calls_of_operators():
    """Calls of PyTorch's operators enter the explained functions: at least 20 operators, or 200
    with DK_TORCH=all."""
    every, enough = (1, 200) if ALL else (20, 20)
    # PyTorch prints warnings about some arguments to standard error.
    status, out, _err = python(REAL_CALLS + f"""
number, functions, wrong = compare_all({every}, 1000)
print(number >= {enough}, functions > number, *wrong[:20], sep="\\n")
""", timeout=500)
    assert (status, out) == (0, "True\nTrue\n")


@needs_pytorch
def test_real_calls_with_functions_at_every_key():
    """Operators of a new namespace, where each function on the path records its key."""
    rounds, enough = (60, 800) if ALL else (12, 150)
    assert python(f"{REAL_CALLS}rounds, enough = {rounds}, {enough}\n" + """
import random
choice, number, longest, wrong = random.Random(1), 0, 0, []
for i in range(rounds):
    keys = choice.sample(["AutocastCPU", "AutogradCPU", "Autograd", "ADInplaceOrView", "CPU",
                          "Meta", "SparseCPU", EXPLICIT, IMPLICIT, "AutogradMeta"],
                         choice.randrange(2, 8))
    space = make([])
    op = getattr(torch.ops, space).f
    register(libraries[-1], op, "f", keys)
    for kind in KINDS:
        for mode in MODES:
            tensor = KINDS[kind]()
            with MODES[mode]():
                call = dt.explain(f"{space}::f", tensor)
                entered.clear()
                try:
                    op(tensor)
                except RuntimeError:
                    pass                # no function at the last key
            if any(" may still " in s for s in call.stale):
                continue
            # Fallbacks do not record their keys.
            path = [hop.registered_at for hop in call.hops if hop.where and not is_fallback(hop)]
            number += 1
            longest = max(longest, len(path))
            if entered != path:
                wrong.append(f"{keys} {kind} {mode}: entered {entered}, explained {path}")
print(number > enough, longest > 2, *wrong[:20], sep="\\n")
""", timeout=300)[:2] == (0, "True\nTrue\n")


@needs_pytorch
def test_the_operator_that_a_function_calls():
    """The name equals that of PyTorch's profiler. The overload equals that of a dispatch mode,
    which runs below autograd."""
    assert program("""
import torch, torch.nn.functional as F, dispatchkey.torch as dt
from torch.utils._python_dispatch import TorchDispatchMode
class First(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        seen.append(dt._which._full_name(func))
        return func(*args, **(kwargs or {}))
x, i, v = torch.ones(2, 2), torch.tensor([0, 1]), torch.ones(1, 2, 4, 4)
same = 0
for function, *args in (
        (torch.Tensor.view, x, 4), (torch.Tensor.view, x, torch.int32), (torch.Tensor.to, x, "cpu"),
        (torch.Tensor.to, x, torch.float64), (torch.Tensor.to, x, x), (torch.zeros, 2),
        (torch.rand, 2), (torch.empty, 2, 3), (torch.ones, (2, 3)), (x.view, 2, 2), (x.view, 4),
        (x.reshape, 4), (x.permute, 1, 0), (x.mm, x), (x.add, x), (x.add, 2), (x.add_, x),
        (torch.add, x, x), (torch.mul, x, 2.5), (torch.matmul, x, x), (torch.cat, [x, x]),
        (torch.sum, x), (torch.sum, x, 0), (x.sum, (0, 1)), (torch.pow, x, 2), (torch.pow, 2, x),
        (torch.where, x > 0, x, x), (torch.clamp, x, 0, 1), (torch.clamp, x, x, x),
        (torch.index_select, x, 0, i), (x.__getitem__, 0), (x.__getitem__, i), (x.split, 1),
        (torch.Tensor.__add__, x, 1), (torch.Tensor.__rsub__, x, 1), (x.__lt__, 2),
        (torch.einsum, "ij,jk", x, x), (F.linear, x, x), (F.relu, x), (F.softmax, x, 0),
        (F.conv2d, v, v), (F.max_pool2d, v, 2), (F.gelu, x), (torch.fft.fft, x), (x.max, 0),
        (torch.max, x), (torch.max, x, x), (torch.linalg.norm, x), (torch.special.expm1, x),
        (torch.arange, 3), (torch.arange, 1, 3), (torch.full, (2,), 1.5), (torch.eye, 3),
        (torch.norm, x), (torch.prod, x), (x.new_zeros, 2), (x.fill_, 2),
        (x.fill_, torch.tensor(2.0)), (x.t,), (x.transpose, 0, 1), (x.expand, 2, 2),
        (torch.ones(1).item,), (torch.ops.aten.add, x, 2), (torch.ops.aten.mm.default, x, x),
        ("aten::add.Tensor", x, 2)):
    name = dt.explain(function, *args).operator
    if isinstance(function, str):
        function = dt._which._overload_of(function)
    with torch.autograd.profiler.profile() as events:
        function(*args)
    seen = []
    with First():
        function(*args)
    first = min(events.function_events, key=lambda e: (e.time_range.start, -e.time_range.end))
    if first.name != name.split(".")[0]:
        print(function, name, "and the profiler has", first.name)
    if seen and seen[0].split(".")[0] == first.name:
        same += 1
        if seen[0] != name:         # of operators that call no other one
            print(function, name, "and the mode has", seen[0])
print(same > 30)
""") == "True\n"


@needs_pytorch
def test_functions_are_not_called():
    """An explanation changes no tensor and draws no random number."""
    assert program("""
import torch, dispatchkey.torch as dt
x, before = torch.ones(2, 2), torch.get_rng_state()
for function, *args in ((x.add_, x), (x.zero_,), (torch.rand, 2), (x.resize_, 9), (x.uniform_,),
                        (torch.ops.aten.add_.Tensor, x, x), ("aten::zero_", x),
                        (torch.relu_, x), (torch.add, x, x)):
    dt.explain(function, *args)
dt.explain(torch.add, x, x, out=x)
print(x.tolist(), torch.equal(before, torch.get_rng_state()), x.requires_grad)
print(torch.add(x, x).tolist(), torch.ops.aten.mm(x, x).tolist())
""") == "[[1.0, 1.0], [1.0, 1.0]] True False\n[[2.0, 2.0], [2.0, 2.0]] [[2.0, 2.0], [2.0, 2.0]]\n"


@needs_pytorch
def test_what_is_no_call_of_pytorch():
    assert program("""
import torch, dispatchkey.torch as dt
x = torch.ones(2, 2)
def mul(a, b):
    return a * b
for function, *args in ((mul, x, x), ("aten::mm", x, None), ("aten::add.Tensor", "str", x),
                        (torch.add, x, "s"), (torch.ops.aten.mm.default, x, None), (3, x),
                        (torch.set_num_threads, 1), (x.requires_grad_,), (torch.add, x),
                        (torch.zeros, 2, torch.tensor(3))):
    try:
        dt.explain(function, *args)
    except TypeError as e:
        # PyTorch 2 also prints default values in its message.
        print(str(e).replace("alpha = 1", "alpha").replace("out = None", "out"))
""") == """\
mul is not an operator, function or method of PyTorch: name the operator that it calls, such as \
"aten::add.Tensor"
aten::mm() needs a tensor for argument 'mat2', but None is given
aten::add.Tensor does not take these arguments: aten::add() Expected a value of type 'Tensor' for \
argument 'self' but instead found type 'str'.
add does not take these arguments: add(): argument 'other' (position 2) must be Tensor, not str
aten::mm() needs a tensor for argument 'mat2', but None is given
an object of type int is not an operator, function or method of PyTorch: name the operator that \
it calls, such as "aten::add.Tensor"
set_num_threads is not an operator, function or method of PyTorch: name the operator that it \
calls, such as "aten::add.Tensor"
requires_grad_ calls no operator with these arguments
add does not take these arguments: add() received an invalid combination of arguments - got \
(Tensor), but expected (Tensor input, Tensor other, *, Number alpha, Tensor out)
zeros reads a number from a tensor before it calls its operator: pass the number itself
"""


@needs_pytorch
def test_tensors_that_are_made():
    """After BackendSelect, the path continues at the backend of the arguments."""
    assert program(OPERATORS + """
library, in_python = torch.library.Library("aten", "IMPL"), set()
done = torch.ones(1)
for name in ("eye", "arange", "linspace", "_to_copy", "is_pinned"):
    for key in ("CPU", "Meta", "CUDA", "SparseCPU"):
        def function(*args, key=key, is_pinned=name == "is_pinned", **kwargs):
            entered.append(key)
            return is_pinned or done
        try:
            library.impl(name, function, key)
        except RuntimeError:        # PyTorch has one in Python, which makes a tensor on meta
            in_python.add((name, key))
x = torch.ones(2)
for function, args, options in (
        (torch.eye, [3], {}), (torch.eye, [3], {"device": "meta"}),
        (torch.ops.aten.arange, [3], {"device": "cuda", "dtype": torch.int32}),
        (torch.ops.aten.linspace, [0, 1, 3], {"device": torch.device("cuda", 1)}),
        (torch.ops.aten.eye, [3], {}), (torch.ops.aten._to_copy, [x], {}),
        (torch.ops.aten._to_copy, [x], {"device": "cuda"}),
        (torch.ops.aten._to_copy, [x], {"layout": torch.sparse_coo}),
        (torch.ops.aten._to_copy, [TENSORS["meta"]], {}), (x.is_pinned, [], {})):
    call = dt.explain(function, *args, **options)
    entered.clear()
    try:
        result = function(*args, **options)
    except RuntimeError as e:
        print(e)
    hops = [hop.key.name for hop in call.hops]
    if (call.operator.split("::")[1], hops[-1]) in in_python:
        entered.append(hops[-1] if result.device.type == "meta" else "another device")
    # PyTorch 2.6 has no function of is_pinned at BackendSelect.
    selects = "\\nBackendSelect: " in torch._C._dispatch_dump(call.operator)
    if ("BackendSelect" in hops) != selects or not selects and function != x.is_pinned or \
            entered[:1] != hops[-1:]:
        print(function, call.operator, "entered", entered, "explained", hops)
print([hop.key.name for hop in dt.explain(torch.eye, 3, device="cuda:1").hops])
print({*in_python} <= {("arange", "Meta"), ("eye", "Meta"), ("linspace", "Meta")})
""") == "['BackendSelect', 'CUDA']\nTrue\n"
    for device, end in (([], "CPU"), (["--on", "meta"], "Meta")):
        status, out, _err = command("explain", "aten::empty.memory_format", *device)
        assert status == 0 and f"\n  2.  {end}: ./build/aten/src/ATen/Register" in out
        assert f"arguments dtype, layout and device select: {end}.\n" in out


@needs_pytorch
def test_the_key_of_a_tensor_that_is_made():
    """The arguments layout and dtype count even without a device. The device is the tensor's,
    although the function is run with a copy without data."""
    assert program("""
import torch, dispatchkey.torch as dt
x, meta = torch.ones(2, 2), torch.ones(2, device="meta")
for call in (dt.explain(torch.ops.aten.empty.memory_format, [2], layout=torch.sparse_coo),
             dt.explain(torch.ops.aten.empty.memory_format, [2], dtype=torch.qint8),
             dt.explain(torch.ops.aten.empty.memory_format, [2], dtype=torch.float64),
             dt.explain(x.new_tensor, [1.]), dt.explain(meta.new_tensor, [1.]),
             dt.explain(x.new_tensor, [1.], device="meta")):
    print(call.hops[-1].key.name)
""").split() == ["SparseCPU", "QuantizedCPU", "CPU", "CPU", "Meta", "Meta"]


@needs_pytorch_1_13
def test_an_included_backend_does_not_make_tensors():
    """An operator without tensors is redispatched with the key of its arguments alone."""
    assert program(OPERATORS + """
library = torch.library.Library("aten", "IMPL")
for key in ("CPU", "Meta"):
    library.impl("eye", lambda *args, key=key, **kwargs: entered.append(key) or torch.ones(1), key)
torch._C._add_meta_to_tls_dispatch_include()
call = dt.explain(torch.ops.aten.eye, 2)
entered.clear()
torch.ops.aten.eye(2)
print(entered, [hop.key.name for hop in call.hops])
""") == "['CPU'] ['BackendSelect', 'CPU']\n"


@needs_pytorch
def test_arguments_that_are_not_dispatched_on():
    assert program(OPERATORS + """
x = TENSORS["cpu"]
for schema, args in (("(Tensor[] a, Tensor[][] b) -> Tensor", ([x], [[x.to_sparse()]])),
                     ("(Tensor a, Tensor[]? b=None) -> Tensor", (x, [x.to_sparse()]))):
    space = make(["CPU", "SparseCPU"], schema)
    call = dt.explain(getattr(torch.ops, space).f, *args)
    print(first_of(space, *args), call.hops[-1].key.name)
""") == "CPU CPU\nCPU CPU\n"


@needs_pytorch
def test_inference_tensors_of_all_kinds():
    for kind in ("mkldnn", "sparse_csr"):
        status, out, _err = command("what-if", "aten::add.Tensor", "--on", kind, "--on", kind,
                                    "--if", "inference")
        assert status == 0
        path = re.search(r"^inference +(\S.*\S)  +without", out, re.M)[1]
        status, out, _err = command("explain", "aten::add.Tensor", "--on", f"{kind},inference",
                                    "--on", f"{kind},inference")
        assert re.findall(r"^  \d\.  (\w+): ", out, re.M) == path.split(" > "), kind


@needs_pytorch
def test_threads_explain():
    assert program("""
import threading, torch, warnings, dispatchkey.torch as dt
x, found = torch.ones(2, 2), set()
dt.explain(torch.einsum, "ij,jk->ik", x, x)
filters = list(warnings.filters)
def repeat():
    for _ in range(100):
        try:
            found.add(dt.explain(torch.einsum, "ij,jk->ik", x, x).operator)
        except Exception as e:
            found.add(str(e))
threads = [threading.Thread(target=repeat) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*sorted(found), warnings.filters == filters)
""") == "aten::einsum True\n"


@needs_pytorch
def test_a_function_of_autograd_skips_the_other_autograd_keys():
    """Of two autograd keys, only the function at the higher one is entered."""
    assert program(OPERATORS + """
csr, x = torch.eye(2).to_sparse_csr(), torch.ones(2, 2)
library = torch.library.Library("aten", "IMPL")
library.impl("relu", lambda *args: entered.append("AutogradCPU"), "AutogradCPU")
library.impl("relu", lambda *args: entered.append("NestedTensorCPU"), "NestedTensorCPU")
library.impl("mm", lambda *args: entered.append("AutogradOther"), "AutogradOther")
library.impl("mm", lambda *args: entered.append("SparseCsrCPU"), "SparseCsrCPU")
for function, *args in (torch.relu, TENSORS["nested"]), (torch.mm, csr, x):
    call = dt.explain(function, *args)
    entered.clear()
    try:
        function(*args)
    except RuntimeError:
        pass            # the functions here return nothing
    print([hop.key.name for hop in call.hops], entered)
""") == """\
['AutogradNestedTensor', 'NestedTensorCPU'] ['NestedTensorCPU']
['AutogradCPU', 'SparseCsrCPU'] ['SparseCsrCPU']
"""


@needs_pytorch
def test_functions_that_do_not_redispatch():
    """The path ends where a mode, a subclass, functorch or functionalization takes over."""
    assert program(OPERATORS + """
import functorch
from functorch.experimental import functionalize
from torch.utils._python_dispatch import TorchDispatchMode
class Wrapper(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        entered.append("class")
        return torch.ones(1)
class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        entered.append("mode")
        return torch.ones(1)
library = torch.library.Library("aten", "IMPL")
for key in "CPU", "FuncTorchGradWrapper":
    library.impl("sin", lambda a, key=key: entered.append(key) or torch.ones(1), key)
def show(tensor):
    call = dt.explain("aten::sin", tensor)
    entered.clear()
    torch.sin(tensor)
    print([hop.key.name for hop in call.hops], entered)
    print(*(line for line in str(call).splitlines() if "not follow" in line))
    return tensor.sum()
show(torch.Tensor._make_wrapper_subclass(Wrapper, (2,)))
with Mode():
    show(torch.ones(2))
functorch.grad(show)(torch.ones(2))
functionalize(show)(torch.ones(2))
a = dt.explain("aten::sin", torch.ones(2))
with Mode():
    b = dt.explain("aten::sin", torch.ones(2))
found = dt.diff(a, b)
print([str(row).split(":")[0] for row in found.rows], str(found).splitlines()[-1] == b.note)
""") == """\
['PythonTLSSnapshot', 'AutogradCPU', 'Python'] ['class']
Python calls __torch_dispatch__ of the mode or of the tensor's class, which this path does not \
follow.
['PythonTLSSnapshot', 'AutogradCPU', 'Python'] ['mode']
Python calls __torch_dispatch__ of the mode or of the tensor's class, which this path does not \
follow.
['FuncTorchDynamicLayerFrontMode'] ['CPU']
FuncTorchDynamicLayerFrontMode calls operators with other keys, which this path does not follow.
['FuncTorchDynamicLayerFrontMode'] ['CPU']
FuncTorchDynamicLayerFrontMode calls operators with other keys, which this path does not follow.
['  + PythonTLSSnapshot', '    AutogradCPU', '  + Python'] True
"""


@needs_pytorch
def test_modes_and_subclasses_see_nothing():
    """An explanation calls nothing that a mode or a subclass of the user can observe."""
    assert program("""
import torch, dispatchkey.torch as dt
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
seen = []
class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        seen.append(func)
        return func(*args, **(kwargs or {}))
class Function(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        seen.append(func)
        return func(*args, **(kwargs or {}))
class Subclass(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func)
        return super().__torch_function__(func, types, args, kwargs)
x = torch.ones(2)
y = x.as_subclass(Subclass)
seen.clear()
with Dispatch(), Function(), Function():
    for function, *args in ((torch.add, x, x), (torch.add, y, 2), ("aten::add.Tensor", y, 2),
                            (y.add, y), (torch.ops.aten.add, x, x), (torch.empty, 2)):
        call = dt.explain(function, *args)
    dt.what_if(call)
    print(seen, call.hops[0].key)
    torch.relu(x)
    print(len(seen))        # two of Function, one of Dispatch
with FakeTensorMode():
    a = torch.empty(2)
    call = dt.explain(torch.add, a, a)
    print(call.hops[0].key, [w.change for w in dt.what_if(call) if not w.difference])
    print(type(torch.empty(2)).__name__)
""") == """\
[] PythonTLSSnapshot
3
PythonTLSSnapshot []
FakeTensor
"""


@needs_pytorch
def test_copies_call_the_view():
    """The functions that serve operators *_copy on all backends call the view, and are listed as
    such."""
    assert program("""
import torch, torch.library, dispatchkey.torch as dt
found = dt.missing("privateuseone").by("CompositeExplicitAutogradNonFunctional")
copies = [s.operator for s in found if s.operator.split(".")[0].endswith("_copy")]
print(len(found) > 400, len(copies) > 30, "aten::view_copy" in copies, "aten::add.Tensor" in
      [s.operator for s in found], str(dt.missing("privateuseone")).count("*_copy: the view"))
x = torch.ones(4)
with torch.autograd.profiler.profile() as events:
    torch.view_copy(x, [2, 2])
print([event.name for event in events.function_events][:3])
""") == "True True True True 1\n['aten::view_copy', 'aten::view', 'aten::clone']\n"


@needs_pytorch_1_13
def test_a_backend_of_the_local_state(tmp_path):
    """PyTorch up to 2.4 skips what falls through for the arguments' backend, not for the backend
    that the local state adds."""
    assert program(OPERATORS + f"""
c = torch._C
space = make(["CPU", "Meta"])
class IPU(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        entered.append("Python")
        return torch.ones(1)
ipu = torch.Tensor._make_wrapper_subclass(IPU, (2,), device="ipu")
library = c._dispatch_library("IMPL", "_", "AutogradMeta")
library.fallback_fallthrough()
calls = []
def show(tensor):
    call = dt.explain(f"{{space}}::f", tensor)
    calls.append(call)
    entered.clear()
    try:
        getattr(torch.ops, space).f(tensor)
    except RuntimeError as e:
        entered.append("a fallthrough" if "fallthrough_kernel was executed" in str(e) else e)
    print([hop.key.name for hop in call.hops], call.hops[-1].where, entered, call.differences)
    print(*call.masked, sep=", ")
c._add_meta_to_tls_dispatch_include()
show(TENSORS["cpu"])
show(ipu)
del library
show(TENSORS["cpu"])
c._remove_meta_from_tls_dispatch_include()
show(TENSORS["cpu"])
with open({str(tmp_path / "x.dkt")!r}, "w") as f:
    f.write(dt.transcript(*calls[2:]))
print([line for line in str(calls[2]).splitlines() if " decides by " in line])
""") == """\
['Meta'] a Python function ['Meta'] ()

['PythonTLSSnapshot', 'AutogradMeta'] a fallthrough, which fails when it is called \
['a fallthrough'] ()
AutogradMeta is not skipped, like AutogradIPU
['Meta'] a Python function ['Meta'] ()
AutogradMeta is skipped, like AutogradCPU
['CPU'] a Python function ['CPU'] ()

["AutogradMeta is skipped, like AutogradCPU: PyTorch 1.13.0a0 decides by the arguments' backend."]
"""
    status, text = replayed(tmp_path / "x.dkt")
    assert status == 0 and text.endswith("every answer is right\n"), text


@needs_pytorch_2
def test_the_backend_that_a_call_is_routed_by():
    """PyTorch 2.6 skips what falls through for the backend that the local state adds."""
    assert program(OPERATORS + """
space = make(["CPU", "Meta", "AutogradCPU"])
libraries[-1].impl("f", torch.library.fallthrough_kernel, "AutogradMeta")
other = make(["CPU", "Meta", "AutogradMeta"])
libraries[-1].impl("f", torch.library.fallthrough_kernel, "AutogradCPU")
torch._C._set_meta_in_tls_dispatch_include(True)
for name in space, other:
    call = dt.explain(f"{name}::f", TENSORS["cpu"])
    print([hop.key.name for hop in call.hops], first_of(name, TENSORS["cpu"]), call.masked)
torch._C._set_meta_in_tls_dispatch_include(False)
print([hop.key.name for hop in dt.explain(f"{space}::f", TENSORS["cpu"]).hops],
      first_of(space, TENSORS["cpu"]))
""") == """\
['Meta'] Meta ()
['AutogradMeta', 'Meta'] AutogradMeta ()
['AutogradCPU', 'CPU'] AutogradCPU
"""


@needs_pytorch
def test_equivalents_of_keysets():
    """The names in the guide's table are equivalent to PyTorch's, as far as a release has these."""
    guide = (TOP / "Documentation/python.rst").read_text()
    table = re.search(r"^in PyTorch +here\n=[= ]+\n(.*?)^===", guide, re.M | re.S)[1]
    rows = dict(re.findall(r"``(\S+)`` +``(.*)``", table))
    assert program(f"""
import torch, dispatchkey as dk, dispatchkey.torch as dt
rows = {rows!r}
DispatchKeySet, parse = torch._C.DispatchKeySet, torch._C._dispatch_key_parse
_dispatch_keyset_full_after = torch._C._dispatch_keyset_full_after
layout, number = dt.layout(), 0
def KeySet(keys):
    return dk.KeySet(keys, layout=layout)
names = ["CPU", "AutogradCPU", "SparseCUDA", "Python", "Meta"]
for name in names:
    for members in ["CPU"], ["CPU", "AutogradCUDA"], ["Python", "Meta"]:
        ours = dict(KeySet=KeySet, key=dk.Key(name, layout), ks=KeySet(",".join(members)))
        ks = DispatchKeySet(parse(members[0]))
        for member in members[1:]:
            ks = ks | DispatchKeySet(parse(member))
        theirs = dict(globals(), key=parse(name), ks=ks)
        for theirs_text, ours_text in rows.items():
            try:
                expected = eval(theirs_text, theirs)
            except AttributeError:          # later releases have it
                expected = None
            found = eval(ours_text, ours)
            if expected is not None:
                number += 1
                if str(found) != str(expected).replace("DispatchKey.", ""):
                    print(theirs_text, expected, found)
# PyTorch 2.14 has all of the names, PyTorch 2.6 has 7 and PyTorch 1.13 has 4.
print(len(rows), number / 15 == {{"1.13": 4, "2.6": 7, "2.14": 8}}[dt._live.release()])
""") == "8 True\n"
