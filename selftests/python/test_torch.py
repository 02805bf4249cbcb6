# SPDX-License-Identifier: GPL-2.0-only
"""Tests explanations of PyTorch's calls: with a recorded PyTorch and, if there is one, with the
installed PyTorch."""
import csv
import importlib.metadata
import importlib.util
import io
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

import dispatchkey as dk
from conftest import BUILD, TOP, run
from dispatchkey.torch import _live, _stale

needs_pytorch = pytest.mark.skipif(importlib.util.find_spec("torch") is None,
                                   reason="no PyTorch for this Python")

ALL = os.environ.get("DK_TORCH") == "all"   # scripts/check-all tests everything, which takes long

FAKE = '''
__version__ = "{version}"

class Tensor:
    def __init__(self, keys="CPU, ADInplaceOrView, AutogradCPU, AutocastCPU"):
        self.keys = keys

def tensor(value):
    return Tensor()

def add(*args): "A function whose name is known."

class _C:
    texts = dict(part.split("\\n", 1) for part in open({recorded!r}).read().split("==== ")[1:])

    def _dispatch_dump(name):
        if name.endswith("."):
            raise RuntimeError("expected ident but found 'eof' here")
        return _C.texts.get("dump " + name, "")
    def _dispatch_dump_table(name): return _C.texts["table " + name]{broken}
    def _dispatch_get_registrations_for_dispatch_key(key):
        return [n[5:] for n in _C.texts if n.startswith("dump ")]
    def _dispatch_get_all_op_names(): return [n[5:] for n in _C.texts if n.startswith("dump ")]
    def _dispatch_has_backend_fallback(key): return False
    def _dispatch_key_parse(name): raise RuntimeError("not recorded")
    def _dispatch_key_name(key): raise RuntimeError("not recorded")
    def _dispatch_num_backends(): return {backends}
    def _get_privateuse1_backend_name(): return "privateuseone"
    def _dispatch_keys(t): return f"DispatchKeySet({{t.keys}})"
    def _dispatch_tls_local_include_set():
        return "DispatchKeySet(BackendSelect, ADInplaceOrView)"
    def _dispatch_tls_local_exclude_set():
        return "DispatchKeySet(AutocastCPU, AutocastXPU, AutocastCUDA)"
'''


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A module torch whose answers were recorded from PyTorch."""
    def make(version="1.13.1+cpu", broken="", file="pytorch-1.13/live.txt",
             layout="pytorch-1.13", more=""):
        recorded = str(TOP / "selftests/vectors" / file)
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch/__init__.py").write_text(
            FAKE.format(version=version, recorded=recorded, broken=broken,
                        backends=len(dk.Layout(layout).backends)) + more)
        monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{TOP}/python")
    return make


def command(*arguments, isolated=False):
    """Runs the command. Returns its status, its output and its messages."""
    done = subprocess.run([sys.executable, *(["-S"] if isolated else []), "-m",
                           "dispatchkey.torch", *arguments], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


def program(code):
    done = subprocess.run([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=120)
    # The profiler of PyTorch 2.14 prints lines about its own start and stop.
    assert re.sub(r"^USDT:.* profiler_(start|stop)\n", "", done.stderr, flags=re.M) == ""
    return done.stdout


def test_explain(fake):
    fake()
    status, out, err = command("explain", "aten::add.Tensor", "--on", "cpu,requires_grad",
                               "--on", "cpu")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "aten::add.Tensor in PyTorch 1.13.1+cpu, layout pytorch-1.13"
    path = out.split("path, if each function redispatches as PyTorch's generated ones do:\n")[1]
    assert [line for line in path.splitlines() if line.startswith("  ") and "rule" not in line] == [
        "  1.  AutogradCPU: ./torch/csrc/autograd/generated/VariableType_2.cpp:16915 "
        "[autograd kernel]",
        "  2.  CPU: ./build/aten/src/ATen/RegisterCPU.cpp:30798 [kernel]"]
    assert "       rule  1  CPU                                    serves: ./build/aten/" in path
    # the rules of each step, once
    assert out.count("rule  7  Autograd                               serves: ./torch/csrc/") == 1
    assert lines[-1] == "PyTorch's table agrees with the rules in 71 entries."
    assert "object       0x" in out and "| object     0x" in out
    status, out, _err = command("explain", "aten::relu", "--on", "privateuseone")
    assert status == 0 and " Undefined " not in out
    assert out.count("       rule  8  -                                      no: this layout lacks "
                     "the alias key\n") == 1


@pytest.mark.parametrize("on, first", [
    (["cpu"], "AutogradCPU"), (["cuda"], "AutogradCUDA"), (["cpu,inference"], "CPU"),
    (["cpu", "cuda"], "AutogradCUDA"), (["cpu,Tracer"], "Tracer"), (["meta,inference"], "Meta"),
    (["cpu,sparse,inference"], "SparseCPU"), (["cpu,zero"], "AutogradCPU"),
    (["cpu,zero,inference"], "ZeroTensor"), (["qint8,inference"], "QuantizedCPU"),
    (["CUDA"], "CUDA"), (["cpu,conj,inference"], "Conjugate"),
    (["cpu,PythonDispatcher"], "PythonDispatcher"),
])
def test_words(fake, on, first):
    fake()
    status, out, _err = command("explain", "aten::add.Tensor",
                                *(word for one in on for word in ("--on", one)))
    assert status == 0
    assert f"\ntop key      {first}\n" in out


@pytest.mark.parametrize("arguments, message", [
    (["aten::ad.Tensor"], "PyTorch has no such operator: aten::ad.Tensor; did you mean "
                          "aten::add.Tensor or aten::add.Scalar?"),
    (["aten::add."], "PyTorch has no such operator: aten::add.; did you mean aten::add.Tensor or "
                     "aten::add.Scalar?"),
    (["aten::add"], "PyTorch has this operator only with an overload: aten::add; its "
                    "overloads are aten::add.Scalar, aten::add.Tensor"),
    (["aten::relu", "--on", "cpuu"],
     "expected a device, a layout, a dtype, a tensor property or a dispatch key: cpuu; "
     "did you mean cpu?"),
    (["aten::relu", "--on", "cpu", "--on", "cpu"],
     "aten::relu dispatches on 1 of its arguments, but 2 are given"),
    (["aten::relu", "--on", "mkldnn,cuda"], "Unsupported device type for mkldnn layout: CUDA"),
    (["aten::relu", "--on", "cpu,cuda"],
     "a tensor has one device, but two are given: CPU and CUDA"),
    (["aten::relu", "--on", "Autograd"], 'an alias key cannot be in a set: Autograd; the keys that it '
                                         'stands for are Key("Autograd").stands_for'),
    (["aten::relu", "--on", "cup"],
     "expected a device, a layout, a dtype, a tensor property or a dispatch key: cup; "
     "did you mean cpu?"),
    (["aten::relu", "--on", "zzzzz"],
     "expected a device, a layout, a dtype, a tensor property or a dispatch key: zzzzz; "
     "devices are cpu, cuda, xpu, mps, meta, privateuseone and 15 others"),
    (["relu"], "PyTorch has no such operator: relu; did you mean aten::relu?"),
    (["torch.add"], "PyTorch has no such operator: torch.add; did you mean aten::add.Tensor or "
                    "aten::add.Scalar?"),
    (["torch::relu"], "PyTorch has no such operator: torch::relu; did you mean aten::relu?"),
    (["torch.nn.functional.relu"], "PyTorch has no such operator: torch.nn.functional.relu; "
                                   "did you mean aten::relu?"),
    ([""], "the name of an operator is empty; use a name such as aten::add.Tensor"),
    (["mine::f"], "PyTorch has no such operator: mine::f; no operator of namespace mine is "
                  "registered: load its library first (on the command line, with --load FILE)"),
    (["atem::relu"], "PyTorch has no such operator: atem::relu; did you mean aten::relu?"),
])
def test_wrong_words(fake, arguments, message):
    fake()
    status, _out, err = command("explain", *arguments)
    assert (status, err) == (2, f"dispatchkey.torch: {message}\n")


@pytest.mark.parametrize("arguments, message", [
    (["diff", "aten::relu", "--on", "cpu"],
     'a second call is missing: use "--to" or "--to-under"'),
    (["diff", "aten::relu", "--on", "cpu", "--to", "cpuu"],
     "expected a device, a layout, a dtype, a tensor property or a dispatch key: cpuu; "
     "did you mean cpu?"),
    (["diff", "aten::relu", "--to-under", "autocst"],
     "expected a mode: autocst; did you mean autocast?"),
    (["explain", "aten::relu", "--under", "cuda"],
     "expected a mode: cuda; use one of no_grad, inference_mode, autocast, vmap"),
    (["what-if", "aten::relu", "--if", "no_gard"],
     "expected a mode, a tensor property or a device: no_gard; did you mean no_grad?"),
    (["what-if", "aten::rel"], "PyTorch has no such operator: aten::rel; did you mean "
                               "aten::relu?"),
])
def test_wrong_words_of_other_commands(fake, arguments, message):
    fake()
    status, out, err = command(*arguments)
    assert (status, out, err) == (2, "", f"dispatchkey.torch: {message}\n")


def rows(out):
    """Returns the lines of a table, by the text in their first column."""
    return {line.split("  ")[0]: line for line in out.splitlines()}


def test_diff_of_devices(fake):
    fake()
    status, out, err = command("diff", "aten::add.Tensor", "--on", "cpu,requires_grad", "--on",
                               "cpu", "--to", "cuda", "--to", "cuda")
    assert (status, err) == (0, "")
    assert out == """\
aten::add.Tensor in PyTorch 1.13.1+cpu
  - a: cpu,requires_grad; cpu
  + b: cuda; cuda

keys that differ:
  arguments  - CPU, AutogradCPU, AutocastCPU
             + CUDA, AutogradCUDA, AutocastCUDA
  effective  - CPU, AutogradCPU
             + CUDA, AutogradCUDA

path, if each function redispatches as PyTorch's generated ones do:
    AutogradCPU, in b AutogradCUDA: ./torch/csrc/autograd/generated/VariableType_2.cpp:16915 \
[autograd kernel]
  - CPU: ./build/aten/src/ATen/RegisterCPU.cpp:30798 [kernel]
  + CUDA: ./build/aten/src/ATen/RegisterCompositeExplicitAutogradNonFunctional.cpp:21389 \
[default backend kernel]

The paths diverge at CPU and CUDA: the functions differ.
"""


@pytest.mark.parametrize("arguments, end", [
    (["--on", "cpu", "--to", "cpu,inference"],
     "The paths diverge at AutogradCPU, which is only in path a."),
    (["--on", "cpu", "--to", "cpu,Tracer"],
     "The paths diverge at Tracer, which is only in path b."),
    (["--on", "cuda", "--to", "hip"], "Both paths have the same functions."),
    (["--to", "cpu,inference"], "The paths diverge at CPU, which is only in path b."),
    (["--to", "cuda,inference"], "Both paths have the same functions."),
])
def test_where_paths_diverge(fake, arguments, end):
    fake()
    status, out, err = command("diff", "aten::add.Tensor", *arguments)
    assert (status, err) == (0, "")
    assert out.splitlines()[-1] == end


def test_diff_of_equal_calls(fake):
    fake()
    status, out, _err = command("diff", "aten::relu", "--on", "cpu", "--to", "cpu,requires_grad")
    assert status == 0 and "\nkeys that differ: none\n" in out


@pytest.mark.parametrize("arguments, redirections, status", [
    ("explain aten::relu --on cpu --svg=", "", 4), ("export aten::relu -o ''", "", 4),
    ("explain aten::relu --on cpu", ">&-", 4), ("--help", ">&-", 4), ("--version", ">&-", 4),
    ("explain aten::nonsense", "2>/dev/full", 2), ("explain --nonsense", "2>/dev/full", 2),
    ("explain aten::nonsense", "2>&-", 2), ("explain --nonsense", "2>&-", 2),
])
def test_files_and_streams_that_cannot_be_written(fake, arguments, redirections, status):
    fake()
    done = subprocess.run(f"{sys.executable} -m dispatchkey.torch {arguments} {redirections}",
                          shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=120)
    assert done.returncode == status
    if "2>" in redirections:
        assert done.stdout == ""
    elif redirections:
        assert done.stderr == "dispatchkey.torch: the output cannot be written: it is closed\n"


def test_a_property_alone_describes_a_tensor_of_the_cpu(fake):
    fake()
    for words in ("neg", "conj,inference"):
        alone = command("explain", "aten::relu", "--on", words)
        named = command("explain", "aten::relu", "--on", f"cpu,{words}")
        assert alone == named and alone[0] == 0
    # a key may be that of another backend
    _status, out, _err = command("explain", "aten::relu", "--on", "SparseCUDA,neg")
    assert "  SparseCUDA, Negative\n" in out.split("arguments")[1]


def test_what_if_devices(fake):
    fake()
    status, out, err = command("what-if", "aten::add.Tensor", "--on", "cpu", "--if",
                               "cuda,meta,privateuseone,vulkan,cpu")
    assert (status, err) == (0, "")
    assert out == """\
aten::add.Tensor in PyTorch 1.13.1+cpu: cpu

what if        path                               difference
               AutogradCPU > CPU
cuda           AutogradCUDA > CUDA                another function at CUDA
meta           AutogradMeta > Meta                another function at Meta
privateuseone  AutogradPrivateUse1 > PrivateUse1  another function at PrivateUse1
vulkan         AutogradOther > Vulkan             with Vulkan; without CPU
cpu            AutogradCPU > CPU                  the same functions
"""


def test_what_if_pytorch_refuses(fake):
    """For a mode that this PyTorch lacks, what-if prints a line, and --under is an error."""
    fake()
    status, out, err = command("what-if", "aten::relu", "--on", "cpu,sparse", "--if",
                               "no_grad,vulkan")
    assert (status, err) == (0, "")
    assert "\nno_grad  -\n           PyTorch refuses no_grad on cpu: module 'torch' has no " \
        "attribute 'no_grad'\n" in out
    assert "there are no tensors of SparseCPU on this device: Vulkan\n" in out
    status, out, err = command("explain", "aten::relu", "--under", "no_grad")
    assert (status, out, err) == (2, "", "dispatchkey.torch: PyTorch refuses no_grad on cpu: "
                                  "module 'torch' has no attribute 'no_grad'\n")


def test_missing(fake):
    fake()
    status, out, err = command("missing", "privateuseone", "--show", "all")
    assert (status, err) == (0, "")
    assert out == """\
PrivateUse1 in PyTorch 1.13.1+cpu: 4 operators

number  served by                               which
     1  CompositeImplicitAutograd               calls other operators, and needs no function
     1  CompositeExplicitAutograd               one function for all backends
     1  CompositeExplicitAutogradNonFunctional  needs the out variant (*_copy: the view)
     1  nothing                                 calls fail

aten::add.Scalar  CompositeExplicitAutograd               ./build/aten/src/ATen/\
RegisterCompositeExplicitAutograd.cpp:6796
aten::add.Tensor  CompositeExplicitAutogradNonFunctional  ./build/aten/src/ATen/\
RegisterCompositeExplicitAutogradNonFunctional.cpp:21389
aten::matmul      CompositeImplicitAutograd               ./build/aten/src/ATen/\
RegisterCompositeImplicitAutograd.cpp:7023
aten::relu        nothing
"""
    assert command("missing", "privateuseone")[1].endswith("\n\naten::relu\n")


def test_missing_functions_of_meta(fake):
    """In PyTorch 2.14 the fallback at Meta fails, so operators that only this fallback serves are
    missing."""
    fake(version="2.14.1+cpu", file="pytorch-2.14/dumps.txt", layout="pytorch-2.14")
    status, out, _err = command("missing", "meta")
    dump = (TOP / "selftests/vectors/pytorch-2.14/dumps.txt").read_text()
    number = dump.count("\nMeta: registered at ./aten/src/ATen/core/MetaFallbackKernel.cpp:")
    assert number == 5 and status == 0
    assert "  fallback " not in out and f"\n{number:6}  nothing " in out
    assert len(out.split("calls fail\n\n")[1].splitlines()) == number


def test_missing_files(fake, tmp_path):
    fake()
    table, page = tmp_path / "x.csv", tmp_path / "x.html"
    status, out, _err = command("missing", "cpu", "--only", "aten::add.*", "--csv", str(table),
                                "--html", str(page), "--show", "none")
    assert status == 0 and "aten::add." not in out
    lines = list(csv.DictReader(table.open()))
    found = {line["operator"]: line for line in lines}["aten::add.Tensor"]
    assert found["served_by"] == "own" and found["autograd_by"] == "Autograd"
    assert found["where"] == "./build/aten/src/ATen/RegisterCPU.cpp:30798"
    assert found["schema"].startswith("aten::add.Tensor(Tensor self, Tensor other, *, ")
    text = page.read_text()
    assert text.count("<tr data-by=") == len(lines) and "<td>./build/aten/" in text
    assert "http" not in text and "-&gt; Tensor" in text


def test_files_named_with_a_minus_are_the_output(fake, tmp_path, monkeypatch):
    fake()
    monkeypatch.chdir(tmp_path)
    status, out, err = command("missing", "cpu", "--only", "aten::add.*", "--csv", "-")
    assert (status, err) == (0, "")
    assert "aten::add.Tensor" in [line["operator"] for line in csv.DictReader(io.StringIO(out))]
    for arguments in (["missing", "cpu", "--only", "aten::add.*", "--html", "-"],
                      ["explain", "aten::relu", "--on", "cpu", "--svg", "-"]):
        status, out, err = command(*arguments)
        assert (status, err, out[0], out.rstrip()[-1]) == (0, "", "<", ">")
    assert command("export", "aten::relu", "-o", "-") == command("export", "aten::relu")
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("words, as_printed", [
    (["aten::relu", "--on", "cpu"], ["aten.relu.default", "--on", "cpu"]),
    (["aten::relu", "--on", "cpu"], ["aten::relu.default", "--on", "cpu:0"]),
    (["aten::add.Tensor", "--on", "cuda", "--on", "cuda,qint8"],
     ["torch.ops.aten.add.Tensor", "--on", "cuda:1", "--on", "torch.qint8,cuda:0"]),
    (["aten::relu", "--on", "cuda,sparse"], ["aten::relu", "--on", "torch.sparse_coo,cuda"]),
    (["aten::relu", "--on", "mkldnn"], ["aten::relu", "--on", "torch._mkldnn"]),
    (["aten::relu", "--on", "strided"], ["aten::relu", "--on", "torch.strided"]),
])
def test_words_as_pytorch_prints_them(fake, words, as_printed):
    fake()
    assert command("export", *words) == command("export", *as_printed)
    assert command("explain", *words)[1] == command("explain", *as_printed)[1]


@pytest.mark.parametrize("arguments, offending", [
    (["aten.nonsense.default"], "aten.nonsense.default"), (["torch.nn.rulu"], "torch.nn.rulu"),
    (["aten::relu", "--on", "cuda:x"], "cuda:x"), (["aten::relu", "--on", "torch.x"], "torch.x"),
    (["aten::relu", "--on", "neg:1"], "neg:1"), (["aten::relu", "--on", "sparse:1"], "sparse:1"),
])
def test_errors_show_the_word_as_it_was_written(fake, arguments, offending):
    fake()
    status, out, err = command("explain", *arguments)
    assert (status, out) == (2, "") and f": {offending}" in err


def test_a_device_with_a_number(fake):
    fake()
    assert command("missing", "cuda:1") == command("missing", "cuda")


def test_load_keeps_modules_of_the_same_name(fake, tmp_path):
    fake()
    mine = tmp_path / "folder" / "json.py"
    mine.parent.mkdir()
    mine.write_text("import json, sys\nassert json.dumps([]) == '[]'\n"
                    "assert sys.modules[__name__].__file__ == __file__\n")
    assert command("explain", "aten::relu", "--on", "cpu", "--load", str(mine)) == \
        command("explain", "aten::relu", "--on", "cpu")


def test_missing_like_another_backend(fake):
    fake()
    all_, like = (command("missing", "privateuseone", "--show", "all", *more)[1]
                  for more in ([], ["--like", "SparseCPU"]))
    assert "aten::relu" in all_ and "aten::add.Tensor" in all_
    assert "aten::relu" not in like and "aten::add.Tensor" in like


@pytest.mark.parametrize("arguments, message", [
    (["cpuu"], "expected a device or the key of a backend: cpuu; did you mean cpu?"),
    (["Tracer"], "expected a device or the key of a backend: Tracer; devices are cpu, cuda, "),
    (["cpu", "--like", "Autograd"], "expected a device or the key of a backend: Autograd; "),
    (["cpu", "--show", "al"], "expected a word of the summary: al; did you mean all?"),
    (["cpu", "--only", "x*"], "no operator of PyTorch matches this pattern: x*"),
])
def test_missing_with_wrong_words(fake, arguments, message):
    fake()
    status, _out, err = command("missing", *arguments)
    assert status == 2 and err.startswith(f"dispatchkey.torch: {message}")
    assert err.count("\n") == 1


def test_missing_for_a_key_or_a_device(fake):
    """A key of another layout stands for the key with its name. A torch.device has a text."""
    fake(more="""
class device:
    def __str__(self):
        return "cpu"
""")
    assert program("""
import torch, dispatchkey as dk, dispatchkey.torch as dt
for backend in dk.Key.CPU, dk.Key.SparseCsrCPU, dk.Key("SparseMeta", dt.layout()), torch.device():
    print(repr(dt.missing(backend, like=dk.Key.CPU).key))
""") == "".join(f"Key('{name}', layout='pytorch-1.13')\n"
                for name in ("CPU", "SparseCsrCPU", "SparseMeta", "CPU"))


@pytest.mark.parametrize("arguments", [["missing", "cpu"], ["check"]])
def test_progress_on_a_terminal(fake, arguments):
    fake()
    terminal, end = pty.openpty()
    done = subprocess.run([sys.executable, "-m", "dispatchkey.torch", *arguments],
                          stdout=subprocess.PIPE, stderr=end, check=True, timeout=120)
    os.close(end)
    text = os.read(terminal, 10000).decode()
    os.close(terminal)
    assert f"\r\x1b[K[{20 * '.'}] 0 of 4 operators" in text and text.endswith("\r\x1b[K")
    assert b"4 operators" in done.stdout


def replayed(path):
    """Runs dkctl replay --check with a transcript. Returns its status and its output."""
    done = run(str(BUILD / "dkctl"), "replay", "--check", str(path))
    return done.returncode, done.stdout


def test_export(fake, tmp_path):
    """dkctl replays the exported transcript without PyTorch, and all answers are right."""
    fake()
    path = tmp_path / "x.dkt"
    status, out, err = command("export", "aten::add.Tensor", "aten::relu", "-o", str(path), "--on",
                               "cpu,requires_grad")
    assert (status, out, err) == (0, "", "")
    status, text = replayed(path)
    assert status == 0 and text.endswith("every answer is right\n")
    text = path.read_text()
    assert "\n> op -s 'aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor' " \
        "-g 'registered at ./build/aten/src/ATen/RegisterSchema.cpp:6' -a FROM_SCHEMA " \
        "aten::add.Tensor\n" in text
    assert "\n> impl -f aten::relu Named ./aten/src/ATen/core/NamedRegistrations.cpp:11\n" in text
    assert text.count("> call -v ") == text.count("> route -v ") == 2
    assert "\n0x12800004001 0x2000004001 AutogradCPU ./torch/csrc/autograd/" in text
    # the answers are compared
    path.write_text(text.replace("CPU: ./build/aten/src/ATen/RegisterCPU.cpp:30798 [kernel]",
                                 "CPU: ./build/aten/src/ATen/Other.cpp:1 [kernel]", 1))
    assert replayed(path)[0] == 1


def test_export_to_standard_output(fake, tmp_path):
    fake()
    status, out, _err = command("export", "aten::matmul")
    assert status == 0 and out.startswith("> layout pytorch-1.13\n> fallback ")
    assert "> call" not in out
    (tmp_path / "x.dkt").write_text(out)
    assert replayed(tmp_path / "x.dkt")[0] == 0


def test_export_of_a_table_that_differs(fake, tmp_path):
    fake(broken='.replace("RegisterCPU.cpp:30798 [kernel]", "Other.cpp:1 [math kernel]")')
    assert command("export", "aten::add.Tensor", "-o", str(tmp_path / "x.dkt"))[0] == 1
    assert replayed(tmp_path / "x.dkt")[0] == 1


@pytest.mark.parametrize("arguments, message", [
    (["aten::add.Tensr"], "PyTorch has no such operator: aten::add.Tensr; did you mean "
                          "aten::add.Tensor or aten::add.Scalar?"),
    (["aten::add.Tensor", "aten::relu", "--on", "cpu", "--on", "cpu"],
     "aten::relu dispatches on 1 of its arguments, but 2 are given"),
])
def test_export_of_what_is_not_there(fake, arguments, message):
    fake()
    assert command("export", *arguments) == (2, "", f"dispatchkey.torch: {message}\n")


def test_watch(fake, tmp_path):
    fake()
    (tmp_path / "backend_of_mine.py").write_text("""
from torch import _C
_C.texts["dump mine::f"] = "name: mine::f\\nschema: mine::f(Tensor a) -> Tensor\\n" \\
    "debug: registered at m.cpp:1\\nalias analysis kind: FROM_SCHEMA\\n" \\
    "CPU: registered at m.cpp:2 :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]\\n" \\
    "Tracer: registered at m.cpp:3 :: (none) [ fallthrough boxed ]\\n"
_C.texts["dump aten::relu"] = _C.texts["dump aten::relu"].replace("RegisterCPU", "Other")
""")
    assert command("watch", "backend_of_mine") == (0, """\
- function of aten::relu at CPU: ./build/aten/src/ATen/RegisterCPU.cpp:30798
+ function of aten::relu at CPU: ./build/aten/src/ATen/Other.cpp:30798
+ operator mine::f: m.cpp:1
+ function of mine::f at CPU: m.cpp:2
+ function of mine::f at Tracer: m.cpp:3, a fallthrough
""", "")
    assert command("watch", "csv")[1] == "nothing was registered\n"
    assert command("watch", "nowhere") == \
        (3, "", "dispatchkey.torch: nowhere cannot be loaded: No module named 'nowhere'\n")


def test_load(fake, tmp_path):
    fake()
    (tmp_path / "backend_of_mine.py").write_text("print('loaded')\n")
    status, out, _err = command("explain", "aten::relu", "--load", "backend_of_mine")
    assert status == 0 and out.startswith("loaded\naten::relu in PyTorch")
    (tmp_path / "backend_that_fails.py").write_text("raise ValueError('no card\\nat all')\n")
    (tmp_path / "ends.py").write_text("raise SystemExit(0)\n")
    for wrong, message in (("nowhere", "No module named 'nowhere'"),
                           ("backend_that_fails", "no card"), ("", "Empty module name"),
                           ("/nowhere.so", "No such file or directory"),
                           ("nowhere.py", "No such file or directory"),
                           (str(TOP / "VERSION"), "module 'torch' has no attribute 'ops'"),
                           (str(tmp_path / "backend_that_fails.py"), "no card"),
                           (str(tmp_path / "ends.py"), "it calls sys.exit(0)")):
        status, out, err = command("explain", "aten::relu", "--load", wrong)
        assert (status, out, err) == \
            (3, "", f"dispatchkey.torch: {wrong} cannot be loaded: {message}\n")


def test_load_by_path(fake, tmp_path, monkeypatch):
    """--load accepts a Python file, which can import files next to it, and a folder."""
    fake()
    folder = tmp_path / "mine"
    (folder / "pack").mkdir(parents=True)
    (folder / "neighbour.py").write_text("NAME = 'neighbour'\n")
    (folder / "my-op.py").write_text("import neighbour\nprint('loaded', neighbour.NAME)\n")
    (folder / "pack/__init__.py").write_text("from . import part\n")
    (folder / "pack/part.py").write_text("print('loaded', __name__)\n")
    monkeypatch.chdir(folder)
    for file, expected in (("./my-op.py", "neighbour"), (str(folder / "my-op.py"), "neighbour"),
                           ("my-op.py", "neighbour"), ("./pack", "pack.part")):
        status, out, err = command("explain", "aten::relu", "--load", file)
        assert (status, err) == (0, "") and out.startswith(f"loaded {expected}\naten::relu ")
    assert command("watch", "./my-op.py")[0] == 0


def test_output_that_cannot_be_written(fake):
    """The status is 4 if the standard output is full, or if a file cannot be created."""
    fake()
    for arguments in (["explain", "aten::relu"], ["--help"], ["--version"], ["missing", "cpu"],
                      ["export", "aten::relu"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = run(sys.executable, "-m", "dispatchkey.torch", *arguments, stdout=full)
        assert (done.returncode, done.stderr) == \
            (4, "dispatchkey.torch: the output cannot be written: No space left on device\n")
    for arguments in (["explain", "aten::relu", "--svg"], ["missing", "cpu", "--csv"],
                      ["missing", "cpu", "--html"], ["export", "aten::relu", "-o"]):
        for file, reason in (("/dev/full", "No space left on device"), ("/", "Is a directory"),
                             ("/nowhere/x", "No such file or directory")):
            status, _out, err = command(*arguments, file)
            assert (status, err) == \
                (4, f"dispatchkey.torch: {file} cannot be written: {reason}\n")


@pytest.mark.parametrize("arguments, message, of", [
    ([], "a command is missing", ""),
    (["explian", "aten::relu"], 'unknown command "explian": did you mean explain?', ""),
    (["zzz"], 'unknown command "zzz": commands are explain, ', ""),
    (["--verison"], 'unknown option "--verison": did you mean --version?', ""),
    (["explain"], "OPERATOR is missing", "explain "),
    (["explain", "aten::relu", "-x"], 'unknown option "-x"', "explain "),
    (["explain", "aten::relu", "--udner=x"], 'unknown option "--udner=x": did you mean --under?',
     "explain "),
    (["explain", "aten::relu", "cpu"], 'unexpected word "cpu"', "explain "),
    (["explain", "aten::relu", "--on"], "--on needs a word", "explain "),
    (["what-if", "aten::relu", "--if"], "--if needs a word", "what-if "),
    (["explain", b"aten::\xff"], r'OPERATOR: "aten::\udcff" is not UTF-8', "explain "),
    (["explain", "aten::relu", "--on", b"\xff"], r'--on: "\udcff" is not UTF-8', "explain "),
    (["what-if", "aten::relu", "--if", b"\xff"], r'--if: "\udcff" is not UTF-8', "what-if "),
    (["missing", b"\xff"], r'BACKEND: "\udcff" is not UTF-8', "missing "),
])
def test_usage(fake, arguments, message, of):
    """An error prints a line with the wrong word, and a line that names the help."""
    fake()
    status, out, err = command(*arguments)
    assert (status, out) == (2, "")
    first, second = err.splitlines()
    assert first.startswith(f"dispatchkey.torch: {message}") and len(first) < 120
    assert second == f"dispatchkey.torch: see python3 -m dispatchkey.torch {of}--help"


def test_help(fake):
    fake()
    status, out, err = command("--help")
    assert status == 0 and "exit status:\n  0  done" in out and err == ""
    for name in re.findall(r"^    ([a-z-]+) +[a-z]", out, re.M):
        status, text, err = command(name, "--help")
        assert status == 0 and err == "" and "exit status:\n  0  done" in text
        assert f"\nexamples:\n  python3 -m dispatchkey.torch {name}" in text
    for module in ("dispatchkey", "dispatchkey.torch"):
        done = run(sys.executable, "-S", "-m", module, "--version")
        assert (done.returncode, done.stdout, done.stderr) == \
            (0, f"dispatchkey {dk.__version__}\n", "")


@pytest.mark.parametrize("arguments", [
    ["explain", "aten::relu"], ["what-if", "aten::relu"], ["diff", "aten::relu", "--to", "cuda"],
    ["missing", "cpu"], ["export", "aten::relu"], ["watch", "csv"], ["check"],
    ["explain", "aten::relu", "--load", "csv"],
])
def test_no_pytorch(arguments):
    status, out, err = command(*arguments, isolated=True)
    assert (status, out) == (3, "")
    assert err == ("dispatchkey.torch: PyTorch cannot be imported (No module named 'torch'): "
                   f"install it for this Python, {sys.executable}\n")


@pytest.mark.parametrize("code, reason", [
    ("raise OSError('libcudart.so: cannot open')", "OSError: libcudart.so: cannot open"),
    ("raise ValueError('two lines\\nof text')", "ValueError: two lines"),
    ("raise ImportError('no numpy.')", "no numpy"),
    ("import a_module_that_is_missing", "No module named 'a_module_that_is_missing'"),
    ("raise RuntimeError", "RuntimeError"),
])
def test_pytorch_that_fails(tmp_path, monkeypatch, code, reason):
    """Any exception of the import is reported in one sentence."""
    (tmp_path / "torch.py").write_text(f"{code}\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{TOP}/python")
    assert command("explain", "aten::relu") == (
        3, "", f"dispatchkey.torch: PyTorch cannot be imported ({reason}): install it again for "
        f"this Python, {sys.executable}\n")


def default_interrupt():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("code", [
    "import time; print('here', flush=True); time.sleep(60)",
    # PyTorch's import replaces KeyboardInterrupt with another exception.
    "import time; print('here', flush=True)\ntry: time.sleep(60)\n"
    "except KeyboardInterrupt: raise RuntimeError('KeyboardInterrupt')",
])
def test_interrupt(tmp_path, monkeypatch, code):
    """Ctrl-C kills a command with SIGINT, without a message. A program gets KeyboardInterrupt."""
    (tmp_path / "torch.py").write_text(f"{code}\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{TOP}/python")
    for arguments, status, message in (
            (["-m", "dispatchkey.torch", "explain", "aten::relu"], -signal.SIGINT, ""),
            (["-c", "import dispatchkey.torch as dt\ntry: dt.operators()\n"
              "except KeyboardInterrupt: print('interrupted')"], 0, "interrupted\n")):
        # a shell without job control starts commands in the background with SIGINT ignored
        # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
        process = subprocess.Popen([sys.executable, *arguments], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=default_interrupt)
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == (message, "")
        assert process.returncode == status


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


def installed_version():
    """Returns the version of this Python's PyTorch without importing it, or None."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


# ---- tests with an installed PyTorch -----------------------------------------------------

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


needs_pytorch_1_13 = pytest.mark.skipif(not (installed_version() or "").startswith("1.13"),
                                        reason="no PyTorch 1.13 for this Python")


needs_pytorch_2 = pytest.mark.skipif((installed_version() or "1").startswith("1."),
                                     reason="no PyTorch 2 for this Python")


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
