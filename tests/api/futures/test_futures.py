"""Futures: values, exceptions, functions that are called, several futures, and PyTorch's errors."""

from __future__ import annotations

import pickle
import threading
import time

import pytest

import tt
from tt.futures import Future, collect_all, wait_all


def test_a_value_that_another_thread_sets():
    future = Future()
    threading.Timer(0.02, future.set_result, [3]).start()
    assert not future.done()
    assert future.wait() == 3
    assert future.done() and future.value() == 3


def test_functions_are_called_in_order_and_late_ones_at_once():
    future, seen = Future(), []
    for number in range(3):
        future.add_done_callback(lambda done, number=number: seen.append((number, done.value())))
    future.set_result("x")
    future.add_done_callback(lambda done: seen.append(("late", done.value())))
    assert seen == [(0, "x"), (1, "x"), (2, "x"), ("late", "x")]


def test_a_function_that_fails_stops_no_other(caplog):
    future, seen = Future(), []
    future.add_done_callback(lambda done: 1 / 0)
    future.add_done_callback(lambda done: seen.append(1))
    future.set_result(1)
    assert seen == [1] and "ZeroDivisionError" in caplog.text
    assert future.wait() == 1


def test_then_hands_on_values_and_exceptions():
    future = Future()
    doubled = future.then(lambda done: done.wait() * 2).then(lambda done: done.wait() + 1)
    failing = future.then(lambda done: 1 / 0)
    future.set_result(4)
    assert doubled.wait() == 9
    with pytest.raises(ZeroDivisionError):
        failing.wait()


def test_an_exception_is_raised_by_wait_and_value():
    future = Future()
    future.set_exception(KeyError("k"))
    for function in (future.wait, future.value):
        with pytest.raises(KeyError):
            function()
    assert future.then(lambda done: "called nevertheless").wait() == "called nevertheless"


def test_an_exception_as_a_value_is_a_value():
    future = Future()
    future.set_result(ValueError("v"))
    assert isinstance(future.wait(), ValueError)


def test_several_are_done_when_all_are():
    futures = [Future() for _ in range(3)]
    both = collect_all(futures)
    futures[1].set_exception(ValueError("one"))
    futures[2].set_exception(KeyError("two"))
    assert not both.done()
    futures[0].set_result(0)
    with pytest.raises(ValueError, match="one"):
        both.wait()
    with pytest.raises(ValueError, match="one"):
        wait_all(futures)


def test_values_of_several_in_their_order_from_many_threads():
    futures = [Future() for _ in range(50)]
    for number, future in enumerate(futures):
        threading.Thread(
            target=lambda f, n: (time.sleep(n % 3 / 1000), f.set_result(n)), args=(future, number)
        ).start()
    assert wait_all(futures) == list(range(50))
    assert collect_all([]).wait() == [] and wait_all([]) == []


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: Future().value(), RuntimeError, "not completed"),
        (lambda: (f := Future(), f.set_result(1), f.set_result(2)), RuntimeError, "completed again"),
        (
            lambda: (f := Future(), f.set_result(1), f.set_exception(ValueError())),
            RuntimeError,
            "completed again",
        ),
        (lambda: Future().set_exception(3), AssertionError, "3 is of type int, not an Exception"),
        (lambda: Future().then(3), TypeError, "must be callable"),
        (lambda: Future().add_done_callback(None), TypeError, "must be callable"),
        (lambda: collect_all([3]), TypeError, "list of Future"),
        (lambda: wait_all([Future(), None]), TypeError, "list of Future"),
        (lambda: Future(devices=["cpu"]), ValueError, "must have indices"),
        (lambda: pickle.dumps(Future()), RuntimeError, "Can not pickle"),
    ],
)
def test_errors_are_those_of_pytorch(call, error, text):
    with pytest.raises(error, match=text) as caught:
        call()
    assert isinstance(caught.value, tt.errors.TTError)


@pytest.mark.torch
def test_errors_have_the_types_that_pytorch_raises():
    torch = pytest.importorskip("torch")
    for theirs, ours in ((torch.futures, tt.futures),):
        for call in (
            lambda m: (f := m.Future(), f.set_result(1), f.set_result(2)),
            lambda m: m.Future().value(),
            lambda m: m.Future().set_exception(3),
            lambda m: m.Future().then(3),
            lambda m: m.collect_all([3]),
            lambda m: m.Future(devices=["cpu"]),
            lambda m: pickle.dumps(m.Future()),
        ):
            with pytest.raises(Exception) as expected:  # whichever it is
                call(theirs)
            with pytest.raises(expected.type):
                call(ours)
