"""Backward passes inside of backward passes, thousands deep: they go on in threads that have the state of the first."""

from __future__ import annotations

import contextvars
import gc
import os
import signal
import threading
import time
import traceback
import warnings

import numpy as np
import pytest

import tt
from tests.threads import in_threads
from tt.autograd import forward_ad
from tt.autograd.graph import register_multi_grad_hook, saved_tensors_hooks
from tt.core.types.thread_state import THREAD
from tt.library import TTDispatchMode
from tt.plugins.autograd.record.grad_state import STATE

DEPTH = 150


class Nested(tt.autograd.Function):
    """The identity; its backward runs a pass over another one, until `left` is 0: then it calls `bottom`."""

    @staticmethod
    def forward(ctx, x, left, bottom):
        ctx.left, ctx.bottom = left, bottom
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        if ctx.left == 0:
            ctx.bottom()
            return gradient, None, None
        with tt.enable_grad():
            x = tt.ones(1, requires_grad=True)
            Nested.apply(x, ctx.left - 1, ctx.bottom).sum().backward()
        return gradient * x.grad, None, None


def run(depth, bottom):
    """Run passes inside of each other and call `bottom` in the innermost; return the gradient of the outermost."""
    x = tt.ones(1, requires_grad=True)
    Nested.apply(x, depth - 1, bottom).sum().backward()
    return x.grad.item()


def test_eight_thousand_passes_run_inside_of_each_other_and_leave_no_thread():
    threads, counts = threading.active_count(), []
    assert run(8000, lambda: counts.append(threading.active_count())) == 1
    assert counts[0] > threads + 100
    assert threading.active_count() == threads and STATE.passes == 0


def test_a_few_passes_run_in_the_thread_of_the_first():
    idents = []
    run(25, lambda: idents.append(threading.get_ident()))
    assert idents == [threading.get_ident()]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads /proc")
def test_memory_is_free_again_after_nested_passes():
    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    run(3000, lambda: None)
    before = resident()
    for _ in range(3):
        run(3000, lambda: None)
    assert resident() - before < 20e6


# --- the state of the thread -----------------------------------------------------------------------------------

VARIABLE = contextvars.ContextVar("VARIABLE", default=0)


class Mode(TTDispatchMode):
    """A mode that lets all calls pass."""

    def __tt_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def state():
    return {
        "grad": tt.is_grad_enabled(),
        "inference": tt.is_inference_mode_enabled(),
        "device": tt.get_default_device(),
        "autocast": (
            tt.get_autocast_dtype("cpu"),
            tt.is_autocast_cache_enabled(),
            tt.is_autocast_enabled("cpu"),
        ),
        "anomaly": tt.is_anomaly_enabled(),
        "modes": [type(mode) for mode in THREAD.modes],
        "level of forward mode": forward_ad.unpack_dual(DUAL[0]).tangent is not None if DUAL else None,
        "NumPy": np.geterr()["divide"],
        "variable": VARIABLE.get(),
    }


DUAL = []


def test_the_innermost_pass_sees_the_state_that_the_outermost_sees():
    seen = []
    token = VARIABLE.set(7)
    tt.set_autocast_dtype("cpu", tt.float16)
    tt.set_autocast_enabled("cpu", True)
    try:
        with np.errstate(divide="raise"), Mode(), forward_ad.dual_level():
            DUAL.append(forward_ad.make_dual(tt.ones(1), tt.ones(1)))
            run(1, lambda: seen.append(state()))
            run(DEPTH, lambda: seen.append(state()))
    finally:
        DUAL.clear()
        tt.set_autocast_enabled("cpu", False)
        tt.set_autocast_dtype("cpu", tt.bfloat16)
        VARIABLE.reset(token)
    outermost, innermost = seen
    assert innermost == outermost
    assert (innermost["modes"], innermost["level of forward mode"], innermost["variable"]) == (
        [Mode],
        True,
        7,
    )
    assert (innermost["autocast"], innermost["NumPy"]) == ((tt.float16, True, True), "raise")


def test_what_the_innermost_pass_sets_is_set_after_the_outermost():
    assert tt.get_default_device() == tt.device("cpu")
    try:
        run(DEPTH, lambda: tt.set_default_device("meta"))
        assert tt.get_default_device() == tt.device("meta")
    finally:
        tt.set_default_device(None)


# --- what happens in the innermost pass -----------------------------------------------------------------------


def test_an_exception_comes_through_with_its_traceback():
    error = ValueError("at the bottom")

    def bottom():
        raise error

    threads = threading.active_count()
    with pytest.raises(ValueError, match="at the bottom") as caught:
        run(DEPTH, bottom)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert caught.value is error
    assert names[-1] == "bottom" and names.count("backward") >= DEPTH
    assert threading.active_count() == threads and STATE.passes == 0 and tt.is_grad_enabled()
    assert run(DEPTH, lambda: None) == 1


@pytest.mark.parametrize("known", [True, False])
def test_what_a_signal_raises_stops_the_innermost_pass(known):
    class Stopped(BaseException):
        pass

    def handler(number, frame):
        raise KeyboardInterrupt if known else Stopped

    def bottom():
        os.kill(os.getpid(), signal.SIGINT)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.01)

    threads, before = threading.active_count(), signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt if known else Stopped) as caught:
            run(DEPTH, bottom)
    finally:
        signal.signal(signal.SIGINT, before)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "bottom"
    assert threading.active_count() == threads and STATE.passes == 0


def test_the_stack_is_the_only_limit_of_what_a_pass_calls():
    def bottom(left=500):
        return bottom(left - 1) if left else None

    assert run(DEPTH, bottom) == 1


def test_anomaly_detection_says_where_the_nodes_of_all_passes_were_made():
    def bottom():
        raise ValueError

    with (
        warnings.catch_warnings(record=True) as caught,
        tt.autograd.set_detect_anomaly(True),
        pytest.raises(ValueError),
    ):
        warnings.simplefilter("always")
        run(60, bottom)
    said = [str(each.message) for each in caught if "Error detected" in str(each.message)]
    assert len(said) == 60
    parents = [each for each in caught if "came from the backward of Nested" in str(each.message)]
    assert len(parents) == sum(range(60))  # of each node that fails, those that led to it


def test_hooks_run_in_nested_passes():
    seen = []

    def bottom():
        a, b = tt.ones(1, requires_grad=True), tt.ones(1, requires_grad=True)
        register_multi_grad_hook((a, b), lambda gradients: seen.append([g.item() for g in gradients]))
        a.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.item()))
        with tt.enable_grad(), saved_tensors_hooks(lambda t: t * 2, lambda t: t + 1):
            (a * b).sum().backward()

    run(DEPTH, bottom)
    assert sorted(map(str, seen)) == ["3.0", "[3.0, 3.0]"]


class Power(tt.autograd.Function):
    """x ** 3, whose backward takes the gradient of another one, down to x * x * x."""

    @staticmethod
    def forward(ctx, x, left):
        ctx.save_for_backward(x)
        ctx.left = left
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        with tt.enable_grad():
            inner = x * 1
            y = Power.apply(inner, ctx.left - 1) if ctx.left else inner * inner * inner
            (found,) = tt.autograd.grad(y.sum(), inner, create_graph=True)
        return gradient * found, None


def test_nested_passes_that_are_recorded_have_derivatives():
    x = tt.tensor([2.0], requires_grad=True)
    (first,) = tt.autograd.grad(Power.apply(x, DEPTH).sum(), x, create_graph=True)
    (second,) = tt.autograd.grad(first.sum(), x)
    assert (first.item(), second.item()) == (12, 12)


def test_threads_nest_passes_at_the_same_time():
    found = []
    in_threads(*[lambda: found.append(run(DEPTH, lambda: time.sleep(0.05)))] * 4)
    assert found == [1] * 4
