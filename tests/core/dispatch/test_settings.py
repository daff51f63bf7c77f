"""Modes, epochs, fallbacks, masks and traces: what a user can switch, and what the tables make of it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.dispatch.resolve.fallback import FALLBACKS
from tt.core.errors import NoKernelError, UnknownNameError
from tt.core.library import CompositeTable, Mode, ops
from tt.core.types.state import STATE, DispatchState

# --- epochs ----------------------------------------------------------------------------------------------------------


def test_going_back_to_earlier_settings_goes_back_to_their_epoch() -> None:
    state = DispatchState()
    start = state.epoch
    state.set_default_dtype(tt.float64)
    other = state.epoch
    state.set_default_dtype(tt.float32)
    assert (state.epoch, other != start) == (start, True)
    state.set_default_dtype(tt.float64)
    assert state.epoch == other


def test_the_guard_is_the_epoch_unless_modes_are_active() -> None:
    state = DispatchState()
    state.mode_entered()
    assert state.guard == -1
    state.set_default_dtype(tt.float64)
    assert state.guard == -1
    state.mode_left()
    assert state.guard == state.epoch


def test_a_change_of_the_default_dtype_reaches_cached_entries(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([1, 2], tt.int64)
    for _ in range(3):
        assert tt.mul(x, 0.5).dtype is tt.float32
        with tt.default_dtype(tt.float64):
            assert tt.mul(x, 0.5).dtype is tt.float64


# --- modes -----------------------------------------------------------------------------------------------------------


class Log(Mode):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def handle(self, caller: Any, args: tuple[Any, ...]) -> Any:
        self.seen.append(caller.name)
        return caller.dispatch(args)


def test_a_mode_sees_the_calls_of_its_block(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([1.0], tt.float32)
    tt.mul(x, x)
    with Log() as log:
        tt.mul(x, x)
        x.mul_(2.0)
    tt.mul(x, x)
    assert log.seen == ["mul", "mul_"]


def test_modes_nest_the_inner_one_first(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([1.0], tt.float32)
    order: list[str] = []

    class Named(Mode):
        def __init__(self, name: str) -> None:
            self.name = name

        def handle(self, caller: Any, args: tuple[Any, ...]) -> Any:
            order.append(self.name)
            return caller.dispatch(args)

    with Named("outer"), Named("inner"):
        tt.mul(x, x)
    assert order == ["inner", "outer"]


def test_another_threads_mode_is_not_seen(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([2.0], tt.float32)
    found: list[Any] = []
    with Log() as log:
        thread = threading.Thread(target=lambda: found.append(tt.mul(x, x)._handle.tolist()))
        thread.start()
        thread.join()
    assert (found, log.seen) == ([[4.0]], [])


def test_a_mode_is_left_when_its_block_raises(probe: Any) -> None:
    with pytest.raises(KeyError), Log():
        raise KeyError
    assert STATE.modes == 0


# --- fallbacks -------------------------------------------------------------------------------------------------------


def test_nothing_falls_back_by_default(probe: Any) -> None:
    probe.backend.fallback = "cpu"
    with pytest.raises(NoKernelError, match=r"fallback to cpu \(policy: error\)|fallback .*policy: error"):
        tt.exp(probe.tensor([0.0], tt.float32))


def test_a_permitted_fallback_is_counted_and_returns_to_its_device(probe: Any) -> None:
    probe.backend.fallback = "cpu"
    x = probe.tensor([0.0, 1.0], tt.float32)
    before = FALLBACKS["exp", "probe", "cpu"]
    with (
        tt.fallback_policy("warn", "probe"),
        pytest.warns(UserWarning, match="exp has no kernel for probe and runs on cpu"),
    ):
        result = tt.exp(x)
    assert FALLBACKS["exp", "probe", "cpu"] == before + 1
    assert str(result.device) == "probe"
    np.testing.assert_allclose(result._handle, np.exp(np.array([0.0, 1.0], np.float32)), rtol=1e-6)
    with tt.fallback_policy("silent"):
        tt.exp(x)
    with pytest.raises(NoKernelError):
        tt.exp(x)


def test_a_policy_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown fallback policy 'wran'; did you mean 'warn'"):
        tt.set_fallback_policy("wran")


def test_the_fallback_can_go_before_composites(probe: Any) -> None:
    table = CompositeTable()
    table.composite("exp", lambda self: ops.mul(self, 100.0))
    probe.add(table)
    probe.kernel("mul", np.multiply)
    x = probe.tensor([0.0], tt.float32)
    probe.backend.fallback = "cpu"
    with tt.fallback_policy("silent", "probe"):
        assert tt.exp(x)._handle.tolist() == [0.0]
        probe.backend.prefer_fallback = True
        ops.exp.operator.invalidate()
        assert tt.exp(x)._handle.tolist() == [1.0]


# --- masks and traces ----------------------------------------------------------------------------------------------


def test_a_masked_kernel_leaves_the_call_to_the_composite(probe: Any) -> None:
    table = CompositeTable()
    table.composite("exp", lambda self: ops.mul(self, 100.0))
    probe.add(table)
    probe.kernel("mul", np.multiply)
    probe.kernel("exp", np.exp)
    x = probe.tensor([1.0], tt.float32)
    plain = tt.exp(x)._handle.tolist()
    with tt.mask_kernels("ex*"):
        assert tt.exp(x)._handle.tolist() == [100.0]
    assert tt.exp(x)._handle.tolist() == plain


def test_a_trace_shows_calls_and_the_calls_inside_them(probe: Any) -> None:
    table = CompositeTable()
    table.composite("exp", lambda self: ops.mul(self, self))
    probe.add(table)
    probe.kernel("mul", np.multiply)
    with tt.trace_calls() as trace:
        tt.exp(probe.tensor([1.0], tt.float32))
    assert [(c.operator, c.depth) for c in trace.calls] == [("exp", 0), ("mul", 1)]
    assert str(trace.calls[1]).startswith(
        "  mul(float32[1], float32[1]) -> kernel: probe-dist 1.0 (probe) numpy.multiply"
    )
    assert trace.calls[0].seconds >= trace.calls[1].seconds > 0


def test_counts_name_who_served(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([1.0], tt.float32)
    with tt.count() as counts:
        for _ in range(3):
            tt.mul(x, x)
    assert counts.calls == {("mul", "functional", "kernel: probe-dist 1.0 (probe) numpy.multiply"): 3}


def test_explain_reads_the_same_records(probe: Any) -> None:
    probe.kernel("mul", np.multiply, dtypes=("float64",))
    found = tt.explain("mul", ["probe:float64", "2.5"])
    assert found.served
    assert (
        found.resolution is ops.mul.operator.caller().entry(probe.backend.keys, found_bits(), ()).resolution
    )
    missing = tt.explain("mul", ["probe:float32", "probe:float32"])
    assert not missing.served
    assert '"mul" not implemented for float32 on probe' in missing.text()


def found_bits() -> int:
    from tt.core.types.promotion import DIM_BITS, SCALAR_BITS

    return DIM_BITS[tt.float64.code] | SCALAR_BITS[float]
