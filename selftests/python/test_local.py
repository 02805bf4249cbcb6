# SPDX-License-Identifier: GPL-2.0-only
"""Tests guards and the local state of threads."""
import copy
import functools
import gc
import pickle
import threading
import weakref

import pytest

import dispatchkey as dk
from dispatchkey import KeySet


def test_include_and_exclude():
    before = dk.local()
    with dk.include("Tracer", dk.Key.CPU):
        assert dk.local().included == before.included | "Tracer" | "CPU"
        with dk.exclude("ADInplaceOrView"):
            assert dk.local().excluded == before.excluded | "ADInplaceOrView"
        assert dk.local().excluded == before.excluded
    assert dk.local() == before


def test_restored_after_an_exception():
    before = dk.local()
    with pytest.raises(KeyError), dk.include("Tracer"), dk.exclude("CPU"), dk.force("CUDA"):
        raise KeyError
    assert dk.local() == before


def test_a_guard_is_a_decorator():
    @dk.include("Tracer")
    def included():
        return "Tracer" in dk.local().included

    assert included() and included() and "Tracer" not in dk.local().included


def test_what_runs_after_its_call_cannot_be_decorated():
    async def coroutine():
        pass

    def generator():
        yield

    async def async_generator():
        yield

    class Late:
        async def __call__(self):
            pass

    for fn in (coroutine, generator, async_generator, Late(), functools.partial(generator),
               functools.partial(Late()), functools.partial(functools.partial(Late()))):
        with pytest.raises(TypeError, match="a guard cannot decorate a generator or an async fun"):
            dk.include("Tracer")(fn)


def test_a_guard_cannot_be_copied():
    for function in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a Guard cannot be copied: make another one, with th"):
            function(dk.include("Tracer"))


GUARDS = [lambda: dk.include("Tracer"), lambda: dk.exclude("CPU"), dk.preserve,
          lambda: dk.force("CUDA", "Tracer"), dk.below_autograd, dk.below_adinplace_or_view,
          dk.skip_functionalize, dk.inference_mode, lambda: dk.autocast("CPU"),
          lambda: dk.set_excluded("Tracer")]


@pytest.mark.parametrize("make", GUARDS)
def test_a_guard_is_used_again(make):
    """In turn, inside itself, and by several threads at once."""
    before, guard = dk.local(), make()
    with guard:
        inside = dk.local()
        with guard:
            assert dk.local() == inside
        assert dk.local() == inside
    assert dk.local() == before
    barrier, seen = threading.Barrier(2), []

    def run():
        with guard:
            barrier.wait(30)
            seen.append(dk.local())
        barrier.wait(30)
        seen.append(dk.local())

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [inside] * 2 + [before] * 2


def test_force_and_preserve():
    with dk.force("CPU", "Tracer"):
        assert dk.local() == (KeySet("CPU"), KeySet("Tracer"))
        with dk.preserve(), dk.include("CUDA"):
            pass
        assert dk.local() == (KeySet("CPU"), KeySet("Tracer"))


def test_named_guards():
    autograd = dk.Layout().constant("autograd_dispatch_keyset")
    with dk.below_autograd():
        assert autograd in dk.local().excluded
    with dk.below_adinplace_or_view():
        assert autograd | "ADInplaceOrView" in dk.local().excluded
    with dk.skip_functionalize():
        assert "Functionalize" in dk.local().excluded
    with dk.inference_mode():
        assert autograd in dk.local().excluded
        assert "ADInplaceOrView" not in dk.local().included
        with dk.inference_mode(False):
            assert "ADInplaceOrView" in dk.local().included
    with dk.autocast("CPU"):
        assert "AutocastCPU" not in dk.local().excluded
        with dk.autocast("CPU", False):
            assert "AutocastCPU" in dk.local().excluded
    with dk.set_excluded("Tracer"):
        assert "Tracer" in dk.local().excluded
    assert "Tracer" not in dk.local().excluded and "AutocastCPU" in dk.local().excluded


def test_each_thread_has_its_own():
    seen = []
    with dk.include("Tracer"):
        thread = threading.Thread(target=lambda: seen.append("Tracer" in dk.local().included))
        thread.start()
        thread.join()
    assert seen == [False]


def test_other_layouts():
    old = dk.Layout("pytorch-1.13")
    assert dk.local(old).included == old.constant("default_included_set")
    with dk.exclude("Tracer", layout=old):
        assert "Tracer" in dk.local(old).excluded and "Tracer" not in dk.local().excluded
    assert dk.local(old).excluded == old.constant("default_excluded_set")


def test_a_local_state_does_not_keep_its_layout():
    text = dk.Layout("pytorch-1.13").describe().replace("pytorch-1.13", "mine")
    mine = dk.Layout.parse(text)
    collected = weakref.ref(mine)
    with dk.exclude("Tracer", layout=mine):
        del mine
        gc.collect()
        assert "Tracer" in dk.local(collected()).excluded
    gc.collect()
    assert collected() is None


def test_wrong_words():
    """Reported where the guard is made."""
    with pytest.raises(dk.UnknownName, match="could not parse keyset: Trecer; did you mean Tracer"):
        dk.include("Trecer")
    for guard in (dk.include, dk.exclude, dk.force, dk.set_excluded):
        with pytest.raises(dk.Error, match="an alias key cannot be in a set: Autograd; "):
            guard("Autograd")
    with pytest.raises(dk.Error, match="^the backend has no autocast key: VE$"):
        dk.autocast("VE")


def test_keys_of_another_layout():
    """Refused, because their numbers are those of other keys in layout v1."""
    with pytest.raises(ValueError, match="^Tracer is a key of layout pytorch-1.13, not of v1$"):
        dk.set_excluded(dk.Key("Tracer", "pytorch-1.13"))
    with pytest.raises(ValueError, match="^Meta is a backend of layout pytorch-1.13, not of v1$"):
        dk.autocast(dk.Backend("Meta", "pytorch-1.13"))


def test_wrong_flags():
    """Refused where the guard is made, also the function below @dk.inference_mode without ()."""
    for guard, name, shown in ((lambda: dk.inference_mode(test_wrong_flags), "inference_mode",
                                "function"),
                               (lambda: dk.autocast("CPU", "no"), "autocast", "str"),
                               (lambda: dk.set_excluded("Tracer", None), "set_excluded",
                                "NoneType")):
        with pytest.raises(TypeError, match=rf"^{name}\(\): expected True or False, not {shown}$"):
            guard()
