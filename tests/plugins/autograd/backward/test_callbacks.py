"""Functions that run at the end of a backward pass: `Variable._execution_engine.queue_callback`."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import tt
from tt import errors
from tt.autograd import Variable

ENGINE = Variable._execution_engine

NESTED = """
import {library} as lib
from {library}.autograd import Variable

engine, order = Variable._execution_engine, []


class Outer(lib.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        {first}
        with lib.enable_grad():
            z = lib.ones(1, requires_grad=True)
            z.register_hook(lambda g: engine.queue_callback(lambda: order.append("inner")))
            (z * 1).sum().backward()
        order.append("inner done")
        engine.queue_callback(lambda: order.append("outer"))
        return g


for _ in range(2):
    x = lib.ones(1, requires_grad=True)
    Outer.apply(x).sum().backward()
    order.append("end")
print(order, lib.is_grad_enabled())
"""


def test_callbacks_run_in_order_when_all_gradients_are_there():
    order = []
    x = tt.ones(2, requires_grad=True)

    def first():
        order.append(("first", x.grad.tolist()))
        ENGINE.queue_callback(lambda: order.append("queued by the first"))

    def hook(gradient):
        ENGINE.queue_callback(first)
        ENGINE.queue_callback(lambda: order.append("second"))

    x.register_hook(hook)
    (x * 2).sum().backward()
    assert order == [("first", [2.0, 2.0]), "second", "queued by the first"]
    (x * 2).sum().backward()
    assert len(order) == 6


def test_what_a_callback_raises_leaves_the_pass_and_the_rest_is_dropped():
    called = []
    x = tt.ones(1, requires_grad=True)

    def fail():
        raise ValueError("boom")

    def hook(gradient):
        ENGINE.queue_callback(fail)
        ENGINE.queue_callback(lambda: called.append(1))

    handle = x.register_hook(hook)
    with pytest.raises(ValueError, match="boom"):
        (x * 1).sum().backward()
    handle.remove()
    (x * 1).sum().backward()
    assert not called


def test_a_pass_that_raises_calls_nothing():
    called = []
    x = tt.ones(1, requires_grad=True)
    y = x * 1

    def fail(gradient):
        raise KeyError("hook")

    y.register_hook(lambda gradient: ENGINE.queue_callback(lambda: called.append(1)))
    x.register_hook(fail)
    with pytest.raises(KeyError, match="hook"):
        y.sum().backward()
    (tt.ones(1, requires_grad=True) * 1).sum().backward()
    assert not called


def test_outside_of_a_pass_and_for_no_function_it_is_refused():
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        ENGINE.queue_callback(print)
    with pytest.raises(errors.ArgumentError, match="takes a function, not int"):
        ENGINE.queue_callback(3)


@pytest.mark.parametrize("first", ['engine.queue_callback(lambda: order.append("early"))', "pass"])
@pytest.mark.torch
def test_each_pass_has_its_own_as_in_pytorch(first):
    pytest.importorskip("torch")
    # In processes of their own, in which no pass was watched before.
    printed = [
        subprocess.run(
            [sys.executable, "-c", NESTED.format(library=library, first=first)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for library in ("tt", "torch")
    ]
    assert printed[0] == printed[1]
    assert "inner" in printed[0]


def test_threads_have_their_own():
    ends = {}

    def run(name):
        x = tt.ones(1, requires_grad=True)
        x.register_hook(
            lambda gradient: ENGINE.queue_callback(
                lambda: ends.setdefault(name, threading.current_thread().name)
            )
        )
        (x * 1).sum().backward()

    threads = [threading.Thread(target=run, args=(str(i),), name=str(i)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == {str(i): str(i) for i in range(4)}


def test_autograd_grad_runs_them_too():
    called = []
    x = tt.ones(1, requires_grad=True)
    y = x * 1
    y.register_hook(lambda gradient: ENGINE.queue_callback(lambda: called.append(1)))
    tt.autograd.grad(y.sum(), x)
    assert called == [1]
