"""Many threads share the tables of an operator: each call gets the entry of its own dtypes and settings."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tt
from tests.threads import in_threads
from tt.core.library import ops


@pytest.fixture
def eager_switching() -> Iterator[None]:
    """Let threads take turns far more often than usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_calls_with_different_dtypes_do_not_mix(eager_switching: None) -> None:
    def program(dtype: Any, other: Any, expected: Any) -> Any:
        def run() -> None:
            a, b = tt.ones(3, dtype=dtype), tt.ones(3, dtype=other)
            for _ in range(1500):
                result = a + b
                assert result.dtype is expected
                assert result._handle.dtype == expected.numpy
                assert result._handle[0] == 2

        return run

    in_threads(
        program(tt.float32, tt.float32, tt.float32),
        program(tt.int64, tt.float32, tt.float32),
        program(tt.float64, tt.int32, tt.float64),
        program(tt.int8, tt.uint8, tt.int16),
    )


def test_registering_while_others_call_gives_the_old_kernel_or_the_new_one(
    probe: Any, eager_switching: None
) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([3.0], tt.float32)
    stop = threading.Event()

    def call() -> None:
        while not stop.is_set():
            assert tt.mul(x, x)._handle.tolist() in ([9.0], [-1.0])

    def register() -> None:
        for _ in range(60):
            handle = probe.kernel("mul", lambda self, other: self * 0 - 1, override=True)
            handle.remove()
        stop.set()

    in_threads(call, call, register)
    assert tt.mul(x, x)._handle.tolist() == [9.0]


def test_what_two_threads_resolve_at_once_is_forgotten_when_a_kernel_replaces_it(probe: Any) -> None:
    entered = False

    def resolved_by_another_thread_meanwhile() -> None:
        nonlocal entered
        if not entered:
            entered = True
            in_threads(lambda: [tt.mul(x, x) for _ in range(12)])

    probe.kernel("mul", np.multiply, available=resolved_by_another_thread_meanwhile)
    x = probe.tensor([3.0], tt.float32)
    assert tt.mul(x, x)._handle.tolist() == (x * x)._handle.tolist() == [9.0]
    assert entered
    handle = probe.kernel("mul", lambda self, other: self * 0 - 1, override=True)
    assert tt.mul(x, x)._handle.tolist() == (x * x)._handle.tolist() == [-1.0]
    handle.remove()
    assert tt.mul(x, x)._handle.tolist() == (x * x)._handle.tolist() == [9.0]


def test_a_mode_of_one_thread_changes_nothing_in_another(eager_switching: None) -> None:
    seen: list[str] = []
    done = threading.Event()

    def traced() -> None:
        x = tt.ones(2)
        for _ in range(100):
            with tt.trace_calls() as trace:
                x + 1
            seen.extend(call.operator for call in trace.calls)
        done.set()

    def plain() -> None:
        x = tt.ones(2)
        while not done.is_set():
            assert ops.mul(x, 3).tolist() == [3.0, 3.0]

    in_threads(traced, plain)
    assert seen == ["add"] * 100


def test_large_kernels_may_run_at_once(eager_switching: None) -> None:
    # NumPy lets go of the interpreter in them, so that two are in the quiet context at one time.
    x = tt.full((300_000,), 3e38)

    def run() -> None:
        for _ in range(30):
            assert bool(np.isinf((x * x)._handle[0]))

    in_threads(run, run, run)
