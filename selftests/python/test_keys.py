# SPDX-License-Identifier: GPL-2.0-only
"""Tests layouts, keys, backends, keysets, translation and schemas."""
import copy
import errno
import gc
import pickle
import threading

import pytest

import dispatchkey as dk
from dispatchkey import Backend, Key, KeySet, Layout, Schema


def refused(function, *args, **kwargs):
    with pytest.raises(dk.Error) as e:
        function(*args, **kwargs)
    return e.value


# ---- keysets -----------------------------------------------------------------------------


def test_sets_from_everything():
    ks = KeySet("CPU|AutogradCPU")
    for same in (KeySet("CPU, AutogradCPU"), KeySet("DispatchKeySet(CPU, AutogradCPU)"),
                 KeySet(Key.CPU, Key.AutogradCPU), KeySet(Key("CPU"), "AutogradCPU"),
                 KeySet(0x1000010001), KeySet("0x1000010001"), KeySet(ks), Key.CPU | "AutogradCPU",
                 "CPU" | Key.AutogradCPU):
        assert same == ks and hash(same) == hash(ks)
    assert KeySet() == KeySet("") and not KeySet() and KeySet("Undefined") == KeySet()


def test_prints_as_pytorch():
    assert str(KeySet("CPU, AutogradCPU")) == "DispatchKeySet(CPU, AutogradCPU)"
    assert str(KeySet()) == "DispatchKeySet()"


@pytest.mark.parametrize("ks", [KeySet(), KeySet("CPU"), KeySet("CPUBit"), KeySet("Dense"),
                                KeySet("CPU, CUDA, Tracer"), KeySet(1 << 63),
                                KeySet("CPU", layout="pytorch-1.13")])
def test_repr_can_be_evaluated(ks):
    assert eval(repr(ks)) == ks
    assert pickle.loads(pickle.dumps(ks)) == ks


@pytest.mark.parametrize("key", [Key.CPU, Key.Autograd, Key(47), Key(48), Key(133),
                                 Key(42, "pytorch-1.13"), Key("AutocastCUDA", "pytorch-1.12")])
def test_repr_of_key_can_be_evaluated(key):
    assert eval(repr(key)) == key


def test_operators():
    a, b = KeySet("CPU, AutogradCPU"), KeySet("CPU, Tracer")
    assert a | b == KeySet("CPU, AutogradCPU, Tracer")
    assert a & b == KeySet("CPU")
    assert a ^ b == KeySet("0x1000000000") | "Tracer"
    assert a - "AutogradCPU" == KeySet("CPU")
    assert str(a - "CPU") == "DispatchKeySet(AutogradCPU)"
    assert "CPU, Tracer" - a == KeySet("Tracer", "CPUBit")
    assert KeySet("CPU") < a and KeySet("CPU") <= a and a > "CPU" and a >= a
    assert not a < a and not a <= b
    assert "CPU" in a and Key.CUDA not in a and "CPU, AutogradCPU" in a
    assert a.isdisjoint("Tracer") and not a.isdisjoint("CPUBit")
    assert (a | "CUDA").without_backend("CPU") == KeySet("CUDA, AutogradCUDA")
    with pytest.raises(TypeError, match="^expected a name as a str, not Key$"):
        a.without_backend(Key.CPU)


def test_minus_leaves_the_backend():
    assert KeySet("CPU") - "CPU" == KeySet("CPUBit")


def test_iteration_is_by_priority():
    assert [k.name for k in KeySet("Tracer, CPU, AutogradCPU")] == ["CPU", "AutogradCPU", "Tracer"]
    assert len(KeySet("Tracer, CPU, AutogradCPU")) == 3


def test_properties():
    ks = KeySet("CUDA, AutogradCUDA, CPU")
    assert ks.highest == Key.AutogradCUDA
    assert ks.functionality == Key.AutogradFunctionality
    assert ks.backend == Backend("CUDA")
    assert ks.backend_key == Key.CUDA
    assert ks.entry == Key.AutogradCUDA.entry
    assert KeySet().highest == Key.Undefined and KeySet().backend is None
    assert str(KeySet("CUDA").fresh()) == \
        "DispatchKeySet(CUDA, ADInplaceOrView, AutogradCUDA, AutocastCUDA)"
    assert str(KeySet("CUDA").fresh(inference=True)) == "DispatchKeySet(CUDA, AutocastCUDA)"
    with pytest.raises(TypeError, match="^inference: expected True or False, not str$"):
        KeySet("CUDA").fresh("no")


def test_sets_never_change():
    with pytest.raises(AttributeError, match="is immutable"):
        KeySet("CPU").bits = 3
    with pytest.raises(AttributeError, match="is immutable"):
        del KeySet("CPU").bits


def test_wrong_words():
    e = refused(KeySet, "CPU, AutogradCUP")
    assert isinstance(e, dk.UnknownName) and isinstance(e, LookupError) and isinstance(e, OSError)
    assert (e.errno, e.reason, e.word) == (errno.EINVAL, "PARSE_SET", "AutogradCUP")
    assert str(e) == \
        "could not parse keyset: AutogradCUP; did you mean AutogradCPU or AutogradCUDA?"
    e = refused(KeySet, "CPU, Autograd")
    assert str(e) == ("an alias key cannot be in a set: Autograd; the keys that it stands for are "
                      'Key("Autograd").stands_for')
    assert e.reason == "ALIAS_KEY"
    refused(KeySet, Key.Autograd)
    refused(lambda: "Autograd" in KeySet("CPU"))
    with pytest.raises(TypeError, match="expected a KeySet, a Key, a Backend or names of keys, "
                                        "not float"):
        KeySet("CPU") | 1.5
    with pytest.raises(TypeError, match="names of keys, not float 1.5$"):
        KeySet(["CPU", 1.5])
    with pytest.raises(TypeError, match=r"not a list of them: pass each as an argument, "
                                        r"KeySet\(\*keys\)"):
        KeySet(["CPU", Key.Tracer])
    assert refused(KeySet, ["CPU", "CUP"]).word == "CUP"
    with pytest.raises(TypeError, match="expected a Key or the name of a key, not float 1.5"):
        Key(1.5)
    with pytest.raises(ValueError, match="not -1"):
        KeySet(-1)
    with pytest.raises(ValueError, match="not 16610 bits"):
        KeySet(10**5000)
    with pytest.raises(ValueError, match=r"one set has layout v1, the other pytorch-1.13: translate"):
        KeySet("CPU") | KeySet("CPU", layout="pytorch-1.13")


def test_errors_can_be_pickled():
    e = refused(KeySet, "CUP")
    again = pickle.loads(pickle.dumps(e))
    assert (str(again), again.reason, again.word) == (str(e), e.reason, e.word)


# ---- keys, backends, layouts -------------------------------------------------------------


def test_keys():
    key = Key.AutogradCUDA
    assert (key.name, str(key), repr(key)) == ("AutogradCUDA", "AutogradCUDA",
                                               "Key('AutogradCUDA')")
    assert (key.kind, key.functionality, key.backend) == \
        ("per-backend", Key("AutogradFunctionality"), Backend("CUDA"))
    assert Key.Tracer.backend is None and Key.Autograd.kind == "alias"
    assert Key.CPU == Key("CPUTensorId") and Key(Key.CPU) == Key.CPU and Key(1).name == "Dense"
    assert "AutogradXLA" in Key.Autograd.stands_for and not Key.Autograd.keyset
    assert Key.Tracer not in Key.Tracer.below and Key.CPU in Key.Tracer.below
    assert (Key.SparseCUDA.device_type, Key.SparseCUDA.tensor_layout) == ("CUDA", "Sparse")
    assert "AutogradCPU" in dir(Key)
    assert {Key.CPU: 1}[Key("CPU")] == 1


def test_wrong_keys():
    e = refused(Key, "AutogradCUP")
    assert (e.reason, e.word) == ("PARSE_KEY", "AutogradCUP")
    assert str(e).endswith("did you mean AutogradCPU or AutogradCUDA?")
    assert refused(Key, 9999).reason == "BAD_KEY"
    assert refused(lambda: Key.Autograd.device_type).reason == "NO_DEVICE_TYPE"
    assert refused(lambda: Key.SparseCsrCPU.tensor_layout).reason == "NO_UNIQUE_LAYOUT"
    with pytest.raises(AttributeError, match="could not parse dispatch key: Foo"):
        Key.Foo
    with pytest.raises(ValueError, match="CPU is a key of layout v1, not of pytorch-1.13"):
        Key(Key.CPU, "pytorch-1.13")
    for kind in (Key, Backend):
        assert refused(kind, "CPU", layout="").reason == "BAD_LAYOUT"


def test_backends():
    b = Backend("CUDA")
    assert (b.name, b.bit_name, str(b), repr(b)) == ("CUDA", "CUDABit", "CUDABit",
                                                    "Backend('CUDA')")
    assert Backend("CUDABit") == b == Backend(b.number)
    assert b.keyset.bits == 2 and str(b.autocast) == "DispatchKeySet(AutocastCUDA)"
    assert str(refused(Backend, "CUDO")) == "could not parse backend: CUDO; did you mean CUDA?"
    assert refused(Backend, 99).reason == "BAD_BACKEND"
    assert Backend(b) == b == Backend(b, "v1")
    with pytest.raises(ValueError, match="^CUDA is a backend of layout v1, not of pytorch-1.13$"):
        Backend(b, "pytorch-1.13")


def test_the_invalid_bit_is_no_backend():
    with pytest.raises(dk.Error, match="no backend of layout v1 has this name: InvalidBit"):
        Backend("InvalidBit")


def test_keys_without_a_comma():
    with pytest.raises(dk.Error, match="could not parse keyset: CUDA; separate keys by a comma"):
        KeySet("CPU CUDA")


def test_layouts():
    names = [layout.name for layout in Layout.all()]
    assert names[:2] == ["v1", "pytorch-2.14"] and "pytorch-1.13" in names
    old = Layout("pytorch-1.13")
    assert Layout("pytorch-1.13.1") is old and Layout(old) is old
    assert Key("ORT", old).name == "ORT"
    assert old.full.layout is old and old.knows >= {"tables", "sets"}
    assert len(Layout().backends) == 16 and Layout().backends[0].name == "CPU"
    assert Layout().functionalities[0] == Key.Dense
    assert Key.Autograd in Layout().keys
    assert "AutogradCPU" in Layout().constant("autograd_dispatch_keyset") | "CPU"
    e = refused(Layout, "pytorch-0.1")
    assert (e.errno, e.reason, e.word) == (errno.ENOENT, "BAD_LAYOUT", "pytorch-0.1")
    assert str(e).startswith("no such layout: pytorch-0.1; the keys of this release are not "
                             "known; layouts are v1, pytorch-2.14, ")
    assert str(refused(Layout, "pytroch-2.6")) == \
        "no such layout: pytroch-2.6; did you mean pytorch-2.6?"
    assert str(refused(Layout, "pytorch-2.11+trimmed")) == \
        "no such layout: pytorch-2.11+trimmed; layouts with a trimmed table are v1, " \
        "pytorch-2.14, pytorch-1.13"
    for name in ("pytorch-1.2", "pytroch-1.2", "pytorch-2.15", "v1.2.1", "torch"):
        assert "did you mean" not in str(refused(Layout, name))
    assert refused(Layout().constant, "no_set").reason == "BAD_CONSTANT"


def test_layout_without_backends():
    """Before PyTorch 1.12, a keyset had no backends."""
    old = Layout("pytorch-1.11")
    assert old.backends == [] and not old.knows
    key = Key("SparseCPU", old)
    assert (key.kind, key.backend, key.device_type) == ("functionality", None, "CPU")
    s = KeySet("CPU|AutogradCPU", layout=old)
    assert s.bits == 0x8000000001 and list(s) == [Key("CPU", old), Key("AutogradCPU", old)]
    assert s.translate("v1").result == KeySet("CPU|AutogradCPU")
    assert refused(old.constant, "autograd_dispatch_keyset").reason == "NO_SETS"


@pytest.mark.parametrize("answer, layout", [
    (KeySet("CPU", layout="pytorch-2.8").fresh, "pytorch-2.8"),
    (lambda: Key("Autograd", "pytorch-2.8").stands_for, "pytorch-2.8"),
    (lambda: Backend("CPU", "pytorch-2.8").autograd, "pytorch-2.8"),
    (lambda: Backend("CPU", "pytorch-2.8").autocast, "pytorch-2.8"),
    (lambda: KeySet("CPU", layout="pytorch-1.9").backend_key, "pytorch-1.9"),
])
def test_sets_that_are_not_known_are_not_empty(answer, layout):
    e = refused(answer)
    assert (e.reason, e.word) == ("NO_SETS", layout)


def test_what_is_known_without_the_sets():
    cpu = KeySet("CPU", layout="pytorch-2.8")
    assert cpu.backend_key == Key("CPU", "pytorch-2.8")
    assert Key("CPU", "pytorch-2.8").stands_for == cpu
    assert Backend("CPU", "pytorch-2.8").keyset.bits == 1


def test_layout_of_your_own():
    text = Layout("pytorch-1.13").describe().replace("pytorch-1.13", "mine")
    mine = Layout.parse(text)
    assert mine.name == "mine" and str(KeySet("CPU", layout=mine)) == "DispatchKeySet(CPU)"
    assert repr(KeySet("CPU", layout=mine)) == "KeySet('CPU', layout='mine')"
    e = refused(Layout.parse, text + "nonsense\n")
    assert e.word.startswith("line ") and e.reason.startswith("LAYOUT_")


def test_copies_and_pickles():
    mine = Layout.parse(Layout("pytorch-1.13").describe().replace("pytorch-1.13", "copied"))
    for thing in (Key.CPU, Backend("CUDA"), KeySet("CPU"), Layout("pytorch-1.13"),
                  Key("ORT", "pytorch-1.13"), Key(47), mine,
                  KeySet("CPU", layout=mine), Key("CPU", mine), Backend("CPU", mine)):
        assert copy.deepcopy(thing) == copy.copy(thing) == thing
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(thing, protocol)) == thing
    assert Layout().name == "v1" and Key.CPU.layout == Layout()


def test_a_pickle_contains_a_layout_of_your_own():
    text = Layout("pytorch-1.13").describe().replace("pytorch-1.13", "pickled")
    found = pickle.dumps(Key("CPU", Layout.parse(text)))
    gc.collect()
    again = pickle.loads(found)
    assert again.name == "CPU" and again.layout.describe() == text


def test_a_copied_schema_has_its_own_memory():
    text = "t::f(Tensor a, int b=1) -> Tensor"
    for again in (copy.copy(Schema(text)), copy.deepcopy(Schema(text)),
                  pickle.loads(pickle.dumps(Schema(text)))):
        assert str(again) == text and again.arguments == Schema(text).arguments


class Slotted(dk.Object):
    __slots__ = ("data",)


def test_a_copied_object_has_its_own_keys():
    thing = Slotted("CPU")
    thing.data, thing.more = [1], 2
    for again in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
        again.keys = "CUDA"
        assert thing.keys == KeySet("CPU") and again.keys == KeySet("CUDA")
        assert (again.data, again.more) == ([1], 2)


def test_threads_make_equal_sets():
    sets = []
    threads = [threading.Thread(target=lambda: sets.extend(
        KeySet("CPU", layout="pytorch-2.4") for _ in range(200))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sets) == 1600 and len(set(sets)) == 1
    assert sets[0] | sets[-1] == sets[0]


def test_compute_key():
    assert dk.compute_key() == Key.CPU
    assert dk.compute_key("qint8", device="CUDA") == Key.QuantizedCUDA
    assert dk.compute_key(tensor_layout="Sparse") == Key.SparseCPU
    assert dk.compute_key(tensor_layout="sparse_coo", device="privateuseone:1") == \
        Key.SparsePrivateUse1
    assert dk.compute_key(device="ORT", layout="pytorch-1.13").name == "ORT"
    for args, word in ((("float33",), "float33"), (("float32", "Dense"), "Dense"),
                       (("float32", None, "QPU"), "QPU")):
        e = refused(dk.compute_key, *args)
        assert isinstance(e, dk.UnknownName) and e.word == word
    assert refused(dk.compute_key, "float32", "Mkldnn", "CUDA").errno == errno.EOPNOTSUPP


def test_translation():
    t = KeySet("CUDA, MTIABit, Tracer").translate("pytorch-1.13")
    assert str(t.result) == "DispatchKeySet(CUDA, Tracer)"
    assert t.result.layout.name == "pytorch-1.13"
    assert [(n.kind, n.name) for n in t.notes] == [("lost", "MTIABit")]
    assert str(t) == "DispatchKeySet(CUDA, Tracer)\nlost MTIABit"
    back = KeySet("ORT", layout="pytorch-1.13").translate("v1")
    assert [n.kind for n in back.notes] == ["renamed", "changed"]
    assert str(back.notes[0]).startswith("renamed ORT -> ")
    assert not KeySet("CPU").translate("pytorch-2.14").notes
    order = KeySet("PrivateUse1|Meta", layout="pytorch-2.0").translate("v1")
    assert [(n.kind, n.name, n.other) for n in order.notes] == [("top", "PrivateUse1", "Meta")]
    assert str(order.notes[0]) == "top PrivateUse1 -> Meta"
    # before PyTorch 1.12, all backends had one key for nested tensors
    joined = KeySet("NestedTensorCPU").translate("pytorch-1.9")
    assert [(n.kind, n.name) for n in joined.notes] == [("lost", "CPUBit"),
                                                        ("changed", "NestedTensor")]
    alone = KeySet("NestedTensor", layout="pytorch-1.9").translate("pytorch-2.6")
    assert [(n.kind, n.name) for n in alone.notes] == [("changed", "NestedTensor"),
                                                       ("alone", "NestedTensor")]


@pytest.mark.parametrize("make", [Key, KeySet, Layout, Backend, dk.Schema, Layout.parse,
                                  Layout().constant, dk.compute_key])
def test_names_are_strings_without_nul(make):
    with pytest.raises(ValueError, match="must not contain a NUL"):
        make("CPU\0CUDA")
    with pytest.raises(TypeError, match="not float"):
        make(1.5)


# ---- schemas -----------------------------------------------------------------------------


def test_schema():
    text = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    s = dk.Schema(text)
    assert str(s) == text and s.full_name == "aten::add.Tensor" and len(s.returns) == 1
    assert s.arguments[2] == dk.Argument("alpha", "Scalar", "1", True)
    assert s.bind((1, 2), {}) == [1, 2, 1] and s.bind((1,), {"other": 2, "alpha": 3}) == [1, 2, 3]
    for args, kwargs, why in (
            ((1, 2, 3), {}, "takes 2 positional arguments but 3 were given"),
            ((1,), {}, "needs a value for argument 'other'"),
            ((1, 2), {"self": 1}, "got two values for argument 'self'"),
            ((1, 2), {"beta": 1}, "has no argument 'beta': its arguments are self, other, alpha")):
        with pytest.raises(TypeError) as e:
            s.bind(args, kwargs)
        assert str(e.value) == f"aten::add.Tensor() {why}"
    e = refused(dk.Schema, "aten::add(Tensor self")
    assert e.reason == "SCHEMA" and e.word


def test_schema_defaults():
    s = dk.Schema('t::f(int a=1, float b=2.5, bool c=True, str d="x", int[] e=[1, 2], '
                  "Tensor? f=None, MemoryFormat g=contiguous_format) -> ()")
    assert s.bind((), {}) == [1, 2.5, True, "x", [1, 2], None, "contiguous_format"]
