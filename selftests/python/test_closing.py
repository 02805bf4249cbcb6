# SPDX-License-Identifier: GPL-2.0-only
"""Tests registries and libraries that are closed while they are called, by other threads, in a
child of fork(), and when a program ends."""
import errno
import threading
import time
from fractions import Fraction

import pytest

import dispatchkey as dk
from conftest import python
from dispatchkey import KeySet


# ---- threads and the end of a program ----------------------------------------------------


@pytest.fixture
def inside():
    """A registry with a thread inside a function that waits for an event."""
    registry, entered, leave = dk.Registry(), threading.Event(), threading.Event()
    registry.define("t::wait(Tensor a) -> ()")

    @registry.impl("t::wait", "CPU")
    def wait(a):
        entered.set()
        assert leave.wait(30)
        return "left"

    results = []
    thread = threading.Thread(target=lambda: results.append(registry.call("t::wait",
                                                                          KeySet("CPU"))))
    thread.start()
    entered.wait(30)
    yield registry, leave, results
    leave.set()
    thread.join(30)
    registry.close()


def test_close_waits_for_calls(inside):
    registry, leave, results = inside
    threading.Timer(0.3, leave.set).start()
    start = time.monotonic()
    registry.close()
    assert time.monotonic() - start > 0.2
    with pytest.raises(dk.Error, match="the registry is closed"):
        registry.call("t::wait", KeySet("CPU"))
    for _ in range(300):
        if results:
            break
        time.sleep(0.01)
    assert results == ["left"]


def test_close_with_a_timeout_names_the_call(inside):
    registry, leave, _results = inside
    with pytest.raises(dk.Timeout) as e:
        registry.close(timeout=0.2)
    assert isinstance(e.value, TimeoutError) and e.value.reason == "STILL_INSIDE"
    assert "t::wait" in str(e.value) and "wait" in e.value.word
    with pytest.raises(dk.Error, match="the registry is closed"):
        registry.route("t::wait", "CPU")
    assert repr(registry) == "<Registry, closed>"
    leave.set()
    registry.close()


def test_a_wrong_timeout(registry):
    for timeout, shown in (("x", "str 'x'"), ([1], "list")):
        with pytest.raises(TypeError) as e:
            registry.close(timeout=timeout)
        assert str(e.value) == ("timeout: expected seconds as a number, or None to wait without a "
                                f"limit, not {shown}")
    for timeout in (-1, float("nan")):
        with pytest.raises(ValueError, match=f"expected seconds, 0 or more, not .*{timeout}"):
            registry.close(timeout=timeout)
    assert registry.operators()
    registry.close(timeout=Fraction(1, 2))


def test_a_long_timeout(registry):
    registry.close(timeout=10 ** 400)


def test_close_from_inside(registry, cpu):
    registry.impl("t::f", "CPU", lambda a, b: registry.close())
    with pytest.raises(dk.Error, match="called from inside a function of the same provider") as e:
        registry.call("t::f", cpu, cpu)
    assert e.value.errno == errno.EDEADLK
    assert registry.route("t::f", cpu)


def test_closing_a_library_from_inside(registry, cpu):
    library = registry.library("t", "IMPL", "CPU")
    library.impl("f", None, lambda a, b: library.close())
    with pytest.raises(dk.Error) as e:
        registry.call("t::f", cpu, cpu)
    assert e.value.errno == errno.EDEADLK
    library.close()
    assert not registry.route("t::f", cpu)


def test_registries_closed_while_they_are_called():
    served = []
    for _ in range(50):
        registry = dk.Registry()
        registry.define("t::f(Tensor a) -> Tensor")
        registry.impl("t::f", "CPU", lambda a: "cpu")

        def call():
            while True:
                try:
                    served.append(registry.call("t::f", KeySet("CPU")))
                except dk.NotServed:
                    pass
                except dk.Error as e:
                    results.append(e.reason)
                    return

        results = []
        threads = [threading.Thread(target=call) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.002)
        registry.close()
        for thread in threads:
            thread.join(30)
        assert len(results) == 2 and set(results) <= {"UNREGISTERED", "NO_OPERATOR",
                                                      "NOT_DEFINED"}
    assert set(served) == {"cpu"}


def test_threads_close_one_registry():
    code = """if True:
        import threading, dispatchkey as dk
        for _ in range(1000):
            registry = dk.Registry()
            registry.define("t::f(Tensor a) -> ()")
            registry.impl("t::f", "CPU", lambda a: 1)
            threads = [threading.Thread(target=registry.close) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert repr(registry) == "<Registry, closed>"
    """
    assert python(code) == (0, "", "")


def test_threads_close_one_library(registry):
    failures = []
    for _ in range(300):
        library, barrier = registry.library("t", "FRAGMENT"), threading.Barrier(2)
        name = library.define("one(Tensor a) -> ()")
        library.impl("one", "CPU", lambda a: 1)

        def close():
            barrier.wait(30)
            try:
                library.close()
            except Exception as e:  # pylint: disable=broad-except
                failures.append(e)

        threads = [threading.Thread(target=close) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert not failures and name not in registry._definitions


def test_a_library_leaves_what_was_defined_again(registry):
    with registry.library("t", "FRAGMENT") as library:
        name = library.define("one(Tensor a) -> ()")
        registry.undefine(name)
        registry.define("t::one(Tensor a, Tensor b) -> ()")
    registry.impl(name, "CPU", lambda a, b: "both")
    assert registry.call(name, KeySet("CPU"), KeySet("CPU")) == "both"


def test_another_thread_defines_what_is_being_undefined(registry, cpu, monkeypatch):
    """The library reads the new declaration, so undefine() must not free it."""
    from dispatchkey._library import lib
    in_c = lib.dk_op_undefine
    thread = threading.Thread(target=registry.define, args=["t::f(Tensor a, int b) -> ()"])

    def undefine(*args):
        result = in_c(*args)
        thread.start()
        thread.join(0.3)
        return result

    monkeypatch.setattr(lib, "dk_op_undefine", undefine)
    registry.undefine("t::f")
    thread.join(30)
    registry.impl("t::f", "CPU", lambda a, b: b)
    assert registry.call("t::f", cpu, 5) == 5


def test_an_exception_anywhere_in_a_call_does_not_keep_a_registry_open():
    """For example an exception of a signal handler. A lost handle must not make close() wait."""
    code = """if True:
        import sys, dispatchkey as dk
        within = ("call", "run", "use", "_operator", "_definition", "__enter__", "__exit__",
                  "<lambda>")
        n = done = 0
        while not done:
            n, registry = n + 1, dk.Registry()
            registry.define("t::f(Tensor a) -> ()")
            registry.impl("t::f", "CPU", lambda a: 1)
            left = n

            def interrupt(frame, event, argument):
                global left
                if frame.f_code.co_name not in within:
                    return None
                frame.f_trace_opcodes = True
                left -= event == "opcode"
                if event == "opcode" and not left:
                    raise KeyboardInterrupt
                return interrupt

            sys.settrace(interrupt)
            try:
                registry.call("t::f", dk.Object("CPU"))
                done = left > 0
            except KeyboardInterrupt:
                sys.settrace(None)
                registry.close(timeout=20)      # while the traceback refers to the frames
            sys.settrace(None)
            registry.close(timeout=20)
        print(n > 100)
    """
    assert python(code) == (0, "True\n", "")


def test_a_child_of_fork_closes_a_registry_that_other_threads_use():
    code = """if True:
        import os, sys, threading, time, warnings, dispatchkey as dk
        warnings.simplefilter("ignore", DeprecationWarning)     # of fork() with threads
        sys.setswitchinterval(1e-5)
        registry, entered, stop = dk.Registry(), threading.Event(), threading.Event()
        registry.define("t::wait(Tensor a) -> ()")
        registry.impl("t::wait", "CPU", lambda a: (entered.set(), stop.wait()))

        def change():
            while not stop.is_set():
                registry.define("t::f(Tensor a) -> ()")
                registry.undefine("t::f")

        threads = [threading.Thread(target=change), threading.Thread(
            target=lambda: registry.call("t::wait", dk.Object("CPU")))]
        for thread in threads:
            thread.start()
        entered.wait()
        for _ in range(50):
            time.sleep(0.001)
            child = os.fork()
            if not child:
                try:
                    registry.define("t::child(Tensor a) -> ()")
                    registry.close(timeout=20)
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        for thread in threads:
            thread.join()
        registry.close()
    """
    assert python(code) == (0, "", "")


PROGRAM = """
import threading, time, dispatchkey as dk
registry = dk.Registry()
registry.define("t::f(Tensor a) -> Tensor")
entered = threading.Event()
"""


@pytest.mark.parametrize("end", [
    "",
    "library = registry.library('t'); library.impl('f', 'CPU', print)",
    "registry.default().define('t::x() -> ()')",
    "registry.impl('t::f', 'CPU', lambda a: registry); registry.call('t::f', dk.KeySet('CPU'))",
    "import sys; registry.impl('t::f', 'CPU', lambda a: sys.exit(0)); "
    "registry.call('t::f', dk.KeySet('CPU'))",
    "registry.impl('t::f', 'CPU', lambda a: (entered.set(), time.sleep(3600)))\n"
    "threading.Thread(target=lambda: registry.call('t::f', dk.KeySet('CPU')), daemon=True)"
    ".start(); entered.wait()",
])
def test_a_program_ends_without_closing(end):
    assert python(PROGRAM + end) == (0, "", "")


def test_what_functions_use_is_freed_at_the_end(tmp_path):
    """For example, a file is written."""
    code = PROGRAM + f"""
out = open({str(tmp_path / "out")!r}, "w", encoding="ascii")
registry.impl("t::f", "CPU", lambda a: out.write("written"))
registry.call("t::f", dk.KeySet("CPU"))
"""
    assert python(code) == (0, "", "")
    assert (tmp_path / "out").read_text(encoding="ascii") == "written"


def test_a_program_ends_while_a_thread_closes_registries():
    code = PROGRAM + """
import sys
sys.setswitchinterval(1e-6)
schemas = [dk.Schema("t::f(Tensor a) -> Tensor") for _ in range(10000)]
def close():
    while True:
        with dk.Registry() as registry:
            registry.define("t::f(Tensor a) -> Tensor")
            entered.set()
threading.Thread(target=close, daemon=True).start()
entered.wait()
"""
    for _ in range(5):
        assert python(code) == (0, "", "")


def test_what_a_call_uses_is_kept_at_the_end():
    code = """
import threading, weakref

def close():
    try:
        registry.close(timeout=0.2)
    except dk.Timeout as e:
        print(e)

weakref.finalize(threading, close)          # the first finalizer, so the last to run
""" + PROGRAM + """
registry.impl('t::f', 'CPU', lambda a: (entered.set(), time.sleep(3600)))
threading.Thread(target=lambda: registry.call('t::f', dk.KeySet('CPU')), daemon=True).start()
entered.wait()
"""
    status, out, err = python(code, MALLOC_PERTURB_="165")
    assert (status, err) == (0, "") and " t::f " in out


def test_ctrl_c_ends_the_wait():
    code = PROGRAM + """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)    # a shell may have ignored it
registry.impl('t::f', 'CPU', lambda a: (entered.set(), time.sleep(3600)))
threading.Thread(target=lambda: registry.call('t::f', dk.KeySet('CPU')), daemon=True).start()
entered.wait()
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    registry.close()
except KeyboardInterrupt:
    print("interrupted")
"""
    assert python(code) == (0, "interrupted\n", "")
