"""Locks and fork: a child process takes every lock that threads of its parent held."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref

import pytest

from tests.processes import printed_by
from tt.core import forks

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

FIRST_CALLS = """
import os, signal, sys, threading, warnings
warnings.simplefilter("ignore")
import tt
from itertools import count

go = threading.Event()
going = True

def first_calls(dtype):
    go.wait()
    while going:
        x = tt.ones(3, 3, dtype=dtype)
        for call in (tt.add, tt.exp, tt.matmul, tt.sum, tt.sort, tt.eq, tt.tanh, tt.erf, tt.lgamma, tt.rand):
            try:
                call(3) if call is tt.rand else call(x)
            except TypeError:
                call(x, x)
        x = tt.ones(3, requires_grad=True)
        (x * x).sum().backward()
        tt.core.dispatch.registry.registry.REGISTRY.invalidate_all()

def child():
    signal.alarm(60)
    x = tt.ones(2, requires_grad=True)
    (x * x + tt.rand(2) * 0).sum().backward()
    tt.library.custom_op("forks::twice", mutates=(), schema="(Tensor a) -> Tensor")(lambda a: a * 2)
    tt.set_default_dtype(tt.float64)
    os._exit(0 if x.grad.tolist() == [2, 2] else 3)

threads = [threading.Thread(target=first_calls, args=(d,)) for d in (tt.float32, tt.float64)]
for thread in threads:
    thread.start()
go.set()
try:
    for number in range(FORKS):
        pid = os.fork()
        if pid == 0:
            try:
                child()
            except BaseException:
                import traceback
                traceback.print_exc()
            os._exit(4)
        print(os.waitpid(pid, 0)[1])
finally:
    going = False
"""


def assert_children_end(processes: int, forks_of_each: int) -> None:
    for _ in range(processes):
        printed = printed_by(FIRST_CALLS.replace("FORKS", str(forks_of_each)))
        assert printed.split() == ["0"] * forks_of_each


def test_children_forked_while_threads_make_first_calls_compute() -> None:
    assert_children_end(processes=2, forks_of_each=10)


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(5))
def test_a_thousand_children_forked_while_threads_make_first_calls_compute(part: int) -> None:
    assert_children_end(processes=10, forks_of_each=20)


def exit_of_child(lock: threading.RLock) -> int:  # type: ignore[valid-type]
    """Fork; return 0 if the child could take the lock."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if lock.acquire(timeout=10) else 3)  # type: ignore[attr-defined]
    return os.waitpid(pid, 0)[1]


def held_by_thread(lock: threading.RLock, seconds: float) -> threading.Thread:  # type: ignore[valid-type]
    held = threading.Event()

    def hold() -> None:
        with lock:  # type: ignore[attr-defined]
            held.set()
            time.sleep(seconds)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    return thread


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_fork_waits_for_who_holds_a_lock(reentrant: bool) -> None:
    lock = forks.fork_safe_lock(reentrant=reentrant)
    thread = held_by_thread(lock, 0.2)
    start = time.monotonic()
    assert exit_of_child(lock) == 0
    assert time.monotonic() - start >= 0.1
    thread.join()
    assert lock.acquire(timeout=1)
    lock.release()


def test_a_lock_that_is_held_too_long_is_new_in_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "PATIENCE", 0.1)
    lock = forks.fork_safe_lock()
    thread = held_by_thread(lock, 1.0)
    assert exit_of_child(lock) == 0
    assert not lock.acquire(blocking=False)  # still the thread's in the parent
    thread.join()


def test_the_thread_that_forks_keeps_the_lock_that_it_holds() -> None:
    lock = forks.fork_safe_lock()
    with lock:
        assert exit_of_child(lock) == 0
        assert lock._is_owned()
    assert not lock._is_owned()


def test_a_lock_that_is_gone_is_forgotten() -> None:
    before = len(forks._LOCKS._refs)
    lock = forks.fork_safe_lock()
    assert len(forks._LOCKS._refs) == before + 1
    del lock
    assert len(forks._LOCKS._refs) == before


def test_a_fork_keeps_no_variable_of_its_callers_alive():
    class Thing:
        pass

    def fork_with(thing):
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
        return weakref.ref(thing)

    gc.disable()
    try:
        left = fork_with(Thing())
        assert left() is None
    finally:
        gc.enable()
